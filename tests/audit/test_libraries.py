"""Adapters of other libraries: the table covers them all, its page is current, and installed ones work."""

import csv

import pytest

from lpbench.errors import ConfigurationError
from scripts.audits.libraries import EPSILONS, LIBRARIES, NOT_COVERED, PAGE, RANDOMIZERS, TABLE, audit_library, page


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
    bold = {line.split(" | ")[1] for line in page(rows).splitlines() if line.startswith("| ") and "**" in line}
    uncovered = {row["name"] for row in rows if "amplification by sampling" in row["note"]}
    assert bold and uncovered == NOT_COVERED and not bold & NOT_COVERED


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
