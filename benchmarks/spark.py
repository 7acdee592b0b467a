"""Spark on one machine: tables of 10 million rows, and list columns, against Spark's own ways to measure a ranking.

All read the same Parquet files. Spark adds up the bytes of a batch again with each row that it hands to Python unless
it is configured not to, as here for all.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
from data import Data, Side, integers, shuffled
from lists import list_columns
from pyarrow import parquet
from race import Contender, Goal, Numbers, Row, audition, faster, named, race, within

import rankstone as rs

CUTS = (10, 100)
METRICS = [f"{name}@{k}" for name in ("ndcg", "recall", "precision", "ap", "rr") for k in CUTS]
ITEMS, JUDGED = 100, 10

# What Spark's RankingMetrics has, in our words. Items are relevant or not.
SPARKS = {
    "precisionAt": "precision",
    "recallAt": "recall",
    "ndcgAt": "ndcg(gain='binary')",
    "meanAveragePrecisionAt": "ap(divisor='min(relevant,k)')",
}


def rows(scale: float, repeats: int) -> Iterator[Row]:
    if shutil.which("java") is None:
        return
    queries = max(int(100_000 * scale), 10)
    with session() as (spark, folder):
        data = shuffled(integers(queries, ITEMS, JUDGED))
        tables = {side: saved(spark, folder / side, getattr(data, side), value) for side, value in SIDES.items()}

        def ours() -> Numbers:
            return dict(rs.spark.evaluate(tables["truth"], tables["run"], METRICS))

        peers = [windows(spark, tables, faster(2)), *ranking_metrics(tables, faster(3))]
        work = f"Spark, {queries * ITEMS:,} rows, {len(METRICS)} metrics"
        yield from race(work, ours, peers, min(repeats, 3))
        for duplicates in ("count", "error"):
            yield from race(
                f"{work}, `rs.sql.text`, duplicates='{duplicates}'",
                written(spark, duplicates),
                [windows(spark, tables, faster(1))],
                min(repeats, 3),
            )


def list_rows(scale: float, repeats: int) -> Iterator[Row]:
    if shutil.which("java") is None:
        return
    queries = max(int(200_000 * scale), 10)
    with session() as (spark, folder):
        data = integers(queries, ITEMS, JUDGED)
        write_lists(folder / "lists", data)
        table = spark.read.parquet(str(folder / "lists"))
        table.createOrReplaceTempView("lists")
        rs.spark.register(spark, "rankstone")
        idle = within(round(1 / 0.6, 2))
        for what, call in {
            "evaluate": lambda: dict(rs.spark.evaluate(table, metrics="ndcg@10")),
            "SQL": lambda: {"ndcg@10": spark.sql("select ndcg(rec, truth, 10) from lists").first()[0]},
        }.items():
            work = f"Spark, {queries:,} lists of {ITEMS}, nDCG@10 by {what}"
            yield from race(
                work, call, [Contender("mapInArrow that does nothing", lambda: nothing(table), idle)], repeats
            )


SIDES = {"truth": "grade", "run": "score"}


@contextmanager
def session() -> Iterator[tuple[Any, Path]]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        yield spark, Path(folder)
        spark.stop()


def saved(spark: Any, path: Path, side: Side, value: str) -> Any:
    parquet.write_table(side.table(value), path, row_group_size=1 << 20)
    return spark.read.parquet(str(path))


def write_lists(path: Path, data: Data) -> None:
    table = pyarrow.table({"truth": list_columns(data.truth, JUDGED)[0], "rec": list_columns(data.run, ITEMS)[0]})
    parquet.write_table(table, path, row_group_size=1 << 15)


def nothing(table: Any) -> None:
    def pass_by(batches: Any) -> Any:
        seen = sum(batch.num_rows for batch in batches)
        yield pyarrow.record_batch({"rows": pyarrow.array([seen])})

    table.mapInArrow(pass_by, "rows long").collect()


# -- Spark SQL -----------------------------------------------------------------------------------------------

# Ways to find `hits`: one row a judged item that the run returned, with its rank.
SQL_HITS = {
    "window, then join": """
        ranked as (
            select query, item, row_number() over (partition by query order by score desc) as rank from run),
        hits as (select query, grade, rank from ranked join truth using (query, item))""",
    "join, then window": """
        ranked as (
            select query, grade, row_number() over (partition by query order by score desc) as rank
            from run left join truth using (query, item)),
        hits as (select query, grade, rank from ranked where grade is not null)""",
    "broadcast join, then window": """
        ranked as (
            select /*+ broadcast(truth) */ query, grade,
                row_number() over (partition by query order by score desc) as rank
            from run left join truth using (query, item)),
        hits as (select query, grade, rank from ranked where grade is not null)""",
}
SQL_METRICS = """,
    placed as (
        select query, grade, rank, row_number() over (partition by query order by rank) as nth from hits),
    gained as (
        select query, min(rank) as first, {gained} from placed group by query),
    best as (select query, grade, row_number() over (partition by query order by grade desc) as place from truth),
    ideal as (select query, count(*) as relevant, {ideal} from best group by query)
    select {means} from ideal left join gained using (query)"""
GAINED = """sum(grade / log2(rank + 1)) filter (where rank <= {k}) as dcg{k},
    count(*) filter (where rank <= {k}) as hits{k}, sum(nth / rank) filter (where rank <= {k}) as precisions{k}"""
IDEAL = "sum(grade / log2(place + 1)) filter (where place <= {k}) as best{k}"
MEANS = {
    "ndcg": "sum(dcg{k} / best{k}) / count(*)",
    "recall": "sum(hits{k} / relevant) / count(*)",
    "precision": "sum(hits{k} / {k}) / count(*)",
    "ap": "sum(precisions{k} / relevant) / count(*)",
    "rr": "sum(1 / first) filter (where first <= {k}) / count(*)",
}


def windows(spark: Any, tables: dict[str, Any], goal: Goal) -> Contender:
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    text = SQL_METRICS.format(
        gained=", ".join(GAINED.format(k=k) for k in CUTS),
        ideal=", ".join(IDEAL.format(k=k) for k in CUTS),
        means=", ".join(mean.format(k=k) for mean in MEANS.values() for k in CUTS),
    )

    def entry(hits: str) -> Callable[[], Numbers]:
        return lambda: dict(zip(METRICS, spark.sql(f"with {hits}{text}").first(), strict=True))

    chosen, call = audition("Spark SQL", {name: entry(hits) for name, hits in SQL_HITS.items()})
    return Contender(f"Spark SQL, windows ({chosen})", call, goal)


def written(spark: Any, duplicates: str) -> Callable[[], Numbers]:
    text = rs.sql.text(METRICS, "truth", "run", "spark", duplicates=duplicates)
    return lambda: dict(zip(METRICS, spark.sql(text).first(), strict=True))


# -- RankingMetrics ------------------------------------------------------------------------------------------


def ranking_metrics(tables: dict[str, Any], goal: Goal) -> Iterator[Contender]:
    """From the same tables: items have to be gathered in lists first. They are kept, as each metric goes over them."""
    from pyspark.ml.evaluation import RankingEvaluator
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as F  # noqa: N812

    def gathered() -> Any:
        best_first = F.sort_array(F.collect_list(F.struct("score", "item")), asc=False)
        run = tables["run"].groupBy("query").agg(best_first["item"].alias("prediction"))
        truth = tables["truth"].groupBy("query").agg(F.collect_list("item").alias("label"))
        both = run.join(truth, "query").select(*(F.col(name).cast("array<double>") for name in ("prediction", "label")))
        return both.coalesce(4).cache()  # as many as there are otherwise take longer

    def mllib() -> Numbers:
        lists = gathered()
        metrics = RankingMetrics(lists.rdd.map(tuple))
        found = {f"{name}@{k}": getattr(metrics, name)(k) for name in SPARKS for k in CUTS}
        lists.unpersist()
        return found

    def ml() -> Numbers:
        lists = gathered()
        evaluator = RankingEvaluator()
        names = {name: f"{name.removesuffix('At')}AtK" for name in SPARKS}
        found = {
            f"{name}@{k}": evaluator.setMetricName(own).setK(k).evaluate(lists)
            for name, own in names.items()
            for k in CUTS
        }
        lists.unpersist()
        return found

    def expected() -> Numbers:
        ours = {f"{name}@{k}": f"{own}@{k}" for name, own in SPARKS.items() for k in CUTS}
        found = rs.spark.evaluate(tables["truth"], tables["run"], list(ours.values()))
        return {name: found[own] for name, own in ours.items()}

    version = named("pyspark")
    yield Contender(f"{version}, RankingMetrics, {len(SPARKS)} metrics", mllib, goal, expected=expected)
    yield Contender(f"{version}, RankingEvaluator, {len(SPARKS)} metrics", ml, goal, expected=expected)
