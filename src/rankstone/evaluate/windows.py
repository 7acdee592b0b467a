"""Windows of time: parsing of times and durations, and estimates with intervals over the lists of a window."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta, timezone
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.align import state as saved
from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.elementwise import Values
from rankstone.conventions.plan import Plan
from rankstone.errors import InputError, InputTypeError, is_finite, show
from rankstone.evaluate.means import ExactSum, Sums, mean_from, sums_of
from rankstone.evaluate.values import measure
from rankstone.program.ranking import Finish
from rankstone.results.answer import Answer, Readable, table_of
from rankstone.results.definition import ByMetric, Definition, summarize
from rankstone.results.schema import stamp

if TYPE_CHECKING:
    from rankstone.evaluate.variants import Past, VariantComparison

Time: TypeAlias = float | str | datetime | np.datetime64  # 1704067200, "2024-01-01T00:00:00", datetime(2024, 1, 1)
Span: TypeAlias = float | str | timedelta  # 3600, "1h", timedelta(hours=1)

NUMBERS, ZONELESS, ZONED = KINDS = ("numbers", "times without a zone", "times with a zone")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PART = rf"(\d+(?:\.\d+)?)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})"
UNUSED = (
    "late lists", "late outcomes", "outcomes before their list", "outcomes without a list", "outcomes far ahead",
    "lists taken back", "outcomes merged too late",
)  # fmt: skip
_NUMBERS = ("metric", "mean", "low", "high", "lists")  # the columns of a WindowResult, after those of the segment


class Impression(NamedTuple):
    """A list that was served, and its feedback so far."""

    time: float
    items: list[Any]
    segment: Any
    feedback: dict[Any, float]
    scores: list[float] | None

    @property
    def returned(self) -> list[Any] | dict[Any, float]:
        """The items best first, or with their scores."""
        return self.items if self.scores is None else dict(zip(self.items, self.scores, strict=True))

    @classmethod
    def read(cls, segment_of: Callable[[object], object], *row: Values) -> Impression:
        """A list from a state."""
        time, items, segment, feedback, scores = row
        returned = saved.items({"items": items}, "items")
        if scores is not None:
            scores = saved.floats({"scores": scores}, "scores", len(set(returned))).tolist()
        grades = {item: finite("grade", grade) for item, grade in feedback}
        return cls(finite("time", time), returned, segment_of(segment), grades, scores)


def is_pair(item: object) -> bool:
    """Whether it is an item with its score."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        return False
    return isinstance(item[1], (Real, np.number)) and not isinstance(item[1], bool)


def listed_items(items: object) -> tuple[list[Any], list[float] | None]:
    """The items of a list, and their scores if there are any."""
    if isinstance(items, (str, bytes, Set)) or not isinstance(items, Iterable):
        raise InputTypeError(f"its items are {items!r}; give them in a list, best first, or as {{item: score}}")
    if isinstance(items, Mapping):
        return list(items), list(map(_score, items, items.values()))
    returned = items.tolist() if isinstance(items, np.ndarray) else list(items)
    pairs = [is_pair(item) for item in returned]
    if not any(pairs):
        return returned, None
    if not all(pairs):
        without, with_score = returned[pairs.index(False)], returned[pairs.index(True)]
        raise InputError(f"item {without!r} has no score, but {with_score!r} seems to")
    return [item for item, _ in returned], [_score(item, score) for item, score in returned]


def check_hashable(*ids: object) -> None:
    """Raise for an id that cannot be hashed."""
    try:
        hash(ids)
    except TypeError as error:
        raise InputTypeError(f"ids must be hashable: {error}") from None


def _score(item: Any, score: Any) -> float:
    number = float(score) if isinstance(score, (float, np.floating)) or is_finite(score) else math.nan
    if math.isnan(number):
        raise InputError(f"item {item!r}: score {show(score)} is not a number")
    return number


class Estimate(NamedTuple):
    """A mean and its confidence interval, which is NaN for less than two lists.

    Attributes
    ----------
    mean : float
        The mean over the lists.
    low, high : float
        Ends of the interval.
    lists : int
        Number of lists that are averaged.
    """

    mean: float
    low: float
    high: float
    lists: int


class WindowResult(ByMetric[Estimate], Readable):
    """Estimates by metric, over the lists served after `start` and up to `end`. What `Online.compute` returns.

    Attributes
    ----------
    by : dict
        The estimates of each segment, by segment and metric.
    segment_keys : tuple of str
        The keywords that make a segment, as in `Online(by=...)`.
    start, end : float
        The window, in seconds or in the unit of the times.
    confidence : float
        Confidence level of the intervals.
    counters : dict
        `Online.counters` at the time of `compute`.
    definitions : dict
        The definition of each metric.
    anytime : float or None
        The number of lists at which intervals that hold at every look are narrowest; None if the intervals are for one
        look, at a time that was fixed before.
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
        counters: dict[str, int],
        definitions: dict[str, Definition],
        anytime: float | None = None,
        lists: WindowLists | None = None,
    ) -> None:
        super().__init__(estimates, definitions)
        self.anytime, self._lists = anytime, lists
        self.by, self.segment_keys, self.start, self.end = by, segment_keys(named), start, end
        self.confidence, self.counters = confidence, counters
        self._named, self._kind = named, kind

    def compare(
        self, baseline: Hashable, run: Hashable, *, before: Past | None = None, expected: Sequence[float] | None = None
    ) -> VariantComparison:
        """The difference of each metric between two segments, such as the variants of an A/B test.

        Welch's t-test, or Newcombe's interval where each list has 0 or 1; the delta method for ratios and for the
        relative lift. With `Online(clusters="user")` each person counts once, however many lists they got. With
        `Online(anytime=True)` confidence sequences, which hold at every look.

        Parameters
        ----------
        baseline, run : hashable
            The two segments, or the value of one of their keys: `window.compare("A", "B")`.
        before : mapping, optional
            A value from before the experiment for each person, or list; it explains a part of the variance (CUPED).
        expected : sequence of float, optional
            The intended proportions of persons or lists; by default equal.

        Returns
        -------
        VariantComparison
        """
        from rankstone.evaluate.variants import Rows, SampleRules, VariantComparison  # SciPy takes long

        data = self._lists
        if data is None:
            raise InputError("this window has no lists: compare what Online.compute() returned")
        if data.weighted:
            raise InputError("half_life= weights lists; compare variants without it")
        places = [data.places(name) for name in (baseline, run)]
        names = str(baseline), str(run)
        samples = {
            label: tuple(Rows(top[at], bottom[at], [data.units[one] for one in at])
                         for at in (several[counted[several]] for several in places))
            for label, (top, bottom, counted) in data.terms.items()
        }  # fmt: skip
        rules = SampleRules(self.confidence, self.anytime, before, expected)
        definitions = {label: self.definitions[label] for label in samples}
        unit = "lists" if data.cluster is None else f"{data.cluster}s"
        return VariantComparison(names, samples, rules, definitions, unit, data.left_out)  # type: ignore[arg-type]

    def to_prometheus(self, prefix: str = "rankstone") -> str:
        """The estimates and counters in Prometheus' text format, for a service to export.

        Parameters
        ----------
        prefix : str, default "rankstone"
            The beginning of the names of the metrics.

        Returns
        -------
        str

        Examples
        --------
        >>> online = rs.Online("rr")
        >>> online.log_impression("l1", ["a"], time=0)
        >>> print(online.compute().to_prometheus().splitlines()[2])
        rankstone_mean{metric="rr"} 0.0
        """
        kinds = {"mean": "Mean over the lists of the window", "low": "Lower end of its interval",
                 "high": "Upper end of its interval", "lists": "Lists of the window"}  # fmt: skip
        lines = []
        for kind, words in kinds.items():
            lines += [f"# HELP {prefix}_{kind} {words}", f"# TYPE {prefix}_{kind} gauge"]
            for key, label, estimate in self._rows():
                segment = {} if key is None else dict(zip(self.segment_keys, key, strict=True))
                labels = _labels({"metric": label, **segment})
                lines.append(f"{prefix}_{kind}{labels} {_sample(getattr(estimate, kind))}")
        name = f"{prefix}_events_total"
        lines += [f"# HELP {name} Lists and feedback by what became of them", f"# TYPE {name} counter"]
        lines += [f"{name}{_labels({'kind': kind})} {count}" for kind, count in self.counters.items()]
        return "\n".join([*lines, ""])

    def _rows(self) -> Iterator[tuple[tuple[Any, ...] | None, str, Estimate]]:
        """The key of the segment, None for all lists; then the metric and its estimate."""
        keys = [(key,) if isinstance(self._named, str) else tuple(key) for key in self.by]
        for key, estimates in zip((None, *keys), (self._found, *self.by.values()), strict=True):
            for label, estimate in estimates.items():
                yield key, label, estimate

    def _columns(self) -> dict[str, list[Any]]:
        """Columns: the keys of the segment, None for all lists; then metric, mean, low, high and lists."""
        everything = (None,) * len(self.segment_keys)
        rows = [(*(key or everything), label, *estimate) for key, label, estimate in self._rows()]
        return {name: [row[at] for row in rows] for at, name in enumerate((*self.segment_keys, *_NUMBERS))}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the table, the window, the counters and the definitions."""
        return {
            **stamp("window"),
            "start": None if self.start == -math.inf else self.start,
            "end": None if self.end == -math.inf else self.end,
            "confidence": self.confidence,
            "anytime": self.anytime,
            "estimates": self._columns(),
            "counters": dict(self.counters),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def _answer(self) -> Answer:
        """The table, the counters of unused events, and the definitions."""
        columns = self._columns()
        for key in self.segment_keys:
            columns[key] = ["all" if value is None else str(value) for value in columns[key]]
        for name in ("mean", "low", "high"):
            columns[name] = [f"{value:.4f}" for value in columns[name]]
        columns["lists"] = [f"{lists:,}" for lists in columns["lists"]]
        after = "" if self.start == -math.inf else f" after {written(self.start, self._kind)}"
        upto = "" if self.end == -math.inf else f" up to {written(self.end, self._kind)}"
        looks = "intervals hold at every look"
        if not self.anytime:
            looks = "intervals are for one look, at a time that was fixed before; with anytime=True, for every look"
        unused = [f"{name}: {self.counters[name]:,}" for name in UNUSED if self.counters[name]]
        return Answer(
            table_of(columns),
            f"lists served{after}{' and' * bool(after)}{upto}; low and high: {100 * self.confidence:g} % intervals",
            [looks, *([f"not used: {'; '.join(unused)}"] if unused else []), *summarize([*self.definitions.values()])],
            align="<" * (len(self.segment_keys) + 1),
        )


class WindowLists(NamedTuple):
    """What the lists of a window add to each metric, for comparisons of segments."""

    terms: Mapping[str, tuple[Floats, Floats, Bools]]  # by metric: numerators, denominators, and which lists count
    units: Sequence[Any]  # ids of lists, or persons
    segments: Mapping[Any, list[int]]  # places by segment
    cluster: str | None  # the keyword that names persons
    left_out: Sequence[str]  # metrics over all lists at once
    weighted: bool

    def places(self, name: Hashable) -> Ints:
        """The lists of a segment, or of all segments with this value among their keys."""
        if name in self.segments:
            return np.array(self.segments[name], dtype=np.int64)
        parts = [places for key, places in self.segments.items() if isinstance(key, tuple) and name in key]
        if not parts:
            names = ", ".join(map(repr, self.segments)) or "none: name their keyword, Online(by=...)"
            raise InputError(f"there is no segment {name!r}; there are {names}")
        return np.sort(np.concatenate([np.array(places, dtype=np.int64) for places in parts]))


def _labels(values: Mapping[str, object]) -> str:
    """Labels of Prometheus, escaped."""
    texts = {name: str(value).replace("\\", r"\\").replace('"', r"\"") for name, value in values.items()}
    cells = [f'{name}="{text}"'.replace("\n", r"\n") for name, text in texts.items()]
    return f"{{{','.join(cells)}}}"


def _sample(value: float) -> str:
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(str(value), str(value))


def estimate_of_all(plan: Plan, recommendations: Values, inside: slice | list[int], confidence: float) -> Estimate:
    """A metric over all lists at once; its interval is a jackknife over groups of lists."""
    from rankstone.statistics import student, without_groups  # a quick start: SciPy takes long

    lists = np.arange(len(recommendations))[inside]

    def mean(subset: Ints) -> tuple[float, int]:
        values = measure(plan, recommendations.only(subset))
        sums = sums_of(plan, values, None, ExactSum).rounded()
        return float(mean_from(plan, sums, values.ratio.finish)), sums.queries

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
    plan: Plan,
    finish: Finish | None,
    top: Floats,
    bottom: Floats,
    weights: Floats,
    counted: Bools,
    confidence: float,
    tuning: float | None = None,
    persons: Ints | None = None,
) -> Estimate:
    """The ratio of two weighted sums, and its interval; tuning: of a confidence sequence; persons: of each list."""
    top, bottom, weights = top[counted], bottom[counted], weights[counted]
    codes = None if persons is None else np.unique(persons[counted], return_inverse=True)[1].ravel()
    numerator, denominator = float(ExactSum(weights * top)), float(ExactSum(weights * bottom))
    mean = mean_from(plan, Sums(numerator, denominator, len(top)), finish)
    if codes is not None:
        size = float(codes.max(initial=-1) + 1)  # persons
    else:  # the effective sample size (Kish): with equal weights, the number of lists
        size = float(ExactSum(weights)) ** 2 / float(ExactSum(weights**2)) if len(top) else 0.0
    if size - 1 < 1e-9 or denominator == 0:
        return Estimate(mean, math.nan, math.nan, len(top))
    lowest, highest = plan.metric.declaration.bounds
    ratio = numerator / denominator
    is_share = finish is None and (lowest, highest) == (0, 1) and (bottom == 1).all() and np.isin(top, (0, 1)).all()
    if is_share and codes is None and tuning is None:
        from rankstone.statistics import proportion_interval  # a quick start: SciPy takes long

        low, high, *_ = proportion_interval(ratio * size, size, confidence)  # has a width for two hits in two lists
    else:
        residuals = weights * (top - ratio * bottom) / denominator
        residuals = residuals if codes is None else np.bincount(codes, residuals).astype(float)
        low, high = _interval(ratio, residuals, size, confidence, tuning)
    if finish is not None:
        low, high = sorted((float(finish(max(low, 0.0))), float(finish(high))))
    return Estimate(mean, max(low, lowest), min(high, highest), len(top))


@np.errstate(over="ignore")  # beyond the range of floats, the interval is infinite
def _interval(
    ratio: float, residuals: Floats, size: float, confidence: float, tuning: float | None
) -> tuple[float, float]:
    """Student's interval of a ratio, by the delta method; or its confidence sequence."""
    from scipy.special import stdtrit

    deviation = math.sqrt(float(ExactSum(residuals**2)) * size / (size - 1))
    if tuning is not None:
        from rankstone.statistics import confidence_sequence

        sequence = confidence_sequence(ratio, deviation, size, confidence=confidence, tuning=tuning)
        low, high = map(float, sequence.interval(confidence))
        return low, high
    reach = float(stdtrit(size - 1, (1 + confidence) / 2)) * deviation
    return ratio - reach, ratio + reach


def segment_keys(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The keywords that make a segment, checked."""
    if by is not None and not isinstance(by, (str, Sequence)):
        raise InputTypeError(f"by={by!r}; give the segment keywords of log_impression: a name, or a list of names")
    keys = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    reserved = {"list_id", "items", "time", "self", *_NUMBERS} & set(keys)
    if reserved or len(set(keys)) < len(keys) or (by is not None and not keys):
        raise InputError(f"by={by!r}; give the segment keywords of log_impression, each once" + "".join(
            f"; {key!r} is reserved" for key in sorted(reserved)
        ))  # fmt: skip
    return keys


# -- times and durations -----------------------------------------------------------------------------------------


def finite(name: str, value: Any) -> float:
    """A finite number, or an error."""
    if isinstance(value, str):
        raise InputError(f"{name} {value!r} is text, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} {show(value)} is not a number") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} {show(value)} is not a finite number")
    return number


def read_time(time: Time) -> tuple[float, str]:
    """A time in seconds, and its kind. A time without a zone is in UTC."""
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
        raise InputTypeError(f"time {time!r} is not a time; {_TIMES}") from None


_TIMES = "give a number, a datetime, or text such as '2024-01-01T12:00:00'"


def _from_text(text: str) -> datetime:
    try:
        if not re.match(r"\d{4}-", text):  # 20240101 may be a number, too
            raise InputError
        return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))  # Python 3.10 does not parse the Z
    except ValueError:
        raise InputError(f"time {text!r} is not a time; {_TIMES}") from None


def read_span(name: str, span: Span, endless: bool = False) -> float:
    """A duration in seconds, or in the unit of the times."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, str):
        if not re.fullmatch(rf"\s*({_PART}\s*)+", span):
            raise InputError(f"{name}={span!r}; write it as '1h', '30min' or '1d 12h' (units: {', '.join(_UNITS)})")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, span))
    elif isinstance(span, (Real, np.number)):
        seconds = float(span)
    else:
        raise InputTypeError(f"{name}={span!r}; give a number, a timedelta, or text such as '1h'")
    if not (0 < seconds < math.inf or (endless and seconds == math.inf)):
        raise InputError(f"{name}={span!r}; give a time above 0")
    return seconds


def has_unit(span: Any) -> bool:
    """Whether a duration has a unit, and is not in the unit of the times."""
    return isinstance(span, (str, timedelta))


def written(seconds: float, kind: str | None) -> str:
    """A time as text."""
    if kind in (ZONELESS, ZONED) and 0 <= seconds < 1e11:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S" + " UTC" * (kind == ZONED))
    return f"{seconds:.15g}"
