"""Results of several systems on the same queries, paired by query id."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.ties import TIES
from rankstone.errors import InputError
from rankstone.results.definition import groups_in_order, ids_alike
from rankstone.results.difference_bounds import UNKNOWN, DifferenceBounds
from rankstone.statistics.intervals import Interval, interval_of
from rankstone.statistics.student_t import without_groups

if TYPE_CHECKING:
    from rankstone.compare.config import Groups
    from rankstone.evaluate.means import Contributions
    from rankstone.results.result import Result


@dataclass(frozen=True, eq=False)
class Sample:
    """One metric of several systems: a row per query that counts in all of them, a column per system."""

    label: str
    values: Floats  # contribution of each query to the mean: their mean is the mean
    own: Floats  # the metric per query
    means: Floats
    mask: Bools  # which of all queries these are
    clusters: Ints | None  # codes from 0; queries of one cluster are not independent
    is_log: bool  # whether the values are logarithms, for a geometric mean


class Paired:
    """Results of several systems on the same queries. A system has one result, or one per seed or fold."""

    def __init__(self, systems: Mapping[str, Sequence[Result]], clusters: Groups | None) -> None:
        self.systems = {name: tuple(results) for name, results in systems.items()}
        every = [result for results in self.systems.values() for result in results]
        self.first = every[0]
        queries, *others = ids_alike([result.queries for result in every])
        positions = {}  # of each query in a result, where it has another order
        for result, ids in zip(every[1:], others, strict=True):
            if ids != queries:
                positions[id(result)] = {query: place for place, query in enumerate(ids)}
        if positions:  # results with unjudged queries, or in another order
            positions.setdefault(id(self.first), {query: place for place, query in enumerate(queries)})
            queries = [query for query in queries if all(query in at for at in positions.values())]
        self.queries = queries
        self.unpaired = max(len(result.queries) for result in every) - len(queries)  # queries that some results lack
        self._places: dict[int, Ints] = {
            at: np.array([places[query] for query in queries], dtype=np.int64) for at, places in positions.items()
        }
        self.clusters = None if clusters is None else codes_of(groups_in_order(clusters, queries, "clusters"))

    @cached_property
    def order(self) -> Ints:
        """A canonical order of the queries, so that random signs do not depend on the order of the rows."""
        names = list(map(repr, self.queries))
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)

    def sample(self, label: str, inside: Bools | None = None) -> Sample:
        """One metric; inside: a subset of the queries."""
        plan = self.first._measurement.plan(label)
        if inside is None:
            if plan.averaging.plain and (plain := self._plain(label)) is not None:
                return plain
            inside = np.ones(len(self.queries), dtype=bool)
        if plan.is_pooled:
            return self._pooled(label, inside)
        shares = {name: self._shares(name, label) for name in self.systems}
        mask = np.logical_and.reduce([inside, *(each.counted for several in shares.values() for each in several)])
        for name, several in shares.items():
            for each in several:
                self._require_numbers(label, name, mask & ~(np.isfinite(each.top) & np.isfinite(each.bottom)))
        count = int(np.count_nonzero(mask))
        values, own, means = np.empty((count, len(shares))), np.empty((count, len(shares))), np.empty(len(shares))
        for at, (name, several) in enumerate(shares.items()):
            within = [each.only(mask) for each in several]
            values[:, at] = _mean([each.influence() for each in within]) if count else 0.0
            means[at] = _mean([each.mean() for each in within])
            own[:, at] = self._own(name, label)[mask]
        clusters = None if self.clusters is None else codes_of(self.clusters[mask].tolist())
        return Sample(label, values, own, means, mask, clusters, plan.averaging.logarithms)

    def _plain(self, label: str) -> Sample | None:
        """The same by a shorter way, if every query counts in every run and means are plain; else None."""
        if any(folds is not None for folds in self._folds.values()):
            return None
        values = np.column_stack([self._own(name, label) for name in self.systems])
        if np.isnan(values).any():
            return None
        means = np.array([_mean([result[label] for result in results]) for results in self.systems.values()])
        if self.unpaired:
            means = values.mean(axis=0)
        return Sample(label, values, values, means, np.ones(len(values), dtype=bool), self.clusters, is_log=False)

    def interval(
        self,
        name: str,
        label: str,
        confidence: float = 0.95,
        method: str | None = None,
        resamples: int = 9999,
        seed: int = 0,
    ) -> Interval:
        """The confidence interval of a system's mean."""
        sample = self.sample(label)
        if not len(sample.values):
            raise InputError(f"{label}: there is no query to average over")
        values, clusters = sample.values[:, list(self.systems).index(name)], sample.clusters
        interval = interval_of(values, clusters, confidence, method, resamples, seed)
        unit = np.exp if sample.is_log else float
        low, high, mean = (float(unit(value)) for value in (interval.low, interval.high, interval.mean))
        plan = self.first._measurement.plan(label)
        if plan.of_all_lists:  # the interval may exceed the bounds of the metric
            lowest, highest = plan.metric.declaration.bounds
            low, high = max(low, lowest), min(high, highest)
        return interval._replace(low=low, high=high, mean=mean, error=float(interval.error))

    def seeds(self, name: str, label: str) -> list[float]:
        """The means of a system's results, one per seed; empty for a single result and for folds."""
        results = self.systems[name]
        return [] if len(results) == 1 or self._folds[name] is not None else [result[label] for result in results]

    def present(self, name: str) -> Bools | None:
        """Which queries a system has; None where unknown."""
        masks = [
            self._of(result, result._measurement.present)
            for result in self.systems[name]
            if result._measurement.present is not None
        ]
        return None if len(masks) < len(self.systems[name]) else np.logical_or.reduce(masks)

    def tie_ends(self, label: str, first: str, second: str) -> tuple[float, float] | None:
        """The lowest and highest difference over all orders of tied items; None if they are equal."""
        sides = self.systems[first], self.systems[second]
        averaged = TIES[self.first._measurement.plan(label).choices["ties"]].averaged  # averaged over the orders
        if averaged or not any(result._measurement.has_ties for results in sides for result in results):
            return None
        ends = [[(result.ties[label].lowest, result.ties[label].highest) for result in results] for results in sides]
        (low_a, high_a), (low_b, high_b) = (np.mean(several, axis=0) for several in ends)
        low, high = float(low_b - high_a), float(high_b - low_a)
        return (low, high) if low < high else None

    def tie_range(self, label: str, first: str, second: str) -> tuple[float, float] | None:
        """The same, if both signs are among the differences; else None."""
        ends = self.tie_ends(label, first, second)
        return ends if ends is not None and ends[0] <= 0 <= ends[1] else None

    @cached_property
    def is_bounded(self) -> bool:
        """Whether differences have bounds over the grades of unjudged items."""
        return all(result._measurement.is_bounded for results in self.systems.values() for result in results)

    def bounds(self, sample: Sample, first: str, second: str) -> DifferenceBounds:
        """The lowest and highest difference over all grades of unjudged items; NaN where unknown."""
        if self.unpaired or not sample.mask.all() or len(self.systems[first]) + len(self.systems[second]) > 2:
            return UNKNOWN
        (a,), (b,) = self.systems[first], self.systems[second]
        places = self._places.get(id(a)), self._places.get(id(b))
        bounds = a._measurement.difference_bounds(a._measurement.plan(sample.label), b._measurement, places)
        means = dict(zip(self.systems, sample.means.tolist(), strict=True))
        return bounds.around(means[second] - means[first])

    # -- the results of a system combined ---------------------------------------------------------------------

    def _of(self, result: Result, values: Any) -> Any:
        """Values of a result in the order of the queries."""
        places = self._places.get(id(result))
        return values if places is None else values[places]

    def _shares(self, name: str, label: str) -> list[Contributions]:
        """The contributions of each query, per seed; folds are combined."""
        shares = []
        for result in self.systems[name]:
            each, places = result._measurement.shares(label), self._places.get(id(result))
            shares.append(each if places is None else each.only(places))
        folds = self._folds[name]
        if folds is None:
            return shares
        top, bottom, mask = (
            np.choose(folds, [getattr(each, name) for each in shares]) for name in ("top", "bottom", "counted")
        )
        return [replace(shares[0], top=top, bottom=bottom, counted=mask)]

    def _own(self, name: str, label: str) -> Floats:
        values = [self._of(result, result.per_query[label]) for result in self.systems[name]]
        folds = self._folds[name]
        return _mean(values) if folds is None else np.choose(folds, values)

    @cached_property
    def _folds(self) -> dict[str, Ints | None]:
        """By system: the number of the fold that has each query; None if its results are not folds."""
        return {name: self._folds_of(name, results) for name, results in self.systems.items()}

    def _folds_of(self, name: str, results: Sequence[Result]) -> Ints | None:
        if len(results) == 1 or not any(result.account.missing for result in results):
            return None
        masks = [result._measurement.present for result in results]
        if any(mask is None for mask in masks):
            raise InputError(
                f"{name}: some of its runs lack queries; saved results do not record whether they are folds: compare "
                "the runs themselves"
            )
        has = np.array([self._of(result, mask) for result, mask in zip(results, masks, strict=True)])
        return None if (has.sum(axis=0) > 1).any() else has.argmax(axis=0)

    def _require_numbers(self, label: str, name: str, bad: Bools) -> None:
        if bad.any():
            query = self.queries[int(np.argmax(bad))]
            raise InputError(
                f"{label}: query {query!r} of {name} has no number (NaN), so the means cannot be compared; "
                "choose undefined='skip' or a number"
            )

    # -- metrics over all lists at once --------------------------------------------------------------------------

    def _pooled(self, label: str, inside: Bools) -> Sample:
        """The same for a metric that is not a mean over queries: pseudo-values by the grouped jackknife."""
        groups = (
            self._jackknife_groups(inside, self.first._measurement.plan(label).jackknife_groups)
            if self.clusters is None
            else self.clusters[inside]
        )
        codes = codes_of(groups.tolist())
        places, many = np.flatnonzero(inside), int(codes.max(initial=-1)) + 1
        values, means = np.empty((len(places), len(self.systems))), np.empty(len(self.systems))
        for at, (name, results) in enumerate(self.systems.items()):
            if not all(result._measurement.has_lists for result in results) or self._folds[name] is not None:
                raise InputError(
                    f"{label} is computed over all rows at once: compare the runs, not saved results or folds"
                )
            means[at] = self._mean_within(results, label, places)
            without = [self._mean_within(results, label, places[codes != group]) for group in range(many)]
            values[:, at] = without_groups(means[at], without, codes)
        own = np.column_stack([self._own(name, label)[inside] for name in self.systems])
        return Sample(label, values, own, means, inside, codes, is_log=False)

    def _mean_within(self, results: Sequence[Result], label: str, places: Ints) -> float:
        means = []
        for result in results:
            here = self._places.get(id(result))
            mask = np.zeros(len(result.queries), dtype=bool)
            mask[places if here is None else here[places]] = True
            means.append(result._measurement.mean_of(label, mask))
        return float(_mean(means))

    def _jackknife_groups(self, inside: Bools, many: int) -> Ints:
        rank = np.empty(len(self.queries), dtype=np.int64)
        rank[self.order] = np.arange(len(self.queries))
        within = np.argsort(np.argsort(rank[inside]))
        return within * min(many, len(within)) // max(len(within), 1)


def _mean(several: Sequence[Any]) -> Any:
    return several[0] if len(several) == 1 else sum(several) / len(several)


def codes_of(groups: Sequence[Hashable]) -> Ints:
    """Integer codes from 0 for groups, in order of appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
