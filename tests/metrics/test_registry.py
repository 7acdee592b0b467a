"""How metrics are written: several in one text, cutoffs, and the names that other tools have for them."""

import re

import pytest

import rankstone as rs
from rankstone.metrics import registry

TRUTH = {"q": {"a": 2, "b": 1}}
RUN = {"q": ["b", "x", "a"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ndcg@10,ap", ["ndcg@10", "ap"]),
        (" ndcg@10 , ap ", ["ndcg@10", "ap"]),
        ("recall@{5,10},ap", ["recall@5", "recall@10", "ap"]),
        ("ndcg@5,10", ["ndcg@5", "ndcg@10"]),
        ("P_5,10", ["precision@5", "precision@10"]),
        ("recall@{1..3,10}", ["recall@1", "recall@2", "recall@3", "recall@10"]),
        ("recall@{1..30..10}", ["recall@1", "recall@11", "recall@21"]),
        ("ap(divisor='min(relevant,k)')@5,rr", ["ap(divisor='min(relevant,k)')@5", "rr"]),
        ("f(beta=2, precision_divisor='k'),f", ["f(beta=2, precision_divisor='k')", "f"]),
    ],
)
def test_several_in_one_text(text, names):
    assert [str(metric) for metric in rs.authoring.Metric.parse(text)] == names
    assert list(rs.evaluate(TRUTH, RUN, text)) == names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ndcg@10,", "cannot read metric ''"),
        ("ndcg@10,,ap", "cannot read metric ''"),
        ("ndcg@10,foo", "unknown metric 'foo'"),
        ("10,ap", "unknown metric '10'"),
        ("recall@{3..1}", "there is no number from 3 up to 1"),
        ("recall@{1..9..0}", "k must be a whole number from 1, not 0"),
        ("recall@{1..9999999999}", "names more than 10,000 cutoffs"),
        ("recall@{0..2}", "k must be a whole number from 1, not 0"),
        ("ndcg@10-", "cutoff '10-' is not a whole number"),
        ("R_2", "unknown metric 'R_2'"),  # neither the coefficient of determination nor recall
        ("IPrec@5", "must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_read(text, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        rs.authoring.Metric.parse(text)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        # trec_eval and pytrec_eval
        ("ndcg_cut_10", "ndcg@10"), ("ndcg_cut.10", "ndcg@10"), ("map_cut_10", "ap@10"), ("P_5", "precision@5"),
        ("recall_5", "recall@5"), ("success_5", "hit_rate@5"), ("recip_rank", "rr"), ("Rprec", "r_precision"),
        ("iprec_at_recall_0.10", "iprec(recall=0.1)"), ("11pt_avg", "iprec11"), ("gm_map", "gmap"),
        ("infAP", "infap"), ("set_P", "precision"), ("set_recall", "recall"), ("set_F", "f"),
        # ir_measures
        ("AP(rel=2)@100", "ap(threshold=2)@100"), ("nDCG(dcg='exp-log2')@10", "ndcg(gain='exp2')@10"),
        ("nDCG(dcg='log2')", "ndcg(gain='linear')"), ("IPrec@0.1", "iprec(recall=0.1)"),
        ("IPrec(rel=2)@0.1", "iprec(recall=0.1, threshold=2)"), ("RBP(p=0.9)", "rbp(p=0.9)"), ("SetP", "precision"),
        ("SetR", "recall"), ("SetF(beta=2)", "f(beta=2)"), ("NumRelRet", "num_rel_ret"), ("Judged@10", "judged@10"),
        ("NumRet(rel=2)", "num_rel_ret(threshold=2)"),
        # ranx
        ("ndcg_burges@10", "ndcg(gain='exp2')@10"), ("dcg_burges@3", "dcg(gain='exp2')@3"), ("rbp.95", "rbp(p=0.95)"),
        ("r-precision", "r_precision"), ("hits@5", "num_rel_ret(averaging='macro')@5"),
        # torchmetrics
        ("RetrievalNormalizedDCG", "ndcg"), ("retrieval_reciprocal_rank", "rr"), ("RetrievalHitRate", "hit_rate"),
        ("RetrievalRPrecision", "r_precision"), ("RetrievalFallOut", "fallout"), ("RetrievalAUROC", "auc"),
        # RecBole, rectools, BEIR, MTEB and papers
        ("hit_ratio@2", "hit_rate@2"), ("HitRate@2", "hit_rate@2"), ("LogLoss", "logloss"), ("F1Beta@5", "f@5"),
        ("NDCG@10", "ndcg@10"), ("ndcg_at_10", "ndcg@10"), ("mean_average_precision", "ap"),
        ("mean_reciprocal_rank@10", "rr@10"), ("hit_rate_at_1", "hit_rate@1"), ("mrr_at_10", "rr@10"),
        ("R_cap_at_10", "recall(divisor='min(relevant,k)')@10"), ("Hole@10", "unjudged(divisor='k')@10"),
        # sentence-transformers, ragas, TruLens, Quepid
        ("cosine-NDCG@10", "ndcg@10"), ("demo_cosine_accuracy@1", "hit_rate@1"), ("dot-MAP@100", "ap@100"),
        ("id_based_context_recall", "recall"), ("ir_hit_rate@3", "hit_rate@3"),
        ("ndcg_cut@10", "ndcg(ideal_depth='k')@10"),
        ("f2@10", "f(beta=2)@10"), ("F0.5@2", "f(beta=0.5)@2"), ("f_measure", "f"), ("F-measure@5", "f@5"),
        ("f1_score@3", "f1@3"), ("f2_score", "f(beta=2)"),
    ],
)  # fmt: skip
def test_names_of_other_tools(theirs, ours):
    """They are read, never printed."""
    assert [str(metric) for metric in rs.authoring.Metric.parse(theirs)] == [ours]


def test_a_metric_of_ones_own_is_nearer_than_another_tools_name(monkeypatch):
    for name in ("rows", "names"):
        monkeypatch.setattr(registry.metrics, name, dict(getattr(registry.metrics, name)))

    @rs.metric("hits", formula="hits(k)")
    def hits(ranking: rs.authoring.Ranking, *, k=None):
        """Hits."""
        return rs.authoring.Ratio(ranking.hits(k), ranking.one)

    assert rs.authoring.Metric.parse("hits@5") == (hits @ 5,)
    registry.parse.cache_clear()


def test_a_spelling_that_is_no_attribute_is_explained():
    assert rs.mse([1, 2], truth=[1, 4]) == (0 + 2**2) / 2
    with pytest.raises(AttributeError, match=r"no attribute 'f2'; did you mean rs.f\(beta=2\)\?"):
        rs.f2  # noqa: B018
    with pytest.raises(KeyError, match=r"unknown metric 'f2'; did you mean 'f\(beta=2\)'\?"):
        rs.metrics["f2"]


@pytest.mark.parametrize("value", [None, 0.5, "x"])
def test_a_metric_returns_a_ratio(value):
    try:
        rs.metric("returns_no_ratio")(lambda ranking: value)
        with pytest.raises(TypeError, match=r"^returns_no_ratio: its function returned .*; return rs.authoring.Ratio"):
            rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "returns_no_ratio")
    finally:
        del rs.metrics.rows["returns_no_ratio"], rs.metrics.names["returns_no_ratio"]


@pytest.mark.parametrize("name", [3, None, "", lambda ranking: None])
def test_a_metric_is_declared_with_its_name(name):
    with pytest.raises(TypeError, match=r"declared with its name: @rs.metric\('my_metric'\)"):
        rs.metric(name)


@pytest.mark.parametrize("value", ["-" * 9000 + "1", "(" * 9000 + "1" + ")" * 9000, "[" * 9000, "\0"])
def test_parameters_that_are_nested_too_deeply(value):
    with pytest.raises(ValueError, match=r"cannot read|not a plain value"):
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, f"ndcg(gain={value})")
