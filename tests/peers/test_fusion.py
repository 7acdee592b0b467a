"""Fused runs against ranx, trectools and PyTerrier, on random runs."""

import random
import warnings

import pytest

import rankstone as rs

# ranx compiles for half a minute before its first number, and warns on import.
pytestmark = [pytest.mark.peers, pytest.mark.slow]

# ranx's name and parameters, and ours.
METHODS = {
    "rrf": ({"k": 17}, {"k": 17}),
    "isr": ({}, {}),
    "log_isr": ({}, {}),
    "logn_isr": ({"sigma": 0.3}, {"sigma": 0.3}),
    "rbc": ({"phi": 0.7}, {"p": 0.7}),
    "bordafuse": ({}, {}),
    "w_bordafuse": ({"weights": [0.5, 2.0, 1.5]}, {"weights": [0.5, 2.0, 1.5]}),
    "sum": ({}, {}),
    "wsum": ({"weights": [0.5, 2.0, 1.5]}, {"weights": [0.5, 2.0, 1.5]}),
    "mnz": ({}, {}),
    "wmnz": ({"weights": [0.5, 2.0, 1.5]}, {"weights": [0.5, 2.0, 1.5]}),
    "gmnz": ({"gamma": 1.7}, {"gamma": 1.7}),
    "mixed": ({"weights": [0.5, 2.0, 1.5]}, {"weights": [0.5, 2.0, 1.5]}),
    "anz": ({}, {}),
    "min": ({}, {}),
    "max": ({}, {}),
    "med": ({}, {}),
}
NORMS = (None, "min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda")


def some_runs(seed, low=-2.0, runs=3):
    """Runs of the same queries, without ties, with lists of one item and of equal ones."""
    rng = random.Random(seed)
    items = [f"d{number}" for number in range(25)]
    out = [{} for _ in range(runs)]
    for number in range(12):
        for run in out:
            shown = rng.sample(items, rng.choice((1, 2, 6, 14)))
            scores = rng.sample(range(1, 1000), len(shown))
            run[f"q{number}"] = {item: low + score / 200 for item, score in zip(shown, scores, strict=True)}
    return out


@pytest.fixture(scope="module")
def ranx():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx", reason="ranx is not installed")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", METHODS)
def test_ranx(ranx, method, norm):
    theirs, ours = METHODS[method]
    by_rank = rs.fusion.methods[method].reads == "rank"
    if by_rank and norm == "borda":
        pytest.skip("ranx orders the items by Python's hashes then")
    for seed, low in ((1, -2.0), (2, 0.0)):
        if (method, norm, low) == ("max", "max", -2.0):
            continue  # lists of negative scores explode, and what is below -1e9 then is -1e9
        runs = some_runs(seed, low)
        if not by_rank or norm == "min-max-inverted":
            ours = {**ours, "norm": norm}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = ranx.fuse([ranx.Run(run) for run in runs], norm=norm, method=method, params=dict(theirs))
        expected = {query: dict(content) for query, content in made.to_dict().items()}
        found = rs.fuse(runs, method, convention="ranx", **ours).to_dict()
        assert found.keys() == expected.keys()
        for query, content in expected.items():
            assert found[query] == pytest.approx(content, rel=1e-9, abs=1e-9), query


COMBINED = {
    "sum": "comb_sum",
    "max": "comb_max",
    "min": "comb_min",
    "anz": "comb_anz",
    "mnz": "comb_mnz",
    "med": "comb_med",
}


def frame(run, query="qid", item="docno"):
    import pandas as pd

    rows = [(q, i, s) for q, content in run.items() for i, s in content.items()]
    return pd.DataFrame(rows, columns=[query, item, "score"])


@pytest.mark.filterwarnings("ignore")  # of pandas, about how they use it
@pytest.mark.parametrize("seed", range(3))
def test_trectools(seed):
    trectools = pytest.importorskip("trectools", reason="trectools is not installed")
    from trectools import fusion

    given = some_runs(seed, runs=2)
    del given[0]["q3"], given[1]["q5"]

    def theirs(run):
        rows = frame(run, "query", "docid").sort_values(["query", "score"], ascending=[True, False])
        made = trectools.TrecRun()
        made.load_run_from_dataframe(rows.assign(q0="Q0", rank=rows.groupby("query").cumcount() + 1, system="s"))
        return made

    runs = [theirs(run) for run in given]
    made = {ours: fusion.combos(runs, strategy=strategy) for strategy, ours in COMBINED.items()}
    made |= {"rrf": fusion.reciprocal_rank_fusion(runs, k=7), "rbc": fusion.rank_biased_precision_fusion(runs, p=0.6)}
    for method, run in made.items():
        expected = {}
        for query, item, score in run.run_data[["query", "docid", "score"]].itertuples(index=False):
            expected.setdefault(query, {})[item] = score
        choices = {"rrf": {"k": 7}, "rbc": {"p": 0.6}}.get(method, {})
        found = rs.fuse(given, method, convention="trectools", **choices).to_dict()
        assert found.keys() == expected.keys()
        for query, content in expected.items():
            assert found[query] == pytest.approx(content, rel=1e-12), (method, query)
    for depth in (1, 3, 50):
        pool = trectools.TrecPoolMaker().make_pool(runs, strategy="topX", topX=depth)
        assert {q: sorted(items) for q, items in pool.pool.items()} == {
            q: sorted(items) for q, items in rs.pool(given, depth).to_dict().items()
        }


@pytest.mark.filterwarnings("ignore")  # of pandas, about how they use it
@pytest.mark.parametrize("seed", range(3))
def test_pyterrier(seed):
    fusion = pytest.importorskip("pyterrier_alpha.fusion", reason="pyterrier-alpha is not installed")
    given = some_runs(seed)
    del given[0]["q3"], given[1]["q5"]
    frames = [frame(run).assign(query="text") for run in given]
    made = fusion.rr_fusion(*frames, k=11)
    expected = {}
    for query, item, score in made[["qid", "docno", "score"]].itertuples(index=False):
        expected.setdefault(query, {})[item] = score
    found = rs.fuse(given, "rrf", k=11, convention="pyterrier").to_dict()
    assert found.keys() == expected.keys()
    for query, content in expected.items():
        assert found[query] == pytest.approx(content, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_scales(seed):
    """What PyTerrier's own scaling calls, which cannot be imported in 0.16.5."""
    scale = pytest.importorskip("sklearn.preprocessing").minmax_scale
    (run,) = some_runs(seed, runs=1)
    found = rs.fuse([run], "sum", norm="min-max", convention="pyterrier").to_dict()
    for query, content in run.items():
        expected = dict(zip(content, scale(list(content.values())).tolist(), strict=True))
        assert found[query] == pytest.approx(expected, rel=1e-12, abs=1e-12)
