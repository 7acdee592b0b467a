"""A plan: one metric with every choice made, or an error if the choices do not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from rankstone.align.alignment import Relevance
from rankstone.align.elementwise import Values
from rankstone.align.ties import TIES, names
from rankstone.conventions.averaging import AVERAGING, Averaging
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention, check_choices, decide, find_convention, idle, takes
from rankstone.data.source import AlignOptions
from rankstone.errors import Advice, Hint, InputError, InputTypeError, NoClosedFormError
from rankstone.metrics.declaration import some_of, unknown_word
from rankstone.metrics.registry import ByName, Metric, Value, as_tuple, declared, on_declare, parse_all, parse_one
from rankstone.program.graph import Graph
from rankstone.program.ranking import Ranking, StaticFacts

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
    align: AlignOptions  # the alignment it reads; items judged 0 may be left out of it
    zeros: bool  # must items judged 0 be kept

    def __hash__(self) -> int:
        return hash((self.metric, self.label, self.relevance, self.align))

    @property
    def annotations(self) -> tuple[str, ...]:
        """What it reads of the truth besides grades."""
        if self.metric.declaration.kind == "intents":
            return ("subtopic",)
        return ("weight",) if self.choices["relevance"] == "weighted" else ()

    @property
    def averaging(self) -> Averaging:
        """The row of the averaging rule."""
        return AVERAGING[self.choices["averaging"]]

    @property
    def is_pooled(self) -> bool:
        """Is the mean made of the rows of all queries at once, and not of what each query adds."""
        return self.of_all_lists or (self.averaging.pooled and not self.metric.declaration.additive)

    @property
    def depth(self) -> int | None:
        """How many places of a list are read at most: the cutoff, or what the metric never goes beyond; None: all."""
        k, most = self.arguments.get("k"), self.metric.declaration.max_depth
        return most(self.arguments) if k is None and most is not None else k

    @property
    def of_all_lists(self) -> bool:
        """Does what a list adds depend on all others, as how often its items are shown does."""
        declaration = self.metric.declaration
        return declaration.reads == "recommendations" and bool(declaration.all_queries(self.arguments))

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
    def alignment(self) -> AlignOptions:
        """The alignment for this metric alone, on one core."""
        return self.align.with_(self.zeros, 1, self.annotations)


def make_plans(metrics: Metrics, convention: str | Convention, choices: ByName) -> tuple[Plan, ...]:
    """Make every choice for every metric."""
    asked = as_tuple(metrics)
    items = tuple(sorted(choices.items()))
    try:
        hash((asked, convention, items))
    except TypeError:  # a list, say: an error further on names it, or it is fine
        return _make_plans.__wrapped__(asked, convention, items)
    return _make_plans(asked, convention, items)


def plan_one(metric: str | Metric, convention: str | Convention, options: ByName) -> Plan:
    """The plan of one metric, whose parameters may be among the options."""
    metric, choices = parse_one(metric).with_parameters(options)
    return make_plans(metric, convention, choices)[0]


@lru_cache(maxsize=512)
def _make_plans(
    asked: tuple[Any, ...], name: str | Convention, choices: tuple[tuple[str, Value], ...]
) -> tuple[Plan, ...]:
    named = find_convention(name)
    parsed = dict.fromkeys(parse_all(asked))
    if not parsed:
        raise InputError("no metric was asked for")
    over = _usable(dict(choices), parsed)
    return tuple(_decided(metric, over, named) for metric in parsed)


def _usable(choices: ByName, metrics: Collection[Metric]) -> dict[str, Value]:
    """The caller's choices, checked; each of them must be one that some of the metrics can use."""
    for name, value in choices.items():
        if name not in CHOICES and name != "catalogue":  # which is an argument of its own, and sets the parameter
            _raise_unknown(name, value, metrics)
    over = check_choices(choices)
    for name, value in over.items():
        if not any(takes(metric, name) for metric in metrics):
            labels = ", ".join(map(str, metrics))
            takers = [other for other in declared() if takes(Metric(other), name)]
            others = f" ({some_of(takers)} would)" if takers else ""
            raise InputError(f"{name}={value!r} would change nothing: {labels} cannot use it{others}; leave it out")
    return over


def _raise_unknown(name: str, value: Value, metrics: Collection[Metric]) -> NoReturn:
    """Stop at a keyword that is no choice: it may be a parameter of one of the metrics, or of others."""
    if name == "k":
        raise InputTypeError(f"k is a part of the metric: write '{next(iter(metrics)).name}@{value}'")
    for metric in metrics:
        defaults = metric.declaration.defaults
        parameter = name if name in defaults else name.removeprefix(f"{metric.name}_")
        if parameter in defaults or (parameter != name and parameter in CHOICES):
            written = str(metric.given(**{parameter: value}))
            raise InputError(f"{name}= is a parameter of {metric.name}; write it there: {written!r}")
    owners = [
        other for other, row in declared().items() if {name, name.removeprefix(f"{other}_")} & row.defaults.keys()
    ]
    if owners:
        labels = ", ".join(map(str, metrics))
        raise InputError(f"{name}= is a parameter of {some_of(owners)}, not of {labels}")
    parameters = [parameter for metric in metrics for parameter in metric.declaration.defaults]
    raise InputError(unknown_word("choice", name, [*CHOICES, "convention", "metrics", "weights", *parameters]))


on_declare.append(_make_plans.cache_clear)


def _decided(metric: Metric, over: ByName, named: Convention) -> Plan:
    declaration, params = metric.declaration, dict(metric.params)
    choices = {name: decide(declaration, name, params, over, named, metric.k) for name in CHOICES}
    arguments = {name: decide(declaration, name, params, over, named, metric.k) for name in declaration.defaults}
    for word, why in named.needs.items():
        parameter = word.removeprefix(f"{metric.name}_")
        if parameter != word and arguments[parameter] is None:
            raise InputError(f"{metric}: {why}, as {metric.name}({parameter}=...)")
    return make_plan(metric, arguments, choices)


def make_plan(metric: Metric, arguments: ByName, choices: ByName) -> Plan:
    """What follows from the choices for the alignment, or an error if they do not go together."""
    declaration, ties, averaging = metric.declaration, TIES[choices["ties"]], AVERAGING[choices["averaging"]]
    if declaration.takes_k:
        arguments = {**arguments, "k": choices["default_k"] if metric.k is None else metric.k}
    if ties.averaged and not declaration.expected and declaration.reads == "ranking":
        others = ", ".join(names(lambda rule: not rule.averaged))
        problem = f"{metric} has no closed form over all orders of tied items; choose "
        raise NoClosedFormError(Advice(problem, Hint("ties"), " another of ", others))
    relevance = Relevance.of(choices["threshold"], choices["relevance"], choices["truth_depth"])
    every_row = bool(relevance.reached(0.0))
    for conflict in _conflicts(metric, arguments, choices, every_row):
        raise InputError(conflict)
    whole = choices["both_empty"] is not None or choices["empty_truth"] != "count" or averaging.pooled
    every_grade = choices["unjudged"] == "condensed" or choices["relevance"] == "weighted" or relevance.relative
    zeros = declaration.reads_zero_grades(arguments) or every_row or whole or every_grade
    align = AlignOptions(
        order=ties.order,
        float32=choices["score_precision"] == "float32",
        duplicates=choices["duplicates"],
        truth_duplicates=choices["truth_duplicates"],
        extra_queries=choices["extra"] == "zero",
        keep_zero_grades=False,
    )
    return Plan(metric, str(metric), arguments, relevance, choices, align, zeros)


def _conflicts(metric: Metric, arguments: ByName, choices: ByName, every_row: bool) -> Iterator[str | Advice]:
    """Choices that do not go together, or not with the metric; every_row: is an item of grade 0 relevant."""
    declaration, ties, averaging = metric.declaration, TIES[choices["ties"]], AVERAGING[choices["averaging"]]
    kind, shown, chosen = (
        declaration.kind,
        declaration.reads == "recommendations",
        f"averaging={choices['averaging']!r}",
    )
    credit, unjudged, at_k = choices["relevance"], choices["unjudged"], choices["truth_depth"] == "k"
    # What agrees, and is known over all orders, takes equal scores for equal.
    in_no_order = kind == "ratings" or (kind == "agreement" and declaration.expected)
    if averaging.pooled and not in_no_order and not ties.across_queries:
        rule = Hint("averaging", choices["averaging"])
        ordered = ", items of all queries cannot be ordered by "
        yield Advice(f"{metric}: with ", rule, ordered, Hint("ties", ties.name))
    for choice, value in (("relevance", "clipped"), ("nonpositive_score", "miss")):
        if choices[choice] == value and declaration.binary_only:
            yield f"{metric} asks which items are relevant and which are not: {choice}={value!r} says neither"
    if shown and not (ties.by or ties.place):
        others = ", ".join(names(lambda rule: rule.by or rule.place))
        cannot = f"reads unjudged items, which ties={ties.name!r} cannot order"
        yield f"{metric} {cannot}; choose one of {others}"
    if shown and averaging.pooled:
        yield f"{metric}: {chosen} is for rows with a score and a grade; choose micro"
    if shown and declaration.all_queries(arguments) and (averaging.weighted or averaging.logarithms):
        none = "is a number of all lists together, of which none has a value to weigh"
        yield f"{metric} {none}: {chosen} means nothing; choose micro"
    if credit == "weighted" and not declaration.weightable:
        weighing = ", ".join(name for name, other in declared().items() if other.weightable)
        yield f"{metric} cannot count items by relevance='weighted'; {weighing} can"
    if kind == "intents" and credit != "binary":
        yield f"{metric}: for a subtopic an item is relevant or not: relevance={credit!r} says neither"
    if kind == "intents" or credit == "weighted":  # what the truth says besides grades
        what = "subtopics" if kind == "intents" else "weights"
        for choice, in_part in (
            ("unjudged", unjudged == "only_returned"),
            ("averaging", averaging.pooled),
            ("truth_depth", at_k),
        ):
            if in_part:
                yield f"{metric} reads {what} of the whole truth of each query, without {choice}={choices[choice]!r}"
    if arguments.get("unjudged_gain") and (ties.place or unjudged == "only_returned" or credit == "weighted"):
        needs = "unjudged items with a rank of their own and without weights"
        yield (
            f"{metric}: unjudged_gain is for {needs}; leave out unjudged='only_returned', relevance='weighted' and "
            f"ties that share a rank"
        )
    if choices["threshold"] == "relative" and (shown or kind == "intents"):
        reads = "subtopics" if kind == "intents" else "lists"
        yield f"{metric} reads grades of {reads}, of which threshold='relative' takes no percentile; choose a grade"
    if averaging.two_means and declaration.combine is None:
        yield f"{metric} has no parts; {chosen} is for f1 of mean precision and mean recall"
    if unjudged == "only_returned" and kind in ("ranking", "count"):
        if every_row:
            yield f"{metric}: unjudged='only_returned' gives unjudged items grade 0, so the threshold must be above 0"
        if at_k:
            yield f"{metric}: truth_depth='k' reads the order of the truth, which unjudged='only_returned' ignores"
    if unjudged == "condensed" and choices["duplicates"] == "once":
        places = "unjudged='condensed' removes the ranks that duplicates='once' would keep"
        yield f"{metric}: {places}; choose duplicates='best', 'first' or 'count'"


def alignments(plans: Iterable[Plan], threads: int = 0, zeros_too: bool = False) -> dict[AlignOptions, AlignOptions]:
    """The alignments that plans read, each once, with items judged 0 where one of the plans needs them, or all."""
    plans = tuple(plans)
    if len({plan.choices["extra"] == "zero" for plan in plans}) > 1:
        raise InputError("extra='zero' adds queries, so it must hold for all metrics or for none")
    zeros: dict[AlignOptions, bool] = {}
    for plan in plans:
        zeros[plan.align] = zeros.get(plan.align, zeros_too) or plan.zeros
    annotations = tuple(
        sorted({note for plan in plans for note in plan.annotations})
    )  # a truth is read in one way for all
    return {align: align.with_(keep or bool(annotations), threads, annotations) for align, keep in zeros.items()}


# -- what a number depends on --------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def unread(plan: Plan) -> frozenset[str]:
    """Choices and parameters that cannot change the number, given the others."""
    declaration, k = plan.metric.declaration, plan.arguments.get("k")
    names = {name for name in CHOICES if idle(name, declaration)}
    names |= {name for name, about in declaration.about.items() if not about.matters(plan.arguments)}
    if not declaration.counts_hits or k is None:
        names.add("truth_depth")
    if k is None:
        names.add("short_list")
    if plan.metric.k is not None or not declaration.takes_k:
        names.add("default_k")
    if declaration.kind == "ratings":
        names.add("ties")
    return frozenset(names if _reads_relevance(plan) else {*names, "threshold", "relevance"})


on_declare.append(unread.cache_clear)


def reads_choice(plan: Plan, name: str) -> bool:
    """Can this choice change the number, by this name: `threshold`, `divisor`, `ap_divisor`."""
    bare = name.replace("@k_", "_", 1).removeprefix(f"{plan.metric.name}_")
    return takes(plan.metric, name) and not {name, bare} & unread(plan)


def relevance_rule(plan: Plan) -> Relevance:
    """By which grades a query has a relevant item: those above 0 if the metric reads grades only."""
    return plan.relevance if "threshold" not in unread(plan) else Relevance.of(">0")


def common_relevance_rule(plans: Sequence[Plan]) -> Relevance:
    """The rule of the first plan that asks which items are relevant, else of the first."""
    return relevance_rule(next((plan for plan in plans if "threshold" not in unread(plan)), plans[0]))


def _reads_relevance(plan: Plan) -> bool:
    """Does the metric ask which items are relevant, under these choices; a metric of gains alone does not."""
    declaration = plan.metric.declaration
    if declaration.reads != "ranking" or declaration.kind == "intents" or plan.choices["no_relevant"] is not None:
        return True
    ranking = _RelevanceRecorder(Graph(), StaticFacts(plan.relevance))
    try:
        declaration.function(ranking, **plan.arguments)
    except (TypeError, ValueError, AttributeError):  # a function of arrays, or one with no closed form
        return True
    return bool(ranking.read)


class _RelevanceRecorder(Ranking):
    """A symbolic ranking that records whether the relevance of items was read."""

    def __init__(self, graph: Graph, facts: StaticFacts) -> None:
        super().__init__(graph, facts)
        self.read: list[bool] = []  # shared by the views of the ranking

    def relevance(self, grades: Values) -> Values:
        self.read.append(True)
        return super().relevance(grades)


# -- what a way of feeding cannot know -----------------------------------------------------------------------


@dataclass(frozen=True)
class Capabilities:
    """What a way of feeding cannot know of the data: why it cannot, or nothing where it can."""

    row_order: str = ""  # which of a query's rows came first
    ties_order: str = ""  # the same, among equal scores
    together: str = ""  # all rows of a query at once
    truth_order: str = ""  # which of a query's judged items came first
    extra_queries: str = ""  # the lists of unjudged queries
    all_queries: str = ""  # all queries at once
    all_lists: str = ""  # how often each item is shown in all lists
    whole_lists: str = ""  # what lists hold down to their end
    one_list: str = ""  # the rows of all queries at once
    weights: str = ""
    ratings: str = ""  # predicted and actual ratings
    agreement: str = ""  # how far two orders agree
    recommendations: str = ""  # unjudged items, and their side information
    annotations: str = ""  # what a truth says besides grades: subtopics and weights
    other_means: str = ""  # means that are not one sum over the queries by another
    parts: str = ""  # the two parts of a value, each with a mean of its own
    digits: str = ""  # rounding of a mean to decimals
    float32: str = ""  # scores of 32 bits
    unjudged: str = ""  # which of the returned items are unjudged
    query_thresholds: str = ""  # a threshold per query, made of its grades
    repeats: str = ""  # which rows of a list repeat an item
    otherwise: str = ""  # ends an error: another way that knows more

    def require_scores(self, what: str) -> None:
        """Stop at rows that neither scores nor ranks put in order, where nothing else does."""
        if self.row_order:
            raise InputError(f"the {what} has no score or rank column, and {self.row_order}")


def check_supported(plans: Iterable[Plan], capabilities: Capabilities) -> None:
    """Stop at choices that ask for more than can be known."""
    if problem := unsupported(plans, capabilities):
        raise InputError(problem)


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
    if declaration.kind == "recommendations":
        yield "recommendations", f"{label} reads all that lists show, judged or not; choose metrics of relevance"
    if declaration.kind == "intents":
        yield "annotations", f"{label} needs subtopics; choose metrics of relevance"
    if choices["relevance"] == "weighted":
        yield "annotations", f"{label}: relevance='weighted' needs weights of items; choose binary"
    if ties.by == "input":
        others = ", ".join(names(lambda rule: rule.by != "input"))
        yield "ties_order", f"{label}: ties={ties.name!r} needs an order of rows; choose one of {others}"
    if duplicates == "first":
        yield "row_order", f"{label}: duplicates='first' needs an order of rows; choose error, best, count or once"
    if duplicates not in ("error", "count"):
        yield "together", f"{label}: duplicates={duplicates!r} needs all rows of a query at once; choose error or count"
    if choices["truth_duplicates"] == "first":
        yield (
            "truth_order",
            f"{label}: truth_duplicates='first' needs an order of the truth; choose error, distinct, max or count",
        )
    if choices["truth_depth"] == "k":
        yield "truth_order", f"{label}: truth_depth='k' needs an order of the truth; choose all"
    if choices["extra"] == "zero":
        yield "extra_queries", f"{label}: extra='zero' keeps every query of the run; choose skip or error"
    if declaration.kind == "recommendations" and ties.place:
        others = ", ".join(names(lambda rule: rule.by == "item"))
        yield "whole_lists", f"{label}: ties={ties.name!r} needs whole lists; choose one of {others}"
    if declaration.kind == "recommendations" and plan.depth is None:
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
    if choices["unjudged"] == "condensed":
        yield (
            "unjudged",
            f"{label}: unjudged='condensed' removes unjudged items; choose nonrelevant or only_returned",
        )
    if plan.relevance.relative and "threshold" not in unread(plan):
        yield "query_thresholds", f"{label}: threshold='relative' is one per query; choose a grade"
    if plan.arguments.get("ideal") == "repeats":
        yield "repeats", f"{label}: ideal='repeats' counts repeated items; choose another ideal"
    if averaging.weighted:
        yield "weights", f"{label}: averaging={chosen!r} needs weights; choose another averaging"
