"""Two independent samples: Welch's test, ratios by the delta method, relative lift, shares, CUPED, sample ratios."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from rankstone.data.annotations import Floats
from rankstone.errors import InputError
from rankstone.statistics.anytime import ConfidenceSequence, confidence_sequence
from rankstone.statistics.intervals import proportion_interval
from rankstone.statistics.student_t import Student, finite, influence


class Moments(NamedTuple):
    """The mean of one sample, with the standard error of its mean.

    Attributes
    ----------
    mean, error : float
        The mean and its standard error.
    n : int
        Number of independent values.
    """

    mean: float
    error: float
    n: int


def moments(values: ArrayLike | None = None, *, n: int = 0, total: float = 0.0, squares: float = 0.0) -> Moments:
    """The mean and the standard error of a sample, from its values or from their sums.

    Parameters
    ----------
    values : array_like, optional
        The values.
    n : int, default 0
        Without values: their number.
    total, squares : float, default 0.0
        Without values: their sum, and the sum of their squares.

    Returns
    -------
    Moments

    Raises
    ------
    ValueError
        If there are fewer than two values.

    Examples
    --------
    >>> rs.statistics.moments([1, 2, 3]) == rs.statistics.moments(n=3, total=6, squares=14)
    True
    """
    if values is not None:
        array = finite(values, "values")
        n, total = len(array), float(array.sum())
        rest = float(((array - total / max(n, 1)) ** 2).sum())
    else:
        rest = max(squares - total**2 / max(n, 1), 0.0)
    if n < 2:
        raise InputError(f"a sample has {n} independent values; its mean needs two for an error")
    return Moments(total / n, math.sqrt(rest / (n - 1) / n), n)


def per_unit(top: ArrayLike, bottom: ArrayLike, clusters: ArrayLike | None = None) -> Floats:
    """A ratio of sums as one value per independent unit, by the delta method: their mean is the ratio.

    Parameters
    ----------
    top, bottom : array_like
        Numerators and denominators; for a mean of values, these and ones.
    clusters : array_like, optional
        The unit of each row, such as the person; a row each by default.

    Returns
    -------
    ndarray
        One value per unit, in the order of their sorted names.

    Examples
    --------
    >>> rs.statistics.per_unit([1, 0, 1, 1], [1, 1, 1, 1], ["ann", "ann", "bob", "cy"]).mean()
    np.float64(0.75)
    """
    tops, bottoms = finite(top, "top"), finite(bottom, "bottom")
    if clusters is not None:
        codes = np.unique(np.asarray(clusters), return_inverse=True)[1].ravel()
        tops, bottoms = (np.bincount(codes, array).astype(float) for array in (tops, bottoms))
    return influence(tops, bottoms)


def welch(first: Moments, second: Moments) -> Student:
    """The difference of two independent means, by Welch's t-test (1947).

    Parameters
    ----------
    first, second : Moments
        The samples, from `moments`.

    Returns
    -------
    Student
        Of the second mean minus the first, with `p()`, `interval()`, `above()` and `below()`.

    Examples
    --------
    >>> of = rs.statistics
    >>> round(float(of.welch(of.moments([1, 2, 3, 4]), of.moments([2, 4, 6, 9])).p()), 4)
    0.1647
    """
    variances = first.error**2, second.error**2
    variance = sum(variances)
    parts = variances[0] ** 2 / (first.n - 1) + variances[1] ** 2 / (second.n - 1)
    freedom = variance**2 / parts if parts > 0 else first.n + second.n - 2
    return Student(np.asarray(second.mean - first.mean), np.asarray(math.sqrt(variance)), freedom)


def sequential(
    first: Moments, second: Moments, *, confidence: float = 0.95, tuning: float = 5000
) -> ConfidenceSequence:
    """The difference of two independent means as a confidence sequence: look whenever you like.

    Parameters
    ----------
    first, second : Moments
        The samples so far, from `moments`.
    confidence : float, default 0.95
        Confidence level.
    tuning : float, default 5000
        The number of values, of both samples together, at which the interval is narrowest.

    Returns
    -------
    ConfidenceSequence

    Examples
    --------
    >>> of = rs.statistics
    >>> sample = of.moments(n=200, total=92.086, squares=56.096706), of.moments(n=30, total=17.075, squares=12.632275)
    >>> round(float(of.sequential(*sample).p()), 4)
    0.7615
    """
    mean, error, _ = welch(first, second)
    return confidence_sequence(mean, error, first.n + second.n, confidence=confidence, tuning=tuning)


def relative(first: Moments, second: Moments) -> Moments:
    """The relative lift, second mean / first mean - 1, with its standard error by the delta method.

    Parameters
    ----------
    first, second : Moments
        The samples, from `moments`.

    Returns
    -------
    Moments
        NaN if the first mean is 0.

    Examples
    --------
    >>> of = rs.statistics
    >>> of.relative(of.moments([1, 2, 3]), of.moments([2, 3, 4])).mean
    0.5
    """
    n = first.n + second.n
    if not first.mean:
        return Moments(math.nan, math.nan, n)
    ratio = second.mean / first.mean
    return Moments(ratio - 1, math.hypot(second.error, ratio * first.error) / abs(first.mean), n)


def newcombe(hits: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Confidence interval of the difference of two shares (Newcombe 1998, method 10), the second minus the first.

    Parameters
    ----------
    hits : array_like
        The successes of both samples.
    n : array_like
        The trials of both.
    confidence : float, default 0.95
        Confidence level.

    Returns
    -------
    tuple of two float

    Examples
    --------
    >>> [round(end, 4) for end in rs.statistics.newcombe([48, 56], [80, 70])]
    [0.0524, 0.3339]
    """
    each = proportion_interval(hits, n, confidence)
    (a, b), (low_a, low_b), (high_a, high_b) = each.mean, each.low, each.high
    return float(b - a - math.hypot(b - low_b, high_a - a)), float(b - a + math.hypot(high_b - b, a - low_a))


def cuped(values: tuple[ArrayLike, ArrayLike], before: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats, float]:
    """Values of two samples less what the past explains (CUPED: Deng, Xu, Kohavi and Walker 2013).

    y - theta (x - mean of x), with theta = cov(y, x) / var(x) over both samples together.

    Parameters
    ----------
    values : tuple of two array_like
        The values of both samples.
    before : tuple of two array_like
        The same persons' values before the experiment.

    Returns
    -------
    tuple
        Both samples' values, and the share of the variance that the past explains.

    Raises
    ------
    ValueError
        If there are not as many values before as in the experiment.

    Examples
    --------
    >>> first, second, explained = rs.statistics.cuped(([1, 2, 3], [2, 3, 5]), ([1, 2, 3], [1, 2, 4]))
    >>> round(explained, 3)
    0.843
    """
    ys = [finite(array, "values") for array in values]
    xs = [finite(array, "before") for array in before]
    for y, x in zip(ys, xs, strict=True):
        if len(y) != len(x):
            raise InputError(f"before= has {len(x)} values for {len(y)} of the experiment; give one per unit")
    y, x = np.concatenate(ys), np.concatenate(xs)
    rest, past = y - y.mean(), x - x.mean()
    squares = float(past @ past)
    theta = float(rest @ past) / squares if squares else 0.0
    explained = theta * float(rest @ past) / float(rest @ rest) if rest.any() else 0.0
    return ys[0] - theta * (xs[0] - x.mean()), ys[1] - theta * (xs[1] - x.mean()), explained


def sample_ratio(counts: ArrayLike, expected: ArrayLike | None = None) -> float:
    """p of the test that units were assigned in the intended proportions (chi-squared).

    A small p, below 0.001, says that some units were lost in one of the variants: do not trust the comparison.

    Parameters
    ----------
    counts : array_like
        Units per variant.
    expected : array_like, optional
        Intended proportions; equal by default.

    Returns
    -------
    float

    Examples
    --------
    >>> round(rs.statistics.sample_ratio([5100, 4900]), 4)
    0.0455
    """
    units = finite(counts, "counts")
    weights = np.ones(len(units)) if expected is None else finite(expected, "expected")
    if len(weights) != len(units) or (weights <= 0).any() or not units.sum():
        raise InputError(f"counts={units.tolist()} and expected={weights.tolist()}: give a proportion above 0 for each")
    intended = units.sum() * weights / weights.sum()
    return float(chdtrc(len(units) - 1, ((units - intended) ** 2 / intended).sum()))
