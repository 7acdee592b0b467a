"""Loops for a graph: the statements of a function of one list, in a small part of Python.

`rankstone.compile` translates them to other languages. A loop over the items of a space has all that can be computed
together; a phase is the loops that need no sum of each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from rankstone.program.graph import Expression, Fault, FunctionsOf, Graph, Space
from rankstone.program.source_terms import (
    CALLS,
    OF_COLUMNS,
    Lowering,
    SourceTerms,
    field_of,
    is_condition,
    nodes_of,
    orders,
)

_NEUTRAL = {"sum": 0.0, "lowest": math.inf, "product": 1.0}  # what changes nothing
_STEPS = {"sum": "{0} += {1}", "lowest": "{0} = min({0}, {1})", "product": "{0} *= {1}",
          "highest": "{0} = max({0}, {1})"}  # fmt: skip
_SCANS = ("running", "surviving", "above_sum")  # what a loop carries from item to item
_NAMES = {"lowest": "first_rank", "sum": "total", "product": "chance", "running": "so_far", "surviving": "reading",
          "above_sum": "above_group", "tied_sum": "tied_total", "tied_nth": "nth_of_tied", "is_repeat": "is_repeat",
          "mean_rank": "mean_rank", "right_above": "better_above", "highest_grade": "top_grade"}  # fmt: skip
_TOTALS = {"credit": "hits", "nonrelevant": "nonrelevant"}  # of a column's name


class Statements(SourceTerms):
    """The lines of a function that computes some values of one list, and raises the errors of its data."""

    def __init__(
        self,
        graph: Graph,
        values: Sequence[Expression],
        faults: Iterable[Fault],
        column: Expression | None = None,
        lower: Lowering | None = None,
        names: Mapping[Expression, str] | None = None,
    ) -> None:
        super().__init__(graph)
        lower = lower or Lowering(graph)
        self.names_of_query.update(names or {})  # of values that are computed elsewhere
        self._column_wanted = None if column is None else lower(column)
        self.values = [lower(value) for value in values]
        lowered = [
            fault._replace(condition=lower(fault.condition), value=None if fault.value is None else lower(fault.value))
            for fault in faults
        ]
        simple = [fault._replace(condition=self._without_finite(fault.condition)) for fault in lowered]
        self.faults = [fault for fault in simple if fault.condition.number != 0]
        self.lines: list[str] = []
        self.names: set[str] = {"lists", "i", *OF_COLUMNS.values(), *CALLS.values()}
        self._phases: dict[Expression, int] = {}
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
        return nodes_of(self._roots(), lambda one: (*one.args, *orders(one)), self.names_of_query)

    @cached_property
    def _uses(self) -> dict[Expression, int]:
        """How often other values read each."""
        return Counter([*self._roots(), *(arg for one in self._nodes for arg in one.args)])

    @property
    def column_name(self) -> str:
        """The column that was asked for."""
        return self._columns[cast("Expression", self._column_wanted)]

    # -- phases -----------------------------------------------------------------------------------------------

    def _phase(self, value: Expression) -> int:
        """In which loops it can be computed: after those whose sums it reads."""
        for one in self._nodes if not self._phases else ():
            inner = max((self._phases.get(part, 0) for part in one.args), default=0)
            order = max((self._phases.get(part, 0) + 1 for part in orders(one)), default=0)
            if one.op in (*OF_COLUMNS, *_STEPS, "overlap"):
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
            inside = [*self._sums(phase), *self._stored(phase), *self._item_faults(phase)]
            for space in dict.fromkeys(one.space for one in inside):
                self._loop(cast("Space", space), phase)

    def _sums(self, phase: int) -> list[Expression]:
        return [one for one in self._nodes if one.op in _STEPS and self._phase(one) == phase + 1]

    def _stored(self, phase: int) -> list[Expression]:
        """Values of items that a later phase reads as a column."""
        wanted = [] if self._column_wanted is None else [self._column_wanted]
        for one in self._nodes:
            parts = one.args if one.op in (*OF_COLUMNS, "overlap") else one.args[1:] if one.op == "above_sum" else ()
            gains = list(orders(one))
            late = [arg for arg in one.args if arg.kind == "item" and self._phase(one) > phase and arg.op in _SCANS]
            late = late if one.op not in _STEPS or self._phase(one) > phase + 1 else []
            wanted += [*parts, *(part for part in (*gains, *late) if part.kind == "item")]
        plain = [one for one in dict.fromkeys(wanted) if not self._is_column(one) and one.op not in OF_COLUMNS]
        return [one for one in plain if self._phase(one) == phase and one.kind == "item"]

    def _item_faults(self, phase: int) -> list[Expression]:
        conditions = [fault.condition for fault in self.faults]
        return [one for one in conditions if one.kind == "item" and self._phase(one) == phase]

    # -- names ------------------------------------------------------------------------------------------------

    def _name(self, one: Expression) -> str:
        inside = next((arg.name for arg in one.args if arg.name), "")
        total = _TOTALS.get(inside, "") if one.op == "sum" else ""
        return self._unique(one.name or total or _NAMES.get(one.op, "value"))

    def _unique(self, name: str, inside: set[str] | None = None) -> str:
        """A name that is free; inside: those of a loop."""
        at, unique = 2, name
        while unique in self.names or (inside is not None and unique in inside):
            unique, at = f"{name}_{at}", at + 1
        (self.names if inside is None else inside).add(unique)
        return unique

    # -- columns ----------------------------------------------------------------------------------------------

    def _make_lists(self, here: Sequence[Expression]) -> None:
        """The ideal lists of a phase, and the columns that functions of columns make."""
        for one in here:
            space = one.space
            if space is not None and space.what == "ideal" and space not in self._ideals:
                self._make_ideal(space)
            if one.op in OF_COLUMNS and one.kind == "item":
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
        return f"{OF_COLUMNS[one.op]}({', '.join(parts)}, {size})"

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

    def _make_table(self, params: Any) -> None:
        """The discounts of all places of the list, added up."""
        name = self._tables[params] = self._unique("discount_sums")
        self._assign(name, "numbers(index(lists.retrieved) + 1)")
        self.lines.append("for i in range(index(lists.retrieved)):")
        self.lines.append(f"    {name}[i + 1] = {name}[i] + {self._discount(params)}")

    def _discount(self, params: Any) -> str:
        """The discount of a place in a loop."""
        rank = self.graph.node("nth", kind="item", space=self.graph.space("placed"))
        return self.text(self.graph.of(params[0](FunctionsOf(self.graph), rank)), {})

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
            self.lines.append(f"    {name} += {self._discount(one.params)}")
        elif self._is_variable(one):
            text = self.text(one, self.names_of_query)
            self.names_of_query[one] = self._name(one)
            self._assign(self.names_of_query[one], text)

    def _is_variable(self, one: Expression) -> bool:
        """Is it read more than once, or at each item, and more than a few operations."""
        cost = self._cost(one, self.names_of_query)
        often = self._uses[one] > 1 or one in self._read_at_items
        return one.op == "highest_grade" or (often and cost > 3 and not is_condition(one))

    @cached_property
    def _read_at_items(self) -> set[Expression]:
        """The values of the query that values of items are made of."""
        return {arg for one in self._nodes if one.kind == "item" for arg in one.args if arg.kind != "item"}

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
        body, tail = list[str](), list[str]()
        names, inner = dict(self.names_of_query), set[str]()
        sinks = [one.args[0] for one in sums] + stored
        sinks += [part for fault in faults for part in (fault.condition, fault.value) if part is not None]
        for one in stored:
            self._columns[one] = self._unique(f"{one.name or _NAMES.get(one.op, 'value')}_by_item")
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
                text = self.condition(one, names) if is_condition(one) else self.text(one, names)
                name = one.name or (
                    field_of(one) if self._is_column(one) else "condition" if is_condition(one) else "value"
                )
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

        def of_items(parts: Iterable[Expression]) -> list[Expression]:
            return [part for part in parts if part.kind == "item"]

        return nodes_of(of_items(sinks), lambda one: of_items(self._read_here(one)), names)

    def _read_here(self, one: Expression) -> Sequence[Expression]:
        return () if one in self._columns or one.op in OF_COLUMNS else one.args

    def _step(self, one: Expression, names: Mapping[Expression, str]) -> list[str]:
        """Adds an item's value to a sum; where it is the neutral one, nothing."""
        value, tests = one.args[0], list[str]()
        neutral = _NEUTRAL.get(one.op)
        while neutral is not None and value.op == "where" and value not in names:
            test, yes, no = value.args
            if neutral not in (yes.number, no.number):
                break
            swapped = no.number != neutral
            tests.append(self.condition(test, names, negated=swapped))
            value = no if swapped else yes
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
        total = self.graph.node("sum", one.args[0], params=(name,), kind="query", space=one.space)
        self.names_of_query[total] = name
        return self._step(total, names)
