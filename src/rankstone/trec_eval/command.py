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
from rankstone.trec_eval import lists as files
from rankstone.trec_eval.lists import Lines, Placed, Setup, place, place_lines, prepared, ranked_by
from rankstone.trec_eval.measures import MEASURES, NICKNAMES, BadParameters, Measure, parameters, value_names
from rankstone.trec_eval.preferences import Contradiction, Preferences
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


class Stop(Exception):  # noqa: N818  it says what to do
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
    given: dict[str, str] = field(default_factory=dict)  # a measure's parameters
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
    except Stop as stop:
        sys.stderr.write(f"{stop}\n" if str(stop) else "")
        return stop.code
    except BrokenPipeError:  # whoever reads has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


# -- arguments -----------------------------------------------------------------------------------------------


def _version(text: str) -> int:
    version = text.partition(".")[0]
    if version not in ("9", "10"):
        raise Stop(1, f"trec_eval: --version-like '{text}': choose 9 or 10")
    return int(version)


class Option(NamedTuple):
    """An option: how it is written, what its value is called (empty for a flag), and what it does."""

    flags: tuple[str, ...]
    value: str
    help: str
    field: str = ""  # of `Options`
    read: Callable[[str], object] = lambda _: True


OPTIONS = (
    Option(("-h", "--help"), "", "this text, with the measures named by -m", "help"),
    Option(("-v", "--version"), "", "the version of trec_eval that is followed"),
    Option(("-q", "--query_eval_wanted"), "", "print each query's values too", "each_query"),
    Option(("-m", "--measure"), "name[.params]",
           "a measure, or official (default), all_trec, set, prefs, all_prefs, qrels_jg"),
    Option(("-c", "--complete_rel_info_wanted"), "",
           "average over all judged queries; one without results counts 0", "complete"),
    Option(("-n", "--nosummary"), "", "do not print the values over all queries", "summary", lambda _: False),
    Option(("-l", "--level_for_rel"), "num", "lowest grade that is relevant (1)", "level", files.whole),
    Option(("-M", "--Max_retrieved_per_topic"), "n", "look at the first n documents of a query only", "depth",
           lambda text: max(files.whole(text), 0)),
    Option(("-J", "--Judged_docs_only"), "", "leave out documents that are not judged", "judged_only"),
    Option(("-N", "--Number_docs_in_coll"), "num", "documents in the collection, for utility", "collection",
           files.whole),
    Option(("-R", "--Rel_info_format"), "format", "qrels (default), qrels_jg, prefs or qrels_prefs", "judgments", str),
    Option(("-T", "--Results_format"), "format", "trec_results", "results", str),
    Option(("-Z", "--Zscore"), "file", "print deviations from the means in a file of lines 'qid measure mean stddev'",
           "zscores", str),
    Option(("-D", "--Debug_level"), "num[.qid]", "ignored, but for the query: look at it only", "query",
           lambda text: text.partition(".")[2] or None),
    Option(("-o",), "", "ignored"),
    Option(("--version-like",), "num", "follow trec_eval 9 (9.0.8) or 10 (10.0, the default)", "version", _version),
)  # fmt: skip


def read_options(argv: list[str]) -> Options:
    rows = {flag: option for option in OPTIONS for flag in option.flags}
    short = "".join(flag[1:] + ":" * bool(row.value) for flag, row in rows.items() if flag[1] != "-")
    long = [flag[2:] + "=" * bool(row.value) for flag, row in rows.items() if flag[1] == "-"]
    try:
        pairs, paths = getopt.gnu_getopt(argv, short, [*long, "Output_old_results_format="])
    except getopt.GetoptError as error:
        raise Stop(1, f"trec_eval: {error}\n{USAGE.rstrip()}") from None
    options = Options(paths=paths)
    for name, value in sorted(pairs, key=lambda pair: pair[0] != "--version-like"):  # which measures there are
        row = rows.get(name, rows["-o"])
        if row is rows["-v"]:
            raise Stop(0, f"trec_eval version {'9.0.8' if options.version == 9 else '10.0'} (rankstone's)")
        if row is rows["-m"]:
            _take_measure(options, value)
        elif row.field:
            setattr(options, row.field, row.read(value))
    if options.help:
        _write(_help_text(options))
        raise Stop(0, "")
    if len(paths) != 2:
        raise Stop(1, USAGE.rstrip())
    return options


def _take_measure(options: Options, text: str) -> None:
    name, point, given = text.partition(".")
    if point and not given:
        raise Stop(1, f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{name}'")
    if point:
        options.given.setdefault(name, given)
    known = NICKNAMES.get(name, [name])
    if name not in NICKNAMES and (name not in MEASURES or MEASURES[name].since > options.version):
        raise Stop(1, f"trec_eval: illegal measure '{name}'")
    options.measures += known


def _choose(options: Options) -> list[Chosen]:
    wanted = set(options.measures or NICKNAMES["official"])
    chosen = []
    for name, measure in MEASURES.items():
        if name not in wanted or measure.since > options.version:
            continue
        given = options.given.get(name)
        try:
            params = parameters(measure, given)
        except BadParameters as error:
            raise Stop(2, f"trec_eval: {error}\ntrec_eval: Cannot initialize measure '{name}'") from None
        chosen.append(Chosen(measure, params, value_names(measure, params, given)))
    return chosen


def _help_text(options: Options) -> str:
    lines = [HELP]
    for option in OPTIONS:
        written = f"{', '.join(option.flags)} {option.value}"
        lines.append(f" {written:<32} {option.help}")
    lines += ["", "Measures:"]
    for name, measure in MEASURES.items():
        if measure.since <= options.version and (not options.measures or name in options.measures):
            shown = ",".join(f"{value:g}" for value in measure.params)
            hint = {"": "", "pairs": ".level=gain,..."}.get(measure.form, f".{shown}")
            lines.append(f" {name + hint:<45} {measure.meaning}")
    return "\n".join(lines) + "\n"


# -- steps ---------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """One value of a measure."""

    measure: Measure
    name: str
    values: Any  # one entry a query; None for what is not a query's


class Evaluation(NamedTuple):
    """What there is to print."""

    columns: list[Column]
    queries: list[bytes]
    stop: Stop | None  # why there are no more queries
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
        raise Stop(7, "trec_eval: No queries with both results and relevance info")
    if options.summary:
        _write("".join(_summary_lines(evaluation, options.complete, prefix)))


def evaluate(options: Options) -> Evaluation:
    """Read the files and compute the values."""
    setup = Setup(options.version, options.level, options.depth, options.judged_only, options.collection)
    if options.judgments not in files.FORMATS:
        raise Stop(2, f"trec_eval: Illegal rel_format '{options.judgments}'")
    try:
        chosen = _choose(options)
    except Stop:
        _read(options)  # what is wrong with the files comes first
        raise
    asked = _Asked(chosen, setup)
    (judgments, results, zscores), form = _read(options), files.FORMATS[options.judgments].over
    if form == "qrels":
        placed, lines = place(judgments.query, judgments.item, judgments.grade, results, setup, "item_desc"), None
    else:
        placed, lines = place_lines(judgments, results, setup, "item_asc" if form == "prefs" else "item_desc")
    relevant, run_id = int((judgments.grade > 0).sum()), results.run_id
    del judgments, results  # all that is large
    queries, stop = _evaluated(options, chosen, form, placed, lines)
    columns = _columns(chosen, asked, placed, lines, queries, setup)
    names = [placed.queries[query] for query in queries.tolist()]
    if zscores is not None:
        columns = [_standardized(column, names, zscores) for column in columns]
    return Evaluation(columns, names, stop, len(placed.queries), relevant, run_id)


def _read(options: Options) -> tuple[files.Judgments, files.Results, dict[Any, Any] | None]:
    """What the files hold."""
    comments = options.version >= 10
    try:
        judgments = files.read_judgments(options.paths[0], options.judgments, comments=comments)
        if options.results != "trec_results":
            raise Stop(2, f"trec_eval: Illegal retrieval results format '{options.results}'")
        results = files.read_results(options.paths[1], comments=comments)
        return judgments, results, files.read_zscores(options.zscores) if options.zscores else None
    except OSError as error:
        raise Stop(2, f"trec_eval: cannot read {error.filename}: {error.strerror}") from None
    except FileError as error:
        raise Stop(2, f"trec_eval: {error}") from None


def _evaluated(
    options: Options, chosen: list[Chosen], form: str, placed: Placed, lines: Lines | None
) -> tuple[Ints, Stop | None]:
    """The queries to look at, in the order of their names, up to one that cannot be, and why it cannot."""
    needing = [choice.measure.name for choice in chosen if choice.measure.over]
    for choice in chosen:
        if choice.measure.over and choice.measure.over != form:
            raise Stop(
                4,
                f"trec_eval: {choice.measure.name} needs judgments in the format {choice.measure.over}, not "
                f"{options.judgments}\ntrec_eval: Can't calculate measure '{choice.measure.name}'",
            )
    if form == "qrels_jg" and lines is not None:
        _refuse_repeats(lines, placed)
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
            return np.array(queries, dtype=np.int64), Stop(4, why + cannot)
        queries.append(query)
    return np.array(queries, dtype=np.int64), None


def _refuse_repeats(lines: Lines, placed: Placed) -> None:
    """Stop if one group judges a document twice."""
    keys = np.stack((lines.group, lines.pair))
    _, first, count = np.unique(keys, axis=1, return_index=True, return_counts=True)
    if (count > 1).any():
        line = int(first[np.argmax(count > 1)])
        item = lines.items[line].decode(errors="replace")
        query = placed.queries[int(lines.query[line])].decode(errors="replace")
        raise Stop(2, f"trec_eval.get_qrels: duplicate docs {item} in the judgments of query '{query}'")


class _Asked:
    """What the core is to compute for some measures: known before there is any data."""

    def __init__(self, chosen: list[Chosen], setup: Setup) -> None:
        self.wrong: Stop | None = None
        self.values: dict[str, list[Expression]] = {}
        lists, name = SymbolicLists(graph := Graph(), setup), ""
        try:
            for name, choice in ((choice.measure.name, choice) for choice in chosen if choice.measure.symbolic):
                made = choice.measure.calculate(lists, choice.params)
                self.values[name] = [graph.of(value) for value in made]
        except BadParameters as error:
            self.wrong = Stop(4, f"trec_eval: {error}\ntrec_eval: Can't calculate measure '{name}'")
        self.program = Program([value for values in self.values.values() for value in values], ())

    def answers(self, ranked: Alignment) -> dict[str, list[Floats]]:
        """The values of each list."""
        found, _ = self.program.run(ranked, threads=0)
        size = len(ranked)
        return {name: [np.broadcast_to(found[one], size) for one in values] for name, values in self.values.items()}


def _judged_lists(lines: Lines, queries: Ints, retrieved: Ints) -> tuple[Alignment, Ints]:
    """A list for each group of judgments of some queries, and whose it is."""
    places = np.full(int(lines.query.max()) + 1, -1)
    places[queries] = np.arange(len(queries))
    mine = np.flatnonzero(places[lines.query] >= 0)
    groups = int(lines.group.max()) + 1
    distinct, owner = np.unique(places[lines.query[mine]] * groups + lines.group[mine], return_inverse=True)
    query = distinct // groups
    return ranked_by(owner, lines.rank[mine], lines.grade[mine], retrieved[query]), query


def _columns(
    chosen: list[Chosen], asked: _Asked, placed: Placed, lines: Lines | None, queries: Ints, setup: Setup
) -> list[Column]:
    if not len(queries):
        return []
    if asked.wrong:
        raise asked.wrong
    ranked, order = placed.ranked, placed.at[queries]
    if len(queries) < len(ranked):
        ranked, order = ranked.only(order), np.arange(len(queries))
    missing = ~ranked.present[order]
    # A query without results has, for -c, one document that nobody judged.
    ranked = ranked.replace(retrieved=np.maximum(ranked.retrieved, 1))
    over = {choice.measure.over for choice in chosen}
    state: Any = None
    found: dict[str, list[Any]] = {}
    if "qrels" in over:
        state = prepared(ranked, setup)
        found |= asked.answers(state)
    elif lines is not None and "qrels_jg" in over:
        groups, query = _judged_lists(lines, queries, ranked.retrieved[order])
        several = asked.answers(prepared(groups, setup))
        sizes = np.bincount(query)
        found |= {name: [np.bincount(query, one) / sizes for one in values] for name, values in several.items()}
    elif lines is not None and "prefs" in over:
        try:
            state = Preferences(lines, queries, setup)
        except Contradiction as error:
            raise Stop(4, f"trec_eval.form_prefs_counts: {error}") from None
    columns = []
    for choice in chosen:
        measure = choice.measure
        values = found[measure.name] if measure.symbolic else measure.calculate(state, choice.params)
        for name, one in zip(choice.names, values, strict=True):
            if measure.over == "qrels":
                one = [one[at] for at in order.tolist()] if measure.kind == "text" else one[order]
            columns.append(Column(measure, name, _without_results(name, one, missing)))
    return columns


def _without_results(name: str, values: Any, missing: Bools) -> Any:
    """A query without results has no documents, whatever stands in for them. Not under a name with parameters."""
    if name in ("num_ret", "utility", "rbp_resid") or name.startswith("unj"):
        return np.where(missing, 0.0, values)
    if name == "relstring":
        return ["" if gone else text for gone, text in zip(missing.tolist(), values, strict=True)]
    return values


def _standardized(column: Column, queries: list[bytes], zscores: dict[Any, Any]) -> Column:
    if column.values is None or column.measure.kind == "text":
        return column
    known = [zscores.get(query, {}).get(column.name.encode()) for query in queries]
    return column._replace(values=np.array(list(map(_zscore, column.values.tolist(), known))))


def _zscore(value: float, known: tuple[float, float] | None) -> float:
    if known is None:
        return MISSING_ZSCORE
    mean, deviation = known
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
                total = _over_queries(measure, column.values, queries)
            yield f"{prefix}{column.name:<22}\tall\t{_shown(np.array([total]), measure, prefix)[0]}\n"


def _over_queries(measure: Measure, values: Floats, queries: int) -> float:
    total = float(np.add.accumulate(np.concatenate(([0.0], values)))[-1])
    if measure.mean == "sum":
        return total
    if measure.mean == "geometric":
        return math.exp((total + (queries - len(values)) * math.log(LOWEST_GEOMETRIC)) / queries)
    return total / queries


def _write(text: str) -> None:
    """Bytes that are no text come out as they came in."""
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    raw.write(text.encode(errors="surrogateescape"))
    raw.flush()
