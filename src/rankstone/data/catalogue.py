"""What is known of items, whatever any list holds: popularity, categories, groups, vectors; `rs.catalogue(...)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rankstone.data.arrow import (
    Column,
    Places,
    arrow_table,
    as_column,
    is_list,
    is_table,
    movable,
    one_piece,
    plain,
    plain_ids,
)
from rankstone.data.files import is_path, is_table_file, read_table
from rankstone.data.matrices import is_sparse
from rankstone.data.roles import find, need, refuse_unknown

if TYPE_CHECKING:
    from rankstone import typing

Vectors: TypeAlias = Any  # a row an item: a NumPy array, a memory map, or a sparse matrix of SciPy
ROLES = ("item", "popularity", "category", "group", "embedding")


class Words(NamedTuple):
    """Words of items, as categories and groups are: an item can have several, each with a weight."""

    offsets: NDArray[Any]  # where each item's start
    codes: NDArray[Any]  # numbers of the names
    weights: NDArray[np.float64]
    names: tuple[Any, ...]

    def of(self, items: Places) -> Words:
        """Those of some items; -1 is an item that has none."""
        known = np.maximum(items, 0)
        sizes = np.where(items < 0, 0, np.diff(self.offsets)[known]) if len(self.offsets) > 1 else np.zeros(len(items))
        ends = np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))
        starts = self.offsets[known] if len(self.offsets) > 1 else known
        at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes.astype(np.int64))
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
        known = [name for name in ROLES[1:] if getattr(self, name) is not None]
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
        items = _read(str(items))
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


def _read(path: str) -> Any:
    """A table of a file, by its ending."""
    if not is_table_file(path):
        raise ValueError(f"{path}: a catalogue is a .parquet, .csv, .tsv or .jsonl file with an item column")
    return read_table(path)[0]


class _Ids:
    """A catalogue's ids, which are made Python values only where somebody asks by them."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._plain: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Any:
        if self._plain is None:
            self._plain = plain_ids(self.column)
        return iter(self._plain)

    def refuse_strangers(self, by_item: Mapping[Any, Any], what: str) -> None:
        known = set(self)
        lost = [item for item in by_item if item not in known]
        if lost and len(lost) == len(by_item):
            raise ValueError(
                f"no item of {what} is in the catalogue: it has {next(iter(self), None)!r}, not {lost[0]!r}"
            )


def _from_table(table: Any, given: dict[str, Any], columns: Any) -> tuple[Any, dict[str, Any]]:
    arrow, named = arrow_table(table), dict(columns or {})
    refuse_unknown(named, ROLES)
    names = arrow.column_names
    item = need(names, "item", "catalogue", named)
    found = {}
    for role in ROLES[1:]:
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
        ids.refuse_strangers(given, "popularity")
        given = [given.get(item, 0.0) for item in ids]
    if hasattr(given, "type"):
        given = movable(given)
    found = np.asarray(_sized("popularity", given, ids), dtype=np.float64)
    if not np.isfinite(found).all() or (found < 0).any():
        at = int(np.argmax(~np.isfinite(found) | (found < 0)))
        raise ValueError(f"item {plain_ids(ids.column)[at]!r}: popularity is {found[at]}; it must be a number from 0")
    return found


def _words(name: str, given: Any, ids: _Ids) -> Words | None:
    """Categories or groups: a word, a list of words, or words with weights, for each item."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        ids.refuse_strangers(given, name)
        given = [given.get(item) for item in ids]
    elif not isinstance(given, (list, tuple)):
        column = as_column(name, given)
        if not isinstance(column, np.ndarray) and not is_list(plain(column).type):
            return _column_words(plain(_sized(name, column, ids)))
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


def _column_words(column: Any) -> Words:
    """One word an item, none where it is null."""
    coded = column.dictionary_encode()
    there = ~coded.indices.is_null().to_numpy(zero_copy_only=False)
    codes = coded.indices.drop_null().to_numpy().astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(there)))
    return Words(offsets, codes, np.ones(len(codes)), tuple(coded.dictionary.to_pylist()))


def _vectors(given: Any, ids: _Ids) -> tuple[Vectors | None, NDArray[np.bool_] | None]:
    """A matrix with a row an item, and which items have one."""
    if given is None:
        return None, None
    if isinstance(given, Mapping):
        ids.refuse_strangers(given, "embedding")
        known = [given.get(item) for item in ids]
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
