"""Races: the same work by several libraries, in turn, on the same data, after a check that they agree."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

TOLERANCE = 1e-6

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Goal:
    """A bound on a ratio or on a measure."""

    bound: float
    at_least: bool
    unit: str = "x"

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{self.unit}"


def faster(times: float) -> Goal:
    """Rankstone takes at most one so many-th of the time."""
    return Goal(times, at_least=True)


def within(times: float) -> Goal:
    """Rankstone takes at most so many times the time."""
    return Goal(times, at_least=False)


@dataclass(frozen=True, eq=False)
class Contender:
    """Somebody who does the work: `call` answers with the means by metric, or with None if it only takes time."""

    name: str
    call: Callable[[], Numbers | None]
    goal: Goal | None = None
    share: float = 1.0  # of the data that it gets; its time is divided by this
    shared: str = "lists"  # what it gets a share of
    expected: Callable[[], Numbers] | None = None  # what it must answer, if it gets a part of the data


@dataclass(frozen=True)
class Absent:
    """Somebody who could not come."""

    name: str
    reason: str
    goal: Goal | None = None


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    work: str
    ours: str
    peer: str = ""
    theirs: str = ""
    value: str = ""
    goal: str = ""
    met: str = ""


class VoidError(Exception):
    """The contenders do not agree on the numbers."""


def invite(name: str, make: Callable[[], Contender], goal: Goal | None = None) -> Contender | Absent:
    """The contender, or why there is none."""
    try:
        return make()
    except ImportError as error:
        return Absent(name, f"not installed ({error})", goal)


def audition(title: str, entries: Mapping[str, Callable[[], Numbers]]) -> tuple[str, Callable[[], Numbers]]:
    """The fastest of several ways to do the same. All must agree; those near the front get three more tries each."""
    first = {name: Lap(call) for name, call in entries.items()}
    reference = next(iter(first.values())).numbers
    for name, lap in first.items():
        say(f"    {title}, {name}: {seconds(lap.wall)}, all cores' time together {seconds(lap.cpu)}")
        check(f"{title}, {name}", lap.numbers or {}, reference or {})
    wall, cpu = min(lap.wall for lap in first.values()), min(lap.cpu for lap in first.values())
    near = [name for name, lap in first.items() if lap.wall < 1.5 * wall or lap.cpu < 1.2 * cpu]
    rounds = [{name: Lap(entries[name]).wall for name in near} for _ in range(3)]
    again = {name: min(one[name] for one in rounds) for name in near}
    best = min(again, key=again.__getitem__)
    say(f"    {title}: {best} is the fastest, {seconds(again[best])}")
    return best, entries[best]


def race(
    work: str, ours: Callable[[], Numbers], peers: Sequence[Contender | Absent], repeats: int, *, cpu: bool = False
) -> Iterator[Row]:
    """One row a peer. The first round is for warming up and for the check, and is not counted.

    cpu: what counts is the time of all cores together, not that by the clock.
    """
    say(f"  {work}")
    us = Contender(named("rankstone"), ours)
    present = [us, *(peer for peer in peers if isinstance(peer, Contender))]
    answer = ours()
    for peer in present[1:]:
        numbers = peer.call()
        if numbers is not None:
            check(f"{work}, {peer.name}", numbers, answer if peer.expected is None else peer.expected())
    rounds = [[Lap(one.call) for one in present] for _ in range(repeats)]
    best = {}
    for one, laps in zip(present, zip(*rounds, strict=True), strict=True):
        walls = [lap.wall for lap in laps]
        together = min(lap.cpu for lap in laps)
        best[one] = (together if cpu else min(walls)) / one.share
        say(
            f"    {one.name}: best {seconds(min(walls))}, median {seconds(statistics.median(walls))}, "
            f"best of all cores' time together {seconds(together)}"
        )
    mine = best[us]
    for peer in peers:
        if isinstance(peer, Absent):
            say(f"    {peer.name}: {peer.reason}")
            yield Row(work, seconds(mine), peer.name, peer.reason, goal=str(peer.goal or ""), met="not measured")
            continue
        theirs = best[peer]
        ratio = mine / theirs if peer.goal is not None and not peer.goal.at_least else theirs / mine
        scaled = "" if peer.share == 1 else f" (1/{1 / peer.share:.0f} of the {peer.shared}, scaled)"
        yield row(work, seconds(mine), peer.name, seconds(theirs) + scaled, ratio, peer.goal)


class Lap:
    """One go: its time by the clock, the time of all cores together, and the answer."""

    def __init__(self, call: Callable[[], Numbers | None]) -> None:
        gc.collect()
        wall, cpu = time.perf_counter(), _cpu_time()
        self.numbers = call()
        self.wall, self.cpu = time.perf_counter() - wall, _cpu_time() - cpu


def _cpu_time() -> float:
    """Of this process and of those that it has waited for."""
    if sys.platform == "win32":
        return time.process_time()
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def row(work: str, ours: str, peer: str, theirs: str, value: float, goal: Goal | None) -> Row:
    unit = "x" if goal is None else goal.unit
    shown = f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"
    return Row(
        work, ours, peer, theirs, shown, str(goal or ""), "" if goal is None else "yes" if goal.met(value) else "no"
    )


def check(who: str, numbers: Numbers, expected: Numbers) -> None:
    """Stop if the numbers differ."""
    if numbers.keys() != expected.keys():
        raise VoidError(f"{who}: {sorted(numbers)} is not {sorted(expected)}")
    for name, value in numbers.items():
        if not abs(value - expected[name]) <= TOLERANCE:
            raise VoidError(f"{who}: {name} is {value!r}, not {expected[name]!r}")


def named(package: str) -> str:
    """A package with its version."""
    return f"{package} {version(package)}"


def seconds(time_: float) -> str:
    """A time in the unit that suits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if time_ >= size:
            return f"{time_ / size:.3g} {unit}"
    return f"{time_ * 1e6:.3g} µs"


def say(line: str) -> None:
    """Progress, apart from the table."""
    print(line, file=sys.stderr, flush=True)
