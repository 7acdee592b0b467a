"""The data that is measured on: made up, the same in every run, without ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

CATALOGUE = 1_000_003  # a prime, so that the steps below never meet the same item twice


@dataclass(frozen=True)
class Side:
    """A truth (values are grades) or a run (values are scores): one row an item, NumPy or Arrow columns."""

    query: Any
    item: Any
    value: Any

    def __len__(self) -> int:
        return len(self.query)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in (self.query, self.item, self.value))

    def table(self, value: str) -> pyarrow.Table:
        """The same memory as an Arrow table."""
        return pyarrow.table({"query": self.query, "item": self.item, value: self.value})


@dataclass(frozen=True)
class Data:
    truth: Side
    run: Side
    queries: int

    @property
    def nbytes(self) -> int:
        return self.truth.nbytes + self.run.nbytes


def integers(queries: int, items: int, judged: int, *, retrieved: float = 0.5, seed: int = 1) -> Data:
    """Rows grouped by query: `items` returned and `judged` judged in each, about a share `retrieved` of them found.

    A query's rows are in ranked order, as recommenders and search engines write them. Grades are 1 to 3.
    """
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(max(10_000_000, 2 * queries), queries, replace=False))
    start = rng.integers(0, CATALOGUE, (queries, 1))
    step = rng.integers(1, CATALOGUE, (queries, 1))
    pool = (start + step * np.arange(items + judged)) % CATALOGUE
    returned, others = pool[:, :items], pool[:, items:]
    scores = -np.sort(-rng.random((queries, items)), axis=1)
    scores += 1 - np.arange(items) * 1e-6  # above 0 and without ties, in single precision too
    places = np.argpartition(rng.random((queries, items)), judged - 1, axis=1)[:, :judged]
    found = rng.random((queries, judged)) < retrieved
    known = np.where(found, np.take_along_axis(returned, places, axis=1), others)
    grades = rng.integers(1, 4, (queries, judged))
    truth = Side(np.repeat(ids, judged), known.ravel(), grades.ravel())
    return Data(truth, Side(np.repeat(ids, items), returned.ravel(), scores.ravel()), queries)


def shuffled(data: Data, seed: int = 2) -> Data:
    """The same rows in random order."""
    rng = np.random.default_rng(seed)

    def mixed(side: Side) -> Side:
        order = rng.permutation(len(side))
        return Side(*(_take(column, order) for column in (side.query, side.item, side.value)))

    return replace(data, truth=mixed(data.truth), run=mixed(data.run))


def _take(column: Any, order: Any) -> Any:
    return column[order] if isinstance(column, np.ndarray) else column.take(pyarrow.array(order))


def strings(data: Data) -> Data:
    """The same rows with ids such as "u4711" and "i123456", as Arrow columns."""

    def named(side: Side) -> Side:
        return replace(side, query=_names("u", side.query), item=_names("i", side.item))

    return replace(data, truth=named(data.truth), run=named(data.run))


def _names(letter: str, ids: Any) -> Any:
    digits = pyarrow.array(ids).cast(pyarrow.string())
    return pyarrow.compute.binary_join_element_wise(letter, digits, "")
