"""Conventions: named sets of choices, and which word wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from rankstone.conventions.choices import CHOICES
from rankstone.conventions.presets import PRESETS, Preset
from rankstone.metrics.declaration import ByName, Listing, Value, nearest, unknown_word
from rankstone.metrics.registry import Declaration, Metric, declared


def check_choice(declaration: Declaration | None, name: str, value: Value) -> Value:
    """A choice's value in the form it is kept in, or an error that says what it could have been."""
    if declaration is not None and name in declaration.defaults:
        if isinstance(value, Mapping):
            try:
                value = tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
            except ValueError:  # of words: {"x": 0.5, "y": 0.5}
                value = tuple(sorted((str(word), float(share)) for word, share in value.items()))
        declaration.check(name, value)
        return value
    if name not in CHOICES:
        known = [*(declaration.defaults if declaration else ()), *CHOICES]
        raise ValueError(_unknown("choice" if declaration is None else f"parameter of {declaration.name}", name, known))
    return CHOICES[name].check(name, value)


_ARGUMENTS = ("convention", "metrics", "weights")  # no choices, but given in the same place


def takes(metric: Metric, given: str) -> bool:
    """Can a choice change this metric, by this name: `divisor`, `ap_divisor`, or `ap@k_divisor` if it has a cutoff."""
    declaration = metric.declaration
    own = [f"{declaration.name}_", *([] if metric.k is None else [f"{declaration.name}@k_"])]
    names = {given, *(given.removeprefix(prefix) for prefix in own)}
    return any(name in declaration.defaults or (name in CHOICES and not idle(name, declaration)) for name in names)


def idle(name: str, declaration: Declaration) -> bool:
    """Is it a choice that cannot move a metric of this kind."""
    if declaration.reads == "shown":
        return name in _OF_RELEVANCE or (declaration.grades is None and name in ("threshold", "credit"))
    return declaration.kind in ("ratings", "agreement") and name in ("threshold", "credit", "short_list")


# Choices about relevance, which do not reach a metric of what was shown.
_OF_RELEVANCE = frozenset(("known", "nonpositive_score", "truth_depth", "no_relevant", "empty_truth", "both_empty"))


def check_choices(choices: ByName) -> dict[str, Value]:
    """Check choices that hold for all metrics (`gain=`) or for one (`ap_divisor=`)."""
    known = declared()
    out: dict[str, Value] = {}
    for given, value in choices.items():
        name = given.replace("@k_", "_", 1)  # `rr@k_ties` is that of rr with a cutoff
        owners = [declaration for declaration in known.values() if name in declaration.defaults]
        if name in CHOICES:
            out[given] = check_choice(None, name, value)
        elif owners:  # one that some metric can take; the others keep their own or refuse it when asked for
            takers = [declaration for declaration in owners if declaration.takes(name, value)]
            out[given] = check_choice((takers or owners)[0], name, value)
        else:
            metric = max((m for m in known if name.startswith(f"{m}_")), key=len, default=None)
            if metric is None:
                every = {*CHOICES, *(parameter for declaration in known.values() for parameter in declaration.defaults)}
                raise ValueError(_unknown("choice", name, sorted(every), _ARGUMENTS))
            out[given] = check_choice(known[metric], name[len(metric) + 1 :], value)
    return out


@dataclass(frozen=True)
class Convention:
    """A named set of choices. What it leaves out is as in the default convention, `rankstone`."""

    name: str
    summary: str
    choices: ByName
    library: str = ""  # the package it reproduces, and the version that was measured
    notes: tuple[str, ...] = ()  # what a reader should know; how its options are said here
    undefined_order: str = ""  # where the package itself has no order of tied items
    not_reproduced: tuple[str, ...] = ()  # what the package does that no choice says
    needs: Mapping[str, str] = field(default_factory=dict)  # choices that the caller must make, and why

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    def with_choices(self, **choices: Value) -> Convention:
        """The same convention with some choices made otherwise."""
        if not choices:
            return self
        merged = {**self.choices, **check_choices(choices)}
        changed = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        return replace(self, name=f"{self.name} with {changed}", choices=merged)

    def label(self, metric: object) -> str:
        """A metric's name beside another library's: `rs.ndcg@10 (lightgbm)`."""
        return f"rs.{metric} ({self.name})"

    def __hash__(self) -> int:
        return hash((self.name, *self.choices))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Convention, tuple({**parts, "choices": dict(self.choices)}.values())


def decide(
    declaration: Declaration, name: str, given: ByName, over: ByName, convention: Convention, k: int | None = None
) -> Value:
    """The value of one choice for one metric. The nearest word wins:

    the metric's own parameters, then the caller's overrides, then the convention; in each of these
    `ap_divisor` before `divisor`, and before both `ap@k_divisor` if there is a cutoff. What a metric always does its
    own way stands before a convention's general word.
    """
    own = [*([] if k is None else [f"{declaration.name}@k_{name}"]), f"{declaration.name}_{name}"]
    if declaration.reads == "shown" and idle(name, declaration):
        return CHOICES[name].default
    if name in given:
        return given[name]
    for word in own:
        if word in over:
            return over[word]
    if name in over:
        return check_choice(declaration, name, over[name])
    for word in own:
        if word in convention.choices:
            return convention.choices[word]
    if name in declaration.choices:
        return declaration.choices[name]
    if name in convention.choices and declaration.takes(name, convention.choices[name]):
        return convention.choices[name]
    return declaration.defaults[name] if name in declaration.defaults else CHOICES[name].default


class Conventions(Listing[Convention]):
    """Every convention by name: `rs.conventions["trec_eval"]`."""

    def __init__(self, presets: Mapping[str, Preset]) -> None:
        self._known = {name: Convention(name, **preset) for name, preset in presets.items()}

    def __getitem__(self, name: str) -> Convention:
        try:
            return self._known[name]
        except (KeyError, TypeError):
            raise KeyError(_unknown("convention", name, list(self._known))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _about(self, name: str) -> str:
        return self[name].summary


conventions = Conventions(PRESETS)


def find_convention(name: str | Convention) -> Convention:
    """A convention by name, or as it is."""
    if isinstance(name, Convention):
        return name
    try:
        return conventions[name]
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def _unknown(what: str, name: object, known: list[str], others: Iterable[str] = ()) -> str:
    """others: what may have been meant, and is nothing of the kind."""
    return unknown_word(what, name, nearest(name, [*known, *others]), known)
