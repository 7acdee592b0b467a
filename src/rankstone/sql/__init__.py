"""Ranking metrics as SQL functions in DuckDB, and as SQL statements for other databases.

>>> connection = rs.sql.connect()
>>> connection.sql("select ndcg([1, 3, 2, 6], [1, 2, 4], 2)").fetchall()[0][0]
0.6131471927654584
"""

from __future__ import annotations

import atexit
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rankstone.conventions.convention import Convention
from rankstone.data.formats import FORMATS
from rankstone.errors import DataError, InputError
from rankstone.sql.hive import parse_order, rewritten
from rankstone.sql.list_functions import KERNELS, ROWS, MacroText, mean_of, measures, of_rows, planned
from rankstone.sql.list_macros import KINDS, macro
from rankstone.sql.sql_text import text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Connection: TypeAlias = "duckdb.DuckDBPyConnection"  # duckdb.connect()

# A list's entries are {k: the key it is sorted by, v: the value}. Equal keys are sorted by value, so that a list does
# not depend on the order of the rows; NaN is above all numbers.
_PAIRS = "list({'k': key, 'v': value}) filter (value is not null and key is not null)"
_ENTRIES = "list({'k': key, 'v': value}) filter (key is not null)"
_LISTS = f"""
create or replace temp macro _rankstone_sorted(l, o) as case when o.descending
    then list_reverse_sort(case when o.dedup then list_distinct(l) else l end)
    else list_sort(case when o.dedup then list_distinct(l) else l end) end;
create or replace temp macro _rankstone_top(l, o) as _rankstone_sorted(l, o)[1:coalesce(o.size, len(l))];
create or replace temp macro _rankstone_values(l, o) as
    case when o.form <> 'list' then error('-' || o.form || ' makes a map: use rs.sql.query, or to_ordered_map')
    else [entry.v for entry in _rankstone_top(l, o)] end;
create or replace temp macro _rankstone_firsts(l) as
    [entry for entry, i in l if list_position([before.k for before in l], entry.k) = i];

create or replace temp macro _rankstone_options(o) as case when regexp_matches(o, '^\\s*-[a-z]') then o else '' end;
create or replace temp macro to_ordered_list
    (value) as _rankstone_values(list({{'k': 0, 'v': value}}) filter (value is not null), _rankstone_order('', false)),
    (value, key) as _rankstone_values({_PAIRS}, _rankstone_order(_rankstone_options(any_value(key)::varchar), false)),
    (value, key, options) as _rankstone_values({_PAIRS}, _rankstone_order(options, true));
create or replace temp macro to_ordered_list_kv_map(value, key, options) as
    map_from_entries(_rankstone_firsts(_rankstone_top({_PAIRS}, _rankstone_order(options, true))));
create or replace temp macro to_ordered_list_vk_map(value, key, options) as
    map_from_entries(_rankstone_firsts(
        [{{'k': entry.v, 'v': entry.k}} for entry in _rankstone_top({_PAIRS}, _rankstone_order(options, true))]));
create or replace temp macro _rankstone_map(l, o) as
    map_from_entries(_rankstone_firsts(_rankstone_sorted(l, o))[1:coalesce(o.size, len(l))]);
create or replace temp macro to_ordered_map
    (key, value) as _rankstone_map({_ENTRIES}, _rankstone_order('', true)),
    (key, value, top) as _rankstone_map({_ENTRIES}, _rankstone_order(
        case top::varchar when 'true' then '-reverse' when 'false' then '' else '-k ' || top end, true));

create or replace temp macro collect_set(value) as list(distinct value) filter (value is not null);
"""

__all__ = ["connect", "install", "query", "register", "table", "text"]


def __dir__() -> list[str]:
    return __all__


def connect(path: str = ":memory:", convention: str | Convention | None = None) -> Connection:
    """Open a DuckDB database with the metric functions registered.

    Parameters
    ----------
    path : str, default ":memory:"
        Path of the database.
    convention : str or Convention, optional
        Convention of all functions. By default, Hivemall's names follow Hivemall and `rs_<metric>` follows rankstone.

    Returns
    -------
    duckdb.DuckDBPyConnection

    Examples
    --------
    >>> rs.sql.connect().sql("select recall_at([1, 3, 2], [1, 2], 2)").fetchall()
    [(0.5,)]
    """
    connection = _duckdb().connect(path)
    register(connection, convention)
    return connection


def register(connection: Connection, convention: str | Convention | None = None) -> None:
    """Register the metric functions on a DuckDB connection. Nothing is written to its database.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        An open connection.
    convention : str or Convention, optional
        Convention of all functions. By default, Hivemall's names follow Hivemall and `rs_<metric>` follows rankstone.
    """
    _function(connection, "_rankstone_order", _order, ["VARCHAR", "BOOLEAN"], _ORDER, "native")
    statements, to, typed = [_LISTS], MacroText(), _has_typed_macros(connection)
    for name in measures():
        rule = mean_of(name, convention)
        for part in rule.parts:
            function = f"_rankstone_{name}_score" if part == "score" else f"{name}_{part}"
            _function(connection, function, partial(_call, KERNELS[part], name, convention))
        scores = {names: to.call(f"_rankstone_{name}_score", *names) for names in _LIST_AND_TRUTH}
        means = {names: rule.write(to, name, names) for names in _LIST_AND_TRUTH}
        if name in ROWS:  # without k, the arguments may be two columns of numbers
            means[_LIST_AND_TRUTH[0]] = _of_group(f"_rankstone_{name}", *_LIST_AND_TRUTH[0])
        own = _own(name, convention) if typed and _is_quicker(name, convention) else _Own({}, {}, {})
        if own.rows:
            statements.append(_macro(_row(name), own.rows))
        statements += [_macro(f"{name}_score", {**own.scores, **scores}), _macro(name, {**own.means, **means})]
    for name in ROWS:
        scalar = f"_rankstone_{name}" if name in measures() else f"{name}_score"
        _function(connection, scalar, partial(_call, of_rows, name, convention))
        if name not in measures():
            pair = ("actual", "predicted") if ROWS[name] == "f" else ("predicted", "actual")
            statements.append(_macro(name, {names: _of_group(scalar, *names) for names in (pair, (*pair, "options"))}))
    statements.append(
        _macro("struct", {tuple("abcdefgh"[:n]): f"row({', '.join('abcdefgh'[:n])})" for n in range(1, 9)})
    )
    connection.execute(";".join(statements))
    atexit.register(_close, weakref.ref(connection))


def _close(connection: weakref.ref[Connection]) -> None:
    """Close a connection at exit; DuckDB would report the functions of an open one as leaks."""
    if (alive := connection()) is not None:
        alive.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("rs.sql needs DuckDB: pip install 'rankstone[duckdb]'") from None
    return duckdb


def query(connection: Connection, text: str) -> duckdb.DuckDBPyRelation | None:
    """Run a query written for Hive.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        A connection from `connect`, or one passed to `register`.
    text : str
        Statements in Hive's SQL. `set hivevar:k=2` sets a variable of the connection, which `${k}` reads.

    Returns
    -------
    duckdb.DuckDBPyRelation or None
        Rows of the last statement, if it has any.

    Raises
    ------
    ValueError
        If a statement cannot be parsed or translated.

    Examples
    --------
    >>> rs.sql.query(rs.sql.connect(), "select ndcg(array(1, 3, 2), array(1, 2), 2) as n").columns
    ['n']
    """
    variables = connection.execute("select name, value::varchar from duckdb_variables()").fetchall()
    relation = None
    for statements in rewritten(text, dict(variables)):
        if len(statements) > 1:
            _all_or_none(connection, statements)
        relation = connection.sql(statements[0]) if len(statements) == 1 else None
    return relation


def table(text: str, connection: Connection | None = None) -> pa.Table:
    """Rows of a query, as a truth, a run or any other table of rankstone.

    A text is run as SQL here only: elsewhere it is the name of a file.

    Parameters
    ----------
    text : str
        DuckDB's SQL. It can read files and the frames in your variables.
    connection : duckdb.DuckDBPyConnection, optional
        By default DuckDB's default connection.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    rs.errors.DataError
        If DuckDB cannot run the query.

    Examples
    --------
    >>> rs.evaluate({1: {"a": 1}}, rs.sql.table("select 1 as query, 'a' as item, 0.5 as score"), "rr")["rr"]
    1.0
    """
    duckdb = _duckdb()
    cursor = (connection or duckdb.default_connection()).cursor()
    cursor.execute("set python_scan_all_frames = true")  # a frame is a table by its variable's name
    try:
        return cursor.sql(text).to_arrow_table()
    except duckdb.Error as error:
        raise DataError(f"{text}: {error}") from None


def _all_or_none(connection: Connection, statements: Sequence[str]) -> None:
    """Run statements as one, in the user's transaction if there is one."""
    now = "select txid_current()"  # without a transaction, each query has its own number
    own = connection.execute(now).fetchone() != connection.execute(now).fetchone()
    if own:
        connection.begin()
    try:
        for statement in statements:
            connection.execute(statement)
        if own:
            connection.commit()
    except BaseException:
        if own:
            connection.rollback()
        raise


_ORDER = "STRUCT(descending BOOLEAN, size BIGINT, dedup BOOLEAN, form VARCHAR)"


def _order(text: str, keyed: bool) -> dict[str, Any]:
    return parse_order(text, keyed=keyed)._asdict()


# No annotations by name: DuckDB resolves them.
def _call(function: Any, name: str, convention: str | Convention | None, *arguments: Any) -> Any:
    return function(name, arguments, convention)


def _function(
    connection: Connection,
    name: str,
    function: Callable[..., Any],
    takes: list[str] | None = None,
    gives: str = "DOUBLE",
    kind: str = "arrow",
) -> None:
    """Create a function, or replace the one of that name."""
    with suppress(_duckdb().InvalidInputException):  # there is none
        connection.remove_function(name)
    connection.create_function(name, function, takes, gives, type=kind, null_handling="special")


Names = tuple[str, ...]  # of a macro's arguments
# Arguments of a metric of a list. DuckDB resolves the forms of a macro by their number of arguments only.
_LIST_AND_TRUTH: Sequence[Names] = (
    ("rec", "truth"),
    ("rec", "truth", "k_or_options"),
    ("rec", "truth", "k", "options"),
)


def _of_group(scalar: str, left: str, right: str, *options: str) -> str:
    """A function of two lists, applied to two columns of a group."""
    return MacroText().call(scalar, f"list({left})", f"list({right})", *(f"any_value({text})" for text in options))


def _macro(name: str, forms: Mapping[Names, str], where: str = "temp ") -> str:
    """A statement that creates a macro; forms: its body, by the names of the arguments."""
    overloads = ",\n".join(f"({', '.join(names)}) as {form}" for names, form in forms.items())
    return f"create or replace {where}macro {name} {overloads}"


class _Own(NamedTuple):
    """Bodies of the macros of a metric of lists of ids, without Python, by arguments."""

    rows: dict[Names, str]  # of any lists
    scores: dict[Names, str]  # of lists of ids
    means: dict[Names, str]


def _own(name: str, convention: str | Convention | None) -> _Own:
    bodies = _Own({}, {}, {})
    for cut in (False, True):
        plan = planned(name, convention, cut=cut)
        written = None if plan is None else macro(plan)
        if written is None:
            continue
        arguments = ("rec", "truth", "k")[: 3 if cut else 2]
        bodies.rows[arguments] = written.row
        row = MacroText().call(_row(name), *arguments)
        for kind in KINDS:
            typed = (f"rec {kind}[]", f"truth {kind}[]", "k BIGINT")[: len(arguments)]
            bodies.scores[typed] = row
            bodies.means[typed] = written.mean.format(row=row)
    return bodies


def _is_quicker(name: str, convention: str | Convention | None) -> bool:
    """Whether DuckDB's expressions are faster than a call of Python: not if repeated items are checked."""
    plan = planned(name, convention, cut=False)
    return plan is not None and "error" not in (plan.choices["duplicates"], plan.choices["truth_duplicates"])


def _row(name: str) -> str:
    """Name of the macro of one row, which the others of a metric call."""
    return f"_rankstone_{name}_row"


def _has_typed_macros(connection: Connection) -> bool:
    """Whether macros can be overloaded by argument type: in DuckDB from 1.4 on."""
    try:
        connection.execute("create or replace temp macro _rankstone_typed (a BIGINT) as 1, (a VARCHAR) as 2")
    except _duckdb().Error:
        return False
    return True


def install(connection: Connection, convention: str | Convention | None = None) -> list[str]:
    """Store the metrics of lists in a DuckDB database, as macros that do not call Python.

    DuckDB's command line, other languages and dbt can then use them: `select ndcg(rec, truth, 10) from lists`.
    Items are integers or strings.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        An open connection.
    convention : str or Convention, optional
        Convention of all macros, as for `register`.

    Returns
    -------
    list of str
        Names of the macros.

    Examples
    --------
    >>> "ndcg" in rs.sql.install(rs.sql.connect())
    True
    """
    statements = dict(macros(convention))
    _all_or_none(connection, list(statements.values()))
    return [name for name in statements if not name.startswith("_")]


def macros(convention: str | Convention | None = None) -> Iterator[tuple[str, str]]:
    """Names of the macros of lists, and the statements that create them."""
    for name in measures():
        own = _own(name, convention)
        if own.rows:
            yield _row(name), _macro(_row(name), own.rows, "")
            yield f"{name}_score", _macro(f"{name}_score", own.scores, "")
            yield name, _macro(name, own.means, "")


# -- files of a directory -----------------------------------------------------------------------------------

_READERS = {f".{ending}": form.sql for form in FORMATS.values() if form.sql for ending in form.endings}


def answer(text: str, folder: str | Path, convention: str | None, *, hive: bool = False) -> tuple[list[str], list[Any]]:
    """Columns and rows of a query. A file such as `rec.csv` is the table `rec`."""
    connection, duckdb = connect(convention=convention), _duckdb()
    files = _mentioned(text, folder)
    try:
        # In a separate schema, so that a query can create tables of the same names.
        connection.execute("create schema files; set search_path = 'main,files'")
        for name, paths in files.items():
            if len(paths) == 1:
                _open(connection, name, paths[0])
        relation = query(connection, text) if hive else connection.sql(text)
        return ([], []) if relation is None else (relation.columns, relation.fetchall())
    except duckdb.Error as error:
        hints = [_several(name, paths) for name, paths in files.items() if len(paths) > 1]
        unread = isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException))
        if unread and re.search(r"\bprecision\s*\(", text, re.IGNORECASE):
            hints.append("precision is a reserved word of DuckDB: write precision_at(rec, truth, k), or add --hive")
        if unread and not (hive or hints) and _is_hive(connection, text):
            hints = ["this is Hive SQL: add --hive"]
        raise InputError("\n".join([str(error), *hints])) from None
    finally:
        connection.close()


def _mentioned(text: str, folder: str | Path) -> dict[str, list[Path]]:
    """Readable files whose names, without extensions, are words of the text."""
    files: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() in _READERS and re.search(rf"\b{re.escape(path.stem)}\b", text, re.IGNORECASE):
            files.setdefault(path.stem.lower(), []).append(path)
    return files


def _open(connection: Connection, name: str, path: Path) -> None:
    """Register a file as a table."""
    quoted, place = name.replace('"', '""'), str(path).replace("'", "''")
    reader = _READERS[path.suffix.lower()]
    connection.execute(f"""create view files."{quoted}" as select * from {reader}('{place}')""")


def _several(name: str, paths: Sequence[Path]) -> str:
    names = [f"'{path.name}'" for path in paths]
    return f"{name} could be {', '.join(names[:-1])} or {names[-1]}: write from {names[0]}"


def _is_hive(connection: Connection, text: str) -> bool:
    """Whether the text runs as a Hive query."""
    try:
        for statements in rewritten(text):
            if not statements[0].startswith("set "):
                connection.execute(f"explain {statements[0]}")
    except Exception:  # any failure
        return False
    return True
