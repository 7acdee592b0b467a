"""How far a long job is: a bar in a terminal or a notebook, once the job has taken two seconds."""

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
_EACH = 0.1  # seconds between two looks
_shown = threading.Lock()  # by the job that shows itself: what is inside it does not


class Progress:
    """How much of a job is done, and how much there is in all, if that is known."""

    done: float = 0
    total: float | None = None

    def __call__(self, done: float, total: float | None = None) -> None:
        self.done, self.total = done, total

    def of(self, parts: Iterable[Item], total: int) -> Iterator[Item]:
        """The parts, each counted when the next is asked for."""
        for number, part in enumerate(parts, 1):
            yield part
            self(number, total)


@contextmanager
def watched(name: str, unit: str = "", ask: Callable[[Progress], None] | None = None) -> Iterator[Progress]:
    """A job that may take long; who does it says how far it is: `with watched("reading x") as at: at(3, 10)`.

    ask: tells it instead, whenever someone looks. Nothing is shown where nobody could see it, or where
    RANKSTONE_PROGRESS is `off`.
    """
    progress = Progress()
    if not _visible() or not _shown.acquire(blocking=False):
        yield progress
        return
    over = threading.Event()
    drawing = threading.Thread(target=_draw, args=(name, unit, progress, ask, over), daemon=True)
    try:
        drawing.start()
        yield progress
    finally:
        over.set()
        drawing.join()
        _shown.release()


def _visible() -> bool:
    if os.environ.get("RANKSTONE_PROGRESS") == "off":
        return False
    if "ipykernel" in sys.modules:
        return find_spec("ipywidgets") is not None  # without it a notebook keeps every bar that was ever drawn
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
