"""The part of the queries that has human labels, where a machine's are there for all: what it must be, and is worth."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from rankstone.align.alignment import Floats, Ints
from rankstone.errors import Advice, Hint, InputError, some
from rankstone.results.answer import signed
from rankstone.results.definition import ids_alike
from rankstone.statistics.prediction_powered import FEWEST, PredictionPowered

if TYPE_CHECKING:
    from rankstone.conventions.plan import Plan

_UNLIKELY = 0.001  # p below which the parts are not of one population


class Parts(NamedTuple):
    """Rows of the machine's queries: those with human labels, in the human's order, and the others."""

    same: Ints
    others: Ints


def parts_of(human: Sequence[Hashable], machine: Sequence[Hashable]) -> Parts:
    """The part of the machine's queries that has human labels."""
    ours, theirs = ids_alike([human, machine])
    places = {query: at for at, query in enumerate(theirs)}
    missing = [query for query in ours if query not in places]
    if missing:
        raise InputError(
            Advice(Hint("machine", ...), f" lacks {len(missing):,} of the queries with human labels: {some(missing)}; "
                   "label all queries, these too")
        )  # fmt: skip
    same = np.array([places[query] for query in ours], dtype=np.int64)
    others = np.setdiff1d(np.arange(len(theirs)), same)
    if len(same) < FEWEST:
        raise InputError(
            f"{len(same)} queries with human labels are too few to correct the machine's; {FEWEST} is the least"
        )
    if len(others) < 2:
        raise InputError(
            Advice("all queries have human labels; leave out ", Hint("machine", ...), " or label more queries by it")
        )
    return Parts(same, others)


def check_plan(plan: Plan, values: Sequence[Floats]) -> None:
    """Raise for a metric that is no mean of queries."""
    machine = Hint("machine", ...)
    if plan.is_pooled or plan.of_all_lists or not plan.averaging.plain:
        raise InputError(Advice(f"{plan.label} is no plain mean of its queries' values, which ", machine, " needs"))
    if any(np.isnan(each).any() for each in values):
        problem = "some queries have no value, so that human and machine labels would average different queries"
        raise InputError(Advice(f"{plan.label}: {problem}; choose undefined=0, or leave out ", machine))


def check_random(parts: Parts, values: Mapping[str, Floats]) -> None:
    """Raise where the part with human labels is not a random one; values: the machine's, by metric."""
    n, many = len(parts.same), len(parts.same) + len(parts.others)
    hint = Hint("drawn_at_random", True)
    end = "first" if parts.same.max() == n - 1 else "last" if parts.same.min() == many - n else ""
    if end:
        problem = f"human labels are those of the {end} {n:,} of {many:,} queries"
        raise InputError(Advice(f"{problem}; draw the part at random, or vouch for it: ", hint))
    for label, own in values.items():
        first, second = own[parts.same], own[parts.others]
        error = math.sqrt(first.var(ddof=1) / n + second.var(ddof=1) / len(second))
        apart = float(first.mean() - second.mean())
        if error and 2 * float(ndtr(-abs(apart) / error)) < _UNLIKELY / len(values):
            problem = (
                f"by the machine, {label} of the queries with human labels differs by {signed(apart)} from that of"
            )
            remedy = " the others, too much for a random part; draw it at random, or vouch for it: "
            raise InputError(Advice(problem + remedy, hint))


def worth(estimate: PredictionPowered) -> str:
    """What the machine's labels were worth, in a sentence."""
    if not estimate.weight:
        constant = math.isnan(estimate.correlation)
        why = "the values do not vary" if constant else f"their correlation is {estimate.correlation:.2f}"
        return f"machine labels do not help: {why}; human labels alone decide"
    precise = f"as precise as {estimate.effective:,.0f} human queries instead of {estimate.humans:,}"
    return f"{precise} (weight {estimate.weight:.2f}, correlation {estimate.correlation:.2f})"
