"""Chunks that count as their documents, worked by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankstone as rs

PARENT = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c1": "c", "d1": "d"}
# By chunk: c1, a1, a2, b1, d1; by document: c, a, b, d. Relevant are a, with its best chunk's grade, and d.
TRUTH = {"q": {"a1": 1, "a2": 3, "d1": 1}, "r": {"b1": 1}}
RUN = {"q": {"a2": 0.7, "c1": 0.9, "a1": 0.8, "b1": 0.6, "d1": 0.5}, "r": {"b2": 0.4, "b1": 0.3, "a1": 0.2}}
DOCUMENTS = {"q": {"a": 3, "d": 1}, "r": {"b": 1}}
AP = ((1 / 2 + 2 / 4) / 2 + 1 / 1) / 2
GAIN = (3 / np.log2(3) + 1 / np.log2(5) + 1) / 2


def rows(side, value):
    found = [(query, item, number) for query, items in side.items() for item, number in items.items()]
    return pd.DataFrame(found, columns=["query", "chunk_id", value])


def columns(side, value):
    frame = rows(side, value)
    return rs.columns(query=list(frame["query"]), item=list(frame["chunk_id"]), **{value: list(frame[value])})


def lists(side, value):
    items, values = [list(items) for items in side.values()], [list(items.values()) for items in side.values()]
    return rs.lists(items, **{value: values}, query=list(side))


FORMS = {"dict": lambda side, value: side, "frame": rows, "columns": columns,
         "lists": lambda side, value: lists(side, f"{value}s")}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("truth", [TRUTH, DOCUMENTS], ids=["chunks", "documents"])
def test_a_document_counts_once_where_its_best_chunk_stands(form, truth):
    found = rs.evaluate(FORMS[form](truth, "grade"), FORMS[form](RUN, "score"), ["ap", "dcg", "num_ret"], parent=PARENT)
    assert found["ap"] == pytest.approx(AP)
    assert found["dcg"] == pytest.approx(GAIN)
    assert found["num_ret"] == 4 + 2
    assert "2 returned chunks left out, below another of the same document (parent)" in repr(found)


def test_lists_in_ranked_order():
    truth, run = {"q": ["a", "d"]}, {"q": ["c1", "a1", "a2", "b1", "d1"]}
    assert rs.evaluate(truth, run, "ap", parent=PARENT)["ap"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    found = rs.evaluate(rs.lists([["a", "d"]]), rs.lists([["c1", "a1", "a2", "b1", "d1"]]), "ap", parent=PARENT)
    assert found["ap"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert rs.evaluate({"q": {"a", "d"}}, run, "ap", parent=PARENT)["ap"] == pytest.approx((1 / 2 + 2 / 4) / 2)


@pytest.mark.parametrize("form", ["function", "get", "pandas", "polars", "arrow", "csv", "tsv", "no header", "parquet"])
def test_ways_to_say_it(form, tmp_path):
    table = pd.DataFrame({"chunk": list(PARENT), "document": list(PARENT.values())})
    if form in ("csv", "tsv", "no header"):
        mark = "\t" if form == "tsv" else ","
        table.to_csv(tmp_path / "parents", sep=mark, index=False, header=form != "no header")
    elif form == "parquet":
        table.to_parquet(tmp_path / "parents.parquet")
    parent = {
        "function": lambda chunk: chunk[0], "get": PARENT.__getitem__, "pandas": table, "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table), "parquet": tmp_path / "parents.parquet",
    }.get(form, tmp_path / "parents")  # fmt: skip
    for truth in (TRUTH, DOCUMENTS):
        assert rs.evaluate(truth, RUN, "ap", parent=parent)["ap"] == pytest.approx(AP)


def test_a_separator():
    """The last one counts, and a document of the truth has none."""
    run = {"q": ["x#1#7", "y#2", "x#1#8", "z#1"]}
    assert rs.evaluate({"q": ["z", "x#1#9"]}, run, "ap", parent="#")["ap"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    with pytest.raises(rs.errors.DataError, match=r"query 'q': 1 items of the run have no document .*: 'y'") as error:
        rs.evaluate({"q": ["x"]}, {"q": ["x#1", "y"]}, "ap", parent="#")
    assert (error.value.side, error.value.query, error.value.item) == ("run", "q", "y")


def test_files(tmp_path):
    (tmp_path / "truth.qrels").write_text("1 0 7 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 71 1 0.9 x\n1 Q0 61 2 0.8 x\n1 Q0 62 3 0.7 x\n1 Q0 72 4 0.6 x\n")
    (tmp_path / "parents.tsv").write_text("chunk\tdoc\n71\t6\n61\t5\n62\t7\n72\t7\n")
    found = rs.evaluate(tmp_path / "truth.qrels", tmp_path / "run.txt", "rr", parent=tmp_path / "parents.tsv")
    assert found["rr"] == 1 / 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", ["truth", "run"])
def test_chunks_without_a_document_are_named(form, side):
    known = {chunk: document for chunk, document in PARENT.items() if chunk != "d1"}
    given = {"truth": FORMS[form](TRUTH if side == "truth" else DOCUMENTS, "grade"), "run": FORMS[form](RUN, "score")}
    if side == "truth":
        given["run"] = FORMS[form]({"q": {"a1": 1.0}, "r": {"b1": 1.0}}, "score")
    with pytest.raises(rs.errors.DataError, match=rf"query 'q': 1 items of the {side} have no document .*: 'd1'"):
        rs.evaluate(**given, metrics="ap", parent=known)


def test_an_id_that_means_two_things():
    """3 is a document, and a chunk of another."""
    with pytest.raises(rs.errors.DataError, match="item 3 of the truth is a document, and also a chunk of 1"):
        rs.evaluate({"q": [3]}, {"q": [5]}, "ap", parent={3: 1, 5: 3})


def test_a_chunk_of_two_documents():
    with pytest.raises(rs.errors.DataError, match="chunk 'a1' has two documents: 'a' and 'b'"):
        rs.evaluate(TRUTH, RUN, "ap", parent=pd.DataFrame({"chunk": ["a1", "a1"], "doc": ["a", "b"]}))


def test_what_it_does_not_go_with():
    with pytest.raises(TypeError, match="parent= goes with items that have ids"):
        rs.evaluate(np.ones((1, 2)), np.ones((1, 2)), "ap", parent=PARENT)
    with pytest.raises(TypeError, match="parent=7 does not map chunks to documents"):
        rs.evaluate(TRUTH, RUN, "ap", parent=7)
    with pytest.raises(ValueError, match="the parent has no document column among 'chunk', 'where'"):
        rs.evaluate(TRUTH, RUN, "ap", parent=pd.DataFrame({"chunk": ["a1"], "where": ["a"]}))


def test_compared_runs():
    found = rs.compare(TRUTH, {"one": RUN, "other": {"q": ["a1"], "r": ["b1"]}}, "ap", parent=PARENT)
    assert found["other", "ap"].difference == pytest.approx((1 / 2 + 1) / 2 - AP)
