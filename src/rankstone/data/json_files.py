"""JSON: one object per line, an array of objects, or one object with an entry per query.

A row has an item, or a list of them. A document that is not in lines is read an entry at a time, so it may be large.
"""

from __future__ import annotations

import codecs
import itertools
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from rankstone.data import lines
from rankstone.data.arrow import Column, Table, convertible, one_piece, text_array, without_nan
from rankstone.data.columns import Columns, by_role
from rankstone.data.lines import (
    Batch,
    Batches,
    Decompressed,
    Entry,
    FileRows,
    Files,
    IrregularError,
    Row,
    RowError,
    TextFile,
    check_number,
    count_lines,
    in_pieces,
    valid,
)
from rankstone.data.lists import Lists
from rankstone.data.roles import IDS, ROLES, RoleMap, by_name, find, find_inside, value_role
from rankstone.data.tables import as_batch, from_table, side_of
from rankstone.errors import Advice, FileError, NoRowsError, show

_BLOCK = 16 << 20
_ENTRIES = 100  # that are enough to detect the layout of a document
_BLANKS = " \t\n\r\ufeff"
_LONGEST = 1 << 20  # a text or a number; a document that is cut off inside of one is not broken

Contents = tuple[list[Any], "list[float] | None"]  # items, and their grades or scores
Numbered = tuple[int, Any]  # of a line or an entry: its number, and what is in it


# -- a document of any size, an entry at a time --------------------------------------------------------------


_ESCAPED_KEY = re.compile(rb'\\u[^"]*"\s*:')
_TWICE = "an object has twice the key"


class _TwiceError(ValueError):
    """A key is in an object twice."""


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its keys and values, each key once."""
    out = dict(pairs)
    if len(out) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _TwiceError(f"{_TWICE} {twice!r}")
    return out


class Document:
    """Goes through a document whose bytes come in pieces."""

    def __init__(self, name: str, pieces: Iterator[bytes], first: int = 1, checked: bool = True) -> None:
        self.name, self._pieces = name, pieces
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._scan = json.JSONDecoder(object_pairs_hook=distinct_keys if checked else None).raw_decode
        self._text, self._at = "", 0
        self._line, self._counted = first, 0  # the number of a line, and up to where lines were counted

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
        return (Entry(line, key, self._value()) for line, key in self._members())

    def walk(self, path: Sequence[str], keys: tuple[str, ...] = ()) -> Iterator[Entry]:
        """The values at a path of keys, where `*` is every key or place; all else is skipped. keys: those above."""
        if not path:
            self.peek()
            yield Entry(self.line(), keys[-1] if keys else None, self._value(), keys[:-1])
        elif self.peek() not in ("{", "["):
            self._value()
        else:
            for _, name in self._members():
                if path[0] in ("*", name):
                    yield from self.walk(path[1:], keys if name is None else (*keys, name))
                else:
                    self._value()

    def _members(self) -> Iterator[tuple[int, str | None]]:
        """Line and key of each member of the object or array that begins here; the caller reads the value."""
        opened = self._take("{[", "expected an object or an array")
        close = "}" if opened == "{" else "]"
        keys: set[str] = set()
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
                    self._fail(f"is not JSON: expected a key, found {key!r}")
                if key in keys:
                    self._fail(f"{_TWICE} {key!r}")
                keys.add(key)
                self._take(":", "expected ':'")
                self.peek()
            yield line, key
            if self._take(f",{close}", f"expected ',' or '{close}'") == close:
                return

    def end(self) -> None:
        """Stop if there is more."""
        if self.peek():
            self._fail("is not JSON: there is more after its end")

    def _take(self, letters: str, problem: str) -> str:
        letter = self.peek()
        if not letter or letter not in letters:
            self._fail(f"is not JSON: {problem}, found {letter!r}" if letter else "is not JSON: it ends too early")
        self._at += 1
        return letter

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:  # noqa: PERF203
                # What ends in the middle of it may only need more of the text, twice as much each time.
                good = error.pos - self._at
                if error.pos < len(self._text) - _LONGEST or not self._more(2 * (len(self._text) - self._at)):
                    self._at += good
                    self._fail(f"is not JSON: {error.msg}")
            except _TwiceError as error:
                self._fail(str(error))
            except (RecursionError, ValueError) as error:
                self._fail(f"is not JSON: {error}")
            else:
                if end == len(self._text) and self._more():  # a number may go on
                    continue
                self._at = end
                return value

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

    def _fail(self, problem: str) -> None:
        raise FileError(self.name, problem, self.line())


def which_json(head: bytes) -> str:
    """What a file that begins so holds: "jsonl" for objects that are rows, or "json" for an entry for each query."""
    document = Document("", iter((head,)))
    if document.peek() != "{":
        return "jsonl"
    line, count = document.line(), 0
    try:
        for count, entry in enumerate(document.entries(), 1):
            if entry.line > line or count == _ENTRIES:
                return "json"
            if not isinstance(entry.value, (dict, list)):  # a row has at least an id
                return "jsonl"
        return "jsonl" if document.peek() == "{" else "json"
    except FileError:  # broken, or longer than this
        return "json" if count or len(head) >= lines.HEAD or document.line() > line else "jsonl"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},]', re.DOTALL)


def sample_of(head: bytes) -> Any:
    """The value that a file begins with, as far as its first bytes go; None if it is no JSON."""
    text = head.decode("utf-8", "replace").lstrip(_BLANKS)
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    opened: list[str] = []
    cut = 0, ""  # the last comma, and what closes the text before it
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            opened.append("}" if token[0] == "{" else "]")
        elif token[0] in "}]":
            del opened[-1:]
        elif token[0] == ",":
            cut = token.start(), "".join(reversed(opened))
    try:
        return json.loads(text[: cut[0]] + cut[1])
    except (ValueError, RecursionError):
        return None


def entries_at(text: TextFile, path: Sequence[str], checked: bool = True) -> Iterator[Entry]:
    """The values at a path of a document, or of each of several that follow one another, as lines do.

    checked: raise for a key that is twice in one of the objects there.
    """
    document = Document(text.name, _pieces(text), text.first, checked)
    while document.peek():
        yield from document.walk(path)


def _pieces(text: TextFile) -> Iterator[bytes]:
    size = lines.BATCH_BYTES
    return (text.whole[at : min(at + size, text.end)] for at in range(text.start, text.end, size))


def read_columns(text: TextFile, kind: str, columns: Callable[..., Mapping[str, object]]) -> Columns | Lists:
    """A document that is a table; columns: those of the document, by name."""
    try:
        document = _object(bytes(text.view()))
        with convertible("a column"):
            return from_table(pyarrow.table(dict(columns(document))), kind, None)
    except (RowError, ValueError, TypeError) as error:
        raise FileError(text.name, str(error)) from None


# -- a query's items: ids, {item: score}, pairs [item, score], or objects with an id and a score -------------


def contents_of(value: object, kind: str, inside: dict[str, str]) -> Contents:
    """Items, and grades or scores if there are any. A rank becomes the score -rank. inside: of objects."""
    role = ROLES[kind][2]
    if isinstance(value, dict):
        return item_ids(list(value)), to_numbers(list(value.values()), role)
    if not isinstance(value, list):
        raise RowError(f"expected a list of items or {{item: {role}}}, found {show(value)}")
    if not value or not isinstance(value[0], (dict, list)):
        return item_ids(value), None
    return _objects(value, inside) if isinstance(value[0], dict) else _pairs(value, role)


def _pairs(value: list[Any], role: str) -> Contents:
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise RowError(f"expected [item, {role}], found {show(pair)}")
    return item_ids([item for item, _ in value]), to_numbers([number for _, number in value], role)


def _objects(value: list[Any], names: dict[str, str]) -> Contents:
    for one in value:
        for name in names.values():
            if not (isinstance(one, dict) and name in one):
                raise RowError(f"{show(one)} has no {name!r}")
    items, role = item_ids([one[names["item"]] for one in value]), value_role(names)
    if role is None:
        return items, None
    numbers = to_numbers([one[names[role]] for one in value], role)
    return items, [-rank for rank in numbers] if role == "rank" else numbers


def item_ids(values: list[Any]) -> list[Any]:
    """Ids of items, checked."""
    kinds = set(map(type, values))
    if kinds == {int} or (kinds == {str} and "".join(values).isascii()):  # as most are
        return values
    return [to_id(value, "item") for value in values]


def to_numbers(values: list[Any], role: str) -> list[float]:
    """Each of them as `to_number` has it."""
    if set(map(type, values)) == {float} and all(map(math.isfinite, values)):  # as most are
        return values
    return [to_number(value, role) for value in values]


def to_id(value: object, role: str) -> int | str:
    """An id: a whole number or valid text."""
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise RowError(f"{role} {show(value)} is neither a whole number nor a string")
    return valid(value, role)


def to_number(value: object, role: str) -> float:
    """A grade or rank that is finite, or a score that is not NaN."""
    if not isinstance(value, (int, float)):
        raise RowError(f"{role} {show(value)} is not a number")
    try:
        return check_number(float(value), role, str(value))
    except OverflowError:
        raise RowError(f"{role} {show(value)} is too large") from None


def id_column(ids: Sequence[int | str]) -> Column:
    """Whole numbers if all of them are, else strings."""
    if all(type(name) is int and -(2**63) <= name < 2**63 for name in ids):
        return pyarrow.array(ids, pyarrow.int64())
    return text_array(list(map(str, ids)))


# -- rows ----------------------------------------------------------------------------------------------------


class Reader:
    """Reads a truth or a run, whole or in chunks; the first object determines the roles of the columns.

    queries: it is one object with an entry per query, `{query: {item: score}}` or with a list of items, best first.
    """

    def __init__(self, name: str, kind: str, role_map: RoleMap, skip: bool = False, *, queries: bool = False) -> None:
        self.name, self.kind, self.role_map, self.skip, self.queries = name, kind, role_map, skip, queries
        self.first: dict[str, Any] = {"query": "", "item": []} if queries else {}
        self.names = {role: role for role in self.first}
        self.inside: dict[str, str] = {}  # of the objects in a list, by role

    def __call__(self, text: TextFile) -> Columns | Lists:
        """The rows of a text."""
        if self.queries or (not self.names and _is_array(text)):
            side = self.read(self.begin(self.entries(_pieces(text))))
        else:
            rows = self.begin((number, line) for number, _, line in text.lines() if line.strip())
            try:
                side = _quick(text, self.names, self.first)
            except IrregularError:
                side = self.read(rows)
        return replace(side, names={**self.names, **self.inside})

    def entries(self, pieces: Iterator[bytes]) -> Iterator[Numbered]:
        """The rows of a document."""
        document = Document(self.name, pieces)
        entries = document.entries()
        if self.queries:
            first = list(itertools.islice(entries, _ENTRIES))
            _check_columns(self.name, [str(entry.key) for entry in first], self.kind)
            entries = itertools.chain(first, entries)
        for line, key, value, _ in entries:
            yield line, {"query": key, "item": value} if self.queries else value
        document.end()

    def begin(self, rows: Iterator[Numbered]) -> Iterator[Numbered]:
        """Determine the columns by the first object, if not done before; returns the same rows."""
        if self.names:
            return rows
        top = next(rows, None)
        if top is None:
            raise NoRowsError(self.name)
        number, row = top
        try:
            self.first = first = _object(row)
        except RowError as error:
            raise FileError(self.name, str(error), number) from None
        self.names = by_name(
            list(first), self.kind, self.role_map, self.name, number,
            is_list=lambda name: isinstance(first[name], (dict, list)),
            is_float=lambda name: isinstance(first[name], float),
        )  # fmt: skip
        return itertools.chain((top,), rows)

    def read(self, rows: Iterator[Numbered]) -> Columns | Lists:
        """Rows, one at a time."""
        if isinstance(self.first[self.names["item"]], (dict, list)):
            ranks = value_role(self.names) == "rank"
            return FileRows(self.name, self.skip).read_lists(rows, self._list, id_column, ranks=ranks)
        order = sorted(self.names, key=IDS.__contains__)  # of two errors in a row, report that of the number

        def parse(row: Any) -> Row:
            values = self._values(row)
            return tuple((to_id if role in IDS else to_number)(values[role], role) for role in order)

        return FileRows(self.name, self.skip).read(rows, order, parse, id_column)

    def _list(self, row: Any) -> tuple[Any, list[Any], list[float] | None]:
        row = self._values(row)
        query, role = to_id(row["query"], "query"), value_role(self.names)
        try:
            if not self.inside and isinstance(row["item"], list) and isinstance((row["item"] or [""])[0], dict):
                self.inside = find_inside(list(row["item"][0]), self.kind, self.role_map if self.queries else {})
            items, values = contents_of(row["item"], self.kind, self.inside)
        except (RowError, ValueError) as problem:
            text = Advice(str(problem))
            raise RowError(Advice(f"query {show(query)}: ", text) if self.queries else text) from None
        if role is None or values is not None:
            return query, items, values
        if not isinstance(row[role], list) or len(row[role]) != len(items):
            raise RowError(f"has {len(items)} items, but as {role} {show(row[role])}")
        values = to_numbers(row[role], role)
        return query, items, [-rank for rank in values] if role == "rank" else values

    def _values(self, row: Any) -> dict[str, Any]:
        row = _object(row)
        for name in self.names.values():
            if name not in row:
                raise RowError(f"has no {name!r}")
        return {role: row[name] for role, name in self.names.items()}


def _object(row: Any) -> dict[str, Any]:
    """An object, of a line or as it is."""
    if isinstance(row, bytes):
        try:
            row = json.loads(row.decode("utf-8", "surrogateescape"), object_pairs_hook=distinct_keys)
        except _TwiceError as error:
            raise RowError(str(error)) from None
        except (ValueError, RecursionError) as error:
            raise RowError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError(f"expected an object, found {show(row)}")
    return row


def _check_columns(name: str, keys: list[str], kind: str) -> None:
    """Columns by their names are not queries: `{"query": {"0": "q1"}, "item": {"0": "d1"}}`."""
    try:
        columns = find(keys, "query", kind, {}) is not None and find(keys, "item", kind, {}) is not None
    except ValueError:  # two names of one kind
        columns = True
    if columns:
        names = ", ".join(map(repr, keys[:5]))
        raise FileError(
            name,
            f"has one entry per column ({names}); write one object per row, "
            "as pandas does with to_json(path, orient='records', lines=True)",
        )


def _quick(text: TextFile, names: dict[str, str], first: dict[str, Any]) -> Columns | Lists:
    types = []
    for role, name in names.items():
        value = first[name]
        several = isinstance(value, list)
        if isinstance(value, dict) or (several and isinstance((value or [0])[0], (dict, list))):
            raise IrregularError
        one = (value or [""])[0] if several else value
        kind = pyarrow.float64() if role not in IDS else pyarrow.int64() if type(one) is int else pyarrow.string()
        types.append((name, pyarrow.list_(kind) if several else kind))
    view = text.view()
    rows, data = count_lines(view), bytes(view)
    keys = (json.dumps(name, ensure_ascii=False).encode("utf-8", "replace") for name in first)
    if any(data.count(key) > rows for key in keys) or _ESCAPED_KEY.search(data):
        raise IrregularError  # a key may be there twice, of which Arrow would read one
    try:
        table = arrow_json.read_json(
            pyarrow.BufferReader(view),
            read_options=arrow_json.ReadOptions(block_size=_BLOCK),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pyarrow.schema(types), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)  # strings come unchecked
    except (pyarrow.ArrowInvalid, UnicodeEncodeError):  # the latter of a name
        raise IrregularError from None
    columns = {role: one_piece(table[name]) for role, name in names.items()}
    flat = {role: pc.list_flatten(column) if isinstance(first[names[role]], list) else column
            for role, column in columns.items()}  # fmt: skip
    if table.num_rows != rows or any(column.null_count for column in (*columns.values(), *flat.values())):
        raise IrregularError
    if any(not pc.all(pc.is_finite(flat[role]), min_count=0).as_py() for role in names if role not in IDS):
        raise IrregularError
    if columns["item"] is flat["item"]:
        return by_role(columns)
    try:
        return side_of(columns)
    except (ValueError, TypeError):
        raise IrregularError from None


def _is_array(text: TextFile) -> bool:
    return text.head(lines.HEAD).lstrip()[:1] == b"["


# -- batches -------------------------------------------------------------------------------------------------


def open_json(name: str, files: Files, role_map: RoleMap, *, queries: bool = False) -> Batches:
    """A run in batches: an object per line, an array of them, or an entry per query."""
    if not queries:
        with open(name, "rb") as file:
            array = _is_array(TextFile(name, Decompressed(name, file).read(lines.HEAD)))
        if not array:
            return in_pieces(_line_parser)(name, files, role_map)

    def read() -> Iterator[Batch]:
        reader, count = Reader(name, "run", role_map, queries=queries), 0

        def pieces() -> Iterator[bytes]:
            nonlocal count
            while piece := source.read(lines.BATCH_BYTES):
                count += 1
                yield piece

        with open(name, "rb") as file:
            source = Decompressed(name, file)
            part: Iterator[Numbered] | None = None  # the entries that a piece of the file brings
            for _, part in itertools.groupby(reader.begin(reader.entries(pieces())), lambda _: count):
                yield as_batch(reader.read(part)), file.tell()
        if part is None:
            raise NoRowsError(name)

    return Batches(name, os.path.getsize(name), read)


def _line_parser(name: str, role_map: RoleMap) -> Callable[[TextFile], Columns]:
    reader = Reader(name, "run", role_map)
    return lambda text: as_batch(reader(text))


def write_jsonl(table: Table, stream: BinaryIO) -> None:
    """Any table, one object per row."""
    for batch in without_nan(table).to_batches(max_chunksize=lines.WRITTEN_ROWS):
        stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())
