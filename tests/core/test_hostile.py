"""Objects that do what they should not, at the worst moment: an error or an answer, and never a crash or a hang.

`make sanitize` runs these under AddressSanitizer, where memory that is gone does not go unnoticed.
"""

import contextlib
import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core
from rankstone.data.source import Align
from rankstone.errors import DataError

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
    with contextlib.suppress(RuntimeError):
        assert align_dicts(truth, run).retrieved.tolist()[:2] == [3, 3]


def test_a_score_that_empties_its_list() -> None:
    class Score:
        def __float__(self) -> float:
            run["q"].clear()
            run.clear()
            return 1.0

    run: dict[str, Any] = {"q": {f"d{n}": Score() for n in range(9)}}
    with pytest.raises(RuntimeError, match=CHANGED):
        align_dicts({"q": ["d1"]}, run)


def test_a_grade_that_empties_its_truth() -> None:
    class Grade:
        def __index__(self) -> int:
            truth["q"].clear()
            truth.clear()
            return 1

    truth: dict[str, Any] = {"q": {f"d{n}": Grade() for n in range(9)}}
    with pytest.raises(RuntimeError, match=CHANGED):
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
    with pytest.raises(RuntimeError, match=CHANGED):
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
    with pytest.raises(RuntimeError, match=CHANGED):
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
    with pytest.raises(RuntimeError, match="__eq__ contradicts itself"):
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
        with contextlib.suppress(ZeroDivisionError, RuntimeError, TypeError, ValueError):
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
    made = _core.Stream(np.array([1, 1, 2]), np.array([1, 2, 3]), None, Align(duplicates="count"))
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
