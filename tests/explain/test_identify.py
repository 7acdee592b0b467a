"""Which definition made a number."""

import contextlib
import json
import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.conventions.plan import make_plans
from rankstone.evaluate.pipeline import open_source
from rankstone.explain import sweep
from rankstone.explain.identify import interval
from rankstone.explain.sweep import Sweep
from tests.effort import examples
from tests.table.cases import fed, fitting, metrics

# One list of 1, 3, 2, 6 with 1, 2 and 4 relevant.
TRUTH, RUN = {"u": {1: 1, 2: 1, 4: 1}}, {"u": {1: 4.0, 3: 3.0, 2: 2.0, 6: 1.0}}


def names(found):
    return [name for one in found.matches if not one.changes for name in one.conventions]


def test_by_hand():
    """AP@2 of one hit: over the 3 relevant items, over 2 places, or over the hit itself."""
    assert names(rs.identify(TRUTH, RUN, "AP@2 = 0.3333"))[0] == "rankstone"
    assert "hivemall-0.5" in names(rs.identify(TRUTH, RUN, "AP@2 = 1.00"))
    half = rs.identify(TRUTH, RUN, "AP@2", 0.5)
    assert "rankstone" not in names(half)
    assert names(half)


@pytest.mark.parametrize(("value", "name"), [("0.704", "rankstone"), ("0.620", "lenskit"), ("0.586", "rectools")])
def test_measured_conventions(value, name):
    """nDCG@4 of the seed case, as measured."""
    assert name in names(rs.identify(TRUTH, RUN, f"nDCG@4 = {value}"))


def test_the_most_ordinary_first():
    found = rs.identify(TRUTH, RUN, "ndcg@4 = 0.7039")
    assert found.matches[0].conventions[0] == "rankstone"
    changes = [len(one.changes) for one in found.matches]
    assert changes == sorted(changes)
    for one in found.matches:  # what makes it as it is need not be changed
        assert not one.changes or not {*one.conventions} & {*names(found)}


def test_one_choice_made_otherwise():
    truth, run = {"u": {1: 3, 2: 1, 4: 2}}, {"u": {1: 4.0, 3: 3.0, 2: 2.0}}
    value = rs.dcg(run["u"], truth=truth["u"], gain="exp2", discount="rank")
    found = rs.identify(truth, run, "dcg(gain='exp2')", f"{value:.6f}")
    assert found.matches[0].changes == {"discount": "rank"}
    assert found.matches[0].value == value == 7 + 1 / 3
    assert "discount 1/rank" in found.matches[0].definition.cite or "/ rank" in found.matches[0].definition.cite
    # two choices, if none is given
    found = rs.identify(truth, run, "dcg", f"{value:.6f}")
    assert {frozenset(one.changes.items()) for one in found.matches if one.conventions[0] == "rankstone"} == {
        frozenset({("gain", "exp2"), ("discount", "rank")})
    } or found.matches[0].conventions[0] != "rankstone"


def test_nothing_makes_it():
    found = rs.identify(TRUTH, RUN, "rr = 0.123")
    assert found.matches == []
    assert found.nearest is not None
    assert "no match" in repr(found)
    assert found.to_dict()["nearest"]["value"] == found.nearest.value


@pytest.mark.parametrize(
    ("reported", "lowest", "highest"),
    [
        ("0.4704", 0.47035, 0.47045),
        (".47", 0.465, 0.475),
        ("47.04 %", 0.47035, 0.47045),
        ("47%", 0.465, 0.475),
        ("1.0", 0.95, 1.05),
        ("3e-2", 0.025, 0.035),
    ],
)
def test_to_the_digits_given(reported, lowest, highest):
    assert interval(reported) == pytest.approx((lowest, highest), abs=1e-15)


@pytest.mark.parametrize(
    "asked",
    [("nDCG@4 = 0.7039",), ("ndcg@4=0.7039",), ("ndcg@4: 0.7039",), ("NDCG@4 70.39 %",), ("ndcg@4", 0.7039),
     (rs.ndcg @ 4, "70.39%"), ("ndcg(gain='linear')@4 = 0.7039",)],
)  # fmt: skip
def test_ways_to_ask(asked):
    found = rs.identify(TRUTH, RUN, *asked)
    assert found.matches[0].conventions[0] == "rankstone"
    assert found.lowest == pytest.approx(0.70385)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("ndcg@4",), "cannot read 'ndcg@4'; write it like 'ndcg@10 = 0.4704'"),
        (("ndgc@4 = 0.5",), "unknown metric 'ndgc@4'; did you mean 'ndcg@4'?"),
        (("recall@{1,2} = 0.5",), "names 2 metrics; pass one metric"),
        (("ndcg@4", "high"), "'high' is not a number"),
        (("ndcg@4", math.nan), "'nan' is not a finite number"),
    ],
)
def test_what_cannot_be_asked(asked, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rs.identify(TRUTH, RUN, *asked)


@pytest.mark.parametrize("metric", ["ndcg@3", "ap@3", "precision@3", "recall", "rr", "f1@3", "err"])
@examples(0.075)
@given(pair=fitting("ranking"))
def test_finds_the_conventions_that_made_it(metric, pair):
    """Every preset that has a number for the data is among those that make it, and no other."""
    truth, run = pair
    values: dict[str, float] = {}
    for name in rs.conventions:
        with contextlib.suppress(ValueError):  # it has no number
            own = rs.conventions[name].choices.get("threshold")  # asked for, it goes with any grades
            asked = {} if own is None else {"threshold": own}
            values[name] = rs.evaluate(truth, run, metric, convention=name, **asked)[metric]
    for reported in {f"{value:.6f}" for value in values.values() if math.isfinite(value)}:
        lowest, highest = interval(reported)
        expected = {name for name, value in values.items() if lowest <= value <= highest}
        assert expected
        assert set(names(rs.identify(truth, run, metric, reported))) == expected


@pytest.mark.parametrize("metric", sorted(fed()))
def test_every_metric(metric):
    truth = {"q": {"a": 1, "b": 0, "c": 1, "e": 1}, "r": {"a": 1, "d": 0}}
    run = {"q": {"a": 0.75, "b": 0.5, "d": 0.25, "c": 0.125}, "r": {"d": 0.75, "a": 0.5}}
    value = rs.evaluate(truth, run, metric)[metric]
    found = rs.identify(truth, run, metric, repr(value))
    assert names(found)[0] == "rankstone"
    assert found.matches[0].definition.cite == rs.define(metric).cite
    assert found.tried >= len(rs.conventions) / 2


def test_what_it_looks_like():
    found = rs.identify(TRUTH, RUN, "ndcg@4 = 0.620")
    lines = repr(found).split("\n")
    assert lines[0].startswith(f"ndcg@4 = 0.620: {len(found.matches)} matches; {found.tried} definitions tried, ")
    assert lines[1].split() == ["convention", "changed", "value"]
    assert lines[3].startswith("lenskit")
    assert "lenskit" in found._repr_html_()
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["matches"][0]["conventions"][0] == "lenskit"


def test_data_that_some_definitions_refuse():
    """An item twice is an error by default, and counts each time elsewhere."""
    truth, run = {"q": ["a", "b"]}, {"q": ["a", "a", "x"]}
    found = rs.identify(truth, run, "precision@3 = 0.667")
    assert "rankstone" not in names(found)
    assert "hivemall" in names(found)


@pytest.mark.parametrize("name", ["ndcg", "ap", "precision", "rr", "f1", "auc", "bpref", "err"])
@examples(0.375)
@given(data=st.data(), pair=fitting("ranking"))
def test_what_definitions_share_is_shared_rightly(name, data, pair):
    """Measured one after the other on the same data, definitions make the numbers that they make alone."""
    truth, run = pair
    allowed = {name: st.sampled_from(choice.allowed) for name, choice in rs.choices.items() if choice.allowed}
    allowed |= {
        "threshold": st.sampled_from((1, 2, ">0", "all")),
        "averaging": st.sampled_from(("macro", "micro", "sum")),
    }
    sweep = Sweep(open_source(truth, run))
    for _ in range(8):
        metric, _, _ = data.draw(metrics(name))
        choices = data.draw(st.fixed_dictionaries({}, optional=allowed))
        try:
            alone = rs.evaluate(truth, run, metric, **choices)
        except ValueError:
            with pytest.raises(ValueError):  # noqa: PT011  the same, by another name
                sweep.outcome(*make_plans(metric, "rankstone", choices))
            continue
        shared = sweep.outcome(*make_plans(metric, "rankstone", choices))
        assert shared.mean == pytest.approx(alone[metric], rel=1e-12, nan_ok=True)
        assert shared.values == pytest.approx(alone.per_query[metric], rel=1e-12, nan_ok=True)


def test_two_divisors_of_one_sum():
    """One hit in a list of two: over 3 places, or over the 2 that there are."""
    sweep = Sweep(open_source({"q": ["a"]}, {"q": ["a", "x"]}))
    for divisor, value in {"k": 1 / 3, "min(k,retrieved)": 1 / 2}.items():
        assert sweep.outcome(*make_plans(rs.precision(divisor=divisor) @ 3, "rankstone", {})).mean == value


def test_a_published_number(shared):
    """BM25 on TREC Deep Learning 2019: nDCG@10 is 0.4973, as trec_eval computes it."""
    truth, run = shared("data/dl19/2019qrels-pass.txt"), shared("data/dl19/run.trec2019-bm25.res")
    found = rs.identify(truth, run, "nDCG@10 = 49.73 %")
    assert found.matches[0].conventions[:2] == ("rankstone", "trec_eval")
    assert "lightgbm" not in names(found)


def test_a_published_number_with_a_threshold(shared):
    """The same run's best-known MAP, 0.2903, takes grades from 2 for relevant."""
    truth, run = shared("data/dl19/2019qrels-pass.txt"), shared("data/dl19/run.trec2019-bm25.res")
    found = rs.identify(truth, run, "map=0.2903")
    assert found.matches[0].conventions[0] == "rankstone"
    assert found.matches[0].changes == {"threshold": 2}


@pytest.mark.parametrize(("grades", "tried"), [((1, 2, 3), 3), ((0, 0.5, 1), 0.5), ((-1, 1, 4), 4)])
def test_thresholds_are_grades_that_occur(grades, tried):
    """Of three items, the last is relevant by the highest threshold only; or the middle one by a half."""
    truth = {"q": dict(zip("abc", grades, strict=True))}
    run = {"q": ["a", "b", "c"]}
    value = rs.evaluate(truth, run, "rr", threshold=tried)["rr"]
    assert value != rs.evaluate(truth, run, "rr")["rr"]
    found = rs.identify(truth, run, "rr", f"{value:.6f}")
    assert {"threshold": tried} in [match.changes for match in found.matches]


def test_data_that_every_definition_refuses():
    """It is an error, as it is for `evaluate`, and not a number that nobody makes."""
    with pytest.raises(ValueError, match="no query in common"):
        rs.identify({"q": ["a"]}, {"r": ["a"]}, "rr = 0.5")
    with pytest.raises(ValueError, match="'a' and 'A' are not the same id"):
        rs.identify({"q": ["a"]}, {"q": ["A"]}, "rr = 0.5")


def test_definitions_that_see_the_same_are_measured_once(monkeypatch):
    """Without ties, with grades of 0 and 1 and scores above 0, hundreds of definitions come down to a few sums."""
    truth = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 1, "d": 1}}
    run = {"q1": {"a": 0.5, "x": 0.75, "b": 0.25}, "q2": {"d": 0.5, "a": 0.25, "y": 0.125}}
    measured = []
    monkeypatch.setattr(
        sweep, "ratio_of", lambda plan, view, of=sweep.ratio_of: measured.append(plan) or of(plan, view)
    )
    found = rs.identify(truth, run, "precision@2", 0.98765)
    assert found.tried > 500
    assert len(measured) < found.tried / 10


# Scores of which many are equal: 40 items at four scores.
TIED_TRUTH = {query: {item: (item * 7 + query) % 4 for item in range(0, 40, 2)} for query in range(12)}
TIED_RUN = {query: {item: float((item // 4 * 3 + query) % 4) for item in range(40)} for query in range(12)}


def test_a_number_that_ties_decide_is_no_match_of_a_changed_choice():
    """ranx sorts more than 15 items in no defined order: its number is any of a range."""
    plain = rs.evaluate(TIED_TRUTH, TIED_RUN, "ap", convention="ranx")
    ends = plain.ties["ap"]
    number = (2 * plain["ap"] + ends.highest) / 3
    result = rs.identify(TIED_TRUTH, TIED_RUN, f"ap = {number:.4f}")
    assert not names(result)
    assert all({*match.changes} <= {"ties", "score_precision"} for match in result.matches)
    (ranx,) = [match for match in result.possible if "ranx" in match.conventions and not match.changes]
    assert (ranx.ties.lowest, ranx.ties.highest) == (ends.lowest, ends.highest)
    assert result.ties.queries == result.queries == 12
    assert "the order of tied items decides 12 of 12 queries" in str(result)
    assert "may be a coincidence" in re.sub(r"\s+", " ", str(result))
    assert result.to_dict()["possible"][0]["ties"]["queries"] == 12


def test_ties_are_mentioned_where_a_convention_makes_the_number():
    value = rs.evaluate(TIED_TRUTH, TIED_RUN, "ap")["ap"]
    result = rs.identify(TIED_TRUTH, TIED_RUN, f"ap = {value:.6f}")
    assert "rankstone" in names(result)
    assert not result.possible
    assert "12 of 12 queries" in str(result)
    assert rs.identify(TRUTH, RUN, "ap = 0.56").ties is None


GRADED = {query: {item: (item + query) % 4 for item in range(0, 20, 2)} for query in range(6)}
FIRST = {query: {item: math.sin(item * 3 + query) for item in range(20)} for query in range(6)}
SECOND = {query: {item: math.cos(item * 2 + query) for item in range(20)} for query in range(6)}


def _reported(run, convention="lightgbm"):
    result = rs.evaluate(GRADED, run, ["ap@10", "ndcg@10"], convention=convention)
    return {label: f"{result[label]:.5f}" for label in result}


def _unchanged(result):
    return [name for name, changes in result.matches if not changes]


def test_several_numbers_at_once():
    by_metric = _reported(FIRST)
    text = ", ".join(f"{label} = {number}" for label, number in by_metric.items())
    whole = rs.identify(GRADED, FIRST, by_metric)
    single = [names(rs.identify(GRADED, FIRST, label, number)) for label, number in by_metric.items()]
    assert "lightgbm" in _unchanged(whole)
    assert {*_unchanged(whole)} == {*single[0]} & {*single[1]}
    assert whole == rs.identify(GRADED, FIRST, text) == rs.identify(GRADED, FIRST, text.split(", "))
    for name, changes in whole.matches:  # each of them produces both numbers
        convention = rs.conventions[name].with_choices(**changes)
        result = rs.evaluate(GRADED, FIRST, [*by_metric], convention=convention)
        assert {label: f"{result[label]:.5f}" for label in result} == by_metric
    assert "all 2 numbers" in str(whole)
    assert json.loads(json.dumps(whole.to_dict()))["results"][1]["metric"] == "ndcg@10"


def test_a_table_of_runs_and_metrics():
    table = {"first": _reported(FIRST), "second": _reported(SECOND)}
    whole = rs.identify(GRADED, {"first": FIRST, "second": SECOND}, table)
    assert whole.runs == ["first", "first", "second", "second"]
    assert "lightgbm" in _unchanged(whole)
    table["second"]["ap@10"] = "0.99999"
    assert rs.identify(GRADED, {"first": FIRST, "second": SECOND}, table).matches == []
    with pytest.raises(ValueError, match="run 'second'; pass the runs by name"):
        rs.identify(GRADED, {"first": FIRST}, table)


def test_one_table_with_labels_and_scores():
    rows = [(query, GRADED[query][item], FIRST[query][item]) for query in GRADED for item in GRADED[query]]
    table = pd.DataFrame(rows, columns=["query", "label", "score"])
    value = rs.evaluate(table, metrics="ndcg@10")["ndcg@10"]
    assert "rankstone" in names(rs.identify(table, metric="ndcg@10", value=f"{value:.6f}"))
    explanation = rs.explain(table, metric="ndcg@10", query=3)
    assert explanation.value == pytest.approx(rs.evaluate(table, metrics="ndcg@10").per_query["ndcg@10"][3])
    with pytest.raises(TypeError, match="pass a metric"):
        rs.explain(table)
    with pytest.raises(TypeError, match="pass metric and number"):
        rs.identify(table)


def test_an_error_names_the_metric_that_was_asked_for():
    with pytest.raises(ValueError, match=r"^divisor= is a parameter of ap|^ap: divisor='truth'"):
        rs.identify(TRUTH, RUN, "ap = 0.5", divisor="truth")
    with pytest.raises(ValueError, match=r"^divisor='truth' is no value of divisor of any metric; choose from 'none'"):
        rs.conventions["trec_eval"].with_choices(divisor="truth")
