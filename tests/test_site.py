import re

import pytest

from scripts.make_site import assemble


def test_pages_and_documentation_in_one_folder(tmp_path):
    pages, docs = tmp_path / "reproduced", tmp_path / "docs"
    front = '<a href="a/b.svg">b</a><!-- the whole site -->'
    for path, text in ((pages / "index.html", front), (pages / "a/b.svg", "<svg/>"),
                       (docs / "index.html", "docs"), (docs / ".doctrees/x", "")):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    target = tmp_path / "site"
    assert assemble(pages, docs, target) == 4
    assert (target / "docs/index.html").is_file() and not (target / "docs/.doctrees").exists()
    links = re.findall('href="(.*?)"', (target / "index.html").read_text())
    assert links == ["a/b.svg", "docs/index.html"]
    assert all((target / link).is_file() for link in links)
    assert assemble(pages, None, target) == 3


def test_without_pages_there_is_a_way_out(tmp_path):
    with pytest.raises(SystemExit, match="make report"):
        assemble(tmp_path, None, tmp_path / "site")
