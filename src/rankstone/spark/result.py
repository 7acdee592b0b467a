"""What `rs.spark.evaluate` returns: a `Result` whose values a query stay on the cluster until they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  as Spark's users write it

from rankstone.align.alignment import Bools, Floats
from rankstone.align.functions import Functions
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan
from rankstone.evaluate.means import span
from rankstone.evaluate.measurement import LiveMeasurement
from rankstone.evaluate.partial import Totals
from rankstone.evaluate.values import Measured, view_for
from rankstone.program.ranking import Ratio
from rankstone.results.result import Account, Result, TieRange
from rankstone.spark import work
from rankstone.spark.functions import Table


class SparkResult(Result):
    """Means by metric name, as `Result` has them. Values a query are computed when first asked for."""

    @property
    def per_query_frame(self) -> Table:
        """Values a query as a Spark table: a query column, then one a metric; null where a query does not count."""
        names = [F.col(f"value {at}").alias(label) for at, label in enumerate(self)]
        measured: Any = self.measurement
        return measured.rows.select("query", *names)


class SparkMeasurement(LiveMeasurement):
    """What a `Result` reads, of lists that stay on the cluster."""

    has_lists, present = False, None

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
        self.ties = {label: TieRange(*span(found), whole.moved.get(label, 0)) for label, found in means.items()}

    @cached_property
    def collected(self) -> pa.Table:
        """The rows, here."""
        sent = self.rows.mapInArrow(lambda batches: work.as_bytes(batches), "rows binary").collect()
        if not sent:
            return pa.table({name: pa.array([], pa.float64()) for name in self.rows.columns})
        return pa.concat_tables([work.from_bytes(bytes(row["rows"])) for row in sent])

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
            raise ValueError(f"{label}: {needs}; evaluate each group's rows")
        return super().mean_of(label, inside)

    def more(self, *_: Any) -> Any:
        """What needs the lists."""
        raise ValueError("the lists stay on the cluster; evaluate all metrics there together")


def _digest(frame: Table) -> str:
    rows, hashes = frame.agg(F.count("*"), F.sum(F.xxhash64(*frame.columns).cast("decimal(38,0)"))).first()
    return f"xxhash64:{rows}:{hashes}"


class _Elsewhere(Functions):
    """Stands for rankings that stay on the cluster, however they are seen; what comes of them is here."""

    judged = True  # there is a truth
    remarks = ()

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
    def found(self) -> Measured:
        """What was measured, as if it had been here."""
        view = view_for(self.plan, self._of._form(self.plan))
        return Measured(view, self.ratio, self.values, self.counted)
