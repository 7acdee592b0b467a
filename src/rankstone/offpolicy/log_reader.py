"""Read a log in any form: rows by list and position, with the probabilities of both policies."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.data.arrow import arrow_table, as_array, as_column, encoded, is_table, numbers, plain, plain_ids
from rankstone.data.files import is_path, read_table
from rankstone.data.roles import ROLES, RoleMap, check_roles, find_all
from rankstone.errors import DataError, FileError, InputError, InputTypeError, is_finite
from rankstone.metrics.declaration import ByName
from rankstone.offpolicy.logged_data import CHANGES, FORMS, LoggedData
from rankstone.offpolicy.policies import (
    NEAR,
    AtPlaces,
    Policy,
    PseudoInverse,
    TargetLookup,
    Values,
    look_up,
    unsupported,
)

if TYPE_CHECKING:
    from rankstone.typing import Arrow, Column, Id, Path

    Table: TypeAlias = Arrow | Path | Mapping[str, object]

_PARTS = {"propensity": "propensities", "target": "target probabilities"}
_WEIGHT_VALUES = (
    "weight='list' (of the whole list), 'item' (of each item at its position) or 'cascade' (of the list down to it)"
)


@dataclass(frozen=True)
class LogOrigin:
    """Origin of the rows, for error messages."""

    path: str | None = None
    first: int = 1  # line of a file

    def raise_at(self, problem: str, kind: str, row: int, where: str = "") -> NoReturn:
        """Raise an error for a row."""
        if self.path is not None:
            raise FileError(self.path, f"{problem}{where}", self.first + row)
        raise DataError(f"row {row}{where}: {problem}", kind, "log", row=row)


def read(
    data: Table | None, columns: RoleMap | None, values: Mapping[str, object], items: Sequence[Id] | None, zero: bool
) -> Log:
    """Read a log from a table, a file or arrays; `zero`: ambiguous positions count from 0."""
    origin, named, roles = LogOrigin(), columns or {}, ROLES["log"]
    by_role: dict[str, Any] = {role: value for role, value in values.items() if value is not None}
    check_roles(named, roles)
    table: Any = {} if data is None else data
    if is_path(data):
        table, first = read_table(data)
        origin = LogOrigin(os.fspath(data), first)
    if isinstance(table, Mapping):
        table = {name: column for name, column in table.items() if column is not None}
    elif not is_table(table):
        raise InputTypeError(
            "a log is a table, a dict of columns, a file, or arrays by name (reward=, propensity=), not a "
            f"{type(data).__name__}"
        )
    else:
        table = arrow_table(table)
    names = list(table) if isinstance(table, dict) else table.column_names
    role_columns = {} if data is None else find_all(names, roles, "log", named, optional=roles)
    if "action" in names and "item" not in {*role_columns, *by_role, *named}:  # as obp calls it; an event elsewhere
        role_columns["item"] = "action"
    for role, name in role_columns.items():
        if role in by_role:
            raise InputError(
                f"{role}= was passed and the table has it too; columns={{{role!r}: None}} ignores the column"
            )
        by_role[role] = table[name]
    if "reward" not in by_role:
        raise InputError("no reward; pass reward=, or name its column: columns={'reward': ...}")
    by_place = any(np.ndim(by_role[role]) == 3 for role in ("target", "predicted") if role in by_role)
    if "place" in by_role and "list" not in {*by_role, *named} and not by_place:
        raise InputError(
            "rows have positions but no list ids: pass list=, or columns={'list': None} if each row is its own list"
        )
    return Log(by_role, origin, items, zero)


class Log:
    """The rows of a log, sorted by list in order of appearance, then by position."""

    def __init__(
        self, by_role: Mapping[str, object], origin: LogOrigin, items: Sequence[Id] | None, zero: bool
    ) -> None:
        values: dict[str, Any] = dict(by_role)
        self.origin, self._values, self._columns, self._zero = origin, values, items, zero
        reward = number_array("reward", values["reward"])
        self.rows = len(reward)
        if not self.rows:
            raise InputError("the log has no rows")
        if not np.isfinite(float(reward.sum())):
            self._check(missing(reward), "reward is missing, or not finite", "missing")
        for role in (role for role in ("list", "place", "item") if role in values):
            values[role] = self._whole_length(as_column(role, values[role]), f"as {role}")
        self._lookup: TargetLookup | None = None
        self._ratios: dict[str, Floats] = {}
        self._predictions_by_form: dict[str, tuple[Floats, Floats]] = {}
        self.order: Ints | None = None
        self.offsets: Ints | None = None
        self.place: Ints = np.broadcast_to(np.ones(1, dtype=np.int64), self.rows)
        if "list" in values:
            self._group(values["list"])
        self.reward = self.ordered(reward)

    # -- rows ------------------------------------------------------------------------------------------------

    def _whole_length(self, values: Any, what: str) -> Any:
        if len(values) != self.rows:
            raise InputError(f"there are {self.rows} rewards, but {len(values)} {what}")
        return values

    def ordered(self, values: Values) -> Values:
        """Sort values in input order by list and position."""
        return values if self.order is None else values[self.order]

    @cached_property
    def places(self) -> int:
        """Length of the longest list."""
        return 1 if self.offsets is None else int(np.diff(self.offsets).max())

    def __len__(self) -> int:
        return self.rows if self.offsets is None else len(self.offsets) - 1

    @cached_property
    def lists(self) -> Sequence[Any]:
        """List ids in order of appearance; 0, 1, 2, ... without ids."""
        if self.offsets is None:
            return range(self.rows)
        first = self.offsets[:-1] if self.order is None else self.order[self.offsets[:-1]]
        return plain_ids(self._values["list"], first)

    def _group(self, column: Any) -> None:
        ids, code = encoded(column)
        self._check(code < 0, "list is missing", "missing")
        sizes = np.bincount(code)
        self.offsets = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(self.rows) - np.repeat(self.offsets[:-1], sizes) + 1
        if "place" not in self._values:
            if len(sizes) != self.rows:
                raise InputError(
                    "lists of several rows need positions, as the row order does not count: pass place=, or "
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
            problem = "appears twice" if twice else f"comes where place {due} is expected"
            self.origin.raise_at(
                f"place {ordered[at]} {problem}; the places of a list count from 0 or from 1, without gaps",
                "shape", row, f" (list {ids[int(code[row])].as_py()!r})",
            )  # fmt: skip
        self.place = within
        if not np.array_equal(order, np.arange(self.rows)):
            self.order = order

    def _whole(self, role: str) -> Ints:
        values = number_array(role, self._values[role])
        self._check(missing(values), f"{role} is missing", "missing")
        self._check(values != np.floor(values), f"{role} is not a whole number", "number")
        return values.astype(np.int64)

    def _check(self, bad: Bools, problem: str, kind: str = "number") -> None:
        """Raise an error for the first bad row, in input order."""
        if bad.any():
            row = int(np.argmax(bad))
            where = f" (list {plain_ids(self._values['list'], np.array([row]))[0]!r})" if "list" in self._values else ""
            self.origin.raise_at(problem, kind, row, where)

    # -- items -----------------------------------------------------------------------------------------------

    @property
    def _item(self) -> Any:
        if "item" not in self._values:
            raise InputError("no item ids; pass item=, or name the column: columns={'item': ...}")
        return self._values["item"]

    @cached_property
    def items(self) -> list[Any]:
        """Item ids, by list and position."""
        return plain_ids(self._item, self.order)

    @cached_property
    def list_items(self) -> list[tuple[Hashable, ...]]:
        """The items of each list."""
        ends = range(self.rows + 1) if self.offsets is None else self.offsets.tolist()
        return [tuple(self.items[begin:end]) for begin, end in pairwise(ends)]

    def _codes(self, count: int) -> Ints:
        """Matrix column of the logged item per row, in input order."""
        column = self._item
        if self._columns is not None:
            where = {item: at for at, item in enumerate(self._columns)}
            if len(where) != count or len(self._columns) != count:
                raise InputError(f"items= has {len(self._columns)} ids, but the matrix has {count} columns")
            codes = np.array([where.get(item, -1) for item in plain_ids(column)])
            self._check(codes < 0, "the item is not in items=", "id")
            return codes
        if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu"):
            ids = plain_ids(column)
            if not all(isinstance(item, int) for item in ids):
                raise InputError("item ids that are not column numbers need items=, the ids of the matrix columns")
            column = np.array(ids)
        if column.min() < 0 or column.max() >= count:
            outside = (column < 0) | (column >= count)
            self._check(outside, f"the item is not a column of the matrix, 0 to {count - 1}", "id")
        return column

    # -- matrices --------------------------------------------------------------------------------------------

    def _matrix(self, role: str, values: Any) -> Any:
        """A matrix with one row per row and one column per item; of a three-dimensional array, that of the position."""
        matrix = exact(as_array(values))
        if matrix.shape[0] != self.rows:
            raise InputError(f"there are {self.rows} rewards, but {role} has {matrix.shape[0]} rows")
        if matrix.ndim == 2:
            return matrix
        if matrix.ndim != 3 or self.offsets is not None:
            raise InputError(
                f"{role} has the shape {matrix.shape}; pass one row per row of the log and one column per item"
            )
        count = matrix.shape[2]
        if count == 1:
            return matrix[:, :, 0]
        if "place" not in self._values:
            raise InputError(f"{role} has {count} positions; pass the position of each row: place=")
        place = self._whole("place")
        low, high = int(place.min()), int(place.max())
        if not (low == 0 or high == count or self._zero):
            raise InputError(
                f"places {low} to {high} of {count} are ambiguous: they may count from 0 or from 1; with "
                "convention='obp' they count from 0"
            )
        place = place - (0 if low == 0 or high < count else 1)
        self._check((place < 0) | (place >= count), f"the place is not one of the {count} of {role}", "shape")
        return AtPlaces(matrix, place)

    @cached_property
    def _target(self) -> Any:
        """The target policy's probabilities of all items per row, in input order; None without a matrix."""
        target = self._values.get("target")
        is_matrix = target is not None and not isinstance(target, Mapping) and np.ndim(target) > 1
        return self._matrix("target", target) if is_matrix else None

    def _look_up(self, predicted: Any) -> TargetLookup:
        """The target policy's probabilities, checked, and the predictions."""
        matrix = self._target
        if predicted is not None and predicted.shape != matrix.shape:
            raise InputError(f"target has the shape {matrix.shape}, but predicted has {predicted.shape}")
        self._lookup = look_up(matrix, predicted, self._codes(matrix.shape[1]))
        if not self._lookup.valid:
            matrix = matrix[:]
            self._check(~(matrix >= 0).all(axis=1), "a target probability is below 0, or missing")
            sums = matrix.sum(axis=1)
            off = abs(sums - 1) > NEAR
            self._check(off, f"the target probabilities add up to {float(sums[int(np.argmax(off))]):g}, not 1")
        return self._lookup

    # -- probabilities ---------------------------------------------------------------------------------------

    def forms(self) -> tuple[str, ...]:
        """The values of `weight` that the data supports; empty if any one of them may be chosen."""
        sides = [self._values.get(side) for side in ("propensity", "target")]
        if all(map(_is_policy, sides)):
            return FORMS
        if any(name.startswith(("item_", "cascade_")) for name in self._values) or any(map(_is_named, sides)):
            return tuple(form for form in FORMS[:3] if all(self._named(side, form) is not None for side in _PARTS))
        return ()

    def _named(self, side: str, form: str) -> Any:
        """Probabilities of one policy that are labelled with a form."""
        values = self._values.get(side)
        if _is_named(values):
            return values.get(form)
        return values if form == "list" or _is_policy(values) else self._values.get(f"{form}_{side}")

    def probabilities(self, side: str, form: str) -> Floats:
        """The probabilities of one policy, one per row, by list and position."""
        values = self._named(side, form) if self.forms() else self._values.get(side)
        name = _PARTS[side]
        if values is None:
            of = f" for weight={form!r}" if self.places > 1 else ""
            raise InputError(f"no {name}{of}: pass {side}=, or name the column: columns={{{side!r}: ...}}")
        if _is_policy(values):
            pairs = zip(self._policies[side], self.list_items, strict=True)
            rows = exact(np.array([chance for policy, items in pairs for chance in policy.rows(form, items)]))
            return self._checked(rows, side, form)
        if np.ndim(values) > 1:
            if side == "target":
                picked = (self._lookup or self._look_up(None)).probability
            else:
                matrix = self._matrix(side, values)
                picked = look_up(matrix, None, self._codes(matrix.shape[1])).probability
            return self._joined(self._checked(self.ordered(picked), side, "item"), form)
        return self._checked(self.ordered(self._whole_length(number_array(side, values), name)), side, form)

    def _joined(self, steps: Floats, form: str) -> Floats:
        """Products of conditional probabilities: of the list down to each position, or of the whole list."""
        if self.offsets is None or form == "item":
            return steps
        sizes = np.diff(self.offsets)
        so_far = steps.copy()
        for place in range(2, self.places + 1):
            at = self.offsets[:-1][sizes >= place] + place - 1
            so_far[at] = so_far[at - 1] * so_far[at]
        return so_far if form == "cascade" else np.repeat(so_far[self.offsets[1:] - 1], sizes)

    def _checked(self, values: Floats, side: str, form: str) -> Floats:
        name = "propensity" if side == "propensity" else "target probability"
        above = operator.gt if side == "propensity" else operator.ge
        if not (above(values.min(), 0) and values.max() <= 1 + 1e-9):
            valid = above(values, 0) & (values <= 1 + 1e-9)
            span = "above 0 and at most 1" if side == "propensity" else "from 0 to 1"
            self._check_sorted(~valid, f"{name} is {values[np.argmin(valid)]}; it must be {span}")
        if self.offsets is None or self.places == 1 or form == "item":
            return values
        before = np.roll(values, 1)
        inside = self.place > 1
        if form == "list":
            self._check_sorted(
                inside & ~(abs(values - before) <= 1e-9 * before),
                f"{name} differs from that of the position above; with weight='list' it is that of the whole list",
            )
        self._check_sorted(
            inside & ~(values <= before * (1 + 1e-9)),
            f"{name} exceeds that of the position above; with weight='cascade' it is that of the list down to the "
            "position, the product of the conditional probabilities",
        )
        return values

    def _check_sorted(self, bad: Bools, problem: str) -> None:
        """Raise an error for the first bad row, by list and position."""
        if not bad.any():
            return
        at = int(np.argmax(bad))
        row = at if self.order is None else int(self.order[at])
        where = ""
        if self.offsets is not None:
            number = int(np.searchsorted(self.offsets, at, "right")) - 1
            where = f" (list {self.lists[number]!r}, place {self.place[at]})"
        self.origin.raise_at(problem, "number", row, where)

    # -- policies --------------------------------------------------------------------------------------------

    @cached_property
    def _policies(self) -> dict[str, list[Policy]]:
        """The policy of each list, by side."""
        out: dict[str, list[Policy]] = {}
        for side, what in _PARTS.items():
            distribution = self._values.get(side)
            if not _is_policy(distribution):
                continue
            by_list = any(isinstance(value, Mapping) for value in distribution.values())
            policies: dict[int, Policy] = {}
            out[side] = []
            for name in self.lists:
                if by_list and name not in distribution:
                    raise DataError(f"{what}: none for list {name!r}", "missing", "log", query=name)
                lists = distribution[name] if by_list else distribution
                if id(lists) not in policies:
                    policies[id(lists)] = Policy(lists, what)
                out[side].append(policies[id(lists)])
        for several in out.values():
            for name, policy, items in zip(self.lists, several, self.list_items, strict=True):
                if len(items) != policy.places:
                    raise DataError(
                        f"list {name!r} has {len(items)} items, but the lists of the policy have {policy.places}",
                        "shape", "log", query=name,
                    )  # fmt: skip
        return out

    @cached_property
    def unsupported(self) -> float:
        """Probability of the target policy's lists that the log never has; 0 if it cannot be computed."""
        if len(self._policies) < 2:
            return 0.0
        return max(unsupported(*pair) for pair in set(zip(*self._policies.values(), strict=True)))

    # -- weights and predictions -----------------------------------------------------------------------------

    def ratio(self, form: str) -> Floats:
        """Importance weights: target probability / propensity."""
        if form not in self._ratios:
            self._ratios[form] = (
                self._pseudo_inverse()
                if form == "pseudo_inverse"
                else self.probabilities("target", form) / self.probabilities("propensity", form)
            )
        return self._ratios[form]

    def _pseudo_inverse(self) -> Floats:
        if not all(_is_policy(self._values.get(side)) for side in _PARTS):
            raise InputError(
                "weight='pseudo_inverse' needs both policies as distributions over lists: {(item, item): p, ...}"
            )
        self.probabilities("propensity", "list")  # checks that the logged lists are possible
        inverse, lists = cache(PseudoInverse), zip(*self._policies.values(), self.list_items, strict=True)
        return np.concatenate([inverse(*pair).rows(items) for *pair, items in lists])

    def predictions(self, form: str) -> tuple[Floats, Floats]:
        """Predicted rewards of the logged items, and their expectations under the target policy."""
        if form not in self._predictions_by_form:
            self._predictions_by_form[form] = self._predict(form)
        return self._predictions_by_form[form]

    def _predict(self, form: str) -> tuple[Floats, Floats]:
        values = self._values.get("predicted")
        if values is None:
            raise InputError("no predictions: pass predicted=, with one row per row and one column per item")
        if self.places > 1 and form in ("list", "pseudo_inverse"):
            raise InputError(f"predictions of lists need weight='cascade' or 'item', not {form!r}")
        if np.ndim(values) == 1:
            if "expected" not in self._values:
                raise InputError(
                    "predicted= has one value per row; also pass expected=, their mean under the target policy, "
                    "or predicted= and target= with one column per item"
                )
            both = {role: number_array(role, self._values[role]) for role in ("predicted", "expected")}
            for role, column in both.items():
                self._check(missing(self._whole_length(column, f"as {role}")), f"{role} is missing, or not finite")
            return self.ordered(both["predicted"]), self.ordered(both["expected"])
        predicted = self._matrix("predicted", values)
        if "target" in self._policies:
            lookup = look_up(self._shares(form, predicted.shape[1]), predicted, self._codes(predicted.shape[1]))
        elif self._target is not None:
            lookup = self._look_up(predicted)
        else:
            raise InputError("predictions need the target probabilities of all items: target= with one column per item")
        logged, expected = lookup.predicted, lookup.expected
        if not (np.isfinite(float(logged.sum())) and np.isfinite(float(expected.sum()))):
            self._check(missing(expected) | missing(logged), "a prediction is missing, or not finite")
        return self.ordered(logged), self.ordered(expected)

    def _shares(self, form: str, columns: int) -> Any:
        """The target policy's probabilities of all items per row, in input order, from the distribution over lists."""
        catalogue = list(range(columns)) if self._columns is None else list(self._columns)
        rows = []
        for name, policy, items in zip(self.lists, self._policies["target"], self.list_items, strict=True):
            missing_items = [item for item in policy.items if item not in catalogue]
            if missing_items:
                raise DataError(
                    f"list {name!r}: the target policy shows {missing_items[0]!r}, which has no prediction", "id", "log"
                )
            rows += policy.shares(form, items, catalogue)
        matrix = exact(np.array(rows))
        if self.order is None:
            return matrix
        back = np.empty_like(matrix)
        back[self.order] = matrix
        return back

    @property
    def predicts(self) -> bool:
        """Whether there are predictions."""
        return "predicted" in self._values

    def view(self, parameters: ByName) -> LoggedData:
        """The input of an estimator with these parameters."""
        form = self.form(parameters["weight"])
        choices = {name: value for name, value in parameters.items() if name in CHANGES}
        ratio, predictions = partial(self.ratio, form), partial(self.predictions, form)
        offsets, conditional = (self.offsets, form != "item") if self.places > 1 else (None, False)
        return LoggedData(self.reward, ratio, choices, self.place, offsets, predictions, conditional)

    def form(self, weight: str | None) -> str:
        """What the probabilities refer to; any form for lists of one item."""
        if weight is not None:
            return weight
        if self.places > 1:
            raise InputError(
                f"lists of up to {self.places} positions: set what the probabilities refer to, {_WEIGHT_VALUES}"
            )
        forms = self.forms() or FORMS  # all the same for lists of one item
        return forms[0]


def _is_named(values: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a dict of probabilities by form."""
    return isinstance(values, Mapping) and bool(values) and set(values) <= set(FORMS)


def _is_policy(values: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(values, Mapping) and not _is_named(values)


def exact(array: Values) -> Values:
    """Convert to floats; fractions stay as they are, for exact results."""
    if array.dtype == object and all(
        isinstance(number, (Fraction, int)) and is_finite(number) for number in array.flat
    ):
        return array
    return array.astype(np.float64, copy=False)


def number_array(role: str, values: Column) -> Values:
    """A column as numbers; NaN for missing values."""
    if isinstance(values, (list, tuple)) and any(isinstance(number, Fraction) for number in values):
        values = np.array(values, dtype=object)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        try:
            return exact(values)
        except (TypeError, ValueError, OverflowError):  # the conversion below names it
            pass
    column = numbers(as_column(role, values))
    if not isinstance(column, np.ndarray):
        import pyarrow

        try:
            column = plain(column).cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
            raise InputTypeError(f"{role} holds {pyarrow.array(column).type}, not numbers") from None
    return column.astype(np.float64, copy=False)


def missing(array: Values) -> Bools:
    """Whether the value is missing or not finite."""
    return np.zeros(len(array), dtype=bool) if array.dtype == object else ~np.isfinite(array)
