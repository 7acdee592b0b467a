"""A metric is declared once, by `@metric`. Names, parameters, help and checks are all read from that declaration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from rankstone.align.elementwise import Values
from rankstone.errors import InputError, InputTypeError, show
from rankstone.metrics.declaration import ByName as ByName
from rankstone.metrics.declaration import (
    DeclaredFunction,
    Registry,
    depth,
    read_arguments,
    text_parts,
    unknown_word,
    written,
)
from rankstone.metrics.declaration import Parameter as Parameter
from rankstone.metrics.declaration import Value as Value
from rankstone.metrics.declaration import is_built_in as is_built_in
from rankstone.program.ranking import Ranking, Ratio

if TYPE_CHECKING:
    from rankstone.conventions.convention import Convention
    from rankstone.typing import Items, Numbers

Kind = Literal["ranking", "count", "ratings", "agreement", "intents", "recommendations"]
Form = Literal[
    "ranking", "recommendations"
]  # where the judged items stand (`Ranking`), or what the lists hold (`Recommendations`)
Combine = Callable[[float, float, ByName], tuple[float, float]]
BestFirst = Callable[[Ranking, ByName], Values | None]
"""What each item is worth, given the parameters: of all orders of tied items, the one with the best first has the
highest value, and the one with the best last the lowest. An unjudged item is worth 0. None: no such order is known."""


Monotonicity = Literal[
    "hits", "gains", "sum of hits", "sum of gains", "share", "share at R", "share of gains", "binary"
]
"""How a value grows if unjudged items of a list are judged. hits, gains: it never falls, and reads whether they are
relevant, or their grades; sum of hits, sum of gains: each adds its own term, which does not rise with its rank. share:
of as many relevant ones, it is highest with the first of a list and lowest with the last, and relevant items that are
not returned never raise it; share at R: they may. share of gains: a sum of gains, each discounted by its rank, over
that of the ideal list. binary: as a share if all grades are 0 and 1."""


def by_grade(ranking: Ranking, parameters: ByName) -> Values:
    """An item is worth its grade, a relevant one more than any other."""
    return ranking.where(ranking.credit > 0, ranking.maximum(ranking.grade, 0.0) + 1.0, ranking.grade)


def by_hits(ranking: Ranking, parameters: ByName) -> Values:
    """An item is worth what it counts as a hit."""
    return ranking.credit_at(parameters.get("k"))


DefinedWhere = Callable[[Ranking, ByName], Values]  # given the parameters, 0 for a query without a denominator


@dataclass(frozen=True, eq=False)
class Declaration(DeclaredFunction):
    """One metric's declaration."""

    apart: ClassVar[tuple[str, ...]] = ("k",)
    title: str  # the full name, with a usual abbreviation; empty where the summary begins with it, or it is the name
    spellings: Mapping[str, str]  # what other tools write, and what that is here: {"map_cut_{k}": "ap@{k}"}
    formula: str  # <divisor> stands for a parameter's value; (k) and [k: words] fall away where there is no cutoff
    latex: str  # the same
    use_when: str  # when to use it
    caveat: str
    kind: Kind
    reads: Form
    choices: ByName  # choices this metric makes differently from the rest, e.g. how it is averaged
    expected: bool  # has a closed form over all orders of tied items
    reads_zero_grades: Callable[[ByName], bool]  # does it read items judged with grade 0, given its parameters
    best_first: BestFirst  # the orders of tied items that bound its value
    bounds: tuple[float, float]
    better: Literal["higher", "lower", "neither"]
    additive: bool  # over all rows as one list, both sums of the ratio are those of the queries added up
    binary_only: bool  # an item is relevant or not, and nothing between
    all_queries: Callable[[ByName], str]  # what it asks of all queries at once, given its parameters
    combine: Combine | None  # what the means of its two parts make
    counts_hits: bool  # it counts the relevant items of the first k, so that a truth cut at k changes it
    ends_at_k: bool  # with a cutoff, what lies below it is never looked at
    defined_where: DefinedWhere | None  # where the value is defined, if the denominator does not say so
    grades: Callable[[ByName], bool] | None  # does it read the truth's grades, given its parameters; None: never
    monotonicity: Callable[
        [ByName], Monotonicity | None
    ]  # with the grades of unjudged items, given its parameters; None: unknown
    max_depth: Callable[[ByName], int] | None  # the depth beyond which nothing adds to it, where there is no cutoff
    weightable: bool  # its items can count by the weights of the truth
    of_columns: bool  # also taken of two columns of values, so that two lists of numbers may be either

    @cached_property
    def full_name(self) -> str:
        """In words: "Average precision (MAP)"."""
        before, colon, _ = self.summary.partition(": ")
        return self.title or (before if colon else self.name.replace("_", " ").capitalize())

    @property
    def direction(self) -> int:
        """1 if a higher value is better, -1 if a lower one is, 0 if neither."""
        return {"higher": 1, "lower": -1, "neither": 0}[self.better]

    @property
    def of_unanswerable(self) -> bool:
        """Does it average the queries without relevant items, and no others."""
        return self.defined_where is by_no_relevant

    @cached_property
    def takes_k(self) -> bool:
        """Does it have a place for @k."""
        return "k" in inspect.signature(self.function).parameters


def metric(
    name: str,
    *,
    title: str = "",
    aliases: Iterable[str] = (),
    spellings: Mapping[str, str] = MappingProxyType({}),
    formula: str = "",
    latex: str = "",
    use_when: str = "",
    caveat: str = "",
    kind: Kind = "ranking",
    reads: Form = "ranking",
    choices: ByName | None = None,
    expected: bool = False,
    reads_zero_grades: bool | Callable[[ByName], bool] = True,
    best_first: BestFirst | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    better: Literal["higher", "lower", "neither"] = "higher",
    additive: bool = False,
    binary_only: bool = False,
    all_queries: Callable[[ByName], str] = lambda _: "",
    combine: Combine | None = None,
    counts_hits: bool = False,
    ends_at_k: bool = False,
    defined_where: DefinedWhere | None = None,
    grades: bool | Callable[[ByName], bool] | None = None,
    monotonicity: Monotonicity | Callable[[ByName], Monotonicity | None] | None = None,
    max_depth: Callable[[ByName], int] | None = None,
    weightable: bool = False,
    of_columns: bool = False,
) -> Callable[[Callable[..., Ratio]], Metric]:
    """Declare a metric: a function from a `Ranking` (and k, if it takes a cutoff) to a `Ratio`.

    The metric is then parsed by its name, listed in every table, and runs in every engine.

    Parameters
    ----------
    name : str
        Name, in lower case.
    title : str, optional
        The full name, with a usual abbreviation: "Average precision (MAP)"; else the summary up to a colon, or name.
    aliases : iterable of str, optional
        Other names that are accepted, and never printed.
    spellings : mapping of str to str, optional
        Names of other tools, with `{k}` or `{x}` for a number, and what they are here.
    formula, latex : str, optional
        The formula as text and as LaTeX; `<parameter>` stands for a parameter's value.
    use_when, caveat : str, optional
        When to use the metric, and what to be careful about.
    kind : str, default "ranking"
        "ranking", "count", "ratings", "agreement" or "intents" (reads subtopics).
    reads : str, default "ranking"
        What the function reads: a "ranking" (`Ranking`), or "recommendations" (`Recommendations`: all items of the
        lists, judged or not).
    choices : mapping, optional
        Choices that hold for this metric under every convention that does not set them for it.
    expected : bool, default False
        Whether the expected value over all orders of tied items is defined: the function reads ranks only through
        `hits`, `sum` and `discounted`.
    reads_zero_grades : bool or callable, default True
        False if items of grade 0 cannot change the value.
    best_first : callable, optional
        Gain by which tied items are ordered for the highest value, if it is not the grade.
    bounds : tuple of float, default (0, 1)
        Lowest and highest possible value.
    better : str, default "higher"
        "higher", "lower" or "neither".
    additive : bool, default False
        Over all rows as one list, both sums of the ratio are those of the queries added up.
    binary_only : bool, default False
        Relevance is binary, without partial relevance.
    all_queries : callable, optional
        What the metric requires of all queries at once, given its parameters.
    combine : callable, optional
        The value from the means of its two parts.
    counts_hits, ends_at_k : bool, default False
        Whether it counts relevant items down to k; whether it reads nothing below k.
    defined_where : callable, optional
        Where the value is defined, if the denominator does not say so; `by_relevant`: with a relevant item.
    grades : bool or callable, optional
        Whether a metric of recommendations reads grades, and so requires a truth.
    monotonicity : str or callable, optional
        How the value changes if unjudged items are judged; without it the bounds are unknown.
    max_depth : callable, optional
        Depth below which nothing changes the value, without a cutoff.
    weightable : bool, default False
        Whether items can count by the weights of the truth.
    of_columns : bool, default False
        Whether it is also taken of two columns of values, so that two lists of numbers are ambiguous.

    Returns
    -------
    callable
        A decorator that turns the function into a `Metric`.
    """
    if not isinstance(name, str) or not name:
        raise InputTypeError("a metric is declared with its name: @rs.metric('my_metric')")
    graded = reads == "ranking" if grades is None else grades

    def declare(function: Callable[..., Ratio]) -> Metric:
        declaration = Declaration(
            name, function, title, MappingProxyType(dict(spellings)), formula, latex, use_when, caveat,
            "recommendations" if reads == "recommendations" else kind, reads,
            MappingProxyType(dict(choices or {})), expected,
            reads_zero_grades if callable(reads_zero_grades) else lambda _: bool(reads_zero_grades),
            best_first or (by_hits if counts_hits else by_grade), bounds, better, additive, binary_only,
            all_queries, combine, counts_hits, ends_at_k, defined_where,
            graded if callable(graded) else (lambda _: True) if graded else None,
            monotonicity if callable(monotonicity) else lambda _: monotonicity, max_depth, weightable, of_columns,
            aliases=tuple(aliases),
        )  # fmt: skip
        return metrics.declare(declaration)

    return declare


def by_relevant(ranking: Ranking, parameters: ByName) -> Values:
    """The value is defined where there is a relevant item."""
    return ranking.relevant


def by_no_relevant(ranking: Ranking, parameters: ByName) -> Values:
    """The value is defined where there is no relevant item."""
    return ranking.number(ranking.relevant == 0)


def declared() -> dict[str, Declaration]:
    """Every declared metric, by name."""
    return dict(metrics.rows)


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

    Parameters
    ----------
    name : str
        The name of its declaration.
    k : int, optional
        Cutoff.
    params : tuple of pairs, optional
        Parameters and choices that are set, by name.
    """
    )
    __signature__ = _Signature()

    name: str
    k: int | None = None
    params: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in metrics.rows:
            raise InputError(metrics.unknown(self.name))
        if self.params:
            for name, value in self.params:
                hooks.check_choice(self.declaration, name, value)
        if self.k is not None:
            object.__setattr__(self, "k", depth(self.k))
            if not self.declaration.takes_k:
                raise InputError(f"{self.name} has no place for a cutoff: write {self.name!r} without @{self.k}")

    @property
    def declaration(self) -> Declaration:
        """What the metric was declared with."""
        return metrics.rows[self.name]

    def __matmul__(self, k: int) -> Metric:
        return Metric(self.name, k, self.params)

    def given(self, **params: Value) -> Metric:
        """The same metric with parameters or choices set.

        Parameters
        ----------
        **params
            Parameters of the metric, or choices.
        """
        merged = dict(self.params)
        for name, value in params.items():
            merged[name] = hooks.check_choice(self.declaration, name, value)
        return Metric(self.name, self.k, tuple(sorted(merged.items())))

    def with_parameters(self, options: ByName) -> tuple[Metric, dict[str, Value]]:
        """The metric with those of the options that are its parameters, and the other options.

        Parameters
        ----------
        options : dict
            Parameters and choices by name.
        """
        defaults = self.declaration.defaults
        own = options.keys() & defaults.keys()
        metric = self.given(**{name: options[name] for name in own}) if own else self
        return metric, {name: value for name, value in options.items() if name not in own}

    @staticmethod
    def parse(text: str) -> tuple[Metric, ...]:
        """Read metrics from their written form: `ndcg@10`, `recall@{5,10}`, `rbp(p=0.8)`.

        Parameters
        ----------
        text : str
            One metric, or several by cutoffs in braces.
        """
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

        Parameters
        ----------
        ranked : list or dict
            The items, best first, or with their scores: `ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)`.
        truth : list or dict, optional
            The relevant items, or {item: grade}; with `labels`, the grades of all judged items if the list does not
            hold them all.
        labels : sequence of float, optional
            Instead of items, their grades in ranked order: `ndcg(labels=[3, 0, 2])`.
        scores : sequence of float, optional
            The scores of the labels, which may then be in any order.
        k : int, optional
            Cutoff.
        convention : str or Convention, default "rankstone"
            The definitions of a library or a preset.
        **choices
            Choices by name, and the parameters of the metric.
        """
        if len(ranked) > 1:
            raise InputTypeError(
                f"give the truth by name, as either side is a list: rs.{self.name}(items, truth=relevant)"
            )
        if ranked or {"labels", "scores", "truth"} & options.keys():
            metric, others = (self if k is None else self @ k).with_parameters(options)
            return hooks.evaluate_list(metric, *ranked, **others)
        given = self.given(**options)
        return given if k is None else given @ k

    def __str__(self) -> str:
        return f"{written(self.name, self.params)}{'' if self.k is None else f'@{self.k}'}"

    __repr__ = __str__


class Metrics(Registry[Declaration, Metric]):
    """Every metric by name: `rs.metrics["infap"]`, `rs.metrics.infap`; those that a user declared, too."""

    def unknown(self, text: object, word: str | None = None) -> str:
        """An error's text; where the text is a spelling that `parse` reads, that metric."""
        with suppress(ValueError):
            if word is None:
                return unknown_word("metric", text, self.rows, map(str, parse(str(text))))
        return super().unknown(text, word)


metrics = Metrics("a metric", Metric)
on_declare = metrics.on_declare


# Each character can be read in one way only, so that a long text that is none takes no time either.
_SHAPE = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9_.-]*)(?:\s*(\(.*\))(?=[^)]*$))?(?:\s*@\s*(\{[^}]*\}|[^{}\s]+))?", re.DOTALL
)
_SIMILARITY = re.compile(r"^(?:.*[_-])?(?:cosine|dot|euclidean|manhattan)[_-]", re.IGNORECASE)  # cosine_ndcg@10
_MOST_CUTOFFS = 10_000
_HOLES = {"_": "[_.]", r"\{k\}": r"(?P<k>\d+)", r"\{x\}": r"(?P<x>\d*\.?\d+)"}  # trec_eval writes P_5 and P.5


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Metric, ...]:
    """Read metrics from their written form: `ndcg@10`, `recall@{5,10}`, `rbp(p=0.8)`, `ndcg(gain="exp2")@10, ap`.

    `ndcg@{1..100}` has every cutoff from 1 to 100, `ndcg@{1..100..10}` every tenth of them.
    Names as other tools write them are read too: `map_cut_10`, `P_5`, `AP(rel=2)`, `cosine_ndcg@10`.
    """
    found = [metric for part in text_parts(text) for metric in _read(part)]
    return tuple(dict.fromkeys(found))


def _read(text: str) -> list[Metric]:
    word, arguments, cutoffs = _shape(text)
    spelt = _spelt(word, arguments, cutoffs)
    if spelt is not None:
        word, arguments, cutoffs = spelt
    name = _named(word)
    if name is None:
        raise InputError(metrics.unknown(text, word))
    found = Metric(name)
    if arguments:
        found = found.given(**read_arguments(text, found.declaration, arguments))
    return [found] if cutoffs is None else [found @ k for k in _cutoffs(text, cutoffs)]


def _spelt(word: str, arguments: str | None, cutoffs: str | None) -> tuple[str, str | None, str | None] | None:
    """Name, parameters and cutoffs of what another tool writes so; None: it is no spelling of another tool."""
    whole = {f"{word}@{cutoffs}": (arguments, None), f"{word}{arguments}": (None, cutoffs), word: (arguments, cutoffs)}
    if word.lower() in metrics.names:  # a name is nearer than a spelling of the same word
        del whole[word]
    for pattern, ours in _spellings():
        for spelling, rest in whole.items():
            if found := pattern.fullmatch(spelling):
                name, given, k = _shape(re.sub(r"\{(.)\}", lambda hole: found[hole[1]], ours))
                both = f"{given[:-1]}, {rest[0][1:]}" if given and rest[0] else given or rest[0]
                return name, both, k or rest[1]
    return None


def _shape(text: str) -> tuple[str, str | None, str | None]:
    """Name, parameters and cutoffs."""
    shape = _SHAPE.fullmatch(re.sub(r"_at_(?=\d+$)", "@", text.strip()))
    if shape is None:
        raise InputError(f"cannot read metric {text!r}; write it like 'ndcg@10', 'recall@{{5,10}}' or 'rbp(p=0.8)@10'")
    word, arguments, cutoffs = shape.groups()
    return word if word.lower() in metrics.names else _SIMILARITY.sub("", word), arguments, cutoffs


def _named(word: str) -> str | None:
    """The metric of this name or alias, whatever its case and its hyphens; torchmetrics puts `retrieval` before it."""
    if word.lower() in metrics.names:
        return metrics.names[word.lower()]
    known = {_joined(name): metric for name, metric in metrics.names.items()}
    return known.get(_joined(word)) or known.get(_joined(word).removeprefix("retrieval"))


def _joined(word: str) -> str:
    return re.sub(r"(?<=[a-z])[_-](?=[a-z])", "", word.lower())


@lru_cache(maxsize=1)
def _spellings() -> list[tuple[re.Pattern[str], str]]:
    """What other tools write, as patterns, and what that is here."""
    out = []
    for declaration in metrics.rows.values():
        for theirs, ours in declaration.spellings.items():
            pattern = re.escape(theirs)
            for hole, number in _HOLES.items():
                pattern = pattern.replace(hole, number)
            out.append((re.compile(pattern, re.IGNORECASE), ours))
    return out


def _cutoffs(text: str, cutoffs: str) -> list[int]:
    """Combine numbers, and spans of them: `5`, `{5,10}`, `{1..5}`, and `{1..100..10}` for every tenth."""
    ks: list[int] = []
    for part in cutoffs.strip("{}").split(","):
        span = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", part)
        if span is None and not re.fullmatch(r"\s*[+-]?\d+\s*", part):
            raise InputError(f"{text!r}: cutoff {part.strip()!r} is not a whole number")
        many = range(int(span[1]), int(span[2]) + 1, depth(int(span[3] or 1))) if span else [int(part)]
        if len(ks) + len(many) > _MOST_CUTOFFS:
            raise InputError(f"{text!r} names more than {_MOST_CUTOFFS:,} cutoffs; {{1..1000..10}} is every tenth")
        ks += many
    if not ks:
        raise InputError(f"{text!r}: there is no number from {cutoffs.strip('{}').replace('..', ' up to ')}")
    return [depth(k) for k in ks]


on_declare += [parse.cache_clear, _spellings.cache_clear]


def as_tuple(metrics: str | Metric | Iterable[str | Metric]) -> tuple[Any, ...]:
    """The metrics, or the only one, as a tuple, before they are parsed."""
    if isinstance(metrics, Mapping):
        raise InputTypeError(
            f"metrics={show(metrics)} is a dict; pass a list of metrics: {show(list(metrics.values()))}"
        )
    return (metrics,) if isinstance(metrics, str) or not isinstance(metrics, Iterable) else tuple(metrics)


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """The metrics one by one, where texts may name several."""
    return [metric for one in as_tuple(metrics) for metric in _parsed(one)]


def _parsed(metric: object) -> tuple[Metric, ...]:
    if isinstance(metric, (str, Metric)):
        return parse(metric) if isinstance(metric, str) else (metric,)
    raise InputTypeError(f"a metric is a name such as 'ndcg@10' or a value such as rs.ndcg @ 10, not {show(metric)}")


def parse_one(metric: str | Metric, wish: str = "ask for one") -> Metric:
    """The metric that is meant, where a text may name several."""
    found = _parsed(metric)
    if len(found) > 1:
        raise InputError(f"{metric!r} names {len(found)} metrics; {wish}: {', '.join(map(str, found))}")
    return found[0]
