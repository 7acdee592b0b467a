"""Queries without an answer: how often a system answers, and how often it should not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.align.recommendations import Recommendations
from rankstone.errors import InputError
from rankstone.metrics.declaration import Parameter
from rankstone.metrics.registry import by_no_relevant, metric
from rankstone.program.ranking import Ratio

LowestScore = Annotated[
    float | None,
    Parameter(
        "lowest score of an answer: a list whose best score is lower is no answer",
        {...: "answered if the best score is at least {:g}"},
        hidden=(None,),
    ),
]
of_answers = partial(metric, reads="recommendations", choices={"undefined": "skip"}, max_depth=lambda _: 1)


def _answered(lists: Recommendations, t: float | None) -> Floats:
    """1 for a list with an item, whose score is at least t."""
    if t is None:
        return lists.number(lists.length > 0)
    score = lists.data.score
    if score is None and len(lists.item):
        raise InputError(f"t={t!r} is a score, and the run is only an order of items")
    scores = np.zeros(len(lists.item)) if score is None else np.asarray(score)
    lists.raise_at_items(np.isnan(scores), "item {} has no score to compare with t")
    return lists.number(lists.sum(scores >= scores.dtype.type(t)) > 0)


@of_answers(
    "answer_rate",
    spellings={"answer_rate@{x}": "answer_rate(t={x})"},
    formula="1 if the list has an item, else 0",
    latex=r"[\mathrm{length} > 0]",
    use_when="How often a system answers at all, with a score threshold t.",
    caveat="It says nothing about right or wrong: a system that always answers has 1.",
    better="neither",
)
def answer_rate(lists: Recommendations, *, t: LowestScore = None) -> Ratio:
    """Share of the queries that are answered: 1 if the list has an item (with a score of at least t), else 0.

    >>> rs.evaluate(run={"q1": {"a": 0.9}, "q2": {"b": 0.4}}, metrics="answer_rate@0.5")["answer_rate(t=0.5)"]
    0.5
    """
    return Ratio(_answered(lists, t), lists.per_query(1.0))


@of_answers(
    "false_answer",
    title="False answers",
    spellings={"false_answer@{x}": "false_answer(t={x})"},
    formula="1 if the list has an item, else 0, of queries without relevant items",
    latex=r"[\mathrm{length} > 0 \mid \mathrm{relevant} = 0]",
    use_when="How often a system answers a query that has no answer.",
    caveat="Only queries that the truth judges, and without a relevant item, are averaged: {'q9': []}.",
    better="lower",
    grades=True,
    defined_where=by_no_relevant,
)
def false_answer(lists: Recommendations, *, t: LowestScore = None) -> Ratio:
    """Share of the queries without a relevant item that are answered all the same (with a score of at least t).

    >>> truth = {"q1": ["a"], "q8": [], "q9": []}
    >>> run = {"q1": {"a": 0.9}, "q8": {"b": 0.7}, "q9": {"c": 0.2}}
    >>> rs.evaluate(truth, run, "false_answer@0.5")["false_answer(t=0.5)"]
    0.5
    """
    unanswerable = lists.number(lists.relevant == 0)
    return Ratio(_answered(lists, t) * unanswerable, unanswerable)


@of_answers(
    "abstention_recall",
    title="Recall of abstention",
    spellings={"abstention_recall@{x}": "abstention_recall(t={x})"},
    formula="1 if the list has no item, else 0, of queries without relevant items",
    latex=r"[\mathrm{length} = 0 \mid \mathrm{relevant} = 0]",
    use_when="How many of the queries without an answer a system leaves unanswered.",
    caveat="A system that never answers has 1: read it with recall, or answer_rate.",
    grades=True,
    defined_where=by_no_relevant,
)
def abstention_recall(lists: Recommendations, *, t: LowestScore = None) -> Ratio:
    """Share of the queries without a relevant item that are not answered (with a score of at least t).

    >>> truth = {"q1": ["a"], "q8": [], "q9": []}
    >>> run = {"q1": {"a": 0.9}, "q8": {"b": 0.7}, "q9": {"c": 0.2}}
    >>> rs.evaluate(truth, run, "abstention_recall@0.5")["abstention_recall(t=0.5)"]
    0.5
    """
    unanswerable = lists.number(lists.relevant == 0)
    return Ratio((1.0 - _answered(lists, t)) * unanswerable, unanswerable)
