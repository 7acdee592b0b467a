"""What the dialects of SQL differ in, as far as our statements go: one row a dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from rankstone.metrics.declaration import nearest, unknown_word


class Rows(NamedTuple):
    """How the lists of a table become rows of items; {t} is a row of the table, {items} and {values} are columns."""

    item: str
    position: str
    value: str  # of a second list
    source: str  # what to select from
    source_of_two: str = ""  # where two lists are opened in another way


@dataclass(frozen=True)
class Dialect:
    """How a database writes what all of them can do. `{}` stands for an expression."""

    name: str
    grammar: str  # sqlglot's name for it
    rows: Rows | None = None  # of lists; None where there are no lists
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
    total: str = "sum({})"  # of no rows: null
    average: str = "avg({})"
    concat: str = " || "
    fail: str = "cast({} as integer)"  # an error that shows a text
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


_OF_SPARK = Rows("u.item", "u.nth + 1", "get({values}, u.nth)", "{t} lateral view posexplode({items}) u as nth, item")
_SPARK: dict[str, Any] = {"text": "string", "quotes": "``", "backslash": True, "fail": "raise_error({})"}
_POSTGRES: dict[str, Any] = {
    "double": "double precision",
    "single": "real",
    "text": "text",
    "log2": "ln({}) / ln(2e0)",
}


def _ordinality(join: str) -> Rows:
    """Rows as standard SQL has them."""
    one, two = (
        f"{{t}} cross join {join}unnest({lists}) with ordinality as u" for lists in ("{items}", "{items}, {values}")
    )
    return Rows("u.item", "u.position", "u.value", f"{one}(item, position)", f"{two}(item, value, position)")


DIALECTS = {
    row.name: row
    for row in (
        Dialect(
            "duckdb",
            "duckdb",
            Rows("unnest({items})", "generate_subscripts({items}, 1)", "unnest({values})", "{t}"),
            single="real",
            fail="error({})",
            counts_ties=True,
        ),
        Dialect("spark", "spark", _OF_SPARK, **_SPARK),
        Dialect("databricks", "databricks", _OF_SPARK, **_SPARK),
        Dialect(
            "postgres",
            "postgres",
            _ordinality("lateral "),
            **_POSTGRES,
            bytewise='{} collate "C"',
            by_kind="case when pg_typeof({0})::text like '%int%' then {0}::text::numeric end{1}, "
            '{0}::text collate "C"{1}',
            is_sorted_by_bytes=False,
        ),
        Dialect(
            "redshift", "redshift", Rows("item", "nth + 1", "{values}[nth]", "{t}, {items} as item at nth"), **_POSTGRES
        ),
        Dialect(
            "clickhouse",
            "clickhouse",
            Rows(
                "item",
                "nth",
                "value",
                "{t} array join {items} as item, arrayEnumerate({items}) as nth",
                "{t} array join {items} as item, {values} as value, arrayEnumerate({items}) as nth",
            ),
            double="Nullable(Float64)",
            single="Nullable(Float32)",
            text="Nullable(String)",
            backslash=True,
            total="sumOrNull({})",
            average="avgOrNull({})",
            fail="cast({} as Int64)",
        ),
        Dialect(
            "datafusion",
            "",
            Rows(
                "unnest({items})",
                "unnest(range(1, cast(array_length({items}) as bigint) + 1))",
                "unnest({values})",
                "{t}",
            ),
            single="real",
        ),
        Dialect(
            "sqlite",
            "sqlite",
            Rows(
                "u.value",
                "u.key + 1",
                "json_extract({values}, '$[' || u.key || ']')",
                "{t} cross join json_each({items}) as u",
            ),
            double="real",
            single="",
            pointed=True,
            text="text",
            least="min({}, {})",
            greatest="max({}, {})",
            fail="json_extract('{{}}', {})",
        ),
        Dialect(
            "bigquery",
            "bigquery",
            Rows(
                "item",
                "nth + 1",
                "{values}[safe_offset(nth)]",
                "{t} cross join unnest({items}) as item with offset as nth",
            ),
            double="float64",
            single="",
            text="string",
            quotes="``",
            backslash=True,
            log2="log({}, 2)",
            fail="error({})",
        ),
        Dialect(
            "snowflake",
            "snowflake",
            Rows(
                "cast(u.value as varchar)",
                "u.index + 1",
                "cast(get({values}, u.index) as double)",
                "{t}, lateral flatten(input => {items}) as u",
            ),
            single="",
            backslash=True,
            log2="log(2, {})",
        ),
        Dialect("trino", "trino", _ordinality(""), single="real"),
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
