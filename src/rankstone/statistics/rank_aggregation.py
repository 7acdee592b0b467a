"""Ranks of systems over several tasks: the Borda count, and how far a rank depends on the choice of tasks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.progress import watched
from rankstone.statistics.intervals import NOISE, bootstrap_draws
from rankstone.statistics.student_t import finite, level


class RankInterval(NamedTuple):
    """Ranks of systems, each with its interval.

    Attributes
    ----------
    rank : ndarray
        Rank by the mean over all tasks; systems with equal means share the best of their ranks.
    low, high : ndarray
        Best and worst rank of the interval.
    confidence : float
        Confidence level.
    """

    rank: Ints
    low: Ints
    high: Ints
    confidence: float


def borda_count(values: ArrayLike) -> Floats:
    """Borda count (de Borda 1781): per task one point for each system below, half a point for each tied one.

    Parameters
    ----------
    values : array_like
        One row per system, one column per task; higher is better.

    Returns
    -------
    ndarray
        The points, one row per system, one column per task. Their sum over the tasks is the count of a system.

    Examples
    --------
    >>> rs.statistics.borda_count([[0.5, 0.7], [0.4, 0.7], [0.3, 0.1]]).sum(axis=1)
    array([3.5, 2.5, 0. ])
    """
    array = finite(values, "values", (2,))
    own, other = array[:, None], array[None]
    return np.asarray((own > other).sum(axis=1) + ((own == other).sum(axis=1) - 1) / 2)


def rank_interval(values: ArrayLike, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0) -> RankInterval:
    """Ranks by the mean over tasks, and percentile intervals of the ranks from a bootstrap over tasks.

    Parameters
    ----------
    values : array_like
        One row per system, one column per task; higher is better. At least two tasks.
    confidence : float, default 0.95
        Confidence level of each system's interval.
    resamples : int, default 9999
        Number of bootstrap samples.
    seed : int, default 0
        Random seed.

    Returns
    -------
    RankInterval

    Raises
    ------
    ValueError
        If there are fewer than two tasks.

    Examples
    --------
    >>> rs.statistics.rank_interval([[0.9, 0.8, 0.7], [0.5, 0.6, 0.4], [0.4, 0.5, 0.6]]).high
    array([1, 3, 3])
    """
    array = finite(values, "values", (2,))
    level(confidence, "confidence")
    tasks = array.shape[1]
    if tasks < 2:
        raise InputError(f"values has {tasks} tasks: to draw again at least 2 are needed")
    if resamples < 1:
        raise InputError(f"resamples={resamples!r} is not above 0")
    noise = NOISE * float(np.abs(array).max(initial=0.0))
    parts = []
    with watched("drawing tasks again") as progress:
        for drawn in bootstrap_draws(tasks, resamples, seed, progress):
            numbered = drawn + tasks * np.arange(len(drawn))[:, None]
            counts = np.bincount(numbered.ravel(), minlength=drawn.size).reshape(drawn.shape)
            parts.append(descending_ranks(counts @ array.T / tasks, noise))
    ranks = np.sort(np.concatenate(parts), axis=0)
    outside = math.floor((1 - confidence) / 2 * resamples)  # ranks beyond each end of the interval
    rank = descending_ranks(array.mean(axis=1)[None], noise)[0]
    return RankInterval(rank, ranks[outside], ranks[resamples - 1 - outside], confidence)


def descending_ranks(rows: Floats, noise: float = 0.0) -> Ints:
    """Ranks in each row, the highest value first; values nearer than `noise` share the best of their ranks."""
    order = np.argsort(-rows, axis=1, kind="stable")
    falls = np.diff(np.take_along_axis(rows, order, axis=1), axis=1) < -noise
    first = np.zeros(rows.shape, dtype=np.int64)
    first[:, 1:] = np.where(falls, np.arange(1, rows.shape[1]), 0)
    ranks = np.empty_like(first)
    np.put_along_axis(ranks, order, np.maximum.accumulate(first, axis=1) + 1, axis=1)
    return ranks
