"""Logs of served lists in bulk: frames, Arrow tables, files, and the logs of User Behavior Insights (UBI)."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone.data.arrow import Frame, arrow_table, is_table
from rankstone.data.files import is_path, read_table
from rankstone.data.lines import head_of, open_text
from rankstone.errors import FileError, InputError, InputTypeError
from rankstone.evaluate.windows import Time, read_time

if TYPE_CHECKING:
    from rankstone.data.files import Path

# Usual names of columns, by role.
_NAMES = {
    "list": ("list_id", "list", "impression_id", "request_id", "query_id", "query", "search_id"),
    "time": ("time", "timestamp", "ts", "event_time", "served_at", "clicked_at"),
    "item": ("item", "item_id", "doc", "doc_id", "object_id", "product_id"),
    "items": ("items", "ranking", "results", "docs", "object_ids"),
    "rank": ("rank", "position", "ordinal"),
    "score": ("score", "scores"),
    "grade": ("grade", "reward", "weight", "value"),
}
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
    impressions: Frame | Path | None,
    feedback: Frame | Path | None,
    keys: Sequence[str],
    columns: Mapping[str, str],
    actions: Mapping[str, float] | None,
) -> list[ImpressionEvent | FeedbackEvent]:
    """All events in the order of their times; of equal times lists come first. keys: those of the segment."""
    events: list[ImpressionEvent | FeedbackEvent] = []
    for name in columns.keys() - _NAMES.keys():
        raise InputError(f"columns={{{name!r}: ...}}: the roles are {', '.join(_NAMES)}")
    for data, kind in ((impressions, "impressions"), (feedback, "feedback")):
        if data is None:
            continue
        rows = _ubi_rows(data)
        if rows is not None:
            events += _of_ubi(rows, keys, ACTIONS if actions is None else actions)
        elif kind == "impressions":
            events += _impressions(_table(data, kind), keys, columns)
        else:
            events += _feedback(_table(data, kind), columns)
    return sorted(events, key=lambda event: read_time(event.time)[0])


# -- tables --------------------------------------------------------------------------------------------------


def _table(data: Any, kind: str) -> dict[str, Sequence[Any]]:
    """The columns of a table or a file, as lists."""
    if isinstance(data, Mapping):
        columns: dict[str, Sequence[Any]] = {str(name): list(values) for name, values in data.items()}
    elif is_path(data) or is_table(data):
        table: Any = read_table(data)[0] if is_path(data) else data
        table = arrow_table(table)
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
    else:
        raise InputTypeError(f"{kind} is {type(data).__name__}; give a frame, a dict of columns, or a file")
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"the columns of {kind} have {' and '.join(map(str, sizes.values()))} rows")
    return columns


def _column(
    table: Mapping[str, Sequence[Any]], role: str, columns: Mapping[str, str], kind: str
) -> Sequence[Any] | None:
    """The column of a role; None if there is none."""
    if role in columns:
        if columns[role] not in table:
            raise InputError(f"{kind} has no column {columns[role]!r} for {role}; it has {', '.join(table)}")
        return table[columns[role]]
    return next((table[name] for name in _NAMES[role] if name in table), None)


def _needed(table: Mapping[str, Sequence[Any]], role: str, columns: Mapping[str, str], kind: str) -> Sequence[Any]:
    column = _column(table, role, columns, kind)
    if column is None:
        raise InputError(
            f"{kind} has no column for {role}; it has {', '.join(table)}: name it, columns={{{role!r}: ...}}"
        )
    return column


def _impressions(
    table: Mapping[str, Sequence[Any]], keys: Sequence[str], columns: Mapping[str, str]
) -> Iterator[ImpressionEvent]:
    """Lists of a table with a list per row, or with a row per item."""
    kind = "impressions"
    lists, times = (_needed(table, role, columns, kind) for role in ("list", "time"))
    for key in (key for key in keys if key not in table):
        raise InputError(f"impressions has no column {key!r}, which by= or clusters= names; it has {', '.join(table)}")
    items, scores = (_column(table, role, columns, kind) for role in ("items", "score"))
    if items is not None:
        for at, (list_id, row, time) in enumerate(zip(lists, items, times, strict=True)):
            pairs = row if scores is None else list(zip(row, scores[at], strict=True))
            yield ImpressionEvent(list_id, pairs, time, {key: table[key][at] for key in keys})
        return
    item, rank = _needed(table, "item", columns, kind), _column(table, "rank", columns, kind)
    rows: dict[Hashable, list[int]] = {}
    for at, list_id in enumerate(lists):
        rows.setdefault(list_id, []).append(at)
    for list_id, several in rows.items():
        first, served = several[0], several if rank is None else sorted(several, key=rank.__getitem__)
        returned = [item[at] if scores is None else (item[at], scores[at]) for at in served]
        yield ImpressionEvent(list_id, returned, times[first], {key: table[key][first] for key in keys})


def _feedback(table: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> Iterator[FeedbackEvent]:
    grades = _column(table, "grade", columns, "feedback")
    roles = (_needed(table, role, columns, "feedback") for role in ("list", "item", "time"))
    for at, (list_id, item, time) in enumerate(zip(*roles, strict=True)):
        yield FeedbackEvent(list_id, item, time, 1.0 if grades is None else grades[at])


# -- UBI -----------------------------------------------------------------------------------------------------


def _ubi_rows(data: Any) -> list[dict[str, Any]] | None:
    """The events of a UBI log, a JSON object per line; None if it is something else."""
    if not is_path(data) or b'"action_name"' not in head_of(os.fspath(data)):
        return None
    rows = []
    for number, _, line in open_text(os.fspath(data)).lines():
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FileError(os.fspath(data), f"is no JSON ({error})", number) from None
        rows.append(row.get("_source", row) if isinstance(row, dict) else {})
    return rows


def _of_ubi(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], actions: Mapping[str, float]
) -> Iterator[ImpressionEvent | FeedbackEvent]:
    """Impressions, an event per item, as lists by query id; and the feedback of some actions."""
    served: dict[Hashable, list[tuple[float, Hashable, Mapping[str, Any]]]] = {}
    feedback = []
    for row in rows:
        attributes = row.get("event_attributes") or {}
        item = (attributes.get("object") or {}).get("object_id")
        list_id, action = row.get("query_id"), str(row.get("action_name"))
        if list_id is None or item is None:
            continue
        if action in _SHOWN:
            ordinal = (attributes.get("position") or {}).get("ordinal", len(served.get(list_id, ())))
            served.setdefault(list_id, []).append((ordinal, item, row))
        elif action in actions:
            feedback.append(FeedbackEvent(list_id, item, _milliseconds(row["timestamp"]), actions[action]))
    for list_id, several in served.items():
        several.sort(key=lambda entry: entry[0])
        row = several[0][2]
        segment = {key: _field(row, key) for key in keys}
        time = min((_milliseconds(entry[2]["timestamp"]) for entry in several), key=lambda one: read_time(one)[0])
        yield ImpressionEvent(list_id, [item for _, item, _ in several], time, segment)
    yield from feedback


def _field(row: Mapping[str, Any], key: str) -> Any:
    """A field of an event, or of its attributes."""
    for part in (row, row.get("event_attributes") or {}, row.get("query_attributes") or {}):
        if key in part:
            return part[key]
    raise InputError(f"an event of query {row.get('query_id')!r} has no {key!r}, which by= or clusters= names")


def _milliseconds(time: Any) -> Time:
    """A time of UBI: milliseconds since 1970, or text."""
    return time / 1000 if isinstance(time, (int, float)) else time
