"""The ledger of a gate: how often a truth was used, by how many candidates, and what a verdict is still worth."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtr, ndtri

from rankstone.errors import GatesError
from rankstone.results.schema import check_stamp, stamp

LEDGER_ENDING = ".ledger.jsonl"  # of a ledger next to its baseline


@dataclass(frozen=True, eq=False)
class Spending:
    """A rule for the levels of one candidate after the other on the same truth."""

    words: str
    level: Callable[[float, int, int], float]  # of the whole level, the candidate's number, and how many are planned
    planned: bool = False  # needs their number


def _increment(spent: Callable[[float, float], float]) -> Callable[[float, int, int], float]:
    """The part of a spending function of Lan and DeMets that belongs to one of the planned candidates."""

    def level(alpha: float, number: int, planned: int) -> float:
        ends = (min(at / planned, 1.0) for at in (number - 1, number))
        before, after = (spent(alpha, share) if share else 0.0 for share in ends)
        return after - before

    return level


SPENDINGS: dict[str, Spending] = {
    "none": Spending("each candidate at the whole level", lambda alpha, number, planned: alpha),
    "harmonic": Spending("the level times 6 / (pi number)^2, without end", lambda alpha, number, planned: (
        alpha * 6 / (math.pi * number) ** 2
    )),
    "geometric": Spending("half of what is left each", lambda alpha, number, planned: alpha * 2.0**-number),
    "bonferroni": Spending(
        "the level over the number of planned candidates",
        lambda alpha, number, planned: alpha / planned if number <= planned else 0.0, planned=True,
    ),
    "pocock": Spending(
        "Lan and DeMets' spending like Pocock's, nearly equal parts",
        _increment(lambda alpha, share: alpha * math.log1p((math.e - 1) * share)), planned=True,
    ),
    "obrien_fleming": Spending(
        "Lan and DeMets' spending like O'Brien's and Fleming's, little at first",
        _increment(lambda alpha, share: 2 * float(ndtr(ndtri(alpha / 2) / math.sqrt(share)))), planned=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class LedgerEntry:
    """What a ledger says about one check.

    Attributes
    ----------
    uses : int
        How often this truth was used for a check, this one included.
    candidates : int
        By how many different candidates.
    number : int
        Which of them this one is.
    level : float
        The level of its tests.
    spending : str
        The rule that the level comes from.
    chance : float
        About how likely it is that at least one of the candidates passed though it should not have.
    """

    uses: int
    candidates: int
    number: int
    level: float
    spending: str
    chance: float

    @property
    def sentence(self) -> str:
        """The same in words."""
        times = (
            f"{self.uses:,} time{'s' * (self.uses != 1)} by {self.candidates:,} candidate{'s' * (self.candidates != 1)}"
        )
        worth = f"the chance that one of them passed though it should not have is about {100 * self.chance:.0f} %"
        advice = "" if self.spending != "none" or self.candidates < 2 else "; spending = 'harmonic' bounds it"
        return f"this truth was used {times}, this one at {100 * (1 - self.level):.4g} %: {worth}{advice}"


def ledger_path(ledger: object, baseline: object) -> str:
    """The file of a ledger: its own, or one that is named after that of the baseline."""
    if isinstance(ledger, (str, os.PathLike)):
        return os.fspath(ledger)
    if not isinstance(baseline, (str, os.PathLike)):
        raise GatesError("ledger = true is a file next to the baseline's, which is none; name one: ledger = 'x.jsonl'")
    return os.fspath(baseline) + LEDGER_ENDING


def read_ledger(path: str) -> list[dict[str, Any]]:
    """The entries of a ledger; none if there is no file yet."""
    if not os.path.exists(path):
        return []
    entries = []
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                entries.append(check_stamp("ledger", json.loads(line)))
            except (ValueError, AttributeError) as error:  # noqa: PERF203
                raise GatesError(f"{path}:{number}: is no entry of a ledger ({error})") from None
    return entries


def next_entry(path: str, inputs: Mapping[str, str], alpha: float, spending: str, planned: int | None) -> LedgerEntry:
    """The entry of a check: a candidate that was there before has its number from then."""
    rule = SPENDINGS[spending]
    if rule.planned and not planned:
        raise GatesError(f"spending = {spending!r} needs the number of planned candidates: candidates = 20")
    earlier = [entry for entry in read_ledger(path) if entry.get("truth") == inputs["truth"]]
    levels = {entry["candidate"]: float(entry["level"]) for entry in earlier}
    names = [*levels, *([] if inputs["run"] in levels else [inputs["run"]])]
    number = names.index(inputs["run"]) + 1
    level = rule.level(alpha, number, planned or 0)
    if level <= 0:
        raise GatesError(f"{path}: {number - 1} candidates have spent the whole level; this truth decides nothing more")
    levels[inputs["run"]] = level
    passed_all = math.prod(1 - value for value in levels.values())
    return LedgerEntry(len(earlier) + 1, len(names), number, level, spending, 1 - passed_all)


def add_entry(path: str, inputs: Mapping[str, str], entry: LedgerEntry, verdict: str) -> None:
    """Append a check to its ledger."""
    row = {**stamp("ledger"), "truth": inputs["truth"], "candidate": inputs["run"], "level": entry.level,
           "spending": entry.spending, "verdict": verdict}  # fmt: skip
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")
