"""Flat columns, one row per judged or returned item: `rs.columns(...)`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rankstone import _core
from rankstone.data.annotations import SEVERAL, Annotations, Floats, Ints, Subtopics, all_in_order
from rankstone.data.arrow import Column, Places, as_column, as_numpy, distinct, encoded, numbers, plain, plain_ids, take
from rankstone.data.roles import NOTES
from rankstone.data.source import Aligned, AlignOptions, TopK, ranked_from
from rankstone.errors import Advice, DataError, InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone import typing


_PRINTED = 5  # rows in the repr


class BadLine(NamedTuple):
    """A skipped line of a file, and what is wrong with it."""

    line: int
    problem: str


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a truth (query, item, grade, subtopic, weight) or of a run (query, item, score).

    Attributes
    ----------
    query, item : array
        Ids, one row per judged or returned item.
    grade, score : array or None
        Grades of a truth, scores of a run.
    skipped : int
        Bad lines of a file that were skipped.
    ranks : bool
        Whether the scores were derived from ranks.
    bad_lines : tuple of BadLine
        The first hundred skipped lines.
    notes : tuple of str
        How a file was read.
    subtopic, weight : array or None
        Subtopics and weights of a truth.
    """

    query: Column
    item: Column
    grade: Column | None = None
    score: Column | None = None
    skipped: int = 0
    ranks: bool = False
    bad_lines: tuple[BadLine, ...] = ()
    empty: Column | None = None  # queries of a batch with empty lists
    notes: tuple[str, ...] = ()
    subtopic: Column | None = None
    weight: Column | None = None
    iteration: Callable[[], Column | None] | None = None  # second field of TREC qrels, a subtopic for intent metrics
    rows: Subtopics | None = None  # the rows per judged item, if there is one per subtopic
    distinct: bool = False  # one row per judged item, and the rows of a query are contiguous
    names: Mapping[str, object] = field(default_factory=dict)  # columns of a table or file that it was read from
    path: str = ""  # of the file that it was read from

    def __repr__(self) -> str:
        named = {role: getattr(self, role) for role in ("query", "item", "subtopic", "grade", "weight", "score")}
        present = {role: column for role, column in named.items() if column is not None}
        head = np.arange(min(len(self.query), _PRINTED))
        rows = zip(*(plain_ids(column, head) for column in present.values()), strict=True)
        more = ["..."] if len(self.query) > _PRINTED else []
        return "\n".join(
            [f"{len(self.query):,} rows of {', '.join(present)}", *("  ".join(map(str, row)) for row in rows), *more]
        )

    @cached_property
    def _codes(self) -> tuple[dict[Any, int], Ints]:
        """The queries with their numbers, and the number of each row's query."""
        ids, codes = encoded(self.query)
        return {query: code for code, query in enumerate(ids.to_pylist())}, codes

    def rows_of(self, query: Hashable) -> Ints:
        """The rows of a query."""
        numbers, codes = self._codes
        return np.flatnonzero(codes == numbers.get(query, -2))

    def only(self, query: Hashable) -> Columns:
        """The rows of a query, as columns."""
        return self.take(self.rows_of(query))

    def take(self, rows: Ints) -> Columns:
        """Some rows, in this order."""
        roles, second = ("query", "item", "grade", "score", "subtopic", "weight"), self.iteration
        values = {name: take(getattr(self, name), rows) for name in roles}
        return replace(self, **values, iteration=None if second is None else lambda: take(second(), rows))


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
    """A truth or a run as columns of equal length, one row per item.

    Parameters
    ----------
    query : array-like
        Id of the query per row; a NumPy array, an Arrow array or a list, as all columns.
    item : array-like
        Id of the item per row.
    grade : array-like, optional
        Grades of a truth. Without them, every row of a truth is relevant.
    score : array-like, optional
        Scores of a run. Without them, the rows of a run are in ranked order.
    subtopic : array-like, optional
        Subtopics of a truth, which then has one row per item and subtopic.
    weight : array-like, optional
        Weight of each judged item, used with relevance="weighted".
    propensity : array-like, optional
        Propensity of each judged item, whose inverse is the weight.

    Returns
    -------
    Columns
        To be passed as a truth or a run.

    Raises
    ------
    ValueError
        If the columns differ in length.

    Examples
    --------
    >>> truth = rs.columns(query=[1, 1], item=[7, 8])
    >>> rs.evaluate(truth, rs.columns(query=[1, 1], item=[9, 7], score=[0.9, 0.8]), "rr")["rr"]
    0.5
    """
    inputs = {
        "query": query, "item": item, "grade": grade, "score": score, "subtopic": subtopic, "weight": weight,
        "propensity": propensity,
    }  # fmt: skip
    arrays = {name: as_column(name, values) for name, values in inputs.items() if values is not None}
    if not {"query", "item"} <= arrays.keys():
        raise InputTypeError("columns have a query and an item: rs.columns(query=[...], item=[...])")
    for name in {"grade", "score", "weight", "propensity"} & arrays.keys():
        arrays[name] = numbers(arrays[name])
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("columns differ in length: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    side = Columns(arrays["query"], arrays["item"], arrays.get("grade"), arrays.get("score"))
    return with_annotations(side, {role: arrays[role] for role in NOTES if role in arrays})


def by_role(values: Mapping[str, typing.Column | Column]) -> Columns:
    """Columns of a truth or a run by role; a rank is converted to a score."""
    if "rank" in values:
        values = {**values, "score": as_scores(values["rank"])}
    side = columns(**{role: values[role] for role in values if role != "rank"})
    return replace(side, ranks=True) if "rank" in values else side


def as_scores(ranks: typing.Column) -> Column:
    """Scores in the order of the ranks."""
    return -np.asarray(as_column("rank", ranks), dtype=np.float64)


def with_annotations(truth: Columns, extra: Mapping[str, Column]) -> Columns:
    """The truth with subtopics or weights, by role; a propensity becomes the weight 1 / propensity."""
    if "weight" in extra and "propensity" in extra:
        raise InputError("the truth has a weight and a propensity; a weight is 1 / propensity: pass one of them")
    changes: dict[str, Any] = {}
    if "subtopic" in extra:
        changes["subtopic"] = extra["subtopic"]
    for role in {"weight", "propensity"} & extra.keys():
        values = _floats(extra[role])
        wrong = ~(values > 0) | (values > (np.inf if role == "weight" else 1.0)) | np.isinf(values)
        if wrong.any():
            row, span = int(np.argmax(wrong)), "above 0" if role == "weight" else "above 0, and at most 1"
            _raise_row(truth, row, f"has {role} {values[row]:g}, which is not {span}", None, "number")
        changes["weight"] = values if role == "weight" else 1.0 / values
    return replace(truth, **changes) if changes else truth


def with_subtopics(truth: Columns) -> Columns:
    """The same, with the second field of TREC qrels as subtopics."""
    second = None if truth.iteration is None else truth.iteration()
    return truth if second is None else replace(truth, subtopic=second, iteration=None)


def one_each(truth: Columns, options: AlignOptions) -> Columns:
    """The truth with one row per judged item, whose grade is the highest over its subtopics."""
    subtopic = truth.subtopic
    if subtopic is None and truth.iteration is not None and "subtopic" in options.annotations:
        subtopic = truth.iteration()
    if truth.distinct or (subtopic is None and (truth.weight is None or "weight" not in options.annotations)):
        return truth
    rule = options.truth_duplicates
    if rule not in ("error", "first"):
        raise InputError(f"truth_duplicates={rule!r} does not go with subtopics or weights; choose error or first")
    query, item, grade = truth.query, truth.item, truth.grade
    codes = None if subtopic is None else _codes(subtopic)
    _, item_rows, places, ends, row, number, again = _core.item_columns(query, item, codes, options.threads)
    grades = np.ones(len(query)) if grade is None else _floats(grade)
    if not np.isfinite(grades).all():
        first = AlignOptions(truth_duplicates="first", threads=options.threads)
        _core.align_columns(query, item, grade, query[:0], item[:0], None, first)  # raises with the item
    if again >= 0 and rule == "error":
        _raise_row(truth, again, "appears twice in the truth", subtopic, "twice")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    weight = None if truth.weight is None else np.asarray(truth.weight)[item_rows]
    if weight is not None:
        unlike = np.asarray(truth.weight)[row] != np.repeat(weight, np.diff(offsets))
        if unlike.any():
            _raise_row(truth, int(row[np.argmax(unlike)]), "has two weights in the truth", None, "number")
    changes: dict[str, Any] = {"weight": weight, "subtopic": None, "iteration": None, "distinct": True}
    queries, items = take(query, item_rows), take(item, item_rows)
    if subtopic is not None:
        grades = grades[row]
        changes["grade"] = None if grade is None else np.maximum.reduceat(grades, offsets[:-1]) if len(row) else grades
        changes["rows"] = Subtopics(offsets, number, grades, places)
        if len(row) > len(item_rows):
            changes["notes"] = (*truth.notes, SEVERAL)
    elif grade is not None:
        changes["grade"] = take(grade, item_rows)
    return replace(truth, query=queries, item=items, **changes)


def annotations_of(truth: Columns, options: AlignOptions) -> Annotations | None:
    """The annotations of the truth that the options keep."""
    weight = truth.weight if "weight" in options.annotations else None
    rows = truth.rows if "subtopic" in options.annotations else None
    return (
        None if weight is None and rows is None else Annotations(None if weight is None else np.asarray(weight), rows)
    )


def notes_of(truth: Columns, options: AlignOptions) -> tuple[str, ...]:
    """Notes on how a truth was read."""
    return truth.notes if truth.weight is None or "weight" in options.annotations else (*truth.notes, UNWEIGHED)


UNWEIGHED = "the weights (or propensities) of the truth are ignored; use relevance='weighted'"


def _codes(subtopic: Column) -> Ints:
    """A code per subtopic, in order of appearance."""
    _, codes = encoded(subtopic)
    if len(codes) and codes.min() < 0:
        row = int(np.argmin(codes))
        raise DataError(f"truth subtopics: row {row} is null", "missing", "truth", row=row)
    return codes


def grades_of(truth: Columns) -> Floats:
    """The grades as numbers; 1 each where the truth has none."""
    return np.ones(len(truth.query)) if truth.grade is None else np.asarray(as_numpy(truth.grade), dtype=np.float64)


def _floats(column: Column) -> Floats:
    return plain(column).cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _raise_row(truth: Columns, row: int, problem: str, subtopic: Column | None, kind: str) -> NoReturn:
    query, item = (plain_ids(column, np.array([row]))[0] for column in (truth.query, truth.item))
    where = "" if subtopic is None else f" for subtopic {plain_ids(subtopic, np.array([row]))[0]!r}"
    raise DataError(f"query {query!r}: item {item!r} {problem}{where}", kind, "truth", query, item, row)


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns, *, notes: tuple[str, ...] = ()) -> None:
        self.truth, self.run = truth, run
        self.notes = (*run.notes, *notes)

    repeatable = True

    def align(self, options: AlignOptions) -> Aligned:
        self.truth = one_each(self.truth, options)
        truth, run = self.truth, self.run
        try:
            core = _core.align_columns(truth.query, truth.item, truth.grade, run.query, run.item, run.score, options)
        except DataError as error:
            if truth.iteration is not None and (error.kind, error.side) == ("twice", "truth"):
                other = "; if the second field of the qrels is a subtopic, add an intent-aware metric"
                error.remedy = Advice(error.remedy, other)
            raise
        first, extra = core.queries, core.extra

        def queries() -> Sequence[Any]:
            ids = plain_ids(truth.query, first)
            return [*ids, *extra_queries()] if options.extra_queries else ids

        def extra_queries() -> Sequence[Any]:
            return plain_ids(run.query, extra)

        graded = truth.grade is not None
        notes = (*notes_of(truth, options), *self.notes)
        ranked = ranked_from(core, annotations=annotations_of(truth, options))
        return Aligned(ranked, queries, extra_queries, len(extra), core.dropped, notes=notes, graded=graded)

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        run = self.run
        offsets, rows, _ = _core.first_columns(self.truth.query, run.query, run.item, run.score, options, depth)
        return first_rows(offsets, rows, run.item, run.score)

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]]:
        return distinct(self.truth.item), distinct(self.run.item)


def first_rows(offsets: Places, rows: Places, item: Column, score: Column | None) -> TopK:
    """The first rows per query, with their items and scores."""
    rank = None
    if len(rows) and rows.min() < 0:  # the rank of a duplicate
        keep = rows >= 0
        rank = (np.arange(1, len(rows) + 1) - np.repeat(offsets[:-1], np.diff(offsets)))[keep]
        offsets, rows = np.concatenate(([0], np.cumsum(keep)))[offsets], rows[keep]
    if all_in_order(rows, len(item)):
        return TopK(offsets, rank, item, score)
    return TopK(offsets, rank, take(item, rows), take(score, rows))
