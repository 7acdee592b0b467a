"""What it costs to begin: `import rankstone`, and the first number of a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from race import Goal, Row, row, say, seconds, within

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
FIRST = "import rankstone as rs; print(rs.evaluate({'q': {'a': 1, 'b': 2}}, {'q': {'b': 0.9, 'c': 0.8}})['ndcg@10'])"


def rows(scale: float, repeats: int) -> Iterator[Row]:
    times = max(int(31 * min(scale, 1)), 15)
    taken: dict[str, list[float]] = {"rankstone": [], "numpy": [], "first": []}
    for _ in range(times):
        for package in ("rankstone", "numpy"):
            taken[package].append(float(fresh(IMPORT.format(package))))
        start = time.perf_counter()
        fresh(FIRST)
        taken["first"].append(time.perf_counter() - start)
    ours, numpy, first = (statistics.median(taken[what]) for what in ("rankstone", "numpy", "first"))
    say(f"    import: rankstone {seconds(ours)}, NumPy {seconds(numpy)}; first number {seconds(first)}")
    yield row("`import rankstone`", seconds(ours), "`import numpy`", seconds(numpy), ours / numpy, within(1.4))
    yield row("a fresh process, up to its first number", seconds(first), "", "", first, Goal(0.5, False, " s"))


def fresh(code: str) -> str:
    """What the code prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
