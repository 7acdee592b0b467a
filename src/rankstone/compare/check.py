"""`check`: is a run good enough to take the place of another, by gates that were written down before."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.compare.breakdown import Records
from rankstone.compare.caveats import Doubt, general_caveats
from rankstone.compare.compare import Origin, compare
from rankstone.compare.comparison import Comparison
from rankstone.compare.differences import Difference, within
from rankstone.compare.gates import Gate, Gates, read_gates
from rankstone.compare.pairing import codes_of
from rankstone.data.files import is_path
from rankstone.errors import GatesError
from rankstone.evaluate.result_file import is_result, read_result
from rankstone.results.answer import Answer, number, signed
from rankstone.results.definition import groups_in_order, summarize
from rankstone.results.result import Result
from rankstone.statistics.adjust import adjust

if TYPE_CHECKING:
    from rankstone.typing import Path

PASSED, FAILED, NOT_DECIDED = "passed", "failed", "not decided"
_SIDES = ("baseline", "candidate")
_SHOWN = 5  # queries or groups in a line
_MANY = 12  # lines about groups
_CLOSE = 1e-12  # a mean that is off a limit by rounding alone is on it


def check(gates: Path | Mapping[str, Any], **over: Any) -> Checks:
    """May a run take the place of another: gates from a file, such as `rs.check("gates.toml")`.

    gates: a TOML file, or a dict like it: `truth`, `baseline` and `candidate` (runs, or results, saved or not),
    `metrics`, `convention`, `choices`, `columns`, `exclude`, `clusters`, `weights`, `confidence`, `undecided`, and
    `gate`, a list of dicts. A gate has a `metric` and one of `not_worse_than` (in the metric's unit, or "2 %" of the
    baseline's mean; `by` for each group of queries with at least `fewest`), `at_least`, `at_most`, or `lost_queries`
    with `drop`; and a `severity`, "fail" or "warn". over: keys that take the place of those in the file.

    Not worse is proven, refuted, or not decided, each one-sided at the `confidence`; over groups by Holm. The others
    are decided by the numbers as they are. undecided: does the whole "pass" or "fail" then, or is that told ("warn").

    >>> truth = {q: {"a": 1} for q in range(40)}
    >>> runs = {"baseline": {q: ["a"] for q in truth}, "candidate": {q: ["a"] if q else ["b", "a"] for q in truth}}
    >>> rs.check({"truth": truth, **runs, "gate": [{"metric": "rr", "not_worse_than": 0.05}]}).passed
    True
    """
    said = read_gates(gates, over)
    truth = Origin(said.truth, {}, _how(said))
    results, comparison = _measured(said, truth)
    outcomes = tuple(_Checker(said, truth, results["candidate"], comparison).outcome(gate) for gate in said.gate)
    return Checks(outcomes, said, results["candidate"], comparison)


# -- what is measured ----------------------------------------------------------------------------------------


def _how(said: Gates) -> dict[str, Any]:
    """The keywords of `evaluate`."""
    more = {} if said.exclude is None else {"exclude": said.exclude}
    return {"columns": said.columns, "convention": said.convention, **more, **said.choices}


def _measured(said: Gates, truth: Origin) -> tuple[dict[str, Result], Comparison | None]:
    """The results of both sides, and the comparison of them."""
    given = {side: getattr(said, side) for side in _SIDES if getattr(said, side) is not None}
    saved = {side: found for side, run in given.items() if (found := _saved(side, run)) is not None}
    fresh = {side: run for side, run in given.items() if side not in saved}
    if fresh and said.truth is None:
        raise GatesError(f"the {next(iter(fresh))} is a run, so there must be a truth to measure it with")
    clusters = truth.column(said.clusters) if isinstance(said.clusters, str) else said.clusters
    if len(fresh) == 2:
        comparison = compare(
            said.truth, fresh, said.labels, baseline="baseline", confidence=said.confidence, clusters=clusters,
            weights=_weights(said, truth), **_how(said),
        )  # fmt: skip
        return {side: several[0] for side, several in comparison.paired.systems.items()}, comparison
    _refuse_absent(said, saved)
    made = replace(truth, runs={side: (run,) for side, run in fresh.items()})
    measured = made.evaluate(said.labels, _weights(said, truth)) if fresh else {}
    results = {side: saved[side] if side in saved else measured[side][0] for side in given}
    if len(results) < 2:
        return results, None
    both = [label for label in said.labels if all(label in result for result in results.values())]
    return results, compare(
        results, metrics=both, baseline="baseline", confidence=said.confidence, clusters=clusters
    )  # fmt: skip


def _saved(side: str, run: Any) -> Result | None:
    """A result, if it is one or was saved; None of a run."""
    if isinstance(run, Result):
        return run
    if not is_path(run) or not is_result(run):
        return None
    found = read_result(run)
    if isinstance(found, dict):
        raise ValueError(f"{run} has {len(found)} runs: {', '.join(found)}; save the one that is the {side}")
    return found


def _refuse_absent(said: Gates, saved: Mapping[str, Result]) -> None:
    """Stop at gates on what a saved result does not have."""
    for side, result in saved.items():
        for gate in said.gate:
            if gate.metric not in result and (gate.compares or side == "candidate"):
                raise ValueError(f"the {side} was saved without {gate.metric}; it has {', '.join(result)}")


def _weights(said: Gates, truth: Origin) -> Any:
    if not isinstance(said.weights, str):
        return said.weights
    found = truth.column(said.weights)
    try:
        weights = {query: float(str(weight)) for query, weight in found.items()}
    except ValueError:
        raise ValueError(f"weights = {said.weights!r}: not every one of them is a number") from None
    return weights | {str(query): weight for query, weight in weights.items()}  # a run can make the ids text


# -- one gate ------------------------------------------------------------------------------------------------


def one_sided(of: Difference, margin: float) -> tuple[float, float]:
    """p of the test that a run is not worse by more than a margin, and p of the test that it is."""
    if of.difference == 0 and of.error == 0:
        return 0.0, 1.0  # equal on every query
    return (of.below(margin), of.above(margin)) if of.direction < 0 else (of.above(-margin), of.below(-margin))


def verdict_of(passed: float, failed: float, confidence: float) -> str:
    """The verdict of the two one-sided tests."""
    level = 1 - confidence + _CLOSE  # 1 - 0.95 is a little above 0.05
    return PASSED if passed <= level else FAILED if failed <= level else NOT_DECIDED


def not_worse(of: Difference, margin: float, confidence: float) -> tuple[str, float, float, int | None]:
    """The verdict, the ends of the two one-sided intervals, and how many queries like these would decide it.

    That is: would so often prove that two equal runs are not worse; None if it is decided, or if none ever do.
    """
    verdict = verdict_of(*one_sided(of, margin), confidence)
    many = None
    if verdict == NOT_DECIDED and margin and of.error:
        many = of.needed(margin if of.direction < 0 else -margin, one_sided=True)
    return verdict, *of.interval(2 * confidence - 1), many


@dataclass(frozen=True)
class GroupOutcome:
    """A gate in one group of queries."""

    group: Any
    queries: int
    baseline: float = math.nan
    candidate: float = math.nan
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    margin: float = math.nan
    verdict: str = ""  # empty: too few queries, so not tested


@dataclass(frozen=True)
class GateOutcome:
    """What became of a gate. Numbers that it does not have are NaN."""

    metric: str
    rule: str
    verdict: str  # passed, failed, not decided
    severity: str  # fail, or warn: it is told and changes nothing
    baseline: float  # means
    candidate: float
    difference: float
    low: float  # the ends of the one-sided intervals of the difference; of `at_least` and `at_most`, of the mean
    high: float
    limit: float  # the margin in the metric's unit, the limit, or how many queries may be lost
    queries: int
    needed: int | None = None  # queries that would decide it, if the runs are alike
    lost: tuple[tuple[Any, float], ...] = ()  # queries that fell, with the change, the worst first
    groups: tuple[GroupOutcome, ...] = ()
    warnings: tuple[Doubt, ...] = ()
    is_mean: bool = False  # is it about the candidate alone

    @property
    def only_warns(self) -> bool:
        """Has it not passed, and changes nothing."""
        return self.severity == "warn" and self.verdict != PASSED

    @property
    def found(self) -> str:
        """The numbers, in a few words."""
        if self.is_mean:
            ends = "" if math.isnan(self.low) else f" ({number(self.low)} {number(self.high)})"
            return f"{number(self.candidate)}{ends}"
        if self.groups:
            tested = [one for one in self.groups if one.verdict]
            count = sum(one.verdict == PASSED for one in tested)
            worst = min(tested, key=lambda one: _VERDICTS.index(one.verdict), default=None)
            told = "" if worst is None or worst.verdict == PASSED else f"; {_line(worst.group)}: {_numbers(worst)}"
            return f"{count} of {len(tested)} groups passed{told}"
        if math.isnan(self.low):
            return f"{len(self.lost):,} of {self.queries:,} queries"
        return _numbers(self)

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.metric} {self.rule}: {self.verdict}; {self.found}"

    @property
    def remarks(self) -> list[str]:
        """What the line does not say."""
        lines = []
        if self.verdict == NOT_DECIDED and not self.groups:
            would = "the difference is close to the limit"
            if not self.limit:
                would = "with a margin of 0, two equal runs never prove it"
            elif self.needed is not None and self.needed > self.queries:
                would = (
                    f"if the two are alike, about {self.needed:,} queries like these would prove it in 80 of 100 "
                    f"samples; there are {self.queries:,}"
                )
            lines.append(f"not decided: {would}")
        if self.lost and self.verdict != PASSED:
            told = ", ".join(f"{_line(query)} {signed(change)}" for query, change in self.lost[:_SHOWN])
            lines.append(f"fell most: {told}")
        missed = [one for one in self.groups if one.verdict in (FAILED, NOT_DECIDED)]
        lines += [f"{_line(one.group)} ({one.queries:,} queries): {one.verdict}; {_numbers(one)}"
                  for one in sorted(missed, key=lambda one: _VERDICTS.index(one.verdict))[:_MANY]]  # fmt: skip
        if len(missed) > _MANY:
            lines.append(f"and {len(missed) - _MANY:,} more groups")
        small = [f"{_line(one.group)} ({one.queries:,})" for one in self.groups if not one.verdict]
        if small:
            more = f" and {len(small) - _SHOWN:,} more" if len(small) > _SHOWN else ""
            lines.append(f"too few queries to be tested: {', '.join(small[:_SHOWN])}{more}")
        return [*lines, *(caveat.sentence for caveat in self.warnings)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "lost": [{"query": query, "change": change} for query, change in self.lost],
            "groups": [asdict(one) for one in self.groups],
            "warnings": [caveat._asdict() for caveat in self.warnings],
            "found": self.found,
            "remarks": self.remarks,
        }


_VERDICTS = (FAILED, NOT_DECIDED, PASSED)


def _numbers(of: GateOutcome | GroupOutcome) -> str:
    ends = f" ({signed(of.low)} {signed(of.high)})" if math.isfinite(of.low) else ""
    return f"{number(of.baseline)} to {number(of.candidate)}: {signed(of.difference)}{ends}"


def _line(name: object) -> str:
    """A name that stays in its line."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(name))


@dataclass(frozen=True)
class _Checker:
    """The gates of one candidate."""

    said: Gates
    truth: Origin
    candidate: Result
    comparison: Comparison | None

    def outcome(self, gate: Gate) -> GateOutcome:
        if not gate.compares:
            return self._of_mean(gate)
        assert self.comparison is not None  # it was asked for by then
        of = self.comparison["candidate", gate.metric]
        if gate.lost_queries is not None:
            return self._of_lost(gate, self.comparison, of)
        return self._not_worse(gate, of) if gate.by is None else self._of_groups(gate, self.comparison, of)

    def _of_mean(self, gate: Gate) -> GateOutcome:
        mean, label = self.candidate[gate.metric], gate.metric
        limit = float(gate.at_least if gate.at_least is not None else gate.at_most)  # type: ignore[arg-type]
        close = _CLOSE * max(abs(limit), 1.0)
        is_met = mean >= limit - close if gate.at_least is not None else mean <= limit + close
        verdict = NOT_DECIDED if math.isnan(mean) else PASSED if is_met else FAILED
        clusters = self._groups(self.said.clusters, self.candidate.queries, "clusters")
        try:
            low, high, *_ = self.candidate.interval(label, self.said.confidence, clusters=clusters)
        except ValueError:  # of one query, or of a number that is no mean
            low, high = math.nan, math.nan
        compared = self.comparison is not None and label in self.comparison.labels
        before = self.comparison["candidate", label].first if compared else math.nan  # type: ignore[index]
        counted = int((~np.isnan(self.candidate.per_query[label])).sum())
        return GateOutcome(
            label, gate.rule, verdict, gate.severity, before, mean, mean - before, float(low), float(high), limit,
            counted, is_mean=True,
        )  # fmt: skip

    def _groups(self, given: Any, queries: Sequence[Any], what: str) -> list[Hashable] | None:
        """Each query's group."""
        if given is None:
            return None
        if isinstance(given, str):
            if self.said.truth is None:
                raise GatesError(f"{what} = {given!r} is a column of the truth; there is none")
            given = self.truth.column(given)
        return groups_in_order(given, queries, what)

    def _not_worse(self, gate: Gate, of: Difference) -> GateOutcome:
        margin = gate.margin(of.first)
        verdict, low, high, many = not_worse(of, margin, self.said.confidence)
        return _outcome(gate, of, verdict, margin, low, high, needed=many)

    def _of_lost(self, gate: Gate, comparison: Comparison, of: Difference) -> GateOutcome:
        changes = comparison.queries("candidate", gate.metric)
        drop = gate.drop or 0.0
        lost = tuple(
            (one.query, one.change) for one in reversed(list(changes))
            if (fall := -one.change * (of.direction or 1)) > 0 and fall >= drop - _CLOSE * max(drop, 1.0)
        )  # fmt: skip
        assert gate.lost_queries is not None
        verdict = PASSED if len(lost) <= gate.lost_queries else FAILED
        return _outcome(gate, of, verdict, gate.lost_queries, math.nan, math.nan, lost=lost)

    def _of_groups(self, gate: Gate, comparison: Comparison, of: Difference) -> GateOutcome:
        labels = self._groups(gate.by, comparison.paired.queries, "by") or []
        codes = codes_of(labels)
        names, sizes = list(dict.fromkeys(labels)), np.bincount(codes).tolist()
        order = sorted(range(len(names)), key=lambda at: str(names[at]))
        parts = {at: within(of, codes == at) for at in order if sizes[at] >= gate.fewest}
        tested = {at: one for at, one in parts.items() if one.queries >= gate.fewest}
        margins = {at: gate.margin(one.first) for at, one in tested.items()}
        p = np.array([one_sided(one, margins[at]) for at, one in tested.items()]).reshape(-1, 2)
        known = ~np.isnan(p).any(axis=1)
        for side in (0, 1) if known.any() else ():
            p[known, side] = adjust(p[known, side], "holm")
        confidence = self.said.confidence
        verdicts = {at: verdict_of(good, bad, confidence) for at, (good, bad) in zip(tested, p.tolist(), strict=True)}
        groups = tuple(
            GroupOutcome(names[at], one.queries, one.first, one.second, one.difference,
                         *one.interval(2 * confidence - 1), margins[at], verdicts[at])
            if (one := tested.get(at)) else GroupOutcome(names[at], parts[at].queries if at in parts else sizes[at])
            for at in order
        )  # fmt: skip
        verdict = next((one for one in _VERDICTS if one in verdicts.values()), NOT_DECIDED)
        return _outcome(gate, of, verdict, gate.margin(of.first), *of.interval(2 * confidence - 1), groups=groups)


def _outcome(
    gate: Gate, of: Difference, verdict: str, limit: float, low: float, high: float, **more: Any
) -> GateOutcome:
    return GateOutcome(
        gate.metric, gate.rule, verdict, gate.severity, of.first, of.second, of.difference, low, high, limit,
        of.queries, warnings=of.warnings, **more,
    )  # fmt: skip


# -- all of them ---------------------------------------------------------------------------------------------


class Checks(Records[GateOutcome]):
    """What became of the gates, one line each. `passed` and `exit_code` sum it up; iterating gives each outcome."""

    _names = ("metric", "rule", "verdict", "severity", "baseline", "candidate", "difference", "low", "high", "limit",
              "queries")  # fmt: skip

    def __init__(
        self, outcomes: Sequence[GateOutcome], said: Gates, candidate: Result, comparison: Comparison | None
    ) -> None:
        self.outcomes = self.records = tuple(outcomes)
        self.undecided, self.confidence = said.undecided, said.confidence
        self.candidate, self.comparison = candidate, comparison
        self._definitions = {label: candidate.definitions[label] for label in said.labels if label in candidate}

    def __getitem__(self, at: int) -> GateOutcome:
        return self.outcomes[at]

    @property
    def verdict(self) -> str:
        """Of all gates: failed, not decided or passed. Those that only warn do not count."""
        found = {self._counted(one) for one in self}
        return next((verdict for verdict in _VERDICTS if verdict in found), PASSED)

    @property
    def passed(self) -> bool:
        """May the candidate take the place of the baseline."""
        return self.verdict == PASSED

    @property
    def exit_code(self) -> int:
        """What the command ends with: 0 passed, 3 failed, 4 not decided."""
        return {PASSED: 0, FAILED: 3, NOT_DECIDED: 4}[self.verdict]

    def _counted(self, one: GateOutcome) -> str:
        """What a gate makes of the whole."""
        if one.severity == "warn":
            return PASSED
        return {"pass": PASSED, "fail": FAILED}.get(self.undecided, NOT_DECIDED) if (
            one.verdict == NOT_DECIDED
        ) else one.verdict  # fmt: skip

    # -- looks -----------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """A line for each gate; what it does not say, and how the numbers were found, under them."""
        table = [["verdict", "metric", "gate", "found"], *(
            [f"{one.verdict}{' (warning)' * one.only_warns}", one.metric, _line(one.rule), one.found] for one in self
        )]  # fmt: skip
        counts = Counter(one.verdict for one in self)
        warned = sum(one.only_warns for one in self)
        title = ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(_VERDICTS) if counts[verdict])
        title = f"{self.verdict}: {title}{f' ({warned} of them only warn)' if warned else ''}"
        *defined, origin = summarize(list(self._definitions.values()))
        return Answer(table, title, [*self._notes(), origin], defined, "<<<<")

    def _notes(self) -> list[str]:
        lines = list(dict.fromkeys(f"{one.metric}: {line}" for one in self for line in one.remarks))
        percent = f"{100 * self.confidence:g} %"
        if self.comparison is not None:
            for label in self.comparison.labels:
                if label not in {one.metric for one in self}:
                    of = self.comparison["candidate", label]
                    low, high = map(signed, of.interval(2 * self.confidence - 1))
                    change = f"{number(of.first)} to {number(of.second)}: {signed(of.difference)}"
                    lines.append(f"{label}, without a gate: {change} ({low} {high})")
            lines += general_caveats(self.comparison.experiment)
        if any(not one.is_mean and not math.isnan(one.low) for one in self):
            holm = "; of groups, Holm's correction asks for more than they say" * any(one.groups for one in self)
            lines.append(f"in brackets: the ends of the one-sided {percent} intervals of the difference{holm}")
        if any(one.is_mean for one in self):
            lines.append(f"in brackets after a mean: its {percent} interval, which decides nothing")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the verdict, the exit code and each gate."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "undecided": self.undecided,
            "confidence": self.confidence,
            "gates": [one.to_dict() for one in self],
            "remarks": list(self.answer().notes),
            "definitions": {label: definition.to_dict() for label, definition in self._definitions.items()},
        }

    def to_markdown(self) -> str:
        """For a pull request: the verdict, the table and the remarks."""
        answer = self.answer()
        return f"**rankstone check: {answer.title}**\n\n{replace(answer, title='').render('markdown')}"

    def to_junit(self) -> str:
        """JUnit's XML, which most build servers show: a test case a gate."""
        from xml.etree import ElementTree

        cases = [(one, self._counted(one)) for one in self]
        failed = sum(verdict == FAILED for _, verdict in cases)
        skipped = sum(verdict != FAILED and one.verdict != PASSED for one, verdict in cases)
        counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
        top = ElementTree.Element("testsuites", counts)
        suite = ElementTree.SubElement(top, "testsuite", {"name": "rankstone check", **counts})
        for one, verdict in cases:
            names = {"classname": "gates", "name": _xml(f"{one.metric} {one.rule}")}
            case = ElementTree.SubElement(suite, "testcase", names)
            told = _xml("\n".join([one.sentence, *one.remarks]))
            if one.verdict == PASSED:
                ElementTree.SubElement(case, "system-out").text = told
            else:
                kind = "failure" if verdict == FAILED else "skipped"
                ElementTree.SubElement(case, kind, {"message": _xml(one.sentence)}).text = told
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode")


def _xml(text: str) -> str:
    """Text without the letters that XML has no way to write."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
