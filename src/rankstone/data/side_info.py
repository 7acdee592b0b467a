"""What is known beside a truth and a run: a catalogue of items (`rs.catalogue(...)`) with their popularity, categories,
groups and vectors; what queries had before; other lists of theirs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rankstone.data.annotations import ranges
from rankstone.data.arrow import (
    Column,
    Places,
    arrow_table,
    as_column,
    encoded,
    is_list,
    is_table,
    movable,
    one_piece,
    plain,
    plain_ids,
)
from rankstone.data.columns import Columns
from rankstone.data.files import is_path, is_table_file, read_table
from rankstone.data.id_encoder import LOWER, Codes, distinct, pair
from rankstone.data.lists import Lists, is_sparse
from rankstone.data.roles import find, need, refuse_unknown
from rankstone.data.source import Source
from rankstone.data.tables import as_columns
from rankstone.errors import Advice, Hint, NotGiven

if TYPE_CHECKING:
    from rankstone import typing

Vectors: TypeAlias = Any  # a row an item: a NumPy array, a memory map, or a sparse matrix of SciPy
_PROPERTIES = ("popularity", "category", "group", "embedding")


class Words(NamedTuple):
    """Words of items, as categories and groups are: an item can have several, each with a weight."""

    offsets: NDArray[Any]  # where each item's start
    codes: NDArray[Any]  # numbers of the names
    weights: NDArray[np.float64]
    names: tuple[Any, ...]

    def of(self, items: Places) -> Words:
        """Those of some items; -1 is an item that has none."""
        none = len(self.offsets) - 1  # the number of a last item without any
        at, ends = ranges(np.append(self.offsets, self.offsets[-1]), np.where(items < 0, none, items))
        return Words(ends, self.codes[at], self.weights[at], self.names)

    def by_row(self, items: Places) -> tuple[NDArray[Any], Words]:
        """Those of some items, and the row that each is of."""
        words = self.of(items)
        return np.repeat(np.arange(len(items)), np.diff(words.offsets)), words


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Items, and what is known of each of them."""

    item: Column
    popularity: NDArray[np.float64] | None = None
    category: Words | None = None
    group: Words | None = None
    embedding: Vectors | None = None
    described: NDArray[np.bool_] | None = None  # which items have a vector; None: all

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        known = [name for name in _PROPERTIES if getattr(self, name) is not None]
        return f"{len(self):,} items{' with ' * bool(known)}{', '.join(known)}"


def catalogue(
    items: typing.Stock,
    *,
    popularity: typing.PerItem | None = None,
    category: typing.PerItem | None = None,
    group: typing.PerItem | None = None,
    embedding: typing.PerItem | None = None,
    columns: typing.Roles | None = None,
) -> Catalogue:
    """All items that lists could hold: ids, a table or a file with an item column, and what is known of the items.

    popularity, category, group, embedding: one an item in the order of `items`, a dict by item, or a table's column of
    that name (others: `columns={"category": "genre"}`). A category or a group is a word, a list of words, or
    `{word: weight}`. An embedding is a matrix with a row an item, dense, sparse or a memory map.

    >>> films = rs.catalogue(["a", "b", "c"], category={"a": "drama", "b": ["drama", "war"], "c": "war"})
    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="coverage@1", catalogue=films)["coverage@1"]
    0.6666666666666666
    """
    given = {"popularity": popularity, "category": category, "group": group, "embedding": embedding}
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, tuple) and len(items) == 2 and (getattr(items[1], "ndim", None) == 2):
        items, given["embedding"] = items
    if is_path(items):
        path = str(items)
        if not is_table_file(path):
            raise ValueError(f"{path}: a catalogue is a .parquet, .csv, .tsv or .jsonl file with an item column")
        items = read_table(path)[0]
    if is_table(items) and (hasattr(items, "columns") or hasattr(items, "column_names")):
        items, given = _from_table(items, given, columns)
    elif columns is not None:
        raise TypeError("columns= names the columns of a table; the catalogue is none")
    if isinstance(items, Mapping):
        raise TypeError(
            "a dict could be popularities, categories or groups: write rs.catalogue(list(items), category=items)"
        )
    if isinstance(items, (set, frozenset)):
        items = sorted(items, key=lambda one: (str(type(one)), one))
    item = as_column("item", cast("Any", items))
    ids = _Ids(item)
    vectors, described = _vectors(given["embedding"], ids)
    return Catalogue(
        item,
        _numbers(given["popularity"], ids),
        _words("category", given["category"], ids),
        _words("group", given["group"], ids),
        vectors,
        described,
    )


class _Ids:
    """A catalogue's ids, which are made Python values only where somebody asks by them."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def plain(self) -> list[Any]:
        return plain_ids(self.column)

    def values(self, by_item: Mapping[Any, Any], what: str, otherwise: Any = None) -> list[Any]:
        """What a dict says of each of them."""
        known = set(self.plain)
        strangers = [item for item in by_item if item not in known]
        if strangers and len(strangers) == len(by_item):
            some = next(iter(self.plain), None)
            raise ValueError(f"no item of {what} is in the catalogue: it has {some!r}, not {strangers[0]!r}")
        return [by_item.get(item, otherwise) for item in self.plain]


def _from_table(table: Any, given: dict[str, Any], columns: Any) -> tuple[Any, dict[str, Any]]:
    arrow, named = arrow_table(table), dict(columns or {})
    refuse_unknown(named, ("item", *_PROPERTIES))
    names = arrow.column_names
    item = need(names, "item", "catalogue", named)
    found = {}
    for role in _PROPERTIES:
        name = find(names, role, "catalogue", named, [item])
        if name is not None and given[role] is not None:
            raise ValueError(f"{role} is a column of the catalogue, {name!r}, and is given by name too")
        found[role] = given[role] if name is None else one_piece(arrow[name])
    return one_piece(arrow[item]), found


def _sized(name: str, values: Any, ids: _Ids) -> Any:
    if len(values) != len(ids):
        raise ValueError(f"there are {len(ids)} items but {len(values)} of {name}")
    return values


def _numbers(given: Any, ids: _Ids) -> NDArray[np.float64] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        given = ids.values(given, "popularity", 0.0)
    if hasattr(given, "type"):
        given = movable(given)
    found = np.asarray(_sized("popularity", given, ids), dtype=np.float64)
    if not np.isfinite(found).all() or (found < 0).any():
        at = int(np.argmax(~np.isfinite(found) | (found < 0)))
        raise ValueError(f"item {ids.plain[at]!r}: popularity is {found[at]}; it must be a number from 0")
    return found


def _words(name: str, given: Any, ids: _Ids) -> Words | None:
    """Categories or groups: a word, a list of words, or words with weights, for each item."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        given = ids.values(given, name)
    elif not isinstance(given, (list, tuple)):
        column = as_column(name, given)
        if not isinstance(column, np.ndarray) and not is_list(plain(column).type):
            names, number = encoded(_sized(name, column, ids))  # one per item, none where it is null
            offsets = np.concatenate(([0], np.cumsum(number >= 0)))
            return Words(offsets, number[number >= 0], np.ones(offsets[-1]), tuple(names.to_pylist()))
        given = plain_ids(column)
    sizes: list[int] = []
    codes: list[int] = []
    weights: list[float] = []
    numbers: dict[Any, int] = {}
    for words in _sized(name, given, ids):
        several = _weighed(words)
        sizes.append(len(several))
        codes += [numbers.setdefault(word, len(numbers)) for word in several]
        weights += several.values()
    offsets = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64))))
    return Words(offsets, np.array(codes, dtype=np.int64), np.array(weights, dtype=np.float64), tuple(numbers))


def _weighed(words: Any) -> Mapping[Any, float]:
    if words is None or (isinstance(words, float) and np.isnan(words)):
        return {}
    if isinstance(words, Mapping):
        return words
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        return {words: 1.0}
    return dict.fromkeys(words, 1.0)


def _vectors(given: Any, ids: _Ids) -> tuple[Vectors | None, NDArray[np.bool_] | None]:
    """A matrix with a row an item, and which items have one."""
    if given is None:
        return None, None
    if isinstance(given, Mapping):
        known = ids.values(given, "embedding")
        width = len(next(iter(given.values())))
        there = np.array([vector is not None for vector in known], dtype=bool)
        rows = np.array([np.zeros(width) if vector is None else vector for vector in known], dtype=np.float64)
        return rows.reshape(len(ids), -1), None if there.all() else there
    if is_sparse(given):
        _sized("embedding", range(given.shape[0]), ids)
        return given.tocsr(), None
    if hasattr(given, "type"):  # a list column
        column = plain(given)
        there = ~column.is_null().to_numpy(zero_copy_only=False)
        rows = np.array([row for row in column.to_pylist() if row is not None], dtype=np.float64)
        out = np.zeros((len(column), rows.shape[1] if rows.ndim == 2 else 0))
        out[there] = rows
        return _sized("embedding", out, ids), None if there.all() else there
    rows = given if isinstance(given, np.ndarray) else np.asarray(given)
    if rows.ndim != 2:
        raise ValueError(f"embedding has shape {rows.shape}; it must have a row for each item")
    return _sized("embedding", rows, ids), None


# -- beside a truth and a run --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Beside:
    """What is known beside a truth and a run."""

    catalogue: Catalogue | None = None
    history: Columns | None = None  # what queries had before
    reference: Source | None = None  # other lists of the same queries


class Known:
    """Items by number: those of the catalogue first, then others of the history, then others that were shown."""

    def __init__(self, beside: Beside, judged: Mapping[Hashable, object] | Columns | Lists | None = None) -> None:
        self.beside = beside
        self.judged = judged  # the truth, in the shape of its door
        self._truth: Columns | None = None
        self.notes: dict[str, None] = {}
        self.codes = Codes()
        self.given = beside.catalogue
        if self.given is not None:
            self.codes.add(self.given.item, "catalogue", distinct=True)
        self.listed = self.codes.count  # how many the catalogue has
        self.history_item: NDArray[Any] = np.zeros(0, dtype=np.int64)
        if beside.history is not None:
            self.history_item = self.codes.add(beside.history.item, "history")
        self.before = self.codes.count  # how many the catalogue and the history have

    def __len__(self) -> int:
        """How many items there are: the catalogue's, or the history's where there is none."""
        return self.count("catalogue")

    @staticmethod
    def rows_of(column: Column, queries: Sequence[Hashable]) -> NDArray[Any]:
        """Which of some queries each row is of, -1 if none."""
        codes = Codes()
        codes.add(as_column("query", list(queries)), "run")
        return codes.find(column, "query")

    def truth(self) -> Columns | None:
        """The truth's rows, whose items have numbers then."""
        if self._truth is None and self.judged is not None:
            self._truth = as_columns(self.judged, "truth")
            self.codes.add(self._truth.item, "truth")
        return self._truth

    def note(self, text: str) -> None:
        """Something that a reader of the result should know."""
        self.notes[text] = None

    def need_history(self) -> Columns:
        """What queries had before."""
        if self.beside.history is None:
            raise NotGiven(Advice("give ", Hint("history"), ": what each query had before, in any shape of a truth"))
        return self.beside.history

    def need(self, what: str) -> Any:
        """A property of the catalogue's items."""
        found = None if self.given is None else getattr(self.given, what)
        if found is None:
            raise NotGiven(f"give what is known of the items: catalogue=rs.catalogue(items, {what}=...)")
        return found

    def count(self, base: str) -> int:
        """How many items a base has, apart from what was shown."""
        if base == "catalogue" and self.given is not None:
            return self.listed
        if base != "shown" and self.beside.history is not None:
            count = int(np.count_nonzero(self.times_seen > 0))
            if base == "catalogue":
                self.note(f"the {count:,} items of the history stand in for a catalogue")
            return count
        raise NotGiven(
            Advice("give ", Hint("catalogue"), ": the ids of all items (or ", Hint("history"),
                   ", whose items stand in for it)")
        )  # fmt: skip

    def inside(self, base: str, universe: int) -> NDArray[np.bool_]:
        """Which items are of a base."""
        if base == "shown":
            return np.ones(universe, dtype=bool)
        self.count(base)  # or nothing is known
        if base == "catalogue" and self.given is not None:
            return np.arange(universe) < self.listed
        return self._padded(self.times_seen > 0, universe)

    @staticmethod
    def _padded(values: Any, universe: int) -> Any:
        """The same for items that became known later, too."""
        if len(values) == universe:
            return values
        out = np.zeros(universe, dtype=values.dtype)
        out[: min(len(values), universe)] = values[:universe]
        return out

    @cached_property
    def times_seen(self) -> NDArray[Any]:
        """How many rows of the history each item has."""
        return np.bincount(self.history_item, minlength=self.before)

    @cached_property
    def users(self) -> Codes:
        """The queries of the history."""
        users = Codes()
        self.user_of_row = users.add(self.need_history().query, "history")
        return users

    @cached_property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """User and item of the history's rows, each pair once, by user."""
        self.users  # noqa: B018 - or the rows have no user yet
        keys = distinct(pair(self.user_of_row, self.history_item))
        return keys >> 32, keys & LOWER

    @cached_property
    def users_seen(self) -> NDArray[Any]:
        """How many queries of the history had each item."""
        return np.bincount(self.pairs[1], minlength=self.before)

    def popularity(self, by: str, universe: int) -> NDArray[np.float64]:
        """How popular each item is: users or rows of the history, or as the catalogue has it."""
        if by == "given" or (
            self.beside.history is None and self.given is not None and self.given.popularity is not None
        ):
            return self._padded(self.need("popularity"), universe)
        self.need_history()
        return self._padded((self.users_seen if by == "users" else self.times_seen).astype(np.float64), universe)

    def in_tail(self, by: str, rule: str, at: float, ties: str, universe: int) -> NDArray[np.bool_]:
        """Which items are of the long tail."""
        known = self.popularity(by, universe)
        if rule == "count":
            return (known > 0) & (known <= at)
        if ties == "item":
            order = self.codes.order(universe)
            order = order[np.argsort(known[order], kind="stable")]  # least popular first, lower ids first
        else:
            order = np.argsort(-known, kind="stable")[::-1]  # the first in the catalogue is the more popular one
        out = np.zeros(universe, dtype=bool)
        if rule == "items":
            seen = order[known[order] > 0]
            out[seen[: int(len(seen) * at)]] = True
            return out
        above = np.cumsum(known[order[::-1]]) - known[order[::-1]]  # held by the more popular ones
        out[order[::-1]] = above >= at * known.sum()
        return out

    def words(self, what: str, universe: int) -> Words:
        """The categories or groups of each item."""
        found: Words = self.need(what)
        return found.of(np.where(np.arange(universe) < self.listed, np.arange(universe), -1))

    def vectors(self, universe: int) -> tuple[Any, NDArray[np.bool_]]:
        """The vectors of the catalogue's items, and which items have one."""
        found = self.need("embedding")
        described = self.given.described if self.given is not None else None
        there = np.ones(self.listed, dtype=bool) if described is None else described
        return found, self._padded(there, universe)


def anything() -> Known:
    """An item of which all is known, for what a metric says of no lists."""
    item = catalogue(["item"], popularity=[1], category=["item"], group=["item"], embedding=np.ones((1, 1)))
    rows = as_column("any", ["item"])
    return Known(Beside(item, Columns(rows, rows)))
