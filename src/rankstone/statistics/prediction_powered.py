"""Prediction-powered inference: a mean from a few human values and many of a machine's."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from rankstone.data.annotations import Floats
from rankstone.errors import InputError
from rankstone.statistics.intervals import hall_transform
from rankstone.statistics.student_t import choice, finite, level, paired

FEWEST = 10  # human values, below which the weight and the error are guesses


class PredictionPowered(NamedTuple):
    """A mean estimated from human values and a machine's.

    Attributes
    ----------
    value : float
        The estimate: weight * mean(machine's values elsewhere) + mean(human - weight * machine).
    low, high : float
        Its confidence interval.
    error : float
        Standard error.
    freedom : float
        Degrees of freedom; infinite for normal quantiles.
    weight : float
        Weight of the machine's values, from 0 (not used) to 1.
    human : float
        Mean of the human values alone.
    machine : float
        Mean of all of the machine's values: what it would be to trust them.
    human_error : float
        Standard error of the human mean.
    correlation : float
        Correlation of human and machine values; NaN where one of them is constant.
    humans, machines : int
        Number of human values, and of the machine's.
    """

    value: float
    low: float
    high: float
    error: float
    freedom: float
    weight: float
    human: float
    machine: float
    human_error: float
    correlation: float
    humans: int
    machines: int

    @property
    def effective(self) -> float:
        """Number of human values that would be as precise without the machine."""
        return self.humans * (self.human_error / self.error) ** 2 if self.error else float(self.humans)

    @property
    def bias(self) -> float:
        """The machine's mean less the estimate."""
        return self.machine - self.value


class _Sample(NamedTuple):
    """Human values, the machine's of the same queries, and of the others."""

    human: Floats
    same: Floats
    others: Floats

    @property
    def products(self) -> float:
        """Sum of the products of human and machine values, each less its mean."""
        return float(((self.human - self.human.mean()) * (self.same - self.same.mean())).sum())


# Ways to the weight of the machine's values.
def _plug_in(sample: _Sample, divisor: int) -> float:
    """The weight of the least variance (Angelopoulos, Duchi and Zrnic 2023), from 0 to 1."""
    n, more = len(sample.human), len(sample.others)
    every = np.concatenate((sample.same, sample.others))
    spread = (1 + n / more) * float(every.var(ddof=1))
    return min(max(sample.products / (n - divisor) / spread, 0.0), 1.0) if spread > 0 else 0.0


def prediction_powered(
    human: ArrayLike,
    machine: ArrayLike,
    others: ArrayLike,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    method: str = "hall",
) -> PredictionPowered:
    """Mean of human values with the help of a machine's, by prediction-powered inference (PPI++).

    The human values must be those of a random part. The weight of the machine's values is chosen from the data.

    Parameters
    ----------
    human : array_like
        Values by human labels, of a random part of the queries.
    machine : array_like
        Values by the machine's labels, of the same queries in the same order.
    others : array_like
        Values by the machine's labels, of the other queries.
    weight : float, optional
        Weight of the machine's values: 0 ignores them, 1 trusts their differences. By default the one of the least
        variance, from 0 to 1.
    confidence : float, default 0.95
        Confidence level.
    method : str, default "hall"
        "t": quantiles of Student's t, the error by the jackknife, for few human values; "hall": corrected for skewness,
        too. Neither is wider than the same interval of the human values alone. "normal": the numbers of ppi_py 0.2.3.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    ValueError
        If there are too few values, or they are not numbers.

    Examples
    --------
    >>> human, machine = [0.2, 0.9, 0.4, 0.8, 0.1, 0.6], [0.3, 0.8, 0.5, 0.9, 0.0, 0.5]
    >>> estimate = rs.statistics.prediction_powered(human, machine, [0.4, 0.7, 0.3, 0.6, 0.8, 0.2] * 5)
    >>> round(estimate.value, 3), round(estimate.weight, 3)
    (0.5, 1.0)
    """
    values, same = paired(human, machine, ("human", "machine"))
    sample = _Sample(values, same, finite(others, "others"))
    level(confidence, "confidence")
    if len(values) < 3 or not len(sample.others):
        raise InputError(
            f"there are {len(values)} human values and {len(sample.others)} others; at least 3 and 1 are needed"
        )
    if weight is not None and not math.isfinite(weight):
        raise InputError(f"weight={weight!r} is not a number")
    return METHODS[choice(method, "method", METHODS)](sample, weight, confidence)


def _normal(sample: _Sample, weight: float | None, confidence: float) -> PredictionPowered:
    """As ppi_py: population variances and normal quantiles."""
    weight = _plug_in(sample, 0) if weight is None else weight
    rest = sample.human - weight * sample.same
    n, more = len(rest), len(sample.others)
    error = math.sqrt(weight**2 * float(sample.others.var()) / more + float(rest.var()) / n)
    value = weight * float(sample.others.mean()) + float(rest.mean())
    half = float(ndtri((1 + confidence) / 2)) * error
    return _with(sample, value, value - half, value + half, error, math.inf, weight, float(sample.human.std()))


def _student(skewed: bool, sample: _Sample, weight: float | None, confidence: float) -> PredictionPowered:
    if weight is not None:
        return _by_parts(sample, weight, _rest(sample, weight), confidence, 1, skewed)
    alone = _by_parts(sample, 0.0, _rest(sample, 0.0), confidence, 1, skewed)
    weight = _plug_in(sample, 1)
    if weight == 0.0:
        return alone
    assisted = _by_parts(sample, weight, _jackknife(sample), confidence, 2, skewed)
    return assisted if assisted.high - assisted.low < alone.high - alone.low else alone


def _rest(sample: _Sample, weight: float) -> Floats:
    rest = sample.human - weight * sample.same
    return np.asarray(rest - rest.mean())


def _jackknife(sample: _Sample) -> Floats:
    """The part of each human value: how far the estimate moves without it, its weight chosen again."""
    human, same, more = sample.human, sample.same, len(sample.others)
    n = len(human) - 1
    humans, sames = (human.sum() - human) / n, (same.sum() - same) / n
    together = ((human * same).sum() - human * same - n * humans * sames) / (n - 1)
    every = np.concatenate((same, sample.others)) - same.mean()  # centred: sums of squares without a loss of digits
    own = every[: n + 1]
    spread = (((every**2).sum() - own**2) - (every.sum() - own) ** 2 / (n + more)) / (n + more - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(spread > 0, np.clip(together / ((1 + n / more) * spread), 0.0, 1.0), 0.0)
    without = humans + weights * (sample.others.mean() - sames)
    return np.asarray(n * (without.mean() - without))


def _by_parts(
    sample: _Sample, weight: float, parts: Floats, confidence: float, parameters: int, skewed: bool
) -> PredictionPowered:
    """The interval by the spread and the skewness of the parts; parameters: how many were estimated from them."""
    n, more = len(parts), len(sample.others)
    own = float((parts**2).sum()) * (n - parameters) / (n - 1) ** 2 / n  # the jackknife counts each parameter twice
    far = sample.others - sample.others.mean()
    theirs = weight**2 * float((far**2).sum()) / max(more - 1, 1) / more
    error = math.sqrt(own + theirs)
    value = weight * (float(sample.others.mean()) - float(sample.same.mean())) + float(sample.human.mean())
    low = high = value
    freedom = float(n - parameters)
    if error:
        if parameters > 1 and own:  # a few large parts say less of their spread than many that are alike
            kurtosis = n * float((parts**4).sum()) / float((parts**2).sum()) ** 2
            freedom = min(freedom, max(2 * n / max(kurtosis - 1, 1e-9), 3.0))
        # Satterthwaite's degrees of freedom of the two variances
        freedom = error**4 / (own**2 / freedom + theirs**2 / max(more - 1, 1))
        thirds = skewed * float((parts**3).sum()) / n**3 + skewed * weight**3 * float((far**3).sum()) / more**3
        q = float(stdtrit(freedom, (1 + confidence) / 2))
        skewness = thirds / (own * (n - 1) / n + theirs * (more - 1) / more) ** 1.5
        low, high = (value - error * float(hall_transform(end, skewness)) for end in (q, -q))
    return _with(sample, value, low, high, error, freedom, weight, float(sample.human.std(ddof=1)))


def _with(
    sample: _Sample, value: float, low: float, high: float, error: float, freedom: float, weight: float, spread: float
) -> PredictionPowered:
    n, more = len(sample.human), len(sample.others)
    deviations = float(sample.human.std() * sample.same.std())
    machine = (float(sample.same.sum()) + float(sample.others.sum())) / (n + more)
    return PredictionPowered(
        value, low, high, error, freedom, weight, float(sample.human.mean()), machine, spread / math.sqrt(n),
        sample.products / n / deviations if deviations > 0 else math.nan, n, n + more,
    )  # fmt: skip


METHODS: dict[str, Callable[[Any, float | None, float], PredictionPowered]] = {
    "hall": partial(_student, True),
    "t": partial(_student, False),
    "normal": _normal,
}
