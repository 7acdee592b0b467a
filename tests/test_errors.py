"""Errors that name arguments: the same text for a reader of Python, and options for a reader of the command."""

import pickle

import pytest

from rankstone.errors import Advice, FileError, Hint


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Hint("by"), "by="),
        (Hint("ties", "input"), "ties='input'"),
        (Hint("digits", None), "digits=None"),
        (Hint("columns", {"query": 0, "item": ..., ...: ...}), "columns={'query': 0, 'item': ..., ...}"),
    ],
)
def test_a_hint_is_written_as_an_argument(hint, text):
    assert str(hint) == text


def test_advice_is_a_text_whose_hints_can_be_written_otherwise():
    advice = Advice("query 'by=x': ", Advice("give ", Hint("by"), " or "), Hint("by", "y"))
    assert advice == "query 'by=x': give by= or by='y'"
    assert advice.spelled(lambda hint: f"--{hint.name}") == "query 'by=x': give --by or --by"


@pytest.mark.parametrize("make", [ValueError, lambda text: FileError("a.csv", text, 3)])
def test_errors_hand_it_on(make):
    error = make(Advice("give ", Hint("by")))
    for same in (error, pickle.loads(pickle.dumps(error))):
        text = str(same)
        assert text.endswith("give by=")
        assert text.spelled(lambda hint: "--by").endswith("give --by")
