"""`python -m rankstone.trec_eval qrels results`."""

import sys

from rankstone.trec_eval.command import main
from rankstone_command import code_of, replace_closed

replace_closed()
sys.exit(code_of(lambda: main(sys.argv[1:])))
