"""Plain functions of values: what a metric, a gain or a discount may apply to them in any engine; discounts by rank."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = Any  # one per item or one per query: an expression, or the engine's own kind of array


def _rounded(x: Values, digits: float) -> Values:
    """To so many decimals, a half to the even one."""
    return np.rint(x * 10.0**digits) / 10.0**digits


# The operations on values one by one, over NumPy; every back-end has each of them. Conditions are truth values.
ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.divide,
    "negative": operator.neg,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "power": np.power,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "log2": np.log2,
    "log": np.log,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": _rounded,
    "where": np.where,
}


class Functions:
    """Plain functions of NumPy arrays; a subclass calls those of another engine."""

    def call(self, op: str, *operands: Values) -> Values:
        """An operation by name."""
        with np.errstate(all="ignore"):
            return ELEMENTWISE[op](*operands)

    def where(self, condition: Values, yes: Values, no: Values) -> Values:
        return self.call("where", condition, yes, no)

    def minimum(self, a: Values, b: Values) -> Values:
        return self.call("minimum", a, b)

    def maximum(self, a: Values, b: Values) -> Values:
        return self.call("maximum", a, b)

    def log2(self, x: Values) -> Values:
        return self.call("log2", x)

    def log(self, x: Values) -> Values:
        return self.call("log", x)

    def sqrt(self, x: Values) -> Values:
        return self.call("sqrt", x)

    def exp(self, x: Values) -> Values:
        return self.call("exp", x)

    def abs(self, x: Values) -> Values:
        return self.call("abs", x)

    def floor(self, x: Values) -> Values:
        return self.call("floor", x)

    def ceil(self, x: Values) -> Values:
        return self.call("ceil", x)

    def power(self, base: float, exponent: Values) -> Values:
        """Infinite where it is too large."""
        return self.call("power", base, exponent)

    def round(self, x: Values, digits: int) -> Values:
        """To so many decimals, a half to the even one."""
        return self.call("round", x, digits)


Depth: TypeAlias = Any  # how far down the list to look: a whole number, one per query, or None for all of it
Discount: TypeAlias = Callable[[Functions, Values], Values]  # the factor of a gain at a rank

NUMPY = Functions()


def table_lookup(f: Functions, values: Values, table: Iterable[tuple[float, float]]) -> Values:
    """The entry of a short table for each value; NaN where it has none."""
    entries: Values = math.nan
    for value, entry in table:
        entries = f.where(f.call("==", values, value), entry, entries)
    return entries


# -- discounts by rank ---------------------------------------------------------------------------------------

Floats: TypeAlias = NDArray[np.float64]
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
