"""Metrics of batches of arrays, (rows, items), in the library and on the device where they live.

`rs.arrays.ndcg(scores, labels, k=10)` takes arrays of NumPy, torch, JAX or CuPy and gives an array of the same kind,
one value a row, by the definitions of `rs.evaluate`. A formula here is a function of a `Batch` and of the metric's
parameters, and answers for all cutoffs at once: with what each row earned, and what it could have earned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankstone.arrays.batch import Array, Batch, Pair
from rankstone.conventions.convention import CHOICES, Convention
from rankstone.conventions.plan import make_plans
from rankstone.errors import NoExpectedValue
from rankstone.metrics.errors import CLIP
from rankstone.metrics.gains import DISCOUNTS, sums_of_discounts
from rankstone.metrics.pairs import INFAP_EPSILON
from rankstone.metrics.registry import Metric, depth, rows


class BatchMetric:
    """A metric of each row of a batch.

    scores, labels: arrays of shape (rows, items) or (items,); `labels_by_rank` instead of both: the labels in predicted
    order, best first. mask: True for a real item; or `lengths`: how many items of each row are real. k: a cutoff, or
    several. Any choice can be made by name, as in `rs.evaluate`.

    The values have shape (rows,), or (rows, cutoffs) where k is a sequence; NaN stands for a row that the mean would
    leave out. They are float64 if the scores or the labels are, float32 if these are narrower, and have no gradient.
    check: raise an error for a NaN score and the like, for which one number is read from the device; if False, such a
    row is NaN.
    """

    def __init__(self, formula: Callable[..., Pair]) -> None:
        self.formula, self.name = formula, formula.__name__
        self.__doc__ = f"{rows()[self.name].summary}\n\n{BatchMetric.__doc__}"

    def __repr__(self) -> str:
        return f"rs.arrays.{self.name}"

    def __call__(
        self,
        scores: Array = None,
        labels: Array = None,
        k: int | Iterable[int] | None = None,
        mask: Array = None,
        *,
        lengths: Array = None,
        labels_by_rank: Array = None,
        convention: str | Convention = "rankstone",
        check: bool = True,
        **choices: Any,
    ) -> Array:
        several = isinstance(k, Iterable)
        ks: list[Any] = [depth(one) for one in k] if isinstance(k, Iterable) else [k]
        if not ks:
            raise ValueError(f"{self.name}: k is an empty sequence")
        for given in choices:
            choice = CHOICES.get(given.removeprefix(f"{self.name}@k_").removeprefix(f"{self.name}_"))
            if choice is not None and choice.stage == "mean":
                raise ValueError(f"{given}= is about the mean over queries, and there is none here; use rs.evaluate")
        one = make_plans(Metric(self.name, ks[0]), convention, choices)[0]
        arguments = dict(one.arguments)
        default = arguments.pop("k", None)
        batch = Batch(one, [default] if ks == [None] else ks, scores, labels, mask, lengths, labels_by_rank, check)
        with np.errstate(all="ignore"):  # what must not be is looked for
            values = batch.checked(_settled(batch, *self.formula(batch, **arguments)), check)
        values = values if several else values[:, 0]
        values = values[0, ...] if batch.flat else values
        return batch.home.from_dlpack(values) if batch.lent else values


def _settled(batch: Batch, earned: Array, possible: Array) -> Array:
    """The values of a ratio, by the choices that come after the formula."""
    xp, choices = batch.xp, batch.plan.choices
    defined = (possible != 0) & (earned == earned)  # of the shape of both
    values = xp.where(defined, earned / xp.where(possible != 0, possible, 1.0), math.nan)
    if choices["short_list"] == "zero" and None not in batch.ks:
        short = batch.size < batch.cutoffs
        values, defined = xp.where(short, 0.0, values), defined | short
    empty = batch.size == 0
    counted = ~(empty & (choices["empty_list"] == "skip" or choices["empty_truth"] == "skip"))
    if choices["empty_list"] == "error":
        batch.fault(empty[:, 0], "the list is empty")
    alone = ~empty if choices["both_empty"] is not None else empty | True
    if choices["both_empty"] is not None:
        values = xp.where(defined | alone, values, float(choices["both_empty"]))
        defined = defined | empty
    undefined = choices["undefined"]
    if undefined == "error" and choices["averaging"] not in ("micro", "pooled"):
        batch.fault(xp.any(~defined & counted, axis=-1), "nothing could be earned")
    elif not isinstance(undefined, str):
        values = xp.where(defined, values, float(undefined))
    elif undefined == "skip":
        counted = counted & defined
    if choices["no_relevant"] is not None:
        none = (batch.relevant == 0) & alone
        if choices["no_relevant"] == "error":
            batch.fault(xp.any(none & counted, axis=-1), "there is no relevant item")
        elif choices["no_relevant"] == "skip":
            counted = counted & ~none
        else:
            values = xp.where(none, float(choices["no_relevant"]), values)
    if choices["query_digits"] is not None:
        values = _rounded(xp, values, choices["query_digits"])
    return xp.where(counted, values, math.nan)


def _rounded(xp: Any, values: Array, digits: int) -> Array:
    return xp.round(values * 10.0**digits) / 10.0**digits


# -- the first k as a set --------------------------------------------------------------------------------------


@BatchMetric
def precision(batch: Batch, divisor: str) -> Pair:
    return batch.hits, batch.extent(divisor)


@BatchMetric
def recall(batch: Batch, divisor: str) -> Pair:
    return batch.hits, _relevant(batch, divisor)


def _relevant(batch: Batch, divisor: str) -> Array:
    if divisor == "grades":
        return batch.sum(batch.xp.clip(batch.labels, 0.0, None))
    return batch.xp.minimum(batch.relevant, batch.cutoffs) if divisor == "min(relevant,k)" else batch.relevant


def _f(batch: Batch, precision_divisor: str, recall_divisor: str, beta: float = 1.0) -> Pair:
    if not beta > 0:
        raise ValueError(f"f: beta must be above 0, not {beta!r}")
    possible = beta**2 * _relevant(batch, recall_divisor) + batch.extent(precision_divisor)
    return (1.0 + beta**2) * batch.hits, possible


@BatchMetric
def f(batch: Batch, **parameters: Any) -> Pair:
    return _f(batch, **parameters)


@BatchMetric
def f1(batch: Batch, **parameters: Any) -> Pair:
    return _f(batch, **parameters)


@BatchMetric
def hit_rate(batch: Batch) -> Pair:
    if batch.expected:
        if batch.plan.relevance.truth_depth == "k":
            raise NoExpectedValue("hit_rate has no closed form over all orders of tied items with truth_depth='k'")
        return 1.0 - _at(batch, batch.none_yet), batch.one
    if batch.plan.relevance.truth_depth == "k":
        return batch.number(batch.hits > 0), batch.one
    return batch.number((batch.first <= batch.cutoffs) & (batch.first < math.inf)), batch.one


def _at(batch: Batch, values: Array) -> Array:
    """The value at each cutoff."""
    return batch.each(lambda k: values[:, min(k or batch.depth, batch.depth) - 1, None])


@BatchMetric
def r_precision(batch: Batch) -> Pair:
    last = batch.xp.floor(batch.relevant)
    credit = batch.credit
    if batch.plan.relevance.truth_depth == "k":
        credit = batch.xp.where(batch.columns < last, credit, 0.0)
    if batch.expected:
        _, within, count = batch.in_group(credit)
        credit = within / count
    return batch.sum(batch.xp.where(batch.rank <= last, credit, 0.0)), batch.relevant


@BatchMetric
def fallout(batch: Batch, catalogue: int | None, among: str) -> Pair:
    if catalogue is not None:
        _fits(batch, catalogue)
        return batch.extent("min(k,retrieved)") - batch.hits, catalogue - batch.relevant
    if among == "list" or batch.listed:
        return batch.extent("min(k,retrieved)") - batch.hits, batch.size - batch.found
    return batch.total(batch.placed(batch.bad)), batch.nonrelevant


def _fits(batch: Batch, catalogue: int) -> None:
    batch.fault(batch.size[:, 0] > catalogue, f"a catalogue of {catalogue} items cannot hold the items")


@BatchMetric
def judged(batch: Batch, divisor: str) -> Pair:
    if batch.listed:
        return batch.extent("min(k,retrieved)"), batch.extent(divisor)
    return batch.total(batch.taken(batch.xp.ones_like(batch.grade))), batch.extent(divisor)


@BatchMetric
def num_ret(batch: Batch) -> Pair:
    return batch.extent("min(k,retrieved)"), batch.one


@BatchMetric
def num_rel(batch: Batch) -> Pair:
    return batch.relevant, batch.one


@BatchMetric
def num_rel_ret(batch: Batch) -> Pair:
    return batch.hits, batch.one


# -- precision down the list -------------------------------------------------------------------------------------


def _ap(batch: Batch, divisor: str, term_digits: int | None = None) -> Pair:
    xp, credit = batch.xp, batch.credit
    if batch.expected:
        if term_digits is not None or divisor == "found" or batch.plan.relevance.credit != "whole":
            raise NoExpectedValue(f"{batch.plan.label} has no closed form over all orders of tied items")
        before, found, count = batch.in_group(credit)
        nth = batch.place - 1 - batch.number(batch.groups[0])  # of the group, from 0
        slope = (found - 1.0) / xp.clip(count - 1.0, 1.0, None)
        terms = found / count * (before + 1.0 + nth * slope) / batch.place
    else:
        if batch.shared:
            before, within, _ = batch.in_group(credit)
            terms = (before + within) / batch.number(batch.rank)
        else:
            terms = xp.cumulative_sum(credit, axis=-1) / batch.place
        terms = (terms if term_digits is None else _rounded(xp, terms, term_digits)) * credit
    return batch.cut(terms, batch.rank if batch.shared else None), _ap_divisor(batch, divisor)


def _ap_divisor(batch: Batch, divisor: str) -> Array:
    if divisor == "none":
        return batch.one
    if divisor == "found":
        return batch.hits
    if divisor == "k":
        return batch.extent("k")
    if divisor == "grades":
        return batch.cut(batch.xp.clip(batch.ideal(), 0.0, None))
    bound = batch.xp.minimum(batch.relevant, batch.size) if "retrieved" in divisor else batch.relevant
    return batch.xp.minimum(bound, batch.cutoffs) if "k" in divisor else bound


@BatchMetric
def ap(batch: Batch, **parameters: Any) -> Pair:
    return _ap(batch, **parameters)


@BatchMetric
def gmap(batch: Batch, **parameters: Any) -> Pair:
    return _ap(batch, **parameters)


@BatchMetric
def rr(batch: Batch, over: str) -> Pair:
    xp = batch.xp
    if over == "all":
        return batch.total(xp.where(batch.credit > 0, batch.grade, 0.0), lambda rank: 1.0 / rank), batch.one
    if batch.expected:
        none = batch.none_yet
        before = xp.concat([xp.ones_like(none[:, :1]), none[:, :-1]], axis=-1)
        return batch.cut((before - none) / batch.place), batch.one
    return xp.where(batch.first <= batch.cutoffs, 1.0 / batch.first, 0.0), batch.one


def _interpolated(batch: Batch, recall: float, needed: str) -> Array:
    """Highest precision where at least this share of the relevant items has been found."""
    xp, relevant = batch.xp, batch.relevant
    if batch.plan.relevance.credit == "whole":  # in double precision: it makes a difference to a share of 0.3
        table = batch.constant(_least(np, recall * np.arange(batch.width + 1.0), needed))
        least = xp.take(table, xp.astype(relevant[:, 0], batch.whole))[:, None]
    else:
        least = _least(xp, recall * relevant, needed)
    nth = xp.cumulative_sum(batch.credit, axis=-1)
    return xp.max(xp.where((batch.credit > 0) & (nth >= least), nth / batch.place, 0.0), axis=-1, keepdims=True)


def _least(xp: Any, share: Array, needed: str) -> Array:
    """How many items such a share is."""
    if needed == "ceil(x)":
        return xp.ceil(_rounded(xp, share, 9))
    return xp.floor(share + (0.9 if needed == "floor(x+0.9)" else 0.5))


@BatchMetric
def iprec(batch: Batch, recall: float, needed: str) -> Pair:
    if not 0 <= recall <= 1:
        raise ValueError(f"iprec: recall must lie between 0 and 1, not {recall!r}")
    return _interpolated(batch, recall, needed), batch.one


@BatchMetric
def iprec11(batch: Batch, needed: str) -> Pair:
    levels = [_interpolated(batch, i / 10, needed) for i in range(11)]
    return batch.sum(batch.xp.concat(levels, axis=-1)) / 11.0, batch.one


# -- gains -------------------------------------------------------------------------------------------------------


def _worth(batch: Batch, grades: Array, gain: Any, negative: str, below: str) -> Array:
    """What items of these grades are worth; those that are not real have grade -inf, and any worth."""
    xp = batch.xp
    if negative == "error":
        batch.fault(batch._any(batch.given < 0), "a grade is negative; choose negative='zero' or 'signed'")
    if gain == "binary":
        values = batch.relevance(grades)
    elif isinstance(gain, tuple):
        values, known = xp.zeros_like(grades), xp.isinf(grades)
        for grade, worth in gain:
            values, known = xp.where(grades == grade, worth, values), known | (grades == grade)
        batch.fault(batch._any(~known), "the gain table lacks an entry for a grade")
    else:
        values = grades
        if gain != "linear":
            match = re.fullmatch(r"exp(\d+(?:\.\d+)?)", gain) if isinstance(gain, str) else None
            if match is None or not float(match[1]) > 1:
                raise ValueError(
                    f"gain {gain!r}; choose from 'linear', 'exp2', 'binary' or a table such as {{0: 0, 1: 3}}"
                )
            values = float(match[1]) ** grades - 1.0
            batch.fault(batch._any(values == math.inf), f"a grade is too large for gain {gain!r}")
        values = xp.clip(values, 0.0, None) if negative == "zero" else values
    return values if below == "gain" else xp.where(batch.relevance(grades) > 0, values, 0.0)


def _gained(batch: Batch, gain: Any, negative: str, below: str, discount: str | None = None) -> Array:
    gains = batch.taken(_worth(batch, batch.taken(batch.grade, -math.inf), gain, negative, below))
    return batch.total(gains, DISCOUNTS[discount] if discount else None)


@BatchMetric
def cg(batch: Batch, **parameters: Any) -> Pair:
    return _gained(batch, **parameters), batch.one


@BatchMetric
def dcg(batch: Batch, **parameters: Any) -> Pair:
    return _gained(batch, **parameters), batch.one


@BatchMetric
def ndcg(batch: Batch, discount: str, ideal: str, ideal_depth: str, ideal_sign: str = "any", **parameters: Any) -> Pair:
    best = _best(batch, discount, ideal, ideal_depth, **parameters)
    earned = _gained(batch, **parameters, discount=discount)
    return earned, batch.xp.clip(best, 0.0, None) if ideal_sign == "positive" else best


def _best(batch: Batch, discount: str, ideal: str, depth: str, gain: Any, negative: str, below: str) -> Array:
    """Discounted gain of the ideal list. All items of a row are in its list: only `ones` look at its length."""
    xp, weigh, ks = batch.xp, DISCOUNTS[discount], [None] if depth == "all" else batch.ks
    if ideal == "ones":
        if depth != "min(k,retrieved)" and None not in ks:
            return batch.constant([sums_of_discounts(np.array(ks), weigh)])
        sums = batch.constant(np.cumsum([0.0, *weigh(np.arange(1.0, batch.width + 1))]))
        limit = batch.size if None in ks else xp.minimum(batch.size, batch.cutoffs)
        return xp.reshape(xp.take(sums, xp.astype(xp.reshape(limit, (-1,)), batch.whole)), limit.shape)
    given = batch.real(batch.labels, -math.inf)
    if ideal == "given":
        gains = batch.real(_worth(batch, given, gain, negative, below))
        rank = xp.arange(1, batch.width + 1, device=batch.device)[None, :]
        if batch.mask is not None:
            rank = xp.clip(xp.cumulative_sum(xp.astype(batch.mask, batch.whole), axis=-1), 1, None)
        return batch.cut(gains * batch.weights(weigh, rank), rank, ks)
    whole = batch.width if depth == "all" or ideal == "nonzero" else batch.depth
    grades = batch.ideal(whole)
    if isinstance(gain, tuple) or ideal == "retrieved":  # by worth, which need not grow with the grade
        gains = batch.descending(batch.real(_worth(batch, given, gain, negative, below), -math.inf), whole)
    else:
        gains = _worth(batch, grades, gain, negative, below)
    rank = xp.arange(1, whole + 1, device=batch.device)[None, :]
    if ideal == "nonzero":
        rank = rank - xp.where(grades < 0, xp.sum(xp.astype(grades == 0, rank.dtype), axis=-1, keepdims=True), 0)
        rank = xp.clip(rank, 1, None)
    gains = batch.taken(gains) * batch.weights(weigh, rank)
    return batch.cut(gains, rank if ideal == "nonzero" else None, ks)


# -- a person who reads from the top -----------------------------------------------------------------------------


@BatchMetric
def rbp(batch: Batch, p: float, gain: str, divisor: str) -> Pair:
    if not 0 < p < 1:
        raise ValueError(f"rbp: p must lie between 0 and 1, not {p!r}")

    def weigh(rank: Any) -> Any:
        return (1.0 - p) * p ** (rank - 1.0)

    def gains(credit: Array, grades: Array) -> Array:
        return credit if gain == "binary" else batch.xp.where(credit > 0, grades, 0.0)

    earned = batch.total(gains(batch.credit, batch.grade), weigh)
    if divisor == "none":
        return earned, batch.one
    ideal = batch.ideal()
    best = batch.taken(gains(batch.relevance(ideal), ideal))
    return earned, batch.cut(best * batch.weights(weigh, batch.places))


@BatchMetric
def err(batch: Batch, max_grade: float | None, stop: str) -> Pair:
    return _cascade(batch, batch.grade, max_grade, stop), batch.one


@BatchMetric
def nerr(batch: Batch, max_grade: float | None, stop: str) -> Pair:
    return _cascade(batch, batch.grade, max_grade, stop), _cascade(batch, batch.ideal(), max_grade, stop)


def _cascade(batch: Batch, grades: Array, max_grade: float | None, stop: str) -> Array:
    """Sum over places of stop / place times the chance to have come so far."""
    xp = batch.xp
    if stop == "grade":
        batch.fault(batch._any(batch.given > 1), "a grade is no probability; choose stop='exp2'")
        stops = grades
    else:
        if max_grade is not None:
            batch.fault(batch._any(batch.given > max_grade), f"a grade is above max_grade={max_grade:g}")
        top = float(max_grade or 0)
        if max_grade is None and batch.rows:
            top = xp.max(xp.clip(batch.labels, 0.0, None))
        stops = xp.clip(2.0 ** (grades - top) - 2.0**-top, 0.0, None)
    stops = batch.taken(stops)
    reading = xp.cumulative_prod(1.0 - stops, axis=-1)
    reading = xp.concat([xp.ones_like(stops[:, :1]), reading[:, :-1]], axis=-1)
    return batch.cut(reading * stops / batch.place)


# -- pairs -------------------------------------------------------------------------------------------------------


@BatchMetric
def auc(batch: Batch, pairs: str, equal: str, divisor: str, catalogue: int | None, alone: str) -> Pair:
    xp = batch.xp
    if batch.expected and None not in batch.ks:
        raise NoExpectedValue("auc has no closed form over all orders of tied items with a cutoff")
    if batch.shared and equal == "order":
        raise NoExpectedValue("auc is not decided by the order of items that share a rank")
    if batch.expected and equal == "order":  # the mean over all orders
        equal = "half"
    if catalogue is not None:
        _fits(batch, catalogue)
    listed = pairs == "list" or batch.listed
    sides = [(_pairs_of_list if listed else _pairs_of_judged)(batch, k, equal) for k in batch.ks]
    found, wrong, shown = (xp.concat(side, axis=-1) for side in zip(*sides, strict=True))
    relevant, bad = batch.relevant, batch.nonrelevant
    if not listed:
        hidden = bad - shown
        right, possible = found * bad - wrong + 0.5 * (relevant - found) * hidden, relevant * bad
    elif catalogue is None:
        relevant = found
        right = found * (batch.extent("min(k,retrieved)") - found) - wrong
        possible = found * (batch.extent(divisor) - found)
    else:
        bad, shown = catalogue - relevant, batch.extent(divisor) - found
        right = found * shown - wrong + (found + relevant) / 2 * (bad - shown)
        relevant, possible = found, relevant * bad
    if alone == "right":
        only = (relevant > 0) & (possible == 0)
        right, possible = xp.where(only, 1.0, right), xp.where(only, 1.0, possible)
    return right, possible


def _pairs_of_judged(batch: Batch, k: int | None, equal: str) -> tuple[Array, Array, Array]:
    """Relevant items found, pairs in the wrong order, and items shown that are judged not relevant."""
    inside = 1.0 if k is None else batch.number(batch.rank <= k)
    good, bad = batch.credit * inside, batch.placed(batch.bad) * inside
    if equal == "order":
        above = batch.running(bad)[:, :-1]
    else:
        before, within, _ = batch.in_group(bad)
        above = before + within / (2 if equal == "half" else 1)
    return batch.sum(good), batch.sum(good * above), batch.sum(bad)


def _pairs_of_list(batch: Batch, k: int | None, equal: str) -> tuple[Array, Array, Array]:
    """The same where everything in the list that is not relevant counts against."""
    good = batch.credit if k is None else batch.xp.where(batch.rank <= k, batch.credit, 0.0)
    if equal == "order":
        above = batch.number(batch.rank) - 1.0 - batch.running(good)[:, :-1]
    else:
        start, end = batch.groups
        before, within, _ = batch.in_group(good)
        size = batch.number(batch.xp.clip(end - start if k is None else batch.xp.clip(end, None, k) - start, 0, None))
        above = batch.number(start) - before + (size - within) / (2 if equal == "half" else 1)
    return batch.sum(good), batch.sum(good * above), batch.one


@BatchMetric
def bpref(batch: Batch) -> Pair:
    xp = batch.xp
    above = xp.minimum(xp.cumulative_sum(batch.placed(batch.bad), axis=-1), batch.relevant)
    bound = xp.clip(xp.minimum(batch.relevant, batch.nonrelevant), 1.0, None)
    return batch.sum(xp.where(batch.credit > 0, 1.0 - above / bound, 0.0)), batch.relevant


@BatchMetric
def infap(batch: Batch) -> Pair:
    xp = batch.xp
    earlier, relevant = batch.place - 1.0, xp.cumulative_sum(batch.credit, axis=-1) - 1.0
    bad = xp.cumulative_sum(batch.placed(batch.bad), axis=-1)
    unjudged = batch.number((batch.grade < 0) & (batch.credit == 0))
    pooled = relevant + bad + xp.cumulative_sum(unjudged, axis=-1)
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    precision = (1.0 + pooled * estimate) / (earlier + 1.0)
    return batch.sum(xp.where(batch.credit > 0, precision, 0.0)), batch.relevant


# -- predicted ratings -------------------------------------------------------------------------------------------


def _predicted(batch: Batch) -> Array:
    if batch.scores is None:
        raise TypeError(f"{batch.plan.label} needs scores; labels_by_rank is only an order of items")
    return batch.real(batch.xp.astype(batch.scores, batch.dtype, copy=False))


def _squares(batch: Batch) -> Array:
    return batch.sum((_predicted(batch) - batch.labels) ** 2)


@BatchMetric
def mae(batch: Batch) -> Pair:
    return batch.sum(batch.xp.abs(_predicted(batch) - batch.labels)), batch.size


@BatchMetric
def mse(batch: Batch) -> Pair:
    return _squares(batch), batch.size


@BatchMetric
def rmse(batch: Batch) -> Pair:
    return batch.xp.sqrt(_squares(batch)), batch.xp.sqrt(batch.size)


@BatchMetric
def r2(batch: Batch) -> Pair:
    spread = batch.sum(_centred(batch, batch.labels) ** 2)
    return spread - _squares(batch), spread


@BatchMetric
def logloss(batch: Batch) -> Pair:
    xp, score = batch.xp, _predicted(batch)
    yes, no = xp.log(xp.clip(score, CLIP, None)), xp.log(xp.clip(1.0 - score, 1.0 - (1.0 - CLIP), None))
    return -batch.sum(batch.real(batch.labels * yes + (1.0 - batch.labels) * no)), batch.size


@BatchMetric
def pearson(batch: Batch) -> Pair:
    x, y = _centred(batch, _predicted(batch)), _centred(batch, batch.labels)
    return batch.sum(x * y), batch.xp.sqrt(batch.sum(x * x) * batch.sum(y * y))


def _centred(batch: Batch, values: Array) -> Array:
    # From the highest, so that equal values are exactly 0 off their mean.
    values = values - batch.xp.max(batch.real(values, -math.inf), axis=-1, keepdims=True)
    values = batch.real(values)
    return batch.real(values - batch.sum(values) / batch.xp.clip(batch.size, 1.0, None))


def __getattr__(name: str) -> Any:
    if name in rows():
        raise AttributeError(f"{name} is not computed on batches of arrays; use rs.evaluate(labels, scores, {name!r})")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
