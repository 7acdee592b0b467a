"""Agreement of judges: worked by hand, by threshold, grade and query, and what it does to runs."""

import json
import math

import numpy as np
import pytest

import rankstone as rs

HUMAN = {"q1": {"a": 2, "b": 0, "c": 1, "d": 0}, "q2": {"a": 1, "b": 1}}
MODEL = {"q1": {"a": 2, "b": 1, "c": 1, "d": 0}, "q2": {"a": 2, "b": 1}}
PAIR = {"human": HUMAN, "llm": MODEL}


def coefficient(grades, *args, **options):
    return rs.statistics.agreement_coefficient(grades, *args, **options)


def columns():
    return np.array([[HUMAN[query][item], MODEL[query][item]] for query in HUMAN for item in HUMAN[query]], float)


def test_cohen():
    # Grades 0, 1 and 2: the human has 2, 3 and 1 of them, the model 1, 3 and 2; they agree on 4 of 6.
    chance = (2 * 1 + 3 * 3 + 1 * 2) / 36
    assert coefficient(columns(), "cohen").value == pytest.approx((4 / 6 - chance) / (1 - chance))
    # Quadratic: two pairs differ by one of two steps.
    apart = 2 * 1 / 6
    expected = sum(a * b * (i - j) ** 2 for i, a in enumerate((2, 3, 1)) for j, b in enumerate((1, 3, 2))) / 36
    assert coefficient(columns(), "cohen", weights="quadratic").value == pytest.approx(1 - apart / expected)


def test_fleiss_and_brennan_prediger_and_gwet():
    shares = np.array([3, 6, 3]) / 12
    for name, chance in {
        "fleiss": (shares**2).sum(),
        "brennan_prediger": 1 / 3,
        "gwet": (shares * (1 - shares)).sum() / 2,
    }.items():
        assert coefficient(columns(), name).value == pytest.approx((4 / 6 - chance) / (1 - chance))


def test_krippendorff_with_missing_judgements():
    # The third unit has one judgement, and is left out: 2 of 3 units agree.
    grades = [[1, 1], [0, 1], [1, math.nan], [0, 0]]
    observed = 2 / 6  # pairs in both orders that differ, of six judgements
    expected = 2 * 3 * 3 / (6 * 5)
    assert coefficient(grades, "krippendorff").value == pytest.approx(1 - observed / expected)


def test_krippendorff_ordinal_counts_the_grades_between():
    # Grades 0, 1, 5: margins 2, 1, 3 of six judgements.
    grades = [[0, 0], [1, 5], [5, 5]]
    apart = lambda a, b: (sum((2, 1, 3)[a : b + 1]) - ((2, 1, 3)[a] + (2, 1, 3)[b]) / 2) ** 2  # noqa: E731
    observed = 2 * apart(1, 2)
    expected = 2 * (2 * 1 * apart(0, 1) + 2 * 3 * apart(0, 2) + 1 * 3 * apart(1, 2)) / 5
    assert coefficient(grades, "krippendorff", weights="ordinal").value == pytest.approx(1 - observed / expected)


def test_conger_of_two_judges_is_cohen():
    assert coefficient(columns(), "conger").value == pytest.approx(coefficient(columns(), "cohen").value)


def test_one_grade_only_has_no_coefficient():
    assert math.isnan(coefficient([[1, 1], [1, 1]], "krippendorff").value)
    judged = rs.agreement({"a": {"q": {"x": 1, "y": 1}}, "b": {"q": {"x": 1, "y": 1}}})
    assert "unknown: all judgements have one grade" in repr(judged)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: coefficient([[1, 2, 3]], "cohen"), "for 2 judges, not 3"),
        (lambda: coefficient([[1, math.nan]]), "no unit has two judgements"),
        (lambda: coefficient([[1, 2]], "kappa"), "coefficient='kappa' is not one of"),
        (lambda: coefficient([[1, 2]], weights="cubic"), "weights='cubic' is not one of"),
        (lambda: coefficient([[1, 2]], categories=[0, 1]), "grade 2, which is none of the categories"),
        (lambda: rs.agreement({"human": HUMAN}), "one judge only"),
        (lambda: rs.agreement({"a": {"q": {"x": 1}}, "b": {"q": {"y": 1}}}), "share no query and item"),
        (lambda: rs.agreement(PAIR, reference="x"), "reference='x' is none of the judges"),
        (lambda: rs.agreement(PAIR, metrics="ndcg"), "metrics= goes with runs="),
        (lambda: rs.agreement(PAIR).plot("runs"), "there are no runs"),
        (lambda: rs.agreement(PAIR).plot("pie"), "unknown plot 'pie'"),
        (lambda: rs.merge_judgements(PAIR, "mode"), "method='mode'; choose from"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_judge_with_two_grades_for_an_item():
    twice = rs.columns(query=["q", "q"], item=["a", "a"], grade=[1, 0])
    with pytest.raises(rs.errors.DataError, match="judge b has two grades for query 'q', item 'a'"):
        rs.agreement({"a": {"q": {"a": 1}}, "b": twice})


def test_tables():
    judged = rs.agreement(PAIR)
    assert judged["same grade"].value == pytest.approx(4 / 6)
    assert judged["Cohen's kappa"].value == pytest.approx(coefficient(columns(), "cohen").value)
    assert judged.confusion() == [[1, 1, 0], [0, 2, 1], [0, 0, 1]]
    assert judged.confusion("llm", "human") == [[1, 0, 0], [1, 2, 0], [0, 1, 1]]
    assert judged.judgements == {"human": 6, "llm": 6}
    at_one, at_two = judged.thresholds[1.0], judged.thresholds[2.0]
    assert (at_one[0].value, at_two[0].value) == (5 / 6, 5 / 6)
    every = judged.bias[0]
    assert (every.judge, every.grade, every.judgements) == ("llm", None, 6)
    assert every.difference == pytest.approx(2 / 6)
    assert [(row.grade, row.mean) for row in judged.bias[1:]] == [(0, 1 / 2), (1, 4 / 3), (2, 2)]
    worst = judged.by_query[0]
    assert (worst.query, worst.judgements, worst.agreement, worst.distance) == ("q2", 2, 1 / 2, 1 / 2)


def test_intervals_draw_queries_not_items():
    """Each query has one kind of judgement, many times: as many queries as there are, whatever the items are."""
    rng = np.random.default_rng(0)
    same = rng.random(40) < 0.7
    judges = [
        {f"q{query}": {str(item): int(judge * (not same[query])) for item in range(50)} for query in range(40)}
        for judge in (0, 1)
    ]
    row = rs.agreement(dict(zip("ab", judges, strict=True)))["same grade"]
    share = same.mean()
    half = 1.96 * math.sqrt(share * (1 - share) / 40)
    assert (row.high - row.low) / 2 == pytest.approx(half, rel=0.15)


def test_a_lenient_judge():
    human = {f"q{query}": {item: at % 3 for at, item in enumerate("abcdef")} for query in range(10)}
    model = {query: {item: grade + (at != query[-1]) for item, grade in items.items()}
             for query, items in human.items() for at in ("x",)}  # fmt: skip
    bias = rs.agreement({"human": human, "llm": model}).bias[0]
    assert bias.verdict == "lenient"
    assert rs.agreement({"llm": model, "human": human}).bias[0].verdict == "harsh"


RUNS = {"x": {"q1": ["a", "c", "b", "d"], "q2": ["a", "b"]}, "y": {"q1": ["b", "a", "c", "d"], "q2": ["b", "a"]},
        "z": {"q1": ["d", "c", "b", "a"], "q2": ["b", "a"]}}  # fmt: skip


def test_the_effect_on_runs():
    effect = rs.agreement(PAIR, RUNS, ["ndcg@2", "rr"]).effect
    assert effect.means["ndcg@2"]["llm"]["y"] == pytest.approx(rs.evaluate(MODEL, RUNS["y"], "ndcg@2")["ndcg@2"])
    row = next(row for row in effect.orders if row.metric == "ndcg@2")
    means = effect.means["ndcg@2"]
    assert row.kendall == pytest.approx(
        rs.metrics.kendall(scores=list(means["llm"].values()), labels=list(means["human"].values()))
    )
    for change in effect.changes:
        assert len(set(change.verdicts.values())) == 2
    same = rs.agreement({"human": HUMAN, "other": HUMAN}, RUNS, "ndcg@2").effect
    assert (same.changes, same.orders[0].kendall, same.orders[0].tau_ap) == ([], 1, 1)


def test_the_effect_is_on_items_that_all_have_judged():
    model = {"q1": {"a": 2, "c": 1}, "q2": {"a": 2, "b": 1}}
    effect = rs.agreement({"human": HUMAN, "llm": model}, RUNS, "ndcg@2").effect
    shared = {"q1": {"a": 2, "c": 1}, "q2": {"a": 1, "b": 1}}
    assert effect.items == 4
    assert effect.means["ndcg@2"]["human"]["z"] == pytest.approx(rs.evaluate(shared, RUNS["z"], "ndcg@2")["ndcg@2"])


def test_verdicts_that_change():
    """The runs are the other way round for the second judge."""
    first = {f"q{query}": {"a": 1, "b": 0} for query in range(10)}
    second = {f"q{query}": {"a": 0, "b": 1} for query in range(10)}
    runs = {"old": {query: ["a", "b"] for query in first}, "new": {query: ["b", "a"] for query in first}}
    judged = rs.agreement({"first": first, "second": second}, runs, "rr")
    (change,) = judged.effect.changes
    assert change.verdicts == {"first": "worse", "second": "better"}
    assert judged.effect.orders[0].kendall == -1
    assert "1 of 1 verdicts depend on the judge" in repr(judged)


def test_forms(tmp_path):
    judged = rs.agreement(PAIR, RUNS, "ndcg@2")
    plain = json.loads(json.dumps(judged.to_dict(), allow_nan=True))
    assert plain["confusion"][0]["items"] == judged.confusion()
    assert plain["effect"]["pairs"] == 3
    for name in ("a.html", "a.json", "a.csv", "a.md", "a.tex", "a.txt"):
        judged.write(tmp_path / name)
    page = (tmp_path / "a.html").read_text()
    assert page.count("<svg") == 2
    assert "Is a judge harsh or lenient" in page
    assert judged.plot("confusion", "llm", "human").data["items"] == [1, 1, 2, 1, 1]
    assert judged.plot("runs", "ndcg@2").data["run"] == ["x", "y", "z"]
    assert len(judged.to_pandas()) == len(judged.coefficients)


# -- files ----------------------------------------------------------------------------------------------------

BOOK = "query,docid,Ann Bee,Cal Dee\nq1,a,2,2\nq1,b,0,1\nq1,c,1,\nq2,a,1,2\n"
LONG = "query,doc_id,judge,rating\nq1,a,ann,2\nq1,a,bob,2\nq1,b,ann,0\nq1,b,bob,1\n"


def test_files_of_several_judges(tmp_path):
    (tmp_path / "book.csv").write_text(BOOK)
    judged = rs.agreement(tmp_path / "book.csv")
    assert judged.judgements == {"Ann Bee": 4, "Cal Dee": 3}
    assert judged.confusion("Ann Bee", "Cal Dee") == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
    (tmp_path / "long.csv").write_text(LONG)
    assert rs.agreement(tmp_path / "long.csv")["same grade"].value == 1 / 2
    pairs = [{"query_text": "q", "doc_id": "a", "judgements": [{"rating": 1, "user_email": "a@x"}, {"rating": 0}]}]
    (tmp_path / "book.json").write_text(json.dumps({"name": "b", "query_doc_pairs": pairs}))
    assert rs.agreement(tmp_path / "book.json").judges == ("a@x", "anonymous")


def test_a_file_of_one_judge(tmp_path):
    (tmp_path / "a.csv").write_text("query,docid,rating\nq,a,1\n")
    with pytest.raises(rs.errors.FileError, match="has one judge"):
        rs.agreement(tmp_path / "a.csv")
    (tmp_path / "bad.csv").write_text("query,doc_id,judge,rating\nq,a,ann,high\n")
    with pytest.raises(rs.errors.FileError, match=r"bad.csv:2: grade 'high' is not a number"):
        rs.agreement(tmp_path / "bad.csv")


def test_umbrelas_lines_are_a_judge(tmp_path):
    lines = [{"query": "q", "passage": text, "judgment": grade} for text, grade in (("one", 2), ("two", 0))]
    (tmp_path / "llm.jsonl").write_text("\n".join(map(json.dumps, lines)))
    human = {"q": {"one": 2, "two": 1}}
    assert rs.agreement({"human": human, "llm": tmp_path / "llm.jsonl"})["same grade"].value == 1 / 2


# -- merging ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "grade"), [("median", 2), ("mean", 4 / 3), ("majority", 2), ("max", 2), ("quepid", 4 / 3)]
)
def test_merging(method, grade):
    judges = {"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"x": 2}}, "c": {"q": {"x": 0, "z": 0}}}
    merged = rs.merge_judgements(judges, method)
    assert merged.to_dict()["q"] == {"x": pytest.approx(grade), "y": 1, "z": 0}
    assert (merged.conflicts, len(merged)) == (1, 3)


def test_a_tie_of_a_majority_is_the_lowest():
    assert rs.merge_judgements({"a": {"q": {"x": 2}}, "b": {"q": {"x": 1}}}, "majority").to_dict() == {"q": {"x": 1}}


def test_merged_judgements_are_a_truth(tmp_path):
    merged = rs.merge_judgements(PAIR, "max")
    assert rs.evaluate(merged, RUNS["x"], "ndcg")["ndcg"] == pytest.approx(
        rs.evaluate(merged.to_dict(), RUNS["x"], "ndcg")["ndcg"]
    )
    merged.write(tmp_path / "a.csv", "quepid")
    assert rs.read_truth(tmp_path / "a.csv").notes[0].endswith("2 queries, 6 ratings")
    assert merged.to_pandas()["conflict"].sum() == merged.conflicts == 2
