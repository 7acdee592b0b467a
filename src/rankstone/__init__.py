"""rankstone evaluates rankings: search, recommendation, RAG, learning to rank; and names the definition it used.

The public names are those of the stub, `__init__.pyi`, loaded when they are first used. Every metric is also an
attribute by its name: `rs.dcg` is `rs.metrics.dcg`.
"""

import ast as _ast
import sys as _sys
import types as _types
import typing as _typing
from contextlib import suppress as _suppress
from importlib import import_module as _import_module
from pathlib import Path as _Path

from rankstone.conventions.convention import check_choice as _check_choice
from rankstone.metrics.declaration import nearest as _nearest
from rankstone.metrics.registry import Metric as _Metric
from rankstone.metrics.registry import hooks as _hooks
from rankstone.metrics.registry import metrics as _metrics
from rankstone.version import __version__ as __version__

_STUB = [
    (node.module, name.name, name.asname)
    for node in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, _ast.ImportFrom)
    for name in node.names
    if name.asname and not name.asname.startswith("_")
]
_MODULES = {public: f"{__name__}.{name}" for module, name, public in _STUB if module == __name__}
_NAMES = {public: (module, name) for module, name, public in _STUB if module != __name__}

__all__ = sorted([*_NAMES, "errors"])


def _evaluate_list(*arguments: _typing.Any, **options: _typing.Any) -> float:
    from rankstone.evaluate.single import measure_list

    return measure_list(*arguments, **options)


def _manual(metric: _Metric) -> str:
    from rankstone.results.definition import manual

    return manual(metric)


_hooks.check_choice, _hooks.evaluate_list, _hooks.manual = _check_choice, _evaluate_list, _manual


def __getattr__(name: str) -> _typing.Any:
    if name in _MODULES:
        return _import_module(_MODULES[name])
    if name in _metrics.rows and name not in _NAMES:
        return _metrics[name]
    if name not in _NAMES:
        raise AttributeError(_unknown(name))
    module, original = _NAMES[name]
    public = globals()[name] = getattr(_import_module(module), original)
    return public


def _unknown(name: str) -> str:
    """An error's text: the name that was probably meant."""
    names = {word: word for word in (*_NAMES, *_MODULES)} | _metrics.names
    meant = [] if name.startswith("_") else [names[near] for near in _nearest(name, names)]
    with _suppress(ValueError):  # a spelling: f2 is f(beta=2)
        meant = list(map(str, _Metric.parse(name)))
    return f"module 'rankstone' has no attribute {name!r}" + "".join(f"; did you mean rs.{near}?" for near in meant)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})


class _Package(_types.ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """The import system sets each loaded subpackage; `rs.evaluate` stays the function of that name."""
        if name not in _NAMES or not isinstance(value, _types.ModuleType):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[_typing.Any, ...]:
        """Modules are sent to other processes by their names."""
        return __import__, (self.__name__,)


# Packages that were loaded above and have the name of a public one make way for it.
for _name in _NAMES.keys() & globals().keys():
    if isinstance(globals()[_name], _types.ModuleType):
        del globals()[_name]
_sys.modules[__name__].__class__ = _Package
