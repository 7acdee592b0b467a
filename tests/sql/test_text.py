"""`rs.sql.text` gives the numbers of `rs.evaluate`, in each engine: every metric, parameter, convention and choice."""

import pytest

import rankstone as rs
from rankstone.metrics import declared
from tests.sql.measured import agree, rows_of
from tests.table import cases

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
# What a prediction needs, and a stopping chance that is a grade: grades 0 and 1, scores from 0 to 1.
CLICKS = {query: {item: int(grade >= 1) for item, grade in items.items()} for query, items in TRUTH.items()}
CHANCES = {query: {item: (score + 1) / 4 for item, score in items.items()} for query, items in RUN.items()}

FAMILIES = {}  # metrics by the file they are in
for _name, _row in cases.built_in().items():
    if _row.kind != "agreement":
        FAMILIES.setdefault(_row.function.__module__.rpartition(".")[2], []).append(_name)


def variants(name):
    """A metric with each value of each parameter, whole and cut."""
    row, plain = declared()[name], rs.Metric(name)
    given = [plain.given(**{key: value}) for key, values in cases.parameter_values(row).items() for value in values]
    return [metric for one in (plain, *given) for metric in ([one, one @ 3] if row.takes_k else [one])]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_metric(engine, family):
    metrics = list(dict.fromkeys(metric for name in FAMILIES[family] for metric in variants(name)))
    picky = [one for one in metrics if one.declaration.kind == "ratings" or set(one.params) & set(cases.REFUSING)]
    for some, truth, run in ((set(metrics) - set(picky), TRUTH, RUN), (picky, CLICKS, CHANCES)):
        chosen = [one for one in metrics if one in some]
        for at in range(0, len(chosen), 50):
            agree(engine, chosen[at : at + 50], rows_of(truth, "grade"), rows_of(run, "score"))
