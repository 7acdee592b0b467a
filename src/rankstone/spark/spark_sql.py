"""The SQL functions in Spark SQL: in a session's registry, or in queries that are rewritten for Spark Connect."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.conventions.convention import Convention
from rankstone.errors import InputError, InputTypeError
from rankstone.sql.hive import Tree, parse_order, parsed, spread_values, statements
from rankstone.sql.list_functions import (
    KERNELS,
    ROWS,
    Arguments,
    Constant,
    Expression,
    Mean,
    Writer,
    mean_of,
    measures,
    of_rows,
)

if TYPE_CHECKING:
    import pyarrow
    import pyspark.sql
    from py4j.java_gateway import JavaObject

    from rankstone.sql.list_functions import Arguments, Constant


Session: TypeAlias = "pyspark.sql.SparkSession"  # SparkSession.builder.getOrCreate(), or one of Spark Connect
Table: TypeAlias = "pyspark.sql.DataFrame"  # session.table("truth")
Kernel: TypeAlias = "Callable[..., pyarrow.Array]"  # one of `KERNELS`, or `of_rows`
Build: TypeAlias = Callable[[Writer, Arguments], Expression]  # makes an expression of a function's arguments


def scalars() -> dict[str, tuple[Kernel, str]]:
    """Functions of one row: which kernel, and the SQL name of what it computes."""
    own = {f"{name}_{part}": (kernel, name) for name in measures() for part, kernel in KERNELS.items()}
    rows = {row_function(name): (of_rows, name) for name in ROWS}
    return {**own, **rows}


def row_function(name: str) -> str:
    """The function that measures a group's rows, gathered in two lists."""
    return f"rankstone_{name}_rows" if name in measures() else f"{name}_score"


def builders(convention: str | Convention | None) -> dict[str, Build]:
    """Functions that are made of others, by name."""
    functions = {name: _mean(name, mean_of(name, convention)) for name in measures()}
    for name in ROWS:
        functions[name] = _of_rows(name, functions.get(name))
    return {**functions, "to_ordered_list": _ordered_list, "to_ordered_map": _ordered_map, "each_top_k": _each_top_k}


def _mean(name: str, rule: Mean) -> Build:
    return lambda to, arguments: rule.write(to, name, arguments)


def _of_rows(name: str, otherwise: Build | None) -> Build:
    def build(to: Writer, arguments: Arguments) -> Expression:
        if otherwise is not None and len(arguments) > 2:
            return otherwise(to, arguments)
        if len(arguments) < 2:
            raise InputTypeError(f"{name} takes two columns, and maybe a text of options")
        left, right, *options = arguments
        pair = to.call("named_struct", to.constant("a"), left, to.constant("b"), right)
        pairs = to.call("collect_list", pair)
        return to.call(row_function(name), to.field(pairs, "a"), to.field(pairs, "b"), *options)

    return build


# -- lists and maps of a group -------------------------------------------------------------------------------


def _ordered_list(to: Writer, arguments: Arguments) -> Expression:
    value, *rest = arguments
    text = to.read(rest[-1]) if rest else None
    if isinstance(text, str) and text.strip().startswith("-"):
        rest = rest[:-1]
    else:
        text = ""
    order = parse_order(text, keyed=bool(rest))
    key = rest[0] if rest else value
    entries = _entries(to, key, value)
    if order.dedup:
        entries = to.call("array_distinct", entries)
    entries = _top(to, entries, order.descending, order.size)
    if order.form == "list":
        values = to.field(entries, "v")
    elif order.form == "kv_map":
        values = _map(to, entries, "k", "v")
    else:
        values = _map(to, entries, "v", "k")
    return to.call("nvl2", to.call("get", entries, to.constant(0)), values, to.constant(None))


def _ordered_map(to: Writer, arguments: Arguments) -> Expression:
    key, value, *rest = arguments
    third = to.read(rest[0]) if rest else False
    if third is None:
        raise InputError("to_ordered_map: the third argument must be true, false or a number, not a column")
    if isinstance(third, bool):
        descending, size = third, None
    else:
        order = parse_order(f"-k {third}")
        descending, size = order.descending, order.size
    entry = to.call("named_struct", to.constant("k"), key, to.constant("v"), value)
    entries = to.call("collect_list", to.call("nvl2", key, entry, to.constant(None)))
    entries = _firsts(to, _top(to, entries, descending, None), "k")
    if size is not None:
        entries = to.call("slice", entries, to.constant(1), to.constant(size))
    return to.call("map_from_arrays", to.field(entries, "k"), to.field(entries, "v"))


def _entries(to: Writer, key: Expression, value: Expression) -> Expression:
    """A group's keys and values; a row with a null does not enter."""
    entry = to.call("named_struct", to.constant("k"), key, to.constant("v"), value)
    nothing = to.constant(None)
    return to.call("collect_list", to.call("nvl2", value, to.call("nvl2", key, entry, nothing), nothing))


def _top(to: Writer, entries: Expression, descending: bool, size: int | None) -> Expression:
    """Sorted by key, equal keys by value."""
    ordered = to.call("sort_array", entries, to.constant(not descending))
    return ordered if size is None else to.call("slice", ordered, to.constant(1), to.constant(size))


def _map(to: Writer, entries: Expression, key: str, value: str) -> Expression:
    firsts = _firsts(to, entries, key)
    return to.call("map_from_arrays", to.field(firsts, key), to.field(firsts, value))


def _firsts(to: Writer, entries: Expression, key: str) -> Expression:
    """The first entry of each key."""

    def is_first(entry: Expression, at: Expression) -> Expression:
        place = to.call("array_position", to.field(entries, key), to.field(entry, key))
        return to.operator("=", place, to.operator("+", at, to.constant(1)))

    return to.call("filter", entries, to.function(("entry", "at"), is_first))


def _each_top_k(to: Writer, arguments: Arguments) -> Expression:
    raise InputError("each_top_k makes several rows of several; Spark needs it rewritten: rs.spark.sql(session, text)")


# -- in a session --------------------------------------------------------------------------------------------


def register(session: Session, convention: str | Convention | None = None) -> None:
    """Register the functions with a session, for its `sql`. On Spark Connect, queries go through `rs.spark.sql`.

    Parameters
    ----------
    session : SparkSession
        The session.
    convention : str or Convention, optional
        Whose definitions; by default those of Hivemall for its own names.
    """
    for name in scalars():
        register_scalar(session, name, convention)
    if is_classic(session):
        for name, build in builders(convention).items():
            register_builder(session, name, build)


def register_scalar(session: Session, name: str, convention: str | Convention | None) -> None:
    kernel, what = scalars()[name]
    session.udf.register(name, arrow_function(kernel, what, convention))


def is_classic(session: Session) -> bool:
    """Does the session have a JVM at hand, as those of Spark Connect do not."""
    return not type(session).__module__.startswith("pyspark.sql.connect")


def arrow_function(kernel: Kernel, what: str, convention: str | Convention | None) -> Callable[..., Any]:
    """A function of Arrow arrays for Spark."""
    import pyarrow
    from pyspark.sql import functions

    def of_arrays(*arguments: pyarrow.Array) -> pyarrow.Array:
        return kernel(what, arguments, convention)

    of_arrays.__annotations__ = dict.fromkeys(("arguments", "return"), pyarrow.Array)  # Spark reads no text
    return functions.arrow_udf(of_arrays, "double")


JavaTree: TypeAlias = "JavaObject"  # an expression of Spark's


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

    def apply(self, arguments: JavaObject) -> JavaTree:
        operands = [arguments.apply(at) for at in range(arguments.size())]
        return self._to.titled(self._name, operands, self._build(self._to, operands))


class _Trees:
    """Writes Spark's expressions. What a name means is left to its analyser, which comes by again."""

    def __init__(self, session: Session) -> None:
        self._jvm = session.sparkContext._jvm
        self._parser = session._jsparkSession.sessionState().sqlParser()
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        self._expressions, self._analysis = catalyst.expressions, catalyst.analysis
        self._literal = getattr(getattr(self._expressions, "Literal$"), "MODULE$")

    def call(self, name: str, *arguments: JavaTree) -> JavaTree:
        return self._filled(f"{name}({', '.join('x' * len(arguments))})", arguments)

    def operator(self, sign: str, left: JavaTree, right: JavaTree) -> JavaTree:
        return self._filled(f"x {sign} x", (left, right))

    def constant(self, value: Constant) -> JavaTree:
        return self._literal.apply(value)

    def field(self, of: JavaTree, name: str) -> JavaTree:
        return self._analysis.UnresolvedExtractValue(of, self.constant(name))

    def function(self, names: Sequence[str], body: Callable[..., JavaTree]) -> JavaTree:
        variables = [self._expressions.UnresolvedNamedLambdaVariable(self._sequence([name])) for name in names]
        return self._expressions.LambdaFunction(body(*variables), self._sequence(variables), False)

    def read(self, argument: JavaTree) -> Constant:
        if not argument.foldable():
            return None
        value = argument.eval(None)
        return value if value is None or isinstance(value, (bool, int, float)) else value.toString()

    def raise_where(self, problem: str) -> JavaTree:
        raise InputError(problem)

    def titled(self, name: str, arguments: Arguments, tree: JavaTree) -> JavaTree:
        """An expression that a column is named after as the user wrote it. Inside another one, Spark drops the name."""
        title = f"{name}({', '.join(map(_written, arguments))})"
        return self._filled(f"x as `{title.replace('`', '``')}`", (tree,))

    def _filled(self, text: str, arguments: Arguments) -> JavaTree:
        return self._parser.parseExpression(text).withNewChildren(self._sequence(arguments))

    def _sequence(self, items: Sequence[Any]) -> JavaObject:
        return self._jvm.PythonUtils.toSeq(list(items))


def _written(tree: JavaTree) -> str:
    """An expression as SQL, a column without its table."""
    return str(tree.name() if tree.getClass().getSimpleName() == "AttributeReference" else tree.sql())


_SIGNS = {"=": "EQ", "+": "Add", "/": "Div"}


def sql(session: Session, text: str, convention: str | Convention | None = None) -> Table:
    """Run a query that uses the functions, on any session.

    Parameters
    ----------
    session : SparkSession
        The session, classic or of Spark Connect.
    text : str
        One or several statements.
    convention : str or Convention, optional
        Whose definitions; by default those of Hivemall for its own names.

    Returns
    -------
    DataFrame
        A Spark table, of the last statement.
    """
    statements, used = rewritten(text, convention)
    for name in used:
        register_scalar(session, name, convention)
    return [session.sql(statement) for statement in statements][-1]


def rewritten(text: str, convention: str | Convention | None = None) -> tuple[list[str], list[str]]:
    """A text's statements in Spark's own functions, and the functions of one row that they call."""
    from sqlglot import exp

    functions, to, scalar_functions = builders(convention), _Text(), scalars()
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
                spread_values(call)
            elif name in functions:
                body = functions[name](to, call.expressions)
                named = isinstance(call.parent, exp.Select) and call.arg_key == "expressions"
                call.replace(exp.alias_(body, titles[id(call)], quoted=True) if named else body)
        names = (call.name.lower() for call in tree.find_all(exp.Anonymous))
        used.update(dict.fromkeys(name for name in names if name in scalar_functions))
        written.append(tree.sql(dialect="spark"))
    if not written:
        raise InputError("there is no statement to run")
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

    def raise_where(self, problem: str) -> Tree:
        raise InputError(problem)
