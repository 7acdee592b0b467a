"""`compare`: a truth and several runs in, or their results; a `Comparison` out."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rankstone import statistics
from rankstone.compare.caveats import UNCUT
from rankstone.compare.comparison import Comparison
from rankstone.compare.config import Groups, Rules, Test, default_correction
from rankstone.compare.pairing import PIECES, Paired
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.arrow import is_spark
from rankstone.data.columns import Columns, with_subtopics
from rankstone.data.files import all_same_ids, is_large, is_path
from rankstone.data.loaders import groups_of, opened
from rankstone.data.roles import roles_of
from rankstone.data.tables import queried
from rankstone.errors import Advice, Hint
from rankstone.evaluate.evaluate import evaluate
from rankstone.evaluate.pipeline import given_beside, made_of
from rankstone.explain.explain import explain
from rankstone.metrics.registry import ByName, Value, parse_all, parse_one
from rankstone.results.definition import label_of
from rankstone.results.result import Means, Result, check_same_definition, check_same_truth

if TYPE_CHECKING:
    from rankstone.typing import Array, Column, Metrics, Numbers, Parent, Roles, Run, Stock, Truth, Weights

_BEFORE = ("query", "exclude", "parent", "overlap")  # what makes the lists others than those that were given


def compare(
    truth: Truth | Mapping[str, Means | Sequence[Means]] | None = None,
    runs: Mapping[str, Run | Sequence[Run]] | Sequence[Run] | None = None,
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    test: Test = "t",
    correction: str | None = None,
    confidence: float = 0.95,
    margin: float | Mapping[str, float] | None = None,
    by: str | Groups | None = None,
    clusters: str | Groups | None = None,
    weights: Weights | None = None,
    primary: Metrics | None = None,
    resamples: int = 100_000,
    seed: int = 0,
    population: int | None = None,
    convention: str | Convention = "rankstone",
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    exclude: Truth | None = None,
    parent: Parent | None = None,
    overlap: float | None = None,
    catalogue: Stock | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    threads: int = 0,
    **choices: Value,
) -> Comparison:
    """Is one run better than another, by how much, and how sure is that.

    truth, runs: as `evaluate` takes them, the runs by name: `{"bm25": a, "neural": b}`, or a list of files. A list of
    runs under one name is one system with several seeds, or its folds. Instead of both: results by name, fresh or read
    from files, `rs.compare({"main": rs.read_result("main.json"), "mine": result})`. Queries are paired by id.

    baseline: the run that all others are compared with; without it, all pairs, and of two runs the second with the
    first. test: one of `rs.statistics.TESTS`, as "t" (paired t-test) or "flips" (randomisation test; exact where it can
    be), or a function of the two runs' values that gives p. correction, for the number of runs and metrics: one of
    `rs.statistics.CORRECTIONS`, by default "holm" with a baseline and "max_t" for all pairs. margin: the smallest
    difference that matters, in the metric's unit, or a dict by metric; a smaller one can be the `same`. primary:
    metrics that decide; the others are shown without a verdict.

    clusters: queries that are not independent, such as the turns of a talk: a dict by query, one for each query, or a
    column of the truth. by: groups to look at, given alike. weights: one a query, for weighted means. population: how
    many queries there are in all, if these are a sample of them. All else is as in `evaluate`. A metric of all lists at
    once, such as coverage, is compared by leaving out the same groups of lists of both runs; it needs no truth:
    `rs.compare(runs=runs, metrics="coverage@10", catalogue=ids)`.

    >>> truth = {"u1": {"a": 1}, "u2": {"b": 1}, "u3": {"c": 1}}
    >>> runs = {"old": {"u1": ["x", "a"], "u2": ["b"], "u3": ["y", "z", "c"]}, "new": {q: [*truth[q]] for q in truth}}
    >>> rs.compare(truth, runs, "rr")["new", "rr"].wins
    2
    """
    doors: dict[str, Any] = {
        "mask": mask, "lengths": lengths, "groups": groups, "query": query, "exclude": exclude, "columns": columns,
        "parent": parent, "overlap": overlap,
    }  # fmt: skip
    known: dict[str, Any] = {"catalogue": catalogue, "history": history, "reference": reference}
    origin = None
    systems: Mapping[str, Sequence[Means]]
    if runs is None:
        _refuse_more({**doors, **known}, weights, choices)
        systems = results_by_name(truth)
        labels = _shared(systems, metrics)
        _refuse_unlike(systems, labels)
    else:
        named = _named(runs)
        metrics = DEFAULT_METRICS if metrics is None else metrics
        beside, made = given_beside(**known, metrics=metrics, choices=choices)  # files are read once
        plans = make_plans(metrics, convention, made)
        labels = [plan.label for plan in plans]
        if is_path(truth) and any("subtopic" in plan.notes for plan in plans):  # also where others look again
            read = opened(truth, "truth", columns, next(iter(named.values()))[0])
            truth = with_subtopics(read) if isinstance(read, Columns) else truth
        known = made_of(beside, None if beside is None else beside.reference, catalogue)
        origin = Origin(truth, named, {**doors, **known, "convention": convention, "threads": threads, **choices})
        systems = origin.evaluate(metrics, weights)
    names = list(systems)
    if baseline is None and len(names) == 2:
        baseline = names[0]
    _check(names, baseline, test, correction, confidence, resamples)
    deciding = None if primary is None else _primary(primary, labels)
    margins = _margins(margin, labels)
    rules = Rules(
        test, correction or default_correction(baseline), confidence, margins, deciding, resamples, seed, population,
        threads,
    )  # fmt: skip
    if isinstance(clusters, str):
        clusters = _column(origin, clusters, "clusters")
    if isinstance(by, str):
        by = _column(origin, by, "by")
    paired = Paired(systems, clusters)
    for trait, value in (("clusters", clusters), ("population", population)):
        if value is not None:
            rules.require(trait, f"{trait}=")
    for label in labels:
        plan = paired.first.plan_of(label)
        if plan.of_all_lists or (plan.is_pooled and len(paired.queries) > PIECES):
            rules.require("clusters", f"groups of lists, which are left out in turn to compare {label}")
    return Comparison(paired, labels, baseline, rules, origin, by)


_BESIDE = ("catalogue", "history", "reference")


@dataclass(frozen=True, eq=False)
class Origin:
    """What the results came from: the truth, the runs, and how they were read."""

    truth: Any
    runs: Mapping[str, tuple[Any, ...]]
    how: Mapping[str, Any]  # keywords of `evaluate`
    _seen: dict[tuple[str, ...], dict[str, tuple[Result, ...]]] = field(default_factory=dict)
    _read: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def evaluate(self, metrics: Metrics, weights: Weights | None = None) -> dict[str, tuple[Result, ...]]:
        """The results of each system."""
        truth, how = self.truth, dict(self.how)
        if all(metric.declaration.reads == "ranking" for metric in parse_all(metrics)):
            how = {name: value for name, value in how.items() if name not in _BESIDE or isinstance(value, Integral)}
        if isinstance(truth, str):
            truth = queried(truth)
        every = [run for several in self.runs.values() for run in several]
        if is_path(truth) and all(map(is_path, every)):  # read once
            columns = how["columns"]
            truth = opened(truth, "truth", columns, every[0])
            how["columns"] = {"run": roles_of(columns, "run")} if columns else None
        return {
            name: tuple(evaluate(truth, run, metrics, weights=weights, **how) for run in several)
            for name, several in self.runs.items()
        }

    def judged(self, *labels: str) -> dict[str, tuple[Result, ...]] | None:
        """How much of what each system returned is judged; None where looking again takes long, or cannot be done."""
        if self._is_long or self.truth is None:
            return None
        if labels not in self._seen:
            self._seen[labels] = self.evaluate(labels)
        return self._seen[labels]

    @cached_property
    def _is_long(self) -> bool:
        """Does looking again take long, or can it not be done."""
        sides = (self.truth, *(run for several in self.runs.values() for run in several))
        return any(is_large(side) or side == "-" if is_path(side) else is_spark(side) for side in sides)

    def explains(self, metric: str, *names: str) -> bool:
        """Can it be told which items moved between these runs, and what that made of a metric."""
        if parse_one(metric).declaration.reads == "shown":
            return False
        single = all(len(self.runs[name]) == 1 for name in names)
        if self._is_long or self.truth is None:
            return False
        return single and all(self.how.get(name) is None for name in _BEFORE)

    def explain(self, names: tuple[str, str], metric: str, query: Any) -> Any:
        """Which items moved between two runs."""
        for name in names:
            if len(self.runs[name]) > 1:
                raise ValueError(f"{name} has several runs; explain two: rs.explain(truth, (a, b), {metric!r}, ...)")
        how = {name: value for name, value in self.how.items() if name not in (*_BEFORE, *_BESIDE)}
        for name in (name for name in _BEFORE if self.how.get(name) is not None):
            raise ValueError(f"explain takes no {name}=; give it the lists as they are measured")
        truth, first, second = self._sides(names)
        if all(isinstance(side, Mapping) for side in (truth, first, second)):  # one query is enough, and quicker
            truth, first, second = (_only(side, query) for side in (truth, first, second))
        return explain(truth, (first, second), metric, query=query, **how)

    def _sides(self, names: tuple[str, str]) -> list[Any]:
        """The truth and two runs; files are read once."""
        sides = [self.truth, *(self.runs[name][0] for name in names)]
        if not all(map(is_path, sides)):
            return sides
        if names not in self._read:
            columns = self.how["columns"]
            truth: Any = opened(sides[0], "truth", columns, sides[1])
            runs: list[Any] = [opened(run, "run", columns, sides[0]) for run in sides[1:]]
            self._read[names] = all_same_ids(truth, runs)
        return self._read[names]

    def column(self, name: str) -> dict[Any, Hashable]:
        """Each query's value in a column of the truth."""
        return groups_of(self.truth, name, self.how["columns"])


def _only(side: Mapping[Any, Any], query: Any) -> dict[Any, Any]:
    return {query: side[query]} if query in side else {}


def judged_beside(metrics: Metrics, convention: str | Convention, choices: ByName) -> list[str]:
    """What to measure too, where the runs are not at hand later: how much is judged, as deep as the metrics look."""
    plans = make_plans(metrics, convention, choices)
    cuts = {plan.arguments.get("k") or UNCUT for plan in plans if plan.metric.declaration.kind == "ranking"}
    return [label for k in sorted(cuts) if (label := f"judged@{k}") not in {plan.label for plan in plans}]


def results_by_name(given: Any) -> dict[str, tuple[Means, ...]]:
    """Results by their runs' names, in a tuple each."""
    wanted = "give runs=, or a dict of results by name: rs.compare({'old': result, 'new': other})"
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"there is nothing to compare with; {wanted}")
    out = {}
    for name, value in given.items():
        several = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        for one in several:
            if not isinstance(one, Means):
                raise TypeError(f"{name!r} is {type(one).__name__}, not a result; {wanted}")
        out[str(name)] = several
    return out


def _named(runs: Any) -> dict[str, tuple[Any, ...]]:
    """The runs by name, in a tuple each."""
    if isinstance(runs, Mapping):
        for name, run in runs.items():
            if isinstance(run, Means):
                raise TypeError(f"runs[{name!r}] is a result; leave the truth out: rs.compare({{name: result, ...}})")
            if _is_list(run):
                raise TypeError(f"runs[{name!r}] is one list of items; give runs by name: runs={{'mine': run, ...}}")
        return {str(name): tuple(run) if isinstance(run, (list, tuple)) else (run,) for name, run in runs.items()}
    if not isinstance(runs, (list, tuple)) or not all(map(is_path, runs)):
        raise TypeError("runs= is a dict of runs by name, or a list of files")
    short = [os.path.basename(os.fspath(run)) for run in runs]
    names = short if len(set(short)) == len(short) else [os.fspath(run) for run in runs]
    if len(set(names)) < len(names):
        raise ValueError(f"a file is there twice: {', '.join(names)}")
    return {name: (run,) for name, run in zip(names, runs, strict=True)}


def _is_list(run: Any) -> bool:
    """Is it what a query has, not what a run is: items with scores, or items."""
    if isinstance(run, Mapping):
        return any(isinstance(score, (int, float)) for score in run.values())
    return isinstance(run, (list, tuple)) and any(
        isinstance(one, (int, float)) or (isinstance(one, str) and not os.path.exists(one)) for one in run
    )


def _shared(systems: Mapping[str, Sequence[Means]], metrics: Metrics | None) -> list[str]:
    """The metrics that all results have, or those that are asked for."""
    every = [result for results in systems.values() for result in results]
    if metrics is not None:
        return [label_of(metric, result) for metric in parse_all(metrics) for result in every][:: len(every)]
    both = [label for label in every[0] if all(label in result for result in every[1:])]
    if not both:
        raise ValueError(f"no metric in common: {' and '.join(dict.fromkeys(', '.join(result) for result in every))}")
    return both


def _refuse_unlike(systems: Mapping[str, Sequence[Means]], labels: Sequence[str]) -> None:
    """Stop at numbers that are not defined alike, or of other truths."""
    (name, (first, *_)), *_ = systems.items()
    for other, results in systems.items():
        for result in results:
            if result is first:
                continue
            for label in labels:
                check_same_definition(first, result, label, (name, other))
            check_same_truth(first, result, (name, other))


def _refuse_more(doors: Mapping[str, Any], weights: object, choices: Mapping[str, Any]) -> None:
    given = [name for name, value in {**doors, "weights": weights, **choices}.items() if value is not None]
    if given:
        raise TypeError(f"{given[0]}= goes with a truth and runs; results have been made already")


def _check(
    names: Sequence[str], baseline: str | None, test: Test, correction: str | None, confidence: float, resamples: int
) -> None:
    if len(names) < 2:
        raise ValueError(f"there is one run only, {names[0]!r}; a comparison needs two")
    if baseline is not None and baseline not in names:
        raise ValueError(f"baseline={baseline!r} is none of the runs: {', '.join(map(repr, names))}")
    if not callable(test) and test not in statistics.TESTS:
        raise ValueError(f"test={test!r}; choose from {', '.join(map(repr, statistics.TESTS))}, or give a function")
    if correction is not None and correction not in statistics.CORRECTIONS:
        raise ValueError(f"correction={correction!r}; choose from {', '.join(map(repr, statistics.CORRECTIONS))}")
    if not 0.5 <= confidence < 1:
        raise ValueError(Advice(Hint("confidence", confidence), "; give a number from 0.5 to 1, such as 0.95"))
    if resamples < 1:
        raise ValueError(Advice(Hint("resamples", resamples), "; give a whole number from 1"))


def _margins(margin: float | Mapping[str, float] | None, labels: Sequence[str]) -> float | dict[str, float] | None:
    for value in margin.values() if isinstance(margin, Mapping) else [margin]:
        if value is not None and not value > 0:
            raise ValueError(Advice(Hint("margin", value), "; give a number above 0, in the metric's unit"))
    if not isinstance(margin, Mapping):
        return margin
    return {label_of(name, dict.fromkeys(labels)): value for name, value in margin.items()}


def _primary(primary: Metrics, labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(label_of(metric, dict.fromkeys(labels)) for metric in parse_all(primary))


def _column(origin: Origin | None, name: str, what: str) -> dict[Any, Hashable]:
    if origin is None:
        raise ValueError(f"{what}={name!r}: results have no columns; give a dict by query")
    return origin.column(name)


def needed(difference: float, deviation: float, power: float = 0.8, confidence: float = 0.95) -> int:
    """How many queries find a true difference so often, before there is any data.

    difference: of the two means, in the metric's unit. deviation: the standard deviation of the queries' differences;
    of nDCG@10 it often is 0.2 to 0.3, of the reciprocal rank 0.3 to 0.5.

    >>> rs.needed(difference=0.01, deviation=0.27)
    5724
    """
    if not difference or not deviation > 0:
        raise ValueError(f"difference={difference!r} and deviation={deviation!r} must not be 0")
    return int(statistics.needed(abs(difference) / deviation, power, 1 - confidence).whole)
