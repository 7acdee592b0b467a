"""`Accumulator`: queries measured as they come; how they were cut into batches does not change the result."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from numbers import Real
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align import state as saved
from rankstone.align.state import State, locked
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, Capabilities, Plan, alignments, check_supported
from rankstone.data.dicts import Dicts, OneList
from rankstone.data.lists import Dense, is_sparse
from rankstone.data.source import Alone, Source
from rankstone.evaluate.means import ExactSum, Sums, finish_of, mean_from
from rankstone.evaluate.measurement import LiveMeasurement
from rankstone.evaluate.partial import (
    Partial,
    Resumable,
    by_query,
    concat,
    concat_weights,
    items_of,
    partial_of,
    settings_of,
)
from rankstone.evaluate.pipeline import depths_of, open_source, refuse_truthless
from rankstone.metrics.registry import Value, is_built_in
from rankstone.results.definition import ByMetric, Definition, definition_of
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.data.side_info import Known
    from rankstone.typing import Array, Items, Metrics, Numbers, Roles, Run, Stock, Truth, Weights

_ITEMS = (Mapping, Set, list, tuple, np.ndarray)
_TOGETHER = 512  # queries that are added up at a time
_GATHERED = 8192  # queries whose arrays are made one: many small ones would fill the memory with gaps
_SUMS = "only sums are kept"
SUMS = Capabilities(all_queries=_SUMS, all_lists=_SUMS, one_list=_SUMS, otherwise="or choose keep=True")


class Accumulator(Resumable):
    """Measures queries as they come: one list, a batch or a table at a time.

    `update` takes one list (relevant items or `{item: grade}`, then the items returned or `{item: score}`), or whatever
    `rs.evaluate` takes; for prediction errors also two numbers, the actual value and the predicted one. What `compute`
    says is the same however the queries were cut into batches and in whatever order they came: sums are exact.

    >>> accumulator = rs.Accumulator(["rr", "recall@2"])
    >>> accumulator.update(["a", "c"], ["b", "a"])
    >>> accumulator.update(["d"], ["d", "e"])
    >>> accumulator.compute()["rr"]
    0.75

    Queries with ids (those of dicts and tables, or `query=`) come once: an id that was here before is an error. Without
    ids every list is a query of its own. An update brings whole queries: for rows of one query in several batches there
    is `rs.Stream`.

    keep=True keeps where the judged items were, so that `compute` gives a `Result` with the values of each query;
    keep=False keeps the sums and the ids, and gives means. Metrics that look at all queries at once are refused then;
    one of your own must look at each query by itself. An accumulator can be pickled, takes in another with `merge`, and
    can be updated by several threads.

    Metrics of what was shown go with catalogue=, history= and reference=, as in `rs.evaluate`, and need no truth. The
    first k rows of each list are kept for them, or with keep=False, for those that look at each list by itself, none.

    >>> accumulator = rs.Accumulator("coverage@2", catalogue=["a", "b", "c", "d", "e"])
    >>> accumulator.update(run=["a", "b", "c"])
    >>> accumulator.update(run=["a", "d"])
    >>> accumulator.compute()["coverage@2"]
    0.6
    """

    _what = "accumulator"

    def __init__(
        self,
        metrics: Metrics = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        keep: bool = True,
        catalogue: Stock | int | None = None,
        history: Truth | None = None,
        reference: Run | None = None,
        threads: int = 0,
        **choices: Value,
    ) -> None:
        self._begin(
            metrics, convention, choices, catalogue=catalogue, history=history, reference=reference, keep=keep,
            threads=threads,
        )  # fmt: skip
        self._alignments = alignments(self.plans, threads)
        self._shown = tuple(depths_of(self.plans))  # alignments of metrics that read what the lists show
        self._weighted = any(plan.averaging.weighted for plan in self.plans)
        self._orders = any(
            plan.metric.declaration.kind == "agreement" or plan.arguments.get("ideal") == "given" for plan in self.plans
        )
        self.keep = keep
        self.threads = threads
        if not keep:
            check_supported(self.plans, SUMS)
            self._summed = tuple(map(by_query, self.plans))
        self._none = [Sums(0, 0, 0)] * len(self.plans)
        self._lock = RLock()
        self.reset()

    @locked
    def reset(self) -> None:
        """Forget all queries."""
        self._items: Known | None = None  # side information, for sums
        self._held = _Held(sums=self._none)

    # -- more queries ----------------------------------------------------------------------------------------

    def update(
        self,
        truth: Truth | Items | float | None = None,
        run: Run | Items | float | None = None,
        *,
        query: Hashable = None,
        weights: Weights | None = None,
        columns: Roles | None = None,
        mask: Array | None = None,
        lengths: Numbers | None = None,
        groups: Numbers | None = None,
    ) -> None:
        """Measure more queries. query: the id of a single list. The other words are those of `rs.evaluate`."""
        if truth is None and run is None:
            raise TypeError("give a truth and a run; or for metrics of what was shown a run alone: update(run=run)")
        refuse_truthless(self.plans, judged=truth is not None)
        single = self._single(truth, run, query)
        if single is None and query is not None:
            raise TypeError("query= names a single list; dicts and tables name their queries themselves")
        given: Any = truth, run  # no single list, so it is what `rs.evaluate` takes
        source = single or open_source(*given, mask=mask, lengths=lengths, groups=groups, columns=columns)
        partial = self._partial(source, weights)
        nameless = query is None if single else is_sparse(truth) or is_sparse(run)
        self.take(replace(partial, ids=None) if nameless or isinstance(partial.ids, range) else partial)

    def _single(self, truth: Any, run: Any, query: Any) -> Source | None:
        """The source of a single list, or of one rating."""
        numbers = isinstance(truth, Real) and isinstance(run, Real)
        if not numbers and not (_is_list(truth) or _is_list(run)):
            return None
        ratings = [plan.metric.declaration.kind == "ratings" for plan in self.plans]
        if all(ratings) and not isinstance(truth, Mapping) and not isinstance(run, Mapping):
            actual, predicted = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in (truth, run))
            if actual.shape != predicted.shape:
                raise ValueError(f"{actual.size} actual values but {predicted.size} predictions")
            return Dense(predicted.reshape(1, -1), actual.reshape(1, -1))
        if numbers:
            label = next(plan.label for plan, is_error in zip(self.plans, ratings, strict=True) if not is_error)
            raise TypeError(f"{label} measures lists, not the single values {truth!r} and {run!r}")
        for side, what in ((() if truth is None else truth, "truth"), (run, "run")):
            if not isinstance(side, _ITEMS):
                raise TypeError(f"the {what} is {side!r}; give a list of items or a dict")
            for item in side:
                if isinstance(item, (list, tuple)) and not isinstance(side, (Set, Mapping)):
                    raise TypeError(f"the {what} is a list of lists; for a batch give rs.lists(...) on both sides")
                break
        return Alone(OneList(query, (), run)) if truth is None else OneList(query, truth, run)

    def _partial(self, source: Source, weights: Any) -> Partial:
        if self._weighted and weights is None:
            raise ValueError("averaging='weighted' needs weights=, one a query, in every update")
        if weights is not None and not self._weighted:
            raise ValueError("weights= go with averaging='weighted': say so when the accumulator is made")
        return partial_of(source, self.plans, weights, self.threads, common=True, wanted=self._alignments)

    @locked
    def take(self, partial: Partial) -> None:
        """Some queries that were aligned elsewhere."""
        held, named = self._held, partial.ids is not None
        if len(partial):
            self._check(held, named, partial.ordered)
            for query in held.ids.intersection(partial.ids or ()):
                raise ValueError(f"query {query!r} was here before")
        if self.keep and partial.extra and self.plans[0].choices["extra"] == "zero":
            judged = len(partial) - len(partial.extra)
            held.pieces.append(partial.only(np.arange(judged)))
            held.extra_pieces.append(replace(partial.only(np.arange(judged, len(partial))), extra=[], dropped=0))
        else:
            held.pieces.append(partial)
        held.waiting += len(partial)
        if self.keep and held.waiting >= _GATHERED:
            held.gather()
        elif not self.keep and held.waiting >= _TOGETHER:
            try:
                self._fold()
            except BaseException:  # nothing stays of an update that is refused
                held.pieces.pop()
                held.waiting -= len(partial)
                raise
        if len(partial):
            held.named, held.ordered = named, partial.ordered
            held.queries += len(partial)
            held.ids.update(partial.ids or ())

    def _check(self, held: _Held, named: bool | None, ordered: bool | None) -> None:
        """Stop at queries that do not go with those that are here."""
        if held.named not in (None, named):
            raise ValueError("some queries have ids and some have none; give ids to all or to none")
        if self._orders and held.ordered not in (None, ordered):
            raise ValueError("some truths are orders of items and some are not; give grades to all or to none")

    @locked
    def _fold(self) -> _Held:
        """Put together what has come; with keep=False, add it up and forget it."""
        held = self._held
        if self.keep:
            held.join()
        elif held.pieces:
            if self._shown:
                self._items = items_of(self._beside, self._items)
            sums = concat(held.pieces).sums(self._summed, self._items, self.threads)
            held.sums = _plus(held.sums, sums or ())
            held.pieces, held.waiting = [], 0
        return held.copy()

    # -- the result ------------------------------------------------------------------------------------------

    def compute(self) -> Result | AccumulatedMeans:
        """What `rs.evaluate` would say of all queries so far: a `Result`, or with keep=False the means."""
        held = self._fold()
        if not self.keep:
            named = self._convention.with_choices(**self._choices)
            definitions = {plan.label: definition_of(plan, named) for plan in self.plans}
            return AccumulatedMeans(self.means([sums.rounded() for sums in held.sums]), definitions, held.queries)
        pieces = held.pieces or [self._partial(Dicts({}, {}), () if self._weighted else None)]
        weights = concat_weights([*pieces, *held.extra_pieces])
        items = items_of(self._beside) if self._shown else None

        def later() -> LiveMeasurement:
            """All queries at once."""
            whole = concat([self._made_one(pieces), *held.extra_pieces])
            outcomes, aligned = whole.outcomes(self.plans, items, self.threads)
            return LiveMeasurement(outcomes, aligned, self._convention, self._choices, weights)

        sums = self._sums_of([*pieces, *held.extra_pieces])
        if sums is not None:
            means = self.means([one.rounded() for one in sums])
            return Result(means, later)
        result = Result.of(later())
        return result if items is None else result.remarked(items.notes)

    def _sums_of(self, pieces: Sequence[Partial]) -> list[Sums] | None:
        """What the means are made of, each piece measured once; None where all queries have to be looked at at once."""
        new = [piece for piece in pieces if "sums" not in piece.memo]
        measured = [self._alone(piece, self.threads) for piece in new[:1]]
        if new[1:] and measured[0] is not None:
            from concurrent.futures import ThreadPoolExecutor  # a quick start: few have so many queries

            with ThreadPoolExecutor(self.threads or os.cpu_count()) as pool:  # a piece each, which starts fewer threads
                measured += pool.map(lambda piece: self._alone(piece, threads=1), new[1:])
        for piece, some in zip(new, measured, strict=False):
            piece.memo["sums"] = some
        sums = self._none
        for piece in pieces:
            more = piece.memo.get("sums")
            if more is None:
                return None
            sums = _plus(sums, more)
        return sums

    def _alone(self, piece: Partial, threads: int) -> list[Sums] | None:
        """The sums of some queries; None where they, or what is wrong with them, could depend on others."""
        if self._shown or not all(map(_adds_up, self.plans)):
            return None
        try:
            return piece.sums(self.plans, None, threads, alone=True)
        except ValueError:  # which is said of all queries at once, by their numbers
            return None

    def _made_one(self, pieces: list[Partial]) -> Partial:
        """The first pieces as one, which takes their place."""
        whole = concat(pieces)
        whole.memo["sums"] = self._sums_of(pieces)
        with self._lock:
            self._held.replace(pieces, whole)
        return whole

    def sums(self) -> list[Sums]:
        """What the means are made of, with keep=False: sums that can be added to those of other queries."""
        return [sums.rounded() for sums in self._fold().sums]

    def means(self, sums: Sequence[Sums] | None = None) -> dict[str, float]:
        """The means that sums make: its own, or those of several accumulators added up."""
        rows = zip(self.plans, sums or self.sums(), strict=True)
        items = items_of(self._beside) if self._shown else None
        return {plan.label: mean_from(plan, found, finish_of(plan, items)) for plan, found in rows}

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Accumulator) -> Accumulator:
        """Take in all that another accumulator of the same metrics and choices has seen. Returns this one."""
        if not isinstance(other, Accumulator):
            raise TypeError(f"an accumulator merges with another accumulator, not with {type(other).__name__}")
        if other is self:
            raise ValueError("an accumulator cannot be merged with itself: its queries would count twice")
        if (self.plans, self.keep) != (other.plans, other.keep):
            raise ValueError("the accumulators differ in their metrics, choices or keep=")
        if self._settings() != other._settings():
            raise ValueError("the accumulators differ in their catalogue=, history= or reference=")
        self._take_in(other._fold())  # one lock after the other, so that none waits for ever
        return self

    @locked
    def _take_in(self, more: _Held) -> None:
        held = self._held
        if more.queries:
            self._check(held, more.named, more.ordered)
            for query in held.ids & more.ids:
                raise ValueError(f"query {query!r} is in both accumulators")
            held.named, held.ordered = more.named, more.ordered
        held.ids |= more.ids
        held.queries += more.queries
        held.pieces += more.pieces
        held.extra_pieces += more.extra_pieces
        held.sums = _plus(held.sums, more.sums)

    def state_dict(self) -> dict[str, Any]:
        """All it knows, in arrays, lists, strings and numbers; ids are as they were given."""
        held = self._fold()
        return {
            "settings": self._settings(),
            "queries": held.queries,
            "named": held.named,
            "ordered": held.ordered,
            "ids": list(held.ids),
            "sums": [[*map(_plain, sums[:2]), sums.queries] for sums in held.sums],
            "pieces": [piece.state() for piece in held.pieces],
            "extra_pieces": [piece.state() for piece in held.extra_pieces],
        }

    def _load(self, state: State) -> None:
        ids, queries, named = saved.items(state, "ids"), saved.whole(state, "queries"), saved.flag(state, "named", None)
        pieces, extra_pieces = (
            [
                Partial.from_state(piece, self._alignments, self._shown, weighted=self._weighted)
                for piece in saved.items(state, name)
            ]
            for name in ("pieces", "extra_pieces")
        )
        sums = [_sums(each) for each in saved.items(state, "sums")]
        held = _Held(set(ids), named, saved.flag(state, "ordered", None), queries, pieces, extra_pieces, sums)
        if len(sums) != len(self.plans) or (any(map(any, sums)) if self.keep else pieces or extra_pieces):
            raise ValueError("it has other sums or pieces than these metrics and keep= ask for")
        if len(held.ids) != (queries if named else 0) or (queries and named is None):
            raise ValueError(f"it has {len(held.ids)} ids of {queries} queries")
        if self.keep:
            every = [*pieces, *extra_pieces]
            given = [query for piece in every for query in piece.ids or ()]
            if sum(map(len, every)) != queries or set(given) != held.ids:
                raise ValueError(f"its pieces do not have the {queries} queries")
        elif any(each.queries > queries for each in sums):
            raise ValueError(f"its sums are of more than {queries} queries")
        with self._lock:
            self._held = held

    def _settings(self) -> dict[str, Any]:
        return {**settings_of(self.plans, self._beside), "keep": self.keep}

    def __repr__(self) -> str:
        return f"Accumulator({', '.join(plan.label for plan in self.plans)}; {self._held.queries:,} queries)"


class AccumulatedMeans(ByMetric[float]):
    """Means by metric name, where the values of the queries were not kept."""

    def __init__(self, means: Mapping[str, float], definitions: dict[str, Definition], queries: int) -> None:
        super().__init__(means, definitions)
        self.queries = queries  # how many there were

    def __repr__(self) -> str:
        return f"{dict(self._found)!r} of {self.queries:,} queries"


@dataclass
class _Held:
    """All that an accumulator knows."""

    ids: set[Any] = field(default_factory=set)
    named: bool | None = None
    ordered: bool | None = None
    queries: int = 0
    pieces: list[Partial] = field(default_factory=list)
    extra_pieces: list[Partial] = field(default_factory=list)  # queries nobody judged, where they count: they go last
    sums: list[Sums] = field(default_factory=list)
    gathered: int = 0  # pieces that are large
    waiting: int = 0  # queries in the pieces after these, or in those that are yet to be added up

    def gather(self) -> None:
        """Make one large piece of the last ones."""
        self.pieces[self.gathered :] = [concat(self.pieces[self.gathered :])]
        self.gathered, self.waiting = len(self.pieces), 0

    def join(self) -> None:
        """Make one of the last pieces, which more can be added to."""
        for pieces, large in ((self.pieces, self.gathered), (self.extra_pieces, 0)):
            if len(pieces) > large:
                pieces[large:] = [concat(pieces[large:])]

    def replace(self, pieces: Sequence[Partial], whole: Partial) -> None:
        """Have one piece where the first ones were, if these are still here."""
        count = len(pieces)
        if len(self.pieces) >= count and all(map(operator.is_, self.pieces, pieces)):
            self.pieces[:count] = [whole]
            self.gathered = max(self.gathered - count, 0) + 1
            self.waiting = sum(map(len, self.pieces[self.gathered :]))

    def copy(self) -> _Held:
        return replace(
            self, ids=set(self.ids), pieces=[*self.pieces], extra_pieces=[*self.extra_pieces], sums=[*self.sums]
        )


def _is_list(side: Any) -> bool:
    """Is it one list of items, not several."""
    if isinstance(side, Mapping):
        return bool(side) and not isinstance(next(iter(side.values())), _ITEMS)
    return isinstance(side, (Set, list, tuple)) or (isinstance(side, np.ndarray) and side.ndim == 1)


# -- sums ----------------------------------------------------------------------------------------------------


def _adds_up(plan: Plan) -> bool:
    """Does its mean add up from values of queries: not that of one list, and not what somebody's own function says."""
    return not plan.averaging.pooled and is_built_in(plan.metric.declaration)


def _plus(some: Iterable[Sums], more: Iterable[Sums]) -> list[Sums]:
    """Both shares of each metric together."""
    return [one.plus(other) for one, other in zip(some, more, strict=True)]


def _plain(total: Any) -> Any:
    """A sum as whole numbers; an exact one as its units and what is no finite number."""
    return list(total.__reduce__()[1][1:]) if isinstance(total, ExactSum) else total


def _sums(state: Any) -> Sums:
    """The sums from their state."""
    totals = []
    *given, queries = saved.items({"sums": state}, "sums")
    if len(given) != 2:
        raise ValueError(f"sums are {state!r}")
    for total in given:
        units, other = total if isinstance(total, (list, tuple)) else (total, 0.0)
        if not isinstance(units, int) or not isinstance(other, float) or (math.isfinite(other) and other):
            raise ValueError(f"a sum is {total!r}")
        totals.append(ExactSum(units=units, other=other) if isinstance(total, (list, tuple)) else units)
    return Sums(totals[0], totals[1], saved.whole({"queries": queries}, "queries"))
