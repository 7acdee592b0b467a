"""Shares of the queries, measured apart and added up, say what `rs.evaluate` says of all."""

from dataclasses import fields

import numpy as np
import pytest

import rankstone as rs
from rankstone.conventions.plan import make_plans
from rankstone.data.dicts import Dicts
from rankstone.evaluate import partial as parts
from rankstone.metrics.registry import Declaration, declared
from rankstone.results.result import Account

RNG = np.random.default_rng(1)
ITEMS = [f"i{at}" for at in range(12)]
TRUTH = {q: {item: int(RNG.integers(0, 4)) for item in RNG.permutation(ITEMS)[:5].tolist()} for q in range(40)}
RUN = {q: {item: int(RNG.integers(0, 4)) for item in RNG.permutation(ITEMS)[:8].tolist()} for q in range(3, 43)}
NUMBERS = {q: {item: float(RNG.normal()) for item in judged} for q, judged in TRUTH.items()}


def shared_out(truth, run, metrics, weights=None, shares=7, **choices):
    """As a cluster would do it: some queries on each worker, nothing of them on the driver but their parts."""
    plans = make_plans(metrics, "rankstone", choices)
    top = float(max(grade for judged in truth.values() for grade in judged.values()))
    sent = tuple(parts.for_shares(plan, lambda: top) for plan in plans)
    job = parts.Job(sent, parts.declared_in(plans), 1, ordered=True)

    def share(number):
        ours = [{q: side[q] for q in side if q % shares == number} for side in (truth, run)]
        return [(Dicts(*ours), weights)]

    found = [job.totals(share(number)) for number in range(shares)]
    whole = job.gather(found) if any(plan.is_pooled for plan in plans) else parts.add_up(found)
    whole.check(plans)
    return plans, whole


@pytest.mark.parametrize(
    ("run", "metrics", "choices"),
    [
        (RUN, ["ndcg@3", "ap", "rr", "err", "num_rel"], {}),
        (RUN, ["ndcg@3", "ap", "recall@3"], {"averaging": "micro", "extra": "zero"}),
        (RUN, ["ap"], {"undefined": "skip", "ties": "expected", "missing": "skip"}),
        (NUMBERS, ["mae", "rmse", "r2", "pearson"], {}),
        ({q: dict(list(run.items())[: q % 4]) for q, run in RUN.items()}, ["r2", "mae"], {"undefined": "skip"}),
    ],
    ids=["macro", "micro", "expected", "ratings", "few ratings"],
)
def test_parts_add_up(run, metrics, choices):
    plans, whole = shared_out(TRUTH, run, metrics, **choices)
    want = rs.evaluate(TRUTH, run, metrics, **choices)
    for plan in plans:
        own, *ends = whole.means(plan)
        assert own == pytest.approx(want[plan.label], rel=1e-12)
        ties = want.ties[plan.label]
        assert (min(own, *ends), max(own, *ends)) == pytest.approx((ties.lowest, ties.highest), rel=1e-12)
    assert Account(**{one.name: whole.account[one.name] for one in fields(Account)}) == want.account


def test_weights():
    weights = {q: float(RNG.random()) for q in TRUTH}
    (plan,), whole = shared_out(TRUTH, RUN, "ap", weights, averaging="weighted")
    assert whole.means(plan)[0] == pytest.approx(rs.evaluate(TRUTH, RUN, "ap", weights=weights)["ap"], rel=1e-12)


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"missing": "error"}, "the run lacks 3 judged queries: 0, 1, 2"),
        ({"extra": "error"}, "the truth lacks 3 queries of the run: 4"),
        ({"no_relevant": "error", "threshold": 4}, r"ap: there is no relevant item in query \d+"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_at_the_end(choices, problem):
    with pytest.raises(ValueError, match=problem):
        shared_out(TRUTH, RUN, "ap", **choices)


def test_equal_ranks_need_an_order():
    plans = make_plans("ap", "rankstone", {"ties": "input"})
    job = parts.Job(plans, (), 1, ordered=False)
    found = job.totals([(Dicts({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}), None)])
    with pytest.raises(ValueError, match="ap: query 'q' has equal ranks, and ties='input' needs an order"):
        found.check(plans)


def test_a_metric_is_sent_whole():
    """What a worker declares is, field by field, what the driver declared."""
    for row in declared().values():
        name, function, options = parts.DeclaredMetric.of(row)
        assert (name, function) == (row.name, row.function)
        assert options.keys() == {one.name for one in fields(Declaration)} - {"name", "function"}
        parts.Job((), (parts.DeclaredMetric.of(row),), 1, ordered=True).declare()
        again = declared()[name]
        assert again is not row
        for one in fields(Declaration):
            assert getattr(again, one.name) == getattr(row, one.name), one.name
