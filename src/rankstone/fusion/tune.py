"""`tune`: weights and parameters of a fusion, chosen on folds of the queries and reported on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import comb
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol

import numpy as np

from rankstone.data.files import all_same_ids, is_path
from rankstone.data.loaders import opened
from rankstone.errors import InputError
from rankstone.evaluate.evaluate import evaluate
from rankstone.fusion.fusion_methods import methods
from rankstone.metrics.registry import Value, parse_one
from rankstone.progress import watched
from rankstone.results.answer import Answer, Readable, number, queries
from rankstone.statistics.selection import selection

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats
    from rankstone.fusion.fuse import FusedRun
    from rankstone.typing import ColumnRoles, Run, Truth

P = ParamSpec("P")
_MOST = 500  # weightings
_SHOWN = 5  # candidates of the printed table


@dataclass(frozen=True)
class FusionSetting:
    """One way to fuse the runs, and its mean on all queries.

    Attributes
    ----------
    method : str
        The fusion method.
    weights : dict or None
        The weight of each run; None for a method without weights.
    parameters : dict
        Parameters and choices of the method.
    mean : float
        Its mean on all queries, which it was chosen by.
    wins : float
        Share of bootstrap samples of the queries in which it is the best.
    """

    method: str
    weights: Mapping[str, float] | None
    parameters: Mapping[str, Any]
    mean: float
    wins: float

    @property
    def words(self) -> str:
        """The method with its weights and parameters, in a line."""
        weights = () if self.weights is None else (f"{name} {weight:g}" for name, weight in self.weights.items())
        return ", ".join([self.method, *weights, *(f"{name}={value!r}" for name, value in self.parameters.items())])


@dataclass(frozen=True, repr=False)
class TunedFusion(Readable):
    """The best of many fusions, and what to expect of it on queries that were not used to choose it.

    Attributes
    ----------
    metric : str
        The metric that decided.
    best : FusionSetting
        The best fusion on all queries.
    run : FusedRun
        The runs fused that way.
    expected : float
        Mean on queries that were not used to choose: chosen on all but one fold, averaged over that fold.
    low, high : float
        Confidence interval of its true mean.
    untuned : float
        Mean of the first candidate: equal weights, and the first value of each parameter.
    single : tuple of (str, float)
        The best single run and its mean.
    candidates : tuple of FusionSetting
        All candidates, the best first.
    queries, folds : int
        Number of queries and of folds.
    """

    metric: str
    best: FusionSetting
    run: FusedRun
    expected: float
    low: float
    high: float
    untuned: float
    single: tuple[str, float]
    candidates: tuple[FusionSetting, ...]
    queries: int
    folds: int
    confidence: float = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("metric", "expected", "low", "high", "untuned", "single", "queries", "folds")
        return {**{name: getattr(self, name) for name in names}, "best": vars(self.best), "candidates": self._columns()}

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {
            "fusion": [setting.words for setting in self.candidates],
            "mean": [setting.mean for setting in self.candidates],
            "wins": [setting.wins for setting in self.candidates],
        }

    def _answer(self) -> Answer:
        """The first candidates, and what to expect."""
        cells = [[each.words, number(each.mean), f"{100 * each.wins:.0f} %"] for each in self.candidates[:_SHOWN]]
        more = [["...", "", ""]] if len(self.candidates) > _SHOWN else []
        title = (
            f"{self.metric} of the best of {len(self.candidates):,} fusions: {number(self.best.mean)}, expected on new "
            f"queries {number(self.expected)} ({number(self.low)} {number(self.high)})"
        )
        notes = [
            f"{queries(self.queries)}, chosen on {self.folds - 1} of {self.folds} folds and averaged over the other; "
            f"in brackets: {100 * self.confidence:g} % interval",
            f"untuned {number(self.untuned)}; best single run: {self.single[0]} {number(self.single[1])}",
            "best in: share of bootstrap samples of the queries",
        ]
        return Answer([["fusion", self.metric, "best in"], *cells, *more], title, notes)


def tune(
    runs: Mapping[str, Run] | Sequence[Run],
    truth: Truth,
    metric: str = "ndcg@10",
    *,
    folds: int = 5,
    method: str | Sequence[str] = "rrf",
    weights: bool | Iterable[Sequence[float]] = True,
    parameters: Mapping[str, Sequence[Value]] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    convention: str = "rankstone",
    columns: ColumnRoles | None = None,
    **choices: Value,
) -> TunedFusion:
    """Choose the method, weights and parameters of a fusion, and report what to expect of it on new queries.

    The mean of the best of many fusions is biased upwards. So it is chosen on all but one fold of the queries and
    averaged over that fold; the fusion that is returned is the best on all queries.

    Parameters
    ----------
    runs : mapping of str to run, or sequence of runs
        The runs, as in `rs.fuse`.
    truth : dict, table or file
        The truth, as in `rs.evaluate`.
    metric : str, default "ndcg@10"
        The metric that decides.
    folds : int, default 5
        Number of folds.
    method : str or sequence of str, default "rrf"
        The methods to try, of `rs.fusion.methods`.
    weights : bool or iterable, default True
        True: a grid of weights that add up to 1, for methods with weights. False: equal weights. Or the weightings
        themselves, one weight per run each.
    parameters : mapping, optional
        Values to try, by parameter or choice: `{"k": [10, 60, 100], "norm": ["min-max", "zmuv"]}`.
    confidence : float, default 0.95
        Confidence level of the interval.
    seed : int, default 0
        Random seed of folds and resamples.
    convention : str, default "rankstone"
        As in `rs.fuse`; the metric is rankstone's.
    columns : mapping, optional
        Column names by role, as in `rs.evaluate`.
    **choices
        Choices of `rs.fuse` that are the same for all candidates.

    Returns
    -------
    TunedFusion

    Raises
    ------
    ValueError
        If there is one run only, or one candidate, or fewer than four queries.

    Examples
    --------
    >>> truth, runs, *_ = rs.example()
    >>> tuned = rs.fuse.tune(runs, truth, "ndcg@10", parameters={"k": [10, 60]})
    >>> tuned.best.mean > tuned.expected
    True
    """
    from rankstone.fusion.fuse import fuse  # which has `tune` as its attribute

    named = dict(runs) if isinstance(runs, Mapping) else {f"run {at}": run for at, run in enumerate(runs, 1)}
    if len(named) < 2:
        raise InputError(f"there is {len(named)} run; fusion needs two")
    label = str(parse_one(metric))
    if is_path(truth) or any(map(is_path, named.values())):
        sides: list[Any] = [opened(truth, "truth", columns), *(opened(run, "run", columns) for run in named.values())]
        if all(map(is_path, (truth, *named.values()))):
            sides = all_same_ids(sides[0], sides[1:])
        truth, columns = sides[0], None
        named = dict(zip(named, sides[1:], strict=True))
    ways = list(_ways(tuple(named), [method] if isinstance(method, str) else method, weights, parameters or {}))
    if len(ways) < 2:
        raise InputError("there is one candidate; give several methods, weights or values")

    def values(run: Any) -> Floats:
        return evaluate(truth, run, label, columns=columns).per_query[label]

    def fused(way: _Way) -> FusedRun:
        more: Any = {**choices, **way[2]}
        return fuse(named, way[0], weights=way[1], convention=convention, columns=columns, **more)

    with watched("fusing") as progress:
        matrix = np.column_stack([values(fused(way)) for way in progress.of(ways, len(ways))])
    counted = np.isfinite(matrix).all(axis=1)
    direction = -1 if parse_one(label).declaration.better == "lower" else 1
    best = selection(direction * matrix[counted], folds=folds, confidence=confidence, seed=seed)
    means = matrix[counted].mean(axis=0)
    candidates = [FusionSetting(*way, float(mean), float(wins))
                  for way, mean, wins in zip(ways, means, best.wins, strict=True)]  # fmt: skip
    singles = {name: float(values(run)[counted].mean()) for name, run in named.items()}
    single = max(singles, key=lambda name: direction * singles[name])
    order = np.argsort(-direction * means, kind="stable").tolist()
    low, high = sorted((direction * best.low, direction * best.high))
    return TunedFusion(
        label, candidates[best.best], fused(ways[best.best]), direction * best.expected, low, high, candidates[0].mean,
        (single, singles[single]), tuple(candidates[at] for at in order), int(counted.sum()), folds, confidence,
    )  # fmt: skip


_Way = tuple[str, "Mapping[str, float] | None", "Mapping[str, Any]"]  # a method, weights and parameters


def _ways(names: Sequence[str], tried: Sequence[str], weights: Any, parameters: Mapping[str, Any]) -> Iterator[_Way]:
    """All combinations; equal weights and the first values come first."""
    weightings: list[Any] = [None]
    if weights is True:
        weightings += _grid(len(names))
    elif weights is not False:
        weightings = [list(weighting) for weighting in weights]
    for weighting in weightings:
        if weighting is not None and len(weighting) != len(names):
            raise InputError(f"weights= has {weighting}; give one number per run: {', '.join(names)}")
    for name in tried:
        row = methods.find(name)
        for weighting in weightings if row.weighted else [None]:
            by_run = None if weighting is None else dict(zip(names, map(float, weighting), strict=True))
            for values in product(*parameters.values()):
                yield row.name, by_run, dict(zip(parameters, values, strict=True))


def _grid(many: int) -> list[list[float]]:
    """Weights that add up to 1 in equal steps, as fine as a limited number of them can be; no run alone."""
    steps = next((steps for steps in (10, 5, 4, 3) if comb(steps + many - 1, many - 1) <= _MOST), 2)
    grid = []
    for bars in combinations(range(steps + many - 1), many - 1):
        ends = [-1, *bars, steps + many - 1]
        parts = [after - before - 1 for before, after in pairwise(ends)]
        if max(parts) < steps and len(set(parts)) > 1:  # equal weights are a candidate anyway
            grid.append([part / steps for part in parts])
    return grid


class Tunable(Protocol, Generic[P]):
    """`fuse`, with `tune` as its attribute."""

    tune: Callable[..., TunedFusion]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> FusedRun: ...


def with_tune(function: Callable[P, FusedRun]) -> Tunable[P]:
    """The function itself, with the attribute."""
    function.tune = tune  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]
