"""docs/audit_code.md works as it stands: every command, with the exit codes and the output that it shows."""

import csv
import re

import numpy as np
import pytest

from lpbench.audit.black_box import PrivacyClaim
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.paths import COMMITTED, ROOT
from lpbench.seeds import Streams
from scripts.audits import power
from tests.shell import blocks, in_bash

PAGE = ROOT / "docs" / "audit_code.md"


@pytest.mark.slow
def test_the_output_is_what_the_page_shows(tmp_path):
    said = in_bash("\n".join(blocks(PAGE, "sh")), tmp_path, patience=1200)
    shown = [line for block in blocks(PAGE, "text") for line in block.splitlines()]
    assert len(shown) == 5 and not [line for line in shown if line not in said]
    assert said.count("VIOLATED") == said.count("no violation found") == 3
    assert "report > " in said and " % against " in said


@pytest.fixture(scope="module")
def rows():
    with (COMMITTED / "power.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_every_known_bad_mechanism_is_caught_by_the_audit_with_as_few_reports_as_by_others(rows):
    assert rows[0][1:] == list(power.TESTERS)
    assert [row[0] for row in rows[1:]] == list(KNOWN_BAD)
    for _, audit, *others in rows[1:]:
        # of one sample a neighboring size may turn out, as the page says: each size is twice the one before
        assert all(other == "–" or int(audit) <= 2 * int(other) for other in others)
    as_few = [row for row in rows[1:] if all(other == "–" or int(row[1]) <= int(other) for other in row[2:])]
    assert len(as_few) >= len(KNOWN_BAD) - 1


def test_the_page_shows_the_table_of_power(rows):
    text = PAGE.read_text(encoding="utf-8")
    printed = re.findall(r"^\| (`\w+`.*?) \| (\d+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    by_name = {name: list(sizes) for names, *sizes in printed for name in re.findall(r"`(\w+)`", names)}
    assert by_name == {name: sizes for name, *sizes in rows[1:]}
    assert len(printed) == len({tuple(sizes) for _, *sizes in rows[1:]}), "mechanisms of equal sizes share a row"


@pytest.mark.parametrize("name", ["levels_truth_squared", "bins_truth_squared", "prior_response_outside"])
def test_the_table_of_power_is_that_of_the_code(rows, name):
    assert power.row(name) in rows


@pytest.mark.parametrize("tester", power.TESTERS)
def test_no_tester_accuses_an_honest_mechanism_and_each_sees_an_open_secret(tester):
    randomizer, claim = KNOWN_GOOD["doubled_noise"][1](1.0), PrivacyClaim(1.0)
    honest = [randomizer.sample(v, 2000, Streams(0).child("honest", value=v)) for v in (0, 1)]
    assert not power.TESTERS[tester](*honest, claim, 1e-7)
    rng = np.random.default_rng(0)
    plain = [v + 0.01 * rng.random((2000, 1)) for v in (0, 1)]
    assert power.TESTERS[tester](*plain, claim, 1e-7)
