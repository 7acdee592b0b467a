"""Decisions: sign flips of 10 runs x 5 metrics over 1,000 queries, against a baseline and between all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from race import Contender, Goal, Lap, Numbers, Row, VoidError, audition, faster, invite, named, race, row, say, seconds
from race import within as at_most

import rankstone as rs

RUNS, METRICS, QUERIES, FLIPS = 10, 5, 1_000, 100_000
# What the slow ones get: so many flips of one pair and one metric.
SCIPY_FLIPS, RANX_FLIPS = 5_000, 500
ROWS, DEPTH = 10_000_000, 100  # of a large run, and of each of its lists


def rows(scale: float, repeats: int) -> Iterator[Row]:
    values = runs()
    count = max(int(FLIPS * scale), 1_000)
    yield from against_a_baseline(values, count, repeats)
    yield from all_pairs(values, count, repeats)
    yield from exact(repeats)
    yield from compared(values, repeats)
    yield from two_large_runs(max(int(ROWS * scale), 100_000), repeats)


def runs() -> Any:
    """Values by query, metric and run, on no grid; a query is easy or hard for all runs, and the last run is better."""
    rng = np.random.default_rng(1)
    easy = rng.beta(1, 1.5, (QUERIES, METRICS, 1))
    values = easy + rng.normal(0, 0.2, (QUERIES, METRICS, RUNS))
    values[:, :, -1] += 0.02
    return values


def against_a_baseline(values: Any, count: int, repeats: int) -> Iterator[Row]:
    differences = (values[:, :, 1:] - values[:, :, :1]).reshape(QUERIES, -1)
    one = differences[:, -1]
    columns = differences.shape[1]
    work = f"{count:,} flips x {QUERIES:,} queries, {columns} columns against a baseline"
    found = rs.statistics.randomization_test(differences, resamples=count)
    if found.exact.any():
        raise VoidError("a column is on a grid")
    entries = {
        f"{form}, chunks of {chunk:,}": lambda form=form, chunk=chunk: mean(
            numpy_flips(differences, count, chunk, form)
        )
        for form in ("signs", "bits")
        for chunk in (512, 4_096)
    }
    chosen, product = audition("one product", entries)
    near("NumPy", found.p, numpy_flips(differences, count, 4_096, "signs"), count, count)
    near("scipy", found.p[-1], scipy_flips(one, SCIPY_FLIPS), count, SCIPY_FLIPS)
    share = SCIPY_FLIPS / count / columns
    yield from race(
        work,
        lambda: mean(rs.statistics.randomization_test(differences, resamples=count).p),
        [
            Contender(f"NumPy, one product ({chosen})", silent(product), at_most(1.2)),
            Contender(
                f"{named('scipy')}, `permutation_test` of one sample",
                silent(lambda: scipy_flips(one, SCIPY_FLIPS)),
                faster(400),
                share,
                shared="work",
            ),
        ],
        repeats,
    )


def all_pairs(values: Any, count: int, repeats: int) -> Iterator[Row]:
    table = values.reshape(QUERIES, -1)
    pairs = [(RUNS * m + a, RUNS * m + b) for m in range(METRICS) for a, b in combinations(range(RUNS), 2)]
    first, second = pairs[8]  # the first run of the first metric, and the better one
    control, treatment = (np.ascontiguousarray(table[:, column]) for column in (first, second))
    found = rs.statistics.westfall_young(table, pairs, resamples=count)
    near("scipy", found.p[8], scipy_flips(treatment - control, SCIPY_FLIPS), count, SCIPY_FLIPS)

    def ranx() -> Contender:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ranx.statistical_tests import fisher_randomization_test as fisher

            near("ranx", found.p[8], fisher(control, treatment, RANX_FLIPS)[0], count, RANX_FLIPS)

        return Contender(
            f"{named('ranx')}, fisher, compiled, each pair in both orders as its `compare` does",
            silent(lambda: fisher(control, treatment, RANX_FLIPS)),
            faster(2_000),
            RANX_FLIPS / count / (2 * len(pairs)),
            shared="work",
        )

    yield from race(
        f"{count:,} flips x {QUERIES:,} queries, max-T of all {len(pairs)} pairs",
        lambda: mean(rs.statistics.westfall_young(table, pairs, resamples=count).p),
        [
            Contender(
                f"{named('scipy')}, `permutation_test` of one sample, not adjusted",
                silent(lambda: scipy_flips(treatment - control, SCIPY_FLIPS)),
                faster(2_000),
                SCIPY_FLIPS / count / len(pairs),
                shared="work",
            ),
            invite("ranx", ranx, faster(2_000)),
        ],
        repeats,
    )


def exact(repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(2)
    for name, differences, goal in (
        ("36 differences", rng.normal(0.1, 1, 36), 150),
        ("1,000 differences of precision@10", rng.integers(-9, 11, 1_000) / 10, 10),
    ):
        if not rs.statistics.randomization_test(differences).exact:
            raise VoidError(f"{name}: not exact")
        best = min(
            Lap(silent(lambda given=differences: rs.statistics.randomization_test(given))).wall for _ in range(repeats)
        )
        say(f"    {name}: best {seconds(best)}")
        yield row(f"exact flips of {name}", seconds(best), "", "", best * 1e3, Goal(goal, False, " ms"))


def compared(values: Any, repeats: int) -> Iterator[Row]:
    """The default comparison of results that are there: t, Holm, intervals, wins and verdicts, all of them."""
    rng = np.random.default_rng(3)
    items = np.arange(DEPTH)
    truth = {
        query: dict(zip(rng.choice(items, 10, replace=False).tolist(), [1] * 10, strict=True))
        for query in range(QUERIES)
    }
    metrics = ["ndcg@10", "ap", "rr", "precision@5", "recall@50"]
    results = {}
    for run in range(RUNS):
        scores = rng.random((QUERIES, DEPTH))
        lists = {query: dict(zip(items.tolist(), scores[query].tolist(), strict=True)) for query in range(QUERIES)}
        results[f"run {run}"] = rs.evaluate(truth, lists, metrics)

    def compare() -> list[float]:
        return [difference.adjusted for difference in rs.compare(results, baseline="run 0")]

    if len(compare()) != METRICS * (RUNS - 1):
        raise VoidError("not all runs were compared")
    best = min(Lap(silent(compare)).wall for _ in range(max(repeats, 5)))
    work = f"compare {RUNS} runs x {METRICS} metrics x {QUERIES:,} queries with a baseline (t, Holm), evaluated before"
    say(f"    {work}: best {seconds(best)}")
    yield row(work, seconds(best), "", "", best * 1e3, Goal(5, False, " ms"))


def two_large_runs(rows: int, repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(4)
    queries = rows // DEPTH
    per = np.arange(queries)
    truth = rs.columns(
        query=np.repeat(per, 20),
        item=np.tile(np.arange(0, 2 * DEPTH, 10), queries),
        grade=rng.integers(0, 3, 20 * queries),
    )
    both = {
        name: rs.columns(
            query=np.repeat(per, DEPTH), item=np.tile(np.arange(DEPTH), queries), score=rng.random(queries * DEPTH)
        )
        for name in ("first", "second")
    }
    metrics = ["ndcg@10", "ap", "recall@100"]

    def evaluated() -> Numbers:
        found = [rs.evaluate(truth, run, metrics) for run in both.values()]
        return {label: found[1][label] - found[0][label] for label in metrics}

    def decided() -> Numbers:
        return {of.metric: of.difference for of in rs.compare(truth, both, metrics)}

    yield from race(
        f"compare two runs of {rows:,} rows",
        decided,
        [Contender("rankstone, evaluating both", evaluated, at_most(1.1))],
        repeats,
    )


def numpy_flips(differences: Any, count: int, chunk: int, form: str) -> Any:
    """The plain way: random bits, as float64, times the differences, in chunks."""
    generator = np.random.default_rng(1)
    queries = len(differences)
    sums = differences.sum(axis=0)
    size = np.abs(sums)
    found = np.zeros(differences.shape[1], dtype=np.int64)
    for start in range(0, count, chunk):
        randomization_test = min(chunk, count - start)
        octets = np.frombuffer(generator.bytes(randomization_test * queries // 8), dtype=np.uint8)
        bits = np.unpackbits(octets).reshape(randomization_test, queries)
        drawn = (bits * 2.0 - 1.0) @ differences if form == "signs" else 2.0 * (bits.astype(float) @ differences) - sums
        found += np.count_nonzero(np.abs(drawn) >= size, axis=0)
    return (found + 1) / (count + 1)


def scipy_flips(differences: Any, count: int) -> float:
    from scipy import stats

    # Of batches of 20 to 5,000 flips this one was the fastest.
    answer = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, n_resamples=count, batch=1_000
    )
    return float(answer.pvalue)


def near(who: str, ours: Any, theirs: Any, our_flips: int, their_flips: int) -> None:
    """Stop if p differs by more than six of its own errors; the flips are not the same ones."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    error = np.sqrt(ours * (1 - ours) * (1 / our_flips + 1 / their_flips)) + 2 / their_flips
    if (np.abs(ours - theirs) > 6 * error).any():
        raise VoidError(f"{who}: p differs by {np.abs(ours - theirs).max():.4f}")


def mean(p: Any) -> Numbers:
    return {"mean p": math.fsum(p) / len(p)}


def silent(call: Callable[[], Any]) -> Callable[[], None]:
    """Takes time only: other flips, other numbers."""

    def nothing() -> None:
        call()

    return nothing
