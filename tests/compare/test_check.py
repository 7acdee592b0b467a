"""Gates: each kind passed, failed and not decided, against SciPy's t and by hand."""

import json
import math
from dataclasses import FrozenInstanceError
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

import rankstone as rs
from rankstone.errors import GatesError

RNG = np.random.default_rng(5)


def places(ranks):
    """A truth of one item a query, and a run that has it at these ranks; 0: not at all."""
    truth = {f"q{at}": {"hit": 1} for at in range(len(ranks))}
    run = {f"q{at}": [f"x{n}" for n in range(1, rank)] + ["hit"] * (rank > 0) or ["x"] for at, rank in enumerate(ranks)}
    return truth, run


def gated(before, after, *gates, **more):
    truth, baseline = places(before)
    return rs.check({"truth": truth, "baseline": baseline, "candidate": places(after)[1], "gate": list(gates), **more})


def rr(ranks):
    return np.array([1 / rank if rank else 0.0 for rank in ranks])


BEFORE = RNG.integers(1, 6, 60).tolist()
ALIKE = [rank if at % 7 else 6 - rank for at, rank in enumerate(BEFORE)]
WORSE = [min(rank + 3, 9) for rank in BEFORE]


def expected(before, after, margin, confidence=0.95):
    """By SciPy's one-sided t-tests."""
    differences = rr(after) - rr(before)
    passed = stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
    failed = stats.ttest_1samp(differences, -margin, alternative="less").pvalue
    return "passed" if passed <= 1 - confidence else "failed" if failed <= 1 - confidence else "inconclusive"


@pytest.mark.parametrize("after", [ALIKE, WORSE, BEFORE[::-1]], ids=["alike", "worse", "turned"])
@pytest.mark.parametrize("margin", [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_not_worse_is_scipys_one_sided_test(after, margin, confidence):
    (found,) = gated(BEFORE, after, {"metric": "rr", "not_worse_than": margin}, confidence=confidence)
    assert found.verdict == expected(BEFORE, after, margin, confidence)
    differences = rr(after) - rr(BEFORE)
    low, high = stats.t.interval(2 * confidence - 1, len(differences) - 1, differences.mean(), stats.sem(differences))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.difference == pytest.approx(differences.mean())


def test_all_three_verdicts_are_there():
    assert {expected(BEFORE, after, margin) for after in (ALIKE, WORSE) for margin in (0.01, 0.3)} == {
        "passed", "failed", "inconclusive",
    }  # fmt: skip


def test_exit_codes():
    gate = {"metric": "rr", "not_worse_than": 0.1}
    passed, failed = gated(BEFORE, ALIKE, gate), gated(BEFORE, WORSE, gate)
    assert (passed.verdict, passed.exit_code, passed.passed) == ("passed", 0, True)
    assert (failed.verdict, failed.exit_code, failed.passed) == ("failed", 3, False)
    open_gate = {"metric": "rr", "not_worse_than": 0.001}
    for undecided, code in (("warn", 4), ("pass", 0), ("fail", 3)):
        found = gated(BEFORE, ALIKE, open_gate, undecided=undecided)
        assert (found.exit_code, found[0].verdict) == (code, "inconclusive")
    assert gated(BEFORE, ALIKE, open_gate).exit_code == 4
    assert gated(BEFORE, WORSE, open_gate, gate, undecided="pass").exit_code == 3


def test_a_warning_never_fails_the_whole():
    found = gated(
        BEFORE, WORSE, {"metric": "rr", "not_worse_than": 0.1, "severity": "warn"}, {"metric": "rr", "at_least": 0}
    )
    assert found[0].verdict == "failed"
    assert found.exit_code == 0
    assert "failed (warning)" in repr(found)
    assert gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": 0.001, "severity": "warn"}).exit_code == 0


def test_a_relative_margin_is_of_the_baselines_mean():
    mean = rr(BEFORE).mean()
    for percent in (1, 5, 20, 60):
        (found,) = gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": f"{percent} %"})
        assert found.limit == pytest.approx(percent / 100 * mean)
        assert found.verdict == expected(BEFORE, ALIKE, percent / 100 * mean)


def test_lower_is_better():
    """Of two ratings, 1 and 2 off: mae 1 and 2. The one that is more off is worse."""
    truth = {f"q{at}": {"a": 3, "b": 4} for at in range(30)}
    near = {query: {"a": 3.5 + at % 3 / 10, "b": 4} for at, query in enumerate(truth)}
    far = {query: {"a": 5 + at % 4 / 10, "b": 4} for at, query in enumerate(truth)}

    def verdicts(baseline, candidate):
        gates = [
            {"metric": "mae", "not_worse_than": 0.1},
            {"metric": "mae", "lost_queries": 3},
            {"metric": "mae", "at_most": 0.5},
        ]
        sides = {"truth": truth, "baseline": baseline, "candidate": candidate}
        return [one.verdict for one in rs.check({**sides, "gate": gates})]

    assert verdicts(near, far) == ["failed", "failed", "failed"]
    assert verdicts(far, near) == ["passed", "passed", "passed"]


def test_the_same_run_passes_and_says_so():
    for margin in (0, 0.01):
        (found,) = gated(BEFORE, BEFORE, {"metric": "rr", "not_worse_than": margin})
        assert found.verdict == "passed"
        assert [caveat.code for caveat in found.caveats] == ["equal"]


def test_one_query_decides_nothing():
    (found,) = gated([1], [2], {"metric": "rr", "not_worse_than": 0.1})
    assert found.verdict == "inconclusive"
    assert found.sample_size is None


def test_a_mean_is_decided_by_itself():
    """Of four queries: (1 + 1/2 + 1/2 + 1) / 4 = 0.75; rounding does not count."""
    for limit, verdict in ((0.75, "passed"), (0.75 + 1e-13, "passed"), (0.7501, "failed")):
        (found,) = rs.check({"truth": places([1] * 4)[0], "candidate": places([1, 2, 2, 1])[1],
                             "gate": [{"metric": "rr", "at_least": limit}]})  # fmt: skip
        assert (found.verdict, found.candidate, found.queries) == (verdict, 0.75, 4)
        assert found.low < 0.75 < found.high
        assert math.isnan(found.baseline)
    for limit, verdict in ((0.75, "passed"), (0.7499, "failed")):
        (found,) = gated([1] * 4, [1, 2, 2, 1], {"metric": "rr", "at_most": limit})
        assert (found.verdict, found.baseline) == (verdict, 1)
    third = gated([1] * 3, [2, 3, 6], {"metric": "rr", "at_least": 1 / 3})  # (1/2 + 1/3 + 1/6) / 3
    assert third.passed


def test_lost_queries():
    """Falls of 1/2, 2/3, 1/2 and 1/6; one rises."""
    before, after = [1, 1, 1, 2, 2], [2, 3, 2, 3, 1]
    for most, drop, verdict, count in ((3, 0.5, "passed", 3), (2, 0.5, "failed", 3), (1, 0.6, "passed", 1),
                                       (4, None, "passed", 4), (3, None, "failed", 4)):  # fmt: skip
        gate = {"metric": "rr", "lost_queries": most, **({} if drop is None else {"drop": drop})}
        (found,) = gated(before, after, gate)
        assert (found.verdict, len(found.lost)) == (verdict, count)
    assert found.lost[0] == ("q1", pytest.approx(1 / 3 - 1))
    assert f"{count} of 5 queries" in found.summary
    assert any("largest losses: q1 -0.6667" in line for line in found.notes)


# -- groups --------------------------------------------------------------------------------------------------


def by_hand(before, after, groups, margin, fewest):
    """Holm over the groups, by hand."""
    differences, out = rr(after) - rr(before), {}
    names = [name for name in sorted(set(groups)) if groups.count(name) >= fewest]
    for side, word in (("greater", "passed"), ("less", "failed")):
        p = {name: stats.ttest_1samp(differences[[group == name for group in groups]], -margin, alternative=side).pvalue
             for name in names}  # fmt: skip
        highest = 0.0
        for left, name in zip(range(len(p), 0, -1), sorted(p, key=p.get), strict=True):
            highest = max(highest, left * p[name])
            if highest <= 0.05:
                out[name] = word
    return {name: out.get(name, "inconclusive") for name in names}


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
def test_groups_by_holm(margin):
    groups = [("se", "fi", "no", "dk")[at % 4] for at in range(58)] + ["is", "is"]
    after = [
        worse if group in ("se", "fi") else alike for worse, alike, group in zip(WORSE, ALIKE, groups, strict=True)
    ]
    by = {f"q{at}": group for at, group in enumerate(groups)}
    (found,) = gated(BEFORE, after, {"metric": "rr", "not_worse_than": margin, "by": by, "fewest": 10})
    wanted = by_hand(BEFORE, after, groups, margin, 10)
    assert {one.group: one.verdict for one in found.groups} == {**wanted, "is": ""}
    whole = [verdict for verdict in ("failed", "inconclusive", "passed") if verdict in wanted.values()]
    assert found.verdict == whole[0]
    assert any("too few queries to test: is (2)" in line for line in found.notes)


def test_a_group_is_as_large_as_the_queries_that_count():
    """The candidate lacks five of group 0, which are left out of the mean."""
    truth, before = places(BEFORE)
    after = {query: items for at, (query, items) in enumerate(places(ALIKE)[1].items()) if at not in (0, 2, 4, 6, 8)}
    gate = {"metric": "rr", "not_worse_than": 0.3, "by": [at % 2 for at in range(60)], "fewest": 30}
    (found,) = rs.check({"truth": truth, "baseline": before, "candidate": after, "choices": {"missing": "skip"},
                         "gate": [gate]})  # fmt: skip
    assert [(one.queries, one.verdict) for one in found.groups] == [(25, ""), (30, "passed")]


def test_no_group_is_large_enough():
    (found,) = gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": 0.1, "by": list("ab") * 30, "fewest": 31})
    assert found.verdict == "inconclusive"
    assert found.summary == "0 of 0 groups passed"


def test_a_relative_margin_is_of_the_groups_own_mean():
    by = [at % 2 for at in range(60)]
    (found,) = gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": "10 %", "by": by})
    for one in found.groups:
        assert one.margin == pytest.approx(rr(BEFORE)[one.group :: 2].mean() / 10)


def test_clusters_widen_the_interval():
    gate = {"metric": "rr", "not_worse_than": 0.05}
    plain, together = gated(BEFORE, ALIKE, gate), gated(BEFORE, ALIKE, gate, clusters=[at // 6 for at in range(60)])
    differences = (rr(ALIKE) - rr(BEFORE)).reshape(10, 6).sum(axis=1)
    rest = differences - differences.mean()
    error = math.sqrt((rest**2).sum() * 10 / 9) / 60
    assert together[0].high == pytest.approx(plain[0].difference + stats.t.ppf(0.95, 9) * error)


def test_how_many_queries_would_decide():
    """As many as give a one-sided t-test of two equal runs a power of 0.8, by the noncentral t."""
    (found,) = gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": 0.01})
    assert found.verdict == "inconclusive"
    effect = 0.01 / np.std(rr(ALIKE) - rr(BEFORE), ddof=1)

    def power(n):
        return stats.nct.sf(stats.t.ppf(0.95, n - 1), n - 1, effect * math.sqrt(n))

    assert power(found.sample_size - 1) < 0.8 <= power(found.sample_size)
    assert any(f"about {found.sample_size:,} queries to pass (80 % power)" in line for line in found.notes)


# -- saved results -------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    truth, before = places(BEFORE)
    rs.evaluate(truth, before, "rr,recall@5").write(tmp_path / "main.json")
    rs.evaluate(truth, places(ALIKE)[1], "rr,recall@5").write(tmp_path / "mine.parquet")
    (tmp_path / "gold.csv").write_text("query,item,country\n" + "".join(
        f"{query},hit,{'fi' if at % 2 else 'se'}\n" for at, query in enumerate(truth)))  # fmt: skip
    for name, ranks in (("alike", ALIKE), ("worse", WORSE)):
        lines = [json.dumps({"query": query, "retrieved": items}) for query, items in places(ranks)[1].items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_saved_results_and_runs_are_one(files):
    gates = {"gate": [{"metric": "rr", "not_worse_than": 0.05}, {"metric": "recall@5", "at_least": 0.5}]}
    truth, before = places(BEFORE)
    live = rs.check({**gates, "truth": truth, "baseline": before, "candidate": places(ALIKE)[1]})
    ways = (
        {"truth": files / "gold.csv", "baseline": files / "main.json", "candidate": files / "alike.jsonl"},
        {"baseline": str(files / "main.json"), "candidate": files / "mine.parquet"},
        {"baseline": rs.read_result(files / "main.json"), "candidate": rs.read_result(files / "mine.parquet")},
        {"truth": truth, "baseline": before, "candidate": rs.evaluate(truth, places(ALIKE)[1], "rr,recall@5")},
    )
    for way in ways:
        found = rs.check({**gates, **way})
        assert [(one.verdict, one.low, one.high, one.candidate) for one in found] == [
            (one.verdict, pytest.approx(one.low), pytest.approx(one.high), one.candidate) for one in live
        ]


def test_a_file_of_gates(files, tmp_path_factory, monkeypatch):
    """Its paths are its own; those of the caller are the caller's."""
    (files / "gates.toml").write_text(
        'truth = "gold.csv"\nbaseline = "main.json"\ncandidate = "worse.jsonl"\nmetrics = ["recall@5"]\n'
        '[[gate]]\nmetric = "rr"\nnot_worse_than = 0.01\n'
        '[[gate]]\nmetric = "rr"\nby = "country"\nnot_worse_than = "30 %"\n'
    )
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert rs.check(files / "gates.toml").exit_code == 3
    over = rs.check(str(files / "gates.toml"), candidate=files / "alike.jsonl")
    assert [one.verdict for one in over] == ["inconclusive", "passed"]
    assert "recall@5, without a gate: " in repr(over)
    with pytest.raises(FileNotFoundError):
        rs.check(files / "gates.toml", candidate="alike.jsonl")


def test_other_definitions_are_refused(files):
    gates = {"truth": files / "gold.csv", "baseline": files / "main.json", "candidate": files / "alike.jsonl",
             "gate": [{"metric": "rr", "not_worse_than": 0.05}]}  # fmt: skip
    with pytest.raises(
        ValueError, match="rr is not the same number in both: missing is 'zero' in baseline, 'skip' in candidate"
    ):
        rs.check(gates, choices={"missing": "skip"})
    (files / "gold.csv").write_text("query,item\n" + "".join(f"q{at},hit\n" for at in range(59)))
    with pytest.raises(ValueError, match="the truths differ: candidate lacks 1 query"):
        rs.check(gates)
    with pytest.raises(ValueError, match="the baseline was saved without ap; it has rr, recall@5"):
        rs.check(gates, gate=[{"metric": "ap", "not_worse_than": 0.05}])
    many = rs.read_result(files / "main.json")
    rs_runs = {"runs": {"a": many.to_dict(), "b": many.to_dict()}}
    (files / "two.json").write_text(json.dumps(rs_runs))
    with pytest.raises(ValueError, match="has 2 runs: a, b; save the one that is the baseline"):
        rs.check(gates, baseline=files / "two.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"trut": 1}, "unknown key 'trut'; did you mean 'truth'"),
        (
            {"gate": [{"metric": "rr", "at_leest": 1}]},
            r"gate 1 \(rr\): unknown key 'at_leest'; did you mean 'at_least'",
        ),
        ({"gate": []}, "there is no gate"),
        ({"gate": [{"not_worse_than": 1}]}, "gate 1: it has no metric"),
        ({"gate": [{"metric": "ndgc", "at_least": 1}]}, "did you mean 'ndcg'"),
        ({"gate": [{"metric": "rr"}]}, "it has no limit; give one of not_worse_than, at_least"),
        ({"gate": [{"metric": "rr", "at_least": 1, "at_most": 1}]}, "it has at_least and at_most; give one of"),
        ({"gate": [{"metric": "rr", "at_least": "high"}]}, "at_least = 'high' is not a number"),
        ({"gate": [{"metric": "rr", "not_worse_than": -0.1}]}, "margin -0.1; give a number from 0"),
        ({"gate": [{"metric": "rr", "not_worse_than": "2"}]}, "margin '2'; give a number from 0, or a percentage"),
        ({"gate": [{"metric": "rr", "not_worse_than": True}]}, "margin True"),
        ({"gate": [{"metric": "rr", "not_worse_than": math.nan}]}, "margin nan"),
        ({"gate": [{"metric": "rr", "lost_queries": 1.5}]}, "lost_queries = 1.5; give a whole number from 0"),
        ({"gate": [{"metric": "rr", "lost_queries": 1, "drop": 0}]}, "drop = 0; give a number above 0"),
        ({"gate": [{"metric": "rr", "at_least": 1, "drop": 0.1}]}, "drop goes with lost_queries"),
        ({"gate": [{"metric": "rr", "at_least": 1, "by": "x"}]}, "by goes with not_worse_than"),
        ({"gate": [{"metric": "rr", "not_worse_than": 1, "fewest": 5}]}, "fewest goes with by"),
        ({"gate": [{"metric": "rr", "at_least": 1, "severity": "hard"}]}, "severity = 'hard'; choose from fail, warn"),
        ({"gate": [{"metric": "num_ret", "not_worse_than": 1}]}, "neither a higher nor a lower num_ret is better"),
        ({"undecided": "maybe"}, "undecided = 'maybe'; choose from pass, warn, fail"),
        ({"confidence": 95}, "confidence = 95; give a number from 0.5 to 1"),
        ({"choices": 3}, "choices = 3; write a table"),
        ({"choices": {"tresholt": 1}}, "did you mean 'threshold'"),
        ({"convention": "trec-eval"}, "did you mean 'trec_eval'"),
        ({"candidate": None}, "there is no candidate"),
        ({"truth": None}, "the baseline is a run: a truth is required"),
        ({"baseline": None}, "rr not worse than 0.1: there is no baseline"),
    ],
)
def test_gates_that_cannot_be(change, told):
    truth, run = places(BEFORE)
    gates = {"truth": truth, "baseline": run, "candidate": run, "gate": [{"metric": "rr", "not_worse_than": 0.1}]}
    with pytest.raises(GatesError, match=told):
        rs.check({**gates, **change})


def test_a_file_that_is_no_toml(tmp_path):
    (tmp_path / "gates.toml").write_text("truth = gold.csv")
    with pytest.raises(GatesError, match=r"gates\.toml: is no TOML file \(.*line 1"):
        rs.check(tmp_path / "gates.toml")
    (tmp_path / "gates.toml").write_bytes(b"\xff")
    with pytest.raises(GatesError, match="is no TOML file"):
        rs.check(tmp_path / "gates.toml")


# -- what is written -----------------------------------------------------------------------------------------

HOSTILE = ["<b>|x", "a\nb", "\x00\x1b[31m", "&amp;]]>", "\u202e\ud800", "`*_"]


def hostile():
    truth = {f"{HOSTILE[at % 6]}{at}": {"hit": 1} for at in range(120)}
    before = {query: ["hit"] for query in truth}
    after = {query: ["x", "hit"] if at % 4 else ["hit"] for at, query in enumerate(truth)}
    by = {query: HOSTILE[at % 6] for at, query in enumerate(truth)}
    gates = [{"metric": "rr", "not_worse_than": 0.01, "by": by}, {"metric": "rr", "lost_queries": 1},
             {"metric": "rr", "at_least": 0.1}, {"metric": "rr", "not_worse_than": 0.375,
                                                "severity": "warn"}]  # fmt: skip
    return rs.check({"truth": truth, "baseline": before, "candidate": after, "gate": gates})


def test_junit():
    found = hostile()
    top = ElementTree.fromstring(found.to_junit())
    (suite,) = top
    assert top.tag == "testsuites"
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["4", "2", "1"]
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["failure"], ["system-out"], ["skipped"]]
    assert suite[1][0].get("message").startswith("rr at most 1 query falls: failed; 90 of 120 queries")
    assert "<b>|x" in suite[0][0].text
    assert "&amp;]]>" in suite[0][0].text
    for undecided, tag in (("warn", "skipped"), ("pass", "skipped"), ("fail", "failure")):
        found = gated(BEFORE, ALIKE, {"metric": "rr", "not_worse_than": 0.001}, undecided=undecided)
        assert ElementTree.fromstring(found.to_junit())[0][0][0].tag == tag


def test_markdown():
    text = hostile().render("markdown")
    lines = text.splitlines()
    assert lines[0].startswith("**rankstone check: FAILED: ")
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4
    for line in table:
        assert line.replace(r"\|", "").count("|") == 5
    assert "\x1b" not in text
    assert "\n<b>" not in text


def test_plain_data():
    found = hostile()
    data = found.to_dict()
    assert json.loads(json.dumps(data, default=str))["exit_code"] == found.exit_code == 3
    assert [gate["verdict"] for gate in data["gates"]] == [one.verdict for one in found]
    assert len(data["gates"][1]["lost"]) == 90
    assert found.to_pandas()["verdict"].tolist() == [one.verdict for one in found]
    with pytest.raises(FrozenInstanceError):
        found[0].verdict = "passed"


def test_the_same_inputs_give_the_same_verdict():
    """Whatever the order of the rows."""
    truth, before = places(BEFORE)
    after = places(ALIKE)[1]
    gate = {"gate": [{"metric": "rr", "not_worse_than": 0.05}, {"metric": "rr", "lost_queries": 3}]}

    def turned(side):
        return dict(reversed(side.items()))

    one = rs.check({"truth": truth, "baseline": before, "candidate": after, **gate})
    other = rs.check({"truth": turned(truth), "baseline": turned(before), "candidate": after, **gate})
    assert [gate.sentence for gate in one] == [gate.sentence for gate in other]
    assert one[1].lost == other[1].lost


def test_weights(files):
    """A column of the truth: 59 queries count nothing, so the mean is that of one."""
    (files / "gold.csv").write_text(
        "query,item,visits\n" + "".join(f"q{at},hit,{float(at == 7)}\n" for at in range(60))
    )
    (found,) = rs.check({"truth": files / "gold.csv", "candidate": files / "alike.jsonl", "weights": "visits",
                         "gate": {"metric": "rr", "at_least": 0.1}})  # fmt: skip
    assert found.candidate == rr(ALIKE)[7]
