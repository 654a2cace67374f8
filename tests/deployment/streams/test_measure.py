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


def test_method_that_is_measured_alone_leaves_the_others(tmp_path, small):
    folder = tmp_path / "reproduced"
    for users in ("1000", "2000"):
        assert main(["stream", "--users", users, "--results", str(tmp_path)]) == 0
        table = pd.read_csv(folder / "streaming.csv")
        if users == "1000":
            pd.concat([table, table.assign(method="another")]).to_csv(folder / "streaming.csv", index=False)
    assert table.groupby("method")["users"].max().to_dict() == {"another": 1000, "lpct": 2000}
