"""`rs.spark.evaluate`: the numbers, the account and the errors of `rs.evaluate`, from tables of Spark."""

import math
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.metrics import registry

from .data import every_metric, flat, frames, list_frames, made_up

TRUTH, RUN = made_up()

TWICE = "query 'q': item 'a' appears twice in the run; duplicates='first' counts one of them"


def close(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def same(one: rs.Result, other: rs.Result) -> None:
    """Means, the range that ties leave, account, and each query's values and ratios."""
    assert list(one) == list(other)
    assert one.account == other.account
    places = {query: at for at, query in enumerate(one.queries)}
    order = [places[query] for query in other.queries]
    assert sorted(order) == list(range(len(one.queries)))
    for label in other:
        assert close(one[label], other[label]), label
        for name in ("lowest", "highest", "queries"):
            assert close(getattr(one.ties[label], name), getattr(other.ties[label], name)), (label, name)
        np.testing.assert_allclose(one.per_query[label][order], other.per_query[label], rtol=1e-12, atol=1e-12)
        for mine, theirs in zip(
            one._measurement.ratio(str(label))[:2], other._measurement.ratio(str(label))[:2], strict=True
        ):
            np.testing.assert_allclose(mine[order], theirs, rtol=1e-12, atol=1e-12)


def test_all_inputs_give_the_same_numbers_for_every_metric(spark: Any) -> None:
    metrics = every_metric()
    expected = rs.evaluate(TRUTH, RUN, metrics)
    assert expected.account.missing
    assert expected.account.extra
    assert expected.account.tied
    assert expected.account.nothing_relevant
    connection = duckdb.connect()
    names = {"truth": ("grade", TRUTH), "run": ("score", RUN)}
    for name, (value, side) in names.items():
        query, item, number = zip(*flat(side), strict=True)
        connection.register(name, pa.table({"query": query, "item": item, value: number}))
    same(rs.evaluate(connection.table("truth"), connection.table("run"), metrics), expected)
    same(rs.spark.evaluate(*frames(spark, TRUTH, RUN), metrics), expected)
    same(rs.spark.evaluate(*list_frames(spark, TRUTH, RUN), metrics), expected)
    truth, run = list_frames(spark, TRUTH, RUN)[0], frames(spark, TRUTH, RUN)[1]
    same(rs.spark.evaluate(truth, run, metrics), expected)


@pytest.mark.parametrize(
    "choices",
    [
        {"unjudged": "condensed"},
        {"averaging": "micro"},
        {"averaging": "geometric"},
        {"averaging": "sum"},
        {"weights": {query: 1.0 + n % 4 for n, query in enumerate(TRUTH)}},
        {"ties": "expected"},
        {"ties": "optimistic"},
        {"missing": "skip", "undefined": "skip"},
        {"undefined": "nan"},
        {"convention": "trec_eval", "missing": "skip"},
        {"threshold": 2, "digits": 3},
    ],
    ids=lambda choices: next(iter(choices.values())) if len(choices) == 1 else "",
)
def test_choices(spark: Any, choices: dict[str, Any]) -> None:
    metrics = ["ndcg@5", "ap", "precision@5"]
    same(rs.spark.evaluate(*frames(spark, TRUTH, RUN), metrics, **choices), rs.evaluate(TRUTH, RUN, metrics, **choices))


def test_extra_queries_can_count(spark: Any) -> None:
    metrics = ["precision@5", "recall@5"]
    found = rs.spark.evaluate(*frames(spark, TRUTH, RUN), metrics, extra="zero")
    same(found, rs.evaluate(TRUTH, RUN, metrics, extra="zero"))


def test_integer_ids_of_several_widths_and_other_names(spark: Any) -> None:
    truth = spark.createDataFrame([(1, 7, 2), (1, 8, 1), (2, 7, 1)], "user_id int, movie bigint, rating smallint")
    run = spark.createDataFrame([(1, 9, 0.5), (1, 7, 0.25), (2, 7, 0.5)], "user_id bigint, movie int, prediction float")
    columns = {"item": "movie"}
    found = rs.spark.evaluate(truth, run, ["rr", "ap"], columns=columns)
    assert found["rr"] == (1 / 2 + 1 / 1) / 2
    assert found["ap"] == ((1 / 2) / 2 + 1 / 1) / 2
    assert dict(zip(found.queries, found.per_query["rr"], strict=True)) == {1: 0.5, 2: 1.0}


def test_a_rank_column(spark: Any) -> None:
    truth = spark.createDataFrame([("q", "a"), ("q", "b")], "query string, item string")
    run = spark.createDataFrame([("q", "c", 1), ("q", "a", 2), ("q", "b", 3)], "query string, item string, rank int")
    for ties in ("item_desc", "input"):
        assert rs.spark.evaluate(truth, run, "ap", ties=ties)["ap"] == (1 / 2 + 2 / 3) / 2
    equal = run.replace(3, 2, ["rank"])
    with pytest.raises(ValueError, match="query 'q' has equal ranks"):
        rs.spark.evaluate(truth, equal, "ap", ties="input")


def test_one_table(spark: Any) -> None:
    rows = [("q", "a", 1.0, 0.9), ("q", "b", 0.0, 0.8), ("q", "c", 1.0, 0.7), ("r", "a", 1.0, 0.1)]
    table = spark.createDataFrame(rows, "query string, item string, label double, score double")
    assert rs.spark.evaluate(table, metrics="ap")["ap"] == ((1 / 1 + 2 / 3) / 2 + 1) / 2
    rows = [("q", [1, 3, 2], [1, 2]), ("r", [4], [5])]
    lists = spark.createDataFrame(rows, "user string, rec array<int>, truth array<int>")
    found = rs.spark.evaluate(lists, metrics=["ap", "rr"])
    assert found["ap"] == ((1 / 1 + 2 / 3) / 2 + 0) / 2
    assert dict(zip(found.queries, found.per_query["rr"], strict=True)) == {"q": 1.0, "r": 0.0}
    unnamed = rs.spark.evaluate(lists.drop("user"), metrics="ap")
    assert unnamed["ap"] == found["ap"]
    assert len(set(unnamed.queries)) == 2


def test_values_a_query_stay_a_table_until_asked_for(spark: Any) -> None:
    found = rs.spark.evaluate(*frames(spark, TRUTH, RUN), ["ndcg@5", "ap"], missing="skip")
    assert "collected" not in vars(found._measurement)
    frame = found.per_query_frame
    assert frame.columns == ["query", "ndcg@5", "ap"]
    means = frame.selectExpr("avg(`ndcg@5`)", "count(ap)", "count(*)").first()  # null where a query does not count
    expected = rs.evaluate(TRUTH, RUN, ["ndcg@5", "ap"], missing="skip")
    assert close(means[0], expected["ndcg@5"])
    assert means[1:] == (expected.account.judged - expected.account.missing, expected.account.judged)
    assert "collected" not in vars(found._measurement)
    assert len(found.to_pandas()) == len(TRUTH)


def test_it_prints_defines_and_groups_as_evaluate_does(spark: Any) -> None:
    metrics = ["ndcg@5", "recall@5"]
    found, expected = rs.spark.evaluate(*frames(spark, TRUTH, RUN), metrics), rs.evaluate(TRUTH, RUN, metrics)
    assert repr(found) == repr(expected)
    assert found.definitions["ndcg@5"] == expected.definitions["ndcg@5"]
    groups = {query: len(query) for query in TRUTH}
    for group, means in expected.by_group(groups).items():
        assert found.by_group(groups)[group] == pytest.approx(means, rel=1e-12)


@pytest.mark.parametrize("choices", [{}, {"averaging": "micro"}], ids=["macro", "micro"])
def test_runs_are_compared_as_elsewhere(spark: Any, choices: Any) -> None:
    other = {query: {item: -score for item, score in items.items()} for query, items in RUN.items()}
    truth, first = frames(spark, TRUTH, RUN)
    second = frames(spark, TRUTH, other)[1]
    metrics = ["precision@3", "recall@5"]
    found = rs.compare(truth, {"a": first, "b": second}, metrics, **choices)
    expected = rs.compare(TRUTH, {"a": RUN, "b": other}, metrics, **choices)
    for metric in metrics:
        ours, theirs = found["b", metric], expected["b", metric]
        assert (ours.difference, ours.p, ours.low) == pytest.approx((theirs.difference, theirs.p, theirs.low))
        assert (ours.wins, ours.ties, ours.losses) == (theirs.wins, theirs.ties, theirs.losses)
    assert repr(found).splitlines()[0] == repr(expected).splitlines()[0]


@pytest.mark.parametrize("side", ["truth", "run"])
def test_one_side_may_be_here(spark: Any, tmp_path: Path, side: str) -> None:
    """A dict, a frame of any library, columns, lists or a file beside a table of Spark."""
    metrics = ["ndcg@5", "ap", "kendall", "judged@5"]
    expected = rs.evaluate(TRUTH, RUN, metrics)
    local, value = (TRUTH, "grade") if side == "truth" else (RUN, "score")
    tables = dict(zip(("truth", "run"), frames(spark, TRUTH, RUN), strict=True))
    content = dict(zip(("query", "item", value), map(list, zip(*flat(local), strict=True)), strict=True))
    arrow = pa.table(content)
    (tmp_path / "side.tsv").write_text(
        "\n".join(["\t".join(content), *("\t".join(map(str, row)) for row in flat(local))])
    )
    given = {
        "dict": local,
        "arrow": arrow,
        "pandas": arrow.to_pandas(),
        "lazy polars": pl.from_arrow(arrow).lazy(),
        "columns": rs.columns(**content),
        "file": tmp_path / "side.tsv",
    }
    for form in given.values():
        same(rs.spark.evaluate(**{**tables, side: form}, metrics=metrics), expected)
    renamed = arrow.rename_columns(["who", "what", "worth"])
    roles = {side: {"query": "who", "item": "what", value: "worth"}}
    same(rs.spark.evaluate(**{**tables, side: renamed}, metrics=metrics, columns=roles), expected)


def test_a_local_order_is_an_order(spark: Any) -> None:
    """`rbo` of a truth that is a list, and a run that is one."""
    judged, returned = {1: [3, 1, 2], 2: [5, 4]}, {1: {1: 3.0, 3: 2.0, 2: 1.0}, 2: {5: 2.0, 4: 1.0}}
    rows = [(query, item, score) for query, content in returned.items() for item, score in content.items()]
    table = spark.createDataFrame(rows, "query int, item int, score double")
    same(rs.spark.evaluate(judged, table, ["rbo", "rr"]), rs.evaluate(judged, returned, ["rbo", "rr"]))
    truth = spark.createDataFrame([(1, 3), (2, 4)], "query int, item int")
    found = rs.spark.evaluate(truth, {1: [1, 3], 2: [4, 5]}, "rr")
    assert found["rr"] == (1 / 2 + 1) / 2


def test_ids_of_a_file_are_text(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "some.qrels").write_text("1 0 7 1\nx 0 8 1\n")
    (tmp_path / "whole.qrels").write_text("1 0 7 1\n")
    run = spark.createDataFrame([(1, 8, 0.9), (1, 7, 0.5)], "query int, item int, score double")
    assert rs.spark.evaluate(tmp_path / "whole.qrels", run, "rr")["rr"] == 1 / 2
    assert rs.spark.evaluate(tmp_path / "some.qrels", run, "rr")["rr"] == (1 / 2 + 0) / 2


def test_what_does_not_go_with_a_table_is_refused(spark: Any) -> None:
    _, run = frames(spark, TRUTH, RUN)
    for sides in ((TRUTH, RUN), (TRUTH, None)):
        with pytest.raises(TypeError, match=r"neither the truth nor the run is a Spark table; use rs\.evaluate"):
            rs.spark.evaluate(*sides, "ap")
    with pytest.raises(TypeError, match="the truth is a list; with a Spark table, pass a dict"):
        rs.spark.evaluate([1], run, "ap")
    with pytest.raises(TypeError, match="the truth's query column holds bigint but the run's holds string"):
        rs.spark.evaluate({1: ["a"]}, run, "ap")


def test_no_other_door_collects_a_table(spark: Any) -> None:
    truth, run = frames(spark, TRUTH, RUN)
    calls = [
        lambda: rs.explain(truth, run, "ap"),
        lambda: rs.Accumulator("ap").update(truth, run),
        lambda: rs.split.leave_last_out(run),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"a Spark table would .*: use rs\.spark\.evaluate, .* table\.toPandas\(\)"):
            call()


def test_a_metric_of_ones_own(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rows", "names"):
        monkeypatch.setattr(registry.metrics, name, dict(getattr(registry.metrics, name)))

    @rs.metric("twice", bounds=(0, 2))
    def twice(ranked: rs.authoring.Ranking, *, k: int | None = None) -> rs.authoring.Ratio:
        """Twice the recall."""
        return rs.authoring.Ratio(2 * ranked.hits(k), ranked.relevant)

    found = rs.spark.evaluate(*frames(spark, TRUTH, RUN), [twice @ 5])
    same(found, rs.evaluate(TRUTH, RUN, [twice @ 5]))


def test_a_query_with_a_tenth_of_all_rows(spark: Any) -> None:
    rng = np.random.default_rng(3)
    items = {"heavy": 30_000, **{f"q{n}": 270 for n in range(1000)}}
    run = {query: {f"i{n}": float(score) for n, score in enumerate(rng.random(size))} for query, size in items.items()}
    truth = {query: {f"i{n}": 1 for n in rng.integers(0, size, 5).tolist()} for query, size in items.items()}
    columns = [pa.table(dict(zip(("query", "item", value), map(list, zip(*flat(side), strict=True)), strict=True)))
               for value, side in (("grade", truth), ("score", run))]  # fmt: skip
    tables = [spark.createDataFrame(one.to_pandas()) for one in columns]
    metrics = ["ndcg@10", "ap", "rr"]
    same(rs.spark.evaluate(*tables, metrics), rs.evaluate(*columns, metrics))


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (
            [("q", "a", 1.0), ("q", "a", 2.0)],
            TWICE,
        ),
        ([("q", "a", 1.0), ("q", "b", float("nan"))], "query 'q', item 'b': score is nan"),
        ([("q", "a", 1.0), ("q", "b", None)], "query 'q', item 'b': score is null in the run"),
        ([("q", None, 1.0)], "query 'q': item is null in the run"),
        ([(None, "a", 1.0)], "the run has a row without a query: {'query': None, 'item': 'a', 'score': 1.0}"),
    ],
)
def test_bad_rows_are_named(spark: Any, rows: list[Any], error: str) -> None:
    truth = spark.createDataFrame([("q", "a", 1.0)], "query string, item string, grade double")
    run = spark.createDataFrame(rows, "query string, item string, score double")
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        rs.spark.evaluate(truth, run, "ap")


def test_bad_lists_are_named(spark: Any) -> None:
    kinds = "query string, rec array<string>, truth array<string>"
    good = ("p", ["a"], ["a"])
    for row, error in [
        (
            ("q", ["a", "b", "a"], ["a"]),
            TWICE,
        ),
        (("q", None, ["a"]), "query 'q': item is null in the table"),
        (("q", ["a", None], ["a"]), "query 'q': item is null in the table"),
    ]:
        with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
            rs.spark.evaluate(spark.createDataFrame([good, row], kinds).coalesce(1), metrics="ap")


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"ties": "input"}, "ap: ties='input' needs an order of rows"),
        ({"duplicates": "first"}, "duplicates='first' needs an order of rows"),
        ({"truth_duplicates": "first"}, "truth_duplicates='first' needs an order of the truth"),
        ({"truth_depth": "k"}, "truth_depth='k' needs an order of the truth"),
        ({"missing": "error"}, r"the run lacks 5 judged queries: 'q\d+', 'q\d+', 'q\d+', 'q\d+', 'q\d+'"),
        ({"extra": "error"}, "the truth lacks 1 queries of the run: 'nobody judged'"),
        ({"undefined": "error"}, r"the value is undefined: its denominator is 0 in query 'q\d+'"),
        ({"weights": [1.0] * 60}, "weights= is a dict or a table"),
        ({"weights": {"q0": 1.0}}, r"weights has no entry for query 'q\d+'"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(spark: Any, choices: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        rs.spark.evaluate(*frames(spark, TRUTH, RUN), "ap", **choices)


def test_tables_that_do_not_fit_are_refused(spark: Any) -> None:
    truth, run = frames(spark, TRUTH, RUN)
    with pytest.raises(ValueError, match="the run has no score or rank column"):
        rs.spark.evaluate(truth, run.drop("score"), "ap")
    with pytest.raises(ValueError, match="the truth has no column 'nothing'; it has 'query', 'item', 'grade'"):
        rs.spark.evaluate(truth, run, "ap", columns={"truth": {"item": "nothing"}})
    with pytest.raises(TypeError, match="the truth's query column holds string but the run's holds bigint"):
        rs.spark.evaluate(truth, run.selectExpr("1 as query", "item", "score"), "ap")
    with pytest.raises(TypeError, match="column 'score' holds string; grades and scores are numbers"):
        rs.spark.evaluate(truth, run.selectExpr("query", "item", "cast(score as string) as score"), "ap")


def test_rows_are_spread_evenly(spark: Any) -> None:
    """Spark's own hash puts each bucket's rows into a partition of their own."""
    from rankstone.spark.distributed import _keys, spark_hash

    numbers = [0, 1, 7, 123_456, 2**31 - 1]
    own = spark.createDataFrame([(one,) for one in numbers], "n int").selectExpr("hash(n)").collect()
    assert spark_hash(np.array(numbers, dtype=np.uint32)).tolist() == [one[0] for one in own]
    for count in (1, 4, 200, 2000):
        assert (spark_hash(_keys(count).astype(np.uint32)) % count).tolist() == list(range(count))


def test_evaluate_hands_over(spark: Any) -> None:
    """`rs.evaluate` measures a table of Spark's on the cluster; a truth may be here."""
    run = spark.createDataFrame([(1, 8, 2.0), (1, 7, 1.0), (2, 9, 1.0)], "query int, item int, score double")
    result = rs.evaluate({1: [7], 2: [9]}, run, "rr")
    assert (type(result).__name__, result["rr"]) == ("SparkResult", 3 / 4)
    with pytest.raises(TypeError, match="exclude= is not supported for Spark tables"):
        rs.evaluate({1: [7]}, run, "rr", exclude={1: [8]})


@pytest.mark.parametrize("far", [1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**62])
def test_ids_of_any_width(spark: Any, far: int) -> None:
    """Ids travel in half the bytes where those of a task fit: others of the same column may not."""
    truth = {query: {item: 1 + item % 3 for item in (1, 2, 3, far)} for query in (1, 2, 3, far)}
    run = {query: {item: 1 / item for item in (2, 4, far, 3)} for query in (1, 2, 3, far)}
    judged, returned = (
        spark.createDataFrame(flat(side), f"query bigint, item bigint, {value} double").repartition(5, "query")
        for side, value in ((truth, "grade"), (run, "score"))
    )
    same(rs.spark.evaluate(judged, returned, ["ndcg@3", "ap"]), rs.evaluate(truth, run, ["ndcg@3", "ap"]))


@pytest.mark.parametrize("more", [[], ["coverage@1"]])  # on the workers, and on the driver
def test_a_threshold_of_ratings_for_clicks(spark: Any, more: list[str]) -> None:
    truth, run = {"u": {"a": 1, "b": 0}, "v": {"a": 0}}, {"u": {"a": 2.0, "b": 1.0}, "v": {"a": 2.0}}
    tables, metrics = frames(spark, truth, run), ["hit_rate@1", *more]
    convention = {"convention": "recsys-blog", "catalogue": ["a", "b"]} if more else {"convention": "recsys-blog"}
    with pytest.raises(rs.errors.InputError, match="hit_rate@1: the truth has grades of 0 and 1 only"):
        rs.spark.evaluate(*tables, metrics, **convention)
    assert rs.spark.evaluate(*tables, metrics, threshold=1, **convention)["hit_rate@1"] == 1 / 2
    rated = frames(spark, truth | {"v": {"a": 4}}, run)
    assert rs.spark.evaluate(*rated, metrics, **convention)["hit_rate@1"] == 1 / 2
