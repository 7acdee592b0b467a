"""Abstention: the mean over the most confident queries, its normalised area, and cuts that bound false answers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from rankstone.data.annotations import Floats
from rankstone.errors import InputError
from rankstone.statistics.student_t import choice, finite, level

RATES = np.linspace(0, 1, 11)[:-1]  # of abstention; in binary, so that 0.3 of 15 queries rounds as MTEB's does
EQUAL = ("mean", "order")  # queries of equal confidence: each counts as their mean, or they stay in order


class AbstentionCurve(NamedTuple):
    """Means over the most confident queries.

    Attributes
    ----------
    coverage : ndarray
        Share of the queries that are answered.
    value : ndarray
        Mean over these.
    """

    coverage: Floats
    value: Floats


def abstention_curve(confidence: ArrayLike, values: ArrayLike, equal: str = "mean") -> AbstentionCurve:
    """Means of the values over the most confident queries, where 0, 10, ..., 90 % of the queries are left out.

    Parameters
    ----------
    confidence : array_like
        One number per query; -inf for a query without a list.
    values : array_like
        The value of each query.
    equal : str, default "mean"
        Queries of equal confidence: "mean" (each counts as their mean) or "order" (the first ones are left out first).

    Returns
    -------
    AbstentionCurve
    """
    return AbstentionCurve(*_curve(_ordered(confidence, values, equal)))


def nauc(confidence: ArrayLike, values: ArrayLike, equal: str = "mean") -> float:
    """Normalised area under the abstention curve: 1 if confidence orders queries as their values do, 0 if at random.

    As in MTEB since 2.18.19; equal="order" is the one before. See Gisserot-Boukhlef et al. 2024.

    Parameters
    ----------
    confidence : array_like
        One number per query; -inf for a query without a list.
    values : array_like
        The value of each query.
    equal : str, default "mean"
        Queries of equal confidence: "mean" (each counts as their mean) or "order" (the first ones are left out first).

    Returns
    -------
    float
        NaN where all queries have the same value.

    Examples
    --------
    >>> rs.statistics.nauc([0.9, 0.2, 0.5], [1.0, 0.0, 0.5])
    1.0
    """
    orders = _ordered(confidence, values, equal), np.sort(finite(values, "values"))
    curve, best = (_curve(ordered)[1] for ordered in orders)
    area, highest = (float((np.diff(RATES) * (means[1:] + means[:-1]) / 2).sum()) for means in (curve, best))
    flat = float(best[0] * (RATES[-1] - RATES[0]))
    return (area - flat) / (highest - flat) if highest != flat else math.nan


def _ordered(confidence: ArrayLike, values: ArrayLike, equal: str) -> Floats:
    """The values of the queries, the least confident first."""
    choice(equal, "equal", EQUAL)
    array, scores = finite(values, "values"), np.asarray(confidence, dtype=float)
    if scores.shape != array.shape or np.isnan(scores).any():
        raise InputError(f"confidence has the shape {scores.shape}, values {array.shape}; give one number per query")
    if not len(array):
        raise InputError("there is no query")
    if equal == "mean":
        groups = np.unique(scores, return_inverse=True)[1]
        array = (np.bincount(groups, array) / np.bincount(groups))[groups]
    return array[np.argsort(scores, kind="stable")]


def _curve(values: Floats) -> tuple[Floats, Floats]:
    """Coverages and means of values in order, the least confident first."""
    n = len(values)
    left_out = [min(round(rate * n), n - 1) for rate in RATES.tolist()]
    return 1 - np.array(left_out) / n, np.array([values[count:].mean() for count in left_out])


class ScoreCut(NamedTuple):
    """A lowest score of an answer.

    Attributes
    ----------
    cut : float
        Queries with a best score from this on are answered.
    false_answers : int
        Queries without an answer that are.
    upper : float
        Upper confidence bound of the rate of false answers.
    """

    cut: float
    false_answers: int
    upper: float


def score_cut(scores: ArrayLike, candidates: ArrayLike, rate: float = 0.05, confidence: float = 0.95) -> ScoreCut:
    """The lowest score cut whose rate of false answers is below a limit, with confidence.

    Learn then test (Angelopoulos et al. 2021): cuts are tested from the highest down, each by the exact binomial bound
    of Clopper and Pearson, until one fails. As the rate falls with the cut, that needs no correction.

    Parameters
    ----------
    scores : array_like
        Best score of each query without an answer; -inf for an empty list.
    candidates : array_like
        Cuts to choose from, such as the best scores of all queries.
    rate : float, default 0.05
        Highest rate of false answers.
    confidence : float, default 0.95
        Confidence that the rate is lower.

    Returns
    -------
    ScoreCut

    Raises
    ------
    ValueError
        If there are too few queries without an answer for any cut.

    Examples
    --------
    >>> rs.statistics.score_cut([0.1] * 58 + [0.7], [0.1, 0.5, 0.7, 0.9]).cut
    0.9
    """
    level(rate, "rate")
    level(confidence, "confidence")
    without = np.sort(np.asarray(scores, dtype=float))[::-1]
    n = len(without)
    if not n or _upper(0, n, confidence) > rate:
        fewest = math.ceil(math.log(1 - confidence) / math.log(1 - rate))
        raise InputError(
            f"a rate below {rate:g} with {100 * confidence:g} % confidence needs at least {fewest} queries without an "
            f"answer; there are {n}"
        )
    counts = np.arange(n)
    allowed = int(counts[_upper(counts, n, confidence) <= rate][-1])
    able = np.unique(np.asarray(candidates, dtype=float))
    able = able[(able > without[allowed]) & np.isfinite(able)]
    cut = float(able[0]) if len(able) else float(np.nextafter(without[allowed], math.inf))
    answered = int((without >= cut).sum())
    return ScoreCut(cut, answered, float(_upper(answered, n, confidence)))


def _upper(hits: ArrayLike, n: int, confidence: float) -> Floats:
    """The one-sided upper bound of Clopper and Pearson of a share below 1."""
    count = np.asarray(hits, dtype=float)
    return np.asarray(np.where(count < n, betaincinv(count + 1, np.maximum(n - count, 1), confidence), 1.0))
