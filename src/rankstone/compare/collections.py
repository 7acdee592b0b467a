"""Comparisons on several collections: one per collection, and one of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rankstone.compare.comparison import Comparison
from rankstone.compare.differences import Difference, Experiment, adjusted_family, decided
from rankstone.compare.paper import Block, Paper
from rankstone.compare.summary import sentences_of, split_convention
from rankstone.errors import InputError
from rankstone.results.answer import Answer, Records, comparative, number, p_value, queries, signed
from rankstone.results.definition import label_of, summarize
from rankstone.results.schema import stamp
from rankstone.statistics.anytime import confidence_sequence
from rankstone.statistics.combination import COMBINATIONS, combine
from rankstone.statistics.corrections import CORRECTIONS
from rankstone.statistics.paired import Fit

T = TypeVar("T")


@dataclass(frozen=True)
class CollectionDifference:
    """The difference between two runs on one collection, or on all of them.

    Attributes
    ----------
    collection : str
        Name of the collection; "stratified" or "random_effects" for all of them.
    metric, baseline, run : str
        What is compared.
    first, second : float
        Means of the baseline and of the run; over collections, the mean of their means.
    difference : float
        `second - first`; of random effects, weighted by their precision.
    low, high : float
        Its confidence interval.
    p, adjusted : float
        p-value, and p-value adjusted for all collections, runs and metrics.
    queries : int
        Number of queries.
    verdict : str
        As in `Difference`.
    spread : float
        Standard deviation of the true differences between collections (tau), of random effects; else NaN.
    """

    collection: str
    metric: str
    baseline: str
    run: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    queries: int
    verdict: str
    spread: float = math.nan


class CollectionsComparison(Comparison):
    """Runs compared on several collections.

    `comparison["robust", "neural", "ap"]` is the difference on a collection, `comparison["stratified", "neural", "ap"]`
    and `comparison["random_effects", "neural", "ap"]` are those of all. `comparison["robust"]` is the comparison on
    that collection alone, with its queries, slices, plots and power. Iterating yields all differences.

    Attributes
    ----------
    collections : dict of str to Comparison
        The comparisons of the collections.
    correction : str
        The correction for all collections, runs and metrics.
    """

    _records: Any
    _names = tuple(name for name in CollectionDifference.__dataclass_fields__ if name != "spread")  # type: ignore[assignment]

    def __init__(self, collections: Mapping[str, Comparison], correction: str) -> None:
        self.collections, self.correction = dict(collections), correction
        for name in {*COMBINATIONS} & collections.keys():
            raise InputError(f"no collection can be called {name!r}: it is a comparison over all of them")
        first, *others = self.collections.values()
        for other in others:
            if other.metrics != first.metrics or other.baseline != first.baseline:
                raise InputError("the collections differ in their metrics or in their baseline")
        self._records = tuple(self._differences())

    @property
    def _experiment(self) -> Experiment:  # type: ignore[override]
        first, names = next(iter(self.collections)), ", ".join(map(repr, self.collections))
        raise InputError(f"this is about one collection; name it, as comparison[{first!r}], of {names}")

    _command = ""

    @property
    def _common(self) -> Experiment:
        return next(iter(self.collections.values()))._experiment

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs of all collections."""
        return tuple(dict.fromkeys(name for comparison in self.collections.values() for name in comparison.runs))

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """The comparison of a collection, or a difference by collection, run (or two) and metric."""
        if isinstance(key, str):
            return self.collections[key]
        where, *names = key
        runs = [name for name in names if name in self.runs]
        labels = [label_of(name, dict.fromkeys(self.metrics)) for name in names if name not in self.runs]
        fitting = [
            of for of in self._records if of.collection == where and (not labels or of.metric == labels[0])
            and ([of.baseline, of.run] == runs or (len(runs) == 1 and self.baseline is not None and of.run == runs[0]))
        ]  # fmt: skip
        if len(fitting) != 1:
            raise KeyError(f"{key!r}: name a collection, a run (without a baseline two) and a metric")
        return fitting[0]

    # -- differences -----------------------------------------------------------------------------------------

    def _differences(self) -> Iterator[CollectionDifference]:
        single = [(name, of) for name, comparison in self.collections.items() for of in comparison]
        decides = [bool(of.verdict) for _, of in single]
        adjusted_p = _adjusted([of.p for _, of in single], decides, self.correction)
        equivalence = _adjusted([_equivalence(of, of) for _, of in single], decides, self.correction)
        for (name, of), p, within in zip(single, adjusted_p, equivalence, strict=True):
            data = self.collections[name]._experiment
            verdict = decided(data, replace(of, adjusted=p), within)
            yield CollectionDifference(
                name, of.metric, of.baseline, of.run, of.first, of.second, of.difference, of.low, of.high, of.p, p,
                of.queries, verdict,
            )  # fmt: skip
        by_pair: dict[tuple[str, str, str], list[Difference]] = {}
        for _, of in single:
            by_pair.setdefault((of.metric, of.baseline, of.run), []).append(of)
        whole = [several for several in by_pair.values() if len(several) == len(self.collections)]
        for method in COMBINATIONS:
            combined = [_combined(method, several) for several in whole]
            decides = [bool(several[0].verdict) for several in whole]
            adjusted_p = _adjusted([part.p for part, _ in combined], decides, self.correction)
            equivalence = _adjusted([within for _, within in combined], decides, self.correction)
            for (part, _), several, p, within in zip(combined, whole, adjusted_p, equivalence, strict=True):
                yield _decided(part, several[0], p, within)

    # -- answers ---------------------------------------------------------------------------------------------

    @property
    def verdicts(self) -> dict[tuple[str, ...], str]:
        """Verdicts by collection, run and metric."""
        pairs = self.baseline is None
        return {(of.collection, *[of.baseline] * pairs, of.run, of.metric): of.verdict for of in self._records}

    @property
    def caveats(self) -> dict[tuple[str, ...], Any]:
        """Caveats by collection, run and metric, where there are any."""
        return {
            (name, *key): several
            for name, comparison in self.collections.items()
            for key, several in comparison.caveats.items()
        }

    @property
    def headline(self) -> str:
        """The verdicts over all collections, by each way to combine them; in one text if they are the same."""
        by_method: dict[str, list[CollectionDifference]] = {
            method: [of for of in self._records if of.collection == method and of.verdict] for method in COMBINATIONS
        }
        names = {method.replace("_", " "): several for method, several in by_method.items() if several}
        if len({tuple((of.baseline, of.run, of.metric, of.verdict) for of in each) for each in names.values()}) == 1:
            largest = [max(each, key=lambda of: of.adjusted) for each in zip(*names.values(), strict=True)]
            names = {" and ".join(names): largest}
        texts = [f"{name}: {sentences_of(each, self._deciding, self.baseline, True)}" for name, each in names.items()]
        return " ".join(texts) or "No verdict over all collections."

    @property
    def _deciding(self) -> list[str]:
        """The metrics that have verdicts."""
        return [label for label in self.metrics if any(of.metric == label and of.verdict for of in self._records)]

    @cached_property
    def _summary(self) -> Answer:
        data = self._common
        percent = f"{100 * data.rules.confidence:g} % interval"
        than = ["than"] * (self.baseline is None)
        table = [["metric", "run", *than, "collection", "mean", "difference", "verdict", percent, "p", "adjusted",
                  "queries"]]  # fmt: skip
        for label in self.metrics:
            for pair in dict.fromkeys((of.baseline, of.run) for of in self._records):
                rows = [of for of in self._records if of.metric == label and (of.baseline, of.run) == pair]
                for at, of in enumerate(rows):
                    names = [label, of.run, *([of.baseline] if than else [])] if not at else [""] * (2 + len(than))
                    table.append([
                        *names, of.collection.replace("_", " "), number(of.second), signed(of.difference), of.verdict,
                        f"{signed(of.low)} {signed(of.high)}", p_value(of.p), p_value(of.adjusted), f"{of.queries:,}",
                    ])  # fmt: skip
        name, choices = split_convention(self.definitions)
        notes = [
            f"{len(self.collections)} collections; {data.rules.paired_test.words}, {self._words}; {name} definitions"
            f"{f' with {choices}' if choices else ''}",
            *(f"{method.replace('_', ' ')}: {row.words}" for method, row in COMBINATIONS.items()),
        ]
        if data.rules.paired_test.anytime:
            notes.append("random effects have no interval for every look")
        elif not data.rules.paired_test.is_student:
            notes.append("over all collections: Student's t, of the mean differences")
        spreads = [f"{of.metric} {of.run} {of.spread:.4f}" for of in self._records if of.spread > 0]
        if spreads:
            notes.append(f"differences vary between collections (tau): {', '.join(spreads[:6])}")
        several = {(name, line) for name, comparison in self.collections.items() for line in comparison.notes[2:]}
        notes += [f"{name}: {line}" for name, line in sorted(several)][:12]
        *defined, origin = summarize(list(self.definitions.values()))
        return Answer(
            table, self.headline, notes, [*defined, origin], "<" * (3 + len(than)), 3 + len(than), ("p", "queries"),
            paper=self._paper().table(), more="print(comparison.definitions)",
        )  # fmt: skip

    @property
    def _words(self) -> str:
        over = sum(bool(of.verdict) for of in self._records if of.collection in self.collections)
        return f"{CORRECTIONS[self.correction].words} over {over} comparisons of all collections"

    def _paper(self) -> Paper:
        data = self._common
        blocks = []
        for name, comparison in self.collections.items():
            samples = comparison._experiment.samples
            means = {label: dict(zip(comparison.runs, samples[label].means.tolist(), strict=True)) for label in samples}
            blocks.append(Block(name, means, data.directions, _verdicts(self._records, name)))
        everywhere = [run for run in self.runs if all(run in block.means[self.metrics[0]] for block in blocks)]
        means = {label: {run: float(np.mean([block.means[label][run] for block in blocks])) for run in everywhere}
                 for label in self.metrics}  # fmt: skip
        blocks.append(Block("all", means, data.directions, _verdicts(self._records, "stratified")))
        counts = [f"{name} ({queries(len(of._experiment.paired.queries))})" for name, of in self.collections.items()]
        *defined, origin = summarize(list(self.definitions.values()))
        test = f"{data.rules.paired_test.words}, stratified over all, {self._words}, p at most {data.rules.level:.3g}"
        lines = [f"{line}." for line in defined]
        return Paper(self.runs, self.baseline, blocks, test, ", ".join(counts), lines, f"{origin}.")

    def _columns(self) -> dict[str, Any]:
        return Records._columns(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the differences, and the comparison of each collection."""
        return {
            **stamp("collections"),
            "correction": self.correction,
            "differences": [dict(vars(of)) for of in self._records],
            "collections": {name: comparison.to_dict() for name, comparison in self.collections.items()},
            "notes": self.notes,
        }


def _adjusted(p: Sequence[float], decides: Sequence[bool], correction: str) -> list[float]:
    """p-values adjusted as one family; NaN where there is none, or no verdict."""
    return adjusted_family(np.where(decides, p, math.nan), CORRECTIONS[correction]).tolist()


def _equivalence(of: Difference, fit: Difference | Fit) -> float:
    """p-value of the two one-sided tests; NaN without a margin."""
    margin = of._experiment.rules.margin_of(of.metric)
    return math.nan if margin is None else max(float(fit.above(-margin)), float(fit.below(margin)))


def _combined(method: str, several: Sequence[Difference]) -> tuple[CollectionDifference, float]:
    """The differences of all collections in one, and the p-value of equivalence; NaN where one has no error."""
    of, nan = several[0], math.nan
    if of._is_log:
        raise InputError(f"{of.metric}: differences of geometric means are not combined; choose averaging='macro'")
    freedom = [each._student.freedom for each in several]
    first, second = (float(np.mean([getattr(each, side) for each in several])) for side in ("first", "second"))
    part = CollectionDifference(method, of.metric, of.baseline, of.run, first, second, second - first, nan, nan, nan,
                                nan, sum(each.queries for each in several), "")  # fmt: skip
    if min(freedom) < 1 or not all(math.isfinite(each.error) for each in several):
        return part, nan
    fit: Fit
    fit, spread = combine([each.difference for each in several], [each.error for each in several], freedom, method)
    if of.is_anytime:
        if not COMBINATIONS[method].anytime:
            return replace(part, difference=float(fit.mean), spread=spread), nan
        rules, units = of._experiment.rules, sum(each + 1 for each in freedom)
        fit = confidence_sequence(fit.mean, fit.error, units, confidence=rules.confidence, tuning=rules.tuning)
    low, high = map(float, fit.interval(of._experiment.rules.confidence))
    part = replace(part, difference=float(fit.mean), low=low, high=high, p=float(fit.p()), spread=spread)
    return part, _equivalence(of, fit)


def _decided(part: CollectionDifference, of: Difference, p: float, within: float) -> CollectionDifference:
    """With its adjusted p-value and the verdict."""
    rules = of._experiment.rules
    if not of.verdict or math.isnan(part.p):
        return part
    verdict = comparative(part.difference, of.direction) if p <= rules.level else "inconclusive"
    if within <= rules.level:
        verdict = f"equivalent (margin {rules.margin_of(of.metric):g})"
    return replace(part, adjusted=p, verdict=verdict)


def _verdicts(records: Sequence[CollectionDifference], name: str) -> dict[tuple[str, str, str], str]:
    return {(of.baseline, of.run, of.metric): of.verdict for of in records if of.collection == name}


def compare_collections(
    collections: Mapping[str, T], compare: Callable[[T, str], Comparison], correction: str | None
) -> CollectionsComparison:
    """Compare on each collection, by a function of its data and the correction, and on all of them."""
    name = correction or "holm"
    if name in CORRECTIONS and CORRECTIONS[name].p is not None:
        allowed = ", ".join(repr(other) for other, row in CORRECTIONS.items() if row.p is None)
        raise InputError(f"correction={name!r} is for one collection; for several choose from {allowed}")
    return CollectionsComparison({key: compare(of, name) for key, of in collections.items()}, name)
