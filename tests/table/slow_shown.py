"""Metrics of what was shown, in plain Python and by their plainest definitions: a second opinion, slow on purpose.

Each takes the lists cut at k (`{query: [item, ...]}`) and a `World`, and gives the number for all of them.
"""

import math
from itertools import combinations
from statistics import fmean, pstdev
from typing import NamedTuple


class World(NamedTuple):
    """What is known beside the lists."""

    items: list
    history: dict  # query: items
    reference: dict  # query: items
    truth: dict  # query: relevant items
    category: dict  # item: words
    group: dict  # item: word
    vector: dict  # item: numbers
    k: int

    def users(self, item):
        return sum(item in had for had in self.history.values())

    def rows(self, item):
        return sum(had.count(item) for had in self.history.values())


def mean(values):
    """The mean of the values that there are."""
    there = [value for value in values if value is not None]
    return fmean(there) if there else math.nan


def times(lists, worth=lambda rank: 1):
    out = {}
    for shown in lists.values():
        for rank, item in enumerate(shown, 1):
            out[item] = out.get(item, 0) + worth(rank)
    return out


def coverage(lists, world):
    return len({item for shown in lists.values() for item in shown}) / len(world.items)


def gini(lists, world, worth=lambda rank: 1):
    """Half the mean difference of all pairs, over the mean."""
    counts = times(lists, worth)
    x = [counts.get(item, 0) for item in world.items]
    if not sum(x):
        return math.nan
    return sum(abs(a - b) for a in x for b in x) / (2 * len(x) * sum(x))


def entropy(lists, world):
    counts = times(lists)
    rows = sum(counts.values())
    return -sum(n / rows * math.log2(n / rows) for n in counts.values()) if rows else math.nan


def popularity(lists, world):
    return mean(fmean(world.users(item) for item in shown) if shown else None for shown in lists.values())


def novelty(lists, world):
    def surprise(item):
        return -math.log2(max(world.users(item), 1) / len(world.history))

    return mean(fmean(map(surprise, shown)) if shown else None for shown in lists.values())


def discovered(lists, world, worth):
    out = []
    for query, shown in lists.items():
        discounts = [1 / math.log2(rank + 1) for rank in range(1, len(shown) + 1)]
        hits = [d * worth(item) for d, item in zip(discounts, shown, strict=True) if item in world.truth.get(query, ())]
        out.append(sum(hits) / sum(discounts) if shown else 0)
    return fmean(out)


def epc(lists, world):
    return discovered(lists, world, lambda item: 1 - world.users(item) / len(world.history))


def efd(lists, world):
    total = sum(map(len, world.history.values()))
    every = {item for had in world.history.values() for item in had}
    least = min((world.users(item) for item in every), default=1)
    return discovered(lists, world, lambda item: -math.log2((world.users(item) or least) / total))


def tail(lists, world):
    """All but the most popular items that hold 80 % of the rows."""
    total = sum(map(len, world.history.values()))
    held, head = 0, set()
    for item in sorted(world.items, key=world.rows, reverse=True):
        if held >= 0.8 * total:
            break
        head.add(item)
        held += world.rows(item)
    return mean(fmean(item not in head for item in shown) if shown else None for shown in lists.values())


def unseen(lists, world):
    return mean(
        fmean(item not in world.history.get(query, ()) for item in shown) if shown else None
        for query, shown in lists.items()
    )


def filled(lists, world):
    return fmean(len(shown) >= world.k for shown in lists.values())


def cosine(a, b):
    size = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / size if size else 0.0


def ild(lists, world):
    def far(shown):
        pairs = list(combinations(shown, 2))
        return fmean(1 - cosine(world.vector[a], world.vector[b]) for a, b in pairs) if pairs else None

    return mean(map(far, lists.values()))


def personalisation(lists, world):
    full = [shown for shown in lists.values() if shown]
    pairs = list(combinations(full, 2))
    alike = [len({*a} & {*b}) / math.sqrt(len(a) * len(b)) for a, b in pairs]
    return 1 - fmean(alike) if pairs else math.nan


def overlap(lists, world):
    return mean(
        fmean(item in world.reference.get(query, ())[: world.k] for item in shown) if shown else None
        for query, shown in lists.items()
    )


def serendipity(lists, world):
    """A relevant item that stands higher than its popularity would put it."""
    levels = sorted({world.rows(item) for item in world.items if world.rows(item)}, reverse=True)
    n = len(world.items)

    def worth(query, rank, item):
        if item not in world.truth.get(query, ()):
            return 0
        expected = (n - levels.index(world.rows(item))) / n if world.rows(item) else 0
        return max((n + 1 - rank) / n - expected, 0)

    return mean(
        fmean(worth(query, rank, item) for rank, item in enumerate(shown, 1)) if shown else None
        for query, shown in lists.items()
    )


def categories(lists, world):
    return mean(
        len({word for item in shown for word in world.category[item]}) / len(shown) if shown else None
        for shown in lists.values()
    )


def shares(items, category):
    """The share of each category, if each item gives equal parts to its own."""
    out = {}
    for item in items:
        for word in category[item]:
            out[word] = out.get(word, 0) + 1 / len(category[item])
    total = sum(out.values())
    return {word: part / total for word, part in out.items()}


def calibration(lists, world):
    def far(query, shown):
        had = world.history.get(query)
        if not had or not shown:
            return None
        p, q = shares(had, world.category), shares(shown, world.category)
        return sum(one * math.log(one / (0.99 * q.get(word, 0) + 0.01 * one)) for word, one in p.items())

    return mean(far(query, shown) for query, shown in lists.items())


# -- groups --------------------------------------------------------------------------------------------------


def log2(rank):
    return 1 / math.log2(rank + 1)


def log2_from_2(rank):
    return 1 / math.log2(max(rank, 2))


def by_group(lists, world, worth):
    """What each group gets in all lists."""
    out = dict.fromkeys(sorted(set(world.group.values())), 0.0)
    for item, amount in times(lists, worth).items():
        out[world.group[item]] += amount
    return out


def size(world, group):
    return sum(one == group for one in world.group.values())


def exposure(lists, world):
    return sum(by_group(lists, world, log2).values()) / len(world.items) / len(lists)


def exposure_ratio(lists, world):
    each = [amount / size(world, group) for group, amount in by_group(lists, world, log2).items()]
    return min(each) / max(each) if max(each) else math.nan


def exposure_difference(lists, world):
    each = [amount / size(world, group) for group, amount in by_group(lists, world, log2).items()]
    return (max(each) - min(each)) / len(lists)


def group_pairs(lists, world):
    groups = sorted(set(world.group.values()))
    total = dict.fromkeys(groups, 0.0)
    mixed = 0
    for shown in lists.values():
        pairs = [(a, b) for a, b in combinations(shown, 2) if world.group[a] != world.group[b]]
        mixed += bool(pairs)
        for group in groups:
            mine = [pair for pair in pairs if group in (world.group[pair[0]], world.group[pair[1]])]
            total[group] += fmean(world.group[above] == group for above, _ in mine) if mine else 0
    return (max(total.values()) - min(total.values())) / mixed if mixed else math.nan


def iaa(lists, world):
    return mean(
        sum(abs(log2(rank) - (item in world.truth.get(query, ()))) for rank, item in enumerate(shown, 1))
        if shown
        else None
        for query, shown in lists.items()
    )


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


def awrf(lists, world):
    groups = sorted(set(world.group.values()))
    target = [size(world, group) / len(world.items) for group in groups]

    def close(shown):
        got = by_group({0: shown}, world, log2_from_2)
        total = sum(got.values())
        p = [got[group] / total for group in groups]
        middle = [(a + b) / 2 for a, b in zip(p, target, strict=True)]
        return 1 - (kl(p, middle) + kl(target, middle)) / 2

    return mean(close(shown) if shown else None for shown in lists.values())


def ndkl(lists, world):
    groups = sorted(set(world.group.values()))

    def part(shown):
        return [sum(world.group[item] == group for item in shown) / len(shown) for group in groups]

    def far(shown):
        discounts = [log2(n) for n in range(1, len(shown) + 1)]
        return sum(d * kl(part(shown[:n]), part(shown)) for n, d in enumerate(discounts, 1)) / sum(discounts)

    return mean(far(shown) if shown else None for shown in lists.values())


def expected(lists, world):
    """The groups' mean exposure, and their target."""
    got = by_group(lists, world, log2_from_2)
    places = fmean(sum(map(log2_from_2, range(1, len(shown) + 1))) for shown in lists.values())
    return [(amount / len(lists), size(world, group) / len(world.items) * places) for group, amount in got.items()]


def ee_l(lists, world):
    return sum((mine - target) ** 2 for mine, target in expected(lists, world))


def ee_d(lists, world):
    return sum(mine**2 for mine, _ in expected(lists, world))


def ee_r(lists, world):
    return sum(mine * target for mine, target in expected(lists, world))


def chances(lists, world, could):
    """Deviation over mean of the groups' chances to be shown, of what could be."""
    each = []
    for group in sorted(set(world.group.values())):
        there = [(query, item) for query in lists for item in could(query) if world.group[item] == group]
        if not there:
            return math.nan
        each.append(sum(item in lists[query] for query, item in there) / len(there))
    return pstdev(each) / fmean(each) if fmean(each) else math.nan


def rsp(lists, world):
    """What users had before and are shown all the same counts above, and not below."""
    each = []
    for group in sorted(set(world.group.values())):
        got = sum(world.group[item] == group for shown in lists.values() for item in shown)
        new = [
            item
            for query in lists
            for item in world.items
            if item not in world.history.get(query, ()) and world.group[item] == group
        ]
        if not new:
            return math.nan
        each.append(got / len(new))
    return pstdev(each) / fmean(each) if fmean(each) else math.nan


def reo(lists, world):
    return chances(
        lists,
        world,
        lambda query: [item for item in world.truth.get(query, ()) if item not in world.history.get(query, ())],
    )


# -- queries without an answer -------------------------------------------------------------------------------


def answer_rate(lists, world):
    return fmean(bool(shown) for shown in lists.values())


def false_answer(lists, world):
    return mean(bool(shown) for query, shown in lists.items() if not world.truth.get(query))


def abstention_recall(lists, world):
    return mean(not shown for query, shown in lists.items() if not world.truth.get(query))


METRICS = {
    name: function
    for name, function in list(globals().items())
    if callable(function) and name in {
        "coverage", "gini", "entropy", "popularity", "novelty", "epc", "efd", "tail", "unseen", "filled", "ild",
        "personalisation", "overlap", "serendipity", "categories", "calibration", "exposure", "exposure_ratio",
        "exposure_difference", "group_pairs", "iaa", "awrf", "ndkl", "ee_l", "ee_d", "ee_r", "rsp", "reo",
        "answer_rate", "false_answer", "abstention_recall",
    }
}  # fmt: skip
