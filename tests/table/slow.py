"""Every metric and every choice, slowly and plainly: lists are sorted, sums are loops, all tied orders are tried.

This is the second opinion that the package is compared with, so it shares nothing with it: it imports only the
standard library, has its own list of metrics, parameters and defaults, and works on one query at a time.

A query's truth is `{item: grade}` (or a list of items, best first), its run `{item: score}` (or a list of items, best
first). A metric is a function of one `List` that returns what was earned and what could have been earned.
"""

import itertools
import math
import struct
from dataclasses import dataclass
from fractions import Fraction

# -- one ranked list -----------------------------------------------------------------------------------------


@dataclass
class List:
    """One query's list, with every choice made."""

    items: list  # best first
    scores: dict  # item -> score; empty if the run is only an order
    truth: dict  # item -> grade, in the order given
    k: int | None
    options: dict  # the metric's parameters and the choices
    top: float  # the highest grade of the whole truth, all queries
    ordered_truth: bool = False
    ties_as_pairs: bool = True  # do equal scores stay equal, where a metric looks at pairs
    shared: dict | None = None  # item -> rank, where items with equal scores have one rank

    def __getitem__(self, option):
        return self.options[option]

    @property
    def shown(self):
        """The first k items."""
        return self.first(self.k)

    def first(self, depth):
        """The items whose rank is at most this."""
        return self.items if depth is None else [item for item in self.items if self.rank(item) <= depth]

    def rank(self, item):
        return self.items.index(item) + 1 if self.shared is None else self.shared[item]

    def place(self, item):
        """Position in the truth as given, from 1."""
        return list(self.truth).index(item) + 1

    def credit_of(self, grade):
        """What an item of this grade counts as a relevant one."""
        if self["relevance"] == "clipped":
            return min(max(grade, 0.0), 1.0)
        threshold = self["threshold"]
        if threshold == "relative":
            grades = sorted(self.truth.values())
            if grades:  # half of the highest, and the lowest that nine tenths do not exceed
                threshold = max(grades[-1] / 2, grades[math.ceil(len(grades) * 9 / 10) - 1])
            return float(grade > 0 and not (grades and grade < threshold))
        if isinstance(threshold, str):
            if threshold.startswith(">="):
                return float(grade >= float(threshold[2:]))
            return float(threshold == "all" or grade > float(threshold[1:]))
        return float(grade >= threshold)

    def credit(self, item):
        if self["nonpositive_score"] == "miss" and self.scores.get(item, 1) <= 0:
            return 0.0
        return self.credit_of(self.truth[item]) if item in self.truth else 0.0

    def is_bad(self, item):
        """Is it judged, and judged not relevant. A negative grade is no judgement."""
        return item in self.truth and self.truth[item] >= 0 and self.credit(item) == 0

    @property
    def relevant(self):
        return sum(self.credit_of(grade) for grade in self.truth.values())

    @property
    def nonrelevant(self):
        return sum(self.is_bad(item) for item in self.truth)

    @property
    def retrieved(self):
        return len(self.items)

    def hits(self, depth=None):
        """Relevant items among the first `depth`."""
        return sum(self.counted(item, depth) for item in self.first(depth))

    def counted(self, item, depth):
        """Its credit; none where only the first `depth` items of the truth can be relevant."""
        beyond = self["truth_depth"] == "k" and depth is not None and item in self.truth and self.place(item) > depth
        return 0.0 if beyond else self.credit(item)

    def places(self, divisor):
        if divisor == "judged":
            unjudged = self["unjudged"] == "only_returned"  # then everything in the list has a grade
            return _places_shown(self) if unjudged else sum(item in self.truth for item in self.shown)
        if self.k is None:
            places = self.retrieved
        elif divisor == "min(k,retrieved)":
            places = min(self.k, self.retrieved)
        else:
            places = self.k
        return min(places, self.relevant) if divisor == "min(k,relevant)" else places

    def nth(self, item):
        """Relevant items down to this one, itself included."""
        return sum(self.credit(other) for other in self.first(self.rank(item)))


# -- sets ----------------------------------------------------------------------------------------------------


def precision(one):
    return one.hits(one.k), one.places(one["divisor"])


def recall(one):
    return one.hits(one.k), _all_relevant(one, one["divisor"])


def _all_relevant(one, divisor):
    if divisor == "grades":
        return sum(max(grade, 0) for grade in one.truth.values())
    if divisor == "min(relevant,k)" and one.k is not None:
        return min(one.relevant, one.k)
    return one.relevant


def f(one):
    square = one["beta"] ** 2
    below = square * _all_relevant(one, one["recall_divisor"]) + one.places(one["precision_divisor"])
    return (1 + square) * one.hits(one.k), below


def f1(one):
    below = _all_relevant(one, one["recall_divisor"]) + one.places(one["precision_divisor"])
    return 2 * one.hits(one.k), below


def hit_rate(one):
    hit = float(one.hits(one.k) > 0)
    return hit, 1 if one["misses"] == "zero" else hit


def r_precision(one):
    return one.hits(int(one.relevant)), one.relevant


def fallout(one):
    if one["catalogue"] is not None:
        relevant = sum(one.counted(item, one.k) for item in one.truth)
        return _places_shown(one) - one.hits(one.k), one["catalogue"] - relevant
    if one["nonrelevant"] == "list" or one["unjudged"] == "only_returned":
        relevant = sum(one.counted(item, one.k) for item in one.items)
        return _places_shown(one) - one.hits(one.k), one.retrieved - relevant
    return sum(one.is_bad(item) for item in one.shown), one.nonrelevant


def _places_shown(one):
    return one.retrieved if one.k is None else min(one.k, one.retrieved)


def num_ret(one):
    return _places_shown(one), 1


def num_rel(one):
    return one.relevant, 1


def num_rel_ret(one):
    return one.hits(one.k), 1


# -- gains ---------------------------------------------------------------------------------------------------


class RefusedError(Exception):
    """The choices call this input an error."""


def _gain(one, grade):
    gain = one["gain"]
    if one["below_threshold"] == "no_gain" and one.credit_of(grade) == 0:
        return 0
    if gain == "binary":
        return one.credit_of(grade)
    if isinstance(gain, dict):
        return gain[grade]
    worth = grade if gain == "linear" else float(gain.removeprefix("exp")) ** grade - 1
    return max(worth, 0) if one["negative"] == "zero" else worth


def _discount(one, rank):
    return {
        "log2(rank+1)": lambda: math.log2(rank + 1),
        "log2(max(rank,2))": lambda: math.log2(max(rank, 2)),
        "ln(rank+1)": lambda: math.log(rank + 1),
        "rank": lambda: rank,
    }[one["discount"]]()


def cg(one):
    return sum(_gain(one, one.truth[item]) for item in one.shown if item in one.truth), 1


def dcg(one):
    return _dcg(one), one.relevant if one["divisor"] == "relevant" else 1


def _dcg(one):
    gains = {item: _gain(one, one.truth[item]) if item in one.truth else one["unjudged_gain"] for item in one.shown}
    return math.fsum(gain / _discount(one, one.rank(item)) for item, gain in gains.items())


def _discounted(one, gains):
    return math.fsum(gain / _discount(one, rank) for rank, gain in enumerate(gains, 1))


def ndcg(one):
    depth = {
        "k": one.k,
        "min(k,retrieved)": one.retrieved if one.k is None else min(one.k, one.retrieved),
        "all": None,
    }[one["ideal_depth"]]
    if one["ideal"] == "ones":
        ideal = [1] * (one.retrieved if depth is None else depth)
    elif one["ideal"] == "repeats":  # no item is repeated here
        ideal = [1] * int(one.relevant)
    else:
        held = one.truth if one["ideal"] != "retrieved" else [item for item in one.items if item in one.truth]
        held = [item for item in held if one["ideal"] != "nonzero" or one.truth[item] != 0]
        grades = [math.floor(one.truth[item]) if one["ideal_grades"] == "whole" else one.truth[item] for item in held]
        ideal = sorted((_gain(one, grade) for grade in grades), reverse=one["ideal_order"] == "best")
    possible = _discounted(one, ideal[:depth])
    return _dcg(one), max(possible, 0) if one["ideal_sign"] == "positive" else possible


# -- precision down the list ---------------------------------------------------------------------------------


def ap(one):
    total = 0.0
    for item in one.shown:
        step = one.nth(item) / one.rank(item)
        if one["term_digits"] is not None:
            step = round(step, one["term_digits"])
        total += step * one.credit(item)
    return total, _ap_divisor(one)


def gmap(one):
    return sum(one.nth(item) / one.rank(item) * one.credit(item) for item in one.shown), _ap_divisor(one)


def _ap_divisor(one):
    k = math.inf if one.k is None else one.k
    return {
        "relevant": one.relevant,
        "min(relevant,k)": min(one.relevant, k),
        "min(relevant,retrieved)": min(one.relevant, one.retrieved),
        "min(relevant,k,retrieved)": min(one.relevant, k, one.retrieved),
        "found": one.hits(one.k),
        "k": one.retrieved if one.k is None else one.k,
        "grades": sum(sorted((max(grade, 0) for grade in one.truth.values()), reverse=True)[: one.k]),
        "none": 1,
    }[one["divisor"]]


def rr(one):
    found = sorted((item for item in one.shown if one.credit(item) > 0), key=one.rank)
    if one["terms"] == "all":
        return sum(one.truth[item] / one.rank(item) for item in found), 1
    if one["terms"] == "mean":
        return sum(one.credit(item) / one.rank(item) for item in found), sum(map(one.credit, found))
    return (1 / one.rank(found[0]) if found else 0.0), 1


def iprec(one):
    return _highest_precision(one, one["recall"]), 1


def iprec11(one):
    return sum(_highest_precision(one, level / 10) for level in range(11)) / 11, 1


def _highest_precision(one, recall):
    """At any rank by which so much of the relevant has been found; a count, so in whole items."""
    needed = {
        "ceil(x)": lambda: math.ceil(Fraction(str(recall)) * Fraction(one.relevant)),
        "floor(x+0.9)": lambda: int(recall * one.relevant + 0.9),
        "round(x)": lambda: int(recall * one.relevant + 0.5),
    }[one["recall_rounding"]]()
    found = [one.hits(depth) for depth in range(1, one.retrieved + 1)]
    return max((hits / depth for depth, hits in enumerate(found, 1) if hits >= needed and hits > 0), default=0.0)


# -- readers who stop ----------------------------------------------------------------------------------------


def _cascade(one, grades):
    top = one.top if one["max_grade"] is None else one["max_grade"]
    total, reading = 0.0, 1.0
    for rank, grade in enumerate(grades, 1):
        stop = 0 if grade is None else grade if one["stop_chance"] == "grade" else max((2**grade - 1) / 2**top, 0)
        total += reading * stop / _discount(one, rank)
        reading *= 1 - stop
    return total


def err(one):
    if one["stop_chance"] == "grade" and one.top > 1:
        raise RefusedError
    return _cascade(one, [one.truth.get(item) for item in one.shown]), 1


def nerr(one):
    return err(one)[0], _cascade(one, sorted(one.truth.values(), reverse=True)[: one.k])


def rbp(one):
    p, total = one["p"], 0.0
    for item in one.shown:
        if one.credit(item) > 0:
            gain = one.credit(item) if one["gain"] == "binary" else one.truth[item]
            total += (1 - p) * p ** (one.rank(item) - 1) * gain
    if one["divisor"] == "none":
        return total, 1
    grades = [grade for grade in one.truth.values() if one.credit_of(grade) > 0]
    gains = sorted((one.credit_of(grade) if one["gain"] == "binary" else grade for grade in grades), reverse=True)
    return total, sum((1 - p) * p**at * gain for at, gain in enumerate(gains[: _places_shown(one)]))


# -- pairs ---------------------------------------------------------------------------------------------------


def auc(one):
    good = [item for item in one.shown if one.credit(item) > 0]
    if one["pairs"] == "list" or one["unjudged"] == "only_returned":
        other = [item for item in one.shown if one.credit(item) == 0]
        right = sum(_goes_right(one, g, o) for g in good for o in other)
        places = one.places(one["divisor"])
        total = len(good) * (places - len(good))
        if one["catalogue"] is not None:
            right += len(good) * (places - _places_shown(one))  # places left empty hold something not relevant
            bad = one["catalogue"] - one.relevant
            hidden = bad - (places - len(good))
            right += len(good) * hidden + (one.relevant - len(good)) * hidden / 2
            good, total = [item for item in one.truth if one.credit_of(one.truth[item]) > 0], one.relevant * bad
    else:
        good = [item for item in one.truth if one.credit(item) > 0]
        bad = [item for item in one.truth if one.is_bad(item)]
        right = sum(_goes_right(one, g, b) for g in good for b in bad)
        total = len(good) * len(bad)
    return (1, 1) if one["no_negatives"] == "right" and good and total == 0 else (right, total)


def _goes_right(one, good, bad):
    """1 if the good one stands above, 0.5 if both are out of sight; equal scores as the choice says."""
    seen = (good in one.shown, bad in one.shown)
    if seen != (True, True):
        return {(True, False): 1.0, (False, True): 0.0, (False, False): 0.5}[seen]
    if one.ties_as_pairs and one.scores and one.scores[good] == one.scores[bad] and one["tied_pairs"] != "order":
        return {"half": 0.5, "wrong": 0.0}[one["tied_pairs"]]
    return float(one.rank(good) < one.rank(bad))


def bpref(one):
    total, bad_above = 0.0, 0
    for item in one.items:
        if one.is_bad(item):
            bad_above += 1
        elif one.credit(item) > 0:
            total += 1 if bad_above == 0 else 1 - min(bad_above, one.relevant) / min(one.relevant, one.nonrelevant)
    return 0 if one["no_negatives"] == "zero" and one.nonrelevant == 0 else total, one.relevant


def infap(one):
    total, epsilon = 0.0, 0.00001
    for item in one.items:
        if one.credit(item) == 0:
            continue
        above = one.items[: one.rank(item) - 1]
        good = sum(one.credit(other) for other in above)
        bad = sum(one.is_bad(other) for other in above)
        pooled = good + bad + sum(one.truth.get(other, 0) < 0 and one.credit(other) == 0 for other in above)
        if not above:
            total += 1
            continue
        estimate = (good + epsilon) / (good + bad + 2 * epsilon)
        total += 1 / one.rank(item) + len(above) / one.rank(item) * (pooled / len(above)) * estimate
    return total, one.relevant


def judged(one):
    if one["unjudged"] == "only_returned":  # everything in the list has a grade
        return _places_shown(one), one.places(one["divisor"])
    return sum(item in one.truth for item in one.shown), one.places(one["divisor"])


def unjudged(one):
    held = () if one["unjudged"] == "only_returned" else [item for item in one.shown if item not in one.truth]
    return len(held), one.places(one["divisor"])


# -- predicted ratings ---------------------------------------------------------------------------------------


def _pairs(one):
    """Predicted and actual ratings of the items that have both."""
    return [(one.scores[item], one.truth[item]) for item in one.items if item in one.truth]


def nuggets(one):
    least = 2 if one["score"].endswith("vital") else 1
    counted = [score for score, grade in _pairs(one) if grade >= least]
    full = sum(score >= 1 for score in counted)
    half = 0 if one["score"].startswith("strict") else sum(0.5 <= score < 1 for score in counted)
    return full + half / 2, sum(grade >= least for grade in one.truth.values())


def mae(one):
    return sum(abs(score - grade) for score, grade in _pairs(one)), len(_pairs(one))


def mse(one):
    return sum((score - grade) ** 2 for score, grade in _pairs(one)), len(_pairs(one))


def rmse(one):
    return mse(one)


def r2(one):
    if not _pairs(one):
        return 0, 0
    mean = sum(grade for _, grade in _pairs(one)) / len(_pairs(one))
    spread = sum((grade - mean) ** 2 for _, grade in _pairs(one))
    return spread - mse(one)[0], spread


def logloss(one):
    total = 0.0
    for score, grade in _pairs(one):
        score = min(max(score, 1e-15), 1 - 1e-15)
        total -= grade * math.log(score) + (1 - grade) * math.log(1 - score)
    return total, len(_pairs(one))


def pearson(one):
    return _correlation([score for score, _ in _pairs(one)], [grade for _, grade in _pairs(one)])


def _correlation(x, y):
    if not x:
        return 0, 0
    x = [value - sum(x) / len(x) for value in x]
    y = [value - sum(y) / len(y) for value in y]
    square = sum(a * a for a in x) * sum(b * b for b in y)
    return sum(a * b for a, b in zip(x, y, strict=True)), math.sqrt(square)


# -- agreement -----------------------------------------------------------------------------------------------


def _opinions(one):
    """What the run and the truth think of each item they share, in the run's order."""
    common = [item for item in one.items if item in one.truth]
    by_score = one.scores and one["ties"] != "expected"  # then it is the mean over orders without ties
    run = [one.scores[item] if by_score else -one.rank(item) for item in common]
    truth = [-one.place(item) if one.ordered_truth else one.truth[item] for item in common]
    return run, truth


def spearman(one):
    return _correlation(*(_mean_ranks(values) for values in _opinions(one)))


def _mean_ranks(values):
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def kendall(one):
    run, truth = _opinions(one)
    pairs = list(itertools.combinations(range(len(run)), 2))
    agree = sum((run[i] - run[j]) * (truth[i] - truth[j]) > 0 for i, j in pairs)
    oppose = sum((run[i] - run[j]) * (truth[i] - truth[j]) < 0 for i, j in pairs)
    if one["variant"] == "a":
        return agree - oppose, len(pairs)
    if one["variant"] == "ties_agree":
        return len(pairs) - 2 * oppose, len(pairs)
    in_run = sum(run[i] != run[j] for i, j in pairs)
    in_truth = sum(truth[i] != truth[j] for i, j in pairs)
    return agree - oppose, math.sqrt(in_run * in_truth)


def tau_ap(one):
    _, truth = _opinions(one)
    n = len(truth)
    if n < 2:
        return 0, 0
    shares = [sum(1.0 if up > here else 0.5 if up == here else 0.0 for up in truth[:i]) / i
              for i, here in enumerate(truth) if i]  # fmt: skip
    return 2 * sum(shares) - (n - 1), n - 1  # 2 / (n - 1) * sum - 1, as one fraction


def rbo(one):
    """Webber, Moffat and Zobel, 2010, equation 32, with the overlaps counted from the lists themselves.

    Of equal grades any may be the first: the mean over all sets that can be the truth's first items.
    """
    p = one["p"]
    s, n = sorted((len(one.shown), len(list(one.truth)[: one.k])))
    if s == 0:
        return float(n == 0), 1
    overlap = [_mean(len(set(one.shown[:d]) & first) for first in _first_sets(one, d)) for d in range(n + 1)]
    first = sum(overlap[d] / d * p**d for d in range(1, n + 1))
    second = sum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * (first + second) + ((overlap[n] - overlap[s]) / n + overlap[s] / s) * p**n, 1


def _first_sets(one, depth):
    """Every set of items that can be the truth's first ones."""
    depth = min(depth, len(one.truth))
    if one.ordered_truth:
        return [set(list(one.truth)[:depth])]
    last = sorted(one.truth.values(), reverse=True)[depth - 1] if depth else math.inf
    above = {item for item, grade in one.truth.items() if grade > last}
    level = [item for item, grade in one.truth.items() if grade == last]
    return [above | set(some) for some in itertools.combinations(level, depth - len(above))]


def _mean(values):
    values = list(values)
    return sum(values) / len(values)


# -- the list of them ----------------------------------------------------------------------------------------

_F = {"precision_divisor": "k", "recall_divisor": "relevant"}
_GAIN = {"gain": "linear", "negative": "zero", "below_threshold": "gain"}
_DCG = {**_GAIN, "discount": "log2(rank+1)"}
_IDEAL = {
    "ideal": "judged",
    "ideal_depth": "k",
    "ideal_sign": "any",
    "ideal_order": "best",
    "ideal_grades": "judged",
}
_AUC = {
    "pairs": "judged",
    "tied_pairs": "half",
    "divisor": "min(k,retrieved)",
    "catalogue": None,
    "no_negatives": "undefined",
}
_ERR = {"max_grade": None, "stop_chance": "exp2", "discount": "rank"}
_SUM = {"averaging": "sum"}
_POOLED = {"averaging": "one_list", "undefined": "skip", "missing": "skip"}
_SKIP = {"undefined": "skip", "missing": "skip"}

# name: (function, has a cutoff, parameters with defaults, choices it makes otherwise than the rest)
METRICS = {
    "ap": (ap, True, {"divisor": "relevant", "term_digits": None}, {}),
    "auc": (auc, True, _AUC, {"undefined": 0.5}),
    "bpref": (bpref, False, {"no_negatives": "right"}, {}),
    "cg": (cg, True, _GAIN, {}),
    "dcg": (dcg, True, {**_DCG, "divisor": "none", "unjudged_gain": 0.0}, {}),
    "err": (err, True, _ERR, {}),
    "f": (f, True, {"beta": 1.0, **_F}, {}),
    "f1": (f1, True, _F, {}),
    "fallout": (fallout, True, {"catalogue": None, "nonrelevant": "judged"}, {}),
    "gmap": (gmap, True, {"divisor": "relevant"}, {"averaging": "geometric"}),
    "hit_rate": (hit_rate, True, {"misses": "zero"}, {}),
    "infap": (infap, False, {}, {}),
    "iprec": (iprec, False, {"recall": 0.0, "recall_rounding": "ceil(x)"}, {}),
    "iprec11": (iprec11, False, {"recall_rounding": "ceil(x)"}, {}),
    "judged": (judged, True, {"divisor": "min(k,retrieved)"}, {}),
    "kendall": (kendall, False, {"variant": "b"}, _SKIP),
    "logloss": (logloss, False, {}, _POOLED),
    "mae": (mae, False, {}, _POOLED),
    "mse": (mse, False, {}, _POOLED),
    "ndcg": (ndcg, True, {**_DCG, **_IDEAL, "unjudged_gain": 0.0}, {}),
    "nerr": (nerr, True, _ERR, {}),
    "nuggets": (nuggets, False, {"score": "all"}, {}),
    "num_rel": (num_rel, False, {}, _SUM),
    "num_rel_ret": (num_rel_ret, True, {}, _SUM),
    "num_ret": (num_ret, True, {}, _SUM),
    "pearson": (pearson, False, {}, _POOLED),
    "precision": (precision, True, {"divisor": "k"}, {}),
    "r2": (r2, False, {}, _POOLED),
    "r_precision": (r_precision, False, {}, {}),
    "rbo": (rbo, True, {"p": 0.9}, {"missing": "zero"}),
    "rbp": (rbp, True, {"p": 0.8, "gain": "binary", "divisor": "none"}, {}),
    "recall": (recall, True, {"divisor": "relevant"}, {}),
    "rmse": (rmse, False, {}, _POOLED),
    "rr": (rr, True, {"terms": "first"}, {}),
    "spearman": (spearman, False, {}, _SKIP),
    "tau_ap": (tau_ap, False, {}, _SKIP),
    "unjudged": (unjudged, True, {"divisor": "min(k,retrieved)"}, {}),
}
AGREEMENT = ("kendall", "rbo", "spearman", "tau_ap", "logloss", "mae", "mse", "pearson", "r2", "rmse")
CHOICES = {
    "ties": "item_desc",
    "score_precision": "float64",
    "unjudged": "nonrelevant",
    "nonpositive_score": "count",
    "default_k": None,
    "threshold": 1,
    "relevance": "binary",
    "truth_depth": "all",
    "undefined": 0,
    "no_relevant": None,
    "empty_list": "count",
    "empty_truth": "count",
    "both_empty": None,
    "short_list": "count",
    "query_digits": None,
    "query_rounding": "half_even",
    "missing": "zero",
    "extra": "skip",
    "averaging": "macro",
    "nan_in_mean": "nan",
    "no_queries": "nan",
    "digits": None,
}

# -- the order of a list -------------------------------------------------------------------------------------


def rounded(score, precision):
    return struct.unpack("f", struct.pack("f", score))[0] if precision == "float32" else score


def orders(run, truth, ties, is_relevant=lambda grade: False):
    """The items best first: one order, or all orders of tied items if ties is "expected"."""
    if not isinstance(run, dict):
        return [list(run)]
    scores = sorted(set(run.values()), reverse=True)
    groups = [[item for item in run if run[item] == score] for score in scores]
    if ties == "expected":
        return [list(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, groups))]
    return [[item for group in groups for item in _tie_order(group, truth, ties, is_relevant)]]


def _tie_order(group, truth, ties, is_relevant):
    if ties in ("input", "group_end", "group_mean"):
        return group
    if ties == "reverse_input":
        return group[::-1]
    if ties == "item_desc":
        return sorted(group, reverse=True)
    if ties == "item_asc":
        return sorted(group)
    judged = sorted((item for item in group if item in truth), key=lambda item: -truth[item])
    above = [item for item in judged if truth[item] > 0 or is_relevant(truth[item])]
    below = [item for item in judged if item not in above]
    unjudged = [item for item in group if item not in truth]
    if ties == "optimistic":
        return above + unjudged + below
    return sorted(below, key=truth.get) + unjudged + sorted(above, key=truth.get)


# -- many queries --------------------------------------------------------------------------------------------


@dataclass
class MetricResult:
    values: list  # one a query; NaN where it does not count
    mean: float
    queries: list


def evaluate(name, k, params, truth, run, choices):
    """What `rankstone.evaluate` should say of one metric."""
    function, takes_k, defaults, own = METRICS[name]
    options = {**CHOICES, **own, **defaults, **choices, **params}
    k = options["default_k"] if k is None and takes_k else k
    if options["unjudged"] == "only_returned" and options["truth_depth"] == "k" and name not in AGREEMENT:
        raise RefusedError
    shared = options["ties"] in ("group_end", "group_mean")
    if options.get("unjudged_gain") and (shared or options["unjudged"] == "only_returned"):
        raise RefusedError
    if truth and set(run) - set(truth) and not set(truth) & set(run):
        raise RefusedError  # they are of different queries
    if _asks_for_grades(name, options) and truth and not any(isinstance(items, dict) for items in truth.values()):
        raise RefusedError
    if options["missing"] == "error" and any(query not in run for query in truth):
        raise RefusedError
    if options["extra"] == "error" and any(query not in truth for query in run):
        raise RefusedError
    queries = list(truth)
    if options["extra"] == "zero":
        queries += [query for query in run if query not in truth]
    graded = {query: as_grades(truth.get(query, {})) for query in queries}
    if options["unjudged"] == "condensed":
        run = {query: _judged_of(items, graded.get(query, {})) for query, items in run.items()}
    if options["empty_list"] == "error" and any(query in run and not run[query] for query in queries):
        raise RefusedError
    if options["unjudged"] == "only_returned" and name not in AGREEMENT:
        unjudged = any(item not in graded[query] for query in queries for item in run.get(query, ()))
        if unjudged and isinstance(options.get("gain"), dict) and options["gain"].get(0) != 0:
            raise RefusedError  # a list is computed from what was judged
        graded = {query: _known_of(graded[query], run.get(query, ())) for query in queries}
        seen = graded
    else:
        seen = truth
    top = max([0.0, *(grade for grades in graded.values() for grade in grades.values())])
    if options.get("negative") == "error" and any(grade < 0 for grades in graded.values() for grade in grades.values()):
        raise RefusedError
    lists = {query: _lists(run.get(query), seen.get(query, {}), k, options, top) for query in queries}
    ratios, values, counted = [], [], []
    for query in queries:
        earned, possible = _mean_ratio(function, lists[query])
        retrieved, asked = len(run.get(query, ())), query in run or options["missing"] != "skip"
        asked = asked and (retrieved > 0 or options["empty_list"] != "skip")
        asked = asked and (len(truth.get(query, ())) > 0 or options["empty_truth"] != "skip")
        both = options["both_empty"] is not None and retrieved == 0 and not truth.get(query)
        none = options["no_relevant"] is not None and lists[query][0].relevant == 0 and not both
        if k is not None and options["short_list"] == "zero" and retrieved < k:
            value, earned = 0.0, 0.0
        elif possible != 0 and (options["no_relevant"] is not None or _earns(name, lists[query][0])):
            value = _finished(name, earned / possible)
        elif both:
            value = float(options["both_empty"])
        elif options["undefined"] == "skip":
            value, asked = math.nan, False
        elif options["undefined"] == "error" and asked and options["averaging"] not in ("micro", "one_list"):
            raise RefusedError
        else:
            value = math.nan if isinstance(options["undefined"], str) else options["undefined"]
        if none and options["no_relevant"] == "error" and asked:
            raise RefusedError
        if none and options["no_relevant"] == "skip":
            asked = False
        elif none and options["no_relevant"] != "error":
            value = float(options["no_relevant"])
        if options["empty_list"] == "nan" and retrieved == 0:
            value = math.nan
        if options["query_digits"] is not None:
            value = value if math.isnan(value) else _rounded(value, options)
        ratios.append((earned, possible))
        values.append(float(value) if asked else math.nan)
        counted.append(asked)
    if options["averaging"] == "parts" and any(counted):
        mean = _mean_of_parts(k, options, truth, run, counted)
    else:
        mean = _mean_of_all(name, function, options, lists, ratios, values, counted)
    if options["digits"] is not None:
        mean = round(mean, options["digits"])
    return MetricResult(values, mean, queries)


def _rounded(value, options):
    scale = 10 ** options["query_digits"]
    if options["query_rounding"] == "half_up":
        return math.floor(value * scale + 0.5) / scale
    return round(value, options["query_digits"])


_HITS = ("ap", "f", "f1", "gmap", "hit_rate", "iprec", "iprec11", "precision", "r_precision", "rbp", "recall", "rr")


def _asks_for_grades(name, options):
    """Is an item without a grade, as one of grade 1, not relevant."""
    one = List([], {}, {}, None, options, 0.0)
    return name in (*_HITS, "auc", "bpref", "fallout", "infap") and one.credit_of(1) == 0


def _earns(name, one):
    """Is there anything to earn, where what it is divided by does not tell."""
    if name in ("cg", "dcg"):
        return bool(one.options.get("unjudged_gain")) or any(_gain(one, grade) for grade in one.truth.values())
    if name == "err":
        return any(grade > 0 or (grade and one["stop_chance"] == "grade") for grade in one.truth.values())
    return name not in _HITS or one.relevant != 0


def _mean_of_parts(k, options, truth, run, counted):
    """The harmonic mean of mean precision and mean recall."""
    means = []
    for name in ("precision", "recall"):
        chosen = {one: options[one] for one in CHOICES} | {"averaging": "macro"}
        values = evaluate(name, k, {"divisor": options[f"{name}_divisor"]}, truth, run, chosen).values
        means.append(sum(value for value, counts in zip(values, counted, strict=True) if counts) / sum(counted))
    square = options.get("beta", 1.0) ** 2
    return _divided("f", options, (1 + square) * means[0] * means[1], square * means[0] + means[1])


def _known_of(grades, run):
    """The items returned: as the truth has them, then with grade 0 those it does not have."""
    return {item: grade for item, grade in grades.items() if item in run} | dict.fromkeys(
        (item for item in run if item not in grades), 0
    )


def _judged_of(run, grades):
    """The list without what nobody judged; a negative grade is no judgement."""
    kept = [item for item in run if item in grades and grades[item] >= 0]
    return {item: run[item] for item in kept} if isinstance(run, dict) else kept


def as_grades(truth):
    return truth if isinstance(truth, dict) else dict.fromkeys(truth, 1)


def _lists(run, truth, k, options, top):
    run = () if run is None else run
    if isinstance(run, dict):
        run = {item: rounded(score, options["score_precision"]) for item, score in run.items()}
    grades, ties = as_grades(truth), options["ties"]
    scores = run if isinstance(run, dict) else {}
    by_score = ties not in ("optimistic", "pessimistic", "expected")
    ordered = isinstance(truth, (list, tuple))

    def as_list(items):
        return List(items, scores, grades, k, options, top, ordered, by_score, _shared(run, ties))

    return [as_list(items) for items in orders(run, grades, ties, lambda grade: as_list([]).credit_of(grade) > 0)]


def _shared(run, ties):
    """The one rank of items with equal scores, if they have one."""
    if ties not in ("group_end", "group_mean") or not isinstance(run, dict):
        return None
    above = {item: sum(other > score for other in run.values()) for item, score in run.items()}
    tied = {item: sum(other == score for other in run.values()) for item, score in run.items()}
    return {
        item: above[item] + (tied[item] if ties == "group_end" else math.floor((1 + tied[item]) / 2)) for item in run
    }


def _mean_ratio(function, lists):
    ratios = [function(one) for one in lists]
    same = all(math.isclose(possible, ratios[0][1], rel_tol=1e-12) for _, possible in ratios)
    assert same, "what could be earned depends on the order of tied items"
    return math.fsum(earned for earned, _ in ratios) / len(ratios), ratios[0][1]


def _finished(name, value):
    return math.sqrt(value) if name == "rmse" else value


def _mean_of_all(name, function, options, lists, ratios, values, counted):
    averaging = options["averaging"]
    chosen = [value for value, counts in zip(values, counted, strict=True) if counts]
    if options["nan_in_mean"] == "zero":
        chosen = [0.0 if math.isnan(value) else value for value in chosen]
    if averaging == "one_list":
        return _pooled(name, function, options, lists)
    if not chosen:
        if options["no_queries"] == "error":
            raise RefusedError
        return float(options["no_queries"])
    if averaging == "micro":
        earned = math.fsum(earned for (earned, _), counts in zip(ratios, counted, strict=True) if counts)
        possible = math.fsum(possible for (_, possible), counts in zip(ratios, counted, strict=True) if counts)
        return _divided(name, options, earned, possible)
    if averaging == "geometric":
        if any(math.isnan(value) for value in chosen):
            return math.nan
        return math.exp(math.fsum(math.log(max(value, 0.00001)) for value in chosen) / len(chosen))
    return math.fsum(chosen) / (1 if averaging == "sum" else len(chosen))


def _pooled(name, function, options, lists):
    """All rated items of all queries as one list."""
    first = [one[0] for one in lists.values()]
    scores = {(query, item): one.scores[item] for query, one in enumerate(first) for item in one.scores}
    truth = {(query, item): grade for query, one in enumerate(first) for item, grade in one.truth.items()}
    items = sorted(scores, key=lambda item: -scores[item])
    earned, possible = function(List(items, scores, truth, None, options, 0.0))
    return _divided(name, options, earned, possible)


def _divided(name, options, earned, possible):
    if possible == 0:
        if options["undefined"] == "error":
            raise RefusedError
        return math.nan if isinstance(options["undefined"], str) else float(options["undefined"])
    return _finished(name, earned / possible)
