"""The pages in a real browser: errors, links, widths, accessibility (axe-core), sorting and the way to replications.

Skipped where no Chromium is installed. Pages are loaded into frames of the widths to be checked, by one probe.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pytest

from lpbench.paths import COMMITTED
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.pages.causes import said
from lpbench.reporting.pages.names import label_of

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="install Chromium")
WIDTHS = (375, 768, 1440)
AXE_WIDTHS = (1440,)
#: Pixels that a page has at most at any width, and stops of the tab key, before anything is unfolded.
LONGEST, STOPS = 6000, 120
#: How many pages of claims are looked at: they are made alike.
CLAIMS = 3
#: Seconds that a browser may take for all pages: a minute alone on two cores, many times that beside other work.
LIMIT = 3600
AXE = files("axe_core_python") / "axe.min.js"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--dump-dom"),
]
TEXTS, PROBE, TASKS, FIGURES = (
    (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")
    for name in ("texts", "probe", "tasks", "figures")
)


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and the probe and axe-core under names of their own."""

    probe = b""

    def do_GET(self):
        own = {"/probe": ("text/html", self.probe), "/axe.js": ("text/javascript", AXE.read_bytes())}
        if self.path not in own:
            return super().do_GET()
        kind, content = own[self.path]
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def browse(folder: Path, profile: Path, script: str, values: dict, dark: bool = False) -> tuple[list[dict], list[str]]:
    """Run a script beside the pages of a folder; return what it found and the console's complaints."""
    given = "".join(f"const {name} = {json.dumps(value)};" for name, value in values.items())
    text = f"<!DOCTYPE html><title>probe</title><body><script>{given}\n{script}</script>"
    handler = type("Handler", (_Quiet,), {"probe": text.encode()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        address = f"http://127.0.0.1:{server.server_port}/probe"
        command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=20000", scheme, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    finally:
        server.shutdown()
        server.server_close()
    shown = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert shown, f"the probe did not finish: {done.stderr[-2000:]}"
    unescaped = shown[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(unescaped), [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def visit(folder: Path, profile: Path, dark: bool, widths: tuple[int, ...] = WIDTHS) -> tuple[list[dict], list[str]]:
    """Load every page of a folder at some widths; return what was found and the console's complaints."""
    pages = sorted(p.name for p in folder.glob("*.html"))
    pages += sorted(f"claims/{p.name}" for p in folder.glob("claims/*.html"))[:CLAIMS]
    return browse(folder, profile, TEXTS + PROBE, {"PAGES": pages, "WIDTHS": widths, "AXE_WIDTHS": AXE_WIDTHS}, dark)


def crowded_figures(folder: Path, profile: Path) -> list[dict]:
    """Figures below a folder with texts that are cut off or stand over each other."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.svg"))
    found, _ = browse(folder, profile, TEXTS + FIGURES, {"FIGURES": names})
    assert [view["name"] for view in found] == names and names
    return [view for view in found if view["wrong"]]


def check(found: list[dict], complaints: list[str], dark: bool) -> None:
    assert complaints == []
    assert found
    for view in found:
        where = (view["page"], view["width"])
        assert view["scrolls"] <= 0, where
        assert view["skipped"] == [], where
        assert view["stops"] <= STOPS, (where, view["stops"])
        assert view["menu"] <= 2 and view["strayed"] == [], where
        assert view["broken"] == [] and view["elsewhere"] == [], where
        assert view["silent"] == [] and view["crowded"] == [], where
        assert view.get("axe", []) == [], where
        assert view["height"] <= LONGEST, (where, view["height"])
        assert (view["background"] == "rgb(255, 255, 255)") is not dark, where
        if "sort" in view:
            # a table that is shown sorted is turned around by the first press
            begins = view["sort"].pop("begins")
            orders = ["descending", "ascending"] if begins == "ascending" else ["ascending", "descending"]
            expected = {"once": orders[0], "twice": orders[1], "focused": True, "same": True, "reversed": True}
            assert view["sort"] == expected, where
        if "detail" in view:
            assert re.search(r"^lpbench explain \S+ ", view["detail"].splitlines()[-1]), where
    assert any("sort" in view for view in found) and any("detail" in view for view in found)


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_pages_of_a_small_run(site, tmp_path, dark):
    found, complaints = visit(site, tmp_path, dark)
    check(found, complaints, dark)
    assert {v["width"] for v in found} == set(WIDTHS)


def test_a_cell_leads_to_its_command(site, tmp_path):
    found, complaints = visit(site.parent, tmp_path, dark=False, widths=AXE_WIDTHS)
    check(found, complaints, dark=False)
    view = next(v for v in found if v["page"] == "histoftree.html" and "detail" in v)
    last = view["detail"].splitlines()[-1]
    assert re.match("lpbench explain (abalone|red_wine) histoftree_max_edge 2 --mask aligned", last)


def test_the_probe_sees_what_is_wrong(tmp_path):
    wrong = "<body style='width:2000px'><img src='none.png' alt=''><script>console.error('oh')</script>"
    (tmp_path / "index.html").write_text(f"<!DOCTYPE html><title>wrong</title>{wrong}", encoding="utf-8")
    found, complaints = visit(tmp_path, tmp_path / "profile", dark=False)
    assert any("oh" in line for line in complaints)
    assert [v["scrolls"] > 0 for v in found] == [True] * len(WIDTHS) and found[0]["broken"] == ["none.png"]


def test_axe_judges_every_kind_of_cell_once(tmp_path):
    pale = "<td style='color:#ddd'>{}</td>"
    cells = ["<td>dark</td>"] * 5 + [pale.format(text) for text in ("1", "2", "pale", "too")]
    rows = "".join(f"<tr>{cell}</tr>" for cell in cells)
    (tmp_path / "index.html").write_text(
        "<!DOCTYPE html><html lang='en'><title>rows</title><body><main><h1>rows</h1>"
        f"<table><tbody>{rows}</tbody></table></main>",
        encoding="utf-8",
    )
    found, _ = visit(tmp_path, tmp_path / "profile", dark=False)
    told = [line for v in found for line in v.get("axe", [])]
    assert len(told) == len(AXE_WIDTHS) and told[0].startswith("color-contrast: ") and told[0].endswith(" (1)")


def committed() -> Path:
    """The pages of the repository, or those of the folder in ``LPBENCH_PAGES``."""
    return Path(os.environ.get("LPBENCH_PAGES", COMMITTED))


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_committed_pages(tmp_path, dark):
    check(*visit(committed(), tmp_path, dark), dark)


def test_no_text_of_a_committed_figure_is_cut_off_or_over_another(tmp_path):
    assert crowded_figures(committed(), tmp_path) == []


def test_crowded_texts_are_seen(tmp_path):
    texts = {
        "fine": "<text x='5' y='20'>one</text><text x='5' y='40'>two</text>",
        "turned": "<text x='5' y='20'>one</text><text transform='translate(15 80) rotate(-90)'>along</text>",
        "cut": "<text x='90' y='20'>longer than its place</text>",
        "over": "<text x='5' y='20'>one</text><text x='15' y='24'>two</text>",
    }
    for name, content in texts.items():
        picture = f"<svg xmlns='http://www.w3.org/2000/svg' width='120' height='90'>{content}</svg>"
        (tmp_path / f"{name}.svg").write_text(picture)
    found = {view["name"]: view["wrong"] for view in crowded_figures(tmp_path, tmp_path / "profile")}
    assert found == {"cut.svg": ["cut off: longer than its place"], "over.svg": ["over each other: one | two"]}


_TABLE = "section[data-n='histoftree/table1']"
_PAPER = [{"at": "nav a", "text": "HistOfTree"}, {"at": ".overview a[href='#tables-1-to-3']"}]
_BOARD = {"at": "nav a", "text": "Leaderboard"}
_USE = {"at": "nav a", "text": "What should I use?"}
#: What somebody wants to know who has nothing but the front page: what is pressed, where the answer stands, its form.
QUESTIONS = [
    ("what is it?", [], ".lead", r"^lpbench re-runs \d+ papers, compares [\d,]+ printed numbers with those of its "),
    ("is LPCT's figure 6 reproduced, and how far off?",
     [{"at": "nav a", "text": "LPCT"}, {"at": ".overview a[href='#figure-6']"}],
     "section[data-n='lpct/figure6a'] .verdict", r"^Figure 6\(a\) does not hold here: \d+ of 120 numbers are "),
    ("why does table 1 of HistOfTree differ, and how much is unexplained?", _PAPER,
     f"{_TABLE} .explained",
     r"^\d+ numbers are different, by at most .* A cause is suspected for \d+ of these numbers\."),
    ("5,000 users, label and two features private, ε = 2: which method?",
     [_USE, {"at": "select[name='epsilon']", "choose": "2"}],
     "#answer", r"^[\w ]+ \(regression\), ε = 2\. Compared with a private constant: \d+ % less error \["),
    ("whose released code leaks?", [{"at": "nav a", "text": "Audit"}],
     "#leaks", r"^Released code that spends more than the stated ε: Karlmyh/LPCT in \d+ places, .*pure-ldp \(RAPPOR\)"),
    ("where does HistOfTree (ME) stand?", [_BOARD, {"at": "#method", "choose": "HistOfTree (ME)"}],
     "#told", r"^HistOfTree \(ME\), rank [\d.]+ of \d+, \d+ data sets; gain over the constant -?\d+ % \["),
    ("which theorem holds?", [{"at": "#theorems"}], "#trials", r"^\d+ cases of theorems: holds \d+, "),
    ("is ResidualGP better than a constant, and by how much?", [_BOARD, {"at": "#method", "choose": "ResidualGP"}],
     "#told", r"^ResidualGP, rank .*; gain over the constant -?\d+ % \[-?\d+, -?\d+\]\.$"),
    ("what do private users add?", [], "#added", r"^Classification, label and all features sent: "),
]  # fmt: skip
#: What names the filter of the table behind an answer, on its page.
FILTERS = {
    ".filter": r"rows of numbers\.csv with artifact = (\S+) and judges = true",
    "#filter": r"^task = \w+, mask = \w+, epsilon = ",
}


@pytest.mark.slow
def test_questions_are_answered_in_two_clicks_from_the_front_page(tmp_path):
    tasks = [{"name": name, "steps": steps, "answer": answer} for name, steps, answer, _ in QUESTIONS]
    assert all(len(task["steps"]) <= 2 for task in tasks)
    found, complaints = browse(committed(), tmp_path, TASKS, {"TASKS": tasks, "WIDTHS": (375, 1440)})
    assert complaints == []
    expected = {name: form for name, _, _, form in QUESTIONS}
    assert len(found) == 2 * len(QUESTIONS)
    assert [v for v in found if not re.search(expected[v["task"]], v["text"])] == []


@pytest.mark.slow
def test_three_questions_have_one_answer_on_every_page_which_names_its_filter(tmp_path):
    """Figure 6, why Table 1 differs, and ResidualGP's gain: pages, command line and tables say the same."""
    figure, table, gain = QUESTIONS[1], QUESTIONS[2], QUESTIONS[-2]
    use = [_USE, {"at": "select[name='asked']", "choose": "label and features"}]
    asked = {
        "figure": (figure[1], figure[2]), "table": (table[1], f"{_TABLE} .verdict"), "gain": (gain[1], gain[2]),
        "filter": (gain[1], "#filter"), "use": (use, "#answer"),
        "rows of figure": (figure[1], figure[2].replace("verdict", "filter")),
        "rows of table": (table[1], f"{_TABLE} .filter"),
    }  # fmt: skip
    tasks = [{"name": name, "steps": steps, "answer": answer} for name, (steps, answer) in asked.items()]
    found, _ = browse(committed(), tmp_path, TASKS, {"TASKS": tasks, "WIDTHS": (1440,)})
    text = {v["task"]: v["text"] for v in found}
    assert re.search(FILTERS["#filter"], text["filter"])
    numbers = read_numbers(committed())
    for name in ("figure", "table"):
        artifact = re.search(FILTERS[".filter"], text[f"rows of {name}"])[1]
        assert text[name].startswith(said(numbers[numbers["artifact"] == artifact], label_of(artifact))[0])
    ours = re.search(r"gain over the constant (-?\d+ % \[-?\d+, -?\d+\])", text["gain"])[1]
    assert (
        text["use"].startswith("ResidualGP")
        and f"a private constant: {ours.replace('%', '% less error')} on " in text["use"]
    )
    assert "method=residual_gp" in text["use"]
