"""Statistical tests of paired samples, one row each; comparisons, the command line and the docs read this table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.statistics.anytime import ConfidenceSequence, confidence_sequence
from rankstone.statistics.power import differences_of
from rankstone.statistics.prediction_powered import PredictionPowered, prediction_powered
from rankstone.statistics.randomization import randomization_test
from rankstone.statistics.rank_tests import sign_test, wilcoxon
from rankstone.statistics.student_t import Student, student

if TYPE_CHECKING:
    from rankstone.statistics.corrections import Correction


TUNING = 500  # queries at which the intervals of a confidence sequence are narrowest
Fit: TypeAlias = Student | ConfidenceSequence  # means with their intervals and one-sided tests


@dataclass(frozen=True, eq=False)
class PairedSample:
    """Values of runs on the same queries, and which runs are compared: all that a test or a correction reads."""

    values: Floats  # a row per query, a column per run
    pairs: Sequence[tuple[int, int]]  # columns: the second is compared with the first
    clusters: Ints | None = None
    population: int | None = None
    resamples: int = 100_000
    seed: int = 0
    threads: int = 0
    confidence: float = 0.95
    tuning: float = TUNING  # of confidence sequences
    machine: tuple[Floats, Floats] | None = None  # by machine labels: values of the same queries, and of others

    @cached_property
    def differences(self) -> Floats:
        """The second run's values less the first's: a row per query, a column per pair."""
        firsts, seconds = (list(side) for side in zip(*self.pairs, strict=True))
        return self.values[:, seconds] - self.values[:, firsts]

    @cached_property
    def student(self) -> Student:
        """The mean differences with their standard errors; NaN without any query."""
        if not len(self.values):
            nothing = np.full(len(self.pairs), math.nan)
            return Student(nothing, nothing, 0)
        if self.machine is not None:
            rows = [(row.value, row.error, row.freedom) for row in self.assisted]
            columns: Any = map(np.array, zip(*rows, strict=True))
            return Student(*columns)
        return student(self.differences, self.clusters, self.population)

    @cached_property
    def sequence(self) -> ConfidenceSequence:
        """The same as a confidence sequence of the queries, or clusters, so far."""
        of, units = self.student, self.student.freedom + 1
        error = of.error if units > 1 else np.full_like(of.error, math.inf)
        return confidence_sequence(of.mean, error, units, confidence=self.confidence, tuning=self.tuning)

    @cached_property
    def assisted(self) -> list[PredictionPowered]:
        """The mean difference of each pair, from human and machine labels."""
        if self.machine is None:
            return []
        same, others = (
            np.column_stack([values[:, b] - values[:, a] for a, b in self.pairs]) for values in self.machine
        )
        return [
            prediction_powered(*each, method="t") for each in zip(self.differences.T, same.T, others.T, strict=True)
        ]

    @property
    def drawing(self) -> dict[str, Any]:
        """Keywords of a test that draws random signs."""
        return {name: getattr(self, name) for name in ("resamples", "seed", "threads", "clusters")}

    def each(self, test: Callable[[Floats, Floats], float]) -> Floats:
        """p of each pair, by a function of the values of two runs."""
        return np.array([_checked(test(self.values[:, a], self.values[:, b])) for a, b in self.pairs])


@dataclass(frozen=True, eq=False)
class PairedTest:
    """A two-sided test of the differences between runs on the same queries, and what it supports."""

    words: str  # its name in the notes of a comparison
    p: Callable[[PairedSample], Floats]  # of each pair
    use: str = ""  # when to choose it
    clusters: bool = False  # supports queries that are not independent
    population: bool = False  # supports a finite population of queries
    machine: bool = False  # supports machine labels with a few human ones
    joint: bool = False  # called once for all metrics: the random signs of a query are the same in all of them
    random: bool = False  # depends on `resamples` and `seed`
    is_student: bool = False  # agrees with Student's interval, and is approximate for few queries
    has_interval: bool = True  # Student's interval is printed next to its p
    anytime: bool = False  # holds at every look, and so do the intervals of its `fit`
    fit: Callable[[PairedSample], Fit] = lambda sample: sample.student  # the intervals that are printed next to its p
    aliases: tuple[str, ...] = ()  # names of earlier versions that are still read


TESTS: dict[str, PairedTest] = {
    "t": PairedTest(
        "paired t-test",
        lambda sample: sample.student.p(),
        "the default: it holds its level, needs no seed, and agrees with the interval",
        clusters=True, population=True, machine=True, is_student=True,
    ),
    "randomization": PairedTest(
        "randomisation test (sign flips)",
        lambda sample: randomization_test(sample.differences, **sample.drawing).p,
        "fewer than 20 queries, or few different values; exact for up to 36 differences and for values on a grid",
        clusters=True, joint=True, random=True, aliases=("flips",),
    ),
    "wilcoxon": PairedTest(
        "Wilcoxon's signed-rank test",
        lambda sample: sample.each(lambda first, second: wilcoxon(differences_of(first, second)).p),
        "the question is whether the differences are symmetric about 0, not whether their mean is 0",
    ),
    "sign": PairedTest(
        "sign test",
        lambda sample: sample.each(lambda first, second: sign_test(differences_of(first, second)).p),
        "the question is whether more queries win than lose, however much",
    ),
    "anytime": PairedTest(
        "asymptotic confidence sequence, valid at every look",
        lambda sample: sample.sequence.p(),
        "queries or users keep coming, and you look more than once: `anytime=True`",
        clusters=True, anytime=True, fit=lambda sample: sample.sequence,
    ),
}  # fmt: skip


def find_test(test: str | Callable[[Floats, Floats], float]) -> PairedTest:
    """A test by its name, or a function of the values of two runs that returns p."""
    if isinstance(test, str):
        return TESTS[canonical_name(test, TESTS)]
    return PairedTest(f"user-defined test ({name_of(test)})", lambda sample: sample.each(test), has_interval=False)


def canonical_name(name: str, table: Mapping[str, PairedTest] | Mapping[str, Correction]) -> str:
    """The name of the row that has this name or alias; the name itself if there is none."""
    return next((row_name for row_name, row in table.items() if name in row.aliases), name)


def name_of(test: str | Callable[[Floats, Floats], float]) -> str:
    """The name of a test, or of a function that is one."""
    return test if isinstance(test, str) else getattr(test, "__name__", type(test).__name__)


def _checked(p: float) -> float:
    if not 0 <= float(p) <= 1:
        raise InputError(f"the test returned {p!r}; a p-value is a number from 0 to 1")
    return float(p)
