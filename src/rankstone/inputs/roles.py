"""Which column is which: of a table, a file, a batch, a table of Spark, or interactions to be split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from rankstone.errors import FileError

# What the caller said: a name, or a position in a file without a header line, by role: {"query": "user_id"}
Given = Mapping[str, Any]

ROLES: Mapping[str, tuple[str, ...]] = {
    "truth": ("query", "item", "grade"),
    "run": ("query", "item", "score", "rank"),
    "predictions": ("query", "item", "grade", "score"),
    "interactions": ("query", "item", "time"),
}

# What people call them.
NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "user", "user_id", "userid", "qid", "query_id", "q_id", "topic"),
    "item": ("item", "item_id", "itemid", "docno", "doc_id", "docid", "product_id", "items"),
    "grade": ("grade", "relevance", "rel", "label", "relscore", "rating", "grades", "labels"),
    "score": ("score", "prediction", "sim", "rating", "scores"),
    "rank": ("rank",),
    "time": ("time", "timestamp", "datetime", "date", "unix_timestamp", "ts"),
}
LISTS: Mapping[str, tuple[str, ...]] = {  # of columns that hold lists of items
    "truth": ("truth", "relevant", "ground_truth", "actual", "labels", "label"),
    "run": (
        "rec", "recs", "recommended", "recommendations", "items", "item", "ranking", "prediction", "predictions",
    ),
}  # fmt: skip


# -- what the caller said ------------------------------------------------------------------------------------


def roles_of(given: Given | None, what: str) -> dict[str, str]:
    """What the caller said of this side's columns: `{"query": "user_id"}` or `{"run": {"query": "user_id"}}`."""
    if given is None:
        return {}
    if given.keys() & {"truth", "run"}:
        if given.keys() - {"truth", "run"}:
            raise ValueError("columns= names roles, or a truth and a run that name roles, not both")
        given = given.get(what, {})
    refuse_unknown(given, ("query", "item", "grade", "score", "rank"))
    return {role: name for role, name in given.items() if role in ROLES[what]}


def check_given(given: Given | None, kind: str) -> Given:
    """What the caller said of a file's columns."""
    if given is None:
        return {}
    refuse_unknown(given, ROLES[kind])
    if "score" in given and "rank" in given:
        raise ValueError("columns names a score and a rank; a run is ordered by one of them")
    if len({isinstance(where, int) for where in given.values()}) > 1:
        raise ValueError("columns mixes names and positions")
    return given


def refuse_unknown(given: Given, roles: Sequence[str]) -> None:
    """Stop at a role that there is not."""
    for role in given:
        if role not in roles:
            raise ValueError(f"columns= names {role!r}; the roles are {', '.join(roles)}")


# -- finding -------------------------------------------------------------------------------------------------


def find(names: Sequence[str], role: str, what: str, given: Given, taken: Collection[str] = ()) -> str | None:
    """The column that plays a role: named by the caller, or by a usual name if it has no other role; None if none."""
    name = given.get(role)
    if name is not None:
        same = [column for column in names if column == name]
        if not same:
            raise ValueError(f"the {what} has no column {name!r}; it has {', '.join(map(repr, names))}")
    else:
        by_lower = {str(column).lower(): column for column in names if column not in taken}
        usual = [role] if role in by_lower else [usual for usual in NAMES[role] if usual in by_lower]
        if not usual:
            return None
        if len(usual) > 1:
            could = " or ".join(repr(by_lower[column]) for column in usual)
            raise ValueError(f"the {what}'s {role} could be {could}; rename one, or {_advice(role)}")
        name = by_lower[usual[0]]
        same = [column for column in names if str(column).lower() == usual[0]]
    if len(same) > 1:
        raise ValueError(f"the {what} has {len(same)} columns called {name!r}")
    return same[0]


def need(names: Sequence[str], role: str, what: str, given: Given, taken: Collection[str] = ()) -> str:
    """The column that plays a role, or an error that says what to write."""
    name = find(names, role, what, given, taken)
    if name is None:
        raise ValueError(
            f"the {what} has no {role} column among {', '.join(map(repr, names))}; "
            f"usual names are {', '.join(NAMES[role])}; or {_advice(role)}"
        )
    return name


def _advice(role: str) -> str:
    return f"name it: columns={{{role!r}: ...}}"


def find_all(
    names: Sequence[str], roles: Sequence[str], what: str, given: Given, optional: Collection[str] = ()
) -> dict[str, str]:
    """The column of each role; one column is not found for two."""
    found: dict[str, str] = {}
    for role in roles:
        look = find if role in optional else need
        name = look(names, role, what, given, found.values())
        if name is not None:
            found[role] = name
    return found


def find_list(names: Sequence[str], kind: str, role: str, given: Given, is_list: Callable[[str], bool]) -> str | None:
    """A column with a list in each row: named by the caller, or the first with a usual name."""
    if role in given:
        name = need(names, role, "table", given)
        return name if is_list(name) else None
    return next((name for name in names if name.lower() in LISTS[kind] and is_list(name)), None)


def find_side(
    names: Sequence[str],
    kind: str,
    given: Given,
    *,
    what: str | None = None,
    is_list: Callable[[str], bool] = lambda name: False,
    by_row: bool = False,
) -> dict[str, str]:
    """The columns of a truth or a run by their roles, the last one that of its grade, its score or else its rank.

    what: the word for it in errors. by_row: lists need no query, as their rows can be matched.
    """
    what = what or kind
    usual = None if "item" in given else find_list(names, kind, "item", given, is_list)
    item = usual or find(names, "item", what, given)
    look = find if by_row and item is not None and is_list(item) else need
    query = look(names, "query", what, given)
    found = {} if query is None else {"query": query}
    found["item"] = item or need(names, "item", what, given)
    for role in ROLES[kind][2:]:
        if role == "score" and "rank" in given:
            continue
        value = find(names, role, what, given, found.values())
        if value is not None:
            return {**found, role: value}
    return found


def find_two_lists(names: Sequence[str], given: Given, is_list: Callable[[str], bool]) -> tuple[str, str] | None:
    """The relevant and the returned items of one table, if both are lists."""
    judged, returned = (
        find_list(names, kind, role, given, is_list) for kind, role in (("truth", "grade"), ("run", "item"))
    )
    return None if judged is None or returned is None else (judged, returned)


# -- files ---------------------------------------------------------------------------------------------------


def by_name(names: Sequence[str], kind: str, given: Given, path: str, line: int | None = None) -> dict[str, str]:
    """The names of a file's columns, by role."""
    try:
        return find_side(names, kind, given)
    except ValueError as error:
        raise FileError(path, str(error), line) from None


def by_position(count: int, kind: str, given: Given, path: str, line: int) -> dict[str, int]:
    """Where the columns of a file without names are: as given, or query, item and value in this order."""
    value = ROLES[kind][2]
    if not given:
        if count not in (2, 3):
            example = {"query": 0, "item": 1, value: 2}
            raise FileError(
                path,
                f"expected 3 columns (query item {value}) or 2 in a file without a header line, found {count}; "
                f"say which is which: columns={example}",
                line,
            )
        return dict(zip(("query", "item", value), range(count), strict=False))
    for role in ("query", "item"):
        if role not in given:
            raise ValueError(f"columns has no position for the {role}")
    for role, where in given.items():
        if not 0 <= int(where) < count:
            raise FileError(path, f"has {count} columns; there is no position {where} for the {role}", line)
    return {role: int(where) for role, where in given.items()}


def value_role(roles: Iterable[str]) -> str | None:
    """Grade, score or rank; None: every item is relevant, or the rows are in ranked order."""
    return next((role for role in roles if role not in ("query", "item")), None)
