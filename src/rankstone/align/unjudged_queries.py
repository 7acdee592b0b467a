"""Queries of a run that nobody judged: their names, as long as there are not too many to remember."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.align.alignment import Alignment, Ints
from rankstone.data.arrow import plain_ids
from rankstone.data.source import Aligned

if TYPE_CHECKING:
    from rankstone.typing import Column

EXTRA_LIMIT = 1 << 16

Extra: TypeAlias = set[Any] | None  # {"u7", "u9"}; None: too many


def aligned_with(
    ranked: Alignment, dropped: int, queries: Callable[[], Sequence[Hashable]], extra: Extra, graded: bool
) -> Aligned:
    """A ranking, with what is known of such queries."""
    known = [] if extra is None else sorted(extra)
    count = EXTRA_LIMIT + 1 if extra is None else len(known)
    return Aligned(ranked, queries, lambda: known, count, dropped, extra is not None, graded=graded)


def more_extra(known: Extra, column: Column, rows: Ints) -> Extra:
    """Queries that nobody judged, with those of some rows; None: too many to remember."""
    if known is None or len(rows) == 0:
        return known
    return bounded(known | set(plain_ids(column, rows[: EXTRA_LIMIT + 1])))


def bounded(known: set[Hashable]) -> Extra:
    """The same queries, or None if they are too many."""
    return known if len(known) <= EXTRA_LIMIT else None
