"""Sentences with numbers are computed: a planted change of a summary changes each; none is typed into a template."""

import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.numbers import counts, judged_numbers
from lpbench.analysis.standings import FEWEST, compare_losses, least_p
from lpbench.analysis.verdicts import claims_of
from lpbench.estimators import ResidualScore
from lpbench.papers.extensions import WITHOUT_TUNING
from lpbench.paths import COMMITTED, ROOT
from lpbench.privacy.users import SimulatedUsers
from lpbench.reporting.figures.ranks import LEAST_METHODS
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.pages.site import write_pages
from lpbench.reporting.report import write_report
from scripts.write_readme_numbers import ADDED, BLOCKS, with_numbers
from tests.reporting.fake import CARDS, card, experiment, scores_of, typed
from tests.reporting.store import put, write_tables
from tests.reporting.test_html import Page

MODELS = dict.fromkeys(("histoftree_cart", "histoftree_max_edge", "residual_gp", "krr"), "semi_feature_ldp")
TITLES = {"residual_gp": "ResidualGP", "private_mean": "PrivateMean", "dt": "DT"}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_page_has_the_numbers_of_the_committed_results(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert with_numbers(name, text, COMMITTED) == text, "run scripts/write_readme_numbers.py"


def test_the_first_screen_of_the_readme_has_the_proof_and_a_command():
    first, _, _ = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")
    assert len(first.splitlines()) <= 40
    assert "<!-- numbers of proof -->" in first and "```\nmake quick " in first


def test_the_readme_is_read_on_two_screens_and_no_row_has_more_than_three_numbers():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1100
    (table,) = re.findall(r"(?s)<!-- numbers of proof -->\n(.*?)\n<!-- end", text)
    for row in re.sub(r"\]\([^)]*\)", "]", table).splitlines():
        assert len(re.findall(r"\d[\d,.]*", row)) <= 3, row


def test_no_measured_number_of_the_readme_is_typed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    typed_in = re.sub(r"(?s)<!-- numbers of .*?<!-- end of the numbers -->|```.*?```", "", text)
    # the version of Python and an address are no results
    assert re.findall(r"\d+\.\d+\S*|\d+ %|× ?\d", typed_in) == ["3.11", "127.0.0.1:5000`)"][:1]


def turned(values):
    return values[::-1].to_numpy()


#: Files behind the README's numbers: a place of these, a column, and what is planted in it.
PLANTED = {
    ADDED: ("proof", "gain", lambda values: values * 2),
    "standings.csv.gz": ("proof", "loss", lambda values: values * 2),
    "numbers.csv": ("proof", "class", lambda values: "different"),
    "timing.csv": ("time", "seconds", lambda values: values * 2),
    "verdicts.csv": ("proof", "ours_outcome", turned),
    "audit_mutants.csv": ("proof", "caught_by", lambda values: ""),
    "readme_example.csv": ("the library example", "ResidualGP", lambda values: values * 2),
}


@pytest.mark.parametrize("file", PLANTED)
def test_a_planted_change_changes_the_readme(file, tmp_path):
    for name in PLANTED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(COMMITTED / name, tmp_path / name)
    table, (place, column, planted) = pd.read_csv(tmp_path / file), PLANTED[file]
    table.assign(**{column: planted(table[column])}).to_csv(tmp_path / file, index=False)
    assert BLOCKS["README.md"][place](tmp_path) != BLOCKS["README.md"][place](COMMITTED)


#: Quantity -> the sentences that state it, on any page, and its column among the counts of numbers or of sentences.
QUANTITIES = {
    "compared": r"Of ([\d,]+) printed numbers|compares ([\d,]+) printed numbers",
    "method": r"([\d,]+) identify their method and|([\d,]+)</strong> (?:printed )?numbers identify their method",
    "different": r"and ([\d,]+) are different|([\d,]+) of [\d,]+</strong> (?:printed )?numbers are"
    r"|too\. ([\d,]+) are different\.",
    "sentences": r"Of (\d+) sentences, \d+ hold|\d+ of (\d+)</strong> sentences fail|Of (\d+) claims in words",
    "hold": r"Of \d+ sentences, (\d+) hold|Of \d+ claims in words (\d+) hold",
    "fail": r"hold in our runs and (\d+) fail|(\d+) of \d+</strong> sentences fail|, (\d+) fails?[,;]",
}


def test_a_quantity_has_one_number_on_all_pages():
    numbers = counts(judged_numbers(read_numbers(COMMITTED)))
    claims = claims_of(pd.read_csv(COMMITTED / "verdicts.csv", keep_default_na=False))
    ours = claims.loc[~claims["counted_apart"].astype(bool), "ours"]
    numbers |= {"sentences": len(ours), "hold": (ours == "holds").sum(), "fail": (ours == "fails").sum()}
    pages = [ROOT / "README.md", COMMITTED / "index.html", COMMITTED / "report.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for quantity, pattern in QUANTITIES.items():
        stated = [int(max(match).replace(",", "")) for match in re.findall(pattern, text)]
        assert len(stated) > 1 and set(stated) == {numbers[quantity]}, quantity


def test_the_papers_rows_of_the_artifact_add_up_to_the_numbers_of_the_readme():
    text, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("ARTIFACT.md", "README.md"))
    row = r"\| (\d+) of ([\d,]+) numbers identify their method, [\d,]+ equivalent, but not alone, ([\d,]+) different \|"
    papers = [[int(cell.replace(",", "")) for cell in found] for found in re.findall(row, text)]
    sentences = [list(map(int, found)) for found in re.findall(r"\| (\d+) of (\d+) hold, (\d+) fail \|", text)]
    identify, compared, different = map(sum, zip(*papers, strict=True))
    hold, judged, fail = map(sum, zip(*sentences, strict=True))
    assert f"Of {compared:,} printed numbers, {identify} identify their method and {different} are different" in readme
    assert f"Of {judged} sentences, {hold} hold in our runs and {fail} fail" in readme
    assert {f"{n:,}" for _, n, _ in papers} == set(re.findall(r"\(([\d,]+) numbers\)", text))


def test_the_theorems_of_the_artifact_are_those_of_the_page():
    text, page = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8"), (COMMITTED / "label_dp.html").read_text()
    rows = re.findall(r"\| \S.*: theorems \|.*\| (\d+) cases: ([^|]+) \|", text)
    outcomes = Counter()
    for cases, counted in rows:
        row = {word: int(n) for word, n in re.findall(r"([a-z ]+?) (\d+)(?:, |$)", counted)}
        assert sum(row.values()) == int(cases)
        outcomes.update(row)
    (total, listed), *_ = re.findall(r'id="trials">(\d+) cases of theorems: ([^<]+)\.<', page)
    assert len(rows) == 3 and outcomes.total() == int(total)
    assert outcomes == {word: int(n) for word, n in re.findall(r"([a-z ]+?) (\d+)(?:, |$)", listed)}


def site(folder: Path, change: float) -> dict[str, Page]:
    """Pages of a run in which the regressors' errors, and the floor's, are multiplied by ``change``."""
    cards = dict(CARDS)
    for name in {*CARDS, *TITLES}:
        title = TITLES.get(name, name)
        cards[name] = card(title, "regression", {"depth": 1}, {"depth": [1]}, MODELS.get(name, "ldp"))
    free = experiment("extensions/tuning_free_regression")
    methods = ["residual_gp", "histoftree_cart", "krr", "private_mean", "dt"]
    sets = [name for names in free["settings"]["data_sets"].values() for name in names]  # held-out ones among them
    free["groups"] = [{"dataset": sets, "mask": ["aligned"], "method": methods, "epsilon": [1.0]}]
    floor = experiment("extensions/constants_regression")
    floor["groups"] = [floor["groups"][0] | {"epsilon": [1.0], "method": ["dt", "private_mean", "histoftree_cart"]}]
    table, curve = experiment("histoftree/table2"), experiment("histoftree/figure2c")
    table["groups"] = [g | {"epsilon": [2.0]} for g in table["groups"]]  # at 1 free has the most cells
    level = {"residual_gp": change, "histoftree_cart": 2.0, "krr": 4.0, "private_mean": 3 / change, "dt": 0.5}
    runs = (
        (free, lambda k: level[k["method"]], ({"depth": 1},)),
        (floor, lambda k: level[k["method"]], ({"depth": 1},)),
        (table, lambda k: level.get(k["method"], 2.0) * change, ({"depth": 1},)),
        (curve, lambda k: 1.1 + 0.02 * abs(k["x"] - 4) * (1 if change == 1 else -1), ({"depth": 1},)),
    )
    for body, mean, points in runs:
        put(folder, body, scores_of(body, mean, replications=40 if body is curve else 6, points=points), cards=cards)
    report = folder / "reproduced"
    report.mkdir()
    experiments = [typed(body) for body, _, _ in runs]
    content = (folder, experiments, [], {"lpbench": "0", "versions": {}}, report)
    write_tables(folder, experiments, report, cards)
    write_report(*content)
    write_pages(*content, cards)
    names = ("index.html", "histoftree.html", "leaderboard.html")
    return {name: Page((report / name).read_text(encoding="utf-8")) for name in names}


@pytest.mark.slow
def test_a_planted_change_of_a_summary_changes_every_sentence(tmp_path):
    before, after = (site(tmp_path / str(k), change) for k, change in enumerate((1.0, 0.5)))
    for page, place in (
        ("index.html", "finding-constant"),
        ("index.html", "hero"),
        ("histoftree.html", "hero overview"),
        ("histoftree.html", "verdicts"),
        ("histoftree.html", "sortable cells"),
        ("leaderboard.html", "board"),
    ):
        texts = [pages[page].texts.get(place, "") for pages in (before, after)]
        assert re.search(r"\d", texts[0]), (page, place)
        assert texts[0] != texts[1], (page, place)


#: Numbers in templates that define something and measure nothing.
DEFINITIONS = {
    "leaderboard.html.j2": ["0", "1", "1", "95", "95"],  # an interval that holds 0; 1 - a ratio
    "sections.html.j2": ["0.05", "0"],  # a public weight of 0
    "rank.html.j2": ["95", "1", "1"],  # 1 - a ratio
    "index.html.j2": ["2"],  # the budget of an example
    "use.html.j2": ["95", "1", "1", "95"],
    "audit.html.j2": ["38"],  # an equation of a paper
}


def test_no_number_is_typed_into_a_template():
    found = {}
    for path in (ROOT / "lpbench/reporting/pages/templates").glob("*.j2"):
        text = re.sub(r"(?s)\{[{%#].*?[}%#]\}", " ", path.read_text("utf-8"))
        text = re.sub(r"(?s)<style.*?</style>|<script.*?</script>|<!--.*?-->|<[^>]*>", " ", text)
        numbers = re.findall(r"\d+(?:\.\d+)?", re.sub(r"A\.\d|\w\^\w", "", text))
        if numbers:
            found[path.name] = numbers
    assert found == DEFINITIONS


def test_who_speaks_of_all_printed_numbers_names_the_figure_without_any():
    assert not pd.read_csv(COMMITTED / "numbers.csv")["artifact"].str.contains("histoftree/figure2").any()
    texts = [(path / name).read_text("utf-8") for path, name in ((ROOT, "README.md"), (COMMITTED, "index.html"))]
    assert not re.search(r"(?i)\b(?:each|every|all)(?: of their)? (?:printed|published) numbers?", "".join(texts))
    assert "HistOfTree's Figure 2 prints none" in texts[0]


def test_what_the_page_says_that_residual_score_asks_is_what_leaves_users(monkeypatch):
    asked, entered = [], SimulatedUsers._entered
    monkeypatch.setattr(
        SimulatedUsers, "_entered", lambda *a: asked.append(type(a[2].mechanism(a[3])).__name__) or entered(*a)
    )
    X, y = np.random.default_rng(0).random((200, 2)), np.arange(200) % 2
    for words, mask in (("show features send their class by randomized response", [True, False]),
                        ("show nothing (CalibratedScore), each user sends one randomized", [True, True])):  # fmt: skip
        assert words in " ".join(WITHOUT_TUNING)
        ResidualScore(1.0, classes=[0, 1], random_state=0).fit(X, y, mask=mask, X_public=X[:50], y_public=y[:50])
    assert asked == ["GRR", "SubsetSelection"]  # one report a user each; GRR is randomized response


def test_the_page_of_tests_describes_the_figure_of_ranks():
    text = " ".join((ROOT / "docs/reproduction.md").read_text(encoding="utf-8").split())
    assert f"needs at least {FEWEST} data sets and {LEAST_METHODS} methods." in text and "(k - 1) 2¹⁻ⁿ" in text
    losses = pd.DataFrame({"a": [1.0] * 6, "b": np.arange(2, 8), "c": np.arange(3, 9)}, list("uvwxyz"))
    assert compare_losses(losses, "a")["p"].min() == least_p(6, 3) == 2 * 2.0**-5


def test_the_audit_counts_kinds_of_faults_and_not_methods():
    table, page = pd.read_csv(COMMITTED / "audit_mutants.csv"), (COMMITTED / "audit.html").read_text(encoding="utf-8")
    assert table["mutant"].nunique() < table["method"].nunique()
    assert f"The {table['mutant'].nunique()} planted faults" in page and "kinds of faults" in page
