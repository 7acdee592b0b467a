"""Interleaving: one list out of the lists of two rankers, and what the clicks on it say about them."""
