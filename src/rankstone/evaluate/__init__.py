"""From ratios to values to means: whole, one list at a time, as they come, served."""
