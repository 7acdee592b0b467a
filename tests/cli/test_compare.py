"""`rankstone compare`: runs, saved results, and both."""

import json

import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.evaluate.result_file import is_result

QUERIES = range(1, 31)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A truth whose ids look like numbers, and runs in several formats, some of them text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.csv").write_text(
        "query,item,country,talk\n" + "".join(f"{q},{q * 10},{'fi' if q % 2 else 'se'},{q // 3}\n" for q in QUERIES)
    )
    (tmp_path / "old.csv").write_text(
        "query,item,score\n" + "".join(f"{q},{q * 10},1\n{q},5,{2 if q % 3 else 0}\n" for q in QUERIES)
    )
    (tmp_path / "new.run").write_text(
        "".join(f"{q} Q0 {q * 10} 1 9 t\n" if q % 5 else f"{q} Q0 5 1 9 t\n" for q in QUERIES)
    )
    lines = [json.dumps({"query": str(q), "retrieved": [str(q * 10), "7"]}) for q in QUERIES]
    (tmp_path / "best.jsonl").write_text("\n".join(lines))
    return tmp_path


def shown(capsys, *words):
    """What a comparison prints, as data."""
    assert main(["compare", *words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_runs_of_several_formats(files, capsys):
    found = shown(capsys, "gold.csv", "old.csv", "new.run", "best.jsonl", "-m", "rr", "--baseline", "old.csv")
    wanted = rs.compare("gold.csv", ["old.csv", "new.run", "best.jsonl"], "rr", baseline="old.csv")
    assert found["runs"] == ["old", "new", "best"]
    assert (found["baseline"], found["correction"]) == ("old", "holm")
    for ours, theirs in zip(found["differences"], wanted, strict=True):
        assert (ours["difference"], ours["adjusted"], ours["verdict"]) == (
            pytest.approx(theirs.difference), pytest.approx(theirs.adjusted), theirs.verdict,
        )  # fmt: skip
    assert found["queries"] == 30


def test_the_table(files, capsys, monkeypatch):
    """rr: 10 of 30 first, the others second; 24 of 30 first, the others not at all."""
    assert main(["compare", "gold.csv", "old.csv", "new.run", "-m", "rr"]) == 0
    out = capsys.readouterr().out
    headline, *lines = out.splitlines()
    assert headline == "new vs. old: inconclusive on rr."
    assert lines[2].split() == ["rr", "old", f"{(10 + 20 / 2) / 30:.4f}"]
    assert lines[3].split()[:3] == ["new", "0.8000", f"{24 / 30 - 20 / 30:+.4f}"]
    assert "grade" not in out
    assert main(["compare", "gold.csv", "old.csv", "new.run", "-m", "rr", "-v"]) == 0
    assert "grade" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["compare", "gold.csv", "old.csv", "new.run", "-m", "rr"]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 60


@pytest.mark.parametrize("ending", ["json", "json.gz", "parquet"])
def test_saved_results(files, capsys, ending):
    live = shown(capsys, "gold.csv", "old.csv", "new.run", "-m", "rr")
    for name in ("old.csv", "new.run"):
        assert main(["evaluate", "gold.csv", name, "-m", "rr,ap", "-o", f"{name[:3]}.{ending}"]) == 0
    saved = shown(capsys, f"old.{ending}", f"new.{ending}", "-m", "rr")
    assert saved["runs"] == ["old", "new"]
    assert saved["differences"][0]["low"] == pytest.approx(live["differences"][0]["low"])
    assert shown(capsys, f"old.{ending}", f"new.{ending}")["metrics"] == ["rr", "ap"]
    mixed = shown(capsys, "gold.csv", f"old.{ending}", "new.run", "-m", "rr")
    assert mixed["differences"][0]["high"] == pytest.approx(live["differences"][0]["high"])
    assert shown(capsys, "gold.csv", f"old.{ending}", "new.run")["metrics"] == ["rr", "ap"]
    by = shown(capsys, "gold.csv", f"old.{ending}", f"new.{ending}", "--by", "country")
    assert any("over 2 slices" in line for line in by["notes"])


def test_a_file_of_several_runs(files, capsys):
    assert main(["evaluate", "gold.csv", "a=old.csv", "b=new.run", "-m", "rr", "-o", "both.json"]) == 0
    assert shown(capsys, "both.json")["runs"] == ["a", "b"]
    assert main(["evaluate", "gold.csv", "best.jsonl", "-m", "rr", "-o", "best.json"]) == 0
    found = shown(capsys, "both.json", "best.json", "--baseline", "best.json")
    assert (found["runs"], found["baseline"]) == (["a", "b", "best"], "best")
    assert shown(capsys, "both.json", "x=best.json", "--baseline", "x")["baseline"] == "x"
    assert main(["compare", "both.json", "a=best.json"]) == 2
    assert "two runs are called a" in capsys.readouterr().err


def test_truths_that_are_json(files, capsys):
    """A truth in JSON is data, even of a query that is called runs."""
    truth = {"runs": {"10": 1}, "2": {"20": 1}}
    (files / "truth.json").write_text(json.dumps(truth))
    for name, items in (("a", ["10", "20"]), ("b", ["20", "10"])):
        (files / f"{name}.json").write_text(json.dumps(dict.fromkeys(truth, items)))
    assert not any(is_result(name) for name in ("truth.json", "a.json", "b.json", "gold.csv", "no.file"))
    found = shown(capsys, "truth.json", "a.json", "b.json", "-m", "rr")
    assert found["means"] == {"rr": {"a": 0.75, "b": 0.75}}
    (files / "one.json").write_text(json.dumps({"runs": {"x": 1}}))
    assert not is_result("one.json")
    rs.evaluate(truth, truth, "rr").write("saved.json")
    assert is_result("saved.json")
    (files / "small.json").write_text(json.dumps(json.loads((files / "saved.json").read_text())))
    assert is_result("small.json")


def test_options_reach_the_comparison(files, capsys):
    words = ["gold.csv", "old.csv", "new.run", "best.jsonl"]
    rules = {"baseline": "new", "test": "randomization", "correction": "bonferroni", "confidence": 0.9, "margin": 0.02,
             "primary": "rr", "resamples": 500, "seed": 3}  # fmt: skip
    given = [word for name, value in rules.items() for word in (f"--{name}", str(value))]
    found = shown(capsys, *words, "-m", "rr,recall@1", *given)
    runs = {"old": "old.csv", "new": "new.run", "best": "best.jsonl"}
    wanted = rs.compare("gold.csv", runs, "rr,recall@1", **rules)
    assert [(one["p"], one["verdict"]) for one in found["differences"]] == [
        (pytest.approx(one.p), one.verdict) for one in wanted
    ]
    clustered = shown(capsys, *words[:3], "-m", "rr", "--cluster", "talk")
    assert clustered["differences"][0]["low"] == pytest.approx(
        rs.compare("gold.csv", words[1:3], "rr", clusters="talk")["new.run", "rr"].low
    )
    whole = shown(capsys, *words[:3], "-m", "rr", "--population", "30")["differences"][0]
    assert (whole["low"], whole["p"]) == (whole["high"], None)
    assert shown(capsys, *words, "-m", "rr")["correction"] == "westfall_young"


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html", "csv", "tsv", "json"])
def test_formats(files, capsys, form):
    words = ["compare", "gold.csv", "old.csv", "new.run", "-m", "rr"]
    definitions = ["-v"] * (form != "latex")  # a file has them; the caption of a paper's table is a sentence
    assert main([*words, "--format", form, *definitions]) == 0
    printed = capsys.readouterr().out
    ending = {"markdown": "md", "latex": "tex", "table": "txt"}.get(form, form)
    assert main([*words, "-o", f"out.{ending}"]) == 0
    assert capsys.readouterr().out == ""
    written = (files / f"out.{ending}").read_text()
    if form == "html":  # a file is a whole page
        assert written.startswith("<!DOCTYPE html>")
        assert main([*words, "--html", "page.html"]) == 0
        assert "verdict" in capsys.readouterr().out
        page = (files / "page.html").read_text()
        again = "<pre>rankstone compare gold.csv old.csv new.run -m rr {}</pre>"
        assert page == written.replace(again.format("-o out.html"), again.format("--html page.html"))
        assert again.format("--html page.html") in page
        assert main([*words, "--html", "page.html", "--title", "Autumn <release>"]) == 0
        assert "<h1>Autumn &lt;release&gt;</h1>" in (files / "page.html").read_text()
        assert "<details" in written  # the lists of the queries that changed
    elif form == "json":  # a file says how to compute it again
        data = json.loads(written)
        assert data.pop("reproduce")["command"] == "rankstone compare gold.csv old.csv new.run -m rr"
        assert data == json.loads(printed)
    else:
        assert written.split() == printed.split()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gold.csv"], "there is nothing to compare: rankstone compare gold.csv RUN RUN"),
        (["gold.csv", "old.csv"], "there is one run only, old; a comparison needs two"),
        (["old.json"], "there is one run only, old"),
        (["old.json", "new.run"], "old.json is a saved result and new.run is none, so the truth is missing"),
        (["old.json", "mine.json", "-c", "trec_eval"], "-c goes with a truth and runs"),
        (["old.json", "mine.json", "--by", "country"], "--by country is a column of the truth; give it too"),
        (["old.json", "mine.json", "-m", "ap"], "has no ap; it was saved with rr"),
        (["gold.csv", "old.csv", "new.run", "--baseline", "bm25"], "--baseline bm25 is none of the runs: old, new"),
        (["gold.csv", "old.csv", "new.run", "-m", "ndgc"], "did you mean 'ndcg'"),
        (["old.json", "mine.json", "-m", "ndgc"], "did you mean 'ndcg'"),
        (["gold.csv", "old.csv", "new.run", "--confidence", "95"], "--confidence 95.0; give a number from 0.5 to 1"),
        (["gold.csv", "-", "-"], "only one file can be read from standard input"),
        (["gold.csv", "old.csv", "new.run", "-o", "x.trec"], "x.trec is trec by its name"),
    ],
)
def test_bad_usage(files, capsys, words, told):
    for name in ("old", "mine"):
        assert main(["evaluate", "gold.csv", "old.csv", "-m", "rr", "-o", f"{name}.json"]) == 0
    assert main(["compare", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


def test_unlike_results_are_refused(files, capsys):
    assert main(["evaluate", "gold.csv", "old.csv", "-m", "rr", "-o", "a.json"]) == 0
    assert main(["evaluate", "gold.csv", "new.run", "-m", "rr", "-s", "missing=skip", "-o", "b.json"]) == 0
    assert main(["compare", "a.json", "b.json"]) == 1
    assert "rr is not the same number in both: missing is 'zero' in a, 'skip' in b" in capsys.readouterr().err
    assert main(["compare", "gold.csv", "old.csv", "none.run"]) == 1
    assert "none.run" in capsys.readouterr().err
    for option in ("--by", "--cluster"):
        assert main(["compare", "gold.csv", "old.csv", "new.run", option, "town"]) == 1
        assert "gold.csv:1: the truth has no column 'town'" in capsys.readouterr().err


def test_groups_of_ids_that_became_text(files, capsys):
    """The truth's ids look like numbers; beside a run whose ids are text they are text too."""
    assert main(["evaluate", "gold.csv", "new.run", "-m", "rr", "--by", "country", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "country,rr\nfi,0.8\nse,0.8\n"


def test_intervals(files, capsys):
    words = ["evaluate", "gold.csv", "old.csv", "-m", "rr", "--interval"]
    assert main(words) == 0
    line = capsys.readouterr().out.splitlines()[2]
    found = rs.evaluate("gold.csv", "old.csv", "rr").interval("rr")
    assert line.split() == ["rr", f"{2 / 3:.4f}", f"{found.low:.4f}", f"{found.high:.4f}"]
    assert main([*words, "new.run"]) == 0
    out = capsys.readouterr().out
    assert f"{2 / 3:.4f} ({found.low:.4f} {found.high:.4f})" in out
    assert "in brackets: intervals of the means" in out
    for more in (["--per-query"], ["--by", "country"], ["--format", "csv"]):
        assert main([*words, *more]) == 2
        assert "--interval goes with means, as table, markdown, latex or html" in capsys.readouterr().err


def test_a_file_that_is_not_there(files, capsys):
    assert main(["evaluate", "gold.csv", "old.csv", "-m", "rr", "-o", "mine.json"]) == 0
    for words in (["none.json", "mine.json"], ["gold.csv", "old.csv", "none.json"]):
        assert main(["compare", *words, "-m", "rr"]) == 1
        assert "none.json: No such file" in capsys.readouterr().err


def test_bad_lines_are_left_out_of_a_report(files, capsys):
    with open(files / "old.csv", "a", encoding="utf-8") as stream:
        stream.write("no number,x,abc\n")
    words = ["compare", "gold.csv", "old.csv", "new.run", "-m", "rr", "--on-error", "skip", "--html", "page.html"]
    assert main(words) == 0
    assert (files / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert "1 bad lines skipped" in capsys.readouterr().err


def test_bounds(files, capsys):
    """7 is the second item of every list of best.jsonl, 5 the first of two thirds of old.csv: both unjudged."""
    words = ["gold.csv", "old.csv", "best.jsonl", "-m", "precision@1", "--bounds"]
    (difference,) = shown(capsys, *words)["differences"]
    assert difference["bounds"] == {"lowest": 0.0, "highest": pytest.approx(2 / 3), "exact": True}
    assert main(["compare", *words]) == 0
    assert "at least and at most: the range of the difference" in capsys.readouterr().out
    assert main(["evaluate", "gold.csv", "old.csv", "-m", "precision@1", "-o", "old.json"]) == 0
    assert main(["compare", "gold.csv", "old.json", "best.jsonl", "--bounds"]) == 2
    assert "--bounds needs the lists, and old.json is a saved result" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "text", "place"), [
    ("twice.run", "1 Q0 7 1 9 t\n1 Q0 10 2 8 t\n1 Q0 10 3 7 t\n", "twice.run:3: "),
    ("twice.csv", "query,item,score\n\n1,7,9\n1,10,8\n1,10,7\n", "twice.csv:5: "),
    ("twice.jsonl", '{"query": "1", "item": "10"}\n{"query": "1", "item": "10"}', "twice.jsonl:2: "),
])  # fmt: skip
def test_an_item_twice(name, text, place, files, capsys):
    """Of several runs, the error has the name, the file, the line, and what to write."""
    (files / name).write_text(text)
    for command in ("evaluate", "compare"):
        words = [command, "gold.csv", "old=old.csv", f"mine={name}", "-m", "rr"]
        assert main(words) == 1
        problem = "item 10 appears twice in the run; -s duplicates=first counts one of them"
        assert capsys.readouterr().err.replace("'", "") == f"rankstone: mine: {place}query 1: {problem}\n"
        assert main([*words, "-s", "duplicates=first"]) == 0
    assert main(["fuse", "old=old.csv", f"mine={name}"]) == 1
    error = capsys.readouterr().err.replace("'", "")
    assert f"mine: {place}query 1: item 10 appears twice; keep one row per item and list" in error
