"""`python -m rankstone` is the `rankstone` command."""

from rankstone.cli.start import command

command()
