"""pytrec_eval's interface, with pytrec_eval's own numbers and by hand."""

import inspect
import math
import random

import pytest

import rankstone as rs
from rankstone.compat import pytrec_eval

TRUTH = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "q3": {"x": 1}, "empty": {}}
RUN = {"q2": {"b": 0.9, "a": 0.9, "c": 0.1}, "q1": {"a": 3, "z": 2.0, "c": 1.0}, "empty": {"a": 1.0}, "q9": {"a": 1.0}}


def test_values_by_hand():
    evaluator = pytrec_eval.RelevanceEvaluator(TRUTH, ["map", "P_2,3", "ndcg_cut.2", "num_ret", "num_q", "runid"])
    values = evaluator.evaluate(RUN)
    assert list(values) == ["q2", "q1"]  # in both, in the run's order
    assert list(values["q1"]) == ["runid", "num_q", "num_ret", "map", "P_2", "P_3", "ndcg_cut_2"]
    assert values["q1"]["map"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert values["q1"]["P_2"] == 1 / 2
    assert values["q1"]["ndcg_cut_2"] == pytest.approx(1 / (2 + 1 / math.log2(3)))
    assert values["q2"]["map"] == 1 / 2  # equal scores: b before a
    assert (values["q2"]["num_ret"], values["q2"]["num_q"], values["q2"]["runid"]) == (3.0, 1.0, 0.0)


def test_level_and_judged_only():
    level = pytrec_eval.RelevanceEvaluator(TRUTH, {"recip_rank"}, relevance_level=2)
    assert level.evaluate(RUN)["q1"]["recip_rank"] == pytest.approx(1 / 3)
    judged = pytrec_eval.RelevanceEvaluator(TRUTH, {"recip_rank"}, relevance_level=2, judged_docs_only_flag=True)
    assert judged.evaluate(RUN)["q1"]["recip_rank"] == 1 / 2


def test_nothing_to_evaluate():
    assert pytrec_eval.RelevanceEvaluator(TRUTH, set()).evaluate(RUN) == {"q2": {}, "q1": {}}
    for truth, run in (({}, RUN), (TRUTH, {}), ({}, {})):
        assert pytrec_eval.RelevanceEvaluator(truth, {"map"}).evaluate(run) == {}


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"ndgc"}, "unknown measure 'ndgc'; did you mean"),
        ({"ndcg_cut_0"}, "Negative cutoff detected"),  # pytrec_eval 0.5.11 ends the process
        ({"ndcg_cut_x"}, "unknown measure 'ndcg_cut_x'"),
        ({"dcg"}, "unknown measure 'dcg'"),  # since trec_eval 10
        ("map", r"write \{'map'\}"),
        ({"utility_1,2"}, "utility takes four coefficients"),
    ],
)
def test_measures_that_are_none(measures, message):
    with pytest.raises((rs.errors.InputError, rs.errors.InputTypeError), match=message):
        pytrec_eval.RelevanceEvaluator(TRUTH, measures)


def test_bad_data():
    with pytest.raises(TypeError, match=r"query 'q', item 'a': relevance 0\.5 is not a whole number"):
        pytrec_eval.RelevanceEvaluator({"q": {"a": 0.5}}, {"map"})
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"map"})
    with pytest.raises(ValueError, match="score is nan"):
        evaluator.evaluate({"q": {"a": math.nan}})


def test_over_queries():
    aggregated = pytrec_eval.compute_aggregated_measure
    assert aggregated("num_rel_ret", [3.0, 4.0]) == 7
    assert aggregated("num_q", [1.0, 1.0]) == 2
    assert aggregated("gm_map", [math.log(0.5), math.log(0.125)]) == pytest.approx(0.25)
    assert aggregated("ndcg_cut_10", [0.5, 0.0]) == 0.25


def test_lines():
    judged = pytrec_eval.parse_qrel(["1 0 a 2\n", "1 0 b -1\n", "\n", "2 0 a 1"])
    assert judged == {"1": {"a": 2, "b": -1}, "2": {"a": 1}}
    assert pytrec_eval.parse_run(["1 Q0 a 1 2.5 tag\n", "1 Q0 b 2 1e1 tag\n"]) == {"1": {"a": 2.5, "b": 10.0}}
    for lines, message in (
        (["1 0 a 1", "1 0 a 2"], "line 2: item 'a' appears twice for query '1'"),
        (["1 0 a"], "line 1: expected 4 fields"),
        (["1 0 a 0.5"], "line 1: grade 0.5 is not a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            pytrec_eval.parse_qrel(lines)


@pytest.mark.peers
class TestTheirs:
    @pytest.fixture
    def theirs(self):
        return pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")

    def test_names(self, theirs):
        assert pytrec_eval.supported_measures == theirs.supported_measures
        for name in ("official", "set", "all_trec"):
            assert pytrec_eval.supported_nicknames[name] == theirs.supported_nicknames[name]
        for name in ("RelevanceEvaluator", "compute_aggregated_measure", "parse_qrel", "parse_run"):
            ours, other = (inspect.signature(getattr(module, name)).parameters for module in (pytrec_eval, theirs))
            assert [(one.name, one.default) for one in ours.values()] == [
                (one.name, one.default) for one in other.values()
            ]

    @pytest.mark.parametrize("seed", range(20))
    def test_values(self, theirs, seed):
        """Bit for bit, with the same keys in the same order."""
        chance = random.Random(seed)
        items = [f"d{number}" for number in range(40)]
        grades = chance.choice([(0, 1), (0, 1, 2, 3), (-1, 0, 1, 2)])
        truth, run = (
            {
                f"q{number}": {item: draw() for item in chance.sample(items, chance.randint(1, 40))}
                for number in chance.sample(range(9), 7)
            }
            for draw in (lambda: chance.choice(grades), lambda: chance.randint(0, 8) / 4)
        )
        for judged in truth.values():
            judged["d0"] = 0  # trec_eval 9 needs one that is not negative
        measures = {"all_trec", "P_3,7", "iprec_at_recall_0.25", "set_F_0.5"}
        arguments = truth, measures, chance.choice((1, 2)), chance.random() < 0.3
        ours, other = (module.RelevanceEvaluator(*arguments).evaluate(run) for module in (pytrec_eval, theirs))
        assert [(query, list(values)) for query, values in ours.items()] == [
            (query, list(values)) for query, values in other.items()
        ]
        assert ours == other
