"""Everything logged to MLflow is rebuilt from results, and logging twice changes nothing."""

import errno
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from lpbench.analysis.alternatives import DIFFERENT, EQUIVALENT
from lpbench.cli.main import main
from lpbench.errors import TrackingError
from lpbench.experiments.config import Tracking
from lpbench.experiments.results import RECORD
from lpbench.paths import COMMITTED
from lpbench.pipeline import track
from lpbench.tracking import experiment_pages, rebuild, tracking_uri
from scripts import mlflow_questions

COLUMNS = (
    "experiment,panel,dataset,mask,method,epsilon,x,selection,params,metric,mean,std,se,n,ratio,rank,best,"
    "marked,p_best_is_better"
)


def artifact(root, methods=("krr", "hist"), mean=1.0, epsilons=(1.0, 2.0)):
    folder = root / "paper" / "table9"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        f'paper/table9,,abalone,aligned,{m},{e},,{s},"{{""depth"":2}}",mse,{mean + i},0.1,0.01,50,1.5,1,True,False,0.5'
        for i, m in enumerate(methods)
        for e in epsilons
        for s in ("oracle", "tuning_free")
    ]
    (folder / "summary.csv").write_text("\n".join([COLUMNS, *rows]))
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
    root = tmp_path_factory.mktemp("results")
    uri = tracking_uri(None, root)
    assert rebuild(uri, root, [artifact(root)]) == 6
    return client_of(uri), uri, root


def client_of(uri):
    from mlflow import MlflowClient  # takes seconds to load

    return MlflowClient(uri)


def children(client):
    return by_rank(client.search_runs([client.get_experiment_by_name("paper").experiment_id]))


def by_rank(runs):
    """Runs of artifacts, and of cells."""
    return tuple([r for r in runs if r.data.tags["lpbench.kind"] == kind] for kind in ("artifact", "cell"))


def test_parent_holds_files_and_children_numbers(logged):
    client, _, _ = logged
    (parent,), runs = children(client)
    assert parent.info.status == "FINISHED" and parent.info.end_time - parent.info.start_time == 2500
    assert {f.path for f in client.list_artifacts(parent.info.run_id)} == {"data", "table9.svg", "summary.json"}
    assert {f.path for f in client.list_artifacts(parent.info.run_id, "data")} == {"data/summary.csv"}
    assert parent.data.tags["lpbench.commit"] == "deadbeef" and parent.data.tags["version.numpy"] == "2"
    assert [entry.dataset.name for entry in parent.inputs.dataset_inputs] == ["abalone"]
    note = parent.data.tags["mlflow.note.content"]
    assert "| method | abalone |" in note and "| krr | 1 ±0.01 |" in note and "| hist | 2 ±0.01 |" in note
    assert "**Not as registered:** replications: 50 → 2" in note
    assert parent.data.tags["lpbench.deviations"] == "replications: 50 → 2"
    assert parent.data.metrics == {"rank/krr": 1.0, "rank/hist": 1.0, "seconds": 2.5}
    krr = {r.data.params["epsilon"]: r for r in runs if r.data.tags["lpbench.method"] == "krr"}
    assert set(krr) == {"1", "2"}
    for epsilon, run in krr.items():
        assert "epsilon" not in run.data.metrics, "the budget is told once, as a parameter"
        assert run.info.run_name == f"krr ε={epsilon} abalone aligned"
        assert run.data.metrics["mse"] == 1.0 and run.data.metrics["tuning_free/se"] == 0.01
        assert run.data.metrics["seconds"] == 2.5 and run.info.end_time - run.info.start_time == 2500
        assert run.data.params["dataset"] == "abalone"


def test_experiment_opens_as_model_training(logged):
    client, uri, _ = logged
    experiment = client.get_experiment_by_name("paper")
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert experiment_pages(uri) == {
        "paper": f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=runs"
    }
    view = json.loads(experiment.tags["mlflow.sharedViewState.runs"])
    assert {"metrics.`equivalent`", "metrics.`compared`", "tags.`lpbench.verdict`"} <= {*view["selectedColumns"]}
    links = dict(re.findall(r"\[(\w+)\]\(\S+viewStateShareKey=(\w+)\)", experiment.tags["mlflow.note.content"]))
    assert links == {"different": "different", "fail": "fails"}
    for name in links.values():
        view = json.loads(experiment.tags[f"mlflow.sharedViewState.{name}"])
        assert view["orderByKey"], "in the order of creation the runs of cells hide below those of artifacts"
        client.search_runs([experiment.experiment_id], view["searchFilter"], order_by=[view["orderByKey"]])


@pytest.mark.slow
def test_a_long_description_is_whole_in_a_file_that_it_links(tmp_path):
    found = artifact(tmp_path, methods=["krr"], epsilons=[float(k) for k in range(1, 100)])
    uri = tracking_uri(None, tmp_path)
    rebuild(uri, tmp_path, [found])
    client = client_of(uri)
    (parent,), _ = children(client)
    note, place = parent.data.tags["mlflow.note.content"], f"runs/{parent.info.run_id}/artifacts/description.md"
    assert len(note) <= 8000 and f"[All of it](#/experiments/{parent.info.experiment_id}/{place})" in note
    whole = Path(client.download_artifacts(parent.info.run_id, "description.md")).read_text()
    assert whole.count("| krr | 1 ±0.01 |") == 99
    shown = note.split("\n\n")[:-1]
    assert shown == whole.split("\n\n")[: len(shown)], "whole paragraphs"


def test_logging_again_writes_nothing_and_changed_results_replace_the_old_runs(logged):
    client, uri, root = logged
    assert rebuild(uri, root, [artifact(root)]) == 0
    assert [len(r) for r in children(client)] == [1, 4]
    assert rebuild(uri, root, [artifact(root, methods=("krr", "hist", "dt"), mean=3.0)]) == 7
    assert [len(r) for r in children(client)] == [1, 6]


def test_interrupted_logging_is_repaired(logged):
    client, uri, root = logged
    experiment = client.get_experiment_by_name("paper")
    tags = {"lpbench.artifact": "paper/table9", "lpbench.kind": "artifact", "lpbench.content": "of a killed process"}
    client.create_run(experiment.experiment_id, tags=tags)
    assert rebuild(uri, root, [artifact(root, mean=7.0)]) == 5
    assert [len(r) for r in children(client)] == [1, 4]


@pytest.mark.slow
def test_many_cells_are_a_run_each_and_looked_up_in_one_search(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    found = [artifact(tmp_path / f"{k}", methods=("krr",), epsilons=(1.0,)) for k in range(12)]
    records = [(folder, {**record, "group": f"cell {k}"}) for k, (folder, record) in enumerate(found)]
    searches, search = [], MlflowClient.search_runs
    monkeypatch.setattr(MlflowClient, "search_runs", lambda *a, **k: searches.append(1) or search(*a, **k))
    uri = tracking_uri(None, tmp_path)
    assert rebuild(uri, tmp_path, records[1:]) == 11
    assert rebuild(uri, tmp_path, records) == 1
    assert len(searches) == 2
    assert rebuild(uri, tmp_path, records) == 0
    assert len(searches) == 2, "nothing is asked of MLflow where everything is there"
    found = client_of(uri).search_runs(["1"], "tags.`lpbench.artifact` = 'cell 7'")
    assert len(found) == 1 and found[0].data.metrics["mse"] == 1.0
    assert found[0].data.tags["lpbench.dataset"] == "abalone" and "mlflow.parentRunId" not in found[0].data.tags


@pytest.mark.slow
def test_remote_server(tmp_path):
    """A tracking server on this machine; the numbers, files and tags come back through it."""
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
        found = artifact(tmp_path, methods=tuple(f"m{i}" for i in range(10)))
        assert [rebuild(address, tmp_path, [found]) for _ in range(2)] == [22, 0]
        client = client_of(address)
        (parent,), cells = children(client)
        assert len(cells) == 20
        assert {f.path for f in client.list_artifacts(parent.info.run_id)} >= {"data", "table9.svg"}
        options = ["runner=serial", "replications=1", "method=private_mean", "tracking=mlflow"]
        assert main([*options, f"tracking.uri={address}", f"results_dir={tmp_path / 'cell'}"]) == 0
        found = client.search_runs([client.get_experiment_by_name("single").experiment_id])
        assert [run.data.tags["lpbench.method"] for run in found] == ["private_mean"]
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def test_a_deviating_run_stands_beside_the_registered_one(tmp_path):
    uri = tracking_uri(None, tmp_path)
    folder, record = artifact(tmp_path, methods=("krr",), epsilons=(1.0,))
    other, _ = artifact(tmp_path / "runs" / "seed=7", methods=("krr",), epsilons=(1.0,), mean=2.0)
    both = [(folder, record), (other, {**record, "folder": "runs/seed=7/paper/table9"})]
    assert rebuild(uri, tmp_path, both) == 6 and rebuild(uri, tmp_path, both) == 0
    client = client_of(uri)
    for name in ("paper", "quick/paper"):
        runs = by_rank(client.search_runs([client.get_experiment_by_name(name).experiment_id]))
        assert [len(found) for found in runs] == [1, 1]


def sqlite(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("fault", "said"),
    [("version", "version"), ("garbage", "not a database"), ("half made", "already exists"), ("cut", "malformed")],
)
def test_a_store_that_cannot_be_used_is_left_as_it_is_and_the_way_out_is_said(tmp_path, fault, said):
    folder, record = artifact(tmp_path)
    file, uri = tmp_path / "mlflow.db", tracking_uri(None, tmp_path)
    if fault in ("version", "cut"):
        rebuild(tracking_uri(None, tmp_path / "other"), tmp_path, [(folder, record)])
        content = (tmp_path / "other" / "mlflow.db").read_bytes()
        file.write_bytes(content if fault == "version" else content[:40_000])
    if fault == "version":
        sqlite(file, "UPDATE alembic_version SET version_num = 'ffff00001111'")
    if fault == "garbage":
        file.write_bytes(b"no database, and long enough to be seen" * 100)
    if fault == "half made":
        sqlite(file, "CREATE TABLE mcp_servers (name TEXT)")
    folder, record = artifact(tmp_path, mean=7.0)  # not logged yet
    before = file.read_bytes()
    # where everything is logged MLflow is not asked, so something else is to be logged
    with pytest.raises(TrackingError, match=f"{said}.*move the file away.*upgrade MLflow.*tracking=none"):
        rebuild(uri, tmp_path, [(folder, record), (folder, {**record, "group": "another"})])
    # of half a store MLflow tries to make a whole one
    assert file.read_bytes() == before or fault == "half made"


def test_a_store_that_could_not_be_made_is_not_there(tmp_path, monkeypatch):
    found, replace = artifact(tmp_path), os.replace

    def interrupted(*args):
        raise OSError(errno.ENOSPC, "No space left on device", str(args[0]))

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(TrackingError, match="disk full"):
        rebuild(tracking_uri(None, tmp_path), tmp_path, [found])
    assert not [path.name for path in tmp_path.iterdir() if path.suffix in (".db", ".tmp") or "journal" in path.name]
    monkeypatch.setattr(os, "replace", replace)
    assert rebuild(tracking_uri(None, tmp_path), tmp_path, [found]) == 6


@pytest.mark.parametrize("name", ["what?", "%41%20x"])
def test_runs_in_a_folder_with_signs_are_logged_there_and_nowhere_else(name, tmp_path):
    folder = tmp_path / name
    assert main(["method=private_mean", "epsilon=1", "replications=1", f"results_dir='{folder}'"]) == 0
    assert (folder / "mlflow.db").is_file() and [p.name for p in tmp_path.iterdir()] == [name]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A store with a curve, a table with printed numbers and scores by replication, a drawing, and two settings."""
    root = tmp_path_factory.mktemp("kinds")
    uri, records = tracking_uri(None, root), {}

    def add(name, rows=None, config_hash="abc", **config):
        folder, record = root / name, artifact(root / "other")[1]
        folder.mkdir(parents=True, exist_ok=True)
        if rows is not None:
            table = artifact(root / "other", methods=("krr[depth=3]",), epsilons=(1.0,))[0] / "summary.csv"
            one = pd.read_csv(table).iloc[:1].assign(experiment=name)
            pd.concat([one.assign(**row) for row in rows]).to_csv(folder / "summary.csv", index=False)
        (folder / "picture.svg").write_text("<svg/>")
        config = {"seed": 1, "experiment": {"name": name, "replications": 50, **config}}
        records[name, config_hash] = (folder, {**record, "name": name, "config": config, "config_hash": config_hash})
        return folder

    add("curves/whole", [{"x": x, "mean": x} for x in (10.0, 20.0, 40.0)])
    add("curves/parts", [{"x": x, "mean": x} for x in (0.5, 1.0, 4.0)])
    table = add("histoftree/table1", [{"method": m} for m in ("krr[depth=3]", "hist")])
    cell = {"panel": "", "dataset": "abalone", "mask": "aligned", "epsilon": 1.0}
    pd.DataFrame(
        [
            cell | {"method": "krr[depth=3]", "published": 2.0, "reproduced": 2.1, "relative_difference": 0.05},
            cell | {"method": "hist", "published": 2.0, "reproduced": 8.0, "relative_difference": 3.0},
        ]
    ).assign(x="", difference=0, se=0.0, note="").to_csv(table / "comparison.csv", index=False)
    whole = pd.read_csv(table / "summary.csv", keep_default_na=False).drop(columns="mean")
    chosen = [whole.assign(replication=k, value=float(k), x=float("nan")) for k in range(3)]
    pd.concat(chosen).to_parquet(table / "chosen.parquet")
    add("lpct/figure1", kind="drawing")
    rebuild(uri, root, records.values())
    client = client_of(uri)

    def runs(name):
        found = client.search_runs([client.get_experiment_by_name(name.partition("/")[0]).experiment_id])
        return by_rank([r for r in found if r.data.tags["lpbench.artifact"] == name])

    return client, add, records, runs, lambda: rebuild(uri, root, records.values())


@pytest.mark.parametrize(("name", "steps"), [("curves/whole", [10, 20, 40]), ("curves/parts", [0, 1, 2])])
def test_steps_are_places_on_the_axis_where_all_are_whole(kinds, name, steps):
    client, _, _, runs, _ = kinds
    (run,) = runs(name)[1]
    assert sorted(m.step for m in client.get_metric_history(run.info.run_id, "mse")) == steps
    assert ("x" in run.data.metrics) == (name == "curves/parts")


def test_what_a_run_is_of_is_a_column_each(kinds):
    (run,) = kinds[3]("curves/whole")[1]
    assert run.data.params == {
        "dataset": "abalone", "mask": "aligned", "method": "krr", "method.depth": "3", "epsilon": "1", "seed": "1",
        "replications": "50", "selection": "oracle", "n": "10", "privacy": "semi_feature_ldp", "n_protected": "1",
    }  # fmt: skip
    assert {r.data.params["selected.depth"] for r in kinds[3]("histoftree/table1")[1]} == {"2"}
    tags = run.data.tags
    assert tags["mlflow.source.git.commit"] == "deadbeef" and tags["mlflow.user"] and tags["mlflow.source.name"]


def test_scores_by_replication_are_steps(kinds):
    client, _, _, runs, _ = kinds
    for run in runs("histoftree/table1")[1]:
        history = client.get_metric_history(run.info.run_id, "replication/mse")
        assert sorted((m.step, m.value) for m in history) == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_mlflow_answers_whether_a_number_is_reproduced(kinds):
    client, _, _, runs, _ = kinds
    (parent,), children = runs("histoftree/table1")
    assert (parent.data.metrics["equivalent"], parent.data.metrics["compared"]) == (1, 2)
    assert parent.data.tags["lpbench.verdict"] == "1 of 2 equivalent"
    assert "1 of 2 printed numbers are equivalent to ours" in parent.data.tags["mlflow.note.content"]
    found = {r.data.params["method"]: (r.data.tags["lpbench.verdict"], r.data.metrics["distance"]) for r in children}
    assert found == {"krr": (EQUIVALENT, pytest.approx(0.05)), "hist": (DIFFERENT, 3.0)}
    missed = client.search_runs([parent.info.experiment_id], "tags.`lpbench.verdict` = 'different'")
    assert [r.data.params["method"] for r in missed] == ["hist"]


def test_a_drawing_is_a_parent_with_its_picture(kinds):
    client, _, _, runs, _ = kinds
    (parent,), children = runs("lpct/figure1")
    assert not children and [f.path for f in client.list_artifacts(parent.info.run_id)] == ["picture.svg"]


def test_parents_come_first_whenever_they_are_logged(kinds):
    client, add, _, _, log = kinds
    add("curves/later", [{"method": f"m{k}"} for k in range(5)])
    assert log() == 6
    found = client.search_runs([client.get_experiment_by_name("curves").experiment_id])  # in MLflow's default order
    kinds = [r.data.tags["lpbench.kind"] for r in found]
    assert sorted(kinds[:4]) == ["artifact"] * 3 + ["paper"] and kinds[4:] == ["cell"] * 7
    assert found[0].info.run_name == "later"


def test_what_a_run_wrote_is_logged_in_the_order_of_its_jobs(tmp_path):
    names, (_, record) = [f"lpct/figure{k}" for k in range(3)], artifact(tmp_path / "other")
    jobs = [SimpleNamespace(name=name, folder=name) for name in names]
    for name in (names[2], names[0]):
        (tmp_path / name).mkdir(parents=True)
        config = {"seed": 1, "experiment": {"name": name, "replications": 50, "kind": "drawing"}}
        (tmp_path / name / RECORD).write_text(json.dumps({**record, "name": name, "config": config}))
    assert track(jobs, tmp_path, Tracking("mlflow")) == 3
    client = client_of(tracking_uri(None, tmp_path))
    found = client.search_runs([client.get_experiment_by_name("lpct").experiment_id])  # in MLflow's default order
    assert [(r.info.run_name, r.info.status) for r in found] == [
        (n, "FINISHED") for n in ("lpct", "figure0", "figure2")
    ]


def test_runs_of_another_configuration_stay(kinds):
    _, add, records, runs, log = kinds
    (before,), _ = runs("lpct/figure1")
    del records["lpct/figure1", "abc"]
    add("lpct/figure1", config_hash="other", kind="drawing", title="another")
    assert log() == 1
    assert before.info.run_id in {r.info.run_id for r in runs("lpct/figure1")[0]} and len(runs("lpct/figure1")[0]) == 2


def test_a_folder_that_was_moved_keeps_its_files_where_it_is(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    folder, record = artifact(old, methods=("krr",), epsilons=(1.0,))
    rebuild(tracking_uri(None, old), old, [(folder, record)])
    old.rename(new)
    moved = [(new / folder.relative_to(old), record)]
    assert rebuild(tracking_uri(None, new), new, moved) == 3
    assert rebuild(tracking_uri(None, new), new, moved) == 0 and not old.exists()
    client = client_of(tracking_uri(None, new))
    (parent,), _ = children(client)
    assert f"{new}/" in parent.info.artifact_uri
    assert {f.path for f in client.list_artifacts(parent.info.run_id)} == {"data", "table9.svg", "summary.json"}


@pytest.mark.parametrize(
    ("argv", "last"),
    [
        (["runner=serial", "replications=1", "method=private_mean"], "mse"),
        (["reproduce", "histoftree/figure1"], "page: "),
    ],
)
def test_numbers_are_printed_before_they_are_logged(tmp_path, monkeypatch, capsys, argv, last):
    def refuse(*args):
        print("logging")
        raise TrackingError("the server is down")

    monkeypatch.setattr("lpbench.tracking.rebuild", refuse)
    where = ["--results", str(tmp_path)] if argv[0] == "reproduce" else [f"results_dir={tmp_path}"]
    assert main([*argv, *where]) == 0
    out, err = capsys.readouterr()
    assert last in out.partition("logging")[0] and out.endswith("logging\n")
    assert err.count("warning: not logged to MLflow: the server is down") == 1


@pytest.fixture(scope="module")
def of_lpct(tmp_path_factory):
    """The committed tables of claims and numbers, beside one small artifact of the paper."""
    root = tmp_path_factory.mktemp("lpct")
    for name in ("verdicts.csv", "claims_instances.csv", "numbers.csv"):
        (root / name).write_bytes((COMMITTED / name).read_bytes())
    folder, record = artifact(root / "other", epsilons=(1.0,))
    (root / "lpct").mkdir()
    folder.rename(root / "lpct" / "table2")
    text = (root / "lpct" / "table2" / "summary.csv").read_text().replace("paper/table9", "lpct/table2")
    (root / "lpct" / "table2" / "summary.csv").write_text(text)
    return root, [(root / "lpct" / "table2", {**record, "name": "lpct/table2"})]


def everything(client):
    """All that runs say, but for times and ids."""
    found = {}
    for run in client.search_runs([client.get_experiment_by_name("lpct").experiment_id]):
        tags = {k: v for k, v in run.data.tags.items() if k not in ("mlflow.parentRunId", "mlflow.note.content")}
        above = client.get_run(run.data.tags.get("mlflow.parentRunId", run.info.run_id)).info.run_name
        files = [f.path for f in client.list_artifacts(run.info.run_id)]
        data = [(d.dataset.name, d.dataset.digest) for d in run.inputs.dataset_inputs]
        found[run.info.run_name] = tags, run.data.params, run.data.metrics, above, files, data, run.info.status
    return found


def test_a_paper_has_its_claims_and_totals_and_is_the_same_when_it_is_made_again(of_lpct):
    root, records = of_lpct
    stores = [f"sqlite:///{root}/{name}.db" for name in ("one", "two")]
    assert [rebuild(uri, root, records) for uri in stores] == [1 + 21 + 1 + 2] * 2
    one, two = (everything(client_of(uri)) for uri in stores)
    assert one == two
    (paper,) = [run for run in one.values() if run[0]["lpbench.kind"] == "paper"]
    assert paper[2]["compared"] == 1035 and paper[2]["claims_hold"] == 13 and "pages" not in paper[4]
    claims = {name: run for name, run in one.items() if run[0]["lpbench.kind"] == "claim"}
    first = [run for run in claims.values() if run[0]["lpbench.counted_apart"] == "no"]
    assert 0 < len(first) < 21 and paper[2]["claims_fail"] == sum(run[1]["here"] == "fails" for run in first)
    outcome = f"{paper[2]['equivalent']:.0f} of 1035 equivalent, 13 of {len(first)} claims hold"
    assert paper[0]["lpbench.verdict"] == outcome
    tags, params, metrics, above, *_ = claims["fails · L19"]
    assert params == {"claim": "L19", "in_print": "fails", "here": "fails"} and "1035" in above
    assert metrics["power"] == 1 and metrics["ours_low"] <= metrics["ours"] <= metrics["ours_high"]
    assert tags["mlflow.runColor"] == "#D55E00"


def test_p_values_of_every_pair_are_a_table(kinds):
    client, _, _, runs, _ = kinds
    ((parent,), cells) = runs("histoftree/table1")
    files = sorted(file.path for file in client.list_artifacts(parent.info.run_id, "tests"))
    tables = [pd.read_json(client.download_artifacts(parent.info.run_id, file), orient="split") for file in files]
    found = [[(row["than"], row["abalone aligned"]) for row in table.to_dict("records")] for table in tables]
    assert files == ["tests/hist.json", "tests/krr depth 3.json"], "a table a method, of one page as a rule"
    assert found == [[("krr[depth=3]", 1.0)], [("hist", 1.0)]], "all replications are equal"
    assert all({"rank", "marked", "best", "p_best_is_better"} <= {*run.data.metrics} for run in cells)


def test_every_run_of_one_version_of_a_data_set_is_found_by_its_fingerprint(logged):
    client, _, _ = logged
    ids = [client.get_experiment_by_name("paper").experiment_id]
    found = client.search_runs(ids, f"dataset.name = 'abalone' and dataset.digest = '{'f' * 36}'")
    artifacts, cells = by_rank(found)
    assert artifacts and len(cells) == 4 and not client.search_runs(ids, "dataset.digest = 'another'")


def test_the_five_questions_are_answered_by_the_client_alone(kinds, of_lpct, tmp_path):
    rebuild(f"sqlite:///{tmp_path}/mlflow.db", tmp_path, [artifact(tmp_path, epsilons=(1.0,))])
    client = client_of(f"sqlite:///{tmp_path}/mlflow.db")
    assert mlflow_questions.best_setting(client) == ("krr ε=1 abalone aligned", 1.0, {"depth": "2"})
    assert mlflow_questions.of_version(client) == {"f" * 36: 3}
    table = ("krr[depth=3]", "hist", 1.0, "histoftree/table1")
    assert mlflow_questions.p_values(kinds[0], *table) == {"abalone aligned": 1.0}
    found = mlflow_questions.missed(kinds[0], "histoftree/table1")
    assert [(row["published"], row["reproduced"]) for row in found] == [(2.0, 8.0)] and "hist" in found[0]["run"]
    root, records = of_lpct
    rebuild(f"sqlite:///{root}/questions.db", root, records)
    failing = mlflow_questions.failing(client_of(f"sqlite:///{root}/questions.db"))
    assert "L19" in [name for name, *_ in failing] and all(in_print and text for _, in_print, text in failing)


def test_cells_of_a_sweep_are_below_one_run(tmp_path):
    folder, record = artifact(tmp_path)
    place = tmp_path / "single" / "sweep-abc"
    place.parent.mkdir()
    folder.rename(place)
    assert rebuild(tracking_uri(None, tmp_path), tmp_path, [(place, record | {"name": "single", "folder": "a"})]) == 5
    found = client_of(tracking_uri(None, tmp_path)).search_runs(["1"])
    kinds = [run.data.tags["lpbench.kind"] for run in found]
    assert sorted(kinds) == ["cell"] * 4 + ["sweep"]
    (parent,) = [run for run in found if run.data.tags["lpbench.kind"] == "sweep"]
    assert parent.info.run_name == "sweep-abc" and {"rank/krr", "rank/hist"} <= {*parent.data.metrics}


@pytest.mark.slow
def test_a_sweep_logs_a_table_with_tests_ranks_and_a_picture_and_each_cell_once(tmp_path, monkeypatch):
    words = ["dataset=diabetes_progression", "method=private_mean,hist", "epsilon=1,2", "replications=5"]
    assert main(["-m", *words, f"results_dir={tmp_path}"]) == 0
    client = client_of(tracking_uri(None, tmp_path))
    found = client.search_runs([client.get_experiment_by_name("single").experiment_id])
    (parent,) = [run for run in found if run.data.tags["lpbench.kind"] == "sweep"]
    cells = [run for run in found if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert len(cells) == 4 == len(found) - 1
    assert parent.info.run_name == "Sweep of private_mean, hist"
    assert all("p_best_is_better" in run.data.metrics or run.data.metrics["best"] for run in cells)
    for one, other in (("private_mean", "hist"), ("hist", "private_mean")):
        table = client.download_artifacts(parent.info.run_id, f"tests/{one}.json")
        tests = pd.read_json(table, orient="split")
        assert {*tests["than"]} == {other} and tests["diabetes_progression aligned"].between(0, 1).all()
    files = {Path(file.path).suffix for file in client.list_artifacts(parent.info.run_id)}
    assert {".svg", ".png", ".json"} <= files
    one = everything_of(client, found)
    assert main(["-m", *words, f"results_dir={tmp_path}"]) == 0
    again = client.search_runs([parent.info.experiment_id])
    assert everything_of(client, again) == one, "the same sweep is logged once"


def everything_of(client, runs):
    return {run.info.run_id: (run.info.run_name, run.data.params, run.data.metrics) for run in runs}
