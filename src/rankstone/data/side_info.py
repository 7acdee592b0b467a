"""What is known beside a truth and a run: a catalogue of items, what queries had before, other lists of theirs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankstone.data.arrow import Column, as_column
from rankstone.data.catalogue import Catalogue, Words, catalogue
from rankstone.data.columns import Columns
from rankstone.data.id_encoder import LOWER, Codes, distinct, pair
from rankstone.data.lists import Lists
from rankstone.data.source import Source
from rankstone.data.tables import as_columns
from rankstone.errors import Advice, Hint, NotGiven


@dataclass(frozen=True, eq=False)
class Beside:
    """What is known beside a truth and a run."""

    catalogue: Catalogue | None = None
    history: Columns | None = None  # what queries had before
    reference: Source | None = None  # other lists of the same queries


class Known:
    """Items by number: those of the catalogue first, then others of the history, then others that were shown."""

    def __init__(self, beside: Beside, judged: Mapping[Hashable, object] | Columns | Lists | None = None) -> None:
        self.beside = beside
        self.judged = judged  # the truth, in the shape of its door
        self._truth: Columns | None = None
        self.notes: dict[str, None] = {}
        self.codes = Codes()
        self.given = beside.catalogue
        if self.given is not None:
            self.codes.add(self.given.item, "catalogue", distinct=True)
        self.listed = self.codes.count  # how many the catalogue has
        self.history_item: NDArray[Any] = np.zeros(0, dtype=np.int64)
        if beside.history is not None:
            self.history_item = self.codes.add(beside.history.item, "history")
        self.before = self.codes.count  # how many the catalogue and the history have

    def __len__(self) -> int:
        """How many items there are: the catalogue's, or the history's where there is none."""
        return self.count("catalogue")

    @staticmethod
    def rows_of(column: Column, queries: Sequence[Hashable]) -> NDArray[Any]:
        """Which of some queries each row is of, -1 if none."""
        codes = Codes()
        codes.add(as_column("query", list(queries)), "run")
        return codes.find(column, "query")

    def truth(self) -> Columns | None:
        """The truth's rows, whose items have numbers then."""
        if self._truth is None and self.judged is not None:
            self._truth = as_columns(self.judged, "truth")
            self.codes.add(self._truth.item, "truth")
        return self._truth

    def note(self, text: str) -> None:
        """Something that a reader of the result should know."""
        self.notes[text] = None

    def need_history(self) -> Columns:
        """What queries had before."""
        if self.beside.history is None:
            raise NotGiven(Advice("give ", Hint("history"), ": what each query had before, in any shape of a truth"))
        return self.beside.history

    def need(self, what: str) -> Any:
        """A property of the catalogue's items."""
        found = None if self.given is None else getattr(self.given, what)
        if found is None:
            raise NotGiven(f"give what is known of the items: catalogue=rs.catalogue(items, {what}=...)")
        return found

    def count(self, base: str) -> int:
        """How many items a base has, apart from what was shown."""
        if base == "catalogue" and self.given is not None:
            return self.listed
        if base != "shown" and self.beside.history is not None:
            count = int(np.count_nonzero(self.times_seen > 0))
            if base == "catalogue":
                self.note(f"the {count:,} items of the history stand in for a catalogue")
            return count
        raise NotGiven(
            Advice("give ", Hint("catalogue"), ": the ids of all items (or ", Hint("history"),
                   ", whose items stand in for it)")
        )  # fmt: skip

    def inside(self, base: str, universe: int) -> NDArray[np.bool_]:
        """Which items are of a base."""
        if base == "shown":
            return np.ones(universe, dtype=bool)
        self.count(base)  # or nothing is known
        if base == "catalogue" and self.given is not None:
            return np.arange(universe) < self.listed
        return self._padded(self.times_seen > 0, universe)

    @staticmethod
    def _padded(values: Any, universe: int) -> Any:
        """The same for items that became known later, too."""
        if len(values) == universe:
            return values
        out = np.zeros(universe, dtype=values.dtype)
        out[: min(len(values), universe)] = values[:universe]
        return out

    @cached_property
    def times_seen(self) -> NDArray[Any]:
        """How many rows of the history each item has."""
        return np.bincount(self.history_item, minlength=self.before)

    @cached_property
    def users(self) -> Codes:
        """The queries of the history."""
        users = Codes()
        self.user_of_row = users.add(self.need_history().query, "history")
        return users

    @cached_property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """User and item of the history's rows, each pair once, by user."""
        self.users  # noqa: B018 - or the rows have no user yet
        keys = distinct(pair(self.user_of_row, self.history_item))
        return keys >> 32, keys & LOWER

    @cached_property
    def users_seen(self) -> NDArray[Any]:
        """How many queries of the history had each item."""
        return np.bincount(self.pairs[1], minlength=self.before)

    def popularity(self, by: str, universe: int) -> NDArray[np.float64]:
        """How popular each item is: users or rows of the history, or as the catalogue has it."""
        if by == "given" or (
            self.beside.history is None and self.given is not None and self.given.popularity is not None
        ):
            return self._padded(self.need("popularity"), universe)
        self.need_history()
        return self._padded((self.users_seen if by == "users" else self.times_seen).astype(np.float64), universe)

    def in_tail(self, by: str, rule: str, at: float, ties: str, universe: int) -> NDArray[np.bool_]:
        """Which items are of the long tail."""
        known = self.popularity(by, universe)
        if rule == "count":
            return (known > 0) & (known <= at)
        if ties == "item":
            order = self.codes.order(universe)
            order = order[np.argsort(known[order], kind="stable")]  # least popular first, lower ids first
        else:
            order = np.argsort(-known, kind="stable")[::-1]  # the first in the catalogue is the more popular one
        out = np.zeros(universe, dtype=bool)
        if rule == "items":
            seen = order[known[order] > 0]
            out[seen[: int(len(seen) * at)]] = True
            return out
        above = np.cumsum(known[order[::-1]]) - known[order[::-1]]  # held by the more popular ones
        out[order[::-1]] = above >= at * known.sum()
        return out

    def words(self, what: str, universe: int) -> Words:
        """The categories or groups of each item."""
        found: Words = self.need(what)
        return found.of(np.where(np.arange(universe) < self.listed, np.arange(universe), -1))

    def vectors(self, universe: int) -> tuple[Any, NDArray[np.bool_]]:
        """The vectors of the catalogue's items, and which items have one."""
        found = self.need("embedding")
        described = self.given.described if self.given is not None else None
        there = np.ones(self.listed, dtype=bool) if described is None else described
        return found, self._padded(there, universe)


def anything() -> Known:
    """An item of which all is known, for what a metric says of no lists."""
    item = catalogue(["item"], popularity=[1], category=["item"], group=["item"], embedding=np.ones((1, 1)))
    rows = as_column("any", ["item"])
    return Known(Beside(item, Columns(rows, rows)))
