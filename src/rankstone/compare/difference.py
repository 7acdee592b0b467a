"""One difference of two means: how large it is, how sure, and how many queries would be needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankstone.compare.caveats import Doubt, doubts_of
from rankstone.statistics import Effect, Student, detectable, effect, needed, noncentral_power

if TYPE_CHECKING:
    from rankstone.compare.comparison import Comparison


@dataclass(frozen=True)
class Difference:
    """What a run's mean is above that of the baseline, and how sure that is."""

    baseline: str
    run: str
    metric: str
    first: float  # the mean of the baseline
    second: float  # that of the run
    difference: float  # in the metric's own unit
    low: float  # the ends of the interval
    high: float
    p: float  # NaN where no test says anything
    adjusted: float  # for the number of comparisons
    wins: int  # queries where the run is better
    ties: int
    losses: int
    queries: int
    verdict: str  # better, worse, same within the margin, not decided; empty if the metric is not a primary one
    direction: int  # 1: a higher mean is better, -1: a lower one, 0: neither
    _of: Comparison = field(repr=False, compare=False)
    _student: Student = field(repr=False, compare=False)  # of the differences, or of those of logarithms
    _is_log: bool = field(repr=False, compare=False)

    @property
    def relative(self) -> float:
        """The difference as a share of the baseline's mean; NaN if that is 0."""
        return self.difference / self.first if self.first else math.nan

    @property
    def superiority(self) -> float:
        """The share of queries where the run is better, equal ones counted half."""
        return (self.wins + self.ties / 2) / self.queries if self.queries else math.nan

    @cached_property
    def effect(self) -> Effect:
        """The size of the difference in its own spread: d_z with an interval, and Hedges' correction of it."""
        first, second = self._of.columns(self)
        return effect(first, second, self._of.rules.confidence)

    @cached_property
    def warnings(self) -> tuple[Doubt, ...]:
        """What should be known before this is believed, each with a code and a sentence."""
        return tuple(doubts_of(self._of, self))

    @property
    def error(self) -> float:
        """The standard error of the difference; of a geometric mean, that of its logarithm."""
        return float(self._student.error)

    def interval(self, confidence: float) -> tuple[float, float]:
        """The ends of the interval of the difference, at another confidence."""
        low, high = (float(end) for end in self._student.interval(confidence))
        return (self._outer(low), self._outer(high)) if self._is_log else (low, high)

    def above(self, than: float = 0.0) -> float:
        """p of the test that the true difference is above `than`, one-sided."""
        return float(self._student.above(self._inner(than)))

    def below(self, than: float = 0.0) -> float:
        """p of the test that the true difference is below `than`, one-sided."""
        return float(self._student.below(self._inner(than)))

    def power(self, difference: float) -> float:
        """How often a true difference of this size would be found, with as many queries as these."""
        tested = abs(self._inner(difference))
        if not self.error:
            return 1.0 if tested else self._of.rules.level
        return float(noncentral_power(tested / self.error, self._student.freedom, self._of.rules.level))

    def detectable(self, power: float = 0.8, queries: int | None = None) -> float:
        """The difference that would be found so often; queries: with so many like these."""
        units = self._units if queries is None else max(round(self._units * queries / self.queries), 2)
        return self._outer(float(detectable(units, power, self._of.rules.level)) * self._deviation)

    def needed(self, difference: float, power: float = 0.8, *, one_sided: bool = False) -> int:
        """How many queries like these would find a true difference of this size so often.

        one_sided: find that it is above 0, or that a run that is equal is not worse by so much.
        """
        tested = abs(self._inner(difference))
        if not tested:
            raise ValueError("no number of queries finds a difference of 0")
        if not self.error or not math.isfinite(tested):
            return 2
        alternative = "greater" if one_sided else "two-sided"
        found = needed(tested / self._deviation, power, self._of.rules.level, alternative)
        return math.ceil(found.whole * self.queries / self._units)

    @property
    def _units(self) -> int:
        """What is independent of each other: the queries, or their clusters."""
        return int(self._student.freedom) + 1

    @property
    def _deviation(self) -> float:
        return self.error * math.sqrt(self._units)

    def _inner(self, difference: float) -> float:
        """A difference as the test has it: of a geometric mean in logarithms."""
        if not self._is_log:
            return difference
        return math.log1p(difference / self.first) if difference > -self.first else -math.inf

    def _outer(self, tested: float) -> float:
        """The same the other way round."""
        return self.first * math.expm1(tested) if self._is_log else tested

    def probabilities(self, margin: float = 0.0) -> dict[str, float]:
        """How likely the run is worse, the same within the margin, and better, if nothing was known before.

        Where neither a higher nor a lower mean is better, `better` is higher.
        """
        # With a flat prior, what a one-sided p leaves is the posterior (Benavoli et al. 2017).
        not_worse, not_better = self.below(-margin), self.above(margin)
        low, high = 1 - not_worse, 1 - not_better
        worse, better = (high, low) if self.direction < 0 else (low, high)
        return {"worse": worse, "same": 1 - low - high, "better": better}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = [name for name in self.__dataclass_fields__ if not name.startswith("_")]
        return {
            **{name: getattr(self, name) for name in names},
            "relative": self.relative,
            "superiority": self.superiority,
            "effect": {name: getattr(self.effect, name) for name in ("dz", "low", "high", "hedges", "d_av")},
            "warnings": [doubt._asdict() for doubt in self.warnings],
        }
