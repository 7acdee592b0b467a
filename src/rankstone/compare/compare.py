"""`compare`: evaluates several runs, or reads their results, and returns a `Comparison`."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rankstone import statistics
from rankstone.compare.caveats import UNCUT
from rankstone.compare.comparison import Comparison, compare_results, compare_systems, named_results
from rankstone.compare.config import Groups, Test
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.arrow import is_spark
from rankstone.data.columns import Columns, with_subtopics
from rankstone.data.files import all_same_ids, is_large, is_path
from rankstone.data.loaders import groups_of, opened
from rankstone.data.roles import roles_of
from rankstone.data.source import Source
from rankstone.errors import Advice, Hint, InputError, InputTypeError, is_finite, naming_run, show
from rankstone.evaluate.evaluate import evaluate
from rankstone.evaluate.pipeline import open_source, resolve_side_info, side_info_arguments
from rankstone.explain.explain import explain_sources
from rankstone.metrics.registry import ByName, Value, parse_all, parse_one
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.evaluate.variants import Past
    from rankstone.typing import (
        Array,
        CatalogueLike,
        Column,
        ColumnRoles,
        Metrics,
        Numbers,
        Parent,
        Path,
        Run,
        Truth,
        Weights,
    )

_TRANSFORMS = ("query", "exclude", "parent", "overlap")  # keywords that change the lists before evaluation


def compare(
    truth: Truth | Mapping[str, Result | Sequence[Result]] | None = None,
    runs: Mapping[str, Run | Sequence[Run]] | Sequence[Run] | None = None,
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    test: Test = "t",
    anytime: bool | int = False,
    correction: str | None = None,
    confidence: float = 0.95,
    margin: float | Mapping[str, float] | None = None,
    by: str | Groups | None = None,
    clusters: str | Groups | None = None,
    weights: Weights | None = None,
    primary: Metrics | None = None,
    resamples: int | None = None,
    seed: int = 0,
    population: int | None = None,
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    queries: Column | Path | None = None,
    exclude: Truth | None = None,
    exclude_from_truth: bool = False,
    parent: Parent | None = None,
    overlap: float | None = None,
    catalogue: CatalogueLike | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    bounds: bool = False,
    independent: bool = False,
    before: Past | None = None,
    machine: Truth | None = None,
    drawn_at_random: bool = False,
    threads: int = 0,
    **choices: Value,
) -> Comparison:
    """Compare runs on the same queries: differences of means, intervals, p-values and verdicts.

    Metrics over all lists at once, such as coverage, are compared by the jackknife over groups of lists. They need no
    truth: `rs.compare(runs=runs, metrics="coverage@10", catalogue=ids)`.

    Parameters
    ----------
    truth : dict, table, file or dict of Result, optional
        The truth, as in `rs.evaluate`. Without `runs`: results by name, new ones or from `rs.read_result`; or several
        collections, `{"robust": (truth, runs), "dl19": (truth, runs)}`, followed by the metrics.
    runs : dict or list of files, optional
        Runs by name, as in `rs.evaluate`. A list of runs under one name is one system: its seeds, or its folds.
    metrics : str, Metric or list, optional
        The metrics; by default those of `rs.evaluate`, or all that the results have in common.
    baseline : str, optional
        The run that all others are compared with. By default all pairs, and of two runs the first is the baseline.
    test : str or callable, default "t"
        One of `rs.statistics.TESTS`: "t" (paired t-test), "randomization" (sign flips), "wilcoxon" or "sign"; or a
        function of the values of two runs that returns p.
    anytime : bool or int, default False
        Intervals and p-values that hold at every look, while queries keep coming: asymptotic confidence sequences,
        narrowest at 500 queries, or at the number that is given.
    correction : str, optional
        One of `rs.statistics.CORRECTIONS`, for the number of runs and metrics. By default "holm" with a baseline and
        "westfall_young" for all pairs.
    confidence : float, default 0.95
        Confidence level of intervals and verdicts.
    margin : float or dict, optional
        Smallest difference that matters, in the metric's unit, or by metric. Enables the verdict "equivalent".
    by : str, dict or sequence, optional
        Group of each query, for differences per group: a column of the truth, by query id, or in order.
    clusters : str, dict or sequence, optional
        Cluster of each query, where queries are not independent (turns of a conversation, users); as `by`.
    weights : dict, sequence or str, optional
        Weight of each query, for weighted means; as in `rs.evaluate`.
    primary : str, Metric or list, optional
        Metrics that get a verdict and count for the correction; by default all.
    resamples : int, optional
        Number of random sign patterns, for tests and corrections that resample: 100,000, and for more than 1,000 pairs
        of runs and metrics fewer, but at least 10,000.
    seed : int, default 0
        Random seed.
    population : int, optional
        Number of queries in the population, if it is finite and these are a sample of it.
    convention : str or Convention, default "rankstone"
        The definitions of metrics; see `rs.conventions`.
    columns : dict, optional
        Names of columns, as in `rs.evaluate`.
    mask : array, optional
        For arrays: which places hold an item.
    lengths : array, optional
        For arrays: the length of each list.
    groups : array, optional
        For flat arrays: the number of rows per query.
    query : str or array, optional
        For flat arrays and tables: the query of each row.
    queries : ids or path, optional
        Evaluate these queries only: their ids, or a file with one id per line.
    exclude : dict, table, file or "self", optional
        Training items, which are removed before ranking; "self" is the item with the query's id.
    exclude_from_truth : bool, default False
        Remove the excluded items from the truth, too (residual collection); otherwise relevant ones still count as
        relevant.
    parent : dict, callable or str, optional
        The document of each passage; passages are merged into their documents.
    overlap : float, optional
        For text spans: the overlap from which an item of the run matches one of the truth.
    catalogue : table, list or int, optional
        All items, or their number, for metrics beyond accuracy.
    history : dict, table or file, optional
        Training interactions, for novelty and popularity.
    reference : run, optional
        A reference run, for metrics such as serendipity.
    bounds : bool, default False
        Also compute the lowest and highest difference over all grades of the unjudged items, `difference.bounds`.
    independent : bool, default False
        The two runs have different queries, such as the users of two variants of an A/B test: Welch's test instead of
        a paired one.
    before : mapping, optional
        With `independent`: a value from before the experiment for each query, or cluster, which explains a part of the
        variance (CUPED).
    machine : truth-like, optional
        A machine's labels of all queries, where the truth has human labels of a random part of them: differences are
        estimated from both (prediction-powered inference).
    drawn_at_random : bool, default False
        For `machine`: vouch that the queries of the truth are a random part, where the data speaks against it.
    threads : int, default 0
        Number of threads; 0 uses all cores. Results do not depend on it.
    **choices
        Choices that differ from the convention, such as `ties="expected"`; see `rs.choices`.

    Returns
    -------
    Comparison
        Of several collections a `CollectionsComparison`, with the difference on each of them and on all; of independent
        samples a `SamplesComparison`.

    Examples
    --------
    >>> truth = {"u1": {"a": 1}, "u2": {"b": 1}, "u3": {"c": 1}}
    >>> runs = {"old": {"u1": ["x", "a"], "u2": ["b"], "u3": ["y", "z", "c"]}, "new": {q: [*truth[q]] for q in truth}}
    >>> rs.compare(truth, runs, "rr")["new", "rr"].wins
    2
    """
    inputs: dict[str, Any] = {
        "mask": mask, "lengths": lengths, "groups": groups, "query": query, "queries": queries,
        "exclude": exclude, "exclude_from_truth": exclude_from_truth or None, "columns": columns, "parent": parent,
        "overlap": overlap,
    }  # fmt: skip
    side: dict[str, Any] = {"catalogue": catalogue, "history": history, "reference": reference}
    rules: dict[str, Any] = {
        "baseline": baseline, "by": by, "clusters": clusters, "test": test, "correction": correction,
        "confidence": confidence, "margin": margin, "primary": primary, "resamples": resamples, "seed": seed,
        "population": population, "threads": threads, "anytime": anytime or None,
    }  # fmt: skip
    if machine is not None and (independent or runs is None or _is_collections(truth)):
        raise InputTypeError("machine= goes with a truth and runs: paired, on one collection, and not evaluated yet")
    if before is not None and not independent:
        raise InputTypeError("before= goes with independent=True: queries of paired runs are their own past")
    if _is_collections(truth):
        from rankstone.compare.collections import compare_collections  # which few calls need

        if runs is not None and metrics is not None:
            raise InputTypeError("runs= are in the collections: rs.compare({'robust': (truth, runs), ...}, metrics)")
        wanted: Any = metrics if runs is None else runs
        more: Any = {**rules, **inputs, **side, "exclude_from_truth": exclude_from_truth, **choices}

        def of_one(collection: Any, correction: str) -> Comparison:
            options: Any = {**more, "correction": correction, "convention": convention, "weights": weights}
            return compare(collection[0], collection[1], wanted, **options, bounds=bounds)

        return compare_collections(truth, of_one, correction)  # type: ignore[arg-type]
    if runs is None and independent:
        from rankstone.compare.samples import compare_samples

        systems, labels = named_results(truth, metrics)
        return compare_samples(systems, labels, baseline, clusters, before, confidence, anytime)
    if runs is None:
        return compare_results(
            truth, metrics, **rules, **inputs, **side, weights=weights, bounds=bounds or None, **choices
        )
    named = _named(runs)
    if not named:
        raise InputError("there is no run; a comparison needs two")
    metrics = DEFAULT_METRICS if metrics is None else metrics
    side_info, chosen = resolve_side_info(**side, metrics=metrics, choices=choices)  # files are read once
    plans = make_plans(metrics, convention, chosen)
    if is_path(truth) and any("subtopic" in plan.annotations for plan in plans):  # for caveats and explanations, too
        read = opened(truth, "truth", columns, next(iter(named.values()))[0])
        truth = with_subtopics(read) if isinstance(read, Columns) else truth
    side = side_info_arguments(side_info, None if side_info is None else side_info.reference, catalogue)
    origin = InputOrigin(truth, named, {**inputs, **side, "convention": convention, "threads": threads, **choices})
    systems = origin.evaluate(metrics, weights, bounds)
    if independent:
        from rankstone.compare.samples import compare_samples

        own: Any = origin.column(clusters) if isinstance(clusters, str) else clusters
        labels = [plan.label for plan in plans]
        return compare_samples(systems, labels, baseline, own, before, confidence, anytime)
    if machine is not None:
        if weights is not None or bounds:
            raise InputError(
                Advice(Hint("bounds" if bounds else "weights"), " does not go with ", Hint("machine", ...))
            )
        rules |= {"machine": replace(origin, truth=machine).evaluate(metrics), "drawn_at_random": drawn_at_random}
    return compare_systems(systems, [plan.label for plan in plans], origin=origin, **rules)


_SIDE_INFO = ("catalogue", "history", "reference")
_ARRAYS = ("mask", "lengths", "groups")
_FORMS = ("mask", "lengths", "groups", "columns")  # keywords about the form of the data
# Keywords that are no choices.
_ARGUMENTS = (*_TRANSFORMS, *_SIDE_INFO, *_FORMS, "queries", "exclude_from_truth", "convention", "threads")


@dataclass(frozen=True, eq=False)
class InputOrigin:
    """The input of the results: the truth, the runs, and the keywords of `evaluate`."""

    truth: Any
    runs: Mapping[str, tuple[Any, ...]]
    how: Mapping[str, Any]  # keywords of `evaluate`
    _judged: dict[tuple[str, ...], dict[str, tuple[Result, ...]]] = field(default_factory=dict)
    _sources: dict[tuple[str, str], Sequence[Source]] = field(default_factory=dict)  # of two runs

    def evaluate(
        self, metrics: Metrics, weights: Weights | None = None, bounds: bool = False
    ) -> dict[str, tuple[Result, ...]]:
        """The results of each system."""
        truth, how = self.truth, dict(self.how)
        if all(metric.declaration.reads == "ranking" for metric in parse_all(metrics)):
            how = {name: value for name, value in how.items() if name not in _SIDE_INFO or isinstance(value, Integral)}
        every = [run for several in self.runs.values() for run in several]
        if is_path(truth) and all(map(is_path, every)):  # read once
            columns = how["columns"]
            truth = opened(truth, "truth", columns, every[0])
            how["columns"] = {"run": roles_of(columns, "run", several=True)} if columns else None
        results = {}
        for name, several in self.runs.items():
            with naming_run(name):
                results[name] = tuple(
                    evaluate(truth, run, metrics, weights=weights, bounds=bounds, **how) for run in several
                )
        return results

    def judged(self, *labels: str) -> dict[str, tuple[Result, ...]] | None:
        """Judged rates of each system; None where evaluating again is slow or impossible."""
        if self._is_long or self.truth is None:
            return None
        if labels not in self._judged:
            self._judged[labels] = self.evaluate(labels)
        return self._judged[labels]

    @cached_property
    def _is_long(self) -> bool:
        """Whether evaluating again is slow or impossible."""
        sides = (self.truth, *(run for several in self.runs.values() for run in several))
        return any(is_large(side) or side == "-" if is_path(side) else is_spark(side) for side in sides)

    def explains(self, metric: str, *names: str) -> bool:
        """Whether `explain` supports the metric and these runs."""
        if parse_one(metric).declaration.reads == "recommendations":
            return False
        single = all(len(self.runs[name]) == 1 for name in names)
        if self._is_long or self.truth is None:
            return False
        return single and all(self.how.get(name) is None for name in _TRANSFORMS)

    def sides_of(self, names: tuple[str, str]) -> list[Any]:
        """The truth and two runs as they are evaluated, for another evaluation of changed labels."""
        for name in names:
            if len(self.runs[name]) > 1:
                raise InputError(f"{name} has several runs; compare two of them")
        for name in (name for name in (*_TRANSFORMS, "queries", *_ARRAYS) if self.how.get(name) is not None):
            raise InputError(f"labels cannot be changed after {name}=; pass the lists after that step")
        truth, *runs = self._sides(names)
        columns = self.how["columns"]
        return [opened(truth, "truth", columns), *(opened(run, "run", columns, truth) for run in runs)]

    def explain(self, names: tuple[str, str], metric: str, query: Hashable) -> Any:
        """The items of a query that moved between two runs."""
        for name in names:
            if len(self.runs[name]) > 1:
                raise InputError(f"{name} has several runs; explain two: rs.explain(truth, (a, b), {metric!r}, ...)")
        for name in (name for name in _TRANSFORMS if self.how.get(name) is not None):
            raise InputError(f"explain takes no {name}=; give it the lists after that step")
        choices = {name: value for name, value in self.how.items() if name not in _ARGUMENTS}
        convention = self.how.get("convention", "rankstone")
        return explain_sources(2, lambda: self._opened(names), metric, query, convention, choices)

    def _opened(self, names: tuple[str, str]) -> Sequence[Source]:
        """The truth with each of two runs, opened once."""
        if names not in self._sources:
            truth, *runs = self._sides(names)
            options: Any = {name: self.how[name] for name in _FORMS if name in self.how}
            self._sources[names] = [open_source(truth, run, **options) for run in runs]
        return self._sources[names]

    def _sides(self, names: tuple[str, str]) -> list[Any]:
        """The truth and two runs; files are read."""
        sides = [self.truth, *(self.runs[name][0] for name in names)]
        if not all(map(is_path, sides)):
            return sides
        columns = self.how["columns"]
        truth: Any = opened(sides[0], "truth", columns, sides[1])
        runs: list[Any] = [opened(run, "run", columns, sides[0]) for run in sides[1:]]
        return all_same_ids(truth, runs)

    def column(self, name: str) -> dict[Any, Hashable]:
        """The value of each query in a column of the truth."""
        return groups_of(self.truth, name, self.how["columns"])


def judged_rate(metrics: Metrics, convention: str | Convention, choices: ByName) -> list[str]:
    """Judged rates at the cutoffs of the metrics, to evaluate where the runs are not available later."""
    plans = make_plans(metrics, convention, choices)
    cuts = {plan.arguments.get("k") or UNCUT for plan in plans if plan.metric.declaration.kind == "ranking"}
    return [label for k in sorted(cuts) if (label := f"judged@{k}") not in {plan.label for plan in plans}]


def _is_collections(truth: object) -> bool:
    """Whether it is a truth and runs per collection: `{"robust": (truth, runs), ...}`."""
    return isinstance(truth, Mapping) and bool(truth) and all(
        isinstance(pair, tuple) and len(pair) == 2 and not isinstance(pair[0], Result)
        and (isinstance(pair[1], Mapping) or (isinstance(pair[1], list) and all(map(is_path, pair[1]))))
        for pair in truth.values()
    )  # fmt: skip


def _named(runs: Any) -> dict[str, tuple[Any, ...]]:
    """A tuple of runs per name."""
    if isinstance(runs, Mapping):
        for name, run in runs.items():
            if isinstance(run, Result):
                raise InputTypeError(
                    f"runs[{name!r}] is a result; leave the truth out: rs.compare({{name: result, ...}})"
                )
            if isinstance(run, (list, tuple)) and not run:
                raise InputError(f"runs[{name!r}] is empty; give a run, or a list of the runs of several seeds")
            if _is_list(run):
                raise InputTypeError(
                    f"runs[{name!r}] is one list of items; give runs by name: runs={{'mine': run, ...}}"
                )
        return {str(name): tuple(run) if isinstance(run, (list, tuple)) else (run,) for name, run in runs.items()}
    if not isinstance(runs, (list, tuple)) or not all(map(is_path, runs)):
        raise InputTypeError("runs= is a dict of runs by name, or a list of files")
    basenames = [os.path.basename(os.fspath(run)) for run in runs]
    names = basenames if len(set(basenames)) == len(basenames) else [os.fspath(run) for run in runs]
    if len(set(names)) < len(names):
        raise InputError(f"a file is there twice: {', '.join(names)}")
    return {name: (run,) for name, run in zip(names, runs, strict=True)}


def _is_list(run: Any) -> bool:
    """Whether it is the list of a single query instead of a run."""
    if isinstance(run, Mapping):
        return any(isinstance(score, (int, float)) for score in run.values())
    return isinstance(run, (list, tuple)) and any(
        isinstance(item, (int, float)) or (isinstance(item, str) and not os.path.exists(item)) for item in run
    )


def sample_size(difference: float, deviation: float, power: float = 0.8, confidence: float = 0.95) -> int:
    """Number of queries needed to detect a true difference, for planning an experiment.

    Parameters
    ----------
    difference : float
        Difference of the two means, in the metric's unit.
    deviation : float
        Standard deviation of the per-query differences; typically 0.2 to 0.3 for nDCG@10, 0.3 to 0.5 for the
        reciprocal rank.
    power : float, default 0.8
        Probability of detecting it.
    confidence : float, default 0.95
        Confidence level of the two-sided test.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the difference or the deviation is 0.

    Examples
    --------
    >>> rs.sample_size(difference=0.01, deviation=0.27)
    5724
    """
    if not (is_finite(difference) and difference and is_finite(deviation) and deviation > 0):
        values = f"difference={show(difference)} and deviation={show(deviation)}"
        raise InputError(f"{values} must be numbers, and must not be 0")
    return int(statistics.sample_size(abs(difference) / deviation, power, 1 - confidence).whole)
