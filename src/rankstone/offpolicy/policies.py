"""Policies given as probabilities of whole lists, and matrices of item probabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.errors import DataError

NEAR = 0.01  # tolerance of the sum of rounded probabilities


class Policy:
    """A distribution over lists, with its marginals: items at positions, and prefixes of lists."""

    def __init__(self, lists: Mapping[Hashable, float], what: str) -> None:
        self.lists: dict[tuple[Hashable, ...], Any] = {}
        for items, chance in lists.items():
            if not isinstance(items, tuple):
                raise DataError(f"{what}: {items!r} is not a list; write {{(item, item): probability}}", "shape", "log")
            if isinstance(chance, bool) or not hasattr(chance, "__float__") or not 0 <= chance <= 1:
                raise DataError(f"{what}: list {items!r} has the probability {chance!r}", "number", "log")
            self.lists[items] = chance
        if len(set(map(len, self.lists))) != 1:
            raise DataError(f"{what}: lists must not be empty and must have one length", "shape", "log")
        total = float(sum(self.lists.values()))
        if abs(total - 1) > NEAR:
            raise DataError(f"{what}: the probabilities of its lists add up to {total:g}, not 1", "number", "log")
        self.places = len(next(iter(self.lists)))
        self.prefix: dict[tuple[Hashable, ...], Any] = defaultdict(int)  # of the first items of a list
        self.at: dict[tuple[int, Hashable], Any] = defaultdict(int)  # of an item at a position, from 0
        for items, chance in self.lists.items():
            for place, item in enumerate(items):
                self.at[place, item] += chance
                self.prefix[items[: place + 1]] += chance

    def rows(self, form: str, items: tuple[Hashable, ...]) -> list[Any]:
        """Probability per position of a list: of the list, of the item there, or of the list down to it."""
        if form == "list":
            return [self.lists.get(items, 0)] * len(items)
        if form == "item":
            return [self.at.get((place, item), 0) for place, item in enumerate(items)]
        return [self.prefix.get(items[: place + 1], 0) for place in range(len(items))]

    def shares(self, form: str, items: tuple[Hashable, ...], catalogue: Sequence[Hashable]) -> list[list[Any]]:
        """Probability of every item per position of a list: marginal, or given the items above."""
        out = []
        for place in range(len(items)):
            above = items[:place]
            if form == "item":
                out.append([self.at.get((place, item), 0) for item in catalogue])
            elif whole := self.prefix.get(above, 0) if above else 1:
                out.append([self.prefix.get((*above, item), 0) / whole for item in catalogue])
            else:  # the target policy never shows the items above, so the weight is 0
                out.append([0] * len(catalogue))
        return out

    @property
    def items(self) -> list[Hashable]:
        """All items, in order of appearance."""
        return list(dict.fromkeys(item for items in self.lists for item in items))


def unsupported(logging: Policy, target: Policy) -> float:
    """Probability of the target policy's lists that the logging policy never shows."""
    return float(sum(chance for items, chance in target.lists.items() if chance and not logging.lists.get(items)))


class PseudoInverse:
    """Weights of lists whose reward is a sum over (position, item) pairs (Swaminathan et al. 2017).

    The pseudo-inverse of the logging policy's co-occurrence matrix, times the target policy's probabilities of pairs.
    Lists that the logging policy never shows get no weight.
    """

    def __init__(self, logging: Policy, target: Policy) -> None:
        self.pairs = {pair: at for at, pair in enumerate(dict.fromkeys([*logging.at, *target.at]))}
        together = np.zeros((len(self.pairs), len(self.pairs)))
        for items, chance in logging.lists.items():
            inside = self._inside(items)
            together[np.ix_(inside, inside)] += float(chance)
        expected = np.array([float(target.at.get(pair, 0)) for pair in self.pairs])
        self.weights = np.linalg.pinv(together, rcond=1e-10, hermitian=True) @ expected

    def _inside(self, items: tuple[Hashable, ...]) -> list[int]:
        return [self.pairs[pair] for pair in enumerate(items)]

    def rows(self, items: tuple[Hashable, ...]) -> Floats:
        """The weight of a list, per position."""
        return np.full(len(items), self.weights[self._inside(items)].sum())


Values: TypeAlias = NDArray[Any]  # floats, or fractions for exact results
_ROWS = 1 << 15


class AtPlaces:
    """A three-dimensional array read as a matrix: per row the columns of its position, on access."""

    def __init__(self, cube: Values, place: Ints) -> None:
        self.cube, self.place = cube, place
        self.shape, self.dtype = cube.shape[:2], cube.dtype

    def __getitem__(self, part: slice) -> Values:
        cube, place = self.cube[part], self.place[part]
        return cube[np.arange(len(cube)), :, place]


class TargetLookup(NamedTuple):
    """The target policy's probabilities and the reward model's predictions of logged items."""

    probability: Values  # the target policy's probability of the logged item
    predicted: Values  # the predicted reward of the logged item
    expected: Values  # the expected predicted reward under the target policy
    valid: bool  # whether each row of the target is a distribution


def look_up(target: Values | AtPlaces, predicted: Values | AtPlaces | None, codes: Ints) -> TargetLookup:
    """Look up logged items; `codes` has the column of the logged item, per row."""
    rows, columns = target.shape
    exact = target.dtype == object or (predicted is not None and predicted.dtype == object)
    step = rows if exact else _ROWS
    first = np.arange(step) * columns
    kind = object if exact else np.float64
    probability = np.empty(rows, dtype=kind)
    logged, expected = np.empty((2, 0 if predicted is None else rows), dtype=kind)
    valid = True
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        chances = target[part]
        at = first[: len(chances)] + codes[part]
        np.take(chances.reshape(-1), at, out=probability[part], mode="clip")  # the fast mode; all indices are inside
        sums = chances.sum(axis=1) if exact else np.einsum("ij->i", chances)
        valid = valid and bool(chances.min() >= 0 and sums.min() >= 1 - NEAR and sums.max() <= 1 + NEAR)
        if predicted is not None:
            of = predicted[part]
            np.take(of.reshape(-1), at, out=logged[part], mode="clip")
            if exact:
                expected[part] = (chances * of).sum(axis=1)
            else:
                np.einsum("ij,ij->i", chances, of, out=expected[part])
    return TargetLookup(probability, logged, expected, valid)
