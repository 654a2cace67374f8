"""Questions as canonical JSON: numbers, arrays, partitions and the dataclasses that questions are made of; no code.

A question is rebuilt by the constructors of its classes, which check their arguments. Which classes there may be is
settled by the device that is asked: its own question, mechanisms and partitions.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import sys
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from lpbench.deployment.broadcast import decode_tree, encode_tree
from lpbench.deployment.collector import ProtocolError
from lpbench.partitions import TreePartition
from lpbench.privacy import Device

#: Kinds of numbers that arrays may hold.
_KINDS = "biuf"
#: Entries of the largest array, and nesting of the deepest question.
MOST_ENTRIES, MOST_NESTING = 1 << 17, 12
#: Packages whose dataclasses any question may hold.
_SHARED = ("lpbench.privacy", "lpbench.partitions")


def to_json(value: Any) -> Any:
    """Turn a question into JSON values; ProtocolError if it holds something that cannot be sent."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ProtocolError(f"a question holds {value!r}; devices have finite budgets and intervals")
        return float(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise ProtocolError(f"an array of {value.dtype} cannot be sent")
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": value.dtype.str, "shape": list(value.shape), "content": content}
    if isinstance(value, TreePartition):
        return {"tree": base64.b64encode(encode_tree(value)).decode()}
    if isinstance(value, Mapping):
        return {"mapping": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    sent = getattr(value, "as_broadcast", None)
    if sent is not None:
        return {"made": type(value).__name__, "fields": {k: to_json(v) for k, v in sent().items()}}
    if dataclasses.is_dataclass(value):
        fields = {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return {"made": type(value).__name__, "fields": fields}
    raise ProtocolError(f"{type(value).__name__} cannot be sent; make it a dataclass or give it `as_broadcast`")


def from_json(value: Any, device: Device, nesting: int = 0) -> Any:
    """Inverse of :func:`to_json` for a question to a device; ProtocolError or a constructor's error if it is none."""
    if nesting > MOST_NESTING:
        raise ProtocolError("the question is nested too deeply")
    if isinstance(value, list):
        return tuple(from_json(v, device, nesting + 1) for v in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return _array(value)
    if "tree" in value:
        return decode_tree(base64.b64decode(value["tree"], validate=True))
    if "mapping" in value:
        pairs = [from_json(pair, device, nesting + 1) for pair in value["mapping"]]
        return dict(pairs)
    if "made" in value:
        known = allowed_classes(type(device))
        if value["made"] not in known:
            raise ProtocolError(f"the question holds {value['made']!r}, which this device does not know")
        kind = known[value["made"]]
        return _made(kind, {str(k): from_json(v, device, nesting + 1) for k, v in value["fields"].items()})
    raise ProtocolError("the question holds something that is no number, array, partition or dataclass")


def _array(value: dict) -> np.ndarray:
    dtype, shape = np.dtype(value["array"]), tuple(int(size) for size in value["shape"])
    if dtype.kind not in _KINDS or dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) > MOST_ENTRIES:
        raise ProtocolError(f"an array of {dtype} and shape {shape} is not read")
    array = np.frombuffer(base64.b64decode(value["content"], validate=True), dtype=dtype)
    if not np.isfinite(array).all():
        raise ProtocolError("an array of the question has entries that are not finite")
    return array.reshape(shape).copy()


def _made(kind: type, fields: dict[str, Any]) -> Any:
    hints = _hints(kind)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise ProtocolError(f"{name} of {kind.__name__} must be of type {hints[name]}")
    return getattr(kind, "from_broadcast", kind)(**fields)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as that is a plain type, a union or a tuple of these."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[1:] == (...,) and isinstance(value, tuple) else arguments
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
    if hint is float:
        return type(value) in (int, float)
    if hint in (int, str, bool):
        return type(value) is hint
    plain = origin or hint
    return not isinstance(plain, type) or getattr(plain, "_is_protocol", False) or isinstance(value, plain)


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError:
        return {}


@cache
def allowed_classes(kind: type[Device]) -> dict[str, type]:
    """Classes that a question to a device may be made of, by name: its module's and the shared ones."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_SHARED) and module is not None]
    modules.append(sys.modules[kind.__module__])
    found = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type)
        and (dataclasses.is_dataclass(value) or hasattr(value, "as_broadcast"))
        and not issubclass(value, Device)
    }
    return found


def question_type(kind: type[Device]) -> type:
    """Class of the questions that a device answers, as the definition ``Device[Question]`` of it or a base states."""
    for base in kind.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            found = [argument for argument in typing.get_args(generic) if isinstance(argument, type)]
            if found:
                return found[0]
    return object
