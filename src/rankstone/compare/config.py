"""How runs are compared: the test, the correction, and what they have to support."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from rankstone.align.alignment import Floats
from rankstone.statistics.adjust import CORRECTIONS, Correction
from rankstone.statistics.paired import TESTS, PairedTest, find_test, name_of

Test: TypeAlias = str | Callable[[Floats, Floats], float]  # one of `TESTS`, or a function of two runs' values to p
Groups: TypeAlias = Mapping[Any, Hashable] | Sequence[Hashable]  # of queries: a dict, or one for each in order


class Rules(NamedTuple):
    """How runs are compared."""

    test: Test = "t"
    correction: str = "holm"
    confidence: float = 0.95
    margin: float | Mapping[str, float] | None = None
    primary: tuple[str, ...] | None = None  # metrics that decide; None: all
    resamples: int = 100_000
    seed: int = 0
    population: int | None = None
    threads: int = 0

    @property
    def level(self) -> float:
        """How often a difference may be found where there is none."""
        return 1 - self.confidence

    def margin_of(self, label: str) -> float | None:
        """From which difference on a metric matters."""
        return self.margin.get(label) if isinstance(self.margin, Mapping) else self.margin

    def decides(self, label: str) -> bool:
        """Is it one of the metrics that decide."""
        return self.primary is None or label in self.primary

    @property
    def paired_test(self) -> PairedTest:
        """The row of the test."""
        return find_test(self.test)

    @property
    def adjustment(self) -> Correction:
        """The row of the correction."""
        return CORRECTIONS[self.correction]

    @property
    def is_random(self) -> bool:
        """Is chance in it."""
        return self.paired_test.random or self.adjustment.random

    def require(self, trait: str, what: str) -> None:
        """Stop if the test or the correction does not support what was asked for."""
        for keyword, row, table in (("test", self.paired_test, TESTS), ("correction", self.adjustment, CORRECTIONS)):
            if not getattr(row, trait):
                able = ", ".join(repr(name) for name, other in table.items() if getattr(other, trait))
                chosen = name_of(getattr(self, keyword))
                raise ValueError(f"{keyword}={chosen!r} does not support {what}; choose from {able}")


def default_correction(baseline: str | None) -> str:
    """The correction where none is named: of all pairs of runs, or of all runs against one."""
    return "max_t" if baseline is None else "holm"
