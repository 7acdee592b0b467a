"""Truths and runs as search, RAG and evaluation tools read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rankstone.data.arrow import Table
from rankstone.errors import InputError


def _by_query(table: Table, value: str) -> dict[Any, dict[Any, float]]:
    """Items with their values, by query; a truth without grades has 1, a run without scores its order."""
    queries, items = table["query"].to_pylist(), table["item"].to_pylist()
    values = table[value].to_pylist() if value in table.column_names else None
    out: dict[Any, dict[Any, float]] = {}
    for at, (query, item) in enumerate(zip(queries, items, strict=True)):
        own = out.setdefault(query, {})
        own[item] = values[at] if values is not None else 1 if value == "grade" else -len(own)
    return out


def _whole(grade: float, query: Any, item: Any) -> int:
    if grade != int(grade):
        raise InputError(f"query {query!r}, item {item!r}: _rank_eval takes whole grades, not {grade:g}")
    return int(grade)


def write_opensearch(table: Table, kind: str, tag: str) -> Iterator[str]:
    """Judgements to import into OpenSearch's workbench, whose ratings are texts."""
    judgements = [
        {
            "query": str(query),
            "ratings": [{"docId": str(item), "rating": repr(float(grade))} for item, grade in own.items()],
        }
        for query, own in _by_query(table, "grade").items()
    ]
    head = {"name": tag, "description": "", "type": "IMPORT_JUDGMENT"}
    yield json.dumps({**head, "judgmentRatings": judgements}, ensure_ascii=False, indent=1) + "\n"


def write_rank_eval(table: Table, kind: str, tag: str) -> Iterator[str]:
    """The requests of `_rank_eval` with their ratings, of an index called as the tag; what to search is to be added."""
    requests = [
        {"id": str(query), "ratings": [
            {"_index": tag, "_id": str(item), "rating": _whole(grade, query, item)} for item, grade in own.items()
        ]}
        for query, own in _by_query(table, "grade").items()
    ]  # fmt: skip
    yield json.dumps({"requests": requests}, ensure_ascii=False, indent=1) + "\n"


def write_mteb(table: Table, kind: str, tag: str) -> Iterator[str]:
    """Predictions of the model that the tag names, for the split `test`."""
    lists = {str(query): {str(item): score for item, score in own.items()}
             for query, own in _by_query(table, "score").items()}  # fmt: skip
    head = {"mteb_model_meta": {"model_name": tag, "revision": None}}
    yield json.dumps({**head, "default": {"test": lists}}, ensure_ascii=False) + "\n"


def write_rows(separator: str, names: Sequence[str], table: Table, kind: str, tag: str) -> Iterator[str]:
    """A row per judged item, below a header line."""
    yield separator.join(names) + "\n"
    for query, own in _by_query(table, "grade").items():
        for item, grade in own.items():
            yield (
                separator.join(
                    _cell(word, separator)
                    for word in (str(query), str(item), "" if grade != grade else f"{grade:.17g}")
                )
                + "\n"
            )


def _cell(word: str, separator: str) -> str:
    quoted = any(letter in word for letter in (separator, '"', "\n", "\r"))
    return '"' + word.replace('"', '""') + '"' if quoted else word
