"""Pages name files that exist and commands that run; docs/privacy.md's method passes the audit, a broken copy not."""

import contextlib
import re
import shlex
from html import unescape

import click
import pytest

from lpbench.audit.methods import complaints
from lpbench.audit.mutants import mutant_rows
from lpbench.cli.main import COMMANDS, cli, main
from lpbench.experiments import catalog
from lpbench.paths import COMMITTED, ROOT

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


def test_twenty_questions_are_each_answered_by_a_file_on_two_pages():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Where is it?")[2]
    answers = dict(re.findall(r"^\| (\S.*\?) \| `([^`]+)` \|$", table, re.MULTILINE))
    assert len(answers) == 20 == table.count("\n| ") - 1 and len({*answers.values()}) == 20
    assert [path for path in answers.values() if not (ROOT / path).is_file()] == []
    assert sum(bool(re.search(r"\w", word)) for word in text.split()) <= 900


def test_every_page_of_the_documentation_is_linked_from_another():
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    by_table_of_contents = {"index.md", "api.md"}
    for page in (ROOT / "docs").glob("*.md"):
        others = "".join(text for name, text in texts.items() if name != f"docs/{page.name}")
        assert re.search(rf"\]\((?:docs/)?{page.name}[)#]", others) or page.name in by_table_of_contents, page.name


def words(text):
    """Number of words of a page in Markdown; bars and rules of tables are none."""
    return sum(re.search(r"\w", token) is not None for token in text.split())


def test_bars_of_tables_are_no_words():
    assert words("| a | b-c |\n| --- | ---: |\n| 1 | ε = 2 |") == 5


def test_the_documentation_is_short_enough_to_be_read():
    """At most 38,000 words in docs/ and at the root without the change log, at most 1,100 in the README."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    sizes = {path: words(path.read_text(encoding="utf-8")) for path in pages if path.name != "CHANGELOG.md"}
    assert words((ROOT / "README.md").read_text(encoding="utf-8")) <= 1100
    assert sum(sizes.values()) <= 38_000, sorted(sizes.items(), key=lambda item: -item[1])[:5]


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


#: Names that pages use for what a reader writes, and files that he has (tutorials have tests of their own), and
#: placeholders.
_READERS = re.compile(
    r"\bmy\w*|\bcosts\b|\bown/|\bmine\b|\bother:|\bmodule:|\w+\.csv|\bPATH\b|submissions/|[A-Z]{4,}|\.\.\.|[\[|]E|[|>]"
    r"|=value"
)


def printed_commands():
    """Commands that pages print, in code spans, in blocks and in the tables of the committed pages."""
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    found = [
        line for text in texts for line in re.findall(r"`(lpbench [^`\n]+)`|^(?:\$ )?(lpbench [^\n]+)$", text, re.M)
    ]
    pages = [unescape(page.read_text(encoding="utf-8")) for page in COMMITTED.glob("*.html")]
    found += [(line, "") for text in pages for line in re.findall(r"<code>(lpbench [^<]+)</code>", text)]
    lines = ((one or other).partition("  #")[0].partition(";")[0].strip() for one, other in found)
    lines = (re.sub(r"dataset=NAME (method='?(\w+))", _with_set, line) for line in lines)
    # one budget a method, and of a sweep
    lines = (re.sub(r"( epsilon=[^,\s]+),\S+", r"\1", line) for line in lines)
    lines = sorted({line for line in lines if line.count(" ") > 1 or "=" in line})
    once = {re.sub(r" epsilon=\S+$", "", line): line for line in lines if not _READERS.search(line.partition(" ")[2])}
    return list(once.values())


def _with_set(found):
    sets = {"regression": "diabetes_progression", "classification": "breast_cancer"}
    return f"dataset={sets[catalog.methods([found[2]])[found[2]].task]} {found[1]}"


def test_commands_that_pages_print_are_found():
    assert len(printed_commands()) >= 60 and any("[variant=" in line for line in printed_commands())


@pytest.mark.parametrize("line", [line for line in printed_commands() if "hydra/launcher" not in line])
def test_a_command_that_a_page_prints_runs(line, tmp_path):
    """Settings are planned, and run where a method has parameters; other commands are parsed, which runs nothing.

    Sweeps on launchers run below.
    """
    words = [word for word in shlex.split(line)[1:] if not word.startswith(("hydra/", "hydra.", "runner"))]
    if words[0] in COMMANDS:
        command, rest = cli.get_command(click.Context(cli), words[0]), words[1:]
        with contextlib.suppress(click.exceptions.Exit, click.MissingParameter):  # --help; a name alone
            context = command.make_context(words[0], list(rest))
            if isinstance(command, click.Group):
                name, inner, rest = command.resolve_command(context, rest)
                inner.make_context(name, rest)
    elif all("=" in word or word == "-m" for word in words):
        more = ["replications=1", "tracking=none"] if "[" in line else ["dry_run=true"]
        assert main([*words, *more, f"results_dir={tmp_path}"]) == 0


#: What makes a printed command short. The audit of everything and comparisons with whole runs have tests of their own.
SHORT = {"reproduce": ("--replications", "1", "--tracking", "none"), **dict.fromkeys(("explain", "list", "plan"), ())}


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.parametrize("line", [line for line in printed_commands() if "*" not in line])  # of papers: make reproduce
def test_a_command_that_a_page_prints_runs_to_its_end(line, tmp_path):
    words = [w for w in shlex.split(line)[1:] if not w.startswith(("hydra/", "hydra.", "runner"))]
    if "--backend" in words:  # on the processes of this machine
        del words[words.index("--backend") :]
    if words[0] in SHORT and len(words) > 1:
        place = ["--results", str(tmp_path)] if words[0] == "reproduce" else []
        assert main([*words, *SHORT[words[0]], *place]) == 0
    elif all("=" in word or word == "-m" for word in words):
        assert main([*words, "replications=1", "tracking=none", f"results_dir={tmp_path}"]) == 0


def test_every_test_that_security_names_exists():
    """Each row of the tables of promises names what holds it: a file of tests, a folder, or a test."""
    cells = " ".join(line.split("|")[-2] for line in (ROOT / "SECURITY.md").read_text().splitlines() if line[:1] == "|")
    names = re.findall(r"`(test_\w+(?:\.py)?|tests/[\w/.]+)`", cells)
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    for name in names:
        there = (ROOT / name).exists() or any(path.name == name for path in sources)
        assert there or any(f"def {name}(" in source for source in sources.values()), name
    assert len(names) > 20
