"""Every door but that of plain dicts: which of them fits what a user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankstone.inputs.arrow import is_table
from rankstone.inputs.columns import ColumnPair, Columns
from rankstone.inputs.dicts import Dicts
from rankstone.inputs.files import is_path, read_run, read_truth, same_ids, side_columns
from rankstone.inputs.lists import ListPair, Lists
from rankstone.inputs.matrices import Dense, as_array, from_sparse, is_matrix, is_scores, is_sparse
from rankstone.inputs.source import Source
from rankstone.inputs.tables import as_columns, as_lists, from_table, has_empty, predictions

if TYPE_CHECKING:
    from rankstone.typing import Array, Numbers, Roles, Run, Truth


def find_door(
    truth: Truth,
    run: Run | None,
    *,
    mask: Array | None,
    lengths: Numbers | None,
    groups: Numbers | None,
    columns: Roles | None,
) -> Source:
    """Find the door that fits."""
    if is_matrix(truth) and is_matrix(run):
        return Dense(run, truth, mask, lengths)
    if is_sparse(truth) and is_matrix(run):
        return Dense(run, truth.toarray(), mask, lengths)
    if mask is not None or lengths is not None:
        raise TypeError("mask= and lengths= go with matrices of labels and scores")
    if run is None and is_table(truth):
        pair: Any = predictions(truth, columns, groups)
    elif groups is not None:
        raise TypeError("groups= goes with one table that has a label and a score in each row")
    else:
        if run is None and is_path(truth):  # a file with both sides in each row
            run = truth
        pair = []
        for side, what in ((truth, "truth"), (run, "run")):
            if is_path(side) and what == "truth":
                pair.append(read_truth(side, columns=side_columns(columns, what, side, [run])))
            elif is_path(side):
                beside = truth if is_path(truth) else None
                pair.append(read_run(side, columns=side_columns(columns, what, side, [truth]), beside=beside))
            elif pair and isinstance(pair[0], Columns) and is_scores(side):
                pair.append(_scored(pair[0], side, truth))
            elif is_sparse(side):
                pair.append(from_sparse(side))
            else:
                pair.append(from_table(side, what, columns) if is_table(side) else side)
    kinds = [next((kind for kind in (Mapping, Columns, Lists) if isinstance(side, kind)), None) for side in pair]
    if None in kinds:
        raise TypeError(
            f"cannot evaluate {_kind(truth)} and {_kind(run)} together; give dicts ({{query: {{item: grade}}}}), "
            "tables with a query and an item column, files, rs.columns(...), rs.lists(...), or matrices"
        )
    if kinds == [Mapping, Mapping]:
        return Dicts(*pair)
    by_list = kinds == [Lists, Lists] or any(map(has_empty, pair))
    shape: Any = as_lists if by_list else as_columns
    judged, returned = shape(pair[0], "truth"), shape(pair[1], "run")
    if is_path(truth) or is_path(run):  # a file's ids are text, whatever they look like
        judged, returned = same_ids(judged, returned)
    return ListPair(judged, returned) if by_list else ColumnPair(judged, returned)


def _scored(truth: Columns, scores: Numbers, given: Truth) -> Columns:
    """The truth's rows as a run, with a score for each."""
    found = as_array(scores)
    if len(found) != len(truth.query):
        name = given if is_path(given) else "the truth"
        raise ValueError(f"there are {len(found)} scores, but {name} has {len(truth.query)} rows")
    return Columns(truth.query, truth.item, score=found)


def _kind(side: object) -> str:
    return f"{type(side).__module__}.{type(side).__qualname__}".removeprefix("builtins.")
