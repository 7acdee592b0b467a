"""How large a difference is, in units that do not depend on the metric."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import poch

from rankstone.align.alignment import Floats, Ints
from rankstone.statistics.checks import choice, level, paired
from rankstone.statistics.power import solve, tail_and_slope
from rankstone.statistics.student import student


class Effect(NamedTuple):
    """The size of a difference, second less first.

    dz is the mean difference in standard deviations of the differences, low and high its interval, hedges dz without
    its bias: dz times hedges_correction. d_av takes the mean variance of both runs instead. superiority is the share
    of queries that win, ties counted half. relative is the difference as a share of the first run's mean.
    """

    dz: float
    low: float
    high: float
    hedges_correction: float
    hedges: float
    d_av: float
    wins: int
    ties: int
    losses: int
    superiority: float
    relative: float


def hedges_correction(freedom: float, method: str = "exact") -> float:
    """What an effect size is multiplied with to take its bias away (Hedges 1981), or the "approximate" formula for it.

    NaN where it is not defined: below 2 degrees of freedom.
    """
    choice(method, "method", ("exact", "approximate"))
    if not freedom > 1:
        return math.nan
    if method == "approximate":
        return 1 - 3 / (4 * freedom - 1)
    # Gamma(m / 2) / (sqrt(m / 2) Gamma((m - 1) / 2)) without Gamma's own size
    return 1 / (math.sqrt(freedom / 2) * float(poch(freedom / 2, -0.5)))


def wins_ties_losses(first: Floats, second: Floats) -> tuple[Ints, Ints, Ints]:
    """In how many rows the second is higher, the same, and lower; what differs by rounding only is the same."""
    between = differences_of(first, second)
    wins, losses = (between > 0).sum(axis=0), (between < 0).sum(axis=0)
    return wins, len(first) - wins - losses, losses


def differences_of(first: Floats, second: Floats) -> Floats:
    """The second less the first; 0 where they differ by rounding only."""
    between = second - first
    return np.where(np.abs(between) <= 1e-12 * np.maximum(np.abs(first), np.abs(second)), 0.0, between)


def effect(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Effect:
    """How much better the second run is than the first, on the same queries.

    The interval of dz is by the noncentral t (Cumming and Finch 2001). If all differences are 0, or there is one query,
    dz is NaN; if they are all equal it is infinite. relative is NaN if the first run's mean is 0.

    >>> rs.statistics.effect([0.5, 0.2, 0.1], [0.6, 0.2, 0.5]).wins
    2
    """
    level(confidence, "confidence")
    one, two = paired(first, second)
    difference = two - one
    found = student(difference)
    n = difference.size
    wins, ties, losses = (int(count) for count in wins_ties_losses(one, two))
    deviation = float(found.error) * math.sqrt(n) if n > 1 else math.nan
    mean = float(found.mean)
    correction = hedges_correction(n - 1)
    dz = low = high = math.nan
    if deviation > 0:
        dz = mean / deviation
        low, high = _interval(dz * math.sqrt(n), n - 1, confidence) / math.sqrt(n)
    elif deviation == 0 and mean:
        dz = low = high = math.copysign(math.inf, mean)
    spread = math.sqrt((one.var(ddof=1) + two.var(ddof=1)) / 2) if n > 1 else math.nan
    base = float(one.mean())
    return Effect(
        dz, float(low), float(high), correction, correction * dz, mean / spread if spread else math.nan,
        wins, ties, losses, (wins + ties / 2) / n, mean / base if base else math.nan,
    )  # fmt: skip


def _interval(t: float, freedom: int, confidence: float) -> Floats:
    """The noncentralities that t is at the ends of."""
    outside = (1 - confidence) / 2
    far = 40 * (1 + abs(t))
    return solve(lambda x: tail_and_slope(t, freedom, x), np.array([outside, 1 - outside]), t, t - far, t + far)
