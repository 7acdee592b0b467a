"""`Accumulator`: queries measured as they come; how they were cut into batches does not change the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from rankstone.align.join import join
from rankstone.align.ranked import Bools, Floats, Ranked
from rankstone.answers.definition import Definition, define
from rankstone.answers.result import Result
from rankstone.conventions.convention import Convention
from rankstone.conventions.convention import convention as find_convention
from rankstone.conventions.plan import DEFAULT_METRICS, Feeding, Plan, alignments, make_plans, refuse_unknown
from rankstone.inputs.dense import Dense
from rankstone.inputs.dicts import Dicts
from rankstone.inputs.open import open_source
from rankstone.inputs.source import Align, Aligned, Source
from rankstone.inputs.sparse import is_sparse
from rankstone.measure.sums import ExactSum, Measured, Sums, mean_from, measure, outcome_of, sums_of
from rankstone.measure.values import refuse, weights_of
from rankstone.metrics.registry import Metric

_ITEMS = (Mapping, Set, list, tuple, np.ndarray)
_TOGETHER = 1024  # queries that are added up at a time
_SUMS = "only sums are kept"
SUMS = Feeding(all_queries=_SUMS, one_list=_SUMS, otherwise="or choose keep=True")


class Accumulator:
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
    one of your own must look at each query by itself. An accumulator can be pickled, and takes in another with `merge`.
    """

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        keep: bool = True,
        threads: int = 0,
        **choices: Any,
    ) -> None:
        self.plans = make_plans(metrics, convention, choices)
        self._alignments = alignments(self.plans, threads)
        self._convention = find_convention(convention)
        self._choices = choices
        self._weighted = any(one.choices["averaging"] == "weighted" for one in self.plans)
        self._orders = any(one.metric.row.kind == "agreement" for one in self.plans)
        self.keep = keep
        self.threads = threads
        if not keep:
            refuse_unknown(self.plans, SUMS)
            self._summed = tuple(map(by_query, self.plans))
        self.reset()

    def reset(self) -> None:
        """Forget all queries."""
        self._ids: set[Any] = set()
        self._named: bool | None = None
        self._ordered: bool | None = None
        self._queries = 0
        self._pieces: list[Piece] = []
        self._waiting = 0  # queries in pieces that are yet to be added up
        self._extra_pieces: list[Piece] = []  # queries that nobody judged, where they count; a result has them last
        self._sums = [Sums(0, 0, 0)] * len(self.plans)
        self._finish: list[Any] = [None] * len(self.plans)

    # -- more queries ----------------------------------------------------------------------------------------

    def update(
        self,
        truth: Any,
        run: Any = None,
        *,
        query: Any = None,
        weights: Any = None,
        columns: Mapping[str, Any] | None = None,
        mask: Any = None,
        lengths: Any = None,
        groups: Any = None,
    ) -> None:
        """Measure more queries. query: the id of a single list. The other words are those of `rs.evaluate`."""
        single = self._single(truth, run, query)
        if single is None and query is not None:
            raise TypeError("query= names a single list; dicts and tables name their queries themselves")
        source = single or open_source(truth, run, mask=mask, lengths=lengths, groups=groups, columns=columns)
        piece = self._piece(source, weights)
        nameless = query is None if single else is_sparse(truth) or is_sparse(run)
        if nameless or isinstance(piece.ids, range):
            piece = replace(piece, ids=None)
        self._refuse(piece)
        self._add(piece)

    def _single(self, truth: Any, run: Any, query: Any) -> Source | None:
        """The source of a single list, or of one rating."""
        numbers = isinstance(truth, Real) and isinstance(run, Real)
        if not numbers and not (_is_list(truth) or _is_list(run)):
            return None
        ratings = [one.metric.row.kind == "ratings" for one in self.plans]
        if all(ratings) and not isinstance(truth, Mapping) and not isinstance(run, Mapping):
            actual, predicted = (np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (truth, run))
            if actual.shape != predicted.shape:
                raise ValueError(f"{actual.size} actual values but {predicted.size} predictions")
            return Dense(predicted.reshape(1, -1), actual.reshape(1, -1))
        if numbers:
            label = next(one.label for one, is_error in zip(self.plans, ratings, strict=True) if not is_error)
            raise TypeError(f"{label} measures lists, not the single values {truth!r} and {run!r}")
        for side, what in ((truth, "truth"), (run, "run")):
            if not isinstance(side, _ITEMS):
                raise TypeError(f"the {what} is {side!r}; give a list of items or a dict")
            for item in side:
                if isinstance(item, (list, tuple)) and not isinstance(side, (Set, Mapping)):
                    raise TypeError(f"the {what} is a list of lists; for a batch give rs.lists(...) on both sides")
                break
        return Dicts({query: truth}, {query: run})

    def _piece(self, source: Source, weights: Any) -> Piece:
        aligned = {asked: source.align(how) for asked, how in self._alignments.items()}
        for one in self.plans:
            refuse(one, aligned[one.align])
        if self._weighted and weights is None:
            raise ValueError("averaging='weighted' needs weights=, one a query, in every update")
        if weights is not None and not self._weighted:
            raise ValueError("weights= go with averaging='weighted': say so when the accumulator is made")
        first = aligned[self.plans[0].align]
        weighing = None if weights is None else weights_of(weights, first)
        ranked = {align: one.ranked for align, one in aligned.items()}
        return Piece(ranked, first.queries, weighing, list(first.extra) if first.extra_count else [], first.dropped)

    def _refuse(self, piece: Piece) -> None:
        if len(piece) and self._named not in (None, piece.ids is not None):
            raise ValueError("some updates name their queries and some do not; give ids to all or to none")
        if len(piece) and self._orders and self._ordered not in (None, piece.ordered):
            raise ValueError("some truths are orders of items and some are not; give grades to all or to none")
        for one in self._ids.intersection(piece.ids or ()):
            raise ValueError(f"query {one!r} was here before")

    def _add(self, piece: Piece) -> None:
        if self.keep and piece.extra and self.plans[0].choices["extra"] == "zero":
            judged = np.arange(len(piece)) < len(piece) - len(piece.extra)
            self._pieces.append(piece.only(judged))
            self._extra_pieces.append(replace(piece.only(~judged), extra=[], dropped=0))
        else:
            self._pieces.append(piece)
        if len(piece):
            self._named, self._ordered = piece.ids is not None, piece.ordered
            self._queries += len(piece)
            self._ids.update(piece.ids or ())
        self._waiting += len(piece)
        if not self.keep and self._waiting >= _TOGETHER:
            self._fold()

    def _fold(self) -> None:
        """With keep=False: add up what has come, and forget it."""
        if self._pieces:
            piece = joined(self._pieces)
            sums = [_sums(one, piece) for one in self._summed]
            self._sums = [before.plus(more) for before, (more, _) in zip(self._sums, sums, strict=True)]
            self._finish = [finish for _, finish in sums]
            self._pieces, self._waiting = [], 0

    # -- the result ------------------------------------------------------------------------------------------

    def compute(self) -> Result | Totals:
        """What `rs.evaluate` would say of all queries so far: a `Result`, or with keep=False the means."""
        if not self.keep:
            named = self._convention.but(**self._choices)
            return Totals(self.means(), {one.label: define(one, named) for one in self.plans}, self._queries)
        for pieces in (self._pieces, self._extra_pieces):
            pieces[:] = [joined(pieces)] if pieces else []  # so that the next call has less to join
        nothing = self._piece(Dicts({}, {}), () if self._weighted else None)
        whole = joined([*self._pieces, *self._extra_pieces] or [nothing])
        outcomes = {}
        for one in self.plans:
            outcomes[one.label] = outcome_of(one, whole.measured(one), whole.weights, ExactSum)
        return Result(outcomes, whole.aligned(), self._convention, self._choices, whole.weights)

    def sums(self) -> list[Sums]:
        """What the means are made of, with keep=False: sums that can be added to those of other queries."""
        self._fold()
        return [one.rounded() for one in self._sums]

    def means(self, sums: Sequence[Sums] | None = None) -> dict[str, float]:
        """The means that sums make: its own, or those of several accumulators added up."""
        own = self.sums()
        rows = zip(self.plans, sums or own, self._finish, strict=True)
        return {one.label: mean_from(one, found, finish) for one, found, finish in rows}

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Accumulator) -> Accumulator:
        """Take in all that another accumulator of the same metrics and choices has seen. Returns this one."""
        if not isinstance(other, Accumulator):
            raise TypeError(f"an accumulator merges with another accumulator, not with {type(other).__name__}")
        if other is self:
            raise ValueError("an accumulator cannot be merged with itself: its queries would count twice")
        if (self.plans, self.keep) != (other.plans, other.keep):
            raise ValueError("the accumulators differ in their metrics, choices or keep=")
        if other._queries:
            if self._queries and self._named != other._named:
                raise ValueError("one accumulator's queries have ids and the other's have none")
            if self._queries and self._orders and self._ordered != other._ordered:
                raise ValueError("one accumulator's truths are orders of items and the other's are not")
            for one in self._ids & other._ids:
                raise ValueError(f"query {one!r} is in both accumulators")
            self._named, self._ordered = other._named, other._ordered
        self._ids |= other._ids
        self._queries += other._queries
        self._pieces = self._pieces + other._pieces
        self._waiting += other._waiting
        self._extra_pieces = self._extra_pieces + other._extra_pieces
        self._sums = [mine.plus(more) for mine, more in zip(self._sums, other._sums, strict=True)]
        self._finish = [mine or more for mine, more in zip(self._finish, other._finish, strict=True)]
        return self

    def __repr__(self) -> str:
        return f"Accumulator({', '.join(one.label for one in self.plans)}; {self._queries:,} queries)"


class Totals(Mapping[str, float]):
    """Means by metric name, where the values of the queries were not kept."""

    def __init__(self, means: Mapping[str, float], definitions: dict[str, Definition], queries: int) -> None:
        self._means = means
        self.definitions = definitions
        self.queries = queries  # how many there were

    def __getitem__(self, metric: str | Metric) -> float:
        return self._means[str(metric)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        return f"{dict(self._means)!r} of {self.queries:,} queries"


# -- queries that came together ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Piece:
    """Some queries, and where their judged items were."""

    ranked: dict[Align, Ranked]  # by alignment
    ids: Sequence[Any] | None
    weights: Floats | None
    extra: list[Any]
    dropped: int

    def __len__(self) -> int:
        return len(next(iter(self.ranked.values())))

    @property
    def ordered(self) -> bool:
        """Did the truth come as an order, without grades."""
        return next(iter(self.ranked.values())).ordered_truth

    @property
    def names(self) -> Sequence[Any]:
        """Ids, or numbers if there are none."""
        return range(len(self)) if self.ids is None else self.ids

    def only(self, queries: Bools) -> Piece:
        """The same of some queries only."""
        return replace(
            self,
            ranked={align: one.only(queries) for align, one in self.ranked.items()},
            ids=None if self.ids is None else [self.ids[int(at)] for at in np.flatnonzero(queries)],
            weights=None if self.weights is None else self.weights[queries],
        )

    def measured(self, plan: Plan) -> Measured:
        """One metric of these queries."""
        with self.aligned()[plan.align].naming(plan.label):
            return measure(plan, self.ranked[plan.align])

    def aligned(self) -> dict[Align, Aligned]:
        """The same as `Result` has it."""
        names, extra = self.names, self.extra
        return {
            align: Aligned(one, lambda: names, lambda: extra, len(extra), self.dropped)
            for align, one in self.ranked.items()
        }


def joined(pieces: Sequence[Piece]) -> Piece:
    """Several pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    filled = [one for one in pieces if len(one)] or pieces[:1]  # an empty one says nothing of ids and orders
    ids = None if filled[0].ids is None else [query for one in filled for query in one.ids or ()]
    weights = [one.weights for one in pieces if one.weights is not None]
    return Piece(
        {align: join([one.ranked[align] for one in filled]) for align in pieces[0].ranked},
        ids,
        np.concatenate(weights) if weights else None,
        [query for one in pieces for query in one.extra],
        sum(one.dropped for one in pieces),
    )


def _is_list(side: Any) -> bool:
    """Is it one list of items, not several."""
    if isinstance(side, Mapping):
        return bool(side) and not isinstance(next(iter(side.values())), _ITEMS)
    return isinstance(side, (Set, list, tuple)) or (isinstance(side, np.ndarray) and side.ndim == 1)


# -- sums ----------------------------------------------------------------------------------------------------


def by_query(plan: Plan) -> Plan:
    """The plan for sums that are taken a few queries at a time. Those of one list, where they add up, are a micro mean's."""
    if plan.choices["averaging"] != "one_list":
        return plan
    return replace(plan, choices={**plan.choices, "averaging": "micro"})


def _sums(one: Plan, piece: Piece) -> tuple[Sums, Any]:
    found = piece.measured(one)
    return sums_of(one, found, piece.weights, ExactSum), found.ratio.finish
