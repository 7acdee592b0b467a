"""`rankstone leaderboard`, run as people run it."""

import json

import pytest

from rankstone.cli.commands import main


def task_result(task, value):
    entry = {"hf_subset": "default", "ndcg_at_10": value, "map_at_10": value / 2, "main_score": value}
    return json.dumps({"task_name": task, "mteb_version": "2.26.24", "scores": {"test": [entry]}})


@pytest.fixture
def files(tmp_path, monkeypatch):
    for model, values in {"org__a": (0.5, 0.75), "org__b": (0.625, 0.25)}.items():
        (tmp_path / "results" / model / "1").mkdir(parents=True)
        for task, value in zip(("T1", "T2"), values, strict=True):
            (tmp_path / "results" / model / "1" / f"{task}.json").write_text(task_result(task, value))
    (tmp_path / "bm25.eval").write_text("map_cut_10 all 0.125\nndcg_cut_10 all 0.25\n")
    (tmp_path / "bad.txt").write_text("one two\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder(files, capsys):
    assert main(["leaderboard", "results"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "model", "T1", "T2", "mean", "borda", "ranks"]
    assert lines[2].split() == ["1", "org/a", "0.5000", "0.7500", "0.6250", "1", "1-2"]
    assert lines[3].split() == ["2", "org/b", "0.6250", "0.2500", "0.4375", "1", "1-2"]


def test_metrics_and_names(files, capsys):
    words = ["leaderboard", "bm25:T1=bm25.eval", "results/org__a", "-m", "ndcg@10", "--task", "T1"]
    assert main(words) == 2
    message = capsys.readouterr().err
    assert "ndcg@10 has 2 definitions: ndcg_cut_10 of trec_eval (convention trec_eval: " in message
    assert "choose with --tool trec_eval, or put them in one column with --definitions mixed" in message
    assert main([*words, "--definitions", "mixed", "--format", "json"]) == 0
    board = json.loads(capsys.readouterr().out)
    assert [(one["rank"], one["model"], one["mean"]) for one in board["models"]] == [
        (1, "org/a", 0.5),
        (2, "bm25", 0.25),
    ]
    assert any(note.startswith("ndcg@10 has 2 definitions") for note in board["notes"])
    assert main([*words, "--tool", "trec_eval", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[:2] == ["1", "bm25"]


def test_models_without_all_tasks(files, capsys):
    words = ["leaderboard", "results/org__a", "results/org__b/1/T2.json"]
    assert main(words) == 0
    assert "no mean and no rank without all tasks: org/b lacks 'T1'" in capsys.readouterr().out
    assert main([*words, "--incomplete", "exclude_tasks", "-o", "board.md"]) == 0
    assert "| org/b |" in (files / "board.md").read_text()
    assert main([*words, "--incomplete", "error"]) == 2
    assert "leave out tasks with --incomplete exclude_tasks, or choose with --task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["bad.txt"], 2, "bad.txt:1: has no scores in a form of rankstone, mteb"),
        (["no.json"], 1, "no.json: No such file or directory"),
        (["results", "-m", "recall@5"], 1, "unknown metric of these files 'recall@5'"),
        (["results/org__a", "-m", "ndcg@10,ap@10", "--by", "mean"], 2, "or --by borda"),
        (["bm25.eval"], 2, "there are 2 metrics ('ap@10', 'ndcg@10'); choose with --metric"),
        (["results", "-o", "x.eval"], 2, "x.eval is trec by its name; here there are table"),
    ],
)
def test_errors(words, code, message, files, capsys):
    assert main(["leaderboard", *words]) == code
    assert message in capsys.readouterr().err
