"""Files as search, RAG and evaluation tools write them: read without an option, or refused with a reason."""

import json
import random
import re

import numpy as np
import pytest

import rankstone as rs
from rankstone.data.tool_formats import TOOLS

TRUTH = {"q1": {"d1": 3, "d2": 1, "d5": 2, "d6": 0}, "q2": {"d2": 1}, "q3": {"d7": 1, "d8": 1, "d9": 1}}
RUN = {"q1": {"d1": 0.9, "d3": 0.8, "d2": 0.4}, "q2": {"d4": 0.7, "d2": 0.5},
       "q3": {"d7": 0.9, "d1": 0.5, "d8": 0.3, "d3": 0.2, "d9": 0.1}}  # fmt: skip
BINARY = {query: [item for item, grade in own.items() if grade] for query, own in TRUTH.items()}
ORDER = {query: list(own) for query, own in RUN.items()}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def hits(own):
    return [{"_index": "docs", "_id": item, "_score": score, "_source": {}} for item, score in own.items()]


def judgements(truth):
    return [{"query": query, "ratings": [{"docId": item, "rating": f"{grade}.000"} for item, grade in own.items()]}
            for query, own in truth.items()]  # fmt: skip


def attributes(values):
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


CASE = "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating\r\n"
SAMPLES = [
    {"user_input": query, "reference_context_ids": BINARY[query], "retrieved_context_ids": ORDER[query]}
    for query in RUN
]
# name of the file, its text, kind, what it should read as
FILES = {
    "opensearch": ("a.json", json.dumps({"name": "n", "type": "IMPORT_JUDGMENT", "judgmentRatings": judgements(TRUTH)}),
                   "truth", TRUTH),
    "opensearch-fetched": ("a.json", json.dumps({"hits": {"hits": [
        {"_id": "1", "_score": 1, "_source": {"judgmentRatings": judgements(TRUTH)}}]}}), "truth", TRUTH),
    "opensearch-results": ("a.json", json.dumps({"took": 1, "hits": {"hits": [
        {"_id": query, "_source": {"searchText": query, "searchConfigurationId": "c", "documentIds": own}}
        for query, own in ORDER.items()]}}), "run", ORDER),
    "rank-eval": ("a.json", "POST /docs/_rank_eval\n" + json.dumps({"requests": [
        {"id": query, "request": {"query": {}}, "ratings": [{"_index": "i", "_id": item, "rating": grade}
                                                             for item, grade in own.items()]}
        for query, own in TRUTH.items()], "metric": {"dcg": {"k": 10}}}), "truth", TRUTH),
    "rank-eval-response": ("a.json", json.dumps({"rank_eval": {"quality_level": 0.5, "details": {
        query: {"quality_level": 0.5, "unknown_docs": [],
                "hits": [{"hit": hit, "rating": TRUTH[query].get(hit["_id"])} for hit in hits(own)]}
        for query, own in RUN.items()}}}), "run", RUN),
    "msearch": ("a.json", json.dumps({"responses": [{"hits": {"hits": hits(own)}} for own in RUN.values()]}), "run",
                dict(enumerate(RUN.values(), 1))),
    "solr": ("a.json", json.dumps({"responseHeader": {}, "response": {"docs": [{"id": "l_1"}, {"id": "l_2"}]}}), "run",
             {1: ["l_1", "l_2"]}),
    "vespa": ("a.json", json.dumps({"root": {"id": "toplevel", "relevance": 1.0, "children": [
        {"id": "id:docs:chunk::d1", "relevance": 0.9}, {"id": "id:docs:chunk::d3", "relevance": 0.8}]}}), "run",
        {1: {"d1": 0.9, "d3": 0.8}}),
    "quepid": ("a.csv", "query,docid,rating\nstar wars,1,3\nstar wars,2,\n\"fast, \"\"furious\"\"\",9,1\nunrated,,",
               "truth", {"star wars": {1: 3}, 'fast, "furious"': {9: 1}, "unrated": {}}),
    "quepid-json": ("a.json", json.dumps({"queries": [{"query": q, "ratings": own} for q, own in TRUTH.items()]}),
                    "truth", TRUTH),
    "quepid-book": ("a.json", json.dumps({"name": "b", "query_doc_pairs": [
        {"query_text": "q", "doc_id": "d", "judgements": [{"rating": 3}, {"rating": 0}, {"rating": None}]},
        {"query_text": "q", "doc_id": "e", "judgements": []}]}), "truth", {"q": {"d": 1.5}}),
    "quepid-book-csv": ("a.csv", "query,docid,Judge One,Judge Two,Anonymous\nq,d,3,0,\nq,e,,,\n", "truth",
                        {"q": {"d": 1.5}}),
    "quepid-case": ("a.csv", CASE + 'T,C,7,q,5,1,Star ""Wars"" 4,3\r\nT,C,7,q,6,2,x,\r\nT,C,7, =cmd,7,1,y,1\r\n'
                    "T,C,7,none here\r\n", "run", {"q": {5: -1, 6: -2}, "=cmd": {7: -1}, "none here": {}}),
    "rre": ("a.json", json.dumps({"index": "i", "topics": [{"query_groups": [
        {"name": "g", "queries": [], "relevant_documents": {"1": {"gain": 3}}}]}]}), "truth", {"g": {"1": 3}}),
    "rre-quepid": ("a.json", json.dumps({"id_field": "id", "queries": [
        {"placeholders": {"$query": "g"}, "relevant_documents": {"1": ["a"], "2": ["b", "c"]}}]}), "truth",
        {"g": {"a": 1, "b": 2, "c": 2}}),
    "mteb": ("a.json", json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"dev": {"x": {"y": 1.0}},
                                                                                         "test": RUN}}), "run", RUN),
    "relevant-docs": ("a.json", json.dumps({"queries": dict.fromkeys(RUN, "text"), "corpus": {"d1": "text"},
                                            "relevant_docs": BINARY, "mode": "text"}), "truth", BINARY),
    "haystack": ("a.json", json.dumps({"questions": list(RUN), "ground_truth_documents": [
        [{"id": item, "score": grade} for item, grade in own.items()] for own in TRUTH.values()],
        "retrieved_documents": [[{"id": item, "score": own[item]} for item in own] for own in RUN.values()]}),
        "truth", TRUTH),
    "langchain": ("a.jsonl", lines({"query": query, "documents": [
        {"id": None, "metadata": {"id": item}, "page_content": "t", "type": "Document"} for item in own]}
        for query, own in ORDER.items()), "run", ORDER),
    "spans": ("a.jsonl", lines([{"context": {"span_id": "0"}, "attributes": {"openinference.span.kind": "LLM"}},
        *({"context": {}, "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": query, **{
            f"retrieval.documents.{at}.document.{part}": value for at, (item, score) in enumerate(own.items())
            for part, value in (("id", item), ("score", score))}}} for query, own in RUN.items())]), "run", RUN),
    "otlp": ("a.json", json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [
        {"spanId": "1", "attributes": attributes({"gen_ai.retrieval.query.text": query, "gen_ai.retrieval.documents":
            json.dumps([{"id": item, "score": score} for item, score in own.items()])})} for query, own in RUN.items()
        ]}]}]}), "run", RUN),
    "phoenix": ("a.csv", "context.span_id,document_position,input,document,document_score\ns,0,q,text one,0.5\n"
                "s,1,q,text two,0.25\n", "run", {"q": {"text one": 0.5, "text two": 0.25}}),
    "kilt": ("a.jsonl", lines([{"id": 7, "output": [{"answer": "a", "provenance": [
        {"wikipedia_id": 1}, {"wikipedia_id": "1"}]}, {"provenance": [{"wikipedia_id": "2"}]}]}]), "truth",
        {7: ["1", "2"]}),
    "trec-rag": ("a.jsonl", lines([{"topic_id": "7", "topic": "t", "references": ["b", "a"], "answer": []}]), "run",
                 {"7": ["b", "a"]}),
    "ragas": ("a.jsonl", lines(SAMPLES), "run", ORDER),
    "ragas-csv": ("a.csv", "user_input,retrieved_context_ids,reference_context_ids\n" + "".join(
        f'{row["user_input"]},"{row["retrieved_context_ids"]}","{row["reference_context_ids"]}"\n' for row in SAMPLES),
        "truth", BINARY),
    "llama-index": ("a.jsonl", lines({"query": query, "expected_ids": BINARY[query], "retrieved_ids": own}
                                     for query, own in ORDER.items()), "run", ORDER),
    "sentence-transformers": ("a.jsonl", lines({"query_id": query, "query": "a text", "results": [
        {"corpus_id": item, "score": score} for item, score in own.items()]} for query, own in RUN.items()),
        "run", RUN),
    "nuggetizer": ("a.jsonl", lines([{"query": "w", "qid": "q", "nuggets": [
        {"text": "n", "importance": "vital", "assignment": "support"},
        {"text": "n", "importance": "okay", "assignment": "partial_support"},
    ]}]), "truth", {"q": {"n": 2, "n (2)": 1}}),
    "nuggetizer, support": ("a.jsonl", lines([{"query": "w", "qid": "q", "nuggets": [
        {"text": "n", "importance": "vital", "assignment": "support"},
        {"text": "m", "importance": "okay", "assignment": "partial_support"},
    ]}]), "run", {"q": {"n": 1, "m": 0.5}}),
    "umbrela": ("a.jsonl", lines([{"query": "q", "passage": "p", "judgment": 3, "prediction": "##final score: 3"}]),
                "truth", {"q": {"p": 3}}),
    "rag-contract": ("a.jsonl", lines({"id": query, "query": f"text of {query}", "relevant_doc_ids": list(own)}
                                      for query, own in TRUTH.items()), "truth",
                     {query: list(own) for query, own in TRUTH.items()}),
    "beir": ("a.tsv", "query-id\tcorpus-id\tscore\nq\ta\t2\n", "truth", {"q": {"a": 2}}),
    "text-lists": ("a.csv", "question,ground_truth_doc_ids,retrieved_doc_ids\nwhy?,\"['a']\",\"['b', 'a']\"\n", "run",
                   {"why?": ["b", "a"]}),
    "json-split": ("a.json", json.dumps({"columns": ["question", "retrieved_doc_ids"], "data": [["why?", ["b", "a"]]]}),
                   "run", {"why?": ["b", "a"]}),
    "json-columns": ("a.json", json.dumps({"query": [1, 1], "q0": ["q0", "q0"], "docid": ["a", "b"], "rel": [2, 0]}),
                     "truth", {1: {"a": 2, "b": 0}}),
}  # fmt: skip
READ = {"truth": rs.read_truth, "run": rs.read_run}


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def as_dict(side, kind):
    """What was read, as dicts of values, or as lists where there are none."""
    if hasattr(side, "offsets"):
        items = side.items.to_pylist()
        values = None if side.values is None else np.asarray(side.values).tolist()
        queries, starts = side.query.to_pylist(), side.offsets.tolist()
    else:
        order = np.argsort(np.unique(list(map(str, side.query.tolist())), return_inverse=True)[1], kind="stable")
        queries = list(dict.fromkeys(np.asarray(side.query)[order].tolist()))
        items, value = np.asarray(side.item)[order].tolist(), side.grade if kind == "truth" else side.score
        values = None if value is None else np.asarray(value)[order].tolist()
        starts = [0, *np.cumsum([np.asarray(side.query).tolist().count(query) for query in queries]).tolist()]
    out = {}
    for query, start, stop in zip(queries, starts, starts[1:], strict=False):
        own = items[start:stop]
        out[query] = own if values is None else dict(zip(own, values[start:stop], strict=True))
    return out


@pytest.mark.parametrize("name", FILES)
def test_read_as_the_tool_wrote_it(write, name):
    file, text, kind, expected = FILES[name]
    side = READ[kind](write(file, text))
    assert as_dict(side, kind) == expected
    assert "read as " in side.notes[0]


def test_every_format_has_a_file():
    """A row of the table that no test reads is not there."""
    tested = {tool for tool in (tool.name for tool in TOOLS) if any(name.startswith(tool) for name in FILES)}
    refused = {tool.name for tool in TOOLS if tool.refusal}
    elsewhere = {"search-response", "opensearch-comparison"}  # `msearch` above, and below
    assert {tool.name for tool in TOOLS} == tested | refused | elsewhere


@pytest.mark.parametrize(
    ("name", "metric", "expected"),
    [
        ("ragas", "precision", (2 / 3 + 1 / 2 + 3 / 5) / 3),
        ("llama-index", "ap", ((1 + 2 / 3) / 3 + 1 / 2 + (1 + 2 / 3 + 3 / 5) / 3) / 3),
        ("haystack", "rr", (1 + 1 / 2 + 1) / 3),
        ("rank-eval-response", "precision@2", (1 / 2 + 1 / 2 + 1 / 2) / 3),
    ],
)
def test_one_file_with_truth_and_run(write, name, metric, expected):
    assert rs.evaluate(write(*FILES[name][:2]), metrics=metric)[metric] == pytest.approx(expected)


def test_hits_keep_the_order_in_which_they_were_shown(write):
    """Scores that are tied, or of another sort order, do not change it."""
    for scores in ([1.0, 1.0], [1.0, 2.0], [None, None]):
        own = [{"_id": item, "_score": score} for item, score in zip("ba", scores, strict=True)]
        run = rs.read_run(write("a.json", json.dumps({"hits": {"hits": own}})))
        assert as_dict(run, "run") == {1: ["b", "a"]}


SEVERAL = {"querySetId": "s", "searchConfigurationList": ["x", "y"],
           "results": {"q": {"x": ["a", "b"], "y": ["b"], "pairwiseComparison": {"jaccard": 0.5}}}}  # fmt: skip


def test_one_of_several_runs_in_a_file(write):
    path = write("a.json", json.dumps({"hits": {"hits": [{"_id": "1", "_source": SEVERAL}]}}))
    with pytest.raises(
        rs.errors.FileError, match=r"has the runs 'x', 'y'; pass one .*format='opensearch-comparison:x'"
    ):
        rs.read_run(path)
    assert as_dict(rs.read_run(path, format="opensearch-comparison:y"), "run") == {"q": ["b"]}
    parts = {"mteb_model_meta": {}, "eng": {"test": RUN}, "fra": {"test": {"q1": {"x": 1.0}}}}
    path = write("b.json", json.dumps(parts))
    with pytest.raises(rs.errors.FileError, match="has the runs 'eng/test', 'fra/test'"):
        rs.read_run(path)
    assert as_dict(rs.read_run(path, format="mteb:fra/test"), "run") == {"q1": {"x": 1.0}}


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("a.json", '{"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d"}]}]}', "has no 'rating'"),
        ("a.json", '{"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "rating": "x"}]}]}', "'x' is not"),
        ("a.json", '{"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "docId": "e", "rating": "1"}]}]}',
         "twice the key 'docId'"),
        ("a.json", '{"hits": {"hits": [{"_source": {"title": "t"}}]}}', "has no '_id'"),
        ("a.json", '{"responses": [{"error": {"type": "index_not_found"}}]}', "is an error"),
        ("a.json", '{"mteb_version": "2", "dataset_revision": "x", "scores": {}}', "leaderboard"),
        ("a.csv", "epoch,steps,cosine-NDCG@10,cosine-MRR@10\n1,2,0.5,0.5\n", "leaderboard"),
        ("a.jsonl", '{"qid": "1", "nuggets": [{"text": "n", "importance": "vital"}]}\n', "has no 'assignment'"),
        ("a.jsonl", '{"query": "q", "documents": [{"page_content": "t"}]}\n', "has no id"),
        ("a.csv", "Query Text,Doc ID,Doc Position\nq,d,first\n", "rank 'first' is not a number"),
        ("a.jsonl", '{"query_id": "q", "results": [{"corpus_id": "d", "score": 1}]}\n' * 2, "is there twice"),
    ],
)  # fmt: skip
def test_refused_with_the_reason(write, file, text, problem):
    path = write(file, text)
    kind = "truth" if "judgmentRatings" in text else "run"
    with pytest.raises(rs.errors.FileError, match=re.escape(problem)) as error:
        READ[kind](path)
    assert str(path) in str(error.value)


def test_a_kind_that_a_file_is_not(write):
    with pytest.raises(rs.errors.FileError, match=r"is a truth \(OpenSearch judgements\), not a run"):
        rs.read_run(write(*FILES["opensearch"][:2]))
    with pytest.raises(rs.errors.FileError, match="could be read as 'ragas' or 'sentence-transformers'; pass format="):
        rs.read_run(write("a.jsonl", lines([{"query_id": "q", "results": [{"corpus_id": "d", "score": 1}],
                                             "retrieved_context_ids": ["d"], "user_input": "t"}])))  # fmt: skip


def mutilated(rng, text):
    """The same with something cut out, put in, or swapped."""
    data = text.encode()
    at, end = sorted(rng.randrange(len(data)) for _ in range(2))
    return rng.choice([
        data[:at], data[at:], data[:at] + data[end:], b"", data.decode().encode("utf-16"),
        data[:at] + b"\xff" + data[at:],
        data.replace(b'"d1"', b"null"), data.replace(b"{", b"[", 3), data.replace(b"rating", b"ratings"),
        data.replace(b"score", b"mark"), data.replace(b'"q1"', b"{}"), data + data, data[:at] + b'"' + data[at:],
        data.replace(b":", b",", 2), data.replace(b"[", b"{").replace(b"]", b"}"), b"[" * 50 + data,
    ])  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_mutilated_files(write, name):
    """A file is read as part of what it was, or is an error of ours that names it."""
    rng = random.Random(name)
    file, text, kind, expected = FILES[name]
    whole = {str(item) for own in expected.values() for item in own}
    for _ in range(40):
        path = write(file, mutilated(rng, text))
        try:
            side = READ[kind](path)
        except rs.errors.RankstoneError as error:
            named = file in str(error)
        else:
            named = True
            items = side.items if hasattr(side, "offsets") else side.item
            assert len({*map(str, items.to_pylist() if hasattr(items, "to_pylist") else items.tolist())} - whole) <= 2
        assert named


# -- rules for any table -------------------------------------------------------------------------------------


def test_an_id_before_the_text_of_the_question(write):
    for id_name in ("id", "_id", "query_id", "question_id", "qid"):
        for text in ("query", "question", "user_input"):
            path = write("a.jsonl", lines([{id_name: "g1", text: "why?", "relevant_doc_ids": ["d"]}]))
            assert as_dict(rs.read_truth(path), "truth") == {"g1": ["d"]}


def test_two_ids_are_not_chosen_between(write):
    with pytest.raises(rs.errors.FileError, match="could be 'user_id' or 'query'"):
        rs.read_run(write("a.csv", "user_id,query,item,score\n1,a,d,1\n"))


def test_ids_of_lists_before_their_texts(write):
    path = write("a.jsonl", lines([{"question": "why?", "retrieved_contexts": ["t"], "retrieved_context_ids": ["d"]}]))
    assert as_dict(rs.read_run(path), "run") == {"why?": ["d"]}


def test_a_folder_of_beir(tmp_path):
    (tmp_path / "qrels").mkdir()
    for split in ("dev", "train"):
        (tmp_path / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\nq\t{split}\t1\n")
    with pytest.raises(rs.errors.FileError, match=r"has the splits dev\.tsv, train\.tsv"):
        rs.read_truth(tmp_path)
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    assert as_dict(rs.read_truth(tmp_path), "truth") == {"q": {"d": 1}}


def test_quepids_text_for_learning_to_rank(write):
    truth = rs.read_truth(write("a.txt", "\n3 qid:101 # 527641 star wars\n\n2 qid:101 # 9426 star wars\n"))
    assert as_dict(truth, "truth") == {101: {527641: 3, 9426: 2}}


# -- writers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["opensearch", "rank-eval", "quepid", "beir", "trec", "csv", "tsv", "jsonl", "parquet"]
)
def test_a_truth_is_read_back(tmp_path, form):
    ending = {"opensearch": "json", "rank-eval": "json", "quepid": "csv", "beir": "tsv"}.get(form, form)
    path = tmp_path / f"a.{ending}"
    truth = TRUTH if form == "trec" else {**TRUTH, 'a "query", of words': {"d,1": 2}}
    rs.write_truth(truth, path, format=form)
    assert as_dict(rs.read_truth(path), "truth") == truth


@pytest.mark.parametrize(("form", "ending"), [("mteb", "json"), ("trec", "run"), ("parquet", "parquet")])
def test_a_run_is_read_back(tmp_path, form, ending):
    path = tmp_path / f"a.{ending}"
    rs.write_run(RUN, path, format=form)
    assert as_dict(rs.read_run(path), "run") == RUN
    rs.write_run(ORDER, path, format=form)
    assert (
        rs.evaluate(TRUTH, path, ["ndcg", "ap"]).to_dict()["means"]
        == rs.evaluate(TRUTH, RUN, ["ndcg", "ap"]).to_dict()["means"]
    )


def test_what_a_format_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match=r"mteb \(MTEB predictions\) has a run, not a truth"):
        rs.write_truth(TRUTH, tmp_path / "a.json", format="mteb")
    with pytest.raises(ValueError, match=r"_rank_eval takes whole grades, not 0\.5"):
        rs.write_truth({"q": {"d": 0.5}}, tmp_path / "a.json", format="rank-eval")
    assert list(tmp_path.iterdir()) == []


# -- files as they are ---------------------------------------------------------------------------------------

# queries, pairs and the first item, as the collection says that they read
REAL = {
    ("beir/mtrag_clapnq_qrels_dev.tsv", "truth"): (208, 578, "822086267_7384-8758-0-1374"),
    ("elasticsearch/request_1.json", "truth"): (1, 50, "3054546"),
    ("elasticsearch/request_3.json", "truth"): (3, 152, "25754234"),
    ("elasticsearch/response_1.json", "run"): (1, 5, "1528558"),
    ("elasticsearch/response_4_template.json", "run"): (3, 15, "5119376"),
    ("elasticsearch/search_response.json", "run"): (1, 1, "5119376"),
    ("elliot/recs.tsv", "run"): (2, 5, "1"),
    ("haystack/documents.json", "truth"): (3, 8, "d1"),
    ("haystack/documents.json", "run"): (3, 10, "d1"),
    ("hf-evaluate/predictions.json", "run"): (3, 10, "d1"),
    ("hf-evaluate/references.json", "truth"): (3, 8, "d1"),
    ("kilt/gold2.jsonl", "truth"): (1, 6, "1"),
    ("kilt/guess2_1.jsonl", "run"): (1, 8, "2"),
    ("langchain/documents.jsonl", "run"): (3, 10, "d1"),
    ("llama_index/qa_dataset.json", "truth"): (3, 7, "d1"),
    ("llama_index/retrieval_eval_results.jsonl", "run"): (3, 10, "d1"),
    ("mlflow/eval_results_table.json", "truth"): (3, 7, "d1"),
    ("mteb/MockRetrievalTask_predictions.json", "run"): (20, 480, "d16"),
    ("mteb/MockRetrievalTask_qrels.tsv", "truth"): (20, 120, "d20"),
    ("opensearch-rank-eval/request_1.json", "truth"): (2, 4, "80"),
    ("opensearch-srw/ImportJudgment_esci.json", "truth"): (4, 10, "B07D29PHFY"),
    ("opensearch-srw/ImportJudgments.json", "truth"): (4, 80, "B071XJXHPN"),
    ("opensearch-srw/esci_us_judgments.json", "truth"): (60, 2493, "B07NCQWCQS"),
    ("opensearch-srw/evaluation_result.json", "run"): (1, 8, "B07Q7VGW4Q"),
    ("opensearch-srw/judgments_example.csv", "truth"): (1, 3, "3488015"),
    ("opensearch-srw/judgments_fetched_2.json", "truth"): (2, 9, "B077ZJXCTS"),
    ("opentelemetry/otlp_traces.json", "run"): (3, 10, "d1"),
    ("opentelemetry/spans_flat.jsonl", "run"): (3, 10, "d1"),
    ("phoenix/otel_console_spans.jsonl", "run"): (4, 12, "d1"),
    ("phoenix/retrieved_documents.csv", "run"): (4, 12, "text of d1"),
    ("phoenix/retrieved_documents.parquet", "run"): (4, 12, "text of d1"),
    ("phoenix/spans.json", "run"): (4, 12, "d7"),
    ("phoenix/spans.parquet", "run"): (4, 12, "d7"),
    ("pyserini/nfcorpus-qrels.tsv", "truth"): (5, 234, "MED-2427"),
    ("pyserini/run.msmarco.tsv", "run"): (3, 10, "d1"),
    ("quepid/Broad_Query_Set_rated.csv", "truth"): (135, 3668, "1229111"),
    ("quepid/Broad_Query_Set_unrated.csv", "truth"): (135, 6, "1993197"),
    ("quepid/Movies_detailed.csv", "run"): (4, 8, "527641"),
    ("quepid/Movies_detailed.csv", "truth"): (4, 5, "527641"),
    ("quepid/book_3_judgements.csv", "truth"): (2, 5, "527641"),
    ("quepid/case_7_judgements.csv", "truth"): (3, 4, "527641"),
    ("quepid/case_7_judgements.json", "truth"): (3, 4, "527641"),
    ("quepid/case_7_ltr.txt", "truth"): (2, 4, "527641"),
    ("quepid/case_7_rre.json", "truth"): (3, 4, "527641"),
    ("quepid/mock_rre_json.json", "truth"): (2, 6, "193"),
    ("quepid/solr_statedecoded_response.json", "run"): (1, 10, "l_11730"),
    ("quepid/static_queryset.csv", "run"): (1, 3, "527641"),
    ("rag-contract/golden.jsonl", "truth"): (2, 3, "doc_refund_policy"),
    ("rag-contract/run.jsonl", "run"): (2, 5, "doc_a"),
    ("ragas/results_table.csv", "truth"): (3, 7, "d1"),
    ("ragas/samples.csv", "run"): (3, 10, "d1"),
    ("ragas/samples.jsonl", "truth"): (3, 7, "d1"),
    ("ragnarok/trec_rag_2024_answer.jsonl", "run"): (1, 20, "msmarco_v2.1_doc_51_766815931#2_1606878413"),
    ("recbole/general_full_dataloader.inter", "truth"): (3, 110, "1"),
    ("rectools/reco.csv", "run"): (2, 5, "1"),
    ("rre/ratings_example.json", "truth"): (2, 3, "1"),
    ("sentence-transformers/Information-Retrieval_evaluation_predictions_cosine.jsonl", "run"): (3, 36, "d5"),
    ("sentence-transformers/truth.json", "truth"): (4, 7, "d1"),
    ("tira/cranfield_run.txt", "run"): (1, 5, "7"),
    ("umbrela/judgments.jsonl", "truth"): (
        2, 4, "The life cycle of a flea can last anywhere from 20 days to an entire year."),
    ("vespa/search_response_q1.json", "run"): (1, 3, "d1"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "kind"), REAL)
def test_real_files(shared, file, kind):
    side = READ[kind](shared(f"data/tools/{file}"))
    queries, items = (side.query, side.items) if hasattr(side, "offsets") else (side.query, side.item)
    plain = [column.to_pylist() if hasattr(column, "to_pylist") else column.tolist() for column in (queries, items)]
    assert (len({*plain[0]}), len(plain[1]), str(plain[1][0])) == REAL[file, kind]


@pytest.mark.parametrize(
    ("truth", "run", "metrics"),
    [
        ("haystack/documents.json", None, {"ndcg": 0.7504655400939398, "ap": 0.6037037037037036}),
        ("llama_index/retrieval_eval_results.jsonl", None, {"ndcg": 0.7401025747256932, "recall": 0.8888888888888888}),
        ("ragas/samples.csv", None, {"precision": 0.5888888888888889, "recall": 0.8888888888888888}),
        ("hf-evaluate/references.json", "hf-evaluate/predictions.json",
         {"ap": 0.6037037037037036, "ndcg@5": 0.7504655400939398}),
        ("elasticsearch/request_4.json", "elasticsearch/response_4_template.json",
         {"ndcg(gain='exp2')@5": 0.3745459774842173}),
        ("mteb/MockRetrievalTask_qrels.tsv", "mteb/MockRetrievalTask_predictions.json", {"rr@10": 0.374563}),
    ],
)  # fmt: skip
def test_numbers_of_the_tools(shared, truth, run, metrics):
    """The tools' own numbers of their files, to the digits that they print."""
    sides = [shared(f"data/tools/{name}") for name in (truth, run) if name]
    result = rs.evaluate(*sides, metrics=list(metrics))
    assert dict(result) == pytest.approx(metrics, abs=1e-6 if "rr@10" in metrics else 1e-12)
