import doctest

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from lpbench.errors import ConfigurationError, DataError
from lpbench.planning import answer as answer_module
from lpbench.planning import need
from lpbench.planning.pilot import FEWEST_SPLITS
from lpbench.planning.surface import Advantage, Surface, information
from lpbench.seeds import Streams
from scripts.write_need import PAGE, with_numbers

X, Y = load_diabetes(return_X_y=True)
MASK = np.arange(10) < 2
MASK_OF_CANCER = np.arange(30) < 2


@pytest.fixture(scope="module")
def answer():
    return need(X, Y, mask=MASK, budgets=[1, 4], users=[442, 4420], y_range=(0, 400), splits=4)


def test_errors_fall_with_users_and_budget(answer):
    users, epsilon = np.geomspace(40, 44200, 15).astype(int), np.geomspace(1.0, 4.0, 9)
    for part in answer.error(*np.meshgrid(users, epsilon, indexing="ij")).reshape(3, 15, 9):
        assert (np.diff(part, axis=0) <= 1e-9 * part.max()).all()
        assert (np.diff(part, axis=1) <= 1e-9 * part.max()).all()


def test_table_least_budget_and_fewest_users_agree(answer):
    table = answer.table()
    assert ((table["low"] <= table["error"]) & (table["error"] <= table["high"])).all()
    assert (table["without_privacy"] <= table["error"]).all() and (table["bits"] > 0).all()
    wanted = float(answer.error(2000, 2.0)[0, 0])
    (least,) = answer.least_epsilon(error=wanted, users=[2000]).itertuples()
    assert least.epsilon == pytest.approx(2.0, rel=0.02) and least.low <= least.epsilon <= least.high
    assert answer.wanted("0.5x") == pytest.approx(0.5 * answer.baseline)
    assert np.isinf(answer.least_epsilon(error=1e-3)["epsilon"]).all()
    assert (answer.least_users(error="0.9x")["users"].diff().dropna() <= 0).all()


def test_the_interval_widens_beyond_the_pilot(answer):
    _, low, high = answer.error([350, 40000], 1.0)
    assert high[1] / low[1] > high[0] / low[0]


def test_the_law_is_found_where_it_holds():
    """Errors 1 + 300 / (n v) with small noise: the extrapolation to 20 times the users holds the truth."""

    users, budgets = np.array([100, 200, 400, 800]), np.array([0.5, 1.0, 2.0, 4.0, np.inf])
    s = np.outer(users, [information(e) for e in budgets])
    noise = np.exp(0.02 * Streams(0).generator("noise").normal(size=(12, *s.shape)))
    surface = Surface(users, budgets, (1.0 + 300.0 / (300.0 + s)) * noise, 0.2, Streams(1))
    for n in (800, 16000):
        _, low, high = surface.at(np.array([n]), np.array([1.0]))[:, 0]
        assert low <= 1.0 + 300.0 / (300.0 + n * information(1.0)) <= high


def test_classes():
    features, y = load_breast_cancer(return_X_y=True)
    found = need(features, y, budgets=[4], users=[600], splits=2, mask=np.arange(30) < 3)
    assert found.quantity == "share of wrong classes" and 0 < found.table()["error"].iloc[0] < found.baseline < 0.5


def test_a_plot_has_a_line_for_every_budget(answer, tmp_path):
    figure = answer.plot(tmp_path / "need.png")
    assert len(figure.axes[0].lines) == 2 + 3 and (tmp_path / "need.png").stat().st_size > 0


def test_an_interrupt_leaves_what_was_computed():
    def stop(after):
        def progress(done, _):
            if done == after:
                raise KeyboardInterrupt

        return progress

    options = {"mask": MASK, "budgets": [4], "users": [442], "y_range": (0, 400)}
    found = need(X[:200], Y[:200], progress=stop(FEWEST_SPLITS), **options)
    assert len(found.runs.losses["method"]) == FEWEST_SPLITS
    with pytest.raises(KeyboardInterrupt):
        need(X[:200], Y[:200], progress=stop(1), **options)


def test_after_each_split_the_runs_so_far_are_told():
    told = []
    options = {"mask": MASK, "budgets": [4], "users": [442], "y_range": (0, 400)}
    found = need(X[:200], Y[:200], splits=3, each=told.append, **options)
    for k, runs in enumerate(told, 1):
        for name, losses in found.runs.losses.items():
            np.testing.assert_array_equal(runs.losses[name], losses[:k])
    assert len(told) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[:50], "y": Y[:50]}, "50 rows"),
        ({"y": np.full(442, 3.0)}, "'y' has a single value"),
        ({"y": np.array(["text"] * 441 + ["other"]), "task": "regression"}, "'y' is text"),
        ({"y": np.where(np.arange(442) == 3, np.nan, Y)}, "'y' has missing"),
        ({"X": np.where(X == X[3, 1], np.nan, X)}, "features have missing"),
        ({"y_range": (0, 100)}, "outside its public range"),
        ({"users": [100_000]}, "more than 100 times"),
        ({"budgets": []}, "budgets="),
        ({"mask": np.ones(3, dtype=bool)}, "mask has shape"),
        ({"y": np.arange(442).astype(str)}, "442 classes"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"X": X, "y": Y, "y_range": (0, 400), **change}
    with pytest.raises((DataError, ConfigurationError), match=message):
        need(given.pop("X"), given.pop("y"), **given)


def test_the_documented_example_runs():
    result = doctest.testmod(answer_module)
    assert result.attempted and not result.failed


def test_the_page_shows_the_committed_numbers():
    text = PAGE.read_text(encoding="utf-8")
    assert with_numbers(text) == text, "run scripts/write_need.py"


def test_the_better_constant_counts(answer):
    shrunk, mean = (answer._surfaces[name].at(442, 1.0)[0] for name in ("shrunk constant", "constant"))
    assert answer.constant(442, 1.0) == min(shrunk, mean)


def test_beyond_the_pilot_the_upper_end_counts_on_half_of_what_the_error_falls(answer):
    surface, largest = answer._surfaces["method"], answer.runs.users[-1]
    told, most = 40 * largest * information(4.0), surface._s.max()
    pairs = ((40.0 * largest, told), (float(largest), most))
    optimistic, at_pilot = (surface._within(np.array([n]), np.array([s]))[2][0] for n, s in pairs)
    assert optimistic <= surface.at(40 * largest, 4.0)[2][0] == pytest.approx(np.sqrt(optimistic * at_pilot))
    inside = surface._within(np.array([float(largest)]), np.array([largest * information(4.0)]))
    np.testing.assert_array_equal(surface.at(largest, 4.0), inside)


@pytest.mark.parametrize(("share", "better"), [(0.9, True), (1.0, False), (1.1, False)])
def test_an_advantage_is_read_from_the_same_splits(share, better):
    """Splits that are hard are hard for both: a tenth is told although each error alone varies by a fifth."""
    users, budgets = np.array([100, 200, 400, 800]), np.array([1.0, 4.0, np.inf])
    rng = Streams(3).generator("noise")
    hard = np.exp(0.2 * rng.normal(size=(16, 1, 1)))
    constant, method = (hard * np.exp(0.02 * rng.normal(size=(16, 4, 3))) for _ in range(2))
    told = Advantage(users, budgets, share * method, [constant, 1.5 * constant], 0.2, Streams(1))
    quotient, low, high = told.at(np.array([400, 8000]), np.array([1.0, 1.0]))
    assert quotient == pytest.approx(share, abs=0.03) and (low <= quotient).all() and (quotient <= high).all()
    assert (high < 1.0).all() == better
    _, _, alone = Surface(users, budgets, share * method, 0.2, Streams(1)).at(np.array([400]), np.array([1.0]))
    assert high[0] < alone[0]


def test_the_table_says_better_where_the_advantage_does(answer):
    table = answer.table()
    assert (table["better"] == (answer.advantage(table["users"], table["epsilon"])[2] < 1.0)).all()


@pytest.mark.parametrize("right", [True, False])
def test_a_public_sample_is_diagnosed_and_used_only_where_users_agree(right):
    rng = np.random.default_rng(1)
    x = rng.random((1700, 3))
    y = 4.0 * x[:, 1] + 0.2 * rng.standard_normal(1700)
    pilot, public = slice(0, 1500), slice(1500, None)
    labels = y[public] if right else 4.0 - y[public]
    answer = need(
        x[pilot], y[pilot], mask=[True, False, False], budgets=[2, 8], users=[1500], y_range=(-1, 5), splits=2,
        X_public=x[public], y_public=labels,
    )  # fmt: skip
    for agreement in answer.agreements.values():
        assert agreement.used is right and agreement.low <= agreement.share <= agreement.high
        assert agreement.expected > 0.8 and (agreement.share > 0.7) is right
    without = need(
        x[pilot], y[pilot], mask=[True, False, False], budgets=[2, 8], users=[1500], y_range=(-1, 5), splits=2
    )
    assert without.agreements == {}
    ratio = answer.error(1500, 8)[0] / without.error(1500, 8)[0]
    assert (ratio < 1.2).all()


def test_a_public_sample_of_classes_is_diagnosed():
    X, y = load_breast_cancer(return_X_y=True)
    answer = need(
        X[100:], y[100:], mask=MASK_OF_CANCER, budgets=[8], users=[400], splits=2, X_public=X[:100], y_public=y[:100]
    )
    (agreement,) = answer.agreements.values()
    assert agreement.used and agreement.low < 1.0 < agreement.high + 0.2 and agreement.low > 0.0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X_public": X}, "X_public and y_public"),
        ({"X_public": X[:, :3], "y_public": Y}, "X_public has shape"),
        ({"X_public": X[:9], "y_public": Y[:9] + 400}, "outside its public range"),
    ],
)
def test_a_public_sample_that_does_not_fit_is_named(change, message):
    with pytest.raises((ConfigurationError, DataError), match=message):
        need(X, Y, y_range=(0, 400), splits=2, **change)
