"""Checks that a truth and a run match: queries that only one of them has, and unjudged items."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.align.subtopics import NO_SUBTOPICS
from rankstone.conventions.plan import Plan
from rankstone.data.source import Aligned, AlignOptions, Source
from rankstone.errors import SOME, DataError, InputError, UnmatchedWarning, some
from rankstone.metrics.registry import by_relevant
from rankstone.program.flat import NO_WEIGHTS

_COMPARED = 100_000  # ids of each side, where none matches


class Queries(NamedTuple):
    """Number of judged queries, and of queries that only one side has, with examples."""

    judged: int
    missing: int
    extra: int
    some_missing: Sequence[Any]
    some_extra: Sequence[Any]

    def check(self, plan: Plan) -> None:
        """Raise where missing or extra queries are an error."""
        if plan.choices["missing"] == "error" and self.missing:
            hint = "missing='zero' counts them as empty lists, missing='skip' ignores them"
            raise InputError(f"the run lacks {self.missing} judged queries: {some(self.some_missing)}; {hint}")
        if plan.choices["extra"] == "error" and self.extra:
            raise InputError(f"the truth lacks {self.extra} queries of the run: {some(self.some_extra)}")

    def check_common_items(self) -> None:
        """Raise where the truth and the run have no query in common."""
        if self.judged and self.missing == self.judged and self.extra:
            judged, returned = self.some_missing, self.some_extra
            raise DataError(
                f"the truth and the run have no query in common: the truth's are {some(judged, 2)}, the run's "
                f"{some(returned, 2)}{_alike(judged, returned)}",
                "id",
            )


def check_data(plan: Plan, aligned: Aligned) -> None:
    """Raise where missing, empty or extra queries are an error, or where required grades are missing."""
    ranked = aligned.ranked
    require_grades(plan, aligned.graded)
    _require_annotations(plan, ranked)
    if "error" in (plan.choices["missing"], plan.choices["extra"]):
        queries_of(plan, aligned).check(plan)
    lists = ranked.condensed() if plan.choices["unjudged"] == "condensed" else ranked
    if plan.choices["empty_list"] == "error" and (ranked.present & (lists.retrieved == 0)).any():
        empty = [aligned.queries[int(at)] for at in np.flatnonzero(ranked.present & (lists.retrieved == 0))]
        raise InputError(f"the run has an empty list for {len(empty)} queries: {some(empty)}")


def _require_annotations(plan: Plan, ranked: Alignment) -> None:
    """Raise where the truth lacks the subtopics or weights that the metric needs."""
    if not plan.annotations or not len(ranked.truth_grades):
        return
    if "subtopic" in plan.annotations and (ranked.annotations is None or ranked.annotations.subtopics is None):
        raise InputError(f"{plan.label}: {NO_SUBTOPICS}")
    if "weight" in plan.annotations and (ranked.annotations is None or ranked.annotations.weight is None):
        raise InputError(f"{plan.label}: {NO_WEIGHTS}")


def scale_of(grades: Floats) -> int:
    """0 if all grades are 0, 1 if they are 0 and 1, 2 if there are others; that of several truths is the highest."""
    return 2 if not np.isin(grades, (0, 1)).all() else int(grades.max(initial=0))


def require_scale(plan: Plan, scale: int, chosen: Collection[str] = ()) -> None:
    """Raise where all grades are 0 or 1, and the convention's threshold, that of a rating scale, is above them."""
    if "threshold" not in chosen and scale == 1:
        require_grades(plan, False, BINARY)


BINARY = "grades of 0 and 1 only"


def excludes_ones(plan: Plan) -> bool:
    """Whether the metric reads relevance, and an item of grade 1 is not relevant."""
    declaration, rule = plan.metric.declaration, plan.relevance
    reads_relevance = declaration.binary_only or declaration.defined_where is by_relevant
    excluded = rule.threshold >= 1 if rule.strict else rule.threshold > 1
    return reads_relevance and excluded and rule.credit == "binary"


def require_grades(plan: Plan, graded: bool, only: str = "no grades, only relevant items") -> None:
    """Raise where the truth has no grades, and the threshold would leave no relevant item; only: what it has."""
    if not graded and excludes_ones(plan):
        raise InputError(
            f"{plan.label}: the truth has {only}, and threshold={plan.choices['threshold']!r} "
            "would leave none of them; give grades, or threshold=1"
        )


def check_common_items(plan: Plan, aligned: Aligned) -> None:
    """Raise where the truth and the run have no query in common."""
    if aligned.extra_count and not aligned.ranked.present[: _judged(plan, aligned)].any():
        queries_of(plan, aligned).check_common_items()


def queries_of(plan: Plan, aligned: Aligned) -> Queries:
    """Which queries only one side has."""
    judged = _judged(plan, aligned)
    missing = np.flatnonzero(~aligned.ranked.present[:judged])
    first = [aligned.queries[int(at)] for at in missing[: SOME + 1]]
    return Queries(judged, len(missing), aligned.extra_count, first, list(aligned.extra[: SOME + 1]))


def _judged(plan: Plan, aligned: Aligned) -> int:
    """Number of judged queries; unjudged queries of the run may follow them."""
    return len(aligned.ranked) - (aligned.extra_count if plan.choices["extra"] == "zero" else 0)


def warn_unjudged(source: Source, options: AlignOptions, aligned: Aligned) -> None:
    """Warn where no returned item is judged; raise where the ids differ only in spelling."""
    if not _nothing_judged(aligned.ranked) or (ids := source.ids()) is None:  # ids are slow, and rarely needed
        return
    if not options.keep_zero_grades and not (
        source.repeatable and _nothing_judged(source.align(replace(options, keep_zero_grades=True)).ranked)
    ):
        return  # items of grade 0 were left out
    judged, returned = ([*islice(side, _COMPARED)] for side in ids)
    examples = f"the truth's items are {some(judged, 2)}, the run's {some(returned, 2)}" if judged and returned else ""
    alike = _alike(judged, returned)
    if alike:
        raise DataError(f"no returned item is judged: {examples}{alike}", "id")
    aligned.notes += ("no returned item is judged",)
    warnings.warn(f"no returned item is judged{': ' * bool(examples)}{examples}", UnmatchedWarning, stacklevel=4)


def _nothing_judged(ranked: Alignment) -> bool:
    """Whether there are lists and judged items, but no returned item is judged."""
    return len(ranked.grade) == 0 and bool(((ranked.retrieved > 0) & (np.diff(ranked.truth_offsets) > 0)).any())


def _alike(judged: Iterable[Any], returned: Iterable[Any]) -> str:
    """A hint on ids that differ only in case, type, padding or white space; empty if there are none."""
    judged_ids = set(judged)
    folded = {_folded(name): name for name in judged_ids}
    for name in returned:
        if name in judged_ids:
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
