"""Intervals: Hall's, of shares, and by drawing again."""

import math
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs

bootstrap, share, hall_interval, student = (
    rs.statistics.bootstrap,
    rs.statistics.proportion_interval,
    rs.statistics.hall_interval,
    rs.statistics.student,
)
METHODS = ["bca", "percentile", "basic", "studentised"]
RANKS = [1.0, 0.5, 0.0, 0.0, 1.0, 0.25, 0.1, 0.0, 1 / 3, 0.0, 1.0, 0.2]
samples = st.lists(st.integers(0, 20), min_size=3, max_size=15)


def test_skewed_hand_worked():
    found = hall_interval([0, 0, 0, 1])
    second, third = 3 / 16, (3 * (-1 / 4) ** 3 + (3 / 4) ** 3) / 4
    g = third / second**1.5
    assert found.skewness == pytest.approx(g)
    assert (found.mean, found.error) == pytest.approx((1 / 4, math.sqrt(4 * second / 3 / 4)))
    t = 3.182446305284263  # Student, 3 degrees of freedom, 97.5 %
    for end, q in ((found.low, t), (found.high, -t)):
        inside = 1 + g * (q - g / 12) / 2
        assert end == pytest.approx(1 / 4 - found.error * 6 / g * (math.copysign(abs(inside) ** (1 / 3), inside) - 1))


def test_skewed_leans_to_the_long_tail():
    found, (low, high) = hall_interval(RANKS), student(RANKS).interval()
    assert found.low > low
    assert found.high > high


@given(samples, st.floats(0.5, 0.99))
def test_skewed_moves_with_the_values(whole, confidence):
    values = np.array(whole, dtype=float)
    assume(np.ptp(values) > 0)
    found = hall_interval(values, confidence)
    turned = hall_interval(5 - 2 * values[::-1], confidence)
    assert (turned.low, turned.high) == pytest.approx((5 - 2 * found.high, 5 - 2 * found.low), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("values", [[1, 2, 3], [0, 1], [0.3, 0.3, 0.3], [0.5]])
def test_skewed_without_skewness_is_students(values):
    found = hall_interval(values)
    assert (found.low, found.high) == pytest.approx(student(values).interval())


def test_little_skewness_is_nearly_students():
    """No digits are lost where the formula divides by the skewness."""
    values = np.array([-1.0, 0.0, 1.0 + 1e-7])
    assert hall_interval(values).high == pytest.approx(student(values).interval()[1], rel=1e-6)


def test_skewed_columns():
    values = np.random.default_rng(5).exponential(size=(20, 3))
    values[:, 2] = 0.5
    found = hall_interval(values)
    for column in range(3):
        alone = hall_interval(values[:, column])
        assert (found.low[column], found.high[column]) == pytest.approx((alone.low, alone.high))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (1, 4), (3, 98), (5, 5)])
def test_wilson_solves_its_equation(hits, n):
    z2 = 1.959963984540054**2
    ends = np.roots([1 + z2 / n, -2 * hits / n - z2 / n, (hits / n) ** 2])
    found = share(hits, n)
    assert [found.low, found.high] == pytest.approx(sorted(ends.real), abs=1e-12)


def test_exact_share():
    found = share(1, 3, method="exact")
    assert 1 - (1 - found.low) ** 3 == pytest.approx(0.025)
    assert (1 - found.high) ** 3 + 3 * found.high * (1 - found.high) ** 2 == pytest.approx(0.025)
    assert share(0, 3, method="exact").low == 0
    assert share(3, 3, method="exact").high == 1


def test_jeffreys_of_one():
    # Beta(3/2, 1/2) and its mirror.
    hit, miss = share(1, 1, method="jeffreys"), share(0, 1, method="jeffreys")
    assert (hit.low, hit.high) == pytest.approx((1 - miss.high, 1 - miss.low))
    x = hit.low
    assert 2 / math.pi * (math.asin(math.sqrt(x)) - math.sqrt(x * (1 - x))) == pytest.approx(0.025)


@given(st.integers(1, 500), st.data(), st.sampled_from(["wilson", "jeffreys", "exact"]))
def test_share_and_its_mirror(n, data, method):
    hits = data.draw(st.integers(0, n))
    found, other = share(hits, n, method=method), share(n - hits, n, method=method)
    assert (found.low, found.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)
    assert 0 <= found.low < found.high <= 1
    assert method == "jeffreys" or found.low <= hits / n <= found.high


def test_shares_together():
    found = share([0, 3, 5], 5)
    assert found.high.tolist() == pytest.approx([share(hits, 5).high for hits in (0, 3, 5)], rel=1e-14)


def test_share_of_nothing():
    with pytest.raises(ValueError, match="hits=0, n=0"):
        share(0, 0)
    with pytest.raises(ValueError, match="hits=4, n=3"):
        share(4, 3)


DRAWS = [[0, 0], [0, 1], [1, 0], [1, 1]]  # all that can be drawn of two values


def test_bootstrap_hand_worked():
    # Means 0, 1, 1, 2 of the values 0 and 2; the ends lie at 0.15 and 2.85 of the way from the first to the fourth, 3.
    found = bootstrap([0, 2], indices=DRAWS, confidence=0.9, method="percentile")
    assert (found.low, found.high) == pytest.approx((0.15 * 1, 1 + 0.85 * 1))
    assert found.error == pytest.approx(math.sqrt((1 + 0 + 0 + 1) / 3))
    assert found.used == 4
    uneven = bootstrap([0, 2], indices=DRAWS[1:], confidence=0.9, method="percentile")
    basic = bootstrap([0, 2], indices=DRAWS[1:], confidence=0.9, method="basic")
    assert (basic.low, basic.high) == pytest.approx((2 - uneven.high, 2 - uneven.low))


def test_bca_counts_equal_means_half():
    found = bootstrap([0, 2], indices=DRAWS[1:])
    assert found.share_below == pytest.approx((1 / 2 + 1 / 2) / 3)
    assert found.acceleration == pytest.approx(0)
    noisy = bootstrap([0.1, 0.2, 0.3], indices=[[0, 2, 1], [2, 1, 0], [1, 1, 1], [0, 0, 0], [2, 2, 2]])
    assert noisy.share_below == pytest.approx((1 + 3 / 2) / 5)


def test_studentised_leaves_out_resamples_of_one_value():
    found = bootstrap([0, 2], indices=DRAWS, method="studentised")
    assert found.used == 2
    assert (found.low, found.high) == (1, 1)  # both have the mean, t = 0


@pytest.mark.parametrize("method", METHODS)
def test_bootstrap_is_repeatable(method, monkeypatch):
    found = bootstrap(RANKS, method=method, resamples=500)
    monkeypatch.setattr(import_module("rankstone.statistics.intervals"), "CHUNK", 100)
    again = bootstrap(RANKS, method=method, resamples=500)
    assert (again.low, again.high) == (found.low, found.high)
    assert bootstrap(RANKS, method=method, resamples=500, seed=1).low != found.low


@pytest.mark.parametrize("method", METHODS)
def test_bootstrap_moves_with_the_values(method):
    indices = np.random.default_rng(2).integers(0, 12, (200, 12))
    found = bootstrap(RANKS, method=method, indices=indices)
    turned = bootstrap(5 - 2 * np.array(RANKS), method=method, indices=indices)
    assert (turned.low, turned.high) == pytest.approx((5 - 2 * found.high, 5 - 2 * found.low))


@pytest.mark.parametrize("method", METHODS)
def test_equal_values_have_an_interval_without_width(method):
    found = bootstrap([0.3] * 7, method=method, resamples=50)
    assert (found.low, found.high) == pytest.approx((0.3, 0.3))


@pytest.mark.parametrize("method", METHODS)
def test_clusters_of_one_are_no_clusters(method):
    indices = np.random.default_rng(2).integers(0, 12, (200, 12))
    alone = bootstrap(RANKS, method=method, indices=indices)
    clusters = bootstrap(RANKS, method=method, indices=indices, clusters=np.arange(12) * 3)
    assert (clusters.low, clusters.high, clusters.error) == pytest.approx((alone.low, alone.high, alone.error))


def test_clusters_are_drawn_whole():
    found = bootstrap([1, 2, 6], clusters=["a", "a", "b"], indices=[[0, 0], [0, 1], [1, 1]], method="percentile",
                      confidence=0.5)  # fmt: skip
    means = [(3 + 3) / (2 + 2), (3 + 6) / (2 + 1), (6 + 6) / (1 + 1)]
    assert (found.low, found.high) == pytest.approx(((means[0] + means[1]) / 2, (means[1] + means[2]) / 2))


def test_bootstrap_is_near_student():
    values = np.random.default_rng(11).normal(0.1, 1, 400)
    low, high = student(values).interval()
    for method in METHODS:
        found = bootstrap(values, method=method, resamples=4000)
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.015)


@pytest.mark.parametrize(
    ("values", "options", "error"),
    [
        ([1.0], {}, "1 values"),
        ([1.0, 2.0], {"clusters": [0, 0]}, "1 clusters"),
        ([1.0, 2.0], {"clusters": [0]}, r"shape \(1,\)"),
        ([1.0, 2.0], {"indices": [[0, 2]]}, r"outside 0 \.\. 1"),
        ([1.0, 2.0], {"indices": [[0, 1, 0]]}, r"not \(resamples, 2\)"),
        ([1.0, 2.0], {"method": "bootstrap"}, "'bca', 'percentile', 'basic', 'studentised'"),
        ([1.0, 2.0], {"confidence": 95}, "confidence=95 is not between 0 and 1"),
        ([1.0, 2.0], {"resamples": 0}, "resamples=0"),
    ],
)
def test_bootstrap_refuses(values, options, error):
    with pytest.raises(ValueError, match=error):
        bootstrap(values, **options)
