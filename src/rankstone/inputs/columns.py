"""Flat columns, one row a judged or returned item: `rs.columns(...)`, and tables of any library that speaks Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.inputs import Aligned, ranked_from

# What people call them, by what they are.
NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "user", "user_id", "userid", "qid", "query_id", "q_id", "topic"),
    "item": ("item", "item_id", "itemid", "docno", "doc_id", "docid", "product_id"),
    "grade": ("grade", "relevance", "rel", "label", "relscore", "rating"),
    "score": ("score", "prediction", "sim", "rating"),
    "rank": ("rank",),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a truth (query, item, grade) or of a run (query, item, score)."""

    query: Any
    item: Any
    grade: Any = None
    score: Any = None


def columns(*, query: Any, item: Any, grade: Any = None, score: Any = None) -> Columns:
    """A truth or a run as columns of equal length, one row an item; NumPy arrays, Arrow arrays or lists.

    Without `grade`, every row of a truth is relevant. Without `score`, a run's rows are in ranked order.

    >>> truth = rs.columns(query=[1, 1], item=[7, 8])
    >>> rs.evaluate(truth, rs.columns(query=[1, 1], item=[9, 7], score=[0.9, 0.8]), "rr")["rr"]
    0.5
    """
    found = {name: _column(name, values) for name, values in
             (("query", query), ("item", item), ("grade", grade), ("score", score)) if values is not None}  # fmt: skip
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("columns differ in length: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    return Columns(**found)


def is_table(one: Any) -> bool:
    """Does it hand over its columns by the Arrow protocol."""
    return hasattr(one, "__arrow_c_stream__")


def as_columns(side: Any, what: str) -> Columns:
    """A table's query, item and grade or score columns, found by name."""
    if isinstance(side, Columns):
        if what == "truth" and side.grade is None and side.score is not None:
            raise ValueError("the truth has scores but no grades; name the column grade=")
        if what == "run" and side.score is None and side.grade is not None:
            raise ValueError("the run has grades but no scores; name the column score=")
        return side
    import pyarrow

    table = pyarrow.table(side)
    value = "grade" if what == "truth" else "score"
    query, item = _find(table, "query", what), _find(table, "item", what)
    named = _find(table, value, what, needed=False)
    score = None
    if what == "run" and named is None:
        rank = _find(table, "rank", what, needed=False)
        score = None if rank is None else -np.asarray(_column("rank", table[rank])).astype(np.float64)
    elif named is not None:
        score = table[named]
    return columns(query=table[query], item=table[item], **{value: score})


def _find(table: Any, role: str, what: str, *, needed: bool = True) -> str | None:
    by_lower = {str(name).lower(): name for name in table.column_names}
    if role in by_lower:
        return by_lower[role]
    found = [by_lower[name] for name in NAMES[role] if name in by_lower]
    if len(found) == 1:
        return found[0]
    have = ", ".join(map(repr, table.column_names))
    if found:
        raise ValueError(f"the {what}'s {role} could be {' or '.join(map(repr, found))}; rename one, or use rs.columns")
    if needed:
        usual = ", ".join(NAMES[role])
        raise ValueError(f"the {what} has no {role} column among {have}; usual names are {usual}; or use rs.columns")
    return None


def _column(name: str, values: Any) -> Any:
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


class ColumnPair:
    """A truth and a run as columns."""

    def __init__(self, truth: Columns, run: Columns) -> None:
        self.truth, self.run = truth, run

    def align(self, **options: Any) -> Aligned:
        truth, run = self.truth, self.run
        core = _core.align_columns(truth.query, truth.item, truth.grade, run.query, run.item, run.score, **options)
        first, extra = core[0], core[1]
        extra_ids = _ids(run.query, extra)
        truth_ids = _ids(truth.query, first)

        def queries() -> Sequence[Any]:
            return [*truth_ids(), *extra_ids()] if options.get("extra_queries") else truth_ids()

        return Aligned(ranked_from(core), queries, extra_ids, len(extra), core[14])


def _ids(column: Any, at: Any) -> Callable[[], list[Any]]:
    def take() -> list[Any]:
        if isinstance(column, np.ndarray):
            return column[at].tolist()
        import pyarrow

        return pyarrow.array(column).take(pyarrow.array(at)).to_pylist()

    return take
