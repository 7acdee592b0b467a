"""Functions put into a session's registry through py4j: Python builds Spark's own expressions, and no jar is needed.

Spark's public ways do not suffice. An aggregate in Python (`udf.register`) cannot stand next to `count(*)`, gives no
row for an empty table, and returns one type; a SQL function has no aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

    from rankstone.spark.functions import Build, Session
    from rankstone.sql.functions import Arguments, Constant

Tree: TypeAlias = "JavaObject"  # an expression of Spark's


def register_builder(session: Session, name: str, build: Build) -> None:
    """Make a function known that is made of others."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(session.sparkContext._gateway)
    registry = session._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(name, _Builder(session, name, build), "scala_udf")


class _Builder:
    """What Spark calls with a function's arguments: from a sequence of expressions to one."""

    class Java:
        implements = ("scala.Function1",)

    def __init__(self, session: Session, name: str, build: Build) -> None:
        self._to, self._name, self._build = _Trees(session), name, build

    def apply(self, arguments: JavaObject) -> Tree:
        given = [arguments.apply(at) for at in range(arguments.size())]
        return self._to.titled(self._name, given, self._build(self._to, given))


class _Trees:
    """Writes Spark's expressions. What a name means is left to its analyser, which comes by again."""

    def __init__(self, session: Session) -> None:
        self._jvm = session.sparkContext._jvm
        self._parser = session._jsparkSession.sessionState().sqlParser()
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        self._expressions, self._analysis = catalyst.expressions, catalyst.analysis
        self._literal = getattr(getattr(self._expressions, "Literal$"), "MODULE$")

    def call(self, name: str, *arguments: Tree) -> Tree:
        return self._filled(f"{name}({', '.join('x' * len(arguments))})", arguments)

    def operator(self, sign: str, left: Tree, right: Tree) -> Tree:
        return self._filled(f"x {sign} x", (left, right))

    def constant(self, value: Constant) -> Tree:
        return self._literal.apply(value)

    def field(self, of: Tree, name: str) -> Tree:
        return self._analysis.UnresolvedExtractValue(of, self.constant(name))

    def function(self, names: Sequence[str], body: Callable[..., Tree]) -> Tree:
        variables = [self._expressions.UnresolvedNamedLambdaVariable(self._sequence([name])) for name in names]
        return self._expressions.LambdaFunction(body(*variables), self._sequence(variables), False)

    def read(self, argument: Tree) -> Constant:
        if not argument.foldable():
            return None
        value = argument.eval(None)
        return value if value is None or isinstance(value, (bool, int, float)) else value.toString()

    def refuse(self, problem: str) -> Tree:
        raise ValueError(problem)

    def titled(self, name: str, arguments: Arguments, tree: Tree) -> Tree:
        """An expression that a column is named after as the user wrote it. Inside another one, Spark drops the name."""
        title = f"{name}({', '.join(map(_written, arguments))})"
        return self._filled(f"x as `{title.replace('`', '``')}`", (tree,))

    def _filled(self, text: str, arguments: Arguments) -> Tree:
        return self._parser.parseExpression(text).withNewChildren(self._sequence(arguments))

    def _sequence(self, items: Sequence[Any]) -> JavaObject:
        return self._jvm.PythonUtils.toSeq(list(items))


def _written(tree: Tree) -> str:
    """An expression as SQL, a column without its table."""
    return str(tree.name() if tree.getClass().getSimpleName() == "AttributeReference" else tree.sql())
