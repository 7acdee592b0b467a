"""Every metric of what was shown equals its plain definition, through every door, whatever the order of the rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from tests.effort import examples

from . import slow_shown
from .cases import built_in

ITEMS = [f"i{n}" for n in range(8)]
QUERIES = [f"q{n}" for n in range(5)]
NAMES = sorted(built_in("recommendations"))
lists_of = st.lists(st.sampled_from(ITEMS), unique=True, max_size=6)


@st.composite
def worlds(draw, least=1):
    """Lists, and all that any of the metrics asks for."""
    queries = QUERIES[: draw(st.integers(least, len(QUERIES)))]
    run = {query: draw(lists_of) for query in queries}
    history = draw(st.dictionaries(st.sampled_from([*QUERIES, "other"]), lists_of, min_size=1))
    history = {query: had for query, had in history.items() if had} or {"other": ["i0"]}
    numbers = st.sampled_from([0.0, 1.0, 2.0, -1.0])
    world = slow_shown.World(
        items=ITEMS,
        history=history,
        reference={query: draw(lists_of) for query in queries},
        truth={query: draw(st.lists(st.sampled_from(ITEMS), unique=True, max_size=4)) for query in queries},
        category={item: draw(st.lists(st.sampled_from("xyz"), unique=True, min_size=1)) for item in ITEMS},
        group={item: "gh"[n % 2] if n < 2 else draw(st.sampled_from("gh")) for n, item in enumerate(ITEMS)},
        vector={item: draw(st.tuples(numbers, numbers, numbers)) for item in ITEMS},
        k=draw(st.integers(1, 7)),
    )
    return run, world


def at(name, k):
    """With a cutoff, if it takes one."""
    return f"{name}@{k}" if rs.metrics[name].declaration.takes_k else name


def side_info(world):
    films = rs.catalogue(world.items, category=world.category, group=world.group, embedding=world.vector)
    return {"catalogue": films, "history": world.history, "reference": world.reference}


def test_every_metric_has_a_slow_definition():
    assert set(NAMES) == set(slow_shown.METRICS)


@pytest.mark.parametrize("name", NAMES)
@examples(1)
@given(data=worlds())
def test_definition(name, data):
    run, world = data
    metric = at(name, world.k)
    found = rs.evaluate(world.truth, run, metric, **side_info(world))[metric]
    expected = slow_shown.METRICS[name]({query: shown[: world.k] for query, shown in run.items()}, world)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def doors(run):
    """The same lists in other shapes, the rows mixed."""
    import pandas as pd
    import polars as pl

    rows = [(query, item, float(-at)) for query, shown in run.items() for at, item in enumerate(shown)]
    rows = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    query, item, score = map(list, zip(*rows, strict=True))
    table = {"query": query, "item": item, "score": score}
    yield {q: dict(zip(shown, range(0, -len(shown), -1), strict=True)) for q, shown in run.items()}
    yield rs.columns(**table)
    yield pd.DataFrame(table)
    yield pl.DataFrame(table)
    yield rs.lists(list(run.values()), query=list(run))


RUN = {"q0": ["i1", "i3", "i2"], "q1": ["i3", "i0"], "q2": ["i7", "i3", "i4", "i5"], "q3": ["i6"]}
WORLD = slow_shown.World(
    ITEMS,
    {"q0": ["i1", "i4"], "q1": ["i1"], "q2": ["i0", "i2"], "q3": ["i3"], "x": ["i1", "i3", "i0"]},
    {"q0": ["i1", "i5"], "q2": ["i3", "i4", "i7"]},
    {"q0": ["i3", "i2"], "q1": ["i3", "i5"], "q2": ["i4"], "q3": ["i6", "i7"]},
    {item: ["x", "y", "z"][n % 3 :] for n, item in enumerate(ITEMS)},
    {item: "gh"[n % 2] for n, item in enumerate(ITEMS)},
    {item: (n % 3, 1, n % 2) for n, item in enumerate(ITEMS)},
    3,
)


@pytest.mark.parametrize("name", NAMES)
def test_every_door_has_the_same_number(name):
    metric, truth = at(name, 3), WORLD.truth
    if rs.metrics[name].declaration.of_unanswerable:
        truth = {**truth, "q1": [], "q3": []}
    one = rs.evaluate(truth, RUN, metric, **side_info(WORLD))
    for run in doors(RUN):
        other = rs.evaluate(truth, run, metric, **side_info(WORLD))
        assert other[metric] == pytest.approx(one[metric], abs=1e-12)
        order = [list(other.queries).index(query) for query in one.queries]
        np.testing.assert_allclose(other.per_query[metric][order], one.per_query[metric], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_other_cutoffs_change_nothing(name):
    """A metric has the same value beside other cutoffs as alone, also where a cutoff leaves the lists whole."""
    metrics = [name, *(at(name, k) for k in (1, 4, 7) if rs.metrics[name].declaration.takes_k)]
    world = WORLD._replace(reference={query: [*reversed(ITEMS)] for query in RUN})  # longer lists than those of the run
    for order in (metrics, metrics[::-1]):
        together = rs.evaluate(WORLD.truth, RUN, order, **side_info(world))
        for metric in metrics:
            alone = rs.evaluate(WORLD.truth, RUN, metric, **side_info(world))[metric]
            assert together[metric] == pytest.approx(alone, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_slice_counts_anew(name):
    """The number of a group of lists is that of these lists alone."""
    metric, groups = at(name, 3), {"q0": "a", "q1": "b", "q2": "a", "q3": "b"}
    result = rs.evaluate(WORLD.truth, RUN, metric, **side_info(WORLD))
    for group, means in result.by_group(groups).items():
        inside = [query for query in RUN if groups[query] == group]
        part = {query: WORLD.truth[query] for query in inside}
        alone = rs.evaluate(part, {query: RUN[query] for query in inside}, metric, **side_info(WORLD))[metric]
        assert means[metric] == pytest.approx(alone, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_no_list_has_no_number(name):
    metric = at(name, 3)
    truth = {query: WORLD.truth[query] for query in RUN}
    empty = rs.evaluate(truth, {query: [] for query in RUN}, metric, **side_info(WORLD))[metric]
    known = {"coverage": 0.0, "filled": 0.0, "epc": 0.0, "efd": 0.0, "answer_rate": 0.0}
    zero = ("exposure", "exposure_difference", "ee_l", "ee_d", "ee_r")  # nothing was exposed
    assert empty == known.get(name, 0.0) if name in (*known, *zero) else math.isnan(empty)


def test_items_outside_of_the_catalogue():
    run, films = {"u1": ["a", "x"], "u2": ["b", "x"]}, ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match=r"coverage: item 'x' is not in the catalogue; .* in query 'u1'"):
        rs.evaluate(run=run, metrics="coverage", catalogue=films)
    for outside, expected in {"skip": 2 / 4, "count": 3 / 4, "join": 3 / 5}.items():
        metric = rs.metrics.coverage(outside=outside)
        result = rs.evaluate(run=run, metrics=metric, catalogue=films)
        assert result[metric] == pytest.approx(expected)
        assert any("2 of 4 recommended items are not in the catalogue" in line for line in result.notes)


def test_the_history_stands_in_for_a_catalogue():
    result = rs.evaluate(run={"u1": ["a"]}, metrics="coverage", history={"u1": ["a", "b"], "u2": ["b", "c"]})
    assert result["coverage"] == pytest.approx(1 / 3)
    assert "the 3 items of the history stand in for a catalogue" in result.notes


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("coverage", "coverage: pass catalogue="),
        ("novelty", "novelty: pass history="),
        ("ild", "ild: pass properties of the items: catalogue=rs.catalogue\\(items, embedding"),
        ("awrf", "awrf: pass properties of the items: catalogue=rs.catalogue\\(items, group"),
        ("overlap", "overlap: give reference="),
        ("epc", "epc needs a truth"),
        ("ndcg", "ndcg needs a truth"),
    ],
)
def test_what_is_not_given_is_asked_for(metric, words):
    with pytest.raises(ValueError, match=words):
        rs.evaluate(run={"u1": ["a"]}, metrics=metric)


def test_choices_about_relevance_do_not_reach_them():
    films = {"catalogue": ["a", "b"]}
    truth, run = {"u1": [], "u2": ["a"]}, {"u1": ["a"], "u2": ["b"]}
    both = rs.evaluate(truth, run, ["rr", "coverage"], **films, no_relevant="skip")
    assert both["coverage"] == 1.0
    with pytest.raises(ValueError, match="threshold=2 would change nothing: coverage cannot use it"):
        rs.evaluate(run={"u1": ["a"]}, metrics="coverage", **films, threshold=2)
    with pytest.raises(ValueError, match="history= and reference= have no effect: rr read none of them"):
        rs.evaluate({"u1": ["a"]}, {"u1": ["a"]}, "rr", history={"u1": ["b"]})


def test_equal_scores_at_the_cut_are_told():
    run = {"u1": {"a": 2.0, "b": 1.0, "c": 1.0}}
    result = rs.evaluate(run=run, metrics="coverage@2", catalogue=["a", "b", "c"])
    assert result.ties["coverage@2"].queries == 1
    assert math.isnan(result.ties["coverage@2"].lowest)
    assert rs.evaluate(run=run, metrics="coverage@1", catalogue=["a", "b", "c"]).ties["coverage@1"].queries == 0


def test_ids_of_other_kinds_are_an_error():
    with pytest.raises(TypeError, match="run items are strings but others are integers"):
        rs.evaluate(run={"u1": ["1"]}, metrics="coverage", catalogue=[1, 2])
    with pytest.raises(ValueError, match=r"item 1 is in the catalogue twice; pass its distinct items, or .* history="):
        rs.evaluate(run={"u1": [1]}, metrics="coverage", catalogue=[1, 2, 1])


def test_what_has_no_weights():
    with pytest.raises(ValueError, match=r"coverage is a number of all lists together, .* averaging='weighted'"):
        rs.evaluate(run={"u1": ["a"]}, metrics="coverage", catalogue=["a"], weights={"u1": 2.0})
    films = rs.catalogue(["a"], group=["x"])
    with pytest.raises(ValueError, match="exposure_scale='sum' requires exposure='geometric', not 'log2'"):
        rs.evaluate(run={"u1": ["a"]}, metrics="exposure(exposure_scale='sum')", catalogue=films)


def test_items_that_share_a_place_keep_their_grades():
    """b and c share place 2 (the whole part of 2.5), a has place 1; c is relevant, and nobody had it."""
    run, had = {"u1": {"a": 3.0, "b": 1.0, "c": 1.0}}, {"u2": ["a", "b"]}
    found = rs.evaluate({"u1": ["c"]}, run, "epc@2", history=had, ties="group_mean")
    third = 1 / math.log2(3)
    assert found["epc@2"] == pytest.approx(third / (1 + third + third))
