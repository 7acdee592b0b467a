"""Gates: the conditions under which a run may replace another, read from a file or a dict."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from rankstone.compare.caveats import FEW
from rankstone.compare.ledger import SPENDINGS
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import make_plans
from rankstone.data.files import check_path, is_path
from rankstone.data.formats import entries_of_tool
from rankstone.errors import GatesError, is_finite
from rankstone.evaluate.variants import VariantComparison
from rankstone.metrics.declaration import unknown_word
from rankstone.metrics.registry import parse_one

T = TypeVar("T")
UNDECIDED = ("pass", "warn", "fail")
SEVERITIES = ("fail", "warn")
_LIMITS = ("not_worse_than", "at_least", "at_most", "lost_queries")
_PATHS = ("truth", "baseline", "candidate", "exclude", "ledger", "pins")  # relative to the file that names them
_LISTED = 5  # items in a line
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")


@dataclass(frozen=True)
class Gate:
    """One condition: a metric, and one of `not_worse_than`, `at_least`, `at_most` and `lost_queries`."""

    metric: str
    not_worse_than: float | str | None = None  # in the metric's unit, or a text such as "2 %" of the baseline's mean
    at_least: float | None = None  # the candidate's mean
    at_most: float | None = None
    lost_queries: int | None = None  # allowed number of queries that get worse
    drop: float | None = None  # by at least this much; None: by any amount
    by: Any = None  # test per group of queries: a column of the truth
    fewest: int = FEW  # smallest group that is tested
    severity: str = "fail"

    @property
    def compares(self) -> bool:
        """Whether it requires a baseline."""
        return self.not_worse_than is not None or self.lost_queries is not None

    @property
    def rule(self) -> str:
        """The condition in words."""
        if self.not_worse_than is not None:
            each = "" if self.by is None else f", by {self.by}" if isinstance(self.by, str) else ", by group"
            limit = self.not_worse_than
            return f"not worse than {limit if isinstance(limit, str) else format(limit, 'g')}{each}"
        if self.lost_queries is not None:
            queries = "query falls" if self.lost_queries == 1 else "queries fall"
            return f"at most {self.lost_queries} {queries}{'' if self.drop is None else f' by {self.drop:g}'}"
        return f"at least {self.limit:g}" if self.at_least is not None else f"at most {self.limit:g}"

    @property
    def limit(self) -> float:
        """The limit of the candidate's mean; NaN if the gate has another condition."""
        limit = self.at_most if self.at_least is None else self.at_least
        return math.nan if limit is None else float(limit)

    def margin(self, mean: float) -> float:
        """The margin in the metric's unit; mean: that of the baseline."""
        return margin_of(self.not_worse_than, mean)


def margin_of(margin: float | str | None, mean: float) -> float:
    """A margin in the metric's unit, from a number or a percentage of the baseline's mean."""
    if isinstance(margin, str):
        if match := _PERCENT.fullmatch(margin):
            return float(match[1]) / 100 * abs(mean)
    elif margin is not None and not isinstance(margin, bool) and 0 <= margin < math.inf:
        return float(margin)
    raise GatesError(f"margin {margin!r}; give a number from 0, or a percentage such as '2 %'")


@dataclass(frozen=True)
class Pin:
    """One query and what its list must hold: an item, some items, or nothing."""

    query: Any
    items: tuple[Any, ...] = ()
    item: Any = None  # instead of `items`
    all: bool = False  # each of the items; else any of them
    within: int | None = None  # in the first so many places; None: anywhere
    empty: bool = False  # the list must have no item
    severity: str = "fail"

    @property
    def rule(self) -> str:
        """The condition in words."""
        if self.empty:
            return "no items"
        names = ", ".join(map(str, self.items[:_LISTED])) + ", ..." * (len(self.items) > _LISTED)
        which = "" if len(self.items) == 1 else "all of " if self.all else "any of "
        return f"{which}{names} {'in the list' if self.within is None else f'within {self.within}'}"


@dataclass(frozen=True)
class Gates:
    """The contents of a file of gates: what to compare, the definitions, the gates and the pinned queries."""

    candidate: Any
    gate: tuple[Gate, ...] = ()
    pin: tuple[Pin, ...] = ()
    pins: Any = None  # a file of more pins
    truth: Any = None
    baseline: Any = None
    metrics: tuple[str, ...] = ()  # printed in addition to those of the gates
    convention: str | Convention = "rankstone"
    choices: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] | None = None
    exclude: Any = None
    clusters: Any = None  # cluster per query: a column of the truth
    weights: Any = None  # a column of the truth, or one weight per query
    undecided: str = "warn"
    confidence: float = 0.95
    anytime: bool | int = False  # tests that hold at every look
    ledger: Any = None  # the file of the ledger; True: next to the baseline
    spending: str = "none"  # how the level is shared among candidates
    candidates: int | None = None  # how many are planned

    @property
    def labels(self) -> list[str]:
        """The metrics of the gates, and the additional ones."""
        return list(dict.fromkeys([*(gate.metric for gate in self.gate), *self.metrics]))


def read_gates(source: Any, over: Mapping[str, Any]) -> Gates:
    """The gates of a TOML file or of a dict with the same keys; over: values that replace its keys."""
    name = os.fspath(source) if is_path(source) else ""
    values = _of_file(name) if name else source
    if not isinstance(values, Mapping):
        raise GatesError(f"gates are a file or a dict, not {type(values).__name__}")
    with _naming(name):
        return _gates({**values, **{name: value for name, value in over.items() if value is not None}})


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Errors about a part of the gates say which."""
    try:
        yield
    except GatesError as error:
        raise GatesError(f"{where}: {error}" if where else str(error)) from None


def _toml(name: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    with open(name, "rb") as stream:
        try:
            return tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise GatesError(f"{name}: is no TOML file ({error})") from None


def _of_file(name: str) -> dict[str, Any]:
    values = _toml(name)
    folder = os.path.dirname(name)
    for key in _PATHS:
        path = values.get(key)
        if isinstance(path, str) and path not in ("-", "self"):
            check_path(path, folder)
            values[key] = os.path.join(folder, path)
    return values


def _gates(values: Mapping[str, Any]) -> Gates:
    _check_keys(values, Gates)
    if values.get("candidate") is None:
        raise GatesError("there is no candidate: a run, or a saved result")
    choices, convention = _mapping(values, "choices"), values.get("convention", "rankstone")
    _mapping(values, "columns")
    metrics = values.get("metrics", ())
    metrics = [metrics] if isinstance(metrics, str) else list(metrics)
    pins = _each("pin", "query", _tables(values, "pin"), _pin)
    if values.get("pins") is not None:
        pins += read_pins(values["pins"])
    tables = _tables(values, "gate")
    if not tables and not pins:
        raise GatesError("there is no gate; write [[gate]], and under it metric = ... and not_worse_than = ...")
    gates = _each("gate", "metric", tables, _gate)
    has_both = values.get("baseline") is not None or isinstance(values["candidate"], VariantComparison)
    for gate in (gate for gate in gates if gate.compares and not has_both):
        raise GatesError(f"{gate.metric} {gate.rule}: there is no baseline, a saved result or a run, to compare with")
    try:
        labels = tuple(plan.label for plan in make_plans(metrics, convention, choices)) if metrics else ()
        make_plans([gate.metric for gate in gates] or ["rr"], convention, choices)
    except (ValueError, TypeError) as error:
        raise GatesError(str(error)) from None
    _check_word(values, "undecided", UNDECIDED)
    confidence = _number(values.get("confidence", 0.95))
    if confidence is None or not 0.5 <= confidence < 1:
        raise GatesError(f"confidence = {values['confidence']!r}; give a number from 0.5 to 1, such as 0.95")
    _check_word(values, "spending", tuple(SPENDINGS))
    for name in ("spending", "candidates"):
        if name in values and not values.get("ledger"):
            raise GatesError(f"{name} goes with ledger: which candidates were there before")
    _check_whole("candidates", values.get("candidates"), 1)
    read = {"gate": tuple(gates), "pin": tuple(pins), "metrics": labels, "choices": choices, "confidence": confidence}
    return Gates(**{**values, **read})


def _tables(values: Mapping[str, Any], name: str) -> Sequence[Any]:
    tables = values.get(name)
    tables = () if tables is None else [tables] if isinstance(tables, Mapping) else tables
    if not isinstance(tables, Sequence) or isinstance(tables, str):
        raise GatesError(f"{name} = {tables!r}; write [[{name}]], and its keys under it")
    return tables


def read_pins(source: object) -> list[Pin]:
    """The pins of a TOML file with [[pin]], or of rag-contract's file, whose `must_rank_at_most` is `within`."""
    if not is_path(source):
        raise GatesError(f"pins = {source!r} is no file; write [[pin]] for the pins themselves")
    name = os.fspath(source)
    contract = None if name.endswith(".toml") else entries_of_tool(name, "rag-contract")
    tables: Iterable[Any] = _tables(_toml(name), "pin") if contract is None else [
        {"query": entry.get("id"), "items": entry.get("relevant_doc_ids"), "within": entry["must_rank_at_most"]}
        for entry in contract if entry.get("must_rank_at_most") is not None
    ]  # fmt: skip
    with _naming(name):
        return _each("pin", "query", tables, _pin)


def _each(kind: str, key: str, tables: Iterable[Any], read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """The tables of a kind, read; errors say which by its number and a key."""
    out = []
    for number, table in enumerate(tables, start=1):
        name = table.get(key) if isinstance(table, Mapping) else None
        with _naming(f"{kind} {number}{'' if name is None else f' ({name})'}"):
            if not isinstance(table, Mapping):
                raise GatesError(f"it is no table of keys; write [[{kind}]]")
            out.append(read(table))
    return out


def _pin(values: Mapping[str, Any]) -> Pin:
    if values.get("query") is None:
        raise GatesError("it has no query")
    _check_keys(values, Pin)
    _check_word(values, "severity", SEVERITIES)
    pin = Pin(**values)
    conditions = [name for name in ("item", "items", "empty") if name in values]
    if len(conditions) != 1 or (pin.empty and "within" in values):
        keys = " and ".join(name for name in (*conditions, "within") if name in values) or "no condition"
        raise GatesError(f"it has {keys}; give item or items, with within, or empty = true")
    for name in ("all", "empty"):
        if not isinstance(getattr(pin, name), bool) or (name in conditions and not pin.empty):
            raise GatesError(f"{name} = {getattr(pin, name)!r}; write {name} = true, or leave it out")
    _check_whole("within", pin.within, 1)
    items = [pin.item] if pin.item is not None else pin.items
    if isinstance(items, str) or not isinstance(items, Sequence) or not (items or pin.empty):
        raise GatesError(f"items = {pin.items!r}; write a list of ids")
    if pin.all and len(items) > (pin.within or len(items)):
        raise GatesError(f"{len(items)} items cannot all be within {pin.within}")
    return replace(pin, items=tuple(items), item=None)


def _gate(values: Mapping[str, Any]) -> Gate:
    _check_keys(values, Gate)
    try:
        metric = parse_one(values.get("metric", ""))
    except (ValueError, TypeError) as error:
        raise GatesError(str(error) if "metric" in values else "it has no metric") from None
    limits = [name for name in _LIMITS if name in values]
    if len(limits) != 1:
        raise GatesError(f"it has {' and '.join(limits) or 'no limit'}; give one of {', '.join(_LIMITS)}")
    for name, at in (("drop", "lost_queries"), ("by", "not_worse_than"), ("fewest", "by")):
        if name in values and at not in values:
            raise GatesError(f"{name} goes with {at}")
    if metric.declaration.better == "neither" and limits[0] in ("not_worse_than", "lost_queries"):
        raise GatesError(f"neither a higher nor a lower {metric} is better; give at_least or at_most")
    _check_word(values, "severity", SEVERITIES)
    gate = Gate(**{**values, "metric": str(metric)})
    if gate.not_worse_than is not None:
        gate.margin(0.0)
    for name in ("at_least", "at_most"):
        if name in values and _number(values[name]) is None:
            raise GatesError(f"{name} = {values[name]!r} is not a number")
    if gate.drop is not None and not (_number(gate.drop) or 0) > 0:
        raise GatesError(f"drop = {gate.drop!r}; give a number above 0, in the metric's unit")
    for name, least in (("lost_queries", 0), ("fewest", 1)):
        _check_whole(name, getattr(gate, name), least)
    return gate


def _check_keys(values: Mapping[str, Any], kind: type) -> None:
    names = [entry.name for entry in fields(kind)]
    for name in values:
        if name not in names:
            raise GatesError(unknown_word("key", name, names))


def _check_word(values: Mapping[str, Any], name: str, words: Sequence[str]) -> None:
    if name in values and values[name] not in words:
        raise GatesError(f"{name} = {values[name]!r}; choose from {', '.join(words)}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if value is not None and (type(value) is not int or value < least):
        raise GatesError(f"{name} = {value!r}; give a whole number from {least}")


def _mapping(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = values.get(name) or {}
    if not isinstance(value, Mapping):
        raise GatesError(f"{name} = {value!r}; write a table, as {name} = {{ name = value }}")
    return dict(value)


def _number(value: Any) -> float | None:
    return float(value) if is_finite(value) and not isinstance(value, bool) else None
