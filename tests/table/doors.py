"""One set of data in the form of every door, and what must come out: the numbers of nested dicts."""

import json
import math
import re
from dataclasses import dataclass
from functools import cache

import numpy as np

import rankstone as rs

from .cases import fed

# -- the data ------------------------------------------------------------------------------------------------

GRADES = (-1, 0, 0, 1, 1, 2, 3)
SCORES = (-0.5, 0.0, 0.25, 0.5, 0.5, 0.75, 0.875, 1.0)  # few, so that many are tied


@dataclass(frozen=True, eq=False)
class Data:
    """A truth and a run."""

    truth: dict
    run: dict
    arrays: tuple = ()  # scores, labels and mask, if it is a rectangle


@cache
def made(ids):
    """Queries of all kinds: in both sides, in one of them, with an empty list, with an empty truth, all irrelevant."""
    rng = np.random.default_rng(7)
    items = [f"i{n}" for n in range(14)] if ids == "text" else [3 * n - 11 for n in range(14)]
    truth, run = {}, {}
    for n in range(30):
        query = f"q{n}" if ids == "text" else 7 * n - 40
        judged, found = rng.permutation(14)[: rng.integers(1, 9)], rng.permutation(14)[: rng.integers(1, 13)]
        grades = (0,) if n % 9 == 4 else GRADES
        if n % 10 != 3:
            truth[query] = {} if n % 13 == 5 else {items[at]: int(rng.choice(grades)) for at in judged}
        if n % 8 != 6:
            run[query] = {} if n % 11 == 7 else {items[at]: float(rng.choice(SCORES)) for at in found}
    return Data(truth, run)


@cache
def filled(ids):
    """The same without what rows cannot say: a query whose truth or list is empty."""
    data = made(ids)
    return Data(*({query: one for query, one in side.items() if one} for side in (data.truth, data.run)))


@cache
def numbered():
    """The same with queries 0, 1, 2 ... that both sides have, and items 0, 1, 2 ..., as a matrix has them."""
    data = made("whole")
    truth, run = (
        {
            at: {(item + 11) // 3: value for item, value in side.get(query, {}).items()}
            for at, query in enumerate(data.truth)
        }
        for side in (data.truth, data.run)
    )
    return Data(*({query: dict(sorted(one.items())) for query, one in side.items()} for side in (truth, run)))


@cache
def rectangle():
    """Every item of a list is judged, and every judged item is in the list: matrices, with a mask."""
    rng = np.random.default_rng(11)
    shape = 24, 9
    labels, scores = rng.choice(GRADES, shape).astype(float), rng.choice(SCORES, shape)
    labels[4] = 0
    mask = rng.random(shape) < 0.7
    mask[2], mask[3] = False, True
    return of_cells(scores, labels, mask)


@cache
def full():
    """A rectangle without holes."""
    scores, labels, _ = rectangle().arrays
    return of_cells(scores, labels, np.ones(labels.shape, dtype=bool))


@cache
def left_aligned():
    """A rectangle of rows of different lengths."""
    scores, labels, _ = rectangle().arrays
    return of_cells(scores, labels, np.arange(9) < np.arange(24)[:, None] % 10)


def of_cells(scores, labels, mask):
    cells = [np.flatnonzero(row).tolist() for row in mask]
    sides = ({i: {j: float(side[i, j]) for j in row} for i, row in enumerate(cells)} for side in (labels, scores))
    return Data(*sides, (scores, labels, mask))


def as_text(data):
    """The same with text for ids, as some files have no other."""
    sides = (
        {str(query): {str(item): value for item, value in one.items()} for query, one in side.items()}
        for side in (data.truth, data.run)
    )
    return Data(*sides)


# -- rows and lists ------------------------------------------------------------------------------------------


class Rows:
    """Both sides as rows. mixed: in any order; if not, queries stand between each other, each in its own order."""

    def __init__(self, data, mixed):
        self.truth, self.run = (self._columns(side, mixed) for side in (data.truth, data.run))

    @staticmethod
    def _columns(side, mixed):
        rng = np.random.default_rng(3)
        rows = [(query, item, value) for query, one in side.items() for item, value in one.items()]
        turn = [one for content in side.values() for one in np.sort(rng.random(len(content)))]
        order = rng.permutation(len(rows)) if mixed else np.argsort(turn)
        return tuple(list(column) for column in zip(*(rows[at] for at in order), strict=True))

    def tables(self, make):
        """Both sides as tables; `make` takes a dict of columns."""
        sides = ((self.truth, "grade"), (self.run, "score"))
        return [make({"query": side[0], "item": side[1], value: side[2]}) for side, value in sides]


def listed(data):
    """Both sides as columns of lists."""
    sides = ((data.truth, "grades"), (data.run, "scores"))
    return [
        {
            "query": list(side),
            "items": [list(one) for one in side.values()],
            value: [list(one.values()) for one in side.values()],
        }
        for side, value in sides
    ]


# -- what must come out --------------------------------------------------------------------------------------


def evaluate(*sides, **given):
    return rs.evaluate(*sides, **given)


def every_metric():
    return [rs.authoring.Metric(row.name, k) for row in fed().values() for k in ((None, 3) if row.takes_k else (None,))]


class Numbers:
    """Means, and values by query."""

    def __init__(self, result, names=None):
        self.means = {str(label): result[label] for label in result}
        per_query = getattr(result, "per_query", None)
        self.values = None
        if per_query is not None:
            queries = [names(query) for query in result.queries] if names else list(result.queries)
            self.values = {
                str(label): dict(zip(queries, np.asarray(per_query[label]).tolist(), strict=True)) for label in result
            }


def choices_of(convention):
    """A convention that has no room for a missing query leaves it out here, as the data has some."""
    return {"missing": "skip"} if rs.conventions[convention].choices.get("missing") == "error" else {}


@cache
def expected(data, convention):
    """The numbers of nested dicts by metric, and what is said to those that are refused."""

    def door(metrics, **given):
        return Numbers(evaluate(data.truth, data.run, metrics=metrics, **given))

    return asked_of(door, every_metric(), {"convention": convention, **choices_of(convention)})


def asked_of(door, metrics, given):
    """The numbers that a door gives by metric, and what it says to those that it refuses."""
    if not metrics:
        return {}, {}
    try:
        return dict.fromkeys(metrics, door(metrics, **given)), {}
    except (ValueError, AttributeError) as error:
        why = str(error)
    named = metrics if len(metrics) == 1 else [one for one in metrics if re.match(rf"{re.escape(str(one))}[: ]", why)]
    if named:  # the others once more
        found, refused = asked_of(door, [one for one in metrics if one not in named], given)
        return found, {**refused, **dict.fromkeys(named, why)}
    halves = [asked_of(door, half, given) for half in (metrics[::2], metrics[1::2])]
    return tuple({**one, **other} for one, other in zip(*halves, strict=True))


def goes_by_rows(convention):
    """Does the order of the run's rows matter to a convention."""
    chosen = rs.conventions[convention].choices
    return any(name.endswith("ties") and value in ("input", "reverse_input") for name, value in chosen.items())


def goes_by_the_truths_rows(metric, convention):
    """Does the order of the truth's rows matter: a convention says so."""
    return rs.conventions[convention].choices.get("truth_depth") == "k"


def goes_by_lists_of_grades(metric, convention):
    """Does the order of a list of grades matter, where that of a dict does not."""
    return metric.name == "ndcg" and "given" in rs.conventions[convention].choices.values()


def close(one, other):
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-14)


def difference(found, wanted, label):
    """What differs first, in words; nothing if all is the same."""
    if label in found.means and not close(found.means[label], wanted.means[label]):
        return f"{label}: the mean is {found.means[label]!r}, not {wanted.means[label]!r}"
    if found.values is None:
        return ""
    values, others = found.values[label], wanted.values[label]
    if values.keys() != others.keys():
        return f"{label}: queries {sorted(map(str, values.keys() ^ others.keys()))} are in one only"
    wrong = [query for query, value in others.items() if not close(values[query], value)]
    return f"{label}: {wrong[0]!r} has {values[wrong[0]]!r}, not {others[wrong[0]]!r}" if wrong else ""


def compare(door, data, convention, metrics, limits=()):
    """A door says what dicts say of each metric, or refuses it where it must: dicts do too, or its limits say why.

    How many it gave numbers for.
    """
    wanted, unwanted = expected(data, convention)
    found, refused = asked_of(door, metrics, {"convention": convention, **choices_of(convention)})
    for metric, numbers in found.items():
        if metric in unwanted and not numbers.means and "averaging=" in unwanted[metric]:
            continue  # only its mean is refused
        assert metric in wanted, f"{convention}: {metric} is refused for dicts, and is not here: {unwanted[metric]}"
        wrong = difference(numbers, wanted[metric], str(metric))
        assert not wrong, f"{convention}: {wrong}"
    for metric, why in refused.items():
        stated = metric not in wanted or any(re.search(limit, why) for limit in limits)
        assert stated, f"{convention}: {metric} is refused, and not for dicts: {why}"
    return len(found)


# -- files ---------------------------------------------------------------------------------------------------


def write_trec(path, columns, what):
    lines = [
        f"{query} 0 {item} {value}" if what == "truth" else f"{query} Q0 {item} {at} {value!r} made"
        for at, (query, item, value) in enumerate(zip(*columns, strict=True), 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_csv(path, columns, what):
    value = "grade" if what == "truth" else "score"
    lines = [f"query,item,{value}", *(f"{q},{i},{v!r}" for q, i, v in zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_jsonl(path, columns, what):
    value = "grade" if what == "truth" else "score"
    rows = [json.dumps({"query": q, "item": i, value: v}) for q, i, v in zip(*columns, strict=True)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_parquet(path, columns, what):
    import pyarrow
    import pyarrow.parquet

    names = ["query", "item", "grade" if what == "truth" else "score"]
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), path, row_group_size=40)


WRITERS = {"trec": write_trec, "csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}
