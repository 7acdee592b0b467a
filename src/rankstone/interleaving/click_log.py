"""Clicks on interleaved lists, out of tables, UBI events or dicts: credit per ranker for each list."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.data.arrow import arrow_table, is_table, plain_ids
from rankstone.data.files import is_path, read_table
from rankstone.data.formats import entries_of_tool
from rankstone.data.roles import ROLES, check_roles, find_all
from rankstone.errors import DataError, InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone.interleaving.designs import InterleavedList
    from rankstone.typing import Arrow, Id, Path

    Log: TypeAlias = Arrow | Path | Mapping[Id, object] | Iterable[Mapping[str, object]]


@dataclass
class LoggedSearch:
    """One list that was shown: the clicked items with the rankers that picked them, and the user."""

    clicked: dict[Any, str | None] = field(default_factory=dict)
    user: Any = None


@dataclass
class ClickLog:
    """All lists that were shown, by query, and the rankers that picked items of them."""

    searches: dict[Any, LoggedSearch] = field(default_factory=dict)
    teams: dict[str, None] = field(default_factory=dict)
    has_users: bool = False

    def add(self, query: Id, item: Id, team: str | None, user: Id, is_click: bool) -> None:
        """One row or event; a second click on the same item of a list does not count."""
        search = self.searches.setdefault(query, LoggedSearch())
        if team is not None:
            self.teams[team] = None
        if user is not None:
            search.user, self.has_users = user, True
        if is_click:
            search.clicked.setdefault(len(search.clicked) if item is None else (item,), team)

    def credits(self, lists: Mapping[Id, InterleavedList] | None) -> tuple[list[str], dict[Any, list[float]], int]:
        """The rankers, their credit for each list, and the number of searches that are in no list."""
        if lists is None:
            names = sorted(self.teams)
            return names, {
                query: [float(sum(team == name for team in search.clicked.values())) for name in names]
                for query, search in self.searches.items()
            }, 0  # fmt: skip
        by_text = {str(query): shown for query, shown in lists.items()}
        names, out, others = list(next(iter(lists.values())).rankings) if lists else [], {}, 0
        for query, search in self.searches.items():
            shown = lists.get(query, by_text.get(str(query)))
            if shown is None:
                others += 1
                continue
            try:
                out[query] = list(shown.credit([item for (item,) in search.clicked]).values())
            except (InputError, TypeError) as error:
                problem = "a click has no item" if isinstance(error, TypeError) else str(error)
                raise DataError(f"query {query!r}: {problem}", "id", "log", query=query) from None
        return names, out, others


def read_log(log: Log, actions: Collection[str], columns: Mapping[str, str] | None) -> ClickLog:
    """A log in any form."""
    events: Iterable[Any] | None = None
    out, table = ClickLog(), log
    if is_path(log):
        events = entries_of_tool(os.fspath(log), "ubi")
        table = read_table(log)[0] if events is None else log
    elif isinstance(log, Sequence) and not isinstance(log, str):
        events = log
    if events is not None:
        return _of_events(out, events, actions)
    if isinstance(table, Mapping) and not columns and "search" not in _roles(table, {}):
        for query, items in table.items():
            out.add(query, None, None, None, False)
            for item in items:  # type: ignore[union-attr]
                out.add(query, item, None, None, True)
        return out
    if not isinstance(table, Mapping) and not is_table(table):
        raise InputTypeError(
            "a log is a table or a dict of columns (query, team or item, click, user), UBI events, a file of these, or "
            f"{{query: [clicked item, ...]}}, not a {type(log).__name__}"
        )
    return _of_columns(out, table if isinstance(table, Mapping) else arrow_table(table), columns or {})


def _roles(table: Any, columns: Mapping[str, str]) -> dict[str, str]:
    roles = ROLES["interleaving"]
    check_roles(columns, roles)
    names = list(table) if isinstance(table, Mapping) else table.column_names
    return find_all([name for name in names if isinstance(name, str)], roles, "log", columns, optional=roles)


def _of_columns(out: ClickLog, table: Any, columns: Mapping[str, str]) -> ClickLog:
    roles = _roles(table, columns)
    if "search" not in roles:
        raise InputError("the log has no query; name its column: columns={'search': ...}")
    by_role = {role: list(table[name]) if isinstance(table, Mapping) else plain_ids(table[name])
               for role, name in roles.items()}  # fmt: skip
    empty = [None] * len(by_role["search"])
    rows = zip(*(by_role.get(role, empty) for role in ("search", "item", "team", "user")),
               by_role.get("reward", [1] * len(empty)), strict=True)  # fmt: skip
    for at, (query, item, team, user, reward) in enumerate(rows):
        if query is None or reward not in (0, 1):
            problem = "query is missing" if query is None else f"click is {reward!r}; give 0 or 1"
            raise DataError(f"row {at}: {problem}", "number", "log", row=at)
        out.add(query, item, None if team is None else str(team), user, bool(reward))
    return out


def _of_events(out: ClickLog, events: Iterable[Any], actions: Collection[str]) -> ClickLog:
    """UBI events; `search_config` of the object is the ranker, as OpenSearch's A/B events have it."""
    seen: dict[str, None] = {}
    for at, event in enumerate(events):
        if not isinstance(event, Mapping) or "action_name" not in event:
            raise DataError(f"event {at} has no action_name", "shape", "log", row=at)
        seen[event["action_name"]] = None
        attributes = event.get("event_attributes") or {}
        described = attributes.get("object") or {}
        query, team = event.get("query_id"), described.get("search_config")
        is_click = event["action_name"] in actions
        if query is None or (team is None and described.get("object_id") is None):
            continue  # an event of a page, not of a result
        users = (event.get("client_id"), event.get("session_id"), attributes.get("session_id"))
        user = next((name for name in users if name is not None), None)
        out.add(query, described.get("object_id"), None if team is None else str(team), user, is_click)
    if not seen.keys() & {*actions}:
        raise InputError(f"no event is one of {', '.join(map(repr, actions))}; there are {', '.join(map(repr, seen))}")
    return out
