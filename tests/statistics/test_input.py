"""What every function refuses: values that are no numbers, lists that do not fit, nothing at all."""

import doctest
import inspect
import math

import numpy as np
import pytest

import rankstone as rs

BAD = [0.25, math.nan, 0.5, 1.0]
GOOD = [0.25, 0.75, 0.5, 1.0]
of = rs.statistics

ONE = {
    "student": of.student,
    "wilcoxon": of.wilcoxon,
    "sign_test": of.sign_test,
    "hall_interval": of.hall_interval,
    "bootstrap": of.bootstrap,
    "adjust": of.adjust,
}
TWO = {
    "effect": of.effect,
    "influence": of.influence,
    "jackknife": of.jackknife,
}
TABLE = {"tukey": of.tukey}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_list(name, bad):
    with pytest.raises(ValueError, match=rf"\w+\[1\] is {bad}, not a finite number"):
        ONE[name]([0.25, bad, 0.5])


@pytest.mark.parametrize("name", TWO)
def test_two_lists(name):
    for lists in ((BAD, GOOD), (GOOD, BAD)):
        with pytest.raises(ValueError, match=r"\w+\[1\] is nan, not a finite number"):
            TWO[name](*lists)
    with pytest.raises(ValueError, match="has"):
        TWO[name](GOOD, GOOD[:2])


@pytest.mark.parametrize("name", TABLE)
def test_tables(name):
    table = np.ones((4, 3))
    table[2, 1] = math.nan
    with pytest.raises(ValueError, match=r"scores\[2, 1\] is nan"):
        TABLE[name](table)
    with pytest.raises(ValueError, match="1 queries and 3 runs; at least 2"):
        TABLE[name](np.ones((1, 3)))
    with pytest.raises(ValueError, match="scores has 1 dimensions, not 2"):
        TABLE[name]([1.0, 2.0])


@pytest.mark.parametrize("name", ["student", "wilcoxon", "sign_test", "hall_interval", "bootstrap", "effect"])
def test_nothing(name):
    lists = ([],) if name in ONE else ([], [])
    with pytest.raises(ValueError, match=r"there is no query|at least 2"):
        {**ONE, **TWO}[name](*lists)


@pytest.mark.parametrize("name", of.__all__)
def test_every_name_has_words(name):
    what = getattr(of, name)
    assert not callable(what) or inspect.getdoc(what)


def test_examples_run():
    ran = 0
    for name in of.__all__:
        text = inspect.getdoc(getattr(of, name)) or ""
        examples = doctest.DocTestParser().get_doctest(text, {"rs": rs}, name, None, 0)
        problems = []
        ran += doctest.DocTestRunner(verbose=False).run(examples, out=problems.append).attempted
        assert not problems, "".join(problems)
    assert ran >= 7


def test_names_are_sorted():
    assert of.__all__ == sorted(of.__all__, key=lambda name: (not name.isupper(), name))


def test_inputs_stay_as_they_are():
    values = np.array([3.0, -1.0, 2.0, 0.0])
    for call in (of.wilcoxon, of.sign_test, of.hall_interval, of.bootstrap, of.student):
        call(values)
    assert values.tolist() == [3, -1, 2, 0]
