"""The formats of what is saved: a JSON Schema of each, by which files are also checked when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rankstone.errors import InputError
from rankstone.version import __version__

Schema: TypeAlias = dict[str, Any]

FORMAT_VERSION = 1  # one more with each change that this version's readers would not understand
_FIRST = "0.1.0"  # this version wrote no format
_NAME = "rankstone {}"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"

ANY: Schema = {}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": ["number", "null"]}  # null: not a number
REAL: Schema = {"anyOf": [NUMBER, {"enum": ["inf", "-inf"]}]}
ID: Schema = {"type": ["string", "number", "boolean", "array"]}  # an id that is a tuple is an array
OBJECT: Schema = {"type": "object"}  # of any names and values
_BY_TYPE = {"str": TEXT, "bool": FLAG, "int": COUNT, "float": REAL, "Any": ANY}
_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}


def array(of: Schema) -> Schema:
    """A list whose entries are alike."""
    return {"type": "array", "items": of}


def by_name(of: Schema) -> Schema:
    """An object of any names, whose values are alike."""
    return {"type": "object", "additionalProperties": of}


def record(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object of these names and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def record_of(row: type, optional: Mapping[str, Schema] | None = None, /, **other: Schema) -> Schema:
    """The record of a dataclass or a named tuple, by the types of its fields; other: fields of other types."""
    types = {name: kind for name, kind in row.__annotations__.items() if name[0] != "_"}
    return record(optional, **{name: _of_type(str(kind)) for name, kind in types.items()} | other)


def _of_type(kind: str) -> Schema:
    kind, *none = kind.split(" | ")
    listed = kind.removeprefix("tuple[").removesuffix(", ...]")
    of = _BY_TYPE.get(listed, ANY)
    of = array(of) if listed != kind else of
    return {"anyOf": [of, {"type": "null"}]} if none and of else of


def stamp(name: str) -> dict[str, Any]:
    """The first two entries of what is saved."""
    return {"format": _NAME.format(name), "format_version": FORMAT_VERSION}


def document(name: str, of: Schema) -> Schema:
    """The JSON Schema of a format, with its stamp."""
    stamped = {"format": {"const": _NAME.format(name)}, "format_version": {"const": FORMAT_VERSION}}
    required = [*stamped, *of["required"]]
    properties = {**stamped, **of["properties"]}
    return {"$schema": _DRAFT, "title": _NAME.format(name), **of, "properties": properties, "required": required}


def check_stamp(name: str, data: Mapping[str, object]) -> dict[str, Any]:
    """The data without its stamp; an error if it is of another format or of a later version. 0.1.0 wrote none."""
    what, version = data.get("format"), data.get("format_version")
    if what is not None or version is not None:
        if what != _NAME.format(name):
            raise InputError(f"its format is {what!r}, not {_NAME.format(name)!r}")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InputError(f"format_version is {version!r}, not a number from 1")
        if version > FORMAT_VERSION:
            raise InputError(
                f"it has version {version} of its format, and rankstone {__version__} reads up to {FORMAT_VERSION}; "
                "upgrade rankstone"
            )
    return {key: value for key, value in data.items() if key not in stamp(name)}


def check_writer(written_by: str, stamped: bool) -> None:
    """Raise an error if a later version of rankstone wrote a file, or if it lost its stamp."""
    try:
        theirs, ours = (tuple(map(int, text.split(".")[:2])) for text in (written_by, __version__))
    except ValueError:
        raise InputError(f"versions.rankstone is {written_by!r}, not a version such as {__version__!r}") from None
    if theirs > ours:
        raise InputError(f"rankstone {written_by} wrote it, and this is {__version__}; upgrade rankstone")
    if not stamped and written_by != _FIRST:
        raise InputError(f"it has no format_version, which rankstone {written_by} writes")


def check(data: object, schema: Schema, place: str = "") -> None:
    """Raise an error that names the place, if data is not as a schema says: of those keywords that are used here."""
    if "anyOf" in schema:
        if not any(_matches(data, each) for each in schema["anyOf"]):
            raise InputError(f"{place} is {_shown(data)}, which is not a number")
        return
    for name, holds in _KEYWORDS.items():
        if name in schema and not holds(data, schema[name]):
            raise InputError(f"{place or 'it'} is {_shown(data)}; expected: {name} {_shown(schema[name])}")
    if isinstance(data, Mapping):
        names = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in data:
                raise InputError(f"{place or 'it'} has no {name}")
        others = schema.get("additionalProperties", ANY)
        for name, value in data.items():
            inside = f"{place}.{name}" if place else str(name)
            if name not in names and others is False:
                raise InputError(f"{inside} is unknown")
            check(value, names.get(name, others), inside)
    elif isinstance(data, list) and (of := schema.get("items")):
        first: dict[object, int] = {}  # entries of one type are alike, where the schema asks for no more
        by_type = of.keys() == {"type"} or of is REAL
        for at, value in enumerate(data):
            first.setdefault(at if not by_type else value if of is REAL and type(value) is str else type(value), at)
        for at in first.values():
            check(data[at], of, f"{place}[{at}]")


def _matches(data: Any, schema: Schema) -> bool:
    try:
        check(data, schema)
    except ValueError:
        return False
    return True


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} ..."


_KEYWORDS: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda data, types: any(_TYPES[each](data) for each in ([types] if isinstance(types, str) else types)),
    "enum": lambda data, values: data in values,
    "const": lambda data, value: data == value,
    "minimum": lambda data, least: data >= least,
}
