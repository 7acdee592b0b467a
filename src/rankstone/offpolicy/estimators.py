"""The off-policy estimators, each declared once by `@estimator`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from rankstone.errors import InputError, InputTypeError
from rankstone.metrics.declaration import (
    ByName,
    DeclaredFunction,
    Parameter,
    Registry,
    Value,
    read_arguments,
    text_parts,
    unknown_word,
    written,
)
from rankstone.offpolicy.logged_data import CHANGES, LoggedData, transformed
from rankstone.program.ranking import Ratio

Estimate = Callable[..., Ratio | Sequence[Ratio]]  # reward / weight per list; several ratios add up
_WEIGHTS = DeclaredFunction("weights", transformed)

# Parameters that other tools set differently, by estimator.
CONVENTIONS: Mapping[str, Mapping[str, ByName]] = {
    "rankstone": {},
    "obp": {"snips": {"normalise": "place"}},
}


@dataclass(frozen=True, eq=False)
class Method(DeclaredFunction):
    """One estimator's declaration."""

    formula: str
    predicts: bool  # whether it needs a reward model
    weighted: bool  # whether it reads importance weights

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Parameters with their defaults: its own, and those of the weights."""
        return {**_WEIGHTS.defaults, **super().defaults}

    @cached_property
    def about(self) -> dict[str, Parameter]:
        """Descriptions of the parameters."""
        return {**super().about, **_WEIGHTS.about}


@dataclass(frozen=True, slots=True, repr=False)
class Estimator:
    """An estimator with its parameters: hashable, printed as it is written, `dr(clip=10)`.

    Parameters
    ----------
    name : str
        One of `rs.offpolicy.estimators`.
    params : tuple of (str, value), default ()
        Parameters, sorted by name.

    Examples
    --------
    >>> rs.offpolicy.estimators.dr(clip=10)
    dr(clip=10)
    """

    name: str
    params: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        params = dict(self.params)
        method = self.method
        for name, value in params.items():
            if name not in method.defaults:
                allowed = list(method.defaults)
                raise InputError(unknown_word(f"parameter of {self.name}", name, allowed))
            method.check(name, value)
        changes = [name for name in CHANGES if params.get(name) is not None]
        if len(changes) > 1:
            raise InputError(f"{self}: {' and '.join(changes)} both change the weights; choose one of them")
        if changes and not method.weighted:
            raise InputError(f"{self}: {changes[0]} would have no effect: {self.name} has no weights")

    @property
    def method(self) -> Method:
        """The declaration of the estimator."""
        if self.name not in estimators.rows:
            raise InputError(estimators.unknown(self.name))
        return estimators.rows[self.name]

    def __call__(self, **params: Value) -> Estimator:
        """Set parameters: `rs.offpolicy.estimators.dr(clip=10)`."""
        return Estimator(self.name, tuple(sorted({**dict(self.params), **params}.items())))

    def decided(self, over: ByName, convention: str) -> ByName:
        """All parameters with their values: its own, else those of the call, the convention, or the default.

        Parameters
        ----------
        over : mapping of str to value
            Parameters of the call, for all estimators.
        convention : str
            "rankstone" or "obp".

        Returns
        -------
        dict of str to value
        """
        preset = CONVENTIONS[convention].get(self.name, {})
        return {**self.method.defaults, **preset, **over, **dict(self.params)}

    def __str__(self) -> str:
        return written(self.name, self.params)

    __repr__ = __str__


class Estimators(Registry[Method, Estimator]):
    """All estimators by name, user-defined ones included: `rs.offpolicy.estimators["dr"]`."""


estimators = Estimators("an estimator", Estimator)


def estimator(
    name: str, *, formula: str = "", predicts: bool = False, weighted: bool = True
) -> Callable[[Estimate], Estimator]:
    """Declare an estimator: decorate a function from `LoggedData` to a `Ratio`, or to several that add up.

    `weight`, `clip`, `switch`, `shrink` and `subgaussian` are applied before the function is called.

    Parameters
    ----------
    name : str
        Name of the estimator.
    formula : str, default ""
        Formula in words, with r (reward), w (weight) and q (predicted reward).
    predicts : bool, default False
        Whether the estimator needs a reward model.
    weighted : bool, default True
        Whether the estimator reads importance weights.

    Returns
    -------
    callable
        A decorator that returns the `Estimator`.

    Examples
    --------
    >>> @rs.offpolicy.estimator("first_place", formula="mean of w r at position 1")  # doctest: +SKIP
    ... def first_place(logged):
    ...     return rs.authoring.Ratio(logged.at(1, logged.weight * logged.reward), logged.ones)
    """
    return lambda function: estimators.declare(Method(name, function, formula, predicts, weighted))


def parse(text: str | Estimator | Iterable[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators from their written form: `ips`, `dr(clip=10)`, `ips, snips`."""
    parsed: dict[Estimator, None] = {}
    for entry in [text] if isinstance(text, (str, Estimator)) or not isinstance(text, Iterable) else text:
        if isinstance(entry, Estimator):
            parsed[entry] = None
            continue
        if not isinstance(entry, str):
            raise InputTypeError(
                f"an estimator is a name such as 'ips' or a value such as rs.offpolicy.estimators.ips, not {entry!r}"
            )
        for part in text_parts(entry):
            shape = re.fullmatch(r"\s*(\w+)\s*(\(.*\))?\s*", part, re.DOTALL)
            if shape is None:
                raise InputError(f"cannot read estimator {part!r}; write it like 'ips' or 'dr(clip=10)'")
            plain = Estimator(shape[1])
            parsed[plain(**read_arguments(part, plain.method, shape[2])) if shape[2] else plain] = None
    if not parsed:
        raise InputError("no estimators; pass a name such as 'ips'")
    return tuple(parsed)


# -- the estimators ------------------------------------------------------------------------------------

Normalise = Annotated[
    Literal["all", "place"],
    Parameter(
        "divisor of the weights",
        {"all": "one mean weight for all positions", "place": "a mean weight per position"},
        hidden=("all",),
    ),
]


@estimator("as_logged", formula="mean of r", weighted=False)
def as_logged(logged: LoggedData) -> Ratio:
    """Mean reward of the log, whatever the target policy."""
    return Ratio(logged.sum(logged.reward), logged.ones)


@estimator("ips", formula="mean of w r")
def ips(logged: LoggedData) -> Ratio:
    """Inverse propensity score: mean of the weighted rewards (Horvitz and Thompson 1952)."""
    return Ratio(logged.sum(logged.weight * logged.reward), logged.ones)


@estimator("snips", formula="mean of w r / mean of w")
def snips(logged: LoggedData, *, normalise: Normalise = "all") -> Ratio | Sequence[Ratio]:
    """Self-normalised IPS: weighted rewards divided by the mean weight (Swaminathan and Joachims 2015)."""
    weighted = logged.weight * logged.reward
    if normalise == "all":
        return Ratio(logged.sum(weighted), logged.mean(logged.weight))
    terms = []
    for place in range(1, logged.places + 1):
        has = logged.at(place, logged.weight * 0 + 1).sum()
        terms.append(Ratio(logged.at(place, weighted) * has / len(logged), logged.at(place, logged.weight)))
    return terms


@estimator("dm", formula="mean of E[q]", predicts=True, weighted=False)
def dm(logged: LoggedData) -> Ratio:
    """Direct method: expected predicted reward under the target policy; as good as the reward model."""
    if logged.conditional:
        raise InputError(
            "dm needs weight='item' for lists: predictions given the logged items do not hold for other items"
        )
    return Ratio(logged.sum(logged.expected), logged.ones)


@estimator("dr", formula="mean of E[q] + w (r - q)", predicts=True)
def dr(logged: LoggedData) -> Ratio:
    """Doubly robust: the direct method plus weighted residuals; unbiased if either is (Dudik, Langford and Li 2011).

    With weight="cascade" it is cascade-DR (Kiyohara et al. 2022).
    """
    return Ratio(logged.sum(logged.baseline + _residual(logged)), logged.ones)


@estimator("sndr", formula="mean of E[q] + mean of w (r - q) / mean of w", predicts=True)
def sndr(logged: LoggedData) -> Sequence[Ratio]:
    """Self-normalised doubly robust: residuals divided by the mean weight (Thomas and Brunskill 2016)."""
    direct = Ratio(logged.sum(logged.baseline), logged.ones)
    return direct, Ratio(logged.sum(_residual(logged)), logged.mean(logged.weight))


def _residual(logged: LoggedData) -> Any:
    return logged.weight * (logged.reward - logged.predicted)
