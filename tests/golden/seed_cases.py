"""Answers the cases of `seeds.json`, numbers from five documents, through what users import.

`compute` reads what a call of the original was given, in the original's own terms, and makes the same call of
rankstone: of its SQL functions, of `rankstone.compat`, or of a metric with a convention. The formulas are rankstone's;
here are only translations.
"""

import math
from fractions import Fraction
from functools import cache, partial

import duckdb
import numpy as np
import pyarrow as pa

import rankstone as rs
from rankstone.compat import note, ptranking, recsys

from .recorded import numbers


def compute(case):
    """The answer to a case: a number, or a list of them. Reads its seed, impl, metric, inputs and params."""
    metric, answers = case["metric"], DOCUMENTS[case["seed"]]
    if metric not in answers:
        raise ValueError(f"document {case['seed']} has no metric {metric!r}; it has {', '.join(sorted(answers))}")
    return answers[metric](case["impl"], numbers(case["inputs"]), numbers(case["params"]))


def mean(truth, run, metric, k=None, **choices):
    """The mean over lists given by position."""
    metric = metric if k is None else metric @ k
    return rs.evaluate(dict(enumerate(truth)), dict(enumerate(run)), metric, **choices)[metric]


def f_of(beta, impl, inputs, params):
    """F of a list that has this precision and recall."""
    precision, recall = (Fraction(inputs[name]).limit_denominator(1000) for name in "PR")
    hits = math.lcm(precision.numerator, recall.numerator)
    retrieved, relevant = (int(hits / share) if hits else bool(precision or recall) for share in (precision, recall))
    items = [*range(hits), *(("retrieved only", at) for at in range(retrieved - hits))]
    truth = [*range(hits), *(("relevant only", at) for at in range(relevant - hits))]
    return rs.metrics.f(items, truth=truth, beta=params.get(beta, 1), undefined="error")


# -- 000: Hivemall, in SQL ---------------------------------------------------------------------------------------

KINDS = {"int": pa.int32(), "bigint": pa.int64()}


@cache
def connection():
    return rs.sql.connect()


def ask(query, **columns):
    """The rows that a query over the table `data` gives."""
    connection().register("data", pa.table(columns))
    try:
        return rs.sql.query(connection(), query).fetchall()
    except duckdb.Error as error:
        raise ValueError(str(error)) from None


def hivemall(impl):
    return "hivemall-0.5" if impl.startswith("hivemall HEAD") else "hivemall"


def of_lists(name, impl, inputs, params, graded=False):
    """A measure of `rec` and `truth`, or its mean over `rows` of both, which may be lists of grades."""
    rows = [{**params, **row} for row in inputs.get("rows", [inputs])]
    recs, truths = [row["rec"] for row in rows], [row["truth"] for row in rows]
    ks = {"k": [row.get("k") for row in rows]} if any("k" in row for row in rows) else {}
    options = f"-convention {hivemall(impl)}"
    if "before HIVEMALL-124" in impl:
        if any(row.get("k", 0) > len(row["rec"]) for row in rows):
            raise ValueError(f"a list is shorter than its k: {rows}")
        if name not in ("mrr", "hitrate", "auc"):  # an empty list or truth was no special case
            options += " -undefined nan -both_empty nan"
    if graded or params.get("graded"):
        options += f" -undefined nan -ideal_depth {'k' if ks else 'min(k,retrieved)'}"
        recs = [rec and [{"grade": grade} for grade in rec] for rec in recs]
        kinds = [pa.struct({"grade": pa.float64()}), pa.float64()]
    else:
        item = pa.array([item for side in (*recs, *truths) for item in side or []]).type
        kinds = [KINDS.get(params.get(one), item) for one in ("rec_type", "truth_type")]
    rec, truth = (pa.array(side, pa.list_(kind)) for side, kind in zip((recs, truths), kinds, strict=True))
    given = ", ".join(["rec", "truth", *ks, f"'{options}'"])
    return ask(f"select {name}({given}) from data", rec=rec, truth=truth, **ks)[0][0]


def of_rows(name, left, right, impl, inputs, params):
    """A measure of all rows of two columns together."""
    options = f", '{params['options']}'" if "options" in params else ""
    columns = {one: inputs[one] for one in (left, right)}
    return ask(f"select {name}({left}, {right}{options}) from data", **columns)[0][0]


def auc(impl, inputs, params):
    """Of ranked lists, or of rows with a probability and a label, however they were spread over machines."""
    if None in (inputs.get("rec") or []):  # an item in Python, an error in SQL
        return rs.auc(inputs["rec"], truth=inputs["truth"], k=params.get("k"), convention=hivemall(impl))
    if "scores" not in inputs:
        return of_lists("auc", impl, inputs, params)
    if "bins" in params:
        bins = params["bins"]
        rows = [row for one in params.get("order", range(len(bins))) for row in bins[one]]
        inputs = {name: [column[row] for row in rows] for name, column in inputs.items()}
    return of_rows("auc", "scores", "labels", impl, inputs, {})


def f1score(impl, inputs, params):
    columns = {name: [row[name] for row in inputs["rows"]] for name in ("actual", "predicted")}
    return of_rows("f1score", "actual", "predicted", impl, columns, params)


def dcg(impl, inputs, params):
    if inputs.get("n", 0) < 0:
        raise ValueError(f"{inputs['n']} relevant items")
    labels = inputs["rel"] if "rel" in inputs else [1] * inputs["n"]
    return rs.dcg(labels=labels, k=params.get("k"), convention=hivemall(impl))


def to_ordered(name, columns, impl, inputs, params):
    """A list or a map in order, with what else the call gave: a map as a list of its pairs."""
    data = {one: inputs[f"{one}s"] for one in columns if f"{one}s" in inputs}
    given = ", ".join([*data, *(f"'{one}'" if isinstance(one, str) else str(one) for one in params.values())])
    found = ask(f"select {name}({given}) from data", **data)[0][0]
    return [list(pair) for pair in found.items()] if isinstance(found, dict) else found


def each_top_k(impl, inputs, params):
    columns = {name: [row[name] for row in inputs["rows"]] for name in ("group", "key", "value")}
    query = f"""
        select rank, score, c, v from (
          select each_top_k({params["k"]}, `group`, key, `group`, value) as (rank, score, c, v)
          from (select * from data distribute by `group` sort by `group`) t
        ) u order by c, rank, v
    """
    return [list(row) for row in ask(query, **columns)]


# -- 001: PT-Ranking -----------------------------------------------------------------------------------------------


def of_labels(function, impl, inputs, params):
    """One of the first functions: labels in ranked order, and what else the call gave."""
    found = function(*inputs.values(), **params)
    return found.tolist() if isinstance(found, np.ndarray | np.generic) else found


def today(metric, impl, inputs, params):
    """PT-Ranking's functions since: a value for each k, or one at k or the end of the list; of a list or a batch."""
    labels, ideal = inputs["labels"], inputs.get("ideal")
    choices = {"convention": "ptranking-head" if impl.startswith("ptranking HEAD") else "ptranking"}
    if metric == rs.metrics.nerr:
        choices["max_grade"] = params.get("max_label") or max(np.ravel(ideal).tolist())
    if metric == rs.ndcg:
        choices["ideal"] = "given"
    if any(isinstance(one, list) for one in labels):
        pairs = zip(labels, ideal or [None] * len(labels), strict=True)
        return [today_of_one(metric, *pair, params, choices) for pair in pairs]
    return today_of_one(metric, labels, ideal, params, choices)


def today_of_one(metric, labels, ideal, params, choices):
    if "ks" in params:
        ks = params["ks"]
    elif metric == rs.ndcg:  # its k may be left out, and not lie beyond the list
        ks = [len(labels) if params.get("k") is None else params["k"]]
    else:
        ks = [min(params["k"], len(labels))]
    within = [k for k in ks if k <= len(labels)]
    if not within or len(labels if ideal is None else ideal) < max(within):
        raise ValueError(f"the lists hold {labels} and {ideal}, fewer labels than k of {ks}")
    found = [metric(labels=labels, truth=ideal, k=k, **choices) for k in ks]
    return found if "ks" in params else found[0]


def kendall_tau(impl, inputs, params):
    """Agreement of a list of values with ascending order, or with descending order."""
    ascending = params.get("natural_ascending_as_reference", True)
    return rs.metrics.kendall(
        labels=[-one if ascending else one for one in inputs["labels"]], convention="ptranking-head"
    )


def gain_formula(metric, impl, inputs, params):
    return metric(labels=inputs["labels"], k=params.get("p"), gain="linear", convention="ptranking")


def mrr_of_ranks(impl, inputs, params):
    """The mean over queries whose first right answer stands at these ranks; None where there is none."""
    runs = [[*range(1, rank), "right"] if rank else [] for rank in inputs["ranks"]]
    return mean([["right"]] * len(runs), runs, rs.rr)


# -- 002: a note on ranking metrics ----------------------------------------------------------------------------------


def of_users(function, impl, inputs, params):
    masks = [dict(map(tuple, mask)) for mask in inputs.get("relevance_masks") or []]
    return function(inputs["y_true"], inputs["y_pred"], relevance_masks=masks, **params)


def hit_ratio(impl, inputs, params):
    return mean([[one] for one in inputs["y"]], inputs["d"], rs.hit_rate, params.get("L"))


def note_formula(metric, impl, inputs, params):
    """Of one list of relevance, in ranked order, or the mean over several."""
    relevance = inputs["relevance"]
    lists = relevance if any(isinstance(one, list) for one in relevance) else [relevance]
    return mean_of_labels(lists, metric, params.get("K"), convention="preference-note")


def mean_of_labels(lists, metric, k, unseen=(), **choices):
    """The mean over lists of labels in ranked order; `unseen` labels are not in the list."""
    truth = [dict(enumerate([*one, *more])) for one, more in zip(lists, unseen or [[]] * len(lists), strict=True)]
    return mean(truth, [list(range(len(one))) for one in lists], metric, k, **choices)


# -- 003: python-recsys ----------------------------------------------------------------------------------------------


def of_class(made, impl, inputs, params):
    """The call that a case was, made of the class: what was loaded, added, and given to compute()."""
    one = made(map(tuple, inputs["data"])) if "data" in inputs else made()
    kind = np.array if params.get("numpy") else list
    loads = {name: inputs[name] for name in ("load_ground_truth", "load_test") if name in inputs}
    if "query" not in inputs:
        loads |= {f"load_{name}": kind(inputs[name]) for name in ("ground_truth", "test") if name in inputs}
    for load, values in loads.items():
        getattr(one, load)(values)
    for pair in inputs.get("add", []):
        one.add(*pair)
    for pair in zip(inputs.get("ground_truths", []), inputs.get("queries", inputs.get("tests", [])), strict=True):
        one.load(*pair)
    if params.get("return") == "lists":
        return [one.get_ground_truth(), one.get_test()]
    if "query" in inputs:
        return one.compute(inputs["ground_truth"], inputs["query"])
    found = one.compute(inputs["r"], inputs.get("r_pred")) if "r" in inputs else one.compute()
    return list(found) if isinstance(found, tuple) else found


def of_two(metric, impl, inputs, params, **choices):
    """A formula of the document: two lists of ratings, or of [name, score]."""
    sides = list(zip(*inputs["data"], strict=True)) if "data" in inputs else (inputs["ground_truth"], inputs["test"])
    truth, test = (dict(side) if isinstance(side[0], list) else dict(enumerate(side)) for side in sides)
    return metric(test, truth=truth, **choices)


# -- 004: a post on recommender metrics ------------------------------------------------------------------------------

POST = {"convention": "recsys-blog", "undefined": "error"}


def of_marks(metric, impl, inputs, params):
    """Of lists of 0 and 1 in ranked order, and how many relevant items there are in all."""
    lists = inputs["rels"] if "rels" in inputs else [inputs["rel"]]
    known = [sum(map(bool, one)) for one in lists]
    counts = inputs.get("Ns", [inputs["N"]] if "N" in inputs else known)
    if any(count < least for count, least in zip(counts, known, strict=True)):
        raise ValueError(f"{counts} relevant items, but the lists hold {known} of them")
    unseen = [[1] * (count - least) for count, least in zip(counts, known, strict=True)]
    divided = metric in (rs.recall, rs.ap)  # by the number of relevant items
    choices = POST if divided else {**POST, "undefined": 0}
    return mean_of_labels(lists, metric, params.get("k"), unseen, threshold=">0", **choices)


def ndcg_of_post(impl, inputs, params):
    """Of gains in ranked order beside the ideal order, or of gains beside scores."""
    if "scores" not in inputs:
        return rs.ndcg(labels=inputs["gains"], truth=inputs.get("ideal"), k=params.get("k"), **POST)
    ascending = params.get("order") == "ascending"  # as the post has it: the lowest score comes first
    scores = [-one if ascending else one for one in inputs["scores"]]
    return rs.ndcg(labels=inputs["gains_by_item"], scores=scores, k=params.get("k"), ties="input", **POST)


def dcg_of_post(impl, inputs, params):
    return rs.dcg(labels=inputs["gains"], k=params.get("k"), **POST)


def error_of_post(metric, impl, inputs, params):
    return metric(inputs["y_hat"], truth=inputs["y"], **POST)


def relevance_threshold(impl, inputs, params):
    """Which ratings are relevant: 1 for a list that holds such an item alone, else 0."""
    above = {"threshold": f">{params['threshold']}"} if "threshold" in params else {}
    return [rs.hit_rate(labels=[rating], **{**POST, **above, "undefined": 0}) for rating in inputs["ratings"]]


HIVEMALL = ("recall_at", "precision_at", "average_precision", "mrr", "hitrate", "ndcg")
ERRORS = ("mae", "mse", "rmse", "r2", "logloss")
TODAY = {"precision": rs.precision, "ap": rs.ap, "ndcg": rs.ndcg, "nerr": rs.metrics.nerr}
DOCUMENTS = {
    "000": {
        **{name: partial(of_lists, name) for name in HIVEMALL},
        **{name: partial(of_rows, name, "predicted", "actual") for name in ERRORS},
        "average_precision_formula": partial(of_lists, "average_precision"),
        "ndcg_as_printed": partial(of_lists, "hitrate"),  # the same sum above and below the line: 1 if there is any hit
        "graded_ndcg": partial(of_lists, "ndcg", graded=True),
        "graded_dcg": dcg,
        "idcg": dcg,
        "auc": auc,
        "auc_formula": auc,
        "fmeasure": partial(of_rows, "fmeasure", "actual", "predicted"),
        "f1score": f1score,
        "to_ordered_list": partial(to_ordered, "to_ordered_list", ("value", "key")),
        "to_ordered_map": partial(to_ordered, "to_ordered_map", ("key", "value")),
        "each_top_k": each_top_k,
    },
    "001": {
        **{f"torch_{name}_at_k": partial(today, metric) for name, metric in TODAY.items()},
        **{f"torch_{name}_at_ks": partial(today, metric) for name, metric in TODAY.items()},
        "ndcg_at_ks": partial(today, rs.ndcg),
        "p_at_ks": partial(of_labels, ptranking.tor_p_at_ks),
        "ap_at_ks": partial(of_labels, ptranking.tor_ap_at_ks),
        "err_at_ks": partial(of_labels, ptranking.tor_err_at_ks),
        "dcg_at_ks": partial(of_labels, ptranking.tor_discounted_cumu_gain_at_ks),
        "rele_gain": partial(of_labels, ptranking.rele_gain),
        "torch_kendall_tau": kendall_tau,
        "cg": partial(gain_formula, rs.metrics.cg),
        "dcg_linear": partial(gain_formula, rs.dcg),
        "f_measure": partial(f_of, "a"),
        "f_measure_as_printed": partial(f_of, "a"),
        "mrr": mrr_of_ranks,
    },
    "002": {
        "precision_at_k": partial(of_users, note.precision_at_k),
        "recall_at_k": partial(of_users, note.recall_at_k),
        "hit_ratio": hit_ratio,
        **dict.fromkeys(("reciprocal_rank", "mrr"), partial(note_formula, rs.rr)),
        **dict.fromkeys(("average_precision", "map"), partial(note_formula, rs.ap)),
    },
    "003": {
        "mae": partial(of_class, recsys.MAE),
        "rmse": partial(of_class, recsys.RMSE),
        "pearson": partial(of_class, recsys.Pearson),
        "spearman": partial(of_class, recsys.SpearmanRho),
        "kendall": partial(of_class, recsys.KendallTau),
        "precision_recall_f1": partial(of_class, recsys.PrecisionRecallF1),
        "reciprocal_rank": partial(of_class, recsys.ReciprocalRank),
        "mean_reciprocal_rank": partial(of_class, recsys.MeanReciprocalRank),
        "average_precision": partial(of_class, recsys.AveragePrecision),
        "mean_average_precision": partial(of_class, recsys.MeanAveragePrecision),
        "kendall_tau_a": partial(of_two, rs.metrics.kendall, variant="a"),
        "spearman_ratings_as_printed": partial(of_two, rs.metrics.pearson),
        "mse": partial(of_two, rs.metrics.mse, undefined="error"),
        "average_precision_formula": lambda impl, inputs, params: rs.ap(
            inputs["test"], truth=inputs["ground_truth"], undefined="error"
        ),
        "f_beta": partial(f_of, "beta"),
    },
    "004": {
        "precision_at_k": partial(of_marks, rs.precision),
        "recall_at_k": partial(of_marks, rs.recall),
        **dict.fromkeys(("ap_at_k", "map_at_k"), partial(of_marks, rs.ap)),
        "mrr_at_k": partial(of_marks, rs.rr),
        "hit_rate_at_k": partial(of_marks, rs.hit_rate),
        "ndcg_at_k": ndcg_of_post,
        **dict.fromkeys(("dcg_at_k", "dcg_as_printed", "idcg_as_printed"), dcg_of_post),
        "mse": partial(error_of_post, rs.metrics.mse),
        "rmse": partial(error_of_post, rs.rmse),
        "relevance_threshold": relevance_threshold,
    },
}
