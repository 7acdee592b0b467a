"""`python -m rankstone` is the `rankstone` command."""

from rankstone_command import command

command()
