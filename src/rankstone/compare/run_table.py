"""Several runs side by side: their means, the values of each query, and means by group of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankstone.results.answer import Answer, Readable, table_of
from rankstone.results.definition import summarize
from rankstone.results.export import as_runs
from rankstone.results.result import Result


@dataclass(frozen=True, repr=False)
class Runs(Readable):
    """The means of some runs, by their names."""

    results: Mapping[str, Result]

    @property
    def first(self) -> Result:
        """Whose metrics are those of all."""
        return next(iter(self.results.values()))

    def to_dict(self) -> dict[str, Any]:
        """All that each result has: the form of a result's JSON file."""
        return as_runs(self.results)

    def _columns(self) -> dict[str, Any]:
        return {"metric": list(self.first), **{name: [*result.values()] for name, result in self.results.items()}}

    def _answer(self) -> Answer:
        """The means, with intervals and bounds if the results have them."""
        table, has_intervals = table_of(self._columns()), False
        for at, result in enumerate(self.results.values(), start=1):
            for row, label in zip(table[1:], self.first, strict=True):
                ends = result._interval_cell(label)
                row[at] += (f" ({ends})" if ends else "") + result._bounds_cell(label)
                has_intervals |= bool(ends)
        brackets = ["in brackets: intervals of the means"] if has_intervals else []
        return Answer(table, notes=self._notes(brackets), definitions=self._definitions(), fixed=1, turns=True)

    def _notes(self, more: list[str]) -> list[str]:
        """What happened to the queries: once if it is the same in all runs, else by run."""
        notes = {name: result.notes for name, result in self.results.items()}
        lines, *others = notes.values()
        if any(other != lines for other in others):
            lines = [lines[0], *(f"{name}: {line}" for name, several in notes.items() for line in several[1:])]
        bounds = [line for result in self.results.values() for line in result._notes_on_bounds("in square brackets")]
        return [*lines, *more, *dict.fromkeys(bounds)]

    def _definitions(self) -> list[str]:
        return summarize(list(self.first.definitions.values()))[:-1]


@dataclass(frozen=True, repr=False)
class Values(Runs):
    """The values of each query in some runs."""

    def _columns(self) -> dict[str, Any]:
        return self._stacked(
            {
                name: {"query": list(result.queries), **{label: result.per_query[label].tolist() for label in result}}
                for name, result in self.results.items()
            }
        )

    def _stacked(self, tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, Any]:
        """The tables of the runs, one under the other; a column says which run, if there are several."""
        first = next(iter(tables.values()))
        if len(tables) == 1:
            return dict(first)
        columns = {column: [cell for table in tables.values() for cell in table[column]] for column in first}
        return {"run": [name for name, table in tables.items() for _ in next(iter(table.values()))], **columns}

    def _answer(self) -> Answer:
        """A row per query or group."""
        sides = 2 if len(self.results) > 1 else 1
        return Answer(
            table_of(self._columns()), notes=self._notes([]), definitions=self._definitions(), align="<" * sides,
            fixed=sides,
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Groups(Values):
    """Means of some runs by group of queries."""

    column: str  # that says which group a query is of
    groups: Mapping[Any, Any]  # by query

    def to_dict(self) -> dict[str, Any]:
        """All that each result has, and the means of its groups."""
        whole = super().to_dict()
        for name, result in self.results.items():
            whole["runs"][name]["groups"] = {"by": self.column, "means": result.by_group(self.groups)}
        return whole

    def _columns(self) -> dict[str, Any]:
        tables = {}
        for name, result in self.results.items():
            means = result.by_group(self.groups)
            groups = sorted(means, key=str)
            columns = {label: [means[group][label] for group in groups] for label in self.first}
            tables[name] = {self.column: groups, **columns}
        return self._stacked(tables)
