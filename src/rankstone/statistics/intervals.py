"""Intervals of a mean, one row per method: Student's, for skewed values, for shares, and by resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from rankstone.data.annotations import Floats, Ints
from rankstone.progress import Progress, watched
from rankstone.statistics.student import choice, cluster_numbers, finite, level, student

BOOTSTRAPS = {
    "bca": "bootstrap, corrected for bias and skewness",
    "percentile": "percentile bootstrap",
    "basic": "basic bootstrap",
    "studentised": "bootstrap of Student's t",
}
CHUNK = 500_000  # values drawn at a time
NOISE = 1e-12  # of the size of the values: means that are equal but for rounding


class Interval(NamedTuple):
    """The ends of an interval of a mean, its standard error, and what its method worked with (NaN for other methods).

    z0, acceleration and share_below (of resampled means, equal ones counted half) are of the BCa interval; used is the
    number of resamples that count. Of a matrix the numbers are arrays, one a column.
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


def skewed(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """The interval of a mean by Hall's transformation of t (1992), for skewed values such as reciprocal ranks.

    It is Student's interval where the values have no skewness or all are equal; one value has no ends. Of a matrix, one
    row a query, each column has its own.
    """
    array = finite(values, "values", (1, 2))
    level(confidence, "confidence")
    found = student(array)
    n = len(array)
    low, high = found.interval(confidence)
    rest = array - found.mean
    second, third = (np.add.reduce(rest**power, axis=0) / n for power in (2, 3))
    flat = np.asarray(found.error) == 0
    with np.errstate(all="ignore"):
        skewness = np.where(flat, 0.0, third / second**1.5)
        if n > 1:
            q = stdtrit(n - 1, (1 + confidence) / 2)
            low = np.where(np.abs(skewness) < 1e-9, low, found.mean - found.error * _hall(q, skewness, n))
            high = np.where(np.abs(skewness) < 1e-9, high, found.mean - found.error * _hall(-q, skewness, n))
    return Interval(low[()], high[()], found.error[()], "hall", confidence, found.mean, skewness[()])


def _hall(q: float, skewness: Floats, n: int) -> Floats:
    """The t whose transformation is q."""
    root = math.sqrt(n)
    inside = skewness * (q - skewness / (6 * root)) / root
    # cbrt(1 + x) - 1 without a loss of digits for small x
    return 3 * root / skewness * np.where(inside > -0.5, np.expm1(np.log1p(inside) / 3), np.cbrt(1 + inside) - 1)


def share(hits: ArrayLike, n: ArrayLike, confidence: float = 0.95, method: str = "wilson") -> Interval:
    """The interval of a share, say of queries with a hit: `hits` of `n`.

    "wilson" (Wilson 1927), "jeffreys" (Brown, Cai and DasGupta 2001) or "exact" (Clopper and Pearson 1934, never too
    narrow). Numbers, or arrays of them.
    """
    choice(method, "method", ("wilson", "jeffreys", "exact"))
    level(confidence, "confidence")
    some, all_ = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(n, dtype=float))
    if not (np.isfinite(some) & np.isfinite(all_) & (some >= 0) & (some <= all_) & (all_ > 0)).all():
        raise ValueError(f"hits={hits!r}, n={n!r}: hits must lie between 0 and n, and n above 0")
    outside = (1 - confidence) / 2
    mean = some / all_
    misses = all_ - some
    if method == "wilson":
        z2 = float(ndtri(outside)) ** 2
        centre = (some + z2 / 2) / (all_ + z2)
        half = np.sqrt(z2 * (some * misses / all_ + z2 / 4)) / (all_ + z2)
        low = np.where(some == 0, 0.0, centre - half)
        high = np.where(misses == 0, 1.0, centre + half)
    elif method == "jeffreys":
        low, high = (betaincinv(some + 0.5, misses + 0.5, end) for end in (outside, 1 - outside))
    else:
        # 1 in place of a parameter that is 0, where the end is known
        low = np.where(some == 0, 0.0, betaincinv(np.maximum(some, 1), misses + 1, outside))
        high = np.where(misses == 0, 1.0, betaincinv(some + 1, np.maximum(misses, 1), 1 - outside))
    return Interval(low[()], high[()], np.sqrt(mean * (1 - mean) / all_)[()], method, confidence, mean[()])


def _draws(units: int, resamples: int, seed: int, progress: Progress) -> Iterator[Ints]:
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
    """The interval of a mean by drawing queries again with replacement (Efron 1979).

    "percentile" and "basic" are the plain ones, "bca" corrects for bias and skewness (Efron 1987), "studentised" takes
    t of every resample (Hall 1988). Below 100 queries Student's interval is nearer to its level for differences.
    clusters: a label for each value; clusters are drawn whole. indices: the draws themselves, a row each, of values or
    of clusters in the order of their labels.
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
        raise ValueError(f"{units} {'values' if clusters is None else 'clusters'}: to draw again at least 2 are needed")
    if indices is None:
        if resamples < 1:
            raise ValueError(f"resamples={resamples!r} is not above 0")
    else:
        given = np.asarray(indices, dtype=np.int64)
        if given.ndim != 2 or given.shape[1] != units or given.size == 0:
            raise ValueError(f"indices has the shape {given.shape}, not (resamples, {units})")
        if given.min() < 0 or given.max() >= units:
            raise ValueError(f"indices has numbers outside 0 .. {units - 1}")

    with watched("drawing queries again") as progress:
        draws = iter([given]) if indices is not None else _draws(units, resamples, seed, progress)
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
    some, counts = sums[drawn], np.ones(1)
    whole = np.full(len(drawn), float(sums.size))
    if sizes.max() > 1:
        counts = sizes[drawn]
        whole = np.add.reduce(counts, axis=1)
    means = np.add.reduce(some, axis=1) / whole
    if not errors:
        return means, means
    rest = some - means[:, None] * counts
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
    found = student(values, clusters)
    return Interval(*found.interval(confidence), found.error, "t", confidence, found.mean)


def _by_bootstrap(method: str) -> Method:
    return lambda values, clusters, confidence, resamples, seed: bootstrap(
        values, method=method, confidence=confidence, resamples=resamples, seed=seed, clusters=clusters
    )


# The first method that supports the values is the default.
INTERVALS: dict[str, IntervalMethod] = {
    "wilson": IntervalMethod(
        "Wilson's, of values that are 0 or 1",
        lambda values, clusters, confidence, *_: share(float(values.sum()), len(values), confidence),
        clusters=False, binary=True,
    ),
    "hall": IntervalMethod(
        "Student's, corrected for skewness (Hall)",
        lambda values, clusters, confidence, *_: skewed(values, confidence),
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
        raise ValueError(f"method={method!r}; choose from {', '.join(map(repr, INTERVALS))}")
    if method not in able:
        what = "clusters=" if clustered and not INTERVALS[method].clusters else "values other than 0 and 1"
        raise ValueError(f"method={method!r} does not support {what}; choose from {', '.join(map(repr, able))}")
    return INTERVALS[method].interval(values, clusters, confidence, resamples, seed)
