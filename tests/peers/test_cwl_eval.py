"""Residuals of cwl_eval: what the unjudged items, and the places beyond a list, could still add."""

import math
import random

import pytest

import rankstone as rs

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("seed", range(30))
def test_residuals(seed):
    pytest.importorskip("cwl", reason="cwl-eval is not installed")
    from cwl.ruler.measures.cwl_dcg import NDCGCWLMetric
    from cwl.ruler.measures.cwl_precision import PrecisionCWLMetric
    from cwl.ruler.measures.cwl_rbp import RBPCWLMetric
    from cwl.ruler.ranking import Ranking

    rng = random.Random(seed)
    items = [f"d{number}" for number in range(rng.randrange(1, 30))]
    truth = {item: rng.choice((0, 0.25, 0.5, 1)) for item in items if rng.random() < 0.6}
    ranking = Ranking("q", [truth.get(item, math.nan) for item in items], [1.0] * len(items))
    gains = {"gain": "linear", "threshold": ">0"}
    pairs = [(RBPCWLMetric(p), rs.rbp(p=p, **gains)) for p in (0.3, 0.5, 0.8, 0.95)]
    pairs += [(PrecisionCWLMetric(k), rs.precision(relevance="clipped") @ k) for k in (1, 5, 10, 40)]
    pairs += [(NDCGCWLMetric(k), rs.ndcg(ideal="ones") @ k) for k in (1, 5, 10, 40)]
    found = rs.evaluate({"q": truth}, {"q": items}, [ours for _, ours in pairs], bounds=True)
    for theirs, ours in pairs:
        theirs.residuals = True
        assert found[ours] == pytest.approx(theirs.measure(ranking), abs=1e-9)
        assert found.bounds[str(ours)].residual == pytest.approx(theirs.residual_expected_utility, abs=1e-9)
