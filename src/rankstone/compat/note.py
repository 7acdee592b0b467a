"""A note on ranking metrics: `from rankstone.compat.note import precision_at_k, recall_at_k` for its functions.

`y_true` and `y_pred` hold a ranked list for each user; both are cut at k. A mask tells, for each user, which items are
relevant. The conventions are "preference-note" and "preference-note-masked".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import rankstone as rs

__all__ = ["metric_at_k", "precision_at_k", "recall_at_k"]

Lists = Sequence[Sequence[Any]]
Masks = Sequence[Mapping[Any, Any]]
_REST = object()  # no item of a list


def metric_at_k(
    denom: str, y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    """Precision if `denom` is "precision", else recall: all users' hits over all users' places or relevant items."""
    metric = (rs.precision if denom == "precision" else rs.recall) @ k
    if relevance_masks:
        masked = zip(y_true, y_pred, relevance_masks, strict=False)  # as far as all lists go
        convention = "preference-note-masked"
        truth: list[Any] = [_masked(true[:k], predicted[:k], mask) for true, predicted, mask in masked]
    else:
        convention = "preference-note"
        truth = [list(dict.fromkeys(true[:k])) for true, _ in zip(y_true, y_pred, strict=False)]
    run = [predicted[:k] for predicted, _ in zip(y_pred, truth, strict=False)]
    result = rs.evaluate(dict(enumerate(truth)), dict(enumerate(run)), metric, convention=convention, digits=rounding)
    return result[metric]


def precision_at_k(
    y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    return metric_at_k("precision", y_true, y_pred, k, relevance_masks, rounding)


def recall_at_k(
    y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    return metric_at_k("recall", y_true, y_pred, k, relevance_masks, rounding)


def _masked(true: Sequence[Any], predicted: Sequence[Any], mask: Mapping[Any, Any]) -> dict[Any, float]:
    """Grades of the preferred items. What else the mask calls relevant cannot be found, and is one item."""
    for item in (*true, *predicted):
        if item not in mask:
            raise ValueError(f"item {item!r} is not in the relevance mask")
    grades = {item: float(mask[item]) for item in true}
    return {**grades, _REST: float(sum(mask.values())) - sum(grades.values())}
