"""`InformationRetrievalEvaluator` of sentence-transformers, computed by rankstone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from sentence_transformers.sentence_transformer import evaluation  # since version 6, whose order of ties it follows

from rankstone.evaluate.evaluate import evaluate
from rankstone.metrics.gains import ndcg
from rankstone.metrics.precision import ap, rr
from rankstone.metrics.registry import Metric
from rankstone.metrics.sets import hit_rate, precision, recall
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Id

_METRICS = {  # by its names, each with the attribute that has its cutoffs
    "accuracy@k": (hit_rate, "accuracy_at_k"),
    "precision@k": (precision, "precision_recall_at_k"),
    "recall@k": (recall, "precision_recall_at_k"),
    "ndcg@k": (ndcg, "ndcg_at_k"),
    "mrr@k": (rr, "mrr_at_k"),
    "map@k": (ap, "map_at_k"),
}


class Hit(TypedDict):
    """A document that was retrieved."""

    corpus_id: Id
    score: float


class InformationRetrievalEvaluator(evaluation.InformationRetrievalEvaluator):  # type: ignore[misc]
    """Drop-in replacement for `sentence_transformers.evaluation.InformationRetrievalEvaluator`.

    It takes the same arguments and returns the same names and numbers, and writes the same files. `results` has
    a `Result` per score function after each call: values per query, intervals, definitions, comparisons.

    Parameters
    ----------
    *arguments, **options
        Those of the original: `queries, corpus, relevant_docs, ...`.
    """

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.results: dict[str, Result] = {}

    def compute_all_metrics(self, *arguments: object, **options: object) -> dict[str, Any]:
        """The means of each score function, and their results.

        Parameters
        ----------
        *arguments, **options
            Those of the original: `model, corpus_model, corpus_embeddings, output_path`.
        """
        self._computed: list[Result] = []  # in the order of the score functions
        means: dict[str, Any] = super().compute_all_metrics(*arguments, **options)
        self.results = dict(zip(means, self._computed, strict=True))
        return means

    def compute_metrics(self, queries_result_list: Sequence[Sequence[Hit]]) -> dict[str, dict[int, float]]:
        """The means of one score function.

        Parameters
        ----------
        queries_result_list : list of lists
            The hits of each query, each with "corpus_id" and "score".
        """
        truth = {query: set(self.relevant_docs[query]) for query in self.queries_ids}
        run = {
            query: {hit["corpus_id"]: hit["score"] for hit in hits}
            for query, hits in zip(self.queries_ids, queries_result_list, strict=True)
        }
        metrics: dict[str, dict[int, Metric]] = {
            name: {k: metric @ k for k in getattr(self, cutoffs)} for name, (metric, cutoffs) in _METRICS.items()
        }
        wanted = [metric for several in metrics.values() for metric in several.values()]
        result = evaluate(truth, run, wanted, convention="sentence-transformers")
        self._computed.append(result)
        return {name: {k: result[metric] for k, metric in several.items()} for name, several in metrics.items()}
