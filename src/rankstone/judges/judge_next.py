"""`judge_next`: the items whose judgement would move a comparison most, and when there is enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.compare.certificate import AllLabels, with_all_labels
from rankstone.compare.label_changes import LabelMove
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan, make_plans
from rankstone.data.arrow import concatenated, encoded, plain_ids, take
from rankstone.data.columns import Columns, columns, grades_of
from rankstone.data.files import all_same_ids
from rankstone.data.loaders import opened
from rankstone.data.tables import as_columns
from rankstone.errors import InputError
from rankstone.fusion.merge import POOLED, open_runs
from rankstone.metrics.registry import Metric, Value
from rankstone.results.answer import Answer, Readable, number, plain, table_of
from rankstone.results.export import write_side
from rankstone.statistics.student_t import level, student

if TYPE_CHECKING:
    from rankstone.typing import ColumnRoles, Path, Run, Truth

_DRAWS = 400  # of all unknown labels
_CONTEXTS = 4  # of these, among which the effect of each label is measured
_NOTHING = 1e-12  # an effect that is rounding
_SPREAD = 2.0  # labels that a query's own share of relevant items weighs as much as
_STEPS = 100  # of Newton's method, which takes ten or so
_PRIOR = 1.0  # standard deviation of the weights of the chances before there are labels


class NextItem(NamedTuple):
    """An item to judge.

    Attributes
    ----------
    query, item : object
        The item, and its query.
    chance : float
        Expected chance that it is relevant.
    effect : float
        What it would add to the difference of the means if it were, in the comparison that it moves most.
    expected : float
        Expected change of that difference by judging it.
    rank : int
        Its best rank in the runs.
    """

    query: Any
    item: Any
    chance: float
    effect: float
    expected: float
    rank: int


class Forecast(NamedTuple):
    """The verdict that a comparison would have if all returned items were judged.

    Attributes
    ----------
    baseline, run : str
        What is compared.
    verdict : str
        The most probable verdict: "better", "worse" or "inconclusive".
    chance : float
        Its probability.
    difference : float
        Expected difference of the means.
    """

    baseline: str
    run: str
    verdict: str
    chance: float
    difference: float


def judge_next(
    truth: Truth | None,
    runs: Mapping[str, Run] | Sequence[Run],
    metric: str | Metric = "ndcg@10",
    n: int = 20,
    *,
    machine: Truth | None = None,
    answers: Truth | None = None,
    baseline: str | None = None,
    error: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    columns: ColumnRoles | None = None,
    convention: str | Convention = "rankstone",
    **choices: Value,
) -> JudgeNext:
    """The unjudged items whose judgement would move a comparison most, and whether more judgements can matter.

    Every unjudged item down to the cutoff has a chance of being relevant, which is learnt from the items judged so far:
    by its ranks in both runs, its query, and a machine's label. The verdict with all of them judged is forecast by
    drawing their labels.

    Parameters
    ----------
    truth : truth-like or None
        The judgements so far; None: there are none.
    runs : dict or list
        The runs, as in `rs.compare`.
    metric : str or Metric, default "ndcg@10"
        The metric that is compared; a plain mean over queries.
    n : int, default 20
        Number of items.
    machine : truth-like, optional
        A machine's labels, which predict the human ones.
    answers : truth-like, optional
        More judgements, such as those of a file that was written by `write`; empty and negative grades are no
        answers.
    baseline : str, optional
        The run that all others are compared with; by default all pairs.
    error : float, default 0.05
        Chance of a false verdict at which to stop.
    confidence : float, default 0.95
        Confidence level of the verdicts.
    seed : int, default 0
        Random seed.
    columns : dict, optional
        Columns by role, as in `rs.evaluate`.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    **choices
        Choices by name, as in `rs.evaluate`.

    Returns
    -------
    JudgeNext
        The items, the forecast verdicts, and whether to stop.

    Raises
    ------
    ValueError
        If there are fewer than two runs, or the metric is no mean over queries of ranked lists.

    Examples
    --------
    >>> runs = {"old": {"q1": ["a", "b"], "q2": ["d", "e"]}, "new": {"q1": ["c", "a"], "q2": ["d", "f"]}}
    >>> following = rs.judge_next({"q1": {"a": 1}}, runs, "ndcg@2", n=2)
    >>> following.items[0].query, following.items[0].item
    ('q1', 'c')
    """
    plan = _plan(metric, convention, choices)
    level(error, "error")
    if n < 1:
        raise InputError(f"n={n!r} is not above 0")
    sides = open_runs(runs, columns).sides
    names = list(sides)
    if baseline is not None and baseline not in names:
        raise InputError(f"baseline={baseline!r} is none of the runs: {', '.join(map(repr, names))}")
    if len(names) < 2:
        raise InputError(f"one run only, {names[0]!r}")
    files = [as_columns(run, "run") for run in sides.values()]
    judged = _judged(truth, answers, columns, files[0])
    if any(side.path for side in (judged, *files)):  # ids of files are strings
        judged, *files = all_same_ids(judged, files)
    by_name = dict(zip(names, files, strict=True))
    pairs = list(combinations(names, 2))
    if baseline is not None:
        pairs = [(baseline, name) for name in names if name != baseline]
    compared = [with_all_labels(plan, judged, [by_name[a], by_name[b]], "step", True) for a, b in pairs]
    by_machine = None if machine is None else as_columns(opened(machine, "truth", columns), "truth")
    models = [_Model.of(labels, by_machine, seed) for labels in compared]
    forecasts = [model.forecast(*pair, confidence) for pair, model in zip(pairs, models, strict=True)]
    open_models = [model for model, row in zip(models, forecasts, strict=True) if row.chance < 1 - error]
    matter = sum(int(model.matters.sum()) for model in models)
    return JudgeNext(plan.label, _best(open_models or models, n), forecasts, error, matter, judged)


def _plan(metric: str | Metric, convention: str | Convention, choices: Mapping[str, Value]) -> Plan:
    plans = make_plans(metric, convention, choices)
    if len(plans) != 1:
        raise InputError(f"{len(plans)} metrics; judge_next is about one")
    plan = plans[0]
    ranked = plan.metric.declaration.kind == "ranking" and plan.metric.declaration.reads == "ranking"
    if not ranked or plan.is_pooled or not plan.averaging.plain or plan.choices["unjudged"] != "nonrelevant":
        raise InputError(
            f"{plan.label} is no plain mean over queries of ranked lists in which unjudged items are not relevant"
        )
    if not plan.arguments.get("max_grade", 1):
        raise InputError(f"{plan.label} reads the highest grade of all queries; set max_grade=")
    return plan


def _judged(truth: Truth | None, answers: Truth | None, roles: ColumnRoles | None, run: Columns) -> Columns:
    """The judgements with the answers, which win; those without a grade, or with a negative one, are no judgement.

    run: whose ids there are where there are no judgements.
    """
    sides = [as_columns(opened(side, "truth", roles), "truth") for side in (truth, answers) if side is not None]
    sides = [side for side in sides if len(side.query)]
    if not sides:
        none = np.zeros(0, dtype=np.int64)
        return columns(query=take(run.query, none), item=take(run.item, none), grade=np.zeros(0))
    sides = all_same_ids(sides[0], sides[1:])
    grade = np.concatenate(list(map(grades_of, sides)))
    query, item = (concatenated([getattr(side, name) for side in sides]) for name in ("query", "item"))
    pair = encoded(query)[1] * (len(grade) + 1) + encoded(item)[1]
    answered = np.flatnonzero(~(np.isnan(grade) | (grade < 0)))
    _, last = np.unique(pair[answered][::-1], return_index=True)
    rows = np.sort(answered[len(answered) - 1 - last])
    return columns(query=take(query, rows), item=take(item, rows), grade=grade[rows])


# -- what the unjudged items may be ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Model:
    """The unjudged items of two runs down to the cutoff, and what their labels may be."""

    labels: AllLabels
    items: Ints
    rank: Ints  # the best in the runs
    design: Floats  # what the chances depend on
    fit: _Fit
    shares: tuple[Floats, Floats]  # of each query: the shape and the rate of how much more relevant its items are
    grades: Floats  # of relevant items
    seed: int

    @classmethod
    def of(cls, labels: AllLabels, machine: Columns | None, seed: int) -> _Model:
        pair = labels.pair
        ranks = np.stack([pair.rank(run) for run in (pair.first, pair.second)], axis=1)
        returned = ranks > 0
        best = np.where(returned, ranks, np.iinfo(np.int64).max).min(axis=1)
        far = np.log2(1 + np.where(returned, ranks, float(ranks.max(initial=1)) + 1))
        features = [np.ones(len(best)), far[:, 0], far[:, 1], returned[:, 0] * 1.0, returned[:, 1] * 1.0]
        if machine is not None:
            features += _machine_features(labels, machine)
        design, judged = np.stack(features, axis=1), ~pair.unjudged & returned.any(axis=1)
        relevant = ~pair.unjudged & (pair.grades >= labels.relevant)
        fit = _logistic(design[judged], relevant[judged])
        many = len(pair.first)
        chance = _chances(design, fit.mean)
        hits, expected = (np.bincount(pair.query[judged], each[judged], minlength=many).astype(float)
                          for each in (relevant, chance))  # fmt: skip
        k = pair.plan.arguments.get("k") or np.iinfo(np.int64).max
        items = np.flatnonzero(pair.unjudged & (best <= k))
        grades = pair.grades[relevant] if relevant.any() else np.array([labels.relevant])
        return cls(labels, items, best[items], design[items], fit, (hits + _SPREAD, expected + _SPREAD), grades, seed)

    @cached_property
    def chance(self) -> Floats:
        """The chance of each item to be relevant."""
        times = (self.shares[0] / self.shares[1])[self.labels.pair.query[self.items]]
        return np.asarray(np.clip(_chances(self.design, self.fit.mean) * times, 0.001, 0.999))

    @cached_property
    def draws(self) -> Floats:
        """Grades that the items may have, a row per draw."""
        rng = np.random.Generator(np.random.Philox(self.seed))
        query, root = self.labels.pair.query[self.items], np.linalg.cholesky(self.fit.spread)
        out = np.zeros((_DRAWS, len(self.items)))
        for row in out:
            # What is unknown of the runs is so for all queries, what is unknown of a query for all its items.
            base = _chances(self.design, self.fit.mean + root @ rng.standard_normal(len(root)))
            times = rng.gamma(self.shares[0], 1 / self.shares[1])
            drawn = rng.random(len(query)) < base * times[query]
            row[drawn] = rng.choice(self.grades, int(drawn.sum()))
        return out

    @cached_property
    def effect(self) -> Floats:
        """What each item adds to the difference of the means if it is relevant, among labels that are drawn."""
        pair, sums = self.labels.pair, np.zeros(len(self.items))
        query, typical = pair.query[self.items], float(np.round(self.grades.mean()))
        for row in self.draws[:_CONTEXTS]:
            first, second = pair.relabelled(self.items, row[None])
            drawn = replace(pair, first=first, second=second)
            moves = [
                [LabelMove(int(item), 0.0 if grade else typical)] for item, grade in zip(self.items, row, strict=True)
            ]
            change = drawn.differences(query, moves) - drawn.base[query]
            sums += np.where(row > 0, -change, change)
        return np.asarray(sums / _CONTEXTS / len(pair.first))

    @property
    def matters(self) -> Bools:
        """Which items can move the difference."""
        return np.abs(self.effect) > _NOTHING

    @cached_property
    def expected(self) -> Floats:
        """Expected change of the difference of the means by judging each item."""
        return np.asarray(2 * self.chance * (1 - self.chance) * np.abs(self.effect))

    def forecast(self, baseline: str, run: str, confidence: float) -> Forecast:
        """The most probable verdict with all labels."""
        pair = self.labels.pair
        values = pair.drawn(self.items, self.draws) if len(self.items) else pair.base[None]
        fit = student(values.T)
        low, high = fit.interval(confidence)
        better, worse = int((low > 0).sum()), int((high < 0).sum())
        counts = {"inconclusive": len(values) - better - worse, "better": better, "worse": worse}
        verdict = max(counts, key=counts.__getitem__)
        return Forecast(baseline, run, verdict, counts[verdict] / len(values), float(fit.mean.mean()))


def _machine_features(labels: AllLabels, machine: Columns) -> list[Floats]:
    """The machine's label of each item, and whether it has none."""
    machine_ids = zip(map(str, plain_ids(machine.query)), map(str, plain_ids(machine.item)), strict=True)
    by_id = dict(zip(machine_ids, grades_of(machine), strict=True))
    queries = (str(labels.queries[query]) for query in labels.pair.query)
    own = [by_id.get(ids) for ids in zip(queries, map(str, plain_ids(labels.items)), strict=True)]
    lacking = np.array([grade is None for grade in own])
    return [np.array([grade or 0.0 for grade in own]), lacking.astype(float)]


class _Fit(NamedTuple):
    """Weights of a logistic regression, with their covariance."""

    mean: Floats
    spread: Floats


def _logistic(x: Floats, y: Bools) -> _Fit:
    """Logistic regression with a normal prior: before there are labels, items are less relevant at lower ranks."""
    start = np.zeros(x.shape[1])
    start[:5] = (0.0, -0.3, -0.3, 0.0, 0.0)
    weights = start.copy()
    for _ in range(_STEPS):
        p = _chances(x, weights)
        curve = (x * (p * (1 - p))[:, None]).T @ x + np.eye(len(weights)) / _PRIOR**2
        step = np.linalg.solve(curve, x.T @ (y - p) - (weights - start) / _PRIOR**2)
        weights = weights + step / max(1.0, float(np.abs(step).max()))  # never far at a time
        if np.abs(step).max() < 1e-6:
            break
    return _Fit(weights, np.asarray(np.linalg.inv(curve), dtype=float))


def _chances(design: Floats, weights: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(design @ weights, -30, 30))))


def _best(models: Sequence[_Model], n: int) -> list[NextItem]:
    """The items with the largest expected changes, each once."""
    rows: dict[tuple[Any, Any], NextItem] = {}
    for model in models:
        expected, pair = model.expected, model.labels.pair
        order = np.lexsort((model.items, -np.round(expected, 15)))
        order = order[model.matters[order]][: 2 * n]
        ids = plain_ids(model.labels.items, model.items[order])
        for at, item in zip(order.tolist(), ids, strict=True):
            query = model.labels.queries[int(pair.query[model.items[at]])]
            effect = float(model.effect[at])
            row = NextItem(query, item, float(model.chance[at]), effect, float(expected[at]), int(model.rank[at]))
            if (query, item) not in rows or rows[query, item].expected < row.expected:
                rows[query, item] = row
    return sorted(rows.values(), key=lambda row: -row.expected)[:n]


class JudgeNext(Readable):
    """Items to judge, the most effective first, and whether the judgements so far are enough.

    Attributes
    ----------
    metric : str
        The metric that is compared.
    items : list of NextItem
        The items.
    forecasts : list of Forecast
        The verdict with all labels, for each pair of runs.
    stop : bool
        Whether more judgements hardly change a verdict.
    reason : str
        Why to stop, or to go on.
    open : int
        Number of unjudged items that could move a comparison.
    truth : Columns
        The judgements so far, with the answers.
    """

    def __init__(
        self, metric: str, items: list[NextItem], forecasts: list[Forecast], error: float, unjudged: int, truth: Columns
    ) -> None:
        self.metric, self.items, self.forecasts, self.open, self.truth = metric, items, forecasts, unjudged, truth
        least = min(row.chance for row in forecasts)
        self.stop = not unjudged or least >= 1 - error
        risk = f"the chance of a false verdict is {100 * (1 - least):.1f} %"
        self.reason = (
            "stop: the verdict cannot change any more" if not unjudged
            else f"stop: {risk}, at most {100 * error:g} %" if self.stop
            else f"go on: {risk}, more than {100 * error:g} %"
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        rows = [plain(row) for row in self.items]
        return {"metric": self.metric, "stop": self.stop, "reason": self.reason, "open": self.open,
                "forecasts": [plain(row) for row in self.forecasts], "items": rows}  # fmt: skip

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {name: [getattr(row, name) for row in self.items] for name in NextItem._fields}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the items as judgements to fill in: an empty rating for Quepid, else grade -1.

        Parameters
        ----------
        path : str or PathLike
            The file; "-" is standard output.
        format : str, optional
            A format of `rs.write_truth`, such as "quepid", "opensearch" or "trec". By file extension if omitted.
        """
        ids = {name: [getattr(row, name) for row in self.items] for name in ("query", "item")}
        empty = format == "quepid"
        grades = np.full(len(self.items), math.nan if empty else POOLED)
        write_side(columns(**ids, grade=grades if empty else grades.astype(np.int8)), path, "truth", format)

    def _answer(self) -> Answer:
        rows = self.items
        items = table_of({
            "query": [row.query for row in rows], "item": [row.item for row in rows],
            "chance": [row.chance for row in rows], "effect": [f"{row.effect:+.5f}" for row in rows],
            "best rank": [row.rank for row in rows],
        })  # fmt: skip
        forecasts = [["run", "than", "forecast", "chance", "difference"]]
        forecasts += [
            [row.run, row.baseline, row.verdict, number(row.chance), f"{row.difference:+.4f}"] for row in self.forecasts
        ]
        note = (
            f"{self.open:,} unjudged items could move the comparison by {self.metric}; the first {len(rows)} are listed"
        )
        return Answer(items, title=self.reason, notes=[note], below=[Answer(forecasts, align="<<<")])
