"""Expressions, select lists and statements as text of SQL, in a dialect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rankstone.errors import InputError, InputTypeError
from rankstone.program.sql_terms import Term
from rankstone.sql.dialects import LINE_BREAK, Dialect

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


class Scope(Protocol):
    """The scope of an expression: the values it can read."""

    def named(self, value: Term) -> str | None:
        """The column or text of a value in this scope; None if it has to be written out."""


class Expressions:
    """Writes expressions."""

    dialect: Dialect

    def write(self, value: Term, at: Scope, within: int = 0) -> str:
        """An expression as text, in parentheses if its context binds more tightly."""
        text, strength = self._written(value, at)
        return f"({text})" if strength < within else text

    def _written(self, value: Term, at: Scope) -> tuple[str, int]:
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
            raise InputTypeError(f"{op!r} is not allowed here")
        form, strength, binding = _FORMS[op]
        return form.format(*(self.write(arg, at, within) for arg, within in zip(args, binding, strict=True))), strength

    def _case(self, value: Term, at: Scope) -> str:
        branches, rest = [], value
        while rest.op == "where" and at.named(rest) is None:
            branches.append(f"when {self.write(rest.args[0], at)} then {self.write(rest.args[1], at)}")
            rest = rest.args[2]
        other = "" if rest.op == "null" else f" else {self.write(rest, at)}"
        text = f"case {' '.join(branches)}{other} end"
        return self.double(text) if self._is_whole(value, at) else text

    def _is_whole(self, value: Term, at: Scope) -> bool:
        """Whether all branches are literal numbers, which a database may read as integers."""
        if value.op == "where" and at.named(value) is None:
            return self._is_whole(value.args[1], at) and self._is_whole(value.args[2], at)
        return value.op in ("number", "null") and at.named(value) is None

    def number(self, value: float) -> str:
        """A number literal."""
        whole = value.is_integer() and abs(value) < 1e15 and not self.dialect.pointed
        return str(int(value)) if whole else repr(value)

    def double(self, text: str) -> str:
        """As a floating-point number."""
        return f"cast({text} as {self.dialect.double})"

    def text(self, *parts: str) -> str:
        """Concatenated texts."""
        if self.dialect.concat == "concat":
            return f"concat({', '.join(parts)})"
        return self.dialect.concat.join(parts)

    def as_text(self, expression: str) -> str:
        return f"cast({expression} as {self.dialect.text})"


def outermost(values: Iterable[Term], wanted: Callable[[Term], bool]) -> list[Term]:
    """Of what some expressions are made of, what is wanted and stands in nothing else that is."""
    outer: dict[Term, None] = {}
    waiting, seen = list(values)[::-1], set[Term]()
    while waiting:
        value = waiting.pop()
        if wanted(value):
            outer[value] = None
        elif value not in seen:
            seen.add(value)
            waiting += value.parts[::-1]
    return list(outer)


@dataclass(frozen=True)
class Step:
    """One named part of a statement (a common table expression)."""

    name: str
    comment: str
    body: str


def select(columns: Sequence[str], indent: int = 2) -> str:
    """A select list, on one line if it fits."""
    line = f"select {', '.join(columns)}"
    if len(line) + indent <= _WIDE and len(columns) <= 5:
        return line
    return "select\n" + ",\n".join(f"{' ' * indent}{column}" for column in columns)


def indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.split("\n"))


def statement(head: Iterable[str], steps: Sequence[Step], body: str) -> str:
    """A statement as text: comments, the steps that are read, and the final select."""
    parts = []
    for step in _sorted(steps, body):
        comment = f"-- {step.comment}\n" if step.comment else ""
        parts.append(f"{comment}{step.name} as (\n{indented(step.body)}\n)")
    # A user's name of a convention or a metric must not end the comment.
    comments = "".join(re.sub(r"[\r\n]+", " ", f"-- {line}").rstrip() + "\n" for line in head)
    listed = ",\n".join(parts)
    return f"{comments}with\n{listed}\n{body}\n".replace(LINE_BREAK, "\n")


def _sorted(steps: Sequence[Step], body: str) -> list[Step]:
    """The steps that are read, in the order of their dependencies."""
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
            raise InputError(f"values of {', '.join(names)} depend on each other, which SQL cannot express")
        left.remove(ready)
        out.append(ready)
    return out


def _reads(text: str) -> set[str]:
    """The sources of a select."""
    return set(re.findall(r"(?:from|join) (\w+)", text))
