"""In DuckDB: functions of a million lists of 100 items; `evaluate` and metrics as text on ten million rows."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator

import columns
from data import Data, integers, shuffled
from lists import list_columns
from race import Contender, Goal, Numbers, Row, audition, faster, invite, named, race, row, seconds, within

import rankstone as rs

ITEMS, JUDGED, K = 100, 10, 10

# nDCG at 10 with gains of 1, in one select over the lists. Each truth has ten items, so that the ideal is a number.
IDEAL = " + ".join(f"1 / log2({rank + 1})" for rank in range(1, K + 1))
SQL = {
    "look up each item in the truth": "[1 / log2(i + 1) for item, i in rec[:10] if list_contains(truth, item)]",
    "look up each relevant item": """[1 / log2(list_position(rec[:10], item) + 1) for item in truth
        if list_contains(rec[:10], item)]""",
    "look up what both have": """[1 / log2(list_position(rec[:10], item) + 1)
        for item in list_intersect(rec[:10], truth)]""",
}
UNNESTED = f"""
    with opened as (
        select id, truth, unnest(rec[:10]) as item, generate_subscripts(rec[:10], 1) as rank from lists)
    select sum(case when list_contains(truth, item) then 1 / log2(rank + 1) end) / ({IDEAL})
        / (select count(*) from lists)
    from opened"""


def rows(scale: float, repeats: int) -> Iterator[Row]:
    yield from list_rows(scale, repeats)
    yield from relation_rows(scale, repeats)
    yield from text_rows(scale, repeats)


def list_rows(scale: float, repeats: int) -> Iterator[Row]:
    import pyarrow

    users = max(int(1_000_000 * scale), 1)
    data = integers(users, ITEMS, JUDGED)
    table = pyarrow.table(
        {"id": range(users), "rec": list_columns(data.run, ITEMS)[0], "truth": list_columns(data.truth, JUDGED)[0]}
    )
    connection = rs.sql.connect()
    connection.register("arrow", table)
    connection.execute("create table lists as select * from arrow")
    del table, data

    def ask(text: str) -> Callable[[], Numbers]:
        return lambda: {"ndcg@10": connection.sql(text).fetchall()[0][0]}

    def scan() -> None:
        connection.sql("select sum(list_sum(rec)), sum(list_sum(truth)) from lists").fetchall()

    entries = {
        name: ask(f"select avg(coalesce(list_sum({gains}), 0) / ({IDEAL})) from lists") for name, gains in SQL.items()
    }
    best, call = audition("DuckDB", {**entries, "unnest the list": ask(UNNESTED)})
    yield from race(
        f"DuckDB, list columns, {users:,} x {ITEMS}, `ndcg(rec, truth, 10)`",
        ask("select ndcg(rec, truth, 10) from lists"),
        [
            Contender("a scan: the sums of both columns", scan, within(1 / 0.6)),
            Contender(f"{named('duckdb')}, in SQL ({best})", call, faster(1)),
        ],
        repeats,
    )
    connection.close()


def relation_rows(scale: float, repeats: int) -> Iterator[Row]:
    import duckdb

    queries = max(int(100_000 * scale), 1)
    data = integers(queries, columns.ITEMS, columns.JUDGED)
    connection = duckdb.connect()
    for name, side, value in (("truth", data.truth, "grade"), ("run", data.run, "score")):
        connection.register("arrow", side.table(value))
        connection.execute(f"create table {name} as select * from arrow")

    def ours() -> Numbers:
        return dict(rs.evaluate(connection.table("truth"), connection.table("run"), columns.METRICS))

    goal = faster(3)
    yield from race(
        f"DuckDB, rows, {queries:,} queries x {columns.ITEMS}, `rs.evaluate` on relations",
        ours,
        [invite("duckdb", lambda: columns.duckdb(data, goal), goal)],
        repeats,
    )
    connection.close()


def text_rows(scale: float, repeats: int) -> Iterator[Row]:
    """`rs.sql.text` against hand-written SQL, which does not look for items that a list has twice."""
    ten = [*columns.METRICS, "bpref", "err@10"]
    taken = min(timeit.repeat(lambda: rs.sql.text(ten), number=1, repeat=20))
    yield row("`rs.sql.text` of ten metrics, the text", seconds(taken), "", "", taken * 1e3, Goal(50, False, " ms"))
    grouped = integers(max(int(100_000 * scale), 1), columns.ITEMS, columns.JUDGED)
    for order, data in (("rows grouped by query", grouped), ("rows shuffled", shuffled(grouped))):
        for duplicates in ("count", "error"):
            goal = faster(1)
            yield from race(
                f"DuckDB, {data.queries:,} x {columns.ITEMS}, {order}, `rs.sql.text`, duplicates='{duplicates}'",
                written(data, duplicates),
                [invite("duckdb", lambda data=data, goal=goal: columns.duckdb(data, goal), goal)],
                repeats,
            )


def written(data: Data, duplicates: str) -> Callable[[], Numbers]:
    """A call that runs the text on DuckDB's own tables."""
    import duckdb

    connection = duckdb.connect()
    for name, side, value in (("truth", data.truth, "grade"), ("run", data.run, "score")):
        connection.register("arrow", side.table(value))
        connection.execute(f"create table {name} as select * from arrow")
        connection.unregister("arrow")
    text = rs.sql.text(columns.METRICS, "truth", "run", "duckdb", duplicates=duplicates)
    return lambda: dict(zip(columns.METRICS, connection.execute(text).fetchall()[0], strict=True))
