"""The flat back-end: a table of operations over an alignment's arrays, for whole graphs and for single words.

A value per item is an array of all placed (or judged) items, a value per query has one entry for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, TypeAlias, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, lengths, segment_sums, starts_of
from rankstone.align.functions import ELEMENTWISE, NUMPY, Values
from rankstone.align.subtopics import by_subtopic
from rankstone.align.ties import TieRule
from rankstone.errors import QueryError
from rankstone.program import correlation
from rankstone.program.discounts import discount_table, sums_of_discounts
from rankstone.program.graph import Expression, Params, Space, View, walk
from rankstone.program.ranking import Facts, Ranking

NO_WEIGHTS = "the truth has no weight or propensity column, and credit='weight' counts items by it"
Column: TypeAlias = Callable[[], Any]  # gives an array, or None: lambda: alignment.grade


class Rows:
    """The items of a space: where each query's start, and their columns."""

    def __init__(self, alignment: Alignment, space: Space, offsets: Ints, columns: Mapping[str, Column]):
        self.alignment, self.space, self.offsets, self._columns = alignment, space, offsets, columns

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

    def column(self, name: str) -> Any:
        """A column as the arrays have it; None for `above` and `tied` where nothing is tied."""
        return self._columns[name]()

    def sum(self, values: Floats) -> Floats:
        return segment_sums(values, self.offsets, self.starts)

    def reduce(self, function: np.ufunc, values: Floats, empty: float) -> Floats:
        """One value per query, `empty` where it has no item."""
        out = np.full(len(self.sizes), empty)
        if len(values):
            some = slice(None) if self.starts is None else self.starts[0]
            out[some] = function.reduceat(values, self.offsets[:-1][some])
        return out

    def running(self, values: Floats) -> Floats:
        total = np.cumsum(values)
        return total - np.repeat(np.concatenate(([0.0], total))[self.offsets[:-1]], self.sizes)

    def groups(self, above: Floats) -> tuple[Ints, Ints]:
        """Where each set of tied items starts, and its size."""
        query, first = self.query, np.ones(len(above), dtype=bool)
        first[1:] = (above[1:] != above[:-1]) | (query[1:] != query[:-1])
        starts = np.flatnonzero(first)
        return starts, np.diff(np.append(starts, len(above)))


def _placed(alignment: Alignment, space: Space) -> Rows:
    names = ("rank", "grade", "score", "place", "above", "tied")
    columns: dict[str, Column] = {name: partial(getattr, alignment, name) for name in names}
    columns["weight"] = lambda: _truth_weight(alignment)[alignment.truth_place]
    return Rows(alignment, space, alignment.placed_offsets, columns)


def _truth(alignment: Alignment, space: Space) -> Rows:
    columns = {"grade": lambda: alignment.truth_grades, "weight": lambda: _truth_weight(alignment)}
    return Rows(alignment, space, alignment.truth_offsets, columns)


def _truth_weight(alignment: Alignment) -> Floats:
    weight = None if alignment.notes is None else alignment.notes.weight
    if weight is None and len(alignment.truth_grades):
        raise ValueError(NO_WEIGHTS)
    return np.zeros(0) if weight is None else weight


def _subtopics(alignment: Alignment, space: Space) -> Rows:
    rows = by_subtopic(alignment)

    def of_item(name: str) -> Callable[[], Any]:
        return lambda: None if getattr(alignment, name) is None else getattr(alignment, name)[rows.at]

    columns = {name: of_item(name) for name in ("rank", "score", "place", "above", "tied")}
    return Rows(alignment, space, rows.offsets, {**columns, "grade": lambda: rows.grade})


class Flat:
    """Runs expressions over an alignment."""

    def __init__(self, alignment: Alignment) -> None:
        self.alignment = alignment
        self._values: dict[Expression, Values] = {}
        self._rows: dict[Space, Rows] = {}

    def value(self, value: Expression) -> Values:
        """A value as an array, or as a number where it is the same for all."""
        if value not in self._values:
            with np.errstate(all="ignore"):
                for one in walk([value], self._values):
                    args = [self._values[arg] for arg in one.args]
                    self._values[one] = self.run(one.op, args, one.params, one.kind, one.space)
        return self._values[value]

    def per_query(self, value: Expression) -> Floats:
        """A value of each query."""
        return np.broadcast_to(np.asarray(self.value(value), dtype=np.float64), len(self.alignment))

    def run(self, op: str, args: list[Values], params: Params, kind: str, space: Space | None) -> Values:
        """One operation."""
        if op in ELEMENTWISE:
            return ELEMENTWISE[op](*args)
        if op == "number":
            return params[0]
        return OPERATIONS[op](self, args, params, kind, cast("Space", space))

    def view(self, space: Space) -> Alignment:
        """The alignment that a space is of."""
        return self.alignment if space.view is None else space.view.make(self.alignment)

    def rows(self, space: Space) -> Rows:
        """The items of a space."""
        if space not in self._rows:
            make = {"placed": _placed, "truth": _truth, "subtopics": _subtopics, "ideal": self._ideal}[space.what]
            self._rows[space] = make(self.view(space), space)
        return self._rows[space]

    def _ideal(self, alignment: Alignment, space: Space) -> Rows:
        """Those of another space, best first."""
        of, by_grade = self.rows(cast("Space", space.of)), space.order is None
        known = by_grade and of.space.what == "truth"  # the alignment has them in this order

        def grades() -> Floats:
            return cast("Floats", of.column("grade"))

        if known and not space.nonzero:
            return Rows(alignment, space, of.offsets, {"grade": lambda: alignment.ideal_grades})
        gains = grades() if by_grade else self._of_items(self.order_of(space), of)
        order = np.lexsort((-gains, of.query))
        offsets = of.offsets
        if space.nonzero:
            nonzero = grades()[order] != 0
            order, offsets = order[nonzero], np.concatenate(([0], np.cumsum(nonzero)))[offsets]
        columns = {name: lambda name=name: of.column(name)[order] for name in ("grade", "weight")}
        return Rows(alignment, space, offsets, columns)

    def order_of(self, space: Space) -> Values:
        """The gains that an ideal list is sorted by."""
        return self.value(space.order) if isinstance(space.order, Expression) else space.order

    def _of_items(self, values: Values, rows: Rows) -> Floats:
        """A value of each item, where it may be the same for all."""
        return np.broadcast_to(np.asarray(values, dtype=np.float64), int(rows.offsets[-1]))


Operation = Callable[[Flat, list[Any], Params, str, Space], Any]


def _column(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
    name, *more = params
    if kind == "query":
        if space.what == "subtopics":
            return getattr(by_subtopic(flat.view(space)), name)(*more)
        return getattr(flat.view(space), name)
    if more:
        return getattr(by_subtopic(flat.view(space)), name)(*more)
    rows = flat.rows(space)
    if name == "level":
        tied = rows.column("tied")
        return 1.0 if tied is None else tied.astype(np.float64)
    values = rows.column(name)
    if values is None:  # nothing is tied
        return rows.column("rank") - 1.0
    return values.astype(np.float64, copy=False)


def _highest_grade(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> float:
    alignment = flat.view(space)
    return float(alignment.truth_grades.max(initial=alignment.grade.max(initial=0.0)))


def _spread(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
    return np.repeat(args[0], flat.rows(space).sizes) if isinstance(args[0], np.ndarray) else args[0]


def _nth(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
    rows = flat.rows(space)
    return np.arange(1.0, rows.offsets[-1] + 1.0) - np.repeat(rows.offsets[:-1], rows.sizes)


def _over_rows(function: Callable[..., Any]) -> Operation:
    """An operation on values of items, as float64 arrays."""

    def operation(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
        rows = flat.rows(space)
        return function(rows, *(flat._of_items(arg, rows) for arg in args), *params)

    return operation


def _sum_to(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
    values, rank, k = args
    rows = flat.rows(space)
    depth = _spread(flat, [k], (), "item", space)
    return rows.sum(np.where(rank <= depth, flat._of_items(values, rows), 0.0))


def _first(rows: Rows, condition: Floats, rank: Floats) -> Floats:
    return rows.reduce(np.minimum, np.where(condition != 0, rank, np.inf), np.inf)


def _surviving(rows: Rows, stops: Floats) -> Floats:
    out = np.empty(len(stops))
    reading = np.ones(len(rows.sizes))
    active = np.flatnonzero(rows.sizes)
    for step in range(int(rows.sizes.max(initial=0))):  # one step per depth, all queries at once
        active = active[rows.sizes[active] > step]
        at = rows.offsets[active] + step
        out[at] = reading[active]
        reading[active] *= 1.0 - stops[at]
    return out


def _above_sum(rows: Rows, values: Floats, above: Floats) -> Floats:
    starts, sizes = rows.groups(above)
    return np.repeat((rows.running(values) - values)[starts], sizes)


def _tied_sum(rows: Rows, values: Floats, above: Floats) -> Floats:
    starts, sizes = rows.groups(above)
    return np.repeat(np.add.reduceat(values, starts), sizes) if len(values) else values


def _tied_nth(rows: Rows, key: Floats, above: Floats) -> Floats:
    """The place of each item among the tied ones, by key."""
    order = np.lexsort((key, above, rows.query))
    starts, sizes = rows.groups(above)  # the sort moves items within their group only
    nth = np.empty(len(order))
    nth[order] = np.arange(1.0, len(order) + 1.0) - np.repeat(starts, sizes)
    return nth


def _ranks(values: Any) -> Ints:
    return np.asarray(values).astype(np.int64)


def _discount(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
    ranks = _ranks(args[0])
    return discount_table(params[0], max(1, int(ranks.max(initial=1))))[ranks]


def _mean_discount(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
    above, level, *k = args
    last = above + level
    if k:
        depth = _spread(flat, k, (), "item", space)
        above, last = np.minimum(above, depth), np.minimum(last, depth)
    ends = _ranks(last)
    sums = discount_table(params[0], max(1, int(ends.max(initial=1))), True)
    return (sums[ends] - sums[_ranks(above)]) / level


def _discount_total(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
    return sums_of_discounts(params[0], args[0], params[1])


def _lookup(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
    keys, values = (np.array(side, dtype=np.float64) for side in zip(*params[0], strict=True))
    order = np.argsort(keys)
    at = np.searchsorted(keys[order], args[0]).clip(max=len(keys) - 1)
    return np.where(keys[order][at] == args[0], values[order][at], np.nan)


def _by_count(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Any:
    return params[0](NUMPY, args[0])


def _first_hit(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
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


def _overlap(flat: Flat, args: list[Any], params: Params, kind: str, space: Space) -> Floats:
    rank, depth = _ranks(args[0]), np.broadcast_to(args[1], len(flat.alignment))
    alignment = flat.view(space)
    out = np.zeros(len(alignment))
    judged = lengths(alignment.truth_offsets) if alignment.judged is None else alignment.judged
    for q, (start, end) in enumerate(zip(alignment.placed_offsets[:-1], alignment.placed_offsets[1:], strict=True)):
        short, long = sorted(int(min(n, depth[q])) for n in (alignment.retrieved[q], judged[q]))
        above, last = _truth_ranks(alignment, q, slice(start, end))
        out[q] = correlation.overlap(rank[start:end], above, last, short, long, params[0])
    return out


def _truth_ranks(alignment: Alignment, query: int, rows: slice) -> tuple[Ints, Ints]:
    """How many items the truth puts above some placed ones of a query, and the last place that each can have."""
    if alignment.ordered_truth:
        return alignment.place[rows] - 1, alignment.place[rows]
    best_first = -alignment.ideal_grades[alignment.truth_offsets[query] : alignment.truth_offsets[query + 1]]
    above, last = (np.searchsorted(best_first, -alignment.grade[rows], side) for side in ("left", "right"))
    return above, last


OPERATIONS: Mapping[str, Operation] = {
    "column": _column,
    "highest_grade": _highest_grade,
    "spread": _spread,
    "nth": _nth,
    "same": lambda flat, args, params, kind, space: args[0],
    "length": lambda flat, args, params, kind, space: flat.rows(space).sizes.astype(np.float64),
    "sum": _over_rows(Rows.sum),
    "sum_to": _sum_to,
    "highest": _over_rows(lambda rows, values: rows.reduce(np.maximum, values, 0.0)),
    "product": _over_rows(lambda rows, values: rows.reduce(np.multiply, values, 1.0)),
    "first": _over_rows(_first),
    "running": _over_rows(Rows.running),
    "surviving": _over_rows(_surviving),
    "above_sum": _over_rows(_above_sum),
    "tied_sum": _over_rows(_tied_sum),
    "tied_nth": _over_rows(_tied_nth),
    "discount": _discount,
    "mean_discount": _mean_discount,
    "discount_total": _discount_total,
    "lookup": _lookup,
    "by_count": _by_count,
    "first_hit": _first_hit,
    "mean_rank": _over_rows(lambda rows, values: correlation.mean_ranks(values, rows.query, rows.offsets)),
    "pairs": _over_rows(lambda rows, x, y: correlation.compared(x, y, rows.query, rows.offsets)),
    "nth_of": lambda flat, args, params, kind, space: args[0][params[0]],
    "right_above": _over_rows(lambda rows, merit: correlation.right_above(merit, rows.query, rows.offsets)),
    "overlap": _overlap,
    "nth_of_subtopic": lambda flat, args, params, kind, space: by_subtopic(flat.view(space)).nth_of_subtopic(args[0]),
}


# -- at once -------------------------------------------------------------------------------------------------


class Eager:
    """A graph whose every node is computed at once: words over it give arrays."""

    def __init__(self, alignment: Alignment) -> None:
        self.flat = Flat(alignment)
        self._spaces: dict[Any, Space] = {}

    def space(
        self, what: str, of: Space | None = None, order: Values = None, nonzero: bool = False, view: View | None = None
    ) -> Space:
        if order is not None:
            return Space(what, of, order, nonzero, view)
        key = (what, of, nonzero, view)
        if key not in self._spaces:
            self._spaces[key] = Space(*key[:2], None, *key[2:])
        return self._spaces[key]

    def node(self, op: str, *args: Values, params: Params = (), kind: str, space: Space | None = None) -> Values:
        return self.flat.run(op, list(args), params, kind, space)

    def call(self, op: str, *operands: Values) -> Values:
        return ELEMENTWISE[op](*operands)

    def of(self, value: Values) -> Values:
        return value

    def named(self, value: Values, name: str) -> Values:
        return value

    def spread(self, value: Values, space: Space) -> Values:
        return _spread(self.flat, [value], (), "item", space)

    def is_true(self, condition: Values) -> bool:
        return bool(np.all(condition))

    def queries(self) -> int:
        return len(self.flat.alignment)

    def array(self, name: str) -> Any:
        return getattr(self.flat.alignment, name)

    def per_query(self, value: Values) -> Floats:
        return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), len(self.flat.alignment)))

    def refuse(
        self, condition: Values, problem: str, value: Values = None, named: bool = True, space: Space | None = None
    ) -> None:
        test: Bools = np.atleast_1d(np.asarray(condition, dtype=bool))
        if not test.any():
            return
        at = int(np.argmax(test))
        problem = problem if value is None else problem.format(float(np.broadcast_to(value, test.shape)[at]))
        if not named:
            raise ValueError(problem)
        raise QueryError(problem, at if space is None else int(self.flat.rows(space).query[at]))


def ranking_of(alignment: Alignment) -> Ranking:
    """The words over an alignment, which give arrays at once."""
    return Ranking(Eager(alignment), Facts.of(alignment))


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
