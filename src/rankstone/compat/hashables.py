"""Items of any hashable type, as the originals compare them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

_IDS = {str, int}


def as_ids(truth: Collection[Hashable], run: Collection[Hashable]) -> tuple[Any, Any]:
    """Both sides with a number per item, the same for equal items; unchanged where all items are texts or integers."""
    if isinstance(truth, str) or isinstance(run, str) or {*map(type, truth), *map(type, run)} <= _IDS:
        return truth, run
    numbers: dict[Any, int] = {}

    def of(items: Collection[Any]) -> Any:
        ids = [numbers.setdefault(item, len(numbers)) for item in items]
        return dict(zip(ids, items.values(), strict=True)) if isinstance(items, Mapping) else ids

    return of(truth), of(run)
