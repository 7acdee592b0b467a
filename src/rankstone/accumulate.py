"""`Accumulator`: queries measured as they come; how they were cut into batches does not change the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from rankstone.conventions import Convention
from rankstone.conventions import convention as find_convention
from rankstone.definitions import Definition, define
from rankstone.evaluate import (
    DEFAULT_METRICS,
    NothingToEarn,
    Plan,
    Sums,
    alignments,
    mean_from,
    plan,
    refuse,
    scored,
    sums_of,
    weights_of,
)
from rankstone.inputs import Aligned, Source, open_source
from rankstone.inputs.dense import Dense
from rankstone.inputs.dicts import Dicts
from rankstone.inputs.sparse import is_sparse
from rankstone.metrics.registry import Metric
from rankstone.ranked import Bools, Floats, Ints, Ranked, Ratio
from rankstone.result import Outcome, Result

_ITEMS = (Mapping, Set, list, tuple, np.ndarray)
_NONE: Floats = np.zeros(0)
_SCALE = 1126  # every float is a whole number of 2 ** -1126
_HUGE = 2.0**900
_TOGETHER = 1024  # queries that are added up at a time


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
        self.plans = plan(metrics, convention, choices)
        self._alignments = alignments(self.plans)
        self._convention = find_convention(convention)
        self._choices = choices
        self._weighted = any(one.choices["averaging"] == "weighted" for one in self.plans)
        self._orders = any(one.metric.row.kind == "agreement" for one in self.plans)
        self.keep = keep
        self.threads = threads
        if not keep:
            self._summed = tuple(by_query(one, "; or choose keep=True") for one in self.plans)
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
        aligned = {
            align: source.align(**dict(align), zeros=zeros, threads=self.threads)
            for align, zeros in self._alignments.items()
        }
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
            self._sums = [_plus(before, more) for before, (more, _) in zip(self._sums, sums, strict=True)]
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
            ranked, ratio, values, counted = _scored(one, whole)
            sums = _rounded(sums_of(one, ranked, ratio, values, counted, whole.weights, ExactSum))
            outcomes[one.label] = Outcome(one, ratio, values, counted, mean_from(one, sums, ratio.finish))
        return Result(outcomes, whole.aligned(), self._convention, self._choices, whole.weights)

    def sums(self) -> list[Sums]:
        """What the means are made of, with keep=False: sums that can be added to those of other queries."""
        self._fold()
        return [_rounded(one) for one in self._sums]

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
        self._sums = [_plus(*both) for both in zip(self._sums, other._sums, strict=True)]
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

    ranked: dict[Any, Ranked]  # by alignment
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

    def aligned(self) -> dict[Any, Aligned]:
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
        {align: _joined([one.ranked[align] for one in filled]) for align in pieces[0].ranked},
        ids,
        np.concatenate(weights) if weights else None,
        [query for one in pieces for query in one.extra],
        sum(one.dropped for one in pieces),
    )


def _joined(ranked: Sequence[Ranked]) -> Ranked:
    def every(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in ranked])

    def ends(name: str) -> Ints:
        sizes = np.concatenate([np.diff(getattr(one, name)) for one in ranked])
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))

    above = tied = None
    if any(one.tied is not None for one in ranked):
        above = np.concatenate([one.ranks - 1 if one.above is None else one.above for one in ranked])
        tied = np.concatenate([np.ones_like(one.ranks) if one.tied is None else one.tied for one in ranked])
    return Ranked(
        every("retrieved"), every("present"), ends("truth_offsets"), every("grades"), every("ideal"),
        ends("hit_offsets"), every("ranks"), every("grade"), every("score"), every("place"), above, tied,
        ordered_truth=all(one.ordered_truth for one in ranked),
    )  # fmt: skip


def _scored(one: Plan, piece: Piece) -> tuple[Ranked, Ratio, Floats, Bools | None]:
    try:
        return scored(one, piece.ranked[one.align])
    except NothingToEarn as error:
        query = piece.names[error.query]
        raise ValueError(f"{one.label}: nothing could be earned in query {query!r} (no relevant item)") from None


def _is_list(side: Any) -> bool:
    """Is it one list of items, not several."""
    if isinstance(side, Mapping):
        return bool(side) and not isinstance(next(iter(side.values())), _ITEMS)
    return isinstance(side, (Set, list, tuple)) or (isinstance(side, np.ndarray) and side.ndim == 1)


# -- sums ----------------------------------------------------------------------------------------------------


def by_query(one: Plan, advice: str = "") -> Plan:
    """The plan for sums that are taken a few queries at a time, or an error if there are none."""
    if one.arguments.get("max_grade", 0) is None and one.arguments.get("stop") != "grade":
        raise ValueError(f"{one.label} takes the highest grade of all queries; say it: max_grade={advice}")
    if one.choices["averaging"] != "pooled":
        return one
    if not one.metric.row.additive:
        raise ValueError(f"{one.label}: averaging='pooled' needs the rows of all queries{advice}")
    return replace(one, choices={**one.choices, "averaging": "micro"})


def _sums(one: Plan, piece: Piece) -> tuple[Sums, Any]:
    measured = _scored(one, piece)
    return sums_of(one, *measured, piece.weights, ExactSum), measured[1].finish


def _plus(one: Sums, other: Sums) -> Sums:
    return Sums(one.top + other.top, one.bottom + other.bottom, one.queries + other.queries)


def _rounded(sums: Sums) -> Sums:
    return Sums(float(sums.top), float(sums.bottom), sums.queries)


class ExactSum:
    """A sum of floats without any rounding, so that their order does not matter."""

    __slots__ = ("_other", "_units")

    def __init__(self, values: Floats = _NONE, units: int = 0, other: float = 0.0) -> None:
        self._units = units  # of 2 ** -_SCALE
        self._other = other  # infinite, or not a number
        highest = np.abs(values).max(initial=0.0)
        if not np.isfinite(highest):
            finite = np.isfinite(values)
            self._other += sum(values[~finite].tolist())
            values = values[finite]
            highest = np.abs(values).max(initial=0.0)
        if highest > _HUGE:
            self._units += sum(map(_units, values.tolist()))
            return
        # In parts of 26 bits: the sum of up to 2 ** 26 numbers of so few bits is exact.
        power = int(np.frexp(highest)[1])
        while highest:
            power = max(power - 26, -1074)
            shift = 1.5 * 2.0 ** (52 + power)
            part = (values + shift) - shift  # to the nearest multiple of 2 ** power
            self._units += _units(float(part.sum()))
            values = values - part
            highest = values.any()

    def __add__(self, other: ExactSum | int) -> ExactSum:
        if isinstance(other, int):
            return ExactSum(units=self._units + (other << _SCALE), other=self._other)
        return ExactSum(units=self._units + other._units, other=self._other + other._other)

    __radd__ = __add__

    def __float__(self) -> float:
        try:
            return self._units / (1 << _SCALE) + self._other
        except OverflowError:
            return (math.inf if self._units > 0 else -math.inf) + self._other

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactSum, (_NONE, self._units, self._other)


def _units(value: float) -> int:
    over, under = value.as_integer_ratio()
    return over << (_SCALE + 1 - under.bit_length())
