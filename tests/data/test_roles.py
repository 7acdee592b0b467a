"""One finder says which column is which, whatever they are columns of."""

import json
import re

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.data.roles import find_side

TRUTH = {1: [7], 2: [9]}
RUN = {1: [8, 7], 2: [9]}


def test_a_column_does_not_play_two_roles():
    """Relevant items in a list called `labels` are not their own grades, nor is a rating its own prediction."""
    truth = pa.table({"user": [1, 2], "labels": [[7], [9]]})
    run = pa.table({"user": [1, 2], "predictions": [[8, 7], [9]]})
    assert dict(rs.evaluate(truth, run, ["rr", "ndcg"])) == dict(rs.evaluate(TRUTH, RUN, ["rr", "ndcg"]))
    with pytest.raises(ValueError, match="the table has no score column among 'user', 'item', 'rating'"):
        rs.evaluate(pd.DataFrame({"user": [1], "item": [7], "rating": [3]}), metrics="rr")


def test_lists_can_have_ranks():
    run = pa.table({"user": [1, 2], "items": [[7, 8], [9]], "rank": [[2, 1], [1]]})
    assert dict(rs.evaluate(TRUTH, run, "rr")) == dict(rs.evaluate(TRUTH, RUN, "rr"))


def test_a_name_twice_in_another_case():
    run = pa.table({"user": [1], "User": [2], "item": [7], "score": [1.0]})
    with pytest.raises(ValueError, match="the run's query could be 'user' or 'User'; rename one"):
        rs.evaluate(TRUTH, run, "rr")
    assert rs.evaluate(TRUTH, run, "rr", columns={"run": {"query": "user"}})["rr"] == 1 / 2


def test_a_name_that_is_not_there():
    run = pa.table({"user": [1], "item": [7], "score": [1.0]})
    for role in ("query", "item", "score"):
        with pytest.raises(ValueError, match="the run has no column 'x'; it has 'user', 'item', 'score'"):
            rs.evaluate(TRUTH, run, "rr", columns={"run": {role: "x"}})
    with pytest.raises(ValueError, match="the table has no column 'x'"):
        rs.evaluate(run, metrics="rr", columns={"item": "x"})


def test_an_error_names_the_first_of_many_columns():
    run = pa.table({f"c{at}": [1] for at in range(1000)})
    with pytest.raises(ValueError, match=r"among 'c0', .*'c19', and 980 more; usual names are"):
        rs.evaluate(TRUTH, run, "rr")


def test_the_value_of_a_run():
    names = ["qid", "docno", "score", "rank"]
    assert find_side(names, "run", {}) == {"query": "qid", "item": "docno", "score": "score"}
    assert find_side(names, "run", {"rank": "rank"}) == {"query": "qid", "item": "docno", "rank": "rank"}
    assert find_side(names[:2], "run", {}) == {"query": "qid", "item": "docno"}


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("query", ["qid", "user_id"]), ("query", ["topic", "query"]), ("item", ["item", "docid"]),
        ("item", ["item", "docno"]), ("score", ["score", "prediction"]),
    ],
)  # fmt: skip
def test_two_columns_for_a_role(role, names):
    """None of them is the id by its name, as `qid` is where a `query` is a text."""
    usual = {"query": "q", "item": "item", "score": "score"}
    values = {"query": "1", "item": "d1", "score": 1.0}
    columns = {usual[other]: [values[other]] for other in usual if other != role}
    run = pd.DataFrame({**columns, **{name: [values[role]] for name in names}}).rename(columns={"q": "qid"})
    said = f"the run's {role} could be {names[0]!r} or {names[1]!r}; rename one, or name it: columns={{{role!r}: ...}}"
    with pytest.raises(ValueError, match=re.escape(said)):
        rs.evaluate({"1": ["d1"]}, run, "ap")
    assert rs.evaluate({"1": ["d1"]}, run, "ap", columns={"run": {role: names[0]}})["ap"] == 1


@pytest.mark.parametrize("name", ["userId", "user_id", "user-id", "USER ID", "customer_id", "question_id", "query-id"])
@pytest.mark.parametrize("item", ["movieId", "movie_id", "asin", "sku", "article_id", "pid", "chunk_id", "corpus-id"])
def test_usual_names(name, item):
    run = pa.table({name: [1, 1, 2], item: [8, 7, 9], "score": [2.0, 1.0, 1.0]})
    assert dict(rs.evaluate(TRUTH, run, "rr")) == dict(rs.evaluate(TRUTH, RUN, "rr"))


@pytest.mark.parametrize("relevant", ["relevant", "gold", "gold_ids", "relevant_chunk_ids", "ground_truth"])
@pytest.mark.parametrize("returned", ["retrieved", "pred", "retrieved_chunk_ids", "recommended_items", "doc_ids"])
def test_usual_names_of_lists(relevant, returned):
    table = pa.table({"question_id": [1, 2], relevant: [[7], [9]], returned: [[8, 7], [9]]})
    found = [
        rs.evaluate(table, metrics="rr"),
        rs.evaluate(table, table, "rr"),
        rs.evaluate(table, metrics="rr", columns={"truth": {"item": relevant}, "run": {"item": returned}}),
    ]
    assert [(result["rr"], list(result.queries)) for result in found] == [(3 / 4, [1, 2])] * 3
    with pytest.raises(ValueError, match=f"the run's item could be {returned!r} or 'ranking'"):
        rs.evaluate(table.append_column("ranking", table[returned]), metrics="rr")


def test_a_role_that_nothing_plays():
    """Ratings that are not to be grades; scores that are not to order the rows."""
    table = pa.table({"userId": [1, 1], "movieId": [7, 8], "rating": [0.0, 3.0]})
    assert rs.evaluate(table, {1: [7]}, "rr")["rr"] == 0
    assert rs.evaluate(table, {1: [7]}, "rr", columns={"grade": None})["rr"] == 1
    assert rs.evaluate({1: [7]}, table, "rr")["rr"] == 1 / 2
    assert rs.evaluate({1: [7]}, table, "rr", columns={"score": None})["rr"] == 1
    with pytest.raises(ValueError, match="the run has no query column"):
        rs.evaluate({1: [7]}, table, "rr", columns={"query": None})


def test_scores_under_another_name():
    run = pa.table({"qid": [1, 1], "docno": [7, 8], "bm25": [0.5, 3.0]})
    with pytest.raises(ValueError, match="the run has no score column, and 'bm25' could be it"):
        rs.evaluate({1: [8]}, run, "rr")
    assert rs.evaluate({1: [8]}, run, "rr", columns={"run": {"score": "bm25"}})["rr"] == 1
    assert rs.evaluate({1: [8]}, run, "rr", columns={"score": None})["rr"] == 1 / 2


def test_scores_of_a_truth_are_grades():
    """BEIR's judgements are `query-id corpus-id score`."""
    truth = pa.table({"query-id": [1, 1], "corpus-id": [7, 8], "score": [0, 2]})
    assert rs.evaluate(truth, {1: [7, 8]}, "rr")["rr"] == 1 / 2


def test_a_frame_with_an_index():
    frame = pd.DataFrame({"who": [1, 2], "item": [7, 9]}).iloc[[1, 0]]
    with pytest.raises(ValueError, match="no query column among 'who', 'item';"):
        rs.evaluate(TRUTH, frame, "rr")


ONE_SIDE = {
    "ratings.csv": "query,docid,rating\nq,a,0\nq,b,3\n",
    "ratings.dat": "1::7::3\n1::8::5\n",
    "bare.tsv": "q\ta\t0\nq\tb\t3\n",
    "ranked.csv": "query,item,rank\nq,a,1\nq,b,2\n",
    "rows.jsonl": '{"query": "q", "item": "a", "rating": 3}\n{"query": "q", "item": "b", "rating": 0}\n',
    "lists.jsonl": '{"query": "q", "items": ["a", "b"]}\n',
    "objects.jsonl": '{"query": "q", "items": [{"id": "a", "rating": 3}, {"id": "b", "rating": 0}]}\n',
    "nested.json": '{"q": {"a": 3, "b": 0}}',
}


@pytest.mark.parametrize("name", ONE_SIDE)
def test_a_truth_is_not_its_own_run(tmp_path, name, capsys):
    """A column can be the grade of a truth and the score of a run, but not of one file."""
    path = tmp_path / name
    path.write_text(ONE_SIDE[name])
    for sides in ([path], [path, path], [str(path), path]):
        with pytest.raises(ValueError, match="so it is not both the truth and the run; give a run too"):
            rs.evaluate(*sides, metrics="ndcg@10")
    assert main(["evaluate", str(path), "-m", "ndcg@10"]) == 2
    assert main(["evaluate", str(path), str(path), "-m", "ndcg@10"]) == 2
    assert "so it is not both the truth and the run" in capsys.readouterr().err


def test_a_table_is_not_its_own_run(tmp_path):
    table = pa.table({"query": ["q", "q"], "item": ["a", "b"], "rating": [3, 0], "pred": [0.1, 0.2]})
    parquet.write_table(table.drop_columns("pred"), tmp_path / "t.parquet")
    for side in (table.drop_columns("pred"), tmp_path / "t.parquet"):
        with pytest.raises(ValueError, match="'rating' as grade and score, so it is not both the truth and the run"):
            rs.evaluate(side, side, "rr")
    for columns in ({"grade": "rating", "score": "rating"}, {"query": "item", "item": "item"}):
        with pytest.raises(ValueError, match=r"columns= names '(rating|item)' for .*; a column plays one role"):
            rs.evaluate(table, metrics="rr", columns=columns)
    one = {"grade": "rating"}, {"score": "rating"}
    with pytest.raises(ValueError, match="'rating' as grade and score"):
        rs.evaluate(table, metrics="rr", columns=dict(zip(("truth", "run"), one, strict=True)))
    own = {"grade": "rating", "score": "pred"}
    assert rs.evaluate(table, metrics="rr", columns=own)["rr"] == 1 / 2
    assert rs.evaluate(table, table, "rr", columns=own)["rr"] == 1 / 2


def test_one_file_with_both_sides(tmp_path):
    """Grades and scores in two columns, in two parts of objects, or in two lists."""
    objects = '{"query": "q", "items": [{"id": "a", "grade": 1, "score": 1}, {"id": "b", "grade": 0, "score": 2}]}'
    lists = '{"query": "q", "relevant": ["a"], "retrieved": ["b", "a"]}'
    for name, text in (("o.jsonl", objects), ("l.jsonl", lists), ("c.csv", "qid,doc_id,rel,rank\nq,a,1,2\nq,b,0,1")):
        (tmp_path / name).write_text(text + "\n")
        assert rs.evaluate(tmp_path / name, metrics="rr")["rr"] == 1 / 2
    parquet.write_table(pa.Table.from_pylist([json.loads(objects)]), tmp_path / "o.parquet")
    assert rs.evaluate(tmp_path / "o.parquet", metrics="rr")["rr"] == 1 / 2
    both = tmp_path / "same.csv"  # one name, two files
    both.write_text("query,item,rating\nq,a,1\n")
    (tmp_path / "run.csv").write_text("query,item,rating\nq,b,0.7\nq,a,0.5\n")
    assert rs.evaluate(both, tmp_path / "run.csv", "rr", columns={"grade": "rating", "score": "rating"})["rr"] == 1 / 2


@pytest.mark.parametrize("columns", [1, ["query"], "query", {"run": ["query"]}])
def test_columns_are_named_by_role(columns):
    run = pa.table({"user": [1], "item": [7], "score": [1.0]})
    with pytest.raises(TypeError, match="pass columns by role: columns="):
        rs.evaluate(TRUTH, run, "rr", columns=columns)


def test_names_inside_of_objects(tmp_path):
    """As search engines return them, or by the names of the caller."""
    path = tmp_path / "hits.json"
    path.write_text('{"q": [{"_id": "b", "_score": 1.5}, {"_id": "a", "_score": 2.5}]}')
    assert rs.evaluate({"q": ["b"]}, path, "rr")["rr"] == 1 / 2
    path.write_text('{"q": [{"key": "b", "bm25": 1.5}, {"key": "a", "bm25": 2.5}]}')
    named = {"item": "key", "score": "bm25"}
    assert rs.evaluate({"q": ["b"]}, path, "rr", columns={"run": named})["rr"] == 1 / 2
    assert rs.evaluate({"q": ["b"]}, rs.read_run(path, columns=named), "rr")["rr"] == 1 / 2


def test_frames_of_pyterrier():
    """A result has the number of the document and the text of the query, too."""
    frame = {"qid": ["q", "q"], "docid": [3, 4], "docno": ["b", "a"], "rank": [0, 1], "score": [2.0, 1.0]}
    run = pd.DataFrame({**frame, "query": ["a text", "a text"]})
    assert rs.evaluate(pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1]}), run, "rr")["rr"] == 1 / 2
    topics = pd.DataFrame({"qid": ["q"], "query": ["a text"], "docno": ["a"], "label": [1], "iteration": ["0"]})
    assert rs.evaluate(topics, run, "rr")["rr"] == 1 / 2


# In week 1 user 1 has item 7 second, in week 2 first; user 2 has one week.
WEEKS = {"user": [1, 1, 2], "week": ["a", "b", "a"], "item": [7, 7, 9], "grade": [1, 1, 1]}
RANKED = {"user": [1, 1, 1, 2], "week": ["a", "a", "b", "a"], "item": [8, 7, 7, 9], "score": [2.0, 1.0, 1.0, 1.0]}
BOTH = {"query": ["user", "week"]}


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame])
def test_a_query_of_two_columns(frame):
    """Its id is both: by the first column alone, a user's weeks would be one list."""
    result = rs.evaluate(frame(WEEKS), frame(RANKED), "rr", columns=BOTH)
    assert dict(zip(result.queries, result.per_query["rr"], strict=True)) == {"1|a": 1 / 2, "1|b": 1, "2|a": 1}
    comparison = rs.compare(frame(WEEKS), {"a": frame(RANKED), "b": frame(RANKED)}, "rr", columns=BOTH)
    assert comparison["b", "rr"].difference == 0
    labelled = frame({**RANKED, "grade": [0, 1, 1, 1]})
    assert rs.evaluate(labelled, metrics="rr", columns=BOTH)["rr"] == (1 / 2 + 1 + 1) / 3


def test_a_query_of_one_column_in_a_list():
    table = pa.table({"user": [1, 2], "item": [7, 9], "score": [1.0, 1.0]})
    assert rs.evaluate(TRUTH, table, "rr", columns={"run": {"query": ["user"]}}).queries == [1, 2]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"query": ["user", "item"]}, "columns= names 'item' for item and query; a column plays one role"),
        ({"query": ["user", "day"]}, "the truth has no column 'day'; it has 'user', 'week', 'item', 'grade'"),
        ({"query": []}, "columns= names no column for the query"),
        ({"item": ["item", "week"]}, "columns= names several columns for the item: 'item', 'week'; make one column of"),
    ],
)
def test_a_query_of_columns_that_cannot_be(columns, problem):
    with pytest.raises(ValueError, match=problem):
        rs.evaluate(pa.table(WEEKS), pa.table(RANKED), "rr", columns={"item": "item", **columns})


def test_a_query_of_two_columns_keeps_its_parts_apart():
    """a|b in week c, and a in week b|c, would be one query."""
    table = pa.table({**WEEKS, "user": ["1|x", "1", "2"]})
    with pytest.raises(rs.errors.DataError, match=r"the truth has a '\|' in 'user', which separates the columns"):
        rs.evaluate(table, pa.table(RANKED), "rr", columns=BOTH)


def test_a_query_of_two_columns_of_a_file(tmp_path):
    path = tmp_path / "truth.parquet"
    parquet.write_table(pa.table(WEEKS), path)
    with pytest.raises(
        ValueError, match="names several columns for the query: 'user', 'week'; make one column of them"
    ):
        rs.read_truth(path, columns=BOTH)
