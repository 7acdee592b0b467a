"""Runs on several collections: per collection, over all, and the tables of papers."""

import math
import re
import shutil
import subprocess

import numpy as np
import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.compare.paper import PAPER_NAMES


def collection(seed, queries, noise):
    random = np.random.default_rng(seed)
    truth = {f"q{at}": {f"d{item}": int(random.integers(0, 3)) for item in range(15)} for at in range(queries)}
    return truth, {
        f"sys_{name}": {
            query: {item: float(level * grade + noise * random.normal()) for item, grade in grades.items()}
            for query, grades in truth.items()
        }
        for name, level in zip("abcdef", np.linspace(0.4, 1.4, 6), strict=True)
    }


@pytest.fixture(scope="module")
def collections():
    return {"robust": collection(1, 80, 1.5), "dl19": collection(2, 43, 1.3), "covid": collection(3, 50, 2.0)}


@pytest.fixture(scope="module")
def comparison(collections):
    return rs.compare(collections, ["ndcg@10", "ap"], baseline="sys_a")


def test_each_collection(collections, comparison):
    for name, (truth, runs) in collections.items():
        alone = rs.compare(truth, runs, ["ndcg@10", "ap"], baseline="sys_a")
        for of in alone:
            ours = comparison[name, of.run, of.metric]
            assert (ours.difference, ours.low, ours.high, ours.p) == (of.difference, of.low, of.high, of.p)
        assert comparison[name]["sys_b", "ap"].p == alone["sys_b", "ap"].p


def test_the_correction_is_over_all(comparison):
    single = [of for of in comparison if of.collection in comparison.collections]
    assert len(single) == 3 * 5 * 2
    assert [of.adjusted for of in single] == rs.statistics.adjust([of.p for of in single], "holm").tolist()
    assert all((of.verdict != "inconclusive") == (of.adjusted <= 0.05) for of in single)


@pytest.mark.parametrize("method", ["stratified", "random_effects"])
def test_all_collections(comparison, method):
    parts = [comparison[name]["sys_b", "ap"] for name in comparison.collections]
    freedom = [of.queries - 1 for of in parts]
    fit = rs.statistics.combine([of.difference for of in parts], [of.error for of in parts], freedom, method).student
    ours = comparison[method, "sys_b", "ap"]
    assert ours.difference == fit.mean
    assert (ours.low, ours.high) == fit.interval()
    assert ours.p == fit.p()
    assert ours.queries == 173
    family = [of for of in comparison if of.collection == method]
    assert [of.adjusted for of in family] == rs.statistics.adjust([of.p for of in family], "holm").tolist()


def test_equivalence(collections):
    """A system and itself with other noise: within a margin on all collections together."""
    pair = {name: (truth, {"a": runs["sys_e"], "b": runs["sys_f"]}) for name, (truth, runs) in collections.items()}
    verdicts = rs.compare(pair, "ndcg@10", margin=0.2).verdicts
    assert verdicts["stratified", "b", "ndcg@10"] == "equivalent (margin 0.2)"


def test_looks_at_any_time(collections):
    """Stratified as a sequence of all queries; random effects have none."""
    comparison = rs.compare(collections, "ap", baseline="sys_a", anytime=200)
    fixed = rs.compare(collections, "ap", baseline="sys_a")["stratified", "sys_b", "ap"]
    ours, other = (comparison[name, "sys_b", "ap"] for name in ("stratified", "random_effects"))
    parts = [comparison[name]["sys_b", "ap"] for name in collections]
    error = np.sqrt(sum(of.error**2 for of in parts)) / 3
    sequence = rs.statistics.confidence_sequence(fixed.difference, error, 173, tuning=200)
    assert (ours.low, ours.high) == pytest.approx(tuple(map(float, sequence.interval())))
    assert ours.p == pytest.approx(float(sequence.p()))
    assert np.isnan(other.p)
    assert other.verdict == ""
    assert "random effects have no interval for every look" in comparison.notes


def test_all_pairs(collections):
    comparison = rs.compare(collections, ["ap"], correction="bh")
    assert comparison.correction == "bh"
    assert comparison["covid", "sys_a", "sys_f", "ap"].verdict == "better"
    assert len(comparison) == (3 + 2) * 15


def test_headline(comparison):
    """Each way to combine them; in one text, with the larger p, where the verdicts are the same."""
    stratified, random_effects = comparison.headline.split(" random effects: ")
    assert stratified.endswith("are better than sys_a on both metrics (adjusted p < 0.001).")
    assert random_effects.endswith("sys_f vs. sys_a: inconclusive on both metrics.")
    clear = {name: collection(seed, 60, 0.4) for seed, name in enumerate("abc")}
    alike = rs.compare(clear, "ap", baseline="sys_a")
    largest = max(of.adjusted for of in alike if of.collection == "random_effects")
    assert 0.001 < largest <= 0.05
    runs, rounded = "sys_b, sys_c, sys_d, sys_e and sys_f", math.ceil(1000 * largest) / 1000
    said = f"stratified and random effects: {runs} are better than sys_a on ap (adjusted p <= {rounded:g})."
    assert alike.headline == said


def test_forms(comparison, tmp_path):
    text = str(comparison)
    assert "3 collections; paired t-test, Holm over 30 comparisons of all collections" in text
    assert "stratified: these collections, each counts the same" in text
    frame = comparison.to_pandas()
    assert set(frame["collection"]) == {"robust", "dl19", "covid", "stratified", "random_effects"}
    comparison.write(tmp_path / "c.json")
    comparison.write(tmp_path / "c.tex")
    assert comparison.to_dict()["differences"][0]["collection"] == "robust"


def test_what_is_about_one_collection(comparison):
    for use in (
        lambda: comparison.queries("sys_b", "ap"),
        lambda: comparison.leaderboard("ap"),
        lambda: comparison.winner,
    ):
        with pytest.raises(ValueError, match=r"this is about one collection; name it, as comparison\['robust'\]"):
            use()
    assert comparison["dl19"].winner.name


def test_errors(collections):
    with pytest.raises(
        ValueError, match="correction='westfall_young' is for one collection; for several choose from 'holm'"
    ):
        rs.compare(collections, "ap", correction="westfall_young")
    with pytest.raises(ValueError, match="no collection can be called 'stratified'"):
        rs.compare({"stratified": collections["dl19"]}, "ap")
    with pytest.raises(ValueError, match="geometric means are not combined"):
        rs.compare(collections, "gmap")


# -- LaTeX ---------------------------------------------------------------------------------------------------


def rows_of(text):
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [[cell.strip(" \\") for cell in line.split(" & ")] for line in body.strip().splitlines()]


def test_the_table_has_the_numbers(comparison):
    text = comparison.latex(digits=3, label="tab:all")
    assert r"\label{tab:all}" in text
    assert re.findall(r"multicolumn\{2\}\{c\}\{(\w+)\}", text) == ["robust", "dl19", "covid", "all"]
    rows = rows_of(text)
    assert [row[0] for row in rows] == [rf"sys\_{name}" for name in "abcdef"]
    where = ["robust", "dl19", "covid", "stratified"]
    for row, run in zip(rows[1:], comparison.runs[1:], strict=True):
        for at, name in enumerate(where):
            for metric, cell in zip(comparison.metrics, row[1 + 2 * at : 3 + 2 * at], strict=True):
                of = comparison[name, run, metric]
                assert re.search(r"\d\.\d+", cell)[0] == f"{of.second:.3f}"
                assert (r"\dagger" in cell) == (of.verdict == "better")
    assert len(re.findall(r"\\textbf", text)) >= 8
    assert len(re.findall(r"\\underline", text)) >= 8


def test_superscripts(collections):
    comparison = rs.compare(*collections["dl19"], ["ap", "rr"])
    rows = rows_of(comparison.latex())
    letters = dict(zip(comparison.runs, "abcdef", strict=True))
    assert [row[0] for row in rows] == list("abcdef")
    for row, run in zip(rows, comparison.runs, strict=True):
        for metric, cell in zip(comparison.metrics, row[2:], strict=True):
            worse = {
                of.baseline for of in comparison if of.metric == metric and of.run == run and of.verdict == "better"
            }
            worse |= {
                of.run for of in comparison if of.metric == metric and of.baseline == run and of.verdict == "worse"
            }
            assert (re.search(r"\$\^\{(\w+)\}\$", cell) or [0, ""])[1] == "".join(
                sorted(letters[name] for name in worse)
            )


def test_percent_names_and_captions(collections):
    comparison = rs.compare(*collections["dl19"], ["ap", "rr", "precision@5", "num_ret"], baseline="sys_a")
    text = comparison.latex(percent=True, caption=r"Ours at $\alpha$.", names={"map": "AP"}, marks="none")
    assert r"\caption{Ours at $\alpha$.}" in text
    assert r"run & AP & MRR & P@5 & num\_ret \\" in text
    mean = rs.evaluate(*(collections["dl19"][0], collections["dl19"][1]["sys_b"]), "ap")["ap"]
    assert rows_of(text)[1][1] == f"{100 * mean:.1f}"
    assert rows_of(text)[1][4] == str(43 * 15)  # a count
    assert "dagger" not in text
    sentence = re.search(r"\\caption\{(.*)\}", comparison.latex())[1]
    assert sentence.count(". ") == 0
    assert sentence.startswith("Means of 43 queries; bold: best, underlined: second best; ")


def test_options_that_do_not_fit(comparison):
    pair = rs.compare(*collection(5, 20, 1.0), "ap")
    with pytest.raises(ValueError, match="marks='daggers' needs a baseline"):
        pair.latex(marks="daggers")
    with pytest.raises(ValueError, match="marks='stars'; choose from 'daggers', 'superscripts', 'none'"):
        comparison.latex(marks="stars")
    with pytest.raises(ValueError, match="digits=-1; give a whole number from 0 to 15"):
        comparison.latex(digits=-1)


def test_names_of_papers_are_of_metrics():
    assert {*PAPER_NAMES} <= {*rs.metrics}


@pytest.mark.slow
def test_it_compiles(comparison, collections, tmp_path):
    """Three collections and six systems, with pdflatex and booktabs."""
    if not shutil.which("pdflatex"):
        pytest.skip("needs pdflatex")
    tables = [
        comparison.latex(),
        rs.compare(collections, ["ndcg@10", "ap"]).latex(percent=True),
        comparison["dl19"].latex(),
    ]
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}%s\end{document}" % "\n".join(tables)  # noqa: UP031
    (tmp_path / "page.tex").write_text(page)
    run = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command(collections, comparison, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = []
    for name, (truth, runs) in collections.items():
        (tmp_path / name).mkdir()
        rs.write_truth(truth, tmp_path / f"{name}.qrels")
        for run, lists in runs.items():
            rs.write_run(lists, tmp_path / name / f"{run}.run")
        (tmp_path / name / "sys_a.run.ledger.jsonl").write_text("{}")  # beside a gate's baseline: no run
        words.append(f"{name}={name}.qrels,{name}")
    more = ["-m", "ndcg@10,ap", "--baseline", "sys_a"]
    assert main(["compare", *words, *more, "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(comparison)
    values = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert float(values["difference"]) == pytest.approx(next(iter(comparison)).difference)
    assert main(["compare", *words, *more, "-o", "table.tex"]) == 0
    comparison.write(tmp_path / "own.tex")
    written = {(tmp_path / name).read_text().strip() for name in ("table.tex", "own.tex")}
    assert written == {comparison.latex()}
    assert main(["compare", *words, *more, "--format", "latex", "--digits", "2", "--label", "tab:x"]) == 0
    assert capsys.readouterr().out.strip() == comparison.latex(digits=2, label="tab:x")
    assert main(["compare", *words, *more, "--digits", "2"]) == 2
    assert "--digits goes with --format latex" in capsys.readouterr().err
    for page in ("--html", "-o"):
        assert main(["compare", *words, *more, page, "a.html"]) == 2
        assert "is a report on one collection" in capsys.readouterr().err
