"""What to judge next: which items, when to stop, writing them and taking answers back."""

import json

import numpy as np
import pytest

import rankstone as rs
from rankstone.cli.commands import main

RUNS = {"old": {"q1": ["a", "b"], "q2": ["d", "e"]}, "new": {"q1": ["a", "c"], "q2": ["d", "f"]}}


def made_up(queries, seed=0, gap=1.0):
    """Graded items, and two runs that find them; the second is better by the gap."""
    rng = np.random.default_rng(seed)
    truth, runs = {}, {"old": {}, "new": {}}
    for at in range(queries):
        grades = (rng.random(40) < 0.25).astype(int) * rng.integers(1, 4, 40)
        truth[f"q{at}"] = {f"d{item}": int(grade) for item, grade in enumerate(grades)}
        for name, spread in (("old", 2.0), ("new", 2.0 - gap)):
            order = np.argsort(-grades + rng.normal(0, spread, 40))
            runs[name][f"q{at}"] = [f"d{item}" for item in order[:20]]
    return truth, runs


def test_items_that_both_runs_have_at_one_rank_do_not_matter():
    items = {(row.query, row.item) for row in rs.judge_next({"q1": {"x": 0}}, RUNS, "precision@2").items}
    assert items == {("q1", "b"), ("q1", "c"), ("q2", "e"), ("q2", "f")}


def test_effects_are_those_of_the_metric():
    """A relevant item at rank 2 of one run of two queries adds half of half."""
    effects = {row.item: row.effect for row in rs.judge_next(None, RUNS, "precision@2").items}
    assert effects == pytest.approx({"b": -1 / 4, "e": -1 / 4, "c": 1 / 4, "f": 1 / 4})


def test_judged_items_are_left_out():
    truth = {"q1": {"b": 1, "c": 0}}
    assert {row.item for row in rs.judge_next(truth, RUNS, "precision@2").items} == {"e", "f"}


def test_it_stops_where_nothing_is_open():
    truth = {"q1": {"b": 1, "c": 0}, "q2": {"e": 0, "f": 1}}
    following = rs.judge_next(truth, RUNS, "precision@2")
    assert (following.stop, following.open, following.items) == (True, 0, [])  # what both have first is not judged
    assert following.reason == "stop: the verdict cannot change any more"


@pytest.mark.parametrize(("gap", "expected"), [(1.5, "better"), (-3.0, "worse")])
def test_it_stops_early_with_the_verdict_of_all(gap, expected):
    truth, runs = made_up(40, gap=gap)
    judged, number = {}, 0
    for _ in range(60):
        following = rs.judge_next(judged or None, runs, "ndcg@10", 20, baseline="old")
        if following.stop:
            break
        for row in following.items:
            judged.setdefault(row.query, {})[row.item] = truth[row.query][row.item]
            number += 1
    assert following.forecasts[0].verdict == expected == rs.compare(truth, runs, "ndcg@10")["new", "ndcg@10"].verdict
    assert 0 < number < 0.5 * len(rs.pool(runs, 10))


def test_a_machine_separates_relevant_items():
    truth, runs = made_up(30)
    some = {query: dict(list(items.items())[:20]) for query, items in truth.items()}
    chances = {}
    for name, machine in (("without", None), ("with", truth)):
        rows = rs.judge_next(some, runs, "ndcg@10", 300, machine=machine).items
        relevant = [row.chance for row in rows if truth[row.query][row.item] > 0]
        others = [row.chance for row in rows if truth[row.query][row.item] == 0]
        chances[name] = np.mean(relevant) - np.mean(others)
    assert chances["with"] > chances["without"] + 0.2


def test_several_runs():
    truth, runs = made_up(10)
    runs["third"] = {query: items[::-1] for query, items in runs["old"].items()}
    assert len(rs.judge_next(truth, runs, "ndcg@10").forecasts) == 3
    against = rs.judge_next(truth, runs, "ndcg@10", baseline="third").forecasts
    assert [(row.baseline, row.run) for row in against] == [("third", "old"), ("third", "new")]


def test_answers_are_taken_back(tmp_path):
    following = rs.judge_next({"q1": {"b": 1}}, RUNS, "precision@2", 3)
    path = tmp_path / "to_judge.csv"
    following.write(path, "quepid")
    lines = path.read_text().splitlines()
    assert lines[0] == "query,docid,rating"
    assert all(line.endswith(",") for line in lines[1:])
    first = lines[1].split(",")
    path.write_text("\n".join([lines[0], f"{first[0]},{first[1]},2", *lines[2:]]))
    again = rs.judge_next({"q1": {"b": 1}}, RUNS, "precision@2", 3, answers=path)
    assert (first[0], first[1]) not in {(row.query, row.item) for row in again.items}
    assert len(again.truth.query) == 2
    for form, name in (("opensearch", "a.json"), ("trec", "a.qrels")):
        following.write(tmp_path / name, form)  # -1: no judgement
        assert len(rs.judge_next({"q1": {"b": 1}}, RUNS, "precision@2", answers=tmp_path / name).truth.query) == 1
    assert json.loads((tmp_path / "a.json").read_text())["type"] == "IMPORT_JUDGMENT"


def test_a_later_answer_wins():
    again = rs.judge_next({"q1": {"b": 1}}, RUNS, "precision@2", answers={"q1": {"b": 0, "c": -1}})
    assert (again.truth.item.to_pylist(), again.truth.grade.tolist()) == (["b"], [0])


def test_printed_and_plain():
    following = rs.judge_next(None, RUNS, "precision@2", 2)
    assert following.reason in repr(following)
    assert json.loads(json.dumps(following.to_dict()))["items"][0]["query"] in ("q1", "q2")
    assert len(following.to_pandas()) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rs.judge_next(None, {"a": RUNS["old"]}), "one run only, 'a'"),
        (lambda: rs.judge_next(None, {"a": RUNS["old"]}, baseline="a"), "one run only, 'a'"),
        (lambda: rs.judge_next(None, RUNS, baseline="x"), "baseline='x' is none of the runs"),
        (lambda: rs.judge_next(None, RUNS, n=0), "n=0 is not above 0"),
        (lambda: rs.judge_next(None, RUNS, error=0), "error=0 is not between 0 and 1"),
        (lambda: rs.judge_next(None, RUNS, "err@10"), "set max_grade="),
        (lambda: rs.judge_next(None, RUNS, "num_ret"), "no plain mean"),
        (lambda: rs.judge_next(None, RUNS, "ndcg@{5,10}"), "2 metrics"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_command_line(tmp_path, capsys):
    truth, runs = made_up(5)
    for name, run in runs.items():
        rs.write_run(run, tmp_path / f"{name}.run")
    rs.write_truth({"q0": {"d0": truth["q0"]["d0"]}}, tmp_path / "a.qrels")
    words = ["judge-next", str(tmp_path / "a.qrels"), str(tmp_path / "old.run"), str(tmp_path / "new.run"), "-n", "4"]
    out = tmp_path / "to_judge.csv"
    assert main([*words, "-o", str(out), "--to", "quepid"]) == 0
    assert "unjudged items could move the comparison" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 5
    assert main([*words, "--answers", str(out)]) == 0
    assert main(["judge-next", "none", *words[2:]]) == 0
