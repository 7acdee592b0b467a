"""Tukey's honestly significant difference for all pairs of runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from rankstone.align.alignment import Floats, Ints
from rankstone.statistics.checks import layout, level


class Tukey(NamedTuple):
    """Pairs of runs by their column, differences of means (second less first), simultaneous intervals and p.

    freedom and mean_square are those of the residuals; f_runs, f_queries and their p are the analysis of variance.
    """

    pairs: Ints
    differences: Floats
    low: Floats
    high: Floats
    p: Floats
    freedom: int
    mean_square: float
    f_runs: float
    p_runs: float
    f_queries: float
    p_queries: float


def tukey(scores: ArrayLike, paired: bool = True, confidence: float = 0.95) -> Tukey:
    """Tukey's test of all pairs of runs (1949). One row a query, one column a run.

    paired: the layout is of runs and queries. Without it runs are taken for independent samples, as some tools do,
    which hides differences. All pairs have one yardstick: the level does not hold if some runs are more alike than
    others.
    """
    from scipy.stats import studentized_range  # slow to import

    array = layout(scores)
    level(confidence, "confidence")
    n, k = array.shape
    runs = array.mean(axis=0)
    pairs = np.stack(np.triu_indices(k, 1), axis=1)
    differences = runs[pairs[:, 1]] - runs[pairs[:, 0]]
    queries = array.mean(axis=1, keepdims=True) if paired else array.mean()
    rest = array - queries - runs + array.mean()
    freedom = (n - 1) * (k - 1) if paired else k * (n - 1)
    mean_square = float((rest**2).sum()) / freedom
    if mean_square <= (1e-14 * float(np.abs(array).max())) ** 2:
        mean_square = 0.0  # nothing but rounding errors
    error = math.sqrt(mean_square / n)
    half = 0.0
    if error:
        half = float(studentized_range.ppf(confidence, k, freedom)) * error
        p = np.clip(studentized_range.sf(np.abs(differences) / error, k, freedom), 0.0, 1.0)
    else:
        p = np.where(np.abs(differences) <= 1e-14 * float(np.abs(array).max()), 1.0, 0.0)
    f_runs, p_runs = _f(n * float(((runs - array.mean()) ** 2).sum()), k - 1, mean_square, freedom)
    f_queries = p_queries = math.nan
    if paired:
        f_queries, p_queries = _f(k * float(((queries - array.mean()) ** 2).sum()), n - 1, mean_square, freedom)
    return Tukey(
        pairs, differences, differences - half, differences + half, p,
        freedom, mean_square, f_runs, p_runs, f_queries, p_queries,
    )  # fmt: skip


def _f(squares: float, groups: int, mean_square: float, freedom: int) -> tuple[float, float]:
    """F and its p; not defined without residuals."""
    if not mean_square:
        return math.nan, math.nan
    f = squares / groups / mean_square
    return f, float(fdtrc(groups, freedom, f))
