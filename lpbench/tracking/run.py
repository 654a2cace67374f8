"""One MLflow run, whatever it is of, and how it is logged."""

import getpass
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from lpbench.analysis.alternatives import CANNOT_TELL, DIFFERENT, EQUIVALENT, NOT_COMPARABLE
from lpbench.analysis.claims import CANNOT_DECIDE, FAILS, HOLDS, NO_VERDICT, UNDECIDED

#: Kinds of runs, the values of the tag ``lpbench.kind``.
PAPER, ARTIFACT, CELL, CLAIM, SWEEP = "paper", "artifact", "cell", "claim", "sweep"
#: Outcome -> color in which the interface shows its runs.
COLORS = {
    **dict.fromkeys((EQUIVALENT, HOLDS), "#009E73"),
    **dict.fromkeys((DIFFERENT, FAILS), "#D55E00"),
    **dict.fromkeys((CANNOT_TELL, UNDECIDED, CANNOT_DECIDE), "#E69F00"),
    **dict.fromkeys((NOT_COMPARABLE, NO_VERDICT), "#7F7F7F"),
}
#: Status of complete runs: with a number, and of a cell that has none.
ENDED = ("FINISHED", "FAILED")
_BATCH = 900
#: The longest value of a run's tag, and of a parameter.
TAG, _PARAM = 8000, 5900
#: File of a description that is longer than a tag.
DESCRIPTION = "description.md"


@dataclass
class Run:
    """One run before it is logged.

    Parameters
    ----------
    name : str
        Name behind the outcome.
    kind : str
        One of :data:`PAPER`, :data:`ARTIFACT`, :data:`CELL`, :data:`CLAIM`, :data:`SWEEP`.
    outcome : str
        Verdict, with which the name in the list begins; empty without one.
    metrics : list of (name, value, step)
        Values that are no numbers are left out.
    paragraphs : sequence of str
        Description in Markdown.
    data : mapping
        Data set -> facts with its ``fingerprint``.
    seconds : float
        Time that the run took.
    reason : str
        Why the run failed; empty if it did not.
    """

    name: str
    kind: str
    outcome: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    metrics: list[tuple[str, object, int]] = field(default_factory=list)
    paragraphs: Sequence[str] = ()
    data: Mapping[str, Mapping] = field(default_factory=dict)
    files: Sequence[tuple[Path, str | None]] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = ""

    @property
    def all_tags(self) -> dict[str, str]:
        """Tags of the run, its kind, outcome and color among them."""
        source = {"mlflow.source.name": "lpbench report", "mlflow.source.type": "LOCAL", "mlflow.user": user()}
        tags = {"lpbench.kind": self.kind, **source, **self.tags}
        if self.outcome:
            tags["lpbench.verdict"] = self.outcome
        if self.outcome in COLORS:
            tags["mlflow.runColor"] = COLORS[self.outcome]
        if self.kind in (ARTIFACT, CLAIM):
            tags["mlflow.runType"] = "evaluation"  # by which the interface opens the paper that they are of
        if self.reason:
            tags["lpbench.reason"] = self.reason[:TAG]
        return tags

    def log(self, client, experiment_id: str, start: int, parent: str = "") -> str:
        """Log all but the end of the run, in one batch where it fits; return its id."""
        from mlflow.entities import Metric, RunTag

        tags = self.all_tags | ({"mlflow.parentRunId": parent} if parent else {})
        # a list shows 15 letters of a name: of an artifact's outcome the numbers alone
        outcome = self.outcome
        if self.kind == ARTIFACT:
            outcome = outcome.removesuffix(" equivalent").replace(" of ", "/")
        name = f"{outcome} · {self.name}" if outcome else self.name
        run_id: str = client.create_run(experiment_id, start_time=start, run_name=name, tags=tags).info.run_id
        text = self._description(client, experiment_id, run_id)
        values = [(_key(key), value, step) for key, value, step in self.metrics if is_finite(value)]
        metrics = [Metric(key, float(value), start, step) for key, value, step in values]  # type: ignore[arg-type]
        notes = [RunTag("mlflow.note.content", text)] if text else []
        for first in range(0, max(len(metrics), 1), _BATCH):
            batch, begins = metrics[first : first + _BATCH], not first
            client.log_batch(run_id, batch, params_of(self.params) if begins else [], notes if begins else [])
        if self.data:
            client.log_inputs(run_id, [*map(_data_set, *zip(*self.data.items(), strict=True))])
        for path, folder in self.files:
            client.log_artifact(run_id, str(path), folder)
        for file, table in self.tables.items():
            if len(table):
                client.log_table(run_id, table.astype(object).where(table.notna(), None), f"{_key(file).strip()}.json")
        return run_id

    def _description(self, client, experiment_id: str, run_id: str) -> str:
        """Return the description; of a long one what fits up to a blank line, and a link to the file with all of it.

        ``client`` is MLflow's, by which that file is logged to the run.
        """
        whole = "\n\n".join(filter(None, self.paragraphs))
        if len(whole) <= TAG:
            return whole
        client.log_text(run_id, whole + "\n", DESCRIPTION)
        link = f"[All of it](#/experiments/{experiment_id}/runs/{run_id}/artifacts/{DESCRIPTION}): `{DESCRIPTION}`."
        fits, blank, _ = whole[: TAG - len(link)].rpartition("\n\n")
        return fits + blank + link


@cache
def user() -> str:
    """Name of the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"


def is_finite(value: object) -> bool:
    """Return True for numbers, flags among them, that a metric can hold."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def _key(name: str) -> str:
    """Name of a metric or a file in the signs that MLflow allows."""
    return re.sub(r"[^\w./ -]", " ", name)


def params_of(values: Mapping[str, object]) -> list:
    """Parameters; texts as they are, anything else as JSON, what is None not at all."""
    from mlflow.entities import Param

    flat = {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in values.items() if v is not None}
    return [Param(k, v[:_PARAM]) for k, v in sorted(flat.items())]


def _data_set(name: str, facts: Mapping):
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source, digest = json.dumps({"dataset": name}), str(facts["fingerprint"])[:36]
    data = Dataset(name[:500], digest, "lpbench", source, profile=json.dumps(facts))
    return DatasetInput(data, [InputTag("mlflow.data.context", "training and test")])


def rows_by(table: pd.DataFrame, keys: Sequence[str]) -> dict[tuple, list[dict]]:
    """Rows of a table by some of their values; what is missing is None."""
    grouped: dict[tuple, list[dict]] = {}
    for row in table.astype(object).where(table.notna(), None).to_dict("records"):
        grouped.setdefault(tuple(row[key] for key in keys), []).append(row)
    return grouped


def in_one(verdicts: Iterable[str]) -> str:
    """Return the class that all printed numbers share, else how many are equivalent; empty without any."""
    classes = [*filter(None, verdicts)]
    return (
        classes[0]
        if len(set(classes)) == 1
        else f"{classes.count(EQUIVALENT)} of {len(classes)} equivalent"
        if classes
        else ""
    )
