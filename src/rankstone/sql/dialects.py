"""What the dialects of SQL differ in, as far as our statements go: one row a dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankstone.metrics.declaration import nearest, unknown_word


@dataclass(frozen=True)
class Dialect:
    """How a database writes what all of them can do. `{}` stands for an expression."""

    name: str
    grammar: str  # sqlglot's name for it
    double: str = "double"
    single: str = "float"  # of 32 bits; none where there is no such type
    text: str = "varchar"
    quotes: str = '""'
    backslash: bool = False  # does it escape in a text
    pointed: bool = False  # must numbers have a point, so as not to be divided as whole ones
    log2: str = "log2({})"
    ln: str = "ln({})"
    power: str = "power({}, {})"
    ceil: str = "ceil({})"
    least: str = "least({}, {})"
    greatest: str = "greatest({}, {})"
    total: str = "sum"  # of no rows: null
    average: str = "avg"
    concat: str = " || "
    fail: str = "cast({} as integer)"  # an error that shows a text
    # Rows of a list: what to select as item and position (and of a second list, as value), and what to select from;
    # {t} is a row of the table, {items} and {values} are columns.
    item: str = ""
    position: str = ""
    value: str = ""
    rows: str = ""
    rows_of_two: str = ""  # where two lists are opened in another way
    counts_ties: bool = False  # is it quicker to count the tied items before one than to sort all of them
    bytewise: str = "{}"  # a text that is compared byte by byte
    by_kind: str = ""  # orders ids byte by byte if they are texts, and by their size if they are numbers
    is_sorted_by_bytes: bool = True

    def quoted(self, name: str) -> str:
        """A name as it is, whatever it holds."""
        left, right = self.quotes[0], self.quotes[1]
        return left + name.replace(right, right * 2) + right

    def literal(self, text: str) -> str:
        """A text."""
        text = text.replace("'", "''")
        return "'" + (text.replace("\\", "\\\\") if self.backslash else text) + "'"


_SPARK: dict[str, Any] = {
    "text": "string",
    "quotes": "``",
    "backslash": True,
    "fail": "raise_error({})",
    "item": "u.item",
    "position": "u.nth + 1",
    "value": "get({values}, u.nth)",
    "rows": "{t} lateral view posexplode({items}) u as nth, item",
}
_POSTGRES: dict[str, Any] = {
    "double": "double precision",
    "single": "real",
    "text": "text",
    "log2": "ln({}) / ln(2e0)",
}

DIALECTS = {
    row.name: row
    for row in (
        Dialect(
            "duckdb",
            "duckdb",
            single="real",
            fail="error({})",
            item="unnest({items})",
            position="generate_subscripts({items}, 1)",
            value="unnest({values})",
            rows="{t}",
            counts_ties=True,
        ),
        Dialect("spark", "spark", **_SPARK),
        Dialect("databricks", "databricks", **_SPARK),
        Dialect(
            "postgres",
            "postgres",
            **_POSTGRES,
            item="u.item",
            position="u.position",
            value="u.value",
            rows="{t} cross join lateral unnest({items}) with ordinality as u(item, position)",
            rows_of_two="{t} cross join lateral unnest({items}, {values}) with ordinality as u(item, value, position)",
            bytewise='{} collate "C"',
            by_kind="case when pg_typeof({0})::text like '%int%' then {0}::text::numeric end{1}, "
            '{0}::text collate "C"{1}',
            is_sorted_by_bytes=False,
        ),
        Dialect(
            "redshift",
            "redshift",
            **_POSTGRES,
            item="item",
            position="nth + 1",
            value="{values}[nth]",
            rows="{t}, {items} as item at nth",
        ),
        Dialect(
            "clickhouse",
            "clickhouse",
            double="Nullable(Float64)",
            single="Nullable(Float32)",
            text="Nullable(String)",
            backslash=True,
            total="sumOrNull",
            average="avgOrNull",
            fail="cast({} as Int64)",
            item="item",
            position="nth",
            value="value",
            rows="{t} array join {items} as item, arrayEnumerate({items}) as nth",
            rows_of_two="{t} array join {items} as item, {values} as value, arrayEnumerate({items}) as nth",
        ),
        Dialect(
            "datafusion",
            "",
            single="real",
            item="unnest({items})",
            position="unnest(range(1, cast(array_length({items}) as bigint) + 1))",
            value="unnest({values})",
            rows="{t}",
        ),
        Dialect(
            "sqlite",
            "sqlite",
            double="real",
            single="",
            pointed=True,
            text="text",
            least="min({}, {})",
            greatest="max({}, {})",
            fail="json_extract('{{}}', {})",
            item="u.value",
            position="u.key + 1",
            value="json_extract({values}, '$[' || u.key || ']')",
            rows="{t} cross join json_each({items}) as u",
        ),
        Dialect(
            "bigquery",
            "bigquery",
            double="float64",
            single="",
            text="string",
            quotes="``",
            backslash=True,
            log2="log({}, 2)",
            fail="error({})",
            item="item",
            position="nth + 1",
            value="{values}[safe_offset(nth)]",
            rows="{t} cross join unnest({items}) as item with offset as nth",
        ),
        Dialect(
            "snowflake",
            "snowflake",
            single="",
            backslash=True,
            log2="log(2, {})",
            item="cast(u.value as varchar)",
            position="u.index + 1",
            value="cast(get({values}, u.index) as double)",
            rows="{t}, lateral flatten(input => {items}) as u",
        ),
        Dialect(
            "trino",
            "trino",
            single="real",
            item="u.item",
            position="u.position",
            value="u.value",
            rows="{t} cross join unnest({items}) with ordinality as u(item, position)",
            rows_of_two="{t} cross join unnest({items}, {values}) with ordinality as u(item, value, position)",
        ),
        Dialect(
            "mysql",
            "mysql",
            text="char",
            quotes="``",
            backslash=True,
            concat="concat",
            fail="extractvalue('<a/>', concat('~', {}))",
            bytewise="cast({} as char) collate utf8mb4_0900_bin",
            is_sorted_by_bytes=False,
        ),
        Dialect(
            "tsql",
            "tsql",
            double="float",
            single="real",
            text="varchar(4000)",
            quotes="[]",
            log2="log({}, 2)",
            ln="log({})",
            power="power(cast({} as float), {})",
            ceil="ceiling({})",
            concat=" + ",
            fail="cast({} as int)",
            bytewise="cast({} as varchar(450)) collate Latin1_General_100_BIN2_UTF8",
            is_sorted_by_bytes=False,
        ),
    )
}
_ALIASES = {"postgresql": "postgres", "sqlserver": "tsql", "mssql": "tsql", "sparksql": "spark", "presto": "trino"}


def find_dialect(name: str) -> Dialect:
    """A dialect by its name."""
    known = name.lower().replace(" ", "").replace("-", "")
    known = _ALIASES.get(known, known)
    if known not in DIALECTS:
        raise ValueError(unknown_word("dialect", name, nearest(known, DIALECTS), DIALECTS))
    return DIALECTS[known]
