"""Files: opening them, iterating over lines or batches, and reporting bad rows."""

from __future__ import annotations

import errno
import math
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from rankstone.data.arrow import Column
from rankstone.data.columns import BadLine, Columns, by_role
from rankstone.data.lists import Lists
from rankstone.data.roles import IDS, RoleMap
from rankstone.errors import FileError, NoRowsError, show


class FileData:
    """Bytes of an open file, read when they are used. Not mapped: a mapped file that is cut by others is a crash."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        about = os.fstat(self._file)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._size = about.st_size if stat.S_ISREG(about.st_mode) else 0

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    @cached_property
    def whole(self) -> bytes:
        """All of it, as it is now."""
        with open(os.dup(self._file), "rb") as file:
            return file.read()

    def __len__(self) -> int:
        return self._size or len(self.whole)

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(len(self))
        return os.pread(self._file, stop - start, start) if 0 < stop - start <= _BLOCK else self.whole[part]

    def part(self, start: int, stop: int) -> tuple[int, int, int] | memoryview:
        """Some of it for the core's parser, which reads regular files itself."""
        return (self._file, start, stop) if self._size else memoryview(self.whole)[start:stop]


Data = bytes | FileData

# Each character can be read in one way only, so that a long number that is none takes no longer than one that is.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
HEAD = 1 << 20  # bytes that are enough to detect a format
BATCH_BYTES = 1 << 24  # of text
BATCH_ROWS = 1 << 19  # of Parquet; larger batches take more memory, and no less time
WRITTEN_ROWS = 1 << 16  # at a time
_STORED = 100  # bad lines to store; the others are only counted

CODECS = {"gz": "gzip", "bz2": "bz2", "xz": "xz", "zst": "zstd"}  # by the ending of a file's name
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}


class RowError(Exception):
    """A bad row; the caller adds its line number."""


class IrregularError(Exception):
    """The fast path does not apply to this file; read it line by line."""


def ending_of(path: str) -> str:
    """The file extension, without that of the compression."""
    endings = os.path.basename(path).lower().split(".")[1:]
    while endings and endings[-1] in CODECS:
        endings.pop()
    return endings[-1] if endings else ""


class TextFile:
    """A file's bytes: decompressed, without a byte order mark, without blank lines at the end."""

    def __init__(self, name: str, data: Data, first: int = 1) -> None:
        self.name, self.data, self.first = name, data, first  # the number of the first line
        self.start = len(_BOM) if data[: len(_BOM)] == _BOM else 0
        self.end = _end(data)

    @property
    def whole(self) -> bytes:
        """All bytes, with the byte order mark and blank lines."""
        return self.data if isinstance(self.data, bytes) else self.data.whole

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return self.data[self.start : min(self.start + size, self.end)]

    def view(self, start: int | None = None) -> memoryview:
        """The bytes, not copied."""
        return memoryview(self.whole)[self.start if start is None else start : self.end]

    def parsed(self) -> memoryview | tuple[int, int, int]:
        """What the core's parser takes: the bytes, or where they are in an open file."""
        return self.view() if isinstance(self.data, bytes) else self.data.part(self.start, self.end)

    def lines(self, start: int | None = None, number: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Of each line: its number, where the next one starts, and its bytes without the newline."""
        at, number = self.start if start is None else start, self.first if number is None else number
        data = self.whole
        while at < self.end:
            stop = self.end
            if at + _BLOCK < self.end:  # a block that ends with a line
                newline = data.find(b"\n", at + _BLOCK, self.end)
                stop = newline if newline >= 0 else self.end
            for line in data[at:stop].split(b"\n"):
                at += len(line) + 1
                yield number, at, line
                number += 1


def open_text(path: str) -> TextFile:
    """A file, or standard input for `-`."""
    if path == "-":
        return TextFile("standard input", _decompressed("standard input", sys.stdin.buffer.read()))
    return TextFile(path, _decompressed(path, FileData(path)))


def _decompressed(name: str, data: Data) -> Data:
    if codec_of(data[:16]) is None:
        return data
    from pyarrow import BufferReader

    return Decompressed(name, BufferReader(data if isinstance(data, bytes) else data.whole)).read()


def codec_of(head: bytes) -> str | None:
    """How a file that starts like this is compressed."""
    return next((codec for codec, magic in _MAGIC.items() if magic.match(head)), None)


def head_of(name: str) -> bytes:
    """The first bytes, decompressed; whole lines where there are any."""
    with open(name, "rb") as file:
        data = Decompressed(name, file).read(HEAD)
    end = data.rfind(b"\n") + 1
    return data[:end] or data


class Decompressed:
    """Reads a file's bytes, decompressed if need be."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name, self.codec = name, codec_of(file.read(16))
        file.seek(0)
        self._failures: tuple[type[Exception], ...] = (OSError, EOFError, ValueError)  # Arrow's errors are among them
        if self.codec == "xz":
            import lzma

            self._source: Any = lzma.LZMAFile(file)  # noqa: SIM115  closed by the caller
            self._failures += (lzma.LZMAError,)
        elif self.codec is not None:
            from pyarrow import CompressedInputStream

            self._source = CompressedInputStream(file, self.codec)
        else:
            self._source = file

    def read(self, size: int | None = None) -> bytes:
        try:
            return bytes(self._source.read(size))
        except self._failures as error:
            raise FileError(self.name, f"cannot be decompressed as {self.codec}: {error}") from None


LONE_RETURN = "has a carriage return in it that is neither quoted nor the end of the line"


def with_newlines(text: TextFile) -> TextFile:
    """The same, where carriage returns alone end the lines."""
    head = text.head(HEAD)
    if b"\n" in head or b"\r" not in head or b"\n" in text.whole:
        return text
    return TextFile(text.name, text.whole.replace(b"\r", b"\n"), text.first)


def returns_inside(view: memoryview) -> bool:
    """Is there a carriage return that does not end a line."""
    for at in range(0, len(view), _BLOCK):
        block = np.frombuffer(view[at : at + _BLOCK + 1], np.uint8)
        returns = np.flatnonzero(block[:_BLOCK] == 13)
        if len(returns) and (returns[-1] + 1 == len(block) or (block[returns + 1] != 10).any()):
            return True
    return False


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


# -- batches -------------------------------------------------------------------------------------------------

Batch = tuple[Columns, int]  # rows, and how far into the file they go
Files = str | list[str]  # a folder, or the files that a pattern names
Opener = Callable[[str, Files, RoleMap], "Batches"]  # of a file's or a folder's name, the files in it, and columns


class Batches:
    """A run in batches. It can be gone through more than once."""

    def __init__(self, name: str, total: int, read: Callable[[], Iterator[Batch]]) -> None:
        self.name, self.total, self._read = name, total, read

    def __iter__(self) -> Iterator[Batch]:
        """Rows, and how much of the total is done with them. The next batches are read while this one is used."""
        from concurrent.futures import ThreadPoolExecutor  # imported late: most files are read at once

        batches, thread = self._read(), ThreadPoolExecutor(1)
        try:
            ahead = deque(thread.submit(next, batches, None) for _ in range(2))
            while (batch := ahead.popleft().result()) is not None:
                ahead.append(thread.submit(next, batches, None))
                yield batch
        finally:
            thread.shutdown(cancel_futures=True)


def in_pieces(parser: Callable[[str, RoleMap], Callable[[TextFile], Columns]], *, quotes: bool = False) -> Opener:
    """How a format of text is read in batches. parser: of a file's name and columns. quotes: no line ends in them."""

    def read(name: str, role_map: RoleMap) -> Iterator[Batch]:
        parse, line, has_rows = parser(name, role_map), 1, False
        for chunk, done in _chunks(name, quotes):
            text = TextFile(name, chunk, line)
            line += chunk.count(b"\n")
            try:
                rows = parse(text)
            except NoRowsError:
                continue
            has_rows = True
            yield rows, done
        if not has_rows:
            raise NoRowsError(name)

    return lambda name, files, role_map: Batches(name, os.path.getsize(name), lambda: read(name, role_map))


def _chunks(name: str, quotes: bool) -> Iterator[tuple[bytes, int]]:
    """Bytes cut at line ends, and how much of the file is read."""
    with open(name, "rb") as file:
        source = Decompressed(name, file)
        rest = b""
        while block := source.read(BATCH_BYTES):
            data = rest + block
            end = data.rfind(b"\n") + 1
            # A quote that is never closed would never end; the reader reports it.
            inside = quotes and len(data) < 4 * BATCH_BYTES and data.count(b'"', 0, end) % 2 == 1
            while inside and end:
                before = data.rfind(b"\n", 0, end - 1) + 1
                inside = data.count(b'"', before, end) % 2 == 0
                end = before
            chunk, rest = data[:end], data[end:]
            if chunk:
                yield chunk, file.tell()
        if rest:
            yield rest, file.tell()


class Entry(NamedTuple):
    """A value in a file: the number of its line, its key in an object, and the keys of the objects around it."""

    line: int
    key: str | None
    value: Any
    above: tuple[str, ...] = ()


# -- rows ----------------------------------------------------------------------------------------------------

Row = tuple[Any, ...]  # one value per role
ListRow = tuple[Any, list[Any], "list[float] | None"]  # query, items and values
Ids = Callable[[list[Any]], Column]  # makes a column of ids
T = TypeVar("T")
R = TypeVar("R")
Side = TypeVar("Side", bound=Columns | Lists)


class FileRows:
    """Rows of a file, and the bad ones among them."""

    def __init__(self, name: str, skip: bool) -> None:
        self.name, self.skip = name, skip
        self.skipped = 0
        self.bad: list[BadLine] = []

    def read(
        self, lines: Iterable[tuple[int, T]], roles: Sequence[str], parse: Callable[[T], Row], ids: Ids
    ) -> Columns:
        """Columns of the rows that `parse` makes of lines, their ids put together by `ids`."""
        rows = list(self.good(lines, parse))
        columns = {}
        for at, role in enumerate(roles):
            values = [row[at] for row in rows]
            columns[role] = ids(values) if role in IDS else np.array(values, dtype=np.float64)
        return self.side(by_role(columns))

    def read_lists(
        self, lines: Iterable[tuple[int, T]], parse: Callable[[T], ListRow], ids: Ids, *, ranks: bool
    ) -> Lists:
        """Lists of the rows that `parse` makes of lines; all of them have values, or none has."""
        queries: list[Any] = []
        items: list[Any] = []
        values: list[float] = []
        sizes = [0]
        valued: bool | None = None  # not yet decided

        def like_the_others(line: T) -> ListRow:
            nonlocal valued
            query, listed, numbers = parse(line)
            if listed and valued not in (None, numbers is not None):
                mixed = "no scores for its items" if valued else "scores for its items"
                raise RowError(f"query {show(query)} has {mixed}, unlike the queries before it")
            valued = numbers is not None if listed else valued
            return query, listed, numbers

        for query, listed, numbers in self.good(lines, like_the_others):
            queries.append(query)
            sizes.append(len(listed))
            items += listed
            values += numbers or ()
        return self.side(
            Lists(np.cumsum(sizes), ids(items), np.array(values) if valued else None, ids(queries), ranks=ranks)
        )

    def good(self, lines: Iterable[tuple[int, T]], parse: Callable[[T], R]) -> Iterator[R]:
        """The parsed good lines."""
        for number, line in lines:
            try:
                row = parse(line)
            except RowError as problem:  # noqa: PERF203
                self.reject(number, str(problem))
            else:
                yield row

    def reject(self, line: int, problem: str) -> None:
        """Raise at a bad line, or count and store it."""
        if not self.skip:
            raise FileError(self.name, problem, line) from None  # hide the error of the fast path
        self.skipped += 1
        if len(self.bad) < _STORED:
            self.bad.append(BadLine(line, problem))

    def side(self, side: Side) -> Side:
        """The same rows, with the count of bad lines."""
        if side.query is not None and len(side.query) == 0:
            if self.bad:
                raise FileError(
                    self.name, f"none of the {self.skipped} rows can be read; {self.bad[0].problem}", self.bad[0].line
                )
            raise NoRowsError(self.name)
        return replace(side, skipped=self.skipped, bad_lines=tuple(self.bad)) if self.bad else side


# -- values --------------------------------------------------------------------------------------------------


def to_number(text: str | bytes, role: str) -> float:
    """A grade or rank that is finite, or a score that is not NaN."""
    word = text if isinstance(text, str) else text.decode("utf-8", "replace")
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and word.isascii() and "_" not in word:  # Python reads 1_000 and other alphabets' digits
        return value
    word = word.strip(" \t")
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


def is_number(text: str | bytes) -> bool:
    """Could it be a score."""
    try:
        to_number(text, "score")
    except RowError:
        return False
    return True


def to_id(text: str | bytes, role: str) -> str:
    """An id: valid text, and not empty."""
    if isinstance(text, bytes):
        try:
            word = text.decode()
        except UnicodeDecodeError:
            raise RowError(f"{role} {show(text.decode('utf-8', 'replace'))} is not valid UTF-8") from None
    else:
        word = valid(text, role)
    if not word:
        raise RowError(f"{role} is missing")
    return word


def valid(word: str, role: str) -> str:
    """The same text, if all of it could be decoded."""
    if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
        raise RowError(f"{role} {show(word.encode('utf-8', 'replace').decode())} is not valid UTF-8")
    return word
