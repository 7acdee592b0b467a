"""Results that were saved: JSON, or Parquet with the same in its metadata."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats
from rankstone.conventions.plan import Plan, make_plan
from rankstone.data.files import by_magic
from rankstone.data.lines import head_of, open_text
from rankstone.errors import FileError
from rankstone.evaluate.means import Shares, finish_of
from rankstone.evaluate.measurement import check_per_query, plain_shares
from rankstone.metrics.registry import parse_one
from rankstone.results.definition import Definition, Definitions, Plain
from rankstone.results.result import Account, Result, TieRange, UnjudgedRange

if TYPE_CHECKING:
    from rankstone.typing import Path

# A run by its name, and what it has: a level more than a truth or a run in JSON has.
_SAVED = re.compile(rb'\s*\{\s*"runs"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"')


def read_result(path: Path) -> Result | dict[str, Result]:
    """A result that was written as json or parquet, which answers as any other: means, values a query, definitions.

    A file of several runs is a dict of results, by the runs' names.
    """
    text = open_text(os.fspath(path))
    try:
        data = _of_parquet(text.data) if by_magic(text.data) else json.loads(bytes(text.view()))
        found = {name: Result.of(SavedMeasurement(saved), name) for name, saved in data["runs"].items()}
        for result in found.values():
            repr(result), [*result.per_query.values()], result.queries  # so that what is not there is missed now
        return found if len(found) != 1 else next(iter(found.values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(text.name, f"is no result that rankstone wrote as json or parquet ({error})") from None


def is_result(path: Path) -> bool:
    """Is a file a saved result, by what is in it: data can have the same name, or be JSON too."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        return False
    head = head_of(name)
    if not by_magic(head):
        return _SAVED.match(head) is not None
    import pyarrow
    import pyarrow.parquet

    try:
        about = pyarrow.parquet.read_schema(name).metadata or {}
        return bool(json.loads(about.get(b"rankstone", b"{}")).get("runs"))
    except (pyarrow.ArrowException, OSError, ValueError):  # whoever reads it will say what is wrong
        return False


def _of_parquet(data: Any) -> Any:
    """What the JSON file would hold: the metadata, and each run's rows."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    whole = json.loads((table.schema.metadata or {})[b"rankstone"])
    for name, saved in whole["runs"].items():
        rows = table if len(whole["runs"]) == 1 else table.filter(pyarrow.compute.field("run") == name)
        saved["queries"] = rows["query"].to_pylist()
        saved["per_query"] = {label: rows[label].to_pylist() for label in saved["means"]}
    return whole


class SavedMeasurement:
    """What a `Result` reads, as a file has it: no lists."""

    has_lists, present = False, None

    def __init__(self, data: Plain) -> None:
        self._data = data
        self.means = {label: _float(mean) for label, mean in data["means"].items()}
        saved = {label: Definition.from_dict(definition) for label, definition in data["definitions"].items()}
        self.definitions = Definitions(saved)
        self.account = Account(**data["account"])
        self.inputs, self.versions = dict(data["inputs"]), dict(data["versions"])
        self.convention, self.choices = data["convention"], dict(data["choices"])
        self.ties = {label: TieRange(**_floats(data["ties"][label])) for label in self.means}
        self.unjudged = (
            {label: UnjudgedRange(**_floats(ends)) for label, ends in data["unjudged"].items()}
            if "unjudged" in data
            else None
        )
        self.queries = [tuple(query) if isinstance(query, list) else query for query in data["queries"]]
        self.remarks = data["remarks"]

    @cached_property
    def _values(self) -> dict[str, Floats]:
        return {label: np.array(list(map(_float, values))) for label, values in self._data["per_query"].items()}

    @property
    def has_ties(self) -> bool:
        return self.account.tied > 0

    def plan(self, label: str) -> Plan:
        metric = parse_one(label)
        made = {name: _hashable(value) for name, value in self.definitions[label].choices.items()}
        return make_plan(metric, {name: made[name] for name in metric.declaration.defaults}, made)

    def values(self, label: str) -> Floats:
        return self._values[label]

    def shares(self, label: str) -> Shares:
        """What each query adds to the two sums of a mean."""
        plan = self.plan(label)
        check_per_query(plan)
        saved = self._data["shares"].get(label)
        if saved is None:
            return Shares(plan, finish_of(plan), *plain_shares(self.values(label)))
        top, bottom = (np.array(list(map(_float, saved[name]))) for name in ("top", "bottom"))
        return Shares(plan, finish_of(plan), top, bottom, np.array(saved["kept"], dtype=bool))

    def mean_of(self, label: str, inside: Bools) -> float:
        """The mean of some of the queries."""
        return self.shares(label).only(inside).mean()

    def has_bad(self, label: str) -> bool:
        """It may."""
        return True

    def same_truth(self, other: object) -> bool:
        """The digests tell."""
        return False

    def more(self, *_: object) -> Any:
        """What needs the lists."""
        raise ValueError("the lists are not at hand, only what was measured; evaluate the run again")

    ratio = aligned = roc = more

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it was read."""
        return dict(self._data)


def _floats(ends: Plain) -> dict[str, Any]:
    return {name: end if name == "queries" else _float(end) for name, end in ends.items()}


def _float(value: float | str | None) -> float:
    """A number of a JSON file, where NaN is null and an infinite one is a text."""
    return float("nan") if value is None else float(value)


def _hashable(value: Any) -> Any:
    """A choice as it was made, where JSON has a list."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
