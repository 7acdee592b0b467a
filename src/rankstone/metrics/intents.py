"""Metrics of intents: an item may serve several subtopics, and a subtopic that was served before is worth less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from rankstone.align.functions import Depth, Discount, Functions, Values
from rankstone.metrics.cascade import Persisting
from rankstone.metrics.gains import DISCOUNTS, Geometric, reciprocal
from rankstone.metrics.registry import Parameter, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

Alpha = Annotated[
    float,
    Parameter("how much of a subtopic's worth each relevant item takes from those below it", at_least=0, at_most=1),
]
DiverseIdeal = Annotated[
    Literal["greedy", "best"],
    Parameter(
        "how the ideal list is made",
        {
            "greedy": "ideal list of the item that adds most at each place, the larger id first among equals",
            "best": "ideal list that is the best of all",
        },
    ),
]
_EVERY = ", over that of a list whose every item covers every subtopic"
_EVERY_LATEX = r" \Bigm/ \mathrm{that\ of\ a\ list\ whose\ every\ item\ covers\ every\ subtopic}"
EveryDivisor = Annotated[
    Literal["every", "every from 2", "none"],
    Parameter(
        "what the sum is divided by",
        {
            "every": "divided by the sum of a list whose every item covers every subtopic",
            "every from 2": "divided by the sum of a list whose every item covers every subtopic, but not at k = 1",
            "none": "not divided",
        },
        text={"every": _EVERY, "every from 2": f"{_EVERY}; not at k = 1", "none": ""},
        latex={"every": _EVERY_LATEX, "every from 2": rf"{_EVERY_LATEX}\ (k > 1)", "none": ""},
    ),
]

_GAIN = "(1 - <alpha>)^(relevant items of the subtopic above)"
_GAIN_LATEX = r"\sum_{i \le k} \sum_{s \in i} (1 - <alpha>)^{n_s(i)}"
_SEES = "It needs judgements by subtopic, and a subtopic that nobody thought of is not missed."
of_intents = partial(
    metric,
    kind="intents",
    earns=by_relevant,
    best_first=lambda ranking, parameters: None,  # which order of tied items is best depends on all the others
    ends_at_k=True,
)
over_every = partial(of_intents, beware=f"No list can reach 1 where no item covers every subtopic. {_SEES}")
over_ideal = partial(
    of_intents,
    beware=f"The usual greedy ideal list is not always the best one, so that a value can pass 1. {_SEES}",
    bounds=(0, math.inf),
)


def _earned(intents: Ranking, alpha: float, discount: Discount, k: Depth) -> Values:
    """Sum over items and their subtopics, each worth less the more often it was covered above."""
    intents.need_order()
    return intents.discounted(intents.credit * (1.0 - alpha) ** (intents.nth_of_subtopic - 1.0), discount, k)


@dataclass(frozen=True)
class Fading:
    """A discount, times what a subtopic is worth that every item above covers."""

    alpha: float
    discount: Discount

    def __call__(self, f: Functions, rank: Values) -> Values:
        return self.discount(f, rank) * (1.0 - self.alpha) ** (rank - 1.0)


def _over_every(ranking: Ranking, alpha: float, discount: Discount, k: Depth, divisor: EveryDivisor) -> Ratio:
    intents = ranking.by_subtopic()
    earned = _earned(intents, alpha, discount, k)
    if divisor == "none" or (divisor == "every from 2" and k == 1):
        return Ratio(earned, ranking.one)
    return Ratio(earned, intents.subtopics * ranking.sum_of_discounts(Fading(alpha, discount), k, smooth=True))


def _over_ideal(ranking: Ranking, alpha: float, discount: Discount, k: Depth, ideal: DiverseIdeal) -> Ratio:
    intents = ranking.by_subtopic()
    return Ratio(_earned(intents, alpha, discount, k), intents.ideal_sum(alpha, discount, k, ideal == "best"))


@over_every(
    "alpha_dcg",
    formula=f"sum of {_GAIN} / log2(rank+1)<divisor>",
    latex=rf"{_GAIN_LATEX} / \log_2(i + 1)<divisor>",
    use="Several intents behind a query, early places matter more, and every list is measured on one scale.",
)
def alpha_dcg(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, divisor: EveryDivisor = "every") -> Ratio:
    """Gain of the first k items by subtopic, less for one that came before, discounted by rank.

    Clarke et al., 2008. divisor="none" is the plain sum.

    >>> rs.metrics.alpha_dcg(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    1.0
    """
    return _over_every(ranking, alpha, DISCOUNTS["log2(rank+1)"], k, divisor)


@over_ideal(
    "alpha_ndcg",
    formula=f"sum of {_GAIN} / log2(rank+1), over that of the ideal list",
    latex=rf"\frac{{{_GAIN_LATEX} / \log_2(i + 1)}}{{\mathrm{{that\ of\ the\ ideal\ list}}}}",
    use="Several intents behind a query: a list should serve each of them early, and none of them twice.",
)
def alpha_ndcg(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, ideal: DiverseIdeal = "greedy") -> Ratio:
    """Gain of the first k items by subtopic, less for one that came before, over that of an ideal list.

    Clarke et al., 2008. ideal="best" divides by the best of all lists; where those are too many, it says so.

    >>> rs.metrics.alpha_ndcg(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, DISCOUNTS["log2(rank+1)"], k, ideal)


@over_every(
    "err_ia",
    formula=f"sum of {_GAIN} / rank<divisor>",
    latex=rf"{_GAIN_LATEX} / i<divisor>",
    use="A reader with one of several intents, who stops when it is served.",
)
def err_ia(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, divisor: EveryDivisor = "every") -> Ratio:
    """Expected value of one over the rank at which a person with one of several intents stops, satisfied.

    Chapelle et al., 2011, for relevant or not, where a relevant item satisfies with chance alpha, on the scale of
    TREC's ndeval.

    >>> rs.metrics.err_ia(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_every(ranking, alpha, reciprocal, k, divisor)


@over_ideal(
    "nerr_ia",
    formula=f"sum of {_GAIN} / rank, over that of the ideal list",
    latex=rf"\frac{{{_GAIN_LATEX} / i}}{{\mathrm{{that\ of\ the\ ideal\ list}}}}",
    use="As err_ia, over what a list of the judged items can reach.",
)
def nerr_ia(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, ideal: DiverseIdeal = "greedy") -> Ratio:
    """Expected reciprocal rank by intent, over that of an ideal list.

    >>> rs.metrics.nerr_ia(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, reciprocal, k, ideal)


@over_every(
    "nrbp",
    formula=f"(1 - (1 - <alpha>) <beta>) * sum of {_GAIN} <beta>^(rank - 1), over subtopics",
    latex=rf"\frac{{1 - (1 - <alpha>) <beta>}}{{S}} {_GAIN_LATEX} <beta>^{{i - 1}}",
    use="A reader with one of several intents, who goes on to the next place with probability beta.",
)
def nrbp(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, beta: Persisting = 0.5) -> Ratio:
    """Subtopics met by a person who goes on with probability beta, less for one that came before.

    Clarke, Kolla and Vechtomova, 2009.

    >>> rs.metrics.nrbp(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.75
    """
    intents = ranking.by_subtopic()
    return Ratio((1.0 - (1.0 - alpha) * beta) * _earned(intents, alpha, Geometric(beta), k), intents.subtopics)


@over_ideal(
    "nnrbp",
    formula=f"sum of {_GAIN} <beta>^(rank - 1), over that of the ideal list",
    latex=rf"\frac{{{_GAIN_LATEX} <beta>^{{i - 1}}}}{{\mathrm{{that\ of\ the\ ideal\ list}}}}",
    use="As nrbp, over what a list of the judged items can reach.",
)
def nnrbp(
    ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, beta: Persisting = 0.5, ideal: DiverseIdeal = "greedy"
) -> Ratio:
    """Subtopics met by a person who goes on with probability beta, over those of an ideal list.

    >>> rs.metrics.nnrbp(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, Geometric(beta), k, ideal)


@of_intents(
    "ap_ia",
    aliases=("map_ia",),
    formula="mean over the subtopics of their average precision",
    latex=r"\frac{1}{S} \sum_s \frac{1}{R_s} \sum_{i \le k,\, s \in i} \frac{R_s(i)}{i}",
    use="As ap, where a list should hold what is relevant for each of several intents.",
    beware="It has no penalty for serving one intent again and again. " + _SEES,
)
def ap_ia(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Average precision of each subtopic, averaged over the subtopics that have a relevant item.

    Agrawal et al., 2009.

    >>> rs.metrics.ap_ia(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]})
    0.75
    """
    intents = ranking.by_subtopic()
    precisions = intents.credit * intents.nth_of_subtopic / intents.rank / intents.relevant_of_subtopic
    return Ratio(intents.sum(precisions, k), intents.subtopics)


@of_intents(
    "precision_ia",
    aliases=("p_ia",),
    formula="mean over the subtopics of hits(k) / k",
    latex=r"\frac{1}{S} \sum_s \frac{\mathrm{hits}_s(k)}{k}",
    use="As precision, where an item counts for each intent that it serves.",
    beware="It sees neither the order within the k nor whether one intent is served again and again. " + _SEES,
    expected=True,
)
def precision_ia(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Precision of each subtopic, averaged over the subtopics that have a relevant item.

    Agrawal et al., 2009.

    >>> rs.metrics.precision_ia(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=2)
    0.75
    """
    intents = ranking.by_subtopic()
    return Ratio(intents.sum(intents.credit, k), ranking.places(k) * intents.subtopics)


@of_intents(
    "subtopic_recall",
    aliases=("strec", "strecall", "s_recall"),
    formula="subtopics covered by the first k / subtopics",
    latex=r"\frac{\mathrm{covered}(k)}{S}",
    use="It is enough that each intent, or each nugget of an answer, is covered once.",
    beware="It sees neither the order within the k nor how well a subtopic is covered. " + _SEES,
)
def subtopic_recall(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Share of the subtopics that some item of the first k covers.

    Zhai, Cohen and Lafferty, 2003. With nuggets for subtopics it is the recall of nuggets.

    >>> rs.metrics.subtopic_recall(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    intents = ranking.by_subtopic()
    new = intents.where(intents.nth_of_subtopic == 1, intents.credit, 0.0)
    return Ratio(intents.sum(new, k), intents.subtopics)
