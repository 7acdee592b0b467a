"""Batches of arrays: 4,096 rows of 200 items, as a training loop has them, three metrics at five cutoffs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from race import Absent, Contender, Numbers, Row, faster, invite, named, race

import rankstone as rs

METRICS = ("ndcg", "ap", "rr")
ITEMS, KS = 200, (1, 3, 5, 10, 20)
SLICE = 256  # rows for those that loop over them in Python: their time grows with the number
SEEDS = Path(__file__).parents[2] / "shared" / "seeds"
PT_RANKING = "PT-Ranking's functions as first written, row by row"


def rows(scale: float, repeats: int) -> Iterator[Row]:
    count = max(int(4096 * scale), 1)
    random = np.random.default_rng(6)
    scores = random.permuted(np.tile(np.linspace(0.001, 1, ITEMS, dtype=np.float32), (count, 1)), axis=1)
    labels = random.choice([0, 1, 2, 3], p=[0.7, 0.15, 0.1, 0.05], size=scores.shape).astype(np.float32)
    labels[:, 0] = 1  # each row has a relevant item
    part = min(SLICE, count)
    makers: dict[str, tuple[tuple[str, ...], int, Callable[[], Contender | Absent]]] = {
        "torchmetrics": (METRICS, 20, lambda: torchmetrics(scores[:part], labels[:part], part / count)),
        "ptranking": (METRICS[:2], 20, lambda: pt_ranking(scores[:part], labels[:part], part / count)),
        "rax": (METRICS, 3, lambda: rax(scores, labels)),
    }
    for library in ("torch", "numpy"):
        for convention, (metrics, goal, make) in makers.items():
            mine = partial(ours, arrays_of(library, scores, labels), convention, metrics)
            peer = invite(convention, make, faster(goal))
            if isinstance(peer, Contender) and peer.share < 1:
                some = arrays_of(library, scores[:part], labels[:part])
                peer = replace(peer, expected=partial(ours, some, convention, metrics))
            names = ", ".join(metrics)
            work = f"{library} arrays, {count:,} x {ITEMS}, {names} at {len(KS)} cutoffs, convention {convention}"
            yield from race(work, mine, [peer], repeats)


def arrays_of(library: str, *arrays: Any) -> tuple[Any, ...]:
    if library == "numpy":
        return arrays
    import torch

    return tuple(map(torch.from_numpy, arrays))


def ours(arrays: tuple[Any, ...], convention: str, metrics: tuple[str, ...]) -> Numbers:
    scores, labels = arrays
    given = {"scores": scores, "labels": labels, "k": KS, "convention": convention}
    return means({name: getattr(rs.arrays, name)(**given) for name in metrics})


def means(values: dict[str, Any]) -> Numbers:
    """From (rows, cutoffs) to a mean a cutoff."""
    return {
        f"{name}@{k}": float(mean)
        for name, cells in values.items()
        for k, mean in zip(KS, np.asarray(cells).mean(axis=0, dtype=np.float64), strict=True)
    }


def torchmetrics(scores: Any, labels: Any, share: float) -> Contender:
    """Its functions take one list and one cutoff."""
    import torch
    from torchmetrics.functional import retrieval

    preds, target = torch.from_numpy(scores), torch.from_numpy(labels)
    relevant = target > 0
    functions: dict[str, tuple[Callable[..., Any], Any]] = {
        "ndcg": (retrieval.retrieval_normalized_dcg, target),
        "ap": (retrieval.retrieval_average_precision, relevant),
        "rr": (retrieval.retrieval_reciprocal_rank, relevant),
    }

    def call() -> Numbers:
        return means(
            {
                name: [[float(function(preds[i], wanted[i], top_k=k)) for k in KS] for i in range(len(preds))]
                for name, (function, wanted) in functions.items()
            }
        )

    return Contender(named("torchmetrics"), call, faster(20), share)


def pt_ranking(scores: Any, labels: Any, share: float) -> Contender | Absent:
    """Average precision, and discounted gain over that of the ideal list, of one row at a time."""
    import torch

    texts = sorted(SEEDS.glob("001*"))
    if not texts:
        return Absent(PT_RANKING, "its text is not here", faster(20))
    code: dict[str, Any] = {"torch": torch, "np": np}
    for block in re.findall(r"```(?:python)?\n(.*?)```", texts[0].read_text(encoding="utf-8"), re.DOTALL):
        exec(block, code)
    gain, ap = code["tor_discounted_cumu_gain_at_ks"], code["tor_ap_at_ks"]
    preds, target, at = torch.from_numpy(scores), torch.from_numpy(labels), torch.tensor(KS) - 1

    def call() -> Numbers:
        found: dict[str, list[Any]] = {"ndcg": [], "ap": []}
        for row, wanted in zip(preds, target, strict=True):
            ranked = wanted[torch.argsort(row, descending=True)]
            ideal = torch.sort(wanted, descending=True).values
            found["ndcg"].append((gain(ranked, max(KS)) / gain(ideal, max(KS)))[at])
            found["ap"].append(ap(ranked, KS))
        return means({name: torch.stack(values) for name, values in found.items()})

    return Contender(PT_RANKING, call, faster(20), share)


def rax(scores: Any, labels: Any) -> Contender:
    """All metrics and cutoffs in one compiled function, so that it can share what they have in common."""
    import jax
    import rax as library

    def measure(scores: Any, labels: Any) -> dict[str, Any]:
        relevant = (labels > 0).astype(labels.dtype)
        metrics = {
            "ndcg": (library.ndcg_metric, labels),
            "ap": (library.ap_metric, relevant),
            "rr": (library.mrr_metric, relevant),
        }
        return {
            name: jax.numpy.stack([metric(scores, wanted, topn=k, reduce_fn=None) for k in KS], axis=-1)
            for name, (metric, wanted) in metrics.items()
        }

    compiled = jax.jit(measure)
    given = jax.numpy.asarray(scores), jax.numpy.asarray(labels)
    return Contender(f"{named('rax')}, compiled", lambda: means(compiled(*given)), faster(3))
