"""What a command loads, and what it answers on any number of cores."""

import gc
import os
import subprocess
import sys

import pytest

import rankstone as rs
from rankstone.cli.start import settle

HEAVY = {"pyarrow", "pandas", "scipy", "rich", "duckdb", "polars", "lzma", "secrets", "shutil"}


@pytest.fixture
def files(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("".join(f"q{n // 5} 0 d{n % 97} {n % 3}\n" for n in range(50)))
    run.write_text("".join(f"q{n // 20} Q0 d{n * 7 % 97} {n % 20} {20 - n % 20} made\n" for n in range(200)))
    return str(qrels), str(run)


@pytest.mark.parametrize("command", ["evaluate", "trec_eval"])
def test_a_trec_file_needs_no_library_but_numpy(command, files):
    code = (
        "import sys\n"
        "from rankstone.cli.commands import main\n"
        f"assert main([{command!r}, *{files!r}]) == 0\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), sep='\\n', file=sys.stderr)"
    )
    shell = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=shell)
    assert done.stdout
    assert not HEAVY & set(done.stderr.split())


def test_nor_does_evaluate(files):
    code = (
        f"import sys, rankstone as rs; result = rs.evaluate(*{files!r}); result.queries, str(result)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not (HEAVY - {"shutil"}) & set(done.stdout.split())


@pytest.mark.parametrize("command", ["evaluate", "trec_eval"])
def test_a_command_that_ends_at_once_has_said_all(command, files, tmp_path):
    words = [sys.executable, "-m", "rankstone", command]
    whole = subprocess.run([*words, *files], check=True, capture_output=True, text=True)
    assert whole.stdout.count("\n") > 10
    assert whole.stderr == ""
    with open(tmp_path / "out.txt", "w") as file:
        subprocess.run([*words, *files], check=True, stdout=file)
    assert (tmp_path / "out.txt").read_text() == whole.stdout
    wrong = subprocess.run([*words, files[0], str(tmp_path / "none.txt")], capture_output=True, text=True)
    assert wrong.returncode in (1, 2)
    assert "none.txt" in wrong.stderr


@pytest.mark.parametrize(
    ("argv", "started", "fewer"),
    [
        (["/usr/bin/rankstone", "evaluate", "q", "r"], [], True),
        (["/usr/bin/rankstone", "trec_eval", "q", "r"], [], True),
        (["-m", "evaluate", "q", "r"], ["python", "-X", "dev", "-m", "rankstone", "evaluate", "q", "r"], True),
        (["/usr/bin/rankstone", "compare", "q", "r"], [], False),
        (["/usr/bin/rankstone"], [], False),
        (["-m", "evaluate", "q"], ["python", "-m", "other", "evaluate", "q"], False),
        (["evaluate.py", "evaluate"], [], False),
        ([""], ["python"], False),
        ([], [], False),
    ],
)
def test_commands_without_matrices_start_no_threads_for_them(monkeypatch, argv, started, fewer):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", started or ["python", *argv])
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    searches = []
    monkeypatch.setattr(gc, "disable", lambda: searches.append("none"))
    settle()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == ("1" if fewer else None)
    assert searches == ["none"] * fewer


def test_the_same_numbers_on_any_number_of_cores(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("".join(f"q{n // 50} 0 d{n * 13 % 1009} {n % 4}\n" for n in range(10_000)))
    run.write_text("".join(f"q{n // 500} Q0 d{n * 7 % 1009} 1 {n * 31 % 977 / 7:.6f} made\n" for n in range(100_000)))
    asked = ["ndcg", "ap", "bpref", "rbp", "precision@{5,100}"]
    one, *others = (rs.evaluate(qrels, run, asked, threads=threads) for threads in (1, 2, 3, 8))
    for other in others:
        assert dict(other) == dict(one)
        assert other.queries == one.queries
        assert all((other.per_query[label] == one.per_query[label]).all() for label in one)
