"""How functions and programs are called: a row per calling style, and calls with a time limit."""

from __future__ import annotations

import copy
import inspect
import json
import math
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from rankstone.audit.candidates import ERROR
from rankstone.audit.questions import Form, Query, Question
from rankstone.errors import InputError, InputTypeError

Adapter: TypeAlias = Callable[[Callable[..., object], Question], object]
Nested: TypeAlias = Mapping[str, Mapping[object, float]]  # by query and item
_CUTOFFS = {"k", "topk", "top_k", "at", "at_k", "cutoff", "depth", "n"}  # names of the parameter


@dataclass(frozen=True, eq=False)
class CallingStyle:
    """A calling style: its signature, what it can express, and the arguments of a question in one or several forms."""

    signature: str
    names: tuple[str, ...]  # of the arguments, in JSON
    arguments: Sequence[tuple[Callable[[Question], tuple[Any, ...]], Form]]  # the first that the function takes


def _relevant(question: Question) -> list[Any]:
    return [item for item, grade in question.queries[0].truth or () if grade > 0]


def _grades(question: Question) -> dict[Any, float]:
    return {item: _plain(grade) for item, grade in question.queries[0].truth or ()}


def _labels(question: Question) -> list[float]:
    grades = dict(question.queries[0].truth or ())
    return [_plain(grades.get(item, 0.0)) for item in question.ranked]


def _scores(question: Question) -> list[float]:
    return [score for _, score in question.queries[0].run or ()]


def _plain(grade: float) -> float:
    """Whole grades as integers, as most data has them."""
    return int(grade) if grade == int(grade) else grade


def _nested(question: Question) -> tuple[Any, Any]:
    truth = {query: {item: _plain(grade) for item, grade in items.items()} for query, items in question.truth.items()}
    return truth, question.run


_LIST = Form(scores=False, repeats=True)
_RELEVANT = replace(_LIST, grades=False)
_ARRAY = Form(unjudged=False)
_LABELS = replace(_ARRAY, scores=False)
_NESTED = Form(several=True)
STYLES: dict[str, CallingStyle] = {
    "lists": CallingStyle(
        "f(ranked items, {item: grade} or relevant items[, k])", ("run", "truth"),
        (
            (lambda question: (question.ranked, _grades(question)), _LIST),
            (lambda question: (question.ranked, _relevant(question)), _RELEVANT),
            (lambda question: (question.ranked, set(_relevant(question))), _RELEVANT),
        ),
    ),
    "dicts": CallingStyle(
        "f({query: {item: grade}}, {query: {item: score}}[, k])", ("truth", "run"), ((_nested, _NESTED),)
    ),
    "labels": CallingStyle(
        "f(grades in ranked order[, k])", ("labels",),
        (
            (lambda question: (_labels(question),), _LABELS),
            (lambda question: (np.array(_labels(question)),), _LABELS),
        ),
    ),
    "arrays": CallingStyle(
        "f(grades, scores[, k]), arrays of one dimension, or of one row", ("truth", "run"),
        (
            (lambda question: (np.array(_labels(question)), np.array(_scores(question))), _ARRAY),
            (lambda question: (np.array([_labels(question)]), np.array([_scores(question)])), _ARRAY),
        ),
    ),
    "trec files": CallingStyle(
        "f(path of the qrels, path of the run[, k])", ("truth", "run"),
        ((_nested, replace(_NESTED, text=True, whole=True)),),
    ),
}  # fmt: skip


_SLOW = 0.1  # seconds of a call, from which on fewer questions are asked
_HANGS = 10  # calls that took too long, after which no more is called
_FIRST, _PATIENCE = 3, 6  # so many calls have so many times the limit: they may compile or import something


class _OutOfTimeError(BaseException):
    """A call that took too long. Not an Exception, so that the function does not catch it."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise after some seconds, in the main thread of a system with signals; elsewhere there is no limit."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        if _compiles(frame):  # to stop in the middle of that can end the process
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _compiles(frame: FrameType | None) -> bool:
    """Whether Numba compiles a function."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(("numba.", "llvmlite.")):
            return True
        frame = frame.f_back
    return False


@dataclass
class Caller:
    """A function that is asked questions; what it raises, how long it takes and what it modifies are recorded.

    Attributes
    ----------
    form : Form
        What its calling style can express.
    cutoffs : tuple
        Cutoffs that are passed; one if the function takes none.
    calls : int
        Number of calls.
    errors : dict
        Errors by question; "" for a call that took too long.
    modified : Question or None
        The first question whose arguments the function modified.
    """

    function: Callable[..., Any]
    style: CallingStyle | None
    k: int | None
    seconds: float
    adapter: Adapter | None = None
    pass_k: str | bool = False  # the name of the parameter; True: by position
    calls: int = 0
    errors: dict[Question, str] = field(default_factory=dict)
    modified: Question | None = None
    hangs: int = 0
    durations: list[float] = field(default_factory=list)  # of the calls, in seconds
    _started: int = 0

    def __post_init__(self) -> None:
        self._call = self.function if self.adapter is None else partial(self.adapter, self.function)
        self.build: Callable[[Question], tuple[Any, ...]] = lambda question: (question,)
        self.form = _NESTED
        if self.style is not None:
            self.build, self.form = self.style.arguments[0]
            self.pass_k = False if self.k is None else _takes_k(self.function, self.style)
            self._choose(self.style)
        wide = {1, 2, 3, self.k or 1} if self.pass_k or (self.adapter and self.k) else set()
        self.cutoffs: tuple[int | None, ...] = tuple(sorted(wide)) or (self.k,)

    @property
    def is_program(self) -> bool:
        """Whether each call asks a program."""
        return isinstance(self.function, (JsonProgram, FileProgram))

    @property
    def is_fast(self) -> bool:
        """Whether many more calls take no time: it is no program, and half of its calls were quick."""
        quick = sum(seconds < _SLOW for seconds in self.durations)
        return not self.is_program and 2 * quick >= len(self.durations)

    def _choose(self, style: CallingStyle) -> None:
        """The form of the arguments: the first for which the function returns numbers.

        Relevant items, where items of grade 0 would count as relevant ones.
        """
        answered = []
        text = isinstance(self.function, JsonProgram)  # whose keys are text
        for build, form in style.arguments:
            self.build, self.form = build, replace(form, text=True) if text else form
            values = [self(self.form.fit(probe._replace(k=self.k))) for probe in _PROBES]
            if all(map(math.isfinite, values)):
                answered.append((build, self.form, values))
        graded = [each for each in answered if each[1].grades]
        plain = [each for each in answered if not each[1].grades]
        chosen = (graded or plain or [(*style.arguments[0], [])])[0]
        if graded and plain and graded[0][2] != plain[0][2]:
            chosen = plain[0]
        self.build, self.form, _ = chosen
        self.errors.clear()
        self.modified, self.calls, self.hangs = None, 0, 0

    def __call__(self, question: Question) -> float:
        """The function's value; `ERROR` if it raises, takes too long or returns no number."""
        if self.hangs >= _HANGS:
            return ERROR
        arguments = self.build(question)
        if self.pass_k is True:
            arguments = (*arguments, question.k)
        named = {self.pass_k: question.k} if isinstance(self.pass_k, str) else {}
        before = copy.deepcopy(arguments) if self.modified is None else None
        self.calls += 1
        started = time.perf_counter()
        try:
            self._started += 1
            with _limit(self.seconds * (_PATIENCE if self._started <= _FIRST else 1)):
                value = _number(self._call(*arguments, **named))
        except (_OutOfTimeError, TimeoutError):
            self.hangs += 1
            self.errors[question] = ""
            return ERROR
        except Exception as error:  # any error of the function is a finding
            kind = "" if self.is_program else f"{type(error).__name__}: "
            self.errors[question] = f"{kind}{error}".rstrip(": ")[:200] or "error"
            return ERROR
        finally:
            self.durations.append(time.perf_counter() - started)
        if before is not None and not _same(before, arguments):
            self.modified = question
        return value


def _number(value: Any) -> float:
    if value is None or isinstance(value, (str, bytes, Mapping)):
        raise InputTypeError(f"returned {value!r:.80}, which is not a number")
    return float(value)


def _same(first: Any, second: Any) -> bool:
    """Whether arguments are equal, in the same order."""
    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second))
    if isinstance(first, dict):
        return list(first) == list(second) and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


_PROBES = [
    Question((Query((("a", 1.0), ("b", 0.0)), tuple((item, 3.0 - at) for at, item in enumerate(ranked))),))
    for ranked in (("b", "c", "a"), ("b", "c"), ("a", "b", "c"))
]


def _takes_k(function: Callable[..., Any], style: CallingStyle) -> str | bool:
    """How the cutoff is passed: by the name of a parameter, or by position."""
    if isinstance(function, (JsonProgram, FileProgram)):
        return function.takes_k
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    count = len(style.arguments[0][0](_PROBES[0]))
    for parameter in parameters[count:]:
        if parameter.name.lower() in _CUTOFFS and parameter.kind is not parameter.POSITIONAL_ONLY:
            return parameter.name
    required = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
                and each.default is each.empty]  # fmt: skip
    return len(required) == count + 1


def caller_of(function: Callable[..., object], calling: str | Adapter, k: int | None, seconds: float) -> Caller:
    """The caller of a function in a calling style, by name, or by an adapter."""
    if callable(calling):
        return Caller(function, None, k, seconds, adapter=calling)
    if calling not in STYLES:
        raise InputError(f"calling={calling!r}; choose from {', '.join(map(repr, STYLES))}, or pass an adapter")
    if not callable(function):
        raise InputTypeError(f"audit needs a function, not {type(function).__name__}")
    if calling == "trec files" and not isinstance(function, FileProgram):
        function = _of_files(function)
    return Caller(function, STYLES[calling], k, seconds)


# -- programs ------------------------------------------------------------------------------------------------


@contextmanager
def _trec_files(truth: Nested, run: Nested) -> Iterator[tuple[str, str]]:
    """The paths of the qrels and of the run; its rows and ranks are in the order of the question, not of the scores."""
    qrels = [f"{query} 0 {item} {grade}\n" for query, items in truth.items() for item, grade in items.items()]
    rows = [f"{query} Q0 {item} {rank} {score!r} audit\n" for query, items in run.items()
            for rank, (item, score) in enumerate(items.items(), 1)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "qrels"), Path(folder, "run")
        for path, lines in zip(paths, (qrels, rows), strict=True):
            path.write_text("".join(lines), encoding="utf-8")
        yield str(paths[0]), str(paths[1])


def _of_files(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the paths of two files as one of a truth and a run."""

    @wraps(function)
    def of_dicts(truth: Nested, run: Nested, *k: Any, **named: Any) -> Any:
        with _trec_files(truth, run) as paths:
            return function(*paths, *k, **named)

    return of_dicts


@dataclass
class FileProgram:
    """A program that reads two files; {truth}, {run} and {k} in its words are replaced.

    Its number is the last one in its output, or the first group of `pattern`.
    """

    words: Sequence[str]
    pattern: str | None = None
    seconds: float = 10.0

    @property
    def takes_k(self) -> bool | str:
        """How the cutoff is passed."""
        return "k" if any("{k}" in word for word in self.words) else False

    def __call__(self, truth: Nested, run: Nested, k: int | None = None) -> float:
        """The number in the program's output."""
        with _trec_files(truth, run) as (qrels, rows):
            values = {"{truth}": qrels, "{run}": rows, "{k}": str(k)}
            words = [re.sub(r"\{(truth|run|k)\}", lambda match: values[match[0]], word) for word in self.words]
            try:
                process = subprocess.run(words, capture_output=True, text=True, timeout=self.seconds, check=False)
            except subprocess.TimeoutExpired:
                raise TimeoutError from None
        if process.returncode:
            raise RuntimeError((process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1])
        return number_in(process.stdout, self.pattern)


_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf(?:inity)?)\b"


def number_in(text: str, pattern: str | None = None) -> float:
    """The first group of the pattern, or the last number in a text."""
    matches = re.findall(pattern or _NUMBER, text, re.IGNORECASE | re.MULTILINE)
    if not matches:
        raise InputError(f"no number in the output {text.strip()[:80]!r}")
    last = matches[0] if pattern else matches[-1]
    return float(last if isinstance(last, str) else last[0])


class JsonProgram:
    """A program that reads a JSON object per line, with truth, run and k, and prints a number per line."""

    takes_k = "k"

    def __init__(self, words: Sequence[str], calling: str = "dicts", seconds: float = 10.0) -> None:
        self._words, self._names, self._seconds = list(words), STYLES[calling].names, seconds
        self._process: subprocess.Popen[str] | None = None

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._problems: list[str | None] = []
        streams = ((process.stdout, self._lines.put), (process.stderr, self._problems.append))
        self._threads = [threading.Thread(target=_read, args=each, daemon=True) for each in streams]
        for thread in self._threads:
            thread.start()
        return process

    def __call__(self, *arguments: object, k: int | None = None) -> float:
        """The number that the program prints."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        named = dict(zip(self._names, arguments, strict=True))
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({**named, "k": k}, default=np.ndarray.tolist) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=self._seconds)
        except (queue.Empty, BrokenPipeError) as error:
            self.close()
            if isinstance(error, queue.Empty):
                raise TimeoutError from None
            line = None
        if line is None:
            self._threads[1].join(1.0)
            self.close()
            raise RuntimeError(([text.strip() for text in self._problems if text] or ["the program ended"])[-1])
        return math.nan if line.strip() == "null" else float(line)

    def __enter__(self) -> JsonProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with suppress(OSError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            for thread in self._threads:
                thread.join()
            self._process = None


def _read(stream: Any, put: Callable[[Any], None]) -> None:
    """The lines of a stream; None at its end."""
    with stream:
        for line in stream:
            put(line)
    put(None)
