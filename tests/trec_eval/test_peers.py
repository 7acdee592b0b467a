"""Against pytrec_eval, which wraps trec_eval 9: every measure it has, bit for bit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankstone.trec_eval.command import evaluate, read_options
from rankstone.trec_eval.measures import MEASURES, NICKNAMES

from .conftest import Command, asked

pytestmark = pytest.mark.peers
pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

NOT_NUMBERS = {"runid", "relstring", "num_q"}
PARAMETERS: list[list[str]] = [
    [],
    ["P.3,7", "iprec_at_recall.0.15,0.33,0.77,1.0", "Rprec_mult.0.3,1.7", "11pt_avg.0.8,0.2,0.5", "set_F.0.5"],
    ["ndcg.1=3,2=9,4=4.5", "ndcg_rel.1=3,2=9,4=4.5", "Rndcg.1=3,2=9,4=4.5", "G.1=3,2=9,4=4.5"],
    ["ndcg.1=0.5,2=0.7", "ndcg_rel.1=3.3,2=3.3", "Rndcg.0=1,2=-1", "G.1=2.5,3=1", "utility.1,-.5,.25,.1"],
    ["ndcg.-1=1.5", "ndcg_rel.3=1,p=2", "Rndcg.-2=0.3", "G.0=0.3", "11pt_avg.0.2,0.5,0.8,0.0"],
]


def _data(chance: random.Random) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run with ties, negative grades and scores, and queries that only one of them has."""
    size = chance.choice([1, 3, 8, 30, 120])
    grades = chance.choice([[0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 2, 3, 4], [-1, 0, 1], [0], [0, 4], [-1, 0, 2, 10]])
    score: Callable[[], float] = chance.choice(
        [
            lambda: float(chance.randint(0, 4)),
            lambda: chance.gauss(0, 1),
            lambda: -5 * chance.random(),
            lambda: 1 + chance.randint(0, 9) * 1e-9,  # the same as a float, not as a double
            lambda: 0.0,
        ]
    )
    items = [chance.choice(["d", "D", "é", "_", "z#"]) + str(i) for i in range(2 * size)]
    truth: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(chance.randint(2, 6)):
        query = chance.choice(["q", "Q", "1", "10"]) + f"{number}_{chance.randint(1, 3)}"
        if number == 0 or chance.random() < 0.9:
            truth[query] = {item: chance.choice(grades) for item in chance.sample(items, chance.randint(1, 2 * size))}
            truth[query].setdefault(items[0], 0)  # trec_eval 9 cannot do without any judgment from 0 up
            truth[query][items[0]] = max(truth[query][items[0]], 0)
        if number == 0 or chance.random() < 0.9:
            run[query] = {item: score() for item in chance.sample(items, chance.randint(1, size))}
    return truth, run


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _values(arguments: list[str]) -> dict[str, dict[str, Any]]:
    made = evaluate(read_options(["--version-like", "9", *arguments]))
    columns = [column for column in made.columns if column.values is not None]
    return {query.decode(): {one.name: one.values[at] for one in columns} for at, query in enumerate(made.queries)}


@pytest.mark.parametrize("seed", range(60))
def test_every_measure(seed: int, command: Command) -> None:
    from pytrec_eval_ext import RelevanceEvaluator  # takes parameters that its wrapper does not

    chance = random.Random(seed)
    truth, run = _data(chance)
    level, judged_only, given = chance.choice([1, 1, 2, 3]), chance.random() < 0.2, chance.choice(PARAMETERS)
    named = {one.partition(".")[0]: one for one in given}
    measures = [named.get(name, name) for name in sorted(pytrec_eval.supported_measures - NOT_NUMBERS)]
    theirs = RelevanceEvaluator(
        query_relevance=truth, measures=set(measures), relevance_level=level, judged_docs_only_flag=judged_only
    ).evaluate(run)
    arguments = [*asked(*measures), f"-l{level}", *["-J"] * judged_only]
    ours = _values([*arguments, str(command.qrels(truth)), str(command.results(run))])
    assert set(ours) == set(theirs)
    for query, values in theirs.items():
        assert len(values) == len(ours[query])
        for name, value in values.items():
            mine = ours[query][name if name in ours[query] else named[name].replace(".", "_", 1)]
            assert _same(float(mine), value), (query, name, value, mine)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("complete", [False, True])
def test_the_text(seed: int, complete: bool, command: Command) -> None:
    """Every line that version 9 prints, from pytrec_eval's numbers."""
    truth, run = _data(random.Random(1000 + seed))
    theirs = pytrec_eval.RelevanceEvaluator(truth, set(pytrec_eval.supported_measures)).evaluate(run)
    lines = []
    queries = sorted(theirs, key=str.encode)
    for query in queries:
        for name, value in _printed_order(theirs[query]):
            if not name.startswith("gm_"):
                lines.append(f"{name:<22}\t{query}\t{_shown(name, value)}\n")
    count = len(truth) if complete else len(queries)
    for name, _ in _printed_order(theirs[queries[0]]):
        total = 0.0
        for query in queries:
            total += theirs[query][name]
        if name.startswith("gm_"):
            total = math.exp((total + (count - len(queries)) * math.log(0.00001)) / count)
        elif not name.startswith("num_"):
            total /= count
        if complete and name == "num_rel":
            total = sum(grade > 0 for one in truth.values() for grade in one.values())
        lines.append(f"{name:<22}\tall\t{_shown(name, total)}\n")
    measures = asked(*(name for name in NICKNAMES["all_trec"] if name not in NOT_NUMBERS and MEASURES[name].since == 9))
    arguments = ["--version-like", "9", "-q", *["-c"] * complete, *measures]
    code, out, _ = command(*arguments, command.qrels(truth), command.results(run))
    assert code == 0
    assert out == "".join(lines)


def _printed_order(values: dict[str, float]) -> list[tuple[str, float]]:
    """In the order of the table; the values of one measure from the smallest parameter up."""

    def place(name: str) -> tuple[int, float]:
        if name in MEASURES:
            return list(MEASURES).index(name), 0.0
        base, _, parameter = name.rpartition("_")
        return list(MEASURES).index(base), float(parameter)

    return sorted(((n, v) for n, v in values.items() if n not in NOT_NUMBERS), key=lambda item: place(item[0]))


def _shown(name: str, value: float) -> str:
    return str(int(value)) if name.startswith("num_") else "  -nan" if math.isnan(value) else f"{value:6.4f}"


@pytest.mark.parametrize("depth", [1, 3, 10])
def test_depth(depth: int, command: Command) -> None:
    """-M is the same as leaving the other documents out."""
    truth, run = _data(random.Random(depth))
    short = {}
    for query, one in run.items():
        order = sorted(one, key=str.encode, reverse=True)
        order.sort(key=lambda item: -np.float32(one[item]))
        short[query] = {item: one[item] for item in order[:depth]}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"all_trec"}).evaluate(short)
    ours = _values(["-m", "all_trec", f"-M{depth}", str(command.qrels(truth)), str(command.results(run))])
    for query, values in theirs.items():
        for name in values.keys() - NOT_NUMBERS:
            assert _same(float(ours[query][name]), values[name]), (query, name)


@pytest.mark.parametrize(
    ("qrels", "results"),
    [
        ("cast2021/trec-cast-qrels-docs.2021.qrel", "cast2021/org_convdr.run"),
        ("cast2021/trec-cast-qrels-docs.2021.qrel", "cast2021/org_convdr_bert.run"),
        ("cast2021/trec-cast-qrels-docs.2021.qrel", "cast2021/org_manual_bm25.run"),
        ("dl19/2019qrels-pass.txt", "dl19/run.trec2019-bm25.res"),
    ],
)
@pytest.mark.parametrize("level", [1, 2])
def test_real_runs(qrels: str, results: str, level: int, shared: Callable[[str], Path]) -> None:
    judged, returned = shared(f"data/{qrels}"), shared(f"data/{results}")
    truth: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for line in judged.read_text().splitlines():
        query, _, item, grade = line.split()
        truth.setdefault(query, {})[item] = int(grade)
    for line in returned.read_text().splitlines():
        query, _, item, _, score = line.split()[:5]
        run.setdefault(query, {})[item] = float(score)
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"all_trec"}, relevance_level=level).evaluate(run)
    ours = _values(["-m", "all_trec", f"-l{level}", str(judged), str(returned)])
    assert set(ours) == set(theirs)
    for query, values in theirs.items():
        for name in values.keys() - NOT_NUMBERS:
            assert _same(float(ours[query][name]), values[name]), (query, name)


@pytest.mark.parametrize("distinct", [1, 3, 120])
def test_a_long_list_of_ties(distinct: int, command: Command) -> None:
    """12,000 documents, almost all of them with one of a few scores."""
    chance = random.Random(distinct)
    run = {"106_1": {f"clueweb-{at:05d}": float(chance.randint(1, distinct)) for at in range(12000)}}
    truth = {"106_1": {item: chance.randint(-1, 4) for item in chance.sample(sorted(run["106_1"]), 2000)}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"all_trec"}).evaluate(run)["106_1"]
    ours = _values(["-m", "all_trec", str(command.qrels(truth)), str(command.results(run))])["106_1"]
    for name in theirs.keys() - NOT_NUMBERS:
        assert _same(float(ours[name]), theirs[name]), name
