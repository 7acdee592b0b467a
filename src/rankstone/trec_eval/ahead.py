"""Reads and aligns on threads of their own: the files of a command while NumPy and the rest of the program are loaded.

Such a thread loads no module, NumPy least of all: two threads that load the same at once see halves of it.
"""

from __future__ import annotations

import _thread
import getopt
import mmap
import os
import sys
from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from rankstone import _core
from rankstone.errors import DataError

if TYPE_CHECKING:
    from rankstone.inputs.source import Align

T = TypeVar("T")
Data = bytes | mmap.mmap
Columns = tuple[Any, Any, Any, Any, Any, Any]  # query, item and grade; query, item and score


class Shape(NamedTuple):
    """What lines look like."""

    fields: str  # one letter each, as the core's parser has them
    comments: bool  # lines that start with # are none
    blanks: bool = False  # nor are empty lines
    more: bool = False  # fields may follow the last


QRELS = Shape("q-iw", comments=True)
RESULTS = Shape("q-i-n-", comments=True, blanks=True, more=True)

SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = {
    "help": "-h",
    "version": "-v",
    "query_eval_wanted": "-q",
    "measure=": "-m",
    "complete_rel_info_wanted": "-c",
    "level_for_rel=": "-l",
    "nosummary": "-n",
    "Debug_level=": "-D",
    "Judged_docs_only": "-J",
    "Number_docs_in_coll=": "-N",
    "Max_retrieved_per_topic=": "-M",
    "Rel_info_format=": "-R",
    "Results_format=": "-T",
    "Output_old_results_format=": "-o",
    "Zscore=": "-Z",
}


class BadFile(Exception):  # noqa: N818  it says what is the matter
    """A file that cannot be read, or a line of it that makes no sense."""


def split(argv: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options, by their letters, and the paths."""
    found, paths = getopt.gnu_getopt(argv, SHORT, [*LONG, "version-like="])
    letters = {f"--{name.rstrip('=')}": letter for name, letter in LONG.items()}
    return [(letters.get(name, name), value) for name, value in found], paths


class Later(Generic[T]):
    """What a function returns, or raises, that runs on a thread of its own."""

    def __init__(self, function: Callable[..., T], *arguments: object) -> None:
        self._found: T | Exception
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _thread.start_new_thread(self._run, (function, arguments))

    def _run(self, function: Callable[..., T], arguments: tuple[object, ...]) -> None:
        try:
            self._found = function(*arguments)
        except Exception as error:
            self._found = error
        finally:
            self._done.release()

    def outcome(self) -> T | Exception:
        """What it returned, or raised."""
        with self._done:
            return self._found

    def result(self) -> T:
        """What it returned; raises what it raised."""
        found = self.outcome()
        if isinstance(found, Exception):
            raise found
        return found


_begun: dict[tuple[str, Shape], Later[tuple[Data, Any]]] = {}  # files
_aligning: list[Later[tuple[Columns, Align, _core.Alignment | DataError]]] = []


def begin(argv: list[str]) -> None:
    """Begin to read the files of a command, if it is plain which they are and what is in them."""
    try:
        options, paths = split(argv)
    except getopt.GetoptError:
        return
    unlike = {"-h", "-v", "-R", "-T", "--version-like"} & {name for name, _ in options}
    if len(paths) == 2 and not unlike and "-" not in paths:
        _begun.update({key: Later(_parse, *key) for key in ((paths[0], QRELS), (paths[1], RESULTS))})


def go_on(how: Align) -> None:
    """Begin to align what is being read; NumPy must be there."""
    if _begun:
        _begun.update({key: Later(_read, text) for key, text in _begun.items()})
        _aligning.append(Later(_align, *_begun.values(), how))


def parsed(path: str, shape: Shape) -> tuple[Data, Any]:
    """What a file holds, and what the core makes of it: begun before, or now."""
    begun = _begun.pop((path, shape), None)
    data, text = _parse(path, shape) if begun is None else begun.result()
    return data, text.columns() if isinstance(text, _core.Text) else text


def align(columns: Columns, how: Align) -> _core.Alignment:
    """Judgments and results brought together: begun before, or now."""
    begun = _aligning.pop().outcome() if _aligning else None
    if isinstance(begun, tuple) and begun[1] == how and all(map(is_, begun[0], columns)):
        if isinstance(begun[2], DataError):
            raise begun[2]
        return begun[2]
    return _core.align_columns(*columns, how)


def _read(text: Later[tuple[Data, _core.Text]]) -> tuple[Data, Any]:
    data, found = text.result()
    return data, found.columns()


def _align(
    qrels: Later[tuple[Data, Any]], results: Later[tuple[Data, Any]], how: Align
) -> tuple[Columns, Align, _core.Alignment | DataError]:
    (_, (judged, grades)), (_, (returned, scores)) = qrels.result(), results.result()
    columns: Columns = (*judged, *grades, *returned, *scores)  # fails where a line needs a closer look
    try:
        return columns, how, _core.align_columns(*columns, how)
    except DataError as error:
        return columns, how, error


def _parse(path: str, shape: Shape) -> tuple[Data, _core.Text]:
    data = _content(path)
    return data, _core.Text(data, utf8=False, **shape._asdict())


def _content(path: str) -> Data:
    try:
        if path == "-":
            data: Data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                mapped = os.fstat(file.fileno()).st_size > 0
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else file.read()
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror}") from None
    if not data:
        raise BadFile(f"cannot read {path}: it is empty")
    return data
