"""Westfall-Young (max-T) adjusted p-values of many pairs of runs, by random sign flips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankstone.data.annotations import Bools, Floats, Ints
from rankstone.errors import InputError
from rankstone.statistics.rank_tests import (
    TIE,
    Real,
    Signs,
    Singles,
    checked,
    coarse,
    counts,
    make_signs,
    padded,
    units,
    whole,
)

_UNSURE = 0.5  # of the flips: from here on it is quicker to add all of them up in float64
_CELLS = 1 << 19  # differences at a time
_UNSEEN = 2.0**-51  # of the largest sum: differences that are not there after rounding
_ROUNDING = 2.0**-20  # of a statistic in float32, with room


class WestfallYoung(NamedTuple):
    """Two-sided p-values, one entry per pair.

    Attributes
    ----------
    statistics : ndarray
        |sum d| / sqrt(sum d ** 2).
    p : ndarray
        Unadjusted p-values.
    single_step, step_down : ndarray
        Adjusted p-values; step-down is never above single-step.
    """

    statistics: Floats  # |sum d| / sqrt(sum d ** 2)
    p: Floats  # of the pair alone
    single_step: Floats  # adjusted: against the largest statistic of all pairs
    step_down: Floats  # adjusted: against the largest of those that are not larger; never above `single_step`


def westfall_young(
    values: ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    resamples: int = 100_000,
    seed: int = 0,
    threads: int = 0,
    signs: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> WestfallYoung:
    """Westfall-Young adjusted p-values (max-T) of many pairs of columns (1993).

    A query gets the same random sign in all pairs, so the adjustment respects their dependence.
    p = (b + 1) / (resamples + 1). A pair without any difference has p = 1 and is not counted. Ties as in
    `randomization_test`.

    Parameters
    ----------
    values : array_like
        One row per query, one column per run and metric.
    pairs : sequence of tuple
        The two columns of each difference, second minus first.
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
    WestfallYoung
    """
    matrix = checked(values, "values")
    first, second = _columns(pairs, matrix.shape[1])
    statistics, ones = np.zeros(len(first)), [np.ones(len(first)) for _ in range(3)]
    parent = _families(first, second, matrix.shape[1])
    sizes, mask = np.zeros(len(first)), np.zeros(1, dtype=bool)
    for part in _parts(len(matrix), len(first)):
        differences = units(matrix[:, second[part]] - matrix[:, first[part]], clusters)
        sizes[part] = np.abs(differences).sum(axis=0)
        mask = mask | differences.any(axis=1)
    # Pairs need only what a column is above another one of its family, which is smaller and so finer.
    matrix = units(matrix - matrix[:, parent], clusters)
    scale = np.abs(matrix).sum(axis=0)
    np.maximum.at(scale, first, sizes)
    scale = _biggest(scale, parent)
    some = sizes > _UNSEEN * len(matrix) * scale[first]
    drawn = make_signs(resamples, seed, mask, signs)
    if not some.any():
        return WestfallYoung(statistics, *ones)
    fine = padded(whole(matrix[mask], scale), drawn.padded)
    family = _Family(fine, first[some], second[some], drawn)
    statistics[some] = family.statistics
    totals = counts(family.count, drawn, fine.shape[1] + len(first) // 8, threads)
    for answer, count in zip(ones, totals, strict=True):
        answer[some] = (family.back(count) + 1) / (drawn.count + 1)
    p, single_step, step_down = ones
    step_down[some] = family.monotone(step_down[some])
    return WestfallYoung(statistics, p, single_step, step_down)


def _columns(pairs: Sequence[tuple[int, int]], width: int) -> tuple[Ints, Ints]:
    both = np.asarray(pairs)
    if both.ndim != 2 or both.shape[1] != 2 or both.dtype.kind not in "iu":
        raise InputError("pairs must be one or more pairs of column numbers")
    for number, pair in enumerate(both.tolist()):
        if not all(0 <= column < width for column in pair):
            raise InputError(f"pairs[{number}] is {tuple(pair)}, but there are columns 0 to {width - 1}")
    return both[:, 0].astype(np.int64), both[:, 1].astype(np.int64)


def _parts(rows: int, pairs: int) -> Iterator[slice]:
    """So many pairs at a time that their differences take little memory."""
    step = max(1, _CELLS // rows)
    return (slice(start, start + step) for start in range(0, pairs, step))


def _families(first: Ints, second: Ints, width: int) -> Ints:
    """For each column the lowest one that pairs link it with."""
    parent: Ints = np.arange(width)
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        low, high = sorted((parent[one], parent[other]))
        parent[parent == high] = low
    return parent


def _biggest(numbers: Floats, parent: Ints) -> Floats:
    """For each column the largest number of its family; 1 instead of 0."""
    largest = np.zeros_like(numbers)
    np.maximum.at(largest, parent, numbers)
    largest = largest[parent]
    return np.where(largest > 0, largest, 1.0)


class _Family:
    """Counts, for pairs that all differ somewhere, from the smallest statistic to the largest."""

    def __init__(self, fine: Floats, first: Ints, second: Ints, signs: Signs) -> None:
        self._signs = signs
        sums, sizes, squares = np.zeros((3, len(first)))
        for part in _parts(len(fine), len(first)):
            differences = fine[:, second[part]] - fine[:, first[part]]
            sums[part] = np.abs(differences.sum(axis=0))
            sizes[part] = np.abs(differences).sum(axis=0)
            squares[part] = np.einsum("ij,ij->j", differences, differences)
        length = np.sqrt(squares)
        self.statistics = sums / length
        self._order = np.argsort(self.statistics, kind="stable")
        self._first, self._second = first[self._order], second[self._order]
        bounds = (sums - TIE * sizes) / length
        # A column that is 0 everywhere, such as the first of a family, needs no product.
        used = fine.any(axis=0)
        place = np.where(used, np.cumsum(used) - 1, np.count_nonzero(used))
        self._first, self._second = place[self._first], place[self._second]
        self._fine = np.ascontiguousarray(fine[:, used])
        self._weight: Floats = (1 / length)[self._order, None]
        self._bound: Floats = bounds[self._order, None]
        self._by_bound = np.argsort(bounds[self._order], kind="stable")
        # A first look in float32 decides for most flips: its error has a bound, and the others get a second look.
        rough = coarse(self._fine, signs)
        rest = np.column_stack([rough.rest, np.zeros(len(fine))])
        error = np.zeros(len(first))
        for part in _parts(len(fine), len(first)):
            error[part] = np.abs(rest[:, self._second[part]] - rest[:, self._first[part]]).sum(axis=0)
        sums_off = np.append(rough.sums, 0.0)
        error = (error + sums_off[self._first] + sums_off[self._second]) * self._weight[:, 0]
        self._coarse: Singles | None = rough.columns if error.max() * len(first) < _UNSURE else None
        self._light = (self._weight * rough.unit).astype(np.float32)
        # Below `_from` and above `_to` a statistic of float32 is on the same side of the bound as the true one.
        spread = error.max() + np.abs(self._bound) * _ROUNDING
        self._from, self._to = ((self._bound + side * spread).astype(np.float32) for side in (-1, 1))

    def back(self, numbers: Any) -> Any:
        """From the order of statistics to the order of pairs."""
        answer = np.empty_like(numbers)
        answer[self._order] = numbers
        return answer

    def monotone(self, p: Floats) -> Floats:
        """No smaller p for a smaller statistic."""
        return self.back(np.maximum.accumulate(p[self._order][::-1])[::-1])

    def count(self, start: int, stop: int) -> Ints:
        """Flips that are as extreme: for the pair alone, for the largest of all, and of those not larger."""
        totals = np.zeros((3, len(self._order)), dtype=np.int64)
        if self._coarse is None:
            for block in self._signs.blocks(start, stop):
                self._sure(block, totals)
            return totals
        seconds = []  # flips that need a second look
        edges = self._from[self._by_bound, 0], self._to[self._by_bound, 0]
        tally = _Tally(len(self._order))
        for block in self._signs.blocks(start, stop):
            alone = self._statistics(self._signs.product(block, self._coarse), self._light)
            largest = _maxima(alone)
            low = np.searchsorted(edges[0], largest[-1], side="right")
            high = np.searchsorted(edges[1], largest[-1], side="left")
            unsure = low != high
            hits = []
            for one in (alone, largest):
                hit = one > self._to
                unsure |= np.logical_or.reduce((one >= self._from) ^ hit, axis=0)
                hits.append(hit)
            totals[1] += self._passed(high[~unsure])
            for number, hit in zip((0, 2), hits, strict=True):
                totals[number] -= np.count_nonzero(hit[:, unsure], axis=1)
            tally.add(hits)
            seconds.append(block[unsure])
            if sum(map(len, seconds)) > len(block):
                self._sure(np.concatenate(seconds), totals)
                seconds.clear()
        if seconds:
            self._sure(np.concatenate(seconds), totals)
        totals[::2] += tally.total()
        return totals

    def _sure(self, block: Singles, totals: Ints) -> None:
        alone = self._statistics(self._signs.product(block.astype(float), self._fine), self._weight)
        totals[0] += np.count_nonzero(alone >= self._bound, axis=1)
        largest = _maxima(alone)
        totals[2] += np.count_nonzero(largest >= self._bound, axis=1)
        totals[1] += self._passed(np.searchsorted(self._bound[self._by_bound, 0], largest[-1], side="right"))

    def _statistics(self, sums: NDArray[Real], weight: NDArray[Real]) -> NDArray[Real]:
        """One row per pair, one column per flip."""
        rows = np.zeros((sums.shape[1] + 1, len(sums)), dtype=sums.dtype)
        rows[:-1] = sums.T
        totals = rows[self._second]
        totals -= rows[self._first]
        np.abs(totals, out=totals)
        totals *= weight
        return totals

    def _passed(self, places: Ints) -> Ints:
        """How many flips pass each bound, from how many of the bounds each flip passes."""
        by_number = np.bincount(places, minlength=len(self._order) + 1)
        passed = np.empty(len(self._order), dtype=np.int64)
        passed[self._by_bound] = by_number[::-1].cumsum()[::-1][1:]
        return passed


def _maxima(statistics: NDArray[Real]) -> NDArray[Real]:
    """Row by row the largest so far."""
    largest = np.empty_like(statistics)
    largest[0] = statistics[0]
    for above, row, out in zip(largest[:-1], statistics[1:], largest[1:], strict=True):
        np.maximum(above, row, out=out)
    return largest


class _Tally:
    """Adds up tables of hits; bytes are added many times as fast as wider numbers."""

    def __init__(self, rows: int) -> None:
        self._totals = np.zeros((2, rows), dtype=np.int64)
        self._bytes: NDArray[np.uint8] | None = None
        self._added = 0

    def add(self, hits: Sequence[Bools]) -> None:
        if self._bytes is None or self._bytes.shape[2] < hits[0].shape[1] or self._added == 255:
            self.total()
            self._bytes = np.zeros((2, *hits[0].shape), dtype=np.uint8)
        for table, hit in zip(self._bytes, hits, strict=True):
            table[:, : hit.shape[1]] += hit.view(np.uint8)
        self._added += 1

    def total(self) -> Ints:
        if self._bytes is not None:
            self._totals += self._bytes.sum(axis=2, dtype=np.int64)
        self._bytes, self._added = None, 0
        return self._totals
