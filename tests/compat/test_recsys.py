"""python-recsys' classes: the examples of its documentation. Numbers recorded from it are in `tests/golden`."""

import re
from statistics import fmean

import numpy as np
import pytest

import rankstone as rs
from rankstone.compat import recsys

from ..effort import cpu_limit
from .documents import document, examples, run


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


def test_adding_takes_the_same_time_however_much_is_there():
    """A copy of all for each one would take minutes."""
    rmse = recsys.RMSE()
    with cpu_limit(30):
        for _ in range(500_000):
            rmse.add(3, 2.5)
    assert rmse.compute() == 0.5
    mae = recsys.MAE()
    mae.load(np.array([3, 1]), np.array([2.5, 1.0]))
    mae.add(5, 4)
    assert mae.compute() == (0.5 + 0 + 1) / 3


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


def test_loading_does_not_measure(monkeypatch):
    """All queries are measured at once, when asked for."""
    calls, evaluate = [], rs.evaluate
    monkeypatch.setattr(rs, "evaluate", lambda *given, **more: calls.append(given) or evaluate(*given, **more))
    monkeypatch.setattr(recsys.ReciprocalRank, "compute", lambda *given: calls.append(given))
    mean = recsys.MeanReciprocalRank()
    for _ in range(3):
        mean.load(["a", "b"], "b")
    assert calls == []
    assert mean.compute() == 1 / 2
    assert len(calls) == 1
    assert recsys.MeanAveragePrecision().get_average_precision_results() == []


@pytest.mark.parametrize("item", [1.5, (1, "a"), None, frozenset({2}), np.float32(2.5), b"x"])
def test_items_of_any_hashable_type(item):
    """As python-recsys, which asks whether an item is in a list."""
    ap = recsys.AveragePrecision()
    ap.load([item, 7], [99, item])
    assert ap.compute() == 1 / 2
    decision = recsys.PrecisionRecallF1()
    decision.load([item, 7], [99, item])
    assert decision.compute() == (1 / 2, 1 / 2, 1 / 2)
    means = recsys.MeanAveragePrecision()
    means.load([item, 7], [99, item])
    means.load(["a"], ["a"])
    assert means.compute() == (1 / 2 + 1) / 2


def test_equal_numbers_are_one_item():
    ap = recsys.AveragePrecision()
    ap.load([1, 2, 3, 4, 5], [99.0, 3.0, 5.0])
    assert ap.compute() == 0.5833335
    assert recsys.ReciprocalRank().compute([1.5, 2.5], 2.5) == 1 / 2
    means = recsys.MeanReciprocalRank()
    means.load([1.5, 2.5], 2.5)
    assert means.compute() == 1 / 2


def test_one_prediction():
    """One pair has one error, whichever mean is taken; what is no number goes through the checks of lists."""
    assert recsys.MAE().compute(4.0, 3.2) == recsys.RMSE().compute(4.0, 3.2) == 0.8
    with pytest.raises(ValueError, match="inf at position 1"):
        recsys.MAE().compute(4.0, float("inf"))


@pytest.mark.parametrize("n", [2, 5, 200])
def test_many_predictions(n):
    pairs = [(1 + at % 5, 1 + at % 7 / 2) for at in range(n)]
    errors = [abs(actual - predicted) for actual, predicted in pairs]
    assert recsys.MAE(pairs).compute() == round(sum(errors) / n, 6)
    assert recsys.RMSE(pairs).compute() == round((sum(error**2 for error in errors) / n) ** 0.5, 6)
    assert recsys.Pearson(pairs).compute() == pytest.approx(np.corrcoef(np.transpose(pairs))[0, 1], abs=1e-6)
