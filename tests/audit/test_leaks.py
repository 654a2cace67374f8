"""Fitted models depend on protected values through reports alone, and on public values as declared."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from lpbench import estimators as models
from lpbench.audit.devices import audited_methods
from lpbench.audit.leaks import outputs, replay, same
from lpbench.audit.report_sources import REPORT_SOURCES, UNPROTECTED
from lpbench.audit.sources import Asked
from lpbench.estimators.lpct.tables import Samples
from lpbench.experiments.catalogue import method
from lpbench.partitions import grid_digits
from lpbench.privacy import Laplace

Y_RANGE = (-1.0, 2.0)
N, D = 160, 3
MASK = np.column_stack([np.ones(N, bool), np.arange(N) % 3 == 0, np.zeros(N, bool)])
SIZES = [{"max_depth": 4}, {"max_depth": 1}]
QUERIES = np.random.default_rng(99).random((400, D))

#: Model -> what differs between the two samples beside the labels: "record", "masked" features, or nothing ("label").
CASES = {
    "histoftree": (models.HistOfTree(1.0, bins=2, depth=2, y_range=Y_RANGE), "masked"),
    "histoftree cart": (models.HistOfTree(1.0, bins=2, depth=2, rule="cart", y_range=Y_RANGE), "masked"),
    "histoftree rr": (models.HistOfTree(1.0, bins=2, depth=1, mechanism="rr", y_range=Y_RANGE), "masked"),
    "histoftree random": (models.HistOfTree(1.0, bins=3, depth=2, rule="random", y_range=Y_RANGE), "masked"),
    "adhistoftree": (models.AdHistOfTree(1.0, y_range=Y_RANGE), "masked"),
    "label_dt": (models.LabelDT(1.0, max_depth=3, y_range=Y_RANGE), "label"),
    "par_dt": (models.ParDT(1.0, max_depth=3, y_range=Y_RANGE), "masked"),
    "krr": (models.KRR(1.0, bins=2, max_depth=3, y_range=Y_RANGE), "masked"),
    "residual_gp": (models.ResidualGP(1.0, y_range=Y_RANGE), "masked"),
    "residual_gp joint": (models.ResidualGP(8.0, y_range=Y_RANGE), "masked"),
    "residual_gp placed": (models.ResidualGP(8.0, reading="placed", y_range=Y_RANGE), "masked"),
    "residual_gp laplace": (models.ResidualGP(1.0, report="laplace", y_range=Y_RANGE), "masked"),
    "private_mean": (models.PrivateMean(1.0, y_range=Y_RANGE), "record"),
    "private_majority": (models.PrivateMajority(0.05), "record"),
    "label_ldp_knn": (models.LabelLDPKNN(1.0, y_range=Y_RANGE), "label"),
    "label_ldp_vote": (models.LabelLDPVote(1.0, bins=2), "label"),
    "label_ldp_vote krr": (models.LabelLDPVote(1.0, mechanism="krr", bins=2), "label"),
    "lpct": (models.LPCT(4.0, depth=2, public_weight=1.0), "record"),
    "lpct cart": (models.LPCT(4.0, depth=2, public_weight=1.0, rule="cart"), "record"),
    "lpct discrete": (models.LPCT(4.0, depth=2, public_weight=1.0, noise="discrete"), "record"),
    "lpct_prune": (models.LPCTPrune(100.0, depth=3, constants="paper"), "record"),
    "lpct_prune terminate": (models.LPCTPrune(100.0, depth=3, constants="paper", terminate=True), "record"),
    "hist": (models.Hist(1.0, bins=2, threshold=0.0, y_range=Y_RANGE), "record"),
    "phist": (models.PHIST(4.0, bins=2), "record"),
    "hist discrete": (models.Hist(1.0, threshold=0.0, noise="discrete", y_range=Y_RANGE), "record"),
    "phist discrete": (models.PHIST(4.0, noise="discrete"), "record"),
    "ldp_mean": (models.LDPMean(1.0, bins=2, density=0.01, y_range=Y_RANGE), "record"),
    "ldp_vote": (models.LDPVote(4.0, bins=2), "record"),
    "calibrated_score": (models.CalibratedScore(4.0), "record"),
    "calibrated_score grr": (models.CalibratedScore(4.0, report="grr"), "record"),
    "pglm": (models.PGLM(4.0), "record"),
    "psgd": (models.PSGD(4.0, learning_rate=0.1), "record"),
    "label_cdp_vote": (models.LabelCDPVote(0.2, bins=2), "label"),
    "cdp_vote": (models.CDPVote(0.2, bins=2), "record"),
    "label_cdp_mean": (models.LabelCDPMean(1.0, bins=2, y_range=Y_RANGE), "label"),
    "cdp_mean": (models.CDPMean(1.0, bins=2, y_range=Y_RANGE), "record"),
    "private_labels_regressor": (models.PrivateLabelsRegressor(1.0, y_range=Y_RANGE), "label"),
    "private_selection_regressor": (models.PrivateSelectionRegressor(1.0, y_range=Y_RANGE), "masked"),
    "private_selection_regressor labels": (
        models.PrivateSelectionRegressor(1.0, models.LabelDT(), SIZES, ["max_depth"], y_range=Y_RANGE),
        "label",
    ),
    "private_selection_classifier": (models.PrivateSelectionClassifier(1.0, classes=[0, 1]), "record"),
    "private_labels_classifier": (models.PrivateLabelsClassifier(1.0, classes=[0, 1]), "label"),
    "lpdt_regressor": (models.LPDTRegressor(1.0, depth=3, y_range=Y_RANGE), "masked"),
    "public_tree_classifier": (models.PublicTreeClassifier(1.0, depth=3, classes=[0, 1]), "masked"),
    "public_residual_gp": (models.PublicResidualGP(4.0, y_range=Y_RANGE), "masked"),
    "residual_score": (models.ResidualScore(4.0, classes=[0, 1]), "masked"),
    "residual_score labels": (models.ResidualScore(4.0, reports="labels", classes=[0, 1]), "masked"),
}


def two_samples(model, differs, seed=0):
    """Arguments of ``fit`` for two samples that agree in everything public."""
    rng = np.random.default_rng(seed)
    X = rng.random((N, D))
    other = {"label": X, "masked": np.where(MASK, 1 - X, X), "record": X[:, [1, 2, 0]]}[differs]
    if hasattr(model, "predict_proba"):
        y = (X[:, 0] + 0.2 * rng.standard_normal(N) > 0.5).astype(int)
        y2 = 1 - y
    else:
        y = np.clip(2 * X[:, 0] - X[:, 2] + 0.3 * rng.standard_normal(N), *Y_RANGE)
        y2 = sum(Y_RANGE) - y
    public = {}
    if model.uses_public:
        X_public = rng.random((60, D))
        public = {"X_public": X_public, "y_public": (X_public[:, 0] > 0.4).astype(int)}
    mask = {"mask": MASK} if model.uses_mask else {}
    return {"X": X, "y": y, **mask, **public}, {"X": other, "y": y2, **mask, **public}


@pytest.mark.parametrize("name", CASES)
def test_other_raw_data_with_the_same_reports_get_the_same_questions_and_model(name):
    model, differs = CASES[name]
    first, second = two_samples(model, differs)
    leak, original, tape = replay(model.set_params(random_state=7), first, second, QUERIES)
    assert tape and not leak
    other = outputs(clone(model).fit(**second), QUERIES)
    assert (other != original).any(), "without the replay the models differ, so that the comparison has power"


def test_every_method_is_checked_or_says_why_not():
    checked = {type(model) for model, _ in CASES.values()}
    assert checked == REPORT_SOURCES.keys()
    for selector in audited_methods():
        assert method(selector).estimator_class in {*REPORT_SOURCES, *UNPROTECTED}, f"{selector}: no leak check"


class TreeOnRawLabels(models.LabelDT):
    """Reads the labels that it has just privatised."""

    def _messages(self, X, y, mask, streams):
        inputs, _, guarantee = super()._messages(X, y, mask, streams)
        return inputs, y, guarantee


class PartitionOnPrivateData(models.LPCT):
    """Grows the partition on the private sample (the released LPCT of the last commit)."""

    def _check_samples(self, X, y, **others):
        samples = super()._check_samples(X, y, **others)
        return Samples(samples.X, samples.codes, samples.X, samples.codes)


class CellsOfRawFeatures(models.HistOfTree):
    """Lets users keep out of cells that they protect."""

    def _check_fit(self, X, y, mask=None, **options):
        X, y, mask = super()._check_fit(X, y, mask, **options)
        return X, y, mask & (X > 0.5)


@pytest.mark.parametrize(
    ("leaky", "differs", "parent"),
    [
        (TreeOnRawLabels(1.0, max_depth=3, y_range=Y_RANGE), "label", models.LabelDT),
        (PartitionOnPrivateData(1.0, depth=2, public_weight=1.0), "record", models.LPCT),
        (CellsOfRawFeatures(1.0, bins=2, depth=2, y_range=Y_RANGE), "masked", models.HistOfTree),
    ],
    ids=["raw labels", "raw partition", "raw cells"],
)
def test_leaky_estimators_are_caught(leaky, differs, parent, monkeypatch):
    monkeypatch.setitem(REPORT_SOURCES, type(leaky), REPORT_SOURCES[parent])
    first, second = two_samples(leaky, differs)
    leak, _, _ = replay(leaky.set_params(random_state=7), first, second, QUERIES)
    assert leak


def test_a_fit_that_asks_for_other_reports_is_caught(monkeypatch):
    class Asks(models.PrivateMean):
        def fit(self, X, y, **others):
            super().fit(X, y)
            return self if y[0] < 0.5 else super().fit(X, y)

    monkeypatch.setitem(REPORT_SOURCES, Asks, REPORT_SOURCES[models.PrivateMean])
    high, low = np.full(5, 0.9), np.full(5, 0.1)
    X = np.zeros((5, 1))
    leak, _, _ = replay(Asks(y_range=(0, 1), random_state=0), {"X": X, "y": high}, {"X": X, "y": low}, X)
    assert "fewer questions" in leak


@pytest.mark.parametrize("change", [{"y_range": (0.0, 2.0)}, {"epsilon": 0.5}])
def test_a_question_that_depends_on_labels_is_caught(monkeypatch, change):
    class Asks(models.PrivateMean):
        def fit(self, X, y, **others):
            before = {name: getattr(self, name) for name in change}
            self.set_params(**change if y[0] < 0.5 else {})
            super().fit(X, y)
            return self.set_params(**before)

    monkeypatch.setitem(REPORT_SOURCES, Asks, REPORT_SOURCES[models.PrivateMean])
    X = np.zeros((5, 1))
    model = Asks(y_range=(0.0, 1.0), random_state=0)
    leak, _, _ = replay(model, {"X": X, "y": np.full(5, 0.9)}, {"X": X, "y": np.full(5, 0.1)}, X)
    assert "the question depends on protected values" in leak


def test_users_are_compared_in_order():
    users = np.arange(3)
    assert same(Asked((1.0,), 0.0, users).users, np.arange(3))
    assert not same(users, users[::-1]) and not same(users, None)


def test_questions_are_compared_entry_by_entry():
    assert same(({"a": np.array([1.0, np.nan])}, [1, "x"]), ({"a": np.array([1.0, np.nan])}, [1, "x"]))
    assert not same({"a": np.zeros(2)}, {"a": np.zeros(3)}) and not same((1,), (1, 2))
    assert not same(Laplace(1.0), Laplace(2.0)) and same(Laplace(1.0), Laplace(1.0))


@pytest.mark.parametrize("name", CASES)
def test_noise_is_fresh_for_every_seed_and_repeats_with_it(name):
    """A seed that is set inside ``fit`` would make the noise of all users of the library the same."""
    model, differs = CASES[name]
    arguments, _ = two_samples(model, differs)

    def fit(seed):
        return outputs(clone(model).set_params(random_state=seed).fit(**arguments), QUERIES)

    first = fit(0)
    np.testing.assert_array_equal(first, fit(0))
    # Predictions of one of a few values may agree by chance, not six times.
    assert any((first != fit(seed)).any() for seed in range(1, 6))
    assert any((fit(None) != fit(None)).any() for _ in range(6))


@pytest.mark.parametrize("selector", ["lpct_q", "ct_q", "public_forest"])
def test_methods_that_ask_nothing_ignore_private_users(selector):
    model = method(selector).build().set_params(random_state=0)
    first, second = two_samples(models.LPCT(), "record")
    np.testing.assert_array_equal(
        clone(model).fit(**first).predict(QUERIES), clone(model).fit(**second).predict(QUERIES)
    )


@pytest.mark.parametrize("name", ["hist", "phist", "lpct", "pglm", "label_ldp_knn", "private_mean"])
def test_methods_that_ignore_the_mask_ignore_it(name):
    model, _ = CASES[name]
    arguments, _ = two_samples(model, "record")
    model = model.set_params(random_state=0)
    one, other = (clone(model).fit(**arguments, mask=mask).predict(QUERIES) for mask in (MASK, ~MASK))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name, (model, _) in CASES.items() if not model.uses_public])
def test_methods_that_read_no_public_sample_ignore_it(name):
    model, differs = CASES[name]
    arguments, _ = two_samples(model, differs)
    sample = {"X_public": QUERIES[:30], "y_public": np.resize(arguments["y"], 30)}
    model = model.set_params(random_state=0)
    one, other = (outputs(clone(model).fit(**arguments, **extra), QUERIES) for extra in ({}, sample))
    np.testing.assert_array_equal(one, other)


def test_public_features_shape_the_tree_unless_it_is_random():
    first, _ = two_samples(models.HistOfTree(), "masked")
    other = {**first, "X": np.where(MASK, first["X"], 1 - first["X"] ** 2)}
    for rule, equal in (("cart", False), ("random", True)):
        model = models.HistOfTree(8.0, bins=2, depth=3, rule=rule, y_range=Y_RANGE, random_state=0)
        one, two = (clone(model).fit(**arguments).tree_ for arguments in (first, other))
        found = np.array_equal(one.feature, two.feature) and np.array_equal(one.threshold, two.threshold)
        assert found == equal


def cell_means(cells, query_cells, y, default):
    """The non-private partition estimate, HistOfTree eq. (3): mean label of the users in the query's cell."""
    return np.array([y[cells == cell].mean() if (cells == cell).any() else default for cell in query_cells])


@pytest.mark.parametrize("mechanism", ["grr", "rr"])
@pytest.mark.parametrize("personal", [False, True])
def test_without_noise_histoftree_is_the_partition_estimate(mechanism, personal):
    rng = np.random.default_rng(3)
    X, y = rng.random((2000, D)), rng.uniform(*Y_RANGE, 2000)
    mask = np.column_stack([np.ones(2000, bool), rng.random(2000) < 0.3 * personal, np.zeros(2000, bool)])
    model = models.HistOfTree(np.inf, bins=2, depth=3, mechanism=mechanism, y_range=Y_RANGE, random_state=0)
    model.fit(X, y, mask=mask)

    def cell_of(points):
        leaf = model.tree_.apply(points[:, model.tree_columns_])
        return leaf * 2 + grid_digits(points[:, model.grid_columns_], 2)[:, 0]

    np.testing.assert_allclose(model.predict(QUERIES), cell_means(cell_of(X), cell_of(QUERIES), y, np.nan), atol=1e-9)


def test_without_noise_label_trees_are_plain_trees():
    first, _ = two_samples(models.LabelDT(), "label")
    model = models.LabelDT(np.inf, max_depth=3, y_range=Y_RANGE, random_state=0).fit(**first)
    # Labels without ties, so that the seed that breaks them does not matter.
    plain = DecisionTreeRegressor(max_depth=3, random_state=1).fit(first["X"], first["y"])
    np.testing.assert_allclose(model.predict(QUERIES), plain.predict(QUERIES), atol=1e-12)


def test_without_noise_histograms_are_partition_estimates():
    rng = np.random.default_rng(4)
    X, y = rng.random((2000, 2)), rng.uniform(*Y_RANGE, 2000)
    queries = rng.random((200, 2))
    cells, at = (grid_digits(points, 3) @ [3, 1] for points in (X, queries))
    hist = models.Hist(np.inf, bins=3, threshold=0.0, y_range=Y_RANGE, random_state=0).fit(X, y)
    np.testing.assert_allclose(hist.predict(queries), cell_means(cells, at, y, 0.5), atol=1e-9)
    codes = (y > 0.7).astype(int)
    phist = models.PHIST(np.inf, bins=3, random_state=0).fit(X, codes)
    np.testing.assert_array_equal(phist.predict(queries), cell_means(cells, at, codes, 0.0) > 0.5)


def test_without_noise_lpct_is_the_vote_of_both_samples():
    first, _ = two_samples(models.LPCT(), "record")
    model = models.LPCT(np.inf, depth=2, public_weight=3.0, random_state=0).fit(**first)
    leaves, public, at = (model.tree_.apply(points) for points in (first["X"], first["X_public"], QUERIES))
    weights = np.concatenate([np.ones(N), np.full(len(public), 3.0)])
    labels, cells = np.concatenate([first["y"], first["y_public"]]), np.concatenate([leaves, public])
    share = np.array([np.average(labels[cells == c], weights=weights[cells == c]) for c in at])
    np.testing.assert_array_equal(model.predict(QUERIES), share > 0.5)


def test_no_protected_fit_warns_of_a_leak_if_public_bounds_are_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model, differs in CASES.values():
            arguments, _ = two_samples(model, differs)
            known = {"classes": [0, 1]} if hasattr(model, "classes") else {}
            clone(model).set_params(random_state=0, **known).fit(**arguments)
