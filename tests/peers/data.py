"""Random truths and runs for all libraries: ties, missing and extra users, nothing relevant, short and long lists."""

import random

GRADES = {"binary": (0, 1), "graded": (0, 1, 2, 3, 4), "negative": (-2, -1, 0, 1, 2)}


def draw(seed, grades="binary", *, tied=True, low=-2.0, users=9, longest=40, missing=True, extra=True):
    """`{user: {item: grade}}` and `{user: {item: score}}`, the run's rows in no order."""
    rng = random.Random(seed)
    items = list(range(1, 61))
    truth, run = {}, {}
    for number in range(users):
        user = f"u{number}"
        if not extra or rng.random() > 0.15:
            judged = rng.sample(items, rng.choice((1, 2, 6, 25)))
            nothing = rng.random() < 0.2
            truth[user] = {item: 0 if nothing else rng.choice(GRADES[grades]) for item in judged}
        if user not in truth or not missing or rng.random() > 0.15:
            shown = rng.sample(items, rng.choice((1, 2, 5, 12, longest)))
            run[user] = dict(zip(shown, scores(rng, len(shown), tied, low), strict=True))
    return truth, run


def scores(rng, count, tied, low):
    """From `low` up to 3, with many equal ones or none."""
    if tied:
        return [low + rng.randint(0, 6) * (3 - low) / 6 for _ in range(count)]
    places = rng.sample(range(1, 1000), count)
    return [low + place * (3 - low) / 1000 for place in places]


def arrays(truth, run):
    """What a library of score arrays sees: each user's labels and scores, of what was returned."""
    return {
        user: ([truth.get(user, {}).get(item, 0) for item in rows], list(rows.values()))
        for user, rows in run.items()
        if rows
    }


def lists(run):
    """What a library of lists sees: each user's items, best first, equal scores as given."""
    return {user: sorted(rows, key=lambda item: -rows[item]) for user, rows in run.items()}


def relevant(truth, user):
    return [item for item, grade in truth.get(user, {}).items() if grade > 0]
