"""A plan: one metric with every choice made, or an error if the choices do not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rankstone.align.alignment import Relevance
from rankstone.align.ties import TIES, names
from rankstone.conventions.averaging import AVERAGING, Averaging
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention, check_choices, decide, find_convention, takes
from rankstone.data.source import Align
from rankstone.errors import Advice, Hint, NoExpectedValue
from rankstone.metrics.registry import ByName, Metric, Value, declared, on_declare, parse

if TYPE_CHECKING:
    from rankstone.typing import Metrics

DEFAULT_METRICS = ("ndcg@10", "ap", "rr", "precision@10", "recall@10")


@dataclass(frozen=True, eq=True)
class Plan:
    """One metric with every choice made."""

    metric: Metric
    label: str
    arguments: ByName
    relevance: Relevance
    choices: ByName
    align: Align  # the alignment it reads; items judged 0 may be left out of it
    zeros: bool  # must items judged 0 be kept

    def __hash__(self) -> int:
        return hash((self.metric, self.label, self.relevance, self.align))

    @property
    def notes(self) -> tuple[str, ...]:
        """What it reads of the truth besides grades."""
        if self.metric.declaration.kind == "intents":
            return ("subtopic",)
        return ("weight",) if self.choices["credit"] == "weight" else ()

    @property
    def averaging(self) -> Averaging:
        """The row of the averaging rule."""
        return AVERAGING[self.choices["averaging"]]

    @property
    def is_pooled(self) -> bool:
        """Is the mean made of the rows of all queries at once, and not of what each query adds."""
        return self.of_all_lists or (self.averaging.pooled and not self.metric.declaration.additive)

    @property
    def of_all_lists(self) -> bool:
        """Does what a list adds depend on all others, as how often its items are shown does."""
        declaration = self.metric.declaration
        return declaration.reads == "shown" and bool(declaration.all_queries(self.arguments))

    @property
    def jackknife_groups(self) -> int:
        """Groups of queries that are left out in turn, to see how sure a number of all rows at once is."""
        return 20 if self.of_all_lists else 100  # each group of lists is a count anew

    @property
    def needs_truth(self) -> bool:
        """Does the metric read grades."""
        grades = self.metric.declaration.grades
        return grades is not None and grades(self.arguments)

    @property
    def alignment(self) -> Align:
        """The alignment for this metric alone, on one core."""
        return self.align.keeping(self.zeros, 1, self.notes)


def make_plans(metrics: Metrics, convention: str | Convention, choices: ByName) -> tuple[Plan, ...]:
    """Make every choice for every metric."""
    asked = (metrics,) if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable) else tuple(metrics)
    given = tuple(sorted(choices.items()))
    try:
        hash((asked, convention, given))
    except TypeError:  # a list, say: an error further on names it, or it is fine
        return _make_plans.__wrapped__(asked, convention, given)
    return _make_plans(asked, convention, given)


@lru_cache(maxsize=512)
def _make_plans(
    asked: tuple[Any, ...], name: str | Convention, choices: tuple[tuple[str, Value], ...]
) -> tuple[Plan, ...]:
    named = find_convention(name)
    found: dict[Metric, None] = {}
    for metric in asked:
        if isinstance(metric, Metric):
            found[metric] = None
        elif isinstance(metric, str):
            found.update(dict.fromkeys(parse(metric)))
        else:
            raise TypeError(f"a metric is a name such as 'ndcg@10' or a value such as rs.ndcg @ 10, not {metric!r}")
    if not found:
        raise ValueError("no metric was asked for")
    over = _usable(dict(choices), found)
    return tuple(_decided(metric, over, named) for metric in found)


def _usable(choices: ByName, metrics: Collection[Metric]) -> dict[str, Value]:
    """The caller's choices, checked; each of them must be one that some of the metrics can use."""
    if "k" in choices:
        raise TypeError(f"k is a part of the metric: write '{next(iter(metrics)).name}@{choices['k']}'")
    over = check_choices(choices)
    for name, value in over.items():
        if not any(takes(metric, name) for metric in metrics):
            labels = ", ".join(map(str, metrics))
            takers = [other for other in declared() if takes(Metric(other), name)]
            others = f" ({', '.join(takers)} would)" if takers else ""
            raise ValueError(f"{name}={value!r} would change nothing: {labels} cannot use it{others}; leave it out")
    return over


on_declare.append(_make_plans.cache_clear)


def _decided(metric: Metric, over: ByName, named: Convention) -> Plan:
    declaration, given = metric.declaration, dict(metric.params)
    choices = {name: decide(declaration, name, given, over, named, metric.k) for name in CHOICES}
    arguments = {name: decide(declaration, name, given, over, named, metric.k) for name in declaration.defaults}
    for word, why in named.needs.items():
        parameter = word.removeprefix(f"{metric.name}_")
        if parameter != word and arguments[parameter] is None:
            raise ValueError(f"{metric}: {why}, as {word}=...")
    return make_plan(metric, arguments, choices)


def make_plan(metric: Metric, arguments: ByName, choices: ByName) -> Plan:
    """What follows from the choices for the alignment, or an error if they do not go together."""
    declaration, ties, averaging = metric.declaration, TIES[choices["ties"]], AVERAGING[choices["averaging"]]
    if declaration.takes_k:
        arguments = {**arguments, "k": choices["default_k"] if metric.k is None else metric.k}
    if ties.averaged and not declaration.expected and declaration.reads == "ranking":
        others = ", ".join(names(lambda rule: not rule.averaged))
        problem = f"{metric} has no closed form over all orders of tied items; choose "
        raise NoExpectedValue(Advice(problem, Hint("ties"), " another of ", others))
    relevance = Relevance.of(choices["threshold"], choices["credit"], choices["truth_depth"])
    every_row = bool(relevance.reached(0.0))
    for conflict in _conflicts(metric, arguments, choices, every_row):
        raise ValueError(conflict)
    whole = choices["both_empty"] is not None or choices["empty_truth"] != "count" or averaging.pooled
    every_grade = choices["known"] == "judged" or choices["credit"] == "weight"
    zeros = declaration.zeros(arguments) or every_row or whole or every_grade
    align = Align(
        order=ties.order,
        float32=choices["score_precision"] == "float32",
        duplicates=choices["duplicates"],
        truth_duplicates=choices["truth_duplicates"],
        extra_queries=choices["extra"] == "zero",
        zeros=False,
    )
    return Plan(metric, str(metric), arguments, relevance, choices, align, zeros)


def _conflicts(metric: Metric, arguments: ByName, choices: ByName, every_row: bool) -> Iterator[str | Advice]:
    """Choices that do not go together, or not with the metric; every_row: is an item of grade 0 relevant."""
    declaration, ties, averaging = metric.declaration, TIES[choices["ties"]], AVERAGING[choices["averaging"]]
    kind, shown, chosen = declaration.kind, declaration.reads == "shown", f"averaging={choices['averaging']!r}"
    credit, known, at_k = choices["credit"], choices["known"], choices["truth_depth"] == "k"
    # What agrees, and is known over all orders, takes equal scores for equal.
    in_no_order = kind == "ratings" or (kind == "agreement" and declaration.expected)
    if averaging.pooled and not in_no_order and not ties.across_queries:
        rule = Hint("averaging", choices["averaging"])
        ordered = ", items of all queries cannot be ordered by "
        yield Advice(f"{metric}: with ", rule, ordered, Hint("ties", ties.name))
    for choice, value in (("credit", "clamp"), ("nonpositive_score", "miss")):
        if choices[choice] == value and declaration.two_sided:
            yield f"{metric} asks which items are relevant and which are not: {choice}={value!r} says neither"
    if shown and not (ties.by or ties.place):
        others = ", ".join(names(lambda rule: rule.by or rule.place))
        cannot = f"reads items that nobody judged, which ties={ties.name!r} cannot order"
        yield f"{metric} {cannot}; choose one of {others}"
    if shown and averaging.pooled:
        yield f"{metric}: {chosen} is for rows with a score and a grade; choose micro"
    if shown and declaration.all_queries(arguments) and (averaging.weighted or averaging.logarithms):
        none = "is a number of all lists together, of which none has a value to weigh"
        yield f"{metric} {none}: {chosen} means nothing; choose micro"
    if credit == "weight" and not declaration.weighs:
        weighing = ", ".join(name for name, other in declared().items() if other.weighs)
        yield f"{metric} cannot count items by credit='weight'; {weighing} can"
    if kind == "intents" and credit != "whole":
        yield f"{metric}: for a subtopic an item is relevant or not: credit={credit!r} says neither"
    if kind == "intents" or credit == "weight":  # what the truth says besides grades
        what = "subtopics" if kind == "intents" else "weights"
        for choice, in_part in (("known", known == "returned"), ("averaging", averaging.pooled), ("truth_depth", at_k)):
            if in_part:
                yield f"{metric} reads {what} of the whole truth of each query, without {choice}={choices[choice]!r}"
    if averaging.two_means and declaration.whole is None:
        yield f"{metric} has no parts; {chosen} is for f1 of mean precision and mean recall"
    if known == "returned" and kind in ("ranking", "count"):
        if every_row:
            yield f"{metric}: known='returned' gives unjudged items grade 0, so the threshold must be above 0"
        if at_k:
            yield f"{metric}: truth_depth='k' goes by the order of the truth, of which known='returned' leaves none"
    if known == "judged" and choices["duplicates"] == "once":
        places = "known='judged' leaves no places but those of judged items, of which duplicates='once' would keep more"
        yield f"{metric}: {places}; choose duplicates='best', 'first' or 'count'"


def alignments(plans: Iterable[Plan], threads: int = 0, zeros_too: bool = False) -> dict[Align, Align]:
    """The alignments that plans read, each once, with items judged 0 where one of the plans needs them, or all."""
    plans = tuple(plans)
    if len({plan.choices["extra"] == "zero" for plan in plans}) > 1:
        raise ValueError("extra='zero' adds queries, so it must hold for all metrics or for none")
    zeros: dict[Align, bool] = {}
    for plan in plans:
        zeros[plan.align] = zeros.get(plan.align, zeros_too) or plan.zeros
    notes = tuple(sorted({note for plan in plans for note in plan.notes}))  # a truth is read in one way for all
    return {align: align.keeping(keep or bool(notes), threads, notes) for align, keep in zeros.items()}


# -- what a way of feeding cannot know -----------------------------------------------------------------------


@dataclass(frozen=True)
class Capabilities:
    """What a way of feeding cannot know of the data: why it cannot, or nothing where it can."""

    row_order: str = ""  # which of a query's rows came first
    ties_order: str = ""  # the same, among equal scores
    together: str = ""  # all rows of a query at once
    truth_order: str = ""  # which of a query's judged items came first
    extra_queries: str = ""  # the lists of queries that nobody judged
    all_queries: str = ""  # all queries at once
    all_lists: str = ""  # how often each item is shown in all lists
    whole_lists: str = ""  # what lists hold down to their end
    one_list: str = ""  # the rows of all queries at once
    weights: str = ""
    ratings: str = ""  # predicted ratings beside actual ones
    agreement: str = ""  # how far two orders agree
    shown: str = ""  # items that nobody judged, and what is known of them
    notes: str = ""  # what a truth says besides grades: subtopics and weights
    other_means: str = ""  # means that are not one sum over the queries by another
    parts: str = ""  # the two parts of a value, each with a mean of its own
    digits: str = ""  # rounding of a mean to decimals
    float32: str = ""  # scores of 32 bits
    unjudged: str = ""  # which of the items returned nobody judged
    otherwise: str = ""  # ends an error: another way that knows more

    def refuse_no_scores(self, what: str) -> None:
        """Stop at rows that neither scores nor ranks put in order, where nothing else does."""
        if self.row_order:
            raise ValueError(f"the {what} has no score or rank column, and {self.row_order}")


def check_supported(plans: Iterable[Plan], capabilities: Capabilities) -> None:
    """Stop at choices that ask for more than can be known."""
    if problem := unsupported(plans, capabilities):
        raise ValueError(problem)


def unsupported(plans: Iterable[Plan], capabilities: Capabilities) -> str:
    """The first of the plans' choices that asks for more than can be known, in words; nothing if there is none."""
    for plan in plans:
        for fact, problem in _asked(plan):
            if why := getattr(capabilities, fact):
                return f"{problem}{capabilities.otherwise and ', ' + capabilities.otherwise} ({why})"
    return ""


def _asked(plan: Plan) -> Iterator[tuple[str, str]]:
    """What a plan has to know: a field of `Capabilities`; what asks for it, and what to choose instead."""
    declaration, choices, label = plan.metric.declaration, plan.choices, plan.label
    ties, averaging = TIES[choices["ties"]], plan.averaging
    duplicates, chosen = choices["duplicates"], choices["averaging"]
    if declaration.kind == "ratings":
        yield "ratings", f"{label} measures predicted ratings; choose metrics of lists"
    if declaration.kind == "agreement":
        yield "agreement", f"{label} compares two orders; choose metrics of lists"
    if declaration.kind == "shown":
        yield "shown", f"{label} reads all that lists show, judged or not; choose metrics of relevance"
    if declaration.kind == "intents":
        yield "notes", f"{label} needs subtopics; choose metrics of relevance"
    if choices["credit"] == "weight":
        yield "notes", f"{label}: credit='weight' needs weights of items; choose whole"
    if ties.by == "input":
        others = ", ".join(names(lambda rule: rule.by != "input"))
        yield "ties_order", f"{label}: ties={ties.name!r} needs an order of rows; choose one of {others}"
    if duplicates == "first":
        yield "row_order", f"{label}: duplicates='first' needs an order of rows; choose error, best, count or once"
    if duplicates not in ("error", "count"):
        yield "together", f"{label}: duplicates={duplicates!r} needs all rows of a query at once; choose error or count"
    if choices["truth_duplicates"] == "first":
        yield "truth_order", f"{label}: truth_duplicates='first' needs an order of the truth; choose error or count"
    if choices["truth_depth"] == "k":
        yield "truth_order", f"{label}: truth_depth='k' needs an order of the truth; choose all"
    if choices["extra"] == "zero":
        yield "extra_queries", f"{label}: extra='zero' keeps every query of the run; choose skip or error"
    if declaration.kind == "shown" and ties.place:
        others = ", ".join(names(lambda rule: rule.by == "item"))
        yield "whole_lists", f"{label}: ties={ties.name!r} needs whole lists; choose one of {others}"
    if declaration.kind == "shown" and plan.arguments.get("k") is None:
        yield "whole_lists", f"{label} reads whole lists; choose a cutoff, as in {plan.metric.name}@10"
    if wanted := declaration.all_queries(plan.arguments):
        yield "all_lists" if plan.of_all_lists else "all_queries", f"{label} {wanted}"
    if plan.is_pooled and not plan.of_all_lists:
        yield "one_list", f"{label}: averaging={chosen!r} needs the rows of all queries; choose another averaging"
    elif not (averaging.plain or averaging.divides):
        yield "other_means", f"{label}: averaging={chosen!r} is not one sum by another; choose macro or micro"
    if averaging.two_means:
        yield "parts", f"{label}: averaging={chosen!r} is made of two means; choose another averaging"
    if choices["digits"] is not None:
        yield "digits", f"{label}: digits={choices['digits']} rounds the mean; choose digits=None and round it yourself"
    if choices["score_precision"] == "float32":
        yield "float32", f"{label}: score_precision='float32' needs numbers of 32 bits; choose float64"
    if choices["known"] == "judged":
        yield "unjudged", f"{label}: known='judged' leaves out what nobody judged; choose truth or returned"
    if averaging.weighted:
        yield "weights", f"{label}: averaging={chosen!r} needs weights; choose another averaging"
