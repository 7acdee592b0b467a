"""Caveats of a comparison: what limits its validity. Each has a code and a sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import p_said, signed
from rankstone.statistics.randomization import randomization_test
from rankstone.statistics.student_t import student

if TYPE_CHECKING:
    from rankstone.compare.differences import Difference, Experiment
    from rankstone.compare.pairing import Sample
    from rankstone.results.result import Result

FEW = 20  # differing queries, or clusters, below which intervals are unreliable
_SIZES = 10  # distinct sizes of differences, below which they are very discrete
_RUNS = 5  # runs on one truth, above which the best mean is biased upwards
_LESS_JUDGED = 0.05
UNCUT = 10  # cutoff of the judged rate where a metric has no k
_SURE = 0.001


class Caveat(NamedTuple):
    """A limitation of a comparison: a short code and a sentence.

    Attributes
    ----------
    code : str
        "none", "equal", "few", "discrete", "signs", "one", "ties", "judged", "missing" or "large".
    sentence : str
        The same in words, with numbers.
    """

    code: str
    sentence: str


def caveats_of(data: Experiment, of: Difference, first: Floats, second: Floats) -> Iterator[Caveat]:
    """The caveats of one difference; first, second: contribution of each query to the two means."""
    if data.machine is not None:  # which has notes of its own; the other caveats are about human labels of all queries
        return
    if not of.queries:
        yield Caveat("none", "no query counts in both runs")
        return
    sample, rules, between = data.samples[of.metric], data.rules, second - first
    size = np.abs(between)
    differing = int((size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300)).sum())
    if differing == 0:
        yield Caveat("equal", "equal on every query")
        return
    yield from _few(of, between, differing, rules.paired_test.is_student, rules.level)
    gain = of.difference * (of.direction or 1)
    if gain * (of.wins - of.losses) < 0:
        ends = ("better", "worse") if gain > 0 else ("worse", "better")
        yield Caveat("signs", f"{ends[0]} on average, but {ends[1]} on more queries")
    if of.verdict in ("better", "worse", "higher", "lower"):
        yield from _single_query(data, of, sample, between)
    ends_of_ties = data.paired.tie_range(of.metric, of.baseline, of.run)
    if ends_of_ties and not any(map(math.isnan, ends_of_ties)):
        low, high = map(signed, ends_of_ties)
        yield Caveat(
            "ties", f"the order of tied items decides: the difference can be {low} to {high}; use ties='expected'"
        )
    yield from _judged(data, of)
    yield from _missing(data, of, sample)
    margin = rules.margin_of(of.metric)
    if margin is not None and of.p < _SURE and of.verdict.startswith("equivalent"):
        yield Caveat("large", f"{signed(of.difference)} is significant, but too small to matter (margin {margin:g})")


def _few(of: Difference, between: Floats, differing: int, is_student: bool, level: float) -> Iterator[Caveat]:
    sizes = len(np.unique(np.round(np.abs(between) / max(float(np.abs(between).max()), 1e-300), 10)))
    few, discrete = min(differing, of.queries) < FEW, sizes < _SIZES
    exact = ""
    if is_student and (few or discrete):
        test = randomization_test(between, resamples=1)
        if bool(test.exact):
            disagrees = (float(test.p) <= level) != (of.p <= level)
            exact = f"; exact randomisation test: {p_said(float(test.p))}{', which disagrees' * disagrees}"
    if few:
        verb = "differs" if differing == 1 else "differ"
        yield Caveat("few", f"only {differing} of {of.queries:,} queries {verb}: the interval is unreliable{exact}")
    elif discrete and exact:
        yield Caveat("discrete", f"only {sizes} distinct size{'s' * (sizes != 1)} of differences{exact}")


def _single_query(data: Experiment, of: Difference, sample: Sample, between: Floats) -> Iterator[Caveat]:
    """Whether the difference depends on a single query."""
    at = int(np.argmax(between if of.difference > 0 else -between))
    share = between[at] / between.sum()
    without = np.delete(between, at)
    clusters = None if sample.clusters is None else np.delete(sample.clusters, at)
    decisive = len(without) > 1 and bool(student(without, clusters).p() > data.rules.level)
    if share > 1 / 3 or decisive:
        query = data.paired.queries[int(np.flatnonzero(sample.mask)[at])]
        yield Caveat("one", f"the difference depends on query {query!r}, which contributes {100 * share:.0f} % of it")


def _judged(data: Experiment, of: Difference) -> Iterator[Caveat]:
    """Whether one of the runs is judged less than the other."""
    if parse_one(of.metric).declaration.kind != "ranking":
        return
    k = data.definitions[of.metric].choices.get("k") or UNCUT
    label = f"judged@{k}"
    shares = []
    for name in (of.baseline, of.run):
        results: Sequence[Result] = data.paired.systems[name]
        if data.origin is not None and not all(label in result for result in results):
            again = data.origin.judged(label)
            results = () if again is None else again[name]
        # Without judged non-relevant items, the judged rate is precision.
        if not results or not all(label in result and result._measurement.has_bad(label) for result in results):
            return
        shares.append(_share(results, label))
    if abs(shares[1] - shares[0]) >= _LESS_JUDGED:
        rates = f"judged@{k} is {shares[1]:.2f} ({of.baseline}: {shares[0]:.2f})"
        yield Caveat("judged", f"{rates}: the less judged run may be underestimated")


def _share(results: Sequence[Result], label: str) -> float:
    """The mean over the queries that a system has."""
    if any(result._measurement.present is None for result in results):
        return float(np.mean([result[label] for result in results]))
    return float(
        np.nanmean(np.concatenate([result.per_query[label][result._measurement.present] for result in results]))
    )


def _missing(data: Experiment, of: Difference, sample: Sample) -> Iterator[Caveat]:
    """Whether a run lacks judged queries."""
    rest, lines = sample.mask.copy(), []
    for name in (of.baseline, of.run):
        present = data.paired.present(name)
        if present is None:
            count = max(result.account.missing for result in data.paired.systems[name])
        else:
            count = int((sample.mask & ~present).sum())
            rest &= present
        if count:
            lines.append(f"{name} lacks {count:,} of the queries")
    if not lines:
        return
    without = ""
    if rest.any() and not rest.all() and data.paired.present(of.run) is not None:
        means = dict(zip(data.names, data.paired.sample(of.metric, rest).means, strict=True))
        without = f"; without them the difference is {signed(means[of.run] - means[of.baseline])}"
    yield Caveat("missing", f"{' and '.join(lines)}, which score as empty lists{without}")


def general_caveats(data: Experiment) -> list[str]:
    """The caveats of the comparison as a whole."""
    lines, paired = [], data.paired
    if paired.clusters is not None:
        many = int(paired.clusters.max()) + 1
        if many < FEW:
            lines.append(
                f"{len(paired.queries):,} queries in {many} clusters: fewer than {FEW} clusters are unreliable"
            )
    elif groups := suggested_groups(paired.queries):
        prefix, many = groups
        lines.append(f"query ids suggest {many:,} groups ('{prefix}...'); if they are related, pass clusters=")
    if len(data.names) > _RUNS:
        expects = f"; {data.winner.sentence}" if data.has_winner else ""
        lines.append(f"{len(data.names)} runs on one truth: the best mean is biased upwards{expects}")
    if data.is_weighted:
        shares = paired.first._measurement.shares(data.labels[0])
        weights = shares.bottom[shares.counted]
        if weights.any():
            equal = float(weights.sum() ** 2 / (weights**2).sum())
            lines.append(f"effective sample size of the weighted queries: {equal:,.1f}")
    return lines


def suggested_groups(queries: Sequence[object]) -> tuple[str, int] | None:
    """The most common prefix of ids such as `31_4` (turn 4 of conversation 31), and the number of prefixes."""
    matches = [re.fullmatch(r"(.+[_:/#-])\d+", query) if isinstance(query, str) else None for query in queries]
    prefixes = Counter(match[1] for match in matches if match is not None)
    if prefixes.total() < len(queries) or len(prefixes) < 3 or len(prefixes) > len(queries) / 2:
        return None
    return max(prefixes, key=prefixes.__getitem__), len(prefixes)
