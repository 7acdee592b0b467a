"""What pytrec_eval does not compute: version 10's own measures, judgments by several people, preferences."""

from __future__ import annotations

import random

import pytest

from . import slow
from .conftest import Command, asked

TRUTH = {"q1": {"a": 1, "b": 0, "c": 2, "x": 1, "y": -1}}
RUN = {"q1": {"a": 5.0, "n": 4.0, "b": 3.0, "c": 2.0, "y": 1.0}}  # a, n (not judged), b, c, y (left out of a sample)


def _random(seed: int) -> tuple[dict[str, int], dict[str, float]]:
    chance = random.Random(seed)
    items = [f"d{i}" for i in range(chance.choice([3, 12, 40]))]
    truth = {item: chance.choice([-1, 0, 0, 1, 2, 4]) for item in chance.sample(items, max(1, len(items) * 2 // 3))}
    truth[items[0]] = chance.choice([0, 1])
    return truth, {item: float(chance.randint(-3, 3)) for item in chance.sample(items, chance.randint(1, len(items)))}


def test_version_10_by_hand(command: Command) -> None:
    measures = asked("rbp", "rbp_resid", "unj.2,5", "dcg", "ideal_dcg", "yaap", "relstring")
    values = command.values("-q", *measures, command.qrels(TRUTH), command.results(RUN))
    p = 0.9
    expected = {
        "rbp": (1 - p) * (1 / 2 + 2 / 2 * p**3),  # grades over 2, the highest
        "rbp_resid": p**5 + (1 - p) * (p + p**4),
        "unj_2": 1 / 2,
        "unj_5": 2 / 5,
        "dcg": 1 / 1 + 2 / 2.321928094887362,
        "ideal_dcg": 2 / 1 + 1 / 1.584962500721156 + 1 / 2,
        "yaap": 0.0,  # log((1 + 1/1 + 2/4) / (1 + 3 - (1/1 + 2/4)))
    }
    for name, value in expected.items():
        assert values[name, "q1"] == f"{value:6.4f}", name
    assert values["relstring", "q1"] == "'1-02.'"


def test_gains_of_rank_biased_precision(command: Command) -> None:
    """With grade 1 worth 2 both relevant documents have the highest gain."""
    files = command.qrels(TRUTH), command.results(RUN)
    values = command.values(*asked("rbp.1=2,p=0.5"), *files)
    assert values["rbp_1=2,p=0.5", "all"] == f"{(1 - 0.5) * (2 / 2 + 2 / 2 * 0.5**3):6.4f}"


@pytest.mark.parametrize(("version", "gain"), [("10", 0), ("9", 3)])
def test_a_gain_for_no_grade(version: str, gain: int, command: Command) -> None:
    """Version 9 takes a name that is no number for grade 0; version 10 leaves it out."""
    files = command.qrels({"q": {"a": 1, "b": 0}}), command.results({"q": {"a": 2.0, "b": 1.0}})
    log = 1.584962500721156  # log2(3)
    values = command.values("--version-like", version, "-m", "ndcg.x=3", *files)
    assert values["ndcg_x=3", "all"] == f"{(1 + gain / log) / max(1, gain + 1 / log):6.4f}"


@pytest.mark.parametrize(("version", "expected"), [("10", "0.6667"), ("9", "0.0000")])
def test_recall_is_rounded_in_version_10_and_up_in_9(version: str, expected: str, command: Command) -> None:
    """0.8 of 3 relevant documents is 2.4: two of them in version 10, three, which were not all found, in version 9."""
    files = command.qrels({"q": {"a": 1, "b": 1, "c": 1}}), command.results({"q": {"n": 9.0, "a": 8.0, "b": 7.0}})
    values = command.values("--version-like", version, "-m", "iprec_at_recall.0.8", "-m", "11pt_avg.0.8", *files)
    assert values == {("iprec_at_recall_0.80", "all"): expected, ("11pt_avg_0.8", "all"): expected}


@pytest.mark.parametrize("seed", range(25))
def test_version_10_by_definition(seed: int, command: Command) -> None:
    truth, run = _random(seed)
    files = command.qrels({"q": truth}), command.results({"q": run})
    measures = asked("iprec_at_recall", "11pt_avg", "rbp.p=0.8", "rbp_resid.p=0.8", "unj.1,3,100", "yaap")
    values = command.values(*measures, *files)
    tenths = [slow.interpolated(truth, run, at / 10) for at in range(11)]
    expected = {f"iprec_at_recall_{at / 10:.2f}": value for at, value in enumerate(tenths)}
    expected["11pt_avg"] = sum(tenths) / 11
    expected["rbp_p=0.8"] = slow.rbp(truth, run, 0.8)
    expected["rbp_resid_p=0.8"] = slow.rbp_residual(truth, run, 0.8)
    expected |= {f"unj_{k}": slow.unjudged(truth, run, k) for k in (1, 3, 100)}
    expected["yaap"] = slow.smoothed_odds(truth, run)
    assert {name for name, _ in values} == set(expected)
    for name, value in expected.items():
        assert float(values[name, "all"]) == pytest.approx(value, abs=0.000051), name


def test_judgments_by_several_people(command: Command) -> None:
    """A query's value is the mean over its groups of judgments."""
    qrels = command.write("qrels", "q u1 a 1\nq u1 b 0\nq u2 b 1\nq u2 z 1\nq u2 a -1\n")
    results = command.results({"q": {"a": 2.0, "b": 1.0}})
    measures = asked("map_avgjg", "P_avgjg.1,2", "Rprec_mult_avgjg.0.5,1")
    values = command.values("-R", "qrels_jg", *measures, qrels, results)
    expected = {
        "map_avgjg": (1 / 1 + (1 / 2) / 2) / 2,
        "P_avgjg_1": (1 / 1 + 0) / 2,
        "P_avgjg_2": (1 / 2 + 1 / 2) / 2,
        "Rprec_mult_avgjg_0.50": (1 / 1 + 0) / 2,
        "Rprec_mult_avgjg_1.00": (1 / 1 + 1 / 2) / 2,
    }
    assert {name: value for (name, _), value in values.items()} == {n: f"{v:6.4f}" for n, v in expected.items()}


PREFS = "q u1 s1 a 3\nq u1 s1 b 2\nq u1 s2 b 2\nq u1 s2 c 1\nq u2 s1 c 1\nq u2 s1 a 0\nq u2 s1 x 2\n"


def test_preferences_by_hand(command: Command) -> None:
    """u1: a > b, b > c and so a > c. u2: x > c > a, x > a; x was not retrieved."""
    results = command.results({"q": {"a": 3.0, "c": 2.0, "b": 1.0}})
    values = command.values("-m", "all_prefs", "-R", "prefs", command.write("prefs", PREFS), results)
    expected = {
        "prefs_num_prefs_poss": 6,
        "prefs_num_prefs_ful": 2,
        "prefs_num_prefs_ful_ret": 2,
        "prefs_simp": 2 / 6,
        "prefs_pair": (1 + 1 / 2 + 0 + 0 + 0) / 5,  # ab, ac (one of two), bc, xc, xa
        "prefs_avgjg": (2 / 3 + 0 / 3) / 2,
        "prefs_simp_ret": 2 / 4,
        "prefs_pair_ret": (1 + 1 / 2 + 0) / 3,
        "prefs_avgjg_ret": (2 / 3 + 0 / 1) / 2,
        "prefs_simp_imp": 2 / 6,
        "prefs_avgjg_imp": (2 / 3 + 0 / 3) / 2,
    }
    for name, value in expected.items():
        assert values[name, "all"] == (str(value) if isinstance(value, int) else f"{value:6.4f}"), name


def test_preferences_with_as_many_bad_documents_as_good(command: Command) -> None:
    """Only b, the first of the two that are not relevant, counts: against a, which is right, and, as trec_eval has it,
    against b itself and c, which is not. With as many good ones as bad, each good one is above one more bad one."""
    results = command.results({"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0, "b": 2.0}})
    prefs = command.write("prefs", "q1 u s a 1\nq1 u s b 0\nq1 u s c 0\nq2 u s a 1\nq2 u s b 2\nq2 u s x 0\n")
    values = command.values(
        "-q", *asked("prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret"), "-R", "prefs", prefs, results
    )
    assert values["prefs_avgjg_Rnonrel", "q1"] == f"{1 / 3:6.4f}"
    assert values["prefs_avgjg_Rnonrel_ret", "q1"] == f"{1 / 3:6.4f}"
    assert values["prefs_avgjg_Rnonrel", "q2"] == f"{(3 + 2 * 1) / (3 + 2 * 1):6.4f}"
    assert values["prefs_avgjg_Rnonrel_ret", "q2"] == f"{(1 + 2 * 2) / (1 + 2 * 2):6.4f}"


def test_partial_preferences_with_as_many_bad_documents_as_good(command: Command) -> None:
    """a is preferred to b, c and d, of which only b, the first, counts; and b stands above a."""
    results = command.results({"q": {"b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}})
    prefs = command.write("prefs", "q u s a 1\nq u s b 0\nq u s d 0\nq u t a 1\nq u t c 0\n")
    measures = asked("prefs_simp", "prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret")
    values = command.values(*measures, "-R", "prefs", prefs, results)
    assert list(values.values()) == [f"{2 / 3:6.4f}", f"{0 / 1:6.4f}", f"{0 / 1:6.4f}"]


def test_documents_that_were_not_retrieved_go_by_name(command: Command) -> None:
    """Of b, c and d two count, b and c: neither a nor b nor c was retrieved, so only the preference of e to c holds."""
    prefs = command.write("prefs", "q u s a 1\nq u s b 0\nq u s c 0\nq u t e 1\nq u t d 0\nq u t c 0\n")
    values = command.values("-m", "prefs_avgjg_Rnonrel", "-R", "prefs", prefs, command.results({"q": {"e": 1.0}}))
    assert list(values.values()) == [f"{1 / 3:6.4f}"]


@pytest.mark.parametrize("seed", range(25))
def test_preferences_by_definition(seed: int, command: Command) -> None:
    chance = random.Random(seed)
    items = [f"d{i}" for i in range(chance.choice([3, 6, 12]))]
    hidden = {item: chance.random() for item in items}  # so that no group contradicts itself
    prefs: slow.Prefs = []
    for group in "AB"[: chance.randint(1, 2)]:
        for part in "st"[: chance.randint(1, 2)]:
            chosen = chance.sample(items, chance.randint(2, len(items)))
            steps = 100 if chance.random() < 0.5 else 3
            levels = {item: float(int(hidden[item] * steps) + 1) for item in chosen}
            prefs += [(group, part, item, level) for item, level in levels.items()]
            if steps == 3:
                break  # equal levels may contradict another part's
    run = {item: float(chance.randint(0, 3)) for item in chance.sample(items, chance.randint(1, len(items)))}
    run |= {f"n{i}": float(chance.randint(0, 3)) for i in range(3)}
    depth = chance.choice([None, 2, 5])
    text = "".join(f"q {group} {part} {item} {level}\n" for group, part, item, level in prefs)
    options = [] if depth is None else [f"-M{depth}"]
    values = command.values(
        "-m", "all_prefs", "-R", "prefs", *options, command.write("prefs", text), command.results({"q": run})
    )
    for name, value in slow.preferences(prefs, run, depth).items():
        assert float(values[f"prefs_{name}", "all"]) == pytest.approx(value, abs=0.000051), name


def test_scores_are_floats_in_version_9_and_doubles_in_10(command: Command) -> None:
    """The two scores are the same float, so version 9 looks at the names: z before a."""
    files = command.qrels({"q": {"a": 1}}), command.results({"q": {"a": 1.00000001, "z": 1.0}})
    assert command.values("-m", "recip_rank", *files)["recip_rank", "all"] == "1.0000"
    older = command.values("--version-like", "9", "-m", "recip_rank", *files)
    assert older["recip_rank", "all"] == "0.5000"


def test_names_are_compared_as_bytes(command: Command) -> None:
    """Among equal scores the name of the larger bytes goes first: é (two bytes from 195 up) before Z before A."""
    files = command.qrels({"q": {"é": 3, "Z": 2, "A": 1}}), command.results({"q": {"A": 1.0, "é": 1.0, "Z": 1.0}})
    assert command.values("-q", "-m", "relstring", *files)["relstring", "q"] == "'321'"
