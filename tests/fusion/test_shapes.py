"""Runs of every shape fuse to the same run, whatever the order of their rows, and every door takes it."""

import itertools
import json
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankstone as rs

METHODS = [name for name in rs.fusion.methods if rs.fusion.methods[name].function.__module__.startswith("rankstone.")]
NORMS = (None, "min-max", "min-max-inverted", "sum", "zmuv", "rank", "borda")


def made(seed, ids="text", runs=3, tied=True):
    """Runs with ties, and with queries that not all of them have."""
    rng = random.Random(seed)
    items = [f"i{n}" for n in range(12)] if ids == "text" else [7 * n - 20 for n in range(12)]
    queries = [f"q{n}" for n in range(8)] if ids == "text" else [3 * n - 9 for n in range(8)]
    out = []
    for _ in range(runs):
        run = {}
        for query in rng.sample(queries, 7):
            shown = rng.sample(items, rng.randint(1, 9))
            scores = [rng.choice((0.25, 0.5, 0.75, 1.0)) if tied else rng.uniform(-2, 2) for _ in shown]
            run[query] = dict(zip(shown, scores, strict=True))
        out.append(run)
    return out


def rows(run):
    return [(query, item, score) for query, content in run.items() for item, score in content.items()]


def columns(run):
    query, item, score = zip(*rows(run), strict=True)
    return {"query": list(query), "item": list(item), "score": list(score)}


def sparse(run):
    import scipy.sparse

    table = np.zeros((30, 80))
    for query, item, score in rows(run):
        table[query + 9, item + 20] = score
    return scipy.sparse.csr_array(table)


def trec(run, path):
    path.write_text("".join(f"{query} Q0 {item} 1 {score} t\n" for query, item, score in rows(run)))
    return path


def jsonl(run, path):
    path.write_text("".join(json.dumps({"query": q, "item": i, "score": s}) + "\n" for q, i, s in rows(run)))
    return str(path)


SHAPES = {
    "dict": lambda run, folder: run,
    "pairs": lambda run, folder: {query: list(content.items()) for query, content in run.items()},
    "pandas": lambda run, folder: pd.DataFrame(columns(run)).rename(columns={"query": "user_id"}),
    "polars": lambda run, folder: pl.DataFrame(columns(run)),
    "lazy": lambda run, folder: pl.LazyFrame(columns(run)),
    "arrow": lambda run, folder: pa.table(columns(run)),
    "columns": lambda run, folder: rs.columns(**columns(run)),
    "lists": lambda run, folder: rs.lists(
        [list(content) for content in run.values()],
        scores=[list(content.values()) for content in run.values()],
        query=list(run),
    ),
    "trec": lambda run, folder: trec(run, folder / f"{id(run)}.run"),
    "jsonl": lambda run, folder: jsonl(run, folder / f"{id(run)}.jsonl"),
    "csv": lambda run, folder: write(pd.DataFrame(columns(run)).to_csv, folder / f"{id(run)}.csv", index=False),
    "parquet": lambda run, folder: write(pd.DataFrame(columns(run)).to_parquet, folder / f"{id(run)}.parquet"),
    "fused": lambda run, folder: rs.fuse([run], "sum"),
}


def write(writer, path, **options):
    writer(path, **options)
    return path


def same(found, expected):
    assert {query: list(content) for query, content in found.items()} == {
        query: list(content) for query, content in expected.items()
    }
    for query, content in expected.items():
        assert found[query] == pytest.approx(content, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("ids", ["text", "integers"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_agree(shape, ids, tmp_path):
    if (shape, ids) == ("trec", "integers"):
        pytest.skip("its ids are text, which has another order")
    runs = made(1, ids)
    for method, choices in (("rrf", {}), ("sum", {"norm": "min-max"}), ("borda", {}), ("med", {"missing": "lowest"})):
        expected = rs.fuse(runs, method, **choices).to_dict()
        every = [SHAPES[shape](run, tmp_path) for run in runs]
        found = rs.fuse(every, method, **choices).to_dict()
        same({query: found[query] for query in expected}, expected)
        assert set(found) == set(expected)
        mixed = [runs[0], every[1], rs.columns(**columns(runs[2]))]  # each may have its own
        found = rs.fuse(mixed, method, **choices).to_dict()
        same({query: found[query] for query in expected}, expected)


def test_sparse_matrices():
    runs = made(2, "integers")
    expected = rs.fuse(runs).to_dict()
    found = rs.fuse([sparse(run) for run in runs]).to_dict()
    assert {q - 9: {i - 20: s for i, s in content.items()} for q, content in found.items() if content} == {
        query: pytest.approx(content) for query, content in expected.items()
    }
    truth = {query: [next(iter(content))] for query, content in runs[0].items()}
    as_matrix = sparse({query: dict.fromkeys(items, 1) for query, items in truth.items()})
    fused = rs.evaluate(as_matrix, rs.fuse([sparse(run) for run in runs]), "rr", undefined="skip", no_relevant="skip")
    assert fused["rr"] == pytest.approx(rs.evaluate(truth, rs.fuse(runs), "rr")["rr"])


def test_lists_without_queries_belong_together_by_place():
    one, other = rs.lists([["a", "b"], ["c"]]), rs.lists([["b"], ["c", "a"]])
    fused = rs.fuse([one, other])
    assert fused.to_dict() == {0: {"b": 1 / 62 + 1 / 61, "a": 1 / 61}, 1: {"c": 2 / 61, "a": 1 / 62}}
    assert rs.evaluate(rs.lists([["a"], ["a"]]), fused, "rr")["rr"] == 1 / 2
    with pytest.raises(ValueError, match="one run has 1 lists and another 2"):
        rs.fuse([rs.lists([["a"]]), other])
    with pytest.raises(ValueError, match="without queries"):
        rs.fuse([one, {"q": ["a"]}])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ["dict", "table"])
def test_row_order_changes_nothing(method, shape):
    for seed, norm in itertools.product(range(3), NORMS):
        if rs.fusion.methods[method].reads == "rank" and norm not in (None, "min-max-inverted"):
            continue
        runs = made(seed)
        expected = rs.fuse(runs, method, norm=norm).to_dict()
        rng = random.Random(seed)
        if shape == "dict":
            shuffled = [
                {
                    query: dict(rng.sample(list(run[query].items()), len(run[query])))
                    for query in rng.sample(list(run), len(run))
                }
                for run in runs
            ]
        else:
            mixed_up = [rng.sample(rows(run), len(rows(run))) for run in runs]
            shuffled = [pd.DataFrame(each, columns=["query", "item", "score"]) for each in mixed_up]
        found = rs.fuse(shuffled, method, norm=norm).to_dict()
        assert found == expected  # to the last digit
        assert {query: list(content) for query, content in found.items()} == {
            query: list(content) for query, content in expected.items()
        }


def test_lists_of_very_different_lengths():
    long = {
        "q1": {f"i{n:04}": float(n % 97) for n in range(3000)},
        **{f"p{n}": {"a": 1.0, "b": 2.0} for n in range(50)},
    }
    found = rs.fuse([long]).to_dict()
    for query, content in long.items():
        best = sorted(sorted(content, reverse=True), key=lambda item: -content[item])
        assert list(found[query]) == best
        assert found[query] == pytest.approx({item: 1 / (61 + at) for at, item in enumerate(best)}, rel=1e-15)


# -- out -----------------------------------------------------------------------------------------------------

TRUTH = {"q0": {"i1": 1, "i2": 2}, "q3": {"i4": 1, "i7": 1}, "q5": {"i0": 1}}


@pytest.mark.parametrize("shape", ["dict", "pandas", "columns", "lists", "trec", "parquet"])
def test_every_door_takes_it(shape, tmp_path):
    runs = made(3)
    fused = rs.fuse([SHAPES[shape](run, tmp_path) for run in runs])
    expected = dict(rs.evaluate(TRUTH, rs.fuse(runs).to_dict(), ["ndcg@3", "ap"]))
    flat = [(query, item, grade) for query, content in TRUTH.items() for item, grade in content.items()]
    query, item, grade = map(list, zip(*flat, strict=True))
    (tmp_path / "t.qrels").write_text("".join(f"{q} 0 {i} {g}\n" for q, i, g in flat))
    truths = (
        TRUTH,
        rs.columns(query=query, item=item, grade=grade),
        pd.DataFrame({"query": query, "item": item, "grade": grade}),
        tmp_path / "t.qrels",
    )
    for truth in truths:
        assert dict(rs.evaluate(truth, fused, ["ndcg@3", "ap"])) == expected
    assert rs.explain(TRUTH, fused, "ap", query="q0").value == rs.evaluate(TRUTH, fused, "ap").per_query["ap"][0]
    compared = rs.compare(TRUTH, {"first": runs[0], "fused": fused}, ["ap"], baseline="first")
    assert compared["fused", "ap"].difference == pytest.approx(expected["ap"] - rs.evaluate(TRUTH, runs[0], "ap")["ap"])
    batches = rs.Accumulator(["ap"])
    batches.update(TRUTH, fused)
    assert batches.compute()["ap"] == pytest.approx(expected["ap"])


def test_whole_numbers_of_files_meet_text(tmp_path):
    """A file's ids are text, whatever they look like."""
    (tmp_path / "a.run").write_text("1 Q0 10 1 2 t\n1 Q0 11 2 1 t\n")
    (tmp_path / "b.run").write_text("1 Q0 11 1 2 t\n1 Q0 x 2 1 t\n")
    fused = rs.fuse([tmp_path / "a.run", tmp_path / "a.run"])
    assert rs.evaluate({"1": {"11": 1}}, fused, "rr")["rr"] == 1 / 2
    assert rs.fuse([tmp_path / "a.run", tmp_path / "b.run"]).to_dict()["1"]["11"] == 1 / 62 + 1 / 61
    assert rs.fuse([{1: {11: 1.0}}, tmp_path / "b.run"]).to_dict()["1"]["11"] == 2 / 61


def test_frames():
    fused = rs.fuse(made(4))
    flat = [(query, item, score) for query, content in fused.to_dict().items() for item, score in content.items()]
    assert list(fused.to_pandas().itertuples(index=False, name=None)) == flat
    assert fused.to_polars().rows() == flat
    assert list(zip(*fused.to_arrow().to_pydict().values(), strict=True)) == flat
    assert pa.table(fused).column_names == ["query", "item", "score"]
    assert len(fused) == len(fused.queries) == len(fused.to_dict())


@pytest.mark.parametrize("name", ["x.run", "x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.run.gz"])
@pytest.mark.parametrize("ids", ["text", "integers"])
def test_files(name, ids, tmp_path):
    fused = rs.fuse(made(5, ids))
    fused.write(tmp_path / name)
    again = rs.fuse([tmp_path / name], "sum").to_dict()
    expected = fused.to_dict()
    if ids == "integers" and "run" in name:  # its ids are text
        expected = {str(query): {str(item): score for item, score in one.items()} for query, one in expected.items()}
        assert again == expected
    else:
        same(again, expected)


def test_a_trec_run_has_the_methods_name_for_a_tag(tmp_path):
    rs.fuse([{"q": ["a"]}, {"q": ["b"]}], "borda").write(tmp_path / "x.run")
    assert (tmp_path / "x.run").read_text() == "q Q0 b 1 3 borda\nq Q0 a 2 3 borda\n"
    rs.fuse([{"q": ["a"]}]).write(tmp_path / "x.run", tag="mine")
    assert (tmp_path / "x.run").read_text().endswith(" mine\n")
    with pytest.raises(ValueError, match="unknown format of"):
        rs.fuse([{"q": ["a"]}]).write(tmp_path / "x.pdf")
