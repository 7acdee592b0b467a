"""Ranking measures as SQL functions in DuckDB.

>>> connection = rs.sql.connect()
>>> connection.sql("select ndcg([1, 3, 2, 6], [1, 2, 4], 2)").fetchall()[0][0]
0.6131471927654584
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.conventions.convention import Convention
from rankstone.sql.functions import KERNELS, MEASURES, ROWS, mean_of, measures, of_rows, parse_order
from rankstone.sql.writer import Text

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

__all__ = ["connect", "query", "register"]


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
    statements, to = [_LISTS], Text()
    for name in measures():
        rule = mean_of(name, convention)
        for part in rule.parts:
            _function(connection, f"{name}_{part}", partial(_call, KERNELS[part], name, convention))
        forms = {n: rule.write(to, name, "abcd"[:n]) for n in (2, 3, 4)}
        if name in MEASURES and rule.ends_at_k:  # what lies below k need not come here
            forms[3] = rule.write(to, name, ("a[1:coalesce(try_cast(c as bigint), len(a))]", "b", "c"))
        if name in ROWS:  # without k, two columns of numbers may be meant
            forms[2] = f"_rankstone_{name}(list(a), list(b))"
        statements.append(_macro(name, forms))
    for name in ROWS:
        scalar = f"_rankstone_{name}" if name in measures() else f"{name}_score"
        _function(connection, scalar, partial(_call, of_rows, name, convention))
        if name not in measures():
            forms = {2: f"{scalar}(list(a), list(b))", 3: f"{scalar}(list(a), list(b), any_value(c))"}
            statements.append(_macro(name, forms))
    statements += [_macro("struct", {n: f"row({', '.join('abcdefgh'[:n])})" for n in range(1, 9)})]
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
        raise ImportError("rs.sql needs DuckDB: pip install 'rankstone[duckdb]'") from None
    return duckdb


def query(connection: Connection, text: str) -> duckdb.DuckDBPyRelation:
    """Run a query written for Hive. Returns a DuckDB relation, the last statement's if there are several."""
    from rankstone.sql.hive import rewritten

    return [connection.sql(statement) for statement in rewritten(text)][-1]


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


def _macro(name: str, forms: Mapping[int, str]) -> str:
    overloads = ", ".join(f"({', '.join('abcdefgh'[:n])}) as {form}" for n, form in forms.items())
    return f"create or replace temp macro {name} {overloads}"
