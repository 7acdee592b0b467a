"""trec_eval's definitions in plain Python, one document after the other, for what no installed library computes."""

from __future__ import annotations

import math
from collections.abc import Iterable

Prefs = list[tuple[str, str, str, float]]  # group, subgroup, document, level


def ranking(run: dict[str, float], *, ascending: bool = False) -> list[str]:
    """Documents by score; equal scores by name, from the end of the alphabet unless ascending."""
    names = sorted(run, key=lambda item: item.encode(), reverse=not ascending)
    return sorted(names, key=lambda item: -run[item])


def grades(truth: dict[str, int], run: dict[str, float]) -> list[int]:
    """The retrieved documents' grades: -1 for one that nobody judged, -2 for one left out of a sample."""
    return [-1 if item not in truth else truth[item] if truth[item] >= 0 else -2 for item in ranking(run)]


def interpolated(truth: dict[str, int], run: dict[str, float], share: float) -> float:
    """Highest precision from where a share of the relevant documents, rounded, has been found."""
    listed = [grade >= 1 for grade in grades(truth, run)]
    needed = math.floor(share * sum(grade >= 1 for grade in truth.values()) + 0.5)
    best = 0.0
    for rank in range(1, len(listed) + 1):
        if sum(listed[:rank]) >= max(needed, 1):
            best = max(best, sum(listed[:rank]) / rank)
    return best


def rbp(truth: dict[str, int], run: dict[str, float], p: float) -> float:
    """Grades over the highest one, met by a person who goes on with probability p."""
    top = max(max(truth.values()), 1)
    return (1 - p) * sum(max(grade, 0) / top * p**at for at, grade in enumerate(grades(truth, run)))


def rbp_residual(truth: dict[str, int], run: dict[str, float], p: float) -> float:
    listed = grades(truth, run)
    if all(grade >= 0 for grade in listed):
        return 0.0
    return p ** len(listed) + (1 - p) * sum(p**at for at, grade in enumerate(listed) if grade < 0)


def unjudged(truth: dict[str, int], run: dict[str, float], k: int) -> float:
    return sum(grade < 0 for grade in grades(truth, run)[:k]) / k


def smoothed_odds(truth: dict[str, int], run: dict[str, float]) -> float:
    listed = [grade >= 1 for grade in grades(truth, run)]
    total = sum(sum(listed[:rank]) / rank for rank in range(1, len(listed) + 1) if listed[rank - 1])
    return math.log((1 + total) / (1 + sum(grade >= 1 for grade in truth.values()) - total))


def preferences(prefs: Prefs, run: dict[str, float], depth: int | None = None) -> dict[str, float]:
    """Every measure of preferences for one query, by its name."""
    found = ranking(run, ascending=True)[:depth]
    place = {item: at for at, item in enumerate(found)}
    groups = sorted({group for group, _, _, _ in prefs})
    counts = [_counts(_closure(prefs, group), place) for group in groups]
    poss, ful = sum(sum(one.values()) for one in counts), sum(one["ful_ret"] + one["ful_imp"] for one in counts)
    ful_ret = sum(one["ful_ret"] for one in counts)
    poss_ret = sum(one["ful_ret"] + one["bad_ret"] for one in counts)
    poss_imp = sum(one["ful_imp"] + one["bad_imp"] for one in counts)
    values = {
        "num_prefs_poss": poss,
        "num_prefs_ful": ful,
        "num_prefs_ful_ret": ful_ret,
        "simp": _part(ful, poss),
        "simp_ret": _part(ful_ret, poss_ret),
        "simp_imp": _part(ful, poss_ret + poss_imp),
        "avgjg": _mean(_part(one["ful_ret"] + one["ful_imp"], sum(one.values())) for one in counts),
        "avgjg_ret": _mean(_part(one["ful_ret"], one["ful_ret"] + one["bad_ret"]) for one in counts),
        "avgjg_imp": _mean(
            _part(one["ful_ret"] + one["ful_imp"], sum(one.values()) - one["neither"]) for one in counts
        ),
    }
    values.update(_by_pair([_closure(prefs, group) for group in groups], place))
    return values


def _closure(prefs: Prefs, group: str) -> set[tuple[str, str]]:
    """Pairs of a better and a worse document, with those that follow from them."""
    mine = [(part, item, level) for one, part, item, level in prefs if one == group]
    pairs = {(a, b) for part, a, high in mine for other, b, low in mine if part == other and high > low}
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def _counts(pairs: set[tuple[str, str]], place: dict[str, int]) -> dict[str, int]:
    out = dict.fromkeys(("ful_ret", "bad_ret", "ful_imp", "bad_imp", "neither"), 0)
    for better, worse in pairs:
        if better in place and worse in place:
            out["ful_ret" if place[better] < place[worse] else "bad_ret"] += 1
        elif better in place or worse in place:
            out["ful_imp" if better in place else "bad_imp"] += 1
        else:
            out["neither"] += 1
    return out


def _by_pair(groups: list[set[tuple[str, str]]], place: dict[str, int]) -> dict[str, float]:
    shares: dict[str, list[float]] = {"both": [], "one": [], "neither": []}
    for a, b in {tuple(sorted(pair)) for pairs in groups for pair in pairs}:
        first, second = sorted((a, b), key=lambda item: place.get(item, math.inf))
        right, wrong = (sum(pair in pairs for pairs in groups) for pair in ((first, second), (second, first)))
        kind = ("neither", "one", "both")[(a in place) + (b in place)]
        shares[kind].append(0.0 if kind == "neither" else right / (right + wrong))
    return {
        "pair": _mean(shares["both"] + shares["one"] + shares["neither"]),
        "pair_ret": _mean(shares["both"]),
        "pair_imp": _mean(shares["both"] + shares["one"]),
    }


def _part(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else 0.0
