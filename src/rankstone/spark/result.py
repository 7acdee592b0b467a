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
from rankstone.evaluate.partial import Totals
from rankstone.evaluate.programs import Measured
from rankstone.evaluate.values import view_for
from rankstone.metrics.registry import Metric
from rankstone.program.ranking import Ratio
from rankstone.results.result import Account, Result, TieRange
from rankstone.spark import work
from rankstone.spark.functions import Table
from rankstone.typing import Id, Metrics


class SparkResult(Result):
    """Means by metric name, as `Result` has them. Values a query are computed when first asked for."""

    def __init__(
        self,
        plans: Sequence[Plan],
        whole: Totals,
        values: Table,
        frames: Mapping[str, Table],
        convention: Convention,
        choices: Mapping[str, object],
    ) -> None:
        self._values = values
        self._plans = plans
        self._frames = frames
        self._first: Any = _Elsewhere()
        self._aligned: dict[Any, Any] = {plan.align: self._first for plan in plans}
        self.convention = convention
        self.choices = dict(choices)
        means = {plan.label: whole.means(plan) for plan in plans}
        self._outcomes: dict[str, Any] = {
            plan.label: _Outcome(self, at, plan, means[plan.label][0], whole.finish.get(plan.label))
            for at, plan in enumerate(plans)
        }
        self._spans = {label: (*span(found), whole.moved.get(label, 0)) for label, found in means.items()}
        self._whole = whole

    @property
    def per_query_frame(self) -> Table:
        """Values a query as a Spark table: a query column, then one a metric; null where a query does not count."""
        names = [F.col(f"value {at}").alias(plan.label) for at, plan in enumerate(self._plans)]
        return self._values.select("query", *names)

    @cached_property
    def _collected(self) -> pa.Table:
        sent = self._values.mapInArrow(lambda batches: work.as_bytes(batches), "rows binary").collect()
        if not sent:
            return pa.table({name: pa.array([], pa.float64()) for name in self._values.columns})
        return pa.concat_tables([work.from_bytes(bytes(row["rows"])) for row in sent])

    @property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in no particular order."""
        return self._queries

    @cached_property
    def _queries(self) -> Sequence[Any]:
        return self._collected.column("query").to_pylist()

    @property
    def present(self) -> None:
        """Not known: it stays on the cluster."""

    def more(self, metrics: Metrics) -> Result:
        """Other metrics of the same lists, which stay on the cluster."""
        raise ValueError("the lists stay on the cluster; evaluate all metrics there together")

    def has_bad(self, metric: str | Metric) -> bool:
        """May the truth have items that are judged and not relevant."""
        return True

    def _same_truth(self, other: Result) -> bool:
        return False

    @property
    def has_ties(self) -> bool:
        """Could the order of tied items matter."""
        return self.account.tied > 0

    @cached_property
    def inputs(self) -> dict[str, str]:  # type: ignore[override]
        """Digests of the truth's and of the run's rows, whatever their order."""
        return {name: _digest(frame) for name, frame in self._frames.items()}

    @cached_property
    def account(self) -> Account:  # type: ignore[override]
        """How many queries were judged, missing, extra, without anything relevant, or decided by ties."""
        return Account(**{name: self._whole.account[name] for name in Account.__dataclass_fields__})

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        """By metric: the lowest and highest mean that another order of the tied items would give."""
        return {label: TieRange(*found) for label, found in self._spans.items()}

    def by(self, groups: Mapping[Id, Id] | Sequence[Id]) -> dict[Any, dict[str, float]]:
        """Means by group of queries: `groups` says each query's group, as a dict or in the order of `queries`."""
        for plan in self._plans:
            if plan.is_pooled or plan.averaging.two_means:
                raise ValueError(
                    f"{plan.label}: averaging={plan.choices['averaging']!r} needs all rows of a group; evaluate each "
                    "group's rows"
                )
        return super().by(groups)

    @property
    def _weights(self) -> Floats | None:  # type: ignore[override]
        names = self._values.columns
        return self._collected.column("weight").to_numpy() if "weight" in names else None


def _digest(frame: Table) -> str:
    rows, hashes = frame.agg(F.count("*"), F.sum(F.xxhash64(*frame.columns).cast("decimal(38,0)"))).first()
    return f"xxhash64:{rows}:{hashes}"


class _Elsewhere(Functions):
    """Stands for rankings that stay on the cluster, however they are seen; what comes of them is here."""

    judged = True  # there is a truth

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

    def __init__(self, result: SparkResult, at: int, plan: Plan, mean: float, finish: Any) -> None:
        self._result, self._at, self.plan, self.mean, self.finish = result, at, plan, mean, finish

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._result._collected.column(f"{name} {self._at}")

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
        view = view_for(self.plan, self._result._form(self.plan))
        return Measured(view, self.ratio, self.values, self.counted)
