"""Lists that are only spoken of, in the C program's words: it divides where others multiply, and so on."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from rankstone.align.expression import Expression
from rankstone.align.ranked import Floats, Ranked
from rankstone.align.ranking import Depth, Discount, Functions, Ideal, Relevance, Values, Worth
from rankstone.align.traced import Facts, Lists, Steps, Traced
from rankstone.metrics.gains import DISCOUNTS
from rankstone.trec_eval.gains import Pairs, given_in, valued
from rankstone.trec_eval.lists import Setup


class SpokenLists(Traced):
    """One ranked list for each query, or for each of a query's groups of judgments."""

    setup: Setup

    def __init__(self, steps: Steps, setup: Setup) -> None:
        super().__init__(steps, Facts.plain(Relevance(float(setup.level))))
        self.__dict__.update(setup=setup)

    def valued(self, pairs: Pairs, *, scaled: bool = False) -> SpokenLists:
        """The same lists with gains for grades."""
        given = given_in(pairs, self.setup.version)

        def of(ranked: Ranked) -> Ranked:
            return valued(ranked, given, scaled)

        key = ("valued", given, scaled)
        return self.remember(key, lambda: self.replace(items=Lists(key, "placed_offsets", of)))

    def replace(self, **changes: object) -> SpokenLists:
        return cast("SpokenLists", super().replace(**changes))

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> SpokenLists:
        best, of = cast("SpokenLists", super().ideal(items, worth, k)), self.items.of
        return best if of is None else best.replace(items=Lists((self.items.name, "best"), "truth_offsets", of))

    def at(self, other: SpokenLists, values: Values, nth: Values) -> Expression:
        """The value of another list's nth item at each of this one's; of its last where it is not as long, or 0."""
        return self._from(other, "at", values, nth)

    def upto(self, other: SpokenLists) -> Expression:
        """How many of another list's items stand at each item's rank or above it."""
        return self._from(other, "upto", other.rank, self.rank)

    def _from(self, other: SpokenLists, op: str, values: Values, by: Values) -> Expression:
        self.tree.look(other.items, None)
        return self.tree.node(op, self.tree.of(values), other.items, by, kind="item", items=self.items)

    def discounts_elsewhere(self, discount: Discount, ranks: Values) -> Expression:
        """The discounts of the places of the list that are none of these ranks, added up from the top."""
        self.tree.look(self.items, None)
        table = self._table(discount, None)
        return self.tree.node("elsewhere", self.tree.of(ranks), table, self.retrieved, kind="query", items=self.items)

    def last_discount(self, discount: Discount) -> Expression:
        """The discount of the list's last place."""
        return self._entry(self.retrieved, discount, None)

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Expression:
        if discount is not DISCOUNTS["log2(rank+1)"]:
            return super().discounted(gains, discount, k)
        return self.sum(self.weighed(gains, k), k)

    def weighed(self, gains: Values, k: Depth = None) -> Expression:
        """Each gain over the logarithm of its rank + 1."""
        return gains / self._entry(self._any_rank, logarithm, k)

    def ratio(self, earned: Values, possible: Values) -> Expression:
        """Earned over possible; 0 where nothing was possible."""
        return self.where(possible != 0, earned / possible, 0.0)


def logarithm(_: Functions, rank: Floats) -> Floats:
    """The C library's; NumPy's own may differ in the last digit."""
    return np.array([math.log2(number + 1.0) for number in rank.tolist()])
