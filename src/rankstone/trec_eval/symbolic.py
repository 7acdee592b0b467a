"""Symbolic lists in the C program's arithmetic: it divides where others multiply, and so on."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Relevance
from rankstone.align.functions import Depth, Discount, Functions, Values
from rankstone.metrics.gains import DISCOUNTS
from rankstone.program.core import Table
from rankstone.program.graph import Expression, Graph, View
from rankstone.program.ranking import Facts, Ranking
from rankstone.trec_eval.gains import Pairs, given_in, valued
from rankstone.trec_eval.lists import Setup


class SymbolicLists(Ranking):
    """One ranked list for each query, or for each of a query's groups of judgments."""

    def __init__(self, graph: Graph, setup: Setup) -> None:
        super().__init__(graph, Facts(Relevance(float(setup.level))))
        self.setup = setup

    def valued(self, pairs: Pairs, *, scaled: bool = False) -> SymbolicLists:
        """The same lists with gains for grades."""
        given = given_in(pairs, self.setup.version)

        def make(alignment: Alignment) -> Alignment:
            return valued(alignment, given, scaled)

        view = View((given, scaled), make)
        return cast("SymbolicLists", self._with(_view=view, space=self.graph.space("placed", view=view)))

    def best(self) -> SymbolicLists:
        """The best list."""
        return cast("SymbolicLists", self.ideal())

    def at(self, other: Ranking, values: Values, nth: Values) -> Expression:
        """The value of another list's nth item at each of this one's; of its last where it is not as long, or 0."""
        return self._from(other, "at", values, nth)

    def upto(self, other: Ranking) -> Expression:
        """How many of another list's items stand at each item's rank or above it."""
        return self._from(other, "upto", other.rank, self.rank)

    def _from(self, other: Ranking, op: str, values: Values, by: Values) -> Expression:
        return self.graph.node(op, values, by, params=(other.space,), kind="item", space=self.space)

    def discounts_elsewhere(self, discount: Discount, ranks: Values) -> Expression:
        """The discounts of the places of the list that are none of these ranks, added up from the top."""
        table = Table(discount, False, self.space, math.inf)
        return self.graph.node("elsewhere", ranks, self.retrieved, params=(table,), kind="query", space=self.space)

    def last_discount(self, discount: Discount) -> Expression:
        """The discount of the list's last place."""
        return self._discount(discount, self.retrieved)

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Expression:
        if discount is not DISCOUNTS["log2(rank+1)"]:
            return super().discounted(gains, discount, k)
        return self.sum(self.weighed(gains), k)

    def weighed(self, gains: Values) -> Expression:
        """Each gain over the logarithm of its rank + 1."""
        return gains / self._discount(logarithm, self._rank)

    def ratio(self, numerator: Values, denominator: Values) -> Expression:
        """A quotient; 0 where it is not defined."""
        return self.where(denominator != 0, numerator / denominator, 0.0)


def logarithm(_: Functions, rank: Floats) -> Floats:
    """The C library's; NumPy's own may differ in the last digit."""
    return np.array([math.log2(number + 1.0) for number in rank.tolist()])
