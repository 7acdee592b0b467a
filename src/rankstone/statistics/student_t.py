"""Student's t of queries or clusters, ratios of sums, the jackknife; checks of arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from rankstone.errors import Advice, Hint, InputError

if TYPE_CHECKING:
    from rankstone.data.annotations import Floats, Ints


def finite(values: ArrayLike, name: str, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """The values as an array of floats; a ValueError says where one is NaN or infinite."""
    array = np.asarray(values, dtype=float)
    if array.ndim not in dimensions:
        wanted = " or ".join(str(one) for one in dimensions)
        raise InputError(f"{name} has {array.ndim} dimensions, not {wanted}")
    if not np.isfinite(array).all():
        place = tuple(int(one) for one in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name}[{', '.join(map(str, place))}] is {array[place]}, not a finite number")
    return array


def paired(first: ArrayLike, second: ArrayLike, names: tuple[str, str] = ("first", "second")) -> tuple[Floats, Floats]:
    """Two arrays of one length, a place for each query."""
    one, two = finite(first, names[0]), finite(second, names[1])
    if one.shape != two.shape:
        raise InputError(f"{names[0]} has {one.size} values, {names[1]} has {two.size}")
    return one, two


def differences(values: ArrayLike) -> Floats:
    """Differences of queries; at least one."""
    array = finite(values, "difference")
    if array.size == 0:
        raise InputError("there is no query to compare")
    return array


def layout(scores: ArrayLike) -> Floats:
    """A matrix with a row for each query and a column for each run; at least two of each."""
    array = finite(scores, "scores", (2,))
    if min(array.shape) < 2:
        rows, columns = array.shape
        raise InputError(f"scores has {rows} queries and {columns} runs; at least 2 of each are needed")
    return array


def cluster_numbers(clusters: ArrayLike, n: int) -> Ints:
    """Clusters as numbers from 0 without gaps, whatever they are called."""
    array = np.asarray(clusters)
    if array.shape != (n,):
        raise InputError(f"clusters has the shape {array.shape}, but there are {n} values")
    return np.unique(array, return_inverse=True)[1].astype(np.int64, copy=False)


def level(value: float, name: str) -> float:
    """A confidence, level or power: more than 0, less than 1."""
    if not 0 < value < 1:
        raise InputError(f"{name}={value!r} is not between 0 and 1")
    return float(value)


def choice(value: str, name: str, choices: Iterable[str]) -> str:
    """One of the choices, or a ValueError that names them."""
    names = list(choices)
    if value not in names:
        raise InputError(f"{name}={value!r} is not one of {', '.join(map(repr, names))}")
    return value


class Student(NamedTuple):
    """A mean, its standard error and the degrees of freedom; for a matrix, arrays with one value per column."""

    mean: Floats
    error: Floats
    freedom: float  # with machine labels one per column

    @property
    def statistic(self) -> Floats:
        """The mean in standard errors; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.mean / self.error

    def above(self, than: float = 0.0) -> Floats:
        """p of the test that the true mean is above `than`, one-sided.

        Parameters
        ----------
        than : float, default 0
            The mean under the null hypothesis.
        """
        return self._tail(than - self.mean)

    def below(self, than: float = 0.0) -> Floats:
        """p of the test that the true mean is below `than`, one-sided.

        Parameters
        ----------
        than : float, default 0
            The mean under the null hypothesis.
        """
        return self._tail(self.mean - than)

    def p(self) -> Floats:
        """p of the test that the true mean is not 0, two-sided; 1 where every value is 0."""
        return np.minimum(1.0, 2.0 * self._tail(-np.abs(self.mean)))

    def _tail(self, distance: Floats) -> Floats:
        """How often Student's t is below so many units of the mean."""
        if np.any(np.less(self.freedom, 1)):
            return np.full_like(np.asarray(distance, dtype=float), math.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.asarray(distance / self.error)
        t = np.where(np.isnan(t), 0.0, t)  # no difference: no evidence for either side
        p = stdtr(self.freedom, t)
        return np.where(np.asarray(self.error) == 0, np.where(t < 0, 0.0, np.where(t > 0, 1.0, p)), p)

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of the two-sided interval; infinite if there is one value only.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level.
        """
        if np.any(np.less(self.freedom, 1)):
            return self.mean - math.inf, self.mean + math.inf
        half = stdtrit(self.freedom, (1 + confidence) / 2) * self.error
        return self.mean - half, self.mean + half

    def bounds(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The lower and the upper one-sided bound.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level of each.
        """
        return self.interval(2 * confidence - 1)


def student(values: ArrayLike, clusters: ArrayLike | None = None, population: int | None = None) -> Student:
    """Mean and standard error for Student's t.

    Parameters
    ----------
    values : array_like
        One value per query, or a matrix with one row per query, whose columns are treated separately.
    clusters : array_like, optional
        The cluster of each query; the error is that of the cluster sums.
    population : int, optional
        Size of the population, if it is finite and the queries are a sample of it.

    Returns
    -------
    Student
        With `p()`, `above()`, `below()` and `interval()`.
    """
    values = finite(values, "values", (1, 2))
    n = len(values)
    if n == 0:
        raise InputError("there is no query to average over")
    mean = np.add.reduce(values, axis=0) / n
    rest = values - mean
    units = n
    if clusters is not None:
        numbers = cluster_numbers(clusters, n)
        units = int(numbers.max()) + 1
        sums = np.zeros((units, *values.shape[1:]))
        np.add.at(sums, numbers, rest)
        rest = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.einsum("i...,i...->...", rest, rest) * units / (units - 1)) / n if units > 1 else mean * 0.0
    # Equal values leave nothing but rounding errors.
    error = np.where(error <= 1e-14 * np.abs(mean), 0.0, error)
    if population is not None:
        if population < n:
            raise InputError(Advice(Hint("population", population), f", but there are {n} queries"))
        error = error * math.sqrt(1 - n / population)
    return Student(mean, error, units - 1)


# -- micro averages and other ratios of sums: the contribution of each query ---------------------------------------


class Jackknife(NamedTuple):
    """Jackknife of a ratio of sums; for a matrix, arrays with one value per column.

    Attributes
    ----------
    ratio, error : ndarray
        The ratio and its standard error.
    mean, values : ndarray
        Mean of the leave-one-out values, and these values, one per query.
    """

    ratio: Floats
    error: Floats
    mean: Floats
    values: Floats

    @property
    def pseudo(self) -> Floats:
        """Pseudo-values, one per query; those of two runs can be subtracted."""
        n = len(self.values)
        return n * self.ratio - (n - 1) * self.values


def _sums(top: ArrayLike, bottom: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    tops, bottoms = finite(top, "top", (1, 2)), finite(bottom, "bottom", (1, 2))
    if tops.shape != bottoms.shape:
        raise InputError(f"top has the shape {tops.shape}, bottom has {bottoms.shape}")
    whole = np.add.reduce(bottoms, axis=0)
    if np.any(whole == 0):
        raise InputError("the bottoms add up to 0, so there is no ratio")
    return tops, bottoms, np.add.reduce(tops, axis=0), whole


def influence(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Linearised values of sum(top) / sum(bottom) by the delta method (Deng, Knoblich and Lu 2018).

    r + (top - r * bottom) / mean(bottom): values with the mean and the standard error of the ratio. A test of these
    values, or of the differences between two runs, is a test of the micro average.

    Parameters
    ----------
    top, bottom : array_like
        Numerator and denominator per query; matrices have one row per query.

    Returns
    -------
    ndarray
    """
    tops, bottoms, over, under = _sums(top, bottom)
    ratio = over / under
    return ratio + (tops - ratio * bottoms) * (len(bottoms) / under)


def jackknife(top: ArrayLike, bottom: ArrayLike) -> Jackknife:
    """Jackknife standard error of sum(top) / sum(bottom) (Tukey 1958).

    Parameters
    ----------
    top, bottom : array_like
        Numerator and denominator per query; matrices have one row per query.

    Returns
    -------
    Jackknife
        With NaN for a single query, or if one query has the whole denominator.
    """
    tops, bottoms, over, under = _sums(top, bottom)
    n = len(bottoms)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(under - bottoms == 0, math.nan, (over - tops) / (under - bottoms))
    mean = np.add.reduce(left, axis=0) / n
    error = np.sqrt((n - 1) / n * np.add.reduce((left - mean) ** 2, axis=0))
    return Jackknife(over / under, error, mean, left)


def without_groups(whole: float, without: ArrayLike, groups: ArrayLike) -> Floats:
    """Pseudo-values of the grouped jackknife (Busing, Meijer and van der Leeden 1999).

    Statistics that grow with the number of queries, such as coverage, are not extrapolated to more queries.

    Parameters
    ----------
    whole : float
        The statistic of all queries.
    without : array_like
        The statistic without each group.
    groups : array_like
        The group of each query, numbered from 0.

    Returns
    -------
    ndarray
        One value per query; their mean is the statistic.
    """
    codes = np.asarray(groups, dtype=np.int64)
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        return np.full(len(codes), whole)
    off = (len(codes) / sizes - 1) * (whole - finite(without, "without"))
    return whole + (off - sizes @ off / len(codes))[codes]
