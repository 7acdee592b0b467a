"""Tukey's test of all pairs of runs."""

import math

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_ind, ttest_rel, tukey_hsd

import rankstone as rs

tukey = rs.statistics.tukey
SCORES = np.random.default_rng(7).random((12, 4)) + np.linspace(0, 0.3, 4)


def test_two_runs_are_a_t_test():
    first, second = SCORES[:, 0], SCORES[:, 3]
    for paired, test in ((True, ttest_rel), (False, ttest_ind)):
        found, expected = tukey(SCORES[:, [0, 3]], paired), test(second, first)
        low, high = expected.confidence_interval(0.95)
        assert found.p[0] == pytest.approx(expected.pvalue, abs=1e-8)
        assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-7)
        assert found.differences[0] == pytest.approx(second.mean() - first.mean())
        assert found.f_runs == pytest.approx(expected.statistic**2)
        assert found.p_runs == pytest.approx(expected.pvalue)
        assert found.freedom == expected.df


def test_parts_of_the_variance():
    scores = np.array([[1.0, 2.0], [3.0, 8.0]])
    # Means of runs 2 and 5, of queries 1.5 and 5.5, of all 3.5: what is left is 1, -1, -1, 1.
    found = tukey(scores)
    assert (found.freedom, found.mean_square) == (1, 4)
    assert found.f_runs == pytest.approx(2 * (1.5**2 + 1.5**2) / 4)
    assert found.f_queries == pytest.approx(2 * (2**2 + 2**2) / 4)
    assert found.p_queries == pytest.approx(1 - 2 / math.pi * math.atan(math.sqrt(found.f_queries)))


def test_runs_as_independent_samples():
    found, expected = tukey(SCORES, paired=False, confidence=0.9), tukey_hsd(*SCORES.T)
    limits = expected.confidence_interval(0.9)
    first, second = found.pairs.T
    assert found.p == pytest.approx(expected.pvalue[first, second], abs=1e-8)
    assert found.low == pytest.approx(limits.low[second, first], abs=1e-7)
    assert found.p_runs == pytest.approx(f_oneway(*SCORES.T).pvalue)
    assert math.isnan(found.f_queries)


def test_queries_that_differ_are_no_noise():
    shifted = SCORES + np.arange(12)[:, None]
    assert tukey(shifted).p == pytest.approx(tukey(SCORES).p, abs=1e-7)
    assert tukey(shifted, paired=False).p.min() > tukey(SCORES, paired=False).p.min()


def test_nothing_left_over():
    base = np.array([[0.1], [0.7], [0.3]])
    assert tukey(base + np.zeros(3)).p.tolist() == [1, 1, 1]
    found = tukey(base + np.array([0, 0, 0.25]))
    assert found.p.tolist() == [1, 0, 0]
    assert (found.low == found.high).all()
