"""Orders of equal scores: who goes first, what the others follow from, and sets of tied items taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankstone.align.ranked import Bools, Floats, Ints, Ranked

COUNTED = ("item_desc", "item_asc", "input", "reverse_input")  # the core counts with these
BY_ITEM = ("item_desc", "item_asc", "reverse_input")  # those that need to know more than each query's own order
BY_INPUT = ("input", "reverse_input")  # those that need an order of rows
BY_GRADE = ("optimistic", "pessimistic")
SHARED = ("group_end", "group_mean")  # all tied items have one rank
AVERAGED = ("expected", *SHARED)  # those that only some metrics can be computed for
TIES = (*COUNTED, *BY_GRADE, *AVERAGED)


def by_grade(ranked: Ranked, ties: str) -> tuple[Ints, Ints]:
    """Where the placed items go, and their ranks, if tied ones stand by grade, the unjudged before the irrelevant."""
    good = (ranked.grade > 0) | (ranked.relevance(ranked.grade) > 0)  # a threshold of 0 makes grade 0 relevant
    if ties == "optimistic":
        return _arranged(ranked, -ranked.grade, good)
    return _arranged(ranked, ranked.grade, ~good)


def by_worth(ranked: Ranked, worth: Floats, best: bool) -> tuple[Ints, Ints]:
    """The same if tied ones stand by what they are worth, the best or the worst first; an unjudged one is worth 0."""
    key = -worth if best else worth
    return _arranged(ranked, key, key < 0)


def _arranged(ranked: Ranked, key: Floats, front: Bools) -> tuple[Ints, Ints]:
    """Tied items by key, the lowest first; those of `front` before the unjudged ones, the others after them."""
    above, tied = ranked.above, ranked.tied
    assert above is not None
    assert tied is not None
    order = np.lexsort((key, above, ranked.query))
    starts = ranked.group_starts  # the sort moves items within their group only
    sizes = np.diff(np.append(starts, len(order)))
    nth = np.arange(1, len(order) + 1) - np.repeat(starts, sizes)
    from_end = tied[order] - np.repeat(sizes, sizes) + nth
    return order, above[order] + np.where(front[order], nth, from_end)


def shared_rank(above: Ints, tied: Ints, ties: str) -> Ints:
    """The one rank of tied items: the last of their places, or the whole part of the mean."""
    return above + (tied if ties == "group_end" else (tied + 1) // 2)


def reversed_rank(rank: Ints, above: Ints, tied: Ints) -> Ints:
    """The ranks with items of equal scores the other way round."""
    return 2 * above + tied + 1 - rank


class TieGroups:
    """Sets of tied items: `size` of them share the places after `before`, and `relevant` of them are relevant.

    `relevant` is the sum of what they count, `found` their number; the two differ where an item can count in part.
    """

    def __init__(self, ranked: Ranked) -> None:
        above, tied = ranked.items_above, ranked.items_level
        starts = ranked.group_starts
        relevant = np.add.reduceat(ranked.credit, starts) if len(starts) else np.zeros(0)
        found = np.add.reduceat((ranked.credit > 0).astype(np.float64), starts) if len(starts) else np.zeros(0)
        keep = relevant > 0
        self.query: Ints = ranked.query[starts][keep]
        self.before: Ints = above[starts][keep]
        self.size: Ints = tied[starts][keep]
        self.relevant: Floats = relevant[keep]
        self.found: Floats = found[keep]
        running = np.cumsum(self.relevant) - self.relevant
        opens = np.ones(len(self.query), dtype=bool)
        opens[1:] = self.query[1:] != self.query[:-1]
        self.opens: Bools = opens  # is it the query's first group with a relevant item
        base = running[opens]
        self.relevant_before: Floats = running - np.repeat(base, np.diff(np.append(np.flatnonzero(opens), len(opens))))
