"""`audit`: whose metric a function computes, how it differs from a convention, and which properties it breaks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankstone.audit.audit_report import AuditReport, Finding, shown
from rankstone.audit.calling import STYLES, Adapter, caller_of
from rankstone.audit.candidates import ANY, ERROR, Candidate, Change, Questionnaire, unlike
from rankstone.audit.changes import NEEDS, changes_of, choices_of, extensions, loose_extensions, trap_of, words_of
from rankstone.audit.properties import Probe, Violation, defects_of_ids, violations
from rankstone.audit.questions import Question, pool, shrink
from rankstone.audit.search import EXACT, LOOSE, Search, agrees
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import find_convention
from rankstone.conventions.plan import unread
from rankstone.errors import InputError
from rankstone.explain.sweep import changed, choice_of, differences, presets
from rankstone.metrics.registry import Metric, parse_one
from rankstone.results.definition import definition_of

_ROUNDS = 3  # of searches, each with the examples that refuted the last answer
_MOST_CHANGES = 6  # of a definition, as long as each makes it agree with more answers
_CHECKED = 150  # questions by which properties are checked
_ANSWERED = 10  # numbers that a function that fails must return before it is named
_LARGE = 0.002  # difference of an example's values, where there is such an example


def audit(
    function: Callable[..., object],
    metric: str | Metric,
    calling: str | Adapter = "lists",
    *,
    expect: str | None = None,
    seconds: float = 5.0,
    seed: int = 28,
) -> AuditReport:
    """Find out whose definition of a metric a function follows, and which properties it breaks.

    The function is asked small questions, each chosen to split the definitions that are left: every convention that
    has the metric, and conventions with changed choices or known defects.

    Parameters
    ----------
    function : callable
        The function; it returns a number.
    metric : str or Metric
        The metric that it computes: "ndcg@10".
    calling : str or callable, default "lists"
        How it is called: "lists", `f(ranked items, relevant items or {item: grade})`; "dicts", `f({query: {item:
        grade}}, {query: {item: score}})`; "labels", `f(grades in ranked order)`; "arrays", `f(grades, scores)`; "trec
        files", `f(path of the qrels, path of the run)`. A parameter such as `k` gets the cutoff. Else an adapter,
        `adapter(function, question)`, that calls it with `question.truth` and `question.run`.
    expect : str, optional
        The convention that it should follow; the report compares it with this one, by default with "rankstone".
    seconds : float, default 5.0
        Time limit of one call.
    seed : int, default 28
        Random seed of the questions.

    Returns
    -------
    AuditReport
        With `convention`, `nearest`, `differences`, `findings` and `exit_code`.

    Raises
    ------
    ValueError
        If no convention has the metric, or the calling style is unknown.

    Examples
    --------
    >>> def hits(ranked, relevant, k):
    ...     return sum(item in relevant for item in ranked[:k]) / k
    >>> report = rs.audit(hits, metric="precision@3", expect="trec_eval")
    >>> report.findings[0].name
    'a repeated item is credited each time'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the function, and of questions without a relevant item
        return _Audit(function, parse_one(metric, "audit one"), calling, expect, seconds, seed).report()


class _Audit:
    """One audit."""

    def __init__(
        self, function: Any, metric: Metric, calling: Any, expect: str | None, seconds: float, seed: int
    ) -> None:
        self.plans, declaration = presets(metric, {}), metric.declaration
        if declaration.kind not in ("ranking", "count") or declaration.reads != "ranking" or not self.plans:
            raise InputError(f"audit asks about rankings and grades, which {metric} does not read")
        self.expect = None if expect is None else find_convention(expect).name
        if self.expect is not None and self.expect not in self.plans:
            raise InputError(f"{self.expect} does not define {metric}")
        self.metric, self.reference = metric, self.expect or "rankstone"
        self.calling = calling if isinstance(calling, str) else "adapter"
        self.caller = caller_of(function, calling, metric.k, seconds)
        self.pool = pool(self.caller.form, self.caller.cutoffs, seed=seed)
        by_top = bool(declaration.all_queries(declaration.defaults))
        self.questionnaire = Questionnaire(self.pool, self.caller.form.scores, by_top)
        self.candidates = {name: Candidate(name, plan) for name, plan in self.plans.items()}
        self.changes = changes_of(metric, self.plans, self.caller.form)
        self.search = self._new_search({})

    def _new_search(self, answers: dict[int, float]) -> Search:
        """A search in the pool, with the answers so far."""
        plain = list(self.candidates.values())
        more = [each for candidate in plain for each in extensions(candidate, self.caller.form)]
        loose = [each for candidate in plain for each in loose_extensions(candidate, self.caller.form)]
        return Search(self.pool, self.questionnaire, self.changes, self.caller, [*plain, *more], loose, answers=answers)

    # -- the definition --------------------------------------------------------------------------------------

    def identify(self) -> tuple[list[Candidate], list[str]]:
        """The candidates of one class that agree with all answers, and remarks; empty if there are none."""
        search = self.search
        if winners := search.run([0]):
            return winners, []
        search.battery()
        if silent := self._silent():
            return [], [silent]
        tolerance, remark = self._precision()
        for depths in ([0], [1, 2], [LOOSE], range(3, _MOST_CHANGES + 1)):
            for search.tolerance in sorted({EXACT, max(EXACT, tolerance)}):
                search.lenient = depths != [0] and search.has_failed
                winners = search.run(depths)
                if not winners and not search.lenient and search.has_failed:
                    search.lenient = True
                    winners = search.run(depths)
                if winners:
                    return winners, [remark] * (search.tolerance > EXACT)
        return [], []

    def _precision(self) -> tuple[float, str]:
        """The tolerance for single precision, or for values that are rounded to decimals."""
        values = [value for at, value in self.search.answers.items()
                  if math.isfinite(value) and len(self.pool[at].queries) == 1]  # fmt: skip
        exact = [value for value in values if value * 64 != int(value * 64)]
        if len(exact) < 3:
            return 0.0, ""
        if all(float(np.float32(value)) == value for value in values):
            return 2e-6, "the values have single precision"
        for digits in range(4, 8):
            if all(abs(round(value, digits) - value) < 1e-12 for value in values):
                return 0.500001 * 10.0**-digits, f"the values are rounded to {digits} decimals"
        return 0.0, ""

    def _silent(self) -> str:
        """Why the answers say nothing about a definition; empty if they do."""
        numbers = [value for value in self.search.answers.values() if value != ERROR]
        if not numbers:
            style = STYLES.get(self.calling)
            return "no call returned a number" + (f"; {self.calling} are called {style.signature}" if style else "")
        if len(numbers) < _ANSWERED:
            return f"{len(numbers)} of {len(self.search.answers)} calls returned a number"
        same = all(value == numbers[0] or value != value != numbers[0] for value in numbers)
        return f"each call returned {shown(numbers[0])}" if same else ""

    # -- differences -----------------------------------------------------------------------------------------

    def differences(self, winner: Candidate, reference: Candidate) -> Iterator[Finding]:
        """Each choice of the winner that differs from the reference and matters, with its smallest example."""
        metric = self.metric.name
        for name in differences(winner.plan, reference.plan):
            if name in unread(winner.plan) and name in unread(reference.plan):
                continue
            value, other = choice_of(winner.plan, name), choice_of(reference.plan, name)
            if other == "error" and value != _ACCEPTED.get(name, value):
                other = _ACCEPTED[name]
            own = next((each for each in winner.changes if name in each.choices), None)
            try:
                plan = changed(winner.plan, {name: other})
            except ValueError:
                continue
            without = replace(winner, plan=plan, changes=tuple(each for each in winner.changes if each is not own))
            trap = trap_of(metric, {name: value})
            if own and not own.extends and (len(own.choices) > 1 or own.name.partition("=")[0] != name):
                finding = Finding(str(own), "defect", choice=name)  # a change of several choices, or a defect
            else:
                choice, kind = f"{name}={value!r}", "defect" if trap else "difference"
                label = trap or words_of(self.metric, name, value)
                detail = f"{f'{choice}, ' * (label != choice)}{reference.convention}: {other!r}"
                finding = Finding(label, kind, detail=detail, choice=name)
            yield from self._example(winner, without, reference, finding)
        for change in winner.changes:
            if change.choices and change.side == "both":
                continue
            without = replace(winner, changes=tuple(each for each in winner.changes if each is not change))
            trap = trap_of(metric, change.choices)
            finding = Finding(f"{trap}: {change}" if trap else str(change), "defect", choice=change.name)
            yield from self._example(winner, without, reference, finding)

    def _example(
        self, winner: Candidate, without: Candidate, reference: Candidate, finding: Finding
    ) -> Iterator[Finding]:
        """The difference with the smallest question that shows it; nothing if no question does."""
        one, other = self.search.row(winner), self.search.row(without)
        places = np.flatnonzero(unlike(one, other))
        if not len(places):
            return

        finite = [at for at in places if np.isfinite([one[at], other[at]]).all() and abs(one[at] - other[at]) > _LARGE]

        def differs(question: Question) -> bool:
            first, second = self.values([winner, without], question)
            if finite:
                return math.isfinite(first) and math.isfinite(second) and abs(first - second) > _LARGE
            return bool(question.items and unlike(np.array([first]), np.array([second]))[0])

        question = shrink(self._simplest(finite or places), differs, self.fit, 120)
        if finding.detail:
            detail = f"{finding.detail}, {shown(self.values([without], question)[0])} with that"
            finding = replace(finding, detail=detail)
        yield self._with_example(finding, question, {_short(winner): winner, reference.convention: reference})

    def _with_example(self, finding: Finding, question: Question, others: Mapping[str, Candidate]) -> Finding:
        values = self._leading(question, others)
        return replace(finding, question=question, value=self.caller(question), values=values)

    def _simplest(self, places: Iterable[Any]) -> Question:
        """The smallest of some questions of the pool."""
        return min((self.pool[at] for at in places), key=lambda question: question.size)

    def _leading(self, question: Question, others: Mapping[str, Candidate]) -> dict[str, float]:
        """Values of definitions by name."""
        return dict(zip(others, self.values(list(others.values()), question), strict=True))

    def values(self, candidates: Sequence[Candidate], question: Question) -> list[float]:
        """Values of one question."""
        questionnaire = self.questionnaire.of([question])
        return [float(questionnaire.values(each)[0]) for each in candidates]

    def fit(self, question: Question) -> Question:
        """The question as it can be asked."""
        k = question.k if question.k in self.caller.cutoffs else self.metric.k
        return self.caller.form.fit(question._replace(k=k))

    # -- the report ------------------------------------------------------------------------------------------

    def report(self) -> AuditReport:
        """Identify, compare and check."""
        reference = self.candidates[self.reference]
        for _ in range(_ROUNDS):
            winners, remarks = self.identify()
            questions = len(self.search.answers)
            if not winners:
                break
            different = list(self.differences(self._best(winners), reference))
            wrong = [each.question for each in different if each.question is not None and self._refutes(each)]
            if not wrong:
                break
            self._add(wrong)
        search = self.search
        best = self._best(winners) if winners else self._nearest()
        plain = best if best.convention == self.expect and best.is_extension else None
        if best.is_extension:
            same = [each.convention for each in winners if each.is_extension and each.convention != best.convention]
        else:
            same = [str(each) for each in winners if each is not best and len(each.changes) == len(best.changes)]
        places = list(search.answers)
        agreement = 1.0 if winners else float(search.agreement(search.row(best)[places], places).mean())
        if not winners:
            different = [] if self._silent() else [self._unexplained(best), *self.differences(best, reference)]
        probe = Probe(self.caller, self.metric.declaration)
        others = self._others(best)
        broken = [self._violation(each, others) for each in violations(probe, self._checked(), self.fit)]
        broken += [*self._modified(), *self._unstable()]
        broken += [Finding(name, "defect", *example) for name, example in defects_of_ids(probe)]
        defects = [each for each in different if each.kind == "defect"]
        if self.expect is not None and plain is not None:
            broken = [replace(each, is_expected=each.is_expected or self._expected(each)) for each in broken]
        return AuditReport(
            metric=str(self.metric), calling=self.calling, expect=self.expect or "", reference=self.reference,
            convention=best.convention if winners and best.is_extension else None,
            equivalent=tuple(dict.fromkeys(same)), nearest=str(best), changes=tuple(map(str, best.changes)),
            agreement=agreement, disagreement=self._disagreement(winners, reference),
            differences=tuple(different), findings=(*defects, *broken),
            undetermined=self._undetermined(best) if winners else {}, notes=tuple(remarks),
            questions=questions, calls=self.caller.calls, definition=self._definition(best),
        )  # fmt: skip

    def _best(self, winners: Sequence[Candidate]) -> Candidate:
        """The expected convention if it is among them, else the first."""
        return next((each for each in winners if each.convention == self.expect and each.is_extension), winners[0])

    def _refutes(self, finding: Finding) -> bool:
        """Whether the function's value of an example is not that of the definition."""
        value = next(iter(finding.values.values()), ANY)
        return finding.value != ERROR and not self._alike(finding.value, value)

    def _add(self, questions: Sequence[Question]) -> None:
        """More questions, as none of the pool refuted a definition."""
        self.pool = [*self.pool, *questions]
        self.questionnaire = self.questionnaire.of(self.pool)
        self.search = self._new_search(self.search.answers)
        for at in range(len(self.pool) - len(questions), len(self.pool)):
            self.search.answer(at)

    def _checked(self) -> list[Question]:
        """The questions by which properties are checked."""
        places = [*self.search.answers, *self.search.spread()]
        return [self.pool[at] for at in places[: _CHECKED if self.caller.is_fast else _CHECKED // 3]]

    def _nearest(self) -> Candidate:
        ranked = self.search.ranked([*self.search.presets, *(each for _, each in self.search.tops)])
        return ranked[0][1]

    def _definition(self, best: Candidate) -> str:
        convention = find_convention(best.convention)
        choices = {f"{self.metric.name}_{name}" if name in best.plan.arguments else name: value
                   for change in best.changes if change.side == "both" for name, value in change.choices.items()
                   if name != "discount" or value != "log2(rank+2)"}  # fmt: skip
        try:
            return definition_of(best.plan, convention.with_choices(**choices)).cite
        except (ValueError, KeyError, TypeError):
            return ""

    def _unexplained(self, best: Candidate) -> Finding:
        """The smallest question on which the function differs from the nearest definition."""
        search = self.search

        def differs(question: Question) -> bool:
            answer, value = self.caller(question), self.values([best], question)[0]
            return not self._alike(answer, value)

        row = search.row(best)
        wrong = [at for at, answer in search.answers.items() if not self._alike(answer, row[at])]
        numbers = [at for at in wrong if search.answers[at] != ERROR] or wrong
        if not numbers:
            return Finding("no convention has these values", "defect")
        question = shrink(self._simplest(numbers), differs, self.fit)
        return self._with_example(Finding("no definition has these values", "defect"), question, self._others(best))

    def _others(self, best: Candidate) -> dict[str, Candidate]:
        """The leading definitions by name."""
        names = dict.fromkeys((self.reference, best.convention, *list(self.candidates)[:2]))
        return {_short(best): best, **{name: self.candidates[name] for name in names}}

    def _alike(self, answer: float, value: float) -> bool:
        """Whether the function's answer is a definition's value."""
        alike = agrees(answer, np.array(value), max(self.search.tolerance, EXACT))
        return bool(alike) or (self.search.lenient and answer == ERROR)

    def _violation(self, violation: Violation, others: Mapping[str, Candidate]) -> Finding:
        """A broken property; expected if the definition has the same values there."""
        first, *second = violation.values
        values = self._leading(violation.question, others)
        alike = all(self._alike(first, value) for value in values.values())
        return Finding(
            violation.property.name, "property", violation.question, first, second[0] if second else None, values,
            detail=violation.error, is_expected=violation.property.kind == "value" and not violation.error and alike,
        )  # fmt: skip

    def _expected(self, finding: Finding) -> bool:
        """Whether the expected convention breaks the property in the same way."""
        if finding.question is None or (finding.other is None and finding.kind != "property"):
            return False
        value = finding.values.get(self.reference, math.nan)
        return finding.name not in _NEVER_EXPECTED and self._alike(finding.value, value)

    def _modified(self) -> Iterator[Finding]:
        if (question := self.caller.modified) is not None:

            def modifies(smaller: Question) -> bool:
                self.caller.modified = None
                self.caller(smaller)
                return self.caller.modified is not None

            question = shrink(question, modifies, self.fit)
            yield Finding("the input is modified", "property", question, self.caller(question))

    def _unstable(self) -> Iterator[Finding]:
        """Questions asked again, whose value is another one now."""
        search = self.search
        again = sorted(search.answers, key=lambda at: self.pool[at].size)[:30]
        for at in again:
            value = self.caller(self.pool[at])
            if not self._alike(value, search.answers[at]) and ERROR not in (value, search.answers[at]):
                yield Finding("depends on earlier calls", "property", self.pool[at], search.answers[at], value)
                return

    def _disagreement(self, winners: Sequence[Candidate], reference: Candidate) -> float:
        """Share of questions on which the function, or the definition that it follows, differs from the reference."""
        row = self.search.row(reference)
        if winners:
            return float(unlike(self.search.row(winners[0]), row).mean())
        answers = list(self.search.answers.items())
        return float(np.mean([not self._alike(answer, float(row[at])) for at, answer in answers])) if answers else 0.0

    def _undetermined(self, best: Candidate) -> dict[str, tuple[str, ...]]:
        """Choices that no question of this calling style depends on, by the reason."""
        out: dict[str, list[str]] = {}
        options = choices_of(self.metric, self.plans, self.caller.form)
        for name in (*CHOICES, *self.metric.declaration.defaults):
            if name in unread(best.plan) or name == "default_k" or name in dict(self.metric.params):
                continue
            if name not in options and name in NEEDS:
                out.setdefault(NEEDS[name][1], []).append(name)
                continue
            others = [other for value in options.get(name, ())
                      if (other := best.with_change(Change(name, choices={name: value}))) is not None]  # fmt: skip
            row = self.search.row(best)
            if others and not any(unlike(row, self.search.row(other)).any() for other in others):
                out.setdefault("no question depends on it", []).append(name)
        return {reason: tuple(names) for reason, names in out.items()}


_ACCEPTED = {"duplicates": "once", "truth_duplicates": "first"}  # compared with where the reference refuses the data
_NEVER_EXPECTED = frozenset(
    ("the input is modified", "not deterministic", "depends on earlier calls",
     "depends on names of queries or items, or on earlier calls", "takes too long")
)  # fmt: skip


def _short(candidate: Candidate) -> str:
    return candidate.convention if candidate.is_extension else "definition"
