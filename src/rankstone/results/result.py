"""What `evaluate` returns: means, values a query, definitions, and an account of what happened."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan, make_plan, make_plans
from rankstone.data.source import Align, Aligned
from rankstone.evaluate.means import (
    LEFT_OUT,
    Outcome,
    Shares,
    finish_of,
    mean_from,
    outcome_of,
    range_of,
    shares_of,
    span,
    sums_of,
)
from rankstone.evaluate.programs import measure
from rankstone.evaluate.unjudged import bounds_of
from rankstone.evaluate.values import without_pairs
from rankstone.metrics.registry import ByName, Metric, parse_one
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ratio
from rankstone.results.answer import Page, Sheet, number
from rankstone.results.definition import (
    Definition,
    Definitions,
    Plain,
    cutoffs_of,
    definition_of,
    groups_in_order,
    ids_alike,
    label_of,
    summarize,
)
from rankstone.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Self

    from rankstone.compare.comparison import Comparison
    from rankstone.plots.plot import Plot
    from rankstone.statistics import Interval
    from rankstone.typing import Id, Metrics, Path

_GROUPS = 100  # where a number is of all rows at once, but not of all lists


@dataclass(frozen=True)
class TieRange:
    """What another order of tied items could have made of a mean; NaN where that has no closed form."""

    lowest: float
    highest: float
    queries: int  # how many queries' values depend on that order, or may depend on it where the range is NaN


@dataclass(frozen=True)
class UnjudgedRange:
    """What a mean could be if all returned items were judged; NaN where that is not known."""

    lowest: float
    highest: float
    residual: float  # how much higher it could be if lists went on, too; NaN where that has no end
    queries: int  # how many queries' values can differ, or may where the range is NaN


@dataclass(frozen=True)
class Account:
    """What happened to the queries."""

    judged: int
    missing: int  # judged, but not in the run
    extra: int | None  # in the run, but not judged; None: too many for a stream to remember
    nothing_relevant: int
    dropped_rows: int  # rows of the run that the rule for duplicates removed
    tied: int  # queries for which the order of tied items changes any of the metrics
    no_pairs: int = 0  # nothing but relevant items, where a metric asks for others too


class Means(Page, Sheet, Mapping[str, float]):
    """What a result has, fresh or read from a file: means by metric name, values a query, and what they mean."""

    definitions: Definitions
    account: Account
    inputs: dict[str, str]  # digests of the truth and of the run, as they were aligned
    name: str = ""  # of the run, where it has one
    _confidence: float | None = None  # of the intervals that are printed

    @property
    @abstractmethod
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""

    @property
    @abstractmethod
    def per_query(self) -> Mapping[str, Floats]:
        """Values by metric, an array each, in the order of `queries`; NaN where a query does not count."""

    @property
    def present(self) -> Bools | None:
        """Which queries the run has, in the order of `queries`; None where that is not known."""
        return None

    @property
    def has_ties(self) -> bool:
        """Could the order of tied items matter."""
        return self.account.tied > 0

    def has_bad(self, metric: str | Metric) -> bool:
        """May the truth, as a metric was given it, have items that are judged and not relevant."""
        return True

    @abstractmethod
    def shares(self, metric: str | Metric) -> Shares:
        """What each query adds to the two sums of a mean, in the order of `queries`."""

    @property
    @abstractmethod
    def ties(self) -> Mapping[str, TieRange]:
        """By metric: the lowest and highest mean that another order of the tied items would give."""

    @property
    def unjudged(self) -> Mapping[str, UnjudgedRange]:
        """By metric: the lowest and highest mean that the returned items nobody judged could make."""
        raise ValueError("these bounds were not asked for: rs.evaluate(..., unjudged='bounds')")

    _bounded = False  # were they

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data: means, definitions, versions, digests of the inputs, account, and the values of each query."""

    def define(self, metric: str | Metric) -> Definition:
        """Which definition the number follows; its `cite` says it in one line."""
        return self.definitions[self._label(metric)]

    def __contains__(self, metric: object) -> bool:
        try:
            return bool(self._label(metric))  # type: ignore[arg-type]
        except (KeyError, ValueError):
            return False

    def _label(self, metric: str | Metric) -> str:
        return label_of(metric, self.definitions)

    def compare(self, other: Means, names: tuple[str, str] | None = None, **rules: Any) -> Comparison:
        """Is the other better than this one: `rs.compare` of the two, with this one as the baseline.

        names: what to call the two; else the names of their runs, or first and second. rules: as `rs.compare` takes
        them, such as `test=`, `margin=`, `clusters=`.
        """
        from rankstone.compare.comparison import compare_results  # which reads results

        if names is None:
            named = bool(self.name and other.name and self.name != other.name)
            names = (self.name, other.name) if named else ("first", "second")
        return compare_results({names[0]: self, names[1]: other}, baseline=names[0], **rules)

    def refuse_unlike(self, other: Means, label: str, names: tuple[str, str] = ("one", "the other")) -> None:
        """Stop if a metric is not the same number in two results."""
        for name, (ours, theirs) in self.definitions[label].differences(other.definitions[label]).items():
            raise ValueError(
                f"{label} is not the same number in both: {name} is {ours!r} in {names[0]}, {theirs!r} in {names[1]}"
            )

    def refuse_other_truth(self, other: Means, names: tuple[str, str] = ("one", "the other")) -> None:
        """Stop if two results have different truths."""
        if self.inputs["truth"] != other.inputs["truth"]:
            raise ValueError(_other_truth(self.queries, other.queries, names))

    @abstractmethod
    def plan_of(self, metric: str | Metric) -> Plan:
        """A metric with every choice made."""

    def interval(
        self,
        metric: str | Metric,
        confidence: float = 0.95,
        *,
        method: str | None = None,
        clusters: Mapping[Id, Hashable] | Sequence[Hashable] | None = None,
        resamples: int = 9999,
        seed: int = 0,
    ) -> Interval:
        """Where the true mean is, if the queries stand for others like them: `low` and `high`.

        method: "hall" (Student's, corrected for skewness; Hall 1992), "wilson" where each query has 0 or 1, "t", "bca",
        "percentile", "basic", "studentised". clusters: queries that are not independent, a dict or one for each query.
        """
        from rankstone.compare.pairing import Paired  # which is made of results

        label = self._label(metric)
        return Paired({"": [self]}, clusters).interval("", label, confidence, method, resamples, seed)

    def with_intervals(self, confidence: float = 0.95) -> Self:
        """The same, with an interval beside each mean where it is printed."""
        shown = copy.copy(self)
        shown._confidence = confidence
        return shown

    def ends(self, label: str) -> str:
        """The interval that is printed beside a mean; empty if there is none."""
        found = None if self._confidence is None else self.interval(label, self._confidence)
        if found is None:
            return ""
        return f"{number(found.low)} {number(found.high)}" if math.isfinite(found.low) else "unknown"

    def by(self, groups: Mapping[Id, Hashable] | Sequence[Hashable]) -> dict[Any, dict[str, float]]:
        """Means by group of queries: `groups` says each query's group, as a dict or in the order of `queries`."""
        labels = groups_in_order(groups, self.queries, "groups")
        members: dict[Any, Bools] = {}
        for at, label in enumerate(labels):
            members.setdefault(label, np.zeros(len(labels), dtype=bool))[at] = True
        return {group: {label: self._mean_of(label, inside) for label in self} for group, inside in members.items()}

    def _pieces(self, label: str) -> int:
        """How many groups of queries are left out in turn, to see how sure a number of all rows at once is."""
        return LEFT_OUT if self.plan_of(label).of_all_lists else _GROUPS

    @abstractmethod
    def _mean_of(self, label: str, inside: Bools) -> float:
        """The mean of some of the queries."""

    # -- pictures --------------------------------------------------------------------------------------------

    def more(self, metrics: Metrics) -> Means:
        """Other metrics of the same lists, without reading them again."""
        raise ValueError("the lists are not at hand, only what was measured; evaluate the run again")

    def plot(self, metrics: Metrics) -> Plot:
        """A metric at many cutoffs: `result.plot("ndcg@{1..100}")`."""
        from rankstone.compare.plot_kinds import by_cutoff  # pictures are for those who look

        name, labels, ks = cutoffs_of(metrics)
        known = self if all(label in self for label in labels) else self.more(labels)
        return by_cutoff({self.name or "run": known}, labels, ks, name)

    def curve(self, kind: str, query: Hashable = None) -> Plot:
        """A curve, with its points in `.data`: "precision-recall", or "roc".

        precision-recall: the mean, over the queries, of the highest precision from each recall on; query: of one query.
        roc: of one query, or of all rows by score with averaging="one_list".
        """
        from rankstone.results.curves import curve_of

        return curve_of(self, kind, query)

    # -- tables ----------------------------------------------------------------------------------------------

    def _columns(self) -> dict[str, Any]:
        """Values a query: a query column, then one a metric."""
        return {"query": list(self.queries), **{label: self.per_query[label] for label in self}}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write to a file, as its name ends or as `format` says.

        json: all of it, for `read_result`. parquet: the values of each query, and all the rest in the file's metadata;
        `read_result` reads it too. csv, tsv, jsonl, trec: the values of each query and nothing else. txt, md,
        tex: the table that is printed, with its definitions. html: a page to look at, as `report` has it.
        """
        from rankstone.results.export import write

        write(self, path, format)

    def report(self) -> str:
        """A page to look at: means, curves, queries, definitions; one file of HTML that asks nobody for anything."""
        from rankstone.compare.report import report_of_result

        return report_of_result(self)

    def to_latex(self) -> str:
        """The table of means for a LaTeX document, with its definitions as comments."""
        return self.render("latex")

    # -- looks -----------------------------------------------------------------------------------------------

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        tied, confidence = self._ranges, self._confidence
        shown = () if confidence is None else (f"{100 * confidence:g} % interval",)
        bounds = ("at least", "at most") if self._bounded else ()
        out = [["metric", "mean", *shown, *bounds, *(("lowest", "highest") if tied else ())]]
        for label in self:
            ends = (self.ties[label].lowest, self.ties[label].highest) if tied else ()
            if self._bounded:
                ends = (self.unjudged[label].lowest, self.unjudged[label].highest, *ends)
            row = [label, number(self[label])]
            if confidence is not None:
                row.append(self.ends(label))
            out.append([*row, *("unknown" if math.isnan(end) else number(end) for end in ends)])
        return out

    def defined(self) -> list[str]:
        """The definitions of all the metrics in a few lines, what they share said once."""
        return summarize(list(self.definitions.values()))[:-1]

    def notes(self, quiet: bool = False) -> list[str]:
        """All lines under the table; if quiet, without the definitions."""
        ranges = ["lowest and highest are the means that other orders of the tied items would give"]
        unknown = [label for label, found in self.ties.items() if math.isnan(found.lowest) and found.queries]
        if unknown:
            ranges.append(f"the range of {', '.join(unknown)} is unknown: it has no closed form over all orders")
        return [
            *self.remarks(),
            *self.said_of_bounds(),
            *(ranges if self._ranges else ()),
            *([] if quiet else self.defined()),
        ]

    def bounds(self, label: str) -> str:
        """What is printed beside a mean of what it could be at least and at most; empty if nobody asked."""
        if not self._bounded:
            return ""
        found = self.unjudged[label]
        unknown = math.isnan(found.lowest)
        return " [unknown]" if unknown else f" [{number(found.lowest)} {number(found.highest)}]"

    def said_of_bounds(self, where: str = "at least and at most") -> list[str]:
        """What the bounds are, and which of them are not known."""
        if not self._bounded:
            return []
        said = [f"{where}: the means if the returned items that nobody judged were judged, with any grades"]
        unknown = [label for label, found in self.unjudged.items() if math.isnan(found.lowest) and found.queries]
        return [*said, f"the bounds of {', '.join(unknown)} are unknown"] if unknown else said

    @property
    def _ranges(self) -> bool:
        """Do the ends of any range differ from the mean in the digits that are shown."""
        ends = ((label, end) for label, found in self.ties.items() for end in (found.lowest, found.highest))
        return self.account.tied > 0 and any(number(end) != number(self[label]) for label, end in ends)

    def _tips(self) -> dict[str, str]:
        return {label: definition.cite for label, definition in self.definitions.items()}


def _other_truth(ours: Sequence[Any], theirs: Sequence[Any], names: tuple[str, str]) -> str:
    ours, theirs = ids_alike([ours, theirs])
    for these, those, which in ((ours, theirs, names[1]), (theirs, ours, names[0])):
        known = set(those)
        lost = [query for query in these if query not in known]
        if lost:
            return f"the truths differ: {which} lacks {_count(len(lost), 'query', 'queries')}, such as {lost[0]!r}"
    return "the truths differ: the same queries, but with other grades"


Later: TypeAlias = Callable[[], tuple[dict[str, Outcome], Mapping[Align, Aligned]]]


class Result(Means):
    """Means by metric name; `per_query`, `define`, `account` and tables beside them."""

    _remarks: tuple[str, ...] = ()  # on how the data was read

    def __init__(
        self,
        outcomes: dict[str, Outcome],
        aligned: Mapping[Align, Aligned],
        convention: Convention,
        choices: ByName,
        weights: Floats | None,
        bounded: bool = False,
    ) -> None:
        self._outcomes = outcomes
        self._bounded = bounded
        self._aligned = aligned
        self._remarks = self._first.remarks
        self.convention = convention
        self.choices = dict(choices)
        self._weights = weights

    @classmethod
    def of(
        cls,
        means: dict[str, float],
        later: Later,
        convention: Convention,
        choices: ByName,
        weights: Floats | None = None,
    ) -> Result:
        """Means, and what makes all the rest when it is first asked for."""
        made = object.__new__(cls)
        made.__dict__ = {"_means": means, "_later": later, "convention": convention, "choices": dict(choices)}
        made._weights = weights
        return made

    _later: Later | None = None

    def _made(self, name: str) -> Any:
        """What was left for later."""
        later = self._later
        if later is not None:  # or another thread was here
            outcomes, aligned = later()
            self.__dict__.update(_outcomes=outcomes, _aligned=aligned, _later=None)
        return self.__dict__[name]

    @cached_property
    def _outcomes(self) -> dict[str, Outcome]:
        found: dict[str, Outcome] = self._made("_outcomes")
        return found

    @cached_property
    def _aligned(self) -> Mapping[Align, Aligned]:
        found: Mapping[Align, Aligned] = self._made("_aligned")
        return found

    @cached_property
    def _first(self) -> Aligned:
        return next(iter(self._aligned.values()))

    @cached_property
    def _means(self) -> dict[str, float]:
        return {label: outcome.mean for label, outcome in self._outcomes.items()}

    def __getstate__(self) -> dict[str, Any]:
        """All of it, as what makes the rest cannot be saved; but for what is no more than a view of it."""
        whole = {"_outcomes": self._outcomes, "_aligned": self._aligned, **self.__dict__}
        return {name: value for name, value in whole.items() if name != "per_query"}

    # -- means -----------------------------------------------------------------------------------------------

    def __getitem__(self, metric: str | Metric) -> float:
        return self._means[self._label(metric)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def _label(self, metric: str | Metric) -> str:
        return str(metric) if metric in self._means else super()._label(metric)

    # -- queries ---------------------------------------------------------------------------------------------

    @property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self._first.queries

    @cached_property
    def per_query(self) -> _PerQuery:
        """Values by metric, an array each, in the order of `queries`; NaN where a query does not count."""
        return _PerQuery(self, lambda label: self._outcomes[label].values)

    @property
    def present(self) -> Bools | None:
        """Which queries the run has, in the order of `queries`."""
        return self._first.ranked.present

    @property
    def has_ties(self) -> bool:
        """Could the order of tied items matter."""
        pooled = any(outcome.plan.averaging.pooled for outcome in self._outcomes.values())
        return pooled or any(aligned.ranked.tied is not None for aligned in self._aligned.values())

    def aligned_for(self, plan: Plan) -> Aligned:
        """The lists as a metric reads them."""
        return self._aligned[plan.align]

    def has_bad(self, metric: str | Metric) -> bool:
        """Has the truth, as a metric was given it, items that are judged and not relevant."""
        plan = self._outcomes[self._label(metric)].plan
        ranking = ranking_of(self._aligned[plan.align].ranked.judged_by(plan.relevance))
        return bool((ranking.judged > ranking.relevant).any())

    def refuse_unlike(self, other: Means, label: str, names: tuple[str, str] = ("one", "the other")) -> None:
        """Stop if a metric is not the same number in two results."""
        if not isinstance(other, Result) or self._outcomes[label].plan != other._outcomes[label].plan:
            super().refuse_unlike(other, label, names)

    def refuse_other_truth(self, other: Means, names: tuple[str, str] = ("one", "the other")) -> None:
        """Stop if two results have different truths."""
        if not (isinstance(other, Result) and self._same_truth(other)):
            super().refuse_other_truth(other, names)

    def _same_truth(self, other: Result) -> bool:
        """Are the truths the same, to the order of the queries; if not, they still can be."""
        ours, theirs = self._first, other._first
        return (
            np.array_equal(ours.ranked.truth_offsets, theirs.ranked.truth_offsets)
            and np.array_equal(ours.ranked.ideal_grades, theirs.ranked.ideal_grades)
            and list(ours.queries) == list(theirs.queries)
        )

    def plan_of(self, metric: str | Metric) -> Plan:
        """A metric with every choice made."""
        return self._outcomes[self._label(metric)].plan

    def shares(self, metric: str | Metric) -> Shares:
        """What each query adds to the two sums of a mean, in the order of `queries`."""
        outcome = self._outcomes[self._label(metric)]
        _refuse_pooled(outcome.plan)
        return Shares(outcome.plan, outcome.finish, *shares_of(outcome.plan, outcome.found, self._weights))

    def ratio(self, metric: str | Metric) -> Ratio:
        """What each query earned and could have earned."""
        return self._outcomes[self._label(metric)].ratio

    def more(self, metrics: Metrics) -> Result:
        """Other metrics of the same lists, without reading them again."""
        outcomes = {}
        for plan in make_plans(metrics, self.convention, self.choices):
            found = self._aligned.get(plan.align)
            if plan.needs_truth and not self._first.judged:
                raise ValueError(f"{plan.label} needs a truth: evaluate(truth, run, ...)")
            kept = any(one.plan.zeros for one in self._outcomes.values() if one.plan.align == plan.align)
            if found is None or (plan.zeros and not kept):
                raise ValueError(f"{plan.label} reads more than was kept for {', '.join(self)}; evaluate it with them")
            form = found.form(plan.metric.declaration.reads)
            if form is None:
                raise ValueError(f"{plan.label} reads more than was kept for {', '.join(self)}; evaluate it with them")
            with found.naming(plan.label):
                outcomes[plan.label] = outcome_of(plan, measure(plan, form), self._weights)
        aligned = {one.plan.align: self._aligned[one.plan.align] for one in outcomes.values()}
        made = Result(outcomes, aligned, self.convention, self.choices, self._weights, self._bounded)
        made.name = self.name
        return made

    # -- what it means ---------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> Definitions:  # type: ignore[override]
        """What each number means, by metric."""
        named = self.convention.with_choices(**self.choices)
        judged = self._first.judged
        return Definitions(
            {label: definition_of(outcome.plan, named, judged) for label, outcome in self._outcomes.items()}
        )

    @cached_property
    def inputs(self) -> dict[str, str]:  # type: ignore[override]
        """Digests of the truth and of the run, as they were aligned: items judged 0 are left out."""
        return digests(self._first)

    @cached_property
    def account(self) -> Account:  # type: ignore[override]
        """How many queries were judged, missing, extra, without anything relevant, or decided by ties."""
        ranked = self._first.ranked
        truths = len(ranked) - (self._first.extra_count if self._appended else 0)
        relevance = next(iter(self._outcomes.values())).plan.relevance
        relevant = ranking_of(ranked.judged_by(relevance)).relevant[:truths]
        tied, no_pairs = np.zeros(len(ranked), dtype=bool), np.zeros(len(ranked), dtype=bool)
        for outcome in self._outcomes.values():
            no_pairs |= without_pairs(outcome.plan, self._aligned[outcome.plan.align].ranked, outcome.ratio)
        for decided in self._tied.values():
            tied |= decided[2]
        return Account(
            judged=truths,
            missing=int((~ranked.present[:truths]).sum()),
            extra=self._first.extra_count if self._first.extra_known else None,
            nothing_relevant=int((relevant == 0).sum())
            if any(one.plan.needs_truth for one in self._outcomes.values())
            else 0,
            dropped_rows=self._first.dropped,
            tied=int(tied.sum()),
            no_pairs=int(no_pairs[:truths].sum()),
        )

    @property
    def _appended(self) -> bool:
        return next(iter(self._outcomes.values())).plan.choices["extra"] == "zero"

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        """By metric: the lowest and highest mean that another order of the tied items would give."""
        return {label: TieRange(low, high, int(moved.sum())) for label, (low, high, moved) in self._tied.items()}

    @cached_property
    def unjudged(self) -> Mapping[str, UnjudgedRange]:
        """By metric: the lowest and highest mean that the returned items nobody judged could make."""
        if not self._bounded:
            return super().unjudged
        out = {}
        for label, outcome in self._outcomes.items():
            found = bounds_of(outcome.plan, self._aligned[outcome.plan.align].ranked, self._weights)
            out[label] = UnjudgedRange(found.lowest, found.highest, found.residual, int(found.moved.sum()))
        return out

    @cached_property
    def _tied(self) -> dict[str, tuple[float, float, Bools]]:
        out = {}
        for label, outcome in self._outcomes.items():
            form = self._form(outcome.plan)
            found = range_of(outcome.plan, form, self._weights)
            if found is None:
                out[label] = (outcome.mean, outcome.mean, np.zeros(len(form), dtype=bool))
                continue
            ends = (mean_from(outcome.plan, sums.rounded(), outcome.finish) for sums in found.ends)
            out[label] = (*span([outcome.mean, *ends]), found.moved)
        return out

    def _form(self, plan: Plan) -> Any:
        """What a metric reads of the lists."""
        return self._aligned[plan.align].form(plan.metric.declaration.reads)

    def _mean_of(self, label: str, inside: Bools) -> float:
        outcome = self._outcomes[label]
        if not outcome.plan.is_pooled:
            return self.shares(label).only(inside).mean()
        found = measure(outcome.plan, self._form(outcome.plan).only(inside))
        return mean_from(outcome.plan, sums_of(outcome.plan, found, None).rounded(), outcome.finish)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: means, definitions, versions, digests of the inputs, account, and the values of each query."""
        return {
            "convention": self.convention.name,
            "choices": dict(self.choices),
            "means": dict(self),
            "ties": {label: asdict(ends) for label, ends in self.ties.items()},
            **({"unjudged": {label: asdict(ends) for label, ends in self.unjudged.items()}} if self._bounded else {}),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
            "versions": {"rankstone": __version__, "numpy": np.__version__},
            "inputs": dict(self.inputs),
            "account": {name: getattr(self.account, name) for name in Account.__dataclass_fields__},
            "remarks": self.remarks(),
            "queries": list(self.queries),
            "per_query": {label: outcome.values.tolist() for label, outcome in self._outcomes.items()},
            "shares": {label: shares for label in self if (shares := self._told_shares(label))},
        }

    def _told_shares(self, label: str) -> dict[str, Any] | None:
        """The shares that the values of the queries do not tell."""
        if self.plan_of(label).is_pooled:
            return None
        shares = self.shares(label)
        told = _plain_shares(self._outcomes[label].values)
        if all(map(np.array_equal, (shares.top, shares.bottom, shares.kept), told)):
            return None
        return {name: getattr(shares, name).tolist() for name in ("top", "bottom", "kept")}

    def remarks(self) -> list[str]:
        """What a reader of the means should know: the convention, and what happened to the queries."""
        account = self.account
        made = "".join(f", {name}={value!r}" for name, value in self.choices.items())
        words = ("judged query", "judged queries") if self._first.judged else ("list", "lists")
        lines = [f"rankstone {__version__}, convention {self.convention.name}{made}; {_count(account.judged, *words)}"]
        if account.missing:
            lines.append(f"{account.missing} missing from the run ({_fate(self._outcomes, 'missing')})")
        if account.nothing_relevant:
            lines.append(f"{account.nothing_relevant} with nothing relevant ({_fate(self._outcomes, 'no_relevant')})")
        if account.no_pairs:
            asking = {name: one for name, one in self._outcomes.items() if one.plan.metric.declaration.two_sided}
            lines.append(
                f"{account.no_pairs} with nothing but relevant items to compare in {', '.join(asking)} "
                f"({_fate(asking, 'undefined')})"
            )
        if account.extra != 0:
            extra = f"more than {self._first.extra_count - 1:,}" if account.extra is None else account.extra
            lines.append(f"{extra} in the run but not judged ({_fate(self._outcomes, 'extra')})")
        if account.dropped_rows:
            lines.append(f"{_count(account.dropped_rows, 'repeated row', 'repeated rows')} left out")
        if account.tied:
            lines.append(f"{account.tied} decided by the order of tied items")
        return [*lines, *self._remarks]

    def remarked(self, remarks: Iterable[str]) -> Result:
        """The same, with more to say of how its data was read."""
        self._remarks = (*self._remarks, *remarks)
        return self


def _refuse_pooled(plan: Plan) -> None:
    if plan.of_all_lists:
        raise ValueError(f"{plan.label}: what a list adds depends on all others, so it has no value of its own")
    if plan.is_pooled:
        raise ValueError(f"{plan.label}: averaging={plan.choices['averaging']!r} is no mean of queries' values")


class Saved(Means):
    """A result read from a file."""

    def __init__(self, data: Plain, name: str = "") -> None:
        self._data, self.name = data, name
        self.definitions = Definitions(
            {label: Definition.from_dict(saved) for label, saved in data["definitions"].items()}
        )
        self.account = Account(**data["account"])
        self.inputs = dict(data["inputs"])
        self.versions: dict[str, str] = dict(data["versions"])
        self._bounded = "unjudged" in data

    @cached_property
    def unjudged(self) -> Mapping[str, UnjudgedRange]:
        if not self._bounded:
            return super().unjudged
        return {
            label: UnjudgedRange(
                **{name: _float(end) for name, end in ends.items() if name != "queries"}, queries=ends["queries"]
            )
            for label, ends in self._data["unjudged"].items()
        }

    def __getitem__(self, metric: str | Metric) -> float:
        return _float(self._data["means"][self._label(metric)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data["means"])

    def __len__(self) -> int:
        return len(self._data["means"])

    @cached_property
    def queries(self) -> Sequence[Any]:
        return [tuple(query) if isinstance(query, list) else query for query in self._data["queries"]]

    @cached_property
    def per_query(self) -> _PerQuery:
        arrays = {label: np.array(list(map(_float, values))) for label, values in self._data["per_query"].items()}
        return _PerQuery(self, arrays.__getitem__)

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        saved = ((label, self._data["ties"][label]) for label in self)
        return {
            label: TieRange(_float(ends["lowest"]), _float(ends["highest"]), ends["queries"]) for label, ends in saved
        }

    def remarks(self) -> list[str]:
        """What a reader of the means should know: the convention, and what happened to the queries."""
        return list(self._data["remarks"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it was read."""
        return dict(self._data)

    def shares(self, metric: str | Metric) -> Shares:
        label = self._label(metric)
        plan = self.plan_of(label)
        _refuse_pooled(plan)
        saved = self._data["shares"].get(label)
        if saved is None:
            return Shares(plan, finish_of(plan), *_plain_shares(self.per_query[label]))
        top, bottom = (np.array(list(map(_float, saved[name]))) for name in ("top", "bottom"))
        return Shares(plan, finish_of(plan), top, bottom, np.array(saved["kept"], dtype=bool))

    def ends(self, label: str) -> str:
        """The interval that is printed beside a mean; that of a number of all rows at once needs the rows."""
        pooled = self._confidence is not None and self.plan_of(label).is_pooled
        return "unknown" if pooled else super().ends(label)

    def plan_of(self, metric: str | Metric) -> Plan:
        label = self._label(metric)
        metric = parse_one(label)
        made = {name: _hashable(value) for name, value in self.definitions[label].choices.items()}
        return make_plan(metric, {name: made[name] for name in metric.declaration.defaults}, made)

    def _mean_of(self, label: str, inside: Bools) -> float:
        return self.shares(label).only(inside).mean()


def _plain_shares(values: Floats) -> tuple[Floats, Floats, Bools]:
    """The shares of a plain mean: each query adds its value."""
    kept = ~np.isnan(values)
    return np.where(kept, values, 0.0), kept.astype(float), kept


def _hashable(value: Any) -> Any:
    """A choice as it was made, where JSON has a list."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _float(value: float | str | None) -> float:
    """A number of a JSON file, where NaN is null and an infinite one is a text."""
    return float("nan") if value is None else float(value)


def digests(aligned: Aligned) -> dict[str, str]:
    """Digests of what was judged and of what was returned. Items judged 0 are left out, as some metrics need none."""
    names = list(map(str, aligned.queries))  # 7 and "7": a truth's ids are text or not by those of the run
    order = sorted(range(len(names)), key=names.__getitem__)  # that of the rows makes no difference
    ranked = aligned.ranked.only(np.array(order, dtype=np.int64))

    def digest(offsets: Ints, grades: Floats, hits: Sequence[Any] = (), queries: Sequence[Any] = ()) -> str:
        keep = grades != 0
        inside = np.concatenate(([0], np.cumsum(keep)))[offsets]
        from hashlib import blake2b

        found = blake2b("\n".join(names[at] for at in order).encode(), digest_size=16)
        for part in (inside, grades[keep], *(column[keep] for column in hits), *queries):
            found.update(np.ascontiguousarray(part).tobytes())
        return f"blake2b:{found.hexdigest()}"

    return {
        "truth": digest(ranked.truth_offsets, ranked.ideal_grades),
        "run": digest(
            ranked.placed_offsets,
            ranked.grade,
            (ranked.rank, ranked.score),
            (ranked.retrieved, ranked.present),
        ),
    }


class _PerQuery(Mapping[str, Floats]):
    def __init__(self, result: Means, values: Callable[[str], Floats]) -> None:
        self._result, self._values = result, values

    def __getitem__(self, metric: str | Metric) -> Floats:
        return self._values(self._result._label(metric))

    def __iter__(self) -> Iterator[str]:
        return iter(self._result)

    def __len__(self) -> int:
        return len(self._result)

    def __repr__(self) -> str:
        return f"per-query values of {', '.join(self._result)} for {len(self._result.queries)} queries"


def _fate(outcomes: Mapping[str, Outcome], choice: str) -> str:
    fates = {
        str(choices["undefined"] if choices[choice] is None else choices[choice])
        for choices in (outcome.plan.choices for outcome in outcomes.values())
    }
    words = {"zero": "counted as empty lists", "skip": "left out of the mean", "error": "an error", "nan": "NaN"}
    return " or ".join(sorted(words.get(fate, f"counted as {fate}") for fate in fates))


def _count(n: int, singular: str, plural: str) -> str:
    return f"{n:,} {singular if n == 1 else plural}"
