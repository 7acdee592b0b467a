"""A way to fuse runs is declared once, by `@fusion`. Names, parameters, formulas and checks are read from that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rankstone.metrics.registry import ByName, Declared, OfDeclared, nearest, unknown_word

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats

Reads = Literal["score", "rank"]


@dataclass(frozen=True, eq=False)
class Fusion(Declared):
    """A way to fuse runs: a function from what the runs returned to one score an item."""

    apart: ClassVar[tuple[str, ...]] = ()
    function: Callable[..., Floats]
    aliases: tuple[str, ...]
    formula: str  # <k> stands for a parameter's value
    reads: Reads  # scores, or ranks
    weighted: str  # what a run's weight does; empty where there is no place for weights

    def filled(self, arguments: ByName) -> str:
        """The formula with the parameters' values in their places."""
        text = self.formula or self.summary
        for name, value in arguments.items():
            text = text.replace(f"<{name}>", f"{value:g}")
        return text

    def __repr__(self) -> str:
        return f"{self.name}: {self.filled(self.defaults)}; {self.summary}"


_DECLARED: dict[str, Fusion] = {}
_NAMES: dict[str, str] = {}  # name or alias -> name


def fusion(
    name: str, *, aliases: Iterable[str] = (), formula: str = "", reads: Reads = "score", weighted: str = ""
) -> Callable[[Callable[..., Floats]], Fusion]:
    """Declare a way to fuse runs: a function from `Found`, and its parameters by name, to one score an item.

    reads: "score", or "rank" if it goes by places alone; then runs need no scores, and no `norm=`. weighted: what a
    run's weight does, in a few words; without them, weights are refused. The name works wherever the others do.
    """
    names = (name, *aliases)
    for alias in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", alias):
            raise ValueError(f"{alias!r} cannot be a fusion's name: use letters, digits and _")
    if reads not in ("score", "rank"):
        raise ValueError(f"reads={reads!r}; choose from 'score', 'rank'")

    def declare(function: Callable[..., Floats]) -> Fusion:
        made = Fusion(name, function, tuple(aliases), formula, reads, weighted)
        before = _DECLARED.get(name)
        if before is not None and _is_built_in(before) and not _is_built_in(made):
            raise ValueError(f"{name!r} is a fusion of rankstone's own; choose another name")
        for alias in names:
            if _NAMES.get(alias.lower()) not in (None, name):
                raise ValueError(f"fusion name {alias!r} is already an alias of {_NAMES[alias.lower()]!r}")
        _NAMES.update({alias.lower(): name for alias in names})
        _DECLARED[name] = made
        return made

    return declare


def _is_built_in(made: Fusion) -> bool:
    return made.function.__module__.startswith("rankstone.")


def find_fusion(method: str | Fusion) -> Fusion:
    """A way to fuse runs by its name or an alias, or as it is."""
    if isinstance(method, Fusion):
        return method
    found = _NAMES.get(method.lower()) if isinstance(method, str) else None
    if found is None:
        near = nearest(method, _NAMES)
        raise ValueError(unknown_word("fusion", method, None if near is None else _NAMES[near], sorted(_DECLARED)))
    return _DECLARED[found]


class Fusions(OfDeclared[Fusion]):
    """Every way to fuse runs by name: `rs.fusions["rrf"]`, `rs.fusions.rrf`; those that a user declared, too."""

    def _about(self, name: str) -> str:
        return repr(self[name]).removeprefix(f"{name}: ")


fusions = Fusions(lambda: _DECLARED, find_fusion)
