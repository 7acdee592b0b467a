"""A cutoff far beyond every list: what it says is right and at once, whatever the metric and its variant."""

import math

import numpy as np
import pytest

import rankstone as rs
from tests.effort import cpu_limit

from .cases import built_in, parameter_values, side_info

FAR = 10**10
SECONDS = 8  # of CPU: a tiny input takes milliseconds; one place at a time takes longer, or 80 GB
TRUTH = {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"a": 3, "d": 1}}
SUBTOPICS = {"q1": {"a": ["s1", "s2"], "b": ["s2"], "c": ["s3"]}, "q2": {"a": ["s1"], "d": ["s1", "s2"]}}
RUN = {"q1": {"a": 0.9, "e": 0.8, "b": 0.7, "c": 0.1}, "q2": {"d": 0.5, "b": 0.6, "a": 0.2}}
CUT = {name: row for name, row in built_in("any").items() if row.takes_k}


def variants(row):
    """The metric as it is, and with each of its parameters otherwise."""
    yield rs.authoring.Metric(row.name)
    for parameter, values in parameter_values(row).items():
        yield from (rs.authoring.Metric(row.name).given(**{parameter: value}) for value in values)


def measured(metric, **choices):
    truth = SUBTOPICS if metric.declaration.kind == "intents" else TRUTH
    return rs.evaluate(truth, RUN, metric, **side_info(metric.declaration), **choices)


@pytest.mark.parametrize("ties", ["item_desc", "expected"])
@pytest.mark.parametrize("row", CUT.values(), ids=CUT)
def test_takes_no_time(row, ties):
    for metric in variants(row):
        choices = {} if ties == "item_desc" else {"ties": ties}
        try:
            with cpu_limit(SECONDS):
                far, whole = (
                    measured(cut, **choices)._measurement.ratio(str(cut)).numerator for cut in (metric @ FAR, metric)
                )
        except (ValueError, TypeError):  # this data, or this order, has no such number
            continue
        if row.reads != "recommendations":  # what was earned is what the whole list earns
            np.testing.assert_allclose(far, whole, rtol=1e-12, err_msg=str(metric))


@pytest.mark.parametrize("row", [row for row in CUT.values() if hasattr(rs.arrays, row.name)], ids=lambda row: row.name)
def test_takes_no_time_of_arrays(row):
    scores, labels = np.array([[0.9, 0.8, 0.7, 0.1], [0.5, 0.6, 0.2, 0.1]]), np.array([[1, 0, 2, 0], [1, 0, 3, 0]])
    measure = getattr(rs.arrays, row.name)
    for parameter, values in {"k": (FAR,), **parameter_values(row)}.items():
        for value in values:
            given = {"max_grade": 4} if "max_grade" in row.defaults else {}
            given |= {"k": FAR, parameter: value}
            try:
                with cpu_limit(SECONDS):
                    found = measure(scores=scores, labels=labels, **given)
            except ValueError:
                continue
            asked = (
                rs.authoring.Metric(row.name).given(**{name: value for name, value in given.items() if name != "k"})
                @ FAR
            )
            engine = rs.evaluate(labels, scores, asked).per_query[asked]
            np.testing.assert_allclose(found, engine, rtol=1e-12, err_msg=str(asked))


@pytest.mark.parametrize("k", [10**5, 10**9, 10**15])
def test_a_list_whose_every_item_covers_every_subtopic(k):
    """Without a loss for what comes again, the sum of 1 / rank is that of Euler: ln k + gamma + 1 / 2k - 1 / 12k^2."""
    metric = rs.authoring.Metric("err_ia", k).given(alpha=0)
    found = rs.evaluate({"q": {"a": ["s"]}}, {"q": ["a"]}, metric)[metric]
    assert 1 / found == pytest.approx(math.log(k) + np.euler_gamma + 1 / (2 * k) - 1 / (12 * k**2), rel=1e-13)


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 5e-4, 2e-3, 0.5])
def test_a_subtopic_that_fades(alpha):
    """One over the rank, times (1 - alpha)^(rank - 1): a logarithm's series, without what is left of it."""
    metric = rs.authoring.Metric("err_ia", FAR).given(alpha=alpha)
    found = rs.evaluate({"q": {"a": ["s"]}}, {"q": ["a"]}, metric)[metric]
    kept = 1 - alpha  # as a float has it
    assert 1 / found == pytest.approx(-math.log(1 - kept) / kept, rel=1e-12)
