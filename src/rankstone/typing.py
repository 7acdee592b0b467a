"""Types for what users write: data, metrics, and every keyword of `rs.evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import Any, Protocol, TypeAlias

from rankstone.conventions.choices import Choices
from rankstone.data.columns import Columns
from rankstone.data.lists import Lists
from rankstone.data.side_info import Catalogue
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
from rankstone.metrics.groups import (
    Counted,
    ExposureOf,
    ExposureScale,
    Group,
    GroupBy,
    ListTarget,
    Per,
    Smoothing,
    Target,
    TargetLength,
)
from rankstone.metrics.intents import Alpha, DiverseIdeal, EveryDivisor, NrbpPatience
from rankstone.metrics.pairs import Divisor, NoNegatives, Pairs, TiedPairs
from rankstone.metrics.precision import ApDivisor, Recall, RecallRounding, TermDigits, Terms
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import Beta, Nonrelevant, PrecisionDivisor, RecallDivisor
from rankstone.metrics.sets import Catalogue as CatalogueSize
from rankstone.metrics.shown import (
    AtLeast,
    Cold,
    ColdPopularity,
    EntropyDivisor,
    Exposure,
    GiniDivisor,
    ItemBase,
    Log,
    OutsideRule,
    Padding,
    Patience,
    PopularityOf,
    PopularityScale,
    Scale,
    ShownDivisor,
    Sign,
    TailAt,
    TailRule,
    TailTies,
    Total,
    Unit,
)
from rankstone.metrics.variety import (
    CategoriesOf,
    CategoryDivisor,
    Difference,
    Distance,
    Divergence,
    Likeness,
    ListLength,
    LuckyForm,
    MissingFeatures,
    Mixed,
    PairDivisor,
)


class Arrow(Protocol):
    """A table or a column that any Arrow library hands over: pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Array(Protocol):
    """An array of NumPy, torch, JAX, CuPy or SciPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...


Id: TypeAlias = Any  # of a query or an item: text, a whole number, or anything hashable
Items: TypeAlias = Mapping[Id, float] | Sequence[Id] | Set[Id] | Array  # one list: {"a": 3, "b": 1}, or ["a", "b"]
Numbers: TypeAlias = Sequence[float] | Array
Weights: TypeAlias = Mapping[Id, float] | Numbers  # one a query
Column: TypeAlias = Arrow | Array | Sequence[Any]
Path: TypeAlias = "str | PathLike[str]"
BySubtopic: TypeAlias = Mapping[Id, Mapping[Any, float] | Sequence[Any] | Set[Any]]  # {"a": {"s1": 2}, "b": ["s1"]}
Truth: TypeAlias = "Mapping[Id, Items | BySubtopic] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 3}}
Run: TypeAlias = "Mapping[Id, Items] | Arrow | Array | Columns | Lists | Path"  # {"u1": {"a": 0.9, "b": 0.5}}
PerItem: TypeAlias = Mapping[Id, object] | Column  # one an item: {"a": "drama"}, or ["drama", ...] in their order
Stock: TypeAlias = "Column | Set[Id] | Path | Catalogue | tuple[Column, Array]"  # all items: ids, or a table of them
Parent: TypeAlias = "Mapping[Id, Id] | Callable[[Any], Id | None] | Arrow | Path"  # {"doc1#3": "doc1"}, or "#"
Metrics: TypeAlias = str | Metric | Iterable[str | Metric]  # "ndcg@10", or ["ap", rs.ndcg @ 10]
Roles: TypeAlias = Mapping[str, Any]  # {"query": "user_id"}, or {"truth": {...}, "run": {...}}


class Keywords(Choices, total=False):
    """Every choice, and the parameters of the metrics: for all that take them, or for one (`ap_divisor`)."""

    alpha: Alpha | Mixed
    alpha_dcg_alpha: Alpha
    alpha_dcg_divisor: EveryDivisor
    alpha_ndcg_alpha: Alpha
    alpha_ndcg_ideal: DiverseIdeal
    ap_divisor: ApDivisor
    ap_term_digits: TermDigits
    at_least: AtLeast
    auc_catalogue: CatalogueSize
    auc_divisor: Divisor
    auc_no_negatives: NoNegatives
    auc_pairs: Pairs
    auc_tied_pairs: TiedPairs
    awrf_exposure: Exposure
    awrf_patience: Patience
    awrf_target: ListTarget
    below_threshold: BelowThreshold
    beta: Beta | NrbpPatience
    calibration_alpha: Mixed
    calibration_exposure: Exposure
    calibration_form: Divergence
    calibration_log: Log
    calibration_patience: Patience
    categories_divisor: CategoryDivisor
    categories_of: CategoriesOf
    cg_below_threshold: BelowThreshold
    cg_gain: Gain
    cg_negative: Negative
    cold: Cold | ColdPopularity
    coverage_items: ItemBase
    coverage_outside: OutsideRule
    coverage_padding: Padding
    coverage_unit: Unit
    dcg_below_threshold: BelowThreshold
    dcg_discount: DiscountName
    dcg_divisor: DcgDivisor
    dcg_gain: Gain
    dcg_negative: Negative
    discount: DiscountName
    distance: Distance
    divisor: (
        ApDivisor
        | BestDivisor
        | CategoryDivisor
        | DcgDivisor
        | Divisor
        | EntropyDivisor
        | EveryDivisor
        | GiniDivisor
        | PairDivisor
        | PrecisionDivisor
        | RecallDivisor
        | ShownDivisor
    )
    ee_d_exposure: Exposure
    ee_d_of: Counted
    ee_d_patience: Patience
    ee_l_exposure: Exposure
    ee_l_of: Counted
    ee_l_patience: Patience
    ee_l_target: Target
    ee_l_target_length: TargetLength
    ee_r_exposure: Exposure
    ee_r_of: Counted
    ee_r_patience: Patience
    ee_r_target: Target
    ee_r_target_length: TargetLength
    efd_cold: Cold
    efd_log: Log
    efd_popularity: PopularityOf
    efd_popularity_total: Total
    entropy_divisor: EntropyDivisor
    entropy_log: Log
    epc_popularity: PopularityOf
    epc_popularity_total: Total
    err_discount: DiscountName
    err_ia_alpha: Alpha
    err_ia_divisor: EveryDivisor
    err_max_grade: MaxGrade
    err_stop_chance: StopChance
    exposure: Exposure
    exposure_difference_exposure: Exposure
    exposure_difference_exposure_scale: ExposureScale
    exposure_difference_patience: Patience
    exposure_difference_per: Per
    exposure_exposure: Exposure
    exposure_exposure_scale: ExposureScale
    exposure_group: Group
    exposure_of: ExposureOf
    exposure_patience: Patience
    exposure_per: Per
    exposure_ratio_exposure: Exposure
    exposure_ratio_patience: Patience
    exposure_ratio_per: Per
    exposure_scale: ExposureScale
    f1_precision_divisor: PrecisionDivisor
    f1_recall_divisor: RecallDivisor
    f_beta: Beta
    f_precision_divisor: PrecisionDivisor
    f_recall_divisor: RecallDivisor
    fallout_catalogue: CatalogueSize
    fallout_nonrelevant: Nonrelevant
    filled_at_least: AtLeast
    form: Divergence | LuckyForm
    gain: Gain | RelevantGain
    gini_divisor: GiniDivisor
    gini_exposure: Exposure
    gini_items: ItemBase
    gini_outside: OutsideRule
    gini_padding: Padding
    gini_patience: Patience
    gini_sign: Sign
    gmap_divisor: ApDivisor
    group: Group
    group_pairs_group: Group
    grouping: GroupBy
    iaa_exposure: Exposure
    iaa_patience: Patience
    ideal: DiverseIdeal | IdealItems
    ideal_depth: IdealDepth
    ideal_sign: IdealSign
    ild_distance: Distance
    ild_divisor: PairDivisor
    ild_missing_features: MissingFeatures
    ild_sign: Likeness
    iprec11_recall_rounding: RecallRounding
    iprec_recall: Recall
    iprec_recall_rounding: RecallRounding
    items: ItemBase
    judged_divisor: PrecisionDivisor
    kendall_variant: Variant
    list_length: ListLength
    log: Log
    max_grade: MaxGrade
    missing_features: MissingFeatures
    ndcg_below_threshold: BelowThreshold
    ndcg_discount: DiscountName
    ndcg_gain: Gain
    ndcg_ideal: IdealItems
    ndcg_ideal_depth: IdealDepth
    ndcg_ideal_sign: IdealSign
    ndcg_negative: Negative
    ndkl_smoothing: Smoothing
    negative: Negative
    nerr_discount: DiscountName
    nerr_ia_alpha: Alpha
    nerr_ia_ideal: DiverseIdeal
    nerr_max_grade: MaxGrade
    nerr_stop_chance: StopChance
    nnrbp_alpha: Alpha
    nnrbp_beta: NrbpPatience
    nnrbp_ideal: DiverseIdeal
    no_negatives: NoNegatives
    nonrelevant: Nonrelevant
    novelty_cold: Cold
    novelty_divisor: ShownDivisor
    novelty_log: Log
    novelty_popularity: PopularityOf
    novelty_popularity_total: Total
    novelty_scale: Scale
    nrbp_alpha: Alpha
    nrbp_beta: NrbpPatience
    of: CategoriesOf | Counted | ExposureOf
    outside: OutsideRule
    overlap_divisor: ShownDivisor
    overlap_sign: Difference
    p: Persisting
    padding: Padding
    pairs: Pairs
    patience: Patience
    per: Per
    personalisation_list_length: ListLength
    popularity: PopularityOf
    popularity_cold: ColdPopularity
    popularity_divisor: ShownDivisor
    popularity_popularity: PopularityOf
    popularity_scale: PopularityScale
    popularity_total: Total
    precision_divisor: PrecisionDivisor
    rbo_p: Persisting
    rbp_divisor: BestDivisor
    rbp_gain: RelevantGain
    rbp_p: Persisting
    recall: Recall
    recall_divisor: RecallDivisor
    recall_rounding: RecallRounding
    reo_grouping: GroupBy
    rr_terms: Terms
    rsp_grouping: GroupBy
    scale: PopularityScale | Scale
    serendipity_distance: Distance
    serendipity_form: LuckyForm
    serendipity_missing_features: MissingFeatures
    sign: Difference | Likeness | Sign
    smoothing: Smoothing
    stop_chance: StopChance
    tail_at: TailAt
    tail_divisor: ShownDivisor
    tail_popularity: PopularityOf
    tail_rule: TailRule
    tail_tail_at: TailAt
    tail_tail_rule: TailRule
    tail_tail_ties: TailTies
    tail_ties: TailTies
    tail_unit: Unit
    target: ListTarget | Target
    target_length: TargetLength
    term_digits: TermDigits
    terms: Terms
    tied_pairs: TiedPairs
    unit: Unit
    unseen_divisor: ShownDivisor
    variant: Variant
