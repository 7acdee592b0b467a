"""When not to answer: curves of risk and coverage, MTEB's nAUC, and a score threshold that bounds false answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.conventions.convention import Convention
from rankstone.errors import InputError
from rankstone.evaluate.measurement import evaluate_source
from rankstone.evaluate.pipeline import open_source
from rankstone.metrics.registry import Value
from rankstone.plots.marks import Axis, Line, RefLine
from rankstone.plots.plot import Plot
from rankstone.program.flat import ranking_of
from rankstone.results.answer import Answer, Readable, number, plain, queries
from rankstone.results.definition import Definitions, label_of, summarize
from rankstone.results.result import Result
from rankstone.statistics.abstention import AbstentionCurve, abstention_curve, nauc, score_cut

if TYPE_CHECKING:
    from rankstone.typing import ColumnRoles, Metrics, Run, Truth

# The confidence of a query, out of the scores of its list, the best first.
CONFIDENCES: Mapping[str, Callable[[Floats], float]] = {
    "max": lambda scores: float(scores[0]),
    "std": lambda scores: float(scores.std()),
    "diff1": lambda scores: float(scores[0] - scores[1]) if len(scores) > 1 else 0.0,
}
_NAMES = {"ap": "map", "rr": "mrr"}  # metrics by MTEB's names
_NAUC = re.compile(rf"nauc_(.+)_({'|'.join(CONFIDENCES)})")


class RiskCoverage(Readable, Mapping[str, float]):
    """nAUC by MTEB's names, `nauc_ndcg_at_10_max`, and the curves of coverage and metric behind it.

    Attributes
    ----------
    queries : int
        Number of queries.
    definitions : dict
        What each metric means.

    Examples
    --------
    >>> truth = {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    >>> run = {"q1": {"a": 0.9, "x": 0.1}, "q2": {"x": 0.5, "b": 0.4}, "q3": {"x": 0.3, "y": 0.2}}
    >>> curves = rs.risk_coverage(truth, run, "rr")
    >>> curves["nauc_mrr_max"]
    1.0
    >>> curves.curve("nauc_mrr_max").value.round(2).tolist()
    [0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self, values: Mapping[str, Floats], confidence: Mapping[str, Floats], definitions: Definitions, equal: str
    ) -> None:
        self.definitions, self.queries = definitions, len(next(iter(confidence.values())))
        self._curves: dict[str, AbstentionCurve] = {}
        self._areas: dict[str, float] = {}
        self._labels = {_mteb_name(label): label for label in values}
        for metric, label in self._labels.items():
            averaged = ~np.isnan(values[label])
            for name, scores in confidence.items():
                data = scores[averaged], values[label][averaged], equal
                self._curves[f"nauc_{metric}_{name}"] = abstention_curve(*data)
                self._areas[f"nauc_{metric}_{name}"] = nauc(*data)

    def _name(self, name: str) -> str:
        match = _NAUC.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            raise KeyError(f"{name!r}; there are {', '.join(self)}")
        metric = match[1]
        if metric not in self._labels:
            metric = _mteb_name(label_of(metric.replace("_at_", "@"), dict.fromkeys(self._labels.values())))
        return f"nauc_{metric}_{match[2]}"

    def __getitem__(self, name: str) -> float:
        return self._areas[self._name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._areas)

    def __len__(self) -> int:
        return len(self._areas)

    def curve(self, name: str) -> AbstentionCurve:
        """Share of the queries that are answered, and the mean of the metric over these; risk is 1 - mean.

        Parameters
        ----------
        name : str
            As of the areas: "nauc_ndcg_at_10_max".

        Returns
        -------
        AbstentionCurve
            With `coverage` and `value`.
        """
        return self._curves[self._name(name)]

    def plot(self, name: str) -> Plot:
        """The curve as a plot.

        Parameters
        ----------
        name : str
            As of the areas: "nauc_ndcg_at_10_max".

        Returns
        -------
        Plot
        """
        name = self._name(name)
        coverage, value = (side[::-1].tolist() for side in self._curves[name])
        sentence = f"{name} = {number(self[name])}; the mean is {number(value[-1])} if every query is answered."
        marks = (RefLine(value[-1]), Line(coverage, value))
        axes = Axis("coverage", 0, 1), Axis("mean over the answered queries", 0, max(1.0, *value))
        return Plot("Abstention", sentence, *axes, marks, {"coverage": coverage, "value": value})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the areas, and the curves."""
        curves = {name: plain(curve) for name, curve in self._curves.items()}
        return {"queries": self.queries, "areas": dict(self), "curves": curves}

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        rows = [(name, *point) for name, curve in self._curves.items() for point in zip(*curve, strict=True)]
        return dict(zip(("name", "coverage", "value"), map(list, zip(*rows, strict=True)), strict=True))

    def _answer(self) -> Answer:
        rows = [["name", "nauc", "at 100 %", "at 50 %"], *(
            [name, number(area), *(number(float(self._curves[name].value[at])) for at in (0, 5))]
            for name, area in self.items()
        )]  # fmt: skip
        *defined, origin = summarize(list(self.definitions.values()))
        note = f"{queries(self.queries)}; means over the most confident 100 % and 50 % of them"
        return Answer(rows, notes=[note, origin], definitions=defined)


def _mteb_name(label: str) -> str:
    name, at, k = label.partition("@")
    return f"{_NAMES.get(name, name)}{'_at_' if at else ''}{k}"


def risk_coverage(
    truth: Truth,
    run: Run,
    metrics: Metrics = "ndcg@10",
    *,
    equal: str = "mean",
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    **choices: Value,
) -> RiskCoverage:
    """Does the confidence of a run say which queries it answers well: curves, and MTEB's nAUC.

    The confidence of a query comes from the scores of its list: the best one (`max`), their standard deviation (`std`)
    and the distance of the best two (`diff1`).

    Parameters
    ----------
    truth : truth-like
        The judged items of each query, as in `rs.evaluate`; `{"q9": []}` has no answer.
    run : run-like
        The returned items of each query, with scores.
    metrics : str, Metric or list of these, default "ndcg@10"
        Metrics, as in `rs.evaluate`.
    equal : str, default "mean"
        Queries of equal confidence: "mean" (each counts as their mean, as MTEB does since 2.18.19) or "order".
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    columns : dict, optional
        Columns of a table by role.
    **choices
        Choices by name, as in `rs.evaluate`.

    Returns
    -------
    RiskCoverage
        Areas by MTEB's names: 1 if the confidence orders queries as their values do, 0 if at random.

    Raises
    ------
    ValueError
        If the run is only an order of items.

    Examples
    --------
    >>> truth, run = {"q1": ["a"], "q2": ["b"]}, {"q1": {"a": 0.9}, "q2": {"x": 0.5}}
    >>> rs.risk_coverage(truth, run, "rr")["nauc_mrr_max"]
    1.0
    """
    result, lists = _scored(truth, run, metrics, convention, columns, choices)
    confidences = {name: _confidences(lists, name) for name in CONFIDENCES}
    return RiskCoverage(dict(result.per_query), confidences, result.definitions, equal)


def _confidences(lists: Sequence[Floats], name: str) -> Floats:
    """The confidence of each query; none of one with an empty list."""
    return np.array([CONFIDENCES[name](scores) if len(scores) else -math.inf for scores in lists])


def _scored(
    truth: Truth, run: Run, metrics: Metrics, convention: str | Convention, columns: ColumnRoles | None, choices: Any
) -> tuple[Result, list[Floats]]:
    """The result, and the scores of each query's list, the best first."""
    source = open_source(truth, run, columns=columns)
    result = evaluate_source(source, metrics, convention, None, 0, choices)
    first = source.first(result._measurement.plan(next(iter(result))).align, None)
    if first.score is None and len(first.item):
        raise InputError("confidence comes from scores, and the run is only an order of items")
    scores = np.zeros(0) if first.score is None else np.asarray(first.score, dtype=np.float64)
    if np.isnan(scores).any():
        raise InputError("confidence comes from scores, and some lists are only an order of items")
    ends = first.offsets.tolist()[: len(result.queries) + 1]
    return result, [scores[start:end] for start, end in pairwise(ends)]


# -- a threshold ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class AnswerThreshold(Readable):
    """A score threshold below which a system should not answer, and what it costs.

    Attributes
    ----------
    cut : float
        Lowest best score of a list that is shown as an answer.
    rate, confidence : float
        The limit of the rate of false answers, and the confidence that the rate is below it.
    false_answers, unanswerable : int
        Queries without an answer that are answered at the cut, and all of these.
    upper : float
        Upper confidence bound of the rate of false answers.
    answered, answerable : int
        Queries with an answer that are answered at the cut, and all of these.
    metric : str
        The metric of the next two.
    before, after : float
        Means over the queries with an answer, without the cut and with it; an unanswered query counts 0.
    """

    cut: float
    rate: float
    confidence: float
    false_answers: int
    unanswerable: int
    upper: float
    answered: int
    answerable: int
    metric: str
    before: float
    after: float

    @property
    def cost(self) -> float:
        """What the cut costs, in the metric's unit: `before - after`."""
        return self.before - self.after

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**plain(self), "cost": self.cost}

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {name: [value] for name, value in self.to_dict().items()}

    def _answer(self) -> Answer:
        rows = [
            ["queries", "answered", "all", self.metric, "with the cut"],
            ["without an answer", f"{self.false_answers:,}", f"{self.unanswerable:,}", "", ""],
            ["with an answer", f"{self.answered:,}", f"{self.answerable:,}", number(self.before), number(self.after)],
        ]
        bound = f"{100 * self.confidence:g} % sure: at most {100 * self.upper:.2f} % false answers of such queries"
        limit = f"(limit {100 * self.rate:g} %, exact binomial bound)"
        return Answer(rows, f"answer if the best score is at least {self.cut:g}", [f"{bound} {limit}"])


def answer_threshold(
    truth: Truth,
    run: Run,
    metric: str = "recall@10",
    *,
    rate: float = 0.05,
    confidence: float = 0.95,
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    **choices: Value,
) -> AnswerThreshold:
    """The lowest score from which a system may answer, so that few queries without an answer get one.

    The rate of false answers is below the limit with the given confidence, for new queries without an answer like
    these (learn then test, with the bound of Clopper and Pearson; Angelopoulos et al. 2021). The system must be fixed
    before: scores of other queries than those it was trained on.

    Parameters
    ----------
    truth : truth-like
        The judged items of each query; a query with none that is relevant, `{"q9": []}`, has no answer.
    run : run-like
        The returned items of each query, with scores.
    metric : str, default "recall@10"
        What the cut costs.
    rate : float, default 0.05
        Highest rate of false answers.
    confidence : float, default 0.95
        Confidence that the rate is lower.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    columns : dict, optional
        Columns of a table by role.
    **choices
        Choices by name, such as `threshold=2`.

    Returns
    -------
    AnswerThreshold
        With `cut`, `upper`, and the metric `before` and `after`.

    Raises
    ------
    ValueError
        If there are too few queries without an answer for such a statement: 59 for 5 % with 95 % confidence.

    Examples
    --------
    >>> truth = {q: [] if q < 60 else ["a"] for q in range(80)}
    >>> run = {q: {"a": q / 80} for q in truth}
    >>> threshold = rs.answer_threshold(truth, run)
    >>> threshold.cut, threshold.after
    (0.75, 1.0)
    """
    result, lists = _scored(truth, run, metric, convention, columns, choices)
    if len(result) != 1:
        raise InputError(f"metric={metric!r} is {len(result)} metrics; give one")
    (label,) = result
    best = _confidences(lists, "max")
    has_answer = _relevant(result, label) > 0
    if not has_answer.any():
        raise InputError("no query has an answer; what the cut costs is unknown")
    cut, false_answers, upper = score_cut(best[~has_answer], best, rate, confidence)
    values = np.nan_to_num(result.per_query[label][has_answer])
    answered = best[has_answer] >= cut
    return AnswerThreshold(
        cut, rate, confidence, false_answers, int((~has_answer).sum()), upper, int(answered.sum()), len(values), label,
        float(values.mean()), float((values * answered).mean()),
    )  # fmt: skip


def _relevant(result: Result, label: str) -> Floats:
    """Number of relevant items per query, as the metric counts them."""
    measurement = result._measurement
    plan = measurement.plan(label)
    return np.asarray(ranking_of(measurement.aligned(plan).ranked.judged_by(plan.relevance)).relevant)
