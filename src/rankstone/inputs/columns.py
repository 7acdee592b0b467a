"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone import _core
from rankstone.inputs.arrow import Column, as_column, distinct, numbers, plain_ids
from rankstone.inputs.source import Align, Aligned, ranked_from

if TYPE_CHECKING:
    from rankstone import typing


_SHOWN = 5  # rows that are printed


class BadLine(NamedTuple):
    """A line of a file that was left out, and why."""

    line: int
    problem: str


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a truth (query, item, grade) or of a run (query, item, score)."""

    query: Column
    item: Column
    grade: Column | None = None
    score: Column | None = None
    skipped: int = 0  # bad rows of a file that were left out
    ranks: bool = False  # are its scores made of ranks, which tell an order and nothing more
    bad_lines: tuple[BadLine, ...] = ()  # the first hundred of them
    empty: Column | None = None  # queries of a batch whose lists have nothing in them
    remarks: tuple[str, ...] = ()  # on how a file was read, for whoever reads the result

    def __repr__(self) -> str:
        named = {role: getattr(self, role) for role in ("query", "item", "grade", "score")}
        found = {role: column for role, column in named.items() if column is not None}
        head = np.arange(min(len(self.query), _SHOWN))
        rows = zip(*(plain_ids(column, head) for column in found.values()), strict=True)
        more = ["..."] if len(self.query) > _SHOWN else []
        return "\n".join(
            [f"{len(self.query):,} rows of {', '.join(found)}", *("  ".join(map(str, row)) for row in rows), *more]
        )


def columns(
    *,
    query: typing.Column,
    item: typing.Column,
    grade: typing.Column | None = None,
    score: typing.Column | None = None,
) -> Columns:
    """A truth or a run as columns of equal length, one row an item; NumPy arrays, Arrow arrays or lists.

    Without `grade`, every row of a truth is relevant. Without `score`, a run's rows are in ranked order.

    >>> truth = rs.columns(query=[1, 1], item=[7, 8])
    >>> rs.evaluate(truth, rs.columns(query=[1, 1], item=[9, 7], score=[0.9, 0.8]), "rr")["rr"]
    0.5
    """
    found = {name: as_column(name, values) for name, values in
             (("query", query), ("item", item), ("grade", grade), ("score", score)) if values is not None}  # fmt: skip
    for name in {"grade", "score"} & found.keys():
        found[name] = numbers(found[name])
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("columns differ in length: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    return Columns(found["query"], found["item"], found.get("grade"), found.get("score"))


def by_role(values: Mapping[str, typing.Column]) -> Columns:
    """Columns of a truth or a run by their roles; a rank serves as a score."""
    if "rank" in values:
        values = {**values, "score": as_scores(values["rank"])}
    made = columns(**{role: values[role] for role in values if role != "rank"})
    return replace(made, ranks=True) if "rank" in values else made


def as_scores(ranks: typing.Column) -> Column:
    """Scores that order rows as their ranks do."""
    return -np.asarray(as_column("rank", ranks), dtype=np.float64)


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns, *, remarks: tuple[str, ...] = ()) -> None:
        self.truth, self.run = truth, run
        self.remarks = (*truth.remarks, *run.remarks, *remarks)

    repeatable = True

    def align(self, how: Align) -> Aligned:
        truth, run = self.truth, self.run
        found = _core.align_columns(truth.query, truth.item, truth.grade, run.query, run.item, run.score, how)
        first, extra = found.queries, found.extra

        def queries() -> Sequence[Any]:
            ids = plain_ids(truth.query, first)
            return [*ids, *extra_queries()] if how.extra_queries else ids

        def extra_queries() -> Sequence[Any]:
            return plain_ids(run.query, extra)

        graded = truth.grade is not None
        return Aligned(
            ranked_from(found), queries, extra_queries, len(extra), found.dropped, remarks=self.remarks, graded=graded
        )

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]]:
        return distinct(self.truth.item), distinct(self.run.item)
