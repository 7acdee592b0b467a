"""Policies that are known as a whole: every list with its probability, or items by place; what one looks at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.errors import DataError

NEAR = 0.01  # how far probabilities that are rounded may be from adding up to 1


class Policy:
    """The lists of a policy and their probabilities, and what follows: those of items at places, of beginnings."""

    def __init__(self, given: Mapping[Hashable, float], what: str) -> None:
        self.lists: dict[tuple[Hashable, ...], Any] = {}
        for items, chance in given.items():
            if not isinstance(items, tuple):
                raise DataError(f"{what}: {items!r} is no list; write {{(item, item): probability}}", "shape", "log")
            if isinstance(chance, bool) or not hasattr(chance, "__float__") or not 0 <= chance <= 1:
                raise DataError(f"{what}: list {items!r} has the probability {chance!r}", "number", "log")
            self.lists[items] = chance
        if len(set(map(len, self.lists))) != 1:
            raise DataError(f"{what}: its lists must be of one length, and there must be some", "shape", "log")
        total = float(sum(self.lists.values()))
        if abs(total - 1) > NEAR:
            raise DataError(f"{what}: the probabilities of its lists add up to {total:g}, not 1", "number", "log")
        self.places = len(next(iter(self.lists)))
        self.beginning: dict[tuple[Hashable, ...], Any] = defaultdict(int)  # of a list so far
        self.at: dict[tuple[int, Hashable], Any] = defaultdict(int)  # of an item at a place, from 0
        for items, chance in self.lists.items():
            for place, item in enumerate(items):
                self.at[place, item] += chance
                self.beginning[items[: place + 1]] += chance

    def rows(self, form: str, items: tuple[Hashable, ...]) -> list[Any]:
        """The probability at each place of a list: of all of it, of the item there, or of the list so far."""
        if form == "list":
            return [self.lists.get(items, 0)] * len(items)
        if form == "item":
            return [self.at.get((place, item), 0) for place, item in enumerate(items)]
        return [self.beginning.get(items[: place + 1], 0) for place in range(len(items))]

    def shares(self, form: str, items: tuple[Hashable, ...], known: Sequence[Hashable]) -> list[list[Any]]:
        """At each place of a list the probability of every known item, by itself or after those above it."""
        out = []
        for place in range(len(items)):
            above = items[:place]
            if form == "item":
                out.append([self.at.get((place, item), 0) for item in known])
            elif whole := self.beginning.get(above, 0) if above else 1:
                out.append([self.beginning.get((*above, item), 0) / whole for item in known])
            else:  # the target never gets so far, so nothing that follows counts
                out.append([0] * len(known))
        return out

    @property
    def known(self) -> list[Hashable]:
        """Its items, as they come."""
        return list(dict.fromkeys(item for items in self.lists for item in items))


def unseen(logging: Policy, target: Policy) -> float:
    """The probability of the target's lists that the log can never have."""
    return float(sum(chance for items, chance in target.lists.items() if chance and not logging.lists.get(items)))


class PseudoInverse:
    """What a list counts if what it earns is a sum over its (place, item) pairs (Swaminathan et al. 2017).

    The pairs that the target shows, by the pseudo-inverse of how often the log shows two of them together. What the
    target shows and the log never does is not in it, as it is in no weight.
    """

    def __init__(self, logging: Policy, target: Policy) -> None:
        self.pairs = {pair: at for at, pair in enumerate(dict.fromkeys([*logging.at, *target.at]))}
        together = np.zeros((len(self.pairs), len(self.pairs)))
        for items, chance in logging.lists.items():
            inside = self._inside(items)
            together[np.ix_(inside, inside)] += float(chance)
        wanted = np.array([float(target.at.get(pair, 0)) for pair in self.pairs])
        self.weights = np.linalg.pinv(together, rcond=1e-10, hermitian=True) @ wanted

    def _inside(self, items: tuple[Hashable, ...]) -> list[int]:
        return [self.pairs[pair] for pair in enumerate(items)]

    def rows(self, items: tuple[Hashable, ...]) -> Floats:
        """The weight of a list, at each of its places."""
        return np.full(len(items), self.weights[self._inside(items)].sum())


Values: TypeAlias = NDArray[Any]  # floats; or fractions, of which everything that is made is exact
_ROWS = 1 << 15


class AtPlaces:
    """A matrix of three dimensions as one of two: of each row the columns at its place, taken when asked for."""

    def __init__(self, cube: Values, place: Ints) -> None:
        self.cube, self.place = cube, place
        self.shape, self.dtype = cube.shape[:2], cube.dtype

    def __getitem__(self, part: slice) -> Values:
        cube, place = self.cube[part], self.place[part]
        return cube[np.arange(len(cube)), :, place]


class Looked(NamedTuple):
    """What the log needs of the target's probabilities, and of the predictions if there are any."""

    picked: Values  # the target's probability of the item that was shown
    shown: Values  # what is predicted of it
    expected: Values  # what is predicted of what the target shows
    sound: bool  # is each row of the target's a row of probabilities


def look(target: Values | AtPlaces, predicted: Values | AtPlaces | None, codes: Ints) -> Looked:
    """codes: which column is that of the item that was shown."""
    rows, columns = target.shape
    exact = target.dtype == object or (predicted is not None and predicted.dtype == object)
    step = rows if exact else _ROWS
    first = np.arange(step) * columns
    kind = object if exact else np.float64
    picked = np.empty(rows, dtype=kind)
    shown, expected = np.empty((2, 0 if predicted is None else rows), dtype=kind)
    sound = True
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        chances = target[part]
        at = first[: len(chances)] + codes[part]
        np.take(chances.reshape(-1), at, out=picked[part], mode="clip")  # which is quick, and all are inside
        sums = chances.sum(axis=1) if exact else np.einsum("ij->i", chances)
        sound = sound and bool(chances.min() >= 0 and sums.min() >= 1 - NEAR and sums.max() <= 1 + NEAR)
        if predicted is not None:
            of = predicted[part]
            np.take(of.reshape(-1), at, out=shown[part], mode="clip")
            if exact:
                expected[part] = (chances * of).sum(axis=1)
            else:
                np.einsum("ij,ij->i", chances, of, out=expected[part])
    return Looked(picked, shown, expected, sound)
