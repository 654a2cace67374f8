import dataclasses
import json
import shutil

import pytest

from lpbench.analysis import read_csv
from lpbench.experiments.results import Results
from lpbench.papers.lpct.published import read_sizes
from lpbench.reporting import publish
from lpbench.reporting.artifact import write_drawing
from lpbench.reporting.pages.site import write_pages
from lpbench.reporting.report import write_report
from tests.reporting.conftest import ENVIRONMENT
from tests.reporting.fake import CARDS, experiment, typed
from tests.reporting.store import write_tables


def test_report_is_one_screen(site):
    text = (site / "report.md").read_text(encoding="utf-8")
    for part in (
        "2 of 4 experiments have results, 1 of them not in every cell.",
        " printed numbers are equivalent to ours. ",
        "- HistOfTree, tables, text (judges): ",
        "| [HistOfTree (AISTATS 2025)](histoftree.html) | no verdict: H1 H2",
        "[figure2c](histoftree/figure2c/) [table1](histoftree/table1/) table2 (not run) |",
        "Not run: data not at hand: taxi; incomplete, stopped by the clock (run again): KRR, text on building.",
        "[verdicts.csv](verdicts.csv)",
        "versions numpy 2.4",
    ):
        assert part in text, part
    assert len(text.splitlines()) < 40


def test_claims_are_a_table_of_their_own(site):
    claims = read_csv(site / "verdicts.csv").set_index("claim")
    assert claims.loc["H6", "ours_outcome"] == "no verdict" and claims.loc["H6", "paper"] == "H"
    assert claims.loc["H6", "reason"].startswith(
        "too few replications: 3 were run, and an effect of 1 standard deviation"
    )
    few = claims.loc["H9"].iloc[0]
    assert few["ours_outcome"] == "no verdict" and "table2" in few["reason"]


def test_report_is_deterministic_and_can_go_elsewhere(site):
    for name in ("report.md", "verdicts.csv"):
        here, elsewhere = ((folder / name).read_text(encoding="utf-8") for folder in (site.parent, site))
        assert here == elsewhere.replace(" [audit.csv](audit.csv)", "")  # the one file that only that folder has


def test_what_was_not_run_as_registered_is_named_wherever_it_counts(site, tmp_path):
    folder = tmp_path / "histoftree" / "figure2c"
    shutil.copytree(site.parent / "histoftree" / "figure2c", folder)
    figure = typed(experiment("histoftree/figure2c"))
    record = {
        "name": "histoftree/figure2c",
        "config": {"experiment": dataclasses.asdict(figure), "seed": 1},
        "environment": {"commit": "abc", "system": "Linux"},
        "deviations": ["replications: 50 → 4", "groups[0].grid: a → b"],
    }
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    content = (tmp_path, [figure], [], ENVIRONMENT)
    write_tables(tmp_path, [figure], tmp_path)
    report = write_report(*content).read_text(encoding="utf-8")
    assert "Not run as registered (what differs stands with each): histoftree/figure2c." in report
    claims = read_csv(tmp_path / "verdicts.csv").set_index("claim")
    assert claims.loc["H6", "reason"].endswith("not run as registered: histoftree/figure2c (groups[0].grid: a → b)")
    write_pages(*content, tmp_path, CARDS)
    for page in ("index.html", "histoftree.html"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "groups[0].grid: a → b" in text, page


def test_report_without_any_result(tmp_path):
    write_tables(tmp_path, [], tmp_path)
    text = write_report(tmp_path, [typed(experiment("histoftree/table1"))], [], {}).read_text(encoding="utf-8")
    assert "0 of 1 experiments have results" in text


@pytest.mark.filterwarnings("error::lpbench.errors.PrivacyLeakWarning")
@pytest.mark.parametrize("file", ["figure1", "figure2", "figure3", "figure8a", "figure9a"])
def test_drawings_of_the_second_paper_are_the_same_again_and_leak_nothing(tmp_path, file):
    figure = typed(experiment(f"lpct/{file.removesuffix('a')}"))
    write_drawing(figure, tmp_path, 7)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {*first} == {f"{file}.svg", f"{file}.png"} and b"Date" not in first[f"{file}.svg"]
    write_drawing(figure, tmp_path, 7)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first


def test_facts_of_the_data_sets(tmp_path):
    write_drawing(typed(experiment("lpct/table1")), tmp_path, 0)
    rows = read_csv(tmp_path / "comparison.csv").set_index(["panel", "dataset"])
    assert len(rows) == 33
    assert rows.loc[("n_private", "rice"), "reproduced"] == 240
    assert "swapped" in rows.loc[("n_public", "census"), "note"]
    assert rows.loc[("n_features", "census"), "note"].find("swapped") < 0
    assert ("Census", "41292 / 3144", "3144 / 41292", "46 / 46") in read_sizes(tmp_path)[0].rows


def test_scores_of_a_work_tree_with_changes_do_not_enter_the_committed_ones(tmp_path, monkeypatch):
    records = {"lpct/figure4a": "75d87b9+changes", "lpct/figure4b": "75d87b9"}
    for name, commit in records.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps({"environment": {"commit": commit}}))
    monkeypatch.setattr(publish, "COMMITTED", tmp_path / "reproduced")
    about = Results(tmp_path), Results(tmp_path / "reproduced"), {n: {"on_request": True} for n in records}
    assert list(publish._refusals(*about)) == ["lpct/figure4a ran from a work tree with changes"]
    monkeypatch.undo()
    assert list(publish._refusals(*about)) == [], "a folder of one's own"
