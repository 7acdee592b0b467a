"""Queries by their ids: their groups, and ids that are numbers in one place and text in another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rankstone.typing import Id


def groups_in_order(
    groups: Mapping[Id, Hashable] | Sequence[Hashable], queries: Sequence[Any], what: str
) -> list[Hashable]:
    """Each query's group; `groups` is a dict by query, or has one for each of them in order."""
    if isinstance(groups, Mapping):
        if _text(queries) and _whole(groups):  # a run's ids have made a file's numbers text
            groups = {str(query): group for query, group in groups.items()}
        lost = [query for query in queries if query not in groups]
        if lost:
            raise ValueError(f"{what} has no entry for query {lost[0]!r}")
        return [groups[query] for query in queries]
    labels = list(groups)
    if len(labels) != len(queries):
        raise ValueError(f"there are {len(queries)} queries but {len(labels)} {what}")
    return labels


def ids_alike(several: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Ids of the same queries: as text if some of them are, as ids of files are once the other side's are."""
    if any(map(_text, several)):
        return [list(map(str, ids)) if _whole(ids) else list(ids) for ids in several]
    return list(map(list, several))


def _text(ids: Iterable[Any]) -> bool:
    return all(isinstance(one, str) for one in ids)


def _whole(ids: Iterable[Any]) -> bool:
    return all(isinstance(one, (int, np.integer)) for one in ids)
