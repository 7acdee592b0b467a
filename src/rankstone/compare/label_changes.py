"""How far changed labels move the difference of two runs on each query, and how to spend changes over the queries.

Of metrics whose numerators add up over items and whose denominators depend on the grades alone (precision, recall, DCG,
nDCG), the best choice of so many changes is exact: changes of the same kind, from one grade to another, have the same
effect on the denominator, so the best of each kind are those with the best effect on the numerators. Of other metrics
all choices of a few changes are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, lengths
from rankstone.conventions.plan import Plan
from rankstone.evaluate.values import measure

_VECTORS = 1_000  # numbers of changes by kind that are tried for a query, more of them where there are few queries
_OF_ALL = 1_200_000  # of all queries
_SETS = 400  # sets of changes that are tried for a query
_ROWS = 4_000_000  # judged items of all sets that are measured
_AT_ONCE = 1 << 20
_NOISE = 1e-9
_SUMS = ("sum of hits", "sum of gains", "share of gains")


class LabelMove(NamedTuple):
    """A change of a label: of an item, by its number among all judged items, to a grade."""

    item: int
    grade: float


@dataclass(frozen=True, eq=False)
class Extremes:
    """The lowest and the highest difference of each query by number of changes, and the changes that reach them."""

    low: Floats  # (queries, changes + 1)
    high: Floats
    moves: Callable[[int, int, bool], list[LabelMove]]  # of a query, a number of changes, and whether for the highest
    complete: bool  # no further changes have an effect, so that the last column holds for all larger numbers
    bounds: Floats | None = None  # (2, queries, more changes) never exceeded, the last column by any number


@dataclass(frozen=True, eq=False)
class LabelledPair:
    """Two runs aligned with one truth that has all judged items, and the unjudged ones they return with grade 0."""

    plan: Plan
    first: Alignment
    second: Alignment
    unjudged: Bools  # by item of the truth
    targets: Callable[[float], Sequence[float]]  # other grades that a judged item may have

    @cached_property
    def sizes(self) -> Ints:
        """Items by query."""
        return lengths(self.first.truth_offsets)

    @cached_property
    def query(self) -> Ints:
        """The query of each item."""
        return np.repeat(np.arange(len(self.first)), self.sizes)

    @cached_property
    def grades(self) -> Floats:
        """The grade of each item."""
        return self.first.truth_grades

    def rank(self, run: Alignment) -> Ints:
        """The rank of each item in a run; 0: not returned."""
        ranks = np.zeros(len(self.grades), dtype=np.int64)
        ranks[run.truth_place] = run.rank
        return ranks

    @cached_property
    def _placed(self) -> list[Ints]:
        """By run: the row of each item, from its query's first; -1: not returned."""
        out = []
        for run in (self.first, self.second):
            rows = np.full(len(self.grades), -1, dtype=np.int64)
            rows[run.truth_place] = np.arange(len(run.rank)) - run.placed_offsets[run.query]
            out.append(rows)
        return out

    def differences(self, queries: Ints, moves: Sequence[Sequence[LabelMove]]) -> Floats:
        """The difference of each of some queries after its moves."""
        rows = np.cumsum(self.sizes[queries]) // _AT_ONCE
        parts = np.split(np.arange(len(queries)), np.flatnonzero(np.diff(rows)) + 1) if len(queries) else []
        differences = [self._differences(queries[part], [moves[at] for at in part.tolist()]) for part in parts]
        return np.concatenate(differences) if differences else np.zeros(0)

    def _differences(self, queries: Ints, moves: Sequence[Sequence[LabelMove]]) -> Floats:
        copy = np.repeat(np.arange(len(moves)), list(map(len, moves)))
        every = list(chain.from_iterable(moves))
        item = np.array([move.item for move in every], dtype=np.int64)
        grade = np.array([move.grade for move in every])
        first, second = self._copies(queries, copy, item, grade)
        return np.asarray(measure(self.plan, second, 0).values - measure(self.plan, first, 0).values)

    def _copies(self, queries: Ints, copy: Ints, item: Ints, grade: Floats) -> Iterator[Alignment]:
        """Both runs on copies of queries, with other grades of items; copy: which of the copies each change is of."""
        for run, placed in zip((self.first, self.second), self._placed, strict=True):
            copies = run.only(queries)
            truth, grades = copies.truth_grades.copy(), copies.grade.copy()
            truth[copies.truth_offsets[copy] + item - run.truth_offsets[queries[copy]]] = grade
            row = placed[item]
            returned = row >= 0
            grades[copies.placed_offsets[copy[returned]] + row[returned]] = grade[returned]
            yield copies.replace(truth_grades=truth, grade=grades, _ideal_grades=None)

    def relabelled(self, items: Ints, grades: Floats) -> Iterator[Alignment]:
        """Both runs with other grades of some items, once for each row of grades, one after the other."""
        many, times = len(self.first), len(grades)
        copy = np.arange(times)[:, None] * many + self.query[items]
        return self._copies(np.tile(np.arange(many), times), copy.ravel(), np.tile(items, times), grades.ravel())

    def drawn(self, items: Ints, grades: Floats) -> Floats:
        """The differences of all queries, for each row of grades of some items."""
        at_once = max(1, _AT_ONCE // max(len(self.grades), 1))
        parts = []
        for start in range(0, len(grades), at_once):
            first, second = self.relabelled(items, grades[start : start + at_once])
            parts.append(measure(self.plan, second).values - measure(self.plan, first).values)
        return np.concatenate(parts).reshape(len(grades), -1)

    @cached_property
    def base(self) -> Floats:
        """The differences as they are."""
        every = np.arange(len(self.first))
        return self.differences(every, [[] for _ in every])

    def moves_of(self, unjudged: bool, relevant: float) -> tuple[Ints, Floats]:
        """Every change, items and grades: of judged items to other grades, or of unjudged ones to a relevant grade."""
        items = np.flatnonzero(self.unjudged == unjudged)
        if unjudged:
            return items, np.full(len(items), relevant)
        changes = []
        for grade in np.unique(self.grades[items]):
            of_grade = items[self.grades[items] == grade]
            changes += [(of_grade, np.full(len(of_grade), to)) for to in self.targets(float(grade))]
        if not changes:
            return items[:0], np.zeros(0)
        rows, grades = (np.concatenate(parts) for parts in zip(*changes, strict=True))
        order = np.argsort(rows, kind="stable")
        return rows[order], grades[order]

    def extremes(self, unjudged: bool, relevant: float) -> Extremes:
        """The extremes by number of changes: of judged items, or of unjudged ones that become relevant."""
        items, grades = self.moves_of(unjudged, relevant)
        return _tried(self, items, grades) if self._sums is None else self._sums.extremes(items, grades)

    @cached_property
    def _sums(self) -> _Sums | None:
        return _Sums.of(self)


# -- sums over items ---------------------------------------------------------------------------------------------------


def _pseudo(rank: Ints, grade: Floats, many: Ints, deepest: int) -> Alignment:
    """Lists with one item at a rank (0: none), and a truth of so many items with its grade."""
    n, returned = len(grade), rank > 0
    offsets, placed = (np.append(0, np.cumsum(each)).astype(np.int64) for each in (many, returned))
    return Alignment(
        np.full(n, deepest), np.ones(n, dtype=bool), offsets, np.repeat(grade, many), None, placed, rank[returned],
        grade[returned], np.full(placed[-1], math.nan), np.ones(placed[-1], dtype=np.int64),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Sums:
    """The parts that items have in the difference of the numerators, and the denominators by counts of grades."""

    pair: LabelledPair
    scale: Floats  # the grades that items have or may get, ascending, the first without a gain
    terms: Floats  # (items, grades) an item's part at each grade in the difference of the numerators
    steps: Floats  # (grades, counts) what so many items at this grade or above add to the denominator
    base: Floats  # difference of the numerators by query
    levels: Ints  # (queries, grades) items at each grade or above
    fixed: Floats | None  # denominators that do not depend on the grades

    @classmethod
    def of(cls, pair: LabelledPair) -> _Sums | None:
        """None where the metric, as it is chosen, is no such sum."""
        plan = pair.plan
        declared = plan.metric.declaration
        growth = declared.monotonicity(plan.arguments)
        if growth not in _SUMS and not (declared.counts_hits and growth == "share"):
            return None
        empty = plan.choices["no_relevant"], plan.choices["both_empty"]
        if plan.choices["undefined"] != 0 or empty != (None, None):
            return None
        scale = np.unique(
            [0.0, *pair.grades, *(to for grade in np.unique(pair.grades) for to in pair.targets(grade)), 1.0]
        )
        ranks = [pair.rank(run) for run in (pair.first, pair.second)]
        deepest, most = int(max(rank.max(initial=0) for rank in ranks)), int(pair.sizes.max(initial=0))
        if scale[0] < 0:
            return None
        shape = np.indices((deepest + 1, len(scale))).reshape(2, -1)
        single = measure(plan, _pseudo(shape[0], scale[shape[1]], np.ones(shape.shape[1], dtype=np.int64), deepest))
        gains = single.ratio.numerator.reshape(deepest + 1, len(scale))
        terms = gains[ranks[1]] - gains[ranks[0]]
        counts = np.indices((len(scale), most + 1)).reshape(2, -1)
        whole = measure(plan, _pseudo(np.zeros(counts.shape[1], dtype=np.int64), scale[counts[0]], counts[1], deepest))
        below = whole.ratio.denominator.reshape(len(scale), most + 1)
        measured = [measure(plan, run).ratio for run in (pair.first, pair.second)]
        if not np.array_equal(measured[0].denominator, measured[1].denominator):
            return None
        codes = np.searchsorted(scale, pair.grades)
        levels = np.stack([_by_query(pair, codes >= at) for at in range(len(scale))], axis=1).astype(np.int64)
        constant = growth in _SUMS[:2]
        steps = np.diff(np.vstack([np.zeros(most + 1), below]), axis=0)
        self = cls(
            pair, scale, terms, steps, measured[1].numerator - measured[0].numerator, levels,
            measured[0].denominator if constant else None,
        )  # fmt: skip
        numerators = _by_query(pair, terms[np.arange(len(codes)), codes])
        if not np.allclose(numerators, self.base, atol=1e-9) or gains[0].any():
            return None
        if constant:
            return self
        same = np.allclose(self.denominators(levels[:, None])[:, 0], measured[0].denominator, atol=1e-9)
        return self if same else None

    def denominators(self, levels: Ints) -> Floats:
        """The denominators of queries with so many items at each grade or above."""
        return np.asarray(sum(self.steps[at][levels[..., at]] for at in range(len(self.scale))))

    def extremes(self, items: Ints, grades: Floats) -> Extremes:
        """The extremes by number of changes of each kind."""
        own, to = (np.searchsorted(self.scale, each) for each in (self.pair.grades[items], grades))
        gains = np.asarray(self.terms[items, to] - self.terms[items, own])
        if self.fixed is not None:
            return self._by_item(items, grades, gains, self.fixed)
        pair, many = self.pair, len(self.pair.first)
        # A kind of change that reaches no other level is of no use.
        codes = own * len(self.scale) + to
        reaches = np.array(
            [self.steps[min(a, b) + 1 : max(a, b) + 1].any() for a, b in zip(own, to, strict=True)], bool
        )
        useful = np.isin(codes, np.unique(codes[reaches | (gains != 0)]))
        items, grades, gains, codes = items[useful], grades[useful], gains[useful], codes[useful]
        kinds = np.unique(codes).tolist()
        most = _most_items(pair, items)
        vectors = _vectors(len(kinds), most, max(_VECTORS, min(_OF_ALL // many, 20 * _VECTORS)))
        depth = int(vectors.sum(axis=1).max(initial=0))
        chains = {(at, high): self._chain(items[codes == kind], grades[codes == kind], gains[codes == kind], high)
                  for at, kind in enumerate(kinds) for high in (False, True)}  # fmt: skip
        prefix = np.full((2, many, len(kinds), depth + 1), np.inf)
        prefix[..., 0] = 0.0
        for (at, highest), kind_chain in chains.items():
            query = pair.query[kind_chain.items]
            within = np.arange(len(query)) - kind_chain.starts[query]
            fits = within < depth
            sums = np.concatenate((np.zeros(1), np.cumsum(kind_chain.gains)))
            prefix[int(highest), query[fits], at, within[fits] + 1] = (sums[1:] - sums[kind_chain.starts[query]])[fits]
        shift, taken = np.zeros((2, len(vectors), len(self.scale)), dtype=np.int64)
        for at, kind in enumerate(kinds):
            grade, other = divmod(kind, len(self.scale))
            change = vectors[:, at, None] if other > grade else -vectors[:, at, None]
            shift[:, min(grade, other) + 1 : max(grade, other) + 1] += change
            taken[:, grade] += vectors[:, at]  # items that change, by grade
        distinct = np.unique(items)
        cells = pair.query[distinct] * len(self.scale) + np.searchsorted(self.scale, pair.grades[distinct])
        changeable = np.bincount(cells, minlength=many * len(self.scale)).reshape(many, -1)
        table = _Table(vectors, shift, taken, prefix, changeable)
        ends = np.zeros((2, many, depth + 1))
        starts = np.searchsorted(vectors.sum(axis=1), np.arange(depth + 1))
        for part in np.array_split(np.arange(many), max(1, many * len(vectors) // _AT_ONCE)):
            for high, sign in ((0, 1), (1, -1)):
                least = np.minimum.reduceat(self._values(part, table, high), starts, axis=1)
                ends[high, part] = sign * np.minimum.accumulate(least, axis=1)
        complete = depth >= most
        bounds = None if complete else self._bounds(items, gains, ends)

        def moves(query: int, changes: int, high: bool) -> list[LabelMove]:
            values = self._values(np.array([query]), table, int(high))[0]
            best = vectors[int(np.argmin(np.where(vectors.sum(axis=1) <= changes, values, np.inf)))]
            out = []
            for at, kind in enumerate(kinds):
                start = int(chains[at, high].starts[query])
                to = float(self.scale[kind % len(self.scale)])
                out += [LabelMove(int(item), to) for item in chains[at, high].items[start : start + int(best[at])]]
            return out

        return Extremes(ends[0], ends[1], moves, complete, bounds)

    def _bounds(self, items: Ints, gains: Floats, ends: Floats) -> Floats:
        """Extremes that are never exceeded, for more changes than all numbers by kind were tried for."""
        pair, (_, many, columns) = self.pair, ends.shape
        depth = columns + 24
        best = np.stack([_prefix_sums(pair.query, items, sign * gains, many, depth) for sign in (1, -1)])
        # What so many changes take from the denominator, if each could lower any level.
        lowered = np.zeros((many, depth + 1))
        for at in range(len(self.scale)):
            number = np.clip(self.levels[:, at, None] - np.arange(depth + 1), 0, None)
            taken = self.steps[at][self.levels[:, at]][:, None] - self.steps[at][number]
            if taken.any():
                lowered = np.stack(
                    [(lowered[:, : changes + 1] + taken[:, changes::-1]).max(axis=1) for changes in range(depth + 1)],
                    axis=1,
                )
        under = self.denominators(self.levels)[:, None] - lowered
        out = np.empty((2, many, depth + 2))
        for high, sign in ((0, 1), (1, -1)):
            over = sign * self.base[:, None] + best[high]
            with np.errstate(divide="ignore", invalid="ignore"):
                bound = np.where(over >= 0, 0.0, np.where(under > _NOISE, np.maximum(over / under, -1.0), -1.0))
            bound = np.column_stack([bound, np.full(many, -1.0)])
            bound[:, :columns] = sign * ends[high]
            out[high] = sign * np.minimum.accumulate(bound, axis=1)
        return out

    def _chain(self, items: Ints, grades: Floats, gains: Floats, high: bool) -> _Chain:
        """The changes of a kind, the best first. Those that raise a grade begin at one end of the items, those that
        lower it at the other, so that no item changes twice."""
        raises = bool((grades > self.pair.grades[items]).all())
        turn = 1 if raises != high else -1
        sort = np.lexsort(
            (turn * items, turn * self.terms[items, -1], -gains if high else gains, self.pair.query[items])
        )
        starts = np.searchsorted(self.pair.query[items[sort]], np.arange(len(self.pair.first) + 1))
        return _Chain(items[sort], starts, gains[sort])

    def _by_item(self, items: Ints, grades: Floats, gains: Floats, fixed: Floats) -> Extremes:
        """Denominators are fixed: the changes with the largest gains, each item once."""
        pair, many, most = self.pair, len(self.pair.first), _most_items(self.pair, items)
        sums = (sign * _prefix_sums(pair.query, items, sign * gains, many, most) for sign in (1, -1))
        low, high = (_ratio(self.base[:, None] + each, fixed[:, None]) for each in sums)
        query = pair.query[items]

        def moves(at: int, changes: int, high: bool) -> list[LabelMove]:
            own = np.flatnonzero((query == at) & ((gains > 0) if high else (gains < 0)))
            best: dict[int, float] = {}
            for change in own[np.argsort(-np.abs(gains[own]), kind="stable")].tolist():
                best.setdefault(int(items[change]), float(grades[change]))
            return [LabelMove(*move) for move in list(best.items())[:changes]]

        return Extremes(low, high, moves, True)

    def _values(self, part: Ints, table: _Table, high: int) -> Floats:
        """The differences of some queries after each vector of changes, turned if the highest are wanted."""
        levels = np.clip(self.levels[part][:, None] + table.shift, 0, self.steps.shape[1] - 1)
        under = self.denominators(levels)
        possible = (table.taken <= table.changeable[part][:, None]).all(axis=2)
        over = np.repeat(self.base[part][:, None], len(table.vectors), axis=1)
        for at, number in enumerate(table.vectors.T):
            over += table.prefix[high][part, at][:, number]
        values = _ratio(over, under)
        return np.where(possible & np.isfinite(over), -values if high else values, np.inf)


class _Chain(NamedTuple):
    """Items by query, those that change first in front, and what each change adds to the numerators."""

    items: Ints
    starts: Ints
    gains: Floats


class _Table(NamedTuple):
    """Numbers of changes by kind, what they do to counts of grades, sums of their gains, and how many are possible."""

    vectors: Ints
    shift: Ints
    taken: Ints
    prefix: Floats
    changeable: Ints


def _ratio(over: Floats, under: Floats) -> Floats:
    """Numerators over denominators; 0 where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(under != 0, over / under, 0.0)


def _most_items(pair: LabelledPair, items: Ints) -> int:
    """The largest number of different items of a query."""
    return int(np.bincount(pair.query[np.unique(items)], minlength=1).max(initial=0))


def _by_query(pair: LabelledPair, values: Any) -> Floats:
    return np.bincount(pair.query, np.asarray(values, dtype=float), minlength=len(pair.first)).astype(float)


def _vectors(kinds: int, most: int, limit: int) -> Ints:
    """Numbers of changes by kind, with as many changes together as there is room for."""
    depth = most
    while depth > 1 and math.comb(depth + kinds, kinds) > limit:
        depth -= 1
    if not kinds:
        return np.zeros((1, 0), dtype=np.int64)
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds):
        left = depth - rows.sum(axis=1)
        number = np.repeat(np.arange(len(rows)), left + 1)
        more = np.arange(len(number)) - np.repeat(np.cumsum(left + 1) - (left + 1), left + 1)
        rows = np.column_stack([rows[number], more])
    return rows[np.argsort(rows.sum(axis=1), kind="stable")]


def _prefix_sums(query: Ints, items: Ints, gains: Floats, many: int, depth: int) -> Floats:
    """The sum of the lowest gains of each query, by number of changes, where an item can change once."""
    best = np.full(len(query), np.inf)
    np.minimum.at(best, items, np.minimum(gains, 0.0))
    own = np.flatnonzero(best < 0)
    own = own[np.lexsort((best[own], query[own]))]
    within = np.arange(len(own)) - np.searchsorted(query[own], np.arange(many))[query[own]]
    fits = within < depth
    steps = np.zeros((many, depth + 1))
    steps[query[own[fits]], within[fits] + 1] = best[own[fits]]
    return np.asarray(np.cumsum(steps, axis=1))


# -- other metrics -----------------------------------------------------------------------------------------------------


def _tried(pair: LabelledPair, items: Ints, grades: Floats) -> Extremes:
    """The extremes over all sets of a few changes, which are measured one by one."""
    by_query: list[dict[int, list[float]]] = [{} for _ in range(len(pair.first))]
    for query, item, grade in zip(pair.query[items].tolist(), items.tolist(), grades.tolist(), strict=True):
        by_query[query].setdefault(item, []).append(grade)
    reduced = [_distinct(pair, own) for own in by_query]
    depth = _depth(pair, reduced)
    queries, moves = [], []
    for query, own in enumerate(reduced):
        for size in range(1, depth + 1):
            for chosen_items in combinations(own, size):
                for others in product(*(own[item] for item in chosen_items)):
                    queries.append(query)
                    moves.append([LabelMove(*each) for each in zip(chosen_items, others, strict=True)])
    values = pair.differences(np.array(queries, dtype=np.int64), moves)
    many = len(pair.first)
    ends = np.repeat(pair.base[None, :, None], 2, axis=0).repeat(depth + 1, axis=2)
    chosen: dict[tuple[int, int, bool], list[LabelMove]] = {}
    for query, own_moves, value in zip(queries, moves, values.tolist(), strict=True):
        for changes in range(len(own_moves), depth + 1):
            for high in (False, True):
                end = ends[int(high), query, changes]
                if (value > end) if high else (value < end):
                    ends[int(high), query, changes] = value
                    chosen[query, changes, high] = own_moves
    complete = all(len(by_query[query]) <= depth for query in range(many))
    return Extremes(ends[0], ends[1], lambda *key: chosen.get(key, []), complete)


def _distinct(pair: LabelledPair, own: dict[int, list[float]], most: int = 2) -> dict[int, list[float]]:
    """Without items that both runs lack, where others have the same grade: they are all alike."""
    seen: dict[float, int] = {}
    out = {}
    placed = pair._placed
    for item, grades in own.items():
        if placed[0][item] < 0 and placed[1][item] < 0:
            grade = float(pair.grades[item])
            seen[grade] = seen.get(grade, 0) + 1
            if seen[grade] > most:
                continue
        out[item] = grades
    return out


def _depth(pair: LabelledPair, reduced: Sequence[dict[int, list[float]]]) -> int:
    """How many changes of a query at a time can be tried."""
    most = max(map(len, reduced), default=0)
    for depth in range(8, 1, -1):
        if most > depth and math.comb(most, depth) > _SETS:
            continue
        counts = [_sets(own, depth) for own in reduced]
        if max(counts, default=0) <= _SETS and float(np.dot(counts, pair.sizes)) <= _ROWS:
            return depth
    return 1


def _sets(own: dict[int, list[float]], depth: int) -> int:
    if len(own) > _SETS:
        return _SETS + 1
    ways = np.ones(1)
    for grades in own.values():
        ways = np.convolve(ways, [1.0, len(grades)])[: depth + 1]
    return int(min(ways.sum(), 1e9))


# -- spending changes over queries -----------------------------------------------------------------------------------


class ChangePlan(NamedTuple):
    """The largest total gain by number of changes, and how many changes each query has in it."""

    total: Floats
    chosen: Ints  # (queries, changes): of all queries up to this one

    def by_query(self, changes: int) -> Ints:
        """Changes of each query in the best spending of so many."""
        out = np.zeros(len(self.chosen), dtype=np.int64)
        for query in range(len(self.chosen) - 1, -1, -1):
            out[query] = self.chosen[query, changes]
            changes -= int(out[query])
        return out


def spend(gains: Floats, budget: int) -> ChangePlan:
    """The best spending of up to `budget` changes; gains: (queries, changes + 1), which never fall."""
    total = np.zeros(budget + 1)
    chosen = np.zeros((len(gains), budget + 1), dtype=np.int64)
    for query, own in enumerate(gains):
        best = total.copy()
        last = -np.inf
        for changes in range(1, min(len(own), budget + 1)):
            if own[changes] <= max(last, own[0]):
                continue
            last = own[changes]
            value = total[: budget + 1 - changes] + own[changes]
            better = value > best[changes:]
            best[changes:][better] = value[better]
            chosen[query, changes:][better] = changes
        total = best
    return ChangePlan(total, chosen)


def least_changes(gains: Floats, need: float) -> int | None:
    """The least number of changes whose best spending gains as much; None: none does."""
    if need <= 0:
        return 0
    if float(gains.max(axis=1).clip(0).sum()) < need:
        return None
    steps, rows = _steepest(gains)
    order = np.argsort(-steps, kind="stable")
    changes = int(np.argmax(np.cumsum(steps[order]) >= need - _NOISE * _NOISE)) + 1  # fewer cannot be enough
    chosen = np.bincount(rows[order[:changes]], minlength=len(gains))
    if float(gains[np.arange(len(gains)), chosen].sum()) >= need:
        return changes
    budget = changes + 8
    while True:
        total = spend(gains, budget).total
        if total[-1] >= need:
            return int(np.argmax(total >= need))
        budget *= 2


def _steepest(gains: Floats) -> tuple[Floats, Ints]:
    """The steps of the least concave functions above the gains, and the row of each: they never rise along a row."""
    steps = np.diff(np.maximum.accumulate(np.maximum(gains, 0.0), axis=1), axis=1, prepend=0.0)[:, 1:]
    for row in np.flatnonzero((np.diff(steps, axis=1) > 0).any(axis=1)):
        own = np.concatenate((np.zeros(1), np.cumsum(steps[row])))
        at = 0
        while at < len(own) - 1:
            slopes = (own[at + 1 :] - own[at]) / np.arange(1, len(own) - at)
            end = at + 1 + int(np.flatnonzero(slopes == slopes.max())[-1])
            steps[row, at:end] = slopes.max()
            at = end
    rows, _ = np.nonzero(steps > 0)
    return steps[steps > 0], rows
