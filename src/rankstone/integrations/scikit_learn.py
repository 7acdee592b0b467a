"""A scorer for scikit-learn's model selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import make_plans
from rankstone.data.columns import columns
from rankstone.errors import InputError
from rankstone.evaluate.evaluate import evaluate
from rankstone.metrics.registry import ByName, Metric, Value

if TYPE_CHECKING:
    from rankstone.typing import Column, Numbers

_RESPONSES = ("decision_function", "predict_proba", "predict")


def scorer(
    metric: str | Metric,
    *,
    groups: str | int | None = None,
    convention: str | Convention = "scikit-learn",
    **choices: Value,
) -> Callable[..., float]:
    """A scorer for `cross_val_score`, `GridSearchCV` and others, in which the rows of a query are one list.

    Parameters
    ----------
    metric : str or Metric
        The metric. The score is its negative if lower is better.
    groups : str or int, optional
        The column of X, by name or number, with the query of each row. Without it, the groups come by metadata routing:
        `sklearn.set_config(enable_metadata_routing=True)`, then `cross_val_score(..., params={"groups": groups})` or
        `search.fit(X, y, groups=groups)`.
    convention : str or Convention, default "scikit-learn"
        The definitions of a library or a preset.
    **choices
        Any choice of `rs.evaluate`.

    Returns
    -------
    callable
        Pass it as `scoring=`.
    """
    from sklearn import get_config
    from sklearn.metrics import make_scorer

    score = _Score(metric, convention, choices)
    if groups is not None:
        return _ByColumn(score, groups)
    routed = make_scorer(score, **score.options)
    return routed.set_score_request(groups=True) if get_config()["enable_metadata_routing"] else routed


class _Score:
    """The number, from labels, predictions and groups. A class, so that it can be pickled with a search."""

    def __init__(self, metric: str | Metric, convention: str | Convention, choices: ByName) -> None:
        plans = make_plans(metric, convention, choices)
        if len(plans) != 1:
            raise InputError(f"a scorer gives one number, not {', '.join(plan.label for plan in plans)}")
        self.__name__ = find_convention(convention).label(plans[0].label)
        self._label = plans[0].label
        self.options = {
            "response_method": _RESPONSES,
            "greater_is_better": plans[0].metric.declaration.better != "lower",
        }
        self._arguments = (metric, convention, choices)

    def __call__(self, y_true: Numbers, y_score: Numbers, groups: Column | None = None) -> float:
        if groups is None:
            raise InputError(
                "the scorer got no groups: name their column, scorer(..., groups='query'), or route them: "
                "set_config(enable_metadata_routing=True) and params={'groups': ...}"
            )
        metric, convention, choices = self._arguments
        labels = np.asarray(y_true)
        item = np.arange(len(labels))
        truth = columns(query=groups, item=item, grade=labels)
        run = columns(query=groups, item=item, score=np.asarray(y_score))
        return float(evaluate(truth, run, metric, convention=convention, **choices)[self._label])


class _ByColumn:
    """The scorer that finds the groups in a column of X."""

    def __init__(self, score: _Score, column: str | int) -> None:
        self._score, self._column = score, column

    def __call__(self, estimator: Any, x: Any, y: Any) -> float:
        from sklearn.metrics import make_scorer

        groups = x[self._column] if hasattr(x, "columns") else np.asarray(x)[:, int(self._column)]
        if getattr(groups, "dtype", None) == np.float64:  # in a matrix of floats, ids are floats too
            groups = np.unique(groups, return_inverse=True)[1]
        return make_scorer(self._score, groups=groups, **self._score.options)(estimator, x, y)
