"""``lpbench new dataset``: write the manifest of a file of one's own. Non-interactive."""

import re
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from lpbench.cli.new_method import check_name, refuse_overwriting, shown
from lpbench.cli.profile import Choices, Profile, manifest_of, profile_file
from lpbench.datasets.download import Settings, describe_openml, fetch_file, fetch_task
from lpbench.datasets.manifest import list_datasets, read_manifest
from lpbench.disk import write_text
from lpbench.errors import ConfigurationError, DataError
from lpbench.paths import MANIFESTS, cache_folder

#: Letters of a name that is made from the file's, and endings that are no part of it.
_LONGEST = 60
_ENDING = re.compile(r"(\.(csv|tsv|txt|arff|data|dat))?(\.(gz|bz2|xz))?$")


def new_dataset(file: Path, folder: Path, *, name: str | None = None, **choices: Any) -> tuple[Path, Profile]:
    """Write a file's manifest, beside a copy of it, into ``datasets`` of a folder, by :class:`Choices`."""
    file, folder = Path(file).resolve(), Path(folder).resolve() / "datasets"
    try:
        name = name or _name_of(file)
        check_name("dataset", name)
        path = folder / f"{name}.yaml"
        refuse_overwriting(path)
        if name in list_datasets():
            raise ConfigurationError(f"data set {name!r} exists already")
        if not file.is_file():
            raise DataError(f"{shown(file)} is no file")
        ending = file.name.lower().removeprefix(_ENDING.sub("", file.name.lower()))
        copy = file if file.is_relative_to(folder) else folder / f"{name}{ending}"
        if copy != file:
            refuse_overwriting(copy)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} (--name NAME)") from error
    profile, _ = profile_file(file, copy.relative_to(folder).as_posix(), name, Choices(**choices))
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(profile.content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    try:
        if copy != file:
            shutil.copyfile(file, copy)
        write_text(text, path)
        if replace(read_manifest(path), folder=MANIFESTS) != manifest_of(name, profile.content):
            raise DataError(
                f"{shown(path)} cannot be written so that it is read as it was meant; --name NAME or --target"
            )
    except BaseException:
        for made in (path, *([copy] if copy != file else [])):
            made.unlink(missing_ok=True)
        raise
    return path, profile


def new_openml(number: int, is_task: bool, **choices: Any) -> tuple[Path, Profile]:
    """Fetch a data set of OpenML, or that of a task, and write its manifest, into the cache and by what OpenML says."""
    settings = Settings()
    task = fetch_task(number, settings) if is_task else None
    data_id = task.dataset_id if task else number
    about, status = describe_openml(data_id, settings)
    target = task.target_name if task else about.default_target_attribute
    choices["target"] = choices["target"] or target
    if status != "active" or not choices["target"]:
        why = "names no target: choose one, --target COLUMN" if status == "active" else f"is {status} there"
        raise DataError(f"OpenML {data_id} ({about.name}) {why}")
    listed = [about.row_id_attribute, about.ignore_attribute, target]
    names = [name for one in listed for name in ([one] if isinstance(one, str) else one or [])]
    no_features = {column.strip() for name in names for column in (name, *name.split(","))}  # one name, or several
    content = {
        "title": f"{about.name} (OpenML {data_id}, version {about.version})",
        "origin": ". ".join(filter(None, [f"https://www.openml.org/d/{data_id}", about.citation])),
        "license": about.licence or "not stated at OpenML",  # codespell:ignore licence
        "openml": {"id": data_id, "version": about.version, "md5": about.md5_checksum or "", "task": number * is_task},
    }
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / f"openml_{data_id}.arff"
        fetch_file(about.url, file, settings, about.md5_checksum)
        return new_dataset(file, cache_folder(), no_features=no_features, content=content, **choices)


def _name_of(file: Path) -> str:
    """Derive a data set's name from a file name: lower case letters, digits, underscores; empty if none is left."""
    stem = re.sub(r"(\.(csv|arff))?(\.(gz|bz2|xz))?$", "", file.name.lower()).lstrip(".")
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:_LONGEST]
    return f"data_{name}" if name[:1].isdigit() else name
