"""Text files: opening them, going through their lines, and saying what is wrong with one."""

from __future__ import annotations

import math
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from rankstone.errors import FileError, NoRowsError
from rankstone.inputs.columns import BadLine, Columns

Data = bytes | mmap.mmap

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_KEPT = 100  # bad lines to remember; the others are only counted
_TEXT_LIMIT = 2**31 - 1  # bytes that one Arrow array of strings can hold

_COMPRESSED = (
    (re.compile(rb"\x1f\x8b"), "gzip"),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), "bz2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd"),
)


class RowError(Exception):
    """What is wrong with one row; whoever goes through the lines knows which."""


class IrregularError(Exception):
    """The quick way does not suit this file; go line by line."""


class Text:
    """A file's bytes: decompressed, without a byte order mark, without blank lines at the end."""

    def __init__(self, name: str, data: Data) -> None:
        self.name, self.data = name, data
        self.start = len(_BOM) if data[: len(_BOM)] == _BOM else 0
        self.end = _end(data)

    def view(self, start: int | None = None) -> memoryview:
        """The bytes, not copied."""
        return memoryview(self.data)[self.start if start is None else start : self.end]

    def lines(self, start: int | None = None, number: int = 1) -> Iterator[tuple[int, int, bytes]]:
        """Of each line: its number, where the next one starts, and its bytes without the newline."""
        at = self.start if start is None else start
        while at < self.end:
            stop = self.end
            if at + _BLOCK < self.end:  # a block that ends with a line
                found = self.data.find(b"\n", at + _BLOCK, self.end)
                stop = found if found >= 0 else self.end
            for line in self.data[at:stop].split(b"\n"):
                at += len(line) + 1
                yield number, at, line
                number += 1


def open_text(path: str) -> Text:
    """A file, or standard input for `-`."""
    if path == "-":
        return Text("standard input", _decompressed("standard input", sys.stdin.buffer.read()))
    with open(path, "rb") as file:
        return Text(path, _decompressed(path, _contents(file)))


def _contents(file: BinaryIO) -> Data:
    about = os.fstat(file.fileno())
    if stat.S_ISREG(about.st_mode) and about.st_size:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return file.read()


def _decompressed(name: str, data: Data) -> Data:
    head = data[:16]
    codec = next((codec for magic, codec in _COMPRESSED if magic.match(head)), None)
    if codec is None:
        return data
    import lzma

    import pyarrow

    try:
        if codec == "xz":
            return lzma.decompress(data)
        return pyarrow.CompressedInputStream(pyarrow.BufferReader(data), codec).read()
    except (OSError, EOFError, lzma.LZMAError, pyarrow.ArrowException) as error:
        raise FileError(name, f"cannot be decompressed as {codec}: {error}") from None


def _end(data: Data) -> int:
    end = len(data)
    while end:
        start = max(0, end - _BLOCK)
        block = data[start:end].rstrip(b"\r\n")
        if block:
            return start + len(block)
        end = start
    return 0


def count_lines(view: memoryview) -> int:
    """How many lines, blank ones too."""
    blocks = (np.frombuffer(view[at : at + _BLOCK], np.uint8) for at in range(0, len(view), _BLOCK))
    return sum(int(np.count_nonzero(block == 10)) for block in blocks) + (len(view) > 0)


class Rows:
    """Rows read one at a time, and the bad ones among them."""

    def __init__(self, name: str, role: str | None, skip: bool) -> None:
        self.name, self.role, self.skip = name, role, skip
        self.query: list[Any] = []
        self.item: list[Any] = []
        self.value: list[float] = []
        self.skipped = 0
        self.bad: list[BadLine] = []

    def refuse(self, line: int, problem: str) -> None:
        """Stop at a bad line, or remember it."""
        if not self.skip:
            raise FileError(self.name, problem, line)
        self.skipped += 1
        if len(self.bad) < _KEPT:
            self.bad.append(BadLine(line, problem))

    def columns(self, query: Any, item: Any, value: Any) -> Columns:
        """The rows as columns."""
        if len(query) == 0:
            if self.bad:
                raise FileError(
                    self.name, f"none of the {self.skipped} rows can be read; {self.bad[0].problem}", self.bad[0].line
                )
            raise NoRowsError(self.name)
        return as_read(query, item, value, self.role, self.skipped, tuple(self.bad))


def as_read(
    query: Any, item: Any, value: Any, role: str | None, skipped: int = 0, bad: tuple[BadLine, ...] = ()
) -> Columns:
    """Columns of a truth or a run; a rank becomes the score -rank."""
    if role == "rank":
        role, value = "score", -np.asarray(value, dtype=np.float64)
    named = {} if role is None else {role: value}
    return Columns(query, item, **named, skipped=skipped, bad_lines=bad)


def to_number(text: str | bytes, role: str) -> float:
    """A grade or rank that is finite, or a score that is not NaN."""
    word = text if isinstance(text, str) else text.decode("utf-8", "replace")
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and word.isascii() and "_" not in word:  # Python reads 1_000 and other alphabets' digits
        return value
    return _odd_number(word.strip(" \t"), role)


def _odd_number(word: str, role: str) -> float:
    if not word:
        raise RowError(f"{role} is missing")
    if not _NUMBER.fullmatch(word):
        raise RowError(f"{role} {show(word)} is not a number")
    return check_number(float(word), role, word)


def check_number(value: float, role: str, word: str) -> float:
    """The same number, if the role can take it."""
    if math.isnan(value):
        raise RowError(f"{role} {show(word)} is not a number")
    if math.isinf(value) and "inf" not in word.lower():
        raise RowError(f"{role} {show(word)} is too large")
    if math.isinf(value) and role != "score":
        raise RowError(f"{role} {show(word)} is not finite")
    return value


def to_id(text: str | bytes, role: str) -> str:
    """An id: valid text, and not empty."""
    if isinstance(text, bytes):
        try:
            word = text.decode()
        except UnicodeDecodeError:
            raise RowError(f"{role} {show(text.decode('utf-8', 'replace'))} is not valid UTF-8") from None
    else:
        word = text
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            shown = word.encode("utf-8", "replace").decode()
            raise RowError(f"{role} {show(shown)} is not valid UTF-8")
    if not word:
        raise RowError(f"{role} is missing")
    return word


def show(word: object) -> str:
    """A value in an error, cut if it is long."""
    text = repr(word)
    return text if len(text) <= 60 else f"{text[:50]}...{text[-1]}"


def one_piece(column: Any) -> Any:
    """An Arrow array of what may be in chunks."""
    import pyarrow

    if isinstance(column, pyarrow.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pyarrow.types.is_string(column.type) and column.nbytes > _TEXT_LIMIT:
        column = column.cast(pyarrow.large_string())
    return pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)


def text_array(words: list[str]) -> Any:
    """Strings as an Arrow array, however long they are together."""
    import pyarrow

    made = pyarrow.array(words, pyarrow.string())
    return made if isinstance(made, pyarrow.Array) else one_piece(made)


def as_ids(words: Any) -> Any:
    """Ids as int64 if every one is written as such (`12`, not `012`), else as the strings they are."""
    import pyarrow
    import pyarrow.compute as pc

    words = one_piece(words)
    try:
        numbers = pc.cast(words, pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return words
    return numbers if pc.all(pc.equal(pc.cast(numbers, words.type), words)).as_py() else words
