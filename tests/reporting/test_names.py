import re

import pytest

from lpbench.experiments import catalog
from lpbench.reporting.printed_names import dataset_title, in_print, mask_name, method_title

GP = "private_labels_regressor[learner=gaussian_process"


@pytest.mark.parametrize(
    ("method", "title"),
    [
        ("histoftree_cart[n_grid_features=2]", "HistOfTree (CART), s = 2"),
        ("histoftree_cart[n_grid_features=s*]", "HistOfTree (CART), s = s*"),
        ("histoftree_max_edge[n_grid_features=s*]", "HistOfTree (ME), s = s*"),
        (f"{GP},randomizer=laplace]", "GP on Laplace noise"),
        (f"{GP},randomizer=optimal_unbiased]", "GP on optimal unbiased reports"),
        ("private_labels_classifier[learner=ridge,randomizer=rr]", "Ridge on randomized response"),
        ("private_labels_classifier[learner=extra_trees,randomizer=two_stages]", "ExtraTrees on two-stage RR"),
        ("private_selection_regressor[estimator=histoftree_max_edge]", "HistOfTree (ME), privately chosen"),
        ("residual_score[variant=features]", "ResidualScore, no public sample"),
        ("lpct_max_edge[variant=text]", "LPCT (ME), text"),
    ],
)
def test_methods_have_names_that_read(method, title):
    assert method_title(method, catalog.methods()) == title


def test_no_two_methods_of_the_registered_experiments_have_one_name():
    cards = catalog.methods()
    for experiment in catalog.experiments().values():
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
    for kept in ("comparison/public_sample", "claims_instances.csv", "histoftree_cart.yaml", "my_par_dt", "ct_w_2"):
        assert in_print(kept) == kept
