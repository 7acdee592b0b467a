"""What `rs.compare` answers: is one run better than another, how sure is that, and for whom."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.ties import TIES
from rankstone.compare import plot_kinds as plots
from rankstone.compare.caveats import Doubt, general_doubts
from rankstone.compare.closer import Changes, Leaderboard, Slices, changes_of, leaderboard_of, slices_of
from rankstone.compare.config import Groups, Rules
from rankstone.compare.difference import Difference
from rankstone.compare.pairing import Paired, Sample
from rankstone.compare.report import report_of
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import Answer, DataPage, Latex, Paper, Rows, latex, number, p_value, queries, signed
from rankstone.results.definition import Definitions, cutoffs_of, groups_in_order, label_of, summarize
from rankstone.results.export import result_format, write_answer
from rankstone.results.result import Means
from rankstone.statistics import Student, wins_ties_losses
from rankstone.statistics.adjust import Correction, adjusted
from rankstone.statistics.paired import PairedSample, PairedTest, name_of

if TYPE_CHECKING:
    from rankstone.compare.compare import Origin
    from rankstone.plots.plot import Plot
    from rankstone.typing import Path


class Comparison(DataPage):
    """Runs on the same queries: differences of means, how sure they are, and a verdict for each.

    `comparison["neural", "ndcg@10"]` is a `Difference`; `comparison["neural"]` has one for each metric. Without a
    baseline, name both runs: `comparison["bm25", "neural", "ndcg@10"]`. Iterating gives all of them.
    """

    command = ""  # the line that made it, where it was made by the command

    def __init__(
        self,
        paired: Paired,
        labels: Sequence[str],
        baseline: str | None,
        rules: Rules,
        origin: Origin | None = None,
        by: Groups | None = None,
    ) -> None:
        self.paired, self.labels, self.baseline, self.rules = paired, tuple(labels), baseline, rules
        self.names = tuple(paired.systems)
        self.samples = {label: paired.sample(label) for label in self.labels}
        numbers = range(len(self.names))
        if baseline is None:
            self._pairs = list(combinations(numbers, 2))
        else:
            first = self.names.index(baseline)
            self._pairs = [(first, second) for second in numbers if second != first]
        self.origin, self._by = origin, by
        self._parts: dict[tuple[str, bytes], Sample] = {}
        self.differences = tuple(self._decided())

    # -- the numbers -----------------------------------------------------------------------------------------

    def _decided(self) -> Iterator[Difference]:
        paired = {label: self._paired(sample.values, self._pairs, sample.clusters)
                  for label, sample in self.samples.items()}  # fmt: skip
        students = {label: one.student for label, one in paired.items()}
        p = self._p(self.rules.paired_test, paired)
        for label in filter(self._is_whole, p):  # no sample, so nothing to test
            p[label] = np.full(len(self._pairs), math.nan)
        corrected, same = self._adjusted(p, paired), self._same(students)
        for label, sample in self.samples.items():
            yield from self._of_metric(sample, self._pairs, students[label], p[label], corrected[label], same[label])

    def _of_metric(
        self,
        sample: Sample,
        pairs: Sequence[tuple[int, int]],
        found: Student,
        p: Floats,
        adjusted: Floats,
        same: Floats,
    ) -> Iterator[Difference]:
        firsts, seconds = (list(side) for side in zip(*pairs, strict=True))
        first, second = sample.means[firsts], sample.means[seconds]
        low, high = found.interval(self.rules.confidence)
        if sample.is_log:
            low, high = first * np.expm1(low), first * np.expm1(high)
        if not self.rules.paired_test.has_interval:
            low, high = np.full((2, len(firsts)), math.nan)
        wins, ties, losses = wins_ties_losses(sample.own[:, firsts], sample.own[:, seconds])
        direction = self.directions[sample.label]
        if direction < 0:
            wins, losses = losses, wins
        rows = zip(
            pairs, first.tolist(), second.tolist(), np.broadcast_to(low, len(firsts)).tolist(),
            np.broadcast_to(high, len(firsts)).tolist(), p.tolist(), adjusted.tolist(), same.tolist(), wins.tolist(),
            ties.tolist(), losses.tolist(), strict=True,
        )  # fmt: skip
        for at, (pair, a, b, lowest, highest, raw, corrected, equal, won, tied, lost) in enumerate(rows):
            yield Difference(
                self.names[pair[0]], self.names[pair[1]], sample.label, a, b, b - a, lowest, highest, raw, corrected,
                won, tied, lost, len(sample.own),
                self._verdict(sample.label, pair, b - a, corrected, equal), direction,
                self, Student(found.mean[at], found.error[at], found.freedom), sample.is_log,
            )  # fmt: skip

    def _verdict(self, label: str, pair: tuple[int, int], difference: float, adjusted: float, same: float) -> str:
        rules, margin = self.rules, self.rules.margin_of(label)
        if not rules.decides(label):
            return ""
        if margin is not None and same <= rules.level:
            return f"same within {margin:g}"
        decided = difference != 0 if self._is_whole(label) else adjusted <= rules.level
        if not decided:
            return "not decided"
        if self.tie_range(label, *(self.names[at] for at in pair)):
            return "not decided: ties"
        up, down = {1: ("better", "worse"), -1: ("worse", "better"), 0: ("higher", "lower")}[self.directions[label]]
        return up if difference > 0 else down

    def _is_whole(self, label: str) -> bool:
        """Are the queries that count all that there are."""
        return self.rules.population == len(self.samples[label].values)

    @cached_property
    def directions(self) -> dict[str, int]:
        """By metric: 1 if a higher mean is better, -1 if a lower one, 0 if neither."""
        return {label: _DIRECTIONS[parse_one(label).declaration.better] for label in self.labels}

    def _p(self, row: PairedTest | Correction, paired: Mapping[str, PairedSample]) -> dict[str, Floats]:
        """p of each pair by metric, from the values of the runs; NaN without any query."""
        assert row.p is not None
        if row.joint:
            p = row.p(self.stacked(list(paired), self._pairs)).reshape(len(paired), -1)
            return dict(zip(paired, p, strict=True))
        nan = np.full(len(self._pairs), math.nan)
        return {label: row.p(sample) if len(sample.values) else nan for label, sample in paired.items()}

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
        return self._paired(columns[order], both, None if clusters is None else clusters[order])

    def _paired(self, values: Floats, pairs: Sequence[tuple[int, int]], clusters: Ints | None) -> PairedSample:
        rules = self.rules
        return PairedSample(values, pairs, clusters, rules.population, rules.resamples, rules.seed, rules.threads)

    def _adjusted(self, p: Mapping[str, Floats], paired: Mapping[str, PairedSample]) -> dict[str, Floats]:
        """p for the number of comparisons that decide; NaN elsewhere."""
        row, deciding = self.rules.adjustment, list(filter(self.rules.decides, p))
        out = {label: np.full(len(self._pairs), math.nan) for label in p}
        if row.p is not None:
            return {**out, **self._p(row, {label: paired[label] for label in deciding})}
        return {**out, **self._of_family({label: p[label] for label in deciding})}

    def _of_family(self, p: Mapping[str, Floats]) -> dict[str, Floats]:
        """p-values by metric, adjusted together; NaN stays."""
        family = np.concatenate(list(p.values())) if p else np.zeros(0)
        known = ~np.isnan(family)
        family[known] = adjusted(family[known], self.rules.adjustment)
        return dict(zip(p, family.reshape(len(p), -1), strict=True))

    def _same(self, found: Mapping[str, Student]) -> dict[str, Floats]:
        """p of the test that a difference is within the margin, by both one-sided tests; NaN without a margin."""
        out = {label: np.full(len(self._pairs), math.nan) for label in found}
        for label, of in found.items():
            margin = self.rules.margin_of(label)
            if margin is not None and self.rules.decides(label):
                low, high = self._ends(label, margin)
                out[label] = np.maximum(of.above(low), of.below(high))
        return self._of_family(out)

    def _ends(self, label: str, margin: float) -> tuple[Any, Any]:
        """What is the same within a margin, in the units of the test."""
        if not self.samples[label].is_log:
            return -margin, margin
        relative = margin / self.samples[label].means[[a for a, _ in self._pairs]]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log1p(-np.minimum(relative, 1.0)), np.log1p(relative)

    def within(self, of: Difference, inside: Bools) -> Difference:
        """A difference in some of the queries, by Student's t; not adjusted, and without a verdict."""
        key = of.metric, inside.tobytes()
        if key not in self._parts:
            self._parts[key] = self.paired.sample(of.metric, inside)
        sample = self._parts[key]
        pair = self.names.index(of.baseline), self.names.index(of.run)
        found = PairedSample(sample.values, [pair], sample.clusters).student
        nan = np.full(1, math.nan)
        (part,) = self._of_metric(sample, [pair], found, np.atleast_1d(found.p()), nan, nan)
        return replace(part, verdict="")

    def columns(self, of: Difference) -> tuple[Floats, Floats]:
        """Each query's part in the two means of a difference."""
        sample = self.samples[of.metric]
        return tuple(sample.values[:, self.names.index(name)] for name in (of.baseline, of.run))  # type: ignore[return-value]

    def tie_range(self, label: str, first: str, second: str) -> tuple[float, float] | None:
        """The differences that other orders of tied items would make, if both signs are among them."""
        ends = self.tie_ends(label, first, second)
        return ends if ends is not None and ends[0] <= 0 <= ends[1] else None

    def tie_ends(self, label: str, first: str, second: str) -> tuple[float, float] | None:
        """The lowest and the highest difference that orders of tied items make; None if it is one only."""
        results = self.paired.systems[first] + self.paired.systems[second]
        averaged = TIES[self.paired.first.plan_of(label).choices["ties"]].averaged  # no order is better than another
        if averaged or not any(result.has_ties for result in results):
            return None
        ranges = [[result.ties[label] for result in self.paired.systems[name]] for name in (first, second)]
        ends = [[(found.lowest, found.highest) for found in several] for several in ranges]
        (low_a, high_a), (low_b, high_b) = (np.mean(several, axis=0) for several in ends)
        low, high = float(low_b - high_a), float(high_b - low_a)
        return (low, high) if low < high else None

    @cached_property
    def effective(self) -> float | None:
        """How many queries of equal weight those of unequal weights are worth; None without weights."""
        first = self.paired.first.shares(self.labels[0]) if self._is_weighted else None
        if first is None:
            return None
        weights = first.bottom[first.kept]
        return float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else None

    @property
    def _is_weighted(self) -> bool:
        return self.paired.first.plan_of(self.labels[0]).averaging.weighted

    # -- finding ---------------------------------------------------------------------------------------------

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """A `Difference`, or those of all metrics."""
        names = key if isinstance(key, tuple) else (key,)
        runs = [name for name in names if name in self.names]
        metrics = [label_of(name, self.samples) for name in names if name not in self.names]
        if len(metrics) > 1 or len(runs) > 2:
            raise KeyError(f"{key!r}: name a run and a metric, or two runs and a metric")
        found = {
            difference.metric: difference
            for difference in self.differences
            if self._is_of(difference, runs) and metrics in ([], [difference.metric])
        }
        count = sum(self._is_of(difference, runs) for difference in self.differences)
        if not found or count > len(self.samples):
            pairs = ", ".join(f"{self.names[a]!r} and {self.names[b]!r}" for a, b in self._pairs)
            raise KeyError(f"{key!r} names no pair of runs, or several; there are {pairs}")
        return found[metrics[0]] if metrics else found

    def _is_of(self, difference: Difference, runs: Sequence[str]) -> bool:
        pair = (difference.baseline, difference.run)
        if len(runs) == 1:
            return difference.run == runs[0] if self.baseline is not None else runs[0] in pair
        return not runs or pair == tuple(runs)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    @cached_property
    def definitions(self) -> Definitions:
        """What each number means, by metric."""
        return Definitions({label: self.paired.first.definitions[label] for label in self.labels})

    # -- for whom, and why -----------------------------------------------------------------------------------

    def queries(self, *key: str) -> Changes:
        """The queries by change, those that won most first: `comparison.queries("neural", "ndcg@10")`.

        Each has both values and the change; `.explain()` shows which items moved, if the runs are at hand.
        """
        return changes_of(self, self._one(key))

    def slices(self, by: str | Groups, *key: str) -> Slices:
        """The differences by group of queries, and a test of whether the groups differ at all.

        by: each query's group, as a dict or in order. Groups of less than 20 queries are one, `other`. key: a run, a
        metric or both, if not all are wanted.
        """
        return slices_of(self, self._groups(by), self._some(key))

    def leaderboard(self, metric: str | None = None) -> Leaderboard:
        """The runs by their means, with the ranks that each may have, and those that cannot be told from the best."""
        if metric is None and len(self.labels) > 1:
            raise ValueError(f"name one of the metrics: {', '.join(self.labels)}")
        return leaderboard_of(self, self.labels[0] if metric is None else label_of(metric, self.samples))

    def plot(self, kind: str, *key: str, by: str | Groups | None = None) -> Plot:
        """A picture: one of `compare.plot_kinds.KINDS`, as "forest", or a metric by cutoff, as "ndcg@{1..100}".

        key: a run and a metric, where there are several: `comparison.plot("queries", "neural", "ndcg@10")`. by: each
        query's group, for "slices".
        """
        if "@" in kind:
            name, labels, ks = cutoffs_of(kind)
            return plots.by_cutoff(self.by_other(labels)._single(), labels, ks, name)
        return plots.plot_of(self, kind, key, self._by if by is None else by)

    def by_other(self, labels: Sequence[str]) -> Comparison:
        """The same runs by other metrics, of the same lists, each by itself."""
        systems = {name: [result.more(labels)] for name, result in self._single().items()}
        clusters = None if self.paired.clusters is None else self.paired.clusters.tolist()
        rules = self.rules._replace(primary=None, correction="none", margin=None, test="t")
        return Comparison(Paired(systems, clusters), labels, self.baseline, rules)

    def _single(self) -> dict[str, Means]:
        """The result of each run; refused where there are several of one."""
        for name, results in self.paired.systems.items():
            if len(results) > 1:
                raise ValueError(f"{name} has several runs; plot one of them")
        return {name: results[0] for name, results in self.paired.systems.items()}

    def power(self, difference: float) -> dict[tuple[str, ...], float]:
        """How often a true difference of this size would be found, by run and metric."""
        return {self._key(of): of.power(difference) for of in self}

    def needed(self, difference: float, power: float = 0.8) -> dict[tuple[str, ...], int]:
        """How many queries like these would find a true difference of this size so often, by run and metric."""
        return {self._key(of): of.needed(difference, power) for of in self}

    def detectable(self, power: float = 0.8, queries: int | None = None) -> dict[tuple[str, ...], float]:
        """The difference that would be found so often, by run and metric; queries: with so many like these."""
        return {self._key(of): of.detectable(power, queries) for of in self}

    def probabilities(self, margin: float = 0.0) -> dict[tuple[str, ...], dict[str, float]]:
        """How likely each run is worse, the same within the margin, and better, by run and metric."""
        return {self._key(of): of.probabilities(margin) for of in self}

    def _key(self, of: Difference) -> tuple[str, ...]:
        return (of.run, of.metric) if self.baseline is not None else (of.baseline, of.run, of.metric)

    def _one(self, key: tuple[str, ...]) -> Difference:
        found = self._some(key)
        if len(found) != 1:
            like = self._key(self.differences[0])
            raise ValueError(f"{key!r} names {len(found)} differences; name a run and a metric, as {like}")
        return found[0]

    def _some(self, key: tuple[str, ...]) -> list[Difference]:
        if not key:
            return list(self)
        runs = [name for name in key if name in self.names]
        metrics = {label_of(name, self.samples) for name in key if name not in self.names}
        return [of for of in self if self._is_of(of, runs) and (not metrics or of.metric in metrics)]

    def _groups(self, by: str | Groups) -> list[Hashable]:
        if isinstance(by, str):
            if self.origin is None:
                raise ValueError(f"by={by!r}: these are results, whose truth is not at hand; give each query's group")
            by = self.origin.column(by)
        return groups_in_order(by, self.paired.queries, "by")

    # -- what it says ----------------------------------------------------------------------------------------

    @property
    def warnings(self) -> dict[tuple[str, ...], tuple[Doubt, ...]]:
        """What should be known before a difference is believed, by run and metric, where there is anything."""
        return {self._key(of): of.warnings for of in self if of.warnings}

    @property
    def verdicts(self) -> dict[tuple[str, ...], str]:
        """The verdicts by run and metric."""
        return {self._key(of): of.verdict for of in self}

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
                for label, sample in self.samples.items()
            },
            "differences": [difference.to_dict() for difference in self],
            "remarks": self.remarks(),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def _columns(self) -> dict[str, Any]:
        names = ("metric", "baseline", "run", "first", "second", "difference", "relative", "low", "high", "p",
                 "adjusted", "wins", "ties", "losses", "queries", "verdict")  # fmt: skip
        return {name: [getattr(difference, name) for difference in self] for name in names}

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        percent = f"{100 * self.rules.confidence:g} % interval"
        head = ["metric", "run", *(["than"] if self.baseline is None else []), "mean", "difference", percent, "p",
                "adjusted", "better", "same", "worse", "verdict"]  # fmt: skip
        out = [head]
        for label, sample in self.samples.items():
            name = label
            if self.baseline is not None:
                mean = sample.means[self.names.index(self.baseline)]
                out.append([name, self.baseline, number(mean), *[""] * (len(head) - 3)])
                name = ""
            for of in self:
                if of.metric == label:
                    out.append([name, *self._cells(of)])
                    name = ""
        return out

    def _cells(self, of: Difference) -> list[str]:
        known = not math.isnan(of.low)
        return [
            of.run, *([of.baseline] if self.baseline is None else []), number(of.second), signed(of.difference),
            f"{signed(of.low)} {signed(of.high)}" if known else "", p_value(of.p), p_value(of.adjusted),
            str(of.wins), str(of.ties), str(of.losses), of.verdict,
        ]  # fmt: skip

    def _align(self, rows: Rows) -> str:
        return "".join("<" if name in ("metric", "run", "than", "group", "verdict") else ">" for name in rows[0])

    @property
    def _left(self) -> str:  # type: ignore[override]
        return "<<" if self.baseline is not None else "<<<"

    def answer(self) -> Answer:
        """What is printed."""
        below = () if self._by is None else (self.slices(self._by).answer(),)
        return replace(super().answer(), below=below, paper=self._paper())

    def remarks(self) -> list[str]:
        """The test, what would have been found, and what should be known before this is believed."""
        doubts = [*general_doubts(self), *self._told()]
        return [*self._method(), *self._findable(), *self._spread(), *self._of_slices(), *doubts, self._origin()]

    def defined(self) -> list[str]:
        """What the metrics mean."""
        return summarize(list(self.definitions.values()))[:-1]

    def _method(self) -> list[str]:
        rules, n = self.rules, sorted({int(sample.kept.sum()) for sample in self.samples.values()})
        deciding = sum(bool(of.verdict) for of in self)
        count = queries(n[0]) if len(n) == 1 else f"{n[0]:,} to {queries(n[-1])}"
        test = rules.paired_test
        over = f" over {deciding} comparison{'s' * (deciding != 1)}" if rules.adjustment.corrects else ""
        chance = f" ({rules.resamples:,} flips, seed {rules.seed})" if rules.is_random else ""
        clusters = f" in {int(self.paired.clusters.max()) + 1:,} clusters" if self.paired.clusters is not None else ""
        lines = [f"{count}{clusters}; {test.words}, {rules.adjustment.words}{over}{chance}"]
        if test.has_interval and not test.is_student:
            lines.append("the intervals are Student's, of the mean difference")
        if self.paired.alone:
            lines.append(f"{self.paired.alone:,} queries that not all runs have are left out")
        if rules.population is not None:
            whole = n[-1] == rules.population
            lines.append("these are all queries, so that nothing is left to test" if whole else
                         f"a sample of {rules.population:,} queries in all")  # fmt: skip
        return lines

    def _findable(self) -> list[str]:
        """For each run, what difference would have been found."""
        found: dict[str, list[str]] = {}
        for of in self:
            if of.verdict and math.isfinite(of.low) and of.error > 0:
                name = of.run if self.baseline is not None else f"{of.run} than {of.baseline}"
                found.setdefault(name, []).append(f"{of.detectable():.3g} ({of.metric})")
        if len(found) > _MANY:
            return []
        return [f"{run}: differences of {_listed(several)} and more would be found in 80 of 100 such samples"
                for run, several in found.items()]  # fmt: skip

    def _spread(self) -> list[str]:
        lines = []
        for name in self.names:
            for label in self.labels:
                means = self.paired.seeds(name, label)
                if means:
                    lines.append(
                        f"{name}: {len(means)} runs, whose {label} is {number(min(means))} to {number(max(means))} "
                        f"(standard deviation {np.std(means, ddof=1):.4f}); their mean is compared"
                    )
        return lines

    def _of_slices(self) -> list[str]:
        return [] if self._by is None else self.slices(self._by).remarks()

    def _told(self) -> list[str]:
        """The warnings, those that say the same together."""
        found: dict[tuple[str, str], list[str]] = {}
        for of in self:
            pair = of.run if self.baseline is not None else f"{of.run} than {of.baseline}"
            for doubt in of.warnings:
                found.setdefault((pair, doubt.sentence), []).append(of.metric)
        lines = [f"{pair} ({', '.join(metrics)}): {sentence}" for (pair, sentence), metrics in found.items()]
        more = [f"{len(lines) - _MANY} more warnings: comparison.warnings has all"] if len(lines) > _MANY else []
        return [*lines[:_MANY], *more]

    def _origin(self) -> str:
        return summarize(list(self.definitions.values()))[-1]

    def _tips(self) -> dict[str, str]:
        return {label: definition.cite for label, definition in self.definitions.items()}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write to a file, as its name ends or as `format` says: txt, md, tex, html, csv, tsv, json, jsonl, parquet."""
        write_answer(self, path, result_format(path, format), {})

    def report(self) -> str:
        """A page to look at: answers, pictures, queries, definitions; one file of HTML, which asks nobody."""
        return report_of(self)

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.render("markdown")

    def to_latex(self) -> str:
        """A table for a paper: the means, best ones in bold, a dagger where a run is better than the baseline."""
        return self.render("latex")

    def _printed(self, at: int) -> list[Latex]:
        """A run's row of a paper's table."""
        name = self.names[at]
        row = [latex(name)]
        for label, sample in self.samples.items():
            shown = [number(mean) for mean in sample.means]
            oriented = self.directions[label] * sample.means
            is_best = bool(self.directions[label]) and shown[at] == shown[int(np.argmax(oriented))]
            cell = rf"\textbf{{{latex(shown[at])}}}" if is_best else latex(shown[at])
            marks = {"better": r"$^{\dagger}$", "worse": r"$^{\ddagger}$"}
            verdict = self[name, label].verdict if self.baseline not in (None, name) else ""
            row.append(Latex(cell + marks.get(verdict, "")))
        return row

    def _paper(self) -> Paper:
        """A paper's table."""
        level = f"p at most {self.rules.level:.3g}"
        said = [f"Means of {self._method()[0]}.", "Bold: the best, and all that are equal to it as printed."]
        if self.baseline is not None:
            said.append(f"A dagger: better than {self.baseline} ({level} after correction), a double dagger: worse.")
        body = [self._printed(at) for at in range(len(self.names))]
        defined = [f"{line}." for line in self.defined()]
        return Paper(["run", *self.labels], body, " ".join(said), defined, f"{self._origin()}.")


_DIRECTIONS = {"higher": 1, "lower": -1, "neither": 0}
_MANY = 12  # lines of one kind under a table


def _listed(several: Sequence[str]) -> str:
    return " and ".join([", ".join(several[:-1]), several[-1]]) if len(several) > 1 else several[0]
