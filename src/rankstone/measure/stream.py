"""Runs that do not fit in memory: `Stream` sees batches of rows twice, `evaluate_file` goes through a large file."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.align.extra import Extra, aligned_with, bounded, more_extra
from rankstone.align.grouped import movable, one_pass
from rankstone.answers.result import Result
from rankstone.conventions.convention import Convention, conventions
from rankstone.conventions.convention import convention as find_convention
from rankstone.conventions.plan import DEFAULT_METRICS, Plan, alignments, make_plans
from rankstone.errors import DataError
from rankstone.inputs.batches import Batches, open_batches
from rankstone.inputs.columns import Columns, as_column, columns, find_name, plain_ids
from rankstone.inputs.files import is_path, read_truth
from rankstone.inputs.source import Align, Aligned, ranked_from
from rankstone.inputs.sparse import from_sparse, is_sparse
from rankstone.inputs.tables import as_columns, roles_of
from rankstone.measure.evaluate import evaluate_source
from rankstone.metrics.registry import Metric

Progress = Callable[[int, int], None]

_ANY_ORDER = "a stream's rows come in any order"


class Stream:
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
    >>> stream.result()["rr"]
    0.75

    The work can be spread over processes and machines. A stream can be pickled; a copy goes on from where it was made.
    Each worker gets a copy of the empty stream and finds its share; the copies are merged, in any order. Then each gets
    a copy of the merged stream and counts its share; those are merged too:

        for part in pool.map(find_share, [(stream, share) for share in shares]):
            stream.merge(part)
        for part in pool.map(count_share, [(stream, share) for share in shares]):
            stream.merge(part)
        stream.result()

    An item twice in one query is noticed if it is judged (`duplicates="error"`), or counts each time
    (`duplicates="count"`). A repeated item that nobody judged cannot be noticed: it takes a place for each of its rows.
    Ties can be broken by item (`item_desc`, `item_asc`), or be optimistic, pessimistic or expected; not by input order,
    as there is none.
    """

    def __init__(
        self,
        truth: Any,
        metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        columns: Mapping[str, Any] | None = None,
        threads: int = 0,
        **choices: Any,
    ) -> None:
        asked = (metrics,) if isinstance(metrics, (str, Metric)) else tuple(metrics)
        plans = make_plans(asked, convention, choices)
        for one in plans:
            _refuse(one)
        self.threads = threads
        self._columns = columns
        self._choices = choices
        self._convention = find_convention(convention)
        self._metrics = tuple(one.metric for one in plans)
        self._truth = _judged(truth, columns)
        self._open(plans)
        # Which shares of the work are in here. Each object's has its own mark, so that none is added twice.
        self._found: set[str] = set()
        self._counted: set[str] = set()
        self._mark = uuid.uuid4().hex
        self._counting = False
        self._extra: Extra = set()  # queries that nobody judged

    def _open(self, plans: Sequence[Plan]) -> None:
        if len(self._truth.query) == 0:
            raise ValueError("the truth has no rows")
        self._cores = {
            how: _core.Stream(self._truth.query, self._truth.item, self._truth.grade, how)
            for how in dict.fromkeys(_counted_by(one.align) for one in plans)
        }
        self._identity = _identity(self._truth, self._metrics, self._convention, self._choices)

    # -- the two passes --------------------------------------------------------------------------------------

    def find(self, batch: Any) -> None:
        """First pass: remember the score of each judged item."""
        if self._counting:
            raise ValueError("find() after count(): the counts rest on all finds; find in every batch first")
        rows = self._rows(batch)
        self._found.add(self._mark)
        for core in self._cores.values():
            extra = core.find(rows.query, rows.item, rows.score, self.threads)
        self._extra = more_extra(self._extra, rows.query, extra)

    def count(self, batch: Any) -> None:
        """Second pass: count the rows that stand before each judged item."""
        rows = self._rows(batch)
        if not self._found and len(rows.query):
            raise ValueError("count() before find(): find in every batch first, then go through them again to count")
        self._counting = True
        self._counted.add(self._mark)
        for core in self._cores.values():
            core.count(rows.query, rows.item, rows.score, self.threads)

    def _rows(self, batch: Any) -> Columns:
        rows = _returned(batch, self._columns)
        if rows.score is None:
            raise ValueError(f"the batch has no score column; {_ANY_ORDER}, so only scores can rank them")
        return rows

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: Stream) -> Stream:
        """Take in what another copy of this stream has found, or counted. Returns this one."""
        if not isinstance(other, Stream):
            raise TypeError(f"a stream merges with another stream, not with {type(other).__name__}")
        if other._identity != self._identity:
            raise ValueError("the streams differ in their truth, metrics or choices; merge copies of one stream")
        if self._counting or other._counting:
            self._merge_counts(other)
        elif self._found & other._found:
            if other is not self and self._found == other._found and self._finds() == other._finds():
                return self  # a copy without anything new
            raise ValueError(
                "both streams hold the same finds, which would count twice: one was merged already, or copied after "
                "find() had begun; give each worker a copy of a stream that has found nothing"
            )
        else:
            self._merge_finds(other)
        return self

    def _merge_finds(self, other: Stream) -> None:
        for how, core in self._cores.items():
            core.finds = self._united(how, core, other._cores[how])
        self._found |= other._found
        self._extra = None if self._extra is None or other._extra is None else bounded(self._extra | other._extra)

    def _united(self, how: Align, core: Any, other: Any) -> Any:
        scores, retrieved, again, again_scores, rows, unjudged = core.finds
        more = other.finds
        both = np.flatnonzero(~np.isnan(scores) & ~np.isnan(more[0]))
        if len(both) and how.duplicates == "error":
            row = core.truth()[0][both[:1]]
            query, item = plain_ids(self._truth.query, row)[0], plain_ids(self._truth.item, row)[0]
            raise DataError(f"query {query!r}: item {item!r} appears twice in the run", "twice", "run", query, item)
        return (
            np.where(np.isnan(scores), more[0], scores),
            retrieved + more[1],
            np.concatenate((again, more[2], both)),
            np.concatenate((again_scores, more[3], more[0][both])),
            rows + more[4],
            unjudged + more[5],
        )

    def _merge_counts(self, other: Stream) -> None:
        if self._finds() != other._finds():
            raise ValueError(
                "the streams have not found the same: merge all finds first, then give each worker a copy of the "
                "merged stream to count with"
            )
        if self._counted & other._counted:
            raise ValueError(
                "both streams hold the same counts, which would count twice: one was merged already, or copied after "
                "count() had begun; give each worker a copy of a stream that has counted nothing"
            )
        for how, core in self._cores.items():
            if not other._counted:
                continue
            levels, before, rows = other._cores[how].counts
            if self._counted:
                mine = core.counts
                levels, before, rows = mine[0] + levels, mine[1] + before, mine[2] + rows
            core.counts = (levels, before, rows)
        self._counting = True
        self._counted |= other._counted

    def _finds(self) -> bytes:
        """What the finds are, in a few bytes; the same whatever the order in which they came."""
        digest = hashlib.blake2b(digest_size=16)
        for core in self._cores.values():
            scores, retrieved, again, again_scores, rows, unjudged = core.finds
            found = np.flatnonzero(~np.isnan(scores))
            item, score = np.concatenate((found, again)), np.concatenate((scores[found], again_scores))
            order = np.lexsort((score, item))
            for part in (item[order], score[order], retrieved, np.array([rows, unjudged])):
                digest.update(part.tobytes())
        return digest.digest()

    def __getstate__(self) -> dict[str, Any]:
        own = self._convention
        preset = conventions().get(own.name) is own
        convention = own.name if preset else (own.name, own.summary, dict(own.choices))
        return {
            "truth": (self._truth.query, self._truth.item, self._truth.grade),
            "metrics": [str(one) for one in self._metrics],
            "convention": convention,
            "choices": self._choices,
            "columns": self._columns,
            "threads": self.threads,
            "finds": [core.finds for core in self._cores.values()],
            "counts": [core.counts for core in self._cores.values()] if self._counted else None,
            "found": sorted(self._found),
            "counted": sorted(self._counted),
            "counting": self._counting,
            "extra": self._extra,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        named = state["convention"]
        if not isinstance(named, str):
            named = Convention(named[0], named[1], MappingProxyType(named[2]))
        query, item, grade = state["truth"]
        self.__init__(  # type: ignore[misc]
            Columns(query, item, grade), state["metrics"], convention=named, columns=state["columns"],
            threads=state["threads"], **state["choices"],
        )  # fmt: skip
        for at, core in enumerate(self._cores.values()):
            core.finds = state["finds"][at]
            if state["counts"] is not None:
                core.counts = state["counts"][at]
        self._found, self._counted = set(state["found"]), set(state["counted"])
        self._counting, self._extra = state["counting"], None if state["extra"] is None else set(state["extra"])

    # -- the result ------------------------------------------------------------------------------------------

    def result(self, weights: Any = None) -> Result:
        """What `rs.evaluate` would have said of the whole run."""
        core = next(iter(self._cores.values()))
        found, counted = core.finds[4], core.counts[2] if self._counted else 0
        if found and not counted:
            raise ValueError("nothing was counted: go through the batches again with count(), then ask for the result")
        if found != counted:
            raise ValueError(f"find() saw {found:,} rows but count() {counted:,}; both must see every row once")
        choices = dict(self._choices)
        if weights is not None:
            choices.setdefault("averaging", "weighted")
        return evaluate_source(self, self._metrics, self._convention, weights, self.threads, choices)

    repeatable = False

    def align(self, how: Align) -> Aligned:
        """Ranks of the judged items, as `evaluate` asks for them."""
        # Where the order is "input", only the counts of ties are read.
        read = replace(how, order="item_desc") if how.order == "input" else how
        found = self._cores[_counted_by(how)].result(read)
        return aligned_with(
            ranked_from(found), found.dropped, lambda: plain_ids(self._truth.query, found.queries), self._extra
        )

    def __repr__(self) -> str:
        core = next(iter(self._cores.values()))
        rows = f"{core.finds[4]:,} rows found" + (f", {core.counts[2]:,} counted" if self._counted else "")
        return f"Stream({', '.join(map(str, self._metrics))}; {rows})"


# -- large files ---------------------------------------------------------------------------------------------


def evaluate_file(
    truth: Any,
    path: Any,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Any = None,
    columns: Mapping[str, Any] | None = None,
    format: str | None = None,  # noqa: A002
    threads: int = 0,
    progress: Progress | None = None,
    **choices: Any,
) -> Result:
    """Measure a run in a file of any size, batch by batch.

    One pass is enough if each query's rows lie together in the file; if not, this is noticed and there are two, as
    `Stream` does them. path: a Parquet file, a folder or a pattern of them, CSV, TSV, JSON lines or TREC text.
    progress: called with how much is done and how much there is in all, in rows or bytes.
    """
    if weights is not None:
        choices.setdefault("averaging", "weighted")
    plans = make_plans(metrics, convention, choices)
    _refuse_extra(plans)
    batches = open_batches(path, columns=roles_of(columns, "run") or None, format=format)
    judged = _judged(truth, roles_of(columns, "truth") or None)
    asked = (plans, metrics, convention, weights, threads, choices)
    as_text: frozenset[str] = frozenset()
    while True:
        try:
            return _evaluate(judged, batches, as_text, progress, *asked)
        except _IsText as found:  # noqa: PERF203  once more, with ids as the strings that they are
            as_text |= {found.role}


class _IsText(Exception):  # noqa: N818  nothing is wrong
    """A batch has strings for ids that have been whole numbers so far."""

    def __init__(self, role: str) -> None:
        self.role = role


def _evaluate(
    judged: Columns,
    batches: Batches,
    as_text: frozenset[str],
    progress: Progress | None,
    plans: Sequence[Plan],
    metrics: Any,
    convention: str | Convention,
    weights: Any,
    threads: int,
    choices: dict[str, Any],
) -> Result:
    judged = replace(judged, **{role: _text(getattr(judged, role)) for role in as_text})

    def go(passed: int, passes: int) -> Iterator[Columns]:
        for rows, done in batches:
            yield _like(judged, rows)
            if progress is not None:
                progress(passed * batches.total + done, passes * batches.total)

    grouped = one_pass(judged, go(0, 1), alignments(plans, threads).values(), threads)
    if grouped is not None:
        return evaluate_source(grouped, metrics, convention, weights, threads, choices)
    stream = Stream(judged, metrics, convention=convention, threads=threads, **choices)
    for rows in go(0, 2):
        stream.find(rows)
    for rows in go(1, 2):
        stream.count(rows)
    return stream.result(weights)


def _like(judged: Columns, rows: Columns) -> Columns:
    """The rows with ids as strings where the truth's are."""
    changed = {}
    for role in ("query", "item"):
        ours, theirs = _is_text(getattr(judged, role)), _is_text(getattr(rows, role))
        if theirs and not ours:
            raise _IsText(role)
        if ours and not theirs:
            changed[role] = _text(getattr(rows, role))
    return replace(rows, **changed) if changed else rows


def _is_text(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return False
    import pyarrow
    from pyarrow import types

    kind = pyarrow.array(column).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return not types.is_integer(kind)


def _text(column: Any) -> Any:
    import pyarrow

    found = pyarrow.array(column)
    if pyarrow.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    return found if _is_text(found) else found.cast(pyarrow.string())


# -- the user's data -------------------------------------------------------------------------------------------


def _judged(truth: Any, given: Mapping[str, Any] | None) -> Columns:
    if is_path(truth):
        return read_truth(truth, columns=roles_of(given, "truth") or None)
    if is_sparse(truth):
        truth = from_sparse(truth)
    found = as_columns(truth, "truth", given)
    return Columns(movable(found.query), movable(found.item), found.grade)


def _returned(batch: Any, given: Mapping[str, Any] | None) -> Columns:
    if isinstance(batch, Mapping) and not any(isinstance(one, Mapping) for one in batch.values()):
        return _from_arrays(batch, roles_of(given, "run"))
    return as_columns(batch, "run", given)


def _from_arrays(batch: Mapping[str, Any], given: Mapping[str, Any]) -> Columns:
    names = list(batch)

    def find(role: str, needed: bool) -> Any:
        advice = f"name it: columns={{{role!r}: ...}}"
        name = given.get(role) or find_name(names, role, "batch", needed=needed, otherwise=advice)
        if name is not None and name not in batch:
            raise ValueError(f"the batch has no column {name!r}; it has {', '.join(map(repr, names))}")
        return None if name is None else batch[name]

    query, item = find("query", True), find("item", True)
    score = None if "rank" in given else find("score", False)
    if score is None:
        rank = find("rank", False)
        score = None if rank is None else -np.asarray(as_column("rank", rank), dtype=np.float64)
    return columns(query=query, item=item, score=score)


# -- small things ----------------------------------------------------------------------------------------------


def _counted_by(how: Align) -> Align:
    """What of it changes what has to be counted; the rest only changes how counts are read."""
    return Align(float32=how.float32, duplicates=how.duplicates, truth_duplicates=how.truth_duplicates)


def _refuse(one: Plan) -> None:
    """Stop at choices that need more than two passes over rows in any order can know."""
    _refuse_extra([one])
    ties, duplicates = one.choices["ties"], one.choices["duplicates"]
    if ties in ("input", "reverse_input"):
        raise ValueError(
            f"{one.metric}: ties={ties!r} has no meaning here, as {_ANY_ORDER}; choose item_desc, item_asc, "
            "optimistic, pessimistic or expected, or use a file where the rows of each query lie together"
        )
    if duplicates not in ("error", "count"):
        raise ValueError(
            f"{one.metric}: duplicates={duplicates!r} needs the rows of a query together, but {_ANY_ORDER}; choose "
            "error or count, or use a file where the rows of each query lie together"
        )


def _refuse_extra(plans: Sequence[Plan]) -> None:
    for one in plans:
        if one.choices["extra"] == "zero":
            raise ValueError(f"{one.metric}: extra='zero' keeps every query of the run in memory; choose skip or error")


def _identity(truth: Columns, metrics: Sequence[Metric], named: Convention, choices: Mapping[str, Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((list(map(str, metrics)), named.name, sorted(choices.items()))).encode())
    for column in (truth.query, truth.item):
        for part in _content(column):
            digest.update(part)
    grades = np.ones(len(truth.query)) if truth.grade is None else np.asarray(truth.grade, dtype=np.float64)
    digest.update(grades.tobytes())
    return digest.digest()


def _content(column: Any) -> Iterator[Any]:
    """The ids' bytes, whatever type of column they are in."""
    if not _is_text(column):
        yield np.asarray(column).astype(np.int64).tobytes()
        return
    import pyarrow

    words = _text(column).cast(pyarrow.large_string())
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    yield np.diff(offsets).tobytes()
    if offsets[-1] > offsets[0]:
        yield memoryview(words.buffers()[2])[offsets[0] : offsets[-1]]
