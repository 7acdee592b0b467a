"""pytrec_eval: `from rankstone.compat import pytrec_eval` for `import pytrec_eval`.

The measures are those of `rankstone trec_eval --version-like 9`, which is the version that pytrec_eval wraps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import TypeVar

import numpy as np

from rankstone.data.dicts import Dicts
from rankstone.data.lines import RowError, to_id, to_number
from rankstone.data.source import AlignOptions
from rankstone.data.trec import LAYOUTS
from rankstone.errors import DataTypeError, InputError, InputTypeError, show
from rankstone.metrics.declaration import unknown_word
from rankstone.trec_eval.command import Chosen, CompiledMeasures, over_queries
from rankstone.trec_eval.measures import MEASURES, NICKNAMES, parameters, value_names
from rankstone.trec_eval.ranked_lists import Setup, prepared

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

Number = TypeVar("Number", int, float)
VERSION = 9
supported_measures = {name for name in NICKNAMES["all_trec"] if MEASURES[name].since <= VERSION}
supported_nicknames = {name: set(several) & supported_measures for name, several in NICKNAMES.items()}
_PARAMETERS = re.compile(r"[._](\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)$")


class RelevanceEvaluator:
    """trec_eval's measures of runs, against one set of judgements.

    Parameters
    ----------
    query_relevance : dict
        Judgements: query -> document -> relevance, a whole number.
    measures : iterable of str
        Measures (`"map"`), with parameters (`"ndcg_cut_10"`, `"ndcg_cut.5,10"`), or nicknames (`"official"`).
    relevance_level : int, default 1
        The lowest relevance that is relevant.
    judged_docs_only_flag : bool, default False
        Whether documents without judgement are left out.

    Examples
    --------
    >>> from rankstone.compat import pytrec_eval
    >>> evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"a": 1, "b": 0}}, {"recip_rank", "P_5"})
    >>> evaluator.evaluate({"q1": {"a": 0.5, "b": 0.9}})
    {'q1': {'recip_rank': 0.5, 'P_5': 0.2}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        self._truth = {query: _whole_grades(query, items) for query, items in query_relevance.items() if items}
        self._setup = Setup(VERSION, relevance_level, judged_only=bool(judged_docs_only_flag))
        self._chosen = _choose(measures)
        self._compiled = CompiledMeasures(self._chosen, self._setup)
        if self._compiled.error:
            raise InputError(str(self._compiled.error))

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """The measures of the queries that are both in the run and in the judgements, by name.

        Parameters
        ----------
        scores : dict
            Run: query -> document -> score.

        Returns
        -------
        dict
            Query -> measure -> value.
        """
        truth = {query: self._truth[query] for query in scores if query in self._truth}
        if not truth or not self._chosen:
            return {query: {} for query in truth}
        options = AlignOptions(float32=self._setup.score_precision is np.float32)
        answers = self._compiled.answers(prepared(Dicts(truth, scores).align(options).ranked, self._setup))
        names, columns = [], []
        for choice in self._chosen:
            names += choice.names
            constant = float(choice.measure.name == "num_q")  # texts are 0 in pytrec_eval
            values = answers.get(choice.measure.name, [np.full(len(truth), constant)])
            columns += [column.tolist() for column in values]
        return {query: dict(zip(names, row, strict=True)) for query, *row in zip(truth, *columns, strict=True)}


def _whole_grades(query: str, items: Mapping[str, int]) -> Mapping[str, int]:
    for item, grade in items.items():
        if type(grade) is not int and not isinstance(grade, Integral):
            raise DataTypeError(
                f"query {query!r}, item {item!r}: relevance {show(grade)} is not a whole number",
                "number", "truth", query, item,
            )  # fmt: skip
    return items


def _choose(measures: Iterable[str]) -> list[Chosen]:
    """The measures in the table's order; the parameters of one that is named several times are put together."""
    if isinstance(measures, str):
        raise InputTypeError(f"measures is a text; write {{{measures!r}}}")
    asked: dict[str, set[str]] = {}
    for text in measures:
        match = None if text in supported_measures or text in supported_nicknames else _PARAMETERS.search(text)
        name = text[: match.start()] if match else text
        if name not in supported_measures and name not in supported_nicknames:
            raise InputError(unknown_word("measure", name, [*supported_measures, *supported_nicknames]))
        for single in supported_nicknames.get(name, {name}):
            asked.setdefault(single, set()).update(match[1].split(",") if match else ())
    chosen = []
    for name, measure in MEASURES.items():
        if name in asked:
            params = parameters(measure, ",".join(sorted(asked[name])) or None)
            chosen.append(Chosen(measure, params, value_names(measure, params, None)))
    return chosen


def compute_aggregated_measure(measure: str, values: Iterable[float]) -> float:
    """The value over all queries: a sum of counts, a geometric mean of logarithms, else the mean.

    Parameters
    ----------
    measure : str
        Its name.
    values : iterable of float
        One value per query.

    Returns
    -------
    float
    """
    name = measure if measure in MEASURES else measure.rpartition("_")[0]
    numbers = np.fromiter(values, dtype=np.float64)
    return over_queries(MEASURES.get(name, MEASURES["map"]), numbers, len(numbers))


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """The lines of a TREC run as query -> document -> score.

    Parameters
    ----------
    f_run : iterable of str
        Lines, or an open file.

    Returns
    -------
    dict
    """
    return _parse(f_run, "run", "score", float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """The lines of TREC qrels as query -> document -> relevance.

    Parameters
    ----------
    f_qrel : iterable of str
        Lines, or an open file.

    Returns
    -------
    dict
    """
    return _parse(f_qrel, "truth", "grade", int)


def _parse(
    lines: Iterable[str], side: str, value: str, kind: Callable[[float], Number]
) -> dict[str, dict[str, Number]]:
    layout = LAYOUTS[side]
    at = layout.names.split().index(value)
    parsed: dict[str, dict[str, Number]] = {}
    for number, line in enumerate(lines, 1):
        raw = line.encode(errors="surrogateescape")
        if layout.skips(raw):
            continue
        try:
            fields = layout.split(raw)
            query, item = to_id(fields[0], "query"), to_id(fields[2], "item")
            read = to_number(fields[at], value)
            items = parsed.setdefault(query, {})
            if item in items:
                raise RowError(f"item {item!r} appears twice for query {query!r}")
            if (converted := kind(read)) != read:
                raise RowError(f"{value} {read} is not a whole number")
        except RowError as problem:
            raise InputError(f"line {number}: {problem}") from None
        items[item] = converted
    return parsed
