"""``lpbench stream`` and its section of the report."""

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.deployment.streams import measure as module
from lpbench.reporting.streaming import streaming_section


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 1000)


def test_command_writes_curve_figure_and_section(tmp_path, capsys, small):
    assert main(["stream", "--users", "2500", "--results", str(tmp_path)]) == 0
    assert "histoftree cells: 2.5e+03 users" in capsys.readouterr().out
    folder = tmp_path / "reproduced"
    table = pd.read_csv(folder / "streaming.csv")
    assert list(table.columns) == module.COLUMNS
    steps = table.groupby(["method", "step"], sort=False)["users"].agg(list).to_dict()
    assert steps == {
        ("lpct", "votes"): [1000, 2000, 2500],
        **{("histoftree", step): [1000, 2000, 2500] for step in ("masks", "labels", "cells")},
    }
    assert table.groupby(["method", "step"])["table_kb"].nunique().eq(1).all()
    text = streaming_section(folder)
    assert "| HistOfTree | cells | 2,500 |" in text and "streaming.svg" in text
    assert (folder / "streaming.svg").is_file() and (folder / "streaming.png").is_file()


def test_method_that_is_measured_alone_leaves_the_other(tmp_path, small):
    for method, users in (("lpct", "1000"), ("histoftree", "1000"), ("lpct", "2000")):
        assert main(["stream", "--users", users, "--method", method, "--results", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "reproduced" / "streaming.csv")
    assert table.groupby("method")["users"].max().to_dict() == {"histoftree": 1000, "lpct": 2000}


def test_no_section_without_a_measurement(tmp_path):
    assert streaming_section(tmp_path) == ""
