"""Why a number is what it is, and whose it is."""
