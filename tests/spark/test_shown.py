"""Metrics of what was shown on tables of Spark: the first rows of each list come to the driver."""

import sys
from typing import Any

import pytest

import rankstone as rs

from ..evaluate.listed import SHOWN, assert_equal, near, some_lists
from .data import frames

ASKED = ["ndcg@5", *(label for label in SHOWN if not label.startswith("reo"))]
ALONE = ["coverage@5", "gini@5", "novelty@5", "unseen@5"]


def test_a_table_is_evaluate(spark: Any) -> None:
    truth, run, side_info = some_lists(3, queries=40)
    run.pop("u3")
    run["nobody judged"] = {"i1": 0.5}
    judged, returned = frames(spark, truth, run)
    want = rs.evaluate(truth, run, ASKED, **side_info)
    assert_equal(rs.spark.evaluate(judged, returned, ASKED, **side_info), want)
    assert_equal(rs.evaluate(truth, returned, ASKED, **side_info), want)  # the truth is here
    lists = spark.createDataFrame(
        [(query, sorted(items, key=lambda item: (items[item], item), reverse=True)) for query, items in run.items()],
        "query string, item array<string>",
    )
    found = rs.evaluate(judged, lists, ["coverage@5", "unseen@5"], **side_info)
    assert dict(found) == {label: near(want[label]) for label in ("coverage@5", "unseen@5")}


def test_without_a_truth(spark: Any) -> None:
    _, run, side_info = some_lists(4, queries=30)
    _, returned = frames(spark, {"u": {"a": 1}}, run)
    assert_equal(
        rs.evaluate(run=returned, metrics=ALONE, **side_info), rs.evaluate(run=run, metrics=ALONE, **side_info)
    )


def test_what_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, run, side_info = some_lists(4, queries=30)
    judged, returned = frames(spark, truth, run)
    with pytest.raises(ValueError, match="coverage reads whole lists; choose a cutoff"):
        rs.spark.evaluate(judged, returned, "coverage", **side_info)
    with pytest.raises(ValueError, match="ndcg@5 needs a truth"):
        rs.spark.evaluate(run=returned, metrics=["ndcg@5", "coverage@5"], **side_info)
    with pytest.raises(ValueError, match="item 'i"):
        rs.spark.evaluate(run=returned, metrics="coverage@5", catalogue=["other"])
    monkeypatch.setattr(sys.modules["rankstone.spark.distributed"], "DRIVER_ROWS", 100)
    with pytest.raises(ValueError, match="coverage@5 needs the first rows of each list on the driver: about"):
        rs.spark.evaluate(judged, returned, "coverage@5", **side_info)
