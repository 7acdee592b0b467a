"""Metrics of predicted ratings: how far the run's scores lie from the truth's grades, where both are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Floats, Ranked, Ratio, lengths

CLIP = 1e-15

_RATINGS: dict[str, Any] = {
    "kind": "ratings",
    "choices": {"averaging": "pooled", "undefined": "skip", "missing": "skip"},
    "expected": True,
}
_ERROR: dict[str, Any] = {**_RATINGS, "bounds": (0, np.inf), "better": "lower", "additive": True}


def _scores(ranked: Ranked) -> Floats:
    if np.isnan(ranked.score).any():
        raise ValueError("a prediction error needs scores, and the run is only an order of items")
    return ranked.score


def _count(ranked: Ranked) -> Floats:
    return lengths(ranked.hit_offsets).astype(np.float64)


@metric("mae", formula="sum |score - grade| / n", **_ERROR)
def mae(ranked: Ranked) -> Ratio:
    """Mean absolute error of the predicted ratings.

    >>> rs.mae([2.3, 0.9, 4.9, 0.9, 1.5], [3, 1, 5, 2, 3])
    0.7
    """
    return Ratio(ranked.sum(np.abs(_scores(ranked) - ranked.grade)), _count(ranked))


@metric("mse", formula="sum (score - grade)^2 / n", **_ERROR)
def mse(ranked: Ranked) -> Ratio:
    """Mean squared error of the predicted ratings.

    >>> rs.mse([2.0, 4.0], [3, 4])
    0.5
    """
    return Ratio(ranked.sum((_scores(ranked) - ranked.grade) ** 2), _count(ranked))


@metric("rmse", formula="sqrt(mse)", **_ERROR)
def rmse(ranked: Ranked) -> Ratio:
    """Square root of the mean squared error of the predicted ratings.

    >>> rs.rmse([2.0, 3.0], [3, 2])
    1.0
    """
    return Ratio(ranked.sum((_scores(ranked) - ranked.grade) ** 2), _count(ranked), np.sqrt)


@metric("r2", formula="1 - sum (score - grade)^2 / sum (grade - mean)^2", bounds=(-np.inf, 1), **_RATINGS)
def r2(ranked: Ranked) -> Ratio:
    """Share of the ratings' variance that the predictions explain; below 0 if worse than the mean.

    >>> rs.r2([3.0, 1.0], [1.0, 3.0])
    -3.0
    """
    spread = ranked.sum(_centred(ranked, ranked.grade) ** 2)
    return Ratio(spread - ranked.sum((_scores(ranked) - ranked.grade) ** 2), spread)


@metric("logloss", formula="-sum (grade ln score + (1 - grade) ln (1 - score)) / n", **_ERROR)
def logloss(ranked: Ranked) -> Ratio:
    """Mean logarithmic loss of predicted probabilities; they are kept 1e-15 off 0 and 1.

    >>> rs.logloss([0.01, 0.02], [0, 1])
    1.9610366706408238
    """
    score = np.clip(_scores(ranked), CLIP, 1.0 - CLIP)
    losses = -(ranked.grade * np.log(score) + (1.0 - ranked.grade) * np.log(1.0 - score))
    return Ratio(ranked.sum(losses), _count(ranked))


@metric("pearson", formula="covariance / (deviation * deviation)", bounds=(-1, 1), **_RATINGS)
def pearson(ranked: Ranked) -> Ratio:
    """Linear correlation of predictions and ratings.

    >>> rs.pearson([1.0, 2.0, 4.0], [2, 4, 8])
    1.0
    """
    return correlation(ranked, _scores(ranked), ranked.grade)


def correlation(ranked: Ranked, x: Floats, y: Floats) -> Ratio:
    """Pearson's correlation of two values a hit, by query."""
    x, y = _centred(ranked, x), _centred(ranked, y)
    return Ratio(ranked.sum(x * y), np.sqrt(ranked.sum(x * x) * ranked.sum(y * y)))


def _centred(ranked: Ranked, values: Floats) -> Floats:
    # From the query's first value, so that equal values are exactly 0 off their mean.
    first = np.minimum(ranked.hit_offsets[:-1], max(len(values) - 1, 0))
    values = values - values[first][ranked.query] if len(values) else values
    means = ranked.sum(values) / np.maximum(_count(ranked), 1.0)
    return values - means[ranked.query]
