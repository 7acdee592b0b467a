"""trec_eval's measures: one table, in the order in which it prints them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.align.elementwise import Discount, Functions
from rankstone.conventions.averaging import LOWEST_GEOMETRIC
from rankstone.errors import InputError
from rankstone.metrics.gains import dcg, ndcg
from rankstone.metrics.pairs import INFAP_EPSILON, bpref
from rankstone.metrics.precision import ap, iprec, rr
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import hit_rate, precision, r_precision, recall
from rankstone.program.graph import Expression
from rankstone.trec_eval.preferences import Preferences, Scope
from rankstone.trec_eval.ranked_lists import real, whole
from rankstone.trec_eval.symbolic import Pairs, SymbolicLists

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
Params = tuple[Any, ...]
Graphs: TypeAlias = Callable[[SymbolicLists, Params], list[Expression]]  # of a value per query, for each of the names


class MeasureParameterError(InputError):
    """Parameters that a measure does not take."""


class Measure(NamedTuple):
    """One measure: its name, its input, and how its values are computed, printed and averaged."""

    name: str
    calculate: Callable[[Any, Params], Sequence[Any]]  # one value per query, for each of the names
    meaning: str
    form: str = ""  # of its parameters: "" for none, "cuts", "shares" (one value each), "numbers", "pairs" (one value)
    params: Params = ()
    over: str = "qrels"  # what it reads: "qrels", "qrels_jg" or "prefs" with the results; "" for the results alone
    kind: str = "float"  # how a value is printed: "float", "count" or "text"
    mean: str = "mean"  # how numbers are put together: "mean", "sum" or "geometric"
    single: bool = True  # whether it is printed per query
    since: int = 9  # version

    @property
    def symbolic(self) -> bool:
        """Whether it is a graph that the core runs; otherwise it reads arrays."""
        return self.over in ("qrels", "qrels_jg") and self.kind != "text"


def parameters(measure: Measure, text: str | None) -> Params:
    """Read a measure's parameters from the command line."""
    if text is None or not measure.form:
        return measure.params
    parts = text.split(",")
    if measure.form == "numbers":
        return tuple(map(real, parts))
    if measure.form == "pairs":
        if any(part.count("=") != 1 for part in parts):
            raise MeasureParameterError(f"malformed pair parameters in '{text}'")
        return tuple((name, real(value)) for name, value in (part.split("=") for part in parts))
    cuts = sorted(map(whole if measure.form == "cuts" else real, parts))
    if measure.form == "cuts" and cuts[0] <= 0:
        raise MeasureParameterError("Negative cutoff detected")
    if len(set(cuts)) < len(cuts):
        raise MeasureParameterError("duplicate cutoffs detected")
    return tuple(cuts)


def value_names(measure: Measure, params: Params, text: str | None) -> list[str]:
    """Names of the values."""
    if measure.form == "cuts":
        return [f"{measure.name}_{cut}" for cut in params]
    if measure.form == "shares":
        return [f"{measure.name}_{share:3.2f}"[: len(measure.name) + 9] for share in params]
    return [measure.name if text is None or not measure.form else f"{measure.name}_{text}"]


# -- arithmetic ----------------------------------------------------------------------------------------------


def _engine(metric: Metric, **choices: Any) -> Graphs:
    """A metric of rankstone with the same definition as in trec_eval, once per cutoff."""

    def calculate(lists: SymbolicLists, params: Params) -> list[Expression]:
        cuts = [{"k": k} for k in params] or [{}]
        ratios = [metric.declaration.function(lists, **cut, **choices) for cut in cuts]
        return [lists.ratio(ratio.numerator, ratio.denominator) for ratio in ratios]

    return calculate


def _each(function: Callable[..., Any]) -> Callable[[Any, Params], list[Any]]:
    """A measure of one value."""
    return lambda state, params: [function(state, *params)]


def _geometric(calculate: Graphs) -> Graphs:
    """The logarithms of a measure's values."""
    return lambda lists, params: [
        lists.log(lists.maximum(value, LOWEST_GEOMETRIC)) for value in calculate(lists, params)
    ]


# -- counts and sets -----------------------------------------------------------------------------------------


def _utility(lists: SymbolicLists, *worth: float) -> Expression:
    if len(worth) != 4:
        raise MeasureParameterError("utility takes four coefficients")
    hits, retrieved, relevant = lists.hits(), lists.retrieved, lists.relevant
    return (
        worth[0] * hits
        + worth[1] * (retrieved - hits)
        + worth[2] * (relevant - hits)
        + worth[3] * (lists.setup.collection + hits - retrieved - relevant)
    )


def _set_map(lists: SymbolicLists) -> Expression:
    return lists.ratio(lists.hits() * lists.hits(), lists.retrieved * lists.relevant)


def _set_f(lists: SymbolicLists, weight: float, *_: float) -> Expression:
    """`f` with the weight itself: its beta would be a root, taken and squared again, which is another last digit."""
    p, r = _PRECISION(lists, ())[0], _RECALL(lists, ())[0]
    return lists.ratio((weight + 1.0) * p * r, weight * p + r)


def _rprec_mult(lists: SymbolicLists, multiples: Params) -> list[Expression]:
    cuts = [lists.maximum(lists.floor(multiple * lists.relevant + 0.9), 0.0) for multiple in multiples]
    return _PRECISION(lists, tuple(cuts))


def _unjudged(lists: SymbolicLists, cuts: Params) -> list[Expression]:
    judged = lists.number(lists.grade >= 0)
    return [(lists.places(k, "min(k,retrieved)") - lists.sum(judged, k)) / k for k in cuts]


def _relstring(ranked: Alignment, length: float, *_: float) -> list[str]:
    """The grades of the first documents, a character each."""
    places = max(int(length), 0)
    out = [["-"] * count for count in np.minimum(ranked.retrieved, places).tolist()]
    inside = ranked.rank <= places
    for query, rank, grade in zip(
        *(column[inside].tolist() for column in (ranked.query, ranked.rank, ranked.grade)), strict=True
    ):
        out[query][rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(int(grade))
    return list(map("".join, out))


# -- precision and recall ------------------------------------------------------------------------------------


def _iprec(lists: SymbolicLists, shares: Params) -> list[Expression]:
    return [_interpolated(lists, share) for share in shares]


def _interpolated(lists: SymbolicLists, share: float) -> Expression:
    """`iprec`, for any number as a share of the relevant documents; 0 / 0 where nothing was retrieved."""

    def calculate() -> Expression:
        rounding = "floor(x+0.9)" if lists.setup.version < 10 else "round(x)"
        ratio = iprec.declaration.function(lists, recall=min(max(share, 0.0), 1.0), recall_rounding=rounding)
        needed = _needed(lists, share)
        value = lists.where(needed > lists.relevant, 0.0, ratio.numerator)
        return lists.where((needed <= 0) & (lists.retrieved == 0), math.nan, value)

    return lists.remember(("interpolated", share), calculate)


def _needed(lists: SymbolicLists, share: float) -> Expression:
    """How many documents a share of the relevant ones is: rounded, and in version 9 almost always rounded up."""
    return lists.floor(share * lists.relevant + (0.9 if lists.setup.version < 10 else 0.5))


def _eleven_points(lists: SymbolicLists, shares: Params) -> list[Expression]:
    """Their mean, added up from the last share. A share above one behind it that was found (they come in any order)
    has the highest precision of all, and so have all before it."""
    total, lowest, stuck = lists.per_query(0.0), lists.per_query(math.inf), lists.number(False)
    for share in reversed(shares):
        needed = _needed(lists, share)
        stuck = stuck | (needed > lowest)
        lowest = lists.where(needed <= lists.hits(), lists.minimum(lowest, needed), lowest)
        total = total + lists.where(stuck, _interpolated(lists, 0.0), _interpolated(lists, share))
    return [total / len(shares)]


def _infap(lists: SymbolicLists) -> Expression:
    """`infap` with the terms in C's order, which is another last digit."""
    earlier = lists.rank - 1.0
    relevant, bad = lists.relevant_so_far - 1.0, lists.nonrelevant_so_far
    pooled = relevant + bad + lists.running(lists.grade < 0)
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    terms = 1.0 / lists.rank + (earlier / lists.rank) * (pooled / lists.maximum(earlier, 1.0)) * estimate
    return lists.ratio(lists.sum(lists.where(lists.credit > 0, terms, 0.0)), lists.relevant)


def _yaap(lists: SymbolicLists) -> Expression:
    total = ap.declaration.function(lists).numerator
    return lists.log((1.0 + total) / (1.0 + lists.relevant - total))


# -- gains ---------------------------------------------------------------------------------------------------


def _dcg(lists: SymbolicLists) -> Any:
    return dcg.declaration.function(lists, negative="signed").numerator


def _ndcg_rel(lists: SymbolicLists, *pairs: Any) -> Expression:
    """nDCG at each relevant document, averaged; a document not retrieved has the value at the end of the list."""
    lists = lists.valued(pairs)
    ideal = lists.best()
    actual, best = _running_dcg(lists), lists.at(ideal, _running_dcg(ideal), lists.rank)
    gainful = lists.grade > 0
    end = ndcg.declaration.function(lists, negative="signed")
    total = lists.sum(lists.where(gainful, actual / best, 0.0))
    total = total + (lists.judged - lists.sum(gainful)) * end.numerator / end.denominator
    return lists.where(total > 0, total / lists.judged, 0.0)


def _rndcg(lists: SymbolicLists, *pairs: Any) -> Expression:
    """nDCG wherever the gain of the best list falls, and at the end of the list, averaged."""
    relevant, lists = lists.relevant, lists.valued(pairs)
    ideal = lists.best()
    last = (ideal.rank == ideal.broadcast(ideal.placed)) | (ideal.grade != ideal.at(ideal, ideal.grade, ideal.rank + 1))
    dcg_so_far = ideal.at(lists, _running_dcg(lists), ideal.upto(lists))
    total = ideal.sum(ideal.where(last, ideal.ratio(dcg_so_far, _running_dcg(ideal)), 0.0))
    beyond = (lists.judged > 0) & (lists.retrieved > lists.judged + 1)
    total = total + lists.where(beyond, _NDCG(lists, ())[0], 0.0)
    points = ideal.sum(last) + beyond
    return lists.where(relevant > 0, lists.where(points > 0, total / points, math.nan), 0.0)


def _running_dcg(lists: SymbolicLists) -> Expression:
    """DCG at the rank of each document."""
    return lists.running(lists.weighed(lists.grade))


def _bin_g(lists: SymbolicLists) -> Expression:
    before = lists.rank - lists.relevant_so_far
    return lists.ratio(lists.sum(lists.where(lists.credit > 0, 1.0 / lists.log2(before + 2.0), 0.0)), lists.relevant)


def _g(lists: SymbolicLists, *pairs: Any) -> Expression:
    """Sum of gains, each over the logarithm of the gain lost so far against the ideal list, over the ideal gain."""
    lists = lists.valued(pairs)
    ideal = lists.best()
    inside = lists.minimum(lists.rank, lists.broadcast(ideal.placed))
    cost = ideal.running(ideal.maximum(ideal.grade, 1.0))
    spent = lists.at(ideal, cost, inside) + (lists.rank - inside)
    terms = lists.grade / lists.log2(2.0 + spent - lists.running(lists.grade))
    return lists.ratio(lists.sum(lists.where(lists.grade != 0, terms, 0.0)), ideal.sum(ideal.grade))


# -- persistence ---------------------------------------------------------------------------------------------


def _persistence(pairs: Pairs) -> float:
    return next((value for name, value in reversed(pairs) if name == "p"), 0.9)


@lru_cache
def _chance(p: float) -> Discount:
    """Probability that a user who continues with probability p reaches a rank."""

    def chance(_: Functions, rank: Floats) -> Floats:
        steps = np.full(int(rank.max(initial=1.0)), p)
        steps[0] = 1.0
        return np.multiply.accumulate(steps)[rank.astype(np.int64) - 1]

    return chance


def _rbp(lists: SymbolicLists, *pairs: Any) -> Expression:
    """`rbp`, for any number as p, and with the terms added up before they are multiplied by 1 - p."""
    lists, p = lists.valued(pairs, scaled=True), _persistence(pairs)
    return (1.0 - p) * lists.discounted(lists.grade, _chance(p))


def _rbp_resid(lists: SymbolicLists, *pairs: Any) -> Expression:
    """How much larger rbp could be if all documents that are not judged were worth most."""
    p, judged = _persistence(pairs), lists.grade >= 0
    rest = lists.discounts_elsewhere(_chance(p), lists.where(judged, lists.rank, 0.0))
    beyond = p * lists.last_discount(_chance(p))
    return lists.where(lists.retrieved > lists.sum(judged), beyond + (1 - p) * rest, 0.0)


# -- the table -----------------------------------------------------------------------------------------------


_SUMMED: dict[str, Any] = {"kind": "count", "mean": "sum"}
_GEOMETRIC: dict[str, Any] = {"mean": "geometric", "single": False}


def _count(name: str, calculate: Callable[[Any], Any], meaning: str) -> Measure:
    return Measure(name, _each(calculate), meaning, **_SUMMED)


def _cut(name: str, metric: Metric, meaning: str, cuts: Params = CUTS, **choices: Any) -> Measure:
    return Measure(name, _engine(metric, **choices), meaning, "cuts", cuts)


def _prefs(name: str, calculate: Callable[..., Any], scope: Scope, meaning: str, **fields: Any) -> Measure:
    return Measure(name, _each(lambda preferences: calculate(preferences, scope)), meaning, over="prefs", **fields)


_AP, _BPREF, _PRECISION, _RECALL = _engine(ap), _engine(bpref), _engine(precision), _engine(recall)
_NDCG = _engine(ndcg, negative="signed")

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("runid", lambda state, params: [None], "run id", over="", kind="text", single=False),
        Measure("num_q", lambda state, params: [None], "queries", over="", kind="count", mean="sum", single=False),
        _count("num_ret", lambda lists: lists.retrieved, "documents retrieved"),
        _count("num_rel", lambda lists: lists.relevant, "relevant documents"),
        _count("num_rel_ret", lambda lists: lists.hits(), "relevant documents retrieved"),
        Measure("map", _AP, "mean average precision"),
        Measure("gm_map", _geometric(_AP), "geometric mean of average precision", **_GEOMETRIC),
        Measure("Rprec", _engine(r_precision), "precision after as many documents as are relevant"),
        Measure("bpref", _BPREF, "how seldom judged non-relevant documents stand above relevant ones"),
        Measure("recip_rank", _engine(rr), "one over the rank of the first relevant document"),
        Measure("iprec_at_recall", _iprec, "interpolated precision at shares of recall", "shares", TENTHS),
        _cut("P", precision, "precision after so many documents"),
        Measure(
            "relstring",
            _each(_relstring),
            "the first documents' grades: - not judged, . left out of a sample, > above 9",
            "numbers",
            (10.0,),
            kind="text",
        ),
        _cut("recall", recall, "recall after so many documents"),
        Measure("infAP", _each(_infap), "average precision estimated from a sample of judgments"),
        Measure("gm_bpref", _geometric(_BPREF), "geometric mean of bpref", **_GEOMETRIC),
        Measure("Rprec_mult", _rprec_mult, "precision after multiples of the relevant documents", "shares", MULTIPLES),
        Measure(
            "utility",
            _each(_utility),
            "worth of retrieved relevant and other documents, and of those left, with these weights",
            "numbers",
            (1.0, -1.0, 0.0, 0.0),
        ),
        Measure("11pt_avg", _eleven_points, "interpolated precision, mean over shares of recall", "numbers", TENTHS),
        Measure("binG", _each(_bin_g), "mean over relevant documents of 1 / log2(2 + others above)"),
        Measure(
            "G", _each(_g), "gain discounted by the further gain of the ideal ranking, divided by all gain", "pairs"
        ),
        Measure(
            "dcg",
            _each(lambda lists, *pairs: _dcg(lists.valued(pairs))),
            "discounted cumulative gain",
            "pairs",
            since=10,
        ),
        Measure(
            "ideal_dcg",
            _each(lambda lists, *pairs: _dcg(lists.valued(pairs).best())),
            "discounted cumulative gain of the best list",
            "pairs",
            since=10,
        ),
        Measure(
            "ndcg",
            lambda lists, pairs: _NDCG(lists.valued(pairs), ()),
            "discounted cumulative gain over that of the best list",
            "pairs",
        ),
        Measure("ndcg_rel", _each(_ndcg_rel), "ndcg at each relevant document, averaged", "pairs"),
        Measure("Rndcg", _each(_rndcg), "ndcg wherever the best list's gain falls, averaged", "pairs"),
        _cut("ndcg_cut", ndcg, "ndcg after so many documents"),
        _cut("map_cut", ap, "average precision of so many documents"),
        _cut("relative_P", precision, "precision over the highest possible", divisor="min(k,relevant)"),
        _cut("success", hit_rate, "is there a relevant document among so many", (1, 5, 10)),
        Measure("set_P", _PRECISION, "precision of all that was retrieved"),
        Measure("set_relative_P", _engine(precision, divisor="min(k,relevant)"), "set_P over the highest possible"),
        Measure("set_recall", _RECALL, "recall of all that was retrieved"),
        Measure("set_map", _each(_set_map), "set_P times set_recall"),
        Measure("set_F", _each(_set_f), "harmonic mean of set_P and set_recall", "numbers", (1.0,)),
        _count(
            "num_nonrel_judged_ret",
            lambda lists: lists.sum(lists.judged_nonrelevant),
            "judged non-relevant documents retrieved",
        ),
        _prefs("prefs_num_prefs_poss", Preferences.possible, "all", "preferences there are", **_SUMMED),
        _prefs("prefs_num_prefs_ful", Preferences.fulfilled, "all", "preferences that the order fulfils", **_SUMMED),
        _prefs(
            "prefs_num_prefs_ful_ret", Preferences.fulfilled, "both", "the same, both documents retrieved", **_SUMMED
        ),
        _prefs("prefs_simp", Preferences.share, "all", "share of the preferences fulfilled"),
        _prefs("prefs_pair", Preferences.by_pair, "all", "the same for each pair of documents, averaged"),
        _prefs("prefs_avgjg", Preferences.by_group, "all", "the same for each group of judgments, averaged"),
        _prefs("prefs_avgjg_Rnonrel", Preferences.balanced, "all", "with as many non-relevant as relevant documents"),
        _prefs("prefs_simp_ret", Preferences.share, "both", "prefs_simp, both documents retrieved"),
        _prefs("prefs_pair_ret", Preferences.by_pair, "both", "prefs_pair, both documents retrieved"),
        _prefs("prefs_avgjg_ret", Preferences.by_group, "both", "prefs_avgjg, both documents retrieved"),
        _prefs("prefs_avgjg_Rnonrel_ret", Preferences.balanced, "both", "prefs_avgjg_Rnonrel, both retrieved"),
        _prefs("prefs_simp_imp", Preferences.share, "one", "prefs_simp, one document retrieved or both"),
        _prefs("prefs_pair_imp", Preferences.by_pair, "one", "prefs_pair, one document retrieved or both"),
        _prefs("prefs_avgjg_imp", Preferences.by_group, "one", "prefs_avgjg, one document retrieved or both"),
        Measure("map_avgjg", _AP, "map, mean over groups of judgments", over="qrels_jg"),
        Measure("P_avgjg", _PRECISION, "P, the same", "cuts", CUTS, over="qrels_jg"),
        Measure("Rprec_mult_avgjg", _rprec_mult, "Rprec_mult, the same", "shares", MULTIPLES, "qrels_jg"),
        Measure("yaap", _each(_yaap), "log odds of average precision"),
        Measure("rbp", _each(_rbp), "gain met by a person who goes on with probability p=0.9", "pairs", since=10),
        Measure("rbp_resid", _each(_rbp_resid), "what documents not judged could add to rbp", "pairs", since=10),
        Measure("unj", _unjudged, "share of documents not judged among so many", "cuts", (5, 10, 20), since=10),
    )
}


def _starting(start: str) -> list[str]:
    return [name for name in MEASURES if name.startswith(start)]


_PREFS = _starting("prefs_")

# Names for several measures. They are printed in the order of the table.
NICKNAMES: dict[str, list[str]] = {
    "official": [*list(MEASURES)[: list(MEASURES).index("P") + 1]],
    "set": ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", *_starting("set_")],
    "all_trec": [
        name
        for name, measure in MEASURES.items()
        if measure.over in ("", "qrels") and name not in ("dcg", "ideal_dcg", "yaap")
    ],
    "all_prefs": ["runid", "num_q", *_PREFS],
    "prefs": ["runid", "num_q", *_PREFS[: _PREFS.index("prefs_avgjg") + 1]],
    "qrels_jg": ["runid", "num_q", *(name for name, measure in MEASURES.items() if measure.over == "qrels_jg")],
}
