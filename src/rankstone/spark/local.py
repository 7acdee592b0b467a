"""A truth or a run that is not on the cluster, as a table there: a dict, a frame, a file beside a Spark table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyspark

from rankstone.inputs.arrow import is_table, plain
from rankstone.inputs.columns import Columns
from rankstone.inputs.files import is_path, read_run, read_truth
from rankstone.inputs.lists import Lists, lists
from rankstone.inputs.roles import Given, roles_of
from rankstone.inputs.tables import from_table

if TYPE_CHECKING:
    from rankstone.spark.functions import Table


def sent(side: Any, what: str, columns: Given | None, beside: Table) -> Table:
    """A side as a table of the session that the other side's table belongs to, its columns named after their roles."""
    table = pa.table(_columns(_opened(side, what, columns), what))
    arrow = int(pyspark.__version__.split(".")[0]) >= 4  # before, Spark takes no Arrow table
    return beside.sparkSession.createDataFrame(table if arrow else table.to_pandas())


def _opened(side: Any, what: str, columns: Given | None) -> Columns | Lists:
    if is_path(side):
        read = read_truth if what == "truth" else read_run
        return read(side, columns=roles_of(columns, what) or None)
    if is_table(side):
        return from_table(side, what, columns)
    if isinstance(side, Mapping):
        return _listed(side, what)
    if isinstance(side, (Columns, Lists)):
        return side
    raise TypeError(
        f"the {what} is a {type(side).__name__}; beside a Spark table, give a dict, a table with a query and an item "
        "column, a file, rs.columns(...) or rs.lists(..., query=...)"
    )


def _listed(side: Mapping[Any, Any], what: str) -> Lists:
    """A nested dict as one list a query, so that an empty one and the order of a list are kept."""
    items = [list(content) for content in side.values()]
    if all(isinstance(content, (list, tuple)) for content in side.values()):
        return lists(items, query=list(side))
    values = [_values(content, what) for content in side.values()]
    return lists(items, query=list(side), **{"grades" if what == "truth" else "scores": values})


def _values(content: Any, what: str) -> list[float]:
    if isinstance(content, Mapping):
        return list(content.values())
    return [1.0] * len(content) if what == "truth" else [float(n) for n in range(len(content), 0, -1)]  # best first


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
