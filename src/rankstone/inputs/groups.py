"""Groups of queries, from a column of the truth."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from rankstone.inputs.arrow import is_table, plain_ids
from rankstone.inputs.columns import Columns
from rankstone.inputs.doors import opened
from rankstone.inputs.files import is_path
from rankstone.inputs.lists import Lists
from rankstone.inputs.roles import Given, roles_of
from rankstone.inputs.tables import as_columns, queried


def groups_of(truth: Any, column: str, columns: Given | None = None) -> dict[Any, Hashable]:
    """Each query's value in a column of the truth, which is a table or a file."""
    truth = queried(truth)
    if not is_path(truth) and not is_table(truth):
        raise ValueError(f"the truth is no table with a column {column!r}; give each query's group in a dict")
    roles = {**roles_of(columns, "truth"), "item": column, "grade": None}
    read: Any = opened(truth, "truth", {"truth": roles})
    return grouped(read, truth if is_path(truth) else "the truth")


def grouped(read: Columns | Lists, name: object) -> dict[Any, Hashable]:
    """Each query's group, where a group stands for an item; a query is in one group only."""
    rows = as_columns(read, "truth")
    out: dict[Any, Hashable] = {}
    for query, group in zip(plain_ids(rows.query), plain_ids(rows.item), strict=True):
        if out.setdefault(query, group) != group:
            raise ValueError(f"{name}: query {query!r} is in two groups, {out[query]!r} and {group!r}")
    return out
