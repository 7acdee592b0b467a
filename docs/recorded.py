"""Numbers that other tools themselves gave for the lists of the handbook; what a tool has not is not there."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import rankstone as rs
from rankstone.compat.pytrec_eval import supported_measures

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
def metrics_of(convention: str) -> frozenset[str] | None:
    """The metrics of which the tool that a convention follows gave a number; None if nothing of it is recorded.

    Conventions of one tool share them: those of its versions, of its defects, and of Spark in Python and Scala.
    """
    tool = _tool(convention)
    words = [word for other, words in _recorded().items() if _tool(other) == tool for word in words]
    return frozenset(metric for word in words for metric in _named(word)) or None


def _tool(convention: str) -> str:
    follows = rs.conventions[convention].library or convention
    return re.match(r"(?:py)?(\w+)", follows)[1].lower()


@cache
def _recorded() -> dict[str, set[str]]:
    """By convention, the metrics of its tool as the records call them."""
    words: dict[str, set[str]] = {"trec_eval-9": set(supported_measures)}
    for tools in read("rosetta.json")["results"].values():
        for library, found in tools.items():
            if library in rosetta.LIBRARIES:
                words.setdefault(rosetta.LIBRARIES[library][0], set()).update(found)
    for case in read("tools.json"):
        with suppress(KeyError):  # another kind of tool
            words.setdefault(rs.conventions[case["tool"].replace("_", "")].name, set()).add(case["metric"])
    return words


_NAMES = {**rosetta.NAMES, "context_precision": "ap", "Coverage": "judged"}  # of ragas and of OpenSearch


def _named(word: str) -> list[str]:
    """The metric that a record's word means: `hit{pooled}@2`, `rbp.8`, `ndcg(binary)`, `recall_at_k`, `accuracy@1`."""
    plain = re.sub(r"\{.*?\}|\(.*?\)|_at_k$|\.\d+$|_cut(?=@)", "", word)
    name = plain.partition("@")[0]
    if name in _NAMES:
        metric = _NAMES[name]
        return [metric, "f"] if metric == "f1" else [metric]
    try:
        return [metric.name for metric in rs.authoring.Metric.parse(plain.lower())]
    except ValueError:
        return []


@cache
def _words(library: str, metric: str, k: int | None) -> list[str]:
    """What the record may call a metric of a tool: with all relevant items in its array, if it takes an array."""
    plain = ["", *(f"{{{name}}}" for name, said in rosetta.VARIANTS.get(library, {}).items() if said == {})]
    cut = "" if k is None else f"@{k}"
    words = [word for word, ours in rosetta.NAMES.items() if ours == metric]
    return [f"{word}{variant}{pool}{cut}" for word in words for variant in plain for pool in ("", "{full}")]
