"""Clicks on interleaved lists, out of tables, UBI events or dicts: credit per ranker for each list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankstone.data.roles import ROLES, check_roles, find_all
from rankstone.data.user_log import UserEvent, log_columns, log_table, ubi_events
from rankstone.errors import DataError, InputError

if TYPE_CHECKING:
    from rankstone.data.user_log import UserLog
    from rankstone.interleaving.designs import InterleavedList
    from rankstone.typing import Id


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


def read_log(log: UserLog, actions: Collection[str], columns: Mapping[str, str] | None) -> ClickLog:
    """A log in any form."""
    if (events := ubi_events(log)) is not None:
        return _of_events(events, actions)
    table = log_table(log, "a log", " (query, team or item, click, user), UBI events, or {query: [clicked item, ...]}")
    named, roles = columns or {}, ROLES["interleaving"]
    check_roles(named, roles)
    names = find_all([name for name in table if isinstance(name, str)], roles, "log", named, optional=roles)
    if "search" in names:
        return _of_columns(log_columns(table, names, "the log"))
    if table is not log or columns:
        raise InputError("the log has no query; name its column: columns={'search': ...}")
    out = ClickLog()
    for query, items in table.items():
        out.add(query, None, None, None, False)
        for item in items:
            out.add(query, item, None, None, True)
    return out


def _of_columns(by_role: Mapping[str, Sequence[Any]]) -> ClickLog:
    out = ClickLog()
    empty = [None] * len(by_role["search"])
    rows = zip(*(by_role.get(role, empty) for role in ("search", "item", "team", "user")),
               by_role.get("reward", [1] * len(empty)), strict=True)  # fmt: skip
    for at, (query, item, team, user, reward) in enumerate(rows):
        if query is None or reward not in (0, 1):
            problem = "query is missing" if query is None else f"click is {reward!r}; give 0 or 1"
            raise DataError(f"row {at}: {problem}", "number", "log", row=at)
        out.add(query, item, None if team is None else str(team), user, bool(reward))
    return out


def _of_events(events: Iterable[UserEvent], actions: Collection[str]) -> ClickLog:
    """UBI events; `search_config` of the object is the ranker, as OpenSearch's A/B events have it."""
    out = ClickLog()
    logged: dict[str, None] = {}  # actions
    for event in events:
        logged[event.action] = None
        team = event.object.get("search_config")
        if event.query is None or (team is None and event.item is None):
            continue  # an event of a page, not of a result
        users = (event.fields.get("client_id"), event.fields.get("session_id"), event.attributes.get("session_id"))
        user = next((name for name in users if name is not None), None)
        out.add(event.query, event.item, None if team is None else str(team), user, event.action in actions)
    if logged.keys().isdisjoint(actions):
        raise InputError(
            f"no event is one of {', '.join(map(repr, actions))}; there are {', '.join(map(repr, logged))}"
        )
    return out
