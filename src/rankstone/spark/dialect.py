"""`rs.spark.sql`: queries with the functions as queries of Spark's own, for Spark Connect and for `each_top_k`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rankstone.conventions.convention import Convention
from rankstone.spark.functions import Session, Table, builders, register_scalar, scalars
from rankstone.sql.functions import Constant
from rankstone.sql.hive import Tree, parsed, spread, statements

_SIGNS = {"=": "EQ", "+": "Add", "/": "Div"}


def sql(session: Session, text: str, convention: str | Convention | None = None) -> Table:
    """Run a query that uses the functions, on any session. Returns a Spark table, the last statement's of several."""
    statements, used = rewritten(text, convention)
    for name in used:
        register_scalar(session, name, convention)
    return [session.sql(statement) for statement in statements][-1]


def rewritten(text: str, convention: str | Convention | None = None) -> tuple[list[str], list[str]]:
    """A text's statements in Spark's own functions, and the functions of one row that they call."""
    from sqlglot import exp

    made, to, known = builders(convention), _Text(), scalars()
    written: list[str] = []
    used: dict[str, None] = {}
    for statement in statements(text):
        if re.match(r"set\s", statement, re.IGNORECASE):  # Spark's own business
            written.append(statement)
            continue
        [tree] = parsed(statement, "spark")
        calls = list(tree.find_all(exp.Anonymous, bfs=True))
        titles = {id(call): call.sql(dialect="spark", comments=False, normalize_functions=False) for call in calls}
        # From the inside out, so that what a function is given has been rewritten.
        for call in reversed(calls):
            name = call.name.lower()
            if name == "each_top_k":
                spread(call)
            elif name in made:
                body = made[name](to, call.expressions)
                named = isinstance(call.parent, exp.Select) and call.arg_key == "expressions"
                call.replace(exp.alias_(body, titles[id(call)], quoted=True) if named else body)
        found = (call.name.lower() for call in tree.find_all(exp.Anonymous))
        used.update(dict.fromkeys(name for name in found if name in known))
        written.append(tree.sql(dialect="spark"))
    if not written:
        raise ValueError("there is no statement to run")
    return written, list(used)


class _Text:
    """Writes expressions as sqlglot has them."""

    def __init__(self) -> None:
        from sqlglot import exp

        self._exp = exp

    def call(self, name: str, *arguments: Tree) -> Tree:
        return self._exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])

    def operator(self, sign: str, left: Tree, right: Tree) -> Tree:
        return getattr(self._exp, _SIGNS[sign])(this=left.copy(), expression=right.copy())

    def constant(self, value: Constant) -> Tree:
        return self._exp.convert(value)

    def field(self, of: Tree, name: str) -> Tree:
        return self._exp.Dot(this=of.copy(), expression=self._exp.to_identifier(name))

    def function(self, names: Sequence[str], body: Callable[..., Tree]) -> Tree:
        variables = [self._exp.to_identifier(name) for name in names]
        return self._exp.Lambda(this=body(*variables), expressions=variables)

    def read(self, argument: Tree) -> Constant:
        if isinstance(argument, self._exp.Neg):
            value = self.read(argument.this)
            return -value if isinstance(value, (int, float)) else None
        if isinstance(argument, self._exp.Boolean):
            return bool(argument.this)
        return argument.to_py() if isinstance(argument, self._exp.Literal) else None

    def refuse(self, problem: str) -> Tree:
        raise ValueError(problem)
