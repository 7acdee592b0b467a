"""The 2x2 table: a hand-worked one, scikit-learn's, and what it has in common with precision and recall."""

import numpy as np
import pytest

import rankstone as rs

TRUTH = {"u1": {"a": 3, "b": 1, "c": 0}, "u2": ["a"]}
RUN = {"u1": {"a": 0.9, "x": 0.8, "b": 0.4}, "u2": {"b": 0.7}}


def test_by_hand():
    """u1: a is found, x is not relevant, b stands too low. u2: b is not relevant, a is missed."""
    table = rs.confusion(TRUTH, RUN, 2, catalogue=5)
    assert list(table.queries) == ["u1", "u2"]
    assert {name: values.tolist() for name, values in table.per_query.items()} == {
        "tp": [1, 0],
        "fp": [1, 1],
        "fn": [1, 1],
        "tn": [5 - 3, 5 - 2],
    }
    assert table.to_dict() == {"tp": 1, "fp": 2, "fn": 2, "tn": 5}
    assert str(table).splitlines() == [
        "2 queries, first 2 ranks",
        "              relevant  non-relevant",
        "------------------------------------",
        "returned             1             2",
        "not returned         2             5",
        "------------------------------------",
    ]


def test_true_negatives_need_a_catalogue():
    table = rs.confusion(TRUTH, RUN)
    assert (table.tp, table.fp, table.fn) == (2, 2, 1)
    assert "? needs catalogue=" in str(table)
    with pytest.raises(AttributeError, match=r"true negatives need the number of items: .*catalogue="):
        _ = table.tn
    with pytest.raises(ValueError, match="a catalogue of 3 items cannot hold the items of query 'u1'"):
        rs.confusion({"u1": ["a", "b"]}, {"u1": ["c", "d"]}, catalogue=3)


def test_choices_hold():
    assert rs.confusion(TRUTH, RUN, 2, threshold=2).fn == 0  # what was missed has grade 1
    left_out = rs.confusion(TRUTH, {"u1": RUN["u1"]}, 2, missing="skip")
    assert (left_out.tp, left_out.fp, left_out.fn) == (1, 1, 1)
    assert np.isnan(left_out.per_query["fn"]).tolist() == [False, True]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_scikit_learn(k):
    learn = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(k)
    labels, scores = random.integers(0, 2, (20, 7)), random.permuted(np.tile(np.arange(7.0), (20, 1)), axis=1)
    table = rs.confusion(labels, scores, k, catalogue=7)
    shown = scores >= 7 - k
    (tn, fp), (fn, tp) = learn.confusion_matrix(labels.ravel(), shown.ravel())
    assert table.to_dict() == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    means = rs.evaluate(labels, scores, [f"precision@{k}", f"recall@{k}"], averaging="micro")
    assert means[f"precision@{k}"] == table.tp / (table.tp + table.fp)
    assert means[f"recall@{k}"] == table.tp / (table.tp + table.fn)
