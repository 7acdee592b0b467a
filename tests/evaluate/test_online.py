"""`rs.Online`: over a replayed log, in any order within the horizon, it says what `rs.evaluate` says of the window."""

import json
import math
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankstone as rs
from tests.effort import examples

from .listed import SHOWN, some_lists

HORIZON, WINDOW = 10, 30
METRICS = ["hit_rate@2", "rr", "ndcg@3", "precision@2"]


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15, nan_ok=True)


# -- logs ----------------------------------------------------------------------------------------------------

items = st.permutations("abcde").map(lambda order: order[:4])
outcomes = st.lists(
    st.tuples(st.integers(0, HORIZON - 1), st.sampled_from("abcdex"), st.sampled_from([1.0, 2.0])), max_size=4
)
logs = st.lists(st.tuples(st.integers(0, 80), items, outcomes, st.sampled_from(["FI", "SE"])), min_size=1, max_size=20)


def replay(online, log, data=None, stop=None):
    """Tell of every event; with `data`, in any order in which each comes before its list is settled."""
    events = []
    for number, (time, shown, acts, country) in enumerate(log):
        acts_of = [("outcome", time + after, (item, grade)) for after, item, grade in acts]
        for name, at, what in (("served", time, (shown, country)), *acts_of):
            arrives = at if data is None else data.draw(st.integers(at, time + HORIZON - 1))
            events.append((arrives, number, name, at, what))
    if data is not None:
        events = data.draw(st.permutations(events))
    events = sorted(events, key=lambda event: event[0])
    for at, event in enumerate(events):
        if at == stop:
            state = json.loads(json.dumps(online.state_dict()))
            online = make()
            online.load_state_dict(state)
        tell(online, *event[1:])
    return online


def tell(online, number, name, at, what):
    if name == "served":
        online.log_impression(number, what[0], time=at, country=what[1])
    else:
        online.log_feedback(number, what[0], time=at, grade=what[1])


def make(**choices):
    return rs.Online(METRICS, window=WINDOW, horizon=HORIZON, ahead=math.inf, by="country", **choices)


def log_one(items, time=0, **fields):
    return make().log_impression(1, items, time=time, **fields)


def want(log, end, metrics=METRICS, country=None, **choices):
    """What `rs.evaluate` makes of the lists in the window and of their outcomes."""
    inside = [one for one in log if end - WINDOW < one[0] <= end and country in (None, one[3])]
    truth = {}
    for number, (_, _, acts, _) in enumerate(inside):
        truth[number] = {}
        for _, item, grade in acts:
            truth[number][item] = max(grade, truth[number].get(item, grade))
    return rs.evaluate(truth, {number: one[1] for number, one in enumerate(inside)}, metrics, **choices)


@pytest.mark.parametrize("choices", [{}, {"averaging": "micro"}, {"undefined": "skip"}, {"threshold": 2}], ids=str)
@given(logs, st.integers(0, 40), st.data())
@examples(0.625)
def test_the_window_of_a_replayed_log(choices, log, later, data):
    online = replay(make(**choices), log, data)
    clock = max(time + after for time, _, acts, _ in log for after in (0, *(act[0] for act in acts))) + later
    online.advance_to(clock)
    found = online.compute()
    assert (found.start, found.end) == (clock - HORIZON - WINDOW, clock - HORIZON)
    expected = want(log, found.end, **choices)
    for metric in METRICS:
        assert found[metric].mean == near(expected[metric])
        assert found[metric].lists == np.isfinite(expected.per_query[metric]).sum()
    countries = {one[3] for one in log if found.start < one[0] <= found.end}
    assert found.by.keys() == countries
    for country in countries:
        own = want(log, found.end, country=country, **choices)
        assert {name: one.mean for name, one in found.by[country].items()} == near(dict(own))
    account = online.counters
    assert account["outcomes"] == sum(len(acts) for _, _, acts, _ in log)
    assert account["lists"] + account["lists that wait"] == len(log)
    assert {account[name] for name in account if "late" in name or "outcomes " in name} == {0}


@given(logs, st.data())
@examples(0.625)
def test_saved_and_restored_anywhere_nothing_is_lost(log, data):
    whole = replay(make(), log)
    events = sum(1 + len(one[2]) for one in log)
    restored = replay(make(), log, data, stop=data.draw(st.integers(0, events - 1)))
    for online in (whole, restored):
        online.advance_to(95)
    assert repr(whole.compute()) == repr(restored.compute())
    for metric in METRICS:
        assert repr(whole.compute()[metric]) == repr(restored.compute()[metric]), "not the same to the last bit"
    assert whole.counters == restored.counters
    assert repr(pickle.loads(pickle.dumps(restored)).compute()) == repr(whole.compute())


@pytest.mark.filterwarnings("ignore:.*final lists are lost")
@given(logs, st.data())
@examples(0.625)
def test_servers_that_are_merged_say_what_one_would(log, data):
    whole, servers = replay(make(), log), [make(), make(), make()]
    shares = [data.draw(st.sampled_from(servers)) for _ in log]
    for server in servers:  # as in one log, but for its own lists only
        mine = [number for number, share in enumerate(shares) if share is server]
        alone = replay(make(), [log[number] for number in mine])
        state = alone.state_dict()
        for row in (*state["lists"], *state["early"]):
            row[0] = mine[row[0]]
        state["settled"]["ids"] = [mine[one] for one in state["settled"]["ids"]]
        server.load_state_dict(state)
    first, *others = data.draw(st.permutations(servers))
    for other in others:
        before = repr(other.state_dict())
        assert first.merge(other) is first
        assert repr(other.state_dict()) == before
    later = data.draw(st.integers(90, 130))
    for online in (whole, first):
        online.advance_to(later)
    assert repr(first.compute()) == repr(whole.compute())
    for metric in METRICS:
        assert repr(first.compute()[metric]) == repr(whole.compute()[metric]), "not the same to the last bit"
    assert first.counters == whole.counters


def test_an_outcome_finds_its_list_at_another_server():
    one, other = (rs.Online("rr", window=100, horizon=10) for _ in range(2))
    one.log_impression("l1", ["a", "b"], time=0)
    one.log_impression("l2", ["a", "b"], time=20)  # so l1 is settled here
    other.log_feedback("l1", "a", time=12)
    other.log_feedback("l2", "b", time=21)
    one.log_feedback("l3", "a", time=22)
    other.log_impression("l3", ["b", "a"], time=21)
    one.merge(other)
    assert one.counters["late outcomes"] == 1
    assert one.counters["outcomes"] == 2
    one.advance_to(40)
    assert one.compute()["rr"].mean == (0 + 1 / 2 + 1 / 2) / 3
    with pytest.raises(ValueError, match="list 'l3' is in both"):
        one.merge(other)
    with pytest.raises(ValueError, match="cannot be merged with itself"):
        one.merge(one)
    with pytest.raises(ValueError, match="the two differ in their metrics"):
        one.merge(rs.Online("rr", window=9, horizon=10))
    with pytest.raises(TypeError, match="not with dict"):
        one.merge({})


def test_feedback_of_a_faster_server_finds_its_list():
    """Merged once a day with a horizon of an hour: the clock of the other is a day ahead."""
    day, hour = 86_400, 3_600
    first, second = (rs.Online("rr", window=7 * day, horizon=hour) for _ in range(2))
    first.log_impression("evening", ["a", "b"], time=day - 60)
    second.log_feedback("evening", "b", time=day + 60)
    second.log_impression("next evening", ["a"], time=2 * day - 60)
    assert second.counters["outcomes without a list"] == 1
    first.merge(second)
    first.advance_to(2 * day + hour)
    assert first.compute()["rr"].mean == (1 / 2 + 0) / 2
    assert first.counters["outcomes without a list"] == 0


@pytest.mark.parametrize("fresh", [True, False], ids=["new every morning", "restored every morning"])
def test_three_days_merged_every_night_are_one_process(fresh):
    """Two servers of lists and clicks; feedback comes within two hours, at either of them, also after midnight."""
    day, hour, random = 86_400, 3_600, np.random.default_rng(5)
    settings = {"metrics": ["rr", "hit_rate@2"], "window": "7d", "horizon": "26h", "by": "country"}
    events = []
    for number in range(300):
        served = float(random.uniform(0, 3 * day))
        shown = random.permutation(list("abcde")).tolist()
        events.append((served, "list", number, shown, str(random.choice(["FI", "SE"]))))
        later = served + random.uniform(0, 2 * hour, random.poisson(0.7))
        events.extend((time, "click", number, str(random.choice(shown)), "") for time in later.tolist())
    whole, total = rs.Online(**settings), rs.Online(**settings)
    nightly = [0.0] * 4
    for today in range(4):  # on the last one there are clicks only
        servers = [rs.Online(**settings) for _ in range(2)]
        if not fresh:  # one of them is the process of yesterday, with all that was merged
            servers[0].load_state_dict(json.loads(json.dumps(total.state_dict())))
        for time, kind, number, what, country in sorted(event for event in events if event[0] // day == today):
            for online in (whole, servers[int(random.integers(2))]):
                if kind == "list":
                    online.log_impression(number, what, time=time, country=country)
                else:
                    online.log_feedback(number, what, time=time)
        total = total if fresh else rs.Online(**settings)
        for server in servers:
            saved = rs.Online(**settings)
            saved.load_state_dict(json.loads(json.dumps(server.state_dict())))
            total.merge(saved)
        nightly[today] = total.compute().counters["lists"]
    for online in (whole, total):
        online.advance_to(5 * day)
    assert nightly[0] < nightly[1] < nightly[2] < 300  # some were final at each merge
    assert whole.counters == total.counters
    assert total.counters["lists"] == 300
    assert total.counters["outcomes"] == sum(event[1] == "click" for event in events)
    assert repr(total.compute()) == repr(whole.compute())


def test_feedback_that_is_merged_too_late_is_reported():
    """Lists at one server, feedback at another: what is final in the morning cannot be joined in the evening."""
    lists, clicks = (rs.Online("rr", window=10_000, horizon=10) for _ in range(2))
    for time in range(0, 100, 5):
        lists.log_impression(time, ["a", "b"], time=time)
        clicks.log_feedback(time, "b", time=time + 1)
        clicks.advance_to(time + 1)
    lists.compute()
    restored = rs.Online("rr", window=10_000, horizon=10)
    restored.load_state_dict(json.loads(json.dumps(clicks.state_dict())))
    with pytest.warns(rs.errors.MergeWarning, match=r"^18 outcomes of 18 lists are lost.*horizon= longer"):
        lists.merge(restored)
    lists.advance_to(200)
    found = lists.compute()
    assert found["rr"].mean == pytest.approx(2 * (1 / 2) / 20)
    assert found.counters["outcomes merged too late"] == 18
    assert "outcomes merged too late: 18" in str(found)
    assert found.counters["outcomes"] == 2
    assert found.counters["outcomes without a list"] == found.counters["late outcomes"] == 0


def test_lists_of_a_slow_server_come_before_those_of_a_fast_one():
    fast, slow = (rs.Online("rr", window=50, horizon=10) for _ in range(2))
    for time in (60, 70, 95, 120):
        fast.log_impression(time, ["a"], time=time)
    for time in (40, 62, 69):
        slow.log_impression(time - 1, ["a"], time=time - 1)
    with pytest.warns(rs.errors.MergeWarning, match="1 final lists are lost.* clocks are 52 apart"):
        fast.merge(slow)  # settles all up to 110; the window begins after 60
    assert fast.state_dict()["settled"]["times"] == [61, 68, 70, 95]
    fast.advance_to(121)
    assert fast.state_dict()["settled"]["times"] == [68, 70, 95]
    fast.reset()
    assert fast.counters == rs.Online("rr", window=50, horizon=10).counters
    fast.log_impression(70, ["a"], time=1)
    assert fast.compute()["rr"].lists == 0


def test_threads_lose_nothing(together):
    online = rs.Online("rr", window=10_000, horizon=1)
    for start in range(0, 2000, 100):

        def tell_some(share, start=start):
            for number in range(start + share, start + 100, 4):
                online.log_impression(number, ["a", "b"], time=start)
                online.log_feedback(number, "b", time=start)

        together(tell_some, range(4))
        online.advance_to(start + 50)
        together(lambda _: online.compute(), range(4))
    assert online.compute()["rr"] == (1 / 2, 1 / 2, 1 / 2, 2000)


def broken(change):
    online = rs.Online(["rr", "recall"], window=100, horizon=10)
    for number, time in enumerate((1, 2, 30, 31)):
        online.log_impression(number, ["a", "b"], time=time)
        online.log_feedback(number, "a", time=time)
        online.log_feedback(f"nobody's {number}", "a", time=time)
    state = json.loads(json.dumps(online.state_dict()))
    change(state)
    return lambda: rs.Online(["rr", "recall"], window=100, horizon=10).load_state_dict(state)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("lists"),
        lambda state: state.update(lists=None),
        lambda state: state["lists"].append(state["lists"][0]),
        lambda state: state["lists"][0].pop(),
        lambda state: state["lists"][0].__setitem__(5, [0.5]),
        lambda state: state["lists"][0].__setitem__(5, [0.5, "x"]),
        lambda state: state.update(times="noon"),
        lambda state: state.update(times=None),
        lambda state: state.update(scored=2),
        lambda state: state["lists"][0].__setitem__(1, "noon"),
        lambda state: state["lists"][0].__setitem__(1, 99),
        lambda state: state["lists"][0].__setitem__(2, "ab"),
        lambda state: state["lists"][0].__setitem__(4, [["a", math.nan]]),
        lambda state: state["lists"][0].__setitem__(0, 0),
        lambda state: state["early"][0].__setitem__(1, math.inf),
        lambda state: state["early"][0].pop(),
        lambda state: state.update(clock="now"),
        lambda state: state["counts"].update(lists=-1),
        lambda state: state["counts"].update(more=1),
        lambda state: state["settled"].pop("times"),
        lambda state: state["settled"]["times"].reverse(),
        lambda state: state["settled"]["times"].pop(),
        lambda state: state["settled"]["ids"].__setitem__(0, 1),
        lambda state: state["settled"]["segments"].pop(),
        lambda state: state["settled"]["tops"].pop(),
        lambda state: state["settled"]["tops"][0].pop(),
        lambda state: state["settled"]["bottoms"].__setitem__(0, ["x", "y"]),
        lambda state: state["settled"]["counted"][0].__setitem__(0, 0.5),
        lambda state: state["settled"]["counted"].__setitem__(0, [0, 1]),
    ],
)
def test_a_broken_state_is_refused(change):
    with pytest.raises(ValueError, match="the state of this Online is broken"):
        broken(change)()


def test_no_state_at_all():
    online = rs.Online("rr", window=100, horizon=10)
    for state in ({}, None, [], {"settings": {}}, {"settings": None}):
        with pytest.raises(ValueError, match="this is not a state of this Online"):
            online.load_state_dict(state)
    broken(lambda _: None)()  # the one above is whole


def test_many_lists_and_bounded_memory():
    """10,000 lists, one a second: what is kept is that of the window and the horizon."""
    random = np.random.default_rng(1)
    online = rs.Online(["rr"], window=500, horizon=60)
    ranks = random.integers(1, 8, 10_000)
    for number, rank in enumerate(ranks.tolist()):
        online.log_impression(number, list("abcdefgh"), time=number)
        online.log_feedback(number, "abcdefgh"[rank - 1], time=number + 0.5)
        online.log_feedback(f"nobody's {number}", "a", time=number)
        if number % 1000 == 999:
            found = online.compute()["rr"]
            assert found.mean == near(np.mean(1 / ranks[max(number - 60 - 499, 0) : number - 60 + 1]))
            state = online.state_dict()
            assert len(state["settled"]["ids"]) <= 500
            assert len(state["lists"]) <= 61
            assert len(state["early"]) <= 561  # another server may have served their list
    assert online.counters["outcomes without a list"] == 10_000 - 60


# -- what comes when -----------------------------------------------------------------------------------------


def test_by_hand():
    online = rs.Online(["hit_rate@2", "rr"], window=100, horizon=10)
    online.log_feedback("l2", "c", time=12)  # before its list
    online.log_impression("l1", ["a", "b", "c"], time=5)
    online.log_impression("l2", ["a", "b", "c"], time=11)
    online.log_feedback("l1", "b", time=14)
    online.log_impression("l3", ["a", "b"], time=13)  # nobody does anything
    assert online.compute()["rr"].lists == 0  # nothing is settled yet
    assert math.isnan(online.compute()["rr"].mean)
    online.advance_to(15)
    assert online.compute()["rr"] == (
        1 / 2,
        pytest.approx(math.nan, nan_ok=True),
        pytest.approx(math.nan, nan_ok=True),
        1,
    )
    online.advance_to(23)
    assert online.compute()["rr"].mean == near((1 / 2 + 1 / 3 + 0) / 3)
    assert online.compute()["hit_rate@2"].mean == near((1 + 0 + 0) / 3)
    online.advance_to(114.5)
    assert online.compute()["rr"].lists == 3
    online.advance_to(115)
    assert online.compute()["rr"].mean == near((1 / 3 + 0) / 2)  # the first one has left
    online.advance_to(1000)
    assert online.compute()["rr"].lists == 0


def test_what_is_too_late_or_unknown_is_counted():
    online = rs.Online("rr", window=100, horizon=10)
    online.log_impression("l1", ["a", "b"], time=0)
    online.log_feedback("nobody's", "a", time=3)
    online.log_feedback("l1", "a", time=10)  # at the horizon
    assert online.counters["late outcomes"] == 1
    online.advance_to(10)
    online.log_impression("l2", ["a"], time=0)
    assert online.counters["late lists"] == 1
    online.log_impression("l3", ["a"], time=5)  # not yet
    online.log_feedback("l3", "a", time=4)
    assert online.counters["outcomes before their list"] == 1
    online.log_feedback("l4", "a", time=0)
    assert online.counters["late outcomes"] == 2
    assert online.counters["outcomes that wait"] == 1
    online.log_feedback("l5", "a", time=1_700_000_000_000)
    assert online.counters["outcomes that wait"] == 1
    online.advance_to(13)
    assert online.counters["outcomes without a list"] == 1
    assert online.counters == {
        "lists": 1, "late lists": 1, "outcomes": 0, "late outcomes": 2, "outcomes before their list": 1,
        "outcomes without a list": 1, "outcomes far ahead": 1, "lists taken back": 0, "outcomes merged too late": 0,
        "lists that wait": 1, "outcomes that wait": 0,
    }  # fmt: skip
    online.advance_to(15)
    assert online.compute()["rr"].mean == 0
    assert "\nnot used: late lists: 1; late outcomes: 2; outcomes before their list: 1;" in str(online.compute())
    assert repr(online) == "Online(rr; 2 final lists)"


def test_the_highest_grade_of_an_item_counts():
    online = rs.Online("dcg", window=100, horizon=10)
    online.log_impression("l1", ["a", "b"], time=0)
    for grade in (1, 3, 2):  # a click, a purchase, and something between
        online.log_feedback("l1", "b", time=grade, grade=grade)
    online.advance_to(10)
    assert online.compute()["dcg"].mean == near(3 / math.log2(3))


def test_datetimes():
    noon = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
    online = rs.Online("rr", window=timedelta(hours=1), horizon=timedelta(minutes=1))
    online.log_impression("l1", ["a"], time=noon)
    online.log_feedback("l1", "a", time=(noon + timedelta(seconds=59)).astimezone(timezone(timedelta(hours=3))))
    online.log_impression("l2", ["a"], time="2024-05-01T12:00:00Z")
    online.advance_to("2024-05-01 15:01:00+03:00")
    found = online.compute()
    assert found["rr"].mean == 1 / 2
    assert found.end == noon.timestamp()
    assert str(found).startswith("lists served after 2024-05-01 11:00:00 UTC and up to 2024-05-01 12:00:00 UTC; ")


@pytest.mark.parametrize(
    "time",
    ["2024-05-01T12:00:00", datetime(2024, 5, 1, 12), np.datetime64("2024-05-01T12:00"), pd.Timestamp("2024-05-01 12")],
    ids=lambda time: type(time).__name__,
)
def test_a_time_without_a_zone_is_in_utc(time):
    online = rs.Online("rr", window="1h")
    online.advance_to(time)
    assert online.compute().end == 1_714_564_800  # date -u -d 2024-05-01T12:00 +%s


ONE_OF_EACH_KIND = [1_714_564_801, "2024-05-01T12:00:01", datetime(2024, 5, 1, 12, 0, 1, tzinfo=timezone.utc)]


@pytest.mark.parametrize("call", [
    lambda online, time: online.log_impression("l2", ["a"], time=time),
    lambda online, time: online.log_feedback("l1", "a", time=time),
    lambda online, time: online.advance_to(time),
    lambda online, time: online.merge(told(time)),
    lambda online, time: restored(online).advance_to(time),
], ids=["served", "outcome", "advance", "merge", "restored"])  # fmt: skip
@pytest.mark.parametrize("first", ONE_OF_EACH_KIND, ids=["number", "text", "zone"])
@pytest.mark.parametrize("time", ONE_OF_EACH_KIND, ids=["number", "text", "zone"])
def test_all_times_are_of_one_kind(call, first, time):
    online = told(first)
    before = online.state_dict()
    if time == first:
        call(online, time)
        return
    with pytest.raises(ValueError, match=r"times .*were .*(not|the other) .*; use one kind for all"):
        call(online, time)
    assert online.state_dict() == before


def told(time):
    online = rs.Online("rr", window="1h", horizon="1min")
    online.advance_to(time)
    return online


def restored(online):
    again = rs.Online("rr", window="1h", horizon="1min")
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    return again


@pytest.mark.parametrize(
    ("span", "seconds"),
    [("1h", 3600), ("30min", 1800), ("90s", 90), ("5m", 300), ("1d 12h", 129_600), ("1.5h", 5400), ("2w", 1_209_600)],
)
def test_spans_in_words(span, seconds):
    online = rs.Online("rr", window=span, horizon=span, ahead=span)
    assert (online.window, online.horizon, online.ahead) == (seconds, seconds, seconds)
    assert rs.Online("rr", half_life=span).half_life == seconds


# -- times that are wrong ------------------------------------------------------------------------------------


def test_an_outcome_does_not_move_the_clock():
    online = rs.Online("rr", window=3600, horizon=10)
    online.log_impression(1, [1], time=1.0)
    online.log_feedback(1, 1, time=2)
    online.log_feedback(1, 1, time=1_700_000_000_000)  # a client's milliseconds
    online.log_impression(2, [1], time=3.0)
    online.advance_to(13)
    assert online.compute()["rr"][::3] == (1 / 2, 2)
    assert online.counters["late outcomes"] == 1


@pytest.mark.parametrize(("horizon", "ahead"), [(10, None), (None, None), (10, 50)])
def test_a_list_far_ahead_is_an_error_and_nothing_is_lost(horizon, ahead):
    online = rs.Online("rr", window=100, horizon=horizon, ahead=ahead)
    limit = ahead or 100 + (horizon or 0)
    online.log_impression("l1", ["a"], time=1)
    before = online.state_dict()
    with pytest.raises(
        ValueError, match=rf"list 'l2' is served at .* past the clock, which is 1; a list may be {limit}"
    ):
        online.log_impression("l2", ["a"], time=1 + limit + 1)
    assert online.state_dict() == before
    online.log_impression("l2", ["a"], time=1 + limit)
    online.advance_to(9_999_999)  # said on purpose
    online.log_impression("l3", ["a"], time=9_999_999)
    assert online.counters["late lists"] == 0


def test_milliseconds_beside_hours():
    online = rs.Online("rr", window="1h")
    with pytest.raises(
        ValueError, match=r"time 1700000000000 would be after the year 5000: .* divide milliseconds by 1000"
    ):
        online.log_impression("l1", ["a"], time=1_700_000_000_000)
    rs.Online("rr", window=3_600_000).log_impression("l1", ["a"], time=1_700_000_000_000)  # all in milliseconds


@pytest.mark.parametrize("computed", [False, True])
def test_the_way_back(computed):
    online = rs.Online("rr", window=100, horizon=10)
    for number, time in enumerate((1, 8, 20)):
        online.log_impression(number, ["a", "b"], time=time)
        online.log_feedback(number, "b", time=time + 1)
    online.advance_to(95)  # by mistake
    online.log_impression("wrong", ["a"], time=95)
    online.log_feedback("nobody's", "a", time=95)
    if computed:  # then the list of time 20 has been settled
        online.compute()
    with pytest.raises(ValueError, match="time 96 is after the clock, which is 95"):
        online.reset_clock(96)
    online.reset_clock(22)
    assert online.counters["lists taken back"] == 1 + computed
    assert online.counters["outcomes without a list"] == 1
    online.log_impression("right", ["b"], time=22)
    online.log_feedback("right", "b", time=23)
    again = rs.Online("rr", window=100, horizon=10)
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    for both in (online, again):
        both.advance_to(32)
        assert both.compute()["rr"][::3] == ((near(2 / 3), 3) if computed else (near(2.5 / 4), 4))


def test_servers_whose_clocks_are_far_apart():
    here, there = (rs.Online("rr", window=100, horizon=10) for _ in range(2))
    here.log_impression("l1", ["a"], time=1)
    there.log_impression("l2", ["a"], time=5_000)
    for one, other in ((here, there), (there, here)):
        with pytest.raises(ValueError, match="the clocks are 4,999 apart"):
            one.merge(other)
    here.advance_to(4_995)
    here.merge(there)


@pytest.mark.parametrize("window", [None, math.inf])
@pytest.mark.parametrize("horizon", [None, 10])
def test_no_window(window, horizon):
    online = rs.Online("rr", window=window, horizon=horizon)
    for time in (0, 1_000, 1_000_000):
        online.log_impression(time, ["a", "b"], time=time)
    online.log_feedback(1_000_000, "b", time=1_000_009)
    online.advance_to(1_000_010)
    again = rs.Online("rr", horizon=horizon)
    again.load_state_dict(json.loads(json.dumps(online.state_dict(), allow_nan=False)))
    for both in (online, again):
        assert both.compute()["rr"][::3] == (near(1 / 6), 3)
    assert str(online.compute()).startswith(f"lists served up to {1_000_010 - (horizon or 0)}; ")


# -- lists with scores ---------------------------------------------------------------------------------------

SCORED = {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.9}


@pytest.mark.parametrize(
    "items",
    [
        SCORED,
        list(SCORED.items()),
        list(map(list, SCORED.items())),
        [(item, np.float32(score)) for item, score in SCORED.items()],
    ],
    ids=["dict", "pairs", "JSON", "NumPy"],
)
@pytest.mark.parametrize("ties", ["item_desc", "item_asc", "input", "expected"])
@pytest.mark.parametrize("clicked", ["b", "c"])
def test_a_scored_list_stands_by_score(items, ties, clicked):
    online = rs.Online("rr", window=100, horizon=10, ties=ties)
    online.log_impression("l1", items, time=0)
    online.log_feedback("l1", clicked, time=1)
    again = rs.Online("rr", window=100, horizon=10, ties=ties)
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    # Two have 0.9; d has the higher id, b came first.
    first = {"item_desc": 1 / 2, "item_asc": 1, "input": 1, "expected": (1 + 1 / 2) / 2}[ties]
    for both in (online, again):
        both.advance_to(10)
        assert both.compute()["rr"].mean == (first if clicked == "b" else 1 / 3)


def test_definitions_speak_of_what_served_lists_have():
    online = rs.Online("rr", window=100)
    online.log_impression("l1", ["a"], time=0)
    assert "missing" not in str(online.definitions["rr"])
    assert "unjudged queries" not in str(online.definitions["rr"])
    assert "ties" not in str(online.definitions["rr"])
    assert online.definitions["rr"].choices == rs.define("rr").choices
    online.log_impression("l2", {"a": 1}, time=0)
    assert "ties broken by item id, descending" in str(online.compute())


def test_segments_of_several_words():
    def fresh():
        return rs.Online("rr", window=100, horizon=10, by=["variant", "country"])

    online = fresh()
    for number, (variant, country) in enumerate([("A", "FI"), ("A", "SE"), ("B", "FI"), ("A", "FI")]):
        online.log_impression(number, ["a", "b"], time=number, variant=variant, country=country)
    online.log_feedback(0, "b", time=3)
    online.log_feedback(2, "a", time=3)
    online.advance_to(12)
    again = fresh()
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    for both in (online, again, pickle.loads(pickle.dumps(online))):
        both.advance_to(13)
        found = both.compute()
        means = {segment: found.by[segment]["rr"].mean for segment in found.by}
        assert means == {("A", "FI"): 1 / 4, ("A", "SE"): 0, ("B", "FI"): 1}
    table = found.to_pandas()
    assert table.columns.tolist() == ["variant", "country", "metric", "mean", "low", "high", "lists"]
    assert table[["variant", "country"]].fillna("-").agg("".join, axis=1).tolist() == ["--", "AFI", "ASE", "BFI"]
    assert table["mean"].tolist() == [3 / 8, 1 / 4, 0, 1]
    assert found.to_arrow()["lists"].to_pylist() == found.to_dict()["estimates"]["lists"] == [4, 2, 1, 1]
    assert str(found).splitlines()[4].split()[:4] == ["A", "FI", "rr", "0.2500"]
    assert "<td style='text-align:left'>SE</td>" in found._repr_html_()
    assert "country" in rs.Online("rr", by=["country"]).compute().to_dict()["estimates"]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: rs.Online("rr", window=0, horizon=1), "window=0; give a time above 0"),
        (lambda: rs.Online("rr", window=1, horizon=timedelta(0)), "horizon=.*; give a time above 0"),
        (lambda: rs.Online("rr", window=1, horizon=math.inf), "horizon=inf; give a time above 0"),
        (lambda: rs.Online("rr", window="an hour"), "window='an hour'; write it as '1h', '30min' or '1d 12h'"),
        (lambda: rs.Online("rr", by=["a", "a"]), r"by=\['a', 'a'\]; give the segment keywords .*, each once"),
        (lambda: rs.Online("rr", by=[]), r"by=\[\]; give the segment keywords of log_impression"),
        (lambda: rs.Online("rr", by="time"), "'time' is reserved"),
        (lambda: rs.Online("rr", window=1, horizon=1, confidence=95), "confidence=95; give a number between 0 and 1"),
        (lambda: rs.Online("rr", window=1, horizon=1, averaging="geometric"), "averaging='geometric' is not one sum"),
        (lambda: rs.Online("mae", window=1, horizon=1), "mae measures predicted ratings; choose metrics of lists"),
        (lambda: rs.Online("err", window=1, horizon=1), "err uses the highest grade over all queries"),
        (lambda: log_one(["a"]), "list 1: it has the segment keywords none; expected: country=, and no other"),
        (lambda: log_one(["a"], country="FI", age=3), "list 1: it has the segment keywords country, age; expected"),
        (lambda: log_one(["a"], country=["FI"]), "list 1: .*unhashable"),
        (lambda: log_one("ab", country="FI"), "list 1: its items are 'ab'; give them in a list"),
        (lambda: log_one({"a", "b"}, country="FI"), "list 1: its items are {.*; give them in a"),
        (lambda: log_one({"a": math.nan}, country="FI"), "list 1: item 'a': score nan is not a"),
        (lambda: log_one({"a": "2"}, country="FI"), "list 1: item 'a': score '2' is not a number"),
        (lambda: log_one([("a", 1), ("a", 2)], country="FI"), "list 1: item 'a' appears twice"),
        (lambda: log_one([("a", 1), "b"], country="FI"), "item 'b' has no score, but .'a', 1. seems"),
        (lambda: make().log_feedback(1, ("a", 1), time=0), "list 1, item .*: this is an item with its score"),
        (lambda: make().advance_to("noon"), "time 'noon' is not a time; give a number, a datetime, or text such as"),
        (lambda: make().advance_to("20240501"), "time '20240501' is not a time; give a number"),
        (lambda: make().advance_to(None), "time None is not a time; give a number"),
        (lambda: log_one(["a", "b", "a"], country="FI"), "list 1: item 'a' appears twice"),
        (lambda: log_one(["a"], time=math.nan, country="FI"), "time nan is not a finite number"),
        (lambda: make().log_feedback(1, "a", time=0, grade=math.inf), "list 1, item 'a': grade inf is not a finite"),
        (lambda: make().load_state_dict(make(threshold=2).state_dict()), "the state has another choices"),
        (lambda: make().load_state_dict(rs.Online("ndcg(gain='exp2')@3").state_dict()), "has another metrics"),
        (lambda: make().load_state_dict(rs.Online(METRICS, window=9, horizon=10).state_dict()), "another window: 9.0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        call()


def test_a_list_is_served_once():
    online = rs.Online("rr", window=100, horizon=10)
    online.log_impression("l1", ["a"], time=0)
    with pytest.raises(ValueError, match="list 'l1' was served before"):
        online.log_impression("l1", ["a"], time=1)
    online.advance_to(50)
    online.compute()
    with pytest.raises(ValueError, match="list 'l1' was served before"):
        online.log_impression("l1", ["a"], time=51)


def test_a_restored_state_knows_what_was_and_what_waits():
    online = rs.Online("rr", window=100, horizon=10)
    online.log_impression("l1", ["a"], time=0)
    online.log_feedback("nobody's", "a", time=9)
    online.advance_to(12)
    restored = rs.Online("rr", window=100, horizon=10)
    restored.load_state_dict(online.state_dict())
    with pytest.raises(ValueError, match="list 'l1' was served before"):
        restored.log_impression("l1", ["a"], time=12)
    restored.log_feedback("l1", "a", time=13)
    restored.advance_to(19)
    assert restored.counters["late outcomes"] == 1
    assert restored.counters["outcomes without a list"] == 1
    assert online.counters["outcomes that wait"] == 1  # it has a state of its own


def test_a_list_without_outcomes_may_be_an_error_and_is_not_lost():
    online = rs.Online("recall", window=100, horizon=10, undefined="error")
    online.log_impression("l1", ["a"], time=0)
    online.advance_to(10)
    for _ in range(2):
        with pytest.raises(ValueError, match="recall: the value is undefined: its denominator is 0 in list 'l1'"):
            online.compute()


# -- intervals -----------------------------------------------------------------------------------------------


def fed(metrics, lists=400, seed=4, step=1.0, **options):
    """Served lists with zero to three clicks; and each list's values by `rs.evaluate`."""
    random = np.random.default_rng(seed)
    online = rs.Online(metrics, horizon=10, **options)
    truth, run = {}, {}
    for number in range(lists):
        run[number] = [f"i{one}" for one in random.permutation(12)[:6]]
        truth[number] = {f"i{one}": 1.0 for one in random.permutation(12)[: random.integers(0, 4)]}
        online.log_impression(number, run[number], time=number * step)
        for item in truth[number]:
            online.log_feedback(number, item, time=number * step + 1)
    online.advance_to((lists - 1) * step + 10)
    return online.compute(), rs.evaluate(truth, run, metrics, **{k: v for k, v in options.items() if k == "averaging"})


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_of_a_mean_is_students(confidence):
    found, result = fed(["rr", "ndcg"], window=1000, confidence=confidence)
    for metric in ("rr", "ndcg"):
        values = result.per_query[metric]
        low, high = stats.ttest_1samp(values, 0).confidence_interval(confidence)
        assert found[metric] == (near(values.mean()), near(low), near(high), 400)


def test_the_interval_of_a_ratio_of_sums_is_that_of_a_bootstrap():
    found, result = fed(["recall@3"], lists=1500, window=2000, averaging="micro")
    earned, possible = result._measurement.ratio("recall@3")[:2]
    random = np.random.default_rng(8)
    drawn = random.integers(0, 1500, (4000, 1500))
    low, high = np.quantile(earned[drawn].sum(1) / possible[drawn].sum(1), [0.025, 0.975])
    assert found["recall@3"].mean == near(earned.sum() / possible.sum())
    width = high - low
    assert found["recall@3"].low == pytest.approx(low, abs=0.08 * width)
    assert found["recall@3"].high == pytest.approx(high, abs=0.08 * width)


def test_a_decaying_window():
    found, result = fed(["rr"], lists=1500, half_life=200)
    weights = 0.5 ** (np.arange(1500)[::-1] / 200)
    values = result.per_query["rr"]
    mean = np.average(values, weights=weights)
    assert found["rr"].mean == near(mean)
    assert found["rr"].lists == 1500
    many = weights.sum() ** 2 / (weights**2).sum()
    spread = np.sqrt(np.sum((weights * (values - mean)) ** 2) * many / (many - 1)) / weights.sum()
    reach = stats.t.ppf(0.975, many - 1) * spread
    assert found["rr"][1:3] == (near(mean - reach), near(mean + reach))
    random = np.random.default_rng(8)
    drawn = random.integers(0, 1500, (4000, 1500))
    low, high = np.quantile((weights * values)[drawn].sum(1) / weights[drawn].sum(1), [0.025, 0.975])
    assert found["rr"].low == pytest.approx(low, abs=0.08 * (high - low))
    assert found["rr"].high == pytest.approx(high, abs=0.08 * (high - low))


def test_a_decaying_window_forgets():
    online = rs.Online("rr", half_life=1, horizon=1)
    assert online.window == 40
    found, _ = fed(["rr"], lists=100, half_life=1)
    assert found["rr"].lists == 40  # after forty half-lives
    found, _ = fed(["rr"], lists=100, half_life=1, window=5)
    assert found["rr"].lists == 5


def clicked(metric, ranks, **options):
    """Lists whose item of a rank was clicked."""
    online = rs.Online(metric, window=100, horizon=1, **options)
    for number, rank in enumerate(ranks):
        online.log_impression(number, ["a", "b", "c"], time=0)
        online.log_feedback(number, " abcd"[rank], time=0)
    online.advance_to(1)
    return online.compute()[metric]


def test_an_interval_stays_within_the_bounds():
    found = clicked("rr", [1, 1, 1, 2])
    assert found.mean == 7 / 8
    assert 0 <= found.low < found.mean < found.high == 1


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize(("hits", "lists"), [(2, 2), (0, 3), (3, 4), (17, 40)])
@pytest.mark.parametrize("averaging", ["macro", "micro"])
def test_the_interval_of_a_share_is_wilsons(averaging, hits, lists, confidence):
    found = clicked("hit_rate@1", [1] * hits + [2] * (lists - hits), confidence=confidence, averaging=averaging)
    low, high = stats.binomtest(hits, lists).proportion_ci(confidence, method="wilson")
    assert found == (hits / lists, near(low), near(high), lists)


def test_lists_that_are_worth_more_than_a_share_have_students_interval():
    found = clicked("dcg", [1, 1])  # 0 and 1 are not all it can be
    assert found == (1, 1, 1, 2)


def test_it_prints_a_table():
    online = make()
    online.log_impression(1, ["a"], time=0, country="FI")
    online.log_feedback(1, "a", time=0)
    online.advance_to(10)
    title, *lines = str(online.compute()).splitlines()
    assert title == "lists served after -30 and up to 0; low and high: 95 % intervals"
    assert lines[0].split() == ["country", "metric", "mean", "low", "high", "lists"]
    assert lines[2].split() == ["all", "hit_rate@2", "1.0000", "nan", "nan", "1"]
    assert lines[6].split() == ["FI", "hit_rate@2", "1.0000", "nan", "nan", "1"]
    assert lines[-1] == "rankstone 0.1.0, convention rankstone"
    assert online.compute()[rs.rr].mean == 1
    assert list(online.compute()) == METRICS


def test_without_a_horizon_lists_count_as_they_stand():
    online = rs.Online(["hit_rate@2"], window=100)
    online.log_impression("l1", ["a", "b"], time=0)
    assert online.compute()["hit_rate@2"].mean == 0
    online.log_feedback("l1", "b", time=5)
    online.log_impression("l2", ["c"], time=50)
    assert online.compute()["hit_rate@2"].mean == 1 / 2
    online.log_feedback("l2", "c", time=100)
    online.advance_to(100)  # l1 has left the window
    assert online.compute()["hit_rate@2"][::3] == (1, 1)
    online.log_feedback("l1", "a", time=101)
    assert online.counters["outcomes that wait"] == 1  # its list is forgotten
    again = rs.Online(["hit_rate@2"], window=100)
    again.load_state_dict(online.state_dict())
    assert again.compute() == online.compute()


# -- what was shown ------------------------------------------------------------------------------------------

OF_LISTS = [
    "ndcg@5",
    *(
        label
        for label in SHOWN
        if not label.startswith(("unseen", "overlap", "serendipity", "cal", "r", "false", "abst"))
    ),
]


@pytest.mark.parametrize("horizon", [None, 4])
def test_metrics_of_what_was_shown_are_of_the_lists_in_the_window(horizon):
    truth, shown, side_info = some_lists(7, queries=40)
    del side_info["reference"]
    online = rs.Online(OF_LISTS, window=20, horizon=horizon, by="half", **side_info)
    apart = rs.Online(OF_LISTS, window=20, horizon=horizon, by="half", **side_info)
    for at, query in enumerate(shown):
        server = online if at % 3 else apart
        server.log_impression(query, shown[query], time=at, half=at % 2)
        for item, grade in truth[query].items():
            server.log_feedback(query, item, at, grade)
        if at in (11, 25):
            online, apart = pickle.loads(pickle.dumps((online, apart)))
    online.merge(apart)
    again = rs.Online(OF_LISTS, window=20, horizon=horizon, by="half", **side_info)
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    end = 39 - (horizon or 0)
    inside = [query for at, query in enumerate(shown) if end - 20 < at <= end]
    for half in (None, 0, 1):
        some = [query for query in inside if half in (None, list(shown).index(query) % 2)]
        sides = ({query: side[query] for query in some} for side in (truth, shown))
        want = rs.evaluate(*sides, OF_LISTS, **side_info)
        for served in (online, again):
            found = served.compute() if half is None else served.compute().by[half]
            for label in want:
                assert found[label].mean == pytest.approx(want[label], rel=1e-12, abs=1e-12), label
                assert found[label].low <= found[label].mean <= found[label].high or label == "ndcg@5"


def test_coverage_of_the_last_lists_by_hand():
    online = rs.Online("coverage@2", window=10, catalogue=["a", "b", "c", "d"])
    online.log_impression("l1", ["a", "b", "c"], time=0)
    online.log_impression("l2", ["d", "b"], time=6)
    assert online.compute()["coverage@2"].mean == 3 / 4
    online.advance_to(11)
    assert online.compute()["coverage@2"] == (
        2 / 4,
        pytest.approx(np.nan, nan_ok=True),
        pytest.approx(np.nan, nan_ok=True),
        1,
    )
    online.advance_to(17)
    assert online.compute()["coverage@2"].lists == 0


def test_what_online_says_no_to():
    with pytest.raises(ValueError, match="half_life= weights lists"):
        rs.Online("coverage@2", half_life=5, catalogue=["a"])
    online = rs.Online("unseen@2", history={"u1": ["a"]})
    online.log_impression("l1", ["a"], time=0)
    with pytest.raises(ValueError, match="the lists have no query ids"):
        online.compute()


@pytest.mark.parametrize("name", ["window", "horizon", "half_life", "ahead"])
@pytest.mark.parametrize("span", [{}, [1], object()])
def test_spans_of_other_types(name, span):
    with pytest.raises(TypeError, match=rf"^{name}=.*; give a number, a timedelta, or text such as '1h'"):
        rs.Online("rr", **{name: span})


def test_other_arguments_of_other_types():
    with pytest.raises(ValueError, match="confidence='x'; give a number between 0 and 1"):
        rs.Online("rr", window=1, confidence="x")
    with pytest.raises(TypeError, match="by=3; give the segment keywords"):
        rs.Online("rr", window=1, by=3)


@pytest.mark.parametrize("place", [("clock",), ("lists", 0, 1), ("early", 0, 1), ("early", 0, 3)])
def test_numbers_as_text_in_a_state(place):
    online = rs.Online("rr", window=100, horizon=10)
    online.log_impression("l1", ["a"], time=1)
    online.log_feedback("l2", "a", time=2)
    state = part = online.state_dict()
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = str(part[place[-1]])
    with pytest.raises(ValueError, match="is text, not a number"):
        online.load_state_dict(state)
