"""Evaluates and queries through a Spark Connect server. Called by test_apart.py.

python connected.py FOLDER  reads data.json there, leaves result.json
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import rankstone as rs


def main(folder: Path) -> None:
    data = json.loads((folder / "data.json").read_text())
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    kinds = {"truth": "grade", "run": "score"}
    rows = [
        spark.createDataFrame(data[side], f"query string, item string, {value} double") for side, value in kinds.items()
    ]
    lists = [frame.groupBy("query").agg(*_lists(value)) for frame, value in zip(rows, kinds.values(), strict=True)]
    answer = {}
    for name, frames in (("rows", rows), ("lists", lists)):
        found = rs.spark.evaluate(*frames, data["metrics"])
        values = {label: found.per_query[label].tolist() for label in found}
        answer[name] = {"means": dict(found), "queries": found.queries, "values": values}
    for name, (columns, content) in data["tables"].items():
        spark.createDataFrame(content, columns).createOrReplaceTempView(name)
    answer["sql"] = [[list(row) for row in rs.spark.sql(spark, text).collect()] for text in data["queries"]]
    answer["module"] = type(spark).__module__
    (folder / "result.json").write_text(json.dumps(answer))
    spark.stop()


def _lists(value: str) -> list[object]:
    from pyspark.sql import functions as F  # noqa: N812

    pairs = F.sort_array(F.collect_list(F.struct("item", value)))
    return [pairs["item"].alias("item"), pairs[value].alias(value)]


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
