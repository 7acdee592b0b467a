"""A cluster of two workers, and Spark Connect, each in a process of its own: Spark has one driver a process."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankstone as rs
from tests.effort import PATIENCE

from .data import every_metric, flat, made_up
from .test_sql import TABLES, page_queries

HERE = Path(__file__).parent


def answer(script: str, folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    pytest.importorskip("pyspark", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs java")
    (folder / "data.json").write_text(json.dumps(data))
    command = [sys.executable, str(HERE / script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "result.json").read_text())


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    truth, run = made_up(200)
    found = answer("cluster.py", tmp_path, {"truth": flat(truth), "run": flat(run)})
    assert len(found["killed"]) == 1
    expected = rs.evaluate(truth, run, list(found["means"]))
    assert found["means"] == pytest.approx(dict(expected), rel=1e-12)
    assert found["ndcg@5"] == pytest.approx(
        dict(zip(expected.queries, expected.per_query["ndcg@5"], strict=True)), rel=1e-12
    )
    assert found["account"] == vars(expected.account)


def test_spark_connect(tmp_path: Path, shared: Callable[[str], Path]) -> None:
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    truth, run = made_up()
    data = {
        "truth": flat(truth),
        "run": flat(run),
        "metrics": list(map(str, every_metric())),
        "tables": TABLES,
        "queries": [
            *page_queries(shared),
            "select to_ordered_map(itemid, score, 2) is not null, mae(score, score), f1score(1, 1) from dummy_rec",
            "select each_top_k(1, userid, score, userid, itemid) as (rank, score, userid, itemid) from dummy_rec",
        ],
    }
    found = answer("connected.py", tmp_path, data)
    assert found["module"].startswith("pyspark.sql.connect")
    expected = rs.evaluate(truth, run, data["metrics"])
    for form in ("rows", "lists"):
        means, places = found[form]["means"], {query: at for at, query in enumerate(found[form]["queries"])}
        assert means == pytest.approx(dict(expected), rel=1e-12, abs=1e-12, nan_ok=True)
        for label in expected:
            values = [found[form]["values"][label][places[query]] for query in expected.queries]
            assert values == pytest.approx(expected.per_query[label].tolist(), rel=1e-12, abs=1e-12, nan_ok=True)
    binary, graded, others, top = found["sql"]
    assert binary[0][:2] == [2 / 3, 1 / 3]
    assert math.isclose(binary[0][-1], 0.6131471927654585, rel_tol=1e-12)
    assert graded[0] == pytest.approx([0.8128912838590544, 0.9187707805346093], rel=1e-12)
    assert others == [[True, 0.0, 1.0]]
    assert sorted(top) == [[1, 10.0, 1, 1], [1, 10.0, 2, 1], [1, 10.0, 3, 1]]
