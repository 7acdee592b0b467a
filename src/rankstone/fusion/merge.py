"""Runs of any shape, with one number for each item of a query, in whichever run it is."""

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
from rankstone.data.dicts import plain_dict, refuse_mixed
from rankstone.data.files import is_path
from rankstone.data.lists import Lists, is_matrix
from rankstone.data.loaders import is_file, opened
from rankstone.data.source import Align
from rankstone.data.tables import Made, Side, as_batch, queried
from rankstone.errors import DataError, DataTypeError

if TYPE_CHECKING:
    import pyarrow

    from rankstone.align.alignment import Bools, Floats, Ints
    from rankstone.typing import Id, Roles, Run


Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True)
class Opened:
    """Runs by name, each a dict, columns or lists."""

    sides: Mapping[str, Side]
    of_files: bool  # is any of them a file, so that its ids are text, whatever they look like


def open_runs(runs: Mapping[str, Run] | Iterable[Run], columns: Roles | None) -> Opened:
    """Several runs in the shapes that `rs.evaluate` takes, by their names or one after the other."""
    named = _named(runs)
    if not named:
        raise ValueError("there are no runs; give a list of them, or a dict of runs by name")
    given = {name: queried(run) for name, run in named.items()}
    sides = {}
    for name, run in given.items():
        if is_matrix(run):
            raise TypeError(
                f"{name} is a matrix; give scipy.sparse.csr_array(scores), rs.lists(ids) of ids in ranked order, or "
                "rs.lists(ids, scores=scores)"
            )
        side = opened(run, "run", columns)
        if not isinstance(side, (Mapping, Columns, Lists)):
            raise TypeError(
                f"{name} is {type(run).__name__}, and no run; give dicts ({{query: {{item: score}}}}), tables with a "
                "query and an item column, files, rs.columns(...), rs.lists(...), or sparse matrices"
            )
        sides[name] = side
    return Opened(sides, any(map(is_file, given.values())))


def _named(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        for name, run in runs.items():
            content: Any = next(iter(run.values()), {}) if isinstance(run, Mapping) else {}
            if isinstance(run, (list, tuple, set)) or isinstance(content, (Real, np.number)):
                raise TypeError(f"runs[{name!r}] is one list of items, not a run; give a list of runs: [run, other]")
        return {str(name): run for name, run in runs.items()}
    alone = is_path(runs) or isinstance(runs, (Columns, Lists, Made)) or is_table(runs) or hasattr(runs, "shape")
    if alone or not isinstance(runs, Iterable):
        what = "one run" if alone else type(runs).__name__
        raise TypeError(f"this is {what}; give a list of runs, or a dict of runs by name")
    several = list(runs)
    short = [os.path.basename(os.fspath(run)) if is_path(run) else f"run {at}" for at, run in enumerate(several, 1)]
    names = short if len(set(short)) == len(short) else [f"{name} ({at})" for at, name in enumerate(short, 1)]
    return dict(zip(names, several, strict=True))


# -- names ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Names:
    """The ids of queries and items, by number: columns, or Python objects of any kind."""

    query_ids: Column | list[Any]
    item_ids: Column | list[Any]
    query: Ints  # an item of a query: the number of its query
    rows: Ints | None = None  # an item of a query: its row in `item_ids`; None: they have one each

    @property
    def columnar(self) -> bool:
        """Are they columns."""
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
        """The names of some of the items."""
        rows = np.arange(len(self.query)) if self.rows is None else self.rows
        return replace(self, query=self.query[keep], rows=rows[keep])


def _taken(ids: Column | list[Any], rows: Ints) -> Any:
    return [ids[row] for row in rows.tolist()] if isinstance(ids, list) else take(ids, rows)


# -- the runs together ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class United:
    """Rows of all runs in lists, one a run and query, each with its best item first."""

    runs: tuple[str, ...]
    names: Names
    item: Ints  # a row: the number of the query's item
    score: Floats  # a row; where the run has none, from its length down to 1
    offsets: Ints  # where each list starts; none is empty
    list_run: Ints
    list_query: Ints
    present: Bools  # a run and a query: does it have the query, with an empty list perhaps
    scored: tuple[bool, ...]  # a run: does it have scores

    @property
    def query(self) -> Ints:
        """An item: its query."""
        return self.names.query

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def above(self) -> Ints:
        """A row: how many items stand above it."""
        return np.arange(len(self.item)) - self.by_row(self.offsets[:-1])

    def by_row(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """What each row's list has."""
        return np.repeat(values, self.sizes)

    def candidates(self) -> Ints:
        """A query: its different items."""
        return np.bincount(self.query, minlength=self.present.shape[1])

    def where(self, row: int) -> tuple[str, Any, Any]:
        """The run, the query and the item of a row."""
        which = int(np.searchsorted(self.offsets, row, side="right")) - 1
        (query,), (item,) = self.names.queries(self.list_query[[which]]), self.names.items(self.item[[row]])
        return self.runs[int(self.list_run[which])], query, item

    def lists(self, keep: Bools) -> United:
        """Some of the lists; all items keep their numbers."""
        rows = self.by_row(keep)
        return replace(
            self, item=self.item[rows], score=self.score[rows], offsets=_offsets(self.sizes[keep]),
            list_run=self.list_run[keep], list_query=self.list_query[keep],
        )  # fmt: skip

    def first(self, depth: int | None) -> United:
        """The first items of each list; all items keep their numbers."""
        sizes = self.sizes
        if depth is None or not len(sizes) or depth >= sizes.max():
            return self
        keep = self.above() < depth
        return replace(self, item=self.item[keep], score=self.score[keep], offsets=_offsets(np.minimum(sizes, depth)))

    def compact(self) -> United:
        """The same without items that are in no list."""
        there = np.bincount(self.item, minlength=len(self.query)) > 0
        if there.all():
            return self
        return replace(self, names=self.names.part(there), item=(np.cumsum(there) - 1)[self.item])

    def by_query(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """What each list has, by run and query; 0 where there is no list."""
        out = np.zeros(self.present.shape, dtype=values.dtype)
        out[self.list_run, self.list_query] = values
        return out

    def best_first(self, ties: str, lower_first: bool = False) -> United:
        """The same with the best item of each list first. ties: who goes first among equal scores."""
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
        """Bring rows of equal scores into the order of a tie rule, in place."""
        tied = np.flatnonzero(equal | np.append(equal[1:], False))
        rows, offsets = order[tied], np.append(np.flatnonzero(~equal[tied]), len(tied))
        ids = rows if rule.by == "input" else self.names.item_column(self.item[rows])
        try:
            order[tied] = rows[by_id(ids, offsets, rule.descending)]
        except TypeError:
            pairs = (pair for begin, end in pairwise(offsets.tolist()) for pair in combinations(range(begin, end), 2))
            at, other = next(pair for pair in pairs if not _comparable(*(ids[one] for one in pair)))
            run, query, item = self.where(int(rows[at]))
            raise DataTypeError(
                f"{run}: query {query!r}: items {item!r} and {ids[other]!r} have the same score and cannot be "
                'compared; ties="input" needs no comparison',
                "id", "run", query, item,
            ) from None  # fmt: skip


def unite(runs: Opened, ties: str, lower_first: bool = False) -> United:
    """The runs together. ties: who goes first among equal scores. lower_first: scores are distances."""
    dicts = {name: plain_dict(side, "run") for name, side in runs.sides.items() if isinstance(side, Mapping)}
    scored = {name: all(isinstance(c, dict) or not c for c in run.values()) for name, run in dicts.items()}
    if len(dicts) == len(runs.sides):
        parts = _of_dicts(dicts, scored)
        _refuse_mixed(dicts, parts)
    else:
        parts = _of_columns(runs, scored)
    bad = np.isnan(parts.score)
    if bad.any():
        run, query, item = parts.where(int(np.argmax(bad)))
        raise DataError(f"{run}: query {query!r}, item {item!r}: score is nan", "number", "run", query, item)
    if len(dicts) < len(runs.sides) or not all(parts.scored):  # a dict has no item twice
        _refuse_twice(parts)
    return parts.best_first(ties, lower_first)


def _refuse_mixed(dicts: Mapping[str, dict[Id, Any]], parts: United) -> None:
    """Where a run shares nothing with the others, 1 was perhaps meant to be "1"."""
    if not len(parts.item):
        return
    shared = np.logical_or.reduceat((np.bincount(parts.item) > 1)[parts.item], parts.offsets[:-1])
    sharing = set(parts.list_run[shared].tolist())
    for at, (name, run) in enumerate(dicts.items()):
        if at not in sharing:
            for other, theirs in dicts.items():
                refuse_mixed(theirs, run, f"{other}:", f"{name}:")


def _refuse_twice(parts: United) -> None:
    """Stop at an item that a run has twice for one query."""
    rows = parts.item * len(parts.runs) + parts.by_row(parts.list_run)
    times = np.bincount(rows)
    if len(rows) and times.max() > 1:
        run, query, item = parts.where(int(np.argmax(times[rows] > 1)))
        raise DataError(f"{run}: query {query!r}: item {item!r} appears twice", "twice", "run", query, item)


def _offsets(sizes: Any) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


# -- order ---------------------------------------------------------------------------------------------------


def _falling(score: Floats, offsets: Ints) -> Ints:
    """The rows, the highest score first in each list; equal ones in no order."""
    sizes = np.diff(offsets)
    width = int(sizes.max())
    if len(sizes) * width > 4 * len(score) or score.min() == -np.inf:  # lists of very different lengths
        return np.lexsort((-score, np.repeat(np.arange(len(sizes)), sizes)))
    inside = np.arange(width) < sizes[:, None]
    table = np.full(inside.shape, np.inf)
    table[inside] = -score
    return np.argsort(table, axis=1)[inside] + np.repeat(offsets[:-1], sizes)


def by_id(ids: Column | Sequence[Id], offsets: Ints, descending: bool = False) -> Ints:
    """The places of ids that are in groups, each group in the order of its ids."""
    try:
        how = Align("item_desc" if descending else "item_asc")
        return _core.first_lists(offsets, plain(as_column("item", ids)), np.zeros(len(ids)), None, how, None)[1]
    except (TypeError, ValueError, OverflowError):  # ids that only Python can compare
        objects: list[Any] = ids if isinstance(ids, list) else plain_ids(ids)
        spans = (range(*span) for span in pairwise(offsets.tolist()))
        orders = (sorted(span, key=objects.__getitem__, reverse=descending) for span in spans)
        return np.fromiter(chain.from_iterable(orders), np.int64, len(ids))


def _comparable(one: Any, other: Any) -> bool:
    try:
        return bool(one < other) or True
    except TypeError:
        return False


# -- shapes --------------------------------------------------------------------------------------------------


def _of_dicts(runs: Mapping[str, dict[Id, Any]], scored: Mapping[str, bool]) -> United:
    queries = list(dict.fromkeys(chain.from_iterable(runs.values())))
    contents = [[run.get(query) for query in queries] for run in runs.values()]
    items, counts, item, score = _core.unite_dicts(list(runs), queries, contents)
    shape = len(runs), len(queries)
    sizes = np.array([[len(content or ()) for content in of_run] for of_run in contents], int).reshape(shape)
    list_query, list_run = np.nonzero(sizes.T)
    return United(
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


def _of_columns(runs: Opened, scored: Mapping[str, bool]) -> United:
    rows = {name: as_batch(side) for name, side in _with_queries(runs.sides).items()}
    asked = [(name, part, ids) for name, part in rows.items() for ids in (part.query, part.empty) if ids is not None]
    query_ids, query = encoded(_joined([(name, ids) for name, _, ids in asked], "query", runs.of_files))
    item_ids, codes = encoded(_joined([(name, part.item) for name, part in rows.items()], "item", runs.of_files))
    sizes, numbers = [len(ids) for *_, ids in asked], {name: at for at, name in enumerate(rows)}
    run = np.repeat([numbers[name] for name, *_ in asked], sizes)
    present = np.zeros((len(rows), len(query_ids)), dtype=bool)
    present[run, query] = True
    shown = np.repeat([ids is part.query for _, part, ids in asked], sizes)
    run, query = run[shown], query[shown]
    keys, item = encoded(query * len(item_ids) + codes)
    lists = run * len(query_ids) + query
    order: Any = slice(None) if (lists[1:] >= lists[:-1]).all() else np.argsort(lists, kind="stable")
    starts = np.flatnonzero(np.diff(lists[order], prepend=-1))
    parts = United(
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
    """Are they all lists without queries, which belong together by their places."""
    return all(isinstance(side, Lists) and side.query is None for side in sides)


def _with_queries(sides: Mapping[str, Any]) -> Mapping[str, Any]:
    if not by_place(sides.values()):
        return sides
    sizes = sorted({len(side) for side in sides.values()})
    if len(sizes) > 1:
        raise ValueError(f"one run has {sizes[0]} lists and another {sizes[1]}, and no queries to match them by")
    return {name: replace(side, query=np.arange(len(side))) for name, side in sides.items()}


def _joined(columns: list[tuple[str, Column]], role: str, of_files: bool) -> pyarrow.Array:
    """Ids of all runs one after the other, of one kind."""
    import pyarrow

    flat = [(name, plain(column)) for name, column in columns]
    flat = [(name, column) for name, column in flat if len(column)] or flat[:1]
    for name, column in flat:
        _refuse_null(name, role, column)
        if not (is_whole(column) or column.type in (pyarrow.large_string(), pyarrow.large_binary())):
            raise DataTypeError(f"{name}: {role} ids are {column.type}; they are strings or whole numbers", "id", "run")
    kinds = {is_whole(column): name for name, column in reversed(flat)}  # the first run of each kind
    if len(kinds) > 1 and not of_files:
        plural = {"query": "queries", "item": "items"}[role]
        raise TypeError(f"{kinds[True]}: {plural} are integers but {kinds[False]}: {plural} are strings")
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
    _refuse_null(name, "score", column)
    return column.to_numpy(zero_copy_only=False).astype(np.float64)


def _refuse_null(name: str, role: str, column: pyarrow.Array) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"{name}: {role} of row {row} is null", "missing", "run", row=row)
