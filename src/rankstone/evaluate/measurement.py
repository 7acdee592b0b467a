"""From a `Source` to a `Result`: what was measured of lists that are at hand, and the alignments behind it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, alignments, make_plans
from rankstone.data.source import Align, Aligned, Alone, Source
from rankstone.evaluate.checks import refuse, refuse_strangers, warn_unjudged
from rankstone.evaluate.means import Outcome, Shares, mean_from, outcome_of, range_of, shares_of, span, sums_of
from rankstone.evaluate.pipeline import after_topk, align_all, firsts_of, refuse_truthless, show
from rankstone.evaluate.values import account_of, measure, measure_each, weights_of
from rankstone.metrics.registry import ByName
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ratio
from rankstone.results.answer import plain
from rankstone.results.definition import Definitions, definition_of
from rankstone.results.result import Account, Result, TieRange, UnjudgedRange
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside
    from rankstone.evaluate.curves import Curve
    from rankstone.typing import Metrics, Weights


class LiveMeasurement:
    """What a `Result` reads, of outcomes by metric and of the alignments by which they were measured."""

    has_lists = True

    def __init__(
        self,
        outcomes: dict[str, Outcome],
        alignments: Mapping[Align, Aligned],
        convention: Convention,
        choices: ByName,
        weights: Floats | None = None,
        bounded: bool = False,  # are bounds for unjudged items asked for
    ) -> None:
        self.outcomes, self.alignments = outcomes, alignments
        self.convention, self.choices = convention, dict(choices)
        self.weights, self._bounded = weights, bounded
        self.first = next(iter(alignments.values()))
        self._notes = self.first.remarks
        self.versions = {"rankstone": __version__, "numpy": np.__version__}

    @property
    def means(self) -> dict[str, float]:
        return {label: outcome.mean for label, outcome in self.outcomes.items()}

    def plan(self, label: str) -> Plan:
        return self.outcomes[label].plan

    def values(self, label: str) -> Floats:
        return self.outcomes[label].values

    def ratio(self, label: str) -> Ratio:
        return self.outcomes[label].ratio

    def shares(self, label: str) -> Shares:
        """What each query adds to the two sums of a mean."""
        outcome = self.outcomes[label]
        check_per_query(outcome.plan)
        return Shares(outcome.plan, outcome.finish, *shares_of(outcome.plan, outcome.found, self.weights))

    def mean_of(self, label: str, inside: Bools) -> float:
        """The mean of some of the queries."""
        outcome = self.outcomes[label]
        if not outcome.plan.is_pooled:
            return self.shares(label).only(inside).mean()
        found = measure(outcome.plan, self._form(outcome.plan).only(inside))
        return mean_from(outcome.plan, sums_of(outcome.plan, found, None).rounded(), outcome.finish)

    # -- lists -----------------------------------------------------------------------------------------------

    @property
    def queries(self) -> Sequence[Any]:
        return self.first.queries

    @property
    def present(self) -> Bools | None:
        return self.first.ranked.present

    @property
    def has_ties(self) -> bool:
        pooled = any(outcome.plan.averaging.pooled for outcome in self.outcomes.values())
        return pooled or any(aligned.ranked.tied is not None for aligned in self.alignments.values())

    def has_bad(self, label: str) -> bool:
        """Has the truth, as a metric was given it, items that are judged and not relevant."""
        plan = self.plan(label)
        ranking = ranking_of(self.aligned(plan).ranked.judged_by(plan.relevance))
        return bool((ranking.judged > ranking.relevant).any())

    def aligned(self, plan: Plan) -> Aligned:
        """The lists as a metric reads them."""
        return self.alignments[plan.align]

    def _form(self, plan: Plan) -> Any:
        """What a metric reads of the lists."""
        return self.aligned(plan).form(plan.metric.declaration.reads)

    def same_truth(self, other: object) -> bool:
        """Are the truths the same, to the order of the queries; if not, they still can be."""
        if not (isinstance(other, LiveMeasurement) and self.has_lists and other.has_lists):
            return False
        ours, theirs = self.first, other.first
        return (
            np.array_equal(ours.ranked.truth_offsets, theirs.ranked.truth_offsets)
            and np.array_equal(ours.ranked.ideal_grades, theirs.ranked.ideal_grades)
            and list(ours.queries) == list(theirs.queries)
        )

    def roc(self, plan: Plan, query: Hashable) -> Curve:
        """The points of a ROC curve of these lists."""
        from rankstone.evaluate.curves import roc_points  # curves are for those who look

        return roc_points(plan, self.aligned(plan), query)

    def more(self, metrics: Metrics) -> LiveMeasurement:
        """Other metrics of the same lists, without reading them again."""
        outcomes = {}
        for plan in make_plans(metrics, self.convention, self.choices):
            found = self.alignments.get(plan.align)
            if plan.needs_truth and not self.first.judged:
                raise ValueError(f"{plan.label} needs a truth: evaluate(truth, run, ...)")
            form = None if found is None else found.form(plan.metric.declaration.reads)
            kept = any(one.plan.zeros for one in self.outcomes.values() if one.plan.align == plan.align)
            if found is None or form is None or (plan.zeros and not kept):
                names = ", ".join(self.outcomes)
                raise ValueError(f"{plan.label} reads more than was kept for {names}; evaluate it with them")
            with found.naming(plan.label):
                outcomes[plan.label] = outcome_of(plan, measure(plan, form), self.weights)
        alignments = {one.plan.align: self.alignments[one.plan.align] for one in outcomes.values()}
        return LiveMeasurement(outcomes, alignments, self.convention, self.choices, self.weights, self._bounded)

    # -- what happened ---------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> Definitions:
        named = self.convention.with_choices(**self.choices)
        judged = self.first.judged
        return Definitions({label: definition_of(one.plan, named, judged) for label, one in self.outcomes.items()})

    @cached_property
    def inputs(self) -> dict[str, str]:
        return digests(self.first)

    @cached_property
    def account(self) -> Account:
        outcomes = list(self.outcomes.values())
        moved = [moved for _, _, moved in self._tied.values()]
        account: Any = account_of([one.plan for one in outcomes], self.alignments, outcomes, moved)
        return Account(**account if self.first.extra_known else {**account, "extra": None})

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        return {label: TieRange(low, high, int(moved.sum())) for label, (low, high, moved) in self._tied.items()}

    @cached_property
    def _tied(self) -> dict[str, tuple[float, float, Bools]]:
        """The ends of each mean over the orders of tied items, and which queries' values depend on them."""
        out = {}
        for label, outcome in self.outcomes.items():
            form = self._form(outcome.plan)
            found = range_of(outcome.plan, form, self.weights)
            if found is None:
                out[label] = (outcome.mean, outcome.mean, np.zeros(len(form), dtype=bool))
                continue
            ends = (mean_from(outcome.plan, sums.rounded(), outcome.finish) for sums in found.ends)
            out[label] = (*span([outcome.mean, *ends]), found.moved)
        return out

    @cached_property
    def unjudged(self) -> dict[str, UnjudgedRange] | None:
        if not self._bounded:
            return None
        from rankstone.evaluate.unjudged import bounds_of  # a quick start: few ask for bounds

        out = {}
        for label, outcome in self.outcomes.items():
            found = bounds_of(outcome.plan, self.aligned(outcome.plan).ranked, self.weights)
            out[label] = UnjudgedRange(found.lowest, found.highest, found.residual, int(found.moved.sum()))
        return out

    @property
    def remarks(self) -> list[str]:
        """The convention, and what happened to the queries."""
        account, plans = self.account, [outcome.plan for outcome in self.outcomes.values()]
        made = "".join(f", {name}={value!r}" for name, value in self.choices.items())
        words = ("judged query", "judged queries") if self.first.judged else ("list", "lists")
        lines = [f"rankstone {__version__}, convention {self.convention.name}{made}; {_count(account.judged, *words)}"]
        if account.missing:
            lines.append(f"{account.missing} missing from the run ({_fate(plans, 'missing')})")
        if account.nothing_relevant:
            lines.append(f"{account.nothing_relevant} with nothing relevant ({_fate(plans, 'no_relevant')})")
        if account.no_pairs:
            asking = [plan for plan in plans if plan.metric.declaration.two_sided]
            names = ", ".join(plan.label for plan in asking)
            fate = _fate(asking, "undefined")
            lines.append(f"{account.no_pairs} with nothing but relevant items to compare in {names} ({fate})")
        if account.extra != 0:
            extra = f"more than {self.first.extra_count - 1:,}" if account.extra is None else account.extra
            lines.append(f"{extra} in the run but not judged ({_fate(plans, 'extra')})")
        if account.dropped_rows:
            lines.append(f"{_count(account.dropped_rows, 'repeated row', 'repeated rows')} left out")
        if account.tied:
            lines.append(f"{account.tied} decided by the order of tied items")
        return [*lines, *self._notes]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it is saved."""
        names = ("means", "ties", "unjudged", "definitions", "versions", "inputs", "account")
        fields = {name: found for name in names if (found := getattr(self, name)) is not None}
        return {
            "convention": self.convention.name,
            "choices": dict(self.choices),
            **plain(fields),
            "remarks": self.remarks,
            "queries": list(self.queries),
            "per_query": plain({label: self.values(label) for label in self.outcomes}),
            "shares": plain({label: shares for label in self.outcomes if (shares := self._saved_shares(label))}),
        }

    def _saved_shares(self, label: str) -> dict[str, Any] | None:
        """The shares that the values of the queries do not tell."""
        if self.plan(label).is_pooled:
            return None
        shares, names = self.shares(label), ("top", "bottom", "kept")
        if all(map(np.array_equal, (shares.top, shares.bottom, shares.kept), plain_shares(self.values(label)))):
            return None
        return {name: getattr(shares, name) for name in names}


def check_per_query(plan: Plan) -> None:
    """Stop where a number is no mean of the queries' values."""
    if plan.of_all_lists:
        raise ValueError(f"{plan.label}: what a list adds depends on all others, so it has no value of its own")
    if plan.is_pooled:
        raise ValueError(f"{plan.label}: averaging={plan.choices['averaging']!r} is no mean of queries' values")


def plain_shares(values: Floats) -> tuple[Floats, Floats, Bools]:
    """The shares of a plain mean: each query adds its value."""
    kept = ~np.isnan(values)
    return np.where(kept, values, 0.0), kept.astype(float), kept


def digests(aligned: Aligned) -> dict[str, str]:
    """Digests of what was judged and of what was returned. Items judged 0 are left out, as some metrics need none."""
    from hashlib import blake2b

    names = list(map(str, aligned.queries))  # 7 and "7": a truth's ids are text or not by those of the run
    order = sorted(range(len(names)), key=names.__getitem__)  # that of the rows makes no difference
    ranked = aligned.ranked.only(np.array(order, dtype=np.int64))

    def digest(offsets: Ints, grades: Floats, hits: Sequence[Any] = (), queries: Sequence[Any] = ()) -> str:
        keep = grades != 0
        inside = np.concatenate(([0], np.cumsum(keep)))[offsets]
        found = blake2b("\n".join(names[at] for at in order).encode(), digest_size=16)
        for part in (inside, grades[keep], *(column[keep] for column in hits), *queries):
            found.update(np.ascontiguousarray(part).tobytes())
        return f"blake2b:{found.hexdigest()}"

    hits, queries = (ranked.rank, ranked.score), (ranked.retrieved, ranked.present)
    return {
        "truth": digest(ranked.truth_offsets, ranked.ideal_grades),
        "run": digest(ranked.placed_offsets, ranked.grade, hits, queries),
    }


def _fate(plans: Sequence[Plan], choice: str) -> str:
    fates = {str(plan.choices["undefined"] if plan.choices[choice] is None else plan.choices[choice]) for plan in plans}
    words = {"zero": "counted as empty lists", "skip": "left out of the mean", "error": "an error", "nan": "NaN"}
    return " or ".join(sorted(words.get(fate, f"counted as {fate}") for fate in fates))


def _count(n: int, singular: str, plural: str) -> str:
    return f"{n:,} {singular if n == 1 else plural}"


# -- from a source -------------------------------------------------------------------------------------------


def evaluate_source(
    source: Source,
    metrics: Metrics,
    convention: str | Convention,
    weights: Weights | None,
    threads: int,
    choices: ByName,
    bounds: bool = False,
    beside: Beside | None = None,
) -> Result:
    """What `evaluate` says of a source, by metrics that are yet to be planned."""
    plans = make_plans(metrics, convention, choices)
    return evaluate_plans(source, plans, find_convention(convention), choices, weights, threads, beside, bounds)


def evaluate_plans(
    source: Source,
    plans: Sequence[Plan],
    convention: Convention,
    choices: ByName,
    weights: Weights | None,
    threads: int,
    beside: Beside | None = None,
    bounds: bool = False,
) -> Result:
    """Each alignment once, each metric once."""
    refuse_truthless(plans, judged=not isinstance(source, Alone))
    if bounds:
        from rankstone.evaluate.unjudged import refuse_bounds  # a quick start: few ask for bounds

        for plan in plans:
            refuse_bounds(plan)
    firsts = firsts_of(source, plans, threads)
    aligned = align_all(source, after_topk(firsts, source, alignments(plans, threads, bounds)))
    known = show(source, firsts, aligned, beside, threads)
    first = aligned[plans[0].align]
    refuse_strangers(plans[0], first)
    warn_unjudged(source, plans[0].align, first)
    weighing = None if weights is None else weights_of(weights, first)
    for plan in plans:
        refuse(plan, aligned[plan.align])
    found = measure_each(plans, aligned, threads)
    outcomes = {plan.label: outcome_of(plan, one, weighing) for plan, one in zip(plans, found, strict=True)}
    if known is not None:
        first.remarks += tuple(known.notes)
    return Result.of(LiveMeasurement(outcomes, aligned, convention, choices, weighing, bounds))
