"""Types for annotations: the data and metrics that functions take, and the results that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import Any, Protocol, TypeAlias

from rankstone.compare.check import CheckResult
from rankstone.compare.comparison import Comparison
from rankstone.compare.scores import Scores, TaskLeaderboard
from rankstone.conventions.convention import Convention
from rankstone.data.columns import Columns
from rankstone.data.lists import Lists
from rankstone.data.side_info import Catalogue
from rankstone.evaluate.confusion import Confusion
from rankstone.evaluate.unanswerable import AnswerThreshold, RiskCoverage
from rankstone.evaluate.windows import WindowResult
from rankstone.explain.explain import Explanation
from rankstone.explain.identify import IdentifyResult
from rankstone.explain.sampled_metrics import SampledMetrics
from rankstone.fusion.fuse import FusedRun
from rankstone.fusion.pool import Pool
from rankstone.interleaving.analysis import InterleavingResult
from rankstone.interleaving.designs import InterleavedList
from rankstone.metrics.registry import Metric
from rankstone.offpolicy.estimate import OffPolicyResult
from rankstone.plots.plot import Plot
from rankstone.results.definition import Definition
from rankstone.results.result import Result

__all__ = [
    "AnswerThreshold",
    "Array",
    "Arrow",
    "BySubtopic",
    "Catalogue",
    "CatalogueLike",
    "CheckResult",
    "Column",
    "ColumnRoles",
    "Columns",
    "Comparison",
    "Confusion",
    "Convention",
    "Definition",
    "Explanation",
    "FusedRun",
    "Id",
    "IdentifyResult",
    "InterleavedList",
    "InterleavingResult",
    "Items",
    "Lists",
    "Metric",
    "Metrics",
    "Numbers",
    "OffPolicyResult",
    "Parent",
    "Path",
    "PerItem",
    "Plot",
    "Pool",
    "Result",
    "RiskCoverage",
    "Run",
    "SampledMetrics",
    "Scores",
    "TaskLeaderboard",
    "Truth",
    "Weights",
    "WindowResult",
]


class Arrow(Protocol):
    """A table or a column of a library with the Arrow PyCapsule interface: pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The data as an Arrow stream."""


class Array(Protocol):
    """An array of NumPy, torch, JAX, CuPy or SciPy."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""


#: Id of a query or an item: a string, an integer, or anything hashable.
Id: TypeAlias = Any
#: The items of one query: `{"a": 3, "b": 1}` with grades or scores, or `["a", "b"]`.
Items: TypeAlias = Mapping[Id, float] | Sequence[Id] | Set[Id] | Array
#: A sequence or an array of numbers.
Numbers: TypeAlias = Sequence[float] | Array
#: One weight per query: `{"u1": 2.0, "u2": 1.0}`, or numbers in the order of the queries.
Weights: TypeAlias = Mapping[Id, float] | Numbers
#: A column of values: an Arrow array, an array, or a sequence.
Column: TypeAlias = Arrow | Array | Sequence[Any]
#: The path of a file.
Path: TypeAlias = "str | PathLike[str]"
#: The subtopics of each item of one query: `{"a": {"s1": 2}}` with grades, or `{"b": ["s1"]}`.
BySubtopic: TypeAlias = Mapping[Id, Mapping[Any, float] | Sequence[Any] | Set[Any]]
#: Relevance judgements in any shape: `{"u1": {"a": 3}}`, a table, a matrix, columns, lists, or a file.
Truth: TypeAlias = "Mapping[Id, Items | BySubtopic] | Arrow | Array | Columns | Lists | Path"
#: Rankings in any shape: `{"u1": {"a": 0.9, "b": 0.5}}`, a table, a matrix, columns, lists, or a file.
Run: TypeAlias = "Mapping[Id, Items] | Arrow | Array | Columns | Lists | Path"
#: One value per item: `{"a": "drama"}`, or values in the order of the items.
PerItem: TypeAlias = Mapping[Id, object] | Column
#: All items: ids, a table or a file with an item column, a catalogue, or ids with a matrix of embeddings.
CatalogueLike: TypeAlias = "Column | Set[Id] | Path | Catalogue | tuple[Column, Array]"
#: The document of each chunk: `{"doc1#3": "doc1"}`, a function, a table, a file, or a separator such as `"#"`.
Parent: TypeAlias = "Mapping[Id, Id] | Callable[[Any], Id | None] | Arrow | Path"
#: One metric or several: `"ndcg@10"`, or `["ap", rs.ndcg @ 10]`.
Metrics: TypeAlias = str | Metric | Iterable[str | Metric]
#: Column names by role: `{"query": "user_id"}`, or `{"truth": {...}, "run": {...}}`.
ColumnRoles: TypeAlias = Mapping[str, Any]
