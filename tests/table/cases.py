"""Generated truths and runs, and every metric's parameters, read from the registry."""

from hypothesis import strategies as st

import rankstone as rs
from rankstone.metrics import declared

# Ids whose order as text, as numbers and as written all differ.
TEXT = ("a", "b", "Bc", "10", "9", "é", "zz", "z", "", "\U0001f600")
NUMBERS = (10, 9, -3, 0, 7, 2**40, 100, 1, 5)
GRADES = {
    "binary": (0, 1),
    "graded": (0, 1, 2, 3, 4),
    "any": (-2, -1, 0, 1, 2, 0.5, 0.25, 1.5),
    "probability": (0, 1),
}
SCORES = {
    "tied": (2.0, 1.0, 0.5, -1.0),
    "close": (1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.5, -0.5, -0.5 - 1e-9),  # equal as float32
    "many": (3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -2.5),
    "probability": (0.0, 0.125, 0.25, 0.5, 0.75, 0.875, 1.0),
}


@st.composite
def pairs(draw, grades=None, scores=None, items=8, queries=3, lists=True):
    """A truth and a run: some queries in both, some in one of them, some empty."""
    ids = st.sampled_from(draw(st.sampled_from((TEXT, NUMBERS))))
    grades = st.sampled_from(GRADES[grades or draw(st.sampled_from(("binary", "graded", "any")))])
    scores = st.sampled_from(SCORES[scores or draw(st.sampled_from(("tied", "close", "many")))])
    truth_of = st.dictionaries(ids, grades, max_size=items)
    run_of = st.dictionaries(ids, scores, max_size=items)
    if lists and draw(st.integers(0, 4)) == 0:
        run_of = st.lists(ids, unique=True, max_size=items)
    if lists and draw(st.integers(0, 9)) == 0:
        truth_of = st.lists(ids, unique=True, max_size=items)
    names = draw(st.sampled_from((("q1", "q10", "q2", "q3"), (3, 1, 20, 10))))[: queries + 1]
    where = draw(st.lists(st.sampled_from(("both", "both", "both", "truth", "run")), min_size=1, max_size=queries))
    truth, run = {}, {}
    for name, side in zip(names, where, strict=False):
        if side != "run":
            truth[name] = draw(truth_of)
        if side != "truth":
            run[name] = draw(run_of)
    if truth and run and not truth.keys() & run.keys():  # which is refused
        run[next(iter(truth))] = draw(run_of)
    return truth, run


GAIN_TABLE = {-2: -1.0, -1: 0.0, 0: 0.0, 0.25: 2.0, 0.5: 1.0, 1: 1.0, 1.5: 0.0, 2: 3.0, 3: 2.5, 4: 8.0}
# Values for parameters that are not one of a few words, where those of `inside` would not do.
VALUES = {
    "alpha": (0.3, 0.5, 0.75),
    "at_least": (None, 1, 2),
    "beta": (0.5, 0.8, 0.9),
    "catalogue": (None, 100),
    "group": (None, "g", "h"),
    "gain": ("linear", "exp2", "exp1.5", "binary", GAIN_TABLE),
    "max_grade": (None, 4, 5.5),
    "padding": (0, 1),
    "patience": (0.5, 0.85),
    "smoothing": (0.0, 0.25),
    "tail_at": (0.5, 0.8),
    "target_length": (None, 4),
    "p": (0.1, 0.5, 0.8, 0.95),
    "recall": (0.0, 0.1, 0.3, 0.5, 0.75, 1.0),
    "term_digits": (None, 6),
}


def parameter_values(row):
    """For each parameter of a metric the values to try."""
    return {name: row.words(name) or VALUES.get(name) or inside(row, name) for name in row.defaults}


def inside(row, name):
    """Numbers between the bounds of a parameter."""
    about = row.about[name]
    low, high = (
        next((bound for bound in bounds if bound is not None), otherwise)
        for bounds, otherwise in (((about.at_least, about.above), 0), ((about.at_most, about.below), 4))
    )
    return (row.defaults[name], *(low + (high - low) * share for share in (0.25, 0.5)))


# Values that call some data an error.
REFUSING = (("negative", "error"), ("stop_chance", "grade"))


@st.composite
def metrics(draw, name, most=10, only=None, refusing=False):
    """A metric with some of its parameters set, and perhaps a cutoff."""
    row = declared()[name]
    params = {}
    for parameter, values in parameter_values(row).items():
        if (only is None or parameter in only) and draw(st.booleans()):
            params[parameter] = draw(
                st.sampled_from([value for value in values if refusing or (parameter, value) not in REFUSING])
            )
    k = draw(st.sampled_from((None, 1, 2, 3, 5, most))) if row.takes_k else None
    metric = rs.authoring.Metric(name).given(**params)
    return (metric if k is None else metric @ k), params, k


def built_in(reads="ranking"):
    """The package's own metrics that read a form; tests elsewhere declare others."""
    own = {name: row for name, row in declared().items() if row.function.__module__.startswith("rankstone.")}
    return {name: row for name, row in own.items() if reads in (row.reads, "any")}


# What metrics of what was shown may ask for, with lists that it fits.
ITEMS = ("a", "b", "c", "d", "e")
SIDE_INFO = {
    "catalogue": rs.catalogue(
        ITEMS,
        popularity=[5, 4, 3, 2, 1],
        category=[["x"], ["x", "y"], "y", "z", "x"],
        group=["g", "g", "h", "h", "g"],
        embedding=[[1, 0, 2], [0, 1, 2], [1, 1, 0], [0, 0, 1], [1, 0, 1]],
    ),
    "history": {"q": ["d", "e"], "r": ["a"], "other": ["a", "b", "c", "d"]},
    "reference": {"q": ["b", "a", "e"]},
}


def side_info(row):
    """What a metric is given beside a truth and a run."""
    return SIDE_INFO if row.reads == "recommendations" else {}


def fed():
    """Those of them that a truth of grades feeds; metrics of intents need subtopics: see tests/metrics/test_intents."""
    return {name: row for name, row in built_in().items() if row.kind != "intents"}


def small(row):
    """A truth and a run that a metric can read, whatever the values of its parameters and choices."""
    run = {"q": {"a": 0.75, "b": 0.5, "c": 0.25}}
    if row.of_unanswerable:
        return {"q": [], "r": []}, {**run, "r": {"c": 0.5, "b": 0.25}}
    if row.reads == "recommendations":
        return {"q": ["a", "c"], "r": ["a", "c"]}, {**run, "r": {"c": 0.5, "b": 0.25}}
    if row.kind == "intents":
        return {"q": {"a": {"s": 1}, "b": {"s": 0}}}, run
    if row.weightable:
        return rs.columns(query=["q", "q"], item=["a", "b"], grade=[1, 0], weight=[2, 1]), run
    return {"q": {"a": 1, "b": 0}}, run


def fitting(kind):
    """Data that all metrics of a kind can read: a prediction needs scores, and some of them a probability of 0 or 1."""
    return pairs(grades="probability", scores="probability", lists=False) if kind == "ratings" else pairs()
