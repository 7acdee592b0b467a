"""Score files of other tools: a row per tool, with how its files are recognised and read, and its names of metrics."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rankstone.compare.scores import Score, Scores
from rankstone.conventions.convention import conventions
from rankstone.data.formats import by_magic, listed
from rankstone.data.json_files import distinct_keys
from rankstone.data.lines import RowError, ending_of, open_text, to_number
from rankstone.errors import Advice, FileError, Hint, InputError, InputTypeError, show, some
from rankstone.evaluate.result_file import is_result, read_result
from rankstone.metrics.declaration import unknown_word
from rankstone.metrics.registry import parse
from rankstone.results.definition import Definition, define

if TYPE_CHECKING:
    from rankstone.typing import Path

    Source: TypeAlias = Path | Sequence[Path] | Mapping[str, float]

ENDINGS = ("json", "jsonl", "csv", "tsv", "txt", "eval", "parquet")  # files that are looked at in a folder
_META = "model_meta.json"


class ScoreRow(NamedTuple):
    """One number of a file; an empty model or task is not named in it. A variant is one of several of a model."""

    name: str
    value: Any
    model: str = ""
    variant: str = ""
    task: str = ""
    split: str = ""
    subset: str = ""
    data: str = ""
    definition: Definition | None = None


class ScoreFile:
    """What is in a file, by its syntax; or the dict that an evaluator returned."""

    def __init__(self, path: str, content: Mapping[str, float] | None = None) -> None:
        self.path, self._content = path, content
        self.is_saved = content is None and is_result(path)

    @cached_property
    def text(self) -> str:
        """All of it."""
        if self._content is not None:
            return ""
        file = open_text(self.path)
        if by_magic(file.data):
            return ""
        try:
            return bytes(file.view()).decode()
        except UnicodeDecodeError:
            raise FileError(self.path, "is not text in UTF-8") from None

    @cached_property
    def document(self) -> dict[str, Any]:
        """A JSON object; empty for anything else."""
        if self._content is not None:
            return dict(self._content)
        if not self.text.lstrip().startswith("{"):
            return {}
        try:
            return json.loads(self.text, object_pairs_hook=distinct_keys)
        except json.JSONDecodeError as error:
            if self.objects:
                return {}
            raise FileError(self.path, f"is not JSON: {error.msg}; write the file again", error.lineno) from None
        except (ValueError, RecursionError) as error:
            raise FileError(self.path, f"is not JSON: {error}") from None

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """JSON with an object per line; empty for anything else."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        try:
            objects = [json.loads(line) for line in lines if line.startswith("{")]
        except (ValueError, RecursionError):
            return []
        return objects if len(objects) == len(lines) else []

    @cached_property
    def numbers(self) -> dict[str, float]:
        """A JSON object of numbers and text, without its text; empty if there is more in it."""
        values = (
            {} if any(not isinstance(value, (int, float, str)) for value in self.document.values()) else self.document
        )
        return {name: value for name, value in values.items() if _is_value(value)}

    @cached_property
    def table(self) -> tuple[list[str], list[tuple[int, list[str]]]]:
        """Header and rows of a CSV file, with their lines; empty for anything else."""
        if self.text.lstrip()[:1] in ("{", "["):
            return [], []
        reader = csv.reader(io.StringIO(self.text))
        try:
            rows = [(reader.line_num, row) for row in reader if row]
        except csv.Error as error:
            raise FileError(self.path, f"is not CSV: {error}", reader.line_num) from None
        return (rows[0][1], rows[1:]) if rows and len(rows[0][1]) > 1 else ([], [])

    @cached_property
    def fields(self) -> list[tuple[int, list[str]]]:
        """The words of each line, by tabs or, where there are none, by blanks."""
        if self.text.lstrip()[:1] in ("{", "["):
            return []
        lines = ((number, line) for number, line in enumerate(self.text.splitlines(), 1) if line.strip())
        return [(number, [word.strip() for word in (line.split("\t") if "\t" in line else line.split())])
                for number, line in lines]  # fmt: skip

    def number(self, word: str, name: str, line: int) -> float:
        """A score of a text file."""
        if word.strip().lower() in ("", "nan"):
            return math.nan
        try:
            return to_number(word, "score")
        except RowError as error:
            raise FileError(self.path, f"{error} ({name})", line) from None

    def numbers_of(self, names: Sequence[str], line: int, row: Sequence[str]) -> Iterator[tuple[str, float]]:
        """The numbers of a row of CSV by name."""
        if len(row) != len(names):
            raise FileError(self.path, f"has {len(row)} fields, and its header {len(names)}", line)
        for name, word in zip(names, row, strict=True):
            yield name, self.number(word, name, line)

    @property
    def stem(self) -> str:
        """The name without folder and ending."""
        return os.path.basename(self.path).partition(".")[0]

    @property
    def folder(self) -> str:
        """The name of the folder."""
        return os.path.basename(os.path.dirname(os.path.abspath(self.path)))


def _is_value(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Reader: TypeAlias = Callable[[ScoreFile], Iterable[ScoreRow]]


@dataclass(frozen=True)
class ScoreFormat:
    """The files of a tool."""

    title: str
    matches: Callable[[ScoreFile], bool]
    read: Reader
    names: re.Pattern[str] | None = None  # of those metrics that are rankstone's: `name`, and `k` if there is a cutoff
    spellings: Mapping[str, str] | None = None  # rankstone's name by the tool's, where `parse` does not read it
    convention: str = ""  # that has the tool's definitions, if it is not called like the tool


# -- MTEB ----------------------------------------------------------------------------------------------------


def _read_mteb(file: ScoreFile) -> Iterator[ScoreRow]:
    """Both forms: `scores` by split, and, before 1.11, each split at the top."""
    document = file.document
    new = isinstance(document.get("scores"), dict)
    task = document.get("task_name" if new else "mteb_dataset_name") or file.stem
    model, revision = _mteb_model(file), str(document.get("dataset_revision") or "")
    splits = document["scores"] if new else {name: each for name, each in document.items() if isinstance(each, dict)}
    for split, entries in splits.items():
        if not isinstance(entries, (list, dict)):
            raise FileError(file.path, f"the split {split!r} is {show(entries)}, not a list of scores")
        for subset, entry in _subsets(entries):
            for name, value in entry.items():
                if (_is_value(value) or value is None) and name != "evaluation_time":
                    yield ScoreRow(name, value, model, "", str(task), split, subset, revision)


_ONLY = "default"  # the subset of data sets without subsets
_SIMILARITIES = ("cos_sim", "dot", "euclidean", "manhattan", "max")  # have scores of their own in old files


def _subsets(entries: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The scores of each subset of a split."""
    if isinstance(entries, list):
        for entry in entries:
            yield str(entry.get("hf_subset", "")).removeprefix(_ONLY), entry
        return
    flat = {name: value for name, value in entries.items() if not isinstance(value, dict)}
    nested = {name: value for name, value in entries.items() if isinstance(value, dict)}
    for name in _SIMILARITIES:
        flat |= {f"{name}_{inner}": value for inner, value in nested.pop(name, {}).items()}
    if any(name != "evaluation_time" for name in flat):
        yield "", flat
    for subset, entry in nested.items():
        yield from ((subset, inner) for _, inner in _subsets(entry))


def _mteb_model(file: ScoreFile) -> str:
    """The name in the file of the model's metadata, or that of the folder above the revision."""
    folder = os.path.dirname(os.path.abspath(file.path))
    meta = os.path.join(folder, _META)
    if os.path.isfile(meta):
        name = ScoreFile(meta).document.get("name")
        if isinstance(name, str) and name:
            return name
    parent, revision = os.path.split(folder)
    is_revision = re.fullmatch(r"[0-9a-f]{40}|no_revision_available|external|\d+", revision) is not None
    return os.path.basename(parent if is_revision else folder).replace("__", "/")


# -- tables and JSON objects of numbers ----------------------------------------------------------------------

_FUNCTIONS = "cosine|dot|euclidean|manhattan"
_ST_METRIC = r"(?P<name>accuracy|precision|recall|ndcg|mrr|map)(?:@(?P<k>\d+))?"
_ST_KEY = re.compile(rf"(?:(?P<task>.+?)_)?(?:(?P<function>{_FUNCTIONS})_)?(?P<metric>{_ST_METRIC})")
_ST_COLUMN = re.compile(rf"(?:(?P<function>\w+)-)?(?P<metric>{_ST_METRIC})", re.IGNORECASE)
_ST_FILE = re.compile(r"(?:Information-Retrieval_evaluation|\w*?Evaluator)(?:_(?P<task>.+?))?_results(?:_@\d+)?")


def _read_sentence_transformers(file: ScoreFile) -> Iterator[ScoreRow]:
    """The table, with a row per evaluation in training, or the dict that an evaluator returns."""
    header, rows = file.table
    names = header[2:] if rows else list(file.numbers)
    parts = [(_ST_COLUMN if rows else _ST_KEY).fullmatch(name) for name in names]
    functions = {part["function"] for part in parts if part} - {None}

    def own(name: str, part: re.Match[str] | None, value: float, model: str, when: str, task: str) -> ScoreRow:
        function = part["function"] if part and len(functions) > 1 else None
        return ScoreRow(
            part["metric"].lower() if part else name, value, model, ", ".join(filter(None, [when, function])), task
        )

    if not rows:
        for name, part in zip(names, parts, strict=True):
            yield own(name, part, file.numbers[name], "", "", (part["task"] or "") if part else "")
        return
    title = _ST_FILE.fullmatch(file.stem)
    task = (title["task"] or "") if title else ""
    above = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(file.path))))
    model = above if file.folder == "eval" else file.folder  # the trainer writes to `eval` of the model's folder
    for line, row in rows:
        (_, epoch), (_, step), *values = file.numbers_of(header, line, row)
        when = f"epoch {epoch:g}, step {step:g}" if len(rows) > 1 else ""
        for (name, value), part in zip(values, parts, strict=True):
            yield own(name, part, value, model, when, task)


def _read_vespa(file: ScoreFile) -> Iterator[ScoreRow]:
    header, rows = file.table
    for line, (name, *row) in rows:
        for metric, value in file.numbers_of(header[1:], line, row):
            yield ScoreRow(metric, value, name)


def _read_haystack(file: ScoreFile) -> Iterator[ScoreRow]:
    for line, row in file.table[1]:
        if len(row) != 2:
            raise FileError(file.path, f"has {len(row)} fields, and its header 2", line)
        yield ScoreRow(row[0], file.number(row[1], row[0], line))


def _read_numbers(file: ScoreFile) -> Iterator[ScoreRow]:
    """An object of numbers."""
    model = file.document.get("runid")
    return (ScoreRow(name, value, model if isinstance(model, str) else "") for name, value in file.numbers.items())


_RANX = re.compile(
    r"(?:hits|hit_rate|precision|recall|f1|r[-_]precision|bpref|rbp\.\d+|mrr|map|n?dcg(?:_burges)?)(?:@\d+)?(?:-l\d+)?"
)


def _is_ranx(file: ScoreFile) -> bool:
    return {"metrics", "model_names"} <= file.document.keys() or _all(_RANX, file.numbers)


def _read_ranx(file: ScoreFile) -> Iterator[ScoreRow]:
    """A report, or the dict that `evaluate` returns."""
    if file.numbers:
        yield from _read_numbers(file)
    for model in file.document.get("model_names", ()):
        if not isinstance(scores := file.document.get(model, {}).get("scores"), dict):
            raise FileError(file.path, f"the report has no scores of {model!r}")
        yield from (ScoreRow(name, value, str(model)) for name, value in scores.items())


def _read_llama_index(file: ScoreFile) -> Iterator[ScoreRow]:
    """Means over the queries."""
    values: dict[str, list[float]] = {}
    for each in file.objects:
        for name, entry in each["metric_dict"].items():
            values.setdefault(name, []).append(float(entry["score"]))
    return (ScoreRow(name, math.fsum(several) / len(several)) for name, several in values.items())


# -- lines ---------------------------------------------------------------------------------------------------

_IR_MEASURE = re.compile(
    r"(?:nDCG|NDCG|DCG|AP|MAP|P|R|RR|MRR|Success|ERR|RBP|RBO|Rprec|Bpref|Judged|IPrec|infAP|Num(?:Q|Rel|Ret)|"
    r"Set(?:P|R|F|AP|RelP)|Accuracy|BPM|SDCG|INST|INSQ|Compat|NERR\w*|alpha_n?DCG|\w+_IA|n?NRBP|StRecall)"
    r"(?:\([^\t]*\))?(?:@[\d.]+)?"
)


def _is_trec_eval(file: ScoreFile) -> bool:
    return all(len(words) == 3 for _, words in file.fields) and any(words[1] == "all" for _, words in file.fields)


def _read_trec_eval(file: ScoreFile) -> Iterator[ScoreRow]:
    """The lines of all queries; those per query are not read."""
    lines = [(number, words) for number, words in file.fields if words[1] == "all"]
    model = next((words[2] for _, words in lines if words[0] == "runid"), "")
    return (ScoreRow(words[0], file.number(words[2], words[0], number), model) for number, words in lines
            if words[0] not in ("runid", "relstring"))  # fmt: skip


def _is_ir_measures(file: ScoreFile) -> bool:
    if file.numbers:
        return _all(_IR_MEASURE, file.numbers)
    if file.objects:
        return all({"measure", "value"} <= each.keys() for each in file.objects)
    return bool(file.fields) and all(
        len(words) in (2, 3) and _IR_MEASURE.fullmatch(words[-2]) for _, words in file.fields
    )


def _read_ir_measures(file: ScoreFile) -> Iterator[ScoreRow]:
    """Measure and value, after the query if there are any per query; those per query are not read."""
    if file.numbers:
        yield from _read_numbers(file)
        return
    for each in file.objects:
        if each.get("query_id", "all") == "all":
            yield ScoreRow(each["measure"], each["value"])
    for number, words in file.fields:
        if len(words) == 2 or words[0] == "all":
            yield ScoreRow(words[-2], file.number(words[-1], words[-2], number))


def _all(pattern: re.Pattern[str], names: Iterable[str]) -> bool:
    names = list(names)
    return bool(names) and all(map(pattern.fullmatch, names))


# -- our own -------------------------------------------------------------------------------------------------


def _read_saved(file: ScoreFile) -> Iterator[ScoreRow]:
    results = read_result(file.path)
    for name, result in results.items() if isinstance(results, dict) else [("", results)]:
        own = name or (result._name if result._name != "run" else "") or ""
        for label, value in result.items():
            data = str(result._measurement.inputs.get("truth", ""))
            yield ScoreRow(label, value, own, data=data, definition=result.definitions[label])


_ANY = re.compile("(?P<name>.+)")
_WITH_CUTOFF = {"accuracy": "hit_rate"}
SCORE_FORMATS: dict[str, ScoreFormat] = {
    "rankstone": ScoreFormat("a saved result", lambda file: file.is_saved, _read_saved),
    "mteb": ScoreFormat(
        "a task result of MTEB",
        lambda file: "mteb_dataset_name" in file.document or (
            isinstance(file.document.get("scores"), dict) and bool({"task_name", "mteb_version"} & file.document.keys())
        ),
        _read_mteb, re.compile(r"(?P<name>ndcg|map|recall|precision|mrr|hit_rate)_at_(?P<k>\d+)"),
    ),
    "sentence-transformers": ScoreFormat(
        "a table of a sentence-transformers evaluator, or the dict that it returns",
        lambda file: file.table[0][:2] == ["epoch", "steps"] or _all(_ST_KEY, file.numbers),
        _read_sentence_transformers, re.compile(_ST_METRIC), _WITH_CUTOFF,
    ),
    "trec_eval": ScoreFormat(
        "the output of trec_eval", _is_trec_eval, _read_trec_eval, re.compile(r"(?P<name>[^@]+)")
    ),
    "ir_measures": ScoreFormat("the output of ir_measures", _is_ir_measures, _read_ir_measures, _ANY),
    "ranx": ScoreFormat("a report of ranx, or the dict of its evaluate", _is_ranx, _read_ranx, _ANY),
    "vespa": ScoreFormat(
        "a table of Vespa's evaluator",
        lambda file: file.table[0][:1] == ["name"] and any(map(re.compile(_ST_METRIC).fullmatch, file.table[0])),
        _read_vespa, re.compile(_ST_METRIC), _WITH_CUTOFF,
    ),
    "mlflow": ScoreFormat(
        "the metrics of MLflow's evaluate", lambda file: any(name.endswith("/mean") for name in file.numbers),
        _read_numbers, re.compile(r"(?P<name>precision|recall|ndcg)_at_(?P<k>\d+)/mean"),
    ),
    "haystack": ScoreFormat(
        "an aggregated report of Haystack", lambda file: file.table[0] == ["metrics", "score"], _read_haystack,
        re.compile(r"(?P<name>ndcg|map|mrr|recall_(?:multi|single)_hit)"),
        {"recall_multi_hit": "recall", "recall_single_hit": "hit_rate"},
    ),
    "hf-evaluate": ScoreFormat(
        "the result of trec_eval in Hugging Face's evaluate",
        lambda file: {"runid", "num_q"} <= file.document.keys(), _read_numbers, _ANY, convention="trectools",
    ),
    "llama_index": ScoreFormat(
        "retrieval results of LlamaIndex",
        lambda file: bool(file.objects) and all(isinstance(each.get("metric_dict"), dict) for each in file.objects),
        _read_llama_index, re.compile(r"(?P<name>hit_rate|mrr|precision|recall|ap|ndcg)"),
    ),
}  # fmt: skip


def read_scores(
    paths: Path | Sequence[Path] | Mapping[str, Source] | Mapping[tuple[str, str], Source],
    *,
    format: str | None = None,  # noqa: A002
) -> Scores:
    """Read reported scores: the numbers of other tools, or of saved results, for a leaderboard.

    Files are recognised by their content: task results of MTEB, tables and dicts of sentence-transformers, output of
    trec_eval and ir_measures, reports of ranx, tables of Vespa and Haystack, metrics of MLflow and Hugging Face's
    evaluate, results of LlamaIndex, and `result.write("a.json")`.

    Parameters
    ----------
    paths : path, sequence of paths or dict
        Files, or folders of them. A dict names the models: `{"bm25": "a.txt"}`, or models and tasks:
        `{("bm25", "covid"): "a.txt"}`; its values may also be lists of files, or dicts that evaluators return.
    format : str, optional
        The tool, if a file could be of several.

    Returns
    -------
    Scores
        One row per number, with the tool and its definition; `leaderboard()` makes a table of models and tasks.

    Raises
    ------
    FileError
        If a file is no score file, or could be of several tools.
    InputError
        If a model has two values of a metric on the same data.

    Examples
    --------
    >>> import json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "SciFact.json")
    >>> scores = {"test": [{"hf_subset": "default", "ndcg_at_10": 0.645, "main_score": 0.645}]}
    >>> with open(path, "w") as file:
    ...     json.dump({"task_name": "SciFact", "mteb_version": "2.26.24", "scores": scores}, file)
    >>> rs.read_scores({"small": path}).leaderboard("ndcg@10")["small"].mean
    0.645
    """
    if format is not None and format not in SCORE_FORMATS:
        raise InputError(unknown_word("format", format, SCORE_FORMATS))
    scores: list[Score] = []
    notes: list[str] = []
    by_name: Mapping[Any, Any] = paths if isinstance(paths, Mapping) else {"": paths}
    if by_name and all(map(_is_value, by_name.values())):
        raise InputTypeError(f"{show(dict(by_name))} has no model; name it: {{'NAME': {{...}}}}")
    for key, several in by_name.items():
        model, task = key if isinstance(key, tuple) else (key, "")
        for path in [several] if isinstance(several, (str, os.PathLike, Mapping)) else several:
            for file in _files(path, notes, format):
                scores += _scores(file, _format(file, format), str(model), str(task))
    return Scores(scores, notes)


def _files(path: Any, notes: list[str], form: str | None) -> Iterator[ScoreFile]:
    """A file, a dict, or the score files of a folder."""
    if isinstance(path, Mapping):
        yield ScoreFile("dict", path)
        return
    name = os.fspath(path)
    if not os.path.isdir(name):
        yield ScoreFile(name)
        return
    inside = sorted(os.path.join(folder, each) for folder, _, names in os.walk(name) for each in names)
    files = [each for each in inside if ending_of(each) in ENDINGS and os.path.basename(each) != _META]
    others, count = [], 0
    for each in files:
        file = ScoreFile(each)
        if form is None and not _matches(file):
            others.append(os.path.relpath(each, name))
            continue
        count += 1
        yield file
    if not count:
        raise FileError(
            name, f"is a folder without score files; there are {some(others)}" if others else "has no score files"
        )
    if others:
        notes.append(f"{name}: {len(others)} files are no score files: {some(others, 3)}")


def _matches(file: ScoreFile) -> list[str]:
    return [name for name, row in SCORE_FORMATS.items() if row.matches(file)]


def _format(file: ScoreFile, form: str | None) -> str:
    """The format of a file, by its content or by its name."""
    if form is not None:
        return form
    names = _matches(file)
    if not names:
        problem = f"has no scores in a form of {listed(SCORE_FORMATS, 'or')}; if it is one of these, say which with "
        raise FileError(file.path, Advice(problem, Hint("format", "mteb")), None if file.path == "dict" else 1)
    if len(names) > 1:
        titles = " or ".join(f"{SCORE_FORMATS[name].title} ({name})" for name in names)
        raise FileError(file.path, Advice(f"could be {titles}; say which with ", Hint("format", names[0])))
    return names[0]


def _scores(file: ScoreFile, tool: str, model: str, task: str) -> list[Score]:
    """The scores of a file, whose models and tasks may have names of their own."""
    row = SCORE_FORMATS[tool]
    try:
        rows = [each for each in row.read(file) if each.value is not None and not math.isnan(each.value)]
    except (AttributeError, KeyError, TypeError, IndexError):
        raise FileError(file.path, f"is not {row.title}, or it is not whole") from None
    if not rows:
        raise FileError(file.path, f"has no scores over all queries, read as {row.title}")
    several = len({each.model for each in rows}) > 1
    out = []
    for each in rows:
        label, definition = _meaning(tool, each.name)
        own = " ".join(filter(None, [model, each.model])) if several else model or each.model or file.stem
        own += f" ({each.variant})" if each.variant else ""
        out.append(Score(
            own, task or each.task, each.split, each.subset, label, float(each.value), tool, each.name,
            each.data, file.path, each.definition or definition,
        ))  # fmt: skip
    return out


@lru_cache(maxsize=4096)
def _meaning(tool: str, name: str) -> tuple[str, Definition | None]:
    """Rankstone's name of a tool's metric and the tool's definition of it, as far as there are any."""
    row = SCORE_FORMATS[tool]
    parts = row.names.fullmatch(name) if row.names else None
    if parts is None:
        return name, None
    word = (row.spellings or {}).get(parts["name"], parts["name"])
    k = parts.groupdict().get("k")
    try:
        metrics = parse(f"{word}@{k}" if k else word)
    except ValueError:
        return name, None
    convention = row.convention or tool
    if len(metrics) > 1 or convention not in conventions:
        return str(metrics[0]) if len(metrics) == 1 else name, None
    return str(metrics[0]), define(metrics[0], convention=convention)
