"""Adapters of other libraries: the table covers them all, its page is current, and installed ones work."""

import csv
import re

import pytest

from lpbench.errors import ConfigurationError
from lpbench.paths import ROOT
from scripts.audits.libraries import (
    EPSILONS,
    LIBRARIES,
    NOT_COVERED,
    PAGE,
    RANDOMIZERS,
    TABLE,
    audit_library,
    note_of,
    page,
)


@pytest.fixture(scope="module")
def rows():
    with TABLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_has_every_randomizer_at_every_budget(rows):
    assert {(f"{row['library']}/{row['name']}", float(row["epsilon"])) for row in rows} == {
        (key, epsilon) for key in RANDOMIZERS for epsilon in EPSILONS
    }


def test_what_exceeds_its_budget_is_explained(rows):
    exceeding = [row for row in rows if row["verdict"] == "exceeds"]
    assert exceeding and all(row["note"] for row in exceeding)
    assert all((float(row["lower_bound"]) > float(row["epsilon"])) == (row in exceeding) for row in rows)


def test_bold_is_a_refuted_guarantee(rows):
    bold = {line[2:].split(" | ")[0] for line in page(rows).splitlines() if line.startswith("| ") and "**" in line}
    uncovered = {row["name"] for row in rows if "amplification by sampling" in row["note"]}
    assert bold and uncovered == NOT_COVERED and not bold & NOT_COVERED


def test_each_note_stands_once_and_names_its_randomizers(rows):
    notes = page(rows).partition("## Notes")[2].partition("\n## ")[0]
    for row in rows:
        if note := note_of(row):
            (line,) = [line for line in notes.splitlines() if f": {note}." in line]
            ending = row["name"].partition(", ")[2]
            assert line.startswith(f"- {row['library']}, ") and (row["name"] in line or (ending and ending in line))


def test_findings_in_models_are_ready_to_be_sent_with_a_script_that_shows_them():
    text = (ROOT / "docs" / "questions" / "models.md").read_text(encoding="utf-8")
    findings = text.split("\n## ")[1:]
    assert len(findings) == 9
    for finding in findings:
        assert "*Expected:*" in finding and "*Script:*" in finding, finding.partition("\n")[0]
        scripts = re.findall(r"`(models_of_\w+\.py)(?::(\w+))?", finding)
        assert scripts, finding.partition("\n")[0]
        for file, name in scripts:
            source = (ROOT / "scripts" / "audits" / file).read_text(encoding="utf-8")
            assert not name or re.search(rf"^(def|class) {name}\b", source, re.MULTILINE), name


def test_the_page_is_current(rows):
    assert PAGE.read_text(encoding="utf-8") == page(rows)


@pytest.mark.parametrize(
    "key", ["diffprivlib/Binary", "opendp/randomized_response_bool", "pure-ldp/DE", "multi-freq-ldpy/GRR"]
)
def test_one_randomizer_of_each_library(key):
    assert key.partition("/")[0] in LIBRARIES
    try:
        row = audit_library(key, 1.0, samples=4000)
    except ConfigurationError as error:
        pytest.skip(str(error))
    assert 0.4 < row["lower_bound"] <= 1.0 and row["verdict"] == "within"


def test_unknown_names_are_refused():
    with pytest.raises(ConfigurationError, match="must be one of diffprivlib/Laplace"):
        audit_library("nothing", 1.0)
