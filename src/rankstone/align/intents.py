"""Lists by subtopic: a judged item has a row for each subtopic, and the ideal list covers many of them early."""

from __future__ import annotations

import numpy as np

from rankstone import _core
from rankstone.align.ranked import NUMPY, Bools, Floats, Ints, Ranked, lengths
from rankstone.align.ranking import NO_SUBTOPICS, Depth, Discount, Intents
from rankstone.errors import QueryError
from rankstone.inputs.notes import Subtopics, ranges

_SEARCHED = 1 << 22  # numbers in a table of sets of items, of which the best list of a query is found


def by_subtopic(ranked: Ranked) -> RankedIntents:
    """The same lists, with a row for each subtopic that an item is judged for."""
    return ranked.remember("by_subtopic", lambda: _spread_out(ranked))


def _spread_out(ranked: Ranked) -> RankedIntents:
    found = None if ranked.notes is None else ranked.notes.subtopics
    if found is None:
        if len(ranked.truth_grades):
            raise ValueError(NO_SUBTOPICS)
        none = np.zeros(0, dtype=np.int64)
        found = Subtopics(np.zeros(1, dtype=np.int64), none, np.zeros(0), none)
    rows, ends = ranges(found.offsets, ranked.truth_place)
    each = np.repeat(np.arange(len(ranked.place)), lengths(ends))
    view = RankedIntents.__new__(RankedIntents)
    view.__dict__.update(ranked.__dict__, _memo={})
    view.__dict__.update(ranked._placed_of(each, ends[ranked.placed_offsets]))
    view.__dict__.update(
        grade=found.grade[rows],
        truth_offsets=found.offsets[ranked.truth_offsets],
        truth_grades=found.grade,
        _ideal_grades=None,
        notes=None,
        items=ranked.truth_offsets,
        rows=found,
        row=rows,
    )
    return view


class RankedIntents(Ranked, Intents):
    """Flat arrays, as `Ranked`; `rows` are those of the truth, and `row` says which of them each placed one is."""

    items: Ints  # offsets of each query's judged items
    rows: Subtopics
    row: Ints

    @property
    def _pair(self) -> Ints:
        """One number for each subtopic of each query, by row of the truth."""

        def number() -> Ints:
            if not len(self.truth_grades):
                return np.zeros(0, dtype=np.int64)
            counts = np.zeros(len(self), dtype=np.int64)
            some = lengths(self.truth_offsets) > 0
            counts[some] = np.maximum.reduceat(self.rows.subtopic, self.truth_offsets[:-1][some]) + 1
            first = np.cumsum(counts) - counts
            return self.rows.subtopic + np.repeat(first, lengths(self.truth_offsets))

        return self.remember("pair", number)

    @property
    def _relevant_rows(self) -> Bools:
        return self.remember("relevant_rows", lambda: self.relevance(self.truth_grades) > 0)

    @property
    def _relevant_of_pair(self) -> Ints:
        """How many relevant items each subtopic of each query has."""
        return self.remember("of_pair", lambda: np.bincount(self._pair[self._relevant_rows]))

    @property
    def subtopics(self) -> Floats:
        def count() -> Floats:
            some = np.zeros(len(self._relevant_of_pair) + 1)
            new = np.zeros(len(self._pair))
            relevant = np.flatnonzero(self._relevant_rows)
            pair = self._pair[relevant][::-1]
            first = np.full(len(some), -1)
            first[pair] = relevant[::-1]  # the last that is written is the first of all
            new[first[first >= 0]] = 1.0
            return self._sum_truth(new)

        return self.remember("subtopics", count)

    @property
    def of_subtopic(self) -> Floats:
        counts = np.append(self._relevant_of_pair, 0)  # a subtopic may have no relevant item
        pair = np.minimum(self._pair[self.row], len(counts) - 1)
        return np.maximum(counts[pair], 1).astype(np.float64)

    @property
    def nth(self) -> Ints:
        def count() -> Ints:
            self.need_order()
            out = np.ones(len(self.row), dtype=np.int64)
            hits = np.flatnonzero(self.credit > 0)
            pair = self._pair[self.row[hits]]
            order = np.argsort(pair, kind="stable")  # within a subtopic by rank, as they are
            starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
            sizes = np.diff(starts, append=len(order))
            out[hits[order]] = np.arange(len(order)) - np.repeat(starts, sizes) + 1
            return out

        return self.remember("nth", count)

    # -- ideal lists -----------------------------------------------------------------------------------------

    def ideal_sum(self, alpha: float, discount: Discount, k: Depth, exact: bool) -> Floats:
        def earned() -> Floats:
            if not exact:
                return self._greedy(alpha, discount, k)[0]
            out = np.zeros(len(self))
            for query in np.flatnonzero(self.subtopics).tolist():
                out[query] = self._best(query, alpha, discount, k)[0]
            return out

        return self.remember(("ideal_sum", alpha, discount, k, exact), earned)

    def ideal_lists(self, query: int) -> list[Ints]:
        """A query's ideal lists that a metric has asked for: where their items stand in the truth, from 0."""
        return [self._ideal_list(query, *key[1:]) for key in list(self._memo) if key[0] == "ideal_sum"]

    def _ideal_list(self, query: int, alpha: float, discount: Discount, k: Depth, exact: bool) -> Ints:
        if exact:
            return self._best(query, alpha, discount, k)[1]
        rank = self._greedy(alpha, discount, k)[1][self.items[query] : self.items[query + 1]]
        found = np.flatnonzero(rank)
        return found[np.argsort(rank[found])]

    def _greedy(self, alpha: float, discount: Discount, k: Depth) -> tuple[Floats, Ints]:
        """What each query's greedy list earns, and the place of each judged item in it, 0 if it has none."""

        def fill() -> tuple[Floats, Ints]:
            longest = int(lengths(self.items).max(initial=0))
            weights = discount(NUMPY, np.arange(1.0, 1.0 + (longest if k is None else min(int(k), longest))))
            offsets, subtopic, _, order = self.rows
            one = 1  # thread: how many the caller allows is not known here
            return _core.fill_greedily(self.items, offsets, subtopic, self._relevant_rows, order, alpha, weights, one)

        return self.remember(("greedy", alpha, discount, k), fill)

    def _best(self, query: int, alpha: float, discount: Discount, k: Depth) -> tuple[float, Ints]:
        """The best of all lists of a query, the first in the order of the truth of those that earn the same.

        What an item adds depends on which items stand above it, not on their order, and items of the same subtopics
        are alike: so lists are searched by how many items of each kind they hold.
        """
        rows, ends = ranges(self.rows.offsets, np.arange(self.items[query], self.items[query + 1]))
        relevant = self._relevant_rows[rows]
        number = self.rows.subtopic[rows][relevant]
        items, place = np.unique(np.repeat(np.arange(len(ends) - 1), lengths(ends))[relevant], return_inverse=True)
        covers = np.zeros((len(items), 1 + int(number.max(initial=0))))
        covers[place.reshape(-1), number] = 1.0
        kinds, kind = np.unique(covers, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        have = np.bincount(kind)
        steps = len(items) if k is None else min(int(k), len(items))
        weights = discount(NUMPY, np.arange(1.0, steps + 1.0))
        states = np.zeros((1, len(kinds)), dtype=np.int64)
        layers: list[tuple[Floats, Ints]] = []  # by state and kind of item: what it adds, and the state it leads to
        for weight in weights:
            adds = weight * ((1.0 - alpha) ** (states @ kinds) @ kinds.T)
            adds[states >= have] = -np.inf
            more = (states[:, None, :] + np.eye(len(kinds), dtype=np.int64))[states < have]
            if len(more) * len(kinds) > _SEARCHED:
                raise QueryError(
                    f"there are too many lists of {len(items)} items to find the best; choose ideal='greedy'", query
                )
            following, at = np.unique(more, axis=0, return_inverse=True)
            leads = np.zeros(states.shape, dtype=np.int64)
            leads[states < have] = at.reshape(-1)
            layers.append((adds, leads))
            states = following
        best = np.zeros(len(states))
        totals = []
        for adds, leads in reversed(layers):
            total = adds + np.where(np.isfinite(adds), best[leads], 0.0)
            totals.append(total)
            best = total.max(axis=1)
        chosen: list[int] = []
        state, free = 0, np.ones(len(items), dtype=bool)
        for (_, leads), total in zip(layers, reversed(totals), strict=True):
            good = total[state] >= total[state].max() * (1 - 1e-12)
            chosen.append(int(np.argmax(free & good[kind])))
            free[chosen[-1]] = False
            state = int(leads[state, kind[chosen[-1]]])
        return float(best[0]), items[chosen]
