"""Tables of any library that speaks Arrow: rows of items, rows of lists, or predictions beside their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankstone.inputs.arrow import arrow_table, is_list
from rankstone.inputs.columns import Columns, columns, find_name
from rankstone.inputs.lists import Lists, lists

Given = Mapping[str, Any]

# Roles that a side's columns can play.
ROLES: Mapping[str, tuple[str, ...]] = {
    "truth": ("query", "item", "grade"),
    "run": ("query", "item", "score", "rank"),
    "predictions": ("query", "item", "grade", "score"),
}
RANKED_LISTS = (
    "rec",
    "recs",
    "recommended",
    "recommendations",
    "items",
    "item",
    "ranking",
    "prediction",
    "predictions",
)
TRUTH_LISTS = ("truth", "relevant", "ground_truth", "actual", "labels", "label")


def queried(one: Any) -> Any:
    """A text that begins as a query does, as the table DuckDB makes of it; anything else as it is."""
    if not (isinstance(one, str) and re.match(r"\s*(select|with|from)\s", one, re.IGNORECASE)):
        return one
    try:
        import duckdb
    except ImportError:
        raise ImportError(f"{one!r} is a query, and DuckDB is not installed: pip install 'rankstone[duckdb]'") from None
    connection = duckdb.default_connection().cursor()
    connection.execute("set python_scan_all_frames = true")  # a frame is a table by its variable's name
    try:
        return connection.sql(one).to_arrow_table()
    except duckdb.Error as error:
        raise ValueError(f"{one}: {error}") from None


def from_table(table: Any, what: str, given: Given | None) -> Columns | Lists:
    """A side's columns: named by the caller, or found among the usual names."""
    arrow = arrow_table(table)
    roles = roles_of(given, what)
    usual = TRUTH_LISTS if what == "truth" else RANKED_LISTS
    item = _one_of(arrow, usual, roles.get("item")) or _column(arrow, "item", what, roles)
    if is_list(arrow.schema.field(item).type):
        return _lists_of(arrow, item, what, roles)
    query = _column(arrow, "query", what, roles)
    value = _value(arrow, what, roles)
    return columns(query=arrow[query], item=arrow[item], **value)


def as_columns(side: Any, what: str, given: Given | None = None) -> Columns:
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


def _flat(side: Mapping[Any, Any], what: str) -> Columns:
    """A nested dict as rows. Ids must be all integers or all strings then, as in a table."""
    value = "grade" if what == "truth" else "score"
    query: list[Any] = []
    items: list[Any] = []
    values: list[Any] = []
    for one, content in side.items():
        query += [one] * len(content)
        items += content
        if isinstance(content, Mapping):
            values += content.values()
        else:  # best first
            values += [1.0] * len(content) if what == "truth" else range(len(content), 0, -1)
    return columns(query=query, item=items, **{value: values})


def _unrolled(side: Lists, what: str) -> Columns:
    if side.query is None:
        raise ValueError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    import pyarrow

    sizes = np.diff(side.offsets)
    rows = pyarrow.array(np.repeat(np.arange(len(side)), sizes))
    inside = slice(int(side.offsets[0]), int(side.offsets[-1]))
    value = {} if side.values is None else {"grade" if what == "truth" else "score": side.values[inside]}
    return columns(query=pyarrow.array(side.query).take(rows), item=side.items[inside], **value)


def predictions(table: Any, given: Given | None, groups: Any) -> tuple[Columns, Columns] | tuple[Lists, Lists]:
    """The truth and the run of one table: a label and a score in each row, or two lists."""
    arrow = arrow_table(table)
    roles = roles_of(given, "predictions")
    ranked = _one_of(arrow, RANKED_LISTS, roles.get("item"))
    judged = _one_of(arrow, TRUTH_LISTS, roles.get("grade"))
    if (
        ranked is not None
        and judged is not None
        and is_list(arrow.schema.field(ranked).type)
        and is_list(arrow.schema.field(judged).type)
    ):
        return lists(arrow[judged]), lists(arrow[ranked])
    grade = arrow[_column(arrow, "grade", "table", roles)]
    score = arrow[_column(arrow, "score", "table", roles)]
    item = find_name(arrow.column_names, "item", "table", needed=False) if "item" not in roles else roles["item"]
    items = np.arange(arrow.num_rows) if item is None else arrow[item]
    if groups is None:
        query = arrow[_column(arrow, "query", "table", roles)]
        return columns(query=query, item=items, grade=grade), columns(query=query, item=items, score=score)
    offsets = _offsets(groups, arrow.num_rows)
    return lists(items, grades=grade, offsets=offsets), lists(items, scores=score, offsets=offsets)


def _offsets(groups: Any, rows: int) -> Any:
    sizes = np.asarray(groups)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("groups must be whole numbers from 0: how many rows each query has, in order")
    if sizes.sum() != rows:
        raise ValueError(f"groups add up to {sizes.sum()} rows but the table has {rows}")
    return np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))


def roles_of(given: Given | None, what: str) -> dict[str, str]:
    """What the caller said of this side's columns: `{"query": "user_id"}` or `{"run": {"query": "user_id"}}`."""
    if given is None:
        return {}
    if given.keys() & {"truth", "run"}:
        if given.keys() - {"truth", "run"}:
            raise ValueError("columns= names roles, or a truth and a run that name roles, not both")
        given = given.get(what, {})
    every = {role for roles in ROLES.values() for role in roles}
    unknown = given.keys() - every
    if unknown:
        raise ValueError(f"columns= names {sorted(unknown)[0]!r}; the roles are {', '.join(sorted(every))}")
    return {role: name for role, name in given.items() if role in ROLES[what]}


def _column(arrow: Any, role: str, what: str, roles: Mapping[str, str]) -> str:
    named = roles.get(role)
    if named is not None:
        if named not in arrow.column_names:
            raise ValueError(f"the {what} has no column {named!r}; it has {', '.join(map(repr, arrow.column_names))}")
        return named
    found = find_name(arrow.column_names, role, what, otherwise=f"name it: columns={{{role!r}: ...}}")
    assert found is not None
    return found


def _value(arrow: Any, what: str, roles: Mapping[str, str]) -> dict[str, Any]:
    """The grades of a truth, or the scores of a run; a rank serves as a score."""
    for role in ROLES[what][2:]:
        found = roles.get(role) or find_name(arrow.column_names, role, what, needed=False)
        if found is None or (role == "score" and "rank" in roles):
            continue
        column = arrow[_column(arrow, role, what, {role: found})]
        if role == "rank":
            import pyarrow.compute as pc

            return {"score": pc.negate(pc.cast(column, "float64"))}
        return {role: column}
    return {}


def _one_of(arrow: Any, usual: tuple[str, ...], named: str | None) -> str | None:
    """A column of lists with a usual name, or the one that the caller named."""
    if named is not None:
        return named
    return next(
        (name for name in arrow.column_names if name.lower() in usual and is_list(arrow.schema.field(name).type)), None
    )


def _lists_of(arrow: Any, item: str, what: str, roles: Mapping[str, str]) -> Lists:
    value = {f"{role}s": column for role, column in _value(arrow, what, roles).items()}
    query = roles.get("query") or find_name(arrow.column_names, "query", what, needed=False)
    return lists(arrow[item], query=None if query is None else arrow[query], **value)
