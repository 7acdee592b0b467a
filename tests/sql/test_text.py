"""`rs.sql.text` gives the numbers of `rs.evaluate`, in each engine: every metric, parameter, convention and choice.

What can go wrong with names, tables and errors is in test_text_traps.py; how the texts look, in test_text_words.py.
"""

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.presets import PRESETS
from rankstone.metrics import declared
from tests.effort import examples
from tests.sql.engines import MARKED, everywhere
from tests.sql.measured import agree, evaluated, lists, lists_of, put, roles, rows_of
from tests.table import cases
from tests.table.test_own_metric import halves  # noqa: F401 - a fixture

# Three queries in both, one in the truth alone, one in the run alone. Ids differ in their orders, and scores are tied.
TRUTH = {
    "q1": {"a": 2, "b": 1, "Bc": 0, "10": 4, "é": -1},
    "q10": {"9": 0.5, "10": 3, "": -2, "zz": 1, "\U0001f600": 1.5},
    "q2": {"a": 0, "zz": 0.25, "z": 0, "b": -1},
    "q3": {"a": 1, "b": 0},
}
RUN = {
    "q1": {"Bc": 2, "a": 1, "b": 1, "zz": 1, "10": 0.5, "z": 0.5, "\U0001f600": -1},
    "q10": {"a": 2, "zz": 2, "z": 1, "10": 1, "9": 1, "": 0.5, "\U0001f600": 0.5},
    "q2": {"a": 1, "b": 1, "z": 0.5, "zz": -1},
    "Q": {"a": 1, "b": 0.5},
}
ROWS = rows_of(TRUTH, "grade"), rows_of(RUN, "score")
# What a prediction needs, and a stopping chance that is a grade: grades 0 and 1, scores from 0 to 1.
CLICKS = {query: {item: int(grade >= 1) for item, grade in items.items()} for query, items in TRUTH.items()}
CHANCES = {query: {item: (score + 1) / 4 for item, score in items.items()} for query, items in RUN.items()}
# Lists: an empty one, one of a query that is judged empty, and one of a query that nobody judged.
GRADED = {query: {item: max(int(grade), 0) for item, grade in items.items()} for query, items in TRUTH.items()}
GAPS = lists_of(GRADED | {"none": {}}, "grade"), lists_of(RUN | {"q3": {}, "none": {"a": 1}}, "score")
# Every returned item is judged, and every query has both kinds.
WHOLE = (
    lists_of({"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 0, "d": 1}}, "grade"),
    lists_of({"q1": {"b": 2, "a": 1, "c": 1}, "q2": {"d": 1.5, "a": 0.5}}, "score"),
)

FAMILIES = {}  # metrics by the file they are in
for _name, _row in cases.fed().items():
    if _row.kind != "agreement":
        FAMILIES.setdefault(_row.function.__module__.rpartition(".")[2], []).append(_name)
NAMES = list(itertools.chain(*FAMILIES.values()))
SOME = ["ndcg@3", "ap", "rr", "precision@3", "recall@3", "num_ret"]


def variants(name):
    """A metric with each value of each parameter, whole and cut."""
    row, plain = declared()[name], rs.authoring.Metric(name)
    values = {key: [one for one in some if one != "repeats"] for key, some in cases.parameter_values(row).items()}
    given = [plain.given(**{key: one}) for key, some in values.items() for one in some]  # SQL says all but repeats
    return [metric for one in (plain, *given) for metric in ([one, one @ 3] if row.takes_k else [one])]


@everywhere("family", list(FAMILIES))
def test_every_metric(engine, family):
    metrics = dict.fromkeys(metric for name in FAMILIES[family] for metric in variants(name))
    picky = {one for one in metrics if one.declaration.kind == "ratings" or set(one.params) & set(cases.REFUSING)}
    for some, data in (
        ([one for one in metrics if one not in picky], ROWS),
        ([one for one in metrics if one in picky], (rows_of(CLICKS, "grade"), rows_of(CHANCES, "score"))),
    ):
        for at in range(0, len(some), 50):  # larger statements are no faster
            agree(engine, some[at : at + 50], *data)


@pytest.mark.parametrize("engine", [one for one in MARKED if one.values == ("spark",)], indirect=True)
def test_every_metric_in_spark(engine):
    """Which takes minutes for every value of every parameter: the discounts have all the functions that it needs."""
    ratings = [name for name in NAMES if declared()[name].kind == "ratings"]
    agree(engine, ratings, rows_of(CLICKS, "grade"), rows_of(CHANCES, "score"))
    rest = [f"{name}@3" if declared()[name].takes_k else name for name in NAMES if name not in ratings]
    discounts = [rs.dcg(discount=word, gain="exp1.5") for word in declared()["dcg"].words("discount")]
    agree(engine, [*rest, *discounts], *ROWS)


CONDENSED = [
    {}, {"ties": "expected"}, {"ties": "pessimistic"}, {"missing": "skip", "empty_list": "skip"}, {"empty_list": "nan"},
    {"averaging": "one_list", "ties": "pessimistic"}, {"short_list": "zero"},
]  # fmt: skip


@everywhere("choices", CONDENSED, CONDENSED[:1])
def test_condensed_lists(engine, choices):
    """What nobody judged leaves the lists: rows, and lists of which one is left empty, and one is not judged."""
    metrics = [*SOME, "judged@3", "auc"]
    if choices.get("ties") != "expected":
        metrics.append("bpref")
    gone = RUN | {"q3": {"z": 1, "zz": 0.5}}  # nothing of it is judged
    for truth, run in (ROWS, (ROWS[0], rows_of(gone, "score")), GAPS):
        some = [one for one in metrics if is_measured(one, truth, run, unjudged="condensed", **choices)]
        assert len(some) > 4
        if choices.get("ties") == "expected":
            some.remove("rr")  # SQL has no words for it
        agree(engine, some, truth, run, unjudged="condensed", **choices)


def test_a_list_that_is_left_empty_is_an_error(engine):
    run = rows_of(RUN | {"q3": {"z": 1, "zz": 0.5}}, "score")
    with pytest.raises(ValueError, match="an empty list for 1 queries: 'q3'"):
        agree(engine, "ap", ROWS[0], run, unjudged="condensed", empty_list="error")
    put(engine, "judgments", ROWS[0])
    put(engine, "results", run)
    text = rs.sql.text("ap", dialect=engine.dialect, unjudged="condensed", empty_list="error", ids="text",
                       truth="judgments", run="results")  # fmt: skip
    with pytest.raises(Exception, match="an empty list for query q3"):
        engine.ask(text)


def test_a_metric_of_the_users_own(engine, halves):  # noqa: F811
    agree(engine, [halves, halves @ 2, halves(least=2) @ 3, "ndcg@3"], *ROWS)


# -- conventions ---------------------------------------------------------------------------------------------

ROUNDED = (
    "recbole", "preference-note", "preference-note-masked", "python-recsys", "mteb", "mteb-before-2.18.19",
    "mteb+defects", "beir",
)  # fmt: skip
IN_FLOAT32 = [name for name, row in PRESETS.items() if row["choices"].get("score_precision") == "float32"]
SAID = [
    pytest.param(*engine.values, preset, marks=engine.marks)
    for engine in MARKED
    for preset in {"sqlite": PRESETS, "duckdb": IN_FLOAT32, "spark": ()}.get(engine.values[0], ("hivemall",))
]


@pytest.mark.parametrize(("engine", "preset"), SAID, indirect=["engine"])
def test_conventions(engine, preset):
    """All metrics that `rs.evaluate` can measure as a preset says."""
    how = {"convention": preset, "digits": None}
    if engine.dialect == "sqlite":  # which has no others
        how["score_precision"] = "float64"
    metrics = [f"{name}@3" if declared()[name].takes_k else name for name in NAMES] + ["ndcg", "ap", "rr", "auc"]
    if engine.dialect not in ("sqlite", "duckdb"):  # where a few will do
        metrics = metrics[::4]
    for data in (GAPS, WHOLE):
        measured = [metric for metric in metrics if is_measured(metric, *data, **how)]
        refused = [metric for metric in measured if is_beyond_sql(metric, **how)]
        metrics = [metric for metric in metrics if metric not in refused]
        measured = [metric for metric in measured if metric not in refused]
        metrics = [metric for metric in metrics if metric not in measured]
        if measured:
            agree(engine, measured, *data, **how)
    assert len(metrics) < 12


def is_beyond_sql(metric, **how):
    """A threshold per query, and repeated items, are in some presets and not in SQL."""
    try:
        rs.sql.text(metric, lists=True, columns=COLUMNS, **how)
    except ValueError as error:
        return "SQL cannot express it" in str(error) and declared()[metric.partition("@")[0]].kind in (
            "ranking",
            "count",
        )
    return False


def is_measured(metric, truth, run, **how):
    try:
        evaluated(metric, truth, run, columns=roles(truth, run), **how)
    except ValueError:
        return False
    return True


COLUMNS = {"grade": "grade", "score": "score"}


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - ROUNDED))
def test_lists_have_all_that_a_convention_asks_for(preset):
    threshold = PRESETS[preset]["choices"].get("threshold")
    asked = {"threshold": ">0"} if threshold == "relative" else {}  # one per query, which SQL cannot express
    assert rs.sql.text(["precision", "ap"], convention=preset, lists=True, columns=COLUMNS, **asked)


@pytest.mark.parametrize("preset", ROUNDED)
def test_rounded_means(preset):
    with pytest.raises(ValueError, match="databases round halves in their own ways"):
        rs.sql.text(["precision", "ap", "rmse"], convention=preset, lists=True, columns=COLUMNS)


@pytest.mark.parametrize("preset", PRESETS)
def test_rows_have_no_order(preset):
    choices = PRESETS[preset]["choices"]
    if TIES[choices.get("ties", "item_desc")].by == "input" or "first" in choices.values():
        with pytest.raises(ValueError, match="rows of a table have no order"):
            rs.sql.text(["precision", "ap"], convention=preset, digits=None)
    else:
        assert rs.sql.text(["precision", "ap"], convention=preset, digits=None)


# -- choices, one with the other -----------------------------------------------------------------------------

EXAMPLES = {"duckdb": 1, "sqlite": 2.5, "postgres": 0.75, "clickhouse": 0.3, "datafusion": 0.5, "spark": 0.075}
NUMBERS = {"threshold": (1, 2, ">0", "all", 0), "default_k": (3,), "query_digits": (4,)}
VALUES = {
    name: (*choice.allowed, *NUMBERS.get(name, ()), *((0.5,) if choice.numbers else ()))
    for name, choice in CHOICES.items()
    if name != "digits"
}
# Why there is no text though there is a number.
NOT_IN_SQL = "|".join(
    (
        "rows of a table have no order",
        "sqlite has no such numbers",
        "no closed form over",  # which some data needs none of
        "needs scores, and the run has",
        "the run is only an order of items",
    )
)
# What errors say of the data.
PROBLEMS = "|".join(
    (
        "appears twice",
        "is judged twice",
        "no query in common",
        "lacks query",
        "an empty list",
        "the value is undefined: its denominator is 0",
        "no relevant item",
        "no query to average over",
        "needs a grade for every row",
        "not a probability",
        "is negative",
        "has no entry for grade",
    )
)


def _with_repeats(draw, side):
    """The same with an item that is there twice."""
    at = draw(st.sampled_from([at for at, items in enumerate(side["item"]) if items != []]))
    if not isinstance(side["item"][at], list):
        return {name: [*values, values[at]] for name, values in side.items()}
    again = draw(st.integers(0, len(side["item"][at]) - 1))
    lists = [name for name in side if name != "query"]
    return side | {
        name: [[*cell, cell[again]] if row == at else cell for row, cell in enumerate(side[name])] for name in lists
    }


@st.composite
def asked(draw):
    """Metrics, two tables, and choices; an item may be there twice."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2))
    rated = any(declared()[name].kind == "ratings" for name in names)
    truth, run = draw(cases.pairs(*(["probability"] * 2 if rated else ()), lists=False))
    assume(any(truth.values()) and any(run.values()))
    places = {query: list(items) for query, items in run.items()}
    truth = draw(st.sampled_from((rows_of(truth, "grade"), lists_of(truth), lists_of(truth, "grade"))))
    shapes = rows_of(run, "score"), rows_of(places, "rank"), lists_of(run), lists_of(run, "score")
    run = draw(st.sampled_from(shapes))
    sides = [_with_repeats(draw, side) if draw(st.integers(0, 4)) == 0 else side for side in (truth, run)]
    metrics = [draw(cases.metrics(name, refusing=True))[0] for name in names]
    choices = {name: draw(st.sampled_from(values)) for name, values in VALUES.items() if draw(st.integers(0, 6)) == 0}
    return metrics, *sides, {"columns": roles(*sides), **choices}


def test_choices(engine):
    @examples(EXAMPLES[engine.dialect], report_multiple_bugs=False)
    @given(asked())
    def agree_or_refuse(case):
        metrics, truth, run, how = case
        put(engine, "judgments", truth)
        put(engine, "results", run)
        said_of = {"dialect": engine.dialect, "lists": lists(truth, run), **how}
        if problem_with(evaluated, metrics, truth, run, **how):
            problem = problem_with(rs.sql.text, metrics, **said_of)
            assert problem or re.search(PROBLEMS, problem_with(engine.ask, rs.sql.text(metrics, **said_of)))
        elif problem := problem_with(rs.sql.text, metrics, **said_of):
            assert re.search(NOT_IN_SQL, problem)
        else:
            agree(engine, metrics, truth, run, **how)

    agree_or_refuse()


def problem_with(function, *given, **how):
    """The error that a call ends in; nothing if it does not."""
    try:
        function(*given, **how)
    except Exception as error:
        return str(error)
    return ""
