"""Recommended lists: `ReturnedItems` is the data, `Shown` the vocabulary of metrics that read items, judged or not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np

from rankstone.align.alignment import (
    Alignment,
    Bools,
    Floats,
    Ints,
    Relevance,
    equal_runs,
    lengths,
    segment_reduce,
    starts_of,
)
from rankstone.align.functions import NUMPY, Functions, Values
from rankstone.align.ties import TieRule
from rankstone.data.annotations import ranges
from rankstone.data.id_encoder import LOWER, among, pair
from rankstone.errors import Advice, Hint, NotGiven, QueryError

if TYPE_CHECKING:
    from rankstone.data.arrow import Column
    from rankstone.data.side_info import Known, Words
    from rankstone.data.source import Align, First, Source

T = TypeVar("T")
Cutoff = int | None
Base = Literal["catalogue", "history", "shown"]
Popularity = Literal["users", "interactions", "given"]
Outside = Literal["error", "skip", "count", "join"]
_BATCH = 1 << 16  # rows at a time
_COLUMNS = ("item", "ranks", "score", "place")  # one value per row
_OUTSIDE = {"skip": "left out", "join": "added to it", "count": "counted"}


@dataclass(frozen=True, eq=False, repr=False)
class ReturnedItems:
    """The items of each list as flat arrays by query, then rank."""

    ranked: Alignment  # the judged items of the same queries
    offsets: Ints
    item: Ints  # number in the catalogue, from `len(catalogue)` on if it is not part of it
    ranks: Ints | None = None  # from 1; None: the places from the first on
    score: Any = None
    place: Ints | None = None  # rank in the alignment, where tied items share `ranks`; None: the same
    queries: Ints | None = None  # which queries of the alignment these are; None: all
    memo: dict[Hashable, Any] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"memo": {}}

    @cached_property
    def rank(self) -> Ints:
        if self.ranks is not None:
            return self.ranks
        return np.arange(1, len(self.item) + 1) - np.repeat(self.offsets[:-1], lengths(self.offsets))

    @cached_property
    def query(self) -> Ints:
        return np.repeat(np.arange(len(self)), lengths(self.offsets))

    @cached_property
    def starts(self) -> tuple[Bools, Ints] | None:
        return starts_of(self.offsets)

    @cached_property
    def grade(self) -> Floats:
        query, rank, grade = self.ranked.query, self.ranked.rank, self.ranked.grade
        out, place = np.full(len(self.item), np.nan), self.rank if self.place is None else self.place
        deepest = 1 + max(int(rank.max(initial=0)), int(place.max(initial=0)))
        keys, judged = self.query * deepest + place, query * deepest + rank
        at = np.searchsorted(keys, judged)
        there = at < len(keys)
        there[there] = keys[at[there]] == judged[there]
        out[at[there]] = grade[there]
        return out

    def number(self, query: int) -> int:
        """The number of a list among the alignment's queries."""
        return query if self.queries is None else int(self.queries[query])

    def numbers_of(self, queries: Ints, count: int) -> Ints:
        """Numbers of lists from those of the alignment's `count` queries; -1 for other lists, and for -1."""
        number = np.full(count + 1, -1, dtype=np.int64)  # the last is that of -1
        number[np.arange(count) if self.queries is None else self.queries] = np.arange(len(self))
        return number[queries]

    def rows(self, keep: Bools) -> ReturnedItems:
        """Some rows only, each at its rank."""
        return self._taken(keep, np.concatenate(([0], np.cumsum(keep)))[self.offsets], ranks=self.rank[keep])

    def only(self, queries: Bools | Ints) -> ReturnedItems:
        """The lists of some queries only."""
        at = np.flatnonzero(queries) if queries.dtype == np.bool_ else np.asarray(queries, dtype=np.int64)
        rows, offsets = ranges(self.offsets, at)
        numbers = at if self.queries is None else self.queries[at]
        return self._taken(rows, offsets, ranked=self.ranked.only(at), queries=numbers)

    def _taken(self, rows: Bools | Ints, offsets: Ints, **changes: Any) -> ReturnedItems:
        columns = {name: column[rows] for name in _COLUMNS if (column := getattr(self, name)) is not None}
        return replace(self, offsets=offsets, **{**columns, **changes})

    def first(self, k: int) -> ReturnedItems:
        """The first k places."""
        deepest = lengths(self.offsets) if self.ranks is None else self.ranks
        return self if int(deepest.max(initial=0)) <= k else self.rows(self.rank <= k)

    def undecided(self, k: Cutoff = None) -> Bools:
        """Which lists have equal scores in the first k places, or just below, so that another order is as good."""
        out = np.zeros(len(self), dtype=bool)
        if self.score is not None and len(self.score) > 1:
            tied = (self.score[1:] == self.score[:-1]) & (self.query[1:] == self.query[:-1])  # with the row before
            out[self.query[1:][tied if k is None else tied & (self.rank[:-1] <= k)]] = True
        return out

    def with_shared_ranks(self, rule: TieRule) -> ReturnedItems:
        """Items of equal scores at one rank."""
        starts, tied = equal_runs(self.query, self.score)
        place: Any = rule.place
        ranks = place(NUMPY, np.repeat(self.rank[starts] - 1, tied), np.repeat(tied, tied)).astype(np.int64)
        return replace(self, ranks=ranks, place=self.rank)


@dataclass(eq=False, repr=False)
class Shown(Functions):
    """What a metric can ask of recommended lists.

    One value per row: `item` (its number in the catalogue), `rank`, `grade` (NaN if unjudged), `query`. One per query:
    `retrieved`, `present`, `relevant`, `judged`, and `shown`, how many items its list shows.
    """

    data: ReturnedItems
    catalogue: Known  # side information on items; its length is their number
    ids: Callable[[], Sequence[Hashable]]  # of the alignment's queries
    how: Align
    universe: int  # how many items have a number
    depth: Cutoff = None  # how far down the lists were read
    base: tuple[Bools, int] | None = None  # which items count, and how many they are
    views: dict[Hashable, Shown] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.offsets, self.item = self.data.offsets, self.data.item
        self.retrieved, self.present = self.data.ranked.retrieved, self.data.ranked.present

    @classmethod
    def of(
        cls, ranked: Alignment, known: Known, first: First, ids: Callable[[], Sequence[Hashable]], how: Align
    ) -> Shown:
        """The lists of an alignment."""
        item = known.codes.add(first.item, "run")
        score = None if first.score is None else np.asarray(first.score)  # only compared, so it can stay as it is
        if score is not None and how.float32:
            score = score.astype(np.float32)
        return cls(ReturnedItems(ranked, first.offsets, item, first.rank, score), known, ids, how, known.codes.count)

    def __len__(self) -> int:
        """How many lists there are."""
        return len(self.data)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "views": {}, "ids": None if self.ids is without_ids else list(self.ids())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        ids = state["ids"]
        self.ids = without_ids if ids is None else lambda: ids

    # -- views -----------------------------------------------------------------------------------------------

    def _view(self, key: Hashable, make: Callable[[], Shown]) -> Shown:
        if key not in self.views:
            self.views[key] = make()
        return self.views[key]

    def rows(self, keep: Bools) -> Shown:
        """The same with some rows only, each at its rank."""
        return self if keep.all() else replace(self, data=self.data.rows(keep))

    def only(self, queries: Bools | Ints) -> Shown:
        """The lists of some queries only, as if there were no others."""
        return replace(self, data=self.data.only(queries))

    def judged_by(self, rule: Relevance) -> Shown:
        """The same under another notion of relevance."""
        ranked = self.data.ranked.judged_by(rule)
        return self if ranked is self.data.ranked else replace(self, data=replace(self.data, ranked=ranked))

    def with_ties(self, rule: TieRule) -> Shown:
        """The same with items of equal scores at one rank, where they share it."""
        if rule.place is None or self.data.score is None or not len(self.item):
            return self
        return self._view(("ties", rule.name), lambda: replace(self, data=self.data.with_shared_ranks(rule)))

    def first(self, k: Cutoff) -> Shown:
        """The first k places."""
        if k is None or self.depth == k:
            return self
        return self._view(("first", k), lambda: replace(self, data=self.data.first(k), depth=k))

    def within(self, items: Base = "catalogue", outside: Outside = "error") -> Shown:
        """The same where only the items of a base count, and by which rule those outside of it do."""
        return self._view(("within", items, outside), lambda: _within(self, items, outside))

    # -- one value per row -----------------------------------------------------------------------------------

    @property
    def rank(self) -> Ints:
        """The place of each row in its list, from 1."""
        return self.data.rank

    @property
    def query(self) -> Ints:
        """The number of each row's list."""
        return self.data.query

    @property
    def grade(self) -> Floats:
        """The grade of each row's item, NaN if it is unjudged."""
        return self.data.grade

    @property
    def grade_or_zero(self) -> Floats:
        """The grade of each row's item, 0 if it is unjudged."""
        return np.where(np.isnan(self.grade), 0.0, self.grade)

    def relevance(self, grades: Floats) -> Floats:
        """What items of these grades count: 1 if relevant, else 0, or a part of 1."""
        return self.data.ranked.rule.of_grades(self, grades)

    @property
    def credit(self) -> Floats:
        """What each row counts: 1 if its item is relevant, else 0."""
        return self.remember("credit", lambda: np.where(np.isnan(self.grade), 0.0, self.relevance(self.grade_or_zero)))

    @property
    def row_times(self) -> Ints:
        """How often each row's item is shown in all lists."""
        return self.remember("row times", lambda: self.look_up(self.times()))

    def look_up(self, values: Values) -> Values:
        """A value of each item at each of its rows."""
        out = np.empty(len(self.item), dtype=values.dtype)
        for start in range(0, len(out), _BATCH):  # a whole index would be copied to wider numbers
            values.take(self.item[start : start + _BATCH], out=out[start : start + _BATCH], mode="clip")
        return out

    def spread(self, values: Values) -> Values:
        """A value of each list at each of its rows; a plain number is one already."""
        return values[self.query] if isinstance(values, np.ndarray) else values

    def running(self, values: Floats) -> Floats:
        """Sum from the top of the list down to each row, itself included."""
        total = np.concatenate(([0.0], np.cumsum(values)))
        return total[1:] - np.repeat(total[self.offsets[:-1]], lengths(self.offsets))

    def in_history(self, query: Ints, item: Ints) -> Bools:
        """Which items the queries of their lists had before."""
        return among(pair(query, item), pair(*_history_rows(self)))

    # -- one value per list ----------------------------------------------------------------------------------

    @property
    def shown(self) -> Floats:
        """How many items each list shows."""
        return self.remember("shown", lambda: lengths(self.offsets).astype(np.float64))

    @property
    def judged(self) -> Floats:
        """How many items the truth judges."""
        return lengths(self.data.ranked.truth_offsets).astype(np.float64)

    @property
    def relevant(self) -> Floats:
        """How many relevant items the truth has."""
        ranked = self.data.ranked
        return segment_reduce(
            self.relevance(ranked.truth_grades), ranked.truth_offsets, starts_of(ranked.truth_offsets)
        )

    def per_query(self, value: Values) -> Floats:
        """A number as a value of each query."""
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(self),))

    def number(self, condition: Values) -> Floats:
        """1 where a condition holds, else 0."""
        return np.asarray(condition, dtype=np.float64)

    def every(self, condition: Values) -> bool:
        """Does a condition hold everywhere."""
        return bool(np.all(condition))

    def sum(self, values: Values, k: Cutoff = None) -> Floats:
        """Sum over a list's rows in the first k places."""
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(self.item),))
        if k is not None and self.depth != k:
            values = np.where(self.rank <= k, values, 0.0)
        return segment_reduce(values, self.offsets, self.data.starts)

    def places(self, k: Cutoff, divisor: str = "shown") -> Floats:
        """How many places a list is divided by: those that it fills, or k."""
        return self.per_query(k) if divisor == "k" and k is not None else self.first(k).shown

    # -- one value per item ----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many items count."""
        return len(self.catalogue) if self.base is None else self.base[1]

    def times(self, k: Cutoff = None, exposure: Values = None) -> Any:
        """How often each item is shown, by number; or how much exposure all its rows have together."""
        if exposure is None:
            view = self.first(k)
            return view.remember("times", lambda: _narrow(np.bincount(view.item, minlength=self.universe)))
        if k is not None and self.depth != k:
            exposure = np.where(self.rank <= k, exposure, 0.0)
        return np.bincount(self.item, exposure, minlength=self.universe)

    def popularity(self, by: Popularity) -> Floats:
        """How popular each item is."""
        return self.catalogue.popularity(by, self.universe)

    def labels(self, role: str) -> Words:
        """The categories or groups of each item."""
        return self.catalogue.words(role, self.universe)

    # -- other lists of the same queries ---------------------------------------------------------------------

    @property
    def history(self) -> Shown:
        """What each query had before, in the order of the history's rows."""
        return self.remember("history", lambda: _history(self))

    @property
    def reference(self) -> Shown:
        """The lists of the reference run."""
        source = self.catalogue.beside.reference
        if source is None:
            what = "other lists of the same queries, in any shape of a run"
            raise NotGiven(Advice("give ", Hint("reference"), f": {what}"))
        return self.remember(("reference", self.depth), lambda: _reference(self, source))

    # -- errors and memory -----------------------------------------------------------------------------------

    def refuse(self, queries: Bools, problem: str) -> None:
        """An error that names the first of the queries for which a condition holds."""
        if np.any(queries):
            raise QueryError(problem, self.data.number(int(np.argmax(queries))))

    def refuse_items(self, rows: Bools, problem: str) -> None:
        """An error that names the query of the first row for which a condition holds; {} in it is the item's id."""
        if np.any(rows):
            at = int(np.argmax(rows))
            name = self.catalogue.codes.name(int(self.item[at]))
            raise QueryError(problem.format(repr(name)), self.data.number(int(self.query[at])))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Keep values that several metrics or cutoffs share."""
        if key not in self.data.memo:
            self.data.memo[key] = make()
        return cast("T", self.data.memo[key])


def lists_of(shown: Shown, column: Column) -> Ints:
    """The number of the list that each row of a column of query ids belongs to, -1 if to none."""
    queries = shown.ids()
    return shown.data.numbers_of(shown.catalogue.rows_of(column, queries), len(queries))


def _within(shown: Shown, items: Base, outside: Outside) -> Shown:
    known = shown.catalogue
    inside = shown.times() > 0 if items == "shown" else known.inside(items, shown.universe)
    count = int(np.count_nonzero(inside)) if items != "catalogue" or known.given is None else known.listed
    mine = None if inside.all() else shown.look_up(inside)
    if mine is None or mine.all():
        return replace(shown, base=(inside, count))
    if outside == "error":
        where = "history" if known.given is None or items == "history" else "catalogue"
        shown.refuse_items(
            ~mine,
            f"item {{}} is not in the {where}; outside='skip' leaves such items out, outside='join' adds them to it",
        )
    lost = len(mine) - int(np.count_nonzero(mine))
    known.note(f"{lost:,} of {len(mine):,} shown items are in no catalogue ({_OUTSIDE[outside]})")
    if outside == "skip":
        return replace(shown.rows(mine), base=(inside, count))
    inside = inside | (shown.times() > 0)
    return replace(shown, base=(inside, int(np.count_nonzero(inside)) if outside == "join" else count))


def _history_rows(shown: Shown) -> tuple[Ints, Ints]:
    """The rows of the history: number of the list, and of the item."""

    def rows() -> tuple[Ints, Ints]:
        known = shown.catalogue
        query = lists_of(shown, known.need_history().query)
        ours = query >= 0
        return (query, known.history_item) if ours.all() else (query[ours], known.history_item[ours])

    return shown.remember("history rows", rows)


def _history(shown: Shown) -> Shown:
    query, item = _history_rows(shown)
    order = np.sort(pair(query, np.arange(len(query)))) & LOWER  # by query, then row: faster than a stable argsort
    offsets = np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(shown)))))
    data = replace(shown.data, offsets=offsets, item=item[order], ranks=None, score=None, place=None)
    return replace(shown, data=data, depth=None, base=None)


def _reference(shown: Shown, source: Source) -> Shown:
    aligned, first = source.align(shown.how), source.first(shown.how, shown.depth)
    place = {query: at for at, query in enumerate(aligned.queries)}
    ids = shown.ids()
    at = np.array([place.get(ids[shown.data.number(at)], -1) for at in range(len(shown))], dtype=np.int64)
    item = shown.catalogue.codes.add(first.item, "reference")
    rows, offsets = ranges(np.append(first.offsets, first.offsets[-1]), np.where(at < 0, len(first.offsets) - 1, at))
    ranks = None if first.rank is None else first.rank[rows]
    data = replace(shown.data, offsets=offsets, item=item[rows], ranks=ranks, score=None, place=None)
    return replace(shown, data=data, universe=shown.catalogue.codes.count, base=None)


def _narrow(counts: Ints) -> Ints:
    return counts.astype(np.int32) if counts.max(initial=0) < 1 << 31 else counts


def without_ids() -> Any:
    """The queries of lists that came without ids."""
    raise ValueError(
        "it asks what each query had before, and whose lists these are is not known; give the lists with their queries"
    )
