"""Nugget scores of answers: the nuggets are the truth's items, how far an answer supports them the run's scores."""

from __future__ import annotations

from typing import Annotated, Literal

from rankstone.metrics.registry import Parameter, metric
from rankstone.program.ranking import Ranking, Ratio

OKAY, VITAL = 1, 2  # grades of nuggets
PARTIAL = 0.5  # score of a nugget that is supported in part

Score = Annotated[
    Literal["strict_vital", "vital", "strict_all", "all"],
    Parameter(
        "which nuggets count, and whether partial support does",
        {
            "strict_vital": "vital nuggets (grade >= 2) that are supported",
            "vital": "vital nuggets (grade >= 2), partial support counts 0.5",
            "strict_all": "all nuggets (grade >= 1) that are supported",
            "all": "all nuggets (grade >= 1), partial support counts 0.5",
        },
        text={
            "strict_vital": "supported vital nuggets / vital nuggets",
            "vital": "(supported + 0.5 partially supported) vital nuggets / vital nuggets",
            "strict_all": "supported nuggets / nuggets",
            "all": "(supported + 0.5 partially supported) nuggets / nuggets",
        },
        latex={
            "strict_vital": r"\frac{\mathrm{supported\ vital}}{\mathrm{vital}}",
            "vital": r"\frac{\mathrm{supported\ vital} + 0.5\,\mathrm{partial\ vital}}{\mathrm{vital}}",
            "strict_all": r"\frac{\mathrm{supported}}{\mathrm{nuggets}}",
            "all": r"\frac{\mathrm{supported} + 0.5\,\mathrm{partial}}{\mathrm{nuggets}}",
        },
    ),
]


@metric(
    "nuggets",
    kind="ratings",
    formula="<score>",
    latex="<score>",
    use_when="Generated answers, whose facts were assigned to nuggets (nuggetizer, TREC RAG).",
    caveat="It knows only the nuggets that were written down; who assigns them decides.",
    bounds=(0.0, 1.0),
    expected=True,
)
def nuggets(ranking: Ranking, *, score: Score = "all") -> Ratio:
    """Share of the nuggets of a query that its answer supports.

    A nugget has grade 2 if it is vital, 1 if it is okay; the answer's score of it is 1 (support), 0.5 (partial support)
    or 0. Pradeep et al., 2025, doi:10.1145/3726302.3730090.

    >>> rs.metrics.nuggets([1.0, 0.5, 0.0], truth=[2, 2, 1], score="vital")
    0.75
    """
    least = VITAL if score.endswith("vital") else OKAY
    partly = 0.0 if score.startswith("strict") else PARTIAL
    support = ranking.where(ranking.predicted >= 1.0, 1.0, ranking.where(ranking.predicted >= PARTIAL, partly, 0.0))
    truth = ranking.ideal("given")
    counted = ranking.where(ranking.grade >= least, support, 0.0)
    return Ratio(ranking.sum(counted), truth.sum(truth.where(truth.grade >= least, 1.0, 0.0)))
