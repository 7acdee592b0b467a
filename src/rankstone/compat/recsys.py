"""python-recsys: `from rankstone.compat.recsys import MAE` for `from recsys.evaluation.prediction import MAE`.

The same for `recsys.evaluation.decision` and `recsys.evaluation.ranking`. The convention is "python-recsys".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import rankstone as rs
from rankstone.compat.hashables import as_ids
from rankstone.errors import InputError, InputTypeError

if TYPE_CHECKING:
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
DIGITS = 6


class _Loaded:
    """Ground truth and test data, as loaded and added."""

    metric: ClassVar[rs.authoring.Metric]

    def __init__(self, data: Iterable[tuple[Any, Any]] | None = None) -> None:
        pairs = list(data or [])
        self._ground_truth: Any = [actual for actual, _ in pairs]
        self._test: Any = [predicted for _, predicted in pairs]

    def load(self, ground_truth: Any, test: Any) -> None:
        """Load ground truth and test data."""
        self.load_ground_truth(ground_truth)
        self.load_test(test)

    def load_ground_truth(self, ground_truth: Any) -> None:
        """Load the ground truth."""
        self._ground_truth = _copied(ground_truth)

    def load_test(self, test: Any) -> None:
        """Load the test data."""
        self._test = _copied(test)

    def add(self, actual: Any, predicted: Any) -> None:
        """Add an observation, a value or a (name, value) on each side; a pair with NaN is ignored."""
        if not (_is_nan(actual) or _is_nan(predicted)):
            self._ground_truth = _appended(self._ground_truth, actual)
            self._test = _appended(self._test, predicted)

    def add_test(self, predicted: Any) -> None:
        """Add a value to the test data only."""
        if not _is_nan(predicted):
            self._test = _appended(self._test, predicted)

    def get_ground_truth(self) -> Any:
        """The ground truth."""
        return self._ground_truth

    def get_test(self) -> Any:
        """The test data."""
        return self._test

    def _complete(self) -> None:
        """Bring the data into the form that is evaluated."""

    def _check_not_empty(self) -> None:
        for what, loaded in (("ground truth", self._ground_truth), ("test data", self._test)):
            if len(loaded) == 0:
                raise InputError(f"the {what} is empty; load() some first")


class _OfRatings(_Loaded):
    def compute(self, r: float | None = None, r_pred: float | None = None) -> float:
        """The error of one prediction, or of all data; a rating of 0 counts as missing, as in the original."""
        if r and r_pred:
            if math.isfinite(error := abs(r - r_pred)):  # one pair: both errors are this difference
                return round(error, DIGITS)
            return self.metric([r_pred], truth=[r], convention=CONVENTION)
        if len(self._ground_truth) == len(self._test):
            self._check_not_empty()
        return self.metric(self._test, truth=self._ground_truth, convention=CONVENTION)


class MAE(_OfRatings):
    """Mean absolute error."""

    metric = rs.mae


class RMSE(_OfRatings):
    """Root mean squared error."""

    metric = rs.rmse


class _Correlation(_Loaded):
    def compute(self) -> float:
        """The correlation of two lists of (name, value), matched by name, or of two lists of ratings."""
        self._check_not_empty()
        types = {*map(type, self._ground_truth), *map(type, self._test)}
        kinds = {issubclass(kind, (tuple, list)) for kind in types}
        if kinds == {True}:
            truth, test = dict(self._ground_truth), dict(self._test)
            if truth.keys() != test.keys() or not len(truth) == len(self._ground_truth) == len(self._test):
                raise InputError("the ground truth and the test data have different elements")
            return self.metric(test, truth=truth, convention=CONVENTION)
        if len(kinds) > 1 or any(issubclass(kind, str) for kind in types):
            raise InputTypeError("a ranking is a list of (name, value), ratings are a list of numbers")
        return self.metric(labels=self._ground_truth, scores=self._test, convention=CONVENTION)


class Pearson(_Correlation):
    """Pearson correlation of ratings."""

    metric = rs.metrics.pearson


class SpearmanRho(_Correlation):
    """Spearman rank correlation."""

    metric = rs.metrics.spearman


class KendallTau(_Correlation):
    """Kendall's tau: concordant minus discordant pairs."""

    metric = rs.metrics.kendall


class PrecisionRecallF1(_Loaded):
    """Precision, recall and F1 of a list of items."""

    add_predicted_value = _Loaded.add_test

    def compute(self) -> tuple[float, float, float]:
        """Precision, recall and F1."""
        self._check_not_empty()
        truth, test = as_ids(self._ground_truth, self._test)
        precision, recall, f1 = (
            metric(test, truth=truth, convention=CONVENTION) for metric in (rs.precision, rs.recall, rs.f1)
        )
        return precision, recall, f1


class ReciprocalRank(_Loaded):
    """One over the rank of an item in a list: here the ground truth is the list."""

    def compute(self, ground_truth: Sequence[Id] | None = None, query: Id | None = None) -> float:
        """The reciprocal rank of an item in a list, both passed or loaded; an item 0 counts as missing."""
        item = query or self._test
        wanted = tuple(item) if isinstance(item, list) else item  # nothing was loaded, or an unhashable item
        truth, ranked = as_ids([wanted], ground_truth or self._ground_truth)
        return rs.rr(ranked, truth=truth, convention=CONVENTION, digits=None)


class AveragePrecision(_Loaded):
    """Average precision of a list, divided by the number of relevant items returned."""

    def compute(self) -> float:
        """Average precision."""
        self._complete()
        truth, test = as_ids(self._ground_truth, self._test)
        return rs.ap(test, truth=truth, convention=CONVENTION)

    def _complete(self) -> None:
        if not isinstance(self._test, list):
            self._test = [self._test]
        self._check_not_empty()


class _Mean(_Loaded):
    """Mean over queries, loaded one by one."""

    single: ClassVar[type[ReciprocalRank] | type[AveragePrecision]]

    def __init__(self) -> None:
        super().__init__()  # without data

    def load(self, ground_truth: Any, query: Any) -> None:
        """Load one query."""
        single = self.single()
        single.load(ground_truth, query)
        single._complete()
        self._ground_truth.append(single.get_ground_truth())
        self._test.append(single.get_test())

    def load_ground_truth(self, ground_truth: Any) -> None:
        raise NotImplementedError("a query needs both; use load(ground_truth, query)")

    def load_test(self, test: Any) -> None:
        raise NotImplementedError("a query needs its ground truth; use load(ground_truth, query)")

    def compute(self, ground_truth: Any = None, query: Any = None) -> float:
        """The mean over all loaded queries; with a query, load it and return its own value."""
        if ground_truth and query:
            self.load(ground_truth, query)
            single = self.single()
            single.load(ground_truth, query)
            return single.compute()
        return self._evaluate()[self.metric]

    def _evaluate(self) -> rs.Result:
        queries = [as_ids(*query) for query in zip(*self._sides(), strict=True)]
        truth, run = (dict(enumerate(side)) for side in zip(*queries, strict=True)) if queries else ({}, {})
        return rs.evaluate(truth, run, self.metric, convention=CONVENTION, digits=DIGITS)

    def _results(self) -> list[float]:
        """The value of each query, in the order of loading."""
        return self._evaluate().per_query[str(self.metric)].tolist() if self._test else []

    def _sides(self) -> tuple[Any, Any]:
        """The relevant items and the lists of all queries."""
        return self._ground_truth, self._test


class MeanReciprocalRank(_Mean):
    """Mean reciprocal rank (MRR)."""

    metric = rs.rr
    single = ReciprocalRank

    def load(self, ground_truth: Sequence[Id], query: Id) -> None:
        """Load the list and the relevant item of one query."""
        if isinstance(query, list):
            raise InputError(f"a query is one item, not a list: {query!r}")
        super().load(ground_truth, query)

    def get_reciprocal_rank_results(self) -> list[float]:
        """One value per query, in the order of loading."""
        return self._results()

    def _sides(self) -> tuple[Any, Any]:
        return [[query] for query in self._test], self._ground_truth


class MeanAveragePrecision(_Mean):
    """Mean average precision (MAP)."""

    metric = rs.ap
    single = AveragePrecision

    def get_average_precision_results(self) -> list[float]:
        """One value per query, in the order of loading."""
        return self._results()


def _copied(values: Any) -> Any:
    """A copy, so that later changes of the caller's list have no effect."""
    return list(values) if isinstance(values, (list, tuple)) else values


def _appended(values: Any, value: Any) -> list[Any]:
    """The values as a list, with one more at the end."""
    values = values if isinstance(values, list) else [*values]
    values.append(value)
    return values


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
