"""`Online`: metrics of lists as they are served, from outcomes that come later."""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align import state as saved
from rankstone.align.state import State, locked
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Capabilities, check_supported
from rankstone.data.dicts import Dicts
from rankstone.errors import QueryError
from rankstone.evaluate.means import finish_of
from rankstone.evaluate.partial import Partial, Resumable, by_query, concat, items_of, partial_of, settings_of
from rankstone.evaluate.pipeline import depths_of
from rankstone.evaluate.window import (
    KINDS,
    NUMBERS,
    UNUSED,
    Estimate,
    ServedList,
    Span,
    Time,
    Window,
    estimate,
    estimate_of_all,
    finite,
    has_unit,
    is_pair,
    listed_items,
    read_span,
    read_time,
    words_of,
    written,
)
from rankstone.results.definition import Definition, definition_of

if TYPE_CHECKING:
    from rankstone.data.side_info import Known
    from rankstone.metrics.registry import Value
    from rankstone.typing import Metrics, Stock, Truth

_TOGETHER = 1024  # lists that are measured at a time
_BY_LIST = "lists are measured as they are served"
SERVED = Capabilities(
    all_queries=_BY_LIST,
    one_list=_BY_LIST,
    ratings=_BY_LIST,
    notes="outcomes are grades alone",
    other_means="the interval is that of a ratio of sums",
)
_WEIGHED = "half_life= weighs lists, and a count of items has no weights"
_HALF_LIVES = 40  # after which a list weighs 1e-12
_USED = ("lists", "outcomes")
_FAR = 1e11  # seconds: the year 5138


class Online(Resumable):
    """Measures lists as they are served to people, from what they do with them.

    `served` is told of a list, `outcome` of a click or a purchase in it, in any order. A list waits for its outcomes
    until the clock is `horizon` past its time; then it is settled. `compute` gives each metric, with an interval, over
    the settled lists of the last `window`: those served after `end - window` and up to `end`, where `end` is the clock
    less the horizon. So no list is judged before people had their time to react to it. Without a horizon, the lists of
    the last window count as they stand, with the outcomes that have come so far. Without a window all lists count.

    The clock is the latest time of a list; `advance` moves it on when none is served. Outcomes do not move it, since
    other people's clocks may be wrong. A list that is further than `ahead` past the clock is an error: by default the
    window and the horizon, as all lists would be forgotten then. `rewind` sets a clock back that was wrong.

    Times are numbers, datetimes or text such as "2024-01-01T12:00:00"; all with a zone, or all without one. Spans are
    numbers, timedeltas or text such as "1h". Beside datetimes, and beside spans with a unit, numbers are seconds.

    >>> online = rs.Online(["hit_rate@2", "rr"], window=3600, horizon=60)
    >>> online.served("l1", ["a", "b", "c"], time=0)
    >>> online.outcome("l1", "b", time=5)
    >>> online.served("l2", {"b": 0.1, "c": 0.7, "a": 0.4}, time=10)
    >>> online.advance(70)
    >>> online.compute()["rr"].mean
    0.25

    An item's grade is the highest of its outcomes. An item that was not in the list counts as one that was missed. A
    list without outcomes counts too: as `undefined=` says where nothing could be earned, 0 by default.

    half_life: a list weighs half as much after that time, and a quarter after twice that time; the window is then 40
    half-lives, unless it is given. by: the names of words that are told of each served list, as in `by="country"` and
    `served(..., country="FI")`; the result is then there by that word's values too, and for `by=["variant", "country"]`
    by pairs of them. confidence: of the interval, which is Student's, or Wilson's where each list has 0 or 1, for a
    mean of lists that do not depend on each other.

    Memory: the items and outcomes of the last horizon's lists, the last horizon's outcomes that wait for their list,
    and of each settled list, while it is in the window, its id, time and segment and 17 bytes a metric. What comes too
    late, and an outcome whose list never comes, is not used; `account` counts it.

    Metrics of what was shown go with catalogue= and history=, as in `rs.evaluate`: coverage and Gini of the last hour's
    lists, say. Those that count how often items are shown in all lists keep each list's first k rows while it is in the
    window, and count them when asked; their interval is from leaving out a twentieth of the lists at a time. They go
    without a half-life.

    >>> online = rs.Online("coverage@2", window="1h", catalogue=["a", "b", "c", "d"])
    >>> online.served("l1", ["a", "b", "c"], time=0)
    >>> online.served("l2", ["d", "b", "a"], time=3000)
    >>> online.compute()["coverage@2"].mean
    0.75
    >>> online.advance(3700)
    >>> online.compute()["coverage@2"].mean
    0.5

    Several threads may tell it of events. Servers that each have an Online of their own can `merge` them: an outcome
    finds its list wherever that was served.
    """

    _what = "Online"

    def __init__(
        self,
        metrics: Metrics,
        *,
        window: Span | None = None,
        horizon: Span | None = None,
        half_life: Span | None = None,
        ahead: Span | None = None,
        by: str | Sequence[str] | None = None,
        confidence: float = 0.95,
        convention: str | Convention = "rankstone",
        catalogue: Stock | int | None = None,
        history: Truth | None = None,
        **choices: Value,
    ) -> None:
        self._begin(
            metrics, convention, choices, catalogue=catalogue, history=history, window=window, horizon=horizon,
            half_life=half_life, ahead=ahead, by=by, confidence=confidence,
        )  # fmt: skip
        check_supported(self.plans, SERVED if half_life is None else replace(SERVED, all_lists=_WEIGHED))
        self._plans = tuple(map(by_query, self.plans))
        self._shown = depths_of(self._plans)  # alignments of metrics that read what the lists show
        self._kept = tuple(dict.fromkeys(plan.align for plan in self._plans if plan.of_all_lists))
        self._finish = [
            None if plan.of_all_lists else finish_of(plan, items_of(self._beside) if self._shown else None)
            for plan in self._plans
        ]
        self.half_life = None if half_life is None else read_span("half_life", half_life)
        endless = math.inf if self.half_life is None else _HALF_LIVES * self.half_life
        self.window = endless if window is None else read_span("window", window, endless=True)
        self._waits = horizon is not None
        self.horizon = self.window if horizon is None else read_span("horizon", horizon)
        empties = self.window + (self.horizon if self._waits else 0)  # so far ahead, nothing would be left
        self.ahead = empties if ahead is None else read_span("ahead", ahead, endless=True)
        self._with_unit = any(map(has_unit, (window, horizon, half_life, ahead)))
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r}; give a share between 0 and 1, such as 0.95")
        self.confidence = confidence
        self.by = by if by is None or isinstance(by, str) else list(by)
        self._words = words_of(by)
        named = self._convention.with_choices(**self._choices)
        self._definitions = {plan.label: definition_of(plan, named) for plan in self.plans}
        self._lock = RLock()
        self.reset()

    @locked
    def reset(self) -> None:
        """Forget all lists and outcomes, and the time."""
        self._clock = -math.inf
        self._kind: str | None = None  # of time; all events have the same
        self._scored = False  # has any list come with scores
        self._lists: dict[Any, ServedList] = {}  # not yet measured
        self._due: list[Any] = []  # those of them that wait no longer
        self._next: list[tuple[float, int, Any]] = []  # a heap of the others, by time
        self._early: dict[Any, list[tuple[float, Any, float]]] = {}  # outcomes that wait for their list
        self._early_next: list[tuple[float, int, Any]] = []
        self._settled: list[Partial] = []  # by time
        self._settled_ids: set[Any] = set()
        self._counts: Counter[str] = Counter()
        self._serial = 0  # heaps compare it before they would compare ids
        self._items: Known | None = None  # side information

    # -- events ----------------------------------------------------------------------------------------------

    @locked
    def served(
        self,
        list_id: Hashable,
        items: Iterable[Hashable] | Mapping[Hashable, float] | Iterable[tuple[Hashable, float]],
        time: Time,
        **words: Hashable,
    ) -> None:
        """A list was shown: its items, best first, or `{item: score}`, or pairs of an item and its score."""
        if list_id in self._lists or list_id in self._settled_ids:
            raise ValueError(f"list {list_id!r} was served before")
        try:
            shown, scores = listed_items(items)
            segment = self._segment(words)
        except (TypeError, ValueError) as error:
            raise type(error)(f"list {list_id!r}: {error}") from None
        once = scores is not None or any(plan.choices["duplicates"] == "error" for plan in self._plans)
        if once and len(set(shown)) < len(shown):
            twice = next(item for item, times in Counter(shown).items() if times > 1)
            raise ValueError(f"list {list_id!r}: item {twice!r} appears twice")
        at = self._told(time)
        if -math.inf < self._clock < at - self.ahead:
            raise ValueError(
                f"list {list_id!r} is served at {time!r}, {at - self._clock:,.15g} past the clock, which is "
                f"{written(self._clock, self._kind)}; a list may be {self.ahead:,.15g} ahead. If the time is right, "
                "say advance(time) before it, or make the Online with a larger ahead="
            )
        self._go_on(at)
        if at <= self._end:
            self._counts["late lists"] += 1
            return
        self._scored |= scores is not None
        self._lists[list_id] = found = ServedList(at, shown, segment, {}, scores)
        self._push(self._next, at, list_id)
        for outcome in self._early.pop(list_id, ()):
            self._join(found, *outcome)

    @locked
    def outcome(self, list_id: Hashable, item: Hashable, time: Time, grade: float = 1.0) -> None:
        """Somebody did something with an item: clicked it (grade 1), say, or bought it (a higher grade)."""
        try:
            worth = finite("grade", grade)
            if is_pair(item):
                raise ValueError("this reads as an item with its score; give the item alone")
        except ValueError as error:
            raise ValueError(f"list {list_id!r}, item {item!r}: {error}") from None
        hash((list_id, item))
        at = self._told(time)
        found = self._lists.get(list_id)
        if found is not None and found.time > self._end:
            self._join(found, at, item, worth)
        elif found is not None or list_id in self._settled_ids or at <= self._end:
            self._counts["late outcomes"] += 1
        elif -math.inf < self._clock < at - self.horizon - self.ahead:
            self._counts["outcomes far ahead"] += 1  # it could not have a list yet, nor one that comes next
        else:
            self._early.setdefault(list_id, []).append((at, item, worth))
            self._push(self._early_next, at, list_id)

    @locked
    def advance(self, time: Time) -> None:
        """Move the clock on, however far, where no list is served that would do it."""
        self._go_on(self._told(time))

    @locked
    def rewind(self, time: Time) -> None:
        """Set the clock back, after a time that was wrong.

        Lists that were served later, or are settled but would not be by then, are taken back.

        >>> online = rs.Online("rr", window="1h", horizon="1min")
        >>> online.advance(9_999_999)
        >>> online.rewind(1_000)
        >>> online.served("l1", ["a", "b"], time=1_010)
        """
        at = self._told(time)
        if at > self._clock:
            raise ValueError(
                f"time {time!r} is after the clock, which is {written(self._clock, self._kind)}; advance()"
            )
        self._clock = at
        lists = {list_id: found for list_id, found in self._lists.items() if found.time <= at}
        whole = self._whole()
        kept = int(np.searchsorted(whole.labels["times"], self._end, side="right"))
        self._counts["lists taken back"] += len(self._lists) - len(lists) + len(whole) - kept
        self._settled, self._due = [whole.only(np.arange(kept))] if kept else [], []
        self._settled_ids = set(self._settled[0].ids or ()) if kept else set()
        early = [(list_id, *rest) for list_id, waiting in self._early.items() for rest in waiting if rest[0] <= at]
        self._counts["outcomes without a list"] += sum(map(len, self._early.values())) - len(early)
        self._wait(lists, early)
        self._go_on(at)

    def _wait(self, lists: dict[Any, ServedList], early: Iterable[tuple[Any, float, Any, float]]) -> None:
        """Begin with these lists and outcomes."""
        self._lists, self._next, self._early, self._early_next = lists, [], {}, []
        for list_id, found in lists.items():
            self._push(self._next, found.time, list_id)
        for list_id, *outcome in early:
            self._early.setdefault(list_id, []).append(tuple(outcome))
            self._push(self._early_next, outcome[0], list_id)

    def _told(self, time: Time) -> float:
        """A time in seconds, if it is like those before it."""
        at, kind = read_time(time)
        if self._kind not in (None, kind):
            raise ValueError(f"time {time!r}: the times before it were {self._kind}, not {kind}; give all in one way")
        if kind == NUMBERS and self._with_unit and at > _FAR:
            raise ValueError(
                f"time {time!r} would be after the year 5000: beside a window, horizon or half_life in hours, say, "
                "numbers are seconds; divide milliseconds by 1000"
            )
        self._kind = kind
        return at

    def _segment(self, words: Mapping[str, Hashable]) -> Any:
        """The values of the words that are told of a list."""
        if words.keys() != set(self._words):
            wanted = f"{'=, '.join(self._words)}=, and no other word" if self._words else "no other word"
            raise TypeError(f"it comes with {', '.join(words) or 'nothing'}; it takes {wanted}")
        values = tuple(words[word] for word in self._words)
        hash(values)
        return values if isinstance(self.by, list) else values[0] if values else None

    @property
    def _end(self) -> float:
        """Lists up to this time are settled."""
        return self._clock - self.horizon

    def _join(self, found: ServedList, time: float, item: Any, grade: float) -> None:
        if time < found.time:
            self._counts["outcomes before their list"] += 1
            return
        if time - self.horizon >= found.time:  # whether it came in time or not
            self._counts["late outcomes"] += 1
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
            self._settled_ids.update(list_id for list_id, _ in inside)
        self._counts["lists"] += len(self._due)
        for list_id in self._due:
            del self._lists[list_id]
        self._due = []
        self._forget(start)

    def _forget(self, start: float) -> None:
        """Forget the lists that were served up to a time."""
        while self._settled and self._settled[0].labels["times"][0] <= start:
            first = self._settled.pop(0)
            left = int(np.searchsorted(first.labels["times"], start, side="right"))
            self._settled_ids.difference_update((first.ids or ())[:left])
            if left < len(first):
                self._settled.insert(0, first.only(np.arange(left, len(first))))

    def _measured(self, lists: Sequence[tuple[Any, ServedList]]) -> Partial:
        """Lists by time: what each adds to the means, and what is read of them when all are known."""
        source = Dicts({name: one.outcomes for name, one in lists}, {name: one.shown for name, one in lists})
        if self._shown:
            self._items = items_of(self._beside, self._items)
        ids = [name for name, _ in lists]
        try:  # a list is no query that a history could have
            partial = replace(partial_of(source, self._plans, threads=1), ids=None).with_terms(self._plans, self._items)
        except QueryError as error:
            raise ValueError(f"{error.problem} in list {ids[error.number]!r}") from None
        labels = {
            "times": np.array([one.time for _, one in lists], dtype=np.float64),
            "segments": [one.segment for _, one in lists],
        }
        return replace(partial.of(self._kept), ids=ids, labels=labels)

    @locked
    def compute(self) -> Window:
        """Each metric over the window, with its interval."""
        self._settle()
        whole, end = (self._whole(), self._end) if self._waits else (self._as_they_stand(), self._clock)
        weights = np.ones(len(whole))
        if self.half_life is not None:
            weights = np.exp2((whole.labels["times"] - end) / self.half_life)
        segments: dict[Any, list[int]] = {}
        if self._words:
            for at, segment in enumerate(whole.labels["segments"]):
                segments.setdefault(segment, []).append(at)
        aligned = replace(whole, ids=None).aligned(items_of(self._beside)) if self._kept else {}
        assert whole.terms is not None

        def estimates(inside: Any) -> dict[str, Estimate]:
            rows = zip(self._plans, self._finish, *(whole.terms or ()), strict=True)
            return {
                plan.label: estimate_of_all(plan, aligned[plan.align].shown, inside, self.confidence)
                if plan.of_all_lists
                else estimate(
                    plan, finish, top[inside], bottom[inside], weights[inside], counted[inside], self.confidence
                )
                for plan, finish, top, bottom, counted in rows
            }

        by = {segment: estimates(segments[segment]) for segment in sorted(segments, key=str)}
        return Window(
            estimates(slice(None)), by, self.by, end - self.window, end, self._kind, self.confidence, self.account,
            self.definitions,
        )  # fmt: skip

    def _as_they_stand(self) -> Partial:
        """All lists of the window, whatever may still come."""
        lists = sorted(self._lists.items(), key=lambda pair: pair[1].time)
        return self._measured(lists) if lists else self._whole()

    def _whole(self) -> Partial:
        if not self._settled:
            return self._measured([])
        self._settled = [concat(self._settled)]
        return self._settled[0]

    @property
    @locked
    def account(self) -> dict[str, int]:
        """How many lists were settled and outcomes used, how many came too late, how many wait."""
        counts = {name: self._counts[name] for name in (*_USED, *UNUSED)}
        counts["lists"] += len(self._due)
        counts["lists that wait"] = len(self._lists) - len(self._due)
        counts["outcomes that wait"] = sum(map(len, self._early.values()))
        return counts

    @property
    def definitions(self) -> dict[str, Definition]:
        """What each number means."""
        unheard = ("missing", "extra") if self._scored else ("ties", "missing", "extra")  # of served lists
        return {
            plan.label: replace(definition, edge_cases=tuple(
                words for words in definition.edge_cases
                if words not in [CHOICES[name].say(name, plan.choices[name]) for name in unheard]
            ))
            for plan, definition in zip(self._plans, self._definitions.values(), strict=True)
        }  # fmt: skip

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
        if None not in (self._kind, more._kind) and self._kind != more._kind:
            raise ValueError(
                f"the times of one were {self._kind}, those of the other {more._kind}; give all in one way"
            )
        if math.isfinite(apart := abs(self._clock - more._clock)) and apart > self.ahead:
            raise ValueError(
                f"the clocks are {apart:,.15g} apart, and the lists of the one behind would be forgotten; if that is "
                "right, say advance(time) to it before"
            )
        self._settle()
        for list_id in (self._lists.keys() | self._settled_ids) & (more._lists.keys() | more._settled_ids):
            raise ValueError(f"list {list_id!r} is in both")
        self._settled_ids |= more._settled_ids
        self._counts += more._counts
        self._kind, self._scored = self._kind or more._kind, self._scored or more._scored
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
            elif list_id in self._settled_ids:
                self._counts["late outcomes"] += len(self._early.pop(list_id))
        self._settled += more._settled
        self._go_on(more._clock)
        self._settle()
        if self._settled:
            whole = self._whole()
            self._settled = [whole.only(np.argsort(whole.labels["times"], kind="stable"))]
            self._forget(self._end - self.window)

    @locked
    def state_dict(self) -> dict[str, Any]:
        """All it knows, in lists, strings and numbers; fit for JSON if the ids, items and segments are."""
        self._settle()
        whole = self._whole()
        return {
            "settings": self._settings(),
            "clock": None if self._clock == -math.inf else self._clock,
            "times": self._kind,
            "scored": self._scored,
            "lists": [
                [list_id, *served[:3], list(map(list, served.outcomes.items())), served.scores]
                for list_id, served in self._lists.items()
            ],
            "early": [[list_id, *outcome] for list_id, waiting in self._early.items() for outcome in waiting],
            "settled": _plain(whole.state()),
            "counts": dict(self._counts),
        }

    def _load(self, state: State) -> None:
        clock = -math.inf if state["clock"] is None else finite("time", state["clock"])
        kind, scored = state["times"], saved.flag(state, "scored")
        lists = {list_id: ServedList.read(self._read_segment, *row) for list_id, *row in saved.items(state, "lists")}
        early = [
            (list_id, finite("time", at), item, finite("grade", grade))
            for list_id, at, item, grade in saved.items(state, "early")
        ]
        hash(tuple((list_id, item) for list_id, _, item, _ in early))  # they will be looked up
        settled = self._read_settled(state["settled"])
        counts = Counter({name: saved.whole(state["counts"], name) for name in state["counts"]})
        known = set(settled.ids or ())
        if len(known) < len(settled) or known & lists.keys() or len(lists) < len(state["lists"]):
            raise ValueError("a list is there twice")
        if counts.keys() - {*_USED, *UNUSED} or any(served.time > clock for served in lists.values()):
            raise ValueError("its counts and times do not go with its clock")
        if kind not in KINDS and not (kind is None and clock == -math.inf and not early):
            raise ValueError(f"times is {kind!r}")
        with self._lock:
            self.reset()
            self._clock, self._kind, self._scored, self._settled_ids, self._counts = clock, kind, scored, known, counts
            self._settled = [settled] if known else []
            self._wait(lists, early)

    def _read_settled(self, state: State) -> Partial:
        """Lists from a state; version 0.1.0 had their rows one level deeper."""
        kept = state.get("kept", {})
        whole = Partial.from_state({**kept, **state}, self._kept, self._kept, metrics=len(self._plans))
        times, segments = saved.floats(state, "times", len(whole)), saved.items(state, "segments")
        if len(segments) != len(whole) or not np.isfinite(times).all() or (np.diff(times) < 0).any():
            raise ValueError("times, ids and segments do not go together")
        return replace(whole, labels={"times": times, "segments": list(map(self._read_segment, segments))})

    def _read_segment(self, segment: Any) -> Any:
        """A segment from a state; JSON has made a list of several words."""
        if not isinstance(self.by, list):
            hash(segment)
            return segment
        if not isinstance(segment, (list, tuple)) or len(segment) != len(self.by):
            raise ValueError(f"the segment {segment!r} has not the words {', '.join(self.by)}")
        return tuple(segment)

    def _settings(self) -> dict[str, Any]:
        return {
            **settings_of(self._plans, self._beside),
            "window": None if self.window == math.inf else self.window,
            "horizon": self.horizon if self._waits else None,
            "half_life": self.half_life,
            "by": self.by,
        }

    def __repr__(self) -> str:
        return f"Online({', '.join(plan.label for plan in self._plans)}; {self.account['lists']:,} lists settled)"


def _plain(value: Any) -> Any:
    """Arrays as lists, however deep they are."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):  # of states, or of ids, which stay as they are
        return [_plain(one) if isinstance(one, Mapping) else one for one in value]
    return value
