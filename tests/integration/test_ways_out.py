import json
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from lpbench.cli.main import main
from lpbench.errors import ConfigurationError, StoreError
from lpbench.estimators import Hist
from lpbench.experiments import catalog
from lpbench.experiments.results import Artifact
from lpbench.paths import COMMITTED
from lpbench.seeds import Streams
from tests.reporting.fake import experiment, scores_of
from tests.reporting.store import put

CELL = ["dataset=diabetes_progression", "replications=2", "tracking=none", "runner=serial"]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["method=private_mean,hist"], "lpbench -m method=private_mean,hist"),
        (["method=hist", "epsilon=1,2"], "lpbench -m method=hist epsilon=1,2"),
        (["experiment=lpct/figure1,lpct/figure2"], "lpbench -m experiment=lpct/figure1,lpct/figure2"),
    ],
)
def test_a_forgotten_m_is_suggested(words, command, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "needs -m: " + command in error and "key=[" not in error and error.count("\n") == 1


@pytest.mark.parametrize("value", ["[1,2]", "'a,b'", "{a: [1,2], b: 3}", "x[a=1,b=2]"])
def test_one_value_with_commas_is_one(value, capsys):
    main([f"experiment.notes={value}", "dry_run=true"])
    assert "needs -m" not in capsys.readouterr().err


def test_a_sweep_ends_with_one_table_of_its_product_which_is_saved(tmp_path, capsys):
    """The private constant's own score is the baseline of all; the privacy model stands beside each method."""
    words = ["-m", *CELL, "method=private_constant,dt", "mask=aligned,personalized", f"results_dir={tmp_path}"]
    assert main(words) == 0
    out = capsys.readouterr().out
    saved = re.search(r"^table: (\S+)$", out, re.MULTILINE)
    assert saved is not None and len(list((tmp_path / "single").rglob("summary.csv"))) == 4
    table = pd.read_csv(saved[1])
    assert table["privacy"].tolist() == ["ldp"] * 2 + ["none"] * 2 and table["oracle"].notna().all()
    assert (table["baseline"] == table["oracle"][0]).all() and table["method"][0] == "private_constant"
    assert re.search(r"private_constant +", out) and "oracle" in out and "tuning-free" in out


def test_a_cell_that_is_everywhere_fits_a_screen(tmp_path, capsys):
    """In the paper's table, and in two of our experiments of which the scores are committed."""
    name, places = "scores/extensions", ["extensions/constants_regression", "extensions/sensitivity_order"]
    folder = tmp_path / COMMITTED.name
    shutil.copytree(COMMITTED / "histoftree/table1", folder / "histoftree/table1")
    (folder / "scores").mkdir()
    scores = pq.read_table(COMMITTED / f"{name}.parquet", filters=[("experiment", "in", places)])
    pq.write_table(scores, folder / f"{name}.parquet")
    records = json.loads((COMMITTED / f"{name}.json").read_text(encoding="utf-8"))
    (folder / f"{name}.json").write_text(json.dumps({place: records[place] for place in places}))
    line = ["explain", "abalone", "histoftree_cart", "2", "--results", str(tmp_path)]
    assert main(line) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and lines[0].startswith("histoftree/table1: "), "the paper's table comes first"
    assert re.match(r"\d+ more cells: .*extensions/", lines[-2])
    assert lines[-1].startswith("Next: lpbench explain abalone histoftree_cart 2 --experiment ")
    assert re.search(r"--experiment (\S+)", lines[-1])[1] in catalog.experiment_names()


def test_show_prints_the_ratios_of_the_papers_table(capsys):
    assert main(["show", "histoftree/table1", "--results", str(COMMITTED)]) == 0
    out = capsys.readouterr().out
    assert "relative to the non-private tree" in out
    row = next(line for line in out.splitlines() if line.strip().startswith("histoftree_cart "))
    summary = pd.read_csv(COMMITTED / "histoftree/table1/summary.csv")
    cell = summary.query("dataset == 'abalone' and method == 'histoftree_cart' and selection == 'oracle'").iloc[0]
    assert f" {cell['ratio']:.4g}"[:6] in row and f"{cell['mean']:.4g} ±" not in out


@pytest.mark.parametrize("file", ["scores.parquet", "chosen.parquet"])
def test_damaged_scores_are_named(file, tmp_path, capsys):
    figure = experiment("lpct/figure8")
    groups = [g for g in figure["groups"] if "range_known" in g["dataset"]]
    figure["groups"] = [g | {"dataset": ["range_known"], "epsilon": [8], "values": [20, 40]} for g in groups]
    put(tmp_path, figure, scores_of(figure, lambda k: 0.5, replications=3, noise=0.0, metric="accuracy"))
    path = tmp_path / "lpct" / "figure8" / file
    path.write_bytes(path.read_bytes()[:100])
    artifact = Artifact(path.parent, "lpct/figure8")
    with pytest.raises(StoreError, match=rf"{file} is damaged .*run its experiment again"):
        artifact.scores() if file == "scores.parquet" else artifact.full
    if file == "chosen.parquet":
        assert main(["explain", "range_known", "lpct_max_edge", "8", "--results", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert f"{path} is damaged" in error and error.count("\n") == 1


def test_a_summary_of_an_earlier_version_is_named(tmp_path, capsys):
    path = tmp_path / "lpct" / "table2" / "summary.csv"
    path.parent.mkdir(parents=True)
    path.write_text("panel,dataset,mask,method,epsilon,x,selection,mean,se,significant\n", encoding="utf-8")
    assert main(["show", "lpct/table2", "--results", str(tmp_path)]) == 2
    assert f"{path} was written by an earlier version; lpbench experiment=lpct/table2" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["a", -1, 1.5])
def test_a_random_state_is_named_as_such(value):
    with pytest.raises(ConfigurationError, match=rf"random_state={value!r} must be a whole number"):
        Streams.from_random_state(value)
    X, y = np.random.default_rng(0).random((20, 2)), np.linspace(0, 1, 20)
    with pytest.raises(ConfigurationError, match="random_state="):
        Hist(y_range=(0, 1), random_state=value).fit(X, y)
