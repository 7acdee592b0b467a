"""Do a truth and a run belong together: queries that one of them lacks, and items that nobody judged."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment
from rankstone.align.subtopics import NO_SUBTOPICS
from rankstone.conventions.plan import Plan
from rankstone.data.source import Align, Aligned, Source
from rankstone.errors import SOME, DataError, UnmatchedWarning, some
from rankstone.metrics.registry import by_relevant
from rankstone.program.flat import NO_WEIGHTS

_COMPARED = 100_000  # ids of each side, where none matches


class Queries(NamedTuple):
    """How many queries were judged, and how many only one side has; and the first of those."""

    judged: int
    missing: int
    extra: int
    some_missing: Sequence[Any]
    some_extra: Sequence[Any]

    def refuse(self, plan: Plan) -> None:
        """Stop where the convention calls a missing or an extra query an error."""
        if plan.choices["missing"] == "error" and self.missing:
            hint = "missing='zero' counts them as empty lists, missing='skip' leaves them out"
            raise ValueError(f"the run lacks {self.missing} judged queries: {some(self.some_missing)}; {hint}")
        if plan.choices["extra"] == "error" and self.extra:
            raise ValueError(f"the truth lacks {self.extra} queries of the run: {some(self.some_extra)}")

    def refuse_strangers(self) -> None:
        """Stop where the truth and the run have no query in common."""
        if self.judged and self.missing == self.judged and self.extra:
            judged, returned = self.some_missing, self.some_extra
            raise DataError(
                f"the truth and the run have no query in common: the truth's are {some(judged, 2)}, the run's "
                f"{some(returned, 2)}{_alike(judged, returned)}",
                "id",
            )


def refuse(plan: Plan, aligned: Aligned) -> None:
    """Stop where the convention calls a missing, an empty or an extra query an error, or asks for grades in vain."""
    ranked = aligned.ranked
    refuse_ungraded(plan, aligned.graded)
    _refuse_without_notes(plan, ranked)
    if "error" in (plan.choices["missing"], plan.choices["extra"]):
        queries_of(plan, aligned).refuse(plan)
    shown = ranked.condensed() if plan.choices["known"] == "judged" else ranked
    if plan.choices["empty_list"] == "error" and (ranked.present & (shown.retrieved == 0)).any():
        empty = [aligned.queries[int(at)] for at in np.flatnonzero(ranked.present & (shown.retrieved == 0))]
        raise ValueError(f"the run has an empty list for {len(empty)} queries: {some(empty)}")


def _refuse_without_notes(plan: Plan, ranked: Alignment) -> None:
    """Stop where the truth does not say what the metric asks it for besides grades."""
    if not plan.notes or not len(ranked.truth_grades):
        return
    if "subtopic" in plan.notes and (ranked.notes is None or ranked.notes.subtopics is None):
        raise ValueError(f"{plan.label}: {NO_SUBTOPICS}")
    if "weight" in plan.notes and (ranked.notes is None or ranked.notes.weight is None):
        raise ValueError(f"{plan.label}: {NO_WEIGHTS}")


def refuse_ungraded(plan: Plan, graded: bool) -> None:
    """Stop where the truth has no grades, and the threshold would leave none of its items."""
    declaration, rule = plan.metric.declaration, plan.relevance
    reads_relevance = declaration.two_sided or declaration.earns is by_relevant
    excluded = rule.threshold >= 1 if rule.strict else rule.threshold > 1
    if reads_relevance and not graded and excluded and rule.credit == "whole":
        raise ValueError(
            f"{plan.label}: the truth has no grades, only relevant items, and threshold={plan.choices['threshold']!r} "
            "would leave none of them; give grades, or threshold=1"
        )


def refuse_strangers(plan: Plan, aligned: Aligned) -> None:
    """Stop where the truth and the run have no query in common."""
    if aligned.extra_count and not aligned.ranked.present[: _judged(plan, aligned)].any():
        queries_of(plan, aligned).refuse_strangers()


def queries_of(plan: Plan, aligned: Aligned) -> Queries:
    """Which queries only one side has."""
    judged = _judged(plan, aligned)
    missing = np.flatnonzero(~aligned.ranked.present[:judged])
    first = [aligned.queries[int(at)] for at in missing[: SOME + 1]]
    return Queries(judged, len(missing), aligned.extra_count, first, list(aligned.extra[: SOME + 1]))


def _judged(plan: Plan, aligned: Aligned) -> int:
    """How many queries are the truth's; those of the run that nobody judged may stand behind them."""
    return len(aligned.ranked) - (aligned.extra_count if plan.choices["extra"] == "zero" else 0)


def warn_unjudged(source: Source, how: Align, aligned: Aligned) -> None:
    """Say so where no returned item is judged, which can be true; stop where the ids are nearly the same."""
    if not _nothing_judged(aligned.ranked) or (ids := source.ids()) is None:  # ids take time, and are seldom needed
        return
    if not how.zeros and not (source.repeatable and _nothing_judged(source.align(replace(how, zeros=True)).ranked)):
        return  # what is judged 0 had been left out
    judged, returned = ([*islice(side, _COMPARED)] for side in ids)
    examples = f"the truth's items are {some(judged, 2)}, the run's {some(returned, 2)}" if judged and returned else ""
    alike = _alike(judged, returned)
    if alike:
        raise DataError(f"no returned item is judged: {examples}{alike}", "id")
    aligned.remarks += ("no returned item is judged",)
    warnings.warn(f"no returned item is judged{': ' * bool(examples)}{examples}", UnmatchedWarning, stacklevel=4)


def _nothing_judged(ranked: Alignment) -> bool:
    """Are there lists with judged items, and none of these in them."""
    return len(ranked.grade) == 0 and bool(((ranked.retrieved > 0) & (np.diff(ranked.truth_offsets) > 0)).any())


def _alike(judged: Iterable[Any], returned: Iterable[Any]) -> str:
    """What to say of ids that differ, but only in case, type, padding or white space; nothing if there are none."""
    known = set(judged)
    folded = {_folded(name): name for name in known}
    for name in returned:
        if name in known:
            return ""
    for name in returned:
        other = folded.get(_folded(name))
        if other is not None:
            return f"; {other!r} and {name!r} are not the same id: write them alike"
    return ""


def _folded(name: object) -> str:
    """An id without case, type, white space and leading zeros."""
    text = re.sub(r"\.0$", "", str(name).strip().casefold())
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", text)
