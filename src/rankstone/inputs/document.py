"""A JSON document of any size, an entry at a time: what is in its outermost braces or brackets."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from rankstone.errors import FileError

_BLANKS = " \t\n\r\ufeff"
_LONGEST = 1 << 20  # a text or a number; a document that is cut off inside of one is not broken


class Entry(NamedTuple):
    """One value, its key in an object, and the number of the line it begins in."""

    line: int
    key: str | None
    value: Any


class Document:
    """Goes through a document whose bytes come in pieces."""

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        self.name, self._pieces = name, pieces
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at = "", 0
        self._line, self._counted = 1, 0  # the number of a line, and up to where lines were counted

    def peek(self) -> str:
        """The next letter that is not blank; nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def entries(self) -> Iterator[Entry]:
        """What is in the object or the array that begins here."""
        opened = self._take("{[", "expected an object or an array")
        close = "}" if opened == "{" else "]"
        if self.peek() == close:
            self._at += 1
            return
        while True:
            key = None
            self.peek()
            line = self.line()
            if opened == "{":
                key = self._value()
                if not isinstance(key, str):
                    self._refuse(f"is not JSON: expected a key, found {key!r}")
                self._take(":", "expected ':'")
                self.peek()
            yield Entry(line, key, self._value())
            if self._take(f",{close}", f"expected ',' or '{close}'") == close:
                return

    def end(self) -> None:
        """Stop if there is more."""
        if self.peek():
            self._refuse("is not JSON: there is more after its end")

    def _take(self, letters: str, problem: str) -> str:
        found = self.peek()
        if not found or found not in letters:
            self._refuse(f"is not JSON: {problem}, found {found!r}" if found else "is not JSON: it ends too early")
        self._at += 1
        return found

    def _value(self) -> Any:
        while True:
            try:
                found, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:  # noqa: PERF203
                # What ends in the middle of it may only need more of the text, twice as much each time.
                good = error.pos - self._at
                if error.pos < len(self._text) - _LONGEST or not self._more(2 * (len(self._text) - self._at)):
                    self._at += good
                    self._refuse(f"is not JSON: {error.msg}")
            except (RecursionError, ValueError) as error:
                self._refuse(f"is not JSON: {error}")
            else:
                if end == len(self._text) and self._more():  # a number may go on
                    continue
                self._at = end
                return found

    def _more(self, size: int = 1) -> bool:
        """Read on, up to so many letters; False at the end."""
        self.line()
        text = [self._text[self._at :]]
        length = len(text[0])
        before = length
        while length < max(size, before + 1):
            piece = next(self._pieces, None)
            if piece is None:
                break
            text.append(self._decode(piece))
            length += len(text[-1])
        self._text, self._at, self._counted = "".join(text), 0, 0
        return length > before

    def line(self) -> int:
        """The number of the line where we are."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _refuse(self, problem: str) -> None:
        raise FileError(self.name, problem, self.line())
