"""What `evaluate` returns: means, values a query, tables, the account, and how it looks."""

import json
import math
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankstone as rs

TRUTH = {"q": {"a": 1}, "r": {"b": 1, "c": 1}, "s": {"d": 1}, "t": {"e": 0}}
RUN = {"q": {"x": 2.0, "a": 1.0}, "r": {"b": 2.0, "c": 2.0, "y": 2.0}, "t": {"e": 1.0}, "u": {"f": 1.0}}


@pytest.fixture
def result():
    return rs.evaluate(TRUTH, RUN, ["ndcg(gain='exp2')@10", "ap", "recall@{1,2}"])


def test_is_a_mapping_of_means(result):
    assert list(result) == ["ndcg(gain='exp2')@10", "ap", "recall@1", "recall@2"]
    assert len(result) == 4
    assert dict(result)["recall@1"] == result["recall@1"]
    assert isinstance(result["ap"], float)
    assert {**result} == dict(result.items())


@pytest.mark.parametrize("name", ["ap", "AP", "map", " ap ", rs.ap])
def test_by_any_name(result, name):
    assert result[name] == result["ap"]
    assert name in result
    assert result.per_query[name] is result.per_query["ap"]
    assert result.definitions[name].cite == result.definitions["ap"].cite


def test_by_value(result):
    assert result[rs.ndcg(gain="exp2") @ 10] == result["ndcg(gain=exp2)@10"]
    assert result[rs.recall @ 2] == result["recall@2"]
    assert rs.recall @ 2 in result


def test_what_was_not_evaluated(result):
    with pytest.raises(
        KeyError, match=r"'rr' was not evaluated; there are ndcg\(gain='exp2'\)@10, ap, recall@1, recall@2"
    ):
        result["rr"]
    with pytest.raises(KeyError, match=r"'recall@\{1,2\}' names 2 values"):
        result["recall@{1,2}"]
    with pytest.raises(ValueError, match="unknown metric 'qqqqqq'"):
        result["qqqqqq"]
    for name in ("rr", "qqqqqq", "recall@0", 5, None, rs.rr):
        assert name not in result
    assert result.get("rr") is None
    with pytest.raises(KeyError):
        result.per_query["rr"]


def test_per_query(result):
    assert list(result.queries) == ["q", "r", "s", "t"]
    assert result.per_query["ap"] == pytest.approx([1 / 2, (1 / 2 + 2 / 3) / 2, 0, 0])  # y, c, b are tied: y first
    assert list(result.per_query) == list(result)
    assert "4 queries" in repr(result.per_query)


def test_ratio(result):
    ratio = result._measurement.ratio("recall@2")
    assert ratio.numerator == pytest.approx([1, 1, 0, 0])
    assert ratio.denominator == pytest.approx([1, 2, 1, 0])


def test_queries_that_do_not_count_are_nan():
    result = rs.evaluate(TRUTH, RUN, "recall", missing="skip", undefined="skip")
    assert np.isnan(result.per_query["recall"]).tolist() == [False, False, True, True]


def test_account():
    result = rs.evaluate(TRUTH, {**RUN, "r": ["b", "b", "y"]}, "ap", duplicates="first")
    account = result.account
    assert (account.judged, account.missing, account.extra, account.nothing_relevant) == (4, 1, 1, 1)
    assert (account.dropped_rows, account.tied) == (1, 0)
    assert rs.evaluate(TRUTH, RUN, "ap").account.tied == 1
    assert rs.evaluate(TRUTH, RUN, "recall@3").account.tied == 0  # no order changes this one
    extra = rs.evaluate(TRUTH, RUN, "ap", extra="zero").account
    assert (extra.judged, extra.missing, extra.extra, extra.nothing_relevant) == (4, 1, 1, 1)


def test_nothing_relevant_follows_the_threshold():
    assert rs.evaluate(TRUTH, RUN, "ap", threshold=2).account.nothing_relevant == 4
    assert rs.evaluate(TRUTH, RUN, "ap", threshold=0).account.nothing_relevant == 0


def test_ties():
    """Of three tied items two are relevant; q is not tied."""
    ties = rs.evaluate(TRUTH, RUN, ["ap", "rr", "num_rel_ret@2"]).ties
    assert ties["ap"].lowest == pytest.approx((1 / 2 + (1 / 2 + 2 / 3) / 2 + 0 + 0) / 4)
    assert ties["ap"].highest == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert ties["ap"].queries == 1
    assert ties["rr"].highest == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert (ties["num_rel_ret@2"].lowest, ties["num_rel_ret@2"].highest) == (1 + 1, 1 + 2)
    for order in ("expected", "optimistic", "pessimistic"):
        again = rs.evaluate(TRUTH, RUN, "ap", ties=order).ties["ap"]
        assert (again.lowest, again.highest) == pytest.approx((ties["ap"].lowest, ties["ap"].highest))


def test_by_group():
    result = rs.evaluate(TRUTH, RUN, ["ap", "recall"])
    groups = {"q": "old", "r": "new", "s": "old", "t": "new"}
    found = result.by_group(groups)
    assert list(found) == ["old", "new"]
    assert found["old"]["ap"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["new"]["recall"] == pytest.approx((1 + 0) / 2)
    assert result.by_group(["old", "new", "old", "new"]) == found
    with pytest.raises(ValueError, match="groups has no entry for query 'r'"):
        result.by_group({"q": 1})
    with pytest.raises(ValueError, match="there are 4 queries but 1 groups"):
        result.by_group([1])


def test_groups_share_what_all_queries_decide():
    """ERR's highest grade is that of the whole truth, in the groups too."""
    result = rs.evaluate({"q": {"a": 1}, "r": {"b": 2}}, {"q": ["a"], "r": ["b"]}, "err")
    assert result.by_group({"q": 1, "r": 2}) == {1: {"err": (2**1 - 1) / 2**2}, 2: {"err": (2**2 - 1) / 2**2}}


def test_groups_of_queries_that_do_not_count():
    result = rs.evaluate(
        TRUTH, RUN, ["ap", "mae"], missing="skip", undefined="skip", weights={"q": 1, "r": 3, "s": 2, "t": 5}
    )
    found = result.by_group({"q": 1, "r": 1, "s": 2, "t": 2})
    assert found[1]["ap"] == pytest.approx((1 * 1 / 2 + 3 * (1 / 2 + 2 / 3) / 2) / (1 + 3))
    assert math.isnan(found[2]["ap"])
    pooled = rs.evaluate(TRUTH, RUN, "mae")
    assert pooled.by_group({"q": 1, "r": 1, "s": 2, "t": 2})[1]["mae"] == pytest.approx((0 + 1 + 1) / 3)


@pytest.mark.parametrize("averaging", ["macro", "micro", "sum", "geometric"])
def test_groups_are_evaluated_as_they_would_be_alone(averaging):
    result = rs.evaluate(TRUTH, RUN, ["ap", "recall", "ndcg@2", "bpref"], averaging=averaging)
    for group, queries in {"one": "qr", "two": "st"}.items():
        part = {query: TRUTH[query] for query in queries}
        alone = rs.evaluate(part, RUN, list(result), averaging=averaging)
        assert result.by_group({"q": "one", "r": "one", "s": "two", "t": "two"})[group] == pytest.approx(dict(alone))


def test_equal_metrics_are_found_by_any_spelling():
    """beta=1 and beta=1.0 are one value, and so is a number of NumPy's, which is written as Python's."""
    truth, run = {"q": {"a": 2, "b": 1}}, {"q": ["b"]}
    for asked in (rs.metrics.f(beta=1), rs.metrics.f(beta=1.0), "f(beta=1)", "f(beta=1.0)"):
        result = rs.evaluate(truth, run, asked)
        for sought in (rs.metrics.f(beta=1), rs.metrics.f(beta=np.float64(1)), "f(beta=1)", "f(beta=1.0)"):
            assert result[sought] == pytest.approx(2 / 3)
            assert result.per_query[sought] == pytest.approx([2 / 3])
    metric = rs.err(max_grade=np.int64(4), threshold=np.int64(1))
    assert str(metric) == "err(max_grade=4, threshold=1)"
    assert rs.authoring.Metric.parse(str(metric)) == (metric,)


# -- tables --------------------------------------------------------------------------------------------------


def test_to_pandas(result):
    frame = result.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["query", *result]
    assert frame["query"].tolist() == ["q", "r", "s", "t"]
    np.testing.assert_array_equal(frame["ap"], result.per_query["ap"])


def test_to_polars(result):
    frame = result.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["query", *result]
    assert frame["query"].to_list() == ["q", "r", "s", "t"]
    np.testing.assert_array_equal(frame["recall@1"].to_numpy(), result.per_query["recall@1"])


def test_to_arrow(result):
    table = result.to_arrow()
    assert table.column_names == ["query", *result]
    assert table["query"].to_pylist() == ["q", "r", "s", "t"]
    np.testing.assert_array_equal(table["ap"].to_numpy(), result.per_query["ap"])


def test_arrow_protocol(result):
    """Any library that speaks it can read a result."""
    assert pa.table(result).equals(result.to_arrow())
    assert pa.RecordBatchReader.from_stream(result).read_all().equals(result.to_arrow())


def test_ids_of_any_kind():
    result = rs.evaluate({1: ["a"], "x": ["a"], (2, 3): ["a"]}, {1: ["a"]}, "rr")
    assert list(result.queries) == [1, "x", (2, 3)]
    assert result.to_arrow()["query"].to_pylist() == ["1", "x", "(2, 3)"]
    assert result.to_pandas()["query"].tolist() == [1, "x", (2, 3)]


def test_tables_of_no_queries():
    result = rs.evaluate({}, {}, "ap")
    assert result.to_arrow().num_rows == len(result.to_pandas()) == len(result.to_polars()) == 0
    assert math.isnan(result["ap"])
    assert "nan" in repr(result)


def test_to_dict(result):
    data = result.to_dict()
    assert data["means"] == dict(result)
    assert data["queries"] == ["q", "r", "s", "t"]
    assert data["per_query"]["ap"] == result.per_query["ap"].tolist()
    assert data["convention"] == "rankstone"
    assert data["account"]["missing"] == 1
    assert data["definitions"]["ap"]["cite"] == result.definitions["ap"].cite
    assert data["definitions"]["ap"]["choices"]["divisor"] == "relevant"
    assert data["versions"] == {"rankstone": rs.__version__, "numpy": np.__version__}
    assert json.loads(json.dumps(data)) == data


# -- looks ---------------------------------------------------------------------------------------------------


def test_repr():
    text = repr(rs.evaluate(TRUTH, RUN, ["ap", "num_ret"], threshold=1))
    assert text == "\n".join(
        [
            "metric     mean  lowest  highest",
            "--------------------------------",
            "ap       0.2708  0.2708   0.3750",
            "num_ret       6       6        6",
            "--------------------------------",
            "4 judged queries; rankstone definitions, threshold=1 (print(result.definitions) for all)",
            "queries: 1 missing from the run (score 0); 1 without relevant items (score 0); 1 unjudged (ignored);",
            "  1 affected by ties",
            "lowest and highest: the range of the mean over all orders of tied items",
        ]
    )


def test_repr_of_something_simple():
    text = repr(rs.evaluate({"q": ["a"]}, {"q": ["a"]}, "ap"))
    assert text.splitlines()[4] == "1 judged query; rankstone definitions (print(result.definitions) for all)"
    assert "lowest" not in text


def test_html(result):
    html = result._repr_html_()
    assert html.count("<tr>") == 1 + len(result)
    assert "ndcg(gain=&#x27;exp2&#x27;)@10" in html
    assert f"{result['ap']:.4f}" in html
    assert "4 judged queries" in html


def test_html_has_no_line_breaks_of_a_terminal(result):
    notes = re.search("<p>(.*?)</p>", result._repr_html_())[1].split("<br>")
    answer = result._answer()
    assert len(notes) == len(answer.notes) <= 3
    assert not any(note.startswith(" ") for note in notes)


def test_definitions_are_readable(result):
    """Not a wall of fields."""
    assert repr(result.definitions).splitlines()[0].startswith("ndcg(gain='exp2')@10: DCG with gain (2^grade - 1)")
    assert result.definitions._repr_html_().count("<ul>") == len(result)


def test_latex_escapes_what_it_reads():
    from rankstone.results.answer import render

    assert r"a\_b\textbackslash{}\{\}\%" in render([["m"], ["a_b\\{}%"]], "latex")


def test_html_escapes_names():
    html = rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "ap(threshold='>0')")._repr_html_()
    assert "<0" not in html.replace("&lt;", "")
    assert "&gt;0" in html


def test_define(result):
    text = result.definitions["ndcg(gain='exp2')@10"].cite
    for words in (
        "DCG with gain (2^grade - 1), divided by the ideal DCG",
        "negative grades have gain 0",
        "ideal ranking of all judged items",
        "ties broken by item id, descending",
        "queries without relevant items score 0",
        "judged queries missing from the run score 0",
        "macro average over queries",
        f"rankstone {rs.__version__}, convention rankstone",
    ):
        assert words in text


# -- saved, pickled, compared ----------------------------------------------------------------------------------


def test_pickled(result):
    again = pickle.loads(pickle.dumps(result))
    assert dict(again) == dict(result)
    assert str(again) == str(result)
    assert again.to_dict() == result.to_dict()
    assert again.by_group(["one", "two", "one", "two"]) == result.by_group(["one", "two", "one", "two"])


def test_pickled_after_all_was_asked():
    result = rs.evaluate(TRUTH, RUN, ["ap", "ndcg@2"], bounds=True)
    for name in ("definitions", "account", "ties", "bounds", "per_query", "queries"):
        asked = repr(getattr(result, name))
        again = pickle.loads(pickle.dumps(result))
        assert repr(getattr(again, name)) == asked
        assert again.per_query["ap"].tolist() == result.per_query["ap"].tolist()
        again = pickle.loads(pickle.dumps(again))
        assert dict(again) == dict(result)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.parquet"])
def test_saved_and_read(tmp_path, name):
    result = rs.evaluate(TRUTH, RUN, ["ndcg(gain={0: 0, 1: 2})@10", "ap", "recall"], missing="skip", undefined="skip")
    result.write(tmp_path / name)
    saved = rs.read_result(tmp_path / name)
    assert dict(saved) == dict(result)
    assert list(saved.queries) == list(result.queries)
    for label in result:
        np.testing.assert_array_equal(saved.per_query[label], result.per_query[label])
        assert saved.definitions[label].cite == result.definitions[label].cite
    assert saved.account == result.account
    assert saved._measurement.versions["rankstone"] == rs.__version__
    assert saved["AP"] == result["ap"]
    assert repr(saved) == repr(result)
    assert saved._repr_html_() == result._repr_html_()
    assert saved.notes == result.notes
    assert saved.ties == result.ties
    assert saved.to_pandas().equals(result.to_pandas())
    assert saved.per_query["map"] is saved.per_query["ap"]
    assert ("map" in saved, "rr" in saved, "qqq" in saved) == (True, False, False)
    assert saved.by_group(["one", "two", "one", "two"])["one"] == pytest.approx(
        result.by_group(["one", "two", "one", "two"])["one"]
    )
    assert saved.compare(result)["ap"].difference == result.compare(saved)["ap"].difference == 0
    saved.write(tmp_path / "again.json")
    again = rs.read_result(tmp_path / "again.json")
    assert repr(again) == repr(saved)
    assert again.to_pandas().equals(saved.to_pandas())


def test_what_is_no_result(tmp_path):
    for text in ("{}", "[1]", "no json"):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=r"a\.json: is not a result that rankstone wrote as json or parquet"):
            rs.read_result(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("metric", "choices"),
    [("ap", {}), ("ap", {"undefined": "skip"}), ("num_ret", {}), ("gmap", {}), ("ap", {"digits": 2})],
)
def test_groups_of_what_was_read(tmp_path, metric, choices):
    result = rs.evaluate(TRUTH, RUN, metric, **choices)
    result.write(tmp_path / "a.json")
    groups = {"q": 1, "r": 1, "s": 2, "t": 2}
    found = rs.read_result(tmp_path / "a.json").by_group(groups)
    for group, means in result.by_group(groups).items():
        assert found[group] == pytest.approx(means)


@pytest.mark.parametrize(
    "choices",
    [{"averaging": name} for name in ("micro", "macro", "sum", "geometric", "parts")]
    + [{"undefined": "nan"}, {"weights": {"q": 3, "r": 1, "s": 2, "t": 1}}],
)
@pytest.mark.parametrize("name", ["a.json", "a.parquet"])
def test_groups_of_a_file(tmp_path, choices, name):
    metric = "f1" if choices.get("averaging") == "parts" else "ap"
    result = rs.evaluate(TRUTH, RUN, metric, **choices)
    result.write(tmp_path / name)
    saved, groups = rs.read_result(tmp_path / name), {"q": 1, "r": 2, "s": 1, "t": 2}
    for group, means in result.by_group(groups).items():
        assert saved.by_group(groups)[group] == pytest.approx(means, nan_ok=True)
    one, two = result._measurement.shares(metric), saved._measurement.shares(metric)
    for field in ("top", "bottom", "counted"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    assert [one.mean(), two.mean()] == pytest.approx([result[metric]] * 2, nan_ok=True)


def test_groups_that_a_file_does_not_tell(tmp_path):
    rs.evaluate(TRUTH, TRUTH, "auc", averaging="one_list", ties="expected").write(tmp_path / "a.json")
    with pytest.raises(ValueError, match="averaging='one_list' is not a mean of values per query"):
        rs.read_result(tmp_path / "a.json").by_group({"q": 1, "r": 2, "s": 1, "t": 1})


def test_compare(result):
    other = rs.evaluate(TRUTH, {**RUN, "s": ["d"]}, ["ap", "rr"])
    found = result.compare(other)
    assert found["ap"].difference == pytest.approx(1 / 4)  # s has 1 instead of 0, of four queries
    assert found.metrics == ("ap",)
    assert "+0.2500" in repr(found)
    assert "relevant if grade >= 1" in found.render(verbose=True)
    assert found["map"] == found[str(rs.ap)] == found["second", "ap"] == found["first", "second", "ap"]
    with pytest.raises(KeyError, match="'rr' was not evaluated; there are ap"):
        found["rr"]


def test_compared_by_query_whatever_the_order(result):
    turned = dict(reversed([(query, dict(reversed(items.items()))) for query, items in TRUTH.items()]))
    other = rs.evaluate(turned, {**RUN, "s": ["d"]}, "ap")
    assert list(other.queries) == ["t", "s", "r", "q"]
    assert result.compare(other)["ap"].difference == pytest.approx(1 / 4)


def test_other_definitions_are_not_compared(result, tmp_path):
    other = rs.evaluate(TRUTH, RUN, "ap", ties="expected")
    with pytest.raises(
        ValueError, match="ap is not the same number in both: ties is 'item_desc' in first, 'expected' in"
    ):
        result.compare(other)
    rs.evaluate(TRUTH, RUN, "ap@2", convention="hivemall-0.5").write(tmp_path / "a.json")
    with pytest.raises(ValueError, match=r"ap@2 is not .*: divisor is 'relevant' in first, 'found' in second"):
        rs.evaluate(TRUTH, RUN, "ap@2").compare(rs.read_result(tmp_path / "a.json"))
    with pytest.raises(ValueError, match="no metric in common: rr and ap"):
        rs.evaluate(TRUTH, RUN, "rr").compare(other)


def test_other_truths_are_not_compared(result):
    less = {query: items for query, items in TRUTH.items() if query != "s"}
    with pytest.raises(ValueError, match="the truths differ: second lacks 1 query, such as 's'"):
        result.compare(rs.evaluate(less, RUN, "ap"))
    with pytest.raises(ValueError, match="the truths differ: first lacks 1 query, such as 's'"):
        rs.evaluate(less, RUN, "ap").compare(result)
    with pytest.raises(ValueError, match="the truths differ: the same queries, but with other grades"):
        result.compare(rs.evaluate({**TRUTH, "q": {"a": 2}}, RUN, "ap"))


def test_digests_follow_the_data():
    """They see grades, ranks and scores, and not what a metric may leave out: items judged 0."""
    with_zeros, without = (rs.evaluate(TRUTH, RUN, metrics)._measurement.inputs for metrics in (["bpref", "ap"], "ap"))
    assert with_zeros == without
    assert without["truth"].startswith("blake2b:")
    other = rs.evaluate(TRUTH, {**RUN, "q": {"x": 2.0, "a": 1.5}}, "ap")._measurement.inputs
    assert (other["truth"], other["run"] != without["run"]) == (without["truth"], True)
    columns = rs.columns(query=["q", "r", "r", "s", "t"], item=["a", "b", "c", "d", "e"], grade=[1, 1, 1, 1, 0])
    assert rs.evaluate(columns, RUN, "ap")._measurement.inputs["truth"] == without["truth"]


def test_queries_without_pairs_are_counted():
    result = rs.evaluate({"u": ["a"], "v": {"b": 0, "c": 1}}, {"u": ["a"], "v": ["c", "b"]}, ["auc", "rr"])
    assert (result["auc"], result.account.no_pairs) == ((1 / 2 + 1) / 2, 1)
    assert "queries: 1 without non-relevant items to compare in auc (score 0.5)" in result.notes
    assert rs.evaluate({"u": ["a"]}, {"u": ["a"]}, "rr").account.no_pairs == 0


def test_what_becomes_of_queries_with_nothing_relevant():
    truth, run = {"u": ["a"], "v": {"b": 0}}, {"u": ["a"], "v": ["b"]}
    assert "queries: 1 without relevant items (ignored)" in rs.evaluate(truth, run, "rr", no_relevant="skip").notes
    assert "queries: 1 without relevant items (score 0)" in rs.evaluate(truth, run, "rr").notes


def test_a_threshold_is_mentioned_where_it_is_read():
    # q2 has no item of grade 2: ap scores 0 there, ndcg 1 / log2(3) as it reads grades only.
    truth, run = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}, {"q1": ["b", "a"], "q2": ["d", "c"]}
    alone = rs.evaluate(truth, run, "ndcg", threshold=2)
    assert alone["ndcg"] == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert alone.account.nothing_relevant == 0
    assert "threshold" not in str(alone) + alone.render("latex") + alone.definitions["ndcg"].cite
    assert alone.definitions["ndcg"] == rs.define("ndcg")
    both = rs.evaluate(truth, run, ["ndcg", "ap"], threshold=2)
    assert both.account.nothing_relevant == 1
    assert "queries: 1 without relevant items in ap (score 0)" in both.notes
    assert "threshold=2" not in both.definitions["ndcg"].cite
    assert "threshold=2" in both.definitions["ap"].cite


def test_an_order_that_a_package_does_not_define_is_said_where_ties_decide():
    truth = {"q": {"a": 1, "b": 0}}
    result = rs.evaluate(truth, {"q": {"a": 1.0, "b": 1.0}}, "rr", convention="torchmetrics")
    (note,) = [note for note in result.notes if "no defined order" in note]
    assert note.endswith("from the lowest to the highest: rr 0.5000 to 1.0000")
    for run, choices in (({"a": 2.0, "b": 1.0}, {}), ({"a": 1.0, "b": 1.0}, {"ties": "input"})):
        others = rs.evaluate(truth, {"q": run}, "rr", convention="torchmetrics", **choices).notes
        assert "no defined order" not in str(others)
    assert "no defined order" not in str(rs.evaluate(truth, {"q": {"a": 1.0, "b": 1.0}}, "rr").notes)


def test_html_of_verdicts():
    """A chip has a mark and the word, not only a colour; names are text, and the style is of these tables only."""
    truth = {query: {"a": 1} for query in range(20)}
    good, bad = ({query: [*order] for query in truth} for order in ("ab", "ba"))
    compared = rs.compare(truth, {"<i>": bad, "better": good, "worse": bad}, "rr", baseline="<i>")
    html = compared._repr_html_()
    assert html.count("<b class='good'>\u25b2 better</b>") == 1
    assert html.count("<b class='same'>= identical</b>") == 1
    assert html.count("<b ") == 2  # the run called better, and the columns better and worse, are no verdicts
    assert "<i>" not in html
    style = re.search("<style>(.*)</style>", html)[1]
    assert all(".rankstone" in rule.partition("{")[0] for rule in style.split("}") if rule)
    definitions = re.search("<details><summary>Definitions</summary>(.*?)</details>", html)[1].split("<br>")
    assert [line[:4] for line in definitions] == ["rr: ", "rank"]
    assert re.search("<strong>(.*?)</strong>", html)[1].startswith("better is better than &lt;i&gt;")


def test_codes_of_a_terminal_are_shown_as_text():
    """An id with an escape sequence, which would colour or clear the screen."""
    name = "\x1b[2Jq\u202e"
    printed = str(rs.explain({name: {name: 1}}, {name: [name]}, "rr", query=name))
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "<U+001B>[2Jq<U+202E>" in printed
