"""Other code's metrics under their own names and calls, answered by rankstone: change the import line, keep the rest.

Nothing is worked out here: each module hands its calls to rankstone's metrics, with the convention of the original.
"""
