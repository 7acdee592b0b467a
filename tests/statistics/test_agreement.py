"""Coefficients of agreement and prediction-powered means on arrays: facts that need no other library."""

import numpy as np
import pytest

import rankstone as rs
from rankstone.statistics import COEFFICIENTS

from ..effort import cpu_limit

coefficient = rs.statistics.agreement_coefficient


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_perfect_agreement_is_one_and_none_is_about_zero(name):
    rng = np.random.default_rng(0)
    one = rng.integers(0, 4, 2000)
    same = coefficient(np.stack([one, one], axis=1), name)
    assert same.value == pytest.approx(1)
    assert same.p < 1e-6
    other = coefficient(np.stack([one, rng.integers(0, 4, 2000)], axis=1), name)
    assert other.low < 0 < other.high


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic", "ordinal", "ratio"])
def test_the_order_of_units_and_judges_does_not_matter(name, weights):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 4, (30, 2)).astype(float)
    expected = coefficient(rows, name, weights=weights)
    assert coefficient(rows[rng.permutation(30)][:, ::-1], name, weights=weights) == pytest.approx(
        expected, nan_ok=True
    )


def test_a_million_judgements():
    """By counts: pairs of judgements would take a million times as long."""
    rows = np.random.default_rng(0).integers(0, 4, (333_334, 3)).astype(float)
    with cpu_limit(60):
        assert abs(coefficient(rows, "krippendorff", weights="ordinal").value) < 0.01


def test_the_interval_is_that_of_simulated_units():
    rng = np.random.default_rng(2)

    def value(units):
        base = rng.integers(0, 3, units)
        rows = np.stack([np.where(rng.random(units) < 0.7, base, rng.integers(0, 3, units)) for _ in range(3)], axis=1)
        return coefficient(rows.astype(float), "gwet")

    values = [value(200).value for _ in range(300)]
    assert value(200).error == pytest.approx(np.std(values), rel=0.25)


def test_a_constant_machine_has_no_weight():
    human = np.random.default_rng(0).random(20)
    estimate = rs.statistics.prediction_powered(human, np.ones(20), np.ones(50))
    assert (estimate.weight, estimate.value) == (0, pytest.approx(human.mean()))
    assert np.isnan(estimate.correlation)


def test_a_perfect_machine_has_its_own_interval():
    rng = np.random.default_rng(0)
    human, others = rng.random(50), rng.random(5000)
    estimate = rs.statistics.prediction_powered(human, human, others, weight=1)
    assert estimate.value == pytest.approx(others.mean())
    assert estimate.error == pytest.approx(others.std(ddof=1) / np.sqrt(5000))
