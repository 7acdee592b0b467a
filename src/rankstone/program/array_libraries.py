"""What differs between array libraries (NumPy, torch, JAX, CuPy): whose arrays these are, and operations of each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_jax_array, is_numpy_array, is_torch_array

from rankstone.align.elementwise import ELEMENTWISE
from rankstone.errors import InputTypeError

Library: TypeAlias = Any  # a library's functions of arrays: numpy, torch, jax.numpy
Array: TypeAlias = Any  # of any library: np.zeros((2, 3)), torch.zeros(2, 3); or a plain number


def library_of(present: dict[str, Array]) -> Any:
    """Whose arrays they are."""
    for name, array in present.items():
        if getattr(getattr(array, "dtype", None), "kind", "f") in "OSUMmc":
            raise InputTypeError(f"{name}: {array.dtype} is no type of numbers")
    with suppress(TypeError):
        if all(hasattr(array, "dtype") for array in present.values()):
            return array_namespace(*present.values())
    kinds = {name: type(array) for name, array in present.items()}
    said = ", ".join(f"{name} a {kind.__module__.split('.')[0]}.{kind.__name__}" for name, kind in kinds.items())
    raise InputTypeError(f"give arrays of one library (NumPy, torch, JAX or CuPy); here are {said}")


def precision_of(xp: Library, present: dict[str, Array]) -> str:
    """What is computed in: float64 if the labels or the scores hold it, float32 if they hold other floats."""
    kinds = [present[name].dtype for name in ("labels", "scores") if name in present]
    floats = [kind for kind in kinds if xp.isdtype(kind, "real floating")]
    floats = floats or [xp.__array_namespace_info__().default_dtypes()["real floating"]]
    return "float64" if xp.float64 in floats else "float32"


def detached(array: Array) -> Array:
    """Without gradients."""
    return array.detach() if is_torch_array(array) else array


def in_host_memory(array: Array) -> bool:
    """Is it a tensor in the host's memory. NumPy reads it without a copy, and is faster on short rows."""
    return is_torch_array(array) and array.device.type == "cpu"


def lent(xp: Library, tensor: Array) -> Array:
    """A tensor as NumPy's array of the same memory."""
    try:
        return np.from_dlpack(tensor.float() if tensor.dtype == xp.bfloat16 else tensor)
    except RuntimeError:  # torch's words for it are about its storage
        raise InputTypeError(
            "torch.vmap and tracing hide the tensors' values; call the metric with all rows, as (rows, items)"
        ) from None


def largest(xp: Library, values: Array, depth: int, spoil: bool = False) -> tuple[Array, Array]:
    """The largest of each row in descending order, and, in libraries of narrow integers, where they stand.

    spoil: the values are not needed any more.
    """
    if is_numpy_array(values):
        if depth < values.shape[-1]:
            values = values if spoil else values.copy()
            values.partition(values.shape[-1] - depth, axis=-1)
        return np.sort(values[:, -depth:], axis=-1)[:, ::-1], None
    if is_torch_array(values):
        return xp.topk(values, depth).values, None
    if is_jax_array(values):
        from jax.lax import top_k

        return tuple(top_k(values, depth))
    return xp.sort(values, axis=-1, descending=True)[:, :depth], None


def elementwise(
    xp: Library, constant: Callable[[Array], Array], number: Callable[[Array], Array]
) -> dict[str, Callable[..., Any]]:
    """The operations on values one by one; constant and number: a number and a condition as an array of the library."""

    def array(value: Array) -> Array:
        return constant(value) if isinstance(value, (int, float)) else value

    def over_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
        return function if xp is np else lambda *values: function(*map(array, values))

    def where(condition: Array, yes: Array, no: Array) -> Array:
        if isinstance(yes, (int, float)) and isinstance(no, (int, float)):
            if (yes, no) == (1.0, 0.0):
                return number(condition)
            yes = constant(yes)
        return xp.where(condition, yes, no)

    table: dict[str, Callable[..., Any]] = {
        **{op: ELEMENTWISE[op] for op in ("+", "-", "*", "negative", "<", "<=", "==")},
        "and": operator.and_,
        "or": operator.or_,
        "not": operator.invert,
        "/": operator.truediv,
        "power": operator.pow,
        "round": lambda x, digits: xp.round(x * 10.0**digits) / 10.0**digits,
        "where": where,
    }
    named = ("log2", "log", "sqrt", "exp", "abs", "floor", "ceil", "minimum", "maximum")
    return table | {op: over_arrays(getattr(xp, op)) for op in named}
