"""What a way of feeding cannot know is stated once, and refused in one place."""

from dataclasses import fields

import pytest

import rankstone as rs
from rankstone.conventions.plan import Feeding, make_plans, refuse_unknown, unknown

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
}
FACTS = [one.name for one in fields(Feeding) if one.name != "otherwise"]


@pytest.mark.parametrize("fact", FACTS)
def test_each_fact_is_asked_for(fact):
    metric, choices = ASKING[fact]
    plans = make_plans(metric, "rankstone", choices)
    blind = Feeding(**{fact: "nobody saw it"}, otherwise="or look")
    with pytest.raises(ValueError, match=r"^(ap|ndcg|err|r2|mae)\b.*; .*, or look \(nobody saw it\)$"):
        refuse_unknown(plans, blind)
    refuse_unknown(plans, Feeding())


def test_ordinary_choices_ask_for_nothing():
    everything = Feeding(**dict.fromkeys(FACTS, "nobody saw it"))
    assert not unknown(make_plans(["ndcg@10", "ap", "rr"], "rankstone", {}), everything)


def test_one_list_of_an_additive_metric_needs_no_rows():
    assert not unknown(make_plans("mae", "rankstone", {"averaging": "one_list"}), Feeding(one_list="too many"))


@pytest.mark.parametrize("given", [{}, {"max_grade": 4}])
def test_the_highest_grade_can_be_said(given):
    found = unknown(make_plans("err", "rankstone", given), Feeding(all_queries="one at a time"))
    assert bool(found) == (not given)


def test_no_scores():
    Feeding().refuse_no_scores("run")
    with pytest.raises(ValueError, match="the run has no score or rank column, and rows come as they like"):
        Feeding(row_order="rows come as they like").refuse_no_scores("run")


def test_doors_say_why():
    with pytest.raises(ValueError, match=r"ap: ties='input' .* \(a stream's rows come in any order\)"):
        rs.Stream({"q": {"a": 1}}, "ap", ties="input")
