"""The `rankstone` command starts here: outside of the package, which loads NumPy when it is imported."""

import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

QUICK = ("evaluate", "trec_eval")  # they multiply no matrices, and leave nothing open


def command() -> NoReturn:
    """Run the command of this process, and end it."""
    quick = len(sys.argv) > 1 and sys.argv[1] in QUICK
    if quick:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # to start threads is a third of the time to load NumPy
        gc.disable()  # the process ends before there is garbage worth collecting
    replace_closed()
    from rankstone.cli.commands import main

    code = code_of(main)
    if quick:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # without unloading the modules, which takes longer
    sys.exit(code)


def replace_closed() -> None:
    """Streams that the caller closed (`>&-`) become files that cannot be read or written: an error, not a crash."""
    for name, mode, flags in (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115


def code_of(main: Callable[[], int]) -> int:
    """The exit code of a program, also where its last output cannot be written."""
    try:
        code = main()
    except SystemExit as end:  # of argparse, after the help
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as error:
        code = _report(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _report(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left to write
    return code


def _report(error: OSError) -> int:
    print(f"rankstone: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
    return 1
