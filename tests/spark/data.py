"""A truth and a run with all that can happen: ties, queries missing, extra or without anything relevant, zeros."""

import random
from typing import Any

import rankstone as rs
from tests.table.cases import fed

Dicts = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


def made_up(queries: int = 60, seed: int = 5) -> Dicts:
    """Items of a truth are in order, as some metrics tell equal grades apart by it."""
    rng = random.Random(seed)
    items = [f"i{n:03}" for n in range(60)]
    truth, run = {}, {}
    for n in range(queries):
        judged = sorted(rng.sample(items, rng.randint(1, 12)))
        grades = [0] if n % 11 == 3 else [0, 1, 1, 2, 3]
        truth[f"q{n}"] = {item: rng.choice(grades) for item in judged}
        if n % 13 != 5:
            found = rng.sample(items, rng.randint(3, 40))
            run[f"q{n}"] = {item: round(rng.random(), 1 if n % 3 else 3) for item in found}
    run["nobody judged"] = {"i001": 0.5}
    return truth, run


def every_metric() -> list[rs.authoring.Metric]:
    found = fed().values()
    return [rs.authoring.Metric(row.name, k) for row in found for k in ((None, 5) if row.takes_k else (None,))]


def flat(side: dict[str, dict[str, Any]]) -> list[tuple[str, str, float]]:
    return [(query, item, float(value)) for query, content in side.items() for item, value in content.items()]


def listed(side: dict[str, dict[str, Any]]) -> list[tuple[str, list[str], list[float]]]:
    return [(query, list(content), [float(one) for one in content.values()]) for query, content in side.items()]


def frames(spark: Any, truth: Any, run: Any) -> tuple[Any, Any]:
    return (
        spark.createDataFrame(flat(truth), "query string, item string, grade double"),
        spark.createDataFrame(flat(run), "query string, item string, score double"),
    )


def list_frames(spark: Any, truth: Any, run: Any) -> tuple[Any, Any]:
    return (
        spark.createDataFrame(listed(truth), "query string, item array<string>, grade array<double>"),
        spark.createDataFrame(listed(run), "query string, item array<string>, score array<double>"),
    )
