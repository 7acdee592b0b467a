"""Bounds over the unjudged returned items: the lowest and highest mean, or difference of two, over all their grades.

An unjudged item may have any whole grade from 0 to the highest of the truth (at least 1), and then counts as a judged
item: relevant ones are among the relevant items, and in the ideal list. A metric declares its `Monotonicity`; it limits
the grades that can be extreme to a few assignments, for which the metric is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, lengths
from rankstone.align.ties import COUNTED
from rankstone.conventions.plan import Plan
from rankstone.errors import Advice, Hint, InputError
from rankstone.evaluate.means import mean_from, sums_of
from rankstone.evaluate.values import MetricValues, measure
from rankstone.metrics.registry import Monotonicity
from rankstone.program.flat import ranking_of
from rankstone.results.difference_bounds import UNKNOWN, DifferenceBounds

_AT_ONCE = 1 << 21  # items of all assignments that are evaluated at a time
_MOST_LEVELS = 16  # grades that are tried one by one
# What a trait of two lists is of one list.
_WITHIN_LIST: dict[Monotonicity | None, Monotonicity] = {
    "sum of hits": "hits", "sum of gains": "gains", "share at R": "share"
}  # fmt: skip


class Bounds(NamedTuple):
    """The lowest and highest mean, NaN where unknown, and the queries whose values can differ."""

    lowest: float
    highest: float
    residual: float
    moved: Bools


def check_bounds_supported(plan: Plan) -> None:
    """Raise where there are no bounds."""
    choices = plan.choices
    if plan.metric.declaration.reads == "recommendations":
        about = f"{plan.label} is a beyond-accuracy metric, which reads no grades; "
        raise InputError(Advice(about, Hint("bounds", True), " is for metrics of relevance"))
    if choices["unjudged"] == "condensed":
        raise InputError(
            f"{plan.label}: unjudged='condensed' removes the unjudged items, so there is nothing to bound; choose one"
        )
    if choices["duplicates"] in ("count", "once"):
        raise InputError(
            f"{plan.label}: bounds=True gives each row a grade, and with duplicates={choices['duplicates']!r} an "
            "item can have several rows; choose duplicates='first', 'best' or 'error'"
        )


def bounds_of(plan: Plan, aligned: Alignment, weights: Floats | None) -> Bounds:
    """The lowest and the highest mean over all grades that the unjudged items could have."""
    measured = measure(plan, aligned)
    unjudged = aligned.retrieved > lengths(aligned.placed_offsets)
    unknown = Bounds(math.nan, math.nan, math.nan, unjudged)
    growth = _growth(plan, aligned)
    if growth is None:
        return unknown
    filled = _Filled(aligned)
    ends = _ends(plan, filled, growth)
    if ends is None:
        return unknown
    low, high = ends
    moved = ~np.isclose(low.values, high.values, rtol=1e-12, atol=1e-15, equal_nan=True)
    if not _adds_up(plan, growth, low, high):
        return unknown._replace(moved=moved)
    own = _mean(plan, measured, weights)
    lowest, highest = _mean(plan, low, weights), _mean(plan, high, weights)
    return Bounds(lowest, highest, _residual(plan, aligned, growth, weights) - own, moved)


def _mean(plan: Plan, measured: MetricValues, weights: Floats | None) -> float:
    return float(mean_from(plan, sums_of(plan, measured, weights).rounded(), measured.ratio.finish))


def _growth(plan: Plan, aligned: Alignment) -> Monotonicity | None:
    """How the metric changes with the grades of unjudged items, under the choices of the plan; None: unknown."""
    choices = plan.choices
    if choices["nonpositive_score"] == "miss" or choices["truth_depth"] == "k" or choices["relevance"] == "weighted":
        return None  # they need scores, an order of the truth, or weights, which unjudged items do not have here
    if choices["threshold"] == "relative":
        return None  # which rises with the grades
    if choices["ties"] not in COUNTED:
        return None  # ties among unjudged items are not recorded
    growth = _WITHIN_LIST.get(declared := plan.metric.declaration.monotonicity(plan.arguments), declared)
    top = _top(aligned)
    if growth == "binary":
        return "share" if top == 1 else None
    plain = _is_plain(plan)
    if growth in ("hits", "gains") and not plain:  # an undefined value may then be higher than a defined one
        growth = "share" if growth == "hits" or top == 1 else None
    if growth == "share of gains" and (top == 1 or not plain):
        return "share" if top == 1 else None
    return growth


def _top(aligned: Alignment) -> float:
    return max(ranking_of(aligned).highest_grade, 1.0)


def _adds_up(plan: Plan, growth: Monotonicity, low: MetricValues, high: MetricValues) -> bool:
    """Whether the mean is extreme where the value of each query is."""
    averaging = plan.averaging
    if averaging.rises:
        return True
    same = growth in ("hits", "gains") and np.array_equal(low.ratio.denominator, high.ratio.denominator)
    return averaging.divides and not averaging.pooled and same


# -- assignments of grades -----------------------------------------------------------------------------------


class _Filled:
    """Lists in which every item has a grade: 0 for unjudged items, which are the last of the truth."""

    def __init__(self, aligned: Alignment, depth: int = 0) -> None:
        """depth: shorter lists are extended by unjudged items."""
        places = np.maximum(aligned.retrieved, depth)
        offsets = _offsets(places)
        owner = np.repeat(np.arange(len(aligned)), places)
        rank = np.arange(1, len(owner) + 1) - offsets[owner]
        at = offsets[aligned.query] + aligned.rank - 1
        self.new = new = np.ones(len(owner), dtype=bool)  # which places have an unjudged item
        new[at] = False
        self.query, self.rank = owner[new], rank[new]  # of each unjudged item
        self.judged = lengths(aligned.truth_offsets)  # items per query
        self.count: Ints = np.bincount(owner, new, minlength=len(aligned)).astype(np.int64)  # of unjudged items
        nth = np.cumsum(new) - _offsets(self.count)[owner]
        grade, score, place = np.zeros(len(owner)), np.full(len(owner), np.nan), self.judged[owner] + nth
        grade[at], score[at], place[at] = aligned.grade, aligned.score, aligned.place
        truth_offsets = _offsets(self.judged + self.count)
        at_judged = np.repeat(truth_offsets[:-1], self.judged) + _within(aligned.truth_offsets)
        truth = np.zeros(int(truth_offsets[-1]))
        truth[at_judged] = aligned.truth_grades
        self.ranked = aligned.replace(
            retrieved=places, truth_offsets=truth_offsets, truth_grades=truth, _ideal_grades=None,
            placed_offsets=offsets, rank=rank, grade=grade, score=score, place=place, above=None, tied=None,
        )  # fmt: skip

    def with_grades(self, queries: Ints, of: Ints, levels: Floats) -> Alignment:
        """Copies of these queries; `of` has the index into `levels` of each unjudged item's grade."""
        copies = self.ranked.only(queries)
        judged = self.judged[queries]
        grade, truth = copies.grade.copy(), copies.truth_grades.copy()
        grade[copies.place > judged[copies.query]] = levels[of]
        owner = np.repeat(np.arange(len(queries)), lengths(copies.truth_offsets))
        truth[_within(copies.truth_offsets) >= judged[owner]] = levels[of]
        return copies.replace(grade=grade, truth_grades=truth, _ideal_grades=None)

    def everything(self, grade: float) -> Alignment:
        """All lists with one grade for all unjudged items."""
        of = np.zeros(int(self.count.sum()), dtype=np.int64)
        return self.with_grades(np.arange(len(self.ranked)), of, np.array([grade]))

    def families(self, last: bool, k: int | None) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Queries, each several times; how many of its unjudged items are marked, from none to all; and the marks.

        Marked are the first items of a list, or the last. k: items below it only add to the denominator, so that for
        the highest value none of them is marked, and for the lowest all.
        """
        above = self.count
        if k is not None:
            new = self.ranked.place > self.judged[self.ranked.query]
            above = np.bincount(self.ranked.query, new & (self.ranked.rank <= k), minlength=len(self.judged))
        above = above.astype(np.int64)
        sizes = (above + 1) * lengths(self.ranked.placed_offsets)
        nonempty = np.flatnonzero(self.count)
        for part in np.split(nonempty, np.flatnonzero(np.diff(np.cumsum(sizes[nonempty]) // _AT_ONCE)) + 1):
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


def _ends(plan: Plan, filled: _Filled, growth: Monotonicity) -> tuple[MetricValues, MetricValues] | None:
    """The lowest and the highest values; None where they are undefined for some grades."""
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
    """The cutoff below which items only add to the denominator; None where there is none."""
    ends = plan.metric.declaration.ends_at_k and plan.arguments.get("ideal") != "retrieved" and _is_plain(plan)
    return plan.arguments.get("k") if ends else None


def _is_plain(plan: Plan) -> bool:
    """Whether undefined values count as 0."""
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
                return None  # whether the query is averaged depends on its grades
            values = np.where(unknown, 0.0, values)
        order = np.lexsort((marked, values if last else -values, queries))
        counts[queries[starts]] = marked[order][starts]
    return counts


def _best_grades(plan: Plan, filled: _Filled, grades: Floats) -> Ints:
    """The grades of the unjudged items, as indices into `grades`, that maximise a ratio of gains.

    Numerator and denominator are sums over the steps from each grade to the next, and each step's part depends only on
    how many unjudged items reach it, which are the first ones. So, for a ratio s, the best number for each step
    maximises "numerator - s * denominator"; the highest ratio is where that maximum is 0 (Dinkelbach 1967). A higher
    step has fewer judged items, so fewer unjudged ones reach it: the numbers are monotone.
    """
    reached = np.zeros((len(grades) - 1, len(filled.ranked)), dtype=np.int64)
    for queries, _, marks in filled.families(False, _ending(plan)):
        sums = [measure(plan, filled.with_grades(queries, marks * step, grades)).ratio for step in range(len(grades))]
        numerator = np.array([part.numerator for part in sums])
        denominator = np.array([part.denominator for part in sums])
        steps = np.diff(numerator, axis=0), np.diff(denominator, axis=0)
        starts = _starts(queries)
        ends = np.append(starts[1:], len(queries))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            base = numerator[0, start], denominator[0, start]
            reached[:, queries[start]] = _dinkelbach(base, steps[0][:, start:end], steps[1][:, start:end])
    reached = np.maximum.accumulate(reached[::-1])[::-1]  # a step without gain is passed on the way to the next
    nth = _within(_offsets(filled.count))
    return (nth < np.repeat(reached, filled.count, axis=1)).sum(axis=0)


def _dinkelbach(base: tuple[float, float], numerator: Floats, denominator: Floats) -> Ints:
    """How many items must reach each step for the highest ratio: by step and number, what they add to both sums."""
    rows = np.arange(len(numerator))

    def ratio(numbers: Ints) -> float:
        below = base[1] + denominator[rows, numbers].sum()
        return float((base[0] + numerator[rows, numbers].sum()) / below) if below else 0.0

    best = np.full(len(numerator), numerator.shape[1] - 1)  # all at the highest grade
    while ratio(better := np.argmax(numerator - ratio(best) * denominator, axis=1)) > ratio(best):
        best = better
    return best


# -- differences -----------------------------------------------------------------------------------------------


_SUMS = ("sum of hits", "sum of gains")


class WholeLists(NamedTuple):
    """Lists with all their items, judged or not."""

    aligned: Alignment
    items: Sequence[Any]  # by query, then rank
    weights: Floats | None  # of the queries


def difference_bounds(plan: Plan, lists: Sequence[WholeLists]) -> DifferenceBounds:
    """Bounds of the second mean minus the first, of two runs' lists of the same queries."""
    declared, growth = plan.metric.declaration.monotonicity(plan.arguments), _growth(plan, lists[0].aligned)
    filled = [_Filled(side.aligned) for side in lists]
    complete = all(len(side.new) == len(of.items) for side, of in zip(filled, lists, strict=True))
    if growth is None or declared == "share at R" or not complete or not _is_plain(plan):
        return UNKNOWN
    others = _ranks_in_other(filled, lists)
    if declared in _SUMS and (exact := _bounds_of_sums(plan, filled, others, lists[0].weights)) is not None:
        return exact
    ends = []
    for of, rank, other in zip(lists, others[::-1], filled[::-1], strict=True):
        unreturned = np.bincount(other.query[np.isinf(rank)], minlength=len(of.aligned))  # only in the other list
        ends.append(_ends_with(plan, of, growth, unreturned))
    (low, high), (other_low, other_high) = ends
    return DifferenceBounds(other_low - high, other_high - low, False)


def _ranks_in_other(filled: Sequence[_Filled], lists: Sequence[WholeLists]) -> list[Floats]:
    """For each of two lists: the rank of its unjudged items in the other one, infinite where they are not in it."""
    keys = [
        list(zip(side.query.tolist(), [of.items[at] for at in np.flatnonzero(side.new).tolist()], strict=True))
        for side, of in zip(filled, lists, strict=True)
    ]
    ranks = [dict(zip(own, side.rank.tolist(), strict=True)) for own, side in zip(keys, filled, strict=True)]
    return [np.array([ranks[1 - at].get(key, math.inf) for key in keys[at]], dtype=float) for at in (0, 1)]


def _bounds_of_sums(
    plan: Plan, filled: Sequence[_Filled], others: Sequence[Floats], weights: Floats | None
) -> DifferenceBounds | None:
    """Exact bounds: each item has the grade that is best for the list that ranks it higher; None if not linear."""
    averaging, levels = plan.averaging, np.array([0.0, _top(filled[0].ranked)])
    if averaging.logarithms or averaging.pooled or averaging.two_means:
        return None
    ranks = (filled[0].rank, others[0]), (others[1], filled[1].rank)  # in the first list, and in the second
    ends, denominators = [], []
    for sign in (-1, 1):  # the lowest, the highest
        means = []
        for side, (first, second) in zip(filled, ranks, strict=True):
            marks = (np.sign(first - second) == sign).astype(np.int64)
            measured = measure(plan, side.with_grades(np.arange(len(side.ranked)), marks, levels))
            denominators.append(measured.ratio.denominator)
            means.append(_mean(plan, measured, weights))
        ends.append(means[1] - means[0])
    same = all(np.array_equal(denominators[0], other) for other in denominators[1:])
    return DifferenceBounds(ends[0], ends[1], True) if same else None


def _ends_with(plan: Plan, of: WholeLists, growth: Monotonicity, unreturned: Ints) -> tuple[float, float]:
    """The lowest and highest mean, if so many other items per query, which the list lacks, have any grade, too."""
    aligned = of.aligned
    sizes = lengths(aligned.truth_offsets)
    at = np.repeat(_offsets(sizes + unreturned)[:-1], sizes) + _within(aligned.truth_offsets)
    grades = np.full(int((sizes + unreturned).sum()), _top(aligned))
    grades[at] = aligned.truth_grades
    extended = aligned.replace(truth_offsets=_offsets(sizes + unreturned), truth_grades=grades, _ideal_grades=None)
    means = []
    for lists in (aligned, extended):  # the value rises with their grades, or falls
        ends = _ends(plan, _Filled(lists), growth)
        if ends is None or not _adds_up(plan, growth, *ends):
            return math.nan, math.nan
        means += [_mean(plan, end, of.weights) for end in ends]
    return min(means), max(means)


# -- beyond the list -----------------------------------------------------------------------------------------


def _residual(plan: Plan, aligned: Alignment, growth: Monotonicity, weights: Floats | None) -> float:
    """The highest mean if lists continued with unjudged items; NaN where that is unbounded or unknown."""
    depth = plan.depth
    if growth not in ("hits", "gains") or depth is None:
        return math.nan
    high = measure(plan, _Filled(aligned, int(depth)).everything(_top(aligned)))
    return _mean(plan, high, weights) if _adds_up(plan, growth, measure(plan, aligned), high) else math.nan
