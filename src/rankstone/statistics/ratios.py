"""Micro means and other ratios of sums: the part that each query has in them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankstone.align.alignment import Floats
from rankstone.statistics.checks import finite


class Jackknife(NamedTuple):
    """A ratio of sums with each query left out once: the standard error and the mean of these values.

    For a matrix each is an array with a number a column.
    """

    ratio: Floats
    error: Floats
    mean: Floats
    values: Floats

    @property
    def pseudo(self) -> Floats:
        """Values of queries whose mean has this error; those of two runs can be subtracted."""
        n = len(self.values)
        return n * self.ratio - (n - 1) * self.values


def _sums(top: ArrayLike, bottom: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    tops, bottoms = finite(top, "top", (1, 2)), finite(bottom, "bottom", (1, 2))
    if tops.shape != bottoms.shape:
        raise ValueError(f"top has the shape {tops.shape}, bottom has {bottoms.shape}")
    whole = np.add.reduce(bottoms, axis=0)
    if np.any(whole == 0):
        raise ValueError("the bottoms add up to 0, so there is no ratio")
    return tops, bottoms, np.add.reduce(tops, axis=0), whole


def influence(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """What each query says about sum(top) / sum(bottom): values with that mean, and with its standard error.

    r + (top - r * bottom) / mean(bottom), the delta method (Deng, Knoblich and Lu 2018). A test of these values, or of
    the differences of two runs' values, is a test of the micro mean. Matrices have a row a query.
    """
    tops, bottoms, over, under = _sums(top, bottom)
    ratio = over / under
    return ratio + (tops - ratio * bottoms) * (len(bottoms) / under)


def jackknife(top: ArrayLike, bottom: ArrayLike) -> Jackknife:
    """The standard error of sum(top) / sum(bottom) by leaving out each query once (Tukey 1958).

    NaN for one query, or if one query has all of the bottom.
    """
    tops, bottoms, over, under = _sums(top, bottom)
    n = len(bottoms)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(under - bottoms == 0, math.nan, (over - tops) / (under - bottoms))
    mean = np.add.reduce(left, axis=0) / n
    error = np.sqrt((n - 1) / n * np.add.reduce((left - mean) ** 2, axis=0))
    return Jackknife(over / under, error, mean, left)


def without_groups(whole: float, without: ArrayLike, groups: ArrayLike) -> Floats:
    """Values of queries whose mean is a number of all of them, with the spread that leaving out groups of them shows.

    whole: the number. without: what it is without each group (jackknife; Busing, Meijer and van der Leeden 1999 on
    groups of unequal sizes). groups: the number of each query's group. It is the spread for this many queries: a number
    that grows with them, as coverage does, is not corrected towards more of them.
    """
    codes = np.asarray(groups, dtype=np.int64)
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        return np.full(len(codes), whole)
    off = (len(codes) / sizes - 1) * (whole - finite(without, "without"))
    return whole + (off - sizes @ off / len(codes))[codes]
