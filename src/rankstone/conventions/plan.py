"""A plan: one metric with every choice made, or an error if the choices do not go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rankstone.align.ranked import NoExpectedValue, Relevance
from rankstone.align.ties import AVERAGED, BY_ITEM, COUNTED
from rankstone.conventions.convention import CHOICES, Convention, check_choices, decide
from rankstone.conventions.convention import convention as find_convention
from rankstone.inputs.source import Align
from rankstone.metrics.registry import Metric, on_declare, parse

DEFAULT_METRICS = ("ndcg@10", "ap", "rr", "precision@10", "recall@10")


@dataclass(frozen=True)
class Plan:
    """One metric with every choice made."""

    metric: Metric
    label: str
    arguments: Mapping[str, Any]
    relevance: Relevance
    choices: Mapping[str, Any]
    align: Align  # the alignment it reads; items judged 0 may be left out of it
    zeros: bool  # must items judged 0 be kept

    @property
    def alignment(self) -> Align:
        """The alignment for this metric alone, on one core."""
        return replace(self.align, zeros=self.zeros, threads=1)


def make_plans(metrics: Any, convention: str | Convention, choices: Mapping[str, Any]) -> tuple[Plan, ...]:
    """Make every choice for every metric."""
    asked = (metrics,) if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable) else tuple(metrics)
    given = tuple(sorted(choices.items()))
    try:
        hash((asked, convention, given))
    except TypeError:  # a list, say: an error further on names it, or it is fine
        return _make_plans.__wrapped__(asked, convention, given)
    return _make_plans(asked, convention, given)


@lru_cache(maxsize=512)
def _make_plans(
    asked: tuple[Any, ...], name: str | Convention, choices: tuple[tuple[str, Any], ...]
) -> tuple[Plan, ...]:
    named = find_convention(name)
    over = check_choices(dict(choices))
    found: dict[Metric, None] = {}
    for metric in asked:
        if isinstance(metric, Metric):
            found[metric] = None
        elif isinstance(metric, str):
            found.update(dict.fromkeys(parse(metric)))
        else:
            raise TypeError(f"a metric is a name such as 'ndcg@10' or a value such as rs.ndcg @ 10, not {metric!r}")
    if not found:
        raise ValueError("no metric was asked for")
    return tuple(_decided(metric, over, named) for metric in found)


on_declare.append(_make_plans.cache_clear)


def _decided(metric: Metric, over: Mapping[str, Any], named: Convention) -> Plan:
    row, given = metric.row, dict(metric.params)
    choices = {name: decide(row, name, given, over, named, metric.k) for name in CHOICES}
    arguments = {name: decide(row, name, given, over, named, metric.k) for name in row.defaults}
    return make_plan(metric, arguments, choices)


def make_plan(metric: Metric, arguments: Mapping[str, Any], choices: Mapping[str, Any]) -> Plan:
    """What follows from the choices for the alignment, or an error if they do not go together."""
    row, ties = metric.row, choices["ties"]
    if row.takes_k:
        arguments = {**arguments, "k": choices["default_k"] if metric.k is None else metric.k}
    if ties in AVERAGED and not row.expected:
        raise NoExpectedValue(
            f"{metric} has no closed form over all orders of tied items; choose ties= another of "
            f"{', '.join(word for word in CHOICES['ties'].allowed if word not in AVERAGED)}"
        )
    if choices["averaging"] == "pooled" and row.kind not in ("ratings", "agreement") and ties in BY_ITEM:
        raise ValueError(f"{metric}: with averaging='pooled', items of all queries cannot be ordered by ties={ties!r}")
    for choice, value in (("credit", "clamp"), ("nonpositive_score", "miss")):
        if choices[choice] == value and row.two_sided:
            raise ValueError(
                f"{metric} asks which items are relevant and which are not: {choice}={value!r} says neither"
            )
    if choices["averaging"] == "parts" and row.whole is None:
        raise ValueError(f"{metric} has no parts; averaging='parts' is for f1 of mean precision and mean recall")
    relevance = Relevance.of(choices["threshold"], choices["credit"], choices["truth_depth"])
    every_row = relevance.threshold < 0 or (relevance.threshold == 0 and not relevance.strict)
    if choices["pool"] == "list" and every_row and row.kind in ("ranking", "count"):
        raise ValueError(f"{metric}: pool='list' gives unjudged items grade 0, so the threshold must be above 0")
    if choices["pool"] == "list" and choices["truth_depth"] == "k" and row.kind in ("ranking", "count"):
        raise ValueError(f"{metric}: truth_depth='k' goes by the order of the truth, of which pool='list' leaves none")
    needed = choices["both_empty"] is not None or choices["empty_truth"] != "count" or choices["averaging"] == "pooled"
    align = Align(
        order=ties if ties in COUNTED else "input",
        float32=choices["score_precision"] == "float32",
        duplicates=choices["duplicates"],
        truth_duplicates=choices["truth_duplicates"],
        extra_queries=choices["extra"] == "zero",
        zeros=False,
    )
    return Plan(metric, str(metric), arguments, relevance, choices, align, row.zeros(arguments) or every_row or needed)


def alignments(plans: Iterable[Plan], threads: int = 0) -> dict[Align, Align]:
    """The alignments that plans read, each once, with items judged 0 where one of the plans needs them."""
    plans = tuple(plans)
    if len({plan.choices["extra"] == "zero" for plan in plans}) > 1:
        raise ValueError("extra='zero' adds queries, so it must hold for all metrics or for none")
    zeros: dict[Align, bool] = {}
    for plan in plans:
        zeros[plan.align] = zeros.get(plan.align, False) or plan.zeros
    return {align: replace(align, zeros=keep, threads=threads) for align, keep in zeros.items()}
