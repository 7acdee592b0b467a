"""Curves of risk and coverage, nAUC, and the threshold that bounds false answers."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

import rankstone as rs

TRUTH = {"q1": ["a"], "q2": ["b"], "q3": ["c"], "q4": []}
RUN = {"q1": {"a": 0.9, "x": 0.1}, "q2": {"x": 0.5, "b": 0.4}, "q3": {"x": 0.8, "y": 0.7, "c": 0.2}, "q4": {"x": 0.3}}


def test_nauc_by_hand():
    """Reciprocal ranks 1, 1/2, 1/3, 0; best scores 0.9, 0.5, 0.8, 0.3: q2 and q3 change places."""
    curves = rs.risk_coverage(TRUTH, RUN, "rr")
    whole, three, two, one = (1 + 1 / 2 + 1 / 3) / 4, (1 + 1 / 2 + 1 / 3) / 3, (1 + 1 / 3) / 2, 1
    left_out = [0, 0, 1, 1, 2, 2, 2, 3, 3, 3]  # of 4 queries: 0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 3.6
    expected = [(whole, three, two, one)[count] for count in left_out]
    curve = curves.curve("nauc_mrr_max")
    assert curve.value.tolist() == pytest.approx(expected)
    assert curve.coverage.tolist() == [1 - count / 4 for count in left_out]
    best = [(whole, three, (1 + 1 / 2) / 2, one)[count] for count in left_out]
    area, highest = (sum((a + b) / 2 for a, b in pairwise(side)) / 10 for side in (expected, best))
    flat = whole * 0.9
    assert curves["nauc_mrr_max"] == pytest.approx((area - flat) / (highest - flat))
    assert curves["nauc_rr_max"] == curves["nauc_mrr_max"]


def test_queries_of_equal_confidence_count_as_their_mean():
    confidence, values = [1, 1, 0], [1.0, 0.0, 0.0]
    assert rs.statistics.abstention_curve(confidence, values).value[-1] == 1 / 2
    assert rs.statistics.abstention_curve(confidence, values, "order").value[-1] == 0
    assert rs.statistics.abstention_curve(confidence, values[::-1], "order").value[0] == 1 / 3


def test_a_query_without_a_list_is_the_least_confident():
    curves = rs.risk_coverage({"q1": ["a"], "q2": ["b"]}, {"q1": {"a": -5.0}}, "rr")
    assert curves.curve("nauc_mrr_max").value[-1] == 1


def test_a_run_without_scores_has_no_confidence():
    with pytest.raises(ValueError, match="the run is only an order of items"):
        rs.risk_coverage({"q": ["a"]}, {"q": ["a"]}, "rr")
    with pytest.raises(KeyError, match="there are nauc_mrr_max, nauc_mrr_std, nauc_mrr_diff1"):
        rs.risk_coverage(TRUTH, RUN, "rr")["nauc_mrr_min"]


def test_the_plot_has_the_curve():
    curves = rs.risk_coverage(TRUTH, RUN, "rr")
    plot = curves.plot("nauc_mrr_max")
    assert plot.data["value"] == curves.curve("nauc_mrr_max").value[::-1].tolist()
    assert plot.svg().startswith("<svg")
    assert curves.to_pandas().shape == (30, 3)


# -- the threshold -------------------------------------------------------------------------------------------


def data(unanswerable, answerable):
    """Queries by their best scores: items 'a', which answers the second ones."""
    truth = {f"n{at}": [] for at in range(len(unanswerable))} | {f"y{at}": ["a"] for at in range(len(answerable))}
    return truth, {query: {"a": score} for query, score in zip(truth, [*unanswerable, *answerable], strict=True)}


def test_threshold_by_hand():
    """Of 100 queries without an answer one may be answered: the bound of 1 is 0.0466, that of 2 is 0.0616."""
    unanswerable, answerable = [at / 100 for at in range(100)], [0.5, 0.975, 0.98, 0.985, 1.0]
    bound = rs.answer_threshold(*data(unanswerable, answerable), "rr")
    assert (bound.cut, bound.false_answers, bound.unanswerable) == (0.985, 1, 100)  # 0.98 would let two through
    assert binom.cdf(1, 100, bound.upper) == pytest.approx(0.05)
    assert (bound.answered, bound.answerable, bound.before, bound.after) == (2, 5, 1.0, 2 / 5)
    assert bound.cost == 3 / 5
    assert "at most 4.66 % false answers" in str(bound)
    metric = f"false_answer(t={bound.cut})"
    assert rs.evaluate(*data(unanswerable, answerable), metric)[metric] == 1 / 100


def test_tied_scores_stay_together():
    bound = rs.statistics.score_cut([0.5] * 3 + [0.1] * 97, [0.1, 0.5, 0.7])
    assert (bound.cut, bound.false_answers) == (0.7, 0)


def test_too_few_queries_say_how_many_are_needed():
    assert rs.answer_threshold(*data([0.1] * 59, [0.5])).cut == 0.5
    with pytest.raises(ValueError, match="needs at least 59 queries without an answer; there are 58"):
        rs.answer_threshold(*data([0.1] * 58, [0.5]))
    with pytest.raises(ValueError, match="no query has an answer"):
        rs.answer_threshold(*data([0.1] * 60, []))


@pytest.mark.simulation
@pytest.mark.parametrize("n", [59, 100, 300, 1000])
def test_the_rate_is_below_the_limit(n):
    """Scores are uniform, so the true rate of a cut is 1 - cut: above 5 % in at most 5 % of the samples."""
    rng, samples = np.random.default_rng(7), 4000
    scores = rng.random((samples, n))
    grid = np.linspace(0, 1, 2001)  # of other queries
    above = sum(1 - rs.statistics.score_cut(row, grid).cut > 0.05 for row in scores)
    assert above / samples <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / samples)
    assert above / samples >= 0.01  # and the cut is not far too high
