"""Drop-in replacements for the metric functions of other code: change the import line, keep the rest.

Each module calls rankstone's metrics with the convention of the original.
"""
