"""Chance-corrected agreement of judges: one row per coefficient, all of them functions of the same sums.

The sums add up over units (a query and an item), so that a coefficient of a million judgements needs one pass over
counts, and a bootstrap over queries only sums again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rankstone.data.annotations import Bools, Floats, Ints
from rankstone.errors import InputError
from rankstone.statistics.student_t import choice, level

_NOISE = 1e-12
_VARIANCE = 1e-14  # below which it is nothing but rounding


class Tally(NamedTuple):
    """Sums over units, of all of them or with a leading axis for several sets of units."""

    units: Floats  # that have a judgement
    pairs: Floats  # that have two or more
    shares: Floats  # (q,) of each category among the judgements of a unit
    together: Floats  # (q, q) pairs of judgements within a unit, as shares of its pairs
    coincidences: Floats  # (q, q) the same, each unit with as much weight as it has judgements
    judges: Floats  # (judges, q) judgements of each judge

    @property
    def margins(self) -> Floats:
        """Judgements by category, in units with two or more."""
        return self.coincidences.sum(axis=-1)

    @property
    def unit_shares(self) -> Floats:
        """Shares of the categories, each unit with the same weight."""
        return self.shares / self.units[..., None]

    @property
    def judge_shares(self) -> Floats:
        """Shares of the categories by judge."""
        return self.judges / self.judges.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Judgements as codes of categories: a row per unit, a column per judge, -1 where there is none."""

    codes: Ints
    categories: Floats

    @property
    def counts(self) -> Floats:
        """Judgements of each unit by category."""
        n, q = len(self.codes), len(self.categories)
        cells = (np.arange(n)[:, None] * (q + 1) + self.codes + 1).ravel()
        return np.bincount(cells, minlength=n * (q + 1)).reshape(n, q + 1)[:, 1:].astype(float)

    def only(self, rows: Bools) -> Ratings:
        """Some of the units."""
        return Ratings(self.codes[rows], self.categories)

    def at(self, threshold: float) -> Ratings:
        """Two categories: below the threshold, and from it on."""
        relevant = (self.categories >= threshold).astype(np.int64)
        return Ratings(np.where(self.codes < 0, -1, relevant[self.codes]), np.array([0.0, 1.0]))

    def tally(self, groups: Ints | None = None) -> Tally:
        """The sums of all units, or of each group of them (codes from 0)."""
        counts = self.counts
        number = np.zeros(len(counts), dtype=np.int64) if groups is None else groups
        many, q = int(number.max(initial=0)) + 1, len(self.categories)
        size = counts.sum(axis=1)
        several = size >= 2
        share = counts / np.maximum(size, 1)[:, None]

        def summed(values: Any) -> Floats:
            return np.bincount(number, values, minlength=many).astype(float)

        def within(divisor: Floats) -> Floats:
            """Pairs of judgements of each unit, divided."""
            scaled = np.where(several, 1 / np.maximum(divisor, 1), 0.0)
            out = np.empty((many, q, q))
            for k in range(q):
                for m in range(k, q):
                    pairs = counts[:, k] * (counts[:, m] - (k == m)) * scaled
                    out[:, k, m] = out[:, m, k] = summed(pairs)
            return out

        by_judge = np.zeros((many, self.codes.shape[1], q + 1))
        for judge, own in enumerate(self.codes.T):
            cells = np.bincount(number * (q + 1) + own + 1, minlength=many * (q + 1))
            by_judge[:, judge] = cells.reshape(many, q + 1)
        tally = Tally(
            summed(size > 0), summed(several), np.stack([summed(column) for column in share.T], axis=1),
            within(size * (size - 1)), within(size - 1), by_judge[..., 1:],
        )  # fmt: skip
        return tally if groups is not None else Tally(*(part[0] for part in tally))


def ratings_of(judgements: ArrayLike, categories: ArrayLike | None = None) -> Ratings:
    """Judgements, a row per unit and a column per judge, NaN where there is none, as codes of categories."""
    array = np.asarray(judgements, dtype=float)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(f"judgements has the shape {array.shape}; expected a row per unit and a column per judge")
    missing = np.isnan(array)
    if np.isinf(array).any():
        raise InputError("judgements has an infinite grade")
    every = np.unique(array[~missing])
    scale = every if categories is None else np.unique(np.asarray(categories, dtype=float))
    if not np.isin(every, scale).all():
        raise InputError(f"a judge has grade {np.setdiff1d(every, scale)[0]:g}, which is none of the categories")
    codes = np.where(missing, -1, np.searchsorted(scale, array))
    return Ratings(codes.astype(np.int64), scale)


# -- weights: how far a pair of categories agrees --------------------------------------------------------------------

Weighting = Callable[[Floats, Floats], Floats]  # of the categories' values and margins: distances


def _apart(values: Floats) -> Floats:
    return np.abs(values[:, None] - values[None])


def _places(values: Floats) -> Floats:
    return _apart(np.arange(float(len(values))))


def _between(values: Floats, margins: Floats) -> Floats:
    """Krippendorff's ordinal distance: judgements between two categories, half of their own."""
    above = np.cumsum(margins, axis=-1) - margins / 2
    return (above[..., :, None] - above[..., None, :]) ** 2


def _ratio(values: Floats, _: Floats) -> Floats:
    total = values[:, None] + values[None]
    return np.divide(_apart(values), total, out=np.zeros_like(total), where=total != 0) ** 2


WEIGHTS: dict[str, Weighting] = {
    "identity": lambda values, _: 1.0 - np.eye(len(values)),
    "linear": lambda values, _: _apart(values),
    "quadratic": lambda values, _: _apart(values) ** 2,
    "ordinal_places": lambda values, _: _places(values) * (_places(values) + 1) / 2,  # Gwet's
    "linear_places": lambda values, _: _places(values),  # by place among the categories, whatever their values are
    "quadratic_places": lambda values, _: _places(values) ** 2,
    "ordinal_ranks": _between,  # Krippendorff's
    "ratio": _ratio,
}
# Levels of measurement, by their usual names.
LEVELS = {"nominal": "identity", "interval": "quadratic", "ratio": "ratio"}


def weights_of(name: str, values: Floats, margins: Floats) -> Floats:
    """How far each pair of categories agrees: 1 for the same, 0 for those farthest apart."""
    distances = WEIGHTS[name](values, margins)
    largest = distances.max(axis=(-1, -2), keepdims=True)
    return 1.0 - np.divide(distances, largest, out=np.zeros_like(distances), where=largest > 0)


# -- coefficients ----------------------------------------------------------------------------------------------------


def _product(weights: Floats, shares: Floats) -> Floats:
    return np.asarray(np.einsum("...k,...kl,...l->...", shares, weights, shares))


def _gwet_scale(weights: Floats) -> Floats:
    q = weights.shape[-1]
    return np.asarray(weights.sum(axis=(-1, -2)) / max(q * (q - 1), 1))


def _gwet(tally: Tally, weights: Floats) -> Floats:
    shares = tally.unit_shares
    return _gwet_scale(weights) * (shares * (1 - shares)).sum(axis=-1)


def _uniform(tally: Tally, weights: Floats) -> Floats:
    return np.broadcast_to(weights.mean(axis=(-1, -2)), np.shape(tally.units))


def _conger(tally: Tally, weights: Floats) -> Floats:
    """The mean over pairs of different judges."""
    own = tally.judge_shares
    judges = own.shape[-2]
    every = _product(weights, own.sum(axis=-2))
    same = np.einsum("...gk,...kl,...gl->...", own, weights, own)
    return np.asarray((every - same) / (judges * (judges - 1)))


def _conger_by_unit(ratings: Ratings, tally: Tally, weights: Floats) -> Floats:
    """Gwet's linearisation (2021, chapter 5): each judgement, or its absence, moves the shares of its judge."""
    own, present = tally.judge_shares, ratings.codes >= 0
    n, judges = ratings.codes.shape
    judged = tally.judges.sum(axis=-1)  # by judge
    others = judges * own.mean(axis=0) - own  # sum of the other judges' shares
    worth = others @ weights.T  # (judges, q): of a judgement in each category
    rows = np.where(present, worth[np.arange(judges), ratings.codes], 0.0)
    expected = (worth * own).sum(axis=1)
    moved = (rows - (present - judged / n) * expected) * n / judged
    return np.asarray(moved.sum(axis=1) / (judges * (judges - 1)))


@dataclass(frozen=True, eq=False)
class Coefficient:
    """A coefficient: (agreement - chance) / (1 - chance)."""

    words: str
    use: str
    chance: Callable[[Tally, Floats], Floats]
    by_unit: Callable[[Ratings, Tally, Floats], Floats | float] = lambda *_: math.nan  # each unit's part in the chance
    weights: str = "identity"  # by default
    unequal: bool = True  # supports units with missing judgements
    judges: int | None = None  # how many it is for; None: any number from 2
    coincidence: bool = False  # units count by their judgements, and chance draws without replacement
    ordinal: str = "ordinal_places"  # weights of the ordinal level
    normal: bool = False  # the interval has normal quantiles


COEFFICIENTS: dict[str, Coefficient] = {
    "cohen": Coefficient(
        "Cohen's kappa", "two judges, each with shares of its own",
        _conger, unequal=False, judges=2, normal=True,
    ),
    "fleiss": Coefficient(
        "Fleiss' kappa", "any number of judges, who need not be the same for all units",
        lambda tally, weights: _product(weights, tally.unit_shares),
        lambda ratings, tally, weights: ratings.counts @ (weights @ tally.unit_shares) / ratings.counts.sum(axis=1),
    ),
    "conger": Coefficient(
        "Conger's kappa", "Cohen's kappa of more than two judges", _conger, _conger_by_unit,
    ),
    "krippendorff": Coefficient(
        "Krippendorff's alpha", "any number of judges, missing judgements, small samples",
        lambda tally, weights: _product(weights, tally.margins / tally.margins.sum(axis=-1, keepdims=True)),
        coincidence=True, ordinal="ordinal_ranks",
    ),
    "gwet": Coefficient(
        "Gwet's AC", "grades of which one is rare or frequent, where kappas fall although judges agree (AC1, AC2)",
        _gwet, lambda ratings, tally, weights: _gwet_scale(weights) * (
            ratings.counts @ (1 - tally.unit_shares) / ratings.counts.sum(axis=1)),
    ),
    "brennan_prediger": Coefficient(
        "Brennan and Prediger's kappa", "chance is the same for every grade; Randolph's kappa",
        _uniform, lambda ratings, tally, weights: _uniform(tally, weights),
    ),
}  # fmt: skip


class AgreementCoefficient(NamedTuple):
    """Chance-corrected agreement of judges.

    Attributes
    ----------
    value : float
        The coefficient; NaN where all judgements are equal, so that chance alone explains them.
    agreement, chance : float
        Observed and expected agreement: `value` is (agreement - chance) / (1 - chance).
    error : float
        Standard error, for independent units.
    low, high : float
        Its confidence interval.
    p : float
        Two-sided p-value of the test that the coefficient is 0.
    units : int
        Number of units with two or more judgements.
    null_error : float
        Standard error if the judges are independent; of Cohen's kappa only.
    """

    value: float
    agreement: float
    chance: float
    error: float
    low: float
    high: float
    p: float
    units: int
    null_error: float = math.nan


def coefficient_of(tally: Tally, row: Coefficient, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The coefficient, the agreement and the chance, of sums with any leading axes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if row.coincidence:
            total = tally.margins.sum(axis=-1)
            observed = (tally.coincidences * weights).sum(axis=(-1, -2)) / total
            agreement = (1 - 1 / total) * observed + 1 / total
        else:
            agreement = (tally.together * weights).sum(axis=(-1, -2)) / tally.pairs
        chance = row.chance(tally, weights)
        room = np.where(np.abs(1 - chance) < _NOISE, math.nan, 1 - chance)
        return (agreement - chance) / room, agreement, chance


def weighting(row: Coefficient, weights: str | None) -> str:
    """The name of the weights: its own, or those of a level of measurement."""
    name = row.weights if weights is None else weights
    return {"ordinal": row.ordinal, **LEVELS}.get(choice(name, "weights", [*LEVELS, "ordinal", *WEIGHTS]), name)


def agreement_coefficient(
    judgements: ArrayLike,
    coefficient: str = "krippendorff",
    *,
    weights: str | None = None,
    categories: ArrayLike | None = None,
    confidence: float = 0.95,
) -> AgreementCoefficient:
    """Chance-corrected agreement of judges, one of `rs.statistics.COEFFICIENTS`.

    Its interval is for independent units. Judgements of one query are not: `rs.agreement` draws queries again.

    Parameters
    ----------
    judgements : array_like
        A row per unit (a query and an item), a column per judge; NaN where a judge has none.
    coefficient : str, default "krippendorff"
        "cohen" (two judges), "fleiss", "conger", "krippendorff", "gwet" (AC1; with weights AC2) or
        "brennan_prediger".
    weights : str, optional
        How far different grades agree: "identity" or "nominal" (not at all), "linear", "quadratic" or "interval",
        "ordinal" (of Krippendorff's alpha by its ranks, else Gwet's), "ratio"; "linear_places" and "quadratic_places"
        go by the place among the categories, as scikit-learn's kappa does. By default "identity".
    categories : array_like, optional
        The scale; by default the grades that occur.
    confidence : float, default 0.95
        Confidence level.

    Returns
    -------
    AgreementCoefficient

    Raises
    ------
    ValueError
        If no unit has two judgements, or the coefficient is not for as many judges.

    Examples
    --------
    >>> found = rs.statistics.agreement_coefficient([[0, 0], [1, 1], [2, 1], [2, 2]], "cohen", weights="quadratic")
    >>> round(found.value, 4)
    0.8
    """
    row = COEFFICIENTS[choice(coefficient, "coefficient", COEFFICIENTS)]
    level(confidence, "confidence")
    ratings = ratings_of(judgements, categories)
    name = weighting(row, weights)
    check_judges(row, coefficient, ratings.codes.shape[1])
    judged = (ratings.codes >= 0).sum(axis=1)
    least = 2 if row.coincidence or not row.unequal else 1
    ratings = ratings.only(judged >= least)
    if not (judged >= 2).any():
        raise InputError("no unit has two judgements, so there is no agreement")
    return _with_errors(ratings, row, name, confidence)


def check_judges(row: Coefficient, name: str, judges: int) -> None:
    """Raise where a coefficient is for another number of judges."""
    if row.judges is not None and judges != row.judges:
        raise InputError(f"coefficient={name!r} is for {row.judges} judges, not {judges}; choose 'conger' or 'fleiss'")


def _with_errors(ratings: Ratings, row: Coefficient, name: str, confidence: float) -> AgreementCoefficient:
    tally = ratings.tally()
    weights = weights_of(name, ratings.categories, tally.margins)
    value, agreement, chance = (float(part) for part in coefficient_of(tally, row, weights))
    n = len(ratings.codes)
    error = low = high = p = null_error = math.nan
    if not math.isnan(value) and n > 1:
        if row.normal:
            error, null_error = _kappa_errors(ratings, weights, value, chance)
            quantile, tail, highest = ndtri, ndtr, math.inf
        else:
            error = _linearised(ratings, tally, row, weights, value, agreement, chance)
            quantile, tail, highest = partial(stdtrit, n - 1), partial(stdtr, n - 1), 1.0
        half = float(quantile((1 + confidence) / 2)) * error
        low, high = value - half, min(highest, value + half)
        p = 2 * float(tail(-_in_errors(value, error)))
    return AgreementCoefficient(value, agreement, chance, error, low, high, p, int(tally.pairs), null_error)


def _in_errors(value: float, error: float) -> float:
    """The size of a value in standard errors; 0 for 0 / 0, but for rounding."""
    if error > _NOISE:
        return abs(value) / error
    return math.inf if abs(value) > _NOISE else 0.0


def _linearised(
    ratings: Ratings, tally: Tally, row: Coefficient, weights: Floats, value: float, agreement: float, chance: float
) -> float:
    """Gwet's standard error (2014): the spread of the units' parts."""
    counts = ratings.counts
    size, n = counts.sum(axis=1), len(counts)
    within = (counts * (counts @ weights.T - 1)).sum(axis=1)
    several = size >= 2
    centre = value
    if row.coincidence:
        mean = size.mean()
        beyond = (size - mean) / mean
        own = within / (mean * (size - 1)) - agreement * beyond
        centre = float((within / (mean * (size - 1))).mean() - chance) / (1 - chance)
        margins = tally.margins / tally.margins.sum()
        by_chance = counts @ (weights @ margins) / mean - chance * beyond
    else:
        share = np.divide(within, size * (size - 1), out=np.zeros(n), where=several)
        own = n / several.sum() * (share - chance * several) + chance
        by_chance = row.by_unit(ratings, tally, weights)
    parts = (own - chance - 2 * (1 - centre) * (by_chance - chance)) / (1 - chance)
    return math.sqrt(float(((parts - centre) ** 2).sum()) / (n * (n - 1)))


def _kappa_errors(ratings: Ratings, weights: Floats, value: float, chance: float) -> tuple[float, float]:
    """Standard errors of Cohen's kappa, and if the judges are independent (Fleiss, Cohen and Everitt 1969)."""
    table = cross_table(ratings.codes, len(ratings.categories))
    n = table.sum()
    p = table / n
    first, second = p.sum(axis=1), p.sum(axis=0)
    mean = (weights @ second)[:, None] + (weights.T @ first)[None]
    spread = (p * (weights - mean * (1 - value)) ** 2).sum() - (value - chance * (1 - value)) ** 2
    null = (np.outer(first, second) * (weights - mean) ** 2).sum() - chance**2
    scale = math.sqrt(n) * (1 - chance)
    error, null_error = (math.sqrt(part) / scale if part > _VARIANCE else 0.0 for part in (float(spread), float(null)))
    return error, null_error


def cross_table(codes: Ints, q: int) -> Ints:
    """How many units two judges put into each pair of categories."""
    both = (codes >= 0).all(axis=1)
    return np.bincount(codes[both, 0] * q + codes[both, 1], minlength=q * q).reshape(q, q)


def resampled_coefficients(
    by_query: Tally, drawn: Ints, wanted: Sequence[tuple[Coefficient, str]], values: Floats
) -> list[Floats]:
    """Coefficients of bootstrap samples, each a row of queries, and the share of pairs with the same category."""
    many = len(by_query.units)
    cells = np.arange(len(drawn))[:, None] * many + drawn
    weights = np.bincount(cells.ravel(), minlength=len(drawn) * many).reshape(len(drawn), many).astype(float)
    sums = Tally(*(np.tensordot(weights, part, axes=1) for part in by_query))
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.trace(sums.together, axis1=-2, axis2=-1) / sums.pairs
    return [*(coefficient_of(sums, row, weights_of(name, values, sums.margins))[0] for row, name in wanted), same]
