"""A mistake is told in one traceback, and not in those of all that was tried before."""

import traceback

import pandas as pd
import pytest

import rankstone as rs

TRUTH = {"q": {"a": 1}}
FILES = {
    "a.csv": "query,item,score\nq,a,x\n",
    "b.csv": "one,two\n1,2\n",
    "c.csv": "query,item,score\n",
    "a.tsv": "query\titem\tscore\nq\ta\t\n",
    "a.jsonl": '{"query": "q", "item": "a", "score": "x"}\n',
    "b.jsonl": '{"query": "q", "item": {"a": {}}}\n',
    "c.jsonl": '{"query": "q"\n',
    "a.run": "q Q0 a 1 x t\n",
    "b.run": "q Q0 a 1\n",
    "a.json": '{"q": {"a": "x"}}',
    "a": "odd\n",
}
CALLS = {
    "metric": lambda: rs.evaluate(TRUTH, TRUTH, "foo"),
    "parameter": lambda: rs.evaluate(TRUTH, TRUTH, "ap(foo=1)"),
    "convention": lambda: rs.evaluate(TRUTH, TRUTH, "ap", convention="foo"),
    "number": lambda: rs.evaluate(TRUTH, {"q": {"a": "x"}}, "ap"),
    "column": lambda: rs.evaluate(TRUTH, pd.DataFrame({"foo": ["q"]}), "ap"),
    "twice": lambda: rs.evaluate(TRUTH, {"q": ["a", "a"]}, ["ap", "ap(duplicates='first')@3"]),
    "result": lambda: rs.evaluate(TRUTH, TRUTH, "ap")["rr"],
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    with pytest.raises(ValueError, match=name) as caught:
        rs.evaluate(TRUTH, tmp_path / name, "rr")
    assert told(caught.value).count("Traceback") == 1


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    with pytest.raises((ValueError, KeyError)) as caught:
        CALLS[name]()
    assert told(caught.value).count("Traceback") == 1


def told(error):
    return "".join(traceback.format_exception(error))
