"""`Partial`: some of the queries of an evaluation, however they come. Partials join, are saved, and become means.

Batches of training, served lists, tasks of a cluster: each makes partials; how these are joined, saved, read and
added up is written here only.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankstone.align import state as saved
from rankstone.align import topk
from rankstone.align.alignment import Alignment, Bools, Floats, Ints, join
from rankstone.align.recommendations import Shown, without_ids
from rankstone.align.state import State, ranked_from_state, ranked_state, reading
from rankstone.align.ties import TIES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, alignments, make_plans
from rankstone.data.arrow import Column, as_text, is_whole
from rankstone.data.source import Align, Aligned, First, Source
from rankstone.errors import SOME
from rankstone.evaluate.checks import Queries, refuse, refuse_strangers
from rankstone.evaluate.means import (
    UNKNOWN,
    ExactSum,
    Outcome,
    Sums,
    mean_from,
    outcome_of,
    range_of,
    shares_of,
    sums_of,
)
from rankstone.evaluate.pipeline import align_all, firsts_of, given_beside, made_of, movable_beside
from rankstone.evaluate.values import Measured, account_of, extreme_for, measure_each, view_for, weights_of
from rankstone.metrics.registry import ByName, Declaration, is_built_in, metric
from rankstone.program.ranking import Ratio

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside, Known
    from rankstone.typing import Metrics, Run, Stock, Truth, Weights

_UNLISTED = 1 << 20  # items of no catalogue and no history whose numbers are kept


class Terms(NamedTuple):
    """What each query adds to the two sums of each mean, and whether it does: a row per metric."""

    tops: Floats
    bottoms: Floats
    counted: Bools


@dataclass(frozen=True, eq=False)
class Partial:
    """Some queries: where their judged items are, the first items of their lists, what they add to the means."""

    ranked: Mapping[Align, Alignment]  # aligned rows, by alignment
    ids: Sequence[Any] | None  # None: queries have numbers only
    weights: Floats | None = None
    extra: Sequence[Any] = ()  # unjudged queries of the run
    dropped: int = 0
    firsts: Mapping[Align, First] = field(default_factory=dict)  # where a metric reads recommendations
    judged: bool = True  # False: there is no truth
    terms: Terms | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)  # columns with one entry per query
    memo: dict[str, list[Sums] | None] = field(default_factory=dict, init=False, repr=False)  # sums, once measured

    def __len__(self) -> int:
        return len(next(iter(self.ranked.values()), ())) if self.ids is None else len(self.ids)

    @property
    def ordered(self) -> bool:
        """Did the truth come as an order: of items without grades, or of grades."""
        ranked = next(iter(self.ranked.values()))
        return ranked.ordered_truth or ranked.ordered_grades

    def of(self, wanted: Iterable[Align]) -> Partial:
        """The same of some alignments."""
        ranked = {align: self.ranked[align] for align in wanted}
        return replace(self, ranked=ranked, firsts={align: self.firsts[align] for align in ranked})

    def only(self, queries: Ints) -> Partial:
        """The same of some queries only, in this order."""
        return replace(
            self,
            ranked={align: ranked.only(queries) for align, ranked in self.ranked.items()},
            ids=None if self.ids is None else _picked(self.ids, queries),
            weights=None if self.weights is None else self.weights[queries],
            firsts={align: topk.some(first, queries) for align, first in self.firsts.items()},
            terms=None if self.terms is None else Terms._make(part[:, queries] for part in self.terms),
            labels={name: _picked(column, queries) for name, column in self.labels.items()},
        )

    # -- measured --------------------------------------------------------------------------------------------

    def aligned(self, items: Known | None = None) -> dict[Align, Aligned]:
        """The alignments with the names of their queries. items: side information, where a metric reads it."""
        names: Any = range(len(self)) if self.ids is None else self.ids
        out = {
            align: Aligned(ranked, lambda: names, lambda: self.extra, len(self.extra), self.dropped, judged=self.judged)
            for align, ranked in self.ranked.items()
        }
        if items is not None:
            ids = without_ids if self.ids is None else lambda: names
            for align, first in self.firsts.items():
                out[align].shown = Shown.of(self.ranked[align], items, first, ids, align)
        return out

    def outcomes(
        self, plans: Sequence[Plan], items: Known | None, threads: int
    ) -> tuple[dict[str, Outcome], dict[Align, Aligned]]:
        """Each metric of these queries, by exact sums, and the alignments."""
        aligned = self.aligned(items)
        measured = zip(plans, measure_each(plans, aligned, threads), strict=True)
        return {plan.label: outcome_of(plan, one, self.weights, ExactSum) for plan, one in measured}, aligned

    def sums(
        self, plans: Sequence[Plan], items: Known | None, threads: int, *, alone: bool = False
    ) -> list[Sums] | None:
        """The exact sums of each mean; alone: None if a query's value may depend on others."""
        measured = measure_each(plans, self.aligned(items), threads)
        if alone and not all(one.alone for one in measured):
            return None
        return [sums_of(plan, one, self.weights, ExactSum) for plan, one in zip(plans, measured, strict=True)]

    def with_terms(self, plans: Sequence[Plan], items: Known | None) -> Partial:
        """The same with what each query adds to the means; metrics of all lists are measured for their errors only."""
        shape = len(plans), len(self)
        terms = Terms(np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool))
        for row, (plan, one) in enumerate(zip(plans, measure_each(plans, self.aligned(items)), strict=True)):
            if not plan.of_all_lists:
                terms.tops[row], terms.bottoms[row], terms.counted[row] = shares_of(plan, one)
        return replace(self, terms=terms)

    # -- saved -----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """As arrays and lists."""
        return {
            "ranked": [ranked_state(ranked) for ranked in self.ranked.values()],
            "ids": None if self.ids is None else list(self.ids),
            "weights": self.weights,
            "extra": list(self.extra),
            "dropped": self.dropped,
            "firsts": [topk.first_state(first) for first in self.firsts.values()],
            "judged": self.judged,
            **({} if self.terms is None else self.terms._asdict()),
            **self.labels,
        }

    @classmethod
    def from_state(
        cls, state: State, wanted: Iterable[Align], listed: Iterable[Align], *, weighted: bool = False, metrics: int = 0
    ) -> Partial:
        """A partial from its state, if all goes together. listed: alignments of metrics that read recommendations."""
        ranked = dict(zip(wanted, map(ranked_from_state, saved.items(state, "ranked")), strict=True))
        ids = None if state["ids"] is None else saved.items(state, "ids")
        size = len(next(iter(ranked.values()), ids or ()))
        weights = saved.floats(state, "weights", size) if weighted else None
        if any(len(each) != size for each in ranked.values()) or (ids is not None and len(ids) != size):
            raise ValueError("its rankings and ids are not of the same queries")
        if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
            raise ValueError("weights are not numbers from 0")
        lists = [topk.first_from_state(first, size) for first in saved.items(state, "firsts")]
        about = saved.items(state, "extra"), saved.whole(state, "dropped")
        terms = _terms(state, metrics, size) if metrics else None
        return cls(
            ranked, ids, weights, *about, dict(zip(listed, lists, strict=True)), saved.flag(state, "judged"), terms
        )


def _terms(state: State, metrics: int, size: int) -> Terms:
    def rows(name: str, read: Callable[..., Any], **words: Any) -> Any:
        several = saved.items(state, name)
        if len(several) != metrics:
            raise ValueError(f"it has other sums than those of {metrics} metrics")
        return np.array([read({name: row}, name, size, **words) for row in several]).reshape(metrics, -1)

    return Terms(
        rows("tops", saved.floats, nan=True), rows("bottoms", saved.floats, nan=True), rows("counted", saved.bools)
    )


def _picked(column: Any, queries: Ints) -> Any:
    return column[queries] if isinstance(column, np.ndarray) else [column[at] for at in queries.tolist()]


def concat(partials: Sequence[Partial]) -> Partial:
    """The queries of several partials, one after the other."""
    if len(partials) == 1:
        return partials[0]
    first = partials[0]
    filled = [one for one in partials if len(one)] or partials[:1]  # an empty one says nothing of ids and orders

    def column(columns: Sequence[Any]) -> Any:
        return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else [*chain.from_iterable(columns)]

    every = [one.terms for one in partials if one.terms is not None]
    return Partial(
        {align: join([one.ranked[align] for one in filled]) for align in first.ranked},
        None if filled[0].ids is None else [query for one in filled for query in one.ids or ()],
        concat_weights(partials),
        [query for one in partials for query in one.extra],
        sum(one.dropped for one in partials),
        {align: topk.joined([one.firsts[align] for one in filled]) for align in first.firsts},
        any(one.judged for one in filled),
        Terms._make(np.concatenate(parts, axis=1) for parts in zip(*every, strict=True)) if every else None,
        {name: column([one.labels[name] for one in partials]) for name in first.labels},
    )


def concat_weights(partials: Iterable[Partial]) -> Floats | None:
    """The weights of the queries of several partials, where they have any."""
    weights = [one.weights for one in partials if one.weights is not None]
    return np.concatenate(weights) if weights else None


def partial_of(
    source: Source,
    plans: Sequence[Plan],
    weights: Weights | None = None,
    threads: int = 0,
    *,
    ordered: bool = True,
    common: bool = False,
    wanted: Mapping[Align, Align] | None = None,
) -> Partial:
    """The partial of all queries of a source.

    ordered: do rows have an order where scores or ranks are equal. common: must truth and run have a query in common.
    wanted: the `alignments` of the plans, for those who call often.
    """
    aligned = align_all(source, alignments(plans, threads) if wanted is None else wanted)
    first = aligned[plans[0].align]
    if common:
        refuse_strangers(plans[0], first)
    for plan in plans:
        refuse(plan, aligned[plan.align])
        if not ordered and TIES[plan.choices["ties"]].by == "input":
            _check_untied(plan, aligned[plan.align])
    return Partial(
        {align: one.ranked for align, one in aligned.items()},
        first.queries,
        None if weights is None else weights_of(weights, first),
        first.extra if first.extra_count else (),
        first.dropped,
        firsts_of(source, plans, threads),
        first.judged,
    )


def _check_untied(plan: Plan, aligned: Aligned) -> None:
    """Stop at equal ranks, which only an order of the rows could tell apart."""
    tied = aligned.ranked.tied
    if tied is not None and (tied > 1).any():
        query = aligned.queries[int(aligned.ranked.query[np.argmax(tied > 1)])]
        problem = f"query {query!r} has equal ranks, and ties={plan.choices['ties']!r} needs an order"
        raise ValueError(f"{plan.label}: {problem}")


def items_of(beside: Beside | None, before: Known | None = None) -> Known:
    """Side information of items, by numbers; before: to go on with, unless it has learnt of too many other items."""
    if before is not None and before.codes.count - before.before < _UNLISTED:
        return before
    from rankstone.data.side_info import Beside, Known  # a quick start: few metrics need it

    return Known(beside or Beside())


def by_query(plan: Plan) -> Plan:
    """The plan for sums of a few queries at a time: where those of one list add up, they are those of a micro mean."""
    return replace(plan, choices={**plan.choices, "averaging": "micro"}) if plan.averaging.pooled else plan


# -- sums ----------------------------------------------------------------------------------------------------


@dataclass
class Totals:
    """What the means of some queries are made of, and what happened to these queries. Totals add up, exactly."""

    sums: dict[str, tuple[Sums, ...]] = field(default_factory=dict)  # as ordered; and with ties at their two extremes
    moved: Counter[str] = field(default_factory=Counter)  # by metric: queries whose value depends on tied items
    account: Counter[str] = field(default_factory=Counter)  # by the names of `Account`
    missing: list[Any] = field(default_factory=list)  # the first of them
    extra: list[Any] = field(default_factory=list)
    finish: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[Alignment]] = field(default_factory=dict)  # for metrics that do not add up
    error: Exception | None = None

    def merge(self, other: Totals) -> None:
        """Take in those of other queries."""
        self.error = self.error or other.error
        self.moved.update(other.moved)
        self.account.update(other.account)
        self.missing = [*self.missing, *other.missing][: SOME + 1]
        self.extra = [*self.extra, *other.extra][: SOME + 1]
        self.finish.update(other.finish)
        for label, sums in other.sums.items():
            mine = self.sums.get(label)
            self.sums[label] = (
                sums if mine is None else tuple(one.plus(more) for one, more in zip(mine, sums, strict=True))
            )
        for label, rows in other.rows.items():
            self.rows.setdefault(label, []).extend(rows)

    def refuse(self, plans: Iterable[Plan]) -> None:
        """Stop at what was wrong anywhere, and at queries that the plans call an error."""
        if self.error is not None:
            raise self.error
        account = self.account
        queries = Queries(account["judged"], account["missing"], account["extra"], self.missing, self.extra)
        queries.refuse_strangers()
        for plan in plans:
            queries.refuse(plan)

    def means(self, plan: Plan) -> list[float]:
        """A metric's mean as ordered, and with ties at their two extremes."""
        sums = self.sums.get(plan.label, (Sums(0, 0, 0),) * 3)
        return [mean_from(plan, one.rounded(), self.finish.get(plan.label)) for one in sums]


def totals_of(partial: Partial, plans: Sequence[Plan], threads: int = 1) -> Totals:
    """The totals of a partial."""
    every = partial.aligned()
    measured = measure_each(plans, every, threads)
    totals, moved = Totals(extra=list(partial.extra[: SOME + 1])), []
    for plan, one in zip(plans, measured, strict=True):
        label, ranked = plan.label, partial.ranked[plan.align]
        if plan.is_pooled:
            totals.rows[label] = [ranked]
            own = Sums(0, 0, 0)
        else:
            own = sums_of(plan, one, partial.weights, ExactSum)
        ends, depends = range_of(plan, ranked, partial.weights, ExactSum) or (
            (own, own),
            np.zeros(len(ranked), dtype=bool),
        )
        totals.sums[label], totals.moved[label], totals.finish[label] = (own, *ends), int(depends.sum()), one.finish
        moved.append(depends)
    totals.account.update(account_of(plans, every, measured, moved))
    missing = np.flatnonzero(~every[plans[0].align].ranked.present[: totals.account["judged"]])
    totals.missing = _picked(partial.ids, missing[: SOME + 1])
    return totals


def add_up(several: Iterable[Totals]) -> Totals:
    """The totals of all."""
    whole = Totals()
    for totals in several:
        whole.merge(totals)
    return whole


# -- on a cluster --------------------------------------------------------------------------------------------


class Declared(NamedTuple):
    """A metric of the user's own, in a form that can be sent."""

    name: str
    function: Callable[..., Ratio]
    options: dict[str, Any]

    @classmethod
    def of(cls, declaration: Declaration) -> Declared:
        parts = {part.name: getattr(declaration, part.name) for part in fields(declaration)}
        name, function = parts.pop("name"), parts.pop("function")
        return cls(name, function, {**parts, "choices": dict(declaration.choices)})


@dataclass(frozen=True)
class Job:
    """All that a worker has to know to measure whole queries."""

    plans: tuple[Plan, ...]
    declared: tuple[Declared, ...]  # metrics of the user's own
    threads: int
    ordered: bool  # do rows of the run have an order, where scores or ranks are equal

    def declare(self) -> None:
        """Make the user's own metrics known to this worker."""
        for name, function, options in self.declared:
            metric(name, **options)(function)

    def partial(self, source: Source, weights: Weights | None) -> Partial:
        """The partial of some whole queries."""
        return partial_of(source, self.plans, weights, self.threads, ordered=self.ordered)

    def totals(self, queries: Iterable[tuple[Source, Weights | None]]) -> Totals:
        """The totals of some whole queries. Wrong data is no failure of the worker, which would only be tried again."""
        try:
            self.declare()
            return add_up(totals_of(self.partial(*pair), self.plans, self.threads) for pair in queries)
        except (ValueError, TypeError) as error:
            return Totals(error=error)

    def gather(self, several: Iterable[Totals]) -> Totals:
        """All totals as one, with the sums of metrics that need all rows in one place."""
        self.declare()
        whole = add_up(several)
        try:
            for plan in self.plans:
                if plan.label in whole.rows:
                    rows = join(whole.rows[plan.label])
                    views = (view_for(plan, rows), *(extreme_for(plan, rows, best) for best in (False, True)))
                    whole.sums[plan.label] = tuple(_pooled_sums(plan, view) for view in views)
        except (ValueError, TypeError) as error:
            return Totals(error=error)
        whole.rows = {}
        return whole


def _pooled_sums(plan: Plan, ranked: Alignment | None) -> Sums:
    if ranked is None:
        return UNKNOWN
    every = np.zeros(len(ranked))
    return sums_of(plan, Measured(ranked, Ratio(every, every), every, None), None)


def declared_in(plans: Iterable[Plan]) -> tuple[Declared, ...]:
    """The metrics that only this process knows."""
    return tuple(Declared.of(plan.metric.declaration) for plan in plans if not is_built_in(plan.metric.declaration))


def for_shares(plan: Plan, highest: Callable[[], float]) -> Plan:
    """The plan for workers, who see only some of the queries. highest: the highest grade of the whole truth."""
    choices = dict(plan.choices)
    for name, calm in (("missing", "zero"), ("extra", "skip")):
        if choices[name] == "error":  # noticed when all are known
            choices[name] = calm
    arguments = dict(plan.arguments)
    if "max_grade" in arguments and arguments["max_grade"] is None:
        arguments["max_grade"] = highest()
    return replace(plan, choices=choices, arguments=arguments)


# -- what is saved and gone on with --------------------------------------------------------------------------


class Resumable(ABC):
    """Is fed bit by bit; has a state of plain data, and is pickled by it: what it was made of, then what it knows."""

    _what: str  # in errors
    plans: tuple[Plan, ...]

    def _begin(
        self,
        metrics: Metrics,
        convention: str | Convention,
        choices: ByName,
        *,
        catalogue: Stock | int | None,
        history: Truth | None,
        reference: Run | None = None,
        **made: object,
    ) -> None:
        """Make every choice. made: all else that `__init__` was given."""
        beside, self._choices = given_beside(catalogue, history, reference, metrics, choices)
        self._beside = movable_beside(beside)
        self._convention = find_convention(convention)
        self.plans = make_plans(metrics, convention, self._choices)
        known = {
            name: given for name, given in made_of(self._beside, reference, catalogue).items() if given is not None
        }
        names = [str(plan.metric) for plan in self.plans]
        self._made = {"metrics": names, "convention": convention, **made, **known, **choices}

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What must be the same in a state, and in another one to merge with."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All it knows, in arrays, lists, strings and numbers; ids are as they were given."""

    @abstractmethod
    def _load(self, state: State) -> None:
        """Go on from a state of the same settings."""

    def load_state_dict(self, state: State) -> None:
        """Go on from what `state_dict` gave. Metrics, choices and all else that it was made with must be the same."""
        settings = self._settings()
        theirs = state.get("settings") if isinstance(state, Mapping) else None
        if not isinstance(theirs, Mapping) or theirs.keys() != settings.keys():
            raise ValueError(f"this is no state of this {self._what}")
        for name, ours in settings.items():
            if theirs[name] != ours:
                raise ValueError(f"the state has another {name}: {theirs[name]!r}, not {ours!r}")
        with reading(self._what):
            self._load(state)

    def __getstate__(self) -> dict[str, Any]:
        return {"made": self._made, "state": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["made"])  # type: ignore[misc]
        self.load_state_dict(state["state"])


def settings_of(plans: Iterable[Plan], beside: Beside | None = None) -> dict[str, Any]:
    """What the metrics are, how they were chosen, and what is known of items, for a state."""
    plans = tuple(plans)
    return {
        "metrics": [plan.label for plan in plans],
        "choices": [repr(sorted({**plan.choices, **plan.arguments}.items())) for plan in plans],
        "beside": _named(beside),
    }


def _named(beside: Beside | None) -> list[str | None]:
    if beside is None:
        return [None, None, None]
    items, rows = beside.catalogue, beside.history
    return [
        None if items is None else f"{items} {identity(items.item)}",
        None if rows is None else identity(rows.query, rows.item),
        None if beside.reference is None else "given",
    ]


def identity(*columns: Column, numbers: Sequence[NDArray[np.generic]] = ()) -> str:
    """What ids and numbers are, in a few letters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in chain(chain.from_iterable(map(_content, columns)), (values.tobytes() for values in numbers)):
        digest.update(part)
    return digest.hexdigest()


def _content(column: Any) -> Iterator[Any]:
    """The ids' bytes, whatever type of column they are in."""
    if is_whole(column):
        yield np.asarray(column).astype(np.int64).tobytes()
        return
    words = as_text(column)
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    yield np.diff(offsets).tobytes()
    if offsets[-1] > offsets[0]:
        yield memoryview(words.buffers()[2])[offsets[0] : offsets[-1]]
