"""The presets: one row per tool, with the choices by which its numbers are reproduced.

A choice's name holds for all metrics (`gain`), for one (`ap_divisor`), or for one with a cutoff (`rr@k_ties`). What a
row leaves out is as in `rankstone`. `library` is the version whose numbers were compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Preset: TypeAlias = Mapping[str, Any]  # parts of a `Convention`: {"summary": "LightGBM", "choices": {"gain": "exp2"}}

# Tools that are handed one array of labels and one of scores: they know nothing but the rows they get.
_ARRAYS: dict[str, Any] = {
    "ties": "input",
    "unjudged": "only_returned",
    "missing": "skip",
    "extra": "zero",
    "empty_list": "skip",
    "auc_pairs": "list",
    "fallout_nonrelevant": "list",
}
# Tools that are handed lists of items, and of relevant items: the order is the ranking, an item twice counts twice.
_LISTS: dict[str, Any] = {"ties": "input", "threshold": ">0", "duplicates": "count"}
_TREC: dict[str, Any] = {"score_precision": "float32", "empty_truth": "skip"}
_HIVEMALL: dict[str, Any] = {
    "duplicates": "count",
    "truth_duplicates": "count",
    "precision_divisor": "min(k,retrieved)",
    "precision_both_empty": 1,
    "recall_both_empty": 1,
    "ap_both_empty": 1,
    "gain": "exp2",
    "negative": "signed",
    "ideal": "given",
    "auc_pairs": "list",
    "auc_tied_pairs": "order",
    "auc_undefined": 0.5,
    "r2_undefined": 1,
    "mae_undefined": 0,
    "mse_undefined": 0,
    "rmse_undefined": 0,
    "logloss_undefined": 0,
    "no_queries": 0,
}
_NOTE: dict[str, Any] = {
    "threshold": ">0",
    "truth_depth": "k",
    "duplicates": "once",
    "truth_duplicates": "first",
    "precision_averaging": "micro",
    "recall_averaging": "micro",
    "precision_digits": 4,
    "recall_digits": 4,
    "recall_undefined": "error",
    "no_queries": "error",
    "rr_terms": "all",
    "ap_divisor": "none",
}
_NOTE_SOURCE = (
    "the note is a notebook called 'Ranking metrics', after 'Ranking Evaluation Metrics for Recommender Systems' on "
    "Towards Data Science; rankstone.compat.note has its functions"
)
_TORCHMETRICS: dict[str, Any] = {
    **_ARRAYS,
    "score_precision": "float32",
    "threshold": ">0",
    "ap_divisor": "found",
    "ndcg_ties": "expected",
    "negative": "signed",
    "auc_undefined": 0,
    "fallout_undefined": 0,
    "no_queries": 0,
}


def _by_metric(metrics: tuple[str, ...], **choices: Any) -> dict[str, Any]:
    """The same choices for some metrics."""
    return {f"{metric}_{name}": value for metric in metrics for name, value in choices.items()}


_BY_INTENT = (
    "alpha_dcg", "alpha_ndcg", "err_ia", "nerr_ia", "nrbp", "nnrbp", "ap_ia", "precision_ia", "subtopic_recall",
)  # fmt: skip
_PYNDEVAL: dict[str, Any] = {"ties": "item_asc", "missing": "skip", "nnrbp_undefined": "nan"}
_UNSTABLE = "equal scores: whatever an unstable sort makes of them"

# Evaluators of retrieval models and of RAG, which are handed ids in order and a set of relevant ids.
_SETS: dict[str, Any] = {**_LISTS, "truth_duplicates": "first", "gain": "binary", "ap_divisor": "min(relevant,k)"}
_SENTENCE_TRANSFORMERS: dict[str, Any] = {**_SETS, "no_relevant": "skip"}
_MTEB: dict[str, Any] = {
    **_TREC,
    "missing": "skip",
    "recall_rounding": "floor(x+0.9)",
    "digits": 5,
    "rr_threshold": ">0",
    "rr_score_precision": "float64",
    "rr_digits": None,
}
_MTEB_NOTES = (
    "R_cap is recall(divisor='min(relevant,k)', score_precision='float64', threshold='>0'); before 2.18.19 with "
    "ties='input'",
    "Hole is unjudged(divisor='k', score_precision='float64'), with the items judged for any query as the truth of "
    "each; before 2.18.19 with ties='input'",
    "accuracy is recall@1; result files have 6 decimals",
)
_QUEPID: dict[str, Any] = {
    **_LISTS,
    "extra": "zero",
    "gain": "exp2",
    "cg_gain": "linear",
    "precision_divisor": "min(k,retrieved)",
    "ndcg_ideal_depth": "all",
}
_QUEPID_SERVER: dict[str, Any] = {**_QUEPID, "query_digits": 2, "query_rounding": "half_up"}
_QUEPID_NOTES = (
    "ndcg_cut@k: ndcg(ideal_depth='k')",
    "err: max_grade is the highest rating of the scorer's scale",
)
_OPENSEARCH: dict[str, Any] = {
    **_LISTS,
    "gain": "exp2",
    "precision_divisor": "min(k,retrieved)",
    "query_digits": 2,
    "query_rounding": "half_up",
}
_OPENSEARCH_NOTES = (
    "Coverage@k is judged: the share of all returned items that are rated, whatever k is",
    "MRR is rr with the cutoff of the experiment",
)

_EVIDENTLY: dict[str, Any] = {
    **_ARRAYS,
    "threshold": ">0",
    "ties": "group_mean",
    "extra": "skip",
    "no_relevant": "skip",
    "precision_divisor": "min(k,retrieved)",
    "negative": "signed",
    "f1_averaging": "parts",
    "f1_undefined": "nan",
    **_by_metric(("coverage", "gini", "novelty", "popularity", "ild", "personalisation", "serendipity"), ties="input"),
    "coverage_items": "history",
    "coverage_outside": "skip",
    "gini_items": "shown",
    "gini_divisor": "n-1",
    "gini_undefined": 0,
    "popularity_popularity": "interactions",
    "popularity_cold": "skip",
    "novelty_cold": "skip",
    "ild_undefined": 0,
    "serendipity_form": "history",
}

PRESETS: Mapping[str, Preset] = {
    "rankstone": {
        "summary": "trec_eval's definitions; every judged query counts, and 0 where a query has no relevant item",
        "choices": {},
    },
    # -- search ----------------------------------------------------------------------------------------------
    "trec_eval": {
        "summary": "trec_eval 10: scores compared as float32, an error if a judged query is missing from the run",
        "library": "trec_eval 10.0",
        "choices": {**_TREC, "missing": "error", "recall_rounding": "round(x)"},
        "notes": ("trec_eval -c counts missing queries: missing='zero'", "trec_eval -l 2: threshold=2"),
    },
    "trec_eval-9": {
        "summary": "trec_eval 9 and pytrec_eval: scores compared as float32, queries missing from the run left out",
        "library": "pytrec_eval-terrier 0.5.11",
        "choices": {**_TREC, "missing": "skip", "recall_rounding": "floor(x+0.9)"},
    },
    "ir_measures": {
        "summary": "ir_measures: trec_eval's definitions, every judged query counted; RR@k breaks ties the other way",
        "library": "ir-measures 0.4.3",
        "choices": {
            **_TREC,
            "recall_rounding": "floor(x+0.9)",
            "rr@k_ties": "item_asc",
            "rr@k_score_precision": "float64",
            "err_score_precision": "float64",
            "err_max_grade": 4,
            "err_query_digits": 5,
            "judged_ties": "item_asc",
            "judged_score_precision": "float64",
            "rbp_ties": "input",
            "rbp_score_precision": "float64",
            "rbp_duplicates": "count",
            "err_duplicates": "count",
            "auc_ties": "input",
            "auc_pairs": "list",
            "auc_tied_pairs": "order",
            "auc_score_precision": "float64",
            "auc_undefined": "skip",
            **{f"{metric}_ties": "item_asc" for metric in _BY_INTENT},
            **{f"{metric}_score_precision": "float64" for metric in _BY_INTENT},
            "nnrbp_undefined": "nan",
        },
        "notes": (
            "nDCG(dcg='exp-log2') is computed by gdeval: see that preset",
            "metrics of intents are computed by pyndeval, which breaks ties the other way: see that preset",
        ),
        "not_reproduced": (
            "NumRel, which is 0 for a query missing from the run",
            "0 for nNRBP of a query that is missing from the run and has no relevant item",
            "ERR_IA@1 and alpha_DCG@1 are not divided: see pyndeval+defects",
            "where two of alpha, beta and rel differ in one call, the second has 0",
        ),
    },
    "gdeval": {
        "summary": "gdeval.pl: gain 2^grade - 1, ERR with a highest grade of 4, values of 5 decimals",
        "library": "gdeval 1.3, through ir-measures 0.4.3",
        "choices": {
            "duplicates": "count",
            "empty_truth": "skip",
            "gain": "exp2",
            "err_max_grade": 4,
            "query_digits": 5,
        },
    },
    "ranx": {
        "summary": "ranx: grades below the threshold have no gain, rbp weighs by grade",
        "library": "ranx 0.3.21",
        "choices": {"ties": "input", "below_threshold": "no_gain", "rbp_gain": "linear"},
        "notes": (
            "as with make_comparable=True; without it a missing or an extra query is an error: "
            "missing='error', extra='error'",
            "ndcg_burges: gain='exp2'",
        ),
        "undefined_order": f"{_UNSTABLE}, in lists of more than 15 items",
    },
    "trectools": {
        "aliases": ("hf-evaluate",),
        "summary": "trectools: missing queries ignored, unjudged queries counted",
        "library": "trectools 0.0.50",
        "choices": {
            "threshold": ">0",
            "duplicates": "count",
            "truth_duplicates": "first",
            "missing": "skip",
            "extra": "zero",
            "empty_list": "skip",
            "recall_undefined": "nan",
            "ap_undefined": "nan",
            "ndcg_undefined": "nan",
            "nan_in_mean": "zero",
            "gmap_undefined": "nan",
            "gmap_nan_in_mean": "nan",
            "bpref_no_negatives": "zero",
        },
        "notes": (
            "nDCG and RBP go by the order of the rows, whatever the scores: hand the run over as lists of items",
        ),
        "not_reproduced": (
            "r_precision, which mixes up queries under pandas 3",
            "bpref of negative grades, which passes 1",
            "RBP averaged over ties",
        ),
    },
    "pyndeval": {
        "summary": "pyndeval: TREC's ndeval, metrics of intents; equal scores in ascending order of item id",
        "library": "pyndeval 0.0.8",
        "choices": _PYNDEVAL,
        "notes": ("relevance_level=2: threshold=2", "alpha and beta are parameters of the metrics"),
        "not_reproduced": (
            "ERR-IA@1 and alpha-DCG@1 are not divided: see pyndeval+defects",
            "of a query whose rows are not together in the run, only the last of them count",
            "cutoffs above 20 are refused",
        ),
    },
    "pyndeval+defects": {
        "summary": "pyndeval with ERR-IA@1 and alpha-DCG@1 as they are, not divided",
        "library": "pyndeval 0.0.8",
        "choices": {**_PYNDEVAL, "alpha_dcg_divisor": "every from 2", "err_ia_divisor": "every from 2"},
    },
    "rankereval": {
        "summary": "rankereval: average precision over min(k, relevant), NaN for a user without a relevant item",
        "library": "rankereval 0.2.0",
        "choices": {
            **_LISTS,
            "truth_duplicates": "count",
            "ndcg_truth_duplicates": "first",
            "extra": "zero",
            "ap_divisor": "min(relevant,k)",
            "negative": "signed",
            "ideal": "nonzero",
            "dcg_discount": "ln(rank+1)",
            "no_relevant": "nan",
            "undefined": "nan",
        },
        "notes": (
            "nan_handling='drop': no_relevant='skip', undefined='skip'; 'zerofill': nan_in_mean='zero'",
            "truncated=True: precision(divisor='min(k,retrieved)'), recall(divisor='min(relevant,k)')",
        ),
        "not_reproduced": (
            "relevance_scaling='power', which is grade^2 - 1",
            "HitRate, which is NaN unless exactly one item is relevant",
            "hits lost where the relevant ids are not in ascending order",
        ),
    },
    # -- score arrays ----------------------------------------------------------------------------------------
    "scikit-learn": {
        "aliases": ("sklearn",),
        "summary": "scikit-learn: ndcg averages over tied scores, average precision takes each tied group as a whole",
        "library": "scikit-learn 1.9.1",
        "choices": {
            **_ARRAYS,
            "threshold": ">0",
            "ndcg_ties": "expected",
            "dcg_ties": "expected",
            "ap_ties": "group_end",
            "ndcg_negative": "error",
            "dcg_negative": "signed",
            "auc_undefined": "nan",
        },
        "notes": (
            "label_ranking_average_precision_score: ap_undefined=1",
            "one query is one row of ndcg_score, or one call of average_precision_score and roc_auc_score",
        ),
        "undefined_order": "ndcg_score(ignore_ties=True): " + _UNSTABLE,
        "not_reproduced": ("an error for a list of one item (ndcg_score, dcg_score)",),
    },
    "torchmetrics": {
        "summary": "torchmetrics.retrieval: average precision over the hits found, ndcg averages over tied scores",
        "library": "torchmetrics 1.9.0",
        "choices": _TORCHMETRICS,
        "notes": (
            "empty_target_action='skip': no_relevant='skip'; 'pos': no_relevant=1; for fallout: fallout_undefined",
            "adaptive_k=True: precision(divisor='min(k,retrieved)')",
        ),
        "undefined_order": _UNSTABLE + "; ndcg is their average",
        "not_reproduced": (
            "relevant items with a score of 0 or less are not found: see torchmetrics+defects",
            "ndcg as for a query without a relevant item where the grades sum to 0",
        ),
    },
    "torchmetrics+defects": {
        "summary": "torchmetrics with its filter: precision, recall, rr and ap find no item with a score of 0 or less",
        "library": "torchmetrics 1.9.0",
        "choices": {
            **_TORCHMETRICS,
            **{f"{metric}_nonpositive_score": "miss" for metric in ("precision", "recall", "rr", "ap")},
        },
        "undefined_order": _UNSTABLE + "; ndcg is their average",
    },
    "lightgbm": {
        "summary": "LightGBM: ndcg with gain 2^grade - 1, 1 for a query without a relevant item, one AUC over all rows",
        "library": "lightgbm 4.7.0",
        "choices": {
            **_ARRAYS,
            "gain": "exp2",
            "negative": "error",
            "ndcg_undefined": 1,
            "ap_divisor": "min(relevant,k)",
            "ap_undefined": 1,
            "auc_averaging": "one_list",
            "auc_undefined": 1,
        },
        "notes": ("label_gain=0,1,2,...: gain='linear'", "auc needs a label for every row"),
    },
    "xgboost": {
        "summary": "XGBoost: ndcg with gain 2^grade - 1, 1 for a query without a relevant item, cut at 32 by default",
        "library": "xgboost 3.2.0",
        "choices": {
            **_ARRAYS,
            "score_precision": "float32",
            **{f"{metric}_default_k": 32 for metric in ("ndcg", "ap", "precision")},
            "gain": "exp2",
            "negative": "error",
            "ideal_sign": "positive",
            "ndcg_undefined": 1,
            "ap_divisor": "min(relevant,k)",
            "ap_undefined": 1,
            "precision_divisor": "min(k,retrieved)",
        },
        "notes": (
            "ndcg@k- and map@k-: ndcg_undefined=0, ap_undefined=0",
            "ndcg_exp_gain=False: gain='linear', negative='signed'",
        ),
        "not_reproduced": ("auc of a ranking, which counts pairs with equal labels by the order of their rows",),
    },
    "catboost": {
        "summary": "CatBoost: of equal scores the worst item first, precision over min(k, rows), one AUC over all rows",
        "library": "catboost 1.2.10",
        "choices": {
            **_ARRAYS,
            "ties": "pessimistic",
            "negative": "signed",
            "ideal_sign": "positive",
            "ndcg_undefined": 1,
            "recall_undefined": 1,
            "ap_divisor": "min(relevant,k)",
            "precision_divisor": "min(k,retrieved)",
            "auc_ties": "input",
            "auc_averaging": "one_list",
            "auc_undefined": 0,
            "err_stop_chance": "grade",
        },
        "notes": (
            "NDCG:type=Exp: gain='exp2'; NDCG:denominator=Position: discount='rank'",
            "QueryAUC: auc_averaging='macro'",
            "ERR takes labels from 0 to 1",
        ),
        "not_reproduced": ("QueryAUC:type=Ranking", "PFound"),
    },
    "rax": {
        "summary": "rax: ndcg with gain 2^grade - 1 over the items of the array, scores in float32",
        "library": "rax 0.4.0",
        "choices": {
            **_ARRAYS,
            "score_precision": "float32",
            "gain": "exp2",
            "negative": "signed",
            "precision_divisor": "min(k,retrieved)",
            "auc_tied_pairs": "wrong",
            "auc_undefined": 0,
        },
        "notes": ("opa_metric of labels 0 and 1 is auc",),
        "not_reproduced": ("ndcg over 1 where grades below 0 make the ideal DCG 0",),
    },
    "tf-ranking": {
        "summary": "TensorFlow Ranking: ndcg with gain 2^grade - 1 over the items of the array, scores in float32",
        "library": "tensorflow-ranking 0.5.5",
        "choices": {
            **_ARRAYS,
            "score_precision": "float32",
            "gain": "exp2",
            "precision_divisor": "min(k,retrieved)",
            "auc_tied_pairs": "wrong",
            "auc_averaging": "micro",
            "auc_undefined": 0,
        },
        "notes": ("OPAMetric of labels 0 and 1 is auc",),
        "undefined_order": "equal scores are shuffled",
        "not_reproduced": ("an item with a negative grade is taken out of the list",),
    },
    "evidently": {
        "summary": "Evidently: tied items share the whole part of their mean rank, F1 is of mean precision and recall",
        "library": "evidently 0.7.23",
        "choices": _EVIDENTLY,
        "notes": (
            "no_feedback_users=True: no_relevant=0, extra='zero'",
            "min_rel_score: threshold= and gain='binary'",
            "values by position; the result's own rank column is one too high for NDCG and MRR",
        ),
        "not_reproduced": ("MAP, which depends on the order of the rows", "an error if k is above the longest list"),
    },
    "evidently+defects": {
        "summary": "Evidently with its own sums: diversity over items, not pairs, and lists taken to hold k items",
        "library": "evidently 0.7.23",
        "choices": {
            **_EVIDENTLY,
            "ild_divisor": "shown",
            "personalisation_list_length": "k",
            "serendipity_form": "relevant",
        },
        "not_reproduced": ("MAP, which depends on the order of the rows", "an error if k is above the longest list"),
    },
    # -- recommendations -------------------------------------------------------------------------------------
    "spark": {
        "summary": "Spark's RankingMetrics: binary ndcg, average precision at k over min(k, relevant)",
        "library": "pyspark 4.3.0",
        "choices": {
            **_LISTS,
            "truth_duplicates": "first",
            "extra": "zero",
            "gain": "binary",
            "ap_divisor": "min(relevant,k)",
        },
        "notes": ("an inner join of truth and run: missing='skip', extra='skip'",),
    },
    "spark-scala": {
        "summary": "Spark's RankingMetrics with grades, in Scala: gain 2^grade - 1, the ideal list in the order given",
        "library": "spark 4.3.0",
        "choices": {
            **_LISTS,
            "truth_duplicates": "first",
            "extra": "zero",
            "gain": "exp2",
            "negative": "signed",
            "ideal": "given",
            "ap_divisor": "min(relevant,k)",
        },
        "notes": ("the truth sorted by grade: ideal='judged'; PySpark drops the grades",),
    },
    "rectools": {
        "summary": "RecTools: ndcg over k relevant items, however many there are; users without any left out",
        "library": "rectools 0.19.0",
        "choices": {
            **_LISTS,
            "no_relevant": "skip",
            "gain": "binary",
            "ideal": "ones",
            "coverage_unit": "count",
            "coverage_outside": "count",
            "popularity_popularity": "interactions",
            "ild_distance": "hamming",
            "ild_missing_features": "skip",
            "ild_undefined": 0,
            "ild_empty_list": "skip",
        },
        "notes": (
            "NDCG(divide_by_achievable=True): ideal='judged'",
            "MAP(divide_by_k=True): ap(divisor='k')",
            "Precision(r_precision=True): precision(divisor='min(k,relevant)')",
            "CatalogCoverage(normalize=True): coverage_unit='share'; items outside of the catalogue count, so that it "
            "can pass 1: coverage_outside='skip' leaves them out",
            "SufficientReco: filled with empty_list='skip'; CoveredUsers: filled with at_least=1",
        ),
        "not_reproduced": ("an item twice in a list or in the truth, which the join multiplies",),
    },
    "recommenders": {
        "summary": "recommenders: users missing from the run left out by precision, recall and ap, but 0 in ndcg",
        "library": "recommenders 1.2.1",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "missing": "skip",
            "ndcg_missing": "zero",
            "empty_list": "skip",
            "ndcg_empty_list": "count",
            "no_relevant": "skip",
            "ap_divisor": "min(relevant,k)",
            "gain": "binary",
            "below_threshold": "no_gain",
            "no_queries": 0,
            "coverage_items": "history",
            "coverage_outside": "count",
            "novelty_popularity": "interactions",
            "novelty_popularity_total": "interactions",
            "novelty_cold": "zero",
            "novelty_averaging": "micro",
            "ild_no_queries": "nan",
            "ild_missing_features": "zero",
            "serendipity_form": "history",
            "serendipity_missing_features": "zero",
            "serendipity_no_queries": "nan",
        },
        "notes": (
            "map: ap(divisor='relevant')",
            "ndcg_at_k(score_type='raw'): gain='linear'; 'exp': gain='exp2'",
            "items without history count in coverage, so that it can pass 1, and add 0 to novelty: "
            "coverage_outside='skip', novelty_cold='one' are otherwise",
        ),
        "not_reproduced": ("an item twice in a list or in the truth, which the join multiplies",),
    },
    "replay": {
        "summary": "RePlay with dicts: average precision over min(k, relevant), users missing from the run count 0",
        "library": "replay-rec 0.22.0",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "duplicates": "count",
            "precision_duplicates": "once",
            "recall_duplicates": "once",
            "truth_duplicates": "first",
            "ap_truth_duplicates": "count",
            "ndcg_truth_duplicates": "count",
            "gain": "binary",
            "ap_divisor": "min(relevant,k)",
            "auc_pairs": "list",
            "auc_tied_pairs": "order",
            "auc_no_negatives": "right",
            "auc_undefined": 0,
            "coverage_items": "history",
            "coverage_outside": "skip",
            "novelty_scale": "log_users",
            "novelty_divisor": "k",
            "unseen_divisor": "k",
            "categories_divisor": "k",
            "overlap_divisor": "k",
            "overlap_undefined": 0,
        },
        "notes": (
            "with pandas and polars frames: ties='item_desc', no_relevant='skip'",
            "Surprisal is novelty; Novelty is unseen with the training users as the truth: without a list they count 1",
        ),
    },
    "lenskit": {
        "summary": "LensKit 2025: recall over min(k, relevant), discount log2(max(rank, 2)), NaN counts 0 in the mean",
        "library": "lenskit 2025.8.1",
        "choices": {
            **_LISTS,
            "truth_duplicates": "count",
            "missing": "skip",
            "extra": "zero",
            "precision_divisor": "min(k,retrieved)",
            "precision_empty_list": "nan",
            "recall_divisor": "min(relevant,k)",
            "ap_divisor": "min(relevant,k,retrieved)",
            "ap_undefined": "nan",
            "gain": "binary",
            "negative": "signed",
            "ndcg_discount": "log2(max(rank,2))",
            "dcg_discount": "log2(max(rank,2))",
            **{f"{metric}_no_relevant": "nan" for metric in ("recall", "hit_rate", "rr", "ndcg", "rbp")},
            "ap_no_relevant": "error",
            "ap_both_empty": "nan",
            "nan_in_mean": "zero",
            "gini_outside": "count",
            "popularity_scale": "percentile",
            "popularity_undefined": 0,
        },
        "notes": (
            "NDCG(gain='rating'): gain='linear'; a discount of log2(rank+1) is LogRankDiscount(offset=1)",
            "RBP(normalize=True): rbp(divisor='best')",
        ),
    },
    "cornac": {
        "summary": "cornac: NaN for recall and ndcg without a relevant item, tied items as one group in MAP",
        "library": "cornac 3.0.1",
        "choices": {
            **_LISTS,
            "truth_duplicates": "count",
            "missing": "skip",
            "gain": "binary",
            "precision_empty_list": "nan",
            "precision@k_empty_list": "count",
            "recall_undefined": "nan",
            "ndcg_undefined": "nan",
            "ap_ties": "group_end",
            "ap_unjudged": "only_returned",
            "ap_undefined": "nan",
            "auc_pairs": "list",
            "auc_tied_pairs": "wrong",
            "auc_undefined": "nan",
        },
        "notes": ("ranking_eval skips users without a test item: no_relevant='skip'",),
        "not_reproduced": ("MRR raises an error where nothing was found", "NCRR"),
    },
    "implicit": {
        "summary": "implicit: precision over min(k, relevant), of all users together",
        "library": "implicit 0.7.3",
        "choices": {
            **_LISTS,
            "truth_duplicates": "first",
            "no_relevant": "skip",
            "gain": "binary",
            "precision_divisor": "min(k,relevant)",
            "precision_averaging": "micro",
            "ap_divisor": "min(relevant,k)",
            "auc_pairs": "list",
            "auc_tied_pairs": "order",
            "auc_divisor": "k",
        },
        "needs": {"auc_catalogue": "implicit's is over all items there are, shown or not: say how many"},
    },
    "recbole": {
        "summary": "RecBole: average precision over min(k, relevant), means of 4 decimals",
        "library": "recbole 1.2.1",
        "choices": {
            **_LISTS,
            "truth_duplicates": "first",
            "no_relevant": "skip",
            "gain": "binary",
            "ap_divisor": "min(relevant,k)",
            "digits": 4,
            "coverage_padding": 1,
            "coverage_outside": "count",
            "gini_padding": 1,
            "gini_outside": "count",
            "popularity_popularity": "interactions",
            "tail_tail_rule": "items",
            "tail_tail_at": 0.1,
            "tail_tail_ties": "item",
            "entropy_log": "e",
        },
        "notes": (
            "metric_decimal_place: digits",
            "ShannonEntropy is divided by the number of items shown, too: entropy(divisor='rows*items')",
        ),
    },
    "recmetrics": {
        "summary": "recmetrics: precision and recall of each user with 4 decimals; mark is ap",
        "library": "recmetrics 0.1.5",
        "choices": {
            **_LISTS,
            "ap_duplicates": "once",
            "truth_duplicates": "count",
            "extra": "zero",
            "precision_divisor": "min(k,retrieved)",
            "precision_query_digits": 4,
            "precision_undefined": "error",
            "precision_no_relevant": 0,
            "recall_query_digits": 4,
            "recall_undefined": "error",
            "coverage_unit": "percent",
            "coverage_outside": "count",
            "coverage_digits": 2,
            "ild_undefined": "error",
            "ild_empty_list": "error",
            "novelty_popularity": "given",
            "novelty_divisor": "k",
        },
    },
    "elliot": {
        "summary": "Elliot: 1 - Gini over n - 1 items, the tail beyond 80 % of the interactions",
        "library": "elliot 0.3.1 at fc27efed",
        "choices": {
            **_LISTS,
            "empty_list": "skip",
            "gini_divisor": "n-1",
            "gini_sign": "equality",
            "gini_outside": "join",
            "entropy_averaging": "macro",
        },
    },
    "fairranktune": {
        "summary": "FairRankTune: exposure added up over the lists, for each item of a group",
        "library": "FairRankTune 0.0.7",
        "choices": {
            **_LISTS,
            "exposure_averaging": "sum",
            "exposure_difference_averaging": "sum",
            "group_pairs_averaging": "sum",
            "ndkl_smoothing": 1e-7,
        },
        "notes": (
            "AWRF(p=0.2): exposure='geometric', patience=0.8, exposure_scale='percent'",
            "ERBP(decay=0.8): exposure='geometric', patience=0.8, exposure_scale='sum'; ERBE: per='none'; "
            "EXPU: per='relevance', with grades, and averaging='micro'",
            "ARP: group_pairs",
        ),
        "not_reproduced": ("IAA of several lists, of which it reads the first only",),
    },
    "trec-fair-2022": {
        "summary": "TREC Fair Ranking 2022: AWRF, and expected exposure of relevant items",
        "library": "wptrec at 6fd105f2",
        "choices": {"ee_l_of": "relevant", "ee_d_of": "relevant", "ee_r_of": "relevant"},
        "notes": ("EELMetric(target_len=4): target_length=4", "EELMetric(only_rel=False): of='shown'"),
    },
    "jurity": {
        "summary": "jurity: diversity within and between lists",
        "library": "jurity 2.1.0",
        "choices": {**_LISTS},
    },
    # -- search engines and their workbenches ----------------------------------------------------------------
    "elasticsearch": {
        "summary": "Elasticsearch's and OpenSearch's _rank_eval: an ideal list no longer than the hits",
        "library": "modules/rank-eval of Elasticsearch 7 and 8, by formula",
        "choices": {
            "ties": "input",
            "gain": "exp2",
            "precision_divisor": "min(k,retrieved)",
            "ndcg_ideal_depth": "min(k,retrieved)",
        },
        "notes": (
            "relevant_rating_threshold: threshold; ignore_unlabeled: precision(divisor='judged')",
            "dcg(normalize=true) is ndcg; unknown_doc_rating=r: dcg and ndcg(unjudged_gain=2**r - 1)",
            "expected_reciprocal_rank(maximum_relevance=3): err(max_grade=3)",
        ),
        "not_reproduced": ("unknown_doc_rating of expected_reciprocal_rank: give these documents a rating",),
    },
    "opensearch": {
        "summary": "OpenSearch Search Relevance Workbench of 2026: relevant by the ratings of each query, 2 decimals",
        "library": "opensearch-project/search-relevance at 0b75cf8",
        "choices": {
            **_OPENSEARCH,
            "threshold": "relative",
            **{f"{metric}_threshold": ">0" for metric in _BY_INTENT},
        },
        "notes": _OPENSEARCH_NOTES,
    },
    "opensearch-3.1": {
        "summary": "OpenSearch Search Relevance Workbench of 3.1: relevant above 0, 2 decimals per query",
        "library": "opensearch-project/search-relevance at d8be5d1",
        "choices": _OPENSEARCH,
        "notes": _OPENSEARCH_NOTES,
    },
    "quepid": {
        "summary": "Quepid's scorers in the browser: gain 2^rating - 1, an ideal list that is not cut at k",
        "library": "Quepid 8.6.0",
        "choices": _QUEPID,
        "notes": _QUEPID_NOTES,
        "not_reproduced": ("the ideal list's ratings are cut to whole numbers: see quepid+defects",),
    },
    "quepid+defects": {
        "summary": "Quepid's scorers in the browser, the ideal list's ratings cut to whole numbers",
        "library": "Quepid 8.6.0",
        "choices": {**_QUEPID, "ndcg_ideal_grades": "whole"},
    },
    "quepid-server": {
        "summary": "Quepid's scorers in its background job: as in the browser, 2 decimals per query",
        "library": "Quepid 8.6.0",
        "choices": _QUEPID_SERVER,
        "notes": _QUEPID_NOTES,
        "not_reproduced": (
            "the ideal list of ndcg_cut comes worst first: see quepid-server+defects",
            "err, which fails there",
        ),
    },
    "quepid-server+defects": {
        "summary": "Quepid's scorers in its background job, ndcg as its ndcg_cut: the k worst ratings as ideal list",
        "library": "Quepid 8.6.0",
        "choices": {**_QUEPID_SERVER, "ndcg_ideal_depth": "k", "ndcg_ideal_order": "worst"},
    },
    "vespa": {
        "summary": "pyvespa's VespaEvaluator: hits as returned, average precision over min(k, relevant)",
        "library": "pyvespa at 42b584a",
        "choices": {**_SETS, "no_relevant": "skip"},
        "notes": ("graded truth: ndcg(gain='linear', no_relevant=None)",),
    },
    # -- retrieval models and RAG ----------------------------------------------------------------------------
    "sentence-transformers": {
        "summary": "sentence-transformers 6: average precision over min(k, relevant), ties by ascending id",
        "library": "sentence-transformers 6.2.0",
        "choices": {**_SENTENCE_TRANSFORMERS, "ties": "item_asc"},
        "notes": ("accuracy@k is hit_rate@k", "the RerankingEvaluator: see sentence-transformers-reranking"),
    },
    "sentence-transformers-5": {
        "summary": "sentence-transformers 5: average precision over min(k, relevant), ties in the order given",
        "library": "sentence-transformers 5.1.2",
        "choices": _SENTENCE_TRANSFORMERS,
        "notes": ("accuracy@k is hit_rate@k",),
    },
    "sentence-transformers-reranking": {
        "summary": "sentence-transformers' RerankingEvaluator: scikit-learn's numbers of the returned documents",
        "library": "sentence-transformers 6.2.0",
        "choices": {
            **_ARRAYS,
            "threshold": ">0",
            "gain": "binary",
            "ndcg_ties": "expected",
            "ap_ties": "group_end",
            "rr_ties": "optimistic",
            "no_relevant": "skip",
        },
        "notes": (
            "samples without a negative are dropped there: leave them out",
            "positives come before negatives, and so equal scores in mrr; in CrossEncoderRerankingEvaluator they are "
            "in no order of its own",
        ),
        "undefined_order": "mrr of long lists: " + _UNSTABLE,
    },
    "mteb": {
        "summary": "MTEB: trec_eval's definitions, means of 5 decimals, queries missing from the run left out",
        "library": "mteb 2.26.24",
        "choices": _MTEB,
        "notes": _MTEB_NOTES,
        "not_reproduced": ("top_k_accuracy leaves misses out of its list: see mteb+defects",),
    },
    "mteb-before-2.18.19": {
        "summary": "MTEB before 2.18.19: reciprocal rank takes equal scores in the order given",
        "library": "mteb 2.18.18",
        "choices": {**_MTEB, "rr_ties": "input"},
        "notes": _MTEB_NOTES,
        "not_reproduced": ("top_k_accuracy leaves misses out of its list: see mteb+defects",),
    },
    "mteb+defects": {
        "summary": "MTEB with its top_k_accuracy as hit_rate: misses are left out, so that its mean is always 1",
        "library": "mteb 2.26.24",
        "choices": {
            **_MTEB,
            "hit_rate_misses": "undefined",
            "hit_rate_undefined": "skip",
            "hit_rate_score_precision": "float64",
            "hit_rate_threshold": ">0",
            "hit_rate_digits": None,
        },
    },
    "beir": {
        "summary": "BEIR: trec_eval's definitions, means of 5 decimals; MRR and accuracy over all judged queries",
        "library": "beir 2.2.0",
        "choices": {
            **_MTEB,
            "rr_digits": 5,
            **_by_metric(("rr", "hit_rate", "unjudged"), ties="input", missing="zero", empty_truth="count"),
            **_by_metric(("hit_rate", "unjudged"), score_precision="float64", threshold=">0"),
        },
        "notes": (
            "Accuracy@k is hit_rate@k; P@k is precision@k",
            "R_cap is recall(divisor='min(relevant,k)', ties='input', score_precision='float64', threshold='>0', "
            "missing='zero', no_relevant='error')",
            "Hole is unjudged(divisor='k'), with the items judged for any query as the truth of each",
            "evaluate(ignore_identical_ids=True), its default, removes documents with the id of the query: "
            "remove them first",
        ),
    },
    "mlflow": {
        "summary": "MLflow's retriever metrics: precision and the ideal list over the documents returned",
        "library": "mlflow 3.17.2",
        "choices": {
            **_LISTS,
            "truth_duplicates": "first",
            "gain": "binary",
            "precision_divisor": "min(k,retrieved)",
            "recall_duplicates": "once",
            "recall_both_empty": 1,
            "ndcg_both_empty": 1,
            "ndcg_ideal": "repeats",
            "ndcg_ideal_depth": "min(k,retrieved)",
            **_by_metric(("precision", "recall", "ndcg"), default_k=3),
        },
        "notes": ("variance and p90 are numpy.var and numpy.percentile(..., 90) of the values per query",),
    },
    "haystack": {
        "summary": "Haystack's document evaluators: each relevant document counts once, no cutoff",
        "library": "haystack-ai 3.4.0",
        "choices": {**_LISTS, "duplicates": "once", "truth_duplicates": "first"},
        "notes": (
            "DocumentRecallEvaluator: single_hit is hit_rate, multi_hit is recall",
            "ndcg without scores in the ground truth: gain='binary'",
        ),
    },
    "phoenix": {
        "summary": "Phoenix: an ideal list of the returned documents only, precision over k",
        "library": "arize-phoenix 20.26.1",
        "choices": {
            **_ARRAYS,
            "threshold": ">0",
            "duplicates": "count",
            "ndcg_negative": "error",
            "missing": "zero",
            "extra": "skip",
            "empty_list": "count",
        },
        "notes": ("hit is hit_rate, reciprocal_rank is rr",),
        "not_reproduced": ("NaN for a label that is not finite, which is an error here",),
    },
    "trulens": {
        "summary": "TruLens: every expected chunk is relevant, NaN without one",
        "library": "trulens 2.16.0",
        "choices": {
            **_LISTS,
            "threshold": "all",
            "extra": "zero",
            "recall_duplicates": "once",
            "ndcg_duplicates": "once",
            "truth_duplicates": "first",
            "undefined": "skip",
            "precision_divisor": "min(k,retrieved)",
            "precision_empty_list": "skip",
            "ndcg_ideal_depth": "min(k,retrieved)",
            "ndcg@k_ideal_depth": "k",
        },
        "notes": (
            "ir_hit_rate is hit_rate",
            "with relevance_scores, precision_at_k and recall_at_k take all chunks that score as high as the k-th: "
            "cut the lists there",
        ),
    },
    # -- documents: where one disagrees with its own code, both are here -------------------------------------
    "ragas": {
        "summary": "ragas by id: precision and recall over sets of ids, context precision is average precision of hits",
        "library": "ragas 0.4.3",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "duplicates": "first",
            "truth_duplicates": "first",
            "ap_duplicates": "count",
            "ap_divisor": "found",
            "precision_no_relevant": 0,
            "precision_undefined": "skip",
            "precision_empty_list": "skip",
            "recall_undefined": "skip",
        },
        "notes": (
            "IDBasedContextPrecision is precision, IDBasedContextRecall is recall; context precision of verdicts "
            "(NonLLMContextPrecisionWithReference and its kin) is ap",
            "ids are compared as text: write them alike, 1 is not '1' here",
            "where nothing can be divided by, a query has NaN and its mean leaves it out",
        ),
        "not_reproduced": ("1e-10 added to what ap is divided by: a perfect list has 0.99999999995 there",),
    },
    "llamaindex": {
        "summary": "LlamaIndex's retrieval metrics: precision and recall of sets, a repeated id counts elsewhere",
        "library": "llama-index-core 0.14.25",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "duplicates": "count",
            "truth_duplicates": "first",
            "precision_duplicates": "first",
            "recall_duplicates": "first",
            "ndcg_truth_duplicates": "count",
            "gain": "binary",
        },
        "notes": (
            "a query without a result or without an expected id is an error there: empty_list='error', "
            "no_relevant='error'",
            "HitRate is hit_rate, MRR is rr, AveragePrecision is ap",
            "HitRate(use_granular_hit_rate=True): recall(duplicates='count', truth_duplicates='count')",
            "MRR(use_granular_mrr=True): rr(terms='mean')",
            "NDCG(mode='exponential') is the same number, as grades are 0 and 1",
        ),
    },
    "hivemall": {
        "summary": "Hivemall's ranking measures as its manual prints them",
        "choices": {
            **_HIVEMALL,
            "truth_duplicates": "distinct",
            "ndcg_ideal_depth": "min(k,retrieved)",
            "ndcg@k_ideal_depth": "k",
        },
        "notes": (
            "truth_duplicates='distinct': its queries make the truth with collect_set",
            "auc: pairs within the first k places, of which all that the truth does not name count as not relevant; "
            "rankstone's own asks for items judged so",
            "ideal='given': a list of grades is taken in its order; to_ordered_list(relscore, '-reverse') sorts it",
        ),
    },
    "hivemall-0.5": {
        "summary": (
            "Hivemall since 0.5: average precision over the hits found, auc over k places, an ideal list no longer "
            "than the list"
        ),
        "library": "hivemall 0.6.2-SNAPSHOT",
        "choices": {**_HIVEMALL, "ap_divisor": "found", "auc_divisor": "k", "ndcg_ideal_depth": "min(k,retrieved)"},
    },
    "ptranking": {
        "summary": "PT-Ranking's metrics as first written: average precision over k, 0 for a list shorter than k",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "gain": "exp2",
            "negative": "signed",
            "ap_divisor": "k",
            "precision_short_list": "zero",
            "ap_short_list": "zero",
            "err_short_list": "zero",
            "ndcg_short_list": "zero",
            "ndcg_undefined": "nan",
        },
    },
    "ptranking-head": {
        "summary": "PT-Ranking today: average precision over the sum of the k highest labels",
        "choices": {
            "ties": "input",
            "threshold": ">0",
            "gain": "exp2",
            "negative": "signed",
            "precision_relevance": "clipped",
            "ap_relevance": "clipped",
            "ap_divisor": "grades",
            "precision_short_list": "zero",
            "ap_short_list": "zero",
            "ndcg_short_list": "zero",
            "nerr_short_list": "zero",
            "ap_undefined": "nan",
            "ndcg_undefined": "nan",
            "nerr_undefined": "nan",
            "kendall_variant": "ties_agree",
        },
    },
    "preference-note": {
        "summary": "a note on ranking metrics: the truth is a ranked list cut at k, sums over all users are divided",
        "choices": {**_NOTE, "recall_divisor": "min(relevant,k)"},
        "notes": (_NOTE_SOURCE,),
    },
    "preference-note-masked": {
        "summary": "the same note with a mask of relevant items: recall is divided by all that the mask holds",
        "choices": {**_NOTE, "recall_divisor": "grades"},
        "notes": (_NOTE_SOURCE,),
    },
    "python-recsys": {
        "summary": "python-recsys: results rounded to 6 decimals, average precision over the hits found",
        "choices": {
            "duplicates": "once",
            "truth_duplicates": "count",
            "undefined": "error",
            "mae_undefined": "error",
            "rmse_undefined": "error",
            "ap_divisor": "found",
            "ap_term_digits": 6,
            "ap_undefined": 0,
            "ap_digits": None,
            "precision_divisor": "min(k,retrieved)",
            "pearson_undefined": "nan",
            "spearman_undefined": "nan",
            "kendall_undefined": "nan",
            "digits": 6,
        },
    },
    "recsys-blog": {
        "summary": "a post on recommender metrics: relevant above a rating of 3, average precision over all relevant",
        "choices": {"threshold": ">3"},
        "notes": (
            "the post is 'Evaluation metrics in recommender system', 2024: formulas for recommenders, without code",
            "for binary feedback it has no threshold: threshold=1",
        ),
    },
}
