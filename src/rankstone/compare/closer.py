"""A closer look at a comparison: its queries, its slices, its leaderboard."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import fdtrc

from rankstone.align.alignment import Floats, Ints
from rankstone.compare.caveats import FEW
from rankstone.compare.pairing import codes_of
from rankstone.results.answer import Answer, DataPage, number, p_said, p_value, queries, signed
from rankstone.statistics.adjust import adjust, step_down

if TYPE_CHECKING:
    from rankstone.compare.comparison import Comparison
    from rankstone.compare.difference import Difference

_SHOWN = 20  # queries of a printed table
OTHER = "other"


# -- queries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A query whose value is another in the second run."""

    query: Any
    first: float
    second: float
    change: float
    _of: Changes = field(repr=False, compare=False)

    def explain(self) -> Any:
        """Which items moved, and what each move earned or cost."""
        return self._of.explain(self.query)


class Changes(DataPage):
    """Queries by change, those that won most first."""

    def __init__(self, comparison: Comparison, of: Difference, rows: Sequence[tuple[Any, float, float]]) -> None:
        self._comparison, self.difference = comparison, of
        self._changes = [Change(query, first, second, second - first, self) for query, first, second in rows]

    def __getitem__(self, at: int) -> Change:
        return self._changes[at]

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def explain(self, query: Any) -> Any:
        """Which items of a query moved, and what each move earned or cost."""
        of, origin = self.difference, self._comparison.origin
        if origin is None:
            raise ValueError("the runs of results are not at hand: rs.explain(truth, (a, b), metric, query=...)")
        return origin.explain((of.baseline, of.run), of.metric, query)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        columns = self._columns()
        return {"metric": self.difference.metric, **{name: list(values) for name, values in columns.items()}}

    def _columns(self) -> dict[str, Any]:
        names = self.difference.baseline, self.difference.run
        first, second = ("first", "second") if {"query", "change"} & set(names) else names
        return {
            "query": [change.query for change in self],
            first: [change.first for change in self],
            second: [change.second for change in self],
            "change": [change.change for change in self],
        }

    def rows(self) -> list[list[str]]:
        """The table that is printed: the most won and the most lost."""
        head, *body = super().rows()
        signs = [[*row[:-1], signed(change.change)] for row, change in zip(body, self, strict=True)]
        half = _SHOWN // 2
        return [head, *(signs if len(signs) <= _SHOWN else [*signs[:half], [], *signs[-half:]])]

    def answer(self) -> Answer:
        return replace(super().answer(), fixed=0)

    def remarks(self) -> list[str]:
        """What the table does not say."""
        of = self.difference
        hidden = max(len(self) - _SHOWN, 0)
        lines = [f"{of.metric}: {of.run} less {of.baseline}; {of.wins} better, {of.ties} same, {of.losses} worse"]
        return [*lines, *([f"{hidden:,} queries between them are not shown"] if hidden else [])]


def changes_of(comparison: Comparison, of: Difference) -> Changes:
    """The queries of a difference by change."""
    sample = comparison.samples[of.metric]
    first, second = (sample.own[:, comparison.names.index(name)] for name in (of.baseline, of.run))
    places = np.flatnonzero(sample.kept)
    queries, gain = comparison.paired.queries, (second - first) * (of.direction or 1)
    order = sorted(range(len(places)), key=lambda at: (-gain[at], repr(queries[places[at]])))
    return Changes(comparison, of, [(queries[places[at]], float(first[at]), float(second[at])) for at in order])


# -- slices --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slice:
    """A difference in one group of queries."""

    group: Any
    baseline: str
    run: str
    metric: str
    queries: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float  # by Benjamini and Hochberg


class Slices(DataPage):
    """Differences by group of queries; `differ` says how likely groups that do not differ would look so unlike."""

    _left = "<<<"

    def __init__(self, slices: Sequence[Slice], differ: dict[tuple[str, str, str], float], confidence: float) -> None:
        self._slices, self.differ, self._confidence = slices, differ, confidence

    def __iter__(self) -> Iterator[Slice]:
        return iter(self._slices)

    def __len__(self) -> int:
        return len(self._slices)

    def __getitem__(self, group: Any) -> Slice | list[Slice]:
        found = [one for one in self if one.group == group]
        if not found:
            raise KeyError(f"{group!r}; there are {', '.join(map(repr, dict.fromkeys(one.group for one in self)))}")
        return found[0] if len(found) == 1 else found

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = list(Slice.__dataclass_fields__)
        return {
            "slices": [{name: getattr(one, name) for name in names} for one in self],
            "differ": [{"baseline": a, "run": b, "metric": m, "p": p} for (a, b, m), p in self.differ.items()],
        }

    def _columns(self) -> dict[str, Any]:
        return {name: [getattr(one, name) for one in self] for name in Slice.__dataclass_fields__}

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        interval = f"{100 * self._confidence:g} % interval"
        head = ["metric", "run", "group", "queries", "difference", interval, "p", "adjusted"]
        several = len({one.baseline for one in self}) > 1
        return [head, *(
            [one.metric, f"{one.run} than {one.baseline}" if several else one.run, str(one.group), f"{one.queries:,}",
             signed(one.difference), f"{signed(one.low)} {signed(one.high)}", p_value(one.p), p_value(one.adjusted)]
            for one in self
        )]  # fmt: skip

    def remarks(self) -> list[str]:
        """Do the groups differ at all."""
        lines = [
            f"{run} ({metric}): the groups {'differ' if p <= 1 - self._confidence else 'are not shown to differ'} "
            f"(F test, {p_said(p)})"
            for (_, run, metric), p in self.differ.items()
            if not math.isnan(p)
        ]
        return [*lines, f"adjusted by Benjamini and Hochberg over {len(self)} slices"]


def slices_of(comparison: Comparison, groups: Sequence[Hashable], wanted: Sequence[Difference]) -> Slices:
    """Differences by group; small groups are one."""
    labels = large_groups(groups)
    names = sorted(set(labels), key=lambda group: (group == OTHER, str(group)))
    masks = {group: np.array([label == group for label in labels]) for group in names}
    found, differ = [], {}
    for of in wanted:
        found += [(group, comparison.within(of, mask)) for group, mask in masks.items()]
        sample = comparison.samples[of.metric]
        codes = codes_of([label for label, kept in zip(labels, sample.kept, strict=True) if kept])
        first, second = comparison.columns(of)
        differ[of.baseline, of.run, of.metric] = f_test(second - first, codes)
    p = np.array([part.p for _, part in found])
    known = ~np.isnan(p)
    p[known] = adjust(p[known], "bh")
    slices = [
        Slice(group, part.baseline, part.run, part.metric, part.queries, part.first, part.second, part.difference,
              part.low, part.high, part.p, adjusted)
        for (group, part), adjusted in zip(found, p.tolist(), strict=True)
    ]  # fmt: skip
    return Slices(slices, differ, comparison.rules.confidence)


def large_groups(groups: Sequence[Hashable]) -> list[Hashable]:
    """The groups, small ones as one."""
    sizes = Counter(groups)
    return [group if sizes[group] >= FEW else OTHER for group in groups]


def f_test(values: Floats, codes: Ints) -> float:
    """p of the test that the groups' means are equal, by one-way analysis of variance; NaN for one group."""
    n, many = len(values), int(codes.max(initial=-1)) + 1
    if many < 2 or n <= many:
        return math.nan
    sizes, sums = np.bincount(codes), np.bincount(codes, weights=values)
    means = sums / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (many - 1)
    within = float(((values - means[codes]) ** 2).sum()) / (n - many)
    if within == 0:
        return 1.0 if between == 0 else 0.0
    return float(fdtrc(many - 1, n - many, between / within))


# -- leaderboard ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a run stands."""

    rank: int
    run: str
    mean: float
    low: float
    high: float
    best_rank: int
    worst_rank: int
    with_the_best: bool  # it cannot be told from the best


class Leaderboard(DataPage):
    """Runs by their means."""

    _left = "><"

    def __init__(self, metric: str, places: Sequence[Place], remarks: Sequence[str]) -> None:
        self.metric, self.places, self._remarks = metric, tuple(places), tuple(remarks)

    def __iter__(self) -> Iterator[Place]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, run: str) -> Place:
        for place in self.places:
            if place.run == run:
                return place
        raise KeyError(f"{run!r}; there are {', '.join(repr(place.run) for place in self)}")

    @property
    def best(self) -> list[str]:
        """The best run, and those that cannot be told from it."""
        return [place.run for place in self if place.with_the_best]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"metric": self.metric, "places": [dict(place.__dict__) for place in self]}

    def _columns(self) -> dict[str, Any]:
        return {name: [getattr(place, name) for place in self] for name in Place.__dataclass_fields__}

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        head = ["rank", "run", self.metric, "interval", "ranks", "best"]
        return [head, *(
            [str(place.rank), place.run, number(place.mean), f"{place.low:.4f} {place.high:.4f}",
             f"{place.best_rank}-{place.worst_rank}", "*" if place.with_the_best else ""]
            for place in self
        )]  # fmt: skip

    def remarks(self) -> list[str]:
        """How the ranks were found."""
        return list(self._remarks)


def leaderboard_of(comparison: Comparison, label: str) -> Leaderboard:
    """The runs of a comparison by one metric: all pairs, by step-down max-T."""
    sample, rules = comparison.samples[label], comparison.rules
    worth = sample.means * (comparison.directions[label] or 1)
    order = np.argsort(-worth, kind="stable")
    many = len(order)
    pairs = list(combinations(range(many), 2))
    apart = np.zeros((many, many), dtype=bool)
    for (a, b), p in zip(pairs, step_down(comparison.stacked([label], pairs)), strict=True):
        apart[a, b] = apart[b, a] = p <= rules.level
    higher = worth[:, None] > worth[None, :]
    places = []
    for run in order:
        above, below = int((apart[run] & higher[:, run]).sum()), int((apart[run] & higher[run]).sum())
        rank = 1 + int((worth > worth[run]).sum())
        low, high, *_ = comparison.paired.interval(comparison.names[run], label, rules.confidence)
        places.append(
            Place(rank, comparison.names[run], float(sample.means[run]), low, high, 1 + above, many - below,
                  bool(run == order[0] or not apart[run, order[0]]))
        )  # fmt: skip
    return Leaderboard(label, places, [
        f"{queries(sample.kept.sum())}; ranks by step-down max-T over {len(pairs)} pairs ({rules.resamples:,} "
        f"flips, seed {rules.seed}); interval: {100 * rules.confidence:g} %, of the run's own mean",
        "*: cannot be told from the best; the best of many looks better than it is",
    ])  # fmt: skip
