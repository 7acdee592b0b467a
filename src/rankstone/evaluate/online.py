"""`Online`: metrics of lists as they are served, from feedback that comes later."""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from rankstone.align import state as saved
from rankstone.align.state import State, locked
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Capabilities, check_supported
from rankstone.data.dicts import Dicts
from rankstone.errors import InputError, InputTypeError, MergeWarning, QueryError
from rankstone.evaluate.means import finish_of
from rankstone.evaluate.partial import Partial, Resumable, by_query, concat, items_of, partial_of, settings_of
from rankstone.evaluate.pipeline import depths_of
from rankstone.evaluate.windows import (
    KINDS,
    NUMBERS,
    UNUSED,
    Estimate,
    Impression,
    Span,
    Time,
    WindowLists,
    WindowResult,
    check_hashable,
    estimate,
    estimate_of_all,
    finite,
    has_unit,
    is_pair,
    listed_items,
    read_span,
    read_time,
    segment_keys,
    written,
)
from rankstone.results.definition import Definition, definition_of
from rankstone.statistics.anytime import tuning_of

if TYPE_CHECKING:
    from rankstone.align.alignment import Ints
    from rankstone.data.side_info import ItemIndex
    from rankstone.data.user_log import UserLog
    from rankstone.metrics.registry import Value
    from rankstone.typing import CatalogueLike, Metrics, Truth

_BATCH = 1024  # lists that are evaluated at a time
_BY_LIST = "lists are evaluated one by one as they are served"
SERVED = Capabilities(
    all_queries=_BY_LIST,
    one_list=_BY_LIST,
    ratings=_BY_LIST,
    annotations="feedback has grades only",
    other_means="the interval is that of a ratio of sums",
)
_WEIGHTED = "half_life= weights lists, and counts of items have no weights"
_HALF_LIVES = 40  # a list weighs 1e-12 then
_USED = ("lists", "outcomes")
_LOST = "outcomes merged too late"
TUNING = 5000.0  # lists at which intervals that hold at every look are narrowest, as in GrowthBook
_FAR = 1e11  # seconds: the year 5138


class Online(Resumable):
    """Evaluates lists as they are served, from the feedback that users give later.

    `log_impression` logs a served list, `log_feedback` a click or a purchase in it, in any order. A list collects
    feedback until the clock is `horizon` past its time; it is then final. `compute` gives each metric, with a
    confidence interval, over the final lists of the last `window`: those served after `end - window` and up to `end`,
    where `end` is the clock minus the horizon. Without a horizon, the lists of the last window count with the feedback
    logged so far. Without a window, all lists count.

    The clock is the latest time of a list; `advance_to` moves it when no list is served. Feedback does not move it,
    since the clocks of clients may be wrong. `reset_clock` sets back a clock that was wrong.

    Times are numbers, datetimes or text such as "2024-01-01T12:00:00"; all with a time zone, or all without. Durations
    are numbers, timedeltas or text such as "1h". Together with datetimes, or with durations that have a unit, numbers
    are seconds.

    An item's grade is the highest of its feedback. Feedback on an item that was not in the list counts as a relevant
    item that the list missed. A list without feedback counts too, with the value of `undefined=`, 0 by default.

    Intervals are Student's, or Wilson's where each list has the value 0 or 1, for the mean of independent lists. They
    are for one look; with `anytime=True` they may be watched.

    Beyond-accuracy metrics take catalogue= and history=, as in `rs.evaluate`. Those that count items over all lists
    (coverage, Gini) keep the first k rows of each list in the window; their interval is a jackknife over 20 groups of
    lists. They do not support half_life=.

    Memory: the items and feedback of the lists of the last horizon, the feedback of the last window and horizon whose
    list is not logged, and per final list in the window its id, time, segment and 17 bytes per metric. Feedback that
    comes too late, or whose list is never logged, is not used; `counters` counts it.

    Several threads may share one Online. Servers that each have an Online of their own can `merge` them: feedback is
    joined with its list wherever that was served, unless the list is final already.

    Parameters
    ----------
    metrics : str, Metric or list of these
        Metrics, such as `"ndcg@10"` or `["hit_rate@3", "rr"]`.
    window : float, str or timedelta, optional
        Length of the window, such as "1h"; by default all lists count, or 40 half-lives.
    horizon : float, str or timedelta, optional
        How long a list collects feedback before it counts; by default lists count at once.
    half_life : float, str or timedelta, optional
        A list weighs half as much after this time, a quarter after twice this time, and so on.
    ahead : float, str or timedelta, optional
        Largest step of the clock; a list further in the future is an error. By default the window plus the horizon,
        as all lists would leave the window then.
    by : str or list of str, optional
        Names of the segment keywords of `log_impression`: `by="country"`, with `log_impression(..., country="FI")`.
    clusters : str, optional
        The keyword of `log_impression` that says whose list it is: `clusters="user"`. The lists of one person are not
        independent, so intervals count persons.
    confidence : float, default 0.95
        Confidence level of the intervals.
    anytime : bool or int, default False
        Intervals that hold at every look, so that you may watch them and stop when you like: asymptotic confidence
        sequences of all lists so far, narrowest at 5,000 lists, or at the number that is given. Without it, an interval
        is for one look at a time that was fixed before.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    catalogue : ids, table, catalogue or int, optional
        All items, or their number, for metrics that need them.
    history : truth-like, optional
        Earlier interactions, for metrics that need them.
    **choices
        Choices by name, such as `threshold=2`; see `rs.choices`.

    Examples
    --------
    >>> online = rs.Online(["hit_rate@2", "rr"], window=3600, horizon=60)
    >>> online.log_impression("l1", ["a", "b", "c"], time=0)
    >>> online.log_feedback("l1", "b", time=5)
    >>> online.log_impression("l2", {"b": 0.1, "c": 0.7, "a": 0.4}, time=10)
    >>> online.advance_to(70)
    >>> online.compute()["rr"].mean
    0.25

    >>> online = rs.Online("coverage@2", window="1h", catalogue=["a", "b", "c", "d"])
    >>> online.log_impression("l1", ["a", "b", "c"], time=0)
    >>> online.log_impression("l2", ["d", "b", "a"], time=3000)
    >>> online.compute()["coverage@2"].mean
    0.75
    >>> online.advance_to(3700)
    >>> online.compute()["coverage@2"].mean
    0.5
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
        clusters: str | None = None,
        confidence: float = 0.95,
        anytime: bool | int = False,
        convention: str | Convention = "rankstone",
        catalogue: CatalogueLike | int | None = None,
        history: Truth | None = None,
        **choices: Value,
    ) -> None:
        self._begin(
            metrics, convention, choices, catalogue=catalogue, history=history, window=window, horizon=horizon,
            half_life=half_life, ahead=ahead, by=by, clusters=clusters, confidence=confidence, anytime=anytime,
        )  # fmt: skip
        check_supported(self.plans, SERVED if half_life is None else replace(SERVED, all_lists=_WEIGHTED))
        self._plans = tuple(map(by_query, self.plans))
        self._list_depths = depths_of(self._plans)  # by alignment of metrics that read recommendations
        self._row_alignments = tuple(dict.fromkeys(plan.align for plan in self._plans if plan.of_all_lists))
        self._finish = [
            None if plan.of_all_lists else finish_of(plan, items_of(self._side_info) if self._list_depths else None)
            for plan in self._plans
        ]
        self.half_life = None if half_life is None else read_span("half_life", half_life)
        endless = math.inf if self.half_life is None else _HALF_LIVES * self.half_life
        self.window = endless if window is None else read_span("window", window, endless=True)
        self._waits = horizon is not None
        self.horizon = self.window if horizon is None else read_span("horizon", horizon)
        emptied = self.window + (self.horizon if self._waits else 0)  # a step that leaves the window empty
        self.ahead = emptied if ahead is None else read_span("ahead", ahead, endless=True)
        self._with_unit = any(map(has_unit, (window, horizon, half_life, ahead)))
        if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
            raise InputError(f"confidence={confidence!r}; give a number between 0 and 1, such as 0.95")
        self.confidence = confidence
        self.clusters, self.anytime = clusters, self._tuning(anytime)
        segment_keys(by)
        named_keys = [by] if isinstance(by, str) else [*(by or ())]
        self._keys = segment_keys([*named_keys, *([] if clusters is None else [clusters])] or None)
        self.by = by if by is None or isinstance(by, str) else list(by)
        named = self._convention.with_choices(**self._choices)
        self._definitions = {plan.label: definition_of(plan, named) for plan in self.plans}
        self._lock = RLock()
        self.reset()

    def _tuning(self, anytime: bool | int) -> float | None:
        """The number of lists at which intervals that hold at every look are narrowest; None for one look."""
        tuning = tuning_of(anytime, "lists", TUNING)
        if tuning is None:
            return None
        if self.window != math.inf or self.half_life is not None:
            raise InputError("anytime= is about all lists so far: leave out window= and half_life=")
        for plan in (plan for plan in self._plans if plan.of_all_lists):
            raise InputError(f"{plan.label} is computed over all lists at once, and has no interval for every look")
        return tuning

    @locked
    def reset(self) -> None:
        """Discard all lists and feedback, and the clock."""
        self._clock = -math.inf
        self._kind: str | None = None  # of times, the same for all events
        self._scored = False  # whether any list has scores
        self._lists: dict[Any, Impression] = {}  # not yet evaluated
        self._due: list[Any] = []  # those of them that are final
        self._next: list[tuple[float, int, Any]] = []  # a heap of the others, by time
        self._early: dict[Any, list[tuple[float, Any, float]]] = {}  # feedback whose list is not logged yet
        self._early_next: list[tuple[float, int, Any]] = []
        self._settled: list[Partial] = []  # by time
        self._settled_ids: set[Any] = set()
        self._counts: Counter[str] = Counter()
        self._serial = 0  # heaps compare it before they would compare ids
        self._items: ItemIndex | None = None  # side information

    # -- events ----------------------------------------------------------------------------------------------

    @locked
    def log_impression(
        self,
        list_id: Hashable,
        items: Iterable[Hashable] | Mapping[Hashable, float] | Iterable[tuple[Hashable, float]],
        time: Time,
        **segment: Hashable,
    ) -> None:
        """Log a list that was served.

        Parameters
        ----------
        list_id : hashable
            Id of the list, which `log_feedback` refers to. An id that occurs twice is an error.
        items : list, dict or list of pairs
            The items, best first, or `{item: score}`, or pairs of an item and its score.
        time : float, str or datetime
            When it was served.
        **segment
            The segment, with the keywords that `by=` names.
        """
        check_hashable(list_id)
        if list_id in self._lists or list_id in self._settled_ids:
            raise InputError(f"list {list_id!r} was served before")
        try:
            returned, scores = listed_items(items)
            check_hashable(*returned)
            values = self._segment(segment)
        except (TypeError, ValueError) as error:
            raise type(error)(f"list {list_id!r}: {error}") from None
        once = scores is not None or any(plan.choices["duplicates"] == "error" for plan in self._plans)
        if once and len(set(returned)) < len(returned):
            twice = next(item for item, times in Counter(returned).items() if times > 1)
            raise InputError(f"list {list_id!r}: item {twice!r} appears twice")
        at = self._seconds(time)
        if -math.inf < self._clock < at - self.ahead:
            raise InputError(
                f"list {list_id!r} is served at {time!r}, {at - self._clock:,.15g} past the clock, which is "
                f"{written(self._clock, self._kind)}; a list may be {self.ahead:,.15g} ahead. If the time is right, "
                "call advance_to(time) before it, or create the Online with a larger ahead="
            )
        self._go_on(at)
        if at <= self._end:
            self._counts["late lists"] += 1
            return
        self._scored |= scores is not None
        self._lists[list_id] = impression = Impression(at, returned, values, {}, scores)
        self._push(self._next, at, list_id)
        for feedback in self._early.pop(list_id, ()):
            self._join(impression, *feedback)

    @locked
    def log_feedback(self, list_id: Hashable, item: Hashable, time: Time, grade: float = 1.0) -> None:
        """Log feedback on an item of a list, such as a click or a purchase.

        Parameters
        ----------
        list_id : hashable
            Id of the list, which may be logged later.
        item : hashable
            The item.
        time : float, str or datetime
            When it happened.
        grade : float, default 1.0
            Grade of the item: 1 for a click, say, and more for a purchase. The highest grade counts.
        """
        try:
            number = finite("grade", grade)
            if is_pair(item):
                raise InputError("this is an item with its score; give the item only")
        except (InputError, InputTypeError) as error:
            raise type(error)(f"list {list_id!r}, item {item!r}: {error}") from None
        check_hashable(list_id, item)
        at = self._seconds(time)
        impression = self._lists.get(list_id)
        if impression is not None and impression.time > self._end:
            self._join(impression, at, item, number)
        elif impression is not None or list_id in self._settled_ids or at <= self._end:
            self._counts["late outcomes"] += 1
        elif -math.inf < self._clock < at - self.horizon - self.ahead:
            self._counts["outcomes far ahead"] += 1  # no list can be so far in the future
        else:
            self._early.setdefault(list_id, []).append((at, item, number))
            self._push(self._early_next, at, list_id)

    @locked
    def update(
        self,
        impressions: UserLog | None = None,
        feedback: UserLog | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        actions: Mapping[str, float] | None = None,
    ) -> None:
        """Log lists and feedback in bulk, in the order of their times: the same as the single calls.

        Parameters
        ----------
        impressions : frame, dict of columns, path or sequence of dict, optional
            A row per list, with a column of items, best first; or a row per item, with a rank or in order. A frame, an
            Arrow table, a CSV, JSON lines or Parquet file; or events of User Behavior Insights (UBI), as objects or in
            a file, which may have the feedback, too.
        feedback : frame, dict of columns or path, optional
            A row per click or purchase: list, item, time, and a grade, 1 by default.
        columns : mapping, optional
            Names of columns by role, where they are not the usual ones: list, time, item, items, rank, score, grade.
        actions : mapping, optional
            For UBI: the grade of each action that is feedback; by default those of clicks, carts and purchases.

        Raises
        ------
        ValueError
            If a column is missing, or a list is an error of `log_impression`; the events before it are logged.

        Examples
        --------
        >>> online = rs.Online("rr")
        >>> online.update(
        ...     {"list_id": ["l1", "l2"], "items": [["a", "b"], ["b", "c"]], "time": [0, 10]},
        ...     {"list_id": ["l1"], "item": ["b"], "time": [5]},
        ... )
        >>> online.compute()["rr"].mean
        0.25
        """
        from rankstone.evaluate.bulk import ImpressionEvent, events_of

        for event in events_of(impressions, feedback, self._keys, columns or {}, actions):
            if isinstance(event, ImpressionEvent):
                self.log_impression(event.list_id, event.items, event.time, **event.segment)
            else:
                self.log_feedback(event.list_id, event.item, event.time, event.grade)

    @locked
    def advance_to(self, time: Time) -> None:
        """Move the clock forward, by any amount, without serving a list.

        Parameters
        ----------
        time : float, str or datetime
            The time to move the clock to; an earlier time has no effect.
        """
        self._go_on(self._seconds(time))

    @locked
    def reset_clock(self, time: Time) -> None:
        """Set the clock back, after a time that was wrong.

        Lists that were served later are discarded, and so are lists that became final too early.

        Parameters
        ----------
        time : float, str or datetime
            The time to set the clock to.

        Raises
        ------
        ValueError
            If the time is after the clock.

        Examples
        --------
        >>> online = rs.Online("rr", window="1h", horizon="1min")
        >>> online.advance_to(9_999_999)
        >>> online.reset_clock(1_000)
        >>> online.log_impression("l1", ["a", "b"], time=1_010)
        """
        at = self._seconds(time)
        if at > self._clock:
            raise InputError(
                f"time {time!r} is after the clock, which is {written(self._clock, self._kind)}; use advance_to()"
            )
        self._clock = at
        lists = {list_id: impression for list_id, impression in self._lists.items() if impression.time <= at}
        whole = self._whole()
        final = int(np.searchsorted(whole.labels["times"], self._end, side="right"))
        self._counts["lists taken back"] += len(self._lists) - len(lists) + len(whole) - final
        self._settled, self._due = [whole.only(np.arange(final))] if final else [], []
        self._settled_ids = set(self._settled[0].ids or ()) if final else set()
        early = [(list_id, *rest) for list_id, waiting in self._early.items() for rest in waiting if rest[0] <= at]
        self._counts["outcomes without a list"] += sum(map(len, self._early.values())) - len(early)
        self._wait(lists, early)
        self._go_on(at)

    def _wait(self, lists: dict[Any, Impression], early: Iterable[tuple[Any, float, Any, float]]) -> None:
        """Start with these lists and this feedback."""
        self._lists, self._next, self._early, self._early_next = lists, [], {}, []
        for list_id, impression in lists.items():
            self._push(self._next, impression.time, list_id)
        for list_id, *feedback in early:
            self._early.setdefault(list_id, []).append(tuple(feedback))
            self._push(self._early_next, feedback[0], list_id)

    def _seconds(self, time: Time) -> float:
        """A time in seconds; an error if its kind differs from that of earlier times."""
        at, kind = read_time(time)
        if self._kind not in (None, kind):
            raise InputError(f"time {time!r}: earlier times were {self._kind}, not {kind}; use one kind for all")
        if kind == NUMBERS and self._with_unit and at > _FAR:
            raise InputError(
                f"time {time!r} would be after the year 5000: with a window, horizon or half_life that has a unit, "
                "numbers are seconds; divide milliseconds by 1000"
            )
        self._kind = kind
        return at

    def _segment(self, segment: Mapping[str, Hashable]) -> Any:
        """The segment of a list, from its keywords."""
        if segment.keys() != set(self._keys):
            wanted = f"{'=, '.join(self._keys)}=, and no other" if self._keys else "none"
            raise InputTypeError(f"it has the segment keywords {', '.join(segment) or 'none'}; expected: {wanted}")
        values = tuple(segment[key] for key in self._keys)
        hash(values)
        return values if self._tupled else values[0] if values else None

    @property
    def _tupled(self) -> bool:
        """Whether segments are tuples; the last of them is the person, if there are clusters."""
        return isinstance(self.by, list) or self.clusters is not None

    @property
    def _end(self) -> float:
        """Lists up to this time are final."""
        return self._clock - self.horizon

    @property
    def _start(self) -> float:
        """Lists up to this time have left the window."""
        return self._end - self.window if self._waits else self._end

    def _join(self, impression: Impression, time: float, item: Any, grade: float) -> None:
        if time < impression.time:
            self._counts["outcomes before their list"] += 1
            return
        if time - self.horizon >= impression.time:  # by its date, whenever it was logged
            self._counts["late outcomes"] += 1
            return
        self._counts["outcomes"] += 1
        impression.feedback[item] = max(grade, impression.feedback.get(item, grade))

    def _push(self, heap: list[tuple[float, int, Any]], time: float, list_id: Any) -> None:
        self._serial += 1
        heapq.heappush(heap, (time, self._serial, list_id))

    def _go_on(self, time: float) -> None:
        self._clock = max(self._clock, time)
        while self._next and self._next[0][0] <= self._end:
            self._due.append(heapq.heappop(self._next)[2])
        if len(self._due) >= _BATCH:
            self._settle()
        # No list of the window can have them; until then, their list may be logged by another Online, and merged.
        while self._early_next and self._early_next[0][0] <= self._start:
            at, _, list_id = heapq.heappop(self._early_next)
            waiting = self._early.pop(list_id, [])
            left = [feedback for feedback in waiting if feedback[0] > at]
            self._counts["outcomes without a list"] += len(waiting) - len(left)
            if left:
                self._early[list_id] = left

    # -- values ----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Evaluate the lists that are final, and discard those that have left the window."""
        start = self._start
        inside = [(list_id, self._lists[list_id]) for list_id in self._due if self._lists[list_id].time > start]
        if inside:
            inside.sort(key=lambda pair: pair[1].time)
            self._settled.append(self._measured(inside))
            self._settled_ids.update(list_id for list_id, _ in inside)
        self._counts["lists"] += len(self._due)
        for list_id in self._due:
            del self._lists[list_id]
        self._due = []
        self._forget(start)

    def _forget(self, start: float) -> None:
        """Discard the lists that were served up to a time."""
        while self._settled and self._settled[0].labels["times"][0] <= start:
            first = self._settled.pop(0)
            left = int(np.searchsorted(first.labels["times"], start, side="right"))
            self._settled_ids.difference_update((first.ids or ())[:left])
            if left < len(first):
                self._settled.insert(0, first.only(np.arange(left, len(first))))

    def _measured(self, lists: Sequence[tuple[Any, Impression]]) -> Partial:
        """Lists by time: what each adds to the means, and the rows for metrics over all lists."""
        source = Dicts({name: each.feedback for name, each in lists}, {name: each.returned for name, each in lists})
        if self._list_depths:
            self._items = items_of(self._side_info, self._items)
        ids = [name for name, _ in lists]
        try:  # ids of lists are not ids of queries in the history
            partial = replace(partial_of(source, self._plans, threads=1), ids=None).with_terms(self._plans, self._items)
        except QueryError as error:
            raise InputError(f"{error.problem} in list {ids[error.number]!r}") from None
        labels = {
            "times": np.array([impression.time for _, impression in lists], dtype=np.float64),
            "segments": [impression.segment for _, impression in lists],
        }
        return replace(partial.of(self._row_alignments), ids=ids, labels=labels)

    @locked
    def compute(self) -> WindowResult:
        """Each metric over the lists of the window, with its confidence interval.

        Returns
        -------
        WindowResult
            Estimates by metric; `.by` has those of each segment.
        """
        self._settle()
        whole, end = (self._whole(), self._end) if self._waits else (self._as_they_stand(), self._clock)
        weights = np.ones(len(whole))
        if self.half_life is not None:
            weights = np.exp2((whole.labels["times"] - end) / self.half_life)
        segments: dict[Any, list[int]] = {}
        stored: Sequence[Any] = whole.labels["segments"]
        units: Sequence[Any] = whole.ids or ()
        persons: Ints | None = None
        if self.clusters is not None:
            units, stored = [segment[-1] for segment in stored], [segment[:-1] for segment in stored]
            stored = [segment if isinstance(self.by, list) else (*segment, None)[0] for segment in stored]
            numbers: dict[Any, int] = {}
            persons = np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.int64)
        if self.by is not None:
            for at, segment in enumerate(stored):
                segments.setdefault(segment, []).append(at)
        aligned = replace(whole, ids=None).aligned(items_of(self._side_info)) if self._row_alignments else {}
        assert whole.terms is not None

        def estimates(inside: Any) -> dict[str, Estimate]:
            rows = zip(self._plans, self._finish, *(whole.terms or ()), strict=True)
            return {
                plan.label: estimate_of_all(plan, aligned[plan.align].shown, inside, self.confidence)
                if plan.of_all_lists
                else estimate(
                    plan,
                    finish,
                    top[inside],
                    bottom[inside],
                    weights[inside],
                    counted[inside],
                    self.confidence,
                    self.anytime,
                    None if persons is None else persons[inside],
                )
                for plan, finish, top, bottom, counted in rows
            }

        by = {segment: estimates(segments[segment]) for segment in sorted(segments, key=str)}
        rows = zip(self._plans, self._finish, *whole.terms, strict=True)
        terms = {plan.label: (top, bottom, counted) for plan, finish, top, bottom, counted in rows
                 if finish is None and not plan.of_all_lists}  # fmt: skip
        left_out = [plan.label for plan in self._plans if plan.label not in terms]
        lists = WindowLists(terms, units, segments, self.clusters, left_out, self.half_life is not None)
        return WindowResult(
            estimates(slice(None)), by, self.by, end - self.window, end, self._kind, self.confidence, self.counters,
            self.definitions, self.anytime, lists,
        )  # fmt: skip

    def _as_they_stand(self) -> Partial:
        """All lists of the window, with the feedback so far."""
        lists = sorted(self._lists.items(), key=lambda pair: pair[1].time)
        return self._measured(lists) if lists else self._whole()

    def _whole(self) -> Partial:
        if not self._settled:
            return self._measured([])
        self._settled = [concat(self._settled)]
        return self._settled[0]

    @property
    @locked
    def counters(self) -> dict[str, int]:
        """Number of lists and feedback events that were used, came too late, or are pending."""
        counts = {name: self._counts[name] for name in (*_USED, *UNUSED)}
        counts["lists"] += len(self._due)
        counts["lists that wait"] = len(self._lists) - len(self._due)
        early = [feedback[0] > self._end for waiting in self._early.values() for feedback in waiting]
        counts["outcomes that wait"] = sum(early)
        counts["outcomes without a list"] += len(early) - sum(early)
        return counts

    @property
    def definitions(self) -> dict[str, Definition]:
        """The definition of each metric."""
        unused = ("missing", "extra") if self._scored else ("ties", "missing", "extra")  # choices that do not apply
        return {
            plan.label: replace(definition, edge_cases=tuple(
                text for text in definition.edge_cases
                if text not in [CHOICES[name].describe(name, plan.choices[name]) for name in unused]
            ))
            for plan, definition in zip(self._plans, self._definitions.values(), strict=True)
        }  # fmt: skip

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Online) -> Online:
        """Add all lists and feedback of another Online with the same settings; the clock is the later of the two.

        Feedback on a list that is final in the other Online cannot be used: `counters` has it as "outcomes merged too
        late". So that there is none, make the horizon longer by the time between two merges.

        Parameters
        ----------
        other : Online
            Not changed.

        Returns
        -------
        Online
            This one.

        Warns
        -----
        MergeWarning
            If feedback came in time, but its list was final in the other Online before the merge; or if all
            final lists of one have left the window by the clock of the other.
        """
        if not isinstance(other, Online):
            raise InputTypeError(f"an Online merges with another Online, not with {type(other).__name__}")
        if other is self:
            raise InputError("an Online cannot be merged with itself: its lists would count twice")
        if self._settings() != other._settings():
            raise InputError("the two differ in their metrics, choices, window, horizon, half_life or by")
        self._take_in(copy.deepcopy(other))  # one lock after the other, so that none waits for ever
        return self

    @locked
    def _take_in(self, more: Online) -> None:
        if None not in (self._kind, more._kind) and self._kind != more._kind:
            raise InputError(
                f"the times of one were {self._kind}, those of the other {more._kind}; use one kind for all"
            )
        if math.isfinite(apart := abs(self._clock - more._clock)) and apart > self.ahead:
            raise InputError(
                f"the clocks are {apart:,.15g} apart, and the lists of the earlier one would be discarded; if that is "
                "intended, call advance_to(time) on it first"
            )
        for list_id in (self._lists.keys() | self._settled_ids) & (more._lists.keys() | more._settled_ids):
            raise InputError(f"list {list_id!r} is in both")
        settled = set(self._settled_ids), more._settled_ids
        self._settled_ids |= more._settled_ids
        self._counts += more._counts
        self._kind, self._scored = self._kind or more._kind, self._scored or more._scored
        for list_id, impression in more._lists.items():
            self._lists[list_id] = impression
            self._push(self._next, impression.time, list_id)
        for list_id, waiting in more._early.items():
            self._early.setdefault(list_id, []).extend(waiting)
            for at, _, _ in waiting:
                self._push(self._early_next, at, list_id)
        for list_id in [*self._early]:  # whose list may be in the other
            if list_id in self._lists:
                for feedback in self._early.pop(list_id):
                    self._join(self._lists[list_id], *feedback)
        self._settled += more._settled
        self._count_lost()
        self._go_on(more._clock)
        self._settle()
        if self._settled:
            whole = self._whole()
            self._settled = [whole.only(np.argsort(whole.labels["times"], kind="stable"))]
            self._forget(self._end - self.window)
        lost = sum(len(ids) for ids in settled if not ids & self._settled_ids)
        if lost:
            warn(
                f"{lost:,} final lists are lost, all of one Online: the clocks are {apart:,.15g} apart, and by the "
                "later one they have left the window; merge more often, or make window= longer",
                MergeWarning,
                stacklevel=4,
            )

    def _count_lost(self) -> None:
        """Take out the feedback on lists that are final; warn of what came in time by its date."""
        ids = self._early.keys() & self._settled_ids
        times = {
            list_id: time
            for partial in self._settled
            for list_id, time in zip(partial.ids or (), partial.labels["times"].tolist(), strict=True)
            if list_id in ids
        }
        lost = 0
        for list_id, served in times.items():
            for at, *_ in self._early.pop(list_id):
                in_time = served <= at and at - self.horizon < served
                kind = _LOST if in_time else "late outcomes" if served <= at else "outcomes before their list"
                self._counts[kind] += 1
                lost += in_time
        if lost:
            warn(
                f"{lost:,} outcomes of {len(times):,} lists are lost: their lists were final in one Online before the "
                "outcomes came from the other; make horizon= longer by the time between two merges, or merge before "
                "compute() and before lists are final",
                MergeWarning,
                stacklevel=4,
            )

    @locked
    def _state(self) -> dict[str, Any]:
        self._settle()
        whole = self._whole()
        return {
            "clock": None if self._clock == -math.inf else self._clock,
            "times": self._kind,
            "scored": self._scored,
            "lists": [
                [list_id, *impression[:3], list(map(list, impression.feedback.items())), impression.scores]
                for list_id, impression in self._lists.items()
            ],
            "early": [[list_id, *feedback] for list_id, waiting in self._early.items() for feedback in waiting],
            "settled": whole.state(),
            "counts": dict(self._counts),
        }

    def _load(self, state: State) -> None:
        clock = -math.inf if state["clock"] is None else finite("time", state["clock"])
        kind, scored = state["times"], saved.flag(state, "scored")
        lists = {list_id: Impression.read(self._read_segment, *row) for list_id, *row in saved.items(state, "lists")}
        early = [
            (list_id, finite("time", at), item, finite("grade", grade))
            for list_id, at, item, grade in saved.items(state, "early")
        ]
        hash(tuple((list_id, item) for list_id, _, item, _ in early))  # ids and items must be hashable
        settled = self._read_settled(state["settled"])
        counts = Counter({name: saved.whole(state["counts"], name) for name in state["counts"]})
        ids = set(settled.ids or ())
        if len(ids) < len(settled) or ids & lists.keys() or len(lists) < len(state["lists"]):
            raise InputError("a list occurs twice")
        if counts.keys() - {*_USED, *UNUSED} or any(impression.time > clock for impression in lists.values()):
            raise InputError("its counts and times do not match its clock")
        if kind not in KINDS and not (kind is None and clock == -math.inf and not early):
            raise InputError(f"times is {kind!r}")
        with self._lock:
            self.reset()
            self._clock, self._kind, self._scored, self._settled_ids, self._counts = clock, kind, scored, ids, counts
            self._settled = [settled] if ids else []
            self._wait(lists, early)

    def _read_settled(self, state: State) -> Partial:
        """Lists from a state; version 0.1.0 had their rows one level deeper."""
        rows = state.get("kept", {})
        whole = Partial.from_state(
            {**rows, **state}, self._row_alignments, self._row_alignments, metrics=len(self._plans)
        )
        times, segments = saved.floats(state, "times", len(whole)), saved.items(state, "segments")
        if len(segments) != len(whole) or not np.isfinite(times).all() or (np.diff(times) < 0).any():
            raise InputError("times, ids and segments do not match")
        return replace(whole, labels={"times": times, "segments": list(map(self._read_segment, segments))})

    def _read_segment(self, segment: Any) -> Any:
        """A segment from a state; JSON has lists instead of tuples."""
        if not self._tupled:
            hash(segment)
            return segment
        if not isinstance(segment, (list, tuple)) or len(segment) != len(self._keys):
            raise InputError(f"the segment {segment!r} does not have the keys {', '.join(self._keys)}")
        return tuple(segment)

    def _settings(self) -> dict[str, Any]:
        return {
            **settings_of(self._plans, self._side_info),
            "window": None if self.window == math.inf else self.window,
            "horizon": self.horizon if self._waits else None,
            "half_life": self.half_life,
            "by": self.by,
            **({} if self.clusters is None else {"clusters": self.clusters}),
        }

    def __repr__(self) -> str:
        return f"Online({', '.join(plan.label for plan in self._plans)}; {self.counters['lists']:,} final lists)"
