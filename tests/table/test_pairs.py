"""Every pair of values of a metric's parameters and choices, on crafted lists, against the slow definition.

A rule that shows only where two values meet (`ideal="nonzero"` where negative grades count) is met here each time, and
not only where a generator happens to try both. Tables of all pairs are made below; the data is fixed.
"""

import itertools
import random
from functools import cache

import numpy as np
import pytest

import rankstone as rs

from . import slow
from .cases import fed, parameter_values

# -- the data ------------------------------------------------------------------------------------------------

# Not in the order of the grades, nor in that of the items.
TRUTHS = {
    "graded": {"c": 1, "a": 3, "e": 0, "b": 2, "d": 0, "f": 1},
    "negative": {"b": -1, "e": 1, "c": 0, "a": 2, "d": -2},
    "negative and zeros": {"d": 0, "c": -1, "a": 1, "b": 0, "x": 0, "y": -2},
    "only negative": {"b": -2, "a": -1},
    "zeros": {"a": 0, "c": 0, "b": 0},
    "fractions": {"d": 0.25, "a": 0.5, "b": 1.5, "c": 1, "e": 0.25, "x": -1},
    "tied grades": {"c": 1, "x": 2, "b": 1, "a": 2, "d": 1, "y": 0, "e": 4},
    "not returned": {"x": 2, "y": 0, "z": 1},
    "one": {"c": 1},
    "none": {},
}
# Of "u", "v" and "w" no truth knows anything.
RUNS = {
    "best first": {"a": 6.0, "b": 5.0, "c": 4.0, "d": 3.0, "e": 2.0, "f": 1.0},
    "unjudged between": {"u": 0.9, "a": 0.8, "v": 0.7, "c": 0.6, "w": 0.5, "d": 0.4},
    "tied": {"v": 2.0, "d": 2.0, "a": 2.0, "c": 1.0, "b": 1.0, "u": 0.5},
    "all tied": {"b": 0.5, "u": 0.5, "a": 0.5, "c": 0.5},
    "nothing above zero": {"a": 0.0, "c": -0.5, "b": 1.0, "d": -0.5, "x": 0.25},
    "an order": ["d", "a", "u", "e", "c", "b"],
    "one": {"c": 1.0},
    "empty": {},
    "missing": None,
}
LISTED_TRUTHS = {"three": ["b", "a", "d"], "seven": ["c", "x", "a", "e", "b", "y", "d"], "one": ["c"], "none": []}
PROBABILITIES = {"truth": (0, 1, 1, 0, 0, 1), "run": (0.25, 0.5, 1.0, 0.0, 0.5, 0.125)}


def crossed(truths, runs=RUNS):
    """Every truth with every run."""
    truth, run = {}, {}
    for (one, grades), (other, scores) in itertools.product(truths.items(), runs.items()):
        truth[f"{one} / {other}"] = grades
        if scores is not None:
            run[f"{one} / {other}"] = scores
    return truth, run


def with_scores(runs=RUNS):
    return {name: run for name, run in runs.items() if not isinstance(run, list)}


def probabilities():
    """Grades of 0 and 1, and predictions of them, cut off at every length."""
    items, judged, predicted = "abcdef", PROBABILITIES["truth"], PROBABILITIES["run"]
    truths = {str(n): dict(zip(items[:n], judged, strict=False)) for n in range(7)}
    return crossed(truths, {str(n): dict(zip(items[-n:], predicted[-n:], strict=True)) for n in range(1, 7)})


def corpora(row):
    """The data that a metric can read."""
    if row.name == "logloss":
        return [probabilities()]
    if row.kind == "ratings":
        return [crossed(TRUTHS, with_scores()), probabilities()]
    return [crossed(TRUTHS), crossed(LISTED_TRUTHS)] if row.kind == "agreement" else [crossed(TRUTHS)]


# -- tables of all pairs -------------------------------------------------------------------------------------

ORDERS = ("item_desc", "item_asc", "input", "reverse_input", "optimistic", "pessimistic")
SHARED = ("group_end", "group_mean")
AVERAGED = ("expected", *SHARED)
THRESHOLDS = (1, 2, ">0", 0, "all", "relative")
KS = (None, 1, 3, 12)
ODD_GAINS = {-2: 2.0, -1: -1.0, 0: 0.25, 0.25: 1.0, 0.5: 0.0, 1: 0.5, 1.5: 4.0, 2: -0.5, 3: 1.0, 4: 0.75}
MORE = {"recall": (0.35,), "gain": (ODD_GAINS,)}  # 0.35 of three items is where 0.9 of an item is not enough


def choices_of(row):
    """The general choices that can matter to a metric, each with its values, the default first."""
    ties = (*ORDERS, *AVERAGED) if row.expected else ORDERS
    values = {"ties": ties, "undefined": (0, 0.25, "nan", "skip", "error")}
    if row.kind in ("ratings", "agreement"):
        return values
    values |= {"threshold": THRESHOLDS, "unjudged": ("nonrelevant", "only_returned", "condensed")}
    if row.takes_k or row.counts_hits:
        values["truth_depth"] = ("all", "k")
    if not row.binary_only:
        values |= {"relevance": ("binary", "clipped"), "nonpositive_score": ("count", "miss")}
    return values


def refused(one, other):
    """Do two values not go together, each a name and a value."""
    together = {one, other}
    if any(name == "unjudged_gain" and value for name, value in together):
        return ("unjudged", "only_returned") in together or any(("ties", value) in together for value in SHARED)
    if ("unjudged", "only_returned") not in together:
        return False
    return ("truth_depth", "k") in together or any(("threshold", value) in together for value in (0, "all"))


def all_pairs(values, refuse=lambda one, other: False):
    """Rows of values, few of them, in which any two values of different names stand together somewhere."""
    rng = random.Random(len(values))
    marks = {name: [(name, at) for at in range(len(some))] for name, some in values.items()}  # values can be dicts

    def together(one, other):
        pair = [(name, values[name][at]) for name, at in (one, other)]
        return all(isinstance(value, dict) for _, value in pair) or not refuse(*map(_hashable, pair))

    left = {
        frozenset(pair)
        for one, other in itertools.combinations(marks.values(), 2)
        for pair in itertools.product(one, other)
        if together(*pair)
    }
    while left:
        row = sorted(min(left, key=sorted))
        for name in rng.sample(list(marks), len(marks)):
            if name in dict(row):
                continue
            fitting = [mark for mark in marks[name] if all(together(mark, other) for other in row)]
            new = {mark: sum(frozenset((mark, other)) in left for other in row) for mark in fitting}
            row.append(rng.choice([mark for mark in fitting if new[mark] == max(new.values())]))
        left -= {frozenset(pair) for pair in itertools.combinations(row, 2)}
        yield {name: values[name][at] for name, at in row}


def beside_defaults(values, defaults, refuse):
    """Rows of any two values that are no defaults, with all other names at their defaults, where nothing hides them."""
    others = [(name, value) for name, some in values.items() for value in some if value != defaults.get(name, some[0])]
    for one, other in itertools.combinations(others, 2):
        if one[0] != other[0] and not refuse(*map(_hashable, (one, other))):
            yield {**defaults, **dict((one, other))}


def _hashable(pair):
    return pair if not isinstance(pair[1], dict) else (pair[0], None)


def parameters_of(row):
    values = parameter_values(row)
    return {name: some if row.words(name) else (*some, *MORE.get(name, ())) for name, some in values.items()}


@cache
def table(row):
    """Rows of parameters and choices: pairs beside the defaults, then pairs beside anything."""
    parameters, choices = parameters_of(row), choices_of(row)
    near = {name: choices[name] for name in ("unjudged",) if name in choices}
    pairs = beside_defaults({**parameters, **near}, row.defaults, refused)
    made = [*pairs, *all_pairs({**parameters, **choices}, refused)]
    return [[{name: row[name] for name in some if name in row} for some in (parameters, choices)] for row in made]


def test_all_pairs_are_there():
    values = {"a": (1, 2, 3), "b": (1, {2: 3}), "c": ("x", "y", "z"), "d": (None, 0)}
    made = list(all_pairs(values, lambda one, other: {one, other} == {("a", 1), ("c", "x")}))
    assert len(made) < 15  # of 36
    for (one, ones), (other, others) in itertools.combinations(values.items(), 2):
        for x, y in itertools.product(ones, others):
            there = any(row[one] == x and row[other] == y for row in made)
            assert there != ((one, other, x, y) == ("a", "c", 1, "x"))


# -- both opinions -------------------------------------------------------------------------------------------

REFUSAL = r"the value is undefined|negative|not a probability|the gain table does not map grade 0 to gain 0"


def measured(metric, truth, run, choices):
    """The package's value of each query."""
    result = rs.evaluate(truth, run, metric, **choices)
    return dict(zip(result.queries, result.per_query[metric], strict=True))


def opinion(metric, params, truth, run, choices):
    """The slow value of each query, but for those that are refused."""
    try:
        outcome = slow.evaluate(metric.name, metric.k, params, truth, run, choices)
    except slow.RefusedError:
        fine = [query for query in truth if not is_refused(metric, params, *only([query], truth, run), choices)]
        assert len(fine) < len(truth), f"{metric} is refused, but none of its queries is"
        outcome = slow.evaluate(metric.name, metric.k, params, *only(fine, truth, run), choices)
    return dict(zip(outcome.queries, outcome.values, strict=True))


def is_refused(metric, params, truth, run, choices):
    try:
        slow.evaluate(metric.name, metric.k, params, truth, run, choices)
    except slow.RefusedError:
        return True
    return False


def only(queries, *sides):
    return [{query: side[query] for query in queries if query in side} for side in sides]


def has_no_closed_form(metric, params, choices):
    """Where the mean over all orders, or one rank for all that are tied, cannot be had."""
    ties, name = choices.get("ties"), metric.name
    if name == "auc":
        in_list = metric.k is not None and (params["pairs"] == "list" or choices.get("unjudged") == "only_returned")
        shared = ties in SHARED and (params["tied_pairs"] == "order" or in_list)
        return shared or (ties == "expected" and metric.k is not None)
    if ties != "expected":
        return False
    in_part = choices.get("relevance") == "clipped" and name == "ap"
    cut_truth = choices.get("truth_depth") == "k" and name == "hit_rate"
    divisors = {params.get("divisor"), params.get("precision_divisor")}
    of_found = divisors & {"found", "judged"} or params.get("terms") == "mean" or params.get("misses") == "undefined"
    repeats = params.get("ideal") == "repeats"
    return bool(in_part or cut_truth or of_found or repeats or params.get("term_digits") is not None)


def compare(measure, metric, params, truth, run, choices):
    """Both say the same of every query, or both refuse it."""
    what = f"{metric} {choices}"
    if has_no_closed_form(metric, params, choices):
        with pytest.raises(rs.errors.NoClosedFormError):
            measure(metric, truth, run, choices)
        return
    expected = opinion(metric, params, truth, run, choices)
    bad = [query for query in truth if query not in expected]
    if bad:
        for queries in (list(truth), *([query] for query in bad[::7])):
            with pytest.raises(ValueError, match=REFUSAL):
                pytest.fail(f"{what} is not refused: {measure(metric, *only(queries, truth, run), choices)}")
        truth, run = only(expected, truth, run)
    found = measure(metric, truth, run, choices)
    assert list(found) == list(expected)
    same = np.isclose(list(found.values()), list(expected.values()), rtol=1e-12, atol=1e-12, equal_nan=True)
    wrong = [query for query, is_same in zip(expected, same, strict=True) if not is_same]
    assert not wrong, f"{what}: " + "; ".join(f"{one}: {found[one]}, not {expected[one]}" for one in wrong)


def asked(row):
    """A table's rows as metrics, their parameters and the choices."""
    for params, choices in table(row):
        for k in KS if row.takes_k else (None,):
            yield rs.authoring.Metric(row.name, k).given(**params), params, choices


ROWS = list(fed().values())


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_pairs(row):
    data = corpora(row)
    for metric, params, choices in asked(row):
        for truth, run in data:
            compare(measured, metric, params, truth, run, choices)


# -- arrays --------------------------------------------------------------------------------------------------

LABELS = np.array(
    [
        [1, 3, 0, 2, 0, 1],
        [-1, 1, 0, 2, -2, 0],
        [0, -1, 1, 0, 0, -2],
        [-2, -1, -1, -2, -1, -2],
        [0, 0, 0, 0, 0, 0],
        [0.25, 0.5, 1.5, 1, 0.25, -1],
        [1, 2, 1, 2, 0, 4],
    ]
)
SCORES = np.array(
    [
        [6.0, 5.0, 4.0, 3.0, 2.0, 1.0],
        [1.0, 3.0, 2.0, 5.0, 4.0, 6.0],
        [2.0, 1.0, 2.0, 2.0, 1.0, 0.5],
        [0.5, 0.25, 0.5, 0.5, 0.25, 0.5],
        [0.0, -0.5, 1.0, -0.5, 0.25, -0.0],
    ]
)
MASKS = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0], [0] * 6], dtype=bool)


def rectangles(row):
    """Every row of labels with every row of scores, under one mask or the other: scores, labels and masks."""
    pairs = list(itertools.product(range(len(LABELS)), range(len(SCORES))))
    labels, scores = (np.array(side) for side in zip(*((LABELS[i], SCORES[j]) for i, j in pairs), strict=True))
    mask = MASKS[[(i + j) % 7 % len(MASKS) for i, j in pairs]]
    if row.name == "logloss":
        labels, scores = (labels > 0).astype(float), np.clip(scores / 6, 0, 1)
    return scores, labels, mask


def as_dicts(*arrays):
    """The same as a truth and a run; the columns are the items."""
    scores, labels, mask = (array.tolist() for array in arrays)
    cells = [[at for at, real in enumerate(row) if real] for row in mask]
    truth, run = ({i: {j: side[i][j] for j in row} for i, row in enumerate(cells)} for side in (labels, scores))
    return truth, run


def of_arrays(scores, labels, mask):
    """What arrays say of some of the rows."""

    def measure(metric, truth, run, choices):
        at = list(truth)
        given = {**choices, **dict(metric.params)}
        given = {name: dict(value) if isinstance(value, tuple) else value for name, value in given.items()}
        if "max_grade" in metric.declaration.defaults and given.get("max_grade") is None:  # not that of the batch
            given["max_grade"] = max(labels[at][mask[at]].max(initial=0), 0)
        function = getattr(rs.arrays, metric.name)
        values = function(scores=scores[at], labels=labels[at], k=metric.k, mask=mask[at], **given)
        return dict(zip(at, values.tolist(), strict=True))

    return measure


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row.kind != "agreement"], ids=lambda row: row.name)
def test_pairs_of_arrays(row):
    arrays = rectangles(row)
    measure, (truth, run) = of_arrays(*arrays), as_dicts(*arrays)
    for metric, params, choices in asked(row):
        if choices.get("unjudged") == "condensed":
            with pytest.raises(
                ValueError, match=r"unjudged='condensed' removes unjudged items.*every item of a row has a label"
            ):
                measure(metric, truth, run, choices)
            continue
        compare(measure, metric, params, truth, run, choices)
