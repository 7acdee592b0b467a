"""Saved results: JSON, or Parquet with the same in its metadata."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Bools, Floats
from rankstone.conventions.choices import CHOICES, current_names
from rankstone.conventions.plan import Plan, make_plan
from rankstone.data.files import path_name
from rankstone.data.formats import by_magic
from rankstone.data.json_files import distinct_keys
from rankstone.data.lines import head_of, open_text
from rankstone.errors import FileError, InputError
from rankstone.evaluate.means import Contributions, finish_of
from rankstone.evaluate.measurement import check_per_query, plain_shares
from rankstone.metrics.registry import parse_one
from rankstone.results.definition import DEFINITION, Definition, Definitions, Plain
from rankstone.results.reproduction import SCHEMA as REPRODUCTION
from rankstone.results.result import Account, Result, TieRange, UnjudgedRange
from rankstone.results.schema import (
    FLAG,
    ID,
    OBJECT,
    REAL,
    TEXT,
    array,
    by_name,
    check,
    check_stamp,
    check_writer,
    document,
    record,
    record_of,
)

if TYPE_CHECKING:
    from rankstone.typing import Path

# Runs by name: one level deeper than a truth or a run in JSON.
_SAVED = re.compile(
    rb'\s*\{\s*(?:"format(?:_version)?"\s*:\s*(?:"rankstone [^"]*"|\d+)\s*,\s*)*'
    rb'"runs"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"'
)
_RENAMED = {"remarks": "notes", "unjudged": "bounds"}  # since 0.1.0
_NUMBERS = array(REAL)
_RUN = record(
    {
        "bounds": by_name(record_of(UnjudgedRange)),
        "groups": record(by=TEXT, means=by_name(by_name(REAL))),
        "shares": by_name(record(top=_NUMBERS, bottom=_NUMBERS, kept=array(FLAG))),
    },
    convention=TEXT, choices=OBJECT, means=by_name(REAL), ties=by_name(record_of(TieRange)),
    definitions=by_name(DEFINITION), versions=by_name(TEXT), inputs=by_name(TEXT), account=record_of(Account),
    notes=array(TEXT), queries=array(ID), per_query=by_name(_NUMBERS),
)  # fmt: skip
_HAS_MEANS = {"type": "object", "required": ["means"], "properties": {"means": OBJECT}}
SCHEMA = document("result", record({"reproduce": REPRODUCTION}, runs=by_name(_RUN)))


def read_result(path: Path) -> Result | dict[str, Result]:
    """Read a result that was written as json or parquet: means, values per query, definitions.

    Parameters
    ----------
    path : str or PathLike
        A file of `Result.write`, or of `rankstone evaluate -o`.

    Returns
    -------
    Result or dict of Result
        A dict by the names of the runs, if the file has several.

    Raises
    ------
    FileError
        If the file is not a saved result or not whole: a later version of rankstone wrote it, it names a metric that is
        not declared, or its means are not those of its values per query.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "result.json")
    >>> rs.evaluate({"u1": {"a": 1}}, {"u1": ["b", "a"]}, "rr").write(path)
    >>> rs.read_result(path)["rr"]
    0.5
    """
    text = open_text(path_name(path))
    try:
        data = of_parquet(text.whole) if by_magic(text.data) else _loads(bytes(text.view()))
        results = {name: Result._of(measurement, name) for name, measurement in _measurements(data).items()}
        for result in results.values() if len(results) == 1 else ():
            result._command = data.get("reproduce", {}).get("command", "")
        return results if len(results) != 1 else next(iter(results.values()))
    except RecursionError:
        raise FileError(text.name, f"{_NOT_OURS} (it is nested too deeply)") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise FileError(text.name, f"{_NOT_OURS} ({problem})") from None


_NOT_OURS = "is not a result that rankstone wrote as json or parquet"


def _loads(text: bytes) -> Any:
    """Strict JSON: each key once, and no NaN."""

    def refuse(text: str) -> Any:
        raise InputError(f"{text} is not JSON")

    return json.loads(text, object_pairs_hook=distinct_keys, parse_constant=refuse)


def _measurements(data: Any) -> dict[str, SavedMeasurement]:
    """The results of a file by name, checked."""
    check(data, {"type": "object", "required": ["runs"]})
    content = check_stamp("result", data)
    known = {"runs": by_name({"type": "object"}), "reproduce": REPRODUCTION}
    check(content, {"properties": known, "additionalProperties": False})
    out = {}
    for name, saved in content["runs"].items():
        versions = saved.get("versions")
        check(versions, record({"numpy": TEXT}, rankstone=TEXT), "versions")
        check_writer(versions["rankstone"], stamped=len(content) < len(data))
        current = {_RENAMED.get(key, key): value for key, value in saved.items()}
        check(current, _RUN, f"runs.{name}")
        out[name] = SavedMeasurement(current)
        out[name].check_agreement()
    if not out:
        raise InputError("it has no runs")
    return out


def is_result(path: Path) -> bool:
    """Whether a file is a saved result, by its content: data can have the same extension."""
    name = path_name(path)
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
    except (pyarrow.ArrowException, OSError, ValueError, AttributeError, RecursionError):  # the reader raises the error
        return False


def of_parquet(data: bytes) -> Any:
    """What the JSON file would hold: the metadata, and each run's rows."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    whole = _loads((table.schema.metadata or {})[b"rankstone"])
    check(whole, {"type": "object", "required": ["runs"], "properties": {"runs": by_name(_HAS_MEANS)}})
    for name, saved in whole["runs"].items():
        rows = table if len(whole["runs"]) == 1 else table.filter(pyarrow.compute.field("run") == name)
        saved["queries"] = rows["query"].to_pylist()
        saved["per_query"] = {label: rows[label].to_pylist() for label in saved["means"]}
    return whole


class SavedMeasurement:
    """The data of a `Result` from a file, without lists."""

    has_lists, is_bounded, present = False, False, None

    def __init__(self, data: Plain) -> None:
        self._data = data
        self.means = {label: _float(mean) for label, mean in data["means"].items()}
        saved = {label: Definition.from_dict(definition) for label, definition in data["definitions"].items()}
        self.definitions = Definitions(saved)
        self.account = Account(**data["account"])
        self.inputs, self.versions = dict(data["inputs"]), dict(data["versions"])
        self.convention, self.choices = data["convention"], current_names(data["choices"])
        self.ties = {label: TieRange(**_floats(data["ties"][label])) for label in self.means}
        bounds = data.get("bounds")
        self.bounds = bounds and {label: UnjudgedRange(**_floats(ends)) for label, ends in bounds.items()}
        self.queries = [tuple(query) if isinstance(query, list) else query for query in data["queries"]]
        self.notes = data["notes"]

    @cached_property
    def _values(self) -> dict[str, Floats]:
        return {label: np.array(list(map(_float, values))) for label, values in self._data["per_query"].items()}

    @property
    def has_ties(self) -> bool:
        return self.account.tied > 0

    def plan(self, label: str) -> Plan:
        metric = parse_one(label)
        choices = {name: _hashable(value) for name, value in self.definitions[label].choices.items()}
        choices = {name: choice.default for name, choice in CHOICES.items()} | metric.declaration.defaults | choices
        return make_plan(metric, {name: choices[name] for name in metric.declaration.defaults}, choices)

    def values(self, label: str) -> Floats:
        return self._values[label]

    def shares(self, label: str) -> Contributions:
        """What each query adds to the two sums of a mean."""
        plan = self.plan(label)
        check_per_query(plan)
        saved = self._data.get("shares", {}).get(label)
        if saved is None:
            return Contributions(plan, finish_of(plan), *plain_shares(self.values(label)))
        top, bottom = (np.array(list(map(_float, saved[name]))) for name in ("top", "bottom"))
        return Contributions(plan, finish_of(plan), top, bottom, np.array(saved["kept"], dtype=bool))

    def check_agreement(self) -> None:
        """Raise an error if the parts of the file do not go together."""
        names = ("ties", "definitions", "per_query", *(("bounds",) if self.bounds is not None else ()))
        for name in names:
            if self._data[name].keys() != self.means.keys():
                raise InputError(f"{name} is of {', '.join(self._data[name])}, means of {', '.join(self.means)}")
        if len(set(map(_hashable, self._data["queries"]))) < len(self.queries):
            raise InputError("a query occurs twice")
        for label, mean in self.means.items():
            if str(parse_one(label)) != label or self.definitions[label].metric != label:
                raise InputError(f"the metric {label!r} has the definition of {self.definitions[label].metric!r}")
            self._check_metric(label, mean, self.plan(label))

    def _check_metric(self, label: str, mean: float, plan: Plan) -> None:
        own: list[Floats | Bools] = [self.values(label)]
        if not (plan.of_all_lists or plan.is_pooled):
            shares = self.shares(label)
            own += [shares.top, shares.bottom, shares.counted]
        if any(len(part) != len(self.queries) for part in own):
            raise InputError(f"{label} does not have one value for each of {len(self.queries)} queries")
        if len(own) > 1 and not np.isclose(mean, computed := shares.mean(), rtol=1e-9, atol=1e-12, equal_nan=True):
            raise InputError(f"the mean of {label} is {mean!r}, but that of its values per query is {computed!r}")
        for span in (self.ties[label], (self.bounds or {}).get(label)):
            if span is not None and (span.lowest - mean > 1e-9 or mean - span.highest > 1e-9):
                raise InputError(f"the mean of {label} is {mean!r}, outside of {span.lowest!r} to {span.highest!r}")

    def mean_of(self, label: str, inside: Bools) -> float:
        """The mean of a subset of the queries."""
        return self.shares(label).only(inside).mean()

    def has_bad(self, label: str) -> bool:
        """Not known, so True."""
        return True

    def same_truth(self, other: object) -> bool:
        """Not known; the digests are compared instead."""
        return False

    def more(self, *_: object) -> Any:
        """Raises: a saved result has no lists."""
        raise InputError("a saved result has values but no lists; evaluate the run again")

    ratio = aligned = difference_bounds = roc = more

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it was read."""
        return dict(self._data)


def _floats(ends: Plain) -> dict[str, Any]:
    return {name: end if name == "queries" else _float(end) for name, end in ends.items()}


def _float(value: float | str | None) -> float:
    """A number of a JSON file, where NaN is null and infinity is a string."""
    return float("nan") if value is None else float(value)


def _hashable(value: Any) -> Any:
    """A choice with tuples where JSON has lists."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
