"""Metrics of intents, worked out by hand and against plain definitions; and what a truth may say besides grades."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.evaluate.stream import evaluate_file

LOG3 = math.log2(3)
TRUTH = {"q": {"a": ["s1", "s2"], "b": {"s1": 1}, "c": ["s3"], "x": {"s3": 0}}}
RUN = {"q": ["a", "b", "x", "c"]}
ROWS = [
    ("q", "s1", "a", 1), ("q", "s2", "a", 1), ("q", "s1", "b", 1), ("q", "s3", "c", 1), ("q", "s3", "x", 0),
]  # fmt: skip
ALL = [
    "alpha_dcg@3", "alpha_ndcg@3", "err_ia@3", "nerr_ia@3", "nrbp", "nnrbp", "ap_ia", "precision_ia@3",
    "subtopic_recall@3",
]  # fmt: skip


def value(metric, truth=TRUTH, run=RUN, **choices):
    return rs.evaluate(truth, run, metric, **choices)[metric]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("alpha_dcg(divisor='none')@3", 2 + 0.5 / LOG3),
        ("alpha_dcg@3", (2 + 0.5 / LOG3) / (3 * (1 + 0.5 / LOG3 + 0.25 / 2))),
        ("alpha_dcg@1", 2 / 3),
        ("alpha_dcg(divisor='every from 2')@1", 2 / 1),
        ("alpha_ndcg@1", 2 / 2),
        ("alpha_ndcg@2", (2 + 0.5 / LOG3) / (2 + 1 / LOG3)),
        ("alpha_ndcg@4", (2 + 0.5 / LOG3 + 1 / math.log2(5)) / (2 + 1 / LOG3 + 0.5 / 2)),
        ("alpha_ndcg(alpha=0.9)@2", (2 + 0.1 / LOG3) / (2 + 1 / LOG3)),
        ("alpha_ndcg(alpha=0)@2", (2 + 1 / LOG3) / (2 + 1 / LOG3)),
        ("alpha_ndcg(alpha=1)@2", (2 + 0 / LOG3) / (2 + 1 / LOG3)),
        ("err_ia@2", (2 + 0.5 / 2) / (3 * (1 + 0.5 / 2))),
        ("err_ia", (2 + 0.5 / 2 + 1 / 4) / (3 * (1 + 0.5 / 2 + 0.25 / 3 + 0.125 / 4))),
        ("nerr_ia@2", (2 + 0.5 / 2) / (2 + 1 / 2)),
        ("nrbp", (1 - 0.5 * 0.5) / 3 * (2 + 0.5 * 0.5 + 1 * 0.5**3)),
        ("nrbp(alpha=0.2, beta=0.8)", (1 - 0.8 * 0.8) / 3 * (2 + 0.8 * 0.8 + 1 * 0.8**3)),
        ("nrbp@2", (1 - 0.5 * 0.5) / 3 * (2 + 0.5 * 0.5)),
        ("nnrbp", (2 + 0.5 * 0.5 + 1 * 0.5**3) / (2 + 1 * 0.5 + 0.5 * 0.5**2)),
        ("ap_ia", ((1 / 1 + 2 / 2) / 2 + 1 / 1 + 1 / 4) / 3),
        ("ap_ia@2", ((1 / 1 + 2 / 2) / 2 + 1 / 1 + 0) / 3),
        ("precision_ia@2", (2 / 2 + 1 / 2 + 0 / 2) / 3),
        ("precision_ia", (2 / 4 + 1 / 4 + 1 / 4) / 3),
        ("subtopic_recall@3", 2 / 3),
        ("subtopic_recall@4", 3 / 3),
    ],
)
def test_by_hand(metric, expected):
    assert value(metric) == pytest.approx(expected, rel=1e-14)


def test_greedy_ideal_can_be_beaten():
    """The item with the larger id comes first among equals, and leads the greedy list astray."""
    truth = {"q": {"a": [0, 3], "b": [1, 2], "c": [2, 3]}}
    assert value("alpha_ndcg@2", truth, {"q": ["a", "b"]}) == pytest.approx((2 + 2 / LOG3) / (2 + 1.5 / LOG3))
    assert value("alpha_ndcg(ideal='best')@2", truth, {"q": ["a", "b"]}) == 1.0
    told = rs.explain(truth, {"q": ["c", "a"]}, "alpha_ndcg(ideal='best')@2")
    assert [row.item for row in told.ideal] == ["a", "b"]
    assert told.denominator == pytest.approx(2 + 2 / LOG3)
    assert [row.item for row in rs.explain(truth, {"q": ["c", "a"]}, "alpha_ndcg@2").ideal] == ["c", "b"]


def test_best_list_of_too_many_items():
    truth = {"q": {f"d{at:03}": [one, two, three] for at, (one, two, three) in enumerate(
        itertools.combinations(range(9), 3))}}  # fmt: skip
    run = {"q": ["d000"]}
    assert value("alpha_ndcg(ideal='best')@2", truth, run) == pytest.approx(3 / (3 + 3 / LOG3))
    with pytest.raises(
        ValueError, match="too many lists of 84 items to find the best; choose ideal='greedy' in query 'q'"
    ):
        value("alpha_ndcg(ideal='best')@20", truth, run)


# -- plain definitions ---------------------------------------------------------------------------------------


class Plain:
    """One query's list, slowly: sets of subtopics, loops, all lists tried."""

    def __init__(self, truth, items, k):
        self.covers = {item: {name for name, grade in grades.items() if grade >= 1} for item, grades in truth.items()}
        self.names = set().union(*self.covers.values())
        self.items, self.k = items, k
        self.shown = [self.covers.get(item, set()) for item in (items if k is None else items[:k])]
        self.places = len(items) if k is None else k

    def earned(self, lists, alpha, discount):
        seen, total = dict.fromkeys(self.names, 0), 0.0
        for rank, names in enumerate(lists, 1):
            total += sum((1 - alpha) ** seen[name] for name in names) * discount(rank)
            for name in names:
                seen[name] += 1
        return total

    def every(self, alpha, discount):
        return self.earned([self.names] * self.places, alpha, discount)

    def greedy(self, alpha, discount):
        left, out, seen = sorted(self.covers, reverse=True), [], dict.fromkeys(self.names, 0)
        while left and len(out) < (len(self.covers) if self.k is None else self.k):
            best = max(left, key=lambda item: round(sum((1 - alpha) ** seen[name] for name in self.covers[item]), 12))
            left.remove(best)
            out.append(self.covers[best])
            for name in self.covers[best]:
                seen[name] += 1
        return self.earned(out, alpha, discount)

    def best(self, alpha, discount):
        depth = len(self.covers) if self.k is None else min(self.k, len(self.covers))
        return max(self.earned(one, alpha, discount) for one in itertools.permutations(self.covers.values(), depth))

    def precisions(self, name):
        hits = [name in names for names in self.shown]
        relevant = sum(name in names for names in self.covers.values())
        return sum(sum(hits[: at + 1]) / (at + 1) for at, hit in enumerate(hits) if hit) / relevant


def log2(rank):
    return 1 / math.log2(rank + 1)


def one_over(rank):
    return 1 / rank


def going(rank):
    return 0.7 ** (rank - 1)


def plainly(one, alpha):
    count = len(one.names)
    return {
        f"alpha_dcg(alpha={alpha})": (one.earned(one.shown, alpha, log2), one.every(alpha, log2)),
        f"err_ia(alpha={alpha})": (one.earned(one.shown, alpha, one_over), one.every(alpha, one_over)),
        f"alpha_ndcg(alpha={alpha})": (one.earned(one.shown, alpha, log2), one.greedy(alpha, log2)),
        f"alpha_ndcg(alpha={alpha}, ideal='best')": (one.earned(one.shown, alpha, log2), one.best(alpha, log2)),
        f"nerr_ia(alpha={alpha})": (one.earned(one.shown, alpha, one_over), one.greedy(alpha, one_over)),
        f"nrbp(alpha={alpha}, beta=0.7)": (
            (1 - (1 - alpha) * 0.7) * one.earned(one.shown, alpha, going), count,
        ),
        f"nnrbp(alpha={alpha}, beta=0.7)": (one.earned(one.shown, alpha, going), one.greedy(alpha, going)),
        "ap_ia": (sum(map(one.precisions, one.names)), count),
        "precision_ia": (sum(map(len, one.shown)), one.places * count),
        "subtopic_recall": (len(set().union(*one.shown)), count),
    }  # fmt: skip


grades = st.dictionaries(st.sampled_from(("s1", "s2", "s3", "s4")), st.sampled_from((0, 1, 1, 2)), max_size=4)
truths = st.dictionaries(st.sampled_from("abcdefg"), grades, max_size=5)
lists = st.lists(st.sampled_from("abcdefgxyz"), unique=True, max_size=8)


@given(
    queries=st.lists(st.tuples(truths, lists), min_size=1, max_size=3),
    k=st.sampled_from((None, 1, 2, 3, 10)),
    alpha=st.sampled_from((0.0, 0.3, 0.5, 1.0)),
)
def test_definition(queries, k, alpha):
    truth = {f"q{at}": judged for at, (judged, _) in enumerate(queries)}
    run = {f"q{at}": items for at, (_, items) in enumerate(queries)}
    if not any(truth.values()):
        return
    plain = [plainly(Plain(judged, items, k), alpha) for judged, items in queries]
    names = [name if k is None else f"{name}@{k}" for name in plain[0]]
    result = rs.evaluate(truth, run, names)
    for name, metric in zip(plain[0], result, strict=True):
        expected = [one[name][0] / one[name][1] if one[name][1] else 0.0 for one in plain]
        np.testing.assert_allclose(result.per_query[metric], expected, rtol=1e-12, atol=1e-15, err_msg=name)


# -- shapes --------------------------------------------------------------------------------------------------


def shapes(folder):
    names = ["query", "subtopic", "item", "grade"]
    query, subtopic, item, grade = map(list, zip(*ROWS, strict=True))
    frame = pd.DataFrame(ROWS, columns=["qid", "intent", "docno", "rel"])
    yield rs.columns(query=query, subtopic=subtopic, item=item, grade=grade)
    yield rs.columns(
        query=query, subtopic=[{"s1": 7, "s2": 8, "s3": 9}[name] for name in subtopic], item=item, grade=grade
    )
    yield frame
    yield frame.sample(frac=1, random_state=1)
    yield frame.rename(columns={"intent": "facet"}), {"truth": {"subtopic": "facet"}}
    yield {"q": {"a": {"s1": 1, "s2": 1}, "b": {"s1": 1}, "c": {"s3": 1}, "x": {}}}
    for end, write in (("csv", lambda path: pd.DataFrame(ROWS, columns=names).to_csv(path, index=False)),
                       ("parquet", lambda path: pd.DataFrame(ROWS, columns=names).to_parquet(path)),
                       ("jsonl", lambda path: frame.to_json(path, orient="records", lines=True))):  # fmt: skip
        write(folder / f"truth.{end}")
        yield folder / f"truth.{end}"
    for name, line in (("plain", "{} {} {} {}\n"), ("odd", "\n  {}\t{}  {} {}\n")):
        (folder / f"{name}.qrels").write_text("".join(line.format(*row) for row in ROWS))
        yield folder / f"{name}.qrels"


def test_every_shape_has_the_same_numbers(tmp_path):
    run = rs.columns(query=["q"] * 4, item=["a", "b", "x", "c"])
    asked = [*ALL, "ndcg@3", "judged@3"]
    expected = dict(rs.evaluate(TRUTH, RUN, asked))
    for given_ in shapes(tmp_path):
        truth, columns = given_ if isinstance(given_, tuple) else (given_, None)
        assert dict(rs.evaluate(truth, run, asked, columns=columns)) == pytest.approx(expected, rel=1e-14), truth
        if not isinstance(truth, dict):
            continue
        assert dict(rs.evaluate(truth, RUN, asked)) == pytest.approx(expected, rel=1e-14)


def test_streams_accumulators_and_states(tmp_path):
    query, subtopic, item, grade = map(list, zip(*ROWS, strict=True))
    truth = rs.columns(query=[*query, "p"], subtopic=[*subtopic, "s1"], item=[*item, "a"], grade=[*grade, 1])
    rows = [("q", "a", 4.0), ("q", "b", 3.0), ("p", "z", 2.0), ("q", "x", 2.0), ("p", "a", 1.0), ("q", "c", 1.0)]
    run = pd.DataFrame(rows, columns=["query", "item", "score"])
    asked = [*ALL, "ndcg@3"]
    expected = dict(rs.evaluate(truth, run, asked))
    stream = rs.Stream(truth, asked)
    for batch in (run[:3], run[3:]):
        stream.first_pass(batch)
    stream = pickle.loads(pickle.dumps(stream))
    for batch in (run[3:], run[:3]):
        stream.second_pass(batch)
    assert dict(stream.compute()) == pytest.approx(expected, rel=1e-14)
    for name, order in (("apart", run), ("together", run.sort_values("query"))):
        order.to_csv(tmp_path / f"{name}.csv", index=False)
        assert dict(evaluate_file(truth, tmp_path / f"{name}.csv", asked)) == pytest.approx(expected, rel=1e-14)
    parts = rs.Accumulator(asked)
    parts.update(TRUTH, {"q": {"a": 4.0, "b": 3.0, "x": 2.0, "c": 1.0}})
    state = parts.state_dict()
    again = rs.Accumulator(asked)
    again.load_state_dict(state)
    again.update({"p": {"a": ["s1"]}}, {"p": {"z": 2.0, "a": 1.0}})
    assert dict(again.compute()) == pytest.approx(expected, rel=1e-14)


def test_ties():
    """Items with equal scores stand together with all of their subtopics."""
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert value("subtopic_recall@1", run=run) == 1 / 3  # c, the largest id
    assert value("subtopic_recall@1", run=run, ties="item_asc") == 2 / 3  # a
    assert value("precision_ia@1", run=run, ties="expected") == pytest.approx((2 + 1 + 1) / 3 / 3)
    with pytest.raises(rs.errors.NoClosedFormError):
        value("alpha_ndcg@1", run=run, ties="expected")


def test_grades_of_several_subtopics():
    """For a metric of relevance an item is one item, with its highest grade, and the result says so."""
    truth = rs.columns(query=["q"] * 3, item=["a", "a", "b"], subtopic=[1, 2, 1], grade=[1, 3, 2])
    result = rs.evaluate(truth, {"q": ["b", "a"]}, ["dcg", "recall@1", "alpha_ndcg(threshold=2)@1"])
    assert result["dcg"] == pytest.approx(2 + 3 / LOG3)
    assert result["recall@1"] == 1 / 2
    assert result["alpha_ndcg(threshold=2)@1"] == 1 / 1
    assert "one item, with the highest of its grades" in str(result)


# -- what cannot be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    "truth",
    [{"q": {"a": 1}}, {"q": ["a"]}, rs.columns(query=["q"], item=["a"]), rs.lists(items=[["a"]], query=["q"])],
    ids=("dict", "list", "columns", "lists"),
)
def test_a_truth_without_subtopics(metric, truth):
    with pytest.raises(ValueError, match="the truth names no subtopics; give a column 'subtopic'"):
        rs.evaluate(truth, rs.columns(query=["q"], item=["a"]), metric)


@pytest.mark.parametrize("second", ["0", "Q0"])
def test_ordinary_qrels(tmp_path, second):
    (tmp_path / "qrels").write_text(f"q {second} a 1\nq {second} b 0\n")
    run = rs.columns(query=["q", "q"], item=["b", "a"])
    assert rs.evaluate(tmp_path / "qrels", run, "rr")["rr"] == 1 / 2
    with pytest.raises(ValueError, match="names no subtopics"):
        rs.evaluate(tmp_path / "qrels", run, "alpha_ndcg@5")


def test_the_second_field_counts_only_if_asked_for(tmp_path):
    (tmp_path / "qrels").write_text("q 1 a 1\nq 2 a 1\n")
    run = rs.columns(query=["q", "q"], item=["b", "a"])
    with pytest.raises(
        ValueError, match=r"'a' appears twice .* second field of the qrels is a subtopic, add an intent-aware metric"
    ):
        rs.evaluate(tmp_path / "qrels", run, "rr")
    assert rs.evaluate(tmp_path / "qrels", run, ["rr", "alpha_ndcg@5"])["rr"] == 1 / 2
    (tmp_path / "iterations").write_text("q 1 a 1\nq 2 b 0\n")
    assert rs.evaluate(tmp_path / "iterations", run, "rr")["rr"] == 1 / 2


@pytest.mark.parametrize(
    ("truth", "problem"),
    [
        ({"q": {"a": ["s", "s"]}}, "query 'q': item 'a' appears twice in the truth for subtopic 's'"),
        ({"q": {"a": ["s"], "b": 1}}, "query 'q', item 'b': 1 names no subtopic, where others do"),
        ({"q": {"a": ["s"]}, "p": ["a"]}, r"query 'p': the truth is \['a'\], where others name subtopics"),
        ({"q": {"a": {"s": "x"}}}, "query 'q', item 'a': grade 'x' for subtopic 's' is not a number"),
        ({"q": {"a": {"s": math.nan}}}, "query 'q', item 'a': grade nan for subtopic 's' is not a number"),
        (
            rs.columns(query=["q", "q"], item=["a", "a"], subtopic=["s", "s"]),
            "query 'q': item 'a' appears twice in the truth for subtopic 's'",
        ),
        (rs.columns(query=["q", "q"], item=["a", "b"], subtopic=["s", None]), "truth subtopics: row 1 is null"),
        (rs.columns(query=["q"], item=["a"], subtopic=["s"], grade=[math.nan]), "query 'q', item 'a': grade"),
    ],
)
def test_bad_subtopics(truth, problem):
    with pytest.raises(ValueError, match=problem):
        rs.evaluate(truth, rs.columns(query=["q"], item=["a"]), ["alpha_ndcg@5"])


def test_a_subtopic_judged_twice_may_count_once():
    truth = rs.columns(query=["q"] * 3, item=["a", "a", "b"], subtopic=["s", "s", "t"], grade=[1, 0, 1])
    run = {"q": ["a", "b"]}
    assert value("subtopic_recall@1", truth, run, truth_duplicates="first") == 1 / 2


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"unjudged": "only_returned"}, "without unjudged='only_returned'"),
        ({"averaging": "one_list", "ties": "input"}, "without averaging='one_list'"),
        ({"relevance": "clipped"}, "relevant or not"),
        ({"relevance": "weighted"}, "cannot count items by relevance='weighted'; cg, dcg, ndcg, recall can"),
    ],
)
def test_choices_that_do_not_go_with_subtopics(choices, problem):
    with pytest.raises(ValueError, match=problem):
        value("alpha_ndcg@5", **choices)


def test_engines_that_know_grades_alone():
    with pytest.raises(AttributeError, match="alpha_ndcg is not computed on batches of arrays"):
        _ = rs.arrays.alpha_ndcg
    with pytest.raises(ValueError, match="dcg: relevance='weighted' needs weights of items; choose binary"):
        rs.arrays.dcg(scores=np.ones((1, 2)), labels=np.ones((1, 2)), relevance="weighted")
    with pytest.raises(ValueError, match="alpha_ndcg@3 needs subtopics; choose metrics of relevance"):
        rs.Online(["alpha_ndcg@3"])


# -- weights -------------------------------------------------------------------------------------------------

JUDGED = {"query": ["q"] * 4, "item": ["a", "b", "c", "d"], "grade": [1, 0, 2, 1]}
LIST = {"q": ["b", "c", "a"]}


@pytest.mark.parametrize("said", [{"weight": [2, 9, 10, 4]}, {"propensity": [1 / 2, 1 / 9, 1 / 10, 1 / 4]}], ids=str)
def test_weights_by_hand(said):
    truth = rs.columns(**JUDGED, **said)
    asked = ["recall@2", "cg@2", "dcg@3", "dcg(divisor='relevant')@3", "ndcg@3", "dcg(gain='binary')@3"]
    result = rs.evaluate(truth, LIST, asked, relevance="weighted")
    earned = 10 * 2 / LOG3 + 2 * 1 / 2
    assert list(result.values()) == pytest.approx(
        [
            10 / (2 + 10 + 4),
            10 * 2,
            earned,
            earned / (2 + 10 + 4),
            earned / (10 * 2 + 4 * 1 / LOG3 + 2 * 1 / 2),
            10 / LOG3 + 2 / 2,
        ]
    )
    assert "relevance='weighted'" in str(result)
    assert "relevance is the weight of the item in the truth, or 1 / propensity" in str(result.definitions)


def test_weights_count_only_if_asked_for(tmp_path):
    truth = rs.columns(**JUDGED, weight=[2, 9, 10, 4])
    plain = rs.columns(**JUDGED)
    result, other = (rs.evaluate(one, LIST, ["recall@2", "ndcg@3"]) for one in (truth, plain))
    assert dict(result) == dict(other)
    assert "the weights (or propensities) of the truth are ignored; use relevance='weighted'" in str(result)
    assert "weight" not in str(other)
    pd.DataFrame({**JUDGED, "weight": [2, 9, 10, 4]}).sample(frac=1, random_state=2).to_csv(
        tmp_path / "t.csv", index=False
    )
    run = rs.columns(query=["q"] * 3, item=["b", "c", "a"])
    assert rs.evaluate(tmp_path / "t.csv", run, "recall@2", relevance="weighted")["recall@2"] == 10 / 16


def test_tied_items_by_weight():
    truth = rs.columns(**JUDGED, weight=[2, 9, 10, 4])
    run = {"q": {"a": 1.0, "c": 1.0, "d": 1.0}}
    assert value("recall@1", truth, run, relevance="weighted", ties="expected") == pytest.approx((2 + 10 + 4) / 3 / 16)
    ends = rs.evaluate(truth, run, "recall@1", relevance="weighted").ties["recall@1"]
    assert (ends.lowest, ends.highest) == (2 / 16, 10 / 16)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"weight": [2, 0, 10, 4]}, "query 'q': item 'b' has weight 0, which is not above 0"),
        ({"weight": [2, math.nan, 10, 4]}, "query 'q': item 'b' has weight nan"),
        ({"propensity": [0.5, 2, 1, 1]}, "query 'q': item 'b' has propensity 2, which is not above 0, and at most 1"),
        ({"weight": [1] * 4, "propensity": [1] * 4}, "a weight and a propensity; a weight is 1 / propensity: pass one"),
    ],
)
def test_bad_weights(said, problem):
    with pytest.raises(ValueError, match=problem):
        rs.columns(**JUDGED, **said)


def test_two_columns_for_one_role():
    frame = pd.DataFrame({**JUDGED, "weight": 1.0, "propensity": 0.5})
    with pytest.raises(ValueError, match="a weight 'weight' and a propensity 'propensity'"):
        rs.evaluate(frame, LIST, "recall@2")
    assert rs.evaluate(frame, LIST, "recall@2", columns={"truth": {"weight": None}}, relevance="weighted")
    with pytest.raises(ValueError, match="the truth's subtopic could be 'intent' or 'aspect'"):
        rs.evaluate(pd.DataFrame({**JUDGED, "intent": 1, "aspect": 2}), LIST, "recall@2")


@pytest.mark.parametrize(
    ("metric", "choices", "problem"),
    [
        ("ap", {}, "ap cannot count items by relevance='weighted'; cg, dcg, ndcg, recall can"),
        ("recall(divisor='min(relevant,k)')@2", {}, "goes with divisor='relevant'"),
        ("ndcg(ideal='retrieved')@2", {}, "goes with ideal='judged'"),
        ("ndcg@2", {"unjudged": "only_returned"}, "reads weights of the whole truth"),
    ],
)
def test_choices_that_do_not_go_with_weights(metric, choices, problem):
    with pytest.raises(ValueError, match=problem):
        rs.evaluate(rs.columns(**JUDGED, weight=[1] * 4), LIST, metric, relevance="weighted", **choices)


def test_weights_that_are_not_there():
    with pytest.raises(ValueError, match="recall@2: the truth has no weight or propensity column"):
        rs.evaluate({"q": {"a": 1}}, LIST, "recall@2", relevance="weighted")


def test_compare_of_qrels(tmp_path):
    """Also where a comparison looks at the runs again, for another metric."""
    (tmp_path / "qrels").write_text(
        "".join(f"q{n} {s} {i} 1\n" for n in range(4) for s, i in (("1", "a"), ("2", "a"), ("2", "b")))
    )
    for name, items in (("one", "xab"), ("two", "abx")):
        lines = [f"q{n} Q0 {item} {at} {9 - at} t\n" for n in range(4) for at, item in enumerate(items)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    runs = {name: tmp_path / f"{name}.run" for name in ("one", "two")}
    found = rs.compare(tmp_path / "qrels", runs, ["alpha_ndcg@3", "rr"])
    assert found["two", "rr"].difference == pytest.approx(1 - 1 / 2)
    assert found["two", "alpha_ndcg@3"].difference == pytest.approx(1 - (2 / LOG3 + 0.5 / 2) / (2 + 0.5 / LOG3))
    assert "alpha_ndcg@3" in str(found)
