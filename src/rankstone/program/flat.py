"""The flat back-end: a table of operations over an alignment's arrays, for whole graphs and for single words.

A value per item is an array of all placed (or judged) items, a value per query has one entry for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, equal_runs, lengths, segment_reduce, starts_of
from rankstone.align.elementwise import ELEMENTWISE, NUMPY, Values, discount_table, sums_of_discounts
from rankstone.align.subtopics import by_subtopic
from rankstone.align.ties import TieRule
from rankstone.errors import InputError
from rankstone.program import correlation
from rankstone.program.graph import EXPANSIONS, Call, Expression, Fault, Params, Space, View, walk
from rankstone.program.ranking import Ranking, StaticFacts

NO_WEIGHTS = "the truth has no weight or propensity column, and relevance='weighted' counts items by it"


class FlatItems:
    """The items of a space: where each query's start, and their columns as the arrays have them; None for `above` and
    `tied` where nothing is tied."""

    def __init__(self, alignment: Alignment, space: Space, offsets: Ints, column: Callable[[str], Values]) -> None:
        self.alignment, self.space, self.offsets, self.column = alignment, space, offsets, column

    @cached_property
    def starts(self) -> tuple[Bools, Ints] | None:
        """Which queries have items, and where these start; None if all have."""
        return starts_of(self.offsets)

    @cached_property
    def sizes(self) -> Ints:
        """How many items each query has."""
        return lengths(self.offsets)

    @cached_property
    def query(self) -> Ints:
        """Index of each item's query."""
        if self.space.what == "placed":
            return self.alignment.query
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def of_items(self, values: Values) -> Floats:
        """A value of each item, where it may be the same for all."""
        return np.broadcast_to(np.asarray(values, dtype=np.float64), int(self.offsets[-1]))

    def reduce(self, values: Floats, function: np.ufunc = np.add, empty: float = 0.0) -> Floats:
        """One value per query, `empty` where it has no item."""
        return segment_reduce(values, self.offsets, self.starts, function, empty)

    def running(self, values: Floats) -> Floats:
        total = np.cumsum(values)
        return total - np.repeat(np.concatenate(([0.0], total))[self.offsets[:-1]], self.sizes)


def _truth_weight(alignment: Alignment) -> Floats:
    weight = None if alignment.annotations is None else alignment.annotations.weight
    if weight is None and len(alignment.truth_grades):
        raise InputError(NO_WEIGHTS)
    return np.zeros(0) if weight is None else weight


def _placed(alignment: Alignment, space: Space) -> FlatItems:
    def column(name: str) -> Any:
        return _truth_weight(alignment)[alignment.truth_place] if name == "weight" else getattr(alignment, name)

    return FlatItems(alignment, space, alignment.placed_offsets, column)


def _truth(alignment: Alignment, space: Space) -> FlatItems:
    def column(name: str) -> Any:
        return _truth_weight(alignment) if name == "weight" else getattr(alignment, f"truth_{name}s")

    return FlatItems(alignment, space, alignment.truth_offsets, column)


def _subtopics(alignment: Alignment, space: Space) -> FlatItems:
    rows = by_subtopic(alignment)

    def column(name: str) -> Any:
        values = getattr(alignment, name)
        return rows.grade if name == "grade" else None if values is None else values[rows.at]

    return FlatItems(alignment, space, rows.offsets, column)


class Flat:
    """Runs expressions over an alignment."""

    def __init__(self, alignment: Alignment) -> None:
        self.alignment = alignment
        self._values: dict[Expression, Values] = {}
        self._rows: dict[Space, FlatItems] = {}

    def value(self, value: Expression) -> Values:
        """A value as an array, or as a number where it is the same for all."""
        if value not in self._values:
            with np.errstate(all="ignore"):
                for one in walk([value], self._values):
                    self._values[one] = self.run(one, *(self._values[arg] for arg in one.args))
        return self._values[value]

    def per_query(self, value: Expression) -> Floats:
        """A value of each query."""
        return np.broadcast_to(np.asarray(self.value(value), dtype=np.float64), len(self.alignment))

    def run(self, call: Call | Expression, *args: Values) -> Values:
        """One operation."""
        return ELEMENTWISE[call.op](*args) if call.op in ELEMENTWISE else OPERATIONS[call.op](self, call, *args)

    # As a graph whose every node is computed at once.

    def call(self, op: str, *operands: Values) -> Values:
        return ELEMENTWISE[op](*operands)

    def node(self, op: str, *args: Values, params: Params = (), kind: str, space: Space | None = None) -> Values:
        return self.run(Call(op, params, kind, space), *args)

    def broadcast(self, value: Values, space: Space) -> Values:
        return np.repeat(value, self.rows(space).sizes) if isinstance(value, np.ndarray) else value

    def view(self, space: Space) -> Alignment:
        """The alignment that a space is of."""
        return self.alignment if space.view is None else space.view.make(self.alignment)

    def rows(self, space: Space) -> FlatItems:
        """The items of a space."""
        if space not in self._rows:
            make = {"placed": _placed, "truth": _truth, "subtopics": _subtopics, "ideal": self._ideal}[space.what]
            self._rows[space] = make(self.view(space), space)
        return self._rows[space]

    def _ideal(self, alignment: Alignment, space: Space) -> FlatItems:
        """Those of another space, best first."""
        of, by_grade = self.rows(cast("Space", space.of)), space.order is None
        if by_grade and of.space.what == "truth" and not space.nonzero:  # the alignment has them in this order
            return FlatItems(alignment, space, of.offsets, lambda name: getattr(alignment, f"ideal_{name}s"))
        gains = of.column("grade") if by_grade else of.of_items(self._order_of(space))
        order, offsets = np.lexsort((-gains, of.query)), of.offsets
        if space.nonzero:
            nonzero = of.column("grade")[order] != 0
            order, offsets = order[nonzero], np.concatenate(([0], np.cumsum(nonzero)))[offsets]
        return FlatItems(alignment, space, offsets, lambda name: of.column(name)[order])

    def _order_of(self, space: Space) -> Values:
        """The gains that an ideal list is sorted by."""
        return self.value(space.order) if isinstance(space.order, Expression) else space.order


Node: TypeAlias = Any  # a call or an expression, whose space is there


def _column(flat: Flat, one: Node) -> Any:
    name, *more = one.params
    if more or (one.kind == "query" and one.space.what == "subtopics"):
        return getattr(by_subtopic(flat.view(one.space)), name)(*more)
    if one.kind == "query":
        return getattr(flat.view(one.space), name)
    rows = flat.rows(one.space)
    values = rows.column("tied" if name == "level" else name)
    if values is None:  # nothing is tied
        return 1.0 if name == "level" else rows.column("rank") - 1.0
    return values.astype(np.float64, copy=False)


def _highest_grade(flat: Flat, one: Node) -> float:
    alignment = flat.view(one.space)
    return float(alignment.truth_grades.max(initial=alignment.grade.max(initial=0.0)))


def _over_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on values of items, as float64 arrays."""

    def operation(flat: Flat, one: Node, *args: Values) -> Any:
        rows = flat.rows(one.space)
        return function(rows, *map(rows.of_items, args))

    return operation


def _nth(rows: FlatItems) -> Floats:
    return np.arange(1.0, rows.offsets[-1] + 1.0) - np.repeat(rows.offsets[:-1], rows.sizes)


def _surviving(rows: FlatItems, stops: Floats) -> Floats:
    out = np.empty(len(stops))
    reading = np.ones(len(rows.sizes))
    active = np.flatnonzero(rows.sizes)
    for step in range(int(rows.sizes.max(initial=0))):  # one step per depth, all queries at once
        active = active[rows.sizes[active] > step]
        at = rows.offsets[active] + step
        out[at] = reading[active]
        reading[active] *= 1.0 - stops[at]
    return out


def _above_sum(rows: FlatItems, values: Floats, above: Floats) -> Floats:
    starts, sizes = equal_runs(rows.query, above)
    return np.repeat((rows.running(values) - values)[starts], sizes)


def _tied_sum(rows: FlatItems, values: Floats, above: Floats) -> Floats:
    starts, sizes = equal_runs(rows.query, above)
    return np.repeat(np.add.reduceat(values, starts), sizes) if len(values) else values


def _tied_nth(rows: FlatItems, key: Floats, above: Floats) -> Floats:
    """The place of each item among the tied ones, by key."""
    order = np.lexsort((key, above, rows.query))
    starts, sizes = equal_runs(rows.query, above)  # the sort moves items within their group only
    nth = np.empty(len(order))
    nth[order] = np.arange(1.0, len(order) + 1.0) - np.repeat(starts, sizes)
    return nth


def _is_repeat(rows: FlatItems, place: Floats) -> Floats:
    """Items of one place in the truth, but for the first of each query."""
    order = np.lexsort((place, rows.query))  # stable: the first of a list stays first
    starts, _ = equal_runs(rows.query[order], place[order])
    out = np.ones(len(place))
    out[order[starts]] = 0.0
    return out


def _ranks(values: Any) -> Ints:
    return np.asarray(values).astype(np.int64)


def _discount(flat: Flat, one: Node, rank: Values) -> Any:
    ranks = _ranks(rank)
    return discount_table(one.params[0], max(1, int(ranks.max(initial=1))), one.op == "discount_sum")[ranks]


def _lookup(flat: Flat, one: Node, grades: Values) -> Floats:
    keys, values = (np.array(side, dtype=np.float64) for side in zip(*one.params[0], strict=True))
    order = np.argsort(keys)
    at = np.searchsorted(keys[order], grades).clip(max=len(keys) - 1)
    return np.where(keys[order][at] == grades, values[order][at], np.nan)


def _first_hit(flat: Flat, one: Node, *args: Values) -> Floats:
    """The mean of 1/rank of the first of `count` relevant items among `size` tied ones after `above` others."""
    above, size, count, limit = np.broadcast_arrays(*args)
    out = np.zeros(len(flat.alignment))
    open_ = np.flatnonzero(count > 0)
    above, size, count, limit = above[open_], size[open_], count[open_], limit[open_]
    steps = np.minimum(size - count + 1, limit - above)
    if len(open_) < steps.max(initial=0):  # few long groups: all places of one at a time
        for at in np.flatnonzero(steps > 0):
            left = size[at] - np.arange(int(steps[at]))  # items of the group not yet placed
            none_yet = np.append(1.0, np.cumprod((left - count[at]) / left)[:-1])
            places = above[at] + np.arange(1, int(steps[at]) + 1)
            out[open_[at]] = (none_yet * count[at] / left / places).sum()
        return out
    none_yet = np.ones(len(open_))
    for step in range(1, int(steps.max(initial=0)) + 1):  # many short groups: one place of all at a time
        left = np.maximum(size - step + 1, 1)
        hit = none_yet * count / left / (above + step)
        out[open_] += np.where(step <= steps, hit, 0.0)
        none_yet = none_yet * (left - count) / left
    return out


def _overlap(flat: Flat, one: Node, rank: Values, depth: Values) -> Floats:
    ranks, depths = _ranks(rank), np.broadcast_to(depth, len(flat.alignment))
    alignment = flat.view(one.space)
    out = np.zeros(len(alignment))
    judged = lengths(alignment.truth_offsets) if alignment.judged is None else alignment.judged
    for q, (start, end) in enumerate(zip(alignment.placed_offsets[:-1], alignment.placed_offsets[1:], strict=True)):
        short, long = sorted(int(min(n, depths[q])) for n in (alignment.retrieved[q], judged[q]))
        above, last = _truth_ranks(alignment, q, slice(start, end))
        out[q] = correlation.overlap(ranks[start:end], above, last, short, long, one.params[0])
    return out


def _truth_ranks(alignment: Alignment, query: int, rows: slice) -> tuple[Ints, Ints]:
    """How many items the truth puts above some placed ones of a query, and the last place that each can have."""
    if alignment.ordered_truth:
        return alignment.place[rows] - 1, alignment.place[rows]
    best_first = -alignment.ideal_grades[alignment.truth_offsets[query] : alignment.truth_offsets[query + 1]]
    above, last = (np.searchsorted(best_first, -alignment.grade[rows], side) for side in ("left", "right"))
    return above, last


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **EXPANSIONS,
    "number": lambda flat, one: one.params[0],
    "column": _column,
    "highest_grade": _highest_grade,
    "spread": lambda flat, one, value: flat.broadcast(value, one.space),
    "nth": _over_rows(_nth),
    "length": lambda flat, one: flat.rows(one.space).sizes.astype(np.float64),
    "sum": _over_rows(FlatItems.reduce),
    "highest": _over_rows(lambda rows, values: rows.reduce(values, np.maximum, 0.0)),
    "lowest": _over_rows(lambda rows, values: rows.reduce(values, np.minimum, np.inf)),
    "product": _over_rows(lambda rows, values: rows.reduce(values, np.multiply, 1.0)),
    "running": _over_rows(FlatItems.running),
    "surviving": _over_rows(_surviving),
    "above_sum": _over_rows(_above_sum),
    "tied_sum": _over_rows(_tied_sum),
    "tied_nth": _over_rows(_tied_nth),
    "is_repeat": _over_rows(_is_repeat),
    "discount": _discount,
    "discount_sum": _discount,
    "discount_total": lambda flat, one, depth: sums_of_discounts(one.params[0], depth, one.params[1]),
    "lookup": _lookup,
    "by_count": lambda flat, one, count: one.params[0](NUMPY, count),
    "first_hit": _first_hit,
    "mean_rank": _over_rows(lambda rows, values: correlation.mean_ranks(values, rows.query, rows.offsets)),
    "pairs": _over_rows(lambda rows, x, y: correlation.compared(x, y, rows.query, rows.offsets)),
    "nth_of": lambda flat, one, values: values[one.params[0]],
    "right_above": _over_rows(lambda rows, merit: correlation.right_above(merit, rows.query, rows.offsets)),
    "overlap": _overlap,
    "nth_of_subtopic": lambda flat, one, relevant: by_subtopic(flat.view(one.space)).nth_of_subtopic(relevant),
}


# -- at once -------------------------------------------------------------------------------------------------


class Eager(Flat):
    """A graph whose every node is computed at once: words over it give arrays."""

    def __init__(self, alignment: Alignment) -> None:
        super().__init__(alignment)
        self._spaces: dict[Any, Space] = {}

    def space(
        self, what: str, of: Space | None = None, order: Values = None, nonzero: bool = False, view: View | None = None
    ) -> Space:
        if order is not None:
            return Space(what, of, order, nonzero, view)
        return self._spaces.setdefault((what, of, nonzero, view), Space(what, of, None, nonzero, view))

    def of(self, value: Values) -> Values:
        return value

    def named(self, value: Values, name: str) -> Values:
        return value

    def is_true(self, condition: Values) -> bool:
        return bool(np.all(condition))

    def queries(self) -> int:
        return len(self.alignment)

    def array(self, name: str) -> Any:
        return getattr(self.alignment, name)

    def per_query(self, value: Values) -> Floats:
        return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), len(self.alignment)))

    def raise_where(
        self, condition: Values, problem: str, value: Values = None, named: bool = True, space: Space | None = None
    ) -> None:
        test: Bools = np.atleast_1d(np.asarray(condition, dtype=bool))
        if test.any():
            at = int(np.argmax(test))
            query = at if space is None else int(self.rows(space).query[at])
            shown = math.nan if value is None else float(np.broadcast_to(value, test.shape)[at])
            raise Fault(condition, problem, value, named).error(query, shown)


def ranking_of(alignment: Alignment) -> Ranking:
    """The words over an alignment, which give arrays at once."""
    return Ranking(Eager(alignment), StaticFacts.of(alignment))


# -- orders of tied items --------------------------------------------------------------------------------------


def with_ties(alignment: Alignment, rule: TieRule) -> Alignment:
    """The alignment under a rule for tied items."""
    if alignment.tied is None or rule.by is not None:
        return alignment
    if rule.arrange is None:
        return alignment.with_ties(rule)
    arrange = rule.arrange
    return alignment.remember(("ties", rule.name), lambda: _arranged(alignment, *arrange(ranking_of(alignment))))


def by_gain(alignment: Alignment, gains: Floats, best: bool) -> Alignment:
    """The alignment with tied items by their gains, the best or the worst first; an unjudged one has none."""
    if alignment.tied is None:
        return alignment.replace(best=best)
    key = -gains if best else gains
    return _arranged(alignment, key, key < 0, best=best)


def _arranged(alignment: Alignment, key: Values, front: Values, **changes: object) -> Alignment:
    rank = ranking_of(alignment).arranged(key, front).rank
    return alignment.ranked_by(rank.astype(np.int64), above=None, tied=None, **changes)
