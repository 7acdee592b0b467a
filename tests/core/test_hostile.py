"""Objects that do what they should not, at the worst moment: an error or an answer, and never a crash or a hang.

`make sanitize` runs these under AddressSanitizer, where memory that is gone does not go unnoticed.
"""

import contextlib
import gc
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone import _core
from rankstone.data.lines import open_text
from rankstone.data.source import AlignOptions
from rankstone.data.trec import read_trec
from rankstone.errors import DataError

from ..effort import PATIENCE
from .doors import align_columns, align_dicts

CHANGED = "changed while it was read"


class Id:
    """An id, equal to others of its number, that does something when it is asked for its hash."""

    def __init__(self, number: int, act: Callable[[], None] = lambda: None) -> None:
        self.number, self.act = number, act

    def __hash__(self) -> int:
        self.act()
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Id) and self.number == other.number


class Scored:
    """A score that is another one each time."""

    def __init__(self, *scores: float) -> None:
        self.scores = [*scores]

    def __float__(self) -> float:
        return self.scores.pop(0) if len(self.scores) > 1 else self.scores[0]


# -- what is read goes away ------------------------------------------------------------------------------------


def test_a_list_that_empties_the_run() -> None:
    class Judged(list[str]):
        def __iter__(self) -> Any:
            run.clear()
            return super().__iter__()

    run = {"q1": {f"d{n}": float(n) for n in range(100)}}
    assert align_dicts({"q1": Judged(["d7"])}, run).rank.tolist() == [93]


def test_an_id_that_empties_the_run_when_it_goes() -> None:
    class Going:
        def __del__(self) -> None:
            run.clear()

    class Judged(list[Any]):
        def __iter__(self) -> Any:
            held.clear()  # the last to know the id, but for the list of the query before
            truth["q1"].clear()
            return super().__iter__()

    held: list[Any] = [Going()]
    truth: dict[str, Any] = {"q1": [held[0]], "q2": Judged(["b"]), "q3": ["c"]}
    run: dict[str, Any] = {"q1": [*"abc"], "q2": [*"abc"], "q3": [*"abc"]}
    with contextlib.suppress(DataError):
        assert align_dicts(truth, run).retrieved.tolist()[:2] == [3, 3]


def test_a_score_that_empties_its_list() -> None:
    class Score:
        def __float__(self) -> float:
            run["q"].clear()
            run.clear()
            return 1.0

    run: dict[str, Any] = {"q": {f"d{n}": Score() for n in range(9)}}
    with pytest.raises(DataError, match=CHANGED):
        align_dicts({"q": ["d1"]}, run)


def test_a_grade_that_empties_its_truth() -> None:
    class Grade:
        def __index__(self) -> int:
            truth["q"].clear()
            truth.clear()
            return 1

    truth: dict[str, Any] = {"q": {f"d{n}": Grade() for n in range(9)}}
    with pytest.raises(DataError, match=CHANGED):
        align_dicts(truth, {"q": ["d1"]})


def test_a_number_that_changes_its_type() -> None:
    class Other:
        def __float__(self) -> float:
            return 2.0

    def dying() -> Any:
        class Dying:
            def __index__(self) -> int:
                self.__class__ = Other  # type: ignore[assignment]
                gc.collect()
                raise TypeError

            def __float__(self) -> float:
                return 1.0

        return Dying()

    score = dying()
    gc.collect()
    assert align_dicts({"q": ["a"]}, {"q": {"a": score}}).score.tolist() == [2.0]


def test_a_name_that_changes_a_type() -> None:
    odd = type(" ".join(["very", "odd"]), (), {})  # a name that only the type has

    class Query:
        def __repr__(self) -> str:
            odd.__name__ = odd.__qualname__ = "x"
            return "me"

    with pytest.raises(DataError, match=r"^query me: the truth must be .* not very odd$"):
        align_dicts({Query(): odd()}, {})


def test_a_query_whose_name_takes_the_item_away() -> None:
    class Query:
        def __repr__(self) -> str:
            run.clear()
            return "me"

    query = Query()
    run: dict[Any, Any] = {object(): float("nan")}
    with pytest.raises(DataError, match=r"query me, item <object object at .*: score is nan"):
        align_dicts({query: ["a"]}, {query: run})


# -- what is read never ends -----------------------------------------------------------------------------------


class Endless:
    """A dict whose oldest key makes room for a new one whenever a hash is asked for, up to a limit."""

    def __init__(self, size: int, value: Any) -> None:
        self.asked, self.left, self.value = False, 10_000, value
        self.entries: dict[Any, Any] = {}
        self.entries = {Id(n, self.turn): value for n in range(size)}

    def turn(self) -> None:
        if self.asked and self.left:
            self.asked, self.left = False, self.left - 1
            del self.entries[next(iter(self.entries))]
            self.entries[Id(-self.left - 2, self.turn)] = self.value
            self.asked = True


class Turning:
    """A score that turns a dict when it is read."""

    def __init__(self) -> None:
        self.turn: Callable[[], None] = lambda: None

    def __float__(self) -> float:
        self.turn()
        return 1.0


@pytest.mark.parametrize("where", ["truth", "run", "judged", "ranked"])
def test_a_dict_that_is_always_as_long(where: str) -> None:
    score = Turning()
    endless = Endless(5, score if where == "ranked" else 1.0 if where == "judged" else ["a"])
    score.turn = endless.turn
    truth, run = {
        "truth": (endless.entries, {"q": ["a"]}),
        "run": ({"q": ["a"]}, endless.entries),
        "judged": ({"q": endless.entries}, {"q": ["a", "b"]}),
        "ranked": ({"q": ["a"]}, {"q": endless.entries}),
    }[where]
    endless.asked = True
    with pytest.raises(DataError, match=CHANGED):
        align_dicts(truth, run, extra_queries=True)


def test_a_dict_that_says_it_is_empty() -> None:
    class Short(dict[str, float]):
        def __len__(self) -> int:
            return 0

    judged = Short({f"d{n}": 1.0 for n in range(500)})
    found = align_dicts({"q": judged}, {"q": ["d7", "x", "d400"]})
    assert found.rank.tolist() == [1, 3]
    assert found.place.tolist() == [8, 401]


# -- what is read twice differs --------------------------------------------------------------------------------


def test_scores_that_differ_when_they_are_read_again() -> None:
    """The second time each is below all that were read first, so its rank would be past the end."""
    run = {f"d{n}": Scored(1.0, 0.0) for n in range(100)}
    with pytest.raises(DataError, match=CHANGED):
        align_dicts({"q": dict.fromkeys(run, 1.0)}, {"q": run})


def test_items_that_are_equal_to_others_when_they_are_asked_again() -> None:
    """Each judged item is found in the row of one with another score."""
    size, asked = 200, -1

    class Shifty:
        def __init__(self, number: int, judged: bool) -> None:
            self.number, self.judged = number, judged

        def __hash__(self) -> int:
            nonlocal asked
            asked -= self.judged and asked > 0
            return 0

        def __eq__(self, other: Any) -> bool:
            if self.judged == other.judged:
                return self is other
            judged, returned = (self, other) if self.judged else (other, self)
            return (judged.number + 2 * (asked == 0)) % size == returned.number

        def __lt__(self, other: Any) -> bool:
            return False

        def __gt__(self, other: Any) -> bool:
            return True

    truth = {Shifty(n, True): 1.0 for n in range(size)}
    run = {Shifty(n, False): float(-(n // 2)) for n in range(size)}
    asked = size
    with pytest.raises(DataError, match="__eq__ contradicts itself"):
        align_dicts({"q": truth}, {"q": run})


# -- anything, at random ---------------------------------------------------------------------------------------


class Wild:
    """An id, or a number, whose methods do whatever they are told, at some of the calls."""

    def __init__(self, number: int, chance: random.Random, misdeed: Any) -> None:
        self.number, self.chance, self.misdeed = number, chance, misdeed

    def act(self) -> None:
        if self.chance.random() < 0.05:
            self.misdeed()

    def __hash__(self) -> int:
        self.act()
        return self.number % 3

    def __eq__(self, other: object) -> bool:
        self.act()
        return isinstance(other, Wild) and self.number == other.number

    def __lt__(self, other: Any) -> bool:
        self.act()
        return self.chance.random() < 0.5

    def __float__(self) -> float:
        self.act()
        return float(self.number)

    def __repr__(self) -> str:
        self.act()
        return "wild"

    def __del__(self) -> None:
        with contextlib.suppress(ZeroDivisionError):
            self.act()


class WholeWild(Wild):
    def __index__(self) -> int:
        self.act()
        if self.chance.random() < 0.2:
            raise TypeError
        return self.number


class WildList(list[Any]):
    def __iter__(self) -> Any:
        if self:
            self[0].act()
        return super().__iter__()


def test_an_exception_in_an_id_comes_out() -> None:
    class Angry:
        def __init__(self, method: str) -> None:
            self.method = method

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            if self.method == "eq":
                raise ZeroDivisionError
            return self is other

        def __lt__(self, other: Any) -> bool:
            raise ZeroDivisionError

        def __float__(self) -> float:
            raise ZeroDivisionError

    for run in ({Angry("eq"): 1.0}, [Angry("eq")]):
        with pytest.raises(ZeroDivisionError):
            align_dicts({1: [Angry("eq")]}, {1: run})
    one, other = Angry("lt"), Angry("lt")
    with pytest.raises(ZeroDivisionError):
        align_dicts({1: [one, other]}, {1: {one: 1.0, other: 1.0}})
    with pytest.raises(ZeroDivisionError):
        align_dicts({1: ["a"]}, {1: {"a": Angry("float")}})


@pytest.mark.parametrize("seed", range(60))
def test_no_crash_when_ids_change_what_is_read(seed: int) -> None:
    chance = random.Random(seed)
    truth: dict[Any, Any] = {}
    run: dict[Any, Any] = {}

    def misdeed() -> None:
        side = chance.choice([truth, run])
        query = chance.randrange(3)
        inner = side.get(query)
        deed = chance.randrange(7)
        if deed == 0:
            side[query] = chance.choice([{}, [], {"x": 1.0}])
        elif deed == 1 and inner:
            inner.clear()
        elif deed == 2 and isinstance(inner, dict):
            inner[object()] = 1.0
        elif deed == 3 and isinstance(inner, dict) and inner:
            inner[f"{chance.random()}"] = inner.pop(next(iter(dict.keys(inner))), 1.0)
        elif deed == 4:
            raise ZeroDivisionError
        elif deed == 5:
            side.clear()
        elif deed == 6:
            side[f"{chance.random()}"] = side.pop(query, {})

    def ids(count: int) -> list[Wild]:
        return WildList(Wild(chance.randrange(20), quiet, misdeed) for _ in range(count))

    def number(value: int) -> Wild:
        return chance.choice([Wild, WholeWild])(value, quiet, misdeed)

    quiet = random.Random(seed)
    for _ in range(20):
        quiet.random = lambda: 1.0  # type: ignore[method-assign]
        truth.clear()
        run.clear()
        for query in range(3):
            truth[query] = dict.fromkeys(ids(8), number(1)) if chance.random() < 0.5 else ids(8)
            score = [1.0, number(2)]
            run[query] = {item: chance.choice(score) for item in ids(30)} if chance.random() < 0.7 else ids(30)
        del quiet.random
        order = chance.choice(["item_desc", "input"])
        extra = chance.random() < 0.5
        with contextlib.suppress(ZeroDivisionError, TypeError, ValueError):
            align_dicts(truth, run, order=order, extra_queries=extra, duplicates="first", truth_duplicates="first")


# -- columns and states ----------------------------------------------------------------------------------------


def test_an_arrow_array_that_was_handed_over_before() -> None:
    class Used:
        def __init__(self) -> None:
            self.capsules = pa.array(["a", "b"]).__arrow_c_array__()
            pa.Array._import_from_c_capsule(*self.capsules)

        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return self.capsules

    with pytest.raises(ValueError, match="truth items: this Arrow array was handed over before"):
        align_columns(np.zeros(2, int), Used(), None, np.zeros(1, int), pa.array(["a"]), None)


def stream() -> _core.Stream:
    made = _core.Stream(np.array([1, 1, 2]), np.array([1, 2, 3]), None, AlignOptions(duplicates="count"))
    made.find(np.array([1, 1, 2, 9]), np.array([2, 2, 3, 4]), np.array([1.0, 1.0, 5.0, 0.0]), 1)
    made.count(np.array([1, 1, 2, 9]), np.array([2, 2, 3, 4]), np.array([1.0, 1.0, 5.0, 0.0]), 1)
    return made


FINDS = stream().finds
COUNTS = stream().counts
STATES: dict[str, tuple[str, Any]] = {
    "no finds": ("finds", ()),
    "short finds": ("finds", FINDS[:5]),
    "long finds": ("finds", (*FINDS, 1)),
    "no counts": ("counts", ()),
    "short counts": ("counts", COUNTS[:2]),
    "few scores": ("finds", (FINDS[0][:-1], *FINDS[1:])),
    "few retrieved": ("finds", (FINDS[0], FINDS[1][:-1], *FINDS[2:])),
    "negative retrieved": ("finds", (FINDS[0], -FINDS[1], *FINDS[2:])),
    "unknown item": ("finds", (*FINDS[:2], np.array([3]), *FINDS[3:])),
    "negative item": ("finds", (*FINDS[:2], np.array([-1]), *FINDS[3:])),
    "few repeated scores": ("finds", (*FINDS[:3], np.array([]), *FINDS[4:])),
    "negative rows": ("finds", (*FINDS[:4], -1, 0)),
    "few levels": ("counts", (COUNTS[0][:-1], *COUNTS[1:])),
    "huge levels": ("counts", (np.full_like(COUNTS[0], 2**62), *COUNTS[1:])),
    "few before": ("counts", (COUNTS[0], COUNTS[1][:-1], COUNTS[2])),
    "negative before": ("counts", (COUNTS[0], COUNTS[1] - 5, COUNTS[2])),
}


@pytest.mark.parametrize("case", STATES)
def test_a_broken_state_of_the_core(case: str) -> None:
    name, state = STATES[case]
    changed = stream()
    with pytest.raises(ValueError, match=r"^a stream's state (has the wrong size|is out of range)$"):
        setattr(changed, name, state)
    for before, after in zip((*FINDS, *COUNTS), (*changed.finds, *changed.counts), strict=True):
        np.testing.assert_array_equal(after, before)  # nothing of it was taken


def test_sums_over_tied_items_without_a_number() -> None:
    """Each NaN is a score of its own, and no step of the program goes on for ever."""
    steps = [
        ("column", 1, 0, 1, -1, -1),
        ("column", 1, 1, 2, -1, -1),
        ("level", 1, 2, 0, 1, -1),
        ("sum", 0, 3, 2, 1, -1),
        ("answer", 0, -1, 3, 0, -1),
    ]
    program = _core.Program(steps, [(0, None)], [], 4, 3, 0, 1, 0)
    columns = [np.array([0, 3]), np.array([1.0, 2.0, 4.0]), np.array([0.0, np.nan, np.nan])]
    (sums,), _ = program.run(1, columns, [], [])
    assert sums.tolist() == [1.0 + 2.0 + 4.0]


# -- memory that others write ----------------------------------------------------------------------------------

WRITING = """
import sys, threading, numpy as np, pyarrow as pa
import rankstone as rs

chance, kind, turns = np.random.default_rng(1), sys.argv[1], int(sys.argv[2])
rows, queries = 60_000, 3
each = rows // queries
query, item = np.repeat(np.arange(queries), each), np.tile(np.arange(each), queries)
score, grade = chance.integers(0, 40, rows).astype(float), chance.integers(0, 3, rows).astype(float)
offsets = np.arange(0, 5 * (rows + 1), 5, dtype=np.int32)
text = np.frombuffer("".join(f"{n:05}" for n in item).encode(), np.uint8).copy()
words = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))
codes = item.astype(np.int32)
indices = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(codes)])
names = pa.DictionaryArray.from_arrays(indices, words[:each])
target, items, other = {
    "score": (score, item, chance.integers(0, 3, rows).astype(float)),
    "grade": (grade, item, np.ones(rows)),
    "item": (item, item, item[::-1].copy()),
    "query": (query, item, chance.integers(0, queries, rows)),
    "offsets": (offsets, words, chance.integers(-(2**31), 2**31 - 1, rows + 1).astype(np.int32)),
    "text": (text, words, chance.integers(48, 58, len(text)).astype(np.uint8)),
    "codes": (codes, names, chance.integers(-(2**31), 2**31 - 1, rows).astype(np.int32)),
}[kind]
truth, run = rs.columns(query=query, item=items, grade=grade), rs.columns(query=query, item=items, score=score)
matrix = lambda values: values.reshape(queries, -1)
known = list(range(each)) if items is item else [f"{n:05}" for n in range(each)]
own = {"duplicates": "first", "truth_duplicates": "first"}
calls = [
    lambda: rs.evaluate(truth, run, "ndcg", **own),
    lambda: rs.evaluate(matrix(grade), matrix(score), "ap@10"),
]
if kind not in ("offsets", "codes"):  # which Arrow's own functions do not check
    calls += [
        lambda: rs.fuse({"a": run, "b": run}),
        lambda: rs.evaluate(truth, run, "gini@100", catalogue=known, **own),
    ]
before, end = target.copy(), threading.Event()

def write():
    while not end.is_set():
        target[:] = other
        target[:] = before

thread = threading.Thread(target=write, daemon=True)
if turns:
    thread.start()
for _ in range(turns or 1):
    for call in calls:
        try:
            call()
        except ValueError:
            if not turns:
                raise
end.set()
print("alive")
"""


@pytest.mark.parametrize("kind", ["score", "grade", "item", "query", "offsets", "text", "codes"])
def test_arrays_written_by_another_thread(kind: str) -> None:
    """Each number is read once, or checked: any answer or an error of ours, and the process lives."""
    command = [sys.executable, "-c", WRITING, kind, "4"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr[-300:]) == (0, "alive\n", "")


def text_array(offsets: list[int], kind: Any, width: Any) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, width)), pa.py_buffer(b"abc")]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


def view_array(size: int, buffer: int = 0, offset: int = 0) -> pa.Array:
    views = np.array([[1, 97, 0, 0], [size, 0, buffer, offset], [1, 98, 0, 0]], np.int32)
    return pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(views), pa.py_buffer(b"x" * 20)])


def index_array(indices: list[int]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array([*"abc"]), safe=False)


INVALID: dict[str, Callable[[], pa.Array]] = {
    "string back": lambda: text_array([0, 3, 1, 3], pa.string(), np.int32),
    "string below 0": lambda: text_array([0, -5, 2, 3], pa.string(), np.int32),
    "string far out": lambda: text_array([0, 900_000_000, 2, 3], pa.string(), np.int32),
    "large string back": lambda: text_array([0, 3, 1, 3], pa.large_string(), np.int64),
    "large string below 0": lambda: text_array([0, -(2**40), 2, 3], pa.large_string(), np.int64),
    "binary back": lambda: text_array([0, 3, 1, 3], pa.binary(), np.int32),
    "view of negative size": lambda: view_array(-1),
    "view of no buffer": lambda: view_array(15, buffer=7),
    "view past its buffer": lambda: view_array(15, offset=10),
    "view before its buffer": lambda: view_array(15, offset=-4),
    "index past the dictionary": lambda: index_array([0, 9, 1]),
    "negative index": lambda: index_array([0, -7, 1]),
    "dictionary of bad strings": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int8()), text_array([0, 3, 1, 3], pa.string(), np.int32)
    ),
}


def evaluate_sides(sides: dict[str, dict[str, Any]], make: Callable[..., Any]) -> None:
    run = make(**sides["run"]) if "run" in sides else {"q": ["a"]}
    rs.evaluate(make(**sides["truth"]), run, "rr")


@pytest.mark.parametrize("case", INVALID)
@pytest.mark.parametrize("role", ["query", "item"])
@pytest.mark.parametrize("side", ["truth", "run"])
def test_an_arrow_array_that_is_not_what_it_says(case: str, role: str, side: str) -> None:
    good: dict[str, Any] = {"query": pa.array([*"qqq"]), "item": pa.array([*"abc"])}
    bad = INVALID[case]()
    for make in (rs.columns, lambda **columns: pa.table(columns)):
        with pytest.raises(DataError, match=rf"column '{role}' is not a valid Arrow array: "):
            evaluate_sides({"truth": good} | {side: good | {role: bad}}, make)


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [0, -1, 2, 3], [0, 9, 2, 3]])
@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_arrow_lists_that_are_not_what_they_say(offsets: list[int], kind: Any) -> None:
    of, width = kind(pa.string()), np.int32 if kind is pa.list_ else np.int64
    buffers = [None, pa.py_buffer(np.array(offsets, width))]
    lists = pa.Array.from_buffers(of, 3, buffers, children=[pa.array([*"abc"])])
    with pytest.raises(DataError, match="column 'items' is not a valid Arrow array: "):
        rs.evaluate({"q": ["a"]}, pa.table({"query": [*"qrs"], "items": lists}), "rr")


def test_a_dictionary_of_a_dictionary() -> None:
    inner = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array(["a", "b"]))
    nested = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), inner)  # b, a
    zeros = np.zeros(2, int)
    placed = align_columns(zeros[:1], pa.array(["b"]), None, zeros, nested, np.array([2.0, 1.0]))
    assert placed.rank.tolist() == [1]


# -- files that others write ----


def test_a_truth_outlives_its_file(tmp_path: Path) -> None:
    """Subtopics, the second field of qrels, are read when a metric needs them, and not from the file again."""
    path = tmp_path / "t.qrels"
    path.write_text("q 1 a 1\nq 2 b 1\nq 2 c 1\n")
    for text in ("", "q 9 a 1\nq 8 b 1\nq 7 c 1\n"):
        truth = rs.read_truth(path)
        path.write_text(text)
        assert rs.evaluate(truth, {"q": ["a"]}, "subtopic_recall@5")["subtopic_recall@5"] == 1 / 2
        path.write_text("q 1 a 1\nq 2 b 1\nq 2 c 1\n")


@pytest.mark.parametrize("line_bytes", [30, 300_000, 700_000])
def test_a_run_in_pieces(tmp_path: Path, line_bytes: int) -> None:
    """Lines that are longer than the pieces of a file in which threads read it."""
    path, count = tmp_path / "a.run", 3_000_000 // line_bytes
    path.write_text("".join(f"q{n // 9} Q0 {n:x<{line_bytes}} 1 {n}.5 tag\n" for n in range(count)))
    run = rs.read_run(path)
    assert run.score.tolist() == [n + 0.5 for n in range(count)]
    assert [name.rstrip("x") for name in run.item.to_pylist()] == [str(n) for n in range(count)]


def test_a_run_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("".join(f"q{n // 100} Q0 d{n} 1 {n}.5 tag\n" for n in range(20_000)))
    text = open_text(str(path))
    os.truncate(path, 100_000)
    rows = read_trec(text, "run", skip=True)
    assert 0 < len(rows.score) < 20_000


def test_a_truth_of_qrels_and_an_evaluator_are_pickled(tmp_path: Path) -> None:
    path = tmp_path / "t.qrels"
    for text in ("q 1 a 1\nq 2 b 1\n", "q 1 a 1\nq 2 b 1_\nq 2 b 1\n"):  # as it should be, and with a bad line
        path.write_text(text)
        truth = pickle.loads(pickle.dumps(rs.read_truth(path, on_error="skip")))
        evaluator = pickle.loads(pickle.dumps(rs.Evaluator(["rr", "subtopic_recall@5"], threshold=1)))
        assert dict(evaluator(truth, {"q": ["x", "a"]})) == {"rr": 1 / 2, "subtopic_recall@5": 1 / 2}


# -- the end ---------------------------------------------------------------------------------------------------

ENDING = """
import threading, time, numpy as np, rankstone as rs

query = np.repeat(np.arange(3000), 500)
run = rs.columns(query=query, item=np.tile(np.arange(500), 3000), score=np.random.default_rng(0).random(len(query)))
truth = rs.columns(query=query, item=run.item)

def work():
    while True:
        rs.evaluate(truth, run, ["ndcg@10", "ap"])

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(%s)
"""


def test_the_program_ends_while_threads_evaluate() -> None:
    for after in (0.2, 0.5):
        ended = subprocess.run([sys.executable, "-c", ENDING % after], capture_output=True, text=True, timeout=PATIENCE)
        assert (ended.returncode, ended.stderr) == (0, "")


SIGNALLED = """
import sys, numpy as np, pyarrow as pa, rankstone as rs
from tests.effort import share_without_signals

form, rows = sys.argv[1], int(sys.argv[2])
ids = [f"item {n:09}" for n in np.random.default_rng(0).permutation(rows)]
zeros, ones = np.zeros(rows, int), np.ones(rows)
truth, run = {
    "columns": lambda: (rs.columns(query=zeros, item=pa.array(ids), grade=ones),
                        rs.columns(query=zeros, item=pa.array(ids), score=ones)),
    "dicts": lambda: ({"q": dict.fromkeys(ids, 1)}, {"q": dict.fromkeys(ids, 1.0)}),
    "a short truth": lambda: ({"q": ids[:9]}, {"q": dict(zip(ids, range(rows)))}),
    "lists": lambda: ({"q": ids[::-1]}, {"q": ids}),
}[form]()

print(share_without_signals(lambda: rs.evaluate(truth, run, "ap")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "rows"), [("columns", 1_000_000), ("dicts", 1_000_000), ("a short truth", 4_000_000), ("lists", 1_000_000)]
)
def test_signals_are_heard_within_one_query(form: str, rows: int) -> None:
    """The longest share of the CPU time in which no signal is heard: 0.6 and more where the core does not look."""
    command = [sys.executable, "-c", SIGNALLED, form, str(rows)]
    root = Path(__file__).parents[2]  # of the package `tests`
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, cwd=root)
    assert float(ended.stdout) < 1 / 2
