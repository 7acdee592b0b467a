"""Logged feedback: estimates of a target policy from a million rows of ten actions, and from lists of three."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from race import Contender, Goal, Numbers, Row, faster, invite, named, race

import rankstone as rs

ACTIONS = 10
PLACES = 3


def rows(scale: float, repeats: int) -> Iterator[Row]:
    many = max(int(1_000_000 * scale), 1000)
    log = single(many)
    work = f"{many:,} logged rows x {ACTIONS} actions"
    for name, goal in (("DoublyRobust", faster(8)), ("InverseProbabilityWeighting", None)):
        estimate = {"DoublyRobust": "dr", "InverseProbabilityWeighting": "ips"}[name]
        yield from race(
            f"{work}, {estimate}",
            lambda estimate=estimate: ours(log, estimate),
            [invite("obp", lambda name=name, goal=goal: theirs(log, name, goal), goal)],
            repeats,
        )
    log = single(many, PLACES)
    yield from race(
        f"{work} x {PLACES} places, dr",
        lambda: ours(log, "dr"),
        [invite("obp", lambda: theirs(log, "DoublyRobust", None))],
        repeats,
    )
    log = lists(many // 10)
    yield from race(
        f"{many // 10:,} logged lists of {PLACES}, cascade-DR",
        lambda: cascade(log),
        [invite("obp", lambda: their_cascade(log))],
        min(repeats, 3),
    )


def single(many: int, places: int = 1) -> dict[str, Any]:
    """Rows that were shown by themselves, each at one of so many places."""
    rng = np.random.default_rng(1)
    target, logging = rng.random((many, ACTIONS, places)) + 0.05, rng.random((many, ACTIONS)) + 0.05
    for policy in (target, logging):
        policy /= policy.sum(axis=1, keepdims=True)
    action = (logging.cumsum(axis=1) < rng.random((many, 1))).sum(axis=1).clip(max=ACTIONS - 1)
    return {
        "reward": rng.integers(0, 2, many).astype(float),
        "action": action,
        "pscore": logging[np.arange(many), action],
        "action_dist": target,
        "estimated_rewards_by_reg_model": rng.random((many, ACTIONS, places)),
        "position": rng.integers(0, places, many),
    }


def ours(log: dict[str, Any], estimate: str) -> Numbers:
    found = rs.offpolicy.estimate(
        None, estimate, reward=log["reward"], item=log["action"], propensity=log["pscore"], place=log["position"],
        target=log["action_dist"], predicted=log["estimated_rewards_by_reg_model"] if estimate == "dr" else None,
    )  # fmt: skip
    return {"value": found[estimate]}


def theirs(log: dict[str, Any], name: str, goal: Goal | None) -> Contender:
    estimator = getattr(_obp(), name)()
    return Contender(named("obp"), lambda: {"value": float(estimator.estimate_policy_value(**log))}, goal)


def lists(many: int) -> dict[str, Any]:
    """Each place drawn by itself, so that an item may stand in a list twice."""
    rng = np.random.default_rng(2)
    rows = many * PLACES
    target, logging = rng.random((2, rows, ACTIONS)) + 0.05
    for policy in (target, logging):
        policy /= policy.sum(axis=1, keepdims=True)
    action = rng.integers(0, ACTIONS, rows)
    chosen = {side: policy[np.arange(rows), action] for side, policy in (("logging", logging), ("target", target))}
    so_far = {side: np.cumprod(p.reshape(many, PLACES), axis=1).ravel() for side, p in chosen.items()}
    return {
        "slate_id": np.repeat(np.arange(many), PLACES),
        "position": np.tile(np.arange(PLACES), many),
        "action": action,
        "reward": rng.integers(0, 2, rows).astype(float),
        "pscore_cascade": so_far["logging"],
        "evaluation_policy_pscore_cascade": so_far["target"],
        "q_hat": rng.random(rows * ACTIONS),
        "evaluation_policy_action_dist": target.ravel(),
    }


def cascade(log: dict[str, Any]) -> Numbers:
    found = rs.offpolicy.estimate(
        None, "dr", weight="cascade", list=log["slate_id"], place=log["position"], item=log["action"],
        reward=log["reward"], propensity=log["pscore_cascade"],
        target=log["evaluation_policy_action_dist"].reshape(-1, ACTIONS), predicted=log["q_hat"].reshape(-1, ACTIONS),
    )  # fmt: skip
    return {"value": found["dr"]}


def their_cascade(log: dict[str, Any]) -> Contender:
    estimator = _obp().SlateCascadeDoublyRobust(len_list=PLACES, n_unique_action=ACTIONS)
    return Contender(named("obp"), lambda: {"value": float(estimator.estimate_policy_value(**log))})


def _obp() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import obp.ope

    return obp.ope
