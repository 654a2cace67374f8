"""What is kept beside the scores comes back to the last bit, and reports made from it are the same."""

import pandas as pd
import pytest

from lpbench.experiments.results import read_summary
from lpbench.reporting.artefact import summarise_experiment
from lpbench.reporting.entries import ReportEntry
from tests.reporting.fake import CARDS, experiment, typed


@pytest.mark.parametrize("name", ["histoftree/figure2c", "histoftree/table1"])
def test_kept_summary_is_the_summary(site, name):
    """Of a figure, and of a table with an empty cell."""
    folder, body = site.parent, typed(experiment(name))
    made = summarise_experiment(body, pd.read_parquet(folder / name / "scores.parquet"), CARDS)
    read = read_summary(folder / name)
    for frame in ("table", "chosen", "reasons"):
        expected = getattr(made, frame)
        pd.testing.assert_frame_equal(getattr(read, frame), expected, check_dtype=False, check_exact=True)
    assert (read.marked_holm == made.marked_holm).all()
    assert ReportEntry(body, folder).full.table.equals(read.table)


def test_nothing_kept_is_nothing(tmp_path):
    assert read_summary(tmp_path) is None
