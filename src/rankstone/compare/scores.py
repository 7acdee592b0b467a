"""Reported scores of models on tasks, and the leaderboard over tasks: means, Borda counts and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.annotations import Floats
from rankstone.errors import Advice, Hint, InputError, some
from rankstone.metrics.declaration import text_parts, unknown_word
from rankstone.metrics.registry import Metric, as_tuple, parse
from rankstone.results.answer import Answer, Records, number
from rankstone.results.definition import Definition
from rankstone.statistics.intervals import NOISE
from rankstone.statistics.rank_aggregation import borda_count, descending_ranks, rank_interval
from rankstone.statistics.student_t import choice

if TYPE_CHECKING:
    from rankstone.typing import Metrics

MAIN = "main_score"  # what MTEB calls the metric that a task is ranked by
DEFINITIONS = ("same", "mixed")
INCOMPLETE = ("exclude_models", "exclude_tasks", "error")
ORDERS = ("mean", "borda")
_FEW_TASKS = 10


@dataclass(frozen=True)
class Score:
    """One number that a tool reported.

    Attributes
    ----------
    model, task, split, subset : str
        Whose score it is, and of which data; empty where the file does not say so.
    metric : str
        Name of the metric: rankstone's if the tool's name is a spelling of one, else the tool's.
    value : float
        The score.
    tool, name : str
        The tool that reported it, and the tool's name of the metric.
    data : str
        Revision or digest of the data, where the file has it.
    path : str
        The file.
    definition : Definition or None
        What the number means; None if no convention of rankstone has the tool's definition.
    """

    model: str
    task: str
    split: str
    subset: str
    metric: str
    value: float
    tool: str
    name: str
    data: str
    path: str
    definition: Definition | None

    @property
    def place(self) -> tuple[str, ...]:
        """What can have one score only."""
        return self.model, self.task, self.split, self.subset, self.metric, self.tool

    def same_definition(self, other: Score) -> bool:
        """Whether the two numbers have one definition; tools without a convention agree with themselves only.

        Parameters
        ----------
        other : Score
            The score to compare with.
        """
        if self.definition is None or other.definition is None:
            return self.definition is other.definition and self.tool == other.tool
        return self.definition.formula == other.definition.formula and not self.definition.differences(other.definition)


class Scores(Records[Score]):
    """Reported scores in a long table: one row per model, task, split, subset and metric. `rs.read_scores` reads them.

    Attributes
    ----------
    notes : list of str
        What was not read, and why.
    """

    _names = tuple(name for name in Score.__dataclass_fields__ if name != "definition")

    def __init__(self, scores: Iterable[Score], notes: Sequence[str] = ()) -> None:
        self._records, self.notes = tuple(scores), list(notes)
        first: dict[tuple[str, ...], Score] = {}
        for score in self:
            other = first.setdefault(score.place, score)
            if other is not score:
                where = " ".join(filter(None, (score.task, score.split, score.subset)))
                raise InputError(
                    f"{score.model!r} has two values of {score.metric}{where and f' on {where}'}: {other.value!r} in "
                    f"{other.path} and {score.value!r} in {score.path}; read one of them, or name their models: "
                    f"{{'NAME': {score.path!r}}}, or NAME=FILE in the command"
                )

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(score.model for score in self))

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks."""
        return list(dict.fromkeys(score.task for score in self))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(dict.fromkeys(score.metric for score in self))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"scores": [{name: getattr(score, name) for name in self._names} for score in self], "notes": self.notes}

    def _answer(self) -> Answer:
        """The number of metrics per model, task, split and subset."""
        counts: dict[tuple[str, ...], int] = {}
        for score in self:
            key = score.model, score.task, score.split, score.subset, score.tool
            counts[key] = counts.get(key, 0) + 1
        table = [
            ["model", "task", "split", "subset", "tool", "metrics"],
            *([*key, str(n)] for key, n in counts.items()),
        ]
        return Answer(table, notes=self.notes, align="<<<<<", fixed=2)

    def leaderboard(
        self,
        metrics: Metrics | None = None,
        *,
        tasks: Sequence[str] | None = None,
        split: str | Sequence[str] | None = None,
        subset: str | None = None,
        tool: str | None = None,
        by: str | None = None,
        definitions: str = "same",
        incomplete: str = "exclude_models",
        confidence: float = 0.95,
        resamples: int = 9999,
        seed: int = 0,
    ) -> TaskLeaderboard:
        """Models in order of their mean over tasks, with Borda counts and intervals of the ranks.

        Parameters
        ----------
        metrics : str, Metric or list, optional
            The metric, by rankstone's or the tool's name. By default MTEB's main score, or the only metric. Several
            metrics have no mean; models are then ranked by the Borda count over all columns.
        tasks : sequence of str, optional
            The tasks; by default all of them.
        split : str or sequence of str, optional
            The split, if tasks have several; of several names, the first that a task has.
        subset : str, optional
            The subset of multilingual tasks; by default the mean over all of them, as MTEB has it.
        tool : str, optional
            Use the scores of this tool only.
        by : {"mean", "borda"}, optional
            What models are ranked by; "mean" by default.
        definitions : {"same", "mixed"}, default "same"
            Whether scores of one metric with different definitions are an error, or share a column with a note.
        incomplete : {"exclude_models", "exclude_tasks", "error"}, default "exclude_models"
            Models without a score on some task have no mean and no rank, tasks that some model lacks are left out, or
            either is an error.
        confidence : float, default 0.95
            Confidence level of the intervals of ranks.
        resamples : int, default 9999
            Bootstrap samples of the tasks.
        seed : int, default 0
            Random seed.

        Returns
        -------
        TaskLeaderboard

        Raises
        ------
        InputError
            If scores have different definitions, a task has several splits, or no model has all tasks.
        """
        choice(definitions, "definitions", DEFINITIONS)
        choice(incomplete, "incomplete", INCOMPLETE)
        labels = self._labels(metrics)
        order = choice(by or ("mean" if len(labels) == 1 else "borda"), "by", ORDERS)
        if order == "mean" and len(labels) > 1:
            raise InputError(
                Advice(f"{some(labels)} have no common mean; rank by one of them, or ", Hint("by", "borda"))
            )
        scores = [score for score in self if score.metric in labels]
        for field, wish in (("task", tasks), ("subset", subset), ("tool", tool)):
            scores = _only(scores, field, wish)
        scores, notes = _of_splits(scores, split)
        notes += _check_definitions(scores, labels, definitions)
        cells = _Cells(scores, labels)
        cells.select(incomplete)
        entries, said = _entries(cells, labels, order, confidence, resamples, seed)
        meanings = [f"{label}: as {score.tool} defines it" if score.definition is None else score.definition.cite
                    for label in labels for score in scores if score.metric == label]  # fmt: skip
        return TaskLeaderboard(labels, entries, [*said, *notes, *self.notes], list(dict.fromkeys(meanings)))

    def _labels(self, metrics: Metrics | None) -> list[str]:
        """The metrics that are meant."""
        present = self.metrics
        if metrics is None:
            if MAIN not in present and len(present) > 1:
                raise InputError(
                    Advice(f"there are {len(present)} metrics ({some(present)}); choose with ", Hint("metrics"))
                )
            return [MAIN] if MAIN in present else present
        labels: list[str] = []
        for text in (part.strip() for metric in as_tuple(metrics) for part in text_parts(str(metric))):
            named = {score.metric for score in self if score.name == text}
            if text in present or len(named) == 1:
                labels += [text] if text in present else named
            elif named:
                raise InputError(f"{text!r} is {some(sorted(named))} in these files; choose one of them")
            else:
                labels += map(str, parse(text))
        for label in labels:
            if label not in present:
                raise InputError(unknown_word("metric of these files", label, present))
        return list(dict.fromkeys(labels))


def _only(scores: list[Score], field: str, wish: str | Sequence[str] | None) -> list[Score]:
    """The scores of some tasks, of a subset or of a tool."""
    if wish is None:
        return scores
    present = {getattr(score, field) for score in scores}
    names = [wish] if isinstance(wish, str) else list(wish)
    for name in names:
        if name not in present:
            raise InputError(unknown_word(field, name, sorted(present)))
    return [score for score in scores if getattr(score, field) in names]


def _of_splits(scores: list[Score], wish: str | Sequence[str] | None) -> tuple[list[Score], list[str]]:
    """The scores of one split per task, and those whose files do not name it."""
    splits: dict[str, list[str]] = {}
    for score in scores:
        splits.setdefault(score.task, [])
        if score.split and score.split not in splits[score.task]:
            splits[score.task].append(score.split)
    names = [] if wish is None else [wish] if isinstance(wish, str) else list(wish)
    chosen: dict[str, str] = {}
    for task, present in splits.items():
        if wish is None and len(present) > 1:
            raise InputError(Advice(f"{task} has the splits {some(present)}; choose with ", Hint("split", present[0])))
        matches = [name for name in names if name in present] if names and present else present or [""]
        if matches:
            chosen[task] = matches[0]
    if not chosen:
        raise InputError(
            unknown_word("split", names[0], dict.fromkeys(name for each in splits.values() for name in each))
        )
    lacking = [task for task in splits if task not in chosen]
    notes = [f"left out, without the split {' or '.join(names)}: {some(lacking)}"] if lacking else []
    return [score for score in scores if score.task in chosen and score.split in ("", chosen[score.task])], notes


def _check_definitions(scores: Sequence[Score], labels: Sequence[str], definitions: str) -> list[str]:
    """Notes on metrics that have several definitions, if that is allowed."""
    notes = []
    for label in labels:
        kinds: list[Score] = []
        for score in scores:
            if score.metric == label and not any(score.same_definition(other) for other in kinds):
                kinds.append(score)
        if len(kinds) > 1 and definitions == "same":
            one, two, *_ = kinds
            several = one.tool != two.tool
            remedy = Advice("choose with ", Hint("tool", one.tool)) if several else "read files of one definition"
            words = (
                f"{label} has {len(kinds)} definitions: {_described(one)}; {_described(two)}. {_difference(one, two)}; "
            )
            raise InputError(Advice(words, remedy, ", or put them in one column with ", Hint("definitions", "mixed")))
        if len(kinds) > 1:
            notes.append(f"{label} has {len(kinds)} definitions: {'; '.join(map(_described, kinds))}")
    return notes


def _described(score: Score) -> str:
    meaning = f" (convention {score.definition.convention}: {score.definition.formula})" if score.definition else ""
    return f"{score.name} of {score.tool}{meaning} in {score.path}"


def _difference(one: Score, two: Score) -> str:
    """Where two definitions differ, as far as that can be said."""
    if one.definition is None or two.definition is None:
        tools = dict.fromkeys(score.tool for score in (one, two) if score.definition is None)
        return f"No convention of rankstone has this metric of {' and '.join(tools)}"
    choices = one.definition.differences(two.definition)
    pairs = (f"{name} ({ours!r} and {theirs!r})" for name, (ours, theirs) in choices.items())
    return f"They differ in {', '.join(pairs) or 'the formula'}"


class _Cells:
    """The values of models in columns, each a metric on a task; a mean over subsets where a task has several."""

    def __init__(self, scores: Sequence[Score], labels: Sequence[str]) -> None:
        self.models = list(dict.fromkeys(score.model for score in scores))
        subsets: dict[tuple[str, str], list[str]] = {}
        values: dict[tuple[str, str, str, str], float] = {}
        revisions: dict[str, set[str]] = {}
        for score in scores:
            subsets.setdefault((score.task, score.metric), []).append(score.subset)
            cell = score.model, score.task, score.metric, score.subset
            if cell in values:
                raise InputError(Advice(
                    f"{score.model!r} has {score.metric} of several tools on {score.task or 'one task'}; choose with ",
                    Hint("tool", score.tool),
                ))  # fmt: skip
            values[cell] = score.value
            revisions.setdefault(score.task, set()).add(score.data)
        self.columns = sorted(subsets, key=lambda column: (labels.index(column[1]),))
        self.subsets = {column: list(dict.fromkeys(several)) for column, several in subsets.items()}
        self.splits = {score.task: score.split for score in sorted(scores, key=lambda score: score.split)}
        self.revised = [task for task, several in revisions.items() if len(several - {""}) > 1]
        self.notes: list[str] = []
        self._scored = values.keys()
        self.values = np.array([
            [_mean([values.get((model, *column, subset), math.nan) for subset in self.subsets[column]])
             for column in self.columns] for model in self.models
        ]).reshape(len(self.models), len(self.columns))  # fmt: skip

    def select(self, incomplete: str) -> None:
        """Leave out what has no value in some column, or raise."""
        absent = np.isnan(self.values)
        self.complete = ~absent.any(axis=1)
        if self.complete.all():
            return
        lacks = {
            model: [self._absent(model, column) for column, gone in zip(self.columns, row, strict=True) if gone]
            for model, row in zip(self.models, absent, strict=True)
            if row.any()
        }
        words = "; ".join(f"{model} lacks {some(columns, 3)}" for model, columns in lacks.items())
        remedy = Advice(
            "; leave out tasks with ", Hint("incomplete", "exclude_tasks"), ", or choose with ", Hint("tasks")
        )
        if incomplete == "error":
            raise InputError(Advice(f"not all models have all tasks: {words}", remedy))
        if incomplete == "exclude_tasks":
            whole = ~absent.any(axis=0)
            if not whole.any():
                raise InputError(f"no task has a score of each model: {words}; read fewer models")
            dropped = [self.named(column) for column, inside in zip(self.columns, whole, strict=True) if not inside]
            self.notes.append(f"left out, not of all models: {', '.join(dropped)}")
            self.columns = [column for column, inside in zip(self.columns, whole, strict=True) if inside]
            self.values = self.values[:, whole]
            self.complete = np.ones(len(self.models), dtype=bool)
            return
        if not self.complete.any():
            raise InputError(Advice(f"no model has all tasks: {words}", remedy))
        self.notes.append(f"no mean and no rank without all tasks: {words}")

    def _absent(self, model: str, column: tuple[str, str]) -> str:
        """What a model lacks: a column, or some subsets of it."""
        subsets = [subset for subset in self.subsets[column] if (model, *column, subset) not in self._scored]
        part = f" ({', '.join(subsets)})" if len(subsets) < len(self.subsets[column]) else ""
        return self.named(column) + part

    def named(self, column: tuple[str, str]) -> str:
        """A column's name: what is different among the columns."""
        task, metric = column
        splits = {self.splits[task] for task, _ in self.columns}
        task += f" ({self.splits[task]})" if len(splits) > 1 else ""
        tasks, labels = ({each[at] for each in self.columns} for at in (0, 1))
        return " ".join(filter(None, [task if len(tasks) > 1 else "", metric if len(labels) > 1 else ""])) or metric


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


@dataclass(frozen=True)
class ModelEntry:
    """A model of a leaderboard over tasks; NaN and None where it has not all tasks.

    Attributes
    ----------
    rank : int or None
        Rank by the mean or by the Borda count.
    model : str
        Name of the model.
    scores : dict
        Its score in each column; NaN where it has none.
    mean : float
        Mean over the tasks; NaN for several metrics.
    borda : float
        Borda count: per column, one point for each model below and half a point for each tied one.
    best_rank, worst_rank : int or None
        Interval of the rank; None with one task.
    """

    rank: int | None
    model: str
    scores: Mapping[str, float]
    mean: float
    borda: float
    best_rank: int | None
    worst_rank: int | None


class TaskLeaderboard(Records[ModelEntry]):
    """Models in order of their mean or Borda count over tasks; those without all tasks come last, without a rank."""

    def __init__(
        self, metrics: Sequence[str], entries: Sequence[ModelEntry], notes: Sequence[str], definitions: Sequence[str]
    ) -> None:
        self.metrics, self._records = list(metrics), tuple(entries)
        self.notes, self.definitions = list(notes), list(definitions)

    def __getitem__(self, model: str) -> ModelEntry:
        for entry in self:
            if entry.model == model:
                return entry
        raise KeyError(f"{model!r}; there are {', '.join(repr(entry.model) for entry in self)}")

    @property
    def tasks(self) -> list[str]:
        """Names of the columns."""
        return list(self._records[0].scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        models = [asdict(entry) for entry in self]
        return {"metrics": self.metrics, "models": models, "definitions": self.definitions, "notes": self.notes}

    def _columns(self) -> dict[str, Any]:
        scores = {task: [entry.scores[task] for entry in self] for task in self.tasks}
        names = ("rank", "model"), ("mean", "borda", "best_rank", "worst_rank")
        first, last = ({name: [getattr(entry, name) for entry in self] for name in part} for part in names)
        return {**first, **scores, **last}

    def _answer(self) -> Answer:
        """A row per model; a single column is its own mean."""
        tasks, one = self.tasks, len(self.metrics) == 1
        means = ["mean"] if one and len(tasks) > 1 else []
        table = [["rank", "model", *tasks, *means, "borda", "ranks"]]
        for entry in self:
            cells = [entry.scores[task] for task in tasks] + [entry.mean] * len(means)
            ranks = "" if entry.best_rank is None else f"{entry.best_rank}-{entry.worst_rank}"
            points = "" if math.isnan(entry.borda) else f"{entry.borda:g}"
            shown = ["" if math.isnan(value) else number(value) for value in cells]
            table.append(["" if entry.rank is None else str(entry.rank), entry.model, *shown, points, ranks])
        return Answer(table, notes=self.notes, definitions=self.definitions, align="><", fixed=2)


def _entries(
    cells: _Cells, labels: Sequence[str], by: str, confidence: float, resamples: int, seed: int
) -> tuple[list[ModelEntry], list[str]]:
    """The models in their order, and notes on it."""
    whole, columns = cells.complete, [cells.named(column) for column in cells.columns]
    better = np.array([_direction(metric) for _, metric in cells.columns])
    oriented = cells.values[whole] * better
    points = borda_count(oriented)
    counts, means = _spread(points.sum(axis=1), whole), np.full(len(whole), math.nan)
    if len(labels) == 1:
        means[whole] = [_mean(row.tolist()) for row in cells.values[whole]]
    tasks = list(dict.fromkeys(task for task, _ in cells.columns))
    of_task = np.array([[task == each for each, _ in cells.columns] for task in tasks], dtype=float)
    ranked = (oriented if by == "mean" else points) @ of_task.T  # the metrics of a task are drawn together
    rank, low, high = descending_ranks(ranked.sum(axis=1)[None], NOISE * float(np.abs(ranked).max()))[0], None, None
    if len(tasks) > 1:
        rank, low, high, _ = rank_interval(ranked, confidence=confidence, resamples=resamples, seed=seed)
    entries = []
    at = np.cumsum(whole) - 1
    for model, name in enumerate(cells.models):
        place = at[model] if whole[model] else None
        ranks = [None if place is None or each is None else int(each[place]) for each in (rank, low, high)]
        scores = dict(zip(columns, cells.values[model].tolist(), strict=True))
        entries.append(ModelEntry(ranks[0], name, scores, float(means[model]), float(counts[model]), *ranks[1:]))
    entries.sort(key=lambda entry: math.inf if entry.rank is None else entry.rank)
    notes = _said_of_ranks(labels, by, len(tasks), int(whole.sum()), confidence, resamples, seed) + cells.notes
    if cells.revised:
        notes.append(f"models were evaluated on different revisions of the data: {some(cells.revised)}")
    several = {cells.named(column): len(cells.subsets[column]) for column in cells.columns}
    several = {name: count for name, count in several.items() if count > 1}
    if several:
        notes.append(f"means over subsets: {', '.join(f'{name} ({count})' for name, count in several.items())}")
    return entries, notes


def _spread(values: Floats, whole: Any) -> Floats:
    out = np.full(len(whole), math.nan)
    out[whole] = values
    return out


def _declared(label: str) -> Metric | None:
    try:
        return parse(label)[0]
    except ValueError:
        return None


def _direction(label: str) -> float:
    """1 if higher is better, -1 if lower is."""
    metric = _declared(label)
    better = "higher" if metric is None else metric.declaration.better
    if better == "neither":
        raise InputError(f"{label} has no better direction, so models have no ranks by it; choose another metric")
    return 1.0 if better == "higher" else -1.0


def _said_of_ranks(
    labels: Sequence[str], by: str, tasks: int, models: int, confidence: float, resamples: int, seed: int
) -> list[str]:
    order = "mean over tasks" if by == "mean" else "Borda count"
    notes = [
        f"{', '.join(labels)} on {tasks} task{'s' * (tasks > 1)}, {models} model{'s' * (models > 1)}; ranked by {order}"
    ]
    if tasks > 1:
        few = "; few tasks make such intervals too narrow" if tasks < _FEW_TASKS else ""
        drawn = f"bootstrap over tasks ({resamples:,} samples, seed {seed})"
        notes.append(f"ranks: {100 * confidence:g} % intervals, {drawn}{few}")
    notes.append("borda: per column one point for each model below, half a point for each tied one")
    unknown = [label for label in labels if label != MAIN and _declared(label) is None]
    if unknown:
        notes.append(f"higher is taken to be better: {', '.join(unknown)}")
    if MAIN in labels and tasks > 1:
        notes.append(f"{MAIN} may be a different metric on each task")
    return notes
