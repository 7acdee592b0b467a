"""From a `Source` to a `Result`: metric values of lists in memory, and their alignments."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.ties import TIES
from rankstone.align.topk import some
from rankstone.conventions.convention import Convention, find_convention, takes
from rankstone.conventions.plan import Plan, alignments, make_plans, reads_choice, relevance_rule
from rankstone.data.arrow import convertible, plain_ids
from rankstone.data.source import Aligned, AlignOptions, RunOnly, Source, TopK
from rankstone.errors import InputError
from rankstone.evaluate.checks import (
    check_common_items,
    check_data,
    excludes_ones,
    require_scale,
    scale_of,
    warn_unjudged,
)
from rankstone.evaluate.means import (
    Contributions,
    MetricResult,
    extreme_mean,
    mean_from,
    outcome_of,
    range_of,
    shares_of,
    span,
    sums_of,
)
from rankstone.evaluate.pipeline import after_topk, align_all, depths_of, firsts_of, locating, require_truth, show
from rankstone.evaluate.values import account_of, measure, measure_each, weights_of, without_pairs
from rankstone.metrics.registry import ByName, parse_all
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ratio
from rankstone.results.answer import plain
from rankstone.results.definition import Definitions, definition_of, ids_alike
from rankstone.results.result import Account, Result, TieRange, UnjudgedRange
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.data.side_info import SideInfo
    from rankstone.evaluate.roc import Curve
    from rankstone.results.difference_bounds import DifferenceBounds
    from rankstone.typing import Metrics, Weights


class LiveMeasurement:
    """The data of a `Result`: values by metric, and the alignments that they were computed from."""

    has_lists = True

    def __init__(
        self,
        outcomes: dict[str, MetricResult],
        alignments: Mapping[AlignOptions, Aligned],
        convention: Convention,
        choices: ByName,
        weights: Floats | None = None,
        lists: Mapping[AlignOptions, TopK] | None = None,  # all items, to compute bounds for unjudged ones
    ) -> None:
        self.outcomes, self.alignments = outcomes, alignments
        self.convention, self.choices = convention, dict(choices)
        self.weights, self._lists = weights, lists
        self.first = next(iter(alignments.values()))
        self._notes = self.first.notes
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

    def shares(self, label: str) -> Contributions:
        """What each query adds to the two sums of a mean."""
        outcome = self.outcomes[label]
        check_per_query(outcome.plan)
        return Contributions(
            outcome.plan, outcome.finish, *shares_of(outcome.plan, outcome.metric_values, self.weights)
        )

    def mean_of(self, label: str, inside: Bools) -> float:
        """The mean of a subset of the queries."""
        outcome = self.outcomes[label]
        if not outcome.plan.is_pooled:
            return self.shares(label).only(inside).mean()
        subset = measure(outcome.plan, self._form(outcome.plan).only(inside))
        return mean_from(outcome.plan, sums_of(outcome.plan, subset, None).rounded(), outcome.finish)

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
        """Whether the truth, as the metric reads it, has items that are judged non-relevant."""
        plan = self.plan(label)
        ranking = ranking_of(self.aligned(plan).ranked.judged_by(plan.relevance))
        return bool((ranking.judged > ranking.relevant).any())

    def aligned(self, plan: Plan) -> Aligned:
        """The lists as a metric reads them."""
        return self.alignments[plan.align]

    def _form(self, plan: Plan) -> Any:
        """The form of the lists that a metric reads."""
        return self.aligned(plan).form(plan.metric.declaration.reads)

    def same_truth(self, other: object) -> bool:
        """Whether the truths are equal, in the same order of queries; False if unsure."""
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
        from rankstone.evaluate.roc import roc_points  # loads on demand

        return roc_points(plan, self.aligned(plan), query)

    def more(self, metrics: Metrics) -> LiveMeasurement:
        """Other metrics of the same lists, without reading them again."""
        outcomes = {}
        kept = depths_of(outcome.plan for outcome in self.outcomes.values())
        asked = parse_all(metrics)
        choices = {name: value for name, value in self.choices.items() if any(takes(metric, name) for metric in asked)}
        for plan in make_plans(metrics, self.convention, choices):
            aligned = self.alignments.get(plan.align)
            for align, depth in depths_of([plan]).items():
                deepest = kept.get(align)
                if deepest is not None and (depth is None or depth > deepest):
                    raise InputError(f"{plan.label} needs longer lists than {', '.join(self.outcomes)}; evaluate it")
            if plan.needs_truth and not self.first.judged:
                raise InputError(f"{plan.label} needs a truth: evaluate(truth, run, ...)")
            form = None if aligned is None else aligned.form(plan.metric.declaration.reads)
            has_zeros = any(other.plan.zeros for other in self.outcomes.values() if other.plan.align == plan.align)
            if aligned is None or form is None or (plan.zeros and not has_zeros):
                names = ", ".join(self.outcomes)
                raise InputError(f"{plan.label} needs data that {names} did not keep; evaluate it with them")
            with aligned.naming(plan.label):
                outcomes[plan.label] = outcome_of(plan, measure(plan, form), self.weights)
        alignments = {outcome.plan.align: self.alignments[outcome.plan.align] for outcome in outcomes.values()}
        return LiveMeasurement(outcomes, alignments, self.convention, choices, self.weights, self._lists)

    # -- what happened ---------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> Definitions:
        named = self.convention.with_choices(**self.choices)
        judged = self.first.judged
        plans = {label: outcome.plan for label, outcome in self.outcomes.items()}
        return Definitions({label: definition_of(plan, named, judged) for label, plan in plans.items()})

    @cached_property
    def inputs(self) -> dict[str, str]:
        return digests(self.first)

    @cached_property
    def account(self) -> Account:
        outcomes = list(self.outcomes.values())
        moved = [moved for _, _, moved in self._tied.values()]
        account: Any = account_of([outcome.plan for outcome in outcomes], self.alignments, outcomes, moved)
        return Account(**account if self.first.extra_known else {**account, "extra": None})

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        return {label: TieRange(low, high, int(moved.sum())) for label, (low, high, moved) in self._tied.items()}

    @cached_property
    def _tied(self) -> dict[str, tuple[float, float, Bools]]:
        """The range of each mean over the orders of tied items, and which queries' values depend on them."""
        out = {}
        for label, outcome in self.outcomes.items():
            form = self._form(outcome.plan)
            tie_range = range_of(outcome.plan, form, self.weights)
            if tie_range is None:
                out[label] = (outcome.mean, outcome.mean, np.zeros(len(form), dtype=bool))
                continue
            ends = (extreme_mean(outcome.plan, sums, outcome.finish) for sums in tie_range.ends)
            out[label] = (*span([outcome.mean, *ends]), tie_range.moved)
        return out

    @cached_property
    def bounds(self) -> dict[str, UnjudgedRange] | None:
        if self._lists is None:
            return None
        from rankstone.evaluate.unjudged import bounds_of  # a fast import: bounds are rarely needed

        out = {}
        for label, outcome in self.outcomes.items():
            bounds = bounds_of(outcome.plan, self.aligned(outcome.plan).ranked, self.weights)
            out[label] = UnjudgedRange(bounds.lowest, bounds.highest, bounds.residual, int(bounds.moved.sum()))
        return out

    @property
    def is_bounded(self) -> bool:
        return self._lists is not None

    def difference_bounds(
        self, plan: Plan, other: LiveMeasurement, places: tuple[Ints | None, Ints | None]
    ) -> DifferenceBounds:
        """Bounds of the other mean minus this one; places: of the same queries in both, None if all in order."""
        from rankstone.evaluate.unjudged import WholeLists, difference_bounds  # a fast import: they are rarely needed

        lists = []
        for side, queries in zip((self, other), places, strict=True):
            assert side._lists is not None
            aligned, listed, weights = side.aligned(plan).ranked, side._lists[plan.align], side.weights
            if queries is not None:
                aligned, listed = aligned.only(queries), some(listed, queries)
                weights = None if weights is None else weights[queries]
            lists.append(WholeLists(aligned, plain_ids(listed.item), weights))
        ids = ids_alike([side.items for side in lists])
        return difference_bounds(plan, [side._replace(items=items) for side, items in zip(lists, ids, strict=True)])

    @property
    def notes(self) -> list[str]:
        """The convention, and what happened to the queries."""
        account, plans = self.account, [outcome.plan for outcome in self.outcomes.values()]
        read = {name for name in self.choices for plan in plans if reads_choice(plan, name)}
        made = "".join(f", {name}={value!r}" for name, value in self.choices.items() if name in read)
        words = ("judged query", "judged queries") if self.first.judged else ("list", "lists")
        head = f"{_count(account.judged, *words)}; {self.convention.name} definitions{made}"
        lines = []
        if account.missing:
            lines.append(f"{account.missing:,} missing from the run ({_fate(plans, 'missing')})")
        lines += self._without_relevant(plans, account.judged)
        if account.no_pairs:
            pairs = {plan: without_pairs(plan, self.alignments, self.outcomes[plan.label]) for plan in plans}
            asking = [plan for plan, missing in pairs.items() if missing is not None and missing.any()]
            names = ", ".join(plan.label for plan in asking)
            fate = _fate(asking, "undefined")
            lines.append(f"{account.no_pairs:,} without non-relevant items to compare in {names} ({fate})")
        if account.extra != 0:
            extra = f"more than {self.first.extra_count - 1:,}" if account.extra is None else account.extra
            lines.append(f"{extra} unjudged ({_fate(plans, 'extra')})")
        if account.dropped_rows:
            lines.append(f"{_count(account.dropped_rows, 'duplicate row', 'duplicate rows')} ignored")
        if account.tied:
            lines.append(f"{account.tied:,} affected by ties")
        return [head, *(["queries: " + "; ".join(lines)] if lines else []), *self._open_orders(), *self._notes]

    def _open_orders(self) -> Iterator[str]:
        """What the convention's package does not define: the order of tied items, where it changes a mean."""
        if not self.convention.undefined_order or "ties" in self.choices:
            return
        open_ranges = [
            f"{label} {ends.lowest:.4f} to {ends.highest:.4f}"
            for label, ends in self.ties.items()
            if ends.lowest < ends.highest and not TIES[self.plan(label).choices["ties"]].averaged
        ]
        if open_ranges:
            why = f"tied items in {self.convention.name} have no defined order ({self.convention.undefined_order})"
            yield f"{why}; its own value can be anything from the lowest to the highest: {', '.join(open_ranges)}"

    def _without_relevant(self, plans: Sequence[Plan], judged: int) -> Iterator[str]:
        """How many queries have no relevant item, and what becomes of them; by metric if thresholds differ."""
        graded = [plan for plan in plans if plan.needs_truth]
        by_count: dict[int, list[Plan]] = {}
        if graded and not self.has_lists:  # they stay on a cluster, which counted
            by_count[self.account.nothing_relevant] = graded
        for plan in graded if self.has_lists else ():
            ranking = ranking_of(self.aligned(plan).ranked.judged_by(relevance_rule(plan)))
            by_count.setdefault(int((ranking.relevant[:judged] == 0).sum()), []).append(plan)
        for count, several in by_count.items():
            answerable = [plan.label for plan in several if plan.metric.declaration.of_unanswerable]
            if answerable and count < judged:
                yield f"{judged - count:,} with relevant items (ignored in {', '.join(answerable)})"
            several = [plan for plan in several if plan.label not in answerable]
            names = f" in {', '.join(plan.label for plan in several)}" if len(by_count) > 1 else ""
            if count and several:
                yield f"{count:,} without relevant items{names} ({_fate(several, 'no_relevant')})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it is saved."""
        names = ("means", "ties", "bounds", "definitions", "versions", "inputs", "account")
        fields = {name: value for name in names if (value := getattr(self, name)) is not None}
        return {
            "convention": self.convention.name,
            "choices": dict(self.choices),
            **plain(fields),
            "notes": self.notes,
            "queries": list(self.queries),
            "per_query": plain({label: self.values(label) for label in self.outcomes}),
            "shares": plain({label: shares for label in self.outcomes if (shares := self._saved_shares(label))}),
        }

    def _saved_shares(self, label: str) -> dict[str, Any] | None:
        """The shares, where they do not follow from the values of the queries."""
        if self.plan(label).is_pooled:
            return None
        shares = self.shares(label)
        if all(map(np.array_equal, (shares.top, shares.bottom, shares.counted), plain_shares(self.values(label)))):
            return None
        return {"top": shares.top, "bottom": shares.bottom, "kept": shares.counted}


def check_per_query(plan: Plan) -> None:
    """Raise where a metric is not a mean of values per query."""
    if plan.of_all_lists:
        raise InputError(f"{plan.label}: a metric over all lists has no values per query")
    if plan.is_pooled:
        raise InputError(f"{plan.label}: averaging={plan.choices['averaging']!r} is not a mean of values per query")


def plain_shares(values: Floats) -> tuple[Floats, Floats, Bools]:
    """The shares of a plain mean: each query adds its value."""
    counted = ~np.isnan(values)
    return np.where(counted, values, 0.0), counted.astype(float), counted


def digests(aligned: Aligned) -> dict[str, str]:
    """Digests of the truth and of the run. Items of grade 0 are left out, since some metrics drop them."""
    from hashlib import blake2b

    names = list(map(str, aligned.queries))  # 7 and "7" are the same: the type of the ids can depend on the run
    order = sorted(range(len(names)), key=names.__getitem__)  # independent of the order of the rows
    ranked = aligned.ranked.only(np.array(order, dtype=np.int64))

    def digest_of(offsets: Ints, grades: Floats, hits: Sequence[Any] = (), queries: Sequence[Any] = ()) -> str:
        keep = grades != 0
        inside = np.concatenate(([0], np.cumsum(keep)))[offsets]
        with convertible("query ids"):
            digest = blake2b("\n".join(names[at] for at in order).encode(), digest_size=16)
        for part in (inside, grades[keep], *(column[keep] for column in hits), *queries):
            digest.update(np.ascontiguousarray(part).tobytes())
        return f"blake2b:{digest.hexdigest()}"

    hits, queries = (ranked.rank, ranked.score), (ranked.retrieved, ranked.present)
    return {
        "truth": digest_of(ranked.truth_offsets, ranked.ideal_grades),
        "run": digest_of(ranked.placed_offsets, ranked.grade, hits, queries),
    }


def _fate(plans: Sequence[Plan], choice: str) -> str:
    fates = {
        "an empty list" if plan.metric.declaration.of_unanswerable and plan.choices[choice] == "zero"
        else str(plan.choices["undefined"] if plan.choices[choice] is None else plan.choices[choice])
        for plan in plans
    }  # fmt: skip
    words = {"zero": "score 0", "skip": "ignored", "error": "an error", "nan": "NaN"}
    return " or ".join(sorted({words.get(fate, fate if " " in fate else f"score {fate}") for fate in fates}))


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
    side_info: SideInfo | None = None,
) -> Result:
    """Evaluate a source, by metrics and choices as the user gives them."""
    plans = make_plans(metrics, convention, choices)
    return evaluate_plans(source, plans, find_convention(convention), choices, weights, threads, side_info, bounds)


def evaluate_plans(
    source: Source,
    plans: Sequence[Plan],
    convention: Convention,
    choices: ByName,
    weights: Weights | None,
    threads: int,
    side_info: SideInfo | None = None,
    bounds: bool = False,
) -> Result:
    """Evaluate a source by plans: each alignment once, each metric once."""
    require_truth(plans, judged=not isinstance(source, RunOnly))
    if bounds:
        from rankstone.evaluate.unjudged import check_bounds_supported  # a fast import: bounds are rarely needed

        for plan in plans:
            check_bounds_supported(plan)
    with locating(source):
        firsts = firsts_of(source, plans, threads)
        aligned = align_all(source, after_topk(firsts, source, alignments(plans, threads, bounds)))
    items = show(source, firsts, aligned, side_info, threads)
    first = aligned[plans[0].align]
    check_common_items(plans[0], first)
    warn_unjudged(source, plans[0].align, first)
    query_weights = None if weights is None else weights_of(weights, first)
    for plan in plans:
        check_data(plan, aligned[plan.align])
        if excludes_ones(plan):
            require_scale(plan, scale_of(aligned[plan.align].ranked.truth_grades), choices)
    measured = zip(plans, measure_each(plans, aligned, threads), strict=True)
    outcomes = {plan.label: outcome_of(plan, values, query_weights) for plan, values in measured}
    if items is not None:
        first.notes += tuple(items.notes)
    lists = {plan.align: source.first(plan.align.with_(True, threads), None) for plan in plans} if bounds else None
    return Result._of(LiveMeasurement(outcomes, aligned, convention, choices, query_weights, lists))
