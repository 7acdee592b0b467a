"""trec_eval's measures: one table, in the order in which it prints them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankstone.align.ranked import Floats, Ints, Ranked, lengths
from rankstone.metrics.gains import DISCOUNTS, dcg, ndcg
from rankstone.metrics.pairs import INFAP_EPSILON, bpref
from rankstone.metrics.precision import ap, iprec, rr
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import hit_rate, precision, r_precision, recall
from rankstone.trec_eval.files import real, whole
from rankstone.trec_eval.gains import Pairs, valued
from rankstone.trec_eval.lists import Lists, log2_of
from rankstone.trec_eval.preferences import Preferences

LOWEST_GEOMETRIC = 0.00001  # a query's value counts as at least this in a geometric mean
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
Params = tuple[Any, ...]


class BadParameters(ValueError):  # noqa: N818  it says what is the matter
    """Parameters that a measure does not take."""


@dataclass(frozen=True)
class Measure:
    """One measure: what it is called, what it reads, how its values are computed, printed and averaged."""

    name: str
    calculate: Callable[[Any, Params], Sequence[Any]]  # one array of a value a query, for each of the names
    meaning: str
    form: str = ""  # of its parameters: "" for none, "cuts", "shares" (one value each), "numbers", "pairs" (one value)
    params: Params = ()
    over: str = "qrels"  # what it reads: "qrels", "qrels_jg" or "prefs" with the results; "" for the results alone
    kind: str = "float"  # how a value is printed: "float", "count" or "text"
    mean: str = "mean"  # how numbers are put together: "mean", "sum" or "geometric"
    single: bool = True  # is it printed for each query
    since: int = 9  # version


def parameters(measure: Measure, text: str | None) -> Params:
    """Read a measure's parameters from the command line."""
    if text is None or not measure.form:
        return measure.params
    parts = text.split(",")
    if measure.form == "numbers":
        return tuple(map(real, parts))
    if measure.form == "pairs":
        if any(part.count("=") != 1 for part in parts):
            raise BadParameters(f"malformed pair parameters in '{text}'")
        return tuple((name, real(value)) for name, value in (part.split("=") for part in parts))
    cuts = sorted(map(whole if measure.form == "cuts" else real, parts))
    if measure.form == "cuts" and cuts[0] <= 0:
        raise BadParameters("Negative cutoff detected")
    if len(set(cuts)) < len(cuts):
        raise BadParameters("duplicate cutoffs detected")
    return tuple(cuts)


def value_names(measure: Measure, params: Params, text: str | None) -> list[str]:
    """What the values are called."""
    if measure.form == "cuts":
        return [f"{measure.name}_{cut}" for cut in params]
    if measure.form == "shares":
        return [f"{measure.name}_{share:3.2f}"[: len(measure.name) + 9] for share in params]
    return [measure.name if text is None or not measure.form else f"{measure.name}_{text}"]


# -- arithmetic ----------------------------------------------------------------------------------------------


def _ratio(earned: Any, possible: Any) -> Floats:
    """Earned over possible; 0 where nothing was possible."""
    earned, possible = np.broadcast_arrays(np.asarray(earned, dtype=np.float64), possible)
    return np.divide(earned, possible, out=np.zeros(len(earned)), where=possible != 0)


def _engine(metric: Metric, **choices: Any) -> Callable[[Lists, Params], list[Floats]]:
    """A metric of rankstone's, the same in trec_eval; with cutoffs, once for each of them."""

    def calculate(lists: Lists, params: Params) -> list[Floats]:
        cuts = [{"k": k} for k in params] or [{}]
        ratios = [metric.declaration.function(lists, **cut, **choices) for cut in cuts]
        return [_ratio(ratio.numerator, ratio.denominator) for ratio in ratios]

    return calculate


def _each(function: Callable[..., Any]) -> Callable[[Any, Params], list[Any]]:
    """A measure of one value."""
    return lambda state, params: [function(state, *params)]


def _logs(values: Floats) -> Floats:
    return np.array([math.log(max(value, LOWEST_GEOMETRIC)) for value in values.tolist()])


# -- counts and sets -----------------------------------------------------------------------------------------


def _utility(lists: Lists, *worth: float) -> Floats:
    if len(worth) != 4:
        raise BadParameters("utility takes four coefficients")
    found, retrieved, relevant = lists.hits(), lists.retrieved, lists.relevant
    return (
        worth[0] * found
        + worth[1] * (retrieved - found)
        + worth[2] * (relevant - found)
        + worth[3] * (lists.setup.collection + found - retrieved - relevant)
    )


def _set_map(lists: Lists) -> Floats:
    return _ratio(lists.hits() * lists.hits(), lists.retrieved * lists.relevant)


def _set_f(lists: Lists, weight: float, *_: float) -> Floats:
    """`f` with the weight itself: its beta would be a root, taken and squared again, which is another last digit."""
    p, r = _PRECISION(lists, ())[0], _RECALL(lists, ())[0]
    return _ratio((weight + 1.0) * p * r, weight * p + r)


def _rprec_mult(lists: Lists, multiples: Params) -> list[Floats]:
    cuts = [np.maximum(np.trunc(multiple * lists.relevant + 0.9), 0.0) for multiple in multiples]
    return _PRECISION(lists, tuple(cuts))


def _unjudged(lists: Lists, cuts: Params) -> list[Floats]:
    judged = lists.number(lists.grade >= 0)
    return [(lists.places(k, "min(k,retrieved)") - lists.sum(judged, k)) / k for k in cuts]


def _relstring(lists: Lists, length: float, *_: float) -> list[str]:
    """The grades of the first documents, a character each."""
    places = max(int(length), 0)
    out = [["-"] * count for count in np.minimum(lists.retrieved, places).tolist()]
    inside = lists.rank <= places
    for query, rank, grade in zip(
        *(column[inside].tolist() for column in (lists.query, lists.rank, lists.grade)), strict=True
    ):
        out[query][rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(int(grade))
    return list(map("".join, out))


# -- precision and recall ------------------------------------------------------------------------------------


def _interpolated(lists: Lists, share: float) -> Floats:
    """`iprec`, for any number as a share of the relevant documents; 0 / 0 where nothing was retrieved."""

    def calculate() -> Floats:
        rounding = "floor(x+0.9)" if lists.setup.version < 10 else "round(x)"
        ratio = iprec.declaration.function(lists, recall=min(max(share, 0.0), 1.0), recall_rounding=rounding)
        needed = _needed(lists, share)
        value = np.where(needed > lists.relevant, 0.0, ratio.numerator)
        return np.where((needed <= 0) & (lists.retrieved == 0), np.nan, value)

    return lists.remember(("interpolated", share), calculate)


def _needed(lists: Lists, share: float) -> Floats:
    """How many documents a share of the relevant ones is: rounded, and in version 9 almost always rounded up."""
    return np.floor(share * lists.relevant + (0.9 if lists.setup.version < 10 else 0.5))


def _eleven_points(lists: Lists, shares: Params) -> list[Floats]:
    """Their mean, added up from the last share. A share above one behind it that was found (they come in any order)
    has the highest precision of all, and so have all before it."""
    total, lowest, stuck = np.zeros(len(lists)), np.full(len(lists), np.inf), np.zeros(len(lists), dtype=bool)
    for share in reversed(shares):
        needed = _needed(lists, share)
        stuck |= needed > lowest
        lowest = np.where(needed <= lists.hits(), np.minimum(lowest, needed), lowest)
        total = total + np.where(stuck, _interpolated(lists, 0.0), _interpolated(lists, share))
    return [total / len(shares)]


def _infap(lists: Lists) -> Floats:
    """`infap` with the terms in C's order, which is another last digit."""
    earlier = lists.rank - 1.0
    relevant, bad = lists.relevant_so_far - 1.0, lists.bad_so_far
    pooled = relevant + bad + lists.running(lists.number(lists.grade < 0))
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    terms = 1.0 / lists.rank + (earlier / lists.rank) * (pooled / np.maximum(earlier, 1.0)) * estimate
    return _ratio(lists.sum(np.where(lists.credit > 0, terms, 0.0)), lists.relevant)


def _yaap(lists: Lists) -> Floats:
    total = ap.declaration.function(lists).numerator
    return np.array([math.log(value) for value in ((1.0 + total) / (1.0 + lists.relevant - total)).tolist()])


# -- gains ---------------------------------------------------------------------------------------------------


def _dcg(lists: Lists, *pairs: Any) -> Floats:
    return dcg.declaration.function(valued(lists, pairs), negative="signed").numerator


def _ideal_dcg(lists: Lists, *pairs: Any) -> Floats:
    return dcg.declaration.function(valued(lists, pairs).ideal(), negative="signed").numerator


def _ndcg(lists: Lists, *pairs: Any) -> Floats:
    return _engine(ndcg, negative="signed")(valued(lists, pairs), ())[0]


def _ndcg_rel(lists: Lists, *pairs: Any) -> Floats:
    """nDCG at each relevant document, averaged; one that was not retrieved has that of the end of the list."""
    lists = valued(lists, pairs)
    found, best = _running_dcg(lists), np.append(_running_dcg(lists.ideal()), 0.0)
    worth = lists.grade > 0
    depth = np.minimum(lists.rank, lists.spread(lengths(lists.truth_offsets)))
    at = np.where(depth > 0, lists.spread(lists.truth_offsets[:-1]) + depth - 1, -1)
    end = ndcg.declaration.function(lists, negative="signed")
    with np.errstate(divide="ignore", invalid="ignore"):  # gains that the best list has none of
        total = lists.sum(np.where(worth, found / best[at], 0.0))
        total = total + (lists.judged - lists.sum(lists.number(worth))) * end.numerator / end.denominator
        return np.where(total > 0, total / lists.judged, 0.0)


def _rndcg(lists: Lists, *pairs: Any) -> Floats:
    """nDCG wherever the gain of the best list falls, and at the end of the list, averaged."""
    relevant, lists = lists.relevant, valued(lists, pairs)
    ideal = lists.ideal()
    found, best = np.append(_running_dcg(lists), 0.0), _running_dcg(ideal)
    last = np.ones(len(ideal.grade), dtype=bool)
    last[:-1] = (ideal.grade[1:] != ideal.grade[:-1]) | (ideal.query[1:] != ideal.query[:-1])
    query, depth = ideal.query[last], ideal.rank[last]
    deepest = int(max(lists.rank.max(initial=0), depth.max(initial=0))) + 1
    upto = np.searchsorted(lists.query * deepest + lists.rank, query * deepest + depth, side="right")
    earned = np.where(upto > lists.placed_offsets[query], found[upto - 1], 0.0)
    total = np.bincount(query, _ratio(earned, best[last]), minlength=len(lists))
    points = np.bincount(query, minlength=len(lists))
    beyond = (lists.judged > 0) & (lists.retrieved > lists.judged + 1)
    total = total + np.where(beyond, _engine(ndcg, negative="signed")(lists, ())[0], 0.0)
    points = points + beyond
    value = np.divide(total, points, out=np.full(len(lists), np.nan), where=points > 0)
    return np.where(relevant > 0, value, 0.0)


def _running_dcg(lists: Ranked) -> Floats:
    """What the documents down to each one are worth."""
    discount = DISCOUNTS["log2(rank+1)"]
    return lists.remember("running dcg", lambda: lists.running(lists.weighed(lists.grade, discount)))


def _bin_g(lists: Lists) -> Floats:
    worth = lists.credit > 0
    before = np.where(worth, lists.rank - lists.relevant_so_far, 0.0)
    return _ratio(lists.sum(np.where(worth, 1.0 / log2_of(before + 2), 0.0)), lists.relevant)


def _g(lists: Lists, *pairs: Any) -> Floats:
    """Gain over the logarithm of what the best list would have earned more by then, over all there was to earn."""
    lists = valued(lists, pairs)
    ideal = lists.ideal()
    cost = np.append(ideal.running(np.maximum(ideal.grade, 1.0)), 0.0)
    inside = np.minimum(lists.rank, lists.spread(lengths(lists.truth_offsets)))
    spent = np.where(inside > 0, cost[lists.spread(lists.truth_offsets[:-1]) + inside - 1], 0.0) + (lists.rank - inside)
    behind = 2 + spent - lists.running(lists.grade)
    worth = lists.grade != 0
    terms = np.zeros(len(lists.grade))
    with np.errstate(divide="ignore", invalid="ignore"):  # a gain that the best list does not have, at the top
        terms[worth] = lists.grade[worth] / log2_of(behind[worth])
    return _ratio(lists.sum(terms), ideal.sum(ideal.grade))


# -- persistence ---------------------------------------------------------------------------------------------


def _persistence(pairs: Pairs, deepest: int) -> tuple[float, Floats]:
    """How likely a person goes on, and how likely to have come to each rank from 1 (and one beyond the last)."""
    p = next((value for name, value in reversed(pairs) if name == "p"), 0.9)
    return p, np.multiply.accumulate(np.concatenate(([1.0], np.full(deepest, p))))


def _rbp(lists: Lists, *pairs: Any) -> Floats:
    """`rbp`, for any number as p, and with the terms added up before they are multiplied by 1 - p."""
    lists = valued(lists, pairs, scaled=True)
    p, chance = _persistence(pairs, int(lists.rank.max(initial=0)))
    return (1.0 - p) * lists.sum(lists.grade * chance[lists.rank - 1])


def _rbp_resid(lists: Lists, *pairs: Any) -> Floats:
    """How much larger rbp could be if all documents that are not judged were worth most."""
    deepest = int(lists.retrieved.max(initial=0))
    p, chance = _persistence(pairs, deepest)
    judged = lists.grade >= 0
    query, place = lists.query[judged], lists.rank[judged] - 1
    unknown = lists.retrieved > np.bincount(query, minlength=len(lists))
    rest, step = np.zeros(len(lists)), 128
    for first in range(0, deepest, step):  # so many places of all lists at a time
        places = np.arange(first, min(first + step, deepest))
        terms = np.where(places[:, None] < lists.retrieved, chance[places][:, None], 0.0)
        inside = (place >= first) & (place < first + step)
        terms[place[inside] - first, query[inside]] = 0.0
        terms[0] += rest
        rest = np.add.accumulate(terms)[-1]
        if (rest + chance[places[-1] + 1] == rest)[unknown].all():  # too little to change any sum
            break
    return np.where(unknown, chance[lists.retrieved] + (1 - p) * rest, 0.0)


# -- several judgments of a query ----------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedLists:
    """A query's list under each of its groups of judgments."""

    lists: Lists
    query: Ints  # of each list
    count: int  # of queries


def _over_groups(
    calculate: Callable[[Lists, Params], Sequence[Floats]],
) -> Callable[[JudgedLists, Params], list[Floats]]:
    """The mean over a query's groups."""

    def calculate_mean(state: JudgedLists, params: Params) -> list[Floats]:
        groups = np.bincount(state.query, minlength=state.count)
        values = calculate(state.lists, params)
        return [_ratio(np.bincount(state.query, of_lists, minlength=state.count), groups) for of_lists in values]

    return calculate_mean


# -- the table -----------------------------------------------------------------------------------------------


def _count(name: str, calculate: Callable[[Any], Any], meaning: str, **fields: Any) -> Measure:
    return Measure(name, _each(calculate), meaning, kind="count", mean="sum", **fields)


def _cut(name: str, metric: Metric, meaning: str, cuts: Params = CUTS, **choices: Any) -> Measure:
    return Measure(name, _engine(metric, **choices), meaning, "cuts", cuts)


def _prefs(name: str, calculate: Callable[[Preferences], Any], meaning: str) -> Measure:
    if name.startswith("prefs_num"):
        return _count(name, calculate, meaning, over="prefs")
    return Measure(name, _each(calculate), meaning, over="prefs")


_AP, _BPREF, _PRECISION, _RECALL = _engine(ap), _engine(bpref), _engine(precision), _engine(recall)

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("runid", lambda state, params: [None], "run id", over="", kind="text", single=False),
        Measure("num_q", lambda state, params: [None], "queries", over="", kind="count", single=False),
        _count("num_ret", lambda lists: lists.retrieved, "documents retrieved"),
        _count("num_rel", lambda lists: lists.relevant, "relevant documents"),
        _count("num_rel_ret", lambda lists: lists.hits(), "relevant documents retrieved"),
        Measure("map", _AP, "mean average precision"),
        Measure(
            "gm_map",
            lambda lists, params: [_logs(_AP(lists, params)[0])],
            "geometric mean of average precision",
            mean="geometric",
            single=False,
        ),
        Measure("Rprec", _engine(r_precision), "precision after as many documents as are relevant"),
        Measure("bpref", _BPREF, "how seldom judged non-relevant documents stand above relevant ones"),
        Measure("recip_rank", _engine(rr), "one over the rank of the first relevant document"),
        Measure(
            "iprec_at_recall",
            lambda lists, shares: [_interpolated(lists, share) for share in shares],
            "interpolated precision at shares of recall",
            "shares",
            TENTHS,
        ),
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
        Measure(
            "gm_bpref",
            lambda lists, params: [_logs(_BPREF(lists, params)[0])],
            "geometric mean of bpref",
            mean="geometric",
            single=False,
        ),
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
        Measure("G", _each(_g), "gain, discounted by what the best list earns more, over all gain", "pairs"),
        Measure("dcg", _each(_dcg), "discounted cumulative gain", "pairs", since=10),
        Measure("ideal_dcg", _each(_ideal_dcg), "discounted cumulative gain of the best list", "pairs", since=10),
        Measure("ndcg", _each(_ndcg), "discounted cumulative gain over that of the best list", "pairs"),
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
            lambda lists: lists.sum(lists.judged_bad),
            "judged non-relevant documents retrieved",
        ),
        _prefs("prefs_num_prefs_poss", Preferences.possible, "preferences there are"),
        _prefs("prefs_num_prefs_ful", Preferences.fulfilled, "preferences that the order fulfils"),
        _prefs("prefs_num_prefs_ful_ret", Preferences.fulfilled_ret, "the same, both documents retrieved"),
        _prefs("prefs_simp", Preferences.simple, "share of the preferences fulfilled"),
        _prefs("prefs_pair", Preferences.pair, "the same for each pair of documents, averaged"),
        _prefs("prefs_avgjg", Preferences.average, "the same for each group of judgments, averaged"),
        _prefs("prefs_avgjg_Rnonrel", Preferences.average_balanced, "with as many non-relevant as relevant documents"),
        _prefs("prefs_simp_ret", Preferences.simple_ret, "prefs_simp, both documents retrieved"),
        _prefs("prefs_pair_ret", Preferences.pair_ret, "prefs_pair, both documents retrieved"),
        _prefs("prefs_avgjg_ret", Preferences.average_ret, "prefs_avgjg, both documents retrieved"),
        _prefs("prefs_avgjg_Rnonrel_ret", Preferences.average_balanced_ret, "prefs_avgjg_Rnonrel, both retrieved"),
        _prefs("prefs_simp_imp", Preferences.simple_imp, "prefs_simp, one document retrieved or both"),
        _prefs("prefs_pair_imp", Preferences.pair_imp, "prefs_pair, one document retrieved or both"),
        _prefs("prefs_avgjg_imp", Preferences.average_imp, "prefs_avgjg, one document retrieved or both"),
        Measure("map_avgjg", _over_groups(_AP), "map, mean over groups of judgments", over="qrels_jg"),
        Measure("P_avgjg", _over_groups(_PRECISION), "P, the same", "cuts", CUTS, over="qrels_jg"),
        Measure("Rprec_mult_avgjg", _over_groups(_rprec_mult), "Rprec_mult, the same", "shares", MULTIPLES, "qrels_jg"),
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
