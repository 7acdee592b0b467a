"""The splits once more, row by row in plain Python, from what the documentation says of them."""

from collections import defaultdict

GAMMA = 0x9E3779B97F4A7C15
WORD = 2**64


def mixed(x):
    """SplitMix64's output for a state before its step, as published by Steele, Lea and Flood (2014)."""
    x = (x + GAMMA) % WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def content(value):
    if isinstance(value, int):
        return value % WORD
    data = value.encode()
    letters = sum(letter * (mixed(place) | 1) for place, letter in enumerate(data))
    return mixed((mixed(len(data)) + letters) % WORD)


def lot(row, seed):
    drawn = mixed(seed % WORD)
    for value in row:
        drawn = mixed((drawn + content(value)) % WORD)
    return drawn


def random(rows, count, seed):
    """Places of the test rows among rows of (user, item, time)."""
    order = sorted(range(len(rows)), key=lambda at: (lot(rows[at], seed), rows[at][1]))
    return sorted(order[len(rows) - count :])


def per_user(rows, take, key):
    """`take` says how many of a number of rows; `key` orders a user's rows."""
    places = defaultdict(list)
    for at, (user, *_) in enumerate(rows):
        places[user].append(at)
    test = []
    for own in places.values():
        own.sort(key=lambda at: (key(rows[at]), rows[at][1]))
        test += own[len(own) - take(len(own)) :]
    return sorted(test)


def report(train, test):
    """The counts of a report from lists of (user, item, time), times perhaps None."""
    users, items = ({row[at] for row in train} for at in (0, 1))
    timed = [row for row in test if row[2] is not None]
    first = min((row[2] for row in timed), default=None)
    own = {user: min(row[2] for row in timed if row[0] == user) for user in {row[0] for row in timed}}
    known = [row for row in train if row[2] is not None]
    return {
        "train_rows": len(train),
        "test_rows": len(test),
        "train_users": len(users),
        "test_users": len({row[0] for row in test}),
        "train_items": len(items),
        "test_items": len({row[1] for row in test}),
        "unseen_users": len({row[0] for row in test if row[0] not in users}),
        "unseen_user_rows": sum(row[0] not in users for row in test),
        "unseen_items": len({row[1] for row in test if row[1] not in items}),
        "unseen_item_rows": sum(row[1] not in items for row in test),
        "later_rows": sum(first is not None and row[2] > first for row in known),
        "own_later_rows": sum(row[0] in own and row[2] > own[row[0]] for row in known),
        "untimed_rows": sum(row[2] is None for row in (*train, *test)),
    }
