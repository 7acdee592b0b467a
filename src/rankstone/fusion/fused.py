"""A fused run: any door takes it, it becomes a table or a file, and it tells how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.columns import columns
from rankstone.data.lists import Lists
from rankstone.data.tables import Made, Side
from rankstone.fusion.merge import United
from rankstone.metrics.declaration import ByName
from rankstone.results.answer import Answer, Readable, queries
from rankstone.results.definition import Definition, summarize
from rankstone.results.export import write_side

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats
    from rankstone.data.files import Path

_SHOWN = 5  # rows that are printed


class Fused(Made, Readable):
    """A run that was made of others: `{query: {item: score}}`, the best item first.

    `definition` tells how. `rs.evaluate`, `rs.compare` and `rs.fuse` take it as a run.
    """

    def __init__(
        self,
        united: United,
        score: Floats,
        definition: Definition,
        chosen: ByName,
        of_files: bool,
        by_place: bool,
    ) -> None:
        self.definition, self.runs, self.of_files = definition, united.runs, of_files
        self._united, self._score, self._chosen, self._by_place = united, score, chosen, by_place

    @cached_property
    def _best(self) -> United:
        """One list a query, the best item first."""
        united = self._united
        rows = np.argsort(united.query, kind="stable")
        sizes = united.candidates()
        there = np.flatnonzero(sizes)
        whole = replace(
            united,
            runs=("the fused run",),
            item=rows,
            score=self._score[rows],
            offsets=np.concatenate(([0], np.cumsum(sizes[there]))),
            list_run=np.zeros(len(there), dtype=np.int64),
            list_query=there,
        )
        return whole.best_first(self._chosen["ties"]).first(self._chosen["keep"])

    @property
    def queries(self) -> list[Any]:
        """The queries' ids, those with an empty list too."""
        return self._united.names.queries(self._asked)

    @cached_property
    def _asked(self) -> Any:
        return np.flatnonzero(self._united.present.any(axis=0))

    def __len__(self) -> int:
        """How many queries it has."""
        return len(self._asked)

    def to_dict(self) -> dict[Any, dict[Any, float]]:
        """`{query: {item: score}}`, the best item first."""
        best = self._best
        items, scores = best.names.items(best.item), best.score.tolist()
        out: dict[Any, dict[Any, float]] = {query: {} for query in self.queries}
        ends = best.offsets.tolist()
        for at, query in enumerate(best.names.queries(best.list_query)):
            inside = slice(ends[at], ends[at + 1])
            out[query] = dict(zip(items[inside], scores[inside], strict=True))
        return out

    @cached_property
    def side(self) -> Side:
        """What `rs.evaluate` reads: a dict if it was made of dicts, else lists."""
        best = self._best
        if not self._united.names.columnar:
            return self.to_dict()
        sizes = np.zeros(best.present.shape[1], dtype=np.int64)
        sizes[best.list_query] = best.sizes
        offsets = np.concatenate(([0], np.cumsum(sizes[self._asked])))
        query = None if self._by_place else best.names.query_column(self._asked)
        return Lists(offsets, best.names.item_column(best.item), best.score, query, ordered=False)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        best = self._best
        return {
            "query": best.names.query_column(best.by_row(best.list_query)),
            "item": best.names.item_column(best.item),
            "score": best.score,
        }

    def write(self, path: Path, format: str | None = None, *, tag: str | None = None) -> None:  # noqa: A002
        """Write it as a run; the name's ending tells the format: .run (TREC), .csv, .tsv, .jsonl or .parquet.

        tag: the last field of a TREC run, the method's name unless given.
        """
        write_side(columns(**self._columns()), path, "run", format, tag or self.definition.metric)

    def answer(self) -> Answer:
        """What is printed: the first rows, and how it was made."""
        best = self._best
        of = f"{self.definition.metric} of {len(self.runs)} runs ({', '.join(self.runs)})"
        title = f"{of}: {queries(len(self))}, {len(best.item):,} items"
        head = slice(min(len(best.item), _SHOWN))
        ids = best.names.queries(best.by_row(best.list_query)[head]), best.names.items(best.item[head])
        rows = [
            [str(query), str(item), f"{score:.6g}"] for query, item, score in zip(*ids, best.score[head], strict=True)
        ]
        more = [["...", "", ""]] if len(best.item) > _SHOWN else []
        table = [["query", "item", "score"], *rows, *more]
        return Answer(table, title, definitions=summarize([self.definition]), align="<<", fixed=2)
