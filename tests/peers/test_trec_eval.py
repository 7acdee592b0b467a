"""Convention `trec_eval` against trec_eval itself (pytrec_eval wraps version 9), on random truths and runs."""

import math
import random

import pytest

import rankstone as rs

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
pytestmark = pytest.mark.peers

# trec_eval's name: ours
PAIRS = {
    "map": "ap",
    "Rprec": "r_precision",
    "recip_rank": "rr",
    "bpref": "bpref",
    "infAP": "infap",
    "ndcg": "ndcg",
    "11pt_avg": "iprec11",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1",
    **{f"P_{k}": f"precision@{k}" for k in (1, 3, 5, 10, 100)},
    **{f"recall_{k}": f"recall@{k}" for k in (1, 3, 5, 10, 100)},
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in (1, 3, 5, 10, 100)},
    **{f"map_cut_{k}": f"ap@{k}" for k in (1, 3, 5, 10, 100)},
    **{f"success_{k}": f"hit_rate@{k}" for k in (1, 3, 5, 10)},
    **{f"iprec_at_recall_{i / 10:.2f}": f"iprec(recall={i / 10})" for i in range(11)},
}
ASKED = {
    "map", "gm_map", "Rprec", "recip_rank", "bpref", "infAP", "ndcg", "11pt_avg", "num_ret", "num_rel", "num_rel_ret",
    "set_P", "set_recall", "set_F", "P.1,3,5,10,100", "recall.1,3,5,10,100", "ndcg_cut.1,3,5,10,100",
    "map_cut.1,3,5,10,100", "success.1,3,5,10", "iprec_at_recall",
}  # fmt: skip
COUNTS = ("num_ret", "num_rel", "num_rel_ret")


def some_data(seed, *, grades, ids, scores, queries=12):
    """Queries of every size: judged and returned, only judged, only returned.

    No list is empty, and each query has a grade that is not negative: pytrec_eval 0.5.11 reads memory that is not
    its own in both cases, and sometimes ends the process.
    """
    rng = random.Random(seed)
    truth, run = {}, {}
    for number in range(queries):
        name = f"q{number}"
        kind = rng.choice(("both", "both", "both", "truth", "run"))
        if kind != "run":
            judged = {rng.choice(ids): rng.choice(grades) for _ in range(rng.choice((1, 3, 10, 40)))}
            judged[rng.choice(ids)] = rng.choice([grade for grade in grades if grade >= 0])
            truth[name] = judged
        if kind != "truth":
            size = rng.choice((1, 2, 8, 30, 60))
            run[name] = {rng.choice(ids): scores(rng) for _ in range(size)}
    return truth, run


TIED = ("many ties", lambda rng: rng.randint(0, 4) / 2)
NEAR = ("close as float32", lambda rng: 1 + rng.randint(0, 6) * 3e-8)
FREE = ("negative", lambda rng: rng.uniform(-3, 1))
NUMERIC = [str(number) for number in (*range(1, 60), 100, 1000, 200)]  # as text "9" > "10"
WORDS = [f"doc-{letter}{number}" for letter in "aBäÄz" for number in range(12)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ids", [NUMERIC, WORDS], ids=["numeric ids", "words"])
@pytest.mark.parametrize("scores", [one[1] for one in (TIED, NEAR, FREE)], ids=[one[0] for one in (TIED, NEAR, FREE)])
@pytest.mark.parametrize(
    "grades", [(0, 1), (0, 1, 2, 3, 4), (-2, -1, 0, 1, 2, 4)], ids=["binary", "graded", "negative"]
)
def test_every_measure(seed, ids, scores, grades):
    truth, run = some_data(seed, grades=grades, ids=ids, scores=scores)
    theirs = pytrec_eval.RelevanceEvaluator(truth, ASKED).evaluate(run)
    ours = rs.evaluate(truth, run, [*PAIRS.values(), "gmap"], convention="trec_eval-9")
    shared = [query for query in truth if query in run]
    assert set(theirs) == set(shared)
    for name, metric in PAIRS.items():
        values = dict(zip(ours.queries, ours.per_query[metric], strict=True))
        wanted = {query: theirs[query][name] for query in shared}
        for query in shared:
            assert values[query] == pytest.approx(wanted[query], rel=1e-9, abs=1e-9), (name, query)
        mean = sum(wanted.values()) / (1 if name in COUNTS else max(len(wanted), 1))
        if shared:
            assert ours[metric] == pytest.approx(mean, rel=1e-9, abs=1e-9), name
    if shared:  # a query's gm_map is a logarithm
        mean = math.exp(sum(theirs[query]["gm_map"] for query in shared) / len(shared))
        assert ours["gmap"] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_relevance_level(level, seed):
    """`trec_eval -l` is our threshold: gains keep every grade, the rest counts from that grade."""
    truth, run = some_data(seed, grades=(0, 1, 2, 3), ids=WORDS, scores=TIED[1])
    theirs = pytrec_eval.RelevanceEvaluator(truth, ASKED, relevance_level=level).evaluate(run)
    ours = rs.evaluate(truth, run, list(PAIRS.values()), convention="trec_eval-9", threshold=level)
    for name, metric in PAIRS.items():
        for query, value in zip(ours.queries, ours.per_query[metric], strict=True):
            if query in run:
                assert value == pytest.approx(theirs[query][name], rel=1e-9, abs=1e-9), (name, query)


def test_recall_levels_round_as_in_version_9():
    """0.7 of 3 relevant items is 2 of them: version 9 adds 0.9 and cuts, and 2.0999999999999996 + 0.9 is below 3."""
    truth = {"q": {"a": 1, "b": 1, "c": 1}}
    run = {"q": {"a": 9.0, "x": 8.0, "b": 7.0, "y": 6.0, "z": 5.0, "c": 4.0}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"iprec_at_recall"}).evaluate(run)["q"]["iprec_at_recall_0.70"]
    assert theirs == pytest.approx(2 / 3)
    assert rs.evaluate(truth, run, "iprec(recall=0.7)", convention="trec_eval-9")["iprec(recall=0.7)"] == pytest.approx(
        2 / 3
    )
    assert rs.evaluate(truth, run, "iprec(recall=0.7)")["iprec(recall=0.7)"] == pytest.approx(3 / 6)
