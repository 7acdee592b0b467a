"""Parts of a comparison: per query, per group of queries, and per run (the leaderboard)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import fdtrc

from rankstone.align.alignment import Floats, Ints
from rankstone.compare.caveats import FEW
from rankstone.compare.differences import Difference, Experiment, adjusted_family, within
from rankstone.compare.pairing import codes_of
from rankstone.errors import InputError
from rankstone.results.answer import Answer, Records, number, p_said, p_value, queries, signed, table_of
from rankstone.statistics.corrections import CORRECTIONS, adjust, step_down

_SHOWN = 20  # queries of a printed table
OTHER = "other"


# -- queries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryChange:
    """The values of one query in both runs.

    Attributes
    ----------
    query : hashable
        Query id.
    first, second : float
        Values of the baseline and of the run.
    change : float
        `second - first`.
    """

    query: Any
    first: float
    second: float
    change: float
    _of: QueryChanges = field(repr=False, compare=False)

    def explain(self) -> Any:
        """The items that moved between the two rankings, and what each move changed."""
        return self._of.explain(self.query)


class QueryChanges(Records[QueryChange]):
    """Queries in order of their change, the largest improvement first."""

    _names = ("query", "first", "second", "change")

    def __init__(self, of: Difference, rows: Sequence[tuple[Any, float, float]]) -> None:
        self.difference = of
        self._records = tuple(QueryChange(query, first, second, second - first, self) for query, first, second in rows)

    def __getitem__(self, at: int) -> QueryChange:
        return self._records[at]

    def explain(self, query: Hashable) -> Any:
        """The items of a query that moved between the two rankings, and what each move changed.

        Parameters
        ----------
        query : hashable
            Query id.

        Returns
        -------
        Explanation
        """
        of, origin = self.difference, self.difference._experiment.origin
        if origin is None:
            raise InputError("results do not contain the runs: use rs.explain(truth, (a, b), metric, query=...)")
        return origin.explain((of.baseline, of.run), of.metric, query)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"metric": self.difference.metric, **self._columns()}

    def _columns(self) -> dict[str, Any]:
        names = self.difference.baseline, self.difference.run
        first, second = ("first", "second") if {"query", "change"} & set(names) else names
        return dict(zip(("query", first, second, "change"), super()._columns().values(), strict=True))

    def _answer(self) -> Answer:
        """The largest improvements and the largest losses."""
        of, half, hidden = self.difference, _SHOWN // 2, max(len(self) - _SHOWN, 0)
        head, *cells = table_of(self._columns())
        rows = [[*row[:-1], signed(change.change)] for row, change in zip(cells, self, strict=True)]
        notes = [f"{of.metric}: {of.run} minus {of.baseline}; {of.wins} better, {of.ties} same, {of.losses} worse"]
        if hidden:
            rows = [*rows[:half], [], *rows[-half:]]
            notes.append(f"{hidden:,} queries between them are not shown")
        return Answer([head, *rows], notes=notes)


def changes_of(of: Difference) -> QueryChanges:
    """The queries of a difference in order of their change."""
    data, sample = of._experiment, of._experiment.samples[of.metric]
    first, second = (sample.own[:, data.names.index(name)] for name in (of.baseline, of.run))
    places = np.flatnonzero(sample.mask)
    queries, gain = data.paired.queries, (second - first) * (of.direction or 1)
    order = sorted(range(len(places)), key=lambda at: (-gain[at], repr(queries[places[at]])))
    return QueryChanges(of, [(queries[places[at]], float(first[at]), float(second[at])) for at in order])


# -- slices --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slice:
    """The difference within one group of queries.

    Attributes
    ----------
    group : hashable
        The group.
    baseline, run, metric : str
        What is compared.
    queries : int
        Number of queries in the group.
    first, second, difference : float
        Means of the baseline and of the run, and their difference.
    low, high : float
        Confidence interval of the difference.
    p, adjusted : float
        p-value, and p-value adjusted by Benjamini and Hochberg.
    """

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
    adjusted: float

    @property
    def is_small(self) -> bool:
        """Whether the group has fewer than 20 queries."""
        return self.queries < FEW


class Slices(Records[Slice]):
    """Differences per group of queries; `differ` has the p-value of an F test that the groups differ."""

    _names = tuple(Slice.__dataclass_fields__)

    def __init__(
        self, slices: Sequence[Slice], differ: Mapping[tuple[str, str, str], float], confidence: float
    ) -> None:
        self._records, self.differ, self._confidence = tuple(slices), differ, confidence

    def __getitem__(self, group: Any) -> Slice | list[Slice]:
        slices = [part for part in self if part.group == group]
        if not slices:
            raise KeyError(f"{group!r}; there are {', '.join(map(repr, dict.fromkeys(part.group for part in self)))}")
        return slices[0] if len(slices) == 1 else slices

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "slices": [asdict(part) for part in self],
            "differ": [{"baseline": a, "run": b, "metric": m, "p": p} for (a, b, m), p in self.differ.items()],
        }

    def _answer(self) -> Answer:
        """The differences, and the tests of whether the groups differ."""
        interval = f"{100 * self._confidence:g} % interval"
        head = ["metric", "run", "group", "queries", "difference", interval, "p", "adjusted"]
        several = len({part.baseline for part in self}) > 1
        table = [head, *(
            [part.metric, f"{part.run} than {part.baseline}" if several else part.run, str(part.group),
             f"{part.queries:,}", signed(part.difference), f"{signed(part.low)} {signed(part.high)}", p_value(part.p),
             p_value(part.adjusted)]
            for part in self
        )]  # fmt: skip
        notes = [
            f"{run} ({metric}): {'' if p <= 1 - self._confidence else 'no evidence that '}the groups differ "
            f"(F test, {p_said(p)})"
            for (_, run, metric), p in self.differ.items()
            if not math.isnan(p)
        ]
        notes.append(f"adjusted: Benjamini and Hochberg over {len(self)} slices")
        return Answer(table, notes=notes, align="<<<", fixed=3)


def slices_of(data: Experiment, groups: Sequence[Hashable], wanted: Sequence[Difference]) -> Slices:
    """Differences per group; small groups are merged."""
    labels = large_groups(groups)
    names = sorted(set(labels), key=lambda group: (group == OTHER, str(group)))
    masks = {group: np.array([label == group for label in labels]) for group in names}
    parts, differ = [], {}
    for of in wanted:
        parts += [(group, within(of, mask)) for group, mask in masks.items()]
        codes = codes_of([label for label, counts in zip(labels, data.samples[of.metric].mask, strict=True) if counts])
        first, second = of._values
        differ[of.baseline, of.run, of.metric] = f_test(second - first, codes)
    p = adjusted_family(np.array([part.p for _, part in parts]), CORRECTIONS["bh"])
    slices = [
        Slice(group, adjusted=adjusted, **{name: getattr(part, name) for name in Slices._names[1:-1]})
        for (group, part), adjusted in zip(parts, p.tolist(), strict=True)
    ]
    return Slices(slices, differ, data.rules.confidence)


def large_groups(groups: Sequence[Hashable]) -> list[Hashable]:
    """The groups, small ones merged."""
    sizes = Counter(groups)
    return [group if sizes[group] >= FEW else OTHER for group in groups]


def f_test(values: Floats, codes: Ints) -> float:
    """p-value of the one-way analysis of variance; NaN for one group."""
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
class LeaderboardEntry:
    """A run of a leaderboard.

    Attributes
    ----------
    rank : int
        Rank by the mean.
    run : str
        Name of the run.
    mean, low, high : float
        Mean and its confidence interval.
    best_rank, worst_rank : int
        Range of ranks that the data support.
    tied_for_first : bool
        Whether it is statistically tied for first.
    """

    rank: int
    run: str
    mean: float
    low: float
    high: float
    best_rank: int
    worst_rank: int
    tied_for_first: bool


class Leaderboard(Records[LeaderboardEntry]):
    """Runs in order of their means."""

    _names = tuple(LeaderboardEntry.__dataclass_fields__)

    def __init__(self, metric: str, entries: Sequence[LeaderboardEntry], notes: Sequence[str]) -> None:
        self.metric, self._notes = metric, notes
        self._records = tuple(entries)

    def __getitem__(self, run: str) -> LeaderboardEntry:
        for entry in self:
            if entry.run == run:
                return entry
        raise KeyError(f"{run!r}; there are {', '.join(repr(entry.run) for entry in self)}")

    @property
    def best(self) -> list[str]:
        """Runs that are statistically tied for first, the highest mean first."""
        return [entry.run for entry in self if entry.tied_for_first]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"metric": self.metric, "places": [asdict(entry) for entry in self]}

    def _answer(self) -> Answer:
        """The runs, and the method of the ranks."""
        head = ["rank", "run", self.metric, "interval", "ranks", "best"]
        table = [head, *(
            [str(entry.rank), entry.run, number(entry.mean), f"{entry.low:.4f} {entry.high:.4f}",
             f"{entry.best_rank}-{entry.worst_rank}", "*" if entry.tied_for_first else ""]
            for entry in self
        )]  # fmt: skip
        return Answer(table, notes=self._notes, align="><", fixed=2)


def leaderboard_of(data: Experiment, label: str) -> Leaderboard:
    """The runs of a comparison by one metric; all pairs are tested by Westfall-Young, or at every look by Holm."""
    sample, rules = data.samples[label], data.rules
    score = sample.means * (data.directions[label] or 1)
    order = np.argsort(-score, kind="stable")
    many = len(order)
    pairs = list(combinations(range(many), 2))
    apart = np.zeros((many, many), dtype=bool)
    if rules.paired_test.anytime:
        values = adjust(rules.paired_test.p(data.tested(sample.values, pairs, sample.clusters)), "holm")
        how = f"Holm over {len(pairs)} pairs, at every look"
    else:
        values = step_down(data.stacked([label], pairs))
        flips = f"{rules.resamples:,} sign flips, seed {rules.seed}"
        how = f"Westfall-Young (step-down max-T) over {len(pairs)} pairs ({flips})"
    for (a, b), p in zip(pairs, values, strict=True):
        apart[a, b] = apart[b, a] = p <= rules.level
    higher = score[:, None] > score[None, :]
    entries = []
    for run in order:
        above, below = int((apart[run] & higher[:, run]).sum()), int((apart[run] & higher[run]).sum())
        low, high, *_ = data.paired.interval(data.names[run], label, rules.confidence)
        entries.append(
            LeaderboardEntry(1 + int((score > score[run]).sum()), data.names[run], float(sample.means[run]), low, high,
                             1 + above, many - below, bool(run == order[0] or not apart[run, order[0]]))
        )  # fmt: skip
    return Leaderboard(label, entries, [
        f"{queries(sample.mask.sum())}; ranks by {how}; interval: {100 * rules.confidence:g} %, of the mean",
        "*: statistically tied for first; the best of many means is biased upwards",
    ])  # fmt: skip
