"""Fused and normalised runs, and pools, of ranx, trectools and PyTerrier."""

import rankstone as rs

# What they call the parameters.
NAMES = {"phi": "p", "max_docs": "keep", "num_results": "keep"}


def fused(case, convention):
    """The fused run; a run that is only normalised is the sum of one run."""
    given = {NAMES.get(name, name): value for name, value in case["params"].items()}
    method = "sum" if case["metric"] == "normalise" else case["metric"]
    if rs.fusion.methods[method].reads == "rank" and given.get("norm") != "min-max-inverted":
        given.pop("norm", None)  # ranx takes it, and changes nothing
    runs = case["input"]["runs"] if "runs" in case["input"] else [case["input"]["run"]]
    return {"run": rs.fuse(runs, method, convention=convention, **given).to_dict()}


def ranx(case):
    return fused(case, "ranx")


def trectools(case):
    return fused(case, "trectools")


def pyterrier(case):
    return fused(case, "pyterrier")


def pool(case):
    """What trectools' topX strategy pools, in the order of ids."""
    made = rs.pool(case["input"]["runs"], case["params"]["k"], ties="item_asc")
    return {"value": len(made), "per_query": made.to_dict()}


TOOLS = {
    "ranx": ranx,
    "trectools": trectools,
    ("trectools", "pool"): pool,
    "PyTerrier (pyterrier-alpha)": pyterrier,
}
DEVIATIONS = {}
