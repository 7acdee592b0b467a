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


def metric_at_k(
    denom: str, y_true: Lists, y_pred: Lists, k: int = 2, relevance_masks: Masks = (), rounding: int | None = 4
) -> float:
    """Precision if `denom` is "precision", else recall: all users' hits over all users' places or relevant items."""
    metric = (rs.precision if denom == "precision" else rs.recall) @ k
    if relevance_masks:
        masked = list(zip(y_true, y_pred, relevance_masks, strict=False))  # as far as all lists go
        convention = "preference-note-masked"
        truth: list[Any] = [_masked(true, predicted, mask, k) for true, predicted, mask in masked]
        run = [predicted for _, predicted, _ in masked]
    else:
        convention = "preference-note"
        truth = [_once(true, k) for true, _ in zip(y_true, y_pred, strict=False)]
        run = list(y_pred[: len(truth)])
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


def _once(true: Sequence[Any], k: int) -> list[Any]:
    """A repeated item takes another of the k places, but is one item."""
    return list(true) if len(set(true)) == len(true) else list(dict.fromkeys(true[:k]))


def _masked(true: Sequence[Any], predicted: Sequence[Any], mask: Mapping[Any, Any], k: int) -> dict[Any, float]:
    """Grades in the order of preference. Items that the mask alone knows come after the first k places."""
    for item in (*true[:k], *predicted[:k]):
        if item not in mask:
            raise ValueError(f"item {item!r} is not in the relevance mask")
    grades: dict[Any, float] = {}
    for place in range(max(len(true), k)):
        if place < len(true) and true[place] not in grades:
            grades[true[place]] = float(mask.get(true[place]) or 0)
        else:
            grades["nothing at", place] = 0.0
    return grades | {item: float(value or 0) for item, value in mask.items()}
