"""Truth and run brought together: what a metric may read."""
