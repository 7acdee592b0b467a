"""One list, one number."""

import math

import numpy as np
import pandas as pd
import pytest

import rankstone as rs


def test_items_and_truth():
    assert rs.ap(["a", "x", "b"], truth=["a", "b"]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert isinstance(rs.ap(["a"], truth=["a"]), float)


@pytest.mark.parametrize(
    "ranked",
    [
        ["a", "x", "b"],
        ("a", "x", "b"),
        np.array(["a", "x", "b"]),
        pd.Series(["a", "x", "b"]),
        {"x": 2.0, "b": 1.0, "a": 3.0},
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    "truth",
    [
        ["a", "b"],
        ("a", "b"),
        {"a", "b"},
        frozenset("ab"),
        {"a": 1, "b": 1, "x": 0},
        np.array(["a", "b"]),
        pd.Series(["a", "b"]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_shapes_of_items(ranked, truth):
    assert rs.ap(ranked, truth=truth) == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_iterators():
    assert rs.ap(iter("axb"), truth=(item for item in "ab")) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert rs.ap({"a": 2, "x": 1}.keys(), truth={"a": 1}.keys()) == 1


def test_parameters_cutoff_and_choices():
    assert rs.precision(["a", "x", "b"], truth=["a", "b"], k=2) == 1 / 2
    assert (rs.precision @ 2)(["a", "x", "b"], truth=["a", "b"]) == 1 / 2
    assert rs.ap(["x", "b"], truth=["a", "b"], k=2, divisor="found") == 1 / 2
    assert rs.ap(divisor="found")(["x", "b"], truth=["a", "b"], k=2) == 1 / 2
    assert rs.ap(["x", "b"], truth=["a", "b"], k=2, convention="hivemall-0.5") == 1 / 2
    assert rs.precision({"a": 1.0, "b": 1.0}, truth=["a"], k=1, ties="expected") == 1 / 2


def test_labels():
    assert rs.ap(labels=[1, 0, 1]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert rs.ap(labels=[True, False, True]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert rs.ap(labels=np.array([1.0, 0.0, 1.0])) == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_labels_beside_scores():
    assert rs.ap(labels=[0, 1, 1], scores=[0.5, 0.1, 0.9]) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert rs.rr(labels=[1, 0], scores=[0.5, 0.5], ties="expected") == pytest.approx((1 + 1 / 2) / 2)
    assert rs.rr(labels=[1, 0], scores=[0.5, 0.5], ties="input") == 1


def test_labels_and_the_rest_of_the_truth():
    """The list holds one of three relevant items."""
    assert rs.recall(labels=[1, 0], truth=[1, 1, 1]) == pytest.approx(1 / 3)
    assert rs.recall(labels=[1, 0]) == 1
    assert rs.ndcg(labels=[1, 0], truth=[0, 3, 1], k=1) == pytest.approx(1 / 3)


def test_labels_in_order_are_no_predictions():
    with pytest.raises(ValueError, match="needs scores"):
        rs.mae(labels=[1, 2])
    assert rs.mae(labels=[1, 2], scores=[1, 4]) == pytest.approx((0 + 2) / 2)


def test_ratings():
    assert rs.mae([1, 2], truth=[1, 4]) == pytest.approx((0 + 2) / 2)
    assert rs.mae({"a": 1.0, "b": 2.0}, truth={"a": 1, "b": 4, "c": 9}) == pytest.approx((0 + 2) / 2)
    assert rs.mae(3.2, truth=4.0) == pytest.approx(0.8)


def test_orders_of_ratings():
    """python-recsys' example, with the numbers that it prints."""
    predicted, actual = [2.3, 0.9, 4.9, 0.9, 1.5], [3, 1, 5, 2, 3]
    assert rs.metrics.spearman(scores=predicted, labels=actual) == pytest.approx(0.947368, abs=5e-7)
    assert rs.metrics.kendall(scores=predicted, labels=actual) == pytest.approx(0.888889, abs=5e-7)
    assert rs.metrics.spearman(scores=predicted[:3], labels=actual[:3]) == 1


def test_truth_goes_by_name():
    """Both sides are lists, and the other way round they give another number."""
    with pytest.raises(TypeError, match=r"give the truth by name, .*: rs.ndcg\(items, truth=relevant\)"):
        rs.ndcg([1, 3, 2, 6], [1, 2, 4])
    with pytest.raises(TypeError, match=r"rs.arrays.ndcg\(scores=..., labels=...\)"):
        rs.arrays.ndcg(np.array([[0.5, 0.25]]), np.array([[1, 0]]))


def test_empty():
    assert rs.ndcg([], truth=[]) == 0
    assert rs.ndcg(labels=[]) == 0
    assert math.isnan(rs.metrics.kendall([], truth=[]))


def test_without_data_it_is_a_metric():
    assert rs.ndcg() == rs.ndcg
    assert rs.ndcg(k=3) == rs.ndcg @ 3
    assert rs.ndcg(gain="exp2", k=3) == rs.authoring.Metric.parse("ndcg(gain=exp2)@3")[0]


WRONG = {
    "a string": (lambda: rs.ndcg("abc", truth=["a"]), TypeError, "the list is 'abc'; give a list of items or a dict"),
    "a number": (lambda: rs.ndcg(3, truth=["a"]), TypeError, "the list is 3; give a list of items"),
    "a string as truth": (lambda: rs.ndcg(["a"], truth="abc"), TypeError, "the truth is 'abc'"),
    "no truth": (
        lambda: rs.ndcg(["a"]),
        TypeError,
        r"ndcg needs the relevant items: rs.ndcg\(items, truth=relevant\)",
    ),
    "k of 0": (lambda: rs.ndcg(["a"], truth=["a"], k=0), ValueError, "k must be a whole number from 1, not 0"),
    "k that is a word": (
        lambda: rs.ndcg(["a"], truth=["a"], k="x"),
        TypeError,
        "k must be a whole number from 1, not 'x'",
    ),
    "no place for k": (lambda: rs.bpref(["a"], truth=["a"], k=1), ValueError, "bpref has no place for a cutoff"),
    "unknown word": (lambda: rs.ndcg(["a"], truth=["a"], colour=1), ValueError, "unknown choice 'colour'"),
    "labels and items": (lambda: rs.ndcg(["a"], labels=[1]), TypeError, "ndcg: give items or labels, not both"),
    "scores alone": (
        lambda: rs.ndcg(["a"], truth=["a"], scores=[1]),
        TypeError,
        "ndcg: scores need labels$",
    ),
    "lengths": (lambda: rs.ndcg(labels=[1, 2], scores=[1]), ValueError, "ndcg: 2 labels but 1 scores"),
    "two lists": (lambda: rs.ndcg(labels=[[1, 2]]), ValueError, r"labels of one list, not an array of shape \(1, 2\)"),
    "NaN label": (lambda: rs.ndcg(labels=[1, math.nan]), ValueError, "ndcg: labels: nan at position 2"),
    "NaN score": (lambda: rs.ndcg(labels=[1], scores=[math.nan]), ValueError, "score is nan"),
    "scores as items": (
        lambda: rs.ndcg([0.1, 0.9], truth=[1, 0]),
        TypeError,
        r"ndcg: 0.1 in the list is not an item id; for scores and grades write ndcg\(scores=..., labels=...\)",
    ),
    "ratings as items": (
        lambda: rs.metrics.spearman(np.array([2.3, 0.9]), truth=np.array([3.0, 1.0])),
        TypeError,
        r"spearman: 3.0 in the truth is not an item id; .* spearman\(scores=..., labels=...\)",
    ),
    "twice": (lambda: rs.ndcg(["a", "a"], truth=["a"]), ValueError, "item 'a' appears twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_measured(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
