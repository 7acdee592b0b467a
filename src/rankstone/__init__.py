"""rankstone measures ranked lists, and says which definition of the number it used."""

import sys as _sys
import types as _types
import typing as _typing

from rankstone import errors
from rankstone.align.recommendations import Shown
from rankstone.conventions.choices import CHOICES as _CHOICES
from rankstone.conventions.convention import Convention, conventions
from rankstone.conventions.convention import check_choice as _check_choice
from rankstone.metrics.cascade import err, rbp
from rankstone.metrics.errors import mae, rmse
from rankstone.metrics.gains import dcg, ndcg
from rankstone.metrics.pairs import auc, bpref
from rankstone.metrics.precision import ap, rr
from rankstone.metrics.registry import Metric, Parameter, metric, metrics
from rankstone.metrics.registry import hooks as _hooks
from rankstone.metrics.sets import f1, hit_rate, precision, r_precision, recall
from rankstone.program.ranking import Ranking, Ratio
from rankstone.version import __version__ as __version__

choices = _CHOICES


def _evaluate_list(*arguments: _typing.Any, **options: _typing.Any) -> float:
    from rankstone.evaluate.single import measure_list

    return measure_list(*arguments, **options)


def _manual(metric: Metric) -> str:
    from rankstone.results.definition import manual

    return manual(metric)


_hooks.check_choice, _hooks.evaluate_list, _hooks.manual = _check_choice, _evaluate_list, _manual

if _typing.TYPE_CHECKING:
    from rankstone import arrays as arrays
    from rankstone import integrations as integrations
    from rankstone import spark as spark
    from rankstone import splits as split  # noqa: F401
    from rankstone import sql as sql
    from rankstone import statistics as statistics
    from rankstone import testing as testing
    from rankstone.compare.check import Checks, check
    from rankstone.compare.compare import compare, needed
    from rankstone.compare.comparison import Comparison
    from rankstone.data.columns import columns
    from rankstone.data.files import read_run, read_truth
    from rankstone.data.lists import lists
    from rankstone.data.side_info import catalogue
    from rankstone.evaluate.accumulate import Accumulator
    from rankstone.evaluate.confusion import Confusion, confusion
    from rankstone.evaluate.curves import roc_curve
    from rankstone.evaluate.evaluate import Evaluator, evaluate
    from rankstone.evaluate.online import Online
    from rankstone.evaluate.result_file import read_result
    from rankstone.evaluate.stream import Stream
    from rankstone.explain.explain import explain
    from rankstone.explain.identify import identify
    from rankstone.explain.sampled import Sampled, sampled
    from rankstone.fusion.found import Found
    from rankstone.fusion.fuse import Fused, fuse
    from rankstone.fusion.methods import fusion, fusions
    from rankstone.fusion.pool import Pool, pool
    from rankstone.offpolicy.estimators import Estimator, estimator, estimators
    from rankstone.offpolicy.form import Logged
    from rankstone.offpolicy.logged import Estimates, logged
    from rankstone.results.definition import Definition, define
    from rankstone.results.result import Result

# Loaded when first asked for, so that `import rankstone` stays light.
_LATER = {
    "Accumulator": "evaluate.accumulate",
    "Checks": "compare.check",
    "Comparison": "compare.comparison",
    "Confusion": "evaluate.confusion",
    "Definition": "results.definition",
    "Estimates": "offpolicy.logged",
    "Estimator": "offpolicy.estimators",
    "Logged": "offpolicy.form",
    "Evaluator": "evaluate.evaluate",
    "Found": "fusion.found",
    "Fused": "fusion.fuse",
    "Online": "evaluate.online",
    "Pool": "fusion.pool",
    "Result": "results.result",
    "Sampled": "explain.sampled",
    "Stream": "evaluate.stream",
    "catalogue": "data.side_info",
    "check": "compare.check",
    "columns": "data.columns",
    "compare": "compare.compare",
    "confusion": "evaluate.confusion",
    "define": "results.definition",
    "estimator": "offpolicy.estimators",
    "estimators": "offpolicy.estimators",
    "evaluate": "evaluate.evaluate",
    "explain": "explain.explain",
    "fuse": "fusion.fuse",
    "fusion": "fusion.methods",
    "fusions": "fusion.methods",
    "identify": "explain.identify",
    "lists": "data.lists",
    "logged": "offpolicy.logged",
    "needed": "compare.compare",
    "pool": "fusion.pool",
    "read_result": "evaluate.result_file",
    "read_run": "data.files",
    "read_truth": "data.files",
    "roc_curve": "evaluate.curves",
    "sampled": "explain.sampled",
}
# Modules; some need a library of their own.
_MODULES = {
    **{name: name for name in ("arrays", "integrations", "spark", "sql", "statistics", "testing")},
    "split": "splits",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    public = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return public


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})


class _Package(_types.ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """The import system sets each loaded subpackage; `rs.evaluate` stays the function of that name."""
        if name not in _LATER or not isinstance(value, _types.ModuleType):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[_typing.Any, ...]:
        """Modules are sent to other processes by their names."""
        return __import__, (self.__name__,)


_sys.modules[__name__].__class__ = _Package


__all__ = [
    "Accumulator",
    "Checks",
    "Comparison",
    "Confusion",
    "Convention",
    "Definition",
    "Estimates",
    "Estimator",
    "Evaluator",
    "Found",
    "Fused",
    "Logged",
    "Metric",
    "Online",
    "Parameter",
    "Pool",
    "Ranking",
    "Ratio",
    "Result",
    "Sampled",
    "Shown",
    "Stream",
    "ap",
    "auc",
    "bpref",
    "catalogue",
    "check",
    "choices",
    "columns",
    "compare",
    "confusion",
    "conventions",
    "dcg",
    "define",
    "err",
    "errors",
    "estimator",
    "estimators",
    "evaluate",
    "explain",
    "f1",
    "fuse",
    "fusion",
    "fusions",
    "hit_rate",
    "identify",
    "lists",
    "logged",
    "mae",
    "metric",
    "metrics",
    "ndcg",
    "needed",
    "pool",
    "precision",
    "r_precision",
    "rbp",
    "read_result",
    "read_run",
    "read_truth",
    "recall",
    "rmse",
    "roc_curve",
    "rr",
    "sampled",
]
