"""Two independent samples compared: variants of an A/B test, or runs on different queries."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.errors import InputError
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import Answer, Records, comparative, number, p_said, p_value, signed
from rankstone.results.definition import Definition, label_of, summarize
from rankstone.results.schema import stamp
from rankstone.statistics.corrections import adjust
from rankstone.statistics.paired import Fit
from rankstone.statistics.two_samples import (
    Moments,
    cuped,
    moments,
    newcombe,
    per_unit,
    relative,
    sample_ratio,
    sequential,
    welch,
)

Past: TypeAlias = Mapping[Any, float]  # a value from before the experiment, by unit
FEW = 20  # units, below which an interval is unreliable
MISMATCH = 0.001  # p of a sample ratio, below which units were lost


class Rows(NamedTuple):
    """What the lists, or queries, of one variant add to a metric."""

    top: Floats
    bottom: Floats
    units: Sequence[Hashable]  # the independent unit of each: itself, or a person


@dataclass(frozen=True)
class VariantDifference:
    """The difference of a metric between two independent samples.

    Attributes
    ----------
    metric, baseline, run : str
        What is compared.
    first, second, difference : float
        Both means, and the second minus the first; with `before=`, adjusted by the past.
    low, high : float
        Its confidence interval.
    p, adjusted : float
        p-value of Welch's test, or of the confidence sequence; and adjusted for the number of metrics (Holm).
    relative, relative_low, relative_high : float
        Relative lift with its interval (delta method).
    first_units, second_units : int
        Number of independent units: lists, queries, or persons.
    method : str
        How the interval was computed: "welch", "newcombe" or "sequential".
    explained : float
        Share of the variance that the past explains, with `before=`; else 0.
    verdict : str
        "better", "worse" ("higher", "lower" where neither is better) or "inconclusive".
    """

    metric: str
    baseline: str
    run: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    relative: float
    relative_low: float
    relative_high: float
    first_units: int
    second_units: int
    method: str
    explained: float
    verdict: str


class SampleRules(NamedTuple):
    """How samples are compared."""

    confidence: float = 0.95
    tuning: float | None = None  # of a confidence sequence; None: one look
    before: Past | None = None
    expected: Sequence[float] | None = None  # intended proportions of units


class VariantComparison(Records[VariantDifference]):
    """The differences between two independent samples: a `VariantDifference` per metric.

    `comparison["rr"]` is that of a metric; iterating yields all.

    Attributes
    ----------
    baseline, run : str
        The two variants.
    differences : tuple of VariantDifference
        One per metric.
    caveats : tuple of str
        What limits their validity, such as a sample-ratio mismatch.
    definitions : dict
        The definition of each metric.
    """

    _names = tuple(VariantDifference.__dataclass_fields__)

    def __init__(
        self,
        names: tuple[str, str],
        samples: Mapping[str, tuple[Rows, Rows]],
        rules: SampleRules,
        definitions: Mapping[str, Definition],
        unit: str,
        left_out: Sequence[str] = (),
    ) -> None:
        self.baseline, self.run = names
        self.definitions, self.confidence, self._rules, self._unit = dict(definitions), rules.confidence, rules, unit
        compared = {label: _compared(label, names, rows, rules) for label, rows in samples.items()}
        self._fits = {label: fit for label, (_, fit) in compared.items()}
        parts = [part for part, _ in compared.values()]
        if not parts:
            raise InputError(f"no metric can be compared: {', '.join(left_out)} is computed over all lists at once")
        p = np.array([part.p for part in parts])
        is_number = ~np.isnan(p)
        p[is_number] = adjust(p[is_number], "holm")
        self._records = tuple(_decided(part, value, rules) for part, value in zip(parts, p.tolist(), strict=True))
        self.differences = self._records
        self.caveats = tuple(self._caveats(next(iter(samples.values())), left_out))

    def __getitem__(self, metric: str) -> VariantDifference:
        by_metric = {of.metric: of for of in self}
        return by_metric[label_of(metric, by_metric)]

    def fit(self, metric: str) -> Fit | None:
        """The difference of a metric with its tests at other values than 0; None with fewer than two units.

        Parameters
        ----------
        metric : str
            The metric.

        Returns
        -------
        Student or ConfidenceSequence or None
        """
        return self._fits[label_of(metric, self._fits)]

    def _caveats(self, rows: tuple[Rows, Rows], left_out: Sequence[str]) -> Iterator[str]:
        counts = [len(set(each.units)) for each in rows]
        p = sample_ratio(counts, self._rules.expected)
        if p < MISMATCH:
            yield (
                f"sample-ratio mismatch: {counts[0]:,} and {counts[1]:,} {self._unit} ({p_said(p)}): some were lost in "
                "one of the variants, so the difference may come from who is left"
            )
        if min(counts) < FEW:
            yield f"only {min(counts):,} {self._unit} in a variant: the interval is unreliable"
        if left_out:
            yield f"not compared, as computed over all lists at once: {', '.join(left_out)}"
        if self._rules.before is not None:
            without = sum(unit not in self._rules.before for each in rows for unit in set(each.units))
            if without:
                yield f"{without:,} of {sum(counts):,} {self._unit} have no past, and count as its mean"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the differences, the caveats and the definitions."""
        return {
            **stamp("variants"),
            "baseline": self.baseline,
            "run": self.run,
            "confidence": self.confidence,
            "anytime": self._rules.tuning is not None,
            "differences": [asdict(of) for of in self],
            "caveats": list(self.caveats),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def _answer(self) -> Answer:
        """A row per metric."""
        percent = f"{100 * self.confidence:g} % interval"
        head = ["metric", self.baseline, self.run, "difference", "verdict", percent, "lift", "of the lift", "p",
                "adjusted"]  # fmt: skip
        table = [head, *(
            [of.metric, number(of.first), number(of.second), signed(of.difference), of.verdict,
             f"{signed(of.low)} {signed(of.high)}", _percent(of.relative),
             f"{_percent(of.relative_low)} {_percent(of.relative_high)}", p_value(of.p), p_value(of.adjusted)]
            for of in self
        )]  # fmt: skip
        methods = {"welch": "Welch's t", "newcombe": "Newcombe's of shares", "sequential": "confidence sequence"}
        used = ", ".join(methods[name] for name in dict.fromkeys(of.method for of in self))
        looks = "at every look" if self._rules.tuning is not None else "for one look, at a time that was fixed before"
        holm = f"; Holm over {len(self)} metrics" if len(self) > 1 else ""
        of = self.differences[0]
        notes = [f"{of.first_units:,} and {of.second_units:,} {self._unit}; intervals: {used}; valid {looks}{holm}"]
        if self._rules.before is not None:
            notes.append(
                "adjusted by the past (CUPED), which explains "
                + ", ".join(f"{100 * of.explained:.0f} % of the variance of {of.metric}" for of in self)
            )
        *defined, origin = summarize([*self.definitions.values()])
        align = "<>>><".ljust(len(head), ">")
        return Answer(table, notes=[*notes, *self.caveats], definitions=[*defined, origin], align=align, fixed=1)


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:+.1f} %"


def _compared(
    label: str, names: tuple[str, str], rows: tuple[Rows, Rows], rules: SampleRules
) -> tuple[VariantDifference, Fit | None]:
    """The difference of one metric, without a verdict; and its tests, if there are two units in each."""
    for name, each in zip(names, rows, strict=True):
        if not len(each.top) or not each.bottom.any():
            raise InputError(f"{label}: {name} has nothing to average over")
    values, units = zip(*map(_units, rows), strict=True)
    explained = 0.0
    if rules.before is not None:
        past = [rules.before[unit] for several in units for unit in several if unit in rules.before]
        mean = math.fsum(past) / len(past) if past else 0.0
        before = tuple(np.array([rules.before.get(unit, mean) for unit in several], dtype=float) for several in units)
        *values, explained = cuped(values, before)  # type: ignore[assignment, arg-type]
    first, second = (
        moments(each) if len(each) > 1 else Moments(float(each.mean()), math.nan, len(each)) for each in values
    )
    fit: Any = None
    lift, method = relative(first, second), "welch"
    low = high = p = lift_low = lift_high = math.nan
    if min(first.n, second.n) > 1:
        fit = welch(first, second)
        if rules.tuning is not None:
            method = "sequential"
            fit = sequential(first, second, confidence=rules.confidence, tuning=rules.tuning)
        low, high = map(float, fit.interval(rules.confidence))
        p = float(fit.p())
        of_lift = fit._replace(mean=np.asarray(lift.mean), error=np.asarray(lift.error))
        lift_low, lift_high = map(float, of_lift.interval(rules.confidence))
    if method == "welch" and rules.before is None and all(map(_is_binary, rows)):
        low, high = newcombe([each.top.sum() for each in rows], [len(each.top) for each in rows], rules.confidence)
        method = "newcombe"
    of = VariantDifference(
        label, *names, first.mean, second.mean, second.mean - first.mean, low, high, p, math.nan, lift.mean, lift_low,
        lift_high, first.n, second.n, method, explained, "",
    )  # fmt: skip
    return of, fit


def _is_binary(rows: Rows) -> bool:
    """Whether each unit has one value, which is 0 or 1."""
    single = len(rows.top) == len(set(rows.units)) and (rows.bottom == 1).all()
    return bool(single and np.isin(rows.top, (0, 1)).all())


def _units(rows: Rows) -> tuple[Floats, list[Hashable]]:
    """A value per independent unit, and the units."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(unit, len(numbers)) for unit in rows.units], dtype=np.int64)
    return per_unit(rows.top, rows.bottom, codes), list(numbers)


def _decided(of: VariantDifference, adjusted: float, rules: SampleRules) -> VariantDifference:
    verdict = "inconclusive"
    if adjusted <= 1 - rules.confidence:
        verdict = comparative(of.difference, parse_one(of.metric).declaration.direction)
    return replace(of, adjusted=adjusted, verdict=verdict)
