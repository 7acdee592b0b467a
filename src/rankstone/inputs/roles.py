"""Which columns of a file are the query, the item and the grade or score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankstone.errors import FileError
from rankstone.inputs.columns import find_name

Given = Mapping[str, "str | int"]

ROLES = {"truth": ("query", "item", "grade"), "run": ("query", "item", "score", "rank")}


@dataclass(frozen=True)
class Roles:
    """Where the columns are, counted from 0."""

    query: int
    item: int
    value: int | None  # None: every item is relevant, or the rows are in ranked order
    role: str | None  # of the value: grade, score or rank

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """Names by role."""
        found = {"query": names[self.query], "item": names[self.item]}
        return found if self.value is None else {**found, str(self.role): names[self.value]}


def check_given(given: Given | None, kind: str) -> Given:
    """The columns that the caller named."""
    if given is None:
        return {}
    for role in given:
        if role not in ROLES[kind]:
            raise ValueError(f"columns names {role!r}; the columns of a {kind} are {', '.join(ROLES[kind])}")
    if "score" in given and "rank" in given:
        raise ValueError("columns names a score and a rank; a run is ordered by one of them")
    if len({isinstance(where, int) for where in given.values()}) > 1:
        raise ValueError("columns mixes names and positions")
    return given


def by_name(names: Sequence[str], kind: str, given: Given, path: str, line: int | None = None) -> Roles:
    """Roles of named columns: as given, or found among the usual names."""
    have = ", ".join(map(repr, names))

    def find(role: str, needed: bool) -> int | None:
        name = given.get(role)
        if name is None:
            advice = f"name it: columns={{{role!r}: ...}}"
            try:
                name = find_name(names, role, kind, needed=needed, otherwise=advice)
            except ValueError as error:
                raise FileError(path, str(error), line) from None
            if name is None:
                return None
            same = [one for one in names if one.lower() == str(name).lower()]
        else:
            same = [one for one in names if one == name]
        if not same:
            raise FileError(path, f"has no column {name!r}; there are {have}", line)
        if len(same) > 1:
            raise FileError(path, f"has {len(same)} columns called {name!r}", line)
        return names.index(same[0])

    query, item = find("query", True), find("item", True)
    assert query is not None
    assert item is not None
    for role in ROLES[kind][2:]:
        if role == "score" and "rank" in given:
            continue
        value = find(role, False)
        if value is not None:
            return Roles(query, item, value, role)
    return Roles(query, item, None, None)


def by_position(count: int, kind: str, given: Given, path: str, line: int) -> Roles:
    """Roles of columns without names: as given, or query, item and value in this order."""
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
        return Roles(0, 1, 2 if count == 3 else None, value if count == 3 else None)
    for role in ("query", "item"):
        if role not in given:
            raise ValueError(f"columns has no position for the {role}")
    for role, where in given.items():
        if not 0 <= int(where) < count:
            raise FileError(path, f"has {count} columns; there is no position {where} for the {role}", line)
    named = next((role for role in ROLES[kind][2:] if role in given), None)
    return Roles(int(given["query"]), int(given["item"]), None if named is None else int(given[named]), named)
