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
    "notes": ("ndcg", {"credit": "weight"}),
    "parts": ("f1@3", {"averaging": "parts"}),
    "digits": ("ap", {"digits": 3}),
    "float32": ("ap", {"score_precision": "float32"}),
    "unjudged": ("ap", {"known": "judged"}),
    "shown": ("novelty@3", {}),
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
    found = unsupported(make_plans("err", "rankstone", given), Capabilities(all_queries="one at a time"))
    assert bool(found) == (not given)


def test_no_scores():
    Capabilities().refuse_no_scores("run")
    with pytest.raises(ValueError, match="the run has no score or rank column, and rows come as they like"):
        Capabilities(row_order="rows come as they like").refuse_no_scores("run")


def test_doors_say_why():
    with pytest.raises(ValueError, match=r"ap: ties='input' .* \(a stream's rows come in any order\)"):
        rs.Stream({"q": {"a": 1}}, "ap", ties="input")


# -- choices that nobody can use ----------------------------------------------------------------------------------

ONE = {"q": ["a"]}


@pytest.mark.parametrize(
    ("metrics", "given"),
    [
        (["rr"], {"beta": 2}),
        (["rr", "ap"], {"gain": "exp2"}),
        (["rr"], {"ap_divisor": "k"}),
        (["rr"], {"ap_ties": "input"}),
        (["ap"], {"ap@k_divisor": "k"}),
        (["rmse"], {"threshold": 2}),
    ],
)
def test_a_choice_that_no_metric_can_use(metrics, given):
    with pytest.raises(ValueError, match=f"^{next(iter(given))}=.* would change nothing: {metrics[0]}.* cannot use it"):
        make_plans(metrics, "rankstone", given)


def test_a_choice_for_one_of_the_metrics():
    first, second = make_plans(["rr", "ap@2"], "rankstone", {"divisor": "k", "ap@k_ties": "input", "threshold": 2})
    assert second.arguments["divisor"] == "k"
    assert (first.choices["ties"], second.choices["ties"]) == ("item_desc", "input")


def test_a_choice_of_one_list():
    with pytest.raises(ValueError, match=r"beta=2 would change nothing: rr cannot use it \(.*\bf would\)"):
        rs.rr(["a"], truth=["a"], beta=2)


def test_a_conventions_own_choices_are_not_refused():
    named = rs.conventions["hivemall"].with_choices(beta=2)
    assert rs.rr(["a"], truth=["a"], convention=named) == 1


def test_what_a_convention_needs():
    with pytest.raises(ValueError, match=r"auc@2: implicit's is over all items .* say how many, as auc_catalogue="):
        rs.evaluate(ONE, ONE, "auc@2", convention="implicit")
    # One relevant item first, of 5: it stands above the 4 others.
    assert rs.evaluate(ONE, ONE, "auc@2", convention="implicit", catalogue=5)["auc@2"] == 1
    assert rs.evaluate(ONE, ONE, "precision@1", convention="implicit")["precision@1"] == 1


# -- what was meant -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["satisfaction", "mean_rank", "foo"])
def test_far_words_are_not_suggested(word):
    with pytest.raises(ValueError, match=f"^unknown metric '{word}'; known: [a-z_0-9]+, "):
        make_plans(word, "rankstone", {})


@pytest.mark.parametrize(
    ("metric", "given", "told"),
    [
        ("ndgc@10", {}, "unknown metric 'ndgc@10'; did you mean 'ndcg@10'"),
        ("rr", {"treshold": 2}, "unknown choice 'treshold'; did you mean 'threshold'"),
        ("rr", {"exclude": 2}, "unknown choice 'exclude'; known: "),
        ("rr", {"metric": "rr"}, "unknown choice 'metric'; did you mean 'metrics'"),
        ("rr", {"k": 5}, "k is a part of the metric: write 'rr@5'"),
        ("rr(beta=2)", {}, "unknown parameter of rr 'beta'; known: "),
    ],
)
def test_near_words_are(metric, given, told):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(told)}"):
        make_plans(metric, "rankstone", given)
    with pytest.raises(ValueError, match="unknown convention 'foo'; known: "):
        make_plans("rr", "foo", {})
