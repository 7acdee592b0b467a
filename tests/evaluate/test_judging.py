"""Items that nobody judged: lists without them, and what they could be; worked by hand."""

import math
import re
from math import log2

import numpy as np
import pandas as pd
import pytest

import rankstone as rs

# x, y and z are not judged; of the judged b, c and a come in this order, c and a with one score.
TRUTH = {"q": {"a": 3, "b": 0, "c": 1, "d": 2}}
RUN = {"q": {"x": 9.0, "b": 8.0, "y": 7.0, "c": 6.0, "z": 6.0, "a": 6.0}}


def test_lists_without_what_nobody_judged():
    found = rs.evaluate(TRUTH, RUN, ["ap", "rr", "precision@2", "ndcg", "recall@2", "num_ret"], unjudged="condensed")
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
    assert rs.evaluate(TRUTH, RUN, "dcg", unjudged="condensed", ties=ties)["dcg"] == pytest.approx(gain)


def test_nothing_is_tied_where_one_is_left():
    run = {"q": {"a": 1.0, "x": 1.0}}
    found = rs.evaluate(TRUTH, run, "rr", unjudged="condensed")
    assert (found.ties["rr"].lowest, found.ties["rr"].highest, found.account.tied) == (1, 1, 0)


def test_a_negative_grade_is_no_judgement():
    truth = {"q": {"a": 1, "spam": -2}}
    assert rs.evaluate(truth, {"q": ["spam", "a"]}, "rr", unjudged="condensed")["rr"] == 1


def test_a_list_that_is_left_empty():
    run = {"q": {"x": 1.0}}
    with pytest.warns(rs.errors.UnmatchedWarning):
        found = rs.evaluate(TRUTH, run, "ap", unjudged="condensed")
    assert (found["ap"], found.account.missing) == (0, 0)
    with pytest.warns(rs.errors.UnmatchedWarning), pytest.raises(ValueError, match="an empty list for 1 queries: 'q'"):
        rs.evaluate(TRUTH, run, "ap", unjudged="condensed", empty_list="error")


def test_every_way_of_feeding():
    truth = pd.DataFrame([("q", item, grade) for item, grade in TRUTH["q"].items()], columns=["query", "item", "grade"])
    run = pd.DataFrame([("q", item, score) for item, score in RUN["q"].items()], columns=["query", "item", "score"])
    wanted = (1 / 2 + 2 / 3) / 3
    assert rs.evaluate(truth, run, "ap", unjudged="condensed")["ap"] == pytest.approx(wanted)
    lists = {"truth": rs.lists(items=[list(TRUTH["q"])], grades=[list(TRUTH["q"].values())]),
             "run": rs.lists(items=[list(RUN["q"])], scores=[list(RUN["q"].values())])}  # fmt: skip
    assert rs.evaluate(**lists, metrics="ap", unjudged="condensed")["ap"] == pytest.approx(wanted)
    batches = rs.Accumulator(["ap"], unjudged="condensed")
    batches.update(TRUTH, RUN)
    assert batches.compute()["ap"] == pytest.approx(wanted)
    stream = rs.Stream(truth, ["ap"], unjudged="condensed")
    for half in (run[::2], run[1::2]):
        stream.first_pass(half)
    for half in (run[::2], run[1::2]):
        stream.second_pass(half)
    assert stream.compute()["ap"] == pytest.approx(wanted)
    assert rs.ap(["x", "b", "y", "a"], truth=TRUTH["q"], unjudged="condensed") == pytest.approx((1 / 2) / 3)
    with pytest.raises(ValueError, match="every item of a row has a label"):
        rs.arrays.ap(scores=np.ones((1, 2)), labels=np.ones((1, 2)), unjudged="condensed")


def test_places_that_would_be_left_are_refused():
    with pytest.raises(
        ValueError,
        match=r"unjudged='condensed' removes the ranks .* choose duplicates='best'",
    ):
        rs.evaluate(TRUTH, RUN, "ap", unjudged="condensed", duplicates="once")


def test_explain_shows_no_other_items():
    told = rs.explain(TRUTH, RUN, "ap", query="q", unjudged="condensed")
    assert [(row.rank, row.item) for row in told.ranking] == [(1, "b"), (2, "c"), (3, "a")]


# -- what unjudged items could be ----------------------------------------------------------------------------

# x and y are not judged: places 1 and 3 of x, a, y, b; c was not returned.
GRADED = {"q": {"a": 1, "b": 0, "c": 1}}
LIST = {"q": ["x", "a", "y", "b"]}


@pytest.mark.parametrize(("metric", "lowest", "highest"), [
    ("precision@2", 1 / 2, 2 / 2),
    ("rr", 1 / 2, 1 / 1),
    ("recall", 1 / 2, 3 / 4),  # x and y are relevant, too
    ("recall@2", 1 / 3, 2 / 3),  # y is relevant and not found; or x is, and found
    ("ap", (1 / 2) / 2, (1 / 1 + 2 / 2 + 3 / 3) / 4),
    ("ap@2", (1 / 2) / 3, (1 / 1 + 2 / 2) / 3),
    ("dcg", 1 / log2(3), 1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
    ("rbp", 0.2 * 0.8, 0.2 * (1 + 0.8 + 0.8**2)),
    ("num_rel", 2, 4),
])  # fmt: skip
def test_bounds(metric, lowest, highest):
    found = rs.evaluate(GRADED, LIST, metric, bounds=True).bounds[metric]
    assert (found.lowest, found.highest, found.queries) == (pytest.approx(lowest), pytest.approx(highest), 1)


def test_the_best_grade_lies_between():
    """The list a, x, b is ideal if x has b's grade or a's, and only then."""
    truth, run = {"q": {"a": 3, "b": 1}, "r": {"c": 2}}, {"q": ["a", "x", "b"], "r": ["c"]}
    found = rs.evaluate(truth, run, "ndcg", bounds=True).bounds["ndcg"]
    best = 3 / log2(2) + 1 / log2(3)
    assert found.lowest == pytest.approx(((3 / log2(2) + 1 / log2(4)) / best + 1) / 2)
    assert found.highest == 1


def test_what_lies_beyond_the_list():
    """Of RBP all places beyond, of precision@6 two more."""
    found = rs.evaluate(GRADED, LIST, ["rbp", "precision@6", "ap", "rr"], bounds=True).bounds
    assert found["rbp"].residual == pytest.approx(1 - 0.2 * 0.8 - 0.2 * 0.8**3)  # all but a and b
    assert found["precision@6"].residual == pytest.approx(5 / 6 - 1 / 6)
    assert math.isnan(found["ap"].residual)
    assert math.isnan(found["rr"].residual)


def test_bounds_are_printed_and_saved(tmp_path):
    found = rs.evaluate(GRADED, LIST, ["ap", "bpref"], bounds=True)
    head, ap, bpref = (line.split() for line in str(found).splitlines() if re.match("metric|ap |bpref ", line))
    assert head == ["metric", "mean", "at", "least", "at", "most"]
    assert ap == ["ap", "0.2500", "0.2500", "0.7500"]
    assert bpref[2:] == ["unknown", "unknown"]
    assert "(unknown for bpref)" in " ".join(str(found).split())
    found.write(tmp_path / "a.json")
    again = rs.read_result(tmp_path / "a.json")
    assert again.bounds["ap"].highest == found.bounds["ap"].highest
    assert str(again) == str(found)


def test_items_judged_0_are_judged():
    """ap alone would not read b, of grade 0."""
    found = rs.evaluate({"q": {"a": 1, "b": 0}}, {"q": ["b", "a"]}, "ap", bounds=True).bounds["ap"]
    assert (found.lowest, found.highest, found.queries) == (1 / 2, 1 / 2, 0)


def test_bounds_that_cannot_be():
    with pytest.raises(ValueError, match=r"unjudged='condensed' removes the unjudged items, so .* nothing to bound"):
        rs.evaluate(GRADED, LIST, "ap", bounds=True, unjudged="condensed")
    with pytest.raises(ValueError, match="duplicates='count' an item can have several rows"):
        rs.evaluate(GRADED, LIST, "ap", bounds=True, duplicates="count")
    with pytest.raises(ValueError, match=r"not computed: rs.evaluate\(..., bounds=True\)"):
        _ = rs.evaluate(GRADED, LIST, "ap").bounds


def test_a_query_that_counts_or_not_by_its_grades_has_no_bounds():
    truth = {"q": {"b": 0}}
    found = rs.evaluate(truth, LIST, ["ap", "recall"], bounds=True, undefined="skip").bounds
    assert math.isnan(found["ap"].lowest)
    assert math.isnan(found["recall"].highest)


def test_means_of_several_queries():
    truth = {"q": {"a": 1}, "r": {"b": 1}}
    run = {"q": ["x", "a"], "r": ["b", "y"]}
    weights = {"q": 3, "r": 1}
    found = rs.evaluate(truth, run, "ap", bounds=True, weights=weights).bounds["ap"]
    assert found.lowest == pytest.approx((3 * (1 / 2) + 1 * (1 / 1)) / 4)
    assert found.highest == pytest.approx(1)
    micro = rs.evaluate(truth, run, ["precision@2", "recall"], bounds=True, averaging="micro").bounds
    assert (micro["precision@2"].lowest, micro["precision@2"].highest) == (2 / 4, 4 / 4)
    assert math.isnan(micro["recall"].lowest)  # one division for all: each query's own end need not be the end of it


def test_a_grade_that_is_worth_nothing_is_on_the_way_to_the_best():
    """Grade 1 is not relevant: only with grade 2 is x as good as a."""
    metric = rs.rbp(divisor="best", gain="linear", threshold=2)
    found = rs.evaluate({"q": {"a": 2}}, {"q": ["x", "a", "y"]}, metric, bounds=True).bounds[str(metric)]
    assert found.highest == pytest.approx(1)
    assert found.lowest == pytest.approx((0.8 * 2 + 0.8**2 * 2) / (2 + 0.8 * 2))  # y is as good, but last
