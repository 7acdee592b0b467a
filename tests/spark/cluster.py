"""Evaluates on a cluster of two workers, one of which is killed in the middle. Called by test_apart.py.

python cluster.py FOLDER  reads data.json there, leaves result.json
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import rankstone as rs

METRICS = ["ndcg@5", "ap", "rr", "mae", "r2"]


def main(folder: Path) -> None:
    data = json.loads((folder / "data.json").read_text())
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "4")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    truth = spark.createDataFrame(data["truth"], "query string, item string, grade double").repartition(2)
    run = spark.createDataFrame(data["run"], "query string, item string, score double").repartition(4)
    killed: list[int] = []
    watch = threading.Thread(target=kill_one, args=(folder, killed))
    watch.start()
    found = rs.spark.evaluate(truth, run.mapInArrow(slowly(str(folder)), run.schema), METRICS)
    watch.join()
    values = dict(zip(found.queries, found.per_query["ndcg@5"].tolist(), strict=True))
    answer = {"means": dict(found), "ndcg@5": values, "killed": killed, "account": vars(found.account)}
    (folder / "result.json").write_text(json.dumps(answer))
    spark.stop()


def slowly(folder: str) -> Any:
    """Passes rows on, the second half when an executor is killed, and says which executor it belongs to."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        import os
        import time
        from pathlib import Path

        daemon = os.getppid()
        executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]
        for batch in batches:
            half = len(batch) // 2
            yield batch.slice(0, half)
            (Path(folder) / f"executor-{executor}").touch()
            while not (Path(folder) / "killed").exists():
                time.sleep(0.05)
            yield batch.slice(half)

    return work


def kill_one(folder: Path, killed: list[int]) -> None:
    """Ends one executor as soon as it has handed over a part of its rows."""
    while not killed:
        for mark in folder.glob("executor-*"):
            killed.append(int(mark.name.partition("-")[2]))
            os.kill(killed[0], signal.SIGKILL)
            (folder / "killed").touch()
            break
        time.sleep(0.05)


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
