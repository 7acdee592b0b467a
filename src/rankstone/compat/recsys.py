"""python-recsys: `from rankstone.compat.recsys import MAE` for `from recsys.evaluation.prediction import MAE`.

The same for `recsys.evaluation.decision` and `recsys.evaluation.ranking`. The convention is "python-recsys".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import rankstone as rs
from rankstone.typing import Id

__all__ = [
    "MAE",
    "RMSE",
    "AveragePrecision",
    "KendallTau",
    "MeanAveragePrecision",
    "MeanReciprocalRank",
    "Pearson",
    "PrecisionRecallF1",
    "ReciprocalRank",
    "SpearmanRho",
]

CONVENTION = "python-recsys"


class _Loaded:
    """What was loaded and added: the ground truth, and the test beside it."""

    metric: ClassVar[rs.Metric]

    def __init__(self, data: Iterable[tuple[Any, Any]] | None = None) -> None:
        pairs = list(data or [])
        self._ground_truth: Any = [actual for actual, _ in pairs]
        self._test: Any = [predicted for _, predicted in pairs]

    def load(self, ground_truth: Any, test: Any) -> None:
        self.load_ground_truth(ground_truth)
        self.load_test(test)

    def load_ground_truth(self, ground_truth: Any) -> None:
        self._ground_truth = _copied(ground_truth)

    def load_test(self, test: Any) -> None:
        self._test = _copied(test)

    def add(self, actual: Any, predicted: Any) -> None:
        """One more observation, a value or a (name, value) on each side; a pair with NaN is left out."""
        if not (_is_nan(actual) or _is_nan(predicted)):
            self._ground_truth = _appended(self._ground_truth, actual)
            self._test = _appended(self._test, predicted)

    def add_test(self, predicted: Any) -> None:
        """One more in the test alone."""
        if not _is_nan(predicted):
            self._test = _appended(self._test, predicted)

    def get_ground_truth(self) -> Any:
        return self._ground_truth

    def get_test(self) -> Any:
        return self._test

    def _complete(self) -> None:
        """What was loaded, made fit to be measured."""

    def _refuse_empty(self) -> None:
        for what, loaded in (("ground truth", self._ground_truth), ("test data", self._test)):
            if len(loaded) == 0:
                raise ValueError(f"the {what} is empty; load() some first")


class _OfRatings(_Loaded):
    def compute(self, r: float | None = None, r_pred: float | None = None) -> float:
        """The error of one prediction, or of all that were loaded and added; a rating of 0 reads as none."""
        if r and r_pred:
            return self.metric([r_pred], truth=[r], convention=CONVENTION)
        if len(self._ground_truth) == len(self._test):
            self._refuse_empty()
        return self.metric(self._test, truth=self._ground_truth, convention=CONVENTION)


class MAE(_OfRatings):
    """Mean absolute error."""

    metric = rs.mae


class RMSE(_OfRatings):
    """Root mean squared error."""

    metric = rs.rmse


class _Correlation(_Loaded):
    def compute(self) -> float:
        """Of two lists of (name, value), matched by name, or of two lists of ratings."""
        self._refuse_empty()
        kinds = {isinstance(value, (tuple, list)) for value in (*self._ground_truth, *self._test)}
        if kinds == {True}:
            truth, test = dict(self._ground_truth), dict(self._test)
            if truth.keys() != test.keys() or not len(truth) == len(self._ground_truth) == len(self._test):
                raise ValueError("the ground truth and the test data have different elements")
            return self.metric(test, truth=truth, convention=CONVENTION)
        if any(isinstance(value, str) for value in (*self._ground_truth, *self._test)) or len(kinds) > 1:
            raise TypeError("a ranking is a list of (name, value), ratings are a list of numbers")
        return self.metric(labels=self._ground_truth, scores=self._test, convention=CONVENTION)


class Pearson(_Correlation):
    """Correlation of ratings."""

    metric = rs.metrics.pearson


class SpearmanRho(_Correlation):
    """Correlation of ranks."""

    metric = rs.metrics.spearman


class KendallTau(_Correlation):
    """Pairs in the same order, less those in the other."""

    metric = rs.metrics.kendall


class PrecisionRecallF1(_Loaded):
    """Precision, recall and F1 of a list of items."""

    add_predicted_value = _Loaded.add_test

    def compute(self) -> tuple[float, float, float]:
        self._refuse_empty()
        precision, recall, f1 = (
            metric(self._test, truth=self._ground_truth, convention=CONVENTION)
            for metric in (rs.precision, rs.recall, rs.f1)
        )
        return precision, recall, f1


class ReciprocalRank(_Loaded):
    """One over the rank of an item in a list: here the ground truth is the list."""

    def compute(self, ground_truth: Sequence[Id] | None = None, query: Id | None = None) -> float:
        """Of a list and an item, given or loaded; an item 0 reads as none."""
        item = query or self._test
        wanted = tuple(item) if isinstance(item, list) else item  # nothing was loaded, or what no list can hold
        return rs.rr(ground_truth or self._ground_truth, truth=[wanted], convention=CONVENTION, digits=None)


class AveragePrecision(_Loaded):
    """Average precision of a list, over the relevant items that it holds."""

    def compute(self) -> float:
        self._complete()
        return rs.ap(self._test, truth=self._ground_truth, convention=CONVENTION)

    def _complete(self) -> None:
        if not isinstance(self._test, list):
            self._test = [self._test]
        self._refuse_empty()


class _Mean(_Loaded):
    """One query after another, then their mean."""

    single: ClassVar[type[ReciprocalRank] | type[AveragePrecision]]

    def __init__(self) -> None:
        super().__init__()  # without data

    def load(self, ground_truth: Any, query: Any) -> None:
        single = self.single()
        single.load(ground_truth, query)
        single._complete()
        self._ground_truth.append(single.get_ground_truth())
        self._test.append(single.get_test())

    def load_ground_truth(self, ground_truth: Any) -> None:
        raise NotImplementedError("a ground truth alone makes no query; use load(ground_truth, query)")

    def load_test(self, test: Any) -> None:
        raise NotImplementedError("a query needs its ground truth; use load(ground_truth, query)")

    def compute(self, ground_truth: Any = None, query: Any = None) -> float:
        """The mean over all that was loaded; given a query, it is loaded too, and the value is its own."""
        if ground_truth and query:
            self.load(ground_truth, query)
            single = self.single()
            single.load(ground_truth, query)
            return single.compute()
        return self._evaluate()[self.metric]

    def _evaluate(self) -> rs.Result:
        truth, run = (dict(enumerate(side)) for side in self._sides())
        return rs.evaluate(truth, run, self.metric, convention=CONVENTION, digits=6)

    def _results(self) -> list[float]:
        """The value of each query, in the order of loading."""
        return self._evaluate().per_query[str(self.metric)].tolist() if self._test else []

    def _sides(self) -> tuple[Any, Any]:
        """The relevant items and the lists of all queries."""
        return self._ground_truth, self._test


class MeanReciprocalRank(_Mean):
    """Mean of reciprocal ranks."""

    metric = rs.rr
    single = ReciprocalRank

    def load(self, ground_truth: Sequence[Id], query: Id) -> None:
        if isinstance(query, list):
            raise ValueError(f"a query is one item, not a list: {query!r}")
        super().load(ground_truth, query)

    def get_reciprocal_rank_results(self) -> list[float]:
        return self._results()

    def _sides(self) -> tuple[Any, Any]:
        return [[query] for query in self._test], self._ground_truth


class MeanAveragePrecision(_Mean):
    """Mean of average precisions."""

    metric = rs.ap
    single = AveragePrecision

    def get_average_precision_results(self) -> list[float]:
        return self._results()


def _copied(values: Any) -> Any:
    """What the caller does with a list after loading it does not change what was loaded."""
    return list(values) if isinstance(values, (list, tuple)) else values


def _appended(values: Any, value: Any) -> list[Any]:
    """With one more: at the end of a list, which is our own, or of a list of what was loaded as something else."""
    values = values if isinstance(values, list) else [*values]
    values.append(value)
    return values


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
