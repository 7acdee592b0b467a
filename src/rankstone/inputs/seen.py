"""Items that a user knows already: they leave the lists of a run before ranks are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankstone.inputs.arrow import Column, is_whole, plain, plain_ids, take
from rankstone.inputs.columns import Columns
from rankstone.inputs.dicts import refuse_mixed
from rankstone.inputs.lists import Lists, rows_of
from rankstone.inputs.source import left_out


def without(run: Mapping[Any, Any] | Columns | Lists, seen: Columns) -> tuple[Any, str]:
    """The run without what was seen, and what to say of it."""
    if isinstance(run, Mapping):
        return _of_dict(run, seen)
    query, item = rows_of(run) if isinstance(run, Lists) else (run.query, run.item)
    keep = ~_is_in(query, item, seen)
    note = left_out(len(keep) - int(keep.sum()))
    if isinstance(run, Columns):
        rows = np.flatnonzero(keep)
        kept = {name: take(getattr(run, name), rows) for name in ("query", "item", "grade", "score")}
        return replace(run, **kept), note
    start = int(run.offsets[0])
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    rows = np.flatnonzero(keep) + start
    offsets = kept_before[run.offsets - start]
    return replace(run, offsets=offsets, items=take(run.items, rows), values=take(run.values, rows)), note


def _of_dict(run: Mapping[Any, Any], seen: Columns) -> tuple[dict[Any, Any], str]:
    known: dict[Any, set[Any]] = {}
    for query, item in zip(plain_ids(seen.query), plain_ids(seen.item), strict=True):
        known.setdefault(query, set()).add(item)
    out, count = {}, 0
    for query, items in run.items():
        old = known.get(query, set())
        if isinstance(items, Mapping):
            kept: Any = {item: score for item, score in items.items() if item not in old}
        else:
            kept = [item for item in items if item not in old]
        count += len(items) - len(kept)
        out[query] = kept
    if count == 0:
        refuse_mixed(known, out, "exclude")
    return out, left_out(count)


def _is_in(query: Column, item: Column, seen: Columns) -> NDArray[np.bool_]:
    """Which rows are among those seen."""
    rows, known = np.zeros(len(query), dtype=np.int64), np.zeros(len(seen.query), dtype=np.int64)
    there = np.ones(len(query), dtype=bool)
    for what, ours, theirs in (("queries", query, seen.query), ("items", item, seen.item)):
        if is_whole(ours) != is_whole(theirs):
            kinds = ["integers" if is_whole(side) else "strings" for side in (theirs, ours)]
            raise TypeError(f"exclude {what} are {kinds[0]} but run {what} are {kinds[1]}")
        words = plain(theirs).unique()
        rows, known = rows * len(words), known * len(words)
        at = _places(ours, words)
        there &= at >= 0
        rows += np.maximum(at, 0)
        known += _places(theirs, words)
    return there & np.isin(rows, known)


def _places(column: Column, words: Any) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    found = pc.index_in(plain(column).cast(words.type), value_set=words)
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
