"""JSON: one object a line, an array of objects, or one object with an entry for each query.

A row has an item, or a list of them. A document that is not in lines is read an entry at a time, so it may be large.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from rankstone.errors import FileError, NoRowsError
from rankstone.inputs import batches
from rankstone.inputs.arrow import Table, one_piece, without_nan
from rankstone.inputs.batches import Batch, Batches, Files, Parser, in_pieces
from rankstone.inputs.columns import Columns
from rankstone.inputs.contents import contents_of, id_column, to_id, to_number, to_numbers
from rankstone.inputs.document import Document, Entry
from rankstone.inputs.lines import (
    WRITTEN_ROWS,
    Decompressed,
    IrregularError,
    Row,
    RowError,
    Rows,
    Text,
    as_read,
    count_lines,
    show,
)
from rankstone.inputs.lists import Lists
from rankstone.inputs.roles import IDS, NOTES, Given, by_name, find, value_role
from rankstone.inputs.tables import as_batch, side_of

_BLOCK = 16 << 20
_ENTRIES = 100  # that tell what a document is

Numbered = tuple[int, Any]  # of a line or an entry: its number, and what is in it


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
        return "json" if count or len(head) >= batches.HEAD or document.line() > line else "jsonl"


# -- rows ----------------------------------------------------------------------------------------------------


def read_jsonl(text: Text, kind: str, given: Given, skip: bool) -> Columns | Lists:
    """A truth or a run, one object a row."""
    return _Records(text.name, kind, given, skip)(text)


class _Records:
    """Reads objects as rows, of a whole file or a piece at a time; the first one says what is in which column."""

    def __init__(self, name: str, kind: str, given: Given, skip: bool = False) -> None:
        self.name, self.kind, self.given, self.skip = name, kind, given, skip
        self.names: dict[str, str] = {}
        self.first: dict[str, Any] = {}

    def __call__(self, text: Text) -> Columns | Lists:
        """The rows of a text."""
        if not self.names and _is_array(text):
            return self.read(_array(text.name, _pieces(text)))
        lines: Iterator[Numbered] = ((number, line) for number, _, line in text.lines() if line.strip())
        lines = lines if self.names else self.begin(lines)
        try:
            return _quick(text, self.names, self.first)
        except IrregularError:
            return self.read(lines)

    def begin(self, found: Iterator[Numbered]) -> Iterator[Numbered]:
        """Look at the first object; the same iterator as before."""
        top = next(found, None)
        if top is None:
            raise NoRowsError(self.name)
        number, row = top
        try:
            self.first = first = _object(row)
        except RowError as error:
            raise FileError(self.name, str(error), number) from None
        self.names = by_name(
            list(first), self.kind, self.given, self.name, number,
            is_list=lambda name: isinstance(first[name], (dict, list)),
            is_float=lambda name: isinstance(first[name], float),
        )  # fmt: skip
        return itertools.chain((top,), found)

    @property
    def lists(self) -> bool:
        """Does a row have a list of items."""
        return isinstance(self.first[self.names["item"]], (dict, list))

    def read(self, found: Iterator[Numbered]) -> Columns | Lists:
        """Rows, one at a time."""
        if not self.names:
            found = self.begin(found)
        rows = Rows(self.name, value_role(self.names), self.skip, self.notes)
        if self.lists:
            return rows.read_lists(found, self._list, id_column)
        return rows.read(found, self._row, id_column)

    @property
    def notes(self) -> list[str]:
        """What a truth says besides grades."""
        return [note for note in NOTES if note in self.names]

    def _row(self, row: Any) -> Row:
        found = self._found(row)
        role = value_role(self.names)
        value = None if role is None else to_number(found[role], role)
        said = ((to_id if note in IDS else to_number)(found[note], note) for note in self.notes)
        return to_id(found["query"], "query"), to_id(found["item"], "item"), value, *said

    def _list(self, row: Any) -> tuple[Any, list[Any], list[float] | None]:
        found = self._found(row)
        query, (items, values) = to_id(found["query"], "query"), contents_of(found["item"], self.kind)
        role = value_role(self.names)
        if role is None or values is not None:
            return query, items, values
        if not isinstance(found[role], list) or len(found[role]) != len(items):
            raise RowError(f"has {len(items)} items, but as {role} {show(found[role])}")
        values = to_numbers(found[role], role)
        return query, items, [-rank for rank in values] if role == "rank" else values

    def _found(self, row: Any) -> dict[str, Any]:
        row = _object(row)
        for name in self.names.values():
            if name not in row:
                raise RowError(f"has no {name!r}")
        return {role: row[name] for role, name in self.names.items()}


def _object(row: Any) -> dict[str, Any]:
    """An object, of a line or as it is."""
    if isinstance(row, bytes):
        try:
            row = json.loads(row.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise RowError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError(f"expected an object, found {show(row)}")
    return row


def _quick(text: Text, names: dict[str, str], first: dict[str, Any]) -> Columns | Lists:
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import json as arrow_json

    types = []
    for role, name in names.items():
        value = first[name]
        several = isinstance(value, list)
        if isinstance(value, dict) or (several and isinstance((value or [0])[0], (dict, list))):
            raise IrregularError
        if role in IDS:
            one = (value or [""])[0] if several else value
            kind = pyarrow.int64() if type(one) is int else pyarrow.string()
        else:
            kind = pyarrow.float64()
        types.append((name, pyarrow.list_(kind) if several else kind))
    view = text.view()
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
    if table.num_rows != count_lines(view) or any(table[name].null_count for name in names.values()):
        raise IrregularError
    found = {role: one_piece(table[name]) for role, name in names.items()}
    flat = {role: pc.list_flatten(column) if isinstance(first[names[role]], list) else column
            for role, column in found.items()}  # fmt: skip
    valued = value_role(names)
    if any(column.null_count for column in flat.values()):
        raise IrregularError
    if any(not pc.all(pc.is_finite(flat[role]), min_count=0).as_py() for role in names if role not in IDS):
        raise IrregularError
    if found["item"] is flat["item"]:
        notes = {role: found[role] for role in NOTES if role in found}
        return as_read(found["query"], found["item"], None if valued is None else found[valued], valued, notes)
    try:
        return side_of(found)
    except (ValueError, TypeError):
        raise IrregularError from None


# -- documents -----------------------------------------------------------------------------------------------


def read_json(text: Text, kind: str, skip: bool) -> Lists:
    """A truth or a run as `{query: {item: score}}`, or with a list of items, best first."""
    return _nested(text.name, _queries(text.name, _pieces(text), kind), kind, skip)


def _nested(name: str, found: Iterator[Numbered], kind: str, skip: bool) -> Lists:
    def parse(entry: Entry) -> tuple[Any, list[Any], list[float] | None]:
        query = to_id(entry.key, "query")
        try:
            items, values = contents_of(entry.value, kind)
        except RowError as problem:
            raise RowError(f"query {show(query)}: {problem}") from None
        return query, items, values

    return Rows(name, "grade" if kind == "truth" else "score", skip).read_lists(found, parse, id_column)


def _queries(name: str, pieces: Iterator[bytes], kind: str) -> Iterator[Numbered]:
    document = Document(name, pieces)
    entries = document.entries()
    first = list(itertools.islice(entries, _ENTRIES))
    _refuse_columns(name, [str(entry.key) for entry in first], kind)
    for entry in itertools.chain(first, entries):
        yield entry.line, entry
    document.end()


def _refuse_columns(name: str, keys: list[str], kind: str) -> None:
    """Columns by their names are not queries: `{"query": {"0": "q1"}, "item": {"0": "d1"}}`."""
    try:
        columns = find(keys, "query", kind, {}) is not None and find(keys, "item", kind, {}) is not None
    except ValueError:  # two names of one kind
        columns = True
    if columns:
        shown = ", ".join(map(repr, keys[:5]))
        raise FileError(
            name,
            f"has an entry for each column ({shown}); write an object for each row, "
            "as pandas does with to_json(path, orient='records', lines=True)",
        )


def _array(name: str, pieces: Iterator[bytes]) -> Iterator[Numbered]:
    document = Document(name, pieces)
    for entry in document.entries():
        yield entry.line, entry.value
    document.end()


def _is_array(text: Text) -> bool:
    return bytes(text.view()[: batches.HEAD]).lstrip()[:1] == b"["


def _pieces(text: Text) -> Iterator[bytes]:
    size = batches.BYTES
    yield from (text.data[at : min(at + size, text.end)] for at in range(text.start, text.end, size))


# -- batches -------------------------------------------------------------------------------------------------


def open_jsonl(name: str, files: Files, given: Given) -> Batches:
    """A run in batches: an object a line, or an array of them."""
    with open(name, "rb") as file:
        array = _is_array(Text(name, Decompressed(name, file).read(batches.HEAD)))
    if not array:
        return in_pieces(_lines)(name, files, given)

    def begin(pieces: Iterator[bytes]) -> tuple[Iterator[Numbered], _Reader]:
        records = _Records(name, "run", given)
        return records.begin(_array(name, pieces)), records.read

    return _in_entries(name, begin)


def _lines(name: str, given: Given) -> Parser:
    records = _Records(name, "run", given)
    return lambda text: as_batch(records(text))


def open_json(name: str, files: Files, given: Given) -> Batches:
    """A run in batches: an entry for each query."""
    return _in_entries(
        name, lambda pieces: (_queries(name, pieces, "run"), lambda some: _nested(name, some, "run", False))
    )


_Reader = Callable[[Iterator[Numbered]], "Columns | Lists"]


def _in_entries(name: str, begin: Callable[[Iterator[bytes]], tuple[Iterator[Numbered], _Reader]]) -> Batches:
    """Batches of the entries that a piece of the file brings."""

    def read() -> Iterator[Batch]:
        count = 0

        def pieces() -> Iterator[bytes]:
            nonlocal count
            while piece := source.read(batches.BYTES):
                count += 1
                yield piece

        with open(name, "rb") as file:
            source = Decompressed(name, file)
            entries, reader = begin(pieces())
            part: Iterator[Numbered] | None = None
            for _, part in itertools.groupby(entries, lambda _: count):
                yield as_batch(reader(part)), file.tell()
        if part is None:
            raise NoRowsError(name)

    return Batches(name, os.path.getsize(name), read)


def write_jsonl(table: Table, stream: BinaryIO) -> None:
    """Any table, one object a row."""
    for batch in without_nan(table).to_batches(max_chunksize=WRITTEN_ROWS):
        stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())
