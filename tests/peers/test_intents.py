"""Metrics of intents against pyndeval and ir_measures, in this process: the value of every query, and the mean."""

import random

import pytest

import rankstone as rs

from .test_presets import agree, macro, need

pytestmark = pytest.mark.peers
CUT = ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "strec")
WHOLE = ("NRBP", "nNRBP", "MAP-IA")


def draw(seed, queries=12, items=30):
    """Rows of a truth (query, subtopic, item, grade) and of a run (query, item, score), with ties and gaps."""
    rng = random.Random(seed)
    truth, run = [], []
    for number in range(queries):
        query = f"q{number}"
        names = [f"{query}-{at}" if seed % 2 else str(at) for at in range(rng.randint(1, 6))]
        ids = rng.sample([f"d{at}" for at in range(100)], items)
        if number != 1:
            nothing = number == 2
            rows = [(query, name, item) for name in names for item in ids if rng.random() < 0.3]
            truth += [(*row, 0 if nothing else rng.choice((0, 1, 1, 2))) for row in rows]
        if number != 3:
            shown = rng.sample(ids, rng.choice((1, 5, 15, items)))
            run += [(query, item, rng.randint(0, 12) / 4) for item in shown]
    rng.shuffle(truth)
    return truth, run


def columns(truth, run):
    query, subtopic, item, grade = map(list, zip(*truth, strict=True))
    judged = rs.columns(query=query, subtopic=subtopic, item=item, grade=grade)
    query, item, score = map(list, zip(*run, strict=True))
    return judged, rs.columns(query=query, item=item, score=score)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("alpha", "beta", "level"), [(0.5, 0.5, 1), (0.3, 0.8, 1), (0.9, 0.2, 2), (0.0, 0.5, 1)])
def test_pyndeval(seed, alpha, beta, level):
    library = need("pyndeval")
    truth, run = draw(seed)
    names = [*(f"{name}@{k}" for name in CUT for k in (2, 5, 10, 20)), "nERR-IA@1", "alpha-nDCG@1", *WHOLE]
    evaluator = library.RelevanceEvaluator(truth, names, relevance_level=level, alpha=alpha, beta=beta)
    found, params = evaluator.evaluate(run), {"alpha": alpha, "beta": beta}
    own = {rs.authoring.Metric.parse(name)[0]: name for name in names}
    theirs = {}
    for metric, name in own.items():
        taken = {key: value for key, value in params.items() if key in metric.declaration.defaults}
        theirs[metric.given(**taken)] = macro({query: values[name] for query, values in found.items()})
    agree("pyndeval", *columns(truth, run), theirs, threshold=level)


@pytest.mark.parametrize("name", ["ERR-IA@1", "alpha-DCG@1"])
def test_pyndeval_with_its_defects(name):
    library = need("pyndeval")
    truth, run = draw(5)
    found = library.RelevanceEvaluator(truth, [name]).evaluate(run)
    theirs = {name: macro({query: values[name] for query, values in found.items()})}
    theirs = {str(rs.authoring.Metric.parse(name)[0]): values for name, values in theirs.items()}
    agree("pyndeval+defects", *columns(truth, run), theirs)
    assert max(values for values in theirs[next(iter(theirs))].values()) > 1


@pytest.mark.parametrize("seed", range(4))
def test_ir_measures(seed):
    """In one call with metrics of relevance, which break ties the other way."""
    library = need("ir_measures")
    need("pyndeval")
    truth, run = draw(seed)
    names = [
        "alpha_nDCG@20", "alpha_nDCG@3", "alpha_DCG@5", "ERR_IA@20", "nERR_IA@5", "NRBP", "nNRBP", "AP_IA", "P_IA@5",
        "StRecall@10",
    ]  # fmt: skip
    qrels = [library.Qrel(query, item, grade, subtopic) for query, subtopic, item, grade in truth]
    measures = [library.parse_measure(name) for name in names]
    theirs = {str(rs.authoring.Metric.parse(name)[0]): {} for name in names}
    for row in library.iter_calc(measures, qrels, [library.ScoredDoc(*row) for row in run]):
        theirs[str(rs.authoring.Metric.parse(str(row.measure))[0])][row.query_id] = row.value
    agree("ir_measures", *columns(truth, run), {name: macro(values) for name, values in theirs.items()})


def test_relevance_beside_intents():
    """An item of several subtopics is one item, with its highest grade."""
    library = need("ir_measures")
    truth, run = draw(6)
    highest = {}
    for query, _, item, grade in truth:
        highest.setdefault(query, {})
        highest[query][item] = max(grade, highest[query].get(item, 0))
    by_query = {}
    for query, item, score in run:
        by_query.setdefault(query, {})[item] = score
    measures = [library.parse_measure(name) for name in ("nDCG@10", "AP", "P@5")]
    theirs = library.calc_aggregate(measures, highest, by_query)
    ours = rs.evaluate(
        *columns(truth, run), ["ndcg@10", "ap", "precision@5", "alpha_ndcg@10"], convention="ir_measures"
    )
    for measure, value in theirs.items():
        assert ours[str(rs.authoring.Metric.parse(str(measure))[0])] == pytest.approx(value, rel=1e-9)
