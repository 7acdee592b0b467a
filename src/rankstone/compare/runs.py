"""Several runs side by side: their means, the values of each query, and means by group of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankstone.results.answer import Answer, DataPage
from rankstone.results.result import Means


@dataclass(frozen=True, repr=False)
class Runs(DataPage):
    """The means of some runs, by their names."""

    results: Mapping[str, Means]

    @property
    def first(self) -> Means:
        """Whose metrics are those of all."""
        return next(iter(self.results.values()))

    def to_dict(self) -> dict[str, Any]:
        """All that each result has: the form of a result's JSON file."""
        return {"runs": {name: result.to_dict() for name, result in self.results.items()}}

    def _columns(self) -> dict[str, Any]:
        return {"metric": list(self.first), **{name: [*result.values()] for name, result in self.results.items()}}

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first; with intervals if the results have them."""
        head, *body = super().rows()
        for at, result in enumerate(self.results.values(), start=1):
            for row, label in zip(body, self.first, strict=True):
                ends = result.ends(label)
                row[at] += (f" ({ends})" if ends else "") + result.bounds(label)
        return [head, *body]

    def answer(self) -> Answer:
        return replace(super().answer(), turns=type(self) is Runs)

    def remarks(self) -> list[str]:
        """What happened to the queries: once if it is the same in all runs, else by run."""
        bounds = [line for result in self.results.values() for line in result.said_of_bounds("in square brackets")]
        said = ["in brackets: intervals of the means"] if self._has_ends else []
        return [*self._accounts(), *said, *dict.fromkeys(bounds)]

    @property
    def _has_ends(self) -> bool:
        return type(self) is Runs and bool(self.first.ends(next(iter(self.first))))

    def _accounts(self) -> list[str]:
        remarks = {name: result.remarks() for name, result in self.results.items()}
        (first, *same), *others = remarks.values()
        if all(lines == [first, *same] for lines in others):
            return [first, *same]
        return [first, *(f"{name}: {line}" for name, lines in remarks.items() for line in lines[1:])]

    def defined(self) -> list[str]:
        """What the metrics mean."""
        return list(self.first.answer().definitions)


@dataclass(frozen=True, repr=False)
class Values(Runs):
    """The values of each query in some runs."""

    @property
    def _left(self) -> str:  # type: ignore[override]
        return "<<" if len(self.results) > 1 else "<"

    def _columns(self) -> dict[str, Any]:
        return _stacked(
            {
                name: {"query": list(result.queries), **{label: result.per_query[label].tolist() for label in result}}
                for name, result in self.results.items()
            }
        )

    rows = DataPage.rows


@dataclass(frozen=True, repr=False)
class Groups(Values):
    """Means of some runs by group of queries."""

    column: str  # that says which group a query is of
    groups: Mapping[Any, Any]  # by query

    def to_dict(self) -> dict[str, Any]:
        """All that each result has, and the means of its groups."""
        whole = super().to_dict()["runs"]
        for name, result in self.results.items():
            whole[name]["groups"] = {"by": self.column, "means": result.by(self.groups)}
        return {"runs": whole}

    def _columns(self) -> dict[str, Any]:
        found = {name: result.by(self.groups) for name, result in self.results.items()}
        return _stacked(
            {
                name: {
                    self.column: sorted(means, key=str),
                    **{label: [means[group][label] for group in sorted(means, key=str)] for label in self.first},
                }
                for name, means in found.items()
            }
        )


def _stacked(tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, Any]:
    """The tables of the runs, one under the other; a column says which run, if there are several."""
    first = next(iter(tables.values()))
    if len(tables) == 1:
        return dict(first)
    runs = [name for name, table in tables.items() for _ in next(iter(table.values()))]
    return {"run": runs, **{column: [cell for table in tables.values() for cell in table[column]] for column in first}}
