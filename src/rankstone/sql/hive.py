"""Queries written for Hive, as DuckDB understands them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rankstone.sql.functions import parse_order

if TYPE_CHECKING:
    from sqlglot import exp

Tree: TypeAlias = "exp.Expression"  # sqlglot.parse_one("select 1")


def rewritten(text: str) -> list[str]:
    """A text's statements in DuckDB's SQL."""
    trees = parsed(text, "hive")
    from sqlglot import exp

    for tree in trees:
        for call in list(tree.find_all(exp.Anonymous)):
            if call.name.lower() == "to_ordered_list":
                name_the_map(call)
            elif call.name.lower() == "each_top_k":
                spread(call)
    return [tree.sql(dialect="duckdb") for tree in trees]


def parsed(text: str, dialect: str) -> list[Tree]:
    """A text's statements as trees."""
    try:
        import sqlglot
        from sqlglot import errors
    except ImportError:
        raise ImportError(
            "reading a query needs sqlglot: pip install 'rankstone[duckdb]' or 'rankstone[spark]'"
        ) from None
    try:
        trees = [tree for tree in sqlglot.parse(text, read=dialect) if tree is not None]
    except errors.ParseError as error:
        raise ValueError(f"cannot read the query: {error}") from None
    if not trees:
        raise ValueError("there is no statement to run")
    return trees


def name_the_map(call: Tree) -> None:
    """`to_ordered_list(..., '-kv_map')` is a map, and an engine must know that before it has read the options."""
    last = call.expressions[-1]
    if last.is_string and last.this.strip().startswith("-"):
        order = parse_order(last.this, keyed=len(call.expressions) == 3)
        if order.form != "list":
            call.set("this", f"to_ordered_list_{order.form}")


def spread(call: Tree) -> None:
    """`select each_top_k(2, class, score, class, student) as (rank, score, class, student)` as a window.

    Equal keys share a rank. A negative k takes the smallest.
    """
    from sqlglot import exp

    select = call.parent_select
    outer = select.expressions[0]
    if len(select.expressions) != 1 or call not in (outer, outer.this):
        raise ValueError("each_top_k makes all columns of its select; give it the others as arguments")
    if len(call.expressions) < 4:
        raise ValueError("each_top_k takes k, a group, a key, and the columns to return")
    k, group, key, *columns = call.expressions
    names = [column.name for column in (outer.expressions if isinstance(outer, exp.Aliases) else ())]
    names = names or ["rank", "key", *(f"c{at}" for at in range(1, len(columns) + 1))]
    if len(names) != len(columns) + 2:
        raise ValueError(f"each_top_k makes {len(columns) + 2} columns, and {len(names)} are named")
    top, bottom = (
        (exp.func("if", exp.GT(this=k.copy(), expression=exp.Literal.number(0)), *pair))
        for pair in ((key.copy(), exp.null()), (exp.null(), key.copy()))
    )

    def over(function: Tree) -> Tree:
        order = [exp.Ordered(this=top.copy(), desc=True, nulls_first=False)]
        order.append(exp.Ordered(this=bottom.copy(), nulls_first=False))
        return exp.Window(this=function, partition_by=[group.copy()], order=exp.Order(expressions=order))

    made = [over(exp.DenseRank()), exp.cast(key, "double"), *columns]
    select.set("expressions", [exp.alias_(column, name) for column, name in zip(made, names, strict=True)])
    select.set("qualify", exp.Qualify(this=exp.LTE(this=over(exp.RowNumber()), expression=exp.Abs(this=k.copy()))))
