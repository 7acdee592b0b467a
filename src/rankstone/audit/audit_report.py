"""What an audit found out: the definition, the differences, and the properties that are broken, with examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankstone.audit.candidates import ANY, ERROR
from rankstone.audit.questions import Question
from rankstone.results.answer import Answer, Readable, number
from rankstone.results.junit import JUnitCase, junit

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"


def shown(value: float) -> str:
    """A value, or that the question is refused."""
    return "error" if value == ERROR else "any" if value == ANY else "NaN" if math.isnan(value) else number(value)


@dataclass(frozen=True)
class Finding:
    """A property that the function breaks, or a choice by which it differs, with the smallest example.

    Attributes
    ----------
    name : str
        What is wrong, in a few words.
    kind : str
        "property": true of no correct metric. "defect": a known defect, or a definition that no convention has.
        "difference": another choice than the reference's.
    question : Question or None
        The smallest example.
    value : float
        The function's value of it; of a property about two calls, the first.
    other : float or None
        The second value of a property about two calls.
    values : dict
        Values of the leading definitions, by name.
    detail : str
        More about it: an error's text, a choice in words.
    is_expected : bool
        Whether the expected convention does the same.
    choice : str
        The choice that differs; empty for properties.
    """

    name: str
    kind: str
    question: Question | None = None
    value: float = math.nan
    other: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    detail: str = ""
    is_expected: bool = False
    choice: str = ""

    @property
    def items(self) -> int:
        """Number of items in the example."""
        return 0 if self.question is None else self.question.items

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        example = "" if self.question is None else f": {self.question}: {self._answers(', then ')}"
        return f"{self.name}{self._detail}{example}" + (f"; {self._others}" if self.values else "")

    def _answers(self, between: str = ", ") -> str:
        return shown(self.value) + ("" if self.other is None else f"{between}{shown(self.other)}")

    @property
    def _others(self) -> str:
        return ", ".join(f"{name} {shown(value)}" for name, value in self.values.items())

    @property
    def _detail(self) -> str:
        return f" ({self.detail})" if self.detail else ""

    @property
    def _kind(self) -> str:
        return self.kind + (" (expected)" if self.is_expected else "")

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "name": self.name, "kind": self.kind, "choice": self.choice, "detail": self.detail,
            "question": None if self.question is None else self.question.to_dict(), "items": self.items,
            "value": _number(self.value), "other": None if self.other is None else _number(self.other),
            "values": {name: _number(value) for name, value in self.values.items()}, "is_expected": self.is_expected,
        }  # fmt: skip


def _number(value: float) -> float | str | None:
    return shown(value) if not math.isfinite(value) else value


@dataclass(frozen=True, repr=False)
class AuditReport(Readable):
    """Whose definition a function follows, how it differs from a reference, and which properties it breaks.

    Attributes
    ----------
    metric, calling : str
        Name of the metric, and the calling style.
    convention : str or None
        The convention that the function follows; None if it follows none.
    equivalent : tuple of str
        Other conventions with the same values on all questions of this calling style.
    nearest : str
        The definition that agrees with the most answers: a convention, or one with changes.
    changes : tuple of str
        Changes of the nearest definition.
    agreement : float
        Share of the answers that agree with the nearest definition; 1 if it is the function's.
    expect, reference : str
        The convention that is expected, or "" without one; and the one with which the function is compared.
    disagreement : float
        Share of random questions on which the function differs from the reference.
    differences : tuple of Finding
        Every choice in which the definition differs from the reference.
    findings : tuple of Finding
        Broken properties and defects.
    undetermined : dict
        Choices that could not be determined, by the reason.
    notes : tuple of str
        Remarks on precision, rounding and ids.
    questions, calls : int
        Number of questions before the definition was identified, and of all calls.
    definition : str
        The definition in words.
    """

    metric: str
    calling: str
    convention: str | None
    equivalent: tuple[str, ...]
    nearest: str
    changes: tuple[str, ...]
    agreement: float
    expect: str
    reference: str
    disagreement: float
    differences: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    undetermined: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    questions: int
    calls: int
    definition: str

    @property
    def verdict(self) -> str:
        """ "passed", "failed" or "inconclusive".

        Passed: the function follows the expected convention, or without one some convention, and breaks no property
        that the convention has. Inconclusive: no convention is expected, and none is followed.
        """
        broken = any(not finding.is_expected and finding.kind == "property" for finding in self.findings)
        if self.expect:
            matches = self.expect in (self.convention, *self.equivalent)
            return PASSED if matches and not broken else FAILED
        if broken:
            return FAILED
        return PASSED if self.convention is not None else FAILED if self.agreement == 1 else INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 passed, 3 failed, 4 inconclusive."""
        return {PASSED: 0, FAILED: 3, INCONCLUSIVE: 4}[self.verdict]

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if self.convention is not None:
            return f"{self.metric} as in {self.convention}"
        if self.agreement == 1:
            return f"{self.metric} as in {self.nearest}"
        return f"no definition of {self.metric}; nearest: {self.nearest} ({100 * self.agreement:.0f} % of the answers)"

    @property
    def _rows(self) -> list[Finding]:
        """What is printed: the findings, and the differences that are none of them."""
        return [*self.findings, *(each for each in self.differences if each.kind == "difference")]

    def _answer(self) -> Answer:
        rows = [
            [row.name + row._detail, row._kind, str(row.question or ""), row._answers(), row._others]
            for row in self._rows
        ]  # fmt: skip
        return self._table(["finding", "kind", "example", "value", "definitions"], rows, [], "<<<<<")

    def _printed(self) -> Answer:
        """A line per finding under a short table."""
        findings = list(enumerate(self._rows, 1))
        names = Counter(name for _, row in findings for name in row.values)
        leading = [name for name, _ in names.most_common(3)]
        rows = [[f"{at}. {row.name}", row._kind, row._answers(),
                 *(shown(row.values[name]) if name in row.values else "" for name in leading)]
                for at, row in findings]  # fmt: skip
        examples = [f"{at}. {row.question}{row._detail}" for at, row in findings if row.question or row.detail]
        return self._table(["finding", "kind", "value", *leading], rows, examples, "<<")

    def _table(self, head: list[str], rows: list[list[str]], examples: list[str], align: str) -> Answer:
        return Answer([head, *rows] if rows else [], f"{self.verdict.upper()}: {self.headline}",
                      [*examples, *self._notes()], [self.definition] if self.definition else [], align)  # fmt: skip

    def _notes(self) -> list[str]:
        lines = list(self.notes)
        if self.equivalent:
            lines.append(f"the same on all questions of this calling style: {', '.join(self.equivalent)}")
        if not math.isnan(self.disagreement):
            lines.append(f"differs from {self.reference} on {100 * self.disagreement:.1f} % of random questions")
        lines += [f"not determined, as {reason}: {', '.join(names)}" for reason, names in self.undetermined.items()]
        return [*lines, f"{self.questions} questions, {self.calls} calls ({self.calling})"]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        rows = self._rows
        return {
            "finding": [row.name for row in rows], "kind": [row.kind for row in rows],
            "choice": [row.choice for row in rows], "example": [str(row.question or "") for row in rows],
            "value": [row.value for row in rows],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("metric", "calling", "convention", "nearest", "agreement", "expect", "reference", "questions", "calls")
        return {
            "verdict": self.verdict, "exit_code": self.exit_code,
            **{name: getattr(self, name) for name in names},
            "equivalent": list(self.equivalent), "changes": list(self.changes),
            "disagreement": None if math.isnan(self.disagreement) else self.disagreement,
            "differences": [each.to_dict() for each in self.differences],
            "findings": [each.to_dict() for each in self.findings],
            "undetermined": {reason: list(each) for reason, each in self.undetermined.items()},
            "notes": list(self.notes), "definition": self.definition,
        }  # fmt: skip

    def to_junit(self) -> str:
        """JUnit XML for build servers: the definition, and one test case per finding."""
        expected = f"follows {self.expect}" if self.expect else "follows a convention"
        matches = self.expect in (self.convention, *self.equivalent) if self.expect else self.convention is not None
        cases = [JUnitCase("definition", expected, self.headline, "" if matches else "failure")]
        cases += [
            JUnitCase("findings", each.name, each.sentence,
                     "failure" if each.kind == "property" and not each.is_expected else "skipped")
            for each in self.findings
        ]  # fmt: skip
        return junit("rankstone audit", cases)
