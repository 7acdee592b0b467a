"""Sizes of differences."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs

effect = rs.statistics.effect
hedges_correction, noncentral_tail = rs.statistics.hedges_correction, rs.statistics.noncentral_tail
pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=20)


def test_hand_worked():
    found = effect([0.5, 0.25, 0.0], [0.75, 0.25, 0.5])
    mean = (0.25 + 0 + 0.5) / 3
    deviation = math.sqrt((0 + 0.25**2 + 0.25**2) / 2)
    assert found.dz == pytest.approx(mean / deviation)
    assert (found.wins, found.ties, found.losses) == (2, 1, 0)
    assert found.superiority == pytest.approx((2 + 1 / 2) / 3)
    assert found.relative == pytest.approx(0.25 / 0.25)
    # Both runs have the variance 1/16.
    assert found.d_av == pytest.approx(mean / 0.25)
    # Gamma(1) / (sqrt(1) Gamma(1/2))
    assert found.hedges_correction == pytest.approx(1 / math.sqrt(math.pi))
    assert found.hedges == pytest.approx(found.dz / math.sqrt(math.pi))


@given(pairs, st.floats(0.5, 0.99))
def test_the_interval_has_t_at_its_ends(values, confidence):
    first, second = np.array(values, dtype=float).T
    assume(np.ptp(second - first) > 0)
    found = effect(first, second, confidence)
    root, outside = math.sqrt(len(values)), (1 - confidence) / 2
    for end, share in ((found.low, outside), (found.high, 1 - outside)):
        assert noncentral_tail(found.dz * root, len(values) - 1, end * root) == pytest.approx(share, abs=1e-11)


@given(pairs)
def test_turned_round_and_scaled(values):
    first, second = np.array(values, dtype=float).T
    assume(np.ptp(second - first) > 0)
    found, other = effect(first, second), effect(7 * second[::-1], 7 * first[::-1])
    assert (found.dz, found.low, found.high) == pytest.approx((-other.dz, -other.high, -other.low), abs=1e-9)
    assert (found.wins, found.losses) == (other.losses, other.wins)


def test_nearly_constant_differences():
    """t is a hundred million; the interval is still there."""
    base = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = effect(base, base + 0.25 + np.array([0, 1e-9, 2e-9, -1e-9, 0]))
    assert 0 < found.low < found.dz < found.high < math.inf


def test_constant_differences():
    base = np.array([0.5, 0.25, 1.0])
    assert effect(base, base - 0.25).dz == -math.inf
    found = effect(base, base)
    assert (found.ties, found.superiority, found.relative, found.d_av) == (3, 1 / 2, 0, 0)
    assert math.isnan(found.dz)


def test_one_query():
    found = effect([0.5], [1.0])
    assert math.isnan(found.dz)
    assert math.isnan(found.d_av)
    assert (found.wins, found.relative) == (1, 1)
    assert math.isnan(effect([0.0, 0.0], [0.5, 1.0]).relative)


def test_correction():
    assert hedges_correction(2) == pytest.approx(1 / math.sqrt(math.pi))
    assert hedges_correction(7, "approximate") == 1 - 3 / 27
    assert hedges_correction(4) == pytest.approx(1 / (math.sqrt(2) * math.sqrt(math.pi) / 2))
    assert hedges_correction(1e7) == pytest.approx(1 - 3 / 4e7 - 7 / 32e14, rel=1e-15)
    assert math.isnan(hedges_correction(1))
    with pytest.raises(ValueError, match="'exact', 'approximate'"):
        hedges_correction(5, "gamma")
