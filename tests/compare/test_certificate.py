"""How many wrong labels turn a verdict or a sign: against brute force, bounds, which labels, what is refused."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import rankstone as rs
from rankstone.compare.label_changes import least_changes, spend

METRICS = ("ndcg@3", "ndcg", "precision@2", "recall@2", "dcg@3", "ap", "rr", "ndcg(gain='exp2')@2", "hit_rate@1",
           "err(max_grade=3)@3", "f1@2", "ndcg(gain='binary')@3")  # fmt: skip
quiet = pytest.mark.filterwarnings("ignore::rankstone.errors.UnmatchedWarning")


def drawn(rng, queries, most=3):
    """Small truths and runs, with unjudged items in the runs."""
    top = int(rng.integers(1, 4))
    truth = {f"q{query}": {f"d{item}": int(rng.integers(0, top + 1)) for item in range(rng.integers(2, most + 1))}
             for query in range(queries)}  # fmt: skip
    runs = {name: {query: [f"d{item}" for item in rng.permutation(5)[: rng.integers(2, 5)]] for query in truth}
            for name in ("old", "new")}  # fmt: skip
    return truth, runs


def options(truth, runs, unjudged):
    """The other grades of each item that could have been given another."""
    top = max(1, *(grade for items in truth.values() for grade in items.values()))
    if unjudged:
        return {(query, item): [1] for query, items in truth.items()
                for item in dict.fromkeys(runs["old"][query] + runs["new"][query]) if item not in items}  # fmt: skip
    return {(query, item): [to for to in (grade - 1, grade + 1) if 0 <= to <= top]
            for query, items in truth.items() for item, grade in items.items()}  # fmt: skip


def least(truth, runs, metric, unjudged, turned, most=99):
    """The least number of changes after which `turned` holds of the differences; None where none has it."""
    every = options(truth, runs, unjudged)
    for changes in range(min(len(every), most) + 1):
        for chosen in itertools.combinations(every, changes):
            for grades in itertools.product(*(every[one] for one in chosen)):
                other = {query: dict(items) for query, items in truth.items()}
                for (query, item), grade in zip(chosen, grades, strict=True):
                    other[query][item] = grade
                values = [rs.evaluate(other, runs[name], metric).per_query[metric] for name in ("old", "new")]
                if turned(values[1] - values[0]):
                    return changes
    return None


@quiet
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("unjudged", [False, True], ids=["judged", "unjudged"])
def test_the_sign_is_that_of_brute_force(metric, unjudged):
    rng = np.random.default_rng(len(metric) + unjudged)
    metric = rs.define(metric).metric
    for _ in range(10):
        truth, runs = drawn(rng, 2)
        of = rs.compare(truth, runs, metric)["new", metric]
        turn = getattr(of.certificate(), "unjudged" if unjudged else "judged")["sign"]
        sign = np.sign(round(of.difference, 12))
        expected = least(truth, runs, metric, unjudged, lambda values, sign=sign: values.sum() * sign < 1e-9)
        assert (turn.at_least, turn.at_most) == (expected, expected), (truth, runs)
        assert turn.of == len(options(truth, runs, unjudged))


def falls(values):
    """Whether Student's t of the differences is below its quantile."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() < stats.t.ppf(0.975, len(values) - 1) * error + 1e-12


@quiet
@pytest.mark.parametrize("metric", ["precision@1", "ndcg@2", "rr"])
def test_the_verdict_is_within_its_bounds(metric):
    """With a gap of few labels: decided by Student's t of the differences."""
    rng, decided = np.random.default_rng(1), 0
    while decided < 5:
        truth = {f"q{query}": {"a": 1, "b": int(rng.random() < 0.2)} for query in range(8)}
        runs = {"old": {query: ["b", "a"] for query in truth}, "new": {query: ["a", "b"] for query in truth}}
        of = rs.compare(truth, runs, metric)["new", metric]
        if of.verdict != "better":
            continue
        decided += 1
        turn = of.certificate().judged["verdict"]
        expected = least(truth, runs, metric, False, falls, 4)
        if expected is None:
            assert turn.at_least is None or turn.at_most is None or turn.at_most > 4
            continue
        assert turn.at_least <= expected
        assert turn.at_most is None or turn.at_most >= expected
        if turn.exact:
            assert turn.at_least == expected


@quiet
@pytest.mark.parametrize("metric", ["ndcg@10", "precision@10", "rr", "ap@10"])
def test_the_changes_turn_it(metric):
    """The labels that are listed, all changed, turn the verdict and the sign; so many random ones do not."""
    rng = np.random.default_rng(3)
    items = [f"d{item}" for item in range(30)]
    truth = {f"q{query}": {item: int(rng.random() < 0.3) for item in items[:20]} for query in range(60)}
    score = {query: {item: grades.get(item, 0) for item in items} for query, grades in truth.items()}
    runs = {
        name: {query: sorted(items, key=lambda item, own=own: -own[item] - rng.normal(0, spread))
               for query, own in score.items()}
        for name, spread in (("old", 2.5), ("new", 1.2))
    }  # fmt: skip
    of = rs.compare(truth, runs, metric)["new", metric]
    certificate = of.certificate()
    assert ("verdict" in certificate.judged) == (of.verdict == "better")
    for side in (certificate.judged, certificate.unjudged):
        for name, turn in side.items():
            assert turn.at_least is None or turn.at_most is None or turn.at_least <= turn.at_most
            if turn.at_most is None:
                continue
            assert len(turn.changes) <= turn.at_most
            other = {query: dict(grades) for query, grades in truth.items()}
            for change in turn.changes:
                assert other[change.query].get(change.item) == change.grade
                other[change.query][change.item] = change.to
            after = rs.compare(other, runs, metric)["new", metric]
            assert after.difference < 1e-9 if name == "sign" else after.verdict != "better"


def test_by_hand():
    """Five queries, each with one relevant item that only the new run has first: all five must be wrong."""
    truth = {query: {"a": 1, "b": 0} for query in range(5)}
    runs = {"old": {query: ["b", "a"] for query in truth}, "new": {query: ["a", "b"] for query in truth}}
    certificate = rs.compare(truth, runs, "precision@1")["new", "precision@1"].certificate()
    turn = certificate.judged["sign"]
    assert (turn.at_least, turn.at_most, turn.of) == (5, 5, 10)
    assert [change.change for change in turn.changes] == pytest.approx([-1 / 5] * 5)
    assert certificate.unjudged["sign"].at_least is None
    assert "no change" not in certificate.sentence  # there is no unjudged item to speak about
    plain = json.loads(json.dumps(certificate.to_dict()))
    assert plain["judged"]["sign"]["at_least"] == 5
    assert len(certificate.to_pandas()) == len(next(iter(certificate.judged.values())).changes)


def test_a_flip_is_one_change_where_steps_are_several():
    truth = {query: {"a": 3, "b": 0} for query in range(5)}
    runs = {"old": {query: ["b", "a"] for query in truth}, "new": {query: ["a", "b"] for query in truth}}
    of = rs.compare(truth, runs, "dcg@1")["new", "dcg@1"]
    assert of.certificate("step").judged["sign"].at_least is None  # 15 in all, and each of ten items by at most one
    assert of.certificate("flip").judged["sign"].at_least == 5
    with pytest.raises(ValueError, match="change='swap'; choose from"):
        of.certificate("swap")


def test_identical_runs_have_no_sign():
    truth, run = {"q": {"a": 1}}, {"q": ["a"]}
    certificate = rs.compare(truth, {"old": run, "new": run}, "rr")["new", "rr"].certificate()
    assert certificate.judged["sign"].at_most == 0


def test_files(tmp_path):
    (tmp_path / "a.qrels").write_text("1 0 10 1\n1 0 20 0\n2 0 10 1\n2 0 30 0\n")
    for name, order in (("old", "20 10 30 10"), ("new", "10 20 10 30")):
        rows = zip("1122", order.split(), "1212", strict=True)
        (tmp_path / f"{name}.run").write_text(
            "".join(f"{q} Q0 {item} {rank} {-int(rank)} x\n" for q, item, rank in rows)
        )
    runs = {name: tmp_path / f"{name}.run" for name in ("old", "new")}
    turn = rs.compare(tmp_path / "a.qrels", runs, "rr")["new", "rr"].certificate().judged["sign"]
    assert turn.at_least == turn.at_most == 2
    assert {(change.query, change.item) for change in turn.changes} <= {
        ("1", "10"),
        ("1", "20"),
        ("2", "10"),
        ("2", "30"),
    }


TRUTH = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUNS = {"old": {"q1": ["b", "a"], "q2": ["x", "c"]}, "new": {"q1": ["a", "b"], "q2": ["c"]}}


def certificate(metric="rr", truth=TRUTH, runs=RUNS, **options):
    return rs.compare(truth, runs, metric, **options)["new", rs.define(metric).metric].certificate()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: certificate("err"), "set max_grade="),
        (lambda: certificate("num_ret"), "no metric of ranked lists"),
        (lambda: certificate("recall", averaging="micro"), "plain means over queries"),
        (lambda: certificate("rr", unjudged="condensed"), "unjudged items are not relevant"),
        (
            lambda: certificate("recall", no_relevant="skip", truth={**TRUTH, "q3": {"a": 0}}),
            "plain means|which queries",
        ),
        (lambda: certificate("rr", exclude={"q1": ["b"]}), "after exclude="),
        (lambda: certificate("bpref"), "reads more than grades|which queries"),
        (
            lambda: rs.compare({name: rs.evaluate(TRUTH, run, "rr") for name, run in RUNS.items()})[
                "new", "rr"
            ].certificate(),
            "not saved results",
        ),
    ],
)
def test_what_has_no_certificate(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_spending_is_that_of_all_ways():
    rng = np.random.default_rng(0)
    for _ in range(50):
        gains = np.maximum.accumulate(np.column_stack([np.zeros(3), rng.random((3, 3)).round(1)]), axis=1)
        every = list(itertools.product(range(4), repeat=3))
        ways = {budget: max(gains[range(3), way].sum() for way in every if sum(way) <= budget) for budget in range(10)}
        spending = spend(gains, 9)
        assert spending.total == pytest.approx(list(ways.values()))
        for budget in range(10):
            own = spending.by_query(budget)
            assert own.sum() <= budget
            assert gains[range(3), own].sum() == pytest.approx(ways[budget])
        for need in (0.05, 0.5, 1.0, 1.7):
            enough = [budget for budget, total in ways.items() if total >= need]
            assert least_changes(gains, need) == (min(enough) if enough else None)
    assert least_changes(gains, -math.inf) == 0


@pytest.mark.slow
def test_a_thousand_queries_of_a_hundred_items():
    """In a time that does not grow with the square of the items: it is measured in the handbook."""
    rng = np.random.default_rng(0)
    truth = {query: {item: int(min(rng.geometric(0.5) - 1, 3)) for item in range(100)} for query in range(1000)}
    runs = {
        name: {query: np.argsort(-np.array(list(grades.values())) + rng.normal(0, spread, 100)).tolist()
               for query, grades in truth.items()}
        for name, spread in (("old", 2.2), ("new", 2.05))
    }  # fmt: skip
    turn = rs.compare(truth, runs, "ndcg@10")["new", "ndcg@10"].certificate().judged["sign"]
    assert turn.at_least <= turn.at_most <= 1.05 * turn.at_least
