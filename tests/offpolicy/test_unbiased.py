"""Which estimates are right on average, by every list that can be logged; exact, as probabilities are fractions."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import rankstone as rs

ITEMS = "xyz"
ATTRACTION = {"x": Fraction(1, 2), "y": Fraction(1, 3), "z": Fraction(1, 7)}
REWARDS = {
    "by item": lambda above, item, below: ATTRACTION[item] / (len(above) + 1),
    "by those above": lambda above, item, below: ATTRACTION[item] * (1 - sum(ATTRACTION[one] for one in above)),
    "by the whole list": lambda above, item, below: ATTRACTION[item] * (1 + sum(ATTRACTION[one] for one in below)),
}


def policy(*weights):
    """The lists of two of three items, with probabilities as the weights say."""
    lists = list(permutations(ITEMS, 2))
    return {items: Fraction(weight, sum(weights)) for items, weight in zip(lists, weights, strict=True)}


LOGGING = policy(1, 2, 3, 4, 5, 6)
TARGET = policy(9, 1, 4, 2, 2, 7)


def earned(items, rewards):
    return [REWARDS[rewards](items[:at], item, items[at + 1 :]) for at, item in enumerate(items)]


def mean_estimate(estimate, rewards, form, **more):
    """The estimate's mean over the lists that the logging policy makes."""
    data = {
        "list": [number for number in range(len(LOGGING)) for _ in range(2)],
        "place": [1, 2] * len(LOGGING),
        "item": [item for items in LOGGING for item in items],
        "reward": [reward for items in LOGGING for reward in earned(items, rewards)],
    }
    found = rs.offpolicy.estimate(
        None, estimate, weight=form, **data, propensity=LOGGING, target=TARGET, items=ITEMS, **more
    )
    return sum(chance * value for chance, value in zip(LOGGING.values(), found.per_list[estimate], strict=True))


def value_of_target(rewards):
    return sum(chance * sum(earned(items, rewards)) for items, chance in TARGET.items())


RIGHT = {  # what rewards may depend on
    "list": ("by item", "by those above", "by the whole list"),
    "cascade": ("by item", "by those above"),
    "item": ("by item",),
}


@pytest.mark.parametrize(("form", "rewards"), [*product(RIGHT, REWARDS)])
def test_ips_is_right_where_weights_know_all_that_rewards_depend_on(form, rewards):
    found = mean_estimate("ips", rewards, form)
    assert isinstance(found, Fraction)
    assert (found == value_of_target(rewards)) == (rewards in RIGHT[form])


@pytest.mark.parametrize(("form", "rewards"), [*product(("cascade", "item"), REWARDS)])
def test_dr_is_right_whatever_is_predicted(form, rewards):
    predicted = np.array([[Fraction(at + 1, 5), Fraction(at, 3), Fraction(1, 2 + at)] for at in range(12)])
    if form == "cascade":  # a prediction may know the items above, and at the first place there are none
        predicted[0::2] = predicted[0]
        predicted[1::2] = [predicted[1 + 2 * list(ITEMS).index(items[0])] for items in LOGGING]
    else:
        predicted[0::2], predicted[1::2] = predicted[0], predicted[1]
    found = mean_estimate("dr", rewards, form, predicted=predicted)
    assert (found == value_of_target(rewards)) == (rewards in RIGHT[form])


def test_the_pseudo_inverse_is_right_where_rewards_add_up():
    for rewards in ("by item", "by those above", "by the whole list"):  # of two items, products are of three a sum
        right = float(value_of_target(rewards))
        assert mean_estimate("ips", rewards, "pseudo_inverse") == pytest.approx(right, rel=1e-12)


def test_single_actions():
    logging, target = (
        {("x",): p, ("y",): q, ("z",): 1 - p - q} for p, q in ((Fraction(1, 4),) * 2, (Fraction(1, 3),) * 2)
    )
    given = {"item": list(ITEMS), "reward": [ATTRACTION[item] for item in ITEMS], "items": ITEMS}
    predicted = np.array([[Fraction(1, 2), Fraction(1, 9), Fraction(2, 3)]] * 3)
    found = rs.offpolicy.estimate(None, "ips, dr, dm", **given, propensity=logging, target=target, predicted=predicted)
    right = sum(chance * ATTRACTION[item] for (item,), chance in target.items())
    for estimate in ("ips", "dr"):
        parts = zip(logging.values(), found.per_list[estimate], strict=True)
        assert sum(chance * value for chance, value in parts) == right
    assert found["dm"] == pytest.approx(float((Fraction(1, 2) + Fraction(1, 9) + Fraction(2, 3)) / 3))


def test_the_log_itself_is_right_of_its_own_policy():
    found = rs.offpolicy.estimate(None, "ips", reward=[0.5, 0.25], propensity=[0.5, 0.5], target=[0.5, 0.5])
    assert found["ips"] == (0.5 + 0.25) / 2
