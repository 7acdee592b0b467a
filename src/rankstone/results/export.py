"""Writing files: results, and truths and runs in another format. A file is there whole, or not at all."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankstone.data.arrow import convertible, is_whole, numbers, one_piece, plain
from rankstone.data.atomic import replacing
from rankstone.data.columns import Columns
from rankstone.data.files import OnError, Path, read_run, read_truth
from rankstone.data.formats import FORMATS, listed
from rankstone.data.lines import WRITTEN_ROWS, ending_of
from rankstone.data.lists import Lists
from rankstone.data.tables import as_columns
from rankstone.errors import InputError
from rankstone.metrics.registry import parse
from rankstone.results.reproduction import record_of, with_record
from rankstone.results.schema import stamp

if TYPE_CHECKING:
    from rankstone.results.result import Result

_LISTS = {ending: form.name for form in FORMATS.values() if form.write for ending in form.endings}
# How an answer is written: for people, as data, or as trec_eval prints it; by the endings of names.
PAGES = {"txt": "table", "md": "markdown", "tex": "latex", "html": "html"}
_RESULTS = {
    **{ending: name for ending, name in _LISTS.items() if FORMATS[name].columns},
    "json": "json",
    "trec": "trec",
    "eval": "trec",
    **PAGES,
}
RESULT_FORMATS = tuple(dict.fromkeys([*PAGES.values(), "json", *_RESULTS.values()]))


class Writable(Protocol):
    """What can be written in any of the formats; with a `report` of its own, as that where HTML is asked for."""

    def to_dict(self) -> dict[str, Any]: ...
    def to_arrow(self) -> Any: ...
    def render(self, form: str, *, verbose: bool = False) -> str: ...


def write(result: Result, path: Path, format: str | None = None) -> None:  # noqa: A002
    """Write a result: `result.write` says how. The name's ending .gz, .bz2, .xz or .zst compresses."""
    form, results = result_format(path, format), {result._name or "run": result}
    if form != "json":
        write_answer(result, path, form, results, command=result._command)
        return
    reproduce = record_of(result._command)
    with replacing(path, form) as stream:
        stream.write((as_json(with_record(as_runs(results), reproduce)) + "\n").encode())


def write_answer(
    answer: Writable, path: Path, form: str, results: Mapping[str, Result], verbose: bool = True, command: str = ""
) -> None:
    """Write an answer about some results to a file; `-` is standard output. command: what computes it again."""
    reproduce = record_of(command) if form in ("json", "parquet") and path != "-" else None
    with replacing(path, form) as stream:
        if form == "trec":
            _write_values(results, stream)
        elif form == "json":
            stream.write((as_json(with_record(answer.to_dict(), reproduce)) + "\n").encode())
        elif form == "html" and path != "-" and (report := getattr(answer, "report", None)):
            stream.write(report().encode())
        elif form in PAGES.values():
            stream.write((answer.render(form, verbose=verbose) + "\n").encode())
        else:
            table = answer.to_arrow()
            if form == "parquet":
                about = {b"rankstone": as_json(with_record(_about(results), reproduce)).encode()} if results else {}
                table = table.replace_schema_metadata({**(table.schema.metadata or {}), **about})
            _write_table(table, stream, form)


def result_format(path: Path, form_name: str | None, default: str | None = None) -> str:
    """The format that the name of a file and `given` ask for. default: for a name without an ending."""
    name = os.fspath(path)
    ending = ending_of(name)
    by_name = _RESULTS.get(ending)
    if form_name is None and by_name is None and default is not None and (not ending or _is_device(name)):
        return default
    form = _format(path, form_name, _RESULTS)
    if by_name not in (None, form):
        raise InputError(f"{name} is {by_name} by its name, but {form} was asked for; leave one of them out")
    return form


def _is_device(name: str) -> bool:
    return name == "-" or (os.path.exists(name) and not os.path.isfile(name))


def as_runs(results: Mapping[str, Result]) -> dict[str, Any]:
    """All that each result has: the form of a result's JSON file."""
    return {**stamp("result"), "runs": {name: result.to_dict() for name, result in results.items()}}


def _about(results: Mapping[str, Result]) -> dict[str, Any]:
    """All but the values of each query."""
    whole = as_runs(results)
    for data in whole["runs"].values():
        del data["queries"], data["per_query"]
    return whole


def as_json(data: object) -> str:
    """JSON proper, where NaN is null."""
    return _lines(_jsonable(data), "")


def _lines(data: Any, margin: str) -> str:
    """A line for each entry, but one for a whole list of numbers or words: `indent=` would write a line for each."""
    if isinstance(data, dict) and data:
        parts = [
            f"{json.dumps(name, ensure_ascii=False)}: {_lines(part, margin + '  ')}" for name, part in data.items()
        ]
    elif isinstance(data, list) and {dict, list} & set(map(type, data)):
        parts = [_lines(part, margin + "  ") for part in data]
    else:
        return json.dumps(data, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    inside = f",\n{margin}  ".join(parts)
    return f"{opening}\n{margin}  {inside}\n{margin}{closing}"


def _jsonable(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _jsonable(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        kinds = set(map(type, data))
        if kinds <= {str, int} or (kinds == {float} and all(map(math.isfinite, data))):  # as most are
            return list(data)
        return [_jsonable(value) for value in data]
    if isinstance(data, float):
        return data if math.isfinite(data) else None if math.isnan(data) else str(data)
    return data if data is None or isinstance(data, (str, int)) else str(data)


def convert(
    source: Path,
    target: Path,
    kind: str = "truth",
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    on_error: OnError = "stop",
    features: Path | None = None,
    tag: str = "rankstone",
) -> Columns | Lists:
    """Write a truth or a run in another format. Returns what was read.

    kind: "truth" or "run". columns, on_error, features: as for `read_truth` and `read_run`. tag: the last field of
    a TREC run.
    """
    if kind not in ("truth", "run"):
        raise InputError(f"unknown kind {kind!r}; choose from truth, run")
    _list_format(target, target_format, kind)  # before anything is read
    if kind == "truth":
        read = read_truth(source, format=source_format, columns=columns, on_error=on_error)
    else:
        read = read_run(source, format=source_format, columns=columns, on_error=on_error, features=features)
    write_side(as_columns(read, kind), target, kind, target_format, tag)
    return read


def write_side(
    side: Columns, target: Path, kind: str, target_format: str | None = None, tag: str = "rankstone"
) -> None:
    """Write the rows of a truth or a run; `-` is standard output."""
    form = _list_format(target, target_format, kind)
    with replacing(target, form) as stream:
        table = _as_table(side)
        _check_ids(table, form, os.fspath(target))
        _write_table(table, stream, form, kind, tag)


def _list_format(path: Path, name: str | None, kind: str) -> str:
    """The format that a truth or a run is written in."""
    form = _format(path, name, _LISTS, [form.name for form in FORMATS.values() if form.write])
    if kind not in FORMATS[form].kinds:
        raise InputError(f"{form} ({FORMATS[form].title}) has a {FORMATS[form].kinds[0]}, not a {kind}")
    return form


def _format(path: Path, name: str | None, suffixes: Mapping[str, str], formats: Sequence[str] = ()) -> str:
    formats = formats or sorted(set(suffixes.values()))
    if name is not None:
        if name not in formats:
            raise InputError(f"unknown format {name!r}; choose from {', '.join(formats)}")
        return name
    ending = ending_of(os.fspath(path))
    if ending not in suffixes:
        raise InputError(
            f"unknown format of {os.fspath(path)!r}; use the extension .{', .'.join(suffixes)}, "
            f"or give the format: {', '.join(formats)}"
        )
    return suffixes[ending]


def _write_table(table: Any, stream: Any, form: str, kind: str = "", tag: str = "") -> None:
    write = FORMATS[form].write
    assert write is not None
    with convertible("the table"):
        write(table, stream, kind, tag)


def _write_values(results: Mapping[str, Result], stream: Any) -> None:
    """As trec_eval prints them: name, query and value, a query at a time, then the means."""
    if len(results) > 1:
        raise InputError(f"trec has no place for the names of {len(results)} runs; write each of them, or choose csv")
    (result,) = results.values()
    lines = []
    shapes = {label: "%.0f" if parse(label)[0].declaration.kind == "count" else "%6.4f" for label in result}
    values = {label: result.per_query[label] for label in result}
    for at, query in enumerate(result.queries):
        if any(letter in str(query) for letter in " \t\n\r\v\f"):
            raise InputError(f"query {query!r} has white space in it and cannot be written as trec")
        for label, shape in shapes.items():
            if not np.isnan(values[label][at]):  # the query does not count
                lines.append(f"{label:<22s}\t{query}\t{shape % values[label][at]}\n")
        if len(lines) >= WRITTEN_ROWS:
            stream.write("".join(lines).encode())
            lines = []
    lines += [f"{label:<22s}\tall\t{shape % result[label]}\n" for label, shape in shapes.items()]
    stream.write("".join(lines).encode())


def _as_table(read: Columns) -> Any:
    """A truth or a run as a table of whole numbers, strings and float64."""
    import pyarrow

    columns = {}
    for name in ("query", "item", "grade", "score"):
        column = getattr(read, name)
        if column is None:
            continue
        column = numbers(plain(column))
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        elif pyarrow.types.is_floating(column.type):
            column = column.cast(pyarrow.float64())
        columns[name] = column
    return pyarrow.table(columns)


def _check_ids(table: Any, form: str, target: str) -> None:
    """Refuse ids that would not be read back as they are."""
    import pyarrow.compute as pc

    for role, pattern in FORMATS[form].bad_ids.items():
        if is_whole(one_piece(table[role])):
            continue
        bad = pc.match_substring_regex(table[role], pattern)
        if pc.any(bad).as_py():
            first = table[role].filter(bad)[0].as_py()
            why = "is empty" if first == "" else "has white space or a leading # in it"
            fit = listed(
                (form.name for form in FORMATS.values() if form.write and not form.bad_ids and not form.tool), "and"
            )
            raise InputError(f"{target}: {role} {first!r} {why} and cannot be written as {form}; {fit} can")
