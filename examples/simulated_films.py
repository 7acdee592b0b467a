"""Simulates the data of `rs.example()`: `python examples/simulated_films.py > src/rankstone/data/example.json`.

Users have tastes, films have traits and a popularity. Users watch what is popular and to their taste. Half of what they
watched is shown to the recommenders, the other half is the truth. New users have watched less.
"""

import json

import numpy as np

USERS, FILMS, TRAITS, LENGTH = 60, 240, 8, 20
GENRES = ["comedy", "crime", "documentary", "drama", "family", "horror", "romance", "science fiction"]


def simulate(seed: int = 7) -> dict[str, object]:
    """The data by the names of its fields."""
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(FILMS, TRAITS))
    tastes = rng.normal(size=(USERS, TRAITS))
    liking = tastes @ traits.T / np.sqrt(TRAITS)
    fame = -np.log(np.arange(1, FILMS + 1))  # Zipf: the n-th most popular film is watched 1/n as often
    is_new = rng.random(USERS) < 0.4

    # With Gumbel noise the n largest are n random films, in proportion to exp(2 * liking + fame).
    watched = np.argsort(-(2 * liking + fame + rng.gumbel(size=liking.shape)), axis=1)
    seen = np.zeros(liking.shape, dtype=bool)
    truth = {}
    for user in range(USERS):
        many = rng.integers(6, 12) if is_new[user] else rng.integers(14, 30)
        shown, held_out = np.array_split(rng.permutation(watched[user, :many]), 2)
        seen[user, shown] = True
        grades = 1 + np.digitize(liking[user, held_out], [0.5, 1.5])
        truth[f"u{user + 1:02}"] = {film_id(film): int(grade) for film, grade in zip(held_out, grades, strict=True)}

    count = seen.sum(axis=0)
    popular = np.broadcast_to(count, liking.shape)
    alike = (seen @ seen.T) / np.sqrt(np.outer(seen.sum(axis=1), seen.sum(axis=1)))
    neighbours = alike @ seen
    hybrid = 1.2 * liking + fame + 1.2 * rng.normal(size=liking.shape)
    return {
        "truth": truth,
        "runs": {
            "popular": top(popular, seen, 0),
            "neighbours": top(neighbours, seen, 3),
            "hybrid": top(hybrid, seen, 3),
        },
        "groups": {f"u{user + 1:02}": "new" if is_new[user] else "regular" for user in range(USERS)},
        "popularity": {film_id(film): int(count[film]) for film in range(FILMS)},
        "genres": {film_id(film): genres_of(traits[film]) for film in range(FILMS)},
    }


def genres_of(traits: np.ndarray) -> list[str]:
    """Those of the film's strong traits, or that of its strongest."""
    return [GENRES[at] for at in np.flatnonzero(traits > min(1, traits.max() - 1e-9))]


def film_id(film: int) -> str:
    return f"f{film + 1:03}"


def top(scores: np.ndarray, seen: np.ndarray, digits: int) -> dict[str, dict[str, float]]:
    """The best films that each user has not seen, with rounded scores."""
    scores = np.where(seen, -np.inf, np.round(scores, digits))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LENGTH]
    return {f"u{user + 1:02}": {film_id(film): float(scores[user, film]) for film in best[user]}
            for user in range(USERS)}  # fmt: skip


if __name__ == "__main__":
    fields = simulate()
    lines = (f'"{name}": {json.dumps(value, separators=(",", ":"))}' for name, value in fields.items())
    print("{" + ",\n".join(lines) + "}")
