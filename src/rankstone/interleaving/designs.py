"""Interleaving methods, a row each: how a list is built, and how clicks on it are credited to the rankers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.errors import InputError, InputTypeError
from rankstone.fusion.merge import merge_runs, open_runs
from rankstone.metrics.declaration import unknown_word

if TYPE_CHECKING:
    from rankstone.typing import Id, Run

Rankings: TypeAlias = Sequence[Sequence[Any]]  # one per ranker, the best item first
Draw: TypeAlias = Callable[[Sequence[float]], int]  # one of several options, by their probabilities
Shown: TypeAlias = "tuple[list[Any], list[int | None]]"  # items, and the index of the ranker that picked each
_DECAY = 3.0  # tau of the probabilistic method: weights of 1 / rank^3


@dataclass(frozen=True)
class InterleavingMethod:
    """An interleaving method: `build` makes a list, `credit` divides the clicks on it."""

    words: str
    build: Callable[[Rankings, int, Draw], Shown]
    credit: Callable[[InterleavedList, list[int]], list[float]]
    most: int | None = 2  # rankers that it can interleave; None: any number


class Outcome(NamedTuple):
    """A list that a method may show, and how often it does.

    Attributes
    ----------
    items : tuple
        The items, the first one first.
    teams : tuple of str or None
        The ranker that picked each item; None where the method has no teams.
    probability : float
        Probability of this list.
    """

    items: tuple[Any, ...]
    teams: tuple[str | None, ...]
    probability: float


@dataclass(frozen=True)
class InterleavedList:
    """The list that is shown for one query.

    Attributes
    ----------
    items : tuple
        The items, the first one first.
    teams : tuple of str or None
        The ranker that picked each item; None where the method has no teams.
    method : str
        Name of the method.
    rankings : dict
        The lists of the rankers, by name.
    k : int
        Longest length of the list.

    Examples
    --------
    >>> shown = rs.interleave({"q1": ["a", "b", "c"]}, {"q1": ["c", "d", "a"]}, k=3, seed=2)["q1"]
    >>> shown.items, shown.teams
    (('c', 'a', 'b'), ('B', 'A', 'A'))
    >>> shown.credit(["a", "b"])
    {'A': 2.0, 'B': 0.0}
    """

    items: tuple[Any, ...]
    teams: tuple[str | None, ...]
    method: str
    rankings: Mapping[str, Sequence[Any]] = field(repr=False)
    k: int = field(repr=False, default=10)

    def credit(self, clicked: Collection[Id]) -> dict[str, float]:
        """The credit of each ranker for the clicked items.

        Parameters
        ----------
        clicked : collection
            Ids of the clicked items; an item counts once, and one that was not shown is an error.

        Returns
        -------
        dict
            By ranker. Teams: clicks on the items that it picked. Balanced: clicks within the first items of its list,
            down to the lowest click. Probabilistic: the probability that it picked more of the clicked items.
        """
        places = {item: at for at, item in enumerate(self.items)}
        for item in clicked:
            if item not in places:
                raise InputError(f"{item!r} was clicked but not shown; the list is {', '.join(map(repr, self.items))}")
        at = sorted({places[item] for item in clicked})
        return dict(zip(self.rankings, METHODS[self.method].credit(self, at), strict=True))

    @property
    def likelihood(self) -> float:
        """Sum over all assignments of rankers to the items of their joint probability, by the probabilistic method."""
        return sum(_assignments(self, []).values())

    def distribution(self) -> list[Outcome]:
        """All lists that the method may show for these rankings, with their exact probabilities.

        Returns
        -------
        list of Outcome
            The most probable first.
        """
        build, names = METHODS[self.method].build, tuple(self.rankings)
        probability: dict[tuple[Any, Any], float] = defaultdict(float)
        waiting: list[tuple[int, ...]] = [()]
        while waiting:
            walk = _Walk(waiting.pop(), waiting)
            items, teams = build(list(self.rankings.values()), self.k, walk)
            probability[tuple(items), tuple(_named(names, teams))] += walk.probability
        ordered = sorted(probability.items(), key=lambda pair: -pair[1])
        return [Outcome(items, teams, share) for (items, teams), share in ordered]


class _Walk:
    """Draws that follow a path of choices, then take the first option; the others are added to what is waiting."""

    def __init__(self, path: tuple[int, ...], waiting: list[tuple[int, ...]]) -> None:
        self._path, self._waiting, self._at, self.probability = path, waiting, 0, 1.0

    def __call__(self, weights: Sequence[float]) -> int:
        if self._at == len(self._path):
            self._waiting += [(*self._path, other) for other in range(1, len(weights)) if weights[other]]
            self._path = (*self._path, 0)
        option = self._path[self._at]
        self._at += 1
        self.probability *= weights[option] / sum(weights)
        return option


def _draws(seed: int, query: Hashable) -> Draw:
    """Random draws that depend on the seed and the query alone: the first 8 bytes of BLAKE2b over 2^64."""
    numbers = count()

    def draw(weights: Sequence[float]) -> int:
        text = f"{seed}\n{query}\n{next(numbers)}".encode()
        point = int.from_bytes(blake2b(text, digest_size=8).digest(), "big") / 2**64 * sum(weights)
        for option, weight in enumerate(weights):
            point -= weight
            if point < 0:
                return option
        return len(weights) - 1

    return draw


# -- how lists are built -------------------------------------------------------------------------------------


def _team_draft(rankings: Rankings, k: int, draw: Draw) -> Shown:
    """The ranker with the fewest items picks its best one that is not shown yet, one at random of several."""
    rest, sizes = [list(ranking) for ranking in rankings], [0] * len(rankings)
    items: list[Any] = []
    teams: list[int | None] = []
    while len(items) < k and any(rest):
        able = [team for team, ranking in enumerate(rest) if ranking]
        turn = [team for team in able if sizes[team] == min(sizes[other] for other in able)]
        team = turn[draw([1.0] * len(turn))] if len(turn) > 1 else turn[0]
        items.append(item := rest[team][0])
        teams.append(team)
        sizes[team] += 1
        rest = [[other for other in ranking if other != item] for ranking in rest]
    return items, teams


def _balanced(rankings: Rankings, k: int, draw: Draw) -> Shown:
    """One coin says who is first; then both lists are gone through in turn, until either is used up."""
    first = draw([1.0, 1.0])
    at, items = [0, 0], dict[Any, None]()
    while len(items) < k and all(place < len(ranking) for place, ranking in zip(at, rankings, strict=True)):
        own = first if at[0] == at[1] else int(at[1] < at[0])
        items[rankings[own][at[own]]] = None
        at[own] += 1
    return list(items), [None] * len(items)


def _probabilistic(rankings: Rankings, k: int, draw: Draw) -> Shown:
    """A coin says who picks; an item is picked with a probability that falls with its rank."""
    items: list[Any] = []
    while len(items) < k:
        choices = [_weights(ranking, set(items)) for ranking in rankings]
        able = [weights for weights in choices if weights]
        if not able:
            break
        weights = able[draw([1.0] * len(able))] if len(able) > 1 else able[0]
        items.append(list(weights)[draw(list(weights.values()))])
    return items, [None] * len(items)


def _weights(ranking: Sequence[Any], shown: Collection[Any]) -> dict[Any, float]:
    """The weights of the items that are not shown yet."""
    return {item: rank**-_DECAY for rank, item in enumerate(ranking, 1) if item not in shown}


# -- how clicks are credited ---------------------------------------------------------------------------------


def _by_team(shown: InterleavedList, clicks: list[int]) -> list[float]:
    return [float(sum(shown.teams[at] == name for at in clicks)) for name in shown.rankings]


def _to_lowest(shown: InterleavedList, clicks: list[int]) -> list[float]:
    """Clicks within the first items of each list; as many as it takes either list to hold the lowest click."""
    if not clicks:
        return [0.0, 0.0]
    rankings, lowest = [list(ranking) for ranking in shown.rankings.values()], shown.items[clicks[-1]]
    depth = min(ranking.index(lowest) if lowest in ranking else len(ranking) for ranking in rankings) + 1
    return [float(sum(shown.items[at] in ranking[:depth] for at in clicks)) for ranking in rankings]


def _by_assignment(shown: InterleavedList, clicks: list[int]) -> list[float]:
    """The probability that a ranker picked more of the clicked items, as the list is what it is."""
    joint = _assignments(shown, clicks)
    whole = sum(joint.values())
    if not whole:
        raise InputError(f"{', '.join(map(repr, shown.items))}: the probabilistic method cannot show this list")
    return [sum(share for lead, share in joint.items() if lead * side > 0) / whole for side in (1, -1)]


def _assignments(shown: InterleavedList, clicks: list[int]) -> dict[int, float]:
    """By the lead of the first ranker in clicks: the joint probability of all assignments that have it."""
    joint, clicked = {0: 1.0}, set(clicks)
    for at, item in enumerate(shown.items):
        following: dict[int, float] = defaultdict(float)
        for ranking, side in zip(shown.rankings.values(), (1, -1), strict=True):
            weights = _weights(ranking, shown.items[:at])
            picked = weights.get(item, 0.0) / sum(weights.values()) if weights else 0.0
            for lead, share in joint.items() if picked else ():
                following[lead + side * (at in clicked)] += share * picked
        joint = following
    return joint


METHODS: Mapping[str, InterleavingMethod] = {
    "team_draft": InterleavingMethod(
        "rankers pick in turn, the first of each round by a coin (Radlinski, Kurup and Joachims 2008)",
        _team_draft, _by_team,
    ),
    "balanced": InterleavingMethod(
        "both lists gone through in turn, the first by a coin (Joachims 2003)", _balanced, _to_lowest
    ),
    "probabilistic": InterleavingMethod(
        "a coin for each place, items drawn by 1 / rank^3 (Hofmann, Whiteson and de Rijke 2011)",
        _probabilistic, _by_assignment,
    ),
    "multileave": InterleavingMethod(
        "team draft of any number of rankers (Schuth et al. 2014)", _team_draft, _by_team, most=None
    ),
}  # fmt: skip


# -- the lists of runs ---------------------------------------------------------------------------------------


def interleave(
    a: Run, b: Run, *more: Run, method: str = "team_draft", k: int = 10, seed: int = 0, names: Sequence[str] = ()
) -> dict[Any, InterleavedList]:
    """Merge the lists of two rankers into one per query, so that clicks on it say which ranker is better.

    The list depends on the seed and the id of the query alone: a server needs no state, and the analysis can build
    the lists again. So the id should be that of one search, as `query_id` in UBI logs, not the text of the query.

    Parameters
    ----------
    a, b : run-like
        Ranked lists in any form that `rs.evaluate` takes.
    *more : run-like
        Further runs, for "multileave".
    method : str, default "team_draft"
        "team_draft", "balanced", "probabilistic" or "multileave" (team draft of any number of runs).
    k : int, default 10
        Longest length of the lists. "balanced" stops earlier, where either list is used up.
    seed : int, default 0
        Random seed of the experiment.
    names : sequence of str, optional
        Names of the rankers; by default "A", "B", "C", ...

    Returns
    -------
    dict of InterleavedList
        By query: `items`, `teams`, `credit(clicked)` and the exact `distribution()` of the method.

    Raises
    ------
    ValueError
        If the method cannot interleave so many runs.

    Examples
    --------
    >>> rs.interleave({"q1": ["a", "b", "c"]}, {"q1": ["c", "d", "a"]}, k=3, seed=2)["q1"].items
    ('c', 'a', 'b')
    """
    runs = (a, b, *more)
    if method not in METHODS:
        raise InputError(unknown_word("method", method, METHODS))
    row = METHODS[method]
    if row.most is not None and len(runs) > row.most:
        able = [name for name, other in METHODS.items() if other.most is None]
        raise InputError(f"method={method!r} takes {row.most} runs, not {len(runs)}; choose {' or '.join(able)}")
    for name, value, least in (("k", k, 1), ("seed", seed, 0)):
        if type(value) is not int or value < least:
            raise InputTypeError(f"{name}={value!r}; give a whole number from {least}")
    labels = tuple(names) or tuple(_letters(len(runs)))
    if len(set(labels)) != len(runs):
        raise InputError(f"names={names!r}; give {len(runs)} different names, one per run")
    out = {}
    for query, rankings in _rankings(runs).items():
        items, teams = row.build(rankings, k, _draws(seed, query))
        by_name = dict(zip(labels, rankings, strict=True))
        out[query] = InterleavedList(tuple(items), tuple(_named(labels, teams)), method, by_name, k)
    return out


def _letters(count: int) -> Iterator[str]:
    """A, B, ..., Z, A2, B2, ..."""
    return (f"{chr(65 + at % 26)}{'' if at < 26 else at // 26 + 1}" for at in range(count))


def _named(names: Sequence[str], teams: Sequence[int | None]) -> list[str | None]:
    return [None if team is None else names[team] for team in teams]


def _rankings(runs: Sequence[Run]) -> dict[Any, list[list[Any]]]:
    """The lists of each query, one per run, an empty one where a run lacks the query."""
    merged = merge_runs(open_runs(dict(zip(_letters(len(runs)), runs, strict=True)), None), "item_desc")
    present = np.flatnonzero(merged.present.any(axis=0))
    queries = merged.names.queries(present)
    out: dict[Any, list[list[Any]]] = {query: [[] for _ in runs] for query in queries}
    number = dict(zip(present.tolist(), queries, strict=True))
    items, ends = merged.names.items(merged.item), merged.offsets.tolist()
    for at, (run, query) in enumerate(zip(merged.list_run.tolist(), merged.list_query.tolist(), strict=True)):
        out[number[query]][run] = items[ends[at] : ends[at + 1]]
    return out
