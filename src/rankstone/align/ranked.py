"""`Ranked`: where the judged items landed, as flat NumPy arrays. From here on there are no ids, frames or strings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankstone.align import agree
from rankstone.align.ranking import (
    NO_WEIGHTS,
    Depth,
    Discount,
    Functions,
    Ideal,
    Relevance,
    Values,
    Views,
    Worth,
)
from rankstone.align.ties import SHARED, TieGroups, by_grade, by_worth, reversed_rank, shared_rank
from rankstone.errors import NoExpectedValue, QueryError
from rankstone.inputs.id_encoder import all_in_order
from rankstone.inputs.notes import Notes, ranges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
T = TypeVar("T")

_FAR = 1 << 15  # ranks that are added up one by one, and at a time


class NumPyFunctions(Functions):
    """The plain functions, straight from NumPy."""

    xp = np
    where: Any = staticmethod(np.where)
    minimum: Any = staticmethod(np.minimum)
    maximum: Any = staticmethod(np.maximum)
    log2: Any = staticmethod(np.log2)
    log: Any = staticmethod(np.log)
    sqrt: Any = staticmethod(np.sqrt)
    abs: Any = staticmethod(np.abs)
    floor: Any = staticmethod(np.floor)
    ceil: Any = staticmethod(np.ceil)
    round: Any = staticmethod(np.round)

    def power(self, base: float, exponent: Values) -> Values:
        with np.errstate(over="ignore"):
            return base**exponent


NUMPY: Functions = NumPyFunctions()


class Ranked(NumPyFunctions, Views):
    """Where the judged items landed: flat arrays sorted by query, then rank.

    An item is *placed* if it was judged and the run returned it. One entry a query: `retrieved` (how many items the run
    returned), `present` (is it in the run at all). One a judged item: `truth_grades`, in the order of the truth as
    given, and `ideal_grades`, the same with each query's in descending order; query q's are
    [truth_offsets[q]:truth_offsets[q + 1]]. One a placed item: `rank` (from 1), `grade`, `score` (NaN where the run is
    only an order) and `place` (from 1: the item's position in its query's truth as given); query q's are
    [placed_offsets[q]:placed_offsets[q + 1]]. Where scores are tied, `above` is how many items have a higher score and
    `tied` how many have the same, the item itself included; both are None where nothing is.
    """

    def __init__(
        self,
        retrieved: Ints,
        present: Bools,
        truth_offsets: Ints,
        truth_grades: Floats,
        ideal_grades: Floats | None,
        placed_offsets: Ints,
        rank: Ints,
        grade: Floats,
        score: Floats,
        place: Ints,
        above: Ints | None = None,
        tied: Ints | None = None,
        *,
        ordered_truth: bool = False,
        ordered_grades: bool = False,
        rule: Relevance | None = None,
        notes: Notes | None = None,
    ) -> None:
        self.__dict__.update(
            retrieved=retrieved,
            present=present,
            truth_offsets=truth_offsets,
            truth_grades=truth_grades,
            _ideal_grades=ideal_grades,
            placed_offsets=placed_offsets,
            rank_unchecked=rank,
            grade=grade,
            score=score,
            place=place,
            above=above,
            tied=tied,
            ordered_truth=ordered_truth,  # the truth came as an order, without grades
            ordered_grades=ordered_grades,
            rule=rule or Relevance(),
            notes=notes,  # what else the truth says of each judged item
            _judged=None,  # how many items the truth judges, where not all of them are known here
            unjudged=None,  # how many returned items nobody judged, where they count as graded 0
            misses=None,  # placed items that count as if they were not relevant
            best=None,
            _memo={},
        )

    retrieved: Ints
    present: Bools
    truth_offsets: Ints
    truth_grades: Floats
    _ideal_grades: Floats | None
    placed_offsets: Ints
    rank_unchecked: Ints  # also where ties are averaged
    grade: Floats
    score: Floats
    place: Ints
    above: Ints | None
    tied: Ints | None
    ordered_truth: bool
    notes: Notes | None
    _judged: Floats | None
    unjudged: Ints | None
    misses: Bools | None
    best: bool | None
    _memo: dict[Any, Any]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a ranking does not change: make another with replace({name}=...)")

    def replace(self, **changes: object) -> Ranked:
        """A copy that shares all arrays but these."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def fields(self) -> tuple[Any, ...]:
        """Its arrays: a view that has the same differs only in how it is looked at."""
        return (
            self.retrieved, self.present, self.truth_offsets, self.truth_grades, self._ideal_grades,
            self.placed_offsets, self.rank_unchecked, self.grade, self.score, self.place, self.above, self.tied,
            self.notes, self._judged, self.unjudged, self.misses,
        )  # fmt: skip

    # -- views ---------------------------------------------------------------------------------------------

    def judged_by(self, rule: Relevance) -> Ranked:
        if rule == self.rule:
            return self
        return self.remember(("view", rule), lambda: self.replace(rule=rule))

    def with_ties(self, ties: str) -> Ranked:
        above, tied = self.above, self.tied
        if above is None or tied is None:
            return self
        if ties == "expected":
            return self.remember(ties, lambda: self.replace(expected=True))
        if ties in SHARED:
            rank = shared_rank(above, tied, ties)
            return self.remember(ties, lambda: self.replace(rank_unchecked=rank, shared=True))
        return self.remember(ties, lambda: self._placed_at(*by_grade(self, ties), above=None, tied=None))

    def arranged(self, worth: Floats, best: bool) -> Ranked:
        if self.tied is None:
            return self.replace(best=best)
        return self._placed_at(*by_worth(self, worth, best), above=None, tied=None, best=best)

    def ties_reversed(self) -> Ranked:
        """The same with items of equal scores the other way round."""
        if self.above is None or self.tied is None:
            return self
        rank = reversed_rank(self.rank_unchecked, self.above, self.tied)
        order = np.lexsort((rank, self.query))
        return self._placed_at(order, rank[order])

    def _placed_at(self, order: Ints, rank: Ints, **changes: object) -> Ranked:
        """The placed items in another order of the same queries, with other ranks."""
        return self.replace(**{**self._placed_of(order, self.placed_offsets), "rank_unchecked": rank, **changes})

    def within_the_list(self) -> Ranked:
        def view() -> Ranked:
            changes: dict[str, Any] = {"unjudged": self.retrieved - lengths(self.placed_offsets), "listed": True}
            if len(self.grade) < len(self.truth_grades):  # not all that was judged was returned
                at = np.lexsort((self.place, self.query))  # as the truth has them
                changes |= {"truth_offsets": self.placed_offsets, "truth_grades": self.grade[at]}
                changes |= {"_ideal_grades": None, "_judged": self.judged}
            return self.replace(**changes)

        return self.remember("within the list", view)

    def condensed(self) -> Ranked:
        def view() -> Ranked:
            kept = self.with_placed(self.grade >= 0)
            sizes = lengths(kept.placed_offsets)
            nth = np.arange(1, len(kept.grade) + 1) - np.repeat(kept.placed_offsets[:-1], sizes)
            above = tied = None
            level = kept._group_sizes()
            if (level > 1).any():
                above, tied = np.repeat(nth[kept.group_starts] - 1, level), np.repeat(level, level)
            return kept.replace(retrieved=sizes, rank_unchecked=nth, above=above, tied=tied)

        return self.remember("condensed", view)

    def above_zero(self) -> Ranked:
        return self.remember("above zero", lambda: self.replace(misses=self.score <= 0))

    def only(self, queries: Bools | Ints) -> Ranked:
        """The same ranking of some queries only: a mask, or their numbers, in any order and as often as wanted."""
        at = np.flatnonzero(queries) if queries.dtype == np.bool_ else np.asarray(queries, dtype=np.int64)
        if all_in_order(at, len(self)):
            return self
        judged, truth_offsets = ranges(self.truth_offsets, at)
        placed, placed_offsets = ranges(self.placed_offsets, at)
        return self.replace(
            retrieved=self.retrieved[at],
            present=self.present[at],
            truth_offsets=truth_offsets,
            truth_grades=self.truth_grades[judged],
            _ideal_grades=self.ideal_grades[judged],
            notes=None if self.notes is None else self.notes.only(judged),
            _judged=None if self._judged is None else self._judged[at],
            unjudged=None if self.unjudged is None else self.unjudged[at],
            **self._placed_of(placed, placed_offsets),
        )

    def with_placed(self, keep: Bools) -> Ranked:
        """The same ranking without some of the placed items: unjudged ones take their places."""
        running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(keep, dtype=np.int64)))
        return self.replace(**self._placed_of(np.flatnonzero(keep), running[self.placed_offsets]))

    def _placed_of(self, at: Ints, placed_offsets: Ints) -> dict[str, Any]:
        return {
            "placed_offsets": placed_offsets,
            "rank_unchecked": self.rank_unchecked[at],
            "grade": self.grade[at],
            "score": self.score[at],
            "place": self.place[at],
            "misses": None if self.misses is None else self.misses[at],
            "above": None if self.above is None else self.above[at],
            "tied": None if self.tied is None else self.tied[at],
        }

    def with_truth(self, offsets: Ints, grades: Floats) -> Ranked:
        """The same ranking beside other grades of the truth, where the list does not hold all of them."""
        inside = grades[offsets[0] : offsets[-1]]
        starts = np.asarray(offsets, dtype=np.int64) - offsets[0]
        best = -sorted_within(-inside, starts)
        return self.replace(truth_offsets=starts, truth_grades=inside, _ideal_grades=best, ordered_grades=True)

    def as_one_list(self) -> Ranked:
        """All queries as one: every placed item in a single list, by score."""
        return self.remember("as one list", self._one_list)

    def _one_list(self) -> Ranked:
        order = np.argsort(-self.score, kind="stable")
        n = len(order)
        values, first, counts = np.unique(-self.score[order], return_index=True, return_counts=True)
        tied = len(values) < n
        changes = {
            "retrieved": np.array([self.retrieved.sum()]),
            "present": np.array([True]),
            "truth_offsets": np.array([0, len(self.truth_grades)]),
            "_ideal_grades": -np.sort(-self.truth_grades),
            "_judged": None if self._judged is None else np.array([self._judged.sum()]),
            "unjudged": None if self.unjudged is None else np.array([self.unjudged.sum()]),
            "rank_unchecked": np.arange(1, n + 1),
            "above": np.repeat(first, counts) if tied else None,
            "tied": np.repeat(counts, counts) if tied else None,
            "expected": False,
            "shared": False,
            "best": None,
        }
        return self.replace(**{**self._placed_of(order, np.array([0, n])), **changes})

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Ranked:
        if worth is None:
            return self.remember(("ideal", items), lambda: self._ideal(items))
        view = self._ideal("given" if self.rule.credit == "weight" else items)  # where each item is itself
        gains = worth(view)
        order = np.lexsort((-gains, view.query))
        return view.replace(grade=view.grade[order], place=view.place[order])

    def _ideal(self, items: Ideal) -> Ranked:
        offsets, grades, unjudged = self.truth_offsets, self.ideal_grades, self.unjudged
        if items == "retrieved":
            offsets, grades = self.placed_offsets, -sorted_within(-self.grade, self.placed_offsets)
        elif items == "given":
            grades, unjudged = self.truth_grades, None
        elif items == "nonzero":
            keep = grades != 0
            offsets, grades = np.concatenate(([0], np.cumsum(keep)))[offsets], grades[keep]
        sizes = lengths(offsets)
        rank = np.arange(1, len(grades) + 1) - np.repeat(offsets[:-1], sizes)
        if unjudged is not None and items in ("judged", "retrieved"):  # as grade 0, they come before the negative ones
            rank += np.where(grades < 0, np.repeat(unjudged, sizes), 0)
        return self.replace(
            placed_offsets=offsets,
            rank_unchecked=rank,
            grade=grades,
            place=rank,
            score=np.full(len(grades), np.nan),
            misses=None,
            above=None,
            tied=None,
            expected=False,
            shared=False,
        )

    # -- sizes and indices -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.retrieved)

    @property
    def rank(self) -> Ints:
        """Rank of each placed item, from 1."""
        self.need_order()
        return self.rank_unchecked

    @property
    def query(self) -> Ints:
        """Index of each placed item's query."""
        return self.remember("query", lambda: np.repeat(np.arange(len(self)), lengths(self.placed_offsets)))

    @property
    def ideal_grades(self) -> Floats:
        """The grades of all judged items, each query's in descending order."""
        if self._ideal_grades is not None:
            return self._ideal_grades
        return self.remember("ideal_grades", lambda: -sorted_within(-self.truth_grades, self.truth_offsets))

    @property
    def judged(self) -> Floats:
        """How many items each query's truth judges."""
        if self._judged is not None:
            return self._judged
        return self.remember("judged", lambda: lengths(self.truth_offsets).astype(np.float64))

    @property
    def placed(self) -> Floats:
        """How many items of each query were judged and returned."""
        return self.remember("placed", lambda: lengths(self.placed_offsets).astype(np.float64))

    @property
    def relevant(self) -> Floats:
        """How many relevant items each query's truth has."""

        def count() -> Floats:
            whole = self.relevance(self.truth_grades)
            return self._sum_truth(whole if self.rule.credit != "weight" else whole * self._truth_weight)

        return self.remember("relevant", count)

    @property
    def weight(self) -> Floats:
        """What the truth says that each placed item weighs."""
        return self.remember("weight", lambda: self._truth_weight[self.truth_place])

    @property
    def _truth_weight(self) -> Floats:
        found = None if self.notes is None else self.notes.weight
        if found is None and len(self.truth_grades):
            raise ValueError(NO_WEIGHTS)
        return np.zeros(0) if found is None else found

    @property
    def truth_place(self) -> Ints:
        """Where each placed item stands among all judged items of all queries, in the order of the truth."""
        return self.truth_offsets[self.query] + self.place - 1

    @property
    def nonrelevant(self) -> Floats:
        """How many items each query's truth judges not relevant (a negative grade is no judgement)."""

        def count() -> Floats:
            below = (self.truth_grades >= 0) & (self.relevance(self.truth_grades) == 0)
            judged = self._sum_truth(below.astype(np.float64))
            return judged if self.unjudged is None else judged + self.unjudged

        return self.remember("nonrelevant", count)

    @property
    def highest_grade(self) -> float:
        """Of the whole truth, all queries together; at least 0."""
        return self.remember("highest_grade", lambda: float(self.truth_grades.max(initial=self.grade.max(initial=0.0))))

    @property
    def credit(self) -> Floats:
        """What each placed item counts: 1 if relevant, else 0."""

        def credit() -> Floats:
            whole = self.weighted(self.relevance(self.grade))
            return whole if self.misses is None else np.where(self.misses, 0.0, whole)

        return self.remember("credit", credit)

    @property
    def items_above(self) -> Ints:
        """How many items have a higher score than each placed one."""
        return self.rank_unchecked - 1 if self.above is None else self.above

    @property
    def items_level(self) -> Ints:
        """How many items have the same score, itself included."""
        return np.ones_like(self.rank_unchecked) if self.tied is None else self.tied

    @property
    def bad_so_far(self) -> Floats:
        self.need_order()
        bad = self.running(self.judged_bad)
        if self.unjudged is None:
            return bad
        placed_above = np.arange(len(bad)) - self.placed_offsets[self.query]
        return bad + (self.rank - 1 - placed_above)  # what nobody judged counts as not relevant

    @property
    def predicted(self) -> Floats:
        """The scores, where they predict the grades."""
        if np.isnan(self.score).any():
            raise ValueError("a prediction error needs scores, and the run is only an order of items")
        return self.score

    # -- from items to queries and back ----------------------------------------------------------------------

    def per_query(self, value: Values) -> Floats:
        if isinstance(value, np.ndarray):
            return value.astype(np.float64)
        return np.full(len(self), float(value))

    def number(self, condition: Bools) -> Floats:
        return condition.astype(np.float64)

    def every(self, condition: Bools) -> bool:
        return bool(condition.all())

    def spread(self, values: Values) -> Values:
        return values[self.query] if isinstance(values, np.ndarray) else values

    def sum(self, values: Floats, k: Depth = None) -> Floats:
        if self.expected and not self._covers(k):
            return self._sum(values * self._chance(k))
        return self._sum_inside(values, k)

    def _sum_inside(self, values: Floats, k: Depth) -> Floats:
        """Sum of one value a placed item in the first k places, by query."""
        return self._sum(values if self._covers(k) else np.where(self._inside(k), values, 0.0))

    def _sum(self, values: Floats) -> Floats:
        """Sum of one value a placed item, by query."""
        return segment_sums(
            values, self.placed_offsets, self.remember("starts", lambda: starts_of(self.placed_offsets))
        )

    def _sum_truth(self, values: Floats) -> Floats:
        """Sum of one value a judged item, by query."""
        starts = self.remember("truth_starts", lambda: starts_of(self.truth_offsets))
        return segment_sums(values, self.truth_offsets, starts)

    def _covers(self, k: Depth) -> bool:
        """Do the first k places hold all that was placed."""
        return k is None or (not isinstance(k, np.ndarray) and k >= self.deepest)

    def _inside(self, k: Depth) -> Bools:
        return self.rank_unchecked <= self.spread(k)

    def _chance(self, k: Depth) -> Floats:
        """For each placed item the chance to be in the first k places, over all orders of tied items."""
        return np.clip(self.spread(k) - self.items_above, 0, self.items_level) / self.items_level

    def running(self, values: Floats) -> Floats:
        total = np.cumsum(values)
        before = np.concatenate(([0.0], total))[self.placed_offsets[:-1]]
        return total - np.repeat(before, lengths(self.placed_offsets))

    def surviving(self, stops: Floats) -> Floats:
        out = np.empty(len(stops))
        reading = np.ones(len(self))
        size = lengths(self.placed_offsets)
        active = np.flatnonzero(size)
        for step in range(int(size.max(initial=0))):  # one step a depth, all queries at once
            active = active[size[active] > step]
            at = self.placed_offsets[active] + step
            out[at] = reading[active]
            reading[active] *= 1.0 - stops[at]
        return out

    def highest(self, values: Floats) -> Floats:
        return self._reduced(np.maximum, values, 0.0)

    @property
    def first_rank(self) -> Floats:
        def first() -> Floats:
            return self._reduced(np.minimum, np.where(self.credit > 0, self.rank, np.inf), np.inf)

        return self.remember("first", first)

    def _reduced(self, function: np.ufunc, values: Floats, empty: float) -> Floats:
        out = np.full(len(self), empty)
        starts = self.remember("starts", lambda: starts_of(self.placed_offsets))
        if len(values):
            some = slice(None) if starts is None else starts[0]
            out[some] = function.reduceat(values, self.placed_offsets[:-1][some])
        return out

    @property
    def group_starts(self) -> Ints:
        """Index of the first of each set of tied items."""

        def starts() -> Ints:
            if self.above is None:
                return np.arange(len(self.rank_unchecked))
            first = np.ones(len(self.above), dtype=bool)
            first[1:] = (self.above[1:] != self.above[:-1]) | (self.query[1:] != self.query[:-1])
            return np.flatnonzero(first)

        return self.remember("group_starts", starts)

    def _group_sizes(self) -> Ints:
        return self.remember("group_sizes", lambda: np.diff(np.append(self.group_starts, len(self.grade))))

    def higher(self, values: Floats) -> Floats:
        before = self.running(values) - values
        return before if self.above is None else np.repeat(before[self.group_starts], self._group_sizes())

    def level(self, values: Floats) -> Floats:
        if self.above is None or not len(values):
            return values
        return np.repeat(np.add.reduceat(values, self.group_starts), self._group_sizes())

    # -- discounts -------------------------------------------------------------------------------------------

    def discounted(self, gains: Floats, discount: Discount, k: Depth = None) -> Floats:
        if self.expected and self.above is not None and self.tied is not None:
            table = np.concatenate(([0.0], np.cumsum(self._table(discount)[1:])))
            limit = self.deepest if k is None else self.spread(k)
            low, high = np.minimum(self.above, limit), np.minimum(self.above + self.tied, limit)
            return self._sum(gains * (table[high] - table[low]) / self.tied)
        return self._sum_inside(self.weighed(gains, discount), k)

    def weighed(self, gains: Floats, discount: Discount) -> Floats:
        """Each gain times discount(rank)."""
        return gains * self.remember(("discount", discount), lambda: self._table(discount)[self.rank_unchecked])

    def _table(self, discount: Discount) -> Floats:
        """discount(rank) by rank; entry 0 is unused."""
        return discounts_up_to(discount, 1 << self.deepest.bit_length())[: self.deepest + 1]

    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Floats:
        return sums_of_discounts(discount, self.per_query(self.retrieved if depth is None else depth), smooth)

    @property
    def deepest(self) -> int:
        """No placed item can lie deeper than this."""

        def deepest() -> int:
            if len(self.rank_unchecked) == 0:
                return 0
            last = self.rank_unchecked if self.above is None or self.tied is None else self.above + self.tied
            return int(last.max())

        return self.remember("deepest", deepest)

    # -- the rest --------------------------------------------------------------------------------------------

    def looked_up(self, grades: Floats, table: tuple[tuple[float, float], ...]) -> Floats:
        keys = np.array([key for key, _ in table], dtype=np.float64)
        values = np.array([value for _, value in table], dtype=np.float64)
        order = np.argsort(keys)
        at = np.searchsorted(keys[order], grades).clip(max=len(keys) - 1)
        unknown = keys[order][at] != grades
        self.refuse_items(unknown, "the gain table has no entry for grade {:g}", grades)
        return values[order][at]

    def by_count(self, of: Callable[[Functions, Values], Values]) -> Floats:
        return of(self, self.relevant)

    def refuse(self, queries: Bools, problem: str) -> None:
        if queries.any():
            raise QueryError(problem, int(np.argmax(queries)))

    def refuse_items(self, items: Bools, problem: str, values: Floats) -> None:
        if items.any():
            at = np.argmax(items)
            raise QueryError(problem.format(values[at]), int(self.query[at]))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        if key in self._memo:
            return cast("T", self._memo[key])
        value = self._memo[key] = make()
        return value

    # -- two orders of the same items ------------------------------------------------------------------------

    @property
    def merit(self) -> Floats:
        """The truth's opinion of each placed item: its grade, or its place if the truth is an order."""
        return -self.place.astype(np.float64) if self.ordered_truth else self.grade

    @property
    def opinion(self) -> Floats:
        """The run's opinion of each placed item: its score, or its rank if the run is an order."""
        by_rank = -self.rank_unchecked.astype(np.float64)
        return by_rank if self.best is not None else np.where(np.isnan(self.score), by_rank, self.score)

    def mean_rank(self, values: Floats) -> Floats:
        """Each value's rank among those of its query; equal values share their mean rank."""
        return agree.mean_ranks(values, self.query, self.placed_offsets)

    def compared(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """By query: pairs placed the same way less those placed opposite ways; pairs untied in x, in y; tied pairs."""
        return agree.compared(x, y, self.query, self.placed_offsets)

    def right_above(self, merit: Floats) -> Floats:
        """For each item but the first the share of those above it that are better; equal ones count half."""
        self.need_order()
        return agree.right_above(merit, self.query, self.placed_offsets)

    def overlap(self, p: float, k: Depth) -> Floats:
        """Overlap of the run and the truth, depth by depth, for a reader who goes on with probability p.

        Equal grades leave the truth's order open: the mean over all orders of these.
        """
        cuts = np.broadcast_to(np.inf if k is None else k, len(self))
        out = np.zeros(len(self))
        for q, rows in enumerate(self._segments()):
            short, long = sorted(int(min(n, cuts[q])) for n in (self.retrieved[q], self.judged[q]))
            out[q] = agree.overlap(self.rank[rows], *self._truth_ranks(q, rows), short, long, p)
        return out

    def _truth_ranks(self, query: int, rows: slice) -> tuple[Ints, Ints]:
        """How many items the truth puts above some placed ones of a query, and the last place that each can have."""
        if self.ordered_truth:
            return self.place[rows] - 1, self.place[rows]
        best_first = -self.ideal_grades[self.truth_offsets[query] : self.truth_offsets[query + 1]]
        above, last = (np.searchsorted(best_first, -self.grade[rows], side) for side in ("left", "right"))
        return above, last

    def _segments(self) -> list[slice]:
        """The placed items of each query."""
        return [slice(start, end) for start, end in pairwise(self.placed_offsets.tolist())]

    # -- closed forms over all orders of tied items ----------------------------------------------------------

    def groups(self) -> TieGroups:
        """Tied items taken together."""
        return self.remember("groups", lambda: TieGroups(self))

    def _limit(self, k: Depth, query: Ints) -> Values:
        return np.inf if k is None else k[query] if isinstance(k, np.ndarray) else k

    def chance_of_none(self, k: Depth) -> Floats:
        groups = self.groups()
        drawn = np.clip(self._limit(k, groups.query) - groups.before, 0, groups.size)
        none = np.ones(len(drawn))
        for i in range(int(groups.found.max(initial=0))):  # C(size - found, drawn) / C(size, drawn)
            factor = np.maximum(groups.size - drawn - i, 0) / np.maximum(groups.size - i, 1)
            none = np.where(i < groups.found, none * factor, none)
        miss = np.ones(len(self))
        np.multiply.at(miss, groups.query, none)
        return miss

    def expected_precisions(self, k: Depth) -> Floats:
        """Mean over all orders of tied items; McSherry and Najork, 2008, summed in closed form.

        In a group of n tied items, r of them relevant, after t places that hold R relevant ones, place i earns
        r/n * (R + 1 + (i - t - 1) * (r - 1) / (n - 1)) / i.
        """
        if self.rule.credit != "whole":
            raise NoExpectedValue("has no closed form over all orders of tied items for partly relevant ones")
        groups = self.groups()
        last = np.minimum(groups.before + groups.size, self._limit(k, groups.query)).astype(np.int64)
        first = np.minimum(groups.before, last)
        deepest = int(last.max(initial=0))
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, deepest + 1))))
        slope = np.where(groups.size > 1, (groups.relevant - 1.0) / np.maximum(groups.size - 1, 1), 0.0)
        constant = groups.relevant_before + 1.0 - slope * (groups.before + 1.0)
        earned = constant * (harmonic[last] - harmonic[first]) + slope * (last - first)
        earned = earned * groups.relevant / groups.size
        return np.bincount(groups.query, earned, minlength=len(self)).astype(np.float64)

    def expected_reciprocal(self, k: Depth) -> Floats:
        """Mean over all orders of the first group that holds a relevant item; nothing deeper can come first."""
        groups = self.groups()
        query = groups.query[groups.opens]
        before, size, relevant = groups.before[groups.opens], groups.size[groups.opens], groups.found[groups.opens]
        steps = np.minimum(size - relevant + 1, self._limit(k, query) - before).astype(np.int64)
        out = np.zeros(len(self))
        if len(query) < steps.max(initial=0):  # few long groups: all places of one at a time
            for at in np.flatnonzero(steps > 0):
                left = size[at] - np.arange(steps[at])  # items of the group not yet placed
                none_yet = np.append(1.0, np.cumprod((left - relevant[at]) / left)[:-1])
                out[query[at]] = (none_yet * relevant[at] / left / (before[at] + np.arange(1, steps[at] + 1))).sum()
            return out
        none_yet = np.ones(len(query))
        for step in range(1, int(steps.max(initial=0)) + 1):  # many short groups: one place of all at a time
            open_ = step <= steps
            left = np.maximum(size - step + 1, 1)
            hit = none_yet * relevant / left
            out[query[open_]] += (hit / (before + step))[open_]
            none_yet = none_yet * (left - relevant) / left
        return out


@lru_cache(maxsize=64)
def discounts_up_to(discount: Discount, depth: int) -> Floats:
    """discount(rank) by rank, down to a depth; entry 0 is unused."""
    ranks = np.arange(depth + 1, dtype=np.float64)
    ranks[0] = 1.0
    table: Floats = discount(NUMPY, ranks)
    table.setflags(write=False)
    return table


def sums_of_discounts(discount: Discount, depths: Values, smooth: bool = False) -> Floats:
    """Sum of the first discounts, for each depth; in pieces, since a cutoff can be far deeper than memory.

    smooth: the further down, the straighter the discount's curve, so that far sums are areas under it.
    """
    levels, at = np.unique(np.asarray(depths, dtype=np.float64), return_inverse=True)
    sums, total, reached = np.zeros(len(levels)), 0.0, 0
    for i, level in enumerate(levels.tolist()):
        while reached < level:
            if smooth and reached >= _FAR:
                total, reached = total + _far_sum(discount, reached, level), int(level)
                break
            step = min(int(level) - reached, _FAR)
            total += float(discount(NUMPY, np.arange(reached + 1.0, reached + step + 1.0)).sum())
            reached += step
        sums[i] = total
    return sums[at].reshape(np.shape(depths))


def _far_sum(discount: Discount, first: float, last: float) -> float:
    """The sum of discount(rank) for ranks after the first, up to the last: Euler and Maclaurin's, from the midpoints.

    An integral by Gauss and Legendre, of stretches that double; then what a curve loses by it. What is left out is less
    than a float can say for ranks beyond some thousands.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.append(first * 2.0 ** np.arange(np.ceil(np.log2(last / first))), last) + 0.5
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    area = float((discount(NUMPY, middle[:, None] + half[:, None] * nodes) @ weights * half).sum())
    before, after, at, beyond = discount(NUMPY, np.array([first, first + 1.0, last, last + 1.0])).tolist()
    return area - ((beyond - at) - (after - before)) / 24


def lengths(offsets: Ints) -> Ints:
    """How long the segments between offsets are."""
    return offsets[1:] - offsets[:-1]


def sorted_within(values: Floats, offsets: Ints) -> Floats:
    """Values in ascending order, segment by segment."""
    segment = np.repeat(np.arange(len(offsets) - 1), lengths(offsets))
    return values[np.lexsort((values, segment))]


def starts_of(offsets: Ints) -> tuple[Bools, Ints] | None:
    """Which segments are not empty, and where they start; None if all of them are not."""
    some = offsets[1:] > offsets[:-1]
    return None if some.all() else (some, offsets[:-1][some])


def segment_sums(values: Floats, offsets: Ints, starts: tuple[Bools, Ints] | None) -> Floats:
    if starts is None:
        return np.add.reduceat(values, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
    out = np.zeros(len(offsets) - 1)
    if len(starts[1]):
        out[starts[0]] = np.add.reduceat(values, starts[1])
    return out
