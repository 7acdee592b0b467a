"""What a person sees in a terminal: colours, hints, help."""

import pytest

from rankstone.cli.commands import COMMANDS, main

TRUTH = "".join(f"q{number} 0 a 1\n" for number in range(20))


def run_of(item):
    return "".join(f"q{number} Q0 {item} 1 2 x\nq{number} Q0 a 2 1 x\n" for number in range(20))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.qrels").write_text(TRUTH)
    (tmp_path / "old.run").write_text(run_of("b"))
    (tmp_path / "new.run").write_text(run_of("a").replace("a 2 1", "b 2 1"))
    return "compare", "t.qrels", "old.run", "new.run", "-m", "rr"


def test_verdicts_are_coloured_in_a_terminal(files, capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(files) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain  # no terminal
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(files) == 0
    coloured = capsys.readouterr().out
    assert coloured.count("\x1b[32mbetter\x1b[0m") == 1  # the verdict, not the column of that name
    for words, environment in ((["--no-color"], ""), ([], "1")):
        monkeypatch.setenv("NO_COLOR", environment)
        assert main([*files, *words]) == 0
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["evaluate", "old.run", "t.qrels"], "this looks like a TREC run; the truth comes first"),
        (["evaluate", "t.qrels", "t.qrels"], "this looks like TREC qrels; the truth comes first"),
        (["evalute"], "did you mean 'evaluate'?"),
    ],
)
def test_hints(files, capsys, words, hint):
    assert main(words) in (1, 2)
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.describe is not None])
def test_help_has_an_example_and_readable_words(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([*name.split(), "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert f"Example: rankstone {name.split()[0]}" in " ".join(text.split())
    for letter in "MFPXDW":
        assert f" {letter} " not in text.replace("\n", " "), f"a metavar of one letter: {letter}"
