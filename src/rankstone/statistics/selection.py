"""The best of many runs on the same queries: its mean on new queries, and which other runs may be the best."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rankstone.data.annotations import Bools, Floats
from rankstone.errors import Advice, Hint, InputError
from rankstone.statistics.student_t import cluster_numbers, finite, level, student

_CELLS = 1 << 22  # sums of pairs of folds at a time
_REPEATS = 60  # divisions into folds


class Selection(NamedTuple):
    """What the best of several columns is worth on new queries.

    Attributes
    ----------
    best : int
        The column with the highest mean.
    mean : float
        Its mean, which is biased upwards.
    expected : float
        Mean on queries that were not used to select: nested cross-validation.
    low, high : float
        Confidence interval of the true mean of the best column.
    wins : ndarray
        Share of bootstrap samples of the queries in which each column is the best.
    """

    best: int
    mean: float
    expected: float
    low: float
    high: float
    wins: Floats


def selection(
    values: ArrayLike,
    *,
    folds: int = 5,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Selection:
    """What the column with the highest mean is worth on new queries.

    The best column is chosen without one fold and averaged over it, for many divisions of the queries into folds. The
    error is that of nested cross-validation (Bates, Hastie and Tibshirani 2023), and at least that of the best column's
    mean.

    Parameters
    ----------
    values : array_like
        One row per query, one column per run; higher is better.
    folds : int, default 5
        Number of folds; at least 2.
    clusters : array_like, optional
        The cluster of each query; a cluster is never divided.
    confidence : float, default 0.95
        Confidence level.
    resamples : int, default 1000
        Number of bootstrap samples.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Selection

    Raises
    ------
    ValueError
        If there are fewer than four queries or clusters, or fewer than two folds.

    Examples
    --------
    >>> values = [[query * run % 7 / 6 for run in range(1, 20)] for query in range(1, 43)]
    >>> best = rs.statistics.selection(values)
    >>> bool(best.mean > best.expected)
    True
    """
    level(confidence, "confidence")
    sums, sizes = _units(values, clusters)
    if folds < 2 or len(sums) < 4:
        problem = f" of {len(sums)} queries or clusters: at least 2 and 4 are needed"
        raise InputError(Advice(Hint("folds", folds), problem))
    many = min(folds, len(sums) // 2)
    best = int(np.argmax(sums.sum(axis=0)))
    own = student(np.asarray(values, dtype=float)[:, best], clusters)
    expected, spread = _nested(sums, sizes, many, np.random.default_rng(seed))
    error = min(max(math.sqrt(max(spread, 0.0)), float(own.error)), float(own.error) * math.sqrt(many))
    half = float(stdtrit(len(sums) - 1, (1 + confidence) / 2)) * error
    drawn = _resampled(sums, sizes, resamples, seed)
    wins = np.bincount(drawn.argmax(axis=1), minlength=sums.shape[1]) / resamples
    return Selection(best, float(own.mean), expected, expected - half, expected + half, wins)


def contenders(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Bools:
    """Which columns may be the best one: a set that has the best column with the given confidence.

    Subset selection (Gupta 1965), with the largest difference in standard errors and its bootstrap distribution.

    Parameters
    ----------
    values : array_like
        One row per query, one column per run; higher is better.
    clusters : array_like, optional
        The cluster of each query.
    confidence : float, default 0.95
        Confidence that the truly best column is in the set.
    resamples : int, default 1000
        Number of bootstrap samples.
    seed : int, default 0
        Random seed.

    Returns
    -------
    ndarray
        True for each column of the set.

    Examples
    --------
    >>> rs.statistics.contenders([[0.1, 0.9, 0.8], [0.2, 0.7, 0.9], [0.0, 0.8, 0.7], [0.3, 0.9, 0.8]]).tolist()
    [False, True, True]
    """
    level(confidence, "confidence")
    sums, sizes = _units(values, clusters)
    n = float(sizes.sum())
    means = sums.sum(axis=0) / n
    rest = sums - means * sizes[:, None]
    products = rest.T @ rest / n**2
    squares = np.diag(products)
    errors = np.sqrt(np.maximum(squares + squares[:, None] - 2 * products, 0.0))
    noise = 1e-9 * max(float(np.abs(means).max()), 1e-300)
    weight = np.where(errors > noise, 1 / np.maximum(errors, noise), 0.0)
    drawn = np.ascontiguousarray((_resampled(sums, sizes, resamples, seed) - means).T, dtype=np.float32)
    members = np.ones(len(means), dtype=bool)
    for column, mean in enumerate(means.tolist()):
        above = means - mean
        certain = bool((above[weight[column] == 0] > noise).any())  # equal but for a constant
        larger = drawn - drawn[column]
        larger *= weight[column, :, None].astype(np.float32)
        largest = larger.max(axis=0)
        observed = float((above * weight[column]).max(initial=0.0))
        members[column] = not certain and observed <= float(np.quantile(largest, confidence)) + 1e-6
    members[int(np.argmax(means))] = True
    return members


def _units(values: ArrayLike, clusters: ArrayLike | None) -> tuple[Floats, Floats]:
    """Sums and numbers of queries, per independent unit."""
    matrix = finite(values, "values", (2,))
    if not matrix.shape[1]:
        raise InputError("values has no column")
    if clusters is None:
        return matrix, np.ones(len(matrix))
    numbers = cluster_numbers(clusters, len(matrix))
    sums = np.zeros((int(numbers.max()) + 1, matrix.shape[1]))
    np.add.at(sums, numbers, matrix)
    return sums, np.bincount(numbers).astype(float)


def _resampled(sums: Floats, sizes: Floats, resamples: int, seed: int) -> Floats:
    """Means of bootstrap samples of the units: a row per sample."""
    units = len(sums)
    times = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), resamples).astype(float)
    return (times @ sums) / (times @ sizes)[:, None]


def _nested(sums: Floats, sizes: Floats, folds: int, random: np.random.Generator) -> tuple[float, float]:
    """The mean of the columns selected without the fold they are averaged over, and its mean squared error."""
    units, columns = sums.shape
    step = max(1, _CELLS // (folds * folds * columns))
    means, errors = [], []
    for start in range(0, _REPEATS, step):
        fold = np.argsort(random.random((min(step, _REPEATS - start), units)), axis=1) % folds
        member = (fold[:, None] == np.arange(folds)[:, None]).astype(float)  # repeats x folds x units
        inside, count = member @ sums, member @ sizes
        rest = sums.sum(axis=0) - inside
        chosen = rest.argmax(axis=2)[..., None]
        held_out = np.take_along_axis(inside, chosen, 2)[..., 0] / count
        squares, products = (np.take_along_axis(member @ of, chosen, 2)[..., 0]
                             for of in (sums**2, sums * sizes[:, None]))  # fmt: skip
        drawn, sizes_squared = member.sum(axis=2), member @ sizes**2
        variance = squares - 2 * held_out * products + held_out**2 * sizes_squared
        variance *= drawn / np.maximum(drawn - 1, 1) / count**2
        without = rest[:, :, None] - inside[:, None]  # without two folds
        second = without.argmax(axis=3)[..., None]
        every = np.broadcast_to(inside[:, None], without.shape)
        inner = np.take_along_axis(every, second, 3)[..., 0] * ~np.eye(folds, dtype=bool)
        inner_mean = inner.sum(axis=2) / (sizes.sum() - count)
        means.append((held_out * count).sum(axis=1) / sizes.sum())
        errors.append((inner_mean - held_out) ** 2 - variance)
    # With fewer queries and one fold less the error is larger; how much, is from the simulations of the tests.
    scale = ((folds - 1) / folds) ** 1.5
    return float(np.concatenate(means).mean()), scale * float(np.concatenate(errors).mean())
