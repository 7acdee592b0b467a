"""Differences of means: size, uncertainty, verdict, and power."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.compare.caveats import FEW, Caveat, caveats_of
from rankstone.compare.config import Groups, Rules
from rankstone.compare.pairing import Paired, Sample
from rankstone.compare.winner import Winner, winner_of
from rankstone.errors import Advice, Hint, InputError
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import comparative
from rankstone.results.definition import Definitions, groups_in_order, label_of
from rankstone.results.difference_bounds import DifferenceBounds
from rankstone.statistics.anytime import ConfidenceSequence
from rankstone.statistics.corrections import Correction, adjusted
from rankstone.statistics.paired import Fit, PairedSample, PairedTest
from rankstone.statistics.power import Effect, detectable, effect, noncentral_power, sample_size, wins_ties_losses

if TYPE_CHECKING:
    from rankstone.compare.certificate import Certificate
    from rankstone.compare.compare import InputOrigin
    from rankstone.compare.machine_labels import MachineLabels
    from rankstone.results.result import Result
    from rankstone.statistics.prediction_powered import PredictionPowered


@dataclass(frozen=True, eq=False)
class Experiment:
    """The data and options of a comparison."""

    paired: Paired
    labels: tuple[str, ...]
    baseline: str | None  # None: all pairs of runs
    rules: Rules
    by: Groups | None = None
    origin: InputOrigin | None = None  # truth and runs, where available
    command: str = ""  # the command line that made it, if any
    machine: MachineLabels | None = None  # where the truth has human labels of a part of the queries
    _samples: dict[tuple[str, bytes], Sample] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(self.paired.systems)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of run numbers; the second is compared with the first."""
        numbers = range(len(self.names))
        if self.baseline is None:
            return list(combinations(numbers, 2))
        first = self.names.index(self.baseline)
        return [(first, second) for second in numbers if second != first]

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """The values of all runs, by metric."""
        samples = {label: self.paired.sample(label) for label in self.labels}
        if self.machine is None:
            return samples
        return {label: self.machine.assisted(sample) for label, sample in samples.items()}

    def check_human(self, what: str) -> None:
        """Raise for what needs human labels of all queries."""
        if self.machine is not None:
            raise InputError(Advice(f"{what} does not go with ", Hint("machine", ...)))

    def sample(self, label: str, inside: Bools) -> Sample:
        """The values of a subset of the queries."""
        key = label, inside.tobytes()
        if key not in self._samples:
            self._samples[key] = self.paired.sample(label, inside)
        return self._samples[key]

    @cached_property
    def directions(self) -> dict[str, int]:
        """By metric: 1 if a higher mean is better, -1 if a lower one, 0 if neither."""
        return {label: parse_one(label).declaration.direction for label in self.labels}

    @cached_property
    def definitions(self) -> Definitions:
        """Definition of each metric."""
        return Definitions({label: self.paired.first.definitions[label] for label in self.labels})

    @property
    def is_weighted(self) -> bool:
        """Whether the means are weighted."""
        return self.paired.first._measurement.plan(self.labels[0]).averaging.weighted

    def is_whole(self, label: str) -> bool:
        """Whether the queries are the whole population."""
        return self.rules.population == len(self.samples[label].values)

    def tested(self, values: Floats, pairs: Sequence[tuple[int, int]], clusters: Ints | None) -> PairedSample:
        """The input of tests and corrections."""
        rules = self.rules
        return PairedSample(
            values, pairs, clusters, rules.population, rules.resamples, rules.seed, rules.threads, rules.confidence,
            rules.tuning,
        )  # fmt: skip

    def stacked(self, labels: Sequence[str], pairs: Sequence[tuple[int, int]]) -> PairedSample:
        """The values of several metrics and all runs as columns, in a canonical order of the queries."""
        n, runs = len(self.paired.queries), len(self.names)
        columns = np.zeros((n, runs * len(self.samples)))
        clusters = self.paired.clusters
        for at, sample in enumerate(self.samples.values()):
            columns[sample.mask, at * runs : (at + 1) * runs] = sample.values
            if clusters is None and sample.clusters is not None:  # groups of the jackknife
                clusters = np.arange(n)
                clusters[sample.mask] = sample.clusters
        order, starts = self.paired.order, [self.labels.index(label) * runs for label in labels]
        stacked_pairs = [(start + a, start + b) for start in starts for a, b in pairs]
        return self.tested(columns[order], stacked_pairs, None if clusters is None else clusters[order])

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The differences of all metrics and pairs of runs."""
        return tuple(_differences(self))

    @property
    def has_winner(self) -> bool:
        """Whether each metric has enough queries, or clusters of them, for a winner's interval."""
        return all(
            len(sample.values) >= FEW and (sample.clusters is None or len(set(sample.clusters.tolist())) >= FEW)
            for sample in self.samples.values()
        )

    @cached_property
    def winner(self) -> Winner:
        """The best of the runs."""
        return winner_of(self)

    @cached_property
    def deciding(self) -> int:
        """Number of differences with a verdict."""
        return sum(bool(of.verdict) for of in self.differences)

    @property
    def is_adjusted(self) -> bool:
        """Whether verdicts rest on p-values that the correction changes."""
        return self.rules.adjustment.corrects and (self.deciding != 1 or self.rules.adjustment.p is not None)

    def key(self, of: Difference) -> tuple[str, ...]:
        """The key of a difference in dicts by run and metric."""
        return (of.run, of.metric) if self.baseline is not None else (of.baseline, of.run, of.metric)

    def pair(self, of: Difference) -> str:
        """The two runs in words, without a common baseline."""
        return of.run if self.baseline is not None else f"{of.run} vs. {of.baseline}"

    def is_of(self, difference: Difference, runs: Sequence[str]) -> bool:
        """Whether a difference is between these runs, or between one run and the baseline."""
        pair = (difference.baseline, difference.run)
        if len(runs) == 1:
            return difference.run == runs[0] if self.baseline is not None else runs[0] in pair
        return not runs or pair == tuple(runs)

    def select(self, key: Sequence[str]) -> list[Difference]:
        """The differences of the runs and metrics in the key; of all that it does not restrict."""
        runs = [name for name in key if name in self.names]
        metrics = {label_of(name, self.samples) for name in key if name not in self.names}
        return [of for of in self.differences if self.is_of(of, runs) and (not metrics or of.metric in metrics)]

    def select_one(self, key: Sequence[str]) -> Difference:
        """The only difference of a key."""
        differences = self.select(key)
        if len(differences) != 1:
            like = self.key(self.differences[0])
            raise InputError(f"{key!r} names {len(differences)} differences; name a run and a metric, as {like}")
        return differences[0]

    def groups(self, by: str | Groups) -> list[Hashable]:
        """The group of each query; by: the groups themselves, or a column of the truth."""
        if isinstance(by, str):
            if self.origin is None:
                raise InputError(f"by={by!r}: results have no columns; give the group of each query")
            by = self.origin.column(by)
        return groups_in_order(by, self.paired.queries, "by")

    def single(self) -> dict[str, Result]:
        """The only result of each run."""
        for name, results in self.paired.systems.items():
            if len(results) > 1:
                raise InputError(f"{name} has several runs; plot one of them")
        return {name: results[0] for name, results in self.paired.systems.items()}

    def with_metrics(self, labels: Sequence[str]) -> Experiment:
        """The same runs with other metrics of the same lists, without correction."""
        systems = {name: [result._more(labels)] for name, result in self.single().items()}
        clusters = None if self.paired.clusters is None else self.paired.clusters.tolist()
        rules = self.rules._replace(primary=None, correction="none", margin=None, test="t")
        return Experiment(Paired(systems, clusters), tuple(labels), self.baseline, rules)


@dataclass(frozen=True)
class Difference:
    """The difference between the means of a run and its baseline, with its uncertainty and a verdict.

    Attributes
    ----------
    baseline, run, metric : str
        What is compared.
    first, second : float
        Means of the baseline and of the run.
    difference : float
        `second - first`, in the metric's unit.
    low, high : float
        Confidence interval of the difference.
    p, adjusted : float
        p-value, and p-value adjusted for multiple comparisons; NaN without a test.
    wins, ties, losses : int
        Number of queries where the run is better, equal and worse.
    queries : int
        Number of queries.
    verdict : str
        "better", "worse", "higher", "lower", "inconclusive", "equivalent (margin ...)" or "identical"; empty if the
        metric is not a primary one.
    direction : int
        1 if a higher mean is better, -1 if a lower one is, 0 if neither.
    """

    baseline: str
    run: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    wins: int
    ties: int
    losses: int
    queries: int
    verdict: str
    direction: int
    _experiment: Experiment = field(repr=False, compare=False)
    _student: Fit = field(repr=False, compare=False)  # of the differences, or of those of logarithms
    _is_log: bool = field(repr=False, compare=False)
    _machine: PredictionPowered | None = field(default=None, repr=False, compare=False)

    @property
    def machine(self) -> PredictionPowered | None:
        """With machine labels: their weight, the human difference, and the naive one by the machine alone."""
        return self._machine

    @property
    def relative(self) -> float:
        """The difference relative to the baseline's mean; NaN if that is 0."""
        return self.difference / self.first if self.first else math.nan

    @property
    def superiority(self) -> float:
        """Probability of superiority: the share of queries where the run is better, ties counted half."""
        return (self.wins + self.ties / 2) / self.queries if self.queries else math.nan

    @cached_property
    def effect(self) -> Effect:
        """Standardised effect size: d_z with an interval, and Hedges' correction."""
        return effect(*self._values, self._experiment.rules.confidence)

    @property
    def _is_identical(self) -> bool:
        """Whether all queries have the same value in both runs."""
        first, second = self._values
        by_machine = self.machine is not None and self.machine.machine != 0
        return bool(self.queries) and not by_machine and not (second - first).any()

    @property
    def _values(self) -> tuple[Floats, Floats]:
        """The contribution of each query to the two means."""
        values, names = self._experiment.samples[self.metric].values, self._experiment.names
        return values[:, names.index(self.baseline)], values[:, names.index(self.run)]

    @cached_property
    def caveats(self) -> tuple[Caveat, ...]:
        """What limits the difference's validity, each with a code and a sentence."""
        return tuple(caveats_of(self._experiment, self, *self._values))

    @cached_property
    def bounds(self) -> DifferenceBounds:
        """Lowest and highest difference over all grades of the unjudged items; for `compare(bounds=True)`."""
        data = self._experiment
        if not data.paired.is_bounded:
            raise InputError("the bounds were not computed: rs.compare(truth, runs, ..., bounds=True)")
        return data.paired.bounds(data.samples[self.metric], self.baseline, self.run)

    def certificate(self, change: str = "step") -> Certificate:
        """How many labels must be wrong before the verdict falls, or the sign of the difference changes.

        Parameters
        ----------
        change : str, default "step"
            What is wrong with a judgement: "step" (its grade is off by one) or "flip" (relevant or not).

        Returns
        -------
        Certificate
            With the labels to check first.

        Raises
        ------
        ValueError
            If the lists are not at hand, or the mean is no plain mean over queries.

        Examples
        --------
        >>> truth = {q: {"a": 1, "b": 0} for q in range(5)}
        >>> runs = {"old": {q: ["b", "a"] for q in truth}, "new": {q: ["a", "b"] for q in truth}}
        >>> rs.compare(truth, runs, "precision@1")["new", "precision@1"].certificate().judged["sign"].at_least
        5
        """
        from rankstone.compare.certificate import certificate_of  # loads on demand

        return certificate_of(self, change)

    @property
    def error(self) -> float:
        """Standard error of the difference; of a geometric mean, that of its logarithm."""
        return float(self._student.error)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Confidence interval of the difference at another level.

        Parameters
        ----------
        confidence : float
            Confidence level.

        Returns
        -------
        tuple of two float
        """
        return self._ends(self._student.interval(confidence))

    @property
    def adjusted_interval(self) -> tuple[float, float]:
        """Confidence interval at the level that the correction leaves to this difference, `level * p / adjusted`.

        Of a t-test it excludes 0 where the adjusted p-value is significant.
        """
        if not (self.verdict and self._experiment.is_adjusted and math.isfinite(self.low) and self.adjusted > 0):
            return self.low, self.high
        return self.interval(1 - self._level * self.p / self.adjusted)

    def bounds_at(self, confidence: float) -> tuple[float, float]:
        """The lower and the upper one-sided confidence bound of the difference.

        Parameters
        ----------
        confidence : float
            Confidence level of each.

        Returns
        -------
        tuple of two float
        """
        return self._ends(self._student.bounds(confidence))

    @property
    def e_value(self) -> float:
        """Evidence against equal runs, of `anytime=True`: from 20 on they are not equal, at the level of 5 %."""
        if not isinstance(self._student, ConfidenceSequence):
            raise InputError("an e-value is of intervals that hold at every look: rs.compare(..., anytime=True)")
        return float(self._student.e_value())

    def above(self, than: float = 0.0) -> float:
        """p-value of the one-sided test that the true difference is above a value.

        Parameters
        ----------
        than : float, default 0.0
            The value, in the metric's unit.

        Returns
        -------
        float
        """
        return float(self._student.above(self._inner(than)))

    def below(self, than: float = 0.0) -> float:
        """p-value of the one-sided test that the true difference is below a value.

        Parameters
        ----------
        than : float, default 0.0
            The value, in the metric's unit.

        Returns
        -------
        float
        """
        return float(self._student.below(self._inner(than)))

    def power(self, difference: float) -> float:
        """Statistical power for a true difference of a given size, with as many queries as there are.

        Parameters
        ----------
        difference : float
            The true difference of the means, in the metric's unit.

        Returns
        -------
        float
        """
        self._check_planned()
        tested = abs(self._inner(difference))
        if not self.error:
            return 1.0 if tested else self._level
        return float(noncentral_power(tested / self.error, float(self._student.freedom), self._level))

    def detectable(self, power: float = 0.8, queries: int | None = None) -> float:
        """Smallest difference that would be detected.

        Parameters
        ----------
        power : float, default 0.8
            Probability of detecting it.
        queries : int, optional
            Number of queries; by default as many as there are.

        Returns
        -------
        float
            In the metric's unit.
        """
        self._check_planned()
        units = self._units if queries is None else max(round(self._units * queries / self.queries), 2)
        return self._outer(_detectable(units, power, self._level) * self._deviation)

    def sample_size(self, difference: float, power: float = 0.8, *, one_sided: bool = False) -> int:
        """Number of queries needed to detect a true difference.

        Parameters
        ----------
        difference : float
            The true difference of the means, in the metric's unit.
        power : float, default 0.8
            Probability of detecting it.
        one_sided : bool, default False
            For a one-sided test: that the difference is above 0, or that an equal run is not worse by this much.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If the difference is 0.
        """
        self._check_planned()
        tested = abs(self._inner(difference))
        if not tested:
            raise InputError("no number of queries detects a difference of 0")
        if not self.error or not math.isfinite(tested):
            return 2
        alternative = "greater" if one_sided else "two-sided"
        units = sample_size(tested / self._deviation, power, self._level, alternative).whole
        return math.ceil(units * self.queries / self._units)

    @property
    def is_anytime(self) -> bool:
        """Whether the interval and the p-value hold at every look."""
        return self._experiment.rules.paired_test.anytime

    def _check_planned(self, what: str = "power is of") -> None:
        if self.is_anytime:
            raise InputError(f"{what} a number of queries that is fixed before; leave out anytime=True")

    @property
    def _level(self) -> float:
        return self._experiment.rules.level

    @property
    def _units(self) -> int:
        """Number of independent units: queries, or clusters of them."""
        return int(self._student.freedom) + 1

    @property
    def _deviation(self) -> float:
        return self.error * math.sqrt(self._units)

    def _inner(self, difference: float) -> float:
        """A difference on the scale of the test: logarithms for a geometric mean."""
        if not self._is_log:
            return difference
        return math.log1p(difference / self.first) if difference > -self.first else -math.inf

    def _outer(self, tested: float) -> float:
        """The inverse of `_inner`."""
        return self.first * math.expm1(tested) if self._is_log else tested

    def _ends(self, interval: tuple[Floats, Floats]) -> tuple[float, float]:
        """An interval on the scale of the test, in the metric's unit."""
        low, high = (self._outer(float(end)) for end in interval)
        return low, high

    def probabilities(self, margin: float = 0.0) -> dict[str, float]:
        """Posterior probabilities that the run is worse, equivalent and better, under a flat prior.

        Parameters
        ----------
        margin : float, default 0.0
            Differences up to this size count as "same".

        Returns
        -------
        dict
            "worse", "same" and "better"; "better" means higher where neither direction is better.
        """
        self._check_planned("posterior probabilities are of")
        # With a flat prior, 1 minus a one-sided p-value is the posterior (Benavoli et al. 2017).
        not_worse, not_better = self.below(-margin), self.above(margin)
        low, high = 1 - not_worse, 1 - not_better
        worse, better = (high, low) if self.direction < 0 else (low, high)
        return {"worse": worse, "same": 1 - low - high, "better": better}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = [name for name in self.__dataclass_fields__ if not name.startswith("_")]
        return {
            **{name: getattr(self, name) for name in (*names, "relative", "superiority")},
            "effect": {name: getattr(self.effect, name) for name in ("dz", "low", "high", "hedges", "d_av")},
            "caveats": [caveat._asdict() for caveat in self.caveats],
            **({"bounds": self.bounds._asdict()} if self._experiment.paired.is_bounded else {}),
            **({} if self.machine is None else {"machine": self.machine._asdict()}),
        }


@cache
def _detectable(units: int, power: float, level: float) -> float:
    """The smallest detectable difference in standard deviations: the same for all runs of a comparison."""
    return float(detectable(units, power, level))


# -- tests, corrections, verdicts ----------------------------------------------------------------------------


def _differences(data: Experiment) -> Iterator[Difference]:
    rules, pairs = data.rules, data.pairs
    paired = {label: data.tested(sample.values, pairs, sample.clusters) for label, sample in data.samples.items()}
    if data.machine is not None:
        paired = {label: replace(sample, machine=data.machine.values(label)) for label, sample in paired.items()}
    untested = {label: np.full(len(pairs), math.nan) for label in paired}
    p = _p(data, rules.paired_test, paired)
    p |= {label: untested[label] for label in filter(data.is_whole, p)}  # the whole population: nothing to test
    deciding = list(filter(rules.decides, p))
    if rules.adjustment.p is not None:
        corrected = _p(data, rules.adjustment, {label: paired[label] for label in deciding})
    else:
        corrected = _of_family({label: p[label] for label in deciding}, rules.adjustment)
    fits = {label: rules.paired_test.fit(sample) for label, sample in paired.items()}
    within = _of_family({label: _p_within(data, label, fits[label]) for label in paired}, rules.adjustment)
    for label, sample in data.samples.items():
        adjusted = corrected.get(label, untested[label])
        for at, of in enumerate(_of_metric(data, sample, pairs, fits[label], p[label], adjusted)):
            if paired[label].machine is not None:
                of = replace(of, _machine=paired[label].assisted[at])
            yield replace(of, verdict=decided(data, of, float(within[label][at])))


def _of_metric(
    data: Experiment, sample: Sample, pairs: Sequence[tuple[int, int]], of_pairs: Fit, p: Floats, adjusted: Floats
) -> Iterator[Difference]:
    """The differences of one metric, without verdicts."""
    firsts, seconds = (list(side) for side in zip(*pairs, strict=True))
    low, high = of_pairs.interval(data.rules.confidence)
    if sample.is_log:
        low, high = (sample.means[firsts] * np.expm1(end) for end in (low, high))
    if not data.rules.paired_test.has_interval:
        low, high = np.full((2, len(pairs)), math.nan)
    wins, ties, losses = wins_ties_losses(sample.own[:, firsts], sample.own[:, seconds])
    direction = data.directions[sample.label]
    if direction < 0:
        wins, losses = losses, wins
    columns = {"low": low, "high": high, "p": p, "adjusted": adjusted, "wins": wins, "ties": ties, "losses": losses}
    for at, (a, b) in enumerate(pairs):
        first = float(sample.means[a])
        second = float(sample.means[b]) if data.machine is None else first + float(of_pairs.mean[at])
        yield Difference(
            data.names[a], data.names[b], sample.label, first, second, second - first,
            **{name: column[at].item() for name, column in columns.items()},
            queries=len(sample.own), verdict="", direction=direction, _experiment=data, _is_log=sample.is_log,
            _student=of_pairs._replace(**{name: one[at] for name, one in of_pairs._asdict().items() if np.ndim(one)}),
        )  # fmt: skip


def decided(data: Experiment, of: Difference, within: float) -> str:
    """The verdict of a difference; within: p-value of the equivalence test."""
    rules, margin = data.rules, data.rules.margin_of(of.metric)
    if not rules.decides(of.metric):
        return ""
    if of._is_identical:
        return "identical"
    if margin is not None and within <= rules.level:
        return f"equivalent (margin {margin:g})"
    if not (of.difference != 0 if data.is_whole(of.metric) else of.adjusted <= rules.level):
        return "inconclusive"
    if data.paired.tie_range(of.metric, of.baseline, of.run):
        return "inconclusive: ties"
    return comparative(of.difference, of.direction)


def _p(data: Experiment, row: PairedTest | Correction, paired: Mapping[str, PairedSample]) -> dict[str, Floats]:
    """p-value of each pair by metric; NaN without queries."""
    assert row.p is not None
    if row.joint:
        p = row.p(data.stacked(list(paired), data.pairs)).reshape(len(paired), -1)
        return dict(zip(paired, p, strict=True))
    nan = np.full(len(data.pairs), math.nan)
    return {label: row.p(sample) if len(sample.values) else nan for label, sample in paired.items()}


def _of_family(p: Mapping[str, Floats], correction: Correction) -> dict[str, Floats]:
    """p-values by metric, adjusted as one family."""
    family = adjusted_family(np.concatenate(list(p.values())) if p else np.zeros(0), correction)
    return dict(zip(p, family.reshape(len(p), -1), strict=True))


def adjusted_family(p: Floats, correction: Correction) -> Floats:
    """p-values adjusted as one family; NaN stays NaN."""
    out, is_number = p.copy(), ~np.isnan(p)
    out[is_number] = adjusted(p[is_number], correction)
    return out


def _p_within(data: Experiment, label: str, of: Fit) -> Floats:
    """p-value of the equivalence test (two one-sided tests); NaN without a margin."""
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
    """The difference on a subset of the queries; not adjusted, without a verdict."""
    data = of._experiment
    sample = data.sample(of.metric, inside)
    pair = data.names.index(of.baseline), data.names.index(of.run)
    part_of = replace(data.tested(sample.values, [pair], sample.clusters), population=None)
    of_pair = data.rules.paired_test.fit(part_of)
    (part,) = _of_metric(data, sample, [pair], of_pair, np.atleast_1d(of_pair.p()), np.full(1, math.nan))
    return part
