"""Differences of SQL dialects that our statements depend on: one row per dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rankstone.errors import InputError
from rankstone.metrics.declaration import unknown_word

# How a quote within quotes is written: twice; twice, where backslashes escape too; or after a backslash.
Escape = Literal["double", "both", "backslash"]
LINE_BREAK = "\0"  # one in a user's name or query, until the statement is indented


def as_one_line(text: str) -> str:
    """A user's text that is not to be indented."""
    if LINE_BREAK in text:
        raise InputError(f"{text!r} has a character that SQL cannot write, {LINE_BREAK!r}")
    return text.replace("\n", LINE_BREAK)


def _escaped(text: str, quote: str, how: Escape) -> str:
    if how != "double":
        text = text.replace("\\", "\\\\")
    if how == "backslash":
        text = text.replace(quote, f"\\{quote}").replace("\n", "\\n").replace("\r", "\\r")
    return as_one_line(text if how == "backslash" else text.replace(quote, quote * 2))


class ListRows(NamedTuple):
    """How the lists of a table become rows of items; {t} is a row of the table, {items} and {values} are columns."""

    item: str
    position: str
    value: str  # of a second list
    source: str  # what to select from
    source_of_two: str = ""  # if two lists need another form


@dataclass(frozen=True)
class Dialect:
    """Syntax of a database. `{}` is an expression."""

    name: str
    grammar: str  # sqlglot's name for it
    rows: ListRows | None = None  # of lists; None if it has no lists
    double: str = "double"
    single: str = "float"  # of 32 bits; empty if it has no such type
    text: str = "varchar"
    quotes: str = '""'
    string_quotes: Escape = "double"
    name_quotes: Escape = "double"
    pointed: bool = False  # whether numbers need a decimal point to avoid integer division
    log2: str = "log2({})"
    ln: str = "ln({})"
    power: str = "power({}, {})"
    ceil: str = "ceil({})"
    least: str = "least({}, {})"
    greatest: str = "greatest({}, {})"
    total: str = "sum({})"  # of no rows: null
    average: str = "avg({})"
    concat: str = " || "
    zero: str = "{}"  # a number whose -0 is to equal 0
    fail: str = "cast({} as integer)"  # raises an error with a text
    counts_ties: bool = False  # whether counting tied items is faster than sorting all items
    bytewise: str = "{}"  # a string that is compared by bytes
    by_kind: str = ""  # orders ids by bytes if they are strings, and by value if they are numbers
    is_sorted_by_bytes: bool = True

    def quoted(self, name: str) -> str:
        """A quoted name."""
        left, right = self.quotes[0], self.quotes[1]
        return left + _escaped(name, right, self.name_quotes) + right

    def is_quoted(self, name: str) -> bool:
        """Whether a text is one quoted name."""
        left, right = map(re.escape, self.quotes)
        forms = [] if self.name_quotes == "backslash" else [right * 2]
        forms += [rf"[^{right}]"] if self.name_quotes == "double" else [rf"[^{right}\\]", r"\\."]
        return (
            not {"\0", "\n"} & {*name}
            and re.fullmatch(f"{left}({'|'.join(forms)})+{right}", name, re.DOTALL) is not None
        )

    def literal(self, text: str) -> str:
        """A string literal."""
        return "'" + _escaped(text, "'", self.string_quotes) + "'"


_OF_SPARK = ListRows(
    "u.item", "u.nth + 1", "get({values}, u.nth)", "{t} lateral view posexplode({items}) u as nth, item"
)
_SPARK: dict[str, Any] = {"text": "string", "quotes": "``", "string_quotes": "both", "fail": "raise_error({})"}
_POSTGRES: dict[str, Any] = {
    "double": "double precision",
    "single": "real",
    "text": "text",
    "log2": "ln({}) / ln(2e0)",
}


def _ordinality(join: str) -> ListRows:
    """Rows in standard SQL."""
    one, two = (
        f"{{t}} cross join {join}unnest({lists}) with ordinality as u" for lists in ("{items}", "{items}, {values}")
    )
    return ListRows("u.item", "u.position", "u.value", f"{one}(item, position)", f"{two}(item, value, position)")


DIALECTS = {
    row.name: row
    for row in (
        Dialect(
            "duckdb",
            "duckdb",
            ListRows("unnest({items})", "generate_subscripts({items}, 1)", "unnest({values})", "{t}"),
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
            "redshift",
            "redshift",
            ListRows("item", "nth + 1", "{values}[nth]", "{t}, {items} as item at nth"),
            **_POSTGRES,
            string_quotes="both",
        ),
        Dialect(
            "clickhouse",
            "clickhouse",
            ListRows(
                "item",
                "nth",
                "value",
                "{t} array join {items} as item, arrayEnumerate({items}) as nth",
                "{t} array join {items} as item, {values} as value, arrayEnumerate({items}) as nth",
            ),
            double="Nullable(Float64)",
            single="Nullable(Float32)",
            text="Nullable(String)",
            string_quotes="both",
            name_quotes="both",
            total="sumOrNull({})",
            average="avgOrNull({})",
            fail="cast({} as Int64)",
        ),
        Dialect(
            "datafusion",
            "",
            ListRows(
                "unnest({items})",
                "unnest(range(1, cast(array_length({items}) as bigint) + 1))",
                "unnest({values})",
                "{t}",
            ),
            single="real",
            zero="{} + 0e0",
        ),
        Dialect(
            "sqlite",
            "sqlite",
            ListRows(
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
            ListRows(
                "item",
                "nth + 1",
                "{values}[safe_offset(nth)]",
                "{t} cross join unnest({items}) as item with offset as nth",
            ),
            double="float64",
            single="",
            text="string",
            quotes="``",
            string_quotes="backslash",
            name_quotes="backslash",
            log2="log({}, 2)",
            fail="error({})",
        ),
        Dialect(
            "snowflake",
            "snowflake",
            ListRows(
                "cast(u.value as varchar)",
                "u.index + 1",
                "cast(get({values}, u.index) as double)",
                "{t}, lateral flatten(input => {items}) as u",
            ),
            single="",
            string_quotes="both",
            log2="log(2, {})",
        ),
        Dialect("trino", "trino", _ordinality(""), single="real"),
        Dialect(
            "mysql",
            "mysql",
            text="char",
            quotes="``",
            string_quotes="both",
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
    key = str(name).lower().replace(" ", "").replace("-", "")
    key = _ALIASES.get(key, key)
    if key not in DIALECTS:
        raise InputError(unknown_word("dialect", name, DIALECTS))
    return DIALECTS[key]
