"""Tables of any Arrow-compatible library: rows of items, rows of lists, or predictions with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankstone.data.arrow import (
    Column,
    Frame,
    Kind,
    Places,
    arrow_table,
    as_column,
    as_numpy,
    encoded,
    is_list,
    one_piece,
    pyarrow,
    take,
)
from rankstone.data.columns import Columns, as_scores, by_role, columns
from rankstone.data.dicts import by_item, listed, names_subtopics, ordered_lists
from rankstone.data.lists import Lists, check_padding, labelled, lists, rows_of
from rankstone.data.roles import (
    ROLES,
    SEPARATOR,
    RoleMap,
    check_two_sides,
    find,
    find_all,
    find_inside,
    find_side,
    find_two_lists,
    names_of,
    need,
    roles_of,
)
from rankstone.errors import DataError, InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone import typing
    from rankstone.typing import Id, Items, Numbers

Side: TypeAlias = "Mapping[Id, Items] | Columns | Lists | Frame"  # a truth or a run, opened


class AsRun:
    """A run that rankstone created."""

    @property
    def side(self) -> Side:
        """A dict, columns or lists, as the data that it was created from."""
        raise NotImplementedError

    of_files = False  # do its ids come from files, where they are strings


def from_table(table: Frame, what: str, role_map: RoleMap | None) -> Columns | Lists:
    """A side's columns: named by the caller, or found among the usual names."""
    arrow, named = _one_query(arrow_table(table), roles_of(role_map, what, several=True), what)
    roles = find_side(
        arrow.column_names,
        what,
        named,
        is_list=lists_in(arrow.schema),
        is_float=floats_in(arrow.schema),
        by_row=True,
    )
    side = side_of(unpacked({role: one_piece(arrow[name]) for role, name in roles.items()}, what))
    return replace(side, names={**roles, **inside(arrow.schema.field(roles["item"]).type, what)})


def _one_query(arrow: pyarrow.Table, roles: RoleMap, what: str) -> tuple[pyarrow.Table, RoleMap]:
    """The same with one column for the query: of several, their values joined."""
    names = names_of(roles.get("query"))
    if len(names) < 2:
        return arrow, {**roles, "query": names[0]} if "query" in roles else roles
    from pyarrow import compute

    columns = [arrow[need(arrow.column_names, "query", what, {"query": name})] for name in names]
    kind = pyarrow.large_string()
    parts = [column.cast(kind) for column in columns]
    for name, part in zip(names[:-1], parts, strict=False):
        if compute.any(compute.match_substring(part, SEPARATOR)).as_py():
            problem = f"the {what} has a {SEPARATOR!r} in {name!r}, which separates the columns of a query"
            raise DataError(f"{problem}; make one column of them first", "id", what)
    query = SEPARATOR.join(names)
    ids = compute.binary_join_element_wise(*parts, pyarrow.scalar(SEPARATOR, kind))
    return arrow.append_column(query, ids), {**roles, "query": query}


def inside(kind: Kind, what: str) -> dict[str, str]:
    """The parts of the objects in a column of lists, by role; none if it has no objects."""
    if not (is_list(kind) and pyarrow.types.is_struct(kind.value_type)):
        return {}
    return find_inside([kind.value_type.field(at).name for at in range(kind.value_type.num_fields)], what)


def unpacked(values: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Columns by their roles; lists of objects, each with an item and a score, as a list of items and one of scores."""
    column = values["item"]
    names = inside(column.type, what)
    if not names:
        return values
    column = column.cast(pyarrow.large_list(column.type.value_type))
    objects, empty = column.values, column.is_null() if column.null_count else None
    parts = {
        role: pyarrow.LargeListArray.from_arrays(column.offsets, objects.field(name), mask=empty)
        for role, name in names.items()
    }
    return {**values, **parts}


def side_of(values: Mapping[str, Any]) -> Columns | Lists:
    """A side from Arrow columns by role: one row per item, or one row per query if its items are lists."""
    if not is_list(values["item"].type):
        return by_role(values)
    scores = values.get("score", values.get("rank"))
    side = lists(values["item"], query=values.get("query"), grades=values.get("grade"), scores=scores)
    if "rank" not in values or side.values is None:
        return side
    return replace(side, values=as_scores(side.values), ranks=True)


def lists_in(schema: pyarrow.Schema) -> Callable[[str], bool]:
    """Which columns hold lists."""
    listed = {field.name for field in schema if is_list(field.type)}
    return listed.__contains__


def floats_in(schema: pyarrow.Schema) -> Callable[[str], bool]:
    """Which columns hold floats."""
    floats = {field.name for field in schema if pyarrow.types.is_floating(field.type)}
    return floats.__contains__


def as_columns(side: Side, what: str, role_map: RoleMap | None = None) -> Columns:
    """A side as rows of items, from any shape."""
    if what == "truth" and isinstance(side, Mapping) and names_subtopics(side):
        return _by_subtopic(side)
    if isinstance(side, Mapping):
        side = listed(side, what)
    if not isinstance(side, (Columns, Lists)):
        side = from_table(side, what, role_map)
    if isinstance(side, Lists):
        return _unrolled(side, what)
    if what == "truth" and side.grade is None and side.score is not None:
        raise InputError("the truth has scores but no grades; name the column grade=")
    if what == "run" and side.score is None and side.grade is not None:
        raise InputError("the run has grades but no scores; name the column score=")
    return side


def _by_subtopic(truth: Mapping[Id, Any]) -> Columns:
    """A nested dict as rows of query, item and subtopic, which is a number: it may have been anything."""
    numbers: dict[Any, int] = {}
    nothing = {None: 0.0}  # an item without a subtopic is judged all the same
    rows = [(query, item, *row) for query, item, grades in by_item(truth) for row in (grades or nothing).items()]
    query, item, subtopic, grade = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    codes = [numbers.setdefault(name, len(numbers)) for name in subtopic]
    return columns(query=query, item=item, subtopic=codes, grade=grade)


def has_annotations(side: object) -> bool:
    """Has a truth subtopics or weights."""
    if isinstance(side, Columns):
        return side.subtopic is not None or side.weight is not None
    return names_subtopics(side)


def as_lists(side: Mapping[Id, Any] | Columns | Lists, what: str) -> Lists:
    """A side as one list per query, from any shape."""
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
    return Lists(offsets, take(side.item, order), take(value, order), queries, ordered=False, notes=side.notes)


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
    """Is there a query with an empty list, which rows of items cannot represent."""
    if isinstance(side, Lists):
        return side.query is not None and bool((np.diff(side.offsets) == 0).any())
    return isinstance(side, Mapping) and any(
        isinstance(content, Sized) and not len(content) for content in side.values()
    )


def in_order(side: object) -> bool:
    """Are all of its lists ordered, which rows of items cannot represent for a truth."""
    if isinstance(side, Mapping):
        return ordered_lists(side)
    return isinstance(side, Lists) and side.query is not None and side.values is None


def _unrolled(side: Lists, what: str) -> Columns:
    if side.query is None:
        raise InputError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    query, item = rows_of(side)
    inside = slice(int(side.offsets[0]), int(side.offsets[-1]))
    value = {} if side.values is None else {"grade" if what == "truth" else "score": side.values[inside]}
    unrolled = columns(query=query, item=item, **value)
    return replace(unrolled, notes=side.notes, ranks=side.ranks)


def predictions(
    table: Frame, role_map: RoleMap | None, groups: Numbers | None
) -> tuple[Columns | Lists, Columns | Lists]:
    """The truth and the run of one table: a label and a score in each row, or two lists."""
    arrow = arrow_table(table)
    if isinstance(role_map, Mapping) and role_map.keys() & {"truth", "run"}:
        judged, returned = from_table(arrow, "truth", role_map), from_table(arrow, "run", role_map)
        check_two_sides(judged.names, returned.names, "the table")
        return judged, returned
    arrow, roles = _one_query(arrow, roles_of(role_map, "predictions", several=True), "table")
    two = find_two_lists(arrow.column_names, roles, lists_in(arrow.schema))
    if two is not None:
        name = find(arrow.column_names, "query", "table", roles)
        query = None if name is None else arrow[name]
        return lists(arrow[two[0]], query=query), lists(arrow[two[1]], query=query)
    wanted = ROLES["predictions"][0 if groups is None else 1 :]
    names = find_all(arrow.column_names, wanted, "table", roles, optional=("item",))
    grade, score = arrow[names["grade"]], arrow[names["score"]]
    items = arrow[names["item"]] if "item" in names else None
    return flat(grade, score, groups, arrow[names["query"]] if groups is None else None, items)


def flat(
    labels: typing.Column,
    scores: typing.Column,
    groups: Numbers | None,
    query: typing.Column | None,
    items: typing.Column | None = None,
) -> tuple[Columns, Columns] | tuple[Lists, Lists]:
    """The truth and the run of flat arrays, with the number of rows of each query or with each row's query."""
    if (groups is None) == (query is None):
        raise InputTypeError("flat labels and scores need groups= (rows per query) or query= (the query of each row)")
    grade, score = as_column("labels", labels), as_column("scores", scores)
    if len(grade) != len(score):
        raise InputError(f"there are {len(grade)} labels but {len(score)} scores")
    check_padding(as_numpy(grade), "leave these rows out")
    items = np.arange(len(grade)) if items is None else items
    if query is not None:
        return columns(query=query, item=items, grade=grade), columns(query=query, item=items, score=score)
    return labelled(items, grade, score, _offsets(groups, len(grade)))  # type: ignore[arg-type]


def _offsets(groups: Numbers, rows: int) -> Places:
    sizes = np.asarray(groups)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise InputError("groups must be whole numbers from 0: the number of rows per query, in order")
    if sizes.sum() != rows:
        raise InputError(f"groups add up to {sizes.sum()} rows but there are {rows}")
    return np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))
