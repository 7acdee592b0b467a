"""Flat columns: 100,000 queries with 100 items each and a truth of 10, eight metrics, against SQL and frames.

Each engine gets several formulations; the fastest of them on the data at hand is the one that is raced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from data import Data, Side, integers, shuffled, strings
from race import Contender, Goal, Numbers, Row, audition, faster, invite, named, race, within

import rankstone as rs

CUTS = (10, 100)
METRICS = [f"{name}@{k}" for name in ("ndcg", "recall", "ap", "rr") for k in CUTS]
ITEMS, JUDGED = 100, 10


GROUPED, SHUFFLED = "rows grouped by query", "rows shuffled"
# By the order of rows: DuckDB's time, Polars', and how many times the limit may be taken.
INTEGER_GOALS = {GROUPED: (faster(9), faster(7), within(4)), SHUFFLED: (faster(5), faster(4.5), within(10))}
STRING_GOALS = {GROUPED: (faster(9), None, None), SHUFFLED: (faster(5), None, None)}
Goals = dict[str, tuple[Goal | None, Goal | None, Goal | None]]


def integer_rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(100_000 * scale), 1)
    yield from both_orders("int64 columns", integers(queries, ITEMS, JUDGED), repeats, INTEGER_GOALS)


def string_rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(100_000 * scale), 1)
    yield from both_orders("string columns", strings(integers(queries, ITEMS, JUDGED)), repeats, STRING_GOALS)


def both_orders(what: str, data: Data, repeats: int, goals: Goals) -> Iterator[Row]:
    for order, (duckdb_goal, polars_goal, limit) in goals.items():
        if order == SHUFFLED:
            data = shuffled(data)
        peers = [
            invite("duckdb", lambda data=data, goal=duckdb_goal: duckdb(data, goal), duckdb_goal),
            invite("polars", lambda data=data, goal=polars_goal: polars(data, goal), polars_goal),
        ]
        if limit is not None:
            peers.append(Contender("NumPy, sum of the run's three columns", lambda data=data: add_up(data.run), limit))
        work = f"{what}, {data.queries:,} queries x {ITEMS}, {order}"
        yield from race(work, lambda data=data: rankstone(data), peers, repeats)


def rankstone(data: Data) -> Numbers:
    truth = rs.columns(query=data.truth.query, item=data.truth.item, grade=data.truth.value)
    run = rs.columns(query=data.run.query, item=data.run.item, score=data.run.value)
    return dict(rs.evaluate(truth, run, METRICS))


def add_up(run: Side) -> None:
    for column in (run.query, run.item, run.value):
        column.sum()


# -- DuckDB --------------------------------------------------------------------------------------------------

# Ways to find `hits`: one row a judged item that the run returned, with its rank.
SQL_HITS = {
    "window, then join": """
        ranked AS (
            SELECT query, item, row_number() OVER (PARTITION BY query ORDER BY score DESC) AS rank FROM run),
        hits AS (SELECT query, grade, rank FROM ranked JOIN truth USING (query, item))""",
    "join, then window": """
        ranked AS (
            SELECT query, grade, row_number() OVER (PARTITION BY query ORDER BY score DESC) AS rank
            FROM run LEFT JOIN truth USING (query, item)),
        hits AS (SELECT query, grade, rank FROM ranked WHERE grade IS NOT NULL)""",
    "join, then count what is above": """
        found AS MATERIALIZED (SELECT query, grade, score FROM run JOIN truth USING (query, item)),
        hits AS (
            SELECT query, any_value(found.grade) AS grade, count(*) AS rank
            FROM found JOIN run USING (query) WHERE run.score >= found.score GROUP BY query, found.score)""",
    "join, then count in lists": """
        found AS (SELECT query, grade, score FROM run JOIN truth USING (query, item)),
        lists AS (SELECT query, list(score) AS scores FROM run GROUP BY query),
        hits AS (
            SELECT query, grade, len(list_filter(scores, lambda one: one >= score)) AS rank
            FROM found JOIN lists USING (query))""",
    "one group by query": """
        grouped AS (
            SELECT query, list(score) AS scores, list(score) FILTER (grade IS NOT NULL) AS found,
                list(grade) FILTER (grade IS NOT NULL) AS grades
            FROM run LEFT JOIN truth USING (query, item) GROUP BY query),
        opened AS (SELECT query, scores, unnest(found) AS score, unnest(grades) AS grade FROM grouped),
        hits AS (
            SELECT query, grade, len(list_filter(scores, lambda one: one >= score)) AS rank FROM opened)""",
}

SQL_METRICS = """,
    placed AS (
        SELECT query, grade, rank, row_number() OVER (PARTITION BY query ORDER BY rank) AS nth FROM hits),
    gained AS (
        SELECT query, min(rank) AS first,
            sum(grade / log2(rank + 1)) FILTER (rank <= 10) AS dcg10,
            sum(grade / log2(rank + 1)) FILTER (rank <= 100) AS dcg100,
            count(*) FILTER (rank <= 10) AS hits10, count(*) FILTER (rank <= 100) AS hits100,
            sum(nth / rank) FILTER (rank <= 10) AS precisions10,
            sum(nth / rank) FILTER (rank <= 100) AS precisions100
        FROM placed GROUP BY query),
    best AS (SELECT query, grade, row_number() OVER (PARTITION BY query ORDER BY grade DESC) AS place FROM truth),
    ideal AS (
        SELECT query, count(*) AS relevant,
            sum(grade / log2(place + 1)) FILTER (place <= 10) AS best10,
            sum(grade / log2(place + 1)) FILTER (place <= 100) AS best100
        FROM best GROUP BY query)
    SELECT
        sum(dcg10 / best10) / count(*), sum(dcg100 / best100) / count(*),
        sum(hits10 / relevant) / count(*), sum(hits100 / relevant) / count(*),
        sum(precisions10 / relevant) / count(*), sum(precisions100 / relevant) / count(*),
        sum(1 / first) FILTER (first <= 10) / count(*), sum(1 / first) FILTER (first <= 100) / count(*)
    FROM ideal LEFT JOIN gained USING (query)"""


def duckdb(data: Data, goal: Goal | None) -> Contender:
    """Tables as Arrow memory, read in place, and as DuckDB's own; making those is not counted."""
    import duckdb

    arrow, own = duckdb.connect(), duckdb.connect()
    for side, value in (("truth", "grade"), ("run", "score")):
        table = getattr(data, side).table(value)
        arrow.register(side, table)
        own.register("given", table)
        own.execute(f"CREATE TABLE {side} AS FROM given")
        own.unregister("given")

    def entry(connection: Any, hits: str) -> Callable[[], Numbers]:
        query = f"WITH {hits}{SQL_METRICS}"
        return lambda: dict(zip(METRICS, connection.execute(query).fetchall()[0], strict=True))

    entries = {
        f"{name}, {kind} tables": entry(connection, hits)
        for name, hits in SQL_HITS.items()
        for kind, connection in (("Arrow", arrow), ("its own", own))
    }
    chosen, call = audition("DuckDB", entries)
    return Contender(f"{named('duckdb')} ({chosen})", call, goal)


# -- Polars --------------------------------------------------------------------------------------------------


def polars(data: Data, goal: Goal | None) -> Contender:
    """Frames are made beforehand and not counted."""
    import polars as pl

    col, on = pl.col, ["query", "item"]
    truth: Any = pl.from_arrow(data.truth.table("grade"))
    run: Any = pl.from_arrow(data.run.table("score"))
    rank = col("score").rank("ordinal", descending=True)
    hit = col("grade").is_not_null()

    # Ways to find the hits, as above.
    hits: dict[str, Callable[[Any, Any], Any]] = {
        "window, then join": lambda truth, run: run.with_columns(rank=rank.over("query")).join(truth, on=on),
        "join, then window": lambda truth, run: (
            run.join(truth, on=on, how="left").select("query", "grade", rank=rank.over("query")).filter(hit)
        ),
        "group, then join": lambda truth, run: (
            run.group_by("query").agg("item", rank=rank).explode("item", "rank").join(truth, on=on)
        ),
        "sort each group, then join": lambda truth, run: (
            run.group_by("query")
            .agg(col("item").sort_by("score", descending=True), rank=pl.int_range(1, pl.len() + 1))
            .explode("item", "rank")
            .join(truth, on=on)
        ),
        "join, then group": lambda truth, run: (
            run.join(truth, on=on, how="left")
            .group_by("query")
            .agg(rank=rank.filter(hit), grade=col("grade").filter(hit))
            .explode("rank", "grade")
            .drop_nulls()
        ),
    }

    def metrics(truth: Any, hits: Any) -> Any:
        placed = hits.select(
            "query",
            rank=col("rank").cast(pl.Float64),
            gain=col("grade") / (col("rank") + 1).log(2),
            precision=col("rank").rank("ordinal").over("query") / col("rank"),
        )
        gained = placed.group_by("query").agg(
            col("rank").min().alias("first"),
            *(col("gain").filter(col("rank") <= k).sum().alias(f"dcg{k}") for k in CUTS),
            *((col("rank") <= k).sum().alias(f"hits{k}") for k in CUTS),
            *(col("precision").filter(col("rank") <= k).sum().alias(f"precisions{k}") for k in CUTS),
        )
        place = col("grade").rank("ordinal", descending=True).over("query")
        best = truth.select("query", "grade", place=place).with_columns(gain=col("grade") / (col("place") + 1).log(2))
        ideal = best.group_by("query").agg(
            pl.len().alias("relevant"),
            *(col("gain").filter(col("place") <= k).sum().alias(f"best{k}") for k in CUTS),
        )
        first = col("first")
        return ideal.join(gained, on="query", how="left").select(
            *((col(f"dcg{k}") / col(f"best{k}")).sum().alias(f"ndcg@{k}") / pl.len() for k in CUTS),
            *((col(f"hits{k}") / col("relevant")).sum().alias(f"recall@{k}") / pl.len() for k in CUTS),
            *((col(f"precisions{k}") / col("relevant")).sum().alias(f"ap@{k}") / pl.len() for k in CUTS),
            *((1 / first).filter(first <= k).sum().alias(f"rr@{k}") / pl.len() for k in CUTS),
        )

    def entry(find: Callable[[Any, Any], Any], engine: Any) -> Callable[[], Numbers]:
        def call() -> Numbers:
            plan = metrics(truth.lazy(), find(truth.lazy(), run.lazy()))
            return dict(plan.collect(engine=engine).row(0, named=True))

        return call

    entries = {
        f"{name}, {engine} engine": entry(find, engine)
        for name, find in hits.items()
        for engine in ("in-memory", "streaming")
    }
    chosen, call = audition("Polars", entries)
    return Contender(f"{named('polars')} ({chosen})", call, goal)
