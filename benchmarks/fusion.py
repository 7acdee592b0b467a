"""Reciprocal rank fusion of two runs, 1,000 queries x 100: from dicts of strings, and from integer columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from race import Contender, Numbers, Row, check, faster, invite, named, race, within

import rankstone as rs

K, ITEMS, CANDIDATES, CATALOGUE = 60, 100, 170, 1_000_003
SHARE = 2  # trectools gets half of the queries, and takes more than twice as long for all of them

Run = dict[str, dict[str, float]]


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(1_000 * scale), SHARE)
    runs = [_run(seed, queries) for seed in (1, 2)]
    work = f"rrf of 2 runs, {queries:,} queries x {ITEMS}"
    peers = [
        Contender("a loop in Python over dicts", lambda: _nothing(_loop(runs)), faster(2)),
        invite("ranx", lambda: _ranx(runs), faster(5)),
        invite("trectools", lambda: _trectools(runs), faster(100)),
    ]
    check(work, _summary(_loop(runs)), _summary(rs.fuse(runs).to_dict()))
    yield from race(f"{work}, dicts of strings", lambda: _nothing(rs.fuse(runs)), peers, repeats, cpu=True)
    yield from race(
        f"{work}, dicts of strings, and to a dict, best first",
        lambda: _nothing(rs.fuse(runs).to_dict()),
        [Contender("a loop in Python, and each list sorted", lambda: _nothing(_sorted(_loop(runs))))],
        repeats,
        cpu=True,
    )
    flat = [_columns(run) for run in runs]
    columns = [rs.columns(query=query, item=item, score=score) for query, item, score in flat]
    by_code = dict(zip(*map(np.ndarray.tolist, _numpy(flat)), strict=True))
    expected = {q * CATALOGUE + i: s for q, content in rs.fuse(columns).to_dict().items() for i, s in content.items()}
    check(work, _summary({"all": by_code}), _summary({"all": expected}))
    yield from race(
        f"{work}, int64 columns",
        lambda: _nothing(rs.fuse(columns)),
        [Contender("NumPy, from codes", lambda: _nothing(_numpy(flat)), within(3))],
        repeats,
        cpu=True,
    )


def _run(seed: int, queries: int) -> Run:
    """Two runs share about 60 of their 100 items; rows are in ranked order, and there are no ties."""
    random = np.random.default_rng(seed)
    out: Run = {}
    for query in range(queries):
        known = np.random.default_rng(query).choice(CATALOGUE, CANDIDATES, replace=False)
        shown = random.permutation(known)[:ITEMS]
        scores = np.sort(random.random(ITEMS))[::-1]
        out[f"q{query}"] = dict(zip([f"doc{item:07d}" for item in shown.tolist()], scores.tolist(), strict=True))
    return out


def _nothing(_: Any) -> Numbers:
    """An answer that was compared before."""
    return {}


def _summary(run: Mapping[Any, Mapping[Any, float]]) -> Numbers:
    """How many items there are, and sums that a wrong score of any item would move."""
    scores = [score for query in sorted(run) for _, score in sorted(run[query].items())]
    weights = np.cos(np.arange(len(scores)))
    return {"items": len(scores), "sum": float(np.sum(scores)), "weighted": float(weights @ np.array(scores))}


def _loop(runs: list[Run]) -> dict[str, dict[str, float]]:
    fused: dict[str, dict[str, float]] = {}
    for run in runs:
        for query, content in run.items():
            scores = fused.setdefault(query, {})
            for rank, item in enumerate(sorted(content, key=content.__getitem__, reverse=True), 1):
                scores[item] = scores.get(item, 0.0) + 1 / (K + rank)
    return fused


def _sorted(fused: Run) -> Run:
    best: Callable[[tuple[str, float]], Any] = lambda pair: (pair[1], pair[0])  # noqa: E731
    return {query: dict(sorted(content.items(), key=best, reverse=True)) for query, content in fused.items()}


def _columns(run: Run) -> tuple[Any, Any, Any]:
    query = np.array([int(name[1:]) for name, content in run.items() for _ in content])
    item = np.array([int(name[3:]) for content in run.values() for name in content])
    return query, item, np.array([score for content in run.values() for score in content.values()])


def _numpy(flat: list[tuple[Any, Any, Any]]) -> tuple[Any, Any]:
    """Keys of query and item, and their fused scores."""
    query, item, score = (np.concatenate(part) for part in zip(*flat, strict=True))
    run = np.repeat(np.arange(len(flat)), [len(part[0]) for part in flat])
    order = np.lexsort((-score, query, run))
    query, item, run = query[order], item[order], run[order]
    starts = np.flatnonzero(np.r_[True, (query[1:] != query[:-1]) | (run[1:] != run[:-1])])
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)])) + 1
    keys, inverse = np.unique(query * CATALOGUE + item, return_inverse=True)
    return keys, np.bincount(inverse, weights=1 / (K + rank))


def _ranx(runs: list[Run]) -> Contender:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ranx

        made = [ranx.Run(run) for run in runs]
        fused = ranx.fuse(made, norm=None, method="rrf", params={"k": K}).to_dict()
    check("ranx", _summary(fused), _summary(_loop(runs)))

    def call() -> Numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _nothing(ranx.fuse(made, norm=None, method="rrf", params={"k": K}))

    return Contender(f"{named('ranx')}, compiled, its runs made before", call, faster(5))


def _trectools(runs: list[Run]) -> Contender:
    import pandas as pd
    import trectools
    from trectools import fusion

    part = [{query: run[query] for query in list(run)[: len(run) // SHARE]} for run in runs]
    made = []
    for run in part:
        flat = [(query, "Q0", item, at, score, "s") for query, content in run.items()
                for at, (item, score) in enumerate(content.items(), 1)]  # fmt: skip
        made.append(trectools.TrecRun())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pd.DataFrame(flat, columns=["query", "q0", "docid", "rank", "score", "system"])
            made[-1].load_run_from_dataframe(frame)

    def call() -> Numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _nothing(fusion.reciprocal_rank_fusion(made, k=K))

    return Contender(f"{named('trectools')}, its runs made before", call, faster(100), 1 / SHARE, "queries")
