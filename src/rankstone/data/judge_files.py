"""Files with the judgements of several judges: a row per form, with the judgements in each entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rankstone.data.columns import Columns, columns
from rankstone.data.files import Path, path_name
from rankstone.data.formats import FindPath, find_entries
from rankstone.data.lines import Entry, FileRows, RowError, open_text, to_number, with_newlines
from rankstone.data.roles import find, usual
from rankstone.data.tool_formats import is_book, is_book_table
from rankstone.errors import FileError, show

Judgement = tuple[str, Any, Any, Any]  # judge, query, item and grade
_JUDGES = ("judge", "judgeid", "rater", "annotator", "assessor", "labeler", "coder", "useremail")
_NO_JUDGE = "anonymous"


class JudgeFormat(NamedTuple):
    """A form of file with several judges."""

    title: str
    path: FindPath
    judgements: Callable[[Entry], Iterable[Judgement]]


def _book_pair(entry: Entry) -> Iterator[Judgement]:
    pair = entry.value
    for one in pair["judgements"]:
        yield one.get("user_email") or _NO_JUDGE, pair["query_text"], pair["doc_id"], one.get("rating")


def _book_row(entry: Entry) -> Iterator[Judgement]:
    (_, query), (_, item), *grades = entry.value.items()
    yield from ((judge, query, item, grade) for judge, grade in grades)


def _judge_column(names: Iterable[str]) -> str | None:
    return next((name for name in names if usual(name) in _JUDGES), None)


def _is_long(sample: Iterable[str]) -> tuple[str, ...] | None:
    """Rows of a query, an item, a grade and a judge."""
    return () if _judge_column(sample) else None


def _long_row(entry: Entry) -> Iterator[Judgement]:
    row = entry.value
    judge = _judge_column(row)
    names = {
        role: find([name for name in row if name != judge], role, "truth", {}) for role in ("query", "item", "grade")
    }
    missing = [role for role, name in names.items() if name is None]
    if judge is None or missing:
        raise RowError(f"{show(row)} has no {', '.join(missing or ['judge'])}")
    yield str(row[judge]), row[names["query"]], row[names["item"]], row[names["grade"]]


FORMS: tuple[JudgeFormat, ...] = (
    JudgeFormat("Quepid book", is_book, _book_pair),
    JudgeFormat("Quepid book", is_book_table, _book_row),
    JudgeFormat("table with a judge column", _is_long, _long_row),
)


def read_judges(path: Path) -> dict[str, Columns]:
    """The judgements of each judge in a file: a Quepid book, or a table with a judge column."""
    name = path_name(path)
    text = with_newlines(open_text(name))
    form_and_entries = find_entries(text, [(form, form.path) for form in FORMS])
    if form_and_entries is None:
        raise FileError(
            name, "has one judge; give judges by name, {'human': 'a.qrels', 'llm': 'b.qrels'}, or a file with a column "
            "of judges, or a Quepid book",
        )  # fmt: skip
    form, entries = form_and_entries
    rows = FileRows(name, skip=False)
    judged: dict[str, tuple[list[Any], list[Any], list[Any]]] = {}
    for entry in entries:
        for judge, query, item, grade in _good(form, entry, rows):
            own = judged.setdefault(judge, ([], [], []))
            for part, value in zip(own, (query, item, grade), strict=True):
                part.append(value)
    return {
        judge: columns(query=queries, item=items, grade=np.array(grades))
        for judge, (queries, items, grades) in judged.items()
    }


def _good(form: JudgeFormat, entry: Entry, rows: FileRows) -> list[tuple[str, str, str, float]]:
    """The judgements of an entry, without those that are empty; a bad entry stops the reading."""
    try:
        return [
            (str(judge), str(query), str(item), to_number(str(grade), "grade"))
            for judge, query, item, grade in form.judgements(entry)
            if grade is not None and grade != ""
        ]
    except RowError as problem:
        rows.reject(entry.line, str(problem))
    except (AttributeError, KeyError, TypeError, ValueError):
        rows.reject(entry.line, f"{show(entry.value)} is not as a {form.title} has it")
    return []
