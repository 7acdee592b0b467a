"""`Online`: metrics of lists as they are served, from outcomes that come later."""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.align import state as saved
from rankstone.align.ranked import Bools, Floats
from rankstone.align.ranking import Finish
from rankstone.align.state import State, locked, reading
from rankstone.answers.definition import ByMetric, Definition, definition_of
from rankstone.answers.table import text_table
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Feeding, Plan, make_plans, refuse_unknown
from rankstone.errors import QueryError
from rankstone.inputs.dicts import Dicts
from rankstone.measure.accumulate import by_query
from rankstone.measure.saved import Saved, refuse_other, settings_of
from rankstone.measure.sums import ExactSum, Sums, mean_from, measure, shares_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.typing import Keywords, Metrics

Time = float | datetime
Span = float | timedelta

_TOGETHER = 1024  # lists that are measured at a time
_BY_LIST = "lists are measured as they are served"
SERVED = Feeding(
    all_queries=_BY_LIST, one_list=_BY_LIST, ratings=_BY_LIST, other_means="the interval is that of a ratio of sums"
)
_HALF_LIVES = 40  # after which a list weighs 1e-12
_COUNTS = (
    "lists", "late lists", "outcomes", "late outcomes", "outcomes before their list", "outcomes without a list",
)  # fmt: skip


class Online(Saved):
    """Measures lists as they are served to people, from what they do with them.

    `served` is told of a list, `outcome` of a click or a purchase in it, in any order. A list waits for its outcomes
    until the clock is `horizon` past its time; then it is settled. `compute` gives each metric, with an interval, over
    the settled lists of the last `window`: those served after `end - window` and up to `end`, where `end` is the clock
    less the horizon. So no list is judged before people had their time to react to it. Without a horizon, the lists of
    the last window count as they stand, with the outcomes that have come so far.

    The clock is the latest time of any event; `advance` moves it on when nothing happens. Times are numbers or
    datetimes (without a zone: UTC); window, horizon and half_life are numbers or timedeltas.

    >>> online = rs.Online(["hit_rate@2", "rr"], window=3600, horizon=60)
    >>> online.served("l1", ["a", "b", "c"], time=0)
    >>> online.outcome("l1", "b", time=5)
    >>> online.served("l2", ["c", "a", "b"], time=10)
    >>> online.advance(70)
    >>> online.compute()["rr"].mean
    0.25

    An item's grade is the highest of its outcomes. An item that was not in the list counts as one that was missed. A
    list without outcomes counts too: as `undefined=` says where nothing could be earned, 0 by default.

    half_life: a list weighs half as much after that time, and a quarter after twice that time; the window is then 40
    half-lives, unless it is given. by: the name of a word that is told of each served list, as in `by="country"` and
    `served(..., country="FI")`; the result is then there by that word's values too. confidence: of the interval, which
    is Student's, for a mean of lists that do not depend on each other.

    Memory: the items and outcomes of the last horizon's lists, the last horizon's outcomes that wait for their list,
    and of each settled list, while it is in the window, its id, time and segment and 17 bytes a metric. What comes too
    late, and an outcome whose list never comes, is not used; `account` counts it.

    Several threads may tell it of events. Servers that each have an Online of their own can `merge` them: an outcome
    finds its list wherever that was served.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        window: Span | None = None,
        horizon: Span | None = None,
        half_life: Span | None = None,
        by: str | None = None,
        confidence: float = 0.95,
        convention: str | Convention = "rankstone",
        **choices: Unpack[Keywords],
    ) -> None:
        asked = make_plans(metrics, convention, choices)
        named = find_convention(convention).with_choices(**choices)
        self.definitions: dict[str, Definition] = {plan.label: definition_of(plan, named) for plan in asked}
        refuse_unknown(asked, SERVED)
        self._plans = tuple(map(by_query, asked))
        self._finish = [measure(plan, Dicts({}, {}).align(plan.alignment).ranked).ratio.finish for plan in self._plans]
        self.half_life = None if half_life is None else _span("half_life", half_life)
        if window is None and self.half_life is None:
            raise TypeError("give a window or a half_life")
        self.window = _HALF_LIVES * (self.half_life or 0) if window is None else _span("window", window)
        self._waits = horizon is not None
        self.horizon = self.window if horizon is None else _span("horizon", horizon)
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r}; give a share between 0 and 1, such as 0.95")
        self.confidence = confidence
        self.by = by
        self._made = {
            "metrics": [str(plan.metric) for plan in asked], "window": window, "horizon": horizon,
            "half_life": half_life, "by": by, "confidence": confidence, "convention": convention, **choices,
        }  # fmt: skip
        self._lock = RLock()
        self.reset()

    @locked
    def reset(self) -> None:
        """Forget all lists and outcomes, and the time."""
        self._clock = -math.inf
        self._lists: dict[Any, _List] = {}  # not yet measured
        self._due: list[Any] = []  # those of them that wait no longer
        self._next: list[tuple[float, int, Any]] = []  # a heap of the others, by time
        self._early: dict[Any, list[tuple[float, Any, float]]] = {}  # outcomes that wait for their list
        self._early_next: list[tuple[float, int, Any]] = []
        self._settled: list[_Settled] = []
        self._known: set[Any] = set()  # ids of the settled lists
        self._counts: Counter[str] = Counter()
        self._serial = 0  # heaps compare it before they would compare ids

    # -- events ----------------------------------------------------------------------------------------------

    @locked
    def served(self, list_id: Hashable, items: Iterable[Hashable], time: Time, **words: Hashable) -> None:
        """A list of items, best first, was shown."""
        at, shown = _time(time), list(items)
        if words.keys() != ({self.by} - {None}):
            wanted = "no other word" if self.by is None else f"{self.by}=, and no other word"
            raise TypeError(f"list {list_id!r} comes with {', '.join(words) or 'nothing'}; it takes {wanted}")
        if list_id in self._lists or list_id in self._known:
            raise ValueError(f"list {list_id!r} was served before")
        if len(set(shown)) < len(shown) and any(plan.choices["duplicates"] == "error" for plan in self._plans):
            twice = next(item for item, times in Counter(shown).items() if times > 1)
            raise ValueError(f"list {list_id!r}: item {twice!r} appears twice")
        self._go_on(at)
        if at <= self._end:
            self._counts["late lists"] += 1
            return
        self._lists[list_id] = found = _List(at, shown, words.get(self.by or ""), {})
        self._push(self._next, at, list_id)
        for outcome in self._early.pop(list_id, ()):
            self._join(found, *outcome)

    @locked
    def outcome(self, list_id: Hashable, item: Hashable, time: Time, grade: float = 1.0) -> None:
        """Somebody did something with an item: clicked it (grade 1), say, or bought it (a higher grade)."""
        at = _time(time)
        try:
            worth = _grade(grade)
        except ValueError as error:
            raise ValueError(f"list {list_id!r}, item {item!r}: {error}") from None
        self._go_on(at)
        found = self._lists.get(list_id)
        if found is not None and found.time > self._end:
            self._join(found, at, item, worth)
        elif found is not None or list_id in self._known or at <= self._end:
            self._counts["late outcomes"] += 1
        else:
            self._early.setdefault(list_id, []).append((at, item, worth))
            self._push(self._early_next, at, list_id)

    @locked
    def advance(self, time: Time) -> None:
        """Move the clock on, where there is no event to do it."""
        self._go_on(_time(time))

    @property
    def _end(self) -> float:
        """Lists up to this time are settled."""
        return self._clock - self.horizon

    def _join(self, found: _List, time: float, item: Any, grade: float) -> None:
        if time < found.time:
            self._counts["outcomes before their list"] += 1
            return
        self._counts["outcomes"] += 1
        found.outcomes[item] = max(grade, found.outcomes.get(item, grade))

    def _push(self, heap: list[tuple[float, int, Any]], time: float, list_id: Any) -> None:
        self._serial += 1
        heapq.heappush(heap, (time, self._serial, list_id))

    def _go_on(self, time: float) -> None:
        self._clock = max(self._clock, time)
        while self._next and self._next[0][0] <= self._end:
            self._due.append(heapq.heappop(self._next)[2])
        if len(self._due) >= _TOGETHER:
            self._settle()
        # No list of an outcome's time or before can come any more.
        while self._early_next and self._early_next[0][0] <= self._end:
            at, _, list_id = heapq.heappop(self._early_next)
            waiting = self._early.pop(list_id, [])
            left = [outcome for outcome in waiting if outcome[0] > at]
            self._counts["outcomes without a list"] += len(waiting) - len(left)
            if left:
                self._early[list_id] = left

    # -- values ----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Measure the lists that wait no longer, and forget those that have left the window."""
        start = self._end - self.window if self._waits else self._end
        inside = [(list_id, self._lists[list_id]) for list_id in self._due if self._lists[list_id].time > start]
        if inside:
            self._settled.append(self._measured(inside))
            self._known.update(list_id for list_id, _ in inside)
        self._counts["lists"] += len(self._due)
        for list_id in self._due:
            del self._lists[list_id]
        self._due = []
        self._forget(start)

    def _forget(self, start: float) -> None:
        """Forget the lists that were served up to a time."""
        while self._settled and self._settled[0].times[0] <= start:
            first = self._settled.pop(0)
            left = int(np.searchsorted(first.times, start, side="right"))
            self._known.difference_update(first.ids[:left])
            if left < len(first.ids):
                self._settled.insert(0, first.only(range(left, len(first.ids))))

    def _measured(self, due: Sequence[tuple[Any, _List]]) -> _Settled:
        ids, lists = zip(*due, strict=True)
        source = Dicts(
            {at: served.outcomes for at, served in enumerate(lists)},
            {at: served.items for at, served in enumerate(lists)},
        )
        tops, bottoms = np.zeros((2, len(self._plans), len(due)))
        every = np.ones(tops.shape, dtype=bool)
        for row, plan in enumerate(self._plans):
            try:
                found = measure(plan, source.align(plan.alignment).ranked)
            except QueryError as error:
                raise ValueError(f"{plan.label}: {error.problem} in list {ids[error.number]!r}") from None
            tops[row], bottoms[row], every[row] = shares_of(plan, found)
        return _Settled(
            np.array([served.time for served in lists]), ids, [served.segment for served in lists], tops, bottoms, every
        )

    @locked
    def compute(self) -> Window:
        """Each metric over the window, with its interval."""
        self._settle()
        whole, end = (self._whole(), self._end) if self._waits else (self._as_they_stand(), self._clock)
        weights = np.ones(len(whole.times))
        if self.half_life is not None:
            weights = np.exp2((whole.times - end) / self.half_life)
        segments: dict[Any, list[int]] = {}
        if self.by is not None:
            for at, segment in enumerate(whole.segments):
                segments.setdefault(segment, []).append(at)

        def estimates(inside: Any) -> dict[str, Estimate]:
            rows = zip(self._plans, self._finish, whole.tops, whole.bottoms, whole.counted, strict=True)
            return {
                plan.label: _estimate(
                    plan, finish, top[inside], bottom[inside], weights[inside], counted[inside], self.confidence
                )
                for plan, finish, top, bottom, counted in rows
            }

        by = {segment: estimates(segments[segment]) for segment in sorted(segments, key=str)}
        return Window(estimates(slice(None)), by, end - self.window, end, self.definitions)

    def _as_they_stand(self) -> _Settled:
        """All lists of the window, whatever may still come."""
        lists = sorted(self._lists.items(), key=lambda pair: pair[1].time)
        return self._measured(lists) if lists else self._whole()

    def _whole(self) -> _Settled:
        if not self._settled:
            nothing = np.zeros((len(self._plans), 0))
            return _Settled(np.zeros(0), [], [], nothing, nothing, nothing.astype(bool))
        self._settled = [_Settled.joined(self._settled)]
        return self._settled[0]

    @property
    @locked
    def account(self) -> dict[str, int]:
        """How many lists were settled and outcomes used, how many came too late, how many wait."""
        counts = {name: self._counts[name] for name in _COUNTS}
        counts["lists"] += len(self._due)
        counts["lists that wait"] = len(self._lists) - len(self._due)
        counts["outcomes that wait"] = sum(map(len, self._early.values()))
        return counts

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Online) -> Online:
        """Take in all that another of the same settings was told. The clock is the later one. Returns this one."""
        if not isinstance(other, Online):
            raise TypeError(f"an Online merges with another Online, not with {type(other).__name__}")
        if other is self:
            raise ValueError("an Online cannot be merged with itself: its lists would count twice")
        if self._settings() != other._settings():
            raise ValueError("the two differ in their metrics, choices, window, horizon, half_life or by")
        self._take_in(copy.deepcopy(other))  # one lock after the other, so that none waits for ever
        return self

    @locked
    def _take_in(self, more: Online) -> None:
        self._settle()
        for list_id in (self._lists.keys() | self._known) & (more._lists.keys() | more._known):
            raise ValueError(f"list {list_id!r} is in both")
        self._known |= more._known
        self._counts += more._counts
        for list_id, found in more._lists.items():
            self._lists[list_id] = found
            self._push(self._next, found.time, list_id)
        for list_id, waiting in more._early.items():
            self._early.setdefault(list_id, []).extend(waiting)
            for at, _, _ in waiting:
                self._push(self._early_next, at, list_id)
        for list_id in [*self._early]:  # those whose list was told to the other
            if list_id in self._lists:
                for outcome in self._early.pop(list_id):
                    self._join(self._lists[list_id], *outcome)
            elif list_id in self._known:
                self._counts["late outcomes"] += len(self._early.pop(list_id))
        self._settled += more._settled
        self._go_on(more._clock)
        self._settle()
        if self._settled:
            self._settled = [_Settled.joined(self._settled).by_time()]
            self._forget(self._end - self.window)

    @locked
    def state_dict(self) -> dict[str, Any]:
        """All it knows, in lists, strings and numbers; fit for JSON if the ids, items and segments are."""
        self._settle()
        whole = self._whole()
        return {
            "settings": self._settings(),
            "clock": None if self._clock == -math.inf else self._clock,
            "lists": [
                [list_id, served.time, list(served.items), served.segment, list(map(list, served.outcomes.items()))]
                for list_id, served in self._lists.items()
            ],
            "early": [[list_id, *outcome] for list_id, waiting in self._early.items() for outcome in waiting],
            "settled": {name: _plain(column) for name, column in whole._asdict().items()},
            "counts": dict(self._counts),
        }

    def load_state_dict(self, state: State) -> None:
        """Go on from what `state_dict` gave. Metrics, choices, window, horizon, half_life and by must be the same."""
        refuse_other(self._settings(), state, "Online")
        with reading("Online"):
            clock = -math.inf if state["clock"] is None else _time(state["clock"])
            lists = {list_id: _List.read(*row) for list_id, *row in saved.items(state, "lists")}
            early = [
                (list_id, _time(at), item, _grade(grade)) for list_id, at, item, grade in saved.items(state, "early")
            ]
            settled = _Settled.read(state["settled"], len(self._plans))
            counts = Counter({name: saved.whole(state["counts"], name) for name in state["counts"]})
            known = set(settled.ids)
            if len(known) < len(settled.ids) or known & lists.keys() or len(lists) < len(state["lists"]):
                raise ValueError("a list is there twice")
            if counts.keys() - set(_COUNTS) or any(served.time > clock for served in lists.values()):
                raise ValueError("its counts and times do not go with its clock")
        with self._lock:
            self.reset()
            self._clock, self._lists, self._known, self._counts = clock, lists, known, counts
            self._settled = [settled] if known else []
            for list_id, found in lists.items():
                self._push(self._next, found.time, list_id)
            for list_id, *outcome in early:
                self._early.setdefault(list_id, []).append(tuple(outcome))
                self._push(self._early_next, outcome[0], list_id)

    def _settings(self) -> dict[str, Any]:
        return {
            **settings_of(self._plans),
            "window": self.window,
            "horizon": self.horizon if self._waits else None,
            "half_life": self.half_life,
            "by": self.by,
        }

    def __repr__(self) -> str:
        return f"Online({', '.join(plan.label for plan in self._plans)}; {self.account['lists']:,} lists settled)"


class Estimate(NamedTuple):
    """A mean and its interval, which is NaN for less than two lists."""

    mean: float
    low: float
    high: float
    lists: int  # that entered the mean


class Window(ByMetric[Estimate]):
    """Estimates by metric, of the lists served after `start` and up to `end`; `by` has those of each segment."""

    def __init__(
        self,
        estimates: dict[str, Estimate],
        by: Mapping[Hashable, dict[str, Estimate]],
        start: float,
        end: float,
        definitions: dict[str, Definition],
    ) -> None:
        super().__init__(estimates, definitions)
        self.by, self.start, self.end = by, start, end

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("segment", "metric", "mean", "low", "high", "lists")]
        for segment, estimates in (("all", self._found), *self.by.items()):
            for label, estimate in estimates.items():
                numbers = (f"{value:.4f}" for value in estimate[:3])
                rows.append((str(segment), label, *numbers, f"{estimate.lists:,}"))
        return "\n".join(text_table(rows, "<<>>>>"))


# -- inside --------------------------------------------------------------------------------------------------


class _List(NamedTuple):
    time: float
    items: list[Any]
    segment: Any
    outcomes: dict[Any, float]

    @classmethod
    def read(cls, time: Any, items: Any, segment: Any, outcomes: Any) -> _List:
        """A list from a state."""
        shown = saved.items({"items": items}, "items")
        return cls(_time(time), shown, segment, {item: _grade(grade) for item, grade in outcomes})


class _Settled(NamedTuple):
    """Lists that are measured, by time: what each adds to the sums of each metric's mean, a row a metric."""

    times: Floats
    ids: Sequence[Any]
    segments: Sequence[Any]
    tops: Floats
    bottoms: Floats
    counted: Bools

    def only(self, at: Sequence[int]) -> _Settled:
        """Some of the lists."""
        rows = np.asarray(at, dtype=np.int64)
        ids, segments = ([column[row] for row in at] for column in (self.ids, self.segments))
        return _Settled(
            self.times[rows], ids, segments, self.tops[:, rows], self.bottoms[:, rows], self.counted[:, rows]
        )

    def by_time(self) -> _Settled:
        """The same lists, the first that was served first."""
        return self.only(np.argsort(self.times, kind="stable").tolist())

    @classmethod
    def read(cls, state: State, metrics: int) -> _Settled:
        """Lists from a state."""
        ids, segments = saved.items(state, "ids"), saved.items(state, "segments")
        times = saved.floats(state, "times", len(ids))
        if len(segments) != len(ids) or not np.isfinite(times).all() or (np.diff(times) < 0).any():
            raise ValueError("times, ids and segments do not go together")
        rows = {name: saved.items(state, name) for name in ("tops", "bottoms", "counted")}
        if any(len(several) != metrics for several in rows.values()):
            raise ValueError(f"it has other sums than those of {metrics} metrics")
        tops, bottoms = (
            np.array([saved.floats({name: row}, name, len(ids), nan=True) for row in rows[name]]).reshape(metrics, -1)
            for name in ("tops", "bottoms")
        )
        counted = np.array([saved.bools({"counted": row}, "counted", len(ids)) for row in rows["counted"]])
        return cls(times, ids, segments, tops, bottoms, counted.reshape(metrics, -1))

    @classmethod
    def joined(cls, parts: Sequence[_Settled]) -> _Settled:
        return cls(
            np.concatenate([part.times for part in parts]),
            [list_id for part in parts for list_id in part.ids],
            [segment for part in parts for segment in part.segments],
            np.concatenate([part.tops for part in parts], axis=1),
            np.concatenate([part.bottoms for part in parts], axis=1),
            np.concatenate([part.counted for part in parts], axis=1),
        )


def _estimate(
    plan: Plan, finish: Finish | None, top: Floats, bottom: Floats, weights: Floats, counted: Bools, confidence: float
) -> Estimate:
    """The ratio of two weighted sums. Its deviation comes from how far each list is off that ratio (delta method)."""
    from scipy.special import stdtrit

    top, bottom, weights = top[counted], bottom[counted], weights[counted]
    earned, possible = float(ExactSum(weights * top)), float(ExactSum(weights * bottom))
    mean = mean_from(plan, Sums(earned, possible, len(top)), finish)
    # With equal weights, it is their number.
    many = float(ExactSum(weights)) ** 2 / float(ExactSum(weights**2)) if len(top) else 0.0
    if many - 1 < 1e-9 or possible == 0:
        return Estimate(mean, math.nan, math.nan, len(top))
    off = weights * (top - earned / possible * bottom)
    deviation = math.sqrt(float(ExactSum(off**2)) * many / (many - 1)) / possible
    reach = float(stdtrit(many - 1, (1 + confidence) / 2)) * deviation
    low, high = earned / possible - reach, earned / possible + reach
    if finish is not None:
        low, high = float(finish(max(low, 0.0))), float(finish(high))
    lowest, highest = plan.metric.declaration.bounds
    return Estimate(mean, max(low, lowest), min(high, highest), len(top))


def _span(name: str, span: Span) -> float:
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if not 0 < seconds < math.inf:
        raise ValueError(f"{name}={span!r}; give a time above 0")
    return seconds


def _time(time: Time) -> float:
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    seconds = float(time)
    if not math.isfinite(seconds):
        raise ValueError(f"time {time!r} is not a finite number")
    return seconds


def _grade(grade: Any) -> float:
    worth = float(grade)
    if not math.isfinite(worth):
        raise ValueError(f"grade {grade!r} is not a finite number")
    return worth


def _plain(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)
