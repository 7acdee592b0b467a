"""`agreement`: how far judges agree, and what that does to the order of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.data.arrow import plain_ids
from rankstone.errors import InputError
from rankstone.judges.panel import Panel, panel_of
from rankstone.metrics.registry import Value
from rankstone.progress import watched
from rankstone.results.answer import Answer, Readable, number, plain, queries, signed, table_of
from rankstone.statistics.agreement_coefficients import (
    COEFFICIENTS,
    Ratings,
    Tally,
    coefficient_of,
    cross_table,
    resampled_coefficients,
    weighting,
    weights_of,
)
from rankstone.statistics.intervals import bootstrap_draws
from rankstone.statistics.student_t import level, student

if TYPE_CHECKING:
    from rankstone.judges.effect import Effects
    from rankstone.plots.plot import Plot
    from rankstone.typing import ColumnRoles, Metrics, Path, Run, Truth

_WORST = 5  # queries that are printed
_SAME = "same grade"  # the raw agreement


class Shown(NamedTuple):
    """A row of the printed table."""

    name: str
    coefficient: str
    weights: str


# What is printed, in this order; rows that are not for as many judges are left out.
SHOWN = (
    Shown("Cohen's kappa", "cohen", "identity"),
    Shown("Cohen's kappa, linear", "cohen", "linear"),
    Shown("Cohen's kappa, quadratic", "cohen", "quadratic"),
    Shown("Conger's kappa", "conger", "identity"),
    Shown("Fleiss' kappa", "fleiss", "identity"),
    Shown("Krippendorff's alpha, nominal", "krippendorff", "nominal"),
    Shown("Krippendorff's alpha, ordinal", "krippendorff", "ordinal"),
    Shown("Krippendorff's alpha, interval", "krippendorff", "interval"),
    Shown("Gwet's AC1", "gwet", "identity"),
    Shown("Gwet's AC2, ordinal", "gwet", "ordinal"),
    Shown("Brennan-Prediger", "brennan_prediger", "identity"),
)
_AT_THRESHOLD = (SHOWN[0], SHOWN[4], SHOWN[5], SHOWN[8])  # of two categories


class CoefficientRow(NamedTuple):
    """A coefficient of agreement with its interval by a bootstrap over queries.

    Attributes
    ----------
    name : str
        What it is called.
    value, low, high : float
        The coefficient and its interval; NaN where it is undefined.
    agreement, chance : float
        Observed and expected agreement, by its weights.
    """

    name: str
    value: float
    low: float
    high: float
    agreement: float
    chance: float


class Bias(NamedTuple):
    """How much higher a judge grades than the reference.

    Attributes
    ----------
    judge : str
        The judge.
    grade : float or None
        Grade of the reference; None: all.
    judgements : int
        Number of items that both have judged.
    mean, difference, low, high : float
        Mean grade of the judge, less that of the reference, with an interval of the difference over queries.
    verdict : str
        "lenient", "harsh", or empty where the interval has 0 in it.
    """

    judge: str
    grade: float | None
    judgements: int
    mean: float
    difference: float
    low: float
    high: float
    verdict: str


class QueryAgreement(NamedTuple):
    """Agreement on the items of a query.

    Attributes
    ----------
    query : object
        The query.
    judgements : int
        Number of items that two or more have judged.
    agreement : float
        Share of pairs of judgements with the same grade.
    distance : float
        Mean difference of grades in a pair.
    """

    query: Any
    judgements: int
    agreement: float
    distance: float


def agreement(
    judges: Mapping[str, Truth] | Path,
    runs: Mapping[str, Run] | Sequence[Run] | None = None,
    metrics: Metrics | None = None,
    *,
    reference: str | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    columns: ColumnRoles | None = None,
    **choices: Value,
) -> Agreement:
    """How far judges agree: raw and chance-corrected, by threshold, grade and query, and what it does to runs.

    Intervals are by a bootstrap over queries, since judgements of one query are not independent.

    Parameters
    ----------
    judges : dict or path
        Judgements by the judge's name, each in any form of a truth; or a file with several judges: a Quepid book, or a
        table with a column of judges.
    runs : dict or list, optional
        Runs whose metrics, order and verdicts are compared under each judge.
    metrics : str, Metric or list, optional
        The metrics of the runs; by default those of `rs.evaluate`.
    reference : str, optional
        The judge that the others are compared with; by default the first.
    confidence : float, default 0.95
        Confidence level.
    resamples : int, default 2000
        Number of bootstrap samples.
    seed : int, default 0
        Random seed.
    columns : dict, optional
        Columns by role, as in `rs.evaluate`.
    **choices
        Choices for the metrics of the runs, such as `convention` or `threshold`.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        If fewer than two judges are there, or no item has two judgements.

    Examples
    --------
    >>> human = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 0, "e": 1}}
    >>> model = {"q1": {"a": 2, "b": 1, "c": 1}, "q2": {"d": 0, "e": 1}}
    >>> judged = rs.agreement({"human": human, "llm": model})
    >>> round(judged["Krippendorff's alpha, ordinal"].value, 3)
    0.794
    >>> judged.confusion("human", "llm")
    [[1, 1, 0], [0, 2, 0], [0, 0, 1]]
    """
    panel = panel_of(judges, columns)
    level(confidence, "confidence")
    if reference is not None and reference not in panel.names:
        raise InputError(f"reference={reference!r} is none of the judges: {', '.join(map(repr, panel.names))}")
    if resamples < 1:
        raise InputError(f"resamples={resamples!r} is not above 0")
    if not (panel.judged.sum(axis=1) >= 2).any():
        raise InputError("no item is judged by two judges; the judges share no query and item")
    if runs is None and (metrics is not None or choices):
        name = "metrics" if metrics is not None else next(iter(choices))
        raise InputError(f"{name}= goes with runs=")
    effects = None
    if runs is not None:
        from rankstone.judges.effect import effects_of  # which loads comparisons

        effects = effects_of(panel, runs, metrics, choices)
    return Agreement(panel, reference or panel.names[0], confidence, resamples, seed, effects)


class Agreement(Readable):
    """How far judges agree. Printed, it is a table of coefficients, with tables of thresholds, bias and queries.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges.
    reference : str
        The judge that the others are compared with.
    scale : list of float
        The grades that occur.
    judgements : dict of str to int
        Number of judgements by judge.
    shared : int
        Number of items that two or more have judged.
    effect : Effects or None
        Means of the runs under each judge, their rank correlation and the verdicts that change.
    """

    def __init__(
        self, panel: Panel, reference: str, confidence: float, resamples: int, seed: int, effects: Effects | None
    ) -> None:
        self._panel, self.reference, self.effect = panel, reference, effects
        self._rules = confidence, resamples, seed
        self.judges = panel.names
        self.scale = panel.ratings.categories.tolist()
        self.judgements = dict(zip(panel.names, panel.judged.sum(axis=0).tolist(), strict=True))
        self.shared = int((panel.judged.sum(axis=1) >= 2).sum())

    def __getitem__(self, name: str) -> CoefficientRow:
        rows = {row.name: row for row in self.coefficients}
        if name not in rows:
            raise KeyError(f"unknown coefficient {name!r}; there are {', '.join(rows)}")
        return rows[name]

    @cached_property
    def coefficients(self) -> list[CoefficientRow]:
        """Raw agreement and the coefficients, each with an interval."""
        return _rows(self._panel.ratings, self._panel.query, SHOWN, self._rules)

    @cached_property
    def thresholds(self) -> dict[float, list[CoefficientRow]]:
        """The same by threshold: relevant from this grade on, for each but the lowest."""
        return {
            at: _rows(self._panel.ratings.at(at), self._panel.query, _AT_THRESHOLD, self._rules)
            for at in self.scale[1:]
        }

    def confusion(self, first: str | None = None, second: str | None = None) -> list[list[int]]:
        """Items by the grades of two judges.

        Parameters
        ----------
        first : str, optional
            The judge of the rows; by default the reference.
        second : str, optional
            The judge of the columns; by default the first other one.

        Returns
        -------
        list of list of int
            A row and a column per grade of `scale`.
        """
        first, second = self._pair(first, second)
        codes = self._panel.ratings.codes[:, [self._at(first), self._at(second)]]
        return list(cross_table(codes, len(self.scale)).tolist())

    @cached_property
    def bias(self) -> list[Bias]:
        """How much higher each judge grades than the reference, over all items and by the reference's grade."""
        return [row for judge in self.judges if judge != self.reference for row in self._bias_of(judge)]

    @cached_property
    def by_query(self) -> list[QueryAgreement]:
        """Agreement by query, the worst first."""
        ratings, query = self._panel.ratings, self._panel.query
        tally = ratings.tally(query)
        identity = np.eye(len(self.scale))
        distances = np.abs(ratings.categories[:, None] - ratings.categories[None])
        same, apart = ((tally.together * weights).sum(axis=(1, 2)) for weights in (identity, distances))
        rows = np.flatnonzero(tally.pairs)
        pairs = tally.pairs[rows]
        columns = (pairs.astype(int).tolist(), (same[rows] / pairs).tolist(), (apart[rows] / pairs).tolist())
        out = map(QueryAgreement, plain_ids(self._panel.queries, rows), *columns)
        return sorted(out, key=lambda row: (-row.distance, row.agreement))

    def plot(self, kind: str = "confusion", *names: str) -> Plot:
        """A picture, with its numbers in `.data`.

        Parameters
        ----------
        kind : str, default "confusion"
            "confusion" (items by the grades of two judges) or "runs" (means of the runs under two judges).
        *names : str
            Two judges, and for "runs" a metric, where there are several.

        Returns
        -------
        Plot
        """
        from rankstone.judges.pictures import picture_of  # plots load on demand

        return picture_of(self, kind, names)

    def report(self, title: str | None = None) -> str:
        """An HTML page in one file, without external requests.

        Parameters
        ----------
        title : str, optional
            Title of the page; by default the names of the judges.

        Returns
        -------
        str
        """
        from rankstone.judges.pictures import report_of

        return report_of(self, title)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        confidence, resamples, seed = self._rules
        return {
            "judges": list(self.judges), "reference": self.reference, "scale": self.scale,
            "judgements": self.judgements, "shared": self.shared, "confidence": confidence, "resamples": resamples,
            "seed": seed, "coefficients": [plain(row) for row in self.coefficients],
            "thresholds": [{"threshold": at, "coefficients": [plain(row) for row in rows]}
                           for at, rows in self.thresholds.items()],
            "confusion": [{"judges": list(pair), "items": self.confusion(*pair)}
                          for pair in combinations(self.judges, 2)],
            "bias": [plain(row) for row in self.bias], "queries": [plain(row) for row in self.by_query],
            "effect": None if self.effect is None else self.effect.to_dict(),
        }  # fmt: skip

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write it to a file, in the format of its extension.

        Parameters
        ----------
        path : str or PathLike
            The file. "-" is standard output.
        format : str, optional
            txt, md, tex (the printed tables), html (the page of `report`), csv, tsv, json, jsonl or parquet.
        """
        from rankstone.results.export import result_format, write_answer

        write_answer(self, path, result_format(path, format), {})

    # -- the parts -------------------------------------------------------------------------------------------

    def _at(self, judge: str) -> int:
        if judge not in self.judges:
            raise InputError(f"{judge!r} is none of the judges: {', '.join(map(repr, self.judges))}")
        return self.judges.index(judge)

    def _pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        first = first or self.reference
        return first, second or next(judge for judge in self.judges if judge != first)

    def _bias_of(self, judge: str) -> Iterator[Bias]:
        own, theirs = (self._panel.grades[:, self._at(name)] for name in (judge, self.reference))
        both = ~(np.isnan(own) | np.isnan(theirs))
        for grade in (None, *self.scale):
            rows = both if grade is None else both & (theirs == grade)
            if not rows.any():
                continue
            apart = own[rows] - theirs[rows]
            fit = student(apart, self._panel.query[rows])
            low, high = (float(end) for end in fit.interval(self._rules[0]))
            verdict = "lenient" if low > 0 else "harsh" if high < 0 else ""
            yield Bias(judge, grade, int(rows.sum()), float(own[rows].mean()), float(apart.mean()), low, high, verdict)

    # -- printed ---------------------------------------------------------------------------------------------

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {name: [getattr(row, name) for row in self.coefficients] for name in CoefficientRow._fields}

    def _answer(self) -> Answer:
        confidence, resamples, _ = self._rules
        percent = f"{100 * confidence:g} % interval"
        rows = [["coefficient", "value", percent, "agreement", "chance"]]
        for row in self.coefficients:
            value, *others = (_cell(cell) for cell in (row.value, row.agreement, row.chance))
            rows.append([row.name, value, _interval(row.low, row.high), *others])
        judged = ", ".join(f"{name} {count:,}" for name, count in self.judgements.items())
        many = len(np.unique(self._panel.query))
        notes = [f"{queries(many)}; judgements: {judged}; {self.shared:,} items have two or more"]
        notes.append(f"intervals: {resamples:,} bootstrap samples of queries" if many > 1 else
                     "no intervals: they draw queries again, and there is one")  # fmt: skip
        if any(math.isnan(row.value) for row in self.coefficients):
            notes.append("unknown: all judgements have one grade, so that chance explains the agreement")
        below = [self._threshold_table(), self._bias_table(), self._query_table()]
        if self.effect is not None:
            below += self.effect.tables()
            notes += self.effect.notes
        return Answer(rows, title=self._headline(), notes=notes, below=below, fixed=1)

    def _headline(self) -> str:
        raw, alpha = self.coefficients[0], self["Krippendorff's alpha, ordinal"]
        names = " and ".join(self.judges) if len(self.judges) == 2 else f"{len(self.judges)} judges"
        ordinal = "" if math.isnan(alpha.value) else f"; alpha (ordinal) {alpha.value:.2f}"
        return f"{names} give the same grade to {100 * raw.value:.1f} % of the items{ordinal}"

    def _threshold_table(self) -> Answer:
        names = dict.fromkeys(row.name for rows in self.thresholds.values() for row in rows)
        body = ([f"{at:g}", *(_cell(row.value) for row in rows)] for at, rows in self.thresholds.items())
        return Answer([["relevant from", *names], *body])

    def _bias_table(self) -> Answer:
        head = ["judge", f"{self.reference}'s grade", "items", "mean grade", "difference", "interval", "judge is"]
        rows = [
            [row.judge, "all" if row.grade is None else f"{row.grade:g}", f"{row.judgements:,}", number(row.mean),
             signed(row.difference), _interval(row.low, row.high, signed), row.verdict]
            for row in self.bias
        ]  # fmt: skip
        return Answer([head, *rows], align="<>>>>><")

    def _query_table(self) -> Answer:
        worst = self.by_query[:_WORST]
        return Answer(table_of({
            "worst queries": [row.query for row in worst], "items": [row.judgements for row in worst],
            "same grade": [row.agreement for row in worst], "mean distance": [row.distance for row in worst],
        }))  # fmt: skip


def _rows(ratings: Ratings, query: Any, shown: Sequence[Shown], rules: tuple[float, int, int]) -> list[CoefficientRow]:
    """Raw agreement and some coefficients, with intervals."""
    judged = ratings.codes >= 0
    raw = ratings.only(np.asarray(judged.any(axis=1))).tally()
    same_grade = float(np.trace(raw.together) / raw.pairs)
    rows = {_SAME: CoefficientRow(_SAME, *[math.nan] * 5)}
    applicable = [row for row in shown if COEFFICIENTS[row.coefficient].judges in (None, judged.shape[1])]
    for unequal in (True, False):
        several = [row for row in applicable if COEFFICIENTS[row.coefficient].unequal == unequal]
        units = np.asarray(judged.any(axis=1) if unequal else judged.all(axis=1))
        rows |= _with_intervals(ratings.only(units), query[units], several, rules) if units.any() else {}
    raw_row = rows.pop(_SAME)._replace(value=same_grade)
    return [raw_row, *(rows[row.name] for row in applicable if row.name in rows)]


def _with_intervals(
    ratings: Ratings, query: Any, shown: Sequence[Shown], rules: tuple[float, int, int]
) -> dict[str, CoefficientRow]:
    """Coefficients of units that have as many judgements as these need, and the interval of the raw agreement."""
    confidence, resamples, seed = rules
    by_query = ratings.tally(np.unique(query, return_inverse=True)[1])
    total = Tally(*(part.sum(axis=0) for part in by_query))
    named = [(COEFFICIENTS[one.coefficient], weighting(COEFFICIENTS[one.coefficient], one.weights)) for one in shown]
    samples = _resampled(by_query, named, ratings.categories, resamples, seed)
    out = {}
    for one, (row, weights), drawn in zip(shown, named, samples, strict=False):
        own = weights_of(weights, ratings.categories, total.margins)
        value, agreed, chance = (float(part) for part in coefficient_of(total, row, own))
        out[one.name] = CoefficientRow(one.name, value, *_ends(drawn, confidence), agreed, chance)
    if any(row.unequal for row, _ in named):
        out[_SAME] = CoefficientRow(_SAME, math.nan, *_ends(samples[-1], confidence), math.nan, math.nan)
    return out


def _resampled(by_query: Tally, named: Sequence[Any], values: Any, resamples: int, seed: int) -> list[Any]:
    """The coefficients of bootstrap samples of queries, the raw agreement last; none for one query."""
    many = len(by_query.units)
    if many < 2:
        return [np.zeros(0)] * (len(named) + 1)
    with watched("drawing queries again") as progress:
        parts = [resampled_coefficients(by_query, drawn, named, values)
                 for drawn in bootstrap_draws(many, resamples, seed, progress)]  # fmt: skip
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _ends(samples: Any, confidence: float) -> tuple[float, float]:
    """A percentile interval; NaN where too few samples have a value."""
    defined = samples[~np.isnan(samples)]
    if 2 * len(defined) <= len(samples):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _cell(value: float) -> str:
    return "unknown" if math.isnan(value) else number(value)


def _interval(low: float, high: float, form: Callable[[float], str] = number) -> str:
    return f"{form(low)} {form(high)}" if math.isfinite(low) and math.isfinite(high) else ""
