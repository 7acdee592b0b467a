"""What runs on the workers: packed rows become whole queries, which are measured; and the result that stays there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812  as Spark's users write it

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.elementwise import Functions
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan
from rankstone.data.arrow import is_list, one_piece
from rankstone.data.lists import ListPair, lists
from rankstone.data.source import Source
from rankstone.errors import DataError, InputError
from rankstone.evaluate import partial
from rankstone.evaluate.means import span
from rankstone.evaluate.measurement import LiveMeasurement
from rankstone.evaluate.partial import Partial, Totals
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.values import MetricValues, measure_each, view_for
from rankstone.program.ranking import Ratio
from rankstone.results.result import Account, Result, TieRange
from rankstone.spark import workers
from rankstone.spark.spark_sql import Table

CHUNK_ROWS = 1 << 20  # that are packed at a time
CHUNK_BYTES = 1 << 26
PACKED_BYTES = 1 << 17  # in one row of the shuffle; a batch of Spark's has up to ten thousand of them

Batches = Iterable[pa.RecordBatch]
Weights = Mapping[Any, float] | None


class Shape(NamedTuple):
    """What a side's columns are."""

    lists: bool  # one row per query
    value: str | None  # grade or score, if there is one


@dataclass(frozen=True)
class SparkJob(partial.Job):
    """All that a worker has to know."""

    shapes: Mapping[str, Shape]
    judged: bool = True  # False: there is no truth


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
    table = _narrow(pa.Table.from_batches(waiting).combine_chunks())
    bucket = _buckets(table, len(keys))
    # Stable, so that rows stay in the order in which they came.
    ordered = table.select([name for name in table.column_names if name != "bucket"])
    ordered = ordered.take(pa.array(np.argsort(bucket, kind="stable")))
    limit = max(PACKED_BYTES * table.num_rows // max(ordered.nbytes, 1), 1)
    out, packed_keys = [], []
    end = 0
    for at, count in enumerate(np.bincount(bucket, minlength=len(keys)).tolist()):
        start, end = end, end + count
        for first in range(start, end, limit):
            out.append(to_bytes(ordered.slice(first, min(limit, end - first))))
            packed_keys.append(keys[at])
    return pa.record_batch(
        {
            "key": pa.array(packed_keys, pa.int32()),
            "side": pa.array([side] * len(out)),
            "rows": pa.array(out, pa.binary()),
        }
    )


def _narrow(table: pa.Table) -> pa.Table:
    """Ids in half the bytes where they fit: most of the shuffle is moving them."""
    for at, name in enumerate(table.column_names):
        if name in ("query", "item") and table.column(at).type == pa.int64():
            ends = pc.min_max(table.column(at)).as_py()
            if (ends["min"] or 0) >= -(2**31) and (ends["max"] or 0) < 2**31:
                table = table.set_column(at, name, table.column(at).cast(pa.int32()))
    return table


def _buckets(table: pa.Table, count: int) -> NDArray[np.integer[Any]]:
    """Which bucket each row belongs to: strings come with it, integers are hashed here, which is faster."""
    if "bucket" in table.column_names:
        buckets = table.column("bucket").to_numpy()
    else:
        queries = table.column("query").fill_null(0).to_numpy().astype(np.uint64)
        buckets = ((queries * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % np.uint64(count)
    return buckets.astype(np.uint16 if count <= 1 << 16 else np.int64)


def to_bytes(table: pa.Table) -> bytes:
    """A table in Arrow's own format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes | pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


# -- after the shuffle ---------------------------------------------------------------------------------------


def shuffled(batches: Batches, job: SparkJob) -> Iterator[tuple[Source, Weights]]:
    """The queries of a partition: packed rows of both sides, and of weights if there are any."""
    tables_by_side: dict[str, list[pa.Table]] = {side: [] for side in job.shapes}
    for batch in batches:
        for side, rows in zip(batch.column("side").to_pylist(), batch.column("rows"), strict=True):
            tables_by_side[side].append(from_bytes(rows.as_buffer()))
    if not any(tables_by_side.values()):
        return
    sides = {side: _joined(tables) if tables else _empty(job.shapes[side]) for side, tables in tables_by_side.items()}
    for side in ("truth", "run"):
        _refuse_nulls(sides[side], side)
    weights = sides.get("weights")
    if weights is not None:
        _refuse_nulls(weights, "weights")
    weight_by_query = (
        None if weights is None else dict(zip(*(weights.column(at).to_pylist() for at in range(2)), strict=True))
    )
    truth = sides["truth"]
    if not job.shapes["truth"].lists and any(plan.metric.declaration.kind == "agreement" for plan in job.plans):
        truth = truth.sort_by("item")  # equal grades are ordered by the truth, and rows have no order
    roles = {side: {name: name for name in sides[side].column_names} for side in ("truth", "run")}
    if not job.judged:
        yield open_source(None, sides["run"], columns={"run": roles["run"]}), weight_by_query
    else:
        yield open_source(truth, sides["run"], columns=roles), weight_by_query


def side_info(batches: Batches, job: SparkJob) -> Iterator[tuple[Source, Weights]]:
    """The queries of a table that has both lists in each row."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if table.num_rows:
            _refuse_nulls(table, "table")
            query = table.column("query")
            yield ListPair(lists(table.column("truth"), query=query), lists(table.column("item"), query=query)), None


def _joined(tables: list[pa.Table]) -> pa.Table:
    joined = pa.concat_tables(tables, promote_options="permissive")  # ids of some may be narrower
    return pa.table({name: one_piece(joined.column(name)) for name in joined.column_names})


def _empty(shape: Shape) -> pa.Table:
    """No rows: which types they would have does not matter then."""
    kind = pa.list_(pa.int64()) if shape.lists else pa.int64()
    names = {"query": pa.int64(), "item": kind, **({} if shape.value is None else {shape.value: kind})}
    return pa.table({name: pa.array([], kind) for name, kind in names.items()})


def _refuse_nulls(table: pa.Table, what: str) -> None:
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        inside = is_list(column.type)
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
            cells = table.slice(row, 1).to_pylist()[0]
            raise DataError(f"the {what} has a row without a query: {cells}", "missing", what)
        query, item, where = table.column("query")[row].as_py(), None, ""
        if name != "item" and not inside and "item" in table.column_names:
            item = table.column("item")[row].as_py()
            where = f", item {item!r}"
        raise DataError(f"query {query!r}{where}: {name} is null in the {what}", "missing", what, query, item)


# -- values --------------------------------------------------------------------------------------------------

Queries = Callable[[Batches, SparkJob], Iterator[tuple[Source, Weights]]]


def values(batches: Batches, job: SparkJob, queries: Queries) -> Iterator[pa.RecordBatch]:
    """One row a query: each metric's value, null where the query does not count, and its numerator and denominator."""
    job.declare()
    for source, weights in queries(batches, job):
        some = job.partial(source, weights)
        columns: dict[str, Any] = {"query": pa.array(list(some.ids or ()))}
        if some.weights is not None:
            columns["weight"] = some.weights
        for at, one in enumerate(measure_each(job.plans, some.aligned(), job.threads)):
            columns[f"value {at}"] = pa.array(one.values, mask=None if one.counted is None else ~one.counted)
            columns[f"numerator {at}"] = np.asarray(one.ratio.numerator, dtype=np.float64)
            columns[f"denominator {at}"] = np.asarray(one.ratio.denominator, dtype=np.float64)
        yield pa.record_batch(columns)


def as_bytes(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches as one value each, so that they reach the driver as they are."""
    for batch in batches:
        yield pa.record_batch({"rows": pa.array([to_bytes(pa.Table.from_batches([batch]))], pa.binary())})


# -- totals and partials -------------------------------------------------------------------------------------


def totals(batches: Batches, job: SparkJob, queries: Queries) -> Iterator[pa.RecordBatch]:
    """The totals of a task's queries."""
    yield _sent(job.totals(queries(batches, job)))


def gathered(batches: Batches, job: SparkJob) -> Iterator[pa.RecordBatch]:
    """All totals as one."""
    sent = (part for batch in batches for part in batch.column("part").to_pylist())
    yield _sent(job.gather(map(received, sent)))


def partials(batches: Batches, job: SparkJob, queries: Queries) -> Iterator[pa.RecordBatch]:
    """The queries of a task as they are, for the driver to measure; or what is wrong with them."""
    job.declare()
    answer: list[Partial] | Exception
    try:
        answer = [job.partial(source, weights) for source, weights in queries(batches, job)]
    except (ValueError, TypeError) as error:
        answer = error
    yield _sent(answer)


def _sent(part: Any) -> pa.RecordBatch:
    return pa.record_batch({"part": pa.array([cloudpickle.dumps(part)], pa.binary())})


def received(sent: bytes) -> Any:
    """Totals, or partials."""
    return cloudpickle.loads(bytes(sent))


class SparkResult(Result):
    """Means by metric name, as `Result` has them. Values a query are computed when first asked for."""

    @property
    def per_query_frame(self) -> Table:
        """Values a query as a Spark table: a query column, then one a metric; null where a query does not count."""
        names = [F.col(f"value {at}").alias(label) for at, label in enumerate(self)]
        measured: Any = self._measurement
        return measured.rows.select("query", *names)


class SparkMeasurement(LiveMeasurement):
    """What a `Result` reads, of lists that stay on the cluster."""

    has_lists, is_bounded, present = False, False, None

    def __init__(
        self,
        plans: Sequence[Plan],
        whole: Totals,
        rows: Table,  # of each query: its values and ratios
        frames: Mapping[str, Table],
        convention: Convention,
        choices: Mapping[str, object],
    ) -> None:
        means = {plan.label: whole.means(plan) for plan in plans}
        outcomes: Any = {
            plan.label: _Outcome(self, at, plan, means[plan.label][0], whole.finish.get(plan.label))
            for at, plan in enumerate(plans)
        }
        elsewhere: Any = _Elsewhere()
        super().__init__(outcomes, {plan.align: elsewhere for plan in plans}, convention, choices)
        self.rows, self._frames = rows, frames
        self.account = Account(**{name: whole.account[name] for name in Account.__dataclass_fields__})
        self.ties = {label: TieRange(*span(bounds), whole.moved.get(label, 0)) for label, bounds in means.items()}

    @cached_property
    def collected(self) -> pa.Table:
        """The rows, here."""
        sent = self.rows.mapInArrow(lambda batches: workers.as_bytes(batches), "rows binary").collect()
        if not sent:
            return pa.table({name: pa.array([], pa.float64()) for name in self.rows.columns})
        return pa.concat_tables([workers.from_bytes(bytes(row["rows"])) for row in sent])

    @cached_property
    def queries(self) -> Sequence[Any]:
        return self.collected.column("query").to_pylist()

    @property
    def weights(self) -> Floats | None:
        return self.collected.column("weight").to_numpy() if "weight" in self.rows.columns else None

    @weights.setter
    def weights(self, weights: Floats | None) -> None:
        """They are in the rows."""

    @property
    def has_ties(self) -> bool:
        return self.account.tied > 0

    def has_bad(self, label: str) -> bool:
        """It may."""
        return True

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Digests of the truth's and of the run's rows, whatever their order."""
        return {name: _digest(frame) for name, frame in self._frames.items()}

    def mean_of(self, label: str, inside: Bools) -> float:
        """The mean of some of the queries."""
        plan = self.plan(label)
        if plan.is_pooled or plan.averaging.two_means:
            needs = f"averaging={plan.choices['averaging']!r} needs all rows of a group"
            raise InputError(f"{label}: {needs}; evaluate each group's rows")
        return super().mean_of(label, inside)

    def more(self, *_: object) -> Any:
        """What needs the lists."""
        raise InputError("the lists stay on the cluster; evaluate all metrics there together")


def _digest(frame: Table) -> str:
    rows, hashes = frame.agg(F.count("*"), F.sum(F.xxhash64(*frame.columns).cast("decimal(38,0)"))).first()
    return f"xxhash64:{rows}:{hashes}"


class _Elsewhere(Functions):
    """Stands for rankings that stay on the cluster, however they are seen; what comes of them is here."""

    judged = True  # there is a truth
    notes = ()

    @property
    def ranked(self) -> _Elsewhere:
        return self

    def form(self, reads: str) -> _Elsewhere:
        return self

    def only(self, *_: Any) -> _Elsewhere:
        return self

    judged_by = within_the_list = condensed = above_zero = with_ties = only


class _Outcome:
    """One metric's part of a result; all but the mean is fetched when asked for."""

    def __init__(self, of: SparkMeasurement, at: int, plan: Plan, mean: float, finish: Any) -> None:
        self._of, self._at, self.plan, self.mean, self.finish = of, at, plan, mean, finish

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._of.collected.column(f"{name} {self._at}")

    @cached_property
    def values(self) -> Floats:
        return self._column("value").fill_null(np.nan).to_numpy()

    @cached_property
    def counted(self) -> Bools | None:
        column = self._column("value")
        return column.is_valid().to_numpy() if column.null_count else None

    @cached_property
    def ratio(self) -> Ratio:
        return Ratio(self._column("numerator").to_numpy(), self._column("denominator").to_numpy(), self.finish)

    @property
    def metric_values(self) -> MetricValues:
        """What was measured, as if it had been here."""
        view = view_for(self.plan, self._of._form(self.plan))
        return MetricValues(view, self.ratio, self.values, self.counted)
