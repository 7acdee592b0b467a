"""Logs of what users saw and clicked: tables of any form, and events of User Behavior Insights (UBI)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.data.arrow import arrow_table, is_list, is_table
from rankstone.data.files import is_path, read_table
from rankstone.data.formats import entries_of_tool
from rankstone.errors import DataError, InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone.typing import Arrow, Path

    UserLog: TypeAlias = Arrow | Path | Mapping[Any, object] | Iterable[Mapping[str, object]]


class UserEvent(NamedTuple):
    """An event of UBI; its item is None if it is about a page."""

    number: int
    action: str
    query: Any
    item: Any
    object: Mapping[str, Any]
    attributes: Mapping[str, Any]
    fields: Mapping[str, Any]


def ubi_events(log: object) -> Iterator[UserEvent] | None:
    """The events of a file, or of a sequence of objects; None if the log is something else."""
    if is_path(log):
        events: Iterable[Any] | None = entries_of_tool(os.fspath(log), "ubi")
    else:
        events = log if isinstance(log, Sequence) and not isinstance(log, str) else None
    return None if events is None else (_event(number, event) for number, event in enumerate(events))


def _event(number: int, event: Any) -> UserEvent:
    if not isinstance(event, Mapping) or "action_name" not in event:
        raise DataError(f"event {number} has no action_name", "shape", "log", row=number)
    attributes = event.get("event_attributes") or {}
    described = attributes.get("object") or {}
    action, query = str(event["action_name"]), event.get("query_id")
    return UserEvent(number, action, query, described.get("object_id"), described, attributes, event)


def log_table(log: UserLog, what: str, otherwise: str) -> Mapping[str, Any]:
    """The columns of a table, a file or a dict of columns; otherwise: in words, what else the log could be."""
    table: Any = read_table(log)[0] if is_path(log) else log
    if isinstance(table, Mapping):
        return table
    if not is_table(table):
        raise InputTypeError(f"{what} is a table, a dict of columns or a file{otherwise}, not a {type(log).__name__}")
    table = arrow_table(table)
    return dict(zip(table.column_names, table.columns, strict=True))


def is_listed(column: Iterable[object]) -> bool:
    """Does a column have a list, or items with scores, in each row."""
    kind = getattr(column, "type", None)
    if kind is not None:
        return is_list(kind)
    return isinstance(next(iter(column), None), (list, tuple, np.ndarray, Mapping))


def log_columns(table: Mapping[str, Iterable[object]], names: Mapping[str, str], what: str) -> dict[str, list[Any]]:
    """Some columns as lists of plain values; names: by role."""
    out = {
        role: column.to_pylist() if hasattr(column := table[name], "to_pylist") else list(column)
        for role, name in names.items()
    }
    if len(sizes := {len(values) for values in out.values()}) > 1:
        raise InputError(f"the columns of {what} have {' and '.join(map(str, sorted(sizes)))} rows")
    return out
