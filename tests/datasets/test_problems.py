import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from lpbench.datasets import describe, list_datasets, load_manifest, load_table, make_problem, synthetic
from lpbench.datasets.splits import first_occurrences, min_max_scale
from lpbench.errors import ConfigurationError, DataError, MissingDataError
from tests.datasets.conftest import CSV

FAMILIES = [n for n in list_datasets() if load_manifest(n).synthetic.startswith("lpbench.datasets.synthetic")]
EMBEDDED = ["diabetes_progression", "breast_cancer"]
SIZES = {"synthetic_taxi": {"n_private": 300, "n_public": 40, "n_test": 50}}


@pytest.mark.parametrize("name", FAMILIES + EMBEDDED)
def test_describe_agrees_with_the_draw(name):
    params = SIZES.get(name, {})
    facts, problem = describe(name, params), make_problem(name, params, "aligned")
    assert problem.X_train.shape == (facts.n_train, facts.n_features)
    assert problem.X_test.shape == (facts.n_test, facts.n_features)
    assert facts.n_public == (0 if problem.X_public is None else len(problem.X_public))
    usual = "mse" if facts.task == "regression" else "accuracy"
    assert problem.metric == facts.metric == ("excess_risk" if name.endswith("_excess") else usual)
    assert len(problem.context["columns"]) == facts.n_features
    if facts.y_range is not None:
        assert problem.y_range == facts.y_range
    if problem.y_range is not None:
        assert problem.y_range[0] <= problem.y_train.min() and problem.y_train.max() <= problem.y_range[1]
    assert facts.available and facts.how_to_get == ""


def test_the_order_of_users_depends_on_mask_name_and_replication_only():
    def mask(name="power_law", replication=0, **params):
        return make_problem("sine_sum", {"n": 300}, name, params, replication=replication).mask

    assert (mask(gamma=1.0) >= mask(gamma=2.0)).all()
    assert (mask() != mask(replication=1)).any()
    assert (mask()[:, 1].argsort() != mask("personalized", personalized_index=0)[:, 0].argsort()).any()


@pytest.mark.parametrize("name", EMBEDDED)
def test_split_is_a_partition_of_the_private_rows(name):
    table = load_table(name)
    problem = make_problem(name, replication=2)
    rows = problem.context["rows"]
    private = np.arange(table.y.size) if table.public is None else np.flatnonzero(~table.public)
    test = np.setdiff1d(private, rows)
    assert set(rows) <= set(private)
    assert len(rows) + len(test) == private.size
    np.testing.assert_array_equal(np.sort(problem.y_test), np.sort(table.y[test]))
    assert (make_problem(name, replication=3).context["rows"] != rows).any()


def test_regression_is_scaled_on_all_rows_and_ordered_by_sensitivity():
    table = load_table("diabetes_progression")
    problem = make_problem("diabetes_progression")
    assert problem.context["columns"][:4] == ("sex", "age", "bmi", "bp")
    age = problem.X_train[:, problem.context["columns"].index("age")]
    expected = (table.X[:, 0] - table.X[:, 0].min()) / np.ptp(table.X[:, 0])
    np.testing.assert_allclose(age, expected[problem.context["rows"]])
    both = np.vstack([problem.X_train, problem.X_test])
    np.testing.assert_array_equal(both.min(axis=0), 0)
    np.testing.assert_array_equal(both.max(axis=0), 1)


def test_classification_is_scaled_on_the_public_sample():
    problem = make_problem("breast_cancer")
    np.testing.assert_array_equal(problem.X_public.min(axis=0), 0)
    np.testing.assert_array_equal(problem.X_public.max(axis=0), 1)
    assert problem.X_train.max() > 1
    assert set(problem.y_train) == {0, 1} and problem.y_train.dtype.kind == "i"
    subset = make_problem("breast_cancer", {"n_public": 20})
    np.testing.assert_array_equal(subset.X_public.max(axis=0), 1)
    np.testing.assert_array_equal(subset.y_train, problem.y_train)


def test_a_share_of_the_training_rows_becomes_public():
    whole = make_problem("diabetes_progression", mask="aligned", replication=2)
    shared = make_problem("diabetes_progression", {"public_share": 0.1}, "aligned", replication=2)
    n_public = round(0.1 * len(whole.y_train))
    np.testing.assert_array_equal(np.vstack([shared.X_train, shared.X_public]), whole.X_train)
    np.testing.assert_array_equal(np.concatenate([shared.y_train, shared.y_public]), whole.y_train)
    np.testing.assert_array_equal(shared.X_test, whole.X_test)
    assert len(shared.y_public) == n_public
    assert shared.mask.shape == shared.X_train.shape
    facts = describe("diabetes_progression", {"public_share": 0.1})
    assert (facts.n_train, facts.n_public) == (len(shared.y_train), n_public)
    assert whole.X_public is None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("columns", ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]),
        ("manifest", ["sex", "age", "bmi", "bp", "s6", "s1", "s2", "s3", "s4", "s5"]),
        ("reversed", ["s5", "s4", "s3", "s2", "s1", "s6", "bp", "bmi", "age", "sex"]),
    ],
)
def test_orders_of_sensitivity(choice, expected):
    problem = make_problem("diabetes_progression", {"sensitivity": choice})
    assert list(problem.context["columns"]) == expected
    reference = make_problem("diabetes_progression", {"sensitivity": "columns"})
    position = [reference.context["columns"].index(name) for name in expected]
    np.testing.assert_array_equal(problem.X_train, reference.X_train[:, position])


def test_random_order_of_sensitivity_is_drawn_per_replication():
    def columns(replication):
        return make_problem("diabetes_progression", {"sensitivity": "random"}, replication=replication).context[
            "columns"
        ]

    assert columns(0) == columns(0)
    assert len({columns(r) for r in range(5)}) > 1
    assert sorted(columns(0)) == sorted(columns(1))


def test_order_of_importance_is_the_manifests_and_needs_one(workshop):
    workshop.file()
    workshop.manifest(sensitivity={"order": ["kind"], "reason": "", "importance": ["size", "kind"]})
    workshop.manifest("plain")
    assert make_problem("toy", {"sensitivity": "importance"}).context["columns"] == ("size", "kind")
    assert make_problem("toy").context["columns"] == ("kind", "size")
    with pytest.raises(ConfigurationError, match="plain: its manifest states no `importance`"):
        make_problem("plain", {"sensitivity": "importance"})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aquatic_toxicity", "fish_toxicity", "istanbul_stock", "portfolio", "pyrimidines"])
def test_order_of_importance_is_that_of_a_forest(name):
    if not describe(name).available:
        pytest.skip(f"{name}: {describe(name).how_to_get}")
    table = load_table(name)
    forest = RandomForestRegressor(random_state=0).fit(table.X, table.y)
    order = np.argsort(-forest.feature_importances_, kind="stable")
    assert load_manifest(name).sensitivity["importance"] == [table.columns[k] for k in order]


def test_manifest_that_ranks_an_unknown_feature(workshop):
    workshop.manifest(sensitivity={"order": ["color"], "reason": ""})
    workshop.file()
    with pytest.raises(DataError, match="sensitivity names 'color'"):
        make_problem("toy")


def test_the_scale_of_measurement_replaces_the_range_of_the_file_where_it_is_asked_for(workshop):
    workshop.file(CSV)
    workshop.manifest(y_range=[1, 5], scale=[0, 10])
    assert make_problem("toy").y_range == describe("toy").y_range == (1.0, 5.0)
    assert make_problem("toy", {"label_range": "scale"}).y_range == (0.0, 10.0)
    assert describe("toy", {"label_range": "scale"}).y_range == (0.0, 10.0)
    workshop.manifest(y_range=[1, 5])
    with pytest.raises(ConfigurationError, match="use label_range=file"):
        make_problem("toy", {"label_range": "scale"})


def test_published_split_is_scikit_learns():
    table = load_table("breast_cancer")
    private = np.flatnonzero(~table.public)
    train, test = train_test_split(private, test_size=0.2, random_state=4)
    problem = make_problem("breast_cancer", {"split": "published"}, replication=4, seed=99)
    np.testing.assert_array_equal(problem.context["rows"], train)
    np.testing.assert_array_equal(problem.y_test, table.y[test])


def test_fractions_of_the_private_rows_and_public_subsets_are_nested_and_share_the_test_rows():
    whole, part, few, more = (
        make_problem("breast_cancer", params)
        for params in ({"private_fraction": 1.0}, {"private_fraction": 0.2}, {"n_public": 30}, {"n_public": 80})
    )
    assert len(part.y_train) == round(0.2 * len(whole.y_train)) and len(whole.y_public) == 100
    np.testing.assert_array_equal(part.X_train, whole.X_train[: len(part.y_train)])
    np.testing.assert_array_equal(part.X_test, whole.X_test)
    np.testing.assert_array_equal(few.y_public, more.y_public[:30])


def test_deduplicate_keeps_one_of_each_and_prefers_public_rows(workshop):
    a, b, c, d = CSV.splitlines()[1:]
    rows = [a, b, a, c, d, d, b]
    workshop.file("kind,size,label\n" + "\n".join(rows) + "\n", "toy/private.csv")
    workshop.file(f"kind,size,label\n{b}\n{b}\n", "toy/public.csv")
    source = {"kind": "file", "files": {"private": "toy/private.csv", "public": "toy/public.csv"}}
    workshop.manifest(sources=[source], public={"file": "public"}, fingerprint={"features": 2})
    facts = describe("toy", {"deduplicate": True, "test_size": 0.3})
    assert (facts.n_train + facts.n_test, facts.n_public) == (3, 1)
    problem = make_problem("toy", {"deduplicate": True})
    np.testing.assert_array_equal(problem.y_public, [2.0])
    assert sorted([*problem.y_train, *problem.y_test]) == [1.0, 3.0, 5.0]


def test_same_features_with_another_label_are_not_duplicates():
    X = np.array([[1.0, 0.0], [1.0, -0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(first_occurrences(X, np.array([0.0, 0.0, 1.0])), [0, 2])


def test_constant_column_is_shifted_to_zero():
    X = np.array([[3.0, 1.0], [3.0, 5.0]])
    np.testing.assert_array_equal(min_max_scale(X, X), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(min_max_scale(np.array([[4.0, 3.0]]), X), [[1, 0.5]])


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("breast_cancer", {"spilt": "random"}, "split"),
        ("breast_cancer", {"split": "odd"}, "split='odd' must be one of random, published"),
        ("breast_cancer", {"test_size": 1.5}, "test_size=1.5 must be a number in"),
        ("breast_cancer", {"private_fraction": 0}, r"private_fraction=0 must be a number in \(0, 1\]"),
        ("breast_cancer", {"n_public": 101}, "n_public=101 must be a whole number from 1 to 100"),
        ("breast_cancer", {"sensitivity": "mine"}, "sensitivity='mine' must be"),
        ("breast_cancer", {"deduplicate": "yes"}, "deduplicate='yes' must be True or False"),
        ("diabetes_progression", {"n_public": 10}, "no public rows"),
        ("diabetes_progression", {"public_share": 1.0}, r"public_share=1.0 must be a number in \[0, 1\)"),
        ("breast_cancer", {"public_share": 0.2}, "public_share=0.2, but it has public rows of its own"),
        ("diabetes_progression", {"label_range": "mine"}, "label_range='mine' must be one of 'file', 'scale'"),
        ("diabetes_progression", {"scaling": "mine"}, "scaling='mine' must be one of 'rows', 'bounds'"),
        ("sine_sum", {"n": 0}, "n=0 must be a whole number >= 1"),
        ("sine_sum", {"n": 10.5}, "n=10.5 must be a whole number"),
        ("sine_sum", {"size": 10}, "unknown parameter of data set sine_sum"),
        ("sin_sum", {}, "did you mean sine_sum"),
        ("posterior_drift", {"range": "guessed"}, "range='guessed' must be"),
        ("rough_regression", {"n": 10, "beta": 0.0}, "beta"),
        ("rough_regression", {"n": 10, "moment": 1.5}, "moment"),
        ("rough_classes", {"n": 10, "margin": 3.0}, "margin"),
        ("rough_classes", {"n": 10, "classes": 1}, "classes"),
        ("rough_classes", {"n": 10, "pair_mass": 1.5}, "pair_mass"),
        ("breast_cancer", {"labels": "zeros"}, "breast_cancer: labels='zeros'.*labels=permuted"),
        ("diabetes_progression", {"public_sample": "label_shift"}, "diabetes_progression: public_sample='label_shift'"),
    ],
)
def test_impossible_requests(name, params, reason):
    with pytest.raises(ConfigurationError, match=reason):
        make_problem(name, params)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_a_family_that_forgets_to_scale_is_refused(monkeypatch, bad):
    def spoiled(*drawn, scaled=synthetic.sine_sum):
        problem = scaled(*drawn)
        problem.X_test[3, 2] = bad
        return problem

    monkeypatch.setattr(synthetic, "sine_sum", spoiled)
    with pytest.raises(DataError, match=r"X_test has values outside \[0, 1\]; scale the features"):
        make_problem("sine_sum", {"n": 20, "n_test": 20})


def test_fingerprints_tell_data_sets_apart_and_ignore_parameters():
    prints = {name: describe(name).fingerprint for name in list_datasets()}
    assert len(set(prints.values())) == len(prints)
    assert describe("sine_sum", {"n": 7}).fingerprint == prints["sine_sum"]


def test_fingerprint_follows_what_decides_the_draws(workshop):
    columns = {"order": "columns", "reason": ""}
    orders = (columns, *({**columns, "importance": list(order)} for order in (("size", "kind"), ("kind", "size"))))
    workshop.manifest("one")
    others = [{"y_range": [0, 5]}, *({"sensitivity": order} for order in orders), {"title": "Another title"}]
    for k, changes in enumerate(others):
        workshop.manifest(f"other{k}", **changes, draws_as="one")
    *different, same = (describe(f"other{k}").fingerprint for k in range(len(others)))
    assert len({describe("one").fingerprint, *different}) == 1 + len(different)
    assert same == describe("one").fingerprint


def test_papers_scaling_takes_ends_of_features_from_rows_outside_the_training_sample_and_it_is_named():
    """As in the papers' tables, and as docs/privacy.md says of this data set: no budget pays for these ends."""
    problem, table = make_problem("diabetes_progression"), load_table("diabetes_progression")
    every = table.X[:, [table.columns.index(name) for name in problem.context["columns"]]]
    inside = every[problem.context["rows"]]
    outside = (inside.min(axis=0) > every.min(axis=0)) | (inside.max(axis=0) < every.max(axis=0))
    assert problem.context["scaling"] == "all rows" and outside.sum() == 3 and outside.size == 10


BOUNDS = {"scaling": "bounds"}
TOY = {
    "features": [{"column": "kind", "map": {"a": 0, "b": 1, "c": 4}}, "size"],
    "fingerprint": {"features": 2},
    "sensitivity": {"order": "columns", "reason": ""},
    "bounds": {"known": {"size": [0, 8]}, "reason": "a ruler of 8"},
}


def test_stated_bounds_read_no_row(workshop):
    """Rewriting any one row, private or test, leaves every other row's features as they were, to the last bit."""
    rows = [f"{'abc'[k % 3]},{k % 7 + 1},{k % 5 + 1}" for k in range(20)]
    workshop.manifest(**TOY)
    workshop.manifest("extreme", **TOY, draws_as="toy", sources=[{"kind": "file", "files": {"data": "toy/other.csv"}}])
    workshop.file("kind,size,label\n" + "\n".join(rows) + "\n")
    before = make_problem("toy", BOUNDS)
    assert before.context["scaling"] == "bounds of the manifest"
    workshop.file("kind,size,label\n" + "\n".join(["a,1000000,1", *rows[1:]]) + "\n", "toy/other.csv")
    after = make_problem("extreme", BOUNDS)
    changed = (before.X_train != after.X_train).any(axis=1).sum() + (before.X_test != after.X_test).any(axis=1).sum()
    assert changed == 1
    assert max(after.X_train.max(), after.X_test.max()) == 1.0  # outside the bounds: clipped
    kinds = {0.0, 0.25, 1.0}  # the codes of the map are its bounds, whatever occurs
    assert set(np.unique(before.X_train[:, 0])) <= kinds
    np.testing.assert_array_equal(np.unique(before.X_train[:, 1]) * 8 % 1, 0.0)
    assert (make_problem("toy").X_train != make_problem("extreme").X_train).sum() > 1, "the papers' way reads all rows"


def test_features_without_bounds_are_refused_by_name(workshop):
    workshop.file()
    workshop.manifest(**TOY | {"bounds": {"file": {"label": [0, 9]}}})
    with pytest.raises(ConfigurationError, match="scaling='bounds', but its manifest states no bounds of 'size'"):
        make_problem("toy", BOUNDS)


def test_bounds_are_part_of_the_fingerprint_where_they_scale(workshop):
    workshop.file()
    workshop.manifest(**TOY)
    workshop.manifest("wide", **TOY | {"bounds": {"file": {"size": [0, 9]}}}, draws_as="toy")
    assert describe("toy").fingerprint == describe("wide").fingerprint
    assert len({describe(n, p).fingerprint for n in ("toy", "wide") for p in ({}, BOUNDS)}) == 3


def test_public_rows_go_before_bounds():
    one, other = make_problem("breast_cancer"), make_problem("breast_cancer", BOUNDS)
    np.testing.assert_array_equal(one.X_train, other.X_train)
    assert other.context["scaling"] == "public sample"


@pytest.mark.parametrize("name", [n for n in list_datasets() if load_manifest(n).bounds])
def test_bounds_of_the_file_hold_its_rows_and_known_ones_nearly_all(name):
    manifest = load_manifest(name)
    try:
        table = load_table(name, sealed=True)
    except MissingDataError as error:
        pytest.skip(str(error))
    low, high = manifest.feature_bounds(table.columns)
    outside = (table.X < low) | (table.X > high)
    listed = set(manifest.bounds.get("file", {}))
    assert not outside[:, [c in listed for c in table.columns]].any()
    if manifest.y_range:
        assert manifest.y_range[0] <= table.y.min() <= table.y.max() <= manifest.y_range[1]
    assert outside.mean(axis=0).max() < 0.01
    assert {*listed, *manifest.bounds.get("known", {})} <= set(table.columns)
