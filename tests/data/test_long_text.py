"""Long text that is not what it seems to be takes no longer than its length: nothing is read again and again."""

from collections.abc import Callable
from pathlib import Path

import pytest

import rankstone as rs
from rankstone.data.files import read_run, read_truth
from rankstone.errors import FileError
from rankstone.explain.identify import parse_reported
from rankstone.metrics.registry import parse
from rankstone.trec_eval.ranked_lists import read_judgments, read_results
from tests.effort import cpu_limit

SIZE = 1_000_000  # letters: once through them takes milliseconds, a million times hours
SECONDS = 60

NUMBERS: dict[str, Callable[[int], str]] = {
    "digits": lambda size: "1" * size + "x",
    "a point": lambda size: "1." + "1" * size + "x",
    "an exponent": lambda size: "1e" + "1" * size + "x",
    "signs": lambda size: "+" * size,
}
FILES = {
    "trec": (read_run, "q Q0 a 1 {} t\n"),
    "qrels": (read_truth, "q 0 a {}\n"),
    "csv": (read_run, "query,item,score\nq,a,{}\n"),
    "jsonl": (read_run, '{{"query": "q", "item": "a", "score": 1}}\n{{"query": "q", "item": "b", "score": {}}}\n'),
    "letor": (read_truth, "{} qid:1 1:0.5\n"),
}
METRICS: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: "ndcg" + " " * size + "!",
    "brackets": lambda size: "ndcg(" + ")@x" * size + "}",
    "letters": lambda size: "n" * size + "!",
    "spaces at a cutoff": lambda size: "ndcg@" + " " * size + "{",
}
REPORTED: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: "ndcg@10" + " " * size + "x",
    "digits": lambda size: "ndcg@10 = " + "1" * size + "x",
    "signs": lambda size: "ndcg@10" + "= " * size + "x",
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("form", FILES)
def test_a_number_that_is_none(form: str, number: str, tmp_path: Path) -> None:
    reader, line = FILES[form]
    path = tmp_path / f"file.{form}"

    path.write_text(line.format(NUMBERS[number](SIZE)))
    with pytest.raises(FileError), cpu_limit(SECONDS):
        reader(path, format="trec" if form == "qrels" else form)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("read", "line"), [(read_judgments, "q 0 a {}\n"), (read_results, "q Q0 a 1 {} t\n")])
def test_a_number_that_is_none_for_trec_eval(
    read: Callable[..., object], line: str, number: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(line.format(NUMBERS[number](SIZE)))
    with pytest.raises(match="is not a number"), cpu_limit(SECONDS):
        read(str(path), comments=False)


def test_more_digits_than_python_reads(tmp_path: Path) -> None:
    path = tmp_path / "file.qrels"
    path.write_text(f"q 0 a {'9' * 5_000}\n")
    with pytest.raises(FileError, match=r"rel 9+ is too large"):
        read_judgments(str(path), comments=False)
    with pytest.raises(FileError, match="too large"):
        read_truth(path, format="trec")


@pytest.mark.parametrize("text", METRICS)
def test_a_metric_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read metric"), cpu_limit(SECONDS):
        parse(METRICS[text](SIZE))


@pytest.mark.parametrize("text", REPORTED)
def test_a_reported_value_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read"), cpu_limit(SECONDS):
        parse_reported(REPORTED[text](SIZE))


@pytest.mark.parametrize(
    "text", ["ndcg@10 = 0.47", "ndcg@10:0.47", " ndcg@10  0.47 ", "ndcg@10 =\t47%", "ndcg@10 : 47 % "]
)
def test_how_a_reported_value_is_written(text: str) -> None:
    metric, value = parse_reported(text)
    assert (metric, value) == (rs.metrics.ndcg @ 10, "47%" if "%" in text else "0.47")
