"""The metrics, one file for each family. Importing this package declares them all."""

from rankstone.metrics import (  # noqa: F401
    agreement,
    cascade,
    errors,
    gains,
    groups,
    intents,
    pairs,
    precision,
    sets,
    shown,
    variety,
)
from rankstone.metrics.registry import declared as declared
