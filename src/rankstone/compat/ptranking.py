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
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from rankstone.align.batch import Rows
from rankstone.align.ranked import NUMPY
from rankstone.align.ranking import Relevance
from rankstone.conventions.plan import Plan, make_plans
from rankstone.measure.values import ratio_of
from rankstone.metrics.gains import exponential

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
    ranking = _List(labels, cutoffs, plan.relevance)
    if plan.metric.name not in ("precision", "ap"):  # which ask what is above 0, and NaN is not
        grade = ranking.grade
        ranking.refuse_items(~ranking.xp.isfinite(grade), "label {} is no number", grade)
        if plan.metric.name == "err":
            ranking.refuse_items(grade < 0, "label {:g} is negative, and so would be the chance to stop there", grade)
    ratio = ratio_of(replace(plan, arguments={**plan.arguments, "k": ranking.cutoffs}), ranking)
    return (ratio.numerator / ratio.denominator)[0, :]  # by k or by 1, never by 0


class _List(Rows):
    """The labels of one list in ranked order, cut at several ranks at once: a value of the list is one for each."""

    def __init__(self, labels: Any, cutoffs: NDArray[Any], rule: Relevance) -> None:
        self.xp, self.device, self.dtype = array_namespace(labels), device(labels), labels.dtype
        self.whole = self.xp.int64
        self.rule, self._memo = rule, {}
        self.retrieved = len(labels)
        self.width = self.depth = min(int(cutoffs.max()), len(labels))
        self.grade = labels[None, : self.depth]
        self.places_of = self._places
        self.cutoffs = self.constant(cutoffs[None, :])
        self._last = self.xp.asarray(np.minimum(cutoffs, self.depth) - 1, device=self.device)

    def constant(self, values: Any) -> Any:
        return self.xp.asarray(np.asarray(values), dtype=self.dtype, device=self.device)

    def _cut(self, values: Any, k: Any) -> Any:
        return self.xp.cumulative_sum(values, axis=-1)[:, self._last]

    def maximum(self, a: Any, b: Any) -> Any:
        return self.xp.where(a >= b, a, b)  # whose gradient, where they are equal, is that of the first

    def ideal(self, items: Any = "given", worth: Any = None, k: Any = None) -> Any:
        return self  # where grades that cannot be are looked for

    def refuse_items(self, items: Any, problem: str, values: Any) -> None:
        if items.any():
            raise ValueError(problem.format(float(values[items][0])))
