"""python-recsys' classes: the examples of its documentation. Numbers recorded from it are in `tests/golden`."""

import re
from statistics import fmean
from timeit import repeat

import numpy as np

from rankstone.compat import recsys

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
    rmse = recsys.RMSE()
    first, _, last = (min(repeat(lambda: rmse.add(3, 2.5), number=times, repeat=20)) for times in (50, 1_000, 50))
    assert last < 5 * first  # among 20,000 others
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


def test_loading_does_not_measure():
    """All queries are measured at once, when asked for."""
    mean = recsys.MeanReciprocalRank()
    load, measure = (
        min(repeat(call, number=20, repeat=10))
        for call in (lambda: mean.load(["a", "b"], "b"), lambda: recsys.ReciprocalRank().compute(["a", "b"], "b"))
    )
    assert load < measure / 3
    assert mean.compute() == 1 / 2
    assert recsys.MeanAveragePrecision().get_average_precision_results() == []
