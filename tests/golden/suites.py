"""How what other projects' own tests expect is asked of rankstone, and what is left out and why.

For each suite a function that takes a recorded call, and gives for each number that the test expects ours beside it.
"""

import ast
import math
import re
from itertools import pairwise

import rankstone as rs

from ..asking import on_metric
from .rosetta import VARIANTS

# -- Hivemall ------------------------------------------------------------------------------------------------------

HIVEMALL = {
    "nDCG": rs.ndcg,
    "Recall": rs.recall,
    "Precision": rs.precision,
    "ReciprocalRank": rs.rr,
    "Hit": rs.hit_rate,
    "AveragePrecision": rs.ap,
    "AUC": rs.auc,
}


def hivemall(case):
    metric, (ranked, truth, k) = HIVEMALL[case["metric"]], case["args"]
    if any(isinstance(one, float) for one in ranked):  # the graded measure: lists of grades
        found = metric(labels=ranked, truth=truth, k=k, ideal_depth="k", convention="hivemall-0.5")
    else:
        found = metric(ranked, truth=truth, k=k, convention="hivemall-0.5")
    yield found, case["expected"]


# -- Spark ---------------------------------------------------------------------------------------------------------

SPARK = {"precisionAt": "precision", "recallAt": "recall", "meanAveragePrecision": "ap",
         "meanAveragePrecisionAt": "ap", "ndcgAt": "ndcg"}  # fmt: skip


def spark(case):
    name, k, queries = SPARK[case["metric"]], case["k"], case["queries"]
    metric = f"{name}@{k}" if k else name
    run = {at: query["ranked"] for at, query in enumerate(queries)}
    if name == "ndcg" and "gains" in queries[0]:
        truth = rs.lists([query["relevant"] for query in queries], grades=[query["gains"] for query in queries])
        run = rs.lists([query["ranked"] for query in queries])
        yield rs.evaluate(truth, run, metric, convention="spark-scala")[metric], case["expected"]
    else:  # the other metrics read no gains
        truth = {at: query["relevant"] for at, query in enumerate(queries)}
        yield rs.evaluate(truth, run, metric, convention="spark")[metric], case["expected"]


# -- XGBoost and CatBoost: rows of a label and a score, in groups --------------------------------------------------


def grouped(labels, scores, bounds):
    """Truth and run: each row is an item of its own."""
    return (
        {at: dict(enumerate(rows[start:end])) for at, (start, end) in enumerate(bounds)} for rows in (labels, scores)
    )


XGBOOST = {"pre": "precision", "ndcg": "ndcg", "map": "ap"}


def xgboost(case):
    name, k, minus = re.fullmatch(r"(\w+)(?:@(\d*))?(-?)", case["metric"]).groups()
    starts = case["group_ptr"] or [0, len(case["labels"])]
    truth, run = grouped(case["labels"], case["scores"], list(pairwise(starts)))
    metric = XGBOOST[name] + (f"@{k}" if k else "")
    choices = {"undefined": 0} if minus else {}
    if not case["labels"]:
        choices["empty_list"] = "count"  # no rows are one group of none
    yield rs.evaluate(truth, run, metric, convention="xgboost", **choices)[metric], case["expected"]


CATBOOST = {"PrecisionAt": "precision", "RecallAt": "recall", "MAP": "ap", "MRR": "rr", "ERR": "err",
            "CalcNdcg": "ndcg", "CalcDcg": "dcg"}  # fmt: skip


def catboost(case):
    called = case["call"].partition("(")[0]
    name = CATBOOST[case["metric"][0] if case["metric"] else called]
    truth, run = grouped(case["target"], case["approx"], case["queries"] or [[0, len(case["target"])]])
    choices = {"gain": "exp2"} if "::Exp" in case["call"] else {}
    if name in ("precision", "recall", "ap", "rr"):  # a label above the border is relevant
        choices["threshold"] = f">{case['params'].get('border', 0.5)}"
    if case["query_weights"]:
        choices["weights"] = dict(enumerate(case["query_weights"]))
    metric = name + (f"@{case['params']['top']}" if "top" in case["params"] else "")
    metric, choices = on_metric(metric, choices)
    yield rs.evaluate(truth, run, metric, convention="catboost", **choices)[metric], case["expected"]


# -- ir_measures ---------------------------------------------------------------------------------------------------

IR_MEASURES = {
    "P": "precision", "R": "recall", "RR": "rr", "Rprec": "r_precision", "AP": "ap", "nDCG": "ndcg", "Bpref": "bpref",
    "Judged": "judged", "ERR": "err", "Success": "hit_rate", "SetP": "precision", "SetR": "recall", "SetF": "f",
    "IPrec": "iprec", "NumRel": "num_rel", "NumRet": "num_ret", "infAP": "infap", "RBP": "rbp", "Accuracy": "auc",
    "ERR_IA": "err_ia", "nERR_IA": "nerr_ia", "alpha_DCG": "alpha_dcg", "alpha_nDCG": "alpha_ndcg", "NRBP": "nrbp",
    "nNRBP": "nnrbp", "AP_IA": "ap_ia", "P_IA": "precision_ia", "StRecall": "subtopic_recall",
}  # fmt: skip
PROVIDERS = {"gdeval_provider.GdevalProvider": "gdeval", "ranx_provider.RanxProvider": "ranx"}
# What is not compared, and why: (reason, names of measures).
LEFT_OUT = (
    (
        "a model of what a reader does that is no metric here",
        {"BPM", "INSQ", "INST", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11"},
    ),
    ("precision times recall, which is no metric here", {"SetAP"}),
    ("how many queries there are, which is no metric here", {"NumQ"}),
    ("a function of the test itself, which was not recorded", {"my_p", "my_s", "<"}),
)


def left_out(measure):
    """Why a measure is not compared, and its name; None if it is."""
    word = re.match(r"\w+|<", measure)[0]
    return next(((reason, word) for reason, words in LEFT_OUT if word in words), None)


def measures_of(case):
    return [measure["$measure"] for measure in case["args"][0]]


def used_up(measure, measures):
    """Is it a second setting of measures by subtopic in one call, for which ir_measures has no run left, and says 0."""
    word = measure.partition("(")[0].partition("@")[0]
    return rs.metrics[IR_MEASURES[word]].declaration.kind == "intents" and "(" in measure and len(measures) > 1


def ir_measures(case):
    _, judged, returned = case["args"]
    result = case["result"]
    means = result if "aggregate" in case["func"] else result["aggregated"] if isinstance(result, dict) else {}
    rows = result if isinstance(result, list) else result.get("per_query", [])
    for name in measures_of(case):
        if left_out(name):
            continue
        if used_up(name, measures_of(case)):
            continue
        found, metric = evaluated(name, judged, returned, case.get("self", {}).get("$provider"))
        if name in means:
            yield found[metric], means[name]
        values = dict(zip(found.queries, found.per_query[metric].tolist(), strict=True))
        yield from ((values.get(row["query_id"]), row["value"]) for row in rows if row["measure"]["$measure"] == name)


def evaluated(measure, judged, returned, provider):
    """Our result for a measure such as `AP(rel=2)@10`, and the metric's name in it."""
    word, given, cutoff = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@([\d.]+))?", measure).groups()
    given = {one.arg: ast.literal_eval(one.value) for one in ast.parse(f"f({given or ''})", mode="eval").body.keywords}
    name = "num_rel_ret" if word == "NumRet" and "rel" in given else IR_MEASURES[word]
    convention = PROVIDERS.get(provider, "ir_measures")
    choices = {"p": given["p"]} if "p" in given else {}
    if "rel" in given:
        choices["threshold"] = given["rel"]
    if "beta" in given:
        choices["beta"] = math.sqrt(given["beta"])  # trec_eval's parameter is the square of beta
    if "gains" in given:
        grades = {row["relevance"] for row in judged}  # one that it does not name is its own gain, from 0
        choices["gain"] = {grade: given["gains"].get(grade, max(grade, 0)) for grade in grades}
    if given.get("dcg") == "exp-log2":
        choices["gain"] = "exp2"
        convention = "gdeval" if convention == "ir_measures" else convention
    if given.get("relative"):
        choices["divisor"] = "min(k,relevant)"
    if provider == "cwl_eval.CwlEvalProvider":
        said = VARIANTS["ir_measures"]["cwl"]
        choices |= said.get(name, {one: value for one, value in said.items() if not isinstance(value, dict)})
    if provider == "msmarco_provider.MsMarcoProvider":
        choices |= {"ties": "item_asc", "score_precision": "float64"}
    if name == "iprec":
        choices["recall"], cutoff = float(cutoff), None
    truth, run = {}, {}
    by_subtopic = rs.metrics[name].declaration.kind == "intents"
    for row in judged:
        grade = row["relevance"]
        if by_subtopic:
            grade = {**truth.get(row["query_id"], {}).get(row["doc_id"], {}), row["iteration"]: grade}
        truth.setdefault(row["query_id"], {})[row["doc_id"]] = grade
    for row in returned:
        if not given.get("judged_only") or truth.get(row["query_id"], {}).get(row["doc_id"], -1) >= 0:
            run.setdefault(row["query_id"], {})[row["doc_id"]] = row["score"]
    metric, choices = on_metric(name + (f"@{cutoff}" if cutoff else ""), choices)
    result = rs.evaluate(truth, run, metric, convention=convention, **choices)
    return result, next(iter(result))


CALLS = {
    "catboost": catboost, "hivemall": hivemall, "ir_measures": ir_measures, "spark": spark, "xgboost": xgboost,
}  # fmt: skip
