"""Who writes expressions of SQL: as text, as trees of sqlglot, or as Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import py4j.java_gateway
    import sqlglot

# "avg(x)", sqlglot.parse_one("avg(x)"), or an object of Spark's
Expression: TypeAlias = "str | sqlglot.Expression | py4j.java_gateway.JavaObject"
Arguments = Sequence[Expression]
Constant = str | float | bool | None  # "a", 1, 0.5, True


class Calls(Protocol):
    """Writes calls of functions."""

    def call(self, name: str, *arguments: Expression) -> Expression: ...
    def operator(self, sign: str, left: Expression, right: Expression) -> Expression: ...
    def constant(self, value: Constant) -> Expression: ...
    def refuse(self, problem: str) -> Expression:
        """An expression that is an error, or the error itself."""


class Writer(Calls, Protocol):
    """Writes lists and maps, too."""

    def field(self, of: Expression, name: str) -> Expression: ...
    def function(self, names: Sequence[str], body: Callable[..., Expression]) -> Expression: ...
    def read(self, argument: Expression) -> Constant:
        """The value of a constant; None for anything else."""


class Text:
    """Writes plain text, for the body of a macro."""

    def call(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})"

    def operator(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} {right})"

    def constant(self, value: Constant) -> str:
        return "null::double" if value is None else f"{value!r}::double"

    def refuse(self, problem: str) -> str:
        quoted = problem.replace("'", "''")
        return f"error('{quoted}')"
