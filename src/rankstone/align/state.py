"""Saved states: plain data, read field by field. What is absent, of another size or out of range is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints
from rankstone.data.annotations import Notes, Subtopics

Method = TypeVar("Method", bound=Callable[..., Any])
State: TypeAlias = Mapping[str, Any]  # fields by name, as a `state_dict` has them: {"queries": 2, "ids": ["u1", "u2"]}


def locked(method: Method) -> Method:
    """One thread at a time, by the object's `_lock`."""

    @wraps(method)
    def alone(self: Any, *arguments: Any, **words: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **words)

    return cast("Method", alone)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Say of which state it is that something is wrong with it."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        problem = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the state of this {what} is broken: {problem}") from None


# -- fields --------------------------------------------------------------------------------------------------


def ints(state: State, name: str, length: int | None = None, low: int = 0, high: int | None = None) -> Ints:
    """Whole numbers, from low up to, but not including, high."""
    found = _array(state, name, "iu", length).astype(np.int64)
    if len(found) and (found.min() < low or (high is not None and found.max() >= high)):
        raise ValueError(f"{name} holds numbers from {found.min()} to {found.max()}")
    return found


def floats(state: State, name: str, length: int | None = None, *, nan: bool = False) -> Floats:
    """Numbers; NaN only if it means something."""
    found = _array(state, name, "fiu", length).astype(np.float64)
    if not nan and np.isnan(found).any():
        raise ValueError(f"{name} holds NaN")
    return found


def bools(state: State, name: str, length: int | None = None) -> Bools:
    return _array(state, name, "b", length).astype(np.bool_)


def offsets(state: State, name: str, length: int) -> Ints:
    """Where the parts begin, and where the last one ends."""
    found = ints(state, name, length + 1)
    if found[0] != 0 or (np.diff(found) < 0).any():
        raise ValueError(f"{name} does not go up from 0")
    return found


def whole(state: State, name: str) -> int:
    """A count."""
    found = state[name]
    if isinstance(found, bool) or not isinstance(found, (int, np.integer)) or not 0 <= found < 1 << 53:
        raise ValueError(f"{name} is {found!r}")
    return int(found)


def items(state: State, name: str) -> list[Any]:
    """A list of anything."""
    found = state[name]
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise ValueError(f"{name} is {found!r}, not a list")
    return list(found)


def flag(state: State, name: str, *others: object) -> Any:
    """True or False, or one of some other values."""
    found = state[name]
    if not isinstance(found, bool) and found not in others:
        raise ValueError(f"{name} is {found!r}")
    return found


def _array(state: State, name: str, kinds: str, length: int | None) -> Any:
    found = np.asarray(state[name])
    if found.ndim != 1 or (found.dtype.kind not in kinds and len(found)):
        raise ValueError(f"{name} has shape {found.shape} and type {found.dtype}")
    if length is not None and len(found) != length:
        raise ValueError(f"{name} has {len(found)} entries, not {length}")
    return found


# -- rankings ------------------------------------------------------------------------------------------------

_PLACED = ("rank", "grade", "score", "place", "above", "tied")
_FLAGS = ("ordered_truth", "ordered_grades")


def ranked_state(ranked: Alignment) -> dict[str, Any]:
    """An alignment's arrays by name."""
    names = ("retrieved", "present", "truth_offsets", "truth_grades", "placed_offsets", *_PLACED[1:], *_FLAGS)
    arrays = {name: getattr(ranked, name) for name in names}
    return {**arrays, "rank": ranked.rank, "notes": _notes_state(ranked.notes)}


def _notes_state(notes: Notes | None) -> dict[str, Any] | None:
    if notes is None:
        return None
    return {"weight": notes.weight, "subtopics": None if notes.subtopics is None else notes.subtopics._asdict()}


def _notes_from(state: State | None, judged: Ints) -> Notes | None:
    """What else a truth says of its judged items; `judged`: their offsets."""
    if state is None:
        return None
    count, weight, subtopics = int(judged[-1]), None, None
    if state["weight"] is not None:
        weight = floats(state, "weight", count)
        if not (weight > 0).all():
            raise ValueError("weight holds a number that is not above 0")
    if state["subtopics"] is not None:
        rows = state["subtopics"]
        starts = offsets(rows, "offsets", count)
        size = int(starts[-1])
        order = ints(rows, "order", count)
        query = np.repeat(np.arange(len(judged) - 1), np.diff(judged))
        if not np.array_equal(np.sort(judged[query] + order), np.arange(count)):
            raise ValueError("order does not give each item a place")
        subtopics = Subtopics(starts, ints(rows, "subtopic", size, high=size), floats(rows, "grade", size), order)
    return Notes(weight, subtopics)


def ranked_from_state(state: State) -> Alignment:
    """The alignment, if its arrays go together."""
    present = bools(state, "present")
    queries = len(present)
    retrieved = ints(state, "retrieved", queries)
    if retrieved[~present].any():
        raise ValueError("retrieved counts rows of queries that are not present")
    judged, placed = offsets(state, "truth_offsets", queries), offsets(state, "placed_offsets", queries)
    count = int(placed[-1])
    rank, place = ints(state, "rank", count, 1), ints(state, "place", count, 1)
    query, last = np.repeat(np.arange(queries), np.diff(placed)), np.repeat(retrieved, np.diff(placed))
    if (rank > last).any() or ((np.diff(rank) < 0) & (np.diff(query) == 0)).any():
        raise ValueError("rank does not go up to retrieved")
    above = tied = None
    if state["tied"] is not None:
        above, tied = ints(state, "above", count), ints(state, "tied", count, 1)
        if (above >= rank).any() or (rank > above + tied).any() or (above + tied > last).any():
            raise ValueError("above and tied do not lie around rank")
    return Alignment(
        retrieved, present, judged, floats(state, "truth_grades", int(judged[-1])), None, placed, rank,
        floats(state, "grade", count), floats(state, "score", count, nan=True), place, above, tied,
        **{name: flag(state, name) for name in _FLAGS}, notes=_notes_from(state["notes"], judged),
    )  # fmt: skip
