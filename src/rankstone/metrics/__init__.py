"""The metrics, one file a family. Importing this package declares them all."""

from rankstone.metrics import (
    agreement,
    cascade,
    errors,
    gains,
    groups,
    intents,
    judged,
    pairs,
    precision,
    sets,
    shown,
    variety,
)
from rankstone.metrics.registry import Declaration, Metric, declared, metric, parse

__all__ = [
    "Declaration",
    "Metric",
    "agreement",
    "cascade",
    "declared",
    "errors",
    "gains",
    "groups",
    "intents",
    "judged",
    "metric",
    "pairs",
    "parse",
    "precision",
    "sets",
    "shown",
    "variety",
]
