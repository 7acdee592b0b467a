"""Set metrics of the top k: precision, recall, F, hit rate, fallout, counts. They ignore the order in the top k."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Values
from rankstone.errors import InputError, NoClosedFormError
from rankstone.metrics.registry import ByName, Monotonicity, Parameter, by_hits, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

_DIVISOR = Parameter(
    "denominator of precision",
    {
        "k": "divided by k, also if fewer items are returned",
        "min(k,retrieved)": "divided by k, or by the number of returned items if that is smaller",
        "min(k,relevant)": "divided by k, or by the number of relevant items if that is smaller",
    },
)
_JUDGED = {"judged": "divided by the number of judged items in the top k"}
PrecisionDivisor = Annotated[
    Literal["k", "min(k,retrieved)", "min(k,relevant)", "judged"],
    replace(_DIVISOR, labels={**_DIVISOR.labels, **_JUDGED}),
]
ReturnedDivisor = Annotated[Literal["k", "min(k,retrieved)", "min(k,relevant)"], _DIVISOR]
RecallDivisor = Annotated[
    Literal["relevant", "min(relevant,k)", "grades"],
    Parameter(
        "denominator of recall",
        {
            "relevant": "divided by the number of relevant items",
            "min(relevant,k)": "divided by the number of relevant items, or by k if that is smaller",
            "grades": "divided by the sum of all positive grades",
        },
        text={"grades": "sum of grades"},
        latex={"grades": r"\sum_j g_j"},
    ),
]
Beta = Annotated[float, Parameter("weight of recall relative to precision", above=0)]
Catalogue = Annotated[
    int | None,
    Parameter(
        "number of items in the catalogue",
        {None: "items that are neither judged nor returned are ignored", ...: "catalogue of {} items"},
        hidden=(None,),
        above=0,
    ),
]
Nonrelevant = Annotated[
    Literal["judged", "list"],
    Parameter(
        "which items count as non-relevant: those judged non-relevant, or every returned item that is not relevant",
        {
            "judged": "non-relevant: judged non-relevant",
            "list": "non-relevant: every returned item that is not relevant",
        },
        hidden=("judged",),
    ),
]
Misses = Annotated[
    Literal["zero", "undefined"],
    Parameter(
        "a query without a hit",
        {"zero": "queries without a hit score 0", "undefined": "queries without a hit are undefined"},
        hidden=("zero",),
    ),
]

# Declarations shared by families of metrics.
of_hits = partial(
    metric, expected=True, reads_zero_grades=False, ends_at_k=True, counts_hits=True, defined_where=by_relevant
)
counting = partial(
    metric,
    kind="count",
    choices={"averaging": "sum"},
    expected=True,
    reads_zero_grades=False,
    bounds=(0, math.inf),
    better="neither",
    ends_at_k=True,
    monotonicity="hits",
)


def check_catalogue(ranking: Ranking, catalogue: int) -> None:
    """Raise an error if a query has more items than the catalogue."""
    too_many = ranking.maximum(ranking.relevant, ranking.retrieved) > catalogue
    ranking.raise_where(too_many, f"a catalogue of {catalogue} items cannot hold the items")


def _unless_bad(ranking: Ranking, parameters: ByName) -> Values:
    """The items that fallout counts: judged non-relevant ones, or all that are not hits."""
    if parameters["catalogue"] is not None or parameters["nonrelevant"] == "list" or ranking.returned_only:
        return by_hits(ranking, parameters)
    return -ranking.judged_nonrelevant


def _unless_judged(ranking: Ranking, parameters: ByName, divisor: str) -> Values | None:
    """Hits first; divided by the judged items, fewer of these may be better."""
    judged = parameters[divisor] == "judged" and not ranking.ties_irrelevant(parameters["k"])
    return None if judged else by_hits(ranking, parameters)


@of_hits(
    "precision",
    aliases=("p", "set_p"),
    spellings={"P_{k}": "precision@{k}", "id_based_context_precision": "precision"},
    formula="hits(k) / <divisor>",
    latex=r"\frac{\mathrm{hits}(k)}{<divisor>}",
    use_when="A page shows k items, and each of them costs the user the same effort.",
    caveat="It cannot reach 1 if a query has fewer than k relevant items, and it ignores the order within the top k.",
    reads_zero_grades=lambda parameters: parameters["divisor"] == "judged",
    best_first=lambda ranking, parameters: _unless_judged(ranking, parameters, "divisor"),
    monotonicity=lambda parameters: (
        None if parameters["divisor"] == "judged" else "share" if "relevant" in parameters["divisor"] else "sum of hits"
    ),
)
def precision(ranking: Ranking, *, k: Depth = None, divisor: PrecisionDivisor = "k") -> Ratio:
    """Fraction of the top k items that are relevant.

    Without k, of all returned items. Cleverdon, Mills and Keen, 1966.

    >>> rs.precision(["a", "b", "c", "d"], truth=["a", "c", "x"], k=2)
    0.5
    """
    return Ratio(ranking.hits(k), ranking.places(k, divisor))


@of_hits(
    "recall",
    aliases=("r", "set_r", "set_recall"),
    spellings={
        "recall_{k}": "recall@{k}",
        "R_cap@{k}": "recall(divisor='min(relevant,k)')@{k}",
        "id_based_context_recall": "recall",
    },
    formula="hits(k) / <divisor>",
    latex=r"\frac{\mathrm{hits}(k)}{<divisor>}",
    use_when="The relevant items should be in the top k, at any rank: candidate generation, screening.",
    caveat=(
        "It cannot reach 1 if a query has more than k relevant items; some tools therefore divide by min(k, relevant)."
    ),
    monotonicity=lambda parameters: None if parameters["divisor"] == "grades" else "share",
    weightable=True,
)
def recall(ranking: Ranking, *, k: Depth = None, divisor: RecallDivisor = "relevant") -> Ratio:
    """Fraction of the relevant items that are in the top k.

    Cleverdon, Mills and Keen, 1966.

    >>> rs.recall(["a", "b", "c", "d"], truth=["a", "c", "x", "y"], k=2)
    0.25
    """
    return Ratio(ranking.hits(k), _relevant(ranking, k, divisor))


def _relevant(ranking: Ranking, k: Depth, divisor: RecallDivisor) -> Values:
    if divisor != "relevant" and ranking.relevance_rule.credit == "weighted":
        raise InputError(f"recall: relevance='weighted' goes with divisor='relevant', not with {divisor!r}")
    if divisor == "grades":
        truth = ranking.ideal("given")
        return truth.sum(truth.maximum(truth.grade, 0.0))
    return ranking.minimum(ranking.relevant, k) if divisor == "min(relevant,k)" and k is not None else ranking.relevant


def harmonic(precision: float, recall: float, arguments: ByName) -> tuple[float, float]:
    """The weighted harmonic mean of precision and recall, as numerator and denominator."""
    weight = arguments.get("beta", 1.0) ** 2
    return (1.0 + weight) * precision * recall, weight * precision + recall


def _grows(parameters: ByName) -> Monotonicity | None:
    other = parameters["recall_divisor"] == "grades" or parameters["precision_divisor"] == "judged"
    return None if other else "share"


of_both = partial(
    of_hits,
    combine=harmonic,
    monotonicity=_grows,
    reads_zero_grades=lambda parameters: parameters["precision_divisor"] == "judged",
    best_first=lambda ranking, parameters: _unless_judged(ranking, parameters, "precision_divisor"),
)


@of_both(
    "f",
    title="F-measure",
    aliases=("set_f", "f1beta", "f_measure", "f_score", "f_beta"),
    spellings={"f{x}": "f(beta={x})", "f{x}_score": "f(beta={x})"},
    formula="(1 + <beta>^2) hits(k) / (<beta>^2 <recall_divisor> + <precision_divisor>)",
    latex=r"\frac{(1 + <beta>^2)\,\mathrm{hits}(k)}{<beta>^2\,<recall_divisor> + <precision_divisor>}",
    use_when="Precision and recall both matter, and one number has to summarise them.",
    caveat="Report beta, and whether it is the mean F over queries or the F of mean precision and mean recall.",
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
    title="F1 score",
    aliases=("f1_score", "f1score"),
    formula="2 hits(k) / (<recall_divisor> + <precision_divisor>)",
    latex=r"\frac{2\,\mathrm{hits}(k)}{<recall_divisor> + <precision_divisor>}",
    use_when="As f, with equal weight for precision and recall.",
    caveat="The mean F1 over queries differs from the F1 of mean precision and mean recall.",
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
    title="Hit rate (success)",
    aliases=("hit", "success", "hr", "hit_ratio"),
    spellings={"success_{k}": "hit_rate@{k}", "accuracy@{k}": "hit_rate@{k}", "ir_hit_rate": "hit_rate"},
    formula="1 if hits(k) > 0, else 0",
    latex=r"[\mathrm{hits}(k) > 0]",
    use_when="One relevant item is enough, as in a carousel or with one held-out item per user.",
    caveat="One hit and many hits have the same value.",
    monotonicity=lambda parameters: "hits" if parameters["misses"] == "zero" else None,
)
def hit_rate(ranking: Ranking, *, k: Depth = None, misses: Misses = "zero") -> Ratio:
    """1 if at least one of the top k items is relevant, else 0.

    >>> rs.hit_rate(["a", "b", "c"], truth=["c"], k=2)
    0.0
    """
    any_hit = ranking.any_hit(k)
    if misses == "undefined" and ranking.ties_averaged:
        raise NoClosedFormError("has no closed form over all orders of tied items with misses='undefined'")
    return Ratio(any_hit, ranking.one if misses == "zero" else any_hit)


@of_hits(
    "r_precision",
    title="R-precision",
    aliases=("rprec",),
    formula="hits(relevant) / relevant",
    latex=r"\frac{\mathrm{hits}(\mathrm{relevant})}{\mathrm{relevant}}",
    use_when="The number of relevant items varies between queries: the cutoff is that number.",
    caveat="With one relevant item it equals precision@1.",
    ends_at_k=False,
    best_first=lambda ranking, _: ranking.credit_at(ranking.floor(ranking.relevant)),
    monotonicity="share at R",
)
def r_precision(ranking: Ranking) -> Ratio:
    """Precision at rank R, where R is the number of relevant items.

    >>> rs.r_precision(["a", "b", "c", "d"], truth=["a", "c", "d"])
    0.6666666666666666
    """
    return Ratio(ranking.hits(ranking.floor(ranking.relevant)), ranking.relevant)


@metric(
    "fallout",
    formula="non-relevant items returned(k) / all non-relevant items",
    latex=r"\frac{\mathrm{nonrelevant}(k)}{\mathrm{all\ nonrelevant}}",
    use_when="Returning a non-relevant item is costly.",
    caveat="It needs judged non-relevant items; unjudged items count with nonrelevant='list' or catalogue= only.",
    expected=True,
    better="lower",
    binary_only=True,
    ends_at_k=True,
    counts_hits=True,
    best_first=_unless_bad,
)
def fallout(
    ranking: Ranking, *, k: Depth = None, catalogue: Catalogue = None, nonrelevant: Nonrelevant = "judged"
) -> Ratio:
    """Fraction of the non-relevant items that are in the top k (false positive rate); lower is better.

    Of the judged items, of all returned items (nonrelevant="list"), or of a catalogue of that many items.

    >>> rs.metrics.fallout(["a", "b", "c"], truth=["a"], k=3, catalogue=101)
    0.02
    """
    returned = ranking.places(k, "min(k,retrieved)") - ranking.hits(k)
    if catalogue is not None:
        check_catalogue(ranking, catalogue)
        return Ratio(returned, catalogue - ranking.relevant_at(k))
    if nonrelevant == "list" or ranking.returned_only:  # only returned items count
        return Ratio(returned, ranking.retrieved - ranking.returned_at(k))
    return Ratio(ranking.sum(ranking.judged_nonrelevant, k), ranking.nonrelevant)


@counting(
    "num_ret",
    title="Number of returned items",
    spellings={"NumRet(rel={x})": "num_rel_ret(threshold={x})"},  # ir_measures
    formula="min(k, retrieved)",
    latex=r"\min(k, \mathrm{retrieved})",
    use_when="Checking the length of the lists.",
    caveat="It does not measure quality.",
)
def num_ret(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Number of returned items, summed over queries.

    >>> rs.metrics.num_ret(["a", "b", "c"], truth=["a"])
    3.0
    """
    return Ratio(ranking.places(k, "min(k,retrieved)"), ranking.one)


@counting(
    "num_rel",
    title="Number of relevant items",
    formula="number of relevant items",
    latex=r"\mathrm{relevant}",
    use_when="Checking the number of relevant items in the truth.",
    caveat="It does not depend on the run.",
    ends_at_k=False,
)
def num_rel(ranking: Ranking) -> Ratio:
    """Number of relevant items in the truth, summed over queries.

    >>> rs.metrics.num_rel(["a", "b", "c"], truth=["a", "x"])
    2.0
    """
    return Ratio(ranking.relevant, ranking.one)


@counting(
    "num_rel_ret",
    title="Number of relevant items returned",
    spellings={"hits": "num_rel_ret(averaging='macro')"},  # ranx
    formula="hits(k)",
    latex=r"\mathrm{hits}(k)",
    use_when="Counting hits over all queries, as trec_eval does.",
    caveat="It grows with the number of queries.",
    better="higher",
    counts_hits=True,
)
def num_rel_ret(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Number of relevant items returned, summed over queries.

    >>> rs.metrics.num_rel_ret(["a", "b", "c"], truth=["a", "x"])
    1.0
    """
    return Ratio(ranking.hits(k), ranking.one)


@metric(
    "judged",
    title="Judged items",
    formula="judged items returned(k) / <divisor>",
    latex=r"\frac{\mathrm{judged}(k)}{<divisor>}",
    use_when="Checking how complete the judgements of a run are before reading its other metrics.",
    caveat="A high value means that the judgements cover the run, not that the run is good.",
    expected=True,
    best_first=lambda ranking, _: ranking.number(ranking.grade == ranking.grade),
    ends_at_k=True,
)
def judged(ranking: Ranking, *, k: Depth = None, divisor: ReturnedDivisor = "min(k,retrieved)") -> Ratio:
    """Fraction of the top k items that are judged, relevant or not.

    >>> rs.metrics.judged(["a", "b", "c", "d"], truth={"a": 1, "c": 0}, k=4)
    0.5
    """
    return Ratio(ranking.judged_at(k), ranking.places(k, divisor))


@metric(
    "unjudged",
    title="Unjudged items",
    spellings={"hole@{k}": "unjudged(divisor='k')@{k}"},
    formula="unjudged items returned(k) / <divisor>",
    latex=r"\frac{\mathrm{unjudged}(k)}{<divisor>}",
    use_when="Checking how incomplete the judgements of a run are before reading its other metrics.",
    caveat=(
        "It counts items that are unjudged for the query; BEIR's and MTEB's Hole counts those that are judged for no "
        "query at all, which is this with the same pooled items in the truth of every query."
    ),
    best_first=lambda ranking, _: -ranking.number(ranking.grade == ranking.grade),
    better="lower",
    ends_at_k=True,
)
def unjudged(ranking: Ranking, *, k: Depth = None, divisor: ReturnedDivisor = "min(k,retrieved)") -> Ratio:
    """Fraction of the top k items that are unjudged.

    >>> rs.metrics.unjudged(["a", "b", "c", "d"], truth={"a": 1, "c": 0}, k=4)
    0.5
    """
    return Ratio(ranking.places(k, "min(k,retrieved)") - ranking.judged_at(k), ranking.places(k, divisor))
