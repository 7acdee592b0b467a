"""Tests that need an order only: Wilcoxon's and the sign test."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, ndtr

from rankstone.data.annotations import Floats, Ints
from rankstone.statistics.checks import choice, differences
from rankstone.statistics.intervals import share
from rankstone.statistics.power import ALTERNATIVES

EXACT_BY_ITSELF = 200  # sign patterns of so many ranks are counted in milliseconds
EXACT_AT_MOST = 1000  # takes seconds; 2 ** -1000 is about the smallest share that a float holds
NOISE = 1e-12  # of the largest difference: 0.3 - 0.2 and 0.2 - 0.1 are the same


class Wilcoxon(NamedTuple):
    """Wilcoxon's signed ranks: the smaller rank sum, that of the positive differences, and what follows from them.

    p is that of the alternative asked for; greater and less are the one-sided ones. sizes: how many different sizes the
    differences have, without 0.
    """

    statistic: float
    v: float
    z: float
    p: float
    greater: float
    less: float
    sizes: int
    exact: bool


class Sign(NamedTuple):
    """Wins, ties and losses; m is half of wins less losses; share is that of wins among both, with its interval."""

    wins: int
    ties: int
    losses: int
    m: float
    p: float
    greater: float
    less: float
    share: float
    low: float
    high: float


def _sizes(difference: Floats) -> Ints:
    """A number for each size of difference, rising, 0 for none. Sizes that lie together as near as noise are one."""
    size = np.concatenate(([0.0], np.abs(difference)))
    order = np.argsort(size)
    gaps = np.diff(size[order]) > NOISE * size.max()
    numbers = np.empty(size.size, dtype=np.int64)
    numbers[order] = np.concatenate(([0], np.cumsum(gaps)))
    return numbers[1:]


def _patterns(ranks: Floats) -> Floats:
    """How often each sum of ranks comes up if each has a coin of its own; ranks are whole or half, sums doubled."""
    doubled = np.sort(np.rint(2 * ranks).astype(np.int64))
    shares = np.zeros(int(doubled.sum()) + 1)
    shares[0] = 0.5**doubled.size
    top = 1
    for rank in doubled.tolist():
        shares[rank : top + rank] += shares[:top]
        top += rank
    return shares


def wilcoxon(
    difference: ArrayLike,
    *,
    zeros: str = "wilcox",
    correction: bool = False,
    method: str = "auto",
    alternative: str = "two-sided",
) -> Wilcoxon:
    """Wilcoxon's signed-rank test (1945): are the differences symmetric about 0. It is no test of the mean.

    zeros: "wilcox" leaves differences of 0 out, "pratt" (Pratt 1959) ranks them and leaves them out afterwards,
    "zsplit" gives half of their ranks to each side. Sizes that differ by rounding only are tied. method: "exact" counts
    all patterns of signs, also with ties, "asymptotic" is the normal approximation, "auto" is exact up to 200
    differences that are not 0. correction: for continuity, of the approximation. p is 1 if nothing differs.

    >>> rs.statistics.wilcoxon([1.1, -0.4, 2.3, 0.9, -1.7, 3.1, 0.2, 1.6]).p
    0.1953125
    """
    choice(zeros, "zeros", ("wilcox", "pratt", "zsplit"))
    choice(method, "method", ("auto", "exact", "asymptotic"))
    choice(alternative, "alternative", ALTERNATIVES)
    array = differences(difference)
    numbers = _sizes(array)
    sizes = int(numbers.max())
    if zeros == "wilcox":
        array, numbers = array[numbers > 0], numbers[numbers > 0]
    counts = np.bincount(numbers, minlength=1)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[numbers]
    moves = numbers > 0
    half = float(ranks[~moves].sum()) / 2 if zeros == "zsplit" else 0.0
    v, opposite = float(ranks[moves & (array > 0)].sum()), float(ranks[moves & (array < 0)].sum())
    statistic = min(v, opposite) + half
    n = int(moves.sum())
    exact = method == "exact" or (method == "auto" and n <= EXACT_BY_ITSELF)
    if n == 0:
        return Wilcoxon(statistic, v + half, math.nan, 1.0, 1.0, 1.0, sizes, exact)

    used = ranks if zeros == "zsplit" else ranks[moves]
    error = math.sqrt(float((used**2).sum())) / 2
    distance = (v - opposite) / 2
    off = 0.5 if correction and not exact else 0.0
    z = math.copysign(abs(distance) - off, distance) / error if distance else 0.0
    if exact:
        if n > EXACT_AT_MOST:
            raise ValueError(f"method='exact' is for at most {EXACT_AT_MOST} differences that are not 0; there are {n}")
        shares = _patterns(ranks[moves])
        at = round(2 * v)
        greater, less = float(shares[at:].sum()), float(shares[: at + 1].sum())
        both = 2 * min(greater, less)
    else:
        greater, less = float(ndtr(-(distance - off) / error)), float(ndtr((distance + off) / error))
        both = 2 * float(ndtr(-abs(z)))
    p = {"two-sided": min(1.0, both), "greater": min(1.0, greater), "less": min(1.0, less)}[alternative]
    return Wilcoxon(statistic, v + half, z, p, min(1.0, greater), min(1.0, less), sizes, exact)


def sign(difference: ArrayLike, confidence: float = 0.95) -> Sign:
    """The sign test (Arbuthnot 1710): do more queries win than lose. Ties are left out.

    The interval is that of the share of wins among wins and losses, exact (Clopper and Pearson 1934).

    >>> rs.statistics.sign([0.5, 0.25, 0.0, -0.125]).wins
    2
    """
    array = differences(difference)
    wins, losses = int((array > 0).sum()), int((array < 0).sum())
    n = wins + losses
    ties = array.size - n
    portion, low, high = math.nan, 0.0, 1.0
    if n:
        interval = share(wins, n, confidence, "exact")
        portion, low, high = wins / n, float(interval.low), float(interval.high)
    greater, less = float(bdtr(losses, n, 0.5)), float(bdtr(wins, n, 0.5))
    p = min(1.0, 2 * min(greater, less))
    return Sign(wins, ties, losses, (wins - losses) / 2, p, greater, less, portion, low, high)
