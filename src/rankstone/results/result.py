"""What `evaluate` returns: means, values per query, definitions, and an account of what happened."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankstone.align.alignment import Bools, Floats
from rankstone.conventions.plan import Plan
from rankstone.metrics.registry import Metric
from rankstone.program.ranking import Ratio
from rankstone.results.answer import Answer, Readable, number
from rankstone.results.definition import Definition, Definitions, cutoffs_of, groups_in_order, label_of, summarize

if TYPE_CHECKING:
    from typing_extensions import Self

    from rankstone.compare.comparison import Comparison
    from rankstone.data.source import Aligned
    from rankstone.evaluate.curves import Curve
    from rankstone.evaluate.means import Shares
    from rankstone.plots.plot import Plot
    from rankstone.statistics import Interval
    from rankstone.typing import Id, Metrics, Path


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


class Measurement(Protocol):
    """What was measured, as a `Result` reads it: of lists at hand, of a file, or of tables on a cluster."""

    @property
    def means(self) -> dict[str, float]: ...
    @property
    def definitions(self) -> Definitions: ...
    @property
    def account(self) -> Account: ...
    @property
    def inputs(self) -> dict[str, str]: ...  # digests of the truth and of the run, as they were aligned
    @property
    def versions(self) -> dict[str, str]: ...
    @property
    def remarks(self) -> Sequence[str]: ...  # the convention, and what happened to the queries
    @property
    def queries(self) -> Sequence[Any]: ...
    @property
    def present(self) -> Bools | None: ...  # which queries the run has; None: not known
    @property
    def ties(self) -> dict[str, TieRange]: ...
    @property
    def unjudged(self) -> dict[str, UnjudgedRange] | None: ...  # None: not asked for
    @property
    def has_lists(self) -> bool: ...  # are the lists at hand, for other metrics and for numbers of all rows at once
    @property
    def has_ties(self) -> bool: ...  # could the order of tied items matter
    def has_bad(self, label: str) -> bool: ...  # may there be items that are judged and not relevant
    def plan(self, label: str) -> Plan: ...
    def values(self, label: str) -> Floats: ...
    def ratio(self, label: str) -> Ratio: ...
    def shares(self, label: str) -> Shares: ...
    def mean_of(self, label: str, inside: Bools) -> float: ...  # of some of the queries
    def same_truth(self, other: Measurement) -> bool: ...  # to the order of the queries; if not, it still can be
    def aligned(self, plan: Plan) -> Aligned: ...
    def roc(self, plan: Plan, query: Hashable) -> Curve: ...
    def more(self, metrics: Metrics) -> Measurement: ...
    def to_dict(self) -> dict[str, Any]: ...


class Result(Readable, Mapping[str, float]):
    """Means by metric name; `per_query`, `define`, `account` and tables beside them."""

    _confidence: float | None = None  # of the intervals that are printed
    _remarks: tuple[str, ...] = ()  # on how the data was read, besides those of the measurement

    name = ""  # of the run, where it has one

    def __init__(self, means: dict[str, float], later: Callable[[], Measurement] | None) -> None:
        self._means, self._later = means, later

    @classmethod
    def of(cls, measurement: Measurement, name: str = "") -> Self:
        """What a measurement that is at hand says."""
        result = cls(measurement.means, None)
        result.__dict__.update(measurement=measurement, name=name)
        return result

    @cached_property
    def measurement(self) -> Measurement:
        """All but the means, made when it is first asked for."""
        later = self._later
        if later is not None:  # or another thread was here
            self.__dict__.update(measurement=later(), _later=None)
        found: Measurement = self.__dict__["measurement"]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """All of it, as what makes the rest cannot be saved."""
        return {"measurement": self.measurement, **self.__dict__}

    # -- means -----------------------------------------------------------------------------------------------

    def __getitem__(self, metric: str | Metric) -> float:
        return self._means[label_of(metric, self._means)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __contains__(self, metric: object) -> bool:
        try:
            return bool(label_of(metric, self._means))  # type: ignore[arg-type]
        except (KeyError, ValueError):
            return False

    # -- what was measured -----------------------------------------------------------------------------------

    convention = property(attrgetter("measurement.convention"))
    choices = property(attrgetter("measurement.choices"))
    versions = property(attrgetter("measurement.versions"), doc="The versions of rankstone and NumPy that measured it.")

    @property
    def definitions(self) -> Definitions:
        """What each number means, by metric."""
        return self.measurement.definitions

    @property
    def account(self) -> Account:
        """How many queries were judged, missing, extra, without anything relevant, or decided by ties."""
        return self.measurement.account

    @property
    def inputs(self) -> dict[str, str]:
        """Digests of the truth and of the run, as they were aligned: items judged 0 are left out."""
        return self.measurement.inputs

    @property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order; those of a cluster in no particular order."""
        return self.measurement.queries

    @property
    def per_query(self) -> PerQuery:
        """Values by metric, an array each, in the order of `queries`; NaN where a query does not count."""
        return PerQuery(self)

    @property
    def present(self) -> Bools | None:
        """Which queries the run has, in the order of `queries`; None where that is not known."""
        return self.measurement.present

    @property
    def has_ties(self) -> bool:
        """Could the order of tied items matter."""
        return self.measurement.has_ties

    @property
    def ties(self) -> dict[str, TieRange]:
        """By metric: the lowest and highest mean that another order of the tied items would give."""
        return self.measurement.ties

    @property
    def unjudged(self) -> dict[str, UnjudgedRange]:
        """By metric: the lowest and highest mean that the returned items nobody judged could make."""
        if self.measurement.unjudged is None:
            raise ValueError("these bounds were not asked for: rs.evaluate(..., unjudged='bounds')")
        return self.measurement.unjudged

    def define(self, metric: str | Metric) -> Definition:
        """Which definition the number follows; its `cite` says it in one line."""
        return self.definitions[label_of(metric, self._means)]

    def plan_of(self, metric: str | Metric) -> Plan:
        """A metric with every choice made."""
        return self.measurement.plan(label_of(metric, self._means))

    def has_bad(self, metric: str | Metric) -> bool:
        """May the truth, as a metric was given it, have items that are judged and not relevant."""
        return self.measurement.has_bad(label_of(metric, self._means))

    def shares(self, metric: str | Metric) -> Shares:
        """What each query adds to the two sums of a mean, in the order of `queries`."""
        return self.measurement.shares(label_of(metric, self._means))

    def ratio(self, metric: str | Metric) -> Ratio:
        """What each query earned and could have earned."""
        return self.measurement.ratio(label_of(metric, self._means))

    def more(self, metrics: Metrics) -> Result:
        """Other metrics of the same lists, without reading them again."""
        return Result.of(self.measurement.more(metrics), self.name)

    def by(self, groups: Mapping[Id, Hashable] | Sequence[Hashable]) -> dict[Any, dict[str, float]]:
        """Means by group of queries: `groups` says each query's group, as a dict or in the order of `queries`."""
        labels = groups_in_order(groups, self.queries, "groups")
        members: dict[Any, Bools] = {}
        for at, label in enumerate(labels):
            members.setdefault(label, np.zeros(len(labels), dtype=bool))[at] = True
        mean = self.measurement.mean_of
        return {group: {label: mean(label, inside) for label in self} for group, inside in members.items()}

    # -- what it says ----------------------------------------------------------------------------------------

    def compare(self, other: Result, names: tuple[str, str] | None = None, **rules: Any) -> Comparison:
        """Is the other better than this one: `rs.compare` of the two, with this one as the baseline.

        names: what to call the two; else the names of their runs, or first and second. rules: as `rs.compare` takes
        them, such as `test=`, `margin=`, `clusters=`.
        """
        from rankstone.compare.comparison import compare_results  # which reads results

        if names is None:
            named = bool(self.name and other.name and self.name != other.name)
            names = (self.name, other.name) if named else ("first", "second")
        return compare_results({names[0]: self, names[1]: other}, baseline=names[0], **rules)

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

        label = label_of(metric, self._means)
        return Paired({"": [self]}, clusters).interval("", label, confidence, method, resamples, seed)

    def with_intervals(self, confidence: float = 0.95) -> Self:
        """The same, with an interval beside each mean where it is printed."""
        shown = copy.copy(self)
        shown._confidence = confidence
        return shown

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data: means, definitions, versions, digests of the inputs, account, and the values of each query."""
        return {**self.measurement.to_dict(), "remarks": self.remarks()}

    def _columns(self) -> dict[str, Any]:
        """Values per query: a query column, then one per metric."""
        return {"query": list(self.queries), **{label: self.per_query[label] for label in self}}

    # -- the table that is printed ---------------------------------------------------------------------------

    def answer(self) -> Answer:
        """Means, with intervals and bounds if asked for, and with what other orders of tied items would give."""
        unknown = [label for label, found in self.ties.items() if math.isnan(found.lowest) and found.queries]
        ranges: dict[tuple[str, str], Mapping[str, TieRange | UnjudgedRange]] = {}
        notes = [*self.remarks(), *self.said_of_bounds()]
        if self.measurement.unjudged is not None:
            ranges["at least", "at most"] = self.unjudged
        if self.account.tied and any(
            number(end) != number(self[label]) for label, found in self.ties.items() for end in _ends(found)
        ):  # in the digits that are shown
            ranges["lowest", "highest"] = self.ties
            notes.append("lowest and highest are the means that other orders of the tied items would give")
            if unknown:
                notes.append(f"the range of {', '.join(unknown)} is unknown: it has no closed form over all orders")
        interval = () if self._confidence is None else (f"{100 * self._confidence:g} % interval",)
        rows = [["metric", "mean", *interval, *(end for ends in ranges for end in ends)]]
        for label, mean in self.items():
            ends = [end for found in ranges.values() for end in _ends(found[label])]
            shown = [self.ends(label) for _ in interval]
            rows.append([label, number(mean), *shown, *("unknown" if math.isnan(end) else number(end) for end in ends)])
        tips = {label: definition.cite for label, definition in self.definitions.items()}
        return Answer(rows, notes=notes, definitions=summarize(list(self.definitions.values()))[:-1], tips=tips)

    def ends(self, label: str) -> str:
        """The interval that is printed beside a mean; empty if there is none."""
        if self._confidence is None:
            return ""
        if self.plan_of(label).is_pooled and not self.measurement.has_lists:  # which needs the rows
            return "unknown"
        found = self.interval(label, self._confidence)
        return f"{number(found.low)} {number(found.high)}" if math.isfinite(found.low) else "unknown"

    def bounds(self, label: str) -> str:
        """What is printed beside a mean of what it could be at least and at most; empty if nobody asked."""
        if self.measurement.unjudged is None:
            return ""
        low, high = _ends(self.unjudged[label])
        return " [unknown]" if math.isnan(low) else f" [{number(low)} {number(high)}]"

    def said_of_bounds(self, where: str = "at least and at most") -> list[str]:
        """What the bounds are, and which of them are not known."""
        if self.measurement.unjudged is None:
            return []
        said = [f"{where}: the means if the returned items that nobody judged were judged, with any grades"]
        unknown = [label for label, found in self.unjudged.items() if math.isnan(found.lowest) and found.queries]
        return [*said, f"the bounds of {', '.join(unknown)} are unknown"] if unknown else said

    def remarks(self) -> list[str]:
        """What a reader of the means should know: the convention, and what happened to the queries."""
        return [*self.measurement.remarks, *self._remarks]

    def remarked(self, remarks: Iterable[str]) -> Self:
        """The same, with more to say of how its data was read."""
        self._remarks = (*self._remarks, *remarks)
        return self


class PerQuery(Mapping[str, Floats]):
    """Values by metric, found by any name that the metric has."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getitem__(self, metric: str | Metric) -> Floats:
        return self._result.measurement.values(label_of(metric, self._result._means))

    def __iter__(self) -> Iterator[str]:
        return iter(self._result)

    def __len__(self) -> int:
        return len(self._result)

    def __repr__(self) -> str:
        return f"per-query values of {', '.join(self._result)} for {len(self._result.queries)} queries"


def _ends(found: TieRange | UnjudgedRange) -> tuple[float, float]:
    return found.lowest, found.highest
