"""Functions put into a session's registry through py4j: Python builds Spark's own expressions, and no jar is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankstone.sql.writer import Arguments, Writer


def register_builder(session: Any, name: str, build: Callable[[Writer, Arguments], Any]) -> None:
    """Make a function known that is made of others."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(session.sparkContext._gateway)
    registry = session._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(name, _Builder(session, build), "scala_udf")


class _Builder:
    """What Spark calls with a function's arguments: from a sequence of expressions to one."""

    class Java:
        implements = ("scala.Function1",)

    def __init__(self, session: Any, build: Callable[[Writer, Arguments], Any]) -> None:
        self._to, self._build = _Trees(session), build

    def apply(self, arguments: Any) -> Any:
        return self._build(self._to, [arguments.apply(at) for at in range(arguments.size())])


class _Trees:
    """Writes Spark's expressions. What a name means is left to its analyser, which comes by again."""

    def __init__(self, session: Any) -> None:
        self._jvm = session.sparkContext._jvm
        self._parser = session._jsparkSession.sessionState().sqlParser()
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        self._expressions, self._analysis = catalyst.expressions, catalyst.analysis
        self._literal = getattr(getattr(self._expressions, "Literal$"), "MODULE$")

    def call(self, name: str, *arguments: Any) -> Any:
        return self._filled(f"{name}({', '.join('x' * len(arguments))})", arguments)

    def operator(self, sign: str, left: Any, right: Any) -> Any:
        return self._filled(f"x {sign} x", (left, right))

    def constant(self, value: Any) -> Any:
        return self._literal.apply(value)

    def field(self, of: Any, name: str) -> Any:
        return self._analysis.UnresolvedExtractValue(of, self.constant(name))

    def function(self, names: Sequence[str], body: Callable[..., Any]) -> Any:
        variables = [self._expressions.UnresolvedNamedLambdaVariable(self._sequence([name])) for name in names]
        return self._expressions.LambdaFunction(body(*variables), self._sequence(variables), False)

    def read(self, argument: Any) -> Any:
        if not argument.foldable():
            return None
        value = argument.eval(None)
        return value if value is None or isinstance(value, (bool, int, float)) else value.toString()

    def refuse(self, problem: str) -> Any:
        raise ValueError(problem)

    def _filled(self, text: str, arguments: Sequence[Any]) -> Any:
        return self._parser.parseExpression(text).withNewChildren(self._sequence(arguments))

    def _sequence(self, items: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(items))
