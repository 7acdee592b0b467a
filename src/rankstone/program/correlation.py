"""Two orders of the same items compared, query by query: pairs, and what both lists hold down to each depth."""

from __future__ import annotations

import numpy as np

from rankstone.align.alignment import Floats, Ints, equal_runs


def mean_ranks(values: Floats, query: Ints, offsets: Ints) -> Floats:
    """Each value's rank among those of its query, the lowest first; equal values share their mean rank."""
    order, starts, sizes = _equal(query, values)
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(starts + (sizes + 1) / 2.0, sizes)
    return ranks - offsets[query]


def compared(x: Floats, y: Floats, query: Ints, offsets: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """By query: pairs placed the same way less those placed opposite ways; pairs untied in x, in y; tied in either.

    Knight, 1966: in the order of x, a pair is placed the same way if the first has the smaller y.
    """
    queries = len(offsets) - 1
    sizes = np.diff(offsets).astype(np.float64)
    pairs = sizes * (sizes - 1) / 2
    order = np.lexsort((-y, x, query))  # of equal x the higher y goes first, and so is not counted
    x, y = x[order], y[order]
    by_y = _equal(query, y)
    runs = equal_runs(query, x), by_y[1:], equal_runs(query, x, y)
    in_x, in_y, in_both = (_tied_pairs(query, queries, *each) for each in runs)
    tied = in_x + in_y - in_both
    same = np.bincount(query, smaller_before(y, query, offsets, by_y), minlength=queries)
    return 2 * same - (pairs - tied), pairs - in_x, pairs - in_y, tied


def right_above(merit: Floats, query: Ints, offsets: Ints) -> Floats:
    """For each item but the first the share of those above it that are better; equal ones count half."""
    order, starts, sizes = _equal(query, merit)
    equal = np.empty(len(order))
    equal[order] = np.arange(len(order)) - np.repeat(starts, sizes)  # the sort keeps equal ones as they stood
    above = np.arange(len(order)) - offsets[query]
    return (smaller_before(-merit, query, offsets) + equal / 2) / np.maximum(above, 1)


def smaller_before(values: Floats, query: Ints, offsets: Ints, by_value: tuple[Ints, Ints, Ints] | None = None) -> Ints:
    """For each item how many earlier ones of its query have a smaller value.

    Values are numbered, and the numbers compared bit by bit from the highest. Items that were equal so far form a
    group; in it, those with a 0 are smaller than those with a 1. Then each group falls into these two.
    """
    order, starts, sizes = _equal(query, values) if by_value is None else by_value
    numbers = np.repeat(np.arange(len(starts)), sizes)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = numbers - numbers[offsets[query]]  # from 0 in each query
    count = np.zeros(len(order), dtype=np.int64)
    item, place = np.arange(len(order)), np.arange(len(order))
    start, end = offsets[query], offsets[query + 1]  # of each place's group
    for bit in reversed(range(int(number.max(initial=0)).bit_length())):
        one = (number[item] >> bit & 1).astype(bool)
        zeros = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(~one)))  # before each place
        before, middle = zeros[:-1] - zeros[start], start + zeros[end] - zeros[start]
        count[item[one]] += before[one]
        to = np.where(one, middle + place - start - before, start + before)
        start, end = np.where(one, middle, start), np.where(one, end, middle)
        back = np.empty_like(to)
        back[to] = place
        item, start, end = item[back], start[back], end[back]
    return count


def overlap(rank: Ints, above: Ints, last: Ints, short: int, long: int, p: float) -> float:
    """Rank-biased overlap, extrapolated, of the run and the truth.

    rank: of each common item in the run; it stands in the truth after `above` others, at any place up to `last`.
    """
    if short == 0:
        return 1.0 if long == 0 else 0.0
    shared = _shared(rank, above, last, long)
    d = np.arange(1.0, long + 1)
    beyond = np.maximum(d - short, 0.0) * shared[short - 1] / short
    series = float((((shared + beyond) / d) * np.power(p, d)).sum()) * (1 - p) / p
    tail = (shared[long - 1] - shared[short - 1]) / long + shared[short - 1] / short
    return series + float(tail) * p**long


def _shared(rank: Ints, above: Ints, last: Ints, depth: int) -> Floats:
    """How many items both lists hold, expected, at each depth.

    From the depth where an item can be in both, its chance grows by as much at each place until it is 1.
    """
    first, chance = np.maximum(rank, above + 1), 1.0 / (last - above)
    grows = first < last

    def sums(at: Ints, values: Floats) -> Floats:
        return np.bincount(np.minimum(at, depth + 1), values, minlength=depth + 2).astype(np.float64)

    slope = sums(first[grows] + 1, chance[grows]) - sums(last[grows] + 1, chance[grows])
    steps = sums(first, (np.minimum(first, last) - above) * chance)
    return np.cumsum(steps + np.cumsum(slope))[1 : depth + 1]


def _equal(query: Ints, values: Floats) -> tuple[Ints, Ints, Ints]:
    """Items by value, each query's where they were; where those begin that have the same, and how many they are."""
    order = np.lexsort((values, query))
    return order, *equal_runs(query, values[order])


def _tied_pairs(query: Ints, queries: int, starts: Ints, sizes: Ints) -> Floats:
    """By query, how many pairs of items are in the same run of equal values."""
    pairs = sizes * (sizes - 1.0) / 2
    return np.bincount(query[starts], pairs, minlength=queries).astype(np.float64)
