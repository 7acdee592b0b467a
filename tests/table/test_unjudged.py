"""The bounds for unjudged items equal the lowest and highest mean over all grades that these could have."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.conventions.convention import takes
from rankstone.metrics import declared

from . import slow
from .cases import metrics, pairs
from .test_definition import IN_PART, ORDERS, RANKED, choices

# All but what says something of unjudged items itself, or compares orders.
PROMISED = {
    "ap", "cg", "dcg", "err", "f", "f1", "gmap", "hit_rate", "iprec", "iprec11", "ndcg", "nerr", "num_rel",
    "num_rel_ret", "num_ret", "precision", "r_precision", "rbp", "recall", "rr",
}  # fmt: skip


def assignments(truth, run):
    """Every way to judge what was returned and is not judged, with whole grades up to the truth's highest."""
    highest = max([1, *(grade for grades in truth.values() for grade in grades.values())])
    levels = sorted({*range(math.floor(highest) + 1), highest})
    missing = {query: [item for item in run.get(query, ()) if item not in truth[query]] for query in truth}
    for query, items in missing.items():
        for some in itertools.product(levels, repeat=len(items)):
            yield query, {**truth[query], **dict(zip(items, some, strict=True))}


def brute_bounds(metric, params, k, truth, run, chosen):
    """The means of the queries' lowest and of their highest values."""
    found = {query: [] for query in truth}
    for query, grades in assignments(truth, run):
        # The others stay, as they hold grades that may be the highest.
        one = slow.evaluate(metric.name, k, params, {**truth, query: grades}, {query: run.get(query, [])}, chosen)
        found[query].append(one.values[one.queries.index(query)])
    ends = [[end(values) for values in found.values()] for end in (min, max)]
    return [math.fsum(values) / len(values) for values in ends]


def is_unknown(metric, params, chosen, truth, ties):
    highest = max([1, *(grade for grades in truth.values() for grade in grades.values())])
    if metric.name not in PROMISED or "truth_depth" in chosen or params.get("divisor") == "grades":
        return True
    if "grades" in (params.get("recall_divisor"), params.get("divisor")) or isinstance(params.get("gain"), dict):
        return True
    if metric.name == "dcg" and params.get("divisor") == "relevant":
        return True
    if "judged" in (params.get("divisor"), params.get("precision_divisor")) or params.get("misses") == "undefined":
        return True  # fewer judged items, or fewer queries, may be better
    if params.get("unjudged_gain") or params.get("ideal") == "repeats" or params.get("ideal_order") == "worst":
        return True
    if params.get("ideal_grades") == "whole":
        return True
    if params.get("ideal") == "given" or (metric.name == "ndcg" and params.get("negative") == "signed"):
        return True
    ruled = chosen.get("undefined", 0) != 0 or "no_relevant" in chosen
    gains = ("cg", "dcg", "err", "ndcg", "rbp", "rr") if ruled else ()
    return (highest > 1 and metric.name in ("nerr", *gains)) or ties


@pytest.mark.parametrize("name", RANKED)
@given(data=st.data())
def test_bounds(name, data):
    truth, run = data.draw(pairs(items=5, queries=2))
    truth = {query: slow.as_grades(grades) for query, grades in truth.items()}
    metric, params, k = data.draw(metrics(name))
    values = {"threshold": (2, 0, -1, ">0"), "undefined": (0.25, 1), "ties": (*ORDERS, "expected")}
    values |= {"unjudged": ("only_returned",), "no_relevant": (0.5,), "short_list": ("zero",)}
    if declared()[name].counts_hits:
        values["truth_depth"] = ("k",)
    if name in IN_PART:
        values["relevance"] = ("clipped",)
    chosen = data.draw(choices(**{one: some for one, some in values.items() if takes(metric, one)}))
    if chosen.get("ties") == "expected" and not declared()[name].expected:
        del chosen["ties"]
    if "unjudged" in chosen and (chosen.get("threshold") in (0, -1) or "truth_depth" in chosen):
        del chosen["unjudged"]
    chosen = {"averaging": "macro", "missing": "zero", "undefined": 0, **chosen}
    try:
        result = rs.evaluate(truth, run, metric, bounds=True, **chosen)
        found = result.bounds[str(metric)]
    except ValueError as error:
        refused = "negative|no query in common|no closed form|gain table|not a probability|unjudged_gain"
        assert re.search(refused, str(error))  # noqa: PT017
        return
    if not truth:
        return
    if math.isnan(found.lowest):
        by_grade = chosen.get("ties") in ("optimistic", "pessimistic", "expected")
        assert is_unknown(metric, params, chosen, truth, by_grade)
        return
    lowest, highest = brute_bounds(metric, params, k, truth, run, chosen)
    np.testing.assert_allclose((found.lowest, found.highest), (lowest, highest), rtol=1e-12, atol=1e-12)
