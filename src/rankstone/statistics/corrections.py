"""p-values of many comparisons, adjusted so that the level holds for all of them together: one row per correction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rankstone.data.annotations import Floats
from rankstone.errors import InputError
from rankstone.statistics.student_t import choice, finite
from rankstone.statistics.tukey import tukey
from rankstone.statistics.westfall_young import westfall_young

if TYPE_CHECKING:
    from rankstone.statistics.paired import PairedSample


@dataclass(frozen=True, eq=False)
class Correction:
    """A correction for many comparisons, of their p-values or of the values behind them."""

    words: str  # its name in the notes of a comparison
    of_p: Callable[[Floats, int], Floats]  # of p-values in rising order, and how many there are
    p: Callable[[PairedSample], Floats] | None = None  # adjusted p of each pair, where the values of the runs are used
    clusters: bool = True  # supports queries that are not independent
    population: bool = True  # supports a finite population of queries
    joint: bool = False  # called once for all metrics
    random: bool = False  # depends on `resamples` and `seed`
    corrects: bool = True  # p-values become larger
    anytime: bool = True  # adjusts p-values that hold at every look
    aliases: tuple[str, ...] = ()  # names of earlier versions that are still read

    @property
    def machine(self) -> bool:
        """Whether it supports machine labels: it reads p-values alone."""
        return self.p is None


def _places(n: int) -> Floats:
    return np.arange(1.0, n + 1)


def _rising(p: Floats) -> Floats:
    return np.maximum.accumulate(p)


def _from_the_largest(p: Floats) -> Floats:
    return np.minimum.accumulate(p[::-1])[::-1]


def _any_of(p: Floats, n: Floats | int) -> Floats:
    """How often one of n independent tests falls below p; exact for small p."""
    with np.errstate(divide="ignore"):
        return -np.expm1(n * np.log1p(-p))


def _hommel(p: Floats, n: int) -> Floats:
    """The largest of Simes' p over all sets that hold a hypothesis: sets of each size m, with the largest p-values."""
    adjusted = p.copy()
    for m in range(n, 1, -1):
        least = np.min(m * p[n - m :] / _places(m))
        adjusted[n - m :] = np.maximum(adjusted[n - m :], least)
        adjusted[: n - m] = np.maximum(adjusted[: n - m], np.minimum(least, m * p[: n - m]))
    return adjusted


def _holm(p: Floats, n: int) -> Floats:
    return _rising(p * _places(n)[::-1])


def step_down(sample: PairedSample) -> Floats:
    """p of each pair by step-down max-T."""
    return westfall_young(sample.values, sample.pairs, **sample.drawing).step_down


def _tukey(sample: PairedSample) -> Floats:
    every = tukey(sample.values)
    p = {frozenset(pair): value for pair, value in zip(every.pairs.tolist(), every.p, strict=True)}
    return np.array([p[frozenset(pair)] for pair in sample.pairs])


CORRECTIONS: dict[str, Correction] = {
    "holm": Correction("Holm", _holm),
    "westfall_young": Correction(
        "Westfall-Young (step-down max-T)", _holm, step_down, population=False, joint=True, random=True,
        anytime=False, aliases=("max_t",),
    ),
    "bh": Correction("Benjamini and Hochberg", lambda p, n: _from_the_largest(p * n / _places(n))),
    "by": Correction(
        "Benjamini and Yekutieli", lambda p, n: _from_the_largest(p * n * np.sum(1 / _places(n)) / _places(n))
    ),
    "bonferroni": Correction("Bonferroni", lambda p, n: p * n),
    "hochberg": Correction("Hochberg", lambda p, n: _from_the_largest(p * _places(n)[::-1])),
    "hommel": Correction("Hommel", _hommel),
    "sidak": Correction("Sidak", _any_of),
    "holm_sidak": Correction("Holm and Sidak", lambda p, n: _rising(_any_of(p, _places(n)[::-1]))),
    "tukey": Correction(
        "Tukey's HSD, runs and queries", _holm, _tukey, clusters=False, population=False, anytime=False
    ),
    "none": Correction("no correction", lambda p, n: p, corrects=False),
}  # fmt: skip


def adjust(p: ArrayLike, method: str = "holm") -> Floats:
    """Adjust p-values for multiple comparisons.

    Parameters
    ----------
    p : array_like
        p-values of a family of tests, each from 0 to 1.
    method : str, default "holm"
        Family-wise error rate: "bonferroni", "holm" (Holm 1979), "hochberg" (Hochberg 1988), "hommel" (Hommel 1988),
        or for independent tests "sidak" and "holm_sidak" (Sidak 1967). "hochberg" and "hommel" require tests that are
        not negatively dependent. False discovery rate: "bh" (Benjamini and Hochberg 1995), or "by" (Benjamini and
        Yekutieli 2001) for any dependence. "none" changes nothing.

    Returns
    -------
    ndarray
        Adjusted p-values, in the order and shape of `p`.

    Raises
    ------
    ValueError
        If a p-value is NaN or not between 0 and 1.

    Examples
    --------
    >>> rs.statistics.adjust([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    row = CORRECTIONS[choice(method, "method", (name for name, row in CORRECTIONS.items() if row.p is None))]
    return adjusted(p, row)


def adjusted(p: ArrayLike, row: Correction) -> Floats:
    """p-values of a family of tests, adjusted by a row of `CORRECTIONS`."""
    array = np.asarray(p, dtype=float)
    array = finite(array, "p", (array.ndim,))
    flat = array.ravel()
    for at in np.flatnonzero((flat < 0) | (flat > 1)).tolist():
        raise InputError(f"p holds {flat[at]} at place {at}, which is not between 0 and 1")
    order = np.argsort(flat, kind="stable")
    larger = np.empty_like(flat)
    larger[order] = np.minimum(row.of_p(flat[order], flat.size), 1.0)
    return larger.reshape(array.shape)
