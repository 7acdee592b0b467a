"""`python -m rankstone` is the `rankstone` command."""

import sys

from rankstone.cli.commands import main

sys.exit(main())
