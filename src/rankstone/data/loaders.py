"""Loaders: the `Source` of user data in any shape but plain dicts, which `evaluate.pipeline.open_source` handles."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.arrow import as_array, is_table, plain_ids
from rankstone.data.columns import ColumnPair, Columns
from rankstone.data.dicts import Dicts
from rankstone.data.files import is_path, read_side, same_ids, side_columns
from rankstone.data.lists import Dense, ListPair, Lists, check_arrays, from_sparse, is_matrix, is_scores, is_sparse
from rankstone.data.roles import check_two_sides, roles_of
from rankstone.data.source import RunOnly, Source, left_out, left_out_of_truth, own_leads, still_judged
from rankstone.data.tables import (
    AsRun,
    as_columns,
    as_lists,
    flat,
    from_table,
    has_annotations,
    has_empty,
    in_order,
    predictions,
)
from rankstone.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from rankstone.data.side_info import SideInfo
    from rankstone.data.tables import Side
    from rankstone.typing import Array, CatalogueLike, Column, ColumnRoles, Numbers, Parent, Path, Run, Truth

_KINDS = (Mapping, Columns, Lists)


def load(
    truth: Truth | None,
    run: Run | None,
    *,
    mask: Array | None,
    lengths: Numbers | None,
    groups: Numbers | None,
    query: Column | None,
    columns: ColumnRoles | None,
    exclude: Truth | None,
    exclude_from_truth: bool = False,
    parent: Parent | None = None,
    overlap: float | None = None,
    queries: Column | Path | None = None,
) -> Source:
    """The source of a truth and a run in any shape."""
    if exclude_from_truth and (exclude is None or truth is None):
        raise InputTypeError("exclude_from_truth= goes with exclude= and a truth")
    if truth is None:
        return _alone(run, mask, lengths, columns, exclude, parent, overlap, queries)
    if overlap is not None:
        others = {"mask": mask, "lengths": lengths, "groups": groups, "query": query, "exclude": exclude}
        for name in (name for name, value in {**others, "parent": parent}.items() if value is not None):
            raise InputTypeError(f"{name}= does not go with overlap=")
        from rankstone.data.transforms import covered  # imported late: rarely needed

        return covered(truth, run, overlap, columns, queries)
    if parent is not None and is_matrix(run):
        raise InputTypeError("parent= goes with items that have ids, not with matrices of labels and scores")
    if is_matrix(run) and (is_matrix(truth) or is_sparse(truth)):
        return _dense(truth, run, mask, lengths, exclude, exclude_from_truth, queries)
    if mask is not None or lengths is not None:
        raise InputTypeError("mask= and lengths= go with matrices of labels and scores")
    if is_scores(truth) and is_scores(run):
        check_arrays(as_array(truth), as_array(run), "leave these rows out")
        pair: Any = flat(truth, run, groups, query)
    elif query is not None:
        raise InputTypeError("query= goes with two flat arrays, labels and scores; a table has a query column")
    elif run is None and is_table(truth):
        pair = predictions(truth, columns, groups)
    elif groups is not None:
        raise InputTypeError(
            "groups= goes with two flat arrays, or with one table that has a label and a score in each row"
        )
    else:
        if run is None and is_path(truth):  # a file with both sides in each row
            run = truth
        judged = opened(truth, "truth", columns, run)
        if isinstance(judged, Columns) and is_scores(run):
            pair = judged, _scored(judged, run, truth)
        else:
            pair = judged, opened(run, "run", columns, truth)
            check_apart(truth, run, *pair)
    if not all(isinstance(side, _KINDS) for side in pair):
        raise InputTypeError(
            f"cannot evaluate {_kind(truth)} and {_kind(run)} together; give dicts ({{query: {{item: grade}}}}), "
            "tables with a query and an item column, files, rs.columns(...), rs.lists(...), or matrices"
        )
    files = any(map(is_file, (truth, run, None if _is_self(exclude) else exclude)))
    if queries is not None:
        from rankstone.data.transforms import of_queries

        pair = of_queries(pair[0], pair[1], queries)
    *pair, notes = _new(pair[0], pair[1], exclude, columns, files, exclude_from_truth)
    if parent is not None:
        from rankstone.data.transforms import by_document

        judged, returned, note = by_document(pair[0], pair[1], parent)
        pair, notes = [judged, returned], (*notes, note)
    return _paired(*pair, files=files, notes=notes)


def _alone(
    run: Any,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    columns: ColumnRoles | None = None,
    exclude: Any = None,
    parent: Parent | None = None,
    overlap: float | None = None,
    queries: Column | Path | None = None,
) -> Source:
    """A run without a truth."""
    for name, value in {"parent": parent, "overlap": overlap}.items():
        if value is not None:
            raise InputTypeError(f"{name}= goes with a truth")
    if is_matrix(run):
        return RunOnly(_dense(np.zeros(run.shape), run, mask, lengths, exclude, queries=queries))
    side: Any = opened(run, "run", columns)
    if queries is not None and isinstance(side, _KINDS):
        from rankstone.data.transforms import of_queries

        side = of_queries(None, side, queries)[1]
    _, side, notes = _new(None, side, exclude, columns, any(map(is_file, (run, exclude))))
    if isinstance(side, Mapping):
        return RunOnly(Dicts({}, side, notes=notes))
    if isinstance(side, Columns):
        return RunOnly(ColumnPair(Columns(side.query[:0], side.item[:0]), side, notes=notes))
    if isinstance(side, Lists):
        starts = np.zeros(1 if side.query is not None else len(side) + 1, dtype=np.int64)
        none = Lists(starts, side.items[:0], None, None if side.query is None else side.query[:0])
        return RunOnly(ListPair(none, side, notes=notes))
    raise InputTypeError(
        f"cannot evaluate {_kind(run)}; give a dict ({{query: {{item: score}}}}), a table, a file, or rs.lists(...)"
    )


def _new(
    truth: Any, run: Any, exclude: Any, columns: ColumnRoles | None, files: bool, from_truth: bool = False
) -> tuple[Any, Any, tuple[str, ...]]:
    """The truth, the run without the excluded items, and the notes on it; from_truth: the truth without them, too."""
    if exclude is None:
        return truth, run, own_leads(run if isinstance(run, Mapping) else _first_lists(run))
    from rankstone.data.transforms import count_relevant, own_items, residual, without

    excluded: Any = own_items(run) if _is_self(exclude) else _excluded(exclude, columns)
    if files and not isinstance(run, Mapping):
        excluded, run = same_ids(excluded, run)
    run, count = without(run, excluded)
    if truth is None:
        return None, run, (left_out(count),)
    if files and not isinstance(truth, Mapping):
        excluded, truth = same_ids(excluded, truth)
    if not from_truth:
        return truth, run, (left_out(count), *still_judged(count_relevant(truth, excluded)))
    truth, judged = residual(truth, excluded)
    return truth, run, (left_out(count), *left_out_of_truth(judged))


def open_side_info(catalogue: CatalogueLike | None, history: Truth | None, reference: Run | None) -> SideInfo:
    """The side information of an evaluation."""
    from rankstone.data import side_info

    return side_info.SideInfo(
        None if catalogue is None else side_info.catalogue(catalogue),
        None if history is None else as_columns(opened(history, "truth", None), "truth"),
        reference if reference is None or isinstance(reference, RunOnly) else _alone(reference),
    )


def _dense(
    truth: Any,
    run: Any,
    mask: Array | None,
    lengths: Numbers | None,
    exclude: Any,
    from_truth: bool = False,
    queries: object = None,
) -> Source:
    if queries is not None:
        raise InputTypeError("queries= goes with ids, and rows of a matrix have none: pass some of the rows")
    labels = truth.toarray() if is_sparse(truth) else truth
    if labels.shape != run.shape and is_sparse(truth) and as_array(run).dtype.kind in "iu":
        raise InputError(
            f"the run has shape {tuple(run.shape)} but the truth {labels.shape}; if it holds the items' numbers, best "
            "first, give rs.lists(run)"
        )
    source = Dense(run, labels, mask, lengths)
    source.check()
    if _is_self(exclude):
        raise InputTypeError("exclude='self' goes with items that have ids, not with matrices of labels and scores")
    if exclude is None:
        return source
    return source.without(exclude.toarray() if is_sparse(exclude) else exclude, from_truth)


def opened(side: Any, what: str, columns: ColumnRoles | None, other: Any = None) -> Side:
    """A truth or a run as a dict, columns or lists; other: the run or the truth that goes with it."""
    if isinstance(side, AsRun):
        return side.side
    if is_path(side):
        role_map = side_columns(columns, what, side, [other])
        return read_side(side, what, columns=role_map, features=other if what == "run" and is_path(other) else None)
    if is_sparse(side):
        return from_sparse(side)
    return from_table(side, what, columns) if is_table(side) else side


def check_apart(truth: object, run: object, judged: Columns | Lists, returned: Columns | Lists) -> None:
    """Raise if a table or a file is both sides, and has not a column for each; judged, returned: the sides as read."""
    same = truth is run or (is_path(truth) and is_path(run) and os.fspath(truth) == os.fspath(run))
    if same and (is_path(truth) or is_table(truth)):
        where = os.fspath(truth) if is_path(truth) else "the table"
        check_two_sides(judged.names or {"item": None}, returned.names or {"item": None}, where)


def is_file(side: object) -> bool:
    """Is it a file, or made from files."""
    return is_path(side) or (isinstance(side, AsRun) and side.of_files)


_ROWS = 5_000  # of a run, to see whether queries' own documents lead


def _first_lists(run: Columns | Lists) -> dict[str, dict[str, float]]:
    """The first lists of a run from a file, ids as strings. Columns in memory are read by the core alone."""
    if not run.path or run.query is None:
        return {}
    if isinstance(run, Lists):
        lists = max(1, int(np.searchsorted(run.offsets, _ROWS)) - 1)
        sizes = np.diff(run.offsets[: lists + 1])
        query, items, values = np.repeat(_words(run.query, len(sizes)), sizes).tolist(), run.items, run.values
    else:
        query, items, values = _words(run.query, min(_ROWS, len(run.query))), run.item, run.score
    scores = -np.arange(len(query)) if values is None else np.asarray(values[: len(query)], np.float64)
    out: dict[str, dict[str, float]] = {}
    for name, item, score in zip(query, _words(items, len(query)), scores.tolist(), strict=True):
        out.setdefault(name, {})[item] = score
    return out


def _words(column: Any, count: int) -> list[str]:
    return list(map(str, plain_ids(column, np.arange(count))))


def _is_self(exclude: object) -> bool:
    """Is the query's own document to be excluded."""
    return isinstance(exclude, str) and exclude == "self"


def _excluded(exclude: Truth, columns: ColumnRoles | None) -> Columns:
    """The excluded items, as rows."""
    role_map = {**roles_of(columns, "truth"), "grade": None}
    return as_columns(opened(exclude, "truth", {"truth": role_map}), "truth")


def _paired(truth: Side, run: Side, *, files: bool, notes: tuple[str, ...]) -> Source:
    """A truth and a run as one source, in the shape that they have in common."""
    if isinstance(truth, Mapping) and isinstance(run, Mapping):
        return Dicts(truth, run, notes=notes)
    both = isinstance(truth, Lists) and isinstance(run, Lists)
    by_list = both or has_empty(truth) or has_empty(run) or in_order(truth)
    if by_list and has_annotations(truth):
        raise InputError(
            "a truth with subtopics or weights is evaluated by rows of items, and some query has an empty list; "
            "leave that query out, or pass both sides as dicts"
        )
    shape: Any = as_lists if by_list else as_columns
    pair: Any = shape(truth, "truth"), shape(run, "run")
    if files:  # ids of files are strings
        pair = same_ids(*pair)
    return ListPair(*pair, notes=notes) if by_list else ColumnPair(*pair, notes=notes)


def _scored(truth: Columns, scores: Any, source: Truth) -> Columns:
    """The rows of the truth as a run, with one score per row."""
    values = as_array(scores)
    if len(values) != len(truth.query):
        name = source if is_path(source) else "the truth"
        raise InputError(f"there are {len(values)} scores, but {name} has {len(truth.query)} rows")
    return Columns(truth.query, truth.item, score=values)


def _kind(side: object) -> str:
    return f"{type(side).__module__}.{type(side).__qualname__}".removeprefix("builtins.")


# -- groups of queries ---------------------------------------------------------------------------------------


def groups_of(truth: Any, column: str, columns: ColumnRoles | None = None) -> dict[Any, Hashable]:
    """Each query's value in a column of the truth, which is a table or a file."""
    if not is_path(truth) and not is_table(truth):
        raise InputError(f"the truth is no table with a column {column!r}; give each query's group in a dict")
    roles = {**roles_of(columns, "truth"), "item": column, "grade": None}
    read: Any = opened(truth, "truth", {"truth": roles})
    return grouped(read, truth if is_path(truth) else "the truth")


def grouped(read: Columns | Lists, name: object) -> dict[Any, Hashable]:
    """The group per query, read as an item; a query is in one group only."""
    rows = as_columns(read, "truth")
    out: dict[Any, Hashable] = {}
    for query, group in zip(plain_ids(rows.query), plain_ids(rows.item), strict=True):
        if out.setdefault(query, group) != group:
            raise InputError(
                f"{name}: query {query!r} is in two groups, {out[query]!r} and {group!r}; where both are meant, make "
                "them a part of the query's id, in the truth and in the run"
            )
    return out
