"""`Partial`: some of the queries of an evaluation. Partials are concatenated, saved, read and summed to means.

Accumulators, `Online`, streams and Spark workers all produce partials.
"""

from __future__ import annotations

import ast
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankstone.align import state as saved
from rankstone.align import topk
from rankstone.align.alignment import Alignment, Bools, Floats, Ints, join
from rankstone.align.recommendations import Recommendations, without_ids
from rankstone.align.state import State, plain_state, ranked_from_state, ranked_state, reading
from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES, current_names
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, alignments, make_plans
from rankstone.data.arrow import Column, as_text, is_whole
from rankstone.data.source import Aligned, AlignOptions, Source, TopK
from rankstone.errors import SOME, InputError
from rankstone.evaluate.checks import Queries, check_common_items, check_data, excludes_ones, require_scale, scale_of
from rankstone.evaluate.means import (
    UNKNOWN,
    ExactSum,
    MetricResult,
    Sums,
    extreme_mean,
    mean_from,
    outcome_of,
    range_of,
    shares_of,
    sums_of,
)
from rankstone.evaluate.pipeline import align_all, firsts_of, movable_side_info, resolve_side_info, side_info_arguments
from rankstone.evaluate.values import MetricValues, account_of, extreme_for, measure_each, view_for, weights_of
from rankstone.metrics.registry import ByName, Declaration, is_built_in, metric, parse
from rankstone.program.ranking import Ratio
from rankstone.results.schema import check_stamp, stamp

if TYPE_CHECKING:
    from rankstone.data.side_info import ItemIndex, SideInfo
    from rankstone.typing import CatalogueLike, Metrics, Run, Truth, Weights

_UNLISTED = 1 << 20  # items outside of catalogue and history whose numbers are kept


class QueryTerms(NamedTuple):
    """What each query adds to the two sums of each mean, and whether it is averaged: one row per metric."""

    tops: Floats
    bottoms: Floats
    counted: Bools


@dataclass(frozen=True, eq=False)
class Partial:
    """Some queries: ranks of their judged items, first items of their lists, and what they add to the means."""

    ranked: Mapping[AlignOptions, Alignment]  # aligned rows, by alignment
    ids: Sequence[Any] | None  # None: queries have numbers only
    weights: Floats | None = None
    extra: Sequence[Any] = ()  # unjudged queries of the run
    dropped: int = 0
    firsts: Mapping[AlignOptions, TopK] = field(default_factory=dict)  # where a metric reads recommendations
    judged: bool = True  # False: there is no truth
    terms: QueryTerms | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)  # columns with one entry per query
    memo: dict[str, list[Sums] | None] = field(default_factory=dict, init=False, repr=False)  # sums, once computed

    def __len__(self) -> int:
        return len(next(iter(self.ranked.values()), ())) if self.ids is None else len(self.ids)

    @property
    def ordered(self) -> bool:
        """Whether the truth has an order: of items without grades, or of grades."""
        ranked = next(iter(self.ranked.values()))
        return ranked.ordered_truth or ranked.ordered_grades

    def of(self, wanted: Iterable[AlignOptions]) -> Partial:
        """The same with a subset of the alignments."""
        ranked = {align: self.ranked[align] for align in wanted}
        return replace(self, ranked=ranked, firsts={align: self.firsts[align] for align in ranked})

    def only(self, queries: Ints) -> Partial:
        """The same with these queries only, in this order."""
        return replace(
            self,
            ranked={align: ranked.only(queries) for align, ranked in self.ranked.items()},
            ids=None if self.ids is None else _picked(self.ids, queries),
            weights=None if self.weights is None else self.weights[queries],
            firsts={align: topk.some(first, queries) for align, first in self.firsts.items()},
            terms=None if self.terms is None else QueryTerms._make(part[:, queries] for part in self.terms),
            labels={name: _picked(column, queries) for name, column in self.labels.items()},
        )

    def scale(self, plans: Iterable[Plan]) -> int:
        """The scale of the grades that a threshold of the plans is above; 0 where there is none."""
        grades = (self.ranked[plan.align].truth_grades for plan in plans if excludes_ones(plan))
        return max(map(scale_of, grades), default=0)

    # -- measured --------------------------------------------------------------------------------------------

    def aligned(self, items: ItemIndex | None = None) -> dict[AlignOptions, Aligned]:
        """The alignments with the names of their queries. items: side information, where a metric reads it."""
        names: Any = range(len(self)) if self.ids is None else self.ids
        out = {
            align: Aligned(ranked, lambda: names, lambda: self.extra, len(self.extra), self.dropped, judged=self.judged)
            for align, ranked in self.ranked.items()
        }
        if items is not None:
            ids = without_ids if self.ids is None else lambda: names
            for align, first in self.firsts.items():
                out[align].shown = Recommendations.of(self.ranked[align], items, first, ids, align)
        return out

    def outcomes(
        self, plans: Sequence[Plan], items: ItemIndex | None, threads: int
    ) -> tuple[dict[str, MetricResult], dict[AlignOptions, Aligned]]:
        """Each metric of these queries, by exact sums, and the alignments."""
        aligned = self.aligned(items)
        measured = zip(plans, measure_each(plans, aligned, threads), strict=True)
        return {plan.label: outcome_of(plan, values, self.weights, ExactSum) for plan, values in measured}, aligned

    def sums(
        self, plans: Sequence[Plan], items: ItemIndex | None, threads: int, *, alone: bool = False
    ) -> list[Sums] | None:
        """The exact sums of each mean; alone: None if a query's value may depend on others."""
        measured = measure_each(plans, self.aligned(items), threads)
        if alone and not all(values.alone for values in measured):
            return None
        return [sums_of(plan, values, self.weights, ExactSum) for plan, values in zip(plans, measured, strict=True)]

    def with_terms(self, plans: Sequence[Plan], items: ItemIndex | None) -> Partial:
        """The same with the terms of each query; metrics over all lists are computed for their errors only."""
        shape = len(plans), len(self)
        terms = QueryTerms(np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool))
        for row, (plan, values) in enumerate(zip(plans, measure_each(plans, self.aligned(items)), strict=True)):
            if not plan.of_all_lists:
                terms.tops[row], terms.bottoms[row], terms.counted[row] = shares_of(plan, values)
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
        cls,
        state: State,
        wanted: Iterable[AlignOptions],
        listed: Iterable[AlignOptions],
        *,
        weighted: bool = False,
        metrics: int = 0,
    ) -> Partial:
        """A partial from its state, checked. listed: alignments of metrics that read recommendations."""
        ranked = dict(zip(wanted, map(ranked_from_state, saved.items(state, "ranked")), strict=True))
        ids = None if state["ids"] is None else saved.ids(state, "ids")
        size = len(next(iter(ranked.values()), ids or ()))
        weights = saved.floats(state, "weights", size) if weighted else None
        if any(len(each) != size for each in ranked.values()) or (ids is not None and len(ids) != size):
            raise InputError("its rankings and ids have different numbers of queries")
        if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
            raise InputError("weights are not finite numbers >= 0")
        lists = [topk.first_from_state(first, size) for first in saved.items(state, "firsts")]
        about = saved.ids(state, "extra"), saved.whole(state, "dropped")
        terms = _terms(state, metrics, size) if metrics else None
        return cls(
            ranked, ids, weights, *about, dict(zip(listed, lists, strict=True)), saved.flag(state, "judged"), terms
        )


def _terms(state: State, metrics: int, size: int) -> QueryTerms:
    def rows(name: str, read: Callable[..., Any], **options: Any) -> Any:
        several = saved.items(state, name)
        if len(several) != metrics:
            raise InputError(f"it does not have the sums of {metrics} metrics")
        return np.array([read({name: row}, name, size, **options) for row in several]).reshape(metrics, -1)

    return QueryTerms(
        rows("tops", saved.floats, nan=True), rows("bottoms", saved.floats, nan=True), rows("counted", saved.bools)
    )


def _picked(column: Any, queries: Ints) -> Any:
    return column[queries] if isinstance(column, np.ndarray) else [column[at] for at in queries.tolist()]


def concat(partials: Sequence[Partial]) -> Partial:
    """The queries of several partials, one after the other."""
    if len(partials) == 1:
        return partials[0]
    first = partials[0]
    filled = [partial for partial in partials if len(partial)] or partials[:1]  # an empty one has no ids and orders

    def column(columns: Sequence[Any]) -> Any:
        return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else [*chain.from_iterable(columns)]

    terms = [partial.terms for partial in partials if partial.terms is not None]
    return Partial(
        {align: join([partial.ranked[align] for partial in filled]) for align in first.ranked},
        None if filled[0].ids is None else [query for partial in filled for query in partial.ids or ()],
        concat_weights(partials),
        [query for partial in partials for query in partial.extra],
        sum(partial.dropped for partial in partials),
        {align: topk.joined([partial.firsts[align] for partial in filled]) for align in first.firsts},
        any(partial.judged for partial in filled),
        QueryTerms._make(np.concatenate(parts, axis=1) for parts in zip(*terms, strict=True)) if terms else None,
        {name: column([partial.labels[name] for partial in partials]) for name in first.labels},
    )


def concat_weights(partials: Iterable[Partial]) -> Floats | None:
    """The weights of the queries of several partials, where they have any."""
    weights = [partial.weights for partial in partials if partial.weights is not None]
    return np.concatenate(weights) if weights else None


def partial_of(
    source: Source,
    plans: Sequence[Plan],
    weights: Weights | None = None,
    threads: int = 0,
    *,
    ordered: bool = True,
    common: bool = False,
    wanted: Mapping[AlignOptions, AlignOptions] | None = None,
) -> Partial:
    """The partial of all queries of a source.

    ordered: whether rows have an order where scores or ranks are equal. common: whether truth and run must have a query
    in common. wanted: the `alignments` of the plans, computed once for many calls.
    """
    aligned = align_all(source, alignments(plans, threads) if wanted is None else wanted)
    first = aligned[plans[0].align]
    if common:
        check_common_items(plans[0], first)
    for plan in plans:
        check_data(plan, aligned[plan.align])
        if not ordered and TIES[plan.choices["ties"]].by == "input":
            _check_untied(plan, aligned[plan.align])
    return Partial(
        {align: each.ranked for align, each in aligned.items()},
        first.queries,
        None if weights is None else weights_of(weights, first),
        first.extra if first.extra_count else (),
        first.dropped,
        firsts_of(source, plans, threads),
        first.judged,
    )


def _check_untied(plan: Plan, aligned: Aligned) -> None:
    """Raise at equal ranks, where ties are broken by the order of the rows."""
    tied = aligned.ranked.tied
    if tied is not None and (tied > 1).any():
        query = aligned.queries[int(aligned.ranked.query[np.argmax(tied > 1)])]
        problem = f"query {query!r} has equal ranks, and ties={plan.choices['ties']!r} needs an order"
        raise InputError(f"{plan.label}: {problem}")


def items_of(side_info: SideInfo | None, before: ItemIndex | None = None) -> ItemIndex:
    """Side information by item number; before: an index to reuse, unless it has too many items outside of it."""
    if before is not None and before.codes.count - before.before < _UNLISTED:
        return before
    from rankstone.data.side_info import ItemIndex, SideInfo  # a fast import: few metrics need it

    return ItemIndex(side_info or SideInfo())


def by_query(plan: Plan) -> Plan:
    """The plan for sums of a few queries at a time: averaging="one_list", where it adds up, is a micro average."""
    return replace(plan, choices={**plan.choices, "averaging": "micro"}) if plan.averaging.pooled else plan


# -- sums ----------------------------------------------------------------------------------------------------


@dataclass
class Totals:
    """The sums of means over some queries, and counts of these queries. Totals can be added, exactly."""

    sums: dict[str, tuple[Sums, ...]] = field(default_factory=dict)  # as ordered; and with ties at their two extremes
    moved: Counter[str] = field(default_factory=Counter)  # by metric: queries whose value depends on tied items
    account: Counter[str] = field(default_factory=Counter)  # by the names of `Account`
    missing: list[Any] = field(default_factory=list)  # the first of them
    extra: list[Any] = field(default_factory=list)
    finish: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[Alignment]] = field(default_factory=dict)  # for metrics that do not add up
    scale: int = 0  # of the grades
    error: Exception | None = None

    def merge(self, other: Totals) -> None:
        """Add the totals of other queries."""
        self.error = self.error or other.error
        self.scale = max(self.scale, other.scale)
        self.moved.update(other.moved)
        self.account.update(other.account)
        self.missing = [*self.missing, *other.missing][: SOME + 1]
        self.extra = [*self.extra, *other.extra][: SOME + 1]
        self.finish.update(other.finish)
        for label, sums in other.sums.items():
            mine = self.sums.get(label)
            self.sums[label] = (
                sums if mine is None else tuple(first.plus(second) for first, second in zip(mine, sums, strict=True))
            )
        for label, rows in other.rows.items():
            self.rows.setdefault(label, []).extend(rows)

    def check(self, plans: Iterable[Plan], chosen: Collection[str] = ()) -> None:
        """Raise the first error, and at missing or extra queries where these are an error; chosen: by the user."""
        if self.error is not None:
            raise self.error
        account = self.account
        queries = Queries(account["judged"], account["missing"], account["extra"], self.missing, self.extra)
        queries.check_common_items()
        for plan in plans:
            queries.check(plan)
            require_scale(plan, self.scale, chosen)

    def means(self, plan: Plan) -> list[float]:
        """A metric's mean as ordered, and with ties at their two extremes."""
        ordered, *ends = self.sums.get(plan.label, (Sums(0, 0, 0),) * 3)
        finish = self.finish.get(plan.label)
        return [mean_from(plan, ordered.rounded(), finish), *(extreme_mean(plan, sums, finish) for sums in ends)]


def totals_of(partial: Partial, plans: Sequence[Plan], threads: int = 1) -> Totals:
    """The totals of a partial."""
    every = partial.aligned()
    measured = measure_each(plans, every, threads)
    totals, moved = Totals(extra=list(partial.extra[: SOME + 1]), scale=partial.scale(plans)), []
    for plan, values in zip(plans, measured, strict=True):
        label, ranked = plan.label, partial.ranked[plan.align]
        if plan.is_pooled:
            totals.rows[label] = [ranked]
            own = Sums(0, 0, 0)
        else:
            own = sums_of(plan, values, partial.weights, ExactSum)
        ends, depends = range_of(plan, ranked, partial.weights, ExactSum) or (
            (own, own),
            np.zeros(len(ranked), dtype=bool),
        )
        totals.sums[label], totals.moved[label], totals.finish[label] = (own, *ends), int(depends.sum()), values.finish
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


class DeclaredMetric(NamedTuple):
    """A user-defined metric, in a form that can be pickled."""

    name: str
    function: Callable[..., Ratio]
    options: dict[str, Any]

    @classmethod
    def of(cls, declaration: Declaration) -> DeclaredMetric:
        parts = {part.name: getattr(declaration, part.name) for part in fields(declaration)}
        name, function = parts.pop("name"), parts.pop("function")
        return cls(name, function, {**parts, "choices": dict(declaration.choices)})


@dataclass(frozen=True)
class Job:
    """All that a worker needs to evaluate whole queries."""

    plans: tuple[Plan, ...]
    declared: tuple[DeclaredMetric, ...]  # user-defined metrics
    threads: int
    ordered: bool  # whether rows of the run have an order, where scores or ranks are equal

    def declare(self) -> None:
        """Declare the user-defined metrics in this process."""
        for name, function, options in self.declared:
            metric(name, **options)(function)

    def partial(self, source: Source, weights: Weights | None) -> Partial:
        """The partial of some whole queries."""
        return partial_of(source, self.plans, weights, self.threads, ordered=self.ordered)

    def totals(self, queries: Iterable[tuple[Source, Weights | None]]) -> Totals:
        """The totals of whole queries. Errors in the data are returned, since Spark would retry a failed task."""
        try:
            self.declare()
            return add_up(totals_of(self.partial(*pair), self.plans, self.threads) for pair in queries)
        except (ValueError, TypeError) as error:
            return Totals(error=error)

    def gather(self, several: Iterable[Totals]) -> Totals:
        """The sum of all totals, with the sums of metrics that need all rows at once."""
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
    return sums_of(plan, MetricValues(ranked, Ratio(every, every), every, None), None)


def declared_in(plans: Iterable[Plan]) -> tuple[DeclaredMetric, ...]:
    """The user-defined metrics, which other processes do not have."""
    return tuple(
        DeclaredMetric.of(plan.metric.declaration) for plan in plans if not is_built_in(plan.metric.declaration)
    )


def for_shares(plan: Plan, highest: Callable[[], float]) -> Plan:
    """The plan for workers, which have only some of the queries. highest: the highest grade of the whole truth."""
    choices = dict(plan.choices)
    for name, lenient in (("missing", "zero"), ("extra", "skip")):
        if choices[name] == "error":  # checked when all queries are there
            choices[name] = lenient
    arguments = dict(plan.arguments)
    if "max_grade" in arguments and arguments["max_grade"] is None:
        arguments["max_grade"] = highest()
    return replace(plan, choices=choices, arguments=arguments)


# -- saved states --------------------------------------------------------------------------


class Resumable(ABC):
    """An incremental evaluation with a state of plain data; pickled as its arguments and its state."""

    _what: str  # in errors
    plans: tuple[Plan, ...]

    def _begin(
        self,
        metrics: Metrics,
        convention: str | Convention,
        choices: ByName,
        *,
        catalogue: CatalogueLike | int | None,
        history: Truth | None,
        reference: Run | None = None,
        **arguments: object,
    ) -> None:
        """Resolve metrics and choices. arguments: all other arguments of `__init__`."""
        side_info, self._choices = resolve_side_info(catalogue, history, reference, metrics, choices)
        self._side_info = movable_side_info(side_info)
        self._convention = find_convention(convention)
        self.plans = make_plans(metrics, convention, self._choices)
        side_arguments = side_info_arguments(self._side_info, reference, catalogue)
        side_arguments = {name: value for name, value in side_arguments.items() if value is not None}
        names = [str(plan.metric) for plan in self.plans]
        self._arguments = {"metrics": names, "convention": convention, **arguments, **side_arguments, **choices}

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What must be equal in a state to load, and in another object to merge."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What `_load` reads, in arrays, lists, strings and numbers."""

    def state_dict(self) -> dict[str, Any]:
        """The state in lists, strings and numbers, with the version of its format: JSON, if all ids are.

        Returns
        -------
        dict
            For `load_state_dict`, also of a later version of rankstone.
        """
        return {**stamp(self._what.lower()), "settings": self._settings(), **plain_state(self._state())}

    @abstractmethod
    def _load(self, state: State) -> None:
        """Continue from a state of the same settings."""

    def load_state_dict(self, state: State) -> None:
        """Continue from a saved state.

        Parameters
        ----------
        state : dict
            What `state_dict` returned, for the same metrics, choices and other arguments.

        Raises
        ------
        ValueError
            If the state is not complete, or has other settings.
        """
        settings = self._settings()
        if not isinstance(state, Mapping):
            raise InputError(f"this is not a state of this {self._what}")
        with reading(self._what):
            state = check_stamp(self._what.lower(), state)
        theirs = _current_settings(state.get("settings"), settings)
        if theirs.keys() != settings.keys():
            raise InputError(f"this is not a state of this {self._what}")
        for name, ours in settings.items():
            if theirs[name] != ours:
                raise InputError(f"the state has another {name}: {theirs[name]!r}, not {ours!r}")
        with reading(self._what):
            self._load(state)

    def __getstate__(self) -> dict[str, Any]:
        return {"made": self._arguments, "state": {"settings": self._settings(), **self._state()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["made"])  # type: ignore[misc]
        self.load_state_dict(state["state"])


def settings_of(plans: Iterable[Plan], side_info: SideInfo | None = None) -> dict[str, Any]:
    """Metrics, choices and a digest of the side information, for a state."""
    plans = tuple(plans)
    return {
        "metrics": [plan.label for plan in plans],
        "choices": [repr(sorted({**plan.choices, **plan.arguments}.items())) for plan in plans],
        "side_info": _named(side_info),
    }


def _current_settings(settings: object, ours: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a state that an earlier version saved, as this one would have saved them."""
    if not isinstance(settings, Mapping):
        return {}
    out = {"side_info" if name == "beside" else name: value for name, value in settings.items()}
    texts = out.get("choices")
    if isinstance(texts, list) and out.get("metrics") == ours["metrics"] and len(texts) == len(ours["choices"]):
        out["choices"] = list(map(_current_choices, texts, ours["choices"], ours["metrics"]))
    return out


def _current_choices(text: object, ours: str, label: str) -> object:
    """Choices under their present names, and those that came later with their defaults."""
    try:
        choices, names = (dict(ast.literal_eval(pairs)) for pairs in (str(text), ours))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # a value that is no literal
        return text
    defaults = {name: row.default for name, row in CHOICES.items()} | parse(label)[0].declaration.defaults
    later = {name: defaults[name] for name in names if name in defaults}
    return repr(sorted({**later, **current_names(choices)}.items()))


def _named(side_info: SideInfo | None) -> list[str | None]:
    if side_info is None:
        return [None, None, None]
    items, rows = side_info.catalogue, side_info.history
    return [
        None if items is None else f"{items} {identity(items.item)}",
        None if rows is None else identity(rows.query, rows.item),
        None if side_info.reference is None else "given",
    ]


def identity(*columns: Column, numbers: Sequence[NDArray[np.generic]] = ()) -> str:
    """A digest of ids and numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for part in chain(chain.from_iterable(map(_content, columns)), (values.tobytes() for values in numbers)):
        digest.update(part)
    return digest.hexdigest()


def _content(column: Any) -> Iterator[Any]:
    """The bytes of the ids, independent of the type of the column."""
    if is_whole(column):
        yield np.asarray(column).astype(np.int64).tobytes()
        return
    words = as_text(column)
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    yield np.diff(offsets).tobytes()
    if offsets[-1] > offsets[0]:
        yield memoryview(words.buffers()[2])[offsets[0] : offsets[-1]]
