"""List columns: one row a query, each with its list of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.inputs import Aligned, ranked_from


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of items in one flat array, and where each of them starts."""

    offsets: Any
    items: Any
    values: Any = None  # grades of a truth, scores of a run


def lists(items: Any, *, grades: Any = None, scores: Any = None, offsets: Any = None) -> Lists:
    """A truth or a run as list columns: an Arrow list array, a list of lists, or flat `items` with `offsets`.

    Row i of the truth belongs with row i of the run. `grades` or `scores` have the same shape as `items`; without
    them, every item of a truth is relevant and a run's items are in ranked order.

    >>> rs.evaluate(rs.lists([[7, 8], [9]]), rs.lists([[7, 1], [2, 3, 9]]), "rr")["rr"]
    0.6666666666666666
    """
    if grades is not None and scores is not None:
        raise ValueError("a list column has grades (a truth) or scores (a run), not both")
    name = "grades" if grades is not None else "scores"
    given = grades if grades is not None else scores
    if offsets is not None:
        starts = np.asarray(offsets)
        if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) == 0:
            raise ValueError("offsets must be whole numbers: where each list starts, and where the last one ends")
        from rankstone.inputs.columns import _column

        return Lists(starts, _column("items", items), None if given is None else _column(name, given))
    starts, flat = _flattened("items", items)
    if given is None:
        return Lists(starts, flat)
    other, values = _flattened(name, given)
    if len(other) != len(starts) or (np.diff(other) != np.diff(starts)).any():
        raise ValueError(f"items and {name} differ in the lengths of their lists")
    return Lists(
        starts - starts[0],
        flat.slice(starts[0]) if starts[0] else flat,
        values.slice(other[0]) if other[0] else values,
    )


def _flattened(name: str, column: Any) -> tuple[Any, Any]:
    import pyarrow

    if hasattr(column, "__arrow_c_stream__"):
        column = pyarrow.chunked_array(column).combine_chunks()
    elif not isinstance(column, pyarrow.Array):
        try:
            column = pyarrow.array(column)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise TypeError(f"{name}: {error}") from None
    if not (pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)):
        raise TypeError(f"{name}: {column.type} is not a list column; give lists, or a flat column with offsets=")
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"{name}: row {row} is null; an empty list is []")
    return column.offsets.to_numpy(), column.values


class ListPair:
    """A truth and a run as list columns."""

    def __init__(self, truth: Lists, run: Lists) -> None:
        if len(truth.offsets) != len(run.offsets):
            raise ValueError(f"the truth has {len(truth.offsets) - 1} lists but the run {len(run.offsets) - 1}")
        self.truth, self.run = truth, run

    def align(self, **options: Any) -> Aligned:
        options.pop("extra_queries")
        truth, run = self.truth, self.run
        core = _core.align_lists(
            truth.offsets, truth.items, truth.values, run.offsets, run.items, run.values, **options
        )
        rows = range(len(truth.offsets) - 1)
        return Aligned(ranked_from(core, ordered_truth=truth.values is None), lambda: rows, lambda: (), 0, core[14])
