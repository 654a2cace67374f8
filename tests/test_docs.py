"""Pages name files that exist; the method that docs/privacy.md shows passes the audit, and a broken copy does not."""

from __future__ import annotations

import re

import pytest

from lpbench.audit.methods import complaints
from lpbench.audit.mutants import mutant_rows
from lpbench.paths import ROOT

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "datasets/README.md",
    "results/published/README.md",
    *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_files_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:lpbench|tests|conf|scripts|results/published|docs)/[\w/.*]*)`", text))
    assert [path for path in sorted(named) if not list(ROOT.glob(path))] == []


def test_the_architecture_names_modules_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = {path.name for path in (ROOT / "lpbench").rglob("*.py")}
    assert set(re.findall(r"`(\w+\.py)`", text)) <= modules


def test_every_page_of_the_documentation_is_linked_from_another():
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    by_table_of_contents = {"index.md", "api.md"}
    for page in (ROOT / "docs").glob("*.md"):
        others = "".join(text for name, text in texts.items() if name != f"docs/{page.name}")
        assert re.search(rf"\]\((?:docs/)?{page.name}[)#]", others) or page.name in by_table_of_contents, page.name


def test_pages_of_the_documentation_link_to_one_another_and_not_out_of_their_folder():
    for page in (ROOT / "docs").glob("*.md"):
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if link.startswith("..") or not (page.parent / link).is_file()] == [], page.name


def shown_method():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {"__name__": __name__}
    exec(code, names)
    globals().update(names)  # a fitted model is pickled by the audit
    return names["MyVotes"]()


def test_the_method_of_the_page_passes_the_audit():
    assert list(map(str, complaints(shown_method()))) == []


def test_a_mutant_of_it_is_caught():
    assert mutant_rows("my_votes", shown_method(), ["less_noise"])[0].caught_by == "law"
