"""The result of `rs.compare`: differences between runs, with their uncertainty and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from rankstone.compare.breakdown import (
    Leaderboard,
    QueryChanges,
    Slices,
    changes_of,
    leaderboard_of,
    slices_of,
)
from rankstone.compare.caveats import Caveat
from rankstone.compare.config import RESAMPLES, Groups, Rules, make_rules
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.machine_labels import MachineLabels, require_rules
from rankstone.compare.pairing import Paired
from rankstone.compare.paper import Paper
from rankstone.compare.summary import answer_of, command_of, headline_of, paper_of
from rankstone.compare.winner import Winner
from rankstone.errors import Advice, Hint, InputError, InputTypeError
from rankstone.metrics.registry import Value, parse_all
from rankstone.results.answer import Answer, Records, queries
from rankstone.results.definition import Definitions, cutoffs_of, ids_alike, label_of
from rankstone.results.schema import stamp
from rankstone.statistics.paired import name_of

if TYPE_CHECKING:
    from rankstone.compare.compare import InputOrigin
    from rankstone.plots.plot import Plot
    from rankstone.results.result import Result
    from rankstone.typing import Metrics, Path

T = TypeVar("T")


class Comparison(Records[Difference]):
    """Differences between the means of runs on the same queries, with intervals, p-values and verdicts.

    `comparison["neural", "ndcg@10"]` is a `Difference`; `comparison["neural"]` is a dict of them by metric. Without a
    baseline, name both runs: `comparison["bm25", "neural", "ndcg@10"]`. Iterating yields all differences.

    A verdict is "better", "worse" ("higher", "lower" where neither direction is better), "inconclusive",
    "equivalent (margin 0.01)", or "identical" if all queries have the same values in both runs.

    Examples
    --------
    >>> truth = {q: {"a": 1} for q in range(30)}
    >>> runs = {"old": {q: ["b", "a"] for q in truth}, "new": {q: ["a"] if q % 3 else ["b", "a"] for q in truth}}
    >>> comparison = rs.compare(truth, runs, "rr")
    >>> comparison["new", "rr"].verdict
    'better'
    """

    _names = ("metric", "baseline", "run", "first", "second", "difference", "relative", "low", "high", "p", "adjusted",
              "wins", "ties", "losses", "queries", "verdict")  # fmt: skip

    _experiment: Experiment

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._records = experiment.differences

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """A `Difference`, or a dict of those of all metrics."""
        data, names = self._experiment, key if isinstance(key, tuple) else (key,)
        runs = [name for name in names if name in self.runs]
        metrics = [label_of(name, data.samples) for name in names if name not in self.runs]
        if len(metrics) > 1 or len(runs) > 2:
            raise KeyError(f"{key!r}: name a run and a metric, or two runs and a metric")
        of_runs = data.select(runs)
        by_metric = {of.metric: of for of in of_runs if metrics in ([], [of.metric])}
        if not by_metric or len(of_runs) > len(self.metrics):
            pairs = ", ".join(f"{self.runs[a]!r} and {self.runs[b]!r}" for a, b in data.pairs)
            raise KeyError(f"{key!r} names no pair of runs, or several; there are {pairs}")
        return by_metric[metrics[0]] if metrics else by_metric

    @property
    def baseline(self) -> str | None:
        """Name of the run that all others are compared with; None if all pairs are compared."""
        return self._common.baseline

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs."""
        return self._experiment.names

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self._common.labels

    @property
    def definitions(self) -> Definitions:
        """Definition of each metric, by its name."""
        return self._common.definitions

    @property
    def _common(self) -> Experiment:
        """What has the baseline, the metrics and their definitions; of several collections, the first one."""
        return self._experiment

    # -- per query, per group, per run -----------------------------------------------------------------------

    def queries(self, *key: str) -> QueryChanges:
        """The queries in order of their change, the largest improvement first.

        Parameters
        ----------
        *key : str
            A run and a metric, where there are several: `comparison.queries("neural", "ndcg@10")`.

        Returns
        -------
        QueryChanges
            Both values and the change per query; `.explain()` of a query lists the items that moved.
        """
        return changes_of(self._experiment.select_one(key))

    def slices(self, by: str | Groups, *key: str) -> Slices:
        """The differences per group of queries, and an F test of whether the groups differ.

        Parameters
        ----------
        by : str, dict or sequence
            The group of each query: a column of the truth, a dict by query id, or one group per query in order.
            Groups of fewer than 20 queries are merged into "other".
        *key : str
            A run, a metric or both, to select differences; by default all.

        Returns
        -------
        Slices
        """
        self._experiment.check_human("a comparison by group")
        return slices_of(self._experiment, self._experiment.groups(by), self._experiment.select(key))

    def leaderboard(self, metric: str | None = None) -> Leaderboard:
        """The runs in order of their means, with a confidence set of ranks for each.

        Parameters
        ----------
        metric : str, optional
            The metric to rank by; required if there are several.

        Returns
        -------
        Leaderboard
            `.best` are the runs that are statistically tied for first.
        """
        if metric is None and len(self.metrics) > 1:
            raise InputError(f"name one of the metrics: {', '.join(self.metrics)}")
        self._experiment.check_human("a leaderboard")
        label = self.metrics[0] if metric is None else label_of(metric, self._experiment.samples)
        return leaderboard_of(self._experiment, label)

    @property
    def winner(self) -> Winner:
        """The run with the best mean, what to expect of it on new queries, and which others may be better."""
        return self._experiment.winner

    def plot(self, kind: str, *key: str, by: str | Groups | None = None) -> Plot:
        """A plot of the comparison, with its numbers in `.data`.

        Parameters
        ----------
        kind : str
            "forest", "queries", "scatter", "slices", "power", "leaderboard", or a metric at many cutoffs
            ("ndcg@{1..100}").
        *key : str
            A run and a metric, where there are several: `comparison.plot("queries", "neural", "ndcg@10")`.
        by : str, dict or sequence, optional
            The group of each query, for "slices".

        Returns
        -------
        Plot
            Shows itself in a notebook; `.save(path)` writes SVG, PNG or PDF.
        """
        from rankstone.compare.plot_kinds import by_cutoff, plot_of  # plots load on demand

        if "@" in kind:
            name, labels, ks = cutoffs_of(kind)
            return by_cutoff(self._experiment.with_metrics(labels).single(), labels, ks, name)
        return plot_of(self, kind, key, self._experiment.by if by is None else by)

    # -- power -----------------------------------------------------------------------------------------------

    def sample_size(self, difference: float, power: float = 0.8) -> dict[tuple[str, ...], int]:
        """Number of queries needed to detect a true difference.

        Parameters
        ----------
        difference : float
            The true difference of the means, in the metric's unit.
        power : float, default 0.8
            Probability of detecting it.

        Returns
        -------
        dict
            Number of queries by run and metric.
        """
        return self._by_key(lambda of: of.sample_size(difference, power))

    def _by_key(self, function: Callable[[Difference], T]) -> dict[tuple[str, ...], T]:
        return {self._experiment.key(of): function(of) for of in self}

    # -- verdicts --------------------------------------------------------------------------------------------

    @property
    def caveats(self) -> dict[tuple[str, ...], tuple[Caveat, ...]]:
        """Caveats by run and metric, where there are any."""
        return {key: caveats for key, caveats in self._by_key(lambda of: of.caveats).items() if caveats}

    @property
    def verdicts(self) -> dict[tuple[str, ...], str]:
        """Verdicts by run and metric."""
        return self._by_key(lambda of: of.verdict)

    @property
    def headline(self) -> str:
        """The verdicts in a few sentences."""
        return headline_of(self._experiment)

    @property
    def notes(self) -> list[str]:
        """The lines printed under the table: test and correction, power, caveats."""
        return list(self._summary.notes)

    # -- export ----------------------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """The printed table."""
        return self._summary

    @cached_property
    def _summary(self) -> Answer:
        by = self._experiment.by
        return answer_of(self._experiment, None if by is None else self.slices(by)._answer())

    def _columns(self) -> dict[str, Any]:
        ends = ("lowest", "highest") if self._experiment.paired.is_bounded else ()
        return {**super()._columns(), **{name: [getattr(of.bounds, name) for of in self] for name in ends}}

    def latex(
        self,
        *,
        digits: int | None = None,
        caption: str | None = None,
        label: str | None = None,
        percent: bool = False,
        marks: str | None = None,
        names: Mapping[str, str] | None = None,
        verbose: bool = False,
    ) -> str:
        """The means as a table of a paper: the best bold, the second best underlined, significance marked (booktabs).

        Parameters
        ----------
        digits : int, optional
            Digits after the point; by default 4, and 1 in percent.
        caption : str, optional
            The caption, in LaTeX; by default one sentence on the queries, the marks and the test.
        label : str, optional
            The label, for references.
        percent : bool, default False
            Print metrics from 0 to 1 in percent.
        marks : str, optional
            "daggers" (against the baseline), "superscripts" (all pairs: the letters of the runs that a run is
            significantly better than, as ranx prints them) or "none".
        names : dict, optional
            Names of metrics, in LaTeX: `{"ap": "AP"}`. By default those of papers: MAP, MRR, nDCG@10.
        verbose : bool, default False
            Put the definitions of the metrics into the caption.

        Returns
        -------
        str
        """
        return self._paper().table(digits, caption, label, percent, marks, names).render(verbose)

    def _paper(self) -> Paper:
        return paper_of(self._experiment)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: options, means, differences with their caveats, and definitions."""
        data, rules = self._experiment, self._experiment.rules
        return {
            **stamp("comparison"),
            "runs": list(self.runs),
            "baseline": self.baseline,
            "metrics": list(self.metrics),
            "queries": len(data.paired.queries),
            "test": name_of(rules.test),
            "correction": rules.correction,
            "confidence": rules.confidence,
            "margin": dict(rules.margin) if isinstance(rules.margin, Mapping) else rules.margin,
            "primary": None if rules.primary is None else list(rules.primary),
            "resamples": rules.resamples if rules.is_random else None,
            "seed": rules.seed if rules.is_random else None,
            "means": {
                label: dict(zip(self.runs, sample.means.tolist(), strict=True))
                for label, sample in data.samples.items()
            },
            "differences": [difference.to_dict() for difference in self],
            "notes": self.notes,
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the comparison to a file, in the format of its extension.

        Parameters
        ----------
        path : str or PathLike
            The file. "-" is standard output.
        format : str, optional
            txt, md, tex (the printed table), html (the page of `report`), csv, tsv, json, jsonl or parquet.
        """
        from rankstone.results.export import result_format, write_answer

        form = result_format(path, format)  # of LaTeX the caption is a sentence
        write_answer(self, path, form, {}, verbose=form != "latex", command=self._command)

    @property
    def _command(self) -> str:
        """The command that computes it again; empty if there is none."""
        return command_of(self._experiment)

    def report(self, title: str | None = None) -> str:
        """An HTML page with verdicts, plots, queries and definitions: one file, without external requests.

        Parameters
        ----------
        title : str, optional
            Title of the page; by default the names of the runs.

        Returns
        -------
        str
        """
        from rankstone.compare.report import report_of

        return report_of(self._experiment, title)


# -- from results --------------------------------------------------------------------------------------------


def compare_results(results: object, metrics: Metrics | None = None, **options: Value) -> Comparison:
    """Compare results by name: `rs.compare` without evaluating anything."""
    for name, value in options.items():
        if name not in (*Rules._fields, *_OPTIONS) and value is not None:
            raise InputTypeError(f"{name}= goes with a truth and runs; these results are already evaluated")
    systems, labels = named_results(results, metrics)
    (name, (first, *_)), *_ = systems.items()
    for other, several in systems.items():
        for result in several:
            if result is first:
                continue
            for label in labels:
                _check_same_definition(first, result, label, (name, other))
            _check_same_truth(first, result, (name, other))
    return compare_systems(systems, labels, **{name: value for name, value in options.items() if value is not None})


def named_results(results: object, metrics: Metrics | None) -> tuple[dict[str, tuple[Result, ...]], list[str]]:
    """Results by name, and the metrics to compare."""
    systems = _results_by_name(results)
    return systems, _shared([result for several in systems.values() for result in several], metrics)


def _check_same_definition(first: Result, other: Result, label: str, names: tuple[str, str]) -> None:
    """Raise an error if two results define a metric differently."""
    ours, theirs = first._measurement, other._measurement
    if ours.has_lists and theirs.has_lists and ours.plan(label) == theirs.plan(label):
        return  # definitions are slow to write
    for name, values in first.definitions[label].differences(other.definitions[label]).items():
        raise InputError(
            f"{label} is not the same number in both: {name} is {values[0]!r} in {names[0]}, "
            f"{values[1]!r} in {names[1]}"
        )


def _check_same_truth(first: Result, other: Result, names: tuple[str, str]) -> None:
    """Raise an error if two results have different truths."""
    if (
        first._measurement.same_truth(other._measurement)
        or first._measurement.inputs["truth"] == other._measurement.inputs["truth"]
    ):
        return
    ours, theirs = ids_alike([first.queries, other.queries])
    for these, those, which in ((ours, theirs, names[1]), (theirs, ours, names[0])):
        other_queries = set(those)
        missing = [query for query in these if query not in other_queries]
        if missing:
            raise InputError(f"the truths differ: {which} lacks {queries(len(missing))}, such as {missing[0]!r}")
    raise InputError("the truths differ: the same queries, but with other grades")


_FLIPS, _FEWEST = (
    100_000_000,
    10_000,
)  # signs of all pairs together, and samples at least, where resamples= is not given
_OPTIONS = ("baseline", "by", "clusters", "origin", "command", "machine", "drawn_at_random")


def compare_systems(
    systems: Mapping[str, Sequence[Result]],
    labels: Sequence[str],
    *,
    baseline: str | None = None,
    by: str | Groups | None = None,
    clusters: str | Groups | None = None,
    origin: InputOrigin | None = None,
    command: str = "",
    machine: Mapping[str, Sequence[Result]] | None = None,
    drawn_at_random: bool = False,
    **rules: Value,
) -> Comparison:
    """Compare results of the same metrics and the same truth."""
    names = list(systems)
    if len(names) < 2:
        only = f"one run only, {names[0]!r}" if names else "no run"
        raise InputError(f"there is {only}; a comparison needs two")
    if baseline is None and len(names) == 2:
        baseline = names[0]
    if baseline is not None and baseline not in names:
        raise InputError(f"baseline={baseline!r} is none of the runs: {', '.join(map(repr, names))}")
    for name in (name for name, results in systems.items() if not results):
        raise InputError(f"run {name!r} is an empty sequence; pass a run, or several of one system")
    if machine is not None:
        rules = {**rules, "correction": rules.get("correction") or "holm"}  # that of all pairs resamples values
    options = make_rules(rules, baseline, labels)
    if rules.get("resamples") is None:  # of many pairs each sample takes longer
        pairs = len(labels) * (len(names) - 1 if baseline is not None else len(names) * (len(names) - 1) // 2)
        options = options._replace(resamples=max(min(RESAMPLES, _FLIPS // pairs), _FEWEST))
    clusters, by = (_column(origin, groups, name) for groups, name in ((clusters, "clusters"), (by, "by")))
    paired = Paired(systems, clusters)
    for trait, value in (("clusters", clusters), ("population", options.population)):
        if value is not None:
            options.require(trait, f"{trait}=")
    for label in labels:
        plan = paired.first._measurement.plan(label)
        if plan.of_all_lists or (plan.is_pooled and len(paired.queries) > plan.jackknife_groups):
            options.require("clusters", f"groups of lists, which are left out in turn to compare {label}")
    labelled = None
    if machine is not None:
        require_rules(options)
        for name in (name for name, value in (("by", by), ("clusters", clusters)) if value is not None):
            raise InputError(Advice(Hint(name), " does not go with ", Hint("machine", ...)))
        labelled = MachineLabels(paired, Paired(machine, None), drawn_at_random)
    return Comparison(Experiment(paired, tuple(labels), baseline, options, by, origin, command, labelled))


def _results_by_name(by_name: object) -> dict[str, tuple[Result, ...]]:
    """A tuple of results per run name."""
    expected = "give runs=, or a dict of results by name: rs.compare({'old': result, 'new': other})"
    if not isinstance(by_name, Mapping) or not by_name:
        raise InputTypeError(f"there is nothing to compare with; {expected}")
    systems = {}
    for name, value in by_name.items():
        several = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        for result in several:
            if not hasattr(result, "_measurement"):
                raise InputTypeError(f"{name!r} is {type(result).__name__}, not a result; {expected}")
        systems[str(name)] = several
    return systems


def _shared(results: Sequence[Result], metrics: Metrics | None) -> list[str]:
    """The requested metrics; by default those that all results have."""
    if metrics is not None:
        return [label_of(metric, result) for metric in parse_all(metrics) for result in results][:: len(results)]
    common = [label for label in results[0] if all(label in result for result in results[1:])]
    if not common:
        raise InputError(f"no metric in common: {' and '.join(dict.fromkeys(', '.join(result) for result in results))}")
    return common


def _column(origin: InputOrigin | None, groups: Any, name: str) -> Any:
    """The groups themselves, or a column of the truth by its name."""
    if not isinstance(groups, str):
        return groups
    if origin is None:
        raise InputError(f"{name}={groups!r}: results have no columns; give a dict by query")
    return origin.column(groups)
