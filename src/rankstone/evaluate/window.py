"""Windows of time: times and spans as people write them, and estimates with intervals over the lists of a window."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta, timezone
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.align import state as saved
from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.functions import Values
from rankstone.conventions.plan import Plan
from rankstone.evaluate.means import ExactSum, Sums, mean_from, sums_of
from rankstone.evaluate.values import measure
from rankstone.program.ranking import Finish
from rankstone.results.answer import Answer, Readable, table_of
from rankstone.results.definition import ByMetric, Definition, summarize

Time: TypeAlias = float | str | datetime | np.datetime64  # 1704067200, "2024-01-01T00:00:00", datetime(2024, 1, 1)
Span: TypeAlias = float | str | timedelta  # 3600, "1h", timedelta(hours=1)

NUMBERS, ZONELESS, ZONED = KINDS = ("numbers", "times without a zone", "times with a zone")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PART = rf"(\d+(?:\.\d+)?)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})"
UNUSED = (
    "late lists", "late outcomes", "outcomes before their list", "outcomes without a list", "outcomes far ahead",
    "lists taken back",
)  # fmt: skip
_NUMBERS = ("metric", "mean", "low", "high", "lists")  # the columns of a Window, after those of its words


class ServedList(NamedTuple):
    """A list that was served, and its outcomes so far."""

    time: float
    items: list[Any]
    segment: Any
    outcomes: dict[Any, float]
    scores: list[float] | None

    @property
    def shown(self) -> list[Any] | dict[Any, float]:
        """The items best first, or with their scores."""
        return self.items if self.scores is None else dict(zip(self.items, self.scores, strict=True))

    @classmethod
    def read(cls, segment_of: Callable[[object], object], *row: Values) -> ServedList:
        """A list from a state."""
        time, items, segment, outcomes, scores = row
        shown = saved.items({"items": items}, "items")
        if scores is not None:
            scores = saved.floats({"scores": scores}, "scores", len(set(shown))).tolist()
        grades = {item: finite("grade", grade) for item, grade in outcomes}
        return cls(finite("time", time), shown, segment_of(segment), grades, scores)


def is_pair(item: object) -> bool:
    """Is it an item with its score."""
    return (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and isinstance(item[1], (Real, np.number))
        and not isinstance(item[1], bool)
    )


def listed_items(items: object) -> tuple[list[Any], list[float] | None]:
    """The items of a list, and their scores if there are any."""
    if isinstance(items, (str, bytes, Set)) or not isinstance(items, Iterable):
        raise TypeError(f"its items are {items!r}; give them in a list, best first, or as {{item: score}}")
    if isinstance(items, Mapping):
        return list(items), list(map(_score, items, items.values()))
    shown = items.tolist() if isinstance(items, np.ndarray) else list(items)
    pairs = [is_pair(item) for item in shown]
    if not any(pairs):
        return shown, None
    if not all(pairs):
        raise ValueError(f"item {shown[pairs.index(False)]!r} has no score, but {shown[pairs.index(True)]!r} seems to")
    return [item for item, _ in shown], [_score(item, score) for item, score in shown]


def _score(item: Any, score: Any) -> float:
    number = float(score) if isinstance(score, (Real, np.number)) else math.nan
    if math.isnan(number):
        raise ValueError(f"item {item!r}: score {score!r} is not a number")
    return number


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


def estimate_of_all(plan: Plan, shown: Values, inside: slice | list[int], confidence: float) -> Estimate:
    """A number of all lists at once; its interval is from leaving out some of them at a time."""
    from rankstone.statistics import student, without_groups  # a quick start: SciPy takes long

    lists = np.arange(len(shown))[inside]

    def mean(some: Ints) -> tuple[float, int]:
        found = measure(plan, shown.only(some))
        sums = sums_of(plan, found, None, ExactSum).rounded()
        return float(mean_from(plan, sums, found.ratio.finish)), sums.queries

    whole, count = mean(lists)
    many = min(plan.jackknife_groups, len(lists))
    groups = np.arange(len(lists)) * many // max(len(lists), 1)
    without = [mean(lists[groups != group])[0] for group in range(many)]
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


# -- times and spans -----------------------------------------------------------------------------------------


def finite(name: str, value: Any) -> float:
    """A number that is one."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} {value!r} is not a finite number")
    return number


def read_time(time: Time) -> tuple[float, str]:
    """A time in seconds, and which kind of time it is. One without a zone is in UTC."""
    if isinstance(time, np.datetime64):
        time = time.astype("datetime64[us]").item()
    if isinstance(time, str):
        time = _from_text(time)
    if isinstance(time, datetime):
        zoned = time.tzinfo is not None
        return (time if zoned else time.replace(tzinfo=timezone.utc)).timestamp(), ZONED if zoned else ZONELESS
    try:
        return finite("time", time), NUMBERS
    except TypeError:
        raise TypeError(f"time {time!r} is no time; {_TIMES}") from None


_TIMES = "give a number, a datetime, or text such as '2024-01-01T12:00:00'"


def _from_text(text: str) -> datetime:
    try:
        if not re.match(r"\d{4}-", text):  # 20240101 may be a number, too
            raise ValueError
        return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))  # Python 3.10 does not know the Z
    except ValueError:
        raise ValueError(f"time {text!r} is no time; {_TIMES}") from None


def read_span(name: str, span: Span, endless: bool = False) -> float:
    """A span of time in seconds, or in whatever the times are counted."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, str):
        if not re.fullmatch(rf"\s*({_PART}\s*)+", span):
            raise ValueError(f"{name}={span!r}; write it as '1h', '30min' or '1d 12h' (units: {', '.join(_UNITS)})")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, span))
    else:
        seconds = float(span)
    if not (0 < seconds < math.inf or (endless and seconds == math.inf)):
        raise ValueError(f"{name}={span!r}; give a time above 0")
    return seconds


def has_unit(span: Any) -> bool:
    """Is it in hours, say, and not in whatever the times are counted."""
    return isinstance(span, (str, timedelta))


def written(seconds: float, kind: str | None) -> str:
    """A time as people read it."""
    if kind in (ZONELESS, ZONED) and 0 <= seconds < 1e11:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S" + " UTC" * (kind == ZONED))
    return f"{seconds:.15g}"
