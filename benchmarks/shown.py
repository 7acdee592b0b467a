"""What was shown: coverage, novelty, diversity and their like, against recommender libraries and plain NumPy.

Times are those of all cores together. Each library gets its tables ready made, rankstone makes its columns.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from memory import CLEAR, STATUS, status
from race import Contender, Goal, Numbers, Row, audition, faster, invite, named, race, row, say, seconds, within

import rankstone as rs

USERS, DEPTH, ITEMS, HISTORY, FEATURES = 10_000, 20, 10_000, 200_000, 20
JUDGED = 10
MANY = 10_000_000  # rows, and items
VECTORS, WIDTH, LONG = 100_000, 256, 1_000_000
TEN = (
    "coverage",
    "gini",
    "entropy",
    "novelty",
    "popularity",
    "tail",
    "unseen",
    "personalisation",
    "serendipity",
    "ild",
)
FOUR = ("coverage", "gini", "entropy", "novelty")
RECTOOLS = ("coverage", "popularity", "novelty", "serendipity")
REPLAY = ("coverage", "novelty", "unseen")


@dataclass(frozen=True)
class Lists:
    """Lists of equal lengths, best first, a truth, what users had before, and features of the items."""

    user: Any
    item: Any
    score: Any
    truth_user: Any
    truth_item: Any
    history_user: Any
    history_item: Any
    catalogue: Any
    features: Any

    def run(self) -> Any:
        return rs.columns(query=self.user, item=self.item, score=self.score)

    def truth(self) -> Any:
        return rs.columns(query=self.truth_user, item=self.truth_item)

    def history(self) -> Any:
        return rs.columns(query=self.history_user, item=self.history_item)


def lists(users: int, items: int = ITEMS) -> Lists:
    """Some items are shown and had far more often than others; a tenth of the history is of items had before."""
    rng = np.random.default_rng(1)

    def some(shape: tuple[int, ...], strata: int) -> Any:
        """Items, popular ones more often, none twice in a row of `strata`."""
        return np.arange(shape[-1]) % strata + strata * (items // strata * rng.random(shape) ** 2).astype(np.int64)

    shown = rng.permuted(some((users, DEPTH), DEPTH), axis=1)
    judged = some((users, JUDGED), JUDGED)
    found = rng.random((users, JUDGED // 2)) < 0.5
    for column in range(JUDGED // 2):  # a judged item that is in the list, where no other one is the same
        mine = shown[:, 2 * column]
        free = found[:, column] & (judged != mine[:, None]).all(axis=1)
        judged[free, column] = mine[free]
    had = HISTORY * users // USERS
    features = rng.integers(0, 2, (items, FEATURES))
    features[:, 0] = 1  # none is all 0, which has no direction
    return Lists(
        user=np.repeat(np.arange(users), DEPTH),
        item=shown.ravel(),
        score=np.tile(np.linspace(1.0, 0.05, DEPTH), users),
        truth_user=np.repeat(np.arange(users), JUDGED),
        truth_item=judged.ravel(),
        history_user=rng.integers(0, users, had),
        history_item=some((had,), 1),
        catalogue=np.arange(items),
        features=features,
    )


def rows(scale: float, repeats: int) -> Iterator[Row]:
    data = lists(max(int(USERS * scale), 100))
    size = f"{len(data.user) // DEPTH:,} lists of {DEPTH}"
    few = min(repeats, 3)
    yield from race(
        f"{size}, ten beyond-accuracy metrics",
        lambda: measured(data, TEN),
        [Contender("NumPy, each by itself from integer codes", lambda: numpy_ten(data), within(3))],
        repeats,
        cpu=True,
    )
    yield from race(
        f"{size}, coverage, popularity, novelty, serendipity",
        lambda: measured(data, RECTOOLS, "rectools"),
        [invite("rectools", lambda: rectools(data, False, faster(10)), faster(10))],
        repeats,
        cpu=True,
    )
    yield from race(
        f"{size}, the same and diversity",
        lambda: measured(data, (*RECTOOLS, "ild"), "rectools"),
        [invite("rectools", lambda: rectools(data, True, faster(200)), faster(200))],
        few,
        cpu=True,
    )
    yield from race(
        f"{size}, coverage, novelty, unseen",
        lambda: measured(data, REPLAY, "replay"),
        [invite("replay-rec", lambda: replay(data, faster(20)), faster(20))],
        repeats,
        cpu=True,
    )
    yield from race(
        f"{size}, diversity",
        lambda: measured(data, ("ild",), "evidently"),
        [invite("evidently", lambda: evidently(data, faster(500)), faster(500))],
        few,
        cpu=True,
    )
    yield from vectors(max(int(LONG * scale), 1_000), repeats)
    yield from many(max(int(MANY * scale), 100_000), few)


def measured(data: Lists, names: tuple[str, ...], convention: str = "rankstone") -> Numbers:
    truth = data.truth() if "serendipity" in names else None
    films = rs.catalogue(data.catalogue, embedding=data.features) if "ild" in names else data.catalogue
    metrics = [f"{name}@{DEPTH}" for name in names]
    found = rs.evaluate(truth, data.run(), metrics, catalogue=films, history=data.history(), convention=convention)
    return dict(zip(names, found.values(), strict=True))


# -- NumPy ---------------------------------------------------------------------------------------------------


def numpy_ten(data: Lists) -> Numbers:
    """The same numbers the plain way, from lists of one length that lie in order."""
    items, users = len(data.catalogue), len(data.user) // DEPTH
    item_of = np.full(data.catalogue.max() + 1, -1)
    item_of[data.catalogue] = np.arange(items)
    user_of = np.full(max(data.user.max(), data.history_user.max()) + 1, -1)
    user_of[data.user[::DEPTH]] = np.arange(users)
    user, item = user_of[data.user], item_of[data.item]
    had_user, had = user_of[data.history_user], item_of[data.history_item]
    truth_user, truth_item = user_of[data.truth_user], item_of[data.truth_item]
    if min(one.min() for one in (item, had, truth_item)) < 0:
        raise ValueError("an item is not in the catalogue")

    times, total = np.bincount(item, minlength=items), len(item)
    out = {"coverage": np.count_nonzero(times) / items}
    out["gini"] = (2 * np.arange(1, items + 1) - items - 1) @ np.sort(times) / items / total
    share = times[times > 0] / total
    out["entropy"] = -share @ np.log2(share)

    pairs = np.sort(had_user * items + had)
    once = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
    known = np.bincount(once % items, minlength=items)
    out["novelty"] = -np.log2(np.maximum(known, 1) / np.count_nonzero(np.bincount(had_user)))[item].mean()
    out["popularity"] = known[item].mean()
    seen = np.bincount(had, minlength=items)
    order = np.argsort(-seen, kind="stable")
    tail = np.zeros(items, dtype=bool)
    tail[order] = np.cumsum(seen[order]) - seen[order] >= 0.8 * len(had)
    out["tail"] = tail[item].mean()

    keys = user * items + item
    out["unseen"] = 1 - numpy_in(keys, once).mean()

    apart = 1 / np.sqrt(DEPTH)
    others = np.bincount(item, np.full(total, apart), minlength=items)[item] - apart
    out["personalisation"] = 1 - apart * others.sum() / users / (users - 1)

    relevant = numpy_in(keys, np.sort(truth_user * items + truth_item))
    _, level = np.unique(-seen, return_inverse=True)
    expected = np.where(seen > 0, (items - level) / items, 0.0)
    rank = np.tile(np.arange(1, DEPTH + 1), users)
    out["serendipity"] = (np.maximum((items + 1 - rank) / items - expected[item], 0) * relevant).mean()

    units = data.features / np.sqrt((data.features**2).sum(axis=1, keepdims=True))
    out["ild"] = numpy_ild(units, item)
    return {name: float(out[name]) for name in TEN}


def numpy_in(keys: Any, known: Any) -> Any:
    """Which keys are among sorted ones. Six times as fast as np.isin, which hashes."""
    return known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys


def numpy_ild(units: Any, item: Any) -> float:
    """Mean of 1 - cosine over pairs: what the sum of unit vectors is short of."""
    sums = units[item].reshape(-1, DEPTH, units.shape[1]).sum(axis=1)
    pairs = DEPTH * (DEPTH - 1) / 2
    return float(1 - ((np.einsum("ij,ij->i", sums, sums) - DEPTH) / 2 / pairs).mean())


# -- libraries -----------------------------------------------------------------------------------------------


def rectools(data: Lists, diverse: bool, goal: Goal) -> Contender:
    import pandas
    from rectools.metrics import (
        AvgRecPopularity,
        CatalogCoverage,
        IntraListDiversity,
        MeanInvUserFreq,
        PairwiseHammingDistanceCalculator,
        Serendipity,
        calc_metrics,
    )

    rank = np.tile(np.arange(1, DEPTH + 1), len(data.user) // DEPTH)
    shown = pandas.DataFrame({"user_id": data.user, "item_id": data.item, "rank": rank})
    truth = pandas.DataFrame({"user_id": data.truth_user, "item_id": data.truth_item})
    history = pandas.DataFrame({"user_id": data.history_user, "item_id": data.history_item})
    features = pandas.DataFrame(data.features, index=data.catalogue)
    metrics = dict(
        zip(RECTOOLS, (CatalogCoverage(DEPTH, normalize=False), AvgRecPopularity(DEPTH), MeanInvUserFreq(DEPTH),
                       Serendipity(DEPTH)), strict=True)
    )  # fmt: skip
    if diverse:
        metrics["ild"] = IntraListDiversity(DEPTH, PairwiseHammingDistanceCalculator(features))

    def together() -> Numbers:
        return calc_metrics(metrics, shown, truth, history, data.catalogue)

    def one_by_one() -> Numbers:
        out = {
            "coverage": metrics["coverage"].calc(shown, data.catalogue),
            "popularity": metrics["popularity"].calc(shown, history),
            "novelty": metrics["novelty"].calc(shown, history),
            "serendipity": metrics["serendipity"].calc(shown, truth, history, data.catalogue),
        }
        return {**out, "ild": metrics["ild"].calc(shown)} if diverse else out

    chosen, call = audition("rectools", {"all together": together, "one by one": one_by_one})
    return Contender(f"{named('rectools')} ({chosen})", call, goal)


def replay(data: Lists, goal: Goal) -> Contender:
    import polars
    from replay.metrics import Coverage, Novelty, Surprisal

    names = {"query_column": "user", "item_column": "item"}
    shown = polars.DataFrame({"user": data.user, "item": data.item, "score": data.score})
    history = polars.DataFrame({"user": data.history_user, "item": data.history_item})
    metrics = {
        name: kind(DEPTH, rating_column="score", **names)
        for name, kind in zip(REPLAY, (Coverage, Surprisal, Novelty), strict=True)
    }

    def call() -> Numbers:
        return {name: next(iter(one(shown, history).values())) for name, one in metrics.items()}

    return Contender(f"{named('replay-rec')}, polars", call, goal)


def evidently(data: Lists, goal: Goal) -> Contender:
    import pandas
    from evidently.legacy.metrics.recsys.diversity import DiversityMetric
    from evidently.legacy.pipeline.column_mapping import ColumnMapping
    from evidently.legacy.report import Report

    features = [f"feature {at}" for at in range(FEATURES)]
    rank = np.tile(np.arange(1, DEPTH + 1), len(data.user) // DEPTH)
    shown = pandas.DataFrame({"user": data.user, "item": data.item, "rank": rank, "target": 0})
    shown[features] = data.features[data.item]
    roles = ColumnMapping(
        recommendations_type="rank", user_id="user", item_id="item", prediction="rank", target="target"
    )

    def call() -> Numbers:
        report = Report(metrics=[DiversityMetric(k=DEPTH, item_features=features)])
        report.run(reference_data=None, current_data=shown, column_mapping=roles)
        return {"ild": report.as_dict()["metrics"][0]["result"]["current_value"]}

    return Contender(f"{named('evidently')}, DiversityMetric", call, goal)


# -- vectors -------------------------------------------------------------------------------------------------


def vectors(shown: int, repeats: int) -> Iterator[Row]:
    """Diversity by embeddings of single precision."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(VECTORS, WIDTH)).astype(np.float32)
    lists = shown // DEPTH
    start, step = rng.integers(0, VECTORS, (lists, 1)), rng.integers(1, VECTORS // DEPTH, (lists, 1))
    item = ((start + step * np.arange(DEPTH)) % VECTORS).ravel()
    user, score = np.repeat(np.arange(lists), DEPTH), np.tile(np.linspace(1.0, 0.05, DEPTH), lists)
    films = rs.catalogue(np.arange(VECTORS), embedding=table)

    def ours() -> Numbers:
        run = rs.columns(query=user, item=item, score=score)
        return dict(rs.evaluate(run=run, metrics=f"ild@{DEPTH}", catalogue=films))

    def plain() -> Numbers:
        size = np.sqrt(np.einsum("ij,ij->i", table, table))
        units = table / size[:, None]
        found = [numpy_ild(units, item[at : at + 4_096 * DEPTH]) for at in range(0, len(item), 4_096 * DEPTH)]
        weights = [min(4_096, lists - at) for at in range(0, lists, 4_096)]
        return {f"ild@{DEPTH}": float(np.average(found, weights=weights))}

    yield from race(
        f"diversity of {shown:,} rows, {VECTORS:,} vectors of {WIDTH}",
        ours,
        [Contender("NumPy, sums of unit vectors, 4,096 lists at a time", plain, within(2))],
        repeats,
        cpu=True,
    )


# -- many ----------------------------------------------------------------------------------------------------


def many(size: int, repeats: int) -> Iterator[Row]:
    """As many items as rows, in a process of its own."""
    work = f"{size:,} rows into {size:,} items, {', '.join(FOUR)}"
    goals = Goal(1.5, False, " s"), Goal(700, False, " MB")
    if not STATUS.exists():
        yield Row(work, "", "", "only measured on Linux", goal=str(goals[1]), met="not measured")
        return
    command = [sys.executable, __file__, str(size)]
    found = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(max(repeats, 1))
    ]
    took, peak = min(float(one[0]) for one in found), max(int(one[1]) for one in found)
    say(f"    {work}: best of all cores' time {seconds(took)}, peak of the process {peak >> 20} MB")
    yield row(work, seconds(took), "time of all cores", "", took, goals[0])
    yield row(work, seconds(took), "peak memory of the process", "", peak / 2**20, goals[1])


def once(size: int) -> tuple[float, int]:
    """Time of all cores that one evaluation takes, and the peak memory of this process, its data included."""
    lists, rng = size // DEPTH, np.random.default_rng(3)
    user = np.repeat(np.arange(lists, dtype=np.int32), DEPTH)
    strata = np.arange(DEPTH, dtype=np.int32) * (size // DEPTH)  # no item twice in a list
    item = (rng.integers(0, size // DEPTH, (lists, DEPTH), dtype=np.int32) + strata).ravel()
    score = np.tile(np.linspace(1.0, 0.05, DEPTH, dtype=np.float32), lists)
    popularity = rng.integers(0, 100, size).astype(np.float64)
    films = rs.catalogue(np.arange(size, dtype=np.int32), popularity=popularity)
    with suppress(OSError):
        CLEAR.write_text("5")  # forget the peak of making the data, which itself stays
    before = time.process_time()
    run = rs.columns(query=user, item=item, score=score)
    choices = {"popularity": "given", "popularity_total": float(lists)}
    rs.evaluate(run=run, metrics=[f"{name}@{DEPTH}" for name in FOUR], catalogue=films, **choices)
    return time.process_time() - before, status("VmHWM")


if __name__ == "__main__":
    print(*once(int(sys.argv[1])))
