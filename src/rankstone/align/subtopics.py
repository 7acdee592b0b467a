"""Lists by subtopic: a judged item has a row for each subtopic, and the ideal list covers many of them early."""

from __future__ import annotations

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Alignment, Bools, Floats, Ints, Relevance, lengths, segment_reduce, starts_of
from rankstone.align.elementwise import NUMPY, Discount
from rankstone.data.annotations import Subtopics, ranges
from rankstone.errors import InputError, QueryError

NO_SUBTOPICS = (
    "the truth names no subtopics; give a column 'subtopic', or {query: {item: {subtopic: grade}}}, or qrels whose "
    "second field is the subtopic"
)
_SEARCHED = 1 << 22  # numbers in a table of sets of items, of which the best list of a query is found


def by_subtopic(alignment: Alignment) -> SubtopicRows:
    """The placed items, with a row for each subtopic that one is judged for."""
    return alignment.remember("by_subtopic", lambda: SubtopicRows(alignment))


class SubtopicRows:
    """`at` is the placed item of each row, `row` its row of the truth (`rows`); `items` are offsets of judged items."""

    def __init__(self, alignment: Alignment) -> None:
        rows = None if alignment.annotations is None else alignment.annotations.subtopics
        if rows is None:
            if len(alignment.truth_grades):
                raise InputError(NO_SUBTOPICS)
            none = np.zeros(0, dtype=np.int64)
            rows = Subtopics(np.zeros(1, dtype=np.int64), none, np.zeros(0), none)
        self.rows, self.items = rows, alignment.truth_offsets
        self.row, ends = ranges(rows.offsets, alignment.truth_place)
        self.at: Ints = np.repeat(np.arange(len(alignment.place)), lengths(ends))
        self.offsets: Ints = ends[alignment.placed_offsets]
        self.grade: Floats = rows.grade[self.row]
        self.truth_offsets: Ints = rows.offsets[alignment.truth_offsets]
        # One number for each subtopic of each query, by row of the truth; `pair_offsets`: those of each query.
        counts = np.zeros(len(self.items) - 1, dtype=np.int64)
        some = lengths(self.truth_offsets) > 0
        if len(rows.grade):
            counts[some] = np.maximum.reduceat(rows.subtopic, self.truth_offsets[:-1][some]) + 1
        self.pair_offsets: Ints = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        self.pair: Ints = rows.subtopic + np.repeat(self.pair_offsets[:-1], lengths(self.truth_offsets))
        self._sums: dict[tuple[Relevance, float, Discount, int | None, bool], Floats] = {}

    def subtopics(self, rule: Relevance) -> Floats:
        """How many subtopics of each query have a relevant item."""
        covered = (self._relevant_of_pair(rule) > 0).astype(np.float64)
        return segment_reduce(covered, self.pair_offsets, starts_of(self.pair_offsets))

    def _relevant_of_pair(self, rule: Relevance) -> Ints:
        return np.bincount(self.pair[rule.reached(self.rows.grade)], minlength=int(self.pair_offsets[-1]))

    def relevant_of_subtopic(self, rule: Relevance) -> Floats:
        """How many relevant items the subtopic of each row has; 1 where it has none."""
        return np.maximum(self._relevant_of_pair(rule)[self.pair[self.row]], 1).astype(np.float64)

    def nth_of_subtopic(self, relevant: Bools) -> Floats:
        """Which relevant item of its subtopic each row is, from the top; 1 where it is not relevant."""
        out = np.ones(len(self.row))
        hits = np.flatnonzero(relevant)
        pair = self.pair[self.row[hits]]
        order = np.argsort(pair, kind="stable")  # within a subtopic by rank, as they are
        starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        out[hits[order]] = np.arange(len(order)) - np.repeat(starts, sizes) + 1.0
        return out

    # -- ideal lists -----------------------------------------------------------------------------------------

    def ideal_sum(self, rule: Relevance, alpha: float, discount: Discount, k: int | None, exact: bool) -> Floats:
        """The sum of each query's ideal list."""
        key = (rule, alpha, discount, k, exact)
        if key not in self._sums:
            if exact:
                out = np.zeros(len(self.items) - 1)
                for query in np.flatnonzero(self.subtopics(rule)).tolist():
                    out[query] = self._best(query, rule, alpha, discount, k)[0]
            else:
                out = self._greedy(rule, alpha, discount, k)[0]
            self._sums[key] = out
        return self._sums[key]

    def ideal_lists(self, query: int) -> list[Ints]:
        """A query's ideal lists that a metric has asked for: where their items stand in the truth, from 0."""
        return [self._ideal_list(query, *key) for key in self._sums]

    def _ideal_list(
        self, query: int, rule: Relevance, alpha: float, discount: Discount, k: int | None, exact: bool
    ) -> Ints:
        if exact:
            return self._best(query, rule, alpha, discount, k)[1]
        rank = self._greedy(rule, alpha, discount, k)[1][self.items[query] : self.items[query + 1]]
        places = np.flatnonzero(rank)
        return places[np.argsort(rank[places])]

    def _greedy(self, rule: Relevance, alpha: float, discount: Discount, k: int | None) -> tuple[Floats, Ints]:
        """The sum of each query's greedy list, and the place of each judged item in it, 0 if it has none."""
        longest = int(lengths(self.items).max(initial=0))
        weights = discount(NUMPY, np.arange(1.0, 1.0 + (longest if k is None else min(int(k), longest))))
        offsets, subtopic, grade, order = self.rows
        one = 1  # thread: how many the caller allows is not known here
        return _core.fill_greedily(self.items, offsets, subtopic, rule.reached(grade), order, alpha, weights, one)

    def _best(self, query: int, rule: Relevance, alpha: float, discount: Discount, k: int | None) -> tuple[float, Ints]:
        """The best ranking of a query; of equally good ones, the first in the order of the truth.

        What an item adds depends on which items stand above it, not on their order, and items of the same subtopics
        are alike: so lists are searched by how many items of each kind they hold.
        """
        rows, ends = ranges(self.rows.offsets, np.arange(self.items[query], self.items[query + 1]))
        relevant = rule.reached(self.rows.grade[rows])
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
        return _sum_of(covers[chosen], weights, alpha), items[chosen]


def _sum_of(covers: Floats, weights: Floats, alpha: float) -> float:
    """The sum of a list by the subtopics of its items, in the order in which that of a run is added up."""
    total, before = 0.0, np.zeros(covers.shape[1])
    for covered, weight in zip(covers, weights.tolist(), strict=True):
        for subtopic in np.flatnonzero(covered).tolist():
            total += (1.0 - alpha) ** before[subtopic] * weight
        before += covered
    return total
