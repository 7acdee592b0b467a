"""The conformance suite: small cases, conventions as plain choices, and the value of every metric, for any language."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions, find_convention
from rankstone.conventions.plan import Plan, make_plans, unread
from rankstone.data.dicts import Dicts
from rankstone.errors import InputError
from rankstone.explain.sweep import Sweep, choice_of, presets
from rankstone.metrics.declaration import unknown_word
from rankstone.metrics.registry import Metric
from rankstone.results.answer import Answer, Readable
from rankstone.results.definition import definition_of

VERSION = 1
TOLERANCE = 1e-9
METRICS = (
    "ndcg", "dcg", "ap", "rr", "precision", "recall", "f1", "hit_rate", "err", "rbp", "auc", "bpref", "r_precision",
)  # fmt: skip
_DIGITS = 12  # of the values in the files
REFUSED = "error"  # in place of a value: the convention refuses the data

Ask = Callable[[Mapping[str, Any], Mapping[str, Any], "int | None"], float]  # of truth, run and k: the mean


class SuiteCase(NamedTuple):
    """A truth, a run and a cutoff, and what they check."""

    name: str
    part: str  # of the suite
    reason: str
    k: int | None
    truth: dict[str, dict[str, float]]
    run: dict[str, dict[str, float]]


@cache
def cases() -> list[SuiteCase]:
    """All cases: inputs for which other tools' numbers are recorded, and questions that separate conventions."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return [SuiteCase(**case) for case in json.loads(text)]


class Expected(NamedTuple):
    """The value of a case: its mean and the values of the queries; None where there is none, or "error"."""

    mean: float | str | None
    per_query: dict[str, float | None] | None

    def accepts(self, answer: float | None, tolerance: float = TOLERANCE) -> bool:
        """Whether a program's mean is this one; None: it failed. Anything is where the convention refuses the data."""
        if self.mean == REFUSED:
            return True
        if self.mean is None or answer is None:
            return self.mean is None and answer is not None and math.isnan(answer)
        return math.isclose(answer, float(self.mean), rel_tol=tolerance, abs_tol=tolerance)


@dataclass(frozen=True)
class SuiteDefinition:
    """A definition of a metric, the conventions that have it, and the expected value of each case."""

    plan: Plan
    conventions: list[str]
    expected: list[Expected]

    @cached_property
    def choices(self) -> dict[str, Any]:
        """The choices and parameters that matter, by name."""
        names = [*self.plan.metric.declaration.defaults, *CHOICES]
        return {name: choice_of(self.plan, name) for name in names if name not in unread(self.plan)}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without the values."""
        return {
            "conventions": self.conventions,
            "definition": definition_of(self.plan, find_convention(self.conventions[0])).sentence,
            "choices": {name: _plain(value) for name, value in self.choices.items()},
        }


def _plain(value: Any) -> Any:
    """A choice as JSON has it."""
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


@cache
def definitions(metric: str) -> list[SuiteDefinition]:
    """The definitions of a metric that some case separates."""
    if metric not in METRICS:
        raise InputError(unknown_word("metric of the suite", metric, METRICS))
    sweeps = [(case.k, Sweep(Dicts(case.truth, case.run), 1)) for case in cases()]
    alike: dict[str, SuiteDefinition] = {}
    for name, plan in presets(Metric(metric), {}).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cases without a relevant item
            expected = [_expected(metric, k, sweep, name) for k, sweep in sweeps]
        same = alike.setdefault(json.dumps(expected), SuiteDefinition(plan, [], expected))
        same.conventions.append(name)
    return list(alike.values())


def _expected(metric: str, k: int | None, sweep: Sweep, convention: str) -> Expected:
    takes_k = Metric(metric).declaration.takes_k
    try:
        (plan,) = make_plans(Metric(metric, k if takes_k else None), convention, {})
        outcome = sweep.outcome(plan)
    except ValueError:
        return Expected(REFUSED, None)
    queries = sweep.aligned(plan).queries
    return Expected(_short(outcome.mean), dict(zip(queries, map(_short, outcome.values.tolist()), strict=True)))


def _short(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")


def files() -> Iterator[tuple[str, str]]:
    """The files of the suite: names and texts."""
    about = {"format": "rankstone conformance", "version": VERSION, "tolerance": TOLERANCE, "metrics": METRICS}
    summaries = {name: convention.summary for name, convention in conventions.items()}
    yield "suite.json", json.dumps({**about, "conventions": summaries}, indent=1) + "\n"
    yield "cases.json", _lines(case._asdict() for case in cases()) + "\n"
    for metric in METRICS:
        rows = definitions(metric)
        by_case = ({"case": case.name, "values": _values(rows, at)} for at, case in enumerate(cases()))
        texts = _lines(row.to_dict() for row in rows), _lines(by_case)
        yield f"{metric}.json", f'{{"definitions": {texts[0]},\n"cases": {texts[1]}}}\n'


def _values(rows: Sequence[SuiteDefinition], case: int) -> list[dict[str, Any]]:
    """The values of a case, each with the places of the definitions that have it."""
    alike: dict[str, dict[str, Any]] = {}
    for at, definition in enumerate(rows):
        value = definition.expected[case]
        row = alike.setdefault(json.dumps(value), {**value._asdict(), "definitions": []})
        row["definitions"].append(at)
    return list(alike.values())


def _lines(rows: Iterator[Any]) -> str:
    """A JSON array with a row per line."""
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in rows) + "\n]"


@dataclass(frozen=True, repr=False)
class ConformanceResult(Readable):
    """How many cases a program passes, by definition.

    Attributes
    ----------
    metric, expect : str
        The metric, and the convention that is expected, or "".
    answers : list of float or None
        The program's mean of each case; None where it failed.
    definitions : list of SuiteDefinition
        The definitions, those with the most cases passed first.
    tolerance : float
        Of the values, relative and absolute.
    """

    metric: str
    expect: str
    answers: Sequence[float | None]
    definitions: Sequence[SuiteDefinition]
    tolerance: float = TOLERANCE

    def failed(self, definition: SuiteDefinition) -> list[int]:
        """The cases whose answers are not those of a definition."""
        pairs = enumerate(zip(definition.expected, self.answers, strict=True))
        return [at for at, (expected, answer) in pairs if not expected.accepts(answer, self.tolerance)]

    @property
    def conventions(self) -> list[str]:
        """The conventions all of whose cases pass."""
        return [name for each in self.definitions if not self.failed(each) for name in each.conventions]

    @property
    def verdict(self) -> str:
        """ "passed" if all cases of the expected convention pass, or of any if none is expected; else "failed"."""
        passed = self.expect in self.conventions if self.expect else bool(self.conventions)
        return "passed" if passed else "failed"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 passed, 3 failed."""
        return 0 if self.verdict == "passed" else 3

    def _answer(self) -> Answer:
        most = len(self.answers)
        table = [["convention", "passed", "first case failed", "expected", "answer"]]
        for each in self._shown():
            failed = self.failed(each)
            row = [", ".join(each.conventions), f"{most - len(failed)} of {most}", "", "", ""]
            if failed:
                first = failed[0]
                row[2:] = cases()[first].name, _number(each.expected[first].mean), _number(self.answers[first])
            table.append(row)
        about = f"{self.verdict.upper()}: {self.metric}" + (f" as in {self.expect}" if self.expect else "")
        notes = [f"{most} cases, conformance suite {VERSION}, tolerance {self.tolerance:g}"]
        return Answer(table, about, notes, align="<<<")

    def _shown(self) -> list[SuiteDefinition]:
        """The expected definition, or the five with the most cases passed."""
        wanted = [each for each in self.definitions if self.expect in each.conventions]
        return wanted or list(self.definitions[:5])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: verdict, conventions passed, and the failed cases of each definition."""
        return {
            "metric": self.metric, "version": VERSION, "verdict": self.verdict, "exit_code": self.exit_code,
            "conventions": self.conventions,
            "definitions": [
                {"conventions": each.conventions, "failed": [self._case(at, each) for at in self.failed(each)]}
                for each in self._shown()
            ],
        }  # fmt: skip

    def _case(self, at: int, definition: SuiteDefinition) -> dict[str, Any]:
        return {"case": cases()[at].name, "expected": definition.expected[at].mean, "answer": self.answers[at]}


def _number(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:.6f}"


def conformance(ask: Ask, metric: str, expect: str = "", tolerance: float = TOLERANCE) -> ConformanceResult:
    """Ask a program every case of the suite.

    Parameters
    ----------
    ask : callable
        From truth, run and k to the mean of the queries; what it raises is a failed case.
    metric : str
        A metric of the suite, without a cutoff: "ndcg".
    expect : str, default ""
        The convention that it should follow.
    tolerance : float, default 1e-9
        Of the values, relative and absolute; 1e-6 for single precision.

    Returns
    -------
    ConformanceResult
    """
    if expect:
        expect = find_convention(expect).name
    rows = definitions(metric)
    if expect and not any(expect in each.conventions for each in rows):
        raise InputError(f"{expect} does not define {metric}")
    answers = [_asked(ask, case) for case in cases()]
    result = ConformanceResult(metric, expect, answers, rows, tolerance)
    return replace(result, definitions=sorted(rows, key=lambda each: len(result.failed(each))))


def _asked(ask: Ask, case: SuiteCase) -> float | None:
    try:
        return float(ask(case.truth, case.run, case.k))
    except Exception:  # whatever the program raises: it has no value
        return None
