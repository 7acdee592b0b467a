"""How far a long job is, in a line on the terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """A line on the terminal that shows how far a long job is: after a second, and only if someone can see it."""

    def __init__(self, name: str, unit: str = "rows", stream: TextIO | None = None) -> None:
        self.name, self.unit = name, unit
        self.stream = stream or sys.stderr
        self.start = self.shown = time.monotonic()
        self.drawn = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.start < 1 or now - self.shown < 0.1 or not self.stream.isatty():
            return
        self.shown, self.drawn = now, True
        speed = done / (now - self.start)
        left = (total - done) / speed if speed and total else 0.0
        share = min(done / total, 1.0) if total else 0.0
        bar = "#" * round(20 * share)
        self.stream.write(
            f"\r\x1b[K{self.name} [{bar:<20}] {share:4.0%} {_short(speed)} {self.unit}/s, {_duration(left)} left"
        )
        self.stream.flush()

    def __exit__(self, *_: object) -> None:
        if self.drawn:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
