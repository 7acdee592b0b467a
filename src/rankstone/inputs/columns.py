"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rankstone import _core
from rankstone.inputs.arrow import as_column, numbers, plain_ids
from rankstone.inputs.source import Align, Aligned, ranked_from

# What people call them, by what they are.
NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "user", "user_id", "userid", "qid", "query_id", "q_id", "topic"),
    "item": ("item", "item_id", "itemid", "docno", "doc_id", "docid", "product_id", "items"),
    "grade": ("grade", "relevance", "rel", "label", "relscore", "rating", "grades", "labels"),
    "score": ("score", "prediction", "sim", "rating", "scores"),
    "rank": ("rank",),
    "time": ("time", "timestamp", "datetime", "date", "unix_timestamp", "ts"),
}


class BadLine(NamedTuple):
    """A line of a file that was left out, and why."""

    line: int
    problem: str


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a truth (query, item, grade) or of a run (query, item, score)."""

    query: Any
    item: Any
    grade: Any = None
    score: Any = None
    skipped: int = 0  # bad rows of a file that were left out
    bad_lines: tuple[BadLine, ...] = ()  # the first hundred of them


def columns(*, query: Any, item: Any, grade: Any = None, score: Any = None) -> Columns:
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
    return Columns(**found)


def find_name(
    names: Sequence[str], role: str, what: str, *, needed: bool = True, otherwise: str = "use rs.columns"
) -> str | None:
    """The name of the column that plays a role; `otherwise` is advice for errors."""
    by_lower = {str(name).lower(): name for name in names}
    if role in by_lower:
        return by_lower[role]
    found = [by_lower[name] for name in NAMES[role] if name in by_lower]
    if len(found) == 1:
        return found[0]
    have = ", ".join(map(repr, names))
    if found:
        raise ValueError(f"the {what}'s {role} could be {' or '.join(map(repr, found))}; rename one, or {otherwise}")
    if needed:
        usual = ", ".join(NAMES[role])
        raise ValueError(f"the {what} has no {role} column among {have}; usual names are {usual}; or {otherwise}")
    return None


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns) -> None:
        self.truth, self.run = truth, run

    repeatable = True

    def align(self, how: Align) -> Aligned:
        truth, run = self.truth, self.run
        core = _core.align_columns(truth.query, truth.item, truth.grade, run.query, run.item, run.score, **vars(how))
        first, extra = core[0], core[1]

        def queries() -> Sequence[Any]:
            ids = plain_ids(truth.query, first)
            return [*ids, *extra_queries()] if how.extra_queries else ids

        def extra_queries() -> Sequence[Any]:
            return plain_ids(run.query, extra)

        return Aligned(ranked_from(core), queries, extra_queries, len(extra), core[14])
