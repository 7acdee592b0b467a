"""Hand-worked: precision down the list, and the first relevant item."""

from math import exp, log

import pytest

import rankstone as rs

# Relevant 1, 2 and 4; they stand at ranks 1, 3 and 5.
LIST, TRUTH = [1, 3, 2, 6, 4, 5], [1, 2, 4]


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (None, (1 / 1 + 2 / 3 + 3 / 5) / 3),
        (1, (1 / 1) / 3),
        (2, (1 / 1) / 3),
        (3, (1 / 1 + 2 / 3) / 3),
        (100, (1 / 1 + 2 / 3 + 3 / 5) / 3),
    ],
)
def test_ap(k, expected):
    assert rs.ap(LIST, truth=TRUTH, k=k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("divisor", "expected"),
    [
        ("relevant", 1 / 3),
        ("min(relevant,k)", 1 / 2),
        ("min(relevant,retrieved)", 1 / 3),
        ("min(relevant,k,retrieved)", 1 / 2),
        ("found", 1 / 1),
        ("k", 1 / 2),
        ("grades", 1 / 2),
        ("none", 1),
    ],
)
def test_five_values_of_one_ap(divisor, expected):
    """AP at 2 of one list: the sum is 1, and the libraries divide it by five different numbers."""
    assert rs.ap(LIST, truth=TRUTH, k=2, divisor=divisor) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("divisor", "below"),
    [("relevant", 4), ("min(relevant,retrieved)", 2), ("min(relevant,k,retrieved)", 2), ("found", 1), ("k", 3)],
)
def test_ap_of_a_short_list(divisor, below):
    assert rs.ap(["a", "x"], truth=["a", "b", "c", "d"], k=3, divisor=divisor) == pytest.approx((1 / 1) / below)


def test_ap_of_graded_items_counts_them_in_part():
    """Labels 0.5, 0, 1: precisions 0.5 / 1 and 1.5 / 3, weighed by 0.5 and 1, over 1.5 relevant items."""
    assert rs.ap(labels=[0.5, 0, 1], relevance="clipped") == pytest.approx((0.5 * 0.5 / 1 + 1.5 / 3) / 1.5)


def test_ap_with_rounded_terms():
    assert rs.ap(LIST, truth=TRUTH, divisor="found", term_digits=2) == pytest.approx((1 + 0.67 + 0.6) / 3)


def test_ap_over_all_orders_of_tied_items():
    """a and b are tied at ranks 1 and 2, one is relevant: 1 or 1/2."""
    assert rs.ap({"a": 1.0, "b": 1.0}, truth=["a"], ties="expected") == pytest.approx((1 / 1 + 1 / 2) / 2)
    # a first; then b, c tied, both relevant; then d. No order changes anything.
    run = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}
    assert rs.ap(run, truth=["b", "c", "d"], ties="expected") == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)
    # Three tied, two relevant: RRN, RNR, NRR twice each.
    orders = [(1 / 1 + 2 / 2) / 2, (1 / 1 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 2]
    assert rs.ap(dict.fromkeys("abc", 0.0), truth=["a", "b"], ties="expected") == pytest.approx(sum(orders) / 3)


def test_gmap():
    truth, run = {"q": ["a"], "r": ["b"], "s": ["c"]}, {"q": ["a"], "r": ["x", "b"], "s": ["y"]}
    result = rs.evaluate(truth, run, ["gmap", "ap"])
    assert result["gmap"] == pytest.approx(exp((log(1) + log(1 / 2) + log(0.00001)) / 3))
    assert result["ap"] == pytest.approx((1 + 1 / 2 + 0) / 3)


@pytest.mark.parametrize(("k", "expected"), [(None, 1 / 3), (3, 1 / 3), (2, 0)])
def test_rr(k, expected):
    assert rs.rr(["x", "y", "a", "b"], truth=["a", "b"], k=k) == pytest.approx(expected)


def test_rr_over_all_relevant_items():
    assert rs.rr(["a", "x", "b"], truth=["a", "b"], terms="all") == pytest.approx(1 / 1 + 1 / 3)
    assert rs.rr(["a", "x", "b"], truth={"a": 2, "b": 3}, terms="all") == pytest.approx(2 / 1 + 3 / 3)


def test_rr_over_all_orders_of_tied_items():
    """Three tied items, one relevant: ranks 1, 2 and 3 are equally likely."""
    run = dict.fromkeys("abc", 1.0)
    assert rs.rr(run, truth=["a"], ties="expected") == pytest.approx((1 / 1 + 1 / 2 + 1 / 3) / 3)
    assert rs.rr(run, truth=["a"], ties="expected", k=2) == pytest.approx((1 / 1 + 1 / 2 + 0) / 3)
    # One before them: ranks 2, 3, 4. Two of them relevant: the first of two stands at 2 or 3.
    run = {"x": 2.0, **run}
    assert rs.rr(run, truth=["a", "b"], ties="expected") == pytest.approx(2 / 3 * 1 / 2 + 1 / 3 * 1 / 3)


# Four relevant; found at ranks 1, 3, 6: precision 1, 2/3, 1/2.
CURVE, FOUR = ["a", "x", "b", "y", "z", "c"], ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("recall", "expected"),
    [(0, 1), (0.1, 1), (0.25, 1), (0.3, 2 / 3), (0.5, 2 / 3), (0.6, 1 / 2), (0.75, 1 / 2), (0.8, 0), (1, 0)],
)
def test_interpolated_precision(recall, expected):
    assert rs.metrics.iprec(CURVE, truth=FOUR, recall=recall) == pytest.approx(expected)


def test_interpolated_precision_looks_ahead():
    """The second relevant item has the higher precision."""
    assert rs.metrics.iprec(["x", "a", "b"], truth=["a", "b"], recall=0.5) == pytest.approx(2 / 3)


def test_eleven_points():
    """Recall 0, .1, .2 need one item, .3, .4, .5 two, .6, .7 three, .8, .9, 1 four of four."""
    assert rs.metrics.iprec11(CURVE, truth=FOUR) == pytest.approx((3 * 1 + 3 * 2 / 3 + 2 * 1 / 2 + 3 * 0) / 11)


@pytest.mark.parametrize(("recall_rounding", "items"), [("ceil(x)", 3), ("floor(x+0.9)", 2), ("round(x)", 2)])
def test_how_many_items_a_share_is(recall_rounding, items):
    """0.7 of 3 items is 2.1 of them; 2.0999999999999996 + 0.9 is less than 3."""
    precision = {2: 2 / 3, 3: 3 / 6}
    found = rs.metrics.iprec(
        ["a", "x", "b", "y", "z", "c"], truth=["a", "b", "c"], recall=0.7, recall_rounding=recall_rounding
    )
    assert found == pytest.approx(precision[items])


@pytest.mark.parametrize("recall", [-0.1, 1.1, float("nan")])
def test_recall_out_of_range(recall):
    with pytest.raises(ValueError, match="recall must lie between 0 and 1"):
        rs.metrics.iprec(CURVE, truth=FOUR, recall=recall)


def test_rr_of_all_that_was_found():
    """a is second and c third; x was not found, and is not divided by. LlamaIndex's granular MRR."""
    items, truth = ["b", "a", "c", "d"], ["a", "x", "c"]
    assert rs.rr(items, truth=truth, terms="mean") == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert rs.rr(items, truth=truth, terms="mean", k=2) == 1 / 2
    assert rs.rr(items, truth=["x"], terms="mean") == 0
