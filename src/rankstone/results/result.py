"""What `evaluate` returns: means, values per query, definitions, and an account of what happened."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.conventions.plan import Plan
from rankstone.errors import InputError, check_not_text
from rankstone.metrics.registry import Metric
from rankstone.program.ranking import Ratio
from rankstone.results.answer import Answer, Readable, number
from rankstone.results.definition import Definitions, cutoffs_of, groups_in_order, label_of, summarize

if TYPE_CHECKING:
    from typing_extensions import Self

    from rankstone.compare.comparison import Comparison
    from rankstone.compare.config import Groups
    from rankstone.data.source import Aligned
    from rankstone.evaluate.means import Contributions
    from rankstone.evaluate.roc import Curve
    from rankstone.plots.plot import Plot
    from rankstone.results.difference_bounds import DifferenceBounds
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
    def notes(self) -> Sequence[str]: ...  # the convention, and what happened to the queries
    @property
    def queries(self) -> Sequence[Any]: ...
    @property
    def present(self) -> Bools | None: ...  # which queries the run has; None: not known
    @property
    def ties(self) -> dict[str, TieRange]: ...
    @property
    def bounds(self) -> dict[str, UnjudgedRange] | None: ...  # None: not asked for
    @property
    def has_lists(self) -> bool: ...  # are the lists at hand, for other metrics and for numbers of all rows at once
    @property
    def has_ties(self) -> bool: ...  # could the order of tied items matter
    def has_bad(self, label: str) -> bool: ...  # may there be items that are judged and not relevant
    def plan(self, label: str) -> Plan: ...
    def values(self, label: str) -> Floats: ...
    def ratio(self, label: str) -> Ratio: ...
    def shares(self, label: str) -> Contributions: ...
    def mean_of(self, label: str, inside: Bools) -> float: ...  # of some of the queries
    def same_truth(self, other: Measurement) -> bool: ...  # to the order of the queries; if not, it still can be
    def aligned(self, plan: Plan) -> Aligned: ...
    @property
    def is_bounded(self) -> bool: ...  # are bounds asked for, and the lists at hand
    def difference_bounds(
        self, plan: Plan, other: Any, places: tuple[Ints | None, Ints | None]
    ) -> DifferenceBounds: ...  # the other mean minus this one; places: of the same queries in both
    def roc(self, plan: Plan, query: Hashable) -> Curve: ...
    def more(self, metrics: Metrics) -> Measurement: ...
    def to_dict(self) -> dict[str, Any]: ...


class Result(Readable, Mapping[str, float]):
    """Means by metric name, with the values per query, the definitions, and counts of what happened to the queries.

    A mapping: `result["ndcg@10"]` is the mean, found by any name that the metric has. Printed, it is a table.

    Examples
    --------
    >>> result = rs.evaluate({"u1": {"a": 1}, "u2": {"b": 1}}, {"u1": ["a", "b"], "u2": ["a", "b"]}, ["rr", "ap"])
    >>> result["rr"]
    0.75
    >>> result.per_query["rr"].tolist()
    [1.0, 0.5]
    """

    _confidence: float | None = None  # of the intervals that are printed
    _more_notes: tuple[str, ...] = ()  # on how the data was read, besides those of the measurement
    _name = ""  # of the run, where it has one
    _command = ""  # that computes it again, where it comes from files

    def __init__(self, means: dict[str, float], later: Callable[[], Measurement] | None) -> None:
        self._means, self._later = means, later

    @classmethod
    def _of(cls, measurement: Measurement, name: str = "") -> Self:
        """The result of a finished measurement."""
        result = cls(measurement.means, None)
        result.__dict__.update(_measurement=measurement, _name=name)
        return result

    @cached_property
    def _measurement(self) -> Measurement:
        """All but the means, computed on first use."""
        later = self._later
        if later is not None:  # or another thread was here
            self.__dict__.update(_measurement=later(), _later=None)
        measurement: Measurement = self.__dict__["_measurement"]
        return measurement

    def __getstate__(self) -> dict[str, Any]:
        """All of it, since the function that computes the rest cannot be pickled."""
        return {"_measurement": self._measurement, **self.__dict__}

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

    @property
    def definitions(self) -> Definitions:
        """What each number means, by metric; `.cite` of one is a line to put under the number."""
        return self._measurement.definitions

    @property
    def account(self) -> Account:
        """Counts of queries: judged, missing, extra, without relevant items, affected by ties."""
        return self._measurement.account

    @property
    def notes(self) -> list[str]:
        """What to know about the input: definitions followed, queries affected by each rule, how files were read."""
        return [*self._measurement.notes, *self._more_notes]

    @property
    def queries(self) -> Sequence[Any]:
        """Query ids in the order of the truth; of a Spark table in no particular order."""
        return self._measurement.queries

    @property
    def per_query(self) -> PerQuery:
        """Values by metric, one array each, in the order of `queries`; NaN where a query is not averaged."""
        return PerQuery(self)

    @property
    def ties(self) -> dict[str, TieRange]:
        """By metric: the lowest and highest mean over all orders of tied items."""
        return self._measurement.ties

    @property
    def bounds(self) -> dict[str, UnjudgedRange]:
        """By metric: the lowest and highest mean over all grades of the unjudged items; for `evaluate(bounds=True)`."""
        if self._measurement.bounds is None:
            raise InputError("the bounds were not computed: rs.evaluate(..., bounds=True)")
        return self._measurement.bounds

    def _more(self, metrics: Metrics) -> Result:
        """Other metrics of the same lists, without reading them again."""
        return Result._of(self._measurement.more(metrics), self._name)

    def by_group(self, groups: Mapping[Id, Hashable] | Sequence[Hashable]) -> dict[Any, dict[str, float]]:
        """Means by group of queries.

        Parameters
        ----------
        groups : dict or sequence
            The group of each query, by query id or in the order of `queries`.

        Returns
        -------
        dict
            For each group its means, by metric.

        Examples
        --------
        >>> result = rs.evaluate({"u1": {"a": 1}, "u2": {"b": 1}}, {"u1": ["a", "b"], "u2": ["a", "b"]}, "rr")
        >>> result.by_group({"u1": "new", "u2": "old"})
        {'new': {'rr': 1.0}, 'old': {'rr': 0.5}}
        """
        labels = groups_in_order(groups, self.queries, "groups")
        members: dict[Any, Bools] = {}
        for at, label in enumerate(labels):
            members.setdefault(label, np.zeros(len(labels), dtype=bool))[at] = True
        mean = self._measurement.mean_of
        return {group: {label: mean(label, inside) for label in self} for group, inside in members.items()}

    # -- decisions and plots ---------------------------------------------------------------------------------

    def compare(self, other: Result, names: tuple[str, str] | None = None, **rules: Any) -> Comparison:
        """Is the other result better than this one: `rs.compare` of the two, with this one as the baseline.

        Parameters
        ----------
        other : Result
            A result of the same metrics, definitions and truth.
        names : tuple of two str, optional
            What to call the two; by default the names of their runs, or "first" and "second".
        **rules
            Keywords of `rs.compare`, such as `test`, `margin` or `clusters`.

        Returns
        -------
        Comparison
        """
        from rankstone.compare.comparison import compare_results  # which reads results

        check_not_text(names, "names")
        if names is None:
            named = bool(self._name and other._name and self._name != other._name)
            names = (self._name, other._name) if named else ("first", "second")
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
        """Confidence interval of a mean, for queries drawn from a population of such queries.

        Parameters
        ----------
        metric : str or Metric
            One of the metrics of the result.
        confidence : float, default 0.95
            Confidence level.
        method : str, optional
            "hall" (Student's t corrected for skewness, Hall 1992), "wilson" for values of 0 and 1, "t", "bca",
            "percentile", "basic" or "studentised"; by default "wilson" or "hall", as the values are.
        clusters : dict or sequence, optional
            The cluster of each query, where queries are not independent.
        resamples : int, default 9999
            Number of bootstrap samples, for the methods that resample.
        seed : int, default 0
            Random seed of the bootstrap.

        Returns
        -------
        Interval
            With `low` and `high`.
        """
        label = label_of(metric, self._means)
        return self._interval_of(label, confidence, method, clusters, resamples, seed)

    def _interval_of(
        self, label: str, confidence: float, method: str | None, clusters: Groups | None, *resampling: int
    ) -> Interval:
        from rankstone.compare.pairing import Paired  # which is made of results

        return Paired({"": [self]}, clusters).interval("", label, confidence, method, *resampling)

    def plot(self, kind: str, query: Hashable = None) -> Plot:
        """A plot of the result, with its numbers in `.data`.

        Parameters
        ----------
        kind : str
            A metric at many cutoffs ("ndcg@{1..100}"), "precision-recall" (interpolated precision, averaged over
            queries), "roc" (of one query, or of all rows with `averaging="one_list"`), "lorenz" (of recommended
            items), or "bounds" (of the means, with `bounds=True`).
        query : hashable, optional
            Plot this query only.

        Returns
        -------
        Plot
            Shows itself in a notebook; `.save(path)` writes SVG, PNG or PDF.
        """
        from rankstone.compare.plot_kinds import by_cutoff  # plots load on demand
        from rankstone.results.curves import CURVES, curve_of

        if kind in CURVES or not isinstance(kind, str) or "@" not in kind:
            return curve_of(self, kind, query)
        name, labels, ks = cutoffs_of(kind)
        result = self if all(label in self for label in labels) else self._more(labels)
        return by_cutoff({self._name or "run": result}, labels, ks, name)

    # -- export ----------------------------------------------------------------------------------------------

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the result to a file, in the format of its extension.

        Parameters
        ----------
        path : str or PathLike
            The file. "-" is standard output.
        format : str, optional
            json: everything, for `rs.read_result`. parquet: values per query, the rest in the metadata, for
            `rs.read_result` too. csv, tsv, jsonl, trec: values per query. txt, md, tex: the printed table with its
            definitions. html: the page of `report`.
        """
        from rankstone.results.export import write

        write(self, path, format)

    def report(self, title: str | None = None) -> str:
        """An HTML page with means, plots, values per query and definitions: one file, without external requests.

        Parameters
        ----------
        title : str, optional
            Title of the page; by default the names of the runs.

        Returns
        -------
        str
        """
        from rankstone.compare.report import report_of_result

        return report_of_result(self, title)

    def render(
        self, form: str = "table", *, verbose: bool = False, width: int | None = None, confidence: float | None = None
    ) -> str:
        """The printed table in another form.

        Parameters
        ----------
        form : str, default "table"
            "table" (plain text), "markdown", "latex" or "html".
        verbose : bool, default False
            Include the definitions of all metrics.
        width : int, optional
            Width of the terminal, in characters.
        confidence : float, optional
            Add confidence intervals of the means, at this level.

        Returns
        -------
        str
        """
        result = self if confidence is None else self._with_intervals(confidence)
        return super(Result, result).render(form, verbose=verbose, width=width)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: means, values per query, definitions, versions, digests of the inputs, account."""
        return {**self._measurement.to_dict(), "notes": self.notes}

    def _columns(self) -> dict[str, Any]:
        """Values per query: a query column, then one per metric."""
        return {"query": list(self.queries), **{label: self.per_query[label] for label in self}}

    # -- the printed table -----------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """Means, with intervals and bounds if asked for, and with the range over all orders of tied items."""
        ranges: dict[tuple[str, str], Mapping[str, TieRange | UnjudgedRange]] = {}
        notes = [*self.notes, *self._notes_on_bounds()]
        if self._measurement.bounds is not None:
            ranges["at least", "at most"] = self.bounds
        if self.account.tied and any(
            number(end) != number(self[label]) for label, span in self.ties.items() for end in _ends(span)
        ):  # in the digits that are shown
            ranges["lowest", "highest"] = self.ties
            unknown = [label for label, span in self.ties.items() if math.isnan(span.lowest) and span.queries]
            said = f" (unknown for {', '.join(unknown)}: no closed form)" if unknown else ""
            notes.append(f"lowest and highest: the range of the mean over all orders of tied items{said}")
        interval = () if self._confidence is None else (f"{100 * self._confidence:g} % interval",)
        rows = [["metric", "mean", *interval, *(end for ends in ranges for end in ends)]]
        for label, mean in self.items():
            ends = [end for spans in ranges.values() for end in _ends(spans[label])]
            cells = ("unknown" if math.isnan(end) else number(end) for end in ends)
            rows.append([label, number(mean), *(self._interval_cell(label) for _ in interval), *cells])
        tips = {label: definition.cite for label, definition in self.definitions.items()}
        definitions = summarize(list(self.definitions.values()))[:-1]
        return Answer(rows, notes=notes, definitions=definitions, tips=tips, more="print(result.definitions)")

    def _with_intervals(self, confidence: float = 0.95) -> Self:
        """The same, with an interval next to each printed mean."""
        result = copy.copy(self)
        result._confidence = confidence
        return result

    def _with_notes(self, notes: Iterable[str]) -> Self:
        """The same, with more notes on how its data was read."""
        self._more_notes = (*self._more_notes, *notes)
        return self

    def _interval_cell(self, label: str) -> str:
        """The interval printed next to a mean; empty if there is none."""
        if self._confidence is None:
            return ""
        if self._measurement.plan(label).is_pooled and not self._measurement.has_lists:  # which needs the rows
            return "unknown"
        interval = self.interval(label, self._confidence)
        return f"{number(interval.low)} {number(interval.high)}" if math.isfinite(interval.low) else "unknown"

    def _bounds_cell(self, label: str) -> str:
        """The bounds printed next to a mean; empty if they were not asked for."""
        if self._measurement.bounds is None:
            return ""
        low, high = _ends(self.bounds[label])
        return " [unknown]" if math.isnan(low) else f" [{number(low)} {number(high)}]"

    def _notes_on_bounds(self, where: str = "at least and at most") -> list[str]:
        """What the bounds are, and which of them are unknown."""
        if self._measurement.bounds is None:
            return []
        unknown = [label for label, span in self.bounds.items() if math.isnan(span.lowest) and span.queries]
        said = f" (unknown for {', '.join(unknown)})" if unknown else ""
        return [f"{where}: the range of the mean over all grades of the unjudged items{said}"]


class PerQuery(Mapping[str, Floats]):
    """Values by metric, found by any name that the metric has."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __getitem__(self, metric: str | Metric) -> Floats:
        return self._result._measurement.values(label_of(metric, self._result._means))

    def __iter__(self) -> Iterator[str]:
        return iter(self._result)

    def __len__(self) -> int:
        return len(self._result)

    def __repr__(self) -> str:
        return f"per-query values of {', '.join(self._result)} for {len(self._result.queries)} queries"


def _ends(span: TieRange | UnjudgedRange) -> tuple[float, float]:
    return span.lowest, span.highest
