"""Nested dicts: `{query: {item: grade}}` and `{query: {item: score}}`, or lists of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone import _core
from rankstone.errors import DataTypeError
from rankstone.inputs.source import Align, Aligned, ranked_from

if TYPE_CHECKING:
    from rankstone.typing import Id, Items

_WALKED = (dict, list, tuple, set, frozenset)  # what the core walks by itself


class Dicts:
    """A truth and a run as nested dicts."""

    def __init__(self, truth: Mapping[Id, Items], run: Mapping[Id, Items]) -> None:
        self.truth = _plain(truth, "truth")
        self.run = _plain(run, "run")

    repeatable = True

    def align(self, how: Align) -> Aligned:
        found = _core.align_dicts(self.truth, self.run, how)
        if len(found.rank) == 0:
            _refuse_mixed(self.truth, self.run)
        queries, extra = found.queries, found.extra
        if how.extra_queries:
            queries = [*queries, *extra]
        ordered = bool(self.truth) and all(isinstance(items, (list, tuple)) for items in self.truth.values())
        ranked = ranked_from(found, ordered_truth=ordered)
        graded = not self.truth or any(isinstance(items, dict) for items in self.truth.values())
        return Aligned(ranked, lambda: queries, lambda: extra, len(extra), found.dropped, graded=graded)


def _refuse_mixed(truth: dict[Any, Any], run: dict[Any, Any]) -> None:
    """Where nothing matches at all, 1 was perhaps meant to be "1"."""
    sides = [(truth, run, "queries")]
    shared = [query for query in truth if query in run]
    sides += [(truth[query], run[query], "items") for query in shared[:100]]
    for judged, returned, what in sides:
        kinds = [{_id_kind(name) for name in side} for side in (judged, returned)]
        if kinds in ([{"integers"}, {"strings"}], [{"strings"}, {"integers"}]):
            raise TypeError(f"truth {what} are {kinds[0].pop()} but run {what} are {kinds[1].pop()}")


def _id_kind(name: object) -> str:
    return "integers" if isinstance(name, (int, np.integer)) else "strings" if isinstance(name, str) else "others"


def _plain(side: Mapping[Id, Items], what: str) -> dict[Id, Any]:
    """The same as dicts, lists, tuples and sets; not copied if it is that already."""
    if type(side) is dict and all(isinstance(items, _WALKED) for items in side.values()):
        return side
    return {query: _plain_list(items, query, what) for query, items in side.items()}


def _plain_list(items: Items, query: Id, what: str) -> Any:
    if isinstance(items, _WALKED):
        return items
    if isinstance(items, Mapping):
        return dict(items)
    if isinstance(items, np.ndarray) and items.ndim == 1:
        return items.tolist()
    if isinstance(items, (str, bytes)) or not isinstance(items, (Sequence, Set)):
        shape = (
            "{item: grade} or a list of items" if what == "truth" else "{item: score} or a list of items, best first"
        )
        text = f"query {query!r}: the {what} is {items!r}; give {shape}"
        raise DataTypeError(text, "shape", what, query)
    return list(items)
