"""Times rankstone and other libraries, in one run, on the same data. See README.md in this folder."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import accumulate
import arrays
import columns
import decisions
import dicts
import files
import fusion
import identify
import intents
import lists
import logged
import memory
import scaling
import shown
import small
import spark
import splits
import sql
import startup
from race import Row, VoidError, say

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: written by run.py -->", "<!-- end of table -->"
VERSIONS = ("rankstone", "numpy", "scipy", "pyarrow", "duckdb", "polars", "scikit-learn", "torch", "torchmetrics",
            "pytrec_eval-terrier", "ir-measures", "pyndeval", "ranx", "numba", "obp", "rax", "jax", "pyspark",
            "trectools", "rectools", "replay-rec", "evidently")  # fmt: skip

WORKLOADS: dict[str, Callable[[float, int], Iterator[Row]]] = {
    "dicts": dicts.rows,
    "integers": columns.integer_rows,
    "scaling": scaling.rows,
    "strings": columns.string_rows,
    "lists": lists.rows,
    "accumulate": accumulate.rows,
    "small": small.rows,
    "startup": startup.rows,
    "memory": memory.rows,
    "trec": files.trec_rows,
    "trec_eval": files.trec_eval_rows,
    "parquet": files.parquet_rows,
    "long": files.long_rows,
    "sql": sql.rows,
    "arrays": arrays.rows,
    "splits": splits.rows,
    "identify": identify.rows,
    "intents": intents.rows,
    "decisions": decisions.rows,
    "logged": logged.rows,
    "fusion": fusion.rows,
    "shown": shown.rows,
    "spark": spark.rows,
    "spark-lists": spark.list_rows,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORKLOADS, action="append", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--repeats", type=int, default=7, help="rounds of each race, 7 by default")
    parser.add_argument("--trec-eval", metavar="PROGRAM", help="where trec_eval is, if not on the PATH")
    parser.add_argument("--write", action="store_true", help="write the table into README.md")
    options = parser.parse_args()
    if options.write and (options.only or options.quick):
        parser.error("--write needs the whole run: leave out --only and --quick")
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    if options.trec_eval:
        os.environ["TREC_EVAL"] = options.trec_eval

    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        say(f"the machine is busy (load {os.getloadavg()[0]:.1f}): the ratios will not be worth much")
    found: list[Row] = []
    void = False
    for name in options.only or WORKLOADS:
        say(name)
        try:
            found.extend(WORKLOADS[name](0.1 if options.quick else 1.0, options.repeats))
        except VoidError as error:
            say(f"    void: {error}")
            found.append(Row(name, "", "", f"void: {error}", met="void"))
            void = True
    text = f"{machine()}\n\n{table(found)}\n"
    print(text)
    if options.write and not void:
        write(text)
    return int(void)


def table(found: list[Row]) -> str:
    head = ("work", "rankstone", "against", "its time or size", "ratio", "goal", "met")
    lines = [head, tuple("-" * len(cell) for cell in head)]
    lines += [(one.work, one.ours, one.peer, one.theirs, one.value, one.goal, one.met) for one in found]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ", ".join(f"{name} {found}" for name in VERSIONS if (found := installed(name)))
    return (
        f"Measured on {date.today().isoformat()}: {processor()}, {cores} cores, "
        f"Python {platform.python_version()}, {packages}."
    )


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return match[1].strip() if match else platform.processor() or platform.machine()


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def write(text: str) -> None:
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    say(f"written: {README.name}")


if __name__ == "__main__":
    sys.exit(main())
