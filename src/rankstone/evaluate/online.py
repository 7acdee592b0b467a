"""`Online`: metrics of lists as they are served, from outcomes that come later."""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Real
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.align import state as saved
from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.state import State, locked, reading
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Feeding, Plan, alignments, make_plans, refuse_unknown
from rankstone.data.dicts import Dicts
from rankstone.data.source import Align, Source
from rankstone.errors import QueryError
from rankstone.evaluate.accumulate import Piece, by_query, joined, known_of
from rankstone.evaluate.beside import given_beside, movable_beside
from rankstone.evaluate.means import LEFT_OUT, ExactSum, Sums, finish_of, mean_from, shares_of, sums_of
from rankstone.evaluate.pipeline import depths_of, firsts_of
from rankstone.evaluate.programs import measure
from rankstone.evaluate.saved import Saved, made_of, refuse_other, settings_of
from rankstone.evaluate.timeparse import KINDS, NUMBERS, Span, Time, finite, has_unit, read_span, read_time, written
from rankstone.program.ranking import Finish
from rankstone.results.answer import Page
from rankstone.results.definition import ByMetric, Definition, definition_of, summarize

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.data.side_info import Known
    from rankstone.typing import Keywords, Metrics, Stock, Truth

_TOGETHER = 1024  # lists that are measured at a time
_BY_LIST = "lists are measured as they are served"
SERVED = Feeding(
    all_queries=_BY_LIST,
    one_list=_BY_LIST,
    ratings=_BY_LIST,
    notes="outcomes are grades alone",
    other_means="the interval is that of a ratio of sums",
)
_WEIGHED = "half_life= weighs lists, and a count of items has no weights"
_HALF_LIVES = 40  # after which a list weighs 1e-12
_USED = ("lists", "outcomes")
_UNUSED = (
    "late lists", "late outcomes", "outcomes before their list", "outcomes without a list", "outcomes far ahead",
    "lists taken back",
)  # fmt: skip
_NUMBERS = ("metric", "mean", "low", "high", "lists")  # the columns of a Window, after those of its words
_FAR = 1e11  # seconds: the year 5138


class Online(Saved):
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
        **choices: Unpack[Keywords],
    ) -> None:
        beside, made = given_beside(catalogue, history, None, metrics, choices)
        self._beside = movable_beside(beside)
        asked = make_plans(metrics, convention, made)
        named = find_convention(convention).with_choices(**made)
        refuse_unknown(asked, SERVED if half_life is None else replace(SERVED, all_lists=_WEIGHED))
        self._plans = tuple(map(by_query, asked))
        self._shown = depths_of(self._plans)  # alignments of metrics that read what the lists show
        self._kept = tuple(dict.fromkeys(plan.align for plan in self._plans if plan.of_all_lists))
        self._finish = [
            None if plan.of_all_lists else finish_of(plan, known_of(self._beside) if self._shown else None)
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
        self._words = _words(by)
        self._definitions = {plan.label: definition_of(plan, named) for plan in asked}
        self._made = {
            "metrics": [str(plan.metric) for plan in asked], "window": window, "horizon": horizon,
            "half_life": half_life, "ahead": ahead, "by": by, "confidence": confidence, "convention": convention,
            **{name: found for name, found in made_of(self._beside, None, catalogue).items() if found is not None},
            **choices,
        }  # fmt: skip
        self._lock = RLock()
        self.reset()

    @locked
    def reset(self) -> None:
        """Forget all lists and outcomes, and the time."""
        self._clock = -math.inf
        self._kind: str | None = None  # of time; all events have the same
        self._scored = False  # has any list come with scores
        self._lists: dict[Any, _List] = {}  # not yet measured
        self._due: list[Any] = []  # those of them that wait no longer
        self._next: list[tuple[float, int, Any]] = []  # a heap of the others, by time
        self._early: dict[Any, list[tuple[float, Any, float]]] = {}  # outcomes that wait for their list
        self._early_next: list[tuple[float, int, Any]] = []
        self._settled: list[_Settled] = []
        self._known: set[Any] = set()  # ids of the settled lists
        self._counts: Counter[str] = Counter()
        self._serial = 0  # heaps compare it before they would compare ids
        self._known_items: Known | None = None

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
        if list_id in self._lists or list_id in self._known:
            raise ValueError(f"list {list_id!r} was served before")
        try:
            shown, scores = _items(items)
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
        self._lists[list_id] = found = _List(at, shown, segment, {}, scores)
        self._push(self._next, at, list_id)
        for outcome in self._early.pop(list_id, ()):
            self._join(found, *outcome)

    @locked
    def outcome(self, list_id: Hashable, item: Hashable, time: Time, grade: float = 1.0) -> None:
        """Somebody did something with an item: clicked it (grade 1), say, or bought it (a higher grade)."""
        try:
            worth = finite("grade", grade)
            if _is_pair(item):
                raise ValueError("this reads as an item with its score; give the item alone")
        except ValueError as error:
            raise ValueError(f"list {list_id!r}, item {item!r}: {error}") from None
        hash((list_id, item))
        at = self._told(time)
        found = self._lists.get(list_id)
        if found is not None and found.time > self._end:
            self._join(found, at, item, worth)
        elif found is not None or list_id in self._known or at <= self._end:
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
        kept = int(np.searchsorted(whole.times, self._end, side="right"))
        self._counts["lists taken back"] += len(self._lists) - len(lists) + len(whole.ids) - kept
        self._settled, self._due = [whole.only(range(kept))] if kept else [], []
        self._known = set(whole.ids[:kept])
        early = [(list_id, *rest) for list_id, waiting in self._early.items() for rest in waiting if rest[0] <= at]
        self._counts["outcomes without a list"] += sum(map(len, self._early.values())) - len(early)
        self._wait(lists, early)
        self._go_on(at)

    def _wait(self, lists: dict[Any, _List], early: Iterable[tuple[Any, float, Any, float]]) -> None:
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

    def _join(self, found: _List, time: float, item: Any, grade: float) -> None:
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
            {at: served.shown for at, served in enumerate(lists)},
        )
        tops, bottoms = np.zeros((2, len(self._plans), len(due)))
        every = np.ones(tops.shape, dtype=bool)
        piece = self._piece(source)
        aligned = piece.aligned(self._items()) if self._shown else {}
        for row, plan in enumerate(self._plans):
            if plan.metric.declaration.reads == "shown":
                form: Any = aligned[plan.align].shown
            else:
                form = source.align(plan.alignment).ranked
            try:
                found = measure(plan, form)
            except QueryError as error:
                raise ValueError(f"{plan.label}: {error.problem} in list {ids[error.number]!r}") from None
            if not plan.of_all_lists:  # which is measured when all lists are known; here, for its errors
                tops[row], bottoms[row], every[row] = shares_of(plan, found)
        times, segments = np.array([served.time for served in lists]), [served.segment for served in lists]
        return _Settled(times, ids, segments, tops, bottoms, every, piece.of(self._kept))

    def _piece(self, source: Source) -> Piece:
        """What lists show, and where the judged items are in them, for metrics that read both."""
        wanted = {align: how for align, how in alignments(self._plans, 1).items() if align in self._shown}
        ranked = {align: source.align(how).ranked for align, how in wanted.items()}
        return Piece(ranked, None, None, [], 0, firsts_of(source, self._plans, 1))

    def _items(self) -> Known:
        """What is known of items."""
        self._known_items = known_of(self._beside, self._known_items)
        return self._known_items

    @locked
    def compute(self) -> Window:
        """Each metric over the window, with its interval."""
        self._settle()
        whole, end = (self._whole(), self._end) if self._waits else (self._as_they_stand(), self._clock)
        weights = np.ones(len(whole.times))
        if self.half_life is not None:
            weights = np.exp2((whole.times - end) / self.half_life)
        segments: dict[Any, list[int]] = {}
        if self._words:
            for at, segment in enumerate(whole.segments):
                segments.setdefault(segment, []).append(at)

        aligned = whole.kept.aligned(known_of(self._beside)) if self._kept else {}

        def estimates(inside: Any) -> dict[str, Estimate]:
            rows = zip(self._plans, self._finish, whole.tops, whole.bottoms, whole.counted, strict=True)
            return {
                plan.label: _of_all(plan, aligned[plan.align].shown, inside, self.confidence)
                if plan.of_all_lists
                else _estimate(
                    plan, finish, top[inside], bottom[inside], weights[inside], counted[inside], self.confidence
                )
                for plan, finish, top, bottom, counted in rows
            }

        by = {segment: estimates(segments[segment]) for segment in sorted(segments, key=str)}
        return Window(
            estimates(slice(None)), by, self.by, end - self.window, end, self._kind, self.confidence, self.account,
            self.definitions,
        )  # fmt: skip

    def _as_they_stand(self) -> _Settled:
        """All lists of the window, whatever may still come."""
        lists = sorted(self._lists.items(), key=lambda pair: pair[1].time)
        return self._measured(lists) if lists else self._whole()

    def _whole(self) -> _Settled:
        if not self._settled:
            nothing = np.zeros((len(self._plans), 0))
            kept = self._piece(Dicts({}, {})).of(self._kept)
            return _Settled(np.zeros(0), [], [], nothing, nothing, nothing.astype(bool), kept)
        self._settled = [_Settled.joined(self._settled)]
        return self._settled[0]

    @property
    @locked
    def account(self) -> dict[str, int]:
        """How many lists were settled and outcomes used, how many came too late, how many wait."""
        counts = {name: self._counts[name] for name in (*_USED, *_UNUSED)}
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
        for list_id in (self._lists.keys() | self._known) & (more._lists.keys() | more._known):
            raise ValueError(f"list {list_id!r} is in both")
        self._known |= more._known
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
            "times": self._kind,
            "scored": self._scored,
            "lists": [
                [list_id, *served[:3], list(map(list, served.outcomes.items())), served.scores]
                for list_id, served in self._lists.items()
            ],
            "early": [[list_id, *outcome] for list_id, waiting in self._early.items() for outcome in waiting],
            "settled": _plain({**whole._asdict(), "kept": whole.kept.state()}),
            "counts": dict(self._counts),
        }

    def load_state_dict(self, state: State) -> None:
        """Go on from what `state_dict` gave. Metrics, choices, window, horizon, half_life and by must be the same."""
        refuse_other(self._settings(), state, "Online")
        with reading("Online"):
            clock = -math.inf if state["clock"] is None else finite("time", state["clock"])
            kind, scored = state["times"], saved.flag(state, "scored")
            lists = {list_id: _List.read(self._read_segment, *row) for list_id, *row in saved.items(state, "lists")}
            early = [
                (list_id, finite("time", at), item, finite("grade", grade))
                for list_id, at, item, grade in saved.items(state, "early")
            ]
            hash(tuple((list_id, item) for list_id, _, item, _ in early))  # they will be looked up
            settled = _Settled.read(state["settled"], len(self._plans), self._read_segment, self._kept)
            counts = Counter({name: saved.whole(state["counts"], name) for name in state["counts"]})
            known = set(settled.ids)
            if len(known) < len(settled.ids) or known & lists.keys() or len(lists) < len(state["lists"]):
                raise ValueError("a list is there twice")
            if counts.keys() - {*_USED, *_UNUSED} or any(served.time > clock for served in lists.values()):
                raise ValueError("its counts and times do not go with its clock")
            if kind not in KINDS and not (kind is None and clock == -math.inf and not early):
                raise ValueError(f"times is {kind!r}")
        with self._lock:
            self.reset()
            self._clock, self._kind, self._scored, self._known, self._counts = clock, kind, scored, known, counts
            self._settled = [settled] if known else []
            self._wait(lists, early)

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


class Estimate(NamedTuple):
    """A mean and its interval, which is NaN for less than two lists."""

    mean: float
    low: float
    high: float
    lists: int  # that entered the mean


class Window(ByMetric[Estimate], Page):
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
        self.by, self.words, self.start, self.end = by, _words(named), start, end
        self.confidence, self.account = confidence, account
        self._named, self._kind = named, kind
        self._left = "<" * (len(self.words) + 1)

    @property
    def _title(self) -> str:
        after = "" if self.start == -math.inf else f" after {written(self.start, self._kind)}"
        upto = "" if self.end == -math.inf else f" up to {written(self.end, self._kind)}"
        return f"lists served{after}{' and' * bool(after)}{upto}; low and high: {100 * self.confidence:g} % intervals"

    def _table(self) -> dict[str, list[Any]]:
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
            "estimates": self._table(),
            "account": dict(self.account),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
        }

    def to_arrow(self) -> Any:
        """The table as a pyarrow table."""
        import pyarrow

        return pyarrow.table(self._table())

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        import pandas

        return pandas.DataFrame(self._table())

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        columns = self._table()
        for word in self.words:
            columns[word] = ["all" if value is None else str(value) for value in columns[word]]
        for name in ("mean", "low", "high"):
            columns[name] = [f"{value:.4f}" for value in columns[name]]
        columns["lists"] = [f"{lists:,}" for lists in columns["lists"]]
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]

    def remarks(self) -> list[str]:
        """What was not used, and what the numbers mean."""
        unused = [f"{name}: {self.account[name]:,}" for name in _UNUSED if self.account[name]]
        return [*([f"not used: {'; '.join(unused)}"] if unused else []), *summarize([*self.definitions.values()])]


# -- inside --------------------------------------------------------------------------------------------------


class _List(NamedTuple):
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
    def read(cls, segment_of: Callable[[Any], Any], *row: Any) -> _List:
        """A list from a state."""
        time, items, segment, outcomes, scores = row
        shown = saved.items({"items": items}, "items")
        if scores is not None:
            scores = saved.floats({"scores": scores}, "scores", len(set(shown))).tolist()
        grades = {item: finite("grade", grade) for item, grade in outcomes}
        return cls(finite("time", time), shown, segment_of(segment), grades, scores)


class _Settled(NamedTuple):
    """Lists that are measured, by time: what each adds to the sums of each metric's mean, a row a metric.

    kept: what is read of them when all are known, for metrics of all lists.
    """

    times: Floats
    ids: Sequence[Any]
    segments: Sequence[Any]
    tops: Floats
    bottoms: Floats
    counted: Bools
    kept: Piece

    def only(self, at: Sequence[int]) -> _Settled:
        """Some of the lists."""
        rows = np.asarray(at, dtype=np.int64)
        ids, segments = ([column[row] for row in at] for column in (self.ids, self.segments))
        sums = self.tops[:, rows], self.bottoms[:, rows]
        return _Settled(self.times[rows], ids, segments, *sums, self.counted[:, rows], self.kept.only(rows))

    def by_time(self) -> _Settled:
        """The same lists, the first that was served first."""
        return self.only(np.argsort(self.times, kind="stable").tolist())

    @classmethod
    def read(cls, state: State, metrics: int, segment_of: Callable[[Any], Any], shown: Sequence[Align]) -> _Settled:
        """Lists from a state."""
        ids, segments = saved.items(state, "ids"), list(map(segment_of, saved.items(state, "segments")))
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
        kept = Piece.read(state["kept"], shown, shown, weighted=False)
        if shown and len(kept) != len(ids):
            raise ValueError("kept is not of the same lists")
        return cls(times, ids, segments, tops, bottoms, counted.reshape(metrics, -1), kept)

    @classmethod
    def joined(cls, parts: Sequence[_Settled]) -> _Settled:
        return cls(
            np.concatenate([part.times for part in parts]),
            [list_id for part in parts for list_id in part.ids],
            [segment for part in parts for segment in part.segments],
            np.concatenate([part.tops for part in parts], axis=1),
            np.concatenate([part.bottoms for part in parts], axis=1),
            np.concatenate([part.counted for part in parts], axis=1),
            joined([part.kept for part in parts]),
        )


def _of_all(plan: Plan, shown: Any, inside: Any, confidence: float) -> Estimate:
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


def _estimate(
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


def _words(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the words that are told of each list."""
    words = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    taken = {"list_id", "items", "time", "self", *_NUMBERS} & set(words)
    if taken or len(set(words)) < len(words) or (by is not None and not words):
        raise ValueError(f"by={by!r}; name words that are told of each list, each once" + "".join(
            f"; {word!r} means something else there" for word in sorted(taken)
        ))  # fmt: skip
    return words


def _is_pair(item: object) -> bool:
    """Is it an item with its score."""
    return (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and isinstance(item[1], (Real, np.number))
        and not isinstance(item[1], bool)
    )


def _items(items: Any) -> tuple[list[Any], list[float] | None]:
    """The items of a list, and their scores if there are any."""
    if isinstance(items, (str, bytes, Set)) or not isinstance(items, Iterable):
        raise TypeError(f"its items are {items!r}; give them in a list, best first, or as {{item: score}}")
    if isinstance(items, Mapping):
        return list(items), list(map(_score, items, items.values()))
    shown = items.tolist() if isinstance(items, np.ndarray) else list(items)
    pairs = [_is_pair(item) for item in shown]
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


def _plain(value: Any) -> Any:
    """Arrays as lists, however deep they are."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):  # of states, or of ids, which stay as they are
        return [_plain(one) if isinstance(one, Mapping) else one for one in value]
    return value
