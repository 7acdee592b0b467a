"""A provider for ir_measures, and so for its command and PyTerrier's `Experiment`: their measures, by rankstone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import ir_measures as library
from ir_measures.measures import registry
from ir_measures.providers import Evaluator as _Evaluator
from ir_measures.providers import FallbackProvider, Provider, PytrecEvalProvider
from ir_measures.providers import register as _register
from ir_measures.providers.base import NOT_PROVIDED, Choices
from ir_measures.providers.base import Any as Anything
from ir_measures.util import QrelsConverter, RunConverter

from rankstone.compat import pytrec_eval
from rankstone.errors import UnmatchedWarning
from rankstone.evaluate.evaluate import evaluate
from rankstone.metrics.registry import Metric

_ANY, _NEEDED, _NONE, _FALSE = Anything(), Anything(required=True), Choices(NOT_PROVIDED), Choices(False)
# What ir_measures asks other tools than trec_eval for: the measure, the parameters that are claimed, the convention.
_OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "RR": ({"cutoff": _NEEDED, "rel": _ANY, "judged_only": _FALSE}, "ir_measures"),
    "Judged": ({"cutoff": _ANY}, "ir_measures"),
    "RBP": ({"cutoff": _NONE, "rel": _NEEDED, "p": _ANY}, "ir_measures"),
    "nDCG": ({"cutoff": _NEEDED, "dcg": Choices("exp-log2"), "gains": _NONE, "judged_only": _FALSE}, "gdeval"),
    "ERR": ({"cutoff": _NEEDED}, "gdeval"),
}


def ir_measures() -> Provider:
    """Let ir_measures compute by rankstone, with the numbers that it has from the tools it asks.

    The provider comes right after measures that were defined by the user; `ir_measures.calc_aggregate`, `iter_calc`
    and PyTerrier's `Experiment` ask it first, and the other providers for what it does not support. Its name in
    `ir_measures.providers.registry` is "rankstone". The command of ir_measures with it:
    `python -m rankstone.integrations.ir_measures_provider qrels run nDCG@10`.

    Returns
    -------
    ir_measures.providers.Provider
        The provider, which can be used by itself: `provider.calc_aggregate(measures, qrels, run)`.
    """
    provider = library.providers.registry.get(RankstoneProvider.NAME)
    if provider is None:
        provider = _register(RankstoneProvider())
        library.DefaultPipeline.providers.insert(1, provider)
    return provider


class RankstoneProvider(FallbackProvider):  # type: ignore[misc]
    """Measures of trec_eval, and those of other tools."""

    NAME = "rankstone"

    def __init__(self) -> None:
        super().__init__([_TrecEval(), _OtherTools()])
        self.SUPPORTED_MEASURES = [measure for of in self.providers for measure in of.SUPPORTED_MEASURES]


class _TrecEval(PytrecEvalProvider):  # type: ignore[misc]
    """What ir_measures asks pytrec_eval for."""

    def initialize(self) -> None:
        self.pytrec_eval = pytrec_eval


class _OtherTools(Provider):  # type: ignore[misc]
    SUPPORTED_MEASURES = [type(registry[name])(**params) for name, (params, _) in _OTHERS.items()]  # noqa: RUF012

    def _evaluator(self, measures: Any, qrels: Any) -> _Evaluator:
        return _OtherEvaluator(measures, qrels)


class _OtherEvaluator(_Evaluator):  # type: ignore[misc]
    def __init__(self, measures: Any, qrels: Any) -> None:
        self._truth = QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(measures, set(self._truth))

    def _iter_calc(self, run: Any) -> Iterator[library.Metric]:
        returned = RunConverter(run).as_dict_of_dict()
        truth = {query: items for query, items in self._truth.items() if items and returned.get(query)}
        for convention in {_OTHERS[measure.NAME][1] for measure in self.measures} if truth else ():
            metrics = {
                measure: Metric.parse(str(measure))[0]
                for measure in self.measures
                if _OTHERS[measure.NAME][1] == convention
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnmatchedWarning)  # such values are 0 in ir_measures, too
                result = evaluate(truth, returned, list(metrics.values()), convention=convention)
            for measure, metric in metrics.items():
                for query, value in zip(result.queries, result.per_query[metric].tolist(), strict=True):
                    if value == value:  # a query that the tool leaves out has ir_measures' default
                        yield library.Metric(query, measure, value)


if __name__ == "__main__":
    from ir_measures.__main__ import main_cli

    ir_measures()
    main_cli()
