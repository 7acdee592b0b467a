"""The graph of a metric: expressions over items and queries, each of them once. Back-ends run or translate it."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from rankstone.align.elementwise import ELEMENTWISE, Functions, Values
from rankstone.errors import InputError, InputTypeError, QueryError

Kind = Literal["number", "query", "item"]  # the same for all, one per query, one per item
Operand: TypeAlias = "Expression | float | bool | str"  # a text names a parameter of the program

Params: TypeAlias = tuple[Any, ...]  # what an operation needs besides values: (discount,), ("grade",)

_KINDS: tuple[Kind, ...] = ("number", "query", "item")


class FunctionsOf(Functions):
    """The plain functions by the operations of a graph, or of SQL."""

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def call(self, op: str, *operands: Values) -> Values:
        return self._operations.call(op, *operands)


class NotTraceable(TypeError):  # noqa: N818  no error for a user: the metric runs over arrays
    """A metric's function asks for more than a graph can express."""


@dataclass(frozen=True)
class View:
    """Another alignment that is made of the first: with other gains for grades, say."""

    key: Hashable
    make: Callable[[Any], Any] = field(compare=False)


class Space:
    """Whose items: "placed" (judged and returned), "truth" (judged, in the order of the truth), "ideal" (those of
    another space, best first) or "subtopics" (placed items, one row per subtopic)."""

    __slots__ = ("nonzero", "of", "order", "view", "what")

    def __init__(
        self, what: str, of: Space | None = None, order: Values = None, nonzero: bool = False, view: View | None = None
    ) -> None:
        self.what, self.of, self.view = what, of, view
        self.order = order  # the gains by which an ideal list is sorted; None: by grade
        self.nonzero = nonzero  # without those judged 0

    @property
    def ranked_by_place(self) -> bool:
        """Is an item's rank its place among the items of its query."""
        return self.what in ("truth", "ideal")


def _operator(op: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self.graph.call(op, self, other)


def _swapped(op: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self.graph.call(op, other, self)


class Operators:
    """Adds, multiplies and compares as arrays do: each operator is an operation of the graph by name."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy number on the left leaves it to us
    __hash__ = object.__hash__
    graph: Any

    def __bool__(self) -> bool:
        raise NotTraceable("a condition of data has no truth value; use ranking.where, minimum and maximum")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotTraceable("an expression is no array; use the ranking's own functions")

    def __neg__(self) -> Any:
        return self.graph.call("negative", self)

    def __invert__(self) -> Any:
        return self.graph.call("not", self)

    def __pow__(self, other: Any) -> Any:
        is_root = isinstance(other, float) and other == 0.5
        return self.graph.call("sqrt", self) if is_root else self.graph.call("power", self, other)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __add__, __radd__ = _operator("+"), _swapped("+")
    __sub__, __rsub__ = _operator("-"), _swapped("-")
    __mul__, __rmul__ = _operator("*"), _swapped("*")
    __truediv__, __rtruediv__ = _operator("/"), _swapped("/")
    __rpow__ = _swapped("power")
    __lt__, __gt__ = _operator("<"), _swapped("<")
    __le__, __ge__ = _operator("<="), _swapped("<=")
    __eq__ = _operator("==")
    __and__ = __rand__ = _operator("and")
    __or__ = __ror__ = _operator("or")


class Expression(Operators):
    """A number or a condition per item or per query that is computed later. `args` are the expressions that it is made
    of, `params` whatever else its operation needs."""

    __slots__ = ("args", "graph", "kind", "name", "op", "params", "serial", "space")
    __hash__ = object.__hash__

    def __init__(
        self, graph: Graph, op: str, args: tuple[Expression, ...], params: Params, kind: Kind, space: Space | None
    ) -> None:
        self.graph, self.op, self.args, self.params, self.kind = graph, op, args, params, kind
        self.space: Space | None = space  # whose items, where it is one per item, or reduced from these
        self.serial = len(graph.nodes)
        self.name = ""  # of a column that holds it

    @property
    def number(self) -> float | None:
        """The number that it is, whatever the data."""
        return self.params[0] if self.op == "number" else None


CONDITIONS = ("<", "<=", "==", "and", "or", "not")


class Fault(NamedTuple):
    """Data that has no value: the condition, and the error's text; {} in it is a value. In SQL, of terms."""

    condition: Any
    problem: str
    value: Any = None
    named: bool = True  # does the error name the query

    def error(self, query: int, value: float) -> Exception:
        problem = self.problem.format(value) if self.value is not None else self.problem
        return QueryError(problem, query) if self.named else InputError(problem)


class Graph:
    """All expressions of some metrics; equal ones are one."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.nodes: dict[tuple[Any, ...], Expression] = {}
        self._spaces: dict[tuple[Any, ...], Space] = {}

    def node(self, op: str, *args: Operand, params: Params = (), kind: Kind, space: Space | None = None) -> Expression:
        """The expression that this is, made once."""
        parts = tuple(map(self.of, args))
        key = (op, kind, space, params, *[part.serial for part in parts])
        made = self.nodes.get(key)
        if made is None:
            made = self.nodes[key] = Expression(self, op, parts, params, kind, space)
        return made

    def space(
        self, what: str, of: Space | None = None, order: Values = None, nonzero: bool = False, view: View | None = None
    ) -> Space:
        """The space that this is, made once."""
        key = (what, of, None if order is None else self.of(order).serial, nonzero, view)
        if key not in self._spaces:
            self._spaces[key] = Space(what, of, None if order is None else self.of(order), nonzero, view)
        return self._spaces[key]

    def of(self, value: Operand) -> Expression:
        """A plain number, a truth value or a parameter's name as an expression."""
        if isinstance(value, Expression):
            return value
        if isinstance(value, str):
            return self.node("parameter", params=(value,), kind="number")
        key = ("number", float(value).hex())  # 0.0 and -0.0 are two
        if key not in self.nodes:
            self.nodes[key] = Expression(self, "number", (), (float(value),), "number", None)
        return self.nodes[key]

    def call(self, op: str, *operands: Operand) -> Expression:
        """An operation on values one by one, or its result where that is known."""
        args = tuple(map(self.of, operands))
        numbers = [arg.number for arg in args]
        if None not in numbers:
            with np.errstate(all="ignore"):
                return self.of(float(ELEMENTWISE[op](*map(np.float64, cast("list[float]", numbers)))))
        if (known := self._simplified(op, args, numbers)) is not None:
            return known
        kind, space = _kind_of(args)
        return self.node(op, *args, kind=kind, space=space)

    def _simplified(self, op: str, args: tuple[Expression, ...], numbers: list[float | None]) -> Expression | None:
        if op == "where":
            if numbers[0] is not None:
                return args[1] if numbers[0] else args[2]
            return args[1] if args[1] is args[2] else None
        if op in ("and", "or"):
            for at in (0, 1):
                if numbers[at] is not None:  # it decides, or the other does
                    return args[1 - at] if bool(numbers[at]) == (op == "and") else self.of(op == "or")
            return args[0] if args[0] is args[1] else None
        if op == "<" and numbers[0] == 0 and (condition := _as_number(args[1])) is not None:
            return condition
        if op == "==" and numbers[1] == 0 and (condition := _as_number(args[0])) is not None:
            return self.call("not", condition)
        return args[0].args[0] if op == "not" and args[0].op == "not" else None

    def broadcast(self, value: Operand, space: Space) -> Expression:
        """A value per query at each of its items; a plain number is one already."""
        made = self.of(value)
        return self.node("spread", made, kind="item", space=space) if made.kind == "query" else made

    def is_true(self, condition: Operand) -> bool:
        """Does a condition hold whatever the data."""
        return bool(self.of(condition).number)

    def queries(self) -> int:
        raise NotTraceable("how many queries there are is known later; use ranking.one")

    def array(self, name: str) -> Any:
        raise AttributeError(f"a ranking has no {name!r}")

    def per_query(self, value: Operand) -> Expression:
        return self.of(value)

    def named(self, value: Values, name: str) -> Values:
        """The same value, with a name for its column if it has none."""
        if isinstance(value, Expression) and not value.name and value.op != "number":
            value.name = name
        return value

    def raise_where(
        self, condition: Operand, problem: str, value: Values = None, named: bool = True, space: Space | None = None
    ) -> None:
        """An error where a condition holds; space: of whose items it is."""
        test = self.of(condition)
        if test.number != 0:
            self.faults.append(Fault(test, problem, None if value is None else self.of(value), named))


def _as_number(value: Expression) -> Expression | None:
    """The condition that a value is 1 for, and else 0; None where it is something else."""
    is_number = value.op == "where" and (value.args[1].number, value.args[2].number) == (1.0, 0.0)
    return value.args[0] if is_number else None


def _kind_of(args: Iterable[Expression]) -> tuple[Kind, Space | None]:
    """Of what is made of some values: one per item or one per query, and whose items."""
    kinds = {arg.kind for arg in args}
    if {"item", "query"} <= kinds:
        raise InputTypeError("a value per query is combined with a value per item: write ranking.broadcast(value)")
    spaces = {arg.space for arg in args if arg.kind == "item"}
    if len(spaces) > 1:
        raise InputTypeError("values of the items of two lists: sum them up first")
    return max(kinds, key=_KINDS.index), next(iter(spaces), None)


def walk(values: Iterable[Expression], done: Container[Expression] = ()) -> Iterator[Expression]:
    """All that some expressions are made of, parts first; not those that are done, and their parts."""
    seen: set[Expression] = set()
    waiting = list(values)[::-1]
    while waiting:  # not by recursion, as a long sum goes deep
        one = waiting[-1]
        if one not in seen and one not in done:
            if before := [part for part in one.args if part not in seen and part not in done]:
                waiting += before
                continue
            seen.add(one)
            yield one
        waiting.pop()


# -- operations in terms of others, for back-ends that have no way of their own --------------------------------


class Call(NamedTuple):
    """An operation that a graph computes at once, without its operands; or an expression."""

    op: str
    params: Params
    kind: str
    space: Space | None


def _sum_to(graph: Any, call: Call | Expression, values: Values, rank: Values, k: Values) -> Values:
    inside = graph.call("<=", rank, graph.broadcast(k, call.space))
    return graph.node("sum", graph.call("where", inside, values, 0.0), kind="query", space=call.space)


def _first(graph: Any, call: Call | Expression, condition: Values, rank: Values) -> Values:
    ranks = graph.call("where", condition, rank, math.inf)
    return graph.node("lowest", ranks, kind="query", space=call.space)


def _mean_discount(graph: Any, call: Call | Expression, above: Values, level: Values, *k: Values) -> Values:
    ends = [above, above + level]
    if k:
        ends = [graph.call("minimum", end, graph.broadcast(k[0], call.space)) for end in ends]
    low, high = (graph.node("discount_sum", end, params=call.params, kind="item", space=call.space) for end in ends)
    return (high - low) / level


EXPANSIONS: Mapping[str, Callable[..., Values]] = {
    "sum_to": _sum_to,
    "first": _first,
    "mean_discount": _mean_discount,
    "same": lambda graph, call, value: value,
}
