"""Diversity by intent: alpha-nDCG, ERR-IA and others. An item may cover several subtopics; repetition has less gain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Discount, Functions, Values
from rankstone.metrics.cascade import Persisting
from rankstone.metrics.gains import DISCOUNTS, Geometric, reciprocal
from rankstone.metrics.registry import Parameter, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

Alpha = Annotated[
    float,
    Parameter(
        "redundancy penalty: each relevant item lowers the gain of its subtopics further down", at_least=0, at_most=1
    ),
]
DiverseIdeal = Annotated[
    Literal["greedy", "best"],
    Parameter(
        "how the ideal ranking is computed",
        {
            "greedy": "greedy ideal ranking: at each rank the item with the highest gain, the larger id if tied",
            "best": "exact ideal ranking: the best of all rankings",
        },
    ),
]
_EVERY = ", divided by the sum of a list in which each item covers all subtopics"
_EVERY_LATEX = r" \Bigm/ \mathrm{sum\ of\ a\ list\ in\ which\ each\ item\ covers\ all\ subtopics}"
EveryDivisor = Annotated[
    Literal["every", "every from 2", "none"],
    Parameter(
        "denominator",
        {
            "every": "divided by the sum of a list in which each item covers all subtopics",
            "every from 2": "divided by the sum of a list in which each item covers all subtopics, except at k = 1",
            "none": "not divided",
        },
        text={"every": _EVERY, "every from 2": f"{_EVERY}[k: ; not at k = 1]", "none": ""},
        latex={"every": _EVERY_LATEX, "every from 2": rf"{_EVERY_LATEX}\ (k > 1)", "none": ""},
    ),
]

_GAIN = "(1 - <alpha>)^(relevant items of the subtopic above)"
_GAIN_LATEX = r"\sum_{i \le k} \sum_{s \in i} (1 - <alpha>)^{n_s(i)}"
_SUBTOPICS = "It needs judgements per subtopic; subtopics that are not judged are ignored."
of_intents = partial(
    metric,
    kind="intents",
    defined_where=by_relevant,
    best_first=lambda ranking, parameters: None,  # which order of tied items is best depends on all the others
    ends_at_k=True,
)
over_every = partial(of_intents, caveat=f"It cannot reach 1 if no item covers all subtopics. {_SUBTOPICS}")
over_ideal = partial(
    of_intents,
    caveat=f"The usual greedy ideal ranking is not always optimal, so that a value can exceed 1. {_SUBTOPICS}",
    bounds=(0, math.inf),
)


def _novel_gain(intents: Ranking, alpha: float, discount: Discount, k: Depth) -> Values:
    """Discounted gain over items and their subtopics; the more often a subtopic was covered above, the lower."""
    intents.need_order()
    return intents.discounted(intents.credit * (1.0 - alpha) ** (intents.nth_of_subtopic - 1.0), discount, k)


@dataclass(frozen=True)
class RepeatedDiscount:
    """A discount, times the gain of a subtopic that every item above covers."""

    alpha: float
    discount: Discount

    def __call__(self, f: Functions, rank: Values) -> Values:
        return self.discount(f, rank) * (1.0 - self.alpha) ** (rank - 1.0)


def _over_every(ranking: Ranking, alpha: float, discount: Discount, k: Depth, divisor: EveryDivisor) -> Ratio:
    intents = ranking.by_subtopic()
    gain = _novel_gain(intents, alpha, discount, k)
    if divisor == "none" or (divisor == "every from 2" and k == 1):
        return Ratio(gain, ranking.one)
    return Ratio(gain, intents.subtopics * ranking.sum_of_discounts(RepeatedDiscount(alpha, discount), k, smooth=True))


def _over_ideal(ranking: Ranking, alpha: float, discount: Discount, k: Depth, ideal: DiverseIdeal) -> Ratio:
    intents = ranking.by_subtopic()
    return Ratio(_novel_gain(intents, alpha, discount, k), intents.ideal_sum(alpha, discount, k, ideal == "best"))


@over_every(
    "alpha_dcg",
    formula=f"sum of {_GAIN} / log2(rank+1)<divisor>",
    latex=rf"{_GAIN_LATEX} / \log_2(i + 1)<divisor>",
    use_when="Queries with several intents, where early ranks matter more, without an ideal ranking per query.",
)
def alpha_dcg(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, divisor: EveryDivisor = "every") -> Ratio:
    """Alpha-DCG: DCG over the subtopics of the top k items, with less gain for subtopics covered above.

    Clarke et al., 2008, doi:10.1145/1390334.1390446. divisor="none" is the plain sum.

    >>> rs.metrics.alpha_dcg(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    1.0
    """
    return _over_every(ranking, alpha, DISCOUNTS["log2(rank+1)"], k, divisor)


@over_ideal(
    "alpha_ndcg",
    formula=f"sum of {_GAIN} / log2(rank+1), divided by the value of the ideal ranking",
    latex=rf"\frac{{{_GAIN_LATEX} / \log_2(i + 1)}}{{\mathrm{{value\ of\ the\ ideal\ ranking}}}}",
    use_when="Queries with several intents: a list should cover each of them early, without redundancy.",
)
def alpha_ndcg(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, ideal: DiverseIdeal = "greedy") -> Ratio:
    """Alpha-nDCG: DCG over subtopics, with less gain for subtopics covered above, divided by that of the ideal ranking.

    Clarke et al., 2008, doi:10.1145/1390334.1390446. ideal="best" uses the exact optimum; an error if it is too costly.

    >>> rs.metrics.alpha_ndcg(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, DISCOUNTS["log2(rank+1)"], k, ideal)


@over_every(
    "err_ia",
    title="Intent-aware expected reciprocal rank (ERR-IA)",
    formula=f"sum of {_GAIN} / rank<divisor>",
    latex=rf"{_GAIN_LATEX} / i<divisor>",
    use_when="The user has one of several intents and stops when it is satisfied.",
)
def err_ia(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, divisor: EveryDivisor = "every") -> Ratio:
    """Intent-aware expected reciprocal rank, for a user who has one of several intents.

    Chapelle et al., 2011, with binary relevance: a relevant item satisfies the user with probability alpha. Scaled as
    in TREC's ndeval.

    >>> rs.metrics.err_ia(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_every(ranking, alpha, reciprocal, k, divisor)


@over_ideal(
    "nerr_ia",
    title="Normalised intent-aware expected reciprocal rank (nERR-IA)",
    formula=f"sum of {_GAIN} / rank, divided by the value of the ideal ranking",
    latex=rf"\frac{{{_GAIN_LATEX} / i}}{{\mathrm{{value\ of\ the\ ideal\ ranking}}}}",
    use_when="As err_ia, normalised by the ideal ranking of the judged items.",
)
def nerr_ia(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, ideal: DiverseIdeal = "greedy") -> Ratio:
    """Intent-aware expected reciprocal rank, divided by that of the ideal ranking.

    >>> rs.metrics.nerr_ia(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, reciprocal, k, ideal)


@over_every(
    "nrbp",
    formula=f"(1 - (1 - <alpha>) <beta>) * sum of {_GAIN} <beta>^(rank - 1), divided by the number of subtopics",
    latex=rf"\frac{{1 - (1 - <alpha>) <beta>}}{{S}} {_GAIN_LATEX} <beta>^{{i - 1}}",
    use_when="The user has one of several intents and continues to the next rank with probability beta.",
)
def nrbp(ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, beta: Persisting = 0.5) -> Ratio:
    """Novelty- and rank-biased precision: RBP over subtopics, with less gain for subtopics covered above.

    Clarke, Kolla and Vechtomova, 2009.

    >>> rs.metrics.nrbp(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.75
    """
    intents = ranking.by_subtopic()
    return Ratio((1.0 - (1.0 - alpha) * beta) * _novel_gain(intents, alpha, Geometric(beta), k), intents.subtopics)


@over_ideal(
    "nnrbp",
    title="Normalised novelty- and rank-biased precision",
    formula=f"sum of {_GAIN} <beta>^(rank - 1), divided by the value of the ideal ranking",
    latex=rf"\frac{{{_GAIN_LATEX} <beta>^{{i - 1}}}}{{\mathrm{{value\ of\ the\ ideal\ ranking}}}}",
    use_when="As nrbp, normalised by the ideal ranking of the judged items.",
)
def nnrbp(
    ranking: Ranking, *, k: Depth = None, alpha: Alpha = 0.5, beta: Persisting = 0.5, ideal: DiverseIdeal = "greedy"
) -> Ratio:
    """Novelty- and rank-biased precision, divided by that of the ideal ranking.

    >>> rs.metrics.nnrbp(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    return _over_ideal(ranking, alpha, Geometric(beta), k, ideal)


@of_intents(
    "ap_ia",
    aliases=("map_ia",),
    formula="mean over subtopics of average precision",
    latex=r"\frac{1}{S} \sum_s \frac{1}{R_s} \sum_{i \le k,\, s \in i} \frac{R_s(i)}{i}",
    use_when="As ap, where a list should cover each of several intents.",
    caveat="It does not penalise redundancy. " + _SUBTOPICS,
)
def ap_ia(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Intent-aware average precision: the mean over the subtopics with a relevant item.

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
    formula="mean over subtopics of precision(k)",
    latex=r"\frac{1}{S} \sum_s \frac{\mathrm{hits}_s(k)}{k}",
    use_when="As precision, where an item counts for each intent that it covers.",
    caveat="It ignores the order within the top k and does not penalise redundancy. " + _SUBTOPICS,
    expected=True,
)
def precision_ia(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Intent-aware precision: the mean over the subtopics with a relevant item.

    Agrawal et al., 2009.

    >>> rs.metrics.precision_ia(["a", "b"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=2)
    0.75
    """
    intents = ranking.by_subtopic()
    return Ratio(intents.sum(intents.credit, k), ranking.places(k) * intents.subtopics)


@of_intents(
    "subtopic_recall",
    aliases=("strec", "strecall", "s_recall"),
    formula="subtopics covered(k) / all subtopics",
    latex=r"\frac{\mathrm{covered}(k)}{S}",
    use_when="It is enough to cover each intent, or each nugget of an answer, once.",
    caveat="It ignores the order within the top k and how often a subtopic is covered. " + _SUBTOPICS,
)
def subtopic_recall(ranking: Ranking, *, k: Depth = None) -> Ratio:
    """Subtopic recall: the fraction of the subtopics covered by the top k items.

    Zhai, Cohen and Lafferty, 2003, doi:10.1145/860435.860440. With nuggets as subtopics it is nugget recall.

    >>> rs.metrics.subtopic_recall(["b", "a"], truth={"a": ["s1", "s2"], "b": ["s1"]}, k=1)
    0.5
    """
    intents = ranking.by_subtopic()
    new = intents.where(intents.nth_of_subtopic == 1, intents.credit, 0.0)
    return Ratio(intents.sum(new, k), intents.subtopics)
