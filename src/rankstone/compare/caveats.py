"""What should be known before a difference is believed: each caveat has a code and a sentence."""

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
from rankstone.statistics.flips import flips
from rankstone.statistics.student import student

if TYPE_CHECKING:
    from rankstone.compare.differences import Difference, Experiment
    from rankstone.compare.pairing import Sample
    from rankstone.results.result import Result

FEW = 20  # queries with a difference, or clusters, below which no interval can be trusted
_SIZES = 10  # of differences, below which they are very discrete
_RUNS = 5  # against one truth, above which the best of them is likely to be a lucky one
_LESS_JUDGED = 0.05
UNCUT = 10  # how deep to look for judgements where a metric has no k
_SURE = 0.001


class Doubt(NamedTuple):
    """A reason to look twice."""

    code: str
    sentence: str


def caveats_of(data: Experiment, of: Difference, first: Floats, second: Floats) -> Iterator[Doubt]:
    """What is doubtful about one difference; first, second: each query's part in the two means."""
    if not of.queries:
        yield Doubt("none", "there is no query that counts in both")
        return
    sample, rules, between = data.samples[of.metric], data.rules, second - first
    size = np.abs(between)
    differing = int((size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300)).sum())
    if differing == 0:
        yield Doubt("equal", "equal on every query")
        return
    yield from _few(of, between, differing, rules.paired_test.is_student, rules.level)
    gain = of.difference * (of.direction or 1)
    if gain * (of.wins - of.losses) < 0:
        ends = ("better", "worse") if gain > 0 else ("worse", "better")
        yield Doubt("signs", f"{ends[0]} on average, but {ends[1]} on more queries")
    if of.verdict in ("better", "worse", "higher", "lower"):
        yield from _one(data, of, sample, between)
    ends_of_ties = data.paired.tie_range(of.metric, of.baseline, of.run)
    if ends_of_ties and not any(map(math.isnan, ends_of_ties)):
        low, high = map(signed, ends_of_ties)
        yield Doubt(
            "ties", f"the order of tied items decides: the difference can be {low} to {high}; choose ties='expected'"
        )
    yield from _judged(data, of)
    yield from _missing(data, of, sample)
    margin = rules.margin_of(of.metric)
    if margin is not None and of.p < _SURE and of.verdict.startswith("same"):
        yield Doubt("large", f"{signed(of.difference)} is certain, and too small to matter (margin {margin:g})")


def _few(of: Difference, between: Floats, differing: int, is_student: bool, level: float) -> Iterator[Doubt]:
    sizes = len(np.unique(np.round(np.abs(between) / max(float(np.abs(between).max()), 1e-300), 10)))
    few, discrete = min(differing, of.queries) < FEW, sizes < _SIZES
    exact = ""
    if is_student and (few or discrete):
        found = flips(between, resamples=1)
        if bool(found.exact):
            apart = (float(found.p) <= level) != (of.p <= level)
            exact = f"; the exact test of sign flips gives {p_said(float(found.p))}{', another answer' * apart}"
    if few:
        wrong = "the interval can be wrong by more than it says"
        yield Doubt("few", f"{differing} of {of.queries:,} queries differ: {wrong}{exact}")
    elif discrete and exact:
        yield Doubt("discrete", f"the differences have {sizes} size{'s' * (sizes != 1)} only{exact}")


def _one(data: Experiment, of: Difference, sample: Sample, between: Floats) -> Iterator[Doubt]:
    """Does all of it rest on one query."""
    at = int(np.argmax(between if of.difference > 0 else -between))
    share = between[at] / between.sum()
    without = np.delete(between, at)
    clusters = None if sample.clusters is None else np.delete(sample.clusters, at)
    alone = len(without) > 1 and bool(student(without, clusters).p() > data.rules.level)
    if share > 1 / 3 or alone:
        query = data.paired.queries[int(np.flatnonzero(sample.kept)[at])]
        yield Doubt("one", f"the difference rests on query {query!r}, which makes {100 * share:.0f} % of it")


def _judged(data: Experiment, of: Difference) -> Iterator[Doubt]:
    """Was one of the runs judged less than the other."""
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
        # Where all that is judged is relevant, judged is another word for relevant.
        if not results or not all(label in result and result.has_bad(label) for result in results):
            return
        shares.append(_share(results, label))
    if abs(shares[1] - shares[0]) >= _LESS_JUDGED:
        told = f"{shares[1]:.2f} of its first {k} are judged, of {of.baseline}'s {shares[0]:.2f}"
        yield Doubt("judged", f"{told}: the one that is judged less may be better than it looks")


def _share(results: Sequence[Result], label: str) -> float:
    """The mean over the queries that a system has."""
    if any(result.present is None for result in results):
        return float(np.mean([result[label] for result in results]))
    return float(np.nanmean(np.concatenate([result.per_query[label][result.present] for result in results])))


def _missing(data: Experiment, of: Difference, sample: Sample) -> Iterator[Doubt]:
    """Does a run lack queries that it is judged by."""
    rest, told = sample.kept.copy(), []
    for name in (of.baseline, of.run):
        present = data.paired.present(name)
        if present is None:
            count = max(result.account.missing for result in data.paired.systems[name])
        else:
            count = int((sample.kept & ~present).sum())
            rest &= present
        if count:
            told.append(f"{name} lacks {count:,} of the queries")
    if not told:
        return
    without = ""
    if rest.any() and not rest.all() and data.paired.present(of.run) is not None:
        means = dict(zip(data.names, data.paired.sample(of.metric, rest).means, strict=True))
        without = f"; without them the difference is {signed(means[of.run] - means[of.baseline])}"
    yield Doubt("missing", f"{' and '.join(told)}, which count as empty lists{without}")


def general_caveats(data: Experiment) -> list[str]:
    """What is doubtful about all of it."""
    lines, paired = [], data.paired
    if paired.clusters is not None:
        many = int(paired.clusters.max()) + 1
        if many < FEW:
            lines.append(f"{len(paired.queries):,} queries are {many} clusters: fewer than {FEW} say little")
    elif found := looks_clustered(paired.queries):
        lines.append(
            f"the ids look like {found[1]:,} groups, as {found[0]!r} and others of its kind; if their queries belong "
            "together, give clusters="
        )
    if len(data.names) > _RUNS:
        lines.append(f"{len(data.names)} runs on one truth: the best of many looks better than it is")
    if data.is_weighted:
        shares = paired.first.shares(data.labels[0])
        weights = shares.bottom[shares.kept]
        if weights.any():
            equal = float(weights.sum() ** 2 / (weights**2).sum())
            lines.append(f"by their weights, the queries are worth {equal:,.1f} of equal weight")
    return lines


def looks_clustered(queries: Sequence[object]) -> tuple[str, int] | None:
    """Do ids look like `31_4`, the fourth turn of talk 31: a prefix, and how many of them there are."""
    found = [re.fullmatch(r"(.+)[_:/#-](\d+)", query) if isinstance(query, str) else None for query in queries]
    prefixes = Counter(match[1] for match in found if match is not None)
    if prefixes.total() < len(queries) or len(prefixes) < 3 or len(prefixes) > len(queries) / 2:
        return None
    return max(prefixes, key=prefixes.__getitem__), len(prefixes)
