"""Errors of predicted ratings: scores of the run against grades of the truth, over the items in both."""

from __future__ import annotations

import math
from functools import partial

from rankstone.align.elementwise import Values
from rankstone.metrics.registry import metric
from rankstone.program.ranking import Ranking, Ratio

CLIP = 1e-15

of_ratings = partial(
    metric, kind="ratings", choices={"averaging": "one_list", "undefined": "skip", "missing": "skip"}, expected=True
)
of_errors = partial(of_ratings, bounds=(0, math.inf), better="lower", additive=True)


def _squares(ranking: Ranking) -> Values:
    return ranking.sum((ranking.predicted - ranking.grade) ** 2)


def sqrt(value: Values) -> Values:
    """The square root, for numbers and arrays."""
    return value**0.5


@of_errors(
    "mae",
    title="Mean absolute error (MAE)",
    formula="sum of |score - grade| / n",
    latex=r"\frac{1}{n} \sum_i |s_i - g_i|",
    use_when="Predicted ratings, with errors in the unit of the ratings.",
    caveat="It measures the ratings, not the ranking: a perfect ranking can have a large error.",
)
def mae(ranking: Ranking) -> Ratio:
    """Mean absolute error of the predicted ratings.

    >>> rs.mae([2.3, 0.9, 4.9, 0.9, 1.5], truth=[3, 1, 5, 2, 3])
    0.7
    """
    return Ratio(ranking.sum(ranking.abs(ranking.predicted - ranking.grade)), ranking.placed)


@of_errors(
    "mse",
    title="Mean squared error (MSE)",
    formula="sum of (score - grade)^2 / n",
    latex=r"\frac{1}{n} \sum_i (s_i - g_i)^2",
    use_when="Predicted ratings, where large errors count more.",
    caveat="Its unit is the squared rating.",
)
def mse(ranking: Ranking) -> Ratio:
    """Mean squared error of the predicted ratings.

    >>> rs.metrics.mse([2.0, 4.0], truth=[3, 4])
    0.5
    """
    return Ratio(_squares(ranking), ranking.placed)


@of_errors(
    "rmse",
    title="Root mean squared error (RMSE)",
    formula="sqrt(sum of (score - grade)^2 / n)",
    latex=r"\sqrt{\frac{1}{n} \sum_i (s_i - g_i)^2}",
    use_when="Predicted ratings, where large errors count more, in the unit of the ratings.",
    caveat="It is sensitive to outliers.",
)
def rmse(ranking: Ranking) -> Ratio:
    """Square root of the mean squared error of the predicted ratings.

    >>> rs.rmse([2.0, 3.0], truth=[3, 2])
    1.0
    """
    return Ratio(_squares(ranking), ranking.placed, sqrt)


@of_ratings(
    "r2",
    formula="1 - sum of (score - grade)^2 / sum of (grade - mean grade)^2",
    latex=r"1 - \frac{\sum_i (s_i - g_i)^2}{\sum_i (g_i - \bar g)^2}",
    use_when="Improvement over always predicting the mean.",
    caveat="It depends on the variance of the ratings.",
    bounds=(-math.inf, 1),
)
def r2(ranking: Ranking) -> Ratio:
    """Coefficient of determination: explained share of the variance; negative if worse than predicting the mean.

    >>> rs.metrics.r2([3.0, 1.0], truth=[1.0, 3.0])
    -3.0
    """
    spread = ranking.sum(_centred(ranking, ranking.grade) ** 2)
    return Ratio(spread - _squares(ranking), spread)


@of_errors(
    "logloss",
    title="Logarithmic loss",
    formula="-sum of (grade ln score + (1 - grade) ln (1 - score)) / n",
    latex=r"-\frac{1}{n} \sum_i \bigl(g_i \ln s_i + (1 - g_i) \ln (1 - s_i)\bigr)",
    use_when="Predicted probabilities that should be calibrated.",
    caveat="One confident mistake has a large loss; probabilities are clipped to 1e-15 from 0 and 1.",
)
def logloss(ranking: Ranking) -> Ratio:
    """Logarithmic loss (cross-entropy) of predicted probabilities, clipped to 1e-15 from 0 and 1.

    >>> rs.metrics.logloss([0.01, 0.02], truth=[0, 1])
    1.9610366706408238
    """
    yes = ranking.minimum(ranking.maximum(ranking.predicted, CLIP), 1.0 - CLIP)
    no = ranking.minimum(ranking.maximum(1.0 - ranking.predicted, 1.0 - (1.0 - CLIP)), 1.0 - CLIP)
    losses = ranking.grade * ranking.log(yes) + (1.0 - ranking.grade) * ranking.log(no)
    return Ratio(-ranking.sum(losses), ranking.placed)


@of_ratings(
    "pearson",
    title="Pearson correlation",
    formula="covariance of scores and grades / (std of scores * std of grades)",
    latex=r"\frac{\sum_i (s_i - \bar s)(g_i - \bar g)}{\sqrt{\sum_i (s_i - \bar s)^2 \sum_i (g_i - \bar g)^2}}",
    use_when="Linear relation of predictions and ratings.",
    caveat="It ignores a constant offset and the scale.",
    bounds=(-1, 1),
)
def pearson(ranking: Ranking) -> Ratio:
    """Pearson correlation of predictions and ratings.

    >>> rs.metrics.pearson([1.0, 2.0, 4.0], truth=[2, 4, 8])
    1.0
    """
    return correlation(ranking, ranking.predicted, ranking.grade)


def correlation(ranking: Ranking, x: Values, y: Values) -> Ratio:
    """Pearson correlation of two values per item, per query."""
    x, y = _centred(ranking, x), _centred(ranking, y)
    return Ratio(ranking.sum(x * y), ranking.sqrt(ranking.sum(x * x) * ranking.sum(y * y)))


def _centred(ranking: Ranking, values: Values) -> Values:
    # Relative to the lowest, so that equal values are exactly 0 from their mean.
    values = values + ranking.broadcast(ranking.highest(-values))
    return values - ranking.broadcast(ranking.sum(values) / ranking.maximum(ranking.placed, 1.0))
