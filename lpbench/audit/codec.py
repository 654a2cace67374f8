"""Messages between the processes of an audit: numbers, texts, arrays and objects as data, never as code."""

import base64
import importlib
import json
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from lpbench.errors import PrivacyError
from lpbench.seeds import Streams

#: Kinds of numpy arrays that may pass: booleans, integers, floats and texts.
_KINDS = "biufU"


def encode(value: Any) -> bytes:
    """Encode a value; objects are their class's name and attributes, so that equal content gives equal bytes."""
    return json.dumps(_tree(value), separators=(",", ":")).encode()


def decode(message: bytes, build: Callable[[str, dict[str, Any]], Any]) -> Any:
    """Decode a message; ``build(class name, attributes)`` makes objects, or refuses to."""
    return _value(json.loads(message), build)


def _tree(value: Any) -> Any:
    """Turn a value into JSON's types, arrays by their bytes, objects by class name and attributes.

    PrivacyError for code and for arrays that hold no numbers or texts.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS:
            raise PrivacyError(f"an array of {array.dtype} is no data: numbers and texts alone pass between processes")
        array = array.copy("K")  # a sum over rows rounds by how they lie in memory
        body, order = base64.b64encode(array.tobytes("A")).decode(), "F" if array.flags.fnc else "C"
        return {"array": [array.dtype.str, list(array.shape), body, order, isinstance(value, np.generic)]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_tree(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_tree(key), _tree(item)] for key, item in value.items()]}
    if type(value) is Streams:
        return {"streams": value.seed}
    kind = type(value)
    if isinstance(value, type) or kind.__module__ == "builtins":
        raise PrivacyError(f"{value!r} is code, and only data passes between processes")
    if kind.__reduce__ is not object.__reduce__ or not (hasattr(value, "__dict__") or isinstance(value, tuple)):
        return {"object": ["pickle:", _tree({"content": pickle.dumps(value)})]}  # of a type written in C
    attributes = value._asdict() if isinstance(value, tuple) else vars(value)  # type: ignore[attr-defined]
    if is_dataclass(value) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        attributes = {field.name: getattr(value, field.name) for field in fields(value)}  # what is cached is left out
    return {"object": [f"{kind.__module__}:{kind.__qualname__}", _tree(dict(attributes))]}


def _value(tree: Any, build: Callable[[str, dict[str, Any]], Any]) -> Any:
    """Turn JSON's types back into a value; the counterpart of :func:`_tree`.

    ``build(class name, attributes)`` makes objects, and refuses the classes that it does not allow.
    """
    if not isinstance(tree, dict):
        return tree
    ((kind, body),) = tree.items()
    if kind == "array":
        dtype, shape, text, order, scalar = body
        if np.dtype(dtype).kind not in _KINDS:
            raise PrivacyError(f"an array of {dtype} is no data")
        array = np.frombuffer(base64.b64decode(text), dtype=np.dtype(dtype)).reshape(shape, order=order).copy("K")
        return array[()] if scalar else array
    if kind == "bytes":
        return base64.b64decode(body)
    if kind in ("tuple", "list"):
        parts = [_value(item, build) for item in body]
        return tuple(parts) if kind == "tuple" else parts
    if kind == "dict":
        return {_value(key, build): _value(item, build) for key, item in body}
    if kind == "streams":
        return Streams(body)
    name, attributes = body
    return build(name, _value(attributes, build))


def any_object(name: str, attributes: dict[str, Any]) -> Any:
    """Build an object of any class: for the processes of the author's own code."""
    if name == "pickle:":
        return pickle.loads(attributes["content"])
    kind = _class(name)
    if issubclass(kind, tuple):
        return kind(**attributes)
    made = object.__new__(kind)
    vars(made).update(attributes)
    return made


def library_object(name: str, attributes: dict[str, Any]) -> Any:
    """Build a dataclass of this library by its constructor, which checks the values; refuse every other class."""
    module = name.partition(":")[0]
    if module.split(".")[:2] not in (["lpbench", room] for room in ("privacy", "partitions", "estimators")):
        raise PrivacyError(f"{name} is not of the library")
    kind = _class(name)
    if not (isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, tuple)) and kind.__module__ == module):
        raise PrivacyError(f"{name} is no record of the library")
    derived = {field.name for field in getattr(kind, "__dataclass_fields__", {}).values() if not field.init}
    try:
        return kind(**{key: attribute for key, attribute in attributes.items() if key not in derived})
    except TypeError as error:
        raise PrivacyError(f"{name}: {error}") from error


def no_object(name: str, attributes: dict[str, Any]) -> Any:
    """Refuse every object, where a message may hold numbers and texts alone."""
    raise PrivacyError(f"a {name} where numbers were expected")


def _class(name: str) -> Any:
    module, _, path = name.partition(":")
    holder: Any = importlib.import_module(module)
    for attribute in path.split("."):
        holder = getattr(holder, attribute)
    return holder
