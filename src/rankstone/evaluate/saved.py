"""What `Stream`, `Accumulator` and `Online` share: they can be saved, sent and gone on with."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankstone.align.state import State
from rankstone.conventions.plan import Plan
from rankstone.data.arrow import Column, as_text, is_whole

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside


class Saved(ABC):
    """Has a state of plain data, and is pickled by it: what it was made of, then what it knows."""

    _made: dict[str, Any]  # what `__init__` was given

    @abstractmethod
    def state_dict(self) -> dict[str, Any]: ...

    @abstractmethod
    def load_state_dict(self, state: State) -> None: ...

    def __getstate__(self) -> dict[str, Any]:
        return {"made": self._made, "state": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["made"])  # type: ignore[misc]
        self.load_state_dict(state["state"])


def settings_of(plans: Iterable[Plan], beside: Beside | None = None) -> dict[str, Any]:
    """What the metrics are, how they were chosen, and what is known of items, for a state."""
    plans = tuple(plans)
    return {
        "metrics": [plan.label for plan in plans],
        "choices": [repr(sorted({**plan.choices, **plan.arguments}.items())) for plan in plans],
        "beside": _named(beside),
    }


# -- what is known beside a truth and a run ------------------------------------------------------------------


def made_of(beside: Beside | None, reference: Any, catalogue: Any = None) -> dict[str, Any]:
    """The same as it is given to `__init__`. catalogue: as it was given, which may be how many items there are."""
    if beside is None:
        return {} if catalogue is None else {"catalogue": catalogue}
    items = catalogue if beside.catalogue is None else beside.catalogue
    return {"catalogue": items, "history": beside.history, "reference": reference}


def _named(beside: Beside | None) -> list[str | None]:
    if beside is None:
        return [None, None, None]
    items, rows = beside.catalogue, beside.history
    return [
        None if items is None else f"{items} {identity(items.item)}",
        None if rows is None else identity(rows.query, rows.item),
        None if beside.reference is None else "given",
    ]


def identity(*columns: Column, numbers: Sequence[NDArray[np.generic]] = ()) -> str:
    """What ids and numbers are, in a few letters."""
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        for part in _content(column):
            digest.update(part)
    for values in numbers:
        digest.update(values.tobytes())
    return digest.hexdigest()


def _content(column: Any) -> Iterator[Any]:
    """The ids' bytes, whatever type of column they are in."""
    if is_whole(column):
        yield np.asarray(column).astype(np.int64).tobytes()
        return
    words = as_text(column)
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    yield np.diff(offsets).tobytes()
    if offsets[-1] > offsets[0]:
        yield memoryview(words.buffers()[2])[offsets[0] : offsets[-1]]


# -- states --------------------------------------------------------------------------------------------------


def refuse_other(settings: State, state: object, what: str) -> None:
    """Stop at a state that was made with other settings."""
    theirs = state.get("settings") if isinstance(state, Mapping) else None
    if not isinstance(theirs, Mapping) or theirs.keys() != settings.keys():
        raise ValueError(f"this is no state of this {what}")
    for name, ours in settings.items():
        if theirs[name] != ours:
            raise ValueError(f"the state has another {name}: {theirs[name]!r}, not {ours!r}")
