"""Nested dicts: `{query: {item: grade}}` and `{query: {item: score}}`, or lists of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone import _core
from rankstone._core import Alignment
from rankstone.data.annotations import SEVERAL, Annotations, Subtopics
from rankstone.data.arrow import as_column
from rankstone.data.lists import Lists, first_of
from rankstone.data.roles import NoColumnError, find_inside
from rankstone.data.source import Aligned, AlignOptions, TopK, ranked_from
from rankstone.errors import DataError, DataTypeError, InputTypeError, is_finite, show

if TYPE_CHECKING:
    from rankstone.typing import Id, Items

_WALKED = {dict, list, tuple, set, frozenset}  # what the core walks by itself
_LISTED = (list, tuple, set, frozenset)
_SHAPES = {"truth": "{item: grade} or a list of items", "run": "{item: score} or a list of items, best first"}


class Dicts:
    """A truth and a run as nested dicts."""

    def __init__(self, truth: Mapping[Id, Items], run: Mapping[Id, Items], *, notes: tuple[str, ...] = ()) -> None:
        self.rows: Subtopics | None = None
        if names_subtopics(truth):
            truth, self.rows = one_each(truth)
            notes = (*notes, *((SEVERAL,) if len(self.rows.grade) > len(self.rows.order) else ()))
        self.truth, self.run = plain_dict(truth, "truth"), plain_dict(run, "run")
        self.notes = notes

    repeatable = True

    def align(self, options: AlignOptions) -> Aligned:
        alignment = _core.align_dicts(self.truth, self.run, options)
        if len(alignment.rank) == 0:
            check_same_kind(self.truth, self.run)
        annotations = (
            Annotations(None, self.rows) if "subtopic" in options.annotations and self.rows is not None else None
        )
        return aligned_from(
            alignment, ordered_lists(self.truth), has_grades(self.truth), annotations, self.notes, options
        )

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        run = listed(self.run, "run")
        at = {query: row for row, query in enumerate(self.run)}
        queries = [*self.truth, *(query for query in self.run if options.extra_queries and query not in self.truth)]
        rows = np.array([at.get(query, -1) for query in queries], dtype=np.int64)
        return first_of(run, rows, options, depth, queries.__getitem__)

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        shared = [query for query in self.truth if query in self.run]
        return chain.from_iterable(map(self.truth.__getitem__, shared)), chain.from_iterable(
            map(self.run.__getitem__, shared)
        )


class OneList(Dicts):
    """One list and its truth; no warning if none of its items is judged."""

    def __init__(self, query: Id, truth: Items, run: Items) -> None:
        super().__init__({query: truth}, {query: run})

    def ids(self) -> None:
        return None


def aligned_from(
    alignment: Alignment,
    ordered: bool,
    graded: bool,
    annotations: Annotations | None,
    notes: tuple[str, ...],
    options: AlignOptions,
) -> Aligned:
    """The core's alignment with ids."""
    queries, extra = alignment.queries, alignment.extra
    if options.extra_queries:
        queries = [*queries, *extra]
    ranked = ranked_from(alignment, ordered_truth=ordered, annotations=annotations)
    return Aligned(ranked, lambda: queries, lambda: extra, len(extra), alignment.dropped, notes=notes, graded=graded)


def has_grades(truth: Mapping[Id, Items]) -> bool:
    """Has it grades; an empty truth counts as graded."""
    return not truth or any(isinstance(items, dict) for items in truth.values())


def ordered_lists(side: Mapping[Id, Items]) -> bool:
    """Are all of its lists ordered."""
    return bool(side) and all(isinstance(items, (list, tuple)) for items in side.values())


def check_same_kind(truth: dict[Any, Any], run: dict[Any, Any], name: str = "truth", other: str = "run") -> None:
    """Raise if ids are integers on one side and strings on the other."""
    sides = [(truth, run, "queries")]
    shared = [query for query in truth if query in run]
    sides += [(truth[query], run[query], "items") for query in shared[:100]]
    for judged, returned, what in sides:
        kinds = [{id_kind(name) for name in side} for side in (judged, returned)]
        if kinds in ([{"integers"}, {"strings"}], [{"strings"}, {"integers"}]):
            raise InputTypeError(f"{name} {what} are {kinds[0].pop()} but {other} {what} are {kinds[1].pop()}")


def id_kind(name: object) -> str:
    """What an id is: integers, strings or others."""
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
    """Is it {query: {item: {subtopic: grade}}}, or has it lists of subtopics; decided by the first item."""
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
                f"query {query!r}: the truth is {show(content)}, where others name subtopics; give "
                "{item: {subtopic: grade}} or {item: [subtopics]}",
                "shape", "truth", query,
            )  # fmt: skip
        for item, judged in content.items():
            grades = dict.fromkeys(judged, 1.0) if isinstance(judged, _LISTED) else judged
            if not isinstance(grades, Mapping):
                raise DataTypeError(
                    f"query {query!r}, item {item!r}: {show(judged)} names no subtopic, where others do; give "
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
                if not _is_number(grade) or not is_finite(grade):
                    raise DataTypeError(
                        f"query {query!r}, item {item!r}: grade {show(grade)} for subtopic {subtopic!r} is not a "
                        "number",
                        "number", "truth", query, item,
                    )  # fmt: skip
            yield query, item, grades


def one_each(truth: Mapping[Id, Any]) -> tuple[dict[Id, dict[Id, float]], Subtopics]:
    """The highest grade of each judged item, 0 where it has none, and its rows."""
    flattened = _core.spread_dicts(truth)
    if flattened is None:
        plain: dict[Id, dict[Id, dict[Any, float]]] = {query: {} for query in truth}
        for query, item, grades in by_item(truth):  # raises if something is wrong
            plain[query][item] = {subtopic: float(grade) for subtopic, grade in grades.items()}
        flattened = _core.spread_dicts(plain)
        if flattened is None:
            raise DataError("the truth changed while it was read")
    flat, order, ends, row, number, grade = flattened
    return flat, Subtopics(np.concatenate((np.zeros(1, dtype=np.int64), ends)), number, grade[row], order)


# -- shapes --------------------------------------------------------------------------------------------------


def plain_dict(side: Mapping[Id, Items], what: str) -> dict[Id, Any]:
    """The same as dicts, lists, tuples and sets of ids; not copied if it is that already."""
    _check_one_side(side, what)
    out: dict[Id, Any]
    if isinstance(side, dict) and _core.is_plain(side):
        out = side
    else:
        out = {query: _plain_list(items, query, what) for query, items in side.items()}
    for query, items in out.items():
        check_ids(islice(items, 1), what, query)
    return out


def _check_one_side(side: Mapping[Id, Any], what: str) -> None:
    """Raise for `{name: run}`, which is easily mistaken for `{query: list}`."""
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
        plain: Any = items
    elif isinstance(items, Mapping):
        plain = dict(items)
    elif getattr(items, "ndim", None) == 1 and hasattr(items, "tolist"):  # of NumPy, a frame or torch
        plain = items.tolist()
    elif isinstance(items, (Sequence, Set)) and not isinstance(items, (str, bytes)):
        plain = list(items)
    else:
        raise DataTypeError(
            f"query {query!r}: the {what} is {show(items)}; give {_SHAPES[what]} (several runs: one by one)",
            "shape", what, query,
        )  # fmt: skip
    first = next(iter(plain), None)
    if isinstance(first, (tuple, list)) and isinstance(plain, (list, tuple)):
        return _of_pairs(plain, query, what)
    if isinstance(first, Mapping):
        return _of_objects(plain, query, what)
    if isinstance(first, (float, np.floating)):
        raise DataTypeError(
            f"query {query!r}: {first!r} is a float, not the id of an item; pass {_SHAPES[what]}",
            "id",
            what,
            query,
            first,
        )
    return plain


def _of_objects(objects: Any, query: Id, what: str) -> Any:
    """`[{"id": item, "score": score}, ...]` as a dict, or as a list of items where they have no scores."""
    keys = set.intersection(*(set(one) if isinstance(one, Mapping) else set() for one in objects))
    try:
        names = find_inside([key for key in objects[0] if key in keys], what)
    except ValueError as error:
        about = f"query {query!r}: the {what}'s items are objects such as {show(objects[0])}"
        problem = "which have no usual name of an id in common" if isinstance(error, NoColumnError) else error
        raise DataTypeError(f"{about}, {problem}; give {_SHAPES[what]}", "shape", what, query) from None
    item, (value, *_) = names.pop("item"), (*names.values(), None)
    if value is None:
        return [one[item] for one in objects]
    sign = -1 if "rank" in names else 1
    return _of_pairs([(one[item], sign * one[value] if _is_number(one[value]) else one[value]) for one in objects],
                     query, what)  # fmt: skip


_ID_TYPES = {str, int, type(None)}  # most ids, and what is an error of its own
_ID_NAMES = ("id", "id_", "node_id", "doc_id", "docid", "docno", "document_id", "page_content")  # of objects


def check_ids(items: Iterable[object], what: str, query: Id = None) -> None:
    """Raise for objects that have an id, but are none: they are equal to nothing but themselves."""
    for item in (item for item in items if type(item) not in _ID_TYPES):
        kind: Any = type(item)
        own = next((name for name in _ID_NAMES if hasattr(item, name)), None)
        if own is not None or all(getattr(kind, name) is getattr(object, name) for name in ("__hash__", "__eq__")):
            where = "" if query is None else f"query {query!r}: "
            raise DataTypeError(
                f"{where}{show(item)} of the {what} is an object of {kind.__name__}, not an id; pass its id: "
                f"[item.{own or 'id'} for item in items]",
                "id", what, query, item,
            )  # fmt: skip


def _of_pairs(pairs: Sequence[Any], query: Id, what: str) -> Any:
    """`[(item, score), ...]` as a dict; other tuples are ids themselves."""
    paired = [isinstance(pair, (tuple, list)) and len(pair) == 2 and _is_number(pair[1]) for pair in pairs]
    if not all(paired):
        if all(isinstance(pair, tuple) for pair in pairs) and not any(paired):
            return pairs
        strange = pairs[paired.index(False)]
        raise DataTypeError(
            f"query {query!r}: {show(strange)} is not a pair of an item and a number; pass {_SHAPES[what]}",
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
