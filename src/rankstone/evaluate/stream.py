"""Runs that do not fit in memory: `Stream` reads batches in two passes, `evaluate_file` reads a large file."""

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
from rankstone.data.columns import Columns, by_role, grades_of, one_each
from rankstone.data.files import is_path, open_batches, read_truth, side_columns
from rankstone.data.lines import Batches
from rankstone.data.lists import from_sparse, is_sparse
from rankstone.data.roles import find_side, roles_of
from rankstone.data.source import Source
from rankstone.data.tables import as_columns, as_lists, empty_queries, has_empty
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.measurement import evaluate_plans
from rankstone.evaluate.one_pass import one_pass
from rankstone.evaluate.partial import Resumable, identity, settings_of
from rankstone.evaluate.pipeline import depths_of, require_truth
from rankstone.progress import Progress, watched
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.data.side_info import SideInfo
    from rankstone.metrics.registry import Value
    from rankstone.typing import CatalogueLike, Column, ColumnRoles, Metrics, Path, Run, Truth, Weights

Rows: TypeAlias = "Run | Mapping[str, Column]"  # of a run, such as {"query": ["u1"], "item": ["a"], "score": [0.9]}

T = TypeVar("T")
_IDS = ("query", "item")
_ANY_ORDER = "the rows of a stream have no order"

BATCHES = Capabilities(  # of a file where the rows of each query are contiguous
    extra_queries="only judged queries are kept",
    whole_lists="of a run in batches only the first ranks of each list are kept",
)
STREAM = replace(
    BATCHES,
    row_order=_ANY_ORDER,
    ties_order=_ANY_ORDER,
    together=_ANY_ORDER,
    otherwise="or evaluate the run in memory, or in a file where the rows of each query are contiguous",
)
ALONE = replace(STREAM, extra_queries="", otherwise="or evaluate a run in memory")  # without a truth


class Stream(Resumable):
    """Evaluates a run that does not fit in memory, in two passes over its batches, in any order.

    The first pass reads the scores of the judged items, the second counts the rows that are ranked above each of them.
    Memory grows with the truth, not with the run. A batch has a query, an item and a score column: a pyarrow, pandas or
    polars table, `rs.columns(...)` or a dict of arrays. Both passes must read the same rows, in any order.

    The work can be spread over processes and machines. A stream can be pickled. Each worker gets a copy of the empty
    stream for the first pass over its batches; the copies are merged, in any order. Then each gets a copy of the merged
    stream for the second pass, and these are merged too:

        for part in pool.map(first_pass_of, [(stream, paths) for paths in parts]):
            stream.merge(part)
        for part in pool.map(second_pass_of, [(stream, paths) for paths in parts]):
            stream.merge(part)
        stream.compute()

    A repeated item in a query is detected if it is judged (`duplicates="error"`), or counts each time
    (`duplicates="count"`). Repeated unjudged items are not detected: each row takes a rank. Ties can be broken by item
    (`item_desc`, `item_asc`), or be optimistic, pessimistic or expected; not by input order, which is not defined.
    Threads of one process may share a stream.

    Parameters
    ----------
    truth : truth-like or None
        The judged items of each query, as in `rs.evaluate`. None for beyond-accuracy metrics without a truth.
    metrics : str, Metric or list of these, optional
        Metrics, as in `rs.evaluate`.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    columns : dict, optional
        Columns of the tables by role, as in `rs.evaluate`.
    catalogue : ids, table, catalogue or int, optional
        All items, or their number, for metrics that need them.
    history : truth-like, optional
        Earlier interactions per query, for metrics that need them.
    reference : run-like, optional
        Other lists of the same queries, for metrics that need them.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, such as `threshold=2`; see `rs.choices`.

    Examples
    --------
    >>> batches = [
    ...     {"query": ["u1", "u2"], "item": ["a", "c"], "score": [0.9, 0.3]},
    ...     {"query": ["u2", "u1"], "item": ["d", "b"], "score": [0.8, 0.5]},
    ... ]
    >>> stream = rs.Stream({"u1": {"a": 1}, "u2": {"c": 1}}, ["rr"])
    >>> for batch in batches:
    ...     stream.first_pass(batch)
    >>> for batch in batches:
    ...     stream.second_pass(batch)
    >>> stream.compute()["rr"]
    0.75

    Beyond-accuracy metrics keep the first ranks of each list, so they need a cutoff. Without a truth, one pass is
    enough. A repeated item is then detected only while both of its rows are among the first ranks.

    >>> stream = rs.Stream(None, "coverage@1", catalogue=["a", "b", "c", "d"])
    >>> for batch in batches:
    ...     stream.first_pass(batch)
    >>> stream.compute()["coverage@1"]
    0.5
    """

    _what = "stream"

    def __init__(
        self,
        truth: Truth | None,
        metrics: Metrics = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        columns: ColumnRoles | None = None,
        catalogue: CatalogueLike | int | None = None,
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
        require_truth(plans, judged=truth is not None)
        judged = None if truth is None else _judged(truth, columns, plans)
        self._passes = TwoPasses(judged, (plan.align for plan in plans), deepest(depths_of(plans)))
        self._arguments["truth"] = judged
        self._identity = None if judged is None else _identity(judged)

    def _settings(self) -> dict[str, Any]:
        return {**settings_of(self.plans, self._side_info), "truth": self._identity}

    # -- the two passes --------------------------------------------------------------------------------------

    def first_pass(self, batch: Rows) -> None:
        """First pass: read the score of each judged item.

        Parameters
        ----------
        batch : table, columns or dict of arrays
            Rows with a query, an item and a score.
        """
        self._passes.find(self._rows(batch), self.threads)

    def second_pass(self, batch: Rows) -> None:
        """Second pass, after the first pass over all batches: count the rows ranked above each judged item.

        Parameters
        ----------
        batch : table, columns or dict of arrays
            Rows with a query, an item and a score.
        """
        self._passes.count(self._rows(batch), self.threads)

    def _rows(self, batch: Rows) -> Columns:
        rows = _returned(batch, self._columns)
        if rows.score is None:
            STREAM.require_scores("batch")
        return rows

    def compute(self, weights: Weights | None = None) -> Result:
        """The result of the whole run, as `rs.evaluate` would return it.

        Parameters
        ----------
        weights : dict or array, optional
            One weight per query, by query id or in the order of the truth; implies averaging="weighted".

        Returns
        -------
        Result

        Raises
        ------
        ValueError
            If the two passes did not read the same number of rows.
        """
        first, second = self._passes.seen()
        if first and not second:
            raise InputError("the second pass is missing: pass the batches to second_pass(), then compute()")
        if first != second:
            raise InputError(
                f"first_pass() read {first:,} rows but second_pass() {second:,}; both must read every row once"
            )
        choices = dict(self._choices)
        if weights is not None:
            choices.setdefault("averaging", "weighted")
        plans = make_plans([plan.metric for plan in self.plans], self._convention, choices)
        return evaluate_plans(self._passes, plans, self._convention, choices, weights, self.threads, self._side_info)

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Stream) -> Stream:
        """Add the rows that another copy of this stream has read.

        Parameters
        ----------
        other : Stream
            A copy of this stream, after the first or the second pass over other rows.

        Returns
        -------
        Stream
            This one.
        """
        if not isinstance(other, Stream):
            raise InputTypeError(f"a stream merges with another stream, not with {type(other).__name__}")
        if other._settings() != self._settings():
            raise InputError("the streams differ in their truth, metrics or choices; merge copies of one stream")
        self._passes.merge(other._passes)
        return self

    def reset(self) -> None:
        """Discard all rows."""
        self._passes.reset()

    def _state(self) -> dict[str, Any]:
        return self._passes.state()

    def _load(self, state: State) -> None:
        self._passes.load(state)

    def __repr__(self) -> str:
        first, second = self._passes.seen()
        rows = f"{first:,} rows in the first pass" + (f", {second:,} in the second" if second else "")
        return f"Stream({', '.join(plan.label for plan in self.plans)}; {rows})"


# -- large files ---------------------------------------------------------------------------------------------


def evaluate_file(
    truth: Truth | None,
    path: Path,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Weights | None = None,
    columns: ColumnRoles | None = None,
    format: str | None = None,  # noqa: A002
    side_info: SideInfo | None = None,
    threads: int = 0,
    **choices: Value,
) -> Result:
    """Evaluate a run in a file of any size, in batches.

    One pass is enough if the rows of each query are contiguous in the file; otherwise there are two, as in `Stream`.
    Without a truth there is always one. path: a Parquet file, a folder or a pattern of them, CSV, TSV, JSON or TREC
    text.
    """
    if weights is not None:
        choices.setdefault("averaging", "weighted")
    named, plans = find_convention(convention), make_plans(metrics, convention, choices)
    check_supported(plans, ALONE if truth is None else BATCHES)
    batches = open_batches(path, columns=side_columns(columns, "run", path, [truth]), format=format)
    judged = None if truth is None else _judged(truth, side_columns(columns, "truth", truth, [path]), plans)
    with watched(f"evaluating {os.fspath(path)}") as progress:
        reader = _Reader(batches, judged, plans, progress)
        source = reader.aligned(threads)
        return evaluate_plans(source, plans, named, choices, weights, threads, side_info)._with_notes(reader.notes)


class _Reader:
    """A run in batches, read in one pass or in two, with ids as strings where any of them are."""

    def __init__(self, batches: Batches, judged: Columns | None, plans: Sequence[Plan], progress: Progress) -> None:
        self._batches, self._plans, self._progress = batches, plans, progress
        self.judged, self.notes = judged, dict[str, None]()
        self._text: set[str] = (
            set() if judged is None else {role for role in _IDS if not is_whole(getattr(judged, role))}
        )
        self._turned = False  # whether strings follow whole numbers among the ids of this pass

    def aligned(self, threads: int) -> Source:
        """In one pass if the rows of each query are contiguous, else in two; without a truth always in one."""
        depths, options = deepest(depths_of(self._plans)), alignments(self._plans, threads)
        if self.judged is not None:
            grouped = self._pass(1, lambda truth, rows: one_pass(truth, rows, options.values(), depths, threads))
            if grouped is not None:
                return grouped
            check_supported(self._plans, STREAM)

        def find(truth: Columns | None, batches: Iterable[Columns]) -> TwoPasses:
            passes = TwoPasses(truth, options, depths)
            for rows in batches:
                if rows.score is None:
                    STREAM.require_scores("batch")
                passes.find(rows, threads)
            return passes

        if self.judged is None:
            return self._pass(1, find)
        passes = self._pass(2, find)
        for rows in self._rows(1, 2):
            passes.count(rows, threads)
        return passes

    def _pass(self, passes: int, go: Callable[[Any, Iterable[Columns]], T]) -> T:
        """The first of `passes` passes, repeated if strings follow whole numbers among the ids."""
        while True:
            self._turned = False
            rows = self._rows(0, passes)
            begin = [*islice(rows, 1)]  # before the truth is indexed, which has ids of the same kind
            out = go(self.judged, chain(begin, rows))
            if not self._turned:
                return out

    def _rows(self, done: int, passes: int) -> Iterator[Columns]:
        """All batches, rows without scores in order; stops where strings follow whole numbers among the ids."""
        total, at, whole = self._batches.total, 0, set[str]()
        for rows, read in self._batches:
            _check_empty(self._plans, rows)
            self.notes.update(dict.fromkeys(rows.notes))
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


def _check_empty(plans: Sequence[Plan], rows: Columns) -> None:
    """Raise at empty lists where these differ from missing queries, since rows of items have neither."""
    missing = {plan.choices["missing"] for plan in plans} - {"zero"}
    if rows.empty is not None and missing:
        raise InputError(
            f"query {plain_ids(rows.empty[:1])[0]!r} has an empty list, which a run in batches cannot distinguish "
            f"from a missing query; missing={missing.pop()!r} needs that: choose missing='zero'"
        )


# -- the user's data -------------------------------------------------------------------------------------------


def _judged(truth: Any, columns: ColumnRoles | None, plans: Sequence[Plan]) -> Columns:
    if is_path(truth):
        truth, columns = read_truth(truth, columns=roles_of(columns, "truth") or None), None
    if is_sparse(truth):
        truth = from_sparse(truth)
    if has_empty(truth):
        query = plain_ids(empty_queries(as_lists(truth, "truth")))[0]
        raise InputError(f"query {query!r} of the truth has no items, which streams do not support; remove it")
    options = next(iter(alignments(plans).values()))
    rows = one_each(as_columns(truth, "truth", columns), options)
    query, item = (as_numpy(movable(column)) for column in (rows.query, rows.item))
    grade = None if rows.grade is None else as_numpy(rows.grade)
    return replace(rows, query=query, item=item, grade=grade, iteration=None)


def _returned(batch: Rows, columns: ColumnRoles | None) -> Columns:
    if isinstance(batch, Mapping) and not any(isinstance(column, Mapping) for column in batch.values()):
        roles = find_side(list(batch), "run", roles_of(columns, "run"), what="batch")
        return by_role({role: cast("Column", batch[name]) for role, name in roles.items()})
    return as_columns(batch, "run", columns)


def _identity(truth: Columns) -> str:
    """A digest of the truth."""
    annotations = [np.asarray(part) for part in (truth.weight, *(truth.rows or ())) if part is not None]
    return identity(truth.query, truth.item, numbers=[grades_of(truth), *annotations])
