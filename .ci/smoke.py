"""Is this installed rankstone whole? Library and command, each number worked out by hand or by SciPy."""

import math
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import scipy.stats

import rankstone as rs

TRUTH = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}
RUN = {"q1": {"a": 0.9, "x": 0.8, "b": 0.7}, "q2": {"y": 0.9, "c": 0.8}}
NDCG = ((2 + 1 / math.log2(4)) / (2 + 1 / math.log2(3)) + 1 / math.log2(3)) / 2
AP = ((1 + 2 / 3) / 2 + 1 / 2) / 2


def check_library() -> None:
    result = rs.evaluate(TRUTH, RUN, ["ndcg@10", "ap"])
    assert math.isclose(result["ndcg@10"], NDCG)
    assert math.isclose(result["ap"], AP)

    truth = {f"q{n}": {"a": 1} for n in range(8)}
    old = {query: ["x", "a"] for query in truth}
    new = {query: ["a", "x"] for query in truth} | {"q7": ["x", "y", "a"]}
    comparison = rs.compare(truth, {"old": old, "new": new}, ["rr"], baseline="old")
    difference = comparison["new", "rr"]
    differences = [1 - 1 / 2] * 7 + [1 / 3 - 1 / 2]
    assert math.isclose(difference.difference, sum(differences) / 8)
    assert math.isclose(difference.p, scipy.stats.ttest_1samp(differences, 0).pvalue)
    page = comparison.report()
    assert "<svg" in page
    assert "new" in page


def check_command() -> None:
    command = Path(sysconfig.get_path("scripts"), "rankstone")
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels.txt"), Path(folder, "run.txt")
        qrels.write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n")
        run.write_text(
            "q1 Q0 a 1 0.9 tag\nq1 Q0 x 2 0.8 tag\nq1 Q0 b 3 0.7 tag\nq2 Q0 y 1 0.9 tag\nq2 Q0 c 2 0.8 tag\n"
        )
        words = [str(command), "evaluate", str(qrels), str(run), "-m", "ndcg@10", "-m", "ap"]
        table = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    for name, value in (("ndcg@10", NDCG), ("ap", AP)):
        assert table[table.index(name) + 1] == f"{value:.4f}", table


check_library()
check_command()
print(f"rankstone {rs.__version__} works in Python {sys.version.split()[0]}")
