"""Nested dicts of strings: 1,000 queries with 1,000 items each, ten metrics."""

from __future__ import annotations

from collections.abc import Iterator

from data import integers
from race import Contender, Numbers, Row, faster, invite, named, race

import rankstone as rs

# Ten metrics that all three compute with equal numbers: ours, pytrec_eval's name, ranx's name.
METRICS = (
    ("ndcg@10", "ndcg_cut_10", "ndcg@10"),
    ("ndcg@100", "ndcg_cut_100", "ndcg@100"),
    ("ap", "map", "map"),
    ("ap@100", "map_cut_100", "map@100"),
    ("rr", "recip_rank", "mrr"),
    ("precision@10", "P_10", "precision@10"),
    ("precision@100", "P_100", "precision@100"),
    ("recall@10", "recall_10", "recall@10"),
    ("recall@100", "recall_100", "recall@100"),
    ("r_precision", "Rprec", "r-precision"),
)

Nested = dict[str, dict[str, float]]


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(1_000 * scale), 1)
    truth, run = nested(queries, 1_000, 50)
    names = [ours for ours, _, _ in METRICS]

    def ours() -> Numbers:
        return dict(rs.evaluate(truth, run, names))

    peers = [
        invite("pytrec_eval-terrier", lambda: pytrec_eval(truth, run), faster(14)),
        invite("ranx", lambda: ranx(truth, run), faster(50)),
    ]
    yield from race(f"dicts of strings, {queries:,} queries x 1,000 items, 10 metrics", ours, peers, repeats)


def nested(queries: int, items: int, judged: int) -> tuple[Nested, Nested]:
    """Each side has its own string objects, as if read from two files."""
    data = integers(queries, items, judged)

    def side(part: object, size: int) -> Nested:
        out: Nested = {}
        keys = [f"q{one}" for one in part.query.tolist()]
        names = [f"doc{one:07d}" for one in part.item.tolist()]
        values = part.value.tolist()
        for at in range(0, len(keys), size):
            out[keys[at]] = dict(zip(names[at : at + size], values[at : at + size], strict=True))
        return out

    return side(data.truth, judged), side(data.run, items)


def pytrec_eval(truth: Nested, run: Nested) -> Contender:
    import pytrec_eval

    asked = {"ndcg_cut.10,100", "map", "map_cut.100", "recip_rank", "P.10,100", "recall.10,100", "Rprec"}

    def call() -> Numbers:
        values = pytrec_eval.RelevanceEvaluator(truth, asked).evaluate(run)
        return {
            ours: pytrec_eval.compute_aggregated_measure(name, [one[name] for one in values.values()])
            for ours, name, _ in METRICS
        }

    return Contender(named("pytrec_eval-terrier"), call, faster(14))


def ranx(truth: Nested, run: Nested) -> Contender:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ranx

    asked = [name for _, _, name in METRICS]

    def call() -> Numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = ranx.evaluate(ranx.Qrels(truth), ranx.Run(run), asked)
        return {ours: float(means[name]) for ours, _, name in METRICS}

    return Contender(f"{named('ranx')}, compiled", call, faster(50))
