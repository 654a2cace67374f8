"""The printed name ``name[param=value,...]``: display name, command-line selector and key in the results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lpbench.errors import ConfigurationError

_SELECTOR = re.compile(r"^(?P<name>[A-Za-z_][\w.\-]*)(\[(?P<body>[^\[\]]*)\])?$")


@dataclass(frozen=True)
class Selector:
    """Name with parameters, written ``name[param=value,...]``, of a method, mask or data set."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)  # a JSON scalar, else a string

    @staticmethod
    @cache  # of a few thousand texts, which are asked for a million times
    def parse(text: str) -> Selector:
        """Parse a text ``name[a=1,b=cart]``; ConfigurationError if it has another form."""
        match = _SELECTOR.match(plain_name(text.strip()))
        if not match:
            raise ConfigurationError(f"selector {text!r} is not of the form name or name[param=value,...]")
        params = {}
        for assignment in filter(None, (p.strip() for p in (match["body"] or "").split(","))):
            key, sep, raw = assignment.partition("=")
            if not sep or not key.strip():
                raise ConfigurationError(f"selector {text!r}: {assignment!r} is not of the form param=value")
            params[key.strip()] = parse_value(raw.strip())
        return Selector(match["name"], params)

    def with_params(self, **params: Any) -> Selector:
        """Return the selector with some parameters added or replaced."""
        return Selector(self.name, {**self.params, **params})

    def __str__(self) -> str:
        """Write the selector as :meth:`parse` reads it, parameters in alphabetical order."""
        if not self.params:
            return self.name
        written = {
            k: v if isinstance(v, str) else json.dumps(v, default=lambda number: number.tolist())
            for k, v in self.params.items()
        }
        body = ",".join(f"{k}={v}" for k, v in sorted(written.items()))
        return f"{self.name}[{body}]"


def plain_name(text: str) -> str:
    """Return a text in which data sets of OpenML, ``openml/ID``, have the names of their manifests, ``openml_ID``."""
    return re.sub(r"((?:^|[=,])openml)/(?=\d+(?:$|[,\[]))", r"\1_", text)


def parse_value(raw: str) -> Any:
    """Parse a parameter's value as JSON; other texts are returned as they are."""
    try:
        return json.loads(raw)
    except json.JSONDecodeError:
        return raw


def parse_selector(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of ``name[a=1,b=cart]``, see :class:`Selector`."""
    selector = Selector.parse(text)
    return selector.name, dict(selector.params)
