"""Three recommenders on simulated shop visits, measured side by side.

Users have tastes, items have traits and a popularity. Users pick what is popular and to their taste.
Half of the picks are shown to the recommenders. The other half is the truth that they are measured by.
"""

import textwrap

import numpy as np

import rankstone as rs

USERS, ITEMS, TRAITS, LENGTH = 500, 2_000, 16, 50
METRICS = ["ndcg@10", "recall@{10,50}", "ap", "rr", "hit_rate@10"]

Truth = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def simulate(seed: int = 0) -> tuple[Truth, dict[str, Run]]:
    """The held-out picks as {user: {item: grade}}, and the top 50 of each recommender."""
    rng = np.random.default_rng(seed)
    tastes = rng.normal(size=(USERS, TRAITS))
    traits = rng.normal(size=(ITEMS, TRAITS))
    liking = tastes @ traits.T / np.sqrt(TRAITS)
    fame = -np.log(np.arange(1, ITEMS + 1))  # Zipf: the n-th most popular item is picked 1/n as often

    # With Gumbel noise the n largest are n random picks, in proportion to exp(liking * 2 + fame).
    picks = np.argsort(-(2 * liking + fame + rng.gumbel(size=liking.shape)), axis=1)
    seen = np.zeros(liking.shape, dtype=bool)
    truth: Truth = {}
    for user in range(USERS):
        shown, held_out = np.array_split(rng.permutation(picks[user, : rng.integers(2, 40)]), 2)
        seen[user, shown] = True
        grades = 1 + np.digitize(liking[user, held_out], [1, 2])
        truth[f"u{user:03}"] = {f"i{item:04}": int(grade) for item, grade in zip(held_out, grades, strict=True)}

    noise = rng.normal(size=liking.shape)
    popular = np.broadcast_to(seen.sum(axis=0), liking.shape)
    known = seen.sum(axis=1) >= 3  # the noisy model leaves out users it has hardly seen, and rounds its scores
    return truth, {
        "popular": top(popular, seen),
        "noisy taste": top(np.round(2 * liking + fame + 1.5 * noise, 1), seen, known),
        "good taste": top(2 * liking + fame + noise, seen),
    }


def top(scores: np.ndarray, seen: np.ndarray, served: np.ndarray | None = None) -> Run:
    """The best unseen items of each user who is served, as {user: {item: score}}."""
    scores = np.where(seen, -np.inf, scores)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LENGTH]
    users = np.arange(len(scores)) if served is None else np.flatnonzero(served)
    return {f"u{user:03}": {f"i{item:04}": float(scores[user, item]) for item in best[user]} for user in users}


def main() -> None:
    truth, runs = simulate()
    results = {name: rs.evaluate(truth, run, METRICS) for name, run in runs.items()}

    print(f"{'':12}" + "".join(f"{name:>13}" for name in results))
    for metric in results["popular"]:
        print(f"{metric:12}" + "".join(f"{result[metric]:13.4f}" for result in results.values()))

    print("\nThe noisy taste model in full:\n")
    print(results["noisy taste"])
    print("\nWhich ndcg@10 is this?\n")
    print(textwrap.fill(results["noisy taste"].definitions["ndcg@10"].cite, 100))


if __name__ == "__main__":
    main()
