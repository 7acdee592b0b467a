"""Answers the cases of `golden/seeds.json`, numbers from five documents, through rankstone's public API alone.

`compute` reads what a call of the original was given, in the original's own terms, and makes the same call of
rankstone: a convention by name, other choices by name. The formulas are rankstone's; here are only translations.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np

import rankstone as rs

Case = Mapping[str, Any]
Inputs = Mapping[str, Any]
NOTHING = object()  # an item that no list holds


def compute(case: Case) -> Any:
    """The answer to a case: a number, or a list of them. Reads its seed, impl, metric, inputs and params."""
    metric = case["metric"]
    answers = _DOCUMENTS[case["seed"]]
    if metric not in answers:
        raise ValueError(f"document {case['seed']} has no metric {metric!r}; it has {', '.join(sorted(answers))}")
    return answers[metric](case["impl"], _numbers(case["inputs"]), _numbers(case["params"]))


_WRITTEN = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _numbers(value: Any) -> Any:
    """The same with NaN and infinities, which JSON writes as strings, as numbers."""
    if isinstance(value, dict):
        return {key: _numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return _WRITTEN.get(value, value) if isinstance(value, str) else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _mean(truth: Any, run: Any, metric: rs.Metric, **choices: Any) -> float:
    """The mean over rows given by position."""
    result = rs.evaluate(dict(enumerate(truth)), dict(enumerate(run)), metric, **choices)
    return result[metric]


def _at(metric: rs.Metric, k: int | None) -> rs.Metric:
    return metric if k is None else metric @ k


# -- 000: Hivemall -------------------------------------------------------------------------------------------


def _hivemall(impl: str) -> str:
    return "hivemall-0.5" if impl.startswith("hivemall HEAD") else "hivemall"


def _hivemall_ranking(metric: rs.Metric) -> Callable[..., float]:
    """A measure of `rec` and `truth`, or its mean over `rows` of both; a row without a truth does not count."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        rows = [{**params, **row} for row in inputs.get("rows", [inputs])]
        rows = [row for row in rows if row["truth"] is not None]
        choices: dict[str, Any] = {"convention": _hivemall(impl)}
        if "before HIVEMALL-124" in impl:
            for row in rows:
                _refuse_short(row)
            if metric in (rs.precision, rs.recall, rs.ap, rs.ndcg):  # an empty list or truth was no special case
                choices |= {"undefined": "nan", "both_empty": math.nan}
        ks = [_hivemall_k(row) for row in rows]
        if metric == rs.ndcg and params.get("graded"):
            return _graded(rows, ks, choices)
        if len(set(ks)) <= 1:
            whole = _at(metric, ks[0] if ks else None)
            return _mean([row["truth"] for row in rows], [row["rec"] or [] for row in rows], whole, **choices)
        return fmean(
            _mean([row["truth"]], [row["rec"] or []], _at(metric, k), **choices)
            for row, k in zip(rows, ks, strict=True)
        )

    return answer


def _hivemall_k(row: Inputs) -> int | None:
    """A row's own k or that of all rows; left out, it is the length of the list."""
    if "k" in row and row["k"] is None:
        raise TypeError("k is null; leave it out to use the whole list")
    return row.get("k")


def _refuse_short(row: Inputs) -> None:
    rec = row["rec"] or []
    if row.get("k") is not None and row["k"] > len(rec):
        raise ValueError(f"k is {row['k']}, but the list holds only {len(rec)} items")


def _graded(rows: Sequence[Inputs], ks: Sequence[int | None], choices: Mapping[str, Any]) -> float:
    """nDCG where `rec` and `truth` hold grades, not items."""
    choices = {**choices, "undefined": "nan"}
    values = [
        rs.ndcg(
            labels=row["rec"] or [],
            truth=row["truth"],
            k=k,
            ideal_depth="min(k,retrieved)" if k is None else "k",
            **choices,
        )
        for row, k in zip(rows, ks, strict=True)
    ]
    return fmean(values) if values else _mean([], [], rs.ndcg, **choices)


def _graded_ndcg(impl: str, inputs: Inputs, params: Inputs) -> float:
    return _hivemall_ranking(rs.ndcg)(impl, inputs, {**params, "graded": True})


def _graded_dcg(impl: str, inputs: Inputs, params: Inputs) -> float:
    return rs.dcg(labels=inputs["rel"], k=params.get("k"), convention=_hivemall(impl))


def _idcg(impl: str, inputs: Inputs, params: Inputs) -> float:
    if inputs["n"] < 0:
        raise ValueError(f"{inputs['n']} relevant items")
    return rs.dcg(labels=[1] * inputs["n"], convention=_hivemall(impl))


def _hivemall_auc(impl: str, inputs: Inputs, params: Inputs) -> float:
    """Of ranked lists, or of rows with a probability and a label, however they were spread over machines."""
    if "scores" not in inputs:
        return _hivemall_ranking(rs.auc)(impl, inputs, params)
    rows = list(zip(inputs["scores"], inputs["labels"], strict=True))
    if "bins" in params:
        bins = params["bins"]
        rows = [rows[row] for one in params.get("order", range(len(bins))) for row in bins[one]]
    rows = [(score, label) for score, label in rows if score is not None and label is not None]
    for score, label in rows:
        if not 0 <= score <= 1:
            raise ValueError(f"score {score} is not a probability, between 0 and 1")
        if label not in (1, 0, -1):
            raise ValueError(f"label {label!r} is not 1, 0 or -1")
    scores, labels = [score for score, _ in rows], [max(label, 0) for _, label in rows]
    return rs.auc(scores=scores, labels=labels, undefined="error")


def _fmeasure(impl: str, inputs: Inputs, params: Inputs) -> float:
    """F of all rows together; a row holds sets of labels, or one label of two classes."""
    options = _options(params.get("options") or "", {"beta": "1", "average": "micro"})
    if options["average"] not in ("micro", "binary"):
        raise ValueError(f"-average {options['average']} is not supported; choose micro or binary")
    actual, predicted = inputs["actual"], inputs["predicted"]
    if len(actual) != len(predicted):
        raise ValueError(f"{len(actual)} actual rows but {len(predicted)} predicted ones")
    kinds = {type(one) for one in (*actual, *predicted)}
    if len(kinds) > 1 or not kinds <= {list, int, bool}:
        raise TypeError("labels must all be lists, all 1, 0 or -1, or all true or false")
    positive_only = options["average"] == "binary"
    if list in kinds and positive_only:
        raise ValueError("-average binary takes one label a row, not lists")
    if list not in kinds:
        actual, predicted = ([_label_set(one, positive_only) for one in rows] for rows in (actual, predicted))
    return _mean(actual, predicted, rs.f(beta=float(options["beta"])), convention=_hivemall(impl), averaging="micro")


def _options(text: str, defaults: dict[str, str]) -> dict[str, str]:
    """Hivemall's options: `-beta 2. -average micro`."""
    words = iter(shlex.split(text.replace("=", " ")))
    options = dict(defaults)
    for word in words:
        name = word.lstrip("-")
        if word == name or name not in options:
            raise ValueError(f"unknown option {word!r}; there are {', '.join(f'-{one}' for one in options)}")
        try:
            options[name] = next(words)
        except StopIteration:
            raise ValueError(f"option {word} has no value") from None
    return options


def _label_set(label: int, positive_only: bool) -> list[int]:
    if label not in (1, 0, -1):
        raise ValueError(f"label {label} is not 1, 0 or -1")
    if label == 1:
        return [1]
    return [] if positive_only else [0]


def _f1score(impl: str, inputs: Inputs, params: Inputs) -> float:
    rows = inputs["rows"]
    actual, predicted = [row["actual"] for row in rows], [row["predicted"] for row in rows]
    return _mean(actual, predicted, rs.f1, convention=_hivemall(impl), averaging="micro")


def _hivemall_error(metric: rs.Metric) -> Callable[..., float]:
    """An error of predictions; rows with a null are skipped."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        rows = zip(inputs["predicted"], inputs["actual"], strict=True)
        rows = [row for row in rows if None not in row]
        choices = {} if rows else {"undefined": 0}
        return metric([one for one, _ in rows], [one for _, one in rows], convention=_hivemall(impl), **choices)

    return answer


def _ask(query: str, **columns: Any) -> list[Any]:
    """The rows that a query over one table gives."""
    import duckdb
    import pyarrow as pa

    connection = rs.sql.connect()
    try:
        connection.register("data", pa.table(columns))
        return rs.sql.query(connection, query).fetchall()
    except duckdb.Error as error:
        raise ValueError(str(error)) from None
    finally:
        connection.close()


def _list_of(value: Any) -> Any:
    return [[key, one] for key, one in value.items()] if isinstance(value, dict) else value


def _to_ordered_list(impl: str, inputs: Inputs, params: Inputs) -> Any:
    given = ["value", *(["key"] if "keys" in inputs else []), *(["'{options}'"] if "options" in params else [])]
    columns = {"value": inputs["values"], **({"key": inputs["keys"]} if "keys" in inputs else {})}
    query = f"select to_ordered_list({', '.join(given)}) from data".format(**params)
    return _list_of(_ask(query, **columns)[0][0])


def _to_ordered_map(impl: str, inputs: Inputs, params: Inputs) -> Any:
    third = f", {params['third']}" if "third" in params else ""
    query = f"select to_ordered_map(key, value{third}) from data"
    return _list_of(_ask(query, key=inputs["keys"], value=inputs["values"])[0][0])


def _each_top_k(impl: str, inputs: Inputs, params: Inputs) -> Any:
    columns = {name: [row[name] for row in inputs["rows"]] for name in ("group", "key", "value")}
    query = f"""
        select rank, score, c, v from (
          select each_top_k({params["k"]}, `group`, key, `group`, value) as (rank, score, c, v)
          from (select * from data distribute by `group` sort by `group`) t
        ) u order by c, rank, v
    """
    return [list(row) for row in _ask(query, **columns)]


def _ndcg_as_printed(impl: str, inputs: Inputs, params: Inputs) -> float:
    """The printed formula sums the same gains above and below the line: it is 1 if there is any hit."""
    return _hivemall_ranking(rs.hit_rate)(impl, inputs, params)


# -- 001: PT-Ranking -----------------------------------------------------------------------------------------


def _ptranking(impl: str) -> str:
    return "ptranking-head" if impl.startswith("ptranking HEAD") else "ptranking"


def _at_ks(metric: rs.Metric) -> Callable[..., Any]:
    """A value for each k, of one list of labels or of each list of a batch; 0 where the list is shorter than k."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> Any:
        choices = _ptranking_choices(metric, impl, inputs, params)

        def one(labels: list[Any], ideal: list[Any] | None) -> list[float]:
            ks = list(params["ks"])
            if not any(k <= len(labels) for k in ks):
                raise ValueError(f"the list holds {len(labels)} labels, fewer than each k of {ks}")
            _refuse_short_ideal(ideal, max(k for k in ks if k <= len(labels)))
            return [metric(labels=labels, truth=ideal, k=k, **choices) for k in ks]

        return _each_of_batch(metric, impl, inputs, one)

    return answer


def _at_k(metric: rs.Metric) -> Callable[..., Any]:
    """The value at k; where the list is shorter, at its end."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> Any:
        choices = _ptranking_choices(metric, impl, inputs, params)
        k = params.get("k")
        if k is None and metric not in (rs.ndcg, rs.dcg):
            raise TypeError("k is missing")

        def one(labels: list[Any], ideal: list[Any] | None) -> float:
            depth = len(labels) if k is None else k
            if depth > len(labels):
                if metric in (rs.ndcg, rs.dcg):
                    raise ValueError(f"k is {k}, but the list holds only {len(labels)} labels")
                depth = len(labels)
            _refuse_short_ideal(ideal, depth)
            return metric(labels=labels, truth=ideal, k=depth, **choices)

        return _each_of_batch(metric, impl, inputs, one)

    return answer


def _refuse_short_ideal(ideal: list[Any] | None, k: int) -> None:
    if ideal is not None and len(ideal) < k:
        raise ValueError(f"the ideal list holds {len(ideal)} labels, fewer than k, {k}")


def _ptranking_choices(metric: rs.Metric, impl: str, inputs: Inputs, params: Inputs) -> dict[str, Any]:
    choices: dict[str, Any] = {"convention": _ptranking(impl)}
    graded = params.get("multi_level_rele", True) and params.get("label_type") != "Permutation"
    if metric in (rs.err, rs.nerr):
        if not graded:
            raise ValueError("it is defined for multi-level labels only")
        choices["max_grade"] = _max_grade(metric, inputs, params)
    if metric in (rs.dcg, rs.ndcg) and not graded:
        choices["gain"] = "linear"
    if metric == rs.ndcg:
        choices["ideal"] = "given"
    return choices


def _max_grade(metric: rs.Metric, inputs: Inputs, params: Inputs) -> float:
    """ERR is told the highest grade there is; nERR, if not told, looks for it in the whole batch."""
    if metric == rs.err:
        if params.get("max_rele_level") is None:
            raise TypeError("max_rele_level is missing")
        return params["max_rele_level"]
    if params.get("max_label") is not None:
        return params["max_label"]
    return max(np.ravel(inputs["ideal"]).tolist())


def _each_of_batch(metric: rs.Metric, impl: str, inputs: Inputs, one: Callable[..., Any]) -> Any:
    labels, ideal = inputs["labels"], inputs.get("ideal")
    if any(isinstance(label, list) for label in labels):
        return [one(*pair) for pair in zip(labels, ideal or [None] * len(labels), strict=True)]
    if metric in (rs.precision, rs.ap) and _ptranking(impl) == "ptranking":  # relevant is what is above 0; NaN is not
        labels = [0 if _is_nan(label) else label for label in labels]
    return one(labels, ideal)


def _dcg_at_ks(impl: str, inputs: Inputs, params: Inputs) -> list[float]:
    """Discounted gain at each rank down to max_cutoff."""
    cutoff = params["max_cutoff"]
    if not 0 <= cutoff <= len(inputs["labels"]):
        raise ValueError(f"max_cutoff is {cutoff}, but the list holds {len(inputs['labels'])} labels")
    return _at_ks(rs.dcg)(impl, inputs, {**params, "ks": range(1, cutoff + 1)}) if cutoff else []


def _rele_gain(impl: str, inputs: Inputs, params: Inputs) -> Any:
    base = np.format_float_positional(params.get("gain_base", 2.0), trim="-")

    def one(level: float) -> float:
        return rs.cg(labels=[level], gain=f"exp{base}", convention=_ptranking(impl))

    levels = inputs["rele_level"]
    return [one(level) for level in levels] if isinstance(levels, list) else one(levels)


def _torch_kendall_tau(impl: str, inputs: Inputs, params: Inputs) -> float:
    """Agreement of a list of values with ascending order, or with descending order."""
    labels = inputs["labels"]
    if params.get("natural_ascending_as_reference", True):
        labels = [-label for label in labels]
    return rs.kendall(labels=labels, convention=_ptranking(impl))


def _gain_formula(metric: rs.Metric) -> Callable[..., float]:
    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        return metric(labels=inputs["labels"], k=params.get("p"), gain="linear", convention="ptranking")

    return answer


def _f_of_precision_and_recall(beta: str) -> Callable[..., float]:
    """F of a list that has this precision and recall."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        precision, recall = (Fraction(inputs[name]).limit_denominator(1000) for name in "PR")
        hits = math.lcm(precision.numerator, recall.numerator)
        if hits:
            retrieved, relevant = int(hits / precision), int(hits / recall)
        else:  # no hit; and no list at all if neither is known
            retrieved = relevant = 1 if precision or recall else 0
        items = [*range(hits), *(("retrieved only", i) for i in range(retrieved - hits))]
        truth = [*range(hits), *(("relevant only", i) for i in range(relevant - hits))]
        return rs.f(items, truth, beta=params.get(beta, 1), undefined="error")

    return answer


def _mrr_of_ranks(impl: str, inputs: Inputs, params: Inputs) -> float:
    """The mean over queries whose first right answer stands at these ranks; None where there is none."""
    runs = [[*range(1, rank), "right"] if rank else [] for rank in inputs["ranks"]]
    return _mean([["right"]] * len(runs), runs, rs.rr)


# -- 002: a note on ranking metrics --------------------------------------------------------------------------


def _note_at_k(metric: rs.Metric) -> Callable[..., float]:
    """All users' hits over all users' places or relevant items. The truth is a ranked list too, cut at k."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        k = params.get("k", 2)
        choices = {"digits": params["rounding"]} if "rounding" in params else {}
        users = list(zip(inputs["y_true"], inputs["y_pred"], strict=False))  # as far as all lists go
        if inputs.get("relevance_masks"):
            choices["convention"] = "preference-note-masked"
            masked = list(zip(users, inputs["relevance_masks"], strict=False))
            truth = [_masked_truth(*user, dict(mask), k) for user, mask in masked]
            run = [predicted for (_, predicted), _ in masked]
        else:
            choices["convention"] = "preference-note"
            truth, run = [_preferences(true, k) for true, _ in users], [predicted for _, predicted in users]
        return _mean(truth, run, metric @ k, **choices)

    return answer


def _preferences(true: list[Any], k: int) -> list[Any]:
    """A repeated item takes another of the k places, but is one item."""
    return true if len(set(true)) == len(true) else list(dict.fromkeys(true[:k]))


def _masked_truth(true: list[Any], predicted: list[Any], mask: dict[Any, Any], k: int) -> dict[Any, float]:
    """The mask in the order of preference. Items that it alone knows come after the first k places."""
    for item in (*true[:k], *predicted[:k]):
        if item not in mask:
            raise ValueError(f"item {item!r} is not in the relevance mask")
    truth: dict[Any, float] = {}
    for place in range(max(len(true), k)):
        item = true[place] if place < len(true) else NOTHING
        known = item is not NOTHING and item not in truth
        truth[item if known else ("nothing at", place)] = float(mask.get(item) or 0) if known else 0.0
    return truth | {item: float(value or 0) for item, value in mask.items() if item not in truth}


def _hit_ratio(impl: str, inputs: Inputs, params: Inputs) -> float:
    return _mean([[one] for one in inputs["y"]], inputs["d"], _at(rs.hit_rate, params.get("L")))


def _note_formula(metric: rs.Metric) -> Callable[..., float]:
    """Of one list of relevance, in ranked order, or the mean over several."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        relevance = inputs["relevance"]
        lists = relevance if any(isinstance(one, list) for one in relevance) else [relevance]
        return _mean_of_labels(lists, _at(metric, params.get("K")), convention="preference-note")

    return answer


def _mean_of_labels(lists: Iterable[list[float]], metric: rs.Metric, **choices: Any) -> float:
    """The mean over lists of labels in ranked order."""
    lists = list(lists)
    return _mean([dict(enumerate(one)) for one in lists], [list(range(len(one))) for one in lists], metric, **choices)


# -- 003: python-recsys --------------------------------------------------------------------------------------

RECSYS = "python-recsys"


def _loaded(inputs: Inputs, params: Inputs) -> tuple[Any, Any]:
    """What a python-recsys object holds: ground truth and test, from pairs or lists, and what was added since."""
    pairs = inputs.get("data") or []
    truth, test = [one for one, _ in pairs], [one for _, one in pairs]
    truth, test = list(inputs.get("ground_truth", truth)), list(inputs.get("test", test))
    for actual, predicted in inputs.get("add", []):
        if not _is_nan(actual) and not _is_nan(predicted):
            truth.append(actual)
            test.append(predicted)
    if params.get("numpy"):
        return np.array(truth), np.array(test)
    return truth, test


def _refuse_empty(truth: Any, test: Any) -> None:
    if len(truth) == 0 or len(test) == 0:
        raise ValueError(f"the {'ground truth' if len(truth) == 0 else 'test data'} is empty")


def _recsys_error(metric: rs.Metric) -> Callable[..., Any]:
    def answer(impl: str, inputs: Inputs, params: Inputs) -> Any:
        truth, test = _loaded(inputs, params)
        if inputs.get("r") and inputs.get("r_pred"):  # a rating of 0 reads as none
            truth, test = [inputs["r"]], [inputs["r_pred"]]
        if params.get("return") == "lists":
            return [truth, test]
        if len(truth) == len(test):
            _refuse_empty(truth, test)
        return metric(test, truth, convention=RECSYS)

    return answer


def _correlation(metric: rs.Metric, **choices: Any) -> Callable[..., float]:
    """Of two rankings, lists of [name, score], or of two lists of ratings."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        truth, test = _loaded(inputs, params)
        _refuse_empty(truth, test)
        convention = RECSYS if impl.startswith("python-recsys") else "rankstone"
        kinds = {type(one) for one in (*truth, *test)}
        if kinds == {list}:
            names = [{name for name, _ in side} for side in (truth, test)]
            if names[0] != names[1] or not len(truth) == len(test) == len(names[0]):
                raise ValueError("the ground truth and the test data have different elements")
            return metric(dict(test), dict(truth), convention=convention, **choices)
        if not kinds.isdisjoint({list, str}):
            raise TypeError("a ranking is a list of [name, score], ratings are a list of numbers")
        return metric(labels=truth, scores=test, convention=convention, **choices)

    return answer


def _precision_recall_f1(impl: str, inputs: Inputs, params: Inputs) -> list[float]:
    truth, test = _loaded(inputs, params)
    _refuse_empty(truth, test)
    return [metric(test, truth, convention=RECSYS) for metric in (rs.precision, rs.recall, rs.f1)]


def _reciprocal_rank(impl: str, inputs: Inputs, params: Inputs) -> float:
    return _rank_of(inputs["query"] or NOTHING, inputs["ground_truth"])  # a query of 0 reads as none


def _rank_of(query: Any, items: list[Any]) -> float:
    return rs.rr(items, [_item(query)], convention=RECSYS, digits=None)


def _item(query: Any) -> Any:
    return tuple(query) if isinstance(query, list) else query


def _mean_reciprocal_rank(impl: str, inputs: Inputs, params: Inputs) -> float:
    _refuse_halves(inputs)
    if "query" in inputs:
        if not inputs["query"] or not inputs["ground_truth"]:
            return _mean([], [], rs.rr, convention=RECSYS)
        _refuse_list(inputs["query"])
        return _rank_of(inputs["query"], inputs["ground_truth"])
    for query in inputs["queries"]:
        _refuse_list(query)
    return _mean([[query] for query in inputs["queries"]], inputs["ground_truths"], rs.rr, convention=RECSYS)


def _refuse_halves(inputs: Inputs) -> None:
    for name in ("load_test", "load_ground_truth"):
        if name in inputs:
            raise ValueError(f"{name} alone makes no query; give the ground truth and the query together")


def _refuse_list(query: Any) -> None:
    if isinstance(query, list):
        raise ValueError(f"a query is one item, not a list: {query!r}")


def _recsys_ap(impl: str, inputs: Inputs, params: Inputs) -> float:
    return _average_precision(inputs["ground_truth"], inputs["test"])


def _average_precision(truth: list[Any], test: Any) -> float:
    test = test if isinstance(test, list) else [test]
    _refuse_empty(truth, test)
    return rs.ap(test, truth, convention=RECSYS)


def _mean_average_precision(impl: str, inputs: Inputs, params: Inputs) -> float:
    _refuse_halves(inputs)
    if "query" in inputs:
        if not inputs["query"] or not inputs["ground_truth"]:
            return _mean([], [], rs.ap, convention=RECSYS)
        return _average_precision(inputs["ground_truth"], inputs["query"])
    truths = inputs["ground_truths"]
    tests = [test if isinstance(test, list) else [test] for test in inputs["tests"]]
    for pair in zip(truths, tests, strict=True):
        _refuse_empty(*pair)
    return _mean(truths, tests, rs.ap, convention=RECSYS, digits=6)


def _average_precision_formula(impl: str, inputs: Inputs, params: Inputs) -> float:
    return rs.ap(inputs["test"], inputs["ground_truth"], undefined="error")


def _mse_formula(impl: str, inputs: Inputs, params: Inputs) -> float:
    truth, test = _loaded(inputs, params)
    return rs.mse(test, truth, undefined="error")


# -- 004: a post on recommender metrics ----------------------------------------------------------------------

BLOG: dict[str, Any] = {"convention": "recsys-blog", "undefined": "error"}
BINARY: dict[str, Any] = {**BLOG, "threshold": ">0"}  # marks, not ratings


def _of_marks(metric: rs.Metric) -> Callable[..., float]:
    """Of lists of 0 and 1 in ranked order, and how many relevant items there are in all."""

    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        lists = inputs["rels"] if "rels" in inputs else [inputs["rel"]]
        counts = inputs.get("Ns", [inputs["N"]] if "N" in inputs else [sum(map(bool, one)) for one in lists])
        truth = []
        for marks, count in zip(lists, counts, strict=True):
            unseen = count - sum(map(bool, marks))
            if unseen < 0:
                raise ValueError(f"{count} relevant items, but the list holds more of them")
            truth.append(dict(enumerate([*marks, *[1] * unseen])))
        return _mean(truth, [list(range(len(one))) for one in lists], _at(metric, params.get("k")), **BINARY)

    return answer


def _blog_ndcg(impl: str, inputs: Inputs, params: Inputs) -> float:
    """Of gains in ranked order beside the ideal order, or of gains beside scores."""
    if "scores" not in inputs:
        return rs.ndcg(labels=inputs["gains"], truth=inputs.get("ideal"), k=params.get("k"), **BLOG)
    scores = inputs["scores"]
    if params.get("order", "descending") == "ascending":  # as the post has it: the lowest score comes first
        scores = [-score for score in scores]
    return rs.ndcg(labels=inputs["gains_by_item"], scores=scores, k=params.get("k"), ties="input", **BLOG)


def _blog_dcg(impl: str, inputs: Inputs, params: Inputs) -> float:
    return rs.dcg(labels=inputs["gains"], k=params.get("k"), **BLOG)


def _blog_error(metric: rs.Metric) -> Callable[..., float]:
    def answer(impl: str, inputs: Inputs, params: Inputs) -> float:
        return metric(inputs["y_hat"], inputs["y"], **BLOG)

    return answer


def _relevance_threshold(impl: str, inputs: Inputs, params: Inputs) -> list[float]:
    """Which ratings are relevant: 1 for a list that holds such an item alone, else 0."""
    above = {"threshold": f">{params['threshold']}"} if "threshold" in params else {}
    return [rs.hit_rate(labels=[rating], **{**BLOG, **above}) for rating in inputs["ratings"]]


_DOCUMENTS: dict[str, dict[str, Callable[..., Any]]] = {
    "000": {
        "recall_at": _hivemall_ranking(rs.recall),
        "precision_at": _hivemall_ranking(rs.precision),
        "average_precision": _hivemall_ranking(rs.ap),
        "mrr": _hivemall_ranking(rs.rr),
        "hitrate": _hivemall_ranking(rs.hit_rate),
        "ndcg": _hivemall_ranking(rs.ndcg),
        "graded_ndcg": _graded_ndcg,
        "graded_dcg": _graded_dcg,
        "idcg": _idcg,
        "auc": _hivemall_auc,
        "fmeasure": _fmeasure,
        "f1score": _f1score,
        "mae": _hivemall_error(rs.mae),
        "mse": _hivemall_error(rs.mse),
        "rmse": _hivemall_error(rs.rmse),
        "r2": _hivemall_error(rs.r2),
        "logloss": _hivemall_error(rs.logloss),
        "average_precision_formula": _hivemall_ranking(rs.ap),
        "auc_formula": _hivemall_ranking(rs.auc),
        "ndcg_as_printed": _ndcg_as_printed,
        "to_ordered_list": _to_ordered_list,
        "to_ordered_map": _to_ordered_map,
        "each_top_k": _each_top_k,
    },
    "001": {
        "p_at_ks": _at_ks(rs.precision),
        "ap_at_ks": _at_ks(rs.ap),
        "err_at_ks": _at_ks(rs.err),
        "ndcg_at_ks": _at_ks(rs.ndcg),
        "dcg_at_ks": _dcg_at_ks,
        "rele_gain": _rele_gain,
        "torch_precision_at_k": _at_k(rs.precision),
        "torch_precision_at_ks": _at_ks(rs.precision),
        "torch_ap_at_k": _at_k(rs.ap),
        "torch_ap_at_ks": _at_ks(rs.ap),
        "torch_dcg_at_k": _at_k(rs.dcg),
        "torch_dcg_at_ks": _dcg_at_ks,
        "torch_ndcg_at_k": _at_k(rs.ndcg),
        "torch_ndcg_at_ks": _at_ks(rs.ndcg),
        "torch_nerr_at_k": _at_k(rs.nerr),
        "torch_nerr_at_ks": _at_ks(rs.nerr),
        "torch_kendall_tau": _torch_kendall_tau,
        "cg": _gain_formula(rs.cg),
        "dcg_linear": _gain_formula(rs.dcg),
        "f_measure": _f_of_precision_and_recall("a"),
        "f_measure_as_printed": _f_of_precision_and_recall("a"),
        "mrr": _mrr_of_ranks,
    },
    "002": {
        "precision_at_k": _note_at_k(rs.precision),
        "recall_at_k": _note_at_k(rs.recall),
        "hit_ratio": _hit_ratio,
        "reciprocal_rank": _note_formula(rs.rr),
        "mrr": _note_formula(rs.rr),
        "average_precision": _note_formula(rs.ap),
        "map": _note_formula(rs.ap),
    },
    "003": {
        "mae": _recsys_error(rs.mae),
        "rmse": _recsys_error(rs.rmse),
        "mse": _mse_formula,
        "pearson": _correlation(rs.pearson),
        "spearman": _correlation(rs.spearman),
        "kendall": _correlation(rs.kendall),
        "kendall_tau_a": _correlation(rs.kendall, variant="a"),
        "spearman_ratings_as_printed": _correlation(rs.pearson),
        "precision_recall_f1": _precision_recall_f1,
        "reciprocal_rank": _reciprocal_rank,
        "mean_reciprocal_rank": _mean_reciprocal_rank,
        "average_precision": _recsys_ap,
        "mean_average_precision": _mean_average_precision,
        "average_precision_formula": _average_precision_formula,
        "f_beta": _f_of_precision_and_recall("beta"),
    },
    "004": {
        "precision_at_k": _of_marks(rs.precision),
        "recall_at_k": _of_marks(rs.recall),
        "ap_at_k": _of_marks(rs.ap),
        "map_at_k": _of_marks(rs.ap),
        "mrr_at_k": _of_marks(rs.rr),
        "hit_rate_at_k": _of_marks(rs.hit_rate),
        "ndcg_at_k": _blog_ndcg,
        "dcg_at_k": _blog_dcg,
        "dcg_as_printed": _blog_dcg,
        "idcg_as_printed": _blog_dcg,
        "mse": _blog_error(rs.mse),
        "rmse": _blog_error(rs.rmse),
        "relevance_threshold": _relevance_threshold,
    },
}
