"""Functions that are declared once by a decorator: metrics, fusion methods, estimators.

Names, aliases, parameters with their checks, written forms, help and errors are all read from the declaration.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from rankstone.errors import InputError, InputTypeError, is_finite, show

Value: TypeAlias = Any  # of a choice or a parameter: "exp2", 0.8, 10, None, or a table: {1: 0.5, 2: 1}
ByName: TypeAlias = Mapping[str, Value]  # choices or parameters: {"threshold": 2, "gain": "exp2", "ap_divisor": "k"}
T = TypeVar("T")

# -- parameters ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parameter:
    """What a parameter means, how its values read in a definition, and what it can be.

    It stands in the annotation, `p: Annotated[float, Parameter("chance to go on", above=0, below=1)]`; labels and types
    come from there too.

    Parameters
    ----------
    meaning : str
        What it is, in a few words.
    labels : dict, optional
        How each value reads in a definition.
    hidden : tuple, optional
        Values that a definition does not mention.
    text, latex : dict, optional
        How each value reads in the formula.
    above, below, at_least, at_most : float, optional
        Limits of a number.
    applies_when : tuple of a name and a tuple of values, optional
        Another parameter and its values with which this one has an effect.
    allowed : tuple, optional
        The values it can have; by default those of the annotation.
    types : frozenset, optional
        The types it can have; by default those of the annotation.
    """

    meaning: str = ""
    labels: Mapping[Any, str] = field(default_factory=dict)  # by value; `...` for any other, with {} for it
    hidden: tuple[Any, ...] = ()  # values that go without saying
    text: Mapping[Any, str] = field(default_factory=dict)  # how values read inside a formula, where not as they are
    latex: Mapping[Any, str] = field(default_factory=dict)  # the same
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    applies_when: tuple[str, tuple[Any, ...]] | None = None  # another parameter, and its values for which this matters
    allowed: tuple[Any, ...] = ()
    types: frozenset[Any] = frozenset()

    def matters(self, arguments: ByName) -> bool:
        """Does it change anything, with these values of the other parameters.

        Parameters
        ----------
        arguments : dict
            All parameters of the metric, by name.
        """
        other, values = self.applies_when or ("", ())
        return other not in arguments or arguments[other] in values

    def check(self, name: str, value: Value) -> None:
        """Raise an error for a value that it cannot have.

        Parameters
        ----------
        name : str
            What the error calls it.
        value : object
            The value.
        """
        if self.allowed and value in self.allowed:
            return
        table = isinstance(value, tuple) and any(get_origin(kind) is Mapping for kind in self.types)
        if self.allowed and not table and not (self.types & {int, float} and isinstance(value, Real)):
            raise InputError(f"{name}={value!r}; choose from {', '.join(map(repr, self.allowed))}")
        if table or (value is None and type(None) in self.types):
            return
        if self.types & {int, float} and (isinstance(value, bool) or not isinstance(value, Real)):
            raise InputTypeError(f"{name}={value!r} is not a number")
        if isinstance(value, int) and not is_finite(value):
            raise InputError(f"{name}={show(value)} is larger than every float")
        if int in self.types and float not in self.types and not float(value).is_integer():
            raise InputTypeError(f"{name}={value!r} is not a whole number")
        low, high = self.above if self.at_least is None else self.at_least, self.below or self.at_most
        if (
            (self.above is not None and not value > self.above)
            or (self.at_least is not None and not value >= self.at_least)
            or (self.below is not None and not value < self.below)
            or (self.at_most is not None and not value <= self.at_most)
        ):
            span = f"lie between {low:g} and {high:g}" if high is not None else f"be above {low:g}"
            raise InputError(f"{name} must {span}, not {value!r}")

    def describe(self, name: str, value: Value) -> str:
        """The value in a few words; an empty text for the default.

        Parameters
        ----------
        name : str
            The parameter's name.
        value : object
            The value.
        """
        if isinstance(value, tuple):  # a table
            return f"{name} {dict(value)}"
        if value in self.hidden:
            return ""
        return self.labels.get(value, self.labels.get(..., f"{name.replace('_', ' ')} {{}}")).format(value)


def _about(hint: Any) -> Parameter:
    """What an annotation says."""
    said = next((note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Parameter)), Parameter())
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    types = frozenset({hint, *parts, *get_args(hint)} - {Any})
    if not words:
        return replace(said, types=types)
    return replace(said, allowed=words, types=frozenset(part for part in parts if get_origin(part) is not Literal))


def depth(k: SupportsIndex) -> int:
    """A cutoff: a whole number from 1."""
    try:
        if isinstance(k, bool):
            raise InputTypeError
        number = operator.index(k)
    except TypeError:
        raise InputTypeError(f"k must be a whole number from 1, not {k!r}") from None
    if number < 1:
        raise InputError(f"k must be a whole number from 1, not {number}")
    if number.bit_length() > 1000:
        raise InputError("k must be a whole number from 1, not one of more than 300 digits")
    return number


# -- declarations --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DeclaredFunction:
    """A function with a name, whose keyword arguments are parameters, described by their annotations."""

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    apart: ClassVar[tuple[str, ...]] = ()  # arguments that are no parameters: a metric's cutoff

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n", 1)[0]

    @property
    def entry(self) -> str:
        """What a listing says of it."""
        return self.summary

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Parameters with their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in self.apart
        }

    @cached_property
    def about(self) -> dict[str, Parameter]:
        """What the function says of its parameters."""
        hints = get_type_hints(self.function, include_extras=True)
        return {name: _about(hints.get(name)) for name in self.defaults}

    def words(self, parameter: str) -> tuple[Any, ...]:
        """The words that a parameter can be, in a fixed order; none where it can be any number."""
        return self.about[parameter].allowed if parameter in self.about else ()

    def takes(self, parameter: str, value: Value) -> bool:
        """Can the parameter have this value. What is no parameter is not its to refuse."""
        try:
            self.check(parameter, value)
        except (TypeError, ValueError):
            return False
        return True

    def check(self, parameter: str, value: Value) -> None:
        """Refuse a value that the parameter cannot take."""
        if parameter in self.about:
            self.about[parameter].check(f"{self.name}: {parameter}", value)


def is_built_in(declaration: DeclaredFunction) -> bool:
    """Is it one of the package's own."""
    return declaration.function.__module__.startswith("rankstone.")


Row = TypeVar("Row", bound=DeclaredFunction)


class Listing(Mapping[str, T]):
    """Things by name, which print as a list of what each of them is."""

    @abstractmethod
    def _about(self, name: str) -> str: ...

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {self._about(name)}" for name in self)

    def _repr_html_(self) -> str:
        from html import escape

        rows = (f"<tr><td><code>{escape(name)}</code></td><td>{escape(self._about(name))}</td></tr>" for name in self)
        return f"<table>{''.join(rows)}</table>".replace("<td>", "<td style='text-align:left'>")


class Registry(Listing[T], Generic[Row, T]):
    """What was declared, by name or as an attribute, and what a user declared too.

    kind: the word for one of them, with its article. make: the value that users have of a name.
    """

    def __init__(self, kind: str, make: Callable[[str], T]) -> None:
        self._kind, self._make = kind, make
        self.rows: dict[str, Row] = {}
        self.names: dict[str, str] = {}  # lower-case name or alias -> name
        self.on_declare: list[Callable[[], None]] = []  # empties caches that a new or changed row makes stale

    def declare(self, row: Row) -> T:
        """Take a row in, under its name and aliases."""
        kind, before = self._kind.split()[1], self.rows.get(row.name)
        names = {alias.lower(): alias for alias in (row.name, *row.aliases)}
        for alias in names.values():
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", alias):
                raise InputError(f"{alias!r} cannot be {self._kind}'s name: use letters, digits and _")
        if before is not None and is_built_in(before) and not is_built_in(row):
            raise InputError(f"{row.name!r} is {self._kind} of rankstone's own; choose another name")
        for lower, alias in names.items():
            if self.names.get(lower, row.name) != row.name:
                raise InputError(f"{kind} name {alias!r} is already an alias of {self.names[lower]!r}")
        self.names.update(dict.fromkeys(names, row.name))
        self.rows[row.name] = row
        for forget in self.on_declare:
            forget()
        return self._make(row.name)

    def find(self, name: str | Row) -> Row:
        """The row of a name or an alias, whatever its case; a row as it is."""
        if isinstance(name, DeclaredFunction):
            return name
        known = self.names.get(name.lower()) if isinstance(name, str) else None
        if known is None:
            raise InputError(self.unknown(name))
        return self.rows[known]

    def unknown(self, text: object, word: str | None = None) -> str:
        """An error's text, of a name that there is not; word: the name inside a longer text."""
        word = word or str(text)
        meant = dict.fromkeys(str(text).replace(word, self.names[near], 1) for near in nearest(word, self.names, 5))
        return unknown_word(self._kind.split()[1], text, sorted(self.rows), meant)

    def __getitem__(self, name: str) -> T:
        try:
            return self._make(name)
        except ValueError as error:
            raise KeyError(error.args[0]) from None

    def __getattr__(self, name: str) -> T:
        if name.startswith("_"):  # before there is anything to look in
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __dir__(self) -> list[str]:
        return list(self.rows)

    def _about(self, name: str) -> str:
        return self.rows[name].entry


def nearest(word: object, names: Iterable[str], most: int = 1) -> list[str]:
    """The names that were probably meant, the nearest first; none where all are far off."""
    import difflib  # a quick start: most names are right

    return difflib.get_close_matches(str(word).lower()[:200], list(names), n=most, cutoff=0.7)


def some_of(names: Sequence[str], most: int = 5) -> str:
    """The names, or the first of many."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"


def unknown_word(what: str, word: object, names: Iterable[str], meant: Iterable[str] | None = None) -> str:
    """An error's text: what is unknown, and at most five names that may have been meant.

    meant: these, where they are not simply the nearest names.
    """
    names = list(names)
    near = nearest(word, names, 5) if meant is None else list(meant)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {some_of(names)}"
    shown = repr(word) if len(str(word)) <= 100 else f"{str(word)[:100]!r}..."
    return f"unknown {what} {shown}; {hint}"


# -- written forms -------------------------------------------------------------------------------------------

# Parameters and their words as ir_measures has them.
_PARAMETERS = {"rel": "threshold", "dcg": "gain", "gains": "gain", "judged_only": "unjudged"}
_WORDS = {
    ("dcg", "log2"): "linear", ("dcg", "exp-log2"): "exp2", ("judged_only", True): "condensed",
    ("judged_only", False): "nonrelevant",
}  # fmt: skip


def written(name: str, params: Iterable[tuple[str, Value]]) -> str:
    """A name with its parameters, as it is read back: `rbp(p=0.8)`."""
    shown = ", ".join(f"{name}={dict(value) if isinstance(value, tuple) else value!r}" for name, value in params)
    return f"{name}({shown})" if shown else name


def text_parts(text: str) -> list[str]:
    """The text cut at commas outside brackets. After one, a bare number is another cutoff: `ndcg@5,10`."""
    commas, inside = [-1], 0
    for at, sign in enumerate(text):
        inside += (sign in "({") - (sign in ")}")
        if sign == "," and inside <= 0:
            commas.append(at)
    parts = [text[before + 1 : at] for before, at in zip(commas, [*commas[1:], len(text)], strict=True)]
    for at, part in enumerate(parts[1:], 1):
        if re.fullmatch(r"\s*\d+\s*", part):
            parts[at] = re.sub(r"(?<!\d)\d+\s*$", part.strip(), parts[at - 1])
    return parts


def read_arguments(text: str, declaration: DeclaredFunction, arguments: str) -> dict[str, Value]:
    """The parameters in a written form: `(p=0.8)`."""
    try:
        call = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, MemoryError, RecursionError, ValueError):  # nested too deeply, or a null character
        call = None
    if not isinstance(call, ast.Call):
        raise InputError(f"cannot read the parameters of {text[:200]!r}; write them like 'rbp(p=0.8)'")
    if len(call.args) > len(declaration.defaults):
        raise InputError(f"{text!r}: {declaration.name} takes {', '.join(declaration.defaults) or 'no parameters'}")
    by_name = ((keyword.arg, keyword.value) for keyword in call.keywords)
    pairs = [*zip(declaration.defaults, call.args, strict=False), *by_name]
    out: dict[str, Value] = {}
    for spelt, node in pairs:
        parameter = spelt if spelt is None or spelt in declaration.defaults else _PARAMETERS.get(spelt, spelt)
        if parameter is None or parameter in out:
            raise InputError(f"{text!r}: parameter {parameter!r} is given twice or has no name")
        if isinstance(node, ast.Name):  # a bare word stands for itself
            out[parameter] = node.id
            continue
        try:
            value = ast.literal_eval(node)
        except (ValueError, MemoryError, RecursionError):
            shown = ast.get_source_segment(f"f{arguments}", node) or ""
            raise InputError(f"{text[:200]!r}: {parameter}={shown[:100]} is not a plain value") from None
        out[parameter] = _WORDS.get((spelt or "", value), value) if isinstance(value, (str, bool)) else value
    return out
