"""Intents: alpha-nDCG@20 of 10,000 queries with 20 items each, 250,000 judgements by subtopic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from race import Contender, Numbers, Row, faster, invite, named, race

import rankstone as rs

JUDGED = 25  # judgements of a query
SUBTOPICS = 5
Truth = list[tuple[str, str, str, int]]  # query, subtopic, item, grade
Run = list[tuple[str, str, float]]


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(10_000 * scale), 1)
    truth, run = drawn(queries)
    judged = [pa.array(column) for column in zip(*truth, strict=True)]
    returned = [pa.array(column) for column in zip(*run, strict=True)]
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for query, subtopic, item, grade in truth:
        nested.setdefault(query, {}).setdefault(item, {})[subtopic] = grade
    scored: dict[str, dict[str, float]] = {}
    for query, item, score in run:
        scored.setdefault(query, {})[item] = score

    def by_columns() -> Numbers:
        query, subtopic, item, grade = judged
        flat = rs.columns(query=query, subtopic=subtopic, item=item, grade=grade)
        query, item, score = returned
        return dict(rs.evaluate(flat, rs.columns(query=query, item=item, score=score), "alpha_ndcg@20"))

    def by_dicts() -> Numbers:
        return dict(rs.evaluate(nested, scored, "alpha_ndcg@20"))

    peers = [
        invite("pyndeval", lambda: pyndeval(truth, run), faster(5)),
        invite("ir-measures", lambda: ir_measures(truth, run), faster(10)),
    ]
    work = f"alpha_ndcg@20, {queries:,} queries x 20 items, {len(truth):,} judgements"
    for door, ours in (("Arrow strings", by_columns), ("dicts", by_dicts)):
        yield from race(f"{work}, {door}", ours, peers, repeats, cpu=True)


def drawn(queries: int) -> tuple[Truth, Run]:
    """Each query has 25 judgements of 14 items and 5 subtopics, and returns 20 items, most of the judged among them."""
    random = np.random.default_rng(0)
    truth: Truth = []
    run: Run = []
    for number in range(queries):
        query = f"q{number}"
        names = [f"doc{one:07d}" for one in random.choice(10_000_000, 24)]
        cells = random.choice(14 * SUBTOPICS, JUDGED, replace=False)
        grades = (random.random(JUDGED) < 0.7).astype(int).tolist()
        truth += [
            (query, f"s{cell % SUBTOPICS}", names[cell // SUBTOPICS], grade)
            for cell, grade in zip(sorted(cells.tolist()), grades, strict=True)
        ]
        shown = random.permutation(24)[:20].tolist()
        run += [(query, names[at], float(20 - rank)) for rank, at in enumerate(shown)]
    return truth, run


def pyndeval(truth: Truth, run: Run) -> Contender:
    import pyndeval as library

    def call() -> Numbers:
        found = library.RelevanceEvaluator(truth, ["alpha-nDCG@20"]).evaluate(run)
        return {"alpha_ndcg@20": sum(one["alpha-nDCG@20"] for one in found.values()) / len(found)}

    return Contender(named("pyndeval"), call, faster(5))


def ir_measures(truth: Truth, run: Run) -> Contender:
    import ir_measures as library
    import pyndeval as _  # noqa: F401  which does the work

    qrels = [library.Qrel(query, item, grade, subtopic) for query, subtopic, item, grade in truth]
    scored = [library.ScoredDoc(*one) for one in run]
    measure = library.parse_measure("alpha_nDCG@20")

    def call() -> Numbers:
        return {"alpha_ndcg@20": library.calc_aggregate([measure], qrels, scored)[measure]}

    return Contender(named("ir-measures"), call, faster(10))
