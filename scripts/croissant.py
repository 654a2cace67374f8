"""Write Croissant metadata (``datasets/<name>.json``) of every data set from its manifest.

Raw files are named where they can be fetched, without checksums, as their servers may change them; the table that comes
of them is held against the manifest's fingerprint, which the description repeats.
"""

import json
import re
import sys
from pathlib import PurePosixPath

import mlcroissant as mlc

from lpbench.datasets import load_manifest
from lpbench.datasets.manifest import Manifest
from lpbench.paths import MANIFESTS

OPENML, UCI = "https://www.openml.org/d/{}", "https://archive.ics.uci.edu/dataset/{}"
UCI_ARCHIVE = "https://archive.ics.uci.edu/static/public/{}/{}"
RDATASETS = "https://vincentarelbundock.github.io/Rdatasets/csv/{}.csv"
SCIKIT_LEARN = "https://scikit-learn.org/stable/modules/generated/{}.html"
#: Page of the families that are drawn and not fetched, and the license of their code.
SYNTHETIC = "https://spdx.org/licenses/MIT"
FORMATS = {
    ".csv": "text/csv",
    ".data": "text/csv",
    ".gz": "application/gzip",
    ".zip": "application/zip",
    ".arff": "text/x-arff",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def names() -> list[str]:
    """Data sets of the project itself."""
    return sorted(path.stem for path in MANIFESTS.glob("*.yaml"))


def croissant(manifest: Manifest) -> dict:
    """Metadata of one data set as JSON-LD.

    Raises
    ------
    mlcroissant.ValidationError
        The metadata do not keep to the format.
    """
    context = mlc.Context(is_live_dataset=True)
    about = mlc.Metadata(
        ctx=context,
        name=manifest.name,
        description=_description(manifest),
        license=["MIT (the code that draws it)" if manifest.synthetic else manifest.license],
        url=_url(manifest),
        same_as=_same(manifest),
        cite_as=manifest.origin or None,
        keywords=[manifest.task, "local differential privacy", "synthetic" if manifest.synthetic else "tabular"],
        distribution=_files(manifest, context),
        record_sets=_columns(manifest, context),
        # the responsible-AI fields that the manifest has an answer to
        data_limitations=manifest.notes.strip() or None,
        data_collection="drawn by a program" if manifest.synthetic else manifest.origin or None,
        personal_sensitive_information=_sensitivity(manifest),
    )
    return json.loads(json.dumps(about.to_json(), default=str))


def _description(manifest: Manifest) -> str:
    shape = manifest.fingerprint or {}
    sentences = [f"{manifest.title}, a {manifest.task} task."]
    if shape.get("rows"):
        public = shape.get("public") or "none"
        sentences.append(f"{shape['rows']} rows ({public} of them public), {shape['features']} features.")
    if shape.get("values"):
        sentences.append(f"Fingerprint of the table: columns {shape['columns']}, values {shape['values']}.")
    if manifest.synthetic:
        sentences.append(f"Drawn by {manifest.synthetic} with the parameters {json.dumps(manifest.params)}.")
    return " ".join([*sentences, manifest.notes.strip()]).strip()


def _sensitivity(manifest: Manifest) -> list[str] | None:
    """Why which columns count as sensitive: the order in which the masks protect them."""
    reason = (manifest.sensitivity or {}).get("reason")
    return [f"Order of sensitivity, for the masks: {reason}"] if reason else None


def _url(manifest: Manifest) -> str:
    """Page of the data set: the first that one of its sources has."""
    for source in manifest.sources:
        if source["kind"] in ("openml", "uci"):
            return {"openml": OPENML, "uci": UCI}[source["kind"]].format(source["id"])
        if source["kind"] == "rdatasets":
            return RDATASETS.format(source["table"]).replace("/csv/", "/doc/").replace(".csv", ".html")
        if source["kind"] == "embedded":
            return SCIKIT_LEARN.format(source["loader"].replace(":", "."))
        if found := re.search(r"https?://[^\s,;)]+", source.get("instructions", "")):
            return found[0].rstrip(".")
    return SYNTHETIC


def _same(manifest: Manifest) -> list[str]:
    """Page of the same data at OpenML, unless its copy is known to differ."""
    there = manifest.openml
    return [OPENML.format(there["id"])] if there and "differs" not in there else []


def _files(manifest: Manifest, context: mlc.Context) -> list[mlc.FileObject]:
    """One entry per file of each source; files fetched by hand have their path below the mirror folder."""
    found = {}
    for source in manifest.sources:
        if source["kind"] == "openml":
            found[f"openml-{source['id']}"] = (OPENML.format(source["id"]), FORMATS[".arff"])
        elif source["kind"] == "uci":
            address = UCI_ARCHIVE.format(source["id"], source["archive"])
            found[f"uci-{source['id']}"] = (address, FORMATS[".zip"])
        elif source["kind"] == "rdatasets":
            found[f"rdatasets-{source['table']}"] = (RDATASETS.format(source["table"]), FORMATS[".csv"])
        elif source["kind"] == "file":
            for path in source["files"].values():
                found[path] = (path, FORMATS.get(PurePosixPath(path).suffix, "text/plain"))
    return [
        mlc.FileObject(ctx=context, id=key, name=key, content_url=address, encoding_formats=[kind])
        for key, (address, kind) in found.items()
    ]


def _columns(manifest: Manifest, context: mlc.Context) -> list[mlc.RecordSet]:
    """Columns of the raw file that the table uses, if it is a CSV with a header and the manifest names them."""
    plain = [s for s in manifest.sources if s["kind"] == "file" and s.get("format", {}).get("header", True)]
    paths = [path for source in plain for path in source["files"].values() if path.endswith(".csv")]
    if not paths or not isinstance(manifest.features, (list, tuple)):
        return []
    used = [*manifest.features, manifest.target]
    named = dict.fromkeys(use if isinstance(use, str) else use["column"] for use in used)
    fields = [
        mlc.Field(
            ctx=context,
            id="raw/" + re.sub(r"\W+", "_", name),  # an @id has no blanks
            name=name,
            description="the label, always protected" if name == list(named)[-1] else "a feature",
            data_types=[mlc.DataType.TEXT],
            source=mlc.Source(ctx=context, file_object=paths[0], extract=mlc.Extract(ctx=context, column=name)),
        )
        for name in named
    ]
    return [mlc.RecordSet(ctx=context, id="raw", name="raw", description="Columns of the raw file.", fields=fields)]


def text(name: str) -> str:
    """Content of the metadata file of a data set."""
    return json.dumps(croissant(load_manifest(name)), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write the metadata of every data set beside its manifest; with ``--check``, compare and validate them instead."""
    found = {name: MANIFESTS / f"{name}.json" for name in names()}
    wrong = []
    for name, path in found.items():
        if arguments != ["--check"]:
            path.write_text(text(name), encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text(name):
            wrong.append(f"{path.name} is not that of its manifest: run scripts/croissant.py")
        mlc.Dataset(jsonld=json.loads(text(name)))  # raises where another reader would
    wrong += [f"{path.name} has no manifest" for path in MANIFESTS.glob("*.json") if path.stem not in found]
    print("\n".join(wrong) or f"{len(found)} files in datasets/")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
