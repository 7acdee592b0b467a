"""Files in batches, for what does not fit in memory: text is cut at line ends, and the next batch is read meanwhile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial

from rankstone.data.columns import Columns
from rankstone.data.lines import Decompressed, Text
from rankstone.data.roles import Given
from rankstone.errors import FileError, NoRowsError

ROWS = 1 << 19  # in a batch of Parquet; larger ones take more memory, and no less time
BYTES = 1 << 24  # in a batch of text
HEAD = 1 << 20  # bytes that tell a format

# Rows, and how far into the file they go.
Batch = tuple[Columns, int]


class Batches:
    """A run in batches. It can be gone through more than once."""

    def __init__(self, name: str, total: int, read: Callable[[], Iterator[Batch]]) -> None:
        self.name, self.total, self._read = name, total, read

    def __iter__(self) -> Iterator[Batch]:
        """Rows, and how much of the total is done with them. The next batch is read while this one is used."""
        return _ahead(self._read())


# -- text ----------------------------------------------------------------------------------------------------

Parser = Callable[[Text], "Columns | None"]  # None: there is no row in it
Files = str | list[str]  # a folder, or the files that a pattern names
Opener = Callable[[str, Files, Given], Batches]  # of a file's or a folder's name, the files in it, and columns


def in_pieces(parser: Callable[[str, Given], Parser], *, quotes: bool = False) -> Opener:
    """How a format of text is read in batches. parser: of a file's name and columns. quotes: no line ends in them."""

    def opened(name: str, files: Files, given: Given) -> Batches:
        size = os.path.getsize(name)
        return Batches(name, size, lambda: _parsed(name, _chunks(name, quotes), parser(name, given)))

    return opened


def _parsed(name: str, chunks: Iterator[tuple[bytes, int]], parse: Parser) -> Iterator[Batch]:
    line, some = 0, False
    for chunk, done in chunks:
        try:
            rows = _some(partial(parse, Text(name, chunk)))
        except FileError as error:
            if error.line is None:
                raise
            raise FileError(error.path, error.problem, line + error.line) from None
        line += chunk.count(b"\n")
        if rows is not None:
            some = True
            yield rows, done
    if not some:
        raise NoRowsError(name)


def _some(read: Callable[[], Columns | None]) -> Columns | None:
    try:
        return read()
    except NoRowsError:
        return None


def _chunks(name: str, quotes: bool) -> Iterator[tuple[bytes, int]]:
    """Bytes cut at line ends, and how much of the file is read."""
    with open(name, "rb") as file:
        source = Decompressed(name, file)
        rest = b""
        while block := source.read(BYTES):
            data = rest + block
            end = data.rfind(b"\n") + 1
            # A quote that is never closed would go on for ever; the reader says where it is.
            inside = quotes and len(data) < 4 * BYTES and data.count(b'"', 0, end) % 2 == 1
            while inside and end:
                before = data.rfind(b"\n", 0, end - 1) + 1
                inside = data.count(b'"', before, end) % 2 == 0
                end = before
            chunk, rest = data[:end], data[end:]
            if chunk:
                yield chunk, file.tell()
        if rest:
            yield rest, file.tell()


def head_of(name: str) -> bytes:
    """The first bytes, decompressed; whole lines where there are any."""
    with open(name, "rb") as file:
        data = Decompressed(name, file).read(HEAD)
    end = data.rfind(b"\n") + 1
    return data[:end] or data


# -- reading ahead -------------------------------------------------------------------------------------------


def _ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same, with the next one read in a thread of its own meanwhile."""
    import queue  # a quick start: most files are read at once
    import threading

    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(read: Batch | BaseException | None) -> None:
        waiting = True
        while waiting and not stop.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(read, timeout=0.1)
                waiting = False

    def run() -> None:
        try:
            for batch in batches:
                put(batch)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:  # handed over, and raised there
            put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (got := ready.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got
    finally:
        stop.set()
        thread.join()
