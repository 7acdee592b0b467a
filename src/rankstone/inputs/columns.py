"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone import _core
from rankstone.inputs.arrow import Column, Places, as_column, distinct, numbers, plain_ids, take
from rankstone.inputs.keys import consecutive
from rankstone.inputs.source import Align, Aligned, First, ranked_from

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
    return columns(**{role: values[role] for role in values if role != "rank"})


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

    def first(self, how: Align, depth: int | None) -> First:
        run = self.run
        offsets, rows, _ = _core.first_columns(self.truth.query, run.query, run.item, run.score, how, depth)
        return first_rows(offsets, rows, run.item, run.score)

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]]:
        return distinct(self.truth.item), distinct(self.run.item)


def first_rows(offsets: Places, rows: Places, item: Column, score: Column | None) -> First:
    """What the core found to be shown, with the items of the rows."""
    rank = None
    if len(rows) and rows.min() < 0:  # a place that an item holds a second time
        keep = rows >= 0
        rank = (np.arange(1, len(rows) + 1) - np.repeat(offsets[:-1], np.diff(offsets)))[keep]
        offsets, rows = np.concatenate(([0], np.cumsum(keep)))[offsets], rows[keep]
    if len(rows) == len(item) and (len(rows) == 0 or (rows[0] == 0 and consecutive(rows))):
        return First(offsets, rank, item, score)  # all rows, as they are
    return First(offsets, rank, take(item, rows), take(score, rows))
