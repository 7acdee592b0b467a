"""`merge_judgements`: one truth from the judgements of several judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.annotations import Bools, Floats, Ints
from rankstone.data.arrow import plain_ids
from rankstone.data.columns import Columns
from rankstone.data.tables import AsRun
from rankstone.errors import InputError
from rankstone.judges.panel import panel_of
from rankstone.results.answer import Answer, Readable
from rankstone.results.export import write_side

if TYPE_CHECKING:
    from rankstone.typing import ColumnRoles, Path, Truth


def _majority(grades: Floats) -> Floats:
    """The most frequent grade; of equally frequent ones the lowest."""
    scale = np.unique(grades[~np.isnan(grades)])
    counts = np.stack([(grades == grade).sum(axis=1) for grade in scale], axis=1)
    return np.asarray(scale[np.argmax(counts, axis=1)])


# Ways to one grade, by name; each unit has at least one judgement.
MERGES: dict[str, Callable[[Floats], Floats]] = {
    "median": lambda grades: np.asarray(np.nanmedian(grades, axis=1)),
    "mean": lambda grades: np.asarray(np.nanmean(grades, axis=1)),
    "majority": _majority,
    "max": lambda grades: np.asarray(np.nanmax(grades, axis=1)),
    "quepid": lambda grades: np.asarray(np.nanmean(grades, axis=1)),  # as its books average the judges
}


def merge_judgements(
    judges: Mapping[str, Truth] | Path, method: str = "median", *, columns: ColumnRoles | None = None
) -> MergedJudgements:
    """One truth from the judgements of several judges.

    Parameters
    ----------
    judges : dict or path
        Judgements by the judge's name, or a file with several judges, as in `rs.agreement`.
    method : str, default "median"
        "median" (the mean of the two middle grades, of an even number), "mean", "majority" (of equally frequent grades
        the lowest), "max", or "quepid" (the mean, as Quepid's books have it).
    columns : dict, optional
        Columns by role, as in `rs.evaluate`.

    Returns
    -------
    MergedJudgements
        A truth, with `conflicts`: the number of items on which judges disagree.

    Raises
    ------
    ValueError
        If there are fewer than two judges, or the method is unknown.

    Examples
    --------
    >>> merged = rs.merge_judgements({"ann": {"q": {"a": 2, "b": 1}}, "bob": {"q": {"a": 0, "c": 1}}}, "max")
    >>> merged.to_dict(), merged.conflicts
    ({'q': {'a': 2.0, 'b': 1.0, 'c': 1.0}}, 1)
    """
    if method not in MERGES:
        raise InputError(f"method={method!r}; choose from {', '.join(map(repr, MERGES))}")
    panel = panel_of(judges, columns)
    panel = panel.only(np.asarray(panel.judged.any(axis=1)))
    grades = MERGES[method](panel.grades)
    apart = np.nanmax(panel.grades, axis=1) > np.nanmin(panel.grades, axis=1)
    return MergedJudgements(panel.truth(grades), panel.names, method, apart, panel.judged.sum(axis=1))


class MergedJudgements(Readable, AsRun):
    """Judgements of several judges as one truth, which `rs.evaluate` takes.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges.
    method : str
        How their grades are merged.
    conflicts : int
        Number of items with different grades.
    """

    def __init__(self, truth: Columns, judges: tuple[str, ...], method: str, apart: Bools, many: Ints) -> None:
        self._truth, self.judges, self.method, self._apart, self._many = truth, judges, method, apart, many
        self.conflicts = int(apart.sum())

    @property
    def side(self) -> Columns:
        """The truth, as columns."""
        return self._truth

    def __len__(self) -> int:
        """Number of judged items."""
        return len(self._apart)

    def to_dict(self) -> dict[Any, dict[Any, float]]:
        """The truth as `{query: {item: grade}}`."""
        out: dict[Any, dict[Any, float]] = {}
        for query, item, grade in zip(*self._columns_of("query", "item", "grade"), strict=True):
            out.setdefault(query, {})[item] = grade
        return out

    def _columns_of(self, *names: str) -> list[Any]:
        return [plain_ids(getattr(self._truth, name)) for name in names]

    def _columns(self) -> Mapping[str, Any]:
        names = ("query", "item", "grade")
        columns = dict(zip(names, self._columns_of(*names), strict=True))
        return {**columns, "judges": self._many.tolist(), "conflict": self._apart.tolist()}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the truth to a file.

        Parameters
        ----------
        path : str or PathLike
            The file; "-" is standard output.
        format : str, optional
            A format of `rs.write_truth`; by file extension if omitted.
        """
        write_side(self._truth, path, "truth", format)

    def _answer(self) -> Answer:
        several = int((self._many > 1).sum())
        rows = [["judgements", "items"], ["one judge", f"{len(self) - several:,}"], ["several judges", f"{several:,}"],
                ["of these in conflict", f"{self.conflicts:,}"]]  # fmt: skip
        return Answer(rows, notes=[f"merged by {self.method}: {', '.join(self.judges)}"])
