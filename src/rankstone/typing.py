"""Types for what users write: data and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import Any, Protocol, TypeAlias

from rankstone.data.columns import Columns
from rankstone.data.lists import Lists
from rankstone.data.side_info import Catalogue
from rankstone.metrics.registry import Metric


class Arrow(Protocol):
    """A table or a column that any Arrow library hands over: pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Array(Protocol):
    """An array of NumPy, torch, JAX, CuPy or SciPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...


Id: TypeAlias = Any  # of a query or an item: text, a whole number, or anything hashable
Items: TypeAlias = Mapping[Id, float] | Sequence[Id] | Set[Id] | Array  # one list: {"a": 3, "b": 1}, or ["a", "b"]
Numbers: TypeAlias = Sequence[float] | Array
Weights: TypeAlias = Mapping[Id, float] | Numbers  # one a query
Column: TypeAlias = Arrow | Array | Sequence[Any]
Path: TypeAlias = "str | PathLike[str]"
BySubtopic: TypeAlias = Mapping[Id, Mapping[Any, float] | Sequence[Any] | Set[Any]]  # {"a": {"s1": 2}, "b": ["s1"]}
Truth: TypeAlias = "Mapping[Id, Items | BySubtopic] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 3}}
Run: TypeAlias = "Mapping[Id, Items] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 0.9, "b": 0.5}}
PerItem: TypeAlias = Mapping[Id, object] | Column  # one an item: {"a": "drama"}, or ["drama", ...] in their order
Stock: TypeAlias = "Column | Set[Id] | Path | Catalogue | tuple[Column, Array]"  # all items: ids, or a table of them
Parent: TypeAlias = "Mapping[Id, Id] | Callable[[Any], Id | None] | Arrow | Path"  # {"doc1#3": "doc1"}, or "#"
Metrics: TypeAlias = str | Metric | Iterable[str | Metric]  # "ndcg@10", or ["ap", rs.ndcg @ 10]
Roles: TypeAlias = Mapping[str, Any]  # {"query": "user_id"}, or {"truth": {...}, "run": {...}}
