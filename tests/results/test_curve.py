"""ROC curves: a hand-worked one, scikit-learn's, and the area under them."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs

TRUTH = {"u1": {"a": 1, "b": 0, "c": 1, "d": 0}, "u2": {"a": 1, "b": 0}}
RUN = {"u1": {"a": 0.9, "x": 0.8, "b": 0.4, "c": 0.4}, "u2": {"b": 0.7, "a": 0.5}}


def points(*data, **more):
    return list(zip(*(side.tolist() for side in rs.roc_curve(*data, **more)), strict=True))


def test_by_hand():
    """a first; b and c are tied, a slope; d is not there, and shares the end."""
    assert points(TRUTH, RUN, query="u1") == [(0, 0), (0, 1 / 2), (1 / 2, 1), (1, 1)]
    # Of the list a x b c, where x and b are not relevant.
    assert points(TRUTH, RUN, query="u1", pairs="list") == [(0, 0), (0, 1 / 2), (1 / 2, 1 / 2), (1, 1)]
    # Of ten items, eight of which are not relevant: six are not shown.
    listed = [(0, 0), (0, 1 / 2), (1 / 8, 1 / 2), (2 / 8, 1), (1, 1)]
    assert points(TRUTH, RUN, query="u1", pairs="list", catalogue=10) == listed


def test_rows_of_all_queries_by_score():
    run = {"u1": {"a": 0.9, "b": 0.4, "c": 0.3, "d": 0.1}, "u2": {"b": 0.7, "a": 0.5}}
    found = points(TRUTH, run, averaging="one_list")  # a b a b c d
    assert found == [(0, 0), (0, 1 / 3), (1 / 3, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 2 / 3), (2 / 3, 1), (1, 1)]


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=20)


@given(rows=rows, returned=st.integers(1, 20))
def test_scikit_learn_and_the_area(rows, returned):
    learn = pytest.importorskip("sklearn.metrics")
    labels, scores = np.array(rows).T
    assume(0 < labels.sum() < len(labels))
    fpr, tpr, _ = learn.roc_curve(labels, scores, drop_intermediate=False)
    found = rs.roc_curve(labels[None, :], scores[None, :].astype(float))
    np.testing.assert_allclose(found, (fpr, tpr), atol=1e-15)
    truth = {"q": dict(enumerate(labels.tolist()))}
    run = {"q": dict(list(enumerate(scores.tolist()))[:returned])}
    for more in ({}, {"pairs": "list", "catalogue": 30}):
        x, y = rs.roc_curve(truth, run, **more)
        area = ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()
        assert area == pytest.approx(*rs.evaluate(truth, run, rs.auc(**more)).values(), abs=1e-12)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({}, r"there are 2 queries: 'u1', 'u2'; name one with query=, or choose averaging='one_list'"),
        ({"query": "u3"}, "the truth has no query 'u3'"),
        ({"query": "u1", "averaging": "one_list"}, "not both"),
        ({"query": "u1", "threshold": 2}, "there is no curve: no item is relevant"),
        ({"query": "u1", "threshold": 0}, r"no item is judged non-relevant \(pairs='list'"),
        ({"query": "u1", "pairs": "list", "catalogue": 3}, "a catalogue of 3 items cannot hold the items"),
    ],
)
def test_no_curve(more, problem):
    with pytest.raises(ValueError, match=problem):
        rs.roc_curve(TRUTH, RUN, **more)
