"""Rank fusion and pooling: combine several runs into one, and collect the items to judge."""

from rankstone.fusion.fuse import FusedRun
from rankstone.fusion.fuse import fuse as _fuse
from rankstone.fusion.fusion_input import FusionInput
from rankstone.fusion.fusion_methods import FusionMethod, method, methods
from rankstone.fusion.pool import Pool, pool
from rankstone.fusion.tune import TunedFusion, tune, with_tune

fuse = with_tune(_fuse)

__all__ = [
    "FusedRun",
    "FusionInput",
    "FusionMethod",
    "Pool",
    "TunedFusion",
    "fuse",
    "method",
    "methods",
    "pool",
    "tune",
]
