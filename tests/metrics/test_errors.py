"""Hand-worked: errors of predicted ratings."""

from math import isnan, log, sqrt

import numpy as np
import pytest

import rankstone as rs

PREDICTED, ACTUAL = [2.3, 0.9, 4.9, 0.9, 1.5], [3, 1, 5, 2, 3]


def test_mae():
    assert rs.mae(PREDICTED, truth=ACTUAL) == pytest.approx((0.7 + 0.1 + 0.1 + 1.1 + 1.5) / 5)


def test_mse_and_rmse():
    squares = 0.7**2 + 0.1**2 + 0.1**2 + 1.1**2 + 1.5**2
    assert rs.metrics.mse(PREDICTED, truth=ACTUAL) == pytest.approx(squares / 5)
    assert rs.rmse(PREDICTED, truth=ACTUAL) == pytest.approx(sqrt(squares / 5))


def test_r2():
    """The mean of 1, 2, 6 is 3, and the spread 4 + 1 + 9."""
    assert rs.metrics.r2([1, 2, 5], truth=[1, 2, 6]) == pytest.approx(1 - 1 / (4 + 1 + 9))


def test_logloss():
    assert rs.metrics.logloss([0.9, 0.2], truth=[1, 0]) == pytest.approx(-(log(0.9) + log(0.8)) / 2)
    assert rs.metrics.logloss([0.0], truth=[1]) == pytest.approx(-log(1e-15))  # kept off 0


def test_pearson():
    """Centred: -1, 0, 1 and -2, 1, 1."""
    assert rs.metrics.pearson([1, 2, 3], truth=[0, 3, 3]) == pytest.approx((2 + 0 + 1) / sqrt(2 * 6))


def test_all_rows_of_all_queries_are_one_list():
    """Two errors of 1 in one query and one of 4 in another: 6 / 3, not the mean of 1 and 4."""
    truth, run = {"q": {"a": 1, "b": 2}, "r": {"c": 5}}, {"q": {"a": 2.0, "b": 3.0}, "r": {"c": 1.0, "x": 9.0}}
    assert rs.evaluate(truth, run, "mae")["mae"] == pytest.approx((1 + 1 + 4) / 3)
    assert rs.evaluate(truth, run, "mae", averaging="macro")["mae"] == pytest.approx(((1 + 1) / 2 + 4) / 2)
    assert rs.evaluate(truth, run, "mae", averaging="micro")["mae"] == pytest.approx((1 + 1 + 4) / (2 + 1))


def test_micro_averaged_root_is_taken_last():
    truth, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 4.0}, "r": {"b": 5.0}}
    assert rs.evaluate(truth, run, "rmse", averaging="micro")["rmse"] == pytest.approx(sqrt((9 + 16) / 2))
    assert rs.evaluate(truth, run, "rmse", averaging="macro")["rmse"] == pytest.approx((3 + 4) / 2)


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e-9, 1e9 + 0.1])
def test_constant_values_have_no_correlation(value):
    """The mean of three times 0.1 is not 0.1 in floating point, and their spread must be 0 all the same."""
    assert isnan(rs.metrics.pearson([value] * 3, truth=[1, 2, 3]))
    assert isnan(rs.metrics.pearson([1, 2, 3], truth=[value] * 3))
    assert isnan(rs.metrics.r2([1, 2, 3], truth=[value] * 3))
    assert rs.metrics.r2([1, 2, 3], truth=[value] * 3, undefined=1) == 1


def test_predictions_far_from_zero():
    """A large offset does not change a correlation."""
    offset = 1e8
    assert rs.metrics.pearson([offset + 1, offset + 2, offset + 3], truth=[0, 3, 3]) == pytest.approx(
        (2 + 0 + 1) / sqrt(2 * 6)
    )
    assert rs.metrics.r2(
        [offset + 1, offset + 2, offset + 5], truth=[offset + 1, offset + 2, offset + 6]
    ) == pytest.approx(1 - 1 / 14)


def test_an_order_is_no_prediction():
    with pytest.raises(ValueError, match="needs scores, and the run is only an order"):
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "mae")


def test_nothing_predicted():
    assert isnan(rs.evaluate({"q": {"a": 1}}, {"q": {"b": 1.0}}, "mae")["mae"])
    assert isnan(rs.evaluate({"q": {"a": 1}}, {}, "rmse")["rmse"])


@pytest.mark.parametrize(
    "metric", [rs.mae, rs.metrics.mse, rs.rmse, rs.metrics.r2, rs.metrics.pearson, rs.metrics.logloss]
)
def test_lists_of_numbers_that_do_not_fit(metric):
    with pytest.raises(ValueError, match="3 predictions but 2 actual values"):
        metric([1, 2, 3], truth=[1, 2])
    with pytest.raises(ValueError, match="predictions: nan at position 2"):
        metric([1, np.nan], truth=[1, 2])
    with pytest.raises(ValueError, match="actual values: inf at position 1"):
        metric([1, 2], truth=[np.inf, 2])
