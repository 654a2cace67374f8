"""The printed name ``name[param=value,...]``: display name, command-line selector and key in the results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from lpbench.errors import ConfigurationError

_SELECTOR = re.compile(r"^(?P<name>[A-Za-z_][\w.\-]*)(\[(?P<body>[^\[\]]*)\])?$")


def parse_selector(text: str) -> tuple[str, dict]:
    """Split ``name[a=1,b=cart]`` into the name and a dictionary of typed values (JSON scalars, else strings)."""
    match = _SELECTOR.match(text.strip())
    if not match:
        raise ConfigurationError(f"selector {text!r} is not of the form name or name[param=value,...]")
    params = {}
    for part in filter(None, (p.strip() for p in (match["body"] or "").split(","))):
        key, sep, raw = part.partition("=")
        if not sep or not key.strip():
            raise ConfigurationError(f"selector {text!r}: {part!r} is not of the form param=value")
        params[key.strip()] = _parse_value(raw.strip())
    return match["name"], params


def _parse_value(raw: str):
    try:
        return json.loads(raw)
    except json.JSONDecodeError:
        return raw


def format_selector(name: str, params: Mapping | None = None) -> str:
    """Inverse of :func:`parse_selector`, parameters in alphabetical order."""
    if not params:
        return name
    body = ",".join(f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in sorted(params.items()))
    return f"{name}[{body}]"
