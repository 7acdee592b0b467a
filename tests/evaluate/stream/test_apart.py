"""Streams in other processes: work shared between two, and how much memory one takes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import rankstone as rs
from tests.effort import PATIENCE

from .data import pair

FOLDER = Path(__file__).parent

GROWTH = """
import resource, sys
import numpy as np
from rankstone.evaluate.stream import Stream

def batches(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        item = np.arange(200_000) + seed * 200_000
        yield {"query": rng.integers(0, 1000, 200_000), "item": item, "score": rng.random(200_000)}

def peak(count):
    stream = Stream({query: {query + n * 1000: 1 for n in range(10)} for query in range(500)}, "ap")
    for batch in batches(count):
        stream.first_pass(batch)
    for batch in batches(count):
        stream.second_pass(batch)
    assert stream.compute().account.judged == 500
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

few = peak(2)
print(peak(20) - few)
"""


def test_two_processes(tmp_path):
    truth, run = pair(np.random.default_rng(1), text=True)
    whole = pa.table({"query": run.query, "item": run.item, "score": run.score})
    paths = []
    for part in range(5):
        paths.append(str(tmp_path / f"{part}.parquet"))
        parquet.write_table(whole.slice(part * 80, 80), paths[-1])
    parquet.write_table(whole.slice(400), tmp_path / "rest.parquet")
    paths.append(str(tmp_path / "rest.parquet"))
    metrics = ["ap", "ndcg@5", "bpref"]
    (tmp_path / "in").write_bytes(pickle.dumps((truth, metrics, paths)))
    subprocess.run(
        [sys.executable, FOLDER / "shares.py", tmp_path / "in", tmp_path / "out"], check=True, timeout=PATIENCE
    )
    got = pickle.loads((tmp_path / "out").read_bytes())
    want = rs.evaluate(truth, run, metrics)
    for name in metrics:
        np.testing.assert_allclose(got[name], want.per_query[name], rtol=1e-12)


def test_memory_does_not_grow_with_the_run():
    done = subprocess.run([sys.executable, "-c", GROWTH], check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert int(done.stdout) < 20_000  # kilobytes; twenty batches take 96,000 if they are kept
