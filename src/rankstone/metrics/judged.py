"""How much of what was returned has been judged at all."""

from __future__ import annotations

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.metrics.sets import PrecisionDivisor
from rankstone.ranked import Depth, Ranked, Ratio


@metric("judged", formula="judged(k) / min(k, retrieved)", expected=True, extremes=("judged_last", "judged_first"))
def judged(ranked: Ranked, *, k: Depth = None, divisor: PrecisionDivisor = "min(k,retrieved)") -> Ratio:
    """Share of the first k items that the truth judges, relevant or not.

    >>> rs.judged(["a", "b", "c", "d"], {"a": 1, "c": 0}, k=4)
    0.5
    """
    places = ranked.places(k, divisor)
    if ranked.unjudged is not None:  # everything in the list has a grade
        return Ratio(ranked.places(k, "min(k,retrieved)"), places)
    return Ratio(ranked.sum(np.ones(len(ranked.grade)) * ranked.chance(k)), places)
