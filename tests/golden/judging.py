"""Condensed lists, residuals of unjudged items, retrieval by id: ir_measures, cwl_eval, ragas and LlamaIndex."""

import re

import rankstone as rs


def ir_measures(case):
    """Measures as they are written, `nDCG(judged_only=True)@5`."""
    run = {}
    for query, item, score in case["input"]["run"]:
        run.setdefault(query, {})[item] = score
    found = rs.evaluate(case["input"]["truth"], run, case["metric"], convention="ir_measures")
    (metric,) = found
    return {"value": found[metric], "per_query": dict(zip(found.queries, found.per_query[metric], strict=True))}


CWL = {  # gains are grades, from 0 to 1
    "RBPCWLMetric": lambda p: rs.rbp(p=p, gain="linear", threshold=">0"),
    "PrecisionCWLMetric": lambda k: rs.precision(relevance="clipped") @ int(k),
    "NDCGCWLMetric": lambda k: rs.ndcg(ideal="ones") @ int(k),
}


def cwl_eval(case):
    """The value, and how much higher it could be."""
    name, parameter = re.fullmatch(r"(\w+)\((.*)\)", case["params"]["metric"]).groups()
    if name not in CWL:
        raise ValueError(f"no metric of rankstone's is {name}")
    metric = CWL[name](float(parameter))
    found = rs.evaluate(case["input"]["truth"], case["input"]["lists"], metric, bounds=True)
    return {"value": found[metric], "residual": found.bounds[str(metric)].residual}


RAGAS = {"IDBasedContextPrecision": "precision", "IDBasedContextRecall": "recall"}


def ragas(case):
    """By id, where ids are text; or of verdicts in ranked order."""
    given = case["input"]
    if case["metric"] == "context_precision":
        return {"value": rs.ap(labels=given["verdicts"], convention="ragas")}
    truth, run = ({"q": list(map(str, given[side]))} for side in ("expected_ids", "retrieved_ids"))
    metric = RAGAS[case["metric"]]
    return {"value": rs.evaluate(truth, run, metric, convention="ragas")[metric]}


LLAMA = {
    "hitrate": "hit_rate",
    "hitrate_granular": "recall(duplicates='count', truth_duplicates='count')",
    "mrr": "rr",
    "mrr_granular": "rr(terms='mean')",
    "precision": "precision",
    "recall": "recall",
    "averageprecision": "ap",
    "ndcg": "ndcg",
}


def llama_index(case):
    truth, run = ({"q": case["input"][side]} for side in ("expected_ids", "retrieved_ids"))
    strict = {"empty_list": "error", "no_relevant": "error"}  # it refuses what is empty
    found = rs.evaluate(truth, run, LLAMA[case["metric"]], convention="llamaindex", **strict)
    return {"value": next(iter(found.values()))}


TOOLS = {"ir_measures": ir_measures, "cwl_eval": cwl_eval, "ragas": ragas, "LlamaIndex": llama_index}
DEVIATIONS = {}
