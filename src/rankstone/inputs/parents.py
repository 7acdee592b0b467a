"""Chunks that count as their documents: lists and truths of chunks become those of documents, each document once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.errors import Advice, DataError, Hint
from rankstone.inputs.arrow import arrow_table, as_column, is_table, plain, plain_ids, take
from rankstone.inputs.batches import head_of
from rankstone.inputs.columns import Columns
from rankstone.inputs.dicts import plain_dict
from rankstone.inputs.files import is_path, read_truth
from rankstone.inputs.lists import Lists, rows_of
from rankstone.inputs.roles import find_all
from rankstone.inputs.tables import as_columns, from_table

if TYPE_CHECKING:
    from rankstone.align.alignment import Ints
    from rankstone.typing import Parent

_SHOWN = 5  # chunks in an error
_SEPARATOR = re.compile(r"[^\w\s/\\.]{1,3}|_{1,3}")  # what no file is called


def by_document(truth: object, run: object, parent: Parent) -> tuple[Any, Any, str]:
    """A truth and a run of documents, and what to say of them.

    Of a document's chunks in a list the best one keeps its place and the others leave; a document has the highest grade
    of its chunks. The truth may be of documents already.
    """
    known = _finder(parent)
    returned = _mapped(run, "run", known.of_chunk)
    count = _size(run) - _size(returned)
    note = f"{count:,} returned chunk{'s' * (count != 1)} left out, below another of the same document (parent)"
    return _mapped(truth, "truth", known.of_judged), returned, note


# -- who is whose --------------------------------------------------------------------------------------------


class _Finder(NamedTuple):
    """The document of a returned chunk, and that of a judged chunk or document; None where there is none."""

    of_chunk: Callable[[Any], Any]
    of_judged: Callable[[Any], Any]


def _finder(parent: Any) -> _Finder:
    if callable(parent):
        return _by_function(parent)
    if isinstance(parent, str) and _SEPARATOR.fullmatch(parent):
        return _by_separator(parent)
    if isinstance(parent, Mapping):
        return _by_table(parent)
    if is_path(parent):
        return _by_table(_pairs(_read(os.fspath(parent))))
    if is_table(parent):
        arrow = arrow_table(parent)
        return _by_table(_pairs(from_table(arrow, "truth", _roles(arrow.column_names))))
    raise TypeError(
        Advice(
            Hint("parent", parent), " does not say which document a chunk is of; give {chunk: document}, a table or a ",
            "file with a chunk and a document column, a separator such as '#', or a function",
        )
    )  # fmt: skip


def _by_function(parent: Callable[[Any], Any]) -> _Finder:
    documents = set()

    def of_chunk(chunk: Any) -> Any:
        try:
            found = parent(chunk)
        except (KeyError, IndexError):  # it looks the chunk up, in vain
            found = None
        if found is not None:
            documents.add(found)
        return found

    def of_judged(item: Any) -> Any:
        return item if item in documents else of_chunk(item)

    return _Finder(of_chunk, of_judged)


def _by_separator(separator: str) -> _Finder:
    def of_chunk(chunk: Any) -> Any:
        return str(chunk).rpartition(separator)[0] or None

    return _Finder(of_chunk, lambda item: of_chunk(item) or item)


def _by_table(table: Mapping[Any, Any]) -> _Finder:
    text = {str(chunk): document for chunk, document in table.items()}  # a file's 7 can be "7"
    documents = {str(document): document for document in table.values()}

    def looked_up(chunk: Any) -> Any:
        return table[chunk] if chunk in table else text.get(str(chunk))

    def of_chunk(chunk: Any) -> Any:
        found = looked_up(chunk)
        return documents.get(str(chunk)) if found is None else found

    def of_judged(item: Any) -> Any:
        found, own = looked_up(item), documents.get(str(item))
        if found is not None and own is not None and str(found) != str(own):
            raise DataError(
                f"item {item!r} of the truth is a document, and also a chunk of {found!r}; give chunks and documents "
                "different ids",
                "id",
            )
        return own if found is None else found

    return _Finder(of_chunk, of_judged)


def _roles(names: Any) -> dict[str, Any]:
    """A table of parents reads as a truth: of each document, its chunks."""
    found = find_all(names, ("document", "chunk"), "parent", {})
    return {"query": found["document"], "item": found["chunk"], "grade": None}


def _read(path: str) -> Any:
    """The same from a file; without a header line its columns are the chunk and the document."""
    if path.endswith((".parquet", ".pq")):
        import pyarrow.parquet

        return from_table(table := pyarrow.parquet.read_table(path), "truth", _roles(table.column_names))
    first = head_of(path).split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    names = first.split("\t" if "\t" in first else ",")
    try:
        given = _roles([name.strip('"') for name in names])
    except ValueError:
        given = {"query": 1, "item": 0, "grade": None}
    return read_truth(path, columns=given)


def _pairs(side: Any) -> dict[Any, Any]:
    rows = as_columns(side, "truth")
    out: dict[Any, Any] = {}
    for chunk, document in zip(plain_ids(rows.item), plain_ids(rows.query), strict=True):
        if out.setdefault(chunk, document) != document:
            raise DataError(f"chunk {chunk!r} has two documents: {out[chunk]!r} and {document!r}", "twice", item=chunk)
    return out


# -- the two sides -------------------------------------------------------------------------------------------


def _mapped(side: Any, what: str, document_of: Callable[[Any], Any]) -> Any:
    """A side whose items are documents, of each the best row."""
    if isinstance(side, Mapping):
        return _of_dict(plain_dict(side, what), what, document_of)
    query, item = rows_of(side) if isinstance(side, Lists) else (side.query, side.item)
    words = plain(item).dictionary_encode()
    chunks = words.dictionary.to_pylist()
    documents = [document_of(chunk) for chunk in chunks]
    if None in documents:
        orphans = [chunk for chunk, document in zip(chunks, documents, strict=True) if document is None]
        at = int(np.argmax(np.isin(words.indices.to_numpy(), np.flatnonzero([one is None for one in documents]))))
        _refuse_orphans(orphans, what, plain_ids(query, np.array([at]))[0])
    column = as_column("parent", documents)
    codes = plain(column).dictionary_encode().indices.to_numpy()[words.indices.to_numpy()]
    owners = plain(as_column("query", query)).dictionary_encode().indices.to_numpy()
    value = side.values if isinstance(side, Lists) else side.grade if what == "truth" else side.score
    if isinstance(side, Lists) and value is not None:
        value = value[int(side.offsets[0]) : int(side.offsets[-1])]
    rows = _best_rows(owners, codes, None if value is None else np.asarray(value, dtype=np.float64))
    renamed = take(column, words.indices.to_numpy()[rows].astype(np.int64))
    if isinstance(side, Columns):
        kept = {name: take(getattr(side, name), rows) for name in ("query", "grade", "score")}
        return replace(side, item=renamed, **kept)
    start = int(side.offsets[0])
    offsets = np.searchsorted(rows, np.asarray(side.offsets) - start)
    return replace(side, offsets=offsets, items=renamed, values=take(side.values, rows + start))


def _best_rows(owners: Any, codes: Any, values: Any) -> Ints:
    """Of each query's rows of one document the one of the highest value, else the first; in their order."""
    row = np.arange(len(owners))
    order = np.lexsort((row, *(() if values is None else (-values,)), codes, owners))
    first = np.ones(len(row), dtype=bool)
    first[1:] = (owners[order][1:] != owners[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    return np.sort(order[first])


def _of_dict(side: dict[Any, Any], what: str, document_of: Callable[[Any], Any]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for query, items in side.items():
        documents = {item: document_of(item) for item in items}
        orphans = [item for item, document in documents.items() if document is None]
        if orphans:
            _refuse_orphans(orphans, what, query)
        if not isinstance(items, dict):
            found = dict.fromkeys(documents.values())
            out[query] = set(found) if isinstance(items, (set, frozenset)) else list(found)  # a set is no order
            continue
        best: dict[Any, Any] = {}
        for item, value in items.items():
            document = documents[item]
            if document not in best or best[document] < value:
                best.pop(document, None)  # it stands where its best chunk does
                best[document] = value
        out[query] = best
    return out


def _size(side: Any) -> int:
    if isinstance(side, Mapping):
        return sum(map(len, side.values()))
    return int(side.offsets[-1] - side.offsets[0]) if isinstance(side, Lists) else len(side.query)


def _refuse_orphans(orphans: list[Any], what: str, query: Any) -> None:
    shown = ", ".join(map(repr, orphans[:_SHOWN])) + " ..." * (len(orphans) > _SHOWN)
    raise DataError(
        Advice(
            f"query {query!r}: {len(orphans)} items of the {what} have no document in ",
            Hint("parent"),
            f": {shown}; add them, or give a function that says what they are",
        ),
        "id",
        what,
        query,
        orphans[0],
    )
