"""What `Online` answers: estimates of each metric, with intervals, over the lists of a window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.conventions.plan import Plan
from rankstone.evaluate.means import LEFT_OUT, ExactSum, Sums, mean_from, sums_of
from rankstone.evaluate.programs import measure
from rankstone.evaluate.timeparse import written
from rankstone.program.ranking import Finish
from rankstone.results.answer import Answer, Readable, table_of
from rankstone.results.definition import ByMetric, Definition, summarize

UNUSED = (
    "late lists", "late outcomes", "outcomes before their list", "outcomes without a list", "outcomes far ahead",
    "lists taken back",
)  # fmt: skip
_NUMBERS = ("metric", "mean", "low", "high", "lists")  # the columns of a Window, after those of its words


class Estimate(NamedTuple):
    """A mean and its interval, which is NaN for less than two lists."""

    mean: float
    low: float
    high: float
    lists: int  # that entered the mean


class Window(ByMetric[Estimate], Readable):
    """Estimates by metric, of the lists served after `start` and up to `end`; `by` has those of each segment.

    `words` are the names of what makes a segment, `account` is that of the Online at the time.
    """

    def __init__(
        self,
        estimates: dict[str, Estimate],
        by: Mapping[Any, dict[str, Estimate]],
        named: str | list[str] | None,
        start: float,
        end: float,
        kind: str | None,
        confidence: float,
        account: dict[str, int],
        definitions: dict[str, Definition],
    ) -> None:
        super().__init__(estimates, definitions)
        self.by, self.words, self.start, self.end = by, words_of(named), start, end
        self.confidence, self.account = confidence, account
        self._named, self._kind = named, kind

    def _columns(self) -> dict[str, list[Any]]:
        """Columns: the words of the segment, each None where all lists count; metric, mean, low, high and lists."""
        keys = [(key,) if isinstance(self._named, str) else tuple(key) for key in self.by]
        every = zip([(None,) * len(self.words), *keys], [self._found, *self.by.values()], strict=True)
        rows = [(*key, label, *estimate) for key, found in every for label, estimate in found.items()]
        return {name: [row[at] for row in rows] for at, name in enumerate((*self.words, *_NUMBERS))}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the table, the window, the account and the definitions."""
        return {
            "start": None if self.start == -math.inf else self.start,
            "end": None if self.end == -math.inf else self.end,
            "confidence": self.confidence,
            "estimates": self._columns(),
            "account": dict(self.account),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def answer(self) -> Answer:
        """The table, what was not used, and what the numbers mean."""
        columns = self._columns()
        for word in self.words:
            columns[word] = ["all" if value is None else str(value) for value in columns[word]]
        for name in ("mean", "low", "high"):
            columns[name] = [f"{value:.4f}" for value in columns[name]]
        columns["lists"] = [f"{lists:,}" for lists in columns["lists"]]
        after = "" if self.start == -math.inf else f" after {written(self.start, self._kind)}"
        upto = "" if self.end == -math.inf else f" up to {written(self.end, self._kind)}"
        unused = [f"{name}: {self.account[name]:,}" for name in UNUSED if self.account[name]]
        return Answer(
            table_of(columns),
            f"lists served{after}{' and' * bool(after)}{upto}; low and high: {100 * self.confidence:g} % intervals",
            [*([f"not used: {'; '.join(unused)}"] if unused else []), *summarize([*self.definitions.values()])],
            align="<" * (len(self.words) + 1),
        )


def estimate_of_all(plan: Plan, shown: Any, inside: Any, confidence: float) -> Estimate:
    """A number of all lists at once; its interval is from leaving out some of them at a time."""
    from rankstone.statistics import student, without_groups  # a quick start: SciPy takes long

    lists = np.arange(len(shown))[inside]

    def mean(some: Ints) -> tuple[float, int]:
        found = measure(plan, shown.only(some))
        sums = sums_of(plan, found, None, ExactSum).rounded()
        return float(mean_from(plan, sums, found.ratio.finish)), sums.queries

    whole, count = mean(lists)
    groups = np.arange(len(lists)) * min(LEFT_OUT, len(lists)) // max(len(lists), 1)
    without = [mean(lists[groups != group])[0] for group in range(min(LEFT_OUT, len(lists)))]
    if len(without) < 2 or not np.isfinite([whole, *without]).all():
        return Estimate(whole, math.nan, math.nan, count)
    ends = student(without_groups(whole, without, groups), groups).interval(confidence)
    lowest, highest = plan.metric.declaration.bounds
    return Estimate(whole, max(float(ends[0]), lowest), min(float(ends[1]), highest), count)


def estimate(
    plan: Plan, finish: Finish | None, top: Floats, bottom: Floats, weights: Floats, counted: Bools, confidence: float
) -> Estimate:
    """The ratio of two weighted sums, and its interval."""
    top, bottom, weights = top[counted], bottom[counted], weights[counted]
    earned, possible = float(ExactSum(weights * top)), float(ExactSum(weights * bottom))
    mean = mean_from(plan, Sums(earned, possible, len(top)), finish)
    # With equal weights, it is their number.
    many = float(ExactSum(weights)) ** 2 / float(ExactSum(weights**2)) if len(top) else 0.0
    if many - 1 < 1e-9 or possible == 0:
        return Estimate(mean, math.nan, math.nan, len(top))
    lowest, highest = plan.metric.declaration.bounds
    ratio = earned / possible
    if finish is None and (lowest, highest) == (0, 1) and (bottom == 1).all() and np.isin(top, (0, 1)).all():
        from rankstone.statistics import share  # a quick start: SciPy takes long

        low, high, *_ = share(ratio * many, many, confidence)  # two hits in two lists are no certainty
    else:
        low, high = _student(ratio, weights * (top - ratio * bottom) / possible, many, confidence)
    if finish is not None:
        low, high = sorted((float(finish(max(low, 0.0))), float(finish(high))))
    return Estimate(mean, max(low, lowest), min(high, highest), len(top))


@np.errstate(over="ignore")  # what is beyond floats has an interval without end
def _student(ratio: float, off: Floats, many: float, confidence: float) -> tuple[float, float]:
    """Student's interval. The deviation comes from how far each list is off the ratio (delta method)."""
    from scipy.special import stdtrit

    deviation = math.sqrt(float(ExactSum(off**2)) * many / (many - 1))
    reach = float(stdtrit(many - 1, (1 + confidence) / 2)) * deviation
    return ratio - reach, ratio + reach


def words_of(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the words that are told of each list."""
    words = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    taken = {"list_id", "items", "time", "self", *_NUMBERS} & set(words)
    if taken or len(set(words)) < len(words) or (by is not None and not words):
        raise ValueError(f"by={by!r}; name words that are told of each list, each once" + "".join(
            f"; {word!r} means something else there" for word in sorted(taken)
        ))  # fmt: skip
    return words
