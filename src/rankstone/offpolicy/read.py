"""A log as people have it becomes one form: rows by list and place, with the probabilities of both policies."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.data.arrow import arrow_table, as_array, as_column, encoded, is_table, numbers, plain, plain_ids
from rankstone.data.files import is_path, read_table
from rankstone.data.roles import ROLES, Given, find_all, refuse_unknown
from rankstone.errors import DataError, FileError
from rankstone.metrics.declaration import ByName
from rankstone.offpolicy.form import CHANGES, FORMS, Logged
from rankstone.offpolicy.policies import NEAR, AtPlaces, Looked, Policy, PseudoInverse, Values, look, unseen

if TYPE_CHECKING:
    from rankstone.typing import Arrow, Column, Id, Path

    Table = Arrow | Path | Mapping[str, object]

_PARTS = {"propensity": "logged probabilities", "target": "probabilities of the target"}
_SAY = "weight='list' (of the whole list), 'item' (of each item at its place) or 'cascade' (of the list so far)"


@dataclass(frozen=True)
class Origin:
    """Where rows come from, for errors."""

    path: str | None = None
    first: int = 1  # line of a file

    def refuse(self, problem: str, kind: str, row: int, where: str = "") -> NoReturn:
        """Stop at a row."""
        if self.path is not None:
            raise FileError(self.path, f"{problem}{where}", self.first + row)
        raise DataError(f"row {row}{where}: {problem}", kind, "log", row=row)


def read(
    data: Table | None, columns: Given | None, given: Mapping[str, object], items: Sequence[Id] | None, zero: bool
) -> Log:
    """The log of a table, a file or arrays. zero: places are from 0, where nothing tells."""
    origin, named, roles = Origin(), columns or {}, ROLES["log"]
    values: dict[str, Any] = {role: value for role, value in given.items() if value is not None}
    refuse_unknown(named, roles)
    table: Any = {} if data is None else data
    if is_path(data):
        table, first = read_table(data)
        origin = Origin(os.fspath(data), first)
    if isinstance(table, Mapping):
        table = {name: column for name, column in table.items() if column is not None}
    elif not is_table(table):
        raise TypeError(
            "a log is a table, a dict of columns, a file, or arrays by name (reward=, propensity=), not a "
            f"{type(data).__name__}"
        )
    else:
        table = arrow_table(table)
    names = list(table) if isinstance(table, dict) else table.column_names
    found = {} if data is None else find_all(names, roles, "log", named, optional=roles)
    for role, name in found.items():
        if role in values:
            raise ValueError(f"{role} is given and in the table, too; columns={{{role!r}: None}} leaves that out")
        values[role] = table[name]
    if "reward" not in values:
        raise ValueError("there is no reward; give reward=, or name its column: columns={'reward': ...}")
    by_place = any(np.ndim(values[role]) == 3 for role in ("target", "predicted") if role in values)
    if "place" in values and "list" not in {*values, *named} and not by_place:
        raise ValueError(
            "rows have places, and no list says which of them were shown together: give list=, or "
            "columns={'list': None} where each row was shown by itself"
        )
    return Log(values, origin, items, zero)


class Log:
    """The rows of a log in order: by list as it comes, then by place."""

    def __init__(self, given: Mapping[str, object], origin: Origin, items: Sequence[Id] | None, zero: bool) -> None:
        values: dict[str, Any] = dict(given)
        self.origin, self._values, self._columns, self._zero = origin, values, items, zero
        reward = number_array("reward", values["reward"])
        self.rows = len(reward)
        if not self.rows:
            raise ValueError("the log has no rows")
        if not np.isfinite(float(reward.sum())):
            self._refuse(missing(reward), "reward is missing, or not finite", "missing")
        for role in (role for role in ("list", "place", "item") if role in values):
            values[role] = self._whole_length(as_column(role, values[role]), f"as {role}")
        self._looked: Looked | None = None
        self._ratios: dict[str, Floats] = {}
        self._foretold: dict[str, tuple[Floats, Floats]] = {}
        self.order: Ints | None = None
        self.offsets: Ints | None = None
        self.place: Ints = np.broadcast_to(np.ones(1, dtype=np.int64), self.rows)
        if "list" in values:
            self._group(values["list"])
        self.reward = self.ordered(reward)

    # -- rows ------------------------------------------------------------------------------------------------

    def _whole_length(self, values: Any, what: str) -> Any:
        if len(values) != self.rows:
            raise ValueError(f"there are {self.rows} rewards, but {len(values)} {what}")
        return values

    def ordered(self, values: Values) -> Values:
        """Values of the rows as given, by list and place."""
        return values if self.order is None else values[self.order]

    @cached_property
    def places(self) -> int:
        """The length of the longest list."""
        return 1 if self.offsets is None else int(np.diff(self.offsets).max())

    def __len__(self) -> int:
        return self.rows if self.offsets is None else len(self.offsets) - 1

    @cached_property
    def lists(self) -> Sequence[Any]:
        """The lists' ids, as they come; numbers from 0 where they have none."""
        if self.offsets is None:
            return range(self.rows)
        first = self.offsets[:-1] if self.order is None else self.order[self.offsets[:-1]]
        return plain_ids(self._values["list"], first)

    def _group(self, column: Any) -> None:
        ids, code = encoded(column)
        self._refuse(code < 0, "list is missing", "missing")
        sizes = np.bincount(code)
        self.offsets = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(self.rows) - np.repeat(self.offsets[:-1], sizes) + 1
        if "place" not in self._values:
            if len(sizes) != self.rows:
                raise ValueError(
                    "lists of several rows need places, so that the order of the rows changes nothing: give place=, or "
                    "name the column: columns={'place': ...}"
                )
            return
        place = self._whole("place")
        order = np.lexsort((place, code))
        ordered = place[order]
        first = int(place.min())
        wrong = ordered != within + first - 1 if first in (0, 1) else np.ones(self.rows, dtype=bool)
        if wrong.any():
            at = int(np.argmax(wrong))
            row = int(order[at])
            twice = at > 0 and within[at] > 1 and ordered[at] == ordered[at - 1]
            due = within[at] + min(max(first, 0), 1) - 1
            problem = "is there twice" if twice else f"comes where place {due} is due"
            self.origin.refuse(
                f"place {ordered[at]} {problem}; the places of a list go from 0 or from 1, without holes",
                "shape", row, f" (list {ids[int(code[row])].as_py()!r})",
            )  # fmt: skip
        self.place = within
        if not np.array_equal(order, np.arange(self.rows)):
            self.order = order

    def _whole(self, role: str) -> Ints:
        found = number_array(role, self._values[role])
        self._refuse(missing(found), f"{role} is missing", "missing")
        self._refuse(found != np.floor(found), f"{role} is not a whole number", "number")
        return found.astype(np.int64)

    def _refuse(self, bad: Bools, problem: str, kind: str = "number") -> None:
        """Stop at the first bad row, of the rows as given."""
        if bad.any():
            row = int(np.argmax(bad))
            where = f" (list {plain_ids(self._values['list'], np.array([row]))[0]!r})" if "list" in self._values else ""
            self.origin.refuse(problem, kind, row, where)

    # -- items -----------------------------------------------------------------------------------------------

    @property
    def _item(self) -> Any:
        if "item" not in self._values:
            raise ValueError("which item was shown? Give item=, or name the column: columns={'item': ...}")
        return self._values["item"]

    @cached_property
    def items(self) -> list[Any]:
        """The items' ids, by list and place."""
        return plain_ids(self._item, self.order)

    @cached_property
    def shown(self) -> list[tuple[Hashable, ...]]:
        """The items of each list."""
        ends = range(self.rows + 1) if self.offsets is None else self.offsets.tolist()
        return [tuple(self.items[begin:end]) for begin, end in pairwise(ends)]

    def _codes(self, count: int) -> Ints:
        """Which column of a matrix is that of the item that was shown; of the rows as given."""
        column = self._item
        if self._columns is not None:
            where = {item: at for at, item in enumerate(self._columns)}
            if len(where) != count or len(self._columns) != count:
                raise ValueError(f"items= has {len(self._columns)} ids, and the matrix {count} columns")
            found = np.array([where.get(item, -1) for item in plain_ids(column)])
            self._refuse(found < 0, "its item is not among items=", "id")
            return found
        if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu"):
            ids = plain_ids(column)
            if not all(isinstance(item, int) for item in ids):
                raise ValueError("items that are not numbers of columns need items=, the ids of a matrix's columns")
            column = np.array(ids)
        if column.min() < 0 or column.max() >= count:
            outside = (column < 0) | (column >= count)
            self._refuse(outside, f"its item is no column of the matrix, 0 to {count - 1}", "id")
        return column

    # -- matrices --------------------------------------------------------------------------------------------

    def _matrix(self, role: str, given: Any) -> Any:
        """A row a row and a column an item; of three dimensions, those of the row's place."""
        matrix = exact(as_array(given))
        if matrix.shape[0] != self.rows:
            raise ValueError(f"there are {self.rows} rewards, but {role} has {matrix.shape[0]} rows")
        if matrix.ndim == 2:
            return matrix
        if matrix.ndim != 3 or self.offsets is not None:
            raise ValueError(f"{role} has the shape {matrix.shape}; give a row a row of the log, and a column an item")
        count = matrix.shape[2]
        if count == 1:
            return matrix[:, :, 0]
        if "place" not in self._values:
            raise ValueError(f"{role} has {count} places; say at which each row was shown: place=")
        place = self._whole("place")
        low, high = int(place.min()), int(place.max())
        if not (low == 0 or high == count or self._zero):
            raise ValueError(
                f"places {low} to {high} of {count}: it cannot be told whether they are from 0 or from 1; with "
                "convention='obp' they are from 0"
            )
        place = place - (0 if low == 0 or high < count else 1)
        self._refuse((place < 0) | (place >= count), f"its place is none of the {count} that {role} has", "shape")
        return AtPlaces(matrix, place)

    @cached_property
    def _target(self) -> Any:
        """The target's probabilities of all items at each row, as given; None if they are not known."""
        given = self._values.get("target")
        known = given is not None and not isinstance(given, Mapping) and np.ndim(given) > 1
        return self._matrix("target", given) if known else None

    def _look(self, predicted: Any) -> Looked:
        """The target's probabilities, checked, and what is predicted."""
        matrix = self._target
        if predicted is not None and predicted.shape != matrix.shape:
            raise ValueError(f"target has the shape {matrix.shape}, predicted has {predicted.shape}")
        self._looked = look(matrix, predicted, self._codes(matrix.shape[1]))
        if not self._looked.sound:
            matrix = matrix[:]
            self._refuse(~(matrix >= 0).all(axis=1), "a probability of the target is below 0, or missing")
            sums = matrix.sum(axis=1)
            off = abs(sums - 1) > NEAR
            self._refuse(off, f"the target's probabilities add up to {float(sums[int(np.argmax(off))]):g}, not 1")
        return self._looked

    # -- probabilities ---------------------------------------------------------------------------------------

    def forms(self) -> tuple[str, ...]:
        """What weights can be made of; all there is, where that is to be said."""
        given = [self._values.get(side) for side in ("propensity", "target")]
        if all(map(_is_policy, given)):
            return FORMS
        if any(name.startswith(("item_", "cascade_")) for name in self._values) or any(map(_is_named, given)):
            return tuple(form for form in FORMS[:3] if all(self._named(side, form) is not None for side in _PARTS))
        return ()

    def _named(self, side: str, form: str) -> Any:
        """Probabilities that say what they are of."""
        given = self._values.get(side)
        if _is_named(given):
            return given.get(form)
        return given if form == "list" or _is_policy(given) else self._values.get(f"{form}_{side}")

    def probabilities(self, side: str, form: str) -> Floats:
        """The probabilities of one policy, one a row, by list and place."""
        given = self._named(side, form) if self.forms() else self._values.get(side)
        name = _PARTS[side]
        if given is None:
            of = f" for weight={form!r}" if self.places > 1 else ""
            raise ValueError(f"there are no {name}{of}: give {side}=, or name the column: columns={{{side!r}: ...}}")
        if _is_policy(given):
            pairs = zip(self._policies[side], self.shown, strict=True)
            found = exact(np.array([one for policy, items in pairs for one in policy.rows(form, items)]))
            return self._checked(found, side, form)
        if np.ndim(given) > 1:
            if side == "target":
                picked = (self._looked or self._look(None)).picked
            else:
                matrix = self._matrix(side, given)
                picked = look(matrix, None, self._codes(matrix.shape[1])).picked
            return self._joined(self._checked(self.ordered(picked), side, "item"), form)
        return self._checked(self.ordered(self._whole_length(number_array(side, given), name)), side, form)

    def _joined(self, steps: Floats, form: str) -> Floats:
        """Probabilities of each item after those above it, as those of the list so far, or of all of it."""
        if self.offsets is None or form == "item":
            return steps
        sizes = np.diff(self.offsets)
        so_far = steps.copy()
        for place in range(2, self.places + 1):
            at = self.offsets[:-1][sizes >= place] + place - 1
            so_far[at] = so_far[at - 1] * so_far[at]
        return so_far if form == "cascade" else np.repeat(so_far[self.offsets[1:] - 1], sizes)

    def _checked(self, found: Floats, side: str, form: str) -> Floats:
        name = "propensity" if side == "propensity" else "the target's probability"
        above = operator.gt if side == "propensity" else operator.ge
        if not (above(found.min(), 0) and found.max() <= 1 + 1e-9):
            sound = above(found, 0) & (found <= 1 + 1e-9)
            span = "above 0 and at most 1" if side == "propensity" else "from 0 to 1"
            self._refuse_placed(~sound, f"{name} is {found[np.argmin(sound)]}; it must be {span}")
        if self.offsets is None or self.places == 1 or form == "item":
            return found
        before = np.roll(found, 1)
        inside = self.place > 1
        if form == "list":
            self._refuse_placed(
                inside & ~(abs(found - before) <= 1e-9 * before),
                f"{name} differs from that of the place above; with weight='list' it is that of the whole list",
            )
        self._refuse_placed(
            inside & ~(found <= before * (1 + 1e-9)),
            f"{name} is above that of the place above; with weight='cascade' it is that of the list so far, the "
            "product of what each item had after those above it",
        )
        return found

    def _refuse_placed(self, bad: Bools, problem: str) -> None:
        """Stop at the first bad row, by list and place."""
        if not bad.any():
            return
        at = int(np.argmax(bad))
        row = at if self.order is None else int(self.order[at])
        where = ""
        if self.offsets is not None:
            number = int(np.searchsorted(self.offsets, at, "right")) - 1
            where = f" (list {self.lists[number]!r}, place {self.place[at]})"
        self.origin.refuse(problem, "number", row, where)

    # -- policies --------------------------------------------------------------------------------------------

    @cached_property
    def _policies(self) -> dict[str, list[Policy]]:
        """By side the policy of each list."""
        out: dict[str, list[Policy]] = {}
        for side, what in _PARTS.items():
            given = self._values.get(side)
            if not _is_policy(given):
                continue
            by_list = any(isinstance(value, Mapping) for value in given.values())
            policies: dict[int, Policy] = {}
            out[side] = []
            for name in self.lists:
                if by_list and name not in given:
                    raise DataError(f"{what}: there are none for list {name!r}", "missing", "log", query=name)
                lists = given[name] if by_list else given
                if id(lists) not in policies:
                    policies[id(lists)] = Policy(lists, what)
                out[side].append(policies[id(lists)])
        for several in out.values():
            for name, policy, items in zip(self.lists, several, self.shown, strict=True):
                if len(items) != policy.places:
                    raise DataError(
                        f"list {name!r} has {len(items)} items, and the policy's lists have {policy.places}",
                        "shape", "log", query=name,
                    )  # fmt: skip
        return out

    @cached_property
    def unseen(self) -> float:
        """The share of the target's lists that the log can never have; 0 where that is not known."""
        if len(self._policies) < 2:
            return 0.0
        return max(unseen(*pair) for pair in set(zip(*self._policies.values(), strict=True)))

    # -- weights and predictions -----------------------------------------------------------------------------

    def ratio(self, form: str) -> Floats:
        """The target's probability over the logged one."""
        if form not in self._ratios:
            self._ratios[form] = (
                self._pseudo_inverse()
                if form == "pseudo_inverse"
                else self.probabilities("target", form) / self.probabilities("propensity", form)
            )
        return self._ratios[form]

    def _pseudo_inverse(self) -> Floats:
        if not all(_is_policy(self._values.get(side)) for side in _PARTS):
            raise ValueError("weight='pseudo_inverse' needs both policies as a whole: {(item, item): probability, ...}")
        self.probabilities("propensity", "list")  # refuses lists that cannot have been logged
        made, lists = cache(PseudoInverse), zip(*self._policies.values(), self.shown, strict=True)
        return np.concatenate([made(*pair).rows(items) for *pair, items in lists])

    def foretold(self, form: str) -> tuple[Floats, Floats]:
        """What is predicted of the item that was shown, and of what the target shows at the place."""
        if form not in self._foretold:
            self._foretold[form] = self._foretell(form)
        return self._foretold[form]

    def _foretell(self, form: str) -> tuple[Floats, Floats]:
        given = self._values.get("predicted")
        if given is None:
            raise ValueError("there are no predictions: give predicted=, a row for each row and a column for each item")
        if self.places > 1 and form in ("list", "pseudo_inverse"):
            raise ValueError(f"predictions of lists need weight='cascade' or 'item', not {form!r}")
        if np.ndim(given) == 1:
            if "expected" not in self._values:
                raise ValueError(
                    "predicted= has one number a row; give expected=, what the predictions make of the target, too, or "
                    "predicted= and target= with a column for each item"
                )
            both = {role: number_array(role, self._values[role]) for role in ("predicted", "expected")}
            for role, found in both.items():
                self._refuse(missing(self._whole_length(found, f"as {role}")), f"{role} is missing, or not finite")
            return self.ordered(both["predicted"]), self.ordered(both["expected"])
        predicted = self._matrix("predicted", given)
        if "target" in self._policies:
            looked = look(self._shares(form, predicted.shape[1]), predicted, self._codes(predicted.shape[1]))
        elif self._target is not None:
            looked = self._look(predicted)
        else:
            raise ValueError("predictions need the target's probabilities of all items: target= with a column an item")
        shown, expected = looked.shown, looked.expected
        if not (np.isfinite(float(shown.sum())) and np.isfinite(float(expected.sum()))):
            self._refuse(missing(expected) | missing(shown), "a prediction is missing, or not finite")
        return self.ordered(shown), self.ordered(expected)

    def _shares(self, form: str, columns: int) -> Any:
        """The target's probabilities of all items at each row as given, from the policy as a whole."""
        known = list(range(columns)) if self._columns is None else list(self._columns)
        rows = []
        for name, policy, items in zip(self.lists, self._policies["target"], self.shown, strict=True):
            lost = [item for item in policy.known if item not in known]
            if lost:
                raise DataError(
                    f"list {name!r}: the target shows {lost[0]!r}, of which nothing is predicted", "id", "log"
                )
            rows += policy.shares(form, items, known)
        found = exact(np.array(rows))
        if self.order is None:
            return found
        back = np.empty_like(found)
        back[self.order] = found
        return back

    @property
    def predicts(self) -> bool:
        """Are there predictions."""
        return "predicted" in self._values

    def view(self, parameters: ByName) -> Logged:
        """The log as an estimator with these parameters sees it."""
        form = self.form(parameters["weight"])
        choices = {name: value for name, value in parameters.items() if name in CHANGES}
        ratio, foretold = partial(self.ratio, form), partial(self.foretold, form)
        offsets, conditional = (self.offsets, form != "item") if self.places > 1 else (None, False)
        return Logged(self.reward, ratio, choices, self.place, offsets, foretold, conditional)

    def form(self, weight: str | None) -> str:
        """What probabilities are of, where that makes a difference."""
        if weight is not None:
            return weight
        if self.places > 1:
            raise ValueError(f"lists of up to {self.places} places: say what the probabilities are of, {_SAY}")
        known = self.forms() or FORMS  # which of one place are all the same
        return known[0]


def _is_named(given: object) -> TypeGuard[Mapping[str, Any]]:
    """Is it a dict of probabilities by what they are of."""
    return isinstance(given, Mapping) and bool(given) and set(given) <= set(FORMS)


def _is_policy(given: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(given, Mapping) and not _is_named(given)


def exact(array: Values) -> Values:
    """Floats; fractions stay as they are, so that what is made of them is exact."""
    if array.dtype == object and all(isinstance(one, (Fraction, int)) for one in array.flat):
        return array
    return array.astype(np.float64, copy=False)


def number_array(role: str, values: Column) -> Values:
    """A column of numbers; NaN where one is missing."""
    if isinstance(values, (list, tuple)) and any(isinstance(one, Fraction) for one in values):
        values = np.array(values, dtype=object)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        try:
            return exact(values)
        except (TypeError, ValueError):
            pass
    column = numbers(as_column(role, values))
    if not isinstance(column, np.ndarray):
        import pyarrow

        try:
            column = plain(column).cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
            raise TypeError(f"{role} holds {pyarrow.array(column).type}, not numbers") from None
    return column.astype(np.float64, copy=False)


def missing(array: Values) -> Bools:
    """Where there is no finite number."""
    return np.zeros(len(array), dtype=bool) if array.dtype == object else ~np.isfinite(array)
