"""One difference of several collections: stratified, and by random effects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankstone.data.annotations import Floats
from rankstone.errors import InputError
from rankstone.statistics.student_t import Student, choice, finite


class Combined(NamedTuple):
    """A difference over several collections.

    Attributes
    ----------
    student : Student
        Its mean, standard error and degrees of freedom, with `p()`, `above()`, `below()` and `interval()`.
    spread : float
        Standard deviation of the true differences between collections (tau); NaN where it is not estimated.
    """

    student: Student
    spread: float = math.nan


@dataclass(frozen=True, eq=False)
class Combination:
    """A way to combine the differences of collections."""

    words: str
    of: Callable[[Floats, Floats, Floats], Combined]  # of differences, standard errors and degrees of freedom
    anytime: bool = False  # its error alone is enough for a confidence sequence


def _fit(mean: float, error: float, freedom: float) -> Student:
    return Student(np.asarray(mean), np.asarray(error), freedom)


def _stratified(differences: Floats, errors: Floats, freedom: Floats) -> Combined:
    """Each collection counts the same; Satterthwaite's degrees of freedom."""
    many = len(differences)
    parts = (errors / many) ** 2
    variance = float(parts.sum())
    own = float(variance**2 / (parts**2 / freedom).sum()) if variance else float(freedom.sum())
    return Combined(_fit(differences.mean(), math.sqrt(variance), own))


def _random_effects(differences: Floats, errors: Floats, freedom: Floats) -> Combined:
    """DerSimonian and Laird's tau; Hartung's and Knapp's error, modified, with k - 1 degrees of freedom."""
    many = len(differences)
    if many < 2:
        return Combined(_fit(differences[0], math.nan, 0))
    variances = np.maximum(errors**2, 1e-20 * max(float((differences**2).max()), 1e-20))  # of equal values it is 0
    weights = 1 / variances
    fixed = weights @ differences / weights.sum()
    heterogeneity = float(weights @ (differences - fixed) ** 2)
    scale = float(weights.sum() - (weights**2).sum() / weights.sum())
    tau2 = max(0.0, (heterogeneity - (many - 1)) / scale)
    weights = 1 / (variances + tau2)
    mean = weights @ differences / weights.sum()
    # Differences that happen to agree say little of how much collections differ.
    factor = max(1.0, float(weights @ (differences - mean) ** 2) / (many - 1))
    return Combined(_fit(mean, math.sqrt(factor / weights.sum()), many - 1), math.sqrt(tau2))


COMBINATIONS: dict[str, Combination] = {
    "stratified": Combination("these collections, each counts the same", _stratified, anytime=True),
    "random_effects": Combination("collections like these (DerSimonian and Laird, Hartung and Knapp)", _random_effects),
}


def combine(differences: ArrayLike, errors: ArrayLike, freedom: ArrayLike, method: str = "stratified") -> Combined:
    """Combine the differences of several collections.

    Parameters
    ----------
    differences : array_like
        One difference per collection.
    errors : array_like
        Their standard errors.
    freedom : array_like
        Their degrees of freedom: the number of queries less 1.
    method : str, default "stratified"
        "stratified": the mean over these collections, each counted the same; its error comes from their queries, with
        Satterthwaite's degrees of freedom. "random_effects": the mean over a population of collections (DerSimonian
        and Laird 1986), whose error also has the spread between collections (Hartung and Knapp 2001, modified: never
        below the usual error, Röver, Knapp and Friede 2015), with one degree of freedom less than collections. It is
        wide for two or three of them.

    Returns
    -------
    Combined

    Raises
    ------
    ValueError
        If a number is not finite, or there are not as many of each.

    Examples
    --------
    >>> float(rs.statistics.combine([0.02, 0.04], [0.01, 0.01], [49, 99]).student.mean)
    0.03
    """
    arrays = finite(differences, "differences"), finite(errors, "errors"), finite(freedom, "freedom")
    if len({len(array) for array in arrays}) > 1 or not len(arrays[0]):
        raise InputError(f"there are {' and '.join(str(len(array)) for array in arrays)} numbers; give as many of each")
    return COMBINATIONS[choice(method, "method", COMBINATIONS)].of(*arrays)
