"""How each library's numbers in `rosetta.json` are asked of rankstone: which convention, choices, metric and input.

Two tables: what a metric's name and its {variants} mean, and which cells are left out and why.
"""

import math
import re

import pyarrow as pa

import rankstone as rs

from ..asking import on_metric

# library: (convention, kind of input)
LIBRARIES = {
    "pytrec_eval": ("trec_eval-9", "text"),
    "ir_measures": ("ir_measures", "text"),
    "ranx": ("ranx", "dicts"),
    "trectools": ("trectools", "text"),
    "rankereval": ("rankereval", "lists"),
    "sklearn": ("scikit-learn", "arrays"),
    "torchmetrics": ("torchmetrics+defects", "arrays"),
    "lightgbm": ("lightgbm", "arrays"),
    "xgboost": ("xgboost", "arrays"),
    "catboost": ("catboost", "arrays"),
    "rax": ("rax", "arrays"),
    "tensorflow-ranking": ("tf-ranking", "arrays"),
    "evidently": ("evidently", "arrays"),
    "pyspark": ("spark", "lists"),
    "spark-scala": ("spark-scala", "lists"),
    "rectools": ("rectools", "lists"),
    "recommenders": ("recommenders", "dicts"),
    "replay": ("replay", "rows"),
    "lenskit": ("lenskit", "lists"),
    "cornac": ("cornac", "lists"),
    "implicit": ("implicit", "lists"),
    "recbole": ("recbole", "lists"),
    "recmetrics": ("recmetrics", "lists"),
    "hivemall": ("hivemall-0.5", "lists"),
}
NAMES = {
    "precision": "precision", "recall": "recall", "hit": "hit_rate", "f1": "f1", "rr": "rr", "ap": "ap",
    "ndcg": "ndcg", "dcg": "dcg", "rprec": "r_precision", "auc": "auc", "err": "err", "fallout": "fallout",
    "bpref": "bpref", "infap": "infap", "setP": "precision", "setR": "recall", "setF": "f1", "11pt": "iprec11",
    "gm_ap(log)": "gmap",
}  # fmt: skip
# What a library's {variant} is in words of ours; a pair where it depends on the metric.
VARIANTS = {
    "torchmetrics": {
        "skip": {"no_relevant": "skip", "fallout": {"undefined": "skip"}},
        "pos": {"no_relevant": 1, "fallout": {"undefined": 1}},
        "adaptive_k": {"divisor": "min(k,retrieved)"},
    },
    "xgboost": {"minus": {"undefined": 0}, "lin": {"gain": "linear", "negative": "signed"}},
    "lightgbm": {"lin": {"gain": "linear"}, "pooled": {}},
    "catboost": {
        "exp": {"gain": "exp2"},
        "pos": {"discount": "rank"},
        "pooled": {},
        "query": {"averaging": "macro"},
    },
    "sklearn": {"average_precision_score": {}, "lrap": {"undefined": 1}},
    "rax": {"opa": {}},
    "tensorflow-ranking": {"opa": {}},
    "evidently": {"nofb": {"no_relevant": 0, "extra": "zero"}},
    "ranx": {"exp": {"gain": "exp2"}, "strict": {"missing": "error", "extra": "error"}},
    "ir_measures": {
        "exp": {"gain": "exp2", "query_digits": 5, "score_precision": "float64"},
        "cwl": {
            "ties": "input",
            "score_precision": "float64",
            "duplicates": "count",
            "ap": {"ties": "input", "score_precision": "float64", "duplicates": "count", "divisor": "found"},
        },
    },
    "trectools": {"exp": {"gain": "exp2"}, "noties": {}},
    "rankereval": {
        "drop": {"no_relevant": "skip", "undefined": "skip"},
        "zerofill": {"nan_in_mean": "zero"},
        "truncated": {"precision": {"divisor": "min(k,retrieved)"}, "recall": {"divisor": "min(relevant,k)"}},
        "log2": {},
        "scores": {"ties": "item_asc", "score_precision": "float32"},
    },
    "pyspark": {"ml": {}, "join": {"missing": "skip", "extra": "skip"}},
    "spark-scala": {"graded_asis": {}, "graded_sorted": {"ideal": "judged"}},
    "rectools": {
        "r_precision": {"divisor": "min(k,relevant)"},
        "divide_by_k": {"divisor": "k"},
        "divide_by_achievable": {"ideal": "judged"},
    },
    "recommenders": {
        "map": {"divisor": "relevant"},
        "binary,log2": {},
        "raw,log2": {"gain": "linear"},
        "exp,log2": {"gain": "exp2"},
        "raw,log2,rows": {"gain": "linear", "threshold": "all", "negative": "signed", "undefined": "skip"},
        "rows": {"threshold": "all"},
    },
    "replay": {
        "pandas": {"ties": "item_desc", "no_relevant": "skip"},
        "polars": {"ties": "item_desc", "no_relevant": "skip"},
    },
    "lenskit": {
        "graded": {"gain": "linear", "truth_duplicates": "first"},
        "offset1": {"discount": "log2(rank+1)"},
        "graded,offset1": {"gain": "linear", "truth_duplicates": "first", "discount": "log2(rank+1)"},
        "norm": {"divisor": "best"},
    },
    "recbole": {"raw": {"digits": 12}},
    "recmetrics": {"mark": {}},
    "hivemall": {
        "graded": {"ideal": "judged", "ideal_depth": "k", "undefined": "nan", "truth_duplicates": "first"},
        "graded_asis": {"ideal_depth": "k", "undefined": "nan", "truth_duplicates": "first"},
    },
}


# What is not compared, and why: (reason, test of one cell). The first that fits is counted.
NAMED = ("ndcg_rel", "rndcg", "binG", "G", "utility", "compat_.8", "nerr8", "sdcg", "pfound", "ncrr", "pipeline", "fcp")
UNSORTED = ("c_ties_graded", "o_multi")
TIED = ("c_ties", "c_ties_graded", "c_alltied", "c_float32")
RULES = (
    ("no metric of that name here", lambda one: one.word in NAMED),
    ("a variant that no choice says", lambda one: any(one.has(variant) for variant in UNSAID.get(one.library, ()))),
    ("the library's own metric is another, or defective", lambda one: one.word in DEFECTIVE.get(one.library, ())),
    ("a NaN score is refused here", lambda one: one.case.startswith("l_nan") and one.scored),
    (
        "equal scores in no order of its own",
        lambda one: (
            one.case in TIED
            and (
                one.library == "tensorflow-ranking"
                or (one.library == "torchmetrics" and one.word != "ndcg")
                or (one.library == "sklearn" and one.has("ignore_ties"))
            )
        ),
    ),
    (
        "a join multiplies what is there twice",
        lambda one: one.library in ("rectools", "recommenders") and one.case in ("i_dup_rec", "i_dup_truth"),
    ),
    (
        "an item with a negative grade is taken out of the list",
        lambda one: one.library == "tensorflow-ranking" and one.case == "j_negative_rel",
    ),
    (
        "grades that sum to 0 are taken for no grades",
        lambda one: one.library == "torchmetrics" and one.word == "ndcg" and one.case == "j_negative_rel",
    ),
    (
        "hits are lost where the relevant ids do not ascend",
        lambda one: one.library == "rankereval" and one.case in UNSORTED and one.word != "ndcg",
    ),
    (
        "a user without a hit is not in its table of users",
        lambda one: one.library == "trectools" and one.theirs in ("absent", "NaN") and one.user != "mean",
    ),
    (
        "NaN where no user has a hit",
        lambda one: one.library == "trectools" and one.word.startswith("rbp") and one.case == "n_no_hit",
    ),
    (
        "NaN for one user whose grades are all 0",
        lambda one: one.has("raw,log2,rows") and one.case == "d_norel_judged" and one.theirs == "NaN",
    ),
    (
        "a negative grade makes bpref more than 1",
        lambda one: one.library == "trectools" and one.word == "bpref" and one.case == "j_negative_rel",
    ),
    ("NaN for an empty list", lambda one: one.word == "11pt" and one.case == "e_empty_list"),
    ("it has no value: per list only, or no rows", lambda one: one.theirs in ("per-list only", "none", "n/a")),
    ("it raises an error", lambda one: isinstance(one.theirs, str) and one.theirs.startswith("ERR")),
)
UNSAID = {
    "rankereval": ("power",),
    "sklearn": ("ignore_ties",),
    "catboost": ("ranking",),
    "evidently": ("rank", "by_rank_label"),
    "pyspark": ("graded", "graded_sorted"),
    "rectools": ("PartialAUC", "PAP"),
    "cornac": ("pipeline",),
    "recbole": ("topk=2,4", "topk=3,6", "topk=2,3,4", "topk=1,2,4", "topk=1,2", "topk=5,10", "topk=3,5", "topk=2,5",
                "topk=2,3"),
}  # fmt: skip
DEFECTIVE = {
    "ranx": ("bpref",),
    "trectools": ("rprec", "rbp.8 with ties"),
    "rankereval": ("hit",),
    "xgboost": ("auc",),
    "evidently": ("ap",),
    "recommenders": ("rprec",),
}
# As the file's legend has it: float32 libraries, and one that prints 5 decimals.
TOLERANCE = {"torchmetrics": 2e-6, "rax": 2e-6, "tensorflow-ranking": 2e-6, "xgboost": 2e-6, "catboost": 2e-6,
             "ir_measures": 1e-5}  # fmt: skip


class Cell:
    """One metric of one library on one case."""

    def __init__(self, library, case, data, name):
        self.library, self.case, self.data, self.name = library, case, data, name
        word, variants, k = re.fullmatch(r"([^{@]+)((?:\{[^}]*\})*)(?:@(\d+))?", name).groups()
        self.variants = re.findall(r"\{([^}]*)\}", variants)
        self.word = "rbp.8 with ties" if name == "rbp.8" and library == "trectools" else word
        self.k = k and int(k)
        self.pool = next((one for one in self.variants if one in ("ret", "full")), None)
        self.user = self.theirs = None

    def has(self, variant):
        return variant in self.variants

    @property
    def kind(self):
        """The input: dicts of "text" ids, "dicts" and "lists" of numbers, "rows" where items repeat, score "arrays"."""
        if self.pool:
            return "arrays"
        if self.library == "trectools" and self.word in ("ndcg", "rbp.8"):  # scores are not read
            return "text lists"
        if self.library == "rankereval" and self.has("scores"):
            return "rows"
        if self.case == "i_dup_rec" and self._counts_each_row():
            return "text lists" if LIBRARIES[self.library][1] == "text" else "lists"
        return LIBRARIES[self.library][1]

    def _counts_each_row(self):
        by_rows = self.word in ("rbp.8", "err") or self.has("exp") or self.has("cwl")
        return self.library in ("trectools", "replay") or (self.library == "ir_measures" and by_rows)

    @property
    def scored(self):
        return "lists" not in self.kind

    def call(self):
        """Convention, metric with its own parameters, and the other choices."""
        convention = LIBRARIES[self.library][0]
        if self.library == "ir_measures" and self.has("exp"):
            convention = "gdeval"
        choices = {}
        name = "rbp" if self.word.startswith("rbp") else NAMES[self.word]
        if name == "rbp":
            choices["p"] = float(self.word[3:])
        for variant in self.variants:
            if variant != self.pool:
                said = VARIANTS[self.library][variant]
                general = {one: value for one, value in said.items() if not isinstance(value, dict)}
                choices |= said.get(name, general)
        if (self.library, self.name.split("@")[0]) in ALWAYS:
            choices |= ALWAYS[self.library, self.name.split("@")[0]]
        level = self.data["rel_level"]
        fixed = self.library in ("lightgbm", "trectools") or choices.get("threshold") == "all"
        if level != 1 and not fixed:  # the library was told the level, or given only what is above it
            choices["threshold"] = level
            if self.library == "evidently" and name == "ndcg":
                choices["gain"] = "binary"
        elif not fixed and (self.kind == "arrays" or self.library == "hivemall"):  # it was given 0 and 1
            choices["threshold"] = ">0"
        if self.kind == "lists":
            choices["ties"] = "input"  # the library was given lists
        return convention, *on_metric(name + (f"@{self.k}" if self.k else ""), choices)

    def evaluate(self, user=None):
        """Ours: of all users, or of one alone."""
        run, truth = self.data["run"], self.data["qrels"]
        if user is not None:
            run, truth = ({user: side[user]} if user in side else {} for side in (run, truth))
        convention, metric, choices = self.call()
        result = rs.evaluate(*self._inputs(truth, run), metric, convention=convention, **choices)
        return result, next(iter(result))

    def _inputs(self, truth, run):
        run = {user: [(item, math.nan if score == "NaN" else score) for item, score in rows]
               for user, rows in run.items()}  # fmt: skip
        truth = {user: {int(item): grade for item, grade in grades.items()} for user, grades in truth.items()}
        kind = self.kind
        if kind == "arrays":
            return self._arrays(truth, run)
        twice = self.data["truth_lists"]
        if twice and kind in ("lists", "rows"):
            truth = {user: list(twice[user]) for user in truth}
        if kind.startswith("text"):
            truth = {user: {str(item): grade for item, grade in grades.items()} for user, grades in truth.items()}
            run = {user: [(str(item), score) for item, score in rows] for user, rows in run.items()}
        if kind == "text lists":
            return truth, {user: [item for item, _ in rows] for user, rows in run.items()}
        if kind == "lists":
            return _lists(truth, run)
        return truth, {user: dict(rows) for user, rows in run.items()}

    def _arrays(self, truth, run):
        """Each row is an item of its own, so that one given twice is two; {full} adds the relevant ones not retrieved.

        The labels of what was not retrieved are given too: these libraries never see them: `unjudged="only_returned"`.
        """
        labels, scores = {}, {}
        low = min((score for rows in run.values() for _, score in rows if not math.isnan(score)), default=1.0)
        level = self.data["rel_level"]
        for user in dict.fromkeys([*truth, *run]):
            judged, rows = truth.get(user, {}), run.get(user, [])
            own = {at: judged.get(item, 0) for at, (item, _) in enumerate(rows)}
            scored = {at: score for at, (_, score) in enumerate(rows)}
            for item, grade in judged.items():
                if item not in dict(rows) and (grade >= level if level > 1 else grade > 0):
                    own[1000 + item] = grade
                    if self.pool == "full":
                        low -= 0.001
                        scored[1000 + item] = low
            if user in truth:
                labels[user] = own
            if user in run or scored:
                scores[user] = scored
        if self.has("pooled"):  # every row has a label
            labels = {user: {at: labels.get(user, {}).get(at, 0) for at in rows} for user, rows in scores.items()}
        if self.library == "catboost" and self.word == "err":  # it was given labels up to 1
            top = max([1, *(grade for grades in labels.values() for grade in grades.values())])
            labels = {user: {at: grade / top for at, grade in grades.items()} for user, grades in labels.items()}
        return labels, scores


# Choices that go with a metric rather than with a variant of it.
ALWAYS = {
    ("hivemall", "ndcg"): {"gain": "binary", "ideal": "judged"},  # of lists without grades
    ("implicit", "auc"): {"catalogue": 20},
}


def _lists(truth, run):
    """Items and scores in the order of the record; rankstone sorts them. With a NaN among them, the order alone."""
    if any(math.isnan(score) for rows in run.values() for _, score in rows):
        return truth, {user: [item for item, _ in rows] for user, rows in run.items()}
    graded = {user: list(one.items()) if isinstance(one, dict) else [(item, 1) for item in one]
              for user, one in truth.items()}  # fmt: skip
    return _columns(graded, "grades"), _columns(run, "scores")


def _columns(side, values):
    items, numbers = (
        pa.array([[row[at] for row in rows] for rows in side.values()], pa.list_(kind))
        for at, kind in ((0, pa.int64()), (1, pa.float64()))
    )
    return rs.lists(items, query=pa.array(side, pa.string()), **{values: numbers})


def ours(cell, user, alone):
    """Our number for one user, or the "mean"."""
    if user == "mean":
        result, label = cell.evaluate()
        return result[label]
    result, label = cell.evaluate(user if alone else None)
    if alone and cell.library != "recmetrics" and cell.library != "lenskit":
        value = result[label]  # the library was called with this user alone
    else:
        value = dict(zip(result.queries, result.per_query[label].tolist(), strict=True)).get(user, math.nan)
    return math.log(max(value, 1e-5)) if cell.word == "gm_ap(log)" and not math.isnan(value) else value
