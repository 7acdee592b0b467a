"""The metrics, one file a family. Importing this package declares them all."""

from rankstone.metrics import agreement, cascade, errors, gains, judged, pairs, precision, sets
from rankstone.metrics.registry import Metric, Row, metric, parse, rows

__all__ = [
    "Metric",
    "Row",
    "agreement",
    "cascade",
    "errors",
    "gains",
    "judged",
    "metric",
    "pairs",
    "parse",
    "precision",
    "rows",
    "sets",
]
