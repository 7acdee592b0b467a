"""The SQL functions in Spark SQL: measures of one row are Arrow functions, all others are made of Spark's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.conventions.convention import Convention
from rankstone.sql.functions import KERNELS, ROWS, Arguments, Expression, Mean, Writer, mean_of, measures, of_rows
from rankstone.sql.hive import parse_order

if TYPE_CHECKING:
    import pyarrow
    import pyspark.sql

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
    made = {name: _mean(name, mean_of(name, convention)) for name in measures()}
    for name in ROWS:
        made[name] = _of_rows(name, made.get(name))
    return {**made, "to_ordered_list": _ordered_list, "to_ordered_map": _ordered_map, "each_top_k": _each_top_k}


def _mean(name: str, rule: Mean) -> Build:
    return lambda to, arguments: rule.write(to, name, arguments)


def _of_rows(name: str, otherwise: Build | None) -> Build:
    def build(to: Writer, arguments: Arguments) -> Expression:
        if otherwise is not None and len(arguments) > 2:
            return otherwise(to, arguments)
        if len(arguments) < 2:
            raise TypeError(f"{name} takes two columns, and maybe a text of options")
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
        made = to.field(entries, "v")
    elif order.form == "kv_map":
        made = _map(to, entries, "k", "v")
    else:
        made = _map(to, entries, "v", "k")
    return to.call("nvl2", to.call("get", entries, to.constant(0)), made, to.constant(None))


def _ordered_map(to: Writer, arguments: Arguments) -> Expression:
    key, value, *rest = arguments
    third = to.read(rest[0]) if rest else False
    if third is None:
        raise ValueError("to_ordered_map: the third argument must be true, false or a number, not a column")
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
    raise ValueError("each_top_k makes several rows of several; Spark needs it rewritten: rs.spark.sql(session, text)")


# -- in a session --------------------------------------------------------------------------------------------


def register(session: Session, convention: str | Convention | None = None) -> None:
    """Make the functions known to a session, for its `sql`. On Spark Connect, queries go through `rs.spark.sql`."""
    for name in scalars():
        register_scalar(session, name, convention)
    if is_classic(session):
        from rankstone.spark.classic import register_builder

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
