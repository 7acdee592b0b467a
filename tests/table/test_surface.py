"""The public names, the version, and the words for every choice."""

import inspect
import pydoc
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import rankstone as rs

from .cases import built_in, parameter_values, side_info, small

ROOT = Path(__file__).parents[2]
ROWS = list(built_in("any").values())
every_metric = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_public_names_are_sorted_and_exist():
    assert rs.__all__ == sorted(rs.__all__)
    assert len(set(rs.__all__)) == len(rs.__all__)
    for name in rs.__all__:
        assert getattr(rs, name) is not None


def test_every_metric_can_be_had():
    for row in ROWS:
        assert getattr(rs.metrics, row.name) == rs.metrics[row.name] == rs.authoring.Metric(row.name)
        if row.name in rs.__all__:
            assert getattr(rs, row.name) == rs.authoring.Metric(row.name)
    assert {row.name for row in ROWS} <= set(rs.metrics)
    with pytest.raises(KeyError, match="unknown metric 'ndgc'; did you mean 'ndcg'"):
        rs.metrics["ndgc"]
    with pytest.raises(AttributeError, match="unknown metric 'ndgc'; did you mean 'ndcg'"):
        _ = rs.metrics.ndgc


def test_star_import_needs_no_optional_library():
    """What needs a library of its own is a door, and not in `__all__`."""
    absent = "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'duckdb', 'torch', 'sklearn')))"
    code = f"{absent}; from rankstone import *"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_exported():
    """What can be seen without an underscore is in `__all__`, or is a module."""
    seen = {name for name, what in vars(rs).items() if not name.startswith("_") and not isinstance(what, ModuleType)}
    assert seen <= set(rs.__all__)


def test_version_is_the_changelogs():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = changelog.split("\n## ", 1)[1]
    assert re.search(r"\d+\.\d+\.\d+", newest)[0] == rs.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{rs.__version__}"\n' in project
    assert f"\nversion: {rs.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def definition(metric, **choices):
    choices = {"averaging": "macro", **choices}
    truth, run = small(metric.declaration)
    weights = dict.fromkeys(run, 1.0) if choices["averaging"] == "weighted" else None
    return (
        rs.evaluate(truth, run, metric, weights=weights, **side_info(metric.declaration), **choices)
        .definitions[metric]
        .cite
    )


@every_metric
def test_every_value_of_a_parameter_has_words(row):
    """Two definitions that differ read differently."""
    metric = rs.authoring.Metric(
        row.name, 10 if row.takes_k else None
    )  # without k, divisors by k and by the length are one
    for parameter, values in parameter_values(row).items():
        about = row.about[parameter]
        other, (needed, *_) = about.applies_when or ("", (None,))
        where = metric.given(**{other: needed} if other in row.defaults else {})  # it matters
        words = {definition(where.given(**{parameter: value})).partition(": ")[2] for value in values}
        assert len(words) == len(values), (parameter, words)


FREE = {"threshold": (1, 2, ">1", "all"), "both_empty": (None, 1), "digits": (None, 3), "query_digits": (None, 3),
        "default_k": (None, 3), "no_relevant": (None, 0, 1, "nan", "skip")}  # fmt: skip
NO_THRESHOLD = ("cg", "dcg", "ndcg", "err", "nerr", "num_ret", "judged", "unjudged")  # which read grades, or none
COUNTING = ("precision", "recall", "f", "f1", "hit_rate", "r_precision", "num_rel_ret")
IDLE = {  # choices that cannot move a metric of this kind, and are not spoken of
    "ratings": ("threshold", "relevance", "short_list"),
    "agreement": ("threshold", "relevance", "short_list"),
    "recommendations": ("unjudged", "nonpositive_score", "truth_depth", "no_relevant", "empty_truth", "both_empty"),
}


@every_metric
@pytest.mark.parametrize("name", list(rs.choices))
def test_every_value_of_a_choice_has_words(row, name):
    values = FREE.get(name) or rs.choices[name].allowed
    if name == "ties" and row.reads == "recommendations":  # what nobody judged has no grade to go by
        values = [value for value in values if value not in ("optimistic", "pessimistic", "expected")]
    elif name == "ties" and not row.expected:
        values = [value for value in values if value not in ("expected", "group_end", "group_mean")]
    if name == "averaging":  # pooled rows need another order of ties, and a grade each
        unfit = [*(() if row.kind == "ratings" else ("one_list",)), *(() if row.name in ("f", "f1") else ("parts",))]
        if row.reads == "recommendations" and row.all_queries(row.defaults):  # of all lists together
            unfit += ["weighted", "geometric"]
        values = [value for value in values if value not in unfit]
    if name in ("relevance", "nonpositive_score") and row.name in ("auc", "bpref", "infap", "fallout"):
        values = values[:1]
    if name in ("relevance", "unjudged") and row.kind == "intents":
        values = values[:1]
    if name == "relevance" and not row.weightable:
        values = [value for value in values if value != "weighted"]
    if name == "relevance" and row.name in NO_THRESHOLD:
        return  # it reads grades only
    if name == "truth_depth" and row.name not in COUNTING:
        return  # it is not spoken of
    if name in IDLE.get(row.kind, ()) or (row.grades is None and name in ("threshold", "relevance")):
        with pytest.raises(ValueError, match=f"^{name}=.* would change nothing: {row.name} cannot use it"):
            definition(rs.authoring.Metric(row.name), **{name: values[0]})
        return
    # These are about a cutoff: a default where there is none, else what happens at it.
    metric = rs.authoring.Metric(row.name, 10 if row.takes_k and name in ("short_list", "truth_depth") else None)
    words = [definition(metric, **{name: value}).rpartition(". ")[0] for value in values]
    about_k = name in ("short_list", "truth_depth", "default_k") and not row.takes_k
    if about_k or (name == "threshold" and row.name in NO_THRESHOLD) or (name == "ties" and row.kind == "ratings"):
        assert len(set(words)) == 1, words
        return
    assert len(set(words)) == len(values), words


def test_convention_and_version_are_named():
    text = rs.evaluate(*small(rs.ap.declaration), "ap", convention="trec_eval").definitions["ap"].cite
    assert text.endswith(f"rankstone {rs.__version__}, convention trec_eval")


@pytest.mark.parametrize("name", list(rs.conventions))
def test_every_convention_names_choices_that_exist(name):
    """A preset's misspelt choice would be ignored in silence."""
    convention = rs.conventions[name]
    assert convention.name == name
    assert convention.summary
    convention.with_choices(**convention.choices)  # checks each of them


def test_arrays_are_the_callers_own():
    """What is handed out shares no memory with what came in."""
    query, item = np.array([1, 1, 2]), np.array([5, 6, 5])
    grade, score = np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.7, 0.9])
    given = [query, item, grade, score]
    result = rs.evaluate(
        rs.columns(query=query, item=item, grade=grade), rs.columns(query=query, item=item, score=score)
    )
    for metric in result:
        arrays = [
            result.per_query[metric],
            result._measurement.ratio(str(metric)).numerator,
            result._measurement.ratio(str(metric)).denominator,
        ]
        assert not any(np.shares_memory(one, other) for one in arrays for other in given)
    before = dict(result)
    score[:] = 0
    item[:] = 0
    assert dict(result) == before
    assert list(result.queries) == [1, 2]


@pytest.mark.parametrize("door", ["arrays", "integrations", "spark", "split", "sql", "testing"])
def test_doors_list_what_is_public(door):
    module = pytest.importorskip(f"rankstone.{door}", exc_type=ImportError)
    assert dir(module)
    for name in dir(module):
        assert not name.startswith("_")
        with suppress(ImportError):  # some need a library of their own
            assert getattr(module, name).__module__.startswith("rankstone."), name


def test_help_is_the_metrics_own():
    text = pydoc.render_doc(rs.ndcg, renderer=pydoc.plaintext)
    for words in (
        "ndcg@k: ",
        "Normalised discounted cumulative gain: the DCG of the top k, divided by the DCG of the ideal ranking.",
        ">>> rs.ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)",
        "Use: Graded relevance, and early ranks matter more.",
        "Beware: Libraries differ in the gain",
        "ideal (default 'judged'): which items are in the ideal ranking",
        "    'nonzero': ideal ranking of all items with a non-zero grade",
    ):
        assert words in text
    assert "A metric as a value" in pydoc.render_doc(rs.authoring.Metric, renderer=pydoc.plaintext)


def test_signatures_are_the_metrics_own():
    names = list(inspect.signature(rs.ndcg).parameters)
    assert names[:4] == ["ranked", "truth", "k", "gain"]
    assert "k" not in inspect.signature(rs.bpref).parameters
    assert list(inspect.signature(rs.authoring.Metric).parameters) == ["name", "k", "params"]
