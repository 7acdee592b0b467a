"""Items that nobody judged: lists without them, worked by hand."""

from math import log2

import numpy as np
import pandas as pd
import pytest

import rankstone as rs

# x, y and z are not judged; of the judged b, c and a come in this order, c and a with one score.
TRUTH = {"q": {"a": 3, "b": 0, "c": 1, "d": 2}}
RUN = {"q": {"x": 9.0, "b": 8.0, "y": 7.0, "c": 6.0, "z": 6.0, "a": 6.0}}


def test_lists_without_what_nobody_judged():
    found = rs.evaluate(TRUTH, RUN, ["ap", "rr", "precision@2", "ndcg", "recall@2", "num_ret"], known="judged")
    assert found["ap"] == pytest.approx((1 / 2 + 2 / 3) / 3)  # b, c, a
    assert found["rr"] == 1 / 2
    assert found["precision@2"] == 1 / 2
    assert found["recall@2"] == 1 / 3
    assert found["num_ret"] == 3
    best = 3 / log2(2) + 2 / log2(3) + 1 / log2(4)
    assert found["ndcg"] == pytest.approx((1 / log2(3) + 3 / log2(4)) / best)


@pytest.mark.parametrize(("ties", "gain"), [
    ("item_desc", 1 / log2(3) + 3 / log2(4)),
    ("item_asc", 3 / log2(3) + 1 / log2(4)),
    ("optimistic", 3 / log2(3) + 1 / log2(4)),
    ("pessimistic", 1 / log2(3) + 3 / log2(4)),
    ("expected", (1 + 3) / 2 / log2(3) + (1 + 3) / 2 / log2(4)),
    ("group_end", (1 + 3) / log2(4)),
    ("group_mean", (1 + 3) / log2(3)),
])  # fmt: skip
def test_ties_are_those_of_the_judged(ties, gain):
    """z, of the same score as c and a, is gone: two are tied, at the second and the third place."""
    assert rs.evaluate(TRUTH, RUN, "dcg", known="judged", ties=ties)["dcg"] == pytest.approx(gain)


def test_nothing_is_tied_where_one_is_left():
    run = {"q": {"a": 1.0, "x": 1.0}}
    found = rs.evaluate(TRUTH, run, "rr", known="judged")
    assert (found.ties["rr"].lowest, found.ties["rr"].highest, found.account.tied) == (1, 1, 0)


def test_a_negative_grade_is_no_judgement():
    truth = {"q": {"a": 1, "spam": -2}}
    assert rs.evaluate(truth, {"q": ["spam", "a"]}, "rr", known="judged")["rr"] == 1


def test_a_list_that_is_left_empty():
    run = {"q": {"x": 1.0}}
    with pytest.warns(rs.errors.UnmatchedWarning):
        found = rs.evaluate(TRUTH, run, "ap", known="judged")
    assert (found["ap"], found.account.missing) == (0, 0)
    with pytest.warns(rs.errors.UnmatchedWarning), pytest.raises(ValueError, match="an empty list for 1 queries: 'q'"):
        rs.evaluate(TRUTH, run, "ap", known="judged", empty_list="error")


def test_every_way_of_feeding():
    truth = pd.DataFrame([("q", item, grade) for item, grade in TRUTH["q"].items()], columns=["query", "item", "grade"])
    run = pd.DataFrame([("q", item, score) for item, score in RUN["q"].items()], columns=["query", "item", "score"])
    wanted = (1 / 2 + 2 / 3) / 3
    assert rs.evaluate(truth, run, "ap", known="judged")["ap"] == pytest.approx(wanted)
    lists = {"truth": rs.lists(items=[list(TRUTH["q"])], grades=[list(TRUTH["q"].values())]),
             "run": rs.lists(items=[list(RUN["q"])], scores=[list(RUN["q"].values())])}  # fmt: skip
    assert rs.evaluate(**lists, metrics="ap", known="judged")["ap"] == pytest.approx(wanted)
    batches = rs.Accumulator(["ap"], known="judged")
    batches.update(TRUTH, RUN)
    assert batches.compute()["ap"] == pytest.approx(wanted)
    stream = rs.Stream(truth, ["ap"], known="judged")
    for half in (run[::2], run[1::2]):
        stream.find(half)
    for half in (run[::2], run[1::2]):
        stream.count(half)
    assert stream.compute()["ap"] == pytest.approx(wanted)
    assert rs.ap(["x", "b", "y", "a"], truth=TRUTH["q"], known="judged") == pytest.approx((1 / 2) / 3)
    with pytest.raises(ValueError, match="every item of a row has a label"):
        rs.arrays.ap(scores=np.ones((1, 2)), labels=np.ones((1, 2)), known="judged")


def test_places_that_would_be_left_are_refused():
    with pytest.raises(ValueError, match=r"known='judged' leaves no places .* choose duplicates='best'"):
        rs.evaluate(TRUTH, RUN, "ap", known="judged", duplicates="once")


def test_explain_shows_no_other_items():
    told = rs.explain(TRUTH, RUN, "ap", query="q", known="judged")
    assert [(row.rank, row.item) for row in told.ranking] == [(1, "b"), (2, "c"), (3, "a")]
