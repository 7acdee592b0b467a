"""rankstone measures ranked lists, and says which definition of the number it used."""

import typing as _typing

from rankstone.align.ranked import Ranked
from rankstone.align.ranking import Ratio
from rankstone.conventions.convention import CHOICES, Convention, convention, conventions
from rankstone.errors import NoExpectedValue
from rankstone.metrics.agreement import kendall, rbo, spearman, tau_ap
from rankstone.metrics.cascade import err, nerr, rbp
from rankstone.metrics.errors import logloss, mae, mse, pearson, r2, rmse
from rankstone.metrics.gains import cg, dcg, ndcg
from rankstone.metrics.judged import judged
from rankstone.metrics.pairs import auc, bpref, infap
from rankstone.metrics.precision import ap, gmap, iprec, iprec11, rr
from rankstone.metrics.registry import Metric, metric, parse
from rankstone.metrics.sets import (
    f,
    f1,
    fallout,
    hit_rate,
    num_rel,
    num_rel_ret,
    num_ret,
    precision,
    r_precision,
    recall,
)

if _typing.TYPE_CHECKING:
    from rankstone import arrays, integrations, spark, split, sql
    from rankstone.answers.definition import Definition, definition
    from rankstone.answers.explain import explain
    from rankstone.answers.identify import identify
    from rankstone.answers.result import Result
    from rankstone.answers.write import read_result
    from rankstone.inputs.columns import columns
    from rankstone.inputs.files import read_run, read_truth
    from rankstone.inputs.lists import lists
    from rankstone.measure.accumulate import Accumulator
    from rankstone.measure.evaluate import evaluate
    from rankstone.measure.online import Online
    from rankstone.measure.stream import Stream

__version__ = "0.1.0"

# Loaded when first asked for, so that `import rankstone` stays light.
_LATER = {
    "Accumulator": "rankstone.measure.accumulate",
    "Definition": "rankstone.answers.definition",
    "Online": "rankstone.measure.online",
    "Result": "rankstone.answers.result",
    "Stream": "rankstone.measure.stream",
    "columns": "rankstone.inputs.columns",
    "definition": "rankstone.answers.definition",
    "evaluate": "rankstone.measure.evaluate",
    "explain": "rankstone.answers.explain",
    "identify": "rankstone.answers.identify",
    "lists": "rankstone.inputs.lists",
    "read_result": "rankstone.answers.write",
    "read_run": "rankstone.inputs.files",
    "read_truth": "rankstone.inputs.files",
}


_MODULES = ("arrays", "integrations", "spark", "split", "sql")


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "CHOICES",
    "Accumulator",
    "Convention",
    "Definition",
    "Metric",
    "NoExpectedValue",
    "Online",
    "Ranked",
    "Ratio",
    "Result",
    "Stream",
    "ap",
    "arrays",
    "auc",
    "bpref",
    "cg",
    "columns",
    "convention",
    "conventions",
    "dcg",
    "definition",
    "err",
    "evaluate",
    "explain",
    "f",
    "f1",
    "fallout",
    "gmap",
    "hit_rate",
    "identify",
    "infap",
    "integrations",
    "iprec",
    "iprec11",
    "judged",
    "kendall",
    "lists",
    "logloss",
    "mae",
    "metric",
    "mse",
    "ndcg",
    "nerr",
    "num_rel",
    "num_rel_ret",
    "num_ret",
    "parse",
    "pearson",
    "precision",
    "r2",
    "r_precision",
    "rbo",
    "rbp",
    "read_result",
    "read_run",
    "read_truth",
    "recall",
    "rmse",
    "rr",
    "spark",
    "spearman",
    "split",
    "sql",
    "tau_ap",
]
