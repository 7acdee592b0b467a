"""Files of tools: which format a file is in, and its truth or run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankstone.data.arrow import distinct
from rankstone.data.lines import Entry, FileRows, RowError
from rankstone.data.lists import Lists
from rankstone.data.roles import RoleMap
from rankstone.data.tool_formats import TOOLS, Path, ToolFormat, at_path, text_roles
from rankstone.errors import Advice, FileError, Hint, show


class ReadRequest(NamedTuple):
    """What to read from a file, and how."""

    kind: str  # "truth" or "run"
    role_map: RoleMap
    skip: bool  # skip bad lines
    path: str
    features: str | None  # the LETOR file whose rows the scores belong to
    part: str = ""  # the run that is meant, in a file with several


# -- detection -----------------------------------------------------------------------------------------------


def detect_tool(name: str, sample: Any) -> ToolFormat | None:
    """The tool format of a file with such a sample, which has no other reading; None for none."""
    tools = [tool for tool, _ in _fitting(sample)]
    if len(tools) > 1:
        choices = " or ".join(repr(tool.name) for tool in tools)
        raise FileError(name, Advice(f"could be read as {choices}; pass ", Hint("format"), ", one of them"))
    return tools[0] if tools else None


def _fitting(sample: Any) -> list[tuple[ToolFormat, Path]]:
    """The formats that a sample fits, each with the path of its entries; what is wrapped in an answer comes first."""
    for around, inner in _unwrapped(sample):
        if not isinstance(inner, dict):
            continue
        tools = [tool for tool in TOOLS if tool.fetched or "_source" not in around]
        fitting = [(tool, (*around, *path)) for tool in tools if (path := tool.path(inner)) is not None]
        if fitting:
            return [fit for fit in fitting if not fit[0].fallback] or fitting[:1]
    return []


def _unwrapped(sample: Any, around: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A sample and what is in it: the sources of hits, the answer inside of `rank_eval`, the first of several rows."""
    if isinstance(sample, list):
        yield from _unwrapped(sample[0], ("*",)) if sample and not around else ()
        return
    for path in (("hits", "hits", "*", "_source"), ("_source",), ("rank_eval",)):
        if isinstance(inner := at_path(sample, path), dict):
            yield (*around, *path), inner
    yield around, sample


# -- reading -------------------------------------------------------------------------------------------------


def read_tool(
    tool: ToolFormat,
    file: str,
    request: ReadRequest,
    sample: Any,
    entries: Callable[[Path, bool], Iterator[Entry]],
    count: Callable[[bytes], int],
    ids: Callable[[list[Any]], Any],
) -> Lists:
    """A truth or a run in the format of a tool.

    entries: those of the file at a path, and whether to look for keys that are twice in an object, which takes time.
    count: how often bytes occur in the file. ids: a column of them.
    """
    kind, rows = request.kind, FileRows(file, request.skip)
    path = next((path for fits, path in _fitting(sample) if fits is tool), None)
    if path is None:
        raise FileError(file, f"is not as files of {tool.title} are")
    part, lists = _collected(tool, request, rows, entries(path, not tool.fields))
    items = [item for own, _ in lists.values() for item in own]
    if any(count(f'"{field}"'.encode()) > len(items) for field in tool.fields):  # an object may have a field twice
        part, lists = _collected(tool, request, rows, entries(path, True))
    values: list[Any] = [own for items, own in lists.values() if items]
    valued = bool(values) and values[0] is not None
    if any((own is not None) != valued for own in values):
        raise FileError(file, "some of its lists have scores, others none")
    if tool.ordered and kind == "run" and valued:
        valued = all(map(_falls, values))
    sizes = np.cumsum([0, *(len(own) for own, _ in lists.values())])
    numbers = np.array([value for own in values for value in own]) if valued else None
    side = Lists(sizes, ids(items), numbers, ids(list(lists)), names=text_roles(sample, kind) or {"item": kind})
    return noted(tool, kind, rows.side(side), f"{file} ({part})" if part else file)


def _collected(tool: ToolFormat, request: ReadRequest, rows: FileRows, entries: Iterator[Entry]) -> tuple[str, _Listed]:
    """The lists of the run that is meant, and its name if there are several."""
    from rankstone.data.json_files import item_ids, to_id

    parts: dict[str, _Listed] = {}
    several = request.kind == "truth" or tool.by_item  # may a query be in several entries
    for number, entry in enumerate(entries, 1):
        try:
            lists = parts.setdefault(tool.part(entry) if tool.part else "", {})
            for query, items, values in getattr(tool, request.kind)(entry):
                name, before = to_id(number if query is None else query, "query"), None
                if name in lists:
                    before = lists[name]
                    if not several:
                        raise RowError(f"query {show(name)} is there twice")
                lists[name] = _joined(before, item_ids(items), values)
        except RowError as problem:  # noqa: PERF203
            rows.reject(entry.line, str(problem))
        except (AttributeError, KeyError, TypeError, IndexError, ValueError):
            rows.reject(entry.line, f"{show(entry.value)} is not as {tool.title} has it")
    parts = {name: lists for name, lists in parts.items() if lists}
    part, lists = _chosen(rows.name, tool, parts, request.part)
    return part if len(parts) > 1 else "", lists


def _joined(before: Any, items: list[Any], values: list[float] | None) -> tuple[list[Any], list[float] | None]:
    if before is None:
        return items, values
    if not before[0] or not items:
        return (items, values) if items else before
    if (before[1] is None) != (values is None):
        raise RowError("some items of a query have scores, others none")
    before[0].extend(items)
    if values is not None:
        before[1].extend(values)
    return before


_Listed = dict[Any, "tuple[list[Any], list[float] | None]"]  # items and values, by query


def noted(tool: ToolFormat, kind: str, side: Any, file: str) -> Any:
    """The same side, with a note on how it was read."""
    lists = isinstance(side, Lists)
    queries = len(side) if lists else len(distinct(side.query))
    what = f"{len(side.items if lists else side.item):,} {'ratings' if kind == 'truth' else 'items'}"
    more = f" ({tool.note})" if tool.note and kind == "truth" else ""
    return replace(side, notes=(*side.notes, f"{file}: read as {tool.title}: {queries:,} queries, {what}{more}"))


def _falls(scores: Sequence[float]) -> bool:
    """Does each score have a lower one after it, so that they say what the order says."""
    return all(first > second for first, second in pairwise(scores))


def _chosen(file: str, tool: ToolFormat, parts: dict[str, _Listed], wanted: str) -> tuple[str, _Listed]:
    """The run that is meant, and its lists: the only one, the one that was named, or the split `test` of a data set."""
    if not parts:
        return "", {}
    tests = [part for part in parts if part.rpartition("/")[2] == "test"]
    one_set = len({part.rpartition("/")[0] for part in parts}) == 1
    chosen = [wanted] if wanted else list(parts) if len(parts) == 1 else tests if one_set else []
    if len(chosen) != 1 or chosen[0] not in parts:
        hint = Hint("format", f"{tool.name}:{next(iter(parts))}")
        raise FileError(file, Advice(f"has the runs {', '.join(map(repr, parts))}; pass one of them: ", hint))
    return chosen[0], parts[chosen[0]]
