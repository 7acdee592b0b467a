"""Numbers that other tools themselves gave for the lists of the handbook; what a tool has not is not there."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))
from tests.golden import rosetta
from tests.golden.recorded import read


class Answer(NamedTuple):
    """What one tool said."""

    tool: str  # "ranx 0.3.21"
    convention: str  # that follows it
    choices: dict[str, Any]  # that go with it
    value: float | str

    def number(self, digits: int) -> str:
        """As it is printed: `0.5000`, `NaN`, `error`, or `none` where it gave nothing."""
        if isinstance(self.value, str):
            return "error" if self.value.startswith("ERR") else "NaN" if self.value == "NaN" else "none"
        return f"{self.value:.{digits}f}"


class Case(NamedTuple):
    """One list, and what is known of its items."""

    truth: dict[str, float]
    run: list[str]  # best first
    cutoffs: list[int]


def case(name: str) -> Case:
    """A case of the record, which has one user."""
    data = read("rosetta.json")["cases"][name]
    (truth,), (run,) = data["qrels"].values(), data["run"].values()
    return Case(truth, [str(item) for item, _ in run], data["ks"])


def answers(name: str, metric: str, k: int | None) -> list[Answer]:
    """What each tool that has the metric said of a case."""
    tools, found = read("rosetta.json"), []
    for library, (convention, _) in rosetta.LIBRARIES.items():
        recorded = tools["results"][name].get(library, {})
        word = next((word for word in _words(library, metric, k) if word in recorded), None)
        if word is not None:
            version = tools["libraries"][library]["version"]
            choices = rosetta.ALWAYS.get((library, word.partition("@")[0]), {})
            (value,) = recorded[word]["per_user"].values()
            found.append(Answer(f"{library} {version}", convention, choices, value))
    return found


@cache
def _words(library: str, metric: str, k: int | None) -> list[str]:
    """What the record may call a metric of a tool: with all relevant items in its array, if it takes an array."""
    plain = ["", *(f"{{{name}}}" for name, said in rosetta.VARIANTS.get(library, {}).items() if said == {})]
    cut = "" if k is None else f"@{k}"
    words = [word for word, ours in rosetta.NAMES.items() if ours == metric]
    return [f"{word}{variant}{pool}{cut}" for word in words for variant in plain for pool in ("", "{full}")]
