"""Memory that aligning columns takes on top of the columns, at its peak, in a fresh process."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow
from data import Data, integers, shuffled, strings
from race import Row, row, say, within

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
SIDES = (("truth", "grade"), ("run", "score"))


def rows(scale: float, repeats: int) -> Iterator[Row]:
    goal = within(1.5)
    if not STATUS.exists():
        yield Row("memory", "", "", "only measured on Linux", goal=str(goal), met="not measured")
        return
    queries = max(int(100_000 * scale), 1)
    data = integers(queries, 100, 10)
    named = strings(data)
    for what, one in (
        ("int64 columns, rows grouped by query", data),
        ("int64 columns, rows shuffled", shuffled(data)),
        ("string columns, rows grouped by query", named),
        ("string columns, rows shuffled", shuffled(named)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            write(one, Path(folder))
            extra = max(int(output(folder)) for _ in range(2))
        say(f"    {what}: columns {one.nbytes >> 20} MB, on top of them {extra >> 20} MB")
        yield row(
            f"peak memory on top of the columns, {what}",
            f"{extra / 2**20:.0f} MB",
            "the columns",
            f"{one.nbytes / 2**20:.0f} MB",
            extra / one.nbytes,
            goal,
        )


def write(data: Data, folder: Path) -> None:
    for side, value in SIDES:
        table = getattr(data, side).table(value)
        with pyarrow.ipc.new_file(folder / side, table.schema) as file:
            for batch in table.combine_chunks().to_batches():
                file.write_batch(batch)


def output(folder: str) -> str:
    command = [sys.executable, __file__, folder]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(folder: Path) -> int:
    """Bytes at the peak of `evaluate`, less those held before it."""
    from columns import rankstone
    from data import Side

    sides = []
    for side, _ in SIDES:
        with pyarrow.OSFile(str(folder / side)) as file:
            table = pyarrow.ipc.open_file(file).read_all()
        found = [column.chunk(0) for column in table.columns]
        sides.append(Side(*(one if one.type == pyarrow.string() else one.to_numpy() for one in found)))
    data = Data(*sides, queries=0)
    with suppress(OSError):
        CLEAR.write_text("5")  # forget the peak so far
    before = status("VmRSS")
    rankstone(data)
    return status("VmHWM") - before


def status(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text())[1]) * 1024


if __name__ == "__main__":
    print(measure(Path(sys.argv[1])))
