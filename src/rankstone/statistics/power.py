"""Effect sizes, statistical power and sample sizes of the paired t-test."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, ndtr, ndtri, poch, stdtrit

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.statistics.student_t import choice, level, paired, student

ALTERNATIVES = ("two-sided", "greater", "less")


class SampleSize(NamedTuple):
    """A sample size: `n` as a real number, and `whole`, the next integer."""

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
    """Upper tail probability of the noncentral t distribution.

    Accurate to about 13 decimals, also where SciPy returns NaN.

    Parameters
    ----------
    t : array_like
        The quantile.
    freedom : float
        Degrees of freedom.
    noncentrality : array_like
        Noncentrality: the true mean in standard errors.

    Returns
    -------
    ndarray or float
    """
    return tail_and_slope(t, _freedom(freedom), noncentrality)[0][()]


def solve(
    function: Callable[[Floats], tuple[Floats, Floats]], goal: Floats | float, start: float, low: float, high: float
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
        raise InputError(f"freedom={freedom!r} is not a number above 0")
    return float(freedom)


def _power(noncentrality: Floats, freedom: float, alpha: float, alternative: str) -> tuple[Floats, Floats]:
    if alternative == "two-sided":
        t = -stdtrit(freedom, alpha / 2)
        (above, rise), (below, fall) = (tail_and_slope(t, freedom, side) for side in (noncentrality, -noncentrality))
        return above + below, rise - fall
    side = noncentrality if alternative == "greater" else -noncentrality
    return tail_and_slope(-stdtrit(freedom, alpha), freedom, side)


def noncentral_power(
    noncentrality: ArrayLike, freedom: float, alpha: float = 0.05, alternative: str = "two-sided"
) -> Floats:
    """Power of a t-test by its noncentrality.

    Parameters
    ----------
    noncentrality : array_like
        The true difference in standard errors.
    freedom : float
        Degrees of freedom.
    alpha : float, default 0.05
        Significance level.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    ndarray or float
    """
    choice(alternative, "alternative", ALTERNATIVES)
    centres = np.asarray(noncentrality, dtype=float)
    if not np.isfinite(centres).all():
        raise InputError(f"noncentrality={noncentrality!r} is not finite")
    return np.minimum(_power(centres, _freedom(freedom), level(alpha, "alpha"), alternative)[0], 1.0)[()]


def detectable_noncentrality(
    freedom: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Smallest detectable noncentrality of a t-test.

    Parameters
    ----------
    freedom : float
        Degrees of freedom.
    power : float, default 0.8
        Probability of detecting it.
    alpha : float, default 0.05
        Significance level.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    float
        The true difference in standard errors; below 0 for "less".
    """
    choice(alternative, "alternative", ALTERNATIVES)
    freedom, goal, alpha = _freedom(freedom), level(power, "power"), level(alpha, "alpha")
    if alternative == "two-sided" and goal <= alpha:
        return 0.0  # as often as this there is an alarm without any difference
    side = "greater" if alternative == "less" else alternative
    t = -float(stdtrit(freedom, alpha / 2 if side == "two-sided" else alpha))
    far = 40 * (1 + abs(t))
    low = 0.0 if side == "two-sided" else -far
    start = max(t + float(ndtri(goal)) * math.sqrt(1 + t * t / (2 * freedom)), low)
    solution = float(solve(lambda x: _power(x, freedom, alpha, side), goal, start, low, far))
    return -solution if alternative == "less" else solution


def _root(n: float) -> float:
    if not n > 1:
        raise InputError(f"n={n!r}: a t-test needs at least 2 queries")
    return math.sqrt(n)


def power(effect: ArrayLike, n: float, alpha: float = 0.05, alternative: str = "two-sided") -> Floats:
    """Power of the paired t-test (Cohen 1988).

    "two-sided" includes rejections with the wrong sign; "greater" at half the level excludes them.

    Parameters
    ----------
    effect : array_like
        True difference in standard deviations of the differences (d_z).
    n : float
        Number of queries.
    alpha : float, default 0.05
        Significance level.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    ndarray or float

    Examples
    --------
    >>> round(float(rs.statistics.power(0.2, 50)), 4)
    0.2836
    """
    return noncentral_power(np.asarray(effect, dtype=float) * _root(n), n - 1, alpha, alternative)


def detectable(n: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided") -> float:
    """Smallest detectable effect of the paired t-test.

    Parameters
    ----------
    n : float
        Number of queries.
    power : float, default 0.8
        Probability of detecting it.
    alpha : float, default 0.05
        Significance level.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    float
        The effect d_z; multiply by the standard deviation of the differences for a difference.

    Examples
    --------
    >>> round(rs.statistics.detectable(50), 4)
    0.4042
    """
    root = _root(n)
    return detectable_noncentrality(n - 1, power, alpha, alternative) / root


def sample_size(effect: float, power: float = 0.8, alpha: float = 0.05, alternative: str = "two-sided") -> SampleSize:
    """Number of queries that the paired t-test needs.

    Parameters
    ----------
    effect : float
        True difference in standard deviations of the differences (d_z).
    power : float, default 0.8
        Probability of detecting it.
    alpha : float, default 0.05
        Significance level.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    SampleSize
        At least 2.

    Examples
    --------
    >>> rs.statistics.sample_size(0.2).whole
    199
    """
    choice(alternative, "alternative", ALTERNATIVES)
    goal, alpha = level(power, "power"), level(alpha, "alpha")
    size = {"two-sided": abs(effect), "greater": effect, "less": -effect}[alternative]
    if not (math.isfinite(size) and size > 0):
        raise InputError(f"effect={effect!r}: no number of queries finds it with alternative={alternative!r}")
    side = "two-sided" if alternative == "two-sided" else "greater"

    def short(n: float) -> float:
        return float(_power(np.asarray(size * math.sqrt(n)), n - 1, alpha, side)[0]) - goal

    if short(2.0) >= 0:
        return SampleSize(2.0, 2)
    high = 4.0
    while short(high) < 0:
        high *= 2
    low = max(high / 2, 2.0)
    while (n := (low + high) / 2) not in (low, high):
        low, high = (n, high) if short(n) < 0 else (low, n)
    return SampleSize(high, math.ceil(high))


# -- the size of a difference --------------------------------------------------------------------------------------


class Effect(NamedTuple):
    """Effect sizes of a difference, second minus first.

    Attributes
    ----------
    dz, low, high : float
        Mean difference in standard deviations of the differences (Cohen's d_z), and its confidence interval.
    hedges_correction, hedges : float
        Hedges' bias correction factor, and d_z multiplied by it.
    d_av : float
        Mean difference divided by the root of the mean variance of both runs.
    wins, ties, losses : int
        Number of queries where the second run is higher, equal and lower.
    superiority : float
        Probability of superiority, ties counted half.
    relative : float
        Difference relative to the mean of the first run.
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
    """Hedges' bias correction factor of an effect size (1981).

    Parameters
    ----------
    freedom : float
        Degrees of freedom.
    method : str, default "exact"
        "exact", or "approximate" for 1 - 3 / (4 m - 1).

    Returns
    -------
    float
        NaN below 2 degrees of freedom.
    """
    choice(method, "method", ("exact", "approximate"))
    if not freedom > 1:
        return math.nan
    if method == "approximate":
        return 1 - 3 / (4 * freedom - 1)
    # Gamma(m / 2) / (sqrt(m / 2) Gamma((m - 1) / 2)) without Gamma's own size
    return 1 / (math.sqrt(freedom / 2) * float(poch(freedom / 2, -0.5)))


def wins_ties_losses(first: Floats, second: Floats) -> tuple[Ints, Ints, Ints]:
    """Number of queries where the second run is higher, equal and lower; rounding errors count as equal.

    Parameters
    ----------
    first, second : ndarray
        One value per query, or matrices with one row per query.

    Returns
    -------
    tuple of three ndarray
        Wins, ties and losses.
    """
    between = differences_of(first, second)
    wins, losses = (between > 0).sum(axis=0), (between < 0).sum(axis=0)
    return wins, len(first) - wins - losses, losses


def differences_of(first: Floats, second: Floats) -> Floats:
    """Second minus first; 0 where they differ by rounding errors only.

    Parameters
    ----------
    first, second : ndarray
        Values of the same queries.

    Returns
    -------
    ndarray
    """
    between = second - first
    return np.where(np.abs(between) <= 1e-12 * np.maximum(np.abs(first), np.abs(second)), 0.0, between)


def effect(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Effect:
    """Effect sizes of the difference between two runs on the same queries.

    The interval of d_z is by the noncentral t (Cumming and Finch 2001). d_z is NaN for a single query or if all
    differences are 0, and infinite if they are equal otherwise.

    Parameters
    ----------
    first, second : array_like
        One value per query.
    confidence : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Effect

    Examples
    --------
    >>> rs.statistics.effect([0.5, 0.2, 0.1], [0.6, 0.2, 0.5]).wins
    2
    """
    level(confidence, "confidence")
    one, two = paired(first, second)
    difference = two - one
    fit = student(difference)
    n = difference.size
    wins, ties, losses = (int(count) for count in wins_ties_losses(one, two))
    deviation = float(fit.error) * math.sqrt(n) if n > 1 else math.nan
    mean = float(fit.mean)
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
