"""The `rankstone` command."""
