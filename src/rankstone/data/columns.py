"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rankstone import _core
from rankstone.data.annotations import SEVERAL, Floats, Ints, Notes, Subtopics, all_in_order
from rankstone.data.arrow import Column, Places, as_column, distinct, encoded, numbers, plain, plain_ids, take
from rankstone.data.roles import NOTES
from rankstone.data.source import Align, Aligned, First, ranked_from
from rankstone.errors import DataError

if TYPE_CHECKING:
    from rankstone import typing


_SHOWN = 5  # rows that are printed


class BadLine(NamedTuple):
    """A line of a file that was left out, and why."""

    line: int
    problem: str


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a truth (query, item, grade, and perhaps subtopic and weight) or of a run (query, item, score)."""

    query: Column
    item: Column
    grade: Column | None = None
    score: Column | None = None
    skipped: int = 0  # bad rows of a file that were left out
    ranks: bool = False  # are its scores made of ranks, which tell an order and nothing more
    bad_lines: tuple[BadLine, ...] = ()  # the first hundred of them
    empty: Column | None = None  # queries of a batch whose lists have nothing in them
    remarks: tuple[str, ...] = ()  # on how a file was read, for whoever reads the result
    subtopic: Column | None = None
    weight: Column | None = None
    iteration: Callable[[], Column | None] | None = (
        None  # the second field of TREC's qrels, a subtopic if one asks for it
    )
    rows: Subtopics | None = None  # the rows that a judged item had, where there is one for each subtopic
    distinct: bool = False  # has each judged item one row, and are the rows of a query together

    def __repr__(self) -> str:
        named = {role: getattr(self, role) for role in ("query", "item", "subtopic", "grade", "weight", "score")}
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
    subtopic: typing.Column | None = None,
    weight: typing.Column | None = None,
    propensity: typing.Column | None = None,
) -> Columns:
    """A truth or a run as columns of equal length, one row an item; NumPy arrays, Arrow arrays or lists.

    Without `grade`, every row of a truth is relevant. Without `score`, a run's rows are in ranked order. With
    `subtopic`, a truth has a row for each item and subtopic. `weight` is what an item counts with credit="weight", and
    `propensity` one over it.

    >>> truth = rs.columns(query=[1, 1], item=[7, 8])
    >>> rs.evaluate(truth, rs.columns(query=[1, 1], item=[9, 7], score=[0.9, 0.8]), "rr")["rr"]
    0.5
    """
    given = {
        "query": query, "item": item, "grade": grade, "score": score, "subtopic": subtopic, "weight": weight,
        "propensity": propensity,
    }  # fmt: skip
    found = {name: as_column(name, values) for name, values in given.items() if values is not None}
    for name in {"grade", "score", "weight", "propensity"} & found.keys():
        found[name] = numbers(found[name])
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("columns differ in length: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    made = Columns(found["query"], found["item"], found.get("grade"), found.get("score"))
    return with_notes(made, {role: found[role] for role in NOTES if role in found})


def by_role(values: Mapping[str, typing.Column | Column]) -> Columns:
    """Columns of a truth or a run by their roles; a rank serves as a score."""
    if "rank" in values:
        values = {**values, "score": as_scores(values["rank"])}
    made = columns(**{role: values[role] for role in values if role != "rank"})
    return replace(made, ranks=True) if "rank" in values else made


def as_scores(ranks: typing.Column) -> Column:
    """Scores that order rows as their ranks do."""
    return -np.asarray(as_column("rank", ranks), dtype=np.float64)


def with_notes(truth: Columns, found: Mapping[str, Column]) -> Columns:
    """The same with what else it says of its items, by role; a propensity becomes the weight 1 / propensity."""
    if "weight" in found and "propensity" in found:
        raise ValueError("the truth has a weight and a propensity; a weight is one over a propensity: give one of them")
    changes: dict[str, Any] = {}
    if "subtopic" in found:
        changes["subtopic"] = found["subtopic"]
    for role in {"weight", "propensity"} & found.keys():
        values = _floats(found[role])
        wrong = ~(values > 0) | (values > (np.inf if role == "weight" else 1.0)) | np.isinf(values)
        if wrong.any():
            row, span = int(np.argmax(wrong)), "above 0" if role == "weight" else "above 0, and at most 1"
            _refuse_row(truth, row, f"has {role} {values[row]:g}, which is not {span}", None, "number")
        changes["weight"] = values if role == "weight" else 1.0 / values
    return replace(truth, **changes) if changes else truth


def with_subtopics(truth: Columns) -> Columns:
    """The same, with the second field of TREC's qrels for subtopics whatever is asked for."""
    second = None if truth.iteration is None else truth.iteration()
    return truth if second is None else replace(truth, subtopic=second, iteration=None)


def one_each(truth: Columns, how: Align) -> Columns:
    """The truth with one row for each judged item, whose grade is the highest that it has for a subtopic."""
    subtopic = truth.subtopic
    if subtopic is None and truth.iteration is not None and "subtopic" in how.notes:
        subtopic = truth.iteration()
    if truth.distinct or (subtopic is None and (truth.weight is None or "weight" not in how.notes)):
        return truth
    if how.truth_duplicates == "count":
        raise ValueError("truth_duplicates='count' does not go with subtopics or weights; choose error or first")
    query, item, grade = truth.query, truth.item, truth.grade
    codes = None if subtopic is None else _codes(subtopic)
    _, kept, places, ends, row, number, again = _core.item_columns(query, item, codes, how.threads)
    grades = np.ones(len(query)) if grade is None else _floats(grade)
    if not np.isfinite(grades).all():
        first = Align(truth_duplicates="first", threads=how.threads)
        _core.align_columns(query, item, grade, query[:0], item[:0], None, first)  # it says which
    if again >= 0 and how.truth_duplicates == "error":
        _refuse_row(truth, again, "appears twice in the truth", subtopic, "twice")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    weight = None if truth.weight is None else np.asarray(truth.weight)[kept]
    if weight is not None:
        unlike = np.asarray(truth.weight)[row] != np.repeat(weight, np.diff(offsets))
        if unlike.any():
            _refuse_row(truth, int(row[np.argmax(unlike)]), "has two weights in the truth", None, "number")
    changes: dict[str, Any] = {"weight": weight, "subtopic": None, "iteration": None, "distinct": True}
    one, other = take(query, kept), take(item, kept)
    if subtopic is not None:
        grades = grades[row]
        changes["grade"] = None if grade is None else np.maximum.reduceat(grades, offsets[:-1]) if len(row) else grades
        changes["rows"] = Subtopics(offsets, number, grades, places)
        if len(row) > len(kept):
            changes["remarks"] = (*truth.remarks, SEVERAL)
    elif grade is not None:
        changes["grade"] = take(grade, kept)
    return replace(truth, query=one, item=other, **changes)


def notes_of(truth: Columns, how: Align) -> Notes | None:
    """What an alignment keeps of the truth besides its grades."""
    weight = truth.weight if "weight" in how.notes else None
    rows = truth.rows if "subtopic" in how.notes else None
    return None if weight is None and rows is None else Notes(None if weight is None else np.asarray(weight), rows)


def remarks_of(truth: Columns, how: Align) -> tuple[str, ...]:
    """On how a truth was read."""
    return truth.remarks if truth.weight is None or "weight" in how.notes else (*truth.remarks, UNWEIGHED)


UNWEIGHED = "the weights (or propensities) of the truth do not count: that is credit='weight'"


def _codes(subtopic: Column) -> Ints:
    """A number for each subtopic, in the order in which they come."""
    _, codes = encoded(subtopic)
    if len(codes) and codes.min() < 0:
        row = int(np.argmin(codes))
        raise DataError(f"truth subtopics: row {row} is null", "missing", "truth", row=row)
    return codes


def _floats(column: Column) -> Floats:
    return plain(column).cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _refuse_row(truth: Columns, row: int, problem: str, subtopic: Column | None, kind: str) -> NoReturn:
    query, item = (plain_ids(column, np.array([row]))[0] for column in (truth.query, truth.item))
    where = "" if subtopic is None else f" for subtopic {plain_ids(subtopic, np.array([row]))[0]!r}"
    raise DataError(f"query {query!r}: item {item!r} {problem}{where}", kind, "truth", query, item, row)


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns, *, remarks: tuple[str, ...] = ()) -> None:
        self.truth, self.run = truth, run
        self.remarks = (*run.remarks, *remarks)

    repeatable = True

    def align(self, how: Align) -> Aligned:
        self.truth = one_each(self.truth, how)
        truth, run = self.truth, self.run
        try:
            found = _core.align_columns(truth.query, truth.item, truth.grade, run.query, run.item, run.score, how)
        except DataError as error:
            if truth.iteration is not None and (error.kind, error.side) == ("twice", "truth"):
                hint = "; where the second field of the qrels is a subtopic, ask for a metric of intents, too"
                raise DataError(str(error) + hint, "twice", "truth", error.query, error.item, error.row) from None
            raise
        first, extra = found.queries, found.extra

        def queries() -> Sequence[Any]:
            ids = plain_ids(truth.query, first)
            return [*ids, *extra_queries()] if how.extra_queries else ids

        def extra_queries() -> Sequence[Any]:
            return plain_ids(run.query, extra)

        graded = truth.grade is not None
        remarks = (*remarks_of(truth, how), *self.remarks)
        ranked = ranked_from(found, notes=notes_of(truth, how))
        return Aligned(ranked, queries, extra_queries, len(extra), found.dropped, remarks=remarks, graded=graded)

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
    if all_in_order(rows, len(item)):
        return First(offsets, rank, item, score)
    return First(offsets, rank, take(item, rows), take(score, rows))
