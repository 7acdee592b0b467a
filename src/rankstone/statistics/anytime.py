"""Intervals and tests that hold however often one looks: asymptotic confidence sequences and e-values."""

from __future__ import annotations

import math
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankstone.data.annotations import Floats
from rankstone.errors import Advice, Hint, InputError
from rankstone.statistics.student_t import level


class ConfidenceSequence(NamedTuple):
    """A mean with its standard error after n values, for looks at any time; arrays have one value per column.

    Attributes
    ----------
    mean, error : ndarray
        The mean and its standard error.
    n : float
        Number of independent values so far.
    alpha : float
        The level that the interval was tuned for.
    tuning : float
        The number of values at which the interval is narrowest.
    """

    mean: Floats
    error: Floats
    n: float
    alpha: float
    tuning: float

    @property
    def freedom(self) -> float:
        """The number of values less 1."""
        return self.n - 1

    @property
    def statistic(self) -> Floats:
        """The mean in standard errors; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.mean / self.error

    def e_value(self) -> Floats:
        """Evidence against a mean of 0: below 1 without any; from 20 on, the mean is not 0 at the level of 5 %."""
        with np.errstate(over="ignore"):
            return np.exp(self._log_e_value())

    def p(self) -> Floats:
        """p of the test that the mean is not 0, at any time: 1 / e-value, at most 1."""
        return np.exp(np.minimum(-self._log_e_value(), 0.0))

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The two-sided interval (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021, theorem 2.2).

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level.
        """
        rho2 = self._rho2()
        return self._ends(math.log(self._growth(rho2) / (1 - confidence)), rho2)

    def bounds(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The lower and the upper one-sided bound.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level of each.
        """
        rho2 = self._rho2(one_sided=True)
        return self._ends(math.log1p(self._growth(rho2) / (2 * (1 - confidence))), rho2)

    def above(self, than: float = 0.0) -> Floats:
        """p of the test that the mean is above `than`, one-sided.

        Parameters
        ----------
        than : float, default 0
            The mean under the null hypothesis.
        """
        return self._one_sided(np.asarray(self.mean - than))

    def below(self, than: float = 0.0) -> Floats:
        """p of the test that the mean is below `than`, one-sided.

        Parameters
        ----------
        than : float, default 0
            The mean under the null hypothesis.
        """
        return self._one_sided(np.asarray(than - self.mean))

    def _one_sided(self, distance: Floats) -> Floats:
        rho2 = self._rho2(one_sided=True)
        with np.errstate(over="ignore", divide="ignore"):
            p = np.minimum(1.0, self._growth(rho2) / (2 * np.expm1(self._evidence(distance, rho2))))
        return np.where(distance <= 0, 1.0, p)

    def _rho2(self, one_sided: bool = False) -> float:
        """The square of the paper's rho; of one-sided bounds for twice the level."""
        log = -2 * math.log(min(self.alpha * (2 if one_sided else 1), 1 - 1e-12))
        return (log + math.log(log + 1)) / self.tuning

    def _growth(self, rho2: float) -> float:
        return math.sqrt(self.n * rho2 + 1)

    def _log_e_value(self) -> Floats:
        rho2 = self._rho2()
        return self._evidence(self.mean, rho2) - math.log(self._growth(rho2))

    def _evidence(self, distance: Floats, rho2: float) -> Floats:
        """The exponent of the e-value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.asarray(distance / self.error)
        t = np.where(np.isnan(t), 0.0, t)
        return rho2 * self.n * t**2 / (2 * (self.n * rho2 + 1))

    def _ends(self, log: float, rho2: float) -> tuple[Floats, Floats]:
        if self.n < 1:
            return self.mean - math.inf, self.mean + math.inf
        half = self.error * math.sqrt(2 * (self.n * rho2 + 1) / (self.n * rho2) * log)
        return self.mean - half, self.mean + half


def confidence_sequence(
    mean: ArrayLike, error: ArrayLike, n: float, *, confidence: float = 0.95, tuning: float = 5000
) -> ConfidenceSequence:
    """A mean as an asymptotic confidence sequence: its interval and test hold at every look, whenever you stop.

    The numbers are those of GrowthBook's sequential tests.

    Parameters
    ----------
    mean : array_like
        The mean, or a difference of means.
    error : array_like
        Its standard error.
    n : float
        Number of independent values; of two samples, of both together.
    confidence : float, default 0.95
        Confidence level.
    tuning : float, default 5000
        The number of values at which the interval is narrowest. Choose it before you look.

    Returns
    -------
    ConfidenceSequence
        With `interval()`, `bounds()` (one-sided), `p()`, `e_value()`, `above()` and `below()`.

    Raises
    ------
    ValueError
        If the tuning or the level is out of range.

    Examples
    --------
    >>> sequence = rs.statistics.confidence_sequence(0.05, 0.01, 1000)
    >>> [round(float(end), 4) for end in sequence.interval()]
    [0.0164, 0.0836]
    >>> round(float(sequence.p()), 4)
    0.0008
    """
    level(confidence, "confidence")
    if not (math.isfinite(tuning) and tuning > 0):
        raise InputError(Advice(Hint("tuning", tuning), "; give the number of values at which to be narrowest"))
    return ConfidenceSequence(
        np.asarray(mean, dtype=float), np.asarray(error, dtype=float), float(n), 1 - confidence, float(tuning)
    )


def tuning_of(anytime: bool | int, of: str, default: float) -> float | None:
    """The tuning that `anytime=` asks for: a number of what `of` says, the default for True; None for one look."""
    if not isinstance(anytime, Integral) or anytime < 0:
        raise InputError(Advice(Hint("anytime", anytime), f"; give True, or the number of {of} to be narrowest at"))
    return float(default if anytime is True else anytime) if anytime else None
