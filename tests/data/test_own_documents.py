"""`exclude="self"`: the query's own document leaves its list, in every form of data; a note where it leads."""

from pathlib import Path

import pyarrow as pa
import pytest

import rankstone as rs

NAMES = [f"d{n}" for n in range(12)]
TRUTH = {name: [f"d{(n + 1) % 12}"] for n, name in enumerate(NAMES)}
LISTS = {name: [name, "x", f"d{(n + 1) % 12}"] for n, name in enumerate(NAMES)}
NOTE = "the item with the query's id leads 12 of 12 lists: exclude='self' removes it"


def table(column, values):
    rows = [(query, item) for query, items in values.items() for item in items]
    numbers = [float(-n) for n in range(len(rows))] if column == "score" else [1.0] * len(rows)
    return pa.table({"query": [row[0] for row in rows], "item": [row[1] for row in rows], column: numbers})


@pytest.fixture(params=["lists", "dicts", "tables", "list columns", "files"])
def sides(request, tmp_path):
    scored = {query: {item: float(-at) for at, item in enumerate(items)} for query, items in LISTS.items()}
    rs.write_truth(TRUTH, tmp_path / "a.qrels", format="trec")
    rs.write_run(LISTS, tmp_path / "a.run", format="trec")
    return {
        "lists": (TRUTH, LISTS),
        "dicts": (TRUTH, scored),
        "tables": (table("grade", TRUTH), table("score", LISTS)),
        "list columns": tuple(rs.lists(list(side.values()), query=list(side)) for side in (TRUTH, LISTS)),
        "files": (tmp_path / "a.qrels", tmp_path / "a.run"),
    }[request.param]


def test_the_querys_own_document_leaves(sides):
    result = rs.evaluate(*sides, "rr")
    assert result["rr"] == pytest.approx(1 / 3)
    assert (NOTE in result.notes) == isinstance(sides[0], (dict, Path))
    result = rs.evaluate(*sides, "rr", exclude="self")
    assert result["rr"] == pytest.approx(1 / 2)
    assert "12 items removed from the lists (exclude)" in " ".join(result.notes).replace("training ", "")
    assert NOTE not in result.notes


def test_no_note_where_few_lead():
    lists = {**LISTS, **{f"q{n}": ["x", f"d{n}"] for n in range(200)}}
    assert not any("query's id" in note for note in rs.evaluate(TRUTH, lists, "rr").notes)
    few = {name: LISTS[name] for name in NAMES[:9]}
    assert not any("query's id" in note for note in rs.evaluate({name: TRUTH[name] for name in few}, few, "rr").notes)


def test_ids_of_another_type():
    assert rs.evaluate({1: ["2"]}, {1: ["1", "2"]}, "rr", exclude="self")["rr"] == 1.0


def test_lists_without_queries():
    with pytest.raises(ValueError, match="needs queries with ids"):
        rs.evaluate(rs.lists([["a"]]), rs.lists([["a"]]), "rr", exclude="self")
