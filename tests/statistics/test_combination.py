"""One difference of several collections, by hand and against statsmodels."""

import math

import numpy as np
import pytest

import rankstone as rs

combine = rs.statistics.combine


def test_stratified_by_hand():
    fit, spread = combine([0.02, 0.06], [0.01, 0.03], [9, 19])
    assert fit.mean == pytest.approx((0.02 + 0.06) / 2)
    variance = (0.01**2 + 0.03**2) / 4
    assert fit.error == pytest.approx(math.sqrt(variance))
    assert fit.freedom == pytest.approx(variance**2 / ((0.01**2 / 4) ** 2 / 9 + (0.03**2 / 4) ** 2 / 19))
    assert math.isnan(spread)


def test_random_effects_by_hand():
    """Two collections: weights 1 / (s^2 + tau^2), tau^2 = (Q - 1) / (w - sum of w^2 / w)."""
    fit, spread = combine([0.0, 0.4], [0.1, 0.2], [9, 9], "random_effects")
    w = np.array([1 / 0.01, 1 / 0.04])
    fixed = w[1] * 0.4 / w.sum()
    q = w[0] * fixed**2 + w[1] * (0.4 - fixed) ** 2
    tau2 = (q - 1) / (w.sum() - (w**2).sum() / w.sum())
    assert spread == pytest.approx(math.sqrt(tau2))
    w = 1 / (np.array([0.01, 0.04]) + tau2)
    assert fit.mean == pytest.approx(w[1] * 0.4 / w.sum())
    assert fit.freedom == 1


@pytest.mark.parametrize("seed", range(6))
def test_statsmodels(seed):
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    random = np.random.default_rng(seed)
    differences, errors = random.normal(0.05, 0.05, 7), random.uniform(0.01, 0.05, 7)
    theirs = meta.combine_effects(differences, errors**2, method_re="chi2", use_t=True)
    fit, spread = combine(differences, errors, np.full(7, 99), "random_effects")
    assert spread**2 == pytest.approx(theirs.tau2 if theirs.tau2 > 0 else 0, abs=1e-12)
    if theirs.tau2 > 0:  # they allow a negative one
        assert float(fit.mean) == pytest.approx(theirs.mean_effect_re)
        assert float(fit.error) == pytest.approx(max(theirs.sd_eff_w_re, theirs.sd_eff_w_re_hksj))


def test_two_collections_that_agree_are_not_certain():
    """Hartung's and Knapp's own error would be 0."""
    fit, spread = combine([0.1, 0.1], [0.03, 0.03], [30, 30], "random_effects")
    assert fit.error == pytest.approx(0.03 / math.sqrt(2))
    assert spread == 0
    assert fit.freedom == 1


def test_errors():
    with pytest.raises(ValueError, match="there are 1 and 2 and 1 numbers; give as many of each"):
        combine([0.1], [0.1, 0.2], [9])
    with pytest.raises(ValueError, match="method='fixed' is not one of 'stratified', 'random_effects'"):
        combine([0.1], [0.1], [9], "fixed")


@pytest.mark.simulation
def test_intervals_cover():
    """Three and eight collections of one true difference, or of differences that vary; 4,000 samples each."""
    random = np.random.default_rng(1)
    for many, spread in ((3, 0.0), (8, 0.0), (3, 0.05), (8, 0.05)):
        hits = dict.fromkeys(rs.statistics.COMBINATIONS, 0)
        for _ in range(4000):
            truths, errors = random.normal(0, spread, many), random.uniform(0.01, 0.04, many)
            seen = random.normal(truths, errors)
            for name in hits:
                low, high = combine(seen, errors, np.full(many, 200), name).student.interval()
                target = truths.mean() if name == "stratified" else 0.0
                hits[name] += low <= target <= high
        assert 0.94 <= hits["stratified"] / 4000 <= 0.965
        assert hits["random_effects"] / 4000 >= 0.93, (many, spread, hits)  # more, where collections do not differ
