"""`rs.spark.evaluate`: the twin of `rs.evaluate` for Spark tables. One shuffle; rows never reach the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  as Spark's users write it

from rankstone.align.alignment import Ints
from rankstone.align.topk import deepest
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import DEFAULT_METRICS, Capabilities, Plan, alignments, check_supported, make_plans
from rankstone.data.arrow import is_spark, plain
from rankstone.data.columns import Columns
from rankstone.data.files import is_path
from rankstone.data.lists import Lists
from rankstone.data.loaders import opened
from rankstone.data.roles import ROLES, RoleMap, find, find_all, find_side, find_two_lists, need, roles_of, value_role
from rankstone.data.tables import as_lists
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.accumulate import Accumulator
from rankstone.evaluate.checks import check_common_items, check_data
from rankstone.evaluate.partial import Partial, add_up, declared_in, for_shares
from rankstone.evaluate.pipeline import depths_of, require_truth, resolve_side_info
from rankstone.progress import Progress, watched
from rankstone.results.result import Result
from rankstone.spark import workers
from rankstone.spark.spark_sql import Session, Table, is_classic
from rankstone.spark.workers import SparkMeasurement, SparkResult

if TYPE_CHECKING:
    from rankstone.metrics.registry import Value
    from rankstone.spark.spark_sql import Table
    from rankstone.typing import CatalogueLike, ColumnRoles, Id, Metrics, Run, Truth


def sent(side: Any, what: str, columns: RoleMap | None, side_info: Table) -> Table:
    """A side as a table of the session that the other side's table belongs to, its columns named after their roles."""
    return side_info.sparkSession.createDataFrame(pa.table(_columns(_read(side, what, columns), what)))


def _read(side: Any, what: str, columns: RoleMap | None) -> Columns | Lists:
    """A side here, its empty lists and the order of its lists kept."""
    source = opened(side, what, columns)
    if isinstance(source, Mapping):
        return as_lists(source, what)
    if isinstance(source, (Columns, Lists)):
        return source
    raise InputTypeError(
        f"the {what} is a {type(side).__name__}; with a Spark table, pass a dict, a table with a query and an item "
        "column, a file, rs.columns(...) or rs.lists(..., query=...)"
    )


def _columns(side: Columns | Lists, what: str) -> dict[str, pa.Array]:
    value = "grade" if what == "truth" else "score"
    if isinstance(side, Columns):
        columns = {"query": side.query, "item": side.item, value: side.grade if what == "truth" else side.score}
        return {name: plain(column) for name, column in columns.items() if column is not None}
    if side.query is None:
        raise InputError(f"the {what} is a list column without queries; give rs.lists(..., query=...)")
    starts = pa.array(np.asarray(side.offsets, dtype=np.int64))
    inside = {"item": side.items, **({} if side.values is None else {value: side.values})}
    lists = {name: pa.LargeListArray.from_arrays(starts, plain(column)) for name, column in inside.items()}
    return {"query": plain(side.query), **lists}


_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "boolean")


def evaluate(
    truth: Truth | Table | None = None,
    run: Run | Table | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Mapping[Id, float] | Table | None = None,
    columns: ColumnRoles | None = None,
    catalogue: CatalogueLike | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    threads: int = 1,
    **choices: Value,
) -> Result:
    """Evaluate a run against a truth, as Spark tables; arguments and numbers as those of `rs.evaluate`.

    Rows of a table have no order, so choices that need one (`ties="input"`, `duplicates="first"`...) are refused,
    unless lists or a rank column define it. Metrics beyond accuracy, such as coverage@10, are computed on the driver:
    the first k + 1 rows of each list are sent to it, with the ranks of the judged items. They need a cutoff, and no
    truth: `evaluate(run=table, metrics="coverage@10", ...)`.

    Parameters
    ----------
    truth, run : Spark DataFrame
        One row per item (query, item, grade; query, item, score or rank), or one row per query with a list of items.
        One of the two may be local: a dict, a frame, a file. One table alone has a grade and a score in each row, or
        two lists: the returned items and the relevant ones.
    metrics : str, Metric or list of them
        What to compute.
    convention : str or Convention, default "rankstone"
        Whose definitions.
    weights : dict or Spark DataFrame, optional
        The weight of each query; a table has a query and a weight column.
    columns : dict, optional
        Names of columns: `{"query": "user_id"}`, or `{"truth": {...}, "run": {...}}`.
    catalogue, history, reference : optional
        Side information, local: see `rs.evaluate`.
    threads : int, default 1
        Cores per task; 0 for all.
    **choices
        Choices by name.

    Returns
    -------
    Result
    """
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise InputError(f"weights= go with averaging='weighted', not with {choices['averaging']!r}")
    asked: Any = choices
    side_inputs: Any = {"catalogue": catalogue, "history": history, "reference": reference}
    _, choices = resolve_side_info(**side_inputs, metrics=metrics, choices=choices)
    plans = make_plans(metrics, convention, choices)
    alignments(plans)  # or an error, before any work is sent
    require_truth(plans, judged=truth is not None)
    if not (is_spark(truth) or is_spark(run)):
        raise InputTypeError("neither the truth nor the run is a Spark table; use rs.evaluate")
    roles = roles_of(columns, "predictions")
    alone = run is None and weights is None
    side_info = _two_lists(truth, roles) if alone else None
    sides = _both_lists(truth, *side_info, roles) if side_info else _sides(truth, run, columns)
    capabilities = _capabilities(sides["truth"], sides["run"])
    check_supported(plans, capabilities)
    if sides["run"].shape.value is None:
        capabilities.require_scores("run")
    if weights is not None:
        sides["weights"] = _weights(weights, sides["truth"])
    highest = cache(lambda: _highest(sides["truth"]))  # a pass over the truth, for metrics that need it
    job = workers.SparkJob(
        tuple(for_shares(plan, highest) for plan in plans),
        declared_in(plans),
        threads,
        sides["run"].shape.lists,
        {name: side.shape for name, side in sides.items()},
        truth is not None,
    )
    queries = workers.side_info if side_info else workers.shuffled
    frame = sides["truth"].frame if side_info else _shuffled(sides)
    if depths := depths_of(plans):
        _refuse_many(plans, sides, deepest(depths))
        shares = frame.mapInArrow(lambda batches: workers.partials(batches, job, queries), "part binary")
        accumulator = Accumulator(metrics, convention=convention, **side_inputs, **asked)
        with _large_batches(frame.sparkSession), _watched(frame.sparkSession):
            return _measured_here(plans, accumulator, (workers.received(row["part"]) for row in shares.collect()))
    shares = frame.mapInArrow(lambda batches: workers.totals(batches, job, queries), "part binary")
    if any(plan.is_pooled for plan in plans):
        shares = shares.repartition(1).mapInArrow(lambda batches: workers.gathered(batches, job), "part binary")
    with _large_batches(frame.sparkSession), _watched(frame.sparkSession):
        whole = add_up(workers.received(row["part"]) for row in shares.collect())
    whole.check(plans, choices)
    kind = sides["truth"].kind("query")
    fields = [f"query {kind}", *(["weight double"] if weights is not None else [])]
    names = ("value", "numerator", "denominator")
    fields += [f"`{name} {at}` double" for at in range(len(plans)) for name in names]
    values = frame.mapInArrow(lambda batches: workers.values(batches, job, queries), ", ".join(fields))
    frames = {name: sides[name].frame for name in ("truth", "run")}
    return SparkResult._of(SparkMeasurement(plans, whole, values, frames, find_convention(convention), choices))


# -- what comes to the driver --------------------------------------------------------------------------------

DRIVER_ROWS = 20_000_000  # of lists


def _refuse_many(plans: Sequence[Plan], sides: Mapping[str, _Side], depths: Mapping[Any, int]) -> None:
    """Stop at lists that are too many for the driver."""
    side = sides["truth" if plans[0].choices["extra"] != "zero" and len(sides["truth"].frame.take(1)) else "run"]
    lists, depth = int(side.frame.agg(F.approx_count_distinct("query")).first()[0]), sum(depths.values())
    if lists * depth > DRIVER_ROWS:
        label = next(plan.label for plan in plans if plan.metric.declaration.reads == "recommendations")
        raise InputError(
            f"{label} needs the first rows of each list on the driver: about {lists:,} lists of {depth} rows, more "
            f"than {DRIVER_ROWS:,} rows in all; choose a smaller cutoff, or a sample of the queries"
        )


def _measured_here(
    plans: Sequence[Plan], accumulator: Accumulator, received: Iterable[list[Partial] | Exception]
) -> Result:
    for pieces in received:
        if isinstance(pieces, Exception):
            raise pieces
        for piece in pieces:
            accumulator.take(piece)
    result = cast("Result", accumulator.compute())
    check_common_items(plans[0], result._measurement.aligned(plans[0]))
    for plan in plans:
        check_data(plan, result._measurement.aligned(plan))
    return result


# -- the user's tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Side:
    """A truth or a run, its columns by their roles."""

    frame: Table
    shape: workers.Shape
    ranked: bool = False  # by a rank column, not by scores

    def kind(self, role: str) -> str:
        """The type of a column, or of what is in its lists."""
        return dict(self.frame.dtypes)[role].removeprefix("array<").removesuffix(">")

    def with_text(self, role: str) -> _Side:
        """The same with ids as strings."""
        lists = dict(self.frame.dtypes)[role].startswith("array<")
        return replace(
            self, frame=self.frame.withColumn(role, F.col(role).cast("array<string>" if lists else "string"))
        )


def _sides(truth: Any, run: Any, columns: ColumnRoles | None) -> dict[str, _Side]:
    if truth is None:
        returned = _side(run, "run", columns, None)
        none = _Side(returned.frame.select("query", "item").limit(0), workers.Shape(returned.shape.lists, None))
        return {"truth": none,
                "run": returned}  # fmt: skip
    if run is None:
        names = find_all(truth.columns, ROLES["predictions"], "table", roles_of(columns, "predictions"))
        both = {what: {role: names[role] for role in ROLES[what] if role in names} for what in ("truth", "run")}
        sides = {what: _rows(truth, what, roles) for what, roles in both.items()}
    else:
        sides = {"truth": _side(truth, "truth", columns, run), "run": _side(run, "run", columns, truth)}
    for role in ("query", "item"):
        kinds = {name: side.kind(role) for name, side in sides.items()}
        if kinds["truth"] != kinds["run"] and (is_path(truth) or is_path(run)):
            sides = {name: side.with_text(role) for name, side in sides.items()}  # what a file's ids are
        elif kinds["truth"] != kinds["run"]:
            raise InputTypeError(f"the truth's {role} column holds {kinds['truth']} but the run's holds {kinds['run']}")
    return sides


def _side(frame: Any, what: str, columns: RoleMap | None, side_info: Any) -> _Side:
    if not is_spark(frame):
        frame, columns = sent(frame, what, columns, side_info), None
    roles = find_side(frame.columns, what, roles_of(columns, what), is_list=_lists_in(frame))
    return _rows(frame, what, roles)


def _rows(frame: Table, what: str, roles: Mapping[str, str]) -> _Side:
    lists = _lists_in(frame)(roles["item"])
    value = value_role(roles)
    selected = [
        _ids(frame, roles["query"], what, False).alias("query"),
        _ids(frame, roles["item"], what, lists).alias("item"),
    ]
    if value is not None:
        numbers = _numbers(frame, roles[value], what, lists)
        if value == "rank":
            numbers = F.transform(numbers, lambda rank: -rank) if lists else -numbers
        selected.append(numbers.alias("score" if value == "rank" else value))
    shape = workers.Shape(lists, "score" if value == "rank" else value)
    return _Side(frame.select(*selected), shape, value == "rank")


def _ids(frame: Table, name: str, what: str, lists: bool) -> Column:
    kind = dict(frame.dtypes)[name]
    inside = kind.removeprefix("array<").removesuffix(">") if lists else kind
    if inside == "string":
        return _column(name)
    if inside not in _INTEGERS:
        raise InputTypeError(f"the {what}'s column {name!r} holds {kind}; ids are whole numbers or strings")
    return _column(name).cast("array<bigint>" if lists else "bigint")


def _numbers(frame: Table, name: str, what: str, lists: bool) -> Column:
    kind = dict(frame.dtypes)[name]
    inside = kind.removeprefix("array<").removesuffix(">") if lists else kind
    if inside not in _NUMBERS and not inside.startswith("decimal"):
        raise InputTypeError(f"the {what}'s column {name!r} holds {kind}; grades and scores are numbers")
    if inside == "bigint":  # the core says so if one is too large to be exact
        return _column(name)
    return _column(name).cast("array<double>" if lists else "double")


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _lists_in(frame: Table) -> Callable[[str], bool]:
    """Which columns hold lists."""
    kinds = dict(frame.dtypes)
    return lambda name: kinds[name].startswith("array<")


def _two_lists(frame: Table, roles: RoleMap) -> tuple[str, str] | None:
    return find_two_lists(frame.columns, roles, _lists_in(frame))


def _both_lists(frame: Table, judged: str, item: str, roles: RoleMap) -> dict[str, _Side]:
    """A table with the returned and the relevant items in each row: nothing has to be shuffled."""
    query = find(frame.columns, "query", "table", roles)
    chosen = frame.select(
        (F.monotonically_increasing_id() if query is None else _ids(frame, query, "table", False)).alias("query"),
        _ids(frame, item, "table", True).alias("item"),
        _ids(frame, judged, "table", True).alias("truth"),
    )
    side = _Side(chosen, workers.Shape(True, None))
    if side.kind("item") != side.kind("truth"):
        raise InputTypeError(f"column {judged!r} holds {side.kind('truth')} but {item!r} holds {side.kind('item')}")
    return {"truth": side, "run": side}


def _weights(weights: Mapping[Id, float] | Table, truth: _Side) -> _Side:
    if isinstance(weights, Mapping):
        rows = [(query, float(weight)) for query, weight in weights.items()]
        frame = truth.frame.sparkSession.createDataFrame(rows, f"query {truth.kind('query')}, weight double")
    elif is_spark(weights):
        query = need(weights.columns, "query", "weights", {})
        frame = weights.select(_ids(weights, query, "weights", False).alias("query"), F.col("weight").cast("double"))
    else:
        raise InputTypeError(
            "weights= is a dict or a table with a query and a weight column: rows of a table have no order"
        )
    return _Side(frame, workers.Shape(False, "weight"))


# -- the work ------------------------------------------------------------------------------------------------


@contextmanager
def _watched(session: Session) -> Iterator[None]:
    """The tasks that Spark has done and has still to do in the stages it is at."""
    classic = is_classic(session)

    def ask(progress: Progress) -> None:
        tracker = session.sparkContext.statusTracker()
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
        progress(sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages))

    def heard(stages: Sequence[Any], **_: Any) -> None:
        progress(sum(stage.num_completed_tasks for stage in stages), sum(stage.num_tasks for stage in stages))

    with watched("measuring in Spark", ask=ask if classic else None) as progress:
        if not classic:
            session.registerProgressHandler(heard)
        try:
            yield
        finally:
            if not classic:
                session.removeProgressHandler(heard)


@contextmanager
def _large_batches(session: Session) -> Iterator[None]:
    """Batches with a limit of rows only: Spark adds up a batch's bytes again with each row, which takes longer than the
    rest of handing it over."""
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = session.conf.get(name, None)
    session.conf.set(name, str(2**31 - 1))
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, before)


def _shuffled(sides: Mapping[str, _Side]) -> Table:
    """All rows, packed, with those of a query in one partition."""
    conf = sides["truth"].frame.sparkSession.conf
    count = conf.get("spark.sql.adaptive.coalescePartitions.initialPartitionNum", None)
    count = int(count or conf.get("spark.sql.shuffle.partitions", "200"))
    keys = _keys(count)
    bucket = [F.pmod(F.xxhash64("query"), F.lit(count)).cast("int").alias("bucket")]
    if sides["truth"].kind("query") == "bigint":  # the workers do it faster
        bucket = []

    def packed(name: str, side: _Side) -> Table:
        rows = side.frame.select("*", *bucket)
        return rows.mapInArrow(lambda batches: workers.pack(batches, name, keys), "key int, side string, rows binary")

    both = reduce(lambda rows, more: rows.union(more), (packed(name, side) for name, side in sides.items()))
    return both.repartition("key").select("side", "rows")


def _keys(count: int) -> Ints:
    """For each partition a number that Spark's hash puts there, so that all partitions get their share."""
    numbers = np.arange(count * (int(np.log(count + 1)) + 12), dtype=np.uint32)
    places = spark_hash(numbers) % count
    keys = np.full(count, -1, dtype=np.int64)
    keys[places[::-1]] = numbers[::-1]
    return np.where(keys < 0, np.arange(count), keys)  # one left out costs evenness, nothing else


def spark_hash(numbers: NDArray[np.uint32]) -> Ints:
    """Spark's hash of 32-bit integers: Murmur 3 (Appleby) with the seed 42."""

    def turned(x: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
        return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))

    mixed = turned(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = turned(mixed ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    return mixed.astype(np.int32).astype(np.int64)


def _highest(truth: _Side) -> float:
    if truth.shape.value is None:
        return 1.0
    grades = F.array_max("grade") if truth.shape.lists else F.col("grade")
    return max(float(truth.frame.agg(F.max(grades)).first()[0] or 0.0), 0.0)


# -- what cannot be ------------------------------------------------------------------------------------------


def _capabilities(truth: _Side, run: _Side) -> Capabilities:
    no_order = "rows of a Spark table have no order"
    return Capabilities(
        row_order="" if run.shape.lists else no_order,
        ties_order="" if run.shape.lists or run.ranked else no_order,
        truth_order="" if truth.shape.lists else no_order,
        annotations="Spark carries grades alone",
        whole_lists="the first rows of each list come to the driver",
        otherwise="or give lists, or a rank column",
    )
