"""Every door for user data. Past it there is one form: `Ranked`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
    extra_known: bool = True  # False: there are at least `extra_count` of them, too many to remember

    @cached_property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self.name_queries()

    @cached_property
    def extra(self) -> Sequence[Any]:
        """Ids of queries in the run that nobody judged."""
        return self.name_extra()

    def __reduce__(self) -> tuple[Any, ...]:
        named = (partial(_same, list(ids)) for ids in (self.queries, self.extra))
        return Aligned, (self.ranked, *named, self.extra_count, self.dropped, self.extra_known)


def _same(ids: list[Any]) -> list[Any]:
    return ids


class Source(Protocol):
    """A truth and a run, ready to be aligned."""

    def align(self, **options: Any) -> Aligned: ...


def ranked_from(core: tuple[Any, ...], *, ordered_truth: bool = False) -> Ranked:
    """The core's answer as a `Ranked`."""
    return Ranked(*core[2:14], ordered_truth=ordered_truth)


def open_source(
    truth: Any, run: Any, *, mask: Any = None, lengths: Any = None, groups: Any = None, columns: Any = None
) -> Source:
    """Find the door that fits."""
    if type(truth) is dict and type(run) is dict and mask is lengths is groups is None:  # the common case, first
        from rankstone.inputs.dicts import Dicts

        return Dicts(truth, run)
    from rankstone.inputs.columns import ColumnPair, Columns
    from rankstone.inputs.dense import Dense, is_matrix
    from rankstone.inputs.dicts import Dicts
    from rankstone.inputs.files import is_path, read_run, read_truth, same_ids
    from rankstone.inputs.lists import ListPair, Lists
    from rankstone.inputs.sparse import from_sparse, is_sparse
    from rankstone.inputs.tables import as_columns, from_table, is_table, predictions, roles_of

    if is_matrix(truth) and is_matrix(run):
        return Dense(run, truth, mask, lengths)
    if is_sparse(truth) and is_matrix(run):
        return Dense(run, truth.toarray(), mask, lengths)
    if mask is not None or lengths is not None:
        raise TypeError("mask= and lengths= go with matrices of labels and scores")
    if run is None and is_table(truth):
        pair: Any = predictions(truth, columns, groups)
    elif groups is not None:
        raise TypeError("groups= goes with one table that has a label and a score in each row")
    else:
        pair = []
        for one, what in ((truth, "truth"), (run, "run")):
            if is_path(one) and what == "truth":
                pair.append(read_truth(one, columns=roles_of(columns, what) or None))
            elif is_path(one):
                beside = truth if is_path(truth) else None
                pair.append(read_run(one, columns=roles_of(columns, what) or None, beside=beside))
            elif is_sparse(one):
                pair.append(from_sparse(one))
            else:
                pair.append(from_table(one, what, columns) if is_table(one) else one)
    kinds = [next((kind for kind in (Mapping, Columns, Lists) if isinstance(one, kind)), None) for one in pair]
    if None in kinds:
        raise TypeError(
            f"cannot evaluate {_kind(truth)} and {_kind(run)} together; give dicts ({{query: {{item: grade}}}}), "
            "tables with a query and an item column, files, rs.columns(...), rs.lists(...), or matrices"
        )
    if kinds == [Mapping, Mapping]:
        return Dicts(*pair)
    if kinds == [Lists, Lists]:
        return ListPair(*pair)
    judged, returned = as_columns(pair[0], "truth"), as_columns(pair[1], "run")
    if is_path(truth) or is_path(run):  # a file's ids are text, whatever they look like
        judged, returned = same_ids(judged, returned)
    return ColumnPair(judged, returned)


def _kind(one: Any) -> str:
    return f"{type(one).__module__}.{type(one).__qualname__}".removeprefix("builtins.")
