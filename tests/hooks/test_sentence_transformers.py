"""sentence-transformers' evaluator of retrieval: the same names, numbers and files as the original's."""

import pytest

import rankstone as rs

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch", reason="torch is not installed")
library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
evaluation = pytest.importorskip(
    "sentence_transformers.sentence_transformer.evaluation", reason="sentence-transformers 6 is not installed"
)


class Encoder:
    """A model with a random vector per text, from few distinct values, so that scores are tied."""

    similarity_fn_name = "cosine"

    def __init__(self, seed, levels):
        self.seed, self.levels, self.model_card_data = seed, levels, None

    def similarity(self, one, other):
        return library.util.cos_sim(one, other)

    def encode(self, texts, **options):
        generator = torch.Generator().manual_seed(self.seed)
        table = torch.randint(1, self.levels, (1000, 3), generator=generator).double()
        return torch.stack([table[int(text)] for text in texts])

    encode_query = encode_document = encode


def data(queries=25, documents=60):
    chance = torch.Generator().manual_seed(3)
    corpus = {f"d{number}": str(number) for number in range(documents)}
    relevant = {}
    for number in range(queries):
        size = int(torch.randint(0, 15, (1,), generator=chance))  # some have none
        relevant[f"q{number}"] = {f"d{int(at)}" for at in torch.randperm(documents + 5, generator=chance)[:size]}
    return {query: str(at + 500) for at, query in enumerate(relevant)}, corpus, relevant


class Without:
    """Leaves out the model card, which the encoder does not have."""

    def store_metrics_in_model_card_data(self, *arguments):
        pass


def both(*arguments, **options):
    for base in (evaluation.InformationRetrievalEvaluator, rs.integrations.InformationRetrievalEvaluator):
        yield type("Evaluator", (Without, base), {})(*arguments, **options)


@pytest.mark.parametrize("levels", [3, 100000], ids=["tied", "distinct"])
@pytest.mark.parametrize("name", ["", "test"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"corpus_chunk_size": 7, "mrr_at_k": [1, 5], "ndcg_at_k": [3, 20], "map_at_k": [2, 70],
         "precision_recall_at_k": [2, 50], "accuracy_at_k": [2]},
        {"score_functions": {"dot": lambda one, other: one @ other.T, "cosine": lambda one, other: -one @ other.T}},
    ],
    ids=["defaults", "cutoffs", "functions"],
)  # fmt: skip
def test_the_same_numbers(levels, name, options, tmp_path):
    model, outcomes, files = Encoder(1, levels), [], []
    for at, evaluator in enumerate(both(*data(), name=name, write_predictions=True, **options)):
        outcomes.append((evaluator(model, str(tmp_path / str(at)), epoch=1, steps=2), evaluator.primary_metric))
        files.append({path.name: path.read_text() for path in (tmp_path / str(at)).iterdir()})
    (theirs, their_primary), (ours, our_primary) = outcomes
    assert list(ours) == list(theirs)
    assert our_primary == their_primary
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, abs=1e-9), key
    assert files[0].keys() == files[1].keys()
    for file, text in files[0].items():
        if file.endswith("csv"):
            header, row = text.splitlines()
            assert files[1][file].splitlines()[0] == header
            assert list(map(float, files[1][file].splitlines()[1].split(","))) == pytest.approx(
                list(map(float, row.split(","))), abs=1e-9
            )
        else:
            assert files[1][file] == text


def test_a_real_model():
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({str(number): number for number in range(1000)}, unk_token="0")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    model = library.SentenceTransformer(modules=[modules.StaticEmbedding(tokenizers.Tokenizer(words), embedding_dim=4)])
    original = evaluation.InformationRetrievalEvaluator(*data())
    ours = rs.integrations.InformationRetrievalEvaluator(*data())
    assert ours(model) == pytest.approx(original(model), abs=1e-9)
    assert ours.results["cosine"]["rr@10"] == ours(model)["cosine_mrr@10"]


def test_results():
    queries, corpus, relevant = data()
    _, evaluator = both(queries, corpus, relevant, name="test")
    assert evaluator.results == {}
    means = evaluator(Encoder(1, 100000))
    (name, result), = evaluator.results.items()  # fmt: skip
    assert name == "cosine"
    assert result["ndcg@10"] == means["test_cosine_ndcg@10"]
    assert list(result.queries) == [query for query in queries if relevant[query]]
    low, high = result.interval("ndcg@10")[:2]
    assert low < result["ndcg@10"] < high


def test_worked_by_hand():
    """Two relevant documents at ranks 1 and 3, of three relevant ones, and a tie that goes to the lower id."""
    _, evaluator = both({"q": "0"}, {"a": "1", "b": "2", "c": "3"}, {"q": {"a", "c", "elsewhere"}}, map_at_k=[2, 100])
    evaluator._computed = []
    hits = [{"corpus_id": item, "score": score} for item, score in (("c", 0.1), ("b", 0.5), ("a", 0.5))]
    means = evaluator.compute_metrics([hits])
    assert means["map@k"] == pytest.approx({2: 1 / 2, 100: (1 + 2 / 3) / 3})
    assert means["precision@k"][10] == pytest.approx(2 / 10)
