"""`python -m rankstone.trec_eval qrels results`."""

import sys

from rankstone.trec_eval.command import main

sys.exit(main(sys.argv[1:]))
