"""One cell of the product data set x mask x method x budget."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd

from lpbench import reporting
from lpbench.experiments.assemble import assemble
from lpbench.experiments.catalogue import MethodSpec
from lpbench.experiments.plan import Entry, Plan
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.pipeline import Settings, describe_missing, method_card, record_of
from lpbench.tracking import log_artefact, tracking_uri


def run_single(plan: Plan, spec: MethodSpec, settings: Settings, *, selection: str = "oracle") -> int:
    """Run the plan of one cell, print its summary, write its folder and log it.

    Returns
    -------
    int
        Exit code: 0, or 1 if the cell has no result.
    """
    (entry,) = plan.entries
    if plan.missing:
        print(describe_missing(plan.missing), file=sys.stderr)
        return 1
    store = Store(settings.results_dir / "store")
    report = run_blocks(
        plan.blocks,
        store,
        backend="serial",
        cell_timeout=settings.cell_timeout,
        progress=settings.progress,
    )
    if report.failed:
        outcome = report.failed[0]
        print(
            f"error: {entry.method} on {entry.dataset}: {outcome.reason}; the traceback is in "
            f"{store.root / 'failures' / outcome.key}.json",
            file=sys.stderr,
        )
        return 1
    folder = cell_folder(settings.results_dir, entry)
    folder.mkdir(parents=True, exist_ok=True)
    scores = assemble(plan.entries, store)
    scores.to_parquet(folder / "scores.parquet", compression="zstd", index=False)
    experiment = {"name": "single", "kind": "single", "title": "One cell", "paper": "", "groups": [], "notes": []}
    reporting.write_artefact(experiment, scores, {entry.method: method_card(spec)}, folder)
    _print_summary(pd.read_csv(folder / "summary.csv", keep_default_na=False), selection, report.reused > 0)
    record = record_of(experiment, plan, scores, settings, stamp=plan.blocks[0].key)
    record["group"] = " ".join([entry.dataset, entry.mask, entry.method, f"epsilon={entry.epsilons[0]:g}"])
    (folder / "run.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if settings.tracking == "mlflow":
        log_artefact(tracking_uri(settings.tracking_uri, settings.results_dir), folder, settings.results_dir, record)
    return 0


def cell_folder(results_dir: Path, entry: Entry) -> Path:
    """Folder of one cell's results."""
    parts = [entry.dataset, entry.mask, entry.method, f"epsilon={entry.epsilons[0]:g}"]
    return results_dir.joinpath("single", *parts)


def _print_summary(summary: pd.DataFrame, selection: str, reused: bool) -> None:
    chosen = summary[summary["selection"] == selection]
    if chosen.empty:
        chosen = summary
        print(f"(no {selection} setting is defined for this method; showing what there is)")
    for row in chosen.to_dict("records"):
        # one replication has no standard error; two digits, without an exponent where they can do without
        spread = f" +- {float(format(float(row['se']), '.2g')):g}" if row["se"] != "" else ""
        print(
            f"{row['dataset']} {row['mask']} {row['method']} epsilon={row['epsilon']:g} {row['selection']}: "
            f"{row['metric']} {float(row['mean']):.6g}{spread} (n={row['n']}) {row['params']}"
            + ("  [stored]" if reused else "")
        )
