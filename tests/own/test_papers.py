"""A paper in a user's own folder: a package and its YAMLs appear in tables, claims and pages, and nothing is edited."""

import sys

import pandas as pd
import pytest

from lpbench.errors import ConfigurationError
from lpbench.reporting.paper import paper_of, papers

PAPER = '''
"""A toy paper."""

from pathlib import Path

from lpbench.analysis.claims import Check, Claim, below
from lpbench.analysis.instances import linear
from lpbench.reporting.paper import Erratum, Paper


def small(results):
    """The error of the mean is below 100."""
    table = results.table("toy/table1", 1.0, "", ("private_mean",))
    for dataset in table.datasets:
        yield linear(dataset, (table.cell(dataset, "private_mean"), [1.0]))


PAPER = Paper(
    name="toy",
    title="A toy paper (2026)",
    published={"toy/table1": Path(__file__).parent / "table1.csv"},
    claims=(Claim("T1", "table1", "The mean is a good predictor", (Check("size", small, below(100)),)),),
    errata=(Erratum("Table 1", "the mean is called a median", lambda: "1 of 1 cells"),),
)
'''
TABLE = "dataset,method,epsilon,published\nsine_sum,private_mean,1,7.25\n"
EXPERIMENT = """
name: toy/table1
paper: toy
kind: table
title: Errors of a toy
groups:
  - {dataset: ["sine_sum[n=60]"], mask: [all_private], method: [private_mean], epsilon: [1]}
replications: 15
"""


@pytest.fixture
def toy(home, monkeypatch):
    """Folder of a user with a paper, found through the environment."""
    folder = home / "elsewhere"
    for path, text in {
        "papers/toy/__init__.py": PAPER,
        "papers/toy/table1.csv": TABLE,
        "experiments/toy/table1.yaml": EXPERIMENT,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    monkeypatch.setenv("LPBENCH_PLUGINS", str(folder))
    yield folder
    for name in [m for m in sys.modules if m == "papers" or m.startswith("papers.")]:
        del sys.modules[name]


def test_a_paper_appears_on_the_pages(toy, home, lpbench):
    code, out, err = lpbench("experiment=toy/table1 tracking=none runner.backend=serial")
    assert code == 0, out + err
    comparison = pd.read_csv(home / "results/toy/table1/comparison.csv")
    assert comparison["published"].tolist() == [7.25] and comparison["reproduced"].notna().all()
    code, out, err = lpbench("report")
    assert code == 0, out + err
    page = (home / "results/toy/index.html").read_text(encoding="utf-8")
    for text in ("A toy paper (2026)", "The mean is a good predictor", "the mean is called a median", "1 of 1 cells"):
        assert text in page, text
    assert "7.25" in page and "Errors of a toy" in page
    claims = pd.read_csv(home / "results/toy/verdicts.csv").set_index("claim")
    assert tuple(claims.loc["T1", ["paper", "check", "published_outcome", "ours_outcome"]]) == (
        "toy",
        "size",
        "holds",
        "holds",
    )


def test_papers_are_ordered_and_an_unknown_one_has_no_knowledge(toy):
    names = [p.name for p in papers()]
    assert names == ["histoftree", "lpct", "label_dp", "toy", "theory", "extensions", "comparison", "mutants"]
    unknown = paper_of("nothing/table1")
    assert (unknown.name, unknown.title, unknown.claims, unknown.tables) == ("nothing", "nothing", (), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name="toy"', 'name="tot"', "papers.toy.PAPER must be a Paper whose name is that of its package"),
        ("PAPER = Paper(", "OTHER = Paper(", "cannot import 'papers.toy.PAPER'"),
        ("from pathlib import Path", "import nothing_of_the_kind", "nothing_of_the_kind"),
    ],
)
def test_a_broken_paper_is_one_clear_sentence(toy, old, new, said):
    path = toy / "papers/toy/__init__.py"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said):
        papers()


def test_two_papers_of_one_name_are_refused(toy):
    (toy / "papers/lpct").mkdir()
    (toy / "papers/lpct/__init__.py").write_text(PAPER.replace('"toy"', '"lpct"'), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="paper 'lpct' is defined twice"):
        papers()
