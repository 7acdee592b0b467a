"""`TorchMetric`: rankstone's metrics for torchmetrics, and so for Lightning and `torch.distributed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torchmetrics
from numpy.typing import NDArray
from torchmetrics.utilities.data import dim_zero_cat

from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Feeding, refuse_unknown
from rankstone.inputs.columns import columns
from rankstone.measure.accumulate import Accumulator
from rankstone.measure.sums import Sums
from rankstone.metrics.registry import Metric

if TYPE_CHECKING:
    from rankstone.typing import Array, Metrics, Run, Truth

# What torchmetrics itself takes.
_OPTIONS = (
    "compute_on_cpu", "compute_with_cache", "dist_sync_fn", "dist_sync_on_step", "distributed_available_fn",
    "process_group", "sync_on_compute",
)  # fmt: skip
# What is kept of rows, in the same types by all processes.
_ROWS = {"preds": torch.float64, "target": torch.float64, "indexes": torch.int64}


class TorchMetric(torchmetrics.Metric):  # type: ignore[misc]
    """Metrics of batches of scores and labels, reduced over processes as torchmetrics does it.

    `metric.update(preds, target, indexes=indexes)` takes rows, as torchmetrics' retrieval metrics do: `indexes` has the
    query of each row, and a query's rows may come in several batches and processes. All rows are kept then.
    `metric.update(preds, target, mask=None)` takes matrices of shape (batch, items), one row a query: sums are kept.
    A query that a sampler repeats, to give each process as many as the others, counts twice.

    `compute` gives a number, or a dict by name if there are several metrics. The definitions are those of torchmetrics,
    computed in float64. Choices are made as in `rs.evaluate`, and torchmetrics' own options (`process_group=`,
    `dist_sync_on_step=`, ...) are taken too.
    """

    is_differentiable = False
    full_state_update = False
    preds: Any
    target: Any
    indexes: Any
    sums: torch.Tensor

    def __init__(
        self,
        metrics: Metrics,
        *,
        convention: str | Convention = "torchmetrics",
        **choices: Any,  # or an option of torchmetrics
    ) -> None:
        super().__init__(**{name: choices.pop(name) for name in _OPTIONS if name in choices})
        self._asked = metrics if isinstance(metrics, (str, Metric)) else tuple(metrics)
        self._convention, self._choices = find_convention(convention), choices
        plans = self._accumulator().plans
        refuse_unknown(plans, Feeding(weights="a TorchMetric is given none"))
        self.add_state("sums", torch.zeros(len(plans), 3, dtype=torch.float64), dist_reduce_fx="sum")
        for name in _ROWS:
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(
        self,
        preds: torch.Tensor,
        target: torch.Tensor,
        indexes: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
    ) -> None:
        """Measure a batch."""
        if preds.shape != target.shape:
            raise ValueError(f"preds have shape {tuple(preds.shape)} but target {tuple(target.shape)}")
        if indexes is None:
            if preds.ndim != 2:
                raise ValueError(
                    f"without indexes, preds are a matrix of one row a query, not {preds.ndim}-dimensional"
                )
            found = self._measured(_array(target), _array(preds), mask=None if mask is None else _array(mask))
            self.sums += torch.tensor(found.sums(), dtype=torch.float64, device=self.sums.device)
            return
        if indexes.shape != preds.shape:
            raise ValueError(f"preds have shape {tuple(preds.shape)} but indexes {tuple(indexes.shape)}")
        if indexes.is_floating_point():
            raise TypeError(f"indexes are {indexes.dtype}; they must be whole numbers, the query of each row")
        keep = slice(None) if mask is None else mask.flatten()
        for name, rows in zip(_ROWS, (preds, target, indexes), strict=True):
            getattr(self, name).append(rows.detach().flatten()[keep].to(_ROWS[name]))

    def sync(self, *args: object, **kwargs: object) -> None:
        """Gather the states of all processes, also where one of them has had no rows."""
        for name, dtype in _ROWS.items():
            if isinstance(getattr(self, name), list):
                getattr(self, name).append(torch.zeros(0, dtype=dtype, device=self.sums.device))
        super().sync(*args, **kwargs)

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """The means over all queries so far."""
        sums = self.sums.cpu().numpy()
        if len(self.indexes):
            preds, target, query = (dim_zero_cat(getattr(self, name)).cpu().numpy() for name in _ROWS)
            item = np.arange(len(preds))
            found = self._measured(
                columns(query=query, item=item, grade=target), columns(query=query, item=item, score=preds)
            )
            sums = sums + np.array(found.sums())
        whole = [Sums(top, bottom, int(queries)) for top, bottom, queries in sums.tolist()]
        means = {
            self._convention.label(label): torch.tensor(mean, dtype=torch.float64, device=self.sums.device)
            for label, mean in self._measured({}, {}).means(whole).items()
        }
        return next(iter(means.values())) if len(means) == 1 else means

    @property
    def higher_is_better(self) -> bool | None:
        """Of all its metrics; None where they differ."""
        better = {plan.metric.declaration.better for plan in self._accumulator().plans}
        return {"higher": True, "lower": False}.get(better.pop()) if len(better) == 1 else None

    def _accumulator(self) -> Accumulator:
        return Accumulator(self._asked, convention=self._convention, keep=False, **self._choices)

    def _measured(self, truth: Truth, run: Run, mask: Array | None = None) -> Accumulator:
        accumulator = self._accumulator()
        accumulator.update(truth, run, mask=mask)
        return accumulator


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    """A NumPy array, which knows no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
