"""What it costs to begin: `import rankstone`, the first number of a fresh process, and a command."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from race import Goal, Row, row, say, seconds, within

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
FIRST = "import rankstone as rs; print(rs.evaluate({'q': {'a': 1, 'b': 2}}, {'q': {'b': 0.9, 'c': 0.8}})['ndcg@10'])"


def rows(scale: float, repeats: int) -> Iterator[Row]:
    times = max(int(31 * min(scale, 1)), 15)
    taken: dict[str, list[float]] = {"rankstone": [], "numpy": [], "first": [], "command": []}
    with tempfile.TemporaryDirectory() as folder:
        command = _command(Path(folder))
        for _ in range(times):
            for package in ("rankstone", "numpy"):
                taken[package].append(float(fresh(IMPORT.format(package))))
            for name, words in (("first", [sys.executable, "-c", FIRST]), ("command", command)):
                start = time.perf_counter()
                subprocess.run(words, check=True, capture_output=True)
                taken[name].append(time.perf_counter() - start)
    ours, numpy, first, whole = (statistics.median(times) for times in taken.values())
    say(f"    import: rankstone {seconds(ours)}, NumPy {seconds(numpy)}; first number {seconds(first)}")
    say(f"    command: {seconds(whole)}, best {seconds(min(taken['command']))}")
    yield row("`import rankstone`", seconds(ours), "`import numpy`", seconds(numpy), ours / numpy, within(1.4))
    yield row("a fresh process, up to its first number", seconds(first), "", "", first, Goal(0.5, False, " s"))
    work = "`rankstone evaluate` of a TREC run of 2,000 lines, a whole process"
    yield row(work, seconds(whole), "", "", 1e3 * whole, Goal(120, False, " ms"))


def _command(folder: Path) -> list[str]:
    """As it is typed, with a small run and its qrels."""
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text("".join(f"q{n // 10} 0 d{n * 7 % 1000} {n % 3}\n" for n in range(200)))
    run.write_text("".join(f"q{n // 100} Q0 d{n % 1000} {n % 100} {1 / (n % 100 + 1):.6f} made\n" for n in range(2000)))
    return [sys.executable, "-m", "rankstone", "evaluate", str(qrels), str(run)]


def fresh(code: str) -> str:
    """What the code prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
