"""Progress bar in a terminal or a notebook, for jobs that take longer than two seconds."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TypeVar

Item = TypeVar("Item")

AFTER = 2.0  # seconds
_EACH = 0.1  # seconds between two updates
_drawing = threading.Lock()  # held by the job with the bar; jobs inside it have none


class Progress:
    """How much of a job is done, and its total, if available."""

    done: float = 0
    total: float | None = None

    def __call__(self, done: float, total: float | None = None) -> None:
        self.done, self.total = done, total

    def of(self, parts: Iterable[Item], total: int) -> Iterator[Item]:
        """Iterate over the parts, and count them."""
        for number, part in enumerate(parts, 1):
            yield part
            self(number, total)


@contextmanager
def watched(name: str, unit: str = "", ask: Callable[[Progress], None] | None = None) -> Iterator[Progress]:
    """Show the progress of a job that may take long: `with watched("reading x") as progress: progress(3, 10)`.

    ask: updates the progress before each redraw, in place of the job. Nothing is drawn without a terminal or a
    notebook, or if the environment variable RANKSTONE_PROGRESS is `off`.
    """
    progress = Progress()
    if not _visible() or not _drawing.acquire(blocking=False):
        yield progress
        return
    over = threading.Event()
    thread = threading.Thread(target=_draw, args=(name, unit, progress, ask, over), daemon=True)
    try:
        thread.start()
        yield progress
    finally:
        over.set()
        thread.join()
        _drawing.release()


def _visible() -> bool:
    if os.environ.get("RANKSTONE_PROGRESS") == "off":
        return False
    if "ipykernel" in sys.modules:
        return find_spec("ipywidgets") is not None  # without it, a notebook keeps a copy of every redraw
    return sys.stderr is not None and sys.stderr.isatty()


def _draw(
    name: str, unit: str, progress: Progress, ask: Callable[[Progress], None] | None, over: threading.Event
) -> None:
    if over.wait(AFTER):
        return
    from rich import console, markup
    from rich import progress as rich

    columns = [rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TextColumn("{task.fields[share]}")]
    columns += [rich.TimeElapsedColumn()]
    screen = console.Console(stderr=True)
    with rich.Progress(*columns, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(markup.escape(name), total=None, share="")
        while not over.wait(_EACH):
            if ask is not None:
                ask(progress)
            bar.update(task, completed=progress.done, total=progress.total, share=_share(progress, unit))


def _share(progress: Progress, unit: str) -> str:
    if progress.total:
        return f"{progress.done / progress.total:.0%}"
    return f"{progress.done:,} {unit}" if progress.done else ""
