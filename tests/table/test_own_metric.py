"""A metric of a user's own, written outside of the package, works in every engine without another line.

Spark has its own in tests/spark.
"""

from typing import Annotated

import numpy as np
import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.metrics import registry

TRUTH = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"a": 1, "d": 3}}
RUN = {"q": {"c": 0.9, "a": 0.8, "x": 0.7, "b": 0.6}, "r": {"d": 0.5, "y": 0.4, "a": 0.3}}
LABELS = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 0.0, 3.0, 0.0]])
SCORES = np.array([[0.8, 0.6, 0.9, 0.7], [0.3, 0.4, 0.5, 0.2]])


@pytest.fixture
def halves(monkeypatch):
    """Gain that halves with each place, over that of the ideal list, above a threshold of its own."""
    for name in ("rows", "names"):
        monkeypatch.setattr(registry.metrics, name, dict(getattr(registry.metrics, name)))

    def halving(f, rank):
        return 0.5 ** (rank - 1)

    @rs.metric("halves", formula="sum of grade / 2^(rank - 1), over that of the ideal list")
    def halves(
        ranking: rs.authoring.Ranking,
        *,
        k: int | None = None,
        least: Annotated[float, rs.authoring.Parameter("grades below it earn nothing", at_least=0)] = 0.0,
    ) -> rs.authoring.Ratio:
        """Worth of a list to readers of whom half are gone at each place."""

        def earned(items):
            return items.discounted(items.where(items.grade >= least, items.grade, 0.0), halving, k)

        return rs.authoring.Ratio(earned(ranking), earned(ranking.ideal(k=k)))

    yield halves
    for forget in registry.on_declare:
        forget()


def worked_out(k=4, least=0):
    """By hand, for `TRUTH` and `RUN`."""
    lists = {"q": ([0, 2, 0, 1], [2, 1, 0]), "r": ([3, 0, 1], [3, 1])}

    def earned(grades):
        return sum(grade / 2**at for at, grade in enumerate(grades[:k]) if grade >= least)

    return [earned(run) / earned(best) for run, best in lists.values()]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_evaluate(halves, k):
    assert rs.evaluate(TRUTH, RUN, f"halves@{k}").per_query[f"halves@{k}"] == pytest.approx(worked_out(k))
    assert rs.evaluate(TRUTH, RUN, halves(least=2) @ k).per_query[halves(least=2) @ k] == pytest.approx(
        worked_out(k, 2)
    )
    with pytest.raises(ValueError, match="least must"):
        halves(least=-1)


def test_stream_and_accumulator(halves):
    mean = sum(worked_out()) / 2
    accumulator = rs.Accumulator("halves", keep=False)
    accumulator.update(TRUTH, RUN)
    assert accumulator.compute()["halves"] == pytest.approx(mean)
    stream = rs.Stream(TRUTH, ["halves"])
    batch = [(query, item, score) for query, items in RUN.items() for item, score in items.items()]
    batch = dict(zip(("query", "item", "score"), map(list, zip(*batch, strict=True)), strict=True))
    stream.first_pass(batch)
    stream.second_pass(batch)
    assert stream.compute()["halves"] == pytest.approx(mean)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays(halves, library):
    array = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy
    found = rs.arrays.halves(scores=array(SCORES), labels=array(LABELS), k=[1, 2, 4])
    assert pytest.approx(np.array([worked_out(k) for k in (1, 2, 4)])) == np.asarray(found).T


def test_duckdb(halves):
    pytest.importorskip("duckdb")
    connection = rs.sql.connect()
    lists = "select map {'c': 0.9, 'a': 0.8, 'x': 0.7, 'b': 0.6} as rec, map {'a': 2, 'b': 1, 'c': 0} as truth"
    (found,) = connection.sql(f"select rs_halves(rec, truth, 4) from ({lists})").fetchall()[0]
    assert found == pytest.approx(worked_out()[0])


def test_command_and_definition(halves, tmp_path, capsys):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {item} {grade}\n" for q, items in TRUTH.items() for item, grade in items.items()))
    run.write_text(
        "".join(f"{q} Q0 {item} 1 {score} me\n" for q, items in RUN.items() for item, score in items.items())
    )
    assert main(["evaluate", str(qrels), str(run), "-m", "halves@4"]) == 0
    assert f"{sum(worked_out()) / 2:.4f}" in capsys.readouterr().out
    assert main(["metrics", "halves"]) == 0
    said = capsys.readouterr().out
    assert "sum of grade / 2^(rank - 1)" in said
    assert "least (default 0.0): grades below it earn nothing" in said
    assert rs.define("halves").sentence == "Worth of a list to readers of whom half are gone at each place."


@pytest.mark.parametrize("side", ["numerator", "denominator"])
def test_one_value_per_item_is_refused(side, monkeypatch):
    """Also where there are as many items as queries, so that their number does not show it."""
    for name in ("rows", "names"):
        monkeypatch.setattr(registry.metrics, name, dict(getattr(registry.metrics, name)))

    @rs.metric("grades")
    def grades(ranking, *, k=None):
        """Grades of the items."""
        per_item, per_query = ranking.grade, ranking.sum(ranking.grade)
        return rs.authoring.Ratio(*((per_item, 1.0) if side == "numerator" else (per_query, per_item)))

    match = f"^grades(@2)?: the {side} has one value per item, and needs one per query; add them up"
    for truth, run in (({"q": ["a"]}, {"q": ["a"]}), (TRUTH, RUN)):
        with pytest.raises(rs.errors.PerItemError, match=match):
            rs.evaluate(truth, run, grades)
        with pytest.raises(rs.errors.PerItemError, match=match):
            _accumulated(grades @ 2, truth, run)
    with pytest.raises(rs.errors.PerItemError, match=match):
        grades(["a"], truth=["a"])
    with pytest.raises(rs.errors.PerItemError, match=match):
        rs.arrays.grades(labels=LABELS, scores=SCORES)
    with pytest.raises(rs.errors.PerItemError, match=match):
        rs.sql.text("grades")


def _accumulated(metric, truth, run):
    accumulator = rs.Accumulator([metric])
    accumulator.update(truth, run)
    return accumulator.compute()
