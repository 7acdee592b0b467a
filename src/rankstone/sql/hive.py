"""Translates Hive queries to DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rankstone.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

Tree: TypeAlias = "exp.Expression"  # sqlglot.parse_one("select 1")

# Comments, strings and quoted names, in which a semicolon does not end a statement; semicolons; other text.
_PIECES = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|;|[^'"`;/-]+|.""", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_SETTING = re.compile(r"set\s+(?:(hivevar|hiveconf):)?([^\s=]+)\s*=(.*)", re.DOTALL | re.IGNORECASE)
# Statements that load functions in Hive; DuckDB has ours.
_FUNCTIONS = re.compile(
    r"(add\s+(jars?|files?|archives?)|create\s+temporary\s+(function|macro)|source\s+\S*define-\S+)\s", re.IGNORECASE
)
NEW = "_rankstone_new"  # the rows that overwrite a table's


def rewritten(text: str, variables: Mapping[str, str] | None = None) -> Iterator[list[str]]:
    """The DuckDB statements for each Hive statement of a text.

    variables: values of `${hivevar:k}`, as in {"hivevar:k": "2"}; `set` in the text adds to them.
    """
    settings, empty = dict(variables or {}), True
    for statement in statements(text):
        empty = False
        filled = _filled(statement, settings)
        if setting := _SETTING.fullmatch(filled):
            kind, name, value = setting.groups()
            name = f"{(kind or 'hiveconf').lower()}:{name}"
            settings[name] = value.strip()
            yield [f"""set variable "{name.replace('"', '""')}" = '{settings[name].replace("'", "''")}'"""]
        elif not _FUNCTIONS.match(f"{filled} "):
            for tree in parsed(filled, "hive"):
                yield _translated(tree)
    if empty:
        raise InputError("there is no statement to run")


def statements(text: str) -> Iterator[str]:
    """The statements of a text, without comments. `/*+ broadcast(t) */` is not a comment."""
    statement = ""
    for piece in _PIECES.findall(f"{text}\n;"):
        if piece.startswith(("--", "/*")) and not piece.startswith("/*+"):
            statement += " " + "\n" * piece.count("\n")  # keeps line numbers in errors
        elif piece != ";":
            statement += piece
        else:
            if statement.strip():
                yield statement.strip()
            statement = ""


def _filled(statement: str, settings: Mapping[str, str]) -> str:
    """A statement with its variables filled in, in strings too, as Hive does it."""

    def value(match: re.Match[str]) -> str:
        name = match[1] if ":" in match[1] else f"hivevar:{match[1]}"
        if name not in settings:
            raise InputError(f"{match[0]} has no value; write before it: set {name}=...;")
        return settings[name]

    return _VARIABLE.sub(value, statement)


def _translated(tree: Tree) -> list[str]:
    """A statement of Hive as DuckDB's, which may be several."""
    from sqlglot import errors, exp

    _check_translatable(tree)
    for hint in list(tree.find_all(exp.Hint, exp.FileFormatProperty, exp.RowFormatDelimitedProperty)):
        hint.pop()  # about how to join or store
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "to_ordered_list":
            name_the_map(call)
        elif call.name.lower() == "each_top_k":
            spread_values(call)
        elif call.name.lower() == "precision":  # Hivemall's name before 0.5, and a reserved word of DuckDB
            call.set("this", "precision_at")
    for select in list(tree.find_all(exp.Select)):
        _explode(select)

    def written(part: Tree) -> str:
        try:
            return part.sql(dialect="duckdb", unsupported_level=errors.ErrorLevel.RAISE)
        except errors.UnsupportedError as error:
            raise InputError(f"DuckDB cannot run the query: {error}") from None

    if not (isinstance(tree, exp.Insert) and tree.args.get("overwrite")):
        return [written(tree)]
    # The new rows may read the old ones, so they are computed first.
    tree.set("overwrite", False)
    query, names = tree.expression.copy(), tree.args.get("with_") or tree.args.get("with")
    for key in ("with_", "with"):
        tree.set(key, None)
    tree.set("expression", exp.select("*").from_(NEW))
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    rows = f"{written(names)} {written(query)}" if names else written(query)
    return [
        f"create temp table {NEW} as {rows}",
        f"delete from {written(table)}",
        written(tree),
        f"drop table {NEW}",
    ]


def _check_translatable(tree: Tree) -> None:
    from sqlglot import exp

    if type(tree).__name__ == "MultitableInserts":
        raise InputError("several inserts from one table: write each of them as 'insert ... select ... from ...'")
    if isinstance(tree, exp.Insert):
        if isinstance(tree.this, exp.Directory):
            raise InputError("DuckDB writes files with: copy (select ...) to 'name.csv'")
        if tree.find(exp.Partition) is not None:
            raise InputError("a table of DuckDB has no partitions; leave out 'partition', and select the column")


def _explode(select: Tree) -> None:
    """`explode(map) as (key, value)` as two columns, and lateral views as joins."""
    from sqlglot import exp

    columns: list[Tree] = []
    for column in select.expressions:
        if isinstance(column, exp.Aliases) and type(column.this) is exp.Explode:
            opened = _opened(column.this, len(column.expressions))
            columns += [exp.alias_(part, name) for part, name in zip(opened, column.expressions, strict=True)]
        else:
            columns.append(column)
    select.set("expressions", columns)
    for view in select.args.get("laterals") or []:
        alias = view.args.get("alias") or exp.TableAlias()
        rows = exp.Subquery(this=exp.select(*_opened(view.this, len(alias.columns))))
        outer = view.args.get("outer") or isinstance(view.this, exp.ExplodeOuter)
        how = {"side": "LEFT", "on": exp.true()} if outer else {"kind": "CROSS"}
        select.append("joins", exp.Join(this=exp.Lateral(this=rows, alias=alias), **how))
    select.set("laterals", None)


def _opened(call: Tree, count: int) -> list[Tree]:
    """The columns of explode: an array's items, optionally after their positions, or a map's keys and values."""
    from sqlglot import exp

    def of(content: Tree, *functions: str) -> Tree:
        for function in functions:
            content = exp.Anonymous(this=function, expressions=[content])
        return exp.Explode(this=content.copy())

    content, places = call.this, isinstance(call, exp.Posexplode)
    if places and count == 2:
        return [of(content, "len", "range"), of(content)]
    if isinstance(call, exp.Explode) and not places and count in (1, 2):
        return [of(content)] if count == 1 else [of(content, "map_keys"), of(content, "map_values")]
    raise InputError(
        f"{call.sql(dialect='hive')}: a lateral view is of 'explode(array) t as item', 'explode(map) t as key, value' "
        "or 'posexplode(array) t as place, item', its columns named"
    )


def parsed(text: str, dialect: str) -> list[Tree]:
    """A text's statements as trees."""
    try:
        import sqlglot
        from sqlglot import errors
    except ImportError:
        raise ImportError("reading a query needs sqlglot: pip install sqlglot") from None
    try:
        trees = [tree for tree in sqlglot.parse(text, read=dialect) if tree is not None]
    except errors.ParseError as error:
        raise InputError(f"cannot read the query: {error}") from None
    if not trees:
        raise InputError("there is no statement to run")
    return trees


class Order(NamedTuple):
    """How `to_ordered_list` sorts: direction, number of items (None: all), and the form of the result."""

    descending: bool = False
    size: int | None = None
    dedup: bool = False
    form: str = "list"  # or "kv_map", "vk_map"


def parse_order(text: str, *, keyed: bool = True) -> Order:
    """`-k 10 -reverse -dedup -vk_map` as an order. A positive k takes the largest, a negative one the smallest."""
    words = iter(text.split())
    order = Order()
    for word in words:
        if word == "-k":
            value = next(words, "")
            if not re.fullmatch(r"-?\d+", value) or int(value) == 0:
                raise InputError(f"-k must be a whole number other than 0, not {value!r}")
            order = order._replace(size=int(value))
        elif word in ("-reverse", "-reverse_order"):
            order = order._replace(descending=True)
        elif word == "-dedup":
            order = order._replace(dedup=True)
        elif word in ("-kv_map", "-vk_map"):
            if order.form != "list":
                raise InputError("choose -kv_map or -vk_map, not both")
            if not keyed:
                raise InputError(f"{word} needs both a value and a key")
            order = order._replace(form=word[1:])
        else:
            raise InputError(f"unknown option {word!r}; there are -k N, -reverse, -dedup, -kv_map and -vk_map")
    if order.size is not None:
        return order._replace(descending=order.descending != (order.size > 0), size=abs(order.size))
    return order


def name_the_map(call: Tree) -> None:
    """`to_ordered_list(..., '-kv_map')` is a map, by a name of its own: types cannot depend on options."""
    last = call.expressions[-1]
    if last.is_string and last.this.strip().startswith("-"):
        order = parse_order(last.this, keyed=len(call.expressions) == 3)
        if order.form != "list":
            call.set("this", f"to_ordered_list_{order.form}")


def spread_values(call: Tree) -> None:
    """`select each_top_k(2, class, score, class, student) as (rank, score, class, student)` as a window.

    Equal keys share a rank. A negative k takes the smallest.
    """
    from sqlglot import exp

    select = call.parent_select
    outer = select.expressions[0]
    if len(select.expressions) != 1 or call not in (outer, outer.this):
        raise InputError("each_top_k returns all columns of its select; pass the others as arguments")
    if len(call.expressions) < 4:
        raise InputError("each_top_k takes k, a group, a key, and the columns to return")
    k, group, key, *columns = call.expressions
    names = [column.name for column in (outer.expressions if isinstance(outer, exp.Aliases) else ())]
    names = names or ["rank", "key", *(f"c{at}" for at in range(1, len(columns) + 1))]
    if len(names) != len(columns) + 2:
        raise InputError(f"each_top_k returns {len(columns) + 2} columns, but {len(names)} are named")
    top, bottom = (
        (exp.func("if", exp.GT(this=k.copy(), expression=exp.Literal.number(0)), *pair))
        for pair in ((key.copy(), exp.null()), (exp.null(), key.copy()))
    )

    def over(function: Tree) -> Tree:
        order = [exp.Ordered(this=top.copy(), desc=True, nulls_first=False)]
        order.append(exp.Ordered(this=bottom.copy(), nulls_first=False))
        return exp.Window(this=function, partition_by=[group.copy()], order=exp.Order(expressions=order))

    outputs = [over(exp.DenseRank()), exp.cast(key, "double"), *columns]
    select.set("expressions", [exp.alias_(column, name) for column, name in zip(outputs, names, strict=True)])
    select.set("qualify", exp.Qualify(this=exp.LTE(this=over(exp.RowNumber()), expression=exp.Abs(this=k.copy()))))
