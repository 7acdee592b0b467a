"""From an empty environment to the first number: rankstone and others, in turn, each in environments of its own.

    python benchmarks/install.py dist/rankstone-0.1.0-cp311-cp311-manylinux_2_34_x86_64.whl

The wheel is one of `make wheel`, for the Python that runs this. A first round fills pip's cache and is not counted. The
tables show medians, by the clock and, in brackets, of the time of all cores together, which other work on the machine
changes less.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from race import VoidError, say

DATA = """
truth = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}
run = {"q1": {"a": 0.9, "x": 0.8, "b": 0.7}, "q2": {"y": 0.9, "c": 0.8}}
"""
NDCG = ((1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3)) + 1 / math.log2(3)) / 2
PYTREC_EVAL = """
import pytrec_eval
values = pytrec_eval.RelevanceEvaluator(truth, {"ndcg_cut.10"}).evaluate(run).values()
print(sum(value["ndcg_cut_10"] for value in values) / len(values))
"""
# By what pip installs.
FIRST_NUMBER = {
    "rankstone": "import rankstone as rs; print(rs.evaluate(truth, run, 'ndcg@10')['ndcg@10'])",
    "ir-measures": "import ir_measures as ir; print(ir.calc_aggregate([ir.nDCG @ 10], truth, run)[ir.nDCG @ 10])",
    "pytrec_eval-terrier": PYTREC_EVAL,
    "pytrec_eval": PYTREC_EVAL,
    "ranx": "import ranx; print(ranx.evaluate(ranx.Qrels(truth), ranx.Run(run), 'ndcg@10'))",
}
# What rankstone imports of each of its requirements, when, and what else that one installs.
REQUIREMENTS = {
    "numpy": ("import numpy", "always", ()),
    "scipy": ("import scipy.special", "tests, intervals and power; sparse matrices", ()),
    "pyarrow": ("import pyarrow, pyarrow.compute", "frames, Arrow tables, CSV, JSON, Parquet; splits", ()),
    "rich": ("import rich.progress, rich.console", "the progress bar", ("pygments", "markdown_it", "mdurl")),
    "array_api_compat": ("import array_api_compat", "`rs.arrays`", ()),
}


class Taken(NamedTuple):
    """Seconds."""

    clock: float
    cores: float  # of all of them together

    def __str__(self) -> str:
        return f"{self.clock:.2f} ({self.cores:.2f})"


class Lap(NamedTuple):
    install: Taken  # the environment, too
    first: Taken  # the first process that computes the number
    second: Taken  # the second one
    megabytes: float
    version: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", help="of rankstone")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, 3 by default")
    options = parser.parse_args()
    packages = {name: options.wheel if name == "rankstone" else name for name in FIRST_NUMBER}
    laps: dict[str, list[Lap]] = {name: [] for name in packages}
    say(f"Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    for number in range(options.repeats + 1):
        for name in list(packages):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    lap = measure(Path(folder), name, packages[name])
                except subprocess.CalledProcessError as error:
                    say(f"    {name}: left out, {' '.join(error.cmd[1:4])} failed")
                    del packages[name], laps[name]
                    continue
                say(f"    {name}: {', '.join(f'{field} {value}' for field, value in lap._asdict().items())}")
                if number:
                    laps[name].append(lap)
                if not number and name == "rankstone":
                    requirements = requirement_table(Path(folder))
    print("| package | install, s | first number, s | the next process, s | MB |\n|---|---|---|---|---|")
    for name, rounds in laps.items():
        times = [median(getattr(lap, field) for lap in rounds) for field in ("install", "first", "second")]
        print(f"| {name} {rounds[0].version} | {' | '.join(map(str, times))} | {rounds[0].megabytes:.0f} |")
    print(f"\n{requirements}")


def measure(folder: Path, name: str, package: str) -> Lap:
    python = str(folder / "bin" / "python")
    start = now()
    call(sys.executable, "-m", "venv", str(folder))
    call(python, "-m", "pip", "install", "-qq", package)
    times = [since(start)]
    for _ in range(2):
        start = now()
        value = float(call(python, "-c", DATA + FIRST_NUMBER[name]))
        times.append(since(start))
        if not math.isclose(value, NDCG, abs_tol=1e-6):
            raise VoidError(f"{name}: nDCG@10 is {value}, not {NDCG}")
    version = call(python, "-c", f"from importlib.metadata import version; print(version('{name}'))").strip()
    call(python, "-m", "pip", "uninstall", "-qq", "--yes", "setuptools")  # which venv puts there, before Python 3.12
    (packages,) = folder.glob("lib/*/site-packages")
    shutil.rmtree(packages / "pip")
    return Lap(*times, size(packages), version)


def now() -> Taken:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(time.perf_counter(), children.ru_utime + children.ru_stime)


def since(start: Taken) -> Taken:
    end = now()
    return Taken(end.clock - start.clock, end.cores - start.cores)


def median(times: Iterable[Taken]) -> Taken:
    return Taken(*map(statistics.median, zip(*times, strict=True)))


def requirement_table(folder: Path) -> str:
    lines = ["| requirement | MB | import, ms | loaded for |", "|---|---|---|---|"]
    (packages,) = folder.glob("lib/*/site-packages")
    for name, (imports, use, others) in REQUIREMENTS.items():
        megabytes = sum(size(packages / part) for part in (name, f"{name}.libs", *others))
        base = "" if name in ("numpy", "rich") else "import numpy; "  # which is there anyway
        code = f"import time; {base}start = time.perf_counter(); {imports}; print(time.perf_counter() - start)"
        seconds = statistics.median(float(call(str(folder / "bin" / "python"), "-c", code)) for _ in range(9))
        lines.append(f"| {name} | {megabytes:.0f} | {1e3 * seconds:.0f} | {use} |")
    return "\n".join(lines)


def size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def call(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
