"""Estimates from logged feedback against obp, for single actions, actions at places, and lists."""

import itertools
import warnings

import numpy as np
import pytest

import rankstone as rs

pytestmark = pytest.mark.peers
SEEDS = range(5)


@pytest.fixture(scope="module")
def ope():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("obp", reason="obp is not installed")
        return pytest.importorskip("obp.ope", reason="obp cannot be imported")


def some_log(seed, rows=60, actions=5, places=None):
    rng = np.random.default_rng(seed)
    shape = (rows, actions) if places is None else (rows, actions, places)
    target, logging = rng.random(shape) + 0.01, rng.random((rows, actions)) + 0.01
    logging /= logging.sum(axis=1, keepdims=True)
    action = np.array([rng.choice(actions, p=row) for row in logging])
    return {
        "reward": rng.normal(size=rows),
        "action": action,
        "pscore": logging[np.arange(rows), action],
        "action_dist": target / target.sum(axis=1, keepdims=True),
        "estimated_rewards_by_reg_model": rng.normal(size=shape),
        "position": np.zeros(rows, dtype=int) if places is None else rng.integers(0, places, rows),
    }


SINGLE = {
    "ips": ("InverseProbabilityWeighting", {}),
    "ips(clip=1.5)": ("InverseProbabilityWeighting", {"lambda_": 1.5}),
    "snips": ("SelfNormalizedInverseProbabilityWeighting", {}),
    "dm": ("DirectMethod", {}),
    "dr": ("DoublyRobust", {}),
    "dr(clip=1.5)": ("DoublyRobust", {"lambda_": 1.5}),
    "sndr": ("SelfNormalizedDoublyRobust", {}),
    "dr(switch=1.5)": ("SwitchDoublyRobust", {"lambda_": 1.5}),
    "dr(shrink=1.5)": ("DoublyRobustWithShrinkage", {"lambda_": 1.5}),
    "ips(subgaussian=0.3)": ("SubGaussianInverseProbabilityWeighting", {"lambda_": 0.3}),
    "dr(subgaussian=0.3)": ("SubGaussianDoublyRobust", {"lambda_": 0.3}),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("places", [None, 3])
@pytest.mark.parametrize("estimate", SINGLE)
def test_single_actions(ope, estimate, seed, places):
    name, parameters = SINGLE[estimate]
    log = some_log(seed, places=places)
    wide = {**log}
    if places is None:
        for matrix in ("action_dist", "estimated_rewards_by_reg_model"):
            wide[matrix] = log[matrix][:, :, None]
    theirs = getattr(ope, name)(**parameters).estimate_policy_value(**wide)
    ours = rs.offpolicy.estimate(
        None, estimate, reward=log["reward"], item=log["action"], propensity=log["pscore"], target=log["action_dist"],
        predicted=log["estimated_rewards_by_reg_model"], place=None if places is None else log["position"],
        convention="obp",
    )  # fmt: skip
    assert ours[estimate] == pytest.approx(theirs, rel=1e-11)


def some_lists(seed, lists=30, items=4, places=3):
    """Lists drawn one item after another by two sets of weights, with all that obp asks for."""
    rng = np.random.default_rng(seed)
    logging, target = rng.random((2, items)) + 0.1
    every = list(itertools.permutations(range(items), places))

    def steps(weights, chosen):
        return [weights[item] / (weights.sum() - weights[list(chosen[:at])].sum()) for at, item in enumerate(chosen)]

    chances = {"logging": [], "target": []}
    for weights, side in ((logging, "logging"), (target, "target")):
        chances[side] = np.array([np.prod(steps(weights, chosen)) for chosen in every])
    at = {
        side: np.array(
            [[p[[one[place] == item for one in every]].sum() for item in range(items)] for place in range(places)]
        )
        for side, p in chances.items()
    }
    drawn = rng.choice(len(every), size=lists, p=chances["logging"] / chances["logging"].sum())
    shown = [every[number] for number in drawn]
    after = []
    for chosen in shown:
        for place in range(places):
            left = target.copy()
            left[list(chosen[:place])] = 0
            after.append(left / left.sum())
    so_far = {
        side: np.concatenate([np.cumprod(steps(weights, chosen)) for chosen in shown])
        for side, weights in (("logging", logging), ("target", target))
    }
    return {
        "slate_id": np.repeat(np.arange(lists), places),
        "position": np.tile(np.arange(places), lists),
        "action": np.array(shown).ravel(),
        "reward": rng.integers(0, 2, lists * places).astype(float),
        "pscore": np.repeat(chances["logging"][drawn], places),
        "evaluation_policy_pscore": np.repeat(chances["target"][drawn], places),
        "pscore_item_position": np.array([at["logging"][pair] for one in shown for pair in enumerate(one)]),
        "evaluation_policy_pscore_item_position": np.array(
            [at["target"][pair] for one in shown for pair in enumerate(one)]
        ),
        "pscore_cascade": so_far["logging"],
        "evaluation_policy_pscore_cascade": so_far["target"],
        "q_hat": rng.random((lists * places, items)),
        "evaluation_policy_action_dist": np.array(after),
    }  # fmt: skip


LISTS = {
    "SlateStandardIPS": "ips(weight='list')",
    "SlateIndependentIPS": "ips(weight='item')",
    "SlateRewardInteractionIPS": "ips(weight='cascade')",
    "SelfNormalizedSlateStandardIPS": "snips(weight='list')",
    "SelfNormalizedSlateIndependentIPS": "snips(weight='item')",
    "SelfNormalizedSlateRewardInteractionIPS": "snips(weight='cascade')",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_lists(ope, seed):
    import pandas as pd

    log = some_lists(seed)
    flat = {name: values for name, values in log.items() if values.ndim == 1 and name != "action"}
    ours = rs.offpolicy.estimate(pd.DataFrame(flat), LISTS.values(), convention="obp")
    for name, estimate in LISTS.items():
        theirs = getattr(ope, name)(len_list=3).estimate_policy_value(**flat)
        assert ours[estimate] == pytest.approx(theirs, rel=1e-11), name


@pytest.mark.parametrize("seed", SEEDS)
def test_cascade_dr(ope, seed):
    log = some_lists(seed)
    wide = {**log, **{name: log[name].ravel() for name in ("q_hat", "evaluation_policy_action_dist")}}
    theirs = ope.SlateCascadeDoublyRobust(len_list=3, n_unique_action=4).estimate_policy_value(**wide)
    ours = rs.offpolicy.estimate(
        None, "dr", weight="cascade", list=log["slate_id"], place=log["position"], item=log["action"],
        reward=log["reward"], propensity=log["pscore_cascade"], target=log["evaluation_policy_action_dist"],
        predicted=log["q_hat"], convention="obp",
    )  # fmt: skip
    assert ours["dr"] == pytest.approx(theirs, rel=1e-11)
