"""Estimates from logged feedback, worked out by hand; every shape of data; what is refused."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

# Three rows of two items: weights 2, 1/2 and 0; rewards 1, 3 and 5.
REWARD = [1.0, 3.0, 5.0]
PROPENSITY = [0.25, 0.5, 0.75]
TARGET = [0.5, 0.25, 0.0]
ITEM = [0, 1, 0]
POLICY = np.array([[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]])
PREDICTED = np.array([[2.0, 1.0], [0.0, 4.0], [3.0, 1.0]])
EXPECTED = [(2 + 1) / 2, 4 / 4, 1.0]  # of the target, by the predictions
REST = [2 * (1 - 2), 1 / 2 * (3 - 4), 0 * (5 - 3)]
MATRICES = {"item": ITEM, "reward": REWARD, "propensity": PROPENSITY, "target": POLICY, "predicted": PREDICTED}


def single(estimate, **parameters):
    return rs.offpolicy.estimate(None, estimate, **MATRICES, **parameters)[estimate]


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ("as_logged", (1 + 3 + 5) / 3),
        ("ips", (2 * 1 + 1 / 2 * 3 + 0) / 3),
        ("ips(clip=1)", (1 * 1 + 1 / 2 * 3 + 0) / 3),
        ("ips(switch=1)", (0 + 1 / 2 * 3 + 0) / 3),
        ("ips(shrink=4)", (4 * 2 / (4 + 4) * 1 + 4 * 0.5 / (0.25 + 4) * 3 + 0) / 3),
        ("ips(subgaussian=0.5)", (2 / (0.5 + 1) * 1 + 0.5 / (0.5 + 0.25) * 3 + 0) / 3),
        ("snips", (2 * 1 + 1 / 2 * 3 + 0) / (2 + 1 / 2 + 0)),
        ("snips(clip=1)", (1 + 1 / 2 * 3) / (1 + 1 / 2)),
        ("dm", sum(EXPECTED) / 3),
        ("dr", (sum(EXPECTED) + sum(REST)) / 3),
        ("dr(clip=1)", (sum(EXPECTED) + REST[0] / 2 + REST[1]) / 3),
        ("dr(switch=1)", (sum(EXPECTED) + REST[1]) / 3),
        ("dr(switch=0)", sum(EXPECTED) / 3),
        ("dr(shrink=4)", (sum(EXPECTED) + 1 * (1 - 2) + 4 * 0.5 / (0.25 + 4) * (3 - 4)) / 3),
        ("dr(shrink=0)", sum(EXPECTED) / 3),
        ("sndr", sum(EXPECTED) / 3 + sum(REST) / (2 + 1 / 2)),
    ],
)
def test_single_actions(estimate, expected):
    assert single(estimate) == pytest.approx(expected, rel=1e-14)


def test_a_parameter_for_all_is_one_for_each():
    found = rs.offpolicy.estimate(
        None, "ips, dr, dm, as_logged", **MATRICES, clip=1
    )  # which the last two have no weights for
    assert dict(found) == {
        "ips": single("ips(clip=1)"),
        "dr": single("dr(clip=1)"),
        "dm": single("dm"),
        "as_logged": single("as_logged"),
    }
    assert rs.offpolicy.estimate(None, rs.offpolicy.estimators.ips(clip=1), **MATRICES)["ips(clip=1)"] == single(
        "ips(clip=1)"
    )
    assert found["ips"] == found[rs.offpolicy.estimators.ips]
    mixed = rs.offpolicy.estimate(None, ["ips", "ips(clip=None, shrink=4)"], **MATRICES, clip=1)
    assert mixed["ips(clip=None, shrink=4)"] == single("ips(shrink=4)")


def test_what_each_list_adds():
    found = rs.offpolicy.estimate(None, "ips, snips, sndr", **MATRICES)
    assert found.per_list["ips"].tolist() == [2, 1.5, 0]
    assert found.per_list["snips"] == pytest.approx([2 / (2.5 / 3), 1.5 / (2.5 / 3), 0])
    assert found.per_list["sndr"] == pytest.approx([e + r / (2.5 / 3) for e, r in zip(EXPECTED, REST, strict=True)])
    for name, values in found.per_list.items():
        assert values.mean() == pytest.approx(found[name])
    assert found.effective_sample_size["ips"] == pytest.approx(2.5**2 / (4 + 1 / 4))
    assert found.largest_weight == {"ips": 2, "snips": 2, "sndr": 2}
    assert list(found.lists) == [0, 1, 2]
    clipped = rs.offpolicy.estimate(None, "ips(clip=1)", **MATRICES)
    assert clipped.effective_sample_size["ips(clip=1)"] == pytest.approx(1.5**2 / (1 + 1 / 4))
    assert clipped.largest_weight["ips(clip=1)"] == 1


def test_intervals_are_those_of_the_ratio():
    found = rs.offpolicy.estimate(None, "ips, snips", **MATRICES)
    top, bottom = np.array([2, 1.5, 0]), np.array([2, 0.5, 0])
    by_hand = rs.statistics.hall_interval(top)
    assert found.interval("ips")[:2] == pytest.approx(by_hand[:2])
    assert found.interval("ips").mean == pytest.approx(found["ips"])
    ratio = top.sum() / bottom.sum()
    rest = (top - ratio * bottom) / bottom.mean()
    assert found.interval("snips", method="t").error == pytest.approx(rest.std(ddof=1) / 3**0.5)
    together = rs.statistics.student(ratio + rest, np.array([0, 1, 1])).error
    assert found.interval("snips", clusters=["a", "b", "b"]).error == pytest.approx(together)
    assert together > 0
    assert found.interval("ips", method="percentile", resamples=500) == rs.offpolicy.estimate(
        None, "ips", **{name: np.asarray(values)[::-1] for name, values in MATRICES.items()}
    ).interval("ips", method="percentile", resamples=500)


# -- lists ---------------------------------------------------------------------------------------------------

# Two lists of two places. Probabilities of the whole list, of the item at its place, of the list so far.
LISTS = {
    "list": ["a", "a", "b", "b"],
    "place": [1, 2, 1, 2],
    "item": ["x", "y", "y", "x"],
    "reward": [1.0, 2.0, 0.0, 4.0],
}
LOGGED = {"list": [0.5, 0.5, 0.25, 0.25], "item": [0.5, 0.8, 0.5, 0.2], "cascade": [0.8, 0.5, 0.5, 0.25]}
WANTED = {"list": [0.25, 0.25, 0.5, 0.5], "item": [0.25, 0.4, 0.75, 0.6], "cascade": [0.4, 0.25, 0.75, 0.5]}
WEIGHT = {  # the last over the first, from the top of each list
    "list": [0.5, 0.5, 2, 2],
    "item": [0.5, 0.5, 1.5, 3],
    "cascade": [0.5, 0.5, 1.5, 2],
}
R = LISTS["reward"]


def ofs(estimate, form, **more):
    data = {**LISTS, "propensity": LOGGED[form], "target": WANTED[form], **more}
    return rs.offpolicy.estimate(None, estimate, weight=form, **data)[estimate]


@pytest.mark.parametrize("form", WEIGHT)
def test_lists(form):
    w = WEIGHT[form]
    earned = w[0] * R[0] + w[1] * R[1] + w[2] * R[2] + w[3] * R[3]
    assert ofs("ips", form) == pytest.approx(earned / 2)
    assert ofs("as_logged", form) == (1 + 2 + 0 + 4) / 2
    assert ofs("snips", form) == pytest.approx(earned / ((w[0] + w[1]) / 2 + (w[2] + w[3]) / 2))
    by_place = (w[0] * R[0] + w[2] * R[2]) / (w[0] + w[2]) + (w[1] * R[1] + w[3] * R[3]) / (w[1] + w[3])
    assert ofs("snips", form, convention="obp") == pytest.approx(by_place)
    assert ofs("snips", form, normalise="place") == pytest.approx(by_place)
    found = rs.offpolicy.estimate(None, "ips", weight=form, **LISTS, propensity=LOGGED[form], target=WANTED[form])
    assert list(found.lists) == ["a", "b"]
    assert found.per_list["ips"] == pytest.approx([w[0] * R[0] + w[1] * R[1], w[2] * R[2] + w[3] * R[3]])
    places = (w[0], w[2]), (w[1], w[3])
    assert found.effective_sample_size["ips"] == pytest.approx(
        min(sum(p) ** 2 / (p[0] ** 2 + p[1] ** 2) for p in places)
    )
    assert found.largest_weight["ips"] == pytest.approx(max(w))


def test_all_forms_in_one_call():
    found = rs.offpolicy.estimate(
        None, [f"ips(weight={form})" for form in WEIGHT], **LISTS, propensity=LOGGED, target=WANTED
    )  # fmt: skip
    assert list(found.values()) == [ofs("ips", form) for form in WEIGHT]
    frame = pd.DataFrame(LISTS).assign(
        pscore=LOGGED["list"], evaluation_policy_pscore=WANTED["list"],
        pscore_item_position=LOGGED["item"], evaluation_policy_pscore_item_position=WANTED["item"],
        pscore_cascade=LOGGED["cascade"], evaluation_policy_pscore_cascade=WANTED["cascade"],
    )  # fmt: skip
    again = rs.offpolicy.estimate(frame, [f"ips(weight={form})" for form in WEIGHT])
    assert dict(again) == dict(found)


PREDICTIONS = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 1.5], [2.5, 0.0]])  # of x and of y
NEXT = np.array([[0.4, 0.6], [0.375, 0.625], [0.25, 0.75], [2 / 3, 1 / 3]])  # the target's, after those above


def test_cascade_dr():
    w, shown = WEIGHT["cascade"], [1, 4, 1.5, 2.5]
    expected = [0.4 * 1 + 0.6 * 2, 0.375 * 3 + 0.625 * 4, 0.25 * 0.5 + 0.75 * 1.5, 2 / 3 * 2.5]
    before = [1, w[0], 1, w[2]]
    terms = [b * e + a * (r - q) for a, b, e, r, q in zip(w, before, expected, R, shown, strict=True)]
    found = ofs("dr", "cascade", target=NEXT, predicted=PREDICTIONS, items=["x", "y"])
    assert found == pytest.approx(sum(terms) / 2)
    # The matrix tells the probability of the list so far as well: 0.4, 0.4 * 0.625, and so on.
    assert ofs("ips", "cascade", target=NEXT, items=["x", "y"]) == pytest.approx(ofs("ips", "cascade"))


def test_dr_by_item_and_place():
    at = np.array([[0.25, 0.75], [0.6, 0.4], [0.25, 0.75], [0.6, 0.4]])  # the target's at each place
    w, shown = WEIGHT["item"], [1, 4, 1.5, 2.5]
    expected = [0.25 * 1 + 0.75 * 2, 0.6 * 3 + 0.4 * 4, 0.25 * 0.5 + 0.75 * 1.5, 0.6 * 2.5]
    given = {"target": at, "predicted": PREDICTIONS, "items": ["x", "y"]}
    assert ofs("dm", "item", **given) == pytest.approx(sum(expected) / 2)
    rest = sum(a * (r - q) for a, r, q in zip(w, R, shown, strict=True))
    assert ofs("dr", "item", **given) == pytest.approx((sum(expected) + rest) / 2)
    with pytest.raises(ValueError, match="dm needs weight='item' for lists"):
        ofs("dm", "cascade", **given)
    with pytest.raises(ValueError, match="predictions of lists need weight='cascade' or 'item', not 'list'"):
        ofs("dr", "list", **given)


def test_lists_of_different_length():
    data = {"list": [1, 1, 2], "place": [1, 2, 1], "reward": [1.0, 2.0, 4.0]}
    given = {"propensity": [0.5, 0.25, 0.5], "target": [0.25, 0.125, 0.5], "weight": "cascade"}
    assert rs.offpolicy.estimate(None, "ips", **data, **given)["ips"] == (0.5 * 1 + 0.5 * 2 + 1 * 4) / 2
    assert rs.offpolicy.estimate(None, "snips", **data, **given)["snips"] == pytest.approx((0.5 + 1 + 4) / (0.5 + 1))
    # By place: of the second there is one list in two.
    by_place = (0.5 * 1 + 1 * 4) / (0.5 + 1) + 1 / 2 * (0.5 * 2) / 0.5
    assert rs.offpolicy.estimate(None, "snips", **data, **given, convention="obp")["snips"] == pytest.approx(by_place)


def test_places_from_zero_or_one_in_any_order_of_rows():
    rows = pd.DataFrame(LISTS).assign(propensity=LOGGED["cascade"], target=WANTED["cascade"])
    expected = rs.offpolicy.estimate(rows, "ips, snips", weight="cascade")
    for order in ([3, 2, 1, 0], [2, 0, 3, 1]):
        for first in (0, 1):
            frame = rows.iloc[order].assign(place=lambda frame, first=first: frame.place - 1 + first)
            found = rs.offpolicy.estimate(frame, "ips, snips", weight="cascade")
            assert dict(found) == pytest.approx(dict(expected))
            assert dict(zip(found.lists, found.per_list["ips"], strict=True)) == pytest.approx(
                dict(zip(expected.lists, expected.per_list["ips"], strict=True))
            )


numbers = st.floats(0.01, 1)
log_rows = st.lists(st.tuples(numbers, numbers, st.floats(-5, 5)), min_size=1, max_size=12)


@given(log_rows, st.randoms())
def test_row_order_changes_nothing(rows, random):
    mixed = rows[:]
    random.shuffle(mixed)

    def found(rows):
        propensity, target, reward = map(list, zip(*rows, strict=True))
        return rs.offpolicy.estimate(None, "ips, snips", reward=reward, propensity=propensity, target=target)

    one, other = found(rows), found(mixed)
    assert dict(one) == pytest.approx(dict(other), rel=1e-9, abs=1e-12)
    rewards = [reward for *_, reward in rows]
    assert min(rewards) - 1e-9 <= one["snips"] <= max(rewards) + 1e-9
    assert one.effective_sample_size["ips"] == pytest.approx(other.effective_sample_size["ips"])
    assert 1 - 1e-9 <= one.effective_sample_size["ips"] <= len(rows) + 1e-9


# -- shapes --------------------------------------------------------------------------------------------------

TABLE = {"reward": REWARD, "propensity": PROPENSITY, "target": TARGET}


def test_tables_files_and_arrays_agree(tmp_path):
    arrow = pa.table(TABLE)
    pa.csv.write_csv(arrow, tmp_path / "log.csv")
    pa.parquet.write_table(arrow, tmp_path / "log.parquet")
    pl.from_arrow(arrow).write_ndjson(tmp_path / "log.jsonl")
    (tmp_path / "log.tsv").write_text((tmp_path / "log.csv").read_text(encoding="utf-8").replace(",", "\t"))
    shapes = [
        arrow, pd.DataFrame(TABLE), pl.DataFrame(TABLE), pl.LazyFrame(TABLE), *sorted(tmp_path.iterdir()),
        str(tmp_path / "log.csv"),
    ]  # fmt: skip
    expected = (2 + 1.5 + 0) / 3
    for data in shapes:
        assert rs.offpolicy.estimate(data)["ips"] == expected
    assert rs.offpolicy.estimate(**TABLE)["ips"] == expected
    assert rs.offpolicy.estimate({**TABLE, "position": None})["ips"] == expected
    feedback = {"action": np.array(ITEM), "reward": REWARD, "pscore": PROPENSITY, "n_rounds": 3}  # as obp has it
    assert rs.offpolicy.estimate(feedback, "ips", target=POLICY, columns={"item": "action"})["ips"] == expected
    assert rs.offpolicy.estimate(**{name: np.array(values) for name, values in TABLE.items()})["ips"] == expected
    assert (
        rs.offpolicy.estimate(arrow.drop_columns("target"), "ips", target=POLICY, columns={"item": None}, item=ITEM)[
            "ips"
        ]
        == expected
    )


def test_usual_names_are_found():
    frame = pd.DataFrame({"clicked": [True, False], "pscore": [0.5, 0.5], "target_probability": [0.5, 0.25]})
    assert rs.offpolicy.estimate(frame, "ips")["ips"] == (1 * 1 + 0) / 2
    named = frame.rename(columns={"pscore": "how_likely"})
    assert rs.offpolicy.estimate(named, "ips", columns={"propensity": "how_likely"})["ips"] == 0.5
    with pytest.raises(ValueError, match="the log's reward could be 'clicked' or 'purchase'; rename one"):
        rs.offpolicy.estimate(frame.assign(purchase=1), "ips")
    with pytest.raises(ValueError, match=r"columns= names 'gain'; the roles are list, place, item, reward"):
        rs.offpolicy.estimate(frame, "ips", columns={"gain": "clicked"})


def test_obps_matrices_of_three_dimensions():
    """Each row was shown by itself, at one of several places."""
    target = np.stack([POLICY, POLICY[::-1]], axis=2)
    predicted = np.stack([PREDICTED, PREDICTED + 1], axis=2)
    given = {**MATRICES, "target": target, "predicted": predicted}
    expected = [POLICY[0], POLICY[1], POLICY[::-1][2]]  # at places 0, 0 and 1
    flat = {**MATRICES, "target": np.array(expected), "predicted": np.array([*PREDICTED[:2], PREDICTED[2] + 1])}
    for place in ([0, 0, 1], [1, 1, 2]):
        found = rs.offpolicy.estimate(None, "ips, dr", **given, place=place)
        assert dict(found) == dict(rs.offpolicy.estimate(None, "ips, dr", **flat))
    with pytest.raises(ValueError, match="target has 2 positions; pass the position of each row: place="):
        rs.offpolicy.estimate(None, "ips", **given)
    wider = {**given, "target": np.concatenate([target, target[:, :, :1]], axis=2)}
    with pytest.raises(ValueError, match="places 1 to 2 of 3 are ambiguous: they may count from 0 or from 1"):
        rs.offpolicy.estimate(None, "ips", **wider, place=[1, 1, 2])
    assert rs.offpolicy.estimate(None, "ips", **wider, place=[1, 1, 2], convention="obp")["ips"] > 0


def test_predictions_of_what_was_shown_alone():
    """Without matrices: what is predicted of the row, and what the predictions make of the target."""
    found = rs.offpolicy.estimate(None, "dm, dr", **TABLE, predicted=[2.0, 4.0, 3.0], expected=EXPECTED)
    assert dict(found) == {"dm": single("dm"), "dr": pytest.approx(single("dr"))}
    with pytest.raises(ValueError, match="pass expected=, their mean under the target policy"):
        rs.offpolicy.estimate(None, "dr", **TABLE, predicted=[2.0, 4.0, 3.0])


def test_what_is_asked_for_by_default():
    assert list(rs.offpolicy.estimate(**TABLE)) == ["ips", "snips"]
    assert list(rs.offpolicy.estimate(**MATRICES)) == ["ips", "snips", "dm", "dr"]
    assert rs.offpolicy.estimate(None, "dm", item=ITEM, reward=REWARD, target=POLICY, predicted=PREDICTED)[
        "dm"
    ] == single("dm")
    assert rs.offpolicy.estimate(None, "as_logged", reward=REWARD)["as_logged"] == 3


def test_policies_as_a_whole():
    """Two policies over lists of two of three items; the log has two of their lists."""
    logging = {("x", "y"): 0.5, ("y", "x"): 0.3, ("x", "z"): 0.2}
    target = {("x", "y"): 0.1, ("y", "x"): 0.6, ("x", "z"): 0.3}
    given = {**LISTS, "propensity": logging, "target": target}

    def found(form):
        return rs.offpolicy.estimate(None, "ips", weight=form, **given)["ips"]

    assert found("list") == pytest.approx((0.1 / 0.5 * (1 + 2) + 0.6 / 0.3 * (0 + 4)) / 2)
    x, y = 0.4 / 0.7, 0.6 / 0.3  # at the first place
    assert found("item") == pytest.approx((x * 1 + 0.1 / 0.5 * 2 + y * 0 + 0.6 / 0.3 * 4) / 2)
    assert found("cascade") == pytest.approx((x * 1 + 0.1 / 0.5 * 2 + y * 0 + 0.6 / 0.3 * 4) / 2)
    # Three lists and four pairs: each list is known by its second item, so that nothing is shared.
    assert found("pseudo_inverse") == pytest.approx(found("list"))
    by_list = {"a": logging, "b": {("y", "x"): 1.0}}
    again = rs.offpolicy.estimate(
        None, "ips", weight="list", **LISTS, propensity=by_list, target={"a": target, "b": target}
    )
    assert again["ips"] == pytest.approx((0.1 / 0.5 * (1 + 2) + 0.6 / 1.0 * (0 + 4)) / 2)
    assert "the target policy shows lists that the log never has, with probability 0.4" in repr(again)
    fewer = {("x", "y"): 0.6, ("y", "x"): 0.4}
    third = rs.offpolicy.estimate(None, "ips", weight="pseudo_inverse", **LISTS, propensity=fewer, target=target)
    assert "the target policy shows lists that the log never has, with probability 0.3" in repr(third)


def test_rows_of_policies_and_predictions_in_any_order():
    policies = {"propensity": {("x", "y"): 0.5, ("y", "x"): 0.5}, "target": {("x", "y"): 0.25, ("y", "x"): 0.75}}
    for form in ("cascade", "item"):
        data = {**LISTS, "predicted": PREDICTIONS}
        expected = rs.offpolicy.estimate(None, "dr", weight=form, **data, **policies, items=["x", "y"])["dr"]
        order = [3, 0, 2, 1]
        mixed = {name: np.asarray(values)[order] for name, values in data.items()}
        assert rs.offpolicy.estimate(None, "dr", weight=form, **mixed, **policies, items=["x", "y"])[
            "dr"
        ] == pytest.approx(expected)
    with pytest.raises(ValueError, match="the target policy shows 'y', which has no prediction"):
        rs.offpolicy.estimate(None, "dr", weight="item", **{**data, "item": ["x"] * 4}, items=["x", "z"],
                  propensity={("x", "x"): 1.0}, target=policies["target"])  # fmt: skip


def test_many_rows_are_looked_at_in_parts():
    """More than are looked at at once; and the last of them is bad."""
    rng = np.random.default_rng(5)
    many = 70_000
    target, predicted = rng.dirichlet([1, 1, 1], many), rng.normal(size=(many, 3))
    item, propensity, reward = rng.integers(0, 3, many), rng.uniform(0.2, 1, many), rng.normal(size=many)
    given = {"item": item, "propensity": propensity, "reward": reward, "predicted": predicted}
    found = rs.offpolicy.estimate(None, "ips, dr", **given, target=target)
    weight = target[np.arange(many), item] / propensity
    rest = weight * (reward - predicted[np.arange(many), item])
    assert found["ips"] == pytest.approx((weight * reward).mean(), rel=1e-10)
    assert found["dr"] == pytest.approx(((target * predicted).sum(axis=1) + rest).mean(), rel=1e-10)
    target[-1] *= 2
    with pytest.raises(ValueError, match="row 69999: the target probabilities add up to 2, not 1"):
        rs.offpolicy.estimate(None, "ips", **given, target=target)


# -- an estimator of one's own -------------------------------------------------------------------------------


def test_an_estimator_of_ones_own():
    @rs.offpolicy.estimator("halved_ips", formula="mean of w r / 2")
    def halved(logged, *, part: float = 0.5):
        """Half of it."""
        return rs.authoring.Ratio(logged.sum(logged.weight * logged.reward) * part, logged.ones)

    assert rs.offpolicy.estimate(None, halved, **MATRICES)["halved_ips"] == single("ips") / 2
    assert single("halved_ips(clip=1)") == single("ips(clip=1)") / 2
    assert single("halved_ips(part=1)") == single("ips")
    assert "halved_ips: Half of it." in repr(rs.offpolicy.estimators)
    with pytest.raises(ValueError, match="'ips' is an estimator of rankstone's own"):
        rs.offpolicy.estimator("ips")(lambda logged: None)
    with pytest.raises(ValueError, match="unknown parameter of halved_ips 'prt'; did you mean 'part'"):
        single("halved_ips(prt=1)")


def test_estimators_are_listed_and_found():
    assert {"as_logged", "dm", "dr", "ips", "sndr", "snips"} <= set(rs.offpolicy.estimators)
    assert rs.offpolicy.estimators["dr"] == rs.offpolicy.estimators.dr
    with pytest.raises(KeyError, match="unknown estimator 'snip'; did you mean 'snips'"):
        rs.offpolicy.estimators["snip"]
    with pytest.raises(AttributeError, match="unknown estimator"):
        _ = rs.offpolicy.estimators.snip


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"propensity": [0.25, 0.0, 0.5]}, r"row 1: propensity is 0.0; it must be above 0 and at most 1"),
        ({"propensity": [0.25, 0.5, 1.5]}, r"row 2: propensity is 1.5; it must be above 0"),
        ({"propensity": [0.25, np.nan, 0.5]}, r"row 1: propensity is nan"),
        ({"propensity": [0.25, 0.5]}, r"there are 3 rewards, but 2 propensities"),
        ({"propensity": None}, r"no propensities: pass propensity="),
        ({"target": [0.5, -0.1, 0]}, r"row 1: target probability is -0.1; it must be from 0 to 1"),
        ({"target": [0.0, 0.0, 0.0]}, r"ips: all weights are 0: the target policy never shows the logged items"),
        ({"target": POLICY / 2, "item": ITEM}, r"row 0: the target probabilities add up to 0.5, not 1"),
        ({"target": -POLICY, "item": ITEM}, r"row 0: a target probability is below 0"),
        ({"target": POLICY[:2], "item": ITEM}, r"there are 3 rewards, but target has 2 rows"),
        ({"target": POLICY}, r"no item ids; pass item="),
        ({"target": POLICY, "item": [0, 2, 0]}, r"row 1: the item is not a column of the matrix, 0 to 1"),
        ({"target": POLICY, "item": ["a", "b", "a"]}, r"item ids that are not column numbers need items="),
        ({"reward": [1.0, None, 2.0]}, r"row 1: reward is missing"),
        ({"reward": ["a", "b", "c"]}, r"reward holds string, not numbers"),
        ({"reward": None}, r"no reward; pass reward="),
        ({"reward": [], "propensity": [], "target": []}, r"the log has no rows"),
        ({"place": [1, 2, 3]}, r"rows have positions but no list ids"),
        ({"list": [1, 1, 2]}, r"lists of several rows need positions"),
        ({"list": [1, 1, 2], "place": [1, 3, 1]}, r"row 1 \(list 1\): place 3 comes where place 2 is expected"),
        ({"list": [1, 1, 2], "place": [1, 1, 1]}, r"row 1 \(list 1\): place 1 appears twice"),
        ({"list": [1, 1, 2], "place": [2, 3, 2]}, r"row 0 \(list 1\): place 2 comes where place 1 is expected"),
        ({"list": [1, 1, 2], "place": [0, 1, 1]}, r"row 2 \(list 2\): place 1 comes where place 0 is expected"),
        ({"list": [1, 1, 2], "place": [1, 1.5, 1]}, r"row 1 \(list 1\): place is not a whole number"),
        ({"list": [1, None, 2], "place": [1, 2, 1]}, r"row 1 .*: list is missing"),
        ({"list": [1, 1, 2], "place": [1, 2, 1]}, r"set what the probabilities refer to, weight='list'"),
        ({"list": [1, 1, 2], "place": [1, 2, 1], "weight": "list"}, r"place 2\): target probability differs"),
        ({"list": [1, 1, 2], "place": [1, 2, 1], "weight": "cascade"}, r"place 2\): propensity exceeds that of the"),
        ({"weight": "pseudo_inverse"}, r"weight='pseudo_inverse' needs both policies as distributions over lists"),
        ({"weight": "lists"}, r"ips: weight='lists'; choose from 'list', 'item'"),
        ({"clip": 1, "shrink": 2}, r"clip and shrink both change the weights; choose one"),
        ({"clip": -1}, r"ips: clip must be above 0, not -1"),
        ({"subgaussian": 2}, r"ips: subgaussian must lie between 0 and 1"),
        ({"cilp": 1}, r"unknown parameter 'cilp'; did you mean 'clip'"),
        ({"convention": "rankston"}, r"unknown convention of estimators 'rankston'; did you mean 'rankstone'"),
        ({"propensity": {("a",): 0.5}}, r"propensities: the probabilities of its lists add up to 0.5, not 1"),
        ({"propensity": {"a": 0.5}}, r"propensities: 'a' is not a list; write \{\(item, item\): probability\}"),
    ],
)  # fmt: skip
def test_refused(change, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        rs.offpolicy.estimate(None, "ips", **{**TABLE, "item": None, **change})


def test_refused_of_estimators():
    with pytest.raises(ValueError, match="unknown estimator 'ipss'; did you mean 'ips'"):
        rs.offpolicy.estimate(None, "ipss", **TABLE)
    with pytest.raises(ValueError, match="no predictions: pass predicted="):
        rs.offpolicy.estimate(None, "dr", **TABLE)
    with pytest.raises(ValueError, match="clip=1 would have no effect: as_logged have no weights"):
        rs.offpolicy.estimate(None, "as_logged", **TABLE, clip=1)
    with pytest.raises(ValueError, match="clip would have no effect: as_logged has no weights"):
        rs.offpolicy.estimate(None, "as_logged(clip=1)", **TABLE)
    with pytest.raises(ValueError, match="a prediction is missing"):
        rs.offpolicy.estimate(None, "dr", **{**MATRICES, "predicted": PREDICTED * [np.nan, 1]})
    with pytest.raises(ValueError, match=r"weights of cascade and of list need probabilities for each"):
        rs.offpolicy.estimate(
            None, "ips(weight=list), ips(weight=cascade)", **LISTS, propensity=LOGGED["list"], target=WANTED["list"]
        )
    with pytest.raises(KeyError, match="dr is not in this result; choose from ips, snips"):
        _ = rs.offpolicy.estimate(**TABLE)["dr"]
    with pytest.raises(TypeError, match="a log is a table, a dict of columns, a file, or arrays by name"):
        rs.offpolicy.estimate([1, 2, 3])


def test_a_bad_line_of_a_file_is_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("reward,propensity,target\n1,0.5,0.5\n0,0,0.5\n", encoding="utf-8")
    with pytest.raises(rs.errors.FileError, match=r"log.csv:3: propensity is 0.0"):
        rs.offpolicy.estimate(path)
    (tmp_path / "log.xlsx").write_text("nothing", encoding="utf-8")
    with pytest.raises(rs.errors.FileError, match="expected a file with the extension csv, tsv, jsonl"):
        rs.offpolicy.estimate(tmp_path / "log.xlsx")


def test_an_error_has_its_row():
    with pytest.raises(rs.errors.DataError) as caught:
        rs.offpolicy.estimate(reward=[1, 1], propensity=[0.5, 0], target=[0.5, 0.5])
    assert (caught.value.kind, caught.value.side, caught.value.row) == ("number", "log", 1)


# -- looks ---------------------------------------------------------------------------------------------------


def test_it_prints_as_a_table_with_what_it_means():
    text = rs.offpolicy.estimate(None, "ips, dm, dr(clip=1)", **MATRICES).render(verbose=True)
    for words in (
        "estimator    value   95 % interval  effective n  largest weight",
        "3 lists, mean reward 3.0000",
        "dr(clip=1): mean of E[q] + w (r - q); w at most 1",
        "effective sample size 1.5 of 3 lists",
    ):
        assert words in text
    assert "<table>" in rs.offpolicy.estimate(**TABLE)._repr_html_()


def test_few_lists_with_all_the_weight_have_a_caveat():
    many = np.full(200, 0.5)
    target = many.copy()
    target[0] = 1.0
    fine = rs.offpolicy.estimate(None, "ips", reward=many, propensity=many, target=many)
    assert fine.caveats["ips"] == ()
    heavy = np.full(200, 0.5)
    heavy[7] = 0.0005  # weight 1,000
    with pytest.warns(rs.errors.WeightsWarning, match="ips: effective sample size 1.4 of 200 lists; see .caveats"):
        found = rs.offpolicy.estimate(None, "ips", reward=many, propensity=heavy, target=many)
    assert [caveat.code for caveat in found.caveats["ips"]] == ["effective", "one"]
    assert "list 7 has 83 % of the total weight" in repr(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = rs.offpolicy.estimate(None, "ips", reward=many, propensity=heavy, target=many, clip=2)
    assert clipped.caveats["ips"] == ()


def test_weights_that_cannot_have_the_mean_one_have_a_caveat():
    rng = np.random.default_rng(1)
    propensity = rng.uniform(0.2, 0.8, 500)
    found = rs.offpolicy.estimate(
        None, "ips", reward=np.ones(500), propensity=propensity, target=propensity * rng.uniform(0.4, 0.6, 500)
    )
    (caveat,) = found.caveats["ips"]
    assert caveat.code == "mean"
    assert "the propensities are not those of the log" in caveat.sentence


def test_it_can_be_pickled():
    found = rs.offpolicy.estimate(None, "ips, dr(clip=1)", **MATRICES)
    again = pickle.loads(pickle.dumps(found))
    assert dict(again) == dict(found)
    assert again.caveats == found.caveats
    assert repr(again) == repr(found)


def test_one_row():
    found = rs.offpolicy.estimate(reward=[1], propensity=[0.5], target=[0.25])
    assert found["ips"] == 0.5
    assert found.interval("ips").low == -np.inf
    assert found.interval("snips").low == -np.inf  # which is 1, and no hit
    assert "1 list, mean reward 1.0000" in repr(found)


def test_plain_data():
    found = rs.offpolicy.estimate(None, "ips, snips", **TABLE)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["estimates"] == dict(found)
    assert data["per_list"]["ips"] == [2, 1.5, 0]
    assert data["effective_sample_size"]["ips"] == found.effective_sample_size["ips"]
    assert data["definitions"]["snips"] == "snips: mean of w r / mean of w"
    frame = found.to_pandas()
    assert list(frame.columns) == ["list", "ips", "snips"]
    assert frame["ips"].mean() == pytest.approx(found["ips"])


def test_the_action_of_obp_is_the_item():
    """target as a matrix has one column per action: the probability is that of the logged action."""
    log = {"action": [1, 0], "reward": [1, 1], "pscore": [0.5, 0.25]}
    target = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = rs.offpolicy.estimate(log, "ips", target=target)
    assert found["ips"] == pytest.approx((0.1 / 0.5 + 0.2 / 0.25) / 2)
    renamed = {"item" if name == "action" else name: column for name, column in log.items()}
    assert found["ips"] == rs.offpolicy.estimate(renamed, "ips", target=target)["ips"]
