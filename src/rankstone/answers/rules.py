"""How runs are compared: tests and corrections by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats

Own: TypeAlias = "Callable[[Floats, Floats], float]"  # a test of one's own: the values of two runs to a p
Test: TypeAlias = 'Literal["t", "flips", "wilcoxon", "sign"] | Own'
TESTS = {
    "t": "paired t-test",
    "flips": "randomisation test (sign flips)",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
}
CORRECTIONS = {
    "holm": "Holm",
    "max_t": "step-down max-T",
    "bh": "Benjamini and Hochberg",
    "by": "Benjamini and Yekutieli",
    "bonferroni": "Bonferroni",
    "hochberg": "Hochberg",
    "hommel": "Hommel",
    "tukey": "Tukey's HSD, runs and queries",
    "none": "no correction",
}
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
    def is_random(self) -> bool:
        """Is chance in it."""
        return self.test == "flips" or self.correction == "max_t"
