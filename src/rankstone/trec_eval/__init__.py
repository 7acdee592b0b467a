"""`rankstone trec_eval`: trec_eval's own arguments in, its own text out, so that scripts keep working."""

from rankstone.trec_eval.command import main

__all__ = ["main"]
