"""Expressions as text of SQL, in a dialect."""

from __future__ import annotations

from typing import Protocol

from rankstone.program.sql import Term
from rankstone.sql.dialects import Dialect

_SIGNS = {"or": 1, "and": 2, "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}
_ATOM = 9


class Columns(Protocol):
    """Where an expression stands, and so which values are at hand."""

    def named(self, value: Term) -> str | None:
        """The column or the text that a value has here; None if it has to be written out."""


class Expressions:
    """Writes expressions."""

    dialect: Dialect

    def write(self, value: Term, at: Columns, within: int = 0) -> str:
        """An expression as text, in parentheses where what is around it binds more tightly."""
        text, strength = self._written(value, at)
        return f"({text})" if strength < within else text

    def _written(self, value: Term, at: Columns) -> tuple[str, int]:
        op, args, dialect = value.op, value.args, self.dialect
        if (named := at.named(value)) is not None:
            return named, _ATOM
        if op == "number":
            return self.number(args[0]), _ATOM if args[0] >= 0 else 7
        if op in ("null", "true", "false"):
            return {"null": "null", "true": "1 = 1", "false": "1 = 0"}[op], 4 if op != "null" else _ATOM
        if op == "parameter":
            return args[0], _ATOM
        if op in ("total", "count", "average"):
            return self._of_all(op, args[0], at), _ATOM
        if op in _SIGNS:
            strength = _SIGNS[op]
            right = strength + (op in ("-", "/") or strength == 4)
            left = strength + (strength == 4)
            return f"{self.write(args[0], at, left)} {op} {self.write(args[1], at, right)}", strength
        if op == "negative":
            return f"-{self.write(args[0], at, 8)}", 7
        if op == "not":
            return f"not {self.write(args[0], at, _ATOM)}", 3
        if op == "known":
            return f"{self.write(args[0], at, _ATOM)} is not null", 4
        if op == "or_else":
            return f"coalesce({self.write(args[0], at)}, {self.write(args[1], at)})", _ATOM
        if op == "where":
            return self._case(value, at), _ATOM
        if op in ("least", "greatest", "log2", "ln", "power", "ceil"):
            form = getattr(dialect, op)
            return form.format(*(self.write(arg, at) for arg in args)), 6 if "/" in form else _ATOM
        if op in ("sqrt", "abs", "floor", "exp"):
            return f"{op}({self.write(args[0], at)})", _ATOM
        raise TypeError(f"{op!r} cannot stand here")

    def _case(self, value: Term, at: Columns) -> str:
        branches, rest = [], value
        while rest.op == "where" and at.named(rest) is None:
            branches.append(f"when {self.write(rest.args[0], at)} then {self.write(rest.args[1], at)}")
            rest = rest.args[2]
        other = "" if rest.op == "null" else f" else {self.write(rest, at)}"
        text = f"case {' '.join(branches)}{other} end"
        return self.double(text) if self._is_whole(value, at) else text

    def _is_whole(self, value: Term, at: Columns) -> bool:
        """Are all that a decision can come to written numbers, so that a database would take them for whole ones."""
        if value.op == "where" and at.named(value) is None:
            return self._is_whole(value.args[1], at) and self._is_whole(value.args[2], at)
        return value.op in ("number", "null") and at.named(value) is None

    def _of_all(self, op: str, values: Term, at: Columns) -> str:
        if op == "count":
            return self.double(f"count({self.write(values, at)})")
        return f"{self.dialect.total if op == 'total' else self.dialect.average}({self.write(values, at)})"

    def number(self, value: float) -> str:
        """A number as it is written."""
        whole = value.is_integer() and abs(value) < 1e15 and not self.dialect.pointed
        return str(int(value)) if whole else repr(value)

    def double(self, text: str) -> str:
        """As a floating-point number."""
        return f"cast({text} as {self.dialect.double})"

    def text(self, *parts: str) -> str:
        """Texts one after the other; those that are expressions as text."""
        if self.dialect.concat == "concat":
            return f"concat({', '.join(parts)})"
        return self.dialect.concat.join(parts)

    def as_text(self, expression: str) -> str:
        return f"cast({expression} as {self.dialect.text})"
