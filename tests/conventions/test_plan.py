"""What a way of feeding cannot know is stated once, and refused in one place."""

import re
from dataclasses import fields

import pytest

import rankstone as rs
from rankstone.conventions.plan import Capabilities, check_supported, make_plans, unsupported

# For each fact: a metric and choices that ask for it.
ASKING = {
    "row_order": ("ap", {"duplicates": "first"}),
    "ties_order": ("ap", {"ties": "reverse_input"}),
    "together": ("ap", {"duplicates": "best"}),
    "truth_order": ("ap@3", {"truth_depth": "k"}),
    "extra_queries": ("ap", {"extra": "zero"}),
    "all_queries": ("err", {}),
    "one_list": ("r2", {}),
    "weights": ("ap", {"averaging": "weighted"}),
    "ratings": ("mae", {}),
    "other_means": ("ap", {"averaging": "geometric"}),
    "agreement": ("kendall", {}),
    "annotations": ("ndcg", {"relevance": "weighted"}),
    "parts": ("f1@3", {"averaging": "parts"}),
    "digits": ("ap", {"digits": 3}),
    "float32": ("ap", {"score_precision": "float32"}),
    "unjudged": ("ap", {"unjudged": "condensed"}),
    "query_thresholds": ("ap", {"threshold": "relative"}),
    "repeats": (rs.ndcg(ideal="repeats"), {}),
    "recommendations": ("novelty@3", {}),
    "all_lists": ("coverage@3", {}),
    "whole_lists": ("novelty", {}),
}
FACTS = [one.name for one in fields(Capabilities) if one.name != "otherwise"]


@pytest.mark.parametrize("fact", FACTS)
def test_each_fact_is_asked_for(fact):
    metric, choices = ASKING[fact]
    plans = make_plans(metric, "rankstone", choices)
    blind = Capabilities(**{fact: "nobody saw it"}, otherwise="or look")
    with pytest.raises(
        ValueError, match=r"^(ap|ndcg|err|r2|mae|kendall|f1|novelty|coverage)\b.*; .*, or look \(nobody saw it\)$"
    ):
        check_supported(plans, blind)
    check_supported(plans, Capabilities())


def test_ordinary_choices_ask_for_nothing():
    everything = Capabilities(**dict.fromkeys(FACTS, "nobody saw it"))
    assert not unsupported(make_plans(["ndcg@10", "ap", "rr"], "rankstone", {}), everything)


def test_one_list_of_an_additive_metric_needs_no_rows():
    assert not unsupported(make_plans("mae", "rankstone", {"averaging": "one_list"}), Capabilities(one_list="too many"))


@pytest.mark.parametrize("given", [{}, {"max_grade": 4}])
def test_the_highest_grade_can_be_said(given):
    found = unsupported(make_plans(rs.err(**given), "rankstone", {}), Capabilities(all_queries="one at a time"))
    assert bool(found) == (not given)


def test_no_scores():
    Capabilities().require_scores("run")
    with pytest.raises(ValueError, match="the run has no score or rank column, and rows come as they like"):
        Capabilities(row_order="rows come as they like").require_scores("run")


def test_doors_say_why():
    with pytest.raises(ValueError, match=r"ap: ties='input' needs an order of rows; .* \(.*rows.*\)"):
        rs.Stream({"q": {"a": 1}}, "ap", ties="input")


# -- choices that nobody can use ----------------------------------------------------------------------------------

ONE = {"q": ["a"]}


@pytest.mark.parametrize(
    ("metrics", "given", "problem"),
    [
        (["rr"], {"beta": 2}, "beta= is a parameter of nrbp, nnrbp, f, not of rr"),
        (["rr", "ap"], {"gain": "exp2"}, "gain= is a parameter of cg, dcg, ndcg, rbp, not of rr, ap"),
        (["rr"], {"ap_divisor": "k"}, "ap_divisor= is a parameter of ap, not of rr"),
        (
            ["rr", "ap@5"],
            {"ap_divisor": "k"},
            "ap_divisor= is a parameter of ap; write it there: \"ap(divisor='k')@5\"",
        ),
        (["ap"], {"divisor": "k"}, "divisor= is a parameter of ap; write it there: \"ap(divisor='k')\""),
        (["tail@5"], {"tail_at": 0.2}, "tail_at= is a parameter of tail; write it there: 'tail(tail_at=0.2)@5'"),
        (["ap"], {"divisor": "x"}, "ap: divisor='x'; choose from"),
        (["rmse"], {"threshold": 2}, "threshold=2 would change nothing: rmse cannot use it"),
    ],
)
def test_a_choice_that_no_metric_can_use(metrics, given, problem):
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        make_plans(metrics, "rankstone", given)


def test_a_choice_for_one_of_the_metrics():
    first, second = make_plans(["rr", "ap(divisor='k', ties='input')@2"], "rankstone", {"threshold": 2})
    assert second.arguments["divisor"] == "k"
    assert (first.choices["ties"], second.choices["ties"]) == ("item_desc", "input")


def test_a_choice_of_one_list():
    with pytest.raises(ValueError, match=r"beta= is a parameter of nrbp, nnrbp, f, not of rr"):
        rs.rr(["a"], truth=["a"], beta=2)


def test_a_conventions_own_choices_are_not_refused():
    named = rs.conventions["hivemall"].with_choices(beta=2)
    assert rs.rr(["a"], truth=["a"], convention=named) == 1


def test_what_a_convention_needs():
    with pytest.raises(ValueError, match=r"auc@2: implicit's is over all items .* say how many, as auc\(catalogue="):
        rs.evaluate(ONE, ONE, "auc@2", convention="implicit")
    # One relevant item first, of 5: it stands above the 4 others.
    assert rs.evaluate(ONE, ONE, "auc@2", convention="implicit", catalogue=5)["auc@2"] == 1
    assert rs.evaluate(ONE, ONE, "precision@1", convention="implicit")["precision@1"] == 1


# -- what was meant -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["satisfaction", "mean_rank", "foo"])
def test_far_words_are_not_suggested(word):
    with pytest.raises(ValueError, match=f"^unknown metric '{word}'; there are [a-z_0-9]+, .* and \\d+ more"):
        make_plans(word, "rankstone", {})


@pytest.mark.parametrize(
    ("metric", "given", "told"),
    [
        ("ndgc@10", {}, "unknown metric 'ndgc@10'; did you mean 'ndcg@10'"),
        ("rr", {"treshold": 2}, "unknown choice 'treshold'; did you mean 'threshold'"),
        ("rr", {"exclude": 2}, "unknown choice 'exclude'; there are "),
        ("rr", {"metric": "rr"}, "unknown choice 'metric'; did you mean 'metrics'"),
        ("rr", {"k": 5}, "k is a part of the metric: write 'rr@5'"),
        ("rr(beta=2)", {}, "unknown parameter of rr 'beta'; there are "),
    ],
)
def test_near_words_are(metric, given, told):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(told)}"):
        make_plans(metric, "rankstone", given)
    with pytest.raises(ValueError, match="unknown convention 'foo'; there are "):
        make_plans("rr", "foo", {})
