"""The noncentral t, and what follows from it: power, needed queries, detectable effects."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, stdtr

import rankstone as rs

detectable, needed, power = rs.statistics.detectable, rs.statistics.sample_size, rs.statistics.power
noncentral_power, noncentral_tail = rs.statistics.noncentral_power, rs.statistics.noncentral_tail
detectable_noncentrality = rs.statistics.detectable_noncentrality


def exact(t, freedom, noncentrality):
    """The tail by its definition, with 30 digits: a normal value above t times a deviation of so many degrees."""
    mp = pytest.importorskip("mpmath")
    with mp.workdps(30):
        t, freedom, centre = map(mp.mpf, (t, freedom, noncentrality))
        constant = 2 * (freedom / 2) ** (freedom / 2) / mp.gamma(freedom / 2)

        def inside(s):
            return constant * s ** (freedom - 1) * mp.exp(-freedom * s * s / 2) * mp.ncdf(centre - t * s)

        places = {max(mp.mpf(0), 1 + k / mp.sqrt(2 * freedom)) for k in range(-12, 26, 2)} | {mp.mpf(0)}
        if t > 0:
            places |= {(centre + k) / t for k in range(-12, 13, 3) if centre + k > 0}
        return float(mp.quad(inside, sorted(places)))


@pytest.mark.parametrize("noncentrality", [-3, 13.1])
@pytest.mark.parametrize("freedom", [0.5, 20, 1e6])
def test_tail_by_its_definition(freedom, noncentrality):
    expected = exact(15, freedom, noncentrality)
    assert noncentral_tail(15, freedom, noncentrality) == pytest.approx(expected, rel=0, abs=2e-14)


@pytest.mark.slow
@pytest.mark.parametrize("noncentrality", [-40, -3, 0, 5, 12.9, 13.1, 200, 1000])
@pytest.mark.parametrize("freedom", [0.5, 1, 2, 3.7, 20, 79, 81, 1000, 1e6])
def test_tail_by_its_definition_everywhere(freedom, noncentrality):
    for t in (0, 1, 5, 45, 1000):
        expected = exact(t, freedom, noncentrality)
        assert noncentral_tail(t, freedom, noncentrality) == pytest.approx(expected, rel=0, abs=2e-14)


@given(st.floats(-50, 50), st.floats(0.5, 1e4), st.floats(-60, 60))
def test_tail_turned_round(t, freedom, noncentrality):
    one, other = noncentral_tail(t, freedom, noncentrality), noncentral_tail(-t, freedom, -noncentrality)
    assert one + other == pytest.approx(1, abs=1e-12)


@given(st.floats(-50, 50), st.floats(0.5, 1e4))
def test_tail_in_the_middle_is_students(t, freedom):
    assert noncentral_tail(t, freedom, 0) == pytest.approx(stdtr(freedom, -t), abs=1e-12)


def test_tail_with_many_degrees_is_normal():
    assert noncentral_tail(2, 1e12, 1.5) == pytest.approx(ndtr(-0.5), abs=1e-10)


def test_tail_of_one_degree():
    # A ratio of two normal values: for t = 0 the numerator decides, however few the degrees.
    assert noncentral_tail(0, 1, 1.5) == pytest.approx(ndtr(1.5), abs=1e-14)


def test_tail_grows():
    centres = np.linspace(-5, 40, 400)
    for t, freedom in ((2, 4), (12, 40), (14, 3), (30, 100)):
        assert (np.diff(noncentral_tail(t, freedom, centres)) >= -1e-14).all()


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [2, 10, 1_000_000])
def test_power_without_a_difference_is_the_level(n, alternative):
    assert power(0, n, 0.03, alternative) == pytest.approx(0.03, abs=1e-13)


def test_power_where_others_have_nan():
    assert power(0.28, 1000) == pytest.approx(1 - 2.871e-12, abs=1e-15)
    assert power(3, 100) == pytest.approx(1, abs=1e-13)
    assert power(1, 1_000_000) == pytest.approx(1, abs=1e-13)
    # SciPy may add up an array in another order than single numbers, which moves the last bits
    assert power([0.1, 0.5], 20).tolist() == pytest.approx([power(0.1, 20), power(0.5, 20)], rel=1e-14)


@given(st.floats(0.01, 2), st.integers(2, 2000), st.floats(0.001, 0.2))
def test_sides(effect, n, alpha):
    both = power(effect, n, alpha)
    assert power(-effect, n, alpha) == pytest.approx(both, abs=1e-13)
    right, wrong = power(effect, n, alpha / 2, "greater"), power(effect, n, alpha / 2, "less")
    assert right + wrong == pytest.approx(both, abs=1e-13)


@given(st.integers(2, 3000), st.floats(0.06, 0.999), st.floats(0.001, 0.05), st.sampled_from(["two-sided", "greater"]))
def test_detectable_has_the_power(n, goal, alpha, alternative):
    effect = detectable(n, goal, alpha, alternative)
    assert power(effect, n, alpha, alternative) == pytest.approx(goal, abs=1e-10)


@given(st.floats(0.02, 3), st.floats(0.1, 0.99), st.sampled_from(["two-sided", "greater"]))
def test_needed_has_the_power(effect, goal, alternative):
    found = needed(effect, goal, 0.05, alternative)
    assert found.whole == math.ceil(found.n)
    assert power(effect, found.whole, 0.05, alternative) >= goal - 1e-9
    if found.n > 2:
        assert power(effect, found.n, 0.05, alternative) == pytest.approx(goal, abs=1e-8)


def test_needed():
    # 2.8 standard errors: (1.96 + 0.84)^2 / dz^2 and a few more.
    assert needed(0.01 / 0.27).whole == pytest.approx((1.960 + 0.8416) ** 2 * 27**2, abs=5)
    assert needed(-0.2) == needed(0.2)
    assert needed(-0.2, alternative="less") == needed(0.2, alternative="greater")
    assert needed(1e-4).n == pytest.approx((1.959964 + 0.841621) ** 2 * 1e8, rel=1e-5)
    assert needed(1000) == (2, 2)


def test_detectable_with_clusters():
    """With the degrees of clusters: what 158 queries of 19 talks find, in standard errors."""
    found = detectable_noncentrality(18)
    assert noncentral_power(found, 18) == pytest.approx(0.8, abs=1e-12)
    assert found > detectable_noncentrality(157) > detectable_noncentrality(1e9) == pytest.approx(2.8016, abs=1e-3)
    assert detectable_noncentrality(18, alternative="less") == -detectable_noncentrality(18, alternative="greater")
    assert detectable_noncentrality(18, 0.04, 0.05) == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: power(0.1, 1), "at least 2 queries"),
        (lambda: detectable(1), "at least 2 queries"),
        (lambda: power(0.1, 10, 5), "alpha=5 is not between 0 and 1"),
        (lambda: power(0.1, 10, alternative="larger"), "'two-sided', 'greater', 'less'"),
        (lambda: power(math.nan, 10), "not finite"),
        (lambda: needed(0), "no number of queries"),
        (lambda: needed(-0.1, alternative="greater"), "no number of queries"),
        (lambda: needed(0.1, 80), "power=80 is not between 0 and 1"),
        (lambda: noncentral_power(1, 0), "freedom=0"),
    ],
)
def test_refused(call, error):
    with pytest.raises(ValueError, match=error):
        call()
