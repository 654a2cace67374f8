"""The blocks of a submission, and their scores as ``claimed.csv`` has them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner
from lpbench.experiments.method import Method
from lpbench.experiments.plan import Plan
from lpbench.experiments.run import run_blocks
from lpbench.experiments.single_method import alone
from lpbench.experiments.store import Store
from lpbench.experiments.submissions import COLUMNS, SCORE
from lpbench.pipeline import describe_missing


def own_sweep(method: Method) -> str:
    """A sentence if a method scores its sweeps itself: there test labels would be within its reach."""
    kinds = [kind for kind in method.estimator_class.__mro__ if not kind.__module__.startswith("lpbench.")]
    found = [name for name in ("learn_grid", "learn_grids") if any(name in vars(kind) for kind in kinds)]
    return f"a submission is fitted point by point and has no {found[0]} of its own" if found else ""


def plan_of(method: Method, experiment: str) -> dict[str, Plan]:
    """``data set mask`` -> plan of the block of a method alone, at its one setting, whose data are at hand."""
    plan = alone(method, catalogue.experiment(experiment), f"submissions/{method.name}").plan
    if not plan.blocks:
        raise ConfigurationError(describe_missing(plan.missing))
    return {f"{entry.dataset} {entry.mask}": Plan((entry,)) for entry in plan.entries if entry.block}


def scores_of(blocks: dict[str, Plan], chosen: Collection[str], folder: Path, workers: int | None) -> pd.DataFrame:
    """Run chosen blocks and return their scores, columns of ``claimed.csv``; one without is a ConfigurationError."""
    store = Store(folder / "store")
    run = run_blocks([b for name in chosen for b in blocks[name].blocks], store, Runner(workers=workers))
    if run.failed:
        raise ConfigurationError("; ".join(outcome.line() for outcome in run.failed))
    found = assemble([e for name in chosen for e in blocks[name].entries], store)
    if (bad := found[found["status"] != "ok"]).size:
        raise ConfigurationError(f"{bad['dataset'].iloc[0]}: {bad['reason'].iloc[0]}")
    texts = found.astype(dict.fromkeys(("dataset", "mask", "metric"), str))
    return texts[COLUMNS].sort_values(SCORE, ignore_index=True)
