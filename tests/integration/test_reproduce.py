"""The main job: what is missing is listed, a server that is down stops nothing, and every experiment runs."""

import pytest

from lpbench.cli.main import main
from lpbench.cli.options import matching
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog as registry

#: A figure that needs no data.
SMALL = "histoftree/figure2c"


def test_report_lists_what_is_missing_and_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(tmp_path / "nothing"))
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    argv = ["reproduce", "lpct/table3", SMALL, "--results", str(tmp_path), "--replications", "1"]
    assert main([*argv, "--tracking", "none", "--backend", "serial"]) == 0
    assert "email: " in capsys.readouterr().out
    run = tmp_path / "runs" / "replications=1"
    assert "email" in (run / "report.md").read_text() and "email" in (run / "index.html").read_text()
    assert (run / SMALL / "summary.csv").is_file() and not (tmp_path / "reproduced").exists()


def test_a_tracking_server_that_is_down_stops_neither_run_nor_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    argv = ["reproduce", SMALL, "histoftree/figure1", "--results", str(tmp_path), "--replications", "1"]
    tracking = ["--tracking", "mlflow", "--tracking-uri", "http://127.0.0.1:9"]
    assert main([*argv, "--backend", "serial", *tracking]) == 0
    said = capsys.readouterr().err
    assert (
        said.count("warning: not logged to MLflow") == 1
        and "http://127.0.0.1:9" in said
        and "lpbench report --results" in said
    )
    run = tmp_path / "runs" / "replications=1"
    assert all((run / name / "run.json").is_file() for name in (SMALL, "histoftree/figure1"))
    assert (run / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(n for n, e in registry.heads("experiment", ("on_request",)).items() if not e["on_request"])
)
def test_every_experiment_runs(tmp_path, name):
    argv = ["reproduce", name, "--results", str(tmp_path), "--replications", "2", "--tracking", "none"]
    assert main([*argv, "--work-limit", "60"]) == 0
    assert len(list((tmp_path / "runs").glob(f"*/{name}/run.json"))) == 1


def test_what_runs_on_request_must_be_named_in_full():
    assert set(matching(["comparison/*"])) == {
        "comparison/regression", "comparison/classification", "comparison/unbalanced", "comparison/public_sample",
        "comparison/intervals", "comparison/free_regression", "comparison/free_classification",
    }  # fmt: skip
    named = ["comparison/sealed_regression", "histoftree/figure1"]
    assert matching(named) == named
    with pytest.raises(ConfigurationError, match="only if they are named in full"):
        matching(["comparison/sealed_*"])


@pytest.mark.parametrize(("former", "today"), [
    ("field/*", "comparison/"), ("field/unbalanced", "comparison/unbalanced"),
    ("extensions/floor", "extensions/constants_regression"), ("extensions/attack_*", "extensions/corrupted_data_"),
])  # fmt: skip
def test_the_error_about_a_former_name_of_an_experiment_has_todays(former, today, capsys):
    with pytest.raises(ConfigurationError, match=f"did you mean .*{today}"):
        matching([former])
    assert main([f"experiment={former}"]) == 2 and today in capsys.readouterr().err
