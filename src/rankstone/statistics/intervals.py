"""Confidence intervals of a mean: Student's t, Hall's, of proportions, and by the bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.progress import Progress, watched
from rankstone.statistics.student_t import choice, cluster_numbers, finite, level, student

BOOTSTRAPS = {
    "bca": "bootstrap, corrected for bias and skewness",
    "percentile": "percentile bootstrap",
    "basic": "basic bootstrap",
    "studentised": "bootstrap of Student's t",
}
CHUNK = 500_000  # values drawn at a time
NOISE = 1e-12  # of the size of the values: means that are equal but for rounding


class Interval(NamedTuple):
    """A confidence interval of a mean; for a matrix the numbers are arrays, one value per column.

    Attributes
    ----------
    low, high : float or ndarray
        The interval.
    error : float or ndarray
        Standard error of the mean.
    method : str
        Name of the method.
    confidence : float
        Confidence level.
    mean : float or ndarray
        The mean.
    skewness : float or ndarray
        Skewness of the values, for Hall's interval; else NaN.
    z0, acceleration, share_below : float
        Parameters of the BCa interval; `share_below` is the share of resampled means below the mean. Else NaN.
    used : int
        Number of resamples used.
    """

    low: Any
    high: Any
    error: Any
    method: str
    confidence: float
    mean: Any
    skewness: Any = math.nan
    z0: float = math.nan
    acceleration: float = math.nan
    share_below: float = math.nan
    used: int = 0


def hall_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Confidence interval of a mean by Hall's transformation of t (1992), for skewed values such as reciprocal ranks.

    Equal to Student's interval for values without skewness; infinite for a single value.

    Parameters
    ----------
    values : array_like
        One value per query, or a matrix with one row per query, whose columns are treated separately.
    confidence : float, default 0.95
        Confidence level.

    Returns
    -------
    Interval
    """
    array = finite(values, "values", (1, 2))
    level(confidence, "confidence")
    fit = student(array)
    n = len(array)
    low, high = fit.interval(confidence)
    rest = array - fit.mean
    second, third = (np.add.reduce(rest**power, axis=0) / n for power in (2, 3))
    flat = np.asarray(fit.error) == 0
    with np.errstate(all="ignore"):
        skewness = np.where(flat, 0.0, third / second**1.5)
        if n > 1:
            q = stdtrit(n - 1, (1 + confidence) / 2)
            for_mean = skewness / math.sqrt(n)
            low = np.where(np.abs(skewness) < 1e-9, low, fit.mean - fit.error * hall_transform(q, for_mean))
            high = np.where(np.abs(skewness) < 1e-9, high, fit.mean - fit.error * hall_transform(-q, for_mean))
    return Interval(low[()], high[()], fit.error[()], "hall", confidence, fit.mean, skewness[()])


def hall_transform(q: float, skewness: ArrayLike) -> Floats:
    """The t whose transformation is q; skewness: that of the mean."""
    skewness = np.asarray(skewness, dtype=float)
    inside = skewness * (q - skewness / 6)
    # cbrt(1 + x) - 1 without a loss of digits for small x
    with np.errstate(all="ignore"):
        root = np.where(inside > -0.5, np.expm1(np.log1p(inside) / 3), np.cbrt(1 + inside) - 1)
        return np.where(np.abs(skewness) < 1e-12, q, 3 / skewness * root)[()]


def proportion_interval(hits: ArrayLike, n: ArrayLike, confidence: float = 0.95, method: str = "wilson") -> Interval:
    """Confidence interval of a proportion, such as the share of queries with a hit.

    Parameters
    ----------
    hits : array_like
        Number of successes.
    n : array_like
        Number of trials.
    confidence : float, default 0.95
        Confidence level.
    method : str, default "wilson"
        "wilson" (Wilson 1927), "jeffreys" (Brown, Cai and DasGupta 2001) or "exact" (Clopper and Pearson 1934,
        conservative).

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If `hits` is not between 0 and `n`.
    """
    choice(method, "method", ("wilson", "jeffreys", "exact"))
    level(confidence, "confidence")
    successes, trials = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(n, dtype=float))
    finite_counts = np.isfinite(successes) & np.isfinite(trials)
    if not (finite_counts & (successes >= 0) & (successes <= trials) & (trials > 0)).all():
        raise InputError(f"hits={hits!r}, n={n!r}: hits must lie between 0 and n, and n above 0")
    outside = (1 - confidence) / 2
    mean = successes / trials
    misses = trials - successes
    if method == "wilson":
        z2 = float(ndtri(outside)) ** 2
        centre = (successes + z2 / 2) / (trials + z2)
        half = np.sqrt(z2 * (successes * misses / trials + z2 / 4)) / (trials + z2)
        low = np.where(successes == 0, 0.0, centre - half)
        high = np.where(misses == 0, 1.0, centre + half)
    elif method == "jeffreys":
        low, high = (betaincinv(successes + 0.5, misses + 0.5, end) for end in (outside, 1 - outside))
    else:
        # 1 in place of a parameter that is 0, where the end is known
        low = np.where(successes == 0, 0.0, betaincinv(np.maximum(successes, 1), misses + 1, outside))
        high = np.where(misses == 0, 1.0, betaincinv(successes + 1, np.maximum(misses, 1), 1 - outside))
    return Interval(low[()], high[()], np.sqrt(mean * (1 - mean) / trials)[()], method, confidence, mean[()])


def bootstrap_draws(units: int, resamples: int, seed: int, progress: Progress) -> Iterator[Ints]:
    """Bootstrap samples of so many units, a row of indices each, some rows at a time."""
    generator = np.random.Generator(np.random.Philox(seed))
    rows = max(1, CHUNK // units)
    starts = range(0, resamples, rows)
    for start in progress.of(starts, len(starts)):
        yield generator.integers(0, units, size=(min(rows, resamples - start), units))


def bootstrap(
    values: ArrayLike,
    *,
    method: str = "bca",
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
    indices: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Bootstrap confidence interval of a mean (Efron 1979).

    For differences of fewer than 100 queries, the coverage of Student's interval is closer to its level.

    Parameters
    ----------
    values : array_like
        One value per query.
    method : str, default "bca"
        "percentile", "basic", "bca" (corrected for bias and skewness, Efron 1987) or "studentised" (Hall 1988).
    confidence : float, default 0.95
        Confidence level.
    resamples : int, default 9999
        Number of bootstrap samples.
    seed : int, default 0
        Random seed.
    indices : array_like, optional
        The bootstrap samples themselves: one row of indices per sample, of values or of clusters.
    clusters : array_like, optional
        The cluster of each value; clusters are resampled as a whole.

    Returns
    -------
    Interval
    """
    choice(method, "method", BOOTSTRAPS)
    level(confidence, "confidence")
    array = finite(values, "values")
    sums, sizes = array, np.ones(array.size)
    if clusters is not None:
        numbers = cluster_numbers(clusters, array.size)
        sums, sizes = (np.bincount(numbers, one).astype(float) for one in (sums, sizes))
    units = sums.size
    if units < 2:
        raise InputError(f"{units} {'values' if clusters is None else 'clusters'}: to draw again at least 2 are needed")
    if indices is None:
        if resamples < 1:
            raise InputError(f"resamples={resamples!r} is not above 0")
    else:
        samples = np.asarray(indices, dtype=np.int64)
        if samples.ndim != 2 or samples.shape[1] != units or samples.size == 0:
            raise InputError(f"indices has the shape {samples.shape}, not (resamples, {units})")
        if samples.min() < 0 or samples.max() >= units:
            raise InputError(f"indices has numbers outside 0 .. {units - 1}")

    with watched("drawing queries again") as progress:
        draws = iter([samples]) if indices is not None else bootstrap_draws(units, resamples, seed, progress)
        parts = [_resampled(sums, sizes, drawn, method == "studentised") for drawn in draws]
    means, errors = (np.concatenate(one) for one in zip(*parts, strict=True))
    whole = float(sizes.sum())
    mean = float(np.add.reduce(sums)) / whole
    error = float(means.std(ddof=1)) if means.size > 1 else math.nan
    outside = (1 - confidence) / 2
    ends = np.array([outside, 1 - outside])
    noise = NOISE * float(np.abs(array).max())
    used = means.size
    z0 = acceleration = below = math.nan
    if method == "studentised":
        counts = errors > noise  # a resample of one value only has no t
        used = int(counts.sum())
        centre = float(_resampled(sums, sizes, np.arange(units)[None], True)[1][0])
        t = np.quantile((means[counts] - mean) / errors[counts], ends[::-1]) if used else np.full(2, math.nan)
        low, high = (mean - t * centre) if centre > noise else (mean, mean)
    else:
        if method == "bca":
            below = float(np.mean((means < mean - noise) + 0.5 * (np.abs(means - mean) <= noise)))
            z0 = float(ndtri(below))
            left = (mean * whole - sums) / (whole - sizes)
            rest = left.mean() - left
            cubes, squares = float((rest**3).sum()), float((rest**2).sum())
            acceleration = cubes / (6 * squares**1.5) if math.sqrt(squares) > noise / units else 0.0
            z = z0 + ndtri(ends)
            ends = ndtr(z0 + z / (1 - acceleration * z))
        low, high = np.quantile(means, ends) if np.isfinite(ends).all() else (math.nan, math.nan)
        if method == "basic":
            low, high = 2 * mean - high, 2 * mean - low
    low, high, error, mean = np.array([low, high, error, mean])
    return Interval(
        low, high, error, method, confidence, mean,
        z0=z0, acceleration=acceleration, share_below=below, used=used,
    )  # fmt: skip


def _resampled(sums: Floats, sizes: Floats, drawn: Ints, errors: bool) -> tuple[Floats, Floats]:
    """Means of resamples, and their standard errors if asked for."""
    drawn_sums, counts = sums[drawn], np.ones(1)
    whole = np.full(len(drawn), float(sums.size))
    if sizes.max() > 1:
        counts = sizes[drawn]
        whole = np.add.reduce(counts, axis=1)
    means = np.add.reduce(drawn_sums, axis=1) / whole
    if not errors:
        return means, means
    rest = drawn_sums - means[:, None] * counts
    units = sums.size
    return means, np.sqrt(np.einsum("ij,ij->i", rest, rest) * units / (units - 1)) / whole


# Of values, their clusters, a confidence, the number of resamples and a seed.
Method: TypeAlias = Callable[[Floats, Ints | None, float, int, int], Interval]


@dataclass(frozen=True, eq=False)
class IntervalMethod:
    """A way to an interval of a mean."""

    words: str
    interval: Method
    clusters: bool = True  # supports queries that are not independent
    binary: bool = False  # for values that are 0 or 1 alone


def _students(values: Floats, clusters: Ints | None, confidence: float, *_: int) -> Interval:
    fit = student(values, clusters)
    return Interval(*fit.interval(confidence), fit.error, "t", confidence, fit.mean)


def _by_bootstrap(method: str) -> Method:
    return lambda values, clusters, confidence, resamples, seed: bootstrap(
        values, method=method, confidence=confidence, resamples=resamples, seed=seed, clusters=clusters
    )


# The first method that supports the values is the default.
INTERVALS: dict[str, IntervalMethod] = {
    "wilson": IntervalMethod(
        "Wilson's, of values that are 0 or 1",
        lambda values, clusters, confidence, *_: proportion_interval(float(values.sum()), len(values), confidence),
        clusters=False, binary=True,
    ),
    "hall": IntervalMethod(
        "Student's, corrected for skewness (Hall)",
        lambda values, clusters, confidence, *_: hall_interval(values, confidence),
        clusters=False,
    ),
    "t": IntervalMethod("Student's", _students),
    **{name: IntervalMethod(words, _by_bootstrap(name)) for name, words in BOOTSTRAPS.items()},
}  # fmt: skip


def interval_of(
    values: Floats, clusters: Ints | None, confidence: float, method: str | None, resamples: int, seed: int
) -> Interval:
    """The interval of a mean, by the method that is named or by the first one that supports the values."""
    clustered, binary = clusters is not None, bool(np.isin(values, (0.0, 1.0)).all())
    able = [name for name, row in INTERVALS.items() if row.clusters >= clustered and row.binary <= binary]
    method = method or able[0]
    if method not in INTERVALS:
        raise InputError(f"method={method!r}; choose from {', '.join(map(repr, INTERVALS))}")
    if method not in able:
        what = "clusters=" if clustered and not INTERVALS[method].clusters else "values other than 0 and 1"
        raise InputError(f"method={method!r} does not support {what}; choose from {', '.join(map(repr, able))}")
    return INTERVALS[method].interval(values, clusters, confidence, resamples, seed)
