"""How many queries a difference needs, and how small a difference so many queries can find."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, ndtr, ndtri, stdtrit

from rankstone.align.alignment import Floats
from rankstone.statistics.checks import choice, level

ALTERNATIVES = ("two-sided", "greater", "less")


class Needed(NamedTuple):
    """How many queries are needed: where the power is met as a real number, and the next whole one."""

    n: float
    whole: int


def _density(z: Floats) -> Floats:
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _over_deviations(t: Floats, freedom: float, noncentrality: Floats) -> tuple[Floats, Floats]:
    """The tail as a mean over the standard deviation of the sample, and its slope.

    Its logarithm x has a density like exp(-freedom / 2 (exp(2 x) - 2 x)). Sums over equal steps of such smooth
    functions are exact but for rounding, and the sum of the weights is the constant of the density.
    """
    step = min(0.04, 0.5 / math.sqrt(2 * freedom))
    far = 80.0 / freedom  # ends where a weight is below exp(-80)
    left = -2 * math.sqrt(far) if far < 1 else -far - 0.5
    right = min(math.sqrt(far), 0.5 * math.log(4 * far + 8))
    x = np.arange(left, right + step, step)
    small = 2 * x**2 * (1 + x * (2 / 3 + x * (1 / 3 + x * (2 / 15 + x * (2 / 45 + x * 4 / 315)))))
    weights = np.exp(-0.5 * freedom * np.where(np.abs(x) < 1e-2, small, np.expm1(2 * x) - 2 * x))
    weights /= np.sum(weights)
    z = noncentrality[..., None] - t[..., None] * np.exp(x)
    return ndtr(z) @ weights, _density(z) @ weights


def _over_means(t: Floats, freedom: float, noncentrality: Floats) -> tuple[Floats, Floats]:
    """The tail as a mean over the mean of the sample, and its slope: where t is so large that the other has a step."""
    z = np.linspace(-13, 13, 105)
    weights = _density(z) * (z[1] - z[0])
    s = (noncentrality[..., None] + z) / t[..., None]
    below = gammainc(0.5 * freedom, 0.5 * freedom * np.maximum(s, 0.0) ** 2)
    return below @ weights, below @ (weights * z)


def tail_and_slope(t: ArrayLike, freedom: float, noncentrality: ArrayLike) -> tuple[Floats, Floats]:
    """How often a noncentral t is above t, and how fast this grows with the noncentrality."""
    limits, centres = np.broadcast_arrays(np.asarray(t, dtype=float), np.asarray(noncentrality, dtype=float))
    turn = np.where(limits < 0, -1.0, 1.0)
    limits, centres = limits * turn, centres * turn
    p, slope = np.empty(limits.shape), np.empty(limits.shape)
    step = (limits**2 > 2 * freedom) & (centres > 13)
    for at, tail in ((step, _over_means), (~step, _over_deviations)):
        if at.any():
            p[at], slope[at] = tail(limits[at], freedom, centres[at])
    return np.clip(np.where(turn < 0, 1 - p, p), 0.0, 1.0), slope


def noncentral_tail(t: ArrayLike, freedom: float, noncentrality: ArrayLike) -> Floats:
    """How often Student's t is above `t` if the true mean is `noncentrality` standard errors away from 0.

    The upper tail of the noncentral t distribution, right to about 13 decimals also where SciPy has NaN.
    """
    return tail_and_slope(t, _freedom(freedom), noncentrality)[0][()]


def solve(
    function: Callable[[Floats], tuple[Floats, Floats]],
    goal: Floats | float,
    start: float,
    low: float,
    high: float,
) -> Floats:
    """Where a rising share meets the goal; function gives the share and its slope.

    Newton's steps on the normal scale, where shares are nearly straight lines.
    """
    x, below, above = (np.full(np.shape(goal), one, dtype=float) for one in (start, low, high))
    for _ in range(200):
        p, slope = function(x)
        below, above = np.where(p < goal, x, below), np.where(p > goal, x, above)
        with np.errstate(all="ignore"):
            z = ndtri(p)
            new = x - (z - ndtri(goal)) * _density(z) / slope
        new = np.where(p == goal, x, np.where((new >= below) & (new <= above), new, 0.5 * (below + above)))
        if np.all(np.abs(new - x) <= 1e-13 * np.maximum(1.0, np.abs(x))):
            return new[()]
        x = new
    return x[()]


def _freedom(freedom: float) -> float:
    if not 0 < freedom < math.inf:
        raise ValueError(f"freedom={freedom!r} is not a number above 0")
    return float(freedom)


def _power(noncentrality: Floats, freedom: float, alpha: float, alternative: str) -> tuple[Floats, Floats]:
    if alternative == "two-sided":
        t = -stdtrit(freedom, alpha / 2)
        (above, rise), (below, fall) = (
            tail_and_slope(t, freedom, noncentrality),
            tail_and_slope(t, freedom, -noncentrality),
        )
        return above + below, rise - fall
    return tail_and_slope(
        -stdtrit(freedom, alpha), freedom, noncentrality if alternative == "greater" else -noncentrality
    )


def noncentral_power(
    noncentrality: ArrayLike, freedom: float, alpha: float = 0.05, alternative: str = "two-sided"
) -> Floats:
    """How often a t-test finds a true difference of so many standard errors, with these degrees of freedom."""
    choice(alternative, "alternative", ALTERNATIVES)
    centres = np.asarray(noncentrality, dtype=float)
    if not np.isfinite(centres).all():
        raise ValueError(f"noncentrality={noncentrality!r} is not finite")
    return np.minimum(_power(centres, _freedom(freedom), level(alpha, "alpha"), alternative)[0], 1.0)[()]


def detectable_noncentrality(
    freedom: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """How many standard errors a true difference must have to be found that often; below 0 for "less"."""
    choice(alternative, "alternative", ALTERNATIVES)
    freedom, goal, alpha = _freedom(freedom), level(power, "power"), level(alpha, "alpha")
    if alternative == "two-sided" and goal <= alpha:
        return 0.0  # as often as this there is an alarm without any difference
    side = "greater" if alternative == "less" else alternative
    t = -float(stdtrit(freedom, alpha / 2 if side == "two-sided" else alpha))
    far = 40 * (1 + abs(t))
    low = 0.0 if side == "two-sided" else -far
    start = max(t + float(ndtri(goal)) * math.sqrt(1 + t * t / (2 * freedom)), low)
    found = float(solve(lambda x: _power(x, freedom, alpha, side), goal, start, low, far))
    return -found if alternative == "less" else found


def power(effect: ArrayLike, n: float, alpha: float = 0.05, alternative: str = "two-sided") -> Floats:
    """How often n queries find a true difference of `effect` standard deviations of the differences (dz).

    The paired t-test on the noncentral t (Cohen 1988). "two-sided" counts both tails, that is also alarms of the wrong
    sign; "greater" at half the level counts the right ones only.

    >>> round(float(rs.statistics.power(0.2, 50)), 4)
    0.2836
    """
    if not n > 1:
        raise ValueError(f"n={n!r}: a t-test needs at least 2 queries")
    return noncentral_power(np.asarray(effect, dtype=float) * math.sqrt(n), n - 1, alpha, alternative)


def detectable(n: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided") -> float:
    """The smallest effect dz that n queries find that often; times the deviation of the differences it is a difference.

    >>> round(rs.statistics.detectable(50), 4)
    0.4042
    """
    if not n > 1:
        raise ValueError(f"n={n!r}: a t-test needs at least 2 queries")
    return detectable_noncentrality(n - 1, power, alpha, alternative) / math.sqrt(n)


def needed(effect: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided") -> Needed:
    """How many queries are needed to find a true difference of `effect` standard deviations that often; at least 2.

    >>> rs.statistics.needed(0.2).whole
    199
    """
    choice(alternative, "alternative", ALTERNATIVES)
    goal, alpha = level(power, "power"), level(alpha, "alpha")
    size = {"two-sided": abs(effect), "greater": effect, "less": -effect}[alternative]
    if not (math.isfinite(size) and size > 0):
        raise ValueError(f"effect={effect!r}: no number of queries finds it with alternative={alternative!r}")
    side = "two-sided" if alternative == "two-sided" else "greater"

    def short(n: float) -> float:
        return float(_power(np.asarray(size * math.sqrt(n)), n - 1, alpha, side)[0]) - goal

    if short(2.0) >= 0:
        return Needed(2.0, 2)
    high = 4.0
    while short(high) < 0:
        high *= 2
    low = max(high / 2, 2.0)
    while (n := (low + high) / 2) not in (low, high):
        low, high = (n, high) if short(n) < 0 else (low, n)
    return Needed(high, math.ceil(high))
