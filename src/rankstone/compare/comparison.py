"""What `rs.compare` answers: is one run better than another, how sure is that, and for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankstone.compare.breakdown import Changes, Leaderboard, Records, Slices, changes_of, leaderboard_of, slices_of
from rankstone.compare.caveats import Doubt
from rankstone.compare.config import Groups, Rules, make_rules
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.pairing import Paired
from rankstone.compare.summary import answer_of
from rankstone.metrics.registry import Value, parse_all
from rankstone.results.answer import Answer, queries
from rankstone.results.definition import Definitions, cutoffs_of, ids_alike, label_of
from rankstone.statistics.paired import name_of

if TYPE_CHECKING:
    from rankstone.compare.compare import Origin
    from rankstone.plots.plot import Plot
    from rankstone.results.result import Result
    from rankstone.typing import Metrics, Path


class Comparison(Records[Difference]):
    """Runs on the same queries: differences of means, how sure they are, and a verdict for each.

    `comparison["neural", "ndcg@10"]` is a `Difference`; `comparison["neural"]` has one for each metric. Without a
    baseline, name both runs: `comparison["bm25", "neural", "ndcg@10"]`. Iterating gives all of them.
    """

    _names = ("metric", "baseline", "run", "first", "second", "difference", "relative", "low", "high", "p", "adjusted",
              "wins", "ties", "losses", "queries", "verdict")  # fmt: skip

    experiment: Experiment

    def __init__(self, data: Experiment) -> None:
        self.experiment, self.paired, self.rules = data, data.paired, data.rules
        self.names, self.labels, self.baseline = data.names, data.labels, data.baseline
        self.differences = self.records = data.differences

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """A `Difference`, or those of all metrics."""
        data, names = self.experiment, key if isinstance(key, tuple) else (key,)
        runs = [name for name in names if name in self.names]
        metrics = [label_of(name, data.samples) for name in names if name not in self.names]
        if len(metrics) > 1 or len(runs) > 2:
            raise KeyError(f"{key!r}: name a run and a metric, or two runs and a metric")
        of_runs = data.select(runs)
        found = {of.metric: of for of in of_runs if metrics in ([], [of.metric])}
        if not found or len(of_runs) > len(self.labels):
            pairs = ", ".join(f"{self.names[a]!r} and {self.names[b]!r}" for a, b in data.pairs)
            raise KeyError(f"{key!r} names no pair of runs, or several; there are {pairs}")
        return found[metrics[0]] if metrics else found

    @property
    def definitions(self) -> Definitions:
        """What each number means, by metric."""
        return self.experiment.definitions

    # -- for whom, and why -----------------------------------------------------------------------------------

    def queries(self, *key: str) -> Changes:
        """The queries by change, those that won most first: `comparison.queries("neural", "ndcg@10")`.

        Each has both values and the change; `.explain()` shows which items moved, if the runs are at hand.
        """
        return changes_of(self.experiment.select_one(key))

    def slices(self, by: str | Groups, *key: str) -> Slices:
        """The differences by group of queries, and a test of whether the groups differ at all.

        by: each query's group, as a dict or in order. Groups of less than 20 queries are one, `other`. key: a run, a
        metric or both, if not all are wanted.
        """
        return slices_of(self.experiment, self.experiment.groups(by), self.experiment.select(key))

    def leaderboard(self, metric: str | None = None) -> Leaderboard:
        """The runs by their means, with the ranks that each may have, and those that cannot be told from the best."""
        if metric is None and len(self.labels) > 1:
            raise ValueError(f"name one of the metrics: {', '.join(self.labels)}")
        label = self.labels[0] if metric is None else label_of(metric, self.experiment.samples)
        return leaderboard_of(self.experiment, label)

    def plot(self, kind: str, *key: str, by: str | Groups | None = None) -> Plot:
        """A picture: one of `compare.plot_kinds.KINDS`, as "forest", or a metric by cutoff, as "ndcg@{1..100}".

        key: a run and a metric, where there are several: `comparison.plot("queries", "neural", "ndcg@10")`. by: each
        query's group, for "slices".
        """
        from rankstone.compare.plot_kinds import by_cutoff, plot_of  # pictures are for those who look

        if "@" in kind:
            name, labels, ks = cutoffs_of(kind)
            return by_cutoff(self.experiment.with_metrics(labels).single(), labels, ks, name)
        return plot_of(self, kind, key, self.experiment.by if by is None else by)

    def power(self, difference: float) -> dict[tuple[str, ...], float]:
        """How often a true difference of this size would be found, by run and metric."""
        return {self.experiment.key(of): of.power(difference) for of in self}

    def needed(self, difference: float, power: float = 0.8) -> dict[tuple[str, ...], int]:
        """How many queries like these would find a true difference of this size so often, by run and metric."""
        return {self.experiment.key(of): of.needed(difference, power) for of in self}

    def detectable(self, power: float = 0.8, queries: int | None = None) -> dict[tuple[str, ...], float]:
        """The difference that would be found so often, by run and metric; queries: with so many like these."""
        return {self.experiment.key(of): of.detectable(power, queries) for of in self}

    def probabilities(self, margin: float = 0.0) -> dict[tuple[str, ...], dict[str, float]]:
        """How likely each run is worse, the same within the margin, and better, by run and metric."""
        return {self.experiment.key(of): of.probabilities(margin) for of in self}

    # -- what it says ----------------------------------------------------------------------------------------

    @property
    def warnings(self) -> dict[tuple[str, ...], tuple[Doubt, ...]]:
        """What should be known before a difference is believed, by run and metric, where there is anything."""
        return {self.experiment.key(of): of.warnings for of in self if of.warnings}

    @property
    def verdicts(self) -> dict[tuple[str, ...], str]:
        """The verdicts by run and metric."""
        return {self.experiment.key(of): of.verdict for of in self}

    def answer(self) -> Answer:
        """What is printed."""
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        by = self.experiment.by
        return answer_of(self.experiment, None if by is None else self.slices(by).answer())

    def remarks(self) -> list[str]:
        """The test, what would have been found, and what should be known before this is believed."""
        return list(self._answer.notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: rules, means, differences with their warnings, and definitions."""
        rules = self.rules
        return {
            "runs": list(self.names),
            "baseline": self.baseline,
            "metrics": list(self.labels),
            "queries": len(self.paired.queries),
            "test": name_of(rules.test),
            "correction": rules.correction,
            "confidence": rules.confidence,
            "margin": dict(rules.margin) if isinstance(rules.margin, Mapping) else rules.margin,
            "primary": None if rules.primary is None else list(rules.primary),
            "resamples": rules.resamples if rules.is_random else None,
            "seed": rules.seed if rules.is_random else None,
            "means": {
                label: dict(zip(self.names, sample.means.tolist(), strict=True))
                for label, sample in self.experiment.samples.items()
            },
            "differences": [difference.to_dict() for difference in self],
            "remarks": self.remarks(),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write to a file, as its name ends or as `format` says: txt, md, tex, html, csv, tsv, json, jsonl, parquet."""
        from rankstone.results.export import result_format, write_answer

        write_answer(self, path, result_format(path, format), {})

    def report(self) -> str:
        """A page to look at: answers, pictures, queries, definitions; one file of HTML, which asks nobody."""
        from rankstone.compare.report import report_of

        return report_of(self.experiment)

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.render("markdown")

    def to_latex(self) -> str:
        """A table for a paper: the means, best ones in bold, a dagger where a run is better than the baseline."""
        return self.render("latex")


# -- from results --------------------------------------------------------------------------------------------


def compare_results(given: object, metrics: Metrics | None = None, **options: Value) -> Comparison:
    """Results by name, compared: `rs.compare` where nothing is left to evaluate."""
    for name, value in options.items():
        if name not in (*Rules._fields, *_OPTIONS) and value is not None:
            raise TypeError(f"{name}= goes with a truth and runs; results have been made already")
    systems = _results_by_name(given)
    (name, (first, *_)), *_ = systems.items()
    labels = _shared([result for results in systems.values() for result in results], metrics)
    for other, results in systems.items():
        for result in results:
            if result is first:
                continue
            for label in labels:
                _check_same_definition(first, result, label, (name, other))
            _check_same_truth(first, result, (name, other))
    return compare_systems(systems, labels, **{name: value for name, value in options.items() if value is not None})


def _check_same_definition(first: Result, other: Result, label: str, names: tuple[str, str]) -> None:
    """Stop if a metric is not the same number in two results."""
    measured = first.measurement, other.measurement
    if all(one.has_lists for one in measured) and measured[0].plan(label) == measured[1].plan(label):
        return  # definitions take time to write
    for name, (ours, theirs) in first.definitions[label].differences(other.definitions[label]).items():
        raise ValueError(
            f"{label} is not the same number in both: {name} is {ours!r} in {names[0]}, {theirs!r} in {names[1]}"
        )


def _check_same_truth(first: Result, other: Result, names: tuple[str, str]) -> None:
    """Stop if two results have different truths."""
    if first.measurement.same_truth(other.measurement) or first.inputs["truth"] == other.inputs["truth"]:
        return
    ours, theirs = ids_alike([first.queries, other.queries])
    for these, those, which in ((ours, theirs, names[1]), (theirs, ours, names[0])):
        known = set(those)
        lost = [query for query in these if query not in known]
        if lost:
            raise ValueError(f"the truths differ: {which} lacks {queries(len(lost))}, such as {lost[0]!r}")
    raise ValueError("the truths differ: the same queries, but with other grades")


_OPTIONS = ("baseline", "by", "clusters", "origin", "command")


def compare_systems(
    systems: Mapping[str, Sequence[Result]],
    labels: Sequence[str],
    *,
    baseline: str | None = None,
    by: str | Groups | None = None,
    clusters: str | Groups | None = None,
    origin: Origin | None = None,
    command: str = "",
    **rules: Value,
) -> Comparison:
    """Results of the same metrics and the same truth, compared by some `Rules`."""
    names = list(systems)
    if len(names) < 2:
        raise ValueError(f"there is one run only, {names[0]!r}; a comparison needs two")
    if baseline is None and len(names) == 2:
        baseline = names[0]
    if baseline is not None and baseline not in names:
        raise ValueError(f"baseline={baseline!r} is none of the runs: {', '.join(map(repr, names))}")
    made = make_rules(rules, baseline, labels)
    clusters, by = (_column(origin, given, what) for given, what in ((clusters, "clusters"), (by, "by")))
    paired = Paired(systems, clusters)
    for trait, value in (("clusters", clusters), ("population", made.population)):
        if value is not None:
            made.require(trait, f"{trait}=")
    for label in labels:
        plan = paired.first.plan_of(label)
        if plan.of_all_lists or (plan.is_pooled and len(paired.queries) > plan.jackknife_groups):
            made.require("clusters", f"groups of lists, which are left out in turn to compare {label}")
    return Comparison(Experiment(paired, tuple(labels), baseline, made, by, origin, command))


def _results_by_name(given: object) -> dict[str, tuple[Result, ...]]:
    """Results by their runs' names, in a tuple each."""
    wanted = "give runs=, or a dict of results by name: rs.compare({'old': result, 'new': other})"
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"there is nothing to compare with; {wanted}")
    systems = {}
    for name, value in given.items():
        several = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        for one in several:
            if not hasattr(one, "measurement"):
                raise TypeError(f"{name!r} is {type(one).__name__}, not a result; {wanted}")
        systems[str(name)] = several
    return systems


def _shared(results: Sequence[Result], metrics: Metrics | None) -> list[str]:
    """The metrics that all results have, or those that are asked for."""
    if metrics is not None:
        return [label_of(metric, result) for metric in parse_all(metrics) for result in results][:: len(results)]
    both = [label for label in results[0] if all(label in result for result in results[1:])]
    if not both:
        raise ValueError(f"no metric in common: {' and '.join(dict.fromkeys(', '.join(result) for result in results))}")
    return both


def _column(origin: Origin | None, given: Any, what: str) -> Any:
    """Groups as they are given, or a column of the truth."""
    if not isinstance(given, str):
        return given
    if origin is None:
        raise ValueError(f"{what}={given!r}: results have no columns; give a dict by query")
    return origin.column(given)
