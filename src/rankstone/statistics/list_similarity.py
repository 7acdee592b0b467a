"""How alike two lists are, without a truth, and clicks over expected clicks; as OpenSearch computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from rankstone.statistics.student_t import level


def jaccard(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Share of the items of both lists together that are in both (Jaccard 1912); 0 for two empty lists.

    Parameters
    ----------
    first, second : sequence
        Items, the first one first.

    Returns
    -------
    float

    Examples
    --------
    >>> rs.statistics.jaccard(["a", "b", "c"], ["b", "a", "d"])
    0.5
    """
    both, every = set(first) & set(second), {*first, *second}
    return len(both) / len(every) if every else 0.0


def list_overlap(first: Sequence[Hashable], second: Sequence[Hashable], p: float = 0.9) -> float:
    """Rank-biased overlap down to the longer list, divided by that of equal lists (after Webber et al. 2010).

    Parameters
    ----------
    first, second : sequence
        Items, the first one first.
    p : float, default 0.9
        Probability that a reader goes on to the next place.

    Returns
    -------
    float

    Examples
    --------
    >>> round(rs.statistics.list_overlap(["a", "b", "c"], ["b", "a", "d"], p=0.5), 4)
    0.381
    """
    level(p, "p")
    depth = max(len(first), len(second))
    tops = ((set(first[:at]), set(second[:at])) for at in range(1, depth + 1))
    parts = (p**at * len(one & other) / max(len(one), len(other)) for at, (one, other) in enumerate(tops))
    return (1 - p) / (1 - p**depth) * sum(parts) if depth else 0.0


def frequency_overlap(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Share of the items in both lists, each weighted by the mean of its frequencies in the two.

    Parameters
    ----------
    first, second : sequence
        Items, the first one first; an item may be repeated.

    Returns
    -------
    float

    Examples
    --------
    >>> rs.statistics.frequency_overlap(["a", "b", "b"], ["b", "c"])
    0.5833333333333334
    """
    counts = [(Counter(items), max(len(items), 1)) for items in (first, second)]
    weights = {item: sum(count[item] / size for count, size in counts) / 2 for item in {*first, *second}}
    shared = sum(weights[item] for item in set(first) & set(second))
    return shared / sum(weights.values()) if weights else 0.0


def clicks_over_expected(
    item: Iterable[Hashable], rank: Iterable[int], click: Iterable[bool], deepest: int | None = None
) -> dict[Hashable, float]:
    """Clicks of each item over those that its best rank and its impressions let expect (COEC).

    Parameters
    ----------
    item : iterable
        One per impression or click, such as a pair of query and item.
    rank : iterable of int
        Its rank.
    click : iterable of bool
        Whether it is a click; else it is an impression.
    deepest : int, optional
        Ranks from this one on are ignored.

    Returns
    -------
    dict
        By item, in order of appearance; 0 where no click is expected.

    Examples
    --------
    >>> rs.statistics.clicks_over_expected(["a", "a", "b", "c"], [1, 1, 1, 2], [False, True, False, False])
    {'a': 2.0, 'b': 0.0, 'c': 0.0}
    """
    by_rank: Counter[tuple[int, bool]] = Counter()
    by_item: Counter[tuple[Hashable, bool]] = Counter()
    best: dict[Hashable, int] = {}
    for one, place, is_click in zip(item, rank, click, strict=True):
        if deepest is None or place < deepest:
            by_rank[place, bool(is_click)] += 1
            by_item[one, bool(is_click)] += 1
            best[one] = min(place, best.get(one, place))
    expected = {one: by_rank[place, True] / max(by_rank[place, False], 1) * by_item[one, False]
                for one, place in best.items()}  # fmt: skip
    return {one: by_item[one, True] / clicks if clicks else 0.0 for one, clicks in expected.items()}
