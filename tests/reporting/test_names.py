"""Printed names: one for each method, data set and mask, and no name of a configuration in what a reader sees."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lpbench.datasets import list_datasets
from lpbench.experiments import catalogue
from lpbench.paths import ROOT
from lpbench.reporting.printed_names import dataset_title, in_print, mask_name, method_title
from tests.reporting.site import write_site

GP = "private_labels_regressor[learner=gaussian_process"


@pytest.mark.parametrize(
    ("method", "title"),
    [
        ("histoftree_cart[n_grid_features=2]", "HistOfTree (CART), s = 2"),
        ("histoftree_cart[n_grid_features=s*]", "HistOfTree (CART), s = s*"),
        ("histoftree_max_edge[n_grid_features=s*]", "HistOfTree (ME), s = s*"),
        (f"{GP},randomizer=laplace]", "GP on Laplace noise"),
        (f"{GP},randomizer=optimal_unbiased]", "GP on optimal unbiased reports"),
        ("private_labels_classifier[learner=ridge,randomizer=rr]", "Ridge on randomised response"),
        ("private_labels_classifier[learner=extra_trees,randomizer=two_stages]", "ExtraTrees on two-stage RR"),
        ("private_selection_regressor[estimator=histoftree_max_edge]", "HistOfTree (ME), privately chosen"),
        ("residual_score[variant=features]", "ResidualScore, no public sample"),
        ("lpct_max_edge[variant=text]", "LPCT (ME), text"),
    ],
)
def test_methods_have_names_that_read(method, title):
    assert method_title(method, catalogue.methods()) == title


def test_no_two_methods_of_the_registered_experiments_have_one_name():
    cards = catalogue.methods()
    for experiment in catalogue.experiments().values():
        methods = {m for group in experiment.groups for m in group.method}
        titles = {m: method_title(m, cards) for m in methods}
        assert len(set(titles.values())) == len(titles), experiment.name
        assert not [t for t in titles.values() if "_" in t and not re.search(r"n_[PQ]", t)], experiment.name


def test_data_sets_and_masks_are_in_words():
    assert dataset_title("red_wine[label_range=scale,public_share=0.1]") == (
        "Red wine, known scale, public share = 0.1"
    )
    assert mask_name("all_private") == "all private"
    assert mask_name("power_law[gamma=0.5]") == "power law, γ = 0.5"


def test_names_of_configurations_in_a_text_become_printed_ones():
    assert in_print("heavy_tail_4, ε = 2") == "heavy tail 4, ε = 2"
    text = "red_wine aligned histoftree_cart 1.4, krr[variant=inferred] on bike[private_fraction=0.32]: the hist bins"
    assert (
        in_print(text)
        == "red wine aligned HistOfTree (CART) 1.4, KRR, inferred on bike, private fraction = 0.32: the hist bins"
    )
    # files and paths are what they are
    for kept in ("field/public_sample", "claims_instances.csv", "histoftree_cart.yaml", "my_par_dt", "ct_w_2"):
        assert in_print(kept) == kept


class Visible(HTMLParser):
    """Collects the text that a page shows outside code and lists of files."""

    def __init__(self, text: str):
        super().__init__()
        self.hidden, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "style", "code", "pre") or (tag == "p" and dict(attrs).get("class") == "files"):
            self.hidden.append(tag)

    def handle_endtag(self, tag):
        if self.hidden and self.hidden[-1] == tag:
            self.hidden.pop()

    def handle_data(self, data):
        self.words += [] if self.hidden else [data]


def slugs(folder: Path) -> set[tuple[str, str]]:
    """Names of methods, data sets and masks with an underscore that pages of a folder show, and where."""
    names = {*catalogue.method_names(), *list_datasets(), *catalogue.mask_names(), "tuning_free"}
    long = "|".join(name for name in names if "_" in name)
    found = set()
    for path in folder.glob("*.html"):
        text = "\n".join(Visible(path.read_text(encoding="utf-8")).words)
        found |= {(path.name, m) for m in re.findall(rf"(?<![\w/.-])(?:{long})(?![\w/]|\.\w)", text)}
    return found


def test_pages_show_printed_names(tmp_path):
    assert slugs(write_site(tmp_path)) == set()


@pytest.mark.slow
def test_committed_pages_show_printed_names():
    assert slugs(Path(os.environ.get("LPBENCH_PAGES", ROOT / "results" / "reproduced"))) == set()
