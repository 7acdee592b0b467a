"""Every door for user data. Past it there is one form: `Ranked`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from rankstone.ranked import Ranked


@dataclass
class Aligned:
    """A truth and a run brought together."""

    ranked: Ranked
    name_queries: Callable[[], Sequence[Any]]
    name_extra: Callable[[], Sequence[Any]]
    extra_count: int
    dropped: int  # rows of the run that the rule for duplicates removed

    @cached_property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self.name_queries()

    @cached_property
    def extra(self) -> Sequence[Any]:
        """Ids of queries in the run that nobody judged."""
        return self.name_extra()


class Source(Protocol):
    """A truth and a run, ready to be aligned."""

    def align(self, **options: Any) -> Aligned: ...


def ranked_from(core: tuple[Any, ...], *, ordered_truth: bool = False) -> Ranked:
    """The core's answer as a `Ranked`."""
    return Ranked(*core[2:14], ordered_truth=ordered_truth)


def open_source(truth: Any, run: Any, *, mask: Any = None) -> Source:
    """Find the door that fits."""
    if type(truth) is dict and type(run) is dict:  # the common case, first
        from rankstone.inputs.dicts import Dicts

        return Dicts(truth, run)
    from rankstone.inputs.columns import ColumnPair, Columns, as_columns, is_table
    from rankstone.inputs.dense import Dense, is_matrix
    from rankstone.inputs.dicts import Dicts, is_mapping
    from rankstone.inputs.lists import ListPair, Lists

    if is_matrix(truth) and is_matrix(run):
        return Dense(run, truth, mask)
    if mask is not None:
        raise TypeError("mask goes with matrices of labels and scores")
    if isinstance(truth, Lists) and isinstance(run, Lists):
        return ListPair(truth, run)
    sides = [
        Columns if isinstance(one, Columns) or is_table(one) else dict if is_mapping(one) else type(one)
        for one in (truth, run)
    ]
    if sides == [Columns, Columns]:
        return ColumnPair(as_columns(truth, "truth"), as_columns(run, "run"))
    if sides == [dict, dict]:
        return Dicts(truth, run)
    kinds = " and ".join(_kind(one) for one in (truth, run))
    raise TypeError(
        f"cannot evaluate {kinds} together; give two dicts ({{query: {{item: grade}}}}), two tables with a query and "
        "an item column, two rs.columns(...), two rs.lists(...), or two matrices of labels and scores"
    )


def _kind(one: Any) -> str:
    return f"{type(one).__module__}.{type(one).__qualname__}".removeprefix("builtins.")
