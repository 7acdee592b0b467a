"""`rankstone trec_eval`: trec_eval's own arguments in, its own text out, so that scripts keep working."""

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run the command; returns its exit code."""
    from rankstone.trec_eval.command import main as run  # a quick start: its files are read before it is loaded

    return run(argv)
