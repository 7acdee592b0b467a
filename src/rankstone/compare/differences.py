"""Differences of means: how large they are, how sure, with a verdict for each, and how many queries would be needed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.compare.caveats import Doubt, caveats_of
from rankstone.compare.config import Groups, Rules
from rankstone.compare.pairing import Paired, Sample
from rankstone.metrics.registry import parse_one
from rankstone.results.definition import Definitions, groups_in_order, label_of
from rankstone.statistics.adjust import Correction, adjusted
from rankstone.statistics.paired import PairedSample, PairedTest
from rankstone.statistics.power import Effect, detectable, effect, needed, noncentral_power, wins_ties_losses
from rankstone.statistics.student import Student

if TYPE_CHECKING:
    from rankstone.compare.compare import Origin
    from rankstone.results.result import Result

_DIRECTIONS = {"higher": 1, "lower": -1, "neither": 0}


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is compared and how; the functions over a comparison read this."""

    paired: Paired
    labels: tuple[str, ...]
    baseline: str | None  # None: all pairs of runs
    rules: Rules
    by: Groups | None = None
    origin: Origin | None = None  # truth and runs, where they are at hand
    command: str = ""  # the line that made it, where it was made by the command
    _samples: dict[tuple[str, bytes], Sample] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the runs."""
        return tuple(self.paired.systems)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The runs that are compared, by number: the second with the first."""
        numbers = range(len(self.names))
        if self.baseline is None:
            return list(combinations(numbers, 2))
        first = self.names.index(self.baseline)
        return [(first, second) for second in numbers if second != first]

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """The values of all runs, by metric."""
        return {label: self.paired.sample(label) for label in self.labels}

    def sample(self, label: str, inside: Bools) -> Sample:
        """Those of some of the queries."""
        key = label, inside.tobytes()
        if key not in self._samples:
            self._samples[key] = self.paired.sample(label, inside)
        return self._samples[key]

    @cached_property
    def directions(self) -> dict[str, int]:
        """By metric: 1 if a higher mean is better, -1 if a lower one, 0 if neither."""
        return {label: _DIRECTIONS[parse_one(label).declaration.better] for label in self.labels}

    @cached_property
    def definitions(self) -> Definitions:
        """What each number means, by metric."""
        return Definitions({label: self.paired.first.definitions[label] for label in self.labels})

    @property
    def is_weighted(self) -> bool:
        """Are the means weighted."""
        return self.paired.first.plan_of(self.labels[0]).averaging.weighted

    def is_whole(self, label: str) -> bool:
        """Are the queries that count all that there are."""
        return self.rules.population == len(self.samples[label].values)

    def tested(self, values: Floats, pairs: Sequence[tuple[int, int]], clusters: Ints | None) -> PairedSample:
        """Values as tests and corrections read them."""
        rules = self.rules
        return PairedSample(values, pairs, clusters, rules.population, rules.resamples, rules.seed, rules.threads)

    def stacked(self, labels: Sequence[str], pairs: Sequence[tuple[int, int]]) -> PairedSample:
        """The values of some metrics and all runs side by side, in an order of the queries that is always the same."""
        n, runs = len(self.paired.queries), len(self.names)
        columns = np.zeros((n, runs * len(self.samples)))
        clusters = self.paired.clusters
        for at, sample in enumerate(self.samples.values()):
            columns[sample.kept, at * runs : (at + 1) * runs] = sample.values
            if clusters is None and sample.clusters is not None:  # pieces that were left out in turn
                clusters = np.arange(n)
                clusters[sample.kept] = sample.clusters
        order, starts = self.paired.order, [self.labels.index(label) * runs for label in labels]
        both = [(start + a, start + b) for start in starts for a, b in pairs]
        return self.tested(columns[order], both, None if clusters is None else clusters[order])

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Of all metrics and pairs of runs."""
        return tuple(_differences(self))

    def key(self, of: Difference) -> tuple[str, ...]:
        """What a difference is found by."""
        return (of.run, of.metric) if self.baseline is not None else (of.baseline, of.run, of.metric)

    def pair(self, of: Difference) -> str:
        """The two runs in words; the baseline of all goes without saying."""
        return of.run if self.baseline is not None else f"{of.run} than {of.baseline}"

    def is_of(self, difference: Difference, runs: Sequence[str]) -> bool:
        """Is it between these runs, or one of them and the baseline."""
        pair = (difference.baseline, difference.run)
        if len(runs) == 1:
            return difference.run == runs[0] if self.baseline is not None else runs[0] in pair
        return not runs or pair == tuple(runs)

    def select(self, key: Sequence[str]) -> list[Difference]:
        """The differences of some runs and metrics."""
        runs = [name for name in key if name in self.names]
        metrics = {label_of(name, self.samples) for name in key if name not in self.names}
        return [of for of in self.differences if self.is_of(of, runs) and (not metrics or of.metric in metrics)]

    def select_one(self, key: Sequence[str]) -> Difference:
        """The one difference of two runs and a metric."""
        found = self.select(key)
        if len(found) != 1:
            like = self.key(self.differences[0])
            raise ValueError(f"{key!r} names {len(found)} differences; name a run and a metric, as {like}")
        return found[0]

    def groups(self, by: str | Groups) -> list[Hashable]:
        """Each query's group; by: as given, or a column of the truth."""
        if isinstance(by, str):
            if self.origin is None:
                raise ValueError(f"by={by!r}: these are results, whose truth is not at hand; give each query's group")
            by = self.origin.column(by)
        return groups_in_order(by, self.paired.queries, "by")

    def single(self) -> dict[str, Result]:
        """The result of each run; refused where there are several of one."""
        for name, results in self.paired.systems.items():
            if len(results) > 1:
                raise ValueError(f"{name} has several runs; plot one of them")
        return {name: results[0] for name, results in self.paired.systems.items()}

    def with_metrics(self, labels: Sequence[str]) -> Experiment:
        """The same runs by other metrics, of the same lists, each by itself."""
        systems = {name: [result.more(labels)] for name, result in self.single().items()}
        clusters = None if self.paired.clusters is None else self.paired.clusters.tolist()
        rules = self.rules._replace(primary=None, correction="none", margin=None, test="t")
        return Experiment(Paired(systems, clusters), tuple(labels), self.baseline, rules)


@dataclass(frozen=True)
class Difference:
    """What a run's mean is above that of the baseline, and how sure that is."""

    baseline: str
    run: str
    metric: str
    first: float  # the mean of the baseline
    second: float  # that of the run
    difference: float  # in the metric's own unit
    low: float  # the ends of the interval
    high: float
    p: float  # NaN where no test says anything
    adjusted: float  # for the number of comparisons
    wins: int  # queries where the run is better
    ties: int
    losses: int
    queries: int
    verdict: str  # better, worse, same within the margin, not decided; empty if the metric is not a primary one
    direction: int  # 1: a higher mean is better, -1: a lower one, 0: neither
    _experiment: Experiment = field(repr=False, compare=False)
    _student: Student = field(repr=False, compare=False)  # of the differences, or of those of logarithms
    _is_log: bool = field(repr=False, compare=False)

    @property
    def relative(self) -> float:
        """The difference as a share of the baseline's mean; NaN if that is 0."""
        return self.difference / self.first if self.first else math.nan

    @property
    def superiority(self) -> float:
        """The share of queries where the run is better, equal ones counted half."""
        return (self.wins + self.ties / 2) / self.queries if self.queries else math.nan

    @cached_property
    def effect(self) -> Effect:
        """The size of the difference in its own spread: d_z with an interval, and Hedges' correction of it."""
        return effect(*self._values, self._experiment.rules.confidence)

    @property
    def _values(self) -> tuple[Floats, Floats]:
        """Each query's part in the two means."""
        values, names = self._experiment.samples[self.metric].values, self._experiment.names
        return values[:, names.index(self.baseline)], values[:, names.index(self.run)]

    @cached_property
    def warnings(self) -> tuple[Doubt, ...]:
        """What should be known before this is believed, each with a code and a sentence."""
        return tuple(caveats_of(self._experiment, self, *self._values))

    @property
    def error(self) -> float:
        """The standard error of the difference; of a geometric mean, that of its logarithm."""
        return float(self._student.error)

    def interval(self, confidence: float) -> tuple[float, float]:
        """The ends of the interval of the difference, at another confidence."""
        low, high = (float(end) for end in self._student.interval(confidence))
        return (self._outer(low), self._outer(high)) if self._is_log else (low, high)

    def above(self, than: float = 0.0) -> float:
        """p of the test that the true difference is above `than`, one-sided."""
        return float(self._student.above(self._inner(than)))

    def below(self, than: float = 0.0) -> float:
        """p of the test that the true difference is below `than`, one-sided."""
        return float(self._student.below(self._inner(than)))

    def power(self, difference: float) -> float:
        """How often a true difference of this size would be found, with as many queries as these."""
        tested = abs(self._inner(difference))
        if not self.error:
            return 1.0 if tested else self._level
        return float(noncentral_power(tested / self.error, self._student.freedom, self._level))

    def detectable(self, power: float = 0.8, queries: int | None = None) -> float:
        """The difference that would be found so often; queries: with so many like these."""
        units = self._units if queries is None else max(round(self._units * queries / self.queries), 2)
        return self._outer(float(detectable(units, power, self._level)) * self._deviation)

    def needed(self, difference: float, power: float = 0.8, *, one_sided: bool = False) -> int:
        """How many queries like these would find a true difference of this size so often.

        one_sided: find that it is above 0, or that a run that is equal is not worse by so much.
        """
        tested = abs(self._inner(difference))
        if not tested:
            raise ValueError("no number of queries finds a difference of 0")
        if not self.error or not math.isfinite(tested):
            return 2
        alternative = "greater" if one_sided else "two-sided"
        units = needed(tested / self._deviation, power, self._level, alternative).whole
        return math.ceil(units * self.queries / self._units)

    @property
    def _level(self) -> float:
        return self._experiment.rules.level

    @property
    def _units(self) -> int:
        """What is independent of each other: the queries, or their clusters."""
        return int(self._student.freedom) + 1

    @property
    def _deviation(self) -> float:
        return self.error * math.sqrt(self._units)

    def _inner(self, difference: float) -> float:
        """A difference as the test has it: of a geometric mean in logarithms."""
        if not self._is_log:
            return difference
        return math.log1p(difference / self.first) if difference > -self.first else -math.inf

    def _outer(self, tested: float) -> float:
        """The same the other way round."""
        return self.first * math.expm1(tested) if self._is_log else tested

    def probabilities(self, margin: float = 0.0) -> dict[str, float]:
        """How likely the run is worse, the same within the margin, and better, if nothing was known before.

        Where neither a higher nor a lower mean is better, `better` is higher.
        """
        # With a flat prior, what a one-sided p leaves is the posterior (Benavoli et al. 2017).
        not_worse, not_better = self.below(-margin), self.above(margin)
        low, high = 1 - not_worse, 1 - not_better
        worse, better = (high, low) if self.direction < 0 else (low, high)
        return {"worse": worse, "same": 1 - low - high, "better": better}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = [name for name in self.__dataclass_fields__ if not name.startswith("_")]
        return {
            **{name: getattr(self, name) for name in (*names, "relative", "superiority")},
            "effect": {name: getattr(self.effect, name) for name in ("dz", "low", "high", "hedges", "d_av")},
            "warnings": [caveat._asdict() for caveat in self.warnings],
        }


# -- tests, corrections, verdicts ----------------------------------------------------------------------------


def _differences(data: Experiment) -> Iterator[Difference]:
    rules, pairs = data.rules, data.pairs
    paired = {label: data.tested(sample.values, pairs, sample.clusters) for label, sample in data.samples.items()}
    unknown = {label: np.full(len(pairs), math.nan) for label in paired}
    p = _p(data, rules.paired_test, paired)
    p |= {label: unknown[label] for label in filter(data.is_whole, p)}  # no sample, so nothing to test
    deciding = list(filter(rules.decides, p))
    if rules.adjustment.p is not None:
        corrected = _p(data, rules.adjustment, {label: paired[label] for label in deciding})
    else:
        corrected = _of_family({label: p[label] for label in deciding}, rules.adjustment)
    within = _of_family({label: _p_within(data, label, paired[label].student) for label in paired}, rules.adjustment)
    for label, sample in data.samples.items():
        adjusted = corrected.get(label, unknown[label])
        for at, of in enumerate(_of_metric(data, sample, pairs, paired[label].student, p[label], adjusted)):
            yield replace(of, verdict=_verdict(data, of, float(within[label][at])))


def _of_metric(
    data: Experiment, sample: Sample, pairs: Sequence[tuple[int, int]], found: Student, p: Floats, adjusted: Floats
) -> Iterator[Difference]:
    """The differences of one metric, without verdicts."""
    firsts, seconds = (list(side) for side in zip(*pairs, strict=True))
    low, high = found.interval(data.rules.confidence)
    if sample.is_log:
        low, high = (sample.means[firsts] * np.expm1(end) for end in (low, high))
    if not data.rules.paired_test.has_interval:
        low, high = np.full((2, len(pairs)), math.nan)
    wins, ties, losses = wins_ties_losses(sample.own[:, firsts], sample.own[:, seconds])
    direction = data.directions[sample.label]
    if direction < 0:
        wins, losses = losses, wins
    columns = (column.tolist() for column in (low, high, p, adjusted, wins, ties, losses))
    for at, ((a, b), *numbers) in enumerate(zip(pairs, *columns, strict=True)):
        first, second = float(sample.means[a]), float(sample.means[b])
        of_pair = dict(zip(("low", "high", "p", "adjusted", "wins", "ties", "losses"), numbers, strict=True))
        yield Difference(
            data.names[a], data.names[b], sample.label, first, second, second - first, **of_pair,
            queries=len(sample.own), verdict="", direction=direction, _experiment=data, _is_log=sample.is_log,
            _student=Student(found.mean[at], found.error[at], found.freedom),
        )  # fmt: skip


def _verdict(data: Experiment, of: Difference, within: float) -> str:
    """within: p of the test that the difference is within the margin."""
    rules, margin = data.rules, data.rules.margin_of(of.metric)
    if not rules.decides(of.metric):
        return ""
    if margin is not None and within <= rules.level:
        return f"same within {margin:g}"
    if not (of.difference != 0 if data.is_whole(of.metric) else of.adjusted <= rules.level):
        return "not decided"
    if data.paired.tie_range(of.metric, of.baseline, of.run):
        return "not decided: ties"
    up, down = {1: ("better", "worse"), -1: ("worse", "better"), 0: ("higher", "lower")}[of.direction]
    return up if of.difference > 0 else down


def _p(data: Experiment, row: PairedTest | Correction, paired: Mapping[str, PairedSample]) -> dict[str, Floats]:
    """p of each pair by metric, from the values of the runs; NaN without any query."""
    assert row.p is not None
    if row.joint:
        p = row.p(data.stacked(list(paired), data.pairs)).reshape(len(paired), -1)
        return dict(zip(paired, p, strict=True))
    nan = np.full(len(data.pairs), math.nan)
    return {label: row.p(sample) if len(sample.values) else nan for label, sample in paired.items()}


def _of_family(p: Mapping[str, Floats], correction: Correction) -> dict[str, Floats]:
    """p-values by metric, adjusted together; NaN stays."""
    family = np.concatenate(list(p.values())) if p else np.zeros(0)
    known = ~np.isnan(family)
    family[known] = adjusted(family[known], correction)
    return dict(zip(p, family.reshape(len(p), -1), strict=True))


def _p_within(data: Experiment, label: str, of: Student) -> Floats:
    """p of the test that a difference is within the margin, by both one-sided tests; NaN without a margin."""
    margin, sample = data.rules.margin_of(label), data.samples[label]
    if margin is None or not data.rules.decides(label):
        return np.full(len(data.pairs), math.nan)
    low: Any = -margin
    high: Any = margin
    if sample.is_log:
        relative = margin / sample.means[[a for a, _ in data.pairs]]
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = np.log1p(-np.minimum(relative, 1.0)), np.log1p(relative)
    return np.maximum(of.above(low), of.below(high))


def within(of: Difference, inside: Bools) -> Difference:
    """A difference in some of the queries, by Student's t; not adjusted, and without a verdict."""
    data = of._experiment
    sample = data.sample(of.metric, inside)
    pair = data.names.index(of.baseline), data.names.index(of.run)
    found = PairedSample(sample.values, [pair], sample.clusters).student
    (part,) = _of_metric(data, sample, [pair], found, np.atleast_1d(found.p()), np.full(1, math.nan))
    return part
