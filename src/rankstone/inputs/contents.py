"""A query's items as JSON has them: ids, `{item: score}`, pairs `[item, score]`, or objects with an id and a score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankstone.inputs.arrow import Column, text_array
from rankstone.inputs.lines import RowError, check_number, show, valid
from rankstone.inputs.roles import ROLES, find_inside, value_role

Contents = tuple[list[Any], "list[float] | None"]  # items, and their grades or scores


def contents_of(value: object, kind: str) -> Contents:
    """Items, and grades or scores if there are any. A rank becomes the score -rank."""
    role = ROLES[kind][2]
    if isinstance(value, dict):
        return _ids(list(value)), to_numbers(list(value.values()), role)
    if not isinstance(value, list):
        raise RowError(f"expected a list of items or {{item: {role}}}, found {show(value)}")
    if not value or not isinstance(value[0], (dict, list)):
        return _ids(value), None
    return _objects(value, kind) if isinstance(value[0], dict) else _pairs(value, role)


def _pairs(value: list[Any], role: str) -> Contents:
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise RowError(f"expected [item, {role}], found {show(pair)}")
    return _ids([item for item, _ in value]), to_numbers([number for _, number in value], role)


def _objects(value: list[Any], kind: str) -> Contents:
    try:
        names = find_inside(list(value[0]), kind)
    except ValueError as error:
        raise RowError(str(error)) from None
    for one in value:
        for name in names.values():
            if not (isinstance(one, dict) and name in one):
                raise RowError(f"{show(one)} has no {name!r}")
    items, role = _ids([one[names["item"]] for one in value]), value_role(names)
    if role is None:
        return items, None
    numbers = to_numbers([one[names[role]] for one in value], role)
    return items, [-rank for rank in numbers] if role == "rank" else numbers


# -- values --------------------------------------------------------------------------------------------------


def _ids(values: list[Any]) -> list[Any]:
    kinds = set(map(type, values))
    if kinds == {int} or (kinds == {str} and "".join(values).isascii()):  # as most are
        return values
    return [to_id(value, "item") for value in values]


def to_numbers(values: list[Any], role: str) -> list[float]:
    """Each of them as `to_number` has it."""
    if set(map(type, values)) == {float} and all(map(math.isfinite, values)):  # as most are
        return values
    return [to_number(value, role) for value in values]


def to_id(value: object, role: str) -> int | str:
    """An id: a whole number or valid text."""
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise RowError(f"{role} {show(value)} is neither a whole number nor a string")
    return valid(value, role)


def to_number(value: object, role: str) -> float:
    """A grade or rank that is finite, or a score that is not NaN."""
    if not isinstance(value, (int, float)):
        raise RowError(f"{role} {show(value)} is not a number")
    try:
        return check_number(float(value), role, str(value))
    except OverflowError:
        raise RowError(f"{role} {show(value)} is too large") from None


def id_column(ids: Sequence[int | str]) -> Column:
    """Whole numbers if all of them are, else strings."""
    import pyarrow

    if all(type(name) is int and -(2**63) <= name < 2**63 for name in ids):
        return pyarrow.array(ids, pyarrow.int64())
    return text_array(list(map(str, ids)))
