"""Queries measured in shares, on any cluster: each share makes a `Part`, and parts add up to what is said of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.align.concat import join
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan, alignments
from rankstone.data.source import Aligned, Source
from rankstone.evaluate.accumulate import Piece
from rankstone.evaluate.checks import SOME, Queries, refuse
from rankstone.evaluate.means import UNKNOWN, Sums, added_up, mean_from, range_of, sums_of
from rankstone.evaluate.pipeline import align_all, firsts_of
from rankstone.evaluate.programs import Measured, measure_each
from rankstone.evaluate.values import extreme_for, view_for, weights_of, without_pairs
from rankstone.metrics.registry import Declaration, is_built_in, metric
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ratio

Weights = Mapping[Any, float] | None


# -- what is sent to the workers -----------------------------------------------------------------------------


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


# -- values --------------------------------------------------------------------------------------------------


class Share(NamedTuple):
    """One metric in some queries."""

    plan: Plan
    aligned: Alignment
    found: Measured


def measured(source: Source, weights: Weights, job: Job) -> tuple[Aligned, list[Share], Floats | None]:
    """Some queries: who they are, each metric in them, and their weights."""
    aligned = align_all(source, alignments(job.plans, job.threads))
    first = aligned[job.plans[0].align]
    weighing = None if weights is None else weights_of(weights, first)
    for plan in job.plans:
        refuse(plan, aligned[plan.align])
        if TIES[plan.choices["ties"]].by == "input" and not job.ordered:
            _refuse_equal(plan, aligned[plan.align])
    found = measure_each(job.plans, aligned, job.threads)
    shares = [Share(plan, aligned[plan.align].ranked, one) for plan, one in zip(job.plans, found, strict=True)]
    return first, shares, weighing


def piece_of(source: Source, weights: Weights, job: Job) -> Piece:
    """Some queries as they are: where the judged items are, and what the lists show."""
    aligned = align_all(source, alignments(job.plans, job.threads))
    first = aligned[job.plans[0].align]
    for plan in job.plans:
        refuse(plan, aligned[plan.align])
        if TIES[plan.choices["ties"]].by == "input" and not job.ordered:
            _refuse_equal(plan, aligned[plan.align])
    return Piece(
        {align: found.ranked for align, found in aligned.items()},
        list(first.queries),
        None if weights is None else weights_of(weights, first),
        list(first.extra) if first.extra_count else [],
        first.dropped,
        firsts_of(source, job.plans, job.threads),
        first.judged,
    )


def _refuse_equal(plan: Plan, aligned: Aligned) -> None:
    """Rows have no order, so equal ranks cannot be told apart by it."""
    tied = aligned.ranked.tied
    if tied is not None and (tied > 1).any():
        query = aligned.queries[int(aligned.ranked.query[np.argmax(tied > 1)])]
        raise ValueError(
            f"{plan.label}: query {query!r} has equal ranks, and ties={plan.choices['ties']!r} needs an order"
        )


# -- sums ----------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """What has to be known of some of the queries. Parts add up."""

    judged: int = 0
    missing: int = 0
    extra: int = 0
    nothing_relevant: int = 0
    dropped_rows: int = 0
    tied: int = 0
    no_pairs: int = 0
    some_missing: list[Any] = field(default_factory=list)
    some_extra: list[Any] = field(default_factory=list)
    sums: dict[str, list[list[Sums]]] = field(default_factory=dict)  # as ordered; and with ties at their two extremes
    moved: dict[str, int] = field(default_factory=dict)
    finish: dict[str, Any] = field(default_factory=dict)
    pools: dict[str, list[Alignment]] = field(default_factory=dict)  # placed items, for metrics that do not add up
    error: Exception | None = None

    def add(self, part: Part) -> None:
        """Take in another part."""
        self.error = self.error or part.error
        for name in ("judged", "missing", "extra", "nothing_relevant", "dropped_rows", "tied", "no_pairs"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        for name in ("some_missing", "some_extra"):
            setattr(self, name, [*getattr(self, name), *getattr(part, name)][: SOME + 1])
        for label, sums in part.sums.items():
            for mine, more in zip(self.sums.setdefault(label, [[], [], []]), sums, strict=True):
                mine.extend(more)
            self.moved[label] = self.moved.get(label, 0) + part.moved[label]
        self.finish.update(part.finish)
        for label, pool in part.pools.items():
            self.pools.setdefault(label, []).extend(pool)

    def refuse(self, plans: Iterable[Plan]) -> None:
        """Stop at what was wrong anywhere, and at queries that the plans call an error."""
        if self.error is not None:
            raise self.error
        queries = Queries(self.judged, self.missing, self.extra, self.some_missing, self.some_extra)
        queries.refuse_strangers()
        for plan in plans:
            queries.refuse(plan)

    def means(self, plan: Plan) -> list[float]:
        """A metric's mean as ordered, and with ties at their two extremes."""
        finish = self.finish.get(plan.label)
        return [mean_from(plan, added_up(sums), finish) for sums in self.sums.get(plan.label, [[], [], []])]


def part_of(queries: Iterable[tuple[Source, Weights]], job: Job) -> Part:
    """The part of some whole queries. Wrong data is no failure of the worker, which would only be tried again."""
    whole = Part()
    try:
        job.declare()
        for source, weights in queries:
            whole.add(_part(source, weights, job))
    except (ValueError, TypeError) as error:
        return Part(error=error)
    return whole


def gather(parts: Iterable[Part], job: Job) -> Part:
    """All parts as one, with the sums of metrics that need all placed items in one place."""
    job.declare()
    whole = add_up(parts)
    try:
        for plan in job.plans:
            if plan.label in whole.pools:
                placed = join(whole.pools[plan.label])
                views = (view_for(plan, placed), *(extreme_for(plan, placed, best) for best in (False, True)))
                whole.sums[plan.label] = [[_pooled_sums(plan, view)] for view in views]
    except (ValueError, TypeError) as error:
        return Part(error=error)
    whole.pools = {}
    return whole


def add_up(parts: Iterable[Part]) -> Part:
    """The sum of parts."""
    whole = Part()
    for part in parts:
        whole.add(part)
    return whole


def _pooled_sums(plan: Plan, ranked: Alignment | None) -> Sums:
    if ranked is None:
        return UNKNOWN
    every = np.zeros(len(ranked))
    return sums_of(plan, Measured(ranked, Ratio(every, every), every, None), None)


def _part(source: Source, weights: Weights, job: Job) -> Part:
    aligned, shares, weighing = measured(source, weights, job)
    ranked = aligned.ranked
    truths = len(ranked) - (aligned.extra_count if job.plans[0].choices["extra"] == "zero" else 0)
    lost = np.flatnonzero(~ranked.present[:truths])
    relevant = ranking_of(shares[0].aligned.judged_by(shares[0].plan.relevance)).relevant
    part = Part(
        judged=truths,
        missing=len(lost),
        extra=aligned.extra_count,
        nothing_relevant=int((relevant[:truths] == 0).sum()),
        dropped_rows=aligned.dropped,
        some_missing=[aligned.queries[int(at)] for at in lost[: SOME + 1]],
        some_extra=list(aligned.extra)[: SOME + 1] if aligned.extra_count else [],
    )
    tied, no_pairs = np.zeros(len(ranked), dtype=bool), np.zeros(len(ranked), dtype=bool)
    for share in shares:
        no_pairs |= without_pairs(share.plan, share.aligned, share.found.ratio)
        label, ends, moved = share.plan.label, None, np.zeros(len(ranked), dtype=bool)
        if share.plan.is_pooled:
            part.pools[label] = [share.aligned]
            own = Sums(0.0, 0.0, 0)
        else:
            own = sums_of(share.plan, share.found, weighing)
        if found := range_of(share.plan, share.aligned, weighing):
            ends, moved = found
        part.sums[label] = [[own], *([end] for end in ends or (own, own))]
        part.moved[label] = int(moved.sum())
        part.finish[label] = share.found.ratio.finish
        tied |= moved
    part.tied, part.no_pairs = int(tied.sum()), int(no_pairs[:truths].sum())
    return part
