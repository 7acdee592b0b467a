"""From a metric's function to numbers: its vocabulary, the graph that it builds, and back-ends that run it."""
