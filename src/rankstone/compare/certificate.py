"""`Certificate`: how many labels must be wrong before a difference changes its verdict or its sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from rankstone.align.alignment import Alignment, Bools, Floats, Ints, Relevance
from rankstone.compare.label_changes import Extremes, LabelledPair, least_changes, spend
from rankstone.data.arrow import concatenated, encoded, plain_ids, take
from rankstone.data.columns import ColumnPair, Columns, columns, grades_of
from rankstone.data.files import all_same_ids
from rankstone.data.tables import as_columns
from rankstone.errors import Advice, Hint, InputError
from rankstone.results.answer import Answer, Readable, plain, table_of

if TYPE_CHECKING:
    from rankstone.compare.differences import Difference
    from rankstone.conventions.plan import Plan

_SLACK = 1e-9  # of a sum of differences: rounding
_SCALES = (0.7, 0.85, 0.95, 1.0, 1.05, 1.15, 1.3)  # of the spread, at which the bound for a verdict is computed


class LabelChange(NamedTuple):
    """A changed label.

    Attributes
    ----------
    query, item : object
        The item, and its query.
    grade : float or None
        Its grade; None: unjudged.
    to : float
        The other grade.
    change : float
        What it does to the difference of the means, by itself.
    """

    query: Any
    item: Any
    grade: float | None
    to: float
    change: float


@dataclass(frozen=True)
class Turn:
    """The least number of changed labels that turns a verdict or a sign.

    Attributes
    ----------
    at_least : int or None
        Fewer changes never turn it; None: no number of changes does.
    at_most : int or None
        These changes turn it; None: none were found.
    changes : tuple of LabelChange
        Changes that turn it, the most effective first: the labels to check.
    of : int
        Number of labels that could change.
    """

    at_least: int | None
    at_most: int | None
    changes: tuple[LabelChange, ...]
    of: int

    @property
    def exact(self) -> bool:
        """Whether the two numbers are the same."""
        return self.at_least == self.at_most

    def said(self, what: str) -> str:
        """In a clause."""
        if self.at_least is None:
            return f"no change of the {self.of:,} {what} turns it"
        if self.exact or self.at_most is None:
            return f"at least {self.at_least:,} of {self.of:,} {what}"
        return f"at least {self.at_least:,} ({self.at_most:,} are enough) of {self.of:,} {what}"


class Certificate(Readable):
    """How many labels must be wrong before a difference changes its verdict, or its sign.

    Printed, it is a sentence and the labels to check first.

    Attributes
    ----------
    verdict : str
        The verdict of the difference.
    judged : dict of str to Turn
        By what turns ("verdict", "sign"): changes of judged items.
    unjudged : dict of str to Turn
        The same of unjudged items that become relevant.
    change : str
        What a change of a judged item is: "step" or "flip".
    """

    def __init__(self, of: Difference, change: str, judged: Mapping[str, Turn], unjudged: Mapping[str, Turn]) -> None:
        self._of, self.change, self.verdict = of, change, of.verdict
        self.judged, self.unjudged = dict(judged), dict(unjudged)

    @property
    def sentence(self) -> str:
        """The certificate in a sentence."""
        turn, judged = next(iter(self.judged.items()))
        unjudged = self.unjudged[turn]
        what = {"verdict": f"the verdict ({self.verdict})", "sign": "the sign"}[turn]
        parts = [judged.said("judgements") + " are wrong" * (judged.at_least is not None)]
        if unjudged.of:
            parts.append(unjudged.said("unjudged items") + " are relevant" * (unjudged.at_least is not None))
        return f"{what} holds unless {', or '.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        of = self._of
        names = {"baseline": of.baseline, "run": of.run, "metric": of.metric, "verdict": of.verdict}
        turns = {side: {name: {**plain(turn), "exact": turn.exact} for name, turn in getattr(self, side).items()}
                 for side in ("judged", "unjudged")}  # fmt: skip
        return {**names, "change": self.change, **turns}

    def _columns(self) -> dict[str, list[Any]]:
        labels = next(iter(self.judged.values())).changes
        return {name: [getattr(row, name) for row in labels] for name in LabelChange._fields}

    def _answer(self) -> Answer:
        columns = {name: column[:20] for name, column in self._columns().items()}
        for name in ("grade", "to"):
            columns[name] = [f"{grade:g}" for grade in columns[name]]
        step = {"step": "a grade is off by one step", "flip": "relevant or not is the other way round"}[self.change]
        notes = [f"a judgement is wrong where {step}; labels to check first"]
        for side, what in (("judged", "judgements"), ("unjudged", "unjudged items")):
            notes += [f"{name}: {turn.said(what)}{'' if turn.exact else ', a bound'}"
                      for name, turn in getattr(self, side).items() if turn.of]  # fmt: skip
        of = self._of
        return Answer(
            table_of(columns), title=f"{of.run} vs. {of.baseline} on {of.metric}: {self.sentence}", notes=notes
        )


# -- the labels ------------------------------------------------------------------------------------------------------


def _reaches(rule: Relevance, grade: float) -> bool:
    """Whether a grade is relevant."""
    return bool(np.all(rule.reached(np.array([grade]))))


def _worth(weight: float, values: Floats) -> Floats:
    """The values less their squares."""
    return np.asarray(values - weight * values**2)


CHANGES = ("step", "flip")


class AllLabels(NamedTuple):
    """A pair of runs with the labels of all items, and their ids."""

    pair: LabelledPair
    queries: Sequence[Any]
    items: Any
    relevant: float


def labels_of(of: Difference, change: str) -> AllLabels:
    """The labels that a difference depends on."""
    data = of._experiment
    plan = data.paired.first._measurement.plan(of.metric)
    machine = Hint("machine", ...)
    if data.machine is not None:
        raise InputError(Advice("a certificate is about human labels of all queries, and does not go with ", machine))
    if data.origin is None:
        raise InputError("a certificate needs the truth and the runs, not saved results: rs.compare(truth, runs, ...)")
    if not plan.arguments.get("max_grade", 1):
        raise InputError(f"{of.metric} reads the highest grade of all queries; set max_grade= for a certificate")
    if plan.metric.declaration.kind != "ranking" or plan.metric.declaration.reads != "ranking":
        raise InputError(f"{of.metric} is no metric of ranked lists with grades, so there is no certificate")
    plain_mean = plan.averaging.plain and not plan.is_pooled and not data.paired.unpaired
    if not plain_mean or not data.samples[of.metric].mask.all() or plan.choices["unjudged"] != "nonrelevant":
        raise InputError(
            f"{of.metric}: a certificate is for plain means over queries where unjudged items are not relevant"
        )
    truth, *runs = data.origin.sides_of((of.baseline, of.run))
    rows = as_columns(truth, "truth")
    return with_all_labels(plan, rows, [as_columns(run, "run") for run in runs], change)


def with_all_labels(
    plan: Plan, truth: Columns, runs: Sequence[Columns], change: str, every_query: bool = False
) -> AllLabels:
    """Two runs with the labels of a truth and those that it lacks; every_query: of queries without any label, too."""
    if truth.subtopic is not None or truth.weight is not None:
        raise InputError("labels can be changed in truths without subtopics and weights")
    aligned, items, unjudged, queries = _aligned(plan, truth, runs, every_query)
    rule, top = plan.relevance, max(float(aligned[0].truth_grades.max(initial=1.0)), 1.0)
    relevant = float(next((grade for grade in np.arange(1.0, top + 1) if _reaches(rule, float(grade))), top))
    targets: dict[str, Callable[[float], list[float]]] = {
        "step": lambda grade: [to for to in (grade - 1, grade + 1) if 0 <= to <= top],
        "flip": lambda grade: [0.0 if _reaches(rule, grade) else relevant],
    }
    pair = LabelledPair(plan, aligned[0], aligned[1], unjudged, targets[change])
    return AllLabels(pair, queries, items, relevant)


def _aligned(
    plan: Plan, truth: Columns, runs: Sequence[Columns], every_query: bool
) -> tuple[list[Alignment], Any, Bools, Sequence[Any]]:
    """Both runs aligned with the truth and all unjudged items that they return, which have grade 0."""
    if any(side.path for side in (truth, *runs)):  # ids of files are strings
        truth, *runs = all_same_ids(truth, runs)
    sides = [truth, *runs]
    queries, query = encoded(concatenated([side.query for side in sides]))
    items, item = encoded(concatenated([side.item for side in sides]))
    pairs = query * len(items) + item
    judged = pairs[: len(truth.query)]
    returned = np.unique(pairs[len(judged) :])
    has_query = every_query | np.isin(returned // len(items), query[: len(judged)])
    fresh = returned[has_query & ~np.isin(returned, judged)]
    every = np.concatenate((judged, fresh))
    order = np.argsort(every // len(items), kind="stable")
    every, grades = every[order], np.concatenate((grades_of(truth), np.zeros(len(fresh))))[order]
    extended = columns(query=take(queries, every // len(items)), item=take(items, every % len(items)), grade=grades)
    out = []
    for run in runs:
        aligned = ColumnPair(extended, run).align(plan.align.with_(True, 0))
        if not np.array_equal(aligned.ranked.truth_grades, grades):
            raise InputError(
                "the truth has an item twice, or grades that are no numbers, so its labels cannot be changed"
            )
        out.append(aligned)
    return [each.ranked for each in out], extended.item, order >= len(judged), list(out[0].queries)


# -- the least number of changes ---------------------------------------------------------------------------------------


def certificate_of(of: Difference, change: str) -> Certificate:
    """The certificate of a difference."""
    if change not in CHANGES:
        raise InputError(f"change={change!r}; choose from {', '.join(map(repr, CHANGES))}")
    labels = labels_of(of, change)
    pair = labels.pair
    values = np.asarray(of._values[1] - of._values[0])
    if not math.isclose(float(pair.base.sum()), float(values.sum()), abs_tol=1e-6):
        raise InputError(f"{of.metric} reads more than grades, such as which items are judged: there is no certificate")
    turns = ("verdict", "sign") if _is_student(of) else ("sign",)
    sides: dict[bool, dict[str, Turn]] = {}
    for unjudged in (False, True):
        ends = pair.extremes(unjudged, labels.relevant)
        if np.isnan(ends.low).any() or np.isnan(ends.high).any():
            raise InputError(f"{of.metric}: which queries count depends on the grades; choose undefined=0")
        problem = _Problem(of, labels, ends, unjudged, len(values))
        sides[unjudged] = {name: problem.turn(name) for name in turns}
    return Certificate(of, change, sides[False], sides[True])


def _is_student(of: Difference) -> bool:
    """Whether the verdict is that of Student's t of the differences: a decided one, without clusters."""
    data = of._experiment
    decided = of.verdict in ("better", "worse", "higher", "lower")
    simple = data.rules.paired_test.is_student and data.paired.clusters is None and data.rules.population is None
    return decided and simple and data.rules.adjustment.p is None


@dataclass(frozen=True, eq=False)
class _Problem:
    """The differences of all queries, turned so that their sum is positive, and what changes make of them."""

    of: Difference
    labels: AllLabels
    ends: Extremes
    unjudged: bool
    queries: int  # of the comparison; those without a judged item have no difference to change

    def turn(self, name: str) -> Turn:
        """The least number of changes."""
        labels = int((self.labels.pair.unjudged == self.unjudged).sum())
        if abs(self.labels.pair.base.sum()) <= _SLACK:
            return Turn(0, 0, (), labels)
        return {"sign": self._sign, "verdict": self._verdict}[name](labels)

    @property
    def _up(self) -> bool:
        return bool(self.labels.pair.base.sum() > 0)

    @cached_property
    def _oriented(self) -> tuple[Floats, Floats, Floats]:
        """The differences, their lowest and their highest values by number of changes, of a positive sum."""
        base, low, high = self.labels.pair.base, self.ends.low, self.ends.high
        return (base, low, high) if self._up else (-base, -high, -low)

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest values, with a column more for any larger number of changes: the metric's bounds."""
        _, low, high = self._oriented
        if self.ends.complete:
            return low, high
        if self.ends.bounds is not None:
            least, most = self.ends.bounds
            return (least, most) if self._up else (-most, -least)
        lowest, highest = self.labels.pair.plan.metric.declaration.bounds
        wide = highest - lowest
        return np.column_stack([low, np.full(len(low), -wide)]), np.column_stack([high, np.full(len(high), wide)])

    def _sign(self, labels: int) -> Turn:
        base, low, _ = self._oriented
        need = float(base.sum()) - _SLACK
        least = least_changes(base[:, None] - self._bounds[0], need)
        most = None if least is None else least_changes(base[:, None] - low, need)
        if most is None:
            return Turn(least, None, (), labels)
        chosen = spend(base[:, None] - low, most).by_query(most)
        return Turn(least, most, self._changes(chosen, np.zeros(len(base), dtype=bool)), labels)

    def _verdict(self, labels: int) -> Turn:
        """The verdict holds while the sum is at least kappa times the root of the sum of squares."""
        base = self._oriented[0]
        rules, n = self.of._experiment.rules, self.queries
        share = self.of.p / self.of.adjusted if self.of._experiment.is_adjusted and self.of.adjusted else 1.0
        t = float(stdtrit(n - 1, 1 - rules.level * share / 2))
        kappa = t * math.sqrt(n / (n - 1 + t * t))
        least, best = 0, None
        for scale in _SCALES:
            root = math.sqrt(float((base**2).sum())) * scale
            # sum - kappa * root of squares is the highest of these over all roots, each of which adds up
            worth = partial(_worth, kappa / (2 * root))
            need = float(worth(base).sum()) - kappa * root / 2 + _SLACK
            if need <= 0:
                continue
            bound = np.maximum(*(worth(base)[:, None] - worth(end) for end in self._bounds))
            fewest = least_changes(np.maximum.accumulate(bound, axis=1), need)
            if fewest is None:
                return Turn(None, None, (), labels)
            least = max(least, fewest)
            best = self._enough(worth, kappa, fewest, best)
        if best is None:
            return Turn(least, None, (), labels)
        return Turn(min(least, best[0]), best[0], self._changes(best[1], best[2]), labels)

    def _enough(self, worth: Callable[[Floats], Floats], kappa: float, fewest: int, best: Any) -> Any:
        """The fewest changes whose values turn the verdict, near those that the bound names."""
        base, *ends = self._oriented
        gains = [worth(base)[:, None] - worth(end) for end in ends]
        most = 4 * fewest + 50 if best is None else best[0] - 1
        if most < fewest:
            return best
        spending, rows = spend(np.maximum.accumulate(np.maximum(*gains), axis=1), most), np.arange(len(base))

        def after(changes: int) -> tuple[int, Ints, Bools] | None:
            """The spending of so many changes, if it turns the verdict."""
            chosen = spending.by_query(changes)
            low, high = (end[rows, np.minimum(chosen, end.shape[1] - 1)] for end in ends)
            upward = worth(high) < worth(low)
            values = np.where(chosen == 0, base, np.where(upward, high, low))
            turns = float(values.sum()) < kappa * math.sqrt(float((values**2).sum())) - _SLACK
            return (changes, chosen, upward) if turns else None

        if (last := after(most)) is None:
            return best
        below = fewest - 1  # too few, or never tried
        while last[0] - below > 1:
            middle = after((below + last[0]) // 2)
            below, last = (below, middle) if middle else ((below + last[0]) // 2, last)
        return last

    def _changes(self, chosen: Ints, upward: Bools) -> tuple[LabelChange, ...]:
        """The labels of a spending, the most effective first."""
        pair, out = self.labels.pair, []
        for query in np.flatnonzero(chosen).tolist():
            high = bool(upward[query]) == self._up
            moves = self.ends.moves(query, int(min(chosen[query], self.ends.low.shape[1] - 1)), high)
            effects = pair.differences(np.full(len(moves), query), [[move] for move in moves]) - pair.base[query]
            items = plain_ids(self.labels.items, np.array([move.item for move in moves], dtype=np.int64))
            for move, item, effect in zip(moves, items, effects.tolist(), strict=True):
                grade = None if pair.unjudged[move.item] else float(pair.grades[move.item])
                out.append(LabelChange(self.labels.queries[query], item, grade, move.grade, effect / self.queries))
        return tuple(sorted(out, key=lambda row: row.change if self._up else -row.change))
