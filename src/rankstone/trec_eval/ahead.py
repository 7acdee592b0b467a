"""Parses files on threads of their own: those of a command while NumPy and the rest of the program are loaded.

Such a thread loads no module, NumPy least of all: two threads that load the same at once see halves of it.
"""

from __future__ import annotations

import _thread
import getopt
import mmap
import os
import sys
from typing import Any, NamedTuple

from rankstone import _core

Data = bytes | mmap.mmap


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


class Parsing:
    """A file that is parsed on a thread of its own."""

    def __init__(self, path: str, shape: Shape) -> None:
        self._path, self._shape = path, shape
        self._found: tuple[Data, _core.Text] | Exception
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._found = _parse(self._path, self._shape)
        except Exception as error:
            self._found = error
        finally:
            self._done.release()

    def result(self) -> tuple[Data, _core.Text]:
        """What the file holds."""
        self._done.acquire()
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


_begun: dict[tuple[str, Shape], Parsing] = {}


def begin(argv: list[str]) -> None:
    """Begin with the files of a command, if it is plain which they are and what is in them."""
    try:
        options, paths = split(argv)
    except getopt.GetoptError:
        return
    unlike = {"-h", "-v", "-R", "-T", "--version-like"} & {name for name, _ in options}
    if len(paths) == 2 and not unlike and "-" not in paths:
        _begun.update({key: Parsing(*key) for key in ((paths[1], RESULTS), (paths[0], QRELS))})


def parsed(path: str, shape: Shape) -> tuple[Data, Any]:
    """What a file holds, and what the core makes of it: begun before, or now."""
    begun = _begun.pop((path, shape), None)
    data, text = _parse(path, shape) if begun is None else begun.result()
    return data, text.columns()


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
