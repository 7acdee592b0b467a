"""Hostile truths, runs, metrics and options at every public function: an answer, or an error that says why."""

import contextlib
import io
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
from rankstone.cli.commands import COMMANDS, main
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
    st.sampled_from(
        [0, 1, 2, -1, 0.5, math.nan, math.inf, -math.inf, 2**60, 2**70, 10**400, 1e300, True, None, "1", "x", 1j]
    ),
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
        10**400,
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


ROLES = [
    ["query", "item", "grade"],
    ["query", "item", "score"],
    ["query", "item", "grade", "score", "rank", "x", "qid", ""],
    ["user", "item", "rating", "time"],
    ["list", "place", "item", "reward", "propensity", "target"],
]
ID_NAMES = {"query", "item", "qid", "user", "list"}
# Columns of numbers and of ids: of one type, or of any.
KINDS: dict[bool, list[st.SearchStrategy[Any]]] = {
    False: [NUMBERS, st.integers(0, 3), st.floats(0, 1), st.floats()],
    True: [IDS, st.integers(0, 3), st.sampled_from("abc"), st.text(max_size=2)],
}


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Columns by usual and unusual names, as a dict, a frame or a table."""
    size = draw(st.integers(0, 4))
    names = draw(st.one_of(*(st.lists(st.sampled_from(names), max_size=5) | st.just(names) for names in ROLES)))
    columns = {name: draw(arrays(draw(st.sampled_from(KINDS[name in ID_NAMES])), size)) for name in names}
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
    st.lists(st.floats() | st.integers(-1, 3), min_size=4, max_size=4).map(lambda cells: np.array(cells).reshape(2, 2)),
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
METRICS = st.one_of(
    st.sampled_from(["rr", "ndcg@10", ["ap", "recall@2"]]),
    TEXTS,
    st.lists(TEXTS, max_size=3),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    JUNK,
)
OPTIONS = st.just({}) | st.dictionaries(
    st.sampled_from(
        ["convention", "threshold", "ties", "duplicates", "truth_duplicates", "unjudged", "weights", "columns",
         "threads", "averaging", "exclude", "catalogue", "bounds", "nonsense", "query_policy"]
    ),
    st.one_of(JUNK, st.sampled_from(["trec_eval", "input", "first", "count", 1, 2.5, {"query": "x"}, {"q": 1}])),
    max_size=2,
)  # fmt: skip

# -- what is called --------------------------------------------------------------------------------------------


def is_clear(error: BaseException) -> bool:
    """An error of ours with a message; of Python's, a file that is not there and an argument that there is not."""
    if isinstance(error, OSError):
        return error.filename is not None
    is_call = type(error) is TypeError and place_of(error).endswith("?")
    return (is_call or isinstance(error, rs.errors.RankstoneError)) and bool(str(error))


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


def named(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """The values of the options by other names."""
    return dict(zip(names, options.values(), strict=False))


def checked(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    gates = {"truth": truth, "baseline": run, "candidate": run, "gate": [{"metric": metrics, "at_least": 0.5}]}
    repr(rs.check(gates, **options))
    repr(rs.check(gates | {"gate": truth}))


def as_columns(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    rs.evaluate(rs.columns(query=truth, item=run, grade=options), rs.columns(query=run, item=run), metrics)


def as_lists(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    rs.evaluate(rs.lists(truth, query=options.get("query")), rs.lists(run, scores=options.get("columns")), metrics)


def catalogued(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    items = rs.catalogue(truth, **named(options, "popularity", "category", "embedding"))
    rs.evaluate(truth, run, ["gini@3", "ild@3", "calibration@2"], catalogue=items, history=truth)


def split(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    first, second = (*options.values(), 1, 0.5)[:2]
    for call in SPLITS:
        with contextlib.suppress(rs.errors.RankstoneError):
            call(truth, run, first, second)


SPLITS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda truth, run, first, second: rs.split.random(truth, first, seed=second),
    lambda truth, run, first, second: rs.split.per_user(truth, share=first, by=second),
    lambda truth, run, first, second: rs.split.per_user(truth, count=first, minimum=second),
    lambda truth, run, first, second: rs.split.leave_one_out(truth, seed=first),
    lambda truth, run, first, second: rs.split.leave_last_out(truth, first, columns=second),
    lambda truth, run, first, second: rs.split.at_time(truth, first),
    lambda truth, run, first, second: list(rs.split.folds(truth, first, by=second)),
    lambda truth, run, first, second: rs.split.negatives(truth, run, first, per=second),
    lambda truth, run, first, second: rs.split.sampled(truth, run, first),
]


def estimated(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    columns = named(options, "reward", "propensity", "target", "columns")
    for estimator in (["ips", "snips"], metrics):
        with contextlib.suppress(rs.errors.RankstoneError):
            repr(rs.offpolicy.estimate(truth, estimator, **columns))


def in_arrays(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    rs.arrays.ndcg(scores=run, labels=truth, **options)


def on_lists(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    rs.ndcg(run, truth=truth, **options)
    rs.ap(run, truth=truth, k=options.get("threshold"))


def numbers(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    first, second = (*options.values(), 1, 2)[:2]
    for call in (rs.sample_size, rs.sampled_metrics, rs.define):
        with contextlib.suppress(rs.errors.RankstoneError):
            call(first, second) if call is not rs.define else rs.define(metrics, **options)


def paths(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    for read in (rs.read_truth, rs.read_run, rs.read_result, rs.check):
        with contextlib.suppress(rs.errors.RankstoneError, OSError):
            read(truth)  # type: ignore[operator]
        with contextlib.suppress(rs.errors.RankstoneError, OSError):
            read(metrics, **named(options, "format", "columns"))  # type: ignore[operator]


def sql(truth: Any, run: Any, metrics: Any, options: dict[str, Any]) -> None:
    with contextlib.suppress(rs.errors.RankstoneError):
        rs.sql.text(metrics, **options)
    rs.sql.text("rr", truth, run, **named(options, "dialect", "by", "lists", "ids"))


CALLS: dict[str, Callable[[Any, Any, Any, dict[str, Any]], Any]] = {
    "evaluate": lambda truth, run, metrics, options: rs.evaluate(truth, run, metrics, **options),
    "Evaluator": lambda truth, run, metrics, options: rs.Evaluator(metrics, **options)(truth, run),
    "compare": lambda truth, run, metrics, options: repr(rs.compare(truth, {"x": run, "y": run}, metrics, **options)),
    "compare nothing": lambda truth, run, metrics, options: repr(rs.compare(truth, run, metrics, **options)),
    "check": checked,
    "fuse": lambda truth, run, metrics, options: rs.fuse({"x": truth, "y": run}, **options),
    "fuse anything": lambda truth, run, metrics, options: rs.fuse(truth, metrics, **options),
    "pool": lambda truth, run, metrics, options: rs.pool({"x": truth, "y": run}, 3, run),
    "pool anything": lambda truth, run, metrics, options: rs.pool(truth, *options.values()),
    "explain": lambda truth, run, metrics, options: repr(rs.explain(truth, run, metrics, query="q", **options)),
    "identify": lambda truth, run, metrics, options: repr(rs.identify(truth, run, metrics, 0.5, **options)),
    "confusion": lambda truth, run, metrics, options: repr(rs.confusion(truth, run, 2, **options)),
    "roc_curve": lambda truth, run, metrics, options: repr(rs.roc_curve(truth, run, **options)),
    "Online": lambda truth, run, metrics, options: online(metrics, run, options),
    "Accumulator": accumulated,
    "Stream": streamed,
    "columns": as_columns,
    "lists": as_lists,
    "catalogue": catalogued,
    "one list": on_lists,
    "arrays": in_arrays,
    "splits": split,
    "offpolicy": estimated,
    "sql.text": sql,
    "numbers": numbers,
    "paths": paths,
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
def test_every_error_of_a_saved_result_is_clear(tmp_path: Path) -> None:
    unclear: Counter[str] = Counter()
    shown: dict[str, str] = {}
    path = tmp_path / "result.json"
    rs.evaluate({"q": {"a": 1}, "p": {"b": 2}}, {"q": ["a"], "p": ["a", "b"]}, ["rr", "ndcg@2"]).write(path)

    @fuzzing
    @given(mutated(path.read_bytes()))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        attempt(lambda: repr(rs.read_result(path)), unclear, shown, f"{content!r}")

    for_a_while(check)
    assert not unclear, "\n".join(f"{count} x {place}: {shown[place]}" for place, count in unclear.most_common())


WORDS = st.one_of(
    st.sampled_from(["truth.qrels", "run.trec", "run.csv", "none", ".", "--", "-k", "-m", "--metrics", "--json", "rr"]),
    st.sampled_from(["--help", "--convention", "trec_eval", "-s", "ties=x", "threshold=2", "--columns", "query=x"]),
    st.sampled_from(["--baseline", "--query", "q1", "--value", "0.5", "--format", "csv", "ndcg@10", "-c", "-q"]),
    st.text(max_size=3),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("sql", "help")])
def test_every_error_of_a_command_is_clear(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with a code and a message."""
    unclear: Counter[str] = Counter()
    shown: dict[str, str] = {}
    monkeypatch.chdir(tmp_path)
    for path, sample in {
        "truth.qrels": ("truth", "trec"),
        "run.trec": ("run", "trec"),
        "run.csv": ("run", "csv"),
    }.items():
        (tmp_path / path).write_bytes(SAMPLES[sample])

    def run(words: list[str]) -> None:
        """Files and messages go nowhere."""
        with (
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
            contextlib.redirect_stderr(io.StringIO()) as messages,
            contextlib.suppress(SystemExit),
        ):
            assert main([*name.split(), *words]) in (0, 1, 2)
        assert "Traceback" not in messages.getvalue()

    @fuzzing
    @given(st.lists(WORDS, max_size=5), st.booleans())
    def check(words: list[str], files: bool) -> None:
        words = ["truth.qrels", "run.trec", *words] if files else words
        attempt(lambda: run(words), unclear, shown, f"{name} {words!r}")

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
