"""A metric is a value: it reads back from its own name, in any case and by any alias; and its example runs."""

import doctest
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

from .cases import built_in, metrics, parameter_values

ROWS = list(built_in().values())
every_metric = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@every_metric
@given(data=st.data())
def test_reads_back_from_its_name(row, data):
    metric, _, _ = data.draw(metrics(row.name))
    (again,) = rs.authoring.Metric.parse(str(metric))
    assert again == metric
    assert hash(again) == hash(metric)
    assert str(again) == str(metric) == repr(metric)


@every_metric
def test_every_parameter_reads_back(row):
    for parameter, values in parameter_values(row).items():
        for value in values:
            metric = rs.authoring.Metric(row.name).given(**{parameter: value})
            assert rs.authoring.Metric.parse(str(metric)) == (metric,)


@every_metric
def test_choices_read_back(row):
    """A choice can be made for one metric, in its name."""
    for name, value in [("threshold", ">3"), ("undefined", "skip"), ("ties", "input"), ("missing", "error")]:
        metric = rs.authoring.Metric(row.name).given(**{name: value})
        assert rs.authoring.Metric.parse(str(metric)) == (metric,)


@every_metric
def test_aliases_and_case(row):
    for alias in (row.name, *row.aliases):
        for text in (alias, alias.upper(), alias.title(), f"  {alias} "):
            assert rs.authoring.Metric.parse(text) == (rs.authoring.Metric(row.name),)
    for alias in row.aliases:
        assert str(rs.authoring.Metric.parse(alias)[0]) == row.name  # read, never printed


def test_no_name_means_two_metrics():
    names = [name.lower() for row in ROWS for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))


@every_metric
def test_cutoffs(row):
    metric = rs.authoring.Metric(row.name)
    if row.takes_k:
        assert rs.authoring.Metric.parse(f"{row.name}@{{1,10}}") == (metric @ 1, metric @ 10)
        assert rs.authoring.Metric.parse(f"{row.name}@7") == (metric @ 7,)
        assert metric @ 7 != metric
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="k must be a whole number from 1"):
                metric @ wrong
        for wrong in (1.5, "3", True):
            with pytest.raises(TypeError, match="k must be a whole number from 1"):
                metric @ wrong
    else:
        with pytest.raises(ValueError, match=f"{row.name} has no place for a cutoff"):
            metric @ 5


@every_metric
def test_wrong_parameter_is_named(row):
    with pytest.raises(ValueError, match=f"unknown parameter of {row.name} 'colour'"):
        rs.authoring.Metric(row.name)(colour=1)
    with pytest.raises(ValueError, match=f"unknown parameter of {row.name} 'colour'"):
        rs.authoring.Metric.parse(f"{row.name}(colour=1)")
    with pytest.raises(ValueError, match=f"unknown parameter of {row.name} 'colour'"):
        rs.authoring.Metric(row.name, params=(("colour", 1),))
    for parameter, values in parameter_values(row).items():
        if all(isinstance(value, str) for value in values):
            with pytest.raises(ValueError, match=f"{row.name}: {parameter}='no word'; choose from"):
                rs.authoring.Metric(row.name)(**{parameter: "no word"})


def run_examples(name, text):
    tests = doctest.DocTestParser().get_doctest(text, {"rs": rs}, name, None, 0)
    assert tests.examples, f"{name} has no example"
    problems = []
    doctest.DocTestRunner(verbose=False).run(tests, out=problems.append)
    assert not problems, "".join(problems)


@every_metric
def test_example_runs(row):
    run_examples(row.name, inspect.getdoc(row.function))


@every_metric
def test_is_described(row):
    """In a sentence, or the beginning of one, and by a formula."""
    assert row.summary[0].isupper() or row.summary[0].isdigit()
    assert row.formula


FUNCTIONS = [
    name for name in rs.__all__ if inspect.isfunction(getattr(rs, name)) and ">>>" in (getattr(rs, name).__doc__ or "")
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example_of_function_runs(name):
    run_examples(name, inspect.getdoc(getattr(rs, name)))
