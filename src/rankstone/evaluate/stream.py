"""Runs that do not fit in memory: `Stream` sees batches of rows twice, `evaluate_file` goes through a large file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from rankstone.align.state import State
from rankstone.align.topk import deepest
from rankstone.align.two_passes import TwoPasses
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import DEFAULT_METRICS, Capabilities, Plan, alignments, check_supported, make_plans
from rankstone.data.arrow import as_numpy, as_text, is_whole, movable, plain_ids
from rankstone.data.columns import Columns, by_role, one_each
from rankstone.data.files import is_path, open_batches, read_truth, side_columns
from rankstone.data.lines import Batches
from rankstone.data.lists import from_sparse, is_sparse
from rankstone.data.roles import find_side, roles_of
from rankstone.data.source import Source
from rankstone.data.tables import as_columns, as_lists, empty_queries, has_empty
from rankstone.evaluate.measurement import evaluate_plans
from rankstone.evaluate.one_pass import one_pass
from rankstone.evaluate.partial import Resumable, identity, settings_of
from rankstone.evaluate.pipeline import depths_of, refuse_truthless
from rankstone.progress import Progress, watched
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside
    from rankstone.metrics.registry import Value
    from rankstone.typing import Column, Metrics, Path, Roles, Run, Stock, Truth, Weights

Rows: TypeAlias = "Run | Mapping[str, Column]"  # of a run: {"query": ["u1"], "item": ["a"], "score": [0.9]}

T = TypeVar("T")
_IDS = ("query", "item")
_ANY_ORDER = "a stream's rows come in any order"

BATCHES = Capabilities(  # of a file where each query's rows lie together
    extra_queries="only judged queries are kept",
    whole_lists="of a run in batches only the first places of each list are kept",
)
STREAM = replace(
    BATCHES,
    row_order=_ANY_ORDER,
    ties_order=_ANY_ORDER,
    together=_ANY_ORDER,
    otherwise="or evaluate the run in memory, or in a file where the rows of each query lie together",
)
ALONE = replace(STREAM, extra_queries="", otherwise="or evaluate a run in memory")  # without a truth


class Stream(Resumable):
    """Measures a run that does not fit in memory: two passes over its batches, in any order.

    The first pass finds the judged items, the second counts what stands before each. What is kept grows with the truth,
    never with the run. A batch is anything with a query, an item and a score column: a pyarrow, pandas or polars table,
    `rs.columns(...)` or a dict of arrays. Both passes must see the same rows; their order may differ.

    >>> batches = [
    ...     {"query": ["u1", "u2"], "item": ["a", "c"], "score": [0.9, 0.3]},
    ...     {"query": ["u2", "u1"], "item": ["d", "b"], "score": [0.8, 0.5]},
    ... ]
    >>> stream = rs.Stream({"u1": {"a": 1}, "u2": {"c": 1}}, ["rr"])
    >>> for batch in batches:
    ...     stream.find(batch)
    >>> for batch in batches:
    ...     stream.count(batch)
    >>> stream.compute()["rr"]
    0.75

    The work can be spread over processes and machines. A stream can be pickled; a copy goes on from where it was made.
    Each worker gets a copy of the empty stream and finds its share; the copies are merged, in any order. Then each gets
    a copy of the merged stream and counts its share; those are merged too:

        for part in pool.map(find_share, [(stream, share) for share in shares]):
            stream.merge(part)
        for part in pool.map(count_share, [(stream, share) for share in shares]):
            stream.merge(part)
        stream.compute()

    An item twice in one query is noticed if it is judged (`duplicates="error"`), or counts each time
    (`duplicates="count"`). A repeated item that nobody judged cannot be noticed: it takes a place for each of its rows.
    Ties can be broken by item (`item_desc`, `item_asc`), or be optimistic, pessimistic or expected; not by input order,
    as there is none. Threads of one process may share a stream: each batch is seen by all cores, one batch at a time.

    Metrics of what was shown, such as coverage@10, go with catalogue=, history= and reference=, as in `rs.evaluate`.
    They keep the first places of each list, so they need a cutoff. Without a truth, one pass is enough:

    >>> stream = rs.Stream(None, "coverage@1", catalogue=["a", "b", "c", "d"])
    >>> for batch in batches:
    ...     stream.find(batch)
    >>> stream.compute()["coverage@1"]
    0.5

    Then an item twice in one query is noticed only while both of its rows are among the first places; one that had left
    them is forgotten.
    """

    _what = "stream"

    def __init__(
        self,
        truth: Truth | None,
        metrics: Metrics = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        columns: Roles | None = None,
        catalogue: Stock | int | None = None,
        history: Truth | None = None,
        reference: Run | None = None,
        threads: int = 0,
        **choices: Value,
    ) -> None:
        self._begin(
            metrics, convention, choices, catalogue=catalogue, history=history, reference=reference, columns=columns,
            threads=threads,
        )  # fmt: skip
        plans = self.plans
        check_supported(plans, ALONE if truth is None else STREAM)
        self.threads = threads
        self._columns = columns
        refuse_truthless(plans, judged=truth is not None)
        judged = None if truth is None else _judged(truth, columns, plans)
        self._passes = TwoPasses(judged, (plan.align for plan in plans), deepest(depths_of(plans)))
        self._made["truth"] = judged
        self._identity = None if judged is None else _identity(judged)

    def _settings(self) -> dict[str, Any]:
        return {**settings_of(self.plans, self._beside), "truth": self._identity}

    # -- the two passes --------------------------------------------------------------------------------------

    def find(self, batch: Rows) -> None:
        """First pass: remember the score of each judged item."""
        self._passes.find(self._rows(batch), self.threads)

    def count(self, batch: Rows) -> None:
        """Second pass: count the rows that stand before each judged item."""
        self._passes.count(self._rows(batch), self.threads)

    def _rows(self, batch: Rows) -> Columns:
        rows = _returned(batch, self._columns)
        if rows.score is None:
            STREAM.refuse_no_scores("batch")
        return rows

    def compute(self, weights: Weights | None = None) -> Result:
        """What `rs.evaluate` would have said of the whole run."""
        found, counted = self._passes.seen()
        if found and not counted:
            raise ValueError("nothing was counted: go through the batches again with count(), then compute()")
        if found != counted:
            raise ValueError(f"find() saw {found:,} rows but count() {counted:,}; both must see every row once")
        choices = dict(self._choices)
        if weights is not None:
            choices.setdefault("averaging", "weighted")
        plans = make_plans([plan.metric for plan in self.plans], self._convention, choices)
        return evaluate_plans(self._passes, plans, self._convention, choices, weights, self.threads, self._beside)

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Stream) -> Stream:
        """Take in what another copy of this stream has found, or counted. Returns this one."""
        if not isinstance(other, Stream):
            raise TypeError(f"a stream merges with another stream, not with {type(other).__name__}")
        if other._settings() != self._settings():
            raise ValueError("the streams differ in their truth, metrics or choices; merge copies of one stream")
        self._passes.merge(other._passes)
        return self

    def reset(self) -> None:
        """Forget all rows."""
        self._passes.reset()

    def state_dict(self) -> dict[str, Any]:
        return {"settings": self._settings(), **self._passes.state()}

    def _load(self, state: State) -> None:
        self._passes.load(state)

    def __repr__(self) -> str:
        found, counted = self._passes.seen()
        rows = f"{found:,} rows found" + (f", {counted:,} counted" if counted else "")
        return f"Stream({', '.join(plan.label for plan in self.plans)}; {rows})"


# -- large files ---------------------------------------------------------------------------------------------


def evaluate_file(
    truth: Truth | None,
    path: Path,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Weights | None = None,
    columns: Roles | None = None,
    format: str | None = None,  # noqa: A002
    beside: Beside | None = None,
    threads: int = 0,
    **choices: Value,
) -> Result:
    """Measure a run in a file of any size, batch by batch.

    One pass is enough if each query's rows lie together in the file; if not, this is noticed and there are two, as
    `Stream` does them. Without a truth there is one in any case. path: a Parquet file, a folder or a pattern of them,
    CSV, TSV, JSON or TREC text.
    """
    if weights is not None:
        choices.setdefault("averaging", "weighted")
    named, plans = find_convention(convention), make_plans(metrics, convention, choices)
    check_supported(plans, ALONE if truth is None else BATCHES)
    batches = open_batches(path, columns=side_columns(columns, "run", path, [truth]), format=format)
    judged = None if truth is None else _judged(truth, side_columns(columns, "truth", truth, [path]), plans)
    with watched(f"measuring {os.fspath(path)}") as progress:
        reader = _Reader(batches, judged, plans, progress)
        source = reader.aligned(threads)
        return evaluate_plans(source, plans, named, choices, weights, threads, beside).remarked(reader.remarks)


class _Reader:
    """A run in batches, gone through in one pass or in two, with ids as strings where any of them are."""

    def __init__(self, batches: Batches, judged: Columns | None, plans: Sequence[Plan], progress: Progress) -> None:
        self._batches, self._plans, self._progress = batches, plans, progress
        self.judged, self.remarks = judged, dict[str, None]()
        self._text: set[str] = (
            set() if judged is None else {role for role in _IDS if not is_whole(getattr(judged, role))}
        )
        self._turned = False  # did ids turn out to be strings that had been whole numbers in this pass

    def aligned(self, threads: int) -> Source:
        """In one pass if each query's rows lie together, else in two; without a truth one is enough in any case."""
        depths, ways = deepest(depths_of(self._plans)), alignments(self._plans, threads)
        if self.judged is not None:
            grouped = self._pass(1, lambda truth, rows: one_pass(truth, rows, ways.values(), depths, threads))
            if grouped is not None:
                return grouped
            check_supported(self._plans, STREAM)

        def find(truth: Columns | None, batches: Iterable[Columns]) -> TwoPasses:
            passes = TwoPasses(truth, ways, depths)
            for rows in batches:
                if rows.score is None:
                    STREAM.refuse_no_scores("batch")
                passes.find(rows, threads)
            return passes

        if self.judged is None:
            return self._pass(1, find)
        passes = self._pass(2, find)
        for rows in self._rows(1, 2):
            passes.count(rows, threads)
        return passes

    def _pass(self, passes: int, go: Callable[[Any, Iterable[Columns]], T]) -> T:
        """The first of some passes, once more if ids turn out to be strings after it has begun."""
        while True:
            self._turned = False
            rows = self._rows(0, passes)
            begin = [*islice(rows, 1)]  # before the truth is indexed, which has ids of the same kind
            out = go(self.judged, chain(begin, rows))
            if not self._turned:
                return out

    def _rows(self, done: int, passes: int) -> Iterator[Columns]:
        """All batches, where rows without scores are in order; ends where ids turn out to be strings."""
        total, at, whole = self._batches.total, 0, set[str]()
        for rows, read in self._batches:
            _refuse_empty(self._plans, rows)
            self.remarks.update(dict.fromkeys(rows.remarks))
            for role in _IDS:
                ids = getattr(rows, role)
                if is_whole(ids) and role in self._text:
                    rows = replace(rows, **{role: as_text(ids)})
                elif is_whole(ids):
                    whole.add(role)
                elif role not in self._text:
                    self._text.add(role)
                    self._turned |= role in whole
                    if self.judged is not None:
                        self.judged = replace(self.judged, **{role: as_text(getattr(self.judged, role))})
            if self._turned:
                return
            if self.judged is None and rows.score is None:
                rows = replace(rows, score=-np.arange(at, at + len(rows.query), dtype=np.float64))
            at += len(rows.query)
            yield rows
            self._progress(done * total + read, passes * total)


def _refuse_empty(plans: Sequence[Plan], rows: Columns) -> None:
    """Rows of items cannot tell a query with an empty list from one that is missing, so the two must count the same."""
    missing = {plan.choices["missing"] for plan in plans} - {"zero"}
    if rows.empty is not None and missing:
        raise ValueError(
            f"query {plain_ids(rows.empty[:1])[0]!r} has an empty list, which a run in batches cannot tell from a "
            f"missing query; missing={missing.pop()!r} needs to: choose missing='zero'"
        )


# -- the user's data -------------------------------------------------------------------------------------------


def _judged(truth: Any, given: Roles | None, plans: Sequence[Plan]) -> Columns:
    if is_path(truth):
        truth, given = read_truth(truth, columns=roles_of(given, "truth") or None), None
    if is_sparse(truth):
        truth = from_sparse(truth)
    if has_empty(truth):
        query = plain_ids(empty_queries(as_lists(truth, "truth")))[0]
        raise ValueError(f"query {query!r} of the truth has no items, and batches are measured by items; leave it out")
    how = next(iter(alignments(plans).values()))
    found = one_each(as_columns(truth, "truth", given), how)
    query, item = (as_numpy(movable(column)) for column in (found.query, found.item))
    grade = None if found.grade is None else as_numpy(found.grade)
    return replace(found, query=query, item=item, grade=grade, iteration=None)


def _returned(batch: Rows, given: Roles | None) -> Columns:
    if isinstance(batch, Mapping) and not any(isinstance(column, Mapping) for column in batch.values()):
        found = find_side(list(batch), "run", roles_of(given, "run"), what="batch")
        return by_role({role: cast("Column", batch[name]) for role, name in found.items()})
    return as_columns(batch, "run", given)


def _identity(truth: Columns) -> str:
    """What the truth is, in a few letters."""
    grades = np.ones(len(truth.query)) if truth.grade is None else np.asarray(truth.grade, dtype=np.float64)
    notes = [np.asarray(part) for part in (truth.weight, *(truth.rows or ())) if part is not None]
    return identity(truth.query, truth.item, numbers=[grades, *notes])
