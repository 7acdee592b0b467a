"""The adaptive search: the next question is the one that splits the remaining candidates best."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankstone.align.alignment import Bools, Floats
from rankstone.audit.candidates import ANY, ERROR, Candidate, Change, Questionnaire
from rankstone.audit.questions import Question

EXACT = 1e-9  # tolerance
LOOSE = -1  # the depth of definitions with any value on some questions
_SCORED = 60  # candidates by which questions are chosen
_BATTERY = 40  # questions of all kinds before definitions with two changes are tried
_BEAM = 8  # definitions that are changed further
_CONFIRMED = 40  # questions that confirm an answer
_MOST = 400  # questions before the search ends


def agrees(answers: Floats | float, values: Floats, tolerance: float) -> Bools:
    """Which values agree with their answers, or with one; a value that is not determined agrees with all."""
    with np.errstate(invalid="ignore"):
        close = np.abs(values - answers) <= tolerance * np.maximum(1.0, np.abs(values))
    alike = (values == answers) | (close & np.isfinite(values)) | (np.isnan(values) & np.isnan(answers))
    return np.asarray(alike | (values == ANY))


@dataclass
class Search:
    """The answers so far, and which candidates agree with them.

    ask: the function's value of a question of the pool.
    """

    pool: Sequence[Question]
    questionnaire: Questionnaire
    changes: Sequence[Change]
    ask: Callable[[Question], float]
    presets: Sequence[Candidate]
    loose: Sequence[Candidate] = ()  # presets with any value on some questions
    tolerance: float = EXACT
    lenient: bool = False  # where the function fails, any value agrees
    answers: dict[int, float] = field(default_factory=dict)  # by place in the pool
    rng: random.Random = field(default_factory=lambda: random.Random(28))
    tops: list[tuple[int, Candidate]] = field(default_factory=list)  # the best of the last step, with their agreement
    useful: dict[Change, None] = field(default_factory=dict)  # changes that help a preset
    improves: bool = True  # the last change
    _rows: dict[Candidate, Floats] = field(default_factory=dict)
    _small: tuple[list[int], Questionnaire, dict[Candidate, Floats]] | None = None  # the values of some questions

    def row(self, candidate: Candidate) -> Floats:
        """The candidate's values of the pool."""
        if candidate not in self._rows:
            self._rows[candidate] = self.questionnaire.values(candidate)
        return self._rows[candidate]

    def answer(self, at: int) -> None:
        """Ask a question of the pool."""
        if at not in self.answers:
            self.answers[at] = self.ask(self.pool[at])

    @property
    def has_failed(self) -> bool:
        """Whether the function has failed on a question."""
        return ERROR in self.answers.values()

    def agreement(self, values: Floats, places: Sequence[int]) -> Bools:
        """Which of the asked questions (values: of `places`) a candidate agrees with."""
        free = values == ANY
        if free.sum() > 10 and free.mean() > 0.5:  # it says too little
            return np.zeros(len(values), dtype=bool)
        answers = np.array([self.answers[at] for at in places])
        alike = agrees(answers, values, self.tolerance)
        return alike | (answers == ERROR) if self.lenient else alike

    def consistent(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that agree with every answer."""
        places = list(self.answers)
        return [each for each in candidates if self.agreement(self.small(each, places), places).all()]

    def run(self, depths: Sequence[int]) -> list[Candidate]:
        """The candidates that agree with every answer, those of one class; empty if there are none.

        depths: numbers of changes that are tried.
        """
        for depth in depths:
            if depth > 0 and len(self.answers) < _MOST:
                self.battery()
            if depth > 3 and not self.improves:
                return []
            presets = self.loose if depth == LOOSE else self.presets
            remaining = self.narrow(presets if depth <= 0 else self.deeper(depth))
            while remaining:
                confirmed = self.confirm(remaining)
                if confirmed and (depth > 0 or confirmed[0] in presets):  # else a change of what is refuted is left
                    return confirmed
                remaining = self.consistent(presets)
        return []

    def confirm(self, remaining: Sequence[Candidate]) -> list[Candidate]:
        """The class, after questions that separate its first from its neighbours, and questions of all kinds."""
        for count in (_CONFIRMED, _CONFIRMED // 2, _CONFIRMED // 4, 0):
            winner = remaining[0]
            remaining = self.narrow([*remaining, *self.consistent(self.neighbours(winner, self.changes))])
            for at in self.spread()[: count if remaining else 0]:
                self.answer(at)
            remaining = self.consistent(remaining)
            if not remaining or remaining[0] is winner:
                break
        # Where the function fails on every question that separates two, they cannot be separated.
        return [each for each in remaining if self.lenient or self.same(each, remaining[0])]

    def same(self, first: Candidate, second: Candidate) -> bool:
        """Whether two candidates have the same values in the whole pool."""
        one, other = self.row(first), self.row(second)
        return bool(((one == other) | (np.isnan(one) & np.isnan(other)) | (np.abs(one - other) < 1e-12)).all())

    def narrow(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Ask until those left are of one class; the earlier ones weigh more."""
        remaining = self.consistent(candidates)
        while len(remaining) > 1 and len(self.answers) < _MOST:
            at = self.best_question(remaining)
            if at is None:
                break
            self.answer(at)
            if not (self.lenient and self.answers[at] == ERROR):
                values = np.array([self.row(each)[at] for each in remaining])
                alike = agrees(self.answers[at], values, self.tolerance)
                remaining = [each for each, same in zip(remaining, alike, strict=True) if same]
        return remaining

    def best_question(self, candidates: Sequence[Candidate]) -> int | None:
        """The question with the highest entropy of the candidates' values; None if no question splits them."""
        most = candidates if len(candidates) <= _SCORED else [
            *candidates[: _SCORED // 2], *self.rng.sample(candidates[_SCORED // 2 :], _SCORED // 2)
        ]  # fmt: skip
        weights = np.array([(0.25 if each.changes else 1.0) / (1 + at) ** 0.5 for at, each in enumerate(most)])
        weights /= weights.sum()
        matrix = np.array([self.row(each) for each in most])
        matrix = np.where((matrix == ANY) | (matrix[0] == ANY), matrix[0], matrix)  # which splits nothing
        matrix = np.round(np.nan_to_num(matrix, nan=-7e5, posinf=7e5, neginf=-8e5), int(-np.log10(2 * self.tolerance)))
        is_split = (matrix != matrix[0]).any(axis=0)
        splits = [at for at in np.flatnonzero(is_split).tolist() if at not in self.answers]
        best, highest = None, 0.0
        for at in splits if len(splits) <= 300 else self.rng.sample(splits, 300):
            _, classes = np.unique(matrix[:, at], return_inverse=True)
            shares = np.bincount(classes, weights)
            entropy = -float((shares * np.log(np.maximum(shares, 1e-300))).sum())
            entropy -= 0.01 * self.pool[at].items / 20  # of equal ones the smaller
            if entropy > highest:
                best, highest = at, entropy
        return best

    def spread(self) -> list[int]:
        """Questions of all kinds in a fixed random order: those that have not been asked."""
        order = list(range(len(self.pool)))
        random.Random(1).shuffle(order)
        return [at for at in order if at not in self.answers]

    def battery(self) -> None:
        """Ask questions of all kinds, so that agreement means something."""
        for at in self.spread()[: max(_BATTERY - len(self.answers), 0)]:
            self.answer(at)

    def ranked(self, candidates: Iterable[Candidate]) -> list[tuple[int, Candidate]]:
        """The candidates by how many answers they agree with, most first; one per set of agreements."""
        places = list(self.answers)
        out: dict[bytes, tuple[int, int, int, Candidate]] = {}
        for order, each in enumerate(candidates):
            alike = self.agreement(self.small(each, places), places)
            out.setdefault(alike.tobytes(), (-int(alike.sum()), len(each.changes), order, each))
        return [(-count, each) for count, _, _, each in sorted(out.values(), key=lambda row: row[:3])]

    def small(self, candidate: Candidate, places: Sequence[int]) -> Floats:
        """The candidate's values of some questions."""
        if candidate in self._rows:
            return self._rows[candidate][places]
        if self._small is None or self._small[0] != list(places):
            self._small = (list(places), self.questionnaire.of([self.pool[at] for at in places]), {})
        _, questionnaire, rows = self._small
        if candidate not in rows:
            rows[candidate] = questionnaire.values(candidate)
        return rows[candidate]

    def neighbours(self, base: Candidate, changes: Iterable[Change]) -> list[Candidate]:
        """The base with each change."""
        each = map(base.with_change, changes)
        return [candidate for candidate in each if candidate is not None]

    def improved(self, base: Candidate, changes: Iterable[Change]) -> list[Candidate]:
        """The base with each change that helps: it agrees with an answer that the base does not agree with."""
        places = list(self.answers)
        alike = self.agreement(self.small(base, places), places)
        wrong = [at for at, agrees in zip(places, alike, strict=True) if not agrees]
        of_wrong = self.questionnaire.of([self.pool[at] for at in wrong])
        near = self.neighbours(base, changes)
        return [each for each in near if self.agreement(of_wrong.values(each), wrong).any()]

    def deeper(self, depth: int) -> list[Candidate]:
        """Definitions with one more change than the best of the last step that agree with every answer.

        The changes are those that helped at depth 1; if none does now, all.
        """
        self.tops = self.ranked(self.presets if depth == 1 else [each for _, each in self.tops])
        places, (before, _) = list(self.answers), self.tops[0]
        bases = [each for _, each in self.tops[: _BEAM * (2 if depth == 1 else 1)]]
        for changes in (list(self.useful), self.changes) if depth > 1 else (self.changes,):
            near = [each for base in bases for each in self.improved(base, changes)]
            tops = self.ranked([*bases, *near])
            self.improves = tops[0][0] > before
            if self.improves:
                break
        self.tops = tops
        if depth == 1:
            self.useful = dict.fromkeys(each.changes[-1] for each in near)
        alive = [each for each in near if self.agreement(self.small(each, places), places).all()]
        order = {each.convention: at for at, each in reversed([*enumerate(self.presets)])}
        return sorted(alive, key=lambda each: (
            bool((self.small(each, places) == ANY).any()), len(each.changes), order[each.convention]
        ))  # fmt: skip
