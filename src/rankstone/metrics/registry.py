"""A metric is declared once, by `@metric`. Names, parameters, help and checks are all read from that declaration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, overload

from rankstone.align.functions import Values
from rankstone.metrics.declaration import ByName as ByName
from rankstone.metrics.declaration import Declared, Registry, depth, read_arguments, text_parts, written
from rankstone.metrics.declaration import Parameter as Parameter
from rankstone.metrics.declaration import Value as Value
from rankstone.metrics.declaration import is_built_in as is_built_in
from rankstone.program.ranking import Ranking, Ratio

if TYPE_CHECKING:
    from rankstone.conventions.convention import Convention
    from rankstone.typing import Items, Numbers

Kind = Literal["ranking", "count", "ratings", "agreement", "intents", "shown"]
Form = Literal["ranking", "shown"]  # where the judged items stand (`Ranking`), or what the lists hold (`Shown`)
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
class Declaration(Declared):
    """One metric's declaration."""

    apart: ClassVar[tuple[str, ...]] = ("k",)
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
    graded = reads == "ranking" if grades is None else grades

    def declare(function: Callable[..., Ratio]) -> Metric:
        declaration = Declaration(
            name, function, MappingProxyType(dict(spellings)), formula, latex, use, beware,
            "shown" if reads == "shown" else kind, reads,
            MappingProxyType(dict(choices or {})), expected, zeros if callable(zeros) else lambda _: bool(zeros),
            best_first or (by_hits if counts_hits else by_grade), bounds, better, additive, two_sided,
            all_queries, whole, counts_hits, ends_at_k, earns,
            graded if callable(graded) else (lambda _: True) if graded else None,
            grows if callable(grows) else lambda _: grows, reach, weighs, aliases=tuple(aliases),
        )  # fmt: skip
        return metrics.declare(declaration)

    return declare


def by_relevant(ranking: Ranking, parameters: ByName) -> Values:
    """Something can be earned where there is a relevant item."""
    return ranking.relevant


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
    """
    )
    __signature__ = _Signature()

    name: str
    k: int | None = None
    params: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in metrics.rows:
            raise ValueError(metrics.unknown(self.name))
        if self.params:
            for name, value in self.params:
                hooks.check_choice(self.declaration, name, value)
        if self.k is not None:
            object.__setattr__(self, "k", depth(self.k))
            if not self.declaration.takes_k:
                raise ValueError(f"{self.name} has no place for a cutoff: write {self.name!r} without @{self.k}")

    @property
    def declaration(self) -> Declaration:
        return metrics.rows[self.name]

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
        return f"{written(self.name, self.params)}{'' if self.k is None else f'@{self.k}'}"

    __repr__ = __str__


class Metrics(Registry[Declaration, Metric]):
    """Every metric by name: `rs.metrics["infap"]`, `rs.metrics.infap`; those that a user declared, too."""


metrics = Metrics("a metric", Metric)
on_declare = metrics.on_declare


# Each character can be read in one way only, so that a long text that is none takes no time either.
_SHAPE = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9_.-]*)(?:\s*(\(.*\))(?=[^)]*$))?(?:\s*@\s*(\{[^}]*\}|[^{}\s]+))?", re.DOTALL
)
_MOST_CUTOFFS = 10_000
_HOLES = {"_": "[_.]", r"\{k\}": r"(?P<k>\d+)", r"\{x\}": r"(?P<x>\d*\.?\d+)"}  # trec_eval writes P_5 and P.5


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Metric, ...]:
    """Read metrics from their written form: `ndcg@10`, `recall@{5,10}`, `rbp(p=0.8)`, `ndcg(gain="exp2")@10, ap`.

    `ndcg@{1..100}` has every cutoff from 1 to 100, `ndcg@{1..100..10}` every tenth of them.
    Names as other tools write them are read too: `map_cut_10`, `P_5`, `AP(rel=2)`.
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
        raise ValueError(metrics.unknown(text, word))
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
        raise ValueError(f"cannot read metric {text!r}; write it like 'ndcg@10', 'recall@{{5,10}}' or 'rbp(p=0.8)@10'")
    word, arguments, cutoffs = shape.groups()
    return word, arguments, cutoffs


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
