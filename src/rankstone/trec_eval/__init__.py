"""`rankstone trec_eval`: trec_eval's own arguments in, its own text out, so that scripts keep working."""

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run the command; returns its exit code."""
    # A quick start: the files of a command are read and aligned while the rest is loaded.
    from rankstone.inputs.source import Align
    from rankstone.trec_eval import ahead

    ahead.go_on(Align())
    from rankstone.trec_eval.command import main as run

    return run(argv)
