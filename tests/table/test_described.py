"""Every definition, of every metric under every preset: the words agree with the choices and with the cutoff."""

import re

import pytest

import rankstone as rs
from rankstone.conventions.plan import make_plans, unread
from tests.table.cases import built_in


def definitions(name, k):
    """Of a metric, by preset; without those that do not define it."""
    metric = rs.authoring.Metric(name, k)
    for convention in rs.conventions:
        try:
            yield convention, make_plans(metric, convention, {})[0], rs.define(metric, convention=convention)
        except ValueError:  # noqa: PERF203
            continue


@pytest.mark.parametrize("name", sorted(built_in()))
def test_a_formula_is_no_value_of_a_parameter(name):
    row = built_in()[name]
    words = {str(word) for about in row.about.values() for word in (*about.allowed, *row.defaults.values())}
    for k in (None, 10)[: 1 + row.takes_k]:
        for convention, _, definition in definitions(name, k):
            assert definition.formula not in words, convention
            assert " " in definition.sentence.strip("."), convention


@pytest.mark.parametrize("name", sorted(name for name, row in built_in().items() if row.takes_k))
def test_the_cutoff_is_in_the_words_where_there_is_one(name):
    for convention, _, definition in definitions(name, 10):
        assert re.search(r"\bk\b", definition.formula), convention
        assert definition.choices["k"] == 10
    for convention, plan, definition in definitions(name, None):
        said = [definition.formula, definition.sentence, *definition.rules, *definition.edge_cases]
        if plan.arguments["k"] is None:  # the convention has no default cutoff
            assert not [text for text in said if re.search(r"\bk\b", text)], convention


@pytest.mark.parametrize("name", sorted(built_in()))
def test_the_sentence_is_of_the_formula(name):
    row = built_in()[name]
    k = 10 if row.takes_k else None
    usual = rs.define(rs.authoring.Metric(name, k))
    assert usual.sentence == row.summary
    for convention, plan, definition in definitions(name, k):
        same = definition.formula == usual.formula and plan.choices["averaging"] == usual.choices["averaging"]
        assert (definition.sentence == row.summary) == same, convention


@pytest.mark.parametrize("name", sorted(built_in()))
def test_only_choices_that_are_read_are_listed(name):
    for convention, plan, definition in definitions(name, None):
        assert not unread(plan) & definition.choices.keys(), convention
        assert {*plan.choices, *plan.arguments} == unread(plan) | definition.choices.keys()


TRUTH = {"p": {"a": 1, "b": 3, "c": 2, "d": 0}, "q": {"a": 1, "e": 1}, "r": {"a": 4}}
RUN = {"p": ["d", "a", "x", "c", "b"], "q": ["x", "e", "a"], "r": ["a", "d"]}


@pytest.mark.parametrize("name", sorted(name for name, row in built_in().items() if row.reads == "ranking"))
def test_a_threshold_that_is_not_listed_changes_nothing(name):
    if built_in()[name].kind == "intents":
        pytest.skip("needs subtopics")
    for convention in ("rankstone", "ranx", "trec_eval", "spark"):
        try:
            values = {}
            for threshold in (1, 2, 3):
                result = rs.evaluate(TRUTH, RUN, name, convention=convention, threshold=threshold)
                (definition,) = result.definitions.values()
                values[threshold] = list(result.per_query[str(rs.authoring.Metric(name))])
        except ValueError:  # it reads ratings or whole scores, or the choice is refused
            return
        listed = "threshold" in definition.choices
        assert listed == any("relevant if grade" in rule for rule in definition.rules)
        assert listed == ("threshold=3" in definition.cite) == ("threshold=3" in result.render("latex"))
        if not listed:
            assert values[1] == values[2] == values[3]
