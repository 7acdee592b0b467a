"""Files that search, RAG and evaluation tools write: one row per form, detected by the names of its fields.

An entry of a file is an object: a part of a JSON document, a line, a row of CSV or Parquet. A row of the table says
where the entries are, and which lists are in an entry.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rankstone.data import lines
from rankstone.data.lines import Entry, ListRow, RowError
from rankstone.data.roles import find, find_side
from rankstone.data.tool_writers import write_mteb, write_opensearch, write_rank_eval, write_rows
from rankstone.errors import show

Path = tuple[str, ...]  # keys of a JSON document; `*` is each of them
Extract = Callable[[Entry], Iterable[ListRow]]  # the lists of an entry; a query of None is numbered


class ToolFormat(NamedTuple):
    """A form of file that a tool writes."""

    name: str
    title: str
    path: Callable[[Any], Path | None]  # where the entries of a document like this sample are; None: another format
    truth: Extract | None = None
    run: Extract | None = None
    refusal: str = ""  # for what is neither
    fields: tuple[str, ...] = ()  # of each item's object; where there are more in a file, one may be there twice
    part: Callable[[Entry], str] | None = None  # the run of an entry, in a file with several
    table: Callable[[Any], Mapping[str, Any]] | None = None  # the columns of a document that is a table
    fetched: bool = False  # may an entry be the source of a hit
    plain: bool = False  # is it read as the file around it, where that is enough
    fallback: bool = False  # does it give way to any other that fits
    by_item: bool = False  # has an entry of a run an item, not a list
    ordered: bool = False  # lists are in the order in which they were shown, whatever their scores are
    note: str = ""  # what else to know of it as a truth
    write: Callable[[Any, str, str], Iterable[str]] | None = None  # the text of a table of rows, a kind and a tag

    @property
    def kinds(self) -> tuple[str, ...]:
        """The sides that it can be."""
        return tuple(kind for kind in ("truth", "run") if self.table or getattr(self, kind) is not None)


# -- parts of entries ----------------------------------------------------------------------------------------


def at_path(sample: object, path: Path) -> Any:
    """What a sample has first at a path; None if it has nothing there."""
    for key in path:
        inside = sample[:1] if key == "*" and isinstance(sample, list) else ()
        sample = sample.get(key) if isinstance(sample, dict) else next(iter(inside), None)
    return sample


def _has(*names: str) -> Callable[[Any], Path | None]:
    """Entries are objects with these fields."""
    return lambda sample: () if sample.keys() >= set(names) else None


def _at(name: str, *fields: str, kind: type = list) -> Callable[[Any], Path | None]:
    """Entries are the values in a field of the document, objects with these fields."""

    def path(sample: Any) -> Path | None:
        values = sample.get(name)
        if not isinstance(values, kind):
            return None
        inside: Any = values.values() if isinstance(values, dict) else values
        first = next(iter(inside), None)
        fits = not fields or (isinstance(first, dict) and first.keys() >= set(fields))
        return (name, "*") if fits else None

    return path


def _get(entry: Any, name: str, kind: type | tuple[type, ...] = object) -> Any:
    """A field of an object."""
    if not isinstance(entry, dict) or name not in entry:
        raise RowError(f"{show(entry)} has no {name!r}")
    if not isinstance(entry[name], kind):
        raise RowError(f"{name!r} is {show(entry[name])}")
    return entry[name]


def _pick(objects: Sequence[Any], name: str) -> list[Any]:
    """A field of each object."""
    try:
        return [one[name] for one in objects]
    except (KeyError, TypeError):
        return [_get(one, name) for one in objects]


_PLAIN = re.compile(r"[0-9. ]*")  # numbers that `float` reads as they are written


def _numbers(values: Iterable[Any], role: str) -> list[float]:
    """Numbers, or texts of numbers, as OpenSearch writes them."""
    values = list(values)
    if {*map(type, values)} <= {int, float}:
        floats = list(map(float, values))
        if all(map(math.isfinite, floats)):  # as most are
            return floats
    elif {*map(type, values)} == {str} and _PLAIN.fullmatch("".join(values)):
        with contextlib.suppress(ValueError):
            return list(map(float, values))
    return [lines.to_number(value if isinstance(value, str) else str(value), role) for value in values]


def _rated(query: Any, ratings: Sequence[Any], item: str, grade: str) -> ListRow:
    """Judged items: objects with an id and a grade."""
    return query, _pick(ratings, item), _numbers(_pick(ratings, grade), "grade")


def _scored(query: Any, items: list[Any], scores: Sequence[Any]) -> ListRow:
    """Returned items, with scores if each has one."""
    return query, items, None if any(score is None for score in scores) else _numbers(scores, "score")


def _listed(value: Any) -> list[Any]:
    """A list, or the text of one, as CSV has it."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                raise RowError(f"{show(value)} is not a list") from None
    if not isinstance(value, (list, tuple)):
        raise RowError(f"{show(value)} is not a list")
    return list(value)


# -- search engines ------------------------------------------------------------------------------------------


def _judgements(entry: Entry) -> Iterator[ListRow]:
    yield _rated(_get(entry.value, "query"), _get(entry.value, "ratings", list), "docId", "rating")


def _configuration(entry: Entry) -> str:
    return str(entry.value.get("experimentVariantId") or entry.value.get("searchConfigurationId"))


def _compared(sample: Any) -> Path | None:
    return ("results", "*", "*") if _at("results", kind=dict)(sample) and "searchConfigurationList" in sample else None


def _compared_list(entry: Entry) -> Iterator[ListRow]:
    if isinstance(entry.value, list):  # else it is how far they agree
        yield entry.above[-1], entry.value, None


def _requests(entry: Entry) -> Iterator[ListRow]:
    yield _rated(_get(entry.value, "id"), _get(entry.value, "ratings", list), "_id", "rating")


def _is_response(sample: Any) -> Path | None:
    score = sample.keys() & {"metric_score", "quality_level"}
    return ("details", "*") if score and isinstance(sample.get("details"), dict) else None


def _rated_hits(entry: Entry) -> Iterator[ListRow]:
    hits = [one for one in _get(entry.value, "hits", list) if _get(one, "rating") is not None]
    yield entry.key, _pick(_pick(hits, "hit"), "_id"), _numbers(_pick(hits, "rating"), "grade")


def _response_hits(entry: Entry) -> Iterator[ListRow]:
    yield _hits(entry.key, _pick(_get(entry.value, "hits", list), "hit"))


def _hits(query: Any, hits: list[Any]) -> ListRow:
    for hit in hits:
        if "_id" not in (hit if isinstance(hit, dict) else ()):
            raise RowError(f"a hit has no '_id' but {show(hit)}; leave _id in where filter_path= is used")
    return _scored(query, _pick(hits, "_id"), [hit.get("_score") for hit in hits])


def _search_path(sample: Any) -> Path | None:
    hits, responses = sample.get("hits"), sample.get("responses")
    if isinstance(hits, dict) and isinstance(hits.get("hits"), list):
        return ()
    several = isinstance(responses, list) and responses and isinstance(responses[0], dict)
    return ("responses", "*") if several and responses[0].keys() & {"hits", "error"} else None


def _search(entry: Entry) -> Iterator[ListRow]:
    if "error" in entry.value:
        raise RowError(f"this response is an error: {show(entry.value['error'])}")
    yield _hits(None, _get(_get(entry.value, "hits", dict), "hits", list))


def _solr(sample: Any) -> Path | None:
    response = sample.get("response")
    return ("response",) if isinstance(response, dict) and isinstance(response.get("docs"), list) else None


def _solr_docs(entry: Entry) -> Iterator[ListRow]:
    docs = _get(entry.value, "docs", list)
    yield _scored(None, _pick(docs, "id"), [doc.get("score") for doc in docs])


def _vespa(sample: Any) -> Path | None:
    root = sample.get("root")
    return ("root",) if isinstance(root, dict) and {"id", "relevance"} <= root.keys() else None


def _vespa_hits(entry: Entry) -> Iterator[ListRow]:
    hits = entry.value.get("children", [])
    ids = [str(name).rpartition("::")[2] for name in _pick(hits, "id")]
    yield _scored(None, ids, _pick(hits, "relevance"))


# -- Quepid and RRE ------------------------------------------------------------------------------------------


def _quepid(entry: Entry) -> Iterator[ListRow]:
    ratings = _get(entry.value, "ratings") or {}  # an empty list, or null, where there are none
    yield _get(entry.value, "query"), list(ratings), _numbers(ratings.values(), "grade")


def _mean(grades: Sequence[float]) -> list[float]:
    return [sum(grades) / len(grades)] if grades else []


def _book_pair(entry: Entry) -> Iterator[ListRow]:
    judged = [one for one in _get(entry.value, "judgements", list) if one.get("rating") is not None]
    grades = _mean(_numbers(_pick(judged, "rating"), "grade"))
    yield _get(entry.value, "query_text"), [_get(entry.value, "doc_id")] * len(grades), grades


is_book = _at("query_doc_pairs")


def is_book_table(sample: Mapping[str, str]) -> Path | None:
    """A column per judge: a name in several words, an address or `Anonymous`, with numbers in it."""
    names = list(sample)
    judges = names[2:] if names[:2] == ["query", "docid"] else []
    named = judges and all(name == "Anonymous" or " " in name or "@" in name for name in judges)
    grades = [grade for grade in list(sample.values())[2:] if grade] if named else []
    return () if named and all(map(lines.is_number, grades)) else None


def _book_row(entry: Entry) -> Iterator[ListRow]:
    query, item, *grades = entry.value.values()
    mean = _mean(_numbers((grade for grade in grades if grade), "grade"))
    yield query, [item] * len(mean), mean


def _query_text(row: dict[str, str]) -> str:
    """Without the blank that Quepid writes before what a spreadsheet would take for a formula."""
    text = row["Query Text"]
    return text[1:] if text[:1] == " " and text[1:2] in tuple("=@+-") else text


def _case_truth(entry: Entry) -> Iterator[ListRow]:
    if "Rating" not in entry.value and "Doc ID" in entry.value:
        raise RowError("has no 'Rating': it is a run only")
    grade, item = entry.value.get("Rating"), entry.value.get("Doc ID")
    yield _query_text(entry.value), [item] if grade else [], _numbers([grade] if grade else [], "grade")


def _case_run(entry: Entry) -> Iterator[ListRow]:
    item = entry.value.get("Doc ID")
    ranks = _numbers([entry.value["Doc Position"]], "rank") if item else []
    yield _query_text(entry.value), [item] if item else [], [-rank for rank in ranks]


def _rre_path(sample: Any) -> Path | None:
    paths = (("topics", "*", "query_groups", "*"), ("query_groups", "*"), ("queries", "*"))
    return next((path for path in paths if "relevant_documents" in (at_path(sample, path) or ())), None)


def _rre(entry: Entry) -> Iterator[ListRow]:
    query = entry.value.get("name") or _get(_get(entry.value, "placeholders", dict), "$query")
    grades: dict[str, Any] = {}
    for key, value in _get(entry.value, "relevant_documents", dict).items():
        if isinstance(value, list):  # {grade: [item]}
            if twice := grades.keys() & set(map(str, value)):
                raise RowError(f"item {show(min(twice))} has two grades")
            grades |= dict.fromkeys(map(str, value), key)
        else:  # {item: {"gain": grade}}
            grades[key] = _get(value, "gain") if isinstance(value, dict) else value
    yield query, list(grades), _numbers(grades.values(), "grade")


# -- embeddings ----------------------------------------------------------------------------------------------


def _mteb(sample: Any) -> Path | None:
    return ("*", "*", "*") if "mteb_model_meta" in sample else None


def _dict_of_scores(entry: Entry) -> Iterator[ListRow]:
    if not isinstance(entry.value, dict):
        raise RowError(f"query {show(entry.key)}: expected {{item: score}}, found {show(entry.value)}")
    yield entry.key, list(entry.value), _numbers(entry.value.values(), "score")


def _relevant_docs(sample: Any) -> Path | None:
    """An object with `relevant_docs`, or so long that only `queries`, their texts, are seen."""
    queries = sample.get("queries")
    texts = isinstance(queries, dict) and all(isinstance(text, str) for text in queries.values())
    return ("relevant_docs", "*") if texts and queries else None


def _dataset(entry: Entry) -> Iterator[ListRow]:
    graded = isinstance(entry.value, dict)
    yield entry.key, list(entry.value), _numbers(entry.value.values(), "grade") if graded else None


# -- retrieval for language models ---------------------------------------------------------------------------


def _haystack(side: str) -> Extract:
    def lists(entry: Entry) -> Iterator[ListRow]:
        sides = _get(entry.value, side, list)
        queries = entry.value.get("questions", range(1, len(sides) + 1))
        if len(queries) != len(sides):
            raise RowError(f"there are {len(queries)} questions but {len(sides)} {side}")
        for query, documents in zip(queries, sides, strict=True):
            scores = [document.get("score") for document in documents]
            if any(score is None for score in scores) and any(score is not None for score in scores):
                raise RowError(f"some documents of query {show(query)} have a score, others none")
            yield _scored(query, _pick(documents, "id"), scores)

    return lists


def _documents(entry: Entry) -> Iterator[ListRow]:
    """LangChain's documents: an id, or one in the metadata."""
    ids = []
    for document in _get(entry.value, "documents", list):
        about = document.get("metadata") or {}
        name = document.get("id") or next((about[key] for key in ("id", "doc_id", "document_id") if key in about), None)
        if name is None:
            raise RowError(f"document {show(document)} has no id; set Document.id, or metadata['id']")
        ids.append(name)
    yield entry.value.get("query", entry.value.get("question")), ids, None


def _has_documents(sample: Any) -> Path | None:
    documents = sample.get("documents")
    first = documents[0] if isinstance(documents, list) and documents else None
    named = isinstance(first, dict) and "page_content" in first and sample.keys() & {"query", "question"}
    return () if named else None


_OTLP = ("resourceSpans", "*", "scopeSpans", "*", "spans", "*")


def _spans(sample: Any) -> Path | None:
    if "resourceSpans" in sample:
        return _OTLP
    flat = any(name.startswith("attributes.") for name in sample) and "context.span_id" in sample
    nested = isinstance(sample.get("attributes"), dict) and sample.keys() & {"context", "span_id", "spanId"}
    return () if flat or nested else None


def _span(entry: Entry) -> Iterator[ListRow]:
    """The retrieval of a span; none in a span of another kind."""
    about = entry.value.get("attributes")
    if isinstance(about, list):  # OTLP
        about = {one["key"]: next(iter(one["value"].values()), None) for one in about}
    elif about is None:
        about = {name.removeprefix("attributes."): value for name, value in entry.value.items()}
    documents = about.get("gen_ai.retrieval.documents", about.get("retrieval.documents"))
    if isinstance(documents, str):
        documents = _listed(documents)
    if documents is None:
        documents = _numbered_documents(about)
    if not documents and about.get("openinference.span.kind") != "RETRIEVER":
        return
    query = about.get("gen_ai.retrieval.query.text", about.get("input.value"))
    if query is None:
        raise RowError("the span of a retrieval has neither 'gen_ai.retrieval.query.text' nor 'input.value'")
    documents = [{name.removeprefix("document."): value for name, value in one.items()} for one in documents or ()]
    ids = [one.get("id") for one in documents]
    if any(name is None for name in ids):
        ids = [one.get("content") for one in documents]
    yield _scored(query, ids, [one.get("score") for one in documents])


def _numbered_documents(about: dict[str, Any]) -> list[dict[str, Any]]:
    """`retrieval.documents.0.document.id` and so on, as objects."""
    start, parts = "retrieval.documents.", dict[int, dict[str, Any]]()
    for name, value in about.items():
        number, _, field = name.removeprefix(start).partition(".")
        if name.startswith(start) and number.isdecimal():
            parts.setdefault(int(number), {})[field] = value
    return [parts[number] for number in sorted(parts)]


def _phoenix_row(entry: Entry) -> Iterator[ListRow]:
    row = entry.value
    score = row.get("document_score")
    place = _numbers([_get(row, "document_position")], "rank")[0]
    yield row["input"], [row["document"]], [-place] if score in (None, "") else _numbers([score], "score")


def _kilt_path(sample: Any) -> Path | None:
    outputs = sample.get("output") if "id" in sample else None
    some = isinstance(outputs, list) and any("provenance" in one for one in outputs if isinstance(one, dict))
    return () if some else None


def _pages(outputs: Iterable[Any]) -> list[str]:
    pages = (page for output in outputs for page in output.get("provenance", ()))
    return list(dict.fromkeys(str(_get(page, "wikipedia_id")) for page in pages))


def _references(entry: Entry) -> Iterator[ListRow]:
    yield _get(entry.value, "topic_id"), _get(entry.value, "references", list), None


# -- tables --------------------------------------------------------------------------------------------------


def text_roles(row: object, kind: str) -> dict[str, str]:
    """Roles of a row whose lists are texts, as CSV has them; empty if it has none."""
    texts = row if isinstance(row, dict) else {}
    lists = {name for name, value in texts.items() if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]"}
    try:
        roles = find_side(list(texts), kind, {}, is_list=lists.__contains__, by_row=True) if lists else {}
    except ValueError:
        return {}
    return roles if roles.get("item") in lists else {}


def _column(query: Sequence[str], items: Sequence[str]) -> Extract:
    """Rows with a list; of several names, the first that is there."""

    def row(entry: Entry) -> Iterator[ListRow]:
        named = next((entry.value[name] for name in query if entry.value.get(name) is not None), None)
        yield named, _listed(_first_of(entry.value, items)), None

    return row


def _first_of(row: Any, names: Sequence[str]) -> Any:
    """The first of several fields that a row has."""
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if value is None:
        raise RowError(f"{show(row)} has no {' and no '.join(map(repr, names))}")
    return value


def _any_of(*names: str) -> Callable[[Any], Path | None]:
    return lambda sample: () if sample.keys() & set(names) else None


def _results(sample: Any) -> Path | None:
    results = sample.get("results") if "query_id" in sample else None
    return () if _at("results", "corpus_id")(sample) and isinstance(results, list) else None


def _result_row(entry: Entry) -> Iterator[ListRow]:
    results = _get(entry.value, "results", list)
    yield entry.value["query_id"], _pick(results, "corpus_id"), _numbers(_pick(results, "score"), "score")


def _labelled(entry: Entry) -> Iterator[ListRow]:
    query, item = (
        _first_of(entry.value, ("qid", "query_id", "query")),
        _first_of(entry.value, ("docid", "doc_id", "passage")),
    )
    yield query, [item], _numbers([_get(entry.value, "judgment")], "grade")


_IMPORTANCE = {"vital": 2.0, "okay": 1.0}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


def _nuggets(field: str, values: Mapping[str, float]) -> Extract:
    """The nuggets of a query by their texts; of several with one text, the others are numbered."""

    def lists(entry: Entry) -> Iterator[ListRow]:
        items: dict[str, float] = {}
        for nugget in _get(entry.value, "nuggets", list):
            word, text = _get(nugget, field, str), _get(nugget, "text", str)
            if word not in values:
                raise RowError(f"{field} is {show(word)}; expected {', '.join(values)}")
            number = sum(name == text or name.startswith(f"{text} (") for name in items)
            items[f"{text} ({number + 1})" if text in items else text] = values[word]
        yield _get(entry.value, "qid"), list(items), list(items.values())

    return lists


def _case_row(entry: Entry) -> Iterator[ListRow]:
    """A row of Quepid's ratings, whose rating may be empty: not judged."""
    grade = entry.value.get("rating")
    yield entry.value["query"], [entry.value["docid"]] if grade else [], _numbers([grade] if grade else [], "grade")


def _qrels_row(entry: Entry) -> Iterator[ListRow]:
    query, item, grade = entry.value.values()
    yield query, [item], _numbers([grade], "grade")


def _has_scores(sample: Any) -> Path | None:
    """Names of metrics, as `ndcg@10` or `cosine-NDCG@10` or `ndcg_at_10/mean`."""
    names = [name for name in sample if "@" in name or "_at_" in name]
    return () if len(names) > 1 and 3 * len(names) >= len(sample) else None


def _text_row(kind: str) -> Extract:
    def row(entry: Entry) -> Iterator[ListRow]:
        roles = text_roles(entry.value, kind)
        if not roles:
            raise RowError(f"has no list of items for a {kind} in {show(entry.value)}")
        yield entry.value.get(roles.get("query")), _listed(entry.value[roles["item"]]), None

    return row


def _is_split(sample: Any) -> Path | None:
    columns = sample.get("columns")
    return () if isinstance(columns, list) and isinstance(sample.get("data"), list) else None


def _split(document: Any) -> dict[str, Any]:
    """`{"columns": [...], "data": [[...]]}`, as pandas and MLflow write a table."""
    names, rows = _get(document, "columns", list), _get(document, "data", list)
    for row in rows:
        if not isinstance(row, list) or len(row) != len(names):
            raise RowError(f"there are {len(names)} columns, but a row is {show(row)}")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}


_MANY = 1000  # values of a column, after which the others are not looked for


def _is_columns(sample: Any) -> Path | None:
    """`{"query": [...], "docid": [...]}`; of a long one only the first column is seen."""
    if not all(isinstance(values, list) for values in sample.values()):
        return None
    if any(isinstance(value, (dict, list)) for values in sample.values() for value in values[:1]):
        return None
    query, item = ([name for name in sample if find([name], role, "file", {})] for role in ("query", "item"))
    return () if query and (item or len(sample[query[0]]) >= _MANY) else None


_JUDGES = "a grade is the mean of the judges"
_PLACES = "ratings of returned documents only: the recall and the ideal DCG of the others are unknown"
_NUMBERS = "has values of metrics, neither judgements nor lists; `rankstone leaderboard` and rs.read_scores read it"

TOOLS: Sequence[ToolFormat] = (
    ToolFormat("opensearch", "OpenSearch judgements", _at("judgmentRatings"), truth=_judgements,
               fields=("docId", "rating"), write=write_opensearch, fetched=True),
    ToolFormat("opensearch-results", "OpenSearch evaluation results", _has("searchText", "documentIds"),
               run=lambda entry: [(entry.value["searchText"], _get(entry.value, "documentIds", list), None)],
               part=_configuration, fetched=True),
    ToolFormat("opensearch-comparison", "OpenSearch comparison", _compared, run=_compared_list,
               part=lambda entry: str(entry.key) if isinstance(entry.value, list) else "", fetched=True),
    ToolFormat("opensearch-experiment", "OpenSearch experiment",
               lambda sample: None if _compared(sample) else _has("querySetId", "searchConfigurationList")(sample),
               refusal="is an experiment that names its evaluations; the lists are in these", fetched=True),
    ToolFormat("rank-eval", "_rank_eval request", _at("requests", "ratings"), truth=_requests,
               fields=("_id", "rating"), write=write_rank_eval),
    ToolFormat("rank-eval-response", "_rank_eval response", _is_response, truth=_rated_hits, run=_response_hits,
               ordered=True, note=_PLACES),
    ToolFormat("search-response", "search response", _search_path, run=_search, ordered=True),
    ToolFormat("solr", "Solr response", _solr, run=_solr_docs, ordered=True),
    ToolFormat("vespa", "Vespa response", _vespa, run=_vespa_hits, ordered=True),
    ToolFormat("quepid-json", "Quepid ratings", _at("queries", "query", "ratings"), truth=_quepid),
    ToolFormat("quepid-book", "Quepid book", is_book, truth=_book_pair, by_item=True, note=_JUDGES),
    ToolFormat("quepid-book-csv", "Quepid book", is_book_table, truth=_book_row, by_item=True, note=_JUDGES),
    ToolFormat("quepid-case", "Quepid case", _has("Query Text", "Doc ID", "Doc Position"), truth=_case_truth,
               run=_case_run, by_item=True, note=_PLACES),
    ToolFormat("rre", "RRE ratings", _rre_path, truth=_rre),
    ToolFormat("mteb", "MTEB predictions", _mteb, run=_dict_of_scores, part=lambda entry: "/".join(entry.above),
               write=write_mteb),
    ToolFormat("relevant-docs", "relevant documents", _relevant_docs, truth=_dataset),
    ToolFormat("haystack", "Haystack documents", _has("ground_truth_documents", "retrieved_documents"),
               truth=_haystack("ground_truth_documents"), run=_haystack("retrieved_documents")),
    ToolFormat("langchain", "LangChain documents", _has_documents, run=_documents),
    ToolFormat("spans", "spans of retrievals", _spans, run=_span),
    ToolFormat("phoenix", "Phoenix documents", _has("document_position", "document", "input"), run=_phoenix_row,
               by_item=True),
    ToolFormat("kilt", "KILT", _kilt_path,
               truth=lambda entry: [(entry.value["id"], _pages(entry.value["output"]), None)],
               run=lambda entry: [(entry.value["id"], _pages(entry.value["output"][:1]), None)]),
    ToolFormat("trec-rag", "TREC RAG answers", _has("topic_id", "references", "answer"), run=_references),
    ToolFormat("ragas", "Ragas samples", _any_of("retrieved_context_ids", "reference_context_ids"),
               truth=_column(("user_input", "question", "query"), ("reference_context_ids",)),
               run=_column(("user_input", "question", "query"), ("retrieved_context_ids",))),
    ToolFormat("llama-index", "LlamaIndex results", _has("query", "expected_ids", "retrieved_ids"),
               truth=_column(("query",), ("expected_ids",)), run=_column(("query",), ("retrieved_ids",))),
    ToolFormat("sentence-transformers", "sentence-transformers predictions", _results, run=_result_row,
               fields=("corpus_id", "score")),
    ToolFormat("umbrela", "umbrela judgements", _has("query", "passage", "judgment"), truth=_labelled),
    ToolFormat("quepid", "Quepid ratings", lambda sample: () if list(sample) == ["query", "docid", "rating"]
               else None, truth=_case_row, plain=True, write=partial(write_rows, ",", ("query", "docid", "rating"))),
    ToolFormat("beir", "BEIR qrels", lambda sample: () if list(sample) == ["query-id", "corpus-id", "score"]
               else None, truth=_qrels_row, plain=True,
               write=partial(write_rows, "\t", ("query-id", "corpus-id", "score"))),
    ToolFormat("text-lists", "rows of lists", lambda sample: () if text_roles(sample, "truth") or
               text_roles(sample, "run") else None, truth=_text_row("truth"), run=_text_row("run"), fallback=True),
    ToolFormat("json-split", "columns and data", _is_split, table=_split),
    ToolFormat("json-columns", "columns of a table", _is_columns, table=lambda document: document),
    ToolFormat("mteb-result", "MTEB result", _has("mteb_version", "dataset_revision"), refusal=_NUMBERS),
    ToolFormat("scores-table", "values of metrics", _has_scores, refusal=_NUMBERS, fallback=True),
    ToolFormat("nuggetizer", "nuggets", _has("nuggets", "qid"), truth=_nuggets("importance", _IMPORTANCE),
               run=_nuggets("assignment", _SUPPORT), note="vital 2, okay 1; the run has how far they are supported"),
    ToolFormat("rag-contract", "rag-contract", _has("id", "query", "relevant_doc_ids"),
               truth=lambda entry: [(entry.value["id"], _get(entry.value, "relevant_doc_ids", list), None)]),
    ToolFormat("ubi", "UBI events", _has("action_name"),
               refusal="has events of users, neither judgements nor lists; rs.interleaving reads them", fetched=True),
)  # fmt: skip
