"""Scores that other tools reported: their files, their names of metrics, and leaderboards over tasks."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import rankstone as rs
from rankstone.compare.score_files import SCORE_FORMATS

ST_HEADER = "epoch,steps,cosine-Accuracy@1,cosine-NDCG@10,cosine-MAP@100,dot-Accuracy@1,dot-NDCG@10,dot-MAP@100"
REPORT = {
    "stat_test": "student", "metrics": ["map", "ndcg@10"], "model_names": ["bm25", "dense"],
    "bm25": {"scores": {"map": 0.25, "ndcg@10": 0.5}, "comparisons": {"dense": {"map": 0.03, "ndcg@10": 0.2}}},
    "dense": {"scores": {"map": 0.375, "ndcg@10": 0.625}, "comparisons": {"bm25": {"map": 0.03, "ndcg@10": 0.2}}},
}  # fmt: skip
# Per file: its name, its content, its tool, and (model, task, split, subset, metric, value) of some scores.
FILES = {
    "mteb": (
        "results/org__small/0123456789abcdef0123456789abcdef01234567/SciFact.json",
        {"dataset_revision": "r1", "task_name": "SciFact", "mteb_version": "2.26.24", "scores": {
            "test": [{"ndcg_at_10": 0.5, "map_at_10": 0.25, "mrr_at_5": 0.75, "hit_rate_at_1": 0.125,
                      "accuracy": 0.0625, "f1": 0.5, "main_score": 0.5, "hf_subset": "default",
                      "languages": ["eng-Latn"], "nauc_x": None}],
            "train": [{"ndcg_at_10": 0.875, "main_score": 0.875, "hf_subset": "default"}]}},
        "mteb",
        [("org/small", "SciFact", "test", "", "ndcg@10", 0.5),
         ("org/small", "SciFact", "test", "", "ap@10", 0.25),
         ("org/small", "SciFact", "test", "", "rr@5", 0.75),
         ("org/small", "SciFact", "test", "", "hit_rate@1", 0.125),
         ("org/small", "SciFact", "test", "", "accuracy", 0.0625),
         ("org/small", "SciFact", "train", "", "main_score", 0.875)],
    ),
    "mteb before 1.11": (
        "old/model/ArguAna.json",
        {"dataset_revision": None, "mteb_dataset_name": "ArguAna", "mteb_version": "0.0.2",
         "test": {"evaluation_time": 12.5, "map_at_1": 0.25, "ndcg_at_10": 0.375},
         "dev": {"en": {"accuracy": 0.5, "cos_sim": {"pearson": 0.75}}, "de": {"accuracy": 0.25},
                 "evaluation_time": 1.0}},
        "mteb",
        [("model", "ArguAna", "test", "", "ap@1", 0.25), ("model", "ArguAna", "test", "", "ndcg@10", 0.375),
         ("model", "ArguAna", "dev", "en", "accuracy", 0.5), ("model", "ArguAna", "dev", "en", "cos_sim_pearson", 0.75),
         ("model", "ArguAna", "dev", "de", "accuracy", 0.25)],
    ),
    "sentence-transformers": (
        "tuned/eval/Information-Retrieval_evaluation_nano_results.csv",
        f"{ST_HEADER}\n1.0,100,0.5,0.25,0.125,0.5,0.375,0.25\n2.0,200,0.75,0.5,0.25,0.75,0.625,0.5\n",
        "sentence-transformers",
        [("tuned (epoch 1, step 100, cosine)", "nano", "", "", "ndcg@10", 0.25),
         ("tuned (epoch 2, step 200, dot)", "nano", "", "", "ndcg@10", 0.625),
         ("tuned (epoch 2, step 200, cosine)", "nano", "", "", "hit_rate@1", 0.75),
         ("tuned (epoch 2, step 200, dot)", "nano", "", "", "ap@100", 0.5)],
    ),
    "sentence-transformers, one row": (
        "m/RerankingEvaluator_ask_results_@10.csv", "epoch,steps,MAP,MRR@10,NDCG@10\n-1,-1,0.5,0.25,0.125\n",
        "sentence-transformers",
        [("m", "ask", "", "", "ap", 0.5), ("m", "ask", "", "", "rr@10", 0.25), ("m", "ask", "", "", "ndcg@10", 0.125)],
    ),
    "sentence-transformers, returned": (
        "returned.json", {"Nano_cosine_accuracy@1": 0.5, "Nano_cosine_ndcg@10": 0.25, "Nano_cosine_map@100": 0.125},
        "sentence-transformers",
        [("returned", "Nano", "", "", "hit_rate@1", 0.5), ("returned", "Nano", "", "", "ap@100", 0.125)],
    ),
    "trec_eval": (
        "bm25.eval",
        "runid                 \tall\tAnserini\nnum_q                 \tall\t2\nmap                   \tq1\t0.1\n"
        "map                   \tall\t0.2\nndcg_cut_10           \tall\t0.4\nP_5 all 0.3\n",
        "trec_eval",
        [("Anserini", "", "", "", "ap", 0.2), ("Anserini", "", "", "", "ndcg@10", 0.4),
         ("Anserini", "", "", "", "precision@5", 0.3), ("Anserini", "", "", "", "num_q", 2.0)],
    ),
    "ir_measures": (
        "a.tsv", "nDCG@10\t0.4\nAP(rel=2)\t0.25\nR@100\t0.5\n", "ir_measures",
        [("a", "", "", "", "ndcg@10", 0.4), ("a", "", "", "", "ap(threshold=2)", 0.25),
         ("a", "", "", "", "recall@100", 0.5)],
    ),
    "ir_measures by query": (
        "b.tsv", "q1\tnDCG@10\t0.5\nq2\tnDCG@10\t0.25\nall\tnDCG@10\t0.375\n", "ir_measures",
        [("b", "", "", "", "ndcg@10", 0.375)],
    ),
    "ir_measures, lines": (
        "c.jsonl",
        '{"query_id": "q1", "measure": "RR", "value": 1.0}\n{"query_id": "all", "measure": "RR", "value": 0.75}\n',
        "ir_measures", [("c", "", "", "", "rr", 0.75)],
    ),
    "ir_measures, dict": ("d.json", {"nDCG@10": 0.5, "AP": 0.25}, "ir_measures", [("d", "", "", "", "ap", 0.25)]),
    "ranx": (
        "report.json", REPORT, "ranx",
        [("bm25", "", "", "", "ap", 0.25), ("dense", "", "", "", "ndcg@10", 0.625)],
    ),
    "vespa": (
        "v.csv",
        "name,accuracy@1,map@10,ndcg@10,searchtime_avg\nhybrid,0.5,0.25,0.375,0.01\nlexical,0.25,0.125,0.25,0.02\n",
        "vespa",
        [("hybrid", "", "", "", "hit_rate@1", 0.5), ("lexical", "", "", "", "ndcg@10", 0.25),
         ("lexical", "", "", "", "searchtime_avg", 0.02)],
    ),
    "mlflow": (
        "metrics.json", {"precision_at_3/mean": 0.5, "precision_at_3/variance": 0.01, "precision_at_3/p90": 0.75},
        "mlflow", [("metrics", "", "", "", "precision@3", 0.5), ("metrics", "", "", "", "precision_at_3/p90", 0.75)],
    ),
    "haystack": (
        "h.csv", "metrics,score\nndcg,0.5\nmap,0.25\nrecall_single_hit,1.0\nrecall_multi_hit,0.75\nfaithfulness,0.5\n",
        "haystack",
        [("h", "", "", "", "ndcg", 0.5), ("h", "", "", "", "hit_rate", 1.0), ("h", "", "", "", "recall", 0.75),
         ("h", "", "", "", "faithfulness", 0.5)],
    ),
    "hf-evaluate": (
        "e.json", {"runid": "mine", "num_ret": 10.0, "num_q": 3.0, "map": 0.5, "NDCG@5": 0.25, "P@5": 0.125},
        "hf-evaluate",
        [("mine", "", "", "", "ap", 0.5), ("mine", "", "", "", "ndcg@5", 0.25),
         ("mine", "", "", "", "precision@5", 0.125)],
    ),
    "llama_index": (
        "l.jsonl",
        '{"query": "a", "metric_dict": {"mrr": {"score": 1.0}}}\n'
        '{"query": "b", "metric_dict": {"mrr": {"score": 0.5}}}\n',
        "llama_index", [("l", "", "", "", "rr", (1.0 + 0.5) / 2)],
    ),
}  # fmt: skip


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def rows(scores):
    return {(one.model, one.task, one.split, one.subset, one.metric): one.value for one in scores}


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_recognised_and_read(case, tmp_path):
    name, content, tool, expected = FILES[case]
    scores = rs.read_scores(write(tmp_path, name, content))
    assert {one.tool for one in scores} == {tool}
    found = rows(scores)
    for *key, value in expected:
        assert found[tuple(key)] == pytest.approx(value, abs=0)


def test_every_tool_has_a_file():
    assert {tool for _, _, tool, _ in FILES.values()} | {"rankstone"} == set(SCORE_FORMATS)
    page = (Path(__file__).parents[2] / "docs" / "leaderboards.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == set(SCORE_FORMATS)


@pytest.mark.parametrize("case", FILES)
def test_a_tool_with_a_convention_has_definitions(case, tmp_path):
    name, content, tool, _ = FILES[case]
    convention = {"hf-evaluate": "trectools"}.get(tool, tool)
    found = {
        one.definition.convention if one.definition else None for one in rs.read_scores(write(tmp_path, name, content))
    }
    assert found - {None} == ({convention} if convention in rs.conventions else set())


@pytest.mark.parametrize("case", FILES)
def test_no_other_value_is_read(case, tmp_path):
    """Times, values per query and nulls are no scores."""
    name, content, *_ = FILES[case]
    scores = rs.read_scores(write(tmp_path, name, content))
    assert not {one.name for one in scores} & {"evaluation_time", "nauc_x", "runid", "epoch", "steps", "hf_subset"}
    assert all(isinstance(one.value, float) and math.isfinite(one.value) for one in scores)


def test_a_folder_of_mteb(tmp_path):
    """The model's metadata names it, else the folder above the revision; other files are in a note."""
    name, content, *_ = FILES["mteb"]
    path = write(tmp_path, name, content)
    write(
        tmp_path, "results/org__small/0123456789abcdef0123456789abcdef01234567/model_meta.json", {"name": "Org/Small"}
    )
    write(tmp_path, "results/other/no_revision_available/NFCorpus.json", {**content, "task_name": "NFCorpus"})
    write(tmp_path, "results/settings.json", {"threads": {"count": 2}})
    scores = rs.read_scores(tmp_path / "results")
    assert scores.models == ["Org/Small", "other"]
    assert scores.tasks == ["SciFact", "NFCorpus"]
    assert [note.partition("results: ")[2] for note in scores.notes] == ["1 files are no score files: 'settings.json'"]
    path.with_name("broken.json").write_text('{\n"scores": {]}')
    with pytest.raises(rs.errors.FileError, match=r"broken.json:2: is not JSON"):
        rs.read_scores(tmp_path / "results")


def test_saved_results(tmp_path):
    truth = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
    result = rs.evaluate(truth, {"q1": ["x", "a"], "q2": ["b"]}, ["rr", "recall@2"], convention="trec_eval")
    result.write(tmp_path / "mine.json")
    one, _ = rs.read_scores(tmp_path / "mine.json")
    assert (one.model, one.metric, one.value, one.tool) == ("mine", "rr", (1 / 2 + 1) / 2, "rankstone")
    assert one.definition == result.definitions["rr"]
    # trec_eval's own output has the same definition, and may stand in the same column.
    write(tmp_path, "theirs.eval", "recip_rank all 0.5\nrecall_2 all 0.25\n")
    board = rs.read_scores([tmp_path / "mine.json", tmp_path / "theirs.eval"]).leaderboard("rr")
    assert [(entry.rank, entry.model, entry.mean) for entry in board] == [(1, "mine", 0.75), (2, "theirs", 0.5)]
    rs.evaluate(truth, {"q1": ["a"], "q2": []}, "rr", convention="ranx").write(tmp_path / "other.json")
    with pytest.raises(rs.errors.InputError) as caught:
        rs.read_scores([tmp_path / "mine.json", tmp_path / "other.json"]).leaderboard("rr")
    assert "They differ in ties ('item_desc' and 'input'), " in str(caught.value)
    assert "rr of rankstone (convention ranx: 1 / rank of the first relevant item" in str(caught.value)
    assert str(caught.value).endswith(
        "; read files of one definition, or put them in one column with definitions='mixed'"
    )


def test_dicts_of_evaluators():
    scores = rs.read_scores({"small": {"Nano_cosine_ndcg@10": 0.5}, ("large", "Nano"): {"cosine_ndcg@10": 0.75}})
    assert rows(scores) == {("small", "Nano", "", "", "ndcg@10"): 0.5, ("large", "Nano", "", "", "ndcg@10"): 0.75}
    with pytest.raises(TypeError, match="has no model; name it"):
        rs.read_scores({"Nano_cosine_ndcg@10": 0.5})


class TestErrors:
    def test_two_readings(self, tmp_path):
        path = write(tmp_path, "x.json", {"map": 0.5, "mrr@10": 0.25})
        with pytest.raises(rs.errors.FileError) as caught:
            rs.read_scores(path)
        assert "(sentence-transformers) or " in str(caught.value)
        assert "(ranx); say which with format='sentence-transformers'" in str(caught.value)
        (one, _) = rs.read_scores(path, format="ranx")
        assert (one.tool, one.metric, one.value) == ("ranx", "ap", 0.5)

    @pytest.mark.parametrize(
        ("name", "content", "problem"),
        [
            ("a.json", '{"result": [\n  "map all 0.2",\n],}', r"a.json:3: is not JSON"),
            ("a.json", {"query": ["q1"], "docid": ["d1"]}, r"a.json:1: has no scores in a form of rankstone, mteb"),
            ("a.txt", "map all 0.2\nP_5 all abc\n", r"a.txt:2: score 'abc' is not a number \(P_5\)"),
            ("a.csv", "epoch,steps,cosine-MRR@10\n1,2,0.5\n1,2\n", r"a.csv:3: has 2 fields, and its header 3"),
            ("a.csv", "metrics,score\nmap,high\n", r"a.csv:2: score 'high' is not a number \(map\)"),
            ("a.csv", "name,ndcg@10\nx,y\n", r"a.csv:2: score 'y' is not a number \(ndcg@10\)"),
            ("a.txt", "1 0 d1 1\n", r"a.txt:1: has no scores in a form of"),
            ("a.tsv", "q1\tnDCG@10\t0.5\n", r"a.tsv: has no scores over all queries"),
            ("a.json", {"model_names": ["x"], "metrics": [], "x": {}}, r"a.json: the report has no scores of 'x'"),
            ("a.json", {"task_name": "T", "scores": {"test": [3]}}, r"a.json: is not a task result of MTEB"),
            ("a.json", {"task_name": "T", "scores": {"test": 3}}, r"the split 'test' is 3, not a list of scores"),
            ("a.json", "", r"a.json:1: has no scores"),
        ],
    )  # fmt: skip
    def test_no_score_file(self, name, content, problem, tmp_path):
        with pytest.raises(rs.errors.FileError, match=problem):
            rs.read_scores(write(tmp_path, name, content))

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(rs.errors.FileError, match="has no score files"):
            rs.read_scores(tmp_path)

    def test_an_unknown_format(self, tmp_path):
        with pytest.raises(rs.errors.InputError, match="unknown format 'metb'; did you mean 'mteb'"):
            rs.read_scores(tmp_path, format="metb")

    def test_a_model_twice(self, tmp_path):
        paths = [write(tmp_path, name, {"AP": value}) for name, value in (("a/x.json", 0.5), ("b/x.json", 0.25))]
        with pytest.raises(rs.errors.InputError, match=r"'x' has two values of ap: 0.5 in .*a.x.json and 0.25 in .*"):
            rs.read_scores(paths)
        assert rs.read_scores({"one": paths[0], "two": paths[1]}).models == ["one", "two"]


# -- leaderboards --------------------------------------------------------------------------------------------


def task_result(model, task, value, split="test", **subsets):
    entries = [{"hf_subset": name, "ndcg_at_10": each, "main_score": each} for name, each in subsets.items()]
    entries = entries or [{"hf_subset": "default", "ndcg_at_10": value, "main_score": value}]
    return {"task_name": task, "mteb_version": "2.26.24", "dataset_revision": "r1", "scores": {split: entries}}


def scores_of(folder, table, tasks):
    """The scores of a table of models and tasks; None: not there."""
    for model, values in table.items():
        for task, value in zip(tasks, values, strict=True):
            if value is not None:
                write(folder, f"{model}/1/{task}.json", task_result(model, task, value))
    return rs.read_scores(folder)


# Ranks of mteb 2.26.24, `mteb.benchmarks._create_table._borda_rank_from_long` of the long frame of this table, and of
# `_get_borda_rank` of the wide one.
TABLE = {
    "alpha": (0.61, 0.38, 0.82, 0.55, 0.47),
    "beta": (0.59, 0.41, 0.82, 0.50, 0.52),
    "gamma": (0.66, 0.33, 0.70, 0.50, 0.52),
    "delta": (0.66, 0.41, 0.64, 0.61, 0.31),
    "eta": (0.20, 0.33, 0.64, 0.44, 0.47),
}
TASKS = ("t1", "t2", "t3", "t4", "t5")
MTEB_RANKS = {"alpha": 2, "beta": 1, "gamma": 4, "delta": 3, "eta": 5}
# The same of np.round(np.random.default_rng(5).random((12, 9)), 1), which has many ties.
TIED = (
    (0.8, 0.8, 0.5, 0.3, 0.1, 0.4, 0.4, 0.0, 0.0), (1.0, 0.7, 0.2, 0.4, 1.0, 0.9, 0.8, 0.4, 0.5),
    (0.7, 0.1, 0.6, 0.3, 0.9, 0.1, 0.7, 0.9, 0.2), (0.9, 0.9, 0.0, 0.7, 0.0, 0.5, 0.4, 0.2, 0.3),
    (0.8, 0.3, 0.1, 0.7, 0.4, 0.8, 0.2, 0.3, 0.8), (0.5, 0.5, 0.2, 0.0, 0.9, 0.1, 0.8, 0.4, 1.0),
    (0.4, 0.9, 0.6, 0.2, 0.7, 0.7, 0.7, 0.5, 0.2), (0.6, 0.1, 0.7, 0.6, 0.4, 0.8, 0.2, 0.4, 0.8),
    (0.4, 0.7, 0.6, 0.9, 1.0, 0.7, 0.8, 0.2, 0.7), (0.8, 0.4, 0.6, 0.5, 1.0, 0.3, 0.4, 0.0, 0.4),
    (0.6, 0.9, 0.9, 0.3, 1.0, 0.2, 0.8, 0.2, 0.4), (0.1, 0.9, 0.8, 0.1, 0.5, 0.3, 0.5, 0.6, 0.1),
)  # fmt: skip
MTEB_TIED_RANKS = (12, 1, 9, 8, 6, 9, 5, 4, 2, 7, 3, 9)


def test_borda_ranks_are_mtebs(tmp_path):
    board = scores_of(tmp_path, TABLE, TASKS).leaderboard(by="borda")
    assert {entry.model: entry.rank for entry in board} == MTEB_RANKS
    table = {f"m{at}": values for at, values in enumerate(TIED)}
    board = scores_of(tmp_path / "tied", table, [f"t{at}" for at in range(9)]).leaderboard(by="borda")
    assert {entry.model: entry.rank for entry in board} == {f"m{at}": rank for at, rank in enumerate(MTEB_TIED_RANKS)}


@pytest.mark.parametrize("table", [list(TABLE.values()), TIED], ids=["few ties", "many ties"])
def test_borda_ranks_are_mtebs_live(table):
    pytest.importorskip("mteb", reason="needs mteb")
    polars = pytest.importorskip("polars")
    from mteb.benchmarks._create_table import _get_borda_rank

    frame = polars.DataFrame({f"t{at}": column for at, column in enumerate(zip(*table, strict=True))})
    theirs = frame.select(_get_borda_rank(frame.columns)).to_series().to_list()
    counts = rs.statistics.borda_count(table).sum(axis=1)
    assert [1 + int((counts > own).sum()) for own in counts] == theirs


def test_means_and_borda_counts(tmp_path):
    board = scores_of(tmp_path, TABLE, TASKS).leaderboard()
    assert board.metrics == ["main_score"]
    assert board.tasks == list(TASKS)
    assert [entry.model for entry in board] == ["beta", "alpha", "gamma", "delta", "eta"]
    assert board["alpha"].mean == pytest.approx((0.61 + 0.38 + 0.82 + 0.55 + 0.47) / 5)
    # Below it: two; two; three, and beta tied; three; one, and eta tied.
    assert board["alpha"].borda == 2 + 2 + (3 + 1 / 2) + 3 + (1 + 1 / 2)
    assert board["alpha"].scores["t3"] == 0.82
    with pytest.raises(KeyError, match="'zeta'; there are 'beta'"):
        board["zeta"]


def test_intervals_of_ranks(tmp_path):
    """One model wins on every task, one loses; the two between change places with the tasks drawn."""
    table = {"best": (0.9,) * 6, "up": (0.5, 0.7) * 3, "down": (0.7, 0.5) * 3, "worst": (0.1,) * 6}
    scores = scores_of(tmp_path, table, [f"t{at}" for at in range(6)])
    board = scores.leaderboard("ndcg@10")
    found = {entry.model: (entry.rank, entry.best_rank, entry.worst_rank) for entry in board}
    assert found == {"best": (1, 1, 1), "up": (2, 2, 3), "down": (2, 2, 3), "worst": (4, 4, 4)}
    assert scores.leaderboard("ndcg@10", by="borda")["up"].worst_rank == 3
    assert repr(board) == repr(scores.leaderboard("ndcg@10", seed=0))


def test_intervals_by_definition():
    """The percentile interval of the ranks over all samples of three tasks, each as likely as the others."""
    values = np.array([[0.5, 0.6, 0.1], [0.4, 0.5, 0.9], [0.3, 0.7, 0.2]])
    samples = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T
    means = values[:, samples].mean(axis=2)
    ranks = np.sort(1 + (means[None] > means[:, None] + 1e-12).sum(axis=1), axis=1)
    found = rs.statistics.rank_interval(values, confidence=2 / 3, resamples=20_000)
    # A sixth of 27 samples are 4.5: the fifth from either end.
    assert found.low.tolist() == ranks[:, 4].tolist()
    assert found.high.tolist() == ranks[:, 22].tolist()
    assert found.rank.tolist() == [2, 1, 2]  # 1.2 / 3 both, but for rounding
    with pytest.raises(ValueError, match="1 tasks: to draw again at least 2"):
        rs.statistics.rank_interval([[1.0], [0.5]])


def test_incomplete_models(tmp_path):
    table = {"a": (0.5, 0.7, 0.6), "b": (0.4, None, None), "c": (0.3, 0.2, 0.1)}
    scores = scores_of(tmp_path, table, ("t1", "t2", "t3"))
    board = scores.leaderboard()
    assert [(entry.rank, entry.model) for entry in board] == [(1, "a"), (2, "c"), (None, "b")]
    assert math.isnan(board["b"].mean)
    assert math.isnan(board["b"].borda)
    assert board["a"].borda == 3  # b has no place in the count
    assert "no mean and no rank without all tasks: b lacks 't2', 't3'" in board.notes
    common = scores.leaderboard(incomplete="exclude_tasks")
    assert common.tasks == ["main_score"]
    assert [(entry.rank, entry.model, entry.mean) for entry in common] == [(1, "a", 0.5), (2, "b", 0.4), (3, "c", 0.3)]
    assert "left out, not of all models: t2, t3" in common.notes
    with pytest.raises(
        rs.errors.InputError, match=r"not all models have all tasks: b lacks 't2', 't3'; leave out tasks"
    ):
        scores.leaderboard(incomplete="error")
    with pytest.raises(rs.errors.InputError, match="no model has all tasks"):
        rs.read_scores([tmp_path / "b", tmp_path / "c/1/t3.json"]).leaderboard()
    with pytest.raises(rs.errors.InputError, match="no task has a score of each model"):
        rs.read_scores([tmp_path / "b", tmp_path / "c/1/t3.json"]).leaderboard(incomplete="exclude_tasks")


def test_definitions_do_not_mix(tmp_path):
    """Tools without a convention agree with themselves only, whatever the name."""
    scores = rs.read_scores({
        ("a", "t"): write(tmp_path, "t.json", task_result("a", "t", 0.5)),
        ("b", "t"): write(tmp_path, "b.csv", "metrics,score\nmap,0.5\n"),
        ("c", "t"): write(tmp_path, "c.txt", "map all 0.75\nndcg_cut_10 all 0.25\n"),
        ("d", "t"): write(tmp_path, "d.tsv", "AP\t0.25\n"),
    })  # fmt: skip
    with pytest.raises(rs.errors.InputError) as caught:
        scores.leaderboard("ap")
    text = str(caught.value)
    assert text.startswith("ap has 3 definitions: map of haystack")
    assert "map of trec_eval (convention trec_eval: sum of the precision" in text
    assert text.endswith("choose with tool='haystack', or put them in one column with definitions='mixed'")
    board = scores.leaderboard("ap", definitions="mixed")
    assert [(entry.rank, entry.model) for entry in board] == [(1, "c"), (2, "b"), (3, "d")]
    assert any(note.startswith("ap has 3 definitions: map of haystack") for note in board.notes)
    assert [entry.model for entry in scores.leaderboard("map", tool="trec_eval")] == ["c"]
    with pytest.raises(rs.errors.InputError, match="unknown tool 'ranx'"):
        scores.leaderboard("ap", tool="ranx")


def test_two_tools_of_one_model(tmp_path):
    files = [write(tmp_path, "a.txt", "map all 0.75\n"), write(tmp_path, "a.csv", "metrics,score\nmap,0.5\n")]
    with pytest.raises(rs.errors.InputError, match="'a' has ap of several tools on one task; choose with tool="):
        rs.read_scores(files).leaderboard("ap", definitions="mixed")


def test_splits_and_subsets(tmp_path):
    write(tmp_path, "a/1/T.json", task_result("a", "T", 0, en=0.5, de=0.25))
    write(tmp_path, "b/1/T.json", task_result("b", "T", 0, en=0.75))
    write(tmp_path, "a/1/M.json", task_result("a", "M", 0.5, split="dev"))
    write(tmp_path, "b/1/M.json", task_result("b", "M", 0.25, split="dev"))
    scores = rs.read_scores(tmp_path)
    board = scores.leaderboard()
    assert board["a"].scores == {"M (dev)": 0.5, "T (test)": (0.5 + 0.25) / 2}
    assert board["b"].rank is None
    assert "no mean and no rank without all tasks: b lacks 'T (test) (de)'" in board.notes
    assert "means over subsets: T (test) (2)" in board.notes
    assert scores.leaderboard(subset="en", tasks=["T"])["b"].rank == 1
    only = scores.leaderboard(split="dev")
    assert [(entry.model, entry.mean) for entry in only] == [("a", 0.5), ("b", 0.25)]
    assert "left out, without the split dev: 'T'" in only.notes
    assert scores.leaderboard(split=("test", "dev"))["a"].scores == board["a"].scores
    with pytest.raises(rs.errors.InputError, match="unknown split 'tset'; did you mean 'test'"):
        scores.leaderboard(split="tset")
    both = task_result("a", "T", 0.5)
    both["scores"]["train"] = both["scores"]["test"]
    # A file that names no split is of the one that the others have.
    named = {("c", "M"): {"cosine_ndcg@10": 0.5}, ("a", "M"): tmp_path / "a/1/M.json"}
    assert rs.read_scores(named).leaderboard("ndcg@10", definitions="mixed")["c"].scores == {"ndcg@10": 0.5}
    two = rs.read_scores({"a": write(tmp_path, "T.json", both)})
    with pytest.raises(rs.errors.InputError, match="T has the splits 'test', 'train'; choose with split='test'"):
        two.leaderboard()


def test_several_metrics(tmp_path):
    scores = rs.read_scores(write(tmp_path, "r.json", REPORT))
    board = scores.leaderboard("map, ndcg@10")
    assert [(entry.model, entry.borda, entry.best_rank) for entry in board] == [("dense", 2, None), ("bm25", 0, None)]
    assert math.isnan(board["dense"].mean)
    assert board.tasks == ["ap", "ndcg@10"]
    with pytest.raises(rs.errors.InputError, match="have no common mean; rank by one of them, or by='borda'"):
        scores.leaderboard(["ap", "ndcg@10"], by="mean")
    with pytest.raises(rs.errors.InputError, match=r"there are 2 metrics \('ap', 'ndcg@10'\); choose with metrics="):
        scores.leaderboard()
    with pytest.raises(rs.errors.InputError, match="unknown metric of these files 'recall@5'"):
        scores.leaderboard("recall@5")


def test_the_lower_the_better(tmp_path):
    truth = {"q1": {"a": 3.0, "b": 1.0}}
    for name, score in (("near", 2.9), ("far", 1.0)):
        rs.evaluate(truth, {"q1": {"a": score, "b": 1.0}}, "mae").write(tmp_path / f"{name}.json")
    board = rs.read_scores(tmp_path).leaderboard("mae")
    assert [(entry.rank, entry.model) for entry in board] == [(1, "near"), (2, "far")]


def test_other_revisions_are_noted(tmp_path):
    write(tmp_path, "a/1/T.json", task_result("a", "T", 0.5))
    write(tmp_path, "b/1/T.json", {**task_result("b", "T", 0.25), "dataset_revision": "r2"})
    notes = rs.read_scores(tmp_path).leaderboard().notes
    assert "models were evaluated on different revisions of the data: 'T'" in notes


def test_tables(tmp_path):
    scores = scores_of(tmp_path, {"a": (0.5, 0.75), "b": (0.25, None)}, ("t1", "t2"))
    assert "a      t1    test           mteb        2" in repr(scores)
    frame = scores.to_pandas()
    assert list(frame.query("metric == 'ndcg@10'").value) == [0.5, 0.75, 0.25]
    board = scores.leaderboard("ndcg@10")
    assert repr(board).splitlines()[:4] == [
        "rank  model      t1      t2    mean  borda  ranks",
        "-------------------------------------------------",
        "   1  a      0.5000  0.7500  0.6250      0    1-1",
        "      b      0.2500",
    ]
    assert list(board.to_pandas().columns) == ["rank", "model", "t1", "t2", "mean", "borda", "best_rank", "worst_rank"]
    assert board.to_dict()["models"][0]["scores"] == {"t1": 0.5, "t2": 0.75}
    assert board.to_arrow()["model"].to_pylist() == ["a", "b"]
    assert "| 1 | a" in board.render("markdown").replace("  ", " ").replace("  ", " ")


# -- files as the tools wrote them ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "tool", "expected"),
    [
        ("mteb/all-MiniLM-L6-v2__ArguAna.json", "mteb", {("ArguAna", "test", "ndcg@10"): 0.50167}),
        ("mteb/all-MiniLM-L6-v2__STSBenchmark.json", "mteb",
         {("STSBenchmark", "test", "main_score"): 0.8203247283076371}),
        ("mteb/all-MiniLM-L6-v2__Banking77Classification.json", "mteb",
         {("Banking77Classification", "test", "accuracy"): 0.8004220779220779}),
        ("mteb/MockRetrievalTask_result.json", "mteb", {
            ("MockRetrievalTask", "test", "ndcg@10"): 0.25675, ("MockRetrievalTask", "test", "ap@10"): 0.15787,
            ("MockRetrievalTask", "test", "recall@10"): 0.38976, ("MockRetrievalTask", "test", "rr@10"): 0.374563,
            ("MockRetrievalTask", "test", "hit_rate@1"): 0.2,
            ("MockRetrievalTask", "test", "nauc_ndcg_at_10_max"): -0.173377}),
        ("sentence-transformers/Information-Retrieval_evaluation_results.csv", "sentence-transformers",
         {("", "", "ndcg@10"): 0.5951496523384936, ("", "", "ap@100"): 0.5414141414141415}),
        ("sentence-transformers/RerankingEvaluator_demo_results_@10.csv", "sentence-transformers",
         {("demo", "", "ndcg@10"): 0.7287537327979967}),
        ("vespa/Vespa-evaluation_example_20260701_120000_results.csv", "vespa", {
            ("", "", "recall@3"): 0.7777777777777777, ("", "", "rr@10"): 0.8333333333333334,
            ("", "", "ndcg@3"): 0.6795886438799089, ("", "", "ap@3"): 0.5370370370370369}),
        ("mlflow/metrics.json", "mlflow", {
            ("", "", "precision@3"): 0.611111111111111, ("", "", "recall@3"): 0.7777777777777777,
            ("", "", "ndcg@3"): 0.6795886438799089}),
        ("haystack/aggregated_report.csv", "haystack", {
            ("", "", "ndcg"): 0.7504655400939398, ("", "", "ap"): 0.6037037037037036,
            ("", "", "hit_rate"): 1.0, ("", "", "recall"): 0.8888888888888888}),
        ("hf-evaluate/result.json", "hf-evaluate", {
            ("", "", "ap"): 0.6037037037037036, ("", "", "precision@5"): 0.4000000000000001,
            ("", "", "ndcg@5"): 0.7504655400939398, ("", "", "rr"): 0.8333333333333334}),
        ("llama_index/retrieval_eval_results.jsonl", "llama_index", {
            ("", "", "hit_rate"): 1.0, ("", "", "rr"): 0.8333333333333334, ("", "", "precision"): 0.5888888888888889,
            ("", "", "recall"): 0.8888888888888888, ("", "", "ap"): 0.6037037037037036,
            ("", "", "ndcg"): 0.7401025747256932}),
    ],
)  # fmt: skip
def test_files_of_tools(path, tool, expected, shared):
    scores = rs.read_scores(shared(f"data/tools/{path}"))
    assert {one.tool for one in scores} == {tool}
    found = {(one.task, one.split, one.metric): one.value for one in scores}
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12)


def test_files_of_sentence_transformers(shared):
    """The table and the returned dict of the same evaluations; two functions are two models."""
    folder = shared("data/tools/sentence-transformers")
    returned = rs.read_scores({"demo": folder / "returned_metrics.json"})
    assert returned.models == ["demo (cosine)", "demo (dot)"]
    found = {(one.model, one.metric): one.value for one in returned}
    assert found["demo (cosine)", "ndcg@10"] == 0.5951496523384936
    assert found["demo (dot)", "rr@10"] == 0.7000000000000001
    table = rs.read_scores({"demo": folder / "Information-Retrieval_evaluation_demo_results.csv"})
    assert len(table.models) == 4
    assert {one.metric for one in table} == {one.metric for one in returned}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("rank_llm/trec_eval_aggregated_results.jsonl", r"jsonl:8: is not JSON"),
        ("ragas/results_table.csv", "has no scores in a form of"),
        ("haystack/detailed_report.csv", "has no scores in a form of"),
        ("mteb/MockRetrievalTask_predictions.json", "has no scores in a form of"),
        ("mteb/all-MiniLM-L6-v2__model_meta.json", "has no scores in a form of"),
        ("vespa/search_response_q1.json", "has no scores in a form of"),
    ],
)
def test_other_files_of_tools(path, problem, shared):
    with pytest.raises(rs.errors.FileError, match=problem):
        rs.read_scores(shared(f"data/tools/{path}"))


def test_a_leaderboard_of_mteb_files(shared):
    folder = shared("data/tools/mteb")
    small = ["ArguAna", "FiQA2018", "NFCorpus", "SciFact"]
    scores = rs.read_scores({
        "all-MiniLM-L6-v2": [folder / f"all-MiniLM-L6-v2__{task}.json" for task in small],
        "multilingual-e5-small": folder / "multilingual-e5-small__SciFact.json",
    })  # fmt: skip
    board = scores.leaderboard("ndcg@10", split="test")
    assert board["all-MiniLM-L6-v2"].mean == pytest.approx((0.50167 + 0.36867 + 0.31594 + 0.64508) / 4)
    assert board["multilingual-e5-small"].rank is None
    one = scores.leaderboard("ndcg_at_10", split="test", incomplete="exclude_tasks")
    assert [(entry.model, entry.mean) for entry in one] == [
        ("multilingual-e5-small", 0.67585), ("all-MiniLM-L6-v2", 0.64508)
    ]  # fmt: skip
    multi = rs.read_scores({"m": folder / "MockMultilingualRetrievalTask_result.json"})
    assert multi.leaderboard("ndcg@10", split="test", subset="fra")["m"].mean == pytest.approx(0.25675)


@pytest.mark.parametrize("name", ["out.test", "out.test.a", "out.test.aq", "out.test.aqc", "out.test.aql"])
def test_output_of_trec_eval(name, shared):
    """Every line of all queries, none of the others; the names that are rankstone's have its definition."""
    path = shared(f"data/trec_eval/{name}")
    lines = [line.split() for line in path.read_text().splitlines()]
    expected = {words[0]: float(words[2]) for words in lines if words[1] == "all" and words[0] != "runid"}
    scores = rs.read_scores(path)
    assert scores.models == ["STANDARD"]
    assert {one.name: one.value for one in scores} == expected
    labels = {one.name: one.metric for one in scores}
    assert (labels["map"], labels["P_5"], labels["gm_map"]) == ("ap", "precision@5", "gmap")
    assert {one.definition.convention for one in scores if one.definition} == {"trec_eval"}


@pytest.mark.parametrize(("form", "extra"), [("tsv", []), ("tsv", ["-q"]), ("jsonl", []), ("jsonl", ["-q"])])
def test_output_of_ir_measures_live(form, extra, tmp_path, capsys, monkeypatch):
    main = pytest.importorskip("ir_measures.__main__", reason="needs ir_measures")
    truth = write(tmp_path, "t.qrels", "q1 0 a 1\nq2 0 b 1\nq2 0 c 1\n")
    run = write(tmp_path, "r.run", "q1 Q0 x 1 2 r\nq1 Q0 a 2 1 r\nq2 Q0 b 1 1 r\n")
    monkeypatch.setattr("sys.argv", ["ir_measures", str(truth), str(run), "RR", "R@2", "nDCG@10", "-o", form, *extra])
    main.main_cli()
    path = write(tmp_path, f"out.{form}", capsys.readouterr().out)
    scores = rs.read_scores(path)
    assert {one.tool for one in scores} == {"ir_measures"}
    result = rs.evaluate(truth, run, ["rr", "recall@2", "ndcg@10"], convention="ir_measures")
    for one in scores:
        assert one.value == pytest.approx(result[one.metric], abs=5e-5)
    assert {one.metric for one in scores} == {"rr", "recall@2", "ndcg@10"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of numba
def test_report_of_ranx_live(tmp_path):
    ranx = pytest.importorskip("ranx", reason="needs ranx")
    truth = {"q1": {"a": 1}, "q2": {"b": 1}}
    runs = {
        "one": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"y": 2.0, "b": 1.0}},
        "two": {"q1": {"x": 2.0}, "q2": {"b": 1.0}},
    }
    report = ranx.compare(
        ranx.Qrels(truth), [ranx.Run(run, name=name) for name, run in runs.items()], ["mrr", "map@10"], max_p=0.05
    )
    report.save(tmp_path / "report.json")
    scores = rs.read_scores(tmp_path / "report.json")
    for name, run in runs.items():
        result = rs.evaluate(truth, run, ["rr", "ap@10"], convention="ranx")
        for one in scores:
            assert one.model != name or one.value == pytest.approx(result[one.metric])
    assert len(scores) == 4
