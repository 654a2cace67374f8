"""The picture of HistOfTree's printed ratios against ours: one panel per data set, own axes, the text's methods."""

import numpy as np
import pandas as pd
import pytest

from lpbench.experiments import catalog
from lpbench.papers.histoftree import PAPER
from lpbench.papers.histoftree.against_print import draw_against_print, round_numbers
from lpbench.papers.histoftree.published import TABLES


def comparison(folder, methods):
    rows = [
        {"dataset": dataset, "mask": mask, "method": method, "published": 2.0, "reproduced": ours, "se": 0.1}
        for dataset, ours in (("abalone", 2.5), ("building", 120.0))
        for mask in ("aligned", "personalized")
        for method in methods
    ]
    pd.DataFrame(rows).to_csv(folder / "comparison.csv", index=False)


@pytest.mark.parametrize("name", TABLES)
def test_each_table_has_the_picture(name, tmp_path):
    assert PAPER.output_of(name).write is draw_against_print
    comparison(tmp_path, ["hist", "krr[variant=text]", "krr[variant=inferred]"])
    drawn = draw_against_print(catalog.experiment(name), tmp_path, 2025)
    text = next(path for path in drawn if path.suffix == ".svg").read_text(encoding="utf-8")
    for words in ("Abalone", "Building", "printed loss / that of", "our loss / that of", "of 15 %", "100"):
        assert words in text, words


def test_other_variants_are_not_drawn_and_without_rows_nothing_is(tmp_path):
    comparison(tmp_path, ["krr[variant=inferred]"])
    assert draw_against_print(catalog.experiment("histoftree/table1"), tmp_path, 2025) == []


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.4), (1.2, 6.0), (0.8, 4e5), (3.0, 60.0)])
def test_an_axis_has_up_to_four_round_numbers_within_its_ends(low, high):
    numbers = np.array(round_numbers(low, high))
    assert 1 <= numbers.size <= 4 and low <= numbers.min() and numbers.max() <= high
