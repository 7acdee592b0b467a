"""From a `Source` to a `Result`: each alignment once, each metric once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rankstone.answers.result import Result
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import alignments, make_plans
from rankstone.errors import QueryError
from rankstone.inputs.source import Align, Aligned, Source
from rankstone.measure.match import refuse, refuse_strangers, warn_unjudged
from rankstone.measure.sums import measure, outcome_of
from rankstone.measure.unjudged import refuse_bounds
from rankstone.measure.values import weights_of
from rankstone.metrics.registry import ByName

if TYPE_CHECKING:
    from rankstone.typing import Metrics, Weights


def evaluate_source(
    source: Source,
    metrics: Metrics,
    convention: str | Convention,
    weights: Weights | None,
    threads: int,
    choices: ByName,
    bounds: bool = False,
) -> Result:
    plans = make_plans(metrics, convention, choices)
    if bounds:
        for plan in plans:
            refuse_bounds(plan)
    aligned = align_all(source, alignments(plans, threads, bounds))
    first = aligned[plans[0].align]
    refuse_strangers(plans[0], first)
    warn_unjudged(source, plans[0].align, first)
    weighing = None if weights is None else weights_of(weights, first)
    outcomes = {}
    for plan in plans:
        found = aligned[plan.align]
        refuse(plan, found)
        try:
            outcomes[plan.label] = outcome_of(plan, measure(plan, found.ranked), weighing)
        except QueryError as error:
            raise found.named(error, plan.label) from None
    return Result(outcomes, aligned, find_convention(convention), choices, weighing, bounds)


def align_all(source: Source, wanted: Mapping[Align, Align]) -> dict[Align, Aligned]:
    """Each alignment once. Rules for what is there twice make no difference where nothing is."""
    if len(wanted) == 1:
        return {asked: source.align(how) for asked, how in wanted.items()}
    alike: dict[Align, list[Align]] = {}
    for asked, how in wanted.items():
        alike.setdefault(replace(how, duplicates="error", truth_duplicates="error", zeros=True), []).append(asked)
    out: dict[Align, Aligned] = {}
    for strict, several in alike.items():
        if len(several) > 1 and source.repeatable:
            try:
                keep = any(wanted[asked].zeros for asked in several)
                out.update(dict.fromkeys(several, source.align(replace(strict, zeros=keep))))
                continue
            except ValueError:  # something is there twice, or wrong in a way that is said below
                pass
        out.update({asked: source.align(wanted[asked]) for asked in several})
    return {asked: out[asked] for asked in wanted}
