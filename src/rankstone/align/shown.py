"""`Shown`: all that the lists hold, judged or not, and what is known of the items; for metrics of what was shown."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import (
    Alignment,
    Bools,
    Floats,
    Ints,
    Relevance,
    lengths,
    segment_sums,
    starts_of,
)
from rankstone.align.functions import Depth, Functions, Values
from rankstone.align.ties import TieRule
from rankstone.errors import Advice, Hint, NotGiven, QueryError
from rankstone.inputs.keys import LOWER, among, order_of, pair
from rankstone.inputs.notes import ranges

if TYPE_CHECKING:
    from rankstone.inputs.known import Known
    from rankstone.inputs.source import Align, First, Source

T = TypeVar("T")
Base = Literal["catalogue", "history", "shown"]
Popularity = Literal["users", "interactions", "given"]
Outside = Literal["error", "skip", "count", "join"]
_BATCH = 1 << 16  # rows at a time


class Shown(Functions):
    """What each list holds: flat arrays by query, then rank.

    One a row: `item` (its number in the catalogue, from `len(catalogue)` on if it is in none), `rank`, `grade` (NaN
    where nobody judged it), `query`. One a query: `retrieved`, `present`, `relevant`, `judged`.
    """

    def __init__(
        self,
        ranked: Alignment,
        known: Known,
        offsets: Ints,
        item: Ints,
        rank: Ints | None,
        universe: int,
        *,
        ids: Callable[[], Sequence[Hashable]],
        how: Align,
        score: Floats | None = None,
        queries: Ints | None = None,
        depth: int | None = None,
        base: tuple[Bools, int] | None = None,
        place: Ints | None = None,
    ) -> None:
        self.ranked, self.known = ranked, known
        self.offsets, self.item, self._rank = offsets, item, rank
        self.universe = universe  # how many items there are numbers for
        self.queries = queries  # which of the alignment's these are; None: all
        self.ids = ids  # the alignment's queries
        self.how, self.score = how, score
        self.depth = depth  # how far down the lists were read
        self.base = base  # which items count, and how many they are
        self.place = place  # each row's rank in the alignment, where several share another; None: the same
        self._memo: dict[Any, Any] = {}  # what is known of these rows
        self._views: dict[Any, Shown] = {}

    @classmethod
    def of(
        cls, ranked: Alignment, known: Known, first: First, ids: Callable[[], Sequence[Hashable]], how: Align
    ) -> Shown:
        """What the lists of an alignment show."""
        item = known.codes.add(first.item, "run")
        score = None if first.score is None else np.asarray(first.score)  # only compared, so it can stay as it is
        if score is not None and how.float32:
            score = score.astype(np.float32)
        return cls(ranked, known, first.offsets, item, first.rank, known.codes.count, ids=ids, how=how, score=score)

    def _with(self, **changes: Any) -> Shown:
        names = ("queries", "ids", "how", "score", "depth", "base", "place")
        kept = {name: getattr(self, name) for name in names} | {
            "ranked": self.ranked, "known": self.known, "offsets": self.offsets, "item": self.item,
            "rank": self._rank, "universe": self.universe,
        }  # fmt: skip
        view = Shown(**{**kept, **changes})
        if changes.keys() <= {"depth", "base"}:  # the same rows
            view._memo = self._memo
        return view

    def _view(self, key: Hashable, make: Callable[[], Shown]) -> Shown:
        if key not in self._views:
            self._views[key] = make()
        return self._views[key]

    def keep(self, items: Bools) -> Shown:
        """The rows of some items only, each at its rank."""
        mine = self.look_up(items)
        return self if mine.all() else self.rows(mine)

    def of_rows(self, offsets: Ints, item: Ints) -> Shown:
        """Other items of the same queries, as what they had before, in no order."""
        return self._with(offsets=offsets, item=item, rank=None, score=None, depth=None, base=None, place=None)

    def rows(self, keep: Bools) -> Shown:
        """The same with some rows only, each at its rank."""
        offsets = np.concatenate(([0], np.cumsum(keep)))[self.offsets]
        score = None if self.score is None else self.score[keep]
        place = None if self.place is None else self.place[keep]
        return self._with(offsets=offsets, item=self.item[keep], rank=self.rank[keep], score=score, place=place)

    def judged_by(self, rule: Relevance) -> Shown:
        """The same under another notion of relevance."""
        return self if rule == self.ranked.rule else self._with(ranked=self.ranked.judged_by(rule))

    def with_ties(self, rule: TieRule) -> Shown:
        """The same with items of equal scores at one place, where they share it."""
        score = self.score
        if rule.place is None or score is None or not len(self.item):
            return self
        return self._view(("ties", rule.name), lambda: self._with(rank=self._shared(score, rule), place=self.rank))

    def _shared(self, score: Floats, rule: TieRule) -> Ints:
        start = np.ones(len(self.item), dtype=bool)
        start[1:] = (score[1:] != score[:-1]) | (self.query[1:] != self.query[:-1])
        group = np.cumsum(start) - 1
        first = np.flatnonzero(start)
        tied = np.diff(np.append(first, len(start)))
        place: Any = rule.place
        return place(self, (self.rank[first] - 1)[group], tied[group]).astype(np.int64)

    def first(self, k: Depth) -> Shown:
        """The first k places."""
        if k is None or self.depth == k:
            return self
        return self._view(("first", k), lambda: self._first(k))

    def _first(self, k: int) -> Shown:
        whole = len(self.item) == 0 or int(lengths(self.offsets).max()) <= k
        if whole and (self._rank is None or int(self._rank.max(initial=0)) <= k):
            return self._with(depth=k)
        return self.rows(self.rank <= k)._with(depth=k)

    def only(self, queries: Bools | Ints) -> Shown:
        """The lists of some queries only, as if there were no others."""
        at = np.flatnonzero(queries) if queries.dtype == np.bool_ else np.asarray(queries, dtype=np.int64)
        rows, offsets = ranges(self.offsets, at)
        return self._with(
            ranked=self.ranked.only(at),
            offsets=offsets,
            item=self.item[rows],
            rank=None if self._rank is None else self._rank[rows],
            score=None if self.score is None else self.score[rows],
            place=None if self.place is None else self.place[rows],
            queries=at if self.queries is None else self.queries[at],
        )

    def within(self, items: Base = "catalogue", outside: Outside = "error") -> Shown:
        """The same where only the items of a base count, and by which rule those outside of it do."""
        return self._view(("within", items, outside), lambda: self._within(items, outside))

    def _within(self, items: Base, outside: Outside) -> Shown:
        inside = self.known.inside(items, self.universe)
        if items == "shown":
            inside = self.times() > 0
        count = int(np.count_nonzero(inside)) if items != "catalogue" or self.known.given is None else self.known.listed
        mine = None if inside.all() else self.look_up(inside)
        if mine is None or mine.all():
            return self._with(base=(inside, count))
        if outside == "error":
            at = int(np.argmax(~mine))
            where = "history" if self.known.given is None or items == "history" else "catalogue"
            raise QueryError(
                f"item {self.known.codes.name(int(self.item[at]))!r} is not in the {where}; outside='skip' leaves such "
                "items out, outside='join' adds them to it",
                self.number(int(self.query[at])),
            )
        rule = {"skip": "left out", "join": "added to it", "count": "counted"}[outside]
        lost = len(mine) - int(np.count_nonzero(mine))
        self.known.note(f"{lost:,} of {len(mine):,} shown items are in no catalogue ({rule})")
        if outside == "skip":
            return self.rows(mine)._with(base=(inside, count))
        if outside == "join":
            inside = inside | (self.times() > 0)
            return self._with(base=(inside, int(np.count_nonzero(inside))))
        return self._with(base=(inside | (self.times() > 0), count))

    # -- sizes and indices -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many lists there are."""
        return len(self.offsets) - 1

    @property
    def catalogue(self) -> Known:
        """What is known of items; its length is how many there are."""
        return self.known

    @property
    def size(self) -> int:
        """How many items count."""
        return len(self.known) if self.base is None else self.base[1]

    @property
    def rank(self) -> Ints:
        """The place of each row in its list, from 1."""
        if self._rank is not None:
            return self._rank
        return self.remember(
            "rank", lambda: np.arange(1, len(self.item) + 1) - np.repeat(self.offsets[:-1], lengths(self.offsets))
        )

    @property
    def query(self) -> Ints:
        """The number of each row's list."""
        return self.remember("query", lambda: np.repeat(np.arange(len(self)), lengths(self.offsets)))

    @property
    def shown(self) -> Floats:
        """How many items each list shows."""
        return self.remember("shown", lambda: lengths(self.offsets).astype(np.float64))

    @property
    def retrieved(self) -> Ints:
        return self.ranked.retrieved

    @property
    def present(self) -> Bools:
        return self.ranked.present

    @property
    def judged(self) -> Floats:
        return self.ranked.judged

    @property
    def relevant(self) -> Floats:
        return self.ranked.relevant

    @property
    def grade(self) -> Floats:
        """The grade of each row's item, NaN where nobody judged it."""
        return self.remember("grade", self._grades)

    def _grades(self) -> Floats:
        ranked = self.ranked
        out, place = np.full(len(self.item), np.nan), self.rank if self.place is None else self.place
        deepest = 1 + max(int(ranked.rank.max(initial=0)), int(place.max(initial=0)))
        ours, theirs = self.query * deepest + place, ranked.query * deepest + ranked.rank
        at = np.searchsorted(ours, theirs)
        there = at < len(ours)
        there[there] = ours[at[there]] == theirs[there]
        out[at[there]] = ranked.grade[there]
        return out

    @property
    def credit(self) -> Floats:
        """What each row counts: 1 if its item is relevant, else 0."""

        def credit() -> Floats:
            judged = ~np.isnan(self.grade)
            return np.where(judged, self.ranked.relevance(np.where(judged, self.grade, 0.0)), 0.0)

        return self.remember("credit", credit)

    # -- from rows to lists ----------------------------------------------------------------------------------

    def per_query(self, value: Values) -> Floats:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(self),))

    def every(self, condition: Values) -> bool:
        return bool(np.all(condition))

    def look_up(self, values: Values) -> Values:
        """A value of each item at each of its rows."""
        out = np.empty(len(self.item), dtype=values.dtype)
        for start in range(0, len(out), _BATCH):  # a whole index would be copied to wider numbers
            values.take(self.item[start : start + _BATCH], out=out[start : start + _BATCH], mode="clip")
        return out

    def spread(self, values: Values) -> Values:
        """A value of each list at each of its rows."""
        return values[self.query] if isinstance(values, np.ndarray) else values

    def sum(self, values: Values, k: Depth = None) -> Floats:
        """Sum over a list's rows in the first k places."""
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(self.item),))
        if k is not None and self.depth != k:
            values = np.where(self.rank <= k, values, 0.0)
        return segment_sums(values, self.offsets, self.remember("starts", lambda: starts_of(self.offsets)))

    def running(self, values: Floats) -> Floats:
        """Sum from the top of the list down to each row, itself included."""
        total = np.concatenate(([0.0], np.cumsum(values)))
        return total[1:] - np.repeat(total[self.offsets[:-1]], lengths(self.offsets))

    def places(self, k: Depth, divisor: str = "shown") -> Floats:
        """How many places a list is divided by: those that it fills, or k."""
        if divisor == "k" and k is not None:
            return self.per_query(k)
        return self.first(k).shown

    def pairs(self, k: Depth = None) -> Floats:
        """How many pairs of items a list has."""
        shown = self.first(k).shown
        return shown * (shown - 1) / 2

    # -- from rows to items ----------------------------------------------------------------------------------

    def times(self, k: Depth = None, exposure: Values = None) -> Any:
        """How often each item is shown, by number; or how much exposure all its rows have together."""
        if exposure is None:
            view = self.first(k)
            return view.remember("times", lambda: _narrow(np.bincount(view.item, minlength=self.universe)))
        if k is not None and self.depth != k:
            exposure = np.where(self.rank <= k, exposure, 0.0)
        return np.bincount(self.item, exposure, minlength=self.universe)

    @property
    def row_times(self) -> Ints:
        """How often each row's item is shown in all lists."""
        return self.remember("row times", lambda: self.look_up(self.times()))

    def place_by(self, times: Values) -> NDArray[np.int32]:
        """Each item's place among those that count by how often it is shown, the least shown first."""
        inside = None if self.base is None or self.base[0].all() else np.flatnonzero(self.base[0])
        order = order_of(times if inside is None else times[inside])
        first = self.size - len(order) + 1
        place = np.zeros(self.universe, dtype=np.int32)
        place[order if inside is None else inside[order]] = np.arange(first, first + len(order), dtype=np.int32)
        return place

    def undecided(self, k: Depth = None) -> Bools:
        """Which lists have equal scores in the first k places, or just below, so that another order is as good."""
        out = np.zeros(len(self), dtype=bool)
        if self.score is not None and len(self.score) > 1:
            level = (self.score[1:] == self.score[:-1]) & (self.query[1:] == self.query[:-1])
            if k is not None:
                level &= self.rank[:-1] <= k
            out[self.query[1:][level]] = True
        return out

    # -- errors and memory -----------------------------------------------------------------------------------

    def refuse(self, queries: Bools, problem: str) -> None:
        if np.any(queries):
            raise QueryError(problem, self.number(int(np.argmax(queries))))

    def number(self, query: int) -> int:
        """A list's number among the alignment's."""
        return query if self.queries is None else int(self.queries[query])

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        if key in self._memo:
            return cast("T", self._memo[key])
        value = self._memo[key] = make()
        return value

    def __getstate__(self) -> dict[str, Any]:
        ids = None if self.ids is nobody else list(self.ids())
        return {**self.__dict__, "_memo": {}, "_views": {}, "ids": ids}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        ids = state["ids"]
        self.ids = nobody if ids is None else lambda: ids

    # -- what queries had before, and other lists of theirs --------------------------------------------------

    @property
    def history(self) -> tuple[Ints, Ints]:
        """What each query had before: where its items start, and their numbers, once each row."""
        return self.remember("history", self._history)

    def _history(self) -> tuple[Ints, Ints]:
        query, item = self._had
        order = np.sort(pair(query, np.arange(len(query)))) & LOWER  # by query, then row: faster than a stable argsort
        return np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(self))))), item[order]

    @property
    def _had(self) -> tuple[Any, Any]:
        """The same by row of the history: the number of the list, and that of the item."""
        return self.remember("had", self._had_rows)

    def _had_rows(self) -> tuple[Any, Any]:
        known = self.known
        mine = self._numbered(known.rows_of(known.need_history().query, self.ids()))
        ours = mine >= 0
        return (mine, known.history_item) if ours.all() else (mine[ours], known.history_item[ours])

    @property
    def relevant_items(self) -> tuple[Ints, Ints, Floats]:
        """All relevant items of the truth: the number of the list, that of the item, and what it counts."""
        return self.remember("relevant items", self._relevant_items)

    def _relevant_items(self) -> tuple[Ints, Ints, Floats]:
        truth = self.known.truth()
        if truth is None:
            raise NotGiven("give a truth: evaluate(truth, run, ...)")
        mine = self._numbered(self.known.rows_of(truth.query, self.ids()))
        grades = np.ones(len(mine)) if truth.grade is None else np.asarray(truth.grade, dtype=np.float64)
        credit = self.ranked.relevance(grades)
        keep = (mine >= 0) & (credit > 0)
        return mine[keep], self.known.codes.find(truth.item, "truth")[keep], credit[keep]

    def _numbered(self, found: Ints) -> Ints:
        """The numbers of these lists, from those of the alignment's; -1 for others."""
        number = np.full(len(self.ids()) + 1, -1, dtype=np.int64)  # the last is that of -1
        number[np.arange(len(number) - 1) if self.queries is None else self.queries] = np.arange(len(self))
        return number[found]

    @property
    def seen(self) -> Bools:
        """Which rows show an item that the query had before."""

        return self.remember("seen", lambda: self.had(self.query, self.item))

    def had(self, query: Ints, item: Ints) -> Bools:
        """Which of some items their lists' queries had before."""
        return among(pair(query, item), pair(*self._had))

    @property
    def reference(self) -> Shown:
        """The other lists of the same queries."""
        source = self.known.beside.reference
        if source is None:
            what = "other lists of the same queries, in any shape of a run"
            raise NotGiven(Advice("give ", Hint("reference"), f": {what}"))
        return self.remember("reference", lambda: self._reference(source))

    def _reference(self, source: Source) -> Shown:
        aligned = source.align(self.how)
        first = source.first(self.how, self.depth)
        place = {query: at for at, query in enumerate(aligned.queries)}
        wanted = [self.ids()[self.number(at)] for at in range(len(self))]
        at = np.array([place.get(query, -1) for query in wanted], dtype=np.int64)
        item = self.known.codes.add(first.item, "reference")
        rows, offsets = ranges(
            np.append(first.offsets, first.offsets[-1]), np.where(at < 0, len(first.offsets) - 1, at)
        )
        rank = first.rank
        return self._with(
            offsets=offsets, item=item[rows], rank=None if rank is None else rank[rows], score=None,
            universe=self.known.codes.count, base=None,
        )  # fmt: skip


def _narrow(counts: Ints) -> Ints:
    return counts.astype(np.int32) if counts.max(initial=0) < 1 << 31 else counts


def nobody() -> Any:
    """The queries of lists that came without ids."""
    raise ValueError(
        "it asks what each query had before, and whose lists these are is not known; give the lists with their queries"
    )
