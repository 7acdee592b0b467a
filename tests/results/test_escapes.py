"""Names of runs, queries and groups are text in Markdown and LaTeX, whatever is in them."""

import re

import pytest

import rankstone as rs
from rankstone.results.answer import markdown

TRUTH = {at: {"a": 1} for at in range(30)}
GOOD, BAD = {at: ["a"] for at in TRUTH}, {at: ["b", "a"] if at % 3 else ["a"] for at in TRUTH}
NAMES = [
    "a\n# heading\n",
    "a\r\n\r\n| x | y |",
    "![pixel](https://example.org/p.png)",
    "[click](https://example.org)",
    "<img src=x onerror=alert(1)>",
    "<!-- hidden",
    "`code`",
    "**bold** _it_ ~~gone~~",
    "https://example.org/a_b",
    "www.example.org",
    "@octocat",
    "someone@example.org",
    "a\u2028b\x85c",
    "&lt;b&gt;",
    "\\",
]


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_no_live_names(name):
    compared = rs.compare(TRUTH, {"base": GOOD, name: BAD}, ["rr", "hit_rate@1"])
    text = compared.render("markdown")
    table, notes = text.split("\n\n")
    assert all(re.fullmatch(r"\|.*\|", line) for line in table.split("\n"))
    width = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.split("\n")}
    assert len(width) == 1
    for live in (r"(?<!\\)(?:\\\\)*[<`\[*~]", r"(?<!\\):(?=//)", r"www\.", r"(?<![a-z])@(?=[a-z])", r"e@e"):
        assert not re.search(live, text), live
    assert not re.search(r"^\s*#", notes, re.MULTILINE)
    assert "\n" not in markdown(name)
    assert "\u2028" not in text
    assert "hit_rate@1" in text


def test_notes_begin_no_list_or_heading():
    result = rs.evaluate(TRUTH, GOOD, "rr")._with_notes(["# x", "- x", "1. x", "> x", "plain - x"])
    notes = result.render("markdown").split("\n\n")[1].split("  \n")
    assert notes[-5:] == [r"\# x", r"\- x", r"1\. x", r"\> x", "plain - x"]


@pytest.mark.parametrize("name", ["[2mm] run", "* run", "*"])
def test_latex_names_are_no_arguments_of_the_row_before(name):
    text = rs.compare(TRUTH, {"base": GOOD, name: BAD, "c": BAD}, "rr", baseline="base").render("latex")
    assert name.replace("[", "{}[").replace("*", "{}*") in text
    assert not re.search(r"(?:\\\\|rule)\s*[\[*]", text)


LONE = "q\ud800"  # half of a surrogate pair


@pytest.mark.parametrize("ending", ["json", "csv", "tsv", "jsonl", "parquet", "trec", "html"])
def test_half_of_a_surrogate_pair_is_an_error_that_shows_it(ending, tmp_path):
    result = rs.evaluate({LONE: {"a": 1}}, {LONE: ["a"]}, "rr")
    with pytest.raises(rs.errors.DataError, match=r"\\ud800.* has half of a surrogate pair"):
        result.write(tmp_path / f"a.{ending}")
    fused = rs.fuse([{"q": [LONE]}, {"q": [LONE]}])
    if ending in ("csv", "jsonl", "parquet", "tsv"):
        with pytest.raises(rs.errors.DataError, match="surrogate"):
            fused.write(tmp_path / f"a.{ending}")
    assert not [*tmp_path.iterdir()]
