"""Where rankstone answers otherwise than the original, on purpose: the original's answer is no answer.

Each kind says for which calls it holds, why, and what rankstone answers to the known ones, worked by hand.
`compute` does not read this table; the test does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

Case = Mapping[str, Any]
RAISES = "a clear error"


class Deviation(NamedTuple):
    reason: str
    holds: Callable[[Case], bool]
    ours: Mapping[str, Any]  # our answer to cases of the file, by id
    more: tuple[tuple[Case, Any], ...] = ()  # calls that the file does not have, and our answer


def deviation(case: Case) -> Deviation | None:
    """The kind of deviation that a case is, if it is one."""
    return next((one for one in DEVIATIONS if one.holds(case)), None)


def _case(seed: str, impl: str, metric: str, inputs: Any, **params: Any) -> Case:
    return {"seed": seed, "impl": impl, "metric": metric, "inputs": inputs, "params": params}


def _cutoffs(case: Case) -> Iterator[Any]:
    params = case["params"]
    yield from (params.get(name) for name in ("k", "K", "L", "p", "max_cutoff"))
    yield from params.get("ks") or []
    yield from (row.get("k") for row in case["inputs"].get("rows", []))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    else:
        yield value


def _holds_nan(case: Case) -> bool:
    inputs = {name: value for name, value in case["inputs"].items() if name != "add"}
    fine = ("p_at_ks", "ap_at_ks", "to_ordered_list", "each_top_k")  # a comparison, or a key to sort by
    return case["metric"] not in fine and "NaN" in _leaves(inputs)


def _overflows(case: Case) -> bool:
    k = case["params"].get("k") or 0
    return case["metric"] == "auc" and k * len(case["inputs"].get("rec") or []) >= 2**31


def _is_graded(case: Case) -> bool:
    return case["metric"] == "graded_ndcg" or bool(case["params"].get("graded"))


def _no_ideal(case: Case) -> bool:
    rows, k = case["inputs"].get("rows", [case["inputs"]]), case["params"].get("k")
    return _is_graded(case) and any(any(row["rec"] or []) and not any((row["truth"] or [])[:k]) for row in rows)


def _beyond_a_float(case: Case) -> bool:
    return case["seed"] in ("000", "001") and any(
        isinstance(one, float | int) and one >= 1024
        for name in ("rec", "truth", "rel", "labels", "ideal", "rele_level")
        for one in _leaves(case["inputs"].get(name))
        if name not in ("rec", "truth") or _is_graded(case)
    )


def _bins_touch(case: Case) -> bool:
    """Do two bins share a score or interleave, or has one nothing above 0."""
    bins = [[case["inputs"]["scores"][row] for row in one] for one in case["params"].get("bins", [])]
    spans = sorted((max(one), min(one)) for one in bins if one)
    return any(high == 0 for high, _ in spans) or any(below[0] >= above[1] for below, above in pairwise(spans))


def _no_hit(case: Case) -> bool:
    rows = case["inputs"].get("rows", [])
    return case["metric"] == "f1score" and not any(set(row["actual"]) & set(row["predicted"]) for row in rows)


def _true_and_false(case: Case) -> bool:
    labels = case["inputs"].get("actual", [])
    binary = "binary" in (case["params"].get("options") or "")
    return case["metric"] == "fmeasure" and binary and any(isinstance(one, bool) for one in labels)


def _padded(case: Case) -> bool:
    """Is a k beyond the list followed by one that is not."""
    ks, labels = case["params"].get("ks"), case["inputs"].get("labels")
    if not ks or not labels:
        return False
    beyond = [k > len(labels) for k in ks]
    return beyond != sorted(beyond)


def _no_probability(case: Case) -> bool:
    top = case["params"].get("max_rele_level")
    return (
        case["metric"] == "err_at_ks"
        and top is not None
        and any(not 0 <= one <= top for one in case["inputs"]["labels"])
    )


def _fractions(case: Case) -> bool:
    labels = case["inputs"].get("labels", [])
    return case["metric"] == "torch_kendall_tau" and any(0 < abs(a - b) < 1 for a in labels for b in labels)


def _repeated(case: Case) -> bool:
    inputs = case["inputs"]
    pairs = zip(
        inputs.get("ground_truths", [inputs.get("ground_truth")]),
        inputs.get("tests", [inputs.get("test", inputs.get("query"))]),
        strict=False,
    )
    return (
        case["seed"] == "003"
        and "average_precision" in case["metric"]
        and any(isinstance(test, list) and any(test.count(item) > 1 for item in truth) for truth, test in pairs)
    )


def _texts(case: Case) -> bool:
    both = (*case["inputs"].get("ground_truth", []), *case["inputs"].get("test", []))
    return case["metric"] in ("spearman", "kendall") and any(isinstance(one, str) for one in both)


def _tied(case: Case) -> bool:
    keys = case["inputs"].get("keys", [])
    return case["metric"] == "to_ordered_list" and len(set(keys)) < len(keys)


def _two_nan_keys(case: Case) -> bool:
    return case["metric"] == "each_top_k" and [row["key"] for row in case["inputs"]["rows"]].count("NaN") > 1


HIVEMALL, SEED_CODE = "hivemall HEAD 34079778", "seed 001 code blocks"

DEVIATIONS = (
    Deviation(
        "a cutoff below 1 leaves no place to look at; the originals return a constant, 0/0, or a value for another k",
        lambda case: any(isinstance(k, int) and k < 1 for k in _cutoffs(case)),
        {
            "000-run-average_precision-k-0": RAISES,
            "000-run-auc-k-0": RAISES,
            "000-run-ndcg-k-0": RAISES,
            "000-run-average_precision-users-nan": RAISES,
            "000-run-auc-users-nan": RAISES,
            "000-run-mrr-users-nan": RAISES,
            "001-run-p_at_ks-k0": RAISES,
            "001-run-p_at_ks-k-neg": RAISES,
            "001-run-ap_at_ks-k0": RAISES,
            "002-run-precision_at_k-k-neg": RAISES,
        },
    ),
    Deviation(
        "NaN is no rating and no grade; the originals let it through to the result",
        _holds_nan,
        {"000-run-mae-nan": RAISES, "000-run-mse-nan": RAISES, "001-run-dcg_at_ks-nan": RAISES},
    ),
    Deviation(
        "Hivemall multiplies hits by k in 32 bits, which overflow; the number of pairs is larger than that",
        _overflows,
        {"000-run-auc-int-overflow": 1 / (2 * (2147483647 - 2))},
    ),
    Deviation(
        "Hivemall finds that an int and a bigint of the same value differ; items 1 and 2 are items 1 and 2",
        lambda case: case["params"].get("rec_type") != case["params"].get("truth_type"),
        {
            "000-run-recall_at-type-mismatch": 2 / 2,
            "000-run-average_precision-type-mismatch": (1 / 1 + 2 / 2) / 2,
            "000-run-mrr-type-mismatch": 1 / 1,
        },
    ),
    Deviation(
        "Hivemall divides a gain by an ideal of 0 and returns Infinity; no ideal list, no nDCG: NaN, as it has for 0/0",
        _no_ideal,
        {"000-run-gndcg-truth-empty": float("nan")},
    ),
    Deviation(
        "2^grade is beyond a float; Hivemall divides infinity by infinity",
        _beyond_a_float,
        {"000-run-gndcg-huge": RAISES},
    ),
    Deviation(
        "Hivemall loses rows when partial results have equal highest scores, overlap or end at 0; we count all rows",
        _bins_touch,
        {
            "000-run-aucclass-merge-same-max": (0.5 + 0) / 2,
            "000-run-aucclass-merge-same-max2": (0.5 + 1 + 0 + 0) / 4,
            "000-run-aucclass-merge-zero-bin": (1 + 0) / 2,
        },
    ),
    Deviation(
        "Hivemall's f1score is -1 if there is no true positive; F1 is then 0, as in its own fmeasure",
        _no_hit,
        {"000-run-f1score-zero": 0.0, "000-run-f1score-empty": 0.0},
    ),
    Deviation(
        "Hivemall leaves equal keys as its heap happened to hold them; we sort them by value, whatever came first",
        _tied,
        {
            "000-test-tol-natkey": ["apple", "banana", "candy"],
            "000-test-tol-revkey": ["candy", "banana", "apple"],
            "000-run-tol-ties-reverse": ["d", "c", "b", "a"],
        },
    ),
    Deviation(
        "equal keys share a rank, but Hivemall finds that NaN does not equal NaN; in SQL it does",
        _two_nan_keys,
        {"000-run-each_top_k-nan-key": [[1, float("nan"), "a", 1], [1, float("nan"), "a", 3], [2, 5.0, "a", 2]]},
    ),
    Deviation(
        "with -average binary Hivemall counts false beside false as a true positive, but not 0 beside 0; we never do",
        _true_and_false,
        {},
        (
            (
                _case(
                    "000",
                    HIVEMALL,
                    "fmeasure",
                    {"actual": [True, True, False, False], "predicted": [True, False, False, False]},
                    options="-average binary",
                ),
                2 * 1 / (2 + 1),
            ),
        ),
    ),
    Deviation(
        "with a k beyond the list PT-Ranking moves the values for later ks forward; we keep each value at its k",
        _padded,
        {},
        (
            (_case("001", SEED_CODE, "p_at_ks", {"labels": [1, 0, 1]}, ks=[5, 1, 3]), [0, 1 / 1, 2 / 3]),
            (_case("001", SEED_CODE, "ap_at_ks", {"labels": [1, 0, 1]}, ks=[1, 9, 3]), [1, 0, (1 + 2 / 3) / 3]),
        ),
    ),
    Deviation(
        "a label above the highest level or below 0 makes PT-Ranking's stop probability one above 1 or below 0",
        _no_probability,
        {},
        (
            (_case("001", SEED_CODE, "err_at_ks", {"labels": [3, 0]}, ks=[1, 2], max_rele_level=2), RAISES),
            (_case("001", SEED_CODE, "err_at_ks", {"labels": [-1, 1]}, ks=[1, 2], max_rele_level=1), RAISES),
        ),
    ),
    Deviation(
        "PT-Ranking counts a pair less than 1 apart as a part of a pair; an inversion is an inversion",
        _fractions,
        {"001-run-torch_kendall_tau-frac": -1 / 1},
    ),
    Deviation(
        "the printed denominator a^2 (P + R) is a misprint of a^2 P + R: as printed, F is 1.875 for P = R = 0.75",
        lambda case: case["metric"] == "f_measure_as_printed" and case["params"]["a"] != 1,
        {
            "001-form-f_measure_as_printed-0.5-0.25-2": (4 + 1) * 0.5 * 0.25 / (4 * 0.5 + 0.25),
            "001-form-f_measure_as_printed-0.5-0.25-0.5": (0.25 + 1) * 0.5 * 0.25 / (0.25 * 0.5 + 0.25),
            "001-form-f_measure_as_printed-1.0-0.2-2": (4 + 1) * 1.0 * 0.2 / (4 * 1.0 + 0.2),
            "001-form-f_measure_as_printed-1.0-0.2-0.5": (0.25 + 1) * 1.0 * 0.2 / (0.25 * 1.0 + 0.2),
            "001-form-f_measure_as_printed-0.75-0.75-2": 0.75,
            "001-form-f_measure_as_printed-0.75-0.75-0.5": 0.75,
        },
    ),
    Deviation(
        "python-recsys counts a repeated item as another hit, but not in the precision there; we count it once",
        _repeated,
        {"003-run-average_precision-dup-test": (1 / 1) / 1},
    ),
    Deviation(
        "python-recsys takes a text for a pair, its first letter for the name and its second for the score",
        _texts,
        {"003-run-kendall-strings": RAISES},
    ),
    Deviation(
        "the post's worked example counts ranks from 0, where the discount is log2(1) = 0; its formula has them from 1",
        lambda case: case["metric"] in ("dcg_as_printed", "idcg_as_printed"),
        {
            "004-form-dcg_as_printed-worked-example": 1 / 2,  # log2(3 + 1) = 2
            "004-form-idcg_as_printed-worked-example": 1 / 1,
        },
    ),
)
