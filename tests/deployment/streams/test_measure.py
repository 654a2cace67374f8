"""``lpbench stream``: its table and its figure."""

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.deployment.streams import measure as module


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 1000)


def test_command_writes_table_and_figure(tmp_path, capsys, small):
    assert main(["stream", "--users", "2500", "--results", str(tmp_path)]) == 0
    assert "lpct votes: 2.5e+03 users" in capsys.readouterr().out
    folder = tmp_path / "reproduced"
    table = pd.read_csv(folder / "streaming.csv")
    assert list(table.columns) == module.COLUMNS
    steps = table.groupby(["method", "step"], sort=False)["users"].agg(list).to_dict()
    assert steps == {("lpct", "votes"): [1000, 2000, 2500]}
    assert table.groupby(["method", "step"])["table_kb"].nunique().eq(1).all()
    assert (folder / "streaming.svg").is_file()


def test_what_was_measured_before_is_replaced(tmp_path, small):
    for users in ("2000", "1000"):
        assert main(["stream", "--users", users, "--results", str(tmp_path)]) == 0
    assert pd.read_csv(tmp_path / "reproduced" / "streaming.csv")["users"].max() == 1000
