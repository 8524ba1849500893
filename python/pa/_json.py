"""Dataclasses of JSON documents."""

import dataclasses
import functools
import keyword
import typing
from typing import Any, Dict, Type, TypeVar

T = TypeVar("T", bound="Object")


class Object:
    """An object of a JSON document. A member that is absent is None."""

    json: Dict[str, Any]
    """The object as the program wrote it, also with members that this release of the package does not know."""

    @classmethod
    def from_json(cls: Type[T], value: Dict[str, Any]) -> T:
        """Returns the object of a decoded JSON document."""
        kind: Any = cls
        types = _types(kind)
        o = cls(**{name: _value(types[name], v) for name, v in ((_attribute(k), v) for k, v in value.items()) if name in types})
        object.__setattr__(o, "json", value)
        return o


@functools.lru_cache(maxsize=None)
def _types(cls: Any) -> Dict[str, Any]:
    """Returns the types of the fields of a dataclass."""
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def _attribute(name: str) -> str:
    """Returns the attribute of a member: p99_9 of "p99.9", from_ of "from"."""
    name = name.replace(".", "_").replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _value(kind: Any, value: Any) -> Any:
    """Returns a decoded JSON value as a type has it."""
    args = typing.get_args(kind)
    if isinstance(value, dict):
        if typing.get_origin(kind) is typing.Union:
            return _value(next(a for a in args if a is not type(None)), value)
        if args:
            return {k: _value(args[1], v) for k, v in value.items()}
        if isinstance(kind, type) and issubclass(kind, Object):
            return kind.from_json(value)
    elif isinstance(value, list):
        if typing.get_origin(kind) is typing.Union:
            return _value(next(a for a in args if a is not type(None)), value)
        return [_value(args[0], v) for v in value]
    return value
