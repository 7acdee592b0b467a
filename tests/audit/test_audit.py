"""`rs.audit`: conventions behind a black box are named again, and defects are found with a small example."""

import pytest

import rankstone as rs
from rankstone.explain.sweep import presets
from rankstone.metrics.registry import parse_one

from .defects import CORRECT, DEFECTS

METRICS = ("ndcg@3", "ap", "rr@3", "precision@2", "recall@3", "hit_rate@2", "err@3", "auc")


def black_box(metric, convention, calling):
    """A function that computes a convention's values, for each calling style."""
    evaluator = rs.Evaluator(metric, convention=convention)

    def value(truth, run):
        return evaluator({"q": truth}, {"q": run})[metric]

    return {
        "dicts": lambda truth, run: evaluator(truth, run)[metric],
        "lists": lambda ranked, relevant: value(relevant, ranked),
        "labels": lambda labels: value(dict(enumerate(labels)), list(range(len(labels)))),
        "arrays": lambda y, scores: value(dict(enumerate(y.tolist())), dict(enumerate(scores.tolist()))),
    }[calling]


def defining(metric):
    return list(presets(parse_one(metric, ""), {}))


CASES = [(metric, name) for metric in METRICS for name in defining(metric)]
QUICK = [("ndcg@3", name) for name in ("trec_eval", "scikit-learn", "lightgbm", "haystack", "opensearch")] + [
    ("ap", "torchmetrics"), ("rr@3", "mteb"), ("precision@2", "implicit"), ("recall@3", "cornac"),
    ("hit_rate@2", "rectools"), ("err@3", "gdeval"), ("auc", "catboost"),
]  # fmt: skip


def check_named(metric, name, calling):
    report = rs.audit(black_box(metric, name, calling), metric, calling)
    assert name in (report.convention, *report.equivalent), report
    assert report.agreement == 1
    return report


@pytest.mark.parametrize(("metric", "name"), QUICK)
def test_black_boxes_are_named(metric, name):
    assert check_named(metric, name, "dicts").questions <= 200


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "name"), CASES)
def test_every_convention_is_named(metric, name):
    check_named(metric, name, "dicts")


@pytest.mark.slow
@pytest.mark.parametrize("calling", ["lists", "labels", "arrays"])
@pytest.mark.parametrize("name", defining("ndcg@3"))
def test_calling_styles_name_conventions(calling, name):
    check_named("ndcg@3", name, calling)


QUICK_DEFECTS = ("1 repeated, ndcg", "4 ideal not cut", "13 rank from 0", "15 ties in input order", "25 modified truth")


def check_found(name):
    metric, calling, make, words = DEFECTS[name]
    report = rs.audit(make(), metric, calling)
    found = [finding for finding in report.findings if words in f"{finding.name} {finding.detail}"]
    assert found, report
    assert min(finding.items for finding in found) <= 4
    return report


@pytest.mark.parametrize("name", QUICK_DEFECTS)
def test_planted_defects_are_found(name):
    check_found(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_every_planted_defect_is_found(name):
    check_found(name)


@pytest.mark.parametrize("metric", CORRECT)
def test_correct_functions_pass(metric):
    """No finding but what tools do with repeated items, and whose definition it is."""
    report = rs.audit(CORRECT[metric], metric, "lists", expect="trec_eval")
    assert report.verdict == "passed", report
    assert report.convention == "trec_eval"
    assert report.findings == ()
    assert report.exit_code == 0
