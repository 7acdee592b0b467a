"""The fast path equals the slow definition: every metric, its parameters and the choices, on generated data."""

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
from .cases import fed, metrics, pairs, parameter_values

ORDERS = ("item_desc", "item_asc", "input", "reverse_input", "optimistic", "pessimistic")
SHARED = ("group_end", "group_mean")
BUILT_IN = sorted(slow.METRICS)
RATINGS = [name for name in BUILT_IN if declared()[name].kind == "ratings"]
RANKED = [name for name in BUILT_IN if name not in RATINGS]
SETS = ("precision", "recall", "f", "f1", "hit_rate", "num_rel_ret")
# Where a grade between 0 and 1 can count as part of a relevant item.
IN_PART = (*SETS, "ap", "gmap", "r_precision", "rr", "dcg", "cg", "ndcg", "rbp", "num_rel")
TWO_SIDED = ("auc", "bpref", "infap", "fallout")
GENERAL = {
    "score_precision": ("float64", "float32"),
    "unjudged": ("only_returned", "condensed"),
    "nonpositive_score": ("miss",),
    "default_k": (2,),
    "threshold": (0, -1, 2, 0.5, ">0", ">=2", ">1", "all", "relative"),
    "no_relevant": (0, 1, 0.25, "nan", "skip", "error"),
    "empty_list": ("skip", "error"),
    "empty_truth": ("skip",),
    "query_digits": (3,),
    "query_rounding": ("half_up",),
    "nan_in_mean": ("zero",),
    "undefined": (1, 0.5, 0.25, "nan", "skip", "error"),
    "both_empty": (1, 0, "nan"),
    "short_list": ("zero",),
    "missing": ("zero", "skip", "error"),
    "extra": ("skip", "zero", "error"),
    "averaging": ("macro", "micro", "geometric", "sum"),
    "no_queries": (0, "nan", "error"),
    "digits": (3,),
}


def choices(**values):
    """Some choices made, each in about a quarter of the examples."""
    made = {name: st.sampled_from((None, None, None, "made")) for name in values}
    return st.fixed_dictionaries(made).flatmap(
        lambda which: st.fixed_dictionaries(
            {name: st.sampled_from(values[name]) for name, is_made in which.items() if is_made}
        )
    )


def fast(metric, truth, run, chosen):
    result = rs.evaluate(truth, run, metric, **chosen)
    return result.per_query[metric], result[metric], list(result.queries)


def agree(metric, params, k, truth, run, chosen):
    """Both say the same, or both refuse."""
    try:
        expected = slow.evaluate(metric.name, k, params, truth, run, chosen)
    except slow.RefusedError:
        problems = "lacks|value is undefined|no relevant item|no query|negative|not a probability|an empty|gain table"
        with pytest.raises(ValueError, match=f"{problems}|the order of the truth|no grades|unjudged_gain"):
            rs.evaluate(truth, run, metric, **chosen)
        return
    values, mean, queries = fast(metric, truth, run, chosen)
    assert queries == expected.queries
    np.testing.assert_allclose(values, expected.values, rtol=1e-12, atol=1e-3 if "query_digits" in chosen else 1e-12)
    rounded = [chosen[one] for one in ("digits", "query_digits") if chosen.get(one) is not None]
    tolerance = 10.0 ** -min(rounded) if rounded else 1e-12  # a half may round either way
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-12, atol=tolerance)


def test_slow_definition_is_complete():
    """The second opinion knows every built-in metric, with the same parameters, defaults and choices."""
    for name, (_, takes_k, defaults, own) in slow.METRICS.items():
        row = declared()[name]
        assert (row.takes_k, row.defaults, dict(row.choices)) == (takes_k, defaults, own), name
    assert set(fed()) == set(slow.METRICS)
    known = {**slow.CHOICES, "duplicates": "error", "truth_duplicates": "error"}
    assert {name: choice.default for name, choice in rs.choices.items()} == known


@pytest.mark.parametrize("name", RANKED)
@given(data=st.data())
def test_parameters(name, data):
    truth, run = data.draw(pairs())
    metric, params, k = data.draw(metrics(name, refusing=True))
    agree(metric, params, k, truth, run, {"ties": data.draw(st.sampled_from(ORDERS))})


@pytest.mark.parametrize("name", RANKED)
@given(data=st.data())
def test_choices(name, data):
    truth, run = data.draw(pairs())
    metric, params, k = data.draw(metrics(name, refusing=True))
    shared = declared()[name].expected and name != "auc"  # which then refuses some of its parameters
    values = dict(GENERAL, ties=(*ORDERS, *SHARED) if shared else ORDERS)
    if name in TWO_SIDED:
        del values["nonpositive_score"]
    if name in ("f", "f1"):
        values["averaging"] = (*GENERAL["averaging"], "parts")
    if name in SETS:
        values["truth_depth"] = ("k",)
    if name in IN_PART:
        values["relevance"] = ("clipped",)
    chosen = data.draw(choices(**{one: some for one, some in values.items() if takes(metric, one)}))
    if chosen.get("unjudged") == "only_returned" and chosen.get("threshold") in (
        0,
        -1,
        "all",
    ):  # then items nobody judged would be relevant
        del chosen["unjudged"]
    agree(metric, params, k, truth, run, chosen)


@pytest.mark.parametrize("name", RATINGS)
@given(data=st.data())
def test_ratings(name, data):
    kind = "probability" if name == "logloss" else None
    truth, run = data.draw(pairs(grades=kind, scores=kind or data.draw(st.sampled_from(("tied", "many"))), lists=False))
    metric, params, k = data.draw(metrics(name))
    kept = ("undefined", "missing", "extra", "averaging", "no_queries")
    values = {one: GENERAL[one] for one in kept} | {"averaging": ("macro", "micro", "one_list"), "ties": ORDERS}
    agree(metric, params, k, truth, run, data.draw(choices(**values)))


# -- the mean over all orders of tied items ------------------------------------------------------------------

EXACT = [name for name in RANKED if declared()[name].expected]
PROMISED = [
    "precision", "recall", "f", "f1", "ap", "rr", "ndcg", "hit_rate", "r_precision", "dcg", "cg", "rbp", "auc",
    "judged", "fallout",
]  # fmt: skip


def test_expected_value_is_known_where_promised():
    assert set(PROMISED) <= set(EXACT)


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
def test_expected(name, data):
    truth, run = data.draw(pairs(scores="tied", items=5, queries=2))
    metric, params, k = data.draw(metrics(name))
    chosen = {"ties": data.draw(st.sampled_from(("expected", "group_end", "group_mean")))}
    if takes(metric, "threshold"):
        chosen["threshold"] = data.draw(st.sampled_from((1, 2, ">0", 0, -1)))
    try:
        rs.evaluate(truth, run, metric, **chosen)
    except rs.errors.NoClosedFormError:
        of_found = {"found", "judged"} & {params.get("divisor"), params.get("precision_divisor")}
        impossible = bool(of_found) or "term_digits" in params or params.get("terms") == "mean"
        impossible |= params.get("misses") == "undefined" or params.get("ideal") == "repeats"
        in_list = name == "auc" and k is not None and (chosen["ties"] == "expected" or params.get("pairs") == "list")
        impossible |= in_list or (name == "auc" and params.get("tied_pairs") == "order")
        assert impossible, f"{metric} has a closed form"
        return
    except ValueError:
        pass  # both refuse it
    agree(metric, params, k, truth, run, chosen)


@pytest.mark.parametrize("name", [name for name in RANKED if not declared()[name].expected])
def test_no_expected_value(name):
    with pytest.raises(rs.errors.NoClosedFormError, match=f"{name} has no closed form .* ties= another of item_desc"):
        rs.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, name, ties="expected")


# -- what another order could have made of it ----------------------------------------------------------------


@pytest.mark.parametrize("name", RANKED)
@given(data=st.data())
def test_tie_range(name, data):
    """The lowest and highest mean equal those over every order of every query's tied items, or are not said."""
    truth, run = data.draw(pairs(scores="tied", items=5, queries=2))
    metric, params, k = data.draw(metrics(name))
    values = {"threshold": (2, 0, -1, ">0"), "unjudged": ("only_returned", "condensed"), "undefined": (0.25, 1)}
    if declared()[name].counts_hits:
        values["truth_depth"] = ("k",)
    if name in IN_PART:
        values["relevance"] = ("clipped",)
    chosen = data.draw(choices(**{one: some for one, some in values.items() if takes(metric, one)}))
    if chosen.get("unjudged") == "only_returned" and (chosen.get("threshold") in (0, -1) or "truth_depth" in chosen):
        del chosen["unjudged"]
    chosen = {"averaging": "macro", "missing": "zero", "undefined": 0, **chosen}
    try:
        found = rs.evaluate(truth, run, metric, **chosen)
        own, found = found[metric], found.ties[str(metric)]
    except ValueError as error:
        assert re.search("gain table|negative|no query in common|no grades|unjudged_gain", str(error))  # noqa: PT017
        return
    lowest, highest, moved = brute_range(metric, params, k, truth, run, chosen)
    if math.isnan(found.lowest) and not math.isnan(lowest):
        assert has_no_known_order(metric, params, truth, chosen)
        assert found.queries >= moved
        return
    # A metric of pairs can take equal scores for equal, which no order does.
    lowest, highest = min(lowest, own), max(highest, own)
    np.testing.assert_allclose((found.lowest, found.highest), (lowest, highest), rtol=1e-12, atol=1e-12)
    assert found.queries == moved


def has_no_known_order(metric, params, truth, chosen):
    """Where not even the best and the worst order of tied items is known."""
    if metric.name == "infap":
        return any(grade < 0 for grades in truth.values() for grade in slow.as_grades(grades).values())
    if metric.name == "auc":
        in_list = params.get("pairs") == "list" or chosen.get("unjudged") == "only_returned"
        return in_list and metric.k is not None and params.get("catalogue") is None
    in_part = params.get("term_digits") is not None and "relevance" in chosen
    of_found = {"found", "judged"} & {params.get("divisor"), params.get("precision_divisor")}
    of_found = bool(of_found) or params.get("terms") == "mean"
    return in_part or (of_found and metric.k is not None)


def brute_range(metric, params, k, truth, run, chosen):
    """Means of the queries' lowest and of their highest values, and how many of these differ."""
    lowest, highest, moved = [], [], 0
    for query, grades in truth.items():
        some = run.get(query, [])
        values = []
        for order in slow.orders(some, slow.as_grades(grades), "expected"):
            # The other queries stay, as they hold grades that may be the highest; their lists are empty.
            one = slow.evaluate(metric.name, k, params, truth, {query: order}, chosen)
            values.append(one.values[one.queries.index(query)])
        lowest.append(min(values))
        highest.append(max(values))
        moved += not math.isclose(min(values), max(values), rel_tol=1e-12, abs_tol=1e-15)
    if not truth:
        return math.nan, math.nan, 0
    return math.fsum(lowest) / len(truth), math.fsum(highest) / len(truth), moved


# -- long lists ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ORDERS)
@pytest.mark.parametrize("judged", [40, 300, 700])
def test_long_lists(ties, judged):
    """Enough hits that ranks are found by search, with every score shared by some."""
    random = np.random.default_rng(judged)
    items = [f"d{number}" for number in random.permutation(1000)]
    truth = {
        "q": {item: int(grade) for item, grade in zip(items[:judged], random.integers(-1, 4, judged), strict=True)}
    }
    rows_ = random.permutation(items)[:600]
    run = {"q": {str(item): float(score) for item, score in zip(rows_, random.integers(0, 60, 600) / 4, strict=True)}}
    for text in ("ndcg@100", "ap", "rr", "precision@250", "bpref", "rbp", "err@500"):
        (metric,) = rs.authoring.Metric.parse(text)
        agree(metric, {}, metric.k, truth, run, {"ties": ties})


def test_every_parameter_is_tried():
    for name in BUILT_IN:
        for values in parameter_values(declared()[name]).values():
            assert len(set(map(str, values))) > 1
