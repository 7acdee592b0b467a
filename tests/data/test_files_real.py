"""Files that others made, read and measured; the numbers are theirs, or worked out here by hand."""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankstone as rs
from rankstone.data import files
from rankstone.data import lines as text_files
from rankstone.data.files import read_run, read_truth

Shared = Callable[[str], Path]


def test_deep_learning_2019(shared: Shared) -> None:
    truth = read_truth(shared("data/dl19/2019qrels-pass.txt"))
    run = read_run(shared("data/dl19/run.trec2019-bm25.res"))
    assert len(set(truth.query.to_pylist())) == 43
    assert len(run.query) == 43 * 1000
    result = rs.evaluate(truth, run, "ndcg@10", convention="trec_eval")
    assert f"{result['ndcg@10']:.4f}" == "0.4973"


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("form", ["MS MARCO", "ranx", "RAG", "Parquet", "six fields"])
def test_deep_learning_2019_as_others_write_it(
    shared: Shared, tmp_path: Path, form: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same number from the same lists, read whole or in batches; the ranks are those of the run."""
    lines = [line.split() for line in shared("data/dl19/run.trec2019-bm25.res").read_text().splitlines()]
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for query, _, item, _, score, _ in lines:
        found[query].append((item, float(score)))
    path = tmp_path / {"ranx": "run.json", "RAG": "run.jsonl", "Parquet": "run.parquet"}.get(form, "run.tsv")
    if form == "MS MARCO":
        path.write_text("".join(f"{query}\t{item}\t{rank}\n" for query, _, item, rank, _, _ in lines))
    elif form == "ranx":
        path.write_text(json.dumps({query: dict(pairs) for query, pairs in found.items()}))
    elif form == "RAG":
        objects = ({"question_id": query, "retrieved_ids": [item for item, _ in found[query]]} for query in found)
        path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    elif form == "Parquet":
        columns = {"query": list(found), "items": [[item for item, _ in found[query]] for query in found]}
        pq.write_table(pa.table({**columns, "scores": [[score for _, score in found[query]] for query in found]}), path)
    else:
        path.write_text("".join("\t".join([line[0], "Exp", *line[2:]]) + "\n" for line in lines))
    if large:
        monkeypatch.setattr(files, "LARGE_BYTES", 1)
        monkeypatch.setattr(text_files, "BATCH_BYTES", 1 << 16)
    result = rs.evaluate(shared("data/dl19/2019qrels-pass.txt"), path, "ndcg@10", convention="trec_eval")
    assert f"{result['ndcg@10']:.4f}" == "0.4973"
    assert any("read as ranks" in line for line in result.notes) == (form == "MS MARCO")


@pytest.mark.parametrize("form", ["BEIR", "MS MARCO", "ranx"])
def test_deep_learning_2019_judged_as_others_write_it(shared: Shared, tmp_path: Path, form: str) -> None:
    lines = [line.split() for line in shared("data/dl19/2019qrels-pass.txt").read_text().splitlines()]
    path = tmp_path / ("qrels.json" if form == "ranx" else "test.tsv")
    if form == "BEIR":
        rows = "".join(f"{query}\t{item}\t{grade}\n" for query, _, item, grade in lines)
        path.write_text("query-id\tcorpus-id\tscore\n" + rows)
    elif form == "MS MARCO":
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
    else:
        judged: dict[str, dict[str, int]] = defaultdict(dict)
        for query, _, item, grade in lines:
            judged[query][item] = int(grade)
        path.write_text(json.dumps(judged))
    result = rs.evaluate(path, shared("data/dl19/run.trec2019-bm25.res"), "ndcg@10", convention="trec_eval")
    assert f"{result['ndcg@10']:.4f}" == "0.4973"


@pytest.mark.parametrize("name", ["qrels.test.with-comments", "qrels.comments.123"])
def test_comments_in_qrels(shared: Shared, name: str) -> None:
    path = shared(f"data/trec_eval/{name}")
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    truth = read_truth(path)
    assert truth.item.to_pylist() == [line[2] for line in lines]
    assert np.asarray(truth.grade).tolist() == [float(line[3]) for line in lines]


def test_items_with_a_hash(shared: Shared) -> None:
    truth = read_truth(shared("data/trec_eval/qrels.comment.test"))
    run = read_run(shared("data/trec_eval/results.comment.test"))
    expected = dict(
        line.split("\tall\t") for line in shared("data/trec_eval/out.comment.test").read_text().splitlines()
    )
    shown = {name.strip(): value for name, value in expected.items()}
    result = rs.evaluate(truth, run, ["ap", "rr", "precision@10", "num_ret"], convention="trec_eval", missing="skip")
    assert f"{result['num_ret']:.0f}" == shown["num_ret"]
    for ours, theirs in {"ap": "map", "rr": "recip_rank", "precision@10": "P_10"}.items():
        assert f"{result[ours]:.4f}" == shown[theirs]


@pytest.mark.parametrize(
    "name", ["org_convdr", "org_convdr_bert", "org_manual_ance", "org_manual_ance_bert", "org_manual_bm25"]
)
def test_conversations_2021(shared: Shared, name: str) -> None:
    truth = read_truth(shared("data/cast2021/trec-cast-qrels-docs.2021.qrel"))
    path = shared(f"data/cast2021/{name}.run")
    run = read_run(path)
    lines = [line.split() for line in path.read_text().splitlines()]
    assert run.query.to_pylist() == [line[0] for line in lines]
    assert run.item.to_pylist() == [line[2] for line in lines]
    assert np.asarray(run.score).tolist() == [float(line[4]) for line in lines]
    assert run.query[0].as_py() == "106_1"
    result = rs.evaluate(truth, run, "ndcg@3", convention="trec_eval")
    returned = {line[0] for line in lines}
    judged = set(truth.query.to_pylist())
    assert (len(judged), result.account.extra) == (158, len(returned - judged))
    assert 0.2 < result["ndcg@3"] < 0.7


def test_conversations_2021_have_more_queries_than_are_judged(shared: Shared) -> None:
    assert len(set(read_run(shared("data/cast2021/org_manual_bm25.run")).query.to_pylist())) == 239


def test_lenskit_java(shared: Shared, tmp_path: Path) -> None:
    """200 values of LensKit's Java version, for users of eight recommenders, as it printed them."""
    truth = read_truth(shared("data/lenskit/topn-java-truth.csv"))
    with open(shared("data/lenskit/topn-java-recs.csv")) as file:
        header, *lines = file
    parts = defaultdict(list)
    for line in lines:
        parts[line.partition(",")[0]].append(line)
    with open(shared("data/lenskit/topn-java-metrics.csv")) as file:
        expected = list(csv.DictReader(file))
    found = {}
    for algorithm, part in parts.items():
        path = tmp_path / f"{algorithm}.csv"
        path.write_text(header + "".join(part))
        result = rs.evaluate(truth, read_run(path), ["ndcg(discount='log2(max(rank,2))')", "rr"])
        for query, ndcg, rr in zip(result.queries, *result.per_query.values(), strict=True):
            found[algorithm, query] = ndcg, rr
    assert len(parts) == 8
    assert len(expected) == 100
    for row in expected:
        ndcg, rr = found[row["Algorithm"], int(row["user"])]
        assert ndcg == pytest.approx(float(row["Java.nDCG"]), abs=1e-12)
        assert rr == pytest.approx(float(row["Java.RecipRank"]), abs=1e-12)


def test_lightgbm_groups(shared: Shared, tmp_path: Path) -> None:
    """Each group of a ranking set, with one of its features as the score, against a definition written out here."""
    path = shared("data/lightgbm/rank.test")
    labels, scores = [], []
    for line in path.read_text().splitlines():
        label, *features = line.split()
        labels.append(float(label))
        scores.append(float(dict(one.split(":") for one in features).get("9", 0)))
    (tmp_path / "feature.scores").write_text("\n".join(map(str, scores)))
    truth, run = read_truth(path), read_run(tmp_path / "feature.scores", features=path)
    result = rs.evaluate(truth, run, ["ndcg(gain='exp2')@5", "rr"], ties="input")

    sizes = [int(size) for size in shared("data/lightgbm/rank.test.query").read_text().split()]
    assert (len(labels), len(sizes), list(result.queries)) == (768, 50, list(range(1, 51)))
    start = 0
    for at, size in enumerate(sizes):
        grades = labels[start : start + size]
        ranked = [grades[i] for i in sorted(range(size), key=lambda i: -scores[start + i])]
        start += size
        best = dcg(sorted(grades, reverse=True))
        expected = dcg(ranked) / best if best else 0.0
        assert result.per_query["ndcg(gain='exp2')@5"][at] == pytest.approx(expected, abs=1e-12)
        assert result.per_query["rr"][at] == max(
            (1 / (i + 1) for i, grade in enumerate(ranked) if grade >= 1), default=0
        )


def dcg(grades: list[float]) -> float:
    return sum((2**grade - 1) / math.log2(i + 2) for i, grade in enumerate(grades[:5]))


def test_movie_ratings(shared: Shared) -> None:
    truth = read_truth(shared("data/ml-latest-small/ratings.csv"))
    assert len(truth.query) == 100_004
    assert len(np.unique(truth.query)) == 671
    assert set(np.asarray(truth.grade).tolist()) == {half / 2 for half in range(1, 11)}
