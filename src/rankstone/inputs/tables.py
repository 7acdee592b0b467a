"""Tables of any library that speaks Arrow: rows of items, rows of lists, or predictions beside their labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankstone.inputs.arrow import Frame, Places, Table, arrow_table, is_list
from rankstone.inputs.columns import Columns, as_scores, by_role, columns
from rankstone.inputs.lists import Lists, labelled, lists
from rankstone.inputs.roles import ROLES, Given, find_all, find_side, find_two_lists, roles_of

if TYPE_CHECKING:
    from rankstone.typing import Id, Items, Numbers

Side: TypeAlias = "Mapping[Id, Items] | Columns | Lists | Frame"  # a truth or a run, opened


def queried(side: object) -> Any:
    """A text that begins as a query does, as the table DuckDB makes of it; anything else as it is."""
    if not (isinstance(side, str) and re.match(r"\s*(select|with|from)\s", side, re.IGNORECASE)):
        return side
    try:
        import duckdb
    except ImportError:
        raise ImportError(
            f"{side!r} is a query, and DuckDB is not installed: pip install 'rankstone[duckdb]'"
        ) from None
    connection = duckdb.default_connection().cursor()
    connection.execute("set python_scan_all_frames = true")  # a frame is a table by its variable's name
    try:
        return connection.sql(side).to_arrow_table()
    except duckdb.Error as error:
        raise ValueError(f"{side}: {error}") from None


def from_table(table: Frame, what: str, given: Given | None) -> Columns | Lists:
    """A side's columns: named by the caller, or found among the usual names."""
    arrow = arrow_table(table)
    found = find_side(arrow.column_names, what, roles_of(given, what), is_list=_lists_in(arrow), by_row=True)
    side = {role: arrow[name] for role, name in found.items()}
    if not is_list(side["item"].type):
        return by_role(side)
    scores = side.get("score", side.get("rank"))
    made = lists(side["item"], query=side.get("query"), grades=side.get("grade"), scores=scores)
    return replace(made, values=as_scores(made.values)) if "rank" in side and made.values is not None else made


def _lists_in(arrow: Table) -> Callable[[str], bool]:
    """Which columns hold lists."""
    return lambda name: is_list(arrow.schema.field(name).type)


def as_columns(side: Side, what: str, given: Given | None = None) -> Columns:
    """A side as rows of items, whatever its shape."""
    if isinstance(side, Mapping):
        return _flat(side, what)
    if not isinstance(side, (Columns, Lists)):
        side = from_table(side, what, given)
    if isinstance(side, Lists):
        return _unrolled(side, what)
    if what == "truth" and side.grade is None and side.score is not None:
        raise ValueError("the truth has scores but no grades; name the column grade=")
    if what == "run" and side.score is None and side.grade is not None:
        raise ValueError("the run has grades but no scores; name the column score=")
    return side


def _flat(side: Mapping[Id, Any], what: str) -> Columns:
    """A nested dict as rows. Ids must be all integers or all strings then, as in a table."""
    value = "grade" if what == "truth" else "score"
    queries: list[Id] = []
    items: list[Id] = []
    values: list[float] = []
    for query, content in side.items():
        queries += [query] * len(content)
        items += content
        if isinstance(content, Mapping):
            values += content.values()
        else:  # best first
            values += [1.0] * len(content) if what == "truth" else range(len(content), 0, -1)
    return columns(query=queries, item=items, **{value: values})


def _unrolled(side: Lists, what: str) -> Columns:
    if side.query is None:
        raise ValueError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    import pyarrow

    sizes = np.diff(side.offsets)
    rows = pyarrow.array(np.repeat(np.arange(len(side)), sizes))
    inside = slice(int(side.offsets[0]), int(side.offsets[-1]))
    value = {} if side.values is None else {"grade" if what == "truth" else "score": side.values[inside]}
    return columns(query=pyarrow.array(side.query).take(rows), item=side.items[inside], **value)


def predictions(
    table: Frame, given: Given | None, groups: Numbers | None
) -> tuple[Columns, Columns] | tuple[Lists, Lists]:
    """The truth and the run of one table: a label and a score in each row, or two lists."""
    arrow = arrow_table(table)
    roles = roles_of(given, "predictions")
    two = find_two_lists(arrow.column_names, roles, _lists_in(arrow))
    if two is not None:
        return lists(arrow[two[0]]), lists(arrow[two[1]])
    wanted = ROLES["predictions"][0 if groups is None else 1 :]
    found = find_all(arrow.column_names, wanted, "table", roles, optional=("item",))
    grade, score = arrow[found["grade"]], arrow[found["score"]]
    items = arrow[found["item"]] if "item" in found else np.arange(arrow.num_rows)
    if groups is None:
        query = arrow[found["query"]]
        return columns(query=query, item=items, grade=grade), columns(query=query, item=items, score=score)
    offsets = _offsets(groups, arrow.num_rows)
    return labelled(items, grade, score, offsets)


def _offsets(groups: Numbers, rows: int) -> Places:
    sizes = np.asarray(groups)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("groups must be whole numbers from 0: how many rows each query has, in order")
    if sizes.sum() != rows:
        raise ValueError(f"groups add up to {sizes.sum()} rows but the table has {rows}")
    return np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))
