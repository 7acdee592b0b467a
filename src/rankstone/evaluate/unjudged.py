"""What a mean could be if the returned items that nobody judged were judged: its lowest and highest value.

An unjudged item may have any whole grade from 0 up to the highest of the truth (at least 1), and is then a judged item
like any other: relevant ones are among the relevant, and in the ideal list. A metric declares how it grows (`Growth`);
by that few assignments of grades are enough to find both ends, and the metric itself measures them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, lengths
from rankstone.align.ties import COUNTED
from rankstone.conventions.plan import Plan
from rankstone.errors import Advice, Hint
from rankstone.evaluate.means import mean_from, sums_of
from rankstone.evaluate.values import Measured, measure
from rankstone.metrics.registry import Growth
from rankstone.program.flat import ranking_of

_AT_ONCE = 1 << 21  # items of all assignments that are measured together
_MOST_LEVELS = 16  # grades that are looked at one by one


class Bounds(NamedTuple):
    """The lowest and the highest mean, NaN where they are not known, and the queries whose values can differ."""

    lowest: float
    highest: float
    residual: float
    moved: Bools


def refuse_bounds(plan: Plan) -> None:
    """Stop where there are no bounds to ask for."""
    choices = plan.choices
    if plan.metric.declaration.reads == "shown":
        about = f"{plan.label} reads what was shown, judged or not; "
        raise ValueError(Advice(about, Hint("unjudged", "bounds"), " is for relevance"))
    if choices["known"] == "judged":
        raise ValueError(
            f"{plan.label}: known='judged' leaves the unjudged items out, so that there is nothing to bound; choose one"
        )
    if choices["duplicates"] in ("count", "once"):
        raise ValueError(
            f"{plan.label}: unjudged='bounds' gives each row a grade, and with duplicates={choices['duplicates']!r} an "
            "item can have several rows; choose duplicates='first', 'best' or 'error'"
        )


def bounds_of(plan: Plan, aligned: Alignment, weights: Floats | None) -> Bounds:
    """The lowest and the highest mean over all grades that the unjudged items could have."""
    found = measure(plan, aligned)
    unjudged = aligned.retrieved > lengths(aligned.placed_offsets)
    unknown = Bounds(math.nan, math.nan, math.nan, unjudged)
    growth = _growth(plan, aligned)
    if growth is None:
        return unknown
    filled = _Filled(aligned)
    ends = _ends(plan, filled, growth, found)
    if ends is None:
        return unknown
    low, high = ends
    moved = ~np.isclose(low.values, high.values, rtol=1e-12, atol=1e-15, equal_nan=True)
    if not _adds_up(plan, growth, low, high):
        return unknown._replace(moved=moved)
    own = _mean(plan, found, weights)
    lowest, highest = _mean(plan, low, weights), _mean(plan, high, weights)
    return Bounds(lowest, highest, _residual(plan, aligned, growth, weights) - own, moved)


def _mean(plan: Plan, found: Measured, weights: Floats | None) -> float:
    return float(mean_from(plan, sums_of(plan, found, weights).rounded(), found.ratio.finish))


def _growth(plan: Plan, aligned: Alignment) -> Growth | None:
    """How the metric grows with the grades of unjudged items, under the choices that were made; None: nobody knows."""
    choices = plan.choices
    if choices["nonpositive_score"] == "miss" or choices["truth_depth"] == "k" or choices["credit"] == "weight":
        return None  # by scores, an order of the truth, or weights, that unjudged items do not have here
    if choices["ties"] not in COUNTED:
        return None  # unjudged items may be tied with each other, which nothing here tells
    growth = plan.metric.declaration.grows(plan.arguments)
    top = _top(aligned)
    if growth == "binary":
        return "share" if top == 1 else None
    plain = _is_plain(plan)
    if growth in ("hits", "gains") and not plain:  # then nothing to earn may be worth more than something
        growth = "share" if growth == "hits" or top == 1 else None
    if growth == "share of gains" and (top == 1 or not plain):
        return "share" if top == 1 else None
    return growth


def _top(aligned: Alignment) -> float:
    return max(ranking_of(aligned).highest_grade, 1.0)


def _adds_up(plan: Plan, growth: Growth, low: Measured, high: Measured) -> bool:
    """Is the mean lowest where each query's value is, and highest too."""
    averaging = plan.averaging
    if averaging.rises:
        return True
    same = growth in ("hits", "gains") and np.array_equal(low.ratio.denominator, high.ratio.denominator)
    return averaging.divides and not averaging.pooled and same


# -- assignments of grades -----------------------------------------------------------------------------------


class _Filled:
    """Lists in which every item has a grade: 0 those that nobody judged, which are the last of the truth."""

    def __init__(self, aligned: Alignment, depth: int = 0) -> None:
        """depth: lists that are shorter go on with more unjudged items."""
        places = np.maximum(aligned.retrieved, depth)
        offsets = _offsets(places)
        owner = np.repeat(np.arange(len(aligned)), places)
        rank = np.arange(1, len(owner) + 1) - offsets[owner]
        at = offsets[aligned.query] + aligned.rank - 1
        new = np.ones(len(owner), dtype=bool)
        new[at] = False
        self.known = lengths(aligned.truth_offsets)
        self.count: Ints = np.bincount(owner, new, minlength=len(aligned)).astype(np.int64)  # of unjudged items
        nth = np.cumsum(new) - _offsets(self.count)[owner]
        grade, score, place = np.zeros(len(owner)), np.full(len(owner), np.nan), self.known[owner] + nth
        grade[at], score[at], place[at] = aligned.grade, aligned.score, aligned.place
        truth_offsets = _offsets(self.known + self.count)
        judged = np.repeat(truth_offsets[:-1], self.known) + _within(aligned.truth_offsets)
        truth = np.zeros(int(truth_offsets[-1]))
        truth[judged] = aligned.truth_grades
        self.ranked = aligned.replace(
            retrieved=places, truth_offsets=truth_offsets, truth_grades=truth, _ideal_grades=None,
            placed_offsets=offsets, rank=rank, grade=grade, score=score, place=place, above=None, tied=None,
        )  # fmt: skip

    def with_grades(self, queries: Ints, of: Ints, levels: Floats) -> Alignment:
        """Copies of some queries; `of` has the grade of each unjudged item, by query and rank: a row of `levels`."""
        copies = self.ranked.only(queries)
        known = self.known[queries]
        grade, truth = copies.grade.copy(), copies.truth_grades.copy()
        grade[copies.place > known[copies.query]] = levels[of]
        owner = np.repeat(np.arange(len(queries)), lengths(copies.truth_offsets))
        truth[_within(copies.truth_offsets) >= known[owner]] = levels[of]
        return copies.replace(grade=grade, truth_grades=truth, _ideal_grades=None)

    def everything(self, grade: float) -> Alignment:
        """All lists with one grade for all that is unjudged."""
        of = np.zeros(int(self.count.sum()), dtype=np.int64)
        return self.with_grades(np.arange(len(self.ranked)), of, np.array([grade]))

    def families(self, last: bool, k: int | None) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Queries, each several times; how many of its unjudged items are marked, from none to all; and the marks.

        They are the first ones of a list, or the last. k: what is below only adds to what could be earned, so that for
        the highest value none of it is marked, and for the lowest all.
        """
        above = self.count
        if k is not None:
            new = self.ranked.place > self.known[self.ranked.query]
            above = np.bincount(self.ranked.query, new & (self.ranked.rank <= k), minlength=len(self.known))
        above = above.astype(np.int64)
        sizes = (above + 1) * lengths(self.ranked.placed_offsets)
        some = np.flatnonzero(self.count)
        for part in np.split(some, np.flatnonzero(np.diff(np.cumsum(sizes[some]) // _AT_ONCE)) + 1):
            if not len(part):
                continue
            queries = np.repeat(part, above[part] + 1)
            count = self.count[queries]
            marked = _within(_offsets(above[part] + 1)) + (count - above[queries]) * last
            nth = _within(_offsets(count))
            limit = np.repeat(count - marked if last else marked, count)
            yield queries, marked, (nth >= limit if last else nth < limit).astype(np.int64)


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def _within(offsets: Ints) -> Ints:
    """0, 1, 2 and so on in each segment."""
    return np.arange(offsets[-1] - offsets[0]) - np.repeat(offsets[:-1] - offsets[0], lengths(offsets))


# -- both ends -----------------------------------------------------------------------------------------------


def _ends(plan: Plan, filled: _Filled, growth: Growth, found: Measured) -> tuple[Measured, Measured] | None:
    """The lists with the lowest and with the highest values, measured; None where some grades leave no value."""
    top = _top(filled.ranked)
    if growth in ("hits", "gains"):
        low, high = measure(plan, filled.everything(0.0)), measure(plan, filled.everything(top))
        return None if (np.isnan(low.values) != np.isnan(high.values)).any() else (low, high)
    levels = np.array([0.0, top])
    chosen = []
    for last in (True, False):
        counts = _best_counts(plan, filled, levels, last)
        if counts is None:
            return None
        chosen.append(_marks(filled, counts, last))
    everyone = np.arange(len(filled.ranked))
    low, high = (measure(plan, filled.with_grades(everyone, marks, levels)) for marks in chosen)
    if growth == "share of gains":
        grades = np.unique(np.append(np.arange(top), top))
        if len(grades) > _MOST_LEVELS:
            return None
        high = measure(plan, filled.with_grades(everyone, _best_grades(plan, filled, grades), grades))
    return low, high


def _marks(filled: _Filled, counts: Ints, last: bool) -> Ints:
    """1 for the first, or the last, so many unjudged items of each query."""
    nth, limit = _within(_offsets(filled.count)), np.repeat(filled.count - counts if last else counts, filled.count)
    return (nth >= limit if last else nth < limit).astype(np.int64)


def _starts(queries: Ints) -> Ints:
    """Where each query's copies begin."""
    return np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))


def _ending(plan: Plan) -> int | None:
    """The cutoff below which items only count among what could be earned; None where there is none."""
    ends = plan.metric.declaration.ends_at_k and plan.arguments.get("ideal") != "retrieved" and _is_plain(plan)
    return plan.arguments.get("k") if ends else None


def _is_plain(plan: Plan) -> bool:
    """Is what has nothing to earn worth 0."""
    choices = plan.choices
    return choices["undefined"] == 0 and choices["no_relevant"] is None and choices["both_empty"] is None


def _best_counts(plan: Plan, filled: _Filled, levels: Floats, last: bool) -> Ints | None:
    """How many of the last items (of the first ones) must be relevant for the lowest (the highest) value."""
    counts = np.zeros(len(filled.ranked), dtype=np.int64)
    for queries, marked, marks in filled.families(last, _ending(plan)):
        values = measure(plan, filled.with_grades(queries, marks, levels)).values
        unknown = np.isnan(values)
        starts = _starts(queries)
        if unknown.any():
            all_, any_ = (function.reduceat(unknown, starts) for function in (np.logical_and, np.logical_or))
            if (all_ != any_).any():
                return None  # a query that counts or not, by its grades
            values = np.where(unknown, 0.0, values)
        order = np.lexsort((marked, values if last else -values, queries))
        counts[queries[starts]] = marked[order][starts]
    return counts


def _best_grades(plan: Plan, filled: _Filled, grades: Floats) -> Ints:
    """The grades of the unjudged items, as rows of `grades`, by which a share of gains is highest.

    What is earned and what could be are sums over the steps from each grade to the next, and each step's part depends
    only on how many unjudged items reach it; the first ones do. So, for a share s, the best number for each step is
    that of the largest "earned less s times possible"; the highest share is where the best of these is 0 (Dinkelbach
    1967). A higher step has fewer judged items, so that fewer unjudged ones reach it: the numbers never cross.
    """
    reached = np.zeros((len(grades) - 1, len(filled.ranked)), dtype=np.int64)
    for queries, _, marks in filled.families(False, _ending(plan)):
        sums = [measure(plan, filled.with_grades(queries, marks * step, grades)).ratio for step in range(len(grades))]
        earned, possible = np.array([part.numerator for part in sums]), np.array([part.denominator for part in sums])
        steps = np.diff(earned, axis=0), np.diff(possible, axis=0)
        starts = _starts(queries)
        ends = np.append(starts[1:], len(queries))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            base = earned[0, start], possible[0, start]
            reached[:, queries[start]] = _dinkelbach(base, steps[0][:, start:end], steps[1][:, start:end])
    reached = np.maximum.accumulate(reached[::-1])[::-1]  # a step that is worth nothing is on the way to the next
    nth = _within(_offsets(filled.count))
    return (nth < np.repeat(reached, filled.count, axis=1)).sum(axis=0)


def _dinkelbach(base: tuple[float, float], earned: Floats, possible: Floats) -> Ints:
    """How many items must reach each step for the highest share: by step and number, what they add to both sums."""
    rows = np.arange(len(earned))

    def share(numbers: Ints) -> float:
        below = base[1] + possible[rows, numbers].sum()
        return float((base[0] + earned[rows, numbers].sum()) / below) if below else 0.0

    best = np.full(len(earned), earned.shape[1] - 1)  # all at the highest grade
    while share(better := np.argmax(earned - share(best) * possible, axis=1)) > share(best):
        best = better
    return best


# -- beyond the list -----------------------------------------------------------------------------------------


def _residual(plan: Plan, aligned: Alignment, growth: Growth, weights: Floats | None) -> float:
    """The highest mean if lists went on with unjudged items; NaN where that has no end, or is not known."""
    reach = plan.metric.declaration.reach
    depth = plan.arguments.get("k") or (reach and reach(plan.arguments))
    if growth not in ("hits", "gains") or depth is None:
        return math.nan
    high = measure(plan, _Filled(aligned, int(depth)).everything(_top(aligned)))
    return _mean(plan, high, weights) if _adds_up(plan, growth, measure(plan, aligned), high) else math.nan
