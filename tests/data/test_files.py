"""Truths and runs from files: every format, every way to write it, and what is said of a bad one."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankstone as rs
from rankstone.data import lines as text_files
from rankstone.data.columns import Columns
from rankstone.data.files import read_run, read_truth, same_ids
from rankstone.data.formats import FORMATS
from rankstone.errors import FileError, NoRowsError
from rankstone.evaluate.stream import evaluate_file

Row = tuple[Any, Any, Any]

TRUTH = [("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d1", 2.0)]
RUN = [("q1", "d2", 3.5), ("q1", "d1", -1.0), ("q2", "d3", 1e-3)]

TREC_TRUTH = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
TREC_RUN = "q1 Q0 d2 1 3.5 tag\nq1 Q0 d1 2 -1 tag\nq2 Q0 d3 1 1e-3 tag\n"
CSV_RUN = "query,item,score\nq1,d2,3.5\nq1,d1,-1\nq2,d3,1e-3\n"
RETURN = "has a carriage return in it that is neither quoted nor the end of the line"
JSON_RUN = """{"query":"q1","item":"d2","score":3.5}
{"query":"q1","item":"d1","score":-1}
{"query":"q2","item":"d3","score":1e-3}
"""


def rows(read: Columns) -> list[Row]:
    """What was read, row by row; None for the values of a file without any."""
    columns = [pa.array(one).to_pylist() for one in (read.query, read.item)]
    value = read.grade if read.grade is not None else read.score
    values = [None] * len(columns[0]) if value is None else pa.array(value).to_pylist()
    return list(zip(*columns, values, strict=True))


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a file and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def problem(read: Any, path: Path, **options: Any) -> str:
    """What is said of a bad file, without the folder."""
    with pytest.raises(FileError) as caught:
        read(path, **options)
    assert caught.value.path == str(path)
    return str(caught.value).replace(f"{path.parent}{os.sep}", "")


# -- TREC ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TREC_RUN,
        TREC_RUN.replace(" ", "\t"),
        TREC_RUN.replace(" ", " \t  "),
        TREC_RUN.replace("\n", "\r\n"),
        TREC_RUN.replace("\n", " \v\f\r\n"),
        TREC_RUN.rstrip("\n"),
        "\ufeff" + TREC_RUN,
        "\n  \n" + TREC_RUN.replace("\n", "\n\n"),
        "# comment\n" + TREC_RUN,
        "  # one with six words in it\n" + TREC_RUN + "#the end",
        TREC_RUN.replace("q2", "#q2 Q0 d4 1 9 tag\nq2"),
        TREC_RUN.replace("tag", "tag and more"),
        TREC_RUN.replace("q2 Q0", "q2 Q0  "),
        TREC_RUN.replace(" 3.5 ", " +3.50 "),
    ],
)
def test_trec_run_in_all_its_spellings(file: Any, text: str) -> None:
    read = read_run(file("a.run", text))
    assert rows(read) == RUN
    assert read.skipped == 0


@pytest.mark.parametrize("text", [TREC_TRUTH, TREC_TRUTH.replace(" ", "  "), "# c\n" + TREC_TRUTH, TREC_TRUTH + "\n\n"])
def test_trec_truth(file: Any, text: str) -> None:
    assert rows(read_truth(file("qrels.txt", text))) == TRUTH


def test_trec_ids_are_strings_and_a_hash_inside_is_no_comment(file: Any) -> None:
    assert rows(read_truth(file("a.qrels", "1 0 007#3 1\n1 0 #8 0\n"))) == [("1", "007#3", 1.0), ("1", "#8", 0.0)]


def test_the_order_is_by_score_and_the_rank_is_ignored(file: Any) -> None:
    read = read_run(file("a.run", "q Q0 a 1 0.1 t\nq Q0 b 2 0.9 t\nq Q0 c x 0.5 t\n"))
    assert rows(read) == [("q", "a", 0.1), ("q", "b", 0.9), ("q", "c", 0.5)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q 0 d 1\nq 0 e 2\nq 0 f\n", "qrels.txt:3: expected 4 fields (query iteration item grade), found 3"),
        ("q 0 d 1\nq 0 e 2 x\n", "qrels.txt:2: expected 4 fields (query iteration item grade), found 5"),
        ("q 0 d 1\n# c\n\nq 0 e two\n", "qrels.txt:4: grade 'two' is not a number"),
        ("q 0 d 1\nq 0 e inf\n", "qrels.txt:2: grade 'inf' is not finite"),
        ("q 0 d 1\nq 0 e nan\n", "qrels.txt:2: grade 'nan' is not a number"),
        ("q 0 d 1\nq 0 e 1e400\n", "qrels.txt:2: grade '1e400' is too large"),
        ("q 0 d 1\nq 0 e 1_0\n", "qrels.txt:2: grade '1_0' is not a number"),
        (b"q 0 d 1\nq 0 \xff\xfe 1\n", "qrels.txt:2: item '\ufffd\ufffd' is not valid UTF-8"),
        (b"q 0 d 1\n\xff 0 d 1\n", "qrels.txt:2: query '\ufffd' is not valid UTF-8"),
        ("q 0 d 1\nq 0 e " + "x" * 10_000_000 + "\n", f"qrels.txt:2: grade '{'x' * 49}...' is not a number"),
        ("q 0 d 1\n" + "x " * 2_000_000, "qrels.txt:2: expected 4 fields (query iteration item grade), found 2000000"),
    ],
)  # fmt: skip
def test_bad_qrels(file: Any, text: str | bytes, said: str) -> None:
    assert problem(read_truth, file("qrels.txt", text)) == said


def test_bad_run_names_the_line(file: Any) -> None:
    path = file("run.txt", TREC_RUN + "q3 Q0 d1 1 abc tag\n")
    assert problem(read_run, path) == "run.txt:4: score 'abc' is not a number"
    with pytest.raises(FileError) as caught:
        read_run(path)
    assert caught.value.line == 4
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    short = file("short.run", TREC_RUN + "q3 Q0 d1 1 5\n")
    assert problem(read_run, short) == "short.run:4: expected 6 fields (query Q0 item rank score tag), found 5"


def test_five_fields_and_a_trailing_space_are_five_fields(file: Any) -> None:
    for end in (" \n", " \r\n"):
        said = problem(read_run, file("a.run", f"q Q0 d 1 5 t\nq Q0 e 1 5{end}"))
        assert said == "a.run:2: expected 6 fields (query Q0 item rank score tag), found 5"


@pytest.mark.parametrize("spelt", ["inf", "-inf", "Infinity", "-INF"])
def test_an_infinite_score_is_a_score(file: Any, spelt: str) -> None:
    assert rows(read_run(file("a.run", f"q Q0 d 1 {spelt} t\n"))) == [("q", "d", float(spelt))]
    assert rows(read_run(file("a.csv", f"query,item,score\nq,d,{spelt}\n"))) == [("q", "d", float(spelt))]


def test_a_line_of_ten_million_letters(file: Any) -> None:
    long = "d" * 10_000_000
    assert rows(read_run(file("a.run", f"q Q0 {long} 1 2 t\nq Q0 e 1 1 t\n"))) == [("q", long, 2.0), ("q", "e", 1.0)]
    assert rows(read_run(file("a.csv", f"query,item,score\nq,{long},2\nq,e,1\n"))) == [
        ("q", long, 2.0),
        ("q", "e", 1.0),
    ]
    line = f'{{"query":"q","item":"{long}","score":2}}\n'
    assert rows(read_run(file("a.jsonl", line * 2)))[1] == ("q", long, 2.0)


# -- CSV and TSV -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        CSV_RUN,
        CSV_RUN.replace("\n", "\r\n"),
        CSV_RUN.rstrip("\n"),
        "\ufeff" + CSV_RUN,
        CSV_RUN + "\n\n",
        CSV_RUN.replace("\n", "\n\n"),
        CSV_RUN.replace("query,item,score", "qid,docno,Score"),
        CSV_RUN.replace("query,item,score\n", ""),
        CSV_RUN.replace("d2", '"d2"').replace("3.5", '"3.5"').replace("query", '"query"'),
        CSV_RUN.replace("3.5", " 3.5 ").replace("-1", "+-1".lstrip("+")),
    ],
)
def test_csv_run_in_all_its_spellings(file: Any, text: str) -> None:
    assert rows(read_run(file("a.csv", text))) == RUN
    assert rows(read_run(file("a.tsv", text.replace(",", "\t")))) == RUN


def test_csv_columns_in_any_order_beside_others(file: Any) -> None:
    text = 'title,score,doc_id,when,user\n"a, ""b""\nc",3.5,d2,1,q1\n,-1,d1,2,q1\nx,1e-3,d3,3,q2\n'
    assert rows(read_run(file("a.csv", text))) == RUN


def test_csv_columns_by_name_and_position(file: Any) -> None:
    named = file("a.csv", "a,b,c,d\nq1,9,d2,3.5\nq1,9,d1,-1\nq2,9,d3,1e-3\n")
    assert rows(read_run(named, columns={"query": "a", "item": "c", "score": "d"})) == RUN
    bare = file("b.csv", "3.5,q1,0,d2,2001\n-1,q1,0,d1,2002\n1e-3,q2,0,d3,2003\n")
    assert rows(read_run(bare, columns={"query": 1, "item": 3, "score": 0})) == RUN


def test_csv_without_header(file: Any) -> None:
    assert rows(read_truth(file("a.csv", "1,2\n1,3\n"))) == [(1, 2, None), (1, 3, None)]
    assert rows(read_truth(file("a.csv", "u,7,1.5\nu,x,0\n"))) == [("u", "7", 1.5), ("u", "x", 0.0)]
    assert rows(read_run(file("a.csv", "1,2\n1,3\n"))) == [(1, 2, None), (1, 3, None)]


def test_a_rank_serves_as_a_score(file: Any) -> None:
    expected = [("q", "a", -2.0), ("q", "b", -1.0)]
    assert rows(read_run(file("a.csv", "query,item,rank\nq,a,2\nq,b,1\n"))) == expected
    assert (
        rows(read_run(file("a.csv", "query,item,score,place\nq,a,9,2\nq,b,9,1\n"), columns={"rank": "place"}))
        == expected
    )
    assert (
        rows(read_run(file("a.jsonl", '{"query":"q","item":"a","rank":2}\n{"query":"q","item":"b","rank":1}\n')))
        == expected
    )
    assert rows(read_run(file("a.csv", "query,item,rank,score\nq,a,2,7\n"))) == [("q", "a", 7.0)]


def test_ids_are_whole_numbers_only_if_all_of_them_are_written_so(file: Any) -> None:
    read = read_truth(file("a.csv", "query,item,grade\n12,012,1\n-7,5,1\n"))
    assert rows(read) == [(12, "012", 1.0), (-7, "5", 1.0)]
    assert read.query.type == pa.int64()
    big = str(2**63)
    assert rows(read_truth(file("b.csv", f"query,item\n1,{big}\n"))) == [(1, big, None)]
    late = "query,item\n" + "1,1\n" * 5000 + "1,x\n"
    assert rows(read_truth(file("c.csv", late)))[-1] == (1, "x", None)
    dates = "query,item\n2020-01-01,true\n2020-01-02,NA\n"
    assert rows(read_truth(file("d.csv", dates))) == [("2020-01-01", "true", None), ("2020-01-02", "NA", None)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CSV_RUN + "q,d,abc\n", "run.csv:5: score 'abc' is not a number"),
        (CSV_RUN + "q,d\n", "run.csv:5: expected 3 fields, found 2"),
        (CSV_RUN + "q,d,1,2\n", "run.csv:5: expected 3 fields, found 4"),
        (CSV_RUN + ",d,1\n", "run.csv:5: query is missing"),
        (CSV_RUN + "q,,1\n", "run.csv:5: item is missing"),
        (CSV_RUN + "q,d,\n", "run.csv:5: score is missing"),
        (CSV_RUN + "q,d,NA\n", "run.csv:5: score 'NA' is not a number"),
        (CSV_RUN + "q,d,nan\n", "run.csv:5: score 'nan' is not a number"),
        (CSV_RUN + "q,d,1e400\n", "run.csv:5: score '1e400' is too large"),
        (CSV_RUN + '"q\nr",d,1\n"s\nt",d,x\n', "run.csv:7: score 'x' is not a number"),
        (CSV_RUN + 'q,"d,1\nr,e,2\n', "run.csv:5: a quote is not closed"),
        (CSV_RUN + 'q,d,"1\n', "run.csv:5: a quote is not closed"),
        ('query,item,score,title\nq,d,1,"oops\nq,e,2,fine\n', "run.csv:2: a quote is not closed"),
        (CSV_RUN + "q,d,1\rq,e,2\n", f"run.csv:5: {RETURN}"),
        (CSV_RUN + "\rq,d,1\n", f"run.csv:5: {RETURN}"),
        (CSV_RUN + '\r"q",d,1\n', f"run.csv:5: {RETURN}"),
        (CSV_RUN.encode() + b"q,\xff,1\n", "run.csv:5: item '?' is not valid UTF-8"),
        ("query,item,score\n", "run.csv: has a header line but no rows"),
        ("\n\nquery,item,score\n\nq,d,x\n", "run.csv:5: score 'x' is not a number"),
        ("a,b,c\nq,d,1\n", "run.csv:1: the run has no query column among 'a', 'b', 'c'; usual names are query, "
         "query_id, qid, topic, topic_id, user, user_id, customer, customer_id, session, session_id, question_id, "
         "question, user_input, query_text, user_query, search_text; "
         "or name it: columns={'query': ...}; or positions, if this is no header line: "
         "columns={'query': 0, 'item': 1, ...}"),
        ("query,qid,user,item,item\nq,q,q,d,1\n", "run.csv:1: the run has 2 columns called 'item'"),
        ("user,qid,item,score\nq,q,d,1\n", "run.csv:1: the run's query could be 'user' or 'qid'; rename one, "
         "or name it: columns={'query': ...}"),
        ("1,2,3,4\n", "run.csv:1: expected 3 columns (query item score) or 2 in a file without a header line, found 4; "
         "pass columns={'query': 0, 'item': 1, 'score': 2}"),
    ],
)  # fmt: skip
def test_bad_csv(file: Any, text: str | bytes, said: str) -> None:
    assert problem(read_run, file("run.csv", text)) == said


def test_bytes_that_are_not_text_in_a_column_that_is_not_read(file: Any) -> None:
    content = b"query,item,score,title\nq,d,1,\xff\nq,e,2,\xfe\n"
    expected = [("q", "d", 1.0), ("q", "e", 2.0)]
    assert rows(read_run(file("a.csv", content))) == expected
    assert rows(read_run(file("a.csv", content.replace(b"\nq,e", b"\n\nq,e")))) == expected


# -- JSON lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        JSON_RUN,
        JSON_RUN.replace("\n", "\r\n"),
        JSON_RUN.replace("\n", "\n\n"),
        JSON_RUN.rstrip(),
        "\ufeff" + JSON_RUN,
        JSON_RUN.replace("{", '{"title":{"a":["b"]},'),
        JSON_RUN.replace('"query"', '"user_id"').replace('"item"', '"docno"').replace('"score"', '"sim"'),
    ],
)
def test_jsonl_run_in_all_its_spellings(file: Any, text: str) -> None:
    assert rows(read_run(file("a.jsonl", text))) == RUN


def test_jsonl_ids_keep_their_type(file: Any) -> None:
    read = read_truth(file("a.jsonl", '{"query":1,"item":"7"}\n{"query":2,"item":"8"}\n'))
    assert rows(read) == [(1, "7", None), (2, "8", None)]
    mixed = '{"query":1,"item":7}\n{"query":"x","item":8}\n'
    assert rows(read_truth(file("b.jsonl", mixed))) == [("1", 7, None), ("x", 8, None)]
    assert rows(read_truth(file("c.jsonl", '{"query":1,"item":7,"grade":true}\n'))) == [(1, 7, 1.0)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"query":"q","item":"d","score":"1"}', "score '1' is not a number"),
        ('{"query":"q","item":"d","score":null}', "score None is not a number"),
        ('{"query":"q","item":"d","score":NaN}', "score 'nan' is not a number"),
        ('{"query":"q","item":"d"}', "has no 'score'"),
        ('{"query":1.5,"item":"d","score":1}', "query 1.5 is neither a whole number nor a string"),
        ('{"query":"q","item":null,"score":1}', "item None is neither a whole number nor a string"),
        ('{"query":"q","item":"\\ud800","score":1}', "item '?' is not valid UTF-8"),
        (b'{"query":"q","item":"\xff","score":1}', "item '?' is not valid UTF-8"),
        ("[1]", "expected an object, found [1]"),
        ('{"query":"q",', "is not JSON: Expecting property name enclosed in double quotes: line 1 column 14 (char 13)"),
        ('{"query":"q","item":"d","score":1}{}', "is not JSON: Extra data: line 1 column 35 (char 34)"),
        (JSON_RUN.replace("\n", " ").strip(), "is not JSON: Extra data: line 1 column 40 (char 39)"),
        ('{"query":"q","item":"d","score":1' + "0" * 400 + "}", f"score 1{'0' * 49}...0 is too large"),
    ],
)
def test_bad_jsonl(file: Any, line: str | bytes, said: str) -> None:
    content = JSON_RUN.encode() + (line.encode() if isinstance(line, str) else line) + b"\n"
    assert problem(read_run, file("run.jsonl", content)) == f"run.jsonl:4: {said}"


def test_nesting_without_end_is_refused(file: Any) -> None:
    deep = '{"query":"q","item":"d","score":1,"x":' + "[" * 200_000 + "}\n"
    assert "run.jsonl:4: is not JSON" in problem(read_run, file("run.jsonl", JSON_RUN + deep))
    assert "run.jsonl:1: is not JSON" in problem(read_run, file("run.jsonl", deep))


# -- Parquet ---------------------------------------------------------------------------------------------------


def table(found: list[Row], value: str) -> pa.Table:
    query, item, values = zip(*found, strict=True)
    return pa.table({"query": query, "item": item, value: values})


def test_parquet_file_folder_and_pattern(tmp_path: Path) -> None:
    run = table(RUN, "score")
    pq.write_table(run, tmp_path / "a.parquet")
    assert rows(read_run(tmp_path / "a.parquet")) == RUN
    (tmp_path / "parts").mkdir()
    pq.write_table(run.slice(0, 2), tmp_path / "parts/part-0.parquet")
    pq.write_table(run.slice(2), tmp_path / "parts/part-1.parquet")
    (tmp_path / "parts/_SUCCESS").touch()
    assert rows(read_run(tmp_path / "parts")) == RUN
    assert rows(read_run(f"{tmp_path}/parts/part-*.parquet")) == RUN
    assert rows(read_run(f"{tmp_path}/**/part-?.parquet")) == RUN
    assert problem(read_run, tmp_path / "none-*.parquet") == "none-*.parquet: no file matches this pattern"
    assert "only be read as parquet" in problem(read_run, tmp_path / "parts", format="csv")
    odd = tmp_path / "a[1].parquet"
    pq.write_table(run, odd)
    assert rows(read_run(odd)) == RUN


@pytest.mark.parametrize(
    "query",
    [pa.array([1, 1, 2], pa.int32()), pa.array(["a", "a", "b"]).dictionary_encode(), pa.array([b"a", b"a", b"b"])],
)
@pytest.mark.parametrize("score", [pa.array([3, 2, 1], pa.int8()), pa.array([0.5, 0.25, 0], pa.float32())])
def test_parquet_types(tmp_path: Path, query: pa.Array, score: pa.Array) -> None:
    found = pa.table({"user": query, "item": ["x", "y", "z"], "prediction": score})
    pq.write_table(found, tmp_path / "a.parquet", row_group_size=2)
    expected = [one.decode() if isinstance(one, bytes) else one for one in query.to_pylist()]
    assert rows(read_run(tmp_path / "a.parquet")) == list(zip(expected, "xyz", score.to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("score", [1.0, None, 2.0], "a.parquet:2: score is null"),
        ("score", [1.0, 2.0, float("nan")], "a.parquet:3: score nan is not a number"),
        ("score", ["1", "2", "3"], "a.parquet: column 'score' holds string; a score is a number"),
        ("query", [1.0, 2.0, 3.0], "a.parquet: column 'query' holds double; ids are whole numbers or strings"),
        ("query", ["a", None, "b"], "a.parquet:2: query is null"),
        ("item", [None, None, None], "a.parquet:1: item is null"),
        ("item", [b"a", b"\xff", b"b"], "a.parquet: cannot be read as Parquet: Invalid UTF8 payload"),
    ],
)
def test_bad_parquet(tmp_path: Path, column: str, values: list[Any], said: str) -> None:
    found = {"query": ["a", "b", "c"], "item": ["x", "y", "z"], "score": [1.0, 2.0, 3.0], column: values}
    pq.write_table(pa.table(found), tmp_path / "a.parquet")
    assert problem(read_run, tmp_path / "a.parquet") == said


def test_parquet_grades_must_be_finite_and_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"query": [1, 1], "item": [1, 2], "grade": [1.0, float("inf")]}), path)
    assert problem(read_truth, path) == "a.parquet:2: grade inf is not finite"
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert problem(read_truth, path).startswith("a.parquet: cannot be read as Parquet: ")
    pq.write_table(pa.table({"query": [1], "item": [1]}).slice(1), path)
    assert problem(read_truth, path) == "a.parquet: has no rows"


# -- LETOR -----------------------------------------------------------------------------------------------------

LETOR = "2 qid:10 1:0.5 2:1 #docid = GX1\n0 qid:10 1:0.1 #docid = GX2 inc = 1\n1 qid:7 2:3\t#docid=GX3\n"


def test_letor_with_queries_and_documents(file: Any) -> None:
    path = file("x.txt", LETOR)
    assert rows(read_truth(path)) == [(10, "GX1", 2.0), (10, "GX2", 0.0), (7, "GX3", 1.0)]
    file("x.txt.scores", "0.5\n-1\n\n1e3")
    assert rows(read_run(f"{path}.scores")) == [(10, "GX1", 0.5), (10, "GX2", -1.0), (7, "GX3", 1000.0)]


def test_letor_rows_without_documents_are_numbered(file: Any) -> None:
    path = file("x.letor", "# features\n" + LETOR.replace("#docid = GX1", ""))
    assert rows(read_truth(path)) == [(10, 1, 2.0), (10, 2, 0.0), (7, 3, 1.0)]
    scores = file("model.out", "1\n2\n3\n")
    assert rows(read_run(scores, features=path)) == [(10, 1, 1.0), (10, 2, 2.0), (7, 3, 3.0)]


def test_groups_beside_the_rows(file: Any) -> None:
    path = file("x.test", "2 1:0.5\n0 1:0.1 2:4\n1 2:3\n")
    assert problem(read_truth, path).startswith(
        "x.test:1: has no qid, and there is no file of group sizes next to it: "
    )
    group = file("x.test.query", "1\n0\n2\n")
    assert rows(read_truth(path)) == [(1, 1, 2.0), (3, 2, 0.0), (3, 3, 1.0)]
    file("x.test.query", "1\n1\n")
    with pytest.raises(FileError, match=r"the groups have 2 rows together, but .*x.test has 3") as caught:
        read_truth(path)
    assert caught.value.path == str(group)
    file("x.test.query", "1\ntwo\n")
    with pytest.raises(FileError, match=r"x.test.query:2: group size 'two' is not a whole number"):
        read_truth(path)


def test_bad_letor_and_scores(file: Any) -> None:
    path = file("x.txt", LETOR + "3 1:4\n")
    assert problem(read_truth, path) == "x.txt:4: expected 'grade qid:query feature:value ...', found no qid"
    path = file("x.txt", LETOR + "high qid:7 1:4\n")
    assert problem(read_truth, path) == "x.txt:4: grade 'high' is not a number"
    path = file("x.txt", LETOR)
    assert "is a truth (LETOR), not a run" in problem(read_run, path)
    scores = file("x.txt.scores", "1\n2\n")
    assert problem(read_run, scores) == "x.txt.scores: has 2 scores, but x.txt has 3 rows"
    scores = file("x.txt.scores", "1\n2\nx\n")
    assert problem(read_run, scores) == "x.txt.scores:3: score 'x' is not a number"
    lonely = file("y.scores", "1\n")
    assert "pass features=" in problem(read_run, lonely)


# -- formats, compression, standard input ----------------------------------------------------------------------

SAME = {"csv": CSV_RUN, "tsv": CSV_RUN.replace(",", "\t"), "jsonl": JSON_RUN, "trec": TREC_RUN}


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


@pytest.mark.parametrize("form", SAME)
@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd)]
)
def test_compressed(file: Any, form: str, suffix: str, compress: Any) -> None:
    data = compress(SAME[form].encode())
    assert rows(read_run(file(f"a.{form}.{suffix}", data))) == RUN
    assert "cannot be decompressed as" in problem(read_run, file(f"b.{form}.{suffix}", data[:-5]))
    assert problem(read_run, file(f"c.{form}.{suffix}", compress(b""))) == f"c.{form}.{suffix}: is empty"


@pytest.mark.parametrize("form", SAME)
def test_format_detected_by_the_first_lines(file: Any, form: str) -> None:
    assert rows(read_run(file("a.txt", SAME[form]))) == RUN
    assert rows(read_run(file("noname", "\n" + SAME[form]))) == RUN
    assert rows(read_run(file("a.data", SAME[form]), format=form)) == RUN


def test_parquet_is_detected_by_its_first_bytes(tmp_path: Path) -> None:
    pq.write_table(table(RUN, "score"), tmp_path / "noname")
    assert rows(read_run(tmp_path / "noname")) == RUN
    (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "noname").read_bytes()))
    assert rows(read_run(tmp_path / "a.gz")) == RUN


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (TREC_RUN.encode(), gzip.compress(CSV_RUN.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert rows(read_run("-")) == RUN
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q 0 d 1\nq 0 d\n")))
    with pytest.raises(FileError, match="standard input:2: expected 4 fields"):
        read_truth("-")


def test_qrels_with_tabs_are_trec_but_other_tables_of_four_are_not_guessed(file: Any) -> None:
    assert rows(read_truth(file("dev.tsv", "1\t0\t22\t1\n"))) == [("1", "22", 1.0)]
    ratings = file("u.data", "196\t242\t3\t881250949\n")
    assert "expected 3 columns (query item grade) or 2" in problem(read_truth, ratings)
    assert rows(read_truth(ratings, columns={"query": 0, "item": 1, "grade": 2})) == [(196, 242, 3.0)]


@pytest.mark.parametrize("second", ["Q0", "0", "1", "Exp", "q0", "run"])
@pytest.mark.parametrize("name", ["input.bm25", "run", "a.tsv"])
def test_any_second_field_of_a_run(file: Any, second: str, name: str) -> None:
    """trec_eval does not read it. `.tsv` is what some call a run with tabs."""
    text = TREC_RUN.replace("Q0", second)
    assert rows(read_run(file(name, text.replace(" ", "\t") if name.endswith("tsv") else text))) == RUN


@pytest.mark.parametrize("grade", ["1", "0x1"])
def test_a_second_field_that_is_no_text(tmp_path: Path, grade: str) -> None:
    """It matters to those who ask for it, whichever way the file is read."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_bytes(b"q \xff d 1\nq 1 e 1\nq 1 f " + grade.encode() + b"\n")
    run.write_text("q Q0 d 1 3.5 t\n")
    truth = rs.read_truth(qrels, on_error="skip")
    assert rs.evaluate(truth, run, "rr")["rr"] == 1
    with pytest.raises(rs.errors.FileError, match=r"qrels.txt.*subtopic.* is not valid UTF-8"):
        rs.evaluate(truth, run, "alpha_ndcg@5")


def test_qrels_with_any_iteration(file: Any) -> None:
    assert rows(read_truth(file("judgments", "q1 3 d1 1\nq1 4 d2 0\nq2 x d1 2\n"))) == TRUTH


def test_positions_are_of_a_table(file: Any) -> None:
    path = file("a.tsv", "9\tq1\td2\t1\t3.5\tx\n")
    assert rows(read_run(path)) == [("9", "d2", 3.5)]
    assert rows(read_run(path, columns={"query": 1, "item": 2, "score": 4})) == [("q1", "d2", 3.5)]


def test_fields_between_two_colons(file: Any) -> None:
    """MovieLens 1M: `UserID::MovieID::Rating::Timestamp`."""
    path = file("ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n")
    assert problem(read_truth, path) == (
        "ratings.dat:1: expected 3 columns (query item grade) or 2 in a file without a header line, found 4; "
        "pass columns={'query': 0, 'item': 1, 'grade': 2}"
    )
    columns = {"query": 0, "item": 1, "grade": 2}
    assert rows(read_truth(path, columns=columns)) == [(1, 1193, 5.0), (1, 661, 3.0)]
    bad = file("ratings.dat", "1::1193::5::978300760\n1::661::x::978302109\n")
    assert problem(read_truth, bad, columns=columns) == "ratings.dat:2: grade 'x' is not a number"


def test_a_format_that_cannot_be_detected(file: Any) -> None:
    said = problem(read_run, file("notes.txt", "hello world\n"))
    assert said == (
        "notes.txt: unknown format: neither the extension nor the first line 'hello world' determines it; "
        "pass format=, one of " + ", ".join(FORMATS)
    )
    with pytest.raises(ValueError, match="unknown format 'xls'; choose from trec, csv"):
        read_run("a", format="xls")
    with pytest.raises(ValueError, match="unknown on_error 'ignore'; choose from stop, skip"):
        read_run("a", on_error="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.run", "a.txt", "a.parquet", "a.letor", "a"])
def test_empty_files(file: Any, name: str) -> None:
    for read in (read_truth, read_run):
        assert problem(read, file(name, "")) == f"{name}: is empty"
    if not name.endswith("parquet"):
        for blank in ("\n\n", "\ufeff"):
            assert "has no rows" in problem(read_truth, file(name, blank))


def test_only_comments_are_no_rows(file: Any) -> None:
    assert problem(read_truth, file("a.qrels", "# nothing\n# here\n")) == "a.qrels: has no rows"


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_run(tmp_path / "none.csv")


def test_columns_are_checked(file: Any) -> None:
    path = file("a.csv", CSV_RUN)
    assert "the run has no column 'x'; it has 'query', 'item', 'score'" in problem(
        read_run, path, columns={"query": "x"}
    )
    with pytest.raises(ValueError, match="columns= names 'grade'; the roles are query, item, score, rank"):
        read_run(path, columns={"grade": "score"})
    with pytest.raises(ValueError, match="columns mixes names and positions"):
        read_run(path, columns={"query": 0, "item": "item"})
    with pytest.raises(ValueError, match=r"columns= goes with csv, tsv, dat, jsonl and parquet; .* is trec"):
        read_run(file("a.run", TREC_RUN), columns={"query": "q"})
    assert "no position 5 for the item" in problem(read_run, path, columns={"query": 0, "item": 5})


def test_no_such_column(file: Any) -> None:
    """None is an answer too: the ratings are not grades, the scores do not order the rows."""
    path = file("a.csv", "user,item,rating\n1,7,3\n")
    assert rows(read_truth(path)) == [(1, 7, 3.0)]
    assert rows(read_truth(path, columns={"grade": None})) == [(1, 7, None)]
    assert rows(read_truth(file("b.csv", "1,7,3\n"), columns={"grade": None})) == [(1, 7, None)]
    assert rows(read_truth(path, columns={"query": "user", "item": "item", "grade": None})) == [(1, 7, None)]
    two = file("c.csv", "query,item,score,rank\nq,d,0.5,3\n")
    assert rows(read_run(two, columns={"score": None})) == [("q", "d", -3.0)]
    assert rows(read_run(two, columns={"score": None, "rank": None})) == [("q", "d", None)]


def test_a_truth_has_no_scores(file: Any) -> None:
    """BEIR's qrels call the grade a score."""
    path = file("test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td9\t0\n")
    assert rows(read_truth(path)) == [(1, "d1", 2.0), (1, "d9", 0.0)]
    assert read_truth(path).score is None
    assert read_run(path).grade is None
    line = '{"query-id": "1", "corpus-id": "d1", "score": 2}\n'
    assert rows(read_truth(file("qrels.jsonl", line))) == [("1", "d1", 2.0)]


def test_unknown_columns_of_numbers(file: Any) -> None:
    """Not in ranked order without a word."""
    said = problem(read_run, file("a.csv", "query,item,bm25\nq,d,0.5\nq,e,0.75\n"))
    assert said.startswith("a.csv:1: the run has no score column, and 'bm25' could be it; name it: columns={'score': ")
    assert "'bm25' could be it" in problem(read_run, file("a.jsonl", '{"query":"q","item":"d","bm25":0.5}\n'))
    pq.write_table(pa.table({"query": ["q"], "item": ["d"], "bm25": [0.5]}), file("a.parquet", ""))
    assert "'bm25' could be it" in problem(read_run, file("a.csv", "").parent / "a.parquet")
    assert rows(read_run(file("a.csv", "query,item,year\nq,d,1999\n"))) == [("q", "d", None)]


# -- scores or ranks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("1\td1\t1\n1\td9\t2\n2\td3\t1\n", True),  # as MS MARCO has it
        ("1\td1\t0\n1\td9\t1\n2\td3\t0\n", True),
        ("2\td3\t1\n1\td1\t1\n1\td9\t2\n", True),
        ("1\td1\t1\n2\td3\t1\n1\td9\t2\n2\td4\t2\n", True),
        ("1\td1\t2\n1\td9\t1\n2\td3\t1\n", False),  # best first
        ("1\td1\t0.5\n1\td9\t1.5\n", False),
        ("1\td1\t1\n1\td9\t1\n2\td3\t1\n2\td4\t2\n", False),
        ("1\td1\t1\n2\td9\t1\n", False),  # the same either way
        ("1\td1\t3\n2\td9\tinf\n", False),
    ],
)
def test_a_third_column_that_counts_is_a_rank(file: Any, text: str, ranks: bool) -> None:
    path = file("run.tsv", text)
    read = read_run(path)
    given = [float(line.split("\t")[2]) for line in text.splitlines()]
    assert np.asarray(read.score).tolist() == [-value if ranks else value for value in given]
    said = (f"{path}: the third column counts 1, 2, 3 in each query: read as ranks",) if ranks else ()
    assert read.notes == said
    truth = {1: {"d1": 1}}
    assert set(said) <= set(rs.evaluate(truth, path, "rr").notes)
    named = {"query": 0, "item": 1, "score": 2}
    assert np.asarray(read_run(path, columns=named).score).tolist() == given


def test_a_count_that_breaks_off_is_not_guessed(file: Any) -> None:
    said = problem(read_run, file("run.tsv", "1\td1\t1\n1\td9\t2\n2\td3\t7\n"))
    assert said == (
        "run.tsv: its third column counts 1, 2, 3 as ranks do, but is 7 for query 2, item 'd3'; "
        "pass columns={'query': 0, 'item': 1, 'rank': 2}, or 'score': 2"
    )


@pytest.mark.parametrize("size", [6, 7, 20, 1000])
def test_scores_or_ranks_in_batches(file: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first piece decides, and the others must agree."""
    monkeypatch.setattr(text_files, "BATCH_BYTES", size)
    truth = {query: {"d2": 1} for query in range(1, 5)}
    text = "".join(f"{query}\td{rank}\t{rank}\n" for query in range(1, 5) for rank in range(1, 4))
    path = file("run.tsv", text)
    said = f"{path}: the third column counts 1, 2, 3 in each query: read as ranks"
    if size < 14:  # one row: neither
        with pytest.raises(FileError, match="its third column is a score or a rank; pass columns="):
            evaluate_file(truth, path, "rr")
        return
    result = evaluate_file(truth, path, "rr")
    assert (result["rr"], result.notes[-1]) == (1 / 2, said)
    for bad in ("5\td1\t1\n5\td2\t9\n", "5\td1\t0.5\n"):
        with pytest.raises(FileError, match="its third column counts 1, 2, 3 as ranks do, but is"):
            evaluate_file(truth, file("run.tsv", text + bad), "rr")
    scores = file("run.tsv", text.replace("\t1\n", "\t9\n"))
    assert evaluate_file(truth, scores, "rr")["rr"] == 1 / 3


# -- two sides -------------------------------------------------------------------------------------------------


def test_roles_for_both_sides_are_for_those_that_have_columns(file: Any) -> None:
    truth = file("gold.csv", "question,chunk\nq1,d1\nq2,d3\n")
    run = file("a.run", TREC_RUN)
    roles = {"query": "question", "item": "chunk"}
    assert rs.evaluate(truth, run, "rr", columns=roles)["rr"] == (1 / 2 + 1) / 2
    assert evaluate_file(truth, run, "rr", columns=roles)["rr"] == (1 / 2 + 1) / 2
    nested = file("run.json", '{"q1": ["d2", "d1"], "q2": ["d3"]}')
    assert rs.evaluate(truth, nested, "rr", columns=roles)["rr"] == (1 / 2 + 1) / 2
    qrels = file("qrels.txt", TREC_TRUTH)
    for judged, columns in ((qrels, roles), (truth, {"truth": roles, "run": roles})):
        with pytest.raises(ValueError, match=r"columns= goes with csv, .* is trec"):
            rs.evaluate(judged, run, "rr", columns=columns)
        with pytest.raises(ValueError, match=r"columns= goes with csv, .* is trec"):
            evaluate_file(judged, run, "rr", columns=columns)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda values: np.array(values, np.float32)])
def test_scores_for_the_rows_of_a_file(file: Any, kind: Any) -> None:
    path = file("test.svm", "1 qid:1 1:0.5\n0 qid:1 1:0.25\n1 qid:2 1:1\n")
    scores = kind([0.25, 0.5, 0.125])
    assert rs.evaluate(path, scores, "rr").per_query["rr"].tolist() == [1 / 2, 1]
    with pytest.raises(ValueError, match=r"there are 2 scores, but .*test.svm has 3 rows"):
        rs.evaluate(path, scores[:2], "rr")


# -- bad lines left out ----------------------------------------------------------------------------------------

BAD = {
    "a.run": (TREC_RUN + "q\nq Q0 d 1 x t\n" + TREC_RUN.replace("q", "r"), [4, 5]),
    "a.csv": (CSV_RUN + "q\nq,d,x\n" + CSV_RUN.partition("\n")[2].replace("q", "r"), [5, 6]),
    "b.csv": (CSV_RUN + '"q\nq,d,x\n' + CSV_RUN.partition("\n")[2].replace("q", "r"), [5, 6]),
    "a.jsonl": (
        JSON_RUN + '{\n{"query":"q","item":"d"}\n' + JSON_RUN.replace('"q1', '"r1').replace('"q2', '"r2'),
        [4, 5],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_skipped_lines_are_counted_and_no_other_is_lost(file: Any, name: str) -> None:
    text, bad = BAD[name]
    path = file(name, text)
    read = read_run(path, on_error="skip")
    assert rows(read) == RUN + [(query.replace("q", "r"), item, score) for query, item, score in RUN]
    assert read.skipped == 2
    assert [one.line for one in read.bad_lines] == bad
    header = name.endswith("csv")
    assert len(read.query) + read.skipped + header == text.count("\n")
    with pytest.raises(FileError) as caught:
        read_run(path)
    assert (caught.value.line, caught.value.problem) == read.bad_lines[0]


def test_skipped_rows_of_parquet(tmp_path: Path) -> None:
    score = [1.0, None, float("nan"), 4.0, float("-inf")]
    pq.write_table(
        pa.table({"query": [1, 1, 1, None, 1], "item": [1, 2, 3, 4, 5], "score": score}), tmp_path / "a.parquet"
    )
    read = read_run(tmp_path / "a.parquet", on_error="skip")
    assert rows(read) == [(1, 1, 1.0), (1, 5, -np.inf)]
    assert [tuple(one) for one in read.bad_lines] == [
        (2, "score is null"), (3, "score nan is not a number"), (4, "query is null"),
    ]  # fmt: skip


def test_skipped_letor_rows_keep_the_scores_in_step(file: Any) -> None:
    path = file("x.txt", "x qid:1 1:1\n1 qid:1 1:1\n0 qid:1 1:1\n")
    scores = file("x.txt.scores", "5\nbad\n7\n")
    truth, run = read_truth(path, on_error="skip"), read_run(scores, on_error="skip")
    assert rows(truth) == [(1, 2, 1.0), (1, 3, 0.0)]
    assert rows(run) == [(1, 3, 7.0)]
    assert [one.line for one in run.bad_lines] == [1, 2]
    assert "where grade 'x' is not a number" in problem(read_run, scores)


def test_only_the_first_hundred_bad_lines_are_kept(file: Any) -> None:
    read = read_run(file("a.run", "q\n" * 250 + TREC_RUN), on_error="skip")
    assert (read.skipped, len(read.bad_lines), read.bad_lines[-1].line) == (250, 100, 100)


def test_nothing_left_is_an_error(file: Any) -> None:
    said = problem(read_run, file("a.run", "q\nq\n"), on_error="skip")
    assert said == "a.run:1: none of the 2 rows can be read; expected 6 fields (query Q0 item rank score tag), found 1"


# -- ids of two files ------------------------------------------------------------------------------------------


def test_numbers_in_one_file_and_strings_in_the_other_can_be_compared(file: Any) -> None:
    truth = read_truth(file("t.csv", "query,item\n1,2\n"))
    run = read_run(file("r.run", "1 Q0 2 1 1 t\n"))
    judged, ranked = same_ids(truth, run)
    assert rows(judged) == [("1", "2", None)]
    assert rows(ranked) == [("1", "2", 1.0)]
    assert same_ids(truth, truth) == (truth, truth)


def test_strings_of_more_than_two_gigabytes_fit(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankstone.data.arrow._TEXT_LIMIT", 10)
    monkeypatch.setattr("rankstone.data.delimited._BLOCK", 1 << 12)
    text = "query,item,score\n" + "".join(f"q{i},d{i},{i}\n" for i in range(2000))
    read = read_run(file("a.csv", text))
    assert read.query.type == pa.large_string()
    assert rows(read)[-1] == ("q1999", "d1999", 1999.0)


@pytest.mark.parametrize("name", ["a.csv", "a.run", "a.jsonl", "a.json"])
def test_one_error_is_raised_once(file: Any, name: str) -> None:
    """And not how many ways of reading were tried."""
    text = {"a.csv": CSV_RUN + "q\n", "a.run": TREC_RUN + "q\n", "a.jsonl": JSON_RUN + "{\n", "a.json": '{"q": 1}'}
    with pytest.raises(FileError) as caught:
        read_run(file(name, text[name]))
    assert "another exception" not in "".join(traceback.format_exception(caught.value))


def test_errors_can_be_sent_to_another_process():
    for error in (FileError("a.csv", "is bad", 3), FileError("a.csv", "is bad"), NoRowsError("a.csv")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), again.path, again.problem, again.line) == (
            str(error), error.path, error.problem, error.line,
        )  # fmt: skip


def test_a_brace_does_not_make_it_json(file: Any) -> None:
    assert read_run(file("a.run", "{ Q0 d 1 0.5 tag\n")).query.to_pylist() == ["{"]
