"""An estimator is declared once, by `@estimator`; and those that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from rankstone.metrics.declaration import (
    ByName,
    Declared,
    Parameter,
    Registry,
    Value,
    nearest,
    read_arguments,
    text_parts,
    unknown_word,
    written,
)
from rankstone.offpolicy.form import CHANGES, Logged, changed
from rankstone.program.ranking import Ratio

Estimate = Callable[..., Ratio | Sequence[Ratio]]  # what each list earned over what it counts; several add up
_WEIGHTS = Declared("weights", changed)

# What other tools do otherwise, by estimator and parameter.
CONVENTIONS: Mapping[str, Mapping[str, ByName]] = {
    "rankstone": {},
    "obp": {"snips": {"normalise": "place"}},
}


@dataclass(frozen=True, eq=False)
class Method(Declared):
    """One estimator's declaration."""

    formula: str
    predicts: bool  # does it need predictions
    weighted: bool  # does it read weights

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Parameters with their defaults: its own, and those of the weights."""
        return {**_WEIGHTS.defaults, **super().defaults}

    @cached_property
    def about(self) -> dict[str, Parameter]:
        """What is said of its parameters."""
        return {**super().about, **_WEIGHTS.about}


@dataclass(frozen=True, slots=True, repr=False)
class Estimator:
    """An estimator as a value: hashable, and read back from its text, `dr(clip=10.0)`."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        given = dict(self.params)
        method = self.method
        for name, value in given.items():
            if name not in method.defaults:
                known = list(method.defaults)
                raise ValueError(unknown_word(f"parameter of {self.name}", name, nearest(name, known), known))
            method.check(name, value)
        changes = [name for name in CHANGES if given.get(name) is not None]
        if len(changes) > 1:
            raise ValueError(f"{self}: {' and '.join(changes)} both change the weights; choose one of them")
        if changes and not method.weighted:
            raise ValueError(f"{self}: {changes[0]} would change nothing, as {self.name} has no weights; leave it out")

    @property
    def method(self) -> Method:
        if self.name not in estimators.rows:
            raise ValueError(estimators.unknown(self.name))
        return estimators.rows[self.name]

    def __call__(self, **params: Value) -> Estimator:
        """The same with parameters set: `rs.estimators.dr(clip=10)`."""
        return Estimator(self.name, tuple(sorted({**dict(self.params), **params}.items())))

    def decided(self, over: ByName, convention: str) -> ByName:
        """Every parameter: its own, then the caller's for all, then the convention's, then the default."""
        theirs = CONVENTIONS[convention].get(self.name, {})
        return {**self.method.defaults, **theirs, **over, **dict(self.params)}

    def __str__(self) -> str:
        return written(self.name, self.params)

    __repr__ = __str__


class Estimators(Registry[Method, Estimator]):
    """Every estimator by name: `rs.estimators["dr"]`, `rs.estimators.dr`; those that a user declared, too."""


estimators = Estimators("an estimator", Estimator)


def estimator(
    name: str, *, formula: str = "", predicts: bool = False, weighted: bool = True
) -> Callable[[Estimate], Estimator]:
    """Declare an estimator: a function from `Logged` to a `Ratio`, or to several that add up.

    `weight=`, `clip=`, `switch=`, `shrink=` and `subgaussian=` are done before it is called: `logged.weight` is what
    they make. predicts: it reads predictions. weighted: it reads weights.
    """
    return lambda function: estimators.declare(Method(name, function, formula, predicts, weighted))


def parse(asked: str | Estimator | Iterable[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators from their written form: `ips`, `dr(clip=10)`, `ips, snips`."""
    found: dict[Estimator, None] = {}
    for one in [asked] if isinstance(asked, (str, Estimator)) else asked:
        if isinstance(one, Estimator):
            found[one] = None
            continue
        if not isinstance(one, str):
            raise TypeError(f"an estimator is a name such as 'ips' or a value such as rs.estimators.ips, not {one!r}")
        for part in text_parts(one):
            shape = re.fullmatch(r"\s*(\w+)\s*(\(.*\))?\s*", part, re.DOTALL)
            if shape is None:
                raise ValueError(f"cannot read estimator {part!r}; write it like 'ips' or 'dr(clip=10)'")
            plain = Estimator(shape[1])
            found[plain(**read_arguments(part, plain.method, shape[2])) if shape[2] else plain] = None
    if not found:
        raise ValueError("no estimator was asked for")
    return tuple(found)


# -- those that there are ------------------------------------------------------------------------------------

Normalise = Annotated[
    Literal["all", "place"],
    Parameter(
        "what the weights are divided by",
        {"all": "one division for all places", "place": "each place divided by its own mean weight"},
        quiet=("all",),
    ),
]


@estimator("as_logged", formula="mean of r", weighted=False)
def as_logged(logged: Logged) -> Ratio:
    """What the log itself earned, whatever the target."""
    return Ratio(logged.sum(logged.reward), logged.ones)


@estimator("ips", formula="mean of w r")
def ips(logged: Logged) -> Ratio:
    """Rewards by how much more often the target shows what was shown (Horvitz and Thompson 1952)."""
    return Ratio(logged.sum(logged.weight * logged.reward), logged.ones)


@estimator("snips", formula="mean of w r, over mean of w")
def snips(logged: Logged, *, normalise: Normalise = "all") -> Ratio | Sequence[Ratio]:
    """Weighted rewards over the mean weight, which stays within the rewards (Swaminathan and Joachims 2015)."""
    earned = logged.weight * logged.reward
    if normalise == "all":
        return Ratio(logged.sum(earned), logged.mean(logged.weight))
    terms = []
    for place in range(1, logged.places + 1):
        has = logged.at(place, logged.weight * 0 + 1).sum()
        terms.append(Ratio(logged.at(place, earned) * has / len(logged), logged.at(place, logged.weight)))
    return terms


@estimator("dm", formula="mean of q that the target expects", predicts=True, weighted=False)
def dm(logged: Logged) -> Ratio:
    """What the predictions say of the target; no better than they are (direct method)."""
    if logged.conditional:
        raise ValueError("dm needs weight='item' for lists: what follows the logged items is not what follows others")
    return Ratio(logged.sum(logged.expected), logged.ones)


@estimator("dr", formula="mean of q that the target expects + w (r - q)", predicts=True)
def dr(logged: Logged) -> Ratio:
    """The predictions, corrected by weighted rewards: right if either is (Dudik, Langford and Li 2011).

    With weight="cascade" it is cascade-DR (Kiyohara et al. 2022).
    """
    return Ratio(logged.sum(logged.foreseen + _rest(logged)), logged.ones)


@estimator("sndr", formula="mean of q that the target expects + mean of w (r - q), over mean of w", predicts=True)
def sndr(logged: Logged) -> Sequence[Ratio]:
    """The predictions, corrected by weighted rewards over the mean weight (Thomas and Brunskill 2016)."""
    predicted = Ratio(logged.sum(logged.foreseen), logged.ones)
    return predicted, Ratio(logged.sum(_rest(logged)), logged.mean(logged.weight))


def _rest(logged: Logged) -> Any:
    return logged.weight * (logged.reward - logged.predicted)
