"""``lpbench new method``: module, YAML and test from templates. Non-interactive; overwrites nothing."""

import importlib.util
import keyword
import os
import re
from pathlib import Path

import jinja2

from lpbench.disk import write_text
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog as registry
from lpbench.paths import OWN_VARIABLE, own_folders

TEMPLATES = Path(__file__).parent / "templates"


def new_method(name: str, folder: Path, task: str = "regression") -> list[Path]:
    """Write module, YAML (in the subfolder ``methods``) and test of a method, and return them."""
    folder = Path(folder).resolve()
    places = {
        f"{task}.py.j2": folder / f"{name}.py",
        "method.yaml.j2": folder / "methods" / f"{name}.yaml",
        "test_method.py.j2": folder / f"test_{name}.py",
    }
    check_name("method", name)
    for path in places.values():
        refuse_overwriting(path)
    if name in registry.method_names():
        raise ConfigurationError(f"method {name!r} is registered already; choose another name")
    if importlib.util.find_spec(name) is not None:
        raise ConfigurationError(f"method {name!r} would have the name of an importable module; choose another name")
    words = {
        "name": name,
        "task": task,
        "title": name.replace("_", " ").capitalize(),
        "class_name": "".join(word.capitalize() for word in name.split("_")),
    }
    loader = jinja2.FileSystemLoader(TEMPLATES)
    templates = jinja2.Environment(loader=loader, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    for template, path in places.items():
        write_text(templates.get_template(template).render(words), path)
    return list(places.values())


def check_name(kind: str, name: str) -> None:
    """Refuse names that cannot be file, module and selector at once."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ConfigurationError(
            f"{kind} name {name!r} must be lower-case letters, digits and underscores, e.g. my_{kind}"
        )


def refuse_overwriting(path: Path) -> None:
    """Raise ConfigurationError if a file exists."""
    if path.exists():
        raise ConfigurationError(f"{shown(path)} exists and is never overwritten; choose another name, or remove it")


def export_line(folder: Path) -> str:
    """The line that makes lpbench look into a folder, or nothing where it does already."""
    folder = Path(folder).resolve()
    return "" if folder in own_folders() else f"  export {OWN_VARIABLE}={folder}   # lpbench looks there from now on\n"


def shown(path: Path) -> str:
    """A path as short as it can be written from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
