"""How a command begins, before NumPy is loaded, and how it ends."""

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

# They multiply no matrices, and leave nothing open behind them.
_QUICK = ("evaluate", "trec_eval")


def settle() -> bool:
    """Leave out what a quick command has no use for: threads for matrices, a third of what loading NumPy takes. Begin
    to read what can be read without. Is it `trec_eval`, which asks for no name of the package's.

    Only where the process is such a command; whoever imports the package keeps all of it.
    """
    by_module = sys.argv[:1] == ["-m"]  # the name of the module is not there yet
    program = sys.orig_argv[-len(sys.argv)] if by_module else os.path.basename("".join(sys.argv[:1]))
    if program != "rankstone" or not _is_quick():
        return False
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # it is over before there is garbage worth a search
    if sys.argv[1] != "trec_eval":
        return False
    from rankstone.trec_eval import ahead

    ahead.begin(sys.argv[2:])
    return True


def command() -> NoReturn:
    """Run the command of this process, and end it: at once, as Python takes longer to take its modules down."""
    if sys.argv[1:2] == ["trec_eval"]:  # it has its own ways with options, and needs none of ours
        from rankstone.trec_eval import main as trec_eval

        code = trec_eval(sys.argv[2:])
    else:
        from rankstone.cli.commands import main

        code = main()
    if _is_quick():
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def _is_quick() -> bool:
    return len(sys.argv) > 1 and sys.argv[1] in _QUICK


ALONE = settle()
