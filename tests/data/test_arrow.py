"""Arrow columns, however they are stored, are the same column."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.data import arrow

WORDS = [f"{letter}{number}" for letter in "ab" for number in range(100)]


def in_two(words: list[str], kind: Any) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(words[:100], kind), pa.array(words[100:], kind)])


def test_texts_of_more_than_two_gigabytes_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Arrow string column ends at 2 GiB; its chunks together need not."""
    column, lists = in_two(WORDS, pa.string()), pa.chunked_array([[["a", "b"]], [["c"]]], pa.list_(pa.string()))
    assert arrow.one_piece(column).type == pa.string()
    monkeypatch.setattr(arrow, "_TEXT_LIMIT", 10)
    assert arrow.one_piece(column).type == pa.large_string()
    assert arrow.one_piece(lists).type == pa.large_list(pa.large_string())
    assert arrow.one_piece(column).to_pylist() == WORDS
    query = ["q"] * len(WORDS)
    truth, run = rs.columns(query=query, item=column), rs.columns(query=query, item=column, score=np.arange(200.0))
    assert rs.evaluate(truth, run, "ap")["ap"] == 1
    assert rs.evaluate(rs.lists(lists), rs.lists(lists), "recall")["recall"] == 1


def test_chunks_whose_dictionaries_do_not_fit_in_one() -> None:
    """Indices of 8 bits count to 127, and the two dictionaries have 200 words."""
    kind = pa.dictionary(pa.int8(), pa.string())
    assert arrow.one_piece(in_two(WORDS, kind)).to_pylist() == WORDS
    same = pa.chunked_array([pa.array(WORDS[:3], kind)] * 2)
    assert arrow.one_piece(same).type == kind
    assert arrow.one_piece(same).to_pylist() == WORDS[:3] * 2


STORED = {
    "string": lambda words: pa.array(words),
    "large": lambda words: pa.array(words, pa.large_string()),
    "view": lambda words: pa.array(words, pa.string_view()),
    "dictionary": lambda words: pa.array(words).dictionary_encode(),
    "dictionary of views": lambda words: pa.DictionaryArray.from_arrays(
        pa.array(range(len(words))), pa.array(words, pa.string_view())
    ),
    "sliced": lambda words: pa.array(["x", *words])[1:],
}


@pytest.mark.parametrize("name", STORED)
def test_the_same_whatever_it_is_stored_as(name: str) -> None:
    column = STORED[name](["b", None, "a"])
    assert arrow.plain(column).equals(pa.array(["b", None, "a"], pa.large_string()))
    assert arrow.as_text(column).to_pylist() == ["b", None, "a"]
    assert not arrow.is_whole(column)
    assert arrow.plain_ids(column) == ["b", None, "a"]
    assert arrow.plain_ids(column, np.array([2, 0])) == ["a", "b"]


def test_whole_numbers_as_text() -> None:
    for column in (np.array([7, 12]), pa.array([7, 12]), pa.array([7, 12]).dictionary_encode()):
        assert arrow.is_whole(column)
        assert arrow.as_text(column).to_pylist() == ["7", "12"]
        assert arrow.plain_ids(column, [1]) == [12]


def test_nothing_in_one_piece() -> None:
    for kind in (pa.int64(), pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert arrow.one_piece(pa.chunked_array([], kind)).equals(pa.array([], kind))
