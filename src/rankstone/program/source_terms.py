"""Expressions of a graph as text in a small part of Python: the back-end for source code.

Numbers are floats, conditions are truth values; `lists` has the columns of one aligned list, `i` is an item's place in
a loop. `statements.py` has the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from rankstone.align.elementwise import ELEMENTWISE, table_lookup
from rankstone.errors import InputError
from rankstone.program.graph import CONDITIONS, EXPANSIONS, Call, Expression, FunctionsOf, Graph, Space, walk

_MANY = 1e16  # more items than there are
# Operations on whole columns, by the functions of `rankstone.compile`.
OF_COLUMNS = {"tied_sum": "tied_sums", "tied_nth": "tied_nths", "is_repeat": "repeats", "mean_rank": "mean_ranks",
               "right_above": "right_above", "pairs": "compared_pairs"}  # fmt: skip
_INFIX = ("+", "-", "*", "<", "<=", "==", "and", "or")
CALLS = {"minimum": "min", "maximum": "max", "power": "power", "log2": "log2", "log": "log", "sqrt": "sqrt",
          "exp": "exp", "abs": "abs", "floor": "floor", "ceil": "ceil"}  # fmt: skip


# -- lower: fewer operations ----------------------------------------------------------------------------------


def _applied(graph: Graph, call: Call, number: Expression) -> Expression:
    return graph.of(call.params[0](FunctionsOf(graph), number))


LOWERED: Mapping[str, Callable[..., Any]] = {
    **EXPANSIONS,
    "discount": _applied,
    "by_count": _applied,
    "lookup": lambda graph, call, grades: table_lookup(FunctionsOf(graph), grades, call.params[0]),
}


class Lowering:
    """A graph in the operations that have statements."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lowered: dict[Expression, Expression] = {}
        self._assumed: dict[tuple[Expression, bool, Expression], Expression] = {}

    def __call__(self, value: Expression) -> Expression:
        for one in walk([value], self._lowered):
            self._lowered[one] = self._lower(one, [self._lowered[arg] for arg in one.args])
        return self._lowered[value]

    def _lower(self, one: Expression, args: Sequence[Expression]) -> Expression:
        graph, space = self.graph, one.space and self._space(one.space)
        if one.op == "highest_grade":
            space = graph.space("truth")  # which has all that the list has
        if one.op in LOWERED:
            lowered = graph.of(LOWERED[one.op](graph, Call(one.op, one.params, one.kind, space), *args))
        elif one.op == "where":
            lowered = self._where(*args)
        elif one.op in ("and", "or"):
            lowered = graph.call(one.op, args[0], self._assuming(args[0], one.op == "and", args[1]))
        elif one.op in ("*", "/") and args[1].number == 1.0:
            lowered = args[0]
        elif one.op == "*" and args[0].number == 1.0:
            lowered = args[1]
        elif one.op in ELEMENTWISE and one.op != "round":
            lowered = graph.call(one.op, *args)
        else:
            lowered = graph.node(one.op, *args, params=one.params, kind=one.kind, space=space)
        return cast("Expression", graph.named(lowered, one.name)) if one.name else lowered

    def _space(self, space: Space) -> Space:
        if space.what == "subtopics" or space.view is not None:
            raise InputError("needs subtopics, which source code for one list does not have")
        of = space.of and self._space(space.of)
        order = None if space.order is None else self(space.order)
        return self.graph.space(space.what, of, order, space.nonzero)

    def _where(self, test: Expression, yes: Expression, no: Expression) -> Expression:
        if test.op == "not":
            return self._where(test.args[0], no, yes)
        return self.graph.call("where", test, self._assuming(test, True, yes), self._assuming(test, False, no))

    def _assuming(self, test: Expression, holds: bool, value: Expression) -> Expression:
        """A value where it is certain whether a condition holds."""
        while test.op == "not":
            test, holds = test.args[0], not holds
        if test.op == ("and" if holds else "or"):
            return self._assuming(test.args[1], holds, self._assuming(test.args[0], holds, value))
        key = (test, holds, value)
        if key not in self._assumed:
            lowered = value
            if value is test:
                lowered = self.graph.of(float(holds))
            elif value.op == "where" and value.args[0] is test:
                lowered = self._assuming(test, holds, value.args[1 if holds else 2])
            elif value.op in ELEMENTWISE and value.op != "round":
                args = [self._assuming(test, holds, arg) for arg in value.args]
                if any(new is not old for new, old in zip(args, value.args, strict=True)):
                    lowered = self._where(*args) if value.op == "where" else self.graph.call(value.op, *args)
            self._assumed[key] = lowered
        return self._assumed[key]


# -- how large a value can be ---------------------------------------------------------------------------------

_RANGES = {
    **dict.fromkeys(("rank", "place", "level", "nth", "mean_rank", "tied_nth"), (1.0, _MANY)),
    **dict.fromkeys(("above", "retrieved", "judged", "unjudged", "length", "discount_sum"), (0.0, _MANY)),
    **dict.fromkeys(("is_repeat", "right_above", "first_hit"), (0.0, 1.0)),
    "nth_of": (-_MANY * _MANY, _MANY * _MANY),
    "overlap": (-1.0, 2.0),
}
_ANY = (-math.inf, math.inf)


def _corners(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    products = [a * b if a and b else 0.0 for a in first for b in second]
    return min(products), max(products)


def _monotone(function: Callable[[float], float], lowest: float) -> Callable[..., tuple[float, float]]:
    def between(one: Expression, inside: tuple[float, float]) -> tuple[float, float]:
        low, high = inside
        return (function(low) if low > lowest else -math.inf, function(high) if high < math.inf else math.inf)

    return between


def _quotient(one: Expression, above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    return _corners(above, (0.0 if below[1] == math.inf else 1 / below[1], 1 / below[0])) if below[0] > 0 else _ANY


def _powers(one: Expression, base: tuple[float, float], exponent: tuple[float, float]) -> tuple[float, float]:
    return (0.0 if base[0] >= 0 or one.args[1].number == 2 else -math.inf), math.inf


_BOUNDS: Mapping[str, Callable[..., tuple[float, float]]] = {
    "+": lambda one, a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda one, a, b: (a[0] - b[1], a[1] - b[0]),
    "*": lambda one, a, b: _corners(a, b),
    "/": _quotient,
    "negative": lambda one, a: (-a[1], -a[0]),
    "abs": lambda one, a: (0.0, max(-a[0], a[1])),
    "minimum": lambda one, a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda one, a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "where": lambda one, c, a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "power": _powers,
    "log2": _monotone(math.log2, 0.0),
    "log": _monotone(math.log, 0.0),
    "sqrt": _monotone(math.sqrt, 0.0),
    "floor": lambda one, a: (a[0] - 1.0, a[1]),
    "ceil": lambda one, a: (a[0], a[1] + 1.0),
    "spread": lambda one, a: a,
    "lowest": lambda one, a: (a[0], math.inf),
    "highest": lambda one, a: (min(a[0], 0.0), max(a[1], 0.0)),
    "product": lambda one, a: (0.0, 1.0) if a[0] >= 0 and a[1] <= 1 else _ANY,
    "surviving": lambda one, a: (0.0, 1.0) if a[0] >= 0 and a[1] <= 1 else _ANY,
    "highest_grade": lambda one: (0.0, math.inf),
    **dict.fromkeys(("sum", "running"), lambda one, a: _corners(a, (0.0, _MANY))),
    **dict.fromkeys(("above_sum", "tied_sum"), lambda one, a, above: _corners(a, (0.0, _MANY))),
    **dict.fromkeys(CONDITIONS, lambda one, *args: (0.0, 1.0)),
}


# -- text -----------------------------------------------------------------------------------------------------


def is_condition(value: Expression) -> bool:
    if value.op == "where":
        return all(is_condition(arg) or arg.number in (0.0, 1.0) for arg in value.args[1:]) and any(
            map(is_condition, value.args[1:])
        )
    return value.op in CONDITIONS or (value.op == "column" and value.params[0] == "present")


def field_of(column: Expression) -> str:
    """A column's name in an aligned list."""
    name = str(column.params[0])
    return "tied" if name == "level" else name


def nodes_of(
    values: Iterable[Expression], parts: Callable[[Expression], Iterable[Expression]], names: Container[Expression]
) -> list[Expression]:
    """Values and what they are made of, parts first, down to those that have names."""
    nodes: set[Expression] = set()
    waiting = list(values)
    while waiting:
        one = waiting.pop()
        if one not in nodes and one not in names:
            nodes.add(one)
            waiting += parts(one)
    return sorted(nodes, key=lambda one: one.serial)


def orders(value: Expression) -> Iterator[Expression]:
    """The gains that put the items of its list in order."""
    space = value.space
    while space is not None:
        if space.order is not None:
            yield space.order
        space = space.of


class SourceTerms:
    """Writes expressions, by the variables that values of the query and columns are in."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names_of_query: dict[Expression, str] = {}
        self._columns: dict[Expression, str] = {}
        self._tables: dict[Any, str] = {}  # sums of discounts, by the discount
        self._ideals: dict[Space, tuple[str, str]] = {}  # by list: its grades, and how many items it has
        self._ranges: dict[Expression, tuple[float, float]] = {}
        self._nonzero: list[Expression | None] = []  # what is not 0 in the branches that are written

    def range_of(self, value: Expression) -> tuple[float, float]:
        """The lowest and the highest number that a value can be; infinite where grades decide."""
        for one in walk([value], self._ranges):
            if one.number is not None:
                ends = (one.number, one.number)
            elif one.op in ("column", "nth", *_RANGES):
                ends = _RANGES.get(one.params[0] if one.op == "column" else one.op, _ANY)
            elif one.op in _BOUNDS:
                ends = _BOUNDS[one.op](one, *(self._ranges[arg] for arg in one.args))
            else:
                ends = _ANY
            self._ranges[one] = _ANY if any(map(math.isnan, ends)) else ends
        return self._ranges[value]

    def _is_finite(self, value: Expression) -> bool:
        low, high = self.range_of(value)
        return low > -1e300 and high < 1e300

    def _without_finite(self, test: Expression) -> Expression:
        """A condition without the checks of numbers that cannot overflow."""
        if test.op == "<" and test.args[1].number == math.inf and self._is_finite(test.args[0]):
            return self.graph.of(1.0)
        if test.op not in ("and", "or", "not"):
            return test
        return self.graph.call(test.op, *map(self._without_finite, test.args))

    def _is_column(self, one: Expression) -> bool:
        return one.op == "column" and one.kind == "item"

    def _size(self, space: Space) -> str:
        if space.what == "ideal":
            return self._ideals[space][1]
        return "lists.placed" if space.what == "placed" else "lists.truth_size"

    def _column(self, one: Expression) -> str:
        """A column of items by its name."""
        if not self._is_column(one):
            return self._columns[one]
        space = cast("Space", one.space)
        if space.what == "ideal":
            return self._ideals[space][0]
        return f"lists.{field_of(one)}" if space.what == "placed" else f"lists.truth_{field_of(one)}"

    def condition(self, one: Expression, names: Mapping[Expression, str], negated: bool = False) -> str:
        """A condition as text."""
        if one.op == "not" and one not in names:
            return self.condition(one.args[0], names, not negated)
        if negated:
            if one.op == "==" and one not in names:
                return self._unequal(one, names)
            if one.op in ("<", "<=") and one not in names and all(map(self._is_number, one.args)):
                swapped = self.graph.node(
                    {"<": "<=", "<=": "<"}[one.op], *one.args[::-1], kind=one.kind, space=one.space
                )
                return self.condition(swapped, names)
            return f"(not {self.condition(one, names)})"
        if one.number is not None:
            return str(bool(one.number))
        if one in names or one.op == "column":
            text = self._plain(one, names)
            return text if is_condition(one) else f"({text} != 0.0)"
        if one.op == "==" and one.args[0] is one.args[1]:
            return f"(not is_nan({self.text(one.args[0], names)}))"
        if one.op == "<" and one.args[1].number == math.inf and one.args[0].op == "abs":
            return f"is_finite({self.text(one.args[0].args[0], names)})"
        if one.op in ("and", "or"):
            first, second = one.args
            text = self.condition(first, names)
            with self._branch(first, one.op == "and"):
                return f"({text} {one.op} {self.condition(second, names)})"
        if one.op in ("<", "<=") and one.args[0].number is not None:
            sign = {"<": ">", "<=": ">="}[one.op]
            return f"({self.text(one.args[1], names)} {sign} {self.text(one.args[0], names)})"
        if one.op in ("<", "<=", "=="):
            return f"({self.text(one.args[0], names)} {one.op} {self.text(one.args[1], names)})"
        if one.op == "where":
            test, yes, no = (self.condition(arg, names) for arg in one.args)
            return f"(({test} and {yes}) or ((not {test}) and {no}))"
        return f"({self.text(one, names)} != 0.0)"

    def _unequal(self, one: Expression, names: Mapping[Expression, str]) -> str:
        if one.args[0] is one.args[1]:
            return f"is_nan({self.text(one.args[0], names)})"
        return f"({self.text(one.args[0], names)} != {self.text(one.args[1], names)})"

    def _is_number(self, one: Expression) -> bool:
        """Is it certain not to be NaN."""
        return self._is_finite(one) or one.number is not None or (self._is_column(one) and one.params[0] == "grade")

    @contextmanager
    def _branch(self, test: Expression, holds: bool) -> Iterator[None]:
        """Where a condition holds, or does not: a value may be certain not to be 0."""
        while test.op == "not":
            test, holds = test.args[0], not holds
        self._nonzero.append(test.args[0] if test.op == "==" and not holds and test.args[1].number == 0 else None)
        yield
        self._nonzero.pop()

    def text(self, one: Expression, names: Mapping[Expression, str]) -> str:
        """A number as text."""
        if one.number is not None:
            return _number(one.number)
        if one in names or one.op == "column":
            text = self._plain(one, names)
            return f"(1.0 if {text} else 0.0)" if is_condition(one) else text
        if is_condition(one):
            return f"(1.0 if {self.condition(one, names)} else 0.0)"
        if one.op == "where":
            return self._either(one, names)
        parts = [self.text(arg, names) for arg in one.args]
        if one.op == "/":
            low, high = self.range_of(one.args[1])
            plain = low > 0 or high < 0 or any(one.args[1] is other for other in self._nonzero)
            return f"({parts[0]} / {parts[1]})" if plain else f"divide({parts[0]}, {parts[1]})"
        if one.op in _INFIX:
            return f"({parts[0]} {one.op} {parts[1]})"
        if one.op in CALLS:
            return f"{CALLS[one.op]}({', '.join(parts)})"
        return _OTHERS[one.op](self, one, *parts)

    def _either(self, one: Expression, names: Mapping[Expression, str]) -> str:
        test, yes, no = one.args
        texts = []
        for holds, side in ((True, yes), (False, no)):
            with self._branch(test, holds):
                texts.append(self.text(side, names))
        if test.op == "==" and test not in names and test.args[0] is not test.args[1]:
            return f"({texts[1]} if {self._unequal(test, names)} else {texts[0]})"
        return f"({texts[0]} if {self.condition(test, names)} else {texts[1]})"

    def _plain(self, one: Expression, names: Mapping[Expression, str]) -> str:
        if one in names:
            return names[one]
        if one.kind == "query":
            return f"lists.{one.params[0]}"
        return f"{self._column(one)}[i]"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"


def _rounded(to: SourceTerms, one: Expression, value: str, digits: str) -> str:
    scale = _number(10.0 ** cast("float", one.args[1].number))
    return f"(rint({value} * {scale}) / {scale})"


_OTHERS: Mapping[str, Callable[..., str]] = {
    "negative": lambda to, one, value: f"(-{value})",
    "spread": lambda to, one, value: value,
    "nth": lambda to, one: "float(i + 1)",
    "parameter": lambda to, one: str(one.params[0]),
    "round": _rounded,
    "length": lambda to, one: f"float({to._size(one.space)})",
    "highest_grade": lambda to, one: "highest_grade(lists.truth_grade, lists.truth_size)",
    "discount_sum": lambda to, one, end: f"{to._tables[one.params]}[index({end})]",
    "first_hit": lambda to, one, *parts: f"first_hit({', '.join(parts)})",
    "nth_of": lambda to, one, pairs: f"{to.names_of_query[one.args[0]]}[{one.params[0]}]",
    "overlap": lambda to, one, rank, depth: f"overlap(lists, {depth}, {_number(one.params[0])})",
    **{op: lambda to, one, *parts: f"{to._columns[one]}[i]" for op in OF_COLUMNS},
}
