"""Judgements of several judges: their agreement, merging them, and what to judge next."""
