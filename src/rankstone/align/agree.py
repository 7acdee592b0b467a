"""Two orders of the same items compared, query by query: pairs, and what both lists hold down to each depth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def mean_ranks(values: Floats, query: Ints, offsets: Ints) -> Floats:
    """Each value's rank among those of its query, the lowest first; equal values share their mean rank."""
    order = np.lexsort((values, query))
    values, query = values[order], query[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (values[1:] != values[:-1]) | (query[1:] != query[:-1])
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(starts + (sizes + 1) / 2.0, sizes) - offsets[query]
    return ranks


def compared(x: Floats, y: Floats) -> tuple[float, float, float, float]:
    """Pairs placed the same way less those placed opposite ways; pairs untied in x, in y; pairs tied in either."""
    balance = x_pairs = y_pairs = tied = 0.0
    for dx, dy in _differences(x, y):
        balance += float((dx * dy).sum())
        x_pairs += np.count_nonzero(dx)
        y_pairs += np.count_nonzero(dy)
        tied += np.count_nonzero((dx == 0) | (dy == 0))
    return balance / 2, x_pairs / 2, y_pairs / 2, (tied - len(x)) / 2  # an item is tied with itself


def right_above(merit: Floats) -> Floats:
    """For each item but the first the share of those above it that are better; equal ones count half."""
    out, row = np.zeros(len(merit)), 0
    for _, difference in _differences(merit, merit):
        right = np.where(difference < 0, 1.0, np.where(difference == 0, 0.5, 0.0))
        above = np.tril(right, row - 1).sum(axis=1)  # each row of `difference` is one item against all
        out[row : row + len(above)] = above / np.maximum(np.arange(row, row + len(above)), 1)
        row += len(above)
    return out


def overlap(depths: Floats, short: int, long: int, p: float) -> float:
    """Rank-biased overlap, extrapolated, from the depth at which each common item is in both lists."""
    if short == 0:
        return 1.0 if long == 0 else 0.0
    shared = np.cumsum(np.bincount(depths.astype(np.int64), minlength=long + 1)[: long + 1])[1:].astype(np.float64)
    d = np.arange(1.0, long + 1)
    beyond = np.maximum(d - short, 0.0) * shared[short - 1] / short
    series = float((((shared + beyond) / d) * np.power(p, d)).sum()) * (1 - p) / p
    tail = (shared[long - 1] - shared[short - 1]) / long + shared[short - 1] / short
    return series + float(tail) * p**long


def _differences(x: Floats, y: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The sign of every item's difference to every other, a block of items at a time to keep memory flat."""
    for start in range(0, len(x), 256):
        block = slice(start, start + 256)
        yield _sign(x[block, None], x), _sign(y[block, None], y)


def _sign(a: Floats, b: Floats) -> Floats:
    """1, 0 or -1 as a is above, equal to or below b; infinite values included."""
    return (a > b).astype(np.float64) - (a < b)
