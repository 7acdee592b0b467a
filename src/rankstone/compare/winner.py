"""The best of the runs of a comparison, and what it is worth on new queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import InputError
from rankstone.results.answer import Answer, Readable, number, queries
from rankstone.results.definition import label_of
from rankstone.statistics.selection import contenders, selection

if TYPE_CHECKING:
    from rankstone.compare.differences import Experiment

_FOLDS = 5
_RIVALS = 5  # listed in a line


@dataclass(frozen=True, repr=False)
class Winner(Readable):
    """The run with the best mean, and what to expect of it on new queries.

    The mean of the best of many runs is biased upwards. `winner["rr"]` is the winner by another metric.

    Attributes
    ----------
    metric : str
        The metric: the first one that has a verdict.
    name : str
        The run with the best mean.
    runs, queries : int
        Number of runs compared, and of queries.
    mean : float
        Its mean, which is biased upwards.
    expected : float
        Mean expected on new queries: the best run of all but one fold of the queries, averaged over that fold.
    low, high : float
        Confidence interval of its true mean.
    others_win : float
        Share of bootstrap samples of the queries in which another run is the best.
    rivals : dict
        These shares by run, the largest first.
    smallest_sweep : tuple of str
        The runs that may be the best one, at the confidence of the comparison: the smallest sweep to repeat on new
        queries. The others can be dropped safely.
    """

    metric: str
    name: str
    runs: int
    queries: int
    mean: float
    expected: float
    low: float
    high: float
    others_win: float
    rivals: Mapping[str, float]
    smallest_sweep: tuple[str, ...]
    confidence: float = field(repr=False)
    _winners: dict[str, Winner] = field(repr=False, compare=False)

    @property
    def optimism(self) -> float:
        """How much better the mean looks than what is expected."""
        return self.mean - self.expected

    def __getitem__(self, metric: str) -> Winner:
        return self._winners[label_of(metric, self._winners)]

    @property
    def sentence(self) -> str:
        """The mean, and what is expected, in a line."""
        return (
            f"{self.metric} of {self.name} is {number(self.mean)}, expected on new queries {number(self.expected)} "
            f"({number(self.low)} {number(self.high)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the winner by each metric."""
        names = [name for name in self.__dataclass_fields__ if not name.startswith("_")]
        return {
            metric: {**{name: getattr(of, name) for name in names}, "rivals": dict(of.rivals), "optimism": of.optimism}
            for metric, of in self._winners.items()
        }

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = ("metric", "name", "mean", "expected", "low", "high", "others_win")
        columns = {name: [getattr(of, name) for of in self._winners.values()] for name in names}
        return {**columns, "smallest_sweep": [len(of.smallest_sweep) for of in self._winners.values()]}

    def _answer(self) -> Answer:
        """A row per metric, and the rivals."""
        head = ["metric", "winner", "mean", "expected", "interval", "others win", "smallest sweep"]
        table = [head, *(
            [of.metric, of.name, number(of.mean), number(of.expected), f"{number(of.low)} {number(of.high)}",
             f"{100 * of.others_win:.1f} %", f"{len(of.smallest_sweep)} of {of.runs}"]
            for of in self._winners.values()
        )]  # fmt: skip
        percent = f"{100 * self.confidence:g} %"
        notes = [
            f"{self.runs} runs, {queries(self.queries)}; expected: mean on new queries, by nested folds; interval: "
            f"{percent}, of the winner's true mean",
            "others win: share of bootstrap samples in which another run is the best; smallest sweep: runs that may "
            f"be the best ({percent})",
        ]
        for of in self._winners.values():
            shares = [f"{name} {100 * share:.0f} %" for name, share in of.rivals.items() if share >= 0.005]
            if shares:
                notes.append(f"{of.metric}, best in other samples: {', '.join(shares[:_RIVALS])}")
        return Answer(table, notes=notes, align="<<", fixed=2)


def winner_of(data: Experiment) -> Winner:
    """The winner by each metric that has a verdict."""
    winners: dict[str, Winner] = {}
    labels = [label for label in data.labels if data.rules.decides(label)]
    for label in labels or data.labels:
        sample, direction = data.samples[label], data.directions[label] or 1
        if len(sample.values) < 4:
            raise InputError(f"{label}: a winner needs at least 4 queries; there are {len(sample.values)}")
        confidence, seed = data.rules.confidence, data.rules.seed
        oriented = direction * sample.values
        of = selection(oriented, folds=_FOLDS, clusters=sample.clusters, confidence=confidence, seed=seed)
        contends = contenders(oriented, clusters=sample.clusters, confidence=confidence, seed=seed)
        unit = np.exp if sample.is_log else float
        low, expected, high = sorted(float(unit(direction * value)) for value in (of.low, of.expected, of.high))
        order = [at for at in np.argsort(-of.wins, kind="stable").tolist() if at != of.best]
        winners[label] = Winner(
            label, data.names[of.best], len(data.names), len(sample.values), float(sample.means[of.best]), expected,
            low, high, float(1 - of.wins[of.best]),
            {data.names[at]: float(of.wins[at]) for at in order if of.wins[at] > 0},
            tuple(data.names[at] for at in np.argsort(-oriented.mean(axis=0), kind="stable").tolist() if contends[at]),
            confidence, winners,
        )  # fmt: skip
    return next(iter(winners.values()))
