"""Runs of an artifact: one with its totals, ranks and pictures, and one for each data set x mask x method x ε."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis.numbers import counts, in_words, judged_numbers
from lpbench.analysis.summary import COMPARISON, beats, stated_privacy
from lpbench.datasets.manifest import load_manifest
from lpbench.datasets.masks import protected_number
from lpbench.errors import DataError, LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.results import Artifact
from lpbench.members import member
from lpbench.reporting.number_table import printed_numbers
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.tables.text import tables_of
from lpbench.tracking.run import ARTIFACT, CELL, SWEEP, Run, in_one, rows_by
from lpbench.tracking.store import SINGLE

#: Numbers of a summary row that become metrics; the mean goes by the name of the experiment's metric (``mse``).
LOGGED_METRICS = ("mean", "se", "ratio", "rank", "best", "marked", "p_best_is_better", "spent", "spent_delta")
#: Comparisons of several methods, of which a cell that was run alone is none.
_COMPARED = ("rank", "best", "marked", "p_best_is_better")
#: What a run's metrics say of a published number.
_PRINTED = ("published", "reproduced", "distance", "equivalent")
#: Metrics of an artifact's published numbers, of which those after the third are disjoint and add up to the first.
COUNTED_NUMBERS = {
    "compared": "compared",
    "equivalent": "equivalent",
    "identify_budget": "budget",
    "identify_method": "method",
    "equivalent_not_alone": "alike",
    "different": "different",
    "cannot_tell": "undecided",
    "not_comparable": "apart",
}
_PLACE = ["panel", "dataset", "mask", "method", "epsilon"]


def artifact_name(record: Mapping) -> str:
    """Return the name that a run stands for; deviating runs get their group or folder."""
    return str(record.get("group") or record.get("folder") or record["name"])


def counted(numbers: pd.DataFrame) -> dict[str, int]:
    """Count an artifact's compared numbers by class (:data:`COUNTED_NUMBERS`); empty where nothing is compared."""
    numbers_by_class = counts(judged_numbers(numbers))
    return {key: numbers_by_class[of] for key, of in COUNTED_NUMBERS.items()} if numbers_by_class["compared"] else {}


class ArtifactRuns:
    """The runs of one artifact, described; ``alone``: a single cell, which is one run with everything."""

    def __init__(self, folder: Path, record: Mapping):
        self.folder, self.record = folder, record
        self.artifact = artifact = Artifact(folder, record["name"])
        if artifact.summary is None and artifact.experiment.kind != "drawing":
            raise DataError(f"{folder} holds no summary: run the experiment again")
        empty = pd.DataFrame(columns=[*dict.fromkeys([*COMPARISON, *_PLACE, *LOGGED_METRICS])])
        self.summary = empty if artifact.summary is None else _but_lonely(artifact.summary)
        self.cells = sorted(rows_by(self.summary, _PLACE).items())
        self.alone = "group" in record and len(self.cells) == 1
        #: Number of runs below that of the artifact, and milliseconds at which the numbers were written.
        self.count = 0 if self.alone else len(self.cells)
        self.written = artifact.summary_file.stat().st_mtime * 1000 if artifact.summary_file.is_file() else math.inf
        self.numbers = printed_numbers(artifact)
        self._printed = rows_by(self.numbers, _PLACE[:4])
        self.data = {name: _with_manifest(name, facts) for name, facts in record.get("datasets", {}).items()}

    @property
    def parent(self) -> Run:
        """The run of the artifact, or of its only cell."""
        environment = dict(self.record.get("environment", {}))
        versions = environment.pop("versions", {})
        tags = {f"lpbench.{k}": str(v) for k, v in environment.items()}
        tags |= {f"version.{k}": v for k, v in versions.items()} | {"lpbench.config_hash": self.record["config_hash"]}
        files = [(f, None if f.suffix in (".svg", ".png") else "data") for f in sorted(self.folder.iterdir())]
        files = [(path, folder_of) for path, folder_of in files if path.is_file()]
        if self.alone:
            run = self.cell(*self.cells[0])
            run.tags, run.files = {**run.tags, **tags}, files
            run.params = {**run.params, "config": self.record["config"]}
            return run
        ranks = self.summary[self.summary["selection"] == "oracle"].groupby("method", sort=True)["rank"].mean().dropna()
        seconds = sum(self.record.get("seconds", {}).values())
        sweep = self.record["config"]["experiment"].get("title") if self.artifact.name == SINGLE else ""
        values = {f"rank/{method}": float(rank) for method, rank in ranks.items()} | counted(self.numbers)
        return Run(
            sweep or self.folder.name,
            SWEEP if self.artifact.name == SINGLE else ARTIFACT,
            outcome=in_one(judged_numbers(self.numbers)["class"]),
            tags=self._tags | tags,
            params=self.record["config"],
            metrics=[(key, value, 0) for key, value in (values | {"seconds": seconds}).items()],
            paragraphs=self._paragraphs(),
            data=self.data,
            files=files,
            tables={"summary": self.summary, "numbers": self.numbers} | self._tests(),
            seconds=seconds,
        )

    def below(self) -> Iterator[Run]:
        """Yield the run of each cell, unless there is one alone."""
        for place, rows in self.cells[: self.count]:
            yield self.cell(place, rows)

    @property
    def _tags(self) -> dict[str, str]:
        """Tags of every run of the artifact: artifact, source, user, commit, and what deviates."""
        record = self.record
        commit = str(record.get("environment", {}).get("commit", "unknown"))
        registered = "group" not in record and "folder" not in record
        deviations = record.get("deviations")
        return {
            "mlflow.source.name": f"lpbench reproduce {record['name']}" if registered else "lpbench",
            "mlflow.source.git.commit": commit.partition("+")[0],
            "lpbench.artifact": artifact_name(record),
            "lpbench.commit": commit,
            **({"lpbench.deviations": "; ".join(deviations)} if deviations else {}),
        }

    def _paragraphs(self) -> list[str]:
        """Description of the artifact in Markdown: deviations, verdicts, notes, tables."""
        experiment = self.record["config"].get("experiment", {})
        judged = judged_numbers(self.numbers)
        return [
            f"**{experiment.get('title') or self.record['name']}**",
            *(f"**Not as registered:** {text}" for text in self.record.get("deviations", ())),
            *([f"**{in_words(judged)}.**"] if len(judged) else []),
            *(f"- {note}" for note in experiment.get("notes", ())),
            *map(in_markdown, tables_of(self.artifact)),
        ]

    def _tests(self) -> dict[str, pd.DataFrame]:
        """p-values that each method of a table is better than others, one column per data set; curves have none."""
        chosen = self.artifact.chosen
        tests = pd.DataFrame() if chosen is None else beats(chosen[chosen["x"].isna()])
        if tests.empty:
            return {}
        # as texts, for MLflow writes ten digits behind the point
        tests["p"], tables = tests["p"].map("{:.3g}".format), {}
        for method, rows in tests.groupby("method"):
            wide = rows.pivot(index=["epsilon", "than", "selection"], columns=["dataset", "mask", "panel"])["p"]
            tables[f"tests/{method}"] = wide.set_axis(
                [" ".join(filter(None, key)) for key in wide], axis=1
            ).reset_index()
        return tables

    def cell(self, cell_key: tuple, rows: list[dict]) -> Run:
        """Return the MLflow run of one data set x mask x method x ε.

        Its steps are whole values of ``x``, positions on that axis, or replications.
        """
        record, cell = self.record, dict(zip(_PLACE, cell_key, strict=True))
        seconds = float(record.get("seconds", {}).get("|".join(cell_key[:4]), 0.0))  # of one pass, for all budgets
        # a number that the paper prints for all budgets belongs to each
        printed = [r for r in self._printed.get(cell_key[:4], ()) if r["epsilon"] in (cell["epsilon"], None)]
        tags = {f"lpbench.{key}": str(cell[key]) for key in _PLACE[:4] if cell[key]}
        tags |= {f"lpbench.{k}": text for k in ("cause", "reason") if (text := _texts(printed, k))}
        tags |= {"lpbench.audit": rows[0]["audit"]} if rows[0]["audit"] else {}
        # what cells differ in comes first, for lists cut long names
        places = " ".join(str(cell[key]) for key in ("dataset", "mask", "panel") if cell[key])
        main = min((row["selection"] for row in rows), key=lambda selection: (selection != "oracle", selection))
        xs = sorted({row["x"] for row in rows} - {None})
        is_integer = all(float(x).is_integer() for x in xs)
        step = {x: int(x) if is_integer else k for k, x in enumerate(xs)}
        metrics: list[tuple[str, object, int]] = []  # in the order of the interface, which compares runs by the first
        for row in rows:
            prefix = "" if row["selection"] == main else f"{row['selection']}/"
            values = {prefix + (row["metric"] if key == "mean" else key): row[key] for key in LOGGED_METRICS}
            values |= {} if is_integer or prefix else {"x": row["x"]}
            metrics += [(key, value, step.get(row["x"], 0)) for key, value in values.items()]
        for row in printed:
            metrics += [(key, row[key], step.get(row["x"], 0)) for key in _PRINTED]
        for row in self._chosen.get((*cell_key, main), ()) if len(xs) < 2 else ():
            metrics.append((f"replication/{row['metric']}", row["value"], int(row["replication"])))
        why = self._failed.get(cell_key, "")
        facts = self.data.get(cell["dataset"])
        return Run(
            f"{cell['method']} ε={cell['epsilon']:g} {places}",
            CELL,
            outcome=in_one(row["class"] for row in printed),
            tags=self._tags | tags,
            params=self._params(cell, [row for row in rows if row["selection"] == main]),
            metrics=[*metrics, ("seconds", seconds, 0)],
            paragraphs=[why] if why else [*filter(None, (_texts(printed, "cause"), _texts(printed, "reason")))],
            data={cell["dataset"]: facts} if facts else {},
            seconds=seconds,
            reason=why,
        )

    def _params(self, cell: Mapping, rows: list[dict]) -> dict[str, object]:
        """Parameters of a cell's run, each a column of MLflow's: names apart from parameters, the setting, the rest.

        ``cell`` has panel, data set, mask, method and ε, ``rows`` the summary's lines, one a selection.
        """
        record, params = self.record, {"panel": cell["panel"] or None}
        members = {key: member(cell[key]) for key in ("dataset", "mask", "method")}
        for key, chosen in members.items():
            params |= {key: chosen.name, **{f"{key}.{name}": value for name, value in chosen.params.items()}}
        if len(rows) == 1:
            params |= {f"selected.{key}": value for key, value in json.loads(rows[0]["params"] or "{}").items()}
        model = _cards().get(members["method"].name, {}).get("privacy")
        facts = record.get("datasets", {}).get(cell["dataset"], {})
        return params | {
            "epsilon": f"{cell['epsilon']:g}",
            "n_protected": protected_number(members["mask"].name, members["mask"].params, facts.get("n_features")),
            "seed": record["config"].get("seed"),
            "replications": record["config"].get("experiment", {}).get("replications"),
            "selection": rows[0]["selection"],
            "n": facts.get("n_train"),
            "privacy": stated_privacy(model or "", rows[0]["audit"]) or None,
        }

    @cached_property
    def _failed(self) -> dict[tuple, str]:
        """Return the reasons of cells that should have a number and have none.

        Missing data and planned gaps are no failure.
        """
        if self.artifact.full is None:
            return {}
        reasons = rows_by(self.artifact.full.reasons, _PLACE[:4])
        empty = [cell for cell, rows in self.cells if all(row["mean"] is None for row in rows) and cell[:4] in reasons]
        reason_of = {cell: reasons[cell[:4]][0]["reason"] for cell in empty}
        return {cell: why for cell, why in reason_of.items() if not why.startswith(("skipped", "left_out"))}

    @cached_property
    def _chosen(self) -> dict[tuple, list[dict]]:
        """Scores by replication of each cell and selection, where they were kept."""
        scores = self.artifact.chosen
        if scores is None:
            return {}
        rounded = scores["epsilon"].map({e: float(f"{e:.7g}") for e in scores["epsilon"].unique()})
        return rows_by(scores.assign(epsilon=rounded), [*_PLACE, "selection"])


def _but_lonely(summary: pd.DataFrame) -> pd.DataFrame:
    """Return a summary without ranks of methods that were compared with no other one."""
    keys = [key for key in COMPARISON if key in summary]
    lonely = summary.groupby(keys, dropna=False)["rank"].transform("count") < 2
    return summary.assign(**{c: summary[c].astype(object).mask(lonely, np.nan) for c in _COMPARED if c in summary})


def _texts(rows: list[dict], key: str) -> str:
    return "; ".join(dict.fromkeys(str(row[key]) for row in rows if row[key]))


def _with_manifest(name: str, facts: Mapping) -> dict:
    """Facts about a data set as it was run, with the fingerprint that its manifest promises under ``manifest``.

    Facts alone are returned where the manifest is gone.
    """
    try:
        return {**facts, "manifest": load_manifest(member(name).name).fingerprint}
    except LpbenchError:  # of an author's set that is gone
        return {**facts}


@cache
def _cards() -> dict[str, dict]:
    return catalog.heads("method", ("privacy",))


def in_markdown(table: PlainTable) -> str:
    """Return a table of texts in Markdown."""
    rows = [table.heads, ["---"] * len(table.heads), *table.rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([f"**{table.legend}**", "", *lines, "", table.remark]).rstrip()
