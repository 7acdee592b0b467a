"""How runs are compared: the test, the correction, and what both must support."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, Hint, InputError, InputTypeError
from rankstone.metrics.registry import parse_all
from rankstone.results.definition import label_of
from rankstone.statistics.anytime import tuning_of
from rankstone.statistics.corrections import CORRECTIONS, Correction
from rankstone.statistics.paired import TESTS, TUNING, PairedTest, canonical_name, find_test, name_of

Test: TypeAlias = str | Callable[[Floats, Floats], float]  # one of `TESTS`, or a function of two runs' values to p
Groups: TypeAlias = Mapping[Any, Hashable] | Sequence[Hashable]  # group per query: by id, or in the order of queries


_WHOLE = {"resamples": " from 1", "seed": "", "population": " of queries", "threads": ""}  # options, and which numbers
RESAMPLES = 100_000


class Rules(NamedTuple):
    """How runs are compared."""

    test: Test = "t"
    correction: str = "holm"
    confidence: float = 0.95
    margin: float | Mapping[str, float] | None = None
    primary: tuple[str, ...] | None = None  # metrics with a verdict; None: all
    resamples: int = RESAMPLES
    seed: int = 0
    population: int | None = None
    threads: int = 0
    anytime: bool | int = False  # whether intervals hold at every look; a number: of queries where they are narrowest

    @property
    def tuning(self) -> float:
        """The number of queries at which the intervals of a confidence sequence are narrowest."""
        return TUNING if isinstance(self.anytime, bool) else self.anytime

    @property
    def level(self) -> float:
        """The significance level."""
        return 1 - self.confidence

    def margin_of(self, label: str) -> float | None:
        """The smallest difference of a metric that matters; None if not set."""
        return self.margin.get(label) if isinstance(self.margin, Mapping) else self.margin

    def decides(self, label: str) -> bool:
        """Whether the metric has a verdict."""
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
        """Whether the result depends on `resamples` and `seed`."""
        return self.paired_test.random or self.adjustment.random

    def require(self, trait: str, what: str) -> None:
        """Raise an error if the test or the correction does not support an option."""
        for keyword, row, table in (("test", self.paired_test, TESTS), ("correction", self.adjustment, CORRECTIONS)):
            if not getattr(row, trait):
                able = ", ".join(repr(name) for name, other in table.items() if getattr(other, trait))
                chosen = name_of(getattr(self, keyword))
                raise InputError(f"{keyword}={chosen!r} does not support {what}; choose from {able}")


def default_correction(baseline: str | None) -> str:
    """The default correction: for all pairs of runs, or for all runs against a baseline."""
    return "westfall_young" if baseline is None else "holm"


def make_rules(keywords: Mapping[str, Any], baseline: str | None, metrics: Sequence[str]) -> Rules:
    """The keywords of `rs.compare`, checked, with names of earlier versions replaced."""
    options = {name: value for name, value in keywords.items() if value is not None}
    anytime = options.get("anytime", False)
    if tuning_of(anytime, "queries", TUNING):
        if options.get("test", "t") not in ("t", "anytime"):
            raise InputError(f"anytime={anytime!r} is a test of its own; leave out test={name_of(options['test'])!r}")
        options["test"] = "anytime"
    default = default_correction(baseline)
    if options.get("test") == "anytime" and not CORRECTIONS[default].anytime:
        default = "holm"
    for name, table in (("test", TESTS), ("correction", CORRECTIONS)):
        if isinstance(options.get(name), str):
            options[name] = canonical_name(options[name], table)
    rules, labels = Rules(**{"correction": default, **options}), dict.fromkeys(metrics)
    if not callable(rules.test) and not (isinstance(rules.test, str) and rules.test in TESTS):
        raise InputError(f"test={rules.test!r}; choose from {', '.join(map(repr, TESTS))}, or give a function")
    if not isinstance(rules.correction, str) or rules.correction not in CORRECTIONS:
        raise InputError(f"correction={rules.correction!r}; choose from {', '.join(map(repr, CORRECTIONS))}")
    if rules.paired_test.anytime:
        rules.require("anytime", "anytime=")
    for name, of in _WHOLE.items():
        if not isinstance(options.get(name, 0), Integral):
            raise InputTypeError(Advice(Hint(name, options[name]), f"; give a whole number{of}"))
    if not (isinstance(rules.confidence, Real) and 0.5 <= rules.confidence < 1):
        raise InputError(Advice(Hint("confidence", rules.confidence), "; give a number from 0.5 to 1, such as 0.95"))
    if rules.resamples < 1:
        raise InputError(Advice(Hint("resamples", rules.resamples), "; give a whole number from 1"))
    if rules.primary is not None:
        rules = rules._replace(primary=tuple(label_of(metric, labels) for metric in parse_all(rules.primary)))
    margin = rules.margin
    for value in margin.values() if isinstance(margin, Mapping) else [margin]:
        if value is not None and not (isinstance(value, Real) and value > 0):
            raise InputError(Advice(Hint("margin", value), "; give a number above 0, in the metric's unit"))
    if isinstance(margin, Mapping):
        rules = rules._replace(margin={label_of(name, labels): value for name, value in margin.items()})
    return rules
