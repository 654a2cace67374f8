"""Everything logged to MLflow is rebuilt from results, and logging twice changes nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.errors import ConfigurationError
from lpbench.tracking import experiment_pages, log_artefact, rebuild, tracking_uri

COLUMNS = (
    "experiment,panel,dataset,mask,method,epsilon,x,selection,params,metric,mean,std,se,n,ratio,rank,best,"
    "significant,p_value"
).split(",")


def artefact(root, methods=("krr", "hist"), mean=1.0, epsilons=(1.0, 2.0)):
    folder = root / "paper" / "table9"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        [
            "paper/table9",
            "",
            "abalone",
            "aligned",
            m,
            e,
            None,
            s,
            '{"depth":2}',
            "mse",
            mean + i,
            0.1,
            0.01,
            50,
            1.5,
            1,
            True,
            False,
            0.5,
        ]
        for i, m in enumerate(methods)
        for e in epsilons
        for s in ("oracle", "tuning_free")
    ]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / "summary.csv", index=False)
    (folder / "table9.svg").write_text("<svg/>")
    record = {
        "name": "paper/table9",
        "config": {"seed": 1, "experiment": {"name": "paper/table9"}},
        "config_hash": "abc",
        "environment": {"commit": "deadbeef", "versions": {"numpy": "2"}},
        "seconds": {"|abalone|aligned|krr": 2.5},
        "datasets": {"abalone": {"fingerprint": "f" * 64, "n_train": 10, "n_features": 2}},
        "deviations": ["replications: 50 → 2"],
    }
    return folder, record


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    from mlflow import MlflowClient

    root = tmp_path_factory.mktemp("results")
    uri = tracking_uri(None, root)
    folder, record = artefact(root)
    assert log_artefact(uri, folder, root, record) == 5
    return MlflowClient(uri), uri, root


def children(client):
    experiment = client.get_experiment_by_name("paper")
    runs = client.search_runs([experiment.experiment_id])
    return [r for r in runs if "mlflow.parentRunId" not in r.data.tags], [
        r for r in runs if "mlflow.parentRunId" in r.data.tags
    ]


def test_parent_holds_files_and_children_numbers(logged):
    client, _, _ = logged
    (parent,), runs = children(client)
    assert parent.info.status == "FINISHED" and parent.info.end_time - parent.info.start_time == 2500
    assert {f.path for f in client.list_artifacts(parent.info.run_id)} == {"data", "table9.svg"}
    assert {f.path for f in client.list_artifacts(parent.info.run_id, "data")} == {"data/summary.csv"}
    assert parent.data.tags["lpbench.commit"] == "deadbeef" and parent.data.tags["version.numpy"] == "2"
    note = parent.data.tags["mlflow.note.content"]
    assert "| method | abalone |" in note and "| krr | 1 ±0.01 |" in note and "| hist | 2 ±0.01 |" in note
    assert "**Not as registered:** replications: 50 → 2" in note
    assert parent.data.tags["lpbench.deviations"] == "replications: 50 → 2"
    assert parent.data.metrics == {"rank/krr": 1.0, "rank/hist": 1.0, "seconds": 2.5}
    krr = {r.data.params["epsilon"]: r for r in runs if r.data.tags["lpbench.method"] == "krr"}
    assert set(krr) == {"1.0", "2.0"}
    for epsilon, run in krr.items():
        assert run.data.metrics["epsilon"] == float(epsilon)
        assert run.data.metrics["mse"] == 1.0 and run.data.metrics["tuning_free/se"] == 0.01
        assert run.data.metrics["seconds"] == 2.5 and run.info.end_time - run.info.start_time == 2500
        assert run.inputs.dataset_inputs[0].dataset.name == "abalone"


def test_experiment_opens_as_model_training_with_a_view_of_the_methods(logged):
    client, uri, _ = logged
    experiment = client.get_experiment_by_name("paper")
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    view = json.loads(experiment.tags["mlflow.sharedViewState.table9"])
    found = client.search_runs([experiment.experiment_id], json.loads(view["state"])["searchFilter"])
    assert len(found) == len(children(client)[1])
    assert experiment_pages(uri) == {
        "paper": f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning"
    }


def test_a_long_table_is_cut_at_a_row(tmp_path):
    from mlflow import MlflowClient

    folder, record = artefact(tmp_path, methods=["krr"], epsilons=[float(k) for k in range(1, 100)])
    uri = tracking_uri(None, tmp_path)
    log_artefact(uri, folder, tmp_path, record)
    (parent,), _ = children(MlflowClient(uri))
    note = parent.data.tags["mlflow.note.content"]
    assert len(note) <= 8000 and note.endswith("The rest is in `data/summary.csv` under Artifacts.\n")
    assert note.count("| krr | 1 ±0.01 |") == note.count("| krr |") > 10


def test_logging_again_writes_nothing(logged):
    client, uri, root = logged
    folder, record = artefact(root)
    assert rebuild(uri, root, [(folder, record)]) == 0
    assert [len(r) for r in children(client)] == [1, 4]


def test_changed_results_replace_the_old_runs(logged):
    client, uri, root = logged
    folder, record = artefact(root, methods=("krr", "hist", "dt"), mean=3.0)
    assert log_artefact(uri, folder, root, record) == 7
    assert [len(r) for r in children(client)] == [1, 6]


def test_interrupted_logging_is_repaired(logged):
    client, uri, root = logged
    folder, record = artefact(root, mean=7.0)
    experiment = client.get_experiment_by_name("paper")
    client.create_run(experiment.experiment_id, tags={"lpbench.artefact": "paper/table9"})
    assert log_artefact(uri, folder, root, record) == 5
    assert [len(r) for r in children(client)] == [1, 4]


def test_many_artefacts_are_looked_up_in_one_search(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    records = []
    for k in range(30):
        folder, record = artefact(tmp_path / f"{k}", methods=("krr",), epsilons=(1.0,))
        records.append((folder, {**record, "group": f"cell {k}"}))
    searches, search = [], MlflowClient.search_runs
    monkeypatch.setattr(MlflowClient, "search_runs", lambda *a, **k: searches.append(1) or search(*a, **k))
    uri = tracking_uri(None, tmp_path)
    assert rebuild(uri, tmp_path, records) == 30
    assert rebuild(uri, tmp_path, records) == 0
    assert len(searches) == 2
    found = MlflowClient(uri).search_runs(["1"], "tags.`lpbench.artefact` = 'cell 7'")
    assert len(found) == 1 and found[0].data.metrics["mse"] == 1.0


@pytest.mark.slow
def test_remote_server(tmp_path):
    """A tracking server on this machine; the numbers, files and tags come back through it."""
    from mlflow import MlflowClient

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{tmp_path}/server.db", "--artifacts-destination", f"{tmp_path}/files"]
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = subprocess.Popen(command + stores, env=environment, cwd=tmp_path, process_group=0)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.5)
        folder, record = artefact(tmp_path, methods=tuple(f"m{i}" for i in range(10)))
        assert rebuild(address, tmp_path, [(folder, record)]) == 21
        assert rebuild(address, tmp_path, [(folder, record)]) == 0
        client = MlflowClient(address)
        (parent,), cells = children(client)
        assert len(cells) == 20
        assert {f.path for f in client.list_artifacts(parent.info.run_id)} >= {"data", "table9.svg"}
        results = f"results_dir={tmp_path / 'cell'}"
        options = [
            "runner=serial",
            "replications=1",
            "method=private_mean",
            "tracking=mlflow",
            f"tracking.uri={address}",
        ]
        assert main([*options, results]) == 0
        found = client.search_runs([client.get_experiment_by_name("single").experiment_id])
        assert [run.data.tags["lpbench.method"] for run in found] == ["private_mean"]
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def test_server_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    folder, record = artefact(tmp_path)
    with pytest.raises(ConfigurationError, match=r"tracking\.uri='http://127\.0\.0\.1:9'"):
        log_artefact("http://127.0.0.1:9", folder, tmp_path, record)


def test_a_single_cell_is_a_single_run(tmp_path):
    from mlflow import MlflowClient

    folder, record = artefact(tmp_path, methods=("krr",), epsilons=(1.0,))
    uri = tracking_uri(None, tmp_path)
    assert log_artefact(uri, folder, tmp_path, {**record, "group": "abalone aligned krr epsilon=1"}) == 1
    ((run,), cells) = children(MlflowClient(uri))
    assert cells == [] and run.data.metrics["mse"] == 1.0 and run.data.tags["lpbench.dataset"] == "abalone"
