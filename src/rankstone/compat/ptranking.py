"""PT-Ranking's first metrics: `from rankstone.compat.ptranking import tor_ap_at_ks` and the like.

They take the labels of one list in ranked order: a torch tensor, a NumPy array or a list, and return the same kind. The
convention is "ptranking". A k beyond the list has the value 0.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import rankstone as rs

if TYPE_CHECKING:
    import torch

__all__ = ["rele_gain", "tor_ap_at_ks", "tor_discounted_cumu_gain_at_ks", "tor_err_at_ks", "tor_p_at_ks"]

CONVENTION = "ptranking"

Labels: TypeAlias = "torch.Tensor | NDArray[Any] | Sequence[float]"  # torch.tensor([1.0, 0.0]), [1, 0]


def rele_gain(rele_level: float | Labels, gain_base: float = 2.0) -> Any:
    """The gain of a label, or of each label of an array."""
    base = np.format_float_positional(gain_base, trim="-")
    levels = np.asarray(rele_level, dtype=np.float64)
    gains = [rs.metrics.cg(labels=[level], gain=f"exp{base}", convention=CONVENTION) for level in levels.ravel()]
    return np.array(gains).reshape(levels.shape)[()]


def tor_discounted_cumu_gain_at_ks(sorted_labels: Labels, max_cutoff: int, multi_level_rele: bool = True) -> Any:
    """Discounted gain at each rank down to max_cutoff."""
    if not 0 <= max_cutoff <= len(sorted_labels):
        raise ValueError(f"max_cutoff is {max_cutoff}, but the list holds {len(sorted_labels)} labels")
    if max_cutoff == 0:
        return _like(sorted_labels, [])
    gain = "exp2" if multi_level_rele else "linear"
    return _at_ks(rs.dcg(gain=gain), sorted_labels, range(1, max_cutoff + 1))


def tor_p_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Precision at each k."""
    return _at_ks(rs.precision, sys_sorted_labels, ks)


def tor_ap_at_ks(sys_sorted_labels: Labels, ks: Sequence[int] | None = None) -> Any:
    """Average precision at each k, over k."""
    return _at_ks(rs.ap, sys_sorted_labels, ks)


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
    return _at_ks(rs.err(max_grade=max_rele_level), sys_sorted_labels, ks)


def _at_ks(metric: rs.Metric, given: Labels, ks: Sequence[int] | None) -> Any:
    """A value for each k, in the order of ks."""
    if ks is None:
        raise TypeError("ks is missing: the ranks to cut the list at, such as [1, 5, 10]")
    labels = given.tolist() if hasattr(given, "tolist") else list(given)
    if not any(k <= len(labels) for k in ks):
        raise ValueError(f"the list holds {len(labels)} labels, fewer than each k of {list(ks)}")
    if metric in (rs.precision, rs.ap):  # relevant is what is above 0, and NaN is not
        labels = [0 if math.isnan(label) else label for label in labels]
    at_ks = [metric @ k for k in ks]
    order = np.arange(len(labels), 0, -1)
    result = rs.evaluate(np.array([labels]), order[None], list(dict.fromkeys(at_ks)), convention=CONVENTION)
    return _like(given, [result[at_k] for at_k in at_ks])


def _like(given: Labels, values: list[float]) -> Any:
    """The values in the kind that the labels had."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        kind = given.dtype if given.is_floating_point() else torch.get_default_dtype()
        return torch.tensor(values, dtype=kind, device=given.device)
    return np.array(values) if isinstance(given, np.ndarray) else values
