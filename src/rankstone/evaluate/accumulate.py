"""`Accumulator`: queries evaluated in batches; the batches do not change the result."""

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
from rankstone.data.arrow import convertible
from rankstone.data.dicts import Dicts, OneList
from rankstone.data.lists import Dense, is_sparse
from rankstone.data.source import RunOnly, Source
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.checks import excludes_ones, require_scale
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
from rankstone.evaluate.pipeline import depths_of, open_source, require_truth
from rankstone.metrics.registry import Value, is_built_in
from rankstone.results.definition import ByMetric, Definition, definition_of
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.data.side_info import ItemIndex
    from rankstone.typing import Array, CatalogueLike, ColumnRoles, Items, Metrics, Numbers, Run, Truth, Weights

_ITEMS = (Mapping, Set, list, tuple, np.ndarray)
_FOLDED = 512  # queries whose sums are added at a time
_GATHERED = 8192  # queries whose arrays are concatenated: many small ones would fragment the memory
_SUMS = "keep=False keeps only sums"
SUMS = Capabilities(all_queries=_SUMS, all_lists=_SUMS, one_list=_SUMS, otherwise="or choose keep=True")


class Accumulator(Resumable):
    """Evaluates queries in batches: one list, a batch or a table at a time.

    The result is the same for any batches and any order of the queries: sums are exact. Queries with ids (those of
    dicts and tables, or `query=`) may occur once; a repeated id is an error. Without ids every list is a query of its
    own. An update takes whole queries: for rows of one query in several batches use `rs.Stream`.

    An accumulator can be pickled, merged with others (`merge`), saved (`state_dict`) and updated by several threads.

    Parameters
    ----------
    metrics : str, Metric or list of these, optional
        Metrics, such as `"ndcg@10"` or `["rr", "recall@2"]`.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    keep : bool, default True
        True keeps the ranks of the judged items, so that `compute` returns a `Result` with values per query. False
        keeps sums and ids only, and `compute` returns means. Metrics over all queries at once are an error then, and
        a metric of your own must compute each query by itself.
    catalogue : ids, table, catalogue or int, optional
        All items, or their number, for metrics that need them.
    history : truth-like, optional
        Earlier interactions per query, for metrics that need them.
    reference : run-like, optional
        Other lists of the same queries, for metrics that need them.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, such as `threshold=2`; see `rs.choices`.

    Examples
    --------
    >>> accumulator = rs.Accumulator(["rr", "recall@2"])
    >>> accumulator.update(["a", "c"], ["b", "a"])
    >>> accumulator.update(["d"], ["d", "e"])
    >>> accumulator.compute()["rr"]
    0.75

    Beyond-accuracy metrics need no truth. The first k rows of each list are kept for them; with keep=False none are,
    for metrics that compute each list by itself.

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
        catalogue: CatalogueLike | int | None = None,
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
        self._list_alignments = tuple(depths_of(self.plans))  # of metrics that read recommendations
        self._weighted = any(plan.averaging.weighted for plan in self.plans)
        self._orders = any(
            plan.metric.declaration.kind == "agreement" or plan.arguments.get("ideal") == "given" for plan in self.plans
        )
        self._scaled = () if "threshold" in choices else tuple(filter(excludes_ones, self.plans))
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
        """Discard all queries."""
        self._items: ItemIndex | None = None  # side information, for sums
        self._held = _Held(sums=self._none)

    # -- more queries ----------------------------------------------------------------------------------------

    def update(
        self,
        truth: Truth | Items | float | None = None,
        run: Run | Items | float | None = None,
        *,
        query: Hashable = None,
        weights: Weights | None = None,
        columns: ColumnRoles | None = None,
        mask: Array | None = None,
        lengths: Numbers | None = None,
        groups: Numbers | None = None,
    ) -> None:
        """Add queries.

        Parameters
        ----------
        truth : truth-like, items or float, optional
            The relevant items of one list or `{item: grade}`; or a truth as in `rs.evaluate`; or one actual value,
            for prediction errors.
        run : run-like, items or float, optional
            The returned items of one list, best first, or `{item: score}`; or a run as in `rs.evaluate`; or one
            predicted value.
        query : hashable, optional
            Id of a single list.
        weights : dict or array, optional
            One weight per query, with averaging="weighted".
        columns, mask, lengths, groups : optional
            As in `rs.evaluate`.
        """
        if truth is None and run is None:
            raise InputTypeError("give a truth and a run; for beyond-accuracy metrics a run only: update(run=run)")
        require_truth(self.plans, judged=truth is not None)
        single = self._single(truth, run, query)
        if single is None and query is not None:
            raise InputTypeError("query= names a single list; dicts and tables name their queries themselves")
        sides: Any = truth, run  # not a single list, so as in `rs.evaluate`
        source = single or open_source(*sides, mask=mask, lengths=lengths, groups=groups, columns=columns)
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
            with convertible("actual and predicted values"):
                actual, predicted = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in (truth, run))
            if actual.shape != predicted.shape:
                raise InputError(f"{actual.size} actual values but {predicted.size} predictions")
            return Dense(predicted.reshape(1, -1), actual.reshape(1, -1))
        if numbers:
            label = next(plan.label for plan, is_error in zip(self.plans, ratings, strict=True) if not is_error)
            raise InputTypeError(f"{label} evaluates lists, not the single values {truth!r} and {run!r}")
        for side, what in ((() if truth is None else truth, "truth"), (run, "run")):
            if not isinstance(side, _ITEMS):
                raise InputTypeError(f"the {what} is {side!r}; give a list of items or a dict")
            for item in side:
                if isinstance(item, (list, tuple)) and not isinstance(side, (Set, Mapping)):
                    raise InputTypeError(f"the {what} is a list of lists; for a batch give rs.lists(...) on both sides")
                break
        return RunOnly(OneList(query, (), run)) if truth is None else OneList(query, truth, run)

    def _partial(self, source: Source, weights: Any) -> Partial:
        if self._weighted and weights is None:
            raise InputError("averaging='weighted' needs weights=, one per query, in every update")
        if weights is not None and not self._weighted:
            raise InputError("weights= needs averaging='weighted' in rs.Accumulator(...)")
        return partial_of(source, self.plans, weights, self.threads, common=True, wanted=self._alignments)

    @locked
    def take(self, partial: Partial) -> None:
        """Add queries that are aligned already.

        Parameters
        ----------
        partial : Partial
            Some of the queries, as Spark tasks send them.
        """
        held, named = self._held, partial.ids is not None
        if len(partial):
            self._check(held, named, partial.ordered)
            for query in held.ids.intersection(partial.ids or ()):
                raise InputError(f"query {query!r} occurs twice: it was in an earlier update")
        if self.keep and partial.extra and self.plans[0].choices["extra"] == "zero":
            judged = len(partial) - len(partial.extra)
            held.pieces.append(partial.only(np.arange(judged)))
            held.extra_pieces.append(replace(partial.only(np.arange(judged, len(partial))), extra=[], dropped=0))
        else:
            held.pieces.append(partial)
        held.waiting += len(partial)
        if self.keep and held.waiting >= _GATHERED:
            held.gather()
        elif not self.keep and held.waiting >= _FOLDED:
            try:
                self._fold()
            except BaseException:  # a failed update leaves no trace
                held.pieces.pop()
                held.waiting -= len(partial)
                raise
        if len(partial):
            held.named, held.ordered = named, partial.ordered
            held.queries += len(partial)
            held.scale = max(held.scale, partial.scale(self._scaled))
            held.ids.update(partial.ids or ())

    def _check(self, held: _Held, named: bool | None, ordered: bool | None) -> None:
        """Raise for queries that cannot be mixed with the earlier ones."""
        if held.named not in (None, named):
            raise InputError("some queries have ids and some have none; give ids to all or to none")
        if self._orders and held.ordered not in (None, ordered):
            raise InputError("some truths are orders of items and some are not; give grades to all or to none")

    @locked
    def _fold(self) -> _Held:
        """Concatenate the pieces; with keep=False, add their sums and discard them."""
        held = self._held
        if self.keep:
            held.join()
        elif held.pieces:
            if self._list_alignments:
                self._items = items_of(self._side_info, self._items)
            sums = concat(held.pieces).sums(self._summed, self._items, self.threads)
            held.sums = _plus(held.sums, sums or ())
            held.pieces, held.waiting = [], 0
        return held.copy()

    # -- the result ------------------------------------------------------------------------------------------

    def compute(self) -> Result | AccumulatedMeans:
        """The result of all queries so far, as `rs.evaluate` would return it.

        Returns
        -------
        Result or AccumulatedMeans
            With keep=False, only means.
        """
        held = self._fold()
        for plan in self._scaled:
            require_scale(plan, held.scale)
        if not self.keep:
            named = self._convention.with_choices(**self._choices)
            definitions = {plan.label: definition_of(plan, named) for plan in self.plans}
            return AccumulatedMeans(self.means([sums.rounded() for sums in held.sums]), definitions, held.queries)
        pieces = held.pieces or [self._partial(Dicts({}, {}), () if self._weighted else None)]
        weights = concat_weights([*pieces, *held.extra_pieces])
        items = items_of(self._side_info) if self._list_alignments else None

        def later() -> LiveMeasurement:
            """All queries at once."""
            whole = concat([self._concatenated(pieces), *held.extra_pieces])
            outcomes, aligned = whole.outcomes(self.plans, items, self.threads)
            return LiveMeasurement(outcomes, aligned, self._convention, self._choices, weights)

        sums = self._sums_of([*pieces, *held.extra_pieces])
        if sums is not None:
            means = self.means([each.rounded() for each in sums])
            return Result(means, later)
        result = Result._of(later())
        return result if items is None else result._with_notes(items.notes)

    def _sums_of(self, pieces: Sequence[Partial]) -> list[Sums] | None:
        """The sums of the means, each piece evaluated once; None where all queries are needed at once."""
        new = [piece for piece in pieces if "sums" not in piece.memo]
        measured = [self._alone(piece, self.threads) for piece in new[:1]]
        if new[1:] and measured[0] is not None:
            from concurrent.futures import ThreadPoolExecutor  # a fast import: rarely needed

            with ThreadPoolExecutor(self.threads or os.cpu_count()) as pool:  # one piece per thread
                measured += pool.map(lambda piece: self._alone(piece, threads=1), new[1:])
        for piece, piece_sums in zip(new, measured, strict=False):
            piece.memo["sums"] = piece_sums
        sums = self._none
        for piece in pieces:
            more = piece.memo.get("sums")
            if more is None:
                return None
            sums = _plus(sums, more)
        return sums

    def _alone(self, piece: Partial, threads: int) -> list[Sums] | None:
        """The sums of a piece; None where they, or its errors, could depend on other queries."""
        if self._list_alignments or not all(map(_adds_up, self.plans)):
            return None
        try:
            return piece.sums(self.plans, None, threads, alone=True)
        except ValueError:  # raised again for all queries at once, by their numbers
            return None

    def _concatenated(self, pieces: list[Partial]) -> Partial:
        """The first pieces as one, which replaces them."""
        whole = concat(pieces)
        whole.memo["sums"] = self._sums_of(pieces)
        with self._lock:
            self._held.replace(pieces, whole)
        return whole

    def sums(self) -> list[Sums]:
        """The sums of the means, with keep=False; they can be added to those of other queries."""
        return [sums.rounded() for sums in self._fold().sums]

    def means(self, sums: Sequence[Sums] | None = None) -> dict[str, float]:
        """The means that follow from sums.

        Parameters
        ----------
        sums : list of Sums, optional
            Sums of several accumulators, added; by default its own.

        Returns
        -------
        dict
            Means by metric.
        """
        rows = zip(self.plans, sums or self.sums(), strict=True)
        items = items_of(self._side_info) if self._list_alignments else None
        return {plan.label: mean_from(plan, sums, finish_of(plan, items)) for plan, sums in rows}

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Accumulator) -> Accumulator:
        """Add the queries of another accumulator with the same metrics and choices.

        Parameters
        ----------
        other : Accumulator
            Not changed.

        Returns
        -------
        Accumulator
            This one.
        """
        if not isinstance(other, Accumulator):
            raise InputTypeError(f"an accumulator merges with another accumulator, not with {type(other).__name__}")
        if other is self:
            raise InputError("an accumulator cannot be merged with itself: its queries would count twice")
        if (self.plans, self.keep) != (other.plans, other.keep):
            raise InputError("the accumulators differ in their metrics, choices or keep=")
        if self._settings() != other._settings():
            raise InputError("the accumulators differ in their catalogue=, history= or reference=")
        self._take_in(other._fold())  # one lock after the other, so that none waits for ever
        return self

    @locked
    def _take_in(self, more: _Held) -> None:
        held = self._held
        if more.queries:
            self._check(held, more.named, more.ordered)
            for query in held.ids & more.ids:
                raise InputError(f"query {query!r} is in both accumulators")
            held.named, held.ordered = more.named, more.ordered
        held.ids |= more.ids
        held.queries += more.queries
        held.scale = max(held.scale, more.scale)
        held.pieces += more.pieces
        held.extra_pieces += more.extra_pieces
        held.sums = _plus(held.sums, more.sums)

    def _state(self) -> dict[str, Any]:
        held = self._fold()
        return {
            "queries": held.queries,
            "scale": held.scale,
            "named": held.named,
            "ordered": held.ordered,
            "ids": list(held.ids),
            "sums": [[*map(_plain, sums[:2]), sums.queries] for sums in held.sums],
            "pieces": [piece.state() for piece in held.pieces],
            "extra_pieces": [piece.state() for piece in held.extra_pieces],
        }

    def _load(self, state: State) -> None:
        ids, queries, named = saved.ids(state, "ids"), saved.whole(state, "queries"), saved.flag(state, "named", None)
        pieces, extra_pieces = (
            [
                Partial.from_state(piece, self._alignments, self._list_alignments, weighted=self._weighted)
                for piece in saved.items(state, name)
            ]
            for name in ("pieces", "extra_pieces")
        )
        sums = [_sums(each) for each in saved.items(state, "sums")]
        held = _Held(set(ids), named, saved.flag(state, "ordered", None), queries, pieces, extra_pieces, sums)
        held.scale = saved.whole(state, "scale") if "scale" in state else 2  # the first states had none
        if len(sums) != len(self.plans) or (any(map(any, sums)) if self.keep else pieces or extra_pieces):
            raise InputError("its sums or pieces do not match the metrics and keep=")
        if len(held.ids) != (queries if named else 0) or (queries and named is None):
            raise InputError(f"it has {len(held.ids)} ids of {queries} queries")
        if self.keep:
            every = [*pieces, *extra_pieces]
            piece_ids = [query for piece in every for query in piece.ids or ()]
            if sum(map(len, every)) != queries or set(piece_ids) != held.ids:
                raise InputError(f"its pieces do not have the {queries} queries")
        elif any(each.queries > queries for each in sums):
            raise InputError(f"its sums are of more than {queries} queries")
        with self._lock:
            self._held = held

    def _settings(self) -> dict[str, Any]:
        return {**settings_of(self.plans, self._side_info), "keep": self.keep}

    def __repr__(self) -> str:
        return f"Accumulator({', '.join(plan.label for plan in self.plans)}; {self._held.queries:,} queries)"


class AccumulatedMeans(ByMetric[float]):
    """Means by metric name, without values per query. What `Accumulator(keep=False).compute` returns.

    Attributes
    ----------
    queries : int
        Number of queries.
    definitions : dict
        The definition of each metric.
    """

    def __init__(self, means: Mapping[str, float], definitions: dict[str, Definition], queries: int) -> None:
        super().__init__(means, definitions)
        self.queries = queries

    def __repr__(self) -> str:
        return f"{dict(self._found)!r} of {self.queries:,} queries"


@dataclass
class _Held:
    """The data of an accumulator."""

    ids: set[Any] = field(default_factory=set)
    named: bool | None = None
    ordered: bool | None = None
    queries: int = 0
    pieces: list[Partial] = field(default_factory=list)
    extra_pieces: list[Partial] = field(default_factory=list)  # unjudged queries, where they count: they go last
    sums: list[Sums] = field(default_factory=list)
    scale: int = 0  # of the grades
    gathered: int = 0  # number of large pieces
    waiting: int = 0  # queries in the pieces after these, or not added to the sums yet

    def gather(self) -> None:
        """Concatenate the last pieces to a large one."""
        self.pieces[self.gathered :] = [concat(self.pieces[self.gathered :])]
        self.gathered, self.waiting = len(self.pieces), 0

    def join(self) -> None:
        """Concatenate the last pieces to one that more can be added to."""
        for pieces, large in ((self.pieces, self.gathered), (self.extra_pieces, 0)):
            if len(pieces) > large:
                pieces[large:] = [concat(pieces[large:])]

    def replace(self, pieces: Sequence[Partial], whole: Partial) -> None:
        """Replace the first pieces by their concatenation, if they are unchanged."""
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
    """Whether it is one list of items, not several."""
    if isinstance(side, Mapping):
        return bool(side) and not isinstance(next(iter(side.values())), _ITEMS)
    return isinstance(side, (Set, list, tuple)) or (isinstance(side, np.ndarray) and side.ndim == 1)


# -- sums ----------------------------------------------------------------------------------------------------


def _adds_up(plan: Plan) -> bool:
    """Whether its mean is a sum over queries: not with averaging="one_list", not for user-defined functions."""
    return not plan.averaging.pooled and is_built_in(plan.metric.declaration)


def _plus(first: Iterable[Sums], second: Iterable[Sums]) -> list[Sums]:
    """The sums of both, by metric."""
    return [sums.plus(more) for sums, more in zip(first, second, strict=True)]


def _plain(total: Any) -> Any:
    """A sum as whole numbers; an exact one as its units and its non-finite part."""
    return list(total.__reduce__()[1][1:]) if isinstance(total, ExactSum) else total


def _sums(state: Any) -> Sums:
    """The sums from their state."""
    totals = []
    *pair, queries = saved.items({"sums": state}, "sums")
    if len(pair) != 2:
        raise InputError(f"sums are {state!r}")
    for total in pair:
        units, other = total if isinstance(total, (list, tuple)) else (total, 0.0)
        other = saved.real(other)
        if type(units) is not int or not isinstance(other, float) or (math.isfinite(other) and other):
            raise InputError(f"a sum is {total!r}")
        totals.append(ExactSum(units=units, other=other) if isinstance(total, (list, tuple)) else units)
    return Sums(totals[0], totals[1], saved.whole({"queries": queries}, "queries"))
