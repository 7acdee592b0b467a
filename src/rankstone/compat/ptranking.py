"""PT-Ranking's first metrics: `from rankstone.compat.ptranking import tor_ap_at_ks` and the like.

They take the labels of one list in ranked order: a torch tensor, a NumPy array or a list, and return the same kind. The
convention is "ptranking". A k beyond the list has the value 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone.align.functions import NUMPY
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan, make_plans
from rankstone.evaluate.values import ratio_of
from rankstone.metrics.gains import exponential
from rankstone.program.graph import Graph
from rankstone.program.ranking import Ranking
from rankstone.program.rectangular import Batch, Rectangular

if TYPE_CHECKING:
    import torch

__all__ = ["rele_gain", "tor_ap_at_ks", "tor_discounted_cumu_gain_at_ks", "tor_err_at_ks", "tor_p_at_ks"]

CONVENTION = "ptranking"

Labels: TypeAlias = "torch.Tensor | NDArray[Any] | Sequence[float]"  # torch.tensor([1.0, 0.0]), [1, 0]


def rele_gain(rele_level: float | Labels, gain_base: float = 2.0) -> Any:
    """The gain of a label, or of each label of an array."""
    return exponential(NUMPY, gain_base, np.asarray(rele_level, dtype=np.float64))


def tor_discounted_cumu_gain_at_ks(sorted_labels: Labels, max_cutoff: int, multi_level_rele: bool = True) -> Any:
    """Discounted gain at each rank down to max_cutoff."""
    if not 0 <= max_cutoff <= len(sorted_labels):
        raise ValueError(f"max_cutoff is {max_cutoff}, but the list holds {len(sorted_labels)} labels")
    if max_cutoff == 0:
        return sorted_labels[:0]
    gain = "exp2" if multi_level_rele else "linear"
    return _at_ks(_plan("dcg", gain=gain), sorted_labels, np.arange(1, max_cutoff + 1))


def tor_p_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Precision at each k."""
    return _at_ks(_plan("precision"), sys_sorted_labels, ks)


def tor_ap_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Average precision at each k, over k."""
    return _at_ks(_plan("ap"), sys_sorted_labels, ks)


def tor_err_at_ks(
    sys_sorted_labels: Labels,
    ks: Sequence[int] | None = None,
    multi_level_rele: bool = True,
    max_rele_level: float | None = None,
) -> Any:
    """Expected reciprocal rank at each k; max_rele_level is the highest label there can be."""
    if not multi_level_rele:
        raise NotImplementedError("it is defined for multi-level labels only")
    if max_rele_level is None:
        raise TypeError("max_rele_level is missing: the highest label there can be")
    return _at_ks(_plan("err", max_grade=float(max_rele_level)), sys_sorted_labels, ks)


@cache
def _plan(name: str, **choices: Any) -> Plan:
    return make_plans(name, CONVENTION, choices)[0]


def _at_ks(plan: Plan, given: Labels, ks: Sequence[int] | NDArray[Any] | None) -> Any:
    """A value for each k, in the order of ks."""
    if ks is None:
        raise TypeError("ks is missing: the ranks to cut the list at, such as [1, 5, 10]")
    cutoffs = np.asarray(ks)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        labels = given if given.dtype == torch.float64 else given.to(torch.get_default_dtype())
        if given.requires_grad or given.device.type != "cpu":
            return _values(plan, labels, cutoffs)
        return torch.from_numpy(_values(plan, labels.numpy(), cutoffs))
    values = _values(plan, np.asarray(given, dtype=np.float64), cutoffs)
    return values if isinstance(given, np.ndarray) else values.tolist()


def _values(plan: Plan, labels: Any, cutoffs: NDArray[Any]) -> Any:
    if labels.ndim != 1:
        several = f"rs.arrays.{plan.metric.name}(labels_by_rank=..., k=..., convention='ptranking')"
        raise ValueError(f"the labels have shape {tuple(labels.shape)}; give those of one list, or use {several}")
    if cutoffs.dtype.kind not in "iu" or cutoffs.ndim != 1 or cutoffs.min() < 1:
        raise ValueError(f"ks are {cutoffs.tolist()}; a list is cut at ranks, whole numbers from 1")
    if cutoffs.min() > len(labels):
        raise ValueError(f"the list holds {len(labels)} labels, fewer than each k of {cutoffs.tolist()}")
    labels = labels[: int(cutoffs.max())]
    batch = Batch(None, None, None, None, labels, ties=TIES["item_desc"], detach=False)
    batch.problems.clear()  # precision and ap ask what is above 0, and NaN is not
    if plan.metric.name not in ("precision", "ap"):
        _refuse(~batch.xp.isfinite(labels), labels, "label {} is no number")
    if plan.metric.name == "err":
        _refuse(labels < 0, labels, "label {:g} is negative, and so would be the chance to stop there")
    graph = Graph()
    ranking = Ranking(graph, batch.facts(plan.relevance))
    ratio = ratio_of(replace(plan, arguments={**plan.arguments, "k": "k"}), ranking).map(graph.of)
    last = batch.xp.asarray(np.minimum(cutoffs, batch.width) - 1, device=batch.device)
    runner = Rectangular(batch, k=batch.constant(cutoffs[None, :]), last=last)
    runner.table["maximum"] = lambda a, b: batch.xp.where(a >= b, a, b)  # whose gradient is that of the first
    top, bottom = runner.run([ratio.numerator, ratio.denominator], graph.faults, plan.metric.name, True)
    return (top / bottom)[0, :]  # by k or by 1, never by 0


def _refuse(bad: Any, labels: Any, problem: str) -> None:
    if bad.any():
        raise ValueError(problem.format(float(labels[bad][0])))
