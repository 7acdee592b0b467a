"""Symbolic lists in the C program's arithmetic, and the gains of their documents: grades, or those of
`-m ndcg.1=3,2=9`."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import cast

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints, Relevance
from rankstone.align.elementwise import Depth, Discount, Functions, Values
from rankstone.metrics.gains import DISCOUNTS
from rankstone.program.core import Table
from rankstone.program.graph import Expression, Graph, View
from rankstone.program.ranking import Ranking, StaticFacts
from rankstone.trec_eval.ranked_lists import Setup, whole

Pairs = tuple[tuple[str, float], ...]  # from the command line
Gains = tuple[tuple[int, float], ...]  # grades and their gains
Levels = list[tuple[int, float, int]]  # each grade, its gain, and how many documents have it


class SymbolicLists(Ranking):
    """One ranked list per query, or per judgment group of a query."""

    def __init__(self, graph: Graph, setup: Setup) -> None:
        super().__init__(graph, StaticFacts(Relevance(float(setup.level))))
        self.setup = setup

    def valued(self, pairs: Pairs, *, scaled: bool = False) -> SymbolicLists:
        """The same lists with gains for grades."""
        gains = gains_in(pairs, self.setup.version)

        def make(alignment: Alignment) -> Alignment:
            return valued(alignment, gains, scaled)

        view = View((gains, scaled), make)
        return cast("SymbolicLists", self._with(_view=view, space=self.graph.space("placed", view=view)))

    def best(self) -> SymbolicLists:
        """The ideal list."""
        return cast("SymbolicLists", self.ideal())

    def at(self, other: Ranking, values: Values, nth: Values) -> Expression:
        """The value of another list's nth item at each of this one's; of its last where it is not as long, or 0."""
        return self._from(other, "at", values, nth)

    def upto(self, other: Ranking) -> Expression:
        """How many of another list's items stand at each item's rank or above it."""
        return self._from(other, "upto", other.rank, self.rank)

    def _from(self, other: Ranking, op: str, values: Values, by: Values) -> Expression:
        return self.graph.node(op, values, by, params=(other.space,), kind="item", space=self.space)

    def discounts_elsewhere(self, discount: Discount, ranks: Values) -> Expression:
        """The discounts of the places of the list that are none of these ranks, added up from the top."""
        table = Table(discount, False, self.space, math.inf)
        return self.graph.node("elsewhere", ranks, self.retrieved, params=(table,), kind="query", space=self.space)

    def last_discount(self, discount: Discount) -> Expression:
        """The discount of the list's last place."""
        return self._discount(discount, self.retrieved)

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Expression:
        if discount is not DISCOUNTS["log2(rank+1)"]:
            return super().discounted(gains, discount, k)
        return self.sum(self.weighed(gains), k)

    def weighed(self, gains: Values) -> Expression:
        """Each gain over the logarithm of its rank + 1."""
        return gains / self._discount(logarithm, self._rank)

    def ratio(self, numerator: Values, denominator: Values) -> Expression:
        """A quotient; 0 where it is not defined."""
        return self.where(denominator != 0, numerator / denominator, 0.0)


def logarithm(_: Functions, rank: Floats) -> Floats:
    """The C library's; NumPy's own may differ in the last digit."""
    return np.array([math.log2(number + 1.0) for number in rank.tolist()])


# -- gains --------------------------------------------------------------------------------------------------


def gains_in(pairs: Pairs, version: int) -> Gains:
    """The grades among the parameters; version 10 leaves out what is not a number, such as rbp's p."""
    if version >= 10:
        pairs = tuple(pair for pair in pairs if re.fullmatch(r"[+-]?\d+", pair[0]))
    return tuple((whole(name), gain) for name, gain in pairs)


def valued(ranked: Alignment, gains: Gains, scaled: bool) -> Alignment:
    """The same lists with gains for grades; those of the judged documents are the best list's, down to the last above
    0. Scaled: such that all gains of a query lie between 0 and 1."""
    make = _by_table if gains else _by_grade
    return ranked.remember(("valued", gains, scaled), lambda: make(ranked, gains, scaled))


def _by_grade(ranked: Alignment, _: Gains, scaled: bool) -> Alignment:
    """The gain of a document is its grade."""
    if scaled:
        plain, highest = valued(ranked, (), False), ranked.ideal_grades[ranked.truth_offsets[:-1]]  # each has a first
        return plain.replace(grade=plain.grade / np.maximum(highest, 1.0)[ranked.query])
    positive = ranked.ideal_grades > 0
    offsets = np.append(0, np.cumsum(positive))[ranked.truth_offsets]
    return _replaced(ranked, np.maximum(ranked.grade, 0.0), ranked.ideal_grades[positive], offsets)


def _by_table(ranked: Alignment, gains: Gains, scaled: bool) -> Alignment:
    """Gains by grade; grade -1 is an unjudged document."""
    if any(level < 0 for level, _ in gains):
        ranked = _every_place(ranked)
    gain, best, counts = np.zeros(len(ranked.grade)), [], [0]
    truth = ranked.truth_offsets.tolist()
    for query, (start, stop) in enumerate(pairwise(ranked.placed_offsets.tolist())):
        levels = _sorted_levels(gains, ranked.ideal_grades[truth[query] : truth[query + 1]])
        ideal = _best(levels)
        gain_of = {level: gain for level, gain, _ in reversed(_scaled(levels) if scaled else levels)}
        gain[start:stop] = [gain_of.get(level, 0.0) for level in ranked.grade[start:stop].tolist()]
        best += ideal
        counts.append(len(ideal))
    return _replaced(ranked, gain, np.array(best, dtype=np.float64), np.cumsum(counts))


def _replaced(ranked: Alignment, gain: Floats, best: Floats, offsets: Ints) -> Alignment:
    return ranked.replace(grade=gain, truth_offsets=offsets, truth_grades=best, _ideal_grades=best)


def _every_place(ranked: Alignment) -> Alignment:
    """The same lists with all retrieved documents: -1 for an unjudged one."""

    def fill() -> Alignment:
        offsets = np.append(0, np.cumsum(ranked.retrieved))
        rank = np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], ranked.retrieved)
        grade = np.full(len(rank), -1.0)
        grade[offsets[:-1][ranked.query] + ranked.rank - 1] = ranked.grade
        return ranked.replace(placed_offsets=offsets, rank=rank, grade=grade, place=rank)

    return ranked.remember("every place", fill)


def _sorted_levels(gains: Gains, grades: Floats) -> Levels:
    counts = np.bincount(grades[grades >= 0].astype(np.int64)).tolist()
    levels = []
    for at, (level, gain) in enumerate(gains):
        again = any(level == before for before, _ in gains[:at])
        levels.append((level, gain, counts[level] if 0 <= level < len(counts) and not again else 0))
    listed = {level for level, _ in gains}
    levels += [(level, float(level), count) for level, count in enumerate(counts) if level not in listed]
    return _merge_sorted(levels)


def _merge_sorted(levels: Levels) -> Levels:
    """By gain. For trec_eval, gains that differ by less than 1 are equal: the sort decides their order."""
    if len(levels) < 2:
        return levels
    middle = len(levels) // 2
    left, right = _merge_sorted(levels[:middle]), _merge_sorted(levels[middle:])
    merged = []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right


def _best(levels: Levels) -> list[float]:
    """Gains of the best list, down to the first that is not above 0."""
    best: list[float] = []
    if not levels or levels[-1][1] <= 0:
        return best
    for _, gain, count in reversed(levels):
        if count and gain <= 0:
            break
        best += [gain] * count
    return best


def _scaled(levels: Levels) -> Levels:
    low, high = (function(0.0, *(gain for _, gain, _ in levels)) for function in (min, max))
    if low >= 0 and high <= 1:
        return levels
    return [(level, (gain - low) / (high - low), count) for level, gain, count in levels]
