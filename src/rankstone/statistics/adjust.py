"""p-values of many comparisons, adjusted so that the level holds for all of them together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rankstone.align.alignment import Floats
from rankstone.statistics.checks import choice, finite

# Each takes the p-values in rising order and how many there are.
Adjustment = Callable[[Floats, int], Floats]


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


METHODS: dict[str, Adjustment] = {
    "holm": lambda p, n: _rising(p * _places(n)[::-1]),
    "bonferroni": lambda p, n: p * n,
    "hochberg": lambda p, n: _from_the_largest(p * _places(n)[::-1]),
    "hommel": _hommel,
    "bh": lambda p, n: _from_the_largest(p * n / _places(n)),
    "by": lambda p, n: _from_the_largest(p * n * np.sum(1 / _places(n)) / _places(n)),
    "sidak": _any_of,
    "holm_sidak": lambda p, n: _rising(_any_of(p, _places(n)[::-1])),
    "none": lambda p, n: p,
}


def adjust(p: ArrayLike, method: str = "holm") -> Floats:
    """p-values of a family of tests, made larger so that they can be held against one level together.

    "bonferroni", "holm" (Holm 1979), "hochberg" (Hochberg 1988) and "hommel" (Hommel 1988) keep the chance of any false
    alarm below the level, as do "sidak" and "holm_sidak" (Sidak 1967) for independent tests; "hochberg" and "hommel"
    ask for tests that are not negatively dependent. "bh" (Benjamini and Hochberg 1995) and "by" (Benjamini and
    Yekutieli 2001, for any dependence) keep the share of false alarms among the alarms. "none" leaves them as they are.
    The answer has the order and shape of `p`. A test that has no answer has no place here: NaN is refused.

    >>> rs.statistics.adjust([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    correct = METHODS[choice(method, "method", METHODS)]
    array = np.asarray(p, dtype=float)
    array = finite(array, "p", (array.ndim,))
    flat = array.ravel()
    if ((flat < 0) | (flat > 1)).any():
        at = int(np.flatnonzero((flat < 0) | (flat > 1))[0])
        raise ValueError(f"p holds {flat[at]} at place {at}, which is not between 0 and 1")
    order = np.argsort(flat, kind="stable")
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(correct(flat[order], flat.size), 1.0)
    return adjusted.reshape(array.shape)
