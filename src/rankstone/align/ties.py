"""Tie-breaking rules, one row each. Core, arrays and SQL read the row, so that they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rankstone.align.elementwise import Values
    from rankstone.program.ranking import Ranking


@dataclass(frozen=True, eq=False)
class TieRule:
    """Which rank tied items have: one of `by`, `arrange`, `place` and `expected` defines it.

    example: the ranks of items a, b and c, judged 1, 2 and 0, that are tied after two others, in rows a, c, b.
    """

    name: str
    words: str  # in a definition
    example: tuple[int, int, int] | None = None  # None: no rank, but the mean over all orders
    by: Literal["item", "input"] | None = None  # in the order of ids or of rows
    descending: bool = False  # the last id or row first
    arrange: Callable[[Ranking], tuple[Values, Values]] | None = None  # lowest key first; who precedes the unjudged
    place: Callable[[Ranking, Values, Values], Values] | None = None  # one rank for all, of items above and tied items
    expected: bool = False  # the mean over all orders

    @property
    def averaged(self) -> bool:
        """Has a tied item no rank of its own, so that only some metrics are defined."""
        return self.expected or self.place is not None

    @property
    def order(self) -> str:
        """The order in which an alignment counts: the core's name for it."""
        return "input" if self.by is None else ORDERS[self.by, self.descending]

    @property
    def across_queries(self) -> bool:
        """Does the order of rows of one query say what comes first, and nothing else."""
        return self.by is None or self.order == "input"


# What the core can count by.
ORDERS = {
    ("item", True): "item_desc",
    ("item", False): "item_asc",
    ("input", False): "input",
    ("input", True): "reverse_input",
}


def _good(ranking: Ranking) -> Values:
    return (ranking.grade > 0) | (ranking.relevance(ranking.grade) > 0)  # a threshold of 0 makes grade 0 relevant


TIES: dict[str, TieRule] = {
    rule.name: rule
    for rule in (
        TieRule("item_desc", "ties broken by item id, descending", (5, 4, 3), by="item", descending=True),
        TieRule("item_asc", "ties broken by item id, ascending", (3, 4, 5), by="item"),
        TieRule("input", "ties in input order", (3, 5, 4), by="input"),
        TieRule("reverse_input", "ties in reverse input order", (5, 3, 4), by="input", descending=True),
        TieRule(
            "optimistic",
            "ties with the best item first",
            (4, 3, 5),
            arrange=lambda ranking: (-ranking.grade, _good(ranking)),
        ),
        TieRule(
            "pessimistic",
            "ties with the worst item first",
            (4, 5, 3),
            arrange=lambda ranking: (ranking.grade, ~_good(ranking)),
        ),
        TieRule("expected", "expected value over all orders of tied items", expected=True),
        TieRule(
            "group_end",
            "tied items share the last of their ranks",
            (5, 5, 5),
            place=lambda ranking, above, tied: above + tied,
        ),
        TieRule(
            "group_mean",
            "tied items share their mean rank, rounded down",
            (4, 4, 4),
            place=lambda ranking, above, tied: above + ranking.floor((tied + 1.0) / 2.0),
        ),
    )
}


def names(wanted: Callable[[TieRule], object] = lambda rule: True) -> tuple[str, ...]:
    """The rules that have a trait."""
    return tuple(name for name, rule in TIES.items() if wanted(rule))


COUNTED = names(lambda rule: rule.by)  # an alignment has their ranks
