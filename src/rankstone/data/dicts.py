"""Nested dicts: `{query: {item: grade}}` and `{query: {item: score}}`, or lists of items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone import _core
from rankstone._core import Alignment
from rankstone.data.annotations import SEVERAL, Notes, Subtopics
from rankstone.data.arrow import as_column
from rankstone.data.lists import Lists, first_of
from rankstone.data.source import Align, Aligned, First, ranked_from
from rankstone.errors import DataError, DataTypeError

if TYPE_CHECKING:
    from rankstone.typing import Id, Items

_WALKED = {dict, list, tuple, set, frozenset}  # what the core walks by itself
_LISTED = (list, tuple, set, frozenset)
_SHAPES = {"truth": "{item: grade} or a list of items", "run": "{item: score} or a list of items, best first"}


class Dicts:
    """A truth and a run as nested dicts."""

    def __init__(self, truth: Mapping[Id, Items], run: Mapping[Id, Items], *, remarks: tuple[str, ...] = ()) -> None:
        self.rows: Subtopics | None = None
        if names_subtopics(truth):
            truth, self.rows = one_each(truth)
            remarks = (*remarks, *((SEVERAL,) if len(self.rows.grade) > len(self.rows.order) else ()))
        self.truth, self.run = plain_dict(truth, "truth"), plain_dict(run, "run")
        self.remarks = remarks

    repeatable = True

    def align(self, how: Align) -> Aligned:
        found = _core.align_dicts(self.truth, self.run, how)
        if len(found.rank) == 0:
            refuse_mixed(self.truth, self.run)
        notes = Notes(None, self.rows) if "subtopic" in how.notes and self.rows is not None else None
        return aligned_from(found, ordered_lists(self.truth), has_grades(self.truth), notes, self.remarks, how)

    def first(self, how: Align, depth: int | None) -> First:
        run = listed(self.run, "run")
        at = {query: row for row, query in enumerate(self.run)}
        queries = [*self.truth, *(query for query in self.run if how.extra_queries and query not in self.truth)]
        rows = np.array([at.get(query, -1) for query in queries], dtype=np.int64)
        return first_of(run, rows, how, depth, queries.__getitem__)

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        shared = [query for query in self.truth if query in self.run]
        return chain.from_iterable(map(self.truth.__getitem__, shared)), chain.from_iterable(
            map(self.run.__getitem__, shared)
        )


class OneList(Dicts):
    """One list and its truth: that nothing in it is judged needs no word."""

    def __init__(self, query: Id, truth: Items, run: Items) -> None:
        super().__init__({query: truth}, {query: run})

    def ids(self) -> None:
        return None


def aligned_from(
    found: Alignment, ordered: bool, graded: bool, notes: Notes | None, remarks: tuple[str, ...], how: Align
) -> Aligned:
    """The core's answer, with the ids that it has."""
    queries, extra = found.queries, found.extra
    if how.extra_queries:
        queries = [*queries, *extra]
    ranked = ranked_from(found, ordered_truth=ordered, notes=notes)
    return Aligned(ranked, lambda: queries, lambda: extra, len(extra), found.dropped, remarks=remarks, graded=graded)


def has_grades(truth: Mapping[Id, Items]) -> bool:
    """Has it grades, and not just relevant items; none at all says nothing."""
    return not truth or any(isinstance(items, dict) for items in truth.values())


def ordered_lists(side: Mapping[Id, Items]) -> bool:
    """Are all of its lists in an order of the caller's."""
    return bool(side) and all(isinstance(items, (list, tuple)) for items in side.values())


def refuse_mixed(truth: dict[Any, Any], run: dict[Any, Any], name: str = "truth", other: str = "run") -> None:
    """Where nothing matches at all, 1 was perhaps meant to be "1"."""
    sides = [(truth, run, "queries")]
    shared = [query for query in truth if query in run]
    sides += [(truth[query], run[query], "items") for query in shared[:100]]
    for judged, returned, what in sides:
        kinds = [{_id_kind(name) for name in side} for side in (judged, returned)]
        if kinds in ([{"integers"}, {"strings"}], [{"strings"}, {"integers"}]):
            raise TypeError(f"{name} {what} are {kinds[0].pop()} but {other} {what} are {kinds[1].pop()}")


def _id_kind(name: object) -> str:
    return "integers" if isinstance(name, (int, np.integer)) else "strings" if isinstance(name, str) else "others"


def listed(side: Mapping[Id, Any], what: str) -> Lists:
    """A nested dict as lists. Ids must be all integers or all strings then, as in a table."""
    side = plain_dict(side, what)
    items: list[Id] = []
    values: list[float] = []
    for content in side.values():
        items += content
        if isinstance(content, Mapping):
            values += content.values()
        else:  # best first
            values += [1.0] * len(content) if what == "truth" else range(len(content), 0, -1)
    sizes = [len(content) for content in side.values()]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    valued = None if ordered_lists(side) else as_column("grade" if what == "truth" else "score", values)
    return Lists(offsets, as_column("item", items), valued, as_column("query", list(side)), ordered=False)


# -- subtopics -----------------------------------------------------------------------------------------------


def names_subtopics(truth: object) -> bool:
    """Is it {query: {item: {subtopic: grade}}}, or has it lists of subtopics; the first item tells."""
    for content in truth.values() if isinstance(truth, Mapping) else ():
        if not isinstance(content, Mapping) or content:
            inside = next(iter(content.values())) if isinstance(content, Mapping) else None
            return isinstance(inside, (Mapping, *_LISTED))
    return False


def by_item(truth: Mapping[Id, Any]) -> Iterator[tuple[Id, Id, Mapping[Any, float]]]:
    """Query, item, and the item's grade for each subtopic; 1 where subtopics are only listed."""
    for query, content in truth.items():
        if not isinstance(content, Mapping):
            raise DataTypeError(
                f"query {query!r}: the truth is {content!r}, where others name subtopics; give "
                "{item: {subtopic: grade}} or {item: [subtopics]}",
                "shape", "truth", query,
            )  # fmt: skip
        for item, judged in content.items():
            grades = dict.fromkeys(judged, 1.0) if isinstance(judged, _LISTED) else judged
            if not isinstance(grades, Mapping):
                raise DataTypeError(
                    f"query {query!r}, item {item!r}: {judged!r} names no subtopic, where others do; give "
                    "{subtopic: grade} or a list of subtopics",
                    "shape", "truth", query, item,
                )  # fmt: skip
            if len(grades) < len(judged):
                twice = next(name for name in grades if list(judged).count(name) > 1)
                raise DataError(
                    f"query {query!r}: item {item!r} appears twice in the truth for subtopic {twice!r}",
                    "twice", "truth", query, item,
                )  # fmt: skip
            for subtopic, grade in grades.items():
                if not _is_number(grade) or not math.isfinite(grade):
                    raise DataTypeError(
                        f"query {query!r}, item {item!r}: grade {grade!r} for subtopic {subtopic!r} is not a number",
                        "number", "truth", query, item,
                    )  # fmt: skip
            yield query, item, grades


def one_each(truth: Mapping[Id, Any]) -> tuple[dict[Id, dict[Id, float]], Subtopics]:
    """The highest grade of each judged item, 0 where it has none, and its rows."""
    found = _core.spread_dicts(truth)
    if found is None:
        plain: dict[Id, dict[Id, dict[Any, float]]] = {query: {} for query in truth}
        for query, item, grades in by_item(truth):  # which says what is wrong, if something is
            plain[query][item] = {subtopic: float(grade) for subtopic, grade in grades.items()}
        found = _core.spread_dicts(plain)
        if found is None:
            raise RuntimeError("the truth changed while it was read")
    flat, order, ends, row, number, grade = found
    return flat, Subtopics(np.concatenate((np.zeros(1, dtype=np.int64), ends)), number, grade[row], order)


# -- shapes --------------------------------------------------------------------------------------------------


def plain_dict(side: Mapping[Id, Items], what: str) -> dict[Id, Any]:
    """The same as dicts, lists, tuples and sets of ids; not copied if it is that already."""
    _refuse_several(side, what)
    if isinstance(side, dict) and _core.is_plain(side):
        return side
    return {query: _plain_list(items, query, what) for query, items in side.items()}


def _refuse_several(side: Mapping[Id, Any], what: str) -> None:
    """Stop at `{name: run}`, which looks much like `{query: list}`."""
    for name, content in side.items():
        inside = next(iter(content.values()), None) if isinstance(content, Mapping) else None
        if isinstance(inside, (Mapping, list, tuple, set)) or _is_whole_side(content):
            raise DataTypeError(
                f"{name!r} is a {what} of its own, not a list of items; evaluate one {what} at a time: "
                f"{{name: rs.evaluate(truth, run, ...) for name, run in runs.items()}}",
                "shape",
                what,
            )
        return


def _is_whole_side(content: object) -> bool:
    """Is it a file, a table or a matrix."""
    return hasattr(content, "__fspath__") or hasattr(content, "columns") or getattr(content, "ndim", 1) > 1


def _plain_list(items: Any, query: Id, what: str) -> Any:
    if isinstance(items, tuple(_WALKED)):
        found: Any = items
    elif isinstance(items, Mapping):
        found = dict(items)
    elif getattr(items, "ndim", None) == 1 and hasattr(items, "tolist"):  # of NumPy, a frame or torch
        found = items.tolist()
    elif isinstance(items, (Sequence, Set)) and not isinstance(items, (str, bytes)):
        found = list(items)
    else:
        raise DataTypeError(
            f"query {query!r}: the {what} is {items!r}; give {_SHAPES[what]} (several runs are evaluated one by one)",
            "shape", what, query,
        )  # fmt: skip
    first = next(iter(found), None)
    if isinstance(first, (tuple, list)) and isinstance(found, (list, tuple)):
        return _of_pairs(found, query, what)
    if isinstance(first, Mapping):
        value = "score" if what == "run" else "grade"
        raise DataTypeError(
            f"query {query!r}: the {what}'s items are dicts such as {first!r}; give {_SHAPES[what]}: "
            f"{{one['id']: one[{value!r}] for one in items}}",
            "shape", what, query,
        )  # fmt: skip
    if isinstance(first, (float, np.floating)):
        raise DataTypeError(
            f"query {query!r}: {first!r} is a float, and no id of an item; give {_SHAPES[what]}",
            "id",
            what,
            query,
            first,
        )
    return found


def _of_pairs(pairs: Sequence[Any], query: Id, what: str) -> Any:
    """`[(item, score), ...]` as a dict; other tuples are ids themselves."""
    paired = [isinstance(pair, (tuple, list)) and len(pair) == 2 and _is_number(pair[1]) for pair in pairs]
    if not all(paired):
        if all(isinstance(pair, tuple) for pair in pairs) and not any(paired):
            return pairs
        strange = pairs[paired.index(False)]
        raise DataTypeError(
            f"query {query!r}: {strange!r} is no pair of an item and a number; give {_SHAPES[what]}",
            "shape",
            what,
            query,
        )
    out: dict[Any, Any] = {}
    for item, value in pairs:
        if item in out:
            raise DataError(f"query {query!r}: item {item!r} is in the {what} twice", "twice", what, query, item)
        out[item] = value
    return out


def _is_number(value: object) -> bool:
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))
