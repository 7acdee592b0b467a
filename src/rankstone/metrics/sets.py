"""Metrics of the first k as a set: how many of them are relevant, whatever their order."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Literal

from rankstone.align.functions import Depth, Values
from rankstone.metrics.registry import ByName, Growth, Parameter, by_hits, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

PrecisionDivisor = Annotated[
    Literal["k", "min(k,retrieved)", "min(k,relevant)"],
    Parameter(
        "how many places count",
        {
            "k": "k, however short the list is",
            "min(k,retrieved)": "k, at most as many as the list has",
            "min(k,relevant)": "k, at most as many as there are relevant items",
        },
    ),
]
RecallDivisor = Annotated[
    Literal["relevant", "min(relevant,k)", "grades"],
    Parameter(
        "what could be found",
        {
            "relevant": "the relevant items",
            "min(relevant,k)": "the relevant items, at most k",
            "grades": "the sum of all grades above 0",
        },
        text={"grades": "sum of grades"},
        latex={"grades": r"\sum_j g_j"},
    ),
]
Beta = Annotated[float, Parameter("how much recall weighs beside precision", above=0)]
Catalogue = Annotated[
    int | None,
    Parameter(
        "how many items there are in all",
        {None: "items that are neither judged nor returned are not counted", ...: "of {} items in all"},
        quiet=(None,),
        above=0,
    ),
]
Nonrelevant = Annotated[
    Literal["judged", "list"],
    Parameter(
        "which items count as not relevant: those judged so, or all others of the list",
        {
            "judged": "items judged so are not relevant",
            "list": "all other items of the list are not relevant",
        },
        quiet=("judged",),
    ),
]

# Families of metrics, by what their rows have in common.
of_hits = partial(metric, expected=True, zeros=False, ends_at_k=True, counts_hits=True, earns=by_relevant)
counting = partial(
    metric,
    kind="count",
    choices={"averaging": "sum"},
    expected=True,
    zeros=False,
    bounds=(0, math.inf),
    better="neither",
    ends_at_k=True,
    grows="hits",
)


def check_catalogue(ranking: Ranking, catalogue: int) -> None:
    """Refuse lists that a catalogue of so many items cannot hold."""
    over = ranking.maximum(ranking.relevant, ranking.retrieved) > catalogue
    ranking.refuse(over, f"a catalogue of {catalogue} items cannot hold the items")


def _unless_bad(ranking: Ranking, parameters: ByName) -> Values:
    """What fallout counts: items judged not relevant, or all that are not hits."""
    if parameters["catalogue"] is not None or parameters["nonrelevant"] == "list" or ranking.listed:
        return by_hits(ranking, parameters)
    return -ranking.judged_bad


@of_hits(
    "precision",
    aliases=("p", "set_p"),
    spellings={"P_{k}": "precision@{k}"},
    formula="hits(k) / <divisor>",
    latex=r"\frac{\mathrm{hits}(k)}{<divisor>}",
    use="A page shows k items and each of them costs the reader the same.",
    beware="It cannot reach 1 where fewer than k items are relevant, and it does not see the order within the k.",
    grows=lambda parameters: "share" if "relevant" in parameters["divisor"] else "hits",
)
def precision(ranking: Ranking, *, k: Depth = None, divisor: PrecisionDivisor = "k") -> Ratio:
    """Share of the first k places that hold a relevant item.

    Without k, the whole list. Cleverdon, Mills and Keen, 1966.

    >>> rs.precision(["a", "b", "c", "d"], truth=["a", "c", "x"], k=2)
    0.5
    """
    return Ratio(ranking.hits(k), ranking.places(k, divisor))


@of_hits(
    "recall",
    aliases=("r", "set_r", "set_recall"),
    spellings={"recall_{k}": "recall@{k}"},
    formula="hits(k) / <divisor>",
    latex=r"\frac{\mathrm{hits}(k)}{<divisor>}",
    use="What counts is that the relevant items are among the first k at all: candidate generation, screening.",
    beware=(
        "It cannot reach 1 where more than k items are relevant; that is why some tools divide by min(k, relevant)."
    ),
    grows=lambda parameters: None if parameters["divisor"] == "grades" else "share",
    weighs=True,
)
def recall(ranking: Ranking, *, k: Depth = None, divisor: RecallDivisor = "relevant") -> Ratio:
    """Share of the relevant items that the first k places hold.

    Cleverdon, Mills and Keen, 1966.

    >>> rs.recall(["a", "b", "c", "d"], truth=["a", "c", "x", "y"], k=2)
    0.25
    """
    return Ratio(ranking.hits(k), _relevant(ranking, k, divisor))


def _relevant(ranking: Ranking, k: Depth, divisor: RecallDivisor) -> Values:
    if divisor != "relevant" and ranking.rule.credit == "weight":
        raise ValueError(f"recall: credit='weight' goes with divisor='relevant', not with {divisor!r}")
    if divisor == "grades":
        truth = ranking.ideal("given")
        return truth.sum(truth.maximum(truth.grade, 0.0))
    return ranking.minimum(ranking.relevant, k) if divisor == "min(relevant,k)" and k is not None else ranking.relevant


def harmonic(precision: float, recall: float, arguments: ByName) -> tuple[float, float]:
    """Their weighted harmonic mean, as the two sides of a division."""
    weight = arguments.get("beta", 1.0) ** 2
    return (1.0 + weight) * precision * recall, weight * precision + recall


def _grows(parameters: ByName) -> Growth | None:
    return None if parameters["recall_divisor"] == "grades" else "share"


of_both = partial(of_hits, whole=harmonic, grows=_grows)


@of_both(
    "f",
    aliases=("set_f", "f1beta"),
    formula="(1 + <beta>^2) hits(k) / (<beta>^2 <recall_divisor> + <precision_divisor>)",
    latex=r"\frac{(1 + <beta>^2)\,\mathrm{hits}(k)}{<beta>^2\,<recall_divisor> + <precision_divisor>}",
    use="Both precision and recall matter, and one number has to stand for them.",
    beware="Say beta, and say whether it is the mean of the users' F or the F of the mean precision and recall.",
)
def f(
    ranking: Ranking,
    *,
    k: Depth = None,
    beta: Beta = 1.0,
    precision_divisor: PrecisionDivisor = "k",
    recall_divisor: RecallDivisor = "relevant",
) -> Ratio:
    """Weighted harmonic mean of precision and recall; beta above 1 favours recall.

    Van Rijsbergen, 1979.

    >>> rs.metrics.f(["a", "b", "c", "d"], truth=["a", "c", "x", "y"], k=2, beta=2)
    0.2777777777777778
    """
    weight = beta * beta
    hits, relevant = ranking.hits(k), _relevant(ranking, k, recall_divisor)
    places = ranking.places(k, precision_divisor)
    parts = (Ratio(hits, places), Ratio(hits, relevant))
    return Ratio((1.0 + weight) * hits, weight * relevant + places, parts=parts)


@of_both(
    "f1",
    formula="2 hits(k) / (<recall_divisor> + <precision_divisor>)",
    latex=r"\frac{2\,\mathrm{hits}(k)}{<recall_divisor> + <precision_divisor>}",
    use="As f, with equal weight for precision and recall.",
    beware="The mean of F1 and the F1 of the means differ.",
)
def f1(
    ranking: Ranking,
    *,
    k: Depth = None,
    precision_divisor: PrecisionDivisor = "k",
    recall_divisor: RecallDivisor = "relevant",
) -> Ratio:
    """Harmonic mean of precision and recall.

    Van Rijsbergen, 1979.

    >>> rs.f1(["a", "b", "c", "d"], truth=["a", "c", "x", "y"], k=2)
    0.3333333333333333
    """
    return f.declaration.function(
        ranking, k=k, beta=1.0, precision_divisor=precision_divisor, recall_divisor=recall_divisor
    )


@of_hits(
    "hit_rate",
    aliases=("hit", "success", "hr", "hit_ratio"),
    spellings={"success_{k}": "hit_rate@{k}"},
    formula="1 if hits(k) > 0 else 0",
    latex=r"[\mathrm{hits}(k) > 0]",
    use="One good item is enough, as in a carousel or with one held-out item a user.",
    beware="It treats a list with one hit and a list of hits alike.",
    grows="hits",
)
def hit_rate(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """1 if any of the first k items is relevant.

    >>> rs.hit_rate(["a", "b", "c"], truth=["c"], k=2)
    0.0
    """
    return Ratio(ranking.any_hit(k), ranking.one)


@of_hits(
    "r_precision",
    aliases=("rprec",),
    formula="hits(relevant) / relevant",
    latex=r"\frac{\mathrm{hits}(\mathrm{relevant})}{\mathrm{relevant}}",
    use="The number of relevant items varies much between queries: the cutoff varies with it.",
    beware="With one relevant item it is the same as precision at 1.",
    ends_at_k=False,
    best_first=lambda ranking, _: ranking.counted(ranking.floor(ranking.relevant)),
    grows="share",
)
def r_precision(ranking: Ranking) -> Ratio:
    """Precision at the rank that equals the number of relevant items.

    >>> rs.r_precision(["a", "b", "c", "d"], truth=["a", "c", "d"])
    0.6666666666666666
    """
    return Ratio(ranking.hits(ranking.floor(ranking.relevant)), ranking.relevant)


@metric(
    "fallout",
    formula="nonrelevant(k) / nonrelevant",
    latex=r"\frac{\mathrm{nonrelevant}(k)}{\mathrm{nonrelevant}}",
    use="Showing something bad is what must not happen.",
    beware="It needs judgements of what is not relevant; without them nothing counts against the list.",
    expected=True,
    better="lower",
    two_sided=True,
    ends_at_k=True,
    counts_hits=True,
    best_first=_unless_bad,
)
def fallout(
    ranking: Ranking, *, k: Depth = None, catalogue: Catalogue = None, nonrelevant: Nonrelevant = "judged"
) -> Ratio:
    """Share of the non-relevant items that the first k places hold; lower is better.

    Over judged items, over all items of the list (nonrelevant="list"), or over a catalogue of so many items.

    >>> rs.metrics.fallout(["a", "b", "c"], truth=["a"], k=3, catalogue=101)
    0.02
    """
    taken = ranking.places(k, "min(k,retrieved)") - ranking.hits(k)
    if catalogue is not None:
        check_catalogue(ranking, catalogue)
        return Ratio(taken, catalogue - ranking.relevant_at(k))
    if nonrelevant == "list" or ranking.listed:  # where only the list is known
        return Ratio(taken, ranking.retrieved - ranking.returned_at(k))
    return Ratio(ranking.sum(ranking.judged_bad, k), ranking.nonrelevant)


@counting(
    "num_ret",
    spellings={"NumRet(rel={x})": "num_rel_ret(threshold={x})"},  # ir_measures
    formula="min(k, retrieved)",
    latex=r"\min(k, \mathrm{retrieved})",
    use="Checking how long the lists are.",
    beware="It says nothing of their quality.",
)
def num_ret(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """How many items the run returned, over all queries.

    >>> rs.metrics.num_ret(["a", "b", "c"], truth=["a"])
    3.0
    """
    return Ratio(ranking.places(k, "min(k,retrieved)"), ranking.one)


@counting(
    "num_rel",
    formula="relevant",
    latex=r"\mathrm{relevant}",
    use="Checking how much the truth holds.",
    beware="It does not look at the run.",
    ends_at_k=False,
)
def num_rel(ranking: Ranking) -> Ratio:
    """How many relevant items the truth has, over all queries.

    >>> rs.metrics.num_rel(["a", "b", "c"], truth=["a", "x"])
    2.0
    """
    return Ratio(ranking.relevant, ranking.one)


@counting(
    "num_rel_ret",
    spellings={"hits": "num_rel_ret(averaging='macro')"},  # ranx
    formula="hits(k)",
    latex=r"\mathrm{hits}(k)",
    use="Counting hits over all queries.",
    beware="It grows with the number of queries.",
    better="higher",
    counts_hits=True,
)
def num_rel_ret(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """How many relevant items the run returned, over all queries.

    >>> rs.metrics.num_rel_ret(["a", "b", "c"], truth=["a", "x"])
    1.0
    """
    return Ratio(ranking.hits(k), ranking.one)


@metric(
    "judged",
    formula="judged(k) / <divisor>",
    latex=r"\frac{\mathrm{judged}(k)}{<divisor>}",
    use="Before trusting any other number: how much of what was returned has been judged?",
    beware="A high share says that the judgements cover the run, not that the run is good.",
    expected=True,
    best_first=lambda ranking, _: ranking.number(ranking.grade == ranking.grade),
    ends_at_k=True,
)
def judged(ranking: Ranking, *, k: Depth = None, divisor: PrecisionDivisor = "min(k,retrieved)") -> Ratio:
    """Share of the first k items that the truth judges, relevant or not.

    >>> rs.metrics.judged(["a", "b", "c", "d"], truth={"a": 1, "c": 0}, k=4)
    0.5
    """
    if ranking.listed:  # everything in the list has a grade
        return Ratio(ranking.places(k, "min(k,retrieved)"), ranking.places(k, divisor))
    return Ratio(ranking.sum(ranking.number(ranking.grade == ranking.grade), k), ranking.places(k, divisor))
