"""The judgements of several judges, aligned: a row per query and item, a column per judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.annotations import Bools, Floats, Ints
from rankstone.data.arrow import concatenated, encoded, plain_ids, take
from rankstone.data.columns import Columns, columns, grades_of
from rankstone.data.files import all_same_ids, is_path
from rankstone.data.judge_files import read_judges
from rankstone.data.loaders import opened
from rankstone.data.tables import as_columns
from rankstone.errors import DataError, InputError, InputTypeError
from rankstone.statistics.agreement_coefficients import Ratings, ratings_of

if TYPE_CHECKING:
    from rankstone.typing import ColumnRoles, Path, Truth


@dataclass(frozen=True, eq=False)
class Panel:
    """Grades by unit and judge, NaN where a judge has none."""

    names: tuple[str, ...]
    queries: Any  # ids of the queries, in order of appearance
    query: Ints  # number of the query of each unit
    item: Any  # its item
    grades: Floats  # (units, judges)

    @cached_property
    def ratings(self) -> Ratings:
        """The same as codes of the grades that occur."""
        return ratings_of(self.grades)

    @property
    def judged(self) -> Bools:
        """Whether a unit has a grade, by unit and judge."""
        return ~np.isnan(self.grades)

    @property
    def shared(self) -> Panel:
        """The units that all judges have judged."""
        return self.only(np.asarray(self.judged.all(axis=1)))

    def only(self, rows: Bools) -> Panel:
        """Some of the units."""
        return Panel(
            self.names, self.queries, self.query[rows], take(self.item, np.flatnonzero(rows)), self.grades[rows]
        )

    def truth(self, grades: Floats) -> Columns:
        """A truth of one grade per unit, NaN where it has none."""
        rows = np.flatnonzero(~np.isnan(grades))
        return columns(query=take(self.queries, self.query[rows]), item=take(self.item, rows), grade=grades[rows])

    def pairs(self, rows: Ints) -> list[tuple[Any, Any]]:
        """Ids of some units."""
        return list(zip(plain_ids(self.queries, self.query[rows]), plain_ids(self.item, rows), strict=True))


def panel_of(judges: Mapping[str, Truth] | Path, roles: ColumnRoles | None = None) -> Panel:
    """The judgements of several judges: truths by name, or a file that has them all."""
    sides: Any = read_judges(judges) if is_path(judges) else judges
    if not isinstance(sides, Mapping):
        raise InputTypeError(f"judges is {type(sides).__name__}; give truths by name: {{'human': ..., 'llm': ...}}")
    if len(sides) < 2:
        raise InputError(f"there is {'one judge only' if sides else 'no judge'}; agreement needs two")
    read = [as_columns(opened(side, "truth", roles), "truth") for side in sides.values()]
    if any(is_path(side) for side in sides.values()):
        read = all_same_ids(read[0], read[1:])
    return _aligned(tuple(map(str, sides)), read)


def _aligned(names: tuple[str, ...], sides: Sequence[Columns]) -> Panel:
    queries, query = encoded(concatenated([side.query for side in sides]))
    items, item = encoded(concatenated([side.item for side in sides]))
    units, unit = np.unique(query * len(items) + item, return_inverse=True)
    grades = np.full((len(units), len(sides)), np.nan)
    start = 0
    for judge, (name, side) in enumerate(zip(names, sides, strict=True)):
        rows = unit[start : start + len(side.query)]
        start += len(rows)
        if len(np.unique(rows)) < len(rows):
            at = int(np.flatnonzero(np.bincount(rows) > 1)[0])
            where = plain_ids(queries)[units[at] // len(items)], plain_ids(items)[units[at] % len(items)]
            raise DataError(f"judge {name} has two grades for query {where[0]!r}, item {where[1]!r}", "twice", "truth")
        grades[rows, judge] = grades_of(side)
    return Panel(names, queries, units // len(items), take(items, units % len(items)), grades)
