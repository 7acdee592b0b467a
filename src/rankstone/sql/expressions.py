"""Expressions, select lists and statements as text of SQL, in a dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rankstone.program.sql import Term
from rankstone.sql.dialects import Dialect

_WIDE = 110  # columns of text
_ATOM = 9
_SIGNS = {"or": 1, "and": 2, "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}
# An operation's text, how tightly it binds, and how tightly each of its arguments has to.
_FORMS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    **{
        sign: (f"{{}} {sign} {{}}", binds, (binds + (binds == 4), binds + (binds == 4 or sign in ("-", "/"))))
        for sign, binds in _SIGNS.items()
    },
    **{name: (f"{name}({{}})", _ATOM, (0,)) for name in ("sqrt", "abs", "floor", "exp")},
    "null": ("null", _ATOM, ()),
    "true": ("1 = 1", 4, ()),
    "false": ("1 = 0", 4, ()),
    "negative": ("-{}", 7, (8,)),
    "not": ("not {}", 3, (_ATOM,)),
    "known": ("{} is not null", 4, (_ATOM,)),
    "or_else": ("coalesce({}, {})", _ATOM, (0, 0)),
}
_OF_DIALECT = ("least", "greatest", "log2", "ln", "power", "ceil", "total", "average")  # fields of `Dialect`


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
        op, args = value.op, value.args
        if (named := at.named(value)) is not None:
            return named, _ATOM
        if op == "number":
            return self.number(args[0]), _ATOM if args[0] >= 0 else 7
        if op == "parameter":
            return args[0], _ATOM
        if op == "where":
            return self._case(value, at), _ATOM
        if op in _OF_DIALECT:
            form = getattr(self.dialect, op)
            return form.format(*(self.write(arg, at) for arg in args)), 6 if "/" in form else _ATOM
        if op == "count":
            return self.double(f"count({self.write(args[0], at)})"), _ATOM
        if op not in _FORMS:
            raise TypeError(f"{op!r} cannot stand here")
        form, strength, binding = _FORMS[op]
        return form.format(*(self.write(arg, at, within) for arg, within in zip(args, binding, strict=True))), strength

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


@dataclass(frozen=True)
class Step:
    """One named part of a statement (a common table expression)."""

    name: str
    comment: str
    body: str


def select(columns: Sequence[str], indent: int = 2) -> str:
    """A select list, on one line if it fits."""
    one = f"select {', '.join(columns)}"
    if len(one) + indent <= _WIDE and len(columns) <= 5:
        return one
    return "select\n" + ",\n".join(f"{' ' * indent}{column}" for column in columns)


def indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.splitlines())


def statement(head: Iterable[str], steps: Sequence[Step], body: str) -> str:
    """A select of some steps as text: a comment, and those of the steps that it reads."""
    parts = []
    for step in _sorted(steps, body):
        comment = f"-- {step.comment}\n" if step.comment else ""
        parts.append(f"{comment}{step.name} as (\n{indented(step.body)}\n)")
    said = "".join(f"-- {line}\n" if line else "--\n" for line in head)
    listed = ",\n".join(parts)
    return f"{said}with\n{listed}\n{body}\n"


def _sorted(steps: Sequence[Step], body: str) -> list[Step]:
    """The steps that are read, each after those it reads."""
    reads = {step.name: _reads(step.body) for step in steps}
    waiting, needed = _reads(body) & reads.keys(), set[str]()
    while waiting:
        needed |= waiting
        waiting = set().union(*(reads[name] for name in waiting)) & reads.keys() - needed
    left, out = [step for step in steps if step.name in needed], list[Step]()
    while left:
        names = {step.name for step in left}
        ready = next((step for step in left if not reads[step.name] & names - {step.name}), None)
        if ready is None:
            raise ValueError(f"values of {', '.join(names)} need each other, which SQL cannot say")
        left.remove(ready)
        out.append(ready)
    return out


def _reads(text: str) -> set[str]:
    """What a text selects from."""
    return set(re.findall(r"(?:from|join) (\w+)", text))
