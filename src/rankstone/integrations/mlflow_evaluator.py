"""An evaluator for `mlflow.evaluate(..., model_type="retriever", evaluators="rankstone")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mlflow
from mlflow.models import EvaluationResult
from mlflow.models.evaluation import ModelEvaluator

from rankstone.errors import InputError
from rankstone.evaluate.evaluate import evaluate
from rankstone.integrations.experiment_log import log

if TYPE_CHECKING:
    from mlflow.data.evaluation_dataset import EvaluationDataset
    from mlflow.pyfunc import PyFuncModel


class MlflowEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Metrics of retrieved documents, logged to MLflow's run with the values per query and a report.

    Targets are the relevant ids of each row, predictions (or what the model returns) the retrieved ids, best first.
    `evaluator_config` has the metrics, and any argument of `rs.evaluate`; `"query"` names a column of query ids.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, object], **kwargs: object) -> bool:
        """Whether it is asked for: MLflow asks all installed evaluators where none is named.

        Parameters
        ----------
        model_type : str
            Must be "retriever".
        evaluator_config : dict
            Must have "metrics".
        **kwargs
            Ignored.
        """
        return model_type == "retriever" and "metrics" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        dataset: EvaluationDataset,
        evaluator_config: Mapping[str, object],
        model: PyFuncModel | None = None,
        predictions: str | None = None,
        **kwargs: object,
    ) -> EvaluationResult:
        """Evaluate, and log to the active run.

        Parameters
        ----------
        dataset : EvaluationDataset
            Features, targets and maybe predictions.
        evaluator_config : dict
            Metrics and arguments of `rs.evaluate`.
        model : PyFuncModel, optional
            What retrieves, if the dataset has no predictions.
        predictions : str, optional
            The column of the model's output.
        **kwargs
            Ignored.
        """
        choices: dict[str, Any] = dict(evaluator_config)
        metrics, query = choices.pop("metrics"), choices.pop("query", None)
        if not dataset.has_targets:
            raise InputError("there are no relevant ids: name their column, mlflow.evaluate(..., targets='relevant')")
        returned = dataset.predictions_data if model is None else model.predict(dataset.features_data)
        if returned is None:
            raise InputError("there are no retrieved ids: name their column, mlflow.evaluate(..., predictions='ids')")
        if hasattr(returned, "columns"):
            returned = returned[predictions or returned.columns[0]]
        ids = range(len(dataset.labels_data)) if query is None else dataset.features_data[query]
        truth, run = (_by_query(ids, rows) for rows in (dataset.labels_data, returned))
        result = evaluate(truth, run, metrics, **choices)
        return EvaluationResult(log(result, mlflow), {})


def _by_query(ids: Any, rows: Any) -> dict[Any, Any]:
    by_query = dict(zip(ids, rows, strict=True))
    if len(by_query) < len(ids):
        raise InputError("two rows have the same query id")
    return by_query
