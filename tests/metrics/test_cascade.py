"""Hand-worked: a person who reads from the top and stops when satisfied."""

import math

import pytest

import rankstone as rs


def test_err():
    """Grades 3, 2, 4 of at most 4: R = 7/16, 3/16, 15/16.

    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009, equation 4.
    """
    expected = 7 / 16 + (1 - 7 / 16) * (3 / 16) / 2 + (1 - 7 / 16) * (1 - 3 / 16) * (15 / 16) / 3
    assert rs.err(labels=[3, 2, 4], max_grade=4) == pytest.approx(expected)
    assert rs.err(labels=[3, 2, 4], max_grade=4, k=2) == pytest.approx(7 / 16 + (1 - 7 / 16) * (3 / 16) / 2)


def test_err_prefers_one_perfect_item_to_many_good_ones():
    """The paper's motive: a perfect first result makes the rest nearly irrelevant."""
    assert rs.err(labels=[4, 0, 0, 0], max_grade=4) > rs.err(labels=[3, 3, 3, 3], max_grade=4)


def test_unjudged_items_take_a_place():
    assert rs.err(["x", "a"], truth={"a": 1}, max_grade=1) == pytest.approx((1 / 2) / 2)


def test_highest_grade_is_that_of_the_whole_truth():
    """Not of the query: grade 1 satisfies with probability 1/4 where another query has a grade of 2."""
    truth, run = {"q": {"a": 1}, "r": {"b": 2}}, {"q": ["a"], "r": ["b"]}
    result = rs.evaluate(truth, run, "err")
    assert result.per_query["err"] == pytest.approx([(2**1 - 1) / 2**2, (2**2 - 1) / 2**2])


def test_negative_and_zero_grades_satisfy_nobody():
    assert rs.err(labels=[-2, 0, 1], max_grade=1) == pytest.approx((1 / 2) / 3)


def test_grade_above_the_highest():
    with pytest.raises(ValueError, match="grade 5 is above max_grade=4"):
        rs.err(labels=[5, 1], max_grade=4)


def test_nerr():
    """Grades 1 and 2 in the wrong order; R = 1/4 and 3/4."""
    found, best = 1 / 4 + (1 - 1 / 4) * (3 / 4) / 2, 3 / 4 + (1 - 3 / 4) * (1 / 4) / 2
    assert rs.metrics.nerr(labels=[1, 2]) == pytest.approx(found / best)
    assert rs.metrics.nerr(labels=[1, 2], k=1) == pytest.approx((1 / 4) / (3 / 4))
    assert rs.metrics.nerr(labels=[0, 0]) == 0


def test_rbp():
    """Relevant at ranks 1 and 3.

    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", ACM TOIS 27(1), 2008.
    """
    assert rs.rbp([1, 3, 2], truth=[1, 2], p=0.5) == pytest.approx((1 - 0.5) * (0.5**0 + 0.5**2))
    assert rs.rbp([1, 3, 2], truth=[1, 2]) == pytest.approx((1 - 0.8) * (0.8**0 + 0.8**2))
    assert rs.rbp([1, 3, 2], truth=[1, 2], p=0.95, k=2) == pytest.approx((1 - 0.95) * 0.95**0)


def test_rbp_weighed_by_grade():
    assert rs.rbp(labels=[2, 0, 3], p=0.5, gain="linear") == pytest.approx((1 - 0.5) * (2 * 0.5**0 + 3 * 0.5**2))


def test_rbp_over_all_orders_of_tied_items():
    run = dict.fromkeys("abc", 1.0)
    assert rs.rbp(run, truth=["a"], p=0.5, ties="expected") == pytest.approx(0.5 * (0.5**0 + 0.5**1 + 0.5**2) / 3)


@pytest.mark.parametrize("p", [0, 1, -0.5, 2, float("nan")])
@pytest.mark.parametrize("name", ["rbp", "rbo"])
def test_persistence_out_of_range(name, p):
    with pytest.raises(ValueError, match="p must lie between 0 and 1"):
        rs.evaluate({"q": ["a"]}, {"q": ["a"]}, rs.authoring.Metric(name).given(p=p))


def test_another_discount():
    """Stopping chances of grades 3, 0, 2 with a highest grade of 3: 7/8, 0, 3/8; those to stop there 7/8, 0, 3/64."""
    found = rs.err(labels=[3, 0, 2], discount="log2(rank+1)")
    assert found == pytest.approx(7 / 8 / math.log2(2) + 3 / 64 / math.log2(4))
    assert rs.err(labels=[3, 0, 2]) == pytest.approx(7 / 8 / 1 + 3 / 64 / 3)
    best = 7 / 8 / math.log2(2) + 1 / 8 * 3 / 8 / math.log2(3)
    assert rs.metrics.nerr(labels=[3, 0, 2], discount="log2(rank+1)") == pytest.approx(found / best)


def test_chances_of_a_click():
    """Each is clicked with its own chance, if none above it was: 0.5, 0.5 * 0.2, 0.5 * 0.8 * 0.9."""
    found = rs.err(labels=[0.5, 0.2, 0.9], stop_chance="grade")
    assert found == pytest.approx(0.5 / 1 + 0.5 * 0.2 / 2 + 0.5 * 0.8 * 0.9 / 3)


def test_nerr_of_negative_chances_has_items_judged_0_in_the_ideal_list():
    """b, of grade 0, stands first in the best list, and a second: half of what a earns at the top."""
    metric = rs.metrics.nerr(stop_chance="grade")
    assert rs.evaluate({"q": {"a": -2, "b": 0}}, {"q": ["a"]}, metric)[metric] == -2 / (-2 / 2)
