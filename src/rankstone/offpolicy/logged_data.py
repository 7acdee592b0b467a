"""The input of an estimator: rows of logged lists, with rewards and importance weights."""

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
        "what the probabilities refer to",
        {
            "list": "w of the whole list",
            "item": "w of each item at its position",
            "cascade": "w of the list down to each position",
            "pseudo_inverse": "w by the pseudo-inverse of the co-occurrence of (position, item) pairs",
        },
        hidden=(None,),
    ),
]
Limit = Annotated[float | None, Parameter("upper bound of the weights", {...: "w at most {:g}"}, (None,), at_least=0)]
Bound = Annotated[
    float | None, Parameter("weights above it are set to 0", {...: "w above {:g} is 0"}, (None,), at_least=0)
]
Shrunk = Annotated[
    float | None, Parameter("l of l w / (w^2 + l)", {...: "w shrunk to {0:g} w / (w^2 + {0:g})"}, (None,), at_least=0)
]
SubGaussian = Annotated[
    float | None,
    Parameter("l of w / (1 - l + l w)", {...: "w as w / (1 - l + l w), l = {:g}"}, (None,), at_least=0, at_most=1),
]


def transformed(
    ratio: Floats,
    *,
    weight: Weight = None,
    clip: Limit = None,
    switch: Bound = None,
    shrink: Shrunk = None,
    subgaussian: SubGaussian = None,
) -> Floats:
    """Transform importance weights, by at most one of the four rules.

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


CHANGES = ("clip", "switch", "shrink", "subgaussian")  # at most one of them


@dataclass(frozen=True, eq=False)
class LoggedData:
    """The input of an estimator: one row per logged item, from the top of each list, and sums per list.

    Attributes
    ----------
    reward : array of float
        Observed reward, per row.
    place : array of int
        Position in the list, from 1, per row.
    offsets : array of int or None
        Where each list begins, and the end; None if each row is a list of its own.
    conditional : bool
        Whether probabilities depend on the items above.
    """

    reward: Floats
    ratio: Callable[[], Floats]  # target probability / propensity
    changes: ByName  # transformation of the weights
    place: Ints
    offsets: Ints | None
    predictions: Callable[[], tuple[Floats, Floats]]  # of the logged item, and expected under the target policy
    conditional: bool

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.reward) if self.offsets is None else len(self.offsets) - 1

    @property
    def ones(self) -> Floats:
        """An array of ones, one per list."""
        return np.broadcast_to(np.ones(1, dtype=self.reward.dtype), len(self))

    @property
    def places(self) -> int:
        """Length of the longest list."""
        return 1 if self.offsets is None else int(np.diff(self.offsets).max())

    @cached_property
    def weight(self) -> Floats:
        """Importance weight per row: target probability / propensity, clipped or transformed as chosen."""
        return transformed(self.ratio(), **self.changes)

    def sum(self, values: Floats) -> Floats:
        """Sum over the rows of each list.

        Parameters
        ----------
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One sum per list.
        """
        return values if self.offsets is None else np.add.reduceat(values, self.offsets[:-1])

    def mean(self, values: Floats) -> Floats:
        """Mean over the rows of each list.

        Parameters
        ----------
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One mean per list.
        """
        return values if self.offsets is None else self.sum(values) / np.diff(self.offsets)

    @cached_property
    def predicted(self) -> Floats:
        """Predicted reward of the logged item, per row."""
        return self.predictions()[0]

    @cached_property
    def expected(self) -> Floats:
        """Expected predicted reward under the target policy, per row; given the items above if `conditional`."""
        return self.predictions()[1]

    @cached_property
    def baseline(self) -> Floats:
        """`expected`, times the weight of the items above if `conditional`: the model term of "dr"."""
        if not self.conditional or self.offsets is None:
            return self.expected
        return np.where(self.place > 1, np.roll(self.weight, 1), 1) * self.expected

    def at(self, place: int, values: Floats) -> Floats:
        """Values at one position.

        Parameters
        ----------
        place : int
            Position, from 1.
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One value per list; 0 where the list is shorter.
        """
        if self.offsets is None:
            return values
        out = np.zeros(len(self), dtype=values.dtype)
        has = np.diff(self.offsets) >= place
        out[has] = values[self.offsets[:-1][has] + place - 1]
        return out

    @cached_property
    def effective_sample_size(self) -> float:
        """Effective sample size, (sum w)^2 / sum w^2, at the position where it is lowest."""
        weights_by_place = (self.at(place, self.weight) for place in range(1, self.places + 1))
        return min(_effective(np.asarray(weights, dtype=np.float64)) for weights in weights_by_place)

    @property
    def largest_weight(self) -> float:
        """The largest weight."""
        return float(self.weight.max())


def _effective(weights: Floats) -> float:
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0
