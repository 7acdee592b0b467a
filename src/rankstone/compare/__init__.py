"""Runs compared: differences, caveats, leaderboards, gates, reports."""
