"""Pack a method of one's own as a submission: its files, what it promises, and every score that it claims."""

import hashlib
import shutil
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

import lpbench
from lpbench.audit.recorded import recorded_run
from lpbench.audit.table import EPSILON, estimator_of
from lpbench.disk import write_text
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog, fits
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import ROOT_SEED, Runner
from lpbench.experiments.method import Method
from lpbench.experiments.plan import Plan
from lpbench.experiments.run import run_blocks
from lpbench.experiments.single_method import alone
from lpbench.experiments.store import Store
from lpbench.experiments.submissions import (
    ABOUT,
    CLAIMED,
    CLAIMED_COLUMNS,
    REQUIREMENTS,
    SCORE,
    SUBMISSIONS_FOLDER,
    Submission,
)
from lpbench.paths import own_folders
from lpbench.pipeline import describe_missing

#: Libraries whose versions a submission states.
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def pack(
    name: str,
    experiment: str,
    *,
    authors: Sequence[str],
    license: str,
    paper: str,
    scratch: Path,
    folder: Path = SUBMISSIONS_FOLDER,
    workers: int | None = None,
) -> Submission:
    """Write ``<folder>/<name>`` from a plug-in run on all blocks of an experiment; nothing there is overwritten."""
    source = _source(name)
    target = Submission(folder / name)
    if target.folder.exists():
        raise ConfigurationError(f"{target.folder} exists and is never overwritten; remove it, or choose another name")
    method = catalog.method(name)
    if wrong := own_sweep(method):
        raise ConfigurationError(wrong)
    claimed = scores_of(plan_of(method, experiment), scratch, workers)
    spent = recorded_run(estimator_of(name), EPSILON).spent
    about: dict[str, Any] = {
        "name": name,
        "authors": list(authors),
        "license": license,
        "paper": paper,
        "experiment": experiment,
        "guarantee": {"model": spent.model, "epsilon": spent.epsilon, "delta": spent.delta, "asked": EPSILON},
        "lpbench": lpbench.__version__,
        "seed": ROOT_SEED,
    }
    (target.folder / "methods").mkdir(parents=True)
    shutil.copyfile(source / f"{name}.py", target.folder / f"{name}.py")
    shutil.copyfile(source / "methods" / f"{name}.yaml", target.folder / "methods" / f"{name}.yaml")
    write_text(yaml.safe_dump(about, sort_keys=False, allow_unicode=True), target.folder / ABOUT)
    write_text("".join(f"{line}\n" for line in requirements()), target.folder / REQUIREMENTS)
    # pandas' shortest text that reads back as the same double
    write_text(claimed.to_csv(index=False, lineterminator="\n"), target.folder / CLAIMED)
    _ = target.method, target.about, target.claimed  # what does not read back is no submission
    return target


def _source(name: str) -> Path:
    """Folder of plug-ins with the method's module and YAML; ConfigurationError if there is none."""
    for folder in own_folders():
        if (folder / "methods" / f"{name}.yaml").is_file() and (folder / f"{name}.py").is_file():
            return folder
    raise ConfigurationError(
        f"{name}: no folder of plug-ins has {name}.py and methods/{name}.yaml; start with `lpbench new method {name}`"
    )


def requirements() -> list[str]:
    """Versions of the libraries here, each with a hash of its installed files."""
    return [f"{name}=={distribution(name).version}  # installed files: sha256:{_installed(name)}" for name in LIBRARIES]


def _installed(name: str) -> str:
    """Hash of the file list of an installed library, without files that the installer writes.

    ConfigurationError if it is not installed.
    """
    try:
        record = distribution(name).read_text("RECORD") or ""
    except PackageNotFoundError as error:
        raise ConfigurationError(f"{name} is not installed") from error
    files = [line for line in record.splitlines() if ",sha256=" in line]
    code_lines = sorted(line for line in files if ".dist-info/" not in line and not line.startswith(".."))
    return hashlib.sha256("\n".join(code_lines).encode()).hexdigest()


def own_sweep(method: Method) -> str:
    """Return a sentence if a method overrides how grids are scored, which would give it test labels; else ""."""
    verb = fits.own_sweep(method.estimator_class)
    return f"a submission is fitted point by point and has no {verb} of its own" if verb else ""


def plan_of(method: Method, experiment: str) -> Plan:
    """A block for each data set and mask whose data are at hand, of a method alone, at its one setting."""
    plan = alone(method, catalog.experiment(experiment), f"submissions/{method.name}").plan
    if not plan.blocks:
        raise ConfigurationError(describe_missing(plan.missing))
    return Plan(tuple({(entry.dataset, entry.mask): entry for entry in plan.entries if entry.block}.values()))


def scores_of(plan: Plan, folder: Path, workers: int | None) -> pd.DataFrame:
    """Run blocks and return their scores, columns of ``claimed.csv``; one without is a ConfigurationError."""
    store = Store(folder / "store")
    run = run_blocks(plan.blocks, store, Runner(workers=workers))
    if run.failed:
        raise ConfigurationError("; ".join(outcome.line() for outcome in run.failed))
    scores = assemble(plan.entries, store)
    if (bad := scores[scores["status"] != "ok"]).size:
        raise ConfigurationError(f"{bad['dataset'].iloc[0]}: {bad['reason'].iloc[0]}")
    texts = scores.astype(dict.fromkeys(("dataset", "mask", "metric"), str))
    return texts[CLAIMED_COLUMNS].sort_values(SCORE, ignore_index=True)
