"""Plain functions of values: what a metric, a gain or a discount may apply to them in any engine."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

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
