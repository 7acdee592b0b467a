"""Correct metrics in plain Python, and the same with one defect each, planted in a line or two."""

import math
from functools import partial


def order(scores):
    """Items by score, equal ones by id, descending."""
    return sorted(scores, key=lambda item: (scores[item], item), reverse=True)


def over_queries(one, truth, run, k):
    return sum(one(order(run.get(query, {})), truth[query], k) for query in truth) / len(truth)


def once(ranked):
    return [item if item not in ranked[:at] else None for at, item in enumerate(ranked)]


def hits_of(ranked, grades, k=None, threshold=1):
    return [grades.get(item, 0) >= threshold for item in once(ranked)[:k]]


def ndcg(
    ranked,
    grades,
    k,
    gain=lambda grade: max(grade, 0),
    discount=lambda rank: math.log2(rank + 1),
    ideal=None,
    depth=None,
):
    gains = [gain(grades.get(item, 0)) for item in once(ranked)[:k]]
    best = sorted(map(gain, grades.values() if ideal is None else ideal), reverse=True)[: depth or k]
    bottom = sum(value / discount(rank) for rank, value in enumerate(best, 1))
    return sum(value / discount(rank) for rank, value in enumerate(gains, 1)) / bottom if bottom else 0.0


def ap(ranked, grades, k, over=lambda relevant, hits, k: relevant):
    hits = hits_of(ranked, grades, k)
    relevant = sum(grade >= 1 for grade in grades.values())
    total = sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, 1) if hit)
    return total / over(relevant, sum(hits), k) if relevant and sum(hits) else 0.0


def rr(ranked, grades, k, threshold=1):
    return next((1 / rank for rank, hit in enumerate(hits_of(ranked, grades, k, threshold), 1) if hit), 0.0)


def precision(ranked, grades, k):
    return sum(hits_of(ranked, grades, k)) / k


def recall(ranked, grades, k):
    relevant = sum(grade >= 1 for grade in grades.values())
    return sum(hits_of(ranked, grades, k)) / relevant if relevant else 0.0


def hit_rate(ranked, grades, k):
    return float(any(hits_of(ranked, grades, k)))


# -- defects -------------------------------------------------------------------------------------------------


def repeated_ndcg(ranked, grades, k):
    gains = [max(grades.get(item, 0), 0) for item in ranked[:k]]
    best = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k]
    ideal = sum(value / math.log2(rank + 1) for rank, value in enumerate(best, 1))
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1)) / ideal if ideal else 0.0


def repeated_recall(ranked, grades, k):
    relevant = {item for item, grade in grades.items() if grade >= 1}
    return sum(item in relevant for item in ranked[:k]) / len(relevant) if relevant else 0.0


def worst_first(ranked, grades, k):
    gains = [max(grades.get(item, 0), 0) for item in once(ranked)[:k]]
    best = sorted(max(grade, 0) for grade in grades.values())[:k]
    ideal = sum(value / math.log2(rank + 1) for rank, value in enumerate(best, 1))
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1)) / ideal if ideal else 0.0


def sorted_gains(truth, run, k):
    """As it is often written: sorted() keeps tied items in input order, and the ideal list is the list, sorted."""
    values = []
    for query, scores in run.items():
        ranked = sorted(scores, key=lambda item: -scores[item])[:k]
        gains = [truth.get(query, {}).get(item, 0) for item in ranked]
        dcg, best = (sum(gain / math.log2(at + 2) for at, gain in enumerate(each))
                     for each in (gains, sorted(gains, reverse=True)))  # fmt: skip
        values.append(dcg / best if best else 0.0)
    return sum(values) / len(values) if values else math.nan


def natural_log(ranked, grades, k):
    gains = [max(grades.get(item, 0), 0) for item in once(ranked)[:k]]
    return sum(value / math.log(rank + 1) for rank, value in enumerate(gains, 1))


def log10_in_the_list(ranked, grades, k):
    gains = [max(grades.get(item, 0), 0) for item in once(ranked)[:k]]
    best = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k]
    ideal = sum(value / math.log2(rank + 1) for rank, value in enumerate(best, 1))
    return sum(value / math.log10(rank + 1) for rank, value in enumerate(gains, 1)) / ideal if ideal else 0.0


def from_zero(ranked, grades, k):
    return next((1 / rank for rank, hit in enumerate(hits_of(ranked, grades, k)) if hit), 0.0)


def last_relevant(ranked, grades, k):
    return max((rank for rank, hit in enumerate(hits_of(ranked, grades, k), 1) if hit), default=0) and 1 / max(
        rank for rank, hit in enumerate(hits_of(ranked, grades, k), 1) if hit
    )


def in_input_order(truth, run, k):
    ranked = {query: sorted(scores, key=scores.get, reverse=True) for query, scores in run.items()}
    return sum(rr(ranked.get(query, []), truth[query], k) for query in truth) / len(truth)


def ascending(truth, run, k):
    ranked = {query: order(scores)[::-1] for query, scores in run.items()}
    return sum(ndcg(ranked.get(query, []), truth[query], k) for query in truth) / len(truth)


def without_missing(truth, run, k):
    queries = [query for query in truth if query in run]
    return sum(ap(order(run[query]), truth[query], k) for query in queries) / max(len(queries), 1)


def empty_counts(value, truth, run, k):
    one = {query: any(grade >= 1 for grade in truth[query].values()) for query in truth}
    values = [recall(order(run.get(query, {})), truth[query], k) if one[query] else value for query in truth]
    return sum(values) / len(values)


def rounded(truth, run, k):
    return sum(round(ndcg(order(run.get(query, {})), truth[query], k), 2) for query in truth) / len(truth)


def unjudged_relevant(ranked, grades, k):
    return sum(grades.get(item, 1) >= 1 for item in once(ranked)[:k] if item is not None) / k


def unjudged_dropped(ranked, grades, k):
    return precision([item for item in ranked if item in grades], grades, k)


def same_ids(ranked, grades, k):
    return recall([str(item) for item in ranked], {str(item): grade for item, grade in grades.items()}, k)


def text_never_matches(ranked, grades, k):
    return recall([str(item) for item in ranked], grades, k)


def positive_only(truth, run, k):
    kept = {query: {item: score for item, score in scores.items() if score > 0} for query, scores in run.items()}
    return over_queries(ap, truth, kept, k)


def modifies(ranked, grades, k):
    ranked.sort(key=lambda item: -grades.get(item, 0))
    return ndcg(ranked, grades, k)


def modifies_quietly(ranked, grades, k):
    value = ap(ranked, grades, k)
    for item in ranked:
        grades.setdefault(item, 0)
    return value


class Running:
    """A metric that depends on earlier calls."""

    def __init__(self):
        self.values = []

    def __call__(self, ranked, grades, k):
        self.values.append(ap(ranked, grades, k))
        return sum(self.values) / len(self.values)


class CachedIdeal:
    """A metric that remembers the relevant items of a list that was seen before."""

    def __init__(self):
        self.truths = {}

    def __call__(self, truth, run, k):
        judged = {query: self.truths.setdefault(query, grades) for query, grades in truth.items()}
        return over_queries(recall, judged, run, k)


def hits_only(truth, run, k):
    values = [rr(order(run.get(query, {})), truth[query], k) for query in truth]
    return sum(value for value in values if value) / max(sum(value > 0 for value in values), 1)


def averaged_ties(truth, run, k):
    def one(scores, grades):
        groups = sorted({*scores.values()}, reverse=True)
        tied = [[item for item in scores if scores[item] == group] for group in groups]
        at, total = 0, 0.0
        for items in tied:
            mean = sum(max(grades.get(item, 0), 0) for item in items) / len(items)
            total += sum(mean / math.log2(rank + 2) for rank in range(at, at + len(items)) if rank < k)
            at += len(items)
        best = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k]
        ideal = sum(value / math.log2(rank + 1) for rank, value in enumerate(best, 1))
        return total / ideal if ideal else 0.0

    return sum(one(run.get(query, {}), truth[query]) for query in truth) / len(truth)


def own_document_dropped(truth, run, k):
    kept = {query: {item: score for item, score in scores.items() if item != query} for query, scores in run.items()}
    return over_queries(rr, truth, kept, k)


def single_precision(truth, run, k):
    import numpy as np

    kept = {query: {item: np.float32(score) for item, score in scores.items()} for query, scores in run.items()}
    return over_queries(rr, truth, kept, k)


def lists(one, **options):
    return partial(one, **options)


def dicts(one, **options):
    return lambda truth, run, k: over_queries(partial(one, **options), truth, run, k)


def exp(grade):
    return 2**grade - 1


# By number and name: the metric, the calling style, the function, and a part of what the report says of it.
DEFECTS = {
    "1 repeated, ndcg": ("ndcg@3", "lists", lambda: repeated_ndcg, "repeated item"),
    "1 repeated, recall": ("recall@3", "lists", lambda: repeated_recall, "repeated item"),
    "2 ideal cut at the returned": (
        "ndcg@5", "lists",
        lambda: lambda ranked, grades, k: ndcg(ranked, grades, k, depth=min(k, len(ranked)) or 1), "number of returned",
    ),
    "3 ideal of the returned": (
        "ndcg@3", "lists",
        lambda: lambda ranked, grades, k: ndcg(ranked, grades, k, ideal=[grades[i] for i in {*ranked} if i in grades]),
        "returned items",
    ),
    "3 ideal of the first k": (
        "ndcg@3", "lists",
        lambda: lambda ranked, grades, k: ndcg(ranked, grades, k, ideal=[grades.get(i, 0) for i in once(ranked)[:k]]),
        "first k returned items",
    ),
    "3 ideal of the sorted gains": ("ndcg@3", "dicts", lambda: sorted_gains, "first k returned items"),
    "4 ideal not cut": ("ndcg@2", "lists", lambda: lists(ndcg, depth=99), "not cut"),
    "5 ideal worst first": ("ndcg@3", "lists", lambda: worst_first, "worst first"),
    "6 discount, ranks 1 and 2": (
        "ndcg@3", "lists", lambda: lists(ndcg, discount=lambda rank: math.log2(max(rank, 2))), "discount is off by one",
    ),
    "6 discount, one later": (
        "ndcg@3", "lists", lambda: lists(ndcg, discount=lambda rank: math.log2(rank + 2)), "discount off by one",
    ),
    "7 natural logarithm": ("dcg@3", "lists", lambda: natural_log, "natural logarithm"),
    "7 log10 in the list": ("ndcg@3", "lists", lambda: log10_in_the_list, "log10"),
    "8 gain without - 1": (
        "ndcg@3", "lists", lambda: lists(ndcg, gain=lambda grade: 2**grade if grade > 0 else 0), "without the - 1",
    ),
    "8 gain of all without - 1": ("ndcg@3", "lists", lambda: lists(ndcg, gain=lambda grade: 2**grade), "the - 1"),
    "9 integer grades": ("ndcg@3", "lists", lambda: lists(ndcg, gain=lambda grade: max(int(grade), 0)), "integers"),
    "9 integer grades in the ideal": (
        "ndcg@3", "lists",
        lambda: lambda ranked, grades, k: ndcg(ranked, grades, k, ideal=[int(grade) for grade in grades.values()]),
        "integers",
    ),
    "10 AP over hits": ("ap@3", "lists", lambda: lists(ap, over=lambda relevant, hits, k: hits), "over the hits"),
    "11 AP over k": ("ap@3", "lists", lambda: lists(ap, over=lambda relevant, hits, k: k), "over k"),
    "11 AP over min(k, R)": (
        "ap@3", "lists", lambda: lists(ap, over=lambda relevant, hits, k: min(relevant, k)), "min(k, relevant)",
    ),
    "12 precision over the length": (
        "precision@3", "lists",
        lambda: lambda ranked, grades, k: sum(hits_of(ranked, grades, k)) / max(len(ranked[:k]), 1),
        "length of the list",
    ),
    "12 recall over min(k, R)": (
        "recall@2", "lists",
        lambda: lambda ranked, grades, k: sum(hits_of(ranked, grades, k))
        / max(min(k, sum(grade >= 1 for grade in grades.values())), 1),
        "min(k, relevant)",
    ),
    "13 rank from 0": ("rr@3", "lists", lambda: from_zero, "rank from 0"),
    "13 last relevant": ("rr@3", "lists", lambda: last_relevant, "last relevant"),
    "14 exclusive threshold": ("rr@3", "lists", lambda: lists(rr, threshold=1.0001), "exclusive"),
    "15 ties in input order": ("rr@3", "dicts", lambda: in_input_order, "input order"),
    "16 ascending": ("ndcg@3", "dicts", lambda: ascending, "ascending"),
    "17 missing dropped": ("ap@3", "dicts", lambda: without_missing, "missing from the run"),
    "18 empty counts 1": ("recall@3", "dicts", lambda: partial(empty_counts, 1.0), "without relevant items count"),
    "18 NaN": ("recall@3", "dicts", lambda: partial(empty_counts, math.nan), "NaN"),
    "19 two digits": ("ndcg@3", "dicts", lambda: rounded, "rounded"),
    "20 counts hits": (
        "hit_rate@3", "lists", lambda: lambda ranked, grades, k: sum(hits_of(ranked, grades, k)), "counts hits",
    ),
    "21 k too small": ("precision@3", "lists", lambda: lambda r, g, k: sum(hits_of(r, g, k - 1)) / k, "too early"),
    "21 k too large": ("recall@2", "lists", lambda: lambda r, g, k: recall(r, g, k + 1), "too late"),
    "22 unjudged relevant": ("precision@3", "lists", lambda: unjudged_relevant, "unjudged items are relevant"),
    "22 unjudged dropped": ("precision@3", "lists", lambda: unjudged_dropped, "unjudged items are dropped"),
    "23 1 and '1' equal": ("recall@3", "lists", lambda: same_ids, "same item"),
    "23 numbers never equal": ("recall@3", "lists", lambda: text_never_matches, "ids that are numbers"),
    "24 score <= 0": ("ap@3", "dicts", lambda: positive_only, "score of 0 or less"),
    "25 modified input": ("ndcg@3", "lists", lambda: modifies, "modified"),
    "25 modified truth": ("ap@3", "lists", lambda: modifies_quietly, "modified"),
    "25 running mean": ("ap@3", "lists", Running, "earlier calls"),
    "25 cached truth": ("recall@3", "dicts", CachedIdeal, "earlier calls"),
    "26 hits only": ("rr@3", "dicts", lambda: hits_only, "without a hit"),
    "27 ties averaged": ("ndcg@3", "dicts", lambda: averaged_ties, "ties averaged"),
    "28 float32": ("rr@3", "dicts", lambda: single_precision, "float32"),
    "29 own document dropped": ("rr@3", "dicts", lambda: own_document_dropped, "own document"),
}  # fmt: skip
CORRECT = {
    "ndcg@3": ndcg, "ap@3": ap, "rr@3": rr, "precision@3": precision, "recall@3": recall, "hit_rate@3": hit_rate,
}  # fmt: skip
