"""Nested dicts: `{query: {item: grade}}` and `{query: {item: score}}`, or lists of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.inputs import Aligned, ranked_from

_WALKED = (dict, list, tuple, set, frozenset)  # what the core walks by itself


def is_mapping(one: Any) -> bool:
    return isinstance(one, Mapping)


class Dicts:
    """A truth and a run as nested dicts."""

    def __init__(self, truth: Mapping[Any, Any], run: Mapping[Any, Any]) -> None:
        self.truth = _plain(truth, "truth")
        self.run = _plain(run, "run")

    def align(self, **options: Any) -> Aligned:
        core = _core.align_dicts(self.truth, self.run, **options)
        queries, extra = core[0], core[1]
        if options.get("extra_queries"):
            queries = [*queries, *extra]
        ordered = bool(self.truth) and isinstance(next(iter(self.truth.values())), (list, tuple))
        return Aligned(ranked_from(core, ordered_truth=ordered), lambda: queries, lambda: extra, len(extra), core[14])


def _plain(side: Mapping[Any, Any], what: str) -> dict[Any, Any]:
    """The same as dicts, lists, tuples and sets; not copied if it is that already."""
    if type(side) is dict and all(isinstance(one, _WALKED) for one in side.values()):
        return side
    return {query: _plain_list(one, query, what) for query, one in side.items()}


def _plain_list(one: Any, query: Any, what: str) -> Any:
    if isinstance(one, _WALKED):
        return one
    if isinstance(one, Mapping):
        return dict(one)
    if isinstance(one, np.ndarray) and one.ndim == 1:
        return one.tolist()
    if isinstance(one, (str, bytes)) or not isinstance(one, (Sequence, Set)):
        shape = (
            "{item: grade} or a list of items" if what == "truth" else "{item: score} or a list of items, best first"
        )
        raise TypeError(f"query {query!r}: the {what} is {one!r}; give {shape}")
    return list(one)
