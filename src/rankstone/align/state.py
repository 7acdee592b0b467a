"""Saved states: plain data, read field by field. What is absent, of another size or out of range is an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints
from rankstone.data.annotations import Annotations, Subtopics
from rankstone.errors import InputError

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
        raise InputError(f"the state of this {what} is broken: {problem}") from None


def plain_state(value: object) -> Any:
    """A state as JSON has it: arrays as lists, NaN as null, infinity as text. Ids are not converted."""
    if isinstance(value, Mapping):
        return {name: plain_state(entry) for name, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, list):
        return [plain_state(each) if isinstance(each, (Mapping, list, float, np.ndarray)) else each for each in value]
    return value if not isinstance(value, float) or math.isfinite(value) else _NOT_FINITE[str(value)]


def real(value: object) -> Any:
    """A number from a state, as `plain_state` writes it."""
    return _FROM_PLAIN[value] if value is None or (isinstance(value, str) and value in _FROM_PLAIN) else value


_NOT_FINITE = {"nan": None, "inf": "inf", "-inf": "-inf"}
_FROM_PLAIN = {written: float(text) for text, written in _NOT_FINITE.items()}


# -- fields --------------------------------------------------------------------------------------------------


def ints(state: State, name: str, length: int | None = None, low: int = 0, high: int | None = None) -> Ints:
    """Whole numbers, from low up to, but not including, high."""
    values = _array(state, name, "iu", length).astype(np.int64)
    if len(values) and (values.min() < low or (high is not None and values.max() >= high)):
        raise InputError(f"{name} holds numbers from {values.min()} to {values.max()}")
    return values


def floats(state: State, name: str, length: int | None = None, *, nan: bool = False) -> Floats:
    """Numbers; NaN only if it means something."""
    if isinstance(state[name], list):
        state = {name: list(map(real, state[name]))}
    values = _array(state, name, "fiu", length).astype(np.float64)
    if not nan and np.isnan(values).any():
        raise InputError(f"{name} holds NaN")
    return values


def bools(state: State, name: str, length: int | None = None) -> Bools:
    return _array(state, name, "b", length).astype(np.bool_)


def offsets(state: State, name: str, length: int) -> Ints:
    """Where the parts begin, and where the last one ends."""
    values = ints(state, name, length + 1)
    if values[0] != 0 or (np.diff(values) < 0).any():
        raise InputError(f"{name} does not go up from 0")
    return values


def whole(state: State, name: str) -> int:
    """A count."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 1 << 53:
        raise InputError(f"{name} is {value!r}")
    return int(value)


def items(state: State, name: str) -> list[Any]:
    """A list of anything."""
    value = state[name]
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
        raise InputError(f"{name} is {value!r}, not a list")
    return list(value)


def ids(state: State, name: str) -> list[Any]:
    """Ids; those that are tuples are lists in JSON."""
    return [tuple(each) if isinstance(each, list) else each for each in items(state, name)]


def flag(state: State, name: str, *others: object) -> Any:
    """True or False, or one of some other values."""
    value = state[name]
    if not isinstance(value, bool) and value not in others:
        raise InputError(f"{name} is {value!r}")
    return value


def _array(state: State, name: str, kinds: str, length: int | None) -> Any:
    values = np.asarray(state[name])
    if values.ndim != 1 or (values.dtype.kind not in kinds and len(values)):
        raise InputError(f"{name} has shape {values.shape} and type {values.dtype}")
    if length is not None and len(values) != length:
        raise InputError(f"{name} has {len(values)} entries, not {length}")
    return values


# -- rankings ------------------------------------------------------------------------------------------------

_PLACED = ("rank", "grade", "score", "place", "above", "tied")
_FLAGS = ("ordered_truth", "ordered_grades")


def ranked_state(ranked: Alignment) -> dict[str, Any]:
    """An alignment's arrays by name."""
    names = ("retrieved", "present", "truth_offsets", "truth_grades", "placed_offsets", *_PLACED[1:], *_FLAGS)
    arrays = {name: getattr(ranked, name) for name in names}
    return {**arrays, "rank": ranked.rank, "notes": _annotations_state(ranked.annotations)}


def _annotations_state(annotations: Annotations | None) -> dict[str, Any] | None:
    if annotations is None:
        return None
    return {
        "weight": annotations.weight,
        "subtopics": None if annotations.subtopics is None else annotations.subtopics._asdict(),
    }


def _annotations_from(state: State | None, judged: Ints) -> Annotations | None:
    """What else a truth says of its judged items; `judged`: their offsets."""
    if state is None:
        return None
    count, weight, subtopics = int(judged[-1]), None, None
    if state["weight"] is not None:
        weight = floats(state, "weight", count)
        if not (weight > 0).all():
            raise InputError("weight holds a number that is not above 0")
    if state["subtopics"] is not None:
        rows = state["subtopics"]
        starts = offsets(rows, "offsets", count)
        size = int(starts[-1])
        order = ints(rows, "order", count)
        query = np.repeat(np.arange(len(judged) - 1), np.diff(judged))
        if not np.array_equal(np.sort(judged[query] + order), np.arange(count)):
            raise InputError("order does not give each item a place")
        subtopics = Subtopics(starts, ints(rows, "subtopic", size, high=size), floats(rows, "grade", size), order)
    return Annotations(weight, subtopics)


def ranked_from_state(state: State) -> Alignment:
    """The alignment, if its arrays go together."""
    present = bools(state, "present")
    queries = len(present)
    retrieved = ints(state, "retrieved", queries)
    if retrieved[~present].any():
        raise InputError("retrieved counts rows of queries that are not present")
    judged, placed = offsets(state, "truth_offsets", queries), offsets(state, "placed_offsets", queries)
    count = int(placed[-1])
    rank, place = ints(state, "rank", count, 1), ints(state, "place", count, 1)
    query, last = np.repeat(np.arange(queries), np.diff(placed)), np.repeat(retrieved, np.diff(placed))
    if (rank > last).any() or ((np.diff(rank) < 0) & (np.diff(query) == 0)).any():
        raise InputError("rank does not go up to retrieved")
    above = tied = None
    if state["tied"] is not None:
        above, tied = ints(state, "above", count), ints(state, "tied", count, 1)
        if (above >= rank).any() or (rank > above + tied).any() or (above + tied > last).any():
            raise InputError("above and tied do not lie around rank")
    return Alignment(
        retrieved, present, judged, floats(state, "truth_grades", int(judged[-1])), None, placed, rank,
        floats(state, "grade", count), floats(state, "score", count, nan=True), place, above, tied,
        **{name: flag(state, name) for name in _FLAGS}, annotations=_annotations_from(state["notes"], judged),
    )  # fmt: skip
