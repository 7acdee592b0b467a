"""`verify`: a saved answer is computed again from its files; what differs is named."""

import json
import os
import re

import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.errors import FileError
from rankstone.results.reproduction import record_of, without_outputs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of the small example, and what was saved of them."""
    monkeypatch.chdir(tmp_path)
    truth, runs, *_ = rs.example()
    rs.write_truth(truth, "films.qrels")
    for name, run in runs.items():
        rs.write_run(run, f"{name}.run")
    (tmp_path / "gates.toml").write_text(
        'truth = "films.qrels"\nbaseline = "popular.run"\ncandidate = "hybrid.run"\n'
        '[[gate]]\nmetric = "rr"\nnot_worse_than = 0.1\n[[pin]]\nquery = "u1"\nitem = "f1"\nseverity = "warn"\n'
    )
    return tmp_path


def saved(kind):
    """A saved answer of a kind: by the command, or by Python."""
    sides = "films.qrels", {"old": "popular.run", "new": "hybrid.run"}
    words = {
        "result.json": "evaluate films.qrels hybrid.run popular.run -m ndcg@10,rr -s threshold=2 -o result.json",
        "result.parquet": "evaluate films.qrels hybrid.run -m ndcg@10 -c trec_eval --output=result.parquet",
        "comparison.json": "compare films.qrels popular.run hybrid.run -m ndcg@10,rr --margin 0.01 -o comparison.json",
        "report.html": "compare films.qrels popular.run hybrid.run -m ndcg@10 --html report.html",
        "check.json": "check gates.toml --json check.json --markdown check.md",
    }
    if kind in words:
        assert main(words[kind].split()) == 0
    elif kind == "python.json":
        rs.evaluate("films.qrels", "hybrid.run", ["ndcg@10", rs.ap(divisor="k") @ 5], threshold=2).write(kind)
    elif kind == "python-comparison.json":
        rs.compare(*sides, "ndcg@10", baseline="old", test="wilcoxon", primary="ndcg@10").write(kind)
    elif kind == "python-report.html":
        rs.compare(*sides, "ndcg@10", convention="trec_eval").write(kind)
    else:
        rs.evaluate("films.qrels", "hybrid.run", "ndcg@10").write(kind)
    return kind


KINDS = ("result.json", "result.parquet", "comparison.json", "report.html", "check.json", "python.json",
         "python-comparison.json", "python-report.html", "result-report.html")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_unchanged_passes(folder, capsys, kind):
    verification = rs.verify(saved(kind))
    assert verification.findings == ()
    assert verification.compared >= 5
    assert main(["verify", kind]) == 0
    assert "PASSED" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_is_named(folder, capsys, kind):
    saved(kind)
    text = (folder / "hybrid.run").read_text().splitlines()
    (folder / "hybrid.run").write_text("\n".join(text[50:]) + "\n")
    findings = rs.verify(kind).findings
    assert re.match(r"hybrid.run has changed: its digest is blake2b:\w+, was blake2b:\w+", findings[0])
    assert len(findings) > 1  # and the numbers
    assert main(["verify", kind]) == 3
    (folder / "hybrid.run").unlink()
    assert rs.verify(kind).findings == ("hybrid.run is missing",)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_number_is_named(folder, capsys, kind):
    if kind == "result.parquet":
        pytest.skip("its means are in binary metadata")
    saved(kind)
    text = (folder / kind).read_text(encoding="utf-8")
    text, page = (text, "") if kind.endswith("json") else text.rsplit('id="rankstone-data">', 1)[::-1]
    number = re.search(r"0\.\d{5,}", text)
    changed = text[: number.start()] + "0.1234567" + text[number.end() :]
    (folder / kind).write_text(f'{page}id="rankstone-data">{changed}' if page else changed, encoding="utf-8")
    (finding,) = rs.verify(kind).findings
    assert f"is 0.1234567, computed again {number[0]}" in finding


def test_another_version_is_named(folder):
    for kind in ("result.json", "comparison.json"):
        saved(kind)
        (folder / kind).write_text(
            (folder / kind).read_text().replace(f'"rankstone": "{rs.__version__}"', '"rankstone": "0.0.9"')
        )
        assert f"rankstone is {rs.__version__}, was 0.0.9" in rs.verify(kind).findings


def test_a_changed_digest_is_named(folder):
    """Whoever writes another digest into the file has changed it."""
    saved("check.json")
    data = json.loads((folder / "check.json").read_text())
    assert sorted(data["reproduce"]["files"]) == ["films.qrels", "gates.toml", "hybrid.run", "popular.run"]
    data["reproduce"]["files"]["gates.toml"] = "blake2b:0"
    (folder / "check.json").write_text(json.dumps(data))
    (finding,) = rs.verify("check.json").findings
    assert finding.startswith("gates.toml has changed: its digest is blake2b:")


def test_paths_are_those_of_the_saved_file(folder, monkeypatch):
    saved("result.json")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert rs.verify(folder / "result.json").passed
    assert os.getcwd() == str(folder / "elsewhere")


def test_data_in_memory_is_passed(folder):
    truth, runs, *_ = rs.example()
    rs.evaluate(truth, runs["hybrid"], ["ndcg@10", "rr"], threshold=2).write("memory.json")
    with pytest.raises(ValueError, match="does not say how it was computed: its data or options were in memory; pass"):
        rs.verify("memory.json")
    assert rs.verify("memory.json", truth, runs["hybrid"]).passed
    findings = rs.verify("memory.json", truth, runs["popular"]).findings
    assert findings[0].startswith("runs.run.means.ndcg@10 is 0.")
    assert any(".inputs.run is " in finding for finding in findings)
    saved("comparison.json")
    with pytest.raises(ValueError, match=r"go with a result of one run; comparison.json is a comparison"):
        rs.verify("comparison.json", truth, runs["hybrid"])


def test_options_in_memory_leave_no_command(folder):
    weights = dict.fromkeys(rs.example()[0], 1.0)
    rs.evaluate("films.qrels", "hybrid.run", "rr", weights=weights).write("weighted.json")
    with pytest.raises(ValueError, match="does not say how it was computed"):
        rs.verify("weighted.json")


def test_what_is_no_saved_answer(folder):
    (folder / "a.json").write_text('{"format": "rankstone window"}')
    for name in ("a.json", "hybrid.run", "gates.toml"):
        with pytest.raises(FileError, match="is no result, comparison, report or check"):
            rs.verify(name)


def test_the_command_of_a_report_runs(folder, capsys):
    for kind in ("report.html", "python-report.html", "result-report.html"):
        page = (folder / saved(kind)).read_text(encoding="utf-8")
        command = re.search(r"<pre>(rankstone [^<]*)</pre>", page)[1]
        capsys.readouterr()
        assert main(command.split()[1:]) == 0
        assert "ndcg@10" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rankstone evaluate q r -o x.json", "rankstone evaluate q r"),
        ("rankstone evaluate q r -ox.json -m ndcg@10", "rankstone evaluate q r -m ndcg@10"),
        ("rankstone evaluate q r -vox.json", "rankstone evaluate q r"),
        ("rankstone evaluate q r --output=x.json --outp y", "rankstone evaluate q r"),
        ("rankstone compare q a b --html p.html --title T --format json", "rankstone compare q a b"),
        ("rankstone check g.toml --junit a.xml --markdown b.md --json c --github", "rankstone check g.toml"),
        ("rankstone compare q a b -m map -v --test t", "rankstone compare q a b -m map -v --test t"),
    ],
)
def test_outputs_are_left_out(words, expected):
    """Also those of a file that somebody has changed: nothing is written but to a temporary folder."""
    assert " ".join(without_outputs(words.split())) == expected


def test_a_command_of_a_file_writes_nothing(folder):
    saved("comparison.json")
    data = json.loads((folder / "comparison.json").read_text())
    data["reproduce"]["command"] += " --html stolen.html"
    (folder / "comparison.json").write_text(json.dumps(data))
    assert rs.verify("comparison.json").passed
    assert not (folder / "stolen.html").exists()
    data["reproduce"]["command"] = "rankstone convert hybrid.run stolen.csv"
    (folder / "comparison.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match="is none of evaluate, compare, check"):
        rs.verify("comparison.json")
    assert not (folder / "stolen.csv").exists()


def test_standard_input_cannot_be_read_again():
    assert record_of("rankstone evaluate - a.run") is None
