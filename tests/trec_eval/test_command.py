"""Options, exit codes, files that are odd and files that are wrong."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest

from rankstone.trec_eval.measures import MEASURES, NICKNAMES

from .conftest import Command, asked

TRUTH = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2, "c": 1}, "q3": {"d": 1}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 3.0, "a": 2.0, "c": 1.0}, "q3": {"d": 1.0}, "q9": {"a": 1.0}}


@pytest.fixture
def files(command: Command) -> tuple[Path, Path]:
    return command.qrels(TRUTH), command.results(RUN)


# -- options ---------------------------------------------------------------------------------------------------


def test_official_measures_are_the_default(command: Command, files: tuple[Path, Path]) -> None:
    _, out, _ = command(*files)
    assert out == command("-m", "official", *files)[1]
    lines = out.splitlines()
    assert lines[0] == "runid                 \tall\ttag"
    assert lines[1] == "num_q                 \tall\t3"
    assert lines[5] == f"map                   \tall\t{(1 + (1 / 2 + 2 / 3) / 2 + 1) / 3:6.4f}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-q", "-n", "-m", "P.1,2", "-l", "2", "-M", "2"],
        ["-qnmP.1,2", "-l2", "-M2"],
        [
            "--query_eval_wanted",
            "--nosummary",
            "--measure",
            "P.2,1",
            "--level_for_rel=2",
            "--Max_retrieved_per_topic",
            "2",
        ],
        ["-o", "-D", "3", "-N100", "-T", "trec_results", "-R", "qrels", "--qu", "--nos", "-mP.1,2", "-l2", "-M2"],
    ],
)
def test_ways_to_write_options(arguments: list[str], command: Command, files: tuple[Path, Path]) -> None:
    expected = "".join(
        f"P_{k:<20}\t{query}\t{value:6.4f}\n"
        for query, values in (("q1", (0, 0)), ("q2", (0, 1 / 2)), ("q3", (0, 0)))
        for k, value in zip((1, 2), values, strict=True)
    )
    assert command(*arguments, *files) == (0, expected, "")
    assert command(files[0], *arguments, files[1]) == (0, expected, "")


def test_measures_are_printed_in_the_tables_order(command: Command, files: tuple[Path, Path]) -> None:
    _, out, _ = command(*asked("unj.3", "ndcg", "map", "num_q", "P.1"), *files)
    assert [line.split()[0] for line in out.splitlines()] == ["num_q", "map", "P_1", "ndcg", "unj_3"]


def test_of_a_measure_asked_twice_the_first_parameters_count(command: Command, files: tuple[Path, Path]) -> None:
    assert list(command.values(*asked("P.2", "P.1"), *files)) == [("P_2", "all")]


def test_cutoffs_that_look_the_same(command: Command, files: tuple[Path, Path]) -> None:
    """Two parameters with the same two decimals are two values of one name. 1.254 and 1.246 of 2 are 3 documents."""
    _, out, _ = command("-D0.q2", *asked("Rprec_mult.1.246,0.754,0.746,1.254"), *files)
    assert [line.split("\t")[2] for line in out.splitlines()] == ["0.5000", "0.5000", "0.6667", "0.6667"]


@pytest.mark.parametrize("name", ["official", "all_trec", "set", "all_prefs", "prefs", "qrels_jg"])
def test_nicknames_name_measures(name: str) -> None:
    assert NICKNAMES[name][:2] == ["runid", "num_q"]
    assert set(NICKNAMES[name]) <= set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_can_be_asked_for_alone(name: str, command: Command, files: tuple[Path, Path]) -> None:
    over = MEASURES[name].over or "qrels"
    values = command.values("-q", "-m", name, "-R", {"prefs": "qrels_prefs"}.get(over, over), *files)
    assert {label.startswith(name) for label, _ in values} == {True}


@pytest.mark.parametrize("name", [name for name, one in MEASURES.items() if one.since > 9])
def test_version_9_does_not_know_later_measures(name: str, command: Command, files: tuple[Path, Path]) -> None:
    assert command("-m", name, "--version-like", "9.0.8", *files) == (1, "", f"trec_eval: illegal measure '{name}'\n")
    assert name not in {label for label, _ in command.values("--version-like", "9", "-m", "all_trec", *files)}


def test_one_query(command: Command, files: tuple[Path, Path]) -> None:
    assert command.values("-D", "0.q2", "-m", "num_q", "-m", "num_rel", *files)["num_rel", "all"] == "2"


def test_judged_documents_only(command: Command, files: tuple[Path, Path]) -> None:
    """q2's b is not judged: a and c move up."""
    assert command.values("-q", "-J", "-m", "map", *files)["map", "q2"] == "1.0000"


def test_nothing_left_to_look_at(command: Command) -> None:
    """0 / 0 is what C makes of it."""
    files = command.qrels({"q": {"a": 1}}), command.results({"q": {"b": 1.0}})
    values = command.values("-J", *asked("iprec_at_recall.0,0.5", "set_P", "map"), *files)
    assert list(values.values()) == ["0.0000", "  -nan", "0.0000", "0.0000"]


def test_utility_counts_the_collection(command: Command, files: tuple[Path, Path]) -> None:
    values = command.values("-q", "-N1000", "-m", "utility.3,-1,-2,0.5", *files)
    assert values["utility_3,-1,-2,0.5", "q2"] == f"{3 * 2 - 1 * 1 - 2 * 0 + 0.5 * (1000 + 2 - 3 - 2):6.4f}"


def test_standard_scores(command: Command, files: tuple[Path, Path]) -> None:
    means = command.write("means", "q1 map 0.5 0.25\nq2 map 0.5 0\nq1 P_1 1.0 0\n")
    values = command.values("-q", "-Z", means, *asked("map", "P.1"), *files)
    assert values["Zmap", "q1"] == f"{(1 - 0.5) / 0.25:6.4f}"
    assert values["ZP_1", "q1"] == "0.0000"  # no deviation, and it is the mean
    assert values["Zmap", "q2"] == "-1000000.0000"  # no deviation, and it is not
    assert values["Zmap", "q3"] == "-1000000.0000"  # not in the file
    assert values["Zmap", "all"] == f"{(2 - 2 * 1000000) / 3:6.4f}"


def test_help_and_version(command: Command) -> None:
    code, out, err = command("-h", "-m", "ndcg", "-m", "all_prefs")
    assert (code, err) == (0, "")
    assert "ndcg.level=gain" in out
    assert "prefs_pair" in out
    assert "recip_rank" not in out
    assert "recip_rank" in command("--help")[1]
    assert command("--version") == (0, "", "trec_eval version 10.0 (rankstone's)\n")
    assert command("-v", "--version-like", "9") == (0, "", "trec_eval version 9.0.8 (rankstone's)\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-x"], 1, "option -x not recognized"),
        (["--version-like", "8"], 1, "choose 9 or 10"),
        (["-m", "ndgc"], 1, "illegal measure 'ndgc'"),
        (["-m", "P."], 1, "illegal measure 'P'"),
        (["-m", "P.0"], 2, "Cannot initialize measure 'P'"),
        (["-m", "P.5,5"], 2, "duplicate cutoffs"),
        (["-m", "ndcg.1,2"], 2, "malformed pair parameters in '1,2'"),
        (["-m", "utility.1,2"], 4, "Can't calculate measure 'utility'"),
        (["-R", "qrel"], 2, "Illegal rel_format 'qrel'"),
        (["-T", "results"], 2, "Illegal retrieval results format 'results'"),
        (["-m", "prefs_pair"], 4, "Can't calculate measure 'prefs_pair'"),
        (["-R", "prefs"], 2, "expected 5 fields"),
        (["-R", "qrels_prefs"], 4, "Can't calculate measure 'num_ret'"),
        (["-Z", "no-such-file"], 2, "cannot read no-such-file"),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str], code: int, message: str, command: Command, files: tuple[Path, Path]
) -> None:
    found, out, err = command(*arguments, *files)
    assert (found, out) == (code, "")
    assert err.startswith("trec_eval")
    assert message in err


def test_an_option_without_its_value(command: Command, files: tuple[Path, Path]) -> None:
    code, out, err = command(*files, "-m")
    assert (code, out) == (1, "")
    assert "requires argument" in err


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_files_are_needed(count: int, command: Command, files: tuple[Path, Path]) -> None:
    code, out, err = command(*(files * 2)[:count])
    assert (code, out) == (1, "")
    assert err.startswith("Usage: trec_eval")


# -- queries that only one of the files has ------------------------------------------------------------------------


def test_a_judged_query_without_results(command: Command, files: tuple[Path, Path]) -> None:
    """Version 10 stops at it, after the queries before it; version 9 averages over the others; -c counts it as 0."""
    short = command.results({"q1": RUN["q1"], "q3": RUN["q3"]}, "short")
    code, out, err = command("-q", "-m", "map", files[0], short)
    assert (code, out) == (4, "map                   \tq1\t1.0000\n")
    assert "'q2'" in err
    older = ["--version-like", "9", "-q", "-m", "map", "-m", "num_q"]
    assert command.values(*older, files[0], short) == {
        ("map", "q1"): "1.0000",
        ("map", "q3"): "1.0000",
        ("num_q", "all"): "2",
        ("map", "all"): "1.0000",
    }
    assert command.values("-c", *older, files[0], short)["map", "all"] == f"{2 / 3:6.4f}"
    assert ("map", "q2") not in command.values("-c", *older, files[0], short)
    now = command.values("-c", "-q", "-m", "all_trec", files[0], short)
    assert now["map", "q2"] == "0.0000"
    assert now["map", "all"] == f"{2 / 3:6.4f}"
    assert now["relstring", "q2"] == "''"
    assert [now[name, "q2"] for name in ("num_ret", "utility", "unj_5", "rbp_resid")] == ["0"] + ["0.0000"] * 3


@pytest.mark.parametrize("version", ["9", "10"])
def test_geometric_means_count_missing_queries_as_almost_0(version: str, command: Command) -> None:
    files = command.qrels({"q1": {"a": 1}, "q2": {"a": 1}}), command.results({"q1": {"a": 1.0}})
    values = command.values("-c", "--version-like", version, "-m", "gm_map", *files)
    assert values["gm_map", "all"] == f"{(1 * 0.00001) ** (1 / 2):6.4f}"


@pytest.mark.parametrize("version", ["9", "10"])
def test_all_judgments_above_0_are_counted_with_complete(version: str, command: Command) -> None:
    """As trec_eval has it: with -c the number of relevant documents does not look at -l."""
    files = (
        command.qrels({"q1": {"a": 1, "b": 2}, "q2": {"a": 1}}),
        command.results({"q1": {"a": 1.0}, "q2": {"a": 1.0}}),
    )
    arguments = ["--version-like", version, "-l2", "-m", "num_rel"]
    assert command.values(*arguments, *files)["num_rel", "all"] == "1"
    assert command.values("-c", *arguments, *files)["num_rel", "all"] == "3"


@pytest.mark.parametrize(("version", "code"), [("9", 7), ("10", 4)])
def test_no_query_in_both_files(version: str, code: int, command: Command, files: tuple[Path, Path]) -> None:
    found, out, err = command("--version-like", version, files[0], command.results({"q9": {"a": 1.0}}, "other"))
    assert (found, out) == (code, "")
    assert err.startswith("trec_eval:")


# -- documents twice ---------------------------------------------------------------------------------------------


def test_a_document_twice_in_the_results(command: Command, files: tuple[Path, Path]) -> None:
    lines = files[1].read_text() + "q2 Q0 b 9 0.5 tag\n"
    code, out, err = command("-q", "-m", "map", files[0], command.write("twice", lines))
    assert (code, out) == (4, "map                   \tq1\t1.0000\n")
    assert err == (
        "trec_eval.form_res_qrels: duplicate docs b in the results of query 'q2'\n"
        "trec_eval: Can't calculate measure 'map'\n"
    )


def test_a_document_twice_where_nobody_looks(command: Command, files: tuple[Path, Path]) -> None:
    """Deeper than -M, or in a query that is not judged."""
    lines = files[1].read_text() + "q2 Q0 a 9 0.5 tag\nq9 Q0 a 1 1 tag\n"
    twice = command.write("twice", lines)
    assert command(*files, "-M3") == command(files[0], twice, "-M3")
    assert command(files[0], twice, "-M4")[0] == 4
    assert command(files[0], twice, "-m", "num_q") == (0, "num_q                 \tall\t3\n", "")


def test_a_document_twice_in_the_judgments(command: Command, files: tuple[Path, Path]) -> None:
    twice = command.write("twice", files[0].read_text() + "q1 0 b 1\n")
    for results in (files[1], command.results({"q2": RUN["q2"]}, "without")):
        code, out, err = command("-c", twice, results)
        assert (code, out) == (4, "")
        assert "'q1'" in err
    code, out, err = command("-R", "qrels_jg", "-m", "map_avgjg", twice, files[1])
    assert (code, out) == (2, "")
    assert "duplicate docs b" in err
    assert "'q1'" in err


@pytest.mark.parametrize(
    "lines",
    [
        "q u s a 1\nq u s a 2\n",
        "q u s a 1\nq u s b 0\nq u t a 0\nq u t b 0\n",
        "q u s a 2\nq u s b 1\nq u t a 1\nq u t b 2\n",
    ],
)
def test_preferences_that_contradict_each_other(lines: str, command: Command) -> None:
    files = command.write("prefs", lines), command.results({"q": {"a": 1.0}})
    code, out, err = command("-R", "prefs", "-m", "prefs_simp", *files)
    assert (code, out) == (4, "")
    assert err.startswith("trec_eval")


# -- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b" ", b"\t"),
        lambda text: text.replace(b" ", b"  \t"),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b" \n "),
        lambda text: text.removesuffix(b"\n"),
        lambda text: b"# a comment\n# another\n" + text.replace(b"\nq2", b"\n#\nq2", 1),
        lambda text: b"".join(reversed(text.splitlines(keepends=True))),
    ],
)
def test_files_that_look_different(change: object, command: Command, files: tuple[Path, Path]) -> None:
    expected = command("-q", "-m", "all_trec", *files)
    for at, path in enumerate(files):
        changed = command.write("changed", change(path.read_bytes()))  # type: ignore[operator]
        pair = (changed, files[1]) if at == 0 else (files[0], changed)
        assert command("-q", "-m", "all_trec", *pair) == expected


def test_results_may_have_blank_lines_and_more_fields(command: Command, files: tuple[Path, Path]) -> None:
    more = files[1].read_text().replace("tag\n", "tag and more\n\n", 3)
    assert command(files[0], command.write("more", "\n" + more)) == command(*files)


def test_the_last_lines_run_id_is_printed(command: Command, files: tuple[Path, Path]) -> None:
    lines = files[1].read_text().removesuffix("tag\n") + "another\n"
    assert command.values("-m", "runid", files[0], command.write("run", lines)) == {("runid", "all"): "another"}


@pytest.mark.parametrize("text", ["-1.5e-3", ".5", "5.", "+5", "inf", "-inf", "1e400"])
def test_scores_that_are_numbers(text: str, command: Command) -> None:
    """The judged document stands above or below one of score 0."""
    results = command.write("results", f"q Q0 a 1 {text} t\nq Q0 b 2 0 t\n")
    rank = 1 if float(text) > 0 else 2
    values = command.values("-m", "recip_rank", command.qrels({"q": {"a": 1}}), results)
    assert values["recip_rank", "all"] == f"{1 / rank:6.4f}"


def test_grades_are_cut_to_whole_numbers(command: Command) -> None:
    qrels = command.write("qrels", "q 0 a 1.9\nq 0 b +2\nq 0 c 0.5\n")
    results = command.results({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    assert command.values("-q", "-m", "relstring", qrels, results)["relstring", "q"] == "'120'"


@pytest.mark.parametrize(
    ("qrels", "results", "message"),
    [
        ("q 0 a 1\nq 0 b\n", "q Q0 a 1 1 t\n", "qrels:2: expected 4 fields (qid iter docno rel), found 3"),
        ("q 0 a 1 5\n", "q Q0 a 1 1 t\n", "qrels:1: expected 4 fields (qid iter docno rel), found 5"),
        ("q 0 a 1\n\nq 0 b 1\n", "q Q0 a 1 1 t\n", "qrels:2: expected 4 fields (qid iter docno rel), found 0"),
        ("q 0 a yes\n", "q Q0 a 1 1 t\n", "qrels:1: rel 'yes' is not a number"),
        ("q 0 a 99999999999\n", "q Q0 a 1 1 t\n", "qrels:1: rel 99999999999 is too large"),
        ("q 0 a 1\n", "q Q0 a 1 1 t\nq Q0 b 1 1\n", "results:2: expected 6 fields"),
        ("q 0 a 1\n", " Q0 a 1 1 t\n", "results:1: expected 6 fields"),
        ("q 0 a 1\n", "q Q0 a 1 1 \n", "results:1: expected 6 fields"),
        ("q 0 a 1\n", "q Q0 a  1 t\n", "results:1: expected 6 fields"),
        ("q 0 a 1\n", "q Q0 a 1 1 t\nq Q0 b 1 one t\n", "results:2: sim 'one' is not a number"),
        ("q 0 a 1\n", "q Q0 a 1 nan t\n", "results:1: sim 'nan' is not a number"),
        ("q 0 a 1\n", "q Q0 a 1 1_0 t\n", "results:1: sim '1_0' is not a number"),
        ("", "q Q0 a 1 1 t\n", "qrels: it is empty"),
        ("q 0 a 1\n", "# nothing\n", "results: no line to read"),
    ],
)
def test_files_that_are_wrong(qrels: str, results: str, message: str, command: Command) -> None:
    code, out, err = command(command.write("qrels", qrels), command.write("results", results))
    assert (code, out) == (2, "")
    assert err.startswith("trec_eval: ")
    assert message in err


def test_a_file_that_is_not_there(command: Command, files: tuple[Path, Path]) -> None:
    code, out, err = command(files[0], "no-such-file")
    assert (code, out) == (2, "")
    assert err == "trec_eval: cannot read no-such-file: No such file or directory\n"


def test_version_9_knows_no_comments(command: Command, files: tuple[Path, Path]) -> None:
    commented = command.write("commented", "# no comment\n" + files[0].read_text())
    assert command("--version-like", "9", commented, files[1])[0] == 2


def test_bytes_that_are_no_text(command: Command) -> None:
    """Names come out as they went in, and compare by their bytes: 255 goes before z."""
    qrels = command.write("qrels", b"caf\xe9 0 \xff 1\ncaf\xe9 0 z 0\n")
    results = command.write("results", b"caf\xe9 Q0 \xff 1 1 r\xfcn\ncaf\xe9 Q0 z 1 1 r\xfcn\n")
    arguments = [sys.executable, "-m", "rankstone.trec_eval", "-q", *asked("runid", "recip_rank"), qrels, results]
    done = subprocess.run(arguments, capture_output=True, check=True)
    assert done.stdout.splitlines() == [
        b"recip_rank            \tcaf\xe9\t1.0000",
        b"runid                 \tall\tr\xfcn",
        b"recip_rank            \tall\t1.0000",
    ]


def test_results_from_standard_input(
    command: Command, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = command(*files)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(files[1].read_bytes())))
    assert command(files[0], "-") == expected


def test_compressed_files(command: Command, files: tuple[Path, Path]) -> None:
    compressed = [command.write(f"{path.name}.gz", gzip.compress(path.read_bytes())) for path in files]
    assert command("-q", "-m", "all_trec", *compressed) == command("-q", "-m", "all_trec", *files)


def test_as_a_command_of_its_own(command: Command, files: tuple[Path, Path]) -> None:
    arguments = [sys.executable, "-W", "error", "-m", "rankstone.trec_eval", *files]
    done = subprocess.run(arguments, capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == command(*files)[1:]
    failed = subprocess.run([*arguments, "-x"], capture_output=True, check=False, text=True)
    assert failed.returncode == 1


def test_a_reader_who_has_read_enough(command: Command) -> None:
    truth = {f"q{at}": {"a": 1} for at in range(3000)}
    files = command.qrels(truth), command.results({query: {"a": 1.0} for query in truth})
    arguments = [sys.executable, "-m", "rankstone.trec_eval", "-q", *map(str, files)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("qrels", "results"),
    [
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 0.25 tag\n"),
        ("q1 0 a +1.5\n", "q1 Q0 a 1 inf tag\n"),  # numbers that are read one by one
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5 tag\nq1 Q0 a 2 0.25 tag\n"),  # a document twice
        ("q1 0 a 1\nq1 0 a 0\n", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a one\n", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5\n"),
        ("q1 0 a 1\n", ""),
        ("", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a 1\n", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("option", ["-q", "-mutility.1", "-mP.5,5"])
def test_both_entry_points_print_the_same(
    qrels: str | None, results: str | None, option: str, command: Command
) -> None:
    files = [command.folder / name for name in ("qrels", "results")]
    for path, text in zip(files, (qrels, results), strict=True):
        if text is not None:
            path.write_text(text)

    def ran(*module: str) -> tuple[int, str, str]:
        words = [sys.executable, "-m", *module, option, *map(str, files)]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert ran("rankstone", "trec_eval") == ran("rankstone.trec_eval")
