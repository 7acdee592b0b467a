"""What `rs.definition` says: formula, LaTeX, sentence, edge cases, and a line to cite."""

import json
import re

import pytest

import rankstone as rs
from tests.table.cases import built_in, parameter_values


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_metric_has_its_formula(name):
    row = built_in()[name]
    for said in (row.formula, row.latex, row.use_when, row.caveat, *(about.meaning for about in row.about.values())):
        assert said, "it stands in the metric's row"
    found = rs.define(rs.authoring.Metric(name))
    for text in (found.formula, found.latex):
        assert text
        assert not re.search(r"<\w+>", text), "a placeholder without a parameter"
    assert found.latex.count("{") == found.latex.count("}")


@pytest.mark.parametrize("name", sorted(built_in("any")))
def test_no_raw_values_in_formulas(name):
    """No placeholder, and 1 for 1.0; of metrics beyond accuracy, too."""
    found = rs.define(rs.authoring.Metric(name, 3 if built_in("any")[name].takes_k else None))
    for text in (found.formula, found.latex):
        assert not re.search(r"<\w+>|\d\.0\b", text)


@pytest.mark.parametrize(
    ("metric", "choices", "text", "latex"),
    [
        (
            "ap",
            {},
            "sum of the precision at the rank of each relevant item, divided by the number of relevant items",
            r"\frac{1}{\mathrm{relevant}} \sum_{i} ",
        ),
        (
            "ap@10",
            {"divisor": "min(relevant,k)"},
            "divided by the smaller of k and the number of relevant items",
            r"\min(\mathrm{relevant}, k)",
        ),
        (
            "ap",
            {"divisor": "min(relevant,k)"},
            "divided by the number of relevant items",
            r"\frac{1}{\mathrm{relevant}}",
        ),
        ("precision@5", {}, "hits(k) / k", r"\frac{\mathrm{hits}(k)}{k}"),
        ("precision", {}, "hits / retrieved", r"\frac{\mathrm{hits}}{\mathrm{retrieved}}"),
        ("precision", {"divisor": "min(k,relevant)"}, "hits / min(retrieved, relevant)", r"\mathrm{relevant})"),
        (
            "ndcg@10",
            {"gain": "exp2"},
            "DCG with gain (2^grade - 1), divided by the ideal DCG",
            r"(2^{g_i} - 1) / \log_2(i+1)",
        ),
        ("ndcg", {"gain": "exp1.5"}, "DCG with gain (1.5^grade - 1)", r"(1.5^{g_i} - 1)"),
        ("dcg", {"gain": "binary", "discount": "rank"}, "sum of relevant / rank", r"\frac{\mathrm{rel}_i}{i}"),
        ("ndcg", {"gain": {0: 0, 1: 3}}, "DCG with gain(grade)", r"\mathrm{gain}(g_i)"),
        ("rbp(p=0.5)", {}, "(1 - 0.5) * sum over the relevant items of 0.5^(rank - 1)", r"0.5^{i - 1}"),
        ("rbp", {"gain": "linear"}, "of grade * 0.8^(rank - 1)", r"g_i \, 0.8^{i - 1}"),
        ("rbp", {"divisor": "best"}, "divided by the value of the ideal ranking", r"\Bigm/ \mathrm{value"),
        (
            "rr",
            {"terms": "all"},
            "sum of grade / rank over the relevant items",
            r"\sum_{i} \mathrm{rel}_i \, \frac{g_i}",
        ),
        ("rr@3", {}, "1 / rank of the first relevant item", r"\frac{1}{\min \{i \le k : \mathrm{rel}_i\}}"),
        (
            "ap@3",
            {"divisor": "found"},
            "item in the top k, divided by hits(k)",
            r"\frac{1}{\mathrm{hits}(k)} \sum_{i \le k}",
        ),
        (
            "ap",
            {"divisor": "grades"},
            "item, divided by the sum of the highest grades",
            r"\mathrm{sum\ of\ the\ highest\ grades}} \sum",
        ),
        ("err", {}, "R = (2^grade - 1) / 2^(highest grade in the truth)", r"R_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}"),
        ("err", {"max_grade": 4}, "R = (2^grade - 1) / 2^4", r"R_i = \frac{2^{g_i} - 1}{2^{4}}"),
        ("err", {"stop_chance": "grade"}, "where R = grade", "R_i = g_i"),
        ("err", {"discount": "log2(rank+1)"}, "sum of R / log2(rank+1) times", r"\frac{R_i}{\log_2(i+1)}"),
        ("nerr", {"stop_chance": "grade"}, "divided by the value of the ideal ranking, where R = grade", "R_i = g_i"),
        ("kendall", {}, "/ sqrt(pairs untied in the run * pairs untied in the truth)", r"\sqrt{"),
        ("kendall", {"variant": "a"}, "(concordant - discordant) / pairs", r"{\mathrm{pairs}}"),
        ("kendall", {"variant": "ties_agree"}, "(concordant + tied - discordant) / pairs", r"\mathrm{tied}"),
        ("recall@3", {"divisor": "grades"}, "hits(k) / sum of grades", r"{\sum_j g_j}"),
        ("rbo(p=0.5)", {}, "(1 - 0.5) * sum over depths d of 0.5^(d - 1)", r"0.5^{d - 1}"),
    ],
)
def test_the_formula_follows_the_choices(metric, choices, text, latex):
    (of,) = rs.authoring.Metric.parse(metric)
    found = rs.define(of.given(**choices))
    assert text in found.formula
    assert latex in found.latex


def test_a_sum_that_is_not_divided():
    found = rs.define("ap", convention="preference-note")
    assert found.formula == "sum of the precision at the rank of each relevant item"
    assert found.latex == r"\sum_{i} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}"


@pytest.mark.parametrize("name", sorted(built_in()))
def test_formulas_differ_where_values_of_their_parameters_do(name):
    row = built_in()[name]
    metric = rs.authoring.Metric(
        name, 10 if row.takes_k else None
    )  # without k, divisors by k and by the length are one
    for parameter, values in parameter_values(row).items():
        if f"<{parameter}>" in row.latex:
            formulas = {rs.define(metric.given(**{parameter: value})).latex for value in values}
            assert len(formulas) == len(values), formulas


@pytest.mark.parametrize("name", list(rs.choices))
def test_every_value_of_a_choice_has_a_meaning(name):
    choice = rs.choices[name]
    assert choice.meaning
    values = (*choice.allowed, *((...,) if choice.numbers or not choice.allowed else ()))
    assert all(choice.labels.get(value) for value in values), values
    assert {*choice.labels} == {*values} | ({None} if name in ("default_k", "query_digits", "digits") else set()) | (
        {"all", "relative"} if name == "threshold" else set()
    )


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_value_of_a_parameter_has_a_meaning(name):
    for parameter, about in built_in()[name].about.items():
        assert about.meaning
        assert all(about.labels.get(value) for value in about.allowed), parameter
        assert not about.allowed or {*about.labels} == {*about.allowed}, parameter


def test_a_line_to_cite():
    found = rs.define("ap@10", convention="hivemall-0.5", ties="input")
    for words in (
        "ap@10: sum of the precision at the rank of each relevant item in the top k, divided by hits(k)",
        "ties in input order",
        "queries without relevant items score 0",
        f". rankstone {rs.__version__}, convention hivemall-0.5 with ties='input'",
    ):
        assert words in found.cite
    assert "\n" not in found.cite
    assert "ties in input order" in found.edge_cases
    assert found.choices["k"] == 10
    assert found.choices["divisor"] == "found"


def test_it_is_what_a_result_says():
    result = rs.evaluate({"q": ["a"]}, {"q": ["a"]}, ["ap@10", "ndcg(gain='exp2')@5"], missing="skip")
    for label in result:
        assert result.definitions[label] == rs.define(label, missing="skip")
        assert result.definitions[label].cite == rs.define(label, missing="skip").cite


def test_reads_back():
    found = rs.define(rs.ndcg(gain={0: 0, 1: 3}) @ 10)
    again = rs.typing.Definition.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.cite == found.cite
    assert not found.differences(again)
    assert found.differences(rs.define(rs.ndcg(gain={0: 0, 1: 2}) @ 10))["gain"] == (
        [[0, 0], [1, 3]],
        [[0, 0], [1, 2]],
    )
    assert found.differences(rs.define("ndcg@10", ties="input"))["ties"] == ("item_desc", "input")


def test_looks():
    found = rs.define("recall@5")
    lines = str(found).splitlines()
    assert lines[:3] == [
        "recall@5: Fraction of the relevant items that are in the top k.",
        "",
        "    hits(k) / relevant",
    ]
    assert lines[-1] == f"rankstone {rs.__version__}, convention rankstone"
    assert r"\frac{\mathrm{hits}(k)}{\mathrm{relevant}}" in found._repr_html_()
    assert "&lt;" not in found._repr_html_()


def test_one_metric_at_a_time():
    with pytest.raises(ValueError, match="names 2 metrics; ask for one: recall@5, recall@10"):
        rs.define("recall@{5,10}")


def test_a_users_metric_has_a_definition():
    from rankstone.metrics import registry

    @rs.metric("second_place", formula="")
    def second_place(ranked: rs.authoring.Ranking, *, bonus: float = 2.0) -> rs.authoring.Ratio:
        """1 if the second item is relevant."""
        return rs.authoring.Ratio(ranked.hits(2) - ranked.hits(1), ranked.relevant)

    try:
        found = rs.define("second_place")
        assert found.formula == "1 if the second item is relevant."
        assert found.latex == r"\text{1 if the second item is relevant.}"
        assert "bonus 2.0" in found.rules
    finally:
        registry.metrics.rows.pop("second_place")
        registry.metrics.names.pop("second_place")
        for forget in registry.on_declare:
            forget()
