"""`rs.sql.text` gives the numbers of `rs.evaluate`, in each engine: every metric, parameter, convention and choice.

What can go wrong with names, tables and errors is in test_text_traps.py; what the texts look like, in test_text_words.py.
"""

import itertools
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rankstone as rs
from rankstone.align.ties import BY_INPUT
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.presets import PRESETS
from rankstone.metrics import declared
from tests.sql.engines import DuckDB, SQLite
from tests.sql.measured import agree, differences, evaluated, lists, lists_of, put, roles, rows_of, same
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
for _name, _row in cases.built_in().items():
    if _row.kind != "agreement":
        FAMILIES.setdefault(_row.function.__module__.rpartition(".")[2], []).append(_name)
NAMES = list(itertools.chain(*FAMILIES.values()))
SOME = ["ndcg@3", "ap", "rr", "precision@3", "recall@3", "num_ret"]


def variants(name):
    """A metric with each value of each parameter, whole and cut."""
    row, plain = declared()[name], rs.Metric(name)
    given = [plain.given(**{key: value}) for key, values in cases.parameter_values(row).items() for value in values]
    return [metric for one in (plain, *given) for metric in ([one, one @ 3] if row.takes_k else [one])]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_metric(engine, family):
    metrics = dict.fromkeys(metric for name in FAMILIES[family] for metric in variants(name))
    picky = {one for one in metrics if one.declaration.kind == "ratings" or set(one.params) & set(cases.REFUSING)}
    for some, data in (
        ([one for one in metrics if one not in picky], ROWS),
        ([one for one in metrics if one in picky], (rows_of(CLICKS, "grade"), rows_of(CHANCES, "score"))),
    ):
        for at in range(0, len(some), 50):  # larger statements are no faster
            agree(engine, some[at : at + 50], *data)


def test_a_metric_of_the_users_own(engine, halves):  # noqa: F811
    agree(engine, [halves, halves @ 2, halves(least=2) @ 3, "ndcg@3"], *ROWS)


# -- conventions ---------------------------------------------------------------------------------------------

SOME_PRESETS = ("scikit-learn", "hivemall")
ROUNDED = ("recbole", "preference-note", "preference-note-masked", "python-recsys")


@pytest.mark.parametrize("made", [DuckDB, SQLite])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_convention(made, preset):
    engine = made()
    agree_by(engine, preset)
    engine.close()


@pytest.mark.parametrize("preset", SOME_PRESETS)
def test_some_conventions(engine, preset):
    agree_by(engine, preset)


def agree_by(engine, preset):
    """All metrics that `rs.evaluate` can measure as a preset says."""
    how = {"convention": preset, "digits": None}
    if engine.dialect == "sqlite":  # which has no others
        how["score_precision"] = "float64"
    metrics = [f"{name}{cut}" for name in NAMES for cut in (("", "@3") if declared()[name].takes_k else ("",))]
    for data in (GAPS, WHOLE):
        measured = [metric for metric in metrics if is_measured(metric, *data, **how)]
        metrics = [metric for metric in metrics if metric not in measured]
        if measured:
            agree(engine, measured, *data, **how)
    assert len(metrics) < 12, metrics


def is_measured(metric, truth, run, **how):
    try:
        evaluated(metric, truth, run, columns=roles(truth, run), **how)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_convention_asks_for_is_there_or_said(preset):
    """All can be said of lists, but for means that are rounded; of rows, those that ask for no order."""
    refused = {}
    for shape, given in (("lists", True), ("rows", False)):
        try:
            rs.sql.text(["precision", "ap"], convention=preset, lists=given, columns={"grade": "grade", "score": "score"})
        except ValueError as error:
            refused[shape] = str(error)
    choices = PRESETS[preset]["choices"]
    if preset in ROUNDED:
        assert "databases round halves in their own ways" in refused.pop("lists")
    by_order = choices.get("ties") in BY_INPUT or "first" in choices.values()
    if by_order or preset in ROUNDED:
        assert re.search("rows of a table have no order|databases round halves", refused.pop("rows"))
    assert not refused


# -- choices, one with the other -----------------------------------------------------------------------------

EXAMPLES = {"duckdb": 60, "sqlite": 150, "postgres": 30, "clickhouse": 25, "datafusion": 30, "spark": 4}
NUMBERS = {"threshold": (1, 2, ">0", "all", 0), "default_k": (3,), "query_digits": (4,)}
VALUES = {
    name: (*choice.allowed, *NUMBERS.get(name, ()), *((0.5,) if choice.numbers else ()))
    for name, choice in CHOICES.items() if name != 'digits'
}
# Why a text is refused though there is a number.
NOT_IN_SQL = "|".join(
    (
        "rows of a table have no order",
        "databases round halves in their own ways",
        "sqlite has no such numbers",
        "goes by scores, and the run has",
        "the run is only an order of items",
        "no closed form over counts of tied items, which is what SQL can say",
    )
)
# What an engine's error says of the data.
PROBLEMS = "|".join(
    (
        "appears twice in the",
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
    """Tables, metrics and choices; a few rows may be there twice."""
    names = draw(st.lists(st.sampled_from(sorted(itertools.chain(*FAMILIES.values()))), min_size=1, max_size=2))
    kind = "ratings" if any(declared()[name].kind == "ratings" for name in names) else "ranking"
    truth, run = draw(cases.pairs(grades="probability", scores="probability", lists=False) if kind == "ratings" else cases.pairs(lists=False))
    assume(any(truth.values()) and any(run.values()))
    truth = draw(st.sampled_from((rows_of(truth, "grade"), lists_of(truth), lists_of(truth, "grade"))))
    run = draw(st.sampled_from((rows_of(run, "score"), rows_of({q:list(i) for q,i in run.items()}, "rank"), lists_of(run), lists_of(run, "score"))))
    sides = [_with_repeats(draw, side) if draw(st.integers(0, 4)) == 0 else side for side in (truth, run)]
    metrics = [draw(cases.metrics(name, refusing=True))[0] for name in names]
    choices = {name: draw(st.sampled_from(values)) for name, values in VALUES.items() if draw(st.integers(0, 6)) == 0}
    return metrics, *sides, {"columns": roles(*sides), **choices}


def test_choices(engine):
    @settings(max_examples=EXAMPLES[engine.dialect],report_multiple_bugs=False)
    @given(asked())
    def one(case):
        metrics, truth, run, how = case
        try:
            want = evaluated(metrics, truth, run, **how)
        except (ValueError, TypeError) as e:
            print("EVAL", e)
            put(engine, "judgments", truth); put(engine, "results", run)
            with pytest.raises(Exception) as r:
                engine.ask(rs.sql.text(metrics, dialect=engine.dialect, lists=lists(truth, run), **how))
            print("    REFUSED", str(r.value)[:200].replace("\n"," "))
            return
        try:
            rs.sql.text(metrics, dialect=engine.dialect, lists=lists(truth, run), **how)
        except ValueError as e:
            print("NOSQL", e); assert re.search(NOT_IN_SQL, str(e)), (str(e))
            return
        agree(engine, metrics, truth, run, **how)
    one()
