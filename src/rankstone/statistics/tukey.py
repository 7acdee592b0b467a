"""Tukey's honestly significant difference for all pairs of runs: by the studentised range, and by permutation."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.statistics.rank_tests import TIE, add_up, check_resamples, checked, whole, workers_of
from rankstone.statistics.student_t import layout, level

MOST = 1 << 21  # patterns that are looked at one by one
_CHUNK = 256  # permutations of one job
_CELLS = 1 << 19


class Tukey(NamedTuple):
    """Result of Tukey's test.

    Attributes
    ----------
    pairs : ndarray
        Column numbers of the two runs per pair.
    differences, low, high, p : ndarray
        Differences of means (second minus first), simultaneous intervals and adjusted p-values per pair.
    freedom, mean_square : int, float
        Degrees of freedom and mean square of the residuals.
    f_runs, p_runs, f_queries, p_queries : float
        Analysis of variance of runs and queries.
    """

    pairs: Ints
    differences: Floats
    low: Floats
    high: Floats
    p: Floats
    freedom: int
    mean_square: float
    f_runs: float
    p_runs: float
    f_queries: float
    p_queries: float


def tukey(scores: ArrayLike, paired: bool = True, confidence: float = 0.95) -> Tukey:
    """Tukey's honestly significant difference test of all pairs of runs (1949).

    All pairs share one variance: the level does not hold if some runs are more alike than others.

    Parameters
    ----------
    scores : array_like
        One row per query, one column per run.
    paired : bool, default True
        Two-way layout of runs and queries. False treats runs as independent samples, which has less power.
    confidence : float, default 0.95
        Simultaneous confidence level of the intervals.

    Returns
    -------
    Tukey
    """
    from scipy.stats import studentized_range  # slow to import

    array = layout(scores)
    level(confidence, "confidence")
    n, k = array.shape
    runs = array.mean(axis=0)
    pairs = np.stack(np.triu_indices(k, 1), axis=1)
    differences = runs[pairs[:, 1]] - runs[pairs[:, 0]]
    queries = array.mean(axis=1, keepdims=True) if paired else array.mean()
    rest = array - queries - runs + array.mean()
    freedom = (n - 1) * (k - 1) if paired else k * (n - 1)
    mean_square = float((rest**2).sum()) / freedom
    if mean_square <= (1e-14 * float(np.abs(array).max())) ** 2:
        mean_square = 0.0  # nothing but rounding errors
    error = math.sqrt(mean_square / n)
    half = 0.0
    if error:
        half = float(studentized_range.ppf(confidence, k, freedom)) * error
        p = np.clip(studentized_range.sf(np.abs(differences) / error, k, freedom), 0.0, 1.0)
    else:
        p = np.where(np.abs(differences) <= 1e-14 * float(np.abs(array).max()), 1.0, 0.0)
    f_runs, p_runs = _f(n * float(((runs - array.mean()) ** 2).sum()), k - 1, mean_square, freedom)
    f_queries = p_queries = math.nan
    if paired:
        f_queries, p_queries = _f(k * float(((queries - array.mean()) ** 2).sum()), n - 1, mean_square, freedom)
    return Tukey(
        pairs, differences, differences - half, differences + half, p,
        freedom, mean_square, f_runs, p_runs, f_queries, p_queries,
    )  # fmt: skip


def _f(squares: float, groups: int, mean_square: float, freedom: int) -> tuple[float, float]:
    """F and its p; not defined without residuals."""
    if not mean_square:
        return math.nan, math.nan
    f = squares / groups / mean_square
    return f, float(fdtrc(groups, freedom, f))


# -- by permutation ----------------------------------------------------------------------------------------------


class TukeyRandomised(NamedTuple):
    """Result of the randomised Tukey test, one entry per pair of columns (0, 1), (0, 2), ...

    Attributes
    ----------
    p : ndarray
        Adjusted p-values.
    as_extreme : ndarray
        Number of permutations as extreme.
    permutations : float
        Number of permutations: all if exact, else the resamples.
    differences : ndarray
        Absolute differences of the means.
    pairs : list of tuple
        The pairs of columns.
    exact : bool
        Whether all permutations were counted.
    """

    p: Floats
    as_extreme: Floats
    permutations: float  # all of them if exact, else the resamples
    differences: Floats  # of the means, without sign
    pairs: list[tuple[int, int]]
    exact: bool


def tukey_randomised(
    scores: ArrayLike, *, resamples: int = 100_000, seed: int = 0, threads: int = 0
) -> TukeyRandomised:
    """Randomised Tukey test of all pairs of runs, by permuting runs within queries (Carterette 2012).

    All pairs share one null distribution: wrong if two runs are much more alike than others; use `westfall_young`.
    Exact if there are few permutations, else p = (b + 1) / (resamples + 1).

    Parameters
    ----------
    scores : array_like
        One row per query, one column per run.
    resamples : int, default 100000
        Number of random permutations.
    seed : int, default 0
        Random seed.
    threads : int, default 0
        Number of threads; 0 uses all cores. Results do not depend on it.

    Returns
    -------
    TukeyRandomised
    """
    matrix = checked(scores, "scores")
    queries, runs = matrix.shape
    if runs < 2:
        raise InputError(f"scores has {runs} column, but a pair needs 2")
    check_resamples(resamples)
    pairs = list(combinations(range(runs), 2))
    first, second = np.array(pairs).T
    means = matrix.mean(axis=0)
    matrix = matrix - matrix.min(axis=1, keepdims=True)
    spread = matrix.max(axis=1)
    # Where all are equal nothing changes places.
    matrix = matrix[spread > 0] / (spread.max() or 1.0)
    whole_numbers = whole(matrix, matrix.max(axis=1).sum() * runs or 1.0)
    sums = whole_numbers.sum(axis=0)
    bounds = np.abs(sums[second] - sums[first]) - TIE * whole_numbers.max(axis=1, initial=0.0).sum()
    order = np.argsort(bounds, kind="stable")
    ways = math.factorial(runs)
    exact = len(matrix) < 2 or math.log(ways) * (len(matrix) - 1) <= math.log(MOST) + 1e-9
    if exact:
        passed, looked = _count(whole_numbers, bounds[order])
        # What the first query does is only another name for the runs.
        permuted = float(np.float64(ways) ** queries)
        p, as_extreme = passed / looked, passed * (permuted / looked)
    else:
        passed = _draw(whole_numbers, bounds[order], resamples, seed, threads)
        permuted = float(resamples)
        p, as_extreme = (passed + 1) / (resamples + 1), passed
    back = np.argsort(order, kind="stable")
    return TukeyRandomised(p[back], as_extreme[back], permuted, np.abs(means[second] - means[first]), pairs, exact)


def _passed(sums: Floats, bounds: Floats) -> Floats:
    """How many rows have a range as large as each bound; those are in order."""
    places = np.searchsorted(bounds, sums.max(axis=0) - sums.min(axis=0), side="right")
    return np.bincount(places, minlength=len(bounds) + 1)[::-1].cumsum(dtype=float)[::-1][1:]


def _count(numbers: Floats, bounds: Floats) -> tuple[Floats, int]:
    """Over all permutations of all queries but the first, and how many those are."""
    runs = numbers.shape[1]
    orders = np.array(list(permutations(range(runs)))).T if len(numbers) > 1 else np.zeros((runs, 1), dtype=np.int64)
    halves = [numbers[0][:, None] if len(numbers) else np.zeros((runs, 1)), np.zeros((runs, 1))]
    for row in numbers[1:]:
        small = int(halves[1].shape[1] < halves[0].shape[1])
        halves[small] = (halves[small][:, :, None] + row[orders][:, None, :]).reshape(runs, -1)
    wide, narrow = halves if halves[0].shape[1] >= halves[1].shape[1] else halves[::-1]
    passed = np.zeros(len(bounds))
    for sums in narrow.T:
        passed += _passed(wide + sums[:, None], bounds)
    return passed, wide.shape[1] * narrow.shape[1]


def _draw(numbers: Floats, bounds: Floats, resamples: int, seed: int, threads: int) -> Floats:
    queries, runs = numbers.shape
    key = np.random.SeedSequence(seed).generate_state(2, np.uint64)

    def job(start: int) -> Floats:
        # Drawing takes as many steps as it needs, so each job has a counter of its own.
        generator = np.random.Generator(np.random.Philox(counter=start << 128, key=key))
        size, stop, sums = max(1, _CELLS // numbers.size), min(start + _CHUNK, resamples), []
        for left in range(start, stop, size):
            rows = min(size, stop - left)
            table = np.repeat(numbers[None], rows, axis=0).reshape(-1, runs)
            generator.permuted(table, axis=1, out=table)
            sums.append(table.reshape(rows, queries, runs).sum(axis=1))
        return _passed(np.concatenate(sums).T, bounds)

    return add_up(job, range(0, resamples, _CHUNK), workers_of(threads), "changing places")
