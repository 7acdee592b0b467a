"""A closer look at a comparison: by query, by group of queries, and by run (the leaderboard)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.special import fdtrc

from rankstone.align.alignment import Floats, Ints
from rankstone.compare.caveats import FEW
from rankstone.compare.differences import Difference, Experiment, within
from rankstone.compare.pairing import codes_of
from rankstone.results.answer import Answer, Readable, number, p_said, p_value, queries, signed, table_of
from rankstone.statistics.adjust import adjust, step_down

T = TypeVar("T")
_SHOWN = 20  # queries of a printed table
OTHER = "other"


class Records(Readable, Generic[T]):
    """An answer that is made of records; iterating gives each of them."""

    records: tuple[T, ...]
    _names: Sequence[str]  # fields that are columns

    def __iter__(self) -> Iterator[T]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def _columns(self) -> dict[str, Any]:
        return {name: [getattr(one, name) for one in self] for name in self._names}


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


class Changes(Records[Change]):
    """Queries by change, those that won most first."""

    _names = ("query", "first", "second", "change")

    def __init__(self, of: Difference, rows: Sequence[tuple[Any, float, float]]) -> None:
        self.difference = of
        self.records = tuple(Change(query, first, second, second - first, self) for query, first, second in rows)

    def __getitem__(self, at: int) -> Change:
        return self.records[at]

    def explain(self, query: Any) -> Any:
        """Which items of a query moved, and what each move earned or cost."""
        of, origin = self.difference, self.difference._experiment.origin
        if origin is None:
            raise ValueError("the runs of results are not at hand: rs.explain(truth, (a, b), metric, query=...)")
        return origin.explain((of.baseline, of.run), of.metric, query)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"metric": self.difference.metric, **self._columns()}

    def _columns(self) -> dict[str, Any]:
        names = self.difference.baseline, self.difference.run
        first, second = ("first", "second") if {"query", "change"} & set(names) else names
        return dict(zip(("query", first, second, "change"), super()._columns().values(), strict=True))

    def answer(self) -> Answer:
        """The most won and the most lost."""
        of, half, hidden = self.difference, _SHOWN // 2, max(len(self) - _SHOWN, 0)
        head, *cells = table_of(self._columns())
        rows = [[*row[:-1], signed(one.change)] for row, one in zip(cells, self, strict=True)]
        notes = [f"{of.metric}: {of.run} less {of.baseline}; {of.wins} better, {of.ties} same, {of.losses} worse"]
        if hidden:
            rows = [*rows[:half], [], *rows[-half:]]
            notes.append(f"{hidden:,} queries between them are not shown")
        return Answer([head, *rows], notes=notes)


def changes_of(of: Difference) -> Changes:
    """The queries of a difference by change."""
    data, sample = of._experiment, of._experiment.samples[of.metric]
    first, second = (sample.own[:, data.names.index(name)] for name in (of.baseline, of.run))
    places = np.flatnonzero(sample.kept)
    queries, gain = data.paired.queries, (second - first) * (of.direction or 1)
    order = sorted(range(len(places)), key=lambda at: (-gain[at], repr(queries[places[at]])))
    return Changes(of, [(queries[places[at]], float(first[at]), float(second[at])) for at in order])


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

    @property
    def is_small(self) -> bool:
        """Are there too few queries to trust the interval."""
        return self.queries < FEW


class Slices(Records[Slice]):
    """Differences by group of queries; `differ` says how likely groups that do not differ would look so unlike."""

    _names = tuple(Slice.__dataclass_fields__)

    def __init__(
        self, slices: Sequence[Slice], differ: Mapping[tuple[str, str, str], float], confidence: float
    ) -> None:
        self.records, self.differ, self._confidence = tuple(slices), differ, confidence

    def __getitem__(self, group: Any) -> Slice | list[Slice]:
        found = [one for one in self if one.group == group]
        if not found:
            raise KeyError(f"{group!r}; there are {', '.join(map(repr, dict.fromkeys(one.group for one in self)))}")
        return found[0] if len(found) == 1 else found

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "slices": [asdict(one) for one in self],
            "differ": [{"baseline": a, "run": b, "metric": m, "p": p} for (a, b, m), p in self.differ.items()],
        }

    def answer(self) -> Answer:
        """The differences, and whether the groups differ at all."""
        interval = f"{100 * self._confidence:g} % interval"
        head = ["metric", "run", "group", "queries", "difference", interval, "p", "adjusted"]
        several = len({one.baseline for one in self}) > 1
        table = [head, *(
            [one.metric, f"{one.run} than {one.baseline}" if several else one.run, str(one.group), f"{one.queries:,}",
             signed(one.difference), f"{signed(one.low)} {signed(one.high)}", p_value(one.p), p_value(one.adjusted)]
            for one in self
        )]  # fmt: skip
        notes = [
            f"{run} ({metric}): the groups {'differ' if p <= 1 - self._confidence else 'are not shown to differ'} "
            f"(F test, {p_said(p)})"
            for (_, run, metric), p in self.differ.items()
            if not math.isnan(p)
        ]
        notes.append(f"adjusted by Benjamini and Hochberg over {len(self)} slices")
        return Answer(table, notes=notes, align="<<<", fixed=3)


def slices_of(data: Experiment, groups: Sequence[Hashable], wanted: Sequence[Difference]) -> Slices:
    """Differences by group; small groups are one."""
    labels = large_groups(groups)
    names = sorted(set(labels), key=lambda group: (group == OTHER, str(group)))
    masks = {group: np.array([label == group for label in labels]) for group in names}
    parts, differ = [], {}
    for of in wanted:
        parts += [(group, within(of, mask)) for group, mask in masks.items()]
        codes = codes_of([label for label, kept in zip(labels, data.samples[of.metric].kept, strict=True) if kept])
        first, second = of._values
        differ[of.baseline, of.run, of.metric] = f_test(second - first, codes)
    p = np.array([part.p for _, part in parts])
    known = ~np.isnan(p)
    p[known] = adjust(p[known], "bh")
    slices = [
        Slice(group, adjusted=adjusted, **{name: getattr(part, name) for name in Slices._names[1:-1]})
        for (group, part), adjusted in zip(parts, p.tolist(), strict=True)
    ]
    return Slices(slices, differ, data.rules.confidence)


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


class Leaderboard(Records[Place]):
    """Runs by their means."""

    _names = tuple(Place.__dataclass_fields__)

    def __init__(self, metric: str, places: Sequence[Place], notes: Sequence[str]) -> None:
        self.metric, self._notes = metric, notes
        self.places = self.records = tuple(places)

    def __getitem__(self, run: str) -> Place:
        for place in self:
            if place.run == run:
                return place
        raise KeyError(f"{run!r}; there are {', '.join(repr(place.run) for place in self)}")

    @property
    def best(self) -> list[str]:
        """The best run, and those that cannot be told from it."""
        return [place.run for place in self if place.with_the_best]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"metric": self.metric, "places": [asdict(place) for place in self]}

    def answer(self) -> Answer:
        """The runs, and how the ranks were found."""
        head = ["rank", "run", self.metric, "interval", "ranks", "best"]
        table = [head, *(
            [str(place.rank), place.run, number(place.mean), f"{place.low:.4f} {place.high:.4f}",
             f"{place.best_rank}-{place.worst_rank}", "*" if place.with_the_best else ""]
            for place in self
        )]  # fmt: skip
        return Answer(table, notes=self._notes, align="><", fixed=2)


def leaderboard_of(data: Experiment, label: str) -> Leaderboard:
    """The runs of a comparison by one metric: all pairs, by step-down max-T."""
    sample, rules = data.samples[label], data.rules
    worth = sample.means * (data.directions[label] or 1)
    order = np.argsort(-worth, kind="stable")
    many = len(order)
    pairs = list(combinations(range(many), 2))
    apart = np.zeros((many, many), dtype=bool)
    for (a, b), p in zip(pairs, step_down(data.stacked([label], pairs)), strict=True):
        apart[a, b] = apart[b, a] = p <= rules.level
    higher = worth[:, None] > worth[None, :]
    places = []
    for run in order:
        above, below = int((apart[run] & higher[:, run]).sum()), int((apart[run] & higher[run]).sum())
        low, high, *_ = data.paired.interval(data.names[run], label, rules.confidence)
        places.append(
            Place(1 + int((worth > worth[run]).sum()), data.names[run], float(sample.means[run]), low, high, 1 + above,
                  many - below, bool(run == order[0] or not apart[run, order[0]]))
        )  # fmt: skip
    return Leaderboard(label, places, [
        f"{queries(sample.kept.sum())}; ranks by step-down max-T over {len(pairs)} pairs ({rules.resamples:,} "
        f"flips, seed {rules.seed}); interval: {100 * rules.confidence:g} %, of the run's own mean",
        "*: cannot be told from the best; the best of many looks better than it is",
    ])  # fmt: skip
