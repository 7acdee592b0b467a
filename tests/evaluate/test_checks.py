"""A truth and a run that do not belong together: an error or a word, never a quiet 0."""

import warnings

import numpy as np
import pandas as pd
import pytest

import rankstone as rs
from rankstone.errors import DataError, UnmatchedWarning


def frame(side, value):
    rows = [(query, item, number) for query, items in side.items() for item, number in items.items()]
    return pd.DataFrame(rows, columns=["query", "item", value])


def listed(side, value):
    return rs.lists(
        [list(items) for items in side.values()],
        query=list(side),
        **{value + "s": [list(items.values()) for items in side.values()]},
    )


SHAPES = {"dicts": lambda side, value: side, "frames": frame, "lists": listed}


@pytest.fixture(params=SHAPES)
def evaluate(request):
    shape = SHAPES[request.param]
    return lambda truth, run, **how: rs.evaluate(shape(truth, "grade"), shape(run, "score"), "rr", **how)


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_no_query_in_common(evaluate, missing):
    truth = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    with pytest.raises(DataError) as said:
        evaluate(truth, {"x": {"a": 1.0}, "y": {"a": 1.0}}, missing=missing)
    assert str(said.value) == (
        "the truth and the run have no query in common: the truth's are 'q1', 'q2' ..., the run's 'x', 'y'"
    )
    with pytest.raises(DataError, match="'q1' and ' Q01' are not the same id: write them alike"):
        evaluate(truth, {" Q01": {"a": 1.0}}, missing=missing)
    assert evaluate(truth, {"q1": {"a": 1.0}, "x": {"a": 1.0}}, missing=missing)["rr"] > 0


@pytest.mark.parametrize("other", ["DOC1", " doc1", "doc01", "doc1\n"])
def test_ids_that_are_nearly_the_same(evaluate, other):
    with pytest.raises(DataError) as said:
        evaluate({"q": {"doc1": 1}}, {"q": {other: 1.0}})
    assert str(said.value) == (
        f"no returned item is judged: the truth's items are 'doc1', the run's {other!r}; "
        f"'doc1' and {other!r} are not the same id: write them alike"
    )


def test_nothing_judged_can_be_true(evaluate):
    truth = {"q": {"a": 1, "b": 0}}
    with pytest.warns(UnmatchedWarning, match="no returned item is judged: the truth's items are 'a'.*, the run's 'x'"):
        result = evaluate(truth, {"q": {"x": 1.0}})
    assert result["rr"] == 0
    assert "no returned item is judged" in result.notes
    with warnings.catch_warnings():  # b is judged, and found
        warnings.simplefilter("error")
        result = evaluate(truth, {"q": {"b": 1.0, "B": 0.5}})
    assert "no returned item is judged" not in result.notes


def test_places_need_no_judging():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rs.rr(["x"], truth=["a"]) == 0
        assert rs.evaluate(np.zeros((1, 2)), np.ones((1, 2)), "rr")["rr"] == 0


def test_a_stream_of_strangers():
    stream = rs.Stream({"q1": {"a": 1}}, ["rr"])
    batch = {"query": ["x"], "item": ["a"], "score": [1.0]}
    stream.first_pass(batch)
    stream.second_pass(batch)
    with pytest.raises(DataError, match="no query in common: the truth's are 'q1', the run's 'x'"):
        stream.compute()


def test_accumulated_strangers():
    with pytest.raises(DataError, match="no query in common"):
        rs.Accumulator("rr").update({"q1": {"a": 1}}, {"x": {"a": 1.0}})
