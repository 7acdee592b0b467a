"""Interleaving: lists that depend on the seed and the query, exact distributions, credit, and preferences by user."""

import json
import math

import numpy as np
import pytest

import rankstone as rs
from rankstone.interleaving.analysis import _estimate

A, B = {"q1": ["a", "b", "c"], "q2": ["x", "y"]}, {"q1": ["c", "d", "a"], "q2": ["y", "x"]}
METHODS = ("team_draft", "balanced", "probabilistic", "multileave")


@pytest.mark.parametrize("method", METHODS)
def test_a_list_depends_on_the_seed_and_its_query_alone(method):
    both = rs.interleave(A, B, method=method, seed=7)
    alone = rs.interleave({"q2": A["q2"]}, {"q2": B["q2"]}, method=method, seed=7)
    assert both["q2"] == alone["q2"]
    many = {f"s{at}": A["q1"] for at in range(64)}, {f"s{at}": B["q1"] for at in range(64)}
    shown = [rs.interleave(*many, method=method, seed=seed, k=3) for seed in (0, 1)]
    assert len({one.items for one in shown[0].values()}) > 1
    assert [one.items for one in shown[0].values()] != [one.items for one in shown[1].values()]


def test_the_draws_can_be_repeated_in_any_language():
    """The first coin of team draft is the first 8 bytes of BLAKE2b of seed, query and count, over 2^64."""
    from hashlib import blake2b

    for query in map(str, range(20)):
        coin = int.from_bytes(blake2b(f"3\n{query}\n0".encode(), digest_size=8).digest(), "big") / 2**64
        shown = rs.interleave({query: ["a"]}, {query: ["b"]}, seed=3)[query]
        assert shown.teams[0] == ("A" if coin < 0.5 else "B")


@pytest.mark.parametrize("method", METHODS)
def test_lists_are_drawn_by_their_distribution(method):
    many = {f"s{at}": A["q1"] for at in range(4000)}, {f"s{at}": B["q1"] for at in range(4000)}
    shown = rs.interleave(*many, method=method, k=2)
    outcomes = shown["s0"].distribution()
    assert math.fsum(outcome.probability for outcome in outcomes) == pytest.approx(1)
    for outcome in outcomes:
        share = np.mean([(one.items, one.teams) == outcome[:2] for one in shown.values()])
        error = math.sqrt(outcome.probability * (1 - outcome.probability) / 4000)
        assert abs(share - outcome.probability) < 5 * error


def test_probabilistic_by_hand():
    """Each of two items first: the weights of ranks 1 and 2 are 8/9 and 1/9."""
    shown = rs.interleave({"q": ["a", "b"]}, {"q": ["b", "a"]}, method="probabilistic")["q"]
    assert [round(outcome.probability, 12) for outcome in shown.distribution()] == [0.5, 0.5]
    ab = rs.typing.InterleavedList(("a", "b"), (None, None), "probabilistic", {"A": ["a", "b"], "B": ["b", "a"]})
    # After the first item both rankers have the other one left, so who picked the second is a coin.
    assert ab.credit(["a"]) == pytest.approx({"A": 8 / 9, "B": 1 / 9})
    assert ab.credit(["b"]) == pytest.approx({"A": 1 / 2, "B": 1 / 2})
    assert ab.likelihood == pytest.approx((8 / 9 + 1 / 9) * 2)


def test_multileave_of_three():
    shown = rs.interleave(A, B, {"q1": ["e", "f"]}, method="multileave", names=("bm25", "dense", "both"), k=3)["q1"]
    assert sorted(shown.teams) == ["bm25", "both", "dense"]
    assert shown.rankings == {"bm25": ["a", "b", "c"], "dense": ["c", "d", "a"], "both": ["e", "f"]}
    result = rs.interleaving({"q1": [shown.items[0]]}, {"q1": shown})
    assert sum(result.credit.values()) == 1
    assert len(result) == 3


@pytest.mark.parametrize(
    ("runs", "how", "message"),
    [
        ((A, B, A), {}, "method='team_draft' takes 2 runs, not 3; choose multileave"),
        ((A, B), {"method": "team-draft"}, "unknown method 'team-draft'; did you mean 'team_draft'"),
        ((A, B), {"k": 0}, "k=0; give a whole number from 1"),
        ((A, B), {"names": ("x", "x")}, "give 2 different names, one per run"),
    ],
)
def test_wrong_arguments(runs, how, message):
    with pytest.raises((ValueError, TypeError), match=message):
        rs.interleave(*runs, **how)


# -- preferences ---------------------------------------------------------------------------------------------


def test_preference_by_hand():
    """Users u1 and u2 with two lists each; outcomes 1, 1, 0, -1: the sums of users about the mean 1/4 are 3/2, -3/2."""
    log = {
        "query": [1, 2, 3, 3, 4, 5],
        "team": ["B", "B", "A", "B", "A", "A"],
        "click": [1, 1, 1, 1, 1, 0],
        "user": ["u1", "u1", "u2", "u2", "u2", "u3"],
    }
    result = rs.interleaving(log)
    one = result["A", "B"]
    assert (result.searches, result.clicked, result.users) == (5, 4, 2)
    assert (one.wins, one.ties, one.losses) == (2, 1, 1)
    assert one.preference == (2 + 1 / 2) / 4
    error = math.sqrt((3 / 2) ** 2 * 2 * 2 / 1) / 4  # with 2 clusters, 1 degree of freedom
    t = (1 / 4) / error
    assert one.p == pytest.approx(1 - 2 / math.pi * math.atan(t))  # Student's t with 1 degree of freedom
    assert (one.low, one.high) == (0, 1)


def test_a_second_click_on_an_item_does_not_count():
    log = {"query": [1, 1, 1, 2], "item": ["a", "a", "b", "b"], "team": ["A", "A", "B", "B"]}
    assert (rs.interleaving(log)[0].wins, rs.interleaving(log)[0].ties) == (1, 1)


def test_all_outcomes_alike_are_no_certainty():
    """Three wins of three: the exact test gives 2/8, where the deviation of 0 would give p = 0."""
    log = {"query": [1, 2, 3, 4], "team": ["B", "B", "B", "A"], "click": [1, 1, 1, 0]}
    one = rs.interleaving(log)[0]
    assert (one.preference, one.p, one.verdict) == (1.0, 2 / 8, "inconclusive")
    assert one.low == pytest.approx(0.025 ** (1 / 3))


def test_events_of_opensearch(tmp_path):
    """`search_config` of clicked objects is the team; events of pages and repeated clicks are passed over."""

    def event(query, action, item=None, team=None, user="c1"):
        described = {"object_id": item, "search_config": team} if item else {"duration": 3}
        attributes = {"object": described, "position": {"ordinal": 0}}
        return {"action_name": action, "query_id": query, "client_id": user, "event_attributes": attributes}

    events = [
        event("s1", "on_search"), event("s1", "impression", "d1", "teamA"), event("s1", "impression", "d2", "teamB"),
        event("s1", "click", "d2", "teamB"), event("s1", "click", "d2", "teamB"),
        event("s2", "impression", "d1", "teamA", "c2"), event("s2", "click", "d1", "teamA", "c2"),
        event("s3", "impression", "d9", "teamA", "c3"),
    ]  # fmt: skip
    path = tmp_path / "events.ndjson"
    path.write_text("\n".join(map(json.dumps, events)))
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"hits": {"hits": [{"_id": str(at), "_source": one} for at, one in enumerate(events)]}}))
    for log in (events, path, dump):
        result = rs.interleaving(log)
        assert (result.searches, result.clicked, result.users) == (3, 2, 2)
        assert result.credit == {"teamA": 1, "teamB": 1}
    with pytest.raises(ValueError, match="no event is one of 'purchase'; there are 'on_search', 'impression', 'click'"):
        rs.interleaving(path, actions="purchase")


def test_lists_are_built_again_for_the_analysis():
    """A log of clicks without teams, and the lists of the same seed: as if the server had logged the teams."""
    queries = [f"s{at}" for at in range(50)]
    a, b = ({query: list(items) for query in queries} for items in ("abc", "cda"))
    lists = rs.interleave(a, b, k=3, seed=5)
    rows = [(query, lists[query].items[0], lists[query].teams[0]) for query in queries]
    log = dict(zip(("query", "item", "team"), zip(*rows, strict=True), strict=True))
    again = rs.interleave(a, b, k=3, seed=5)
    clicks = {query: [item] for query, item, _ in rows}
    assert rs.interleaving(clicks, again).credit == rs.interleaving(log).credit
    with pytest.raises(ValueError, match="query 's1': 'z' was clicked but not shown"):
        rs.interleaving({"s1": ["z"]}, again)
    with pytest.raises(ValueError, match="the log has no teams; pass the lists"):
        rs.interleaving(clicks)


def test_sample_size_is_that_of_the_paired_test():
    log = {"query": list(range(40)), "team": ["A", "B"] * 20}
    deviation = math.sqrt(40 / 39)  # of 20 outcomes of 1 and 20 of -1
    assert rs.interleaving(log)[0].sample_size(0.6) == rs.sample_size(0.2, deviation)


@pytest.mark.simulation
def test_users_are_clusters():
    """Two rankers that are alike, and users who each prefer one: false alarms by user are at most 7 %, by list many."""
    rng = np.random.default_rng(30)
    alarms = np.zeros(2)
    for _ in range(400):
        users = np.repeat(np.arange(60), 10)
        taste = rng.beta(0.5, 0.5, 60)[users]  # of each user
        log = {"query": range(600), "team": np.where(rng.random(600) < taste, "A", "B").tolist()}
        alarms += [rs.interleaving({**log, "user": users.tolist()})[0].p < 0.05, rs.interleaving(log)[0].p < 0.05]
    by_user, by_list = alarms / 400
    assert by_user <= 0.07
    assert by_list > 0.3


# -- looks at any time ---------------------------------------------------------------------------------------


def test_anytime_is_a_confidence_sequence_of_the_outcomes():
    teams = ["B", "B", "A", "B", "A"] * 12
    outcomes = np.array([1 if team == "B" else -1 for team in teams])
    error = outcomes.std(ddof=1) / math.sqrt(60)
    sequence = rs.statistics.confidence_sequence(1 / 5, error, 60, tuning=80)
    log = {"query": list(range(60)), "team": teams}
    fixed, watched = (rs.interleaving(log, anytime=when) for when in (False, 80))
    one = watched[0]
    assert (2 * one.low - 1, 2 * one.high - 1) == pytest.approx(tuple(map(float, sequence.interval())))
    assert one.p == pytest.approx(float(sequence.p()))
    assert (one.preference, one.sample_size()) == (fixed[0].preference, fixed[0].sample_size())
    assert [result.to_dict()["anytime"] for result in (fixed, watched)] == [None, 80]
    assert "they hold at every look, and are narrowest at 80 lists" in " ".join(str(watched).split())
    assert rs.interleaving(log, anytime=True).anytime == 500
    with pytest.raises(ValueError, match="anytime=-1; give True, or the number of users to be narrowest at"):
        rs.interleaving(log, anytime=-1)


@pytest.mark.parametrize("lists", [6, 60])
def test_anytime_without_a_deviation(lists):
    """Wins only: Robbins' mixture for sums of outcomes from -1 to 1, whose variance is at most 1."""
    log = {"query": [*range(lists), "other"], "team": ["B"] * lists + ["A"], "click": [1] * lists + [0]}
    one = rs.interleaving(log, anytime=500)[0]
    rho2 = (-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / 500
    grown = lists * rho2 + 1
    e = math.exp(rho2 * lists**2 / (2 * grown)) / math.sqrt(grown)
    assert one.p == pytest.approx(1 / e)
    half = math.sqrt(2 * grown / rho2 * math.log(math.sqrt(grown) / 0.05)) / lists
    assert (one.low, one.high) == (pytest.approx(max(1 - half / 2, 0)), 1)


def test_anytime_counts_a_few_users_as_if_they_differed_most():
    """19 users, one of whom has a tie: their deviation of 0.23 is taken for 1, that of 20 users as it is."""
    for users, deviation in ((19, 1), (20, math.sqrt(1 / 20))):
        rows = [(f"s{user}", team, f"u{user}") for user in range(users) for team in ("AB" if user == 0 else "B")]
        log = dict(zip(("query", "team", "user"), map(list, zip(*rows, strict=True)), strict=True))
        sequence = rs.statistics.confidence_sequence(1 - 1 / users, deviation / math.sqrt(users), users, tuning=500)
        assert rs.interleaving(log, anytime=True)[0].p == pytest.approx(float(sequence.p()))


def test_anytime_is_of_users():
    """Each user with three lists of the same outcome: as if each had one."""
    teams = ["B", "B", "A", "B", "A"] * 8
    once = {"query": list(range(40)), "team": teams, "user": list(range(40))}
    thrice = {"query": list(range(120)), "team": teams * 3, "user": list(range(40)) * 3}
    one, three = (rs.interleaving(log, anytime=True)[0] for log in (once, thrice))
    assert (three.low, three.high, three.p) == pytest.approx((one.low, one.high, one.p))


def test_anytime_keeps_the_correction():
    log = {"query": [at for at in range(90) for _ in range(2)], "team": ["A", "B", "B", "C", "C", "C"] * 30,
           "item": [0, 1] * 90}  # fmt: skip
    p = [one.p for one in rs.interleaving(log, anytime=True)]
    assert [one.adjusted for one in rs.interleaving(log, anytime=True)] == rs.statistics.adjust(p, "holm").tolist()


def single_lists(rng, many):
    """Users with a list each."""
    return rng.choice([-1.0, 0.0, 1.0], many), np.arange(many)


def returning_users(rng, many):
    """Users who each prefer one ranker, and come back."""
    users = rng.integers(0, 60, many)
    return np.where(rng.random(many) < rng.beta(0.5, 0.5, 60)[users], 1.0, -1.0), users


def heavy_users(rng, many):
    """Users with 20 lists each, one after the other."""
    users = np.arange(many) // 20
    return np.where(rng.random(many) < rng.beta(0.5, 0.5, users[-1] + 1)[users], 1.0, -1.0), users


@pytest.mark.simulation
@pytest.mark.parametrize("draw", [single_lists, returning_users, heavy_users])
def test_false_alarms_under_200_looks(draw):
    """From the first lists on, without a preference: at any time at most 5 %, by Student's t many."""
    rng, alarms = np.random.default_rng(31), np.zeros(2)
    for _ in range(300):
        outcomes, users = draw(rng, 2000)
        looks = [
            [_estimate(outcomes[:n], users[:n], 0.95, tuning).p for tuning in (500, None)] for n in range(10, 2001, 10)
        ]
        alarms += np.min(looks, axis=0) <= 0.05
    watched, fixed = alarms / 300
    print(f"{draw.__name__}: {watched:.4f}, by Student's t {fixed:.4f}")
    assert watched <= 0.05
    assert fixed > 0.2
