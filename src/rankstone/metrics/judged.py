"""How much of what was returned has been judged at all."""

from __future__ import annotations

from rankstone.align.functions import Depth
from rankstone.metrics.registry import metric
from rankstone.metrics.sets import PrecisionDivisor
from rankstone.program.ranking import Ranking, Ratio


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
