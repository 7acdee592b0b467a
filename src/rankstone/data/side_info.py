"""Side information: a catalogue of items (`rs.catalogue(...)`) with popularity, categories, groups and embeddings; the
history of the queries; and reference lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
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
    convertible,
    encoded,
    is_list,
    is_table,
    is_text,
    movable,
    one_piece,
    plain,
    plain_ids,
)
from rankstone.data.columns import Columns
from rankstone.data.files import check_path, is_path, is_table_file, read_table
from rankstone.data.id_encoder import LOWER, IdEncoder, distinct, pair
from rankstone.data.lists import Lists, is_sparse
from rankstone.data.roles import check_roles, find, need
from rankstone.data.source import Source
from rankstone.data.tables import as_columns
from rankstone.errors import Advice, Hint, InputError, InputTypeError, MissingInputError, check_not_text, show

if TYPE_CHECKING:
    from rankstone import typing

Vectors: TypeAlias = Any  # one row per item: a NumPy array, a memory map, or a sparse matrix of SciPy
_PROPERTIES = ("popularity", "category", "group", "embedding")


class ItemLabels(NamedTuple):
    """Labels of items, such as categories and groups: an item can have several, each with a weight."""

    offsets: NDArray[Any]  # first label per item
    codes: NDArray[Any]  # index into `names`
    weights: NDArray[np.float64]
    names: tuple[Any, ...]

    def of(self, items: Places) -> ItemLabels:
        """The labels of some items; -1 is an item without any."""
        none = len(self.offsets) - 1  # the number of a last item without any
        at, ends = ranges(np.append(self.offsets, self.offsets[-1]), np.where(items < 0, none, items))
        return ItemLabels(ends, self.codes[at], self.weights[at], self.names)

    def by_row(self, items: Places) -> tuple[NDArray[Any], ItemLabels]:
        """The labels of some items, and the row that each belongs to."""
        words = self.of(items)
        return np.repeat(np.arange(len(items)), np.diff(words.offsets)), words


@dataclass(frozen=True, eq=False)
class Catalogue:
    """All items, with their popularity, categories, groups and embeddings.

    Attributes
    ----------
    item : array
        Ids of the items.
    popularity : numpy.ndarray or None
        Popularity per item.
    category, group : ItemLabels or None
        Labels per item, with weights.
    embedding : array, sparse matrix or None
        One row per item.
    described : numpy.ndarray of bool or None
        Which items have an embedding; None: all.
    notes : tuple of str
        How the categories were read.
    """

    item: Column
    popularity: NDArray[np.float64] | None = None
    category: ItemLabels | None = None
    group: ItemLabels | None = None
    embedding: Vectors | None = None
    described: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()  # how the categories were read

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        names = [name for name in _PROPERTIES if getattr(self, name) is not None]
        return f"{len(self):,} items{' with ' * bool(names)}{', '.join(names)}"


def catalogue(
    items: typing.CatalogueLike,
    *,
    popularity: typing.PerItem | None = None,
    category: typing.PerItem | None = None,
    group: typing.PerItem | None = None,
    embedding: typing.PerItem | None = None,
    columns: typing.ColumnRoles | None = None,
) -> Catalogue:
    """All items that can be recommended, with their properties.

    Each property has one value per item in the order of `items`, or is a dict by item, or a column of the table.

    Parameters
    ----------
    items : array-like, set, table, path or Catalogue
        Ids, or a table or a file with an item column; or a tuple of ids and a matrix of embeddings.
    popularity : array-like or dict, optional
        Popularity per item, 0 or more.
    category : array-like or dict, optional
        Categories per item: a label, a list of labels, or `{label: weight}`.
    group : array-like or dict, optional
        Groups (such as providers) per item, in the form of `category`.
    embedding : matrix or dict, optional
        One row per item: a dense or sparse matrix, or a memory map.
    columns : dict, optional
        Columns of a table by role, `{"category": "genre"}`; usual names are detected.

    Returns
    -------
    Catalogue
        To be passed as `catalogue=`.

    Raises
    ------
    ValueError
        If a property differs in length, or none of its items is in the catalogue.

    Examples
    --------
    >>> films = rs.catalogue(["a", "b", "c"], category={"a": "drama", "b": ["drama", "war"], "c": "war"})
    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="coverage@1", catalogue=films)["coverage@1"]
    0.6666666666666666
    """
    properties = {"popularity": popularity, "category": category, "group": group, "embedding": embedding}
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, tuple) and len(items) == 2 and (getattr(items[1], "ndim", None) == 2):
        items, properties["embedding"] = items
    if is_path(items):
        path = str(items)
        check_path(path)
        if not is_table_file(path):
            raise InputError(f"{path}: a catalogue is a .parquet, .csv, .tsv or .jsonl file with an item column")
        items = read_table(path)[0]
    if is_table(items) and (hasattr(items, "columns") or hasattr(items, "column_names")):
        items, properties = _from_table(items, properties, columns)
    elif columns is not None:
        raise InputTypeError("columns= goes with a table; the catalogue is not one")
    if isinstance(items, Mapping):
        raise InputTypeError(
            "a dict may hold popularities, categories or groups: pass rs.catalogue(list(items), category=items)"
        )
    if isinstance(items, (set, frozenset)):
        items = sorted(items, key=lambda item: (str(type(item)), item))
    item = as_column("item", cast("Any", items))
    ids = _Ids(item)
    with convertible("properties of the catalogue"):
        vectors, described = _vectors(properties["embedding"], ids)
        category, notes = _split("category", properties["category"], ids)
        return Catalogue(
            item,
            _numbers(properties["popularity"], ids),
            _words("category", category, ids),
            _words("group", properties["group"], ids),
            vectors,
            described,
            notes,
        )


class _Ids:
    """The ids of a catalogue, converted to Python values only on use."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def plain(self) -> list[Any]:
        return plain_ids(self.column)

    def values(self, by_item: Mapping[Any, Any], what: str, otherwise: Any = None) -> list[Any]:
        """The value of each id in a dict."""
        ids = set(self.plain)
        unknown = [item for item in by_item if item not in ids]
        if unknown and len(unknown) == len(by_item):
            example = next(iter(self.plain), None)
            raise InputError(f"no item of {what} is in the catalogue: it has {example!r}, not {unknown[0]!r}")
        return [by_item.get(item, otherwise) for item in self.plain]


def _from_table(table: Any, properties: dict[str, Any], columns: Any) -> tuple[Any, dict[str, Any]]:
    arrow, named = arrow_table(table), dict(columns or {})
    check_roles(named, ("item", *_PROPERTIES))
    names = arrow.column_names
    item = need(names, "item", "catalogue", named)
    values = {}
    for role in _PROPERTIES:
        name = find(names, role, "catalogue", named, [item])
        if name is not None and properties[role] is not None:
            raise InputError(f"{role} is a column of the catalogue, {name!r}, and also an argument")
        values[role] = properties[role] if name is None else one_piece(arrow[name])
    return one_piece(arrow[item]), values


def _sized(name: str, values: Any, ids: _Ids) -> Any:
    check_not_text(values, name)
    if not isinstance(values, Sized):
        raise InputTypeError(f"{name} is {show(values)}; pass a dict, or a value per item")
    if len(values) != len(ids):
        raise InputError(f"there are {len(ids)} items but {len(values)} of {name}")
    return values


def _numbers(values: Any, ids: _Ids) -> NDArray[np.float64] | None:
    if values is None:
        return None
    if isinstance(values, Mapping):
        values = ids.values(values, "popularity", 0.0)
    if hasattr(values, "type"):
        values = movable(values)
    popularity = np.asarray(_sized("popularity", values, ids), dtype=np.float64)
    if not np.isfinite(popularity).all() or (popularity < 0).any():
        at = int(np.argmax(~np.isfinite(popularity) | (popularity < 0)))
        raise InputError(f"item {ids.plain[at]!r}: popularity is {popularity[at]}; it must be 0 or more")
    return popularity


_SEPARATORS = ("|", ";", ",", " ")  # between several labels in a text


def _split(name: str, values: Any, ids: _Ids) -> tuple[Any, tuple[str, ...]]:
    """The labels per item, with texts of several labels as lists, and a note on it: `Animation|Comedy`.

    A separator explains a column if it has fewer labels when they are split.
    """
    if values is None or isinstance(values, (str, bytes)):
        return values, ()
    if isinstance(values, Mapping):
        values = ids.values(values, name)
    rows = values if isinstance(values, (list, tuple)) else _texts(as_column(name, values))
    texts = {row for row in rows if isinstance(row, str)}
    for separator in _SEPARATORS:
        several = sorted(text for text in texts if separator in text.strip())
        if not several:
            continue
        parts = {part.strip() for text in texts for part in text.split(separator)}
        example, alone = repr(several[0]), {part.strip() for text in several for part in text.split(separator)} & texts
        if separator == "|" or len(parts) < len(texts):
            lists = [[part.strip() for part in row.split(separator) if part.strip()] if isinstance(row, str) else row
                     for row in rows]  # fmt: skip
            return lists, (f"{name} {example} is several labels, separated by {separator!r}",)
        if separator != " " or alone:
            raise InputError(
                f"{name} {example} may be one label or several; pass lists of labels: {several[0].split(separator)!r} "
                f"or [{example}] per item"
            )
        return values, (f"{name} {example} is one label; where it is several, pass lists of labels",)
    return values, ()


def _texts(column: Column) -> list[Any]:
    return [] if isinstance(column, np.ndarray) or not is_text(plain(column).type) else plain_ids(column)


def _words(name: str, values: Any, ids: _Ids) -> ItemLabels | None:
    """Categories or groups per item: a label, a list of labels, or labels with weights."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        values = ids.values(values, name)
    elif not isinstance(values, (list, tuple)):
        column = as_column(name, values)
        if not isinstance(column, np.ndarray) and not is_list(plain(column).type):
            names, number = encoded(_sized(name, column, ids))  # one per item, none where it is null
            offsets = np.concatenate(([0], np.cumsum(number >= 0)))
            return ItemLabels(offsets, number[number >= 0], np.ones(offsets[-1]), tuple(names.to_pylist()))
        values = plain_ids(column)
    sizes: list[int] = []
    codes: list[int] = []
    weights: list[float] = []
    numbers: dict[Any, int] = {}
    for words in _sized(name, values, ids):
        several = _weighed(words)
        sizes.append(len(several))
        codes += [numbers.setdefault(word, len(numbers)) for word in several]
        weights += several.values()
    offsets = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64))))
    return ItemLabels(offsets, np.array(codes, dtype=np.int64), np.array(weights, dtype=np.float64), tuple(numbers))


def _weighed(words: Any) -> Mapping[Any, float]:
    if words is None or (isinstance(words, float) and np.isnan(words)):
        return {}
    if isinstance(words, Mapping):
        return words
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        return {words: 1.0}
    return dict.fromkeys(words, 1.0)


def _vectors(values: Any, ids: _Ids) -> tuple[Vectors | None, NDArray[np.bool_] | None]:
    """A matrix with one row per item, and which items have one."""
    if values is None:
        return None, None
    if isinstance(values, Mapping):
        vectors = ids.values(values, "embedding")
        width = len(next(iter(values.values())))
        there = np.array([vector is not None for vector in vectors], dtype=bool)
        rows = np.array([np.zeros(width) if vector is None else vector for vector in vectors], dtype=np.float64)
        return rows.reshape(len(ids), -1), None if there.all() else there
    if is_sparse(values):
        _sized("embedding", range(values.shape[0]), ids)
        return values.tocsr(), None
    if hasattr(values, "type"):  # a list column
        column = plain(values)
        there = ~column.is_null().to_numpy(zero_copy_only=False)
        rows = np.array([row for row in column.to_pylist() if row is not None], dtype=np.float64)
        out = np.zeros((len(column), rows.shape[1] if rows.ndim == 2 else 0))
        out[there] = rows
        return _sized("embedding", out, ids), None if there.all() else there
    rows = values if isinstance(values, np.ndarray) else np.asarray(values)
    if rows.ndim != 2:
        raise InputError(f"embedding has shape {rows.shape}; it must have one row per item")
    return _sized("embedding", rows, ids), None


# -- side information ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SideInfo:
    """Inputs besides a truth and a run."""

    catalogue: Catalogue | None = None
    history: Columns | None = None  # past interactions of the queries
    reference: Source | None = None  # other lists for the same queries


class ItemIndex:
    """Items by number: first those of the catalogue, then others of the history, then others of the run."""

    def __init__(self, side_info: SideInfo, judged: Mapping[Hashable, object] | Columns | Lists | None = None) -> None:
        self.side_info = side_info
        self.judged = judged  # the truth, in the shape of its loader
        self._truth: Columns | None = None
        self.notes: dict[str, None] = {}
        self.codes = IdEncoder()
        self.catalogue = side_info.catalogue
        if self.catalogue is not None:
            self.codes.add(self.catalogue.item, "catalogue", distinct=True)
        self.listed = self.codes.count  # number of items of the catalogue
        self.history_item: NDArray[Any] = np.zeros(0, dtype=np.int64)
        if side_info.history is not None:
            self.history_item = self.codes.add(side_info.history.item, "history")
        self.before = self.codes.count  # number of items of the catalogue and the history

    def __len__(self) -> int:
        """Number of items of the catalogue, or of the history if there is none."""
        return self.count("catalogue")

    @staticmethod
    def rows_of(column: Column, queries: Sequence[Hashable]) -> NDArray[Any]:
        """Index of the query of each row, -1 if none."""
        codes = IdEncoder()
        codes.add(as_column("query", list(queries)), "run")
        return codes.find(column, "query")

    def truth(self) -> Columns | None:
        """The rows of the truth, whose items are added to the index."""
        if self._truth is None and self.judged is not None:
            self._truth = as_columns(self.judged, "truth")
            self.codes.add(self._truth.item, "truth")
        return self._truth

    def note(self, text: str) -> None:
        """Add a note to the result."""
        self.notes[text] = None

    def need_history(self) -> Columns:
        """The history, which must be there."""
        if self.side_info.history is None:
            raise MissingInputError(
                Advice("pass ", Hint("history"), ": past interactions per query, in any shape of a truth")
            )
        return self.side_info.history

    def need(self, what: str) -> Any:
        """A property of the catalogue's items."""
        values = None if self.catalogue is None else getattr(self.catalogue, what)
        if values is None:
            raise MissingInputError(f"pass properties of the items: catalogue=rs.catalogue(items, {what}=...)")
        return values

    def count(self, base: str) -> int:
        """Number of items of a base other than "shown"."""
        if base == "catalogue" and self.catalogue is not None:
            return self.listed
        if base != "shown" and self.side_info.history is not None:
            count = int(np.count_nonzero(self.times_seen > 0))
            if base == "catalogue":
                self.note(f"the {count:,} items of the history stand in for a catalogue")
            return count
        raise MissingInputError(
            Advice("pass ", Hint("catalogue"), ": the ids of all items (or ", Hint("history"),
                   ", whose items stand in for it)")
        )  # fmt: skip

    def inside(self, base: str, universe: int) -> NDArray[np.bool_]:
        """Which items are of a base."""
        if base == "shown":
            return np.ones(universe, dtype=bool)
        self.count(base)  # raises if there is none
        if base == "catalogue" and self.catalogue is not None:
            return np.arange(universe) < self.listed
        return self._padded(self.times_seen > 0, universe)

    @staticmethod
    def _padded(values: Any, universe: int) -> Any:
        """The same, extended by zeros for items that were added later."""
        if len(values) == universe:
            return values
        out = np.zeros(universe, dtype=values.dtype)
        out[: min(len(values), universe)] = values[:universe]
        return out

    @cached_property
    def times_seen(self) -> NDArray[Any]:
        """Rows of the history per item."""
        return np.bincount(self.history_item, minlength=self.before)

    @cached_property
    def users(self) -> IdEncoder:
        """The queries of the history."""
        users = IdEncoder()
        self.user_of_row = users.add(self.need_history().query, "history")
        return users

    @cached_property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """User and item of the history's rows, each pair once, by user."""
        self.users  # noqa: B018 - sets user_of_row
        keys = distinct(pair(self.user_of_row, self.history_item))
        return keys >> 32, keys & LOWER

    @cached_property
    def users_seen(self) -> NDArray[Any]:
        """Users of the history per item."""
        return np.bincount(self.pairs[1], minlength=self.before)

    def popularity(self, by: str, universe: int) -> NDArray[np.float64]:
        """Popularity per item: users or rows of the history, or the value in the catalogue."""
        if by == "given" or (
            self.side_info.history is None and self.catalogue is not None and self.catalogue.popularity is not None
        ):
            return self._padded(self.need("popularity"), universe)
        self.need_history()
        return self._padded((self.users_seen if by == "users" else self.times_seen).astype(np.float64), universe)

    def in_tail(self, by: str, rule: str, at: float, ties: str, universe: int) -> NDArray[np.bool_]:
        """Which items are in the long tail."""
        popularity = self.popularity(by, universe)
        if rule == "count":
            return (popularity > 0) & (popularity <= at)
        if ties == "item":
            order = self.codes.order(universe)
            order = order[np.argsort(popularity[order], kind="stable")]  # least popular first, lower ids first
        else:
            order = np.argsort(-popularity, kind="stable")[::-1]  # the first in the catalogue is the more popular one
        out = np.zeros(universe, dtype=bool)
        if rule == "items":
            popular = order[popularity[order] > 0]
            out[popular[: int(len(popular) * at)]] = True
            return out
        above = np.cumsum(popularity[order[::-1]]) - popularity[order[::-1]]  # held by the more popular ones
        out[order[::-1]] = above >= at * popularity.sum()
        return out

    def words(self, what: str, universe: int) -> ItemLabels:
        """The categories or groups of each item."""
        labels: ItemLabels = self.need(what)
        for note in self.catalogue.notes if self.catalogue is not None and what == "category" else ():
            self.note(note)
        return labels.of(np.where(np.arange(universe) < self.listed, np.arange(universe), -1))

    def vectors(self, universe: int) -> tuple[Any, NDArray[np.bool_]]:
        """The vectors of the catalogue's items, and which items have one; without embeddings, 0 or 1 per category."""
        if self.catalogue is not None and self.catalogue.embedding is None and self.catalogue.category is not None:
            from scipy.sparse import csr_array  # a fast import: rarely needed

            labels = self.words("category", self.listed)
            matrix = csr_array((labels.weights, labels.codes, labels.offsets), (self.listed, len(labels.names)))
            matrix.sum_duplicates()
            matrix.data = (matrix.data > 0).astype(np.float64)
            self.note("the items have no vectors: distances are those of their categories, 0 or 1 each")
            return matrix, self._padded(np.diff(matrix.indptr) > 0, universe)
        embedding = self.need("embedding")
        described = self.catalogue.described if self.catalogue is not None else None
        there = np.ones(self.listed, dtype=bool) if described is None else described
        return embedding, self._padded(there, universe)


def anything() -> ItemIndex:
    """An index of one item with all properties, for the value of a metric without lists."""
    item = catalogue(["item"], popularity=[1], category=["item"], group=["item"], embedding=np.ones((1, 1)))
    rows = as_column("any", ["item"])
    return ItemIndex(SideInfo(item, Columns(rows, rows)))
