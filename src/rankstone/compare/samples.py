"""Runs compared as independent samples: each has its own queries, or users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankstone.compare.comparison import Comparison
from rankstone.compare.config import Groups, make_rules
from rankstone.compare.differences import Experiment
from rankstone.errors import InputError
from rankstone.evaluate.variants import Past, Rows, SampleRules, VariantComparison
from rankstone.results.answer import Answer
from rankstone.results.definition import Definitions, groups_in_order
from rankstone.results.result import Result


class SamplesComparison(Comparison):
    """Two runs on different queries compared, by Welch's test: `comparison["B", "rr"]` is a `VariantDifference`."""

    def __init__(self, variants: VariantComparison) -> None:
        self._variants = variants
        self._records: Any = variants.differences

    @property
    def _experiment(self) -> Experiment:  # type: ignore[override]
        raise InputError("this is about runs on the same queries; these are independent samples")

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """The difference of a metric."""
        names = [name for name in (key if isinstance(key, tuple) else (key,)) if name not in self.runs]
        if len(names) != 1:
            raise KeyError(f"{key!r}: name a metric")
        return self._variants[names[0]]

    @property
    def baseline(self) -> str:
        """The run that the other is compared with."""
        return self._variants.baseline

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of both runs."""
        return self._variants.baseline, self._variants.run

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(of.metric for of in self._variants)

    @property
    def definitions(self) -> Definitions:
        """Definition of each metric, by its name."""
        return Definitions(self._variants.definitions)

    @property
    def verdicts(self) -> dict[tuple[str, ...], str]:
        """Verdicts by run and metric."""
        return {(of.run, of.metric): of.verdict for of in self._variants}

    @property
    def caveats(self) -> Any:
        """What limits the validity, such as a sample-ratio mismatch."""
        return self._variants.caveats

    @property
    def headline(self) -> str:
        """The verdicts in a line."""
        return "; ".join(f"{of.run} than {of.baseline} on {of.metric}: {of.verdict}" for of in self._variants)

    @property
    def _summary(self) -> Answer:
        return self._variants._answer()

    def _columns(self) -> dict[str, Any]:
        return dict(self._variants._columns())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the differences, the caveats and the definitions."""
        return self._variants.to_dict()


def compare_samples(
    systems: Mapping[str, Sequence[Result]],
    labels: Sequence[str],
    baseline: str | None,
    clusters: Groups | None,
    before: Past | None,
    confidence: float,
    anytime: bool | int,
) -> SamplesComparison:
    """Compare two results as independent samples."""
    if len(systems) != 2:
        raise InputError(f"independent=True compares two runs; there are {len(systems)}")
    if baseline is not None and baseline not in systems:
        raise InputError(f"baseline={baseline!r} is none of the runs: {', '.join(map(repr, systems))}")
    names = sorted(systems, key=lambda name: name != baseline)  # the baseline first
    for name in (name for name in names if len(systems[name]) > 1):
        raise InputError(f"{name} has several runs; independent=True compares two single ones")
    first, second = (systems[name][0] for name in names)
    plans = {label: first._measurement.plan(label) for label in labels}
    whole = [label for label, plan in plans.items() if plan.is_pooled or plan.averaging.logarithms]
    samples = {
        label: (_rows(first, label, clusters), _rows(second, label, clusters)) for label in labels if label not in whole
    }
    options = make_rules({"confidence": confidence, "anytime": anytime}, names[0], labels)
    tuning = options.tuning if options.anytime else None
    sample_rules = SampleRules(options.confidence, tuning, before)
    definitions = {label: first.definitions[label] for label in samples}
    unit = "queries" if clusters is None else "clusters"
    return SamplesComparison(VariantComparison((names[0], names[1]), samples, sample_rules, definitions, unit, whole))


def _rows(result: Result, label: str, clusters: Groups | None) -> Rows:
    """What the queries of a run add to a metric; judged queries that it lacks belong to the other run."""
    shares, present = result._measurement.shares(label), result._measurement.present
    counted = shares.counted if present is None else shares.counted & present
    places = np.flatnonzero(counted).tolist()
    queries: list[Any] = [result.queries[at] for at in places]
    units = queries if clusters is None else groups_in_order(clusters, queries, "clusters")
    return Rows(shares.top[counted], shares.bottom[counted], units)
