"""Ranking measures as SQL functions in DuckDB.

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
from rankstone.data.files import FORMATS
from rankstone.sql.functions import KERNELS, ROWS, Text, mean_of, measures, of_rows, planned
from rankstone.sql.hive import parse_order, rewritten
from rankstone.sql.lists import KINDS, macro
from rankstone.sql.warehouse import text

if TYPE_CHECKING:
    import duckdb

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

__all__ = ["connect", "install", "query", "register", "text"]


def __dir__() -> list[str]:
    return __all__


def connect(path: str = ":memory:", convention: str | Convention | None = None) -> Connection:
    """A DuckDB connection that knows the functions.

    Hivemall's names follow Hivemall, `rs_<metric>` follows rankstone; convention: whose definitions all of them follow.
    """
    connection = _duckdb().connect(path)
    register(connection, convention)
    return connection


def register(connection: Connection, convention: str | Convention | None = None) -> None:
    """Make the functions known to a DuckDB connection of yours. Nothing is written to its database."""
    _function(connection, "_rankstone_order", _order, ["VARCHAR", "BOOLEAN"], _ORDER, "native")
    statements, to, typed = [_LISTS], Text(), _has_typed_macros(connection)
    for name in measures():
        rule = mean_of(name, convention)
        for part in rule.parts:
            known = f"_rankstone_{name}_score" if part == "score" else f"{name}_{part}"
            _function(connection, known, partial(_call, KERNELS[part], name, convention))
        scores = {given: to.call(f"_rankstone_{name}_score", *given) for given in _LIST_AND_TRUTH}
        means = {given: rule.write(to, name, given) for given in _LIST_AND_TRUTH}
        if name in ROWS:  # without k, two columns of numbers may be meant
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
            statements.append(_macro(name, {given: _of_group(scalar, *given) for given in (pair, (*pair, "options"))}))
    statements.append(
        _macro("struct", {tuple("abcdefgh"[:n]): f"row({', '.join('abcdefgh'[:n])})" for n in range(1, 9)})
    )
    connection.execute(";".join(statements))
    atexit.register(_close, weakref.ref(connection))


def _close(connection: weakref.ref[Connection]) -> None:
    """Close a connection when Python ends: left open, DuckDB reports the functions in it as leaks."""
    if (still := connection()) is not None:
        still.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("rs.sql needs DuckDB: pip install duckdb sqlglot") from None
    return duckdb


def query(connection: Connection, text: str) -> duckdb.DuckDBPyRelation | None:
    """Run a query written for Hive. Returns a DuckDB relation, the last statement's if there are several.

    `set hivevar:k=2` sets a variable of the connection, which `${k}` stands for from then on.
    """
    known = connection.execute("select name, value::varchar from duckdb_variables()").fetchall()
    found = None
    for statements in rewritten(text, dict(known)):
        if len(statements) > 1:
            _all_or_none(connection, statements)
        found = connection.sql(statements[0]) if len(statements) == 1 else None
    return found


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


# Without names that stand for types: DuckDB looks them up.
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
    """Create a function, in the place of one by that name."""
    with suppress(_duckdb().InvalidInputException):  # there is none
        connection.remove_function(name)
    connection.create_function(name, function, takes, gives, type=kind, null_handling="special")


Names = tuple[str, ...]  # of a macro's arguments
# What a measure of a list takes. DuckDB tells the forms of a macro apart by their number of arguments alone.
_LIST_AND_TRUTH: Sequence[Names] = (
    ("rec", "truth"),
    ("rec", "truth", "k_or_options"),
    ("rec", "truth", "k", "options"),
)


def _of_group(scalar: str, left: str, right: str, *options: str) -> str:
    """A function of two lists, of what a group's rows hold."""
    return Text().call(scalar, f"list({left})", f"list({right})", *(f"any_value({text})" for text in options))


def _macro(name: str, forms: Mapping[Names, str], where: str = "temp ") -> str:
    """A statement that makes a macro; forms: what stands for it, by the names of its arguments."""
    overloads = ",\n".join(f"({', '.join(given)}) as {form}" for given, form in forms.items())
    return f"create or replace {where}macro {name} {overloads}"


class _Own(NamedTuple):
    """What stands for a measure of lists of ids without any Python, by the arguments."""

    rows: dict[Names, str]  # of any lists
    scores: dict[Names, str]  # of lists of ids
    means: dict[Names, str]


def _own(name: str, convention: str | Convention | None) -> _Own:
    made = _Own({}, {}, {})
    for cut in (False, True):
        plan = planned(name, convention, cut=cut)
        written = None if plan is None else macro(plan)
        if written is None:
            continue
        arguments = ("rec", "truth", "k")[: 3 if cut else 2]
        made.rows[arguments] = written.row
        row = Text().call(_row(name), *arguments)
        for kind in KINDS:
            given = (f"rec {kind}[]", f"truth {kind}[]", "k BIGINT")[: len(arguments)]
            made.scores[given] = row
            made.means[given] = written.mean.format(row=row)
    return made


def _is_quicker(name: str, convention: str | Convention | None) -> bool:
    """Are DuckDB's own expressions quicker than a call of Python: not in looking for an item that comes twice."""
    plan = planned(name, convention, cut=False)
    return plan is not None and "error" not in (plan.choices["duplicates"], plan.choices["truth_duplicates"])


def _row(name: str) -> str:
    """The macro that the others of a measure are made of."""
    return f"_rankstone_{name}_row"


def _has_typed_macros(connection: Connection) -> bool:
    """Can macros be told apart by the types of their arguments: in DuckDB from 1.4 on."""
    try:
        connection.execute("create or replace temp macro _rankstone_typed (a BIGINT) as 1, (a VARCHAR) as 2")
    except _duckdb().Error:
        return False
    return True


def install(connection: Connection, convention: str | Convention | None = None) -> list[str]:
    """Write the measures of lists into a DuckDB database for good, as macros that need no Python. Returns their names.

    DuckDB's command line, other languages and dbt can use them from then on: `select ndcg(rec, truth, 10) from lists`.
    Lists hold ids, whole numbers or texts; definitions, as in `register`.
    """
    made = dict(macros(convention))
    _all_or_none(connection, list(made.values()))
    return [name for name in made if not name.startswith("_")]


def macros(convention: str | Convention | None = None) -> Iterator[tuple[str, str]]:
    """The names of DuckDB's macros of lists, and the statements that make them."""
    for name in measures():
        own = _own(name, convention)
        if own.rows:
            yield _row(name), _macro(_row(name), own.rows, "")
            yield f"{name}_score", _macro(f"{name}_score", own.scores, "")
            yield name, _macro(name, own.means, "")


# -- the files of a folder -----------------------------------------------------------------------------------

_READERS = {f".{ending}": form.sql for form in FORMATS.values() if form.sql for ending in form.endings}


def answer(text: str, folder: str | Path, convention: str | None, *, hive: bool = False) -> tuple[list[str], list[Any]]:
    """A query's columns and rows. A file such as `rec.csv` is a table by its name without the ending."""
    connection, duckdb = connect(convention=convention), _duckdb()
    files = _mentioned(text, folder)
    try:
        # In a schema of their own, so that a query can make tables by these names.
        connection.execute("create schema files; set search_path = 'main,files'")
        for name, paths in files.items():
            if len(paths) == 1:
                _open(connection, name, paths[0])
        found = query(connection, text) if hive else connection.sql(text)
        return ([], []) if found is None else (found.columns, found.fetchall())
    except duckdb.Error as error:
        hints = [_several(name, paths) for name, paths in files.items() if len(paths) > 1]
        unread = isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException))
        if unread and not (hive or hints) and _is_hive(connection, text):
            hints = ["it is written for Hive: add --hive"]
        raise ValueError("\n".join([str(error), *hints])) from None
    finally:
        connection.close()


def _mentioned(text: str, folder: str | Path) -> dict[str, list[Path]]:
    """The files that can be read and whose names, without their endings, are words of the text."""
    found: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() in _READERS and re.search(rf"\b{re.escape(path.stem)}\b", text, re.IGNORECASE):
            found.setdefault(path.stem.lower(), []).append(path)
    return found


def _open(connection: Connection, name: str, path: Path) -> None:
    """Make a file known as a table."""
    quoted, place = name.replace('"', '""'), str(path).replace("'", "''")
    reader = _READERS[path.suffix.lower()]
    connection.execute(f"""create view files."{quoted}" as select * from {reader}('{place}')""")


def _several(name: str, paths: Sequence[Path]) -> str:
    names = [f"'{path.name}'" for path in paths]
    return f"{name} could be {', '.join(names[:-1])} or {names[-1]}: write from {names[0]}"


def _is_hive(connection: Connection, text: str) -> bool:
    """Would DuckDB run it as a query for Hive."""
    try:
        for statements in rewritten(text):
            if not statements[0].startswith("set "):
                connection.execute(f"explain {statements[0]}")
    except Exception:  # whatever keeps it from running
        return False
    return True
