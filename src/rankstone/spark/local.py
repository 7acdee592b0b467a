"""A truth or a run that is not on the cluster, as a table there: a dict, a frame, a file beside a Spark table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rankstone.data.arrow import plain
from rankstone.data.columns import Columns
from rankstone.data.lists import Lists
from rankstone.data.loaders import opened
from rankstone.data.roles import Given
from rankstone.data.tables import as_lists

if TYPE_CHECKING:
    from rankstone.spark.functions import Table


def sent(side: Any, what: str, columns: Given | None, beside: Table) -> Table:
    """A side as a table of the session that the other side's table belongs to, its columns named after their roles."""
    return beside.sparkSession.createDataFrame(pa.table(_columns(_read(side, what, columns), what)))


def _read(side: Any, what: str, columns: Given | None) -> Columns | Lists:
    """A side here, its empty lists and the order of its lists kept."""
    found = opened(side, what, columns)
    if isinstance(found, Mapping):
        return as_lists(found, what)
    if isinstance(found, (Columns, Lists)):
        return found
    raise TypeError(
        f"the {what} is a {type(side).__name__}; beside a Spark table, give a dict, a table with a query and an item "
        "column, a file, rs.columns(...) or rs.lists(..., query=...)"
    )


def _columns(side: Columns | Lists, what: str) -> dict[str, pa.Array]:
    value = "grade" if what == "truth" else "score"
    if isinstance(side, Columns):
        given = {"query": side.query, "item": side.item, value: side.grade if what == "truth" else side.score}
        return {name: plain(column) for name, column in given.items() if column is not None}
    if side.query is None:
        raise ValueError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    starts = pa.array(np.asarray(side.offsets, dtype=np.int64))
    inside = {"item": side.items, **({} if side.values is None else {value: side.values})}
    made = {name: pa.LargeListArray.from_arrays(starts, plain(column)) for name, column in inside.items()}
    return {"query": plain(side.query), **made}
