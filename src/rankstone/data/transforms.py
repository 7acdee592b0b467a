"""Transforms of a truth and a run: some queries only, items removed, chunks as documents, spans as items."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow
from numpy.typing import NDArray

from rankstone.data.annotations import ranges
from rankstone.data.arrow import (
    Column,
    arrow_table,
    as_column,
    as_text,
    distinct,
    encoded,
    is_table,
    is_whole,
    plain,
    plain_ids,
    take,
)
from rankstone.data.columns import Columns
from rankstone.data.dicts import Dicts, check_same_kind, id_kind, plain_dict
from rankstone.data.files import is_path, read_table, read_truth
from rankstone.data.id_encoder import IdEncoder, among, pair
from rankstone.data.lines import head_of
from rankstone.data.lists import Lists, rows_of
from rankstone.data.roles import find_all
from rankstone.data.tables import as_columns, as_lists, from_table, has_annotations
from rankstone.errors import Advice, DataError, DataTypeError, Hint, InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone import typing
    from rankstone.align.alignment import Ints
    from rankstone.typing import ColumnRoles, Id, Items, Parent

_SHOWN = 5  # chunks in an error
_SEPARATOR = re.compile(r"[^\w\s/\\.]{1,3}|_{1,3}")  # what no file is called
Rows: TypeAlias = "Mapping[Id, Items] | Columns | Lists"  # a truth or a run in memory
Span: TypeAlias = "tuple[Any, float, float]"  # ("doc1", 0, 120): from the first character to before the last


def _rows(side: Columns | Lists) -> tuple[Column, Column]:
    """Query and item of each row."""
    return rows_of(side) if isinstance(side, Lists) else (side.query, side.item)


def _taken(side: Columns | Lists, rows: Ints, item: Column | None = None) -> Columns | Lists:
    """Some rows of a side, in their order; item: other ids for these."""
    if isinstance(side, Columns):
        return side.take(rows) if item is None else replace(side.take(rows), item=item)
    start = int(side.offsets[0])
    offsets = np.searchsorted(rows, np.asarray(side.offsets) - start)
    items = take(side.items, rows + start) if item is None else item
    return replace(side, offsets=offsets, items=items, values=take(side.values, rows + start))


# -- some of the queries ------------------------------------------------------------------------------------


def of_queries(truth: Rows | None, run: Rows, queries: typing.Column | typing.Path) -> tuple[Any, Any]:
    """Both sides with some queries only; a query that neither has is an error."""
    wanted = _wanted(queries)
    judged, known = (None, set()) if truth is None else _with_queries(truth, wanted)
    returned, others = _with_queries(run, wanted)
    unknown = [query for query in dict.fromkeys(wanted) if query not in known and query not in others]
    if unknown:
        shown = ", ".join(map(repr, unknown[:_SHOWN])) + " ..." * (len(unknown) > _SHOWN)
        where = "the run" if truth is None else "the truth and the run"
        raise InputError(Advice(Hint("queries"), f" has {len(unknown)} ids that are not in {where}: {shown}"))
    return judged, returned


def _wanted(queries: Any) -> list[Any]:
    """The ids: of a column, or of a file with one per line."""
    if is_path(queries):
        try:
            with open(queries, encoding="utf-8-sig") as file:
                return [line.strip() for line in file if line.strip()]
        except FileNotFoundError:
            raise InputError(Advice(f"there is no file {os.fspath(queries)!r} with one id per line; pass ids as ",
                                    Hint("queries", [os.fspath(queries)]))) from None  # fmt: skip
    if isinstance(queries, (list, tuple, set, frozenset)):
        return list(queries)
    return plain_ids(as_column("queries", queries))


def _with_queries(side: Any, wanted: list[Any]) -> tuple[Any, set[Any]]:
    """A side with some queries only, and those of the wanted ids that it has."""
    if isinstance(side, Mapping):
        inside = _matching(list(side), wanted)
        return {query: side[query] for query in inside}, set(inside.values())
    if side.query is None:
        raise InputTypeError("queries= goes with ids, and these lists have none: pass some of the lists")
    if isinstance(side, Lists):
        ids = plain_ids(side.query)
        inside = _matching(ids, wanted)
        kept = np.flatnonzero([query in inside for query in ids])
        rows, offsets = ranges(np.asarray(side.offsets, dtype=np.int64), kept)
        values = {"items": take(side.items, rows), "values": take(side.values, rows), "query": take(side.query, kept)}
        return replace(side, offsets=offsets, **values), set(inside.values())
    words, codes = encoded(side.query)
    ids = words.to_pylist()
    inside = _matching(ids, wanted)
    keep = np.array([*(query in inside for query in ids), True])  # the last: rows without a query, an error later
    return side.take(np.flatnonzero(keep[codes])), set(inside.values())


def _matching(ids: list[Any], wanted: list[Any]) -> dict[Any, Any]:
    """The wanted id of each id that is wanted; as text where one of them are strings and the others integers."""
    kinds = {*map(id_kind, ids)}, {*map(id_kind, wanted)}
    unlike = kinds in (({"integers"}, {"strings"}), ({"strings"}, {"integers"}))
    names = {str(query) if unlike else query: query for query in wanted}
    return {one: names[name] for one in ids if (name := str(one) if unlike else one) in names}


# -- excluded items ---------------------------------------------------------------------------------------


def without(side: Rows, seen: Columns) -> tuple[Any, int]:
    """A side without excluded items, and their number."""
    if isinstance(side, Mapping):
        return _without_excluded(side, seen)
    keep = ~_is_in(*_rows(side), seen)
    return _taken(side, np.flatnonzero(keep)), len(keep) - int(keep.sum())


def residual(truth: Rows, seen: Columns) -> tuple[Any, int]:
    """A truth without excluded items, and their number. A query whose items all are stays, with an empty truth."""
    out, count = without(truth, seen)
    if not isinstance(truth, Columns) or len(distinct(out.query)) == len(distinct(truth.query)):
        return out, count
    if has_annotations(truth):
        query = next(iter({*distinct(truth.query)} - {*distinct(out.query)}))
        raise InputError(f"query {query!r} has no judged items left; remove it from the truth")
    return without(as_lists(truth, "truth"), seen)


def _without_excluded(run: Mapping[Any, Any], seen: Columns) -> tuple[dict[Any, Any], int]:
    excluded: dict[Any, set[Any]] = {}
    for query, item in zip(plain_ids(seen.query), plain_ids(seen.item), strict=True):
        excluded.setdefault(query, set()).add(item)
    out, count = {}, 0
    for query, items in run.items():
        old = excluded.get(query, set())
        if isinstance(items, Mapping):
            kept: Any = {item: score for item, score in items.items() if item not in old}
        else:
            kept = [item for item in items if item not in old]
        count += len(items) - len(kept)
        out[query] = kept
    if count == 0:
        check_same_kind(excluded, out, "exclude")
    return out, count


def own_items(run: Mapping[Id, Items] | Columns | Lists) -> Columns:
    """The query's own document per query, to be excluded: the item with the query's id."""
    if isinstance(run, Mapping):
        first: Any = next((own for own in run.values() if own), ())
        query, item = as_column("query", list(run)), as_column("item", list(first)[:1])
    elif run.query is None:
        raise InputError("exclude='self' needs queries with ids; rs.lists(..., query=...) has them")
    else:
        query, item = as_column("query", distinct(run.query)), _rows(run)[1]
    return Columns(query, query if is_whole(item) or not is_whole(query) else as_text(query))


def count_relevant(truth: Any, seen: Columns) -> int:
    """Number of excluded items that are relevant in the truth."""
    if not isinstance(truth, Mapping):
        rows = as_columns(truth, "truth") if not isinstance(truth, Lists) or truth.query is not None else None
        if rows is None:  # lists that are matched by row
            return 0
        relevant = True if rows.grade is None else np.asarray(rows.grade, dtype=np.float64) > 0
        return int((_is_in(rows.query, rows.item, seen) & relevant).sum())
    count = 0
    for query, item in zip(plain_ids(seen.query), plain_ids(seen.item), strict=True):
        judged = truth.get(query, ())
        grade = judged.get(item, 0) if isinstance(judged, Mapping) else int(item in judged)
        count += bool(grade) and not (isinstance(grade, Real) and grade <= 0)
    return count


def _is_in(query: Column, item: Column, seen: Columns) -> NDArray[np.bool_]:
    """Which rows are excluded."""
    excluded, rows = [], []
    for what, ours, theirs in (("queries", query, seen.query), ("items", item, seen.item)):
        if is_whole(ours) != is_whole(theirs):
            kinds = ["integers" if is_whole(side) else "strings" for side in (theirs, ours)]
            raise InputTypeError(f"exclude {what} are {kinds[0]} but run {what} are {kinds[1]}")
        codes = IdEncoder()
        excluded.append(codes.add(theirs, "exclude"))
        rows.append(codes.find(ours, "exclude"))
    return (rows[0] >= 0) & (rows[1] >= 0) & among(pair(*rows), pair(*excluded))


# -- chunks that count as their documents ----------------------------------------------------------------


def by_document(truth: object, run: object, parent: Parent) -> tuple[Any, Any, str]:
    """A truth and a run of documents, and a note on them.

    Of a document's chunks in a list the best one keeps its place and the others leave; a document has the highest grade
    of its chunks. The truth may be of documents already.
    """
    known = _finder(parent)
    returned = _mapped(run, "run", known.of_chunk)
    count = _size(run) - _size(returned)
    note = f"{count:,} returned chunk{'s' * (count != 1)} left out, below another of the same document (parent)"
    return _mapped(truth, "truth", known.of_judged), returned, note


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
    raise InputTypeError(
        Advice(
            Hint("parent", parent), " does not map chunks to documents; pass {chunk: document}, a table or a ",
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
        return from_table(table := read_table(path)[0], "truth", _roles(table.column_names))
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


def _mapped(side: Any, what: str, document_of: Callable[[Any], Any]) -> Any:
    """A side whose items are documents, of each the best row."""
    if isinstance(side, Mapping):
        return _documents(plain_dict(side, what), what, document_of)
    query, item = _rows(side)
    words = plain(item).dictionary_encode()
    chunks = words.dictionary.to_pylist()
    documents = [document_of(chunk) for chunk in chunks]
    if None in documents:
        orphans = [chunk for chunk, document in zip(chunks, documents, strict=True) if document is None]
        at = int(np.argmax(np.isin(words.indices.to_numpy(), np.flatnonzero([one is None for one in documents]))))
        _raise_orphans(orphans, what, plain_ids(query, np.array([at]))[0])
    column = as_column("parent", documents)
    codes = plain(column).dictionary_encode().indices.to_numpy()[words.indices.to_numpy()]
    owners = plain(as_column("query", query)).dictionary_encode().indices.to_numpy()
    value = side.values if isinstance(side, Lists) else side.grade if what == "truth" else side.score
    if isinstance(side, Lists) and value is not None:
        value = value[int(side.offsets[0]) : int(side.offsets[-1])]
    rows = _best_rows(owners, codes, None if value is None else np.asarray(value, dtype=np.float64))
    return _taken(side, rows, take(column, words.indices.to_numpy()[rows].astype(np.int64)))


def _best_rows(owners: Any, codes: Any, values: Any) -> Ints:
    """Of each query's rows of one document the one of the highest value, else the first; in their order."""
    row = np.arange(len(owners))
    order = np.lexsort((row, *(() if values is None else (-values,)), codes, owners))
    first = np.ones(len(row), dtype=bool)
    first[1:] = (owners[order][1:] != owners[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    return np.sort(order[first])


def _documents(side: dict[Any, Any], what: str, document_of: Callable[[Any], Any]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for query, items in side.items():
        documents = {item: document_of(item) for item in items}
        orphans = [item for item, document in documents.items() if document is None]
        if orphans:
            _raise_orphans(orphans, what, query)
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


def _raise_orphans(orphans: list[Any], what: str, query: Any) -> None:
    shown = ", ".join(map(repr, orphans[:_SHOWN])) + " ..." * (len(orphans) > _SHOWN)
    raise DataError(
        Advice(
            f"query {query!r}: {len(orphans)} items of the {what} have no document in ",
            Hint("parent"),
            f": {shown}; add them, or pass a function that returns their document",
        ),
        "id",
        what,
        query,
        orphans[0],
    )


# -- spans of documents, each a tuple (document, start, end) ---------------------------------------------


def covered(
    truth: object,
    run: object,
    overlap: float,
    columns: ColumnRoles | None,
    queries: typing.Column | typing.Path | None = None,
) -> Dicts:
    """A truth and a run of spans as one of items.

    From the top of a list, a returned span finds a true one of which it covers at least this share. A true span is
    found once, and a returned one finds one: of those that are left the one of the highest grade, of which it covers
    most. A returned span that finds none is an unjudged item.
    """
    if isinstance(overlap, bool) or not isinstance(overlap, Real) or not 0 < overlap <= 1:
        raise InputError(f"overlap={overlap!r}; give the share of a true span that must be covered, above 0, at most 1")
    judged, returned = _spans(truth, "truth", columns), _spans(run, "run", columns)
    if queries is not None:
        judged, returned = of_queries(judged, returned, queries)
    found, again = {}, 0
    for query, spans in returned.items():
        found[query], repeated = _matches(judged.get(query, ()), _in_order(spans, query), overlap)
        again += repeated
    note = f"{again:,} returned span{'s' * (again != 1)} not relevant again, as the true one had been found (overlap)"
    return Dicts(judged, found, notes=(note,))


def _spans(side: Any, what: str, columns: ColumnRoles | None) -> dict[Any, Any]:
    """By query: spans, with their grades or scores if they have any."""
    if is_path(side):
        side = read_table(side)[0]
    if is_table(side):
        side = _spans_of(side, what, columns)
    if not isinstance(side, Mapping):
        raise InputTypeError(
            f"overlap= takes a {what} as {{query: spans}}, each span a tuple (document, start, end), or as a table "
            "or a file with these columns"
        )
    plain = plain_dict(side, what)
    for query, spans in plain.items():
        for span in spans:
            _check_span(span, what, query)
    return plain


def _spans_of(table: Any, what: str, columns: ColumnRoles | None) -> dict[Any, Any]:
    arrow = arrow_table(table)
    roles = find_all(arrow.column_names, ("document", "start", "end"), what, {})
    spans = list(zip(*(arrow[name].to_pylist() for name in roles.values()), strict=True))
    rows = arrow.drop_columns(list(roles.values())).append_column("item", pyarrow.array(np.arange(len(spans))))
    found = as_columns(from_table(rows, what, columns), what)
    values = found.grade if what == "truth" else found.score
    numbers = None if values is None else np.asarray(values).tolist()
    out: dict[Any, Any] = {}
    for at, (query, row) in enumerate(zip(plain_ids(found.query), plain_ids(found.item), strict=True)):
        span = spans[row]
        content = out.setdefault(query, {} if numbers is not None else [])
        if span in content:
            raise DataError(f"query {query!r}: span {span!r} is in the {what} twice", "twice", what, query, span)
        if numbers is None:
            content.append(span)
        else:
            content[span] = numbers[at]
    return out


def _check_span(span: Any, what: str, query: Any) -> None:
    if not isinstance(span, tuple) or len(span) != 3:
        raise DataTypeError(
            f"query {query!r}: {span!r} of the {what} is no span; overlap= takes tuples (document, start, end)",
            "shape", what, query, span,
        )  # fmt: skip
    start, end = span[1:]
    numbers = all(isinstance(edge, Real) and isfinite(edge) for edge in (start, end))
    if not numbers or not start < end:
        raise DataError(
            f"query {query!r}: span {span!r} of the {what} must start before it ends", "number", what, query, span
        )


def _in_order(spans: Any, query: Any) -> Sequence[Span]:
    """Best first. Equal scores leave open which of two spans finds a true one, so they are an error."""
    if not isinstance(spans, dict):
        return list(spans)
    order = sorted(spans, key=lambda span: -spans[span])
    for one, other in pairwise(order):
        if spans[one] == spans[other]:
            raise DataError(
                f"query {query!r}: spans {one!r} and {other!r} have the same score, and which comes first decides what "
                "is found; give lists, best first",
                "number", "run", query, one,
            )  # fmt: skip
    return order


def _matches(judged: Any, returned: Sequence[Span], overlap: float) -> tuple[list[Any], int]:
    """The list with true spans in the places where they are found, and how many others cover one found before."""
    grades = judged if isinstance(judged, dict) else dict.fromkeys(judged, 1)
    left, out, again = dict(grades), [], 0
    for nth, span in enumerate(returned):
        shares = {true: _share(true, span) for true in grades}
        fitting = [true for true in left if shares[true] >= overlap]
        if fitting:
            best = max(fitting, key=lambda true: (left[true], shares[true]))
            del left[best]
            out.append(best)
            continue
        again += any(share >= overlap for share in shares.values())
        out.append((*span, nth))  # unlike every true one, and unlike itself if it comes twice
    return out, again


def _share(true: Span, returned: Span) -> float:
    """Which part of the true span the returned one covers."""
    if true[0] != returned[0]:
        return 0.0
    return max(0.0, min(true[2], returned[2]) - max(true[1], returned[1])) / (true[2] - true[1])
