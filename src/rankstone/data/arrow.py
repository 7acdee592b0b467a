"""Arrow columns: in one piece, in a plain type, as ids; and the kinds of frames that hand them over.

What only concerns how a column is stored ends here: chunks, dictionaries, string views, offsets of 32 bits. Frame
libraries are never imported: who has such a frame has its library loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone._core import Strings

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pyarrow
    from pyarrow import types

    from rankstone import typing

    pc = pyarrow.compute
else:

    class Lazy:
        """A module that is loaded when something of it is asked for: a TREC file or a dict needs no pyarrow."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            self.__dict__[name] = value = getattr(import_module(self._name), name)
            return value

    pyarrow, pc, types = map(Lazy, ("pyarrow", "pyarrow.compute", "pyarrow.types"))

Kind: TypeAlias = "pyarrow.DataType"  # pyarrow.int64()
# In one piece: np.array([7, 8]), pyarrow.array(["a", "b"]), or the core's Strings, which speak Arrow.
Column: TypeAlias = "NDArray[Any] | pyarrow.Array"
Pieces: TypeAlias = "pyarrow.Array | pyarrow.ChunkedArray"  # pyarrow.chunked_array([["a", "b"], ["c"]])
Table: TypeAlias = "pyarrow.Table"  # pyarrow.table({"query": ["u1"], "item": ["a"]})
# polars.DataFrame({"query": ["u1"], "item": ["a"]}), or whatever else hands its columns over
Frame: TypeAlias = "pandas.DataFrame | polars.DataFrame | polars.LazyFrame | pyarrow.Table"
Places: TypeAlias = NDArray[np.integer[Any]]  # of some rows, from 0: np.array([0, 2])

_TEXT_LIMIT = 2**31 - 1  # bytes that one Arrow array of strings can hold


# -- types ---------------------------------------------------------------------------------------------------


def is_text(kind: Kind) -> bool:
    """Is it a type of strings."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_list(kind: Kind) -> bool:
    """Is it a type of lists."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Kind) -> bool:
    """Is it a type of whole numbers or floats."""
    return bool(types.is_integer(kind) or types.is_floating(kind))


def stored(kind: Kind) -> Kind:
    """The type of what a dictionary holds; any other type as it is."""
    return kind.value_type if types.is_dictionary(kind) else kind


def _wide(kind: Kind) -> Kind:
    """The same type with offsets of 64 bits."""
    if is_list(kind):
        return pyarrow.large_list(_wide(kind.value_type))
    return pyarrow.large_string() if types.is_string(kind) else kind


# -- columns -------------------------------------------------------------------------------------------------


def as_column(name: str, values: typing.Column) -> Column:
    """A NumPy array of numbers, or an Arrow array in one piece."""
    if hasattr(values, "detach"):  # of torch
        values = as_array(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has shape {values.shape}; it must have one dimension")
        return values
    if hasattr(values, "__arrow_c_array__"):
        return values
    if hasattr(values, "__arrow_c_stream__"):
        return one_piece(pyarrow.chunked_array(values))
    try:
        return one_piece(pyarrow.array(values))
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise TypeError(f"column {name!r}: {error}") from None


def as_array(given: Any) -> NDArray[Any]:
    """A NumPy array; a tensor is taken off its device and out of its graph."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
    return np.asarray(given)


def one_piece(column: Pieces) -> pyarrow.Array:
    """An Arrow array of what may be in chunks."""
    if isinstance(column, pyarrow.Array):
        return column
    if column.num_chunks < 2:
        return column.chunk(0) if column.num_chunks else column.combine_chunks()
    if types.is_dictionary(column.type):
        try:
            return pyarrow.concat_arrays(column.chunks)
        except pyarrow.ArrowInvalid:  # more words together than the indices can count
            return one_piece(pyarrow.chunked_array([plain(chunk) for chunk in column.chunks]))
    if column.nbytes > _TEXT_LIMIT:
        column = column.cast(_wide(column.type))
    return pyarrow.concat_arrays(column.chunks)


def as_arrow(column: Column) -> pyarrow.Array:
    """An Arrow array. `pyarrow.array` alone would load pandas, to see whether the column is of its kind."""
    if isinstance(column, pyarrow.Array):
        return column
    if isinstance(column, np.ndarray) and column.dtype == np.int64 and column.flags.c_contiguous:
        return pyarrow.Array.from_buffers(pyarrow.int64(), len(column), [None, pyarrow.py_buffer(column)])
    return pyarrow.array(column)


def movable(column: Column) -> Column:
    """The same column in a form that rows can be taken from, joined and pickled; pyarrow takes none of string views."""
    if isinstance(column, np.ndarray):
        return column
    array = as_arrow(column)
    return plain(array) if types.is_string_view(stored(array.type)) else array


def plain(column: Column) -> pyarrow.Array:
    """An Arrow array without what only concerns its storage: extensions, dictionaries, views, short offsets."""
    array = as_arrow(column)
    if isinstance(array, pyarrow.ExtensionArray):
        array = array.storage
    kind = array.type
    if types.is_dictionary(kind):
        return plain(array.dictionary).take(array.indices)
    if is_text(kind):
        return array.cast(pyarrow.large_string())
    if types.is_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return array.cast(pyarrow.large_binary())
    return array


def numbers(column: Column) -> Any:
    """Grades or scores, with decimals (which SQL makes of 0.5) and half floats as floats."""
    if isinstance(column, np.ndarray) or not hasattr(column, "type"):
        return column
    column = plain(column) if types.is_dictionary(column.type) else column
    return column.cast("float64") if types.is_decimal(column.type) or types.is_float16(column.type) else column


# -- ids -----------------------------------------------------------------------------------------------------


def is_whole(column: Column) -> bool:
    """Are the ids whole numbers."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iu"
    if isinstance(column, Strings):
        return False
    return bool(types.is_integer(stored(as_arrow(column).type)))


def as_text(column: Column) -> pyarrow.Array:
    """Ids as strings, whatever they are."""
    return plain(column).cast(pyarrow.large_string())


def take(column: Column | None, rows: Places | slice) -> Any:
    """Some rows of a column, if there is one."""
    if column is None:
        return None
    if isinstance(column, np.ndarray) or isinstance(rows, slice):
        return column[rows]
    return movable(column).take(as_arrow(rows))


def as_numpy(column: Column) -> Column:
    """A NumPy array on the same memory, where that is possible: slicing and joining them takes less."""
    if not isinstance(column, pyarrow.Array) or column.null_count or not is_number(column.type):
        return column
    if not len(column) or types.is_float16(column.type):
        return column
    found = np.frombuffer(column.buffers()[1], dtype=column.type.to_pandas_dtype())
    return found[column.offset : column.offset + len(column)]


def concatenated(columns: Sequence[Column]) -> Column:
    """Several columns as one, in memory of its own; of the first one's type where only storage differs."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    first, *others = (as_arrow(movable(column)) for column in columns)
    return one_piece(pyarrow.chunked_array([first, *(other.cast(first.type) for other in others)]))


def plain_ids(column: Column, at: Places | None = None) -> list[Any]:
    """Ids as Python values: all of a column's, or those of some rows."""
    if isinstance(column, Strings):
        return column.words((np.arange(len(column)) if at is None else at).tolist())
    ids = movable(column) if at is None else take(column, at)
    return ids.tolist()


def encoded(column: Column) -> tuple[pyarrow.Array, NDArray[np.int64]]:
    """The different values in the order of their first rows, and the number of each row's; -1: null."""
    found = plain(column).dictionary_encode()
    codes = found.indices.fill_null(-1) if found.indices.null_count else found.indices
    return found.dictionary, codes.to_numpy(zero_copy_only=False).astype(np.int64)


def distinct(column: Column) -> Sequence[Any]:
    """The ids that occur, as Python values."""
    return plain(column).unique().to_pylist()


def text_array(words: Sequence[str]) -> pyarrow.Array:
    """Strings as an Arrow array, however long they are together."""
    return one_piece(pyarrow.array(words, pyarrow.string()))


def as_ids(words: Pieces) -> pyarrow.Array:
    """Ids as int64 if every one is written as such (`12`, not `012`), else as the strings they are."""
    words = one_piece(words)
    try:
        whole = pc.cast(words, pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return words
    return whole if pc.all(pc.equal(pc.cast(whole, words.type), words)).as_py() else words


# -- frames --------------------------------------------------------------------------------------------------


def is_table(side: object) -> bool:
    """Does it hand over its columns by the Arrow protocol, or will it once it is collected."""
    return hasattr(side, "__arrow_c_stream__") or is_lazy(side) or is_spark(side)


def is_a(thing: object, library: str, name: str) -> bool:
    """Is it of a class of a library that may not even be installed."""
    loaded = sys.modules.get(library)
    return loaded is not None and isinstance(thing, getattr(loaded, name))


def is_lazy(frame: object) -> bool:
    """Is it a query of polars that was not run yet."""
    return is_a(frame, "polars", "LazyFrame")


def is_spark(frame: object) -> bool:
    """Is it a table on a cluster of Spark's."""
    return type(frame).__module__.startswith("pyspark.sql.") and hasattr(frame, "mapInArrow")


def refuse_spark(frame: object) -> None:
    """Stop at a table that may be larger than this machine."""
    if is_spark(frame):
        raise TypeError(
            "this is a Spark table, and reading it here would collect all of it: rs.spark.evaluate measures it where "
            "it is; to have it here, give table.toPandas()"
        )


def is_pandas(frame: object) -> bool:
    """Is it a frame of pandas."""
    return is_a(frame, "pandas", "DataFrame")


def arrow_table(frame: Frame) -> Table:
    """A frame of any library as a table of pyarrow, without an index of pandas that has no name."""
    refuse_spark(frame)
    table = pyarrow.table(frame.collect() if is_lazy(frame) else frame)
    return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])


def without_nan(table: Table) -> Table:
    """NaN as nothing; JSON and CSV have no word for it."""
    for at, column in enumerate(table.columns):
        if types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column)
            table = table.set_column(at, table.column_names[at], column)
    return table
