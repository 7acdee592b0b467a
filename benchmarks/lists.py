"""List columns: 100,000 lists of 100 items, ten of them relevant, against libraries that take labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow
from data import Data, Side, integers
from race import Contender, Goal, Numbers, Row, faster, invite, named, race

import rankstone as rs

ITEMS, JUDGED = 100, 10
METRICS = ["ndcg@10", "ap", "rr", "recall@10"]
SLICE = 5_000  # lists for those that loop over them in Python: their time grows with the number


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(100_000 * scale), 1)
    # Labels have no entry for an item that was not returned, so here the truth is retrieved in full.
    data = integers(queries, ITEMS, JUDGED, retrieved=1.0)
    truth, run = list_columns(data.truth, JUDGED), list_columns(data.run, ITEMS)
    labels, scores = label_matrix(data), data.run.value.reshape(queries, ITEMS)

    def ours(metrics: list[str], count: int = queries) -> Numbers:
        return dict(
            rs.evaluate(
                rs.lists(truth[0][:count], grades=truth[1][:count]),
                rs.lists(run[0][:count], scores=run[1][:count]),
                metrics,
            )
        )

    part = min(SLICE, queries)
    shape = f"{queries:,} x {ITEMS}"
    yield from race(
        f"list columns, {shape}, 4 metrics",
        lambda: ours(METRICS),
        [
            invite(
                "torchmetrics",
                lambda: torchmetrics(labels[:part], scores[:part], part / queries, lambda: ours(METRICS, part)),
                faster(20),
            )
        ],
        repeats,
    )
    yield from race(
        f"list columns, {shape}, nDCG@10",
        lambda: ours(["ndcg@10"]),
        [invite("scikit-learn", lambda: sklearn(labels, scores, faster(5)), faster(5))],
        repeats,
    )
    yield from race(
        f"matrices of labels and scores, {shape}, nDCG@10",
        lambda: dict(rs.evaluate(labels, scores, ["ndcg@10"])),
        [
            invite("scikit-learn", lambda: sklearn(labels, scores)),
            invite(
                "scikit-learn",
                lambda: sklearn_default(labels[:part], scores[:part], part / queries, lambda: ours(["ndcg@10"], part)),
            ),
        ],
        repeats,
    )


def list_columns(side: Side, size: int) -> tuple[Any, Any]:
    """Items and values as Arrow list arrays, as DuckDB, Spark and Parquet files have them."""
    offsets = pyarrow.array(np.arange(0, len(side) + 1, size, dtype=np.int32))
    return tuple(pyarrow.ListArray.from_arrays(offsets, pyarrow.array(column)) for column in (side.item, side.value))


def label_matrix(data: Data) -> Any:
    """The grade of each returned item, 0 where it is not judged."""

    def keys(side: Side) -> Any:
        return side.query * 2**21 + side.item

    order = np.argsort(keys(data.truth))
    known = keys(data.truth)[order]
    at = np.searchsorted(known, keys(data.run)).clip(max=len(known) - 1)
    found = known[at] == keys(data.run)
    return np.where(found, data.truth.value[order][at], 0).reshape(data.queries, -1)


def torchmetrics(labels: Any, scores: Any, share: float, expected: Callable[[], Numbers]) -> Contender:
    import torch
    from torchmetrics import retrieval

    preds = torch.from_numpy(np.ascontiguousarray(scores).ravel())
    target = torch.from_numpy(np.ascontiguousarray(labels).ravel())
    relevant = target > 0
    indexes = torch.arange(len(scores)).repeat_interleave(scores.shape[1])

    def call() -> Numbers:
        answers = {}
        for name, metric, wanted in (
            ("ndcg@10", retrieval.RetrievalNormalizedDCG(top_k=10), target),
            ("ap", retrieval.RetrievalMAP(), relevant),
            ("rr", retrieval.RetrievalMRR(), relevant),
            ("recall@10", retrieval.RetrievalRecall(top_k=10), relevant),
        ):
            metric.update(preds, wanted, indexes=indexes)
            answers[name] = float(metric.compute())
        return answers

    return Contender(named("torchmetrics"), call, faster(20), share, expected)


def sklearn(labels: Any, scores: Any, goal: Goal | None = None) -> Contender:
    """Its fast path: the data has no ties, so it may ignore them."""
    from sklearn.metrics import ndcg_score

    def call() -> Numbers:
        return {"ndcg@10": float(ndcg_score(labels, scores, k=10, ignore_ties=True))}

    return Contender(f"{named('scikit-learn')}, ignore_ties=True", call, goal)


def sklearn_default(labels: Any, scores: Any, share: float, expected: Callable[[], Numbers]) -> Contender:
    from sklearn.metrics import ndcg_score

    def call() -> Numbers:
        return {"ndcg@10": float(ndcg_score(labels, scores, k=10))}

    return Contender(f"{named('scikit-learn')}, as it comes", call, None, share, expected)
