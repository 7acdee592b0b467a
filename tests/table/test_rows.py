"""Every row of the tables of tests, corrections, intervals, averages and plots is reached; what it lacks is refused."""

import math

import numpy as np
import pytest

import rankstone as rs
from rankstone.cli.commands import parser
from rankstone.compare.plot_kinds import KINDS
from rankstone.conventions.averaging import AVERAGING
from rankstone.results.curves import CURVES

TESTS, CORRECTIONS, INTERVALS = rs.statistics.TESTS, rs.statistics.CORRECTIONS, rs.statistics.INTERVALS
QUERIES = 24
SUPPORTED = {"clusters": [query // 3 for query in range(QUERIES)], "population": 2 * QUERIES}


def made():
    """A truth and three runs whose values differ from query to query."""
    random = np.random.default_rng(5)
    truth = {
        query: {item: int(grade) for item, grade in enumerate(random.integers(0, 2, 8))} for query in range(QUERIES)
    }
    runs = {name: {query: random.permutation(8).tolist() for query in truth} for name in ("old", "new", "other")}
    return truth, runs


TRUTH, RUNS = made()
PAIR = {name: RUNS[name] for name in ("old", "new")}


def unsupported(table):
    return [(name, trait) for name, row in table.items() for trait in SUPPORTED if not getattr(row, trait)]


@pytest.mark.parametrize("name", TESTS)
def test_every_test_compares(name):
    row = TESTS[name]
    given = {trait: value for trait, value in SUPPORTED.items() if getattr(row, trait)}
    for runs, keywords in ((PAIR, {}), (PAIR, given), (RUNS, {}), (RUNS, {"baseline": "old"})):
        comparison = rs.compare(TRUTH, runs, ["rr", "ndcg@5"], test=name, resamples=99, **keywords)
        assert all(0 <= of.p <= 1 and of.low < of.high for of in comparison)
        said = " ".join(repr(comparison).split())
        assert row.words in said
        assert ("seed 0" in said) == (row.random or CORRECTIONS[comparison._experiment.rules.correction].random)
        assert comparison.to_dict()["test"] == name


@pytest.mark.parametrize("name", TESTS)
def test_equal_runs_never_differ(name):
    comparison = rs.compare(TRUTH, {"one": RUNS["old"], "two": RUNS["old"]}, "rr", test=name)
    assert comparison["two", "rr"].p == 1


@pytest.mark.parametrize("name", CORRECTIONS)
def test_every_correction_adjusts(name):
    comparison = rs.compare(TRUTH, RUNS, ["rr", "ndcg@5"], correction=name, margin=0.2, resamples=99)
    assert all(0 <= of.adjusted <= 1 for of in comparison)
    assert CORRECTIONS[name].words in " ".join(repr(comparison).split())
    assert CORRECTIONS[name].corrects == any(of.adjusted != of.p for of in comparison)


@pytest.mark.parametrize(("name", "trait"), unsupported(TESTS))
def test_what_a_test_does_not_support_is_refused(name, trait):
    with pytest.raises(ValueError, match=f"test='{name}' does not support {trait}=; choose from '") as error:
        rs.compare(TRUTH, PAIR, "rr", test=name, **{trait: SUPPORTED[trait]})
    other = str(error.value).split("'")[-2]
    assert rs.compare(TRUTH, PAIR, "rr", test=other, **{trait: SUPPORTED[trait]})["new", "rr"].p > 0


@pytest.mark.parametrize(("name", "trait"), unsupported(CORRECTIONS))
def test_what_a_correction_does_not_support_is_refused(name, trait):
    with pytest.raises(ValueError, match=f"correction='{name}' does not support {trait}=; choose from '"):
        rs.compare(TRUTH, PAIR, "rr", correction=name, **{trait: SUPPORTED[trait]})


@pytest.mark.parametrize("trait", SUPPORTED)
def test_a_function_supports_neither(trait):
    with pytest.raises(ValueError, match=f"test='own' does not support {trait}="):
        rs.compare(TRUTH, PAIR, "rr", test=own, **{trait: SUPPORTED[trait]})


def own(first, second):
    return 0.5


def test_rows_joined_in_one_mean_are_clusters():
    """Of more than a hundred queries, several are left out at a time, which ranks and functions do not know."""
    truth = {query: {"a": 1, "b": 0} for query in range(101)}
    runs = {name: {query: {"a": query % of, "b": 1} for query in truth} for name, of in (("old", 3), ("new", 4))}
    for test in (own, *(name for name, row in TESTS.items() if not row.clusters)):
        with pytest.raises(
            ValueError, match="does not support groups of lists, which are left out in turn to compare auc"
        ):
            rs.compare(truth, runs, "auc", test=test, averaging="one_list", ties="input")


@pytest.mark.parametrize("name", INTERVALS)
def test_every_interval_holds_its_mean(name):
    row, metric = INTERVALS[name], "hit_rate@1" if INTERVALS[name].binary else "rr"
    result = rs.evaluate(TRUTH, RUNS["old"], [metric, "rr"])
    for clusters in (None, SUPPORTED["clusters"]) if row.clusters else (None,):
        found = result.interval(metric, method=name, clusters=clusters, resamples=99)
        assert (found.method, found.low < result[metric] < found.high) == (name, True)
    if not row.clusters:
        with pytest.raises(ValueError, match=f"method='{name}' does not support clusters=; choose from 't'"):
            result.interval(metric, method=name, clusters=SUPPORTED["clusters"])
    if row.binary:
        with pytest.raises(ValueError, match=f"method='{name}' does not support values other than 0 and 1"):
            result.interval("rr", method=name)


def test_the_first_interval_that_fits_is_the_default():
    result = rs.evaluate(TRUTH, RUNS["old"], ["hit_rate@1", "rr"])
    chosen = [result.interval(metric, clusters=clusters).method for metric, clusters in (
        ("hit_rate@1", None), ("rr", None), ("hit_rate@1", SUPPORTED["clusters"]))]  # fmt: skip
    assert chosen == list(INTERVALS)[:3]


@pytest.mark.parametrize("option", ["test", "correction"])
def test_the_command_and_the_errors_name_every_row(option, capsys):
    table = {"test": TESTS, "correction": CORRECTIONS}[option]
    with pytest.raises(SystemExit):
        parser("compare").parse_args(["compare", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(table) in shown
    with pytest.raises(ValueError, match=f"{option}='none such'; choose from {', '.join(map(repr, table))}"):
        rs.compare(TRUTH, PAIR, "rr", **{option: "none such"})


def test_no_query_has_no_p():
    truth = {"q": {"a": 0}}
    comparison = rs.compare(truth, {"one": {"q": ["a"]}, "two": {"q": ["b"]}}, "rr", test="sign", undefined="skip")
    assert math.isnan(comparison["two", "rr"].p)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plot_is_drawn(kind):
    comparison, groups = rs.compare(TRUTH, PAIR, "rr"), [query % 2 for query in range(QUERIES)]
    if KINDS[kind].groups:
        with pytest.raises(ValueError, match=f"{kind} need by="):
            comparison.plot(kind)
    plot = comparison.plot(kind, by=groups if KINDS[kind].groups else None)
    assert plot.svg().startswith("<svg")
    assert all(len(column) for column in plot.data.values())


@pytest.mark.parametrize("kind", CURVES)
def test_every_curve_is_drawn(kind):
    result = rs.evaluate(TRUTH, RUNS["old"], "auc")
    if kind == "lorenz":
        items = {item for ranked in RUNS["old"].values() for item in ranked}
        result = rs.evaluate(run=RUNS["old"], metrics="gini@2", catalogue=sorted(items))
    elif kind == "bounds":
        result = rs.evaluate(TRUTH, RUNS["old"], "rr", bounds=True)
    query = 3 if kind in ("precision-recall", "roc") else None
    assert result.plot(kind, query=query).svg().startswith("<svg")


def test_errors_name_every_plot():
    with pytest.raises(ValueError, match=f"unknown plot 'none such'; choose from {', '.join(KINDS)}, or a metric"):
        rs.compare(TRUTH, PAIR, "rr").plot("none such")
    with pytest.raises(ValueError, match=f"unknown curve 'none such'; choose from {', '.join(map(repr, CURVES))}"):
        rs.evaluate(TRUTH, RUNS["old"], "auc").plot("none such")


@pytest.mark.parametrize("name", AVERAGING)
def test_every_average_follows_its_traits(name):
    """The mean of one query is its value; of several it is as the row says, and can be compared."""
    row, metric = AVERAGING[name], "f1@3"
    given = {"averaging": name, "ties": "input", "weights": dict.fromkeys(TRUTH, 2.0) if row.weighted else None}
    truth = {query: {**dict.fromkeys(range(8), 0), **items} for query, items in TRUTH.items()}  # a grade for every row
    runs = {run: {query: {item: -at for at, item in enumerate(items)} for query, items in lists.items()}
            for run, lists in PAIR.items()}  # fmt: skip
    result = rs.evaluate(truth, runs["old"], metric, **given)
    assert row.words in result.definitions[metric].rules
    means = [rs.evaluate({query: truth[query]}, {query: runs["old"][query]}, metric, **{
        **given, "weights": {query: 2.0} if row.weighted else None})[metric] for query in truth]  # fmt: skip
    values = np.array(result.per_query[metric])
    np.testing.assert_allclose(means, np.maximum(values, 1e-5) if row.logarithms else values, atol=1e-12)
    if row.plain or row.weighted or row.total:
        assert result[metric] == pytest.approx(values.sum() if row.total else values.mean())
    if row.weighted:
        with pytest.raises(ValueError, match=f"averaging='{name}' needs weights"):
            rs.evaluate(truth, runs["old"], metric, averaging=name, ties="input")
    of = rs.compare(truth, runs, metric, **given)["new", metric]
    assert (of.first, of.second) == pytest.approx(
        (result[metric], rs.evaluate(truth, runs["new"], metric, **given)[metric])
    )


def test_the_choices_name_every_average():
    assert rs.choices["averaging"].allowed == tuple(AVERAGING)
