"""`TorchMetric`: rankstone's metrics for torchmetrics, and so for Lightning and `torch.distributed`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torchmetrics
from numpy.typing import NDArray
from torchmetrics.utilities.data import dim_zero_cat

from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Capabilities, check_supported, make_plans
from rankstone.data.columns import columns
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.accumulate import Accumulator
from rankstone.evaluate.means import Sums
from rankstone.evaluate.partial import settings_of
from rankstone.metrics.registry import as_tuple

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
    """rankstone's metrics as a `torchmetrics.Metric`, reduced over processes by torchmetrics.

    `update(preds, target, indexes=indexes)` takes rows, as torchmetrics' retrieval metrics do; the rows of a query may
    come in several batches and processes, so all rows are stored. `update(preds, target, mask=None)` takes matrices of
    shape (batch, items), one row per query, and stores sums; `update(ids, relevant)` takes the ids of the first items
    and a list of relevant ids per query. A query that a distributed sampler repeats counts twice.

    Lightning logs one metric with `self.log("ndcg", metric)`, several with `self.log_dict(metric)`. Values are computed
    in float64.

    Parameters
    ----------
    metrics : str, Metric or sequence of these
        The metrics.
    convention : str or Convention, default "torchmetrics"
        The definitions of a library or a preset.
    **choices
        Any choice of `rs.evaluate`, and options of torchmetrics (`process_group=`, `dist_sync_on_step=`, ...).
    """

    is_differentiable = False
    full_state_update = False
    preds: Any
    target: Any
    indexes: Any

    def __new__(cls, metrics: Metrics, *, convention: str | Convention = "torchmetrics", **choices: Any) -> TorchMetric:
        """Each has a class of its own, since a `MetricCollection` calls its metrics by the names of their classes."""
        own = {name: value for name, value in choices.items() if name not in _OPTIONS}
        label = find_convention(convention).label(", ".join(p.label for p in make_plans(metrics, convention, own)))
        return _blank(cls, label.replace(".", "_"))  # torch has no dots in names

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self).__mro__[1], type(self).__name__), self.__getstate__()

    def __init__(
        self,
        metrics: Metrics,
        *,
        convention: str | Convention = "torchmetrics",
        **choices: Any,  # or an option of torchmetrics
    ) -> None:
        super().__init__(**{name: choices.pop(name) for name in _OPTIONS if name in choices})
        self._asked = as_tuple(metrics)
        self._convention, self._choices = find_convention(convention), choices
        plans = self._accumulator().plans
        check_supported(
            plans,
            Capabilities(weights="a TorchMetric is given none", annotations="a TorchMetric is given grades alone"),
        )
        # A MetricCollection takes metrics for one whose states have the same names and, once, the same values.
        settings = repr(settings_of(plans)).encode()
        self._sums = f"sums_{blake2b(settings, digest_size=8).hexdigest()}"
        self.add_state(self._sums, torch.zeros(len(plans), 3, dtype=torch.float64), dist_reduce_fx="sum")
        for name in _ROWS:
            self.add_state(name, [], dist_reduce_fx="cat")
        names = [self._convention.label(plan.label) for plan in plans]
        self._parts = torch.nn.ModuleList([_Part(self, name) for name in names] if len(names) > 1 else [])
        self._names = names

    @property
    def sums(self) -> torch.Tensor:
        """The sums of the means, one row per metric."""
        return getattr(self, self._sums)

    def items(self) -> Iterator[tuple[str, torchmetrics.Metric]]:
        """Each metric by its name, as Lightning's `log_dict` asks for them."""
        return zip(self._names, self._parts or [self], strict=True)

    def update(
        self,
        preds: torch.Tensor,
        target: Any,
        indexes: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        preds, target : Tensor, or Tensor and list
            Predicted scores and true grades. Or item ids: preds is a matrix of whole numbers, one row per query, best
            first (such as the indices of `torch.topk`), and target a list with the relevant ids of each query.
        indexes : Tensor, optional
            The query of each row; without it, preds is a matrix with one row per query.
        mask : Tensor of bool, optional
            True for real items, False for padding.
        """
        if isinstance(target, (list, tuple)):
            self._add(self._of_ids(preds, target, indexes, mask))
            return
        if preds.shape != target.shape:
            raise InputError(f"preds have shape {tuple(preds.shape)} but target {tuple(target.shape)}")
        if indexes is None:
            if preds.ndim != 2:
                raise InputError(
                    f"without indexes, preds are a matrix of one row per query, not {preds.ndim}-dimensional"
                )
            self._add(self._measured(_array(target), _array(preds), mask=None if mask is None else _array(mask)))
            return
        if indexes.shape != preds.shape:
            raise InputError(f"preds have shape {tuple(preds.shape)} but indexes {tuple(indexes.shape)}")
        if indexes.is_floating_point():
            raise InputTypeError(f"indexes are {indexes.dtype}; they must be whole numbers, the query of each row")
        keep = slice(None) if mask is None else mask.flatten()
        for name, rows in zip(_ROWS, (preds, target, indexes), strict=True):
            getattr(self, name).append(rows.detach().flatten()[keep].to(_ROWS[name]))

    def _add(self, batch: Accumulator) -> None:
        more = torch.tensor(batch.sums(), dtype=torch.float64, device=self.sums.device)
        setattr(self, self._sums, self.sums + more)

    def _of_ids(
        self, preds: torch.Tensor, target: Sequence[Any], indexes: Any, mask: torch.Tensor | None
    ) -> Accumulator:
        if indexes is not None or preds.ndim != 2 or preds.is_floating_point() or len(preds) != len(target):
            raise InputError(
                f"target is a list of {len(target)} lists of relevant ids, so preds must be a matrix of ids, one row "
                f"per query and without indexes, not {preds.dtype} of shape {tuple(preds.shape)}"
            )
        if any(plan.choices["unjudged"] == "only_returned" for plan in self._accumulator().plans):
            raise InputError(
                f"convention {self._convention.name!r} reads returned items only: relevant ids outside the lists "
                "would be ignored; write TorchMetric(..., convention='rankstone')"
            )
        rows, keep = _array(preds), None if mask is None else _array(mask)
        run = {at: (row if keep is None else row[keep[at]]).tolist() for at, row in enumerate(rows)}
        truth = {at: _array(ids).tolist() if torch.is_tensor(ids) else list(ids) for at, ids in enumerate(target)}
        return self._measured(truth, run)

    def sync(self, *args: object, **kwargs: object) -> None:
        """Gather the states of all processes, also where one of them has had no rows."""
        for name, dtype in _ROWS.items():
            if isinstance(getattr(self, name), list):
                getattr(self, name).append(torch.zeros(0, dtype=dtype, device=self.sums.device))
        super().sync(*args, **kwargs)

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """The means over all queries so far: a number, or a dict by name if there are several metrics."""
        sums = self.sums.cpu().numpy()
        if len(self.indexes):
            preds, target, query = (dim_zero_cat(getattr(self, name)).cpu().numpy() for name in _ROWS)
            item = np.arange(len(preds))
            batch = self._measured(
                columns(query=query, item=item, grade=target), columns(query=query, item=item, score=preds)
            )
            sums = sums + np.array(batch.sums())
        whole = [Sums(top, bottom, int(queries)) for top, bottom, queries in sums.tolist()]
        means = [
            torch.tensor(mean, dtype=torch.float64, device=self.sums.device)
            for mean in self._measured({}, {}).means(whole).values()
        ]
        return means[0] if len(means) == 1 else dict(zip(self._names, means, strict=True))

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


def _blank(base: type[TorchMetric], name: str) -> TorchMetric:
    return object.__new__(type(name, (base,), {}))


class _Part(torchmetrics.Metric):  # type: ignore[misc]
    """One of the metrics of a `TorchMetric`, for Lightning to log: it asks the whole for all it has."""

    full_state_update = False

    def __init__(self, whole: TorchMetric, name: str) -> None:
        super().__init__(compute_with_cache=False, sync_on_compute=False)
        self._whole = [whole]  # in a list, or torch would take the whole for a part of its part
        self._name = name

    def update(self) -> None:
        """Only the whole is updated."""
        raise InputTypeError(f"update the TorchMetric that {self._name} is a part of")

    def compute(self) -> torch.Tensor:
        return self._whole[0].compute()[self._name]

    def reset(self) -> None:
        self._whole[0].reset()

    @property
    def update_called(self) -> bool:
        return self._whole[0].update_called

    @property
    def _forward_cache(self) -> torch.Tensor | None:
        """The number of the last batch."""
        last = self._whole[0]._forward_cache
        return None if last is None else last[self._name]

    @_forward_cache.setter
    def _forward_cache(self, last: None) -> None:
        """torchmetrics sets it; it is that of the whole."""


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    """A NumPy array; bfloat16, which NumPy does not have, as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
