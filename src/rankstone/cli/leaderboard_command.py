"""The command `leaderboard`, of score files of other tools and of saved results."""

from __future__ import annotations

import argparse
import os

from rankstone.cli.options import Add, form_of, share_output, show
from rankstone.compare.score_files import SCORE_FORMATS, read_scores
from rankstone.compare.scores import DEFINITIONS, INCOMPLETE, ORDERS
from rankstone.results.export import RESULT_FORMATS, write_answer

FORMS = [form for form in RESULT_FORMATS if form != "trec"]  # which has no place for models

# Options that `Scores.leaderboard` takes by the same names.
_OPTIONS = ("tasks", "split", "subset", "tool", "by", "definitions", "incomplete", "confidence", "resamples", "seed")


def describe_leaderboard(add: Add) -> None:
    add("files", metavar="[MODEL[:TASK]=]FILE", nargs="+", help=f"score files or folders: {', '.join(SCORE_FORMATS)}")
    metric = "ndcg@10, or a tool's name; repeatable [default: main_score, or the only one]"
    add("-m", "--metric", dest="metrics", action="append", metavar="METRIC", help=metric)
    add("--task", dest="tasks", action="append", metavar="NAME", help="of some tasks only; repeatable")
    split = "the split, if tasks have several; repeatable: the first that a task has"
    add("--split", action="append", metavar="NAME", help=split)
    add("--subset", metavar="NAME", help="the subset of multilingual tasks [default: mean over all]")
    add("--tool", choices=SCORE_FORMATS, metavar="TOOL", help="scores of this tool only")
    add("--by", choices=ORDERS, help="what models are ranked by [default: mean]")
    mixed = "mixed: scores of different definitions in one column, with a note [default: same]"
    add("--definitions", choices=DEFINITIONS, default="same", help=mixed)
    lacks = "what models without some task do [default: exclude_models]"
    add("--incomplete", choices=INCOMPLETE, default="exclude_models", help=lacks)
    add("--confidence", type=float, default=0.95, metavar="LEVEL", help="of intervals of ranks [default: 0.95]")
    add("--resamples", type=int, default=9999, metavar="N", help="bootstrap samples of tasks [default: 9999]")
    add("--seed", type=int, default=0, metavar="N", help="random seed [default: 0]")
    add("--from-format", dest="format", choices=SCORE_FORMATS, metavar="TOOL", help="whose files, if it is not clear")
    share_output(add, FORMS)


def run_leaderboard(arguments: argparse.Namespace) -> None:
    """Read scores, and print or write the table."""
    form = form_of(arguments.output, arguments.shown, FORMS)
    scores = read_scores(_named(arguments.files), format=arguments.format)
    board = scores.leaderboard(arguments.metrics, **{name: getattr(arguments, name) for name in _OPTIONS})
    if form == "table" and not arguments.output:
        show(board._answer(), arguments)
    else:
        write_answer(board, arguments.output or "-", form, {})


def _named(words: list[str]) -> dict[tuple[str, str], list[str]]:
    """The files by the names of their model and task, which are empty where the files have them."""
    files: dict[tuple[str, str], list[str]] = {}
    for word in words:
        name, equals, path = word.rpartition("=")
        if os.path.exists(word) or not equals:
            name, path = "", word
        model, _, task = name.partition(":")
        files.setdefault((model, task), []).append(path)
    return files
