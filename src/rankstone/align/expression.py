"""Values that are only spoken of: a metric's function makes expressions of them, for somebody else to compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast

from rankstone.align.ranking import Functions, Values

Kind = Literal["number", "item", "query", "mean"]  # the same everywhere, one an item, one a query, one for all queries
Operand: TypeAlias = "Expression | float | bool | str"  # a text stands for a number that somebody else will fill in

_KINDS: tuple[Kind, ...] = ("number", "query", "item", "mean")


class Speaking(Protocol):
    """Says what becomes of operations on expressions."""

    def make(self, op: str, *operands: Operand) -> Expression: ...
    def compare(self, sign: str, left: Operand, right: Operand) -> Expression: ...
    def both(self, left: Operand, right: Operand) -> Expression: ...
    def either(self, left: Operand, right: Operand) -> Expression: ...
    def negated(self, condition: Operand) -> Expression: ...
    def where(self, condition: Operand, yes: Operand, no: Operand) -> Expression: ...


class Expression:
    """A number or a condition of each item or each query, only spoken of; adds, multiplies and compares as arrays do.

    `tree` says what becomes of that. In SQL it can also be nothing (null), which is what arrays call NaN; where
    `infinite`, it stands for a number beyond all others.
    """

    __slots__ = ("args", "infinite", "items", "kind", "name", "nullable", "op", "tree")
    __array_ufunc__ = None  # a NumPy number on the left leaves it to us

    def __init__(self, tree: Speaking, op: str, args: tuple[object, ...], kind: Kind, items: Hashable) -> None:
        self.tree, self.op, self.kind = tree, op, kind
        self.args: tuple[Any, ...] = args
        self.items: Any = items  # whose items, where it is one an item
        self.nullable = self.infinite = False
        self.name = ""  # what to call it, where it gets a column of its own

    @property
    def number(self) -> float | None:
        """The number that it is, whatever the data."""
        return self.args[0] if self.op == "number" else None

    @property
    def parts(self) -> list[Expression]:
        """The expressions that it is made of."""
        return [arg for arg in self.args if isinstance(arg, Expression)]

    def __bool__(self) -> bool:
        raise TypeError("what is computed later is not known here; use ranking.where, minimum and maximum")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("what is computed later is no array; use the ranking's own functions")

    __hash__ = object.__hash__

    def __neg__(self) -> Expression:
        return self.tree.make("negative", self)

    def __add__(self, other: Operand) -> Expression:
        return self.tree.make("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return self.tree.make("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return self.tree.make("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return self.tree.make("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return self.tree.make("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return self.tree.make("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return self.tree.make("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return self.tree.make("/", other, self)

    def __pow__(self, other: Operand) -> Expression:
        return self.tree.make("sqrt", self) if other == 0.5 else self.tree.make("power", self, other)

    def __rpow__(self, other: Operand) -> Expression:
        return self.tree.make("power", other, self)

    def __lt__(self, other: Operand) -> Expression:
        return self.tree.compare("<", self, other)

    def __le__(self, other: Operand) -> Expression:
        return self.tree.compare("<=", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return self.tree.compare(">", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return self.tree.compare(">=", self, other)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self.tree.compare("=", self, cast("Operand", other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self.tree.compare("<>", self, cast("Operand", other))

    def __and__(self, other: Operand) -> Expression:
        return self.tree.both(self, other)

    def __or__(self, other: Operand) -> Expression:
        return self.tree.either(self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Expression:
        return self.tree.negated(self)


PLAIN: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "negative": lambda a: -a,
    "power": lambda a, b: a**b,
    "least": min,
    "greatest": max,
    "log2": math.log2,
    "ln": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
}
TESTS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}


def kind_of(args: Sequence[Expression]) -> tuple[Kind, Any]:
    """Of what is made of some values: one an item or one a query, and whose items."""
    kinds = {arg.kind for arg in args}
    if {"item", "query"} <= kinds:
        raise TypeError("a value of a query beside one of its items: write ranking.spread(value)")
    lists = {arg.items for arg in args if arg.kind == "item"}
    if len(lists) > 1:
        raise TypeError("values of the items of two lists: sum them up first")
    return max(kinds, key=_KINDS.index), next(iter(lists), None)


class Spoken(Functions):
    """The plain functions of a ranking that is only spoken of: what `tree` makes of them."""

    tree: Speaking

    def where(self, condition: Values, yes: Values, no: Values) -> Expression:
        return self.tree.where(condition, yes, no)

    def minimum(self, a: Values, b: Values) -> Expression:
        return self.tree.make("least", a, b)

    def maximum(self, a: Values, b: Values) -> Expression:
        return self.tree.make("greatest", a, b)

    def log2(self, x: Values) -> Expression:
        return self.tree.make("log2", x)

    def log(self, x: Values) -> Expression:
        return self.tree.make("ln", x)

    def sqrt(self, x: Values) -> Expression:
        return self.tree.make("sqrt", x)

    def exp(self, x: Values) -> Expression:
        return self.tree.make("exp", x)

    def abs(self, x: Values) -> Expression:
        return self.tree.make("abs", x)

    def floor(self, x: Values) -> Expression:
        return self.tree.make("floor", x)

    def ceil(self, x: Values) -> Expression:
        return self.tree.make("ceil", x)

    def power(self, base: float, exponent: Values) -> Expression:
        return self.tree.make("power", base, exponent)
