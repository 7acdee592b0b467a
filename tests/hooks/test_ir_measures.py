"""ir_measures with rankstone as its first provider: the numbers of the tools that it asks without it."""

import random
import subprocess
import sys

import pytest

import rankstone as rs

library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
pytestmark = pytest.mark.peers
AP, ERR, RR, IPrec, Judged, P, R = (getattr(library, name) for name in ["AP", "ERR", "RR", "IPrec", "Judged", "P", "R"])
NumRet, SetF, SetP, Success, nDCG = (getattr(library, name) for name in ["NumRet", "SetF", "SetP", "Success", "nDCG"])  # noqa: N816

TREC = [
    P @ 5, P(rel=2, judged_only=True) @ 3, RR, RR(rel=2, judged_only=True), library.Rprec(rel=2), AP, AP(rel=2) @ 7,
    nDCG, nDCG @ 5, nDCG(gains={1: 3, 2: 9}) @ 5, nDCG(judged_only=True), R @ 5, library.Bpref, NumRet, NumRet(rel=1),
    library.NumQ, library.NumRel, library.SetAP, SetF, SetF(beta=2.0), SetP, SetP(relative=True), library.SetR(rel=2),
    Success @ 3, IPrec @ 0.3, library.infAP,
]  # fmt: skip
OTHERS = [RR @ 5, RR(rel=2) @ 10, Judged @ 5, Judged]
GDEVAL = [nDCG(dcg="exp-log2") @ 5, ERR @ 5, ERR @ 20]


@pytest.fixture
def provider():
    """Registered for one test."""
    yield rs.integrations.ir_measures()
    ours = library.providers.registry.pop("rankstone")
    library.DefaultPipeline.providers.remove(ours)


def data(seed):
    """Ties, queries that only one side has, and lists without relevant documents; gdeval needs queries with numbers."""
    chance = random.Random(seed)
    items = [f"d{number}" for number in range(30)]
    truth, run = (
        {
            str(number): {item: draw() for item in chance.sample(items, chance.randint(2, 30))}
            for number in chance.sample(range(1, 12), 8)
        }
        for draw in (lambda: chance.choice((0, 0, 1, 2)), lambda: chance.randint(0, 9) / 2)
    )
    return truth, run


@pytest.mark.parametrize("seed", range(6))
def test_the_same_numbers(seed, request):
    measures = [*TREC, *OTHERS]
    if library.gdeval.is_available():
        measures += GDEVAL
    if library.cwl_eval.is_available():
        measures += [library.RBP(rel=1), library.RBP(p=0.5, rel=2)]
    truth, run = data(seed)
    theirs = {(one.measure, one.query_id): one.value for one in library.iter_calc(measures, truth, run)}
    means = library.calc_aggregate(measures, truth, run)
    provider = request.getfixturevalue("provider")
    for ask in (library, provider):
        ours = {(one.measure, one.query_id): one.value for one in ask.iter_calc(measures, truth, run)}
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert ours[key] == pytest.approx(value, rel=1e-12, abs=1e-12), key
        assert ask.calc_aggregate(measures, truth, run) == pytest.approx(means, rel=1e-12)


def test_it_is_asked_first_and_others_for_the_rest(provider, monkeypatch):
    truth, run = data(1)
    for name in ("pytrec_eval", "judged", "msmarco", "gdeval"):
        monkeypatch.setattr(library.providers.registry[name], "_evaluator", None)
    assert library.calc_aggregate([AP, *OTHERS, *GDEVAL], truth, run).keys() == {AP, *OTHERS, *GDEVAL}
    assert not provider.supports(library.Compat(p=0.8))
    assert library.calc_aggregate([AP, library.Compat(p=0.8)], truth, run)[library.Compat(p=0.8)] > 0
    assert rs.integrations.ir_measures() is provider
    assert library.DefaultPipeline.providers.count(provider) == 1


def test_queries_in_one_side_only(provider):
    for measure in (AP, RR @ 5):
        assert list(measure.iter_calc({"1": {"a": 1}}, {"2": {"a": 1.0}})) == [library.Metric("1", measure, 0.0)]
        assert list(measure.iter_calc({}, {"2": {"a": 1.0}})) == []


def test_rows_and_frames(provider):
    pandas = pytest.importorskip("pandas")
    qrels = [library.Qrel("1", "a", 1), library.Qrel("1", "b", 0)]
    run = [library.ScoredDoc("1", "a", 0.5), library.ScoredDoc("1", "b", 0.7), library.ScoredDoc("1", "c", 0.1)]
    for frame in (iter, pandas.DataFrame):
        values = library.calc_aggregate([AP, RR @ 5, Judged @ 3], frame(qrels), frame(run))
        assert values == {AP: 1 / 2, RR @ 5: 1 / 2, Judged @ 3: 2 / 3}


def test_the_command(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 b 1 0.9 x\n1 Q0 a 2 0.5 x\n")
    command = [sys.executable, "-m", "rankstone.integrations.ir_measures_provider", "--provider", "rankstone", "qrels"]
    output = subprocess.run([*command, "run", "RR@5", "AP"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(output.stdout.split("\n")) == ["", "AP\t0.5000", "RR@5\t0.5000"]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # PyTerrier and pandas 3
def test_an_experiment_of_pyterrier(provider, monkeypatch):
    pyterrier = pytest.importorskip("pyterrier", reason="pyterrier is not installed")
    pandas = pytest.importorskip("pandas")
    truth, run = data(2)
    topics = pandas.DataFrame({"qid": list(truth), "query": list(truth)})
    qrels, results = (
        pandas.DataFrame([(query, item, number) for query, items in side.items() for item, number in items.items()],
                         columns=["qid", "docno", name])
        for side, name in ((truth, "label"), (run, "score"))
    )  # fmt: skip
    results = pyterrier.model.add_ranks(results)
    monkeypatch.setattr(library.pytrec_eval, "_evaluator", None)
    table = pyterrier.Experiment([results], topics, qrels, [AP, nDCG @ 5])
    ours = rs.evaluate(truth, run, ["ap", "ndcg@5"], convention="ir_measures")
    assert table["AP"][0] == pytest.approx(ours["ap"])
    assert table["nDCG@5"][0] == pytest.approx(ours["ndcg@5"])
