"""One number from every door: tables of Spark, as rows and as lists, say what nested dicts say."""

from typing import Any

import pytest

import rankstone as rs

from ..table import doors
from ..table.doors import Numbers, Rows, compare, every_metric

METRICS = every_metric()
CONVENTIONS = ("rankstone", "trec_eval", "ranx", "scikit-learn", "catboost", "hivemall", "trectools")
# What a table without an order cannot do.
LIMITS = (r"needs an order of (rows|the truth)",)


def evaluated(spark: Any, sides: Any) -> Any:
    def door(metrics: Any, **given: Any) -> Numbers:
        return Numbers(rs.spark.evaluate(*sides, metrics, **given))

    return door


def rows_of(spark: Any, data: Any, ids: str) -> Any:
    rows, kind = Rows(data, mixed=True), "string" if ids == "text" else "bigint"
    return [
        spark.createDataFrame(
            [(q, i, float(v)) for q, i, v in zip(*side, strict=True)], f"query {kind}, item {kind}, {value} double"
        )
        for side, value in ((rows.truth, "grade"), (rows.run, "score"))
    ]


def lists_of(spark: Any, data: Any, ids: str) -> Any:
    kind = "string" if ids == "text" else "bigint"
    return [
        spark.createDataFrame(
            [(query, list(one), [float(v) for v in one.values()]) for query, one in side.items()],
            f"query {kind}, item array<{kind}>, {value} array<double>",
        )
        for side, value in ((data.truth, "grade"), (data.run, "score"))
    ]


@pytest.mark.parametrize("ids", ["text", "whole"])
def test_rows(spark: Any, ids: str) -> None:
    data = doors.filled(ids)
    door, measured = evaluated(spark, rows_of(spark, data, ids)), 0
    for convention in CONVENTIONS[ids == "text" :: 2]:
        metrics = [metric for metric in METRICS if not doors.goes_by_the_truths_rows(metric, convention)]
        measured += compare(door, data, convention, metrics, LIMITS)
    assert measured > 100


@pytest.mark.parametrize("ids", ["text", "whole"])
def test_lists(spark: Any, ids: str) -> None:
    data = doors.made(ids)
    door, measured = evaluated(spark, lists_of(spark, data, ids)), 0
    for convention in CONVENTIONS[ids == "text" :: 2]:
        metrics = [metric for metric in METRICS if not doors.goes_by_lists_of_grades(metric, convention)]
        measured += compare(door, data, convention, metrics)
    assert measured > 100
