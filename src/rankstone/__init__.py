"""rankstone measures ranked lists, and says which definition of the number it used."""

import typing as _typing

from rankstone import errors
from rankstone.align.shown import Shown
from rankstone.conventions.choices import CHOICES as _CHOICES
from rankstone.conventions.convention import Convention, conventions
from rankstone.metrics.cascade import err, rbp
from rankstone.metrics.errors import mae, rmse
from rankstone.metrics.gains import dcg, ndcg
from rankstone.metrics.pairs import auc, bpref
from rankstone.metrics.precision import ap, rr
from rankstone.metrics.registry import Metric, Parameter, metric, metrics
from rankstone.metrics.sets import f1, hit_rate, precision, r_precision, recall
from rankstone.program.ranking import Ranking, Ratio
from rankstone.version import __version__ as __version__

choices = _CHOICES

if _typing.TYPE_CHECKING:
    from rankstone import arrays as arrays
    from rankstone import integrations as integrations
    from rankstone import spark as spark
    from rankstone import split as split
    from rankstone import sql as sql
    from rankstone import statistics as statistics
    from rankstone import testing as testing
    from rankstone.answers.check import Checks, check
    from rankstone.answers.compare import compare, needed
    from rankstone.answers.comparison import Comparison
    from rankstone.answers.confusion import Confusion, confusion
    from rankstone.answers.curve import roc_curve
    from rankstone.answers.definition import Definition, define
    from rankstone.answers.explain import explain
    from rankstone.answers.identify import identify
    from rankstone.answers.result import Result
    from rankstone.answers.sampled import Sampled, sampled
    from rankstone.answers.write import read_result
    from rankstone.feedback.estimators import Estimator, estimator, estimators
    from rankstone.feedback.form import Logged
    from rankstone.feedback.logged import Estimates, logged
    from rankstone.fusing.found import Found
    from rankstone.fusing.fuse import fuse
    from rankstone.fusing.fused import Fused
    from rankstone.fusing.methods import fusions
    from rankstone.fusing.pool import Pool, pool
    from rankstone.fusing.registry import fusion
    from rankstone.inputs.catalogue import catalogue
    from rankstone.inputs.columns import columns
    from rankstone.inputs.files import read_run, read_truth
    from rankstone.inputs.lists import lists
    from rankstone.measure.accumulate import Accumulator
    from rankstone.measure.evaluate import Evaluator, evaluate
    from rankstone.measure.online import Online
    from rankstone.measure.stream import Stream

# Loaded when first asked for, so that `import rankstone` stays light.
_LATER = {
    "Accumulator": "measure.accumulate",
    "Checks": "answers.check",
    "Comparison": "answers.comparison",
    "Confusion": "answers.confusion",
    "Definition": "answers.definition",
    "Estimates": "feedback.logged",
    "Estimator": "feedback.estimators",
    "Logged": "feedback.form",
    "Evaluator": "measure.evaluate",
    "Found": "fusing.found",
    "Fused": "fusing.fused",
    "Online": "measure.online",
    "Pool": "fusing.pool",
    "Result": "answers.result",
    "Sampled": "answers.sampled",
    "Stream": "measure.stream",
    "catalogue": "inputs.catalogue",
    "check": "answers.check",
    "columns": "inputs.columns",
    "compare": "answers.compare",
    "confusion": "answers.confusion",
    "define": "answers.definition",
    "estimator": "feedback.estimators",
    "estimators": "feedback.estimators",
    "evaluate": "measure.evaluate",
    "explain": "answers.explain",
    "fuse": "fusing.fuse",
    "fusion": "fusing.methods",
    "fusions": "fusing.methods",
    "identify": "answers.identify",
    "lists": "inputs.lists",
    "logged": "feedback.logged",
    "needed": "answers.compare",
    "pool": "fusing.pool",
    "read_result": "answers.write",
    "read_run": "inputs.files",
    "read_truth": "inputs.files",
    "roc_curve": "answers.curve",
    "sampled": "answers.sampled",
}
# Some need a library of their own.
_DOORS = ("arrays", "integrations", "spark", "split", "sql", "statistics", "testing")


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER and name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _DOORS:
        return import_module(f"{__name__}.{name}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_DOORS})


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
