"""What runs on the workers: rows are packed for the shuffle, whole queries are aligned, their values added up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from rankstone.align.join import join
from rankstone.align.ranked import Floats, Ints, Ranked
from rankstone.align.ranking import Ratio
from rankstone.conventions.plan import Plan, alignments
from rankstone.inputs.columns import plain_ids
from rankstone.inputs.lists import ListPair, lists
from rankstone.inputs.open import open_source
from rankstone.inputs.source import Align, Aligned, Source
from rankstone.measure.sums import Measured, Sums, measure, sums_of
from rankstone.measure.values import counted_of, refuse, view_for, weights_of
from rankstone.metrics.registry import Row, metric

CHUNK_ROWS = 1 << 20  # that are packed at a time
CHUNK_BYTES = 1 << 26
PACKED_BYTES = 1 << 15  # in one row of the shuffle; a batch of Spark's has up to ten thousand of them
SOME = 5  # names in an error

Batches = Iterable[pa.RecordBatch]


class Shape(NamedTuple):
    """What a side's columns are."""

    lists: bool  # one row a query
    value: str | None  # grade or score, if there is one


@dataclass(frozen=True)
class Job:
    """All that a worker has to know."""

    plans: tuple[Plan, ...]
    shapes: Mapping[str, Shape]
    declared: tuple[Declared, ...]  # metrics of the user's own
    threads: int

    def declare(self) -> None:
        """Make the user's own metrics known to this worker."""
        for name, function, options in self.declared:
            metric(name, **options)(function)


class Declared(NamedTuple):
    """A metric of the user's own, in a form that can be sent."""

    name: str
    function: Callable[..., Ratio]
    options: dict[str, Any]

    @classmethod
    def of(cls, row: Row) -> Declared:
        names = ("aliases", "formula", "kind", "expected", "zeros", "extremes", "bounds", "better", "additive")
        options = {name: getattr(row, name) for name in names}
        return cls(row.name, row.function, {**options, "choices": dict(row.choices)})


# -- before the shuffle --------------------------------------------------------------------------------------


def pack(batches: Batches, side: str, keys: Ints) -> Iterator[pa.RecordBatch]:
    """Rows by bucket, many of them as one value: the shuffle then moves few and large rows, which is much faster."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield _packed(waiting, side, keys)
            waiting, rows, size = [], 0, 0
    if rows:
        yield _packed(waiting, side, keys)


def _packed(waiting: list[pa.RecordBatch], side: str, keys: Ints) -> pa.RecordBatch:
    table = pa.Table.from_batches(waiting).combine_chunks()
    bucket = _buckets(table, len(keys))
    # Stable, so that rows stay in the order in which they came.
    ordered = table.select([name for name in table.column_names if name != "bucket"])
    ordered = ordered.take(pa.array(np.argsort(bucket, kind="stable")))
    limit = max(PACKED_BYTES * table.num_rows // max(ordered.nbytes, 1), 1)
    out, found = [], []
    end = 0
    for at, count in enumerate(np.bincount(bucket, minlength=len(keys)).tolist()):
        start, end = end, end + count
        for first in range(start, end, limit):
            out.append(to_bytes(ordered.slice(first, min(limit, end - first))))
            found.append(keys[at])
    return pa.record_batch(
        {"key": pa.array(found, pa.int32()), "side": pa.array([side] * len(out)), "rows": pa.array(out, pa.binary())}
    )


def _buckets(table: pa.Table, count: int) -> Any:
    """Which bucket each row belongs to: strings come with it, integers are hashed here, which is faster."""
    if "bucket" in table.column_names:
        found = table.column("bucket").to_numpy()
    else:
        queries = table.column("query").fill_null(0).to_numpy().astype(np.uint64)
        found = ((queries * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % np.uint64(count)
    return found.astype(np.uint16 if count <= 1 << 16 else np.int64)


def to_bytes(table: pa.Table) -> bytes:
    """A table in Arrow's own format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: Any) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


# -- after the shuffle ---------------------------------------------------------------------------------------

Weights = Mapping[Any, float] | None


def shuffled(batches: Batches, job: Job) -> Iterator[tuple[Source, Weights]]:
    """The queries of a partition: packed rows of both sides, and of weights if there are any."""
    found: dict[str, list[pa.Table]] = {side: [] for side in job.shapes}
    for batch in batches:
        for side, rows in zip(batch.column("side").to_pylist(), batch.column("rows"), strict=True):
            found[side].append(from_bytes(rows.as_buffer()))
    if not any(found.values()):
        return
    given = {side: _joined(tables) if tables else _empty(job.shapes[side]) for side, tables in found.items()}
    for side in ("truth", "run"):
        _refuse_nulls(given[side], side)
    weights = given.get("weights")
    if weights is not None:
        _refuse_nulls(weights, "weights")
    known = None if weights is None else dict(zip(*(weights.column(at).to_pylist() for at in range(2)), strict=True))
    truth = given["truth"]
    if not job.shapes["truth"].lists and any(one.metric.row.kind == "agreement" for one in job.plans):
        truth = truth.sort_by("item")  # equal grades are told apart by the order of the truth, and rows have none
    roles = {side: {name: name for name in given[side].column_names} for side in ("truth", "run")}
    yield open_source(truth, given["run"], columns=roles), known


def beside(batches: Batches, job: Job) -> Iterator[tuple[Source, Weights]]:
    """The queries of a table that has both lists in each row."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if table.num_rows:
            _refuse_nulls(table, "table")
            query = table.column("query")
            yield ListPair(lists(table.column("truth"), query=query), lists(table.column("item"), query=query)), None


def _joined(tables: list[pa.Table]) -> pa.Table:
    joined = pa.concat_tables(tables)
    if joined.nbytes >= 1 << 30:  # strings and lists of more than 2 GiB need wider offsets
        joined = joined.cast(pa.schema([(one.name, _wide(one.type)) for one in joined.schema]))
    return joined.combine_chunks()


def _wide(kind: Any) -> Any:
    if pa.types.is_list(kind):
        return pa.large_list(_wide(kind.value_type))
    return pa.large_string() if pa.types.is_string(kind) else kind


def _empty(shape: Shape) -> pa.Table:
    """No rows: which types they would have does not matter then."""
    kind = pa.list_(pa.int64()) if shape.lists else pa.int64()
    names = {"query": pa.int64(), "item": kind, **({} if shape.value is None else {shape.value: kind})}
    return pa.table({name: pa.array([], kind) for name, kind in names.items()})


def _refuse_nulls(table: pa.Table, what: str) -> None:
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        inside = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        elif inside and column.values.null_count:
            at = int(np.argmax(column.values.is_null().to_numpy(zero_copy_only=False)))
            row = int(np.searchsorted(column.offsets.to_numpy(), at, side="right")) - 1
            if not 0 <= row < len(column):
                continue
        else:
            continue
        if name == "query":
            raise ValueError(f"the {what} has a row without a query: {table.slice(row, 1).to_pylist()[0]}")
        item = (
            "" if name == "item" or inside or "item" not in table.column_names else f", item {_at(table, 'item', row)}"
        )
        raise ValueError(f"query {_at(table, 'query', row)}{item}: {name} is null in the {what}")


def _at(table: pa.Table, name: str, row: int) -> str:
    return repr(table.column(name)[row].as_py())


# -- values --------------------------------------------------------------------------------------------------

Queries = Callable[[Batches, Job], Iterator[tuple[Source, Weights]]]


class Share(NamedTuple):
    """One metric in some queries."""

    plan: Plan
    aligned: Ranked
    found: Measured


def _measured(source: Source, weights: Weights, job: Job) -> tuple[Aligned, list[Share], Floats | None]:
    aligned = {asked: _align(source, how) for asked, how in alignments(job.plans, job.threads).items()}
    first = aligned[job.plans[0].align]
    weighing = None if weights is None else weights_of(weights, first)
    out = []
    for one in job.plans:
        ranked = aligned[one.align].ranked
        refuse(one, aligned[one.align])
        if one.choices["ties"] in ("input", "reverse_input"):
            _refuse_equal(one, aligned[one.align], job)
        with aligned[one.align].naming(one.label):
            out.append(Share(one, ranked, measure(one, ranked)))
    return first, out, weighing


def _align(source: Source, how: Align) -> Aligned:
    try:
        return source.align(how)
    except ValueError as error:
        row = re.match(r"row (\d+)\b", str(error))
        if row is None or not isinstance(source, ListPair):
            raise
        query = plain_ids(source.truth.query, [int(row[1])])[0]
        raise ValueError(f"query {query!r}{str(error)[row.end() :]}") from None


def _refuse_equal(one: Plan, aligned: Aligned, job: Job) -> None:
    """Rows have no order, so equal ranks cannot be told apart by it."""
    tied = aligned.ranked.tied
    if tied is not None and not job.shapes["run"].lists and (tied > 1).any():
        query = aligned.queries[int(aligned.ranked.query[np.argmax(tied > 1)])]
        raise ValueError(
            f"{one.label}: query {query!r} has equal ranks, and ties={one.choices['ties']!r} needs an order"
        )


def values(batches: Batches, job: Job, queries: Queries) -> Iterator[pa.RecordBatch]:
    """One row a query: each metric's value, null where the query does not count, and its numerator and denominator."""
    job.declare()
    for source, weights in queries(batches, job):
        aligned, found, weighing = _measured(source, weights, job)
        columns: dict[str, Any] = {"query": pa.array(list(aligned.queries))}
        if weighing is not None:
            columns["weight"] = weighing
        for at, one in enumerate(found):
            _, ratio, found_values, counted = one.found
            columns[f"value {at}"] = pa.array(found_values, mask=None if counted is None else ~counted)
            columns[f"numerator {at}"] = np.asarray(ratio.numerator, dtype=np.float64)
            columns[f"denominator {at}"] = np.asarray(ratio.denominator, dtype=np.float64)
        yield pa.record_batch(columns)


def as_bytes(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches as one value each, so that they reach the driver as they are."""
    for batch in batches:
        yield pa.record_batch({"rows": pa.array([to_bytes(pa.Table.from_batches([batch]))], pa.binary())})


# -- sums ----------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """What the driver has to know of some of the queries. Parts add up."""

    judged: int = 0
    missing: int = 0
    extra: int = 0
    nothing_relevant: int = 0
    dropped_rows: int = 0
    tied: int = 0
    some_missing: list[Any] = field(default_factory=list)
    some_extra: list[Any] = field(default_factory=list)
    sums: dict[str, list[list[Sums]]] = field(default_factory=dict)  # as ordered; and with ties at their two extremes
    moved: dict[str, int] = field(default_factory=dict)
    finish: dict[str, Any] = field(default_factory=dict)
    pools: dict[str, list[Ranked]] = field(default_factory=dict)  # hits of metrics that do not add up
    error: Exception | None = None


def parts(batches: Batches, job: Job, queries: Queries) -> Iterator[pa.RecordBatch]:
    """The part of a partition. Wrong data is no failure of the task, which would only be tried again."""
    whole = Part()
    try:
        job.declare()
        for source, weights in queries(batches, job):
            add(whole, _part(source, weights, job))
    except (ValueError, TypeError) as error:
        whole = Part(error=error)
    yield _sent(whole)


def gathered(batches: Batches, job: Job) -> Iterator[pa.RecordBatch]:
    """All parts as one."""
    job.declare()
    whole = Part()
    for batch in batches:
        for sent in batch.column("part").to_pylist():
            add(whole, received(sent))
    try:
        _settle(whole, job)
    except (ValueError, TypeError) as error:
        whole = Part(error=error)
    yield _sent(whole)


def _sent(part: Part) -> pa.RecordBatch:
    return pa.record_batch({"part": pa.array([cloudpickle.dumps(part)], pa.binary())})


def received(sent: bytes) -> Part:
    return cloudpickle.loads(bytes(sent))


def add(whole: Part, part: Part) -> None:
    """Take in another part."""
    whole.error = whole.error or part.error
    for name in ("judged", "missing", "extra", "nothing_relevant", "dropped_rows", "tied"):
        setattr(whole, name, getattr(whole, name) + getattr(part, name))
    for name in ("some_missing", "some_extra"):
        setattr(whole, name, [*getattr(whole, name), *getattr(part, name)][: SOME + 1])
    for label, sums in part.sums.items():
        for mine, more in zip(whole.sums.setdefault(label, [[], [], []]), sums, strict=True):
            mine.extend(more)
        whole.moved[label] = whole.moved.get(label, 0) + part.moved[label]
    whole.finish.update(part.finish)
    for label, pool in part.pools.items():
        whole.pools.setdefault(label, []).extend(pool)


def pooled(one: Plan) -> bool:
    """Does the mean need all hits in one place."""
    return one.choices["averaging"] == "one_list" and not one.metric.row.additive


def _part(source: Source, weights: Weights, job: Job) -> Part:
    aligned, found, weighing = _measured(source, weights, job)
    ranked = aligned.ranked
    truths = len(ranked) - (aligned.extra_count if job.plans[0].choices["extra"] == "zero" else 0)
    lost = np.flatnonzero(~ranked.present[:truths])
    part = Part(
        judged=truths,
        missing=len(lost),
        extra=aligned.extra_count,
        nothing_relevant=int((found[0].aligned.judged_by(found[0].plan.relevance).relevant[:truths] == 0).sum()),
        dropped_rows=aligned.dropped,
        some_missing=[aligned.queries[int(at)] for at in lost[: SOME + 1]],
        some_extra=list(aligned.extra)[: SOME + 1] if aligned.extra_count else [],
    )
    tied = np.zeros(len(ranked), dtype=bool)
    for one in found:
        label, row = one.plan.label, one.plan.metric.row
        if pooled(one.plan):
            part.pools[label] = [_pool(one)]
            own = Sums(0.0, 0.0, 0)
        else:
            own = sums_of(one.plan, one.found, weighing)
        ends, moved = [own, own], np.zeros(len(ranked), dtype=bool)
        if one.aligned.tied is not None and row.kind != "ratings":
            others = [measure(one.plan, one.aligned, ties) for ties in row.extremes]
            ends = [sums_of(one.plan, other, weighing) for other in others]
            moved = ~np.isclose(others[0].values, others[1].values, rtol=1e-12, atol=1e-15, equal_nan=True)
        part.sums[label] = [[own], [ends[0]], [ends[1]]]
        part.moved[label] = int(moved.sum())
        part.finish[label] = one.found.ratio.finish
        tied |= moved
    part.tied = int(tied.sum())
    return part


def _pool(one: Share) -> Ranked:
    """The placed items of the queries that enter the mean: one that has no value of its own has rows all the same."""
    entered = counted_of(one.plan, one.found.ranked)
    return one.aligned if entered is None else one.aligned.only(entered)


def _settle(whole: Part, job: Job) -> None:
    """The sums of metrics that need all hits in one place."""
    for one in job.plans:
        if not pooled(one) or one.label not in whole.pools:
            continue
        ranked = view_for(one, join(whole.pools[one.label]))
        every = np.zeros(len(ranked))
        sums = sums_of(one, Measured(ranked, Ratio(every, every), every, None), None)
        whole.sums[one.label] = [[sums], [sums], [sums]]
    whole.pools = {}
