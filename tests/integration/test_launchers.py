import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from lpbench.cli.main import main

SWEEP = ["-m", "method=private_mean,label_dt", "epsilon=1", "replications=2", "runner=serial"]


def summaries(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.glob("single/**/summary.csv"))}


def logged(folder: Path) -> pd.DataFrame:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    try:
        return mlflow.search_runs(experiment_names=["single"])
    finally:
        mlflow.set_tracking_uri(None)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_launchers_give_the_same_numbers(tmp_path, launcher, capsys):
    pytest.importorskip(f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher", reason="make engines")
    assert main([*SWEEP, f"results_dir={tmp_path / 'here'}", "tracking=none"]) == 0
    options = [f"hydra/launcher={launcher}"]
    if launcher == "submitit_local":
        options += ["hydra.launcher.timeout_min=5", "hydra.launcher.cpus_per_task=1"]
    assert main([*SWEEP, f"results_dir={tmp_path / 'there'}", *options]) == 0
    assert "2 runs written to MLflow" in capsys.readouterr().out
    expected = summaries(tmp_path / "here")
    assert len(expected) == 2 and summaries(tmp_path / "there") == expected
    assert len(logged(tmp_path / "there")) == 2


@pytest.mark.slow
def test_cell_that_fails_elsewhere_is_a_failure_here(tmp_path, capsys):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="make engines")
    options = [f"results_dir={tmp_path}", "tracking=none", "hydra/launcher=joblib"]
    # a time limit that no cell can meet
    assert main([*SWEEP, *options, "experiment.work_limit=1e-6"]) == 1
    assert "over the time limit of 1e-06 s" in capsys.readouterr().err


@pytest.mark.slow
def test_slurm_configuration_composes(capsys):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="make engines")
    assert (
        main(["hydra/launcher=slurm", "hydra.launcher.partition=short", "--cfg", "hydra", "-p", "hydra.launcher"]) == 0
    )
    text = capsys.readouterr().out
    assert "SlurmLauncher" in text and "partition: short" in text and "array_parallelism: 64" in text


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local", "submitit_slurm", "slurm"])
def test_missing_launcher_is_named_with_its_extra(launcher, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "launcher" in name else found(name))
    assert main(["-m", f"hydra/launcher={launcher}", "epsilon=1,2"]) == 2
    assert "'.[launchers]'" in capsys.readouterr().err
