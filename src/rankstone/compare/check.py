"""`check`: non-inferiority tests and limits (gates) that decide whether a run may replace another."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.compare.caveats import Caveat, general_caveats
from rankstone.compare.compare import InputOrigin, compare
from rankstone.compare.comparison import Comparison
from rankstone.compare.differences import Difference, within
from rankstone.compare.gates import Gate, Gates, read_gates
from rankstone.compare.ledger import LedgerEntry, add_entry, ledger_path, next_entry
from rankstone.compare.pairing import codes_of
from rankstone.compare.pins import PinOutcome, pin_outcomes
from rankstone.data.files import is_path
from rankstone.errors import GatesError, InputError
from rankstone.evaluate.result_file import is_result, read_result
from rankstone.evaluate.variants import VariantComparison
from rankstone.evaluate.windows import WindowResult
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import Answer, Records, number, one_line, signed
from rankstone.results.definition import groups_in_order, summarize
from rankstone.results.junit import JUnitCase, junit
from rankstone.results.result import Result
from rankstone.results.schema import stamp
from rankstone.statistics.corrections import adjust
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Path

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
_SIDES = ("baseline", "candidate")
_LISTED = 5  # queries or groups in a line
_MANY = 12  # lines about groups
_PINS = 20  # rows of pins that do not hold
_CLOSE = 1e-12  # tolerance for rounding errors at a limit


def check(gates: Path | Mapping[str, Any], **over: Any) -> CheckResult:
    """Check a candidate run against gates: conditions on its means, or on its differences to a baseline.

    Parameters
    ----------
    gates : str, PathLike or dict
        A TOML file, or a dict with the same keys: `truth`, `baseline` and `candidate` (runs or results), `metrics`,
        `convention`, `choices`, `columns`, `exclude`, `clusters`, `weights`, `confidence`, `undecided`, `anytime`,
        `ledger`, `spending`, `candidates`, and `gate`, a list of dicts. The candidate may also be a window of
        `rs.Online`, or `window.compare("A", "B")`, which has both sides. A gate has a `metric`, a `severity` ("fail" or
        "warn"), and one of `not_worse_than` (in the metric's unit, or "2 %" of the baseline's mean; `by` tests each
        group of at least `fewest` queries), `at_least`, `at_most`, or `lost_queries` with `drop`.
        `pin` is a list of dicts with a `query`, and `item` or `items` (`all`: each of them) that must be `within` the
        first places, or `empty`; `pins` is a file of these.
    **over
        Keys that replace those of the file.

    Returns
    -------
    CheckResult
        With `passed`, `verdict` and `exit_code`. `not_worse_than` is a one-sided non-inferiority test at the given
        `confidence`, with Holm's correction over groups: passed, failed or inconclusive. The other gates compare the
        means themselves. `undecided` ("pass", "warn" or "fail") is the effect of inconclusive gates. `anytime` makes
        tests hold at every look. `ledger` (a file, or True for one next to the baseline's) counts how often the truth
        was used and by how many candidates; `spending` is the rule that keeps the level for all of them: "none",
        "harmonic", "geometric", or for planned `candidates` "bonferroni", "pocock" or "obrien_fleming".

    Raises
    ------
    GatesError
        If a key or value of the gates is invalid.

    Examples
    --------
    >>> truth = {q: {"a": 1} for q in range(40)}
    >>> runs = {"baseline": {q: ["a"] for q in truth}, "candidate": {q: ["a"] if q else ["b", "a"] for q in truth}}
    >>> rs.check({"truth": truth, **runs, "gate": [{"metric": "rr", "not_worse_than": 0.05}]}).passed
    True
    """
    options = read_gates(gates, over)
    if isinstance(options.candidate, (WindowResult, VariantComparison)):
        return CheckResult([_of_window(gate, options) for gate in options.gate], options, options.candidate, None)
    truth = InputOrigin(options.truth, {}, _how(options))
    pins = pin_outcomes(options)
    if not options.labels:
        return CheckResult([], options, None, None, pins)
    results, comparison = _evaluated(options, truth)
    inputs: Mapping[str, str] = {}
    path, entry = "", None
    if options.ledger:
        inputs = results["candidate"]._measurement.inputs
        path = ledger_path(options.ledger, options.baseline)
        entry = next_entry(path, inputs, 1 - options.confidence, options.spending, options.candidates)
        options = replace(options, confidence=1 - entry.level)
    checker = _Checker(options, truth, results["candidate"], comparison)
    outcomes = [checker.outcome(gate) for gate in options.gate]
    answer = CheckResult(outcomes, options, results["candidate"], comparison, pins, entry)
    if entry is not None:
        add_entry(path, inputs, entry, answer.verdict)
    return answer


# -- evaluation --------------------------------------------------------------------------------------------


def _how(options: Gates) -> dict[str, Any]:
    """The keywords of `evaluate`."""
    more = {} if options.exclude is None else {"exclude": options.exclude}
    return {"columns": options.columns, "convention": options.convention, **more, **options.choices}


def _evaluated(options: Gates, truth: InputOrigin) -> tuple[dict[str, Result], Comparison | None]:
    """The results of both sides, and the comparison of them."""
    inputs = {side: getattr(options, side) for side in _SIDES if getattr(options, side) is not None}
    saved = {side: result for side, run in inputs.items() if (result := _saved(side, run)) is not None}
    fresh = {side: run for side, run in inputs.items() if side not in saved}
    if fresh and options.truth is None:
        raise GatesError(f"the {next(iter(fresh))} is a run: a truth is required to evaluate it")
    clusters = truth.column(options.clusters) if isinstance(options.clusters, str) else options.clusters
    if len(fresh) == 2:
        comparison = compare(
            options.truth, fresh, options.labels, baseline="baseline", confidence=options.confidence, clusters=clusters,
            anytime=options.anytime, weights=_weights(options, truth), **_how(options),
        )  # fmt: skip
        return {side: several[0] for side, several in comparison._experiment.paired.systems.items()}, comparison
    _check_present(options, saved)
    origin = replace(truth, runs={side: (run,) for side, run in fresh.items()})
    evaluated = origin.evaluate(options.labels, _weights(options, truth)) if fresh else {}
    results = {side: saved[side] if side in saved else evaluated[side][0] for side in inputs}
    if len(results) < 2:
        return results, None
    common = [label for label in options.labels if all(label in result for result in results.values())]
    return results, compare(
        results, metrics=common, baseline="baseline", confidence=options.confidence, clusters=clusters,
        anytime=options.anytime,
    )  # fmt: skip


def _saved(side: str, run: Any) -> Result | None:
    """A result, or one read from a file; None for a run."""
    if isinstance(run, Result):
        return run
    if not is_path(run) or not is_result(run):
        return None
    result = read_result(run)
    if isinstance(result, dict):
        raise InputError(f"{run} has {len(result)} runs: {', '.join(result)}; save the one that is the {side}")
    return result


def _check_present(options: Gates, saved: Mapping[str, Result]) -> None:
    """Raise an error if a saved result lacks the metric of a gate."""
    for side, result in saved.items():
        for gate in options.gate:
            if gate.metric not in result and (gate.compares or side == "candidate"):
                raise InputError(f"the {side} was saved without {gate.metric}; it has {', '.join(result)}")


def _weights(options: Gates, truth: InputOrigin) -> Any:
    if not isinstance(options.weights, str):
        return options.weights
    column = truth.column(options.weights)
    try:
        weights = {query: float(str(weight)) for query, weight in column.items()}
    except ValueError:
        raise InputError(f"weights = {options.weights!r}: some are not numbers") from None
    return weights | {str(query): weight for query, weight in weights.items()}  # ids may be text in the run


# -- one gate ------------------------------------------------------------------------------------------------


def one_sided(of: Difference, margin: float) -> tuple[float, float]:
    """p-values of the one-sided tests that a run is not worse by more than a margin, and that it is."""
    if of.difference == 0 and of.error == 0:
        return 0.0, 1.0  # equal on every query
    return _sides(of, margin, of.direction)


def _sides(of: Any, margin: float, direction: int) -> tuple[Any, Any]:
    """p-values of the same tests, of a difference or of its fit."""
    return (of.below(margin), of.above(margin)) if direction < 0 else (of.above(-margin), of.below(-margin))


def verdict_of(passed: float, failed: float, confidence: float) -> str:
    """The verdict of the two one-sided tests."""
    level = 1 - confidence + _CLOSE  # 1 - 0.95 is a little above 0.05
    return PASSED if passed <= level else FAILED if failed <= level else INCONCLUSIVE


def not_worse(of: Difference, margin: float, confidence: float) -> tuple[str, float, float, int | None]:
    """The verdict, the one-sided confidence bounds, and the sample size to show that an equal run is not worse.

    The sample size (80 % power) is None if the verdict is conclusive, or if no number of queries suffices.
    """
    verdict = verdict_of(*one_sided(of, margin), confidence)
    sample_size = None
    if verdict == INCONCLUSIVE and margin and of.error and not of.is_anytime:
        sample_size = of.sample_size(margin if of.direction < 0 else -margin, one_sided=True)
    return verdict, *of.bounds_at(confidence), sample_size


@dataclass(frozen=True)
class GroupOutcome:
    """The outcome of a gate in one group of queries; NaN where it is not tested."""

    group: Any
    queries: int
    baseline: float = math.nan
    candidate: float = math.nan
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    margin: float = math.nan
    verdict: str = ""  # empty: too few queries to test


@dataclass(frozen=True)
class GateOutcome:
    """The outcome of one gate; numbers that do not apply are NaN.

    Attributes
    ----------
    metric, rule : str
        The metric and the condition in words.
    verdict : str
        "passed", "failed" or "inconclusive".
    severity : str
        "fail", or "warn": the gate does not change the overall verdict.
    baseline, candidate, difference : float
        Means and their difference.
    low, high : float
        One-sided confidence bounds of the difference; of `at_least` and `at_most`, the interval of the mean.
    limit : float
        The margin in the metric's unit, the limit, or the allowed number of lost queries.
    queries : int
        Number of queries.
    sample_size : int or None
        Number of queries that would show non-inferiority of an equal run, if inconclusive.
    lost : tuple
        Queries that got worse, with their change, the worst first.
    groups : tuple of GroupOutcome
        The outcomes per group.
    caveats : tuple of Caveat
        The caveats of the difference.
    is_mean : bool
        Whether the gate is about the candidate's mean alone.
    """

    metric: str
    rule: str
    verdict: str
    severity: str
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    limit: float
    queries: int
    sample_size: int | None = None
    lost: tuple[tuple[Any, float], ...] = ()
    groups: tuple[GroupOutcome, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    is_mean: bool = False

    @property
    def only_warns(self) -> bool:
        """Whether it did not pass, but has the severity "warn"."""
        return self.severity == "warn" and self.verdict != PASSED

    @property
    def summary(self) -> str:
        """The numbers in a few words."""
        if self.is_mean:
            ends = "" if math.isnan(self.low) else f" ({number(self.low)} {number(self.high)})"
            return f"{number(self.candidate)}{ends}"
        if self.groups:
            tested = [group for group in self.groups if group.verdict]
            count = sum(group.verdict == PASSED for group in tested)
            worst = min(tested, key=lambda group: _VERDICTS.index(group.verdict), default=None)
            example = ""
            if worst is not None and worst.verdict != PASSED:
                example = f"; {one_line(worst.group)}: {_numbers(worst)}"
            return f"{count} of {len(tested)} groups passed{example}"
        if math.isnan(self.low):
            return f"{len(self.lost):,} of {self.queries:,} queries"
        return _numbers(self)

    @property
    def sentence(self) -> str:
        """The outcome in one line."""
        return f"{self.metric} {self.rule}: {self.verdict}; {self.summary}"

    @property
    def notes(self) -> list[str]:
        """Details: power, lost queries, groups and caveats."""
        lines = []
        if self.verdict == INCONCLUSIVE and not self.groups:
            reason = "the difference is close to the limit"
            if not self.limit:
                reason = "with a margin of 0, an equal run never passes"
            elif self.sample_size is not None and self.sample_size > self.queries:
                reason = (
                    f"an equal run needs about {self.sample_size:,} queries to pass (80 % power); there are "
                    f"{self.queries:,}"
                )
            lines.append(f"inconclusive: {reason}")
        if self.lost and self.verdict != PASSED:
            worst = ", ".join(f"{one_line(query)} {signed(change)}" for query, change in self.lost[:_LISTED])
            lines.append(f"largest losses: {worst}")
        missed = [group for group in self.groups if group.verdict in (FAILED, INCONCLUSIVE)]
        lines += [f"{one_line(group.group)} ({group.queries:,} queries): {group.verdict}; {_numbers(group)}"
                  for group in sorted(missed, key=lambda group: _VERDICTS.index(group.verdict))[:_MANY]]  # fmt: skip
        if len(missed) > _MANY:
            lines.append(f"and {len(missed) - _MANY:,} more groups")
        small = [f"{one_line(group.group)} ({group.queries:,})" for group in self.groups if not group.verdict]
        if small:
            more = f" and {len(small) - _LISTED:,} more" if len(small) > _LISTED else ""
            lines.append(f"too few queries to test: {', '.join(small[:_LISTED])}{more}")
        return [*lines, *(caveat.sentence for caveat in self.caveats)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "lost": [{"query": query, "change": change} for query, change in self.lost],
            "groups": [asdict(group) for group in self.groups],
            "caveats": [caveat._asdict() for caveat in self.caveats],
            "summary": self.summary,
            "notes": self.notes,
        }


_VERDICTS = (FAILED, INCONCLUSIVE, PASSED)


def _numbers(of: GateOutcome | GroupOutcome) -> str:
    ends = f" ({signed(of.low)} {signed(of.high)})" if math.isfinite(of.low) else ""
    return f"{number(of.baseline)} to {number(of.candidate)}: {signed(of.difference)}{ends}"


@dataclass(frozen=True)
class _Checker:
    """Evaluates the gates of one candidate."""

    options: Gates
    truth: InputOrigin
    candidate: Result
    comparison: Comparison | None

    def outcome(self, gate: Gate) -> GateOutcome:
        if not gate.compares:
            return self._of_mean(gate)
        assert self.comparison is not None  # a gate that compares requires a baseline
        of = self.comparison["candidate", gate.metric]
        if gate.lost_queries is not None:
            return self._of_lost(gate, self.comparison, of)
        return self._not_worse(gate, of) if gate.by is None else self._of_groups(gate, self.comparison, of)

    def _of_mean(self, gate: Gate) -> GateOutcome:
        mean, label = self.candidate[gate.metric], gate.metric
        clusters = self._groups(self.options.clusters, self.candidate.queries, "clusters")
        try:
            low, high, *_ = self.candidate.interval(label, self.options.confidence, clusters=clusters)
        except ValueError:  # one query only, or not a mean
            low, high = math.nan, math.nan
        compared = self.comparison is not None and label in self.comparison.metrics
        before = self.comparison["candidate", label].first if compared else math.nan  # type: ignore[index]
        counted = int((~np.isnan(self.candidate.per_query[label])).sum())
        return _of_limit(gate, (before, mean, mean - before), (float(low), float(high)), counted)

    def _groups(self, by: Any, queries: Sequence[Any], key: str) -> list[Hashable] | None:
        """The group of each query."""
        if by is None:
            return None
        if isinstance(by, str):
            if self.options.truth is None:
                raise GatesError(f"{key} = {by!r} is a column of the truth; there is none")
            by = self.truth.column(by)
        return groups_in_order(by, queries, key)

    def _not_worse(self, gate: Gate, of: Difference) -> GateOutcome:
        margin = gate.margin(of.first)
        verdict, *interval, sample_size = not_worse(of, margin, self.options.confidence)
        return _outcome(gate, of, verdict, margin, *interval, sample_size=sample_size)

    def _of_lost(self, gate: Gate, comparison: Comparison, of: Difference) -> GateOutcome:
        changes = comparison.queries("candidate", gate.metric)
        drop = gate.drop or 0.0
        lost = tuple(
            (change.query, change.change) for change in reversed(list(changes))
            if (loss := -change.change * (of.direction or 1)) > 0 and loss >= drop - _CLOSE * max(drop, 1.0)
        )  # fmt: skip
        assert gate.lost_queries is not None
        verdict = PASSED if len(lost) <= gate.lost_queries else FAILED
        return _outcome(gate, of, verdict, gate.lost_queries, math.nan, math.nan, lost=lost)

    def _of_groups(self, gate: Gate, comparison: Comparison, of: Difference) -> GateOutcome:
        labels = self._groups(gate.by, comparison._experiment.paired.queries, "by") or []
        codes = codes_of(labels)
        names, sizes = list(dict.fromkeys(labels)), np.bincount(codes).tolist()
        order = sorted(range(len(names)), key=lambda at: str(names[at]))
        parts = {at: within(of, codes == at) for at in order if sizes[at] >= gate.fewest}
        tested = {at: part for at, part in parts.items() if part.queries >= gate.fewest}
        margins = {at: gate.margin(part.first) for at, part in tested.items()}
        p = np.array([one_sided(part, margins[at]) for at, part in tested.items()]).reshape(-1, 2)
        is_number = ~np.isnan(p).any(axis=1)
        for side in (0, 1) if is_number.any() else ():
            p[is_number, side] = adjust(p[is_number, side], "holm")
        confidence = self.options.confidence
        verdicts = {at: verdict_of(good, bad, confidence) for at, (good, bad) in zip(tested, p.tolist(), strict=True)}
        groups = tuple(
            GroupOutcome(names[at], part.queries, part.first, part.second, part.difference,
                         *part.bounds_at(confidence), margins[at], verdicts[at])
            if (part := tested.get(at)) else GroupOutcome(names[at], parts[at].queries if at in parts else sizes[at])
            for at in order
        )  # fmt: skip
        verdict = next((verdict for verdict in _VERDICTS if verdict in verdicts.values()), INCONCLUSIVE)
        return _outcome(gate, of, verdict, gate.margin(of.first), *of.bounds_at(confidence), groups=groups)


def _outcome(
    gate: Gate, of: Difference, verdict: str, limit: float, low: float, high: float, **more: Any
) -> GateOutcome:
    """The outcome of a gate that compares."""
    return GateOutcome(
        gate.metric, gate.rule, verdict, gate.severity, of.first, of.second, of.difference, low, high, limit,
        of.queries, caveats=of.caveats, **more,
    )  # fmt: skip


def _of_limit(
    gate: Gate, means: tuple[float, float, float], interval: tuple[float, float], count: int, **more: Any
) -> GateOutcome:
    """The outcome of a gate on a mean; means: of the baseline, of the candidate, and their difference."""
    mean, close = means[1], _CLOSE * max(abs(gate.limit), 1.0)
    is_met = mean >= gate.limit - close if gate.at_least is not None else mean <= gate.limit + close
    verdict = INCONCLUSIVE if math.isnan(mean) else PASSED if is_met else FAILED
    return GateOutcome(
        gate.metric, gate.rule, verdict, gate.severity, *means, *interval, gate.limit, count, is_mean=True, **more
    )


# -- of served lists -----------------------------------------------------------------------------------------


def _of_window(gate: Gate, options: Gates) -> GateOutcome:
    """The outcome of a gate on a window of served lists, or on two variants."""
    candidate = options.candidate
    if gate.metric not in candidate.definitions:
        raise GatesError(f"the window has no {gate.metric}; it has {', '.join(candidate.definitions)}")
    if gate.lost_queries is not None or gate.by is not None:
        raise GatesError(f"{gate.metric} {gate.rule}: is about queries that both sides have, not about a window")
    if options.ledger:
        raise GatesError("ledger is about a truth; a window has new users each time")
    if isinstance(candidate, WindowResult):
        if gate.compares:
            raise GatesError(f"{gate.metric} {gate.rule}: compares; give candidate=window.compare('A', 'B')")
        of = candidate[gate.metric]
        return _of_limit(gate, (math.nan, of.mean, math.nan), (of.low, of.high), of.lists)
    pair = candidate[gate.metric]
    count, means = pair.first_units + pair.second_units, (pair.first, pair.second, pair.difference)
    caveats = tuple(Caveat("variants", sentence) for sentence in candidate.caveats)
    if not gate.compares:
        return _of_limit(gate, means, (math.nan, math.nan), count, caveats=caveats)
    margin, fit = gate.margin(pair.first), candidate.fit(gate.metric)
    verdict, low, high = INCONCLUSIVE, math.nan, math.nan
    if fit is not None:
        passed, failed = _sides(fit, margin, parse_one(gate.metric).declaration.direction)
        verdict = verdict_of(float(passed), float(failed), options.confidence)
        low, high = map(float, fit.bounds(options.confidence))
    return GateOutcome(
        gate.metric, gate.rule, verdict, gate.severity, *means, low, high, margin, count, caveats=caveats
    )


# -- all of them ---------------------------------------------------------------------------------------------


class CheckResult(Records[GateOutcome]):
    """The outcomes of all gates; iterating yields a `GateOutcome` per gate.

    Attributes
    ----------
    outcomes : tuple of GateOutcome
        One per gate.
    pins : tuple of PinOutcome
        One per pinned query.
    files : tuple of str
        The files that the gates name.
    undecided : str
        The effect of inconclusive gates: "pass", "warn" or "fail".
    confidence : float
        Confidence level of each one-sided test.
    candidate : Result or None
        The result of the candidate; None if there are only pins.
    comparison : Comparison or None
        The comparison with the baseline, if there is one.
    ledger : LedgerEntry or None
        How often this truth was used, and what the verdict is still worth; with a `ledger`.
    """

    _names = ("metric", "rule", "verdict", "severity", "baseline", "candidate", "difference", "low", "high", "limit",
              "queries")  # fmt: skip

    def __init__(
        self,
        outcomes: Sequence[GateOutcome],
        options: Gates,
        candidate: Result | WindowResult | VariantComparison | None,
        comparison: Comparison | None,
        pins: Sequence[PinOutcome] = (),
        ledger: LedgerEntry | None = None,
    ) -> None:
        self.outcomes = self._records = tuple(outcomes)
        self.undecided, self.confidence = options.undecided, options.confidence
        self.candidate, self.comparison, self.ledger = candidate, comparison, ledger
        self.pins = tuple(pins)
        sides = (options.truth, options.baseline, options.candidate, options.exclude, options.pins)
        self.files = tuple(os.fspath(side) for side in sides if is_path(side))
        definitions = {} if candidate is None else candidate.definitions
        self._definitions = {label: definitions[label] for label in options.labels if label in definitions}

    def __getitem__(self, at: int) -> GateOutcome:
        return self.outcomes[at]

    @property
    def verdict(self) -> str:
        """Overall verdict: "passed", "failed" or "inconclusive"; gates with severity "warn" do not count."""
        verdicts = {self._effect(outcome) for outcome in (*self, *self.pins)}
        return next((verdict for verdict in _VERDICTS if verdict in verdicts), PASSED)

    @property
    def passed(self) -> bool:
        """Whether the overall verdict is "passed"."""
        return self.verdict == PASSED

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 passed, 3 failed, 4 inconclusive."""
        return {PASSED: 0, FAILED: 3, INCONCLUSIVE: 4}[self.verdict]

    def _effect(self, outcome: GateOutcome | PinOutcome) -> str:
        """The effect of a gate or a pin on the overall verdict."""
        if outcome.severity == "warn":
            return PASSED
        if outcome.verdict == INCONCLUSIVE:
            return {"pass": PASSED, "fail": FAILED}.get(self.undecided, INCONCLUSIVE)
        return outcome.verdict

    # -- export ----------------------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """A row per gate, and details under the table."""
        table = [["verdict", "metric", "gate", "result"], *(
            [f"{outcome.verdict}{' (warning)' * outcome.only_warns}", outcome.metric, one_line(outcome.rule),
             outcome.summary]
            for outcome in self
        ), *self._pin_rows()]  # fmt: skip
        every = [*self, *self.pins]
        counts = Counter(outcome.verdict for outcome in every if not outcome.only_warns)
        cells = [f"{counts[verdict]} {verdict}" for verdict in reversed(_VERDICTS) if counts[verdict]]
        if warned := sum(outcome.only_warns for outcome in every):
            cells.append(f"{warned} warning{'s' * (warned != 1)}")
        definitions = list(self._definitions.values())
        *defined, origin = summarize(definitions) if definitions else [f"rankstone {__version__}"]
        title = f"{self.verdict.upper()}: {', '.join(cells)}"
        return Answer(table, title, [*self._notes(), origin], defined, "<<<<", heading=f"rankstone check: {title}")

    def _pin_rows(self) -> list[list[str]]:
        """A row per pin that does not hold, and one for all others."""
        broken = [pin for pin in self.pins if pin.verdict != PASSED]
        rows = [[f"{pin.verdict}{' (warning)' * pin.only_warns}", "pin", one_line(pin.rule), one_line(pin.sentence)]
                for pin in broken[:_PINS]]  # fmt: skip
        if len(broken) > _PINS:
            rows.append([FAILED, "pin", f"{len(broken) - _PINS:,} more", "in the JSON and JUnit files"])
        if holding := len(self.pins) - len(broken):
            rows.append([PASSED, "pin", f"{holding:,} of {len(self.pins):,} pinned queries", ""])
        return rows

    def _notes(self) -> list[str]:
        lines = list(dict.fromkeys(f"{outcome.metric}: {line}" for outcome in self for line in outcome.notes))
        percent = f"{100 * self.confidence:.6g} %"
        if self.comparison is not None:
            for label in self.comparison.metrics:
                if label not in {outcome.metric for outcome in self}:
                    of = self.comparison["candidate", label]
                    low, high = map(signed, of.bounds_at(self.confidence))
                    change = f"{number(of.first)} to {number(of.second)}: {signed(of.difference)}"
                    lines.append(f"{label}, without a gate: {change} ({low} {high})")
            lines += general_caveats(self.comparison._experiment)
        if any(not outcome.is_mean and not math.isnan(outcome.low) for outcome in self):
            holm = "; for groups without Holm's correction" * any(outcome.groups for outcome in self)
            lines.append(f"in brackets: one-sided {percent} confidence bounds of the difference{holm}")
        if any(outcome.is_mean for outcome in self):
            lines.append(f"in brackets after a mean: its {percent} confidence interval, for information only")
        return lines if self.ledger is None else [*lines, self.ledger.sentence]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the verdict, the exit code and the outcome of each gate."""
        return {
            **stamp("check"),
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "undecided": self.undecided,
            "confidence": self.confidence,
            "ledger": None if self.ledger is None else asdict(self.ledger),
            "gates": [outcome.to_dict() for outcome in self],
            "pins": [pin.to_dict() for pin in self.pins],
            "notes": list(self._answer().notes),
            "definitions": {label: definition.to_dict() for label, definition in self._definitions.items()},
        }

    def to_junit(self) -> str:
        """JUnit XML for build servers: one test case per gate, and per pinned query."""
        return junit("rankstone check", self.cases())

    def cases(self) -> list[JUnitCase]:
        """Each gate and each pinned query as a test case; what decides nothing is skipped: a warning, for example."""
        texts = [("gates", f"{gate.metric} {gate.rule}", "\n".join([gate.sentence, *gate.notes])) for gate in self]
        texts += [("pins", f"{pin.query}: {pin.rule}", pin.sentence) for pin in self.pins]
        cases = []
        for outcome, text in zip((*self, *self.pins), texts, strict=True):
            effect = "failure" if self._effect(outcome) == FAILED else "skipped" if outcome.verdict != PASSED else ""
            cases.append(JUnitCase(*text, effect, text[2].partition("\n")[0]))
        return cases

    def to_github(self, path: str | None = None) -> str:
        """Workflow commands of GitHub, which annotate a pull request: one per gate and pin that does not pass.

        Parameters
        ----------
        path : str, optional
            The file of gates, to which the annotations point.

        Returns
        -------
        str
            Lines to print in a step of a workflow.
        """
        where = "" if path is None else f"file={_command_text(path, True)},"
        return "\n".join(
            f"::{'error' if case.outcome == 'failure' else 'warning'} {where}title={_command_text(case.name, True)}::"
            f"{_command_text(case.details)}"
            for case in self.cases() if case.outcome
        )  # fmt: skip


def _command_text(text: str, is_property: bool = False) -> str:
    """Text of a workflow command, in which nothing is a mark."""
    marks = {"%": "%25", "\r": "%0D", "\n": "%0A", **({":": "%3A", ",": "%2C"} if is_property else {})}
    return re.sub("|".join(marks), lambda mark: marks[mark[0]], text)
