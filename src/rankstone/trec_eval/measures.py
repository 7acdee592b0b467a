"""trec_eval's measures: one table, in the order in which it prints them."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankstone.align.ranked import Floats, Ints
from rankstone.metrics.pairs import INFAP_EPSILON, bpref
from rankstone.metrics.precision import ap, rr
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import hit_rate, precision, r_precision, recall
from rankstone.trec_eval.files import real, whole
from rankstone.trec_eval.lists import Lists
from rankstone.trec_eval.preferences import Preferences

LOWEST_GEOMETRIC = 0.00001  # a query's value counts as at least this in a geometric mean
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
Params = tuple[Any, ...]
Pairs = tuple[tuple[str, float], ...]


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
        ratios = [metric.row.function(lists, **cut, **choices) for cut in cuts]
        return [_ratio(ratio.numerator, ratio.denominator) for ratio in ratios]

    return calculate


def _each(function: Callable[..., Any]) -> Callable[[Any, Params], list[Any]]:
    """A measure of one value."""
    return lambda state, params: [function(state, *params)]


@functools.lru_cache(maxsize=8)
def _log2_up_to(size: int) -> Floats:
    return np.array([0.0, 0.0, *map(math.log2, range(2, size + 1))])


def _log2(whole_numbers: Ints) -> Floats:
    """The C library's logarithms; NumPy's own may differ in the last digit."""
    deepest = int(whole_numbers.max(initial=2))
    return _log2_up_to(1 << deepest.bit_length())[whole_numbers]


def _sums(query: Ints, values: Floats, count: int) -> Floats:
    """Sum by query, term by term."""
    return np.bincount(query, values, minlength=count).astype(np.float64)


def _offsets(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts)))


def _running(values: Floats, offsets: Ints) -> Floats:
    """Sums from the start of each segment, term by term."""
    out = np.empty(len(values))
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        np.add.accumulate(values[start:stop], out=out[start:stop])
    return out


def _logs(values: Floats) -> Floats:
    return np.array([math.log(max(value, LOWEST_GEOMETRIC)) for value in values.tolist()])


# -- counts and sets -----------------------------------------------------------------------------------------


def _judged(lists: Lists, k: int | None = None) -> Floats:
    """Retrieved documents that are judged, relevant or not."""
    inside = lists.grade >= 0 if k is None else (lists.grade >= 0) & (lists.rank <= k)
    return lists.sum(inside.astype(np.float64))


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
    p, r = _ratio(lists.hits(), lists.retrieved), _ratio(lists.hits(), lists.relevant)
    return _ratio((weight + 1.0) * p * r, weight * p + r)


def _rprec_mult(lists: Lists, multiples: Params) -> list[Floats]:
    cuts = [(multiple * lists.relevant + 0.9).astype(np.int64) for multiple in multiples]
    return [_ratio(lists.hits(cut), np.maximum(cut, 0)) for cut in cuts]


def _unjudged(lists: Lists, cuts: Params) -> list[Floats]:
    return [(np.minimum(k, lists.retrieved) - _judged(lists, k)) / k for k in cuts]


def _relstring(lists: Lists, length: float, *_: float) -> list[str]:
    """The grades of the first documents, a character each."""
    places = max(int(length), 0)
    out = [["-"] * count for count in np.minimum(lists.retrieved, places).tolist()]
    inside = lists.rank <= places
    for query, rank, grade in zip(
        *(column[inside].tolist() for column in (lists.query, lists.rank, lists.grade)), strict=True
    ):
        out[query][rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(int(grade))
    return ["".join(one) for one in out]


# -- precision and recall ------------------------------------------------------------------------------------


def _interpolated(lists: Lists, shares: Params) -> list[Floats]:
    """For each share of the relevant documents the highest precision from where it is found on; the last share first.

    A share that was not found has 0. One that is no share, or is larger than one after it (only 11pt_avg takes
    shares in any order), has the highest precision of all, and so have those before it.
    """
    relevant = lists.credit > 0
    query, precisions = lists.query[relevant], lists.relevant_so_far[relevant] / lists.rank[relevant]
    found = np.bincount(query, minlength=len(lists))
    starts = _offsets(found)
    best = np.append(precisions, 0.0)
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        best[start:stop] = np.maximum.accumulate(precisions[start:stop][::-1])[::-1]
    none = np.where(lists.retrieved > 0, 0.0, np.nan)  # 0 found of 0 retrieved
    highest = np.where(found > 0, best[starts[:-1]], none)
    begun, stuck = np.zeros(len(lists), dtype=bool), np.zeros(len(lists), dtype=bool)
    down_to, values = found, []
    for share in reversed(shares):
        needed = _needed(lists, share)
        begun |= needed <= found
        stuck |= begun & ((needed <= 0) | (needed > down_to))
        down_to = np.where(begun, np.minimum(needed, down_to), down_to)
        at = np.where(begun & ~stuck, starts[:-1] + needed - 1, len(best) - 1)
        values.append(np.where(stuck, highest, best[at]))
    return values


def _needed(lists: Lists, share: float) -> Ints:
    """How many documents a share of the relevant ones is: rounded, and in version 9 almost always rounded up."""
    exact = share * lists.relevant
    if lists.setup.version < 10:
        return np.trunc(exact + 0.9).astype(np.int64)
    below = np.trunc(exact)
    return (below + np.copysign(np.abs(exact - below) >= 0.5, exact)).astype(np.int64)


def _eleven_points(lists: Lists, shares: Params) -> list[Floats]:
    total = np.zeros(len(lists))
    for value in _interpolated(lists, shares):
        total = total + value
    return [total / len(shares)]


def _infap(lists: Lists) -> Floats:
    """Average precision estimated from a sample of judgments; rankstone's `infap` with the terms in C's order."""
    earlier = lists.rank - 1.0
    relevant, bad = lists.relevant_so_far - 1.0, lists.running(((lists.grade >= 0) & (lists.credit == 0)).astype(np.float64))
    pooled = relevant + bad + lists.running((lists.grade < 0).astype(np.float64))
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    share = pooled / np.maximum(earlier, 1.0)
    terms = 1.0 / (earlier + 1.0) + (earlier / (earlier + 1.0)) * share * estimate
    return _ratio(lists.sum(np.where(lists.credit > 0, terms, 0.0)), lists.relevant)


def _yaap(lists: Lists) -> Floats:
    total = ap.row.function(lists).numerator
    return np.array([math.log(value) for value in ((1.0 + total) / (1.0 + lists.relevant - total)).tolist()])


# -- gains ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gains:
    """What the retrieved documents are worth, and what the best list's are, down to the last one worth anything."""

    query: Ints
    rank: Ints
    gain: Floats
    ideal: Floats
    counts: Ints  # of the ideal list, by query

    @property
    def starts(self) -> Ints:
        return _offsets(self.counts)

    @property
    def ideal_query(self) -> Ints:
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def ideal_rank(self) -> Ints:
        return np.arange(1, len(self.ideal) + 1) - np.repeat(self.starts[:-1], self.counts)

    def sum(self, values: Floats) -> Floats:
        return _sums(self.query, values, len(self.counts))

    def discounted(self) -> Floats:
        return self.gain / _log2(self.rank + 1)

    def ideal_discounted(self) -> Floats:
        return self.ideal / _log2(self.ideal_rank + 1)

    def ideal_sum(self, values: Floats) -> Floats:
        return _sums(self.ideal_query, values, len(self.counts))

    def running(self, values: Floats) -> Floats:
        return _running(values, _offsets(np.bincount(self.query, minlength=len(self.counts))))


def _gains(lists: Lists, pairs: Pairs) -> Gains:
    return lists.remember(("gains", pairs), lambda: _given_gains(lists, pairs) if pairs else _graded_gains(lists))


def _graded_gains(lists: Lists) -> Gains:
    """A document is worth its grade."""
    worth = lists.ideal_grades > 0
    counts = np.bincount(lists.owner[worth], minlength=len(lists))
    return Gains(lists.query, lists.rank, np.maximum(lists.grade, 0.0), lists.ideal_grades[worth], counts)


def _given_gains(lists: Lists, pairs: Pairs) -> Gains:
    """Some grades are worth something else; -1 stands for documents that are not judged."""
    given = _levels(lists, pairs)
    query, rank, grade = lists.query, lists.rank, np.where(lists.grade < 0, -2.0, lists.grade)
    if any(level < 0 for level, _ in given):
        query, rank, grade = lists.every_place()
    starts = np.searchsorted(query, np.arange(len(lists) + 1)).tolist()
    gain, ideal, counts = np.zeros(len(grade)), [], []
    for one, (start, stop) in enumerate(itertools.pairwise(starts)):
        levels = _sorted_levels(given, lists.ideal_grades[lists.truth_offsets[one] : lists.truth_offsets[one + 1]])
        worth = {level: gain for level, gain, _ in reversed(levels)}
        gain[start:stop] = [worth.get(level, 0.0) for level in grade[start:stop].tolist()]
        best = _best(levels)
        ideal.extend(best)
        counts.append(len(best))
    return Gains(query, rank, gain, np.array(ideal, dtype=np.float64), np.array(counts, dtype=np.int64))


def _levels(lists: Lists, pairs: Pairs) -> list[tuple[int, float]]:
    """The grades among the parameters; version 10 leaves out what is not a number, such as rbp's p."""
    if lists.setup.version >= 10:
        pairs = tuple(pair for pair in pairs if re.fullmatch(r"[+-]?\d+", pair[0]))
    return [(whole(name), gain) for name, gain in pairs]


def _sorted_levels(given: list[tuple[int, float]], grades: Floats) -> list[tuple[int, float, int]]:
    """Each grade, its gain and how many documents have it, by gain."""
    counts = np.bincount(grades[grades >= 0].astype(np.int64)).tolist()
    levels = []
    for at, (level, gain) in enumerate(given):
        again = any(level == before for before, _ in given[:at])
        levels.append((level, gain, counts[level] if 0 <= level < len(counts) and not again else 0))
    known = {level for level, _ in given}
    levels += [(level, float(level), count) for level, count in enumerate(counts) if level not in known]
    return _merge_sorted(levels)


def _merge_sorted(levels: list[tuple[int, float, int]]) -> list[tuple[int, float, int]]:
    """trec_eval calls gains equal that differ by less than 1, so the way of sorting decides where they end up."""
    if len(levels) < 2:
        return levels
    middle = len(levels) // 2
    left, right = _merge_sorted(levels[:middle]), _merge_sorted(levels[middle:])
    merged = []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right


def _best(levels: list[tuple[int, float, int]]) -> list[float]:
    """Gains of the best list, down to the first that is not above 0."""
    best: list[float] = []
    if not levels or levels[-1][1] <= 0:
        return best
    for _, gain, count in reversed(levels):
        if count and gain <= 0:
            break
        best += [gain] * count
    return best


def _dcg(lists: Lists, *pairs: Any) -> Floats:
    gains = _gains(lists, pairs)
    return gains.sum(gains.discounted())


def _ideal_dcg(lists: Lists, *pairs: Any) -> Floats:
    gains = _gains(lists, pairs)
    return gains.ideal_sum(gains.ideal_discounted())


def _ndcg(lists: Lists, *pairs: Any) -> Floats:
    return _ratio(_dcg(lists, *pairs), _ideal_dcg(lists, *pairs))


def _ndcg_cut(lists: Lists, cuts: Params) -> list[Floats]:
    gains = _gains(lists, ())
    found, best = gains.discounted(), gains.ideal_discounted()
    return [
        _ratio(
            gains.sum(np.where(gains.rank <= k, found, 0.0)),
            gains.ideal_sum(np.where(gains.ideal_rank <= k, best, 0.0)),
        )
        for k in cuts
    ]


def _ndcg_rel(lists: Lists, *pairs: Any) -> Floats:
    """nDCG at each relevant document, averaged; one that was not retrieved has that of the end of the list."""
    gains = _gains(lists, pairs)
    found, best = gains.running(gains.discounted()), np.append(_running(gains.ideal_discounted(), gains.starts), 0.0)
    worth = (gains.gain > 0) & (gains.counts[gains.query] > 0)
    depth = np.minimum(gains.rank, gains.counts[gains.query])
    ratios = _ratio(found, best[np.where(worth, gains.starts[gains.query] + depth - 1, -1)])
    retrieved = gains.sum(worth.astype(np.float64))
    total = gains.sum(np.where(worth, ratios, 0.0))
    total = total + _ratio((gains.counts - retrieved) * _dcg(lists, *pairs), _ideal_dcg(lists, *pairs))
    return np.where(total > 0, _ratio(total, gains.counts), 0.0)


def _rndcg(lists: Lists, *pairs: Any) -> Floats:
    """nDCG wherever the gain of the best list falls, and at the end of the list, averaged."""
    gains = _gains(lists, pairs)
    found, best = gains.running(gains.discounted()), _running(gains.ideal_discounted(), gains.starts)
    last = np.ones(len(gains.ideal), dtype=bool)
    last[:-1] = (gains.ideal[1:] != gains.ideal[:-1]) | (gains.ideal_query[1:] != gains.ideal_query[:-1])
    query, depth = gains.ideal_query[last], gains.ideal_rank[last]
    deepest = int(max(gains.rank.max(initial=0), depth.max(initial=0))) + 1
    upto = np.searchsorted(gains.query * deepest + gains.rank, query * deepest + depth, side="right")
    some = upto > np.searchsorted(gains.query, query)
    dcg = np.where(some, np.append(found, 0.0)[upto - 1], 0.0)
    total = np.bincount(query, _ratio(dcg, best[last]), minlength=len(lists))
    points = np.bincount(query, minlength=len(lists))
    beyond = (gains.counts > 0) & (lists.retrieved > gains.counts + 1)
    total = total + np.where(beyond, _ndcg(lists, *pairs), 0.0)
    points = points + beyond
    value = np.divide(total, points, out=np.full(len(lists), np.nan), where=points > 0)
    return np.where(lists.relevant > 0, value, 0.0)


def _bin_g(lists: Lists) -> Floats:
    worth = lists.credit > 0
    before = np.where(worth, lists.rank - lists.relevant_so_far, 0.0).astype(np.int64)
    return _ratio(lists.sum(np.where(worth, 1.0 / _log2(before + 2), 0.0)), lists.relevant)


def _g(lists: Lists, *pairs: Any) -> Floats:
    """Gain over the logarithm of what the best list would have earned more by then, over all there was to earn."""
    gains = _gains(lists, pairs)
    cost = np.append(_running(np.maximum(gains.ideal, 1.0), gains.starts), 0.0)
    counts, starts = gains.counts[gains.query], gains.starts[gains.query]
    inside = np.minimum(gains.rank, counts)
    spent = np.where(inside > 0, cost[starts + inside - 1], 0.0) + (gains.rank - inside)
    behind = 2 + spent - gains.running(gains.gain)
    worth = gains.gain != 0
    logs = np.array([math.log2(one) if one > 0 else math.nan for one in behind[worth].tolist()])
    terms = np.zeros(len(gains.gain))
    with np.errstate(divide="ignore"):  # a gain that the best list does not have, at the top
        terms[worth] = gains.gain[worth] / logs
    return _ratio(gains.sum(terms), gains.ideal_sum(gains.ideal))


# -- persistence ---------------------------------------------------------------------------------------------


def _persistence(pairs: Pairs, deepest: int) -> tuple[float, Floats]:
    """How likely a person goes on, and how likely to have come to each rank from 1 (and one beyond the last)."""
    p = next((value for name, value in reversed(pairs) if name == "p"), 0.9)
    return p, np.multiply.accumulate(np.concatenate(([1.0], np.full(deepest, p))))


def _rbp(lists: Lists, *pairs: Any) -> Floats:
    gains = _gains(lists, pairs if _levels(lists, pairs) else ())
    p, chance = _persistence(pairs, int(gains.rank.max(initial=0)))
    lowest, highest = _gain_bounds(lists, pairs)
    spread = np.where((lowest < 0) | (highest > 1), highest - lowest, 1.0)[gains.query]
    shift = np.where((lowest < 0) | (highest > 1), lowest, 0.0)[gains.query]
    return (1.0 - p) * gains.sum((gains.gain - shift) / spread * chance[gains.rank - 1])


def _gain_bounds(lists: Lists, pairs: Pairs) -> tuple[Floats, Floats]:
    """Lowest and highest gain of a query's grades, 0 included."""
    given = dict(reversed(_levels(lists, pairs)))
    top = np.zeros(len(lists))
    np.maximum.at(top, lists.owner, lists.ideal_grades)
    if not given:
        return np.zeros(len(lists)), top
    worths = [[*given.values(), 0.0, *(g for g in range(int(one) + 1) if g not in given)] for one in top.tolist()]
    return np.array([min(one) for one in worths]), np.array([max(one) for one in worths])


def _rbp_resid(lists: Lists, *pairs: Any) -> Floats:
    """How much larger rbp could be if all documents that are not judged were worth most."""
    query, rank, grade = lists.every_place()
    p, chance = _persistence(pairs, int(lists.retrieved.max(initial=0)))
    unknown = grade < 0
    rest = np.bincount(query[unknown], chance[rank[unknown] - 1], minlength=len(lists))
    some = np.bincount(query[unknown], minlength=len(lists)) > 0
    return np.where(some, chance[lists.retrieved] + (1 - p) * rest, 0.0)


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
        return [_ratio(np.bincount(state.query, one, minlength=state.count), groups) for one in values]

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


_AP = _engine(ap)
_BPREF = _engine(bpref)

MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
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
            lambda lists, shares: _interpolated(lists, shares)[::-1],
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
        Measure("ndcg_cut", _ndcg_cut, "ndcg after so many documents", "cuts", CUTS),
        _cut("map_cut", ap, "average precision of so many documents"),
        _cut("relative_P", precision, "precision over the highest possible", divisor="min(k,relevant)"),
        _cut("success", hit_rate, "is there a relevant document among so many", (1, 5, 10)),
        Measure("set_P", _engine(precision), "precision of all that was retrieved"),
        Measure("set_relative_P", _engine(precision, divisor="min(k,relevant)"), "set_P over the highest possible"),
        Measure("set_recall", _engine(recall), "recall of all that was retrieved"),
        Measure("set_map", _each(_set_map), "set_P times set_recall"),
        Measure("set_F", _each(_set_f), "harmonic mean of set_P and set_recall", "numbers", (1.0,)),
        _count(
            "num_nonrel_judged_ret",
            lambda lists: _judged(lists) - lists.hits(),
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
        Measure("P_avgjg", _over_groups(_engine(precision)), "P, the same", "cuts", CUTS, over="qrels_jg"),
        Measure("Rprec_mult_avgjg", _over_groups(_rprec_mult), "Rprec_mult, the same", "shares", MULTIPLES, "qrels_jg"),
        Measure("yaap", _each(_yaap), "log odds of average precision"),
        Measure("rbp", _each(_rbp), "gain met by a person who goes on with probability p=0.9", "pairs", since=10),
        Measure("rbp_resid", _each(_rbp_resid), "what documents not judged could add to rbp", "pairs", since=10),
        Measure("unj", _unjudged, "share of documents not judged among so many", "cuts", (5, 10, 20), since=10),
    )
}

_PREFS = [name for name in MEASURES if name.startswith("prefs_")]

# Names for several measures. They are printed in the order of the table.
NICKNAMES: dict[str, list[str]] = {
    "official": [*list(MEASURES)[: list(MEASURES).index("P") + 1]],
    "set": [
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_recall",
        "set_relative_P",
        "set_map",
        "set_F",
    ],
    "all_trec": [
        name for name, one in MEASURES.items() if one.over in ("", "qrels") and name not in ("dcg", "ideal_dcg", "yaap")
    ],
    "all_prefs": ["runid", "num_q", *_PREFS],
    "prefs": ["runid", "num_q", *_PREFS[: _PREFS.index("prefs_avgjg") + 1]],
    "qrels_jg": ["runid", "num_q", *(name for name, one in MEASURES.items() if one.over == "qrels_jg")],
}
