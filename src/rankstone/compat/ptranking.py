"""PT-Ranking's first metrics: `from rankstone.compat.ptranking import tor_ap_at_ks` and the like.

They take the labels of one list in ranked order, a torch tensor, a NumPy array or a list, and return the same type. The
convention is "ptranking". The value at a k beyond the list is 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray

from rankstone.align.elementwise import NUMPY
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan, plan_one
from rankstone.errors import InputError, InputTypeError
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
    """Exponential gain of labels: gain_base ** label - 1.

    Parameters
    ----------
    rele_level : float or array of float
        Labels.
    gain_base : float, default 2.0
        Base.

    Returns
    -------
    float or array of float
        Of the same library as the labels, and of their floating type; NumPy's for numbers and lists.
    """
    labels: Any = rele_level if is_array_api_obj(rele_level) else np.asarray(rele_level)
    xp = array_namespace(labels)
    if not xp.isdtype(labels.dtype, "real floating"):
        labels = xp.astype(labels, xp.__array_namespace_info__().default_dtypes()["real floating"])
    if is_numpy_array(labels):
        return exponential(NUMPY, gain_base, labels)
    return xp.pow(xp.full_like(labels, gain_base), labels) - 1.0


def tor_discounted_cumu_gain_at_ks(sorted_labels: Labels, max_cutoff: int, multi_level_rele: bool = True) -> Any:
    """DCG at each rank from 1 to max_cutoff.

    Parameters
    ----------
    sorted_labels : tensor, array or sequence of float
        Labels of one list in ranked order.
    max_cutoff : int
        Last rank.
    multi_level_rele : bool, default True
        Exponential gain; otherwise linear.

    Returns
    -------
    tensor, array or list of float
        One value per cutoff, of the same type as the labels.
    """
    if not 0 <= max_cutoff <= len(sorted_labels):
        raise InputError(f"max_cutoff is {max_cutoff}, but the list holds {len(sorted_labels)} labels")
    if max_cutoff == 0:
        return sorted_labels[:0]
    gain = "exp2" if multi_level_rele else "linear"
    return _at_ks(_plan("dcg", gain=gain), sorted_labels, np.arange(1, max_cutoff + 1))


def tor_p_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Precision at each k.

    Parameters
    ----------
    sys_sorted_labels : tensor, array or sequence of float
        Labels of one list in ranked order.
    ks : sequence of int
        Cutoffs.

    Returns
    -------
    tensor, array or list of float
        One value per cutoff, of the same type as the labels.
    """
    return _at_ks(_plan("precision"), sys_sorted_labels, ks)


def tor_ap_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Average precision at each k, divided by k.

    Parameters
    ----------
    sys_sorted_labels : tensor, array or sequence of float
        Labels of one list in ranked order.
    ks : sequence of int
        Cutoffs.

    Returns
    -------
    tensor, array or list of float
        One value per cutoff, of the same type as the labels.
    """
    return _at_ks(_plan("ap"), sys_sorted_labels, ks)


def tor_err_at_ks(
    sys_sorted_labels: Labels,
    ks: Sequence[int] | None = None,
    multi_level_rele: bool = True,
    max_rele_level: float | None = None,
) -> Any:
    """Expected reciprocal rank (ERR) at each k.

    Parameters
    ----------
    sys_sorted_labels : tensor, array or sequence of float
        Labels of one list in ranked order.
    ks : sequence of int
        Cutoffs.
    multi_level_rele : bool, default True
        Only True is supported.
    max_rele_level : float
        Highest possible label.

    Returns
    -------
    tensor, array or list of float
        One value per cutoff, of the same type as the labels.
    """
    if not multi_level_rele:
        raise NotImplementedError("ERR is defined for multi-level labels only")
    if max_rele_level is None:
        raise InputTypeError("max_rele_level is missing: the highest possible label")
    return _at_ks(_plan("err", max_grade=float(max_rele_level)), sys_sorted_labels, ks)


@cache
def _plan(name: str, **choices: Any) -> Plan:
    return plan_one(name, CONVENTION, choices)


def _at_ks(plan: Plan, labels: Labels, ks: Sequence[int] | NDArray[Any] | None) -> Any:
    """One value per k, in the order of ks."""
    if ks is None:
        raise InputTypeError("ks is missing: the ranks to cut the list at, such as [1, 5, 10]")
    cutoffs = np.asarray(ks)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(labels, torch.Tensor):
        tensor = labels if labels.dtype == torch.float64 else labels.to(torch.get_default_dtype())
        if labels.requires_grad or labels.device.type != "cpu":
            return _values(plan, tensor, cutoffs)
        return torch.from_numpy(_values(plan, tensor.numpy(), cutoffs))
    values = _values(plan, np.asarray(labels, dtype=np.float64), cutoffs)
    return values if isinstance(labels, np.ndarray) else values.tolist()


def _values(plan: Plan, labels: Any, cutoffs: NDArray[Any]) -> Any:
    if labels.ndim != 1:
        several = f"rs.arrays.{plan.metric.name}(labels_by_rank=..., k=..., convention='ptranking')"
        raise InputError(f"the labels have shape {tuple(labels.shape)}; give those of one list, or use {several}")
    if cutoffs.dtype.kind not in "iu" or cutoffs.ndim != 1 or cutoffs.min() < 1:
        raise InputError(f"ks are {cutoffs.tolist()}; a list is cut at ranks, whole numbers from 1")
    if cutoffs.min() > len(labels):
        raise InputError(f"the list holds {len(labels)} labels, fewer than each k of {cutoffs.tolist()}")
    labels = labels[: int(cutoffs.max())]
    batch = Batch(None, None, None, None, labels, ties=TIES["item_desc"], detach=False)
    batch.problems.clear()  # precision and ap only compare with 0, so NaN is allowed
    if plan.metric.name not in ("precision", "ap"):
        _check_labels(~batch.xp.isfinite(labels), labels, "label {} is no number")
    if plan.metric.name == "err":
        _check_labels(labels < 0, labels, "label {:g} is negative, and so would be the probability to stop there")
    graph = Graph()
    ranking = Ranking(graph, batch.facts(plan.relevance))
    ratio = ratio_of(replace(plan, arguments={**plan.arguments, "k": "k"}), ranking).map(graph.of)
    last = batch.xp.asarray(np.minimum(cutoffs, batch.width) - 1, device=batch.device)
    runner = Rectangular(batch, k=batch.constant(cutoffs[None, :]), last=last)
    runner.table["maximum"] = lambda a, b: batch.xp.where(a >= b, a, b)  # with the gradient of the first
    top, bottom = runner.run([ratio.numerator, ratio.denominator], graph.faults, plan.metric.name, True)
    return (top / bottom)[0, :]  # by k or by 1, never by 0


def _check_labels(bad: Any, labels: Any, problem: str) -> None:
    if bad.any():
        raise InputError(problem.format(float(labels[bad][0])))
