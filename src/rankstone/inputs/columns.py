"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankstone import _core
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
        found[name] = _as_floats(found[name])
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


def as_column(name: str, values: Any) -> Any:
    """A NumPy array of numbers, or an Arrow array in one piece."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has shape {values.shape}; it must have one dimension")
        return values
    if hasattr(values, "__arrow_c_array__"):
        return values
    import pyarrow

    if hasattr(values, "__arrow_c_stream__"):
        chunked = pyarrow.chunked_array(values)
        return (
            chunked.chunk(0)
            if chunked.num_chunks == 1
            else pyarrow.concat_arrays(chunked.chunks or [chunked.combine_chunks()])
        )
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise TypeError(f"column {name!r}: {error}") from None


def _as_floats(column: Any) -> Any:
    """The same, with decimals (which SQL makes of 0.5) as floats."""
    kind = getattr(column, "type", None)
    if kind is not None and str(kind).startswith("decimal"):
        return column.cast("float64")
    return column


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns) -> None:
        self.truth, self.run = truth, run

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

        return Aligned(ranked_from(found), queries, extra_queries, len(extra), found.dropped)


def plain_ids(column: Any, at: Any = None) -> list[Any]:
    """Ids as Python values: all of a column's, or those of some rows."""
    if isinstance(column, np.ndarray):
        return (column if at is None else column[at]).tolist()
    import pyarrow

    ids = pyarrow.array(column)
    if pyarrow.types.is_string_view(ids.type):  # polars has these, and pyarrow cannot take rows of them
        ids = ids.cast(pyarrow.large_string())
    return (ids if at is None else ids.take(pyarrow.array(at))).to_pylist()
