"""What the choice of a judge does to runs: their means, their order, and the verdicts between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone.compare.compare import compare
from rankstone.conventions.plan import DEFAULT_METRICS
from rankstone.errors import InputError
from rankstone.fusion.merge import open_runs
from rankstone.metrics.registry import ByName
from rankstone.metrics.registry import metrics as all_metrics
from rankstone.results.answer import Answer, number, plain, queries

if TYPE_CHECKING:
    from rankstone.judges.panel import Panel
    from rankstone.typing import Metrics, Run


class RunOrder(NamedTuple):
    """How far two judges order the runs alike.

    Attributes
    ----------
    first, second, metric : str
        The judges, and the metric of the runs.
    kendall, tau_ap : float
        Kendall's tau-b of the means, and the AP correlation of the order under the second with that under the first.
    """

    first: str
    second: str
    metric: str
    kendall: float
    tau_ap: float


class VerdictChange(NamedTuple):
    """A pair of runs with another verdict under another judge.

    Attributes
    ----------
    baseline, run, metric : str
        What is compared.
    verdicts : dict of str to str
        The verdict under each judge.
    """

    baseline: str
    run: str
    metric: str
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Effects:
    """Means of runs under each judge, on the items that all of them have judged.

    Attributes
    ----------
    means : dict
        By metric, judge and run.
    orders : list of RunOrder
        Rank correlations of the runs, by pair of judges and metric.
    changes : list of VerdictChange
        Pairs of runs whose verdict depends on the judge.
    pairs : int
        Number of pairs of runs and metrics that were compared.
    items, queries : int
        Number of items that all judges have judged, and of their queries.
    """

    means: dict[str, dict[str, dict[str, float]]]
    orders: list[RunOrder]
    changes: list[VerdictChange]
    pairs: int
    items: int
    queries: int

    @property
    def notes(self) -> list[str]:
        """What the tables are about."""
        rest = f"{len(self.changes)} of {self.pairs} verdicts depend on the judge"
        return [f"runs: on the {self.items:,} items of {queries(self.queries)} that all have judged; {rest}"]

    def tables(self) -> list[Answer]:
        """Means, correlations and verdicts, for people."""
        judges = [*next(iter(self.means.values()))]
        means = [["metric", "run", *judges]]
        for metric, by_judge in self.means.items():
            runs = next(iter(by_judge.values()))
            means += [[metric, run, *(number(by_judge[judge][run]) for judge in judges)] for run in runs]
        orders = [["order of runs", "metric", "Kendall's tau", "tau_ap"]]
        orders += [
            [f"{row.first}, {row.second}", row.metric, _correlation(row.kendall), _correlation(row.tau_ap)]
            for row in self.orders
        ]
        changes = [["verdict changes", "metric", *judges]]
        changes += [[f"{row.run} vs. {row.baseline}", row.metric, *row.verdicts.values()] for row in self.changes]
        of_changes = Answer(changes, align="<" * (2 + len(judges)))
        tables = (Answer(means, align="<<", fixed=2), Answer(orders, align="<<"), of_changes)
        return [answer for answer in tables if len(answer.table) > 1]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return plain(self)


def _correlation(value: float) -> str:
    return "undefined" if math.isnan(value) else number(value)


def effects_of(
    panel: Panel, runs: Mapping[str, Run] | Sequence[Run], metrics: Metrics | None, choices: ByName
) -> Effects:
    """Evaluate and compare the runs under each judge."""
    common = panel.shared
    if not len(common.grades):
        raise InputError("no item is judged by all judges, so the runs cannot be compared under each of them")
    sides: Mapping[str, Any] = open_runs(runs, choices.get("columns")).sides
    if len(sides) < 2:
        raise InputError(f"there is one run, {next(iter(sides))!r}; the effect of a judge is on a comparison of two")
    comparisons = {
        judge: compare(common.truth(grades), sides, DEFAULT_METRICS if metrics is None else metrics, **choices)
        for judge, grades in zip(common.names, common.grades.T, strict=True)
    }
    first = next(iter(comparisons.values()))
    means: dict[str, dict[str, dict[str, float]]] = {label: {} for label in first.metrics}
    for judge, comparison in comparisons.items():
        for label, sample in comparison._experiment.samples.items():
            means[label][judge] = dict(zip(sides, sample.means.tolist(), strict=True))
    orders = [
        RunOrder(one, other, label, *_correlations(means[label][one], means[label][other]))
        for label in first.metrics
        for one, other in combinations(common.names, 2)
    ]
    changes = []
    for rows in zip(*comparisons.values(), strict=True):
        verdicts = dict(zip(common.names, (row.verdict for row in rows), strict=True))
        if len(set(verdicts.values())) > 1:
            changes.append(VerdictChange(rows[0].baseline, rows[0].run, rows[0].metric, verdicts))
    return Effects(means, orders, changes, len(list(first)), len(common.grades), len(set(common.query.tolist())))


def _correlations(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[float, float]:
    """Kendall's tau of two means by run, and tau_ap of the second's order."""
    pair: Any = {"labels": [*first.values()], "scores": [*second.values()]}
    return float(all_metrics.kendall(**pair)), float(all_metrics.tau_ap(**pair))
