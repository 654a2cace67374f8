"""What is committed of the papers is made from the committed scores: without a store, without a run, the same bytes."""

import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from lpbench.analysis.standings import NONE
from lpbench.audit.table import report_bits
from lpbench.cli.main import main
from lpbench.cli.ranking import FREE
from lpbench.derivation import RECORDS
from lpbench.experiments import committed
from lpbench.experiments.committed import SCORES
from lpbench.experiments.results import Artifact, Results
from lpbench.experiments.timing import is_measured
from lpbench.paths import COMMITTED, REPRODUCED, ROOT
from lpbench.reporting import publish
from lpbench.reporting.standings import read_standings
from scripts import recompute

NAMES = ("histoftree/figure2c", "label_dp/classes", "lpct/figure4a", "lpct/figure10", "histoftree/mechanism")


def files_of(folder):
    """Files below a folder, relative to it, without records of derivations."""
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file() and RECORDS not in p.parts)


@pytest.mark.parametrize("name", NAMES)
def test_tables_and_figures_of_an_experiment_are_the_same_bytes(tmp_path, name):
    shutil.copytree(COMMITTED / SCORES, tmp_path / SCORES)
    assert publish.drawn_from_scores(Artifact(tmp_path / name, name)).make()
    here, there = tmp_path / name, COMMITTED / name
    files, drawn = {str(p) for p in files_of(there)} - {"optimism.csv"}, {p.name for p in here.iterdir() if p.suffix}
    beside = {p for p in drawn - files if not p.endswith(".png")}  # one for MLflow stands beside each picture
    assert "summary.csv" in files and beside == {"comparison.csv"}
    assert [p for p in files if (here / p).read_bytes() != (there / p).read_bytes()] == []


def test_what_was_drawn_from_the_same_scores_is_neither_summarized_nor_drawn_again(tmp_path, monkeypatch):
    shutil.copytree(COMMITTED / SCORES, tmp_path / SCORES)
    drawn = publish.drawn_from_scores(Artifact(tmp_path / NAMES[1], NAMES[1]))
    assert drawn.make() and not publish.drawn_from_scores(Artifact(tmp_path / NAMES[1], NAMES[1])).make()
    summary = committed.summary(tmp_path, NAMES[1])
    committed._summary.cache_clear()  # as in another process
    monkeypatch.setattr(committed, "_computed", None)
    again = committed.summary(tmp_path, NAMES[1])
    same = {"check_dtype": False, "check_column_type": False, "check_exact": True}
    pd.testing.assert_frame_equal(again.table, summary.table, **same)
    bits = report_bits.__wrapped__("krr", 1.0)
    monkeypatch.setattr("lpbench.audit.table.randomizer_of", None)
    assert report_bits.__wrapped__("krr", 1.0) == bits


@pytest.mark.parametrize("paper", ["histoftree", "lpct", "label_dp"])
def test_every_experiment_of_the_papers_has_scores(paper):
    results = Results(COMMITTED)
    names = [p.parent.relative_to(COMMITTED).as_posix() for p in (COMMITTED / paper).rglob("summary.csv")]
    assert names and all(results.artifact(name).chosen is not None for name in names)


@pytest.mark.parametrize("name", ["lpct/figure10", "label_dp/classes"])
def test_a_summary_that_is_not_committed_is_read_from_the_scores(name, tmp_path):
    shutil.copytree(COMMITTED / SCORES, tmp_path / SCORES)
    found = Artifact(tmp_path / name, name)
    assert found.was_run and not found.summary_file.is_file()
    pd.testing.assert_frame_equal(found.summary, Artifact(COMMITTED / name, name).summary)


def test_explain_answers_from_scores_alone(tmp_path, capsys):
    """In a folder with one paper, whose other summaries are committed."""
    shutil.copytree(COMMITTED / "lpct", tmp_path / REPRODUCED / "lpct")
    (tmp_path / REPRODUCED / SCORES).mkdir()
    for path in (COMMITTED / SCORES).glob("lpct*"):
        shutil.copy(path, tmp_path / REPRODUCED / SCORES)
    assert Path("lpct/causes_tables/summary.csv") not in files_of(COMMITTED)
    row = Results(tmp_path / REPRODUCED).artifact("lpct/causes_tables").rows().dropna(subset="mean").iloc[0]
    words = [row["dataset"], row["method"], f"{row['epsilon']:g}", "--experiment", "lpct/causes_tables"]
    assert main(["explain", *words, "--results", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"mean {row['mean']:.6g}" in out and "  replications 0." in out


def test_what_is_committed_is_small():
    """Each full run adds all of it to the history once more; a limit is about a tenth above what is there."""
    sizes = {path: (COMMITTED / path).stat().st_size for path in files_of(COMMITTED)}
    published = sum((ROOT / "results/published" / path).stat().st_size for path in files_of(ROOT / "results/published"))
    shown = sum(n for p, n in sizes.items() if p.suffix in (".html", ".svg", ".png", ".js"))
    pages = sum(n for p, n in sizes.items() if p.suffix == ".html")
    assert pages <= 1.2e6 and shown - pages <= 3e6 and sum(n for p, n in sizes.items() if p.parts[0] == SCORES) <= 4e6
    assert sum(sizes.values()) + published <= 12e6 and max(sizes.values()) < 2e6
    assert [str(p) for p, n in sizes.items() if p.suffix == ".svg" and n > 150_000] == []


def test_committed_pages_link_to_what_is_committed_alone():
    there = {path.as_posix() for path in files_of(COMMITTED)}
    pages = [path for path in files_of(COMMITTED) if path.suffix == ".html"]
    assert {"index.html", "claims/H2.html"} <= {page.as_posix() for page in pages}
    for page in pages:
        text = (COMMITTED / page).read_text(encoding="utf-8")
        links = {link.partition("#")[0] for link in re.findall(r'(?:href|src)="([^"]*)"', text)}
        places = {os.path.normpath(page.parent / link) for link in links if link and ":" not in link}
        beyond = {place for place in places - there if place.startswith("../../")}  # documentation of the repository
        assert all((ROOT / place.removeprefix("../../")).is_file() for place in beyond), page
        assert places - beyond <= there and "loading." not in text, page


def test_the_committed_report_links_to_what_is_committed_alone():
    there = {path.as_posix() for file in files_of(COMMITTED) for path in (file, *file.parents)}
    links = re.findall(r"\]\(([^)#:]+)", (COMMITTED / "report.md").read_text(encoding="utf-8"))
    assert len(links) > 40 and {link.rstrip("/") for link in links} <= there


def test_no_private_method_beats_the_best_without_privacy_by_more_than_noise():
    table = read_standings(COMMITTED)
    if not set(FREE) <= set(table["experiment"]):
        pytest.skip(f"without privacy not all learners were run: lpbench reproduce {' '.join(FREE)}")
    compared = table["experiment"].str.startswith(("comparison/", "extensions/tuning_free"))
    private = table[(table["privacy"] != NONE) & compared]
    beaten = private[private["over_free"] + 4 * private["over_free_se"] < 1]
    assert len(private) > 3000 and beaten.empty, beaten[["experiment", "dataset", "method", "epsilon", "over_free"]]


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2])
def test_the_report_of_a_fresh_clone_is_the_committed_one(cores, tmp_path, monkeypatch):
    files = files_of(COMMITTED)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    for path in files:
        (tmp_path / REPRODUCED / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(COMMITTED / path, tmp_path / REPRODUCED / path)
    for name in ("numbers.csv", "alternatives.csv.gz", "verdicts.csv", "standings.csv.gz", "claims_instances.csv"):
        (tmp_path / REPRODUCED / name).unlink()
    for _ in range(2):  # the second time figures are those of the first
        assert main(["report", "--replace", "--results", str(tmp_path)]) == 0
        differing = [p for p in files if (tmp_path / REPRODUCED / p).read_bytes() != (COMMITTED / p).read_bytes()]
        assert [str(p) for p in differing if not is_measured(p)] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1"])
def test_rows_of_the_tables_are_computed_again_without_the_package(seed, capsys):
    source = (ROOT / "scripts/recompute.py").read_text(encoding="utf-8")
    assert "lpbench" not in source.partition("ROOT =")[0] and len(source.splitlines()) <= 330
    assert recompute.main(str(COMMITTED), seed) == 0, capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("printed", "planted"), [("2.71 [1.54,", "2.72 [1.54,"), ("GP on RR on bins", "PrivateMean")])
def test_a_changed_answer_of_the_page_of_choices_is_found(printed, planted, tmp_path, capsys):
    shutil.copytree(COMMITTED, tmp_path, dirs_exist_ok=True)
    page = (COMMITTED / "use.html").read_text(encoding="utf-8")
    (tmp_path / "use.html").write_text(page.replace(f"<td>{printed}", f"<td>{planted}", 1), encoding="utf-8")
    assert recompute.main(str(tmp_path), "0") == 1 and planted in capsys.readouterr().out
