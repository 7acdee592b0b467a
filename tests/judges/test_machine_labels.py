"""Machine labels of all queries with human ones of some: estimates, coverage, what is refused."""

import csv
import json

import numpy as np
import pytest

import rankstone as rs
from rankstone.cli.commands import main

GRADES = 4


def made_up(queries, seed=0, correct=0.7):
    """Runs of different quality, human labels and a machine's through a confusion matrix; all for some queries."""
    rng = np.random.default_rng(seed)
    human, machine, runs = {}, {}, {"old": {}, "new": {}}
    for at in range(queries):
        query, hard = f"q{at}", rng.beta(0.6, 1.2)
        grades = np.minimum(rng.geometric(0.35 + 0.6 * hard, 30) - 1, GRADES - 1)
        noise = np.clip(grades + rng.choice([-1, 1, 2], 30, p=[0.3, 0.5, 0.2]), 0, GRADES - 1)
        items = [f"d{item}" for item in range(30)]
        human[query] = dict(zip(items, grades.tolist(), strict=True))
        machine[query] = dict(zip(items, np.where(rng.random(30) < correct, grades, noise).tolist(), strict=True))
        for name, spread in (("old", 3.0), ("new", 2.2)):
            order = np.argsort(-(grades + rng.normal(0, spread, 30)))
            runs[name][query] = [items[item] for item in order]
    return human, machine, runs


HUMAN, MACHINE, RUNS = made_up(400)
PART = [f"q{at}" for at in np.random.default_rng(1).choice(400, 60, replace=False)]
SOME = {query: HUMAN[query] for query in PART}


def values(labels, run, metric, queries):
    result = rs.evaluate({query: labels[query] for query in queries}, RUNS[run], metric)
    return result.per_query[metric]


def test_the_estimate_is_the_formula():
    result = rs.evaluate(SOME, RUNS["old"], "ndcg@10", machine=MACHINE)
    estimate = result.estimates["ndcg@10"]
    others = [query for query in MACHINE if query not in SOME]
    human, same, rest = (
        values(labels, "old", "ndcg@10", queries)
        for labels, queries in ((HUMAN, PART), (MACHINE, PART), (MACHINE, others))
    )
    every = np.concatenate((same, rest))
    weight = min(np.cov(human, same)[0, 1] / ((1 + 60 / 340) * every.var(ddof=1)), 1)
    assert estimate.weight == pytest.approx(weight)
    assert result["ndcg@10"] == pytest.approx(weight * rest.mean() + (human - weight * same).mean())
    assert estimate.human == pytest.approx(human.mean())
    assert estimate.machine == pytest.approx(every.mean())
    assert estimate.bias == pytest.approx(every.mean() - result["ndcg@10"])
    assert estimate.effective == pytest.approx(60 * (human.var(ddof=1) / 60) / estimate.error**2)
    assert result.interval("ndcg@10", 0.95)[:2] == (estimate.low, estimate.high)
    wider = result.interval("ndcg@10", 0.99)
    assert wider.low < estimate.low < estimate.high < wider.high
    assert list(result.queries) == PART


def test_paired_differences():
    comparison = rs.compare(SOME, RUNS, "ndcg@10", machine=MACHINE)
    difference = comparison["new", "ndcg@10"]
    human = values(HUMAN, "new", "ndcg@10", PART) - values(HUMAN, "old", "ndcg@10", PART)
    others = [query for query in MACHINE if query not in SOME]
    same, rest = (
        values(MACHINE, "new", "ndcg@10", queries) - values(MACHINE, "old", "ndcg@10", queries)
        for queries in (PART, others)
    )
    expected = rs.statistics.prediction_powered(human, same, rest, method="t")
    assert difference.machine == expected
    assert difference.difference == pytest.approx(expected.value)
    assert (difference.low, difference.high) == pytest.approx((expected.low, expected.high))
    alone = rs.compare(SOME, RUNS, "ndcg@10")["new", "ndcg@10"]
    assert difference.high - difference.low < alone.high - alone.low
    assert f"as precise as {expected.effective:,.0f} human queries instead of 60" in repr(comparison)
    assert f"by machine labels alone {expected.machine:+.4f}, off by {expected.bias:+.4f}" in repr(comparison).replace(
        "\n ", ""
    )
    assert comparison.to_dict()["differences"][0]["machine"]["weight"] == expected.weight
    assert "Leaderboard" not in comparison.report()


def test_several_runs_are_adjusted():
    runs = {**RUNS, "newer": {query: list(reversed(items)) for query, items in RUNS["old"].items()}}
    comparison = rs.compare(SOME, runs, "ndcg@10", machine=MACHINE)
    assert "Holm over 3 comparisons" in repr(comparison)
    assert all(of.adjusted >= of.p for of in comparison)


def test_a_machine_without_relation_is_not_used():
    rng = np.random.default_rng(5)
    noise = {query: {item: int(rng.integers(GRADES)) for item in items} for query, items in HUMAN.items()}
    flipped = {query: {item: GRADES - 1 - grade for item, grade in items.items()} for query, items in HUMAN.items()}
    for labels in (noise, flipped):
        estimate = rs.evaluate(SOME, RUNS["old"], "ndcg@10", machine=labels, drawn_at_random=True).estimates["ndcg@10"]
        alone = rs.statistics.hall_interval(values(HUMAN, "old", "ndcg@10", PART))
        assert estimate.high - estimate.low <= 1.0001 * (alone.high - alone.low)
    assert estimate.weight == 0
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((alone.mean, alone.low, alone.high))


FIRST = {f"q{at}": HUMAN[f"q{at}"] for at in range(60)}
EASY = sorted(HUMAN, key=lambda query: -sum(MACHINE[query].values()))
BIASED = {query: HUMAN[query] for query in EASY[:100] if query != EASY[3]} | {EASY[-1]: HUMAN[EASY[-1]]}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rs.evaluate({query: HUMAN[query] for query in PART[:9]}, RUNS["old"], machine=MACHINE),
            "9 queries with",
        ),
        (lambda: rs.evaluate(FIRST, RUNS["old"], machine=MACHINE), "those of the first 60 of 400 queries"),
        (lambda: rs.evaluate(BIASED, RUNS["old"], "dcg@10", machine=MACHINE), "too much for a random part"),
        (lambda: rs.compare(FIRST, RUNS, "rr", machine=MACHINE), "drawn_at_random=True"),
        (lambda: rs.evaluate(HUMAN, RUNS["old"], machine=MACHINE), "all queries have human labels"),
        (lambda: rs.evaluate(HUMAN, RUNS["old"], machine=SOME), r"machine= lacks 340 of the queries"),
        (lambda: rs.evaluate(SOME, RUNS["old"], "recall", averaging="micro", machine=MACHINE), "no plain mean"),
        (lambda: rs.evaluate(SOME, RUNS["old"], machine=MACHINE, weights=[1] * 60), "weights= does not go with"),
        (lambda: rs.evaluate(SOME, RUNS["old"], machine=MACHINE, bounds=True), "bounds= does not go with"),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE, test="randomization"), "does not support machine="),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE, correction="tukey"), "does not support machine="),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE, clusters=["a"] * 60), "clusters= does not go with"),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE, population=900), "population=900 does not go with"),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE, weights=[1] * 60), "weights= does not go with"),
        (lambda: rs.compare(SOME, RUNS, "rr", machine=MACHINE).leaderboard(), "a leaderboard does not go with"),
        (lambda: rs.compare({"a": 1}, metrics="rr", machine=MACHINE), "machine= goes with a truth and runs"),
        (lambda: rs.evaluate(SOME, RUNS["old"], "rr", machine=MACHINE).interval("rr", method="bca"), "method= and"),
        (lambda: rs.statistics.prediction_powered([1, 2], [1, 2], [1]), "2 human values"),
        (lambda: rs.statistics.prediction_powered([1, 2, 3], [1, 2, 3], [1], method="x"), "method='x' is not one of"),
    ],
)
def test_what_breaks_the_method_is_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_a_part_can_be_vouched_for():
    for part in (FIRST, BIASED):
        assert rs.evaluate(part, RUNS["old"], "dcg@10", machine=MACHINE, drawn_at_random=True).estimates


def test_a_value_that_is_missing_is_refused():
    part = {**SOME, PART[0]: {"d0": 0}}
    with pytest.raises(ValueError, match="some queries have no value"):
        rs.evaluate(part, RUNS["old"], "recall", machine=MACHINE, no_relevant="skip")


def write(path, labels, kind):
    getattr(rs, f"write_{kind}")(labels, path)
    return str(path)


def test_command_line(tmp_path, capsys):
    human, machine = (write(tmp_path / f"{name}.qrels", labels, "truth") for name, labels in
                      (("human", SOME), ("machine", MACHINE)))  # fmt: skip
    runs = [write(tmp_path / f"{name}.run", run, "run") for name, run in RUNS.items()]
    assert main(["evaluate", human, runs[0], "-m", "ndcg@10", "--machine", machine]) == 0
    expected = rs.evaluate(SOME, RUNS["old"], "ndcg@10", machine=MACHINE)
    assert f"{expected['ndcg@10']:.4f}" in capsys.readouterr().out
    out = tmp_path / "out.csv"
    assert main(["compare", human, *runs, "-m", "ndcg@10", "--machine", machine, "-o", str(out)]) == 0
    row = next(csv.DictReader(out.read_text().splitlines()))
    assert float(row["difference"]) == pytest.approx(
        rs.compare(SOME, RUNS, "ndcg@10", machine=MACHINE)["new", "ndcg@10"].difference
    )
    assert main(["evaluate", human, runs[0], "--machine", machine, "--by", "x"]) == 2
    assert main(["evaluate", write(tmp_path / "first.qrels", FIRST, "truth"), runs[0], "--machine", machine]) == 2
    assert "vouch for it: --drawn-at-random" in capsys.readouterr().err
    out = tmp_path / "out.json"
    assert main(["evaluate", human, runs[0], "-m", "rr", "--machine", machine, "-o", str(out)]) == 0
    assert json.loads(out.read_text())["estimates"]["rr"]["humans"] == 60


# -- simulations -------------------------------------------------------------------------------------------------


@pytest.mark.simulation
@pytest.mark.parametrize("n", [30, 50, 100, 200])
@pytest.mark.parametrize("metric", ["ndcg@10", "ap", "precision@10", "ndcg@10, difference", "ap, difference"])
def test_coverage_and_width(metric, n):
    """2,000 repetitions: queries are drawn from a large population, labels go through a confusion matrix."""
    human, machine, runs = made_up(3000, seed=7)
    metric, _, difference = metric.partition(", ")
    tables = [
        {name: rs.evaluate(labels, run, metric).per_query[metric] for name, run in runs.items()}
        for labels in (human, machine)
    ]
    truths, labels = (table["new"] - (table["old"] if difference else 0.0) for table in tables)
    rng, covered, method = np.random.default_rng(n), 0, "t" if difference else "hall"
    for _ in range(2000):
        part, rest = rng.integers(0, len(truths), n), rng.integers(0, len(truths), 10 * n)
        sample = truths[part], labels[part], labels[rest]
        estimate = rs.statistics.prediction_powered(*sample, method=method)
        alone = rs.statistics.prediction_powered(*sample, weight=0, method=method)
        covered += estimate.low <= truths.mean() <= estimate.high
        assert estimate.high - estimate.low <= 1.05 * (alone.high - alone.low)
    assert 0.935 <= covered / 2000 <= 0.965


@pytest.mark.simulation
def test_width_at_a_correlation_of_three_fifths():
    rng, ratios = np.random.default_rng(0), []
    for _ in range(500):
        human, noise = rng.normal(size=(2, 550))
        machine = 0.6 * human + 0.8 * noise
        sample = human[:50], machine[:50], machine[50:]
        estimate, alone = (rs.statistics.prediction_powered(*sample, weight=weight) for weight in (None, 0))
        ratios.append((estimate.high - estimate.low) / (alone.high - alone.low))
    assert np.mean(ratios) <= 0.85
