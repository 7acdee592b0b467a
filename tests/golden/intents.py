"""Metrics of intents and of weighted truths: those of pyndeval, the best list by trial, propensities by formula."""

import rankstone as rs


def pyndeval(case):
    """One metric of a run, for each query and on average."""
    params, given = case["params"], case["input"]
    query, subtopic, item, grade = map(list, zip(*given["qrels"], strict=True)) if given["qrels"] else ([],) * 4
    truth = rs.columns(query=query, subtopic=subtopic, item=item, grade=grade)
    query, item, score = map(list, zip(*given["run"], strict=True)) if given["run"] else ([],) * 3
    run = rs.columns(query=query, item=item, score=score)
    asked = rs.authoring.Metric.parse(case["metric"])[0]
    own = {name: params[name] for name in ("alpha", "beta") if name in asked.declaration.defaults and name in params}
    result = rs.evaluate(truth, run, asked(**own), convention="pyndeval", threshold=params.get("relevance_level", 1))
    (label,) = result
    values = dict(zip(result.queries, result.per_query[label].tolist(), strict=True))
    there = set(query)
    return {"value": result[label], "per_query": {query: values[query] for query in values if query in there}}


def best_list(case):
    """What the best list of items earns, and the list."""
    items = case["input"]["subtopics"]
    k, alpha = case["params"]["k"], case["params"]["alpha"]
    told = rs.explain({"q": items}, {"q": list(items)}, rs.metrics.alpha_ndcg(alpha=alpha, ideal="best") @ k, query="q")
    return {"value": told.denominator, "list": [row.item for row in told.ideal]}


def weighted(metric):
    """A metric whose relevant items count by one over their propensity."""

    def compute(case):
        given = case["input"]
        rows = [(query, item) for query, items in given["relevant"].items() for item in items]
        propensity = [given["propensity"][item] for _, item in rows]
        truth = rs.columns(query=[query for query, _ in rows], item=[item for _, item in rows], propensity=propensity)
        result = rs.evaluate(truth, given["lists"], metric @ case["params"]["k"], relevance="weighted")
        (label,) = result
        return {
            "value": result[label],
            "per_query": dict(zip(result.queries, result.per_query[label].tolist(), strict=True)),
        }

    return compute


TOOLS = {
    "pyndeval": pyndeval,
    ("exact formula", "alpha_dcg_ideal"): best_list,
    ("exact formula", "ips_recall"): weighted(rs.recall),
    ("exact formula", "ips_dcg"): weighted(rs.dcg),
    ("exact formula", "ips_dcg_self_normalised"): weighted(rs.dcg(divisor="relevant")),
}
_UNDIVIDED = "rankstone divides at every cutoff; convention='pyndeval+defects' does not at 1"
DEVIATIONS = {
    "s-pyndeval-one_at1-ERR-IA@1": (_UNDIVIDED, {"value": 2 / 3, "per_query": {"q1": 2 / 3}}),
    "s-pyndeval-one_at1-alpha-DCG@1": (_UNDIVIDED, {"value": 2 / 3, "per_query": {"q1": 2 / 3}}),
}
