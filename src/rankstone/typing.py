"""Types for what users write: data, metrics, and every keyword of `rs.evaluate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import Any, Protocol, TypeAlias

from rankstone.conventions.choices import Choices
from rankstone.inputs.columns import Columns
from rankstone.inputs.lists import Lists
from rankstone.metrics.agreement import Variant
from rankstone.metrics.cascade import BestDivisor, MaxGrade, Persisting, RelevantGain, StopChance
from rankstone.metrics.gains import (
    BelowThreshold,
    DcgDivisor,
    DiscountName,
    Gain,
    IdealDepth,
    IdealItems,
    IdealSign,
    Negative,
)
from rankstone.metrics.intents import Alpha, DiverseIdeal, EveryDivisor, Patience
from rankstone.metrics.pairs import Divisor, NoNegatives, Pairs, TiedPairs
from rankstone.metrics.precision import ApDivisor, Recall, RecallRounding, TermDigits, Terms
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import Beta, Catalogue, Nonrelevant, PrecisionDivisor, RecallDivisor


class Arrow(Protocol):
    """A table or a column that any Arrow library hands over: pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Array(Protocol):
    """An array of NumPy, torch, JAX, CuPy or SciPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...


Id: TypeAlias = Any  # of a query or an item: text, a whole number, or anything hashable
Items: TypeAlias = Mapping[Id, float] | Sequence[Id] | Set[Id] | Array  # one list: {"a": 3, "b": 1}, or ["a", "b"]
BySubtopic: TypeAlias = Mapping[Id, Mapping[Any, float] | Sequence[Any] | Set[Any]]  # {"a": {"s1": 2}, "b": ["s1"]}
Numbers: TypeAlias = Sequence[float] | Array
Weights: TypeAlias = Mapping[Id, float] | Numbers  # one a query
Column: TypeAlias = Arrow | Array | Sequence[Any]
Path: TypeAlias = "str | PathLike[str]"
Truth: TypeAlias = "Mapping[Id, Items | BySubtopic] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 3}}
Run: TypeAlias = "Mapping[Id, Items] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 0.9, "b": 0.5}}
Metrics: TypeAlias = str | Metric | Iterable[str | Metric]  # "ndcg@10", or ["ap", rs.ndcg @ 10]
Roles: TypeAlias = Mapping[str, Any]  # {"query": "user_id"}, or {"truth": {...}, "run": {...}}


class Keywords(Choices, total=False):
    """Every choice, and the parameters of the metrics: for all that take them, or for one (`ap_divisor`)."""

    alpha: Alpha
    alpha_dcg_alpha: Alpha
    alpha_dcg_divisor: EveryDivisor
    alpha_ndcg_alpha: Alpha
    alpha_ndcg_ideal: DiverseIdeal
    ap_divisor: ApDivisor
    ap_term_digits: TermDigits
    auc_catalogue: Catalogue
    auc_divisor: Divisor
    auc_no_negatives: NoNegatives
    auc_pairs: Pairs
    auc_tied_pairs: TiedPairs
    below_threshold: BelowThreshold
    beta: Beta | Patience
    catalogue: Catalogue
    cg_below_threshold: BelowThreshold
    cg_gain: Gain
    cg_negative: Negative
    dcg_below_threshold: BelowThreshold
    dcg_discount: DiscountName
    dcg_divisor: DcgDivisor
    dcg_gain: Gain
    dcg_negative: Negative
    discount: DiscountName
    divisor: ApDivisor | BestDivisor | DcgDivisor | Divisor | EveryDivisor | PrecisionDivisor | RecallDivisor
    err_discount: DiscountName
    err_ia_alpha: Alpha
    err_ia_divisor: EveryDivisor
    err_max_grade: MaxGrade
    err_stop_chance: StopChance
    f1_precision_divisor: PrecisionDivisor
    f1_recall_divisor: RecallDivisor
    f_beta: Beta
    f_precision_divisor: PrecisionDivisor
    f_recall_divisor: RecallDivisor
    fallout_catalogue: Catalogue
    fallout_nonrelevant: Nonrelevant
    gain: Gain
    gmap_divisor: ApDivisor
    ideal: DiverseIdeal | IdealItems
    ideal_depth: IdealDepth
    ideal_sign: IdealSign
    iprec11_recall_rounding: RecallRounding
    iprec_recall: Recall
    iprec_recall_rounding: RecallRounding
    judged_divisor: PrecisionDivisor
    kendall_variant: Variant
    max_grade: MaxGrade
    ndcg_below_threshold: BelowThreshold
    ndcg_discount: DiscountName
    ndcg_gain: Gain
    ndcg_ideal: IdealItems
    ndcg_ideal_depth: IdealDepth
    ndcg_ideal_sign: IdealSign
    ndcg_negative: Negative
    negative: Negative
    nerr_discount: DiscountName
    nerr_ia_alpha: Alpha
    nerr_ia_ideal: DiverseIdeal
    nerr_max_grade: MaxGrade
    nerr_stop_chance: StopChance
    nnrbp_alpha: Alpha
    nnrbp_beta: Patience
    nnrbp_ideal: DiverseIdeal
    no_negatives: NoNegatives
    nonrelevant: Nonrelevant
    nrbp_alpha: Alpha
    nrbp_beta: Patience
    p: Persisting
    pairs: Pairs
    precision_divisor: PrecisionDivisor
    rbo_p: Persisting
    rbp_divisor: BestDivisor
    rbp_gain: RelevantGain
    rbp_p: Persisting
    recall: Recall
    recall_divisor: RecallDivisor
    recall_rounding: RecallRounding
    rr_terms: Terms
    stop_chance: StopChance
    term_digits: TermDigits
    terms: Terms
    tied_pairs: TiedPairs
    variant: Variant
