"""rankstone's metrics in other libraries. Each name is loaded when it is first asked for.

`lightgbm`, `xgboost` and `catboost` make metrics for training, `scorer` makes one for scikit-learn, `TorchMetric` is a
metric for torchmetrics and Lightning, `ir_measures` lets that library compute by rankstone,
`InformationRetrievalEvaluator` evaluates models of sentence-transformers, `MlflowEvaluator` is for `mlflow.evaluate`,
`log` sends a result to an experiment tracker. A number is that of the library's own metric, unless another convention
is named.
"""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from rankstone.integrations.boosting import catboost, lightgbm, xgboost
    from rankstone.integrations.experiment_log import log
    from rankstone.integrations.ir_measures_provider import ir_measures
    from rankstone.integrations.mlflow_evaluator import MlflowEvaluator
    from rankstone.integrations.scikit_learn import scorer
    from rankstone.integrations.sentence_transformer import InformationRetrievalEvaluator
    from rankstone.integrations.torchmetric import TorchMetric

_LATER = {
    "InformationRetrievalEvaluator": "sentence_transformer",
    "MlflowEvaluator": "mlflow_evaluator",
    "TorchMetric": "torchmetric",
    "catboost": "boosting",
    "ir_measures": "ir_measures_provider",
    "lightgbm": "boosting",
    "log": "experiment_log",
    "scorer": "scikit_learn",
    "xgboost": "boosting",
}

__all__ = [
    "InformationRetrievalEvaluator",
    "MlflowEvaluator",
    "TorchMetric",
    "catboost",
    "ir_measures",
    "lightgbm",
    "log",
    "scorer",
    "xgboost",
]


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return __all__
