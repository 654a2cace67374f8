"""``make site``: pages and documentation in one folder, every link of the pages within it."""

import re

import pytest

from scripts.make_site import assemble


def test_pages_and_documentation_in_one_folder(tmp_path):
    pages, docs = tmp_path / "reproduced", tmp_path / "docs"
    for path, text in ((pages / "index.html", '<a href="a/b.svg">b</a>'), (pages / "a/b.svg", "<svg/>"),
                       (docs / "index.html", "docs"), (docs / ".doctrees/x", "")):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    target = tmp_path / "site"
    assert assemble(pages, docs, target) == 4
    assert (target / "docs/index.html").is_file() and not (target / "docs/.doctrees").exists()
    [link] = re.findall('href="(.*?)"', (target / "index.html").read_text())
    assert (target / link).is_file()
    assert assemble(pages, None, target) == 3


def test_without_pages_there_is_a_way_out(tmp_path):
    with pytest.raises(FileNotFoundError, match="make report"):
        assemble(tmp_path, None, tmp_path / "site")
