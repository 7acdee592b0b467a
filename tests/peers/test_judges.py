"""Agreement, prediction-powered means and nugget scores against the libraries themselves, on drawn data."""

import math

import numpy as np
import pytest

import rankstone as rs

coefficient = rs.statistics.agreement_coefficient


def drawn(seed, judges=2, missing=0.0, grades=4):
    """Judgements of some units, correlated between the judges."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, grades, 40)
    rows = np.stack([np.where(rng.random(40) < 0.6, base, rng.integers(0, grades, 40)) for _ in range(judges)], axis=1)
    rows = rows.astype(float)
    rows[rng.random(rows.shape) < missing] = math.nan
    return rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_scikit_learn(seed, weights):
    metrics = pytest.importorskip("sklearn.metrics")
    rows = drawn(seed)
    expected = metrics.cohen_kappa_score(*rows.T.astype(int), weights=weights)
    ours = coefficient(rows, "cohen", weights=weights and f"{weights}_places").value
    assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_statsmodels(seed):
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rows = drawn(seed, judges=3).astype(int)
    table, _ = rater.aggregate_raters(rows)
    assert coefficient(rows, "fleiss").value == pytest.approx(rater.fleiss_kappa(table), abs=1e-12)
    randolph = rater.fleiss_kappa(table, method="randolph")
    assert coefficient(rows, "brennan_prediger").value == pytest.approx(randolph, abs=1e-12)
    pairs = rows[:, :2]
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(pairs.T), 1)
    theirs, ours = rater.cohens_kappa(counts), coefficient(pairs, "cohen")
    assert (ours.value, ours.error, ours.low) == pytest.approx(
        (theirs.kappa, theirs.std_kappa, theirs.kappa_low), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorff(seed, level):
    krippendorff = pytest.importorskip("krippendorff")
    rows = drawn(seed, judges=4, missing=0.3)
    expected = krippendorff.alpha(reliability_data=rows.T, level_of_measurement=level)
    assert coefficient(rows, "krippendorff", weights=level).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic", "ordinal"])
@pytest.mark.parametrize(
    ("name", "method"),
    [("gwet", "gwet"), ("fleiss", "fleiss"), ("conger", "conger"), ("brennan_prediger", "bp"),
     ("krippendorff", "krippendorff")],
)  # fmt: skip
def test_irr_cac(seed, weights, name, method):
    raw, pandas = pytest.importorskip("irrCAC.raw"), pytest.importorskip("pandas")
    if int(pandas.__version__.split(".")[0]) > 2:
        pytest.skip("irrCAC 0.4.4 loses missing judgements with pandas 3")
    rows = drawn(seed, judges=3, missing=0.2)
    theirs = getattr(raw.CAC(pandas.DataFrame(rows), weights=weights, digits=12), method)()["est"]
    ours = coefficient(rows, name, weights=weights.replace("ordinal", "ordinal_places"))
    expected = theirs["coefficient_value"], theirs["se"], *theirs["confidence_interval"]
    assert (ours.value, ours.error, ours.low, ours.high) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [None, 0, 0.5, 1])
def test_ppi(seed, weight):
    ppi_py = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(seed)
    human, noise = rng.random((2, 300))
    machine = 0.7 * human + 0.3 * noise
    sample = human[:60], machine[:60], machine[60:]
    ours = rs.statistics.prediction_powered(*sample, weight=weight, method="normal")
    assert ours.value == pytest.approx(
        float(np.ravel(ppi_py.ppi_mean_pointestimate(*sample, lam=weight))[0]), abs=1e-12
    )
    low, high = ppi_py.ppi_mean_ci(*sample, alpha=0.05, lam=weight)
    assert (ours.low, ours.high) == pytest.approx((float(np.ravel(low)[0]), float(np.ravel(high)[0])), abs=1e-9)
