"""What an estimator reads: rows of lists that were shown, with what they earned and how much each of them counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np

from rankstone.align.alignment import Floats, Ints
from rankstone.metrics.declaration import ByName, Parameter

FORMS = ("list", "item", "cascade", "pseudo_inverse")
Weight = Annotated[
    Literal["list", "item", "cascade", "pseudo_inverse", None],
    Parameter(
        "what the probabilities are of",
        {
            "list": "w of the whole list",
            "item": "w of each item at its place",
            "cascade": "w of the list down to each place",
            "pseudo_inverse": "w by the pseudo-inverse of the pairs of places and items that the log shows together",
        },
        quiet=(None,),
    ),
]
Limit = Annotated[
    float | None, Parameter("weights above it count as this", {...: "w at most {:g}"}, (None,), at_least=0)
]
Bound = Annotated[
    float | None, Parameter("weights above it count as 0", {...: "w above {:g} is 0"}, (None,), at_least=0)
]
Shrunk = Annotated[
    float | None, Parameter("l of l w / (w^2 + l)", {...: "w shrunk to {0:g} w / (w^2 + {0:g})"}, (None,), at_least=0)
]
SubGaussian = Annotated[
    float | None,
    Parameter("l of w / (1 - l + l w)", {...: "w as w / (1 - l + l w), l = {:g}"}, (None,), at_least=0, at_most=1),
]


def changed(
    ratio: Floats,
    *,
    weight: Weight = None,
    clip: Limit = None,
    switch: Bound = None,
    shrink: Shrunk = None,
    subgaussian: SubGaussian = None,
) -> Floats:
    """The weights that an estimator uses, made of those of `weight`; at most one of the others.

    clip: Ionides (2008). switch: Wang, Agarwal and Dudik (2017). shrink: Su, Dimakopoulou, Krishnamurthy and Dudik
    (2020), optimistic. subgaussian: Metelli, Russo and Restelli (2021).
    """
    if clip is not None:
        return np.minimum(ratio, clip)
    if switch is not None:
        return np.where(ratio <= switch, ratio, 0)
    if shrink is not None and shrink < math.inf:
        return shrink * ratio / (ratio * ratio + shrink) if shrink else 0 * ratio
    if subgaussian is not None:
        return ratio / (1 - subgaussian + subgaussian * ratio)
    return ratio


CHANGES = ("clip", "switch", "shrink", "subgaussian")  # of which one at most


@dataclass(frozen=True, eq=False)
class Logged:
    """The lists of a log, as an estimator sees them: values a row, from the top of each list, and sums a list."""

    reward: Floats
    ratio: Callable[[], Floats]  # the target's probability over the logged one
    changes: ByName  # what is done to it
    place: Ints  # from 1
    offsets: Ints | None  # where each list begins, and the end; None: each row is a list
    foretold: Callable[[], tuple[Floats, Floats]]  # predictions, and what they expect of the target
    conditional: bool  # do probabilities depend on the items above

    def __len__(self) -> int:
        """How many lists."""
        return len(self.reward) if self.offsets is None else len(self.offsets) - 1

    @property
    def ones(self) -> Floats:
        """1 for each list."""
        return np.broadcast_to(np.ones(1, dtype=self.reward.dtype), len(self))

    @property
    def places(self) -> int:
        """The length of the longest list."""
        return 1 if self.offsets is None else int(np.diff(self.offsets).max())

    @cached_property
    def weight(self) -> Floats:
        """The target's probability over the logged one, changed as was asked for."""
        return changed(self.ratio(), **self.changes)

    def sum(self, values: Floats) -> Floats:
        """Sum over each list's rows."""
        return values if self.offsets is None else np.add.reduceat(values, self.offsets[:-1])

    def mean(self, values: Floats) -> Floats:
        """Mean over each list's rows."""
        return values if self.offsets is None else self.sum(values) / np.diff(self.offsets)

    @cached_property
    def predicted(self) -> Floats:
        """What a model predicts of the item that was shown."""
        return self.foretold()[0]

    @cached_property
    def expected(self) -> Floats:
        """What the predictions make of the target at this place; after the items above, if weights go by those."""
        return self.foretold()[1]

    @cached_property
    def foreseen(self) -> Floats:
        """The same by the weight of what stands above, where probabilities depend on it."""
        if not self.conditional or self.offsets is None:
            return self.expected
        return np.where(self.place > 1, np.roll(self.weight, 1), 1) * self.expected

    def at(self, place: int, values: Floats) -> Floats:
        """The values of one place, one a list; 0 where a list is shorter."""
        if self.offsets is None:
            return values
        out = np.zeros(len(self), dtype=values.dtype)
        has = np.diff(self.offsets) >= place
        out[has] = values[self.offsets[:-1][has] + place - 1]
        return out

    @cached_property
    def effective(self) -> float:
        """How many lists of equal weight say as much: (sum w)^2 / sum w^2, that of the place where it is lowest."""
        every = (self.at(place, self.weight) for place in range(1, self.places + 1))
        return min(_effective(np.asarray(weights, dtype=np.float64)) for weights in every)

    @property
    def largest_weight(self) -> float:
        """The highest of all weights."""
        return float(self.weight.max())


def _effective(weights: Floats) -> float:
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0
