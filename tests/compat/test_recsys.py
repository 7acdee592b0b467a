"""python-recsys' classes: the examples of its documentation, and numbers recorded from it."""

import re
from statistics import fmean

import numpy as np
import pytest

from rankstone.compat import recsys

from .documents import RAISES, answers, document, examples, run, same

CLASSES = {
    "mae": recsys.MAE,
    "rmse": recsys.RMSE,
    "pearson": recsys.Pearson,
    "spearman": recsys.SpearmanRho,
    "kendall": recsys.KendallTau,
    "precision_recall_f1": recsys.PrecisionRecallF1,
    "reciprocal_rank": recsys.ReciprocalRank,
    "mean_reciprocal_rank": recsys.MeanReciprocalRank,
    "average_precision": recsys.AveragePrecision,
    "mean_average_precision": recsys.MeanAveragePrecision,
}


def test_every_example_runs_with_another_import_line(shared):
    shown = []
    for example in examples(document(shared, "003")):
        changed, imports = re.subn(
            r"from recsys\.evaluation\.\w+ import", "from rankstone.compat.recsys import", example
        )
        assert imports == 1
        names = {}
        for value, comment in run(changed, names):
            if "in my case" in comment:  # a random order
                results = names["mrr"].get_reciprocal_rank_results()
                assert sorted(set(results) - {0, 1, 1 / 2, 1 / 3, 1 / 4}) == []
                assert len(results) == 4
                assert value == round(fmean(results), 6)
                continue
            expected = eval(re.search(r"returns\s+(\([^)]*\)|[\d.]+)", comment)[1])
            assert value == expected, example
            shown.append(expected)
    assert shown[:10] == [0.8, 0.7, 0.7, 0.8, 0.891067, (0.75, 0.75, 0.75), 0.5, 0.947368, 0.4, 0.888889]
    assert shown[10:] == [0.5, 1.0, 0.5833335, 0.805556]


def answer(metric, inputs, params):
    """The call that a recorded case was, made of the class."""
    made = CLASSES[metric]
    one = made([tuple(pair) for pair in inputs["data"]]) if "data" in inputs else made()
    kind = np.array if params.get("numpy") else _pairs
    for name in ("ground_truth", "test"):
        if name in inputs and "query" not in inputs:
            getattr(one, f"load_{name}")(kind(inputs[name]))
    for name in ("load_ground_truth", "load_test"):
        if name in inputs:
            getattr(one, name)(inputs[name])
    for pair in inputs.get("add", []):
        one.add(*pair)
    many = zip(inputs.get("ground_truths", []), inputs.get("queries", inputs.get("tests", [])), strict=True)
    for truth, query in many:
        one.load(truth, query)
    if params.get("return") == "lists":
        return [one.get_ground_truth(), one.get_test()]
    if "r" in inputs:
        return one.compute(inputs["r"], inputs["r_pred"])
    if "query" in inputs:
        return one.compute(inputs["ground_truth"], inputs["query"])
    found = one.compute()
    return list(found) if isinstance(found, tuple) else found


def _pairs(values):
    return [tuple(value) if isinstance(value, list) else value for value in values]


@pytest.mark.parametrize("metric", CLASSES)
def test_recorded_numbers(metric, shared):
    cases = list(answers(shared, "003", "python-recsys", {metric}))
    assert len(cases) >= 4
    for name, _, inputs, params, expected, near in cases:
        if expected == RAISES:
            with pytest.raises((ValueError, TypeError, NotImplementedError), match=r"\w+ \w+"):
                answer(metric, inputs, params)
        else:
            found = answer(metric, inputs, params)
            assert same(found, expected, near), f"{name}: {found!r} is not {expected!r}"


def test_what_is_loaded_stays_as_it_was():
    truth, test = [3, 1], [2.5, 1.0]
    mae = recsys.MAE()
    mae.load(truth, test)
    mae.add(5, 4)
    mae.add(5, float("nan"))
    truth.append(99)
    assert (mae.get_ground_truth(), mae.get_test()) == ([3, 1, 5], [2.5, 1.0, 4])
    assert mae.compute() == (0.5 + 0 + 1) / 3
    assert test == [2.5, 1.0]


def test_predicted_values_are_added_one_by_one():
    decision = recsys.PrecisionRecallF1()
    decision.load(["a", "b"], ["a"])
    decision.add_predicted_value("c")
    assert decision.compute() == (1 / 2, 1 / 2, 1 / 2)


def test_means_keep_what_was_computed():
    mean = recsys.MeanReciprocalRank()
    mean.load(["a", "b"], "b")
    assert mean.compute(["a", "b", "c"], "c") == 1 / 3
    assert mean.compute() == round((1 / 2 + 1 / 3) / 2, 6)
    assert mean.get_reciprocal_rank_results() == [1 / 2, 1 / 3]
    aps = recsys.MeanAveragePrecision()
    aps.load([1, 2], 2)
    assert aps.get_average_precision_results() == [1.0]
