"""A note on ranking metrics: `from rankstone.compat.note import precision_at_k, recall_at_k` for its functions.

`y_true` and `y_pred` have one ranked list per user; both are cut at k. A mask has the relevance of items, per
user. The conventions are "preference-note" and "preference-note-masked".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import rankstone as rs
from rankstone.compat.hashables import as_ids
from rankstone.errors import InputError

__all__ = ["metric_at_k", "precision_at_k", "recall_at_k"]

Lists = Sequence[Sequence[Any]]
Masks = Sequence[Mapping[Any, Any]]
_REST = object()  # not an item of any list


def metric_at_k(
    denom: str, y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    """Micro-averaged precision or recall at k.

    Parameters
    ----------
    denom : str
        "precision", or else recall.
    y_true : sequence of lists
        Preferred items per user.
    y_pred : sequence of lists
        Ranked items per user.
    k : int, default 2
        Cutoff of both.
    relevance_masks : sequence of mappings, optional
        Relevance by item, per user.
    rounding : int, optional, default 4
        Digits of the value; None does not round.

    Returns
    -------
    float
    """
    metric = (rs.precision if denom == "precision" else rs.recall) @ k
    if relevance_masks:
        masked = zip(y_true, y_pred, relevance_masks, strict=False)  # up to the shortest
        convention = "preference-note-masked"
        truth: list[Any] = [_masked(true[:k], predicted[:k], mask) for true, predicted, mask in masked]
    else:
        convention = "preference-note"
        truth = [list(dict.fromkeys(true[:k])) for true, _ in zip(y_true, y_pred, strict=False)]
    pairs = [as_ids(true, predicted[:k]) for true, predicted in zip(truth, y_pred, strict=False)]
    truth, run = [true for true, _ in pairs], [predicted for _, predicted in pairs]
    result = rs.evaluate(dict(enumerate(truth)), dict(enumerate(run)), metric, convention=convention, digits=rounding)
    return result[metric]


def precision_at_k(
    y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    """Micro-averaged precision at k; parameters as for `metric_at_k`."""
    return metric_at_k("precision", y_true, y_pred, k, relevance_masks, rounding)


def recall_at_k(
    y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    """Micro-averaged recall at k; parameters as for `metric_at_k`."""
    return metric_at_k("recall", y_true, y_pred, k, relevance_masks, rounding)


def _masked(true: Sequence[Any], predicted: Sequence[Any], mask: Mapping[Any, Any]) -> dict[Any, float]:
    """Grades of the preferred items. All other relevance of the mask is one item that no list has."""
    for item in (*true, *predicted):
        if item not in mask:
            raise InputError(f"item {item!r} is not in the relevance mask")
    grades = {item: float(mask[item]) for item in true}
    return {**grades, _REST: float(sum(mask.values())) - sum(grades.values())}
