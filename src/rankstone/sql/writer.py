"""Who writes expressions of SQL: as text, as trees of sqlglot, or as Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Arguments = Sequence[Any]


class Calls(Protocol):
    """Writes calls of functions."""

    def call(self, name: str, *arguments: Any) -> Any: ...
    def operator(self, sign: str, left: Any, right: Any) -> Any: ...
    def constant(self, value: Any) -> Any: ...
    def refuse(self, problem: str) -> Any:
        """An expression that is an error, or the error itself."""


class Writer(Calls, Protocol):
    """Writes lists and maps, too."""

    def field(self, of: Any, name: str) -> Any: ...
    def function(self, names: Sequence[str], body: Callable[..., Any]) -> Any: ...
    def read(self, argument: Any) -> Any:
        """The value of a constant; None for anything else."""


class Text:
    """Writes plain text, for the body of a macro."""

    def call(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})"

    def operator(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} {right})"

    def constant(self, value: float) -> str:
        return f"{value!r}::double"

    def refuse(self, problem: str) -> str:
        quoted = problem.replace("'", "''")
        return f"error('{quoted}')"
