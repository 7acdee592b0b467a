"""Recommended lists: `ReturnedItems` is the data, `Recommendations` the vocabulary of metrics that read all items."""

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
from rankstone.align.elementwise import NUMPY, Functions, Values
from rankstone.align.ties import TieRule
from rankstone.data.annotations import ranges
from rankstone.data.id_encoder import LOWER, among, pair
from rankstone.errors import Advice, Hint, InputError, MissingInputError, QueryError

if TYPE_CHECKING:
    from rankstone.data.arrow import Column
    from rankstone.data.side_info import ItemIndex, ItemLabels
    from rankstone.data.source import AlignOptions, Source, TopK

T = TypeVar("T")
Cutoff = int | None
Base = Literal["catalogue", "history", "shown"]
Popularity = Literal["users", "interactions", "given"]
Outside = Literal["error", "skip", "count", "join"]
_BATCH = 1 << 16  # rows at a time
_COLUMNS = ("item", "ranks", "score", "place")  # one value per row
_OUTSIDE = {"skip": "ignored", "join": "added to it", "count": "counted"}


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
class Recommendations(Functions):
    """Recommended lists, as a metric reads them.

    One value per row: `item` (its number in the catalogue), `rank`, `grade` (NaN if unjudged), `query`. One per query:
    `retrieved`, `present`, `relevant`, `judged`, and `length`, the number of recommended items.

    Operands of its methods
    -----------------------
    k : int or None
        Cutoff; None is the whole list.
    values, value, grades : array
        One number per row or per query.
    condition, queries, items, keep, rows : array
        True or false per row, query or item; or their indices.
    query, item : array
        Indices of queries and items.
    exposure, by, role, outside, divisor, rule : as the metric's parameter or the choice of this name
    ranked, index, ids, options, first : alignment and ids
        What recommended lists are made of.
    key, make : name and function
        For what is computed once per list and used by several metrics.
    problem : str
        The text of the error that is raised where a condition holds.
    """

    data: ReturnedItems
    catalogue: ItemIndex  # side information on items; its length is their number
    ids: Callable[[], Sequence[Hashable]]  # of the alignment's queries
    options: AlignOptions
    universe: int  # how many items have a number
    depth: Cutoff = None  # how far down the lists were read
    base: tuple[Bools, int] | None = None  # which items count, and how many they are
    views: dict[Hashable, Recommendations] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.offsets, self.item = self.data.offsets, self.data.item
        self.retrieved, self.present = self.data.ranked.retrieved, self.data.ranked.present

    @classmethod
    def of(
        cls,
        ranked: Alignment,
        index: ItemIndex,
        first: TopK,
        ids: Callable[[], Sequence[Hashable]],
        options: AlignOptions,
    ) -> Recommendations:
        """The lists of an alignment."""
        item = index.codes.add(first.item, "run")
        score = None if first.score is None else np.asarray(first.score)  # only compared, so it can stay as it is
        if score is not None and options.float32:
            score = score.astype(np.float32)
        return cls(
            ReturnedItems(ranked, first.offsets, item, first.rank, score), index, ids, options, index.codes.count
        )

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.data)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "views": {}, "ids": None if self.ids is without_ids else list(self.ids())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        ids = state["ids"]
        self.ids = without_ids if ids is None else lambda: ids

    # -- views -----------------------------------------------------------------------------------------------

    def _view(self, key: Hashable, make: Callable[[], Recommendations]) -> Recommendations:
        if key not in self.views:
            self.views[key] = make()
        return self.views[key]

    def rows(self, keep: Bools) -> Recommendations:
        """The same with some rows only, each at its rank."""
        return self if keep.all() else replace(self, data=self.data.rows(keep))

    def only(self, queries: Bools | Ints) -> Recommendations:
        """The lists of some queries only, as if there were no others."""
        return replace(self, data=self.data.only(queries))

    def judged_by(self, rule: Relevance) -> Recommendations:
        """The same under another notion of relevance."""
        ranked = self.data.ranked.judged_by(rule)
        return self if ranked is self.data.ranked else replace(self, data=replace(self.data, ranked=ranked))

    def with_ties(self, rule: TieRule) -> Recommendations:
        """The same with items of equal scores at one rank, where they share it."""
        if rule.place is None or self.data.score is None or not len(self.item):
            return self
        return self._view(("ties", rule.name), lambda: replace(self, data=self.data.with_shared_ranks(rule)))

    def first(self, k: Cutoff) -> Recommendations:
        """The first k places."""
        if k is None or self.depth == k:
            return self
        return self._view(("first", k), lambda: replace(self, data=self.data.first(k), depth=k))

    def within(self, items: Base = "catalogue", outside: Outside = "error") -> Recommendations:
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
        """The relevance of grades: 1 if relevant, else 0, or a part of 1."""
        return self.data.ranked.rule.of_grades(self, grades)

    @property
    def credit(self) -> Floats:
        """The relevance of each row's item: 1 if relevant, else 0, or a part of 1."""
        return self.remember("credit", lambda: np.where(np.isnan(self.grade), 0.0, self.relevance(self.grade_or_zero)))

    @property
    def row_frequency(self) -> Ints:
        """The frequency of each row's item over all lists."""
        return self.remember("row times", lambda: self.look_up(self.frequency()))

    def look_up(self, values: Values) -> Values:
        """A value of each item at each of its rows."""
        out = np.empty(len(self.item), dtype=values.dtype)
        for start in range(0, len(out), _BATCH):  # a whole index would be copied to wider numbers
            values.take(self.item[start : start + _BATCH], out=out[start : start + _BATCH], mode="clip")
        return out

    def broadcast(self, values: Values) -> Values:
        """A value of each list at each of its rows; a plain number is one already."""
        return values[self.query] if isinstance(values, np.ndarray) else values

    def running(self, values: Floats) -> Floats:
        """Sum from the top of the list down to each row, itself included."""
        total = np.concatenate(([0.0], np.cumsum(values)))
        return total[1:] - np.repeat(total[self.offsets[:-1]], lengths(self.offsets))

    def in_history(self, query: Ints, item: Ints) -> Bools:
        """Which items are in the history of their query."""
        return among(pair(query, item), pair(*_history_rows(self)))

    # -- one value per list ----------------------------------------------------------------------------------

    @property
    def length(self) -> Floats:
        """Number of recommended items per list."""
        return self.remember("length", lambda: lengths(self.offsets).astype(np.float64))

    @property
    def judged(self) -> Floats:
        """Number of judged items per query."""
        return lengths(self.data.ranked.truth_offsets).astype(np.float64)

    @property
    def relevant(self) -> Floats:
        """Number of relevant items per query."""
        ranked = self.data.ranked
        return segment_reduce(
            self.relevance(ranked.truth_grades), ranked.truth_offsets, starts_of(ranked.truth_offsets)
        )

    def per_query(self, value: Values) -> Floats:
        """A number, broadcast to one value per query."""
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(self),))

    def number(self, condition: Values) -> Floats:
        """1 where a condition holds, else 0."""
        return np.asarray(condition, dtype=np.float64)

    def always(self, condition: Values) -> bool:
        """Whether a condition holds everywhere."""
        return bool(np.all(condition))

    def sum(self, values: Values, k: Cutoff = None) -> Floats:
        """Sum over a list's rows in the first k places."""
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(self.item),))
        if k is not None and self.depth != k:
            values = np.where(self.rank <= k, values, 0.0)
        return segment_reduce(values, self.offsets, self.data.starts)

    def places(self, k: Cutoff, divisor: str = "shown") -> Floats:
        """The denominator of a list: its length, or k."""
        return self.per_query(k) if divisor == "k" and k is not None else self.first(k).length

    # -- one value per item ----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of items that count."""
        return len(self.catalogue) if self.base is None else self.base[1]

    def frequency(self, k: Cutoff = None, exposure: Values = None) -> Any:
        """The frequency of each item over all lists, by number; or its total exposure."""
        if exposure is None:
            view = self.first(k)
            return view.remember("times", lambda: _narrow(np.bincount(view.item, minlength=self.universe)))
        if k is not None and self.depth != k:
            exposure = np.where(self.rank <= k, exposure, 0.0)
        return np.bincount(self.item, exposure, minlength=self.universe)

    def popularity(self, by: Popularity) -> Floats:
        """The popularity of each item."""
        return self.catalogue.popularity(by, self.universe)

    def labels(self, role: str) -> ItemLabels:
        """The categories or groups of each item."""
        return self.catalogue.words(role, self.universe)

    # -- other lists of the same queries ---------------------------------------------------------------------

    @property
    def history(self) -> Recommendations:
        """The history of each query, in the order of its rows."""
        return self.remember("history", lambda: _history(self))

    @property
    def reference(self) -> Recommendations:
        """The lists of the reference run."""
        source = self.catalogue.side_info.reference
        if source is None:
            what = "other lists of the same queries, in any shape of a run"
            raise MissingInputError(Advice("give ", Hint("reference"), f": {what}"))
        return self.remember(("reference", self.depth), lambda: _reference(self, source))

    # -- errors and memory -----------------------------------------------------------------------------------

    def raise_where(self, queries: Bools, problem: str) -> None:
        """An error that names the first of the queries for which a condition holds."""
        if np.any(queries):
            raise QueryError(problem, self.data.number(int(np.argmax(queries))))

    def raise_at_items(self, rows: Bools, problem: str) -> None:
        """An error that names the query of the first row for which a condition holds; {} in it is the item's id."""
        if np.any(rows):
            at = int(np.argmax(rows))
            name = self.catalogue.codes.name(int(self.item[at]))
            raise QueryError(problem.format(repr(name)), self.data.number(int(self.query[at])))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Cache a value that several metrics or cutoffs share."""
        if key not in self.data.memo:
            self.data.memo[key] = make()
        return cast("T", self.data.memo[key])


def lists_of(lists: Recommendations, column: Column) -> Ints:
    """The number of the list that each row of a column of query ids belongs to, -1 if to none."""
    queries = lists.ids()
    return lists.data.numbers_of(lists.catalogue.rows_of(column, queries), len(queries))


def _within(lists: Recommendations, items: Base, outside: Outside) -> Recommendations:
    index = lists.catalogue
    inside = lists.frequency() > 0 if items == "shown" else index.inside(items, lists.universe)
    count = int(np.count_nonzero(inside)) if items != "catalogue" or index.catalogue is None else index.listed
    mine = None if inside.all() else lists.look_up(inside)
    if mine is None or mine.all():
        return replace(lists, base=(inside, count))
    if outside == "error":
        where = "history" if index.catalogue is None or items == "history" else "catalogue"
        lists.raise_at_items(
            ~mine,
            f"item {{}} is not in the {where}; outside='skip' ignores such items, outside='join' adds them to it",
        )
    lost = len(mine) - int(np.count_nonzero(mine))
    index.note(f"{lost:,} of {len(mine):,} recommended items are not in the catalogue ({_OUTSIDE[outside]})")
    if outside == "skip":
        return replace(lists.rows(mine), base=(inside, count))
    inside = inside | (lists.frequency() > 0)
    return replace(lists, base=(inside, int(np.count_nonzero(inside)) if outside == "join" else count))


def _history_rows(lists: Recommendations) -> tuple[Ints, Ints]:
    """The rows of the history: number of the list, and of the item."""

    def rows() -> tuple[Ints, Ints]:
        index = lists.catalogue
        query = lists_of(lists, index.need_history().query)
        ours = query >= 0
        return (query, index.history_item) if ours.all() else (query[ours], index.history_item[ours])

    return lists.remember("history rows", rows)


def _history(lists: Recommendations) -> Recommendations:
    query, item = _history_rows(lists)
    order = np.sort(pair(query, np.arange(len(query)))) & LOWER  # by query, then row: faster than a stable argsort
    offsets = np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(lists)))))
    data = replace(lists.data, offsets=offsets, item=item[order], ranks=None, score=None, place=None)
    return replace(lists, data=data, depth=None, base=None)


def _reference(lists: Recommendations, source: Source) -> Recommendations:
    aligned, first = source.align(lists.options), source.first(lists.options, lists.depth)
    place = {query: at for at, query in enumerate(aligned.queries)}
    ids = lists.ids()
    at = np.array([place.get(ids[lists.data.number(at)], -1) for at in range(len(lists))], dtype=np.int64)
    item = lists.catalogue.codes.add(first.item, "reference")
    rows, offsets = ranges(np.append(first.offsets, first.offsets[-1]), np.where(at < 0, len(first.offsets) - 1, at))
    ranks = None if first.rank is None else first.rank[rows]
    data = replace(lists.data, offsets=offsets, item=item[rows], ranks=ranks, score=None, place=None)
    return replace(lists, data=data, universe=lists.catalogue.codes.count, base=None)


def _narrow(counts: Ints) -> Ints:
    return counts.astype(np.int32) if counts.max(initial=0) < 1 << 31 else counts


def without_ids() -> Any:
    """The query ids of lists without ids: an error."""
    raise InputError(
        "it reads the history of each query, but the lists have no query ids; pass the lists with their queries"
    )
