"""Student's t: of one mean, of the mean of differences, of clusters; of many columns at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, Hint
from rankstone.statistics.checks import cluster_numbers, finite


class Student(NamedTuple):
    """A mean, its standard error and the degrees of freedom; numbers, or arrays of a number a column."""

    mean: Floats
    error: Floats
    freedom: int

    @property
    def statistic(self) -> Floats:
        """The mean in standard errors; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.mean / self.error

    def above(self, than: float = 0.0) -> Floats:
        """p of the test that the true mean is above `than`, one-sided."""
        return self._tail(than - self.mean)

    def below(self, than: float = 0.0) -> Floats:
        """p of the test that the true mean is below `than`, one-sided."""
        return self._tail(self.mean - than)

    def p(self) -> Floats:
        """p of the test that the true mean is not 0, two-sided; 1 where every value is 0."""
        return np.minimum(1.0, 2.0 * self._tail(-np.abs(self.mean)))

    def _tail(self, distance: Floats) -> Floats:
        """How often Student's t is below so many units of the mean."""
        if self.freedom < 1:
            return np.full_like(np.asarray(distance, dtype=float), math.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.asarray(distance / self.error)
        t = np.where(np.isnan(t), 0.0, t)  # nothing differs, so nothing speaks for either side
        p = stdtr(self.freedom, t)
        return np.where(np.asarray(self.error) == 0, np.where(t < 0, 0.0, np.where(t > 0, 1.0, p)), p)

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of the two-sided interval; without ends if there is one value only."""
        if self.freedom < 1:
            return self.mean - math.inf, self.mean + math.inf
        half = stdtrit(self.freedom, (1 + confidence) / 2) * self.error
        return self.mean - half, self.mean + half


def student(values: ArrayLike, clusters: ArrayLike | None = None, population: int | None = None) -> Student:
    """The mean of values, or of each column of a matrix of them, one row a query.

    clusters: a label for each query; queries of one cluster are not independent, so the error is that of the
    clusters' sums. population: how many queries there are in all, if these are a sample of a finite number.
    """
    values = finite(values, "values", (1, 2))
    n = len(values)
    if n == 0:
        raise ValueError("there is no query to average over")
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
            raise ValueError(Advice(Hint("population", population), f", but there are {n} queries"))
        error = error * math.sqrt(1 - n / population)
    return Student(mean, error, units - 1)
