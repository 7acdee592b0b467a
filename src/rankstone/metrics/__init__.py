"""The metrics, one file for each family. Importing this package declares them all."""

from rankstone.metrics import (  # noqa: F401
    answers,
    beyond_accuracy,
    cascade,
    diversity,
    fairness,
    gains,
    intents,
    nuggets,
    pairs,
    precision,
    rank_correlation,
    rating_errors,
    sets,
)
from rankstone.metrics.registry import declared as declared
