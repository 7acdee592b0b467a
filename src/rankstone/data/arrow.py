"""Arrow columns: contiguous, in a plain type, as ids; and the frames that provide them.

Details of storage end here: chunks, dictionaries, string views, 32-bit offsets. Frame libraries are never imported: a
user with such a frame has loaded its library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone._core import Strings, invalid_row
from rankstone.errors import (
    DataError,
    DataTypeError,
    InputError,
    InputTypeError,
    RankstoneError,
    check_not_text,
    unencodable,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pyarrow
    from pyarrow import types

    from rankstone import typing

    pc = pyarrow.compute
else:

    class Lazy:
        """A module that is imported on first use: a TREC file or a dict needs no pyarrow."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            self.__dict__[name] = value = getattr(import_module(self._name), name)
            return value

    pyarrow, pc, types = map(Lazy, ("pyarrow", "pyarrow.compute", "pyarrow.types"))

Kind: TypeAlias = "pyarrow.DataType"  # pyarrow.int64()
# In one piece: np.array([7, 8]), pyarrow.array(["a", "b"]), or the core's Strings, which are Arrow-compatible.
Column: TypeAlias = "NDArray[Any] | pyarrow.Array"
Pieces: TypeAlias = "pyarrow.Array | pyarrow.ChunkedArray"  # pyarrow.chunked_array([["a", "b"], ["c"]])
Table: TypeAlias = "pyarrow.Table"  # pyarrow.table({"query": ["u1"], "item": ["a"]})
# polars.DataFrame({"query": ["u1"], "item": ["a"]}), or any other Arrow-compatible table
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
    check_not_text(values, f"column {name!r}")
    if hasattr(values, "detach") or isinstance(values, np.ma.MaskedArray):  # of torch, or masked
        values = as_array(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        if values.ndim != 1:
            raise InputError(f"column {name!r} has shape {values.shape}; it must have one dimension")
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if hasattr(values, "__arrow_c_array__"):
        return values if isinstance(values, Strings) else flat_dictionary(check_arrow(name, pyarrow.array(values)))
    with convertible(f"column {name!r}"):
        if hasattr(values, "__arrow_c_stream__"):
            return flat_dictionary(one_piece(check_arrow(name, pyarrow.chunked_array(values))))
        return flat_dictionary(one_piece(pyarrow.array(values)))


@contextmanager
def convertible(what: str) -> Iterator[None]:
    """Errors of Arrow's conversions as ours; what: the data."""
    try:
        yield
    except RankstoneError:
        raise
    except UnicodeEncodeError as error:
        raise DataTypeError(f"{what}: {unencodable(error)}", "id") from None
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        problem = error.args[-1] if len(error.args) > 1 else error
        raise DataTypeError(
            f"{what}: {problem}; a column holds numbers of up to 64 bits, or valid text, not several types", "id"
        ) from None


def flat_dictionary(column: pyarrow.Array) -> pyarrow.Array:
    """The column, where a dictionary of a dictionary is the values themselves."""
    return plain(column) if types.is_dictionary(stored(column.type)) else column


def check_arrow(name: str, column: Any) -> Any:
    """The column, if its buffers have the size and its offsets, views and indices the range that they must have."""
    if isinstance(column, Strings):
        return column
    chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    before = 0
    for chunk in chunks:
        row = -1
        try:
            if isinstance(chunk, pyarrow.Array):
                chunk.validate()
                row = invalid_row(chunk)
            problem = f"row {before + row} points outside of its memory" if row >= 0 else ""
        except pyarrow.ArrowInvalid as error:
            problem = str(error)
        if problem:
            raise DataError(
                f"column {name!r} is not a valid Arrow array: {problem}; validate(full=True) of the array has details",
                "shape",
                row=None if row < 0 else before + row,
            )
        before += len(chunk)
    return column


PADDING = -100  # the label of what is no item, as torch has it


def as_array(data: Any) -> NDArray[Any]:
    """A NumPy array; a tensor is taken off its device and out of its graph."""
    if hasattr(data, "detach"):
        data = data.detach().cpu()
    check_unmasked(data)
    return np.asarray(data)


def check_unmasked(data: object) -> None:
    """Raise for a masked array, whose mask NumPy's functions do not read."""
    if np.ma.is_masked(data):
        raise DataTypeError("a masked array hides values: pass its data, and mask=~array.mask for matrices", "missing")


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
    with convertible("a column"):
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
    values = np.frombuffer(column.buffers()[1], dtype=column.type.to_pandas_dtype())
    return values[column.offset : column.offset + len(column)]


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
    with convertible("a column"):
        dictionary = plain(column).dictionary_encode()
    codes = dictionary.indices.fill_null(-1) if dictionary.indices.null_count else dictionary.indices
    return dictionary.dictionary, codes.to_numpy(zero_copy_only=False).astype(np.int64)


def distinct(column: Column) -> Sequence[Any]:
    """The ids that occur, as Python values."""
    with convertible("ids"):
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
    """Does it have the Arrow protocol, now or once it is collected."""
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


def check_not_spark(frame: object) -> None:
    """Raise for a Spark table, which may be larger than memory."""
    if is_spark(frame):
        raise InputTypeError(
            "a Spark table would be collected into memory: use rs.spark.evaluate, which runs on the cluster, or "
            "pass table.toPandas()"
        )


def is_pandas(frame: object) -> bool:
    """Is it a frame of pandas."""
    return is_a(frame, "pandas", "DataFrame")


def arrow_table(frame: Frame) -> Table:
    """A frame of any library as a table of pyarrow, without an index of pandas that has no name."""
    check_not_spark(frame)
    names = list(getattr(frame, "columns", ())) if is_pandas(frame) else []
    for name in (name for name in names if names.count(name) > 1):
        raise DataError(f"the table has {names.count(name)} columns called {name!r}; rename one", "shape")
    if hasattr(frame, "to_frame"):
        raise DataTypeError(f"a {type(frame).__name__} is one column; pass a frame or a dict with all columns", "shape")
    with convertible("the table"):
        table = pyarrow.table(frame.collect() if is_lazy(frame) else frame)
    for name, column in zip(table.column_names, table.columns, strict=True):
        check_arrow(name, column)
    return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])


def without_nan(table: Table) -> Table:
    """NaN as null; JSON and CSV cannot represent it."""
    for at, column in enumerate(table.columns):
        if types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column)
            table = table.set_column(at, table.column_names[at], column)
    return table
