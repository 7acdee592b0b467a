"""`pool`: the items of several runs to judge (depth-k pooling)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.atomic import encodable
from rankstone.data.columns import columns
from rankstone.data.dicts import plain_dict
from rankstone.data.lists import Lists
from rankstone.data.loaders import is_file, opened
from rankstone.data.tables import Side, as_columns
from rankstone.errors import InputError
from rankstone.fusion.fusion_choices import FUSION_CHOICES, TieOrder, checked
from rankstone.fusion.merge import POOLED, LoadedRuns, MergedRuns, by_id, merge_runs, open_runs
from rankstone.results.answer import Answer, Readable, wrapped
from rankstone.results.export import write_side

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Ints
    from rankstone.data.files import Path
    from rankstone.typing import ColumnRoles, Run, Truth

_TRUTH = "truth"


def pool(
    runs: Mapping[str, Run] | Iterable[Run],
    depth: int,
    truth: Truth | None = None,
    *,
    ties: TieOrder = "item_desc",
    columns: ColumnRoles | None = None,
) -> Pool:
    """Pool the items to judge: per query the first `depth` items of each run, without those already judged.

    Parameters
    ----------
    runs : mapping of str to run, or iterable of runs
        The runs, as for `rs.fuse`.
    depth : int
        Pool depth: number of items per list.
    truth : truth, optional
        Existing judgements, in any form that `rs.evaluate` takes; judged items are left out.
    ties : {"item_desc", "item_asc", "input", "reverse_input"}, default "item_desc"
        Tie-breaking of equal scores.
    columns : mapping, optional
        Column names by role, as for `rs.evaluate`.

    Returns
    -------
    Pool
        The items to judge; `pool.write("pool.qrels")` writes a file for the assessors.

    Examples
    --------
    >>> rs.pool([{"q": ["a", "b"]}, {"q": ["c", "a"]}], 1, truth={"q": {"c": 0}}).to_dict()
    {'q': ['a']}
    """
    depth, ties = checked("depth", depth), checked("ties", ties)
    if depth is None:
        raise InputError("depth=None; pass a whole number from 1")
    loaded = open_runs(runs, columns)
    names = tuple(loaded.sides)
    if truth is None:
        return _pool_of(merge_runs(loaded, ties).first(depth), names, depth, ties, None)
    truth_items = _judged(opened(truth, "truth", columns))
    label = next(name for name in (_TRUTH, *(f"{_TRUTH} {at}" for at in range(len(names) + 1))) if name not in names)
    whole = LoadedRuns({**loaded.sides, label: truth_items}, loaded.of_files or is_file(truth))
    merged = merge_runs(whole, ties)
    theirs = merged.list_run == len(names)
    judged_items = np.zeros(len(merged.query), dtype=bool)
    judged_items[merged.item[merged.by_row(theirs)]] = True
    merged = replace(merged, present=merged.present[:-1])
    return _pool_of(merged.lists(~theirs).first(depth), names, depth, ties, judged_items)


def _judged(truth: Side) -> Side:
    """The judged items, whatever their grades."""
    if isinstance(truth, Mapping):
        return {query: list(items) for query, items in plain_dict(truth, "truth").items()}
    if isinstance(truth, Lists):
        return replace(truth, values=None)
    rows = as_columns(truth, "truth")
    return columns(query=rows.query, item=rows.item)


def _pool_of(merged: MergedRuns, names: tuple[str, ...], depth: int, ties: str, judged_items: Bools | None) -> Pool:
    pooled = np.bincount(merged.item, minlength=len(merged.query)) > 0
    fresh = pooled if judged_items is None else pooled & ~judged_items
    judged = None if judged_items is None else int((pooled & judged_items).sum())
    return Pool(merged, np.flatnonzero(fresh), names, depth, ties, judged)


class Pool(Readable):
    """Items to judge per query, sorted by id, so that assessors do not see which run returned them.

    Attributes
    ----------
    runs : tuple of str
        Names of the runs.
    depth : int
        Pool depth.
    ties : str
        Tie-breaking rule.
    judged : int or None
        Number of pooled items that are already judged; None without a truth.

    Examples
    --------
    >>> pool = rs.pool({"bm25": {"q": ["a", "b"]}, "dense": {"q": ["c", "a"]}}, 2)
    >>> len(pool), pool.counts
    (3, {'q': 3})
    """

    def __init__(
        self, merged: MergedRuns, items: Ints, runs: tuple[str, ...], depth: int, ties: str, judged: int | None
    ) -> None:
        self._merged, self.runs, self.depth, self.ties, self.judged = merged, runs, depth, ties, judged
        items = items[np.argsort(merged.query[items], kind="stable")]
        self._query = merged.query[items]
        with suppress(TypeError):  # ids that cannot be compared stay in input order
            sizes = np.bincount(self._query)
            items = items[by_id(merged.names.item_column(items), np.append(0, np.cumsum(sizes)))]
        self._items = items

    @cached_property
    def counts(self) -> dict[Any, int]:
        """Number of items to judge per query, including queries with none."""
        present = np.flatnonzero(self._merged.present.any(axis=0))
        sizes = np.bincount(self._query, minlength=self._merged.present.shape[1])[present]
        return dict(zip(self._merged.names.queries(present), sizes.tolist(), strict=True))

    def __len__(self) -> int:
        """Number of items to judge."""
        return len(self._items)

    def to_dict(self) -> dict[Any, list[Any]]:
        """The items as `{query: [item, ...]}`."""
        out: dict[Any, list[Any]] = {query: [] for query in self.counts}
        for query, item in zip(
            self._merged.names.queries(self._query), self._merged.names.items(self._items), strict=True
        ):
            out[query].append(item)
        return out

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = self._merged.names
        return {"query": names.query_column(self._query), "item": names.item_column(self._items)}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the pool as a truth with grade -1: pooled, not judged.

        Parameters
        ----------
        path : path
            File to write; "-" is standard output.
        format : str, optional
            Format: "trec", "csv", "tsv", "jsonl" or "parquet". By default by file extension: .qrels (TREC), .csv, .tsv,
            .jsonl or .parquet.
        """
        with encodable(path):
            rows = columns(**self._columns(), grade=np.full(len(self), POOLED, dtype=np.int8))
            write_side(rows, path, "truth", format)

    def _answer(self) -> Answer:
        """Number of items per query, and how they were pooled."""
        body = [[str(query), f"{count:,}"] for query, count in self.counts.items()]
        rows = body if len(body) <= 10 else [*body[:9], ["...", ""]]
        already = "" if self.judged is None else f"; {self.judged:,} more are already judged"
        note = (
            f"{len(self):,} items of {len(self.counts):,} queries to judge: the first {self.depth:,} of "
            f"{', '.join(self.runs)}{already}; {FUSION_CHOICES['ties'].describe('ties', self.ties)}"
        )
        return Answer([["query", "items"], *rows], notes=wrapped([note]), fixed=1)
