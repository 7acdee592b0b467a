"""Loaders: the `Source` of whatever a user has, but for plain dicts, which `evaluate.pipeline.open_source` knows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.arrow import as_array, is_table, plain_ids
from rankstone.data.columns import ColumnPair, Columns
from rankstone.data.dicts import Dicts
from rankstone.data.files import is_path, read_side, same_ids, side_columns
from rankstone.data.lists import Dense, ListPair, Lists, from_sparse, is_matrix, is_scores, is_sparse
from rankstone.data.roles import roles_of
from rankstone.data.source import Alone, Source
from rankstone.data.tables import (
    Made,
    as_columns,
    as_lists,
    flat,
    from_table,
    has_empty,
    has_notes,
    in_order,
    predictions,
    queried,
)

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside
    from rankstone.data.tables import Side
    from rankstone.typing import Array, Column, Numbers, Parent, Roles, Run, Stock, Truth

_KINDS = (Mapping, Columns, Lists)


def load(
    truth: Truth | None,
    run: Run | None,
    *,
    mask: Array | None,
    lengths: Numbers | None,
    groups: Numbers | None,
    query: Column | None,
    columns: Roles | None,
    exclude: Truth | None,
    parent: Parent | None = None,
    overlap: float | None = None,
) -> Source:
    """The source of a truth and a run in any shape."""
    if truth is None:
        return _alone(run, mask, lengths, columns, exclude, parent, overlap)
    if overlap is not None:
        given = {"mask": mask, "lengths": lengths, "groups": groups, "query": query, "exclude": exclude}
        for name in (name for name, value in {**given, "parent": parent}.items() if value is not None):
            raise TypeError(f"{name}= does not go with overlap=")
        from rankstone.data.transforms import covered  # a quick start, as for all that few ask for

        return covered(truth, run, overlap, columns)
    if parent is not None and is_matrix(run):
        raise TypeError("parent= goes with items that have ids, not with matrices of labels and scores")
    if is_matrix(run) and (is_matrix(truth) or is_sparse(truth)):
        return _dense(truth, run, mask, lengths, exclude)
    if mask is not None or lengths is not None:
        raise TypeError("mask= and lengths= go with matrices of labels and scores")
    if is_scores(truth) and is_scores(run):
        pair: Any = flat(truth, run, groups, query)
    elif query is not None:
        raise TypeError("query= goes with two flat arrays, labels and scores; a table has a query column")
    elif run is None and is_table(truth):
        pair = predictions(truth, columns, groups)
    elif groups is not None:
        raise TypeError("groups= goes with two flat arrays, or with one table that has a label and a score in each row")
    else:
        if run is None and is_path(truth):  # a file with both sides in each row
            run = truth
        judged = opened(truth, "truth", columns, run)
        if isinstance(judged, Columns) and is_scores(run):
            pair = judged, _scored(judged, run, truth)
        else:
            pair = judged, opened(run, "run", columns, truth)
    if not all(isinstance(side, _KINDS) for side in pair):
        raise TypeError(
            f"cannot evaluate {_kind(truth)} and {_kind(run)} together; give dicts ({{query: {{item: grade}}}}), "
            "tables with a query and an item column, files, rs.columns(...), rs.lists(...), or matrices"
        )
    files = any(map(is_file, (truth, run, exclude)))
    returned, remarks = _new(pair[1], exclude, columns, files)
    pair = pair[0], returned
    if parent is not None:
        from rankstone.data.transforms import by_document

        judged, returned, note = by_document(pair[0], pair[1], parent)
        pair, remarks = (judged, returned), (*remarks, note)
    return _paired(*pair, files=files, remarks=remarks)


def _alone(
    run: Any,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    columns: Roles | None = None,
    exclude: Any = None,
    parent: Parent | None = None,
    overlap: float | None = None,
) -> Source:
    """A run without a truth."""
    for name, value in {"parent": parent, "overlap": overlap}.items():
        if value is not None:
            raise TypeError(f"{name}= goes with a truth")
    if is_matrix(run):
        return Alone(_dense(np.zeros(run.shape), run, mask, lengths, exclude))
    side, remarks = _new(opened(run, "run", columns), exclude, columns, any(map(is_file, (run, exclude))))
    if isinstance(side, Mapping):
        return Alone(Dicts({}, side, remarks=remarks))
    if isinstance(side, Columns):
        return Alone(ColumnPair(Columns(side.query[:0], side.item[:0]), side, remarks=remarks))
    if isinstance(side, Lists):
        starts = np.zeros(1 if side.query is not None else len(side) + 1, dtype=np.int64)
        none = Lists(starts, side.items[:0], None, None if side.query is None else side.query[:0])
        return Alone(ListPair(none, side, remarks=remarks))
    raise TypeError(
        f"cannot evaluate {_kind(run)}; give a dict ({{query: {{item: score}}}}), a table, a file, or rs.lists(...)"
    )


def _new(run: Any, exclude: Any, columns: Roles | None, files: bool) -> tuple[Any, tuple[str, ...]]:
    """A run without what was seen before, and what to say of it."""
    if exclude is None:
        return run, ()
    from rankstone.data.transforms import without

    seen: Any = _seen(exclude, columns)
    if files and not isinstance(run, Mapping):
        seen, run = same_ids(seen, run)
    run, note = without(run, seen)
    return run, (note,)


def open_beside(catalogue: Stock | None, history: Truth | None, reference: Run | None) -> Beside:
    """What is known beside a truth and a run."""
    from rankstone.data import side_info

    return side_info.Beside(
        None if catalogue is None else side_info.catalogue(catalogue),
        None if history is None else as_columns(opened(history, "truth", None), "truth"),
        reference if reference is None or isinstance(reference, Alone) else _alone(reference),
    )


def _dense(truth: Any, run: Any, mask: Array | None, lengths: Numbers | None, exclude: Any) -> Source:
    labels = truth.toarray() if is_sparse(truth) else truth
    if labels.shape != run.shape and is_sparse(truth) and as_array(run).dtype.kind in "iu":
        raise ValueError(
            f"the run has shape {tuple(run.shape)} but the truth {labels.shape}; if it holds the items' numbers, best "
            "first, give rs.lists(run)"
        )
    return Dense(run, labels, mask, lengths, exclude.toarray() if is_sparse(exclude) else exclude)


def opened(side: Any, what: str, columns: Roles | None, beside: Any = None) -> Side:
    """A truth or a run as a dict, columns or lists; beside: the other."""
    if isinstance(side, Made):
        return side.side
    if is_path(side):
        given = side_columns(columns, what, side, [beside])
        return read_side(side, what, columns=given, beside=beside if what == "run" and is_path(beside) else None)
    if is_sparse(side):
        return from_sparse(side)
    return from_table(side, what, columns) if is_table(side) else side


def is_file(side: object) -> bool:
    """Is it a file, or made of files."""
    return is_path(side) or (isinstance(side, Made) and side.of_files)


def _seen(exclude: Truth, columns: Roles | None) -> Columns:
    """What was seen, as rows."""
    given = roles_of(columns, "truth") | {"grade": None}
    return as_columns(opened(exclude, "truth", {"truth": given}), "truth")


def _paired(truth: Side, run: Side, *, files: bool, remarks: tuple[str, ...]) -> Source:
    """A truth and a run as one source, in the shape that they have in common."""
    if isinstance(truth, Mapping) and isinstance(run, Mapping):
        return Dicts(truth, run, remarks=remarks)
    both = isinstance(truth, Lists) and isinstance(run, Lists)
    by_list = both or has_empty(truth) or has_empty(run) or in_order(truth)
    if by_list and has_notes(truth):
        raise ValueError(
            "a truth with subtopics or weights is measured by rows of items, and some query has a list without any; "
            "leave that query out, or give both sides as dicts"
        )
    shape: Any = as_lists if by_list else as_columns
    pair: Any = shape(truth, "truth"), shape(run, "run")
    if files:  # a file's ids are text, whatever they look like
        pair = same_ids(*pair)
    return ListPair(*pair, remarks=remarks) if by_list else ColumnPair(*pair, remarks=remarks)


def _scored(truth: Columns, scores: Any, given: Truth) -> Columns:
    """The truth's rows as a run, with a score for each."""
    found = as_array(scores)
    if len(found) != len(truth.query):
        name = given if is_path(given) else "the truth"
        raise ValueError(f"there are {len(found)} scores, but {name} has {len(truth.query)} rows")
    return Columns(truth.query, truth.item, score=found)


def _kind(side: object) -> str:
    return f"{type(side).__module__}.{type(side).__qualname__}".removeprefix("builtins.")


# -- groups of queries ---------------------------------------------------------------------------------------


def groups_of(truth: Any, column: str, columns: Roles | None = None) -> dict[Any, Hashable]:
    """Each query's value in a column of the truth, which is a table or a file."""
    truth = queried(truth)
    if not is_path(truth) and not is_table(truth):
        raise ValueError(f"the truth is no table with a column {column!r}; give each query's group in a dict")
    roles = {**roles_of(columns, "truth"), "item": column, "grade": None}
    read: Any = opened(truth, "truth", {"truth": roles})
    return grouped(read, truth if is_path(truth) else "the truth")


def grouped(read: Columns | Lists, name: object) -> dict[Any, Hashable]:
    """Each query's group, where a group stands for an item; a query is in one group only."""
    rows = as_columns(read, "truth")
    out: dict[Any, Hashable] = {}
    for query, group in zip(plain_ids(rows.query), plain_ids(rows.item), strict=True):
        if out.setdefault(query, group) != group:
            raise ValueError(f"{name}: query {query!r} is in two groups, {out[query]!r} and {group!r}")
    return out
