"""The back-end for source code: a graph becomes a few loops, as text in a small part of Python.

`rankstone.compile` translates this part of Python to other languages. Numbers are floats, conditions are truth values;
`lists` has the columns of one aligned list. A loop over the items of a space has all that can be computed together; a
phase is the loops that need no sum of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from rankstone.align.elementwise import ELEMENTWISE, table_lookup
from rankstone.errors import InputError
from rankstone.program.graph import CONDITIONS, EXPANSIONS, Call, Expression, Fault, FunctionsOf, Graph, Space, walk

_MANY = 1e16  # more items than there are
_NEUTRAL = {"sum": 0.0, "lowest": math.inf, "product": 1.0}  # what changes nothing
_STEPS = {"sum": "{0} += {1}", "lowest": "{0} = min({0}, {1})", "product": "{0} *= {1}",
          "highest": "{0} = max({0}, {1})"}  # fmt: skip
_SCANS = ("running", "surviving", "above_sum")  # what a loop carries from item to item
# Operations on whole columns, by the functions of `rankstone.compile.list_functions`.
_OF_COLUMNS = {"tied_sum": "tied_sums", "tied_nth": "tied_nths", "is_repeat": "repeats", "mean_rank": "mean_ranks",
               "right_above": "right_above", "pairs": "compared_pairs"}  # fmt: skip
_INFIX = {"+": "+", "-": "-", "*": "*", "<": "<", "<=": "<=", "==": "==", "and": "and", "or": "or"}
_CALLS = {"minimum": "min", "maximum": "max", "power": "power", "log2": "log2", "log": "log", "sqrt": "sqrt",
          "exp": "exp", "abs": "abs", "floor": "floor", "ceil": "ceil"}  # fmt: skip
_NAMES = {"lowest": "first_rank", "sum": "total", "product": "chance", "running": "so_far", "surviving": "reading",
          "above_sum": "above_group", "tied_sum": "tied_total", "tied_nth": "nth_of_tied", "is_repeat": "is_repeat",
          "mean_rank": "mean_rank", "right_above": "better_above"}  # fmt: skip
_TOTALS = {"credit": "hits", "nonrelevant": "nonrelevant"}  # of a column's name
_COLUMNS = {"level": "tied"}


# -- lower: fewer operations ----------------------------------------------------------------------------------


def _discount(graph: Graph, call: Call, rank: Expression) -> Expression:
    return graph.of(call.params[0](FunctionsOf(graph), rank))


LOWERED: Mapping[str, Callable[..., Any]] = {
    **EXPANSIONS,
    "discount": _discount,
    "lookup": lambda graph, call, grades: table_lookup(FunctionsOf(graph), grades, call.params[0]),
    "by_count": lambda graph, call, count: graph.of(call.params[0](FunctionsOf(graph), count)),
}


class _Lowering:
    """A graph in the operations that have statements."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lowered: dict[Expression, Expression] = {}
        self._without: dict[tuple[Expression, bool, Expression], Expression] = {}

    def __call__(self, value: Expression) -> Expression:
        for one in walk([value], self._lowered):
            self._lowered[one] = self._made(one, [self._lowered[arg] for arg in one.args])
        return self._lowered[value]

    def _made(self, one: Expression, args: Sequence[Expression]) -> Expression:
        graph, space = self.graph, one.space and self._space(one.space)
        if one.op in LOWERED:
            made = graph.of(LOWERED[one.op](graph, Call(one.op, one.params, one.kind, space), *args))
        elif one.op == "where":
            made = self._where(*args)
        elif one.op in ("and", "or"):
            made = graph.call(one.op, args[0], self._given(args[0], one.op == "and", args[1]))
        elif one.op in ("*", "/") and args[1].number == 1.0:
            made = args[0]
        elif one.op in ELEMENTWISE and one.op != "round":
            made = graph.call(one.op, *args)
        else:
            made = graph.node(one.op, *args, params=one.params, kind=one.kind, space=space)
        return cast("Expression", graph.named(made, one.name)) if one.name else made

    def _space(self, space: Space) -> Space:
        if space.what == "subtopics" or space.view is not None:
            raise InputError("needs subtopics, which source code for one list does not have")
        of = space.of and self._space(space.of)
        order = None if space.order is None else self(space.order)
        return self.graph.space(space.what, of, order, space.nonzero)

    def _where(self, test: Expression, yes: Expression, no: Expression) -> Expression:
        if test.op == "not":
            return self._where(test.args[0], no, yes)
        return self.graph.call("where", test, self._given(test, True, yes), self._given(test, False, no))

    def _given(self, test: Expression, holds: bool, value: Expression) -> Expression:
        """A value where it is certain whether a condition holds."""
        while test.op == "not":
            test, holds = test.args[0], not holds
        if test.op == ("and" if holds else "or"):
            return self._given(test.args[1], holds, self._given(test.args[0], holds, value))
        key = (test, holds, value)
        if key not in self._without:
            made = value
            if value is test:
                made = self.graph.of(float(holds))
            elif value.op == "where" and value.args[0] is test:
                made = self._given(test, holds, value.args[1 if holds else 2])
            elif value.op in ELEMENTWISE and value.op != "round":
                args = [self._given(test, holds, arg) for arg in value.args]
                if any(new is not old for new, old in zip(args, value.args, strict=True)):
                    made = self._where(*args) if value.op == "where" else self.graph.call(value.op, *args)
            self._without[key] = made
        return self._without[key]


# -- how large a value can be ---------------------------------------------------------------------------------

_RANGES = {"rank": (1.0, _MANY), "place": (1.0, _MANY), "level": (1.0, _MANY), "above": (0.0, _MANY),
           "retrieved": (0.0, _MANY), "judged": (0.0, _MANY), "unjudged": (0.0, _MANY), "nth": (1.0, _MANY),
           "length": (0.0, _MANY), "is_repeat": (0.0, 1.0), "mean_rank": (1.0, _MANY), "right_above": (0.0, 1.0),
           "nth_of": (-_MANY * _MANY, _MANY * _MANY), "first_hit": (0.0, 1.0), "tied_nth": (1.0, _MANY),
           "discount_sum": (0.0, _MANY), "overlap": (-1.0, 2.0)}  # fmt: skip
_ANY = (-math.inf, math.inf)


def _corners(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    products = [a * b if a and b else 0.0 for a in first for b in second]
    return min(products), max(products)


def _monotone(function: Callable[[float], float], lowest: float) -> Callable[..., tuple[float, float]]:
    def between(one: Expression, inside: tuple[float, float]) -> tuple[float, float]:
        low, high = inside
        return (function(low) if low > lowest else -math.inf, function(high) if high < math.inf else math.inf)

    return between


def _quotient(
    one: Expression, above: tuple[float, float], below: tuple[float, float]
) -> tuple[float, float]:
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
    "product": lambda one, a: (0.0, 1.0) if 0 <= a[0] and a[1] <= 1 else _ANY,
    "surviving": lambda one, a: (0.0, 1.0) if 0 <= a[0] and a[1] <= 1 else _ANY,
    "highest_grade": lambda one: (0.0, math.inf),
    **dict.fromkeys(("sum", "running"), lambda one, a: _corners(a, (0.0, _MANY))),
    **dict.fromkeys(("above_sum", "tied_sum"), lambda one, a, above: _corners(a, (0.0, _MANY))),
    **dict.fromkeys(CONDITIONS, lambda one, *parts: (0.0, 1.0)),
}


# -- statements -----------------------------------------------------------------------------------------------


def _is_condition(value: Expression) -> bool:
    if value.op == "where":
        return all(_is_condition(arg) or arg.number in (0.0, 1.0) for arg in value.args[1:]) and any(
            map(_is_condition, value.args[1:])
        )
    return value.op in CONDITIONS or (value.op == "column" and value.params[0] == "present")


def _orders(value: Expression) -> Iterator[Expression]:
    """The gains that put the items of its list in order."""
    space = value.space
    while space is not None:
        if space.order is not None:
            yield space.order
        space = space.of


class Statements:
    """The lines of a function that computes some values of one list, and raises the errors of its data."""

    def __init__(
        self,
        graph: Graph,
        values: Sequence[Expression],
        faults: Iterable[Fault],
        column: Expression | None = None,
    ) -> None:
        lower = _Lowering(graph)
        self._column_wanted = None if column is None else lower(column)
        self.graph, self.values = graph, [lower(value) for value in values]
        self.faults = [
            fault._replace(
                condition=lower(fault.condition), value=None if fault.value is None else lower(fault.value)
            )
            for fault in faults
        ]
        self._ranges: dict[Expression, tuple[float, float]] = {}
        self.faults = [
            fault._replace(condition=test)
            for fault in self.faults
            if (test := self._without_finite(fault.condition)).number != 0
        ]
        self.lines: list[str] = []
        self.names: set[str] = {"lists", "i", *_OF_COLUMNS.values(), *_CALLS.values()}
        self._phases: dict[Expression, int] = {}
        self.names_of_query: dict[Expression, str] = {}  # the variables of values of the query
        self._columns: dict[Expression, str] = {}
        self._ideals: dict[Space, tuple[str, str]] = {}  # by list: its order (or grades), and how many items it has
        self._nonzero: list[Expression] = []
        self._write()

    def _roots(self) -> Iterator[Expression]:
        yield from self.values
        if self._column_wanted is not None:
            yield self._column_wanted
        for fault in self.faults:
            yield fault.condition
            if fault.value is not None:
                yield fault.value

    @cached_property
    def _nodes(self) -> list[Expression]:
        """All that is computed, parts first."""
        reached: set[Expression] = set()
        waiting = list(self._roots())
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += [*one.args, *_orders(one)]
        return sorted(reached, key=lambda one: one.serial)

    @cached_property
    def _uses(self) -> dict[Expression, int]:
        """How often other values read each."""
        counts = dict.fromkeys(self._nodes, 0)
        for part in [*self._roots(), *(arg for one in self._nodes for arg in one.args)]:
            counts[part] += 1
        return counts

    def range_of(self, value: Expression) -> tuple[float, float]:
        """The lowest and the highest number that a value can be; infinite where grades decide."""
        for one in walk([value], self._ranges):
            if one.number is not None:
                found = (one.number, one.number)
            elif one.op in ("column", "nth", *_RANGES):
                found = _RANGES.get(one.params[0] if one.op == "column" else one.op, _ANY)
            else:
                found = _BOUNDS.get(one.op, lambda one, *parts: _ANY)(one, *(self._ranges[arg] for arg in one.args))
            self._ranges[one] = _ANY if any(map(math.isnan, found)) else found
        return self._ranges[value]

    def _is_finite(self, value: Expression) -> bool:
        low, high = self.range_of(value)
        return -1e300 < low and high < 1e300

    def _without_finite(self, test: Expression) -> Expression:
        """A condition without the checks of numbers that cannot overflow."""
        if test.op == "<" and test.args[1].number == math.inf and self._is_finite(test.args[0]):
            return self.graph.of(1.0)
        if test.op not in ("and", "or", "not"):
            return test
        return self.graph.call(test.op, *map(self._without_finite, test.args))

    @property
    def column_name(self) -> str:
        """The column that was asked for."""
        return self._columns[cast("Expression", self._column_wanted)]

    # -- phases -----------------------------------------------------------------------------------------------

    def _phase(self, value: Expression) -> int:
        """In which loops it can be computed: after those whose sums it reads."""
        for one in self._nodes if not self._phases else ():
            inner = max((self._phases[part] for part in one.args), default=0)
            order = max((self._phases[part] + 1 for part in _orders(one)), default=0)
            if one.op in _OF_COLUMNS or one.op in _STEPS or (one.op == "overlap"):
                inner += 1
            self._phases[one] = max(inner, order + (one.op in _STEPS)) if order else inner
        return self._phases[value]

    def _write(self) -> None:
        last = max(map(self._phase, self._nodes), default=0)
        for phase in range(last + 1):
            here = [one for one in self._nodes if self._phase(one) == phase]
            self._make_lists(here)
            for one in here:
                self._set_query_value(one)
            self._raise_faults(phase)
            spaces = dict.fromkeys(space for space in (self._loop_space(one) for one in self._sinks(phase)) if space)
            for space in spaces:
                self._loop(space, phase)

    def _sinks(self, phase: int) -> list[Expression]:
        """What the loops of a phase are for: sums, columns that others read, and checks."""
        return [*self._sums(phase), *self._stored(phase), *self._item_faults(phase)]

    def _sums(self, phase: int) -> list[Expression]:
        return [one for one in self._nodes if one.op in _STEPS and self._phase(one) == phase + 1]

    def _stored(self, phase: int) -> list[Expression]:
        """Values of items that a later phase reads as a column."""
        wanted = [] if self._column_wanted is None else [self._column_wanted]
        for one in self._nodes:
            parts = one.args if one.op in (*_OF_COLUMNS, "overlap") else ()
            orders = list(_orders(one))
            late = [arg for arg in one.args if arg.kind == "item" and self._phase(one) > phase and arg.op in _SCANS]
            late = late if one.op not in _STEPS or self._phase(one) > phase + 1 else []
            wanted += [*parts, *(part for part in (*orders, *late) if part.kind == "item")]
        plain = [one for one in dict.fromkeys(wanted) if not self._is_column(one) and one.op not in _OF_COLUMNS]
        return [one for one in plain if self._phase(one) == phase and one.kind == "item"]

    def _item_faults(self, phase: int) -> list[Expression]:
        return [one for one in (fault.condition for fault in self.faults) if one.kind == "item" and self._phase(one) == phase]

    def _loop_space(self, one: Expression) -> Space | None:
        return one.space

    # -- names ------------------------------------------------------------------------------------------------

    def _name(self, one: Expression, default: str = "") -> str:
        inside = next((arg.name for arg in one.args if arg.name), "")
        name = one.name or default or (_TOTALS.get(inside, "") if one.op == "sum" else "") or _NAMES.get(one.op, "value")
        return self._unique(name)

    def _unique(self, name: str, inside: set[str] | None = None) -> str:
        """A name that is free; inside: those of a loop."""
        at, unique = 2, name
        while unique in self.names or (inside is not None and unique in inside):
            unique, at = f"{name}_{at}", at + 1
        (self.names if inside is None else inside).add(unique)
        return unique

    # -- columns ----------------------------------------------------------------------------------------------

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
        space, name = cast("Space", one.space), _COLUMNS.get(one.params[0], one.params[0])
        if space.what == "ideal":
            return self._ideals[space][0]
        return f"lists.{name}" if space.what == "placed" else f"lists.truth_{name}"

    def _make_lists(self, here: Sequence[Expression]) -> None:
        """The ideal lists of a phase, and the columns that functions of columns make."""
        for one in here:
            space = one.space
            if space is not None and space.what == "ideal" and space not in self._ideals:
                self._make_ideal(space)
            if one.op in _OF_COLUMNS and one.kind == "item":
                self._columns[one] = self._unique(one.name or _NAMES.get(one.op, "column"))
                self._assign(self._columns[one], self._of_columns(one))
            elif one.op == "pairs":
                self.names_of_query[one] = self._unique("pairs")
                self._assign(self.names_of_query[one], self._of_columns(one))
            elif one.op == "discount_sum" and one.params not in self._tables:
                self._make_table(one.params)

    def _of_columns(self, one: Expression) -> str:
        size = self._size(cast("Space", one.space))
        parts = [self._column(arg) if arg.number is None else f"filled({arg.number!r}, {size})" for arg in one.args]
        return f"{_OF_COLUMNS[one.op]}({', '.join(parts)}, {size})"

    def _make_ideal(self, space: Space) -> None:
        base = cast("Space", space.of)
        grades = "lists.truth_grade" if base.what == "truth" else "lists.grade"
        name, size = self._unique("ideal_grade"), self._size(base)
        if space.order is None:
            self._assign(name, f"descending({grades}, {size})")
        else:
            self._assign(name, f"by_gain({grades}, {self._column(space.order)}, {size})")
        if space.nonzero:
            nonzero = self._unique("nonzero")
            self._assign(nonzero, f"count_nonzero({grades}, {size})")
            self._assign(name, f"without_zeros({name}, {size})")
            size = nonzero
        self._ideals[space] = (name, size)

    @cached_property
    def _tables(self) -> dict[Any, str]:
        return {}

    def _make_table(self, params: Any) -> None:
        """The discounts of all places of the list, added up."""
        name = self._tables[params] = self._unique("discount_sums")
        self._assign(name, "numbers(index(lists.retrieved) + 1)")
        self.lines.append("for i in range(index(lists.retrieved)):")
        rank = self.graph.node("nth", kind="item", space=self.graph.space("placed"))
        discount = self.text(self.graph.of(params[0](FunctionsOf(self.graph), rank)), {})
        self.lines.append(f"    {name}[i + 1] = {name}[i] + {discount}")

    # -- query values -----------------------------------------------------------------------------------------

    def _assign(self, name: str, text: str) -> None:
        self.lines.append(f"{name} = {text}")

    def _set_query_value(self, one: Expression) -> None:
        """A variable for a value of the query that is read more than once."""
        if one.kind == "item" or one in self.names_of_query or one.number is not None or one.op in ("column", "spread"):
            return
        if one.op == "discount_total":
            self.names_of_query[one] = name = self._unique("discounts")
            self._assign(name, "0.0")
            self.lines.append(f"for i in range(index({self.text(one.args[0], self.names_of_query)})):")
            rank = self.graph.node("nth", kind="item", space=self.graph.space("placed"))
            discount = self.graph.of(one.params[0](FunctionsOf(self.graph), rank))
            self.lines.append(f"    {name} += {self.text(discount, {})}")
        elif self._uses[one] > 1 and self._cost(one, self.names_of_query) > 3 and not _is_condition(one):
            text = self.text(one, self.names_of_query)
            self.names_of_query[one] = self._name(one, "" if one.name else "value")
            self._assign(self.names_of_query[one], text)

    def _cost(self, one: Expression, names: Mapping[Expression, str]) -> int:
        if one in names or one.number is not None:
            return 1
        return 1 + sum(self._cost(arg, names) for arg in one.args)

    def _raise_faults(self, phase: int) -> None:
        for fault in self.faults:
            if fault.condition.kind != "item" and self._phase(fault.condition) == phase:
                self.lines.append(f"if {self.condition(fault.condition, self.names_of_query)}:")
                self.lines.append(f"    {self._raise(fault, self.names_of_query)}")

    def _raise(self, fault: Fault, names: Mapping[Expression, str]) -> str:
        if fault.value is None:
            return f"raise ValueError({fault.problem!r})"
        before, _, after = fault.problem.replace("{:g}", "{}").partition("{}")
        return f"raise ValueError({before!r}, {self.text(fault.value, names)}, {after!r})"

    # -- loops ------------------------------------------------------------------------------------------------

    def _loop(self, space: Space, phase: int) -> None:
        sums = [one for one in self._sums(phase) if one.space is space]
        stored = [one for one in self._stored(phase) if one.space is space]
        conditions = {one for one in self._item_faults(phase) if one.space is space}
        faults = [fault for fault in self.faults if fault.condition in conditions]
        size = self._size(space)
        body: list[str] = []
        tail: list[str] = []
        names, inner = dict(self.names_of_query), set[str]()
        sinks = [one.args[0] for one in sums] + stored
        sinks += [part for fault in faults for part in (fault.condition, fault.value) if part is not None]
        for one in stored:
            self._columns[one] = self._name(one)
            self._assign(self._columns[one], f"numbers({size})")
        for one in sums:
            self.names_of_query[one] = self._name(one)
            starts = "-INFINITY" if self._from_below(one) else repr(_NEUTRAL.get(one.op, 0.0))
            self._assign(self.names_of_query[one], starts.replace("inf", "INFINITY"))
        inside = self._inside(sinks, names)
        counts = dict.fromkeys(inside, 0)
        for part in [*sinks, *(arg for one in inside for arg in self._read_here(one))]:
            if part in counts:
                counts[part] += 1
        for one in inside:
            if one in self._columns and self._phase(one) < phase:
                names[one] = f"{self._columns[one]}[i]"
            elif one.op in _SCANS:
                self._scan(one, names, body, tail)
            elif counts[one] > 1 and one.op != "spread" and self._cost(one, names) > (0 if self._is_column(one) else 2):
                text = self.condition(one, names) if _is_condition(one) else self.text(one, names)
                name = one.name or (_COLUMNS.get(one.params[0], one.params[0]) if self._is_column(one) else "value")
                names[one] = self._unique(name, inner)
                body.append(f"{names[one]} = {text}")
            elif one.op == "nth" and counts[one] > 1:
                names[one] = self._unique("rank", inner)
                body.append(f"{names[one]} = float(i + 1)")
        for fault in faults:
            body += [f"if {self.condition(fault.condition, names)}:", f"    {self._raise(fault, names)}"]
        for one in sums:
            body += self._step(one, names)
        body += [f"{self._columns[one]}[i] = {self.text(one, names)}" for one in stored]
        self.lines.append(f"for i in range({size}):")
        self.lines += [f"    {line}" for line in (*body, *tail)]
        for one in sums:
            if self._from_below(one):
                self.lines += [f"if {size} == 0:", f"    {self.names_of_query[one]} = 0.0"]

    def _from_below(self, one: Expression) -> bool:
        """Is it the highest of values that can all be negative."""
        return one.op == "highest" and self.range_of(one.args[0])[0] < 0

    def _inside(self, sinks: Iterable[Expression], names: Mapping[Expression, str]) -> list[Expression]:
        """The values of items that a loop computes, parts first."""
        reached: set[Expression] = set()
        waiting = [one for one in sinks if one.kind == "item"]
        while waiting:
            one = waiting.pop()
            if one not in reached and one not in names:
                reached.add(one)
                waiting += [arg for arg in self._read_here(one) if arg.kind == "item"]
        return sorted(reached, key=lambda one: one.serial)

    def _read_here(self, one: Expression) -> Sequence[Expression]:
        return () if one in self._columns or one.op in _OF_COLUMNS else one.args

    def _step(self, one: Expression, names: Mapping[Expression, str]) -> list[str]:
        """Adds an item's value to a sum; where it is the neutral one, nothing."""
        value, tests = one.args[0], list[str]()
        neutral = _NEUTRAL.get(one.op)
        while neutral is not None and value.op == "where" and value not in names and neutral in (value.args[1].number, value.args[2].number):
            swapped = value.args[2].number != neutral
            tests.append(self.condition(value.args[0], names, negated=swapped))
            value = value.args[2 if swapped else 1]
        step = _STEPS[one.op].format(self.names_of_query[one], self.text(value, names))
        return [f"if {' and '.join(f'({test})' for test in tests)}:", f"    {step}"] if tests else [step]

    def _scan(self, one: Expression, names: dict[Expression, str], body: list[str], tail: list[str]) -> None:
        """A value that goes on from item to item."""
        name = self._name(one)
        if one.op == "running":
            self._assign(name, "0.0")
            body.extend(self._added(name, one, names))
        elif one.op == "surviving":
            self._assign(name, "1.0")
            tail.append(f"{name} *= 1.0 - {self.text(one.args[0], names)}")
        else:
            total, above = self._unique("above_item"), self.text(one.args[1], names)
            before = self._column(one.args[1])
            self._assign(name, "0.0")
            self._assign(total, "0.0")
            body.extend([f"if i > 0 and {above} != {before}[i - 1]:", f"    {name} = {total}"])
            tail.extend(self._added(total, one, names))
        names[one] = name

    def _added(self, name: str, one: Expression, names: Mapping[Expression, str]) -> list[str]:
        self_sum = self.graph.node("sum", one.args[0], params=(name,), kind="query", space=one.space)
        self.names_of_query[self_sum] = name
        return self._step(self_sum, names)

    # -- expressions ------------------------------------------------------------------------------------------

    def condition(self, one: Expression, names: Mapping[Expression, str], negated: bool = False) -> str:
        """A condition as text."""
        if one.op == "not" and one not in names:
            return self.condition(one.args[0], names, not negated)
        if negated:
            if one.op == "==" and one not in names:
                return self._unequal(one, names)
            if one.op in ("<", "<=") and one not in names and all(map(self._is_number, one.args)):
                swapped = self.graph.node({"<": "<=", "<=": "<"}[one.op], *one.args[::-1], kind=one.kind, space=one.space)
                return self.condition(swapped, names)
            return f"(not {self.condition(one, names)})"
        if one.number is not None:
            return str(bool(one.number))
        if one in names or one.op == "column":
            text = self._plain(one, names)
            return text if _is_condition(one) else f"({text} != 0.0)"
        if one.op == "==" and one.args[0] is one.args[1]:
            return f"(not is_nan({self.text(one.args[0], names)}))"
        if one.op == "<" and one.args[1].number == math.inf and one.args[0].op == "abs":
            return f"is_finite({self.text(one.args[0].args[0], names)})"
        if one.op in ("and", "or"):
            first, second = one.args
            return f"({self.condition(first, names)} {one.op} {self._after(first, one.op == 'and', second, names)})"
        if one.op in ("<", "<=") and one.args[0].number is not None:
            sign = {"<": ">", "<=": ">="}[one.op]
            return f"({self.text(one.args[1], names)} {sign} {self.text(one.args[0], names)})"
        if one.op in ("<", "<=", "=="):
            return f"({self.text(one.args[0], names)} {one.op} {self.text(one.args[1], names)})"
        if one.op == "where":
            test, yes, no = (self.condition(arg, names) for arg in one.args)
            return f"(({test} and {yes}) or ((not {test}) and {no}))"
        return f"({self.text(one, names)} != 0.0)"

    def _after(self, first: Expression, holds: bool, second: Expression, names: Mapping[Expression, str]) -> str:
        with_nonzero = self._marked(first, holds)
        text = self.condition(second, names)
        if with_nonzero:
            self._nonzero.pop()
        return text

    def _unequal(self, one: Expression, names: Mapping[Expression, str]) -> str:
        if one.args[0] is one.args[1]:
            return f"is_nan({self.text(one.args[0], names)})"
        return f"({self.text(one.args[0], names)} != {self.text(one.args[1], names)})"

    def _is_number(self, one: Expression) -> bool:
        """Is it certain not to be NaN."""
        return self._is_finite(one) or one.number is not None or (self._is_column(one) and one.params[0] == "grade")

    def _marked(self, test: Expression, holds: bool) -> bool:
        """Note that a value is not 0 where a condition holds, or does not; whether there is such a value."""
        while test.op == "not":
            test, holds = test.args[0], not holds
        if test.op != "==" or holds or test.args[1].number != 0:
            return False
        self._nonzero.append(test.args[0])
        return True

    def text(self, one: Expression, names: Mapping[Expression, str]) -> str:
        """A number as text."""
        if one.number is not None:
            return _number(one.number)
        if one in names or one.op == "column":
            text = self._plain(one, names)
            return f"(1.0 if {text} else 0.0)" if _is_condition(one) else text
        if _is_condition(one):
            return f"(1.0 if {self.condition(one, names)} else 0.0)"
        if one.op == "where":
            return self._either(one, names)
        parts = [self.text(arg, names) for arg in one.args]
        if one.op == "/":
            low, high = self.range_of(one.args[1])
            plain = low > 0 or high < 0 or any(one.args[1] is other for other in self._nonzero)
            return f"({parts[0]} / {parts[1]})" if plain else f"divide({parts[0]}, {parts[1]})"
        if one.op in _INFIX:
            return f"({parts[0]} {_INFIX[one.op]} {parts[1]})"
        if one.op in _CALLS:
            return f"{_CALLS[one.op]}({', '.join(parts)})"
        return _OTHERS[one.op](self, one, *parts)

    def _either(self, one: Expression, names: Mapping[Expression, str]) -> str:
        test, yes, no = one.args
        texts = []
        for holds, side in ((True, yes), (False, no)):
            marked = self._marked(test, holds)
            texts.append(self.text(side, names))
            if marked:
                self._nonzero.pop()
        if test.op == "==" and test not in names and not (test.args[0] is test.args[1]):
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


def _rounded(to: Statements, one: Expression, value: str, digits: str) -> str:
    scale = _number(10.0 ** cast("float", one.args[1].number))
    return f"(rint({value} * {scale}) / {scale})"


_OTHERS: Mapping[str, Callable[..., str]] = {
    "negative": lambda to, one, value: f"(-{value})",
    "spread": lambda to, one, value: value,
    "nth": lambda to, one: "float(i + 1)",
    "round": _rounded,
    "length": lambda to, one: f"float({to._size(one.space)})",
    "highest_grade": lambda to, one: "highest_grade(lists.truth_grade, lists.truth_size)",
    "discount_sum": lambda to, one, end: f"{to._tables[one.params]}[index({end})]",
    "first_hit": lambda to, one, *parts: f"first_hit({', '.join(parts)})",
    "nth_of": lambda to, one, pairs: f"{to.names_of_query[one.args[0]]}[{one.params[0]}]",
    "overlap": lambda to, one, rank, depth: f"overlap(lists, {depth}, {_number(one.params[0])})",
    **{op: lambda to, one, *parts: f"{to._columns[one]}[i]" for op in _OF_COLUMNS},
}
