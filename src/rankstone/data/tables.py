"""Tables of any library that speaks Arrow: rows of items, rows of lists, or predictions beside their labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from rankstone.data.arrow import (
    Column,
    Frame,
    Places,
    arrow_table,
    as_column,
    encoded,
    is_list,
    one_piece,
    pyarrow,
    take,
)
from rankstone.data.columns import Columns, as_scores, by_role, columns
from rankstone.data.dicts import by_item, listed, names_subtopics, ordered_lists
from rankstone.data.lists import Lists, labelled, lists, rows_of
from rankstone.data.roles import ROLES, Given, find, find_all, find_inside, find_side, find_two_lists, roles_of
from rankstone.errors import DataError

if TYPE_CHECKING:
    from rankstone import typing
    from rankstone.typing import Id, Items, Numbers

Side: TypeAlias = "Mapping[Id, Items] | Columns | Lists | Frame"  # a truth or a run, opened


class Made:
    """A run that rankstone made, which is a side as it is."""

    @property
    def side(self) -> Side:
        """A dict, columns or lists, as the data was that it was made of."""
        raise NotImplementedError

    of_files = False  # do its ids come from files, where they are text, whatever they look like


def is_query(side: object) -> TypeGuard[str]:
    """Is it a text that begins as a query does."""
    return isinstance(side, str) and re.match(r"\s*(select|with|from)\s", side, re.IGNORECASE) is not None


def queried(side: object) -> Any:
    """A text that begins as a query does, as the table DuckDB makes of it; anything else as it is."""
    if not is_query(side):
        return side
    try:
        import duckdb
    except ImportError:
        raise ImportError(f"{side!r} is a query, and DuckDB is not installed: pip install duckdb") from None
    connection = duckdb.default_connection().cursor()
    connection.execute("set python_scan_all_frames = true")  # a frame is a table by its variable's name
    try:
        return connection.sql(side).to_arrow_table()
    except duckdb.Error as error:
        raise ValueError(f"{side}: {error}") from None


def from_table(table: Frame, what: str, given: Given | None) -> Columns | Lists:
    """A side's columns: named by the caller, or found among the usual names."""
    arrow = arrow_table(table)
    found = find_side(
        arrow.column_names,
        what,
        roles_of(given, what),
        is_list=lists_in(arrow.schema),
        is_float=floats_in(arrow.schema),
        by_row=True,
    )
    return side_of(unpacked({role: one_piece(arrow[name]) for role, name in found.items()}, what))


def unpacked(values: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Columns by their roles; lists of objects, each with an item and a score, as a list of items and one of scores."""
    column = values["item"]
    if not (is_list(column.type) and pyarrow.types.is_struct(column.type.value_type)):
        return values
    column = column.cast(pyarrow.large_list(column.type.value_type))
    objects, empty = column.values, column.is_null() if column.null_count else None
    names = find_inside([objects.type.field(at).name for at in range(objects.type.num_fields)], what)
    parts = {
        role: pyarrow.LargeListArray.from_arrays(column.offsets, objects.field(name), mask=empty)
        for role, name in names.items()
    }
    return {**values, **parts}


def side_of(values: Mapping[str, Any]) -> Columns | Lists:
    """A side of Arrow columns by their roles: one row an item, or one row a query if its items are lists."""
    if not is_list(values["item"].type):
        return by_role(values)
    scores = values.get("score", values.get("rank"))
    made = lists(values["item"], query=values.get("query"), grades=values.get("grade"), scores=scores)
    if "rank" not in values or made.values is None:
        return made
    return replace(made, values=as_scores(made.values), ranks=True)


def lists_in(schema: pyarrow.Schema) -> Callable[[str], bool]:
    """Which columns hold lists."""
    return lambda name: is_list(schema.field(name).type)


def floats_in(schema: pyarrow.Schema) -> Callable[[str], bool]:
    """Which columns hold floats."""
    return lambda name: pyarrow.types.is_floating(schema.field(name).type)


def as_columns(side: Side, what: str, given: Given | None = None) -> Columns:
    """A side as rows of items, whatever its shape."""
    if what == "truth" and isinstance(side, Mapping) and names_subtopics(side):
        return _by_subtopic(side)
    if isinstance(side, Mapping):
        side = listed(side, what)
    if not isinstance(side, (Columns, Lists)):
        side = from_table(side, what, given)
    if isinstance(side, Lists):
        return _unrolled(side, what)
    if what == "truth" and side.grade is None and side.score is not None:
        raise ValueError("the truth has scores but no grades; name the column grade=")
    if what == "run" and side.score is None and side.grade is not None:
        raise ValueError("the run has grades but no scores; name the column score=")
    return side


def _by_subtopic(truth: Mapping[Id, Any]) -> Columns:
    """A nested dict as rows of query, item and subtopic, which is a number: it may have been anything."""
    numbers: dict[Any, int] = {}
    nothing = {None: 0.0}  # an item without a subtopic is judged all the same
    rows = [(query, item, *row) for query, item, grades in by_item(truth) for row in (grades or nothing).items()]
    query, item, subtopic, grade = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    codes = [numbers.setdefault(name, len(numbers)) for name in subtopic]
    return columns(query=query, item=item, subtopic=codes, grade=grade)


def has_notes(side: object) -> bool:
    """Does a truth say more of its items than their grades."""
    if isinstance(side, Columns):
        return side.subtopic is not None or side.weight is not None
    return names_subtopics(side)


def as_lists(side: Mapping[Id, Any] | Columns | Lists, what: str) -> Lists:
    """A side as one list a query, whatever its shape."""
    if isinstance(side, Lists):
        return side
    if isinstance(side, Mapping):
        return listed(side, what)
    side = as_columns(side, what)
    queries, rows = encoded(side.query)
    if len(rows) and rows.min() < 0:
        row = int(np.argmin(rows))
        raise DataError(f"{what} queries: row {row} is null", "missing", what, row=row)
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(queries)))))
    value = side.grade if what == "truth" else side.score
    return Lists(offsets, take(side.item, order), take(value, order), queries, ordered=False, remarks=side.remarks)


def as_batch(side: Mapping[Id, Any] | Columns | Lists) -> Columns:
    """A piece of a run as rows, and which queries had an empty list."""
    side = listed(side, "run") if isinstance(side, Mapping) else side
    rows = as_columns(side, "run")
    if not isinstance(side, Lists) or not has_empty(side):
        return rows
    return replace(rows, empty=empty_queries(side))


def empty_queries(side: Lists) -> Column:
    """The queries whose lists have nothing in them."""
    return take(side.query, np.flatnonzero(np.diff(side.offsets) == 0))


def has_empty(side: object) -> bool:
    """Is there a query with an empty list, which rows of items cannot tell."""
    if isinstance(side, Lists):
        return side.query is not None and bool((np.diff(side.offsets) == 0).any())
    return isinstance(side, Mapping) and not all(len(content) for content in side.values())


def in_order(side: object) -> bool:
    """Are all of its lists in an order of the caller's, which rows of items cannot tell of a truth."""
    if isinstance(side, Mapping):
        return ordered_lists(side)
    return isinstance(side, Lists) and side.query is not None and side.values is None


def _unrolled(side: Lists, what: str) -> Columns:
    if side.query is None:
        raise ValueError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    query, item = rows_of(side)
    inside = slice(int(side.offsets[0]), int(side.offsets[-1]))
    value = {} if side.values is None else {"grade" if what == "truth" else "score": side.values[inside]}
    made = columns(query=query, item=item, **value)
    return replace(made, remarks=side.remarks, ranks=side.ranks)


def predictions(table: Frame, given: Given | None, groups: Numbers | None) -> tuple[Columns | Lists, Columns | Lists]:
    """The truth and the run of one table: a label and a score in each row, or two lists."""
    arrow = arrow_table(table)
    if given is not None and given.keys() & {"truth", "run"}:
        return from_table(arrow, "truth", given), from_table(arrow, "run", given)
    roles = roles_of(given, "predictions")
    two = find_two_lists(arrow.column_names, roles, lists_in(arrow.schema))
    if two is not None:
        name = find(arrow.column_names, "query", "table", roles)
        query = None if name is None else arrow[name]
        return lists(arrow[two[0]], query=query), lists(arrow[two[1]], query=query)
    wanted = ROLES["predictions"][0 if groups is None else 1 :]
    found = find_all(arrow.column_names, wanted, "table", roles, optional=("item",))
    grade, score = arrow[found["grade"]], arrow[found["score"]]
    items = arrow[found["item"]] if "item" in found else None
    return flat(grade, score, groups, arrow[found["query"]] if groups is None else None, items)


def flat(
    labels: typing.Column,
    scores: typing.Column,
    groups: Numbers | None,
    query: typing.Column | None,
    items: typing.Column | None = None,
) -> tuple[Columns, Columns] | tuple[Lists, Lists]:
    """The truth and the run of flat arrays, with the number of rows of each query or with each row's query."""
    if (groups is None) == (query is None):
        raise TypeError("flat labels and scores need groups= (how many rows each query has) or query= (whose each is)")
    grade, score = as_column("labels", labels), as_column("scores", scores)
    if len(grade) != len(score):
        raise ValueError(f"there are {len(grade)} labels but {len(score)} scores")
    items = np.arange(len(grade)) if items is None else items
    if query is not None:
        return columns(query=query, item=items, grade=grade), columns(query=query, item=items, score=score)
    return labelled(items, grade, score, _offsets(groups, len(grade)))  # type: ignore[arg-type]


def _offsets(groups: Numbers, rows: int) -> Places:
    sizes = np.asarray(groups)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("groups must be whole numbers from 0: how many rows each query has, in order")
    if sizes.sum() != rows:
        raise ValueError(f"groups add up to {sizes.sum()} rows but there are {rows}")
    return np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))
