"""How runs are compared: the test, the correction, and what they have to support."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, Hint
from rankstone.metrics.registry import parse_all
from rankstone.results.definition import label_of
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


def make_rules(given: Mapping[str, Any], baseline: str | None, labels: Sequence[str]) -> Rules:
    """The rules as `rs.compare` takes them, checked; labels: of the metrics."""
    asked = {name: value for name, value in given.items() if value is not None}
    rules, known = Rules(**{"correction": default_correction(baseline), **asked}), dict.fromkeys(labels)
    if not callable(rules.test) and rules.test not in TESTS:
        raise ValueError(f"test={rules.test!r}; choose from {', '.join(map(repr, TESTS))}, or give a function")
    if rules.correction not in CORRECTIONS:
        raise ValueError(f"correction={rules.correction!r}; choose from {', '.join(map(repr, CORRECTIONS))}")
    if not 0.5 <= rules.confidence < 1:
        raise ValueError(Advice(Hint("confidence", rules.confidence), "; give a number from 0.5 to 1, such as 0.95"))
    if rules.resamples < 1:
        raise ValueError(Advice(Hint("resamples", rules.resamples), "; give a whole number from 1"))
    if rules.primary is not None:
        rules = rules._replace(primary=tuple(label_of(metric, known) for metric in parse_all(rules.primary)))
    margin = rules.margin
    for value in margin.values() if isinstance(margin, Mapping) else [margin]:
        if value is not None and not value > 0:
            raise ValueError(Advice(Hint("margin", value), "; give a number above 0, in the metric's unit"))
    if isinstance(margin, Mapping):
        rules = rules._replace(margin={label_of(name, known): value for name, value in margin.items()})
    return rules
