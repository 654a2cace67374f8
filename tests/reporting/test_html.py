"""The pages: well-formed, links that resolve, nothing loaded from elsewhere, small, every number with its source."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag, urlparse

import pytest

from lpbench.analysis.alternatives import CANNOT_TELL, DIFFERENT, EQUIVALENT
from lpbench.datasets import list_datasets
from lpbench.experiments import catalog
from lpbench.paths import COMMITTED
from lpbench.reporting.pages.site import _grouped, page_names, provenance
from lpbench.reporting.pages.tables import distance
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.render import coded

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Checks the nesting while reading, and collects links, ids, texts by place, and what a browser would load."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.links, self.loads, self.ids, self.entries = [], [], [], [], 0
        self.places, self.texts = [], {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
            self.places.append(attrs.get("id") or attrs.get("class") or tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "a":
            self.links.append(attrs["href"])
        elif tag == "td" and "data-i" in attrs:
            self.entries += 1
        self.loads += [attrs[k] for k in ("src", "srcset", "data") if k in attrs]
        self.loads += [attrs["href"]] if tag == "link" else []
        assert tag != "img" or attrs.get("alt")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag and self.places.pop()

    def handle_data(self, data):
        for place in self.places:
            self.texts[place] = self.texts.get(place, "") + data


@pytest.fixture(scope="module")
def pages(site):
    return _read(site)


def _read(folder):
    return {path.name: (path, Page(path.read_text(encoding="utf-8"))) for path in folder.glob("*.html")}


def test_one_page_a_paper_and_an_index(pages):
    names = "index histoftree lpct leaderboard audit about"
    assert set(pages) == {f"{name}.html" for name in names.split()}
    claims = pages["index.html"][0].parent / "claims"
    assert {"H1.html", "L1.html"} <= {path.name for path in claims.iterdir()}


@pytest.mark.parametrize("beside_the_run", [False, True])
def test_links_resolve_and_nothing_is_loaded_from_elsewhere(pages, beside_the_run):
    if beside_the_run:
        pages = _read(pages["index.html"][0].parents[1])
    outside = {paper.citation.link for paper in papers() if paper.citation}
    for path, page in pages.values():
        assert len(page.ids) == len(set(page.ids))
        # a reader may go to a paper; a page loads nothing from elsewhere
        for link in [*(link for link in page.links if link not in outside), *page.loads]:
            if link == "data:,":
                continue
            target, fragment = urldefrag(link)
            assert not urlparse(target).scheme and not target.startswith("/"), link
            assert not target or (path.parent / unquote(target)).is_file(), link
            other = pages[target][1] if target in pages else page
            entry = unquote(fragment).startswith("entry|")  # which the page's script follows
            assert not fragment or entry or fragment in other.ids, link
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest", text)


def test_every_link_of_the_report_and_of_a_claim_is_there(pages):
    folder = pages["index.html"][0].parent
    ids = {path.resolve(): page.ids for path, page in pages.values()}
    report = (folder / "report.md").read_text(encoding="utf-8")
    links = [(folder, link) for link in re.findall(r"\]\(([^)]*)\)", report)]
    for path in folder.glob("claims/*.html"):
        links += [(path.parent, link) for link in Page(path.read_text("utf-8")).links if link != "#main"]
    assert len({place for place, _ in links}) == 2
    for place, link in links:
        target, fragment = urldefrag(link)
        path = (place / unquote(target)).resolve()
        assert path.exists() and (not fragment or fragment in ids[path]), link


def test_the_numbers_of_a_line_on_home_add_up_and_the_last_line_is_their_sum(pages):
    text = pages["index.html"][0].read_text(encoding="utf-8")
    table = text[text.index('class="hero"') : text.index("</table>")]
    rows = [re.findall(r'<td class="number">([^<]*)</td>', row) for row in table.split("<tr>")[2:]]
    *lines, total = [[int(v.replace(",", "").replace("–", "0")) for v in row] for row in rows]
    # of those that identify their method some identify its budget, too
    disjoint = [[row[0], row[1], *row[3:7]] for row in (*lines, total)]
    assert len(lines) > 1 and all(compared == sum(parts) for compared, *parts in disjoint)
    assert total == [sum(column) for column in zip(*lines, strict=True)] and total[0] > 0
    assert re.search(rf">{total[1] + total[3]:,} of {total[0]:,} printed numbers are equivalent", text)
    assert "The table does not count these sentences" in text and '<a href="claims/L20.html">L20</a>' in text


MENU = ["Home", "What should I use?", "Leaderboard", "HistOfTree", "LPCT", "Label DP & Theory", "Audit", "About"]


def test_the_menu_has_eight_entries_and_every_page_is_two_clicks_away(pages):
    linked = {name: {urldefrag(link)[0] for link in page.links} for name, (_, page) in pages.items()}
    for name, (path, _) in pages.items():
        menu = re.search(r'<nav aria-label="Pages">(.*?)</nav>', path.read_text(encoding="utf-8"), re.DOTALL)[1]
        labels = re.findall(r"<a [^>]*>([^<]*)</a>", menu)
        assert [label for label in MENU if label in labels] == labels
        assert len(re.findall("aria-current=", menu)) == 1, name
    near = linked["index.html"]
    assert set(pages) <= near.union(*(linked[name] for name in near if name in linked))


def test_the_front_page_says_what_there_is(pages):
    text = pages["index.html"][0].read_text(encoding="utf-8")
    first = (
        "<h1>lpbench: do published results on local differential privacy hold?</h1>",
        '<a href="histoftree.html">HistOfTree</a></th>',
        "Three ways in",
        "Data not at hand: taxi. Incomplete, stopped by the clock (run again): KRR, text on building.",
    )
    assert sorted(first, key=text.index) == list(first)
    paper = pages["histoftree.html"][0].read_text(encoding="utf-8")
    assert "Yuheng Ma, Ke Jia, Hanfang Yang. AISTATS 2025" in paper
    assert '<a href="claims/H5.html">H5</a> “the best performance is achieved with t=2”' in paper
    assert "Place: section 5.1." in paper
    about = pages["about.html"][0].read_text(encoding="utf-8")
    assert "numpy 2.4" in about and "seed" not in about and "Ask the owner." in about


def test_a_claim_is_a_page_with_its_rule_its_data_and_what_would_change_it(pages):
    path = pages["index.html"][0].parent / "claims" / "H6.html"
    text = path.read_text(encoding="utf-8")
    for part in ("The depth p with the smallest error grows with the number t of bins: ", "In print", "claim = H6",
                 'href="../claims_instances.csv"', "lpbench reproduce histoftree/figure2c", "Citation",
                 'href="../histoftree.html#claim-H6"', 'href="../style.css"'):  # fmt: skip
        assert part in text, part
    assert Page(text).ids and not re.search('href="(?![.][.]/|#|data:)', text)


def test_an_artifact_stands_with_its_claims_its_errors_in_print_and_its_command(pages):
    text = pages["histoftree.html"][0].read_text(encoding="utf-8")
    unit = text[
        text.index('data-n="histoftree/table1"') : text.index("</section>", text.index('data-n="histoftree/table1"'))
    ]
    for part in (
        "Errors in this part of the paper",
        "only some of the tied best numbers have the star",
        "lpbench reproduce histoftree/table1",
    ):
        assert part in unit, part
    assert "App. C.2, RED" not in unit and "App. C.2, RED" in text
    assert 'id="table-1"' in text and 'href="#figure-2"' in text


def test_files_without_rows_are_not_linked(pages):
    for path, page in pages.values():
        for link in page.links:
            target = path.parent / unquote(urldefrag(link)[0])
            assert target.suffix != ".csv" or len(target.read_text(encoding="utf-8").splitlines()) > 1, link


def test_the_audit_is_a_page(pages):
    path, page = pages["audit.html"]
    text = path.read_text(encoding="utf-8")
    for part in (
        "<h1>Privacy audit</h1>",
        "We audit every method at ε = 1 (seed",
        "The audit draws 1,000 transcripts for each of two protected values",
        "The audit catches 0 of 0 mechanisms known to be wrong",
        '<th scope="row">KRR</th>',
        "<details><summary>In other settings: 1</summary>",
        '<th scope="row">KRR, half the budget</th>',
        "tree.py:333",
    ):
        assert part in text
    assert {"methods", "bad", "good", "released"} <= set(page.ids) and {"audit.md", "audit.csv", "index.html"} <= set(
        page.links
    )
    assert "| KRR | whole record | 1 \\| 2 |" in (path.parent / "audit.md").read_text(encoding="utf-8")


def test_a_cell_has_both_numbers_and_what_leads_to_its_setting(pages):
    path, page = pages["histoftree.html"]
    text = path.read_text(encoding="utf-8")
    assert 'data-d="abalone"' in text and 'data-m="histoftree_cart" data-k="aligned"' in text and 'data-e="2"' in text
    assert page.entries > 40
    assert '<span class="pub">1.65</span>' in text
    assert "over the &lt;limit&gt; of 3 s" in text
    assert "<code>histoftree/table2</code>" in pages["about.html"][0].read_text(encoding="utf-8")
    # the pages for the repository cannot link to what is not in it
    assert not any("parquet" in link for link in page.links)


def test_pages_beside_the_run_link_to_its_scores(pages):
    beside = pages["index.html"][0].parents[1]
    assert "histoftree/table1/scores.parquet" in _read(beside)["histoftree.html"][1].links


def test_distances_are_in_words_too():
    assert distance(EQUIVALENT, -0.003, "ratio") == ("agree", "≈ -0 %")
    assert distance(CANNOT_TELL, -0.012, "score") == ("close", "? -1.2 pp")
    assert distance(DIFFERENT, 1.23, "ratio") == ("far above", "▲ +123 %")


def test_backticks_are_code_and_html_is_shown_as_it_stands():
    assert coded("a `c<d` <i>") == "a <code>c&lt;d</code> &lt;i&gt;"
    assert coded("one ` alone") == "one ` alone"


def test_further_pages_stand_beside_those_of_their_paper():
    names = (
        "comparison/classification",
        "lpct/figure4a",
        "extensions/drift",
        "extensions/constants_regression",
        "comparison/regression",
    )
    assert page_names(map(_placed, names)) == ["lpct", "methods", "leaderboard"]
    assert page_names(map(_placed, ["mine/first", "lpct/table1"])) == ["lpct", "mine"]


def _placed(name):
    return SimpleNamespace(section=paper_of(name).section_of(name))


def test_readings_that_were_tried_are_one_folded_group(monkeypatch):
    monkeypatch.setattr("lpbench.reporting.pages.site.trial_experiments", lambda: {"8_reading", "9_reading"})
    units = [{"name": name, "group": (name[0], f"Figure {name[0]}")} for name in ("4a", "8_reading", "5", "9_reading")]
    found = _grouped(units)
    assert [(g["label"], g["folded"], len(g["units"])) for g in found] == [
        ("Figure 4", False, 1),
        ("Figure 5", False, 1),
        ("Interpretations that were tried", True, 2),
    ]
    assert len({g["anchor"] for g in found}) == 3


#: What a page shows as code or as a list of files, and its tags.
HIDDEN = re.compile(r'<(script|style|code|pre|p(?= class="files"))\b[^>]*>.*?</\1>|<[^>]*>', re.DOTALL)


def slugs(folder: Path) -> set[tuple[str, str]]:
    """Names of methods, data sets and masks with an underscore that pages of a folder show, and where."""
    names = {*catalog.method_names(), *list_datasets(), *catalog.mask_names(), "tuning_free"}
    long = "|".join(name for name in names if "_" in name)
    found = set()
    for path in folder.glob("*.html"):
        text = HIDDEN.sub("\n", path.read_text(encoding="utf-8"))
        found |= {(path.name, m) for m in re.findall(rf"(?<![\w/.-])(?:{long})(?![\w/]|\.\w)", text)}
    return found


def test_pages_show_printed_names(pages):
    assert slugs(pages["index.html"][0].parent) == set()


@pytest.mark.slow
def test_committed_pages_show_printed_names():
    assert slugs(Path(os.environ.get("LPBENCH_PAGES", COMMITTED))) == set()


def test_pages_name_one_range_of_commits_whatever_their_number():
    run = [{"commit": f"c{day}", "date": f"2026-11-{day}"} for day in range(10, 29)]
    assert provenance([]) == {"commits": "", "date": ""} == provenance([{}])
    assert provenance(run[:1]) == {"commits": "commit c10", "date": "2026-11-10"} == provenance(run[:1] * 2)
    assert provenance(run[::-1]) == {"commits": "commits c10 to c28", "date": "2026-11-28"}
