"""Every door but that of plain dicts: which of them fits what a user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from rankstone.inputs.arrow import as_array, is_table
from rankstone.inputs.columns import ColumnPair, Columns
from rankstone.inputs.dicts import Dicts
from rankstone.inputs.files import is_path, read_run, read_truth, same_ids
from rankstone.inputs.lists import ListPair, Lists
from rankstone.inputs.matrices import Dense, from_sparse, is_matrix, is_sparse
from rankstone.inputs.roles import roles_of
from rankstone.inputs.seen import without
from rankstone.inputs.source import Source
from rankstone.inputs.tables import as_columns, flat, from_table, grouped, predictions, queries_of

if TYPE_CHECKING:
    from rankstone.inputs.tables import Side
    from rankstone.typing import Array, Column, Numbers, Roles, Run, Truth

_KINDS = (Mapping, Columns, Lists)


def find_door(
    truth: Truth,
    run: Run | None,
    *,
    mask: Array | None,
    lengths: Numbers | None,
    groups: Numbers | None,
    query: Column | None,
    columns: Roles | None,
    exclude: Truth | None,
) -> Source:
    """Find the door that fits."""
    if is_matrix(run) and (is_matrix(truth) or is_sparse(truth)):
        return _dense(truth, run, mask, lengths, exclude)
    if mask is not None or lengths is not None:
        raise TypeError("mask= and lengths= go with matrices of labels and scores")
    if _is_flat(truth) and _is_flat(run):
        pair: Any = flat(truth, run, groups, query)
    elif query is not None:
        raise TypeError("query= goes with two flat arrays, labels and scores; a table has a query column")
    elif run is None and is_table(truth):
        pair = predictions(truth, columns, groups)
    elif groups is not None:
        raise TypeError("groups= goes with two flat arrays, or with one table that has a label and a score in each row")
    else:
        pair = _opened(truth, "truth", columns), _opened(run, "run", columns, truth)
    if not all(isinstance(side, _KINDS) for side in pair):
        raise TypeError(
            f"cannot evaluate {_kind(truth)} and {_kind(run)} together; give dicts ({{query: {{item: grade}}}}), "
            "tables with a query and an item column, files, rs.columns(...), rs.lists(...), or matrices"
        )
    notes: tuple[str, ...] = ()
    if exclude is not None:
        returned, note = without(pair[1], _seen(exclude, columns))
        pair, notes = (pair[0], returned), (note,)
    return _paired(*pair, files=is_path(truth) or is_path(run), notes=notes)


def _dense(truth: Any, run: Any, mask: Array | None, lengths: Numbers | None, exclude: Any) -> Source:
    labels = truth.toarray() if is_sparse(truth) else truth
    if labels.shape != run.shape and is_sparse(truth) and as_array(run).dtype.kind in "iu":
        raise ValueError(
            f"the run has shape {tuple(run.shape)} but the truth {labels.shape}; if it holds the items' numbers, best "
            "first, give rs.lists(run)"
        )
    return Dense(run, labels, mask, lengths, exclude.toarray() if is_sparse(exclude) else exclude)


def _is_flat(side: object) -> TypeGuard[Column]:
    """Is it a flat array of numbers, such as labels."""
    if isinstance(side, list):
        return bool(side) and isinstance(side[0], (int, float, np.number))
    return getattr(side, "ndim", None) == 1


def _opened(side: Any, what: str, columns: Roles | None, beside: Any = None) -> Side:
    """A truth or a run as a dict, columns or lists."""
    if is_path(side):
        given = roles_of(columns, what) or None
        if what == "truth":
            return read_truth(side, columns=given)
        return read_run(side, columns=given, beside=beside if is_path(beside) else None)
    if is_sparse(side):
        return from_sparse(side)
    return from_table(side, what, columns) if is_table(side) else side


def _seen(exclude: Truth, columns: Roles | None) -> Columns:
    """What was seen, as rows."""
    given = roles_of(columns, "truth") | {"grade": None}
    return as_columns(_opened(exclude, "truth", {"truth": given}), "truth")


def _paired(truth: Side, run: Side, *, files: bool, notes: tuple[str, ...]) -> Source:
    """A truth and a run as one source, in the shape that they have in common."""
    if isinstance(truth, Mapping) and isinstance(run, Mapping):
        return Dicts(truth, run, notes=notes)
    if isinstance(truth, Lists) and isinstance(run, Lists):
        return ListPair(truth, run, notes=notes)
    judged, returned = as_columns(truth, "truth"), as_columns(run, "run")
    if files:  # a file's ids are text, whatever they look like
        judged, returned = same_ids(judged, returned)
    known = [queries_of(side) for side in (truth, run)]
    if known == [None, None]:
        return ColumnPair(judged, returned, notes=notes)
    lists = (grouped(side, names) for side, names in zip((judged, returned), known, strict=True))
    return ListPair(*lists, notes=notes)


def _kind(side: object) -> str:
    return f"{type(side).__module__}.{type(side).__qualname__}".removeprefix("builtins.")
