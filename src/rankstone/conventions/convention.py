"""Conventions: named sets of choices, and which word wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from rankstone.conventions.choices import CHOICES
from rankstone.conventions.presets import PRESETS, Preset
from rankstone.errors import InputError, InputTypeError, show
from rankstone.metrics.declaration import ByName, Listing, Value, unknown_word
from rankstone.metrics.registry import Declaration, Metric, declared


def check_choice(declaration: Declaration | None, name: str, value: Value) -> Value:
    """A choice's value in the form it is kept in, or an error that says what it could have been."""
    if isinstance(value, np.generic):  # which would be written as np.int64(4), and not be read back
        value = value.item()
    if declaration is not None and name in declaration.defaults:
        if isinstance(value, Mapping):
            if not all(isinstance(number, (int, float, np.number)) for number in value.values()):
                raise InputTypeError(f"{name}={show(value)}; give one number per entry")
            try:
                value = tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
            except (TypeError, ValueError):  # of words: {"x": 0.5, "y": 0.5}
                value = tuple(sorted((str(word), float(share)) for word, share in value.items()))
        value = value.item() if isinstance(value, np.generic) else value  # so that it prints as a plain number
        declaration.check(name, value)
        return value
    if name not in CHOICES:
        names = [*(declaration.defaults if declaration else ()), *CHOICES]
        raise InputError(_unknown("choice" if declaration is None else f"parameter of {declaration.name}", name, names))
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
    if declaration.reads == "recommendations":
        return name in _OF_RELEVANCE or (declaration.grades is None and name in ("threshold", "relevance"))
    return declaration.kind in ("ratings", "agreement") and name in ("threshold", "relevance", "short_list")


# Choices about relevance, which metrics beyond accuracy do not read.
_OF_RELEVANCE = frozenset(("unjudged", "nonpositive_score", "truth_depth", "no_relevant", "empty_truth", "both_empty"))


def check_choices(choices: ByName) -> dict[str, Value]:
    """Check choices that hold for all metrics (`gain=`) or for one (`ap_divisor=`)."""
    declarations = declared()
    out: dict[str, Value] = {}
    for given, value in choices.items():
        name = given.replace("@k_", "_", 1)  # `rr@k_ties` is that of rr with a cutoff
        owners = [declaration for declaration in declarations.values() if name in declaration.defaults]
        if name in CHOICES:
            out[given] = check_choice(None, name, value)
        elif owners:  # one that some metric can take; the others keep their own or refuse it when asked for
            takers = [declaration for declaration in owners if declaration.takes(name, value)]
            if not takers and len(owners) > 1:
                words = dict.fromkeys(repr(word) for declaration in owners for word in declaration.words(name))
                allowed = f"; choose from {', '.join(words)}" if words else ""
                raise InputError(f"{name}={value!r} is no value of {name} of any metric{allowed}")
            out[given] = check_choice((takers or owners)[0], name, value)
        else:
            metric = max((m for m in declarations if name.startswith(f"{m}_")), key=len, default=None)
            if metric is None:
                every = {
                    *CHOICES,
                    *(parameter for declaration in declarations.values() for parameter in declaration.defaults),
                }
                raise InputError(_unknown("choice", name, sorted(every), _ARGUMENTS))
            out[given] = check_choice(declarations[metric], name[len(metric) + 1 :], value)
    return out


@dataclass(frozen=True)
class Convention:
    """A named set of choices. What it leaves out is as in the default convention, `rankstone`.

    Parameters
    ----------
    name : str
        Its name, lower case.
    summary : str
        What it reproduces, in one line.
    choices : dict
        Choices by name; those of one metric in a dict under its name: `{"ap": {"divisor": "k"}}`.
    library : str, optional
        The library and version whose numbers it has.
    notes : tuple of str, optional
        What a user of the library should know.
    undefined_order : str, optional
        Where the library's own order of tied items is not defined.
    not_reproduced : tuple of str, optional
        What is different from the library, and why.
    aliases : tuple of str, optional
        Other names.
    needs : dict, optional
        Per metric, the input it needs in addition.
    changed_from : tuple, optional
        The name of the convention that `with_choices` changed, and the choices.
    """

    name: str
    summary: str
    choices: ByName
    library: str = ""  # the package it reproduces, and the version that was measured
    notes: tuple[str, ...] = ()  # what a reader should know; how its options are said here
    undefined_order: str = ""  # where the package itself has no order of tied items
    not_reproduced: tuple[str, ...] = ()  # what the package does that no choice says
    aliases: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)  # choices that the caller must make, and why
    changed_from: tuple[str, ByName] | None = None  # the convention that it is made of, and the choices of the caller

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    def with_choices(self, **choices: Value) -> Convention:
        """The same convention with some choices made otherwise.

        Parameters
        ----------
        **choices
            Choices by name.
        """
        if not choices:
            return self
        merged = {**self.choices, **check_choices(choices)}
        base, before = self.changed_from or (self.name, {})
        changed = replace(self, choices=merged, changed_from=(base, {**before, **choices}))
        return replace(changed, name=changed.name_for(lambda name: True))

    def name_for(self, reads: Callable[[str], bool]) -> str:
        """The name, with those of the caller's choices that something reads.

        Parameters
        ----------
        reads : callable
            Whether a choice, by its name, is read.
        """
        base, choices = self.changed_from or (self.name, {})
        made = ", ".join(f"{name}={value!r}" for name, value in choices.items() if reads(name))
        return f"{base} with {made}" if made else base

    def label(self, metric: object) -> str:
        """A metric's name next to another library's: `rs.ndcg@10 (lightgbm)`.

        Parameters
        ----------
        metric : str or Metric
            The metric.
        """
        return f"rs.{metric} ({self.name})"

    def __hash__(self) -> int:
        return hash((self.name, *self.choices))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Convention, tuple({**parts, "choices": dict(self.choices)}.values())


def decide(
    declaration: Declaration, name: str, params: ByName, over: ByName, convention: Convention, k: int | None = None
) -> Value:
    """The value of one choice for one metric. The nearest word wins:

    the metric's own parameters, then the caller's overrides, then the convention; in each of these
    `ap_divisor` before `divisor`, and before both `ap@k_divisor` if there is a cutoff. What a metric always does its
    own way stands before a convention's general word.
    """
    own = [*([] if k is None else [f"{declaration.name}@k_{name}"]), f"{declaration.name}_{name}"]
    if declaration.reads == "recommendations" and idle(name, declaration):
        return CHOICES[name].default
    if name in params:
        return params[name]
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
        self._rows = {name: Convention(name, **preset) for name, preset in presets.items()}
        self._aliases = {alias: row for row in self._rows.values() for alias in row.aliases}

    def __getitem__(self, name: str) -> Convention:
        try:
            return self._rows[name] if name in self._rows else self._aliases[name]
        except (KeyError, TypeError):
            raise KeyError(_unknown("convention", name, list(self._rows))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

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
        raise InputError(error.args[0]) from None


def _unknown(what: str, name: object, names: list[str], others: Iterable[str] = ()) -> str:
    """others: what may have been meant, and is nothing of the kind."""
    return unknown_word(what, name, [*names, *others])
