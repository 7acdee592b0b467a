"""Hostile truths, runs, metrics and options at every public function: an answer, or an error that says why."""

import contextlib
import math
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from tests.effort import cpu_limit

from .test_readers import SAMPLES, for_a_while, fuzzing, mutated

# -- what is passed --------------------------------------------------------------------------------------------

IDS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["a", "b", "c", "", "\ud800", "a\nb", "é", "nan", None, True, 1, -1, 2**63, 2**70, 1.5, math.nan]),
    st.text(max_size=3),
    st.integers(-3, 3),
    st.tuples(st.integers(0, 1)),
    st.binary(max_size=2),
)
NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0, 1, 2, -1, 0.5, math.nan, math.inf, -math.inf, 2**60, 2**70, 1e300, True, None, "1", "x", 1j]),
    st.floats(),
    st.integers(-3, 3),
)
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        0,
        1,
        -1,
        2**70,
        0.5,
        math.nan,
        "",
        "x",
        "a.b",
        b"x",
        [],
        {},
        (),
        set(),
        [None],
        {"q": None},
        object(),
        int,
        len,
    ]
)
ENTRIES = st.one_of(
    st.dictionaries(IDS, NUMBERS, max_size=4),
    st.lists(IDS, max_size=4),
    st.lists(st.tuples(IDS, NUMBERS), max_size=3),
    JUNK,
)


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[Any], size: int) -> Any:
    drawn = draw(st.lists(values, min_size=size, max_size=size))
    make: Callable[[Any], Any] = draw(st.sampled_from([list, np.array, pa.array, lambda all_: np.array(all_, object)]))
    with contextlib.suppress(ValueError, TypeError, OverflowError, pa.ArrowException), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(drawn)
    return drawn


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Columns by usual and unusual names, as a dict, a frame or a table."""
    size = draw(st.integers(0, 4))
    names = draw(st.lists(st.sampled_from(["query", "item", "grade", "score", "rank", "x", "qid", ""]), max_size=5))
    ids = {"query", "item", "qid"}
    columns = {name: draw(arrays(IDS if name in ids else NUMBERS, size)) for name in names}
    form = draw(st.sampled_from(["dict", "table", "pandas", "columns"]))
    if form == "columns":
        return _Call(rs.columns, columns)
    if form == "dict":
        return columns
    with contextlib.suppress(ValueError, TypeError, OverflowError, pa.ArrowException):
        if form == "table":
            return pa.table({name: pa.array(list(values)) for name, values in columns.items()})
        import pandas as pd

        return pd.DataFrame({name: list(values) for name, values in columns.items()})
    return columns


class _Call:
    """A call of ours whose errors count as well."""

    def __init__(self, function: Callable[..., Any], keywords: dict[str, Any]) -> None:
        self.function, self.keywords = function, keywords

    def __repr__(self) -> str:
        return f"{self.function.__name__}(**{self.keywords!r})"


SIDES: st.SearchStrategy[Any] = st.one_of(
    st.just({"q": {"a": 1, "b": 2}}),
    st.just({"q": ["a", "b"], "p": ["c"]}),
    st.dictionaries(IDS, ENTRIES, max_size=3),
    st.lists(st.lists(IDS, max_size=3), max_size=3),
    tables(),
    arrays(NUMBERS, 3),
    JUNK,
)
TEXTS = st.one_of(
    st.sampled_from(
        ["ndcg@10", "rr", "ap(divisor='k')", "ndcg(gain='exp2')@5", "recall@{5,10}", "gini@3", "ndcg@0", "ndcg@-1",
         "rr@", "ndcg(gain=", "ndcg(gain=" + "-" * 50 + "1)", "err_ia@5", "f(beta=2)@3", "", "@", "x" * 300, "ndcg@1e9",
         "calibration@2"]
    ),
    st.text("ndcgrap@()=',.0123 ", max_size=12),
)  # fmt: skip
METRICS = st.one_of(TEXTS, st.lists(TEXTS, max_size=3), st.dictionaries(TEXTS, TEXTS, max_size=2), JUNK)
OPTIONS = st.dictionaries(
    st.sampled_from(
        ["convention", "threshold", "ties", "duplicates", "truth_duplicates", "unjudged", "weights", "columns",
         "threads", "averaging", "exclude", "catalogue", "bounds", "nonsense", "query_policy"]
    ),
    st.one_of(JUNK, st.sampled_from(["trec_eval", "input", "first", "count", 1, 2.5, {"query": "x"}, {"q": 1}])),
    max_size=2,
)  # fmt: skip

# -- what is called --------------------------------------------------------------------------------------------

# An error of ours, or a plain one of Python's for arguments, with a message.
PLAIN = (ValueError, TypeError)


def is_clear(error: Exception) -> bool:
    if isinstance(error, OSError):  # a file that is not there, by its name
        return error.filename is not None
    ours = type(error).__module__.startswith("rankstone")
    return (ours or type(error) in PLAIN) and bool(str(error))


def place_of(error: BaseException) -> str:
    """The function of ours in which it was raised."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"{os.sep}rankstone{os.sep}" in code.co_filename:
            frames.append(f"{Path(code.co_filename).name}:{code.co_name}")
        trace = trace.tb_next
    return f"{type(error).__name__} in {frames[-1] if frames else '?'}"


def online(metrics: Any, run: Any, options: dict[str, Any]) -> None:
    served = rs.Online(metrics, **options)
    served.log_impression("q", run, time=1)
    served.log_feedback("q", "a", time=2)
    served.compute()


def accumulated(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    accumulator = rs.Accumulator(metrics, **options)
    accumulator.update(truth, run)
    accumulator.compute()


def streamed(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    stream = rs.Stream(truth, metrics, **options)
    stream.first_pass(run)
    stream.second_pass(run)
    stream.compute()


def written(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    result = rs.evaluate(truth, run, metrics, **options)
    repr(result), result.per_query
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("json", "csv", "md", "tex", "html", "parquet"):
            result.write(Path(folder) / f"result.{ending}")


CALLS: dict[str, Callable[[Any, Any, Any, dict[str, Any]], Any]] = {
    "evaluate": lambda truth, run, metrics, options: rs.evaluate(truth, run, metrics, **options),
    "compare": lambda truth, run, metrics, options: repr(rs.compare(truth, {"x": run, "y": run}, metrics, **options)),
    "compare nothing": lambda truth, run, metrics, options: repr(rs.compare(truth, run, metrics, **options)),
    "fuse": lambda truth, run, metrics, options: rs.fuse({"x": truth, "y": run}, **options),
    "pool": lambda truth, run, metrics, options: rs.pool({"x": truth, "y": run}, **options),
    "explain": lambda truth, run, metrics, options: repr(rs.explain(truth, run, metrics, query="q", **options)),
    "identify": lambda truth, run, metrics, options: repr(rs.identify(truth, run, metrics, 0.5, **options)),
    "Online": lambda truth, run, metrics, options: online(metrics, run, options),
    "Accumulator": accumulated,
    "Stream": streamed,
    "write": written,
}


def attempt(call: Callable[[], Any], unclear: Counter[str], shown: dict[str, str], what: str) -> None:
    try:
        with warnings.catch_warnings(), cpu_limit(30):
            warnings.simplefilter("ignore")
            call()
    except Exception as error:  # of any kind, as the test judges them
        if not is_clear(error):
            unclear[place_of(error)] += 1
            shown.setdefault(place_of(error), f"{what}: {error!r}"[:300])


def opened(side: Any) -> Any:
    return side.function(**side.keywords) if isinstance(side, _Call) else side


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_error_is_clear(name: str) -> None:
    unclear: Counter[str] = Counter()
    shown: dict[str, str] = {}

    @fuzzing
    @given(SIDES, SIDES, METRICS, OPTIONS)
    def check(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
        what = f"{name}({truth!r}, {run!r}, {metrics!r}, {options!r})".encode("utf-8", "backslashreplace").decode()
        attempt(lambda: CALLS[name](opened(truth), opened(run), metrics, options), unclear, shown, what)

    for_a_while(check)
    assert not unclear, "\n".join(f"{count} x {place}: {shown[place]}" for place, count in unclear.most_common())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "form"), SAMPLES)
def test_every_error_of_a_file_is_clear(kind: str, form: str, tmp_path: Path) -> None:
    unclear: Counter[str] = Counter()
    shown: dict[str, str] = {}
    path, run = tmp_path / f"file.{form}", {"q1": ["a"]}

    @fuzzing
    @given(mutated(SAMPLES[kind, form]), METRICS)
    def check(content: bytes, metrics: Any) -> None:
        path.write_bytes(content)
        pair = (path, run) if kind == "truth" else (run, path)
        attempt(lambda: rs.evaluate(*pair, metrics), unclear, shown, f"{content!r}, {metrics!r}")

    for_a_while(check)
    assert not unclear, "\n".join(f"{count} x {place}: {shown[place]}" for place, count in unclear.most_common())
