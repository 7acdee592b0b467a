"""How much a test may do: examples by the profile of Hypothesis, CPU time instead of the clock."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
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


def share_without_signals(work: Callable[[], object]) -> float:
    """The longest share of the CPU time of some work in which no signal is handled."""
    times: list[float] = []
    signal.signal(signal.SIGPROF, lambda *_: times.append(time.process_time()))
    times.append(time.process_time())
    signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)  # seconds of the CPU, as the process time
    work()
    signal.setitimer(signal.ITIMER_PROF, 0)
    times.append(time.process_time())
    return max(later - before for before, later in pairwise(times)) / (times[-1] - times[0])
