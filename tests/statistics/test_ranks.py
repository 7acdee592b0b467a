"""Wilcoxon and sign: worked by hand and by counting all patterns."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import rankstone as rs

sign, wilcoxon = rs.statistics.sign_test, rs.statistics.wilcoxon

tenths = st.lists(st.integers(-9, 9), min_size=1, max_size=9)


def test_wilcoxon_without_ties():
    # Ranks 3, -1, 2. The sums of 8 patterns are 0 1 2 3 3 4 5 6.
    found = wilcoxon([0.7, -0.1, 0.2])
    assert (found.v, found.statistic, found.sizes, found.exact) == (3 + 2, 1, 3, True)
    assert (found.greater, found.less, found.p) == (2 / 8, 7 / 8, 2 * 2 / 8)
    assert found.z == pytest.approx((5 - 6 / 2) / math.sqrt((9 + 1 + 4) / 4))


def test_wilcoxon_with_ties():
    # Ranks 2, 2, -2, 4: 8 or more has the 4 and two of three 2s.
    found = wilcoxon([1, 1, -1, 2])
    assert (found.v, found.statistic, found.sizes) == (8, 2, 2)
    assert (found.greater, found.p) == (4 / 16, 8 / 16)


@pytest.mark.parametrize(("zeros", "v", "statistic"), [("wilcox", 1 + 3, 2), ("pratt", 2 + 4, 3), ("zsplit", 6.5, 3.5)])
def test_wilcoxon_with_zeros(zeros, v, statistic):
    found = wilcoxon([0, 1, -2, 3], zeros=zeros)
    assert (found.v, found.statistic) == (v, statistic)


@pytest.mark.parametrize("method", ["exact", "asymptotic"])
@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_wilcoxon_of_equal_runs(zeros, method):
    found = wilcoxon(np.zeros(4), zeros=zeros, method=method)
    assert (found.p, found.greater, found.less, found.sizes) == (1, 1, 1, 0)
    assert math.isnan(found.z)


def test_rounding_makes_no_sizes():
    noisy = np.array([0.3 - 0.2, 0.1 - 0.2, 0.9 - 0.8, 0.7 - 0.5, (0.1 + 0.2) - 0.3])
    assert np.unique(np.abs(noisy)).size == 4
    found = wilcoxon(noisy)
    assert found.sizes == 2
    assert found._replace(sizes=0) == wilcoxon([1, -1, 1, 2, 0])._replace(sizes=0)
    assert wilcoxon(noisy * 1e-9)[:6] == wilcoxon(noisy * 1e9)[:6] == found[:6]


@given(tenths, st.sampled_from(["wilcox", "pratt", "zsplit"]))
def test_wilcoxon_counts_all_patterns(whole, zeros):
    """The slow definition: every pattern of signs has its rank sum."""
    array = np.array(whole)
    ranked = array[array != 0] if zeros == "wilcox" else array
    ranks = rankdata(np.abs(ranked))[ranked != 0] if ranked.size else np.zeros(0)
    signs = ranked[ranked != 0] > 0
    v = ranks[signs].sum()
    sums = [sum(rank for rank, up in zip(ranks, ups, strict=True) if up) for ups in product([0, 1], repeat=len(ranks))]
    greater, less = np.mean([one >= v for one in sums]), np.mean([one <= v for one in sums])
    found = wilcoxon(array / 10, zeros=zeros, method="exact")
    assert (found.greater, found.less) == pytest.approx((greater, less))
    assert found.p == pytest.approx(min(1, 2 * min(greater, less)))
    assert wilcoxon(array / 10, zeros=zeros, alternative="less").p == found.less


@given(tenths, st.booleans())
def test_wilcoxon_turned_round(whole, correction):
    for method in ("exact", "asymptotic"):
        one = wilcoxon(whole, method=method, correction=correction)
        other = wilcoxon([-value for value in whole[::-1]], method=method, correction=correction)
        assert (one.p, one.greater, one.less) == pytest.approx((other.p, other.less, other.greater))
        assert one.statistic == other.statistic


def test_exact_and_asymptotic_meet():
    difference = np.random.default_rng(3).normal(0.04, 1, 500)
    exact, normal = (wilcoxon(difference, method=method).p for method in ("exact", "asymptotic"))
    assert exact == pytest.approx(normal, rel=0.01)
    assert not wilcoxon(difference).exact
    with pytest.raises(ValueError, match="at most 1000 differences that are not 0; there are 1001"):
        wilcoxon(np.arange(1, 1002), method="exact")


@pytest.mark.slow
def test_as_many_as_can_be_counted():
    """Shares of 2 ** -1000 add up without a loss."""
    difference = np.random.default_rng(3).normal(0.02, 1, 1000)
    exact, normal = (wilcoxon(difference, method=method) for method in ("exact", "asymptotic"))
    assert (exact.greater, exact.less) == pytest.approx((normal.greater, normal.less), rel=0.01)


def test_sign():
    found = sign([0.5, 0.1, 0.0, -0.2, 0.3])
    assert (found.wins, found.ties, found.losses, found.m, found.share) == (3, 1, 1, 1, 3 / 4)
    assert found.greater == pytest.approx((4 + 1) / 16)
    assert found.less == pytest.approx(15 / 16)
    assert found.p == pytest.approx(2 * 5 / 16)
    # Three wins or more of four have 2.5 % at the low end, three or less at the high one.
    assert 4 * found.low**3 * (1 - found.low) + found.low**4 == pytest.approx(0.025)
    assert found.high**4 == pytest.approx(0.975)


def test_sign_of_equal_runs():
    found = sign([0.0, 0.0])
    assert (found.p, found.greater, found.low, found.high) == (1, 1, 0, 1)
    assert math.isnan(found.share)
