"""Errors that name arguments: the same text for a reader of Python, and options for a reader of the command."""

import ast
import contextlib
import gc
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.cli.options import UsageError
from rankstone.data.lines import FileData
from rankstone.data.roles import NoColumnError
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


def test_all_errors_have_one_base():
    """They are ValueErrors or TypeErrors, too, as before."""
    classes = [each for each in vars(rs.errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    ours = [each for each in classes if not issubclass(each, Warning)]
    assert rs.errors.RankstoneError in ours
    assert all(issubclass(each, rs.errors.RankstoneError) for each in ours)
    assert all(issubclass(each, (ValueError, TypeError)) for each in ours if each is not rs.errors.RankstoneError)
    assert issubclass(UsageError, rs.errors.RankstoneError)
    assert issubclass(NoColumnError, rs.errors.RankstoneError)
    for each in (rs.errors.InputError, rs.errors.InputTypeError):
        assert pickle.loads(pickle.dumps(each("text"))).args == ("text",)


def test_no_plain_error_is_raised():
    """Every ValueError or TypeError that the package makes is of one of our classes."""
    plain = []
    for path in Path(rs.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            what = node.func if isinstance(node, ast.Call) else getattr(node, "exc", None)
            if isinstance(what, ast.Name) and what.id in ("ValueError", "TypeError"):
                plain.append(f"{path.name}:{node.lineno}")
    assert plain == []


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "ndgc"), ValueError),
        (lambda: rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "rr", ties="x"), ValueError),
        (lambda: rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "rr", no_choice=1), ValueError),
        (lambda: rs.fuse(3), TypeError),
        (lambda: rs.Online("rr", window={}), TypeError),
        (lambda: rs.check({}), ValueError),
    ],
)
def test_refusals_are_of_the_one_base(call, kind):
    with pytest.raises(rs.errors.RankstoneError) as caught:
        call()
    assert isinstance(caught.value, kind)


def column_pair(**truth):
    return rs.columns(query=["q"], grade=[1], **truth), rs.columns(query=["q"], item=["a"], score=[1.0])


def stopped_stream():
    stream, batch = rs.Stream(column_pair(item=["a"])[0], "rr"), {"query": ["q", "q"], "item": ["a", "b"]}
    stream.first_pass(batch | {"score": [1.0, 2.0]})
    with pytest.raises(rs.errors.DataError, match="item 'b': score is nan"):
        stream.second_pass(batch | {"score": [1.0, np.nan]})
    stream.second_pass(batch | {"score": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("call", "kind", "problem"),
    [
        (lambda: rs.evaluate(*column_pair(item=["a"]), "rr", threads=-1), ValueError, "threads must be 0"),
        (lambda: rs.evaluate(*column_pair(item=["a"]), "rr", threads="x"), TypeError, "a whole number, not 'x'"),
        (lambda: rs.evaluate(*column_pair(item=[1.5]), "rr"), TypeError, "must be integers or strings, not floats"),
        (lambda: rs.evaluate(*column_pair(item=[1]), "rr"), TypeError, "items are integers but run items are strings"),
        (lambda: rs.evaluate(*column_pair(item=pa.array([[1]])), "rr"), TypeError, "Arrow type '.l' is not supported"),
        (
            lambda: rs.evaluate(*column_pair(item=pa.array([1.5]).dictionary_encode()), "rr"),
            TypeError,
            "a dictionary must hold strings or integers",
        ),
        (
            lambda: rs.evaluate(np.ones((1, 2)), np.ones((1, 2), complex), "rr"),
            TypeError,
            "NumPy type complex128 is not supported",
        ),
        (stopped_stream, ValueError, "this stream cannot go on"),
    ],
)
def test_refusals_of_the_core_are_of_the_one_base(call, kind, problem):
    with pytest.raises(rs.errors.RankstoneError, match=problem) as caught:
        call()
    assert isinstance(caught.value, kind)


def test_the_core_raises_no_plain_error():
    core = Path(__file__).parents[1] / "core"
    plain = r"nb::(value|type)_error|PyErr_\w+\(PyExc_(Value|Type|Runtime)Error|fail\(PyExc"
    lines = [(path.name, line) for path in core.iterdir() for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 1000
    assert [line for line in lines if re.search(plain, line[1]) and "Matches" not in line[1]] == []


BAD = {"q": ["a", "a"]}


@pytest.mark.parametrize(
    "call",
    [
        lambda: rs.evaluate({"q": ["a"]}, BAD, "rr"),
        lambda: rs.evaluate({"q": ["a"]}, rs.columns(query=["q", "q"], item=["a", "a"], score=[2, 1]), "rr"),
        lambda: rs.rr(["a", "a"], truth=["a"]),
        lambda: rs.explain({"q": ["a"]}, BAD, "rr", query="q"),
        lambda: rs.Accumulator("rr").update({"q": ["a"]}, BAD),
        lambda: rs.Evaluator("rr")({"q": ["a"]}, BAD),
    ],
)
def test_duplicates_name_their_remedy(call):
    with pytest.raises(
        rs.errors.DataError, match=r"'a' appears twice .*; duplicates='first' counts one of them$"
    ) as error:
        call()
    same = pickle.loads(pickle.dumps(error.value))
    assert (
        str(same)
        .spelled(lambda hint: f"-s {hint.name}={hint.value}")
        .endswith("; -s duplicates=first counts one of them")
    )
    with pytest.raises(rs.errors.DataError, match=r"in the truth; truth_duplicates='first' counts one of them$"):
        rs.evaluate(BAD, {"q": ["a"]}, "rr")
    with pytest.raises(rs.errors.DataError, match=r"^new: query 'q': .* duplicates='first' counts one of them$"):
        rs.compare({"q": ["a"]}, {"old": {"q": ["a"]}, "new": BAD}, "rr")
    with pytest.raises(rs.errors.DataError, match=r"^new: query 'q': .* keep one row per item and list$"):
        rs.fuse({"old": {"q": ["a"]}, "new": BAD})


TRUTH, RUN = {"q": ["a"], "r": ["a"]}, {"q": ["a"], "r": ["b", "a"]}
SWAPPED = np.array([1, 2], dtype=">i8")


def compared(**options):
    return rs.compare(TRUTH, {"old": RUN, "new": RUN}, "rr", **options)


def nested(depth=100_000):
    out = []
    for _ in range(depth):
        out = [out]
    return out


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: rs.evaluate(TRUTH, RUN, "rr", weights="ab"), "weights='ab'; pass one number per query"),
        (lambda: rs.evaluate(TRUTH, RUN, "rr", weights={"q": "x", "r": 1}), "pass one number per query"),
        (lambda: rs.evaluate(TRUTH, RUN, nested()), "not a list that is nested too deeply"),
        (lambda: compared(confidence="x"), "confidence='x'; give a number from 0.5 to 1"),
        (lambda: compared(resamples=1.5), "resamples=1.5; give a whole number from 1"),
        (lambda: compared(seed="x"), "seed='x'; give a whole number"),
        (lambda: compared(population="x"), "population='x'; give a whole number of queries"),
        (lambda: compared(margin="x"), "margin='x'; give a number above 0"),
        (lambda: rs.compare("x", {}, "rr"), "there is no run; a comparison needs two"),
        (lambda: rs.compare("x", {}, "alpha_ndcg"), "there is no run; a comparison needs two"),
        (lambda: rs.compare("x", {"old": [], "new": []}, "rr"), r"runs\['old'\] is empty; give a run"),
        (lambda: rs.sample_size("x", 1), "must be numbers"),
        (
            lambda: rs.evaluate(TRUTH, pd.DataFrame({"query": SWAPPED, "item": SWAPPED, "score": [1.0, 2.0]}), "rr"),
            "the table: .*column query with type >i8",
        ),
        (lambda: rs.evaluate(TRUTH, RUN, "rr", weights={"q": 10**400, "r": 1}), "pass one number per query"),
        (lambda: rs.evaluate(TRUTH, RUN, "rr", threshold=int), "threshold must be a grade, not <class 'int'>"),
        (lambda: rs.evaluate(TRUTH, RUN, "rr", threshold=10**400), "threshold must be finite, not 1000"),
        (lambda: rs.evaluate([0.0, 2**70], [1.0, 2**70], "rr"), "labels hold object .* up to 64 bits"),
        (lambda: rs.evaluate({"q": {"a": {"s": 10**400}}}, RUN, "alpha_ndcg"), "grade 1000.* is not a number"),
        (lambda: rs.evaluate(TRUTH, RUN, [["rr"]]), r"a metric is a name such as .*, not \['rr'\]"),
        (lambda: rs.explain(TRUTH, RUN, ["rr"], query="q"), r"a metric is a name such as .*, not \['rr'\]"),
        (lambda: rs.explain(TRUTH, (), "rr", query="q"), "explain one score"),
        (lambda: rs.explain(TRUTH, RUN, "rr", query="q", threads={}), "threads must be a whole number, not {}"),
        (
            lambda: rs.evaluate(rs.lists([["a"]], query=[[1]]), rs.lists([["a"]], query=[[1]]), "rr"),
            "the queries: .*list<item: int64>",
        ),
        (lambda: rs.ndcg(gain={1: "x"}), "gain={1: 'x'}; give one number per entry"),
        (lambda: rs.rbp(p=10**400), "p=1000.* is larger than every float"),
        (lambda: rs.columns(query=None, item=["a"]), "columns have a query and an item"),
        (lambda: rs.columns(query=["q"], item=1.5), "column 'item': .*not iterable"),
        (lambda: rs.lists(None), "items: .*not iterable"),
        (lambda: rs.catalogue(["a"], popularity=[{}]), "properties of the catalogue: "),
        (lambda: rs.catalogue(["a"], popularity=1), "popularity is 1; pass a dict, or a value per item"),
        (lambda: rs.confusion(TRUTH, RUN, 1, catalogue="x"), "catalogue='x'; give the number of items"),
        (lambda: rs.arrays.rr(scores=0, labels=np.ones(2)), "give arrays of one library"),
        (
            lambda: rs.arrays.rr(scores=np.array([1, "x"], object), labels=np.ones(2)),
            "object is no type of numbers",
        ),
        (lambda: rs.confusion(TRUTH, RUN, 1, catalogue=10**400), "catalogue=1000.*; give the number of items"),
        (lambda: rs.Accumulator("r2").update([["a"], 1], [1, 2]), "actual and predicted values: "),
        (lambda: rs.evaluate(rs.lists([["b", b"\xf2y"]]), rs.lists([["a"]]), "rr"), "ids: invalid continuation byte"),
        (lambda: rs.evaluate(pa.table({"query": [1], "item": [1]}), None, "rr", columns="x"), "pass columns by role"),
        (lambda: rs.Stream({"q": None}, "rr"), "q"),
        (
            lambda: rs.Stream(TRUTH, "rr", threads=None).first_pass({"query": ["q"], "item": ["a"], "score": [1.0]}),
            "threads must be a whole number, not None",
        ),
        (lambda: rs.Online("rr", window=9).log_impression("u", [["a"]], time=1), "list 'u': ids must be hashable"),
        (
            lambda: rs.Online("rr", window=9).log_feedback("u", "a", 1, None),
            "item 'a': grade None is not a number",
        ),
        (lambda: rs.fuse({"x": RUN}, convention=[]), r"unknown convention of fusion \[\]"),
        (lambda: rs.fuse({"x": RUN}, depth=int), "depth=<class 'int'>; give a whole number"),
        (lambda: rs.read_run({}), "give the path of a file, not {}"),
        (lambda: rs.read_result("a\0b"), "is no name of a file"),
        (lambda: rs.read_run("x", format=[]), r"unknown format \[\]"),
        (lambda: rs.sql.text("rr", dialect={}), "unknown dialect {}"),
        (lambda: rs.sample_size(10**400, 1), "must be numbers"),
        (lambda: rs.split.random(pd.DataFrame({"user": [1], "item": [1]}), "x"), "share is 'x'; it must be between"),
        (lambda: rs.split.random(pd.DataFrame({"user": [1j], "item": [1]})), "column 'user': Unsupported numpy type"),
        (lambda: rs.split.random(pa.table({"user": [1, 2], "item": [[1], [2]]}), 0.5), "a column: "),
        (lambda: rs.offpolicy.estimate(reward=np.array([10**400], object), estimate="ips"), "column 'reward': "),
        (lambda: rs.offpolicy.estimate({"reward": [1.0]}, 1.5), "an estimator is a name such as 'ips'"),
        (lambda: rs.fuse({"x": RUN}, "wsum", weights=[10**400]), "weights=.*; pass one number per run"),
        (lambda: rs.split.per_user(pd.DataFrame({"user": [1], "item": [1]}), count=2**70), "a whole number from 1"),
        (lambda: rs.evaluate({"\ud800": ["a"]}, {"\ud800": ["a"]}, "rr").to_arrow(), "the columns: .*surrogate pair"),
        (lambda: rs.check({"candidate": RUN, "gate": [{"metric": [], "at_least": 1}]}), "gate 1 .*a metric is a name"),
    ],
)
def test_arguments_of_other_types_are_errors_of_ours(call, problem):
    with pytest.raises(rs.errors.RankstoneError, match=problem):
        call()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        rs.evaluate(np.array(["x", "y"]), str(tmp_path / "none"), "rr")


def test_a_folder_is_closed_once(tmp_path, monkeypatch):
    """A second time, it would be a file of another thread."""
    closed, close = [], os.close
    monkeypatch.setattr(os, "close", lambda file: (closed.append(file), close(file)))
    with contextlib.suppress(IsADirectoryError):
        FileData(str(tmp_path))
    gc.collect()
    assert len(closed) == 1


def test_ids_that_arrow_cannot_hold(tmp_path):
    """Whole numbers of more than 64 bits are written as text, and text that is not Unicode is an error."""
    result = rs.evaluate({2**70: ["a"]}, {2**70: ["a"]}, "rr")
    assert result.to_arrow()["query"].to_pylist() == [str(2**70)]
    odd, raw = (rs.evaluate({query: ["a"]}, {query: ["a"]}, "rr") for query in ("\ud800", b"\xff"))
    with pytest.raises(rs.errors.DataTypeError, match=r"query ids: .*surrogate pair"):
        odd.to_dict()
    for result, path in ((odd, "a.csv"), (raw, "a.csv"), (raw, "a.jsonl")):
        with pytest.raises(rs.errors.DataTypeError, match=r"the (columns|table): "):
            result.write(tmp_path / path)
