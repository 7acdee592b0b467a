"""Merge runs of any form: one index per query and item over all runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankstone import _core
from rankstone.align.ties import TIES, TieRule
from rankstone.data.arrow import Column, as_column, encoded, is_number, is_table, is_whole, plain, plain_ids, take
from rankstone.data.columns import Columns
from rankstone.data.dicts import check_same_kind, plain_dict
from rankstone.data.files import is_path, place_in
from rankstone.data.lists import Lists, is_matrix
from rankstone.data.loaders import is_file, opened
from rankstone.data.source import AlignOptions
from rankstone.data.tables import AsRun, Side, as_batch
from rankstone.errors import DataError, DataTypeError, InputError, InputTypeError

if TYPE_CHECKING:
    import pyarrow

    from rankstone.align.alignment import Bools, Floats, Ints
    from rankstone.typing import ColumnRoles, Id, Run


Kind = TypeVar("Kind", bound=np.generic)
POOLED = -1  # grade of pooled, unjudged items, as in TREC files


@dataclass(frozen=True)
class LoadedRuns:
    """Runs by name, each a dict, columns or lists."""

    sides: Mapping[str, Side]
    of_files: bool  # whether any run is a file, so that all ids are strings


def open_runs(runs: Mapping[str, Run] | Iterable[Run], columns: ColumnRoles | None) -> LoadedRuns:
    """Load runs in any form that `rs.evaluate` takes, by name or in order."""
    named = _named(runs)
    if not named:
        raise InputError("no runs; pass a list of runs, or a dict of runs by name")
    sides = {}
    for name, run in named.items():
        if is_matrix(run):
            raise InputTypeError(
                f"{name} is a matrix; pass scipy.sparse.csr_array(scores), rs.lists(ids) with ids in ranked order, or "
                "rs.lists(ids, scores=scores)"
            )
        side = opened(run, "run", columns)
        if not isinstance(side, (Mapping, Columns, Lists)):
            raise InputTypeError(
                f"{name} is {type(run).__name__}, not a run; pass dicts ({{query: {{item: score}}}}), tables with a "
                "query and an item column, files, rs.columns(...), rs.lists(...), or sparse matrices"
            )
        sides[name] = side
    return LoadedRuns(sides, any(map(is_file, named.values())))


def _named(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        for name, run in runs.items():
            content: Any = next(iter(run.values()), {}) if isinstance(run, Mapping) else {}
            if isinstance(run, (list, tuple, set)) or isinstance(content, (Real, np.number)):
                raise InputTypeError(
                    f"runs[{name!r}] is one list of items, not a run; pass a list of runs: [run, other]"
                )
        return {str(name): run for name, run in runs.items()}
    alone = is_path(runs) or isinstance(runs, (Columns, Lists, AsRun)) or is_table(runs) or hasattr(runs, "shape")
    if alone or not isinstance(runs, Iterable):
        what = "one run" if alone else type(runs).__name__
        raise InputTypeError(f"this is {what}; pass a list of runs, or a dict of runs by name")
    several = list(runs)
    short = [os.path.basename(os.fspath(run)) if is_path(run) else f"run {at}" for at, run in enumerate(several, 1)]
    names = short if len(set(short)) == len(short) else [f"{name} ({at})" for at, name in enumerate(short, 1)]
    return dict(zip(names, several, strict=True))


# -- names ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Names:
    """Ids of queries and items by index: columns, or Python objects of any kind."""

    query_ids: Column | list[Any]
    item_ids: Column | list[Any]
    query: Ints  # per item: index of its query
    rows: Ints | None = None  # per item: its row in `item_ids`; None: the same index

    @property
    def columnar(self) -> bool:
        """Whether the ids are columns."""
        return not isinstance(self.item_ids, list)

    def query_column(self, numbers: Ints) -> Any:
        return _taken(self.query_ids, numbers)

    def item_column(self, numbers: Ints) -> Any:
        return _taken(self.item_ids, numbers if self.rows is None else self.rows[numbers])

    def queries(self, numbers: Ints) -> list[Any]:
        ids = self.query_column(numbers)
        return plain_ids(ids) if self.columnar else ids

    def items(self, numbers: Ints) -> list[Any]:
        ids = self.item_column(numbers)
        return plain_ids(ids) if self.columnar else ids

    def part(self, keep: Bools) -> Names:
        """The names of a subset of the items."""
        rows = np.arange(len(self.query)) if self.rows is None else self.rows
        return replace(self, query=self.query[keep], rows=rows[keep])


def _taken(ids: Column | list[Any], rows: Ints) -> Any:
    return [ids[row] for row in rows.tolist()] if isinstance(ids, list) else take(ids, rows)


# -- the runs together ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MergedRuns:
    """The rows of all runs in lists, one per run and query, the best item first."""

    runs: tuple[str, ...]
    names: Names
    item: Ints  # per row: index of the item of a query
    score: Floats  # per row; for runs without scores, from the length of the list down to 1
    offsets: Ints  # where each list starts; none is empty
    list_run: Ints
    list_query: Ints
    present: Bools  # per run and query: whether the run has the query, even with an empty list
    scored: tuple[bool, ...]  # per run: whether it has scores

    @property
    def query(self) -> Ints:
        """Index of the query, per item."""
        return self.names.query

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def above(self) -> Ints:
        """Number of items ranked above, per row."""
        return np.arange(len(self.item)) - self.by_row(self.offsets[:-1])

    def by_row(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Repeat values per list to values per row."""
        return np.repeat(values, self.sizes)

    def candidates(self) -> Ints:
        """Number of different items, per query."""
        return np.bincount(self.query, minlength=self.present.shape[1])

    def where(self, row: int) -> tuple[str, Any, Any]:
        """The run, the query and the item of a row."""
        which = int(np.searchsorted(self.offsets, row, side="right")) - 1
        (query,), (item,) = self.names.queries(self.list_query[[which]]), self.names.items(self.item[[row]])
        return self.runs[int(self.list_run[which])], query, item

    def lists(self, keep: Bools) -> MergedRuns:
        """A subset of the lists; items keep their indices."""
        rows = self.by_row(keep)
        return replace(
            self, item=self.item[rows], score=self.score[rows], offsets=_offsets(self.sizes[keep]),
            list_run=self.list_run[keep], list_query=self.list_query[keep],
        )  # fmt: skip

    def first(self, depth: int | None) -> MergedRuns:
        """The first items of each list; items keep their indices."""
        sizes = self.sizes
        if depth is None or not len(sizes) or depth >= sizes.max():
            return self
        keep = self.above() < depth
        return replace(self, item=self.item[keep], score=self.score[keep], offsets=_offsets(np.minimum(sizes, depth)))

    def compact(self) -> MergedRuns:
        """Remove items that are in no list."""
        there = np.bincount(self.item, minlength=len(self.query)) > 0
        if there.all():
            return self
        return replace(self, names=self.names.part(there), item=(np.cumsum(there) - 1)[self.item])

    def by_query(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Values per list as a matrix of runs and queries; 0 where there is no list."""
        out = np.zeros(self.present.shape, dtype=values.dtype)
        out[self.list_run, self.list_query] = values
        return out

    def best_first(self, ties: str, lower_first: bool = False) -> MergedRuns:
        """Sort each list, the best item first; `ties` is the tie-breaking rule."""
        score = -self.score if lower_first else self.score
        falling = score[1:] < score[:-1]
        falling[self.offsets[1:-1] - 1] = True
        if falling.all():
            return self
        order = _falling(score, self.offsets)
        score, lists = score[order], self.by_row(np.arange(len(self.sizes)))
        equal = np.append(False, (score[1:] == score[:-1]) & (lists[1:] == lists[:-1]))  # to the row above
        if equal.any():
            self._break_ties(order, equal, TIES[ties])
        return replace(self, item=self.item[order], score=self.score[order])

    def _break_ties(self, order: Ints, equal: Bools, rule: TieRule) -> None:
        """Sort rows of equal scores by a tie-breaking rule, in place."""
        tied = np.flatnonzero(equal | np.append(equal[1:], False))
        rows, offsets = order[tied], np.append(np.flatnonzero(~equal[tied]), len(tied))
        ids = rows if rule.by == "input" else self.names.item_column(self.item[rows])
        try:
            order[tied] = rows[by_id(ids, offsets, rule.descending)]
        except TypeError:
            pairs = (pair for begin, end in pairwise(offsets.tolist()) for pair in combinations(range(begin, end), 2))
            at, other = next(pair for pair in pairs if not _comparable(*(ids[index] for index in pair)))
            run, query, item = self.where(int(rows[at]))
            raise DataTypeError(
                f"{run}: query {query!r}: items {item!r} and {ids[other]!r} have the same score and ids that cannot be "
                'compared; ties="input" compares no ids',
                "id", "run", query, item,
            ) from None  # fmt: skip


def merge_runs(runs: LoadedRuns, ties: str, lower_first: bool = False) -> MergedRuns:
    """Merge runs; `ties` is the tie-breaking rule, `lower_first` means that scores are distances."""
    dicts = {name: plain_dict(side, "run") for name, side in runs.sides.items() if isinstance(side, Mapping)}
    scored = {name: all(isinstance(c, dict) or not c for c in run.values()) for name, run in dicts.items()}
    if len(dicts) == len(runs.sides):
        parts = _of_dicts(dicts, scored)
        _check_same_kind(dicts, parts)
    else:
        parts = _of_columns(runs, scored)
    bad = np.isnan(parts.score)
    if bad.any():
        run, query, item = parts.where(int(np.argmax(bad)))
        raise DataError(f"{run}: query {query!r}, item {item!r}: score is nan", "number", "run", query, item)
    if len(dicts) < len(runs.sides) or not all(parts.scored):  # a dict has no item twice
        _check_duplicates(parts, runs)
    return parts.best_first(ties, lower_first)


def _check_same_kind(dicts: Mapping[str, dict[Id, Any]], parts: MergedRuns) -> None:
    """Raise an error if a run shares no item with the others because its ids have another type (1 and "1")."""
    if not len(parts.item):
        return
    shared = np.logical_or.reduceat((np.bincount(parts.item) > 1)[parts.item], parts.offsets[:-1])
    sharing = set(parts.list_run[shared].tolist())
    for at, (name, run) in enumerate(dicts.items()):
        if at not in sharing:
            for other, theirs in dicts.items():
                check_same_kind(theirs, run, f"{other}:", f"{name}:")


def _check_duplicates(parts: MergedRuns, runs: LoadedRuns) -> None:
    """Raise an error if a list contains an item twice."""
    rows = parts.item * len(parts.runs) + parts.by_row(parts.list_run)
    times = np.bincount(rows)
    if len(rows) and times.max() > 1:
        run, query, item = parts.where(int(np.argmax(times[rows] > 1)))
        path = getattr(runs.sides[run], "path", "")
        place = f"{run}: {place_in(path, query, item)}" if path else run
        text = f"query {query!r}: item {item!r} appears twice"
        raise DataError(text, "twice", "run", query, item, remedy="keep one row per item and list").at(place)


def _offsets(sizes: Any) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


# -- order ---------------------------------------------------------------------------------------------------


def _falling(score: Floats, offsets: Ints) -> Ints:
    """Row order with the highest score first in each list; ties in any order."""
    sizes = np.diff(offsets)
    width = int(sizes.max())
    if len(sizes) * width > 4 * len(score) or score.min() == -np.inf:  # lists of very different lengths
        return np.lexsort((-score, np.repeat(np.arange(len(sizes)), sizes)))
    inside = np.arange(width) < sizes[:, None]
    table = np.full(inside.shape, np.inf)
    table[inside] = -score
    return np.argsort(table, axis=1)[inside] + np.repeat(offsets[:-1], sizes)


def by_id(ids: Column | Sequence[Id], offsets: Ints, descending: bool = False) -> Ints:
    """Row order that sorts the ids of each group."""
    try:
        options = AlignOptions("item_desc" if descending else "item_asc")
        return _core.first_lists(offsets, plain(as_column("item", ids)), np.zeros(len(ids)), None, options, None)[1]
    except (TypeError, ValueError, OverflowError):  # ids that only Python can compare
        objects: list[Any] = ids if isinstance(ids, list) else plain_ids(ids)
        spans = (range(*span) for span in pairwise(offsets.tolist()))
        orders = (sorted(span, key=objects.__getitem__, reverse=descending) for span in spans)
        return np.fromiter(chain.from_iterable(orders), np.int64, len(ids))


def _comparable(left: Any, right: Any) -> bool:
    try:
        return bool(left < right) or True
    except TypeError:
        return False


# -- shapes --------------------------------------------------------------------------------------------------


def _of_dicts(runs: Mapping[str, dict[Id, Any]], scored: Mapping[str, bool]) -> MergedRuns:
    queries = list(dict.fromkeys(chain.from_iterable(runs.values())))
    contents = [[run.get(query) for query in queries] for run in runs.values()]
    items, counts, item, score = _core.unite_dicts(list(runs), queries, contents)
    shape = len(runs), len(queries)
    sizes = np.array([[len(content or ()) for content in of_run] for of_run in contents], int).reshape(shape)
    if sizes.sum() != len(item):
        raise DataError("the runs changed while they were fused; fuse copies of them")
    list_query, list_run = np.nonzero(sizes.T)
    return MergedRuns(
        runs=tuple(runs),
        names=Names(queries, items, np.repeat(np.arange(len(queries)), counts)),
        item=item,
        score=score,
        offsets=_offsets(sizes[list_run, list_query]),
        list_run=list_run,
        list_query=list_query,
        present=np.array([[content is not None for content in of_run] for of_run in contents], bool).reshape(shape),
        scored=tuple(scored.values()),
    )


def _of_columns(runs: LoadedRuns, scored: Mapping[str, bool]) -> MergedRuns:
    rows = {name: as_batch(side) for name, side in _with_queries(runs.sides).items()}
    id_columns = [
        (name, part, ids) for name, part in rows.items() for ids in (part.query, part.empty) if ids is not None
    ]
    query_ids, query = encoded(_joined([(name, ids) for name, _, ids in id_columns], "query", runs.of_files))
    item_ids, codes = encoded(_joined([(name, part.item) for name, part in rows.items()], "item", runs.of_files))
    sizes, numbers = [len(ids) for *_, ids in id_columns], {name: at for at, name in enumerate(rows)}
    run = np.repeat([numbers[name] for name, *_ in id_columns], sizes)
    present = np.zeros((len(rows), len(query_ids)), dtype=bool)
    present[run, query] = True
    returned = np.repeat([ids is part.query for _, part, ids in id_columns], sizes)
    run, query = run[returned], query[returned]
    keys, item = encoded(query * len(item_ids) + codes)
    lists = run * len(query_ids) + query
    order: Any = slice(None) if (lists[1:] >= lists[:-1]).all() else np.argsort(lists, kind="stable")
    starts = np.flatnonzero(np.diff(lists[order], prepend=-1))
    parts = MergedRuns(
        runs=tuple(rows),
        names=Names(query_ids, item_ids, *np.divmod(keys.to_numpy(), max(len(item_ids), 1))),
        item=item[order],
        score=np.concatenate([_scores(name, part) for name, part in rows.items()])[order],
        offsets=np.append(starts, len(lists)),
        list_run=run[order][starts],
        list_query=query[order][starts],
        present=present,
        scored=tuple(
            part.score is not None and not part.ranks and scored.get(name, True) for name, part in rows.items()
        ),
    )
    ordered = np.array([part.score is None for part in rows.values()])  # best first
    if not ordered.any():
        return parts
    down = parts.by_row(parts.sizes) - parts.above()
    return replace(parts, score=np.where(parts.by_row(ordered[parts.list_run]), down, parts.score))


def by_place(sides: Iterable[Side]) -> bool:
    """Whether all runs are lists without query ids, matched by position."""
    return all(isinstance(side, Lists) and side.query is None for side in sides)


def _with_queries(sides: Mapping[str, Any]) -> Mapping[str, Any]:
    if not by_place(sides.values()):
        return sides
    sizes = sorted({len(side) for side in sides.values()})
    if len(sizes) > 1:
        raise InputError(f"one run has {sizes[0]} lists and another {sizes[1]}, and no query ids to match them by")
    return {name: replace(side, query=np.arange(len(side))) for name, side in sides.items()}


def _joined(columns: list[tuple[str, Column]], role: str, of_files: bool) -> pyarrow.Array:
    """The ids of all runs, concatenated, of one type."""
    import pyarrow

    flat = [(name, plain(column)) for name, column in columns]
    flat = [(name, column) for name, column in flat if len(column)] or flat[:1]
    for name, column in flat:
        _check_null(name, role, column)
        if not (is_whole(column) or column.type in (pyarrow.large_string(), pyarrow.large_binary())):
            raise DataTypeError(f"{name}: {role} ids are {column.type}; ids must be strings or integers", "id", "run")
    kinds = {is_whole(column): name for name, column in reversed(flat)}  # the first run of each kind
    if len(kinds) > 1 and not of_files:
        plural = {"query": "queries", "item": "items"}[role]
        raise InputTypeError(f"{kinds[True]}: {plural} are integers but {kinds[False]}: {plural} are strings")
    kind = next((column.type for _, column in flat if not is_whole(column)), pyarrow.int64())
    try:
        return pyarrow.concat_arrays([column.cast(kind) for _, column in flat])
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{role} ids: {error}", "id", "run") from None


def _scores(name: str, rows: Columns) -> Floats:
    import pyarrow

    if rows.score is None:
        return np.zeros(len(rows.query))
    column = plain(rows.score)
    if not (is_number(column.type) or pyarrow.types.is_boolean(column.type)):
        raise DataTypeError(f"{name}: scores are {column.type}, not numbers", "number", "run")
    _check_null(name, "score", column)
    return column.to_numpy(zero_copy_only=False).astype(np.float64)


def _check_null(name: str, role: str, column: pyarrow.Array) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"{name}: {role} of row {row} is null", "missing", "run", row=row)
