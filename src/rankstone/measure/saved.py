"""What `Stream`, `Accumulator` and `Online` share: they can be saved, sent and gone on with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from rankstone.align.state import State
from rankstone.conventions.plan import Plan


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


def settings_of(plans: Iterable[Plan]) -> dict[str, Any]:
    """What the metrics are and how they were chosen, for a state."""
    plans = tuple(plans)
    return {
        "metrics": [plan.label for plan in plans],
        "choices": [repr(sorted({**plan.choices, **plan.arguments}.items())) for plan in plans],
    }


def refuse_other(settings: State, state: object, what: str) -> None:
    """Stop at a state that was made with other settings."""
    theirs = state.get("settings") if isinstance(state, Mapping) else None
    if not isinstance(theirs, Mapping) or theirs.keys() != settings.keys():
        raise ValueError(f"this is no state of this {what}")
    for name, ours in settings.items():
        if theirs[name] != ours:
            raise ValueError(f"the state has another {name}: {theirs[name]!r}, not {ours!r}")
