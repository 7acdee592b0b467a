"""Pinned queries: which place a run gives an item that must be near the top of a query's list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.compare.gates import Gates, Pin
from rankstone.conventions.plan import plan_one
from rankstone.data.arrow import plain_ids
from rankstone.data.files import is_path
from rankstone.data.source import AlignOptions
from rankstone.errors import GatesError, InputError
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.result_file import is_result
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.data.source import TopK
    from rankstone.typing import Column, Path, Run


class _RankedLists:
    """The ranked lists of a run, by query as text."""

    def __init__(self, run: Run, options: AlignOptions, **how: Any) -> None:
        source = open_source(None, run, **how)
        self._first: TopK = source.first(options, None)
        self.queries = list(source.align(options).queries)
        self._number = {str(query): at for at, query in enumerate(self.queries)}

    def places(self, query: object) -> dict[str, int] | None:
        """The rank of each item of a query, best first; None if the run does not have the query."""
        number = self._number.get(str(query))
        if number is None:
            return None
        start, end = self._first.offsets[number : number + 2].tolist()
        rows = np.arange(start, end)
        ranks = rows - start + 1 if self._first.rank is None else self._first.rank[rows]
        return dict(zip(map(str, plain_ids(self._first.item, rows)), ranks.tolist(), strict=True))


@dataclass(frozen=True)
class PinOutcome:
    """The outcome of one pinned query.

    Attributes
    ----------
    query : hashable
        Query id.
    rule : str
        The condition in words.
    verdict : str
        "passed" or "failed".
    severity : str
        "fail", or "warn": the pin does not change the overall verdict.
    sentence : str
        Where the items are, and where they were: "refund policy: doc_refund is at 7, was at 2".
    places : dict
        The rank of each pinned item in the candidate; None if it is not in the list.
    before : dict or None
        The same in the baseline, if its lists are at hand.
    """

    query: Any
    rule: str
    verdict: str
    severity: str
    sentence: str
    places: Mapping[Any, int | None]
    before: Mapping[Any, int | None] | None = None

    @property
    def only_warns(self) -> bool:
        """Whether it did not pass, but has the severity "warn"."""
        return self.severity == "warn" and self.verdict != "passed"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

        def named(places: Any) -> Any:
            return None if places is None else [{"item": item, "rank": rank} for item, rank in places.items()]

        return {**asdict(self), "places": named(self.places), "before": named(self.before)}


def pin_outcomes(options: Gates) -> list[PinOutcome]:
    """The outcome of each pin of a file of gates."""
    if not options.pin:
        return []
    how = {"columns": options.columns, "exclude": options.exclude}
    align = plan_one("rr", options.convention, options.choices).align
    if _has_no_lists(options.candidate):
        raise GatesError("pins need lists, and the candidate is a saved result; give the run")
    lists = _RankedLists(options.candidate, align, **how)
    before = None if _has_no_lists(options.baseline) else _RankedLists(options.baseline, align, **how)
    return [
        _outcome(pin, lists.places(pin.query), None if before is None else before.places(pin.query))
        for pin in options.pin
    ]


def _has_no_lists(run: Any) -> bool:
    """Whether a side is a saved result, or there is none."""
    return run is None or isinstance(run, Result) or (is_path(run) and is_result(run))


def _outcome(pin: Pin, places: Mapping[str, int] | None, before: Mapping[str, int] | None) -> PinOutcome:
    ranks = {item: (places or {}).get(str(item)) for item in pin.items}
    earlier = None if before is None else {item: before.get(str(item)) for item in pin.items}
    within = [rank is not None and rank <= (pin.within or rank) for rank in ranks.values()]
    if pin.empty:
        passed = not places
        where = "has no items" if passed else f"has {len(places or ())} items, {next(iter(places or ()))} is at 1"
        where += "" if passed or before is None else f", had {len(before) or 'none'}"
    else:
        passed = all(within) if pin.all else any(within)
        decisive = (item for item, is_within in zip(ranks, within, strict=True) if is_within == passed)
        where = "; ".join(_sentence(item, ranks[item], earlier) for item in decisive)
        where = "the run does not have this query" if places is None else where
    verdict = "passed" if passed else "failed"
    return PinOutcome(pin.query, pin.rule, verdict, pin.severity, f"{pin.query}: {where}", ranks, earlier)


def _sentence(item: Any, rank: int | None, before: Mapping[Any, int | None] | None) -> str:
    now = f"{item} is {'not in the list' if rank is None else f'at {rank}'}"
    if before is None or before[item] == rank:
        return now
    return f"{now}, was {'not in it' if before[item] is None else f'at {before[item]}'}"


# -- pins of a baseline --------------------------------------------------------------------------------------


def pins_of(run: Run, top: int = 1, within: int | None = None, queries: Column | Path | None = None) -> Iterator[Pin]:
    """Pins of the first items of each list, all within the first places; of an empty list that it is empty."""
    if top < 1 or (within is not None and within < top):
        raise InputError(f"top={top}, within={within}; give a whole number from 1, and at least top for within")
    lists = _RankedLists(run, AlignOptions(), queries=queries)
    for query in lists.queries:
        items = tuple(item for item, rank in (lists.places(query) or {}).items() if rank <= top)
        if items:
            yield Pin(query, items, all=len(items) > 1, within=max(within or top, len(items)))
        else:
            yield Pin(query, empty=True)


def toml_of(pins: Sequence[Pin]) -> str:
    """Pins as a TOML file."""
    return "\n".join("\n".join(["[[pin]]", *_lines(pin), ""]) for pin in pins)


def _lines(pin: Pin) -> Iterator[str]:
    yield f"query = {_value(pin.query)}"
    if pin.empty:
        yield "empty = true"
        return
    yield f"item = {_value(pin.items[0])}" if len(pin.items) == 1 else f"items = [{', '.join(map(_value, pin.items))}]"
    if pin.all:
        yield "all = true"
    yield f"within = {pin.within}"


def _value(value: Any) -> str:
    return json.dumps(value if isinstance(value, int) else str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
