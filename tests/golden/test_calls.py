"""Calls of the originals that the recorded cases do not hold, with answers worked by hand from the originals' code."""

from math import log2, nan

import pytest

from .seed_cases import compute
from .test_seeds import RAISES, check

HEAD, OLD = "hivemall HEAD 34079778", "hivemall before HIVEMALL-124"
CODE, TORCH, ARCHIVE = "seed 001 code blocks", "ptranking HEAD f1d366c", "ptranking org/archive"
NOTE, RECSYS, FORMULA = "seed 002 code block", "python-recsys HEAD 6c6343c", "formula of the document"
USERS = [{"rec": [1, 3, 2, 6], "truth": [1, 2, 4]}, {"rec": [5], "truth": [6, 5]}, {"rec": None, "truth": [8]}]
PAIRS = {"ground_truth": [["a", 3], ["b", 2], ["c", 2], ["d", 0]], "test": [["d", 1], ["c", 2], ["b", 3], ["a", 4]]}

HIVEMALL = [
    # Since 0.5 the ideal list is no longer than the list; before, it was as long as the truth, cut at k.
    (HEAD, "ndcg", {"rec": [1], "truth": [1, 2, 4]}, {"k": 4}, 1.0),
    (OLD, "ndcg", {"rec": [1, 3], "truth": [1, 2, 4]}, {}, 1 / (1 + 1 / log2(3))),
    (OLD, "ndcg", {"rec": [1, 3], "truth": []}, {"k": 2}, nan),
    (OLD, "average_precision", {"rec": [1, 3, 2], "truth": [1, 2, 4]}, {"k": 3}, (1 + 2 / 3) / 3),
    (OLD, "mrr", {"rec": [1, 3], "truth": [1]}, {"k": 3}, RAISES),
    (HEAD, "recall_at", {"rows": USERS}, {}, (2 / 3 + 1 / 2 + 0) / 3),
    (HEAD, "precision_at", {"rows": USERS}, {"k": 2}, (1 / 2 + 1 / 1 + 0) / 3),
    (HEAD, "auc", {"rows": [{**USERS[0], "k": 2}, {**USERS[1], "k": 3}]}, {}, (1 / 1 + 0 / 2) / 2),
    (HEAD, "precision_at", {"rows": [{"rec": [], "truth": []}, {"rec": [1], "truth": None}]}, {"k": 5}, 1.0),
    (HEAD, "mrr", {"rows": [{**USERS[0], "k": None}]}, {}, RAISES),
    (
        HEAD,
        "ndcg",
        {"rec": [1.0, 2.0], "truth": [2.0, 1.0, 1.0]},
        {"graded": True},
        (1 + 3 / log2(3)) / (3 + 1 / log2(3)),
    ),
    (HEAD, "ndcg", {"rows": [{"rec": [1.0], "truth": None}]}, {"graded": True, "k": 1}, 0.0),
    (HEAD, "idcg", {"n": 0}, {"level": "static"}, 0.0),
    (HEAD, "idcg", {"n": -1}, {"level": "static"}, RAISES),
    (HEAD, "auc", {"scores": [0.9, None, 0.4, 0.4], "labels": [1, 1, -1, 1]}, {}, (1 + 1 / 2) / 2),
    (HEAD, "auc", {"scores": [0.9, 0.4], "labels": [1, 2]}, {}, RAISES),
    (HEAD, "auc", {"scores": [1.1, 0.4], "labels": [1, 0]}, {}, RAISES),
    (HEAD, "auc", {"scores": [], "labels": []}, {}, RAISES),
    (HEAD, "auc", {"scores": [0.9, 0.8, 0.7], "labels": [1, 0, 1]}, {"bins": [[0], [1, 2]], "order": [1]}, 0.0),
    (HEAD, "fmeasure", {"actual": [1, -1], "predicted": [1, 0]}, {"options": "-average micro"}, 1.0),
    (
        HEAD,
        "fmeasure",
        {"actual": [1, -1, 1], "predicted": [1, 1, 0]},
        {"options": "-average binary -beta 2"},
        5 / (8 + 2),
    ),
    (HEAD, "fmeasure", {"actual": [True, False], "predicted": [False, False]}, {}, 2 * 1 / (2 + 2)),
    (HEAD, "fmeasure", {"actual": [["a"], None], "predicted": [["a"], ["b"]]}, {}, RAISES),
    (HEAD, "fmeasure", {"actual": [[1]], "predicted": [1]}, {}, RAISES),
    (HEAD, "fmeasure", {"actual": [1], "predicted": [True]}, {}, RAISES),
    (HEAD, "fmeasure", {"actual": [1], "predicted": [1]}, {"options": "-gamma 2"}, RAISES),
    (HEAD, "fmeasure", {"actual": [1], "predicted": [1]}, {"options": "-average weighted"}, RAISES),
    (HEAD, "fmeasure", {"actual": [1], "predicted": [1]}, {"options": "-beta"}, RAISES),
    (HEAD, "mae", {"predicted": [None], "actual": [1.0]}, {}, 0.0),
    (HEAD, "r2", {"predicted": [], "actual": []}, {}, 0.0),
    (HEAD, "r2", {"predicted": [1.0, 2.0, None], "actual": [1.0, 3.0, 5.0]}, {}, 1 - 1 / 2),
    (FORMULA, "ndcg_as_printed", {"rec": [3, 1], "truth": [1]}, {"k": 1}, 0.0),
]
PTRANKING = [
    (CODE, "p_at_ks", {"labels": [1, 0]}, {"ks": [3, 4]}, RAISES),
    (CODE, "p_at_ks", {"labels": [1, 0]}, {"ks": []}, RAISES),
    (CODE, "err_at_ks", {"labels": [1, 1]}, {"ks": [1, 3], "max_rele_level": 1}, [1 / 2, 0]),
    (CODE, "err_at_ks", {"labels": [1]}, {"ks": [1], "max_rele_level": 1, "multi_level_rele": False}, RAISES),
    (CODE, "dcg_at_ks", {"labels": [-1, 2]}, {"max_cutoff": 2}, [-1 / 2, -1 / 2 + 3 / log2(3)]),
    (CODE, "dcg_at_ks", {"labels": [1]}, {"max_cutoff": 0}, []),
    (CODE, "dcg_at_ks", {"labels": [1]}, {"max_cutoff": -1}, RAISES),
    (CODE, "rele_gain", {"rele_level": 2}, {"gain_base": 3.0}, 8.0),
    (CODE, "rele_gain", {"rele_level": [0, 0.5]}, {}, [0, 2**0.5 - 1]),
    (ARCHIVE, "ndcg_at_ks", {"labels": [0, 2], "ideal": [2, 0]}, {"ks": [2, 3]}, [1 / log2(3), 0]),
    (ARCHIVE, "ndcg_at_ks", {"labels": [0, 2], "ideal": [2]}, {"ks": [2]}, RAISES),
    # The divisor is the sum of the ideal labels: of grades, not of relevant items.
    (
        TORCH,
        "torch_ap_at_ks",
        {"labels": [0, 3, 1], "ideal": [3, 1, 0]},
        {"ks": [1, 2, 3]},
        [0, 0.5 / 4, (0.5 + 2 / 3) / 4],
    ),
    (TORCH, "torch_ap_at_ks", {"labels": [0.5], "ideal": [0.5]}, {"ks": [1]}, [0.5 * 0.5 / 0.5]),
    (TORCH, "torch_ap_at_ks", {"labels": [0], "ideal": [0]}, {"ks": [1]}, [nan]),
    (TORCH, "torch_ap_at_k", {"labels": [1], "ideal": [1]}, {"k": None}, RAISES),
    (TORCH, "torch_precision_at_k", {"labels": [1, 0.5, 0]}, {"k": 7}, 1.5 / 3),
    (TORCH, "torch_precision_at_ks", {"labels": [[1, 0], [0, 3]]}, {"ks": [1, 2]}, [[1, 1 / 2], [0, 1 / 2]]),
    (TORCH, "torch_ndcg_at_k", {"labels": [1, 0], "ideal": [1, 0]}, {"k": 3}, RAISES),
    (TORCH, "torch_nerr_at_ks", {"labels": [0, 0], "ideal": [0, 0]}, {"ks": [1]}, [nan]),
    (TORCH, "torch_nerr_at_k", {"labels": [0, 1], "ideal": [1, 0]}, {"k": 2, "max_label": 2}, 1 / 2),
    (TORCH, "torch_kendall_tau", {"labels": [3, 3, 1]}, {"natural_ascending_as_reference": False}, 1.0),
    (TORCH, "torch_kendall_tau", {"labels": [3, 3, 1]}, {}, 1 - 4 * 2 / 6),
    (FORMULA, "f_measure", {"P": 0.0, "R": 0.0}, {"a": 1}, RAISES),
    (FORMULA, "f_measure", {"P": 1 / 3, "R": 1 / 7}, {"a": 1}, 2 / (3 + 7)),
]
NOTES = [
    (NOTE, "recall_at_k", {"y_true": [[1, 1, 2]], "y_pred": [[1, 2]]}, {"k": 2}, 1.0),
    (NOTE, "precision_at_k", {"y_true": [[1], [2]], "y_pred": [[1]]}, {"k": 1}, 1.0),
    (
        NOTE,
        "recall_at_k",
        {"y_true": [[1]], "y_pred": [[2, 1]], "relevance_masks": [[[2, 1], [1, True]]]},
        {"k": 2},
        0.5,
    ),
    (
        NOTE,
        "precision_at_k",
        {"y_true": [[1]], "y_pred": [[2, 1]], "relevance_masks": [[[2, 1], [1, 1]]]},
        {"k": 2},
        0.5,
    ),
    (NOTE, "precision_at_k", {"y_true": [[1, 2]], "y_pred": [[1, 2]], "relevance_masks": []}, {"k": 1}, 1.0),
    (NOTE, "recall_at_k", {"y_true": [[1]], "y_pred": [[1]], "relevance_masks": [[[1, 0]]]}, {"k": 1}, RAISES),
    (NOTE, "recall_at_k", {"y_true": [[1, 2, 3]], "y_pred": [[1]]}, {"k": 3, "rounding": 1}, 0.3),
    (FORMULA, "map", {"relevance": [[1, 1], [0, 1]]}, {"K": 1}, (1 + 0) / 2),
]
PYTHON_RECSYS = [
    (RECSYS, "mae", {"ground_truth": [1, 2], "test": [1, 4], "add": [[5, 5], ["NaN", 3]]}, {}, round(2 / 3, 6)),
    (RECSYS, "mae", {"r": 1, "data": [[3, 1]]}, {}, 2.0),
    # Of 6 pairs the truth ties one, the test none.
    (RECSYS, "kendall", PAIRS, {}, round(5 / (5 * 6) ** 0.5, 6)),
    (FORMULA, "kendall_tau_a", PAIRS, {}, 5 / 6),
    (RECSYS, "spearman", PAIRS, {}, round(4.5 / (4.5 * 5) ** 0.5, 6)),
    (RECSYS, "pearson", {"ground_truth": [1, 2], "test": [1]}, {}, RAISES),
    (RECSYS, "kendall", {"ground_truth": [["a", 1]], "test": [["b", 1]]}, {}, RAISES),
    (RECSYS, "precision_recall_f1", {"ground_truth": [1, 1, 2], "test": [1, 1]}, {}, [1 / 2, round(1 / 3, 6), 0.4]),
    (RECSYS, "precision_recall_f1", {"ground_truth": [1], "test": [2]}, {}, [0, 0, 0]),
    (RECSYS, "precision_recall_f1", {"ground_truth": [1], "test": []}, {}, RAISES),
    (RECSYS, "reciprocal_rank", {"ground_truth": [4, 5, 6], "query": 6}, {}, 1 / 3),  # not rounded, unlike the mean
    (RECSYS, "mean_reciprocal_rank", {"ground_truth": [4, 5, 6], "query": 6}, {}, 1 / 3),
    (RECSYS, "mean_reciprocal_rank", {"ground_truth": [0, 5], "query": 0}, {}, nan),
    (RECSYS, "mean_average_precision", {"ground_truths": [[1], [1]], "tests": [9, [7, 1]]}, {}, (0 + 1 / 2) / 2),
    (RECSYS, "mean_average_precision", {"load_test": [1]}, {}, RAISES),
]
POST = [
    (FORMULA, "relevance_threshold", {"ratings": [3, 3.5]}, {}, [0, 1]),
    (FORMULA, "recall_at_k", {"rel": [0], "N": 0}, {"k": 1}, RAISES),
    (FORMULA, "map_at_k", {"rels": [[0, 1], [1]], "Ns": [1, 4]}, {"k": 2}, (1 / 2 + 1 / 4) / 2),
    (FORMULA, "ndcg_at_k", {"gains": [0, 2, 1]}, {"k": 2}, (2 / log2(3)) / (2 + 1 / log2(3))),
    (FORMULA, "ndcg_at_k", {"scores": [1, 2, 2], "gains_by_item": [0, 0, 1]}, {"k": 3}, 1 / log2(3)),
]
CALLS = [
    (seed, *call)
    for seed, calls in zip(
        ("000", "001", "002", "003", "004"), (HIVEMALL, PTRANKING, NOTES, PYTHON_RECSYS, POST), strict=True
    )
    for call in calls
]


@pytest.mark.parametrize(
    ("seed", "impl", "metric", "inputs", "params", "expected"),
    CALLS,
    ids=[f"{seed}-{metric}-{at}" for at, (seed, _, metric, *_) in enumerate(CALLS)],
)
def test_call(seed, impl, metric, inputs, params, expected):
    check({"seed": seed, "impl": impl, "metric": metric, "inputs": inputs, "params": params}, expected, 1e-12)


def test_inputs_are_not_written_to():
    inputs = {"ground_truth": [3], "test": [1], "add": [[1, 1]]}
    compute({"seed": "003", "impl": RECSYS, "metric": "mae", "inputs": inputs, "params": {}})
    assert inputs == {"ground_truth": [3], "test": [1], "add": [[1, 1]]}
