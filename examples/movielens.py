"""MovieLens from the files as downloaded to the comparison of two recommenders.

    python examples/movielens.py path/to/ml-latest-small

The folder is one of https://grouplens.org/datasets/movielens: with ratings.csv (ml-latest-small, ml-20m and later),
ratings.dat (ml-1m, ml-10m) or u.data (ml-100k). Without one, ratings of the same form are simulated.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from scipy.sparse import csr_matrix, diags

import rankstone as rs

NAMES = ["user", "item", "rating", "time"]
METRICS = ["ndcg@10", "recall@{10,50}", "precision@10", "hit_rate@10"]
LENGTH, LIKED = 50, 4  # how many items a list has, and from which rating on one is relevant


def read(folder: Path) -> pa.Table:
    """The ratings, whichever of the three forms they have."""
    if (folder / "ratings.csv").exists():
        return csv.read_csv(folder / "ratings.csv").rename_columns(NAMES)
    if (folder / "ratings.dat").exists():  # 1::1193::5::978300760
        between = ["user", "-1", "item", "-2", "rating", "-3", "time"]
        options = csv.ReadOptions(column_names=between), csv.ParseOptions(delimiter=":")
        return csv.read_csv(folder / "ratings.dat", *options).select(NAMES)
    if (folder / "u.data").exists():
        options = csv.ReadOptions(column_names=NAMES), csv.ParseOptions(delimiter="\t")
        return csv.read_csv(folder / "u.data", *options)
    raise SystemExit(f"{folder} has no ratings.csv, ratings.dat or u.data")


def simulate(users: int = 300, items: int = 800, seed: int = 0) -> pa.Table:
    """Ratings of people who watch what is popular and to their taste."""
    rng = np.random.default_rng(seed)
    liking = rng.normal(size=(users, 8)) @ rng.normal(size=(8, items)) / np.sqrt(8)
    chance = liking - np.log(np.arange(1, items + 1)) + rng.gumbel(size=liking.shape)
    rows = []
    for user in range(users):
        seen = rng.permutation(np.argsort(-chance[user])[: rng.integers(20, 60)])
        stars = np.clip(np.round(2 * (3.5 + liking[user, seen] + rng.normal(0, 0.5, len(seen)))) / 2, 0.5, 5)
        times = np.sort(rng.integers(1_000_000_000, 1_500_000_000, len(seen)))
        rows += zip([user + 1] * len(seen), (seen + 1).tolist(), stars.tolist(), times.tolist(), strict=True)
    return pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))


def recommend(train: pa.Table, users: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """The lists of two models for these users, without what they have rated already."""
    known, who = np.unique(train["user"], return_inverse=True)
    movies, what = np.unique(train["item"], return_inverse=True)
    rated = csr_matrix((np.ones(len(who)), (who, what)), shape=(len(known), len(movies)))
    popularity = np.asarray(rated.sum(axis=0)).ravel()
    unit = rated @ diags(1 / np.sqrt(popularity))  # so that products of columns are cosines
    alike = unit.T @ unit
    alike.setdiag(0)

    models = {
        "popular": lambda mine: np.tile(popularity, (mine.shape[0], 1)),
        "item-kNN": lambda mine: (mine @ alike).toarray(),
    }
    return {name: top(score, rated, known, movies, users) for name, score in models.items()}


def top(
    score: Callable[[csr_matrix], np.ndarray],
    rated: csr_matrix,
    known: np.ndarray,
    movies: np.ndarray,
    users: np.ndarray,
) -> dict[str, np.ndarray]:
    """The best items of each user that the user has not rated, as columns."""
    length = min(LENGTH, len(movies))
    at = np.flatnonzero(np.isin(known, users))
    found: dict[str, list[np.ndarray]] = {"query": [], "item": [], "score": []}
    for begin in range(0, len(at), 1000):
        block = at[begin : begin + 1000]
        scores = score(rated[block])
        scores[rated[block].nonzero()] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :length]
        values = np.take_along_axis(scores, best, axis=1)
        row, place = np.nonzero(values > -np.inf)  # who has rated nearly all gets a shorter list
        found["query"].append(known[block][row])
        found["item"].append(movies[best[row, place]])
        found["score"].append(values[row, place])
    return {name: np.concatenate(columns) for name, columns in found.items()}


def main() -> None:
    if len(sys.argv) > 1:
        ratings = read(Path(sys.argv[1]))
    else:
        print("These ratings are simulated. For real ones give a folder of https://grouplens.org/datasets/movielens.\n")
        ratings = simulate()

    split = rs.split.per_user(ratings, share=0.2, by="time", minimum=5)
    print(split.report, "\n")

    runs = recommend(split.train, np.unique(split.test["user"]))
    results = {
        # exclude: should a list hold what was rated in training, it is left out, and the result says so
        name: rs.evaluate(split.test, rs.columns(**run), METRICS, threshold=LIKED, exclude=split.train)
        for name, run in runs.items()
    }
    print(f"item-kNN\n{results['item-kNN']}\n")
    print(rs.compare(results, baseline="popular"))


if __name__ == "__main__":
    main()
