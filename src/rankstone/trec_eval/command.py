"""The command: its arguments, its steps and what it prints."""

from __future__ import annotations

import getopt
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats, Ints
from rankstone.conventions.averaging import LOWEST_GEOMETRIC
from rankstone.errors import FileError
from rankstone.program.core import Program
from rankstone.program.graph import Expression, Graph
from rankstone.trec_eval import ranked_lists as files
from rankstone.trec_eval.measures import MEASURES, NICKNAMES, Measure, MeasureParameterError, parameters, value_names
from rankstone.trec_eval.preferences import ContradictionError, Preferences
from rankstone.trec_eval.ranked_lists import Lines, Placed, Setup, place, place_lines, prepared, ranked_by
from rankstone.trec_eval.symbolic import SymbolicLists

MISSING_ZSCORE = -1000000.0

USAGE = """Usage: trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file
   -h: Give full help information, including other options
   -q: In addition to summary evaluation, give evaluation for each query
   -m: calculate and print measures indicated by 'measure'
       ('-m all_trec' prints all qrels measures, '-m official' is default)
"""

HELP = """rankstone trec_eval [options] rel_info_file results_file

Measures the results against the relevance information, and prints what trec_eval prints.
results_file may be - for standard input.
"""


class ExitError(Exception):
    """Ends the command with a message and an exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False, repr=False)
class Options:
    """The command line."""

    version: int = 10
    help: bool = False
    each_query: bool = False
    complete: bool = False
    summary: bool = True
    measures: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)  # a measure's parameters
    level: int = 1
    depth: int | None = None
    judged_only: bool = False
    collection: int = 0
    judgments: str = "qrels"
    results: str = "trec_results"
    zscores: str | None = None
    query: str | None = None
    paths: list[str] = field(default_factory=list)


class Chosen(NamedTuple):
    """A measure to be printed."""

    measure: Measure
    params: tuple[Any, ...]
    names: list[str]


def main(argv: list[str]) -> int:
    """Run the command; returns its exit code."""
    try:
        _run(read_options(argv))
    except ExitError as stop:
        sys.stderr.write(f"{stop}\n" if str(stop) else "")
        return stop.code
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        sys.stderr.write(f"trec_eval: {error.filename or 'standard output'}: {error.strerror}\n")
        return 1
    return 0


# -- arguments -----------------------------------------------------------------------------------------------


def _version(text: str) -> int:
    version = text.partition(".")[0]
    if version not in ("9", "10"):
        raise ExitError(1, f"trec_eval: --version-like '{text}': choose 9 or 10")
    return int(version)


class CommandOption(NamedTuple):
    """An option: its flags, the name of its value (empty for a flag), and its help."""

    flags: tuple[str, ...]
    value: str
    help: str
    field: str = ""  # of `Options`
    read: Callable[[str], object] = lambda _: True


OPTIONS = (
    CommandOption(("-h", "--help"), "", "this text, with the measures named by -m", "help"),
    CommandOption(("-v", "--version"), "", "the version of trec_eval that is followed"),
    CommandOption(("-q", "--query_eval_wanted"), "", "print each query's values too", "each_query"),
    CommandOption(("-m", "--measure"), "name[.params]",
           "a measure, or official (default), all_trec, set, prefs, all_prefs, qrels_jg"),
    CommandOption(("-c", "--complete_rel_info_wanted"), "",
           "average over all judged queries; one without results counts 0", "complete"),
    CommandOption(("-n", "--nosummary"), "", "do not print the values over all queries", "summary", lambda _: False),
    CommandOption(("-l", "--level_for_rel"), "num", "lowest grade that is relevant (1)", "level", files.whole),
    CommandOption(("-M", "--Max_retrieved_per_topic"), "n", "look at the first n documents of a query only", "depth",
           lambda text: max(files.whole(text), 0)),
    CommandOption(("-J", "--Judged_docs_only"), "", "leave out documents that are not judged", "judged_only"),
    CommandOption(("-N", "--Number_docs_in_coll"), "num", "documents in the collection, for utility", "collection",
           files.whole),
    CommandOption(("-R", "--Rel_info_format"), "format", "qrels (default), qrels_jg, prefs or qrels_prefs", "judgments",
           str),
    CommandOption(("-T", "--Results_format"), "format", "trec_results", "results", str),
    CommandOption(("-Z", "--Zscore"), "file",
           "print deviations from the means in a file of lines 'qid measure mean stddev'", "zscores", str),
    CommandOption(("-D", "--Debug_level"), "num[.qid]", "ignored, but for the query: look at it only", "query",
           lambda text: text.partition(".")[2] or None),
    CommandOption(("-o",), "", "ignored"),
    CommandOption(("--version-like",), "num", "reproduce trec_eval 9 (9.0.8) or 10 (10.0, the default)", "version",
           _version),
)  # fmt: skip


def read_options(argv: list[str]) -> Options:
    rows = {flag: option for option in OPTIONS for flag in option.flags}
    short = "".join(flag[1:] + ":" * bool(row.value) for flag, row in rows.items() if flag[1] != "-")
    long = [flag[2:] + "=" * bool(row.value) for flag, row in rows.items() if flag[1] == "-"]
    try:
        pairs, paths = getopt.gnu_getopt(argv, short, [*long, "Output_old_results_format="])
    except getopt.GetoptError as error:
        raise ExitError(1, f"trec_eval: {error}\n{USAGE.rstrip()}") from None
    options = Options(paths=paths)
    for name, value in sorted(pairs, key=lambda pair: pair[0] != "--version-like"):  # it determines the measures
        row = rows.get(name, rows["-o"])
        if row is rows["-v"]:
            raise ExitError(0, f"trec_eval version {'9.0.8' if options.version == 9 else '10.0'} (rankstone's)")
        if row is rows["-m"]:
            _take_measure(options, value)
        elif row.field:
            setattr(options, row.field, row.read(value))
    if options.help:
        _write(_help_text(options))
        raise ExitError(0, "")
    if len(paths) != 2:
        raise ExitError(1, USAGE.rstrip())
    return options


def _take_measure(options: Options, text: str) -> None:
    name, point, params = text.partition(".")
    if point and not params:
        raise ExitError(1, f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{name}'")
    if point:
        options.parameters.setdefault(name, params)
    names = NICKNAMES.get(name, [name])
    if name not in NICKNAMES and (name not in MEASURES or MEASURES[name].since > options.version):
        raise ExitError(1, f"trec_eval: illegal measure '{name}'")
    options.measures += names


def _choose(options: Options) -> list[Chosen]:
    wanted = set(options.measures or NICKNAMES["official"])
    chosen = []
    for name, measure in MEASURES.items():
        if name not in wanted or measure.since > options.version:
            continue
        text = options.parameters.get(name)
        try:
            params = parameters(measure, text)
        except MeasureParameterError as error:
            raise ExitError(2, f"trec_eval: {error}\ntrec_eval: Cannot initialize measure '{name}'") from None
        chosen.append(Chosen(measure, params, value_names(measure, params, text)))
    return chosen


def _help_text(options: Options) -> str:
    lines = [HELP]
    for option in OPTIONS:
        written = f"{', '.join(option.flags)} {option.value}"
        lines.append(f" {written:<32} {option.help}")
    lines += ["", "Measures:"]
    for name, measure in MEASURES.items():
        if measure.since <= options.version and (not options.measures or name in options.measures):
            defaults = ",".join(f"{value:g}" for value in measure.params)
            hint = {"": "", "pairs": ".level=gain,..."}.get(measure.form, f".{defaults}")
            lines.append(f" {name + hint:<45} {measure.meaning}")
    return "\n".join(lines) + "\n"


# -- steps ---------------------------------------------------------------------------------------------------


class OutputColumn(NamedTuple):
    """One value of a measure."""

    measure: Measure
    name: str
    values: Any  # one entry per query; None for values of the whole run


class Evaluation(NamedTuple):
    """The values to print."""

    columns: list[OutputColumn]
    queries: list[bytes]
    stop: ExitError | None  # error after these queries, if any
    judged: int  # queries
    relevant: int  # judgments above 0
    run_id: bytes


def _run(options: Options) -> None:
    evaluation = evaluate(options)
    prefix = "Z" if options.zscores else ""
    if options.each_query:
        _write("".join(_query_lines(evaluation, prefix)))
    if evaluation.stop is not None:
        raise evaluation.stop
    if not evaluation.queries:
        raise ExitError(7, "trec_eval: No queries with both results and relevance info")
    if options.summary:
        _write("".join(_summary_lines(evaluation, options.complete, prefix)))


def evaluate(options: Options) -> Evaluation:
    """Read the files and compute the values."""
    setup = Setup(options.version, options.level, options.depth, options.judged_only, options.collection)
    if options.judgments not in files.FORMATS:
        raise ExitError(2, f"trec_eval: Illegal rel_format '{options.judgments}'")
    try:
        chosen = _choose(options)
    except ExitError:
        _read(options)  # errors of the files come first
        raise
    compiled = CompiledMeasures(chosen, setup)
    (judgments, results, zscores), form = _read(options), files.FORMATS[options.judgments].over
    if form == "qrels":
        placed, lines = place(judgments.query, judgments.item, judgments.grade, results, setup, "item_desc"), None
    else:
        placed, lines = place_lines(judgments, results, setup, "item_asc" if form == "prefs" else "item_desc")
    relevant, run_id = int((judgments.grade > 0).sum()), results.run_id
    del judgments, results  # all that is large
    queries, stop = _evaluated(options, chosen, form, placed, lines)
    columns = _columns(chosen, compiled, placed, lines, queries, setup)
    names = [placed.queries[query] for query in queries.tolist()]
    if zscores is not None:
        columns = [_standardized(column, names, zscores) for column in columns]
    return Evaluation(columns, names, stop, len(placed.queries), relevant, run_id)


def _read(options: Options) -> tuple[files.Judgments, files.Results, dict[Any, Any] | None]:
    """Read the files."""
    comments = options.version >= 10
    try:
        judgments = files.read_judgments(options.paths[0], options.judgments, comments=comments)
        if options.results != "trec_results":
            raise ExitError(2, f"trec_eval: Illegal retrieval results format '{options.results}'")
        results = files.read_results(options.paths[1], comments=comments)
        return judgments, results, files.read_zscores(options.zscores) if options.zscores else None
    except OSError as error:
        raise ExitError(2, f"trec_eval: cannot read {error.filename or 'standard input'}: {error.strerror}") from None
    except FileError as error:
        raise ExitError(2, f"trec_eval: {error}") from None


def _evaluated(
    options: Options, chosen: list[Chosen], form: str, placed: Placed, lines: Lines | None
) -> tuple[Ints, ExitError | None]:
    """The queries to evaluate, in the order of their names, up to the first with an error, and that error."""
    needing = [choice.measure.name for choice in chosen if choice.measure.over]
    for choice in chosen:
        if choice.measure.over and choice.measure.over != form:
            raise ExitError(
                4,
                f"trec_eval: {choice.measure.name} needs judgments in the format {choice.measure.over}, not "
                f"{options.judgments}\ntrec_eval: Can't calculate measure '{choice.measure.name}'",
            )
    if form == "qrels_jg" and lines is not None:
        _check_repeats(lines, placed)
    wanted = None if options.query is None else os.fsencode(options.query)
    queries: list[int] = []
    present = placed.ranked.present[placed.at].tolist()
    for query, name in enumerate(placed.queries):
        if wanted not in (None, name):
            continue
        shown = name.decode(errors="replace")
        why = ""
        if not present[query]:
            if options.version < 10:
                continue
            if not options.complete:
                why = f"trec_eval: query '{shown}' is judged but has no results; use -c to count it as 0"
        elif needing and query in placed.returned_twice:
            item = placed.returned_twice[query].decode(errors="replace")
            why = f"trec_eval.form_res_qrels: duplicate docs {item} in the results of query '{shown}'"
        if not why and needing and form == "qrels" and query in placed.judged_twice:
            why = f"trec_eval.form_res_rels: duplicate docs in the judgments of query '{shown}'"
        if why:
            cannot = f"\ntrec_eval: Can't calculate measure '{needing[0]}'" if needing else ""
            return np.array(queries, dtype=np.int64), ExitError(4, why + cannot)
        queries.append(query)
    return np.array(queries, dtype=np.int64), None


def _check_repeats(lines: Lines, placed: Placed) -> None:
    """Stop if one group judges a document twice."""
    keys = np.stack((lines.group, lines.pair))
    _, first, count = np.unique(keys, axis=1, return_index=True, return_counts=True)
    if (count > 1).any():
        line = int(first[np.argmax(count > 1)])
        item = lines.items[line].decode(errors="replace")
        query = placed.queries[int(lines.query[line])].decode(errors="replace")
        raise ExitError(2, f"trec_eval.get_qrels: duplicate docs {item} in the judgments of query '{query}'")


class CompiledMeasures:
    """The program of the measures, compiled before the data is read."""

    def __init__(self, chosen: list[Chosen], setup: Setup) -> None:
        self.error: ExitError | None = None
        self.values: dict[str, list[Expression]] = {}
        lists, name = SymbolicLists(graph := Graph(), setup), ""
        try:
            for name, choice in ((choice.measure.name, choice) for choice in chosen if choice.measure.symbolic):
                made = choice.measure.calculate(lists, choice.params)
                self.values[name] = [graph.of(value) for value in made]
        except MeasureParameterError as error:
            self.error = ExitError(4, f"trec_eval: {error}\ntrec_eval: Can't calculate measure '{name}'")
        self.program = Program([value for values in self.values.values() for value in values], ())

    def answers(self, ranked: Alignment) -> dict[str, list[Floats]]:
        """The values of each list."""
        answers, _ = self.program.run(ranked, threads=0)
        size = len(ranked)
        return {
            name: [np.broadcast_to(answers[value], size) for value in values] for name, values in self.values.items()
        }


def _judged_lists(lines: Lines, queries: Ints, retrieved: Ints) -> tuple[Alignment, Ints]:
    """One list per judgment group of some queries, and its query."""
    places = np.full(int(lines.query.max()) + 1, -1)
    places[queries] = np.arange(len(queries))
    mine = np.flatnonzero(places[lines.query] >= 0)
    groups = int(lines.group.max()) + 1
    distinct, owner = np.unique(places[lines.query[mine]] * groups + lines.group[mine], return_inverse=True)
    query = distinct // groups
    return ranked_by(owner, lines.rank[mine], lines.grade[mine], retrieved[query]), query


def _columns(
    chosen: list[Chosen], compiled: CompiledMeasures, placed: Placed, lines: Lines | None, queries: Ints, setup: Setup
) -> list[OutputColumn]:
    if not len(queries):
        return []
    if compiled.error:
        raise compiled.error
    ranked, order = placed.ranked, placed.at[queries]
    if len(queries) < len(ranked):
        ranked, order = ranked.only(order), np.arange(len(queries))
    missing = ~ranked.present[order]
    # With -c, a query without results has one unjudged document.
    ranked = ranked.replace(retrieved=np.maximum(ranked.retrieved, 1))
    over = {choice.measure.over for choice in chosen}
    state: Any = None
    by_name: dict[str, list[Any]] = {}
    if "qrels" in over:
        state = prepared(ranked, setup)
        by_name |= compiled.answers(state)
    elif lines is not None and "qrels_jg" in over:
        groups, query = _judged_lists(lines, queries, ranked.retrieved[order])
        several = compiled.answers(prepared(groups, setup))
        sizes = np.bincount(query)
        by_name |= {name: [np.bincount(query, value) / sizes for value in values] for name, values in several.items()}
    elif lines is not None and "prefs" in over:
        try:
            state = Preferences(lines, queries, setup)
        except ContradictionError as error:
            raise ExitError(4, f"trec_eval.form_prefs_counts: {error}") from None
    columns = []
    for choice in chosen:
        measure = choice.measure
        values = by_name[measure.name] if measure.symbolic else measure.calculate(state, choice.params)
        for name, one in zip(choice.names, values, strict=True):
            if measure.over == "qrels":
                one = [one[at] for at in order.tolist()] if measure.kind == "text" else one[order]
            columns.append(OutputColumn(measure, name, _without_results(name, one, missing)))
    return columns


def _without_results(name: str, values: Any, missing: Bools) -> Any:
    """Counts of a query without results are 0. Not under a name with parameters."""
    if name in ("num_ret", "utility", "rbp_resid") or name.startswith("unj"):
        return np.where(missing, 0.0, values)
    if name == "relstring":
        return ["" if gone else text for gone, text in zip(missing.tolist(), values, strict=True)]
    return values


def _standardized(column: OutputColumn, queries: list[bytes], zscores: dict[Any, Any]) -> OutputColumn:
    if column.values is None or column.measure.kind == "text":
        return column
    stats = [zscores.get(query, {}).get(column.name.encode()) for query in queries]
    return column._replace(values=np.array(list(map(_zscore, column.values.tolist(), stats))))


def _zscore(value: float, stats: tuple[float, float] | None) -> float:
    if stats is None:
        return MISSING_ZSCORE
    mean, deviation = stats
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING_ZSCORE


# -- print ---------------------------------------------------------------------------------------------------


def _query_lines(evaluation: Evaluation, prefix: str) -> Iterator[str]:
    columns = [
        (f"{'' if measure.kind == 'text' else prefix}{name:<22}\t", _shown(values, measure, prefix))
        for measure, name, values in evaluation.columns
        if measure.single
    ]
    for at, query in enumerate(evaluation.queries):
        middle = query.decode(errors="surrogateescape") + "\t"
        yield from (f"{start}{middle}{shown[at]}\n" for start, shown in columns)


def _shown(values: Any, measure: Measure, prefix: str) -> list[str]:
    if measure.kind == "text":
        return [f"'{value}'" for value in values]
    if measure.kind == "count" and not prefix:
        return [str(int(value)) for value in values.tolist()]
    return ["  -nan" if math.isnan(value) else f"{value:6.4f}" for value in values.tolist()]  # 0 / 0 has a sign in C


def _summary_lines(evaluation: Evaluation, complete: bool, prefix: str) -> Iterator[str]:
    queries = evaluation.judged if complete else len(evaluation.queries)
    for column in evaluation.columns:
        measure = column.measure
        if measure.name == "runid":
            yield f"{'runid':<22}\tall\t{evaluation.run_id.decode(errors='surrogateescape')}\n"
        elif measure.kind != "text":
            if measure.name == "num_q":
                total = float(queries)
            elif measure.name == "num_rel" and complete:
                total = float(evaluation.relevant)  # whatever -l says
            else:
                total = over_queries(measure, column.values, queries)
            yield f"{prefix}{column.name:<22}\tall\t{_shown(np.array([total]), measure, prefix)[0]}\n"


def over_queries(measure: Measure, values: Floats, queries: int) -> float:
    total = float(np.add.accumulate(np.concatenate(([0.0], values)))[-1])
    if measure.mean == "sum":
        return total
    if measure.mean == "geometric":
        return math.exp((total + (queries - len(values)) * math.log(LOWEST_GEOMETRIC)) / queries)
    return total / queries


def _write(text: str) -> None:
    """Invalid UTF-8 is written unchanged."""
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    raw.write(text.encode(errors="surrogateescape"))
    raw.flush()
