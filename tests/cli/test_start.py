"""What a command loads, and what it answers on any number of cores."""

import gc
import os
import subprocess
import sys

import pytest

import rankstone as rs
from rankstone.cli.commands import COMMANDS
from rankstone_command import QUICK, command

HEAVY = {"pyarrow", "pandas", "scipy", "rich", "array_api_compat", "duckdb", "polars", "lzma", "secrets", "shutil"}


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


@pytest.mark.parametrize("data", ["files", "dicts"])
def test_nor_does_evaluate(data, files):
    data = files if data == "files" else ({"q": {"a": 1, "b": 2}}, {"q": {"b": 0.9, "c": 0.8}})
    code = (
        f"import sys, rankstone as rs; result = rs.evaluate(*{data!r}); result.queries, str(result)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not (HEAVY - {"shutil"}) & set(done.stdout.split())


@pytest.mark.parametrize("command", ["evaluate", "trec_eval"])
def test_a_command_that_ends_at_once_has_said_all(command, files, tmp_path):
    words = [sys.executable, "-m", "rankstone", command]
    whole = subprocess.run([*words, *files], check=True, capture_output=True, text=True)
    assert whole.stdout.count("\n") > 8
    assert whole.stderr == ""
    with open(tmp_path / "out.txt", "w") as file:
        subprocess.run([*words, *files], check=True, stdout=file)
    assert (tmp_path / "out.txt").read_text() == whole.stdout
    wrong = subprocess.run([*words, files[0], str(tmp_path / "none.txt")], capture_output=True, text=True)
    assert wrong.returncode in (1, 2)
    assert "none.txt" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "quick"),
    [(["evaluate", "q", "r"], True), (["trec_eval", "q", "r"], True), (["compare", "q", "r"], False), ([], False)],
)
def test_commands_without_matrices_start_no_threads_for_them(monkeypatch, words, quick):
    done = []
    monkeypatch.setattr(sys, "argv", ["/usr/bin/rankstone", *words])
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr(gc, "disable", lambda: done.append("disable"))
    monkeypatch.setattr(os, "_exit", lambda code: done.append(code))
    monkeypatch.setattr("rankstone.cli.commands.main", lambda: 3)
    with pytest.raises(SystemExit, match="3"):
        command()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == ("1" if quick else None)
    assert done == ["disable", 3] * quick
    assert set(QUICK) <= set(COMMANDS)


def test_the_entry_point_loads_no_numpy():
    code = "import sys, rankstone_command; assert 'numpy' not in sys.modules and 'rankstone' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("words", ["trec_eval q r", "evaluate q r"])
def test_an_import_does_not_depend_on_the_words_of_the_process(words):
    code = (
        f"import gc, os, sys; sys.argv = ['/usr/bin/rankstone', *{words.split()!r}]; before = dict(os.environ)\n"
        "import rankstone as rs\n"
        "assert rs.ndcg and rs.metrics['ap'] and gc.isenabled() and dict(os.environ) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ("evaluate {} {} >&-", 1, "Bad file descriptor"),
        ("evaluate {} {} --format json >&-", 1, "Bad file descriptor"),
        ("evaluate {} - <&-", 1, "Bad file descriptor"),
        ("evaluate {} {} >/dev/full", 1, "No space left on device"),
        ("evaluate {} {} -o /dev/null --format json >&-", 0, ""),
        ("trec_eval -q {} {} >/dev/full", 1, "trec_eval: standard output: No space left on device"),
        ("trec_eval -q {} {} >&-", 1, "trec_eval: standard output: Bad file descriptor"),
        ("trec_eval -q {} - <&-", 2, "trec_eval: cannot read standard input: Bad file descriptor"),
        ("version >/dev/full", 1, "rankstone: standard output: No space left on device"),
        ("version >&-", 1, "rankstone: standard output: Bad file descriptor"),
    ],
)
def test_streams_that_are_closed_or_full(words, code, error, files):
    line = f"{sys.executable} -m rankstone {words.format(*files)}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert error in done.stderr
    assert done.stderr.count("\n") == bool(error)
