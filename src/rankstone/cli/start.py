"""What has to be settled before NumPy is loaded, if the process is a command."""

import os
import sys

# These multiply no matrices. The threads that NumPy's OpenBLAS starts for that are a third of what loading it takes.
_WITHOUT_MATRICES = ("evaluate", "trec_eval")


def settle() -> None:
    """Leave out threads that a command does not need; whoever imports the package keeps them."""
    by_module = sys.argv[:1] == ["-m"]  # the name of the module is not there yet
    program = sys.orig_argv[-len(sys.argv)] if by_module else os.path.basename("".join(sys.argv[:1]))
    if program == "rankstone" and sys.argv[1:2] and sys.argv[1] in _WITHOUT_MATRICES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


settle()
