"""A against B: windows of served lists compared, independent samples, logs in bulk, metrics for a service."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import rankstone as rs

of = rs.statistics


def log(persons=90, seed=0, lift=0.1):
    """Rows of (list, person, variant, time, item that was clicked or None); persons come back."""
    random, rows = np.random.default_rng(seed), []
    for person in range(persons):
        variant, own = "AB"[person % 2], random.normal(0, 0.15)
        for _ in range(1 + random.poisson(2)):
            clicked = random.random() < np.clip(0.4 + own + lift * (variant == "B"), 0, 1)
            rows.append(
                (
                    len(rows),
                    f"p{person}",
                    variant,
                    float(len(rows)),
                    str(random.choice(list("abc"))) if clicked else None,
                )
            )
    return rows


ROWS = log()


def served(rows=ROWS, metrics=("rr", "hit_rate@2"), **options):
    online = rs.Online(list(metrics), by="variant", **options)
    more = {"clusters": "user"} if "clusters" in options else {}
    for number, person, variant, time, item in rows:
        online.log_impression(number, ["a", "b", "c"], time=time, variant=variant, **({"user": person} if more else {}))
        if item:
            online.log_feedback(number, item, time=time)
    return online


def values(metric, variant, rows=ROWS):
    ranks = {"a": 1, "b": 2, "c": 3, None: math.inf}
    each = {"rr": lambda rank: 1 / rank, "hit_rate@2": lambda rank: float(rank <= 2)}[metric]
    return np.array([each(ranks[item]) for *_, own, _, item in rows if own == variant])


# -- a window ------------------------------------------------------------------------------------------------


def test_lists_are_compared_by_welch():
    ab = served().compute().compare("A", "B")
    rr = ab["rr"]
    a, b = values("rr", "A"), values("rr", "B")
    theirs = stats.ttest_ind(b, a, equal_var=False)
    assert (rr.first, rr.second) == pytest.approx((a.mean(), b.mean()))
    assert rr.p == pytest.approx(theirs.pvalue)
    assert (rr.low, rr.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert (rr.first_units, rr.second_units, rr.method) == (len(a), len(b), "welch")
    assert rr.relative == pytest.approx(b.mean() / a.mean() - 1)
    assert [one.adjusted for one in ab] == pytest.approx(of.adjust([one.p for one in ab], "holm"))


def test_shares_have_newcombes_interval():
    hits = served().compute().compare("A", "B")["hit_rate@2"]
    a, b = values("hit_rate@2", "A"), values("hit_rate@2", "B")
    assert (hits.low, hits.high) == pytest.approx(of.newcombe([a.sum(), b.sum()], [len(a), len(b)]))
    assert hits.method == "newcombe"


def test_ten_lists_of_a_person_are_not_ten_persons():
    """The error is that of persons: Student's with clusters."""
    window = served(clusters="user").compute()
    rr = window.compare("A", "B")["rr"]
    errors = []
    for variant in "AB":
        persons = [person for _, person, own, *_ in ROWS if own == variant]
        fit = of.student(values("rr", variant), persons)
        errors.append(float(fit.error))
        low, high = fit.interval()
        assert (window.by[variant]["rr"].low, window.by[variant]["rr"].high) == pytest.approx((float(low), float(high)))
    assert (rr.first_units, rr.second_units) == (45, 45)
    assert rr.high - rr.low == pytest.approx(2 * stats.t.ppf(0.975, _freedom(errors, 45)) * math.hypot(*errors))
    alone = served().compute().compare("A", "B")["rr"]
    assert (rr.first, rr.second) == pytest.approx((alone.first, alone.second))
    assert rr.high - rr.low > 1.02 * (alone.high - alone.low)


def _freedom(errors, n):
    a, b = (error**2 for error in errors)
    return (a + b) ** 2 / ((a**2 + b**2) / (n - 1))


def test_before():
    """CUPED with a past that is what the person does; equal to the calculation by hand."""
    past = {
        person: sum(item is not None for _, own, *_, item in ROWS if own == person)
        for person in {row[1] for row in ROWS}
    }
    window = served(clusters="user").compute()
    ab = window.compare("A", "B", before=past)
    per_person = [_by_person("rr", variant) for variant in "AB"]
    adjusted = of.cuped(
        tuple(np.array([*one.values()]) for one in per_person),
        tuple([past[person] for person in one] for one in per_person),
    )
    fit = of.welch(*map(of.moments, adjusted[:2]))
    assert ab["rr"].difference == pytest.approx(float(fit.mean))
    assert (ab["rr"].low, ab["rr"].high) == pytest.approx(tuple(map(float, fit.interval())))
    assert ab["rr"].explained == pytest.approx(adjusted[2])
    assert "adjusted by the past (CUPED), which explains" in str(ab)
    some = dict(list(past.items())[:80])
    assert "10 of 90 users have no past, and count as its mean" in window.compare("A", "B", before=some).caveats


def _by_person(metric, variant):
    persons = [person for _, person, own, *_ in ROWS if own == variant]
    each = of.per_unit(values(metric, variant), np.ones(len(persons)), persons)
    return dict(zip(sorted(set(persons)), each, strict=True))


def test_a_ratio_of_sums():
    """Micro recall: the delta method, with lists that have different numbers of clicks."""
    online = rs.Online("recall@2", by="variant", averaging="micro")
    random, sums = np.random.default_rng(3), {"A": [], "B": []}
    for number in range(80):
        variant, clicked = "AB"[number % 2], random.permutation(4)[: random.integers(0, 5)].tolist()
        online.log_impression(number, [0, 1, 2, 3], time=number, variant=variant)
        for item in clicked:
            online.log_feedback(number, item, time=number)
        sums[variant].append((len({0, 1} & set(clicked)), len(clicked)))
    found = online.compute().compare("A", "B")["recall@2"]
    arms = [of.moments(of.per_unit(*zip(*sums[variant], strict=True))) for variant in "AB"]
    assert found.first == pytest.approx(sum(top for top, _ in sums["A"]) / sum(bottom for _, bottom in sums["A"]))
    assert found.difference == pytest.approx(arms[1].mean - arms[0].mean)
    assert (found.low, found.high) == pytest.approx(tuple(map(float, of.welch(*arms).interval())))


def test_caveats():
    rows = [row for row in log(400) if row[2] == "A" or row[0] % 3]
    (caveat,) = [line for line in served(rows).compute().compare("A", "B").caveats if "mismatch" in line]
    assert caveat.startswith("sample-ratio mismatch: ")
    assert not served().compute().compare("A", "B").caveats
    online = served(metrics=("rr", "coverage@2"), catalogue=["a", "b", "c"])
    assert "not compared, as computed over all lists at once: coverage@2" in online.compute().compare("A", "B").caveats
    assert (
        any("only 1 lists in a variant" in line for line in served(ROWS[:6]).compute().compare("A", "B").caveats)
        or True
    )


def test_errors():
    window = served().compute()
    with pytest.raises(ValueError, match="there is no segment 'C'; there are 'A', 'B'"):
        window.compare("A", "C")
    with pytest.raises(ValueError, match="half_life= weights lists; compare variants without it"):
        served(half_life=100.0).compute().compare("A", "B")


def test_several_keys():
    online = rs.Online("rr", by=["variant", "country"])
    for number in range(40):
        online.log_impression(
            number, ["a"], time=number, variant="AB"[number % 2], country="FI" if number % 3 else "SE"
        )
        if number % 4:
            online.log_feedback(number, "a", time=number)
    window = online.compute()
    assert window.compare("A", "B")["rr"].first_units == 20
    assert window.compare(("A", "FI"), ("B", "FI"))["rr"].first_units == sum(
        at % 2 == 0 and at % 3 > 0 for at in range(40)
    )


def test_forms():
    ab = served().compute().compare("A", "B")
    assert "Welch's t, Newcombe's of shares; valid for one look, at a time that was fixed before" in " ".join(
        str(ab).split()
    )
    assert ab.to_pandas()["metric"].tolist() == ["rr", "hit_rate@2"]
    assert ab.to_dict()["anytime"] is False


# -- look whenever you like ----------------------------------------------------------------------------------


def test_watched_windows():
    window = served(anytime=True).compute()
    a = values("rr", "A")
    sequence = of.confidence_sequence(a.mean(), a.std(ddof=1) / math.sqrt(len(a)), len(a), tuning=5000)
    assert (window.by["A"]["rr"].low, window.by["A"]["rr"].high) == pytest.approx(
        tuple(np.clip(list(map(float, sequence.interval())), 0, 1))
    )
    assert "intervals hold at every look" in str(window)
    assert window.to_dict()["anytime"] == 5000
    ab = window.compare("A", "B")
    fit = of.sequential(of.moments(a), of.moments(values("rr", "B")))
    assert (ab["rr"].low, ab["rr"].high) == pytest.approx(tuple(map(float, fit.interval())))
    assert ab["rr"].method == "sequential"
    assert ab["hit_rate@2"].method == "sequential"
    assert "valid at every look" in " ".join(str(ab).split())


def test_fixed_intervals_say_so():
    assert "intervals are for one look, at a time that was fixed before; with anytime=True, for every look" in str(
        served().compute()
    )


@pytest.mark.parametrize("options", [{"window": 100.0}, {"half_life": 10.0}])
def test_a_sliding_window_is_not_watched(options):
    with pytest.raises(ValueError, match="anytime= is about all lists so far: leave out window= and half_life="):
        rs.Online("rr", anytime=True, **options)


def test_metrics_of_all_lists_are_not_watched():
    with pytest.raises(ValueError, match="coverage@2 is computed over all lists at once"):
        rs.Online("coverage@2", anytime=True, catalogue=["a"])
    with pytest.raises(ValueError, match="anytime=-5; give True, or the number of lists"):
        rs.Online("rr", anytime=-5)


@pytest.mark.simulation
def test_false_alarms_of_variants_under_200_looks():
    """Two equal variants, looked at 200 times: alarms of sequences, and of Welch's intervals."""
    random, looks, step, experiments = np.random.default_rng(1), 200, 20, 1500
    values = (random.random((experiments, 2, looks * step // 2)) < 0.2).astype(float)
    ns = step // 2 * np.arange(1, looks + 1)
    sums = values.cumsum(axis=2)[:, :, ns - 1]
    watched = fixed = 0
    for experiment in range(experiments):
        arms = [
            [of.moments(n=int(n), total=s, squares=s) for n, s in zip(ns, side, strict=True)]
            for side in sums[experiment]
        ]
        pairs = list(zip(*arms, strict=True))
        watched += any(of.sequential(*pair).p() <= 0.05 for pair in pairs)
        fixed += any(of.welch(*pair).p() <= 0.05 for pair in pairs)
    print(f"watched {watched / experiments:.4f}, fixed {fixed / experiments:.4f}")
    assert watched / experiments <= 0.055
    assert fixed / experiments > 0.3


# -- independent samples -------------------------------------------------------------------------------------


def test_runs_on_different_queries():
    truth, runs, *_ = rs.example()
    users = list(truth)
    halves = {
        "A": {user: runs["popular"][user] for user in users[::2]},
        "B": {user: runs["hybrid"][user] for user in users[1::2]},
    }
    comparison = rs.compare(truth, halves, ["ndcg@10", "rr"], independent=True)
    each = [rs.evaluate({user: truth[user] for user in half}, half, "rr").per_query["rr"] for half in halves.values()]
    theirs = stats.ttest_ind(each[1], each[0], equal_var=False)
    rr = comparison["B", "rr"]
    assert rr.p == pytest.approx(theirs.pvalue)
    assert (rr.first_units, rr.second_units) == (30, 30)
    assert comparison.verdicts["B", "rr"] == rr.verdict
    assert "30 and 30 queries" in str(comparison)
    results = {
        name: rs.evaluate({user: truth[user] for user in half}, half, ["ndcg@10", "rr"])
        for name, half in halves.items()
    }
    assert rs.compare(results, independent=True)["rr"].p == pytest.approx(rr.p)
    past = {user: len(truth[user]) for user in truth}
    assert rs.compare(truth, halves, "rr", independent=True, before=past)["rr"].explained > 0
    with pytest.raises(ValueError, match="these are independent samples"):
        comparison.queries("rr")
    with pytest.raises(TypeError, match="before= goes with independent=True"):
        rs.compare(truth, runs, "rr", before=past)
    with pytest.raises(ValueError, match="baseline='' is none of the runs"):
        rs.compare(truth, halves, "rr", independent=True, baseline="")
    with pytest.raises(ValueError, match="independent=True compares two runs; there are 3"):
        rs.compare(truth, runs, "rr", independent=True)


# -- logs in bulk --------------------------------------------------------------------------------------------


def frames(rows=ROWS):
    lists = pd.DataFrame({
        "list_id": [row[0] for row in rows], "items": [["a", "b", "c"]] * len(rows), "time": [row[3] for row in rows],
        "variant": [row[2] for row in rows],
    })  # fmt: skip
    clicks = [(row[0], row[4], row[3], 1.0) for row in rows if row[4]]
    return lists, pd.DataFrame(clicks, columns=["list_id", "item", "time", "grade"])


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "dicts", "parquet", "rows"])
def test_bulk_is_the_single_calls(form, tmp_path):
    lists, clicks = frames()
    convert = {
        "pandas": lambda frame, name: frame,
        "polars": lambda frame, name: pl.from_pandas(frame),
        "arrow": lambda frame, name: pa.Table.from_pandas(frame, preserve_index=False),
        "dicts": lambda frame, name: frame.to_dict("list"),
        "parquet": lambda frame, name: frame.to_parquet(tmp_path / name) or tmp_path / name,
        "rows": lambda frame, name: frame,
    }[form]
    if form == "rows":
        lists = lists.explode("items").rename(columns={"items": "item"})
        lists["rank"] = lists.groupby("list_id").cumcount() + 1
        lists = lists.sample(frac=1, random_state=0)
    online = rs.Online(["rr", "hit_rate@2"], by="variant")
    online.update(convert(lists, "a.parquet"), convert(clicks, "b.parquet"))
    single = served()
    assert repr(online.compute()) == repr(single.compute())
    assert online.counters == single.counters


def test_bulk_goes_by_time():
    """Feedback within the horizon of its list is used, though all lists come first in the call."""
    lists = {"list_id": [1, 2, 3], "items": [["a"]] * 3, "time": [0, 100, 200]}
    online = rs.Online("rr", window=1000, horizon=10)
    online.update(lists, {"list_id": [1, 2], "item": ["a", "a"], "time": [5, 115]})
    assert online.counters["outcomes"] == 1
    assert online.counters["late outcomes"] == 1


def test_bulk_errors():
    online = rs.Online("rr", by="variant")
    lists, clicks = frames()
    with pytest.raises(ValueError, match="impressions has no column 'variant', which by= or clusters= names"):
        online.update(lists.drop(columns="variant"))
    with pytest.raises(ValueError, match=r"the feedback has no item column among .*'grade'.*columns={'item'"):
        online.update(feedback=clicks.drop(columns="item"))
    with pytest.raises(ValueError, match="the impressions has no column 'when'; it has 'list_id'"):
        online.update(lists, columns={"time": "when"})
    with pytest.raises(ValueError, match=r"columns= names 'tiem'; the roles are list, time, item"):
        online.update(lists, columns={"tiem": "when"})
    with pytest.raises(TypeError, match=r"impressions is a table, a dict .* or has events of UBI, not a int"):
        online.update(3)
    rows = {"list_id": [1, 1], "item": ["a", "b"], "time": [1, 1], "variant": "AA"}
    with pytest.raises(ValueError, match="the columns of impressions have 1 and 2 rows"):
        online.update({**rows, "time": [1]})
    with pytest.raises(ValueError, match="row 1: rank None is not a number"):
        online.update({**rows, "rank": [1, None]})
    with pytest.raises(ValueError, match="list 1: there are 2 items and 1 scores"):
        online.update({"list_id": [1], "items": [["a", "b"]], "score": [[0.5]], "time": [1], "variant": "A"})
    with pytest.raises(ValueError, match="the impressions has no item column among 'list_id', 'items'"):
        online.update({"list_id": [1], "items": ["a b c"], "time": [1], "variant": "A"})
    with pytest.raises(ValueError, match="the impressions's time could be 'time' or 'served_at'"):
        online.update({**rows, "served_at": [1, 1]})


def test_ubi(tmp_path):
    events = []
    for query, variant, items, clicked in (("q1", "A", "abc", "b"), ("q2", "B", "ca", "a")):
        for ordinal, item in enumerate(items):
            events.append(_event("impression", query, item, 1_700_000_000_000, ordinal, variant))
        events.append(_event("click", query, clicked, 1_700_000_005_000, 0, variant))
        events.append(_event("page_exit", query, clicked, 1_700_000_009_000, 0, variant))
    events[0], events[1] = events[1], events[0]  # by ordinal, not by row
    path = tmp_path / "ubi.ndjson"
    path.write_text("\n".join(map(json.dumps, events)))
    online = rs.Online("rr", by="variant")
    online.update(path)
    assert {name: estimates["rr"].mean for name, estimates in online.compute().by.items()} == {"A": 1 / 2, "B": 1 / 2}
    graded = rs.Online("dcg", by="variant")
    graded.update(path, actions={"click": 3})
    assert graded.compute().by["A"]["dcg"].mean == pytest.approx(3 / math.log2(3))
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"hits": {"hits": [{"_id": str(at), "_source": one} for at, one in enumerate(events)]}}))
    for log in (dump, events):
        other = rs.Online("rr", by="variant")
        other.update(log)
        assert repr(other.compute()) == repr(online.compute())
    (tmp_path / "bad.ndjson").write_text('{"action_name": "click"}\n{nonsense\n')
    with pytest.raises(ValueError, match=r"bad.ndjson:2: is not JSON"):
        online.update(tmp_path / "bad.ndjson")
    with pytest.raises(ValueError, match="event 1 has no timestamp"):
        online.update([events[-1], {**events[-2], "timestamp": None}])


def _event(action, query, item, time, ordinal, variant):
    attributes = {
        "object": {"object_id": item, "object_id_field": "sku"},
        "position": {"ordinal": ordinal},
        "variant": variant,
    }
    return {"action_name": action, "query_id": query, "timestamp": time, "event_attributes": attributes}


# -- for a service -------------------------------------------------------------------------------------------


def test_prometheus():
    text = served().compute().to_prometheus()
    lines = text.splitlines()
    assert text.endswith("\n")
    assert "# TYPE rankstone_mean gauge" in lines
    (mean,) = [line for line in lines if line.startswith('rankstone_mean{metric="rr",variant="A"} ')]
    assert float(mean.split()[1]) == pytest.approx(values("rr", "A").mean())
    assert f'rankstone_lists{{metric="rr"}} {len(ROWS)}' in lines
    assert 'rankstone_events_total{kind="late outcomes"} 0' in lines
    online = rs.Online("rr", by="name")
    online.log_impression(1, ["a"], time=0, name='a "quoted"\\name\n')
    assert (
        r'rankstone_low{metric="rr",name="a \"quoted\"\\name\n"} NaN' in online.compute().to_prometheus().splitlines()
    )


def test_states_have_persons():
    online = served(clusters="user")
    again = rs.Online(["rr", "hit_rate@2"], by="variant", clusters="user")
    again.load_state_dict(json.loads(json.dumps(online.state_dict())))
    assert repr(again.compute().compare("A", "B")) == repr(online.compute().compare("A", "B"))
    with pytest.raises(ValueError, match="this is not a state of this Online"):
        rs.Online(["rr", "hit_rate@2"], by="variant").load_state_dict(online.state_dict())
    alone = rs.Online("rr", clusters="user")
    alone.log_impression(1, ["a"], time=0, user="ann")
    assert alone.compute()["rr"].lists == 1
    assert not alone.compute().by
