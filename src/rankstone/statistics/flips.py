"""The randomisation test of paired differences: the sign of each is as likely + as -, if nothing differs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.statistics.exact_flips import exact_tails
from rankstone.statistics.signs import (
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

_UNSURE = 1 / 64  # of the sums: from here on it is quicker to add all of them up in float64


class Flips(NamedTuple):
    """p-values of sign flips; numbers, or arrays of a number a column."""

    p: Floats
    greater: Floats
    less: Floats
    exact: Bools
    patterns: Floats  # 2 ** nonzero if exact (2 ** 1023 for more), else the resamples
    as_extreme: Floats  # how many patterns are, on both sides; NaN where there are too many to count exactly
    nonzero: Ints


def flips(
    difference: ArrayLike,
    *,
    resamples: int = 100_000,
    seed: int = 0,
    threads: int = 0,
    signs: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Flips:
    """p of the test that the mean of the differences is not 0, is greater, is less; by flipping signs.

    Of a vector with a difference a query, or of each column of a matrix, with the same signs for all columns. Exact
    where all patterns can be counted: for 36 differences or fewer, and for metrics on a grid such as precision@k.
    Otherwise p = (b + 1) / (resamples + 1), b of them being as extreme (Phipson and Smyth 2010). Differences of 0 do
    not matter and are left out. Sums that differ by less than 1e-9 of the sum of the sizes are equal.

    signs: patterns to use, a row of 1 and -1 each. clusters: each query's cluster; queries of one cluster get one
    sign. Answers are the same for any number of threads.

    >>> rs.statistics.flips([0.1, 0.2, 0.3]).p
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
        kept = matrix[:, rest].any(axis=1)
        drawn = make_signs(resamples, seed, kept, signs)
        patterns[rest] = drawn.count
        if rest.any():
            answers[:, rest] = _random(matrix[np.ix_(kept, rest)], drawn, threads)
    p, greater, less, as_extreme = answers
    found = (p, greater, less, exact, patterns, as_extreme, nonzero)
    one: Any = [column[0] for column in found] if vector else found
    return Flips(*one)


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
    # Nothing is less extreme than a sum of 0.
    extreme = np.where(_nothing(fine), signs.count, with_ + against)
    near, far = (with_ + 1) / (signs.count + 1), (signs.count - beyond + 1) / (signs.count + 1)
    return np.stack(
        [(extreme + 1) / (signs.count + 1), np.where(negative, far, near), np.where(negative, near, far), extreme]
    )


def _nothing(fine: Floats) -> Bools:
    return fine.sum(axis=0) <= TIE * np.abs(fine).sum(axis=0)


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
        found = np.zeros((3, self._fine.shape[1]), dtype=np.int64)
        for block in self._signs.blocks(start, stop):
            if self._coarse is None:
                found += self._sure(self._signs.product(block.astype(float), self._fine))
                continue
            sums = self._signs.product(block, self._coarse)
            beyond = np.count_nonzero(sums > self._to, axis=0)
            found[0] += beyond
            found[2] += beyond
            found[1] += np.count_nonzero(sums < -self._to, axis=0)
            np.abs(sums, out=sums)
            rows, columns = np.nonzero((sums >= self._from) & (sums <= self._to))
            for part in range(0, len(rows), 256):
                self._again(block, rows[part : part + 256], columns[part : part + 256], found)
        return found

    def _sure(self, sums: Floats) -> Ints:
        return np.stack([np.count_nonzero(one, axis=0) for one in self._compared(sums, self._low, self._high)])

    def _again(self, block: Singles, rows: Ints, columns: Ints, found: Ints) -> None:
        """The same for single sums."""
        sums = np.add.reduce(block[rows] * self._fine.T[columns], axis=1)
        for place, hit in zip(found, self._compared(sums, self._low[columns], self._high[columns]), strict=True):
            place += np.bincount(columns, hit, minlength=len(place)).astype(np.int64)

    @staticmethod
    def _compared(sums: Floats, low: Floats, high: Floats) -> tuple[Bools, Bools, Bools]:
        return sums >= low, sums <= -low, sums > high
