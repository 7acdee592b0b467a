"""Results into the log of an experiment: MLflow, Weights & Biases, TensorBoard, and what has their methods."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankstone.errors import InputError, InputTypeError
from rankstone.results.result import Result

Means = dict[str, float]


def _one_by_one(target: Any, means: Means, step: dict[str, int]) -> None:
    for name, mean in means.items():
        target.log_metric(name, mean, **step)


def _at_once(target: Any, means: Means, step: dict[str, int]) -> None:
    target.log(means, **step)


def _scalars(target: Any, means: Means, step: dict[str, int]) -> None:
    for name, mean in means.items():
        target.add_scalar(name, mean, *step.values())


def _files(target: Any, result: Result, prefix: str, step: dict[str, int]) -> None:
    with TemporaryDirectory() as folder:
        for name in ("per_query.csv", "report.html"):
            path = Path(folder, _plain(prefix).replace("/", "_") + name)
            result.write(path)
            target.log_artifact(str(path))


def _text(target: Any, result: Result, prefix: str, step: dict[str, int]) -> None:
    target.add_text(f"{prefix}result", result.render("markdown", verbose=True), *step.values())


# The methods that a target may have, the first of them is used.
_NUMBERS: dict[str, Callable[[Any, Means, dict[str, int]], None]] = {
    "log_metric": _one_by_one,  # MLflow, Comet
    "log": _at_once,  # Weights & Biases
    "add_scalar": _scalars,  # TensorBoard
}
_TEXTS: dict[str, Callable[[Any, Result, str, dict[str, int]], None]] = {
    "log_artifact": _files,  # MLflow, Weights & Biases
    "add_text": _text,  # TensorBoard
}


def log(
    result: Result, target: object, *, prefix: str = "", step: int | None = None, artifacts: bool = True
) -> dict[str, float]:
    """Log the means of a result to an experiment tracker, with its values per query and its report.

    The target is anything with a method `log_metric(name, value)` (the module `mlflow`), `log(dict)` (a run of Weights
    & Biases) or `add_scalar(name, value)` (TensorBoard's `SummaryWriter`). Names have the characters that all of them
    take: `ndcg@10` is `ndcg_at_10`.

    Parameters
    ----------
    result : Result
        What `rs.evaluate` returned.
    target : object
        Where to log.
    prefix : str, default ""
        Goes before each name: `"test/"`.
    step : int, optional
        The step or epoch.
    artifacts : bool, default True
        Log the values per query (CSV) and the report (HTML) by `log_artifact`, or the printed table by `add_text`, if
        the target has one of them.

    Returns
    -------
    dict
        The means, by the names that were logged.

    Raises
    ------
    InputTypeError
        If the target has none of the methods.

    Examples
    --------
    >>> class Tracker:
    ...     def log(self, means):
    ...         print(means)
    >>> result = rs.evaluate({"q1": {"a": 1}}, {"q1": {"b": 0.9, "a": 0.5}}, ["rr", "recall@10"])
    >>> logged = rs.integrations.log(result, Tracker(), prefix="test/")
    {'test/rr': 0.5, 'test/recall_at_10': 1.0}
    """
    number = next((name for name in _NUMBERS if callable(getattr(target, name, None))), None)
    if number is None:
        raise InputTypeError(f"{type(target).__name__} has no method {', '.join(_NUMBERS)} to log to")
    means: Means = {}
    for label, mean in result.items():
        name = _plain(prefix + str(label))
        if name in means:
            raise InputError(f"two metrics would be logged as {name!r}; log them with a prefix each")
        means[name] = float(mean)
    steps = {} if step is None else {"step": step}
    _NUMBERS[number](target, means, steps)
    text = next((name for name in _TEXTS if callable(getattr(target, name, None))), None)
    if artifacts and text is not None:
        _TEXTS[text](target, result, prefix, steps)
    return means


def _plain(name: str) -> str:
    """A name that every tracker takes."""
    return re.sub(r"([^\w\-./]|_)+", "_", name.replace("@", "_at_")).strip("_")
