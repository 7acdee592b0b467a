"""Metrics for LightGBM, XGBoost and CatBoost while they train. They pass arrays, so none of them is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import make_plans
from rankstone.data.lists import ListPair, labelled
from rankstone.errors import InputError
from rankstone.evaluate.measurement import evaluate_source
from rankstone.metrics.registry import ByName, Metric, Value
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Array, Metrics, Numbers


_HIGHER = ("auc", "pre", "map", "ndcg")  # how names begin that XGBoost's early stopping takes for better when higher


class CatBoostPool(Protocol):
    """The methods of a `catboost.Pool` that are used."""

    def get_label(self) -> Numbers: ...
    def get_group_id_hash(self) -> Numbers | None: ...


def lightgbm(metrics: Metrics, *, convention: str | Convention = "lightgbm", **choices: Value) -> _LightGBMMetric:
    """A metric for LightGBM, as `feval` of `lgb.train` and as `eval_metric` of `LGBMRanker.fit`.

    The values are named `rs.ndcg@10 (lightgbm)` and so on. For early stopping on the first of them only, train with
    `metric="None"` and `lgb.early_stopping(..., first_metric_only=True)`. Weights of rows are averaged per query, as
    in LightGBM.

    Parameters
    ----------
    metrics : str, Metric or sequence of these
        The metrics.
    convention : str or Convention, default "lightgbm"
        The definitions of a library or a preset.
    **choices
        Any choice of `rs.evaluate`.

    Returns
    -------
    callable
        Pass it to `lgb.train(..., feval=)` or `LGBMRanker().fit(..., eval_metric=)`.
    """
    return _LightGBMMetric(_Hook(metrics, convention, choices))


def xgboost(metrics: Metrics, *, convention: str | Convention = "xgboost", **choices: Value) -> _XGBoostMetric:
    """A metric for XGBoost, as `custom_metric` of `xgb.train` and as `eval_metric` of `XGBRanker`.

    The values are named `rs.ndcg@10(xgboost)` and so on; XGBoost rounds custom metrics to 6 decimals. For early
    stopping: `xgb.callback.EarlyStopping(rounds, metric_name="rs.ndcg@10(xgboost)", maximize=True)`. Weights are those
    of the groups.

    XGBRanker takes one metric, calls it once per query, and averages by its own rule: the weight of a query is its
    number of rows, and a query with a single row scores 1. Its value is therefore named
    `ndcg@10(rankstone,xgboost,by-rows)`, which `early_stopping_rounds` of XGBRanker maximises.

    Parameters
    ----------
    metrics : str, Metric or sequence of these
        The metrics; one for XGBRanker.
    convention : str or Convention, default "xgboost"
        The definitions of a library or a preset.
    **choices
        Any choice of `rs.evaluate`.

    Returns
    -------
    callable
        Pass it to `xgb.train(..., custom_metric=)` or `xgb.XGBRanker(eval_metric=)`.
    """
    return _XGBoostMetric(_Hook(metrics, convention, choices))


def catboost(
    metric: str | Metric, *pools: CatBoostPool, convention: str | Convention = "catboost", **choices: Value
) -> _CatBoostMetric:
    """An `eval_metric` for CatBoost: `CatBoost({"eval_metric": rs.integrations.catboost("ndcg@10", train, valid)})`.

    CatBoost does not pass groups to a metric, so the pools are passed here; they are distinguished by their labels. The
    value is named `rs.ndcg@10 (catboost)`. Early stopping uses it, as any `eval_metric`.

    Parameters
    ----------
    metric : str or Metric
        The metric.
    *pools : catboost.Pool
        All pools to evaluate, with group ids.
    convention : str or Convention, default "catboost"
        The definitions of a library or a preset.
    **choices
        Any choice of `rs.evaluate`.

    Returns
    -------
    object
        An `eval_metric` of CatBoost.

    Raises
    ------
    ValueError
        If there are several metrics, no pools, or a pool without groups.
    """
    hook = _Hook(metric, convention, choices)
    if len(hook.higher) != 1:
        raise InputError(f"CatBoost takes one eval_metric, not {', '.join(hook.higher)}")
    label, higher = next(iter(hook.higher.items()))
    labelled_pools = list(map(_Pool, pools))
    if not labelled_pools:
        raise InputError(
            "pass the pools too, as CatBoost does not pass groups to a metric: catboost(metric, train, valid)"
        )
    return _named(hook.name(label), hook, higher, labelled_pools)


def _named(name: str, hook: _Hook, higher: bool, pools: list[_Pool]) -> _CatBoostMetric:
    """CatBoost calls a metric by the name of its class."""
    return type(name, (_CatBoostMetric,), {})(hook, higher, pools)


class _LightGBMMetric:
    def __init__(self, hook: _Hook) -> None:
        self._hook = hook

    # LGBMRanker counts the parameters: a metric of four gets the groups.
    def __call__(
        self, first: Any, second: Any, weight: Numbers | None = None, group: Numbers | None = None
    ) -> list[tuple[str, float, bool]]:
        """`(predictions, Dataset)` from `lgb.train`, `(labels, predictions, weight, group)` from `LGBMRanker`."""
        labels, scores = first, second
        if hasattr(second, "get_group"):
            labels, scores, weight, group = second.get_label(), first, second.get_weight(), second.get_group()
        if group is None:
            raise InputError(
                "the LightGBM data has no groups: give Dataset(..., group=), or fit(..., group=, eval_group=) of "
                "LGBMRanker, the number of rows of each query"
            )
        offsets = np.append(0, np.cumsum(np.asarray(group, dtype=np.int64)))
        weights = None if weight is None else _mean_weights(np.asarray(weight, dtype=np.float32), offsets)
        result = self._hook(labels, scores, offsets, weights)
        return [(self._hook.name(label), result[label], higher) for label, higher in self._hook.higher.items()]


class _XGBoostMetric:
    def __init__(self, hook: _Hook) -> None:
        self._hook = hook
        self.__name__ = hook.name_for_xgbranker  # XGBRanker asks for it

    def __call__(self, first: Any, second: Any) -> list[tuple[str, float]] | float:
        """`(predictions, DMatrix)` from `xgb.train`, `(labels, predictions)` of one query from `XGBRanker`."""
        if not hasattr(second, "get_uint_info"):
            return self._of_one_query(first, second)
        offsets = np.asarray(second.get_uint_info("group_ptr"), dtype=np.int64)
        if len(offsets) == 0:
            raise InputError("the XGBoost data has no groups: give DMatrix(..., qid=) the query of each row")
        weights = second.get_weight()
        result = self._hook(second.get_label(), first, offsets, weights if len(weights) else None)
        return [(_unbroken(self._hook.name(label)), result[label]) for label in self._hook.higher]

    def _of_one_query(self, labels: Any, scores: Any) -> float:
        if problem := self._hook.not_for_xgbranker:
            raise InputError(f"{problem}; xgb.train(..., custom_metric=) can do it")
        offsets = np.array([0, len(labels)])
        value = next(iter(self._hook(labels, scores, offsets, None).values()))
        if np.isnan(value):
            raise InputError(
                "a query has no value, and XGBRanker leaves no query out; xgb.train(..., custom_metric=) can do it"
            )
        return value


class _CatBoostMetric:
    no_jit = True  # or CatBoost would try to compile it, where it finds Numba

    def __init__(self, hook: _Hook, higher: bool, pools: list[_Pool]) -> None:
        self._hook, self._higher, self._pools = hook, higher, pools

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (type(self).__name__, self._hook, self._higher, self._pools)

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
            raise InputError(f"the groups of {len(labels)} rows are unknown: {which}")
        starts = next(iter(offsets.values()))
        weights = None if weight is None else np.asarray(weight)[starts[:-1]]
        return next(iter(self._hook(target, approxes[0], starts, weights).values())), 1.0


class _Pool:
    """A pool's labels, and where its groups start."""

    def __init__(self, pool: CatBoostPool) -> None:
        hashes = pool.get_group_id_hash()
        if hashes is None:
            raise InputError("a pool has no groups: give Pool(..., group_id=) the query of each row")
        self.labels = np.asarray(pool.get_label(), dtype=np.float32)
        hashes = np.asarray(hashes)
        changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
        self.offsets: Ints = np.concatenate(([0], changes, [len(hashes)])).astype(np.int64)


class _Hook:
    """Some metrics of labels and scores, row by row, with each query's rows together."""

    def __init__(self, metrics: Metrics, convention: str | Convention, choices: ByName) -> None:
        plans = make_plans(metrics, convention, choices)
        self.higher = {plan.label: plan.metric.declaration.better != "lower" for plan in plans}
        self._metrics: Sequence[Metric] = [plan.metric for plan in plans]
        self._pooled = [plan.label for plan in plans if plan.averaging.pooled]
        self._other_means = [plan.choices["averaging"] for plan in plans if not plan.averaging.plain]
        self._convention, self._choices = find_convention(convention), choices

    def name(self, label: str) -> str:
        """The name, distinct from that of the library's own metric."""
        return self._convention.label(label)

    @property
    def name_for_xgbranker(self) -> str:
        """Such that its early stopping knows whether higher is better."""
        metric = self._metrics[0]
        label = self._spelled(metric) if self.higher[str(metric)] else f"rs.{metric}"
        return _unbroken(f"{label}(rankstone,{self._convention.name},by-rows)")

    @property
    def not_for_xgbranker(self) -> str:
        """Why XGBRanker, which asks for each query by itself and averages, cannot give the number."""
        metric = self._metrics[0]
        if len(self._metrics) > 1:
            return f"XGBRanker takes one eval_metric, not {', '.join(self.higher)}"
        if self._other_means:
            return f"XGBRanker averages by itself, which is not averaging={self._other_means[0]!r}"
        if self.higher[str(metric)] and not self._spelled(metric).startswith(_HIGHER):
            return f"XGBRanker's early stopping would take {metric} for an error, and look for the lowest"
        return ""

    @staticmethod
    def _spelled(metric: Metric) -> str:
        """The metric by the one of its names that XGBoost takes for better when higher, if there is one."""
        name = metric.declaration.name
        names = [name, *metric.declaration.aliases]
        return str(metric).replace(name, next((one for one in names if one.startswith(_HIGHER)), name), 1)

    def __call__(self, labels: Numbers, scores: Array, offsets: Ints, weights: Floats | None) -> Result:
        choices = self._choices
        if weights is not None:
            if self._pooled:
                raise InputError(f"{self._pooled[0]} is over all rows as one list, and has no weights")
            choices = {**choices, "averaging": "weighted"}
        grades = np.asarray(labels, dtype=np.float64)
        items = np.arange(len(grades))
        source = ListPair(*labelled(items, grades, np.asarray(scores), offsets))
        return evaluate_source(source, self._metrics, self._convention, weights, 0, choices)


def _unbroken(name: str) -> str:
    """XGBoost prints its numbers into a line, and reads that again, word by word."""
    return "".join(name.split())


def _mean_weights(weights: NDArray[np.float32], offsets: Ints) -> Floats:
    """Each query's mean weight as LightGBM has it: added from first to last in float32."""
    sums = [np.add.accumulate(rows)[-1] for rows in np.split(weights, offsets[1:-1])]
    return (np.array(sums, dtype=np.float32) / np.diff(offsets).astype(np.float32)).astype(np.float64)
