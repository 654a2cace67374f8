"""Write docs/keys.md: every key of experiments, methods, masks and data sets, from their schemas."""

import dataclasses
import inspect
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lpbench.datasets import schema as keys
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.parameters import REAL
from lpbench.experiments import catalog
from lpbench.experiments.config import Config, Runner, Tracking
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.frozen import MISSING
from lpbench.experiments.method import Method

PAGE = Path(__file__).parents[1] / "docs" / "keys.md"
#: A field: comment above it, name, annotation, comment beside it. A comment may begin with the values in braces.
_FIELD = re.compile(r"^((?: {4}#: .*\n)*) {4}(\w+): ([^#=\n]*?)(?: = .*?)?(?:  #:? (.*))?$", re.MULTILINE)

HEAD = """\
# Every key of a configuration file

This page lists the keys of the YAML files of experiments, methods, masks and data sets, and of the command line.
Parentheses after a key contain its type and its default. lpbench refuses a file with an unknown key, a missing key or
an invalid value before anything runs; the error names the key. Put your own files into `lpbench_plugins/`
([tutorial](tutorial.md)); the folders `conf/` and `datasets/` contain examples.
"""


def page() -> str:
    """The whole page."""
    explained: set[str] = set()
    sources = [
        (f"`kind: {kind}`", "", "; ".join(_once(key, text, explained) for key, (_, text) in known.items()))
        for kind, known in keys.SOURCES.items()
    ]
    features = "`{all_except: [columns]}`, or a list of names and of mappings with `column` and one of"
    parts = [
        HEAD,
        "## Experiment: `experiments/<folder>/<name>.yaml`\n",
        _of_schema(Experiment),
        "### An entry of `groups`\n",
        "An entry runs all combinations of its data sets, masks, methods and budgets.\n",
        _of_schema(Group),
        "## Method: `methods/<name>.yaml`\n",
        _of_schema(Method),
        "## Mask: `mask.params.<key>=...`, or `name[key=value]` in an experiment\n",
        _table(("mask", "keys and defaults", "what it is"), _masks()),
        "## Data set: `datasets/<name>.yaml`\n",
        _of_schema(Manifest, without=("name", "folder")),
        "### `sources`\n",
        _list(sources),
        "The keys `format`, `columns` and `options` are optional.\n",
        *_mapping("format", keys.FORMAT),
        *_mapping("rows", keys.ROWS, "a list of steps, each with one of"),
        *_mapping("public", keys.PUBLIC, "one of"),
        *_mapping("target", keys.TARGET, "the name of a column, or of a classification"),
        *_mapping("features", keys.FEATURE, features),
        *_mapping("sensitivity", keys.SENSITIVITY),
        *_mapping("bounds", keys.BOUNDS),
        *_mapping("openml", keys.OPENML),
        *_mapping("fingerprint", keys.FINGERPRINT, "written by `lpbench new dataset`"),
        "### Parameters: `dataset.params.<key>=...`, or `name[key=value]` in an experiment\n",
        "The manifest of a synthetic family lists parameters under `params`. Other data sets have these parameters:\n",
        _list((f"`{k}`", _value(v), text) for k, (v, text) in REAL.items()),
        "## The command line: `lpbench key=value`\n",
        "`dataset`, `mask`, `method`, `experiment`, `runner` and `tracking` select a file by its name. A longer key,\n"
        "such as `method.params.depth=3`, changes one value of the file.\n",
        _of_schema(Config),
        "### `runner`\n",
        _of_schema(Runner),
        "### `tracking`\n",
        _of_schema(Tracking),
    ]
    return "\n".join(parts)


def _mapping(name: str, known: keys.Keys, words: str = "") -> tuple[str, str]:
    rows = ((f"`{key}`", "", text) for key, (_, text) in known.items() if text)
    return f"### `{name}`{words and ': ' + words}\n", _list(rows)


def _of_schema(schema: Any, without: Iterable[str] = ()) -> str:
    """Keys of a dataclass with types and texts, which stand in comments on the fields."""
    described = _attributes(schema)
    rows = []
    for field in dataclasses.fields(schema):
        if field.name not in without:
            kind, text = described[field.name]
            rows.append((f"`{field.name}`", ", ".join(filter(None, (_markdown(kind), _default(field)))), text))
    return _list(rows)


def _attributes(schema: Any) -> dict[str, tuple[str, str]]:
    return {name: (kind, _markdown(text)) for name, kind, text in _commented(inspect.getsource(schema))}


def _commented(source: str) -> Iterable[tuple[str, str, str]]:
    for above, name, kind, beside in _FIELD.findall(source):
        values, text = re.findall(r"^(\{.*?\})?(?:: )?(.*)", " ".join(above.replace("#:", "").split()) or beside)[0]
        kind = kind.replace("tuple[Any, ...]", "tuple").replace("tuple[float, float]", "(float, float)")
        kind = kind.replace("[str | dict, ...] |", "[str and dict, ...], |")
        kind = re.sub(r"(tuple|list)\[([\w ]+)(?:, \.\.\.)?\]", r"\1 of \2", kind)
        yield name, values or re.sub(r"\[.*?\]", "", kind).replace(" | ", " or "), text


def _markdown(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]*)`", lambda m: f"`{m[1]}`", text)
    return re.sub(r"\btuple\b", "list", text.replace("``", "`"))


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory()
        return "" if dataclasses.is_dataclass(made) else _value(made)
    if field.default is dataclasses.MISSING or field.default is MISSING:
        return "needed"
    return _value(field.default)


def _value(value: Any) -> str:
    return "" if value in ("", None) or value in ((), {}) else f"`{json.dumps(value)}`"


def _masks() -> Iterable[tuple[str, str, str]]:
    for name, mask in sorted(catalog.masks().items()):
        params = ", ".join(f"`{key}: {json.dumps(value)}`" for key, value in mask.params.items())
        yield f"`{name}`", params, mask.title


def _once(key: str, text: str, explained: set[str]) -> str:
    """Return a key with its meaning, which stands where the key is named for the first time."""
    if text in explained:
        return f"`{key}`"
    explained.add(text)
    return f"`{key}`: {text}"


def _list(rows: Iterable[tuple[str, str, str]]) -> str:
    """Lines of a list: key, what stands in parentheses, meaning."""
    return "".join(f"- {key}{facts and f' ({facts})'}{text and f': {text}'}\n" for key, facts, text in rows)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
