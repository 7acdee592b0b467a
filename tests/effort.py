"""How much a test may do: examples by the profile of Hypothesis, CPU time instead of the clock."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import settings

PATIENCE = 1800  # seconds until another process counts as hanging: much longer than a busy machine takes
BROWSER_PATIENCE = 300_000  # milliseconds, of one step in a page


def examples(times: float, **more: Any) -> settings:
    """So many times the examples of the profile: `@examples(10)` on a test that is quick, `@examples(0.5)` on one that
    is not."""
    return settings(max_examples=max(1, round(times * settings().max_examples)), **more)


class TooMuchCPUError(AssertionError):
    """More CPU time than an algorithm of the right order takes."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail what takes more CPU time, in all threads of the process. A busy machine only takes longer; the limit is
    for what would take a hundred times as much."""

    def stop(*_: object) -> None:
        raise TooMuchCPUError(f"more than {seconds} seconds of CPU")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
