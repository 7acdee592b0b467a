"""Audits of other people's metrics: whose definition a function follows, and which properties it breaks."""
