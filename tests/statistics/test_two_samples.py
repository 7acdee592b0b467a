"""Two independent samples: by hand, and against SciPy and statsmodels."""

import math

import numpy as np
import pytest
from scipy import stats

import rankstone as rs

of = rs.statistics


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    return random.normal(0.5, 0.2, 80), random.normal(0.58, 0.4, 150)


def test_welch_is_scipys(samples):
    fit = of.welch(*map(of.moments, samples))
    theirs = stats.ttest_ind(samples[1], samples[0], equal_var=False)
    assert fit.p() == pytest.approx(theirs.pvalue)
    assert fit.freedom == pytest.approx(theirs.df)
    assert fit.interval() == pytest.approx(tuple(theirs.confidence_interval()))
    assert fit.above() == pytest.approx(
        stats.ttest_ind(samples[1], samples[0], equal_var=False, alternative="greater").pvalue
    )


def test_sums_are_enough(samples):
    for values in samples:
        by_sums = of.moments(n=len(values), total=values.sum(), squares=(values**2).sum())
        assert by_sums == pytest.approx(of.moments(values))
    with pytest.raises(ValueError, match="a sample has 1 independent values"):
        of.moments([0.5])


def test_a_ratio_by_the_delta_method():
    """Clicks per list of three persons, by hand: r + (clicks - r lists) / mean of lists."""
    clicks, lists, persons = [1, 0, 1, 1, 0, 0], [1] * 6, list("aaabbc")
    r = 3 / 6
    values = of.per_unit(clicks, lists, persons)
    assert values == pytest.approx([r + (2 - r * 3) / 2, r + (1 - r * 2) / 2, r + (0 - r * 1) / 2])
    assert values.mean() == pytest.approx(r)
    # The same error as Student's with clusters.
    assert of.moments(values).error == pytest.approx(float(of.student(clicks, persons).error))


def test_relative_lift_by_hand():
    first, second = of.Moments(0.5, 0.02, 100), of.Moments(0.6, 0.03, 100)
    lift = of.relative(first, second)
    assert lift.mean == pytest.approx(0.6 / 0.5 - 1)
    assert lift.error == pytest.approx(math.sqrt(0.03**2 / 0.5**2 + 0.6**2 * 0.02**2 / 0.5**4))
    assert math.isnan(of.relative(of.Moments(0, 0.1, 9), second).mean)


@pytest.mark.parametrize(
    ("hits", "n"), [((48, 56), (80, 70)), ((0, 10), (10, 10)), ((5, 0), (56, 29)), ((9, 9), (10, 10))]
)
def test_newcombe_is_statsmodels(hits, n):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    theirs = proportion.confint_proportions_2indep(hits[1], n[1], hits[0], n[0], method="newcomb", compare="diff")
    assert of.newcombe(hits, n) == pytest.approx(theirs, abs=1e-9)


def test_cuped_by_hand():
    y, x = ([1.0, 2.0, 3.0], [2.0, 3.0, 5.0]), ([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    all_y, all_x = np.array(y).ravel(), np.array(x).ravel()
    theta = np.cov(all_y, all_x)[0, 1] / np.var(all_x, ddof=1)
    first, second, explained = of.cuped(y, x)
    assert first == pytest.approx(np.array(y[0]) - theta * (np.array(x[0]) - all_x.mean()))
    assert second == pytest.approx(np.array(y[1]) - theta * (np.array(x[1]) - all_x.mean()))
    assert explained == pytest.approx(np.corrcoef(all_y, all_x)[0, 1] ** 2)
    # The difference: that of the experiment, less theta times that of the past.
    assert second.mean() - first.mean() == pytest.approx((10 - 6) / 3 - theta * (7 - 6) / 3)
    assert of.cuped(([1, 2], [3, 4]), ([1, 1], [1, 1]))[2] == 0
    with pytest.raises(ValueError, match="before= has 1 values for 2 of the experiment"):
        of.cuped(([1, 2], [3, 4]), ([1], [1, 1]))


def test_sample_ratio_is_scipys():
    assert of.sample_ratio([5100, 4900]) == pytest.approx(stats.chisquare([5100, 4900]).pvalue)
    assert of.sample_ratio([300, 90], [3, 1]) == pytest.approx(stats.chisquare([300, 90], [292.5, 97.5]).pvalue)
    with pytest.raises(ValueError, match="give a proportion above 0 for each"):
        of.sample_ratio([1, 2], [1])


@pytest.mark.simulation
def test_cuped_covers_and_is_narrower():
    random, hits, widths = np.random.default_rng(4), [0, 0], [0.0, 0.0]
    for _ in range(2000):
        past = [random.normal(size=150) for _ in range(2)]
        values = [0.1 * at + x + random.normal(0, 0.6, 150) for at, x in enumerate(past)]
        adjusted = of.cuped(tuple(values), tuple(past))[:2]
        for at, pair in enumerate((values, adjusted)):
            low, high = of.welch(*map(of.moments, pair)).interval()
            hits[at] += low <= 0.1 <= high
            widths[at] += (high - low) / 2000
    assert all(0.935 <= count / 2000 <= 0.965 for count in hits)
    assert widths[1] < 0.6 * widths[0]
