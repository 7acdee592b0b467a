"""Hand-worked: pairs of a relevant item and one that is not."""

import numpy as np
import pytest

import rankstone as rs
from rankstone.errors import UndefinedWarning


def test_auc():
    """Two relevant, two not: of four pairs one is the wrong way round."""
    assert rs.auc(scores=[0.8, 0.7, 0.5, 0.3], labels=[1, 0, 1, 0]) == pytest.approx(3 / 4)


def test_equal_scores_are_half_a_pair():
    assert rs.auc(scores=[0.5, 0.5, 0.1], labels=[1, 0, 0]) == pytest.approx((1 / 2 + 1) / 2)


def test_items_out_of_sight_share_the_end():
    """a is seen above everything; b and y are not returned, which is half a pair."""
    truth = {"a": 1, "b": 1, "x": 0, "y": 0}
    assert rs.auc(["a", "x"], truth=truth) == pytest.approx((1 + 1 + 0 + 1 / 2) / 4)
    assert rs.auc(["x", "a"], truth=truth, k=1) == pytest.approx((0 + 1 / 2 + 0 + 1 / 2) / 4)  # only x is seen


def test_auc_of_a_list_counts_everything_that_is_not_relevant():
    """Hits at 1 and 3 of 4 places: pairs (1,2), (1,4), (3,4) are right, (3,2) is wrong."""
    assert rs.auc([1, 3, 2, 6], truth=[1, 2, 4], k=4, pairs="list") == pytest.approx(3 / 4)
    assert rs.auc([1, 3, 2, 6], truth=[1, 2, 4], k=2, pairs="list") == pytest.approx(1 / 1)


def test_places_that_a_short_list_leaves_empty():
    """One hit in a list of two; at k = 4 there are 1 * (4 - 1) pairs."""
    assert rs.auc(["a", "x"], truth=["a"], k=4, pairs="list", divisor="k") == pytest.approx(1 / 3)
    assert rs.auc(["a", "x"], truth=["a"], k=4, pairs="list") == pytest.approx(1 / 1)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: rs.auc([1, 3, 2, 6], truth=[1, 2, 4]), 0.5),
        (lambda: rs.auc([1, 3, 2, 6], truth={1: 1, 2: 2}, k=2), 0.5),
        (lambda: rs.auc(labels=[1, 1], scores=[1, 2]), 0.5),
        (lambda: rs.auc(labels=np.array([1, 1])), 0.5),
        (lambda: rs.auc(labels=[0, 0], scores=[1, 2]), 0.5),
        (lambda: rs.metrics.fallout(["a"], truth=["a"]), 0.0),
    ],
)
def test_a_list_without_pairs_is_warned_about(call, value):
    with pytest.warns(UndefinedWarning, match=f"no pair of a relevant .* {value:g} stands") as raised:
        assert call() == value
    assert raised[0].filename == __file__


def test_no_warning_where_the_value_is_chosen_or_defined():
    """The suite turns warnings into errors."""
    assert rs.auc(labels=[0, 0], scores=[1, 2], undefined=1) == 1
    assert rs.auc(labels=[0, 1, 0], scores=[1, 2, 3]) == 1 / 2  # one of two pairs
    assert rs.auc([3, 6], truth=[1, 2, 4], k=4, convention="hivemall") == 0.5  # its pairs are those of the list
    assert rs.bpref(["a"], truth=["a"]) == 1


def test_a_result_names_the_metrics_without_pairs():
    result = rs.evaluate({"q": [1, 2, 4]}, {"q": [1, 3, 2, 6]}, ["auc", "bpref"])
    assert "queries: 1 without non-relevant items to compare in auc (score 0.5)" in result.notes


def test_auc_of_a_list_over_all_orders_of_tied_items():
    """One relevant among three tied: above both, one or none of the others."""
    run = dict.fromkeys("abc", 1.0)
    assert rs.auc(run, truth=["a"], pairs="list", ties="expected") == pytest.approx((2 + 1 + 0) / 3 / 2)


def test_bpref():
    """Two relevant, two judged not: above d stand both of the latter.

    Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004, with the later bound
    min(relevant, nonrelevant) of trec_eval.
    """
    truth = {"a": 1, "d": 1, "b": 0, "c": 0}
    assert rs.bpref(["a", "b", "c", "d"], truth=truth) == pytest.approx((1 + (1 - 2 / 2)) / 2)
    assert rs.bpref(["b", "a", "c", "d"], truth=truth) == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 2)


def test_bpref_does_not_see_unjudged_items():
    truth = {"a": 1, "b": 0, "e": -1}
    assert rs.bpref(["x", "y", "e", "a", "b"], truth=truth) == pytest.approx(1 / 1)


def test_bpref_bound():
    """Only the first R = 1 of three non-relevant items counts, and it costs everything."""
    assert rs.bpref(["b", "c", "d", "a"], truth={"a": 1, "b": 0, "c": 0, "d": 0}) == pytest.approx(1 - 1 / 1)
    # Three relevant, one not: the bound is 1.
    assert rs.bpref(["a", "z", "b", "c"], truth={"a": 1, "b": 1, "c": 1, "z": 0}) == pytest.approx((1 + 0 + 0) / 3)


def test_bpref_without_anything_judged_bad():
    assert rs.bpref(["x", "a", "y"], truth=["a", "b"]) == pytest.approx(1 / 2)


EPSILON = 0.00001


def test_infap():
    """a at rank 1, c at rank 3 below one relevant and one non-relevant item.

    Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM 2006:
    the expected precision at rank k is 1/k + (k-1)/k * pooled/(k-1) * (R + e) / (R + N + 2e).
    """
    below = 1 / 3 + 2 / 3 * (2 / 2) * (1 + EPSILON) / (1 + 1 + 2 * EPSILON)
    assert rs.metrics.infap(["a", "b", "c"], truth={"a": 1, "b": 0, "c": 1}) == pytest.approx((1 + below) / 2)


def test_infap_of_pooled_and_unpooled_items():
    """Above c: p was pooled but not judged, x was not even pooled, a is relevant."""
    truth = {"a": 1, "c": 1, "p": -1}
    below = 1 / 4 + 3 / 4 * (2 / 3) * (1 + EPSILON) / (1 + 2 * EPSILON)
    assert rs.metrics.infap(["a", "p", "x", "c"], truth=truth) == pytest.approx((1 + below) / 2)


def test_auc_within_the_list_as_hivemalls_manual_prints_it():
    """Of the list 1, 3, 2, 6 the items 1 and 2 are relevant; a truth without others has no pairs of judged items."""
    given = {"truth": [1, 2, 4], "convention": "hivemall"}
    assert (rs.auc([1, 3, 2, 6], **given), rs.auc([1, 3, 2, 6], k=2, **given)) == (0.75, 1.0)
    assert rs.auc([1, 3, 2, 6], k=10, **given) == 3 / (2 * 2)  # the list's own pairs
    assert rs.auc([1, 3, 2, 6], truth=[1, 2, 4], k=10, convention="hivemall-0.5") == 3 / (2 * 8)
    assert rs.auc([1, 3, 2, 6], truth=[1, 2, 4], pairs="list") == 3 / 4


@pytest.mark.parametrize("choice", [{"pairs": "list"}, {"unjudged": "only_returned"}])
def test_auc_of_k_places_needs_ranks_of_their_own(choice):
    """Two items at rank 2 are three items at ranks up to 2."""
    with pytest.raises(rs.errors.NoClosedFormError, match="no pairs of k places where items share a rank"):
        rs.auc({"a": 2.0, "b": 1.0, "c": 1.0}, truth={"a": 1, "b": 0, "c": 0}, k=2, ties="group_mean", **choice)


def test_bpref_without_judged_nonrelevant_items():
    """trectools scores 0 there, trec_eval the share of relevant items returned."""
    assert rs.bpref(["a", "x"], truth=["a", "b"]) == 1 / 2
    assert rs.bpref(["a", "x"], truth=["a", "b"], no_negatives="zero") == 0
    assert rs.bpref(["a", "x"], truth={"a": 1, "b": 1, "x": 0}, no_negatives="zero") == 1 / 2
