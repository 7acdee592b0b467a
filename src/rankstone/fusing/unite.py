"""Runs of any shape, with one number for each item of a query, in whichever run it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from numbers import Real
from operator import lt
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankstone import _core
from rankstone.errors import DataError, DataTypeError
from rankstone.inputs.arrow import (
    Column,
    as_text,
    is_number,
    is_table,
    is_text,
    is_whole,
    movable,
    plain,
    plain_ids,
    take,
)
from rankstone.inputs.columns import Columns
from rankstone.inputs.dicts import plain_dict, refuse_mixed
from rankstone.inputs.files import is_path
from rankstone.inputs.lists import Lists
from rankstone.inputs.loaders import is_file, opened
from rankstone.inputs.matrices import is_matrix
from rankstone.inputs.tables import Made, Side, as_columns, empty_queries, has_empty, queried

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


class Names(Protocol):
    """The ids of queries and items, by number."""

    columnar: bool  # are they columns, or Python objects of any kind

    def queries(self, numbers: Ints) -> list[Any]: ...

    def items(self, numbers: Ints) -> list[Any]: ...

    def order(self, numbers: Ints) -> Ints:
        """For each of these items, its place among them by id."""

    def less(self, numbers: Ints, others: Ints) -> Bools:
        """Is the id of each the lower one of the two."""

    def item_column(self, numbers: Ints) -> Any: ...

    def query_column(self, numbers: Ints) -> Any: ...


class PlainNames:
    """Python objects, as dicts have them."""

    columnar = False

    def __init__(self, queries: list[Any], items: list[Any]) -> None:
        self._queries, self._items = queries, items

    def queries(self, numbers: Ints) -> list[Any]:
        return [self._queries[number] for number in numbers.tolist()]

    def items(self, numbers: Ints) -> list[Any]:
        items = self._items
        return [items[number] for number in numbers.tolist()]

    query_column, item_column = queries, items

    def less(self, numbers: Ints, others: Ints) -> Bools:
        return np.fromiter(map(lt, self.items(numbers), self.items(others)), np.bool_, len(numbers))

    def order(self, numbers: Ints) -> Ints:
        ids = self.items(numbers)
        if set(map(type, ids)) == {str}:
            return _places(ids)
        by_id = sorted(range(len(ids)), key=ids.__getitem__)
        places = np.empty(len(ids), dtype=np.int64)
        places[by_id] = np.arange(len(ids))
        return places


class ColumnNames:
    """Columns: the distinct ids of queries, and of items, with which of those each item of a query is."""

    columnar = True

    def __init__(self, queries: Column, items: Column, which: Ints) -> None:
        self._queries, self._items, self._which = queries, items, which

    def query_column(self, numbers: Ints) -> Any:
        return take(self._queries, numbers)

    def item_column(self, numbers: Ints) -> Any:
        return take(self._items, self._which[numbers])

    def queries(self, numbers: Ints) -> list[Any]:
        return plain_ids(self._queries, numbers)

    def items(self, numbers: Ints) -> list[Any]:
        return plain_ids(self._items, self._which[numbers])

    def less(self, numbers: Ints, others: Ints) -> Bools:
        import pyarrow.compute as pc

        pairs = pc.less(_arrow(self.item_column(numbers)), _arrow(self.item_column(others)))
        answers: Bools = pairs.to_numpy(zero_copy_only=False).astype(np.bool_)
        return answers

    def order(self, numbers: Ints) -> Ints:
        distinct, inverse = np.unique(self._which[numbers], return_inverse=True)
        return _places(take(self._items, distinct))[inverse]


def _places(ids: Any) -> Ints:
    """Each id's place in their order, as strings or as numbers."""
    import pyarrow
    import pyarrow.compute as pc

    by_id = pc.sort_indices(pyarrow.array(ids)).to_numpy()
    places = np.empty(len(by_id), dtype=np.int64)
    places[by_id] = np.arange(len(by_id))
    return places


# -- the runs together ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class United:
    """Rows of all runs in lists, one a run and query, each with its best item first."""

    runs: tuple[str, ...]
    names: Names
    query: Ints  # an item: its query
    item: Ints  # a row: the number of the query's item
    score: Floats  # a row; where the run has none, from its length down to 1
    offsets: Ints  # where each list starts; none is empty
    list_run: Ints
    list_query: Ints
    present: Bools  # a run and a query: does it have the query, with an empty list perhaps
    scored: tuple[bool, ...]  # a run: does it have scores

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def above(self) -> Ints:
        """A row: how many items stand above it."""
        return np.arange(len(self.item)) - np.repeat(self.offsets[:-1], self.sizes)

    def by_row(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """What each row's list has."""
        return np.repeat(values, self.sizes)

    def candidates(self) -> Ints:
        """A query: its different items."""
        return np.bincount(self.query, minlength=self.present.shape[1])

    def take(self, order: Ints) -> United:
        """The rows in another order within their lists."""
        return replace(self, item=self.item[order], score=self.score[order])

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
        number = np.cumsum(there) - 1
        return replace(
            self, names=_Some(self.names, np.flatnonzero(there)), query=self.query[there], item=number[self.item]
        )


class _Some:
    """The names of some of the items."""

    def __init__(self, names: Names, which: Ints) -> None:
        self._names, self._which, self.columnar = names, which, names.columnar
        self.queries, self.query_column = names.queries, names.query_column

    def items(self, numbers: Ints) -> list[Any]:
        return self._names.items(self._which[numbers])

    def item_column(self, numbers: Ints) -> Any:
        return self._names.item_column(self._which[numbers])

    def order(self, numbers: Ints) -> Ints:
        return self._names.order(self._which[numbers])

    def less(self, numbers: Ints, others: Ints) -> Bools:
        return self._names.less(self._which[numbers], self._which[others])


def unite(runs: Opened, ties: str, lower_first: bool = False) -> United:
    """The runs together. ties: who goes first among equal scores. lower_first: scores are distances."""
    sides, dicts = runs.sides, {}
    if all(isinstance(side, Mapping) for side in sides.values()):
        dicts = {name: plain_dict(side, "run") for name, side in sides.items()}  # type: ignore[arg-type]
        parts = _of_dicts(dicts)
        _refuse_mixed(dicts, parts)
    else:
        parts = _of_columns(runs)
    bad = np.isnan(parts.score)
    if bad.any():
        run, query, item = parts.where(int(np.argmax(bad)))
        raise DataError(f"{run}: query {query!r}, item {item!r}: score is nan", "number", "run", query, item)
    if not dicts or not all(parts.scored):  # a dict has no item twice
        _refuse_twice(parts)
    score = -parts.score if lower_first else parts.score
    if in_order(score, parts.offsets):
        return parts
    return parts.take(settle(best_first(score, parts.offsets), parts, ties))


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


# -- order ---------------------------------------------------------------------------------------------------


def in_order(score: Floats, offsets: Ints) -> bool:
    """Is the highest score the first in each list, and are no two equal."""
    falling = score[1:] < score[:-1]
    falling[offsets[1:-1] - 1] = True
    return bool(falling.all())


def best_first(score: Floats, offsets: Ints) -> Ints:
    """The rows, the highest score first in each list; equal ones in no order."""
    sizes = np.diff(offsets)
    width = int(sizes.max())
    if len(sizes) * width > 4 * len(score) or score.min() == -np.inf:  # lists of very different lengths
        return np.lexsort((-score, np.repeat(np.arange(len(sizes)), sizes)))
    inside = np.arange(width) < sizes[:, None]
    table = np.full(inside.shape, np.inf)
    table[inside] = -score
    return np.argsort(table, axis=1)[inside] + np.repeat(offsets[:-1], sizes)


def settle(order: Ints, parts: United, ties: str) -> Ints:
    """The same with equal scores in the order that `ties` says."""
    score, lists = parts.score[order], parts.by_row(np.arange(len(parts.sizes)))
    equal = (score[1:] == score[:-1]) & (lists[1:] == lists[:-1])
    if not equal.any():
        return order
    first = np.flatnonzero(equal & ~np.insert(equal[:-1], 0, False))
    last = np.flatnonzero(equal & ~np.append(equal[1:], False)) + 1
    order = order.copy()
    if ties in ("item_desc", "item_asc"):
        try:
            return _by_id(order, first, last, parts, ties == "item_desc")
        except TypeError:
            raise _incomparable(order, first, last, parts) from None
    places = _spans(first, last)
    group = np.repeat(np.arange(len(first)), last - first + 1)
    rows = order[places]
    order[places] = rows[np.lexsort((rows if ties == "input" else -rows, group))]
    return order


def _by_id(order: Ints, first: Ints, last: Ints, parts: United, highest_first: bool) -> Ints:
    """Rows of equal scores, from `first` to `last`, by the ids of their items. Most often two are equal."""
    two = last == first + 1
    one, other = order[first[two]], order[last[two]]
    earlier = parts.names.less(parts.item[one], parts.item[other])
    swap = earlier if highest_first else ~earlier
    order[first[two]], order[last[two]] = np.where(swap, other, one), np.where(swap, one, other)
    first, last = first[~two], last[~two]
    if len(first):
        places = _spans(first, last)
        rows = order[places]
        by_id = parts.names.order(parts.item[rows])
        group = np.repeat(np.arange(len(first)), last - first + 1)
        order[places] = rows[np.lexsort((-by_id if highest_first else by_id, group))]
    return order


def _spans(first: Ints, last: Ints) -> Ints:
    """All places from each first to its last."""
    sizes = last - first + 1
    return np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)


def _incomparable(order: Ints, first: Ints, last: Ints, parts: United) -> DataTypeError:
    """What to say of items with the same score that cannot be compared."""
    for start, end in zip(first.tolist(), last.tolist(), strict=True):
        rows = order[start : end + 1]
        items = parts.names.items(parts.item[rows])
        for one, other in pairwise(items):
            if not _comparable(one, other):
                run, query, _ = parts.where(int(rows[0]))
                return DataTypeError(
                    f"{run}: query {query!r}: items {one!r} and {other!r} have the same score and cannot be compared; "
                    'ties="input" needs no comparison',
                    "id", "run", query, one,
                )  # fmt: skip
    return DataTypeError('items with the same score cannot be compared; ties="input" needs no comparison', "id", "run")


def _comparable(one: Any, other: Any) -> bool:
    try:
        return bool(one < other) or True
    except TypeError:
        return False


def _offsets(sizes: Any) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


# -- dicts ---------------------------------------------------------------------------------------------------


def _has_scores(side: Side) -> bool:
    """Has every list of a dict scores; those of other shapes have them all or not at all."""
    if not isinstance(side, Mapping):
        return True
    return all(isinstance(content, dict) or not content for content in plain_dict(side, "run").values())


def _of_dicts(runs: Mapping[str, dict[Id, Any]]) -> United:
    queries = list(dict.fromkeys(chain.from_iterable(runs.values())))
    every = list(runs.values())
    contents = [[run.get(query) for query in queries] for run in every]
    items, counts, item, score = _core.unite_dicts(list(runs), queries, contents)
    sizes = np.array([[0 if content is None else len(content) for content in of_run] for of_run in contents])
    sizes = sizes.reshape(len(every), len(queries))
    list_query, list_run = np.nonzero(sizes.T)
    return United(
        runs=tuple(runs),
        names=PlainNames(queries, items),
        query=np.repeat(np.arange(len(queries)), counts),
        item=item,
        score=score,
        offsets=_offsets(sizes[list_run, list_query]),
        list_run=list_run,
        list_query=list_query,
        present=np.array([[content is not None for content in of_run] for of_run in contents], bool).reshape(
            sizes.shape
        ),
        scored=tuple(map(_has_scores, every)),
    )


# -- columns -------------------------------------------------------------------------------------------------


def _of_columns(runs: Opened) -> United:
    import pyarrow.compute as pc

    sides = dict(zip(runs.sides, _with_queries(list(runs.sides.values())), strict=True))
    rows = {name: as_columns(side, "run") for name, side in sides.items()}
    empty = {name: _empty(side) for name, side in sides.items()}
    asked = {name: [found.query, *([] if empty[name] is None else [empty[name]])] for name, found in rows.items()}
    queries = pc.dictionary_encode(_joined(asked, "query", runs.of_files))
    items = pc.dictionary_encode(_joined({name: [found.item] for name, found in rows.items()}, "item", runs.of_files))
    counts = [(len(found.query), 0 if empty[name] is None else len(empty[name])) for name, found in rows.items()]
    query_codes = np.split(_codes(queries), np.cumsum([size for pair in counts for size in pair])[:-1])
    present = np.zeros((len(rows), len(queries.dictionary)), dtype=bool)
    for at, pair in enumerate(zip(query_codes[::2], query_codes[1::2], strict=True)):
        for codes in pair:
            present[at, codes] = True
    query, item = np.concatenate(query_codes[::2]), _codes(items)
    run = np.repeat(np.arange(len(rows)), [size for size, _ in counts])
    both = pc.dictionary_encode(_arrow(query * max(len(items.dictionary), 1) + item))
    keys = both.dictionary.to_numpy()
    score, order = np.concatenate([_scores(name, found) for name, found in rows.items()]), None
    lists = run * present.shape[1] + query
    starts = np.flatnonzero(np.diff(lists, prepend=-1))
    if len(starts) > len(np.unique(lists[starts])):  # a query's rows are not all in one place
        order = np.argsort(lists, kind="stable")
        lists = lists[order]
        starts = np.flatnonzero(np.diff(lists, prepend=-1))
    united = _codes(both)
    offsets = np.append(starts, len(lists))
    ordered = [found.score is None for found in rows.values()]
    scored = tuple(
        found.score is not None and not found.ranks and _has_scores(sides[name]) for name, found in rows.items()
    )
    if order is not None:
        united, score = united[order], score[order]
    if any(ordered):  # best first
        sizes = np.diff(offsets)
        down = np.repeat(sizes, sizes) - (np.arange(len(lists)) - np.repeat(starts, sizes))
        score = np.where(np.repeat(np.array(ordered)[lists[starts] // present.shape[1]], sizes), down, score)
    return United(
        runs=tuple(rows),
        names=ColumnNames(queries.dictionary, items.dictionary, keys % max(len(items.dictionary), 1)),
        query=keys // max(len(items.dictionary), 1),
        item=united,
        score=score,
        offsets=offsets,
        list_run=lists[starts] // max(present.shape[1], 1),
        list_query=lists[starts] % max(present.shape[1], 1),
        present=present,
        scored=scored,
    )


def by_place(sides: Iterable[Side]) -> bool:
    """Are they all lists without queries, which belong together by their places."""
    return all(isinstance(side, Lists) and side.query is None for side in sides)


def _with_queries(sides: list[Side]) -> list[Side]:
    if not by_place(sides):
        return sides
    lists = [side for side in sides if isinstance(side, Lists)]
    sizes = sorted({len(side) for side in lists})
    if len(sizes) > 1:
        raise ValueError(f"one run has {sizes[0]} lists and another {sizes[1]}, and no queries to match them by")
    return [replace(side, query=np.arange(len(side))) for side in lists]


def _empty(side: Side) -> Any:
    """The queries that a run has an empty list for."""
    if isinstance(side, Mapping):
        without = [query for query, content in plain_dict(side, "run").items() if not content]
        return None if not without else _arrow(without)
    return empty_queries(side) if isinstance(side, Lists) and has_empty(side) else None


def _arrow(values: Any) -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(values)


def _codes(encoded: Any) -> Ints:
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _joined(columns: Mapping[str, list[Column]], role: str, of_files: bool) -> pyarrow.Array:
    """Ids of all runs one after the other, of one kind."""
    import pyarrow

    flat = [(name, plain(movable(column))) for name, several in columns.items() for column in several]
    flat = [(name, column) for name, column in flat if len(column)] or flat[:1]
    kinds = {name: is_whole(column) for name, column in flat}
    for name, column in flat:
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(f"{name}: {role} of row {row} is null", "missing", "run", row=row)
        if not (is_whole(column) or is_text(column.type) or pyarrow.types.is_large_binary(column.type)):
            raise DataTypeError(f"{name}: {role} ids are {column.type}; they are strings or whole numbers", "id", "run")
    if len(set(kinds.values())) > 1 and not of_files:
        whole, text = (next(name for name in kinds if kinds[name] == kind) for kind in (True, False))
        plural = {"query": "queries", "item": "items"}[role]
        raise TypeError(f"{whole}: {plural} are integers but {text}: {plural} are strings")
    texts = not all(kinds.values())
    try:
        alike = [as_text(column) if texts and is_whole(column) else column for _, column in flat]
        alike = alike if texts else [column.cast(pyarrow.int64()) for column in alike]
        return pyarrow.concat_arrays(alike)
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{role} ids: {error}", "id", "run") from None


def _scores(name: str, rows: Columns) -> Floats:
    import pyarrow

    if rows.score is None:
        return np.zeros(len(rows.query))
    column = plain(rows.score)
    if not (is_number(column.type) or pyarrow.types.is_boolean(column.type)):
        raise DataTypeError(f"{name}: scores are {column.type}, not numbers", "number", "run")
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"{name}: score of row {row} is null", "missing", "run", row=row)
    return column.to_numpy(zero_copy_only=False).astype(np.float64)
