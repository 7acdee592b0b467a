"""Discounts by rank: tables of them, and their sums down to any depth."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankstone.align.functions import NUMPY, Discount, Values

Floats = NDArray[np.float64]

_FAR = 1 << 15  # ranks that are summed one by one, and at a time


@lru_cache(maxsize=64)
def discount_table(discount: Discount, depth: int, summed: bool = False) -> Floats:
    """discount(rank) by rank, or the sums down to each rank, to a depth at least; entry 0 of discounts is unused."""
    if depth & (depth - 1):
        return discount_table(discount, 1 << (depth - 1).bit_length(), summed)
    if summed:
        table = np.concatenate((np.zeros(1), np.cumsum(discount_table(discount, depth)[1:])))
    else:
        ranks = np.arange(depth + 1, dtype=np.float64)
        ranks[0] = 1.0
        table = discount(NUMPY, ranks)
    table.setflags(write=False)
    return table


def sums_of_discounts(discount: Discount, depths: Values, smooth: bool = False) -> Floats:
    """Sum of the first discounts, for each depth; in pieces, since a cutoff can be far deeper than memory.

    smooth: the further down, the straighter the discount's curve, so that far sums are areas under it.
    """
    levels, at = np.unique(np.asarray(depths, dtype=np.float64), return_inverse=True)
    sums, total, reached = np.zeros(len(levels)), 0.0, 0
    for i, level in enumerate(levels.tolist()):
        while reached < level:
            if smooth and reached >= _FAR:
                total, reached = total + _far_sum(discount, reached, level), int(level)
                break
            step = min(int(level) - reached, _FAR)
            total += float(discount(NUMPY, np.arange(reached + 1.0, reached + step + 1.0)).sum())
            reached += step
        sums[i] = total
    return sums[at].reshape(np.shape(depths))


def _far_sum(discount: Discount, first: float, last: float) -> float:
    """The sum of discount(rank) for ranks after the first, up to the last: Euler and Maclaurin's, from the midpoints.

    An integral by Gauss and Legendre, of stretches that double; then a correction for the curvature. The remainder is
    below the precision of a float for ranks beyond some thousands.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.append(first * 2.0 ** np.arange(np.ceil(np.log2(last / first))), last) + 0.5
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    area = float((discount(NUMPY, middle[:, None] + half[:, None] * nodes) @ weights * half).sum())
    before, after, at, beyond = discount(NUMPY, np.array([first, first + 1.0, last, last + 1.0])).tolist()
    return area - ((beyond - at) - (after - before)) / 24
