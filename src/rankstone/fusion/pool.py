"""`pool`: what of some runs is to be judged, less what is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.columns import columns
from rankstone.data.dicts import plain_dict
from rankstone.data.lists import Lists
from rankstone.data.loaders import is_file, opened
from rankstone.data.tables import Side, as_columns, queried
from rankstone.fusion.choices import FUSING, TieOrder, checked
from rankstone.fusion.merge import Opened, United, by_id, open_runs, unite
from rankstone.results.answer import Answer, Readable, wrapped
from rankstone.results.export import write_side

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Ints
    from rankstone.data.files import Path
    from rankstone.typing import Roles, Run, Truth

POOLED = -1  # the grade of what is in the pool and was not judged, as in TREC's files
_TRUTH = "truth"


def pool(
    runs: Mapping[str, Run] | Iterable[Run],
    depth: int,
    truth: Truth | None = None,
    *,
    ties: TieOrder = "item_desc",
    columns: Roles | None = None,
) -> Pool:
    """What is to be judged: for each query the first `depth` items of each run, less what the truth judges already.

    runs: as `rs.fuse` takes them. truth: in any shape that `rs.evaluate` takes. ties: who goes first among equal
    scores. `pool.write("pool.qrels")` writes it as a truth to be filled in.

    >>> rs.pool([{"q": ["a", "b"]}, {"q": ["c", "a"]}], 1, truth={"q": {"c": 0}}).to_dict()
    {'q': ['a']}
    """
    depth, ties = checked("depth", depth), checked("ties", ties)
    if depth is None:
        raise ValueError("depth=None; give a whole number from 1")
    given = open_runs(runs, columns)
    names = tuple(given.sides)
    if truth is None:
        return _made(unite(given, ties).first(depth), names, depth, ties, None)
    truth = queried(truth)
    judged = _judged(opened(truth, "truth", columns))
    label = next(name for name in (_TRUTH, *(f"{_TRUTH} {at}" for at in range(len(names) + 1))) if name not in names)
    whole = Opened({**given.sides, label: judged}, given.of_files or is_file(truth))
    united = unite(whole, ties)
    theirs = united.list_run == len(names)
    known = np.zeros(len(united.query), dtype=bool)
    known[united.item[united.by_row(theirs)]] = True
    united = replace(united, present=united.present[:-1])
    return _made(united.lists(~theirs).first(depth), names, depth, ties, known)


def _judged(truth: Side) -> Side:
    """The truth's items, whatever their grades."""
    if isinstance(truth, Mapping):
        return {query: list(items) for query, items in plain_dict(truth, "truth").items()}
    if isinstance(truth, Lists):
        return replace(truth, values=None)
    rows = as_columns(truth, "truth")
    return columns(query=rows.query, item=rows.item)


def _made(united: United, names: tuple[str, ...], depth: int, ties: str, known: Bools | None) -> Pool:
    pooled = np.bincount(united.item, minlength=len(united.query)) > 0
    fresh = pooled if known is None else pooled & ~known
    judged = None if known is None else int((pooled & known).sum())
    return Pool(united, np.flatnonzero(fresh), names, depth, ties, judged)


class Pool(Readable):
    """Items to be judged, by query, in the order of their ids: a judge should not see who returned them, or where.

    judged: how many of the pooled items the truth judges already; None without a truth.
    """

    def __init__(
        self, united: United, items: Ints, runs: tuple[str, ...], depth: int, ties: str, judged: int | None
    ) -> None:
        self._united, self.runs, self.depth, self.ties, self.judged = united, runs, depth, ties, judged
        items = items[np.argsort(united.query[items], kind="stable")]
        self._query = united.query[items]
        with suppress(TypeError):  # ids that have no order stay as they came
            sizes = np.bincount(self._query)
            items = items[by_id(united.names.item_column(items), np.append(0, np.cumsum(sizes)))]
        self._items = items

    @cached_property
    def counts(self) -> dict[Any, int]:
        """How many items each query has, those with nothing left to judge too."""
        asked = np.flatnonzero(self._united.present.any(axis=0))
        sizes = np.bincount(self._query, minlength=self._united.present.shape[1])[asked]
        return dict(zip(self._united.names.queries(asked), sizes.tolist(), strict=True))

    def __len__(self) -> int:
        """How many items there are to judge."""
        return len(self._items)

    def to_dict(self) -> dict[Any, list[Any]]:
        """`{query: [item, ...]}`."""
        out: dict[Any, list[Any]] = {query: [] for query in self.counts}
        for query, item in zip(
            self._united.names.queries(self._query), self._united.names.items(self._items), strict=True
        ):
            out[query].append(item)
        return out

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = self._united.names
        return {"query": names.query_column(self._query), "item": names.item_column(self._items)}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write it as a truth with grade -1: pooled, not judged. The name's ending tells the format.

        .qrels (TREC), .csv, .tsv, .jsonl or .parquet.
        """
        rows = columns(**self._columns(), grade=np.full(len(self), POOLED, dtype=np.int8))
        write_side(rows, path, "truth", format)

    def answer(self) -> Answer:
        """What is printed: how many items each query has, and how they were found."""
        body = [[str(query), f"{count:,}"] for query, count in self.counts.items()]
        shown = body if len(body) <= 10 else [*body[:9], ["...", ""]]
        known = "" if self.judged is None else f"; {self.judged:,} more are judged already"
        note = (
            f"{len(self):,} items of {len(self.counts):,} queries to be judged: the first {self.depth:,} of "
            f"{', '.join(self.runs)}{known}; {FUSING['ties'].say('ties', self.ties)}"
        )
        return Answer([["query", "items"], *shown], notes=wrapped([note]), fixed=1)
