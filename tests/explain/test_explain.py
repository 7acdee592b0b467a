"""Where a score came from, and why two scores differ: worked by hand, and for every metric on generated data."""

import gzip
import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.data.columns import ColumnPair
from tests.effort import examples
from tests.table.cases import built_in, fitting, metrics

TRUTH = {"u1": {"i1": 3, "i2": 1, "i4": 2}, "u2": {"i2": 1}}
RUN = {"u1": {"i1": 0.9, "i3": 0.8, "i2": 0.4}, "u2": {"i1": 0.7, "i2": 0.5}}
LOG3 = math.log2(3)


def test_the_handed_down_example():
    """Items 1, 3, 2, 6 returned, 1, 2 and 4 relevant: (1 + 1/2) / (1 + 1/log2(3) + 1/2) = 0.7039."""
    explanation = rs.explain({"u": [1, 2, 4]}, {"u": [1, 3, 2, 6]}, "ndcg", query="u")
    assert explanation.value == pytest.approx((1 + 1 / 2) / (1 + 1 / LOG3 + 1 / 2))
    assert f"{explanation.value:.4f}" == "0.7039"
    assert [(row.rank, row.item, row.contribution) for row in explanation.ranking] == [
        (1, 1, 1.0),
        (2, 3, 0),
        (3, 2, 0.5),
        (4, 6, 0),
    ]
    assert [row.item for row in explanation.ideal] == [1, 2, 4]
    assert "1.5000 / 2.1309 = 0.7039" in repr(explanation)


def test_gains_and_discounts():
    explanation = rs.explain(TRUTH, RUN, "ndcg(gain='exp2')@10", query="u1")
    assert [row._asdict() for row in explanation.ranking] == [
        {"rank": 1, "item": "i1", "score": 0.9, "grade": 3, "gain": 7, "discount": 1, "contribution": 7},
        {"rank": 2, "item": "i3", "score": 0.8, "grade": None, "gain": None, "discount": None, "contribution": 0},
        {"rank": 3, "item": "i2", "score": 0.4, "grade": 1, "gain": 1, "discount": 1 / 2, "contribution": 1 / 2},
    ]
    assert [(row.item, row.gain, row.contribution) for row in explanation.ideal] == [
        ("i1", 7, 7), ("i4", 3, pytest.approx(3 / LOG3)), ("i2", 1, 1 / 2)
    ]  # fmt: skip
    assert explanation.numerator == pytest.approx(7 + 1 / 2)
    assert explanation.denominator == pytest.approx(7 + 3 / LOG3 + 1 / 2)


@pytest.mark.parametrize(
    ("metric", "choices", "earned", "ideal", "possible"),
    [
        ("ap", {}, [1 / 1, 0, 2 / 3], [1, 1, 1], 3),
        ("ap(divisor='min(relevant,k)')@2", {}, [1, 0, 0], [1, 1], 2),
        ("rr", {}, [1, 0, 0], [1], 1),
        ("precision@5", {}, [1, 0, 1], [], 5),
        ("recall@2", {}, [1, 0, 0], [1, 1, 1], 3),
        ("f1@5", {}, [2, 0, 2], [], 5 + 3),
        ("rbp(p=0.5)", {}, [1 / 2, 0, 1 / 8], [], 1),
        ("dcg", {}, [3, 0, 1 / 2], [], 1),
        ("ndcg(ideal_depth='all')@2", {}, [3, 0, 0], [3, 2 / LOG3, 1 / 2], 3 + 2 / LOG3 + 1 / 2),
        ("ndcg(ideal='retrieved')", {}, [3, 0, 1 / 2], [3, 1 / LOG3], 3 + 1 / LOG3),
        ("err(max_grade=3)", {}, [7 / 8, 0, 1 / 8 * 1 / 8 / 3], [], 1),
        ("num_rel", {}, [0, 0, 0], [], 1),
    ],
)
def test_contributions_by_hand(metric, choices, earned, ideal, possible):
    explanation = rs.explain(TRUTH, RUN, metric, query="u1", **choices)
    assert [row.contribution for row in explanation.ranking] == pytest.approx(earned)
    assert [row.contribution for row in explanation.ideal] == pytest.approx(ideal)
    assert explanation.denominator == pytest.approx(possible)


@pytest.mark.parametrize("name", sorted(built_in()))
@examples(0.375)
@given(data=st.data())
def test_contributions_add_up_to_the_numerator(name, data):
    truth, run = data.draw(fitting(built_in()[name].kind))
    metric, _, _ = data.draw(metrics(name))
    ties = data.draw(st.sampled_from([one for one in rs.choices["ties"].allowed if built_in()[name].expected or one in (
        "item_desc", "item_asc", "input", "optimistic", "pessimistic")]))  # fmt: skip
    choices = {"ties": ties, "duplicates": "first", "averaging": "macro"}
    try:
        result = rs.evaluate(truth, run, metric, **choices)
    except ValueError:
        return
    for query, value in zip(result.queries, result.per_query[metric], strict=True):
        explanation = rs.explain(truth, run, metric, query=query, **choices)
        assert explanation.value == pytest.approx(value, rel=1e-12, nan_ok=True)
        assert explanation.base + sum(row.contribution for row in explanation.ranking) == pytest.approx(
            explanation.numerator, abs=1e-9
        )
        assert len(explanation.ranking) == len(run.get(query, ()))
        assert {row.item for row in explanation.ranking} == set(run.get(query, ()))
        if explanation.ideal:
            assert sum(row.contribution for row in explanation.ideal) == pytest.approx(
                explanation.denominator, abs=1e-9
            )


def test_a_metric_that_looks_at_all_queries():
    """ERR's highest grade is that of the whole truth, here another query's."""
    truth, run = {"q": {"a": 1}, "r": {"b": 2}}, {"q": ["a"], "r": ["b"]}
    explanation = rs.explain(truth, run, "err", query="q")
    assert explanation.value == explanation.ranking[0].contribution == (2**1 - 1) / 2**2


def test_tied_items_stand_where_the_metric_sees_them():
    truth, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "x": 1.0, "b": 1.0}}
    for ties, order in {"item_desc": "xba", "item_asc": "abx", "optimistic": "axb", "pessimistic": "bxa"}.items():
        explanation = rs.explain(truth, run, "rr", query="q", ties=ties)
        assert "".join(row.item for row in explanation.ranking) == order
        assert [row.rank for row in explanation.ranking] == [1, 2, 3]
        assert explanation.value == 1 / (order.index("a") + 1)


def test_repeated_items():
    explanation = rs.explain({"q": ["a", "b"]}, {"q": ["a", "x", "a"]}, "precision@3", query="q", duplicates="count")
    assert [(row.item, row.contribution) for row in explanation.ranking] == [("a", 1), ("x", 0), ("a", 1)]
    explanation = rs.explain({"q": ["a", "b"]}, {"q": ["a", "x", "a"]}, "precision@3", query="q", duplicates="first")
    assert [(row.item, row.contribution) for row in explanation.ranking] == [("a", 1), ("x", 0)]


def doors():
    """The same data through every door: a truth, a run, and further words."""
    truth = {"u1": {"a": 3, "b": 1, "d": 2}, "u2": {"b": 1}}
    run = {"u1": {"a": 0.9, "c": 0.8, "b": 0.4}, "u2": {"a": 0.7, "b": 0.5}}
    rows = [(q, i, g) for q, items in truth.items() for i, g in items.items()]
    scored = [(q, i, s) for q, items in run.items() for i, s in items.items()]
    query, item, grade = map(list, zip(*rows, strict=True))
    by, returned, score = map(list, zip(*scored, strict=True))
    frame = pd.DataFrame({"query": query, "item": item, "grade": grade})
    return {
        "dicts": (truth, run),
        "mixed": (truth, pd.DataFrame({"query": by, "item": returned, "score": score})),
        "columns": (rs.columns(query=query, item=item, grade=grade), rs.columns(query=by, item=returned, score=score)),
        "categories": (
            frame.astype({"query": "category", "item": "category"}),
            pa.table({"query": pa.array(by).dictionary_encode(), "item": returned, "score": score}),
        ),
        "lists": (
            rs.lists([["a", "b", "d"], ["b"]], grades=[[3, 1, 2], [1]], query=["u1", "u2"]),
            rs.lists([["a", "b"], ["a", "c", "b"]], scores=[[0.7, 0.5], [0.9, 0.8, 0.4]], query=["u2", "u1"]),
        ),
    }


@pytest.mark.parametrize("door", doors())
def test_every_door(door):
    explanation = rs.explain(*doors()[door], "ndcg@10", query="u1")
    assert [(row.rank, row.item, row.score, row.grade) for row in explanation.ranking] == [
        (1, "a", 0.9, 3), (2, "c", 0.8, None), (3, "b", 0.4, 1)
    ]  # fmt: skip
    assert [row.item for row in explanation.ideal] == ["a", "d", "b"]
    assert explanation.value == pytest.approx((3 + 1 / 2) / (3 + 2 / LOG3 + 1 / 2))


def test_files_and_ids_as_they_are_written(tmp_path):
    (tmp_path / "truth.csv").write_text("user,item,grade\n7,1,1\n7,2,1\n8,1,1\n")
    (tmp_path / "run.csv").write_text("user,item,score\n7,3,2\n7,2,1\n")
    explanation = rs.explain(tmp_path / "truth.csv", str(tmp_path / "run.csv"), "rr", query="7")
    assert [(row.item, row.contribution) for row in explanation.ranking] == [(3, 0), (2, 1 / 2)]
    nothing = rs.explain(tmp_path / "truth.csv", tmp_path / "run.csv", "rr", query=8)
    assert nothing.ranking == []
    assert nothing.value == 0


def test_matrices():
    labels, scores = np.array([[3, 0, 2, 9], [1, 0, 0, 0]]), np.array([[0.5, 0.9, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4]])
    mask = np.array([[True, True, True, False], [True] * 4])
    explanation = rs.explain(labels, scores, "ndcg", query=0, mask=mask)
    assert [(row.item, row.grade) for row in explanation.ranking] == [(1, 0), (2, 2), (0, 3)]
    assert explanation.value == pytest.approx((2 / LOG3 + 3 / 2) / (3 + 2 / LOG3))
    explanation = rs.explain(labels, scores, "ndcg", query=0, mask=np.array([[False, True, True, True], [True] * 4]))
    assert [(row.item, row.grade) for row in explanation.ranking] == [(1, 0), (3, 9), (2, 2)]


def test_the_division_in_words():
    assert "the query is not averaged" in repr(rs.explain({"q": {"a": 0}}, {"q": ["a"]}, "ap", undefined="skip"))
    assert "0.0000 / 0.0000, counted as 0.5000" in repr(rs.explain({"q": {"a": 0}}, {"q": ["a"]}, "ap", undefined=0.5))
    root = rs.explain({"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 3.0}}, "rmse")
    assert f"sqrt(1.0000 / 2.0000) = {math.sqrt(1 / 2):.4f}" in repr(root)
    assert root.value == pytest.approx(math.sqrt(1 / 2))


def test_what_it_looks_like():
    text = repr(rs.explain(TRUTH, RUN, "ndcg@10", query="u1"))
    assert text.split("\n")[:10] == [
        "ndcg@10 of query 'u1': 0.7350",
        "rank  item         score  grade  gain  discount  contribution",
        "-------------------------------------------------------------",
        "   1  i1             0.9      3     3    1.0000        3.0000",
        "   2  i3             0.8      -",
        "   3  i2             0.4      1     1    0.5000        0.5000",
        "-------------------------------------------------------------",
        "      numerator                                        3.5000",
        "-------------------------------------------------------------",
        "      ideal list   score  grade  gain  discount  contribution",
    ]
    assert text.endswith(f"rankstone {rs.__version__}, convention rankstone")
    html = rs.explain({"q": {"<b>": 1}}, {"q": ["<b>"]}, "ap")._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_long_lists_are_cut_in_print_only():
    run = {"q": [f"i{n}" for n in range(1000)]}
    explanation = rs.explain({"q": ["i1", "i700", "i999"]}, run, "ap")
    assert len(explanation.ranking) == 1000
    assert len(repr(explanation).split("\n")) < 40
    for item in ("i1", "i700", "i999"):
        assert f"  {item} " in repr(explanation)
    deep = rs.explain({"q": ["i1", "i700", "i999"]}, run, "ap@5")
    assert "i5 " not in repr(deep).split("contribution")[1]


def test_as_data():
    explanation = rs.explain(TRUTH, RUN, "ndcg@10", query="u1")
    data = explanation.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["ranking"][0]["item"] == "i1"
    assert data["definition"]["cite"] == rs.define("ndcg@10").cite
    table = explanation.to_arrow()
    assert table.column_names == ["rank", "item", "score", "grade", "gain", "discount", "contribution"]
    assert table["contribution"].to_pylist() == [3, 0, 1 / 2]
    for one in (
        rs.explain(TRUTH, (RUN, {"u1": ["i4"]}), "ap", query="u1"),
        rs.explain(TRUTH, RUN, "ap", convention=("rankstone", "hivemall-0.5")),
    ):
        assert json.loads(json.dumps(one.to_dict())).keys() == one.to_dict().keys()
        assert "<table>" in one._repr_html_()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"query": "u9"}, "query 'u9' is not in the truth; there are 2 queries, such as 'u1', 'u2'"),
        ({}, "there are 2 queries, such as 'u1', 'u2'; pass query="),
        ({"query": "u1", "convention": ("rankstone", "trec_eval", "hivemall")}, "explain one score, or the difference"),
        ({"query": "u1", "metric": "recall@{1,2}"}, "names 2 metrics; explain one: recall@1, recall@2"),
        ({"query": "u1", "run": (RUN, RUN), "convention": ("rankstone", "trec_eval")}, "explain one score, or the"),
    ],
)
def test_what_cannot_be_explained(words, message):
    asked = {"run": RUN, "metric": "ap", **words}
    with pytest.raises(ValueError, match=message):
        rs.explain(TRUTH, asked.pop("run"), asked.pop("metric"), **asked)


# -- two runs ----------------------------------------------------------------------------------------------------


def test_moves_by_hand():
    """i4 came in first, and i1 fell from first to fourth; i2 stayed."""
    other = {"u1": {"i4": 0.9, "i3": 0.8, "i2": 0.4, "i1": 0.1}}
    explanation = rs.explain(TRUTH, (RUN, other), "ndcg@10", query="u1")
    ideal = 3 + 2 / LOG3 + 1 / 2
    assert [one[:4] for one in explanation.moves] == [("i4", 2, None, 1), ("i1", 3, 1, 4)]
    assert [one.change for one in explanation.moves] == pytest.approx([2 / ideal, (3 / math.log2(5) - 3) / ideal])
    assert explanation.residual == 0
    assert explanation.difference == pytest.approx(sum(one.change for one in explanation.moves))
    assert "+0.4200" in repr(explanation)


def test_another_denominator_has_a_line_of_its_own():
    """2 of 3 places and 1 of 2: one hit less costs 1/3, and the shorter list gives 1/2 - 1/3 back."""
    explanation = rs.explain({"q": ["a", "b"]}, ({"q": ["a", "b", "x"]}, {"q": ["a", "x"]}), "precision", query="q")
    assert [one.change for one in explanation.moves] == pytest.approx([-1 / 3])
    assert explanation.residual == pytest.approx(1 / 2 - 1 / 3)
    assert "different denominator" in repr(explanation)


@examples(1)
@given(
    st.data(), st.sampled_from(["ndcg@3", "ap", "recall@2", "precision@3", "rr", "err", "rbp", "bpref", "auc", "rmse"])
)
def test_moves_add_up_to_the_difference(data, metric):
    kind = rs.authoring.Metric.parse(metric)[0].declaration.kind
    truth, run = data.draw(fitting(kind))
    _, other = data.draw(fitting(kind))
    choices = {"undefined": 0, "missing": "zero", "averaging": "macro"}
    for query in truth:
        try:
            explanation = rs.explain(truth, (run, other), metric, query=query, **choices)
        except (ValueError, TypeError):
            return
        assert math.fsum(one.change for one in explanation.moves) + explanation.residual == pytest.approx(
            explanation.difference, abs=1e-12
        )


# -- two conventions ---------------------------------------------------------------------------------------------


def test_which_choice_makes_the_difference():
    """AP of one list: over 3 relevant items, or over the 2 that were found."""
    explanation = rs.explain(TRUTH, RUN, "ap", query="u1", convention=("rankstone", "hivemall-0.5"))
    assert explanation.values == pytest.approx(((1 + 2 / 3) / 3, (1 + 2 / 3) / 2))
    assert [(one.choice, one.first, one.second) for one in explanation.effects] == [("divisor", "relevant", "found")]
    assert explanation.effects[0].effect == pytest.approx(explanation.difference)
    assert "ties" not in explanation.no_effect  # the same in both
    assert "duplicates" in explanation.no_effect


def test_shares_that_depend_on_the_order():
    """Gain and discount both change: each alone, each after the other, and the mean of the two."""
    conventions = rs.conventions["rankstone"], rs.conventions["rankstone"].with_choices(gain="exp2", discount="rank")
    explanation = rs.explain(TRUTH, RUN, "ndcg@10", query="u1", convention=conventions)
    value = {
        (gain, discount): rs.ndcg(RUN["u1"], truth=TRUTH["u1"], k=10, gain=gain, discount=discount)
        for gain in ("linear", "exp2")
        for discount in ("log2(rank+1)", "rank")
    }
    alone = value["exp2", "log2(rank+1)"] - value["linear", "log2(rank+1)"]
    after = value["exp2", "rank"] - value["linear", "rank"]
    share = next(one for one in explanation.effects if one.choice == "gain")
    assert (share.lowest, share.highest) == pytest.approx(tuple(sorted((alone, after))))
    assert share.effect == pytest.approx((alone + after) / 2)
    assert "order matters" in repr(explanation)


def test_order_does_not_matter_below_the_digits_shown():
    """gdeval rounds each query's value to five digits: an order makes it another fifth digit, which nobody sees."""
    truth = {"q": {"a": 3, "b": 1, "c": 2}, "r": {"a": 1, "b": 3}}
    run = {"q": {"a": 4.0, "x": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 2.0, "b": 1.0}}
    explanation = rs.explain(truth, run, "ndcg", convention=("rankstone", "gdeval"))
    assert any(share.lowest != share.highest for share in explanation.effects)
    assert "order matters" not in repr(explanation)
    assert "lowest" not in repr(explanation)


def test_on_the_whole_set():
    truth = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 0}}
    run = {"a": {"x": 1.0, "y": 1.0}, "c": {"x": 1.0}}
    one, other = (
        rs.conventions["rankstone"],
        rs.conventions["rankstone"].with_choices(ties="item_asc", missing="skip", undefined=1),
    )
    explanation = rs.explain(truth, run, "rr(threshold=1)", convention=(one, other))
    assert explanation.query is None
    assert explanation.queries == 3
    assert explanation.values == pytest.approx(((1 / 2 + 0 + 0) / 3, (1 + 1) / 2))  # c has no relevant item
    assert {one.choice: one.queries for one in explanation.effects} == {"ties": 1, "missing": 1, "undefined": 1}
    assert explanation.no_effect == []


@examples(1.5)
@given(
    fitting("ranking"),
    st.sampled_from(["ndcg@3", "ap@3", "precision@2", "recall", "rr@2", "f1@2", "err", "bpref"]),
    st.data(),
)
def test_shares_add_up_to_the_difference(pair, metric, data):
    truth, run = pair
    names = tuple(data.draw(st.sampled_from(list(rs.conventions))) for _ in range(2))
    query = data.draw(st.sampled_from([None, *truth]))
    try:
        explanation = rs.explain(truth, run, metric, query=query, convention=names)
        results = [rs.evaluate(truth, run, metric, convention=name) for name in names]
    except (ValueError, TypeError):  # one of the two has no number for this data
        return
    if not math.isnan(explanation.difference):
        assert math.fsum(one.effect for one in explanation.effects) == pytest.approx(explanation.difference, abs=1e-9)
        assert all(one.lowest - 1e-12 <= one.effect <= one.highest + 1e-12 for one in explanation.effects)
    for value, result in zip(explanation.values, results, strict=True):
        asked = result[metric] if query is None else result.per_query[metric][list(result.queries).index(query)]
        assert value == pytest.approx(asked, abs=1e-12, nan_ok=True)


def test_measured_conventions():
    """The seed case of the measured table: nDCG@4 is 0.704, 0.620 with LensKit, 0.586 with RecTools."""
    truth, run = {"u": {1: 1, 2: 1, 4: 1}}, {"u": {1: 4.0, 3: 3.0, 2: 2.0, 6: 1.0}}
    for name, value in {"lenskit": 0.620, "rectools": 0.586}.items():
        explanation = rs.explain(truth, run, "ndcg@4", query="u", convention=("rankstone", name))
        assert [round(one, 3) for one in explanation.values] == [0.704, value]
        assert math.fsum(one.effect for one in explanation.effects) == pytest.approx(explanation.difference)


def test_one_query_needs_no_mean():
    """What another query has, or how a mean would be made, does not matter."""
    truth, run = {"q": ["a"], "r": {"b": 0}}, {"q": ["x", "a"], "r": ["b"]}
    for choices in ({"undefined": "error"}, {"averaging": "weighted"}):
        assert rs.explain(truth, run, "recall@1", query="q", **choices).value == 0
        explanation = rs.explain(truth, run, "rr", query="q", convention=("rankstone", "hivemall-0.5"), **choices)
        assert explanation.values == (1 / 2, 1 / 2)
    with pytest.raises(ValueError, match="recall@1: the value is undefined: its denominator is 0 in query 'r'"):
        rs.explain(truth, run, "recall@1", query="r", undefined="error")
    with pytest.raises(ValueError, match="recall@1: the value is undefined: its denominator is 0 in query 'r'"):
        rs.explain(truth, run, "recall@1", convention=("rankstone", "hivemall-0.5"), undefined="error")


@pytest.mark.parametrize("run", [{}, {"q": []}, {"other": ["a"]}])
def test_a_query_without_a_list(run):
    explanation = rs.explain({"q": {"a": 1}, "r": {"a": 1}}, run, "ndcg@10", query="q")
    assert (explanation.value, explanation.ranking, explanation.denominator) == (0.0, [], 1.0)
    assert [row.item for row in explanation.ideal] == ["a"]
    assert "0.0000 / 1.0000 = 0.0000" in str(explanation)
    assert all("0.0000" in explanation.render(form) for form in ("markdown", "latex", "html"))
    moves = rs.explain({"q": {"a": 1}}, (run, {"q": ["a"]}), "ndcg@10", query="q")
    assert moves.difference == 1.0
    assert [move.item for move in moves.moves] == ["a"]


def _many(queries, items):
    truth = {f"q{query}": {f"d{item}": item % 3 for item in range(0, items, 2)} for query in range(queries)}
    lists = {query: {item: float(-at) for at, item in enumerate(grades)} for query, grades in truth.items()}
    other = {query: {item: -score for item, score in scores.items()} for query, scores in lists.items()}
    return truth, lists, other


def _rows(side, value):
    pairs = [(query, item, number) for query, items in side.items() for item, number in items.items()]
    query, item, numbers = zip(*pairs, strict=True)
    return rs.columns(query=query, item=item, **{value: np.array(numbers)})


@pytest.mark.parametrize("metric", ["ndcg@5", "ap", "err(max_grade=2)"])
def test_only_the_query_that_is_explained_is_aligned(metric, monkeypatch):
    truth, first, second = _many(30, 20)
    data = [_rows(truth, "grade"), _rows(first, "score"), _rows(second, "score")]
    sizes = []
    align = ColumnPair.align
    monkeypatch.setattr(
        ColumnPair, "align", lambda self, options: sizes.append(len(self.run.query)) or align(self, options)
    )
    moves = rs.explain(data[0], tuple(data[1:]), metric, query="q7")
    assert sizes
    assert max(sizes) == 10
    means = [rs.evaluate(data[0], run, metric).per_query[metric][7] for run in data[1:]]
    assert (moves.first.value, moves.second.value) == pytest.approx(tuple(means))
    assert moves == rs.explain(truth, (first, second), metric, query="q7")


def test_a_metric_that_reads_all_queries_is_explained_among_them():
    truth, first, _ = _many(3, 8)
    truth["q2"]["d0"] = 4  # the highest grade of the truth, which err reads
    for data in ((truth, first), (_rows(truth, "grade"), _rows(first, "score"))):
        value = rs.explain(*data, "err", query="q0").value
        assert value == pytest.approx(rs.evaluate(*data, "err").per_query["err"][0])


def test_a_report_aligns_each_explained_query_alone(tmp_path, monkeypatch):
    truth, first, second = _many(40, 20)
    for name, side, line in (("q.qrels", truth, "{} 0 {} {}"), ("a.run", first, None), ("b.run", second, None)):
        rows = [
            line.format(query, item, value) if line else f"{query} Q0 {item} 0 {value} x"
            for query, items in side.items() for item, value in items.items()
        ]  # fmt: skip
        with gzip.open(tmp_path / f"{name}.gz", "wt") as file:
            file.write("\n".join(rows) + "\n")
    files = {name: tmp_path / f"{name}.run.gz" for name in "ab"}
    comparison = rs.compare(tmp_path / "q.qrels.gz", files, ["ndcg@5", "ap"])
    sizes = []
    align = ColumnPair.align
    monkeypatch.setattr(
        ColumnPair, "align", lambda self, options: sizes.append(len(self.run.query)) or align(self, options)
    )
    assert "Items that moved" in comparison.report()
    assert sum(size == 400 for size in sizes) <= 6  # judged rates and cutoffs, not the explained queries
    assert sizes.count(10) > 20
