"""The randomisation (sign-flip) test of paired differences.

Exact where all sign patterns can be counted, by meet-in-the-middle or by convolution on a grid.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from rankstone.data.annotations import Bools, Floats, Ints
from rankstone.statistics.rank_tests import (
    TIE,
    Signs,
    Singles,
    checked,
    coarse,
    counts,
    make_signs,
    padded,
    units,
    whole,
    workers_of,
)

MOST = 36  # differences for which two halves meet in a tenth of a second
_FEW = 16  # differences for which it is not worth to look for a grid
_GRIDS = np.array([*range(1, 1001), 2520, 10_000], dtype=float)  # 2520: ranks up to 10; 10,000: four decimals
_STEPS = 10**8  # of a convolution: below a tenth of a second
_PROBES = 8
_WHOLE_COUNTS = 53  # up to here numbers of patterns are exact in float64
_UNSURE = 1 / 64  # of the sums: from here on it is quicker to add all of them up in float64


class Randomization(NamedTuple):
    """Result of a randomisation test; for a matrix, arrays with one value per column.

    Attributes
    ----------
    p, greater, less : float or ndarray
        Two-sided and one-sided p-values.
    exact : bool or ndarray
        Whether all sign patterns were counted.
    patterns : float or ndarray
        Number of sign patterns: 2 ** nonzero (at most 2 ** 1023) if exact, else the resamples.
    as_extreme : float or ndarray
        Number of patterns as extreme as the observed one; NaN if too many to count exactly.
    nonzero : int or ndarray
        Number of differences that are not 0.
    """

    p: Floats
    greater: Floats
    less: Floats
    exact: Bools
    patterns: Floats
    as_extreme: Floats
    nonzero: Ints


def randomization_test(
    difference: ArrayLike,
    *,
    resamples: int = 100_000,
    seed: int = 0,
    threads: int = 0,
    signs: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Randomization:
    """Randomisation (sign-flip) test that the mean of paired differences is 0.

    Exact for up to 36 differences, and for metrics on a grid such as precision@k. Otherwise
    p = (b + 1) / (resamples + 1), where b patterns are as extreme (Phipson and Smyth 2010). Differences of 0 are left
    out. Sums that differ by less than 1e-9 of the sum of absolute differences count as equal.

    Parameters
    ----------
    difference : array_like
        One difference per query, or a matrix with one row per query; all columns get the same signs.
    resamples : int, default 100000
        Number of random sign patterns.
    seed : int, default 0
        Random seed.
    threads : int, default 0
        Number of threads; 0 uses all cores. Results do not depend on it.
    signs : array_like, optional
        The sign patterns themselves: one row of 1 and -1 per pattern.
    clusters : array_like, optional
        The cluster of each query; queries of one cluster get the same sign.

    Returns
    -------
    Randomization

    Examples
    --------
    >>> rs.statistics.randomization_test([0.1, 0.2, 0.3]).p
    np.float64(0.25)
    """
    vector = np.ndim(difference) == 1
    matrix = units(checked(difference, "difference"), clusters)
    nonzero = np.count_nonzero(matrix, axis=0)
    answers = np.full((4, matrix.shape[1]), np.nan)  # p, greater, less, as extreme
    patterns = np.ldexp(1.0, np.minimum(nonzero, 1023))
    exact = nonzero == 0
    answers[:, exact] = 1.0
    if signs is None:
        exact = _exact(matrix, answers, threads)
    rest = ~exact
    if signs is not None or rest.any():
        mask = matrix[:, rest].any(axis=1)
        drawn = make_signs(resamples, seed, mask, signs)
        patterns[rest] = drawn.count
        if rest.any():
            answers[:, rest] = _random(matrix[np.ix_(mask, rest)], drawn, threads)
    p, greater, less, as_extreme = answers
    columns = (p, greater, less, exact, patterns, as_extreme, nonzero)
    values: Any = [column[0] for column in columns] if vector else columns
    return Randomization(*values)


def _exact(matrix: Floats, answers: Floats, threads: int) -> Bools:
    """Fill in the columns whose patterns can be counted; which ones those are."""

    def job(number: int) -> bool:
        column = matrix[:, number]
        column = column[column != 0]
        if not len(column):
            return True
        column = column / np.abs(column).max() if not 1e-100 < np.abs(column).max() < 1e100 else column
        sizes, observed = np.sort(np.abs(column)), float(np.sort(column).sum())
        tails = exact_tails(sizes, abs(observed))
        if tails is None:
            return False
        # The distribution is symmetric: a sum is as often below -x as above x.
        none = abs(observed) <= TIE * sizes.sum()
        near, far = max(tails.as_large, np.finfo(float).tiny), 1.0 - tails.larger
        two = 1.0 if none else 2.0 * near
        count = 2.0 ** len(sizes) if none else 2.0 * tails.patterns
        sides = (near, far) if observed > 0 else (far, near)
        answers[:, number] = (two, *sides, count)
        return True

    numbers = range(matrix.shape[1])
    workers = min(workers_of(threads), len(numbers))
    if workers == 1 or len(matrix) < 24:
        return np.array([job(number) for number in numbers], dtype=bool)
    with ThreadPoolExecutor(workers) as pool:
        return np.array(list(pool.map(job, numbers)), dtype=bool)


def _random(matrix: Floats, signs: Signs, threads: int) -> Floats:
    """p, greater, less and the number of flips as extreme, of columns none of which is all zeros."""
    fine = whole(matrix, np.abs(matrix).sum(axis=0))
    negative = fine.sum(axis=0) < 0
    fine = padded(np.where(negative, -fine, fine), signs.padded)
    with_, against, beyond = counts(_Sums(fine, signs).count, signs, fine.shape[1], threads)
    is_zero = fine.sum(axis=0) <= TIE * np.abs(fine).sum(axis=0)
    extreme = np.where(is_zero, signs.count, with_ + against)  # nothing is less extreme than a sum of 0
    p, near, far = (np.stack([extreme, with_, signs.count - beyond]) + 1) / (signs.count + 1)
    return np.stack([p, np.where(negative, far, near), np.where(negative, near, far), extreme])


class _Sums:
    """Counts signed sums of columns whose own sums are not negative."""

    def __init__(self, fine: Floats, signs: Signs) -> None:
        self._signs, self._fine = signs, fine
        observed = fine.sum(axis=0)
        slack = TIE * np.abs(fine).sum(axis=0)
        self._low, self._high = observed - slack, observed + slack
        # A first look in float32 decides nearly all: its error has a bound, and what is nearer than that gets a second.
        rough = coarse(fine, signs)
        error = np.abs(rough.rest).sum(axis=0) + rough.sums
        deviation = np.sqrt(np.einsum("ij,ij->j", fine, fine))
        self._coarse: Singles | None = rough.columns if (error / deviation).mean() < _UNSURE else None
        error += 2 * rough.unit + self._high * 2.0**-22  # of the edges themselves in float32
        self._from = ((self._low - error) / rough.unit).astype(np.float32)
        self._to = ((self._high + error) / rough.unit).astype(np.float32)

    def count(self, start: int, stop: int) -> Ints:
        """By column: flips whose sum is as large as observed, as large on the other side, and larger."""
        totals = np.zeros((3, self._fine.shape[1]), dtype=np.int64)
        for block in self._signs.blocks(start, stop):
            if self._coarse is None:
                sums = self._signs.product(block.astype(float), self._fine)
                hits = self._compared(sums, self._low, self._high)
                totals += np.stack([np.count_nonzero(hit, axis=0) for hit in hits])
                continue
            sums = self._signs.product(block, self._coarse)
            beyond = np.count_nonzero(sums > self._to, axis=0)
            totals[0] += beyond
            totals[2] += beyond
            totals[1] += np.count_nonzero(sums < -self._to, axis=0)
            np.abs(sums, out=sums)
            rows, columns = np.nonzero((sums >= self._from) & (sums <= self._to))
            for part in range(0, len(rows), 256):
                self._again(block, rows[part : part + 256], columns[part : part + 256], totals)
        return totals

    def _again(self, block: Singles, rows: Ints, columns: Ints, totals: Ints) -> None:
        """The same for single sums."""
        sums = np.add.reduce(block[rows] * self._fine.T[columns], axis=1)
        for place, hit in zip(totals, self._compared(sums, self._low[columns], self._high[columns]), strict=True):
            place += np.bincount(columns, hit, minlength=len(place)).astype(np.int64)

    @staticmethod
    def _compared(sums: Floats, low: Floats, high: Floats) -> tuple[Bools, Bools, Bools]:
        return sums >= low, sums <= -low, sums > high


# -- all patterns ----------------------------------------------------------------------------------------------


class Tails(NamedTuple):
    """Of a sum that is not negative: how often a pattern's sum is as large, and how often it is larger."""

    as_large: float
    larger: float
    patterns: float  # how many patterns are as large; NaN if that is not a whole number in float64


def exact_tails(sizes: Floats, observed: float) -> Tails | None:
    """The tails of the sum of sizes with random signs, `observed` being one such sum; None if they cannot be had."""
    grid = on_grid(sizes) if len(sizes) > _FEW else None
    tails = _by_convolution(grid[0], round(observed / grid[1])) if grid else None
    return _by_halves(sizes, observed) if tails is None and len(sizes) <= MOST else tails


def on_grid(sizes: Floats) -> tuple[Ints, float] | None:
    """Sizes as multiples of a unit 1/q, and that unit; None if there is no modest q."""
    total = sizes.sum()
    # If rounding to the grid moves no sum by more than a fourth of what counts as equal, no tie is won or lost.
    allowed = TIE / 4 * total
    probes = np.unique(sizes[: 4 * _PROBES])[:_PROBES, None] * _GRIDS
    near = (np.abs(probes - np.rint(probes)) <= allowed * _GRIDS).all(axis=0)
    for q in _GRIDS[near].tolist():
        steps = np.rint(sizes * q)
        if np.abs(sizes * q - steps).sum() <= allowed * q and steps.sum() * 4 * TIE < 1:
            whole_steps = steps.astype(np.int64)
            if divisor := int(np.gcd.reduce(whole_steps)):
                return whole_steps // divisor, divisor / q
    return None


def _by_convolution(steps: Ints, observed: int) -> Tails | None:
    """Half the rest is what the negative ones add up to: T = (sum - S) / 2, so count the subsets up to there."""
    n, total = len(steps), int(steps.sum())
    reach = (total - observed) // 2
    if steps.min() == steps.max() and n > 1000:
        # S >= observed says that at most `reach` signs are negative.
        return Tails(float(bdtr(reach, n, 0.5)), float(bdtr(reach - 1, n, 0.5)) if reach else 0.0, math.nan)
    if n * (reach + 1) > _STEPS:
        return None
    ways, spare = np.zeros(reach + 1), np.zeros(reach + 1)
    ways[0] = 1.0
    top, shift = 0, 0
    for number, step in enumerate(np.sort(steps).tolist()):
        top = min(reach, top + step)
        spare[: top + 1] = ways[: top + 1]
        if step <= top:
            spare[step : top + 1] += ways[: top + 1 - step]
        ways, spare = spare, ways
        # 2 ** 1000 patterns and no more, so that all stay below the largest float; what falls below the smallest
        # cannot be seen in p either.
        if number >= 1000 and number % 16 == 0:
            ways *= 2.0**-16
            shift += 16
    larger = ways[:reach].sum()
    as_large = larger + ways[reach]
    count = float(as_large) if n <= _WHOLE_COUNTS else math.nan
    return Tails(math.ldexp(as_large, shift - n), math.ldexp(larger, shift - n), count)


def _by_halves(sizes: Floats, observed: float) -> Tails:
    """Each sum of all is a sum of one half plus one of the other, and those of a half are few enough to be sorted."""
    scale = sizes.sum()
    numbers = whole(sizes, scale)
    observed = float(whole(np.asarray(observed), scale))
    first, second = _all_sums(numbers[::2]), _all_sums(numbers[1::2])
    slack = TIE * numbers.sum()

    def above(bound: float, side: str) -> int:
        below = np.searchsorted(second, bound - first, side=side)  # type: ignore[call-overload]
        return len(first) * len(second) - int(below.sum())

    patterns = 2.0 ** len(sizes)
    as_large = above(observed - slack, "left")
    return Tails(as_large / patterns, above(observed + slack, "right") / patterns, float(as_large))


def _all_sums(numbers: Floats) -> Floats:
    """The sums of all sign patterns, in order."""
    sums = np.zeros(1)
    for number in numbers.tolist():
        sums = np.concatenate([sums - number, sums + number])
    return np.sort(sums)
