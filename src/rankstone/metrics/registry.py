"""A metric is declared once, by `@metric`. Names, parameters, help and checks are all read from that declaration."""

from __future__ import annotations

import ast
import inspect
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from numbers import Real
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from rankstone.align.functions import Values
from rankstone.program.ranking import Ranking, Ratio

if TYPE_CHECKING:
    from rankstone.conventions.convention import Convention
    from rankstone.typing import Items, Numbers

T = TypeVar("T")
Kind = Literal["ranking", "count", "ratings", "agreement", "intents", "shown"]
Form = Literal["ranking", "shown"]  # where the judged items stand (`Ranking`), or what the lists hold (`Shown`)
Value: TypeAlias = Any  # of a choice or a parameter: "exp2", 0.8, 10, None, or a table: {1: 0.5, 2: 1}
ByName: TypeAlias = Mapping[str, Value]  # choices or parameters: {"threshold": 2, "gain": "exp2", "ap_divisor": "k"}
Whole = Callable[[float, float, ByName], tuple[float, float]]
BestFirst = Callable[[Ranking, ByName], Values | None]
"""What each item is worth, given the parameters: of all orders of tied items, the one with the best first has the
highest value, and the one with the best last the lowest. An unjudged item is worth 0. None: no such order is known."""


Growth = Literal["hits", "gains", "share", "share of gains", "binary"]
"""How a value grows if unjudged items of a list are judged. hits, gains: it never falls, and reads whether they are
relevant, or their grades. share: of as many relevant ones, it is highest with the first of a list and lowest with the
last. share of gains: a sum of gains, each discounted by its rank, over that of the ideal list. binary: as a share if
all grades are 0 and 1."""


def by_grade(ranking: Ranking, parameters: ByName) -> Values:
    """An item is worth its grade, a relevant one more than any other."""
    return ranking.where(ranking.credit > 0, ranking.maximum(ranking.grade, 0.0) + 1.0, ranking.grade)


def by_hits(ranking: Ranking, parameters: ByName) -> Values:
    """An item is worth what it counts as a hit."""
    return ranking.counted(parameters.get("k"))


Earns = Callable[[Ranking, ByName], Values]  # given the parameters, 0 for a query where nothing could be earned


@dataclass(frozen=True, eq=False)
class Declared:
    """A function with a name, whose keyword arguments are parameters that its annotations tell about."""

    name: str
    function: Callable[..., Any]

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n", 1)[0]

    apart: ClassVar[tuple[str, ...]] = ("k",)  # arguments that are no parameters: the cutoff

    @cached_property
    def defaults(self) -> dict[str, Value]:
        """Parameters besides k, with their defaults."""
        found = inspect.signature(self.function).parameters
        return {
            name: parameter.default
            for name, parameter in found.items()
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
        """Can the parameter have this value. What is no parameter of the metric is not its to refuse."""
        try:
            self.check(parameter, value)
        except (TypeError, ValueError):
            return False
        return True

    def check(self, parameter: str, value: Value) -> None:
        """Refuse a value that the parameter cannot take."""
        if parameter in self.about:
            self.about[parameter].check(f"{self.name}: {parameter}", value)


@dataclass(frozen=True, eq=False)
class Declaration(Declared):
    """One metric's declaration."""

    aliases: tuple[str, ...]
    spellings: Mapping[str, str]  # what other tools write, and what that is here: {"map_cut_{k}": "ap@{k}"}
    formula: str  # <divisor> stands for a parameter's value, (k) falls away where there is no cutoff
    latex: str  # the same
    use: str  # when to use it
    beware: str
    kind: Kind
    reads: Form
    choices: ByName  # choices this metric makes differently from the rest, e.g. how it is averaged
    expected: bool  # has a closed form over all orders of tied items
    zeros: Callable[[ByName], bool]  # does it read items judged with grade 0, given its parameters
    best_first: BestFirst  # the orders of tied items that bound its value
    bounds: tuple[float, float]
    better: Literal["higher", "lower", "neither"]
    additive: bool  # over all rows as one list, both sums of the ratio are those of the queries added up
    two_sided: bool  # an item is relevant or not, and nothing between
    all_queries: Callable[[ByName], str]  # what it asks of all queries at once, given its parameters
    whole: Whole | None  # what the means of its two parts make
    counts_hits: bool  # it counts the relevant items of the first k, so that a truth cut at k changes it
    ends_at_k: bool  # with a cutoff, what lies below it is never looked at
    earns: Earns | None  # is there anything to earn, where what it is divided by does not tell
    grades: Callable[[ByName], bool] | None  # does it read the truth's grades, given its parameters; None: never
    grows: Callable[[ByName], Growth | None]  # with the grades of unjudged items, given its parameters; None: unknown
    reach: Callable[[ByName], int] | None  # the depth beyond which nothing adds to it, where there is no cutoff
    weighs: bool  # its items can count by the weights of the truth

    @cached_property
    def takes_k(self) -> bool:
        """Does it have a place for @k."""
        return "k" in inspect.signature(self.function).parameters


@dataclass(frozen=True, eq=False)
class Parameter:
    """What a parameter means, how its values read in a definition, and what it can be.

    It stands in the annotation, `p: Annotated[float, Parameter("chance to go on", above=0, below=1)]`; words and types
    come from there too.
    """

    meaning: str = ""
    words: Mapping[Any, str] = field(default_factory=dict)  # by value; `...` for any other, with {} for it
    quiet: tuple[Any, ...] = ()  # values that go without saying
    text: Mapping[Any, str] = field(default_factory=dict)  # how values read inside a formula, where not as they are
    latex: Mapping[Any, str] = field(default_factory=dict)  # the same
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    when: tuple[str, Any] | None = None  # another parameter, and its only value for which this one matters
    allowed: tuple[Any, ...] = ()
    types: frozenset[Any] = frozenset()

    def matters(self, arguments: ByName) -> bool:
        """Does it change anything, beside the other parameters."""
        return self.when is None or arguments.get(self.when[0]) == self.when[1]

    def check(self, name: str, value: Value) -> None:
        """Refuse what it cannot be."""
        if self.allowed and value in self.allowed:
            return
        table = isinstance(value, tuple) and any(get_origin(kind) is Mapping for kind in self.types)
        if self.allowed and not table and not (self.types & {int, float} and isinstance(value, Real)):
            raise ValueError(f"{name}={value!r}; choose from {', '.join(map(repr, self.allowed))}")
        if table or (value is None and type(None) in self.types):
            return
        if self.types & {int, float} and (isinstance(value, bool) or not isinstance(value, Real)):
            raise TypeError(f"{name}={value!r} is not a number")
        if int in self.types and float not in self.types and not float(value).is_integer():
            raise TypeError(f"{name}={value!r} is not a whole number")
        low, high = self.above if self.at_least is None else self.at_least, self.below or self.at_most
        if (
            (self.above is not None and not value > self.above)
            or (self.at_least is not None and not value >= self.at_least)
            or (self.below is not None and not value < self.below)
            or (self.at_most is not None and not value <= self.at_most)
        ):
            span = f"lie between {low:g} and {high:g}" if high is not None else f"be above {low:g}"
            raise ValueError(f"{name} must {span}, not {value!r}")

    def say(self, name: str, value: Value) -> str:
        """The value in a few words; nothing where it is the ordinary one."""
        if isinstance(value, tuple):  # a table
            return f"{name} {dict(value)}"
        if value in self.quiet:
            return ""
        return self.words.get(value, self.words.get(..., f"{name.replace('_', ' ')} {{}}")).format(value)


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


_DECLARED: dict[str, Declaration] = {}
_NAMES: dict[str, str] = {}  # lower-case name or alias -> name
on_declare: list[Callable[[], None]] = []  # empties caches that a new or changed metric makes stale


def metric(
    name: str,
    *,
    aliases: Iterable[str] = (),
    spellings: Mapping[str, str] = MappingProxyType({}),
    formula: str = "",
    latex: str = "",
    use: str = "",
    beware: str = "",
    kind: Kind = "ranking",
    reads: Form = "ranking",
    choices: ByName | None = None,
    expected: bool = False,
    zeros: bool | Callable[[ByName], bool] = True,
    best_first: BestFirst | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    better: Literal["higher", "lower", "neither"] = "higher",
    additive: bool = False,
    two_sided: bool = False,
    all_queries: Callable[[ByName], str] = lambda _: "",
    whole: Whole | None = None,
    counts_hits: bool = False,
    ends_at_k: bool = False,
    earns: Earns | None = None,
    grades: bool | Callable[[ByName], bool] | None = None,
    grows: Growth | Callable[[ByName], Growth | None] | None = None,
    reach: Callable[[ByName], int] | None = None,
    weighs: bool = False,
) -> Callable[[Callable[..., Ratio]], Metric]:
    """Declare a metric: a function from a `Ranking`, and k if it has a place for it, to a `Ratio`.

    `reads="shown"`: a function from `Shown`, which knows all that the lists hold, judged or not.

    It then has a name that parses, a place in every table, and works wherever the built-in ones do. Say
    `expected=True` only if the function uses nothing but `hits`, `sum` and `discounted` to read ranks, and
    `zeros=False` (or a function of its parameters) only if items judged 0 cannot change its value. `best_first` says
    what tied items are worth, where a better grade first is not what makes the value highest. `additive=True` lets a
    cluster compute an error of predicted ratings without bringing all of them together. `earns=by_relevant` is for one
    that is not divided by what could be earned: without a relevant item there is nothing to earn. `grades` says, of a
    metric of what was shown, whether it reads grades, so that it needs a truth. `grows` says what becomes of it if
    unjudged items are judged (see `Growth`); without it, its bounds are unknown. `kind="intents"` is for one that reads
    subtopics, and `weighs=True` for one that is a sum of credits or weighted gains.
    """
    names = (name, *aliases)
    graded = reads == "ranking" if grades is None else grades
    for alias in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", alias):
            raise ValueError(f"{alias!r} cannot be a metric's name: use letters, digits and _")

    def declare(function: Callable[..., Ratio]) -> Metric:
        declaration = Declaration(
            name, function, tuple(aliases), MappingProxyType(dict(spellings)), formula, latex, use, beware,
            "shown" if reads == "shown" else kind, reads,
            MappingProxyType(dict(choices or {})), expected, zeros if callable(zeros) else lambda _: bool(zeros),
            best_first or (by_hits if counts_hits else by_grade), bounds, better, additive, two_sided,
            all_queries, whole, counts_hits, ends_at_k, earns,
            graded if callable(graded) else (lambda _: True) if graded else None,
            grows if callable(grows) else lambda _: grows, reach, weighs,
        )  # fmt: skip
        before = _DECLARED.get(name)
        if before is not None and is_built_in(before) and not is_built_in(declaration):
            raise ValueError(f"{name!r} is a metric of rankstone's own; choose another name")
        for alias in names:
            taken = _NAMES.get(alias.lower())
            if taken not in (None, name):
                raise ValueError(f"metric name {alias!r} is already an alias of {taken!r}")
        _NAMES.update({alias.lower(): name for alias in names})
        _DECLARED[name] = declaration
        for forget in on_declare:
            forget()
        return Metric(name)

    return declare


def by_relevant(ranking: Ranking, parameters: ByName) -> Values:
    """Something can be earned where there is a relevant item."""
    return ranking.relevant


def is_built_in(declaration: Declaration) -> bool:
    """Is it one of the package's own metrics."""
    return declaration.function.__module__.startswith("rankstone.")


def declared() -> dict[str, Declaration]:
    """Every declared metric, by name."""
    return dict(_DECLARED)


class Hooks:
    """What later packages do for a metric; `rankstone` sets them, so that no import leads from here to there."""

    check_choice: Callable[[Declaration | None, str, Value], Value]
    evaluate_list: Callable[..., float]
    manual: Callable[[Metric], str]


hooks = Hooks()


class _Doc:
    """The text that `help` shows: of the class its own, of a metric all about that metric."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, metric: Metric | None, owner: type) -> str:
        if metric is None:
            return self.text
        return hooks.manual(metric)


class _Signature:
    """How a metric is called, with its own parameters; of the class, as it is made."""

    def __get__(self, metric: Metric | None, owner: type) -> inspect.Signature | None:
        if metric is None:
            return None
        kind = inspect.Parameter
        by_name = {"truth": None, **({"k": None} if metric.declaration.takes_k else {}), **metric.declaration.defaults}
        return inspect.Signature(
            [
                kind("ranked", kind.POSITIONAL_ONLY),
                *(kind(name, kind.KEYWORD_ONLY, default=default) for name, default in by_name.items()),
                kind("labels", kind.KEYWORD_ONLY, default=None),
                kind("scores", kind.KEYWORD_ONLY, default=None),
                kind("convention", kind.KEYWORD_ONLY, default="rankstone"),
                kind("choices", kind.VAR_KEYWORD),
            ]
        )


@dataclass(frozen=True, slots=True, repr=False)
class Metric:
    __doc__ = _Doc(
        """A metric as a value: hashable, and `parse(str(m)) == m`.

    `ndcg @ 10` cuts it at 10, `ndcg(gain="exp2")` sets a parameter, `ndcg(ranked, truth=truth)` measures one list.
    """
    )
    __signature__ = _Signature()

    name: str
    k: int | None = None
    params: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in _DECLARED:
            raise ValueError(_unknown(self.name))
        if self.params:
            for name, value in self.params:
                hooks.check_choice(self.declaration, name, value)
        if self.k is not None:
            object.__setattr__(self, "k", depth(self.k))
            if not self.declaration.takes_k:
                raise ValueError(f"{self.name} has no place for a cutoff: write {self.name!r} without @{self.k}")

    @property
    def declaration(self) -> Declaration:
        return _DECLARED[self.name]

    def __matmul__(self, k: int) -> Metric:
        return Metric(self.name, k, self.params)

    def given(self, **params: Value) -> Metric:
        """The same metric with parameters or choices set."""
        merged = dict(self.params)
        for name, value in params.items():
            merged[name] = hooks.check_choice(self.declaration, name, value)
        return Metric(self.name, self.k, tuple(sorted(merged.items())))

    @staticmethod
    def parse(text: str) -> tuple[Metric, ...]:
        """Read metrics from their written form: `ndcg@10`, `recall@{5,10}`, `rbp(p=0.8)`."""
        return parse(text)

    @overload
    def __call__(
        self,
        __ranked: Items,
        *,
        truth: Items,
        k: int | None = None,
        convention: str | Convention = ...,
        **choices: Value,
    ) -> float: ...
    @overload
    def __call__(
        self,
        *,
        labels: Numbers,
        scores: Numbers | None = None,
        truth: Numbers | None = None,
        k: int | None = None,
        convention: str | Convention = ...,
        **choices: Value,
    ) -> float: ...
    @overload
    def __call__(self, *, k: int | None = None, **params: Value) -> Metric: ...
    def __call__(self, *ranked: Items, k: int | None = None, **options: Value) -> Metric | float:
        """Measure one list, or (without any data) set parameters.

        `ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)`: items best first, and the relevant ones (or {item: grade}).
        `ndcg(labels=[3, 0, 2])`: the grades in ranked order; with `scores=`, in any order;
        with `truth=`, the grades of all judged items if the list does not hold them all.
        """
        if len(ranked) > 1:
            raise TypeError(f"give the truth by name, as either side is a list: rs.{self.name}(items, truth=relevant)")
        if ranked or {"labels", "scores", "truth"} & options.keys():
            return hooks.evaluate_list(self if k is None else self @ k, *ranked, **options)
        given = self.given(**options)
        return given if k is None else given @ k

    def __str__(self) -> str:
        params = ", ".join(f"{name}={_show(value)}" for name, value in self.params)
        return f"{self.name}{f'({params})' if params else ''}{'' if self.k is None else f'@{self.k}'}"

    __repr__ = __str__


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


class OfDeclared(Listing[T]):
    """What was declared, by name or as an attribute, and what a user declared too."""

    def __init__(self, rows: Callable[[], Mapping[str, Declared]], make: Callable[[str], T]) -> None:
        self._rows, self._make = rows, make

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
        return iter(sorted(self._rows()))

    def __len__(self) -> int:
        return len(self._rows())

    def __dir__(self) -> list[str]:
        return list(self._rows())

    def _about(self, name: str) -> str:
        return self._rows()[name].summary


class Metrics(OfDeclared[Metric]):
    """Every metric by name: `rs.metrics["infap"]`, `rs.metrics.infap`; those that a user declared, too."""


metrics = Metrics(lambda: _DECLARED, Metric)


def depth(k: SupportsIndex) -> int:
    """A cutoff: a whole number from 1."""
    try:
        if isinstance(k, bool):
            raise TypeError
        number = operator.index(k)
    except TypeError:
        raise TypeError(f"k must be a whole number from 1, not {k!r}") from None
    if number < 1:
        raise ValueError(f"k must be a whole number from 1, not {number}")
    if number.bit_length() > 1000:
        raise ValueError("k must be a whole number from 1, not one of more than 300 digits")
    return number


# Each character can be read in one way only, so that a long text that is none takes no time either.
_SHAPE = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9_.-]*)(?:\s*(\(.*\))(?=[^)]*$))?(?:\s*@\s*(\{[^}]*\}|[^{}\s]+))?", re.DOTALL
)
_MOST_CUTOFFS = 10_000
_HOLES = {"_": "[_.]", r"\{k\}": r"(?P<k>\d+)", r"\{x\}": r"(?P<x>\d*\.?\d+)"}  # trec_eval writes P_5 and P.5
# Parameters and their words as ir_measures has them.
_PARAMETERS = {"rel": "threshold", "dcg": "gain", "gains": "gain", "judged_only": "known"}
_WORDS = {
    ("dcg", "log2"): "linear", ("dcg", "exp-log2"): "exp2", ("judged_only", True): "judged",
    ("judged_only", False): "truth",
}  # fmt: skip


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Metric, ...]:
    """Read metrics from their written form: `ndcg@10`, `recall@{5,10}`, `rbp(p=0.8)`, `ndcg(gain="exp2")@10, ap`.

    `ndcg@{1..100}` has every cutoff from 1 to 100, `ndcg@{1..100..10}` every tenth of them.
    Names as other tools write them are read too: `map_cut_10`, `P_5`, `AP(rel=2)`.
    """
    found = [metric for part in text_parts(text) for metric in _read(part)]
    return tuple(dict.fromkeys(found))


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


def _read(text: str) -> list[Metric]:
    word, arguments, cutoffs = _shape(text)
    spelt = _spelt(word, arguments, cutoffs)
    if spelt is not None:
        word, arguments, cutoffs = spelt
    name = _named(word)
    if name is None:
        raise ValueError(_unknown(text, word))
    found = Metric(name)
    if arguments:
        found = found.given(**read_arguments(text, found.declaration, arguments))
    return [found] if cutoffs is None else [found @ k for k in _cutoffs(text, cutoffs)]


def _spelt(word: str, arguments: str | None, cutoffs: str | None) -> tuple[str, str | None, str | None] | None:
    """Name, parameters and cutoffs of what another tool writes so; None: it is no spelling of another tool."""
    whole = {f"{word}@{cutoffs}": (arguments, None), f"{word}{arguments}": (None, cutoffs), word: (arguments, cutoffs)}
    if word.lower() in _NAMES:  # a name is nearer than a spelling of the same word
        del whole[word]
    for pattern, ours in _spellings():
        for written, rest in whole.items():
            if found := pattern.fullmatch(written):
                name, given, k = _shape(re.sub(r"\{(.)\}", lambda hole: found[hole[1]], ours))
                both = f"{given[:-1]}, {rest[0][1:]}" if given and rest[0] else given or rest[0]
                return name, both, k or rest[1]
    return None


def _shape(text: str) -> tuple[str, str | None, str | None]:
    """Name, parameters and cutoffs."""
    shape = _SHAPE.fullmatch(re.sub(r"_at_(?=\d+$)", "@", text.strip()))
    if shape is None:
        raise ValueError(f"cannot read metric {text!r}; write it like 'ndcg@10', 'recall@{{5,10}}' or 'rbp(p=0.8)@10'")
    word, arguments, cutoffs = shape.groups()
    return word, arguments, cutoffs


def _named(word: str) -> str | None:
    """The metric of this name or alias, whatever its case and its hyphens; torchmetrics puts `retrieval` before it."""
    if word.lower() in _NAMES:
        return _NAMES[word.lower()]
    known = {_joined(name): metric for name, metric in _NAMES.items()}
    return known.get(_joined(word)) or known.get(_joined(word).removeprefix("retrieval"))


def _joined(word: str) -> str:
    return re.sub(r"(?<=[a-z])[_-](?=[a-z])", "", word.lower())


@lru_cache(maxsize=1)
def _spellings() -> list[tuple[re.Pattern[str], str]]:
    """What other tools write, as patterns, and what that is here."""
    out = []
    for declaration in _DECLARED.values():
        for theirs, ours in declaration.spellings.items():
            pattern = re.escape(theirs)
            for hole, number in _HOLES.items():
                pattern = pattern.replace(hole, number)
            out.append((re.compile(pattern, re.IGNORECASE), ours))
    return out


def _cutoffs(text: str, cutoffs: str) -> list[int]:
    """Whole numbers, and spans of them: `5`, `{5,10}`, `{1..5}`, and `{1..100..10}` for every tenth."""
    ks: list[int] = []
    for part in cutoffs.strip("{}").split(","):
        span = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", part)
        if span is None and not re.fullmatch(r"\s*[+-]?\d+\s*", part):
            raise ValueError(f"{text!r}: cutoff {part.strip()!r} is not a whole number")
        many = range(int(span[1]), int(span[2]) + 1, depth(int(span[3] or 1))) if span else [int(part)]
        if len(ks) + len(many) > _MOST_CUTOFFS:
            raise ValueError(f"{text!r} names more than {_MOST_CUTOFFS:,} cutoffs; {{1..1000..10}} is every tenth")
        ks += many
    if not ks:
        raise ValueError(f"{text!r}: there is no number from {cutoffs.strip('{}').replace('..', ' up to ')}")
    return [depth(k) for k in ks]


on_declare += [parse.cache_clear, _spellings.cache_clear]


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """The metrics one by one, where texts may name several."""
    given = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    return [metric for one in given for metric in (parse(one) if isinstance(one, str) else (one,))]


def parse_one(metric: str | Metric, wish: str = "ask for one") -> Metric:
    """The metric that is meant, where a text may name several."""
    found = parse(metric) if isinstance(metric, str) else (metric,)
    if len(found) > 1:
        raise ValueError(f"{metric!r} names {len(found)} metrics; {wish}: {', '.join(map(str, found))}")
    return found[0]


def read_arguments(text: str, declaration: Declared, arguments: str) -> dict[str, Value]:
    """The parameters in a written form: `(p=0.8)`."""
    try:
        call = ast.parse(f"f{arguments}", mode="eval").body
    except SyntaxError:
        raise ValueError(f"cannot read the parameters of {text!r}; write them like 'rbp(p=0.8)'") from None
    if not isinstance(call, ast.Call):
        raise ValueError(f"cannot read the parameters of {text!r}; write them like 'rbp(p=0.8)'")
    if len(call.args) > len(declaration.defaults):
        raise ValueError(f"{text!r}: {declaration.name} takes {_list_or_none(declaration.defaults)}")
    by_name = ((keyword.arg, keyword.value) for keyword in call.keywords)
    pairs = [*zip(declaration.defaults, call.args, strict=False), *by_name]
    out: dict[str, Value] = {}
    for spelt, node in pairs:
        parameter = spelt if spelt is None or spelt in declaration.defaults else _PARAMETERS.get(spelt, spelt)
        if parameter is None or parameter in out:
            raise ValueError(f"{text!r}: parameter {parameter!r} is given twice or has no name")
        if isinstance(node, ast.Name):  # a bare word stands for itself
            out[parameter] = node.id
            continue
        try:
            value = ast.literal_eval(node)
        except ValueError:
            raise ValueError(f"{text!r}: {parameter}={ast.unparse(node)} is not a plain value") from None
        out[parameter] = _WORDS.get((spelt or "", value), value) if isinstance(value, (str, bool)) else value
    return out


def _unknown(text: str, word: str | None = None) -> str:
    word = word or text
    near = nearest(word, _NAMES)
    meant = None if near is None else text.replace(word, _NAMES[near], 1)
    return unknown_word("metric", text, meant, sorted(_DECLARED))


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; None where all are far off."""
    import difflib  # a quick start: most words are known

    return next(iter(difflib.get_close_matches(str(word).lower(), list(known), n=1, cutoff=0.7)), None)


def unknown_word(what: str, word: object, meant: str | None, known: Iterable[str]) -> str:
    """An error's text: what is not known, what was probably meant, and what there is."""
    hint = "known" if meant is None else f"did you mean {meant!r}? Known"
    return f"unknown {what} {word!r}; {hint}: {', '.join(known)}"


def _list_or_none(names: Iterable[str]) -> str:
    return ", ".join(names) or "no parameters"


def _show(value: Value) -> str:
    if isinstance(value, tuple):  # a gain table
        return repr(dict(value))
    return repr(value)
