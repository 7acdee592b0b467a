"""Statistics of paired samples: tests, corrections, intervals, effect sizes and power. `rs.compare` uses these."""

from rankstone.statistics.abstention import AbstentionCurve, ScoreCut, abstention_curve, nauc, score_cut
from rankstone.statistics.agreement_coefficients import COEFFICIENTS, AgreementCoefficient, agreement_coefficient
from rankstone.statistics.anytime import ConfidenceSequence, confidence_sequence
from rankstone.statistics.combination import COMBINATIONS, Combined, combine
from rankstone.statistics.corrections import CORRECTIONS, adjust
from rankstone.statistics.intervals import INTERVALS, Interval, bootstrap, hall_interval, proportion_interval
from rankstone.statistics.list_similarity import clicks_over_expected, frequency_overlap, jaccard, list_overlap
from rankstone.statistics.paired import TESTS
from rankstone.statistics.power import (
    Effect,
    SampleSize,
    detectable,
    detectable_noncentrality,
    differences_of,
    effect,
    hedges_correction,
    noncentral_power,
    noncentral_tail,
    power,
    sample_size,
    wins_ties_losses,
)
from rankstone.statistics.prediction_powered import PredictionPowered, prediction_powered
from rankstone.statistics.randomization import Randomization, randomization_test
from rankstone.statistics.rank_aggregation import RankInterval, borda_count, rank_interval
from rankstone.statistics.rank_tests import Sign, Wilcoxon, sign_test, wilcoxon
from rankstone.statistics.selection import Selection, contenders, selection
from rankstone.statistics.student_t import Jackknife, Student, influence, jackknife, student, without_groups
from rankstone.statistics.tukey import Tukey, TukeyRandomised, tukey, tukey_randomised
from rankstone.statistics.two_samples import (
    Moments,
    cuped,
    moments,
    newcombe,
    per_unit,
    relative,
    sample_ratio,
    sequential,
    welch,
)
from rankstone.statistics.westfall_young import WestfallYoung, westfall_young

__all__ = [
    "COEFFICIENTS",
    "COMBINATIONS",
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "AbstentionCurve",
    "AgreementCoefficient",
    "Combined",
    "ConfidenceSequence",
    "Effect",
    "Interval",
    "Jackknife",
    "Moments",
    "PredictionPowered",
    "Randomization",
    "RankInterval",
    "SampleSize",
    "ScoreCut",
    "Selection",
    "Sign",
    "Student",
    "Tukey",
    "TukeyRandomised",
    "WestfallYoung",
    "Wilcoxon",
    "abstention_curve",
    "adjust",
    "agreement_coefficient",
    "bootstrap",
    "borda_count",
    "clicks_over_expected",
    "combine",
    "confidence_sequence",
    "contenders",
    "cuped",
    "detectable",
    "detectable_noncentrality",
    "differences_of",
    "effect",
    "frequency_overlap",
    "hall_interval",
    "hedges_correction",
    "influence",
    "jaccard",
    "jackknife",
    "list_overlap",
    "moments",
    "nauc",
    "newcombe",
    "noncentral_power",
    "noncentral_tail",
    "per_unit",
    "power",
    "prediction_powered",
    "proportion_interval",
    "randomization_test",
    "rank_interval",
    "relative",
    "sample_ratio",
    "sample_size",
    "score_cut",
    "selection",
    "sequential",
    "sign_test",
    "student",
    "tukey",
    "tukey_randomised",
    "welch",
    "westfall_young",
    "wilcoxon",
    "wins_ties_losses",
    "without_groups",
]
