"""Gates that are asked often: the ledger, spending of the level, looks at any time, and windows of served lists."""

import json
import math

import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.compare.ledger import SPENDINGS

truth, runs, *_ = rs.example()
GATE = [{"metric": "ndcg@10", "not_worse_than": 0.02}]


@pytest.fixture
def gates(tmp_path):
    rs.write_truth(truth, tmp_path / "truth.qrels")
    rs.evaluate(truth, runs["popular"], "ndcg@10").write(tmp_path / "main.json")
    for name in ("neighbours", "hybrid"):
        rs.write_run(runs[name], tmp_path / f"{name}.run")
    text = 'truth = "truth.qrels"\nbaseline = "main.json"\ncandidate = "hybrid.run"\nledger = true\n'
    (tmp_path / "gates.toml").write_text(text + '[[gate]]\nmetric = "ndcg@10"\nnot_worse_than = 0.02\n')
    return tmp_path


def test_it_counts(gates):
    first = rs.check(gates / "gates.toml")
    assert (first.ledger.uses, first.ledger.candidates, first.ledger.number) == (1, 1, 1)
    again = rs.check(gates / "gates.toml")
    assert (again.ledger.uses, again.ledger.candidates) == (2, 1)
    other = rs.check(gates / "gates.toml", candidate=gates / "neighbours.run")
    assert (other.ledger.uses, other.ledger.candidates, other.ledger.number) == (3, 2, 2)
    assert other.ledger.chance == pytest.approx(1 - 0.95**2)
    line = (
        "this truth was used 3 times by 2 candidates, this one at 95 %: the chance that one of them passed though it "
        "should not have is about 10 %; spending = 'harmonic' bounds it"
    )
    assert line in " ".join(str(other).split())
    rows = [json.loads(line) for line in (gates / "main.json.ledger.jsonl").read_text().splitlines()]
    assert [row["verdict"] for row in rows] == [first.verdict, again.verdict, other.verdict]
    assert rs.check(gates / "gates.toml").ledger.number == 1  # it was the first, and still is


def test_another_truth_starts_anew(gates):
    rs.check(gates / "gates.toml")
    fewer = {user: truth[user] for user in list(truth)[:50]}
    options = {"truth": fewer, "baseline": {user: runs["popular"][user] for user in fewer}, "candidate": runs["hybrid"]}
    check = rs.check({**options, "gate": GATE}, ledger=gates / "main.json.ledger.jsonl")
    assert (check.ledger.uses, check.ledger.candidates) == (1, 1)


def test_spending(gates):
    for number, name in enumerate(("hybrid", "neighbours"), 1):
        check = rs.check(gates / "gates.toml", candidate=gates / f"{name}.run", spending="harmonic")
        level = 0.05 * 6 / (math.pi * number) ** 2
        assert check.ledger.level == pytest.approx(level)
        assert check.confidence == pytest.approx(1 - level)
        of = check.comparison["candidate", "ndcg@10"]
        assert check[0].low == pytest.approx(of.bounds_at(1 - level)[0])


@pytest.mark.parametrize("name", SPENDINGS)
def test_levels_add_up(name):
    """To the whole level at most, whatever the number of candidates; but for none."""
    rule = SPENDINGS[name]
    planned = 20 if rule.planned else 0
    levels = [rule.level(0.05, number, planned) for number in range(1, 21 if planned else 2000)]
    assert all(level >= 0 for level in levels)
    if name == "none":
        assert set(levels) == {0.05}
    else:
        assert sum(levels) == pytest.approx(0.05, rel=1e-3)
    assert rule.words


def test_lan_and_demets_by_hand():
    pocock = SPENDINGS["pocock"].level
    assert pocock(0.05, 2, 4) == pytest.approx(0.05 * (math.log(1 + (math.e - 1) / 2) - math.log(1 + (math.e - 1) / 4)))
    # A half of the candidates spend 2 (1 - Phi(1.96 / sqrt(1/2))) = 0.00557.
    assert sum(SPENDINGS["obrien_fleming"].level(0.05, at, 10) for at in range(1, 6)) == pytest.approx(
        0.005575, abs=1e-6
    )


def test_it_is_spent(gates):
    options = {"spending": "bonferroni", "candidates": 1}
    assert rs.check(gates / "gates.toml", **options).ledger.level == pytest.approx(0.05)
    with pytest.raises(rs.errors.GatesError, match="1 candidates have spent the whole level"):
        rs.check(gates / "gates.toml", candidate=gates / "neighbours.run", **options)


def test_errors(gates):
    both = {"truth": truth, "baseline": runs["popular"], "candidate": runs["hybrid"], "gate": GATE}
    with pytest.raises(rs.errors.GatesError, match="spending = 'pocock' needs the number of planned candidates"):
        rs.check(gates / "gates.toml", spending="pocock")
    with pytest.raises(rs.errors.GatesError, match="spending = 'all'; choose from none, harmonic"):
        rs.check(gates / "gates.toml", spending="all")
    with pytest.raises(rs.errors.GatesError, match="ledger = true is a file next to the baseline's, which is none"):
        rs.check({**both, "ledger": True})
    with pytest.raises(rs.errors.GatesError, match="spending goes with ledger"):
        rs.check(both, spending="harmonic")
    (gates / "main.json.ledger.jsonl").write_text("nonsense\n")
    with pytest.raises(rs.errors.GatesError, match=r"ledger.jsonl:1: is no entry of a ledger"):
        rs.check(gates / "gates.toml")


def test_without_a_ledger_nothing_is_written(gates):
    before = sorted(gates.iterdir())
    check = rs.check({"truth": truth, "baseline": str(gates / "main.json"), "candidate": runs["hybrid"], "gate": GATE})
    assert check.ledger is None
    assert sorted(gates.iterdir()) == before


def test_the_command(gates, capsys, monkeypatch):
    monkeypatch.chdir(gates)
    assert main(["check", "gates.toml", "--ledger", "other.jsonl", "--anytime", "--json", "watched.json"]) == 0
    assert (
        json.loads((gates / "watched.json").read_text())["gates"][0]["low"]
        < rs.check("gates.toml", ledger=False)[0].low
    )
    capsys.readouterr()
    assert main(["check", "gates.toml", "--ledger", "own.jsonl", "--spending", "geometric"]) == 0
    assert "this truth was used 1 time by 1 candidate, this one at 97.5 %" in " ".join(capsys.readouterr().out.split())


def test_anytime(gates):
    """Intervals for every look are wider, and a gate says the same by its bounds and by its verdict."""
    fixed, watched = (rs.check(gates / "gates.toml", ledger=False, anytime=when) for when in (False, 60))
    assert watched[0].low < fixed[0].low
    of = watched.comparison["candidate", "ndcg@10"]
    assert (watched[0].verdict == "passed") == (of.above(-0.02) <= 0.05) == (watched[0].low >= -0.02)


# -- windows -------------------------------------------------------------------------------------------------


def window(**options):
    online = rs.Online("hit_rate@1", by="variant", **options)
    for number in range(400):
        variant = "AB"[number % 2]
        online.log_impression(number, ["a", "b"], time=number, variant=variant)
        if number % 10 < (6 if variant == "A" else 8):
            online.log_feedback(number, "a", time=number)
    return online.compute()


def test_a_gate_on_a_window():
    found = window()
    gates = {
        "gate": [
            {"metric": "hit_rate@1", "at_least": 0.6},
            {"metric": "hit_rate@1", "at_most": 0.5, "severity": "warn"},
        ]
    }
    check = rs.check(gates, candidate=found)
    assert [outcome.verdict for outcome in check] == ["passed", "failed"]
    assert check.passed
    assert check[0].candidate == found["hit_rate@1"].mean
    assert (check[0].low, check[0].high) == found["hit_rate@1"][1:3]
    assert "hit_rate@1" in check.to_junit()
    with pytest.raises(rs.errors.GatesError, match="there is no baseline"):
        rs.check({"gate": [{"metric": "hit_rate@1", "not_worse_than": 0.1}]}, candidate=found)
    with pytest.raises(rs.errors.GatesError, match="the window has no rr; it has hit_rate@1"):
        rs.check({"gate": [{"metric": "rr", "at_least": 0.1}]}, candidate=found)


@pytest.mark.parametrize("options", [{}, {"anytime": True}])
def test_a_gate_on_two_variants(options):
    ab = window(**options).compare("A", "B")
    check = rs.check({"gate": [{"metric": "hit_rate@1", "not_worse_than": 0.02}]}, candidate=ab)
    fit = ab.fit("hit_rate@1")
    assert check[0].difference == pytest.approx(ab["hit_rate@1"].difference)
    assert (check[0].verdict == "passed") == (float(fit.above(-0.02)) <= 0.05)
    assert check[0].low == pytest.approx(float(fit.bounds(0.95)[0]))
    assert (check[0].verdict == "passed") == (check[0].low >= -0.02)
    back = rs.check({"gate": [{"metric": "hit_rate@1", "not_worse_than": 0.02}]}, candidate=window().compare("B", "A"))
    assert back.verdict == "failed"
    with pytest.raises(rs.errors.GatesError, match="is about queries that both sides have"):
        rs.check({"gate": [{"metric": "hit_rate@1", "lost_queries": 1}]}, candidate=ab)
