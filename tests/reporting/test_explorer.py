import json
import re

import numpy as np
import pytest

from lpbench.experiments.results import Results
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.number_table import read_numbers, write_numbers
from lpbench.reporting.pages.explorer import ASSETS, COLUMNS, LIBRARIES, QUANTILES, write_explorer
from lpbench.reporting.paper import papers
from tests.reporting.fake import CARDS, experiment, scores_of, typed
from tests.reporting.store import put


@pytest.fixture
def written(tmp_path):
    body = experiment("lpct/figure4a")
    scores = scores_of(body, lambda k: 0.6 + 0.01 * np.log(k["epsilon"]), replications=6, metric="accuracy")
    put(tmp_path, body, scores)
    entry = ReportEntry(typed(body), tmp_path)
    write_numbers(papers(), Results(tmp_path), tmp_path, {entry.name})
    entries = [entry, ReportEntry(typed(experiment("lpct/figure4b")), tmp_path)]
    found = write_explorer(entries, CARDS, read_numbers(tmp_path), tmp_path)
    return entry, found, tmp_path / "explorer"


def test_every_chosen_score_is_there_with_its_distribution(written):
    entry, found, folder = written
    assert [f["name"] for f in found] == ["lpct/figure4a"]  # the other was not run
    script = (folder / found[0]["script"]).read_text(encoding="utf-8")
    name, data = re.fullmatch(r"explored\((\".*?\"), (.*)\);\n", script).groups()
    data = json.loads(data)
    assert json.loads(name) == "lpct/figure4a" and tuple(data["columns"]) == COLUMNS
    table = entry.full.table
    assert len(data["rows"]) == table["mean"].notna().sum()
    row = dict(zip(data["columns"], data["rows"][0], strict=True))
    texts = {key: data["texts"][key][row[key]] for key in data["texts"]}
    same = table[(table["method"] == texts["method"]) & (table["epsilon"] == row["epsilon"])]
    assert row["mean"] == pytest.approx(same[same["selection"] == texts["selection"]]["mean"].item(), rel=1e-5)
    assert len(row["quantiles"]) == len(QUANTILES) and sorted(row["quantiles"]) == row["quantiles"]
    at = data["columns"].index("published")
    printed = {data["texts"]["method"][r[3]].partition("[")[0] for r in data["rows"] if r[at] is not None}
    assert printed >= {"lpct_max_edge", "lpct_p"}


def test_the_library_comes_with_its_licences_and_no_file_is_large(written):
    files = {p.name: p for p in written[2].iterdir()}
    assert set(LIBRARIES) <= set(files) and all(p.stat().st_size < 1_000_000 for p in files.values())
    for library in LIBRARIES:
        licence = ASSETS / library.replace(".min.js", ".LICENSE.txt")
        assert "Redistribution and use" in licence.read_text(encoding="utf-8")
