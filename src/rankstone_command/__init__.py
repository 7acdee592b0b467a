"""The `rankstone` command starts here: outside of the package, which loads NumPy when it is imported."""

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

QUICK = ("evaluate", "trec_eval")  # they multiply no matrices, and leave nothing open


def command() -> NoReturn:
    """Run the command of this process, and end it."""
    quick = len(sys.argv) > 1 and sys.argv[1] in QUICK
    if quick:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # to start threads is a third of the time to load NumPy
        gc.disable()  # the process ends before there is garbage worth collecting
    from rankstone.cli.commands import main

    code = main()
    if quick:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # without unloading the modules, which takes longer
    sys.exit(code)
