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
from rankstone.compare.comparison import Comparison, compare_results, compare_systems
from rankstone.compare.config import Groups, Test
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.arrow import is_spark
from rankstone.data.columns import Columns, with_subtopics
from rankstone.data.files import all_same_ids, is_large, is_path
from rankstone.data.loaders import groups_of, opened
from rankstone.data.roles import roles_of
from rankstone.data.tables import queried
from rankstone.evaluate.evaluate import evaluate
from rankstone.evaluate.pipeline import given_beside, made_of
from rankstone.explain.explain import explain
from rankstone.metrics.registry import ByName, Value, parse_all, parse_one
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Array, Column, Metrics, Numbers, Parent, Roles, Run, Stock, Truth, Weights

_BEFORE = ("query", "exclude", "parent", "overlap")  # what makes the lists others than those that were given


def compare(
    truth: Truth | Mapping[str, Result | Sequence[Result]] | None = None,
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
    given: dict[str, Any] = {
        "mask": mask, "lengths": lengths, "groups": groups, "query": query, "exclude": exclude, "columns": columns,
        "parent": parent, "overlap": overlap,
    }  # fmt: skip
    known: dict[str, Any] = {"catalogue": catalogue, "history": history, "reference": reference}
    rules: dict[str, Any] = {
        "baseline": baseline, "by": by, "clusters": clusters, "test": test, "correction": correction,
        "confidence": confidence, "margin": margin, "primary": primary, "resamples": resamples, "seed": seed,
        "population": population, "threads": threads,
    }  # fmt: skip
    if runs is None:
        return compare_results(truth, metrics, **rules, **given, **known, weights=weights, **choices)
    named = _named(runs)
    metrics = DEFAULT_METRICS if metrics is None else metrics
    beside, made = given_beside(**known, metrics=metrics, choices=choices)  # files are read once
    plans = make_plans(metrics, convention, made)
    if is_path(truth) and any("subtopic" in plan.notes for plan in plans):  # also where others look again
        read = opened(truth, "truth", columns, next(iter(named.values()))[0])
        truth = with_subtopics(read) if isinstance(read, Columns) else truth
    known = made_of(beside, None if beside is None else beside.reference, catalogue)
    origin = Origin(truth, named, {**given, **known, "convention": convention, "threads": threads, **choices})
    systems = origin.evaluate(metrics, weights)
    return compare_systems(systems, [plan.label for plan in plans], origin=origin, **rules)


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


def _named(runs: Any) -> dict[str, tuple[Any, ...]]:
    """The runs by name, in a tuple each."""
    if isinstance(runs, Mapping):
        for name, run in runs.items():
            if isinstance(run, Result):
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
