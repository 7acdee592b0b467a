"""Rank fusion and pooling: combine several runs into one, and collect the items to judge."""

from rankstone.fusion.fuse import FusedRun, fuse
from rankstone.fusion.fusion_input import FusionInput
from rankstone.fusion.fusion_methods import FusionMethod, method, methods
from rankstone.fusion.pool import Pool, pool

__all__ = ["FusedRun", "FusionInput", "FusionMethod", "Pool", "fuse", "method", "methods", "pool"]
