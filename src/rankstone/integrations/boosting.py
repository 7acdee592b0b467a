"""Metrics for LightGBM, XGBoost and CatBoost while they train. None of them is imported here: they hand over arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankstone.align.ranked import Floats, Ints
from rankstone.answers.result import Result
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import make_plans
from rankstone.inputs.lists import ListPair, labelled
from rankstone.measure.sources import evaluate_source
from rankstone.metrics.registry import Metric

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.typing import Array, Keywords, Metrics, Numbers


class Pool(Protocol):
    """A `catboost.Pool`, as far as it is looked at."""

    def get_label(self) -> Numbers: ...
    def get_group_id_hash(self) -> Numbers | None: ...


def lightgbm(
    metrics: Metrics, *, convention: str | Convention = "lightgbm", **choices: Unpack[Keywords]
) -> Callable[[Any, Any], list[tuple[str, float, bool]]]:
    """A `feval` for LightGBM: `lgb.train(..., feval=rs.integrations.lightgbm(["ndcg@10", "ap"]))`.

    Its numbers are called `rs.ndcg@10 (lightgbm)` and so on. For early stopping on the first of them alone, train with
    `metric="None"` and `lgb.early_stopping(..., first_metric_only=True)`. Weights of rows are averaged by query, as
    LightGBM does it.
    """
    hook = _Hook(metrics, convention, choices)

    def feval(predictions: Any, data: Any) -> list[tuple[str, float, bool]]:
        sizes = data.get_group()
        if sizes is None:
            raise ValueError(
                "the LightGBM data has no groups: give Dataset(..., group=) the number of rows of each query"
            )
        offsets = _offsets(sizes)
        weights = data.get_weight()
        if weights is not None:
            weights = _mean_weights(np.asarray(weights, dtype=np.float32), offsets)
        found = hook(data.get_label(), predictions, offsets, weights)
        return [(hook.name(label), found[label], higher) for label, higher in hook.higher.items()]

    return feval


def xgboost(
    metrics: Metrics, *, convention: str | Convention = "xgboost", **choices: Unpack[Keywords]
) -> Callable[[Any, Any], list[tuple[str, float]]]:
    """A `custom_metric` for XGBoost: `xgb.train(..., custom_metric=rs.integrations.xgboost("ndcg@10"))`.

    Its numbers are called `rs.ndcg@10 (xgboost)` and so on; XGBoost rounds what a custom metric says to 6 decimals. For
    early stopping: `xgb.callback.EarlyStopping(rounds, metric_name="rs.ndcg@10 (xgboost)", maximize=True)`. Weights are
    those of the groups.
    """
    hook = _Hook(metrics, convention, choices)

    def custom_metric(predictions: Any, data: Any) -> list[tuple[str, float]]:
        offsets = np.asarray(data.get_uint_info("group_ptr"), dtype=np.int64)
        if len(offsets) == 0:
            raise ValueError("the XGBoost data has no groups: give DMatrix(..., qid=) the query of each row")
        weights = data.get_weight()
        found = hook(data.get_label(), predictions, offsets, weights if len(weights) else None)
        return [(hook.name(label), found[label]) for label in hook.higher]

    return custom_metric


def catboost(
    metric: str | Metric, *pools: Pool, convention: str | Convention = "catboost", **choices: Unpack[Keywords]
) -> _CatBoostMetric:
    """An `eval_metric` for CatBoost: `CatBoost({"eval_metric": rs.integrations.catboost("ndcg@10", train, valid)})`.

    CatBoost tells a metric nothing of groups, so it is given the pools it will be asked about, with their group ids;
    they are told apart by their labels. The number is called `rs.ndcg@10 (catboost)`. It is what early stopping looks
    at, as with every `eval_metric`.
    """
    hook = _Hook(metric, convention, choices)
    if len(hook.higher) != 1:
        raise ValueError(f"CatBoost takes one eval_metric, not {', '.join(hook.higher)}")
    label, higher = next(iter(hook.higher.items()))
    known = list(map(_Pool, pools))
    if not known:
        raise ValueError(
            "name the pools too, as CatBoost tells a metric nothing of groups: catboost(metric, train, valid)"
        )
    return type(hook.name(label), (_CatBoostMetric,), {})(hook, higher, known)


class _CatBoostMetric:
    no_jit = True  # or CatBoost would try to compile it, where it finds Numba

    def __init__(self, hook: _Hook, higher: bool, pools: list[_Pool]) -> None:
        self._hook, self._higher, self._pools = hook, higher, pools

    def is_max_optimal(self) -> bool:
        return self._higher

    def get_final_error(self, error: float, weight: float) -> float:
        return error

    def evaluate(self, approxes: Sequence[Array], target: Numbers, weight: Numbers | None) -> tuple[float, float]:
        labels = np.asarray(target, dtype=np.float32)
        offsets = {pool.offsets.tobytes(): pool.offsets for pool in self._pools if np.array_equal(pool.labels, labels)}
        if len(offsets) != 1:
            which = "two of the pools that were given have these labels but other groups" if offsets else (
                "the pool with these labels was not given"
            )  # fmt: skip
            raise ValueError(f"cannot tell the groups of {len(labels)} rows: {which}")
        starts = next(iter(offsets.values()))
        weights = None if weight is None else np.asarray(weight)[starts[:-1]]
        return next(iter(self._hook(target, approxes[0], starts, weights).values())), 1.0


class _Pool:
    """A pool's labels, and where its groups start."""

    def __init__(self, pool: Pool) -> None:
        hashes = pool.get_group_id_hash()
        if hashes is None:
            raise ValueError("a pool has no groups: give Pool(..., group_id=) the query of each row")
        self.labels = np.asarray(pool.get_label(), dtype=np.float32)
        hashes = np.asarray(hashes)
        changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
        self.offsets: Ints = np.concatenate(([0], changes, [len(hashes)])).astype(np.int64)


class _Hook:
    """Some metrics of labels and scores, row by row, with each query's rows together."""

    def __init__(self, metrics: Metrics, convention: str | Convention, choices: Keywords) -> None:
        plans = make_plans(metrics, convention, choices)
        self.higher = {plan.label: plan.metric.declaration.better != "lower" for plan in plans}
        self._metrics: Sequence[Metric] = [plan.metric for plan in plans]
        self._pooled = [plan.label for plan in plans if plan.choices["averaging"] == "one_list"]
        self._convention, self._choices = find_convention(convention), choices
        self.name = self._convention.label

    def __call__(self, labels: Numbers, scores: Array, offsets: Ints, weights: Floats | None) -> Result:
        choices = self._choices
        if weights is not None:
            if self._pooled:
                raise ValueError(f"{self._pooled[0]} is over all rows as one list, and knows no weights")
            choices = {**choices, "averaging": "weighted"}
        grades = np.asarray(labels, dtype=np.float64)
        items = np.arange(len(grades))
        source = ListPair(*labelled(items, grades, np.asarray(scores), offsets))
        return evaluate_source(source, self._metrics, self._convention, weights, 0, choices)


def _offsets(sizes: Numbers) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.asarray(sizes, dtype=np.int64))))


def _mean_weights(weights: NDArray[np.float32], offsets: Ints) -> Floats:
    """Each query's mean weight as LightGBM has it: added from first to last in float32."""
    sums = [np.add.accumulate(rows)[-1] for rows in np.split(weights, offsets[1:-1])]
    return (np.array(sums, dtype=np.float32) / np.diff(offsets).astype(np.float32)).astype(np.float64)
