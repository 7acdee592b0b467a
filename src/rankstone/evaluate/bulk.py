"""Logs of served lists in bulk: frames, Arrow tables, files, and the logs of User Behavior Insights (UBI)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone.data.roles import RoleMap, check_roles, find, find_list, need, usual
from rankstone.data.user_log import UserEvent, is_listed, log_columns, log_table, ubi_events
from rankstone.errors import DataError, InputError, is_finite, show
from rankstone.evaluate.windows import Time, read_time

if TYPE_CHECKING:
    from rankstone.data.user_log import UserLog

_ROLES = {"impressions": ("list", "time", "item", "rank", "score"), "feedback": ("list", "time", "item", "grade")}
_NEEDED = ("list", "time", "item")
_OTHERS = {"list": "search", "rank": "place", "grade": "reward"}  # roles whose usual names are tried next
ACTIONS = {"click": 1.0, "item_click": 1.0, "add_to_cart": 2.0, "purchase": 3.0}  # grades of UBI's events
_SHOWN = ("impression",)


class ImpressionEvent(NamedTuple):
    """A list that was served."""

    list_id: Hashable
    items: Any
    time: Time
    segment: Mapping[str, Any]


class FeedbackEvent(NamedTuple):
    """Feedback on an item of a list."""

    list_id: Hashable
    item: Hashable
    time: Time
    grade: float


def events_of(
    impressions: UserLog | None,
    feedback: UserLog | None,
    keys: Sequence[str],
    columns: Mapping[str, str],
    actions: Mapping[str, float] | None,
) -> list[ImpressionEvent | FeedbackEvent]:
    """All events in the order of their times; of equal times lists come first. keys: those of the segment."""
    events: list[ImpressionEvent | FeedbackEvent] = []
    check_roles(columns, ("list", "time", "item", "items", "rank", "score", "grade"))
    for log, kind, rows_of in ((impressions, "impressions", _impressions), (feedback, "feedback", _feedback)):
        if log is None:
            continue
        if (of_ubi := ubi_events(log)) is not None:
            events += _of_ubi(of_ubi, keys, ACTIONS if actions is None else actions)
        else:
            table = log_table(log, kind, ", or has events of UBI")
            events += rows_of(table, _roles_of(table, kind, columns), keys)
    return sorted(events, key=lambda event: read_time(event.time)[0])


# -- tables --------------------------------------------------------------------------------------------------


def _roles_of(table: Mapping[str, Any], kind: str, columns: RoleMap) -> dict[str, str]:
    """The columns of a log by role; a list per row is `items`."""
    names = [name for name in table if isinstance(name, str)]
    out: dict[str, str] = {}
    if kind == "impressions":
        items = find_list(names, "run", "items", columns, lambda name: is_listed(table[name]))
        out |= {} if items is None else {"items": items}
    texts = [name for name in names if usual(name) == "items"]  # of several items, but no lists
    for role in _ROLES[kind]:
        if role == "item" and "items" in out:
            continue
        taken = [*texts, *out.values()]
        name = find(names, role, kind, columns, taken)
        if name is None and role in _OTHERS and role not in columns:
            name = find(names, _OTHERS[role], kind, {}, taken)
        if name is not None:
            out[role] = name
        elif role in _NEEDED:
            need(names, role, kind, columns, taken)
    return out


def _impressions(table: Mapping[str, Any], names: Mapping[str, str], keys: Sequence[str]) -> Iterator[ImpressionEvent]:
    """Lists of a table with a list per row, or with a row per item."""
    for key in (key for key in keys if key not in table):
        raise InputError(f"impressions has no column {key!r}, which by= or clusters= names; it has {', '.join(table)}")
    by_role = log_columns(table, {**{f"by {key}": key for key in keys}, **names}, "impressions")
    lists, scores, ranks = by_role["list"], by_role.get("score"), by_role.get("rank", ())
    for at in (at for at, rank in enumerate(ranks) if not is_finite(rank)):
        raise DataError(f"row {at}: rank {show(ranks[at])} is not a number", "number", "run", row=at)
    rows: dict[Hashable, list[int]] = {}
    for at, list_id in enumerate(lists):
        rows.setdefault(at if "items" in by_role else list_id, []).append(at)
    for several in rows.values():
        first = several[0]
        if "items" in by_role:
            returned, values = by_role["items"][first], None if scores is None else scores[first]
        else:
            served = sorted(several, key=ranks.__getitem__) if ranks else several
            returned = [by_role["item"][at] for at in served]
            values = None if scores is None else [scores[at] for at in served]
        if values is not None and len(values) != len(returned):
            raise InputError(f"list {lists[first]!r}: there are {len(returned)} items and {len(values)} scores")
        pairs = returned if values is None else list(zip(returned, values, strict=True))
        segment = {key: by_role[f"by {key}"][first] for key in keys}
        yield ImpressionEvent(lists[first], pairs, by_role["time"][first], segment)


def _feedback(table: Mapping[str, Any], names: Mapping[str, str], keys: Sequence[str]) -> Iterator[FeedbackEvent]:
    by_role = log_columns(table, names, "feedback")
    grades = by_role.get("grade", [1.0] * len(by_role["list"]))
    yield from map(FeedbackEvent, by_role["list"], by_role["item"], by_role["time"], grades)


# -- UBI -----------------------------------------------------------------------------------------------------


def _of_ubi(
    events: Iterable[UserEvent], keys: Sequence[str], actions: Mapping[str, float]
) -> Iterator[ImpressionEvent | FeedbackEvent]:
    """Impressions, an event per item, as lists by query id; and the feedback of some actions."""
    served: dict[Hashable, list[tuple[float, UserEvent]]] = {}
    for event in events:
        if event.query is None or event.item is None:
            continue
        if event.action in _SHOWN:
            several = served.setdefault(event.query, [])
            several.append(((event.attributes.get("position") or {}).get("ordinal", len(several)), event))
        elif event.action in actions:
            yield FeedbackEvent(event.query, event.item, _time(event), actions[event.action])
    for query, several in served.items():
        several.sort(key=lambda pair: pair[0])
        shown = [event for _, event in several]
        time = min(map(_time, shown), key=lambda one: read_time(one)[0])
        yield ImpressionEvent(
            query, [event.item for event in shown], time, {key: _field(shown[0], key) for key in keys}
        )


def _field(event: UserEvent, key: str) -> Any:
    """A field of an event, or of its attributes."""
    for part in (event.fields, event.attributes, event.fields.get("query_attributes") or {}):
        if key in part:
            return part[key]
    raise InputError(f"an event of query {event.query!r} has no {key!r}, which by= or clusters= names")


def _time(event: UserEvent) -> Time:
    """The time of an event: milliseconds since 1970, or text."""
    time = event.fields.get("timestamp")
    if time is None:
        raise DataError(f"event {event.number} has no timestamp", "missing", "log", row=event.number)
    return time / 1000 if isinstance(time, (int, float)) else time
