"""Reports are written beside a run; the committed one is replaced on demand alone, by no less than it shows."""

import re
import shutil
from pathlib import Path

import pytest

from lpbench.cli.hydra_app import compose
from lpbench.cli.main import main
from lpbench.experiments import catalog
from lpbench.experiments.job import job_from, placed
from lpbench.paths import COMMITTED
from tests.experiments.helpers import own_experiments, study
from tests.reporting.test_html import Page

DRAWING = "histoftree/figure1"
SMALL = study(("private_mean", "hist"), title="My small study", epsilon=[1])
QUIET = ("--tracking", "none", "--backend", "serial")


@pytest.fixture
def results(tmp_path):
    """A results folder with a committed report of more than anybody runs here, and a user's experiment."""
    folder = tmp_path / "results"
    for name in ("histoftree/figure2c", DRAWING):
        shutil.copytree(COMMITTED / name, folder / "reproduced" / name)
    for name in ("index.html", "report.md", "verdicts.csv"):
        shutil.copy(COMMITTED / name, folder / "reproduced" / name)
    with own_experiments(tmp_path / "own", SMALL):
        yield folder


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def reproduce(results: Path, *words: str) -> int:
    return main(["reproduce", *words, "--results", str(results), *QUIET])


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (("histoftree/figure2c", "--replications", "2"), "runs/replications=2/index.html"),
        pytest.param(
            ("histoftree/figure2c", "--replications", "2", "--seed", "7"),
            "runs/replications=2,seed=7/index.html",
            marks=pytest.mark.slow,
        ),
        ((DRAWING,), "index.html"),
        (("own/small",), "own/index.html"),
        pytest.param(
            ("own/small", "--replications", "1"), "runs/replications=1/own/index.html", marks=pytest.mark.slow
        ),
    ],
)
def test_a_tiny_partial_or_own_run_leaves_the_committed_report(results, words, page, capsys):
    before = contents(results / "reproduced")
    assert reproduce(results, *words) == 0
    assert contents(results / "reproduced") == before
    out = capsys.readouterr().out
    assert f"page: {results / page}" in out and f"report: {(results / page).with_name('report.md')}" in out
    assert "(1 experiment)" in out
    # the report links to what is there, and shows nothing else
    text = (results / page).read_text(encoding="utf-8")
    found = Page(text)
    links = [link.partition("#")[0] for link in found.links + found.loads if not link.startswith(("http", "data:"))]
    assert [link for link in links if not (results / page).parent.joinpath(link).exists()] == []
    assert not re.search(r'class="(?:[^"]* )?card[ "]', text)
    listed = (results / page).with_name("report.md").read_text(encoding="utf-8")
    assert listed.startswith("# Results\n\n1 of 1 experiments have results") and "not run" not in listed


def replace(results: Path, *words: str) -> int:
    return main(["report", "--replace", *words, "--results", str(results)])


@pytest.mark.slow
def test_the_former_word_replaces_no_more_than_todays(results, capsys):
    before = contents(results / "reproduced" / DRAWING)
    assert reproduce(results, DRAWING) == 0
    (results / DRAWING / "figure1.svg").write_text("<svg/>")
    assert main(["report", "--overwrite", "--results", str(results)]) == 0
    out = capsys.readouterr().out
    assert f"report: {results / 'reproduced' / 'report.md'}" in out and "histoftree/figure2c was not run" in out
    assert contents(results / "reproduced" / DRAWING) == before


def test_a_run_names_the_command_that_replaces_the_committed_report(results, capsys):
    assert reproduce(results, "histoftree/figure2c", "--replications", "2", "--overwrite") == 2
    assert "lpbench report --replace" in capsys.readouterr().err and not (results / "store" / "blocks").exists()


def test_an_own_study_stands_first_and_alone_and_a_deviating_run_leaves_it(results):
    assert reproduce(results, "own/small") == 0
    page = (results / "own" / "index.html").read_text(encoding="utf-8")
    body = page[page.index('<div class="content">') :]
    assert "My small study" in body and "What the papers claim" not in body and "claim" not in body.split("<script")[0]
    assert not {p.stem for p in (results / "own").glob("*.html")} - {"index", "about"}
    before = contents(results / "own")
    assert reproduce(results, "own/small", "--replications", "1") == 0
    assert main(["experiment=own/small", "seed=7", f"results_dir={results}", "tracking=none", "runner=serial"]) == 0
    assert contents(results / "own") == before
    runs = {path.name for path in (results / "runs").iterdir()}
    assert runs == {"replications=1", "seed=7"}
    # and each can be rewritten
    assert main(["report", "--results", str(results)]) == 0


def test_what_cannot_be_spelt_in_a_name_is_hashed(results):
    words = [["experiment=own/small", f'experiment.title="A longer title{sign} with words"'] for sign in ";:"]
    jobs = [placed([job_from(compose(line), line)])[0] for line in words]
    assert len({job.folder for job in jobs}) == 2
    assert all(re.fullmatch("runs/title=[0-9a-f]{8}/own/small", job.folder) for job in jobs)


@pytest.fixture
def registered(monkeypatch):
    """Register these experiments and no others."""
    heads = catalog.heads

    def register(*names):
        monkeypatch.setattr(catalog, "experiment_names", lambda: [*names])
        monkeypatch.setattr(catalog, "heads", lambda kind, keys: {name: heads(kind, keys)[name] for name in names})

    return register


def test_a_whole_run_replaces_the_committed_report_if_it_shows_as_much(results, registered, capsys):
    registered(DRAWING)
    before = contents(results / "reproduced")
    assert reproduce(results) == 0 and contents(results / "reproduced") == before
    assert replace(results) == 0
    out = capsys.readouterr().out
    assert f"report: {results / 'reproduced' / 'report.md'}" in out and "refused" not in out
    assert contents(results / "reproduced") != before
    (results / "reproduced" / DRAWING / "further.svg").write_text("<svg/>")
    before = contents(results / "reproduced")["histoftree/figure1/figure1.svg"]
    (results / DRAWING / "figure1.svg").write_text("<svg/>")
    assert replace(results) == 0
    assert f"{DRAWING} shows less: " in capsys.readouterr().out
    assert contents(results / "reproduced")["histoftree/figure1/figure1.svg"] == before


def test_papers_are_replaced_each_for_itself(results, registered, capsys):
    """One paper was run in part, the other in full: the command says which stays, and why."""
    other = "lpct/figure1"
    registered(DRAWING, "histoftree/figure2c", other)
    shutil.rmtree(results / "reproduced" / DRAWING)
    assert reproduce(results, DRAWING, other) == 0
    assert f"report: {results / 'report.md'} (2 experiments)" in capsys.readouterr().out
    assert replace(results) == 0
    out = capsys.readouterr().out
    assert "refused: the committed scores of histoftree stay" in out and "histoftree/figure2c was not run\n" in out
    assert (results / "reproduced" / other).is_dir() and not (results / "reproduced" / DRAWING).exists()
    assert replace(results, DRAWING) == 0 and "lpct" not in capsys.readouterr().out
