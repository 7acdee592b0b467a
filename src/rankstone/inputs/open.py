"""Finds the door that fits what a user gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankstone.inputs.dicts import Dicts
from rankstone.inputs.source import Source

if TYPE_CHECKING:
    from rankstone.typing import Array, Column, Numbers, Parent, Roles, Run, Truth


def open_source(
    truth: Truth | None,
    run: Run | None,
    *,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    columns: Roles | None = None,
    exclude: Truth | None = None,
    parent: Parent | None = None,
    overlap: float | None = None,
) -> Source:
    """Find the door that fits."""
    # The common case, first.
    plain = mask is lengths is groups is query is exclude is parent is None and overlap is None
    if type(truth) is dict and type(run) is dict and plain:
        return Dicts(truth, run)
    from rankstone.inputs.doors import find_door  # a quick start: a dict needs none of the others

    return find_door(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=query, columns=columns, exclude=exclude,
        parent=parent, overlap=overlap,
    )  # fmt: skip
