"""Six engines that run a SQL text on small tables. `KINDS` has the kinds of column that a table can be made of."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pytest

KINDS = {"text": pa.string(), "integer": pa.int64(), "double": pa.float64()}
KINDS |= {f"list({kind})": pa.list_(KINDS[kind]) for kind in KINDS}

# What the kinds are called, in their order, where a table cannot be made from Arrow.
TYPES = {
    "postgres": ["text", "bigint", "double precision", "text[]", "bigint[]", "double precision[]"],
    "clickhouse": [
        *("Nullable(String)", "Nullable(Int64)", "Nullable(Float64)"),
        *("Array(String)", "Array(Int64)", "Array(Float64)"),
    ],
    "sqlite": ["text", "integer", "real", "text", "text", "text"],
}

Columns = Mapping[str, str]
Rows = Sequence[tuple[Any, ...]]
Answer = tuple[list[str], list[tuple[Any, ...]]]


class Engine(Protocol):
    dialect: str  # as sqlglot names it

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        """Makes a table of these columns, each a name and a kind, in place of any that has its name."""

    def ask(self, text: str) -> Answer:
        """The names of the columns, and the rows as Python values. Errors are the engine's own."""

    def close(self) -> None: ...


class DuckDB:
    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = pytest.importorskip("duckdb", reason="needs duckdb").connect()

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        self.connection.register("incoming", arrow(columns, rows))
        self.connection.execute(f"create or replace table {_quoted(name)} as select * from incoming")
        self.connection.unregister("incoming")

    def ask(self, text: str) -> Answer:
        return _fetched(self.connection.execute(text))

    def close(self) -> None:
        self.connection.close()


class Spark:
    """Works in a session that other tests use, and leaves it as it was."""

    dialect = "spark"
    # For a few rows, plans that are made at once are faster than those that run fast.
    SETTINGS: ClassVar = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }

    def __init__(self, session: Any) -> None:
        self.session, self.views = session, set[str]()
        self.before = {name: session.conf.get(name) for name in self.SETTINGS}
        self._set(self.SETTINGS)

    def _set(self, settings: Mapping[str, str]) -> None:
        for name, value in settings.items():
            self.session.conf.set(name, value)

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        view = _quoted(name, "`")
        self.session.createDataFrame(arrow(columns, rows)).createOrReplaceTempView(view)
        self.views.add(view)

    def ask(self, text: str) -> Answer:
        frame = self.session.sql(text)
        return frame.columns, [tuple(row) for row in frame.collect()]

    def close(self) -> None:
        if self.session.sparkContext._jsc is None:  # stopped: a page of the docs ends its session, which is this one
            return
        for view in self.views:
            self.session.sql(f"drop view {view}")
        self._set(self.before)


class PostgreSQL:
    """A server in a temporary folder. It orders text as American English does, where that locale can be made."""

    dialect = "postgres"

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR is not set")  # for a lock that is not used here
            server = pytest.importorskip("pgserver", reason="needs pgserver")
        psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="postgres-")))
            folder.chmod(0o755)
            data = folder / "data"
            data.mkdir()
            how = {"pgdata": data, "cwd": folder, "env": os.environ | {"LOCPATH": str(folder)}}
            if os.geteuid() == 0:  # as whom PostgreSQL refuses to run
                shutil.chown(data, "nobody")
                how["user"] = "nobody"
            # The build of pgserver has no ICU. The locale takes longer than the server, so they are made side by side.
            make = "localedef -i en_US -f UTF-8 ./en_US.UTF-8"
            with subprocess.Popen(make, shell=True, cwd=folder, stderr=subprocess.DEVNULL) as locale:
                server.initdb(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], **how)
                options = f"-c fsync=off -c listen_addresses= -c unix_socket_directories={data}"
                server.pg_ctl(["start", "-w", "-l", str(data / "log"), "-o", options], **how)
                stack.callback(server.pg_ctl, ["stop", "-w", "-m", "immediate"], **how)
            self.locale = "C" if locale.returncode else "en_US.UTF-8"
            where = {"host": str(data), "user": "postgres", "autocommit": True}
            with psycopg.connect(dbname="postgres", **where) as first:
                first.execute(f"create database tables template template0 locale '{self.locale}'")
            self.connection = stack.enter_context(psycopg.connect(dbname="tables", **where))
            self.close = stack.pop_all().close

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        table = _quoted(name)
        self.connection.execute(f"drop table if exists {table}")
        self.connection.execute(f"create table {table} ({_typed(columns, self.dialect)})")
        with self.connection.cursor() as cursor, cursor.copy(f"copy {table} from stdin") as copy:
            for row in rows:
                copy.write_row(row)

    def ask(self, text: str) -> Answer:
        return _fetched(self.connection.execute(text))


class ClickHouse:
    """A list that is null, or that holds one, is an error: ClickHouse has none."""

    dialect = "clickhouse"

    def __init__(self) -> None:
        self.session = pytest.importorskip("chdb.session", reason="needs chdb").Session()

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        table, content, stream = _quoted(name, escapes=True), arrow(columns, rows), pa.BufferOutputStream()
        for column, values in zip(content.column_names, content.columns, strict=True):
            if pa.types.is_list(values.type) and values.null_count:
                raise ValueError(f"column {column!r} has a null, and ClickHouse has no list that is null")
        with pa.ipc.new_stream(stream, content.schema) as writer:
            writer.write_table(content)
        self.session.query(f"create or replace table {table} ({_typed(columns, self.dialect)}) engine = Memory")
        insert = f"insert into {table} settings input_format_null_as_default = 0"
        with self.session.send_insert(insert, "ArrowStream") as rest:
            rest.append(stream.getvalue().to_pybytes())
            rest.finish()

    def ask(self, text: str) -> Answer:
        try:
            found = self.session.query(text, "ArrowStream").bytes()
        except Exception:
            self.session.query("select 1")  # chdb gives what a failed query had written in front of the next answer
            raise
        return _plain(pa.ipc.open_stream(found).read_all())

    def close(self) -> None:
        self.session.close()


class DataFusion:
    dialect = "datafusion"

    def __init__(self) -> None:
        self.context = pytest.importorskip("datafusion", reason="needs datafusion").SessionContext()

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        self.context.from_arrow(arrow(columns, rows), "incoming")
        try:
            self.context.sql(f"create or replace table {_quoted(name)} as select * from incoming")
        finally:
            self.context.deregister_table("incoming")

    def ask(self, text: str) -> Answer:
        return _plain(self.context.sql(text).to_arrow_table())

    def close(self) -> None:
        del self.context


class SQLite:
    """A list is its JSON."""

    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def create(self, name: str, columns: Columns, rows: Rows) -> None:
        table = _quoted(name)
        self.connection.execute(f"drop table if exists {table}")
        self.connection.execute(f"create table {table} ({_typed(columns, self.dialect)})")
        cells = [[json.dumps(cell) if isinstance(cell, list) else cell for cell in row] for row in rows]
        self.connection.executemany(f"insert into {table} values ({', '.join('?' * len(columns))})", cells)

    def ask(self, text: str) -> Answer:
        return _fetched(self.connection.execute(text))

    def close(self) -> None:
        self.connection.close()


ENGINES = {made.dialect: made for made in (DuckDB, Spark, PostgreSQL, ClickHouse, DataFusion, SQLite)}
_MARKS = {
    "spark": pytest.mark.service("spark"),
    "postgres": pytest.mark.service("postgres"),
    "clickhouse": pytest.mark.slow,
    "datafusion": pytest.mark.slow,
}
MARKED = [pytest.param(dialect, marks=_MARKS.get(dialect, ())) for dialect in ENGINES]


def everywhere(name: str, values: Sequence[Any], spark: Sequence[Any] = ()) -> pytest.MarkDecorator:
    """Parametrizes a test that takes `engine`. Spark, where a statement takes a second, gets few of the values."""
    pairs = [
        pytest.param(*engine.values, value, marks=engine.marks)
        for engine in MARKED
        for value in (spark if engine.values == ("spark",) else values)
    ]
    return pytest.mark.parametrize(("engine", name), pairs, indirect=["engine"])


but_spark = pytest.mark.parametrize("engine", [one for one in MARKED if one.values != ("spark",)], indirect=True)


def _quoted(name: str, mark: str = '"', escapes: bool = False) -> str:
    name = name.replace("\\", "\\\\") if escapes else name
    return mark + name.replace(mark, 2 * mark) + mark


def _typed(columns: Columns, dialect: str) -> str:
    types = dict(zip(KINDS, TYPES[dialect], strict=True))
    escapes = dialect == "clickhouse"
    return ", ".join(f"{_quoted(name, escapes=escapes)} {types[kind]}" for name, kind in columns.items())


def arrow(columns: Columns, rows: Rows) -> pa.Table:
    """A table of these columns, each a name and a kind."""
    schema = pa.schema([(name, KINDS[kind]) for name, kind in columns.items()])
    return pa.table([[row[place] for row in rows] for place in range(len(columns))], schema=schema)


def _plain(table: pa.Table) -> Answer:
    return table.column_names, list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _fetched(cursor: Any) -> Answer:
    return [column[0] for column in cursor.description], cursor.fetchall()
