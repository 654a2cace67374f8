from dataclasses import replace

import numpy as np
import pytest

from lpbench.analysis.scores import normalize
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import block, cell


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with one block of two budgets, and an entry that shows it."""
    store = Store(tmp_path_factory.mktemp("store"))
    (entry,) = cell().entries
    both = replace(block(), budgets=(1.0, 2.0))
    run_blocks([both], store, Runner(backend="serial"), progress=False)
    return store, replace(entry, block=both, epsilons=(1.0, 2.0))


def test_a_block_without_a_budget_is_shown_at_every_budget(filled):
    store, entry = filled
    ignores = replace(entry.block, budgets=(np.inf,))
    run_blocks([ignores], store, Runner(backend="serial"), progress=False)
    scores = assemble([replace(entry, block=ignores, epsilons=(4.0, 0.5, 1.0))], store)
    values = [part["value"].tolist() for _, part in scores.groupby("epsilon")]
    assert scores["epsilon"].drop_duplicates().tolist() == [0.5, 1.0, 4.0]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize(
    ("axis", "value", "expected"),
    [(None, None, np.nan), ("epsilon", None, [1.0, 2.0]), ("dataset.n", 70, 70.0), ("mask.n_protected", 3, 3.0)],
)
def test_place_on_the_axis(filled, axis, value, expected):
    store, entry = filled
    scores = assemble([replace(entry, x_axis=axis, x_value=value)], store)
    np.testing.assert_array_equal(scores["x"].drop_duplicates(), expected)


def test_place_by_a_setting_of_the_method(filled):
    store, entry = filled
    scores = assemble([replace(entry, x_axis="method.shift")], store)
    shown = scores["params"].astype(str).str.extract(r'"shift":([-\d.]+)')[0].astype(float)
    assert (scores["x"] == shown).all()
    assert assemble([replace(entry, x_axis="method.nothing")], store)["x"].isna().all()


def test_scores_come_in_their_canonical_order(filled):
    store, entry = filled
    entries = [replace(entry, panel=panel, x_axis="dataset.n", x_value=x) for panel in "ba" for x in (20, 10)]
    scores = assemble([*entries, replace(entry, block=None, panel="0", missing="download it")], store)
    ordered = normalize(scores.sample(frac=1, random_state=0))
    assert ordered.astype(str).equals(scores.astype(str))
    assert scores["panel"].astype(str).is_monotonic_increasing


def test_texts_are_categories_in_order_and_none_is_empty(filled):
    store, entry = filled
    scores = assemble([replace(entry, method="b"), replace(entry, method="a")], store)
    assert scores["method"].cat.categories.tolist() == ["a", "b"]
    assert scores["status"].cat.categories.tolist() == ["ok"]
    assert assemble([], store).empty
