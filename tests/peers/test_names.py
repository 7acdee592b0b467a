"""The names of other tools' measures, read as they are: under the tool's convention they make the tool's number."""

import warnings

import pytest

import rankstone as rs

from .data import draw

pytestmark = pytest.mark.peers
NOT_OURS = {  # pytrec_eval's that no metric here is; of gm_map it gives a query's logarithm
    "gm_map", "num_q", "runid", "num_nonrel_judged_ret", "relstring", "Rprec_mult", "gm_bpref", "utility", "ndcg_rel",
    "Rndcg", "binG", "G", "relative_P", "set_relative_P", "set_map", "yaap", "prefs_num_prefs_poss",
    "prefs_num_prefs_ful",
}  # fmt: skip


def text(side):
    return {f"q{query}": {f"d{item}": value for item, value in rows.items()} for query, rows in side.items()}


@pytest.fixture
def data():
    truth, run = map(text, draw(1, "graded"))
    return {query: {item: int(grade) for item, grade in rows.items()} for query, rows in truth.items()}, run


def test_pytrec_eval(data):
    library = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    truth, run = data
    theirs = library.RelevanceEvaluator(truth, library.supported_measures).evaluate(run)
    names = [name for name in next(iter(theirs.values())) if name.rpartition("_")[0] not in NOT_OURS]
    names = [name for name in names if name not in NOT_OURS]
    assert len(names) > 40
    for name in names:
        found = rs.evaluate(truth, run, name, convention="trec_eval-9")
        (metric,) = found
        for query, value in zip(found.queries, found.per_query[metric], strict=True):
            if query in theirs:
                assert value == pytest.approx(theirs[query][name], abs=1e-9), (name, query)


@pytest.mark.parametrize(
    "name",
    ["AP(rel=2)", "AP(rel=2)@3", "nDCG@3", "P(rel=2)@3", "R@3", "RR@3", "Rprec", "Bpref",
     "Success@3", "SetP", "SetR", "SetF", "IPrec@0.2", "Judged@3", "NumRet", "NumRet(rel=2)",
     "nDCG(judged_only=True)@3", "AP(judged_only=True)", "P(judged_only=False)@3"],
)  # fmt: skip
def test_ir_measures(data, name):
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    truth, run = data
    theirs = library.calc_aggregate([library.parse_measure(name)], truth, run)
    (ours,) = rs.evaluate(truth, run, name, convention="ir_measures").values()
    assert ours == pytest.approx(*theirs.values(), abs=1e-9)


@pytest.mark.slow
def test_ranx():
    from .test_ranx import some_data

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip("ranx", reason="ranx is not installed")
        truth, run = some_data(0)
        names = ["hits@3", "hit_rate@3", "precision@3", "recall@3", "f1@3", "r-precision", "rbp.95", "mrr@3",
                 "map@3", "dcg@3", "dcg_burges@3", "ndcg@3", "ndcg_burges@3"]  # fmt: skip
        theirs = library.evaluate(library.Qrels(truth), library.Run(run), names)
    for name in names:
        (ours,) = rs.evaluate(truth, run, name, convention="ranx").values()
        assert ours == pytest.approx(theirs[name], rel=1e-9), name
