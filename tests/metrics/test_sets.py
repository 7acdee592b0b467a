"""Hand-worked: metrics of the first k as a set."""

import math

import pytest

import rankstone as rs
from rankstone import evaluate

LIST = ["a", "b", "c", "d", "e"]
TRUTH = {"a": 1, "c": 2, "e": 1, "x": 1, "b": 0}  # a, c, e found at ranks 1, 3, 5; x not found


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 1 / 1), (2, 1 / 2), (3, 2 / 3), (5, 3 / 5), (10, 3 / 10), (None, 3 / 5)]
)
def test_precision(k, expected):
    assert rs.precision(LIST, truth=TRUTH, k=k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("divisor", "expected"), [("k", 3 / 10), ("min(k,retrieved)", 3 / 5), ("min(k,relevant)", 3 / 4)]
)
def test_precision_divisor(divisor, expected):
    assert rs.precision(LIST, truth=TRUTH, k=10, divisor=divisor) == pytest.approx(expected)


@pytest.mark.parametrize(("k", "expected"), [(1, 1 / 4), (2, 1 / 4), (3, 2 / 4), (10, 3 / 4), (None, 3 / 4)])
def test_recall(k, expected):
    assert rs.recall(LIST, truth=TRUTH, k=k) == pytest.approx(expected)


@pytest.mark.parametrize(("divisor", "expected"), [("relevant", 2 / 4), ("min(relevant,k)", 2 / 3), ("grades", 2 / 5)])
def test_recall_divisor(divisor, expected):
    assert rs.recall(LIST, truth=TRUTH, k=3, divisor=divisor) == pytest.approx(expected)


@pytest.mark.parametrize("threshold", [2, ">1", ">=2", " > 1 "])
def test_threshold(threshold):
    assert rs.precision(LIST, truth=TRUTH, k=3, threshold=threshold) == pytest.approx(1 / 3)
    assert rs.recall(LIST, truth=TRUTH, k=3, threshold=threshold) == pytest.approx(1 / 1)


def test_grades_count_in_part():
    """Labels of 1, 0.5 and 0 are 1.5 relevant items out of 3 places."""
    assert rs.precision(labels=[1, 0.5, 0], k=3, relevance="clipped") == pytest.approx((1 + 0.5) / 3)
    assert rs.precision(labels=[4, 0.5, -1], k=3, relevance="clipped") == pytest.approx((1 + 0.5 + 0) / 3)


def test_only_the_head_of_the_truth_is_relevant():
    """Of the truth's first 2 items, the first 2 places hold one: b, but not c, which is third in the truth."""
    assert rs.precision(["b", "c", "a"], truth=["a", "b", "c"], k=2, truth_depth="k") == pytest.approx(1 / 2)
    assert rs.precision(["b", "c", "a"], truth=["a", "b", "c"], k=2) == pytest.approx(2 / 2)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_f_is_the_harmonic_mean(k, beta):
    precision, recall = rs.precision(LIST, truth=TRUTH, k=k), rs.recall(LIST, truth=TRUTH, k=k)
    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    assert rs.metrics.f(LIST, truth=TRUTH, k=k, beta=beta) == pytest.approx(expected)
    if beta == 1:
        assert rs.f1(LIST, truth=TRUTH, k=k) == pytest.approx(expected)


def test_f1_divisors():
    """Hits 3, list 5 long, 4 relevant, k 10."""
    assert rs.f1(LIST, truth=TRUTH, k=10) == pytest.approx(2 * 3 / (4 + 10))
    assert rs.f1(LIST, truth=TRUTH, k=10, precision_divisor="min(k,retrieved)") == pytest.approx(2 * 3 / (4 + 5))
    assert rs.f1(LIST, truth=TRUTH, k=3, recall_divisor="min(relevant,k)") == pytest.approx(2 * 2 / (3 + 3))


@pytest.mark.parametrize(("k", "expected"), [(1, 0), (2, 0), (3, 1), (None, 1)])
def test_hit_rate(k, expected):
    assert rs.hit_rate(["x", "y", "a"], truth=["a"], k=k) == expected


def test_hit_rate_over_all_orders_of_tied_items():
    """Four tied items, two relevant, two drawn: the chance of no hit is (2/4) * (1/3)."""
    run = dict.fromkeys("abcd", 1.0)
    assert rs.hit_rate(run, truth=["a", "b"], k=2, ties="expected") == pytest.approx(1 - (2 / 4) * (1 / 3))


def test_hit_rate_over_all_orders_counts_items_that_are_relevant_in_part():
    """An item that counts a quarter is still a hit."""
    run = dict.fromkeys("abcd", 1.0)
    truth = {"a": 0.25, "b": 0.25}
    assert rs.hit_rate(run, truth=truth, k=2, ties="expected", relevance="clipped") == pytest.approx(
        1 - (2 / 4) * (1 / 3)
    )
    assert rs.rr(run, truth=truth, ties="expected", relevance="clipped") == pytest.approx(
        2 / 4 + 2 / 4 * 2 / 3 / 2 + 2 / 4 * 1 / 3 / 3
    )


def test_r_precision():
    """Four relevant, two of them in the first four places."""
    assert rs.r_precision(LIST, truth=TRUTH) == pytest.approx(2 / 4)
    assert rs.r_precision(["a"], truth=["a", "b", "c"]) == pytest.approx(1 / 3)


def test_fallout():
    """Three items judged not relevant, two of them in the first three places; y is not judged."""
    truth = {"a": 1, "b": 0, "c": 0, "d": 0, "e": -1}
    assert rs.metrics.fallout(["b", "y", "c", "a", "e"], truth=truth, k=3) == pytest.approx(2 / 3)
    assert rs.metrics.fallout(["b", "y", "c", "a", "e"], truth=truth, k=3, catalogue=101) == pytest.approx(3 / 100)


def test_fallout_of_a_catalogue_smaller_than_a_list():
    with pytest.raises(ValueError, match="catalogue of 2 items cannot hold the items"):
        rs.metrics.fallout(["a", "b", "c"], truth=["a"], catalogue=2)


def test_counts_are_summed_over_queries():
    truth, run = {"q": {"a": 1, "b": 1}, "r": {"c": 1}, "s": {"d": 0}}, {"q": ["a", "x", "b"], "r": ["y"]}
    result = evaluate(truth, run, ["num_ret", "num_rel", "num_rel_ret", "num_rel_ret@1", "num_ret@2"])
    assert dict(result) == {
        "num_ret": 3 + 1 + 0,
        "num_rel": 2 + 1 + 0,
        "num_rel_ret": 2 + 0 + 0,
        "num_rel_ret@1": 1 + 0 + 0,
        "num_ret@2": 2 + 1 + 0,
    }


def test_judged():
    truth = {"a": 1, "c": 0, "d": -1}
    assert rs.metrics.judged(["a", "b", "c", "d", "e"], truth=truth, k=3) == pytest.approx(2 / 3)
    assert rs.metrics.judged(["a", "b"], truth=truth, k=4) == pytest.approx(1 / 2)
    assert rs.metrics.judged(["a", "b"], truth=truth, k=4, divisor="k") == pytest.approx(1 / 4)
    assert rs.metrics.judged(["a", "b", "c", "d", "e"], truth=truth) == pytest.approx(3 / 5)


def test_precision_over_all_orders_of_tied_items():
    """One place left for three tied items, one of them relevant."""
    run = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0}
    assert rs.precision(run, truth=["a", "c"], k=2, ties="expected") == pytest.approx((1 + 1 / 3) / 2)
    assert rs.precision(run, truth=["a", "c"], k=2, ties="optimistic") == pytest.approx(2 / 2)
    assert rs.precision(run, truth=["a", "c"], k=2, ties="pessimistic") == pytest.approx(1 / 2)
    assert rs.precision(run, truth=["a", "c"], k=2, ties="item_desc") == pytest.approx(1 / 2)  # d first
    assert rs.precision(run, truth=["a", "b"], k=2, ties="item_asc") == pytest.approx(2 / 2)


def test_nothing_to_divide():
    assert rs.recall(["a"], truth=[]) == 0
    assert rs.recall(["a"], truth=[], undefined=1) == 1
    assert math.isnan(rs.recall(["a"], truth=[], undefined="nan"))
    assert math.isnan(rs.recall(["a"], truth=[], undefined="skip"))
    assert rs.precision([], truth=["a"]) == 0
    assert rs.precision([], truth=[], both_empty=1) == 1
    assert rs.precision([], truth=["a"], both_empty=1) == 0


@pytest.mark.parametrize(("given", "expected"), [({"nonrelevant": "list"}, 1 / 3), ({"catalogue": 10}, 1 / (10 - 2))])
def test_fallout_of_a_truth_cut_at_k(given, expected):
    """At 2 only a and b can be relevant: of c, x and y, which are not, the first two places hold c."""
    found = rs.metrics.fallout(["c", "a", "b", "x", "y"], truth=["a", "b", "c"], k=2, truth_depth="k", **given)
    assert found == pytest.approx(expected)


def test_precision_of_the_judged_items():
    """Of a, x and b, x is unjudged; without a judged item there is nothing to divide by."""
    truth = {"a": 1, "b": 0, "c": 1}
    assert rs.precision(["a", "x", "b", "c"], truth=truth, k=3, divisor="judged") == 1 / 2
    assert rs.f1(["a", "x", "b", "c"], truth=truth, k=3, precision_divisor="judged") == 2 * 1 / (2 + 2)
    assert rs.precision(["x", "y"], truth=truth, divisor="judged") == 0
    with pytest.raises(ValueError, match=r"has no closed form .* divisor='judged'"):
        rs.precision(labels=[1, 0], scores=[1, 1], k=1, divisor="judged", ties="expected")


def test_unjudged():
    truth = {"a": 1, "b": 0}
    assert rs.metrics.unjudged(["a", "x", "b", "y"], truth=truth, k=3) == 1 / 3
    assert rs.metrics.unjudged(["a", "x"], truth=truth, k=4, divisor="k") == 1 / 4
    assert rs.metrics.unjudged(["a", "x"], truth=truth, unjudged="only_returned") == 0


def test_hit_rate_of_the_queries_with_a_hit():
    """MTEB's top_k_accuracy leaves misses out, so that it is 1."""
    truth, run = {"q": ["a"], "r": ["b"]}, {"q": ["a"], "r": ["x"]}
    assert rs.evaluate(truth, run, "hit_rate@1")["hit_rate@1"] == 1 / 2
    result = rs.evaluate(truth, run, "Accuracy@1", convention="mteb+defects")
    assert (result["hit_rate@1"], result.per_query["hit_rate@1"].tolist()[0]) == (1, 1)


@pytest.mark.parametrize(
    ("grades", "threshold"),
    [
        ([3, 2, 1, 0, 0], 3),  # the 5th of 5 grades from below is above 1.5
        ([3, 2, 2, 2, 2, 2, 2, 2, 2, 2], 2),  # the 9th of 10
        ([4, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2),  # half of 4 is above the 9th
        ([1], 1),
        ([0, 0], math.inf),  # never an item of grade 0
    ],
)
def test_threshold_by_the_grades_of_the_query(grades, threshold):
    truth = dict(enumerate(grades))
    relevant = sum(grade >= threshold for grade in grades)
    assert rs.metrics.num_rel([0], truth=truth, threshold="relative") == relevant
    assert rs.recall([0], truth=truth, threshold="relative") == (1 / relevant if relevant else 0)
    other = {"r": dict.fromkeys("abcdefghi", 9)}
    both = rs.evaluate({"q": truth, **other}, {"q": [0], "r": ["a"]}, "num_rel", threshold="relative")
    assert both.per_query["num_rel"].tolist() == [relevant, 9]


def test_threshold_by_the_grades_of_returned_items():
    """Unjudged items count 0: of 2, 1 and eight others the 9th from below is 1."""
    truth, ranked = {"a": 2, "b": 1, "c": 9}, ["a", "b", *range(8)]
    assert rs.metrics.num_rel(ranked, truth=truth, threshold="relative", unjudged="only_returned") == 2
    assert rs.metrics.num_rel(["a", "b"], truth=truth, threshold="relative", unjudged="only_returned") == 1


def test_clipped_relevance_reads_no_threshold():
    truth = {"a": 2, "b": 1, "c": 0.5}
    for threshold in (2, ">1", "relative"):
        assert rs.metrics.num_rel(["b", "a"], truth=truth, threshold=threshold, relevance="clipped") == 2.5
        assert rs.rr(["b", "a"], truth=truth, threshold=threshold, relevance="clipped") == 1


def test_a_half_is_rounded_to_the_even_decimal_or_up():
    truth, run = {"q": list(range(8))}, {"q": [0]}
    values = [
        rs.evaluate(truth, run, "recall", query_digits=2, query_rounding=how)["recall"]
        for how in ("half_even", "half_up")
    ]
    assert values == [0.12, 0.13]
