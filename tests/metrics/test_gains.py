"""Hand-worked: metrics of graded relevance."""

from math import fsum, log, log2, sqrt

import numpy as np
import pytest

import rankstone as rs

# The list of Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002.
G = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]


def test_cumulated_gain_of_the_paper():
    """The paper's CG is <3, 5, 8, 8, 8, 9, 11, 13, 16, 16, ...>."""
    assert [rs.metrics.cg(labels=G, k=k) for k in range(1, 11)] == [3, 5, 8, 8, 8, 9, 11, 13, 16, 16]


def test_discounted_gain_of_the_paper():
    """The paper's DCG, with no discount before rank 2: <3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61, ...>."""
    found = [rs.dcg(labels=G, k=k, discount="log2(max(rank,2))") for k in range(1, 11)]
    assert found == pytest.approx([3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61], abs=0.006)


DISCOUNTS = {
    "log2(rank+1)": (log2(2), log2(3), log2(4)),
    "log2(max(rank,2))": (log2(2), log2(2), log2(3)),
    "ln(rank+1)": (log(2), log(3), log(4)),
    "rank": (1, 2, 3),
}


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_discount(discount):
    first, second, third = DISCOUNTS[discount]
    labels = [1, 3, 2]
    assert rs.dcg(labels=labels, discount=discount) == pytest.approx(1 / first + 3 / second + 2 / third)
    best = 3 / first + 2 / second + 1 / third
    assert rs.ndcg(labels=labels, discount=discount) == pytest.approx((1 / first + 3 / second + 2 / third) / best)


GAINS = {
    "linear": (1, 3, 0.5),
    "exp2": (2 - 1, 8 - 1, sqrt(2) - 1),
    "exp3": (3 - 1, 27 - 1, sqrt(3) - 1),
    "binary": (1, 1, 0),
}


@pytest.mark.parametrize("gain", GAINS)
def test_gain(gain):
    one, three, half = GAINS[gain]
    assert rs.dcg(labels=[1, 3, 0.5], gain=gain) == pytest.approx(one / log2(2) + three / log2(3) + half / log2(4))
    assert rs.metrics.cg(labels=[1, 3, 0.5], gain=gain) == pytest.approx(one + three + half)


def test_gain_table():
    """A table need not grow with the grade: here grade 1 is worth more than grade 2, so it leads the ideal list."""
    table = {0: 0, 1: 5, 2: 3}
    assert rs.dcg(labels=[2, 0, 1], gain=table) == pytest.approx(3 / log2(2) + 5 / log2(4))
    ideal = 5 / log2(2) + 3 / log2(3)
    assert rs.ndcg(labels=[2, 0, 1], gain=table) == pytest.approx((3 / log2(2) + 5 / log2(4)) / ideal)
    with pytest.raises(ValueError, match="no entry for grade 3"):
        rs.ndcg(labels=[3], gain=table)


def test_three_ways_to_cut_a_list_at_two():
    """The list 1, 3, 2, 6 and the truth 1, 2, 4: the first place is a hit, the second is not."""
    ranked, truth = [1, 3, 2, 6], [1, 2, 4]
    assert rs.ndcg(ranked, truth=truth, k=2) == pytest.approx(1 / (1 + 1 / log2(3)))
    assert rs.ndcg(ranked, truth=truth, k=4) == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3) + 1 / log2(4)))


@pytest.mark.parametrize(
    ("options", "ideal"),
    [
        ({}, 3 / log2(2) + 2 / log2(3)),
        ({"ideal_depth": "all"}, 3 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        ({"ideal": "retrieved"}, 2 / log2(2) + 1 / log2(3)),
        ({"ideal": "given"}, 3 / log2(2) + 2 / log2(3)),  # a dict is no list of grades
        ({"ideal": "ones"}, 1 / log2(2) + 1 / log2(3)),
    ],
)
def test_ideal_list(options, ideal):
    """Truth a:1, z:0, c:3, b:2 as given; c is not retrieved. The list is y, b, a, cut at 2."""
    truth = {"a": 1, "z": 0, "c": 3, "b": 2}
    assert rs.ndcg(["y", "b", "a"], truth=truth, k=2, **options) == pytest.approx((2 / log2(3)) / ideal)


def test_ideal_list_as_given():
    """List columns: of the items a, z, c, b the grades are 1, 0, 3, 2."""
    truth = rs.lists([["a", "z", "c", "b"]], grades=[[1, 0, 3, 2]])
    for depth, ideal in (("k", 1 / log2(2)), ("all", 1 / log2(2) + 3 / log2(4) + 2 / log2(5))):
        metric = rs.ndcg(ideal="given", ideal_depth=depth) @ 2
        assert rs.evaluate(truth, rs.lists([["y", "b", "a"]]), metric)[metric] == pytest.approx((2 / log2(3)) / ideal)


def test_ideal_list_no_longer_than_a_short_list():
    truth = {"a": 1, "b": 1, "c": 1}
    assert rs.ndcg(["x", "a"], truth=truth, k=5) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3) + 1 / log2(4)))
    assert rs.ndcg(["x", "a"], truth=truth, k=5, ideal_depth="min(k,retrieved)") == pytest.approx(
        (1 / log2(3)) / (1 + 1 / log2(3))
    )


def test_negative_grades():
    """They count 0, or against: then the ideal list ends with them, after an item judged 0."""
    truth = {"a": -1, "b": 2, "c": 0}
    assert rs.ndcg(["a", "b"], truth=truth) == pytest.approx((2 / log2(3)) / (2 / log2(2)))
    assert rs.dcg(["a", "b"], truth=truth, negative="signed") == pytest.approx(-1 / log2(2) + 2 / log2(3))
    signed = (-1 / log2(2) + 2 / log2(3)) / (2 / log2(2) + 0 / log2(3) - 1 / log2(4))
    assert rs.ndcg(["a", "b"], truth=truth, negative="signed") == pytest.approx(signed)
    assert rs.dcg(["a"], truth=truth, gain="exp2", negative="signed") == pytest.approx(1 / 2 - 1)


def test_tied_scores():
    """Three tied items of grades 2, 0 and unjudged share ranks 1 to 3."""
    run, truth = {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 2, "b": 0}
    best, worst = 2 / log2(2), 2 / log2(4)
    assert rs.dcg(run, truth=truth, ties="expected") == pytest.approx(2 * (1 / log2(2) + 1 / log2(3) + 1 / log2(4)) / 3)
    assert rs.dcg(run, truth=truth, ties="expected", k=2) == pytest.approx(2 * (1 / log2(2) + 1 / log2(3)) / 3)
    assert rs.dcg(run, truth=truth, ties="optimistic") == pytest.approx(best)
    assert rs.dcg(run, truth=truth, ties="pessimistic") == pytest.approx(worst)


def test_judged_items_that_the_list_does_not_hold():
    assert rs.ndcg(labels=[1, 0], truth=[3, 1, 0], k=2) == pytest.approx(1 / (3 + 1 / log2(3)))


def test_cutoff_deeper_than_memory():
    """The ideal list of k ones is summed in pieces; the sum of 1/rank is known."""
    k = 30_000_000
    harmonic = log(k) + 0.5772156649015329 + 1 / (2 * k)
    assert rs.ndcg(labels=[1], discount="rank", ideal="ones", k=k) == pytest.approx(1 / harmonic, rel=1e-9)


def test_grade_too_large_for_the_gain():
    with pytest.raises(ValueError, match="grade 2000 is too large for gain 'exp2'"):
        rs.ndcg(labels=[2000], gain="exp2")


@pytest.mark.parametrize("gain", ["exp", "exp1", "exp0.5", "square", 3, None])
def test_unknown_gain(gain):
    with pytest.raises((ValueError, TypeError), match="gain"):
        rs.ndcg(labels=[1], gain=gain)


def over_k_ones(discount, k):
    """What k relevant items would earn, from a list whose first item is the only relevant one."""
    return 1 / rs.ndcg(["a"], truth=["a"], k=k, ideal="ones", discount=discount)


@pytest.mark.parametrize("k", [1, 2**15, 2**15 + 1, 10**5, 3 * 10**6])
@pytest.mark.parametrize(
    ("discount", "by"),
    [
        ("log2(rank+1)", lambda rank: np.log2(rank + 1)),
        ("ln(rank+1)", lambda rank: np.log(rank + 1)),
        ("log2(max(rank,2))", lambda rank: np.log2(np.maximum(rank, 2))),
        ("rank", lambda rank: rank),
    ],
)
def test_an_ideal_list_of_millions(discount, by, k):
    """As the discounts add up one by one."""
    summed = fsum(1 / by(np.arange(1.0, k + 1)))
    assert over_k_ones(discount, k) * (1 / by(1.0)) == pytest.approx(summed, rel=1e-14)


@pytest.mark.parametrize("k", [10**9, 10**18])
def test_an_ideal_list_far_longer_than_memory(k):
    """The sum of 1 / rank is that of Euler: ln k + gamma + 1 / 2k."""
    assert over_k_ones("rank", k) == pytest.approx(log(k) + np.euler_gamma + 1 / (2 * k), rel=1e-14)


def test_a_gain_for_what_nobody_judged():
    """unjudged="only_returned" gives x grade 0, for which the table has a gain; where x stands is not kept."""
    truth, run = {"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}
    for table in ({0: 0.5, 1: 1}, {1: 1}):
        with pytest.raises(ValueError, match=r"^ndcg.*: unjudged='only_returned' .* gain table .* 0: 0, .* query 'q'"):
            rs.evaluate(truth, run, rs.ndcg(gain=table), unjudged="only_returned")
    (found,) = rs.evaluate(truth, run, rs.dcg(gain={0: 0, 1: 1}), unjudged="only_returned").values()
    assert found == pytest.approx(1 / log2(3))
    judged = {"q": {"a": 1, "x": 0}}
    (found,) = rs.evaluate(judged, run, rs.dcg(gain={0: 0.5, 1: 1}), unjudged="only_returned").values()
    assert found == pytest.approx(0.5 / log2(2) + 1 / log2(3))


def test_a_gain_for_unjudged_items():
    """Elasticsearch's unknown_doc_rating: x and y, at ranks 1 and 4, have gain 1; the ideal list has neither."""
    truth, ranked = {"a": 2, "b": 0, "c": 1}, ["x", "a", "b", "y"]
    gained = 1 / log2(2) + 2 / log2(3)
    assert rs.dcg(ranked, truth=truth, k=3, unjudged_gain=1) == pytest.approx(gained)
    assert rs.dcg(ranked, truth=truth, unjudged_gain=1) == pytest.approx(gained + 1 / log2(5))
    assert rs.ndcg(ranked, truth=truth, k=3, unjudged_gain=1) == pytest.approx(gained / (2 + 1 / log2(3)))
    with pytest.raises(ValueError, match="unjudged_gain is for unjudged items with a rank of their own"):
        rs.dcg(ranked, truth=truth, unjudged_gain=1, unjudged="only_returned")


def test_the_ideal_list_worst_first():
    """Of the grades 3, 1 and 0, the two worst: 0, then 1."""
    truth = {"a": 3, "b": 1, "c": 0}
    assert rs.ndcg(["b", "x"], truth=truth, k=2, ideal_order="worst") == pytest.approx(1 / (1 / log2(3)))
    returned = rs.ndcg(["a", "b"], truth=truth, ideal_order="worst", ideal="retrieved")
    assert returned == pytest.approx((3 + 1 / log2(3)) / (1 + 3 / log2(3)))


def test_grades_of_the_ideal_list_rounded_down():
    """2.7 counts as it is in the list, and as 2 in the ideal list."""
    assert rs.ndcg(["a"], truth={"a": 2.7}, ideal_grades="whole") == pytest.approx(2.7 / 2)


def test_repeats_in_the_ideal_list():
    """a comes twice, so that there are three relevant items; the repeat below the cutoff does not count."""
    truth, asked = {"q": ["a", "b"]}, rs.ndcg(gain="binary", ideal="repeats", duplicates="count")
    run = {"q": ["a", "x", "a", "x", "a"]}
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert rs.evaluate(truth, run, asked @ 4)[asked @ 4] == pytest.approx((1 + 1 / log2(4)) / ideal)
    whole = (1 + 1 / log2(4) + 1 / log2(6)) / (ideal + 1 / log2(5))
    assert rs.evaluate(truth, run, asked)[asked] == pytest.approx(whole)


def test_an_ideal_list_of_returned_items_has_repeats_too():
    """Phoenix: of the returned a, a and b, the ideal list is the same; c, not returned, is not in it."""
    asked = rs.ndcg(unjudged="only_returned", duplicates="count")
    truth, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": ["a", "a", "b"]}
    gained = 1 + 1 / log2(3) + 2 / log2(4)
    assert rs.evaluate(truth, run, asked)[asked] == pytest.approx(gained / (2 + 1 / log2(3) + 1 / log2(4)))
